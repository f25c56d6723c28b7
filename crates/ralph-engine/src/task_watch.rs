//! What a session remembers about its task list from one iteration to the next.

use anyhow::Result;
use tasklist::{Item, Mark, TaskList};

use ralph_core::judge::PersonsTexts;
use ralph_core::record::{FlagCode, LogEntry, RALPH, SessionId, TaskName, quoted_for_shell};
use ralph_project::feature::Feature;
use ralph_project::tasks::{TaskCache, set_marks};
use ralph_store::{SessionLog, Store};

#[derive(Default)]
pub(super) struct TaskWatch {
    pub lists: TaskCache,
    pub lost: Vec<LostTask>,
    /// True if the list asks for tests that fail until a later task is done.
    pub has_failing_tests: bool,
    /// What attempts made of the words of a person.
    pub persons: PersonsTexts,
}

/// A task that was open and left the list without being done.
pub(super) struct LostTask {
    pub task: Item,
    /// How many items like it the list had.
    copies: usize,
    /// The iteration that took it from the list.
    pub since: u32,
}

impl LostTask {
    pub fn of(task: &Item, before: &TaskList, since: u32) -> Self {
        Self { task: task.clone(), copies: before.copies(task), since }
    }
}

/// Returns the tasks that left the list in a session, by its record: the list that each attempt began with is in the record
/// before it.
pub(super) fn recorded_losses(store: &Store, log: &SessionLog) -> Vec<LostTask> {
    let mut losses = Vec::new();
    for pair in log.entries.windows(2) {
        let [before, entry] = pair else { continue };
        let iteration = if entry.is_iteration() { store.readable_iteration(entry) } else { None };
        let Some(iteration) = iteration.filter(|iteration| !iteration.lost_tasks.is_empty()) else {
            continue;
        };
        let list = store.file(&before.commit(), "tasks.md").ok().flatten();
        let Some(list) = list.and_then(|bytes| TaskList::parse(&bytes).ok()) else { continue };
        let lost = iteration.lost_tasks.iter().filter_map(|name| list.find(name));
        losses.extend(lost.map(|task| LostTask::of(task, &list, iteration.iteration)));
    }
    losses
}

/// Returns what attempts of all sessions made of the words of a person, by the records that are flagged for it: what permits
/// nothing more makes no difference.
pub(super) fn recorded_texts(store: &Store, entries: &[LogEntry]) -> PersonsTexts {
    let mut persons = PersonsTexts::default();
    let flagged = entries.iter().filter(|entry| entry.has_flag(FlagCode::Rewrote));
    for iteration in flagged.filter_map(|entry| store.readable_iteration(entry)) {
        persons.take_in(&iteration.rewrote);
    }
    persons
}

/// Returns the words for a list that tasks left: `no task is open, but T003 left the list without being done`.
pub(super) fn lost_words(lost: &[TaskName]) -> String {
    format!("no task is open, but {} left the list without being done", lost.join(", "))
}

/// Returns the command that brings the list at `path`, from the top of the work tree, back as it was before an attempt. It
/// names `session`, or means the latest one.
pub(super) fn restoration(path: &str, iteration: u32, session: Option<&SessionId>) -> String {
    let session = session.map_or(String::new(), |session| format!("{session}:"));
    format!("{RALPH} restore {session}{} --tasks {}", iteration.saturating_sub(1), quoted_for_shell(path))
}

/// Ticks the tasks of a list of which all sub-tasks are done: with the last of these, without an agent. Returns their names.
pub(super) fn close_finished(feature: &Feature, tasks: &TaskList) -> Result<Vec<TaskName>> {
    let finished: Vec<&Item> = tasks.finished_parents();
    Ok(set_marks(&feature.files, &feature.tasks_path, tasks, &finished, Mark::Done)?.changed)
}

impl TaskWatch {
    /// Forgets lost tasks that are in `tasks` again, and returns the names of the others.
    pub fn still_lost(&mut self, tasks: &TaskList) -> Vec<TaskName> {
        self.lost.retain(|lost| tasks.copies(&lost.task) < lost.copies);
        self.lost.iter().map(|lost| lost.task.name.clone()).collect()
    }
}
