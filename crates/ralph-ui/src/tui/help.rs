//! What stands over the panes: the keys, and the question what shall become of the loop.

use super::app::Mode;
use super::keys::KEY_HELP;
use super::layout::Areas;
use super::row::{Look, Row};
use crate::style::columns;

/// Columns that two columns of keys take.
const TWO_COLUMNS: usize = 76;

/// Columns of the names of keys.
const KEY: usize = 9;

/// The keys, one column below the other where they do not fit beside each other.
pub fn rows(width: usize) -> Vec<Row> {
    let one = |(key, does): &(&str, &str)| {
        let padding = " ".repeat(KEY.saturating_sub(columns(key)));
        Row::of(Look::Accent, format!("  {key}{padding}")).and(Look::Plain, *does).indented(2 + KEY)
    };
    let [views, moving] = KEY_HELP;
    if width < TWO_COLUMNS {
        let rows = views.iter().chain([&("", "")]).chain(moving).map(one);
        return rows.flat_map(|row| row.wrapped(width)).collect();
    }
    let half = width / 2;
    let beside = |place: usize| {
        let left = views.get(place).map(one).unwrap_or_default();
        let blank = " ".repeat(half.saturating_sub(left.width()));
        left.and(Look::Plain, blank).then(moving.get(place).map(one).unwrap_or_default())
    };
    (0..views.len().max(moving.len())).map(beside).collect()
}

/// Lines of the keys that are on the screen at once, where they do not all fit: the last line says that there are more.
pub fn page(areas: &Areas) -> usize {
    let height = usize::from(areas.body.height);
    if is_long(areas) { height.saturating_sub(1).max(1) } else { height }
}

/// Returns true if there are more lines than the screen has.
pub fn is_long(areas: &Areas) -> bool {
    let height = usize::from(areas.body.height);
    rows(usize::from(areas.header.width)).len() > height
}

/// The last line that the screen can begin with.
pub fn last_top(areas: &Areas) -> usize {
    rows(usize::from(areas.header.width)).len().saturating_sub(page(areas))
}

/// Returns the question that this mode asks, within a number of columns; `None` if it asks nothing.
pub fn question(mode: &Mode, width: usize) -> Option<Vec<Row>> {
    const AFTER: (&str, &str) = ("s", "stop it after this iteration");
    const NOW: (&str, &str) = ("n", "stop it now, the agent too");
    let (title, answers) = match mode {
        Mode::Leave => {
            let leave = ("l", "leave it running, and quit the screen");
            ("The loop is still running".to_owned(), vec![leave, AFTER, NOW, ("Esc", "stay")])
        }
        Mode::Stop => ("Stop this session?".to_owned(), vec![AFTER, NOW, ("Esc", "let it run")]),
        Mode::Restore(name) => {
            let title = format!("Restore the files of {name}?");
            (
                title,
                vec![
                    ("y", "restore; what is there now is kept, `restore --undo`"),
                    ("Esc", "change nothing"),
                ],
            )
        }
        Mode::Browse | Mode::Filter(_) | Mode::Help | Mode::Search(_) | Mode::Hint(_) => return None,
    };
    let answer = |(key, does): (&str, &str)| {
        Row::of(Look::Accent, format!("{key:<5}")).and(Look::Plain, does).indented(5)
    };
    let rows = [Row::of(Look::Bold, title), Row::new()].into_iter().chain(answers.into_iter().map(answer));
    Some(rows.flat_map(|row| row.wrapped(width)).collect())
}
