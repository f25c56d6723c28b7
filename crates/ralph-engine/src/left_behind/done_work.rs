//! What tasks that are done changed, and which later attempts took it back. Pure.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ralph_core::record::{ObjectId, TaskName};
use ralph_git::worktree::RawPath;

use crate::snapshot_taken::BlobChange;

/// What a file held; `None` where there was none.
type State = Option<ObjectId>;

/// The work of a task on a file, as positions among the file's states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    /// What its first attempt found, before the task was done for the first time.
    first: usize,
    /// What its first attempt found since it was last done.
    found: usize,
    /// What its last attempt left.
    left: usize,
}

/// A file that attempts changed.
#[derive(Debug, Default)]
struct FileHistory {
    /// What it held, oldest first. The last is what it holds now.
    states: Vec<State>,
    /// Those of them that the loop itself took back: what a failed attempt left is nothing that was before a task.
    refuted: BTreeSet<usize>,
    /// What the last commit had at the start, if that is none of these.
    committed: Option<State>,
    /// Of tasks that are done.
    done: Vec<(TaskName, Span)>,
}

impl FileHistory {
    /// Returns true if the file has the work of a task in `state`: it is neither gone nor what it was before the task.
    fn has_work(&self, span: Span, state: &State) -> bool {
        let is_left = self.states.get(span.left) == Some(state);
        // What came between has the work too, if the task was done before.
        let mut earlier = self.states.iter().take(span.first + 1).enumerate();
        let is_earlier = earlier.any(|(at, earlier)| earlier == state && !self.refuted.contains(&at))
            || self.states.get(span.found) == Some(state)
            || self.committed.as_ref() == Some(state);
        is_left || (state.is_some() && !is_earlier)
    }

    /// Takes in that the loop itself went back from `before` to `after`.
    fn refute(&mut self, before: &State, after: &State) {
        self.at(before);
        if let Some(kept) = self.states.iter().rposition(|state| state == after) {
            self.refuted.extend(kept + 1..self.states.len());
        }
        self.at(after);
    }

    /// Returns the position of the state that the file is in now.
    fn at(&mut self, state: &State) -> usize {
        if self.states.last() != Some(state) {
            self.states.push(state.clone());
        }
        self.states.len() - 1
    }
}

/// The work of the tasks of a feature.
#[derive(Debug, Default)]
pub(crate) struct DoneWork {
    files: HashMap<RawPath, FileHistory>,
    /// Tasks that are done, with what they ask for and the files that they changed.
    tasks: BTreeMap<TaskName, (Option<String>, Vec<RawPath>)>,
    /// What attempts at tasks that are not done changed.
    tried: HashMap<TaskName, BTreeMap<RawPath, Span>>,
    /// What files were before each task was done for the first time.
    first: HashMap<TaskName, HashMap<RawPath, usize>>,
    /// Files that were changed since the last attempt.
    edited: BTreeSet<RawPath>,
}

impl DoneWork {
    /// Notes what a file held in the last commit at the start: what `git checkout` would make of it.
    pub fn committed(&mut self, path: RawPath, committed: State) {
        let history = self.files.entry(path).or_default();
        history.committed = Some(committed).filter(|committed| !history.states.contains(committed));
    }

    /// Takes in what was changed between attempts, by people or by the loop.
    pub fn edited(&mut self, changes: &[BlobChange]) {
        for (path, [before, after]) in changes {
            let history = self.files.entry(path.clone()).or_default();
            history.at(before);
            history.at(after);
            self.edited.insert(path.clone());
        }
    }

    /// Takes in what the loop itself took back of failed attempts.
    pub fn taken_back_by_loop(&mut self, changes: &[BlobChange]) {
        for (path, [before, after]) in changes {
            self.files.entry(path.clone()).or_default().refute(before, after);
            self.edited.insert(path.clone());
        }
    }

