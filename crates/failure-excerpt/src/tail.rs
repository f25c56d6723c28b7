//! The end of an output, without regard to what it says.

use super::clean;

/// Replaces the start of a truncated text.
pub const TRUNCATED: &str = "...[truncated]...";

/// Which of two streams were truncated at their start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Cut {
    /// Both are whole.
    #[default]
    Nothing,
    /// Only the end of stdout is there.
    Stdout,
    /// Only the end of stderr is there.
    Stderr,
    /// Only the ends of both are there.
    Both,
}

impl Cut {
    /// Returns the variant for two flags.
    pub fn of(is_stdout_cut: bool, is_stderr_cut: bool) -> Self {
        match (is_stdout_cut, is_stderr_cut) {
            (false, false) => Self::Nothing,
            (true, false) => Self::Stdout,
            (false, true) => Self::Stderr,
            (true, true) => Self::Both,
        }
    }

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

/// Returns the end of stdout, or of stderr where stdout is empty.
pub fn blind_tail(stdout: &str, stderr: &str, cut: Cut, max_chars: usize) -> String {
    let (text, front) = if stdout.is_empty() { (stderr, cut.stderr()) } else { (stdout, cut.stdout()) };
    tail(clean(text).trim(), max_chars, front)
}

/// Returns the ends of both streams within a number of characters: each may have half, and what the other leaves.
pub fn tails(stdout: &str, stderr: &str, cut: Cut, max_chars: usize) -> (String, String) {
    let (stdout, stderr) = (clean(stdout), clean(stderr));
    let (stdout, stderr) = (stdout.trim(), stderr.trim());
    let (of_stdout, of_stderr) = (stdout.chars().count(), stderr.chars().count());
    let for_stderr = of_stderr.min((max_chars / 2).max(max_chars.saturating_sub(of_stdout)));
    (tail(stdout, max_chars - for_stderr, cut.stdout()), tail(stderr, for_stderr, cut.stderr()))
}

/// Returns the last `max_chars` characters, marked where they are not all.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_blind_tail_looks_at_stderr_only_where_stdout_is_empty() {
        assert_eq!(blind_tail("0123", "err", Cut::Nothing, 2), "...[truncated]...\n23");
        assert_eq!(blind_tail("", "err", Cut::Nothing, 2), "...[truncated]...\nrr");
        assert_eq!(blind_tail("äöü", "", Cut::Nothing, 2), "...[truncated]...\nöü");
    }

    #[test]
    fn two_streams_share_the_room() {
        let both = |max| tails("0123456789", "abcdef", Cut::Nothing, max);
        let owned = |stdout: &str, stderr: &str| (stdout.to_owned(), stderr.to_owned());
        assert_eq!(both(16), owned("0123456789", "abcdef"));
        assert_eq!(both(14), owned("...[truncated]...\n23456789", "abcdef"));
        assert_eq!(both(4), owned("...[truncated]...\n89", "...[truncated]...\nef"));
        assert_eq!(both(0), owned("", ""));
        assert_eq!(tails("", "abcdef", Cut::Stderr, 9), owned("", "...[truncated]...\nabcdef"));
        assert_eq!(tails("0123", "", Cut::Nothing, 4), owned("0123", ""));
    }

    #[test]
    fn a_front_that_was_lost_earlier_is_marked_too() {
        assert_eq!(blind_tail("end", "all", Cut::Stdout, 100), "...[truncated]...\nend");
        assert_eq!(blind_tail("", "end", Cut::Both, 100), "...[truncated]...\nend");
        assert_eq!(blind_tail("all", "end", Cut::Stderr, 100), "all");
    }
}
