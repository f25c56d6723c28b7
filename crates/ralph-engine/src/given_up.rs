//! Tasks that an earlier session gave up and for which nothing has changed since: one attempt each, after all others.

use anyhow::Result;
use serde_json::{Map, Value};
use tasklist::{Item, TaskList};

use ralph_core::record::{Iteration, LogEntry, ObjectId, Outcome, Session, TaskName};
use ralph_git::worktree::changed_between;
use ralph_os::process::Tool;
use ralph_store::{SessionRefs, Store};

use super::control::waiting_hints::hints_of;
use super::loop_inputs::LoopInputs;

/// Settings that say how far a session goes, not how an attempt is made.
const LIMITS: &str = "max-";

/// Returns the open tasks whose newest record among `entries`, oldest first, gave them up under the same conditions.
/// What a record lacks counts as changed. `now` is the work tree; `None` without snapshots.
pub fn given_up(
    inputs: &LoopInputs<'_>,
    session: &Session,
    now: Option<&ObjectId>,
    tasks: &TaskList,
    entries: &[LogEntry],
) -> Result<Vec<TaskName>> {
    let mut found = Vec::new();
    for item in tasks.tasks().filter(|item| !item.done && !inputs.retries_skipped) {
        let newest = entries.iter().rev().find(|entry| entry.is_of(&item.name));
        if let Some(skip) = newest.filter(|newest| newest.outcome() == Some(Outcome::Skipped))
            && is_unchanged(inputs, session, now, item, skip)?
        {
            found.push(item.name.clone());
        }
    }
    Ok(found)
}

fn is_unchanged(
    inputs: &LoopInputs<'_>,
    session: &Session,
    now: Option<&ObjectId>,
    item: &Item,
    skip: &LogEntry,
) -> Result<bool> {
    let Some(record) = inputs.store.readable_iteration(skip) else { return Ok(false) };
    let Some(begun) = begun(inputs.store, skip)? else { return Ok(false) };
    let hints = hints_of(inputs.store, &inputs.feature.path, &item.name)?;
    Ok(record.task_text.as_ref() == Some(&item.text)
        && record.hints == hints
        && (&begun.agent, &begun.agent_version) == (&session.agent, &session.agent_version)
        && settings(&begun.configuration) == settings(&session.configuration)
        && has_same_tree(inputs, now, &record)?)
}

/// Returns true if no file differs but those that the loop itself writes.
fn has_same_tree(inputs: &LoopInputs<'_>, now: Option<&ObjectId>, record: &Iteration) -> Result<bool> {
    let LoopInputs { store, work_tree, feature, .. } = inputs;
    let (Some(now), Some(then)) = (now, &record.snapshot) else { return Ok(false) };
    if !store.has(then)? || !store.has(now)? || !store.is_comparable(then, now)? {
        return Ok(false);
    }
    let own = [&feature.tasks_path, &feature.progress_path].map(|path| work_tree.relative(path));
    let changed = changed_between(Tool::git(work_tree.top()), then, now)?;
    Ok(changed.iter().all(|file| own.iter().any(|own| file.path == own.as_bytes())))
}

/// Returns the session of a record as it began before that, or was resumed.
fn begun(store: &Store, entry: &LogEntry) -> Result<Option<Session>> {
    let Some(log) = store.session(&SessionRefs::new(entry.feature(), entry.session()))? else {
        return Ok(None);
    };
    Ok(log.begin_of(entry).and_then(|begin| store.readable_session(begin)))
}

/// Returns the settings by which a task may end otherwise than before: limits are none of them.
fn settings(configuration: &Value) -> Map<String, Value> {
    let all = configuration.as_object().cloned().unwrap_or_default();
    all.into_iter().filter(|(key, _)| !key.starts_with(LIMITS)).collect()
}
