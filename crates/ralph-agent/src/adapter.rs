//! A known agent, started as its program wants it.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::{Result, bail};
use camino::{Utf8Path, Utf8PathBuf};
use redact_stream::Redactor;

use super::hint;
use super::interface::{Agent, AgentInput, Lookup};
use super::known::{self, Known, LEAKING};
use super::launch::Launch;
use super::programs::on_path;
use super::settings::AgentSettings;
use ralph_core::record::{AgentEvent, AgentRun, FailureClass, Permissions, summary};
use ralph_os::process::{self, Interrupt, Tool, outside};
use ralph_os::sandbox::{AgentState, Sandbox};

/// What to do where Claude Code refuses to run as root.
const ROOT: &str = "run as another user, or, in a container that you can lose, set IS_SANDBOX=1, or use permissions = \
                    \"default\"";

/// How long `--version` may take; some unpack themselves first.
const VERSION_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct Adapter {
    known: &'static Known,
    launch: Launch,
    permissions: Permissions,
    /// The output of `--version`, or why it failed.
    asked: OnceLock<Result<String, String>>,
}

impl Adapter {
    pub(super) fn new(known: &'static Known, settings: &AgentSettings, lookup: Lookup<'_>) -> Self {
        let permissions = match settings.permissions {
            Permissions::Full => known.full,
            Permissions::Default => known.default,
            Permissions::ReadOnly => known.read_only.unwrap_or_default(),
        };
        let mut argv = vec![known.name];
        argv.extend_from_slice(known.arguments);
        argv.extend_from_slice(permissions);
        if settings.model.is_some() {
            argv.extend([known.model, "{model}"]);
        }
        argv.extend_from_slice(known.last);
        let mut environment = owned(known.set);
        environment.extend_from_slice(&settings.env);
        let launch = Launch {
            argv: argv.into_iter().map(str::to_owned).collect(),
            environment,
            defaults: owned(known.defaults),
            removed: LEAKING.iter().copied().map(str::to_owned).collect(),
            prompt: known.prompt,
            parser: known.parser,
            model: settings.model.clone(),
            codex_home: (known.name == "codex").then(|| codex_home(settings, lookup)).flatten(),
            limit_pattern: settings.limit_pattern(),
            state: state(known, settings, lookup),
        };
        Self { known, launch, permissions: settings.permissions, asked: OnceLock::new() }
    }

    fn variable(&self, name: &str, lookup: Lookup<'_>) -> Option<String> {
        let set = self.launch.environment.iter().rfind(|(set, _)| set == name);
        set.map(|(_, value)| value.clone()).or_else(|| lookup(name))
    }

    /// Returns where its program is.
    pub(super) fn program(&self, lookup: Lookup<'_>) -> Option<Utf8PathBuf> {
        on_path(self.known.name, &self.variable("PATH", lookup).unwrap_or_default())
    }

    /// Runs `--version`, once: some agents take seconds for it.
    fn ask(&self) -> &Result<String, String> {
        self.asked.get_or_init(|| {
            // One that an agent could have written is asked in the sandbox alone.
            if !outside::is_found(self.known.name) {
                return Ok(String::new());
            }
            let mut tool =
                Tool::new(self.known.name, Utf8Path::new("/")).arg("--version").limit(VERSION_TIMEOUT);
            for (name, value) in self.launch.defaults.iter().chain(&self.launch.environment) {
                tool = tool.env(name, value);
            }
            match tool.run() {
                Ok(captured) if captured.is_success() => {
                    Ok(String::from_utf8_lossy(&captured.stdout).into_owned())
                }
                Ok(captured) => Err(captured.complaint()),
                Err(error) => Err(error.root_cause().to_string()),
            }
        })
    }

    /// A file on the PATH is no proof that it works.
    fn check_answer(&self) -> Result<()> {
        let Known { name, install, .. } = self.known;
        match self.ask() {
            Ok(_) => Ok(()),
            Err(why) => {
                bail!(
                    "`{name} --version` fails: {}\nhint: install it again ({install})",
                    summary(&Redactor::default().redact(why))
                )
            }
        }
    }

    /// Checks that it is installed, and works as far as can be seen without a prompt.
    pub(super) fn answers(&self) -> bool {
        self.ask().is_ok()
    }

    fn check_as(&self, privilege: Privilege, lookup: Lookup<'_>) -> Result<()> {
        let name = self.known.name;
        if self.program(lookup).is_none() {
            bail!(
                "agent `{name}` is not installed: no program `{name}` on the PATH\nhint: install it ({}), or choose \
                 another agent with --agent NAME or --agent-command CMD",
                self.known.install
            );
        }
        if self.permissions == Permissions::ReadOnly && self.known.read_only.is_none() {
            bail!(
                "agent `{name}` has no known option for permissions = \"read-only\"\nhint: use permissions = \
                 \"default\" and configure {name} itself, or choose another agent with --agent NAME"
            );
        }
        if let Some(complaint) = self.refusal(privilege, lookup) {
            bail!(complaint);
        }
        Ok(())
    }

