//! Where a scan stands in a stream, and the parts in which the stream is read.

use std::io::{self, Read};

use super::class::Class;
use super::colour::{Colours, End};
use super::secret::{AHEAD, BEHIND, Counts, MARKER, Secret};

/// How much is read before it is searched.
pub(super) const WINDOW: usize = 1024 * 1024;

/// Where a scan stands.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// The first byte that is not done.
    pub(super) at: usize,
    /// The first byte that was not handed on.
    pub(super) given: usize,
    /// The end of the last secret: no rule looks back into it, as it will not be there any more.
    pub(super) floor: usize,
    /// Set within a secret that goes on.
    pub(super) tail: Option<Class>,
    /// What stood between the bytes and was not handed on.
    pub(super) colours: Colours,
    pub(super) counts: Counts,
}

impl Scan {
    /// Hands on what is before `secret`, and what stands for it.
    pub(super) fn replace<E>(
        &mut self,
        bytes: &[u8],
        secret: &Secret,
        sink: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.give(bytes, secret.start, sink)?;
        sink(format!("{MARKER}{}]", secret.rule).as_bytes())?;
        *self.counts.entry(secret.rule).or_default() += 1;
        self.tail = secret.belongs;
        self.move_to(secret.end);
        self.finish_tail(bytes);
        Ok(())
    }

    /// Hands on what is before `until`, in its colours.
    pub(super) fn give<E>(
        &mut self,
        bytes: &[u8],
        until: usize,
        sink: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        while let Some(run) = self.colours.pop(until) {
            let at = run.at.max(self.given);
            sink(&bytes[self.given..at])?;
            sink(&run.bytes)?;
            self.given = at;
        }
        sink(&bytes[self.given..until])?;
        self.given = until;
        Ok(())
    }

    /// Goes over what is left of a long secret. It may go on behind `bytes`.
    pub(super) fn finish_tail(&mut self, bytes: &[u8]) {
        let Some(belongs) = self.tail else { return };
        let rest = &bytes[self.at..];
        let length = rest.iter().position(|&byte| !belongs(byte)).unwrap_or(rest.len());
        self.move_to(self.at + length);
        if self.at < bytes.len() {
            self.tail = None;
        }
    }

    fn move_to(&mut self, at: usize) {
        self.at = at;
        self.given = at;
        self.floor = at;
        self.colours.skip(at);
    }

    /// The first `length` bytes are forgotten.
    fn forget(&mut self, length: usize) {
        self.at -= length;
        self.given -= length;
        self.floor = self.floor.saturating_sub(length);
        self.colours.forget(length);
    }
}

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
