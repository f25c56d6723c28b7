//! Files with work of the user's that was in no commit at the start, and what attempts did to them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use anyhow::Result;

use ralph_core::record::{Iteration, LeftOut, ObjectId, Outcome, Session, UserFile, UserFileChange};
use ralph_git::worktree::{PathChange, RawPath, TreeEntry, WorkTree};
use ralph_store::{Slot, Store, newest_written};

use super::surviving;
use crate::recorder::Recorder;
use crate::snapshot_taken::SnapshotTaken;

/// Maximum number of names in the record of a session.
const MAX_RECORDED_FILES: usize = 1000;

/// Largest file whose lines are compared, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// A file as the user left it.
#[derive(Debug)]
struct Original {
    /// What the last commit had; `None` if it had no such file.
    committed: Option<TreeEntry>,
    /// `None` if the user had deleted it.
    own: Option<TreeEntry>,
    /// The commit that took it in meanwhile.
    commit: Option<ObjectId>,
}

/// The files of the user's in a session.
#[derive(Debug, Default)]
pub(crate) struct UserFiles {
    files: BTreeMap<RawPath, Original>,
    /// Files that no snapshot has: credentials, and what is too large.
    hidden: Vec<String>,
    /// The work tree as the user left it.
    tree: Option<ObjectId>,
    /// What `restore` calls it; `None` if no snapshot is kept.
    kept_in: Option<String>,
    /// What is gone, as it was said.
    pub(super) lost: Vec<UserFile>,
    /// True if the session before left more than files that are not committed.
    holds_attempts: bool,
    /// What the last commit had of all files that were not committed, of agents' too.
    committed: Vec<(RawPath, Option<ObjectId>)>,
}

/// How the session before this one in the same work tree ended: what it left in no commit is its agents' work.
#[derive(Debug, Default)]
pub(crate) struct PreviousSession {
    session: Option<Session>,
    last: Option<Iteration>,
    snapshot: Option<ObjectId>,
}

impl PreviousSession {
    pub fn of(store: &Store, work_tree: &WorkTree) -> Result<Self> {
        let Some(refs) = newest_written(work_tree)? else { return Ok(Self::default()) };
        let Some(log) = store.session(&refs)? else { return Ok(Self::default()) };
        let session = log.entries.iter().rfind(|entry| !entry.is_iteration());
        Ok(Self {
            session: session.and_then(|entry| store.readable_session(entry)),
            last: log.iterations().next_back().and_then(|entry| store.readable_iteration(entry)),
            snapshot: store.refs().tip(&refs.snapshot())?,
        })
    }

    /// Returns true if its last attempt failed and left something that is not known, or in commits.
    fn left_more(&self) -> bool {
        let is_unknown = self.snapshot.is_none() && self.last.is_some();
        let has_failed = |last: &Iteration| last.outcome != Outcome::Success && !last.commits.is_empty();
        is_unknown || self.last.as_ref().is_some_and(has_failed)
    }

    fn has_user_file(&self, path: &str) -> bool {
        self.session.as_ref().is_some_and(|session| session.user_files.iter().any(|known| known == path))
    }

    /// Returns true if a file that no snapshot has is none of its agents' work.
    fn leaves_hidden(&self, path: &str) -> bool {
        let was_there = self.last.iter().flat_map(|last| &last.left_out).any(|left| left.path == path);
        !was_there || self.has_user_file(path)
    }

    /// Returns the files that changed since it ended; `None` if that is not known.
    fn changed_since(
        &self,
        recorder: &Recorder<'_>,
        slot: &Slot,
        tree: &ObjectId,
    ) -> Option<BTreeSet<RawPath>> {
        let changed = recorder.differences(Some(slot), self.snapshot.as_ref()?, tree).ok()?;
        Some(changed.into_iter().map(|change| change.path).collect())
    }
}

