//! The look itself, and what is said of it at once.

use anyhow::Result;
use tasklist::TaskList;

use crate::running::{Ending, Running};
use crate::snapshot_taken::SnapshotTaken;
use ralph_core::record::{
    Event, GitState, GitStateKind, MAX_LISTED_FILES, ObjectId, RALPH, Remains, TaskName, Timestamp, UserFile,
    join_files, join_truncated, lost_files, quoted_for_shell, restore_command,
};
use ralph_store::{Begin, Slot};

use super::rewritten_list::RewrittenList;
use super::still_there::still_there;
use super::{elsewhere, git_state};

impl Running<'_> {
    /// Looks at what the attempt left behind, ends what nobody holds, and says at once what is new. `list` is the list
    /// before it, and whether its box is still open. Returns the states of git and the files of the user's, for the record of the attempt.
    pub(crate) fn look_behind(
        &mut self,
        slot: &Slot,
        begin: &Begin,
        taken: &SnapshotTaken,
        list: Option<(&TaskList, bool)>,
    ) -> Result<(Vec<GitState>, Vec<UserFile>)> {
        let iteration = begin.iteration;
        let mut git_state = self.remove_locks(iteration);
        git_state.extend(self.states(iteration)?);
        if let Some((before, is_open)) = list {
            if is_open {
                git_state.extend(self.work_elsewhere(slot, begin));
            }
            git_state.extend(self.another_list(before, is_open, iteration));
        }
        // What a tool does as usual is in the record alone.
        let is_note = |state: &GitState| state.kind == GitStateKind::Configuration && state.command.is_none();
        for state in git_state.iter().filter(|state| state.since == iteration && !is_note(state)) {
            let hint = state.hint().map_or(String::new(), |hint| format!("\nhint: {hint}"));
            self.warn(format!("left behind: {}{hint}", state.text));
        }
        self.past.left_behind.states.clone_from(&git_state);
        // An agent can delete the commits that it began with; the record says so itself.
        let commits = self.commits_so_far(slot, begin).unwrap_or_default();
        let user_files = self.look_at_user_files(slot, iteration, taken, &commits);
        let lost: Vec<UserFile> =
            user_files.iter().filter(|file| file.since == iteration && file.is_gone()).cloned().collect();
        if let Some(what) = lost_files(&lost) {
            let command = restore_command(RALPH, &lost, None);
            (self.say)(&Event::UserFilesLost { iteration, what, command, files: lost });
        }
        Ok((git_state, user_files))
    }

    /// Returns the commits of the attempt, if there is anything of the user's that they can have taken in.
    fn commits_so_far(&self, slot: &Slot, begin: &Begin) -> Result<Vec<ObjectId>> {
        if self.past.left_behind.user_files() == 0 {
            return Ok(Vec::new());
        }
        let head = self.plan.work_tree.head()?;
        let (before, refs) = (begin.head_before.as_ref(), slot.refs_before()?);
        // Whatever their dates: what they took in is what counts.
        let since = Timestamp::from_seconds(0);
        self.recorder.work_tree().commits_between(before, head.as_ref(), &refs, since)
    }

    /// Returns where else in the repository commits of the attempts at a task are, since one of them left some there.
    fn work_elsewhere(&mut self, slot: &Slot, begin: &Begin) -> Vec<GitState> {
        // The repository that an agent finds in a lane is made anew for each attempt. And from another branch than the
        // session's the way is back, whatever is there.
        if self.plan.work_tree.lane().is_some() || self.way_back().is_some() {
            return Vec::new();
        }
        let first = self.past.left_behind.left_elsewhere.get(&begin.task.name).cloned();
        let (known, since) = first.unwrap_or_else(|| {
            let refs = slot.refs_before().unwrap_or_default();
            ([&refs, b"\n".as_slice(), &self.past.left_behind.stashes].concat(), begin.iteration)
        });
        let found = self.recorder.work_tree().commits_elsewhere(&known).unwrap_or_else(|error| {
            self.warn(format!("whether commits of this attempt are elsewhere is not known: {error:#}"));
            Vec::new()
        });
        let states: Vec<GitState> = found.iter().map(|found| elsewhere::state(found, since)).collect();
        if !states.is_empty() {
            self.past.left_behind.left_elsewhere.insert(begin.task.name.clone(), (known, since));
        }
        states
    }

    /// Returns the state of a list that was written anew, in an attempt that left its box open or opened others, or in one
    /// before it.
    fn another_list(&mut self, before: &TaskList, is_open: bool, iteration: u32) -> Option<GitState> {
        // On another branch is another list.
        let after = if self.way_back().is_some() { None } else { self.read_tasks().ok() }?;
        let known = self.past.left_behind.former_list.take();
        let known = known.filter(|(former, ..)| RewrittenList::is_another(former, &after));
        let (former, text, since) = if let Some(known) = known {
            known
        } else {
            let rewritten = RewrittenList::of(before, &after)?;
            if !is_open && rewritten.reopened.is_empty() {
                return None;
            }
            self.warn_of_reopened(&rewritten.reopened);
            (before.clone(), rewritten.words(), iteration)
        };
        let is_in_lane = self.plan.work_tree.lane().is_some();
        let command = (!is_in_lane).then(|| self.list_restoration(since));
        self.past.left_behind.former_list = Some((former, text.clone(), since));
        Some(GitState { kind: GitStateKind::List, text, finish: None, command, since })
    }

    fn warn_of_reopened(&mut self, tasks: &[TaskName]) {
        let [was, is] = if tasks.len() == 1 { ["was", "is"] } else { ["were", "are"] };
        if !tasks.is_empty() {
            let names = join_truncated(tasks, MAX_LISTED_FILES);
            self.warn(format!("{names} {was} done, and {is} open again in the list that this attempt wrote"));
        }
    }

    fn states(&mut self, iteration: u32) -> Result<Vec<GitState>> {
        let store = self.plan.store;
        let operations = self.plan.work_tree.operations();
        let behind = &self.past.left_behind;
        let mut states = git_state::operations(&behind.at_start, &operations, &behind.states, iteration);
        let now = self.plan.work_tree.branch()?;
        // A rebase detaches HEAD, and its end brings the branch back.
        if now.is_some() || states.is_empty() {
            let old = behind.branch.expected.clone();
            let is_there = match &old {
                Some(old) => store.refs().tip(&format!("refs/heads/{old}"))?.is_some(),
                None => false,
            };
            states.extend(self.past.left_behind.branch.look(now.as_deref(), is_there, iteration));
        }
        let configuration = &mut self.past.left_behind.configuration;
        let settings = configuration.read(self.plan.work_tree)?;
        states.extend(configuration.look(settings, iteration));
        Ok(states)
    }

    /// Returns the command that goes back to the branch that the session works on, if an attempt left another one checked out:
    /// nothing of what is missing there is gone.
    pub(crate) fn way_back(&self) -> Option<String> {
        let work_tree = self.plan.work_tree;
        let expected = self.past.left_behind.branch.expected.as_ref()?;
        let is_elsewhere = work_tree.branch().is_ok_and(|now| now.as_ref() != Some(expected));
        if work_tree.lane().is_some() || !is_elsewhere || work_tree.operation().is_some() {
            return None;
        }
        let tip = self.plan.store.refs().tip(&format!("refs/heads/{expected}")).ok().flatten();
        tip.map(|_| format!("git switch {}", quoted_for_shell(expected)))
    }

    /// Returns what is left behind now; `None` before the first attempt.
    pub(crate) fn remains(&self) -> Option<Remains> {
        let iteration = self.state.next.checked_sub(1).filter(|last| *last > 0)?;
        let behind = &self.past.left_behind;
        let mut remains = Remains {
            session: self.session.id.clone(),
            iteration,
            git_state: behind.states.clone(),
            user_files: behind.files.lost.clone(),
        };
        still_there(self.plan.store, self.plan.work_tree, &self.session.feature, &mut remains);
        Some(remains)
    }

    /// Returns the ending of a session whose tasks are done while git is in the middle of something that an attempt
    /// began; `None` if it is not.
    pub(crate) fn unfinished_operation(&self) -> Option<Ending> {
        let behind = &self.past.left_behind;
        let now = self.plan.work_tree.operations();
        let last = self.state.next.saturating_sub(1);
        let states = git_state::operations(&behind.at_start, &now, &behind.states, last);
        let state = states.into_iter().find(|state| state.kind == GitStateKind::Operation)?;
        let hint = state.hint().unwrap_or_default();
        Some(Ending::in_operation(&format!("{}, since #{}", state.text, state.since), &hint))
    }

    /// Looks at the user's files. What cannot be found out is said, and costs nothing else.
    fn look_at_user_files(
        &mut self,
        slot: &Slot,
        iteration: u32,
        taken: &SnapshotTaken,
        commits: &[ObjectId],
    ) -> Vec<UserFile> {
        let found = self.past.left_behind.files.look(&self.recorder, slot, iteration, taken, commits);
        let found = found.unwrap_or_else(|error| {
            self.warn(format!("what became of your uncommitted files is not known: {error:#}"));
            self.past.left_behind.files.lost.clone()
        });
        for commit in commits {
            let taken_in = found.iter().filter(|file| file.commit.as_ref() == Some(commit));
            let names: Vec<&str> = taken_in.map(|file| file.path.as_str()).collect();
            if !names.is_empty() {
                let names = join_files(&names, MAX_LISTED_FILES);
                self.warn(format!(
                    "commit {} of the agent took in uncommitted work of yours: {names}",
                    commit.short()
                ));
            }
        }
        found
    }

    /// Notes that a commit of the loop's own took files of the user's in.
    pub(crate) fn note_own_commit(&mut self, commit: &ObjectId) {
        let files = &mut self.past.left_behind.files;
        if let Err(error) = files.take_in(&self.recorder, std::slice::from_ref(commit)) {
            self.warn(format!("what commit {} took in is not known: {error:#}", commit.short()));
        }
    }
}
