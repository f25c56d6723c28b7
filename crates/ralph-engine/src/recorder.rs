//! What happened, on its way into the record and into progress.txt: spool, store, file, in this order.

mod contents;
mod opening;
mod snapshots;

use std::collections::HashMap;
use std::io::ErrorKind;

use anyhow::{Context, Result};
use camino::Utf8PathBuf;
use redact_stream::Redactor;
use tasklist::{Item, Mark, TaskList};

use ralph_core::progress::progress_txt;
use ralph_core::record::{Iteration, LeftOut, ObjectId, RALPH, RecordKind, Session, Timestamp};
use ralph_git::worktree::WorkTree;
use ralph_os::process::create_private_dir;
use ralph_project::project_files::{MAX_TASK_LIST_BYTES, ProjectFiles};
use ralph_project::tasks::set_marks;
use ralph_store::{
    Draft, RefState, SessionRefs, Slot, Spool, SpoolMeta, Store, Tips, names, note_last_written,
};

use super::loop_inputs::LoopInputs;
use super::progress_file::{ProgressFile, ProgressPlan};
use super::redaction::redacted;
use super::snapshot_taken::BlobChange;
use super::watched_work_tree::{Look, WatchedWorkTree};

pub use opening::Opening;

/// Writes the records of one session.
pub struct Recorder<'a> {
    store: &'a Store,
    place: SpoolMeta,
    redactor: Redactor,
    spool: Spool,
    work_tree: WatchedWorkTree,
    files: ProjectFiles,
    /// The tips as we left them; the store refuses to move them from anywhere else.
    tips: Tips,
    /// Dates of commits never go back, or walks ordered by date would end early.
    last_committed_at: Option<Timestamp>,
    progress: ProgressFile,
    /// What was changed between two attempts, since it was last asked for.
    edits: Vec<BlobChange>,
    /// The work tree as the agent of the attempt left it.
    sealed: Option<ObjectId>,
    /// The last look at the work tree, if nothing changed it since.
    last_look: Option<Look>,
    /// True if the last snapshot is that of the work tree then; false after one that failed.
    is_snapshot_good: bool,
    /// True if a command of the user's ran since, which may have changed files.
    is_in_doubt: bool,
    /// The trees of the snapshots that were written.
    trees: HashMap<ObjectId, ObjectId>,
    /// Warnings for the user. The loop prints them.
    pub warnings: Vec<String>,
}

impl<'a> Recorder<'a> {
    pub fn new(inputs: &LoopInputs<'a>, place: SpoolMeta, redactor: Redactor, spool: Spool) -> Result<Self> {
        let LoopInputs { store, work_tree, .. } = *inputs;
        let refs = SessionRefs::new(&place.feature, place.session.clone());
        let tips =
            Tips { log: store.refs().tip(&refs.log())?, snapshot: store.refs().tip(&refs.snapshot())? };
        let log = store.session(&refs)?;
        let scratch = spool.scratch();
        create_private_dir(&scratch)?;
        let files = work_tree.project_files()?;
        Ok(Self {
            store,
            work_tree: WatchedWorkTree::new(
                work_tree.clone().at_work_for(&place.session).keeping_identity(),
                tips.snapshot.clone(),
            ),
            progress: ProgressFile::new(&files, &place.progress_path),
            files,
            last_committed_at: log.map(|log| log.tip().ended_at()),
            place,
            redactor,
            spool,
            tips,
            edits: Vec::new(),
            sealed: None,
            last_look: None,
            is_snapshot_good: false,
            is_in_doubt: false,
            trees: HashMap::new(),
            warnings: Vec::new(),
        })
    }

    pub fn files(&self) -> &ProjectFiles {
        &self.files
    }

    /// Returns where the record of that name is put together.
    pub fn slot(&self, name: &str) -> Slot {
        self.spool.slot(name)
    }

    pub fn place(&self) -> &SpoolMeta {
        &self.place
    }

    pub fn spool(&self) -> &Spool {
        &self.spool
    }

    pub fn work_tree(&self) -> &WorkTree {
        self.work_tree.work_tree()
    }

    /// Returns the work tree as it was last looked at, and where its objects are if they are not in the repository.
    pub fn last_contents(&self) -> (Option<&ObjectId>, Option<Utf8PathBuf>) {
        let beside = (!self.place.snapshots).then(|| self.spool.scratch().join("objects"));
        (self.work_tree.last_contents.as_ref(), beside)
    }

    /// Returns what was changed between the last two attempts, once.
    pub fn take_edits(&mut self) -> Vec<BlobChange> {
        std::mem::take(&mut self.edits)
    }

