//! Items that stand for ranges of ids, such as `T001-T003`.

use std::collections::HashMap;

/// The items that stand for ranges of ids, by the letters of these.
#[derive(Debug, Clone, Default)]
pub(super) struct Ranges {
    by_letters: HashMap<String, Vec<Range>>,
}

/// A range of ids, and of all that begin before it the one that goes farthest.
#[derive(Debug, Clone)]
struct Range {
    from: u64,
    /// Last number and place of that one.
    farthest: (u64, usize),
}

impl Ranges {
    /// `ends` are the first and the last id of each item, where it has them.
    pub fn of<'a>(ends: impl Iterator<Item = (Option<&'a str>, Option<&'a str>)>) -> Self {
        let mut by_letters: HashMap<String, Vec<Range>> = HashMap::new();
        for (index, ends) in ends.enumerate() {
            let (Some(from), Some(until)) = ends else { continue };
            if let (Some(first), Some(last)) = (number(from), number(until)) {
                let range = Range { from: first, farthest: (last, index) };
                by_letters.entry(letters(from).to_owned()).or_default().push(range);
            }
        }
        for ranges in by_letters.values_mut() {
            ranges.sort_by_key(|range| range.from);
            let mut farthest: Option<(u64, usize)> = None;
            for range in ranges {
                let found = farthest.filter(|(last, _)| *last >= range.farthest.0);
                range.farthest = found.unwrap_or(range.farthest);
                farthest = Some(range.farthest);
            }
        }
        Self { by_letters }
    }

    /// Returns the place of an item whose range has `id` in it.
    pub fn around(&self, id: &str) -> Option<usize> {
        let (ranges, number) = (self.by_letters.get(letters(id))?, number(id)?);
        let before = ranges.partition_point(|range| range.from <= number);
        let (last, index) = ranges[..before].last()?.farthest;
        (number <= last).then_some(index)
    }
}

fn number(id: &str) -> Option<u64> {
    id.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().ok()
}

fn letters(id: &str) -> &str {
    id.trim_end_matches(|c: char| c.is_ascii_digit())
}
