//! A person has the last word on a task: it counts as done, or its box is opened again. A record without an agent run says
//! who did that, and when.

use std::collections::BTreeMap;

use anyhow::{Context, Error, Result};
use failure_excerpt::Tally;
use tasklist::{Item, Mark, TaskList};

use ralph_core::config::{Commits, Pass};
use ralph_core::judge::{KnownFailures, known_failures};
use ralph_core::record::{
    Acceptance, ArtifactStatus, Event, Evidence, ExitReason, FailureClass, Flag, FlagCode, Iteration,
    LogEntry, ObjectId, Outcome, RALPH, RecordKind, Refusal, Session, SessionId, Status, StopReason, Task,
    TaskName, Timestamp, Validation, join_files,
};
use ralph_core::view::{FeatureView, SessionView};
use ralph_project::tasks::{self, set_marks};
use ralph_store::{
    Begin, Control, Identity, PutBack, PutBackKind, RestorePoint, SessionLog, SessionQuery, SessionRefs,
    Slot, Spool, SpoolMeta, names, note_last_written,
};

use super::begin::place;
use super::commits::assisted_by::assisted_by;
use super::commits::committing::check_commits;
use super::commits::earlier_work::commit_files;
use super::commits::message::{CommitSubject, subject, with_trailers};
use super::iteration::unfinished;
use super::iteration_context::{tally, validation_cause};
use super::lane::{commit_result, record_or_take_back, require_lane_setup, result_message};
use super::loop_inputs::LoopInputs;
use super::recorded_progress::progress_parts;
use super::recorder::{Opening, Recorder};
use super::recover::{self, catch_up, ended};
use super::redaction::redactor_of;
use super::restoring::last_green::Attempt;
use super::restoring::put_back::{self, Side};
use super::restoring::rollback::Rollback;
use super::stop::all_done;
use super::task_watch::close_finished;
use super::validate;

/// Maximum number of paths that a refusal names.
const MAX_NAMED_FILES: usize = 10;

/// What a person says of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// It counts as done.
    Accept {
        /// Also if its changes do not all come back, or the validation fails with them.
        is_forced: bool,
    },
    /// It is not done.
    Reopen,
    /// The acceptance does not count.
    UndoAccept,
    /// The reopening does not count.
    UndoReopen,
}

/// What became of it.
#[derive(Debug, Clone)]
pub struct Answered {
    pub session: SessionId,
    /// The record of it; `None` if nothing was done, as the validation fails.
    pub iteration: Option<u32>,
    pub task: TaskName,
    /// Why the last attempt at the task was refused, if it was.
    pub refused: Option<FlagCode>,
    /// True if it was done before, so that its flags were settled.
    pub was_done: bool,
    /// The files of its attempts that were brought back, or taken away again, and those that stay as they are.
    pub brought_back: Vec<String>,
    pub kept: Vec<String>,
    pub validation: Option<(Validation, Tally)>,
    /// Why the validation fails.
    pub cause: Option<String>,
    /// The commit of it: on the branch of a lane, or with `commit = "task"` on the one that is checked out.
    pub commit: Option<ObjectId>,
    /// True if all tasks of the session are done now.
    pub is_completed: bool,
    /// The tasks of the list that are done now, and all of them.
    pub done: [usize; 2],
}

/// The state of a task that a person speaks of.
enum Standing {
    Done,
    /// The last attempt at it was refused, or it was given up; its changes may be taken back.
    TakenBack,
    /// It was done once.
    OpenedAgain,
}

