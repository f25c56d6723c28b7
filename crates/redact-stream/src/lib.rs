#![doc = include_str!("../README.md")]
#![warn(missing_docs)]
#![cfg_attr(test, allow(clippy::too_many_lines, reason = "a test reads best in one piece"))]

mod assignment;
mod class;
mod colour;
mod context;
mod custom;
mod disguise;
mod expression;
mod gate;
mod issuers;
mod private_key;
mod reader;
mod scan;
mod secret;
mod url;
mod view;

use std::collections::HashMap;
use std::convert::Infallible;
use std::io::{self, Read};
use std::sync::LazyLock;

use regex::bytes::Regex;

pub use custom::{PatternError, PatternList, PatternProblem};
pub use reader::RedactingReader;
pub use secret::{Counts, Redacted};

use colour::{Colours, End};
use context::Context;
use gate::Gate;
use issuers::Issuer;
use scan::{Scan, Windows};
use secret::{AHEAD, BEHIND, MARKER, MAX_NAME_BYTES, Rest, Secret, marker_end};
use view::View;

/// How many bytes of a key stand before a colour that ends it, at the least.
const MIN_SHOWN: usize = 4;

/// Largest text that is looked through without the automaton of all keywords: few commands have a longer one.
const MAX_SHORT_BYTES: usize = 512;

/// Maximum number of passes over a text.
const MAX_PASSES: usize = 8;

/// Kinds of secrets that are known by what is around them.
const KINDS: [&str; 9] = [
    "private-key",
    "url-password",
    "url-signature",
    "authorization",
    "cookie",
    "password",
    "secret",
    "token",
    "custom",
];

/// Returns what follows the rest of a private key that `text`, the end of a longer one, begins with.
pub fn after_key_rest(text: &[u8]) -> &[u8] {
    &text[private_key::rest(text, true).0..]
}

/// Returns the names of the rules, without those that only the table of published issuers has.
pub fn rules() -> impl Iterator<Item = &'static str> {
    KINDS.into_iter().chain(issuers::rules())
}

/// The keywords of all rules, made once: that takes milliseconds.
static GATE: LazyLock<Gate<Rule>> = LazyLock::new(|| Gate::new(keywords()));

/// The same for texts of at most [`MAX_SHORT_BYTES`].
static SHORT_GATE: LazyLock<HashMap<[u8; 2], Vec<&'static [u8]>>> =
    LazyLock::new(|| gate::by_start(keywords().map(|(keyword, _)| keyword)));

/// Returns the first key or token of an issuer in `text` that shows itself before `until`.
fn first_key(text: &[u8], until: usize) -> Option<Secret> {
    GATE.find(text, 0, until.min(text.len()), |at, rules| {
        let keys = rules.iter().filter(|rule| rule.is_key());
        keys.copied().find_map(|rule| rule.find(&View::new(text, at)))
    })
    .map(|(_, found)| found)
}

/// Finds secrets and puts `[redacted:<rule>]` in their place.
///
/// The default one knows the built-in rules alone.
///
/// Every rule decides on the 64 KiB that follow the place where a secret shows itself. A longer run (a token, a
/// quoted value) is redacted to its end anyway, a private key block up to 1 MiB, but a match of a user's own rule
/// longer than that may be cut.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    rules: Vec<Regex>,
    allow: Vec<Regex>,
}

impl Redactor {
    /// `rules` are regular expressions of further secrets, `allow` of texts that are none though a rule says so.
    ///
    /// # Errors
    ///
    /// If a pattern is not a regular expression, or matches an empty text.
    pub fn new(rules: &[String], allow: &[String]) -> Result<Self, PatternError> {
        Ok(Self {
            rules: custom::compile(PatternList::Rules, rules)?,
            allow: custom::compile(PatternList::Allow, allow)?,
        })
    }

