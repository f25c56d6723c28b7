//! The tasks of a scope, and the refusal of a scope without tasks.

use camino::Utf8Path;
use tasklist::{Group, Item, Selection, Selector, TaskList, Unselectable};

use ralph_core::record::{RALPH, Refusal, Scope, did_you_mean, join_truncated};

/// Maximum number of phases or stories that are named in a hint.
const MAX_NAMED: usize = 12;

/// Returns the tasks of a scope; `None` if it is the whole list.
pub fn select(tasks: &TaskList, scope: &Scope) -> Result<Option<Selection>, Unselectable> {
    if scope.is_all() {
        return Ok(None);
    }
    let ids = scope.tasks.iter().map(|text| Selector::Tasks(text));
    let phases = scope.phases.iter().map(|text| Selector::Phase(text));
    let stories = scope.stories.iter().map(|text| Selector::Stories(text));
    let selectors: Vec<_> = ids.chain(phases).chain(stories).collect();
    tasks.select(&selectors).map(Some)
}

/// Returns the same, or a refusal that names what the list at `path` has.
pub fn part_of(tasks: &TaskList, scope: &Scope, path: &Utf8Path) -> Result<Option<Selection>, Refusal> {
    select(tasks, scope).map_err(|error| refuse(&error, tasks, path))
}

/// Returns the task of that name, or a refusal that names what the list at `path` has.
pub fn named<'a>(tasks: &'a TaskList, name: &str, path: &Utf8Path) -> Result<&'a Item, Refusal> {
    let found = tasks.find(name).filter(|item| item.is_task());
    found.ok_or_else(|| refuse(&Unselectable::UnknownTask(name.to_owned()), tasks, path))
}

fn names(groups: Vec<Group>) -> Vec<String> {
    groups.into_iter().map(|group| group.name).collect()
}

/// Returns a refusal that names what the list has instead.
fn refuse(error: &Unselectable, tasks: &TaskList, path: &Utf8Path) -> Refusal {
    let hint = match error {
        Unselectable::UnknownTask(name) => unknown_task(name, tasks),
        Unselectable::Backwards(from, until) => {
            format!("did you mean {until}-{from}?")
        }
        Unselectable::UnknownPhase(name) => unknown_phase(name, &names(tasks.phases())),
        Unselectable::AmbiguousPhase(_, fits) => {
            format!("name one by its number or full name: {}", quoted(fits))
        }
        Unselectable::UnknownStory(_) => match names(tasks.stories()).as_slice() {
            [] => "no task has the tag of a story (`[US1]`)".to_owned(),
            stories => format!("its stories are {}", join_truncated(stories, MAX_NAMED)),
        },
    };
    Refusal::new(format!("{error} in {path}")).with_hint(hint)
}

fn unknown_task(name: &str, tasks: &TaskList) -> String {
    let names: Vec<&str> = tasks.tasks().map(|item| item.name.as_str()).collect();
    let near = did_you_mean(name, names.iter().copied());
    let range = match (names.first(), names.last()) {
        (Some(first), Some(last)) if first != last => format!("its tasks are {first} to {last}: "),
        _ => String::new(),
    };
    match near {
        Some(near) => format!("did you mean {near}? `{RALPH} tasks` lists them"),
        None => format!("{range}`{RALPH} tasks` lists them"),
    }
}

fn unknown_phase(name: &str, phases: &[String]) -> String {
    if phases.is_empty() {
        return "the list has no headings, so it has no phases".to_owned();
    }
    // A person types a word of a heading, seldom all of it.
    let words = phases.iter().flat_map(|phase| {
        let words = phase.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 3);
        words.map(move |word| (word, phase)).chain([(phase.as_str(), phase)])
    });
    let words: Vec<(&str, &String)> = words.collect();
    let near = did_you_mean(name, words.iter().map(|(word, _)| *word));
    let near = near.and_then(|near| words.iter().find(|(word, _)| *word == near));
    let near = near.filter(|_| name.len() > 3).map(|(_, phase)| format!("did you mean `{phase}`? "));
    format!(
        "{}its phases are {}; a number or a part of a name is enough",
        near.unwrap_or_default(),
        quoted(phases)
    )
}

fn quoted(names: &[String]) -> String {
    join_truncated(&names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>(), MAX_NAMED)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "## Phase 1: Setup\n- [ ] T001 a\n## Phase 2: User Story 1\n- [ ] T002 [US1] b\n\
                        ## Phase 3: User Story 2\n- [ ] T003 [US2] c\n";

    fn scope((tasks, phases, stories): (&str, &str, &str)) -> Scope {
        let list = |text: &str| text.split_terminator(';').map(str::to_owned).collect();
        Scope { tasks: list(tasks), phases: list(phases), stories: list(stories) }
    }

    #[test]
    fn a_scope_is_the_union_of_what_it_names() {
        let tasks = TaskList::parse(LIST.as_bytes()).unwrap();
        assert_eq!(select(&tasks, &Scope::default()), Ok(None));
        let selection = select(&tasks, &scope(("T001", "", "US2"))).unwrap().unwrap();
        assert!(selection.has("T001") && !selection.has("T002") && selection.has("T003"));
    }

    #[test]
    fn what_is_unknown_is_refused_with_what_there_is() {
        let tasks = TaskList::parse(LIST.as_bytes()).unwrap();
        let all = "`Phase 1: Setup`, `Phase 2: User Story 1`, `Phase 3: User Story 2`";
        for (named, message, hint) in [
            (("T004", "", ""), "there is no task T004", "did you mean T001?"),
            (("X", "", ""), "there is no task X", "its tasks are T001 to T003: `"),
            (("T003-T001", "", ""), "the range T003-T001 is backwards", "did you mean T001-T003?"),
            (("", "7", ""), "there is no phase `7`", &format!("its phases are {all}; a number")),
            (
                ("", "sutup", ""),
                "there is no phase `sutup`",
                "did you mean `Phase 1: Setup`? its phases are ",
            ),
            (("", "story", ""), "several phases fit `story`", "full name: `Phase 2: User Story 1`, `Phase 3"),
            (("", "", "US3"), "there is no story `US3`", "its stories are US1, US2"),
        ] {
            let refusal = part_of(&tasks, &scope(named), Utf8Path::new("tasks.md")).unwrap_err();
            assert_eq!(refusal.message, format!("{message} in tasks.md"));
            let found = refusal.hint.unwrap_or_default();
            assert!(found.contains(hint), "{found}");
        }
        let bare = TaskList::parse(b"- [ ] a\n").unwrap();
        for (named, hint) in [(("", "2", ""), "no headings"), (("", "", "US1"), "no task has the tag")] {
            let refusal = part_of(&bare, &scope(named), Utf8Path::new("tasks.md")).unwrap_err();
            assert!(refusal.hint.unwrap().contains(hint));
        }
    }
}
