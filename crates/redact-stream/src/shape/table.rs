//! Issuers as data: `public.txt` from the published rules of other scanners, and `own.txt`.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::class::{Set, is_word};
use crate::disguise::unbroken;
use crate::gate::{Around, Window, window};
use crate::secret::Secret;
use crate::view::View;

use super::form::around_window;
use super::known;
use super::pattern::{Pattern, Shown};

static TABLE: LazyLock<Vec<Issuer>> = LazyLock::new(|| {
    let lines = include_str!("own.txt").lines().chain(include_str!("public.txt").lines());
    let lines = lines.filter(|line| !line.starts_with('#'));
    // A test reads the table.
    lines.map(|line| Issuer::parse(line).unwrap_or_else(|| panic!("not understood: `{line}`"))).collect()
});

/// What separates a name from its value at most.
const MAX_NAME_REST: usize = 40;
const MAX_QUOTES: usize = 6;

/// A kind of secret of one issuer.
#[derive(Debug)]
pub(crate) struct Issuer {
    rule: &'static str,
    /// Names of the issuer, one of which is before the secret, and where in it the window begins. Empty where
    /// it is known by its shape.
    words: Vec<(&'static str, usize)>,
    pattern: Pattern,
    shown: Option<Shown>,
}

impl Issuer {
    /// `NAME<tab>PLACE<tab>PATTERN`, or `NAME<tab>WORD@START|WORD@START<tab>PATTERN`.
    fn parse(line: &'static str) -> Option<Self> {
        let mut fields = line.split('\t');
        let (rule, places, pattern) = (fields.next()?, fields.next()?, Pattern::parse(fields.next()?)?);
        if !places.contains('@') {
            let shown = pattern.shown(places)?;
            return Some(Self { rule, words: Vec::new(), pattern, shown: Some(shown) });
        }
        let word = |word: &'static str| {
            let (word, start) = word.split_once('@')?;
            Some((word, start.parse().ok()?))
        };
        let words = places.split('|').map(word).collect::<Option<_>>()?;
        Some(Self { rule, words, pattern, shown: None })
    }

    /// Returns how far before its window the secret may begin, if it is known by its shape.
    pub(super) fn lead(&self) -> Option<(usize, usize)> {
        self.shown.as_ref().map(|shown| (shown.least, shown.most))
    }

    pub(super) fn around(&self) -> Around {
        match self.lead() {
            Some((lead, most)) if lead == most => around_window(lead, self.pattern.sets()),
            _ => Around::ANYTHING,
        }
    }
}

/// A word that names issuers.
#[derive(Debug)]
pub(crate) struct Named {
    word: &'static str,
    /// Where in the word the window stands.
    shown_at: usize,
    issuers: Vec<&'static Issuer>,
}

impl Named {
    pub(super) fn around(&self) -> Around {
        let (front, shown) = self.word.as_bytes().split_at(self.shown_at);
        let before = front.last().map_or(Set::ALL, |&byte| Set::either(byte));
        let shown = shown.iter().map(|&byte| Set::either(byte));
        Around::new(before, shown.chain([*TIE_START]))
    }
}

static NAMED: LazyLock<Vec<Named>> = LazyLock::new(|| {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut named: Vec<Named> = Vec::new();
    for issuer in TABLE.iter() {
        for &(word, shown_at) in &issuer.words {
            let place = *places.entry(word).or_insert(named.len());
            if place == named.len() {
                named.push(Named { word, shown_at, issuers: Vec::new() });
            }
            named[place].issuers.push(issuer);
        }
    }
    named
});

/// Returns what may follow the name of an issuer in the name of a variable, or after it.
fn is_tie_start(byte: u8) -> bool {
    is_word(byte) || b" \t.-='\":>|?,\\".contains(&byte)
}

static TIE_START: LazyLock<Set> = LazyLock::new(|| Set::of(is_tie_start));

/// Returns the windows of issuers that are known by the shape of their keys.
pub(super) fn issuer_windows() -> impl Iterator<Item = (Window, &'static Issuer)> {
    TABLE.iter().filter_map(|issuer| Some((issuer.shown.as_ref()?.window, issuer)))
}

/// Returns the windows of issuers whose names stand before their keys.
pub(super) fn name_windows() -> impl Iterator<Item = (Window, &'static Named)> {
    NAMED.iter().map(|named| (window(&named.word[named.shown_at..], is_tie_start), named))
}

pub(super) fn find(view: &View<'_>, issuer: &Issuer) -> Option<Secret> {
    let shown = issuer.shown.as_ref()?;
    let most = shown.most.min(view.anchor);
    (shown.least..=most).rev().find_map(|lead| find_at(view, issuer, view.anchor - lead))
}

