//! Reads a file line by line while a child still writes to it, with bounded memory.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};

use anyhow::{Context, Result};
use camino::{Utf8Path, Utf8PathBuf};

use ralph_project::project_files::open_plain;

/// Longest line that is handed on whole. No event of an agent comes near it; what is longer is shortened.
pub(super) const MAX_LINE_BYTES: usize = 16 << 20;

/// How much is kept of each string in a line that is too long, as a part of the longest line: 64 KiB.
const STRING_PART: usize = 256;

/// Maximum number of bytes in one read, so that the caller gets to check the time.
const MAX_READ_BYTES: usize = 4 << 20;

/// A growing file, and how far it was read.
#[derive(Debug)]
pub(super) struct LineReader {
    path: Utf8PathBuf,
    file: Option<File>,
    buffer: Vec<u8>,
    line: Vec<u8>,
    shortener: Option<Shortener>,
    /// How many lines were shortened.
    pub too_long: u64,
    longest: usize,
}

impl LineReader {
    pub(super) fn new(path: &Utf8Path) -> Self {
        Self::with_longest(path, MAX_LINE_BYTES)
    }

    /// Reads lines of up to `longest` bytes whole.
    pub(super) fn with_longest(path: &Utf8Path, longest: usize) -> Self {
        Self {
            path: path.to_owned(),
            file: None,
            buffer: vec![0; 64 << 10],
            line: Vec::new(),
            shortener: None,
            too_long: 0,
            longest,
        }
    }

    /// Hands on the lines that were completed since the last call, as far as one helping goes. Returns true if there may be more.
    pub(super) fn read_some(&mut self, each: &mut dyn FnMut(&[u8])) -> Result<bool> {
        Ok(self.read_up_to(MAX_READ_BYTES, each)? >= MAX_READ_BYTES)
    }

    /// Hands on all that is left, the last line even if nothing ends it.
    pub(super) fn read_rest(&mut self, each: &mut dyn FnMut(&[u8])) -> Result<()> {
        while self.read_up_to(MAX_READ_BYTES, each)? > 0 {}
        if !self.line.is_empty() {
            each(&std::mem::take(&mut self.line));
        }
        Ok(())
    }

    fn read_up_to(&mut self, most: usize, each: &mut dyn FnMut(&[u8])) -> Result<usize> {
        if self.file.is_none() {
            // The child was not started yet, or replaced it: then it is put back when the child has ended.
            self.file = open_plain(&self.path).with_context(|| format!("open {}", self.path))?;
        }
        let mut total = 0;
        while let Some(file) = self.file.as_mut().filter(|_| total < most) {
            let read = match file.read(&mut self.buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error).with_context(|| format!("read {}", self.path)),
            };
            total += read;
            let buffer = std::mem::take(&mut self.buffer);
            for piece in buffer[..read].split_inclusive(|byte| *byte == b'\n') {
                self.take(piece, each);
            }
            self.buffer = buffer;
        }
        Ok(total)
    }

    fn take(&mut self, piece: &[u8], each: &mut dyn FnMut(&[u8])) {
        let (text, is_complete) = match piece.strip_suffix(b"\n") {
            Some(text) => (text, true),
            None => (piece, false),
        };
        if self.shortener.is_none() && self.line.len() + text.len() > self.longest {
            self.too_long += 1;
            let whole = std::mem::take(&mut self.line);
            let mut shortener = Shortener { longest: self.longest, ..Shortener::default() };
            shortener.push(&whole, &mut self.line);
            self.shortener = Some(shortener);
        }
        if let Some(shortener) = &mut self.shortener {
            shortener.push(text, &mut self.line);
        } else if is_complete && self.line.is_empty() {
            return each(text);
        } else {
            self.line.extend_from_slice(text);
        }
        if is_complete {
            self.shortener = None;
            each(&self.line);
            self.line.clear();
        }
    }
}

/// Leaves out the bulk of an event, so that it can still be read: of each string what is beyond its start, and, once half of
/// the room is full, of each list and object in the event what is beyond its first part.
#[derive(Debug, Default)]
struct Shortener {
    longest: usize,
    is_in_string: bool,
    is_escaped: bool,
    is_kept: bool,
    /// Bytes of the present string.
    string_bytes: usize,
    /// Open lists and objects.
    depth: usize,
    /// The depth at which the events are: 1, or 2 in a list of events. Their own fields are all kept.
    event_depth: usize,
    /// The depth of the list or object whose rest is left out, or 0.
    skipped_depth: usize,
}

impl Shortener {
    fn push(&mut self, text: &[u8], line: &mut Vec<u8>) {
        for byte in text {
            let is_escaped = std::mem::take(&mut self.is_escaped);
            let is_quote = *byte == b'"' && !is_escaped;
            self.is_escaped = self.is_in_string && *byte == b'\\' && !is_escaped;
            if is_quote {
                self.is_in_string = !self.is_in_string;
                self.string_bytes = 0;
            }
            if !self.is_in_string {
                self.structure(*byte, line.len());
            }
            // An escape is kept whole, or not at all.
            let is_start = is_quote || self.string_bytes < self.longest / STRING_PART;
            self.is_kept = if is_escaped { self.is_kept } else { is_start && self.skipped_depth == 0 };
            if self.is_kept && line.len() < self.longest {
                line.push(*byte);
            }
            self.string_bytes += usize::from(self.is_in_string);
        }
    }