    /// Claude Code gives no full permissions to root, unless `IS_SANDBOX=1` is set.
    fn refusal(&self, privilege: Privilege, lookup: Lookup<'_>) -> Option<String> {
        let is_refused = self.known.name == "claude"
            && privilege == Privilege::Root
            && self.permissions == Permissions::Full
            && self.variable("IS_SANDBOX", lookup).as_deref() != Some("1");
        is_refused.then(|| format!("agent `claude` refuses full permissions to root\nhint: {ROOT}"))
    }
}

/// Returns what an agent has of the home folder, and where.
fn state(known: &Known, settings: &AgentSettings, lookup: Lookup<'_>) -> AgentState {
    let own = settings.agent_state();
    // The base directories of XDG, which agents that keep to them may have elsewhere too.
    let folders =
        known.folder.into_iter().chain([("XDG_CONFIG_HOME", ".config"), ("XDG_DATA_HOME", ".local/share")]);
    AgentState {
        copies: known.state.iter().map(Into::into).chain(own.copies).collect(),
        credentials: known.credentials.iter().map(Into::into).chain(own.credentials).collect(),
        folders: folders
            .map(|(name, usual)| {
                let set = variable(name, settings, lookup).filter(|set| set.starts_with('/'));
                (name.to_owned(), usual.into(), set.map(Into::into))
            })
            .collect(),
        variables: known.keys.iter().map(|name| (*name).to_owned()).collect(),
    }
}

fn variable(name: &str, settings: &AgentSettings, lookup: Lookup<'_>) -> Option<String> {
    let set = settings.env.iter().rfind(|(set, _)| set == name);
    set.map(|(_, value)| value.clone()).or_else(|| lookup(name))
}

fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn codex_home(settings: &AgentSettings, lookup: Lookup<'_>) -> Option<Utf8PathBuf> {
    let own = variable("CODEX_HOME", settings, lookup).map(Utf8PathBuf::from);
    let home = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
    own.or_else(|| variable(home, settings, lookup).map(|home| Utf8Path::new(&home).join(".codex")))
}

/// The user that runs the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Privilege {
    Root,
    User,
}

impl Agent for Adapter {
    fn name(&self) -> &str {
        self.known.name
    }

    fn version(&self) -> Option<String> {
        first_version(self.ask().as_ref().ok()?)
    }

    fn arguments(&self) -> Vec<String> {
        self.launch.arguments()
    }

    fn hint(&self, class: FailureClass) -> String {
        let Known { name, sign_in, install, .. } = self.known;
        if class == FailureClass::Auth {
            format!("{sign_in}, and run again")
        } else if class == FailureClass::NotInstalled {
            format!("install it ({install}), or choose another agent with --agent NAME")
        } else if class == FailureClass::Refused && *name == "claude" {
            ROOT.to_owned()
        } else {
            hint::for_failure(class)
        }
    }

    fn api_key(&self, lookup: Lookup<'_>) -> Option<String> {
        let keys = known::BILLED.iter().find(|(name, _)| *name == self.known.name)?.1;
        let key =
            keys.iter().find(|key| self.variable(key, lookup).is_some_and(|value| !value.is_empty()))?;
        let home =
            self.variable(if cfg!(windows) { "USERPROFILE" } else { "HOME" }, lookup).unwrap_or_default();
        let logins = self.known.credentials.iter().map(|file| Utf8Path::new(&home).join(file));
        let has_login = logins.into_iter().any(|file| file.is_file());
        let beside = if has_login { "; there is a login, too, which would be used without it" } else { "" };
        Some(format!("an API key pays: {key}{beside}"))
    }

    fn check_inside(&self, sandbox: &Arc<Sandbox>, directory: &Utf8Path, lookup: Lookup<'_>) -> Result<()> {
        let Known { name, .. } = self.known;
        let tool = Tool::new(*name, directory).arg("--version").limit(VERSION_TIMEOUT);
        self.launch.check_inside(tool, name, sandbox, lookup)
    }

    fn check(&self, _: &Utf8Path, lookup: Lookup<'_>) -> Result<()> {
        let privilege = if process::is_root() { Privilege::Root } else { Privilege::User };
        self.check_as(privilege, lookup)?;
        self.check_answer()
    }

    fn state(&self) -> &AgentState {
        &self.launch.state
    }

    fn run(
        &self,
        turn: &AgentInput<'_>,
        interrupt: &Interrupt,
        say: &mut dyn FnMut(AgentEvent),
    ) -> Result<AgentRun> {
        self.launch.run(turn, interrupt, say)
    }
}

