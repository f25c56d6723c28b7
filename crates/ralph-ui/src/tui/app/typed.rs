//! What is typed or answered: a filter, a search, a hint, and what becomes of a loop.

use crossterm::event::{KeyCode, KeyEvent};

use crate::tui::list::Direction;
use crate::tui::row::{Look, Row, shown};
use ralph_core::record::SessionId;
use ralph_store::Stop;

use super::{App, Effect, Mode, Steer};

impl App {
    /// What shall become of a loop: of the one beside the screen, which can also be left running, or of another.
    pub(super) fn answer(&mut self, key: KeyEvent, session: Option<SessionId>) -> Option<Effect> {
        let is_leaving = self.mode == Mode::Leave;
        self.mode = Mode::Browse;
        let KeyCode::Char(letter) = key.code else { return None };
        match letter {
            'l' if is_leaving => Some(Effect::Quit),
            's' => self.steer(session, Steer::Stop(Stop::AfterIteration)),
            'n' => self.steer(session, Steer::Stop(Stop::Now)),
            _ => None,
        }
    }

    pub(super) fn steer(&mut self, session: Option<SessionId>, steer: Steer) -> Option<Effect> {
        if session.is_none() {
            self.message = Some(Row::of(Look::Warn, "no session runs there"));
        }
        session.map(|session| Effect::Steer(session, steer))
    }

    /// The session that something is chosen of, if it runs here.
    pub(super) fn live_session(&self) -> Option<SessionId> {
        self.session().filter(|session| session.live.is_some()).map(|session| session.id.clone())
    }

    pub(super) fn type_hint(&mut self, key: KeyEvent, mut text: String) -> Option<Effect> {
        if edit(&mut text, key.code) || !matches!(key.code, KeyCode::Enter | KeyCode::Esc) {
            self.mode = Mode::Hint(text);
            return None;
        }
        self.mode = Mode::Browse;
        if key.code == KeyCode::Esc || text.trim().is_empty() {
            return None;
        }
        let session = self.live_session();
        self.steer(session, Steer::Hint(text))
    }

    pub(super) fn type_search(&mut self, key: KeyEvent, before: String) {
        if key.code == KeyCode::Enter {
            self.mode = Mode::Browse;
            self.go_to_hit(Direction::Down);
        } else if key.code == KeyCode::Esc {
            self.search = before;
            self.mode = Mode::Browse;
        } else {
            edit(&mut self.search, key.code);
        }
    }

    /// The next line of the view that has what is looked for, or the one before; behind the last comes the first.
    pub(super) fn go_to_hit(&mut self, direction: Direction) {
        let wanted = self.search.to_lowercase();
        let lines = self.page.lines(0, self.page.len());
        let is_hit = |line: &usize| {
            let row = self.page.row(lines[*line]);
            !wanted.is_empty() && row.is_some_and(|row| row.text().to_lowercase().contains(&wanted))
        };
        let cursor = self.page.cursor.min(lines.len());
        let found = match direction {
            Direction::Down => (cursor + 1..lines.len()).chain(0..lines.len().min(cursor + 1)).find(is_hit),
            Direction::Up => (0..cursor).rev().chain((cursor..lines.len()).rev()).find(is_hit),
        };
        match found {
            Some(line) => {
                (self.page.cursor, self.page.sticks, self.follows) = (line, false, false);
            }
            None if self.search.is_empty() => {
                self.message = Some(Row::of(Look::Dim, "nothing is searched for: / in a view"));
            }
            None => {
                let words = format!("`{}` is not in what is shown", shown(&self.search));
                self.message = Some(Row::of(Look::Dim, words));
            }
        }
    }

    pub(super) fn type_filter(&mut self, key: KeyEvent, before: String) {
        if key.code == KeyCode::Enter {
            self.mode = Mode::Browse;
        } else if key.code == KeyCode::Esc {
            self.list.filter = before;
            self.mode = Mode::Browse;
        } else if !edit(&mut self.list.filter, key.code) {
            return;
        }
        self.filter();
    }
}

/// Types a letter, or takes the last one back. Returns false if the key does neither.
fn edit(text: &mut String, key: KeyCode) -> bool {
    match key {
        KeyCode::Backspace => drop(text.pop()),
        KeyCode::Char(letter) if !letter.is_control() => text.push(letter),
        _ => return false,
    }
    true
}
