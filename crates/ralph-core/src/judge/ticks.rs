//! Which boxes an attempt may close: those of the tasks that it was asked for, and of what belongs to them.

use std::collections::BTreeSet;

use tasklist::{Item, Pairing, TaskList};

use crate::record::TaskName;

/// Returns the names, in the list before, of what an attempt at `task` may close: the task, those of its unit, what is
/// in them, and a task around them of which all else is done.
pub fn closable(
    task: &str,
    unit_tasks: &[TaskName],
    before: &TaskList,
    after: &TaskList,
) -> BTreeSet<TaskName> {
    let items = &before.items;
    let asked =
        items.iter().enumerate().filter(|(_, item)| item.name == task || unit_tasks.contains(&item.name));
    let asked: BTreeSet<usize> = asked.map(|(at, _)| at).collect();
    let own = (0..items.len())
        .filter(|at| asked.contains(at) || above(items, *at).any(|parent| asked.contains(&parent)));
    let mut closable: BTreeSet<TaskName> = own.map(|at| items[at].name.clone()).collect();
    let ticked = Pairing::likely(before, after).ticked();
    let ticked: BTreeSet<&TaskName> =
        ticked.iter().filter_map(|tick| tick.before).map(|item| &item.name).collect();
    for &at in &asked {
        for parent in above(items, at) {
            let mut parts = items.iter().filter(|item| item.parent == Some(parent));
            let is_done = |item: &Item| {
                item.is_settled()
                    || item.optional
                    || ticked.contains(&item.name) && closable.contains(&item.name)
            };
            if !parts.all(is_done) {
                break;
            }
            closable.insert(items[parent].name.clone());
        }
    }
    closable
}

/// Returns the item that has this one as a part, the one that has that, and so on.
fn above(items: &[Item], at: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(items[at].parent, |parent| items[*parent].parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_asked_may_be_closed_with_what_belongs_to_it() {
        let list = "- [ ] T001 a\n  - [ ] T002 b\n    - [ ] c\n  - [ ] T003 d\n- [ ] T004 e\n- [ ] T005 f\n";
        let case = |task: &str, unit: &[&str], done: &str, expected: &str| {
            let mut text = list.to_owned();
            for name in done.split_whitespace() {
                text = text.replace(&format!("[ ] {name} "), &format!("[x] {name} "));
            }
            let [before, after] = [list, &text].map(|text| TaskList::parse(text.as_bytes()).unwrap());
            let unit: Vec<TaskName> = unit.iter().map(|name| (*name).to_owned()).collect();
            let found: Vec<_> = closable(task, &unit, &before, &after).into_iter().collect();
            assert_eq!(found.join(" "), expected, "{task} {done}");
        };
        case("T004", &[], "T004 T005", "T004");
        case("T004", &["T004", "T005"], "T004 T005", "T004 T005");
        case("T009", &[], "T004", "");
        // Below.
        case("T002", &[], "T002", "#3 T002");
        case("T001", &[], "T001 T002 T003", "#3 T001 T002 T003");
        // Above: its other children must be done, and not by a tick that is opened again.
        case("T002", &[], "T001 T002", "#3 T002");
        case("T002", &[], "T001 T002 T003", "#3 T002");
        case("T002", &["T002", "T003"], "T001 T002 T003", "#3 T001 T002 T003");
        case("T002", &["T002", "T003"], "T001 T002", "#3 T002 T003");
    }

    #[test]
    fn the_last_child_closes_the_tasks_around_it() {
        let parse = |text: &[u8]| TaskList::parse(text).unwrap();
        let before = parse(b"- [ ] T001 a\n  - [x] T002 b\n  - [ ] T003 c\n    - [ ] T004 d\n");
        let after = parse(b"- [x] T001 a\n  - [x] T002 b\n  - [x] T003 c\n    - [x] T004 d\n");
        let found: Vec<_> = closable("T004", &[], &before, &after).into_iter().collect();
        assert_eq!(found, ["T001", "T003", "T004"]);
    }
}