/// Returns what a rule of the table says of the key that begins at `start`.
pub(super) fn find_from(view: &View<'_>, start: usize) -> Option<Secret> {
    TABLE.iter().filter(|issuer| issuer.words.is_empty()).find_map(|issuer| direct(view, issuer, start))
}

fn find_at(view: &View<'_>, issuer: &Issuer, start: usize) -> Option<Secret> {
    if let Some(found) = direct(view, issuer, start) {
        return Some(found);
    }
    if !view.is_word_start(start) {
        return None;
    }
    let plain = unbroken(view, start)?;
    let found = direct(&View::new(&plain.bytes, 0), issuer, 0)?;
    let (start, end) = plain.place(found.start, found.end);
    Some(Secret { start, end, belongs: None, ..found })
}

fn direct(view: &View<'_>, issuer: &Issuer, start: usize) -> Option<Secret> {
    if !view.is_word_start(start) {
        return None;
    }
    let end = issuer.pattern.end(view, start)?;
    let text = view.text(start, end);
    // So short a beginning is that of a call, too: `s.queryAllOfThem(...)`.
    let is_short = (1..=2).contains(&issuer.pattern.body_start());
    let is_name = || {
        let letters = text.iter().rposition(|byte| !byte.is_ascii_digit()).map_or(0, |last| last + 1);
        !text[..letters].iter().any(u8::is_ascii_digit)
    };
    if is_short && (view.byte(end) == Some(b'(') || is_name()) {
        return None;
    }
    if view.byte(end).is_some_and(|byte| is_word(byte) || issuer.pattern.goes_on(byte))
        || is_wordy(&text[issuer.pattern.body_start()..])
    {
        return None;
    }
    // A rule of ours keeps its name, and what it knows of its shape.
    known::find_from(view, start).or(Some(Secret { rule: issuer.rule, start, end, belongs: None }))
}

/// Returns a secret after the name of its issuer: `AIRTABLE_KEY=...`, `"fastly-token": "..."`.
pub(super) fn find_named(view: &View<'_>, named: &Named) -> Option<Secret> {
    let (word, skipped) = (named.word, named.shown_at);
    let start = view.anchor.checked_sub(skipped)?;
    let is_name = view.has_folded(view.anchor, &word.as_bytes()[skipped..])
        && view.before(view.anchor)[start..].eq_ignore_ascii_case(&word.as_bytes()[..skipped]);
    if !is_name {
        return None;
    }
    let at =
        view.run_most(start + word.len(), MAX_NAME_REST, |byte| is_word(byte) || b" \t.-".contains(&byte));
    let at = view.run_most(at, MAX_QUOTES, |byte| b"'\"\\] \t".contains(&byte));
    let tie = view.run_most(at, 3, |byte| b"=:>|?,".contains(&byte));
    if tie == at {
        return None;
    }
    let start = view.run_most(tie, MAX_QUOTES, |byte| b"'\"`\\= \t".contains(&byte));
    named.issuers.iter().find_map(|issuer| {
        let end = issuer.pattern.end(view, start)?;
        let goes_on = |byte| is_word(byte) || b"-+/=.".contains(&byte) || issuer.pattern.goes_on(byte);
        let is_whole = !view.byte(end).is_some_and(goes_on);
        let is_secret = is_whole && !is_wordy(view.text(start, end));
        is_secret.then_some(Secret { rule: issuer.rule, start, end, belongs: None })
    })
}

/// Returns true if `text` is words and numbers with signs between them, as the names of functions and files are.
pub(super) fn is_wordy(text: &[u8]) -> bool {
    let is_plain = |part: &[u8]| {
        let rest = part.get(1..).unwrap_or_default();
        part.iter().all(u8::is_ascii_digit) && part.len() < 10
            || part.iter().all(u8::is_ascii_uppercase)
            || part.first().is_some_and(u8::is_ascii_alphabetic) && rest.iter().all(u8::is_ascii_lowercase)
    };
    text.split(|byte| !byte.is_ascii_alphanumeric()).all(|part| part.is_empty() || is_plain(part))
}

#[cfg(test)]
pub(crate) fn rules() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|issuer| issuer.rule)
}

#[cfg(test)]
mod tests {
    use super::TABLE;

    #[test]
    fn every_line_of_the_table_has_a_window() {
        assert!(TABLE.len() > 400, "{}", TABLE.len());
        for issuer in TABLE.iter() {
            assert_eq!(issuer.shown.is_some(), issuer.words.is_empty(), "{issuer:?}");
        }
    }
}
