//! Words of programs without what steers a terminal.

use std::iter::Peekable;
use std::str::Chars;

/// `text` without escape sequences: colours, links, titles.
pub fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip(&mut chars),
            c => plain.push(c),
        }
    }
    plain
}

/// Skips what belongs to an escape character. A sequence that is broken off ends if it cannot go on.
fn skip(chars: &mut Peekable<Chars<'_>>) {
    match chars.next_if(|c| matches!(c, ' '..='~')) {
        Some('[') => {
            while chars.next_if(|c| matches!(c, ' '..='?')).is_some() {}
            chars.next_if(|c| matches!(c, '@'..='~'));
        }
        Some(']' | 'P' | '^' | '_' | 'X') => {
            while let Some(c) = chars.next_if(|c| !matches!(c, '\n' | '\r')) {
                if c == '\u{7}' {
                    return;
                }
                if c == '\u{1b}' {
                    chars.next_if_eq(&'\\');
                    return;
                }
            }
        }
        Some(' '..='/') => {
            while chars.next_if(|c| matches!(c, ' '..='/')).is_some() {}
            chars.next_if(|c| matches!(c, '0'..='~'));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_go_and_words_stay() {
        for (text, expected) in [
            ("\u{1b}[1;31merror\u{1b}[0m: x", "error: x"),
            ("\u{1b}]8;;http://a\u{7}link\u{1b}]8;;\u{1b}\\ b", "link b"),
            ("\u{1b}]never ends\nnext", "\nnext"),
            ("\u{1b}(Bplain\u{1b}=", "plain"),
            ("\u{1b}[31é", "é"),
            ("a\tb\u{1b}", "a\tb"),
        ] {
            assert_eq!(without_escapes(text), expected, "{text:?}");
        }
    }
}
