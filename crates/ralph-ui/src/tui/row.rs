//! Lines of a page: text that a terminal shows and never obeys, in looks of ours and in colours of its own.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::sgr;
use crate::style::{char_columns, columns, is_unseen, picture};

pub use crate::style::Look;

/// One line, in pieces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row {
    pub spans: Vec<Span<'static>>,
    /// What is at the right edge.
    right: Vec<Span<'static>>,
    /// Columns in front of what is wrapped; 0 in lines that are not words for people.
    indent: usize,
    /// A path in it that leads to the file, from the top of the work tree.
    pub link: Option<String>,
    /// True for a line from edge to edge.
    is_rule: bool,
}

/// A line beside several rows.
pub const RULE: char = '┃';

/// With fewer columns beside it, the right part of a row is left out.
const MIN_LEFT: usize = 12;

/// Columns between two stops of the tabulator.
const TAB: usize = 8;

/// A line of more columns goes on in the next row, so that no row takes long to draw.
const MAX_COLUMNS: usize = 1000;

/// The same in characters: combining marks take no column.
const MAX_LETTERS: usize = 2 * MAX_COLUMNS;

pub fn style(look: Look) -> Style {
    look.style().into()
}

impl Row {
    pub fn new() -> Self {
        Self::default()
    }

    /// A row of one look.
    pub fn of(look: Look, text: impl Into<String>) -> Self {
        Self::new().and(look, text)
    }

    /// An error, and in a row of its own what helps.
    pub fn failure(error: &anyhow::Error) -> Vec<Self> {
        Self::failure_words(&format!("{error:#}"))
    }

    /// The same of its words.
    pub fn failure_words(words: &str) -> Vec<Self> {
        let (error, hint) = words.split_once("\nhint: ").unwrap_or((words, ""));
        let [error, hint] = [error, hint].map(|words| shown(&words.replace('\n', "; ")));
        let mut rows = vec![Self::of(Look::Bad, error)];
        if !hint.is_empty() {
            rows.push(Self::of(Look::Dim, "hint: ").and(Look::Plain, hint));
        }
        rows
    }

    #[must_use]
    pub fn and(mut self, look: Look, text: impl Into<String>) -> Self {
        self.spans.push(Span::styled(text.into(), style(look)));
        self
    }

    /// The row with another one behind it.
    #[must_use]
    pub fn then(mut self, other: Self) -> Self {
        self.spans.extend(other.spans);
        if self.right.is_empty() {
            self.right = other.right;
        }
        self.link = self.link.or(other.link);
        self
    }

    /// The row with another one at the right edge of wherever it is.
    #[must_use]
    pub fn with_right(self, right: Self) -> Self {
        Self { right: right.spans, ..self }
    }

    /// A line from edge to edge.
    pub fn rule() -> Self {
        Self { is_rule: true, ..Self::default() }
    }

    /// The row with a link to a file whose path is in it.
    #[must_use]
    pub fn linked(self, path: &str) -> Self {
        Self { link: Some(path.to_owned()), ..self }
    }

    /// The row with a margin where it is wrapped.
    #[must_use]
    pub fn indented(self, indent: usize) -> Self {
        Self { indent, ..self }
    }

    /// Returns the rows of a text from outside, in the colours that it has; a long line becomes several.
    pub fn lines(text: &str, look: Look) -> Vec<Self> {
        let mut rows = Rows::default();
        for (colours, span) in sgr::spans(text) {
            let style = style(look).patch(Style::from(colours));
            for line in span.split_inclusive('\n') {
                match line.strip_suffix('\n') {
                    Some(line) => {
                        rows.write(line.strip_suffix('\r').unwrap_or(line), style);
                        rows.end_row();
                        rows.column = 0;
                    }
                    None => rows.write(line, style),
                }
            }
        }
        rows.finish()
    }

    /// Adds the rows of one line from outside, also if it is empty.
    pub fn line(line: &str, look: Look, to: &mut Vec<Self>) {
        to.extend(Self::lines(&format!("{line}\n"), look));
    }

    /// In columns.
    pub fn width(&self) -> usize {
        self.spans.iter().map(|span| columns(&span.content)).sum()
    }

    /// All of it without looks.
    pub fn text(&self) -> String {
        self.spans.iter().map(|span| span.content.as_ref()).collect()
    }

