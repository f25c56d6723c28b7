//! The part of an output that goes into prompts and journals.

use std::iter::Peekable;
use std::str::Chars;

/// Stands where something in front was left out.
pub const TRUNCATED: &str = "...[truncated]...";

/// Which of two streams lost its front before it came here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Cut {
    #[default]
    Nothing,
    Stdout,
    Stderr,
    Both,
}

impl Cut {
    fn stdout(self) -> Front {
        if matches!(self, Self::Stdout | Self::Both) { Front::Lost } else { Front::Whole }
    }

    fn stderr(self) -> Front {
        if matches!(self, Self::Stderr | Self::Both) { Front::Lost } else { Front::Whole }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Front {
    Whole,
    Lost,
}

/// The tail of stdout, then of stderr: half of `max_chars` each, unused room to the other.
pub fn excerpt(stdout: &str, stderr: &str, max_chars: usize) -> String {
    excerpt_of(stdout, stderr, Cut::Nothing, max_chars)
}

/// An excerpt of streams of which only the end is known.
pub fn excerpt_of(stdout: &str, stderr: &str, cut: Cut, max_chars: usize) -> String {
    let (stdout, stderr) = (clean(stdout), clean(stderr));
    let (stdout, stderr) = (stdout.trim(), stderr.trim());
    let half = max_chars / 2;
    let (out_chars, err_chars) = (stdout.chars().count(), stderr.chars().count());
    let for_err = err_chars.min((max_chars - half).max(max_chars.saturating_sub(out_chars)));
    let for_out = out_chars.min(max_chars - for_err);
    [tail(stdout, for_out, cut.stdout()), tail(stderr, for_err, cut.stderr())]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("\n")
}

/// The end of stdout, or of stderr where stdout is empty.
pub fn blind_tail(stdout: &str, stderr: &str, cut: Cut, max_chars: usize) -> String {
    let (text, front) = if stdout.is_empty() { (stderr, cut.stderr()) } else { (stdout, cut.stdout()) };
    tail(clean(text).trim(), max_chars, front)
}

/// The last `max_chars` characters, marked where they are not all.
fn tail(text: &str, max_chars: usize, front: Front) -> String {
    if text.is_empty() || max_chars == 0 {
        return String::new();
    }
    let start = text.char_indices().rev().nth(max_chars - 1).map_or(0, |(at, _)| at);
    if start == 0 && front == Front::Whole {
        return text.to_owned();
    }
    format!("{TRUNCATED}\n{}", text[start..].trim())
}

/// `text` without the escape sequences of terminals and without control characters, each line ended by `\n`.
pub fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_escape(&mut chars),
            '\r' => {
                // A lone one begins the line anew, as progress bars do.
                if chars.peek() != Some(&'\n') {
                    clean.push('\n');
                }
            }
            '\n' | '\t' => clean.push(c),
            c if c.is_control() => {}
            c => clean.push(c),
        }
    }
    clean
}

/// Goes over an escape sequence whose first character was read, but never over a line end.
fn skip_escape(chars: &mut Peekable<Chars<'_>>) {
    let is_end = |c: &char| *c == '\n' || *c == '\r';
    match chars.next_if(|c| !is_end(c)) {
        Some('[') => {
            while chars.next_if(|c| matches!(c, ' '..='?')).is_some() {}
            chars.next_if(|c| matches!(c, '@'..='~'));
        }
        Some(']' | 'P' | '^' | '_' | 'X') => {
            while let Some(c) = chars.next_if(|c| !is_end(c)) {
                if c == '\u{7}' {
                    return;
                }
                if c == '\u{1b}' {
                    chars.next_if(|c| *c == '\\');
                    return;
                }
            }
        }
        Some(' '..='/') => {
            chars.next_if(|c| !is_end(c));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn both_streams_share_the_room() {
        for (stdout, stderr, max, expected) in [
            ("", "", 10, ""),
            ("out", "err", 10, "out\nerr"),
            ("0123456789", "", 4, "...[truncated]...\n6789"),
            ("", "0123456789", 4, "...[truncated]...\n6789"),
            ("0123456789", "abcdefghij", 4, "...[truncated]...\n89\n...[truncated]...\nij"),
            ("0123456789", "x", 4, "...[truncated]...\n789\nx"),
            ("x", "abcdefghij", 4, "x\n...[truncated]...\nhij"),
            ("0123456789", "abcdefghij", 5, "...[truncated]...\n89\n...[truncated]...\nhij"),
            ("out", "err", 0, ""),
            ("  \n", "\u{1b}[0m", 9, ""),
        ] {
            assert_eq!(excerpt(stdout, stderr, max), expected, "{stdout:?} {stderr:?} {max}");
        }
    }

    #[test]
    fn a_front_that_was_lost_earlier_is_marked_too() {
        assert_eq!(excerpt_of("end", "all", Cut::Stdout, 100), "...[truncated]...\nend\nall");
        assert_eq!(excerpt_of("all", "end", Cut::Stderr, 100), "all\n...[truncated]...\nend");
    }

    #[test]
    fn the_blind_tail_looks_at_stderr_only_where_stdout_is_empty() {
        assert_eq!(blind_tail("0123", "err", Cut::Nothing, 2), "...[truncated]...\n23");
        assert_eq!(blind_tail("", "err", Cut::Nothing, 2), "...[truncated]...\nrr");
        assert_eq!(blind_tail("äöü", "", Cut::Nothing, 2), "...[truncated]...\nöü");
    }

    #[test]
    fn escapes_and_control_characters_go() {
        for (text, expected) in [
            ("\u{1b}[1;31merror\u{1b}[0m: x", "error: x"),
            ("\u{1b}]8;;http://a\u{7}link\u{1b}]8;;\u{1b}\\ b", "link b"),
            ("\u{1b}]never ends\nnext", "\nnext"),
            ("\u{1b}(Bplain\u{1b}=", "plain"),
            ("a\r\nb\rc\u{0}\u{7}\u{8}\td\u{9b}", "a\nb\nc\td"),
            ("\u{1b}", ""),
            ("\u{1b}[31", ""),
            ("\u{1b}[31é", "é"),
        ] {
            assert_eq!(clean(text), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn nothing_dangerous_is_left_and_nothing_is_too_long(stdout in ".{0,80}", stderr in "\\PC{0,80}", max in 0_usize..60) {
            let text = excerpt(&stdout, &stderr, max);
            prop_assert!(!text.contains(|c: char| c.is_control() && c != '\n' && c != '\t'));
            prop_assert!(text.chars().count() <= max + 2 * (TRUNCATED.len() + 1) + 1);
        }
    }
}
