//! A task list that an attempt wrote anew. Pure.

use std::collections::HashSet;

use tasklist::{Item, TaskList};

use ralph_core::record::TaskName;

/// What became of the tasks of a list that was written anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RewrittenList {
    /// Tasks that were done and are open in it.
    pub reopened: Vec<TaskName>,
    /// How many are not in it any more, and how many have another id.
    gone: usize,
    renumbered: usize,
}

impl RewrittenList {
    /// Compares two versions of a list. `None` if the second is the same list with changes: at least half of the tasks have
    /// their ids and their words, or all are there and none of the done ones is open again.
    pub fn of(before: &TaskList, after: &TaskList) -> Option<Self> {
        if !Self::is_another(before, after) {
            return None;
        }
        let mut rewritten = Self { reopened: Vec::new(), gone: 0, renumbered: 0 };
        for item in before.tasks() {
            let with_id = after.tasks().find(|later| item.id.is_some() && later.id == item.id);
            let alike: Vec<&Item> = after.tasks().filter(|later| later.text == item.text).collect();
            let with_text = alike.first().copied();
            if with_id.is_none_or(|later| later.text != item.text) {
                rewritten.renumbered += usize::from(item.id.is_some() && with_text.is_some());
                rewritten.gone += usize::from(with_text.or(with_id).is_none());
            }
            let is_open = with_text.or(with_id).is_some_and(|later| !later.done);
            if item.done && is_open && !alike.iter().any(|later| later.done) {
                rewritten.reopened.push(item.name.clone());
            }
        }
        let is_another = !rewritten.reopened.is_empty() || rewritten.gone > 0 || rewritten.renumbered > 0;
        is_another.then_some(rewritten)
    }

    /// Returns true if more than half of the tasks are not in the second list with their ids and words.
    pub fn is_another(before: &TaskList, after: &TaskList) -> bool {
        let known: HashSet<(Option<&str>, &str)> =
            after.tasks().map(|item| (item.id.as_deref(), item.text.as_str())).collect();
        let (mut all, mut differing) = (0_usize, 0_usize);
        for item in before.tasks() {
            all += 1;
            differing += usize::from(!known.contains(&(item.id.as_deref(), item.text.as_str())));
        }
        differing * 2 > all && all > 1
    }

    /// `another task list than before: 1 done task is open again`
    pub fn words(&self) -> String {
        let counted = |count: usize, one: &str, many: &str| match count {
            1 => format!("1 {one}"),
            count => format!("{count} {many}"),
        };
        let what = match self {
            Self { reopened, .. } if !reopened.is_empty() => {
                counted(reopened.len(), "done task is open again", "done tasks are open again")
            }
            Self { gone: 0, renumbered, .. } => {
                counted(*renumbered, "task has another id", "tasks have other ids")
            }
            Self { gone, .. } => counted(*gone, "task is gone", "tasks are gone"),
        };
        format!("another task list than before: {what}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_another_one_if_most_tasks_differ_and_some_are_gone_or_open_again() {
        let before = "- [x] T001 Make one\n- [ ] T002 Make two\n- [ ] T003 Make three\n";
        for (after, expected) in [
            (before, None),
            // Daily work: ticks, words, tasks that are added or moved, a box that is opened.
            ("- [x] T001 Make one\n- [x] T002 Make two\n- [ ] T003 Make three\n", None),
            ("- [x] T001 Make one (done)\n- [ ] T002 Make two, better\n- [ ] T003 **Make three**\n", None),
            (
                "- [x] T001 Make one\n- [ ] T002 Make two\n- [ ] T003 Make three\n- [ ] T004 Make four\n- [ ] T005 x\n",
                None,
            ),
            ("- [ ] T001 Make one\n- [ ] T002 Make two\n- [ ] T003 Make three\n", None),
            ("- [ ] T003 Make three\n- [ ] T002 Make two\n\n## Done\n\n- [x] T001 Make one\n", None),
            (
                "- [ ] T001 Create a folder\n- [ ] T002 Make one\n- [ ] T003 Make two\n- [ ] T004 Make three\n",
                Some("another task list than before: 1 done task is open again"),
            ),
            (
                "- [ ] T001 Create a folder\n- [ ] T002 Write code\n- [ ] T003 Ship it\n",
                Some("another task list than before: 1 done task is open again"),
            ),
            (
                "- [x] T001 Make a folder\n- [x] T002 Make one\n- [ ] T003 Make two\n- [ ] T004 Make three\n",
                Some("another task list than before: 3 tasks have other ids"),
            ),
            ("- [ ] T010 Something else\n", Some("another task list than before: 3 tasks are gone")),
        ] {
            let [one, other] = [before, after].map(|text| TaskList::parse(text.as_bytes()).unwrap());
            let found = RewrittenList::of(&one, &other);
            assert_eq!(found.map(|found| found.words()).as_deref(), expected, "{after}");
        }
    }

    #[test]
    fn a_list_without_ids_is_known_by_its_words() {
        let before = TaskList::parse(b"- [x] Make one\n- [x] Make two\n- [ ] Make three\n").unwrap();
        let after = TaskList::parse(b"- [ ] Make one, two\n- [ ] Make three\n- [ ] Ship\n").unwrap();
        let found = RewrittenList::of(&before, &after).map(|found| found.words());
        assert_eq!(found.as_deref(), Some("another task list than before: 2 tasks are gone"));
    }
}
