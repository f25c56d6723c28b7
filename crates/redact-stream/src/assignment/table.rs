//! Secrets in columns below a heading, or beside a name, that promises them: tables as `psql`, `mysql`, Markdown and boxes draw them,
//! columns of spaces, and CSV.

use crate::secret::Secret;
use crate::view::View;

use super::judge::{is_mixed, is_placeholder};
use super::name::NameKind;

const MAX_ROWS: usize = 200;
const MAX_LINE: usize = 2000;

/// Least bytes of a secret below a heading, and of one beside a name, where what a table says of the name may stand.
const MIN_BELOW: usize = 4;
const MIN_BESIDE: usize = 8;

/// Least bytes of a password that is nothing but letters, in a list of values.
const MIN_WORD: usize = 6;

/// What stands between the cells of a table that is drawn.
const BARS: [&[u8]; 4] = [b"|", "│".as_bytes(), "┃".as_bytes(), "║".as_bytes()];

/// A cell of a line: where it starts and ends.
type Cell = (usize, usize);

/// Returns the cells below the heading between `start` and `end`, the last one first; if it is the first of a row, the
/// one beside it.
pub(super) fn cells(view: &View<'_>, start: usize, end: usize, kind: NameKind) -> Vec<Secret> {
    let line_end = line_end(view, end);
    let line = (line_start(view, start, view.byte(line_end) == Some(b'\\')), line_end);
    // `Login Password` is a name, too.
    let is_here = |cell: &Cell| cell.0 <= start && trimmed(view, *cell).1 == end;
    let mut found =
        [Layout::Drawn, Layout::List(b','), Layout::List(b';'), Layout::List(b'\t'), Layout::Spaces]
            .into_iter()
            .find_map(|layout| {
                let heads = layout.cells(view, line);
                let column = heads.iter().position(is_here).filter(|_| heads.len() > 1)?;
                Some(layout.secrets(view, &heads, column, line.1, kind))
            })
            .unwrap_or_default();
    found.reverse();
    found
}

/// How columns are told from each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    Drawn,
    List(u8),
    Spaces,
}

impl Layout {
    fn cells(self, view: &View<'_>, (start, end): Cell) -> Vec<Cell> {
        let line = view.text(start, end);
        let mut cells = Vec::new();
        let mut from = start;
        let mut at = 0;
        let mut quote = None;
        while at < line.len() {
            let width = match self {
                Self::Drawn => BARS.iter().find(|bar| line[at..].starts_with(bar)).map(|bar| bar.len()),
                Self::List(separator) => {
                    match (quote, line[at]) {
                        (None, b'"') => quote = Some(b'"'),
                        (Some(_), b'"') => quote = None,
                        _ => {}
                    }
                    (quote.is_none() && line[at] == separator).then_some(1)
                }
                Self::Spaces => {
                    let spaces = line[at..].iter().take_while(|&&byte| byte == b' ').count();
                    (spaces > 1 && start + at > from).then_some(spaces)
                }
            };
            if let Some(width) = width {
                cells.push((from, start + at));
                from = start + at + width;
            }
            at += width.unwrap_or(1);
        }
        cells.push((from, end));
        cells
    }

    fn secrets(
        self,
        view: &View<'_>,
        heads: &[Cell],
        column: usize,
        line_end: usize,
        kind: NameKind,
    ) -> Vec<Secret> {
        let below = |row: &[Cell]| secret(view, *row.get(column)?, MIN_BELOW, is_mixed);
        match self {
            Self::Drawn => {
                let rule = rule_below(view, line_end);
                if rule.is_none() {
                    // A border may be drawn at both sides.
                    let is_first = heads[..column].iter().all(|head| trimmed(view, *head).0 >= head.1);
                    let beside = heads.get(column + 1).filter(|_| is_first);
                    return beside
                        .and_then(|cell| secret(view, *cell, MIN_BESIDE, is_mixed))
                        .into_iter()
                        .collect();
                }
                let rows = rows(view, rule.unwrap_or(line_end)).map(|row| self.cells(view, row));
                // A border is a row of one cell.
                rows.take_while(|row| row.len() > 1 || row.iter().any(|cell| is_rule(view, *cell)))
                    .filter_map(|row| below(&row))
                    .collect()
            }
            Self::List(_) => {
                let is_head = |cell: &Cell| is_head(view.text(cell.0, cell.1));
                if !heads.iter().all(is_head) {
                    return Vec::new();
                }
                let is_long = |text: &[u8]| {
                    let is_chosen = matches!(kind, NameKind::Password | NameKind::Key);
                    is_mixed(text) || is_chosen && text.len() >= MIN_WORD
                };
                let rows = rows(view, line_end).map(|row| self.cells(view, row));
                rows.take_while(|row| row.len() == heads.len())
                    .filter_map(|row| secret(view, row[column], MIN_BELOW, is_long))
                    .collect()
            }
            Self::Spaces => {
                let offset = heads[column].0 - heads[0].0;
                let rows = rows(view, line_end).map(|row| (row.0 + offset, row));
                rows.take_while(|(at, row)| *at < row.1 && (*at == row.0 || view.text(at - 1, *at) == b" "))
                    .filter_map(|(at, row)| {
                        let end = view.run_most(at, row.1 - at, |byte| byte != b' ');
                        let is_last = column + 1 == heads.len() || view.has(end, b" ");
                        secret(view, (at, end), MIN_BESIDE, is_mixed).filter(|_| is_last)
                    })
                    .collect()
            }
        }
    }
}

