//! Both streams as lines, cleaned, with paths as seen from the project.

use super::{clean, reports};

/// Longer lines lose their middle, in bytes.
const MAX_LINE_BYTES: usize = 4096;
/// More text than this of one stream loses its middle, in bytes.
const MAX_STREAM_BYTES: usize = 4 << 20;

/// A block of more lines is not about one failure.
const MAX_BLOCK_LINES: usize = 1500;

/// The lines of an output: stdout first, then stderr.
#[derive(Debug, Default)]
pub(super) struct Page {
    text: String,
    spans: Vec<(usize, usize)>,
    /// The first line of stderr.
    split: usize,
}

impl Page {
    pub(super) fn new(stdout: &str, stderr: &str, cwd: Option<&str>) -> Self {
        let mut page = Self::default();
        page.push(stdout, cwd);
        page.split = page.spans.len();
        page.push(stderr, cwd);
        page
    }

    fn push(&mut self, stream: &str, cwd: Option<&str>) {
        let short = without_middle(stream, MAX_STREAM_BYTES);
        let stream = short.as_deref().unwrap_or(stream);
        let report = reports::plain(stream);
        let text = relative(&clean(report.as_deref().unwrap_or(stream)), cwd);
        let mut lines: Vec<&str> = text.lines().collect();
        while lines.last().is_some_and(|line| line.trim().is_empty()) {
            lines.pop();
        }
        for line in lines {
            let line = line.trim_end();
            let start = self.text.len();
            match without_middle(line, MAX_LINE_BYTES) {
                Some(short) => self.text.push_str(&short),
                None => self.text.push_str(line),
            }
            self.spans.push((start, self.text.len()));
        }
    }

    pub(super) fn len(&self) -> usize {
        self.spans.len()
    }

    /// Empty if there is no such line.
    pub(super) fn line(&self, index: usize) -> &str {
        self.spans.get(index).map_or("", |&(start, end)| &self.text[start..end])
    }

    /// Returns the end of the stream that line `index` is in.
    pub(super) fn end_of_stream(&self, index: usize) -> usize {
        if index < self.split { self.split } else { self.len() }
    }

    /// Returns the first line from `from` on for which `is_end` holds, or the end of the stream.
    pub(super) fn until(&self, from: usize, mut is_end: impl FnMut(&str) -> bool) -> usize {
        let end = self.end_of_stream(from.min(self.len().saturating_sub(1))).min(from + MAX_BLOCK_LINES);
        (from..end).find(|&at| is_end(self.line(at))).unwrap_or(end)
    }

    /// Returns where the stream begins that line `index` is in.
    pub(super) fn start_of_stream(&self, index: usize) -> usize {
        if index < self.split { 0 } else { self.split }
    }

    /// Returns the last line of stdout that holds text, and the last of stderr.
    pub(super) fn last_lines(&self) -> [Option<usize>; 2] {
        let last = |range: std::ops::Range<usize>| range.rev().find(|&at| !self.line(at).trim().is_empty());
        [last(0..self.split), last(self.split..self.len())]
    }
}

/// `text` with its middle left out, where it has more than `most` bytes.
fn without_middle(text: &str, most: usize) -> Option<String> {
    if text.len() <= most {
        return None;
    }
    let head = floor(text, most / 3);
    let tail = floor(text, text.len() - most / 3);
    let (head, tail) = (&text[..head], &text[tail..]);
    // Whole lines, where the cut leaves enough of them.
    let head = if most > MAX_LINE_BYTES { head.rfind('\n').map_or(head, |at| &head[..=at]) } else { head };
    let tail = if most > MAX_LINE_BYTES { tail.find('\n').map_or(tail, |at| &tail[at..]) } else { tail };
    Some(format!("{head}...{tail}"))
}

fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Paths below `cwd` as seen from there, also as URLs of files.
fn relative(text: &str, cwd: Option<&str>) -> String {
    let Some(cwd) = cwd.map(|cwd| cwd.trim_end_matches('/')).filter(|cwd| cwd.len() > 1) else {
        return text.to_owned();
    };
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(cwd) {
        let (before, after) = (&rest[..at], &rest[at + cwd.len()..]);
        let is_inside = before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
        match after.strip_prefix('/') {
            Some(below) if !is_inside => {
                let before = before.strip_suffix("file://").unwrap_or(before);
                out.push_str(before);
                if !below.starts_with(|c: char| {
                    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '@' | '[' | '(')
                }) {
                    out.push('.');
                }
                rest = below;
            }
            _ => {
                out.push_str(before);
                let is_whole = !is_inside
                    && !after.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
                out.push_str(if is_whole { "." } else { cwd });
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_seen_from_the_project() {
        for (text, expected) in [
            ("/w/p/src/a.rs:1", "src/a.rs:1"),
            ("(file:///w/p/src/a.js:1:2)", "(src/a.js:1:2)"),
            ("in '/w/p'", "in '.'"),
            ("/w/page/a.rs", "/w/page/a.rs"),
            ("/x/w/p/a.rs", "/x/w/p/a.rs"),
            ("/w/p/ and more", ". and more"),
        ] {
            assert_eq!(relative(text, Some("/w/p/")), expected, "{text}");
        }
        assert_eq!(relative("/a.rs", Some("/")), "/a.rs");
        assert_eq!(relative("/a.rs", None), "/a.rs");
    }

    #[test]
    fn long_lines_and_texts_lose_their_middle() {
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
