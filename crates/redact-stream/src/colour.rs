//! Colours of a terminal. They stand between the letters of a name or a key, and between it and its value: a text is
//! searched without them, and they are put back where they were.

use std::borrow::Cow;
use std::collections::VecDeque;

use memchr::memchr2;

const ESCAPE: u8 = 0x1b;

/// Maximum number of bytes between the letter that introduces an escape and the one that ends it.
const MAX_PARAMETERS: usize = 32;

/// Maximum number of backslashes before an escape that is spelled out: each JSON within JSON doubles them.
const MAX_BACKSLASHES: usize = 8;

/// How many bytes of escapes at one place are taken out. What is more is text, so that memory stays bounded.
const MAX_RUN: usize = 64;

/// How the escape byte is spelled in JSON, C, a shell's `$'...'` and `echo -e`.
const SPELLINGS: [&[u8]; 4] = [b"u001b", b"x1b", b"033", b"e"];

/// Whether bytes are the last of their stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    MoreToCome,
    Final,
}

/// The escapes that were taken out of a text and are still to be put back.
#[derive(Debug, Default)]
pub(super) struct Colours {
    runs: VecDeque<Run>,
}

/// Escapes that follow each other.
#[derive(Debug)]
pub(super) struct Run {
    /// Before which byte of the text without escapes they stand.
    pub(super) at: usize,
    pub(super) bytes: Vec<u8>,
}

impl Colours {
    /// Returns the whole text `bytes` without its escapes.
    pub(super) fn without<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let Some(first) = memchr2(ESCAPE, b'\\', bytes) else { return Cow::Borrowed(bytes) };
        let mut plain = bytes.to_vec();
        self.take_out(&mut plain, first, End::Final);
        Cow::Owned(plain)
    }

    /// Takes the escapes out of `bytes[from..]`. Returns the bytes at the end that may begin one, if more are to come:
    /// they are taken away too, and belong before what is read next.
    pub(super) fn take_out(&mut self, bytes: &mut Vec<u8>, from: usize, end: End) -> Vec<u8> {
        // What is before `written` is done. What was read from `kept` on is to follow it.
        let (mut written, mut kept, mut look) = (from, from, from);
        let mut cut = bytes.len();
        while let Some(next) = memchr2(ESCAPE, b'\\', &bytes[look..]) {
            let start = look + next;
            look = match length(&bytes[start..]) {
                Length::Unknown if end == End::MoreToCome => {
                    cut = start;
                    break;
                }
                Length::None | Length::Unknown => start + 1,
                Length::Known(length) => {
                    let at = written + start - kept;
                    if self.add(at, &bytes[start..start + length]) {
                        bytes.copy_within(kept..start, written);
                        written = at;
                        kept = start + length;
                    }
                    start + length
                }
            };
        }
        let rest = bytes.split_off(cut);
        if written < kept {
            bytes.copy_within(kept.., written);
            bytes.truncate(written + cut - kept);
        }
        rest
    }

    /// Keeps an escape. Returns false if there are too many here.
    fn add(&mut self, at: usize, escape: &[u8]) -> bool {
        match self.runs.back_mut().filter(|run| run.at == at) {
            Some(run) if run.bytes.len() + escape.len() > MAX_RUN => return false,
            Some(run) => run.bytes.extend_from_slice(escape),
            None => self.runs.push_back(Run { at, bytes: escape.to_vec() }),
        }
        true
    }

    /// Returns true if an escape stands before the byte `at`.
    pub(super) fn is_at(&self, at: usize) -> bool {
        !self.runs.is_empty() && self.runs.binary_search_by_key(&at, |run| run.at).is_ok()
    }

    /// Returns the first place from `at` on where an escape stands.
    pub(super) fn next_place(&self, at: usize) -> Option<usize> {
        let next = self.runs.partition_point(|run| run.at < at);
        self.runs.get(next).map(|run| run.at)
    }

    /// Removes the first run, if it stands at `until` or before.
    pub(super) fn pop(&mut self, until: usize) -> Option<Run> {
        let is_due = self.runs.front().is_some_and(|run| run.at <= until);
        if is_due { self.runs.pop_front() } else { None }
    }

    /// Removes what stands within a secret that ends at `end`. The last run stays: what follows has its colour.
    pub(super) fn skip(&mut self, end: usize) {
        while self.runs.get(1).is_some_and(|next| next.at <= end) {
            self.runs.pop_front();
        }
    }

    /// The first `length` bytes of the text are forgotten.
    pub(super) fn forget(&mut self, length: usize) {
        for run in &mut self.runs {
            run.at = run.at.saturating_sub(length);
        }
    }
}

/// How many bytes an escape has.
enum Length {
    None,
    Known(usize),
    /// It depends on what follows.
    Unknown,
}

/// Returns how long the escape is with which `bytes` begin.
fn length(bytes: &[u8]) -> Length {
    let introducer = match bytes {
        [ESCAPE, ..] => 1,
        _ => match spelled(bytes) {
            Length::Known(length) => length,
            other @ (Length::None | Length::Unknown) => return other,
        },
    };
    match bytes.get(introducer) {
        None => Length::Unknown,
        Some(b'[') => {
            let parameters = &bytes[introducer + 1..];
            let is_parameter = |byte: &&u8| byte.is_ascii_digit() || b";:?".contains(byte);
            let count = parameters.iter().take(MAX_PARAMETERS).take_while(is_parameter).count();
            match parameters.get(count) {
                None => Length::Unknown,
                Some(last) if last.is_ascii_alphabetic() => Length::Known(introducer + 1 + count + 1),
                Some(_) => Length::None,
            }
        }
        // `tput sgr0` chooses the character set too.
        Some(b'(') if introducer == 1 => match bytes.get(2) {
            None => Length::Unknown,
            Some(set) if set.is_ascii_alphanumeric() => Length::Known(3),
            Some(_) => Length::None,
        },
        Some(_) => Length::None,
    }
}

/// Returns how long the spelling of the escape byte is with which `bytes` begin.
fn spelled(bytes: &[u8]) -> Length {
    let backslashes = bytes.iter().take(MAX_BACKSLASHES + 1).take_while(|byte| **byte == b'\\').count();
    if backslashes > MAX_BACKSLASHES {
        return Length::None;
    }
    let rest = &bytes[backslashes..];
    let begins =
        |spelling: &&&[u8]| rest.len() < spelling.len() && spelling[..rest.len()].eq_ignore_ascii_case(rest);
    let is = |spelling: &&&[u8]| {
        rest.get(..spelling.len()).is_some_and(|text| text.eq_ignore_ascii_case(spelling))
    };
    match SPELLINGS.iter().find(is) {
        Some(spelling) => Length::Known(backslashes + spelling.len()),
        None if SPELLINGS.iter().any(|spelling| begins(&spelling)) => Length::Unknown,
        None => Length::None,
    }
}
