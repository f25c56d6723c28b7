//! Restores the work tree to a snapshot. The present state is saved first, and nothing is lost.
//!
//! It holds the lock of the work tree, so that no loop starts meanwhile. The restoration is on its ref before the first
//! file changes: an interrupted one can be repeated or undone.

use std::collections::BTreeSet;

use anyhow::{Result, anyhow, bail};
use camino::Utf8Path;

use ralph_core::record::{LeftOut, ObjectId, RALPH, Refusal, SessionId, Timestamp, join_files};
use ralph_git::worktree::{PathChange, RawPath, WorkTree, collides};
use ralph_os::clock::Clock;
use ralph_os::platform::{changed_at, repo_path};
use ralph_store::{LoopLock, RestorePoint, Store};

use super::rollback::is_journal;
use super::scratch_work_tree::ScratchWorkTree;
use crate::left_spools;

/// Maximum number of files that an error names.
const MAX_NAMED_FILES: usize = 5;

/// Whether to proceed in spite of obstacles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Force {
    No,
    /// Proceed during a merge, and remove files that are in no snapshot of the session.
    Yes,
}

/// Where and how a restoration is made.
#[derive(Debug, Clone, Copy)]
pub struct Restore<'a> {
    pub store: &'a Store,
    pub work_tree: &'a WorkTree,
    pub clock: &'a Clock,
    /// Untracked files of more bytes are not saved, and so not touched.
    pub max_file: u64,
    /// The user's current folder.
    pub directory: &'a Utf8Path,
    pub force: Force,
}

/// The state to restore.
#[derive(Debug, Clone)]
pub struct Target<'a> {
    pub snapshot: ObjectId,
    pub session: &'a SessionId,
    pub feature: &'a str,
    /// `iteration 3 of session ...`
    pub name: String,
    /// The snapshots of the session's iterations, in order: files in them may be removed.
    pub snapshots: Vec<ObjectId>,
    /// What the snapshot lacks.
    pub left_out: &'a [LeftOut],
    /// When the iteration of the snapshot ended.
    pub ended_at: Option<Timestamp>,
    /// The snapshot at the start of the session: files that are unchanged since may be removed, too.
    pub start: Option<ObjectId>,
    /// The feature's own files, from the top of the work tree.
    pub tasks: &'a str,
    pub progress: &'a str,
    pub with_tasks: bool,
    /// The paths as the user wrote them.
    pub paths: &'a [String],
}

/// A planned restoration.
#[derive(Debug)]
pub struct PlannedRestore<'a> {
    restore: Restore<'a>,
    here: ScratchWorkTree<'a>,
    pub changes: Vec<PathChange>,
    /// Paths that differ but are not changed.
    pub left: Vec<(String, Why)>,
    session: SessionId,
    feature: String,
    name: String,
    _lock: Option<LoopLock>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// Only the loop and `rebuild` write it.
    Journal,
    /// The loop writes it, and it was not asked for.
    TaskList,
    /// No snapshot of the session has it.
    Unknown,
    /// The session began with another version of it, and no snapshot of an iteration has it.
    Edited,
    /// A submodule or a nested repository.
    Repository,
    /// A sparse checkout keeps it out of the work tree.
    OutOfSight,
    /// The snapshot lacks it, for this reason.
    NoSnapshot(&'static str),
}

impl Why {
    pub fn reason(self) -> &'static str {
        match self {
            Self::Journal => "the loop and `rebuild` alone write it",
            Self::TaskList => "a task list; --tasks restores that of the session's own feature",
            Self::Unknown => "no snapshot of the session has it; --force removes it",
            Self::Edited => "the session began with another version of it; --force removes it",
            Self::Repository => "a repository of its own",
            Self::OutOfSight => "outside of the sparse checkout",
            Self::NoSnapshot(why) => why,
        }
    }
}

/// Whether anything may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intent {
    Look,
    Write,
}

