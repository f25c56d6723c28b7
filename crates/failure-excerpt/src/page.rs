//! The lines of both streams: plain text, with paths relative to the project.

use std::sync::OnceLock;

use super::reports::Counted;
use super::words::is_digits;
use super::{clean, reports};

/// Maximum length of a line, in bytes; longer lines are truncated in the middle.
const MAX_LINE_BYTES: usize = 4096;
/// Maximum length of a stream, in bytes; longer streams are truncated in the middle.
const MAX_STREAM_BYTES: usize = 4 << 20;

/// Maximum number of lines of one failure.
const MAX_BLOCK_LINES: usize = 1500;

/// Maximum number of lines that are searched backwards for the start of a test. Large, because a test may print much.
pub(super) const MAX_LOOKBACK_LINES: usize = 400;

/// The lines of an output: stdout first, then stderr.
#[derive(Debug, Default)]
pub(super) struct Page {
    text: String,
    spans: Vec<(usize, usize)>,
    /// The index of the first line of stderr.
    stderr_start: usize,
    /// True if something is left out in the middle of a stream.
    pub(super) is_partial: bool,
    /// The first line with the number of failing tests, of runners that list them after it.
    failing_count: OnceLock<Option<usize>>,
    /// The tests that reports for programs count, by runner.
    pub(super) counted: Vec<(&'static str, Counted)>,
}

impl Page {
    pub(super) fn new(stdout: &str, stderr: &str, cwd: Option<&str>) -> Self {
        let mut page = Self::default();
        page.push_stream(stdout, cwd);
        page.stderr_start = page.spans.len();
        page.push_stream(stderr, cwd);
        page
    }

    /// Returns a page of lines that are plain text already.
    pub(super) fn of_lines(lines: &[&str]) -> Self {
        let mut page = Self::default();
        for line in lines {
            page.push_line(line);
        }
        page.stderr_start = page.spans.len();
        page
    }

    fn push_stream(&mut self, stream: &str, cwd: Option<&str>) {
        let short = truncate_middle(stream, MAX_STREAM_BYTES);
        self.is_partial |= short.is_some();
        let stream = short.as_deref().unwrap_or(stream);
        let (for_people, counted) = reports::read(stream);
        self.counted.extend(counted);
        let text = relativize_paths(&clean(for_people.as_deref().unwrap_or(stream)), cwd);
        let mut lines: Vec<&str> = text.lines().collect();
        while lines.last().is_some_and(|line| line.trim().is_empty()) {
            lines.pop();
        }
        for line in lines {
            self.push_line(line.trim_end());
        }
    }

    fn push_line(&mut self, line: &str) {
        let start = self.text.len();
        match truncate_middle(line, MAX_LINE_BYTES) {
            Some(short) => self.text.push_str(&short),
            None => self.text.push_str(line),
        }
        self.spans.push((start, self.text.len()));
    }

    pub(super) fn len(&self) -> usize {
        self.spans.len()
    }

    /// Returns line `index`, or an empty one past the end.
    pub(super) fn line(&self, index: usize) -> &str {
        self.spans.get(index).map_or("", |&(start, end)| &self.text[start..end])
    }

    /// Returns the first line such as `  3 failing`.
    pub(super) fn failing_count(&self) -> Option<usize> {
        *self.failing_count.get_or_init(|| {
            (0..self.len()).find(|at| self.line(*at).trim().strip_suffix(" failing").is_some_and(is_digits))
        })
    }

    /// Returns the end of the stream that line `index` is in.
    pub(super) fn end_of_stream(&self, index: usize) -> usize {
        if index < self.stderr_start { self.stderr_start } else { self.len() }
    }

    /// Returns the first line at or after `from` for which `is_end` holds, or else the end of the stream or of the longest
    /// block that is about one failure.
    pub(super) fn find_end(&self, from: usize, mut is_end: impl FnMut(&str) -> bool) -> usize {
        let end = self.end_of_stream(from.min(self.len().saturating_sub(1))).min(from + MAX_BLOCK_LINES);
        (from..end).find(|&at| is_end(self.line(at))).unwrap_or(end)
    }

