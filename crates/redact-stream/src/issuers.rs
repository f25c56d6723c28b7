//! Issuers of keys and tokens as data: `own.tsv`, and `published.tsv` from the rules of other scanners.

use std::sync::{LazyLock, OnceLock};

use regex::bytes::Regex;

use super::class::{encoded, is_word};
use super::disguise::{end_of_rest, find_interrupted};
use super::expression::expression;
use super::private_key;
use super::secret::{Rest, Secret};
use super::view::View;

/// How much of a key is looked at to judge it, so that a text of nothing but beginnings takes no longer than others.
const JUDGED: usize = 512;

/// Longer than any key of a pattern that has an end.
const MAX_KEY: usize = 8192;

/// How much of a keyword is looked for: behind that, a line break or a colour may be in it.
const MAX_SHOWN: usize = 6;

/// What separates a name from its value at most.
const MAX_NAME_REST: usize = 40;
const MAX_QUOTES: usize = 6;

static ISSUERS: LazyLock<Vec<Issuer>> = LazyLock::new(|| {
    let tables = [include_str!("own.tsv"), include_str!("published.tsv")];
    let lines = tables.into_iter().flat_map(str::lines).filter(|line| !line.starts_with('#'));
    // A test reads the tables.
    lines.map(|line| Issuer::read(line).unwrap_or_else(|| panic!("not understood: `{line}`"))).collect()
});

/// A kind of secret of one issuer: a line `RULE<tab>KEYWORDS<tab>PLACE<tab>CHECK<tab>PATTERN`.
#[derive(Debug)]
pub(super) struct Issuer {
    rule: &'static str,
    /// Separated by commas.
    keywords: &'static str,
    /// How many bytes of the key stand in front of the keyword, at least and at most. `None` if the keyword names the
    /// issuer, and the key is the value of a name that has it: `after`.
    place: Option<(usize, usize)>,
    /// `words`: no words and numbers. `random`: has a digit, and a part of 12 letters. `apart`: neither a dot nor a dash
    /// stands in front.
    check: &'static str,
    /// If it has a group, that is the secret.
    pattern: &'static str,
    regex: OnceLock<Regex>,
}

impl Issuer {
    fn read(line: &'static str) -> Option<Self> {
        let [rule, keywords, place, check, pattern] = line.split('\t').collect::<Vec<_>>().try_into().ok()?;
        let (least, most) = place.split_once('-').unwrap_or((place, place));
        let place = if place == "after" { None } else { Some((least.parse().ok()?, most.parse().ok()?)) };
        Some(Self { rule, keywords, place, check, pattern, regex: OnceLock::new() })
    }

    /// Returns true if only memory limits how long a key may be.
    fn is_open(&self) -> bool {
        let pattern = self.pattern.trim_end_matches(')');
        pattern.ends_with(",}") || pattern.ends_with('*')
    }

