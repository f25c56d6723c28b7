//! Which item of a task list is which in a later version of the file.
//!
//! Agents do not only tick boxes: they add "(done)", move what is done below a heading, number anew, reword. What is
//! surest pairs first, and what is done prefers what was done: a box that was done before is never taken for a tick
//! while another reading of the file is as good.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::{Item, Kind, TaskList};

/// More pairs of items are not compared word by word.
const MAX_COMPARISONS: usize = 250_000;

/// Maximum number of words of a text that are compared.
const MAX_WORDS: usize = 200;

/// The items of two versions of a file, each with its counterpart in the other.
#[derive(Debug)]
pub struct Pairing<'a> {
    before: &'a TaskList,
    after: &'a TaskList,
    /// By place in `after`, the place in `before`.
    earlier: Vec<Option<usize>>,
    /// By place in `before`, the place in `after`.
    later: Vec<Option<usize>>,
}

/// A box that is done now and apparently was not before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticked<'a> {
    /// The item that was open before, or `None` if it is new in the file.
    pub before: Option<&'a Item>,
    /// What is done now.
    pub after: &'a Item,
}

impl<'a> Pairing<'a> {
    /// Pairs what is the same in words, then what is similar, then what is in the same place: for the time of an
    /// agent's run, in which all changes are most likely its own.
    pub fn likely(before: &'a TaskList, after: &'a TaskList) -> Self {
        let mut pairing = Self::words_alike(before, after);
        pairing.in_place(Reworded::Done);
        pairing.done_again();
        pairing.in_place(Reworded::Any);
        pairing
    }

    /// Pairs what is the same or similar in words: where a person may have put in other items meanwhile.
    pub fn similar(before: &'a TaskList, after: &'a TaskList) -> Self {
        let mut pairing = Self::words_alike(before, after);
        pairing.done_again();
        pairing
    }

    fn words_alike(before: &'a TaskList, after: &'a TaskList) -> Self {
        let mut pairing = Self::certain(before, after);
        pairing.alike(|_, _, words| words.is_contained());
        pairing.alike(|before, after, words| before.done && after.done && words.is_close());
        pairing.alike(|_, _, words| words.is_close());
        pairing
    }

    /// Boxes that were done before, whatever they are called now: not claimed by this iteration.
    fn done_again(&mut self) {
        self.grouped(|list, index| list.items[index].done.then_some(()));
    }

    /// Pairs only what has the same words or the same id.
    pub fn certain(before: &'a TaskList, after: &'a TaskList) -> Self {
        if is_same_but_ticked(before, after) {
            let places: Vec<_> = (0..before.items.len()).map(Some).collect();
            return Self { before, after, earlier: places.clone(), later: places };
        }
        Self::certain_by_groups(before, after)
    }

    fn certain_by_groups(before: &'a TaskList, after: &'a TaskList) -> Self {
        let earlier = vec![None; after.items.len()];
        let later = vec![None; before.items.len()];
        let mut pairing = Self { before, after, earlier, later };
        pairing.grouped(|list, index| Some((around(list, index), label(&list.items[index]))));
        pairing.grouped(|list, index| {
            let item = &list.items[index];
            Some((&*item.headings, item.depth, label(item)))
        });
        pairing.grouped(|list, index| Some(label(&list.items[index])));
        // Where ids were given anew, an id now is before other words.
        pairing.unique_texts();
        pairing
            .alike(|before, after, words| before.id.is_some() && before.id == after.id && words.is_close());
        pairing.grouped(|list, index| list.items[index].id.as_deref());
        pairing.grouped(|list, index| {
            let item = &list.items[index];
            text(item).map(|text| (&*item.headings, item.depth, text))
        });
        pairing.grouped(|list, index| text(&list.items[index]));
        pairing
    }

