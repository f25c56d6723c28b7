//! Lines of a page: text that a terminal shows and never obeys, in looks of ours and in colours of its own.

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use crate::sgr;
use crate::style::{char_columns, columns, is_unseen, picture};

pub use crate::style::Look;

/// One line, in pieces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row {
    pub spans: Vec<Span<'static>>,
    /// What stands at the right edge.
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

/// The same in bytes: combining marks take no column.
const MAX_BYTES: usize = 4 * MAX_COLUMNS;

/// Least difference between the strongest and the weakest part of a colour that is no grey.
const MIN_SATURATION: u8 = 64;

pub fn style(look: Look) -> Style {
    recorded(look.style())
}

/// Returns the style of recorded text as one that is readable on any background, so that no text can hide: each
/// colour becomes the nearest of six, greys and backgrounds are left out.
fn recorded(style: anstyle::Style) -> Style {
    let effects = [
        (anstyle::Effects::BOLD, Modifier::BOLD),
        (anstyle::Effects::DIMMED, Modifier::DIM),
        (anstyle::Effects::ITALIC, Modifier::ITALIC),
        (anstyle::Effects::UNDERLINE, Modifier::UNDERLINED),
        (anstyle::Effects::INVERT, Modifier::REVERSED),
        (anstyle::Effects::STRIKETHROUGH, Modifier::CROSSED_OUT),
    ];
    let effects = effects.into_iter().filter(|(effect, _)| style.get_effects().contains(*effect));
    let modifiers = effects.map(|(_, modifier)| modifier).collect();
    Style { fg: style.get_fg_color().and_then(nearest), ..Style::new().add_modifier(modifiers) }
}