    fn structure(&mut self, byte: u8, length: usize) {
        match byte {
            b'{' | b'[' => {
                if self.event_depth == 0 {
                    self.event_depth = if byte == b'[' { 2 } else { 1 };
                }
                self.depth += 1;
            }
            b'}' | b']' => {
                self.skipped_depth = if self.depth == self.skipped_depth { 0 } else { self.skipped_depth };
                self.depth = self.depth.saturating_sub(1);
            }
            b',' if self.skipped_depth == 0
                && self.depth > self.event_depth.max(1)
                && length > self.longest / 2 =>
            {
                self.skipped_depth = self.depth;
            }
            _ => {}
        }
    }
}

/// Returns a line of at most [`MAX_LINE_BYTES`] with the structure of a longer one.
pub(super) fn shortened(line: &[u8]) -> Vec<u8> {
    let mut short = Vec::new();
    Shortener { longest: MAX_LINE_BYTES, ..Shortener::default() }.push(line, &mut short);
    short
}

/// Returns the end of a file, from the start of a line.
pub(super) fn tail(path: &Utf8Path, most: u64) -> Result<String> {
    let read = File::open(path).and_then(|mut file| {
        let skipped = file.metadata()?.len().saturating_sub(most);
        file.seek(SeekFrom::Start(skipped))?;
        let mut bytes = Vec::new();
        file.take(most).read_to_end(&mut bytes)?;
        if skipped > 0 {
            let kept = without_first_line(&bytes).len();
            bytes.drain(..bytes.len() - kept);
        }
        Ok(bytes)
    });
    let bytes = read.with_context(|| format!("read the end of {path}"))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the last `most` bytes, or fewer, from the start of a line.
pub(super) fn from_line(bytes: &[u8], most: u64) -> &[u8] {
    let skipped = bytes.len().saturating_sub(usize::try_from(most).unwrap_or(usize::MAX));
    if skipped == 0 { bytes } else { without_first_line(&bytes[skipped..]) }
}

fn without_first_line(bytes: &[u8]) -> &[u8] {
    bytes
        .iter()
        .position(|byte| *byte == b'\n')
        .map_or(bytes, |end| redact_stream::after_key_rest(&bytes[end + 1..]))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn collect(read: impl FnOnce(&mut dyn FnMut(&[u8]))) -> Vec<String> {
        let mut lines = Vec::new();
        read(&mut |line| lines.push(String::from_utf8_lossy(line).into_owned()));
        lines
    }

    #[test]
    fn lines_come_when_they_are_complete_and_the_last_one_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = Utf8PathBuf::from_path_buf(folder.path().join("stream")).unwrap();
        let mut lines = LineReader::new(&path);
        assert!(collect(|each| assert!(!lines.read_some(each).unwrap())).is_empty());
        let mut file = File::create(&path).unwrap();
        file.write_all(b"one\ntw").unwrap();
        assert_eq!(collect(|each| assert!(!lines.read_some(each).unwrap())), ["one"]);
        file.write_all(b"o\n\nthr\xff").unwrap();
        assert_eq!(collect(|each| assert!(!lines.read_some(each).unwrap())), ["two", ""]);
        assert_eq!(collect(|each| lines.read_rest(each).unwrap()), ["thr\u{fffd}"]);
    }

    #[test]
    fn a_line_that_is_too_long_keeps_its_structure_and_the_next_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = Utf8PathBuf::from_path_buf(folder.path().join("stream")).unwrap();
        let long = "x".repeat(200_000);
        std::fs::write(&path, format!("a\n{long}\nb\n{long}")).unwrap();
        let mut lines = LineReader::with_longest(&path, 1000);
        let head = "x".repeat(1000);
        assert_eq!(collect(|each| lines.read_rest(each).unwrap()), ["a", &head, "b", &head]);
        assert_eq!(lines.too_long, 2);
        let event = format!("{{\"a\":\"{}\",\"id\":\"7\"}}", "\\\"é".repeat(3_000_000));
        let short = String::from_utf8_lossy(&shortened(event.as_bytes())).into_owned();
        assert!(short.len() < 100_000 && short.ends_with("\",\"id\":\"7\"}"), "{}", short.len());
        let mut lines = LineReader::new(&path);
        assert_eq!(collect(|each| lines.read_rest(each).unwrap()), ["a", &long, "b", &long]);
        let parts = r#"{"role":"x","list":[1,2,{"a":3,"b":4}]},"#.repeat(1000);
        for (event, end) in [
            (
                format!(r#"{{"type":"e","messages":[{parts}0],"ok":true,"usage":{{"a":1,"b":2}}}}"#),
                r#"],"ok":true,"usage":{"a":1}}"#,
            ),
            (
                format!(r#"[{{"type":"e","messages":[{parts}0],"ok":true}},{{"type":"f"}}]"#),
                r#"],"ok":true},{"type":"f"}]"#,
            ),
        ] {
            let mut short = Vec::new();
            Shortener { longest: 4096, ..Shortener::default() }.push(event.as_bytes(), &mut short);
            let short = String::from_utf8(short).unwrap();
            assert!(short.len() < 2200 && short.ends_with(end), "{short}");
            serde_json::from_str::<serde_json::Value>(&short).unwrap();
        }
    }

    #[test]
    fn a_tail_begins_with_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = Utf8PathBuf::from_path_buf(folder.path().join("out")).unwrap();
        std::fs::write(&path, b"first\nsecond\nthird\xff\n").unwrap();
        assert_eq!(tail(&path, 1000).unwrap(), "first\nsecond\nthird\u{fffd}\n");
        assert_eq!(tail(&path, 12).unwrap(), "third\u{fffd}\n");
        assert_eq!(from_line(b"first\nsecond\n", 1000), b"first\nsecond\n");
        assert_eq!(from_line(b"first\nsecond\n", 9), b"second\n");
        assert_eq!(from_line(b"one line", 4), b"line");
    }
}
