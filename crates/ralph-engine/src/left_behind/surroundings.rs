//! What was there before the attempts of a session, to notice what they leave behind.

use std::collections::BTreeMap;

use anyhow::Result;
use camino::Utf8PathBuf;
use tasklist::TaskList;

use ralph_core::record::{GitState, TaskName};
use ralph_git::worktree::Operation;
use ralph_store::{Begin, git_locks};

use super::configuration::Configuration;
use super::git_state::Branch;
use super::undone_work::UndoneWork;
use super::user_files::UserFiles;
use crate::loop_inputs::LoopInputs;
use crate::snapshot_taken::BlobChange;

/// What is known of the surroundings of a session, to notice what an attempt leaves behind.
#[derive(Debug, Default)]
pub(crate) struct LeftBehind {
    /// What git was in the middle of at the start: nobody's fault but the user's will.
    pub(super) at_start: Vec<Operation>,
    pub(super) branch: Branch,
    pub(super) configuration: Configuration,
    /// Lock files that were there before the attempt.
    pub(super) locks: Vec<Utf8PathBuf>,
    pub(super) states: Vec<GitState>,
    /// The list that an attempt wrote anew, as it was before; what was said of that, and the attempt.
    pub(super) former_list: Option<(TaskList, String, u32)>,
    /// The entries of the stash before the attempt.
    pub(super) stashes: Vec<u8>,
    /// Tasks whose work an attempt left elsewhere, with the commits that were known before it, and its number.
    pub(super) left_elsewhere: BTreeMap<TaskName, (Vec<u8>, u32)>,
    pub files: UserFiles,
    pub(super) undone: UndoneWork,
}

impl LeftBehind {
    /// Notes what is there before the first attempt. An error says why it is not known what earlier attempts changed.
    pub fn begin(
        &mut self,
        inputs: &LoopInputs<'_>,
        branch: Option<String>,
        of_tasks: Result<UndoneWork>,
    ) -> Result<()> {
        self.at_start = inputs.work_tree.operations();
        self.branch = Branch::expected(branch);
        self.undone = of_tasks?;
        for (path, committed) in self.files.take_committed() {
            self.undone.work.committed(path, committed);
        }
        Ok(())
    }

    /// Returns how many files have work of the user's that is in no commit.
    pub fn user_files(&self) -> usize {
        self.files.len()
    }

    /// Notes what is there before an attempt, so that it is not taken for the attempt's.
    pub fn begin_attempt(&mut self, inputs: &LoopInputs<'_>, begin: &Begin, edits: &[BlobChange]) {
        let branch = begin.branch.as_deref();
        if begin.restored_to.is_some() {
            self.undone.work.taken_back_by_loop(edits);
        } else {
            self.undone.work.edited(edits);
        }
        self.locks = git_locks(inputs.work_tree);
        self.stashes = inputs.work_tree.stashes().unwrap_or_default();
        self.branch.begin_attempt(branch);
        // What cannot be read is looked at after the attempt.
        if let Ok(settings) = self.configuration.read(inputs.work_tree) {
            self.configuration.begin_attempt(settings);
        }
    }
}
