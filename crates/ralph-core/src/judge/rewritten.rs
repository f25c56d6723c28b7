//! Texts of tasks as a person wrote them. What a task asks for is a permission: an attempt that changes the list gives itself
//! none. Pure.

use std::collections::BTreeMap;

use tasklist::{Item, Languages, Pairing, TaskList};

use super::ordered::{is_verification, orders_own_file_change, orders_removal, orders_skip};
use super::paths::is_test_file;
use crate::record::{Flag, FlagCode, Rewritten, TaskName, join_truncated};

/// Maximum number of names in a text.
const MAX_NAMES: usize = 3;

/// No name of a file.
const NO_FILE: &str = "\0";

/// What attempts made of the texts of tasks, and no person changed since.
#[derive(Debug, Clone, Default)]
pub struct PersonsTexts(BTreeMap<TaskName, Rewritten>);

impl PersonsTexts {
    /// Takes in what an attempt rewrote.
    pub fn take_in(&mut self, rewrote: &[Rewritten]) {
        self.0.extend(rewrote.iter().map(|rewritten| (rewritten.task.clone(), rewritten.clone())));
    }

    /// Returns the text of a task as a person wrote it; empty for one that an attempt added.
    pub fn text(&self, task: &str, text: &str) -> String {
        let known = self.0.get(task).filter(|known| known.after == text);
        known.map_or(Some(text), |known| known.before.as_deref()).unwrap_or_default().to_owned()
    }

    /// Returns the phase of a task by the heading that a person wrote.
    pub fn phase(&self, task: &str, phase: Option<&str>) -> Option<String> {
        let known = self.0.get(task).filter(|known| known.phase.as_deref() == phase);
        known.map_or(phase, |known| known.phase_before.as_deref()).map(str::to_owned)
    }

    /// Returns what an attempt made of the texts and phases of tasks, each against what a person wrote.
    pub fn rewritten(&self, before: &TaskList, after: &TaskList) -> Vec<Rewritten> {
        let mut places = before.tasks().zip(after.tasks());
        let is_same = |(one, other): (&Item, &Item)| {
            one.name == other.name && one.text == other.text && one.phase == other.phase
        };
        if before.tasks().count() == after.tasks().count() && places.all(is_same) {
            return Vec::new();
        }
        let pairing = Pairing::likely(before, after);
        let mut found = Vec::new();
        for item in after.tasks() {
            // An id that is the same is the same task, whatever its text.
            let by_id = item.id.as_ref().and_then(|_| before.find(&item.name));
            let earlier = by_id.or_else(|| pairing.earlier_of(item));
            if earlier.is_some_and(|earlier| is_same((earlier, item))) {
                continue;
            }
            let [text, phase] = match earlier {
                Some(earlier) => {
                    let phase = self.phase(&earlier.name, earlier.phase.as_deref());
                    [Some(self.text(&earlier.name, &earlier.text)), phase]
                }
                None => [None, None],
            };
            if text.as_ref() != Some(&item.text) || phase != item.phase {
                found.push(Rewritten {
                    task: item.name.clone(),
                    before: text,
                    after: item.text.clone(),
                    phase_before: phase,
                    phase: item.phase.clone(),
                });
            }
        }
        found
    }
}

/// Returns the flag for what would permit more than a person's text does; `None` if nothing would. `own_files` are those of the
/// validation, by name.
pub fn rewrote_flag(rewrote: &[Rewritten], own_files: &[String], languages: Languages) -> Option<Flag> {
    let names: Vec<&str> = rewrote
        .iter()
        .filter(|rewritten| {
            let [before, after] = [
                permissions(
                    rewritten.before.as_deref(),
                    rewritten.phase_before.as_deref(),
                    own_files,
                    languages,
                ),
                permissions(Some(&rewritten.after), rewritten.phase.as_deref(), own_files, languages),
            ];
            before.iter().zip(&after).any(|(before, after)| *after && !before)
        })
        .map(|rewritten| rewritten.task.as_str())
        .collect();
    let text = format!("changed what {} may do; a person's words count", join_truncated(&names, MAX_NAMES));
    let paths = Vec::new();
    (!names.is_empty()).then_some(Flag { code: FlagCode::Rewrote, text, paths })
}

