//! Where a scan stands in a stream, and the parts in which the stream is read.

use std::io::{self, Read};

use super::colour::{Colours, End};
use super::private_key;
use super::secret::{AHEAD, BEHIND, Counts, MARKER, Rest, Secret};

/// How much is read before it is searched.
pub(super) const WINDOW: usize = 1024 * 1024;

/// Where a scan stands.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// The first byte that is not done.
    pub(super) at: usize,
    /// The first byte that was not handed on.
    pub(super) given: usize,
    /// Nothing before this byte is handed on at all.
    pub(super) mark: usize,
    /// The end of the last secret: no rule looks back into it, as it will not be there any more.
    pub(super) floor: usize,
    /// Set within a secret that goes on.
    pub(super) tail: Option<Rest>,
    /// How many bytes of a private key may follow.
    pub(super) key_bytes_left: usize,
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
        end: End,
        sink: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.give(bytes, secret.start, sink)?;
        if secret.end > self.mark {
            sink(format!("{MARKER}{}]", secret.rule).as_bytes())?;
        }
        *self.counts.entry(secret.rule).or_default() += 1;
        self.tail = secret.belongs;
        self.key_bytes_left = private_key::MAX_BLOCK_BYTES.saturating_sub(secret.end - secret.start);
        self.move_to(secret.end);
        self.finish_tail(bytes, end);
        Ok(())
    }

    /// Hands on what is before `until`, in its colours.
    pub(super) fn give<E>(
        &mut self,
        bytes: &[u8],
        until: usize,
        sink: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        while let Some((place, escapes)) = self.colours.pop(until) {
            let at = place.max(self.given);
            sink(self.after_mark(bytes, at))?;
            if at >= self.mark {
                sink(&escapes)?;
            }
            self.given = at;
        }
        sink(self.after_mark(bytes, until))?;
        self.given = until;
        Ok(())
    }

    /// Returns what was not handed on before `until`.
    fn after_mark<'b>(&self, bytes: &'b [u8], until: usize) -> &'b [u8] {
        &bytes[self.given.max(self.mark).min(until)..until]
    }

    /// Goes over what is left of a long secret. It may go on behind `bytes`.
    pub(super) fn finish_tail(&mut self, bytes: &[u8], end: End) {
        let rest = &bytes[self.at..];
        match self.tail {
            None => {}
            Some(Rest::Run(belongs)) => {
                let length = rest.iter().position(|&byte| !belongs(byte)).unwrap_or(rest.len());
                self.move_to(self.at + length);
                if self.at < bytes.len() {
                    self.tail = None;
                }
            }
            Some(Rest::KeyBlock) => {
                let rest = &rest[..rest.len().min(self.key_bytes_left)];
                let is_last = end == End::Final || rest.len() == self.key_bytes_left;
                let (length, is_over) = private_key::rest(rest, is_last);
                self.key_bytes_left -= length;
                self.move_to(self.at + length);
                if is_over {
                    self.tail = None;
                }
            }
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
        self.mark = self.mark.saturating_sub(length);
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