impl<'a> Restore<'a> {
    /// Plans the restoration of a snapshot.
    pub fn plan(self, target: &Target<'_>, intent: Intent) -> Result<PlannedRestore<'a>> {
        // The work tree is ours, and most of it is in HEAD: what is far from that is far from it.
        if let Some(head) = self.work_tree.head()? {
            self.store.require_comparable(&head, &target.snapshot)?;
        }
        let (here, lock) = self.begin(intent)?;
        let (work_tree, private_index) = (&here.work_tree, here.private_index());
        let matches = |folder: &Utf8Path| -> Result<bool> {
            Ok(work_tree.unmatched(private_index, &target.snapshot, folder, target.paths)?.is_none())
        };
        let top = self.work_tree.top();
        // Screens print paths from the top, and their commands are run in any folder.
        let is_from_top = self.directory != top && !matches(self.directory)? && matches(top)?;
        let directory = if is_from_top { top } else { self.directory };
        let restore = Self { directory, ..self };
        let lacking = restore.lacking(target);
        let specs = target.paths.iter();
        let specs = specs.filter(|spec| lacking.iter().all(|(asked, _)| *asked != Some(*spec)));
        let specs: Vec<String> = specs.cloned().collect();
        if let Some(spec) = work_tree.unmatched(private_index, &target.snapshot, directory, &specs)? {
            bail!("`{spec}` matches no file, neither now nor after {}", target.name);
        }
        let asked = here.changes_to(&target.snapshot, Some((directory, target.paths)))?;
        let hidden = work_tree.out_of_sight(private_index)?;
        let made: BTreeSet<RawPath> = asked
            .iter()
            .filter(|change| change.is_new() && untouchable(change, top, target, &hidden).is_none())
            .map(|change| change.path.clone())
            .collect();
        let in_the_way = in_the_way(&here, &target.snapshot, &made)?;
        let named: BTreeSet<&RawPath> = asked.iter().map(|change| &change.path).collect();
        let unasked = in_the_way.iter().filter(|change| !named.contains(&change.path));
        let considered: Vec<PathChange> = asked.iter().chain(unasked).cloned().collect();
        let in_the_way: BTreeSet<&RawPath> = in_the_way.iter().map(|change| &change.path).collect();
        let knowledge = self.knowledge(&here, target, &considered)?;
        let (mut changes, mut left, mut blocking) = (Vec::new(), Vec::new(), Vec::new());
        for change in considered {
            let is_blocking = in_the_way.contains(&change.path);
            match untouchable(&change, top, target, &hidden).or_else(|| knowledge.why_it_stays(&change)) {
                None => changes.push(change),
                Some(why) if is_blocking => blocking.push((change.name(), why)),
                Some(Why::Journal) => {}
                Some(why) => left.push((change.name(), why)),
            }
        }
        if !blocking.is_empty() {
            bail!("{}", describe_blocking(&blocking));
        }
        refuse_endangered(&here, &changes)?;
        for (_, lacked) in lacking {
            if left.iter().all(|(known, _)| !covers(lacked, known)) {
                left.push((lacked.path.clone(), Why::NoSnapshot(lacked.why())));
            }
        }
        Ok(PlannedRestore {
            restore,
            here,
            changes,
            left,
            session: target.session.clone(),
            feature: target.feature.to_owned(),
            name: target.name.clone(),
            _lock: lock,
        })
    }

    /// Returns what is asked for and the snapshot lacks, each with the path by which the user asked for it. A file that
    /// did not change since is no news.
    fn lacking<'t>(self, target: &Target<'t>) -> Vec<(Option<&'t String>, &'t LeftOut)> {
        let top = self.work_tree.top();
        let mut lacking = Vec::new();
        for left in target.left_out.iter().filter(|left| left.reason != LeftOut::SUBMODULE_CHANGES) {
            let asked = target.paths.iter().find(|spec| {
                let path = self.directory.join(spec);
                path.strip_prefix(top).is_ok_and(|path| {
                    covers(left, &repo_path(path)) || Utf8Path::new(&left.path).starts_with(path)
                })
            });
            let found = top.join(&left.path).symlink_metadata();
            let is_unchanged = found.is_ok_and(|found| {
                !found.is_dir() && target.ended_at.is_some_and(|ended| changed_at(&found).0 < ended.seconds())
            });
            if asked.is_some() || (target.paths.is_empty() && !is_unchanged) {
                lacking.push((asked, left));
            }
        }
        lacking
    }