    /// The row in `width` columns, with its right part at the edge.
    pub fn fitted(mut self, width: usize) -> Self {
        if self.is_rule {
            return Self::of(Look::Dim, "─".repeat(width));
        }
        let link = self.link.take();
        let right = Self { spans: std::mem::take(&mut self.right), ..Self::new() };
        let room = width.saturating_sub(right.width() + 1);
        let row = if right.width() == 0 || room < MIN_LEFT {
            self.cut(width)
        } else {
            self.cut(room).padded(width - right.width()).then(right)
        };
        Self { link, ..row }
    }

    /// The row with blanks behind it, up to `width` columns.
    #[must_use]
    pub fn padded(self, width: usize) -> Self {
        let blank = " ".repeat(width.saturating_sub(self.width()));
        self.and(Look::Plain, blank)
    }

    /// What fits into `width` columns, with a sign if there is more.
    pub fn cut(self, width: usize) -> Self {
        if self.width() <= width {
            return self;
        }
        let letters = self.letters();
        let end = fitting(&letters, width.saturating_sub(1));
        Self::of_letters(&letters[..end]).and(Look::Dim, "…")
    }

    fn letters(&self) -> Vec<(Style, char)> {
        self.spans.iter().flat_map(|span| span.content.chars().map(|c| (span.style, c))).collect()
    }

    fn of_letters(letters: &[(Style, char)]) -> Self {
        let parts = letters.chunk_by(|(one, _), (other, _)| one == other);
        let spans =
            parts.map(|part| Span::styled(part.iter().map(|(_, c)| c).collect::<String>(), part[0].0));
        Self { spans: spans.collect(), ..Self::new() }
    }

    /// Returns true if it goes on in further rows where it is wider than `width`.
    pub fn is_wrappable(&self, width: usize) -> bool {
        self.right.is_empty() && !self.is_rule && self.width() > width
    }

    /// The row in as many rows of `width` columns as it takes, cut between words where there are any.
    pub fn wrapped(&self, width: usize) -> Vec<Self> {
        let width = width.max(2);
        let letters = self.letters();
        let indent = if self.indent < width / 2 { self.indent } else { 0 };
        // A rule in front of the words goes on.
        let rule = letters.first().copied().filter(|(_, c)| *c == RULE);
        let (style, rule) = rule.unwrap_or((Style::new(), ' '));
        let (mut rows, mut start, mut margin) = (Vec::new(), 0, 0);
        while start < letters.len() || rows.is_empty() {
            let mut end = start + fitting(&letters[start..], width - margin);
            if end < letters.len() {
                // A word that takes up most of a row is cut all the same.
                let gap = letters[start..end].iter().rposition(|(_, c)| *c == ' ').map(|at| start + at + 1);
                end = gap.filter(|gap| gap - start > width / 3).unwrap_or(end);
            }
            let mut row = Self::of_letters(&letters[start..end]);
            if margin > 0 {
                row.spans.insert(0, Span::styled(format!("{rule:<margin$}"), style));
            }
            rows.push(row);
            (start, margin) = (end, indent);
        }
        rows
    }
}

/// Returns how many of the first letters fit into so many columns.
fn fitting(letters: &[(Style, char)], width: usize) -> usize {
    let mut column = 0;
    let fits = letters.iter().take_while(|(_, c)| {
        column += char_columns(*c);
        column <= width
    });
    fits.count()
}

impl From<String> for Row {
    fn from(text: String) -> Self {
        Self::of(Look::Plain, text)
    }
}

impl From<Row> for Line<'static> {
    fn from(row: Row) -> Self {
        row.spans.into()
    }
}

/// Rows in the making.
#[derive(Debug, Default)]
struct Rows {
    finished: Vec<Row>,
    /// The last row, and its columns.
    letters: Vec<(Style, char)>,
    width: usize,
    /// Columns of the line so far.
    column: usize,
}

impl Rows {
    fn write(&mut self, text: &str, style: Style) {
        for letter in shown_from(text, &mut self.column).chars() {
            let columns = char_columns(letter);
            if self.width + columns > MAX_COLUMNS || self.letters.len() >= MAX_LETTERS {
                self.end_row();
            }
            self.width += columns;
            self.letters.push((style, letter));
        }
    }

    fn end_row(&mut self) {
        self.finished.push(Row::of_letters(&self.letters));
        self.letters.clear();
        self.width = 0;
    }

