//! The look itself, and what is said of it at once.

use anyhow::Result;
use tasklist::TaskList;

use crate::loop_inputs::LoopInputs;
use crate::recorder::Recorder;
use crate::shown::warn;
use crate::snapshot_taken::SnapshotTaken;
use crate::task_watch::restoration;
use ralph_core::record::{
    Event, GitState, GitStateKind, MAX_LISTED_FILES, ObjectId, RALPH, Remains, Session, TaskName, Timestamp,
    UserFile, join_files, join_truncated, lost_files, quoted_for_shell, restore_command,
};
use ralph_store::{Begin, Slot};

use super::rewritten_list::RewrittenList;
use super::still_there::still_there;
use super::{LeftBehind, elsewhere, git_state};

impl LeftBehind {
    /// Looks at what the attempt left behind, ends what nobody holds, and says at once what is new. `list` is the list
    /// before and after it, and whether its box is still open. Returns the states of git and the files of the user's, for the record of the attempt.
    pub(crate) fn look(
        &mut self,
        inputs: &LoopInputs<'_>,
        recorder: &Recorder<'_>,
        say: &mut dyn FnMut(&Event),
        (slot, begin): (&Slot, &Begin),
        taken: &SnapshotTaken,
        list: Option<(&TaskList, Option<&TaskList>, bool)>,
    ) -> Result<(Vec<GitState>, Vec<UserFile>)> {
        let iteration = begin.iteration;
        let mut git_state = self.remove_locks(inputs, iteration);
        git_state.extend(self.states(inputs, iteration)?);
        if let Some((before, after, is_open)) = list {
            if is_open {
                git_state.extend(self.work_elsewhere(inputs, recorder, say, slot, begin));
            }
            // On another branch is another list.
            if let Some(after) = after.filter(|_| self.way_back(inputs).is_none()) {
                git_state.extend(self.another_list(inputs, say, [before, after], is_open, iteration));
            }
        }
        // What a tool does as usual is in the record alone.
        let is_note = |state: &GitState| state.kind == GitStateKind::Configuration && state.command.is_none();
        for state in git_state.iter().filter(|state| state.since == iteration && !is_note(state)) {
            let hint = state.hint().map_or(String::new(), |hint| format!("\nhint: {hint}"));
            warn(say, format!("left behind: {}{hint}", state.text));
        }
        self.states.clone_from(&git_state);
        // An agent can delete the commits that it began with; the record says so itself.
        let commits = self.commits_so_far(inputs, recorder, slot, begin).unwrap_or_default();
        let user_files = self.look_at_user_files(recorder, say, slot, iteration, taken, &commits);
        let lost: Vec<UserFile> =
            user_files.iter().filter(|file| file.since == iteration && file.is_gone()).cloned().collect();
        if let Some(what) = lost_files(&lost) {
            let command = restore_command(RALPH, &lost, None);
            say(&Event::UserFilesLost { iteration, what, command, files: lost });
        }
        Ok((git_state, user_files))
    }

    /// Returns the commits of the attempt, if there is anything of the user's that they can have taken in.
    fn commits_so_far(
        &self,
        inputs: &LoopInputs<'_>,
        recorder: &Recorder<'_>,
        slot: &Slot,
        begin: &Begin,
    ) -> Result<Vec<ObjectId>> {
        if self.user_files() == 0 {
            return Ok(Vec::new());
        }
        let head = inputs.work_tree.head()?;
        let (before, refs) = (begin.head_before.as_ref(), slot.refs_before()?);
        // Whatever their dates: what they took in is what counts.
        let since = Timestamp::from_seconds(0);
        recorder.work_tree().commits_between(before, head.as_ref(), &refs, since)
    }

    /// Returns where else in the repository commits of the attempts at a task are, since one of them left some there.
    fn work_elsewhere(
        &mut self,
        inputs: &LoopInputs<'_>,
        recorder: &Recorder<'_>,
        say: &mut dyn FnMut(&Event),
        slot: &Slot,
        begin: &Begin,
    ) -> Vec<GitState> {
        // The repository that an agent finds in a lane is made anew for each attempt. And from another branch than the
        // session's the way is back, whatever is there.
        if inputs.work_tree.lane().is_some() || self.way_back(inputs).is_some() {
            return Vec::new();
        }
        let first = self.left_elsewhere.get(&begin.task.name).cloned();
        let (known, since) = first.unwrap_or_else(|| {
            let refs = slot.refs_before().unwrap_or_default();
            ([&refs, b"\n".as_slice(), &self.stashes].concat(), begin.iteration)
        });
        let found = recorder.work_tree().commits_elsewhere(&known).unwrap_or_else(|error| {
            warn(say, format!("whether commits of this attempt are elsewhere is not known: {error:#}"));
            Vec::new()
        });
        let states: Vec<GitState> = found.iter().map(|found| elsewhere::state(found, since)).collect();
        if !states.is_empty() {
            self.left_elsewhere.insert(begin.task.name.clone(), (known, since));
        }
        states
    }

