//! Tasks that consist of their sub-tasks: with the last of these they are done.

use super::item::{Item, Kind};
use super::list::TaskList;

impl TaskList {
    /// Returns the open tasks that consist of their sub-tasks, and of which all that are not optional are done.
    ///
    /// ```
    /// let list = tasklist::TaskList::parse(b"- [ ] 1. a\n  - [x] 1.1 b\n- [ ] 2. c\n- [ ] 2.1 d\n").expect("it is UTF-8");
    /// let finished: Vec<_> = list.finished_parents().into_iter().map(|item| item.name.as_str()).collect();
    /// assert_eq!(finished, ["1"]);
    /// ```
    pub fn finished_parents(&self) -> Vec<&Item> {
        let finished = self.finished();
        self.items
            .iter()
            .zip(finished)
            .filter(|(_, is_finished)| *is_finished)
            .map(|(item, _)| item)
            .collect()
    }

    /// Returns which items are such tasks.
    pub(super) fn finished(&self) -> Vec<bool> {
        let mut finished = vec![false; self.items.len()];
        if self.conflict.is_some() {
            return finished;
        }
        let [mut has_done, mut has_open] = [finished.clone(), finished.clone()];
        let mut is_more = finished.clone();
        for (index, item) in self.items.iter().enumerate().rev() {
            let is_bare = item.is_task() && !item.has_own_work && !is_more[index];
            finished[index] = is_bare && !item.done && has_done[index] && !has_open[index];
            let Some(parent) = item.parent else { continue };
            match item.kind {
                Kind::Task if item.optional => {}
                Kind::Task if item.done || finished[index] => has_done[parent] = true,
                Kind::Task => has_open[parent] = true,
                Kind::Criterion => is_more[parent] = true,
                Kind::Struck | Kind::Copy => {}
            }
            has_open[parent] |= has_open[index];
        }
        finished
    }

    /// Returns the ticked tasks that consist of sub-tasks of which one of `opened` is opened again.
    pub fn parents_to_open(&self, opened: &[&Item]) -> Vec<&Item> {
        let mut parents: Vec<usize> = Vec::new();
        for item in opened.iter().filter(|item| !item.optional) {
            let found = self.items.binary_search_by_key(&item.offset, |item| item.offset);
            let mut around = found.ok().and_then(|index| self.items[index].parent);
            while let Some(parent) = around {
                let is_more = |part: &Item| part.parent == Some(parent) && part.kind == Kind::Criterion;
                let above = &self.items[parent];
                if above.done && above.is_task() && !above.has_own_work && !self.items.iter().any(is_more) {
                    parents.push(parent);
                }
                around = above.parent;
            }
        }
        parents.sort_unstable();
        parents.dedup();
        let is_opened = |item: &Item| opened.iter().any(|opened| opened.offset == item.offset);
        parents.into_iter().map(|parent| &self.items[parent]).filter(|item| !is_opened(item)).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Item, Pick, TaskList};

