//! How a session begins, or is resumed: its id, its record, its place in the spool.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use anyhow::Result;
use camino::Utf8Path;
use tasklist::TaskList;

use ralph_core::config::{OnQuestion, Settings, Unit, Until};
use ralph_core::history::History;
use ralph_core::record::{
    Artifact, ArtifactStatus, Baseline, Durations, Event, Hint, Iteration, LogEntry, Outcome, ProjectFolders,
    RecordKind, Refusal, SCHEMA, Session, SessionId, SessionTotals, Status, Timestamp, Tokens,
};
use ralph_git::worktree::WorkTree;
use ralph_os::platform::repo_path;
use ralph_os::process::{boot_id, host_name};
use ralph_os::sandbox::Sandbox;
use ralph_project::tasks::select;
use ralph_store::{
    Control, Holder, Identity, LoopLock, SessionLog, SessionRefs, Spool, SpoolMeta, kept_settings,
    note_last_written,
};

use super::agents::pool::AgentPool;
use super::clean::CleanState;
use super::commits::earlier_work::commit_earlier_work;
use super::commits::pending::PendingCommit;
use super::control::stop_watcher::StopWatcher;
use super::control::waiting_hints;
use super::environment::environment;
use super::given_up::given_up;
use super::judging::{Judging, narrow};
use super::lane::require_lane_setup;
use super::left_behind::{LeftBehind, PreviousSession, UndoneWork, UserFiles, recorded_work};
use super::loop_inputs::LoopInputs;
use super::memory::Memory;
use super::others::Others;
use super::recorder::{Opening, Recorder};
use super::redaction::redacted;
use super::restoring::last_green::LastGreen;
use super::running::{LoopState, Past, Running};
use super::settings::{progress_strategy, redactor};
use super::task_watch::{TaskWatch, recorded_losses, recorded_texts};
use super::trusted;
use super::trusted::BaselineRun;
use super::units;
use super::unseen::ignored_state;

impl<'a> Running<'a> {
    pub(super) fn begin(
        inputs: &'a LoopInputs<'a>,
        tasks: &TaskList,
        resume: Option<&SessionRefs>,
        lock: &'a mut LoopLock,
        say: &'a mut dyn FnMut(&Event),
    ) -> Result<Self> {
        let earlier = resume.map(|refs| inputs.store.session(refs)).transpose()?.flatten();
        let is_resumed = earlier.is_some();
        let (mut running, recorded) = Self::new(inputs, tasks, earlier.as_ref(), lock, say)?;
        if is_resumed && inputs.group.is_some() {
            running.take_in_records()?;
            running.past.history.begin_runs();
        }
        let measured = match running.record_start(tasks, earlier.as_ref()) {
            Err(error) if error.is::<Refusal>() => {
                // Nothing is recorded of it.
                running.spool.remove(running.inputs.store.repository())?;
                running.control.clear()?;
                return Err(error);
            }
            started => started?,
        };
        let (inputs, session, recorder) = (running.inputs, &running.session, &running.recorder);
        running.judging.begin(session, recorder);
        let (tree, objects) = recorder.last_contents();
        let resumed_from = is_resumed.then_some(session.started_at);
        let left_out = recorder.last_left_out();
        running.state.left_out_at_start = left_out.iter().map(|left| left.path.clone()).collect();
        running.work =
            PendingCommit::begin(inputs, &recorded, tree, objects.as_deref(), left_out, resumed_from)?;
        if let Some(state) = session.trusted.clone().filter(|_| measured.baseline.is_some()) {
            running.judging.trusted.tried = inputs.work_tree.head()?.map(|head| (head, state));
        }
        running.past.history.begin_with(failure_before(inputs.job.until, session));
        let last_passing = tree.filter(|_| measured.passes()).cloned();
        running.past.last_green = LastGreen::starting(last_passing, session.branch.as_ref());
        // Hints of an iteration that was interrupted wait again.
        let unheard = recorded.last().filter(|last| last.outcome == Outcome::Interrupted);
        let unheard = unheard.map_or(&[][..], |last| &last.hints);
        waiting_hints::restore(inputs.store, &inputs.feature.path, unheard, inputs.clock.now())?;
        let hints = waiting_hints::waiting(inputs.store, &inputs.feature.path, tasks)?;
        if !is_resumed && inputs.job.until == Until::Tasks {
            let tree = tree.filter(|_| objects.is_none());
            let entries = running.past.memory.entries();
            running.state.given_up = given_up(inputs, session, tree, tasks, entries)?;
        }
        running.task_watch.persons = recorded_texts(inputs.store, running.past.memory.entries());
        if let Some(log) = &earlier {
            running.task_watch.lost = recorded_losses(inputs.store, log);
        }
        let of_tasks = match inputs.job.until {
            Until::Tasks => {
                let now = recorder.tips().snapshot;
                let own_files = [&inputs.feature.tasks_path, &inputs.feature.progress_path]
                    .map(|path| recorder.work_tree().relative(path));
                recorded_work(inputs.store, session, &own_files, now.as_ref(), is_resumed)
            }
            Until::Validation => Ok(UndoneWork::default()),
        };
        if let Err(error) = running.past.left_behind.begin(inputs, session.branch.clone(), of_tasks) {
            running.warn(format!("what earlier attempts changed is not known: {error:#}"));
        }
        running.announce_session(tasks, measured, hints, is_resumed);
        running.state.started = running.inputs.clock.stopwatch();
        Ok(running)
    }

