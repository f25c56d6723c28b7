//! How a task of a list stands that no iteration tried.

use tasklist::{Item, TaskList};

use super::parse;

/// What is between a task and an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    Done,
    /// Another task must be done first.
    WaitsFor(String),
    /// Nothing is in its way.
    Ready,
}

/// Returns the name of a task as the list in a file has it, and how it stands; `task` may be in another letter case. `None`
/// if the list has no such task, or is none.
pub fn readiness(file: &[u8], task: &str) -> Option<(String, Readiness)> {
    let list = parse(file).ok()?;
    let item = list.find(task).or_else(|| list.tasks().find(|item| item.name.eq_ignore_ascii_case(task)))?;
    let readiness = match waited_for(&list, item) {
        _ if item.done => Readiness::Done,
        Some(other) => Readiness::WaitsFor(other.name.clone()),
        None => Readiness::Ready,
    };
    Some((item.name.clone(), readiness))
}

/// Returns an open task that must be done before `item`: one below it that is not optional, or one that it depends on.
fn waited_for<'a>(list: &'a TaskList, item: &Item) -> Option<&'a Item> {
    let place = list.items.iter().position(|other| other.name == item.name);
    let below =
        list.tasks().find(|other| !other.done && place.is_some() && !other.optional && other.parent == place);
    below.or_else(|| item.depends_on.iter().find_map(|id| list.find(id).filter(|other| !other.is_settled())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_waits_for_what_it_depends_on_and_for_what_is_below_it() {
        let source = "- [x] T001 a\n- [ ] T002 b (depends on T001)\n- [ ] T003 c (depends on T001, T002)\n\
                      - [ ] T004 d\n  - [ ] T005 e\n- [ ] T006 f (depends on T099)\n\
                      - [ ] ~~T007 g~~\n- [ ] T008 h (depends on T007)\n";
        for (task, expected) in [
            ("T001", Some(("T001", Readiness::Done))),
            ("t002", Some(("T002", Readiness::Ready))),
            ("T003", Some(("T003", Readiness::WaitsFor("T002".to_owned())))),
            ("T004", Some(("T004", Readiness::WaitsFor("T005".to_owned())))),
            ("T005", Some(("T005", Readiness::Ready))),
            ("T006", Some(("T006", Readiness::Ready))),
            ("T008", Some(("T008", Readiness::Ready))),
            ("T009", None),
        ] {
            let expected = expected.map(|(name, readiness)| (name.to_owned(), readiness));
            assert_eq!(readiness(source.as_bytes(), task), expected, "{task}");
        }
    }
}
