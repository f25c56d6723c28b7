//! A person overrules a refusal: the box is ticked, and a record without an agent run says who did it.

use anyhow::{Context, Result};
use tasklist::{Item, Mark, TaskList};

use ralph_core::record::{
    Acceptance, ArtifactStatus, Event, Evidence, Flag, FlagCode, Iteration, Outcome, RALPH, RecordKind,
    Refusal, Session, SessionId, Status, StopReason, Task, TaskName, Timestamp,
};
use ralph_project::tasks::{self, set_marks};
use ralph_store::{
    Begin, Control, LoopLock, SessionLog, SessionQuery, SessionRefs, Spool, SpoolMeta, note_last_written,
};

use super::begin::place;
use super::decide::all_done;
use super::iteration::unfinished;
use super::parents::close_finished;
use super::plan::Plan;
use super::recorded_progress::progress_parts;
use super::recorder::Recorder;
use super::recover::{self, catch_up, ended};
use super::redaction::redactor_of;

/// A task that a person accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    pub session: SessionId,
    /// The record of the acceptance.
    pub iteration: u32,
    pub task: TaskName,
    pub refused: FlagCode,
    /// True if all tasks of the session are done now.
    pub is_completed: bool,
}

/// Ticks the box of a task whose last attempt was refused, and records who overruled that.
///
/// # Errors
///
/// A [`Refusal`] if a loop runs in this work tree, or if the task is unknown, done, or was not refused.
pub fn accept(plan: &Plan<'_>, name: &str, by: &str, say: &mut dyn FnMut(&Event)) -> Result<Accepted> {
    let _lock = LoopLock::take_beside(plan.work_tree)?;
    recover::recover(plan, say)?;
    let feature = plan.feature;
    let list = plan.job.read_tasks(feature)?;
    let item = tasks::named(&list, name, &feature.tasks_path)?;
    if item.done {
        return Err(Refusal::new(format!("{} is done already", item.name))
            .with_hint(format!("`{RALPH} status` lists what is open"))
            .into());
    }
    let (log, refused, attempt) = refused_attempt(plan, item)?;
    let session = log.id().clone();
    let begun = log.entries.iter().rfind(|entry| entry.kind.begins());
    let begun = begun.and_then(|entry| plan.store.readable_session(entry));
    let begun = begun.with_context(|| format!("read how session {session} began"))?;
    let place = place(plan, &begun);
    let redactor = redactor_of(&place.redaction_rules, &place.redaction_allow)?;
    let spool = Spool::create(plan.work_tree, &place)?;
    let mut recorder = Recorder::new(plan, place.clone(), redactor, spool.clone())?;
    catch_up(&mut recorder, &place, &progress_parts(plan.store, &log)?, say);
    resume(plan, &mut recorder, &log)?;
    let changes = set_marks(&feature.files, &feature.tasks_path, &list, &[item], Mark::Done)?;
    if !changes.not_found.is_empty() {
        return Err(Refusal::new(format!("the box of {} is no longer there", item.name))
            .with_hint("save the task list, and try again")
            .into());
    }
    let parents = close_finished(feature, &plan.job.read_tasks(feature)?)?;
    let at = plan.clock.now();
    let accepted = Acceptance { by: by.to_owned(), at };
    let iteration = record(plan, &mut recorder, &log, &attempt, (item, parents), accepted)?;
    let is_completed = end(plan, &mut recorder, &place, at)?;
    note_last_written(plan.work_tree, &place.feature, &session)?;
    let is_settled = recorder.settle_progress();
    for message in std::mem::take(&mut recorder.warnings) {
        say(&Event::Warning { message });
    }
    if is_settled {
        spool.remove(plan.store.repository())?;
    }
    Control::of(plan.store.repository(), &session).clear()?;
    Ok(Accepted { session, iteration, task: item.name.clone(), refused, is_completed })
}