fn nearest(colour: anstyle::Color) -> Option<Color> {
    let anstyle::RgbColor(red, green, blue) = sgr::rgb(colour);
    let (high, low) = (red.max(green).max(blue), red.min(green).min(blue));
    let middle = low + (high - low) / 2;
    let colour = match (red > middle, green > middle, blue > middle) {
        (true, false, false) => Color::Red,
        (false, true, false) => Color::Green,
        (true, true, false) => Color::Yellow,
        (false, false, true) => Color::Blue,
        (true, false, true) => Color::Magenta,
        _ => Color::Cyan,
    };
    (high - low >= MIN_SATURATION).then_some(colour)
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
        let words = format!("{error:#}");
        let (error, hint) =
            words.split_once("\nhint: ").map_or((&*words, None), |(error, hint)| (error, Some(hint)));
        let error = Self::of(Look::Bad, shown(&error.replace('\n', "; ")));
        let hint =
            hint.map(|hint| Self::of(Look::Dim, "hint: ").and(Look::Plain, shown(&hint.replace('\n', "; "))));
        [error].into_iter().chain(hint).collect()
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

    /// The row with another one at the right edge of wherever it stands.
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

    /// Returns true if it is words for people.
    pub fn is_prose(&self) -> bool {
        self.indent > 0
    }

    /// Returns the rows of a text from outside, in the colours that it has; a long line becomes several.
    pub fn lines(text: &str, look: Look) -> Vec<Self> {
        let mut rows = Rows::default();
        for (colours, span) in sgr::spans(text) {
            let style = style(look).patch(recorded(colours));
            for line in span.split_inclusive('\n') {
                match line.strip_suffix('\n') {
                    Some(line) => {
                        rows.write(line.strip_suffix('\r').unwrap_or(line), style);
                        rows.end_line();
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

    /// What is left of it from column `left` on, in `width` columns.
    pub fn clipped(&self, left: usize, width: usize) -> Self {
        let mut clipped = Self::new();
        let mut column = 0;
        for span in &self.spans {
            let mut part = String::new();
            for c in span.content.chars() {
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
            clipped.spans.push(Span::styled(part, span.style));
        }
        clipped
    }

    /// The row in `width` columns from column `left` on, with its right part at the edge.
    pub fn fitted(mut self, left: usize, width: usize) -> Self {
        if self.is_rule {
            return Self::of(Look::Dim, "─".repeat(width));
        }
        let right = std::mem::take(&mut self.right);
        let columns_of_right: usize = right.iter().map(|span| columns(&span.content)).sum();
        let link = self.link.take();
        let room = width.saturating_sub(columns_of_right + 1);
        if columns_of_right == 0 || room < MIN_LEFT {
            return Self { link, ..self.cut(left, width) };
        }
        let mut row = self.cut(left, room).padded(width - columns_of_right);
        row.spans.extend(right);
        Self { link, ..row }
    }

    /// The row with blanks behind it, up to `width` columns.
    #[must_use]
    pub fn padded(self, width: usize) -> Self {
        let blank = " ".repeat(width.saturating_sub(self.width()));
        self.and(Look::Plain, blank)
    }

    /// What is left of it from column `left` on, in `width` columns, with a sign if there is more.
    pub fn cut(self, left: usize, width: usize) -> Self {
        let all = self.width();
        if left == 0 && all <= width {
            self
        } else if all > left + width && width > 1 {
            self.clipped(left, width - 1).and(Look::Dim, "…")
        } else {
            self.clipped(left, width)
        }
    }

    /// Returns true if it goes on in further rows where it is wider than `width`.
    pub fn is_wrappable(&self, width: usize) -> bool {
        self.right.is_empty() && !self.is_rule && self.width() > width
    }

    /// The row in as many rows of `width` columns as it takes, cut between words where there are any.
    pub fn wrapped(&self, width: usize) -> Vec<Self> {
        let width = width.max(2);
        let letters: Vec<(Style, char)> =
            self.spans.iter().flat_map(|span| span.content.chars().map(|c| (span.style, c))).collect();
        let indent = if self.indent < width / 2 { self.indent } else { 0 };
        // A rule in front of the words goes on.
        let rule = letters.first().copied().filter(|(_, c)| *c == RULE);
        let (mut rows, mut start) = (Vec::new(), 0);
        while start < letters.len() || rows.is_empty() {
            let margin = if rows.is_empty() { 0 } else { indent };
            let mut column = margin;
            let mut end = start
                + letters[start..]
                    .iter()
                    .take_while(|(_, c)| {
                        column += char_columns(*c);
                        column <= width
                    })
                    .count();
            if end < letters.len() {
                // A word that takes up most of a row is cut all the same.
                let gap = letters[start..end].iter().rposition(|(_, c)| *c == ' ').map(|at| start + at + 1);
                end = gap.filter(|gap| gap - start > width / 3).unwrap_or(end);
            }
            let mut row = Self::new();
            if let Some((style, rule)) = rule.filter(|_| margin > 0) {
                row.spans.push(Span::styled(format!("{rule:<margin$}"), style));
            } else if margin > 0 {
                row = row.and(Look::Plain, " ".repeat(margin));
            }
            for part in letters[start..end].chunk_by(|(one, _), (other, _)| one == other) {
                let text: String = part.iter().map(|(_, c)| c).collect();
                row.spans.push(Span::styled(text, part[0].0));
            }
            rows.push(row);
            start = end;
        }
        rows
    }
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
    last: Row,
    /// Columns of the line so far, of the last row, and its bytes.
    column: usize,
    width: usize,
    bytes: usize,
}

impl Rows {
    fn write(&mut self, text: &str, style: Style) {
        let safe = shown_from(text, &mut self.column);
        for (is_escape, part) in escapes(&safe) {
            let style = if is_escape { self::style(Look::Dim) } else { style };
            let mut start = 0;
            for (at, c) in part.char_indices() {
                let wide = char_columns(c);
                if self.width + wide > MAX_COLUMNS || self.bytes + at - start >= MAX_BYTES {
                    self.push(&part[start..at], style);
                    self.end_row();
                    start = at;
                }
                self.width += wide;
            }
            self.push(&part[start..], style);
        }
    }

    fn push(&mut self, text: &str, style: Style) {
        self.bytes += text.len();
        self.last.spans.push(Span::styled(text.to_owned(), style));
    }

    fn end_row(&mut self) {
        self.finished.push(std::mem::take(&mut self.last));
        (self.width, self.bytes) = (0, 0);
    }

    fn end_line(&mut self) {
        self.end_row();
        self.column = 0;
    }

    fn finish(mut self) -> Vec<Row> {
        if !self.last.spans.is_empty() {
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

/// Returns the pieces of a text, each with whether it is a sequence such as `␛[2J`: it is there to be seen, but not to
/// be in the way.
fn escapes(text: &str) -> Vec<(bool, &str)> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('\u{241b}') {
        let behind = &rest[at + '\u{241b}'.len_utf8()..];
        let length = match behind.strip_prefix('[') {
            Some(sequence) => {
                let end = sequence.find(|c| !matches!(c, '0'..='?' | ' '..='/')).unwrap_or(sequence.len());
                1 + end + sequence[end..].chars().next().filter(char::is_ascii).map_or(0, char::len_utf8)
            }
            None => 0,
        };
        let end = at + '\u{241b}'.len_utf8() + length;
        pieces.extend([(false, &rest[..at]), (true, &rest[at..end])]);
        rest = &rest[end..];
    }
    pieces.push((false, rest));
    pieces.retain(|(_, text)| !text.is_empty());
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
    fn colours_are_shown_and_other_sequences_are_dim_signs() {
        let dim = style(Look::Dim);
        let bold_red = Style::new().fg(Color::Red).add_modifier(Modifier::BOLD);
        for (text, expected) in [
            ("\x1b[1;31mred\x1b[0m", vec![(bold_red, "red")]),
            ("\x1b[2Jgone\x1b[?25l", vec![(dim, "␛[2J"), (Style::new(), "gone"), (dim, "␛[?25l")]),
            ("a\x1b[32m\tb", vec![(Style::new(), "a"), (style(Look::Good), "       b")]),
            ("\x1b[30;40mhidden", vec![(Style::new(), "hidden")]),
            ("\x1b[38;5;208morange", vec![(style(Look::Warn), "orange")]),
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
        assert_eq!(row.clipped(0, 3).text(), "你");
        assert_eq!(row.clipped(1, 3).text(), " 好");
        assert_eq!(row.clipped(4, 9).text(), "ab");
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
