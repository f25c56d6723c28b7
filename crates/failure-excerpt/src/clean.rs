//! What a terminal would show in the end: escape sequences obeyed or dropped, overwritten lines gone.

use std::str::Chars;

/// How far up a program can move to overwrite lines of its own.
const MAX_CURSOR_UP_LINES: usize = 200;

/// `text` as it would be on a terminal of endless width: without escape sequences and control characters, each
/// line ended by `\n`. What was overwritten is gone.
pub fn clean(text: &str) -> String {
    let mut screen = Screen { text: String::with_capacity(text.len()), line: 0, up: 0, is_back: false };
    let mut rest = text;
    while !rest.is_empty() {
        let plain = rest.bytes().position(is_special).unwrap_or(rest.len());
        screen.put_all(&rest[..plain]);
        let mut chars = rest[plain..].chars();
        match chars.next() {
            Some('\u{1b}') => screen.escape(&mut chars),
            Some('\r') if chars.as_str().starts_with('\n') => {}
            Some('\r') => screen.is_back = true,
            Some('\u{8}') => screen.erase_one(),
            Some(c) if !c.is_control() => screen.put(c),
            Some(_) | None => {}
        }
        rest = chars.as_str();
    }
    screen.text
}

/// Bytes that may begin something other than plain text.
fn is_special(byte: u8) -> bool {
    // 0xc2 begins the second block of control characters.
    matches!(byte, 0..=8 | 11..=31 | 127 | 0xc2)
}

/// Returns the next character, where it is one of these.
fn next_if(chars: &mut Chars<'_>, is_wanted: impl Fn(char) -> bool) -> Option<char> {
    let mut ahead = chars.clone();
    let next = ahead.next().filter(|c| is_wanted(*c))?;
    *chars = ahead;
    Some(next)
}

struct Screen {
    text: String,
    /// Where the last line begins.
    line: usize,
    /// How many lines above the last one the cursor is.
    up: usize,
    /// Whether the cursor went back to the first column, so that the next character begins the line anew.
    is_back: bool,
}

impl Screen {
    fn put(&mut self, c: char) {
        if self.up > 0 {
            self.drop_lines();
        }
        if self.is_back {
            self.text.truncate(self.line);
            self.is_back = false;
        }
        self.text.push(c);
    }

    /// Puts text without control characters, but for tabs and line ends.
    fn put_all(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            if self.up == 0 && !self.is_back {
                self.text.push_str(rest);
                self.line = rest.rfind('\n').map_or(self.line, |at| self.text.len() - rest.len() + at + 1);
                return;
            }
            let mut chars = rest.chars();
            match chars.next() {
                Some('\n') => self.end_line(),
                Some(c) => self.put(c),
                None => {}
            }
            rest = chars.as_str();
        }
    }

    fn end_line(&mut self) {
        self.is_back = false;
        if self.up > 0 {
            self.up -= 1;
            return;
        }
        self.text.push('\n');
        self.line = self.text.len();
    }

    fn erase_one(&mut self) {
        if self.up == 0 && self.text.len() > self.line {
            self.text.pop();
        }
    }

    /// Drops the lines that the cursor moved up over: what redraws one line of its own redraws those below too.
    fn drop_lines(&mut self) {
        for _ in 0..std::mem::take(&mut self.up) {
            if self.line == 0 {
                break;
            }
            self.text.truncate(self.line - 1);
            self.line = self.text.rfind('\n').map_or(0, |at| at + 1);
        }
        self.is_back = true;
    }

    /// Obeys an escape sequence whose first character was read. It never goes over a line end.
    fn escape(&mut self, chars: &mut Chars<'_>) {
        let is_end = |c: char| c == '\n' || c == '\r';
        match next_if(chars, |c| !is_end(c)) {
            Some('[') => {
                let mut number = 0_usize;
                while let Some(c) = next_if(chars, |c| matches!(c, ' '..='?')) {
                    number = c.to_digit(10).map_or(number, |digit| (number * 10 + digit as usize).min(9999));
                }
                match next_if(chars, |c| matches!(c, '@'..='~')) {
                    Some('G') if number <= 1 => self.is_back = true,
                    Some('D') if number >= 80 => self.is_back = true,
                    Some('G' | 'C') if !self.is_back && self.up == 0 => self.put(' '),
                    Some('K') if number == 2 => self.is_back = true,
                    Some('A') => self.up = (self.up + number.max(1)).min(MAX_CURSOR_UP_LINES),
                    Some('B') => self.up = self.up.saturating_sub(number.max(1)),
                    _ => {}
                }
            }
            Some(']' | 'P' | '^' | '_' | 'X') => {
                while let Some(c) = next_if(chars, |c| !is_end(c)) {
                    if c == '\u{7}' {
                        return;
                    }
                    if c == '\u{1b}' {
                        next_if(chars, |c| c == '\\');
                        return;
                    }
                }
            }
            Some(' '..='/') => {
                next_if(chars, |c| !is_end(c));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn escapes_and_control_characters_go() {
        for (text, expected) in [
            ("\u{1b}[1;31merror\u{1b}[0m: x", "error: x"),
            ("\u{1b}]8;;http://a\u{7}link\u{1b}]8;;\u{1b}\\ b", "link b"),
            ("\u{1b}]never ends\nnext", "\nnext"),
            ("\u{1b}(Bplain\u{1b}=", "plain"),
            ("a\r\nb\u{0}\u{7}\td\u{9b}", "a\nb\td"),
            ("\u{1b}", ""),
            ("\u{1b}[31", ""),
            ("\u{1b}[31é", "é"),
        ] {
            assert_eq!(clean(text), expected, "{text:?}");
        }
    }

    #[test]
    fn what_was_written_over_is_gone() {
        for (text, expected) in [
            ("10%\r50%\rdone", "done"),
            ("kept\r\r\nnext", "kept\nnext"),
            ("kept\r", "kept"),
            ("name  1/3\u{1b}[1G ok name\u{1b}[K", " ok name"),
            ("aX\u{8}b", "ab"),
            ("head\nbar 1\nbar 2\n\u{1b}[2Abar 3\nbar 4\n", "head\nbar 3\nbar 4\n"),
            ("a\n\u{1b}[1A\u{1b}[1Bb", "a\nb"),
            ("a\u{1b}[9999999999999A\u{1b}[2Kb", "b"),
            ("label\u{1b}[77Gvalue", "label value"),
        ] {
            assert_eq!(clean(text), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn nothing_dangerous_is_left(text in "([a\n\r\t\u{8}\u{0}]|\u{1b}\\[[0-9;]{0,3}[A-K]|\u{1b}.|.){0,60}") {
            let cleaned = clean(&text);
            prop_assert!(!cleaned.contains(|c: char| c.is_control() && c != '\n' && c != '\t'));
            prop_assert!(cleaned.len() <= text.len());
            prop_assert_eq!(clean(&cleaned), cleaned.clone());
        }
    }
}
