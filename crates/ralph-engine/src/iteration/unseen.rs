//! What an attempt changed that no snapshot shows, by the times of files: those of our own say when its agent ran.

use std::collections::{HashMap, HashSet};

use anyhow::Result;

use ralph_core::judge::{is_hidden_code, is_made_by_tools, unseen_words, without_numbers, written_outside};
use ralph_core::record::{FlagCode, LeftOut, TaskName, ToolCall};
use ralph_git::worktree::{ChangeTime, UnseenEntries};
use ralph_os::platform::{changed_at, own_outputs};
use ralph_store::Slot;

use super::super::running::Running;

/// The file of our own whose time says what time it is for files.
const CLOCK_FILE: &str = "clock";

/// What is known of files that no snapshot shows.
#[derive(Debug, Default)]
pub(crate) struct UnseenWatch {
    /// When the agents of attempts at each task ran.
    runs: HashMap<TaskName, Vec<[ChangeTime; 2]>>,
    /// Ignored files that a validation wrote, without the numbers in their paths.
    by_validation: HashSet<String>,
}

impl UnseenWatch {
    /// Notes when an agent ran.
    pub fn ran(&mut self, task: &TaskName, run: [ChangeTime; 2]) {
        self.runs.entry(task.clone()).or_default().push(run);
    }

    fn note_validation(&mut self, found: &UnseenEntries, since: ChangeTime) {
        let written = found.ignored.iter().filter(|(_, changed, _)| *changed >= since);
        self.by_validation.extend(written.map(|(path, ..)| without_numbers(path)));
    }
}

impl Running<'_> {
    /// Returns the time that a file has which is written now. The machine's clock says nothing about those of files.
    pub(crate) fn file_time(&self) -> Option<ChangeTime> {
        let slot = Slot::within(&self.spool.scratch());
        slot.write(CLOCK_FILE, b".").ok()?;
        Some(changed_at(&slot.path(CLOCK_FILE).metadata().ok()?))
    }

    /// Notes which ignored files a validation wrote that began at this time: they are no work of the attempts to come.
    pub(crate) fn note_files_of_validation(&mut self, began: Option<ChangeTime>) {
        let is_asked_for =
            self.plan.config.settings.validation_refuse.iter().any(|it| it == FlagCode::Idle.as_str());
        // What cannot be listed is not known to be the validation's.
        if let Some(began) = began.filter(|_| is_asked_for)
            && let Ok(found) = self.unseen_entries()
        {
            self.judging.unseen.note_validation(&found, began);
        }
    }

    fn unseen_entries(&self) -> Result<UnseenEntries> {
        let (work_tree, feature) = (self.recorder.work_tree(), &self.plan.feature.dir);
        let folders = [feature.parent().unwrap_or(feature), feature].map(|folder| work_tree.relative(folder));
        let specs = folders.into_iter().find(|folder| !folder.is_empty() && !folder.starts_with('/'));
        let is_of_specs = |path: &str| {
            let rest = specs.as_ref().and_then(|specs| path.strip_prefix(specs.as_str()));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        work_tree.unseen_entries(&|path| is_of_specs(path) || is_made_by_tools(path))
    }

    /// Returns what is ignored since a rule for that was changed: files that this clone alone ignores or that an earlier snapshot
    /// has, and code, tests and scripts that the agents of the task wrote. Without such a change nothing is looked for.
    pub(super) fn newly_ignored(&mut self, task: &TaskName) -> Result<[Vec<String>; 2]> {
        let Some(mut hidden) = self.recorder.watched_work_tree().newly_ignored() else {
            return Ok(Default::default());
        };
        let work_tree = self.recorder.work_tree();
        hidden.retain(|path| !is_made_by_tools(path) && work_tree.has_file(path));
        let runs = self.judging.unseen.runs.get(task).cloned().unwrap_or_default();
        let is_of_agent =
            |time: &ChangeTime| runs.iter().any(|[begun, ended]| (begun..=ended).contains(&time));
        let found = self.unseen_entries()?.ignored;
        let written = found.into_iter().filter(|(path, changed, _)| {
            is_of_agent(changed)
                && !hidden.contains(path)
                && !self.judging.unseen.by_validation.contains(&without_numbers(path))
        });
        let written: Vec<String> = written.map(|(path, ..)| path).collect();
        let here_alone = self.recorder.work_tree().ignored_here_alone(&written)?;
        let (here_alone, ignored): (Vec<_>, Vec<_>) =
            written.into_iter().partition(|path| here_alone.contains(path));
        hidden.extend(here_alone);
        Ok([hidden, ignored.into_iter().filter(|path| is_hidden_code(path)).collect()])
    }

    /// Returns what the attempts at a task changed that no snapshot shows, in words, and the paths. `None` if nothing is seen.
    /// `calls` are those of the last.
    pub(crate) fn unseen(
        &mut self,
        task: &TaskName,
        calls: &[ToolCall],
    ) -> Result<Option<(String, Vec<String>)>> {
        let runs = self.judging.unseen.runs.get(task).cloned().unwrap_or_default();
        let Some([_, ended]) = runs.last().copied() else { return Ok(None) };
        let is_of_agent =
            |time: ChangeTime| runs.iter().any(|[begun, ended]| (*begun..=*ended).contains(&time));
        let found = self.unseen_entries()?;
        // What the validation of this attempt wrote is newer than what its agent did.
        self.judging.unseen.note_validation(&found, (ended.0, ended.1.saturating_add(1)));
        let by_validation = &self.judging.unseen.by_validation;
        // Its own output may go to a file that git ignores.
        let own = own_outputs();
        let ignored = found.ignored.iter().filter(|(path, changed, identity)| {
            is_of_agent(*changed)
                && !by_validation.contains(&without_numbers(path))
                && identity.is_none_or(|identity| !own.contains(&identity))
        });
        let work_tree = self.recorder.work_tree();
        let changed =
            |path: &str| work_tree.top().join(path).symlink_metadata().ok().map(|it| changed_at(&it));
        let left_out = self.recorder.last_left_out().iter().filter(|left| {
            left.reason != LeftOut::SUBMODULE_CHANGES && changed(&left.path).is_some_and(is_of_agent)
        });
        let of_agent = |entries: &[(String, ChangeTime)]| {
            let entries = entries.iter().filter(|(_, changed)| is_of_agent(*changed));
            entries.map(|(path, _)| path.clone()).collect::<Vec<String>>()
        };
        let files = ignored.map(|(path, ..)| path.clone()).chain(left_out.map(|left| left.path.clone()));
        Ok(unseen_words([
            files.collect(),
            of_agent(&found.submodules),
            of_agent(&found.empty_folders),
            self.outside(calls, &is_of_agent),
        ]))
    }

    /// Returns the paths outside of the repository that calls wrote and that changed while the agent ran.
    fn outside(&self, calls: &[ToolCall], is_of_agent: &dyn Fn(ChangeTime) -> bool) -> Vec<String> {
        let work_tree = self.recorder.work_tree();
        let (home, scratch) = (work_tree.home(), std::env::temp_dir());
        let mut paths = written_outside(calls, work_tree.top().as_str(), home);
        paths.retain(|path| {
            let path = std::path::Path::new(path);
            // What an agent only notes for itself.
            let in_home = home.and_then(|home| path.strip_prefix(home).ok()).and_then(|path| path.to_str());
            let is_scratch = path.parent() == Some(&scratch) || in_home.is_some_and(is_made_by_tools);
            let changed = path.symlink_metadata().ok().map(|found| changed_at(&found));
            !is_scratch && changed.is_some_and(is_of_agent)
        });
        paths
    }
}