impl UserFiles {
    /// Returns the files as they are at the start. `head` is the last commit, or the empty tree.
    pub fn at_start(
        recorder: &Recorder<'_>,
        slot: &Slot,
        snapshot: Option<&ObjectId>,
        head: &ObjectId,
        is_resumed: bool,
        previous: &PreviousSession,
    ) -> Result<Self> {
        let Some(tree) = recorder.last_contents().0.cloned() else { return Ok(Self::default()) };
        let since = previous.changed_since(recorder, slot, &tree);
        // At its start a lane has nothing of the user's, but spec-kit's note that the loop wrote.
        let uncommitted = match recorder.work_tree().lane() {
            Some(_) => Vec::new(),
            None => recorder.differences(Some(slot), head, &tree)?,
        };
        let by_rule =
            |left: &&LeftOut| left.reason == LeftOut::CREDENTIALS || left.reason == LeftOut::TOO_LARGE;
        let hidden = recorder.last_left_out().iter().filter(by_rule).map(|left| left.path.clone());
        let committed = uncommitted
            .iter()
            .map(|change| (change.path.clone(), change.before.as_ref().map(|entry| entry.id().clone())))
            .collect();
        let lost = if is_resumed { previous.still_lost(since.as_ref()) } else { Vec::new() };
        Ok(Self {
            files: uncommitted
                .into_iter()
                .filter(|change| {
                    since.as_ref().is_none_or(|since| since.contains(&change.path))
                        || previous.has_user_file(&change.name())
                })
                .map(|PathChange { path, before: committed, after: own, .. }| {
                    (path, Original { committed, own, commit: None })
                })
                .collect(),
            hidden: hidden.filter(|path| previous.leaves_hidden(path)).collect(),
            tree: Some(tree),
            kept_in: snapshot.map(|id| if is_resumed { id.short().to_string() } else { "0".to_owned() }),
            lost,
            holds_attempts: previous.left_more(),
            committed,
        })
    }

    /// Returns true if the work tree may hold work of attempts that is in no commit of the user's.
    pub fn has_attempts(&self) -> bool {
        self.holds_attempts || self.committed.len() > self.files.len()
    }

    /// Returns what the last commit had of all files that were not committed, once.
    pub fn take_committed(&mut self) -> Vec<(RawPath, Option<ObjectId>)> {
        std::mem::take(&mut self.committed)
    }

    pub fn len(&self) -> usize {
        self.files.len() + self.hidden.len()
    }

    /// Returns their names, for the record of the session.
    pub fn names(&self) -> Vec<String> {
        let files = self.files.keys().map(|path| String::from_utf8_lossy(path).into_owned());
        files.chain(self.hidden.iter().cloned()).take(MAX_RECORDED_FILES).collect()
    }
}

impl PreviousSession {
    /// Returns what its last attempt knew to be gone and nobody touched since.
    fn still_lost(&self, since: Option<&BTreeSet<RawPath>>) -> Vec<UserFile> {
        let Some(since) = since else { return Vec::new() };
        let lost = self.last.iter().flat_map(|last| &last.user_files).filter(|file| file.is_gone());
        lost.filter(|file| !since.contains(file.path.as_bytes())).cloned().collect()
    }
}

impl UserFiles {
    /// Returns what became of the files that the attempt touched, and of those whose work was gone before. `commits` were made
    /// meanwhile.
    pub(super) fn look(
        &mut self,
        recorder: &Recorder<'_>,
        slot: &Slot,
        iteration: u32,
        taken: &SnapshotTaken,
        commits: &[ObjectId],
    ) -> Result<Vec<UserFile>> {
        if taken.failure.is_some() || (self.len() == 0 && self.lost.is_empty()) {
            return Ok(self.lost.clone());
        }
        let committed = self.take_in(recorder, commits)?;
        let lost = self.lost.iter().map(|file| file.path.as_bytes().to_vec());
        let touched: BTreeSet<RawPath> =
            taken.changed.iter().cloned().chain(lost).filter(|path| self.files.contains_key(path)).collect();
        let left = taken.trees.as_ref().map(|(_, left)| left);
        let changes = match (left.or(recorder.last_contents().0), &self.tree) {
            (Some(now), Some(tree)) if !touched.is_empty() => recorder.differences(Some(slot), tree, now)?,
            _ => Vec::new(),
        };
        let mut found = self.compare(recorder, slot, iteration, &touched, &changes)?;
        found.retain(|file| !(file.is_gone() && self.is_in_history(recorder, file)));
        let hidden = self.hidden.iter().filter(|path| !recorder.work_tree().has_file(path));
        found.extend(hidden.map(|path| self.found(path, UserFileChange::Deleted, iteration, None)));
        // What is no file of this run was lost in an earlier one, and nobody touched it since.
        let others = self.lost.iter().filter(|file| !self.files.contains_key(file.path.as_bytes()));
        let before = others.filter(|file| !self.hidden.contains(&file.path));
        let is_changed = |path: &str| taken.changed.iter().any(|changed| changed == path.as_bytes());
        found.extend(before.filter(|file| !is_changed(&file.path)).cloned());
        for (path, commit) in committed {
            if !found.iter().any(|file| file.path == path && file.is_gone()) {
                found.retain(|file| file.path != path);
                found.push(self.found(&path, UserFileChange::Committed, iteration, Some(commit)));
            }
        }
        found.sort_by(|one, other| one.path.cmp(&other.path));
        self.lost = found.iter().filter(|file| file.is_gone()).cloned().collect();
        Ok(found)
    }

