//! The table of built-in agents: command lines, parsers and environment.

use ralph_core::record::{Parser, PromptVia};

/// A row of the table: how an agent is started.
#[derive(Debug)]
pub(super) struct Known {
    /// Its name, which is also that of its program.
    pub name: &'static str,
    /// The command that installs it.
    pub install: &'static str,
    /// How to sign in, or which key it needs.
    pub sign_in: &'static str,
    /// What spec-kit calls it.
    pub spec_kit: &'static str,
    pub arguments: &'static [&'static str],
    /// Arguments for each of the permissions.
    pub full: &'static [&'static str],
    pub default: &'static [&'static str],
    /// `None` if it has no option for that.
    pub read_only: Option<&'static [&'static str]>,
    /// The flag that precedes a model.
    pub model: &'static str,
    /// Arguments after all others.
    pub last: &'static [&'static str],
    pub prompt: PromptVia,
    pub parser: Parser,
    pub set: &'static [(&'static str, &'static str)],
    /// Variables that are set unless the user set them.
    pub defaults: &'static [(&'static str, &'static str)],
}

/// Variables that agents set for their child processes. An agent that inherited one would take itself for a sub-agent.
pub(super) const LEAKING: &[&str] = &[
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_AGENT_SDK_VERSION",
    "CODEX_THREAD_ID",
    "COPILOT_CLI",
    "GEMINI_CLI",
    "OPENCODE",
    "KILO",
    "QWEN_CODE",
    "CLINE_ACTIVE",
];