/// Returns the first `1.2.3` in a program's output.
fn first_version(text: &str) -> Option<String> {
    let words = text.split(|c: char| !c.is_ascii_digit() && c != '.').map(|word| word.trim_matches('.'));
    words
        .into_iter()
        .find(|word| word.split('.').filter(|number| !number.is_empty()).count() >= 3)
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adapter(name: &str, permissions: Permissions, model: Option<&str>) -> Adapter {
        let settings =
            AgentSettings { permissions, model: model.map(str::to_owned), ..AgentSettings::named(name) };
        Adapter::new(known::find(name).unwrap(), &settings, &|_| None)
    }

    #[test]
    fn permissions_and_model_become_flags() {
        let words = |name: &str, permissions, model| adapter(name, permissions, model).launch.argv.join(" ");
        let (full, default, read_only) = (Permissions::Full, Permissions::Default, Permissions::ReadOnly);
        for (name, permissions, model, wanted) in [
            (
                "claude",
                full,
                None,
                "claude -p --output-format stream-json --verbose --dangerously-skip-permissions",
            ),
            (
                "claude",
                default,
                Some("opus"),
                "claude -p --output-format stream-json --verbose --model {model}",
            ),
            (
                "claude",
                read_only,
                None,
                "claude -p --output-format stream-json --verbose --permission-mode plan",
            ),
            (
                "codex",
                full,
                Some("m"),
                "codex exec --json --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox --model {model} -",
            ),
            ("codex", read_only, None, "codex exec --json --skip-git-repo-check --sandbox read-only -"),
            (
                "copilot",
                full,
                None,
                "copilot --no-ask-user --no-auto-update --no-color --output-format json --stream off \
                 --usage-output-file {usage_file} --allow-all",
            ),
            ("gemini", full, None, "gemini --output-format stream-json --skip-trust --yolo"),
            ("gemini", default, None, "gemini --output-format stream-json --skip-trust"),
            ("opencode", full, Some("p/m"), "opencode run --format json --auto --model {model}"),
            ("kilo", default, None, "kilo run --format json"),
            ("qwen", full, None, "qwen --output-format stream-json --yolo"),
            ("pi", full, Some("m"), "pi --mode json -p --model {model}"),
            ("droid", full, None, "droid exec -o stream-json --skip-permissions-unsafe"),
            ("droid", read_only, None, "droid exec -o stream-json"),
            ("cline", full, Some("m"), "cline --json --auto-approve true -m {model} -- {prompt}"),
            (
                "aider",
                full,
                None,
                "aider --no-pretty --no-stream --no-auto-commits --no-gitignore --no-check-update \
                 --analytics-disable --yes-always --message-file {prompt_file}",
            ),
        ] {
            assert_eq!(words(name, permissions, model), wanted);
        }
    }

    #[test]
    fn what_another_agent_set_is_taken_away_and_what_the_user_sets_wins() {
        let mut settings = AgentSettings::named("claude");
        settings.env = vec![("DISABLE_AUTOUPDATER".to_owned(), "0".to_owned())];
        let launch = Adapter::new(known::find("claude").unwrap(), &settings, &|_| None).launch;
        assert!(launch.removed.contains(&"CLAUDECODE".to_owned()));
        assert_eq!(launch.environment.last().unwrap().1, "0");
        let names: Vec<_> = launch.defaults.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["CLAUDE_CODE_MAX_RETRIES", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"]);
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

    /// Returns a folder with programs of these names that do nothing.
    fn programs(names: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            let program = folder.path().join(name);
            std::fs::write(&program, "").unwrap();
            std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        }
        folder
    }

    #[test]
    fn root_is_reported_before_claude_refuses() {
        let folder = programs(&["claude"]);
        let folder = Utf8Path::from_path(folder.path()).unwrap();
        let check = |permissions, privilege, sandbox: Option<&str>| {
            let lookup = |name: &str| match name {
                "PATH" => Some(folder.to_string()),
                "IS_SANDBOX" => sandbox.map(str::to_owned),
                _ => None,
            };
            adapter("claude", permissions, None).check_as(privilege, &lookup)
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
    fn read_only_is_refused_where_the_agent_has_no_switch_for_it() {
        let names: Vec<&str> = known::names().collect();
        let folder = programs(&names);
        let folder = Utf8Path::from_path(folder.path()).unwrap();
        let lookup = |name: &str| (name == "PATH").then(|| folder.to_string());
        for known in known::KNOWN {
            let checked = adapter(known.name, Permissions::ReadOnly, None).check(folder, &lookup);
            let is_refused =
                checked.is_err_and(|error| error.to_string().contains("has no known option for permissions"));
            assert_eq!(is_refused, known.read_only.is_none(), "{}", known.name);
        }
        let with_switch = known::KNOWN.iter().filter(|known| known.read_only.is_some());
        assert!(with_switch.count() >= 3, "claude, codex and droid have one");
    }

    #[test]
    fn without_the_program_the_error_says_how_to_get_it() {
        for known in known::KNOWN {
            let adapter = adapter(known.name, Permissions::Full, None);
            let error = adapter.check_as(Privilege::User, &|_| None).unwrap_err().to_string();
            assert!(error.starts_with(&format!("agent `{}` is not installed: ", known.name)), "{error}");
            assert!(error.contains(&format!("\nhint: install it ({})", known.install)), "{error}");
        }
    }
}
