//! What every block about an earlier iteration begins with, whatever the strategy: its task, attempt, outcome and cause.

use serde_json::{Map, Value, json};

use super::markdown::one_line;
use super::{IterationContext, ProgressTurn, newest::Newest};
use crate::record::SessionId;

/// The text of an iteration, and whose task it was.
#[derive(Debug, Clone)]
pub(super) struct Block {
    task: Option<String>,
    /// `## Iteration 3`.
    heading: String,
    /// The lines after its task.
    text: String,
    body: Body,
    session: Option<SessionId>,
    iteration: u32,
}

/// What follows the facts of an iteration.
#[derive(Debug, Clone, Default)]
pub(super) struct Body {
    /// What the last attempt of a prompt has too: the validation's output, the agent's final message, the files that changed.
    pub repeated: String,
    /// What only this block has.
    pub stderr: String,
}

impl Block {
    /// A block of the facts of `context`, of `text` below them, and of `body`.
    pub(super) fn new(context: &IterationContext, text: &str, body: Body) -> Self {
        let session = context.session.as_ref().map(|id| format!(" of session {id}")).unwrap_or_default();
        let left_open = if context.is_left_open { " (of other tasks; this one was left open)" } else { "" };
        let outcome = context.task.as_ref().map(|_| format!("**Outcome:** {}{left_open}\n", context.outcome));
        let cause = context.cause.as_ref().map(|cause| format!("**Cause:** {}\n", one_line(cause)));
        Self {
            task: context.task.as_deref().map(|task| task_of(task, context.attempt)),
            heading: format!("## Iteration {}{session}\n", context.iteration),
            text: [outcome.unwrap_or_default(), cause.unwrap_or_default(), text.to_owned()].concat(),
            body,
            session: context.session.clone(),
            iteration: context.iteration,
        }
    }

    /// Returns the whole block.
    pub(super) fn whole(&self) -> String {
        self.with("", &self.body.repeated)
    }

    /// Returns the block for the prompt of `turn`; it says so if it is of another task. What the prompt has above is not given again.
    pub(super) fn for_turn(&self, turn: &ProgressTurn<'_>, is_other: bool) -> String {
        let is_above = turn.shown_attempt == Some((self.session.as_ref(), self.iteration));
        let repeated = match self.body.repeated.as_str() {
            "" => "",
            _ if is_above => "(For the rest see the last attempt at this task.)\n",
            repeated => repeated,
        };
        self.with(if is_other { ", another task" } else { "" }, repeated)
    }

    fn with(&self, mark: &str, repeated: &str) -> String {
        let task = self.task.as_ref().map(|task| format!("**Task:** {task}{mark}\n")).unwrap_or_default();
        format!("{}{task}{}{repeated}{}\n", self.heading, self.text, self.body.stderr)
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
