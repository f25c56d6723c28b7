//! The colours of terminals in recorded text: SGR sequences alone. Every other escape stays text, for its reader to sanitize.

use std::borrow::Cow;

use anstyle::{Ansi256Color, Color, Effects, RgbColor, Style};

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
            Some(code @ (30..=37 | 90..=97)) => style.fg_color(basic(code)),
            Some(code @ (40..=47 | 100..=107)) => style.bg_color(basic(code - 10)),
            Some(39) => style.fg_color(None),
            Some(49) => style.bg_color(None),
            Some(code @ (38 | 48)) => {
                let own: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
                let color =
                    if own.is_empty() { extended(&mut codes) } else { extended(&mut own.into_iter()) };
                match color {
                    Some(color) if code == 38 => style.fg_color(Some(color)),
                    Some(color) => style.bg_color(Some(color)),
                    None => style,
                }
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

/// Returns the color of a code of the eight, plain or bright.
fn basic(code: u8) -> Option<Color> {
    let index = if code >= 90 { code - 90 + 8 } else { code - 30 };
    Ansi256Color(index).into_ansi().map(Color::Ansi)
}

/// Returns one of 256 colors (`5;n`), or one of all (`2;r;g;b`).
fn extended<'a>(parts: &mut impl Iterator<Item = &'a str>) -> Option<Color> {
    match number(parts.next())? {
        5 => {
            let color = Ansi256Color(number(parts.next())?);
            Some(color.into_ansi().map_or(Color::Ansi256(color), Color::Ansi))
        }
        2 => {
            let (red, green, blue) = (number(parts.next())?, number(parts.next())?, number(parts.next())?);
            Some(Color::Rgb(RgbColor(red, green, blue)))
        }
        _ => None,
    }
}

/// Returns a color as red, green and blue.
pub fn rgb(color: Color) -> RgbColor {
    let index = match color {
        Color::Rgb(color) => return color,
        Color::Ansi(color) => Ansi256Color::from_ansi(color).index(),
        Color::Ansi256(color) => color.index(),
    };
    match index {
        0..=15 => {
            let level = if index >= 8 { 255 } else { 170 };
            let [red, green, blue] = [1, 2, 4].map(|bit| if index & bit == 0 { 0 } else { level });
            if index == 8 { RgbColor(85, 85, 85) } else { RgbColor(red, green, blue) }
        }
        16..=231 => {
            let cube = index - 16;
            let [red, green, blue] =
                [cube / 36, cube / 6 % 6, cube % 6].map(|step| if step == 0 { 0 } else { 55 + 40 * step });
            RgbColor(red, green, blue)
        }
        232..=255 => {
            let level = 8 + 10 * (index - 232);
            RgbColor(level, level, level)
        }
    }
}

#[cfg(test)]
mod tests {
    use anstyle::AnsiColor;
    use proptest::prelude::*;

    use super::*;

    fn color(color: AnsiColor) -> Style {
        color.on_default()
    }

    #[test]
    fn colors_become_styles_and_every_other_escape_stays_text() {
        let plain = Style::new();
        let orange = Ansi256Color(208);
        for (text, expected) in [
            ("plain", vec![(plain, "plain")]),
            ("", vec![]),
            ("\x1b[31mred\x1b[0m!", vec![(color(AnsiColor::Red), "red"), (plain, "!")]),
            ("\x1b[1;92mok\x1b[22;39m.", vec![(color(AnsiColor::BrightGreen).bold(), "ok"), (plain, ".")]),
            ("\x1b[38;5;208mo\x1b[m", vec![(orange.on_default(), "o")]),
            ("\x1b[38;5;9mo", vec![(color(AnsiColor::BrightRed), "o")]),
            ("\x1b[38:2::1:2:3;4:3mx", vec![(RgbColor(1, 2, 3).on_default().underline(), "x")]),
            ("\x1b[38;2;1;2;3;4mx", vec![(RgbColor(1, 2, 3).on_default().underline(), "x")]),
            ("\x1b[4:0;44mx", vec![(plain.bg_color(Some(AnsiColor::Blue.into())), "x")]),
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
    fn every_color_has_its_red_green_and_blue() {
        for (index, expected) in [
            (1, (170, 0, 0)),
            (12, (0, 0, 255)),
            (8, (85, 85, 85)),
            (16, (0, 0, 0)),
            (208, (255, 135, 0)),
            (231, (255, 255, 255)),
            (244, (128, 128, 128)),
        ] {
            let RgbColor(red, green, blue) = rgb(Ansi256Color(index).into());
            assert_eq!((red, green, blue), expected, "{index}");
        }
        assert_eq!(rgb(AnsiColor::Green.into()), RgbColor(0, 170, 0));
        assert_eq!(rgb(RgbColor(1, 2, 3).into()), RgbColor(1, 2, 3));
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
