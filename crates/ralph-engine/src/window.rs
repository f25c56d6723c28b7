//! The part of a stream that is read for an excerpt: all of it, or its head and its tail.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// Bytes that are read from the start of a longer stream: compilers report errors there.
const HEAD_BYTES: usize = 1 << 20;
/// Bytes that are read from its end, where tests are counted.
const TAIL_BYTES: usize = 3 << 20;

/// Bytes of a stream up to which all of it is read to count tests.
const MAX_COUNTED_BYTES: u64 = 64 << 20;

/// A stream, or what matters of it.
#[derive(Debug, Default)]
pub struct Window {
    pub text: String,
    /// True if something is left out.
    pub is_cut: bool,
}

impl Window {
    /// Returns the head and the tail of a file, however long it is.
    pub fn of_file(mut file: File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        if !file.metadata()?.is_file() || length <= (HEAD_BYTES + TAIL_BYTES) as u64 {
            return Self::read(&mut file);
        }
        let mut head = Vec::new();
        Read::by_ref(&mut file).take(HEAD_BYTES as u64).read_to_end(&mut head)?;
        file.seek(SeekFrom::Start(length - TAIL_BYTES as u64))?;
        let mut tail = Vec::new();
        file.take(TAIL_BYTES as u64).read_to_end(&mut tail)?;
        Ok(Self::joined(&head, &tail))
    }

    /// Returns the whole file, or its head and its tail if it is too long to count what is in it.
    pub fn to_count(mut file: File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        if !metadata.is_file() || metadata.len() > MAX_COUNTED_BYTES {
            return Self::of_file(file);
        }
        let mut bytes = Vec::new();
        Read::by_ref(&mut file).take(MAX_COUNTED_BYTES).read_to_end(&mut bytes)?;
        Ok(Self::whole(&bytes))
    }

    /// Returns the head and the tail of what comes, in bounded memory.
    pub fn read(stream: &mut impl Read) -> io::Result<Self> {
        let mut head = Vec::new();
        Read::by_ref(stream).take(HEAD_BYTES as u64).read_to_end(&mut head)?;
        let mut tail = Vec::new();
        let mut is_cut = false;
        loop {
            let read = Read::by_ref(stream).take(TAIL_BYTES as u64).read_to_end(&mut tail)?;
            if read == 0 {
                break;
            }
            if tail.len() > TAIL_BYTES {
                is_cut = true;
                tail.drain(..tail.len() - TAIL_BYTES);
            }
        }
        if is_cut {
            return Ok(Self::joined(&head, &tail));
        }
        head.append(&mut tail);
        Ok(Self::whole(&head))
    }

    pub fn whole(bytes: &[u8]) -> Self {
        Self { text: String::from_utf8_lossy(bytes).into_owned(), is_cut: false }
    }

    /// The end of a stream, or all of it.
    pub fn tail(bytes: &[u8], is_cut: bool) -> Self {
        Self { is_cut, ..Self::whole(bytes) }
    }

    fn joined(head: &[u8], tail: &[u8]) -> Self {
        let mut text = String::from_utf8_lossy(until_line_end(head)).into_owned();
        text.push_str("\n...\n");
        text.push_str(&String::from_utf8_lossy(from_line_start(tail)));
        Self { text, is_cut: true }
    }
}

/// So much goes at a cut if no line ends: half a secret would not be known for one.
const SEAM: usize = 16 << 10;

fn until_line_end(head: &[u8]) -> &[u8] {
    let end = head.iter().rposition(|&byte| byte == b'\n');
    &head[..end.unwrap_or_else(|| head.len().saturating_sub(SEAM))]
}

fn from_line_start(tail: &[u8]) -> &[u8] {
    let start = tail.iter().position(|&byte| byte == b'\n').map(|end| end + 1);
    redact_stream::after_key_rest(&tail[start.unwrap_or_else(|| SEAM.min(tail.len()))..])
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_long_stream_keeps_its_ends() {
        let mut bytes = b"first\n".to_vec();
        bytes.extend(b"x\n".repeat(HEAD_BYTES / 2 + TAIL_BYTES));
        bytes.extend(b"last");
        let read = Window::read(&mut bytes.as_slice()).unwrap();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes).unwrap();
        file.rewind().unwrap();
        let of_file = Window::of_file(file).unwrap();
        for window in [&read, &of_file] {
            assert!(window.is_cut && window.text.starts_with("first\n") && window.text.ends_with("\nlast"));
            assert!(
                (HEAD_BYTES + TAIL_BYTES - 9..=HEAD_BYTES + TAIL_BYTES + 5).contains(&window.text.len()),
                "{}",
                window.text.len()
            );
        }
    }

    #[test]
    fn a_short_stream_is_whole() {
        let window = Window::read(&mut &b"a\xffb"[..]).unwrap();
        assert_eq!((window.text.as_str(), window.is_cut), ("a\u{fffd}b", false));
    }
}
