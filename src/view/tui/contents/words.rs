//! Words and signs that several views use.

use crate::record::{Status, Uncounted};
use crate::view::ending::{self, SkippedTasks, state};
use crate::view::local_time;
use crate::view::style::cut;
use crate::view::tui::row::{Look, Row, shown};
use crate::view::tui::source::SessionRow;

/// The colour and the sign of a session.
pub fn status_sign(status: Status) -> (Look, &'static str) {
    match status {
        Status::Running => (Look::Accent, "●"),
        Status::Completed => (Look::Good, "✔"),
        Status::Interrupted => (Look::Warn, "‖"),
        Status::Failed => (Look::Bad, "✘"),
        Status::Later(_) => (Look::Warn, "?"),
    }
}

/// Where a session stands, and on which machine if that is another one.
pub fn words_of(session: &SessionRow) -> String {
    match &session.elsewhere {
        Some(elsewhere) if session.live.is_none() => brief(&local_time::describe_remote_run(elsewhere)),
        _ => {
            let mut skipped = SkippedTasks::default();
            for row in session.iterations.iter() {
                row.task.iter().for_each(|task| skipped.count(task, row.outcome));
            }
            state(session.status, session.stop_reason, &skipped)
        }
    }
}

/// How many iterations it had, and what else has a number.
pub fn iterations(session: &SessionRow) -> String {
    let rows = session.iterations.iter();
    let uncounted = Uncounted::of(rows.clone().map(|row| (Some(row.outcome), row.is_run)));
    ending::iterations(rows.filter(|row| row.is_run).count() as u64, uncounted)
}

/// A text from outside that is one line of a page, and may be of any length.
pub fn brief(text: &str) -> String {
    shown(&cut(text, 500))
}

pub fn title(text: impl Into<String>) -> Row {
    Row::of(Look::Bold, text)
}
