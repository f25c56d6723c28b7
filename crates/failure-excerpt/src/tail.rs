//! The end of an output, without regard to what it says.

use super::clean;

/// Replaces the start of a truncated text.
pub const TRUNCATED: &str = "...[truncated]...";

/// Which of two streams were truncated at their start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cut {
    /// True if only the end of stdout is there.
    pub stdout: bool,
    /// True if only the end of stderr is there.
    pub stderr: bool,
}

/// Returns the end of stdout, or of stderr where stdout is empty.
pub fn blind_tail(stdout: &str, stderr: &str, cut: Cut, max_chars: usize) -> String {
    let (text, is_cut) = if stdout.is_empty() { (stderr, cut.stderr) } else { (stdout, cut.stdout) };
    tail(clean(text).trim(), max_chars, is_cut)
}

/// Returns the ends of both streams within a number of characters: each may have half, and what the other leaves.
pub fn tails(stdout: &str, stderr: &str, cut: Cut, max_chars: usize) -> (String, String) {
    let (stdout, stderr) = (clean(stdout), clean(stderr));
    let (stdout, stderr) = (stdout.trim(), stderr.trim());
    let (of_stdout, of_stderr) = (stdout.chars().count(), stderr.chars().count());
    let for_stderr = of_stderr.min((max_chars / 2).max(max_chars.saturating_sub(of_stdout)));
    (tail(stdout, max_chars - for_stderr, cut.stdout), tail(stderr, for_stderr, cut.stderr))
}

/// Returns the last `max_chars` characters, marked where they are not all.
fn tail(text: &str, max_chars: usize, is_cut: bool) -> String {
    if text.is_empty() || max_chars == 0 {
        return String::new();
    }
    let start = text.char_indices().rev().nth(max_chars - 1).map_or(0, |(at, _)| at);
    if start == 0 && !is_cut {
        return text.to_owned();
    }
    format!("{TRUNCATED}\n{}", text[start..].trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_blind_tail_looks_at_stderr_only_where_stdout_is_empty() {
        assert_eq!(blind_tail("0123", "err", Cut::default(), 2), "...[truncated]...\n23");
        assert_eq!(blind_tail("", "err", Cut::default(), 2), "...[truncated]...\nrr");
        assert_eq!(blind_tail("äöü", "", Cut::default(), 2), "...[truncated]...\nöü");
    }

    #[test]
    fn two_streams_share_the_room() {
        let both = |max| tails("0123456789", "abcdef", Cut::default(), max);
        let owned = |stdout: &str, stderr: &str| (stdout.to_owned(), stderr.to_owned());
        assert_eq!(both(16), owned("0123456789", "abcdef"));
        assert_eq!(both(14), owned("...[truncated]...\n23456789", "abcdef"));
        assert_eq!(both(4), owned("...[truncated]...\n89", "...[truncated]...\nef"));
        assert_eq!(both(0), owned("", ""));
        assert_eq!(
            tails("", "abcdef", Cut { stdout: false, stderr: true }, 9),
            owned("", "...[truncated]...\nabcdef")
        );
        assert_eq!(tails("0123", "", Cut::default(), 4), owned("0123", ""));
    }

    #[test]
    fn a_front_that_was_lost_earlier_is_marked_too() {
        assert_eq!(
            blind_tail("end", "all", Cut { stdout: true, stderr: false }, 100),
            "...[truncated]...\nend"
        );
        assert_eq!(blind_tail("", "end", Cut { stdout: true, stderr: true }, 100), "...[truncated]...\nend");
        assert_eq!(blind_tail("all", "end", Cut { stdout: false, stderr: true }, 100), "all");
    }
}
