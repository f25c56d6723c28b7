//! Whether an agent did anything at all in its run: asked as soon as it has ended, before anything is charged to a task.

use crate::record::{AgentRun, Exit, ExitReason, denied_writes};

/// Returns how an agent run did nothing, in words; `None` if it did something. Whether the work tree is as it was before is only
/// asked if the run itself shows no work.
pub fn nothing_done(run: &AgentRun, is_unchanged: impl FnOnce() -> bool) -> Option<String> {
    let Exit { code, reason } = run.exit;
    if reason.is_some_and(|reason| !matches!(reason, ExitReason::IdleTimeout | ExitReason::Timeout)) {
        return None;
    }
    let words = if let Some(tools) = denied_writes(&run.tool_calls) {
        format!("every write was denied ({}): permission mode?", tools.join(", "))
    } else if !run.was_silent {
        return None;
    } else if let Some(signal) = code.checked_sub(128).filter(|signal| (1..=64).contains(signal)) {
        let guess = if signal == 9 { ": out of memory?" } else { "" };
        format!("killed by signal {signal} before it wrote anything{guess}")
    } else {
        match (reason, &run.error) {
            (Some(_), _) => format!("{PRINTED_NOTHING} before it was stopped: a server that does not start?"),
            (None, Some(error)) if code != 0 => format!("exited {code} before it did anything: {error}"),
            (None, None) if code != 0 => format!("exited {code} before it did anything"),
            _ => PRINTED_NOTHING.to_owned(),
        }
    };
    is_unchanged().then_some(words)
}

/// How an agent did nothing that ended by itself, and well.
pub const PRINTED_NOTHING: &str = "printed nothing";
