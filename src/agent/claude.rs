//! Claude Code: `claude -p`, prompt on stdin, events as JSON lines.

use std::time::Duration;

use anyhow::{Result, bail};
use camino::Utf8Path;

use super::launch::Launch;
use super::{Agent, AgentSettings, Parser, Permissions, PromptVia, Surroundings, Turn, on_path};
use crate::process::{self, Interrupt, Tool};
use crate::record::{AgentEvent, AgentRun};

/// Set where we ourselves were started from within Claude Code; the child would take itself for a part of that.
const LEAKING: [&str; 5] = [
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_AGENT_SDK_VERSION",
];

/// How long `claude --version` may take; it answers in well under a second.
const ANSWER: Duration = Duration::from_secs(15);

#[derive(Debug)]
pub(super) struct Claude {
    launch: Launch,
    permissions: Permissions,
}

impl Claude {
    pub(super) const NAME: &str = "claude";

    pub(super) fn new(settings: &AgentSettings) -> Self {
        let mut argv = vec![Self::NAME, "-p", "--output-format", "stream-json", "--verbose"];
        match settings.permissions {
            Permissions::Full => argv.push("--dangerously-skip-permissions"),
            Permissions::Default => {}
            Permissions::ReadOnly => argv.extend(["--permission-mode", "plan"]),
        }
        if settings.model.is_some() {
            argv.extend(["--model", "{model}"]);
        }
        let mut environment = vec![("DISABLE_AUTOUPDATER".to_owned(), "1".to_owned())];
        environment.extend_from_slice(&settings.env);
        let launch = Launch {
            argv: argv.into_iter().map(str::to_owned).collect(),
            environment,
            // By default it tries a wrong key for three minutes. The loop itself knows how to wait.
            defaults: vec![("CLAUDE_CODE_MAX_RETRIES".to_owned(), "3".to_owned())],
            removed: LEAKING.map(str::to_owned).into(),
            prompt: PromptVia::Stdin,
            parser: Parser::Claude,
            model: settings.model.clone(),
        };
        Self { launch, permissions: settings.permissions }
    }

    fn check_as(&self, is_root: Privilege, surroundings: &Surroundings<'_>) -> Result<()> {
        let set = |name: &str| self.launch.environment.iter().rfind(|(set, _)| set == name);
        let lookup =
            |name: &str| set(name).map(|(_, value)| value.clone()).or_else(|| (surroundings.lookup)(name));
        if on_path(Self::NAME, &lookup("PATH").unwrap_or_default()).is_none() {
            bail!(
                "agent `claude` is not installed: no program `claude` on the PATH\nhint: install it (npm install \
                 -g @anthropic-ai/claude-code), or choose another agent with --agent NAME or --agent-command CMD"
            );
        }
        let is_refused = is_root == Privilege::Root
            && self.permissions == Permissions::Full
            // It takes no other word for yes.
            && lookup("IS_SANDBOX").as_deref() != Some("1");
        if is_refused {
            bail!(
                "agent `claude` refuses full permissions to root\nhint: run as another user, or, in a container \
                 that you can lose, set IS_SANDBOX=1, or use permissions = \"default\""
            );
        }
        Ok(())
    }
}

/// As whom we run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Privilege {
    Root,
    User,
}

impl Agent for Claude {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn version(&self) -> Option<String> {
        let mut tool = Tool::new(Self::NAME, Utf8Path::new("/")).arg("--version").limit(ANSWER);
        for (name, value) in &self.launch.environment {
            tool = tool.env(name, value);
        }
        first_version(&String::from_utf8_lossy(&tool.read().ok()?))
    }

    fn check(&self, surroundings: &Surroundings<'_>) -> Result<()> {
        let privilege = if process::is_root() { Privilege::Root } else { Privilege::User };
        self.check_as(privilege, surroundings)
    }

    fn run(
        &self,
        turn: &Turn<'_>,
        interrupt: &Interrupt,
        say: &mut dyn FnMut(AgentEvent),
    ) -> Result<AgentRun> {
        self.launch.run(turn, interrupt, say)
    }
}

/// The first `1.2.3` in what a program says of its version.
fn first_version(text: &str) -> Option<String> {
    let words = text.split(|c: char| !c.is_ascii_digit() && c != '.').map(|word| word.trim_matches('.'));
    let is_version = |word: &&str| word.split('.').filter(|number| !number.is_empty()).count() >= 3;
    words.into_iter().find(is_version).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(permissions: Permissions, model: Option<&str>) -> String {
        let settings =
            AgentSettings { permissions, model: model.map(str::to_owned), ..AgentSettings::named("claude") };
        Claude::new(&settings).launch.argv.join(" ")
    }

    #[test]
    fn permissions_and_model_become_flags() {
        let base = "claude -p --output-format stream-json --verbose";
        assert_eq!(words(Permissions::Full, None), format!("{base} --dangerously-skip-permissions"));
        assert_eq!(words(Permissions::Default, Some("opus")), format!("{base} --model {{model}}"));
        assert_eq!(words(Permissions::ReadOnly, None), format!("{base} --permission-mode plan"));
    }

    #[test]
    fn a_version_is_found_in_any_sentence() {
        for (text, version) in [
            ("2.1.330 (Claude Code)\n", Some("2.1.330")),
            ("codex-cli 0.169.0", Some("0.169.0")),
            ("GitHub Copilot CLI 1.0.102.\n", Some("1.0.102")),
            ("no number", None),
            ("only 1.2", None),
            ("", None),
        ] {
            assert_eq!(first_version(text).as_deref(), version, "{text}");
        }
    }

    #[test]
    fn root_is_told_before_claude_refuses() {
        let folder = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(folder.path()).unwrap();
        let program = folder.join("claude");
        std::fs::write(&program, "").unwrap();
        std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let check = |permissions, privilege, sandbox: Option<&str>| {
            let lookup = |name: &str| match name {
                "PATH" => Some(folder.to_string()),
                "IS_SANDBOX" => sandbox.map(str::to_owned),
                _ => None,
            };
            let settings = AgentSettings { permissions, ..AgentSettings::named("claude") };
            let surroundings = Surroundings { directory: folder, lookup: &lookup };
            Claude::new(&settings).check_as(privilege, &surroundings)
        };
        for sandbox in [None, Some("yes"), Some("0")] {
            let error = check(Permissions::Full, Privilege::Root, sandbox).unwrap_err().to_string();
            assert!(error.contains("\nhint: ") && error.contains("IS_SANDBOX=1"), "{error}");
        }
        check(Permissions::Full, Privilege::Root, Some("1")).unwrap();
        check(Permissions::Full, Privilege::User, None).unwrap();
        check(Permissions::Default, Privilege::Root, None).unwrap();
    }

    #[test]
    fn without_the_program_the_error_says_how_to_get_it() {
        let surroundings = Surroundings { directory: Utf8Path::new("/"), lookup: &|_| None };
        let claude = Claude::new(&AgentSettings::named("claude"));
        let error = claude.check_as(Privilege::User, &surroundings).unwrap_err().to_string();
        assert!(error.starts_with("agent `claude` is not installed: "), "{error}");
        assert!(error.contains("\nhint: install it (npm install -g @anthropic-ai/claude-code)"), "{error}");
    }
}