    /// Plans how to undo a restoration: its paths become what they were before it.
    pub fn plan_undo(self, point: &RestorePoint, intent: Intent) -> Result<PlannedRestore<'a>> {
        let (here, lock) = self.begin(intent)?;
        let made = here.differences(&point.made, &point.found)?;
        let made: BTreeSet<_> = made.into_iter().map(|change| change.path).collect();
        let mut changes = here.changes_to(&point.found, None)?;
        changes.retain(|change| made.contains(&change.path) && !change.is_of_repository());
        let new: BTreeSet<RawPath> =
            changes.iter().filter(|change| change.is_new()).map(|change| change.path.clone()).collect();
        // Newer files are in the way of files to restore: the restoration does not know them.
        let mut in_the_way = in_the_way(&here, &point.found, &new)?;
        in_the_way.retain(|change| !made.contains(&change.path));
        let (blocking, removed): (Vec<_>, Vec<_>) =
            in_the_way.into_iter().partition(|change| self.force == Force::No || change.is_of_repository());
        if !blocking.is_empty() {
            bail!(
                "{}",
                describe_blocking(
                    &blocking
                        .iter()
                        .map(|change| {
                            let why = if change.is_of_repository() { Why::Repository } else { Why::Unknown };
                            (change.name(), why)
                        })
                        .collect::<Vec<_>>()
                )
            );
        }
        changes.extend(removed);
        refuse_endangered(&here, &changes)?;
        let (session, feature) = self.store.restored(point)?;
        Ok(PlannedRestore {
            restore: self,
            here,
            changes,
            left: Vec::new(),
            session,
            feature,
            name: format!("what was there before restoration {}", point.number),
            _lock: lock,
        })
    }

    /// Returns which of the files to be removed the session knows.
    fn knowledge(
        self,
        here: &ScratchWorkTree<'_>,
        target: &Target<'_>,
        changes: &[PathChange],
    ) -> Result<Knowledge> {
        if self.force == Force::Yes {
            return Ok(Knowledge::Needless);
        }
        let removals = changes.iter().filter(|change| change.is_removal());
        let mut unknown: BTreeSet<RawPath> = removals.map(|change| change.path.clone()).collect();
        let head = self.work_tree.head()?.filter(|_| !unknown.is_empty());
        let snapshots: Vec<&ObjectId> = head.iter().chain(&target.snapshots).collect();
        for pair in snapshots.windows(2).filter(|_| head.is_some()) {
            self.store.require_comparable(pair[0], pair[1])?;
        }
        let known = here.work_tree.known(here.private_index(), &target.snapshots, &unknown)?;
        unknown.retain(|path| !known.contains(path));
        let mut edited = BTreeSet::new();
        if let (Some(start), false) = (&target.start, unknown.is_empty()) {
            let since = here.differences(&here.now, start)?;
            let (lacking, differing): (Vec<PathChange>, Vec<PathChange>) =
                since.into_iter().partition(PathChange::is_removal);
            edited = differing.into_iter().map(|change| change.path).collect();
            let lacking: BTreeSet<RawPath> = lacking.into_iter().map(|change| change.path).collect();
            unknown.retain(|path| lacking.contains(path) || edited.contains(path));
        }
        Ok(Knowledge::Of { unknown, edited })
    }

    /// Makes sure that no loop runs here, and reads the state of the work tree.
    fn begin(self, intent: Intent) -> Result<(ScratchWorkTree<'a>, Option<LoopLock>)> {
        let lock = match intent {
            Intent::Look => None,
            Intent::Write => Some(LoopLock::take_beside(self.work_tree)?),
        };
        if intent == Intent::Write && self.force == Force::No {
            refuse_unfinished(self.store, self.work_tree)?;
        }
        Ok((ScratchWorkTree::read(self.store, self.work_tree.clone(), self.max_file)?, lock))
    }
}

/// Returns the present files that are in the way of the paths in `made`: below one of them, or above.
fn in_the_way(
    here: &ScratchWorkTree<'_>,
    wanted: &ObjectId,
    made: &BTreeSet<RawPath>,
) -> Result<Vec<PathChange>> {
    if made.is_empty() {
        return Ok(Vec::new());
    }
    let mut all = here.differences(&here.now, wanted)?;
    all.retain(|change| change.is_removal() && collides(&change.path, made));
    Ok(all)
}

impl PlannedRestore<'_> {
    /// Returns the objects that it needs and that a partial clone lacks.
    pub fn missing(&self) -> Result<Vec<ObjectId>> {
        let wanted = self.changes.iter().filter_map(|change| Some(change.after.as_ref()?.id().clone()));
        let store = self.restore.store;
        if store.repository().is_partial() { store.missing(wanted) } else { Ok(Vec::new()) }
    }

    /// Saves the present state, and then changes it. `on_kept` is called with the saved state before any file changes.
    /// Returns that state, and the paths that a sparse checkout kept out of the work tree.
    pub fn carry_out(
        self,
        on_kept: &mut dyn FnMut(&RestorePoint),
    ) -> Result<(RestorePoint, BTreeSet<String>)> {
        let here = &self.here;
        // Check again: fetching missing objects may have taken a while.
        refuse_endangered(here, &self.changes)?;
        let wanted = here.with_changes(&self.changes)?;
        let at = self.restore.clock.now();
        let point = here.save(&wanted, &self.session, &self.feature, &self.name, at)?;
        on_kept(&point);
        let applied = here.apply(&wanted);
        applied.map_err(|error| {
            anyhow!("{error:#}\nhint: `{RALPH} restore --undo {}` undoes what was done", point.number)
        })?;
        let hidden = here.work_tree.out_of_sight(here.private_index())?;
        let of_ours = self.changes.iter().filter(|change| hidden.contains(&change.path));
        Ok((point, of_ours.map(PathChange::name).collect()))
    }
}