    /// Returns a session before its first record, with the iterations that it has already if it is resumed: others know of
    /// it, and a recovery would find its spool.
    fn new(
        inputs: &'a LoopInputs<'a>,
        tasks: &TaskList,
        earlier: Option<&SessionLog>,
        lock: &'a mut LoopLock,
        say: &'a mut dyn FnMut(&Event),
    ) -> Result<(Self, Vec<Iteration>)> {
        let started_at = inputs.clock.now();
        let id = match earlier {
            Some(log) => log.id().clone(),
            None => new_id(inputs, started_at)?,
        };
        // Requests to an earlier loop are not meant for this one.
        let control = Control::of(inputs.store.repository(), &id);
        control.clear()?;
        let holder = Holder { session: id.clone(), pid: std::process::id(), host: host_name(), started_at };
        lock.name_holder(inputs.work_tree, holder)?;
        let identity = Identity::find_or_create(inputs.store.repository())?;
        // From here on others know of the session, and its first snapshot may take long.
        let stop_watcher = StopWatcher::start(control.clone(), inputs.interrupt.clone());
        let settings = &inputs.config.settings;
        let mut session = new_session(inputs, &id, &identity, tasks, started_at)?;
        let mut history = History::new(settings.on_question == OnQuestion::Retry);
        let recorded = match earlier {
            Some(log) => restore_from_log(inputs, log, &mut session, &mut history),
            None => Vec::new(),
        };
        let last = earlier.and_then(|log| log.entries.iter().rev().find_map(LogEntry::iteration));
        let redactor = redactor(settings)?;
        // No secret is in names of tasks that count, and JSON does not have them.
        let totals = std::mem::take(&mut session.totals);
        let session = Session { totals, ..redacted(&redactor, &session)? };
        let last_check_ms = session.clean.as_ref().map(|last| last.duration_ms);
        let place = place(inputs, &session);
        let spool = Spool::create(inputs.work_tree, &place)?;
        let recorder = Recorder::new(inputs, place, redactor, spool.clone())?;
        let memory = Memory::load(inputs.store, inputs.feature, &inputs.project_root)?;
        let progress = progress_strategy(settings, &memory, inputs.store, Some(&session.id));
        let running = Self {
            agents: AgentPool::new(inputs.agents.len(), settings.max_wait),
            session,
            recorder,
            lock,
            spool,
            identity,
            control,
            _stop_watcher: stop_watcher,
            past: Past {
                history,
                last_green: LastGreen::default(),
                memory,
                progress,
                left_behind: LeftBehind::default(),
            },
            judging: Judging::default(),
            task_watch: TaskWatch::default(),
            work: None,
            state: LoopState {
                next: last.unwrap_or_default() + 1,
                is_promised: false,
                dearest_usd: 0.0,
                unread_costs: 0,
                started: inputs.clock.stopwatch(),
                given_up: Vec::new(),
                common_failure: Vec::new(),
                is_lane_used: false,
                is_lane_renewed: false,
                has_queue: inputs.work_tree.lane().is_some(),
                queued: Vec::new(),
                target_red: None,
                prompt_filler: None,
                said_facts: BTreeSet::new(),
                validation_began: None,
                logins: BTreeSet::new(),
                said_budgets: Vec::new(),
                clean: CleanState {
                    successes: unchecked(&recorded),
                    since: inputs.clock.stopwatch(),
                    last_ms: last_check_ms,
                    has_failed: false,
                    is_over: false,
                    is_lane_dirty: false,
                },
                left_out_at_start: Vec::new(),
                was_idle: false,
                phases: Vec::new(),
                phase_clock: inputs.clock.stopwatch(),
            },
            others: Others::default(),
            inputs,
            say,
        };
        Ok((running, recorded))
    }

