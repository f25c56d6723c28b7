//! What a merge leaves in a file that it could not merge.

use std::fmt;

/// A line with a conflict marker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// From 1.
    pub line: usize,
    /// The line.
    pub marker: String,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} is a conflict marker: `{}`", self.line, self.marker)
    }
}

/// Returns the first conflict marker of `text`, outside of code. `front` is what is before it in the file.
pub(super) fn find(text: &str, front: &str) -> Option<Conflict> {
    /// Longest marker that is shown, in characters.
    const MAX_MARKER_CHARS: usize = 60;
    let mut fence: Option<&str> = None;
    for (index, line) in text.lines().enumerate() {
        let bare = line.trim_start();
        let runs = ['`', '~'].map(|sign| &bare[..bare.len() - bare.trim_start_matches(sign).len()]);
        let opening = runs.into_iter().find(|run| run.len() >= 3);
        match (fence, opening) {
            (None, Some(opening)) => fence = Some(opening),
            (Some(open), Some(run)) if run.starts_with(open) && bare.trim_end() == run => fence = None,
            (None, None) if is_marker(line) => {
                let marker = line.chars().take(MAX_MARKER_CHARS).collect();
                return Some(Conflict { line: front.lines().count() + index + 1, marker });
            }
            _ => {}
        }
    }
    None
}

/// `=======` alone also underlines a heading.
fn is_marker(line: &str) -> bool {
    ["<<<<<<<", "|||||||", ">>>>>>>"].iter().any(|marker| {
        line.strip_prefix(marker).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\r']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_found_where_they_are_no_code() {
        for (text, line) in [
            ("# T\n<<<<<<< HEAD\n- [ ] a\n=======\n- [x] a\n>>>>>>> b\n", Some(2)),
            ("- [ ] a\n>>>>>>> b\n", Some(2)),
            ("- [ ] a\n||||||| base\n", Some(2)),
            ("```\n<<<<<<< HEAD\n```\n", None),
            ("```\n<<<<<<< HEAD\n```\n<<<<<<< HEAD\n", Some(4)),
            ("~~~~\n~~~\n<<<<<<< HEAD\n~~~~\n", None),
            ("Title\n=======\n", None),
            ("<<<<<<<<<< b\n <<<<<<< HEAD\n<<<<<<<b\n", None),
            ("", None),
        ] {
            assert_eq!(find(text, "").map(|found| found.line), line, "{text}");
        }
        assert_eq!(find("\n<<<<<<< a", "---\na: b\n---\n").unwrap().line, 5);
    }
}
