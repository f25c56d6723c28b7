//! Which task comes next, and what keeps the others from being it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;

use super::ranges::range_around;
use super::{Item, Selection, TaskList, TaskName};

/// The next task, or why there is none.
#[derive(Debug, PartialEq, Eq)]
pub enum Pick<'a> {
    /// This one.
    Task(&'a Item),
    /// Every task is done.
    NoneOpen,
    /// Tasks are open, but each has something in its way.
    Blocked(Vec<Blocked>),
}

/// An open task that cannot be picked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocked {
    /// The open task.
    pub task: TaskName,
    /// What is in its way.
    pub obstacle: Obstacle,
}

/// What is in a task's way. Names are as the file writes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// It was skipped.
    Skipped,
    /// It waits for a task that was skipped in this session.
    WaitsForSkipped(String),
    /// It waits for an id that no item has.
    WaitsForUnknown(String),
    /// It waits for a task whose box Markdown does not know, so that its state is unknown.
    WaitsForUnrecognised(String),
    /// It waits for a task that waits for it in turn.
    WaitsInCircle(String),
    /// It waits for a task that is open and blocked itself, or that is no task to pick.
    WaitsForOpen(String),
}

impl fmt::Display for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let task = &self.task;
        match &self.obstacle {
            Obstacle::Skipped => write!(f, "{task} was skipped"),
            Obstacle::WaitsForSkipped(other) => write!(f, "{task} waits for {other}, which was skipped"),
            Obstacle::WaitsForUnknown(other) => write!(f, "{task} waits for {other}, which does not exist"),
            Obstacle::WaitsForUnrecognised(other) => {
                write!(f, "{task} waits for {other}, whose box is none that Markdown knows")
            }
            Obstacle::WaitsInCircle(other) => {
                write!(f, "{task} waits for {other}, which waits for {task} in turn")
            }
            Obstacle::WaitsForOpen(other) => write!(f, "{task} waits for {other}, which is open"),
        }
    }
}

/// The first thing that keeps an item back.
#[derive(Debug, Clone)]
enum Wait {
    Item(usize),
    Unknown(String),
}

/// Among which tasks to pick.
struct Picking<'a> {
    /// `None` for all of the list.
    selection: Option<&'a Selection>,
    is_skipped: &'a dyn Fn(&str) -> bool,
}

impl Picking<'_> {
    fn is_candidate(&self, item: &Item) -> bool {
        self.selection.is_none_or(|selection| selection.has(&item.name))
    }
}

