//! Which failures are like a given one: by fingerprint, by name, by file, by words.

use std::collections::HashSet;

use super::scan::id_key;
use super::{Examination, Fingerprint, normalize};

/// Failures of one output, and words of all of them, beyond these many are not compared.
const MAX_COMPARED: (usize, usize) = (50, 400);

/// What an output has that can be compared.
#[derive(Debug, Clone, Default)]
pub struct Features {
    fingerprint: Option<Fingerprint>,
    ids: HashSet<String>,
    files: HashSet<String>,
    words: HashSet<String>,
}

impl Features {
    /// Takes from an output what can be compared.
    pub fn of(examined: &Examination) -> Self {
        let mut features = Self { fingerprint: examined.fingerprint(), ..Self::default() };
        let mut texts =
            if examined.failures.is_empty() { examined.most_relevant_lines() } else { Vec::new() };
        for failure in examined.failures.iter().take(MAX_COMPARED.0) {
            let id = id_key(&failure.id);
            features.ids.extend(Some(id.to_owned()).filter(|id| !id.is_empty()));
            features.files.extend(Some(failure.file.clone()).filter(|file| !file.is_empty()));
            texts.extend([failure.message.as_str(), id, failure.code.as_str()]);
            texts.extend(failure.values.iter().map(String::as_str));
        }
        for text in texts {
            let text = normalize::normalize(text);
            let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
            let room = MAX_COMPARED.1.saturating_sub(features.words.len());
            features.words.extend(words.filter(|word| !word.is_empty()).take(room).map(str::to_owned));
        }
        features
    }
}

/// Many failures that can be compared with each other.
#[derive(Debug)]
pub struct Neighbours<'a> {
    all: &'a [Features],
}

impl<'a> Neighbours<'a> {
    /// Takes these failures, oldest first.
    pub fn new(all: &'a [Features]) -> Self {
        Self { all }
    }

    /// Returns the others, those most like number `index` first, each with its likeness from 0 to 1. Of equals the
    /// newer one, which is further back in the list, comes first.
    pub fn of(&self, index: usize) -> Vec<(usize, f64)> {
        let others = (0..self.all.len()).filter(|&other| other != index);
        let mut others: Vec<(usize, f64)> =
            others.map(|other| (other, self.likeness(index, other))).collect();
        others.sort_by(|one, two| two.1.total_cmp(&one.1).then(two.0.cmp(&one.0)));
        others
    }

    /// Returns how much two failures are alike, from 0 to 1.
    pub fn likeness(&self, one: usize, two: usize) -> f64 {
        let (Some(a), Some(b)) = (self.all.get(one), self.all.get(two)) else { return 0.0 };
        let is_same = |level: fn(&Fingerprint) -> &str| match (&a.fingerprint, &b.fingerprint) {
            (Some(a), Some(b)) => f64::from(u8::from(level(a) == level(b))),
            _ => 0.0,
        };
        0.40 * is_same(|print| &print.strict)
            + 0.10 * is_same(|print| &print.loose)
            + 0.04 * is_same(|print| &print.tool)
            + 0.14 * shared(&a.ids, &b.ids)
            + 0.06 * shared(&a.files, &b.files)
            + 0.26 * shared(&a.words, &b.words)
    }
}

/// Returns the share of members that two sets have in common.
fn shared(one: &HashSet<String>, two: &HashSet<String>) -> f64 {
    let common = one.intersection(two).count();
    let all = one.len() + two.len() - common;
    let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    if all == 0 { 0.0 } else { number(common) / number(all) }
}
