//! The colours of terminals in recorded text: SGR sequences alone, and of colours the six that are readable on any
//! background. Every other escape stays text, for its reader to sanitize.

use std::borrow::Cow;

use anstyle::{AnsiColor, Color, Effects, Style};

use crate::style::{char_columns, columns, inert};

/// The colours by the last digit of their codes. In black or white on such a background, text could hide.
const COLOURS: [Option<AnsiColor>; 10] = [
    None,
    Some(AnsiColor::Red),
    Some(AnsiColor::Green),
    Some(AnsiColor::Yellow),
    Some(AnsiColor::Blue),
    Some(AnsiColor::Magenta),
    Some(AnsiColor::Cyan),
    None,
    None,
    None,
];

/// Longest sequence that is read as a colour; more is text.
const MAX_SEQUENCE_BYTES: usize = 64;

/// Returns the pieces of `text` between its colours, each with its style. None of them is empty.
pub fn spans(text: &str) -> impl Iterator<Item = (Style, &str)> {
    let (mut rest, mut style) = (text, Style::new());
    std::iter::from_fn(move || {
        while let Some((parameters, after)) = sequence(rest) {
            (style, rest) = (applied(style, parameters), after);
        }
        let mut starts = rest.match_indices('\x1b').map(|(at, _)| at);
        let end = starts.find(|at| sequence(&rest[*at..]).is_some()).unwrap_or(rest.len());
        let (span, after) = rest.split_at(end);
        rest = after;
        (!span.is_empty()).then_some((style, span))
    })
}

/// Returns `text` without its colours.
pub fn without_colors(text: &str) -> Cow<'_, str> {
    if text.contains("\x1b[") { spans(text).map(|(_, span)| span).collect() } else { text.into() }
}

/// Breaks the lines of a text between words where they are wider than the screen, also where they have colours. What goes on
/// below is indented as the last column of its line; what is quoted as code stays whole.
pub fn folded(text: &str, width: usize) -> String {
    let lines = text.split_inclusive('\n').map(|line| {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        let line = if columns(line) > width { fold(line, width) } else { line.to_owned() };
        line + end
    });
    lines.collect()
}

fn fold(line: &str, width: usize) -> String {
    let indent = column_of(line, width);
    let mut folded = String::with_capacity(line.len() + indent + 1);
    // Of the present line: columns, and where its last blank is, in bytes and in columns.
    let (mut used, mut blank) = (0, None);
    let (mut is_code, mut is_escape) = (false, false);
    for c in line.chars() {
        is_escape |= c == '\x1b';
        if !is_escape {
            is_code ^= c == '`';
            used += char_columns(c);
            if c == ' ' && !is_code && used > indent + 1 {
                blank = Some((folded.len(), used));
            }
        }
        is_escape &= c != 'm';
        folded.push(c);
        if let Some((at, column)) = blank.filter(|_| used > width) {
            let rest = folded.split_off(at);
            folded.truncate(folded.trim_end_matches(' ').len());
            folded.push('\n');
            folded.push_str(&" ".repeat(indent));
            folded.push_str(rest.trim_start_matches(' '));
            (used, blank) = (indent + used - column, None);
        }
    }
    folded
}

/// Returns where the words of a line begin: behind the names and numbers in front of them, which two blanks part from them.
fn column_of(line: &str, width: usize) -> usize {
    let text = without_colors(line);
    let lead = ["error: ", "hint: ", "warning: "].into_iter().find(|lead| text.starts_with(lead));
    let start = text.len() - text.trim_start_matches(' ').len();
    let start = if text[start..].starts_with("- ") { start + 2 } else { start };
    let last = text.match_indices("  ").map(|(at, _)| at + text[at..].len() - text[at..].trim_start().len());
    let column = last.map(|at| columns(&text[..at])).filter(|column| *column <= width / 2).last();
    lead.map_or(column.unwrap_or_default().max(start), str::len)
}

