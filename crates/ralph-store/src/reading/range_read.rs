//! Parts of the files of a record or of the spool: what a reader needs who shows a screenful of a big one.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Range;

use anyhow::{Context, Result};

use ralph_core::record::ObjectId;
use ralph_os::if_there::IfThere;

use crate::local::disk;
use crate::{Slot, Store};

/// Which part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ask {
    /// What begins at this byte.
    From(u64),
    /// What ends before this byte, or at the end of the file where that comes first.
    Before(u64),
}

/// Some bytes of a file, whole lines where it has any.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FilePart {
    pub range: Range<u64>,
    /// The length of the file.
    pub total: u64,
    pub bytes: Vec<u8>,
}

/// Whether a file is still being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Growth {
    Done,
    Growing,
}

impl Ask {
    /// The first bytes of a file.
    pub const HEAD: Self = Self::From(0);

    /// The last bytes of a file.
    pub const TAIL: Self = Self::Before(u64::MAX);

    /// Returns the bytes to read, of a file of `total` bytes.
    pub(super) fn range(self, total: u64, most: u64) -> Range<u64> {
        match self {
            Self::From(start) => {
                let start = start.min(total);
                start..start.saturating_add(most).min(total)
            }
            Self::Before(end) => {
                let end = end.min(total);
                end.saturating_sub(most)..end
            }
        }
    }

    /// Cuts what was read of `range` at the ends of lines, or if there are none, between characters.
    fn trim(self, range: Range<u64>, mut bytes: Vec<u8>, total: u64, growth: Growth) -> FilePart {
        let Range { mut start, mut end } = range;
        match self {
            Self::From(_) if end < total || growth == Growth::Growing => {
                let kept = match bytes.iter().rposition(|byte| *byte == b'\n') {
                    Some(last) => last + 1,
                    // It has not come to its end, and nothing hurries.
                    None if growth == Growth::Growing && end == total => 0,
                    None => whole_characters(&bytes),
                };
                bytes.truncate(kept);
                end = start + kept as u64;
            }
            Self::From(_) => {}
            Self::Before(_) => {
                if start > 0
                    && let Some(first) = bytes.iter().position(|byte| *byte == b'\n')
                    && first + 1 < bytes.len()
                {
                    bytes.drain(..=first);
                    start += first as u64 + 1;
                }
                if growth == Growth::Growing && end == total {
                    let kept = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
                    bytes.truncate(kept);
                    end = start + kept as u64;
                }
            }
        }
        FilePart { range: start..end, total, bytes }
    }
}

fn read_range(file: &mut File, start: u64, end: u64) -> std::io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(end - start).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns how many bytes there are up to the last whole character.
fn whole_characters(bytes: &[u8]) -> usize {
    match bytes.iter().rposition(|byte| byte & 0b1100_0000 != 0b1000_0000) {
        Some(last) if last > 0 && bytes.len() - last < 4 && bytes[last] >= 0x80 => last,
        _ => bytes.len(),
    }
}

impl Store {
    /// Returns at most `most` bytes of a file of a record, cut at the ends of lines.
    pub fn part(&self, commit: &ObjectId, path: &str, ask: Ask, most: u64) -> Result<FilePart> {
        let piece = self.reader()?.piece(commit, path, ask, most)?.unwrap_or_default();
        Ok(ask.trim(piece.range, piece.bytes, piece.total, Growth::Done))
    }
}

impl Slot {
    /// As [`Store::part`], of an iteration that is not a commit yet.
    pub fn part(&self, name: &str, ask: Ask, most: u64) -> Result<FilePart> {
        let path = self.path(name);
        let opened = disk::open(&path).if_there().with_context(|| format!("open {path}"))?;
        let Some(mut file) = opened else { return Ok(FilePart::default()) };
        let total = file.metadata().with_context(|| format!("read {path}"))?.len();
        let Range { start, end } = ask.range(total, most);
        let bytes = read_range(&mut file, start, end).with_context(|| format!("read {path}"))?;
        Ok(ask.trim(start..start + bytes.len() as u64, bytes, total, Growth::Growing))
    }

    /// Returns what is before a part, at most so much of it.
    pub fn before(&self, name: &str, part: &FilePart, most: u64) -> Result<Vec<u8>> {
        let path = self.path(name);
        let end = part.range.start;
        let read = disk::open(&path).and_then(|mut file| read_range(&mut file, end - end.min(most), end));
        Ok(read.if_there().with_context(|| format!("read {path}"))?.unwrap_or_default())
    }

    /// Copies what is there of a file.
    pub fn copy_file(&self, name: &str, to: &mut dyn Write) -> Result<()> {
        let path = self.path(name);
        let copied = disk::open(&path).and_then(|mut file| std::io::copy(&mut file, to)).if_there();
        copied.map(drop).with_context(|| format!("copy {path}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(text: &[u8], (ask, most): (Ask, u64), growth: Growth, expected: (&[u8], u64)) {
        let total = text.len() as u64;
        let range = ask.range(total, most);
        let place = |at: u64| usize::try_from(at).unwrap();
        let bytes = text[place(range.start)..place(range.end)].to_vec();
        let part = ask.trim(range, bytes, total, growth);
        assert_eq!((part.bytes.as_slice(), part.range.start), expected);
        assert_eq!(part.range.end - part.range.start, part.bytes.len() as u64);
    }

    #[test]
    fn a_part_is_whole_lines_where_there_are_any() {
        use Ask::{Before, From};
        use Growth::{Done, Growing};
        let text = b"one\ntwo\nthree";
        case(text, (From(0), 100), Done, (b"one\ntwo\nthree", 0));
        case(text, (From(0), 6), Done, (b"one\n", 0));
        case(text, (From(4), 100), Done, (b"two\nthree", 4));
        case(text, (From(0), 100), Growing, (b"one\ntwo\n", 0));
        case(text, (From(8), 100), Growing, (b"", 8));
        case(text, (From(99), 100), Done, (b"", 13));
        case(text, (Before(u64::MAX), 7), Done, (b"three", 8));
        case(text, (Before(8), 6), Done, (b"two\n", 4));
        case(text, (Before(8), 100), Done, (b"one\ntwo\n", 0));
        case(text, (Before(u64::MAX), 100), Growing, (b"one\ntwo\n", 0));
        case(b"", (From(0), 10), Done, (b"", 0));
    }

    #[test]
    fn a_line_without_end_is_cut_between_characters() {
        let text = "äöü".as_bytes();
        case(text, (Ask::From(0), 3), Growth::Done, ("ä".as_bytes(), 0));
        case(text, (Ask::From(2), 2), Growth::Done, ("ö".as_bytes(), 2));
        case(b"abcdef", (Ask::From(0), 3), Growth::Growing, (b"abc", 0));
        case(&[0x80; 6], (Ask::From(0), 3), Growth::Done, (&[0x80; 3], 0));
    }
}