/// Returns the lines below one that ends at `end`, up to an empty one. Their ends may be escaped.
fn rows(view: &View<'_>, end: usize) -> impl Iterator<Item = Cell> {
    let line = move |end: usize| {
        let start = next_line(view, end)?;
        let end = line_end(view, start);
        (end > start).then_some((start, end))
    };
    std::iter::successors(line(end), move |row| line(row.1)).take(MAX_ROWS)
}

/// Returns the end of the rule below a heading that ends at `end`.
fn rule_below(view: &View<'_>, end: usize) -> Option<usize> {
    let start = next_line(view, end)?;
    let rule = (start, line_end(view, start));
    is_rule(view, rule).then_some(rule.1)
}

/// Returns true if a line is drawn there.
fn is_rule(view: &View<'_>, (start, end): Cell) -> bool {
    let text = view.text(start, end);
    let is_drawn = |&byte: &u8| b"-+|: =".contains(&byte) || !byte.is_ascii();
    text.len() > 2
        && text.iter().all(is_drawn)
        && text.iter().any(|&byte| byte == b'-' || byte == b'=' || !byte.is_ascii())
}

fn is_head(cell: &[u8]) -> bool {
    let text = cell.strip_prefix(b"\"").and_then(|cell| cell.strip_suffix(b"\"")).unwrap_or(cell);
    // In code, a blank follows a comma.
    !text.is_empty()
        && text.len() <= 40
        && !text.starts_with(b" ")
        && text.iter().any(u8::is_ascii_alphabetic)
        && text.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_-. #/".contains(byte))
}

/// Returns the secret in a cell.
fn secret(view: &View<'_>, cell: Cell, least: usize, is_value: impl Fn(&[u8]) -> bool) -> Option<Secret> {
    let (start, end) = trimmed(view, cell);
    let text = view.text(start, end);
    // Code spans are names.
    if view.text(cell.0, cell.1).contains(&b'`') {
        return None;
    }
    let is_word = !text.iter().any(|byte| byte.is_ascii_whitespace() || *byte == b'[');
    (text.len() >= least && is_word && is_value(text) && !is_placeholder(text)).then_some(Secret {
        rule: "password",
        start,
        end,
        belongs: None,
    })
}

/// Returns a cell without blanks, quotes and a line end at its edges.
fn trimmed(view: &View<'_>, (start, end): Cell) -> Cell {
    let text = view.text(start, end);
    let is_edge = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`*\\".contains(byte);
    let before = text.iter().take_while(|byte| is_edge(byte)).count();
    let after = text[before..].iter().rev().take_while(|byte| is_edge(byte)).count();
    (start + before, end - after)
}

/// Returns the start of a line. One whose end is escaped may begin with its text.
fn line_start(view: &View<'_>, at: usize, is_escaped: bool) -> usize {
    let before = view.before(at);
    let is_quote = |at: &usize| before[*at] == b'"' && (*at == 0 || before[*at - 1] != b'\\');
    let quote = if is_escaped { (0..at).rev().find(is_quote) } else { None };
    let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let escaped = before[start..].windows(2).rposition(|two| two == b"\\n").map_or(0, |at| at + 2);
    (start + escaped).max(quote.map_or(0, |quote| quote + 1))
}

/// Returns the end of a line, which may be escaped.
fn line_end(view: &View<'_>, from: usize) -> usize {
    let mut at = from;
    loop {
        at = view.run_most(at, MAX_LINE, |byte| byte != b'\n' && byte != b'\\');
        let letter = view.run_most(at, 8, |byte| byte == b'\\');
        if view.byte(at) != Some(b'\\')
            || at - from >= MAX_LINE
            || matches!(view.byte(letter), Some(b'n' | b'r'))
        {
            return at;
        }
        at = letter;
    }
}

/// Returns the start of the line behind the end of one.
fn next_line(view: &View<'_>, end: usize) -> Option<usize> {
    let mut at = end;
    loop {
        let letter = view.run_most(at, 8, |byte| byte == b'\\');
        at = match view.byte(letter)? {
            b'\n' | b'n' if letter > at => return Some(letter + 1),
            b'\n' => return Some(letter + 1),
            b'r' if letter > at => letter + 1,
            _ => return None,
        };
    }
}