    /// Returns what the last snapshot left out.
    pub fn last_left_out(&self) -> &[LeftOut] {
        &self.work_tree.last_left_out
    }

    pub(super) fn watched_work_tree(&mut self) -> &mut WatchedWorkTree {
        &mut self.work_tree
    }

    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Records an iteration. Its entry, with `excerpt` in it, goes to progress.txt as well.
    pub fn iteration(&mut self, slot: &Slot, iteration: &Iteration, excerpt: &str) -> Result<ObjectId> {
        let iteration = redacted(&self.redactor, iteration)?;
        // An entry shortens texts: a secret that is cut in two is not found any more.
        let entry = self.redactor.settle(&progress_txt::entry(&iteration, excerpt));
        let header = progress_txt::header(&self.place.feature_name, iteration.started_at);
        let planned = self.plan_progress(&header, &entry);
        if planned.changed_entries > 0 {
            self.warnings.push(format!(
                "{}: past entries were changed ({}); the record has them as they were, see `{RALPH} fsck`",
                self.progress.path(),
                planned.changed_entries
            ));
        }
        let snapshot = iteration.snapshot.clone();
        let draft = self.draft(RecordKind::Iteration, snapshot, iteration.started_at, iteration.ended_at);
        self.record(slot, Draft { iteration: Some(iteration), ..draft }, Some(planned))
    }

    /// Records that the session ended. `entry` goes to progress.txt as well, if it says anything.
    pub fn end(&mut self, session: &Session, entry: &str, ended_at: Timestamp) -> Result<ObjectId> {
        self.store.settle(&self.spool.kept_objects(), true)?;
        let slot = self.spool.slot("end");
        slot.create()?;
        let entry = self.redactor.settle(entry);
        let planned = self.plan_progress("", &entry);
        let planned = (planned.base.is_some() || !entry.is_empty()).then_some(planned);
        // What it began in is in the record of its start.
        let session = Session { environment: None, ..redacted(&self.redactor, session)? };
        let snapshot = self.end_snapshot(&slot, ended_at).unwrap_or_else(|error| {
            self.warnings.push(format!("the last published commit is in no snapshot: {error:#}"));
            None
        });
        let snapshot = snapshot.or_else(|| self.tips.snapshot.clone());
        let draft = self.draft(RecordKind::End, snapshot, ended_at, ended_at);
        self.record(&slot, Draft { session_json: Some(session), ..draft }, planned)
    }

    /// Works out how `text` gets into progress.txt. If that cannot be read, the record goes on without it, and
    /// the next start brings it up to the record.
    fn plan_progress(&mut self, header: &str, text: &str) -> ProgressPlan {
        self.progress.plan(header, text).unwrap_or_else(|error| {
            self.warnings.push(format!("{error:#}; the next start brings it up to the record"));
            self.progress.plan_for_unreadable(header, text)
        })
    }

    /// Writes learnings that came again into the section of patterns, as proposals. The next record finds the file
    /// changed and keeps it as found, as it does with whatever people write.
    pub fn propose_patterns(&mut self, past: &[Iteration], fresh: &[Iteration]) {
        if self.progress.is_truncated() {
            return;
        }
        let written = self.progress.read().and_then(|found| {
            let found = found.unwrap_or_default();
            let Ok(text) = std::str::from_utf8(&found) else { return Ok(()) };
            match progress_txt::proposals(text, past, fresh) {
                Some((at, lines)) => self.progress.insert(&found, at, &lines),
                None => Ok(()),
            }
        });
        if let Err(error) = written {
            self.warnings.push(format!("{error:#}"));
        }
    }

    /// Tries once more to bring progress.txt up to the record. Returns true if it is, or if its folder is gone: then the next
    /// start writes it.
    pub fn settle_progress(&mut self) -> bool {
        if !self.progress.has_folder() {
            return true;
        }
        if self.progress.is_truncated() {
            let settled = self.progress.plan("", "").and_then(|planned| self.progress.apply(planned));
            if let Err(error) = settled {
                self.warnings.push(format!("{error:#}; the next start brings it up to the record"));
            }
        }
        !self.progress.is_truncated()
    }

