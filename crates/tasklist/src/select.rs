//! A part of a list, by tasks, phases and stories as people name them.

use std::collections::HashSet;
use std::error::Error;
use std::fmt;

use super::known_ids::Key;
use super::{Counts, Item, TaskList, TaskName, phase, story};

/// What a person names of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selector<'a> {
    /// Tasks: a name, or a list of names and ranges (`T001,T004-T009`).
    Tasks(&'a str),
    /// A phase, by its number, its heading or a part of that.
    Phase(&'a str),
    /// Stories: `US1`, `1`, or a list.
    Stories(&'a str),
}

/// Tasks of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    names: HashSet<TaskName>,
}

impl Selection {
    /// Returns true if the task of that name is part of it.
    pub fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }
}

/// Why a selector means nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unselectable {
    /// No task has this name.
    UnknownTask(String),
    /// A range whose end comes before its start.
    Backwards(TaskName, TaskName),
    /// No phase is called so.
    UnknownPhase(String),
    /// Several phases are called so.
    AmbiguousPhase(String, Vec<String>),
    /// No task belongs to this story.
    UnknownStory(String),
}

impl fmt::Display for Unselectable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownTask(name) => write!(f, "there is no task {name}"),
            Self::Backwards(from, until) => write!(f, "the range {from}-{until} is backwards"),
            Self::UnknownPhase(name) => write!(f, "there is no phase `{name}`"),
            Self::AmbiguousPhase(name, _) => write!(f, "several phases fit `{name}`"),
            Self::UnknownStory(name) => write!(f, "there is no story `{name}`"),
        }
    }
}

impl Error for Unselectable {}

impl TaskList {
    /// Returns the tasks that any of `selectors` names.
    ///
    /// ```
    /// use tasklist::{Selector, TaskList};
    ///
    /// let list = TaskList::parse(b"- [ ] T001 a\n- [ ] T002 b\n- [ ] T003 [US1] c\n").expect("it is UTF-8");
    /// let selection = list.select(&[Selector::Tasks("T001-T002")]).expect("both exist");
    /// assert!(selection.has("T002") && !selection.has("T003"));
    /// assert!(list.select(&[Selector::Stories("US2")]).is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// If a selector means nothing in this list, or several phases.
    pub fn select(&self, selectors: &[Selector<'_>]) -> Result<Selection, Unselectable> {
        let mut names = HashSet::new();
        for selector in selectors {
            let found = match *selector {
                Selector::Tasks(text) => self.tasks_in(text)?,
                Selector::Phase(text) => {
                    let phase = self.phase_called(text)?;
                    self.tasks().filter(|item| item.phase.as_ref() == Some(&phase)).collect()
                }
                Selector::Stories(text) => self.of_stories(text)?,
            };
            names.extend(found.into_iter().map(|item| item.name.clone()));
        }
        Ok(Selection { names })
    }

    /// Counts the tasks of `selection`.
    pub fn counts_of(&self, selection: &Selection) -> Counts {
        let (done, open): (Vec<&Item>, Vec<&Item>) =
            self.tasks().filter(|item| selection.has(&item.name)).partition(|item| item.done);
        Counts { done: done.len(), open: open.len() }
    }

    fn tasks_in(&self, text: &str) -> Result<Vec<&Item>, Unselectable> {
        let mut found = Vec::new();
        for part in parts(text) {
            match self.task(part) {
                Some(item) => found.push(item),
                None => found.extend(self.range(part)?),
            }
        }
        if found.is_empty() { Err(Unselectable::UnknownTask(text.to_owned())) } else { Ok(found) }
    }

    fn task(&self, name: &str) -> Option<&Item> {
        self.find(name).filter(|item| item.is_task())
    }

    /// `T004-T009`, `T004..T009`, `T004-009`. Ids may have dashes themselves.
    fn range(&self, text: &str) -> Result<Vec<&Item>, Unselectable> {
        let mut unknown = text;
        for (at, dash) in ["..", "-", "–", "—", "…"].into_iter().flat_map(|dash| text.match_indices(dash))
        {
            let (from, until) = (text[..at].trim(), text[at + dash.len()..].trim());
            let Some(first) = self.task(from) else {
                // Where the end exists, it is the start that is wrong.
                if self.task(until).is_some() {
                    unknown = from;
                }
                continue;
            };
            let Some(last) = self.task(until).or_else(|| self.numbered_like(first, until)) else {
                unknown = until;
                continue;
            };
            let (low, high) = (key(first), key(last));
            if low > high || !low.is_alike(&high) {
                return Err(Unselectable::Backwards(first.name.clone(), last.name.clone()));
            }
            return Ok(self
                .tasks()
                .filter(|item| {
                    let key = key(item);
                    key.is_alike(&low) && low <= key && key <= high
                })
                .collect());
        }
        Err(Unselectable::UnknownTask(unknown.trim().to_owned()))
    }

    /// Returns the task that `number` means after the id of `first`: `T001-003`, `T001-3`.
    fn numbered_like(&self, first: &Item, number: &str) -> Option<&Item> {
        let wanted = Key::new(number).with_letters_of(&key(first));
        number.starts_with(|c: char| c.is_ascii_digit()).then_some(())?;
        self.tasks().find(|item| key(item) == wanted)
    }

    /// Returns the heading of the phase that `text` means.
    fn phase_called(&self, text: &str) -> Result<String, Unselectable> {
        let phases: Vec<String> = self.phases().into_iter().map(|phase| phase.name).collect();
        let wanted = plain(text);
        let number = phase::number(&wanted).or_else(|| phase::bare_number(&wanted));
        let is_number = phase::bare_number(&wanted).is_some();
        let tests: [&dyn Fn(&str) -> bool; 4] = [
            &|phase| plain(phase) == wanted,
            &|phase| number.is_some() && phase::number(phase) == number,
            &|phase| !is_number && has_words(&plain(phase), &wanted),
            &|phase| !is_number && plain(phase).contains(&wanted),
        ];
        for is_meant in tests.into_iter().filter(|_| !wanted.is_empty()) {
            let found: Vec<&String> = phases.iter().filter(|phase| is_meant(phase)).collect();
            match found.as_slice() {
                [] => {}
                [phase] => return Ok((*phase).clone()),
                several => {
                    let several = several.iter().map(|phase| (*phase).clone()).collect();
                    return Err(Unselectable::AmbiguousPhase(text.to_owned(), several));
                }
            }
        }
        Err(Unselectable::UnknownPhase(text.to_owned()))
    }

    fn of_stories(&self, text: &str) -> Result<Vec<&Item>, Unselectable> {
        let mut found = Vec::new();
        let mut names = parts(text).peekable();
        if names.peek().is_none() {
            return Err(Unselectable::UnknownStory(text.to_owned()));
        }
        for name in names {
            let before = found.len();
            if let Some(wanted) = story::typed(name) {
                found.extend(self.tasks().filter(|item| item.stories.contains(&wanted)));
            }
            if found.len() == before {
                return Err(Unselectable::UnknownStory(name.to_owned()));
            }
        }
        Ok(found)
    }
}

fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty())
}

