//! Renders terminal output as plain text.

use std::str::Chars;

/// Maximum number of lines that the cursor can move up.
const MAX_CURSOR_UP_LINES: usize = 200;

/// Returns `text` as a terminal of unlimited width would show it: without escape sequences, control characters and
/// overwritten text, with `\n` as the only line ending.
pub fn clean(text: &str) -> String {
    let mut screen =
        Screen { text: String::with_capacity(text.len()), line_start: 0, lines_up: 0, at_line_start: false };
    let mut rest = text;
    while !rest.is_empty() {
        let plain = rest.bytes().position(is_special).unwrap_or(rest.len());
        screen.put_all(&rest[..plain]);
        let mut chars = rest[plain..].chars();
        match chars.next() {
            Some('\u{1b}') => screen.handle_escape(&mut chars),
            Some('\r') if chars.as_str().starts_with('\n') => {}
            Some('\r') => screen.at_line_start = true,
            Some('\u{8}') => screen.backspace(),
            Some(c) if !c.is_control() => screen.put(c),
            Some(_) | None => {}
        }
        rest = chars.as_str();
    }
    screen.text
}

/// Returns `text` without escape sequences: colours, links, titles. All else stays as it is.
pub fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            sequence(&mut chars);
        } else {
            plain.push(c);
        }
    }
    plain
}

/// Reads the rest of an escape sequence after ESC. One that is broken off ends where it cannot go on, before a line end at the
/// latest. Returns the last character of a control sequence and its number.
fn sequence(chars: &mut Chars<'_>) -> Option<(char, usize)> {
    match next_if(chars, |c| matches!(c, ' '..='~'))? {
        '[' => {
            // The digits of all parameters run together: only sequences with one parameter matter here.
            let mut number = 0_usize;
            while let Some(c) = next_if(chars, |c| matches!(c, ' '..='?')) {
                number = c.to_digit(10).map_or(number, |digit| (number * 10 + digit as usize).min(9999));
            }
            return Some((next_if(chars, |c| matches!(c, '@'..='~'))?, number));
        }
        ']' | 'P' | '^' | '_' | 'X' => {
            while let Some(c) = next_if(chars, |c| !matches!(c, '\n' | '\r')) {
                if c == '\u{7}' {
                    break;
                }
                if c == '\u{1b}' {
                    next_if(chars, |c| c == '\\');
                    break;
                }
            }
        }
        ' '..='/' => {
            while next_if(chars, |c| matches!(c, ' '..='/')).is_some() {}
            next_if(chars, |c| matches!(c, '0'..='~'));
        }
        _ => {}
    }
    None
}

/// Returns true for bytes that may begin something other than plain text.
fn is_special(byte: u8) -> bool {
    // 0xc2 is the lead byte of the C1 controls, U+0080 to U+009F.
    matches!(byte, 0..=8 | 11..=31 | 127 | 0xc2)
}

/// Takes the next character if `is_wanted` holds for it.
fn next_if(chars: &mut Chars<'_>, is_wanted: impl Fn(char) -> bool) -> Option<char> {
    let mut ahead = chars.clone();
    let next = ahead.next().filter(|c| is_wanted(*c))?;
    *chars = ahead;
    Some(next)
}

struct Screen {
    text: String,
    /// The byte offset at which the last line begins.
    line_start: usize,
    /// The number of lines that the cursor is above the last one.
    lines_up: usize,
    /// True after a carriage return: the next character overwrites the line.
    at_line_start: bool,
}

impl Screen {
    fn put(&mut self, c: char) {
        if self.lines_up > 0 {
            self.drop_lines();
        }
        if self.at_line_start {
            self.text.truncate(self.line_start);
            self.at_line_start = false;
        }
        self.text.push(c);
    }

    /// Puts text that has no control characters except tabs and newlines.
    fn put_all(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            if self.lines_up == 0 && !self.at_line_start {
                self.text.push_str(rest);
                self.line_start =
                    rest.rfind('\n').map_or(self.line_start, |at| self.text.len() - rest.len() + at + 1);
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
        self.at_line_start = false;
        if self.lines_up > 0 {
            self.lines_up -= 1;
            return;
        }
        self.text.push('\n');
        self.line_start = self.text.len();
    }

    fn backspace(&mut self) {
        if self.lines_up == 0 && self.text.len() > self.line_start {
            self.text.pop();
        }
    }

    /// Removes the lines that the cursor moved up over: a program that redraws one line redraws those below it.
    fn drop_lines(&mut self) {
        for _ in 0..std::mem::take(&mut self.lines_up) {
            if self.line_start == 0 {
                break;
            }
            self.text.truncate(self.line_start - 1);
            self.line_start = self.text.rfind('\n').map_or(0, |at| at + 1);
        }
        self.at_line_start = true;
    }

    /// Handles the rest of an escape sequence after ESC.
    fn handle_escape(&mut self, chars: &mut Chars<'_>) {
        match sequence(chars) {
            // CHA to column 1, or CUB over more than a usual width, goes back to the start of the line, and EL 2 erases it.
            Some(('G', ..=1) | ('D', 80..) | ('K', 2)) => self.at_line_start = true,
            // CHA and CUF move right: a space replaces the gap.
            Some(('G' | 'C', _)) if !self.at_line_start && self.lines_up == 0 => self.put(' '),
            // CUU and CUD move up and down.
            Some(('A', number)) => self.lines_up = (self.lines_up + number.max(1)).min(MAX_CURSOR_UP_LINES),
            Some(('B', number)) => self.lines_up = self.lines_up.saturating_sub(number.max(1)),
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
    fn escape_sequences_go_and_all_else_stays() {
        for (text, expected) in [
            ("\u{1b}[1;31merror\u{1b}[0m: x", "error: x"),
            ("\u{1b}]8;;http://a\u{7}link\u{1b}]8;;\u{1b}\\ b", "link b"),
            ("\u{1b}]never ends\nnext", "\nnext"),
            ("\u{1b}(Bplain\u{1b}=", "plain"),
            ("\u{1b}[31é", "é"),
            ("a\tb\rc\u{1b}", "a\tb\rc"),
        ] {
            assert_eq!(without_escapes(text), expected, "{text:?}");
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
