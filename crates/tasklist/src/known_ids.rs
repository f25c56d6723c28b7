//! The ids that a file has, and which of them a written dependency means.

use std::cell::Cell;
use std::collections::{BTreeMap, HashSet};

use super::dependencies::Dependency;

/// Maximum number of ids of a range that one item waits for.
const MAX_RANGE_IDS: usize = 500;

/// Maximum number of such ids in a file. Of further ranges only the ends count.
const MAX_RANGE_IDS_IN_ALL: usize = 1_000_000;

/// An id in an order in which ranges make sense: letters, numbers, suffix.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    letters: String,
    numbers: Vec<u64>,
    suffix: String,
}

impl Key {
    pub fn new(id: &str) -> Self {
        let start = id.find(|c: char| c.is_ascii_digit()).unwrap_or(id.len());
        let (letters, rest) = id.split_at(start);
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (numbers, suffix) = rest.split_at(end);
        Self {
            letters: letters.to_owned(),
            numbers: numbers.split('.').filter_map(|number| number.parse().ok()).collect(),
            suffix: suffix.to_owned(),
        }
    }

    /// Returns true if both are of one kind, so that a range can lead from one to the other.
    pub fn is_alike(&self, other: &Self) -> bool {
        self.letters == other.letters
    }

    /// The same number after the letters of `other`.
    pub fn with_letters_of(self, other: &Self) -> Self {
        Self { letters: other.letters.clone(), ..self }
    }
}

/// The ids of a file.
#[derive(Debug)]
pub(super) struct KnownIds {
    ids: HashSet<String>,
    ordered: BTreeMap<Key, String>,
    letters: HashSet<String>,
    /// How many ids of ranges may still be named.
    range_ids_left: Cell<usize>,
}

impl KnownIds {
    pub fn new(ids: HashSet<String>) -> Self {
        let ordered: BTreeMap<_, _> = ids.iter().map(|id| (Key::new(id), id.clone())).collect();
        let letters = ordered.keys().map(|key| key.letters.clone()).collect();
        Self { ids, ordered, letters, range_ids_left: Cell::new(MAX_RANGE_IDS_IN_ALL) }
    }

    /// Returns the ids that `waits` mean. What does not exist stays, if the file has ids of its kind: it is a mistake
    /// that the user should hear of. `FR-003` in a file without such ids names a requirement, not a task.
    pub fn resolve(&self, waits: &[Dependency], own: Option<&str>) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for (from, until) in waits {
            let Some(from) = self.canonical(from) else { continue };
            let Some(until) = until.as_ref().and_then(|until| self.range_end(&from, until)) else {
                found.push(from);
                continue;
            };
            let (first, last) = (Key::new(&from), Key::new(&until));
            found.push(from);
            if first.letters == last.letters && first < last {
                let left = self.range_ids_left.get();
                let before = found.len();
                let within = self.ordered.range(&first..=&last).take(MAX_RANGE_IDS.min(left));
                found.extend(within.map(|(_, id)| id.clone()));
                self.range_ids_left.set(left - (found.len() - before));
            }
            found.push(until);
        }
        let mut seen: HashSet<String> = HashSet::new();
        found.retain(|id| Some(id.as_str()) != own && seen.insert(id.clone()));
        found
    }

    /// Returns the id as the file writes it: `Task 1.2` may stand for `1.2`.
    fn canonical(&self, id: &str) -> Option<String> {
        let number = id.trim_start_matches(|c: char| c.is_ascii_alphabetic() || "-_# ".contains(c));
        let is_task_word = id.len() > 4 && id[..4].eq_ignore_ascii_case("task");
        if self.ids.contains(id) {
            Some(id.to_owned())
        } else if is_task_word && self.ids.contains(number) {
            Some(number.to_owned())
        } else {
            let letters = Key::new(id).letters;
            // A number alone may count anything.
            (!letters.is_empty() && self.letters.contains(&letters)).then(|| id.to_owned())
        }
    }

    /// `T001-003` means `T001-T003`.
    fn range_end(&self, from: &str, until: &str) -> Option<String> {
        let is_bare = until.starts_with(|c: char| c.is_ascii_digit());
        let letters = Key::new(from).letters;
        self.canonical(&if is_bare { format!("{letters}{until}") } else { until.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ranges_of_a_long_list_name_a_bounded_number_of_ids() {
        let known = KnownIds::new((1..=MAX_RANGE_IDS).map(|number| format!("T{number:04}")).collect());
        let all = [("T0001".to_owned(), Some(format!("T{MAX_RANGE_IDS:04}")))];
        let counts: Vec<usize> =
            (0..=MAX_RANGE_IDS_IN_ALL / MAX_RANGE_IDS).map(|_| known.resolve(&all, None).len()).collect();
        let (last, others) = counts.split_last().unwrap();
        assert!(others.iter().all(|count| *count == MAX_RANGE_IDS));
        assert_eq!(*last, 2);
    }
}
