//! Colours, counts and durations: the words and looks that all views share.

use std::time::Duration;

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthChar;

use ralph_core::record::{FailureClass, Outcome, Tokens, join_truncated};

pub use ralph_core::record::grouped;

/// Whether text carries colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Paint {
    #[default]
    Plain,
    Colour,
}

/// What a piece of text is; the palette says which colour that is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Look {
    #[default]
    Plain,
    Dim,
    Bold,
    Good,
    Bad,
    Warn,
    /// What leads the eye: the names of things, what runs, the chosen view.
    Accent,
    /// A claim of the agent that proved false.
    Claim,
}

impl Look {
    /// Only the eight colours that every theme sets apart from its background, dark or light: the bright ones are greys in
    /// some themes.
    pub fn style(self) -> Style {
        match self {
            Self::Plain => Style::new(),
            Self::Dim => Style::new().dimmed(),
            Self::Bold => Style::new().bold(),
            Self::Good => AnsiColor::Green.on_default(),
            Self::Bad => AnsiColor::Red.on_default(),
            Self::Warn => AnsiColor::Yellow.on_default(),
            Self::Accent => AnsiColor::Cyan.on_default(),
            Self::Claim => AnsiColor::Magenta.on_default(),
        }
    }
}

impl Paint {
    pub fn paint(self, look: Look, text: &str) -> String {
        let style = look.style();
        match self {
            Self::Plain => text.to_owned(),
            Self::Colour => format!("{style}{text}{style:#}"),
        }
    }
}

/// Where lines are written.
#[derive(Debug, Clone, Copy)]
pub struct Screen {
    pub paint: Paint,
    /// Columns; `usize::MAX` where a program reads them.
    pub width: usize,
}

impl Screen {
    pub fn paint(self, look: Look, text: &str) -> String {
        self.paint.paint(look, text)
    }

    /// Breaks `text` between words into lines. The first begins with `lead`, the others are indented as far; a word that is
    /// too long for a line is cut.
    pub fn hanging(self, lead: &str, text: &str) -> Vec<String> {
        let indent = columns(lead);
        let room = self.width.saturating_sub(indent).max(1);
        let mut lines: Vec<String> = Vec::new();
        let mut used = room;
        for word in text.split_whitespace() {
            let taken = columns(word);
            match lines.last_mut() {
                Some(line) if used + 1 + taken <= room => {
                    line.push(' ');
                    line.push_str(word);
                    used += 1 + taken;
                }
                last => {
                    let start = if last.is_none() { lead.to_owned() } else { " ".repeat(indent) };
                    lines.push(start + &cut(word, room));
                    used = taken.min(room);
                }
            }
        }
        if lines.is_empty() { vec![lead.trim_end().to_owned()] } else { lines }
    }

    /// The same in a colour.
    pub fn painted(self, look: Look, lead: &str, text: &str) -> Vec<String> {
        self.paint_lines(look, &self.hanging(lead, text))
    }

    pub fn paint_lines(self, look: Look, lines: &[String]) -> Vec<String> {
        lines.iter().map(|line| self.paint(look, line)).collect()
    }

    /// Breaks parts between each other as [`Self::hanging`] breaks a text between words.
    pub fn parts(self, lead: &str, parts: &[String]) -> Vec<String> {
        const SEPARATOR: &str = " · ";
        let indent = columns(lead);
        let room = self.width.saturating_sub(indent).max(1);
        let mut lines: Vec<String> = Vec::new();
        for part in parts {
            match lines.last_mut() {
                Some(line) if columns(line) + columns(SEPARATOR) + columns(part) <= room => {
                    line.push_str(SEPARATOR);
                    line.push_str(part);
                }
                _ => lines.extend(Self { width: room, ..self }.hanging("", part)),
            }
        }
        let blank = " ".repeat(indent);
        let leads = [lead].into_iter().chain(std::iter::repeat(&*blank));
        leads.zip(lines).map(|(lead, line)| lead.to_owned() + &line).collect()
    }

    /// The same for what is known of `name`, which is in front of it in bold.
    pub fn named_parts(self, name: &str, parts: &[String]) -> Vec<String> {
        self.paint_start(Look::Bold, name, self.parts(&format!("{name}   "), parts))
    }