    /// Does what comes before the first record, and leaves nothing behind.
    pub(super) fn rehearse(
        inputs: &'a LoopInputs<'a>,
        tasks: &TaskList,
        lock: &'a mut LoopLock,
        say: &'a mut dyn FnMut(&Event),
    ) -> Result<()> {
        let (mut running, _) = Self::new(inputs, tasks, None, lock, say)?;
        let checked = running.check_start(tasks, None, true).map(drop);
        running.spool.remove(running.inputs.store.repository())?;
        running.control.clear()?;
        checked
    }

    /// Runs the validation, and writes the first record.
    fn record_start(&mut self, tasks: &TaskList, earlier: Option<&SessionLog>) -> Result<BaselineRun> {
        let (opening, measured) = self.check_start(tasks, earlier, false)?;
        let ignored = self.recorder.ignored_files().map(Rc::new);
        self.session.ignored = ignored.as_ref().map(|found| ignored_state(&self.identity, found));
        self.judging.unseen.last = ignored;
        let (inputs, session, recorder) = (self.inputs, &mut self.session, &mut self.recorder);
        session.environment =
            Some(Box::new(redacted(recorder.redactor(), &environment(inputs, opening.at))?));
        // Before the session is recorded: whoever can resume it finds them.
        kept_settings::keep(inputs.work_tree, &session.id, &inputs.kept_settings)?;
        session.kept_settings = Some(self.identity.fingerprint_of(&inputs.kept_settings));
        recorder.write_opening(opening, session, &inputs.feature.name, &inputs.clock)?;
        note_last_written(inputs.work_tree, &session.feature, &session.id)?;
        Ok(measured)
    }

