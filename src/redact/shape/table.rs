//! Issuers as data: `public.txt` from the published rules of other scanners, and `own.txt`.

use std::sync::LazyLock;

use super::super::class::is_word;
use super::super::disguise::unbroken;
use super::super::gate::{WIDTH, Window, rarity as window_rarity};
use super::super::view::View;
use super::super::{Rule, Secret};
use super::pattern::Pattern;

static TABLE: LazyLock<Vec<Issuer>> = LazyLock::new(|| {
    let lines = include_str!("own.txt").lines().chain(include_str!("public.txt").lines());
    let lines = lines.filter(|line| !line.starts_with('#'));
    lines.map(|line| Issuer::parse(line).expect("a test reads the table")).collect()
});

/// What separates a name from its value at most.
const MAX_NAME_REST: usize = 40;
const MAX_QUOTES: usize = 6;

/// A kind of secret of one issuer.
#[derive(Debug)]
pub(in crate::redact) struct Issuer {
    rule: &'static str,
    /// Names of the issuer, one of which stands in front of the secret. Empty where it is known by its shape.
    words: Vec<&'static str>,
    pattern: Pattern,
    least_lead: usize,
    most_lead: usize,
}

impl Issuer {
    fn parse(line: &'static str) -> anyhow::Result<Self> {
        let mut fields = line.split('\t');
        let rule = fields.next().unwrap_or_default();
        let second = fields.next().unwrap_or_default();
        let (words, pattern) = match fields.next() {
            Some(pattern) => (second.split('|').collect(), Pattern::parse(pattern)?),
            None => (Vec::new(), Pattern::parse(second)?),
        };
        let (least_lead, most_lead) = if words.is_empty() {
            pattern.shown().map_or((0, 0), |shown| (shown.least, shown.most))
        } else {
            (0, 0)
        };
        Ok(Self { rule, words, pattern, least_lead, most_lead })
    }

    fn windows(&'static self) -> Vec<(Window, Rule)> {
        if self.words.is_empty() {
            let shown = self.pattern.shown();
            return shown.into_iter().map(|shown| (shown.window, Rule::Issuer(self))).collect();
        }
        self.words
            .iter()
            .map(|word| (word_window(word, rarest(word)), Rule::Named(self, word, rarest(word))))
            .collect()
    }
}

/// Parts of the names of issuers that stand in many other words too.
const COMMON: &[&str] = &[
    "able", "book", "conf", "cord", "etwe", "grep", "hook", "ifac", "line", "logi", "mess", "ndex", "near",
    "path", "priv", "sage", "tabl", "tact", "team", "time", "toke", "work",
];

/// Where in a word the four bytes stand that are rarest in other words.
fn rarest(word: &str) -> usize {
    let rarity = |start: &usize| -> u32 {
        let is_common = word.get(*start..start + WIDTH).is_some_and(|part| COMMON.contains(&part));
        if is_common { 0 } else { window_rarity(&word_window(word, *start)) }
    };
    (0..=word.len().saturating_sub(WIDTH).min(4)).max_by_key(rarity).unwrap_or(0)
}

fn word_window(word: &str, start: usize) -> Window {
    super::window(&word[start..], is_tie_start)
}

/// What may follow the name of an issuer in the name of a variable, or behind it.
fn is_tie_start(byte: u8) -> bool {
    is_word(byte) || b" \t.-='\":>|?,\\".contains(&byte)
}

pub(super) fn windows() -> impl Iterator<Item = (Window, Rule)> {
    TABLE.iter().flat_map(Issuer::windows)
}

pub(in crate::redact) fn find(view: &View<'_>, issuer: &Issuer) -> Option<Secret> {
    let most = issuer.most_lead.min(view.anchor);
    (issuer.least_lead..=most).rev().find_map(|lead| find_at(view, issuer, view.anchor - lead))
}

/// What a rule of the table says of the key that begins at `start`.
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
    if view.byte(end).is_some_and(|byte| is_word(byte) || issuer.pattern.goes_on(byte))
        || is_wordy(&text[issuer.pattern.body_start()..])
    {
        return None;
    }
    // A rule of ours keeps its name, and what it knows of its shape.
    super::find_from(view, start).or(Some(Secret { rule: issuer.rule, start, end, belongs: None }))
}

/// A secret behind the name of its issuer: `AIRTABLE_KEY=...`, `"fastly-token": "..."`.
pub(in crate::redact) fn find_named(
    view: &View<'_>,
    issuer: &Issuer,
    word: &str,
    skipped: usize,
) -> Option<Secret> {
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
    let end = issuer.pattern.end(view, start)?;
    let goes_on = |byte| is_word(byte) || b"-+/=.".contains(&byte) || issuer.pattern.goes_on(byte);
    let is_whole = !view.byte(end).is_some_and(goes_on);
    let is_secret = is_whole && !is_wordy(view.text(start, end));
    is_secret.then_some(Secret { rule: issuer.rule, start, end, belongs: None })
}

/// Whether `text` is words and numbers with signs between them, as the names of functions and files are.
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
pub(in crate::redact) fn rules() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|issuer| issuer.rule)
}

#[cfg(test)]
mod tests {
    use super::TABLE;

    #[test]
    fn every_line_of_the_table_has_a_window() {
        assert!(TABLE.len() > 400, "{}", TABLE.len());
        for issuer in TABLE.iter() {
            assert!(!issuer.windows().is_empty(), "{issuer:?}");
        }
    }
}