    /// Cuts `text` to what `beside` columns leave of a line, but not below `least`, and pads it to that; where there are no
    /// columns, nothing is done to it.
    pub fn filled(self, text: &str, beside: usize, least: usize) -> String {
        let room = self.width.saturating_sub(beside).max(least);
        if self.width == usize::MAX { text.to_owned() } else { padded(&cut(text, room), room) }
    }

    /// Colours `words` in the first of some lines, where they come first.
    pub fn paint_start(self, look: Look, words: &str, mut lines: Vec<String>) -> Vec<String> {
        if let Some(first) = lines.first_mut() {
            *first = first.replacen(words, &self.paint(look, words), 1);
        }
        lines
    }
}

/// The colour and the sign of an outcome.
pub fn sign(outcome: Outcome) -> (Look, &'static str) {
    match outcome {
        Outcome::Success => (Look::Good, "✔"),
        Outcome::Failure => (Look::Bad, "✘"),
        Outcome::Skipped => (Look::Warn, "»"),
        Outcome::Checked | Outcome::Reopened => (Look::Warn, "↩"),
        Outcome::Integrated => (Look::Plain, "⊕"),
        Outcome::Interrupted => (Look::Warn, "‖"),
        Outcome::Later(_) => (Look::Warn, "?"),
    }
}

/// The same of an attempt as it is seen by now: red is what still fails, amber what asks, and grey what was solved since.
pub fn sign_by_now(outcome: Outcome, class: Option<FailureClass>, is_solved: bool) -> (Look, &'static str) {
    match outcome {
        Outcome::Failure if is_solved => (Look::Dim, "✘"),
        Outcome::Failure if class.is_some_and(FailureClass::sets_aside) => (Look::Warn, "?"),
        outcome => sign(outcome),
    }
}

/// Returns the parts that there are, with `separator` between them; `None` if there is none.
pub fn joined(parts: impl IntoIterator<Item = Option<String>>, separator: &str) -> Option<String> {
    parts.into_iter().flatten().reduce(|text, part| text + separator + &part)
}

/// Returns the first `most` names on one line, and how many more there are; `None` if there are none.
pub fn listed(names: &[impl AsRef<str>], most: usize) -> Option<String> {
    (!names.is_empty()).then(|| one_line(&join_truncated(names, most)))
}