    fn finish(mut self) -> Vec<Row> {
        if !self.letters.is_empty() {
            self.end_row();
        }
        self.finished
    }
}

/// Text from outside with everything that could steer a terminal, or deceive a reader, as a sign of its own.
pub fn shown(text: &str) -> String {
    shown_from(text.strip_suffix('\r').unwrap_or(text), &mut 0)
}

/// The same for a piece of a line, which begins at a column, and ends at another.
fn shown_from(text: &str, column: &mut usize) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        let sign = match c {
            '\t' => {
                let blanks = TAB - *column % TAB;
                safe.extend(std::iter::repeat_n(' ', blanks));
                *column += blanks;
                continue;
            }
            // Terminals do not agree on how wide what they join is.
            '\u{200d}' | '\u{fe0e}' | '\u{fe0f}' => continue,
            c if is_unseen(c) => '\u{fffd}',
            c => picture(c).unwrap_or(c),
        };
        safe.push(sign);
        *column += char_columns(sign);
    }
    safe
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ratatui::style::{Color, Modifier};

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
    fn what_helps_has_a_row_below_the_error() {
        for (error, expected) in [
            ("no such task", &["no such task"][..]),
            ("T1: gone\nand more", &["T1: gone; and more"]),
            ("a session runs\nhint: `stop` ends it", &["a session runs", "hint: `stop` ends it"]),
        ] {
            let rows = Row::failure(&anyhow::anyhow!(error));
            assert_eq!(rows.iter().map(Row::text).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn colours_are_shown_and_other_sequences_are_signs() {
        let bold_red = Style::new().fg(Color::Red).add_modifier(Modifier::BOLD);
        for (text, expected) in [
            ("\x1b[1;31mred\x1b[0m", vec![(bold_red, "red")]),
            ("\x1b[2Jgone\x1b[?25l", vec![(Style::new(), "␛[2Jgone␛[?25l")]),
            ("a\x1b[32m\tb", vec![(Style::new(), "a"), (style(Look::Good), "       b")]),
            ("\x1b[30;40mhidden", vec![(Style::new(), "hidden")]),
            ("\x1b[38;5;208morange", vec![(Style::new(), "orange")]),
            ("\x1b[38;2;1;2;3mhidden", vec![(Style::new(), "hidden")]),
            ("\x1b[7m FAIL ", vec![(Style::new().add_modifier(Modifier::REVERSED), " FAIL ")]),
        ] {
            let rows = Row::lines(text, Look::Plain);
            let spans: Vec<_> =
                rows[0].spans.iter().map(|span| (span.style, span.content.as_ref())).collect();
            assert_eq!(spans, expected, "{text:?}");
        }
    }

    #[test]
    fn a_colour_goes_on_in_the_next_line() {
        let rows = Row::lines("\x1b[36mone\r\ntwo\x1b[m\n\nthree", Look::Plain);
        let texts: Vec<String> = rows.iter().map(Row::text).collect();
        assert_eq!(texts, ["one", "two", "", "three"]);
        assert_eq!(rows[1].spans[0].style, style(Look::Accent));
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
        assert_eq!([6, 5, 4].map(|width| row.clone().cut(width).text()), ["你好ab", "你好…", "你…"]);
        let wrapped: Vec<String> = row.wrapped(3).iter().map(Row::text).collect();
        assert_eq!(wrapped, ["你", "好a", "b"]);
        assert_eq!(Row::new().wrapped(3).len(), 1);
        let words: Vec<String> =
            Row::of(Look::Plain, "one two-three four").wrapped(9).iter().map(Row::text).collect();
        assert_eq!(words, ["one ", "two-three", " four"]);
        let quoted = Row::of(Look::Bad, "┃ left right").indented(2).wrapped(8);
        assert_eq!(quoted.iter().map(Row::text).collect::<Vec<_>>(), ["┃ left ", "┃ right"]);
    }

    proptest! {
        #[test]
        fn no_text_brings_a_control_character_to_the_screen(text in any::<String>(), width in 1_usize..20) {
            let mut rows = Vec::new();
            Row::line(&text, Look::Plain, &mut rows);
            for row in &rows {
                prop_assert!(!row.text().chars().any(char::is_control));
                prop_assert!(row.clone().cut(width).width() <= width);
                prop_assert!(row.wrapped(width).iter().all(|part| part.width() <= width.max(2)));
            }
        }
    }
}