    /// Returns the boxes that are done and were open, and those that came done. A copy that came done says so of the open
    /// task that it repeats.
    pub fn ticked(&self) -> Vec<Ticked<'a>> {
        let both = self.earlier.iter().zip(&self.after.items);
        let both = both.map(|(place, after)| (place.map(|place| &self.before.items[place]), after));
        let ticked = both.filter(|(before, after)| after.done && before.is_none_or(|before| !before.done));
        ticked
            .map(|(before, after)| {
                let original = self.after.original(after).filter(|original| !original.done);
                let before = original.and_then(|original| self.earlier_of(original)).or(before);
                let before =
                    before.map(|item| self.before.original(item).filter(|task| !task.done).unwrap_or(item));
                Ticked { before, after }
            })
            .collect()
    }

    /// Returns the counterpart in the older list of an item of the newer one.
    pub fn earlier_of(&self, item: &Item) -> Option<&'a Item> {
        let place = self.after.items.binary_search_by_key(&item.offset, |item| item.offset).ok()?;
        self.earlier[place].map(|place| &self.before.items[place])
    }

    /// Returns the tasks that were open and are neither done now nor tasks any more.
    pub fn lost(&self) -> Vec<&'a Item> {
        let both = self.before.items.iter().zip(&self.later);
        let lost = both.clone().filter(|(item, later)| item.is_task() && !item.done && self.is_lost(**later));
        // A copy may keep it.
        lost.filter(|(item, _)| {
            !both.clone().any(|(copy, later)| copy.copy_of == Some(item.line) && !self.is_lost(*later))
        })
        .map(|(item, _)| item)
        .collect()
    }

    /// Returns true if a task is no open task at this place of the later list.
    fn is_lost(&self, later: Option<usize>) -> bool {
        let after = later.map(|place| &self.after.items[place]);
        after.is_none_or(|after| !after.done && matches!(after.kind, Kind::Criterion | Kind::Struck))
    }

    /// Returns the counterpart in the newer list of an item of the older one.
    pub(super) fn later(&self, item: &Item) -> Option<&'a Item> {
        let place = self.before.items.binary_search_by_key(&item.offset, |item| item.offset).ok()?;
        self.later[place].map(|place| &self.after.items[place])
    }

    fn pair(&mut self, before: usize, after: usize) {
        self.earlier[after] = Some(before);
        self.later[before] = Some(after);
    }

    /// Returns what has no counterpart yet, in the order of the older and the newer file.
    fn left(&self) -> (Vec<usize>, Vec<usize>) {
        let left =
            |places: &[Option<usize>]| (0..places.len()).filter(|place| places[*place].is_none()).collect();
        (left(&self.later), left(&self.earlier))
    }

    /// Pairs what is left and has the same key.
    fn grouped<K: Ord>(&mut self, key: impl Fn(&'a TaskList, usize) -> Option<K>) {
        let (before, after) = self.left();
        if before.is_empty() || after.is_empty() {
            return;
        }
        for (before, after) in groups(self.keyed(&before, &after, key)).into_values() {
            self.assign(before, after);
        }
    }

    fn keyed<K>(
        &self,
        before: &[usize],
        after: &[usize],
        key: impl Fn(&'a TaskList, usize) -> Option<K>,
    ) -> Vec<(K, Side)> {
        let older = before.iter().filter_map(|place| Some((key(self.before, *place)?, Side::Before(*place))));
        let newer = after.iter().filter_map(|place| Some((key(self.after, *place)?, Side::After(*place))));
        older.chain(newer).collect()
    }

    /// Pairs items that differ only in their order, so that as few as possible were ticked.
    fn assign(&mut self, mut before: Vec<usize>, mut after: Vec<usize>) {
        // A task is its own counterpart before a copy of it is.
        before.sort_by_key(|place| self.before.items[*place].kind == Kind::Copy);
        after.sort_by_key(|place| self.after.items[*place].kind == Kind::Copy);
        self.pair_done(&before, &after);
        let done_before = done_left(self.before, &before, &self.later);
        let done_after = done_left(self.after, &after, &self.earlier);
        for (one, other) in done_before.into_iter().zip(done_after) {
            self.pair(one, other);
        }
        before.retain(|place| self.later[*place].is_none());
        after.retain(|place| self.earlier[*place].is_none());
        for (one, other) in before.into_iter().zip(after) {
            self.pair(one, other);
        }
    }

    /// Pairs what has the same place in both rows and is done in both.
    fn pair_done(&mut self, before: &[usize], after: &[usize]) {
        for (one, other) in before.iter().zip(after) {
            if self.before.items[*one].done && self.after.items[*other].done {
                self.pair(*one, *other);
            }
        }
    }

    /// Pairs what is left by its text alone, where each side has that text once.
    fn unique_texts(&mut self) {
        let (before, after) = self.left();
        let keyed = self.keyed(&before, &after, |list, place| text(&list.items[place]));
        for (before, after) in groups(keyed).into_values() {
            if let ([before], [after]) = (before.as_slice(), after.as_slice()) {
                self.pair(*before, *after);
            }
        }
    }

    /// Pairs what is left and meant to be the same by `is_same`, the most similar first.
    fn alike(&mut self, is_same: impl Fn(&Item, &Item, &Likeness) -> bool) {
        let (before, after) = self.left();
        if before.is_empty() || before.len().saturating_mul(after.len()) > MAX_COMPARISONS {
            return;
        }
        let [older, newer] = [(self.before, &before), (self.after, &after)]
            .map(|(list, places)| places.iter().map(|place| words(&list.items[*place])).collect::<Vec<_>>());
        let mut found = Vec::new();
        for (one, one_words) in before.iter().zip(&older) {
            for (other, other_words) in after.iter().zip(&newer) {
                let (item, later) = (&self.before.items[*one], &self.after.items[*other]);
                let likeness = Likeness::of(one_words, other_words);
                if is_same(item, later, &likeness) {
                    let rank = (likeness.permille, item.done && later.done, item.headings == later.headings);
                    found.push((Reverse(rank), one.abs_diff(*other), *one, *other));
                }
            }
        }
        found.sort_unstable();
        for (_, _, one, other) in found {
            if self.later[one].is_none() && self.earlier[other].is_none() {
                self.pair(one, other);
            }
        }
    }

    /// Pairs what was reworded where it stands: as many items as before, between the same neighbours. Two ids are two
    /// tasks.
    fn in_place(&mut self, which: Reworded) {
        let (before, after) = self.left();
        let older = neighbours(&self.later, |place, _| place);
        let newer = neighbours(&self.earlier, |_, counterpart| counterpart);
        let older = before.iter().map(|&place| {
            let item = &self.before.items[place];
            ((older[place], item.depth, &*item.headings), Side::Before(place))
        });
        let newer = after.iter().map(|&place| {
            let item = &self.after.items[place];
            ((newer[place], item.depth, &*item.headings), Side::After(place))
        });
        for (before, after) in groups(older.chain(newer).collect()).into_values() {
            let have_ids = [(self.before, &before), (self.after, &after)]
                .iter()
                .all(|(list, places)| places.iter().any(|place| list.items[*place].id.is_some()));
            if before.len() != after.len() || have_ids {
                continue;
            }
            match which {
                Reworded::Done => self.pair_done(&before, &after),
                Reworded::Any => self.assign(before, after),
            }
        }
    }
}

/// What was given other words where it stands.
#[derive(Debug, Clone, Copy)]
enum Reworded {
    /// Only what is done in both.
    Done,
    Any,
}

/// An item of one of the two lists, by its place.
#[derive(Debug, Clone, Copy)]
enum Side {
    Before(usize),
    After(usize),
}

/// Returns which of the places have an item that is done and has no counterpart yet.
fn done_left(list: &TaskList, places: &[usize], counterparts: &[Option<usize>]) -> Vec<usize> {
    let left = places.iter().copied().filter(|place| counterparts[*place].is_none());
    left.filter(|place| list.items[*place].done).collect()
}

/// Returns the places in both lists that have the same key.
fn groups<K: Ord>(keyed: Vec<(K, Side)>) -> BTreeMap<K, (Vec<usize>, Vec<usize>)> {
    let mut groups: BTreeMap<K, (Vec<usize>, Vec<usize>)> = BTreeMap::new();
    for (key, side) in keyed {
        let (before, after) = groups.entry(key).or_default();
        match side {
            Side::Before(place) => before.push(place),
            Side::After(place) => after.push(place),
        }
    }
    groups
}

/// Returns the headings and the items around an item, by which equal items are distinguished.
fn around(list: &TaskList, index: usize) -> (&[String], Vec<(Option<&str>, &str)>) {
    let mut parents = Vec::new();
    let mut at = list.items[index].parent;
    while let Some(parent) = at {
        let item = &list.items[parent];
        // An id stays where the text is changed.
        parents.push((item.id.as_deref(), if item.id.is_some() { "" } else { item.text.as_str() }));
        at = item.parent;
    }
    (&list.items[index].headings, parents)
}

fn label(item: &Item) -> (Option<&str>, &str) {
    (item.id.as_deref(), &item.text)
}

fn text(item: &Item) -> Option<&str> {
    Some(item.text.as_str()).filter(|text| !text.is_empty())
}

/// For each place the nearest paired ones in front and after, as places in the older list.
fn neighbours(
    counterparts: &[Option<usize>],
    in_older: impl Fn(usize, usize) -> usize,
) -> Vec<(Option<usize>, Option<usize>)> {
    let anchors =
        || counterparts.iter().enumerate().map(|(place, other)| other.map(|other| in_older(place, other)));
    let mut neighbours = vec![(None, None); counterparts.len()];
    let mut last = None;
    for (anchor, neighbours) in anchors().zip(&mut neighbours) {
        neighbours.0 = last;
        last = anchor.or(last);
    }
    let mut next = None;
    for (anchor, neighbours) in anchors().zip(&mut neighbours).rev() {
        neighbours.1 = next;
        next = anchor.or(next);
    }
    neighbours
}

/// Returns true if the later version has the same items in the same places, and at most more of them done: then each is
/// its own counterpart, as the groups below would find at the cost of sorting all of them.
fn is_same_but_ticked(before: &TaskList, after: &TaskList) -> bool {
    before.items.len() == after.items.len()
        && before.items.iter().zip(&after.items).all(|(one, other)| {
            one.id == other.id
                && one.text == other.text
                && one.depth == other.depth
                && one.parent == other.parent
                && one.headings == other.headings
                && (other.done || !one.done)
        })
}

/// How much two texts have in common.
#[derive(Debug)]
struct Likeness {
    /// The words in common, twice, among the words of both.
    permille: usize,
    /// True if one says all that the other says.
    holds: bool,
    /// How many words the shorter one has.
    shorter: usize,
}

/// Returns the words of an item, its id among them, and all of it in a row.
fn words(item: &Item) -> (BTreeSet<String>, String) {
    let text = format!("{} {}", item.id.as_deref().unwrap_or_default(), item.text).to_lowercase();
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let words = words.take(MAX_WORDS).map(str::to_owned).collect();
    (words, text.trim().to_owned())
}

impl Likeness {
    fn of((words, text): &(BTreeSet<String>, String), (others, other): &(BTreeSet<String>, String)) -> Self {
        let common = words.intersection(others).count();
        let shorter = words.len().min(others.len());
        let begins = text.starts_with(other) || other.starts_with(text);
        Self {
            permille: 2000 * common / (words.len() + others.len()).max(1),
            holds: shorter > 0 && (common == shorter || begins),
            shorter,
        }
    }

    fn is_close(&self) -> bool {
        self.permille > 500
    }

    /// A single word is in many texts by chance.
    fn is_contained(&self) -> bool {
        self.holds && (self.shorter > 1 || self.is_close())
    }
}

#[cfg(test)]
mod tests;
