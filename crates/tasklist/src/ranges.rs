//! Items that stand for ranges of ids, such as `T001-T003`.

use std::collections::HashMap;

/// The items that stand for ranges of ids, by the letters of these: the first number of each range, and of all that begin no
/// later, the last number and the place of the one that goes farthest.
pub(super) type Ranges = HashMap<String, Vec<(u64, u64, usize)>>;

/// `ends` are the first and the last id of each item, where it has them.
pub(super) fn ranges<'a>(ends: impl Iterator<Item = (Option<&'a str>, Option<&'a str>)>) -> Ranges {
    let mut by_letters = Ranges::new();
    for (index, ends) in ends.enumerate() {
        let (Some(from), Some(until)) = ends else { continue };
        if let (Some(first), Some(last)) = (number(from), number(until)) {
            by_letters.entry(letters(from).to_owned()).or_default().push((first, last, index));
        }
    }
    for ranges in by_letters.values_mut() {
        ranges.sort_by_key(|(first, ..)| *first);
        let mut farthest: Option<(u64, usize)> = None;
        for (_, last, index) in ranges {
            (*last, *index) = farthest.filter(|(end, _)| end >= last).unwrap_or((*last, *index));
            farthest = Some((*last, *index));
        }
    }
    by_letters
}

/// Returns the place of an item whose range has `id` in it.
pub(super) fn range_around(ranges: &Ranges, id: &str) -> Option<usize> {
    let (ranges, number) = (ranges.get(letters(id))?, number(id)?);
    let before = ranges.partition_point(|(first, ..)| *first <= number);
    let &(_, last, index) = ranges[..before].last()?;
    (number <= last).then_some(index)
}

fn number(id: &str) -> Option<u64> {
    id.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().ok()
}

fn letters(id: &str) -> &str {
    id.trim_end_matches(|c: char| c.is_ascii_digit())
}
