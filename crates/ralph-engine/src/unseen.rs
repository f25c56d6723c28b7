//! What an attempt changed that no snapshot shows, by the times of files: those of our own say when its agent ran.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use anyhow::Result;

use ralph_core::judge::{
    IgnoredFile, IgnoredFiles, IgnoredWork, decides_dependencies, is_made_by_tools, unseen_words,
    without_numbers, written_outside,
};
use ralph_core::record::{
    DependencyState, FlagCode, IgnoredState, LeftOut, MAX_IGNORED_NAMES, ObjectId, TaskName, ToolCall,
};
use ralph_git::worktree::{ChangeTime, UnseenEntries};
use ralph_os::platform::{changed_at, own_outputs};
use ralph_store::{Identity, Slot};

use crate::loop_inputs::LoopInputs;
use crate::recorder::Recorder;

/// The file of our own whose time says what time it is for files.
const CLOCK_FILE: &str = "clock";

/// What is known of files that no snapshot shows.
#[derive(Debug, Default)]
pub(crate) struct UnseenWatch {
    /// When the agents of attempts at each task ran.
    runs: HashMap<TaskName, Vec<[ChangeTime; 2]>>,
    /// Ignored files that a validation wrote, without the numbers in their paths.
    by_validation: HashSet<String>,
    /// What agents wrote of them since the last success.
    pub work: IgnoredWork,
    /// What no snapshot shows, if nothing ran since it was looked at.
    pub last: Option<Rc<IgnoredFiles>>,
}

/// What no snapshot shows before the agent ran, after it, and after the validation: `None` if that is not known.
pub(crate) type IgnoredLooks = [Option<Rc<IgnoredFiles>>; 3];

impl UnseenWatch {
    /// Takes in from when to when an agent ran for a task, by the clock of the files.
    pub fn ran(&mut self, task: &TaskName, run: [ChangeTime; 2]) {
        self.runs.entry(task.clone()).or_default().push(run);
    }

    fn note_validation(&mut self, found: &UnseenEntries, since: ChangeTime) {
        let written = found.ignored.iter().filter(|(_, changed, _)| *changed >= since);
        self.by_validation.extend(written.map(|(path, ..)| without_numbers(path)));
    }
}

impl UnseenWatch {
    /// Notes which ignored files a validation wrote that began at this time: they are no work of the attempts to come.
    pub(crate) fn note_files_of_validation(
        &mut self,
        inputs: &LoopInputs<'_>,
        recorder: &Recorder<'_>,
        began: Option<ChangeTime>,
    ) {
        let is_asked_for =
            inputs.config.settings.validation_refuse.iter().any(|it| it == FlagCode::Idle.as_str());
        // What cannot be listed is not known to be the validation's.
        if let Some(began) = began.filter(|_| is_asked_for)
            && let Ok(found) = unseen_entries(inputs, recorder)
        {
            self.note_validation(&found, began);
        }
    }

    /// Returns what no snapshot shows before an agent runs. In a lane nobody works but us: there it is what was looked at last.
    pub(crate) fn ignored_before(
        &mut self,
        inputs: &LoopInputs<'_>,
        recorder: &Recorder<'_>,
    ) -> Option<Rc<IgnoredFiles>> {
        let last = self.last.take().filter(|_| inputs.work_tree.lane().is_some());
        last.or_else(|| recorder.ignored_files().map(Rc::new))
    }

    /// Takes in what the agent changed of what no snapshot shows, which is as in the second look now.
    pub(crate) fn note_ignored(
        &mut self,
        inputs: &LoopInputs<'_>,
        recorder: &Recorder<'_>,
        slot: &Slot,
        looks: &IgnoredLooks,
        began: Option<ChangeTime>,
        sealed: Option<&ObjectId>,
    ) {
        let ([Some(before), Some(after), _], Some(began)) = (looks, began) else { return };
        let specs = specs(inputs, recorder);
        let mut decides = || {
            let changes = recorder.last_contents().0.zip(sealed);
            let changes = changes.map(|(from, to)| recorder.differences(Some(slot), from, to));
            // What is not known is no reason for a flag.
            let Some(Ok(changes)) = changes else { return true };
            changes.iter().any(|change| decides_dependencies(&change.name()))
        };
        let (left_out, by_validation) = (recorder.last_left_out(), &self.by_validation);
        let is_not_its_work = |path: &str| {
            let is_left_out = |left: &LeftOut| is_at_or_below(path, left.path.trim_end_matches('/'));
            by_validation.contains(&without_numbers(path))
                || left_out.iter().any(is_left_out)
                || specs.as_ref().is_some_and(|specs| is_at_or_below(path, specs))
        };
        self.work.note([before, after], began, &mut decides, &is_not_its_work);
    }

    /// Looks once more after the validation, and returns what is recorded of all looks, without files that we moved aside.
    pub(crate) fn ignored_state(
        &mut self,
        recorder: &Recorder<'_>,
        identity: &Identity,
        [before, after, validated]: &IgnoredLooks,
        moved: &[String],
    ) -> Option<IgnoredState> {
        let now = validated.as_ref().or(after.as_ref())?;
        let work_tree = recorder.work_tree();
        let changed = |from: &Option<Rc<IgnoredFiles>>, to: &Option<Rc<IgnoredFiles>>| {
            let (Some(from), Some(to)) = (from, to) else { return Vec::new() };
            let mut changes = to.changes_since(from);
            // What is still there came into the snapshot.
            changes.retain(|change| !(change.is_gone && work_tree.has_file(change.path)));
            changes.retain(|change| !moved.iter().any(|path| path == change.path));
            changes.sort_by_key(|change| change.dependency.is_some());
            changes.iter().take(MAX_IGNORED_NAMES).map(|change| change.path.to_owned()).collect()
        };
        let (by_agent, by_validation) = (changed(before, after), changed(after, validated));
        let written = by_validation.iter().map(|path| without_numbers(path));
        self.by_validation.extend(written);
        self.last = Some(Rc::clone(now));
        let state = ignored_state(identity, now);
        Some(IgnoredState { changed_by_agent: by_agent, changed_by_validation: by_validation, ..state })
    }

