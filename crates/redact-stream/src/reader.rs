//! Reading through a redactor, a window at a time.

use std::convert::Infallible;
use std::io::{self, Read};

use super::Redactor;
use super::scan::{Scan, Windows};
use super::secret::Counts;

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