    /// Returns the nearest of `count` lines above line `at` for which `is_wanted` holds.
    pub(super) fn find_above(
        &self,
        at: usize,
        count: usize,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Option<usize> {
        (self.start_of_stream(at)..at).rev().take(count).find(|&above| is_wanted(self.line(above)))
    }

    /// Returns where the stream begins that line `index` is in.
    pub(super) fn start_of_stream(&self, index: usize) -> usize {
        if index < self.stderr_start { 0 } else { self.stderr_start }
    }

    /// Returns the last line of stdout that holds text, and the last of stderr.
    pub(super) fn last_lines(&self) -> [Option<usize>; 2] {
        [0..self.stderr_start, self.stderr_start..self.len()]
            .map(|lines| lines.rev().find(|&at| !self.line(at).trim().is_empty()))
    }
}

/// Truncates `text` in the middle, to about two thirds of `max_bytes`. Returns `None` if it is not longer than that.
fn truncate_middle(text: &str, max_bytes: usize) -> Option<String> {
    if text.len() <= max_bytes {
        return None;
    }
    let head = floor_char_boundary(text, max_bytes / 3);
    let tail = floor_char_boundary(text, text.len() - max_bytes / 3);
    let (head, tail) = (&text[..head], &text[tail..]);
    // Streams are cut at line ends; a single line has none.
    let head = head.rfind('\n').map_or(head, |at| &head[..=at]);
    let tail = tail.find('\n').map_or(tail, |at| &tail[at..]);
    Some(format!("{head}...{tail}"))
}

/// Like `str::floor_char_boundary`, which is newer than the oldest supported Rust.
fn floor_char_boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Makes absolute paths below `cwd` relative, also those in `file://` URLs.
fn relativize_paths(text: &str, cwd: Option<&str>) -> String {
    let Some(cwd) = cwd.map(|cwd| cwd.trim_end_matches('/')).filter(|cwd| cwd.len() > 1) else {
        return text.to_owned();
    };
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(cwd) {
        let (before, after) = (&rest[..at], &rest[at + cwd.len()..]);
        let continues_a_name = before.ends_with(is_name_char);
        match after.strip_prefix('/') {
            Some(below) if !continues_a_name => {
                let before = before.strip_suffix("file://").unwrap_or(before);
                out.push_str(before);
                if !below.starts_with(|c| is_name_char(c) || matches!(c, '@' | '[' | '(')) {
                    out.push('.');
                }
                rest = below;
            }
            _ => {
                out.push_str(before);
                let is_cwd_itself = !continues_a_name && !after.starts_with(is_name_char);
                out.push_str(if is_cwd_itself { "." } else { cwd });
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_relative_to_the_project() {
        for (text, expected) in [
            ("/w/p/src/a.rs:1", "src/a.rs:1"),
            ("(file:///w/p/src/a.js:1:2)", "(src/a.js:1:2)"),
            ("in '/w/p'", "in '.'"),
            ("/w/page/a.rs", "/w/page/a.rs"),
            ("/x/w/p/a.rs", "/x/w/p/a.rs"),
            ("/w/p/ and more", ". and more"),
        ] {
            assert_eq!(relativize_paths(text, Some("/w/p/")), expected, "{text}");
        }
        assert_eq!(relativize_paths("/a.rs", Some("/")), "/a.rs");
        assert_eq!(relativize_paths("/a.rs", None), "/a.rs");
    }

    #[test]
    fn long_lines_and_streams_are_truncated_in_the_middle() {
        let page = Page::new(&"ä".repeat(10_000), "last\n\n\n", None);
        assert_eq!(page.len(), 2);
        assert!(page.line(0).len() < MAX_LINE_BYTES && page.line(0).contains("..."));
        assert_eq!((page.line(1), page.line(7)), ("last", ""));
        let long = format!("first\n{}last\n", "passed\n".repeat(2 << 20));
        let page = Page::new(&long, "", None);
        assert_eq!((page.line(0), page.line(page.len() - 1)), ("first", "last"));
        assert!(page.len() < 1 << 20);
    }
}
