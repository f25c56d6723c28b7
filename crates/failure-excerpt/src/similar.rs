//! Ranks failures by their similarity to a given one: by fingerprint, name, file and words.

use std::collections::HashSet;

use super::scan::id_key;
use super::{Examination, Fingerprint, normalize};

/// Maximum number of failures of one output, and of words of all of them, that are compared.
const MAX_COMPARED: (usize, usize) = (50, 400);

/// The features by which outputs are compared.
#[derive(Debug, Clone, Default)]
pub struct Features {
    fingerprint: Option<Fingerprint>,
    ids: HashSet<String>,
    files: HashSet<String>,
    words: HashSet<String>,
}

impl Features {
    /// Extracts the features of an output.
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

/// Outputs that can be ranked by their similarity to each other.
#[derive(Debug)]
pub struct Neighbours<'a> {
    all: &'a [Features],
}

impl<'a> Neighbours<'a> {
    /// Creates it for these outputs, oldest first.
    pub fn new(all: &'a [Features]) -> Self {
        Self { all }
    }

    /// Returns the others, those most similar to number `index` first, each with its similarity from 0 to 1. Of equals, the
    /// newer one comes first.
    pub fn of(&self, index: usize) -> Vec<(usize, f64)> {
        let others = (0..self.all.len()).filter(|&other| other != index);
        let mut others: Vec<(usize, f64)> =
            others.map(|other| (other, self.likeness(index, other))).collect();
        others.sort_by(|one, two| two.1.total_cmp(&one.1).then(two.0.cmp(&one.0)));
        others
    }

    /// Returns the similarity of two outputs, from 0 to 1.
    pub fn likeness(&self, one: usize, two: usize) -> f64 {
        let (Some(a), Some(b)) = (self.all.get(one), self.all.get(two)) else { return 0.0 };
        let prints = a.fingerprint.as_ref().zip(b.fingerprint.as_ref());
        let same_print = prints.map_or(0.0, |(a, b)| {
            0.40 * f64::from(a.strict == b.strict)
                + 0.10 * f64::from(a.loose == b.loose)
                + 0.04 * f64::from(a.tool == b.tool)
        });
        same_print
            + 0.14 * shared(&a.ids, &b.ids)
            + 0.06 * shared(&a.files, &b.files)
            + 0.26 * shared(&a.words, &b.words)
    }
}

/// Returns the share of elements that two sets have in common.
fn shared(one: &HashSet<String>, two: &HashSet<String>) -> f64 {
    let common = one.intersection(two).count();
    let all = one.len() + two.len() - common;
    let [common, all] = [common, all].map(|count| f64::from(u32::try_from(count).unwrap_or(u32::MAX)));
    if all > 0.0 { common / all } else { 0.0 }
}
