//! Which failures are like a given one: by fingerprint, by name, by file, by words.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::scan::id_key;
use super::{Examination, Fingerprint, normalize};

/// Words beyond these many of one output are not compared.
const MAX_COMPARED_WORDS: usize = 400;

/// What an output has that can be compared.
#[derive(Debug, Clone, Default)]
pub struct Features {
    fingerprint: Option<Fingerprint>,
    ids: HashSet<String>,
    files: HashSet<String>,
    /// In the order of the words: a sum of floats depends on its order.
    words: BTreeMap<String, f64>,
}

impl Features {
    /// Takes from an output what can be compared.
    pub fn of(examined: &Examination) -> Self {
        let failures = || examined.failures.iter().take(50);
        let mut words: BTreeMap<String, f64> = BTreeMap::new();
        let mut add = |text: &str, weight: f64| {
            for word in normalize::normalize(text)
                .split(|c: char| !(c.is_alphanumeric() || c == '_'))
                .filter(|word| !word.is_empty())
            {
                if words.len() < MAX_COMPARED_WORDS || words.contains_key(word) {
                    *words.entry(word.to_owned()).or_default() += weight;
                }
            }
        };
        for (rank, failure) in failures().enumerate() {
            let weight = if rank == 0 { 3.0 } else { 1.0 };
            add(&failure.message, weight);
            add(id_key(&failure.id), weight);
            add(&failure.code, weight);
            for value in &failure.values {
                add(value, weight);
            }
        }
        if examined.failures.is_empty() {
            for line in examined.most_relevant_lines() {
                add(line, 1.0);
            }
        }
        Self {
            fingerprint: examined.fingerprint(),
            ids: failures()
                .filter(|failure| !failure.id.is_empty())
                .map(|failure| id_key(&failure.id).to_owned())
                .collect(),
            files: failures()
                .filter(|failure| !failure.file.is_empty())
                .map(|failure| failure.file.clone())
                .collect(),
            words,
        }
    }
}

/// Many failures that can be compared with each other.
#[derive(Debug)]
pub struct Neighbours<'a> {
    all: &'a [Features],
    /// How much a word says: those that all have say nothing.
    rarity: HashMap<&'a str, f64>,
    lengths: Vec<f64>,
}

impl<'a> Neighbours<'a> {
    /// Prepares the comparison of these failures, oldest first.
    pub fn new(all: &'a [Features]) -> Self {
        let mut counts: HashMap<&str, f64> = HashMap::new();
        for features in all {
            for word in features.words.keys() {
                *counts.entry(word).or_default() += 1.0;
            }
        }
        let number = f64::from(u32::try_from(all.len()).unwrap_or(u32::MAX));
        let rarity: HashMap<&str, f64> =
            counts.into_iter().map(|(word, count)| (word, ((number + 1.0) / count).ln())).collect();
        let mut neighbours = Self { all, rarity, lengths: Vec::new() };
        neighbours.lengths =
            all.iter().map(|features| neighbours.product(features, features).sqrt()).collect();
        neighbours
    }

    /// Returns the others, those most like number `index` first, each with its likeness from 0 to 1. Of equals the
    /// newer one, which is further back in the list, comes first.
    pub fn of(&self, index: usize) -> Vec<(usize, f64)> {
        let mut others: Vec<(usize, f64)> = (0..self.all.len())
            .filter(|&other| other != index)
            .map(|other| (other, self.likeness(index, other)))
            .collect();
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
        let length = self.lengths[one] * self.lengths[two];
        let cosine = if length > 0.0 { self.product(a, b) / length } else { 0.0 };
        0.40 * is_same(|print| &print.strict)
            + 0.10 * is_same(|print| &print.loose)
            + 0.04 * is_same(|print| &print.tool)
            + 0.14 * shared(&a.ids, &b.ids)
            + 0.06 * shared(&a.files, &b.files)
            + 0.26 * cosine
    }

    fn product(&self, one: &Features, two: &Features) -> f64 {
        let (few, many) = if one.words.len() <= two.words.len() { (one, two) } else { (two, one) };
        let weight = |count: f64| 1.0 + count.ln().max(0.0);
        few.words
            .iter()
            .filter_map(|(word, count)| {
                let other = many.words.get(word)?;
                let rarity = self.rarity.get(word.as_str())?;
                Some(weight(*count) * weight(*other) * rarity * rarity)
            })
            .sum()
    }
}

/// Returns the share of members that two sets have in common.
fn shared(one: &HashSet<String>, two: &HashSet<String>) -> f64 {
    let common = one.intersection(two).count();
    let all = one.len() + two.len() - common;
    let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    if all == 0 { 0.0 } else { number(common) / number(all) }
}