    /// Takes in what an attempt changed, and which tasks it closed, each with what it asks for.
    pub fn ended(&mut self, task: &str, closed: &[(TaskName, Option<String>)], changes: &[BlobChange]) {
        self.edited.clear();
        let mut spans = self.tried.remove(task).unwrap_or_default();
        for (path, [before, after]) in changes {
            let history = self.files.entry(path.clone()).or_default();
            let mut others =
                history.done.iter().filter(|(name, _)| closed.iter().all(|(closed, _)| closed != name));
            // Taking back the work of another task is no work that could be taken back.
            let takes_back =
                others.any(|(_, span)| history.has_work(*span, before) && !history.has_work(*span, after));
            let found = history.at(before);
            let left = history.at(after);
            if takes_back {
                continue;
            }
            spans.entry(path.clone()).or_insert(Span { first: found, found, left }).left = left;
        }
        for (name, text) in closed {
            self.forget(name);
            for (path, span) in &spans {
                let first = self.first.entry(name.clone()).or_default();
                let first = *first.entry(path.clone()).or_insert(span.found);
                let span = Span { first, ..*span };
                self.files.entry(path.clone()).or_default().done.push((name.clone(), span));
            }
            self.tasks.insert(name.clone(), (text.clone(), spans.keys().cloned().collect()));
        }
        if !closed.iter().any(|(name, _)| name == task) && !spans.is_empty() {
            self.tried.insert(task.to_owned(), spans);
        }
    }

    /// Forgets the work of a task that is not done any more.
    pub fn forget(&mut self, task: &str) {
        for path in self.tasks.remove(task).into_iter().flat_map(|(_, paths)| paths) {
            if let Some(history) = self.files.get_mut(&path) {
                history.done.retain(|(name, _)| name != task);
            }
        }
    }

    /// Returns what an attempt took back of each of the tasks `done`, which are given with their texts: files that are
    /// what they were before the task, or gone and not renamed. True if no file has anything of the task any more.
    pub(super) fn taken_back(
        &self,
        changes: &[BlobChange],
        done: &[(&str, &str)],
    ) -> Vec<(TaskName, Vec<RawPath>, bool)> {
        let changed: HashMap<&RawPath, &BlobChange> =
            changes.iter().map(|change| (&change.0, change)).collect();
        let mut lost: HashMap<&str, Vec<&RawPath>> = HashMap::new();
        for change @ (path, [before, after]) in changes {
            let Some(history) = self.files.get(path) else { continue };
            for (task, span) in &history.done {
                let is_lost = history.has_work(*span, before) && !history.has_work(*span, after);
                if is_lost && !is_renamed(change, changes) {
                    lost.entry(task).or_default().push(path);
                }
            }
        }
        done.iter()
            .filter_map(|&(task, text)| {
                let files = lost.get(task)?;
                let (known, paths) = self.tasks.get(task)?;
                // A task without an id is called by its place, where another one may stand meanwhile.
                let is_same = !task.starts_with('#') || known.as_ref().is_some_and(|known| known == text);
                let is_all = !paths.iter().any(|path| {
                    let Some(history) = self.files.get(path) else { return false };
                    let now = changed.get(path).map_or(history.states.last(), |(_, [_, after])| Some(after));
                    let mut spans = history.done.iter().filter(|(name, _)| name == task);
                    // A file that was renamed has its work elsewhere.
                    let is_renamed = changed.get(path).is_some_and(|change| is_renamed(change, changes));
                    is_renamed || spans.any(|(_, span)| now.is_some_and(|now| history.has_work(*span, now)))
                });
                let mut files: Vec<RawPath> = files.iter().map(|path| (*path).clone()).collect();
                files.sort();
                is_same.then(|| (task.to_owned(), files, is_all))
            })
            .collect()
    }

    /// Takes what was changed since the last attempt for a part of it.
    pub fn forget_edits(&mut self) {
        self.edited.clear();
    }

    /// Returns true if one of the files was changed since the last attempt.
    pub fn is_any_edited(&self, paths: &[RawPath]) -> bool {
        paths.iter().any(|path| self.edited.contains(path))
    }

    /// Returns true if no file has anything of the task any more.
    pub fn is_all_missing(&self, task: &str) -> bool {
        self.tasks.get(task).is_some_and(|(_, paths)| paths.iter().all(|path| self.is_missing(task, path)))
    }

    /// Returns true if the work of a task is still missing in one of the files.
    pub fn is_missing(&self, task: &str, path: &[u8]) -> bool {
        let Some(history) = self.files.get(path) else { return false };
        let (Some(now), mut spans) = (history.states.last(), history.done.iter()) else { return false };
        spans.any(|(name, span)| name == task && !history.has_work(*span, now))
    }
}

/// The blobs of an empty file, which says nothing by its bytes.
pub(crate) const EMPTY: [&str; 2] = [
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
];