pub(super) static KNOWN: &[Known] = &[
    Known {
        name: "claude",
        install: "npm install -g @anthropic-ai/claude-code",
        sign_in: "run `claude` once and sign in with /login, or set ANTHROPIC_API_KEY",
        spec_kit: "claude",
        arguments: &["-p", "--output-format", "stream-json", "--verbose"],
        full: &["--dangerously-skip-permissions"],
        default: &[],
        read_only: Some(&["--permission-mode", "plan"]),
        model: "--model",
        last: &[],
        prompt: PromptVia::Stdin,
        parser: Parser::Claude,
        set: &[("DISABLE_AUTOUPDATER", "1")],
        // By default it retries a wrong key for three minutes. Waiting is the loop's job.
        defaults: &[("CLAUDE_CODE_MAX_RETRIES", "3"), ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")],
    },
    Known {
        name: "codex",
        install: "npm install -g @openai/codex",
        sign_in: "run `codex login`, or set CODEX_API_KEY",
        spec_kit: "codex",
        arguments: &["exec", "--json", "--skip-git-repo-check"],
        full: &["--dangerously-bypass-approvals-and-sandbox"],
        default: &[],
        read_only: Some(&["--sandbox", "read-only"]),
        model: "--model",
        // The prompt is on stdin, and only there.
        last: &["-"],
        prompt: PromptVia::Stdin,
        parser: Parser::Codex,
        set: &[],
        defaults: &[],
    },
    Known {
        name: "copilot",
        install: "npm install -g @github/copilot",
        sign_in: "run `copilot` once and sign in with /login, or set GH_TOKEN",
        spec_kit: "copilot",
        arguments: &[
            "--no-ask-user",
            "--no-auto-update",
            "--no-color",
            "--output-format",
            "json",
            "--stream",
            "off",
            "--usage-output-file",
            "{usage_file}",
        ],
        full: &["--allow-all"],
        default: &[],
        read_only: None,
        model: "--model",
        last: &[],
        prompt: PromptVia::Stdin,
        parser: Parser::Copilot,
        set: &[("COPILOT_AUTO_UPDATE", "false")],
        defaults: &[],
    },
    Known {
        name: "gemini",
        install: "npm install -g @google/gemini-cli",
        sign_in: "run `gemini` once and sign in, or set GEMINI_API_KEY",
        spec_kit: "gemini",
        // It does not start in a folder that it was not configured to trust.
        arguments: &["--output-format", "stream-json", "--skip-trust"],
        full: &["--yolo"],
        default: &[],
        read_only: None,
        model: "--model",
        last: &[],
        prompt: PromptVia::Stdin,
        parser: Parser::Gemini,
        set: &[("NO_COLOR", "1")],
        defaults: &[],
    },
    Known {
        name: "opencode",
        install: "npm install -g opencode-ai",
        sign_in: "run `opencode auth login`, or set the key of your provider",
        spec_kit: "opencode",
        arguments: &["run", "--format", "json"],
        full: &["--auto"],
        default: &[],
        read_only: None,
        model: "--model",
        last: &[],
        prompt: PromptVia::Stdin,
        parser: Parser::Opencode,
        set: &[("OPENCODE_DISABLE_AUTOUPDATE", "1")],
        defaults: &[],
    },
    Known {
        name: "kilo",
        install: "npm install -g @kilocode/cli",
        sign_in: "run `kilo auth login`, or set the key of your provider",
        spec_kit: "kilocode",
        arguments: &["run", "--format", "json"],
        full: &["--auto"],
        default: &[],
        read_only: None,
        model: "--model",
        last: &[],
        prompt: PromptVia::Stdin,
        parser: Parser::Opencode,
        set: &[("KILO_DISABLE_AUTOUPDATE", "1")],
        defaults: &[],
    },
    Known {
        name: "qwen",
        install: "npm install -g @qwen-code/qwen-code",
        sign_in: "run `qwen` once and sign in, or set OPENAI_API_KEY",
        spec_kit: "qwen",
        arguments: &["--output-format", "stream-json"],
        full: &["--yolo"],
        default: &[],
        read_only: None,
        model: "--model",
        last: &[],
        prompt: PromptVia::Stdin,
        parser: Parser::Qwen,
        set: &[("QWEN_CODE_SUPPRESS_YOLO_WARNING", "1")],
        defaults: &[],
    },
    Known {
        name: "pi",
        install: "npm install -g @mariozechner/pi-coding-agent",
        sign_in: "run `pi` once and sign in with /login, or set the key of your provider",
        spec_kit: "pi",
        arguments: &["--mode", "json", "-p"],
        // It never asks for permission.
        full: &[],
        default: &[],
        read_only: None,
        model: "--model",
        last: &[],
        prompt: PromptVia::Stdin,
        parser: Parser::Pi,
        set: &[("PI_SKIP_VERSION_CHECK", "1")],
        defaults: &[],
    },
    Known {
        name: "droid",
        install: "npm install -g droid",
        sign_in: "run `droid` once and sign in, or set FACTORY_API_KEY",
        spec_kit: "droid",
        arguments: &["exec", "-o", "stream-json"],
        full: &["--skip-permissions-unsafe"],
        // Without more it may only read.
        default: &[],
        read_only: Some(&[]),
        model: "--model",
        last: &[],
        prompt: PromptVia::Stdin,
        parser: Parser::Droid,
        set: &[("FACTORY_DROID_AUTO_UPDATE_ENABLED", "false")],
        defaults: &[],
    },
    Known {
        name: "cline",
        install: "npm install -g cline",
        sign_in: "run `cline auth`",
        spec_kit: "cline",
        arguments: &["--json"],
        full: &["--auto-approve", "true"],
        default: &[],
        read_only: None,
        model: "-m",
        // A prompt may begin with a dash.
        last: &["--", "{prompt}"],
        prompt: PromptVia::Arg,
        parser: Parser::Cline,
        set: &[],
        defaults: &[],
    },
    Known {
        name: "aider",
        install: "python -m pip install aider-chat",
        sign_in: "set the key of your provider, such as OPENAI_API_KEY",
        spec_kit: "aider",
        arguments: &[
            "--no-pretty",
            "--no-stream",
            "--no-auto-commits",
            "--no-gitignore",
            "--no-check-update",
            "--analytics-disable",
        ],
        full: &["--yes-always"],
        default: &[],
        read_only: None,
        model: "--model",
        last: &["--message-file", "{prompt_file}"],
        prompt: PromptVia::File,
        parser: Parser::Aider,
        set: &[],
        defaults: &[],
    },
];

/// The built-in agent that plays a script.
pub(super) const SCRIPTED: &str = "scripted";

pub(super) fn find(name: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.name == name)
}

pub(super) fn names() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().map(|known| known.name)
}
