//! The phases and the stories of a list, and how many of their tasks are done.

use std::collections::HashMap;

use serde::Serialize;

use super::{Item, TaskList};

/// Tasks that belong together: a phase or a story.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Group {
    /// The heading of a phase as written, the story as `US1`.
    pub name: String,
    /// Tasks with a mark.
    pub done: usize,
    /// Tasks without one.
    pub open: usize,
}

impl TaskList {
    /// Returns the phases that have tasks, in the order in which the file names them.
    ///
    /// ```
    /// let list = tasklist::TaskList::parse(b"## Phase 1: Setup\n- [x] T001 a\n## Phase 2: More\n- [ ] T002 b\n").expect("it is UTF-8");
    /// let phases: Vec<_> = list.phases().into_iter().map(|phase| (phase.name, phase.open)).collect();
    /// assert_eq!(phases, [("Phase 1: Setup".to_owned(), 0), ("Phase 2: More".to_owned(), 1)]);
    /// ```
    pub fn phases(&self) -> Vec<Group> {
        self.groups(|item| item.phase.as_slice())
    }

    /// Returns the stories that have tasks, in the order in which the file names them. A task may count for several.
    pub fn stories(&self) -> Vec<Group> {
        self.groups(|item| &item.stories)
    }

    fn groups<'a>(&'a self, names: impl Fn(&'a Item) -> &'a [String]) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        for item in self.tasks() {
            for name in names(item) {
                let place = *places.entry(name).or_insert_with(|| {
                    groups.push(Group { name: name.clone(), done: 0, open: 0 });
                    groups.len() - 1
                });
                *(if item.done { &mut groups[place].done } else { &mut groups[place].open }) += 1;
            }
        }
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(groups: &[Group]) -> String {
        let one = |group: &Group| format!("{} {}/{}", group.name, group.done, group.done + group.open);
        groups.iter().map(one).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn phases_and_stories_are_counted_in_the_order_of_the_file() {
        let source = "- [ ] T000 z\n## Phase 1: Setup\n- [x] T001 a\n  - [ ] a criterion\n## Phase 2: User Story 1\n\
                      - [x] T002 [US1] b\n- [ ] T003 [US1+US2] c\n- [ ] T004 d\n## Phase 1: Setup\n- [ ] T005 e\n\
                      ## Notes\n- [ ] only a criterion\n";
        let list = TaskList::parse(source.as_bytes()).unwrap();
        assert_eq!(shown(&list.phases()), "Phase 1: Setup 1/2; Phase 2: User Story 1 1/3");
        assert_eq!(shown(&list.stories()), "US1 1/3; US2 0/1");
        assert_eq!(shown(&TaskList::default().phases()), "");
    }
}
