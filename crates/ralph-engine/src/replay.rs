//! The prompts of a session made again, with other settings, from its record.

use anyhow::Result;
use serde::Serialize;
use tasklist::TaskList;

use ralph_core::history::History;
use ralph_core::progress::tokens;
use ralph_core::record::{Iteration, LogEntry, RecordKind, Task};
use ralph_store::{SessionLog, Store};

use super::iteration_context::recorded_context;
use super::judging::{may_fail, narrow};
use super::loop_inputs::LoopInputs;
use super::memory::Memory;
use super::prompting::{Failures, PromptRequest, Prompting};
use super::settings::{progress_strategy, redactor};
use super::units;

/// A prompt that was sent, and the one that would have been.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Replayed {
    pub iteration: u32,
    pub task: Option<String>,
    pub tokens_sent: usize,
    pub tokens: usize,
    pub is_same: bool,
    #[serde(skip)]
    pub sent: String,
    #[serde(rename = "prompt")]
    pub text: String,
}

/// Makes the prompts of all iterations of a session that ran, in their order.
pub fn replay(inputs: &LoopInputs<'_>, log: &SessionLog, max_iterations: u32) -> Result<Vec<Replayed>> {
    inputs.template.check()?;
    let (store, settings) = (inputs.store, &inputs.config.settings);
    // Prompts are compared with those of the record, which are redacted.
    let redactor = redactor(settings)?;
    let mut memory = Memory::before(store, log, &inputs.project_root)?;
    let mut strategy = progress_strategy(settings, &memory, store, None);
    let mut history = History::default();
    let mut tasks = TaskList::default();
    let mut replayed = Vec::new();
    let mut begin = None;
    let mut baseline_failure = None;
    let mut legacy_failures = None;
    for entry in log.entries.iter() {
        if entry.kind().begins() {
            begin = Some(entry);
            let session = store.readable_session(entry);
            legacy_failures = session.as_ref().and_then(|session| session.legacy_failures.clone());
            let baseline = session.and_then(|session| session.baseline);
            baseline_failure = baseline.and_then(|baseline| baseline.failure().map(str::to_owned));
        }
        // Failures in a row are counted anew in the next session.
        if entry.kind() == RecordKind::End {
            history = History::default();
        }
        if entry.is_iteration()
            && let Some(iteration) = store.readable_iteration(entry)
        {
            if !iteration.outcome.is_without_run() {
                let task = task_of(&iteration, &tasks);
                let unit = settings.unit_now();
                let unit =
                    units::unit_tasks(&tasks, &task.name, unit, None, &|name| history.is_skipped(name));
                let reopened = units::reopened(unit.as_ref(), &history);
                let request = PromptRequest {
                    tasks: &tasks,
                    task: &task,
                    unit: unit.as_ref(),
                    iteration: iteration.iteration,
                    reopened: &reopened,
                    failures: Failures::before(&task.name, &history),
                    is_taken_back: iteration.restored_to.is_some(),
                    session: Some(&iteration.session),
                };
                let prompting = Prompting {
                    max_iterations,
                    hints: iteration.hints.clone(),
                    baseline_failure: may_fail(legacy_failures.as_deref())
                        .or_else(|| baseline_failure.clone()),
                    validation_command: iteration.validation_command.as_deref(),
                    ..inputs.prompting(&strategy)
                };
                let made = prompting.prompt(&request, store, &mut memory, None)?;
                replayed.push(replayed_as(store, entry, &iteration, redactor.redact_text(&made.text).0));
            }
            let context = recorded_context(store, entry, begin, &iteration, &inputs.project_root);
            if let Some(context) = store.or_leave_out(entry, context).flatten() {
                strategy.record(context);
            }
            narrow(&mut legacy_failures, &iteration);
            baseline_failure = baseline_failure.filter(|_| !iteration.is_green());
            history.push(&iteration);
            memory.push(iteration);
        }
        let list = store.file(&entry.commit(), "tasks.md");
        if let Some(bytes) = store.or_leave_out(entry, list).flatten() {
            tasks = TaskList::parse(&bytes).unwrap_or_default();
        }
    }
    Ok(replayed)
}

/// Returns what was sent in an iteration, and the text that would have been.
fn replayed_as(store: &Store, entry: &LogEntry, iteration: &Iteration, text: String) -> Replayed {
    let sent = store.file(&entry.commit(), "prompt.md");
    let sent = store.or_leave_out(entry, sent).flatten().unwrap_or_default();
    let sent = String::from_utf8_lossy(&sent).into_owned();
    Replayed {
        iteration: iteration.iteration,
        task: iteration.task.clone(),
        tokens_sent: tokens(&sent),
        tokens: tokens(&text),
        is_same: sent == text,
        sent,
        text,
    }
}

/// Returns the task as the list had it, or as the record has it.
fn task_of(iteration: &Iteration, tasks: &TaskList) -> Task {
    let name = iteration.task.clone().unwrap_or_default();
    match tasks.find(&name) {
        Some(item) => item.into(),
        None => Task {
            id: None,
            text: iteration.task_text.clone().unwrap_or_default(),
            phase: iteration.phase.clone(),
            story: None,
            name,
        },
    }
}