/// Records what a person says of a task, after doing it. The lock of the work tree is held. In a lane, which is at the tip of
/// its branch, the result is published.
///
/// # Errors
///
/// A [`Refusal`] if the task is unknown, or in a state of which this cannot be said.
pub fn answer(
    inputs: &LoopInputs<'_>,
    name: &str,
    word: Word,
    by: &str,
    say: &mut dyn FnMut(&Event),
) -> Result<Answered> {
    recover::recover(inputs, None, say)?;
    let list = inputs.job.read_tasks(inputs.feature)?;
    let item = tasks::named(&list, name, &inputs.feature.tasks_path)?;
    let sessions = SessionQuery::of_feature(&inputs.feature.path);
    let sessions = inputs.store.sessions(&sessions, &mut Vec::new())?;
    let mut past: Vec<Past<'_>> = Vec::new();
    for log in &sessions {
        for entry in log.iterations().filter(|entry| is_about(entry, &item.name)) {
            // An acceptance failed only where its branch moved at that moment: nothing came of it.
            let is_void = entry.outcome() == Some(Outcome::Failure) && entry.has_flag(FlagCode::Accepted);
            if !is_void {
                past.push((log, entry));
            }
        }
    }
    let newest = past.last().copied();
    drop_undone(&mut past);
    let standing = match word {
        Word::Accept { .. } => {
            let views: Vec<SessionView> = sessions.iter().map(SessionLog::view).collect();
            let work_gone = FeatureView::of(&views).work_gone(&list);
            let is_gone = work_gone.iter().any(|gone| gone.task == item.name);
            to_accept(inputs, item, &past, is_gone)?
        }
        Word::Reopen => to_reopen(item)?,
        Word::UndoAccept | Word::UndoReopen => to_undo(item, newest.map(|(_, entry)| entry), word)?,
    };
    let log = newest.map(|(log, _)| log).or(sessions.last());
    let log = log.ok_or_else(|| not_tried(item))?;
    let is_attempt = |entry: &LogEntry| entry.is_attempt() && entry.is_of(&item.name);
    let last = past.iter().rev().map(|(_, entry)| *entry).find(|entry| is_attempt(entry));
    let mut desk = Desk::new(inputs, &list, item, log)?;
    let mut answered = Answered {
        session: log.id().clone(),
        iteration: None,
        task: item.name.clone(),
        refused: last.and_then(LogEntry::refused),
        was_done: item.done,
        brought_back: Vec::new(),
        kept: Vec::new(),
        validation: None,
        cause: None,
        commit: None,
        is_completed: false,
        done: [0; 2],
    };
    let opening = desk.open(log, say)?;
    let prepared = match (word, &standing) {
        (Word::Accept { is_forced }, Standing::TakenBack) => {
            desk.try_changes(&past, last, is_forced, &mut answered)
        }
        (Word::UndoAccept, _) => desk.undo(&past, &mut answered).map(|()| None),
        _ => Ok(None),
    };
    let is_red = answered.cause.is_some() && word != Word::Accept { is_forced: true };
    if prepared.is_err() || is_red {
        desk.spool.remove(inputs.store.repository())?;
        return prepared.map(|_| answered);
    }
    let restoration = prepared?;
    desk.go_on(opening, log)?;
    if matches!(word, Word::Accept { .. }) && !item.done {
        desk.slot.create()?;
        desk.slot.write(names::ACCEPTS, item.name.as_bytes())?;
    }
    let mark = if matches!(word, Word::Accept { .. } | Word::UndoReopen) { Mark::Done } else { Mark::Open };
    let parents = desk.set_box(mark)?;
    let at = inputs.clock.now();
    let accepted = Acceptance { by: by.to_owned(), at, restoration };
    let like = last.and_then(|last| inputs.store.readable_iteration(last));
    let moved = desk.record(like.as_ref(), mark, parents, accepted, &mut answered)?;
    answered.iteration = Some(desk.number);
    if desk.is_to_commit() {
        // Once it is recorded: the next start commits what is not.
        match desk.commit(mark, &answered) {
            Ok(commit) => answered.commit = commit,
            Err(why) => say(&Event::Warning { message: format!("not committed: {why:#}") }),
        }
    }
    answered.is_completed = desk.end(at)?;
    let counts = inputs.job.read_tasks(inputs.feature)?.counts();
    answered.done = [counts.done, counts.done + counts.open];
    desk.close(say)?;
    match moved {
        Some(why) => Err(Refusal::new(why).with_hint("say it again: nothing came of it").into()),
        None => Ok(answered),
    }
}

/// A record, and its session.
type Past<'a> = (&'a SessionLog, &'a LogEntry);

