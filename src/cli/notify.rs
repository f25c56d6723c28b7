//! Calls the person back to the terminal when a session has ended.

use std::io::{IsTerminal, Write, stderr};

use crate::record::{Session, Status};
use crate::view::ending::ending;
use crate::view::style::one_line;

use super::Environment;

/// Terminals that show a message of OSC 9 on the desktop, as they call themselves in `TERM_PROGRAM`. Others would take it
/// for something else.
const WITH_MESSAGES: &[&str] = &["iTerm.app", "WezTerm", "ghostty", "kitty"];

/// The bell, the title and, where the terminal knows it, a message on the desktop. Nothing if no terminal is there.
pub fn notify(session: &Session, environment: &Environment) {
    if stderr().is_terminal() {
        let program = environment.value("TERM_PROGRAM").and_then(|name| name.to_str());
        // A terminal that has gone needs no bell.
        let _closed = stderr().write_all(sequences(session, program).as_bytes()).is_err();
    }
}

fn sequences(session: &Session, program: Option<&str>) -> String {
    let sign = if session.status == Status::Completed { '✔' } else { '✘' };
    let (done, all) = (session.tasks_done, session.tasks_done + session.tasks_remaining);
    let mut text = format!("\x07\x1b]0;{sign} {done}/{all}\x07");
    if program.is_some_and(|program| WITH_MESSAGES.contains(&program)) {
        text.push_str(&format!("\x1b]9;ralph: {}\x07", one_line(&ending(session, None))));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::samples::session;

    #[test]
    fn a_bell_a_title_and_a_message_where_it_is_understood() {
        let stuck = session("failed", Some("stuck"), (12, 23));
        assert_eq!(sequences(&stuck, Some("xterm")), "\x07\x1b]0;✘ 12/35\x07");
        let done = session("completed", Some("completed"), (3, 0));
        let expected = "\x07\x1b]0;✔ 3/3\x07\x1b]9;ralph: all 3 tasks done\x07";
        assert_eq!(sequences(&done, Some("ghostty")), expected);
    }
}
