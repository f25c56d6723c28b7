//! How a session begins, or is resumed: its id, its record, its place in the spool.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use camino::Utf8Path;
use tasklist::TaskList;

use ralph_core::config::{OnQuestion, Settings, Unit, Until};
use ralph_core::history::History;
use ralph_core::record::{
    Artifact, ArtifactStatus, Baseline, Durations, Event, Hint, Iteration, Outcome, RecordKind, SCHEMA,
    Session, SessionId, Status, TaskName, Timestamp, Tokens,
};
use ralph_git::worktree::WorkTree;
use ralph_os::clock::Clock;
use ralph_os::process::host_name;
use ralph_project::tasks::select;
use ralph_store::{
    Control, Holder, Identity, KeptSettings, LoopLock, SessionLog, Spool, SpoolMeta, note_last_written,
};

use super::agents::active::ActiveAgent;
use super::baseline::{self, BaselineRun};
use super::commits::pending::{FoundWork, PendingCommit};
use super::control::requests::Steering;
use super::control::stop_watcher::StopWatcher;
use super::control::waiting_hints;
use super::given_up::Present;
use super::judging::{Judging, narrow};
use super::left_behind::{
    LeftBehind, PreviousSession, UndoneWork, UserFiles, UserFilesAtStart, recorded_work,
};
use super::memory::Memory;
use super::plan::Plan;
use super::recorder::Recorder;
use super::redaction::redacted;
use super::restoring::good_ground::GoodGround;
use super::running::{LocalState, LoopState, Past, Running};
use super::settings::{progress_strategy, redactor};
use super::task_watch::{TaskWatch, recorded_losses};
use super::trusted;
use super::units::{self, Wanted};

impl<'a> Running<'a> {
    pub(super) fn begin(
        plan: Plan<'a>,
        tasks: &TaskList,
        lock: &'a mut LoopLock,
        say: &'a mut dyn FnMut(&Event),
    ) -> Result<Self> {
        let earlier = plan.resume.as_ref().map(|refs| plan.store.session(refs)).transpose()?.flatten();
        let mut history = History::new(plan.config.settings.on_question == OnQuestion::Retry);
        let mut prepared = NewSession::new(&plan, tasks, earlier.as_ref(), lock, &mut history)?;
        let memory = Memory::load(plan.store, plan.feature, &plan.project_root)?;
        let progress =
            progress_strategy(&plan.config.settings, &memory, plan.store, Some(&prepared.session.id))?;
        let measured = prepared.record(&plan, earlier.as_ref(), say)?;
        let NewSession {
            session,
            control,
            identity,
            stop_watcher,
            taken_up,
            spool,
            recorder,
            mut judging,
            user_files,
        } = prepared;
        judging.begin(&session, &recorder);
        let (tree, objects) = recorder.last_contents();
        let found = FoundWork {
            tree,
            objects: objects.as_deref(),
            left_out: recorder.last_left_out(),
            resumed_from: earlier.is_some().then_some(session.started_at),
        };
        let work = PendingCommit::begin(&plan, &taken_up.recorded, found)?;
        let last_passing = tree.filter(|_| measured.passes()).cloned();
        let ground = GoodGround::starting(last_passing, session.branch.as_ref());
        waiting_hints::restore(plan.store, &plan.feature.path, &taken_up.unheard, plan.clock.now())?;
        let hints = waiting_hints::waiting(plan.store, &plan.feature.path, tasks)?;
        let given_up = if earlier.is_some() || plan.job.until != Until::Tasks {
            Vec::new()
        } else {
            let tree = tree.filter(|_| objects.is_none());
            Present { plan: &plan, session: &session, tree }.given_up(tasks, memory.entries())?
        };
        let validation_notes = judging.notes(&measured);
        let lost = earlier.as_ref().map_or_else(Vec::new, |log| recorded_losses(plan.store, log));
        let of_tasks = match plan.job.until {
            Until::Tasks => {
                let now = recorder.tips().snapshot;
                let own_files = [&plan.feature.tasks_path, &plan.feature.progress_path]
                    .map(|path| recorder.work_tree().relative(path));
                recorded_work(plan.store, &session, &own_files, now.as_ref(), earlier.is_some())
            }
            Until::Validation => Ok(UndoneWork::default()),
        };
        let mut warn = |message: String| say(&Event::Warning { message });
        let left_behind = LeftBehind::begin(&plan, session.branch.clone(), user_files, of_tasks, &mut warn);
        say(&started_event(
            &session,
            &plan,
            tasks,
            Opening {
                measured,
                given_up: given_up.clone(),
                hints,
                validation_notes,
                user_files: left_behind.user_files(),
                is_resumed: earlier.is_some(),
            },
        ));
        let started = plan.clock.stopwatch();
        Ok(Self {
            agents: ActiveAgent::new(plan.agents.len(), plan.config.settings.max_wait),
            plan,
            session,
            recorder,
            local: LocalState { lock, spool, identity },
            steering: Steering { control, was_idle: false, _stop_watcher: stop_watcher },
            past: Past { history, ground, memory, progress, left_behind },
            judging,
            task_watch: TaskWatch { lost, ..TaskWatch::default() },
            work,
            state: LoopState {
                next: taken_up.last + 1,
                is_promised: false,
                started,
                given_up,
                common_failure: Vec::new(),
                prompt_filler: None,
            },
            say,
        })
    }
}