/// `1 task`, `2 tasks`.
pub fn counted(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// `21.5 M in, 99 % cached; 476 k out`; what is not known is not said. What goes into a cache or comes from it is read,
/// too.
pub fn tokens_by_kind(tokens: &Tokens) -> String {
    let cached = tokens.cache_read.unwrap_or_default();
    let read = [tokens.input, tokens.cache_read, tokens.cache_write].into_iter().flatten().sum::<u64>();
    let part = if cached > 0 { format!(", {} % cached", cached * 100 / read) } else { String::new() };
    let read = (read > 0).then(|| format!("{} in{part}", short(read)));
    let written = tokens.output.map(|output| format!("{} out", short(output)));
    joined([read, written], "; ").unwrap_or_default()
}

/// `9,999`, `476 k`, `12.3 M`
pub fn short(count: u64) -> String {
    match count {
        0..10_000 => grouped(count),
        10_000..1_000_000 => format!("{} k", count / 1000),
        _ => format!("{}.{} M", grouped(count / 1_000_000), count % 1_000_000 / 100_000),
    }
}

/// `940 ms`, `6.1 s`, `2 min 3 s`, `1 h 40 min`
pub fn duration(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    match seconds {
        0 if milliseconds == 0 => "under 1 s".to_owned(),
        0 => format!("{milliseconds} ms"),
        1..60 => format!("{}.{} s", seconds, milliseconds % 1000 / 100),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// ` in 2 runs`: behind the time at work of a session that was resumed; empty of any other.
pub fn in_runs(runs: usize) -> String {
    if runs > 1 { format!(" in {} runs", grouped(runs as u64)) } else { String::new() }
}

/// The same without seconds: `42 min`, `5 h 49 min`
pub fn minutes(milliseconds: u64) -> String {
    let text = duration(milliseconds);
    let whole = text.split_once(" min").map(|(minutes, _)| format!("{minutes} min"));
    whole.unwrap_or(text)
}

/// The same for a column: `940ms`, `6.1s`, `2m03`, `1h40`
pub fn brief_duration(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    match seconds {
        0 if milliseconds == 0 => "<1s".to_owned(),
        0 => format!("{milliseconds}ms"),
        1..60 => format!("{}.{}s", seconds, milliseconds % 1000 / 100),
        60..3600 => format!("{}m{:02}", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}", seconds / 3600, seconds / 60 % 60),
    }
}

/// `$3.85`
pub fn dollars(usd: f64) -> String {
    format!("${usd:.2}")
}

/// `12 KB`
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => counted(bytes, "byte"),
        1_000..1_000_000 => format!("{}.{} KB", bytes / 1000, bytes % 1000 / 100),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

/// What is done of all, and what is not: `━━━━` and `╌╌`
pub fn bar(done: usize, all: usize, cells: usize) -> [String; 2] {
    let full = done.saturating_mul(cells).checked_div(all).unwrap_or(0).min(cells);
    ["━".repeat(full), "╌".repeat(cells - full)]
}

pub fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Text from outside, safe on a terminal, on one line: no control characters but tabs, and a sign in the place of what
/// deceives.
pub fn one_line(text: &str) -> String {
    if is_plain(text) {
        return text.to_owned();
    }
    text.chars()
        .map(|c| match c {
            '\t' => c,
            c if c.is_control() => ' ',
            c if is_unseen(c) => '\u{fffd}',
            c => c,
        })
        .collect()
}

/// Text from outside, safe on a terminal: what would steer it, or deceive a reader, is shown, not obeyed. Line ends of
/// Windows become plain ones.
pub fn inert(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\t' | '\n' => safe.push(c),
            '\r' if rest.peek() == Some(&'\n') => {}
            c if is_unseen(c) => safe.push('\u{fffd}'),
            c => safe.push(picture(c).unwrap_or(c)),
        }
    }
    safe
}

/// The picture of a control character below the printable ones, tabs and line ends among them.
pub fn picture(c: char) -> Option<char> {
    match c {
        '\0'..='\x1f' => char::from_u32(0x2400 + u32::from(c)),
        '\x7f' => Some('\u{2421}'),
        _ => None,
    }
}

/// Returns true if a character steers or deceives without being seen: the rest of the control characters, line separators,
/// whatever turns the direction of a text around, what has no width or no ink, and tags. What joins letters and pictures is
/// part of them.
pub fn is_unseen(c: char) -> bool {
    matches!(c,
        '\u{80}'..='\u{9f}'
        | '\u{ad}'
        | '\u{34f}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{3164}'
        | '\u{ffa0}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{61c}'
        | '\u{180e}'
        | '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// How many columns of a terminal a character takes.
pub fn char_columns(c: char) -> usize {
    c.width().unwrap_or(1)
}

/// How many columns a text takes that no terminal obeys.
pub fn columns(text: &str) -> usize {
    if is_plain(text) {
        return text.len();
    }
    text.chars().map(char_columns).sum()
}

/// Returns true if `text` is printable ASCII: one column for each byte, and nothing to make visible.
pub fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

/// Characters to a column: marks upon marks take no column, but they take time.
const MAX_MARKS: usize = 4;

/// What fits into `width` columns, with an ellipsis where something was cut.
pub fn cut(text: &str, width: usize) -> String {
    // No character takes more columns than bytes.
    if text.len() <= width || (columns(text) <= width && text.chars().nth(width * MAX_MARKS).is_none()) {
        return text.to_owned();
    }
    let mut column = usize::from(width > 0);
    let start = text.chars().take(width * MAX_MARKS).take_while(|c| {
        column += char_columns(*c);
        column <= width
    });
    start.chain((width > 0).then_some('…')).collect()
}

/// Returns what a task asks for, without the file in which it is to be done.
pub fn task_title(text: &str) -> &str {
    match text.rsplit_once(" in ") {
        Some((title, place)) if !place.contains(' ') && place.contains(['/', '.']) => title,
        _ => text,
    }
}

/// Returns the name of a phase: `Boards and cards` of `Phase 3: User Story 1 - Boards and cards (P1)`.
pub fn phase_title(heading: &str) -> &str {
    let name = behind(behind(heading, "Phase ", ": "), "User Story ", " - ");
    name.rsplit_once(" (P").filter(|_| name.ends_with(')')).map_or(name, |(name, _)| name).trim()
}

/// `Setup` of `Phase 1: Setup`, `US1` of `Phase 3: User Story 1 - Boards and cards (P1)`.
pub fn phase_name(heading: &str) -> String {
    let name = behind(heading, "Phase ", ": ").trim();
    let story =
        name.strip_prefix("User Story ").and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next());
    match story.filter(|number| !number.is_empty()) {
        Some(number) => format!("US{number}"),
        None => name.split(" (").next().unwrap_or(name).to_owned(),
    }
}

/// What is behind a label with a number, as `Setup` in `Phase 1: Setup`; all of any other text.
fn behind<'a>(text: &'a str, label: &str, separator: &str) -> &'a str {
    let (first, name) = text.split_once(separator).unwrap_or(("", text));
    if first.strip_prefix(label).is_some_and(|number| !number.is_empty()) { name } else { text }
}