/// Returns a line as a program of ours coloured it, with its colours alone: what the plain line has of escapes is shown, not
/// obeyed.
pub fn painted(plain: &str, coloured: &str) -> String {
    let (mut plain, mut coloured) = (plain, coloured);
    let mut out = String::with_capacity(coloured.len());
    while let Some(c) = coloured.chars().next() {
        let (sequences, after) = sequences(coloured);
        if sequences.is_empty() {
            out.push_str(&inert(c.encode_utf8(&mut [0; 4])));
            coloured = &coloured[c.len_utf8()..];
            plain = plain.get(c.len_utf8()..).unwrap_or_default();
            continue;
        }
        let (of_text, rest) = self::sequences(plain);
        let start = sequences.windows(of_text.len().max(1)).position(|some| some == of_text).unwrap_or(0);
        for (at, sequence) in sequences.into_iter().enumerate() {
            let is_of_text = (start..start + of_text.len()).contains(&at);
            out.push_str(&if is_of_text { inert(sequence) } else { sequence.to_owned() });
        }
        (coloured, plain) = (after, rest);
    }
    out
}

/// Returns the sequences that a text begins with, and the rest.
fn sequences(text: &str) -> (Vec<&str>, &str) {
    let (mut found, mut rest) = (Vec::new(), text);
    while let Some((_, after)) = sequence(rest) {
        found.push(&rest[..rest.len() - after.len()]);
        rest = after;
    }
    (found, rest)
}

/// Returns the parameters of the SGR sequence that `text` starts with, and what follows it.
fn sequence(text: &str) -> Option<(&str, &str)> {
    let body = text.strip_prefix("\x1b[")?;
    let length = body
        .bytes()
        .take(MAX_SEQUENCE_BYTES)
        .take_while(|byte| byte.is_ascii_digit() || matches!(byte, b';' | b':'))
        .count();
    let (parameters, after) = body.split_at(length);
    Some((parameters, after.strip_prefix('m')?))
}

/// Returns `style` as changed by the parameters of a sequence. Concealed and blinking text is shown as any other.
fn applied(mut style: Style, parameters: &str) -> Style {
    let mut codes = parameters.split(';');
    while let Some(code) = codes.next() {
        let mut parts = code.split(':');
        style = match number(parts.next()) {
            Some(0) => Style::new(),
            Some(1) => style.bold(),
            Some(2) => style.dimmed(),
            Some(3) => style.italic(),
            Some(4) if number(parts.next()) == Some(0) => without(style, Effects::UNDERLINE),
            Some(4 | 21) => style.underline(),
            Some(7) => style.invert(),
            Some(9) => style.strikethrough(),
            Some(22) => without(style, Effects::BOLD | Effects::DIMMED),
            Some(23) => without(style, Effects::ITALIC),
            Some(24) => without(style, Effects::UNDERLINE),
            Some(27) => without(style, Effects::INVERT),
            Some(29) => without(style, Effects::STRIKETHROUGH),
            Some(code @ (30..=39 | 48 | 90..=97)) => {
                if matches!(code, 38 | 48) && parts.next().is_none() {
                    // Which of more colours it is, `5;n` or `2;r;g;b`, is passed over.
                    let left = if number(codes.next()) == Some(5) { 0 } else { 2 };
                    codes.nth(left);
                }
                let colour = COLOURS[usize::from(code % 10)].map(Color::Ansi);
                if code == 48 { style } else { style.fg_color(colour) }
            }
            _ => style,
        };
    }
    style
}

fn without(style: Style, effects: Effects) -> Style {
    style.effects(style.get_effects().remove(effects))
}