/// Drops acceptances that do not count any more, with what says so: the state of the task is that of before.
fn drop_undone(past: &mut Vec<Past<'_>>) {
    let mut counted: Vec<Past<'_>> = Vec::new();
    for (log, entry) in past.drain(..) {
        let is_undone = entry.outcome() == Some(Outcome::Reopened)
            && counted.last().is_some_and(|(_, last)| last.has_flag(FlagCode::Accepted));
        if is_undone {
            counted.pop();
        } else {
            counted.push((log, entry));
        }
    }
    *past = counted;
}

fn is_about(entry: &LogEntry, task: &TaskName) -> bool {
    entry.is_of(task) || entry.closes(task) || entry.reopens(task)
}

fn not_tried(item: &Item) -> Refusal {
    Refusal::new(format!("no attempt at {} is recorded", item.name))
        .with_hint(format!("`{RALPH} --task {}` runs an agent on it", item.name))
}

/// Returns the state of a task that is to count as done.
fn to_accept(inputs: &LoopInputs<'_>, item: &Item, past: &[Past<'_>], is_gone: bool) -> Result<Standing> {
    let task = &item.name;
    if item.done {
        let done = past.iter().rev().find(|(_, entry)| entry.outcome() == Some(Outcome::Success));
        let flags = done.map_or(Vec::new(), |(_, entry)| entry.flags());
        return match flags.as_slice() {
            _ if is_gone => Ok(Standing::Done),
            [] => Err(Refusal::new(format!("{task} is done already"))
                .with_hint(format!("`{RALPH} status` lists what is open"))
                .into()),
            flags if flags.contains(&FlagCode::Accepted) => {
                Err(Refusal::new(format!("{task} was accepted already"))
                    .with_hint(format!("`{RALPH} reopen {task}` opens its box again"))
                    .into())
            }
            _ => Ok(Standing::Done),
        };
    }
    for (_, entry) in past.iter().rev() {
        let is_own = entry.is_of(task);
        match entry.outcome() {
            Some(Outcome::Skipped) if is_own => return Ok(Standing::TakenBack),
            Some(Outcome::Failure) if is_own && entry.refused().is_some() => return Ok(Standing::TakenBack),
            Some(Outcome::Failure)
                if is_own && entry.failure_class().is_some_and(FailureClass::is_question) =>
            {
                let refusal = Refusal::new(format!("the last attempt at {task} asked something"));
                let hint =
                    format!("`{RALPH} hint --task {task} 'TEXT'` answers; `resume` tries it with that");
                return Err(refusal.with_hint(hint).into());
            }
            Some(Outcome::Failure) if is_own => {
                return Err(Refusal::new(format!("the last attempt at {task} was not refused"))
                    .with_hint(format!("`{RALPH} show {task}` says how it ended"))
                    .into());
            }
            Some(Outcome::Checked | Outcome::Reopened | Outcome::Success) if is_own => {
                return Ok(Standing::OpenedAgain);
            }
            _ if entry.closes(task) => return Ok(Standing::OpenedAgain),
            // Another box that an agent ticked too early was never tried.
            Some(Outcome::Success | Outcome::Failure) if !is_own => {
                let record = inputs.store.readable_iteration(entry);
                if record.is_some_and(|record| record.undone.iter().any(|undone| undone.task == *task)) {
                    return Ok(Standing::OpenedAgain);
                }
            }
            _ => {}
        }
    }
    Err(not_tried(item).into())
}

fn to_reopen(item: &Item) -> Result<Standing> {
    if item.done {
        return Ok(Standing::Done);
    }
    Err(Refusal::new(format!("{} is open", item.name))
        .with_hint(format!(
            "`{RALPH} hint --task {} 'TEXT'` says what its next attempt should know",
            item.name
        ))
        .into())
}