/// Finds the last attempt at a task, in all sessions of the feature, with its session and why its tick was refused.
fn refused_attempt(plan: &Plan<'_>, item: &Item) -> Result<(SessionLog, FlagCode, Iteration)> {
    let feature = &plan.feature.path;
    let sessions = plan.store.sessions(&SessionQuery::of_feature(feature), &mut Vec::new())?;
    for log in sessions.into_iter().rev() {
        let attempts = log.iterations().filter(|entry| entry.is_run());
        let Some(last) = attempts.rev().find(|entry| entry.task.as_ref() == Some(&item.name)) else {
            continue;
        };
        let Some(refused) = last.refused else {
            return Err(Refusal::new(format!("the last attempt at {} was not refused", item.name))
                .with_hint(format!("`{RALPH} show {}` says how it ended", item.name))
                .into());
        };
        let iteration = plan.store.readable_iteration(last);
        let iteration = iteration.with_context(|| format!("read the last attempt at {}", item.name))?;
        return Ok((log, refused, iteration));
    }
    Err(Refusal::new(format!("no attempt at {} is recorded", item.name))
        .with_hint(format!("`{RALPH} --task {}` runs an agent on it", item.name))
        .into())
}

/// Records that the session goes on: only that can follow its end.
fn resume(plan: &Plan<'_>, recorder: &mut Recorder<'_>, log: &SessionLog) -> Result<()> {
    let session = Session {
        status: Status::Running,
        stop_reason: None,
        ended_by: None,
        limit: None,
        ended_at: None,
        ..ended(plan, recorder.place(), log)?
    };
    let opening = recorder.open(Some(log), plan.clock.now())?;
    recorder.write_opening(opening, &session, &plan.feature.name, plan.clock)?;
    Ok(())
}

/// Records the acceptance. Returns the number of its record.
fn record(
    plan: &Plan<'_>,
    recorder: &mut Recorder<'_>,
    log: &SessionLog,
    refused: &Iteration,
    (item, parents): (&Item, Vec<TaskName>),
    accepted: Acceptance,
) -> Result<u32> {
    let at = accepted.at;
    let number = log.iterations().filter_map(|entry| entry.iteration).max().unwrap_or_default() + 1;
    let slot = recorder.slot(&number.to_string());
    slot.create()?;
    let taken = recorder.take(&slot, &format!("iteration {number}"), at);
    let head = plan.work_tree.head()?;
    let begin = Begin {
        iteration: number,
        task: Task::from(item),
        attempt: 0,
        started_at: at,
        branch: plan.work_tree.branch()?,
        head_before: head.clone(),
        agent: refused.agent.clone(),
        agent_version: None,
        model: None,
        validation_command: refused.validation_command.clone(),
        hints: Vec::new(),
        unit_tasks: Vec::new(),
        tips: recorder.tips(),
        restored_to: None,
        kept_paths: Vec::new(),
        before: None,
        agent_setup: None,
        prompt_parts: Vec::new(),
    };
    let counts = plan.job.read_tasks(plan.feature)?.counts();
    let mut iteration = unfinished(begin, &recorder.place().begun, at, counts, head);
    iteration.outcome = Outcome::Success;
    iteration.attempt = None;
    iteration.closed = [vec![item.name.clone()], parents.clone()].concat();
    iteration.closed_parents = parents;
    iteration.files_changed = taken.files_changed();
    iteration.snapshot = taken.snapshot;
    iteration.left_out = taken.left_out;
    let text = format!("accepted by {}", accepted.by);
    iteration.evidence = Some(Box::new(Evidence {
        // The next attempts are held against what was accepted.
        tests: refused.evidence.as_ref().and_then(|evidence| evidence.tests.clone()),
        flags: vec![Flag { code: FlagCode::Accepted, text, paths: Vec::new() }],
        accepted: Some(accepted),
        ..Evidence::default()
    }));
    recorder.iteration(&slot, &iteration, "")?;
    Ok(number)
}

/// Ends the session again: as it had ended, or completed if all of its tasks are done. Returns true if they are.
fn end(plan: &Plan<'_>, recorder: &mut Recorder<'_>, place: &SpoolMeta, at: Timestamp) -> Result<bool> {
    let refs = SessionRefs::new(&place.feature, place.session.clone());
    let log = plan.store.session(&refs)?.context("read the record of the session")?;
    let mut session = ended(plan, place, &log)?;
    let last_end = log.entries.iter().rfind(|entry| entry.kind == RecordKind::End);
    if let Some(last) = last_end.and_then(|entry| plan.store.readable_session(entry)) {
        session.hints.clone_from(&last.hints);
        (session.status, session.stop_reason, session.limit) = (last.status, last.stop_reason, last.limit);
        session.ended_by = last.ended_by;
        session.artifact = last.artifact;
    }
    let list: TaskList = plan.job.read_tasks(plan.feature)?;
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
    }
    recorder.end(&session, "", at)?;
    Ok(is_completed)
}
