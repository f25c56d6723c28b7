//! The hints of the feature that wait, without a running session.

use anyhow::Result;
use tasklist::TaskList;

use ralph_core::record::{Hint, Timestamp};
use ralph_store::{Hints, Store};

/// Returns the hints that wait for a task.
pub fn hints_of(store: &Store, feature: &str, task: &str) -> Result<Vec<String>> {
    let hints = Hints::of(store.repository(), feature).list()?.into_iter();
    Ok(hints.filter(|hint| !hint.tasks.is_empty() && hint.is_for(task)).map(|hint| hint.text).collect())
}

/// Returns the texts of the hints that the next prompt for a task would have. Marks none.
pub fn hints_for(store: &Store, feature: &str, task: &str) -> Result<Vec<String>> {
    let hints = Hints::of(store.repository(), feature).list()?;
    Ok(hints.into_iter().filter(|hint| hint.is_for(task)).map(|hint| hint.text).collect())
}

/// Forgets hints for tasks that are done by now, and returns those that wait.
pub fn waiting(store: &Store, feature: &str, tasks: &TaskList) -> Result<Vec<Hint>> {
    let hints = Hints::of(store.repository(), feature);
    hints.retain(|hint| {
        let had_tasks = !hint.tasks.is_empty();
        hint.tasks.retain(|name| tasks.find(name).is_none_or(|item| !item.is_settled()));
        !had_tasks || !hint.tasks.is_empty()
    })?;
    hints.list()
}

/// Takes over hints of an interrupted iteration that was recorded in another clone, or by an earlier version. Where this
/// clone had hints itself, it knows those that nobody heard.
pub fn restore(store: &Store, feature: &str, unheard: &[String], now: Timestamp) -> Result<()> {
    let hints = Hints::of(store.repository(), feature);
    if !hints.are_known() {
        for text in unheard {
            hints.add(text, &[], now)?;
        }
    }
    Ok(())
}