    /// Runs the validation, and refuses to start where no attempt could succeed. A rehearsal commits nothing.
    fn check_start<'l>(
        &mut self,
        tasks: &TaskList,
        earlier: Option<&'l SessionLog>,
        is_rehearsal: bool,
    ) -> Result<(Opening<'l>, BaselineRun)> {
        let at = if earlier.is_some() { self.inputs.clock.now() } else { self.session.started_at };
        // Of a record that cannot be read nothing is known.
        require_lane_setup(self.inputs, &self.recorder, &self.identity)?;
        let previous = PreviousSession::of(self.inputs.store, self.inputs.work_tree).unwrap_or_default();
        let mut opening = self.recorder.open(earlier, at)?;
        if earlier.is_none() {
            commit_earlier_work(self.inputs, &mut self.recorder, self.say, &opening.slot, is_rehearsal)?;
        }
        let mut measured = self.measure_baseline(&mut opening)?;
        let head = match self.inputs.work_tree.head()? {
            Some(head) => head,
            None => self.inputs.store.repository().hash.empty_tree()?,
        };
        let snapshot = opening.snapshot();
        let (slot, is_resumed) = (&opening.slot, earlier.is_some());
        let files = UserFiles::at_start(&self.recorder, slot, snapshot, &head, is_resumed, &previous)?;
        if !is_resumed && measured.failed_by_itself() {
            self.refuse_red_start(tasks, &mut opening, &mut measured, &files)?;
        }
        let (inputs, session, recorder) = (self.inputs, &mut self.session, &mut self.recorder);
        session.baseline.clone_from(&measured.baseline);
        session.trusted = trusted::at_start(inputs, earlier, opening.snapshot(), &measured)?;
        let is_said = self.judging.prepare(inputs, session, &measured, self.say);
        self.judging.trusted.start = opening.snapshot().cloned();
        if let Some(cause) = measured.baseline.as_ref().and_then(Baseline::failure).filter(|_| !is_said) {
            let message = format!("the validation already fails before the first iteration: {cause}");
            (self.say)(&Event::Warning { message });
        }
        session.user_files = redacted(recorder.redactor(), &files.names())?;
        self.past.left_behind.files = files;
        Ok((opening, measured))
    }

    fn announce_session(
        &mut self,
        tasks: &TaskList,
        measured: BaselineRun,
        hints: Vec<Hint>,
        is_resumed: bool,
    ) {
        let (session, settings) = (&self.session, &self.inputs.config.settings);
        let part = session.scope.as_ref().and_then(|scope| select(tasks, scope).ok().flatten());
        let is_auto = self.inputs.job.until == Until::Tasks && settings.unit_now() == Unit::Auto;
        (self.say)(&Event::SessionStarted {
            session: session.id.clone(),
            feature: session.feature.clone(),
            lane: session.lane,
            branch: session.branch.clone(),
            agent: session.agent.clone(),
            max_iterations: session.max_iterations,
            loop_type: session.loop_type.clone(),
            artifact: session.artifact.path.clone(),
            tasks: tasks.counts(),
            scope: session.scope.clone(),
            scope_tasks: part.as_ref().map(|part| tasks.counts_of(part)),
            unit: is_auto.then(|| units::first_of_auto(tasks, part.as_ref())).flatten(),
            is_resumed,
            cost: session.cost(),
            agent_version: session.agent_version.clone(),
            permissions: settings.permissions.into_str(),
            sandbox: session.sandbox.clone(),
            validation: settings.validation_command.clone(),
            validation_notes: self.judging.notes(&measured),
            baseline: measured.baseline,
            is_known_to_pass: measured.is_known_to_pass,
            hints,
            given_up: self.state.given_up.clone(),
            validation_files: session.validation_files.clone(),
            user_files: self.past.left_behind.user_files(),
            user_file_names: session.user_files.clone(),
            dropped_variables: self.inputs.sandbox.as_ref().map(Sandbox::dropped).unwrap_or_default(),
            api_key: self.inputs.agents[self.agents.active].api_key.clone(),
        });
    }
}

/// Runs the validation of a task list in which all is done. Nothing is recorded of it. `None` if there is none to run, or
/// it was stopped.
pub(super) fn check_finished<'a>(
    inputs: &'a LoopInputs<'a>,
    tasks: &TaskList,
    lock: &'a mut LoopLock,
    say: &'a mut dyn FnMut(&Event),
) -> Result<Option<Baseline>> {
    let Some(command) = inputs.config.settings.validation_command.clone() else { return Ok(None) };
    // With a spool the next start stops what we leave running if we die.
    let (mut running, _) = Running::new(inputs, tasks, None, lock, say)?;
    let slot = running.spool.slot("start");
    slot.create()?;
    let validation = running.run_baseline(&command, &slot)?;
    running.spool.remove(running.inputs.store.repository())?;
    running.control.clear()?;
    Ok(validation)
}

/// The latest session is the one whose id sorts last.
fn new_id(inputs: &LoopInputs<'_>, started_at: Timestamp) -> Result<SessionId> {
    let id = SessionId::new(started_at, salt(inputs));
    Ok(inputs.store.newest_session()?.into_iter().fold(id, |id, newest| id.sorted_after(&newest)))
}

