//! Takes secrets out of prompts, transcripts and outputs before they become objects.
//!
//! Works on bytes of any kind, in bounded memory. Whatever is no secret comes out as it went in.

mod assignment;
mod private_key;
mod reader;
mod shape;
mod url;

use std::collections::BTreeMap;
use std::io::Read;

use anyhow::{Context, Result, bail};
use regex::bytes::{Regex, RegexBuilder};

pub use reader::RedactingReader;

/// How often each rule hit.
pub type Counts = BTreeMap<&'static str, u64>;

/// What a rule may see behind the place where a secret shows itself.
const AHEAD: usize = 64 * 1024;

/// What a rule may see in front of that place: enough for the name of a variable.
const BEHIND: usize = 256;

/// How much is read before it is searched.
const WINDOW: usize = 1024 * 1024;

/// The rule of what the user asked to redact beyond the built-in rules.
const CUSTOM: &str = "custom";

/// A replacement begins with this. Text that holds it has been here before.
const MARKER: &str = "[redacted:";

/// How often a text is looked at at most until it is settled.
const LOOKS: usize = 8;

/// Finds secrets and puts `[redacted:<rule>]` in their place.
///
/// Every rule decides on the 64 KiB that follow the place where a secret shows itself. A longer run (a token, a
/// quoted value) is redacted to its end all the same, but a private key block or a match of a user's own rule
/// longer than that may be cut.
#[derive(Debug)]
pub struct Redactor {
    anchors: Regex,
    rules: Vec<Regex>,
    allow: Vec<Regex>,
}

impl Redactor {
    /// `rules` are regular expressions of further secrets, `allow` of texts that are none though a rule says so.
    pub fn new(rules: &[String], allow: &[String]) -> Result<Self> {
        let literals: Vec<String> = anchors().map(regex::escape).collect();
        Ok(Self {
            anchors: Regex::new(&literals.join("|")).context("compile the built-in redaction rules")?,
            rules: compile("redaction.rules", rules)?,
            allow: compile("redaction.allow", allow)?,
        })
    }

    /// As [`Redactor::redact_text`], until another look would change nothing: for what is compared with its own
    /// redaction later. What a replacement leaves can, rarely, look like a secret itself.
    pub fn settle(&self, text: &str) -> String {
        let mut settled = text.to_owned();
        for _ in 0..LOOKS {
            let (again, _) = self.redact_text(&settled);
            if again == settled {
                break;
            }
            settled = again;
        }
        settled
    }

    pub fn redact_text(&self, text: &str) -> (String, Counts) {
        let (redacted, counts) = self.redact_bytes(text.as_bytes());
        (String::from_utf8_lossy(&redacted).into_owned(), counts)
    }

    pub fn redact_bytes(&self, bytes: &[u8]) -> (Vec<u8>, Counts) {
        let mut redacted = Vec::with_capacity(bytes.len());
        let mut scan = Scan::default();
        self.scan(bytes, &mut scan, End::Final, &mut |part| {
            redacted.extend_from_slice(part);
            Ok(())
        })
        .expect("the sink never fails");
        (redacted, scan.counts)
    }

    /// Reads to the end and hands what remains after redaction to `sink`, part by part.
    pub fn copy(&self, reader: impl Read, mut sink: impl FnMut(&[u8]) -> Result<()>) -> Result<Counts> {
        let mut reader = reader::Windows::new(reader);
        let mut scan = Scan::default();
        while let Some(end) = reader.fill(&mut scan).context("read what is to be redacted")? {
            self.scan(reader.bytes(), &mut scan, end, &mut sink)?;
        }
        Ok(scan.counts)
    }

    /// Goes through `bytes` from `scan.at`, as far as what is there decides.
    fn scan(
        &self,
        bytes: &[u8],
        scan: &mut Scan,
        end: End,
        sink: &mut impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let limit = match end {
            End::Final => bytes.len(),
            End::MoreToCome => bytes.len().saturating_sub(AHEAD),
        };
        let mut custom: Vec<Option<Secret>> =
            self.rules.iter().map(|rule| find_custom(rule, bytes, scan.at)).collect();
        scan.finish_tail(bytes);
        let mut emitted = scan.at;
        while scan.tail.is_none() {
            for (rule, found) in self.rules.iter().zip(&mut custom) {
                if found.as_ref().is_some_and(|found| found.start < scan.at) {
                    *found = find_custom(rule, bytes, scan.at);
                }
            }
            let first_custom = custom.iter().flatten().min_by_key(|found| found.start);
            let anchor = self.anchors.find_at(bytes, scan.at).map(|found| found.start());
            let start = anchor.into_iter().chain(first_custom.map(|found| found.start)).min();
            let Some(start) = start.filter(|&start| start < limit) else {
                scan.at = scan.at.max(limit);
                break;
            };
            let from = scan.floor.max(start.saturating_sub(BEHIND));
            let view = View { bytes: &bytes[from..bytes.len().min(start + AHEAD)], anchor: start - from };
            if let Some(end) = view.marker_end() {
                scan.at = from + end;
                continue;
            }
            let secret = first_custom
                .filter(|custom| custom.start == start)
                .cloned()
                .or_else(|| view.examine().map(|secret| secret.shifted(from)));
            let Some(secret) = secret else {
                scan.at = start + 1;
                continue;
            };
            scan.at = secret.end;
            if self.allow.iter().any(|allow| allow.is_match(&bytes[secret.start..secret.end])) {
                continue;
            }
            sink(&bytes[emitted..secret.start])?;
            sink(format!("{MARKER}{}]", secret.rule).as_bytes())?;
            *scan.counts.entry(secret.rule).or_default() += 1;
            scan.floor = secret.end;
            if secret.end >= start + AHEAD {
                // The rule saw no further, but the secret may go on.
                scan.tail = secret.belongs;
                scan.finish_tail(bytes);
            }
            emitted = scan.at;
        }
        sink(&bytes[emitted..scan.at])
    }
}

