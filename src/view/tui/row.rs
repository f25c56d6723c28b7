//! Lines as they stand on a page: text that a terminal shows and never obeys, with looks.

use crate::view::style::{char_columns, columns, cut, is_unseen, picture};

pub use crate::view::style::Look;

/// One line, in pieces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row {
    pub pieces: Vec<(Look, String)>,
    /// Columns that stay blank in front of what is wrapped.
    indent: usize,
}

/// Columns between two stops of the tabulator.
const TAB: usize = 8;

/// A line of more columns goes on in the next row, so that no row takes long to draw.
const LONGEST: usize = 1000;

/// The same in bytes: marks upon marks take no column.
const LONGEST_BYTES: usize = 4 * LONGEST;

impl Row {
    pub fn new() -> Self {
        Self::default()
    }

    /// A row of one look.
    pub fn of(look: Look, text: impl Into<String>) -> Self {
        Self::new().and(look, text)
    }

    pub fn of_pieces(pieces: Vec<(Look, String)>) -> Self {
        Self { pieces, indent: 0 }
    }

    #[must_use]
    pub fn and(mut self, look: Look, text: impl Into<String>) -> Self {
        self.pieces.push((look, text.into()));
        self
    }

    /// A dim word in a column, and what it stands for.
    pub fn fact(name: &str, value: impl AsRef<str>) -> Self {
        Self::of(Look::Dim, format!("{name:<12}"))
            .and(Look::Plain, shown(&cut(value.as_ref(), LONGEST)))
            .indented(12)
    }

    /// The same with a margin where it is wrapped.
    #[must_use]
    pub fn indented(self, indent: usize) -> Self {
        Self { indent, ..self }
    }

    /// The rows of a text from outside.
    pub fn lines(text: &str, look: Look) -> Vec<Self> {
        let mut rows = Vec::new();
        for line in text.lines() {
            Self::line(line, look, &mut rows);
        }
        rows
    }

    /// The rows of one line from outside; more than one where it is long.
    pub fn line(line: &str, look: Look, to: &mut Vec<Self>) {
        for part in parts(&shown(line)) {
            to.push(Self { pieces: with_escapes_dimmed(part, look), indent: 0 });
        }
    }

    /// In columns.
    pub fn width(&self) -> usize {
        self.pieces.iter().map(|(_, text)| columns(text)).sum()
    }