/// Returns true if a file is gone and its bytes, or a file of its name, appeared elsewhere.
fn is_renamed((path, [before, after]): &BlobChange, changes: &[BlobChange]) -> bool {
    let is_empty = before.as_ref().is_some_and(|before| EMPTY.contains(&before.as_str()));
    let mut new = changes.iter().filter(|(_, [before, after])| before.is_none() && after.is_some());
    after.is_none()
        && new.any(|(new, [_, now])| !is_empty && now == before || file_name(new) == file_name(path))
}

fn file_name(path: &[u8]) -> Option<&[u8]> {
    path.rsplit(|byte| *byte == b'/').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(letter: &str) -> State {
        (letter != "-").then(|| letter.repeat(40).parse().unwrap())
    }

    /// `app ab, one -c`: each file, with what it held before and after.
    fn changes(text: &str) -> Vec<BlobChange> {
        let change = |text: &str| {
            let (path, states) = text.split_once(' ').unwrap();
            let (before, after) = states.split_at(1);
            (path.into(), [state(before), state(after)])
        };
        text.split(", ").filter(|text| !text.is_empty()).map(change).collect()
    }

    /// Each turn: the task, `+` if it was closed, `!` for what people did, `loop` for what it took back; and the changes. The last is the attempt that
    /// is looked at.
    fn lost(turns: &[(&str, &str)]) -> String {
        let mut work = DoneWork::default();
        let (last, before) = turns.split_last().unwrap();
        let mut done = BTreeSet::new();
        for (turn, text) in before {
            let task = turn.trim_end_matches('+');
            let closed: Vec<_> =
                [(task.to_owned(), None)].into_iter().filter(|_| turn.ends_with('+')).collect();
            done.extend(closed.iter().map(|_| task));
            match *turn {
                "!" => work.edited(&changes(text)),
                "loop" => work.taken_back_by_loop(&changes(text)),
                "forget" => work.forget(text),
                _ => work.ended(task, &closed, &changes(text)),
            }
        }
        let done: Vec<(&str, &str)> = done.into_iter().map(|task| (task, "")).collect();
        let lost = work.taken_back(&changes(last.1), &done);
        let words = |(task, files, is_all): &(TaskName, Vec<RawPath>, bool)| {
            let files: Vec<_> = files.iter().map(|path| String::from_utf8_lossy(path)).collect();
            format!("{task}{}: {}", if *is_all { "" } else { " in part" }, files.join(" "))
        };
        lost.iter().map(words).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn work_is_taken_back_where_files_are_what_they_were_before_the_task() {
        let two = [("T1+", "app ab, one -c"), ("T2+", "app bd, two -e")];
        let after = |attempt: &'static str| lost(&[two[0], two[1], ("T3", attempt)]);
        for (attempt, expected) in [
            // Other work on the same files.
            ("app df", ""),
            ("new -f", ""),
            ("app df, one ca", ""),
            // Back to before both, to before the second, and with a change of its own on top.
            ("app da, one c-, two e-", "T1: app one; T2: app two"),
            ("app db", "T2 in part: app"),
            ("app db, two e-", "T2: app two"),
            ("app df, one c-, two e-", "T1 in part: one; T2 in part: two"),
            // Gone, and elsewhere.
            ("app d-", "T1 in part: app; T2 in part: app"),
            ("one c-, lib/one -f", ""),
            ("one c-, uno -c", ""),
            ("app d-, one c-, uno -c, two e-", "T1 in part: app; T2: app two"),
        ] {
            assert_eq!(after(attempt), expected, "{attempt}");
        }
    }

    #[test]
    fn only_what_an_attempt_itself_takes_back_counts_and_only_once() {
        for (turns, expected) in [
            // A task that removes a file has done so until the file is back.
            (&[("T1+", "old a-"), ("T3", "old -a")][..], "T1: old"),
            (&[("T1+", "old a-"), ("T3", "new -a")], ""),
            // What failed attempts at it changed is its work, too.
            (&[("T1", "app ab"), ("T1+", "one -c"), ("T3", "app ba, one c-")], "T1: app one"),
            (&[("T1", "app ab"), ("T1+", "app bc"), ("T3", "app ca")], "T1: app"),
            (&[("T1", "app ab"), ("T1+", "app bc"), ("T3", "app cb")], ""),
            // What was taken back before, by people or the loop, is not this attempt's.
            (&[("T1+", "app ab"), ("!", "app ba"), ("T3", "app ac")], ""),
            (&[("T1+", "app ab"), ("!", "app ba"), ("T3", "app a-")], ""),
            (&[("T1+", "app ab, one -c"), ("!", "app ba"), ("T3", "one c-")], "T1: one"),
            (&[("T1+", "app ab"), ("T2", "app ba"), ("T3", "app a-")], ""),
            // Restored by a person, and taken back again.
            (&[("T1+", "app ab"), ("T2", "app ba"), ("!", "app ab"), ("T3", "app ba")], "T1: app"),
            // Done anew, after its box was opened again.
            (&[("T1+", "app ab"), ("T2", "app ba"), ("forget", "T1"), ("T3", "app ac")], ""),
            (&[("T1+", "app ab"), ("T2", "app ba"), ("T1+", "app ab"), ("T3", "app bc")], ""),
            (&[("T1+", "app ab"), ("T2", "app ba"), ("T1+", "app ab"), ("T3", "app ba")], "T1: app"),
            // Done anew in the same way, and then another one too.
            (
                &[
                    ("T1+", "app ab"),
                    ("T2+", "app bc"),
                    ("T3", "app ca"),
                    ("forget", "T1"),
                    ("forget", "T2"),
                    ("T1+", "app ab"),
                    ("T2", "app bc"),
                ],
                "",
            ),
            (
                &[
                    ("T1+", "app ab"),
                    ("T2+", "app bc"),
                    ("T3", "app ca"),
                    ("forget", "T1"),
                    ("forget", "T2"),
                    ("!", "app ad"),
                    ("T1+", "app db"),
                    ("T2", "app bd"),
                ],
                "T1: app",
            ),
            // An attempt that takes back a file has not done its own task by that.
            (&[("T1+", "app ab"), ("T2+", "app ba, two -c"), ("forget", "T1"), ("T1", "app ab")], ""),
            // What a failed attempt left, and the loop took back, was before no task.
            (
                &[
                    ("T1", "app ab"),
                    ("loop", "app ba"),
                    ("T1", "app ac"),
                    ("loop", "app ca"),
                    ("T2+", "app ab"),
                    ("T3", "app bc"),
                ],
                "",
            ),
            (
                &[
                    ("T1", "app ac"),
                    ("loop", "app ca"),
                    ("T2+", "app ab"),
                    ("T3+", "app bc"),
                    ("T4", "app cb"),
                ],
                "T3: app",
            ),
            (&[("T1", "app ac"), ("loop", "app ca"), ("T2+", "app ab"), ("T3", "app ba")], "T2: app"),
            // People took back nothing that they did not have before.
            (&[("T1", "app ac"), ("!", "app ca"), ("T2+", "app ab"), ("T3", "app bc")], "T2: app"),
            // A file that was edited between the task and the attempt.
            (&[("T1+", "app ab"), ("!", "app bc"), ("T3", "app ca")], "T1: app"),
            (&[("T1+", "app ab"), ("!", "app bc"), ("T3", "app cb")], ""),
        ] {
            assert_eq!(lost(turns), expected, "{turns:?}");
        }
    }

    #[test]
    fn what_a_file_held_in_the_last_commit_is_an_earlier_state() {
        let mut work = DoneWork::default();
        work.ended("T1", &[("T1".to_owned(), None)], &changes("app bc, one -d"));
        let attempt = changes("app ca");
        assert_eq!(work.taken_back(&attempt, &[("T1", "")]), []);
        work.committed(b"app".to_vec(), state("a"));
        let lost = work.taken_back(&attempt, &[("T1", "")]);
        assert_eq!((lost.len(), lost[0].2), (1, false));
        work.ended("T2", &[], &attempt);
        assert!(work.is_missing("T1", b"app") && !work.is_missing("T1", b"one"));
    }

    #[test]
    fn a_task_that_is_called_by_its_place_is_known_by_its_text() {
        let mut work = DoneWork::default();
        work.ended("#1", &[("#1".to_owned(), Some("Make it".to_owned()))], &changes("app ab"));
        for (text, expected) in [("Make it", 1), ("Break it", 0)] {
            assert_eq!(work.taken_back(&changes("app ba"), &[("#1", text)]).len(), expected);
        }
    }
}
