//! Tasks that belong together, and when a session stops between them. Pure.

use std::collections::BTreeSet;

use tasklist::{Item, Pick, Selection, Selector, TaskList};

use ralph_core::config::Unit;
use ralph_core::history::History;
use ralph_core::record::TaskName;

/// What a session that is to stop between units comes to.
#[derive(Debug, PartialEq, Eq)]
pub enum Boundary {
    /// This phase or story is done.
    Reached(String),
    /// It is not, and nothing in it can be picked any more, a line each.
    Blocked(Vec<String>),
}

/// Returns the phases or stories of a task.
fn names(item: &Item, unit: Unit) -> &[String] {
    match unit {
        Unit::Auto | Unit::Task => &[],
        Unit::Story => &item.stories,
        Unit::Phase => item.phase.as_slice(),
    }
}

/// Returns the tasks of a phase or a story.
fn members(tasks: &TaskList, name: &str, unit: Unit) -> Option<Selection> {
    let selector = if unit == Unit::Story { Selector::Stories(name) } else { Selector::Phase(name) };
    tasks.select(&[selector]).ok()
}

/// Open tasks that belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitTasks {
    /// The story, or the phase.
    pub name: String,
    /// In the order of the list.
    pub tasks: Vec<TaskName>,
}

impl UnitTasks {
    fn has(&self, task: &str) -> bool {
        self.tasks.iter().any(|name| name == task)
    }

    fn has_test_and_more(&self, tasks: &TaskList) -> bool {
        self.tasks.len() > 1 && self.tasks.iter().any(|name| tasks.find(name).is_some_and(Item::is_test))
    }
}

/// Returns what an iteration on `task` is asked to do: the open tasks of its unit that are in `part`, if there is one, and not
/// left out. `None` if that is the task alone.
pub fn unit_tasks(
    tasks: &TaskList,
    task: &str,
    unit: Unit,
    part: Option<&Selection>,
    is_left_out: &dyn Fn(&str) -> bool,
) -> Option<UnitTasks> {
    open_tasks(tasks, task, unit, part, is_left_out).filter(|open| open.tasks.len() > 1 && open.has(task))
}

/// Returns the open tasks of the unit of `task`; `None` for a task without one. What waits for a task of another unit,
/// or for one that is left out, is left for later.
pub fn open_tasks(
    tasks: &TaskList,
    task: &str,
    unit: Unit,
    part: Option<&Selection>,
    is_left_out: &dyn Fn(&str) -> bool,
) -> Option<UnitTasks> {
    if unit == Unit::Auto {
        if !tasks.has_tests_that_fail_first() {
            return None;
        }
        let found = of_story_or_phase(tasks, task, part, is_left_out);
        return found.filter(|open| open.has_test_and_more(tasks));
    }
    let name = names(tasks.find(task)?, unit).first()?;
    let members = members(tasks, name, unit)?;
    // What is optional comes last, by itself.
    let open = tasks.open_together(&members, part, is_left_out);
    let open = open.filter(|item| !item.optional || item.name == task);
    Some(UnitTasks { name: name.clone(), tasks: open.map(|item| item.name.clone()).collect() })
}

/// Returns the open tasks of the story of `task`, or of its phase if it has none.
pub fn of_story_or_phase(
    tasks: &TaskList,
    task: &str,
    part: Option<&Selection>,
    is_left_out: &dyn Fn(&str) -> bool,
) -> Option<UnitTasks> {
    open_tasks(tasks, task, story_or_phase(tasks.find(task)?), part, is_left_out)
}

fn story_or_phase(item: &Item) -> Unit {
    if item.stories.is_empty() { Unit::Phase } else { Unit::Story }
}

/// Returns the unit of the first open task that [`Unit::Auto`] has work on with others of it, as it is called.
pub fn first_of_auto(tasks: &TaskList, part: Option<&Selection>) -> Option<&'static str> {
    let open = tasks.tasks().filter(|item| !item.done);
    let mut first = open.filter(|item| unit_tasks(tasks, &item.name, Unit::Auto, part, &|_| false).is_some());
    first.next().map(|item| if story_or_phase(item) == Unit::Story { "story" } else { "phase" })
}