/// Checks that the last word on a task is the one that is to be undone.
fn to_undo(item: &Item, last: Option<&LogEntry>, word: Word) -> Result<Standing> {
    let (is_last, what) = if word == Word::UndoReopen {
        (last.is_some_and(|last| last.outcome() == Some(Outcome::Reopened)), "opened again")
    } else {
        let is_acceptance = |last: &LogEntry| last.has_flag(FlagCode::Accepted);
        (last.is_some_and(|last| is_acceptance(last) && last.closes(&item.name)), "accepted")
    };
    if is_last && item.done == (word == Word::UndoAccept) {
        return Ok(Standing::OpenedAgain);
    }
    let refusal = Refusal::new(format!("{} was not {what} last", item.name));
    Err(refusal.with_hint(format!("`{RALPH} log --task {}` lists what happened to it", item.name)).into())
}

/// What an answer is recorded with.
struct Desk<'p, 'a> {
    inputs: &'p LoopInputs<'a>,
    list: &'p TaskList,
    item: &'p Item,
    /// As the session began, or was last resumed.
    begun: Session,
    /// True if the session works in a lane, and this is no lane but where its branch is checked out.
    is_of_lane: bool,
    place: SpoolMeta,
    spool: Spool,
    recorder: Recorder<'p>,
    number: u32,
    slot: Slot,
    /// The work tree with what was brought back, before the validation ran in it.
    made: Option<ObjectId>,
}

impl<'p, 'a> Desk<'p, 'a> {
    fn new(inputs: &'p LoopInputs<'a>, list: &'p TaskList, item: &'p Item, log: &SessionLog) -> Result<Self> {
        let begun = log.entries.iter().rfind(|entry| entry.kind().begins());
        let begun = begun.and_then(|entry| inputs.store.readable_session(entry));
        let begun = begun.with_context(|| format!("read how session {} began", log.id()))?;
        // Where its branch is checked out, what a lane began is answered there.
        let first = inputs.store.first_readable_session(log).filter(|first| first.lane.is_some());
        let branch = inputs.work_tree.branch()?;
        let is_here = inputs.work_tree.lane().is_none();
        let is_of_lane = is_here && first.is_some_and(|first| first.branch == branch);
        let begun = Session { lane: inputs.work_tree.lane().map(|lane| lane.number), ..begun };
        let place = place(inputs, &begun);
        let redactor = redactor_of(&place.redaction_rules, &place.redaction_allow)?;
        let spool = Spool::create(inputs.work_tree, &place)?;
        let recorder = Recorder::new(inputs, place.clone(), redactor, spool.clone())?;
        let number = log.iterations().filter_map(LogEntry::iteration).max().unwrap_or_default() + 1;
        let slot = recorder.slot(&number.to_string());
        Ok(Self { inputs, list, item, begun, is_of_lane, place, spool, recorder, number, slot, made: None })
    }