    /// Redacts `text` until another pass would change nothing: for what is compared with its own redaction later. Only
    /// a pattern of [`Redactor::new`] can match in what a replacement leaves.
    pub fn settle(&self, text: &str) -> String {
        let mut settled = text.to_owned();
        for _ in 0..MAX_PASSES {
            let (again, _) = self.redact_text(&settled);
            if again == settled {
                break;
            }
            settled = again;
        }
        settled
    }

    /// Returns true if it is certain, after a check that is faster than redaction, that `text` stays as it is.
    pub fn finds_nothing(&self, text: &str) -> bool {
        self.rules.is_empty() && !GATE.is_match(&Colours::default().without(text.as_bytes()))
    }

    /// Returns `text` without its secrets, and which rules matched.
    ///
    /// ```
    /// let redactor = redact_stream::Redactor::default();
    /// let (text, _) = redactor.redact_text("postgres://app:s3cr3t@db.example.com/app");
    /// assert_eq!(text, "postgres://app:[redacted:url-password]@db.example.com/app");
    /// ```
    pub fn redact_text(&self, text: &str) -> (String, Counts) {
        let (redacted, counts) = self.redact_bytes(text.as_bytes());
        (String::from_utf8_lossy(&redacted).into_owned(), counts)
    }

    /// Returns `text` without its secrets where it follows `before`: a secret may begin there, or its name stand there.
    ///
    /// ```
    /// let redactor = redact_stream::Redactor::default();
    /// assert_eq!(redactor.redact_after("password: |\n", "  hunter2\n"), "  [redacted:password]\n");
    /// ```
    pub fn redact_after(&self, before: &str, text: &str) -> String {
        String::from_utf8_lossy(&self.redact_bytes_after(before.as_bytes(), text.as_bytes())).into_owned()
    }

    /// As [`Redactor::redact_after`], for bytes in any encoding.
    pub fn redact_bytes_after(&self, before: &[u8], bytes: &[u8]) -> Vec<u8> {
        let mut scan = Scan { mark: Colours::default().without(before).len(), ..Scan::default() };
        self.redact_from(&mut scan, &[before, bytes].concat())
    }

    /// Returns `text` without its secrets, as what may be shortened.
    pub fn redact(&self, text: &str) -> Redacted {
        Redacted(self.redact_text(text).0)
    }

    /// As [`Redactor::redact_text`], for bytes in any encoding.
    pub fn redact_bytes(&self, bytes: &[u8]) -> (Vec<u8>, Counts) {
        let is_short = self.rules.is_empty() && bytes.len() <= MAX_SHORT_BYTES;
        if is_short && !colour::may_hold_escape(bytes) && !gate::has_keyword(&SHORT_GATE, bytes) {
            return (bytes.to_owned(), Counts::default());
        }
        let mut scan = Scan::default();
        let redacted = self.redact_from(&mut scan, bytes);
        (redacted, scan.counts)
    }

    fn redact_from(&self, scan: &mut Scan, bytes: &[u8]) -> Vec<u8> {
        let mut redacted = Vec::with_capacity(bytes.len());
        let bytes = scan.colours.without(bytes);
        let Ok(()) = self.scan::<Infallible>(&bytes, scan, End::Final, &mut |part| {
            redacted.extend_from_slice(part);
            Ok(())
        });
        redacted
    }