/// A session before its first record: others know of it, and a recovery would find its spool.
struct NewSession<'a> {
    session: Session,
    control: Control,
    identity: Identity,
    stop_watcher: StopWatcher,
    taken_up: TakenUp,
    spool: Spool,
    recorder: Recorder<'a>,
    judging: Judging,
    user_files: UserFiles,
}

impl<'a> NewSession<'a> {
    fn new(
        plan: &Plan<'a>,
        tasks: &TaskList,
        earlier: Option<&SessionLog>,
        lock: &mut LoopLock,
        history: &mut History,
    ) -> Result<Self> {
        let started_at = plan.clock.now();
        let id = match earlier {
            Some(log) => log.id().clone(),
            None => new_id(plan, started_at)?,
        };
        // Requests to an earlier loop are not meant for this one.
        let control = Control::of(plan.store.repository(), &id);
        control.clear()?;
        lock.name_holder(&holder(&id, started_at))?;
        let identity = Identity::find_or_create(plan.store.repository())?;
        // From here on others know of the session, and its first snapshot may take long.
        let stop_watcher = StopWatcher::start(control.clone(), plan.interrupt.clone());
        let mut session = new_session(plan, &id, &identity, tasks, started_at)?;
        let taken_up = match earlier {
            Some(log) => take_up(plan, log, &mut session, history),
            None => TakenUp::default(),
        };
        let redactor = redactor(&plan.config.settings)?;
        // No secret is in names of tasks that count, and JSON does not have them.
        let session =
            Session { closed: std::mem::take(&mut session.closed), ..redacted(&redactor, &session)? };
        let place = place(plan, &session);
        let spool = Spool::create(plan.work_tree, &place)?;
        let recorder = Recorder::new(plan, place, redactor, spool.clone())?;
        let judging = Judging::default();
        let user_files = UserFiles::default();
        Ok(Self { session, control, identity, stop_watcher, taken_up, spool, recorder, judging, user_files })
    }

    fn context(&self) -> baseline::Context<'_> {
        let Self { session, spool, control, identity, .. } = self;
        baseline::Context { session: &session.id, spool, control, identity }
    }

    /// Runs the validation, and writes the first record.
    fn record(
        &mut self,
        plan: &Plan<'_>,
        earlier: Option<&SessionLog>,
        say: &mut dyn FnMut(&Event),
    ) -> Result<BaselineRun> {
        let at = if earlier.is_some() { plan.clock.now() } else { self.session.started_at };
        // Of a record that cannot be read nothing is known.
        let previous = PreviousSession::of(plan.store, plan.work_tree).unwrap_or_default();
        let mut opening = self.recorder.open(earlier, at)?;
        // Field by field, as the recorder is changed.
        let Self { session, spool, control, identity, recorder, .. } = self;
        let context = baseline::Context { session: &session.id, spool, control, identity };
        let measured = baseline::measure(plan, &context, recorder, &mut opening, say)?;
        self.session.baseline.clone_from(&measured.baseline);
        self.session.trusted = trusted::at_start(plan, earlier, opening.snapshot(), &measured)?;
        self.judging.prepare(plan, &mut self.session, &measured, say);
        self.judging.trusted.start = opening.snapshot().cloned();
        let head = match plan.work_tree.head()? {
            Some(head) => head,
            None => plan.store.repository().hash.empty_tree()?,
        };
        self.user_files = UserFiles::at_start(
            &self.recorder,
            UserFilesAtStart {
                slot: &opening.slot,
                snapshot: opening.snapshot(),
                head: &head,
                is_resumed: earlier.is_some(),
            },
            &previous,
        )?;
        self.session.user_files = redacted(self.recorder.redactor(), &self.user_files.names())?;
        // Before the session is recorded: whoever can resume it finds them.
        KeptSettings::of(plan.store.repository(), &self.session.id)
            .keep(plan.work_tree, &plan.kept_settings)?;
        self.recorder.write_opening(opening, &self.session, &plan.feature.name, plan.clock)?;
        note_last_written(plan.work_tree, &self.session.feature, &self.session.id)?;
        Ok(measured)
    }
}