    /// Returns what no snapshot shows since the start though it was no secret to earlier ones, or though no `.gitignore` says so:
    /// files that this clone alone ignores since, or that an earlier snapshot has.
    pub(crate) fn newly_hidden(&self, recorder: &mut Recorder<'_>) -> Result<Vec<String>> {
        let Some(mut hidden) = recorder.watched_work_tree().newly_ignored() else {
            return Ok(Vec::new());
        };
        let work_tree = recorder.work_tree();
        hidden.retain(|path| !is_made_by_tools(path) && work_tree.has_file(path));
        let written = self.work.written().filter(|path| !hidden.contains(path));
        let written: Vec<String> = written.cloned().collect();
        if !written.is_empty() {
            hidden.extend(work_tree.ignored_here_alone(&written)?);
        }
        Ok(hidden)
    }

    /// Returns what the attempts at a task changed that no snapshot shows, in words, and the paths. `None` if nothing is seen.
    /// `calls` are those of the last.
    pub(crate) fn unseen(
        &mut self,
        inputs: &LoopInputs<'_>,
        recorder: &Recorder<'_>,
        task: &TaskName,
        calls: &[ToolCall],
    ) -> Result<Option<(String, Vec<String>)>> {
        let runs = self.runs.get(task).cloned().unwrap_or_default();
        let Some([_, ended]) = runs.last().copied() else { return Ok(None) };
        let is_of_agent =
            |time: ChangeTime| runs.iter().any(|[begun, ended]| (*begun..=*ended).contains(&time));
        let found = unseen_entries(inputs, recorder)?;
        // What the validation of this attempt wrote is newer than what its agent did.
        self.note_validation(&found, (ended.0, ended.1.saturating_add(1)));
        let by_validation = &self.by_validation;
        // Its own output may go to a file that git ignores.
        let own = own_outputs();
        let ignored = found.ignored.iter().filter(|(path, changed, identity)| {
            is_of_agent(*changed)
                && !by_validation.contains(&without_numbers(path))
                && identity.is_none_or(|identity| !own.contains(&identity))
        });
        let work_tree = recorder.work_tree();
        let changed =
            |path: &str| work_tree.top().join(path).symlink_metadata().ok().map(|it| changed_at(&it));
        let left_out = recorder.last_left_out().iter().filter(|left| {
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
            outside(recorder, calls, &is_of_agent),
        ]))
    }
}

/// Returns the time that a file has which is written now. The machine's clock says nothing about those of files.
pub(crate) fn file_time(recorder: &Recorder<'_>) -> Option<ChangeTime> {
    let slot = Slot::within(&recorder.spool().scratch());
    slot.write(CLOCK_FILE, b".").ok()?;
    Some(changed_at(&slot.path(CLOCK_FILE).metadata().ok()?))
}

fn unseen_entries(inputs: &LoopInputs<'_>, recorder: &Recorder<'_>) -> Result<UnseenEntries> {
    let specs = specs(inputs, recorder);
    let is_of_specs = |path: &str| specs.as_ref().is_some_and(|specs| is_at_or_below(path, specs));
    recorder.work_tree().unseen_entries(&|path| is_of_specs(path) || is_made_by_tools(path))
}

/// Returns the folder of all features, or else that of this one.
fn specs(inputs: &LoopInputs<'_>, recorder: &Recorder<'_>) -> Option<String> {
    let (work_tree, feature) = (recorder.work_tree(), &inputs.feature.dir);
    let folders = [feature.parent().unwrap_or(feature), feature].map(|folder| work_tree.relative(folder));
    folders.into_iter().find(|folder| !folder.is_empty() && !folder.starts_with('/'))
}

/// Returns the paths outside of the repository that calls wrote and that changed while the agent ran.
fn outside(
    recorder: &Recorder<'_>,
    calls: &[ToolCall],
    is_of_agent: &dyn Fn(ChangeTime) -> bool,
) -> Vec<String> {
    let work_tree = recorder.work_tree();
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

/// Returns what is recorded of files that no snapshot shows.
pub(crate) fn ignored_state(identity: &Identity, found: &IgnoredFiles) -> IgnoredState {
    let of = |dependency: Option<usize>| {
        let is_of = move |file: &&IgnoredFile| file.dependency == dependency;
        let files = found.files.iter().filter(is_of);
        let digest = identity.fingerprint_of_files(files.clone().map(|it| (&*it.path, it.mode, it.size)));
        (files.count(), digest)
    };
    let (count, digest) = of(None);
    let folders = found.dependencies.iter().enumerate().take(MAX_IGNORED_NAMES);
    let dependencies = folders.map(|(number, folder)| {
        let (count, digest) = of(Some(number));
        DependencyState { path: folder.path.clone(), count, digest }
    });
    let mut dependencies: Vec<DependencyState> = dependencies.collect();
    dependencies.sort_by(|one, other| one.path.cmp(&other.path));
    IgnoredState { count, digest, dependencies, ..IgnoredState::default() }
}

fn is_at_or_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