impl TaskList {
    /// Returns the first open task in the file's order that nothing keeps back: it is not skipped, what it depends on
    /// is done, and so are its sub-tasks.
    pub fn next_open(&self, is_skipped: impl Fn(&str) -> bool) -> Pick<'_> {
        self.pick(&Picking { selection: None, is_skipped: &is_skipped })
    }

    /// Returns the same among the tasks of `selection`. What is outside of it keeps nothing back: who names tasks wants
    /// these.
    pub fn next_open_in(&self, selection: &Selection, is_skipped: impl Fn(&str) -> bool) -> Pick<'_> {
        self.pick(&Picking { selection: Some(selection), is_skipped: &is_skipped })
    }

    /// Returns the tasks of `group` that can be done together, in the file's order: what is open, not skipped, and waits
    /// for nothing but each other. `selection` is what may be picked; `None` for all of the list.
    ///
    /// ```
    /// use tasklist::{Selector, TaskList};
    ///
    /// let list = TaskList::parse(b"- [ ] T001 a\n- [ ] T002 b (depends on T001)\n- [ ] T003 c\n").expect("it is UTF-8");
    /// let group = list.select(&[Selector::Tasks("T001-T003")]).expect("they exist");
    /// let together = |skipped: &str| -> Vec<&str> {
    ///     list.open_together(&group, None, |name| name == skipped).map(|item| item.name.as_str()).collect()
    /// };
    /// assert_eq!(together("T003"), ["T001", "T002"]);
    /// assert_eq!(together("T001"), ["T003"]);
    /// ```
    pub fn open_together(
        &self,
        group: &Selection,
        selection: Option<&Selection>,
        is_skipped: impl Fn(&str) -> bool,
    ) -> impl Iterator<Item = &Item> {
        let picking = Picking { selection, is_skipped: &is_skipped };
        let open: Vec<(usize, &Item)> = self.open(&picking).collect();
        let wanted = open.iter().filter(|(_, item)| group.has(&item.name) && !is_skipped(&item.name));
        let mut together: BTreeSet<usize> = wanted.map(|(index, _)| *index).collect();
        loop {
            // What is left out holds back what waits for it, and what it is a part of.
            let mut held_back = HashSet::new();
            for (index, item) in &open {
                let is_out = !together.contains(index);
                if !is_out && self.waits_beyond(item, &together, &picking) {
                    held_back.insert(*index);
                }
                let mut around = item.parent.filter(|_| is_out && !item.optional);
                while let Some(parent) = around {
                    held_back.insert(parent);
                    around = self.items[parent].parent;
                }
            }
            let before = together.len();
            together.retain(|index| !held_back.contains(index));
            if together.len() == before {
                break;
            }
        }
        together.into_iter().map(|index| &self.items[index])
    }

    /// Returns true if `item` waits for an open task that is not among `together`, or for an id that does not exist.
    fn waits_beyond(&self, item: &Item, together: &BTreeSet<usize>, picking: &Picking<'_>) -> bool {
        item.depends_on.iter().any(|id| {
            let indices = self.items_of(id);
            indices.is_empty() && picking.selection.is_none()
                || indices.iter().any(|index| {
                    let other = &self.items[*index];
                    !other.is_settled() && picking.is_candidate(other) && !together.contains(index)
                })
        })
    }

    /// Returns what open tasks of `selection` wait for that is open and outside of it, one each.
    pub fn waits_outside(&self, selection: &Selection) -> Vec<Blocked> {
        let picking = Picking { selection: Some(selection), is_skipped: &|_| false };
        self.open(&picking)
            .filter_map(|(_, item)| {
                let waited_for = item.depends_on.iter().flat_map(|id| self.items_of(id));
                let mut open = waited_for.map(|index| &self.items[index]).filter(|other| !other.is_settled());
                let other = open.find(|other| !selection.has(&other.name))?;
                let obstacle = Obstacle::WaitsForOpen(other.name.clone());
                Some(Blocked { task: item.name.clone(), obstacle })
            })
            .collect()
    }

    /// Returns what `item` waits for: of its dependencies that are open one that `is_first`, or else the first.
    pub fn waits_for(&self, item: &Item, is_first: impl Fn(&Item) -> bool) -> Option<&Item> {
        let waited_for = item.depends_on.iter().flat_map(|id| self.items_of(id));
        let open: Vec<&Item> =
            waited_for.map(|index| &self.items[index]).filter(|other| !other.is_settled()).collect();
        open.iter().find(|other| is_first(other)).or(open.first()).copied()
    }

    fn pick<'a>(&'a self, picking: &Picking<'_>) -> Pick<'a> {
        let open_below = self.open_below(picking);
        let mut waits = HashMap::new();
        let mut known = HashMap::new();
        let finished = self.finished();
        let mut last = None;
        for (index, item) in self.open(picking) {
            let below = open_below[index].map(Wait::Item);
            let wait = below.or_else(|| self.open_dependency(item, picking, &mut known));
            match wait {
                None if (picking.is_skipped)(&item.name) => {}
                // What is optional, and what consists of sub-tasks that are done: whoever can tick its box does.
                None if item.optional || finished[index] => {
                    last.get_or_insert(item);
                }
                None => return Pick::Task(item),
                Some(wait) => {
                    waits.insert(index, wait);
                }
            }
        }
        if let Some(item) = last {
            return Pick::Task(item);
        }
        let blocked: Vec<_> = self.blocked(&waits, picking);
        if blocked.is_empty() { Pick::NoneOpen } else { Pick::Blocked(blocked) }
    }

    /// Returns the open tasks that may be picked, with their places.
    fn open<'a, 'b>(
        &'a self,
        picking: &'b Picking<'b>,
    ) -> impl Iterator<Item = (usize, &'a Item)> + use<'a, 'b> {
        let items = self.items.iter().enumerate();
        items.filter(|(_, item)| item.is_task() && !item.done && picking.is_candidate(item))
    }

    /// For each item the first open task inside it that it waits for.
    fn open_below(&self, picking: &Picking<'_>) -> Vec<Option<usize>> {
        let mut open_below = vec![None; self.items.len()];
        for (index, item) in self.items.iter().enumerate().rev() {
            let is_open = item.is_task() && !item.done && !item.optional && picking.is_candidate(item);
            let first = if is_open { Some(index) } else { open_below[index] };
            if let (Some(parent), Some(_)) = (item.parent, first) {
                open_below[parent] = first;
            }
        }
        open_below
    }

    /// Returns what `item` waits for. A skipped or unknown one is named before others: it will not become done.
    fn open_dependency<'a>(
        &'a self,
        item: &'a Item,
        picking: &Picking<'_>,
        known: &mut HashMap<&'a str, Option<Wait>>,
    ) -> Option<Wait> {
        let mut first = None;
        for id in &item.depends_on {
            let wait = known.entry(id).or_insert_with(|| self.open_of_id(id, picking));
            match wait {
                Some(Wait::Item(index)) if !(picking.is_skipped)(&self.items[*index].name) => {
                    first.get_or_insert(Wait::Item(*index));
                }
                Some(wait) => return Some(wait.clone()),
                None => {}
            }
        }
        first
    }

    /// Returns what is open of an id.
    fn open_of_id(&self, id: &str, picking: &Picking<'_>) -> Option<Wait> {
        let indices = self.items_of(id);
        if indices.is_empty() && picking.selection.is_none() {
            return Some(Wait::Unknown(id.to_owned()));
        }
        let is_open =
            |index: &usize| !self.items[*index].is_settled() && picking.is_candidate(&self.items[*index]);
        let mut open = indices.into_iter().filter(is_open).peekable();
        let first = open.peek().copied();
        open.find(|index| (picking.is_skipped)(&self.items[*index].name)).or(first).map(Wait::Item)
    }

    /// Returns all items with that id, or else the item that stands for a range around it.
    fn items_of(&self, id: &str) -> Vec<usize> {
        match self.by_id.get(id) {
            Some(indices) => indices.clone(),
            None => range_around(&self.ranges, id).into_iter().collect(),
        }
    }

    fn blocked(&self, waits: &HashMap<usize, Wait>, picking: &Picking<'_>) -> Vec<Blocked> {
        let is_skipped = picking.is_skipped;
        let circles = circles(waits);
        self.open(picking)
            .map(|(index, item)| {
                let obstacle = match waits.get(&index) {
                    _ if is_skipped(&item.name) => Obstacle::Skipped,
                    None => Obstacle::Skipped,
                    Some(Wait::Unknown(id)) if self.unrecognised_ids.contains(id) => {
                        Obstacle::WaitsForUnrecognised(id.clone())
                    }
                    Some(Wait::Unknown(id)) => Obstacle::WaitsForUnknown(id.clone()),
                    Some(Wait::Item(other)) => {
                        let name = self.items[*other].name.clone();
                        if is_skipped(&name) {
                            Obstacle::WaitsForSkipped(name)
                        } else if circles.contains(&index) {
                            Obstacle::WaitsInCircle(name)
                        } else {
                            Obstacle::WaitsForOpen(name)
                        }
                    }
                };
                Blocked { task: item.name.clone(), obstacle }
            })
            .collect()
    }
}

