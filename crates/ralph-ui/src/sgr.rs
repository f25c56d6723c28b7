//! The colours of terminals in recorded text: SGR sequences alone, and of colours the six that are readable on any
//! background. Every other escape stays text, for its reader to sanitize.

use std::borrow::Cow;

use anstyle::{AnsiColor, Color, Effects, Style};

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

    proptest! {
        #[test]
        fn nothing_but_colors_is_lost(text in "(\x1b|\\[|m|;|:|[0-9]|38;5;|38;2;|a|é|\n){0,30}") {
            let shown = without_colors(&text);
            let colors = regex::Regex::new("\x1b\\[[0-9;:]*m").unwrap();
            prop_assert_eq!(shown, colors.replace_all(&text, ""));
        }
    }
}