/// Returns true if there is more than one unit to do: an open task beside those of the first one's unit.
pub fn has_several(tasks: &TaskList, part: Option<&Selection>, unit: Unit) -> bool {
    let mut open = tasks.tasks().filter(|item| !item.done && part.is_none_or(|part| part.has(&item.name)));
    let Some(first) = open.next() else { return false };
    let together = unit_tasks(tasks, &first.name, unit, part, &|_| false);
    open.any(|item| together.as_ref().is_none_or(|together| !together.has(&item.name)))
}

/// Returns true if a test is written whose story, or phase, is not done: then it fails as it should.
pub fn has_test_before_its_code(tasks: &TaskList) -> bool {
    let is_together = |test: &Item, other: &Item| {
        if test.stories.is_empty() {
            test.phase == other.phase
        } else {
            test.stories.iter().any(|story| other.stories.contains(story))
        }
    };
    let mut tests = tasks.tasks().filter(|item| item.done && item.is_test());
    tests.any(|test| tasks.tasks().any(|item| !item.done && is_together(test, item)))
}

/// Returns the tasks of a unit that earlier attempts ticked: their boxes were opened again, and their work is there.
pub fn reopened(unit: Option<&UnitTasks>, history: &History) -> Vec<TaskName> {
    unit.into_iter()
        .flat_map(|unit| &unit.tasks)
        .filter(|name| history.ticked_since_taken_back(name))
        .cloned()
        .collect()
}

/// Returns what a commit of all of a unit is called: `US1: User Story 1 - Login`, `Phase 1: Setup`.
pub fn title(tasks: &TaskList, task: &str, unit: &str) -> String {
    let phase = tasks.find(task).and_then(|item| item.phase.as_deref()).unwrap_or_default();
    if phase.is_empty() || phase == unit {
        return unit.to_owned();
    }
    let (front, rest) = phase.split_once(": ").unwrap_or_default();
    format!("{unit}: {}", if front.starts_with("Phase ") { rest } else { phase })
}