/// Returns the number that is written; an empty one is 0, and one that is too big is `None`.
fn number(text: Option<&str>) -> Option<u8> {
    text.and_then(|text| if text.is_empty() { Some(0) } else { text.parse().ok() })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn color(color: AnsiColor) -> Style {
        color.on_default()
    }

    #[test]
    fn lines_are_folded_between_words_below_their_last_column() {
        for (line, width, expected) in [
            ("short", 10, "short"),
            (
                "error: cannot find the feature 001\nhint: run `specify ralph tasks` or name it",
                24,
                "error: cannot find the\n       feature 001\nhint: run\n      `specify ralph tasks`\n      or name it",
            ),
            ("cost       of all that was tried", 26, "cost       of all that was\n           tried"),
            ("  - one two three", 12, "  - one two\n    three"),
            ("\x1b[1mone two\x1b[0m three", 10, "\x1b[1mone two\x1b[0m\nthree"),
            ("https://example.org/a/long/path is here", 12, "https://example.org/a/long/path\nis here"),
            ("größe größe", 7, "größe\ngröße"),
        ] {
            assert_eq!(folded(line, width), expected, "{line}");
        }
    }

    #[test]
    fn colors_become_styles_and_every_other_escape_stays_text() {
        let plain = Style::new();
        for (text, expected) in [
            ("plain", vec![(plain, "plain")]),
            ("", vec![]),
            ("\x1b[31mred\x1b[0m!", vec![(color(AnsiColor::Red), "red"), (plain, "!")]),
            ("\x1b[1;92mok\x1b[22;39m.", vec![(color(AnsiColor::Green).bold(), "ok"), (plain, ".")]),
            ("\x1b[31;38;5;208mo\x1b[m", vec![(plain, "o")]),
            ("\x1b[38:2::1:2:3;4:3mx", vec![(plain.underline(), "x")]),
            ("\x1b[38;2;1;2;3;4mx", vec![(plain.underline(), "x")]),
            ("\x1b[48;5;4;32mx", vec![(color(AnsiColor::Green), "x")]),
            ("\x1b[30;47mhidden\x1b[37;40mtoo", vec![(plain, "hidden"), (plain, "too")]),
            ("\x1b[4:0;44mx", vec![(plain, "x")]),
            ("\x1b[38;5mx\x1b[38;5;999my\x1b[77;8;5mz", vec![(plain, "x"), (plain, "y"), (plain, "z")]),
            ("\x1b[2Ja\x1b[31", vec![(plain, "\x1b[2Ja\x1b[31")]),
            ("\x1b]0;t\x07\x1b[?25l\x1b[3", vec![(plain, "\x1b]0;t\x07\x1b[?25l\x1b[3")]),
            ("\x1b\x1b[33mw", vec![(plain, "\x1b"), (color(AnsiColor::Yellow), "w")]),
            ("\u{9b}31m", vec![(plain, "\u{9b}31m")]),
        ] {
            assert_eq!(spans(text).collect::<Vec<_>>(), expected, "{text:?}");
        }
        let long = format!("\x1b[{}mx", "1;".repeat(40));
        assert_eq!(spans(&long).collect::<Vec<_>>(), [(plain, &*long)]);
    }

    #[test]
    fn colours_of_ours_stay_and_what_a_file_has_is_shown() {
        for (plain, coloured, expected) in [
            ("+a", "\x1b[32m+\x1b[m\x1b[32ma\x1b[m", "\x1b[32m+\x1b[m\x1b[32ma\x1b[m"),
            (
                "+\x1b[31ma",
                "\x1b[32m+\x1b[m\x1b[32m\x1b[31ma\x1b[m",
                "\x1b[32m+\x1b[m\x1b[32m\u{241b}[31ma\x1b[m",
            ),
            // Its own sequence is one of ours.
            (
                "+\x1b[32ma",
                "\x1b[32m+\x1b[m\x1b[32m\x1b[32ma\x1b[m",
                "\x1b[32m+\x1b[m\u{241b}[32m\x1b[32ma\x1b[m",
            ),
            ("+a\x1b[8m", "\x1b[32m+a\x1b[8m\x1b[m", "\x1b[32m+a\u{241b}[8m\x1b[m"),
            ("+\x1b]0;t\x07", "+\x1b]0;t\x07", "+\u{241b}]0;t\u{2407}"),
            ("+a\r", "+a\x1b[41m\r\x1b[m", "+a\x1b[41m\u{240d}\x1b[m"),
            ("\x1b[2Jx", "\x1b[2Jx", "\u{241b}[2Jx"),
            ("", "\x1b[m", "\x1b[m"),
        ] {
            assert_eq!(painted(plain, coloured), expected, "{coloured:?}");
        }
    }

    proptest! {
        #[test]
        fn a_line_without_our_colours_has_no_escape(line in "(\x1b|\\[|m|;|[0-9]|a|é|\r){0,30}") {
            prop_assert!(!painted(&line, &line).contains('\x1b'));
        }

        #[test]
        fn nothing_but_colors_is_lost(text in "(\x1b|\\[|m|;|:|[0-9]|38;5;|38;2;|a|é|\n){0,30}") {
            let shown = without_colors(&text);
            let colors = regex::Regex::new("\x1b\\[[0-9;:]*m").unwrap();
            prop_assert_eq!(shown, colors.replace_all(&text, ""));
        }
    }
}
