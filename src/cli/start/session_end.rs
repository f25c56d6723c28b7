//! How a user learns that a session has ended: by the terminal, and by a command of their own, as for a message to the
//! desktop, a mail, a call of a web hook.

use std::io::{IsTerminal, Write, stderr};
use std::time::Duration;

use camino::Utf8Path;

use ralph_core::config::Notify;
use ralph_core::record::{Session, Status, TaskCounts};
use ralph_os::process::Tool;
use ralph_os::sandbox::Fence;
use ralph_os::terminal::controlling_terminal;
use ralph_project::feature::Feature;
use ralph_ui::style::one_line;

use crate::cli::{Environment, ExitCode, warn};

/// Terminals that show a message of OSC 9 on the desktop, as they call themselves in `TERM_PROGRAM`. Others would take it
/// for something else.
const WITH_MESSAGES: &[&str] = &["iTerm.app", "WezTerm", "ghostty", "kitty"];

/// Time limit of the hook.
const HOOK_TIMEOUT: Duration = Duration::from_mins(1);

/// The bell, the title and, where the terminal knows it, a message on the desktop. Nothing if no terminal is there.
pub fn notify(when: Notify, status: Status, counts: TaskCounts, verdict: &str, environment: &Environment) {
    let terminal: Option<Box<dyn Write>> = match when {
        Notify::Auto | Notify::Always if stderr().is_terminal() => Some(Box::new(stderr())),
        Notify::Always => controlling_terminal().map(|file| Box::new(file) as _),
        Notify::Auto | Notify::Never => None,
    };
    let Some(mut terminal) = terminal else { return };
    let program = environment.value("TERM_PROGRAM").and_then(|name| name.to_str());
    let is_dumb = environment.value("TERM").is_none_or(|term| term == "dumb");
    let text = if is_dumb { "\x07".to_owned() } else { sequences(status, counts, verdict, program) };
    // A terminal that has gone needs no bell.
    let _closed = terminal.write_all(text.as_bytes()).is_err();
}

fn sequences(status: Status, counts: TaskCounts, verdict: &str, program: Option<&str>) -> String {
    let sign = if status == Status::Completed { '✔' } else { '✘' };
    let (done, all) = (counts.done, counts.done + counts.open);
    let mut text = format!("\x07\x1b]0;{sign} {done}/{all}\x07");
    if program.is_some_and(|program| WITH_MESSAGES.contains(&program)) {
        text.push_str(&format!("\x1b]9;ralph: {}\x07", one_line(verdict)));
    }
    text
}

/// Returns what the environment of the hook has. A session that was not started is `None`: it has no id, and nothing is recorded of
/// it.
pub fn hook_variables(
    feature: &Feature,
    session: Option<&Session>,
    counts: TaskCounts,
    branch: Option<String>,
    code: ExitCode,
) -> [(&'static str, String); 13] {
    let of_session = |value: fn(&Session) -> Option<String>| session.and_then(value).unwrap_or_default();
    // `RALPH_SESSION` is not among them: it marks what belongs to a running session, and a hook may start the next.
    [
        ("RALPH_STATUS", session.map_or("refused".to_owned(), |session| session.status.to_string())),
        ("RALPH_STOP_REASON", of_session(|session| session.stop_reason.map(|reason| reason.to_string()))),
        ("RALPH_ENDED_BY", of_session(|session| session.ended_by.map(|ended| ended.by.to_string()))),
        ("RALPH_LIMIT", of_session(|session| session.limit.map(|limit| limit.to_string()))),
        ("RALPH_SESSION_ID", of_session(|session| Some(session.id.to_string()))),
        ("RALPH_BRANCH", branch.unwrap_or_default()),
        ("RALPH_LANE", of_session(|session| session.lane.map(|lane| lane.to_string()))),
        ("RALPH_FEATURE", feature.dir.to_string()),
        ("RALPH_PROGRESS", feature.progress_path.to_string()),
        ("RALPH_ITERATIONS", session.map_or(0, |session| session.iterations_run).to_string()),
        ("RALPH_TASKS_DONE", counts.done.to_string()),
        ("RALPH_TASKS_OPEN", counts.open.to_string()),
        ("RALPH_EXIT_CODE", code.number().to_string()),
    ]
}

/// Runs the hook with the outcome in its environment, and in a lane with the variables that are `moved` there. However it ends,
/// the session's own end counts.
pub fn run_hook<const N: usize>(
    command: &str,
    root: &Utf8Path,
    moved: Vec<(String, String)>,
    variables: [(&str, String); N],
    fence: Option<&Fence>,
) {
    let mut tool = Tool::shell(command, root).limit(HOOK_TIMEOUT).after_the_session();
    for (name, value) in moved {
        tool = tool.env(&name, value);
    }
    for (name, value) in variables {
        tool = tool.env(name, value);
    }
    // It may run a script of the project's, which an agent may have written.
    if let Some(fence) = fence {
        tool = tool.inside(fence);
    }
    match tool.run() {
        Ok(ended) if ended.is_success() => {}
        Ok(ended) => {
            let complaint = ended.complaint();
            warn(&format!("hooks.on-finish: `{command}` exited {}: {complaint}", ended.code));
        }
        Err(error) => warn(&format!("hooks.on-finish: {error:#}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bell_a_title_and_a_message_where_it_is_understood() {
        let counts = |done, open| TaskCounts { done, open };
        let stuck = sequences(Status::Failed, counts(12, 23), "12 of 35 tasks done", Some("xterm"));
        assert_eq!(stuck, "\x07\x1b]0;✘ 12/35\x07");
        let expected = "\x07\x1b]0;✔ 3/3\x07\x1b]9;ralph: all 3 tasks done\x07";
        let done = sequences(Status::Completed, counts(3, 0), "all 3 tasks done", Some("ghostty"));
        assert_eq!(done, expected);
    }
}