    /// Returns the state of a list that was written anew, in an attempt that left its box open or opened others, or in one
    /// before it.
    fn another_list(
        &mut self,
        inputs: &LoopInputs<'_>,
        say: &mut dyn FnMut(&Event),
        [before, after]: [&TaskList; 2],
        is_open: bool,
        iteration: u32,
    ) -> Option<GitState> {
        let known = self.former_list.take();
        let known = known.filter(|(former, ..)| RewrittenList::is_another(former, after));
        let (former, text, since) = if let Some(known) = known {
            known
        } else {
            let rewritten = RewrittenList::of(before, after)?;
            if !is_open && rewritten.reopened.is_empty() {
                return None;
            }
            warn_of_reopened(say, &rewritten.reopened);
            (before.clone(), rewritten.words(), iteration)
        };
        let is_in_lane = inputs.work_tree.lane().is_some();
        let command = (!is_in_lane).then(|| self.list_restoration(inputs, since));
        self.former_list = Some((former, text.clone(), since));
        Some(GitState { kind: GitStateKind::List, text, finish: None, command, since })
    }

    fn states(&mut self, inputs: &LoopInputs<'_>, iteration: u32) -> Result<Vec<GitState>> {
        let operations = inputs.work_tree.operations();
        let mut states = git_state::operations(&self.at_start, &operations, &self.states, iteration);
        let now = inputs.work_tree.branch()?;
        // A rebase detaches HEAD, and its end brings the branch back.
        if now.is_some() || states.is_empty() {
            let old = self.branch.expected.clone();
            let is_there = match &old {
                Some(old) => inputs.store.refs().tip(&format!("refs/heads/{old}"))?.is_some(),
                None => false,
            };
            states.extend(self.branch.look(now.as_deref(), is_there, iteration));
        }
        let configuration = &mut self.configuration;
        let settings = configuration.read(inputs.work_tree)?;
        states.extend(configuration.look(settings, iteration));
        Ok(states)
    }

    /// Returns the command that goes back to the branch that the session works on, if an attempt left another one checked out:
    /// nothing of what is missing there is gone.
    pub(crate) fn way_back(&self, inputs: &LoopInputs<'_>) -> Option<String> {
        let work_tree = inputs.work_tree;
        let expected = self.branch.expected.as_ref()?;
        let is_elsewhere = work_tree.branch().is_ok_and(|now| now.as_ref() != Some(expected));
        if work_tree.lane().is_some() || !is_elsewhere || work_tree.operation().is_some() {
            return None;
        }
        let tip = inputs.store.refs().tip(&format!("refs/heads/{expected}")).ok().flatten();
        tip.map(|_| format!("git switch {}", quoted_for_shell(expected)))
    }

    /// Returns the command that brings the list back as it was before an attempt.
    pub(crate) fn list_restoration(&self, inputs: &LoopInputs<'_>, iteration: u32) -> String {
        let list = inputs.work_tree.relative(&inputs.feature.tasks_path);
        self.way_back(inputs).unwrap_or_else(|| restoration(&list, iteration, None))
    }

    /// Returns what is left behind now by a session whose newest attempt is `last`.
    pub(crate) fn remains(&self, inputs: &LoopInputs<'_>, session: &Session, last: u32) -> Remains {
        let mut remains = Remains {
            session: session.id.clone(),
            iteration: last,
            git_state: self.states.clone(),
            user_files: self.files.lost.clone(),
        };
        still_there(inputs.store, inputs.work_tree, &session.feature, &mut remains);
        remains
    }

    /// Returns why git is in the middle of something that an attempt began, and what to do; `None` if it is not. `last` is the
    /// newest attempt.
    pub(crate) fn operation(&self, inputs: &LoopInputs<'_>, last: u32) -> Option<(String, String)> {
        let states =
            git_state::operations(&self.at_start, &inputs.work_tree.operations(), &self.states, last);
        let state = states.into_iter().find(|state| state.kind == GitStateKind::Operation)?;
        Some((format!("{}, since #{}", state.text, state.since), state.hint().unwrap_or_default()))
    }

    /// Looks at the user's files. What cannot be found out is said, and costs nothing else.
    fn look_at_user_files(
        &mut self,
        recorder: &Recorder<'_>,
        say: &mut dyn FnMut(&Event),
        slot: &Slot,
        iteration: u32,
        taken: &SnapshotTaken,
        commits: &[ObjectId],
    ) -> Vec<UserFile> {
        let found = self.files.look(recorder, slot, iteration, taken, commits);
        let found = found.unwrap_or_else(|error| {
            warn(say, format!("what became of your uncommitted files is not known: {error:#}"));
            self.files.lost.clone()
        });
        for commit in commits {
            let taken_in = found.iter().filter(|file| file.commit.as_ref() == Some(commit));
            let names: Vec<&str> = taken_in.map(|file| file.path.as_str()).collect();
            if !names.is_empty() {
                let names = join_files(&names, MAX_LISTED_FILES);
                warn(
                    say,
                    format!(
                        "commit {} of the agent took in uncommitted work of yours: {names}",
                        commit.short()
                    ),
                );
            }
        }
        found
    }

    /// Notes that a commit of the loop's own took files of the user's in.
    pub(crate) fn note_own_commit(
        &mut self,
        recorder: &Recorder<'_>,
        say: &mut dyn FnMut(&Event),
        commit: &ObjectId,
    ) {
        if let Err(error) = self.files.take_in(recorder, std::slice::from_ref(commit)) {
            warn(say, format!("what commit {} took in is not known: {error:#}", commit.short()));
        }
    }
}

fn warn_of_reopened(say: &mut dyn FnMut(&Event), tasks: &[TaskName]) {
    let [was, is] = if tasks.len() == 1 { ["was", "is"] } else { ["were", "are"] };
    if !tasks.is_empty() {
        let names = join_truncated(tasks, MAX_LISTED_FILES);
        warn(say, format!("{names} {was} done, and {is} open again in the list that this attempt wrote"));
    }
}