/// Returns what a task permits, always in the same order.
fn permissions(
    text: Option<&str>,
    phase: Option<&str>,
    own_files: &[String],
    languages: Languages,
) -> Vec<bool> {
    let no_file = [NO_FILE.to_owned()];
    let texts = [text.unwrap_or_default()];
    let words =
        texts[0].split(|c: char| c.is_whitespace() || matches!(c, '`' | '"' | '\'' | ',' | '(' | ')'));
    let tests: Vec<&str> = words.filter(|word| is_test_file(word)).collect();
    let mut permitted = vec![
        is_verification(texts[0], languages),
        orders_removal(&texts, languages),
        orders_skip(&texts, &tests, languages),
        orders_own_file_change(&texts, &no_file, None, languages),
        orders_own_file_change(&[], &no_file, phase, languages),
    ];
    permitted.extend(
        own_files
            .iter()
            .map(|name| orders_own_file_change(&texts, std::slice::from_ref(name), None, languages)),
    );
    permitted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> TaskList {
        TaskList::parse(text.as_bytes()).unwrap()
    }

    const PERSONS: &str = "## Phase 1: Login\n\n- [ ] T001 Add the login\n- [ ] T002 Remove the old tests\n";

    /// What the flag names, after an attempt made `after` of the list of a person.
    fn flagged(after: &str) -> String {
        let (before, after) = (list(PERSONS), list(after));
        let rewrote = PersonsTexts::default().rewritten(&before, &after);
        rewrote_flag(&rewrote, &["check.sh".to_owned()], before.languages())
            .map_or(String::new(), |it| it.text)
    }

    #[test]
    fn only_words_that_permit_more_are_flagged() {
        let change = |from: &str, to: &str| flagged(&PERSONS.replace(from, to));
        for (from, to) in [
            ("Add the login", "Add the login and rewrite check.sh"),
            ("Add the login", "Verify the login"),
            ("Add the login", "Add the login, skip the tests of the form"),
            ("Add the login", "Add the login, remove the form"),
            ("Add the login", "Add the login to the validation"),
            ("Add the login", "Add the login, drop tests/a.test.js"),
        ] {
            assert_eq!(change(from, to), "changed what T001 may do; a person's words count", "{to}");
        }
        let heading = change("Phase 1: Login", "Phase 1: Setup");
        assert_eq!(heading, "changed what T001, T002 may do; a person's words count");
        let added = change("- [ ] T002", "- [ ] T003 Verify it\n- [ ] T002");
        assert_eq!(added, "changed what T003 may do; a person's words count");
        for (from, to) in [
            ("- [ ] T001 Add the login", "- [x] T001 Add the login"),
            ("- [ ] T001 Add the login", "- [x] T001 Add the login (in src/login.py, done)"),
            ("Add the login", "Add the log-in"),
            ("Remove the old tests", "Remove the old test"),
            ("Remove the old tests", "Tidy up"),
            ("Phase 1: Login", "Phase 1: The login"),
            ("- [ ] T002", "- [ ] T003 Add a logout\n- [ ] T002"),
            ("- [ ] T001 Add the login\n", ""),
        ] {
            assert_eq!(change(from, to), "", "{to}");
        }
    }

    #[test]
    fn a_text_counts_as_a_person_wrote_it_until_a_person_edits_it() {
        let mut texts = PersonsTexts::default();
        let mut now = list(PERSONS);
        let mut attempt = |texts: &mut PersonsTexts, after: &str| {
            let after = list(after);
            texts.take_in(&texts.rewritten(&now, &after));
            now = after;
        };
        let verify = PERSONS.replace("Add the login", "Verify the login");
        attempt(&mut texts, &verify);
        assert_eq!(texts.text("T001", "Verify the login"), "Add the login");
        // Once more, with words in between that permit nothing.
        let again = PERSONS.replace("Add the login", "Verify the log-in");
        attempt(&mut texts, &again.replace("Login", "Setup"));
        assert_eq!(texts.text("T001", "Verify the log-in"), "Add the login");
        assert_eq!(texts.phase("T001", Some("Phase 1: Setup")).as_deref(), Some("Phase 1: Login"));
        // A person's edit gives what it says.
        assert_eq!(texts.text("T001", "Check the login"), "Check the login");
        assert_eq!(texts.phase("T001", Some("Setup of users")).as_deref(), Some("Setup of users"));
        assert_eq!(texts.text("T002", "Remove the old tests"), "Remove the old tests");
        // What an attempt added permits nothing.
        attempt(&mut texts, &format!("{again}- [ ] T003 Verify all\n"));
        assert_eq!(texts.text("T003", "Verify all"), "");
        assert_eq!(texts.text("T003", "Verify all links"), "Verify all links");
    }

    #[test]
    fn tasks_without_ids_are_known_by_their_words() {
        let mut texts = PersonsTexts::default();
        let [one, two] = ["- [ ] Add a\n- [ ] Add b\n", "- [ ] New\n- [ ] Add a\n- [ ] Add b\n"].map(list);
        let rewrote = texts.rewritten(&one, &two);
        let names: Vec<_> = rewrote.iter().map(|it| (it.before.as_deref(), it.after.as_str())).collect();
        assert_eq!(names, [(None, "New")]);
        texts.take_in(&rewrote);
        assert_eq!(texts.text(&two.items[1].name, "Add a"), "Add a");
    }
}
