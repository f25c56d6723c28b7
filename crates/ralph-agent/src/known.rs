//! The agents that need no command in the configuration, and what each of them wants.

use ralph_core::record::{Parser, PromptVia};

/// The command line of an agent. Many fields: a row of the table of agents, read where a session begins.
#[derive(Debug)]
pub(super) struct Known {
    /// Its name and its program's.
    pub name: &'static str,
    /// How to get it.
    pub install: &'static str,
    /// How to sign in to it, or which key it wants.
    pub sign_in: &'static str,
    /// What spec-kit calls it.
    pub spec_kit: &'static str,
    pub arguments: &'static [&'static str],
    /// What is added for each of the permissions.
    pub full: &'static [&'static str],
    pub default: &'static [&'static str],
    /// `None` if it has no option for that.
    pub read_only: Option<&'static [&'static str]>,
    /// What is before a model.
    pub model: &'static str,
    /// After all others.
    pub last: &'static [&'static str],
    pub prompt: PromptVia,
    pub parser: Parser,
    pub set: &'static [(&'static str, &'static str)],
    /// Set if the user sets none.
    pub defaults: &'static [(&'static str, &'static str)],
}

/// Set by agents for the programs that they start. An agent that found them would take itself for a part of another.
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
        // By default it tries a wrong key for three minutes. The loop itself knows how to wait.
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
        // It asks for nothing, ever.
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

/// The agent that comes with us.
pub(super) const SCRIPTED: &str = "scripted";

pub(super) fn find(name: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.name == name)
}

pub(super) fn names() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().map(|known| known.name)
}