/// Pads a text with blanks to so many columns.
pub fn padded(text: &str, width: usize) -> String {
    text.to_owned() + &" ".repeat(width.saturating_sub(columns(text)))
}

/// As [`duration`], in whole seconds, for what is read while it counts.
pub fn clock_span(milliseconds: u64) -> String {
    match milliseconds / 1000 {
        seconds @ 0..60 => format!("{seconds} s"),
        _ => duration(milliseconds),
    }
}

/// `2 h 39 min ago`, `3 days ago`
pub fn ago(milliseconds: u64) -> String {
    let days = milliseconds / 86_400_000;
    if days < 2 { format!("{} ago", clock_span(milliseconds)) } else { format!("{days} days ago") }
}

/// An estimate, no more exact than it is: `5 min`, `40 min`, `3 h`
pub fn rough(milliseconds: u64) -> String {
    let minutes = (milliseconds / 60_000).max(1);
    match minutes {
        1..10 => format!("{minutes} min"),
        10..115 => {
            duration(minutes.saturating_add(5) / 10 * 600_000).replace(" 0 s", "").replace(" 0 min", "")
        }
        _ => format!("{} h", minutes.saturating_add(30) / 60),
    }
}

/// `1st`, `2nd`, `3rd`, `11th`
pub fn ordinal(number: u32) -> String {
    let end = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{number}{end}")
}

