//! The hints of the feature: which of them a prompt gets, and when they are done with.

use anyhow::Result;

use crate::loop_inputs::LoopInputs;
use ralph_core::record::{Hint, Iteration, Outcome, SessionId, TaskName};
use ralph_store::{Hints, LoopLock};

/// Forgets the hints that the agent of an iteration heard to its end, and those for tasks that are done now.
pub(crate) fn settle_hints(inputs: &LoopInputs<'_>, iteration: &Iteration) -> Result<()> {
    let is_heard = iteration.outcome != Outcome::Interrupted;
    Hints::of(inputs.store.repository(), &inputs.feature.path).retain(|hint| {
        if hint.session.as_ref() == Some(&iteration.session) {
            hint.session = None;
            return !is_heard;
        }
        let had_tasks = !hint.tasks.is_empty();
        hint.tasks.retain(|task| !iteration.closed.contains(task));
        !had_tasks || !hint.tasks.is_empty()
    })?;
    Ok(())
}

/// Returns the hints that wait for certain tasks. What cannot be read waits for the next look.
pub(crate) fn hints_for_tasks(inputs: &LoopInputs<'_>) -> Vec<Hint> {
    let hints = Hints::of(inputs.store.repository(), &inputs.feature.path).list();
    hints.unwrap_or_default().into_iter().filter(|hint| !hint.tasks.is_empty()).collect()
}

/// Returns the hints that wait for the next prompt, whatever its task.
pub(crate) fn left_hints(inputs: &LoopInputs<'_>) -> Vec<String> {
    let hints = Hints::of(inputs.store.repository(), &inputs.feature.path).list();
    let left = hints.unwrap_or_default().into_iter().filter(|hint| hint.tasks.is_empty());
    left.map(|hint| hint.text).collect()
}

fn tasks_of<'a>(task: &'a str, unit: &'a [TaskName]) -> Vec<&'a str> {
    if unit.is_empty() { vec![task] } else { unit.iter().map(String::as_str).collect() }
}

/// Returns the hints for a prompt that asks for these tasks, and marks those that go with it.
pub(crate) fn take_hints(
    inputs: &LoopInputs<'_>,
    session: &SessionId,
    task: &str,
    unit: &[TaskName],
) -> Result<Vec<String>> {
    let (store, feature, tasks) = (inputs.store, &inputs.feature.path, tasks_of(task, unit));
    let holders = LoopLock::holders(store.repository())?;
    let mut texts = Vec::new();
    Hints::of(store.repository(), feature).retain(|hint| {
        // Where its session is gone, nobody heard it.
        let other = hint.session.as_ref().filter(|other| *other != session);
        let is_free = other.is_none_or(|other| holders.iter().all(|holder| holder.session != *other));
        if is_free && tasks.iter().any(|task| hint.is_for(task)) {
            texts.push(hint.text.clone());
            hint.session = hint.tasks.is_empty().then(|| session.clone());
        }
        true
    })?;
    Ok(texts)
}