    /// Opens boxes of the task list again that were ticked too early. Returns true if it did.
    pub fn reopen_boxes(&mut self, slot: &Slot, items: &[&Item], after: &TaskList) -> Result<bool> {
        if !self.place.untick || items.is_empty() {
            return Ok(false);
        }
        let items = &[items, &after.parents_to_open(items)].concat();
        self.note_change();
        let path = &self.place.tasks_path;
        // The claim must outlive the box: we may die between opening it and recording it.
        let opened = match self.files.read(path, MAX_TASK_LIST_BYTES).context("read the task list") {
            Ok(found) => {
                slot.write_once(names::TASKS_FOUND, &found)?;
                set_marks(&self.files, path, after, items, Mark::Open)
            }
            Err(error) => Err(error),
        };
        match &opened {
            Ok(changes) => self.warnings.extend(
                changes
                    .not_found
                    .iter()
                    .map(|name| format!("the box of {name} could not be unticked: it is no longer there")),
            ),
            Err(error) => self
                .warnings
                .push(format!("boxes that were ticked too early could not be unticked: {error:#}")),
        }
        Ok(opened.is_ok())
    }

    /// Appends a draft that an earlier process sealed. Its entry reaches progress.txt with the next catch-up.
    pub fn replay(&mut self, slot: &Slot, draft: &Draft) -> Result<ObjectId> {
        self.store.drop_torn_objects(slot)?;
        self.tips.log.clone_from(&draft.parent);
        self.tips.snapshot.clone_from(&draft.snapshot_parent);
        self.put_refs_back()?;
        if draft.kind == RecordKind::End {
            self.store.settle(&self.spool.kept_objects(), true)?;
        }
        let commit = self.store.append(slot, draft, &self.redactor)?;
        self.moved(draft, &commit);
        self.spool.keep_objects(slot)?;
        slot.remove()?;
        Ok(commit)
    }

    /// Says what progress.txt should hold now, by the record: `rebuilt`, and where the file says the same but
    /// for secrets, the file.
    pub fn expect_progress(&mut self, rebuilt: Vec<u8>) {
        // One that cannot be read is said where the next text is planned.
        let found = self.progress.read().ok().flatten().unwrap_or_default();
        let is_equal = self.redactor.redact_bytes(&found).0 == rebuilt;
        self.progress.set_last_written(if is_equal { found } else { rebuilt });
    }

    /// Recreates the spool if an agent deleted it. Returns true if it had to.
    pub fn recreate_spool(&mut self) -> Result<bool> {
        let scratch = self.spool.scratch();
        if self.spool.is_whole() && scratch.is_dir() {
            return Ok(false);
        }
        self.spool = Spool::create(self.work_tree(), &self.place)?;
        create_private_dir(&scratch)?;
        note_last_written(self.work_tree(), &self.place.feature, &self.place.session)?;
        Ok(true)
    }

    pub fn tips(&self) -> Tips {
        self.tips.clone()
    }

    /// Puts the refs of a session that died back to where they stood, unless they went on from there.
    pub fn recover_ref(&mut self, tips: &Tips) -> Result<()> {
        self.tips.clone_from(tips);
        self.put_refs_back()?;
        let refs = SessionRefs::new(&self.place.feature, self.place.session.clone());
        self.tips = Tips {
            log: self.store.refs().tip(&refs.log())?,
            snapshot: self.store.refs().tip(&refs.snapshot())?,
        };
        self.work_tree.last_contents.clone_from(&self.tips.snapshot);
        Ok(())
    }

    /// Restores the refs of the session if they were moved or deleted since the last record.
    fn put_refs_back(&mut self) -> Result<()> {
        let refs = SessionRefs::new(&self.place.feature, self.place.session.clone());
        let mut is_lost = false;
        if let Some(tip) = &self.tips.log {
            match self.store.refs().recover(&refs.log(), tip)? {
                RefState::Fine => {}
                RefState::Restored(warning) => self.warnings.push(warning),
                RefState::Lost => is_lost = true,
            }
        }
        if let Some(snapshot) = &self.tips.snapshot {
            match self.store.refs().recover(&refs.snapshot(), snapshot)? {
                RefState::Fine => {}
                RefState::Restored(warning) => self.warnings.push(warning),
                RefState::Lost => {
                    is_lost = true;
                    self.warnings.push(format!(
                        "{} was deleted by another program, and the snapshots are gone; the next one begins anew",
                        refs.snapshot()
                    ));
                    self.tips.snapshot = None;
                    self.work_tree.last_contents = None;
                }
            }
        }
        // Of records that are gone, the newest alone would be of no use.
        if is_lost { Ok(()) } else { self.restore_objects() }
    }

    /// Writes objects of the newest record again that a `git prune` took which began before the refs led to them.
    fn restore_objects(&self) -> Result<()> {
        self.store.restore_objects(&self.spool.kept_objects()).map(drop)
    }

