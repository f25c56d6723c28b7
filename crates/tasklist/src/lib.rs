#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod conflict;
mod copies;
mod dependencies;
mod failing_tests;
mod front_matter;
mod groups;
mod item;
mod known_ids;
mod label;
mod languages;
mod list;
mod markdown;
mod marks;
mod near_miss;
mod order;
mod own_work;
mod pairs;
mod parents;
mod phase;
mod pick;
mod ranges;
mod select;
mod story;
mod struck;
mod tests_first;
mod ticks;

pub use conflict::Conflict;
pub use groups::Group;
pub use item::{Item, Kind, TaskName};
pub use languages::Languages;
pub use list::{Counts, TaskList, Unreadable};
pub use markdown::MAX_ITEMS;
pub use marks::{Changes, Mark, set_marks};
pub use near_miss::Unrecognised;
pub use order::{AtOnce, Parallel};
pub use pairs::{Pairing, Ticked};
pub use pick::{Blocked, Obstacle, Pick};
pub use select::{Selection, Selector, Unselectable};

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn fixture(name: &str) -> TaskList {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/specs").join(name);
        TaskList::parse(&fs::read(folder.join("tasks.md")).unwrap()).unwrap()
    }

    /// Mark and name of each item; criteria in parentheses.
    fn boxes(list: &TaskList) -> String {
        let one = |item: &Item| match item.kind {
            Kind::Task => format!("[{}]{}", item.mark, item.name),
            Kind::Criterion => format!("([{}]{})", item.mark, item.name),
            Kind::Struck => format!("~[{}]{}~", item.mark, item.name),
            Kind::Copy => format!("=[{}]{}=", item.mark, item.name),
        };
        list.items.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[track_caller]
    fn case(name: &str, expected: &str, unrecognised: usize) {
        let list = fixture(name);
        assert_eq!(boxes(&list), expected, "{name}");
        assert_eq!(list.unrecognised.len(), unrecognised, "{name}: {:#?}", list.unrecognised);
    }

    #[test]
    fn the_fixtures_are_read_as_people_read_them() {
        case("speckit", "[X]T001 [X]T002 [ ]T003 [ ]T004 [ ]T005 ([ ]#6)", 0);
        case("kiro", "[x]1 [ ]2 [x]2.1 [ ]2.3 [ ]2.4 [ ]3", 1);
        case("openspec", "[x]1.1 [ ]1.2 [ ]2.1 [ ]2.2 ([ ]#5)", 0);
        case("bold-ids", "[x]T001 [ ]T001#2 [x]T012a [ ]T003 [ ]T004 [ ]T005 [x]T006 [ ]TASK-9", 0);
        case("odd-boxes", "[x]T001 [✅]T008 [ ]T009", 12);
        case("no-ids", "([ ]#1) [x]#2 [ ]#3 [ ]#4 [ ]#5", 0);
        case("windows", "[x]T001 [ ]T002", 0);
        case("decoys", "[ ]T001 [x]T002", 0);
        case("dependencies", "[x]T001 [ ]T002 [ ]T003 [ ]T004 [ ]T005 [ ]T006", 0);
    }

    #[test]
    fn a_speckit_list_gives_the_whole_task() {
        let list = fixture("speckit");
        let task = list.find("T004").unwrap();
        assert_eq!(task.text, "Implement the session in `src/session.rs` and its store (depends on T003)");
        assert_eq!(task.phase.as_deref(), Some("Phase 2: User Story 1 - Logging in (Priority: P1) 🎯 MVP"));
        assert_eq!(task.headings.last().unwrap(), "Implementation for User Story 1");
        assert_eq!((task.story.as_deref(), task.parallel), (Some("US1"), false));
        assert_eq!(task.depends_on, ["T003"]);
        assert!(list.find("T005").unwrap().parallel);
        assert!(!list.is_unfilled_template());
        assert!(fixture("template").is_unfilled_template());
    }

    #[test]
    fn dependencies_are_those_that_are_written_clearly() {
        let list = fixture("dependencies");
        let waits: Vec<_> = list.items.iter().map(|item| item.depends_on.join(" ")).collect();
        assert_eq!(waits, ["", "T001", "T001 T002", "T001 T002 T003 T009", "T002", ""]);
    }
}