/// Runs the validation of a task list in which all is done. Nothing is recorded of it. `None` if there is none to run, or
/// it was stopped.
pub(super) fn check_finished(
    plan: &Plan<'_>,
    tasks: &TaskList,
    lock: &mut LoopLock,
    say: &mut dyn FnMut(&Event),
) -> Result<Option<Baseline>> {
    let Some(command) = &plan.config.settings.validation_command else { return Ok(None) };
    // With a spool the next start stops what we leave running if we die.
    let prepared = NewSession::new(plan, tasks, None, lock, &mut History::default())?;
    let slot = prepared.spool.slot("start");
    slot.create()?;
    let check = baseline::Check { command, slot: &slot, redactor: prepared.recorder.redactor() };
    let validation = baseline::run(plan, check, &prepared.context(), say)?;
    prepared.spool.remove(plan.store.repository())?;
    prepared.control.clear()?;
    Ok(validation)
}

/// The latest session is the one whose id sorts last.
fn new_id(plan: &Plan<'_>, started_at: Timestamp) -> Result<SessionId> {
    let id = SessionId::new(started_at, salt(plan.clock));
    Ok(plan.store.newest_session()?.into_iter().fold(id, |id, newest| id.behind(&newest)))
}

fn holder(id: &SessionId, started_at: Timestamp) -> Holder {
    Holder { session: id.clone(), pid: std::process::id(), host: host_name(), started_at }
}

/// What is known at the start beside plan and session.
struct Opening {
    measured: BaselineRun,
    hints: Vec<Hint>,
    given_up: Vec<TaskName>,
    validation_notes: Vec<String>,
    user_files: usize,
    is_resumed: bool,
}

fn started_event(session: &Session, plan: &Plan<'_>, tasks: &TaskList, opening: Opening) -> Event {
    let Opening { measured, hints, given_up, validation_notes, user_files, is_resumed } = opening;
    let settings = &plan.config.settings;
    let part = session.scope.as_ref().and_then(|scope| select(tasks, scope).ok().flatten());
    let is_auto = plan.job.until == Until::Tasks && settings.unit_now() == Unit::Auto;
    let wanted = Wanted { part: part.as_ref(), is_left_out: &|_| false };
    let unit = is_auto.then(|| units::first_of_auto(tasks, wanted)).flatten();
    Event::SessionStarted {
        session: session.id.clone(),
        feature: session.feature.clone(),
        agent: session.agent.clone(),
        max_iterations: session.max_iterations,
        loop_type: session.loop_type.clone(),
        artifact: session.artifact.path.clone(),
        tasks: tasks.counts().into(),
        scope: session.scope.clone(),
        scope_tasks: part.as_ref().map(|part| tasks.counts_of(part).into()),
        unit,
        is_resumed,
        cost: session.cost(),
        agent_version: session.agent_version.clone(),
        permissions: settings.permissions.into_str(),
        validation: settings.validation_command.clone(),
        baseline: measured.baseline,
        is_known_to_pass: measured.is_known_to_pass,
        hints,
        given_up,
        validation_files: session.validation_files.clone(),
        validation_notes,
        user_files,
    }
}

