//! Secrets in columns below a heading, or beside a name, that promises them: tables as `psql`, `mysql`, Markdown and boxes draw them,
//! columns of spaces, and CSV.

use std::sync::LazyLock;

use regex::bytes::Regex;

use crate::expression::{expression, matchers};
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

/// What stands between the cells of a table that is drawn, and of one without lines.
static BAR: LazyLock<Regex> = LazyLock::new(|| expression(r"\||\xE2\x94[\x82\x83]|\xE2\x95\x91"));
static SPACES: LazyLock<Regex> = LazyLock::new(|| expression(" {2,}"));

/// The end of a line, which may be escaped: what ends it, and all up to the next.
static LINE_END: LazyLock<Regex> = LazyLock::new(|| expression(r"\n|\\{1,8}[nr]"));
static LINE_BREAK: LazyLock<Regex> = LazyLock::new(|| expression(r"^(?:\\{1,8}r)*\\{0,8}(?:\n|\\n)"));

matchers! {
    /// A line that is drawn.
    fn is_drawn = r"^[-+|: =\x80-\xFF]*[-=\x80-\xFF][-+|: =\x80-\xFF]*$";

    /// The head of a column of a list. In code, a blank follows a comma.
    fn is_head = r#"^"?[0-9A-Za-z_\-.#/][0-9A-Za-z_\-. #/]{0,39}"?$"#;
}

/// A cell of a line: where it starts and ends.
type Cell = (usize, usize);

/// Returns the cells below the heading between `start` and `end`, the last one first; if it is the first of a row, the
/// one beside it.
pub(super) fn cells(view: &View<'_>, start: usize, end: usize, kind: NameKind) -> Vec<Secret> {
    let line_end = line_end(view, end);
    let line = (line_start(view, start, view.byte(line_end) == Some(b'\\')), line_end);
    // `Login Password` is a name, too.
    let layouts =
        [Layout::Drawn, Layout::List(b','), Layout::List(b';'), Layout::List(b'\t'), Layout::Spaces];
    let found = layouts.into_iter().find_map(|layout| {
        let heads = layout.cells(view, line);
        let column = heads
            .iter()
            .position(|cell| cell.0 <= start && trimmed(view, *cell).1 == end)
            .filter(|_| heads.len() > 1)?;
        Some(layout.secrets(view, &heads, column, line_end, kind))
    });
    let mut found = found.unwrap_or_default();
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
        let mut is_quoted = false;
        let separators: Vec<Cell> = match self {
            Self::Drawn => BAR.find_iter(line).map(|bar| (bar.start(), bar.end())).collect(),
            Self::Spaces => SPACES.find_iter(line).map(|gap| (gap.start(), gap.end())).collect(),
            Self::List(separator) => (0..line.len())
                .filter(|&at| {
                    is_quoted ^= line[at] == b'"';
                    !is_quoted && line[at] == separator
                })
                .map(|at| (at, at + 1))
                .collect(),
        };
        let mut cells = Vec::new();
        let mut from = start;
        // No column ends where a line begins with spaces.
        for (at, next) in separators.into_iter().filter(|(at, _)| self != Self::Spaces || *at > 0) {
            cells.push((from, start + at));
            from = start + next;
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
        if self == Self::Drawn {
            let Some(rule) = next_line(view, line_end).filter(|rule| is_rule(view, *rule)) else {
                // A border may be drawn at both sides.
                let is_first = heads[..column].iter().all(|head| trimmed(view, *head).0 >= head.1);
                let beside = heads.get(column + 1).filter(|_| is_first);
                return beside
                    .and_then(|cell| secret(view, *cell, MIN_BESIDE, is_mixed))
                    .into_iter()
                    .collect();
            };
            // A border is a row of one cell.
            return rows(view, rule.1)
                .map(|row| self.cells(view, row))
                .take_while(|row| row.len() > 1 || row.iter().any(|cell| is_rule(view, *cell)))
                .filter_map(|row| secret(view, *row.get(column)?, MIN_BELOW, is_mixed))
                .collect();
        }
        if self == Self::Spaces {
            let offset = heads[column].0 - heads[0].0;
            return rows(view, line_end)
                .map(|row| (row.0 + offset, row))
                .take_while(|(at, row)| *at < row.1 && (*at == row.0 || view.text(at - 1, *at) == b" "))
                .filter_map(|(at, row)| {
                    let end = view.run_most(at, row.1 - at, |byte| byte != b' ');
                    let is_whole = column + 1 == heads.len() || view.has(end, b" ");
                    secret(view, (at, end), MIN_BESIDE, is_mixed).filter(|_| is_whole)
                })
                .collect();
        }
        let is_chosen = matches!(kind, NameKind::Password | NameKind::Key);
        let is_list = heads.iter().all(|&(start, end)| {
            let head = view.text(start, end);
            is_head(head) && head.iter().any(u8::is_ascii_alphabetic)
        });
        let rows =
            rows(view, line_end).take(if is_list { MAX_ROWS } else { 0 }).map(|row| self.cells(view, row));
        rows.take_while(|row| row.len() == heads.len())
            .filter_map(|row| {
                secret(view, row[column], MIN_BELOW, |text| {
                    is_mixed(text) || is_chosen && text.len() >= MIN_WORD
                })
            })
            .collect()
    }
}