    fn rollback(&self) -> Rollback<'_> {
        Rollback { store: self.inputs.store, work_tree: self.inputs.work_tree, place: &self.place }
    }

    /// Brings the changes of the attempts back, and runs the validation. Where it fails, they are taken away again, unless
    /// that is `is_forced`. Returns the number of the restoration.
    fn try_changes(
        &mut self,
        past: &[Past<'_>],
        last: Option<&LogEntry>,
        is_forced: bool,
        answered: &mut Answered,
    ) -> Result<Option<u32>> {
        self.slot.create()?;
        let identity = Identity::find_or_create(self.inputs.store.repository())?;
        require_lane_setup(self.inputs, &self.recorder, &identity)?;
        let point = self.bring_back(past, is_forced, answered)?;
        let validated = self.validate(last, answered);
        if validated.is_err() || answered.cause.is_some() && !is_forced {
            if let Some(point) = &point {
                self.rollback().settle(point, Side::Found)?;
            }
            PutBack::forget(&self.slot)?;
        }
        validated?;
        let number = point.as_ref().map(|point| point.number);
        self.made = point.map(|point| point.made);
        Ok(number)
    }

    /// Brings back what the attempts at the task changed, as far as it is not there. A recovery takes it away again, until
    /// the record is sealed.
    fn bring_back(
        &self,
        past: &[Past<'_>],
        is_forced: bool,
        answered: &mut Answered,
    ) -> Result<Option<RestorePoint>> {
        let (store, task) = (self.inputs.store, &self.item.name);
        // Newest first, and the other way round: what takes an attempt back makes it again.
        let mut attempts = Vec::new();
        for (_, entry) in past.iter().rev().filter(|(_, entry)| entry.is_of(task)) {
            if !matches!(entry.outcome(), Some(Outcome::Failure | Outcome::Skipped | Outcome::Interrupted)) {
                break;
            }
            let Some(after) = entry.snapshot().filter(|_| entry.is_attempt()) else { continue };
            let before = if store.has(&after)? { store.snapshot_before(&after)? } else { None };
            let Some(before) = before else {
                let refusal = Refusal::new(format!("the snapshots of the attempts at {task} are not here"));
                let hint = format!("`{RALPH} sync --snapshots` fetches them, if they were shared");
                return Err(refusal.with_hint(hint).into());
            };
            attempts.push(Attempt::between(after, before));
            let record = store.readable_iteration(entry);
            if record.is_some_and(|record| record.restored_to.is_some()) {
                // Those before it were taken back for it.
                break;
            }
        }
        let rollback = self.rollback();
        let here = rollback.read()?;
        let (changes, mut kept) = rollback.plan(&here, &attempts)?;
        kept.retain(|path| *path != self.inputs.work_tree.relative(&self.inputs.feature.tasks_path));
        if !kept.is_empty() && !is_forced {
            let files = join_files(&kept, MAX_NAMED_FILES);
            let refusal =
                Refusal::new(format!("what the attempts at {task} changed does not all come back: {files}"));
            let hint = format!("`{RALPH} diff {task}` shows it; --force takes what comes, and ticks");
            return Err(refusal.with_hint(hint).into());
        }
        answered.kept = kept;
        if changes.is_empty() {
            return Ok(None);
        }
        let what = format!("the accepted changes of {task}");
        let at = self.inputs.clock.now();
        let (point, stay) =
            rollback.put_back(&here, &changes, &self.slot, PutBackKind::ForOneRun, &what, at)?;
        let back = changes.iter().map(|change| &change.path).filter(|path| !stay.contains(path));
        answered.brought_back = put_back::names(back);
        answered.kept.extend(put_back::names(&stay));
        Ok(Some(point))
    }

    /// Takes away what an acceptance brought back, but for files that were changed since.
    fn undo(&self, past: &[Past<'_>], answered: &mut Answered) -> Result<()> {
        let record = past.last().and_then(|(_, entry)| self.inputs.store.readable_iteration(entry));
        let accepted = record.and_then(|record| record.evidence?.accepted);
        let Some(number) = accepted.and_then(|accepted| accepted.restoration) else { return Ok(()) };
        let points = self.inputs.store.restore_points(self.inputs.work_tree)?;
        let Some(point) = points.into_iter().find(|point| point.number == number) else {
            return Err(Refusal::new(
                "what the acceptance brought back is not known in this work tree any more",
            )
            .with_hint(format!("`{RALPH} reopen {}` opens the box, and leaves all files", self.item.name))
            .into());
        };
        let rollback = self.rollback();
        let changed = rollback.read()?.differences(&point.made, &point.found)?;
        let stay = rollback.settle(&point, Side::Found)?;
        let gone = changed.iter().map(|change| &change.path).filter(|path| !stay.contains(path));
        answered.brought_back = put_back::names(gone);
        answered.kept = put_back::names(&stay);
        Ok(())
    }

    /// Runs the validation, and notes whether it passes by the setting `validation.pass`.
    fn validate(&mut self, last: Option<&LogEntry>, answered: &mut Answered) -> Result<()> {
        let inputs = self.inputs;
        let Some(command) = &inputs.config.settings.validation_command else { return Ok(()) };
        let session = &self.place.session;
        let environment = inputs.environment(session, &self.item.name, self.number, 0);
        let context =
            inputs.validation_context(&self.slot, &environment, inputs.marker(session, &self.spool));
        let validation = validate::run(command, &context, inputs.interrupt)?;
        let (redactor, root) = (self.recorder.redactor(), &inputs.project_root);
        let [stdout, stderr] = [names::VALIDATION_STDOUT, names::VALIDATION_STDERR];
        let tests = tally(&self.slot, stdout, stderr, redactor, root)?;
        let legacy = self.begun.legacy_failures.as_deref();
        let legacy = legacy.filter(|_| inputs.config.settings.validation_pass == Pass::NoNewFailures);
        let before = last.and_then(|last| inputs.store.readable_iteration(last)?.evidence?.before);
        let is_known = legacy.is_some_and(|legacy| {
            let trusted = before.as_ref().and_then(Tally::executed);
            matches!(known_failures(validation.exit, Some(&tests), legacy, trusted), KnownFailures::Only(_))
        });
        if !validation.passed() && !is_known {
            answered.cause = Some(match validation.exit.reason {
                Some(ExitReason::Interrupted) => "it was interrupted".to_owned(),
                _ => validation_cause(&self.slot, &validation, redactor, root)?
                    .map_or_else(|| format!("exit code {}", validation.exit.code), |(cause, _)| cause),
            });
        }
        answered.validation = Some((validation, tests));
        Ok(())
    }

    /// Takes the snapshot that the answer is compared with.
    fn open<'l>(&mut self, log: &'l SessionLog, say: &mut dyn FnMut(&Event)) -> Result<Opening<'l>> {
        catch_up(&mut self.recorder, &self.place, &progress_parts(self.inputs.store, log)?, say);
        self.recorder.open(Some(log), self.inputs.clock.now())
    }

    /// Records that the session goes on: only that can follow its end.
    fn go_on(&mut self, opening: Opening<'_>, log: &SessionLog) -> Result<()> {
        let inputs = self.inputs;
        let session = Session {
            status: Status::Running,
            stop_reason: None,
            ended_by: None,
            limit: None,
            ended_at: None,
            ..ended(inputs, &self.place, log)?
        };
        self.recorder.write_opening(opening, &session, &inputs.feature.name, &inputs.clock)?;
        Ok(())
    }

    /// Sets the box of the task. Returns the parents that are done with it.
    fn set_box(&self, mark: Mark) -> Result<Vec<TaskName>> {
        let feature = self.inputs.feature;
        if self.item.done == (mark == Mark::Done) {
            return Ok(Vec::new());
        }
        let changes = set_marks(&feature.files, &feature.tasks_path, self.list, &[self.item], mark)?;
        if !changes.not_found.is_empty() {
            return Err(Refusal::new(format!("the box of {} is no longer there", self.item.name))
                .with_hint("save the task list, and try again")
                .into());
        }
        if mark == Mark::Done {
            close_finished(feature, &self.inputs.job.read_tasks(feature)?)
        } else {
            Ok(Vec::new())
        }
    }

    /// Records it, and publishes it in a lane. `like` is the last attempt at the task. Returns why it could not be published: the
    /// branch moved at that moment.
    fn record(
        &mut self,
        like: Option<&Iteration>,
        mark: Mark,
        parents: Vec<TaskName>,
        accepted: Acceptance,
        answered: &mut Answered,
    ) -> Result<Option<String>> {
        let (inputs, number, at) = (self.inputs, self.number, accepted.at);
        self.slot.create()?;
        let mut taken = self.recorder.take(&self.slot, &format!("iteration {number}"), at);
        let head = inputs.work_tree.head()?;
        let ran = answered.validation.as_ref();
        let passed = ran.filter(|_| answered.cause.is_none());
        let begin = Begin {
            iteration: number,
            task: Task::from(self.item),
            attempt: 0,
            started_at: at,
            branch: inputs.work_tree.branch()?,
            head_before: head.clone(),
            agent: like.map_or_else(|| self.begun.agent.clone(), |like| like.agent.clone()),
            agent_version: None,
            model: None,
            // The one that ran: it may have been set anew since the last attempt.
            validation_command: ran.and_then(|_| inputs.config.settings.validation_command.clone()),
            hints: Vec::new(),
            unit_tasks: Vec::new(),
            tips: self.recorder.tips(),
            restored_to: None,
            kept_paths: Vec::new(),
            before: None,
            agent_setup: None,
            prompt_parts: Vec::new(),
        };
        let counts = inputs.job.read_tasks(inputs.feature)?.counts();
        let mut iteration = unfinished(begin, &self.begun, at, counts, head);
        iteration.attempt = None;
        iteration.files_changed = taken.files_changed();
        iteration.snapshot = taken.snapshot.take();
        iteration.left_out = taken.left_out;
        let mut evidence = Evidence::default();
        if let Some((validation, tests)) = ran {
            iteration.exit.validation = Some(validation.exit.code);
            iteration.duration_ms.validation = Some(validation.duration_ms);
            evidence.tests = Some(tests.clone());
        } else {
            // The next attempts are held against what was accepted.
            evidence.tests = like.and_then(|like| like.evidence.as_ref()?.tests.clone());
        }
        if mark == Mark::Done {
            iteration.outcome = Outcome::Success;
            if !self.item.done {
                iteration.closed = [vec![self.item.name.clone()], parents.clone()].concat();
                iteration.closed_parents = parents;
            }
            let how = if self.item.done { "looked at" } else { "accepted" };
            let text = format!("{how} by {}", accepted.by);
            evidence.flags = vec![Flag { code: FlagCode::Accepted, text, paths: Vec::new() }];
            evidence.accepted = Some(accepted);
        } else {
            iteration.outcome = Outcome::Reopened;
            iteration.cause = Some(format!("opened again by {}", accepted.by));
            iteration.reopened = vec![self.item.name.clone()];
            evidence.reopened = Some(accepted);
        }
        if let (Some(_), Some(base)) = (inputs.work_tree.lane(), &iteration.base) {
            iteration.published = self.publication(base, mark, &iteration, passed.map(|_| &evidence))?;
            iteration.commits.extend(iteration.published.clone());
            answered.commit.clone_from(&iteration.published);
        }
        iteration.evidence = Some(Box::new(evidence));
        let (_, recorded) = record_or_take_back(&mut self.recorder, &self.slot, iteration, "")?;
        Ok(recorded.cause.filter(|_| answered.commit.is_some() && recorded.published.is_none()))
    }

    /// Calls `make` with what a commit of the answer is about, and its subject.
    fn with_subject<T>(
        &mut self,
        mark: Mark,
        closed: &[TaskName],
        make: impl FnOnce(&mut Recorder<'p>, &CommitSubject<'_>, String) -> Result<T>,
    ) -> Result<T> {
        let (inputs, session) = (self.inputs, self.place.session.clone());
        let (name, text, task) = (&self.item.name, &self.item.text, Task::from(self.item));
        let environment = inputs.environment(&session, name, self.number, 0);
        let done = CommitSubject {
            session: &session,
            task: &task,
            unit: None,
            closed,
            tasks: self.list,
            iteration: self.number,
            slot: &self.slot,
            environment: &environment,
            agent: None,
        };
        let subject = if mark == Mark::Done {
            subject(inputs, &self.recorder, self.list, Some(name), text)
        } else {
            format!("Reopen {name}")
        };
        make(&mut self.recorder, &done, subject)
    }

    /// Returns the commit of the answer on the branch of a lane; `None` if it changes nothing there.
    fn publication(
        &mut self,
        base: &ObjectId,
        mark: Mark,
        iteration: &Iteration,
        passed: Option<&Evidence>,
    ) -> Result<Option<ObjectId>> {
        let changed = [iteration.closed.as_slice(), &iteration.reopened].concat();
        let Some(now) = self.recorder.last_contents().0.cloned().filter(|_| !changed.is_empty()) else {
            return Ok(None);
        };
        // What the validation left behind is no part of it.
        let tree = self.made.clone().unwrap_or_else(|| now.clone());
        let inputs = self.inputs;
        self.with_subject(mark, &iteration.closed, |recorder, done, subject| {
            let tasks: Vec<_> = done.closed.iter().collect();
            let message =
                result_message(&subject, done, passed) + &assisted_by(inputs, recorder, done.agent, &tasks)?;
            commit_result(inputs, recorder, done.slot, base, [&tree, &now], &changed, &message).map(Some)
        })
    }

    /// Returns true if the answer is committed where it is given: with `commit = "task"`, or where the branch of a lane is checked
    /// out.
    fn is_to_commit(&self) -> bool {
        let is_of_tasks = self.inputs.config.settings.commit == Commits::OfTasks;
        self.is_of_lane || is_of_tasks && self.inputs.work_tree.lane().is_none()
    }

    /// Commits the task list and what was brought back or taken away; `None` if all of that is committed.
    fn commit(&mut self, mark: Mark, answered: &Answered) -> Result<Option<ObjectId>> {
        let inputs = self.inputs;
        check_commits(inputs.work_tree)?;
        let (Some(head), Some(now)) = (inputs.work_tree.head()?, self.recorder.last_contents().0.cloned())
        else {
            return Ok(None);
        };
        let list = inputs.work_tree.relative(&inputs.feature.tasks_path);
        let changes = self.recorder.all_differences(Some(&self.slot), &head, &now)?;
        let files: BTreeMap<_, _> = changes
            .into_iter()
            .filter(|change| change.name() == list || answered.brought_back.contains(&change.name()))
            .map(|change| (change.path, change.after))
            .collect();
        if files.is_empty() {
            return Ok(None);
        }
        let closed = if mark == Mark::Done { vec![self.item.name.clone()] } else { Vec::new() };
        self.with_subject(mark, &closed, |recorder, done, subject| {
            let tasks: Vec<_> = done.closed.iter().collect();
            let message = with_trailers(recorder, done, format!("{subject}\n\n"))
                + &assisted_by(inputs, recorder, done.agent, &tasks)?;
            commit_files(inputs, recorder, &files, &message, done)?.map(Some).map_err(Error::msg)
        })
    }

    /// Ends the session again: as it had ended, or completed if all of its tasks are done. Returns true if they are.
    fn end(&mut self, at: Timestamp) -> Result<bool> {
        let (inputs, place) = (self.inputs, &self.place);
        let refs = SessionRefs::new(&place.feature, place.session.clone());
        let log = inputs.store.session(&refs)?.context("read the record of the session")?;
        let mut session = ended(inputs, place, &log)?;
        let last_end = log.entries.iter().rfind(|entry| entry.kind() == RecordKind::End);
        if let Some(last) = last_end.and_then(|entry| inputs.store.readable_session(entry)) {
            session.hints.clone_from(&last.hints);
            (session.status, session.stop_reason, session.limit) =
                (last.status, last.stop_reason, last.limit);
            session.ended_by = last.ended_by;
            session.artifact = last.artifact;
        }
        let list: TaskList = inputs.job.read_tasks(inputs.feature)?;
        let scope = place.begun.scope.clone().unwrap_or_default();
        let part = tasks::select(&list, &scope).ok().flatten();
        let is_completed = all_done(&list, part.as_ref());
        if is_completed {
            session.status = Status::Completed;
            session.stop_reason = Some(StopReason::Completed);
            session.limit = None;
            session.ended_by = None;
            if list.counts().open == 0 {
                session.artifact.status = ArtifactStatus::Complete;
            }
        } else if session.status == Status::Completed {
            // It can go on.
            session.status = Status::Interrupted;
            session.stop_reason = Some(StopReason::Interrupted);
            session.artifact.status = ArtifactStatus::Draft;
        }
        self.recorder.end(&session, "", at)?;
        Ok(is_completed)
    }

    fn close(mut self, say: &mut dyn FnMut(&Event)) -> Result<()> {
        let repository = self.inputs.store.repository();
        // The list of a lane's session stays on its branch, whatever is checked out here next.
        if !self.is_of_lane {
            note_last_written(self.inputs.work_tree, &self.place.feature, &self.place.session)?;
        }
        let is_settled = self.recorder.settle_progress();
        for message in std::mem::take(&mut self.recorder.warnings) {
            say(&Event::Warning { message });
        }
        if is_settled {
            self.spool.remove(repository)?;
        }
        Control::of(repository, &self.place.session).clear()
    }
}
