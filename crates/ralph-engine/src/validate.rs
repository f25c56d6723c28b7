//! The project's own check: runs it through the shell, with the same care as an agent.

use anyhow::{Context, Result};
use camino::{Utf8Path, Utf8PathBuf};

use ralph_core::record::Validation;
use ralph_os::clock::Clock;
use ralph_os::process::{Child, Interrupt, Limits, Marker, Pulse, Tool};
use ralph_os::sandbox::Fence;

/// Where a validation runs, and what it may do.
#[derive(Debug)]
pub struct ValidationContext<'a> {
    /// The project's root.
    pub directory: Utf8PathBuf,
    /// The `RALPH_*` variables.
    pub environment: Vec<(String, String)>,
    /// Files in the spool.
    pub stdout: Utf8PathBuf,
    pub stderr: Utf8PathBuf,
    pub marker: Marker,
    pub limits: Limits,
    pub clock: &'a Clock,
    pub fence: Option<Fence>,
}

/// Runs the command. However it ends, even if it cannot be started, is a result.
pub fn run(command: &str, bench: &ValidationContext<'_>, interrupt: &Interrupt) -> Result<Validation> {
    let child = Child {
        argv: ["sh", "-c", command].map(str::to_owned).into(),
        directory: bench.directory.clone(),
        environment: bench.environment.clone(),
        defaults: Vec::new(),
        removed: Vec::new(),
        stdin: None,
        stdout: bench.stdout.clone(),
        stderr: bench.stderr.clone(),
        marker: bench.marker.clone(),
        limits: bench.limits,
        fence: bench.fence.clone(),
    };
    let stopwatch = bench.clock.stopwatch();
    let ended = child
        .run(interrupt, &mut || Pulse::Alive)
        .with_context(|| format!("run the validation `{command}`"))?;
    Ok(Validation {
        command: command.to_owned(),
        exit: ended.exit,
        duration_ms: stopwatch.elapsed_ms(),
        leftovers: ended.leftovers,
        has_no_tests: false,
        failed_beside: None,
    })
}

/// Returns the program that `command` begins with if the shell knows none of this name. The command is not run. `None`
/// if the program is there, or the command begins with anything but a plain name.
pub fn missing_program<'c>(command: &'c str, directory: &Utf8Path) -> Option<&'c str> {
    let name = first_name(command)?;
    let asked = Tool::new("sh", directory).args(["-c", "command -v \"$1\" >/dev/null", "sh", name]);
    let asked = asked.on_the_users_path().run();
    asked.is_ok_and(|answer| !answer.is_success()).then_some(name)
}

/// Returns the first word after assignments, if the shell takes it as it is written.
fn first_name(command: &str) -> Option<&str> {
    let mut words = command.split_whitespace().skip_while(|word| {
        word.split_once('=').is_some_and(|(name, value)| {
            let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            // Another PATH has other programs.
            is_name && name != "PATH" && is_plain(value)
        })
    });
    let name = words.next()?;
    let is_function = words.next().is_some_and(|next| next.starts_with('('));
    let is_name = is_plain(name) && name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    (is_name && !name.contains('/') && !is_function).then_some(name)
}

fn is_plain(word: &str) -> bool {
    word.chars().all(|c| c.is_ascii_alphanumeric() || "_-+.,:/@%".contains(c))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use ralph_core::record::{Exit, ExitReason, SessionId, Timestamp};

    fn validate(command: &str, wall: Duration) -> (Validation, String, String) {
        let folder = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(folder.path()).unwrap();
        let salt = u32::try_from(command.len()).unwrap();
        let session =
            SessionId::new(Timestamp::from_seconds(i64::from(std::process::id())), 1_000_000 + salt);
        let bench = ValidationContext {
            directory: folder.to_owned(),
            environment: vec![("RALPH_TASK".to_owned(), "T001".to_owned())],
            stdout: folder.join("stdout"),
            stderr: folder.join("stderr"),
            marker: Marker::new(&session),
            limits: Limits { wall, idle: None, first_output: None, output: u64::MAX },
            clock: &Clock::new(Some("2026-01-31T12:00:00Z")).unwrap(),
            fence: None,
        };
        let validation = run(command, &bench, &Interrupt::none()).unwrap();
        let read = |path: &Utf8Path| std::fs::read_to_string(path).unwrap();
        (validation, read(&bench.stdout), read(&bench.stderr))
    }

    #[test]
    fn a_validation_keeps_code_streams_and_duration() {
        let (validation, stdout, stderr) =
            validate("echo \"$RALPH_TASK\" && echo bad >&2; exit 101", Duration::from_mins(1));
        assert_eq!(validation.exit, Exit { code: 101, reason: None });
        assert_eq!((stdout.as_str(), stderr.as_str()), ("T001\n", "bad\n"));
        assert_eq!(validation.duration_ms, 1000);
    }

    #[test]
    fn a_command_that_does_not_exist_is_a_result() {
        let (validation, _, stderr) = validate("no-such-command --at-all", Duration::from_mins(1));
        assert_eq!(validation.exit, Exit { code: 127, reason: None });
        assert!(stderr.contains("no-such-command"), "{stderr}");
    }

    #[test]
    fn only_a_plain_name_that_the_shell_does_not_know_is_missing() {
        for (command, missing) in [
            ("no-such-command --at-all", Some("no-such-command")),
            ("  CI=1 X=a/b no-such-command", Some("no-such-command")),
            ("git status", None),
            ("test -f x", None),
            ("if true; then no-such-command; fi", None),
            ("cd sub && no-such-command", None),
            ("no-such-command; true", None),
            ("no-such-command;", None),
            ("./no-such-command", None),
            ("bin/no-such-command", None),
            ("PATH=bin no-such-command", None),
            ("$TOOL check", None),
            ("\"no such\" x", None),
            ("no-such-command () { true; }; no-such-command", None),
            ("(no-such-command)", None),
            ("! no-such-command", None),
            ("", None),
        ] {
            assert_eq!(missing_program(command, Utf8Path::new("/")), missing, "{command}");
        }
    }

    #[test]
    fn a_timeout_is_a_result_that_keeps_what_was_said() {
        let (validation, stdout, _) = validate("echo begun; sleep 1000", Duration::from_secs(2));
        assert_eq!(validation.exit, Exit { code: -1, reason: Some(ExitReason::Timeout) });
        assert_eq!(stdout, "begun\n");
    }
}
