//! The agent's run, and the validation after it.

use std::rc::Rc;

use anyhow::{Context, Result};
use failure_excerpt::Tally;

use ralph_agent::AgentInput;
use ralph_core::config::Until;
use ralph_core::judge::{is_test_snapshot, rewrote_flag};
use ralph_core::record::{
    AgentRun, ChildEnd, Ended, Event, ExitReason, FailureClass, NeedKind, Phase, StreamCounts, Validation,
    join_files,
};
use ralph_git::worktree::PathChange;
use ralph_os::process::oom_kills;
use ralph_store::{Slot, names};

use super::protect::{Restored, put_protected_back};
use super::stages::{Ran, Sealed, StartedIteration};
use crate::baseline::OUTPUTS;
use crate::judging::NO_TESTS_YET;
use crate::lane::move_left_out_aside;
use crate::prompt_size::what_fills;
use crate::restoring::put_back::names as names_of;
use crate::running::Running;
use crate::test_reports::keep_named_tests;
use crate::unseen::file_time;

/// Maximum number of files that a message names.
const MAX_NAMED_FILES: usize = 5;

impl Running<'_> {
    /// Runs the agent, and the validation if there is something to validate.
    pub(super) fn run_children(&mut self, started: &StartedIteration<'_>) -> Result<Ran> {
        let StartedIteration { slot, begin, environment, .. } = started;
        let before = self.judging.unseen.ignored_before(self.inputs, &self.recorder);
        let began = file_time(&self.recorder);
        let kills = oom_kills();
        let mut agent = self.run_agent(slot, begin.iteration, environment)?;
        let mut ended = Ended { agent: ChildEnd::of(agent.exit, [kills, oom_kills()]), validation: None };
        if let (Some(began), Some(ended)) = (began, file_time(&self.recorder)) {
            self.judging.unseen.ran(&begin.task.name, [began, ended]);
        }
        self.state.prompt_filler =
            (agent.failure_class == Some(FailureClass::Context)).then(|| what_fills(&started.prompt));
        self.restore_spool(started)?;
        let nothing_done = self.nothing_done(&mut agent, slot, started.task, &started.task_list);
        self.note_refusal(&mut agent, &started.task.name);
        self.ran(&agent, nothing_done.is_some());
        for message in self.candidate().facts(&agent) {
            if self.state.said_facts.insert(message.clone()) {
                self.warn(message);
            }
        }
        let mut sealed = self.seal(started)?;
        let mut looks = [before, self.recorder.ignored_files().map(Rc::new), None];
        self.judging.unseen.note_ignored(
            self.inputs,
            &self.recorder,
            slot,
            &looks,
            began,
            sealed.tree.as_ref(),
        );
        let mut restored = put_protected_back(self.inputs, &mut self.recorder, self.say, slot, begin);
        // What an agent left that could not work, or not to its end, is nothing to be judged.
        let is_worth_it = agent.exit.reason != Some(ExitReason::Interrupted) && !agent.was_cut_short;
        let hidden =
            if is_worth_it { self.judging.unseen.newly_hidden(&mut self.recorder) } else { Ok(Vec::new()) };
        let hidden = hidden.unwrap_or_else(|error| {
            self.warn(format!("what git ignores since the start is not known: {error:#}"));
            Vec::new()
        });
        let left_out = if is_worth_it {
            move_left_out_aside(self.inputs, &mut self.recorder, slot, &hidden)
        } else {
            Ok(Vec::new())
        };
        let left_out = left_out.unwrap_or_else(|error| {
            self.warn(format!("files that no commit takes could not be moved away: {error:#}"));
            Vec::new()
        });
        let kills = oom_kills();
        let validated = if is_worth_it { self.validate(slot, begin.iteration, environment)? } else { None };
        let (validation, tests) = validated.unzip();
        ended.validation =
            validation.as_ref().and_then(|validation| ChildEnd::of(validation.exit, [kills, oom_kills()]));
        self.restore_spool(started)?;
        if validation.is_some() {
            self.recorder.note_change();
        }
        let brought_back = if validation.is_some() && sealed.tree.is_some() {
            // It ran what the agent wrote.
            let looked = self.look_after_validation(started, &mut sealed, &mut restored);
            looked.unwrap_or_else(|error| {
                self.warn(format!("what the validation changed is not known: {error:#}"));
                Vec::new()
            })
        } else {
            Vec::new()
        };
        if validation.is_some() {
            looks[2] = self.recorder.ignored_files().map(Rc::new);
        }
        let ignored = self.judging.unseen.ignored_state(&self.recorder, &self.identity, &looks, &left_out);
        self.begin_phase(begin.iteration, Phase::Recording);
        if let Some(complaint) = agent.stream.and_then(StreamCounts::complaint) {
            self.warn(complaint);
        }
        let name = self.candidate().agent.name().to_owned();
        let logins: Vec<String> = agent.login.drain(..).map(|said| format!("{name}'s {said}")).collect();
        for warning in std::mem::take(&mut agent.warnings).into_iter().chain(logins.clone()) {
            self.warn(warning);
        }
        for login in logins {
            if self.state.logins.insert(login.clone()) {
                self.need(NeedKind::Agent, login);
            }
        }
        let of_validation = validation.iter().flat_map(|validation| &validation.leftovers);
        let leftovers: Vec<String> = agent.leftovers.iter().chain(of_validation).cloned().collect();
        self.warn_of_leftovers(&leftovers);
        Ok(Ran {
            agent,
            sealed,
            ended: Some(ended).filter(|ended| *ended != Ended::default()),
            nothing_done,
            validation,
            tests,
            protected: restored,
            brought_back,
            left_out,
            hidden,
            ignored,
        })
    }

    /// Looks at what the agent left. Settings that it changed are as they were already.
    fn seal(&mut self, started: &StartedIteration<'_>) -> Result<Sealed> {
        self.note_phase(&Phase::Recording);
        // Who looks on knows what takes long, if a filter does.
        let _unpublished = self.control.publish_phase(Phase::Recording.as_str()).is_err();
        let before = self.task_watch.lists.parse(&started.task_list)?;
        let (list, list_fault) = self.list_after(&before);
        // What fails here fails again where the snapshot of the record is taken, and is said there.
        let tree = self.recorder.seal(&started.slot).ok();
        let is_of_tasks = self.inputs.job.until == Until::Tasks;
        let rewrote =
            if is_of_tasks { self.task_watch.persons.rewritten(&before, &list) } else { Vec::new() };
        let own_files: Vec<String> = self.judging.own_files.paths().into_iter().map(Into::into).collect();
        let rewrote_flag = rewrote_flag(&rewrote, &own_files, before.languages());
        Ok(Sealed { tree, list, list_fault, rewrote, rewrote_flag, rewritten: Vec::new() })
    }

    /// Puts protected files back that the validation changed, and brings back what it deleted of the files that the agent left.
    /// Returns the names of these.
    fn look_after_validation(
        &mut self,
        started: &StartedIteration<'_>,
        sealed: &mut Sealed,
        restored: &mut Restored,
    ) -> Result<Vec<String>> {
        let StartedIteration { slot, begin, .. } = started;
        let Some(tree) = sealed.tree.clone() else { return Ok(Vec::new()) };
        let mut now = self.recorder.read_again(slot)?;
        if now == tree && restored.put_back.is_empty() {
            return Ok(Vec::new());
        }
        let again = put_protected_back(self.inputs, &mut self.recorder, self.say, slot, begin);
        restored.failure = restored.failure.take().or(again.failure);
        restored.put_back.extend(again.put_back);
        restored.put_back.sort();
        restored.put_back.dedup();
        now = self.recorder.last_read(slot)?;
        let changes = self.recorder.differences(Some(slot), &tree, &now)?;
        // Snapshots of tests that no test has any more are removed by their runner.
        let (deleted, rewritten): (Vec<_>, Vec<_>) =
            changes.into_iter().partition(|change| change.is_removal() && !is_test_snapshot(&change.name()));
        sealed.rewritten = rewritten;
        // What was in the way of protected files is gone for good.
        let is_in_the_way =
            |path: &str| restored.put_back.iter().any(|it| is_below(it, path) || is_below(path, it));
        let deleted = deleted.into_iter().filter(|change| !is_in_the_way(&change.name()));
        let wanted: Vec<PathChange> = deleted.map(PathChange::reversed).collect();
        let stay = self.recorder.bring_back(slot, &wanted)?;
        let back = wanted.iter().map(|change| &change.path).filter(|path| !stay.contains(path));
        let names = names_of(back);
        if !names.is_empty() {
            self.warn(format!(
                "put back {}, which the validation deleted",
                join_files(&names, MAX_NAMED_FILES)
            ));
        }
        Ok(names)
    }

    fn run_agent(
        &mut self,
        slot: &Slot,
        iteration: u32,
        environment: &[(String, String)],
    ) -> Result<AgentRun> {
        let agent = &self.inputs.agents[self.agents.active].agent;
        self.begin_phase(iteration, Phase::Agent { agent: agent.name().to_owned() });
        let environment = [environment, &self.inputs.lane_variables_of(agent.name())].concat();
        let turn = AgentInput {
            prompt: &slot.path(names::PROMPT),
            stdout: &slot.path(names::AGENT_STDOUT),
            stderr: &slot.path(names::AGENT_STDERR),
            directory: &self.inputs.project_root,
            environment: &environment,
            limits: self.candidate().limits,
            marker: &self.marker(),
            clock: &self.inputs.clock,
            redactor: self.recorder.redactor(),
            sandbox: self.inputs.sandbox.as_ref(),
        };
        let say = &mut *self.say;
        agent
            .run(&turn, self.inputs.interrupt, &mut |event| say(&Event::AgentEvent { iteration, event }))
            .with_context(|| format!("run the agent {}", agent.name()))
    }

    /// Runs the validation, and counts the tests that it printed.
    pub(crate) fn validate(
        &mut self,
        slot: &Slot,
        iteration: u32,
        environment: &[(String, String)],
    ) -> Result<Option<(Validation, Tally)>> {
        let Some(command) = self.inputs.config.settings.validation_command.clone() else { return Ok(None) };
        self.begin_phase(iteration, Phase::Validation { command: command.clone() });
        // What it changes is newer than the file that says that it runs.
        self.state.validation_began = self.control.phase_since();
        let (validation, tests) = self.run_validation(&command, slot, OUTPUTS, environment)?;
        keep_named_tests(slot, &tests)?;
        if validation.has_no_tests && !std::mem::replace(&mut self.judging.has_said_no_tests, true) {
            self.warn(NO_TESTS_YET.to_owned());
        }
        (self.say)(&Event::ValidationFinished {
            iteration,
            command,
            exit: validation.exit,
            duration_ms: validation.duration_ms,
            tests: Some(Box::new(tests.clone())),
        });
        Ok(Some((validation, tests)))
    }

    /// Restores the spool if the child that just ended deleted it.
    pub(super) fn restore_spool(&mut self, started: &StartedIteration<'_>) -> Result<()> {
        let StartedIteration { slot, begin, prompt, task_list, .. } = started;
        self.take_off_privileges();
        self.judging.unseen.last = None;
        let is_recreated =
            self.recorder.recreate_spool()? | self.identity.keep(self.inputs.store.repository())?;
        if is_recreated || !slot.is_begun() {
            slot.begin(begin, prompt, task_list)?;
            let folder = self.inputs.store.repository().ralph_dir();
            self.warn(format!("files of the loop in {folder} were deleted while it ran; they are back"));
        }
        if self.keep_settings()? {
            let folder = self.inputs.store.repository().ralph_dir();
            self.warn(format!(
                "the settings of this session in {folder} were changed while it ran; they are back"
            ));
        }
        if let Err(error) = self.lock.reacquire_if_deleted(self.inputs.work_tree) {
            self.warn(format!("the lock of this loop was deleted, and is not ours any more: {error:#}"));
        }
        Ok(())
    }

    /// Takes away what makes a program run as its owner, if the child that just ended made such one.
    fn take_off_privileges(&mut self) {
        let Some(sandbox) = &self.inputs.sandbox else { return };
        let (taken, failures) = sandbox.take_off_privileges();
        if !taken.is_empty() {
            let names: Vec<String> =
                taken.iter().map(|path| self.recorder.work_tree().relative(path)).collect();
            let names = join_files(&names, MAX_NAMED_FILES);
            self.warn(format!("setuid and setgid were taken off: {names}"));
        }
        for failure in failures {
            self.warn(format!("setuid or setgid could not be taken off: {failure}"));
        }
    }

    pub(crate) fn warn_of_leftovers(&mut self, leftovers: &[String]) {
        if !leftovers.is_empty() {
            self.warn(format!("stopped what was left running in the background: {}", leftovers.join(", ")));
        }
    }
}

fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}