    /// Returns a record that follows the last one, without what it says and its files.
    fn draft(
        &self,
        kind: RecordKind,
        snapshot: Option<ObjectId>,
        authored_at: Timestamp,
        committed_at: Timestamp,
    ) -> Draft {
        Draft {
            kind,
            feature: self.place.feature.clone(),
            session: self.place.session.clone(),
            parent: self.tips.log.clone(),
            snapshot_parent: self.tips.snapshot.clone(),
            snapshot,
            authored_at,
            committed_at: self.last_committed_at.map_or(committed_at, |last| last.max(committed_at)),
            iteration: None,
            session_json: None,
            is_published: false,
            files: Vec::new(),
        }
    }

    fn record(&mut self, slot: &Slot, mut draft: Draft, planned: Option<ProgressPlan>) -> Result<ObjectId> {
        let mut files = Vec::new();
        let is_run = draft
            .iteration
            .as_ref()
            .is_some_and(|iteration| !iteration.outcome.is_without_run() && !iteration.is_acceptance());
        let was_validated = match (&draft.iteration, &draft.session_json) {
            (Some(iteration), _) => is_run || iteration.exit.validation.is_some(),
            (None, session) => session.as_ref().is_some_and(|session| session.baseline.is_some()),
        };
        if is_run {
            files.push(("prompt.md", names::PROMPT));
            files.push(("agent/stdout", names::AGENT_STDOUT));
            files.push(("agent/stderr", names::AGENT_STDERR));
        }
        if was_validated && draft.kind != RecordKind::End {
            files.push(("validation/stdout", names::VALIDATION_STDOUT));
            files.push(("validation/stderr", names::VALIDATION_STDERR));
            if slot.path(names::VALIDATION_TESTS).is_file() {
                files.push(("validation/tests.json", names::VALIDATION_TESTS));
            }
        }
        if draft.iteration.as_ref().is_some_and(|iteration| iteration.duration_ms.second.is_some()) {
            files.push(("validation/second.stdout", names::SECOND_STDOUT));
            files.push(("validation/second.stderr", names::SECOND_STDERR));
        }
        let check = draft.iteration.as_ref().and_then(Iteration::check);
        if is_run && check.is_some() {
            files.push(("validation/clean.stdout", names::CLEAN_STDOUT));
            files.push(("validation/clean.stderr", names::CLEAN_STDERR));
        }
        if check.is_some_and(|check| check.setup.is_some()) {
            files.push(("validation/setup.stdout", names::SETUP_STDOUT));
            files.push(("validation/setup.stderr", names::SETUP_STDERR));
        }
        if slot.path(names::HUNKS).is_file() {
            files.push(("integration/hunks.txt", names::HUNKS));
        }
        if draft.kind != RecordKind::End {
            let tasks = self.tasks();
            slot.write(names::TASKS, &tasks)?;
            files.push(("tasks.md", names::TASKS));
        }
        if let Some(planned) = &planned {
            if let Some(base) = &planned.base {
                slot.write(names::PROGRESS_BASE, base)?;
                files.push(("progress.base.md", names::PROGRESS_BASE));
            }
            slot.write(names::PROGRESS, &planned.appended)?;
            files.push(("progress.md", names::PROGRESS));
        }
        draft.files = files.into_iter().map(|(path, name)| (path.to_owned(), name.to_owned())).collect();
        slot.seal(&draft)?;
        let commit = self.store.append(slot, &draft, &self.redactor)?;
        self.moved(&draft, &commit);
        if let Some(planned) = planned
            && let Err(error) = self.progress.apply(planned)
            && self.progress.has_folder()
        {
            // The record has it; the next start, or `rebuild`, brings the file up to it.
            self.warnings.push(format!("{error:#}"));
        }
        self.spool.keep_objects(slot)?;
        slot.remove()?;
        Ok(commit)
    }

    /// Returns the task list for the record. One that cannot be read is left out of it.
    fn tasks(&mut self) -> Vec<u8> {
        let path = &self.place.tasks_path;
        self.files.read(path, MAX_TASK_LIST_BYTES).unwrap_or_else(|error| {
            if error.kind() != ErrorKind::NotFound {
                self.warnings.push(format!("the record has no task list: read {path}: {error}"));
            }
            Vec::new()
        })
    }

    fn moved(&mut self, draft: &Draft, commit: &ObjectId) {
        self.tips.log = Some(commit.clone());
        (self.sealed, self.last_look) = (None, None);
        if draft.snapshot.is_some() {
            self.tips.snapshot.clone_from(&draft.snapshot);
        }
        self.last_committed_at = Some(draft.committed_at);
    }
}