/// Returns the items that come back to themselves when one follows what each waits for.
fn circles(waits: &HashMap<usize, Wait>) -> HashSet<usize> {
    let mut in_circle = HashSet::new();
    let mut seen_in: HashMap<usize, usize> = HashMap::new();
    for start in waits.keys() {
        let mut at = *start;
        let mut path = Vec::new();
        loop {
            match seen_in.get(&at) {
                Some(walk) if walk == start => {
                    in_circle.extend(path.iter().copied().skip_while(|index| *index != at));
                    break;
                }
                Some(_) => break,
                None => {}
            }
            seen_in.insert(at, *start);
            path.push(at);
            match waits.get(&at) {
                Some(Wait::Item(next)) => at = *next,
                _ => break,
            }
        }
    }
    in_circle
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Selector;

    #[track_caller]
    fn case(source: &str, skipped: &[&str], expected: &str) {
        let list = TaskList::parse(source.as_bytes()).unwrap();
        let found = match list.next_open(|name| skipped.contains(&name)) {
            Pick::Task(item) => item.name.clone(),
            Pick::NoneOpen => "none open".to_owned(),
            Pick::Blocked(all) => all.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
        };
        assert_eq!(found, expected, "{source}");
    }

    #[test]
    fn the_first_open_task_in_file_order_is_next() {
        case("- [x] T001 a\n- [ ] T009 b\n- [ ] T002 c\n", &[], "T009");
        case("- [ ] T001 a\n- [ ] T002 b\n", &["T001"], "T002");
        case("- [ ] T001 a\n- [ ] T001 b\n", &["T001"], "T001#2");
        case("- [x] T001 a\n- [ ] b\n- [-] T002 c\n", &[], "none open");
        case(
            "- [ ] ~~T001 a~~\n- [ ] T002 b — won't do\n- [ ] T003 c (depends on T001, T002)\n",
            &[],
            "T003",
        );
        case("- [✓] T001 a\n- [ ] T002 b (depends on T001)\n", &[], "T002");
        case("- [x] T001 a\n- [ ] T001 a\n- [ ] T002 b (depends on T001)\n", &[], "T002");
        case("", &[], "none open");
    }

    #[test]
    fn a_parent_comes_after_its_open_sub_tasks() {
        case("- [ ] 1. a\n  - [x] 1.1 b\n  - [ ] 1.2 c\n", &[], "1.2");
        case("- [ ] 1. a\n  - [x] 1.1 b\n  - [ ] a criterion\n", &[], "1");
        case("- [ ] 1. a\n  - [ ] 1.1 b\n", &["1.1"], "1 waits for 1.1, which was skipped; 1.1 was skipped");
        case("- [ ] T001 a\n  - plain\n    - [ ] T002 b\n", &[], "T002");
    }

    #[test]
    fn what_is_optional_comes_last_and_keeps_nothing_back() {
        case("- [ ]* 1. a\n- [ ] 2. b\n", &[], "2");
        case("- [ ]* 1. a\n- [x] 2. b\n", &[], "1");
        case("- [ ]* 1. a\n- [ ] 2. b (depends on 1)\n- [ ] 3. c\n", &[], "3");
        case("- [ ]* 1. a\n- [ ] 2. b (depends on 1)\n- [x] 3. c\n", &[], "1");
        case("- [ ] 1. a\n  - [x] 1.1 b\n  - [ ]* 1.2 c\n- [ ] 2. d\n", &[], "2");
        case("- [ ] 1. a in src/a.rs\n  - [x] 1.1 b\n  - [ ]* 1.2 c\n- [ ] 2. d\n", &[], "1");
        case("- [ ]* 1. a\n", &["1"], "1 was skipped");
    }

    #[test]
    fn dependencies_are_done_first() {
        case("- [ ] T001 a (depends on T002)\n- [ ] T002 b\n", &[], "T002");
        case("- [ ] T001 a (depends on T002)\n- [x] T002 b\n", &[], "T001");
        case("- [ ] T001 a (depends on T002)\n- [x] T002 b\n- [ ] T002 c\n", &[], "T002#2");
        case("- [ ] T001 a (depends on T004)\n- [x] T003-T006 b\n", &[], "T001");
    }

    #[test]
    fn what_is_outside_of_a_selection_keeps_nothing_back() {
        let source = "- [ ] T001 a\n- [ ] T002 b (depends on T001, T099)\n- [ ] T003 c (depends on T004)\n- [ ] T004 d\n\
                      - [ ] T005 e\n  - [ ] T006 f\n";
        let list = TaskList::parse(source.as_bytes()).unwrap();
        let case = |tasks: &str, skipped: &[&str], expected: &str| {
            let selection = list.select(&[Selector::Tasks(tasks)]).unwrap();
            let found = match list.next_open_in(&selection, |name| skipped.contains(&name)) {
                Pick::Task(item) => item.name.clone(),
                Pick::NoneOpen => "none open".to_owned(),
                Pick::Blocked(all) => all.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
            };
            assert_eq!(found, expected, "{tasks}");
        };
        case("T002-T004", &[], "T002");
        case("T003", &[], "T003");
        case("T003-T004", &[], "T004");
        case("T003-T004", &["T004"], "T003 waits for T004, which was skipped; T004 was skipped");
        case("T005", &[], "T005");
        case("T005-T006", &[], "T006");
        case("T001", &["T001"], "T001 was skipped");
        let selection = list.select(&[Selector::Tasks("T002-T003")]).unwrap();
        let waits: Vec<_> = list.waits_outside(&selection).iter().map(ToString::to_string).collect();
        assert_eq!(waits, ["T002 waits for T001, which is open", "T003 waits for T004, which is open"]);
    }

    #[test]
    fn blocked_tasks_say_why() {
        case("- [ ] T001 a (depends on T009)\n", &[], "T001 waits for T009, which does not exist");
        case(
            "- [~] T009 odd\n- [ ] T001 a (depends on T009)\n",
            &[],
            "T001 waits for T009, whose box is none that Markdown knows",
        );
        case(
            "- [ ] T001 a\n- [ ] T002 b (depends on T001)\n- [ ] T003 c (depends on T002)\n",
            &["T001"],
            "T001 was skipped; T002 waits for T001, which was skipped; T003 waits for T002, which is open",
        );
        case(
            "- [ ] T001 a (depends on T002)\n- [ ] T002 b (depends on T001)\n- [ ] T003 c (depends on T001)\n",
            &[],
            "T001 waits for T002, which waits for T001 in turn; T002 waits for T001, which waits for T002 in turn; \
             T003 waits for T001, which is open",
        );
        case(
            "- [ ] 1. a\n  - [ ] 1.1 b (depends on Task 1)\n",
            &[],
            "1 waits for 1.1, which waits for 1 in turn; 1.1 waits for 1, which waits for 1.1 in turn",
        );
    }
}
