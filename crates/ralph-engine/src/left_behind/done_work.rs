//! What tasks that are done changed, and which later attempts took it back. Pure.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ralph_core::judge::is_test_file;
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
    /// Tasks that are done.
    tasks: BTreeMap<TaskName, DoneTask>,
    /// What attempts at tasks that are not done changed.
    tried: HashMap<TaskName, BTreeMap<RawPath, Span>>,
    /// What files were before each task was done for the first time.
    first: HashMap<TaskName, HashMap<RawPath, usize>>,
    /// Files that were changed since the last attempt.
    edited: BTreeSet<RawPath>,
    /// The same, also before the session: no attempt was recorded after it.
    unseen: BTreeSet<RawPath>,
}

/// A task that is done.
#[derive(Debug)]
struct DoneTask {
    /// What it asks for.
    text: Option<String>,
    /// The files that it changed.
    paths: Vec<RawPath>,
    /// The snapshot after it.
    snapshot: Option<ObjectId>,
}

/// A task that is done and of whose work no file seems to have anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Suspect {
    pub task: TaskName,
    /// The files of its work that are no tests.
    pub files: Vec<RawPath>,
    /// Those of them that are not there: they may have been moved.
    pub deleted: Vec<RawPath>,
    /// What files hold, and what they held before the task: white space may be all that differs.
    pub alike: Vec<(ObjectId, ObjectId)>,
    /// The snapshot after it was done.
    pub snapshot: ObjectId,
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
            self.unseen.insert(path.clone());
        }
    }

    /// Takes in what the loop itself took back of failed attempts.
    pub fn taken_back_by_loop(&mut self, changes: &[BlobChange]) {
        for (path, [before, after]) in changes {
            self.files.entry(path.clone()).or_default().refute(before, after);
            self.edited.insert(path.clone());
            self.unseen.insert(path.clone());
        }
    }

    /// Takes in what an attempt changed, which tasks it closed, each with what it asks for, and the snapshot after it.
    pub fn ended(
        &mut self,
        task: &str,
        closed: &[(TaskName, Option<String>)],
        changes: &[BlobChange],
        snapshot: Option<&ObjectId>,
    ) {
        self.edited.clear();
        self.unseen.clear();
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
            let paths = spans.keys().cloned().collect();
            let done = DoneTask { text: text.clone(), paths, snapshot: snapshot.cloned() };
            self.tasks.insert(name.clone(), done);
        }
        if !closed.iter().any(|(name, _)| name == task) && !spans.is_empty() {
            self.tried.insert(task.to_owned(), spans);
        }
    }

    /// Forgets the work of a task that is not done any more.
    pub fn forget(&mut self, task: &str) {
        for path in self.tasks.remove(task).into_iter().flat_map(|done| done.paths) {
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
                let DoneTask { text: known, paths, .. } = self.tasks.get(task)?;
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

    /// Returns the files that were changed since the last attempt that is recorded.
    pub fn unseen(&self) -> BTreeSet<RawPath> {
        self.unseen.clone()
    }

    /// Returns the tasks with one of the files `touched`, and of those the ones that may be gone. `changes` are of the last
    /// attempt, which may have moved what is not there any more.
    pub fn suspects(
        &self,
        touched: &BTreeSet<RawPath>,
        changes: &[BlobChange],
    ) -> (BTreeSet<TaskName>, Vec<Suspect>) {
        let of_tests = |path: &RawPath| std::str::from_utf8(path).is_ok_and(is_test_file);
        let is_touched = |done: &DoneTask| done.paths.iter().any(|path| touched.contains(path));
        let tasks = || self.tasks.iter().filter(|(_, done)| is_touched(done));
        let suspects = tasks().filter_map(|(task, done)| {
            let files: Vec<RawPath> = done.paths.iter().filter(|path| !of_tests(path)).cloned().collect();
            let mut suspect = Suspect {
                task: task.clone(),
                deleted: Vec::new(),
                alike: Vec::new(),
                snapshot: done.snapshot.clone()?,
                files,
            };
            for path in &suspect.files {
                let history = self.files.get(path)?;
                let (_, span) = history.done.iter().find(|(name, _)| name == task)?;
                let now = history.states.last()?;
                let was_moved =
                    || changes.iter().any(|change| change.0 == *path && is_renamed(change, changes));
                match (history.has_work(*span, now), now) {
                    (false, Some(_)) => {}
                    (false, None) if !was_moved() => suspect.deleted.push(path.clone()),
                    (true, Some(now)) if history.states.get(span.left)?.as_ref() != Some(now) => {
                        let before = history.states.get(span.found)?.clone()?;
                        suspect.alike.push((now.clone(), before));
                    }
                    _ => return None,
                }
            }
            (!suspect.files.is_empty()).then_some(suspect)
        });
        (tasks().map(|(task, _)| task.clone()).collect(), suspects.collect())
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
        let done = self.tasks.get(task);
        done.is_some_and(|done| done.paths.iter().all(|path| self.is_missing(task, path)))
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

    const SNAPSHOT: &str = "1111111111111111111111111111111111111111";

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
                _ => work.ended(task, &closed, &changes(text), Some(&SNAPSHOT.parse().unwrap())),
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

    /// As [`lost`], of the tasks that may be gone after the last attempt: `~` for files that may differ in white space alone, `-`
    /// for those that may have been moved.
    fn suspects(turns: &[(&str, &str)]) -> String {
        let mut work = DoneWork::default();
        let (mut touched, mut last) = (BTreeSet::new(), Vec::new());
        for (turn, text) in turns {
            let task = turn.trim_end_matches('+');
            let closed: Vec<_> =
                [(task.to_owned(), None)].into_iter().filter(|_| turn.ends_with('+')).collect();
            last = changes(text);
            match *turn {
                "!" => work.edited(&last),
                _ => work.ended(task, &closed, &last, Some(&SNAPSHOT.parse().unwrap())),
            }
            touched = last.iter().map(|(path, _)| path.clone()).collect();
        }
        let words = |suspect: &Suspect| {
            let moved = if suspect.deleted.is_empty() { "" } else { "-" };
            let alike = if suspect.alike.is_empty() { "" } else { "~" };
            format!("{}{moved}{alike}", suspect.task)
        };
        work.suspects(&touched, &last).1.iter().map(words).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_task_may_be_gone_if_no_file_of_it_outside_of_tests_has_its_work() {
        let done = ("T1+", "src/a.rs -b, tests/a.rs -c");
        for (turns, expected) in [
            // Deleted, with its test or without it.
            (&[done, ("T2+", "src/a.rs b-")][..], "T1-"),
            (&[done, ("T2+", "src/a.rs b-, tests/a.rs c-, x -d")], "T1-"),
            // What it did is there, or is other work on the same file.
            (&[done, ("T2+", "tests/a.rs c-")], ""),
            (&[done, ("T2+", "src/a.rs bd")], ""),
            (&[("T1+", "a.rs -b, b.rs -c"), ("T2+", "a.rs b-")], ""),
            (&[("T1+", "a.rs -b, b.rs -c"), ("T2+", "a.rs b-"), ("T3+", "b.rs c-")], "T1-"),
            // As it was before the task, to the byte or perhaps but for white space.
            (&[("T1+", "a.rs ab"), ("T2+", "a.rs ba")], "T1"),
            (&[("T1+", "a.rs ab"), ("T2+", "a.rs bd")], "T1~"),
            (&[("T1+", "a.rs ab, b.rs -c"), ("T2+", "a.rs bd, b.rs c-")], "T1-~"),
            // Moved with its bytes, or under its name.
            (&[done, ("T2+", "src/a.rs b-, lib/b.rs -b")], ""),
            (&[done, ("T2+", "src/a.rs b-, lib/a.rs -d")], ""),
            // A task that removes a file, until the file is back.
            (&[("T1+", "a.rs b-"), ("T2+", "a.rs -b")], "T1"),
            (&[("T1+", "a.rs b-"), ("T2+", "a.rs -d")], "T1~"),
            (&[("T1+", "a.rs b-"), ("T2+", "b.rs -d")], ""),
            // By people; and what they bring back is there again.
            (&[done, ("!", "src/a.rs b-")], "T1-"),
            (&[done, ("T2+", "src/a.rs b-"), ("!", "src/a.rs -b")], ""),
            // Of tests alone nothing is known, and nothing of tasks whose files are left alone.
            (&[("T1+", "tests/a.rs -b"), ("T2+", "tests/a.rs b-")], ""),
            (&[done, ("T2+", "src/a.rs b-"), ("T3+", "x -b")], ""),
        ] {
            assert_eq!(suspects(turns), expected, "{turns:?}");
        }
    }

    #[test]
    fn what_a_file_held_in_the_last_commit_is_an_earlier_state() {
        let mut work = DoneWork::default();
        work.ended("T1", &[("T1".to_owned(), None)], &changes("app bc, one -d"), None);
        let attempt = changes("app ca");
        assert_eq!(work.taken_back(&attempt, &[("T1", "")]), []);
        work.committed(b"app".to_vec(), state("a"));
        let lost = work.taken_back(&attempt, &[("T1", "")]);
        assert_eq!((lost.len(), lost[0].2), (1, false));
        work.ended("T2", &[], &attempt, None);
        assert!(work.is_missing("T1", b"app") && !work.is_missing("T1", b"one"));
    }

    #[test]
    fn a_task_that_is_called_by_its_place_is_known_by_its_text() {
        let mut work = DoneWork::default();
        work.ended("#1", &[("#1".to_owned(), Some("Make it".to_owned()))], &changes("app ab"), None);
        for (text, expected) in [("Make it", 1), ("Break it", 0)] {
            assert_eq!(work.taken_back(&changes("app ba"), &[("#1", text)]).len(), expected);
        }
    }
}