    /// Reads to the end and hands what remains after redaction to `sink`, part by part.
    ///
    /// ```
    /// let redactor = redact_stream::Redactor::default();
    /// let mut log = Vec::new();
    /// let counts = redactor.copy(&b"Authorization: Basic dXNlcjpwYXNzd29yZA=="[..], |part| {
    ///     log.extend_from_slice(part);
    ///     Ok::<(), std::io::Error>(())
    /// })?;
    /// assert_eq!(log, b"Authorization: Basic [redacted:authorization]");
    /// assert_eq!(counts.len(), 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If `reader` or `sink` fails. Nothing is handed on after that.
    pub fn copy<E: From<io::Error>>(
        &self,
        reader: impl Read,
        mut sink: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<Counts, E> {
        let mut reader = Windows::new(reader);
        let mut scan = Scan::default();
        let failed =
            |error: io::Error| io::Error::new(error.kind(), format!("read what is to be redacted: {error}"));
        while let Some(end) = reader.fill(&mut scan).map_err(failed)? {
            self.scan(reader.bytes(), &mut scan, end, &mut sink)?;
        }
        Ok(scan.counts)
    }

    /// Goes through `bytes` from `scan.at`, as far as what is there decides.
    fn scan<E>(
        &self,
        bytes: &[u8],
        scan: &mut Scan,
        end: End,
        sink: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let limit = match end {
            End::Final => bytes.len(),
            End::MoreToCome => bytes.len().saturating_sub(AHEAD),
        };
        let mut customs: Vec<_> = self.rules.iter().map(|rule| (rule, None)).collect();
        // Secrets that begin some way after the place where they showed themselves: others may be between,
        // and would be found there when the text is redacted again. The nearest one is the last.
        let mut waiting: Vec<Secret> = Vec::new();
        scan.finish_tail(bytes, end);
        while scan.tail.is_none() {
            let until = waiting.last().map_or(limit, |secret| secret.start);
            let custom = custom::next(&mut customs, bytes, scan.at, (!waiting.is_empty()).then_some(until));
            let custom = custom.filter(|found| found.start < until);
            let before = custom.as_ref().map_or(until, |found| found.start);
            let barrier = waiting.last().map_or(usize::MAX, |secret| secret.start);
            let seen = Seen { bytes, colours: &scan.colours, floor: scan.floor, barrier };
            let stop = GATE.find(bytes, scan.at, before, |at, rules| self.stop(&seen, at, rules));
            match (stop, custom) {
                (Some((_, Stop::Marker(end))), _) => {
                    scan.at = end;
                    scan.floor = end;
                }
                (Some((start, Stop::Secrets(secrets))), _) => {
                    scan.at = start + 1;
                    waiting.extend(secrets);
                }
                (None, Some(custom)) if self.allows(&bytes[custom.start..custom.end]) => scan.at = custom.end,
                (None, Some(custom)) => scan.replace(bytes, &custom, end, sink)?,
                (None, None) => {
                    let Some(secret) = waiting.pop() else {
                        scan.at = scan.at.max(limit);
                        break;
                    };
                    scan.replace(bytes, &secret, end, sink)?;
                    // A key that goes on may be longer than the way to them.
                    waiting.retain(|other| other.start >= scan.at);
                }
            }
        }
        // Some rules look back: what they may still take is not given away.
        let done = match end {
            End::Final => scan.at,
            End::MoreToCome => scan.at.saturating_sub(BEHIND).max(scan.floor).min(scan.at),
        };
        if done > scan.given || end == End::Final {
            scan.give(bytes, done, sink)?;
        }
        Ok(())
    }

    fn allows(&self, text: &[u8]) -> bool {
        self.allow.iter().any(|allow| allow.is_match(text))
    }

    /// Returns what is at the place `at`, where a keyword of `rules` begins, if it is anything.
    fn stop(&self, seen: &Seen<'_>, at: usize, rules: &[Rule]) -> Option<Stop> {
        if let Some(end) = marker_end(seen.bytes, at) {
            return Some(Stop::Marker(end));
        }
        let mut secrets = Self::examine(seen, at, rules);
        secrets.retain(|secret| !self.allows(&seen.bytes[secret.start..secret.end]));
        (!secrets.is_empty()).then_some(Stop::Secrets(secrets))
    }

    /// Returns what the rules of the keyword at `start` say, the nearest secret last.
    fn examine(seen: &Seen<'_>, start: usize, rules: &[Rule]) -> Vec<Secret> {
        let Seen { bytes, colours, floor, barrier } = *seen;
        let from = floor.max(start.saturating_sub(BEHIND));
        let to = bytes.len().min(start + AHEAD).min(barrier);
        let view = seen.view(from, start, to);
        let mut is_name = false;
        let found = rules.iter().find_map(|&rule| {
            is_name |= matches!(rule, Rule::Name);
            let found = rule.find(&view);
            if found.is_some() || !rule.is_key() {
                return found;
            }
            // As differences of words are shown, a key ends where its colour does.
            let end = colours.next_place(start + MIN_SHOWN).filter(|end| *end < to)?;
            rule.find(&seen.view(from, start, end))
        });
        let mut found: Vec<Secret> = found.into_iter().collect();
        if found.is_empty() && is_name {
            found = assignment::find_cells(&view);
        }
        if found.is_empty() {
            return found;
        }
        let reach = from + view.reach();
        if reach > barrier {
            return Vec::new();
        }
        let seen = &bytes[start..to.min(reach + MARKER.len() + MAX_NAME_BYTES)];
        if (0..seen.len()).any(|at| start + at < reach && marker_end(seen, at).is_some()) {
            return Vec::new();
        }
        for secret in &mut found {
            // At the edge of what the rule saw, the secret may go on.
            let is_at_edge = from + secret.end >= start + AHEAD;
            secret.belongs = secret.belongs.filter(|rest| is_at_edge || matches!(rest, Rest::KeyBlock));
            (secret.start, secret.end) = (from + secret.start, from + secret.end);
        }
        found
    }
}

/// What is to be asked where the gate stops.
#[derive(Debug, Clone, Copy)]
enum Rule {
    Marker,
    Key(&'static Issuer),
    Context(&'static Context),
    Name,
    Other(fn(&View<'_>) -> Option<Secret>),
}

impl Rule {
    /// Returns true if it knows a secret by its own letters.
    fn is_key(self) -> bool {
        matches!(self, Self::Key(issuer) if issuer.has_shape())
    }

    fn find(self, view: &View<'_>) -> Option<Secret> {
        match self {
            Self::Marker => None,
            Self::Key(issuer) => issuer.find(view),
            Self::Context(context) => context.find(view),
            Self::Name => assignment::find(view),
            Self::Other(find) => find(view),
        }
    }
}

/// Keywords of which every secret that we know shows one, and their rules.
fn keywords() -> impl Iterator<Item = (&'static str, Rule)> {
    let single = [
        (MARKER, Rule::Marker),
        (private_key::BEGIN, Rule::Other(private_key::find)),
        (private_key::LINES, Rule::Other(private_key::find_lines)),
        ("Cookie", Rule::Other(context::cookies)),
    ];
    let addresses = url::MARKS.map(|keyword| (keyword, Rule::Other(url::find)));
    let disguises = disguise::KEYWORDS.map(|keyword| (keyword, Rule::Other(disguise::find)));
    single
        .into_iter()
        .chain(addresses)
        .chain(issuers::keywords().map(|(keyword, issuer)| (keyword, Rule::Key(issuer))))
        .chain(context::keywords().map(|(keyword, context)| (keyword, Rule::Context(context))))
        .chain(disguises)
        .chain(assignment::keywords().map(|keyword| (keyword, Rule::Name)))
}

/// What rules see of a text: nothing before `floor`, and nothing counts that depends on bytes behind `barrier` or
/// of an earlier replacement.
struct Seen<'a> {
    bytes: &'a [u8],
    colours: &'a Colours,
    floor: usize,
    barrier: usize,
}

impl<'a> Seen<'a> {
    /// Returns the view of the bytes from `from` to `end`, anchored at `start`.
    fn view(&self, from: usize, start: usize, end: usize) -> View<'a> {
        View::new(&self.bytes[from..end], start - from).with_colours(self.colours, from)
    }
}

/// What the gate found at a place.
enum Stop {
    /// A replacement, which ends here.
    Marker(usize),
    /// Secrets, the nearest last.
    Secrets(Vec<Secret>),
}

#[cfg(test)]
mod context_tests;
#[cfg(test)]
mod tests;