/// Returns true if the session stops here, as it was to stop when a `unit` is done.
pub fn boundary(tasks: &TaskList, history: &History, unit: Unit) -> Option<Boundary> {
    let worked_on: BTreeSet<&TaskName> = history.worked_on().collect();
    let items = worked_on.into_iter().filter_map(|name| tasks.find(name));
    let begun: BTreeSet<&String> = items.flat_map(|item| names(item, unit)).collect();
    let groups = if unit == Unit::Story { tasks.stories() } else { tasks.phases() };
    let is_required = |item: &&Item| !item.done && !item.optional;
    let is_open =
        |name: &String| tasks.tasks().filter(is_required).any(|item| names(item, unit).contains(name));
    let mut begun_groups = groups.into_iter().filter(|group| begun.contains(&group.name));
    if let Some(group) = begun_groups.find(|group| group.open == 0 || !is_open(&group.name)) {
        return Some(Boundary::Reached(group.name));
    }
    // What comes after a phase is built on it: it is left only if nothing of it was given up.
    let current = history.worked_on().next_back().and_then(|name| tasks.find(name))?;
    for name in names(current, unit) {
        let Some(members) = members(tasks, name, unit) else { continue };
        let mut open = tasks.tasks().filter(is_required).filter(|item| members.has(&item.name));
        let has_skipped = open.any(|item| history.is_skipped(&item.name));
        let next = tasks.next_open_in(&members, |name| history.is_skipped(name));
        if let (true, Pick::Blocked(blocked)) = (has_skipped, next) {
            let first = format!("{name} is not done, and the session stops at its end");
            let blocked = blocked.iter().map(ToString::to_string);
            return Some(Boundary::Blocked([first].into_iter().chain(blocked).collect()));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use ralph_core::record::Outcome;
    use ralph_core::record::samples::iteration;

    use super::*;

    const LIST: &str = "## Phase 1: Setup\n- [x] T001 a\n- [ ] T002 b\n## Phase 2: User Story 1\n- [x] T003 [US1] c\n\
        ## Phase 3: More\n- [ ] T004 [US1+US2] d\n- [x] T005 [US3] e\n- [ ] T006 f (depends on T002)\n";

    fn listed(found: Option<UnitTasks>) -> String {
        found.map_or(String::new(), |found| format!("{}: {}", found.name, found.tasks.join(" ")))
    }

    /// `T001` had a run, `T001!` was skipped.
    fn history(turns: &str) -> History {
        let mut history = History::default();
        for turn in turns.split_whitespace() {
            let (task, outcome) = match turn.strip_suffix('!') {
                Some(task) => (task, Outcome::Skipped),
                None => (turn, Outcome::Failure),
            };
            let mut record = iteration(outcome);
            record.task = Some(task.to_owned());
            history.push(&record);
        }
        history
    }

    #[test]
    fn units_to_do_are_counted_and_tests_before_their_code_are_known() {
        for (list, unit, several, test_first) in [
            ("- [ ] T001 a\n", Unit::Task, false, false),
            ("- [x] T001 a\n- [ ] T002 b\n", Unit::Task, false, false),
            ("- [ ] T001 a\n- [ ] T002 b\n", Unit::Task, true, false),
            ("## Login\n- [ ] T001 a\n- [ ] T002 b\n", Unit::Phase, false, false),
            ("## Login\n- [ ] T001 a\n- [ ] T002 b\n## More\n- [ ] T003 c\n", Unit::Phase, true, false),
            ("- [x] T001 [US1] Unit test of a\n- [ ] T002 [US1] b\n- [ ] T003 c\n", Unit::Task, true, true),
            (
                "- [x] T001 [US1] Unit test of a\n- [x] T002 [US1] b\n- [ ] T003 [US2] c\n",
                Unit::Task,
                false,
                false,
            ),
            ("## A\n- [x] T001 Write a failing test\n- [ ] T002 b\n- [ ] T003 c\n", Unit::Task, true, true),
        ] {
            let tasks = TaskList::parse(list.as_bytes()).unwrap();
            assert_eq!(has_several(&tasks, None, unit), several, "{list}");
            assert_eq!(has_test_before_its_code(&tasks), test_first, "{list}");
        }
    }

    #[test]
    fn an_iteration_is_asked_for_the_open_tasks_of_its_unit() {
        let source = "## Setup\n- [ ] T001 a\n- [ ] T002 b\n## Login\n- [x] T003 [US1] c\n- [ ] T004 [US1] d\n\
            - [ ] T005 [US1] e (depends on T008)\n- [ ] T006 [US1+US2] f\n- [ ] T007 [US2] g\n## End\n- [ ] T008 h\n";
        let tasks = TaskList::parse(source.as_bytes()).unwrap();
        let case = |task: &str, unit: Unit, left_out: &[&str], expected: &str| {
            let found = unit_tasks(&tasks, task, unit, None, &|name| left_out.contains(&name));
            assert_eq!(listed(found), expected, "{task} {unit:?}");
        };
        case("T001", Unit::Task, &[], "");
        case("T001", Unit::Phase, &[], "Setup: T001 T002");
        case("T001", Unit::Phase, &["T002"], "");
        case("T001", Unit::Story, &[], "");
        case("T004", Unit::Story, &[], "US1: T004 T006");
        // A given up task holds back what waits for it.
        case("T004", Unit::Story, &["T008"], "US1: T004 T006");
        case("T007", Unit::Story, &[], "US2: T006 T007");
        case("T007", Unit::Phase, &["T006"], "Login: T004 T007");
        case("T008", Unit::Phase, &[], "");
        case("T009", Unit::Phase, &[], "");
        // The list does not ask for tests that fail first.
        case("T004", Unit::Auto, &[], "");
        let stories = tasks.select(&[Selector::Stories("US1,US2")]).unwrap();
        let found = unit_tasks(&tasks, "T004", Unit::Story, Some(&stories), &|_| false);
        assert_eq!(listed(found), "US1: T004 T005 T006");
        assert_eq!(listed(open_tasks(&tasks, "T003", Unit::Story, None, &|_| false)), "US1: T004 T006");
    }

    #[test]
    fn tests_that_fail_first_are_asked_for_with_their_code() {
        let source = "Tests MUST be written and FAIL before implementation.\n## Phase 1: Setup\n- [ ] T001 a\n\
            - [ ] T002 b\n## Phase 2: Base\n- [ ] T003 Unit test of c\n- [ ] T004 c\n## Phase 3: User Story 1\n\
            - [ ] T005 [US1] Contract test in tests/d.py\n- [ ] T006 [US1] d\n- [ ] T007 [US1] e (depends on T006)\n\
            ## Phase 4: User Story 2\n- [x] T008 [US2] Unit test of f\n- [ ] T009 [US2] f\n- [ ] T010 [US2] g\n";
        let tasks = TaskList::parse(source.as_bytes()).unwrap();
        for (task, left_out, expected) in [
            ("T001", "", ""),
            ("T003", "", "Phase 2: Base: T003 T004"),
            ("T004", "", "Phase 2: Base: T003 T004"),
            ("T003", "T004", ""),
            ("T005", "", "US1: T005 T006 T007"),
            ("T006", "T005", ""),
            ("T005", "T006", ""),
            ("T005", "T007", "US1: T005 T006"),
            ("T009", "", ""),
        ] {
            let found = unit_tasks(&tasks, task, Unit::Auto, None, &|name| name == left_out);
            assert_eq!(listed(found), expected, "{task} -{left_out}");
        }
        for (part, expected) in
            [("T001-T010", Some("phase")), ("T005-T010", Some("story")), ("T001-T003", None)]
        {
            let part = tasks.select(&[Selector::Tasks(part)]).unwrap();
            assert_eq!(first_of_auto(&tasks, Some(&part)), expected);
        }
    }

    #[test]
    fn a_commit_of_a_unit_has_its_name() {
        let source = "## Phase 1: Setup\n- [ ] T001 a\n## Phase 2: User Story 1 - Login\n- [ ] T002 [US1] b\n\
            ## Later\n- [ ] T003 [US2] c\n";
        let tasks = TaskList::parse(source.as_bytes()).unwrap();
        for (task, unit, expected) in [
            ("T001", "Phase 1: Setup", "Phase 1: Setup"),
            ("T002", "US1", "US1: User Story 1 - Login"),
            ("T003", "US2", "US2: Later"),
            ("T009", "US3", "US3"),
        ] {
            assert_eq!(title(&tasks, task, unit), expected);
        }
    }

    #[test]
    fn a_session_stops_where_what_it_worked_on_is_done_or_was_given_up() {
        let tasks = TaskList::parse(LIST.as_bytes()).unwrap();
        for (turns, unit, expected) in [
            ("", Unit::Phase, None),
            ("T001", Unit::Phase, None),
            ("T003", Unit::Phase, Some("Phase 2: User Story 1")),
            ("T002 T003", Unit::Phase, Some("Phase 2: User Story 1")),
            ("T003", Unit::Story, None),
            ("T005", Unit::Story, Some("US3")),
            ("T001", Unit::Story, None),
            ("T003", Unit::Task, None),
            ("T002 T002!", Unit::Phase, Some("blocked: Phase 1: Setup is not done, T002 was skipped")),
            ("T004 T004!", Unit::Story, Some("blocked: US1 is not done, T004 was skipped")),
            // Something of the phase can still be picked.
            ("T004 T004!", Unit::Phase, None),
            ("T009", Unit::Phase, None),
        ] {
            let found = boundary(&tasks, &history(turns), unit).map(|found| match found {
                Boundary::Reached(name) => name,
                Boundary::Blocked(lines) => {
                    format!("blocked: {}", lines.join(", ").replace(", and the session stops at its end", ""))
                }
            });
            assert_eq!(found.as_deref(), expected, "{turns} {unit:?}");
        }
    }
}
