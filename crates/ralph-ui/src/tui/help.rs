//! What is over the panels: the keys, and questions.

use ratatui::layout::Rect;

use super::app::Question;
use super::keys::KEY_HELP;
use super::row::{Look, Row};
use crate::style::padded;

/// Columns that two columns of keys take.
const TWO_COLUMNS: usize = 80;

/// Columns of the names of keys.
const KEY: usize = 9;

/// The keys, one column below the other where they do not fit beside each other.
pub fn rows(width: usize) -> Vec<Row> {
    let [acts, moving] = KEY_HELP;
    if width < TWO_COLUMNS {
        let rows = acts.iter().chain([&("", "")]).chain(moving).map(key);
        // The last column is the scroll bar's.
        return rows.flat_map(|row| row.wrapped(width.saturating_sub(1))).collect();
    }
    let half = (width / 2).min(48);
    acts.iter().zip(moving).map(|(act, moves)| key(act).padded(half).then(key(moves))).collect()
}

fn key((key, does): &(&str, &str)) -> Row {
    Row::of(Look::Accent, format!("  {}", padded(key, KEY))).and(Look::Plain, *does).indented(2 + KEY)
}

/// The last line that the screen can begin with; 0 if all are on it.
pub fn last_top(size: Rect) -> usize {
    rows(usize::from(size.width)).len().saturating_sub(usize::from(size.height.saturating_sub(2)))
}

/// A question and its answers, within a number of columns.
pub fn question(Question { title, answers, otherwise }: &Question, width: usize) -> Vec<Row> {
    let answers = answers.iter().map(|(key, does, _)| (key.to_string(), *does));
    let answers = answers
        .chain([("Esc".to_owned(), *otherwise)])
        .map(|(key, does)| Row::of(Look::Accent, format!("{key:<5}")).and(Look::Plain, does).indented(5));
    let title = [Row::of(Look::Bold, title), Row::new()];
    title.into_iter().chain(answers).flat_map(|row| row.wrapped(width)).collect()
}