fn new_session(
    plan: &Plan<'_>,
    id: &SessionId,
    identity: &Identity,
    tasks: &TaskList,
    started_at: Timestamp,
) -> Result<Session> {
    let work_tree = plan.work_tree;
    Ok(Session {
        schema: SCHEMA,
        id: id.clone(),
        feature: plan.feature.path.clone(),
        branch: plan.work_tree.branch()?,
        loop_type: plan.job.loop_type.clone(),
        scope: (!plan.scope.is_all()).then(|| plan.scope.clone()),
        started_at,
        ended_at: None,
        status: Status::Running,
        stop_reason: None,
        limit: None,
        max_iterations: plan.config.settings.max_iterations,
        iterations_run: 0,
        tasks_completed: 0,
        closed: BTreeSet::new(),
        tasks_done: tasks.counts().done,
        tasks_remaining: tasks.counts().open,
        duration_ms: Durations::default(),
        tokens: Tokens::default(),
        cost_usd: None,
        cost_is_partial: false,
        artifact: Artifact { path: work_tree.relative(&plan.job.artifact), status: ArtifactStatus::Draft },
        agent: plan.agents.first().map(|first| first.agent.name().to_owned()).unwrap_or_default(),
        agent_version: plan.agents.first().and_then(|first| first.agent.version()),
        configuration: plan.config.to_json(),
        hints: Vec::new(),
        baseline: None,
        validation_files: Vec::new(),
        legacy_failures: None,
        trusted: None,
        user_files: Vec::new(),
        host: host_name(),
        machine: Some(identity.machine()),
        commands: BTreeMap::new(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
    })
}

/// What goes on where a session is resumed.
#[derive(Default)]
struct TakenUp {
    /// The number of the last iteration; 0 before the first.
    last: u32,
    /// What the prompt of the last one had, if it was interrupted.
    unheard: Vec<String>,
    recorded: Vec<Iteration>,
}

/// Restores totals, counts and the text of the next prompt from the record of a session.
fn take_up(plan: &Plan<'_>, log: &SessionLog, session: &mut Session, history: &mut History) -> TakenUp {
    session.started_at = log.entries[0].started_at;
    let mut begun = log.entries.iter().rev().filter(|entry| entry.kind.begins());
    let begun = begun.find_map(|entry| plan.store.readable_session(entry));
    session.legacy_failures = begun.and_then(|begun| begun.legacy_failures);
    let mut taken_up = TakenUp::default();
    for entry in &log.entries {
        if entry.kind == RecordKind::End {
            // Resuming a session that had ended means another attempt: the counts start at zero.
            history.clear();
        }
        let Some(number) = entry.iteration else { continue };
        taken_up.last = number;
        let Some(iteration) = plan.store.readable_iteration(entry) else {
            history.push_entry(entry);
            continue;
        };
        session.add(&iteration);
        history.push(&iteration);
        narrow(&mut session.legacy_failures, &iteration);
        let is_unheard = iteration.outcome == Outcome::Interrupted;
        taken_up.unheard = if is_unheard { iteration.hints.clone() } else { Vec::new() };
        taken_up.recorded.push(iteration);
    }
    // After a crash, too, `resume -n 1` means one more run.
    history.begin_runs();
    taken_up
}

/// Returns what the spool says of a session.
pub(super) fn place(plan: &Plan<'_>, session: &Session) -> SpoolMeta {
    let settings = &plan.config.settings;
    SpoolMeta {
        session: session.id.clone(),
        feature: session.feature.clone(),
        feature_name: plan.feature.name.clone(),
        work_tree: plan.work_tree.name(),
        tasks_path: plan.feature.tasks_path.clone(),
        progress_path: plan.feature.progress_path.clone(),
        host: session.host.clone(),
        pid: std::process::id(),
        begun: session.clone(),
        untick: settings.untick,
        snapshots: settings.snapshots,
        snapshot_max_file: settings.snapshot_max_file.unwrap_or(u64::MAX),
        protect: protected_paths(plan.work_tree, &plan.project_root, settings),
        redaction_rules: settings.redaction_rules.clone(),
        redaction_allow: settings.redaction_allow.clone(),
    }
}

/// Returns `validation.protect` as pathspecs from the top of the work tree.
pub fn protected_paths(work_tree: &WorkTree, root: &Utf8Path, settings: &Settings) -> Vec<String> {
    let root = root.strip_prefix(work_tree.top()).ok().filter(|root| !root.as_str().is_empty());
    let below = |glob: &String| root.map_or_else(|| glob.clone(), |root| format!("{root}/{glob}"));
    settings.validation_protect.iter().map(|glob| format!(":(top,glob){}", below(glob))).collect()
}

/// Distinguishes sessions that start in the same second; a fixed number beside a stepping clock.
fn salt(clock: &Clock) -> u32 {
    use std::hash::{BuildHasher, RandomState};
    // The standard library's hasher is keyed from the system's randomness: all that is needed here.
    if clock.is_stepping() {
        0
    } else {
        (RandomState::new().hash_one(std::process::id()) & 0xffff_ffff) as u32
    }
}
