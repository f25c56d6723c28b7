//! Keys in the terminal of a loop: `s` stops it after its attempt, `h` begins a hint.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use ralph_os::terminal::with_single_keys;

/// What a key asks of the loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyCommand {
    Stop,
    Hint(String),
}

/// The hint that is being typed, which the moving lines show; all clones share it.
#[derive(Debug, Clone, Default)]
pub struct Keys(Arc<Mutex<Option<String>>>);

impl Keys {
    /// Waits that long for a key, and returns what it asks for.
    pub fn wait(&self, limit: Duration) -> Option<KeyCommand> {
        match with_single_keys(|| if event::poll(limit)? { event::read().map(Some) } else { Ok(None) }) {
            Some(Ok(Some(Event::Key(key)))) => self.pressed(key),
            Some(Ok(_)) => None,
            // In the background; and a terminal that cannot be asked is not asked in a circle.
            Some(Err(_)) | None => {
                thread::park_timeout(limit);
                None
            }
        }
    }

    /// Returns the hint as far as it is typed.
    pub fn typed(&self) -> Option<String> {
        self.hint().clone()
    }

    fn hint(&self) -> MutexGuard<'_, Option<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pressed(&self, key: KeyEvent) -> Option<KeyCommand> {
        let mut hint = self.hint();
        let has_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match (key.code, hint.as_mut()) {
            _ if key.kind == KeyEventKind::Release => {}
            (KeyCode::Char('s'), None) if !has_control => return Some(KeyCommand::Stop),
            (KeyCode::Char('h'), None) if !has_control => *hint = Some(String::new()),
            (KeyCode::Enter, Some(_)) => {
                return hint.take().filter(|text| !text.trim().is_empty()).map(KeyCommand::Hint);
            }
            (KeyCode::Esc, Some(_)) => *hint = None,
            (KeyCode::Backspace, Some(text)) => drop(text.pop()),
            (KeyCode::Char('u'), Some(text)) if has_control => text.clear(),
            (KeyCode::Char(c), Some(text)) if !has_control => text.push(c),
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s_stops_and_h_begins_a_hint_that_enter_sends() {
        let keys = Keys::default();
        let press = |code| keys.pressed(KeyEvent::new(code, KeyModifiers::NONE));
        assert_eq!(press(KeyCode::Char('x')), None);
        assert_eq!(press(KeyCode::Char('s')), Some(KeyCommand::Stop));
        assert_eq!((press(KeyCode::Char('h')), keys.typed()), (None, Some(String::new())));
        for code in ['u', 's', 'e', 'ß', 'x'].map(KeyCode::Char).into_iter().chain([KeyCode::Backspace]) {
            assert_eq!(press(code), None);
        }
        assert_eq!(keys.typed().as_deref(), Some("useß"));
        assert_eq!((press(KeyCode::Enter), keys.typed()), (Some(KeyCommand::Hint("useß".to_owned())), None));
        for end in [KeyCode::Esc, KeyCode::Enter] {
            press(KeyCode::Char('h'));
            press(KeyCode::Char(' '));
            assert_eq!((press(end), keys.typed()), (None, None));
        }
    }
}
