//! The user's command for the end of a session: a message to the desktop, a mail, a call of a web hook.

use std::time::Duration;

use anyhow::{Result, bail};
use camino::Utf8Path;

use crate::feature::Feature;
use crate::process::Tool;
use crate::record::Session;

use super::{ExitCode, warn};

/// Time limit of the hook.
const HOOK_TIMEOUT: Duration = Duration::from_secs(60);

/// Runs it with the outcome in its environment. However it ends, the session's own end stands.
pub fn run(command: &str, root: &Utf8Path, feature: &Feature, session: &Session, code: ExitCode) {
    if let Err(error) = try_run(command, root, &variables(feature, session, code)) {
        warn(&format!("hooks.on-finish: {error:#}"));
    }
}

fn try_run(command: &str, root: &Utf8Path, variables: &[(&str, String)]) -> Result<()> {
    let mut tool = Tool::shell(command, root).limit(HOOK_TIMEOUT).after_the_session();
    for (name, value) in variables {
        tool = tool.env(name, value);
    }
    let ended = tool.run()?;
    if !ended.is_success() {
        bail!("`{command}` exited {}: {}", ended.code, ended.complaint());
    }
    Ok(())
}

/// `RALPH_SESSION` is not among them: it marks what belongs to a running session, and a hook may start the next.
fn variables(feature: &Feature, session: &Session, code: ExitCode) -> [(&'static str, String); 10] {
    [
        ("RALPH_STATUS", session.status.to_string()),
        ("RALPH_STOP_REASON", session.stop_reason.map_or(String::new(), |reason| reason.to_string())),
        ("RALPH_LIMIT", session.limit.map_or(String::new(), |limit| limit.to_string())),
        ("RALPH_SESSION_ID", session.id.to_string()),
        ("RALPH_FEATURE", feature.dir.to_string()),
        ("RALPH_PROGRESS", feature.progress_path.to_string()),
        ("RALPH_ITERATIONS", session.iterations_run.to_string()),
        ("RALPH_TASKS_DONE", session.tasks_done.to_string()),
        ("RALPH_TASKS_OPEN", session.tasks_remaining.to_string()),
        ("RALPH_EXIT_CODE", code.number().to_string()),
    ]
}
