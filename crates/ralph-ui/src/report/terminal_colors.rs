//! The colours of terminals as classes of ours: every other escape stays a visible sign.

use anstyle::{Color, Effects, RgbColor, Style};

use crate::sgr::{rgb, spans};

use super::harmless::escape;

/// Channels that differ by less make a grey.
const MAX_GREY_DIFFERENCE: u8 = 40;
/// Greys between these are weaker than the text; others are black or white, which a page has as its own.
const SOFT_GREYS: std::ops::Range<u8> = 65..170;

/// Returns true if a text has colours, as what is written for a terminal.
pub(super) fn has_colors(text: &str) -> bool {
    text.contains("\x1b[") && spans(text).any(|(style, _)| !style.is_plain())
}

/// The markup of `text`: what is in a colour stands in a span with classes.
pub(super) fn colored(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    for (style, span) in spans(text) {
        let classes = classes(style);
        if classes.is_empty() {
            out.push_str(&escape(span));
        } else {
            out.push_str(&format!("<span class=\"{}\">{}</span>", classes.join(" "), escape(span)));
        }
    }
    out
}

/// Foregrounds are `f0` to `f11` by hue, backgrounds `g0` to `g11`, greys `fs` and `gs`, `gi` is text in reverse.
fn classes(style: Style) -> Vec<String> {
    let effects = style.get_effects();
    let (mut front, mut back) = (style.get_fg_color().map(tone), style.get_bg_color().map(tone));
    let is_inverse = effects.contains(Effects::INVERT);
    if is_inverse {
        (front, back) = (back, Some(front.unwrap_or(Tone::Plain)));
    }
    if front.is_none() && effects.contains(Effects::DIMMED) {
        front = Some(Tone::Soft);
    }
    let kept = [
        (Effects::BOLD, "tb"),
        (Effects::ITALIC, "ti"),
        (Effects::UNDERLINE, "tu"),
        (Effects::STRIKETHROUGH, "ts"),
    ];
    let kept = kept.into_iter().filter(|(effect, _)| effects.contains(*effect));
    let back = match back {
        Some(Tone::Plain) if is_inverse => Some("gi".to_owned()),
        back => back.and_then(|tone| class('g', tone)),
    };
    // On text in reverse no other colour can be read.
    let front = front.filter(|_| back.as_deref() != Some("gi")).and_then(|tone| class('f', tone));
    front.into_iter().chain(back).chain(kept.map(|(_, class)| class.to_owned())).collect()
}

fn class(prefix: char, tone: Tone) -> Option<String> {
    match tone {
        Tone::Plain => None,
        Tone::Soft => Some(format!("{prefix}s")),
        Tone::Hue(hue) => Some(format!("{prefix}{hue}")),
    }
}

#[derive(Clone, Copy)]
enum Tone {
    Plain,
    Soft,
    /// In steps of 30 degrees from red.
    Hue(i32),
}

/// How light it is, is the page's affair: each theme has a lightness at which all hues can be read.
fn tone(color: Color) -> Tone {
    let RgbColor(red, green, blue) = rgb(color);
    let (most, least) = (red.max(green).max(blue), red.min(green).min(blue));
    if most - least < MAX_GREY_DIFFERENCE {
        return if SOFT_GREYS.contains(&most) { Tone::Soft } else { Tone::Plain };
    }
    let (start, one, other) = if most == red {
        (0, green, blue)
    } else if most == green {
        (120, blue, red)
    } else {
        (240, red, green)
    };
    let degrees = start + (i32::from(one) - i32::from(other)) * 60 / i32::from(most - least);
    Tone::Hue((degrees + 360 + 15) % 360 / 30)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn colors_are_classes_and_everything_else_stays_text() {
        for (text, expected) in [
            ("a < b", "a &lt; b"),
            ("\x1b[31m<red>\x1b[0m!", "<span class=\"f0\">&lt;red&gt;</span>!"),
            ("\x1b[1;92mok\x1b[m", "<span class=\"f4 tb\">ok</span>"),
            ("\x1b[90mdim\x1b[39;2mtoo", "<span class=\"fs\">dim</span><span class=\"fs\">too</span>"),
            ("\x1b[37mwhite\x1b[30mblack", "whiteblack"),
            (
                "\x1b[38;5;208mo\x1b[38;2;255;0;128mr",
                "<span class=\"f1\">o</span><span class=\"f11\">r</span>",
            ),
            ("\x1b[33;44mx", "<span class=\"f2 g8\">x</span>"),
            ("\x1b[7mx\x1b[31my", "<span class=\"gi\">x</span><span class=\"g0\">y</span>"),
            ("\x1b[3;4;9mx", "<span class=\"ti tu ts\">x</span>"),
            ("\x1b[2J\x1b[31", "\u{241b}[2J\u{241b}[31"),
        ] {
            assert_eq!(colored(text), expected, "{text:?}");
        }
        assert!(has_colors("\x1b[31mx") && !has_colors("\x1b[2Jx\x1b[0m"));
    }

    proptest! {
        #[test]
        fn nothing_but_spans_of_ours_is_markup(text in "(\x1b\\[[0-9;]{0,9}m|\x1b|<|>|\"|&|38;2;|[0-9]|\n){0,30}") {
            let html = colored(&text);
            let spans = regex::Regex::new("<span class=\"[a-z0-9 ]+\">|</span>").unwrap();
            let rest = spans.replace_all(&html, "");
            prop_assert!(!rest.contains(['<', '>', '"', '\x1b']), "{}", html);
            prop_assert_eq!(html.matches("<span ").count(), html.matches("</span>").count());
        }
    }
}
