//! Reading through a redactor, a window at a time.

use std::convert::Infallible;
use std::io::{self, Read};

use super::colour::End;
use super::{AHEAD, BEHIND, Counts, Redactor, Scan, WINDOW};

/// Cuts a stream into windows that overlap. Where they are cut depends on nothing but the bytes.
#[derive(Debug)]
pub(super) struct Windows<R> {
    reader: R,
    bytes: Vec<u8>,
    /// What was read and may be the beginning of an escape.
    cut: Vec<u8>,
    is_at_end: bool,
}

impl<R: Read> Windows<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, bytes: Vec::new(), cut: Vec::new(), is_at_end: false }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Forgets what is done and reads on. None once all is done.
    pub(super) fn fill(&mut self, scan: &mut Scan) -> io::Result<Option<End>> {
        if self.is_at_end {
            return Ok(None);
        }
        let done = scan.at.saturating_sub(BEHIND);
        self.bytes.drain(..done);
        scan.forget(done);

        // Grows with what is there: most of what is redacted is far smaller than a window.
        let missing = WINDOW + AHEAD + BEHIND - self.bytes.len();
        let start = self.bytes.len();
        self.bytes.append(&mut self.cut);
        let read = (&mut self.reader).take(missing as u64).read_to_end(&mut self.bytes)?;
        self.is_at_end = read < missing;
        let end = if self.is_at_end { End::Final } else { End::MoreToCome };
        self.cut = scan.colours.take_out(&mut self.bytes, start, end);
        Ok(Some(end))
    }
}

/// A reader of what another reader gives, redacted.
///
/// ```
/// use std::io::Read;
///
/// use redact_stream::{RedactingReader, Redactor};
///
/// let redactor = Redactor::default();
/// let mut reader = RedactingReader::new(&redactor, &b"DB_PASSWORD=hunter2\n"[..]);
/// let mut text = String::new();
/// reader.read_to_string(&mut text)?;
/// assert_eq!(text, "DB_PASSWORD=[redacted:password]\n");
/// assert_eq!(reader.counts()["password"], 1);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct RedactingReader<'r, R> {
    redactor: &'r Redactor,
    windows: Windows<R>,
    scan: Scan,
    ready: Vec<u8>,
    given: usize,
}

impl<'r, R: Read> RedactingReader<'r, R> {
    /// Reads from `reader` through `redactor`.
    pub fn new(redactor: &'r Redactor, reader: R) -> Self {
        Self { redactor, windows: Windows::new(reader), scan: Scan::default(), ready: Vec::new(), given: 0 }
    }

    /// Returns how often each rule has matched so far.
    pub fn counts(&self) -> &Counts {
        &self.scan.counts
    }
}

impl<R: Read> Read for RedactingReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.given == self.ready.len() {
            let Some(end) = self.windows.fill(&mut self.scan)? else { return Ok(0) };
            self.ready.clear();
            self.given = 0;
            let ready = &mut self.ready;
            let Ok(()) =
                self.redactor.scan::<Infallible>(self.windows.bytes(), &mut self.scan, end, &mut |part| {
                    ready.extend_from_slice(part);
                    Ok(())
                });
        }
        let length = buffer.len().min(self.ready.len() - self.given);
        buffer[..length].copy_from_slice(&self.ready[self.given..self.given + length]);
        self.given += length;
        Ok(length)
    }
}
