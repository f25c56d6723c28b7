//! What is typed or answered: a filter, a search, a hint, and what becomes of a loop.

use crossterm::event::{KeyCode, KeyEvent};

use ralph_core::record::TaskName;

use crate::tui::row::{Look, shown};

use super::{App, Effect, Mode};

impl App {
    /// What shall become of a loop: of the one beside the screen, which can also be left running, or of another.
    pub(super) fn answer(&mut self, key: KeyEvent) -> Option<Effect> {
        let is_leaving = self.mode == Mode::Leave;
        let session = if is_leaving { self.own_session() } else { self.session.clone() };
        self.mode = Mode::Browse;
        let KeyCode::Char(letter) = key.code else { return None };
        if letter == 'l' && is_leaving {
            return Some(Effect::Quit);
        }
        let (flag, said) = match letter {
            's' => (None, "stopping after this attempt"),
            'n' => (Some("--now"), "stopping the agent; this attempt is recorded as cut short"),
            _ => return None,
        };
        let Some(session) = session else {
            self.say(Look::Warn, "no session runs there");
            return None;
        };
        let words = ["stop", "--session", session.as_str()].into_iter().chain(flag);
        Some(Effect::Run(words.map(str::to_owned).collect(), Some(said.to_owned())))
    }

    pub(super) fn type_hint(
        &mut self,
        key: KeyEvent,
        task: Option<TaskName>,
        mut text: String,
        is_answer: bool,
    ) -> Option<Effect> {
        if edit(&mut text, key.code) || !matches!(key.code, KeyCode::Enter | KeyCode::Esc) {
            self.mode = Mode::Hint(task, text, is_answer);
            return None;
        }
        self.mode = Mode::Browse;
        let session = self.session.clone()?;
        if key.code == KeyCode::Esc || text.trim().is_empty() {
            return None;
        }
        let said = match &task {
            Some(task) => format!("sent; {task}'s next prompt has it"),
            None => "sent; the next prompt has it".to_owned(),
        };
        let mut words = vec!["hint".to_owned(), "--session".to_owned(), session.to_string()];
        words.extend(task.into_iter().flat_map(|task| ["--task".to_owned(), task]));
        words.extend(["--".to_owned(), text]);
        Some(Effect::Run(words, Some(shown(&said))))
    }

    /// Types what is looked for in a view, or what the log is filtered by. Esc brings back what it was before.
    pub(super) fn type_words(&mut self, key: KeyEvent, before: String) {
        let is_search = matches!(self.mode, Mode::Search(_));
        let words = if is_search { &mut self.search } else { &mut self.filter };
        match key.code {
            KeyCode::Enter => {}
            KeyCode::Esc => *words = before,
            code => {
                edit(words, code);
                return;
            }
        }
        self.mode = Mode::Browse;
        if is_search && key.code == KeyCode::Enter {
            self.go_to_hit(true);
        }
    }

    /// The next line of the view that has what is looked for, or the one before; behind the last comes the first.
    pub(super) fn go_to_hit(&mut self, is_next: bool) {
        let wanted = self.search.to_lowercase();
        let lines = self.page.lines(0, self.page.len()).into_iter().enumerate();
        let hits = lines.filter(|(_, at)| {
            let row = self.page.row(*at).filter(|_| !wanted.is_empty());
            row.is_some_and(|row| row.text().to_lowercase().contains(&wanted))
        });
        let hits: Vec<usize> = hits.map(|(line, _)| line).collect();
        let cursor = self.page.cursor;
        let found = if is_next {
            hits.iter().find(|line| **line > cursor).or(hits.first())
        } else {
            hits.iter().rfind(|line| **line < cursor).or(hits.last())
        };
        match found {
            Some(line) => (self.page.cursor, self.page.sticks, self.follows) = (*line, false, false),
            None if self.search.is_empty() => {
                self.say(Look::Dim, "nothing is searched for: / in an output, a diff or a prompt");
            }
            None => self.say(Look::Dim, format!("`{}` is not in what is shown", shown(&self.search))),
        }
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