    /// Returns the class of bytes with which the pattern ends, without its brackets.
    fn last_class(&self) -> &'static str {
        let pattern = self.pattern.trim_end_matches(')');
        match (pattern.rfind('['), pattern.rfind(']')) {
            (Some(start), Some(end)) if pattern.ends_with([']', '}', '*']) => &pattern[start + 1..end],
            _ => "",
        }
    }

    /// Returns the expression of a key as a whole, in its first group.
    fn regex(&self) -> &Regex {
        self.regex.get_or_init(|| {
            let joined = if self.place.is_some() { "" } else { "+/=." };
            expression(&format!(r"^({})(?:[^\w{joined}{}]|\z)", self.pattern, self.last_class()))
        })
    }

    /// Returns the name of its rule.
    #[cfg(test)]
    pub(super) fn rule(&self) -> &'static str {
        self.rule
    }

    /// Returns true if it knows a key by the key's own letters.
    pub(super) fn has_shape(&self) -> bool {
        self.place.is_some()
    }

    pub(super) fn find(&self, view: &View<'_>) -> Option<Secret> {
        let Some((least, most)) = self.place else { return self.find_after(view) };
        (least..=most.min(view.anchor)).rev().find_map(|lead| self.find_at(view, view.anchor - lead))
    }

    fn find_at(&self, view: &View<'_>, start: usize) -> Option<Secret> {
        let before = view.before(start);
        let is_start = view.is_word_start(start) || before.ends_with(b"/bot");
        if !is_start || self.check == "apart" && before.last().is_some_and(|last| b".-".contains(last)) {
            return None;
        }
        self.find_whole(view, start)
            .or_else(|| find_interrupted(view, start, |plain| self.find_whole(plain, 0)))
    }

    fn find_whole(&self, view: &View<'_>, start: usize) -> Option<Secret> {
        let text = view.rest(start);
        let near = &text[..text.len().min(if self.is_open() { JUDGED } else { MAX_KEY })];
        let mut found = self.regex().captures(near)?;
        if self.is_open() && found[1].len() == near.len() {
            found = self.regex().captures(text)?;
        }
        let end = start + found[1].len();
        let secret = found.get(2).map_or(start, |secret| start + secret.start());
        let prefix = if self.place == Some((0, 0)) { self.keywords.split(',').next()?.len() } else { 0 };
        let text = view.text(start, end);
        let body = text.get(prefix..).filter(|body| !body.is_empty()).unwrap_or(text);
        let is_key = match self.check {
            "random" => is_random(&body[..body.len().min(JUDGED)]),
            // So short a beginning is that of a call, too: `s.queryAllOfThem(...)`.
            "words" => {
                !(is_wordy(body)
                    || (1..=2).contains(&prefix) && (view.byte(end) == Some(b'(') || is_numbered_word(text)))
            }
            _ => true,
        };
        view.byte(end);
        if !is_key {
            return None;
        }
        if let Some(block) = private_key::wrapped(view, start, end) {
            return Some(block);
        }
        if !self.is_open() {
            return Some(Secret { rule: self.rule, start: secret, end, belongs: None });
        }
        let end = end_of_rest(view, end, || expression(&format!("^[{}]+", self.last_class())));
        Some(Secret { rule: self.rule, start: secret, end, belongs: Some(Rest::Run(encoded)) })
    }

    /// Returns a secret after the name of its issuer: `AIRTABLE_KEY=...`, `"fastly-token": "..."`.
    fn find_after(&self, view: &View<'_>) -> Option<Secret> {
        let word = self.keywords.split(',').find(|word| view.has_folded(view.anchor, word.as_bytes()))?;
        let at = view.run_most(view.anchor + word.len(), MAX_NAME_REST, |byte| {
            is_word(byte) || b" \t.-".contains(&byte)
        });
        let at = view.run_most(at, MAX_QUOTES, |byte| b"'\"\\] \t".contains(&byte));
        let tie = view.run_most(at, 3, |byte| b"=:>|?,".contains(&byte));
        if tie == at {
            return None;
        }
        let start = view.run_most(tie, MAX_QUOTES, |byte| b"'\"`\\= \t".contains(&byte));
        let text = view.rest(start);
        let length = self.regex().captures(&text[..text.len().min(MAX_KEY)])?[1].len();
        let end = start + length;
        view.byte(end);
        let is_secret = !is_wordy(view.text(start, end));
        is_secret.then_some(Secret { rule: self.rule, start, end, belongs: None })
    }
}

/// Returns the keywords of all issuers.
pub(super) fn keywords() -> impl Iterator<Item = (&'static str, &'static Issuer)> {
    ISSUERS.iter().flat_map(|issuer| {
        issuer.keywords.split(',').map(move |word| (&word[..word.len().min(MAX_SHOWN)], issuer))
    })
}

/// Returns the names of the rules that are our own.
pub(super) fn rules() -> impl Iterator<Item = &'static str> {
    ISSUERS.iter().filter(|issuer| issuer.check != "words").map(|issuer| issuer.rule)
}

/// Distinguishes keys from words joined by dashes, such as names of styles.
fn is_random(body: &[u8]) -> bool {
    body.iter().any(u8::is_ascii_digit)
        && body.split(|byte| !byte.is_ascii_alphanumeric()).any(|part| part.len() >= 12)
}

/// Returns true if digits stand only at the end.
fn is_numbered_word(text: &[u8]) -> bool {
    let letters = text.iter().rposition(|byte| !byte.is_ascii_digit()).map_or(0, |last| last + 1);
    !text[..letters].iter().any(u8::is_ascii_digit)
}

/// Returns true if `text` is words and numbers with signs between them, as the names of functions and files are.
fn is_wordy(text: &[u8]) -> bool {
    text.split(|byte| !byte.is_ascii_alphanumeric()).all(|part| match part {
        [] => true,
        [first, rest @ ..] => {
            part.iter().all(u8::is_ascii_digit) && part.len() < 10
                || part.iter().all(u8::is_ascii_uppercase)
                || first.is_ascii_alphabetic() && rest.iter().all(u8::is_ascii_lowercase)
        }
    })
}

#[cfg(test)]
pub(super) mod tests;
