//! Formats an earlier iteration for a prompt: its task, attempt, outcome and cause, then what the strategy adds.

use serde_json::{Map, json};

use super::markdown::one_line;
use super::{Entry, ExcerptMode, IterationContext, PromptTarget, newest::Newest};
use crate::record::{MAX_LISTED_FILES, SessionId, listed_files};

/// An earlier iteration in a prompt.
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
    /// The same as JSON.
    pub(super) entry: Entry,
}

/// The text after the facts of an iteration.
#[derive(Debug, Clone, Default)]
pub(super) struct Body {
    /// The changed files and how the validation ended. Like output and message left out if the prompt shows this iteration as its
    /// last attempt.
    pub shared_text: String,
    /// What the validation printed. A newer block may have the same.
    pub output: String,
    pub message: String,
    /// Always shown: the last attempt does not have it.
    pub stderr: String,
}

impl Block {
    /// Creates a block from the facts of `context`, followed by `text` and `body`.
    pub(super) fn new(context: &IterationContext, text: &str, body: Body, entry: Entry) -> Self {
        let session = context.session.as_ref().map(|id| format!(" of session {id}")).unwrap_or_default();
        let left_open = if context.is_left_open { " (of other tasks; this one was left open)" } else { "" };
        let outcome = context.task.as_ref().map(|_| format!("**Outcome:** {}{left_open}\n", context.outcome));
        let cause = context.cause.as_ref().map(|cause| format!("**Cause:** {}\n", one_line(cause)));
        Self {
            task: context.task.as_deref().map(|task| format_task(task, context.attempt)),
            heading: format!("## Iteration {}{session}\n", context.iteration),
            text: [outcome.unwrap_or_default(), cause.unwrap_or_default(), text.to_owned()].concat(),
            body,
            session: context.session.clone(),
            iteration: context.iteration,
            entry,
        }
    }

    /// Returns the whole block.
    pub(super) fn whole(&self) -> String {
        self.render("", &self.body.shared(None))
    }

    /// Formats the block for a prompt. It says if it is about another task, and points to the last attempt for what the prompt
    /// shows there, and to a newer block for an output that is the same.
    fn for_prompt(&self, target: &PromptTarget<'_>, is_other: bool, same_output: Option<&Self>) -> String {
        let is_already_shown = target.shown_attempt == Some((self.session.as_ref(), self.iteration));
        let shared_text = match self.body.shared(same_output) {
            text if text.is_empty() => text,
            _ if is_already_shown => "(For the rest see the last attempt at this task.)\n".to_owned(),
            text => text,
        };
        self.render(if is_other { ", another task" } else { "" }, &shared_text)
    }

    fn render(&self, mark: &str, shared_text: &str) -> String {
        let task = self.task.as_ref().map(|task| format!("**Task:** {task}{mark}\n")).unwrap_or_default();
        format!("{}{task}{}{shared_text}{}\n", self.heading, self.text, self.body.stderr)
    }
}

impl Body {
    fn shared(&self, same_output: Option<&Block>) -> String {
        let output = same_output.map(|newer| {
            let name = newer.heading.trim_start_matches("## I").trim_end();
            format!("**Output:** the same as in i{name}\n")
        });
        let output = output.as_ref().unwrap_or(&self.output);
        format!("{}{output}{}", self.shared_text, self.message)
    }
}

/// Formats blocks for a prompt, those of its task first.
pub(super) fn blocks_for_prompt(blocks: &Entries<Block>, target: &PromptTarget<'_>) -> String {
    let newest_like = |block: &Block| {
        let is_like =
            |other: &&Block| !block.body.output.is_empty() && other.body.output == block.body.output;
        let newest = blocks.all().iter().rev().map(|(_, other)| other).find(is_like);
        newest.filter(|newest| !std::ptr::eq(*newest, block))
    };
    own_task_first(blocks, target.task)
        .map(|(is_other, block)| block.for_prompt(target, is_other, newest_like(block)))
        .collect()
}

fn format_task(task: &str, attempt: Option<u32>) -> String {
    let attempt = attempt.map(|attempt| format!(" (attempt {attempt})")).unwrap_or_default();
    format!("{}{attempt}", one_line(task))
}

/// Returns the facts of `context` as JSON fields.
fn facts(context: &IterationContext) -> Entry {
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

/// Returns an iteration as an entry of the structured log.
pub(super) fn structured(context: &IterationContext, choice: ExcerptMode, max_chars: usize) -> Entry {
    let mut entry = facts(context);
    entry.insert("exit_code".to_owned(), json!(context.exit.code));
    entry.insert("duration_ms".to_owned(), json!(context.duration_ms));
    let (named, more) = listed_files(&context.files_changed, MAX_LISTED_FILES);
    entry.insert("files_changed".to_owned(), json!([named, more.as_slice()].concat()));
    // A validation that passed has no error to sum up.
    let is_error = context.exit.code != 0;
    let summary = is_error.then(|| context.summarize_output(choice, max_chars).excerpt);
    entry.insert("error_summary".to_owned(), json!(summary));
    if !context.final_message.is_empty() && max_chars > 0 {
        entry.insert("final_message".to_owned(), json!(context.words(max_chars).0));
    }
    entry
}

/// Entries with the name of their task.
pub(super) type Entries<T> = Newest<(Option<String>, T)>;

/// Returns the entries about `task`, then those about other tasks. The flag is true for the latter.
pub(super) fn own_task_first<'a, T>(
    entries: &'a Entries<T>,
    task: Option<&'a str>,
) -> impl Iterator<Item = (bool, &'a T)> {
    let is_other = move |owner: &Option<String>| {
        task.is_some_and(|task| owner.as_deref().is_some_and(|owner| owner != task))
    };
    let own = entries.all().iter().filter(move |(owner, _)| !is_other(owner));
    let others = entries.all().iter().filter(move |(owner, _)| is_other(owner));
    own.map(|(_, entry)| (false, entry)).chain(others.map(|(_, entry)| (true, entry)))
}
