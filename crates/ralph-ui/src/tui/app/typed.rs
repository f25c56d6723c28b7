//! What is typed: a filter, a search, a hint.

use anyhow::{Context as _, Result, ensure};
use crossterm::event::{KeyCode, KeyEvent};

use crate::tui::row::shown;

use super::{App, Effect, Field, Mode};

impl App {
    /// Types a letter, or takes the last one back. Esc leaves everything as it was.
    pub(super) fn type_in(
        &mut self,
        key: KeyEvent,
        field: Field,
        mut text: String,
    ) -> Result<Option<Effect>> {
        self.mode = Mode::Browse;
        match key.code {
            KeyCode::Enter => return self.typed(field, text),
            KeyCode::Esc => return Ok(None),
            KeyCode::Backspace => drop(text.pop()),
            KeyCode::Char(letter) if !letter.is_control() => text.push(letter),
            _ => {}
        }
        self.mode = Mode::Typing(field, text);
        Ok(None)
    }

    fn typed(&mut self, field: Field, text: String) -> Result<Option<Effect>> {
        match field {
            Field::Filter => self.filter = text,
            Field::Search => {
                self.search = text;
                self.go_to_hit(true)?;
            }
            Field::Hint { task, .. } if !text.trim().is_empty() => {
                let session = self.known_scene()?.session.id.as_str();
                let words = ["hint", "--session", session].into_iter();
                let words = words.chain(task.iter().flat_map(|task| ["--task", task])).chain(["--", &text]);
                let whose = task.as_ref().map_or("the".to_owned(), |task| format!("{}'s", shown(task)));
                return Ok(Some(Effect::run(words, Some(&format!("sent; {whose} next prompt has it")))));
            }
            Field::Hint { .. } => {}
        }
        Ok(None)
    }

    /// The next line of the view that has what is looked for, or the one before; behind the last comes the first.
    pub(super) fn go_to_hit(&mut self, is_next: bool) -> Result<()> {
        ensure!(!self.search.is_empty(), "nothing is searched for: / in an output, a diff or a prompt");
        let wanted = self.search.to_lowercase();
        let lines = self.page.lines.iter().enumerate();
        let hits = lines.filter(|(_, (_, row))| row.text().to_lowercase().contains(&wanted));
        let hits: Vec<usize> = hits.map(|(line, _)| line).collect();
        let cursor = self.page.cursor;
        let found = if is_next {
            hits.iter().find(|line| **line > cursor).or(hits.first())
        } else {
            hits.iter().rfind(|line| **line < cursor).or(hits.last())
        };
        let found = found.with_context(|| format!("`{}` is not in what is shown", shown(&self.search)))?;
        (self.page.cursor, self.page.sticks, self.follows) = (*found, false, false);
        Ok(())
    }
}
