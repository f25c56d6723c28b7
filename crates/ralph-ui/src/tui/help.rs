//! What stands over the panels: the keys, and questions.

use ratatui::layout::Rect;

use super::app::Mode;
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
        return rows.flat_map(|row| row.wrapped(width)).collect();
    }
    let half = (width / 2).min(48);
    (0..acts.len().max(moving.len()))
        .map(|place| {
            let [left, right] = [acts, moving].map(|keys| keys.get(place).map(key).unwrap_or_default());
            left.padded(half).then(right)
        })
        .collect()
}

fn key((key, does): &(&str, &str)) -> Row {
    Row::of(Look::Accent, format!("  {}", padded(key, KEY))).and(Look::Plain, *does).indented(2 + KEY)
}

/// Lines of the keys that are on the screen at once: where they do not all fit, the last line says that there are more.
pub fn page(size: Rect) -> usize {
    let height = usize::from(size.height.saturating_sub(2));
    let is_long = rows(usize::from(size.width)).len() > height;
    height.saturating_sub(usize::from(is_long)).max(1)
}

/// The last line that the screen can begin with; 0 if all are on it.
pub fn last_top(size: Rect) -> usize {
    rows(usize::from(size.width)).len().saturating_sub(page(size))
}

/// Returns the question that this mode asks, within a number of columns; `None` if it asks nothing.
pub fn question(mode: &Mode, width: usize) -> Option<Vec<Row>> {
    const AFTER: (&str, &str) = ("s", "stop it after this attempt");
    const NOW: (&str, &str) = ("n", "stop it now, the agent too");
    let (title, answers) = match mode {
        Mode::Leave => {
            let leave = ("l", "leave it running, and quit the screen");
            ("The loop is still running", vec![leave, AFTER, NOW, ("Esc", "stay")])
        }
        Mode::Stop => ("Stop this session?", vec![AFTER, NOW, ("Esc", "let it run")]),
        Mode::Confirm { title, yes, .. } => (title.as_str(), vec![("y", *yes), ("Esc", "change nothing")]),
        Mode::Browse | Mode::Find(_) | Mode::Help | Mode::Search(_) | Mode::Hint(..) => return None,
    };
    let title = [Row::of(Look::Bold, title), Row::new()];
    let rows =
        title.into_iter().chain(answers.into_iter().map(|(key, does)| {
            Row::of(Look::Accent, format!("{key:<5}")).and(Look::Plain, does).indented(5)
        }));
    Some(rows.flat_map(|row| row.wrapped(width)).collect())
}