    /// All of it without looks.
    pub fn text(&self) -> String {
        self.pieces.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// What is left of it from column `left` on, in `width` columns.
    pub fn clipped(&self, left: usize, width: usize) -> Self {
        let mut clipped = Self::new();
        let mut column = 0;
        for (look, text) in &self.pieces {
            let mut part = String::new();
            for c in text.chars() {
                let wide = char_columns(c);
                if column >= left && column + wide <= left + width {
                    part.push(c);
                } else if column < left && column + wide > left {
                    // Half of a wide character.
                    part.push(' ');
                }
                column += wide;
                if column > left + width {
                    break;
                }
            }
            clipped.pieces.push((*look, part));
        }
        clipped
    }

    /// The row in as many rows of `width` columns as it takes, cut between words where there are any.
    pub fn wrapped(&self, width: usize) -> Vec<Self> {
        let width = width.max(2);
        let letters: Vec<(Look, char)> =
            self.pieces.iter().flat_map(|(look, text)| text.chars().map(|c| (*look, c))).collect();
        let indent = if self.indent < width / 2 { self.indent } else { 0 };
        let (mut rows, mut start) = (Vec::new(), 0);
        while start < letters.len() || rows.is_empty() {
            let margin = if rows.is_empty() { 0 } else { indent };
            let mut column = margin;
            let fits = |(_, c): &&(Look, char)| {
                column += char_columns(*c);
                column <= width
            };
            let mut end = start + letters[start..].iter().take_while(fits).count();
            if end < letters.len() {
                let is_gap = |(_, c): &(Look, char)| *c == ' ';
                // A word that takes up most of a row is cut all the same.
                let gap = letters[start..end].iter().rposition(is_gap).map(|at| start + at + 1);
                end = gap.filter(|gap| gap - start > width / 3).unwrap_or(end);
            }
            let mut row = Self::new();
            if margin > 0 {
                row = row.and(Look::Plain, " ".repeat(margin));
            }
            for (look, c) in &letters[start..end] {
                match row.pieces.last_mut() {
                    Some((last, text)) if last == look => text.push(*c),
                    _ => row.pieces.push((*look, c.to_string())),
                }
            }
            rows.push(row);
            start = end;
        }
        rows
    }
}

/// Text from outside with everything that could steer a terminal, or deceive a reader, as a sign of its own.
pub fn shown(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut column = 0;
    for c in text.strip_suffix('\r').unwrap_or(text).chars() {
        let sign = match c {
            '\t' => {
                let blanks = TAB - column % TAB;
                safe.extend(std::iter::repeat_n(' ', blanks));
                column += blanks;
                continue;
            }
            // Terminals do not agree on how wide what they join is.
            '\u{200d}' | '\u{fe0e}' | '\u{fe0f}' => continue,
            c if is_unseen(c) => '\u{fffd}',
            c => picture(c).unwrap_or(c),
        };
        safe.push(sign);
        column += char_columns(sign);
    }
    safe
}

/// The text in parts that are not too long; one where it is short, also where it is empty.
fn parts(text: &str) -> Vec<&str> {
    if text.len() <= LONGEST {
        return vec![text];
    }
    let (mut parts, mut start, mut column) = (Vec::new(), 0, 0);
    for (at, c) in text.char_indices() {
        let wide = char_columns(c);
        if column + wide > LONGEST || at - start >= LONGEST_BYTES {
            parts.push(&text[start..at]);
            (start, column) = (at, 0);
        }
        column += wide;
    }
    parts.push(&text[start..]);
    parts
}

/// Sequences such as `␛[31m` are there to be seen, and not to be in the way.
fn with_escapes_dimmed(text: &str, look: Look) -> Vec<(Look, String)> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('\u{241b}') {
        let behind = &rest[at + '\u{241b}'.len_utf8()..];
        let length = match behind.strip_prefix('[') {
            Some(sequence) => {
                let is_inside = |c: char| matches!(c, '0'..='?' | ' '..='/');
                let end = sequence.find(|c| !is_inside(c)).unwrap_or(sequence.len());
                1 + end + sequence[end..].chars().next().filter(char::is_ascii).map_or(0, char::len_utf8)
            }
            None => 0,
        };
        let end = at + '\u{241b}'.len_utf8() + length;
        if at > 0 {
            pieces.push((look, rest[..at].to_owned()));
        }
        pieces.push((Look::Dim, rest[at..end].to_owned()));
        rest = &rest[end..];
    }
    if !rest.is_empty() || pieces.is_empty() {
        pieces.push((look, rest.to_owned()));
    }
    pieces
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_steers_a_terminal_is_shown() {
        for (text, expected) in [
            ("a\x1b[31mred\x1b[0m", "a␛[31mred␛[0m"),
            ("\x1b]52;c;aGk=\x07", "␛]52;c;aGk=␇"),
            ("10%\r20%\r", "10%␍20%"),
            ("a\tb", "a       b"),
            ("\u{9b}31m\u{7f}", "\u{fffd}31m␡"),
            ("user\u{202e}txt.exe", "user\u{fffd}txt.exe"),
            ("שלום 你好", "שלום 你好"),
        ] {
            assert_eq!(shown(text), expected, "{text:?}");
        }
    }

    #[test]
    fn sequences_are_dim_and_words_are_not() {
        let mut rows = Vec::new();
        Row::line("\x1b[1;31mred\x1b[0m", Look::Plain, &mut rows);
        let looks: Vec<_> = rows[0].pieces.iter().map(|(look, text)| (*look, text.as_str())).collect();
        assert_eq!(looks, [(Look::Dim, "␛[1;31m"), (Look::Plain, "red"), (Look::Dim, "␛[0m")]);
    }

    #[test]
    fn a_long_line_becomes_several_rows() {
        let mut rows = Vec::new();
        Row::line(&"x".repeat(10_000_000), Look::Plain, &mut rows);
        assert_eq!(rows.len(), 10_000);
        rows.clear();
        Row::line(&format!("a{}", "\u{301}".repeat(10_000)), Look::Plain, &mut rows);
        assert!(rows.len() > 3, "marks take no column, but they take time");
    }

    #[test]
    fn a_row_is_cut_at_columns_and_not_inside_of_a_character() {
        let row = Row::of(Look::Plain, "你好ab");
        assert_eq!(row.clipped(0, 3).text(), "你");
        assert_eq!(row.clipped(1, 3).text(), " 好");
        assert_eq!(row.clipped(4, 9).text(), "ab");
        let wrapped: Vec<String> = row.wrapped(3).iter().map(Row::text).collect();
        assert_eq!(wrapped, ["你", "好a", "b"]);
        assert_eq!(Row::new().wrapped(3).len(), 1);
        let words: Vec<String> =
            Row::of(Look::Plain, "one two-three four").wrapped(9).iter().map(Row::text).collect();
        assert_eq!(words, ["one ", "two-three", " four"]);
    }

    proptest! {
        #[test]
        fn no_text_brings_a_control_character_to_the_screen(text in any::<String>(), left in 0_usize..20, width in 1_usize..20) {
            let mut rows = Vec::new();
            Row::line(&text, Look::Plain, &mut rows);
            for row in &rows {
                prop_assert!(!row.text().chars().any(char::is_control));
                prop_assert!(row.clipped(left, width).width() <= width);
                prop_assert!(row.wrapped(width).iter().all(|part| part.width() <= width.max(2)));
            }
        }
    }
}