/// Returns the lines below one that ends at `end`, up to an empty one.
fn rows(view: &View<'_>, end: usize) -> impl Iterator<Item = Cell> {
    std::iter::successors(next_row(view, end), move |row| next_row(view, row.1)).take(MAX_ROWS)
}

fn next_row(view: &View<'_>, end: usize) -> Option<Cell> {
    next_line(view, end).filter(|row| row.1 > row.0)
}

fn is_rule(view: &View<'_>, (start, end): Cell) -> bool {
    end > start + 2 && is_drawn(view.text(start, end))
}

/// Returns the secret in a cell.
fn secret(view: &View<'_>, cell: Cell, least: usize, is_value: impl Fn(&[u8]) -> bool) -> Option<Secret> {
    let (start, end) = trimmed(view, cell);
    let text = view.text(start, end);
    // Code spans are names.
    let is_word = !view.text(cell.0, cell.1).contains(&b'`')
        && !text.iter().any(|byte| byte.is_ascii_whitespace() || *byte == b'[');
    let is_secret = text.len() >= least && is_word && is_value(text) && !is_placeholder(text);
    is_secret.then_some(Secret { rule: "password", start, end, belongs: None })
}

/// Returns a cell without blanks, quotes and a line end at its edges.
fn trimmed(view: &View<'_>, (start, end): Cell) -> Cell {
    let text = view.text(start, end);
    let before = text.iter().take_while(|byte| is_edge(**byte)).count();
    let after = text[before..].iter().rev().take_while(|byte| is_edge(**byte)).count();
    (start + before, end - after)
}

fn is_edge(byte: u8) -> bool {
    byte.is_ascii_whitespace() || b"\"'`*\\".contains(&byte)
}

/// Returns the start of a line. One whose end is escaped may begin with its text.
fn line_start(view: &View<'_>, at: usize, is_escaped: bool) -> usize {
    let before = view.before(at);
    let quote = if is_escaped {
        (0..at).rev().find(|at| before[*at] == b'"' && (*at == 0 || before[*at - 1] != b'\\'))
    } else {
        None
    };
    let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let escaped = before[start..].windows(2).rposition(|two| two == b"\\n").map_or(0, |at| at + 2);
    (start + escaped).max(quote.map_or(0, |quote| quote + 1))
}

/// Returns the end of a line.
fn line_end(view: &View<'_>, from: usize) -> usize {
    let rest = view.rest(from);
    let rest = &rest[..rest.len().min(MAX_LINE)];
    let end = from + LINE_END.find(rest).map_or(rest.len(), |found| found.start());
    view.byte(end + 1);
    end
}

/// Returns the line behind the end of one.
fn next_line(view: &View<'_>, end: usize) -> Option<Cell> {
    let start = end + LINE_BREAK.find(view.rest(end))?.len();
    Some((start, line_end(view, start)))
}