/// Which files to be removed the session does not know.
enum Knowledge {
    /// All of them may be removed.
    Needless,
    Of {
        unknown: BTreeSet<RawPath>,
        edited: BTreeSet<RawPath>,
    },
}

impl Knowledge {
    fn why_it_stays(&self, change: &PathChange) -> Option<Why> {
        match self {
            Self::Of { unknown, edited } if change.is_removal() && unknown.contains(&change.path) => {
                Some(if edited.contains(&change.path) { Why::Edited } else { Why::Unknown })
            }
            Self::Needless | Self::Of { .. } => None,
        }
    }
}

fn describe_blocking(blocking: &[(String, Why)]) -> String {
    let named: Vec<_> = blocking.iter().map(|(path, why)| format!("{path} ({})", why.reason())).collect();
    format!(
        "not restored, because files are in the way: {}\nhint: move them away, or name the files to restore",
        listed(&named)
    )
}

/// Returns true if `path` is the file that was left out, or in the folder that was.
fn covers(left: &LeftOut, path: &str) -> bool {
    let left = left.path.trim_end_matches('/');
    left == "." || Utf8Path::new(path).starts_with(left)
}

/// Refuses to overwrite files that could not be restored.
fn refuse_endangered(here: &ScratchWorkTree<'_>, changes: &[PathChange]) -> Result<()> {
    let endangered = here.work_tree.endangered(here.private_index(), changes)?;
    if endangered.is_empty() {
        return Ok(());
    }
    let named: Vec<_> = endangered.iter().map(|path| String::from_utf8_lossy(path)).collect();
    bail!(
        "files in the way are in no snapshot and could not be restored: {}\nhint: move them away, or name the files to restore",
        listed(&named)
    )
}

fn listed<S: AsRef<str>>(paths: &[S]) -> String {
    join_files(paths, MAX_NAMED_FILES).replace(char::is_control, "\u{fffd}")
}

/// Refuses to change files under the hands of git or of a record that is not finished.
fn refuse_unfinished(store: &Store, work_tree: &WorkTree) -> Result<()> {
    if let Some(operation) = work_tree.operation() {
        let what = operation.name;
        return Err(Refusal::new(format!("{what} is in progress in this work tree"))
            .with_hint("finish or abort it first; --force proceeds anyway")
            .into());
    }
    if !left_spools::all_are_recorded(store, work_tree)? {
        return Err(Refusal::new("a session died in this work tree, and its record is not finished")
            .with_hint(format!("`{RALPH} resume` finishes it first; --force proceeds anyway"))
            .into());
    }
    Ok(())
}

/// Returns true if a path is the task list of another feature: other sessions go by it.
fn is_others_list(top: &Utf8Path, target: &Target<'_>, path: &str) -> bool {
    let path = Utf8Path::new(path);
    path != target.tasks
        && path.file_name() == Some("tasks.md")
        && top.join(path).with_file_name("spec.md").is_file()
}

/// Returns why a file is never changed, whatever is asked for.
fn untouchable(
    change: &PathChange,
    top: &Utf8Path,
    target: &Target<'_>,
    hidden: &BTreeSet<RawPath>,
) -> Option<Why> {
    let path = change.name();
    if is_journal(top, target.progress, &path) {
        Some(Why::Journal)
    } else if path == target.tasks && !target.with_tasks || is_others_list(top, target, &path) {
        Some(Why::TaskList)
    } else if change.is_of_repository() {
        Some(Why::Repository)
    } else if hidden.contains(&change.path) {
        Some(Why::OutOfSight)
    } else if change.is_removal() {
        // It was there, and no snapshot says how.
        let left = target.left_out.iter().find(|left| covers(left, &path))?;
        Some(Why::NoSnapshot(left.why()))
    } else {
        None
    }
}
