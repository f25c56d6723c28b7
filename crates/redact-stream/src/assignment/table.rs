//! Cells of tables below a heading or beside a name that promises a secret, as `psql`, `mysql` and Markdown draw them.

use crate::secret::Secret;
use crate::view::View;

use super::judge::{is_mixed, is_placeholder};

const MAX_ROWS: usize = 200;
const MAX_LINE: usize = 2000;

/// Least bytes of a secret below a heading, and of one beside a name, where what a table says of the name may stand.
const MIN_BELOW: usize = 4;
const MIN_BESIDE: usize = 8;

/// Returns the cells below the heading between `start` and `end`, the last one first; if it is the first of a row, the
/// one beside it.
pub(super) fn cells(view: &View<'_>, start: usize, end: usize) -> Vec<Secret> {
    let before = view.before(start);
    let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let line_end = view.run_most(end, MAX_LINE, |byte| byte != b'\n');
    let is_alone =
        before[line_start..].iter().rev().find(|byte| **byte != b' ').is_none_or(|&byte| byte == b'|')
            && view.text(end, line_end).trim_ascii_start().first().is_none_or(|&byte| byte == b'|');
    let column = before[line_start..].split(|&byte| byte == b'|').count() - 1;
    if !is_alone || column == 0 && !view.text(end, line_end).contains(&b'|') {
        return Vec::new();
    }
    let mut at = line_end + 1;
    let rule = view.run_most(at, MAX_LINE, |byte| b"-+|: \r".contains(&byte));
    if rule < at + 3 || view.byte(rule) != Some(b'\n') || !view.text(at, rule).contains(&b'-') {
        let beside = (column < 2).then(|| cell(view, end, (1, line_end), MIN_BESIDE)).flatten();
        return beside.into_iter().collect();
    }
    at = rule + 1;
    let mut found = Vec::new();
    for _ in 0..MAX_ROWS {
        let end = view.run_most(at, MAX_LINE, |byte| byte != b'\n');
        let row = view.text(at, end);
        if !row.contains(&b'|') {
            break;
        }
        found.extend(cell(view, at, (column, end), MIN_BELOW));
        if view.is_end(end) {
            break;
        }
        at = end + 1;
    }
    found.reverse();
    found
}

/// Returns the secret in the cell of a column, in the part of a row between `at` and `end`.
fn cell(view: &View<'_>, at: usize, (column, end): (usize, usize), least: usize) -> Option<Secret> {
    let row = view.text(at, end);
    let offset: usize = row.split(|&byte| byte == b'|').take(column).map(|cell| cell.len() + 1).sum();
    let cell = row.split(|&byte| byte == b'|').nth(column)?;
    let text = cell.trim_ascii();
    let start = at + offset + (cell.len() - cell.trim_ascii_start().len());
    let is_word = !text.iter().any(|byte| byte.is_ascii_whitespace() || *byte == b'[' || *byte == b'`');
    (text.len() >= least && is_word && is_mixed(text) && !is_placeholder(text)).then_some(Secret {
        rule: "password",
        start,
        end: start + text.len(),
        belongs: None,
    })
}