/// `once`, `twice`, `3 times`
pub fn times(count: usize) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        count => format!("{} times", grouped(count as u64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wide(width: usize) -> Screen {
        Screen { paint: Paint::Plain, width }
    }

    #[test]
    fn each_look_has_a_code_and_ends() {
        for (look, code) in [
            (Look::Dim, "2"),
            (Look::Bold, "1"),
            (Look::Good, "32"),
            (Look::Bad, "31"),
            (Look::Warn, "33"),
            (Look::Accent, "36"),
            (Look::Claim, "35"),
        ] {
            assert_eq!(Paint::Colour.paint(look, "x"), format!("\x1b[{code}mx\x1b[0m"));
            assert_eq!(Paint::Plain.paint(look, "x"), "x");
        }
        assert_eq!(Paint::Colour.paint(Look::Plain, "x"), "x");
    }

    #[test]
    fn parts_wrap_between_each_other() {
        let parts = ["18 of 35 done", "running 3 h", "$41.29 of $80"].map(str::to_owned);
        assert_eq!(wide(80).parts("x  ", &parts), ["x  18 of 35 done · running 3 h · $41.29 of $80"]);
        assert_eq!(wide(30).parts("x  ", &parts), ["x  18 of 35 done · running 3 h", "   $41.29 of $80"]);
        assert_eq!(wide(8).parts("x  ", &parts[..1]), ["x  18 of", "   35", "   done"]);
    }

    #[test]
    fn the_title_of_a_task_names_no_file() {
        for (text, expected) in [
            ("Export boards in src/csv.ts", "Export boards"),
            ("Keep it in mind", "Keep it in mind"),
            ("Put it in src/a.ts and b", "Put it in src/a.ts and b"),
        ] {
            assert_eq!(task_title(text), expected);
        }
    }

    #[test]
    fn a_phase_is_named_without_its_number() {
        for (heading, name) in [
            ("Phase 1: Setup", "Setup"),
            ("Phase 3: User Story 1 - Boards and cards (P1)", "Boards and cards"),
            ("Polish", "Polish"),
            ("Phase 2 and more", "Phase 2 and more"),
            ("Part: two", "Part: two"),
        ] {
            assert_eq!(phase_title(heading), name);
        }
    }

    #[test]
    fn times_that_count_and_estimates_are_short() {
        let second = 1000;
        let minute = 60 * second;
        let hour = 60 * minute;
        for (ms, span, rough, ago) in [
            (0, "0 s", "1 min", "0 s ago"),
            (6_940, "6 s", "1 min", "6 s ago"),
            (192 * second, "3 min 12 s", "3 min", "3 min 12 s ago"),
            (38 * minute, "38 min 0 s", "40 min", "38 min 0 s ago"),
            (56 * minute, "56 min 0 s", "1 h", "56 min 0 s ago"),
            (97 * minute, "1 h 37 min", "1 h 40 min", "1 h 37 min ago"),
            (159 * minute, "2 h 39 min", "3 h", "2 h 39 min ago"),
            (50 * hour, "50 h 0 min", "50 h", "2 days ago"),
        ] {
            assert_eq!([clock_span(ms), super::rough(ms), super::ago(ms)], [span, rough, ago]);
        }
        let ordinals = [1, 2, 3, 4, 11, 12, 21, 113].map(ordinal);
        assert_eq!(ordinals, ["1st", "2nd", "3rd", "4th", "11th", "12th", "21st", "113th"]);
        assert_eq!([times(1), times(2), times(3)], ["once", "twice", "3 times"]);
    }

    #[test]
    fn words_wrap_with_a_hanging_indent() {
        for (text, width, expected) in [
            ("one two three", 40, &["? one two three"][..]),
            ("one two three", 9, &["? one two", "  three"]),
            ("one  two\nthree", 9, &["? one two", "  three"]),
            ("unbreakable it is", 8, &["? unbre…", "  it is"]),
            ("你好 世界", 8, &["? 你好", "  世界"]),
            ("", 8, &["?"]),
            ("a b", 0, &["? a", "  b"]),
        ] {
            assert_eq!(wide(width).hanging("? ", text), expected, "{text} {width}");
        }
    }

    #[test]
    fn the_name_of_a_phase_is_short() {
        for (heading, expected) in [
            ("Phase 1: Setup", "Setup"),
            ("Phase 3: User Story 1 - Boards and cards (P1)", "US1"),
            ("Phase 6: Polish (last)", "Polish"),
            ("User Story 12", "US12"),
            ("Part: two", "Part: two"),
            ("Phase: x", "Phase: x"),
        ] {
            assert_eq!(phase_name(heading), expected);
        }
    }

    #[test]
    fn counts_and_durations_read_like_words() {
        assert_eq!(counted(1, "task"), "1 task");
        assert_eq!(counted(1_234, "task"), "1,234 tasks");
        for (milliseconds, text) in [
            (0, "under 1 s"),
            (940, "940 ms"),
            (6_140, "6.1 s"),
            (123_000, "2 min 3 s"),
            (6_000_000, "1 h 40 min"),
        ] {
            assert_eq!(duration(milliseconds), text);
        }
        for (milliseconds, text) in [(940, "940ms"), (6_140, "6.1s"), (123_000, "2m03"), (6_000_000, "1h40")]
        {
            assert_eq!(brief_duration(milliseconds), text);
        }
    }

    #[test]
    fn nothing_from_outside_reaches_the_terminal_as_a_command() {
        assert_eq!(one_line("a\x1b[31m\r\nb\u{202e}c"), "a [31m  b\u{fffd}c");
        assert_eq!(inert("a\x1b]0;x\x07\r\nb\tc\rd"), "a␛]0;x␇\nb\tc␍d");
        assert_eq!(inert("pass\u{ad}word a\u{3164}b"), "pass\u{fffd}word a\u{fffd}b");
        assert_eq!(inert("👩‍💻 ❤️ می‌خواهم"), "👩‍💻 ❤️ می‌خواهم");
        assert_eq!(inert("\u{9b}31m user\u{202e}txt.exe größe"), "\u{fffd}31m user\u{fffd}txt.exe größe");
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("abcd", 4), "abcd");
        assert_eq!([cut("你好世界", 8), cut("你好世界", 6), cut("你好", 0)], ["你好世界", "你好…", ""]);
        assert_eq!(cut(&format!("a{}", "\u{301}".repeat(10_000)), 10).chars().count(), 41);
    }
}