fn new_session(
    inputs: &LoopInputs<'_>,
    id: &SessionId,
    identity: &Identity,
    tasks: &TaskList,
    started_at: Timestamp,
) -> Result<Session> {
    let work_tree = inputs.work_tree;
    Ok(Session {
        schema: SCHEMA,
        id: id.clone(),
        feature: inputs.feature.path.clone(),
        branch: inputs.work_tree.branch()?,
        lane: inputs.work_tree.lane().map(|lane| lane.number),
        group: inputs.group.as_ref().map(|group| group.first.clone().unwrap_or_else(|| id.clone())),
        project: Some(project_folders(inputs)),
        environment: None,
        loop_type: inputs.job.loop_type.clone(),
        scope: (!inputs.scope.is_all()).then(|| inputs.scope.clone()),
        started_at,
        ended_at: None,
        status: Status::Running,
        stop_reason: None,
        ended_by: None,
        limit: None,
        max_iterations: inputs.config.settings.max_iterations,
        iterations_run: 0,
        tasks_completed: 0,
        totals: SessionTotals::default(),
        closed_parents: Vec::new(),
        tasks_done: tasks.counts().done,
        tasks_remaining: tasks.counts().open,
        duration_ms: Durations::default(),
        tokens: Tokens::default(),
        cost_usd: None,
        cost_is_partial: false,
        artifact: Artifact { path: work_tree.relative(&inputs.job.artifact), status: ArtifactStatus::Draft },
        agent: inputs.agents.first().map(|first| first.agent.name().to_owned()).unwrap_or_default(),
        agent_version: inputs.agents.first().and_then(|first| first.agent.version()),
        sandbox: inputs.sandbox.as_ref().map(|sandbox| sandbox.facts()),
        configuration: inputs.config.to_json(),
        hints: Vec::new(),
        baseline: None,
        validation_files: Vec::new(),
        legacy_failures: None,
        trusted: None,
        clean: None,
        user_files: Vec::new(),
        host: host_name(),
        machine: Some(identity.machine()),
        commands: BTreeMap::new(),
        kept_settings: None,
        ignored: None,
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
    })
}

/// Returns where the project is: in the work tree of the user's, and in the lane.
fn project_folders(inputs: &LoopInputs<'_>) -> ProjectFolders {
    let here = inputs.project_root.to_string();
    let Some(lane) = inputs.work_tree.lane() else { return ProjectFolders { folder: here, lane: None } };
    let below = inputs.project_root.strip_prefix(inputs.work_tree.top()).unwrap_or("".into());
    // Joined with nothing, a path would end in a slash.
    let users = if below.as_str().is_empty() { lane.users_top.clone() } else { lane.users_top.join(below) };
    ProjectFolders { folder: users.into_string(), lane: Some(here) }
}

/// Restores totals and counts from the record of a session. Returns its iterations that can be read.
fn restore_from_log(
    inputs: &LoopInputs<'_>,
    log: &SessionLog,
    session: &mut Session,
    history: &mut History,
) -> Vec<Iteration> {
    session.started_at = log.entries[0].started_at();
    session.set_totals(log.view().totals().clone());
    let mut begun = log.entries.iter().rev().filter(|entry| entry.kind().begins());
    let begun = begun.find_map(|entry| inputs.store.readable_session(entry));
    session.legacy_failures = begun.and_then(|begun| begun.legacy_failures);
    let mut recorded = Vec::new();
    for entry in log.entries.iter() {
        if entry.kind().begins() {
            let begun = inputs.store.readable_session(entry);
            history.begin_with(begun.as_ref().and_then(|begun| failure_before(inputs.job.until, begun)));
        }
        if entry.kind() == RecordKind::End {
            // Resuming a session that had ended means another attempt: the counts start at zero.
            history.clear();
        }
        if entry.iteration().is_none() {
            continue;
        }
        let Some(iteration) = inputs.store.readable_iteration(entry) else {
            history.push_entry(entry);
            continue;
        };
        history.push(&iteration);
        narrow(&mut session.legacy_failures, &iteration);
        recorded.push(iteration);
    }
    // After a crash, too, `resume -n 1` means one more run.
    history.begin_runs();
    recorded
}

