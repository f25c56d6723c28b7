//! `specify ralph doctor`: whether a loop could run here, and what would mend it where not.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Error, Result};
use camino::Utf8Path;
use serde::Serialize;

use crate::config::Config;
use crate::process::{self, Tool};
use crate::record::{Permissions, Refusal};
use crate::store::{MANY_LOOSE, Spool, Store};
use crate::view::style::{Count, one_line};

use super::agents::listed;
use super::caller::Caller;
use super::exit_code::ExitCode;
use super::forward::identity;
use super::log::print_json;
use super::output::stdout;
use super::settings::{Flags, load};
use super::{DoctorArgs, Json, place, sessions};

/// The oldest git that knows how to sync what it writes: `core.fsync`.
const OLDEST_GIT: (u32, u32) = (2, 36);

/// Longest wait for a program that is asked who it is.
const ANSWER: Duration = Duration::from_secs(10);

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Fine,
    /// Nothing to mend, but to know.
    Note,
    Wrong,
}

#[derive(Debug, Serialize)]
struct Finding {
    about: &'static str,
    state: State,
    message: String,
    /// What mends it, or what to do about it.
    hint: Option<String>,
}

impl Finding {
    fn new(about: &'static str, state: State, message: impl Into<String>) -> Self {
        Self { about, state, message: message.into(), hint: None }
    }

