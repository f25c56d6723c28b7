//! What every block about an earlier iteration begins with, whatever the strategy: its task, attempt, outcome and cause.

use serde_json::{Map, Value, json};

use super::markdown::one_line;
use super::{IterationContext, newest::Newest};

/// The text of an iteration, and whose task it was.
#[derive(Debug, Clone)]
pub(super) struct Block {
    task: Option<String>,
    /// `## Iteration 3`.
    heading: String,
    /// The lines after its task.
    text: String,
}

impl Block {
    /// A block of the facts of `context`, and of `text` below them.
    pub(super) fn new(context: &IterationContext, text: &str) -> Self {
        let session = context.session.as_ref().map(|id| format!(" of session {id}")).unwrap_or_default();
        let outcome = context.task.as_ref().map(|_| format!("**Outcome:** {}\n", context.outcome));
        let cause = context.cause.as_ref().map(|cause| format!("**Cause:** {}\n", one_line(cause)));
        Self {
            task: context.task.as_deref().map(|task| task_of(task, context.attempt)),
            heading: format!("## Iteration {}{session}\n", context.iteration),
            text: [outcome.unwrap_or_default(), cause.unwrap_or_default(), text.to_owned()].concat(),
        }
    }

    /// Returns the whole block; it says so if it is not about `task`.
    pub(super) fn shown(&self, is_other: bool) -> String {
        let mark = if is_other { ", another task" } else { "" };
        let task = self.task.as_ref().map(|task| format!("**Task:** {task}{mark}\n")).unwrap_or_default();
        format!("{}{task}{}", self.heading, self.text)
    }
}

fn task_of(task: &str, attempt: Option<u32>) -> String {
    let attempt = attempt.map(|attempt| format!(" (attempt {attempt})")).unwrap_or_default();
    format!("{}{attempt}", one_line(task))
}

/// Returns the same facts for machines.
pub(super) fn facts(context: &IterationContext) -> Map<String, Value> {
    let mut facts = Map::new();
    if let Some(session) = &context.session {
        facts.insert("session".to_owned(), json!(session));
    }
    facts.insert("iteration".to_owned(), json!(context.iteration));
    if let Some(task) = &context.task {
        facts.insert("task".to_owned(), json!(task));
        facts.insert("attempt".to_owned(), json!(context.attempt));
        facts.insert("outcome".to_owned(), json!(context.outcome));
        facts.insert("cause".to_owned(), json!(context.cause));
    }
    facts
}

/// Entries with the name of their task.
pub(super) type Entries<T> = Newest<(Option<String>, T)>;

/// Entries about `task` first, then those of others; each with whether it is of another task.
pub(super) fn ordered<'a, T>(
    entries: &'a Entries<T>,
    task: Option<&'a str>,
) -> impl Iterator<Item = (bool, &'a T)> {
    let is_other =
        move |of: &Option<String>| task.is_some_and(|task| of.as_deref().is_some_and(|of| of != task));
    let own = entries.all().iter().filter(move |(of, _)| !is_other(of));
    let others = entries.all().iter().filter(move |(of, _)| is_other(of));
    own.map(|(_, entry)| (false, entry)).chain(others.map(|(_, entry)| (true, entry)))
}