/// Returns how many successes no check in a clean checkout came after.
fn unchecked(recorded: &[Iteration]) -> u32 {
    let since = recorded.iter().rev().take_while(|record| record.outcome != Outcome::Checked);
    u32::try_from(since.filter(|record| record.outcome == Outcome::Success).count()).unwrap_or(u32::MAX)
}

/// Returns the fingerprint of how the validation failed before the first attempt at a task; `None` if it passed, or fails only by tests
/// that may. A loop that is to make it pass begins with that failure, and goes on with it.
fn failure_before(until: Until, begun: &Session) -> Option<&str> {
    let baseline = begun.baseline.as_ref().filter(|baseline| !baseline.passed())?;
    let may_fail = begun.legacy_failures.as_ref().is_some_and(|tests| !tests.is_empty());
    baseline.fingerprint.as_deref().filter(|_| until == Until::Tasks && !may_fail)
}

/// Returns what a recovery finds in the spool about a session whose loop died.
pub(super) fn place(inputs: &LoopInputs<'_>, session: &Session) -> SpoolMeta {
    let settings = &inputs.config.settings;
    SpoolMeta {
        session: session.id.clone(),
        feature: session.feature.clone(),
        feature_name: inputs.feature.name.clone(),
        work_tree: inputs.work_tree.name(),
        tasks_path: inputs.feature.tasks_path.clone(),
        progress_path: inputs.feature.progress_path.clone(),
        host: host_name(),
        boot: boot_id(),
        pid: std::process::id(),
        begun: session.clone(),
        untick: settings.untick,
        snapshots: settings.snapshots,
        snapshot_max_file: settings.snapshot_max_file.unwrap_or(u64::MAX),
        protect: protected_paths(inputs.work_tree, &inputs.project_root, settings),
        redaction_rules: settings.redaction_rules.clone(),
        redaction_allow: settings.redaction_allow.clone(),
    }
}

/// Returns `validation.protect` as pathspecs from the top of the work tree.
pub fn protected_paths(work_tree: &WorkTree, root: &Utf8Path, settings: &Settings) -> Vec<String> {
    pathspecs(work_tree, root, &settings.validation_protect)
}

/// Returns globs of the project's as pathspecs from the top of the work tree.
pub(super) fn pathspecs(work_tree: &WorkTree, root: &Utf8Path, globs: &[String]) -> Vec<String> {
    let root = root.strip_prefix(work_tree.top()).ok().filter(|root| !root.as_str().is_empty());
    let below =
        |glob: &String| root.map_or_else(|| glob.clone(), |root| format!("{}/{glob}", repo_path(root)));
    globs.iter().map(|glob| format!(":(top,glob){}", below(glob))).collect()
}

/// Distinguishes sessions that start in the same second; beside a stepping clock by their lanes alone.
fn salt(inputs: &LoopInputs<'_>) -> u32 {
    use std::hash::{BuildHasher, RandomState};
    // The standard library's hasher is keyed from the system's randomness: all that is needed here.
    if inputs.clock.is_stepping() {
        inputs.group.as_ref().and(inputs.work_tree.lane()).map_or(0, |lane| lane.number)
    } else {
        (RandomState::new().hash_one(std::process::id()) & 0xffff_ffff) as u32
    }
}

#[cfg(test)]
mod tests {
    use ralph_core::record::samples::session;

    use super::*;

    #[test]
    fn a_validation_that_may_fail_or_is_to_be_repaired_does_not_fail_as_before() {
        let begun = |exit: i32, may_fail: Option<&[&str]>| Session {
            baseline: Some(Baseline { exit, fingerprint: Some("f1".to_owned()), ..Baseline::default() }),
            legacy_failures: may_fail.map(|tests| tests.iter().map(|&test| test.to_owned()).collect()),
            ..session("running", None, (0, 2))
        };
        for (session, until, expected) in [
            (begun(1, None), Until::Tasks, Some("f1")),
            (begun(1, Some(&[])), Until::Tasks, Some("f1")),
            (begun(1, Some(&["a test"])), Until::Tasks, None),
            (begun(0, None), Until::Tasks, None),
            (begun(1, None), Until::Validation, None),
        ] {
            assert_eq!(failure_before(until, &session), expected, "{until:?}");
        }
    }
}