    fn hinted(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    fn wrong(about: &'static str, error: &Error) -> Self {
        match error.downcast_ref::<Refusal>() {
            Some(refusal) => {
                Self { hint: refusal.hint.clone(), ..Self::new(about, State::Wrong, refusal.message.clone()) }
            }
            None => Self::new(about, State::Wrong, format!("{error:#}")),
        }
    }
}

pub fn run(args: &DoctorArgs, caller: &Caller) -> Result<ExitCode> {
    let mut findings = vec![git(&caller.directory), programs(caller)];
    let read = caller.project_root().and_then(|root| Ok((load(&root, caller, Flags::default())?, root)));
    match read {
        Ok((config, root)) => {
            findings.push(Finding::new("settings", State::Fine, "can be read"));
            findings.push(agents(&config, &root, caller));
            findings.push(permissions(&config));
        }
        Err(error) => findings.push(Finding::wrong("settings", &error)),
    }
    match place::open(caller) {
        Ok(store) => findings.extend(repository(&store)?),
        Err(error) => findings.push(Finding::wrong("repository", &error)),
    }
    let is_fine = findings.iter().all(|finding| finding.state != State::Wrong);
    let mut out = stdout();
    match args.json {
        Json { json: true } => print_json(&mut out, &findings)?,
        Json { json: false } => write(&findings, &mut out).context("write the findings")?,
    }
    out.flush().context("write the findings")?;
    Ok(if is_fine { ExitCode::Done } else { ExitCode::NotDone })
}

fn write(findings: &[Finding], out: &mut impl Write) -> std::io::Result<()> {
    for Finding { about, state, message, hint } in findings {
        let sign = match state {
            State::Fine => "ok",
            State::Note => "note",
            State::Wrong => "WRONG",
        };
        writeln!(out, "{sign:5}  {about:12}  {}", one_line(message))?;
        if let Some(hint) = hint {
            writeln!(out, "{:19}  {}", "", one_line(hint))?;
        }
    }
    Ok(())
}

fn git(directory: &Utf8Path) -> Finding {
    let Ok(version) = Tool::git(directory).arg("version").line() else {
        return Finding::new("git", State::Wrong, "git cannot be run").hinted("install git 2.36 or newer");
    };
    let number = version.split(' ').nth(2).unwrap_or_default();
    match parse(number) {
        Some(found) if found < OLDEST_GIT => {
            Finding::new("git", State::Wrong, format!("{version} cannot sync all that it writes"))
                .hinted("install git 2.36 or newer")
        }
        _ => Finding::new("git", State::Fine, version),
    }
}

fn parse(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

/// Which `specify` comes first: where it is spec-kit's, `specify ralph` does not reach us.
fn programs(caller: &Caller) -> Finding {
    let ourselves = std::env::current_exe().ok().and_then(|path| identity(&path));
    let path = caller.environment.value("PATH").unwrap_or(OsStr::new(""));
    let found: Vec<PathBuf> = std::env::split_paths(path)
        .map(|folder| folder.join("specify"))
        .filter(|program| program.is_file())
        .collect();
    // Called as `git ralph`, we are another file than our `specify`.
    let is_ours = |program: &Path| {
        let said = || Tool::new(program, &caller.directory).args(["ralph", "--version"]).limit(ANSWER).line();
        identity(program) == ourselves || said().is_ok_and(|version| version.starts_with("specify-ralph "))
    };
    match found.first() {
        None => Finding::new("programs", State::Note, "there is no `specify` on the PATH")
            .hinted("put the folder of this program on it: `cargo install --path .` does"),
        Some(first) if is_ours(first) => {
            let other = found.iter().find(|program| !is_ours(program));
            let behind = other.map_or_else(
                || "spec-kit's is not installed".to_owned(),
                |program| format!("spec-kit's is behind it: {}", program.display()),
            );
            Finding::new("programs", State::Fine, format!("`specify ralph` is this program; {behind}"))
        }
        Some(first) => Finding::new(
            "programs",
            State::Note,
            format!(
                "{} comes first on the PATH, so `specify ralph` does not reach this program",
                first.display()
            ),
        )
        .hinted("`git ralph` always works; or put this program's folder in front on the PATH"),
    }
}

fn agents(config: &Config, root: &Utf8Path, caller: &Caller) -> Finding {
    let listed = listed(config, root, caller);
    let usable: Vec<String> = listed
        .iter()
        .filter(|agent| agent.is_installed)
        .map(|agent| format!("{} {}", agent.name, agent.version.as_deref().unwrap_or("-")))
        .collect();
    let own: Vec<&str> = config
        .agents
        .iter()
        .filter(|(_, agent)| agent.command.is_some())
        .map(|(name, _)| name.as_str())
        .collect();
    match (usable.is_empty(), own.is_empty()) {
        (true, true) => {
            Finding::new("agents", State::Wrong, "no known agent can be used, and none is set up")
                .hinted("`specify ralph agents` says what each of them needs")
        }
        (true, false) => Finding::new("agents", State::Fine, format!("set up here: {}", own.join(", "))),
        (false, _) => Finding::new("agents", State::Fine, usable.join(", ")),
    }
}

/// What the agent may do is said plainly: nobody is there to be asked.
fn permissions(config: &Config) -> Finding {
    let finding = match config.permissions {
        Permissions::Full => Finding::new(
            "permissions",
            State::Note,
            "full: the agent runs any command and changes any file that you may, without asking (claude: \
             --dangerously-skip-permissions, codex: --dangerously-bypass-approvals-and-sandbox, others alike)",
        )
        .hinted("run it where that does no harm: a container, a machine of its own; or set permissions = \"default\""),
        Permissions::Default => {
            Finding::new("permissions", State::Fine, "default: what the agent's own settings allow; what it would ask for is refused")
        }
        Permissions::ReadOnly => Finding::new("permissions", State::Fine, "read-only: agents without a switch for that are refused"),
    };
    if process::is_root() && config.permissions == Permissions::Full {
        let message = format!(
            "{}; you are root, where claude refuses that unless IS_SANDBOX=1 is set",
            finding.message
        );
        return Finding { message, ..finding };
    }
    finding
}

fn repository(store: &Store) -> Result<Vec<Finding>> {
    let repository = store.repository();
    let mut findings = vec![Finding::new("repository", State::Fine, repository.common_dir.to_string())];
    let running = sessions::running(store)?;
    for holder in &running {
        let message = format!("session {} runs, process {} on {}", holder.session, holder.pid, holder.host);
        findings
            .push(Finding::new("loops", State::Note, message).hinted("`specify ralph status` tells more"));
    }
    for spool in Spool::all(repository)? {
        let session = spool.session();
        if session.as_ref().is_some_and(|session| running.iter().all(|holder| holder.session != *session)) {
            let name = session.map(|session| session.to_string()).unwrap_or_default();
            let message = format!("session {name} was cut off, and its last iteration is not recorded yet");
            findings.push(Finding::new("leftovers", State::Note, message).hinted(
                "the next `specify ralph` in its work tree records it; `specify ralph resume` takes it up again",
            ));
        }
    }
    let loose = store.loose_objects()?;
    if loose >= MANY_LOOSE {
        let message = format!("about {}, ours and others", Count(loose as u64, "loose object"));
        findings
            .push(Finding::new("objects", State::Note, message).hinted("`specify ralph pack` packs ours"));
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_git_are_read_as_every_vendor_writes_them() {
        for (text, expected) in [
            ("2.47.3", Some((2, 47))),
            ("2.39.5", Some((2, 39))),
            ("2.51.0.windows.1", Some((2, 51))),
            ("unknown", None),
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
        assert!(parse("2.9.1").is_some_and(|old| old < OLDEST_GIT));
    }
}