    /// Compares the files that were touched with what the user left.
    fn compare(
        &self,
        recorder: &Recorder<'_>,
        slot: &Slot,
        iteration: u32,
        touched: &BTreeSet<RawPath>,
        changes: &[PathChange],
    ) -> Result<Vec<UserFile>> {
        let by_path: HashMap<&RawPath, &PathChange> =
            changes.iter().map(|change| (&change.path, change)).collect();
        // What is not among the changes is as the user left it.
        let pairs: Vec<(&RawPath, &Original, Option<&TreeEntry>)> = touched
            .iter()
            .filter_map(|path| Some((path, self.files.get(path)?, by_path.get(path)?.after.as_ref())))
            .collect();
        let new: Vec<&TreeEntry> = changes
            .iter()
            .filter(|change| change.is_new())
            .filter_map(|change| change.after.as_ref())
            .collect();
        let unclear = pairs.iter().filter(|(_, original, now)| original.quick(*now).is_none());
        let entries = unclear
            .flat_map(|(_, original, now)| [original.committed.as_ref(), original.own.as_ref(), *now])
            .flatten();
        let contents = recorder.contents_of(slot, entries, MAX_FILE_BYTES)?;
        Ok(pairs
            .into_iter()
            .map(|(path, original, now)| {
                let change = match original.quick(now) {
                    // It was moved.
                    Some(UserFileChange::Deleted)
                        if let Some(own) = &original.own
                            && new.iter().any(|new| new.id() == own.id()) =>
                    {
                        UserFileChange::Edited
                    }
                    Some(change) => change,
                    None if original.survives(now, &contents) => UserFileChange::Edited,
                    None => UserFileChange::Overwritten,
                };
                self.found(&String::from_utf8_lossy(path), change, iteration, None)
            })
            .collect())
    }

    fn found(
        &self,
        path: &str,
        change: UserFileChange,
        iteration: u32,
        commit: Option<ObjectId>,
    ) -> UserFile {
        let known = self.lost.iter().find(|file| file.path == path && file.change == change);
        UserFile {
            path: path.to_owned(),
            change,
            since: known.map_or(iteration, |known| known.since),
            kept_in: self.kept_in.clone().filter(|_| !self.hidden.iter().any(|hidden| hidden == path)),
            commit,
        }
    }

    /// Notes which of the files are in `commits`. Returns those that were in none before.
    pub(super) fn take_in(
        &mut self,
        recorder: &Recorder<'_>,
        commits: &[ObjectId],
    ) -> Result<Vec<(String, ObjectId)>> {
        if commits.is_empty() || self.files.is_empty() {
            return Ok(Vec::new());
        }
        let mut taken_in = Vec::new();
        for (path, commit) in recorder.work_tree().changed_in(commits)? {
            let Some(original) = self.files.get_mut(&path) else { continue };
            if original.commit.is_none() {
                taken_in.push((String::from_utf8_lossy(&path).into_owned(), commit.clone()));
            }
            original.commit = Some(commit);
        }
        Ok(taken_in)
    }

    /// Returns true if a commit took the file in and is part of the branch.
    fn is_in_history(&self, recorder: &Recorder<'_>, file: &UserFile) -> bool {
        let original = self.files.get(file.path.as_bytes());
        let commit = original.and_then(|original| original.commit.as_ref());
        commit.is_some_and(|commit| recorder.work_tree().is_in_branch(commit))
    }
}

impl Original {
    /// Returns what became of it, if that is seen without its lines.
    fn quick(&self, now: Option<&TreeEntry>) -> Option<UserFileChange> {
        match (&self.own, now) {
            (Some(_), None) => Some(UserFileChange::Deleted),
            (own, Some(now)) if Some(now) == self.committed.as_ref() && own.as_ref() != Some(now) => {
                Some(UserFileChange::Reverted)
            }
            (None, _) => Some(UserFileChange::Edited),
            (Some(own), Some(now)) if own.id() == now.id() => Some(UserFileChange::Edited),
            (Some(_), Some(_)) => None,
        }
    }

    fn survives(&self, now: Option<&TreeEntry>, contents: &HashMap<ObjectId, Vec<u8>>) -> bool {
        let all = [self.committed.as_ref(), self.own.as_ref(), now].map(|entry| match entry {
            None => Some(&[][..]),
            Some(entry) => contents.get(entry.id()).map(Vec::as_slice),
        });
        match all {
            [Some(committed), Some(own), Some(now)] => surviving::survives(committed, own, now),
            // What is too large to be compared is not said to be gone.
            _ => true,
        }
    }
}