fn compile(key: &str, patterns: &[String]) -> Result<Vec<Regex>> {
    patterns
        .iter()
        .map(|pattern| {
            let regex = RegexBuilder::new(pattern)
                .multi_line(true)
                .build()
                .with_context(|| format!("read `{pattern}` of {key}"))?;
            if regex.is_match(b"") {
                bail!("`{pattern}` of {key} matches an empty text\nhint: ask for at least one character");
            }
            Ok(regex)
        })
        .collect()
}

fn find_custom(rule: &Regex, bytes: &[u8], at: usize) -> Option<Secret> {
    let mut at = at;
    while at <= bytes.len() {
        let found = rule.find_at(bytes, at)?;
        if !found.is_empty() {
            return Some(Secret { rule: CUSTOM, start: found.start(), end: found.end(), belongs: None });
        }
        at = found.end() + 1;
    }
    None
}

/// Literals of which every secret that we know has one at its start or in front of it.
fn anchors() -> impl Iterator<Item = &'static str> {
    let single = [MARKER, private_key::ANCHOR, url::ANCHOR, shape::JWT];
    single
        .into_iter()
        .chain(shape::SHAPES.iter().map(|shape| shape.prefix))
        .chain(assignment::ANCHORS.iter().copied())
}

/// Whether `bytes` are the last of their stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    MoreToCome,
    Final,
}

/// Tells which bytes go on with a secret.
type Class = fn(u8) -> bool;

/// A secret.
#[derive(Debug, Clone)]
struct Secret {
    rule: &'static str,
    start: usize,
    end: usize,
    /// The bytes of which it consists, where it is of one kind to its end.
    belongs: Option<Class>,
}

impl Secret {
    fn shifted(self, by: usize) -> Self {
        Self { start: self.start + by, end: self.end + by, ..self }
    }
}

/// Where a scan stands.
#[derive(Debug, Default)]
struct Scan {
    /// The first byte that is not done.
    at: usize,
    /// The end of the last secret: no rule looks back into it, as it will not be there any more.
    floor: usize,
    /// Set within a secret that goes on.
    tail: Option<Class>,
    counts: Counts,
}

impl Scan {
    /// Goes over what is left of a long secret. It may go on behind `bytes`.
    fn finish_tail(&mut self, bytes: &[u8]) {
        let Some(belongs) = self.tail else { return };
        self.at += run(&bytes[self.at..], belongs);
        self.floor = self.at;
        if self.at < bytes.len() {
            self.tail = None;
        }
    }
}

/// The bytes around an anchor. No rule sees more, so that windows and whole texts come out the same.
#[derive(Debug, Clone, Copy)]
struct View<'a> {
    bytes: &'a [u8],
    anchor: usize,
}

impl View<'_> {
    fn rest(&self) -> &[u8] {
        &self.bytes[self.anchor..]
    }

    /// The end of the replacement that begins here, if one does.
    fn marker_end(&self) -> Option<usize> {
        let name = self.rest().strip_prefix(MARKER.as_bytes())?;
        let length = name.iter().position(|byte| !byte.is_ascii_lowercase() && *byte != b'-')?;
        (name[length] == b']').then_some(self.anchor + MARKER.len() + length + 1)
    }

    fn examine(&self) -> Option<Secret> {
        private_key::find(self)
            .or_else(|| url::find(self))
            .or_else(|| shape::find(self))
            .or_else(|| assignment::find(self))
    }

    /// Whether no word goes on across the anchor. Escapes as in JSON and URLs are no part of a word.
    fn is_word_start(&self) -> bool {
        let is_hex = |digits: &[u8]| digits.iter().all(u8::is_ascii_hexdigit);
        match &self.bytes[..self.anchor] {
            [] | [.., b'\\', b'n' | b'r' | b't' | b'b' | b'f'] => true,
            [.., b'\\', b'u', a, b, c, d] if is_hex(&[*a, *b, *c, *d]) => true,
            [.., b'%', a, b] if is_hex(&[*a, *b]) => true,
            [.., last] => !is_word(*last),
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Length of the longest beginning of `bytes` that consists of `class`.
fn run(bytes: &[u8], class: Class) -> usize {
    bytes.iter().position(|&byte| !class(byte)).unwrap_or(bytes.len())
}

fn contains(bytes: &[u8], needle: &[u8]) -> bool {
    bytes.windows(needle.len()).any(|window| window == needle)
}

#[cfg(test)]
mod tests;
