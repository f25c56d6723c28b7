//! Words and signs that several views use.

use crate::ending::state;
use crate::local_time;
use crate::style::cut;
use crate::tui::row::{Look, Row, shown};
use crate::tui::source::SessionRow;
use ralph_core::record::Status;

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
        _ => state(session.status, session.stop_reason, &session.totals().given_up),
    }
}

/// A text from outside that is one line of a page, and may be of any length.
pub fn brief(text: &str) -> String {
    shown(&cut(text, 500))
}

pub fn title(text: impl Into<String>) -> Row {
    Row::of(Look::Bold, text)
}