    fn names<'a>(items: impl IntoIterator<Item = &'a Item>) -> String {
        items.into_iter().map(|item| item.name.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_parent_is_finished_with_the_last_of_its_sub_tasks() {
        for (source, expected) in [
            ("- [ ] 1. a\n  - [x] 1.1 b\n  - [x] 1.2 c\n", "1"),
            ("- [ ] 1. a\n  - [x] 1.1 b\n  - [ ] 1.2 c\n", ""),
            ("- [x] 1. a\n  - [x] 1.1 b\n", ""),
            ("- [ ] T001 a\n  - [x] T002 b\n", "T001"),
            ("- [ ] 1. a\n  - [ ] 1.1 b\n    - [x] 1.1.1 c\n", "1 1.1"),
            ("- [ ] 1. a\n  - [x] 1.1 b\n    - [ ] 1.1.1 c\n", ""),
            // Optional and struck ones do not count, and one must have been done.
            ("- [ ] 1. a\n  - [x] 1.1 b\n  - [ ]* 1.2 c\n", "1"),
            ("- [ ] 1. a\n  - [x] 1.1 b\n  - [ ] ~~1.2 c~~\n", "1"),
            ("- [ ] 1. a\n  - [ ]* 1.1 b\n", ""),
            // By number alone.
            ("- [ ] 1. a\n- [x] 1.1 b\n- [x] 1.2 c\n- [ ] 2. d\n", "1"),
            ("- [ ] 1. a\n- [x] 1.1 b\n- [ ] 1.2 c\n", ""),
            ("- [x] 1.1 b\n- [ ] 1. a\n", ""),
            ("- [ ] 1. a\n- [ ] 2. d\n- [x] 1.1 b\n", ""),
            ("- [ ] 1. a\n- [x] 1.1 b\n- [ ] 1. c\n", ""),
            ("## A\n- [ ] 1. a\n## B\n- [x] 1.1 b\n", ""),
            ("- [ ] 1. a\n- [x] 1A.1 b\n", ""),
            ("- [ ] T1 a\n- [x] T1.1 b\n", ""),
            ("- [ ] 1. a\n- [x] 1.1 b\n- [ ]* 1.2 c\n", "1"),
            // Work of its own.
            ("- [ ] 1. a\n\n  Wire it up.\n\n  - [x] 1.1 b\n", ""),
            ("- [ ] 1. a\n  - Wire it up\n  - [x] 1.1 b\n", ""),
            ("- [ ] 1. a\n  - [ ] it works\n  - [x] 1.1 b\n", ""),
            ("- [ ] 1. a in src/main.rs\n  - [x] 1.1 b\n", ""),
            ("- [ ] 1. a in `src/models/`\n  - [x] 1.1 b\n", ""),
            ("- [ ] 1. 建立於 package.json\n  - [x] 1.1 b\n", ""),
            ("- [ ] 1. a\n\n  ```sh\n  make\n  ```\n  - [x] 1.1 b\n", ""),
            // None of its own.
            ("- [ ] 1. a\n  - _Requirements: 1.1, 2.3_\n  - [x] 1.1 b\n", "1"),
            ("- [ ] 1. a\n  - [x] 1.1 b\n    - Wire it up\n  - _要件: 3_\n", "1"),
            ("- [ ] 1. Set up Node.js and read/write\n  - [x] 1.1 b\n", "1"),
        ] {
            let list = TaskList::parse(source.as_bytes()).unwrap();
            assert_eq!(names(list.finished_parents()), expected, "{source}");
        }
    }

    #[test]
    fn a_parent_comes_after_its_sub_tasks_by_number_too() {
        for (source, expected) in [
            ("- [ ] 1. a\n- [ ] 1.1 b\n- [ ] 2. c\n", "1.1"),
            ("- [ ] 1. a in src/a.rs\n- [x] 1.1 b\n- [ ] 2. c\n", "1"),
            // The loop ticks it: an agent has nothing to do there.
            ("- [ ] 1. a\n- [x] 1.1 b\n- [ ] 2. c\n", "2"),
        ] {
            let list = TaskList::parse(source.as_bytes()).unwrap();
            let Pick::Task(item) = list.next_open(|_| false) else { panic!("{source}") };
            assert_eq!(item.name, expected, "{source}");
        }
    }

    #[test]
    fn a_parent_is_opened_again_with_a_sub_task() {
        for (source, opened, expected) in [
            ("- [x] 1. a\n  - [x] 1.1 b\n    - [x] 1.1.1 c\n- [x] 2. d\n", "1.1.1", "1 1.1"),
            ("- [x] 1. a\n- [x] 1.1 b\n", "1.1", "1"),
            ("- [ ] 1. a\n  - [x] 1.1 b\n", "1.1", ""),
            ("- [x] 1. a in src/a.rs\n  - [x] 1.1 b\n", "1.1", ""),
            ("- [x] 1. a\n  - [x]* 1.1 b\n", "1.1", ""),
        ] {
            let list = TaskList::parse(source.as_bytes()).unwrap();
            assert_eq!(names(list.parents_to_open(&[list.find(opened).unwrap()])), expected, "{source}");
        }
    }
}