fn key(item: &Item) -> Key {
    Key::new(item.id.as_deref().unwrap_or(&item.name))
}

/// In lower case, with single blanks, without signs in front.
fn plain(text: &str) -> String {
    let text = text.trim_start_matches(|c: char| !c.is_alphanumeric());
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// Returns true if `words` is in `text` and does not begin or end within a word there.
fn has_words(text: &str, words: &str) -> bool {
    text.match_indices(words).any(|(at, _)| {
        let behind = &text[at + words.len()..];
        !text[..at].ends_with(char::is_alphanumeric) && !behind.starts_with(char::is_alphanumeric)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIST: &str = "## Phase 1: Setup (Shared Infrastructure)\n- [x] T001 a\n- [ ] T002 b\n\
        ## Phase 2: Foundational\n- [ ] T004 c\n- [ ] T012a d\n- [ ] T012 e\n  - [ ] a criterion\n\
        ## 🎯 Phase 3: User Story 1 - Logging in\n- [ ] T005 [US1] f\n- [ ] T005 [US1+US2] g\n\
        ## Phase 13: User Story 10 - Setup of accounts\n- [ ] FIX-30 [US10] h\n- [ ] FIX-31 [US10] i\n\
        ## Phase N: Polish\n- [ ] T099 j\n";

    fn selected(source: &str, selector: Selector<'_>) -> String {
        let list = TaskList::parse(source.as_bytes()).unwrap();
        match list.select(&[selector]) {
            Ok(selection) => {
                let names = list.tasks().map(|item| item.name.as_str()).filter(|name| selection.has(name));
                names.collect::<Vec<_>>().join(" ")
            }
            Err(Unselectable::AmbiguousPhase(name, fits)) => format!("{name} fits {}", fits.len()),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn tasks_are_named_by_ids_lists_and_ranges() {
        for (text, expected) in [
            ("T004", "T004"),
            ("t004", "T004"),
            ("T005", "T005"),
            ("T005#2", "T005#2"),
            ("T001, T004 ,", "T001 T004"),
            ("T001-T004", "T001 T002 T004"),
            ("T002 .. T005", "T002 T004 T005 T005#2"),
            ("T012-T012a", "T012a T012"),
            ("T001–002,T099", "T001 T002 T099"),
            ("T001-4", "T001 T002 T004"),
            ("FIX-30", "FIX-30"),
            ("FIX-30-FIX-31", "FIX-30 FIX-31"),
            ("FIX-30-31", "FIX-30 FIX-31"),
            ("T003", "there is no task T003"),
            ("T001-T003", "there is no task T003"),
            ("T000-T004", "there is no task T000"),
            ("T004-T001", "the range T004-T001 is backwards"),
            ("T004-FIX-31", "the range T004-FIX-31 is backwards"),
            ("T001,", "T001"),
            (",", "there is no task ,"),
            ("", "there is no task "),
            ("#8", "there is no task #8"),
        ] {
            assert_eq!(selected(LIST, Selector::Tasks(text)), expected, "{text}");
        }
        let without_ids = "- [ ] a\n- [ ] b\n- [ ] c\n";
        assert_eq!(selected(without_ids, Selector::Tasks("#2-#3")), "#2 #3");
        assert_eq!(selected(without_ids, Selector::Tasks("#1,#3")), "#1 #3");
    }

    #[test]
    fn a_phase_is_named_by_number_heading_or_a_part_of_it() {
        for (text, expected) in [
            ("1", "T001 T002"),
            ("01", "T001 T002"),
            ("Phase 2", "T004 T012a T012"),
            ("phase 2: foundational", "T004 T012a T012"),
            ("foundational", "T004 T012a T012"),
            ("found", "T004 T012a T012"),
            ("n", "T099"),
            ("polish", "T099"),
            ("user story 1", "T005 T005#2"),
            ("User Story 10", "FIX-30 FIX-31"),
            ("🎯 Phase 3: User Story 1 - Logging in", "T005 T005#2"),
            ("setup", "setup fits 2"),
            ("user", "user fits 2"),
            ("4", "there is no phase `4`"),
            ("Phase 4", "there is no phase `Phase 4`"),
            ("polly", "there is no phase `polly`"),
            ("", "there is no phase ``"),
            ("-", "there is no phase `-`"),
        ] {
            assert_eq!(selected(LIST, Selector::Phase(text)), expected, "{text}");
        }
    }

    #[test]
    fn a_story_is_named_in_any_form_and_may_be_a_list() {
        for (text, expected) in [
            ("US1", "T005 T005#2"),
            ("1", "T005 T005#2"),
            ("us2", "T005#2"),
            ("US2,US10", "T005#2 FIX-30 FIX-31"),
            ("US3", "there is no story `US3`"),
            ("US1,login", "there is no story `login`"),
            ("", "there is no story ``"),
        ] {
            assert_eq!(selected(LIST, Selector::Stories(text)), expected, "{text}");
        }
    }

    #[test]
    fn several_selectors_are_a_union() {
        let list = TaskList::parse(LIST.as_bytes()).unwrap();
        let all =
            list.select(&[Selector::Tasks("T099"), Selector::Phase("1"), Selector::Stories("2")]).unwrap();
        let names: Vec<_> = list.tasks().filter(|item| all.has(&item.name)).map(|item| &item.name).collect();
        assert_eq!(names, ["T001", "T002", "T005#2", "T099"]);
        assert_eq!(list.counts_of(&all), Counts { done: 1, open: 3 });
    }

    proptest! {
        #[test]
        fn any_text_is_a_selection_or_an_error(text in r"\PC{0,12}|[T0-9#,. -]{0,12}") {
            let list = TaskList::parse(LIST.as_bytes()).unwrap();
            for selector in [Selector::Tasks(&text), Selector::Phase(&text), Selector::Stories(&text)] {
                if let Ok(selection) = list.select(&[selector]) {
                    prop_assert!(list.tasks().any(|item| selection.has(&item.name)), "{}", text);
                }
            }
        }
    }
}
