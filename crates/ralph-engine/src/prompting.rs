//! The prompt for a task, from what the session knows of it.

use std::collections::BTreeSet;

use anyhow::Result;
use camino::Utf8Path;
use tasklist::TaskList;

use ralph_agent::question::{self, Asked};
use ralph_core::config::Config;
use ralph_core::history::History;
use ralph_core::progress::capture::FINAL_MESSAGE_CHARS;
use ralph_core::progress::historical::Mode;
use ralph_core::progress::{self, Names, Progress, Selection, SelectionSettings, tokens};
use ralph_core::record::{
    FailureClass, Iteration, LeftOutBy, Outcome, PromptMemory, PromptPart, RALPH_BY_PATH, Scope, SessionId,
    Task, TaskName,
};
use ralph_os::platform::repo_path;
use ralph_project::feature::Feature;
use ralph_project::project_files::MAX_DOCUMENT_BYTES;
use ralph_project::prompt::{PromptContext, Template};
use ralph_project::tasks::{self, copy_named};
use ralph_store::Store;

use super::control::waiting_hints::hints_for;
use super::earlier::{Earlier, left_behind, still_changed};
use super::job::Job;
use super::memory::{Memory, Reason, RecalledHistory};
use super::recalled::{LastMemory, Recalled};
use super::units;

/// Maximum number of lines of the task list that a prompt says something about.
const MAX_LIST_NOTES: usize = 20;

/// Everything that a prompt is made of, but for the turn.
pub struct Prompting<'a> {
    pub assignment: Assignment<'a>,
    pub max_iterations: u32,
    pub validation_command: Option<&'a str>,
    pub progress: &'a Progress,
    /// Text of the user beyond the template.
    pub hints: Vec<String>,
    /// Why the validation fails since before the first iteration.
    pub baseline_failure: Option<String>,
    pub config: &'a Config,
}

/// What prompts are about.
#[derive(Debug, Clone, Copy)]
pub struct Assignment<'a> {
    pub feature: &'a Feature,
    pub template: &'a Template,
    pub job: &'a Job,
    /// The folder in which children run; paths are given as seen from there.
    pub root: &'a Utf8Path,
}

/// Which prompt.
#[derive(Debug, Clone, Copy)]
pub struct PromptRequest<'a> {
    pub tasks: &'a TaskList,
    pub task: &'a Task,
    /// What it is asked for beside the task.
    pub unit: Option<&'a units::UnitTasks>,
    /// Tasks of those that earlier attempts ticked, and whose work is still there.
    pub reopened: &'a [TaskName],
    pub iteration: u32,
    /// What failed before.
    pub failures: Failures,
    /// True if what failed attempts at the task changed was taken back right before.
    pub is_taken_back: bool,
    /// The session that it is of; its iterations are called by their number alone.
    pub session: Option<&'a SessionId>,
}

/// A prompt, and how it came to be.
#[derive(Debug)]
pub struct Prompt {
    pub text: String,
    /// `None` if history is off.
    pub recalled: Option<RecalledHistory>,
    /// What it says of earlier iterations, for the record.
    pub memory: PromptMemory,
    /// What it is made of, for the record.
    pub parts: Vec<PromptPart>,
    /// What the user should know of it.
    pub warning: Option<String>,
}

/// How often something failed before, in a row, and how many runs there were.
#[derive(Debug, Clone, Copy, Default)]
pub struct Failures {
    pub of_task: u32,
    /// In the same way, whatever the task.
    pub of_one_cause: u32,
    /// Runs of this session so far.
    pub runs: u32,
}

impl Failures {
    /// Returns what failed before an attempt at `task`.
    pub fn before(task: &str, history: &History) -> Self {
        Self {
            of_task: history.failures_in_a_row(task),
            of_one_cause: history.same_failures_in_a_row(),
            runs: history.runs(),
        }
    }
}

impl<'a> Prompting<'a> {
    pub fn new(config: &'a Config, assignment: Assignment<'a>, progress: &'a Progress) -> Self {
        Self {
            assignment,
            max_iterations: config.settings.max_iterations,
            validation_command: config.settings.validation_command.as_deref(),
            progress,
            hints: Vec::new(),
            baseline_failure: None,
            config,
        }
    }

    /// Returns the prompt of a turn, within the budget: of what is too much, historical context goes first, then
    /// progress.
    ///
    /// `summary` is the summary of older iterations, if a command of the user's made one.
    pub fn prompt(
        &self,
        turn: &PromptRequest<'_>,
        store: &Store,
        memory: &mut Memory,
        summary: Option<RecalledHistory>,
    ) -> Result<Prompt> {
        let mode = memory.mode(&turn.task.name, self.config.settings.history_mode);
        let mut earlier = self.earlier(turn.task, turn.session, turn.is_taken_back, store, memory)?;
        let most = self.history_budget(&earlier, mode);
        match summary {
            Some(_) => earlier.history = summary,
            None => earlier.recall(self.config, mode, most),
        }
        let mut text = self.render(turn, &earlier)?;
        let (mut warning, mut wanted) = (None, None);
        // Task and rules are never cut; what older iterations left is.
        if let Some(budget) = self.config.settings.prompt_budget.filter(|budget| tokens(&text) > *budget) {
            wanted = Some(self.parts(&text, &earlier));
            let history = earlier.history.as_ref().map_or(0, |history| history.context.tokens());
            if history > 0 {
                let excess = tokens(&text) - budget;
                earlier.recall(self.config, mode, history.saturating_sub(excess).min(most));
                text = self.render(turn, &earlier)?;
            }
            let is_too_long = tokens(&text) > budget;
            while tokens(&text) > budget && earlier.leave_out_least() {
                text = self.render(turn, &earlier)?;
            }
            warning = is_too_long.then(|| over_budget(tokens(&text), budget));
        }
        let memory = self.described(&earlier);
        let mut parts = self.parts(&text, &earlier);
        for (part, wanted) in parts.iter_mut().zip(wanted.iter().flatten()) {
            if part.tokens < wanted.tokens {
                part.left_out = Some(LeftOutBy::Budget);
            }
        }
        parts.retain(|part| part.tokens > 0 || part.left_out.is_some());
        Ok(Prompt { text, recalled: earlier.history, memory, parts, warning })
    }

    /// Returns what the next prompt for a task contains of earlier iterations.
    pub fn recalled(
        &self,
        task: &Task,
        session: Option<&SessionId>,
        store: &Store,
        memory: &mut Memory,
    ) -> Result<Recalled> {
        let hints = hints_for(store, &self.assignment.feature.path, &task.name)?;
        let prompting = Self { hints, baseline_failure: None, ..*self };
        let mode = memory.mode(&task.name, self.config.settings.history_mode);
        let mut earlier = prompting.earlier(task, session, false, store, memory)?;
        let budget = self.history_budget(&earlier, mode);
        earlier.recall(self.config, mode, budget);
        let last_attempt = earlier.last_attempt();
        let Earlier { question, learnings, progress, history, .. } = earlier;
        let past = memory.past_since_cleared(store)?;
        let last = LastMemory::of(past, &task.name, &Names::new(past, session));
        let hints = prompting.hints;
        Ok(Recalled { last_attempt, question, learnings, hints, progress, history, budget, last })
    }

    /// Returns the tokens that the history may take: a history that was not asked for leaves the rest of the prompt its room.
    fn history_budget(&self, earlier: &Earlier<'_>, mode: Option<(Mode, Reason)>) -> usize {
        let budget = self.config.settings.history_budget;
        match mode {
            Some((_, Reason::Failures(_))) => {
                budget.min(UNASKED_MEMORY_TOKENS.saturating_sub(earlier.tokens()))
            }
            _ => budget,
        }
    }

    /// Returns what the prompt says of earlier iterations, but for the history.
    fn earlier<'m>(
        &self,
        task: &'m Task,
        session: Option<&SessionId>,
        is_taken_back: bool,
        store: &Store,
        memory: &'m mut Memory,
    ) -> Result<Earlier<'m>> {
        let past = memory.past_since_cleared(store)?;
        let (settings, files) = (&self.config.settings, &self.assignment.feature.files);
        let parts = SelectionSettings {
            has_last_attempt: settings.memory_last_attempt,
            final_message_chars: settings.memory_final_message_chars.min(FINAL_MESSAGE_CHARS),
            learnings: settings.memory_learnings,
        };
        let selection = Selection::new(past, task, session, self.progress, parts);
        let attempt = progress::last_attempt(&selection, is_taken_back, |iteration| {
            still_changed(store, files, iteration)
        });
        Ok(Earlier {
            question: open_question(past, &task.name, &self.hints),
            left_behind: left_behind(past, session),
            progress: self.progress.text(&selection, &attempt),
            attempt,
            learnings: selection.learnings.clone(),
            entries: self.progress.entries(),
            history: None,
            selection,
        })
    }

    /// Returns all that a prompt may be made of, the same parts in the same order each time: those that it has not, too.
    fn parts(&self, prompt: &str, earlier: &Earlier<'_>) -> Vec<PromptPart> {
        let settings = &self.config.settings;
        let history = earlier.history.as_ref().map(|history| &history.context);
        let pieces = history.map_or(&[][..], |history| &history.pieces);
        let told: BTreeSet<_> =
            pieces.iter().filter(|piece| piece.is_included).flat_map(|piece| &piece.iterations).collect();
        let (mut parts, mut rest) = (Vec::new(), tokens(prompt));
        let mut add = |part: &str, text: &str, from: Vec<(SessionId, u32)>, is_wanted: bool| {
            // A template may leave out any of them.
            let first = text.lines().find(|line| !line.trim().is_empty());
            let is_there = first.is_some_and(|first| prompt.contains(first));
            let tokens = if is_there { tokens(text) } else { 0 };
            rest = rest.saturating_sub(tokens);
            let from = from.into_iter().filter(|_| is_there);
            parts.push(PromptPart {
                part: part.to_owned(),
                tokens,
                from: from.map(|(session, number)| format!("{session}:{number}")).collect(),
                left_out: (!is_wanted || first.is_some() && !is_there).then_some(LeftOutBy::Choice),
            });
        };
        add("hints", &self.hints.join("\n"), Vec::new(), true);
        add("baseline", self.baseline_failure.as_deref().unwrap_or_default(), Vec::new(), true);
        add("question", &earlier.question, Vec::new(), true);
        add("left_behind", &earlier.left_behind.join("\n"), Vec::new(), true);
        let last = earlier.selection.last().into_iter().collect();
        add("last_attempt", &earlier.last_attempt(), last, settings.memory_last_attempt);
        add("learnings", &earlier.learnings.join("\n"), Vec::new(), settings.memory_learnings > 0);
        let of_progress = earlier.selection.in_progress.clone();
        add("progress", &earlier.progress, of_progress, settings.progress_max_entries > 0);
        let told = told.into_iter().cloned().collect();
        add("history", history.map_or("", |history| &history.text), told, history.is_some());
        if let Some(history) = parts.last_mut().filter(|_| pieces.iter().any(|piece| !piece.is_included)) {
            history.left_out = history.left_out.or(Some(LeftOutBy::Budget));
        }
        parts.push(PromptPart { part: "rest".to_owned(), tokens: rest, from: Vec::new(), left_out: None });
        parts
    }

    fn described(&self, earlier: &Earlier<'_>) -> PromptMemory {
        let recalled = earlier.history.as_ref();
        let history = recalled.filter(|recalled| !recalled.context.text.is_empty());
        let mode = recalled.map_or(Mode::Off, |recalled| recalled.mode);
        let of_progress = if earlier.progress.is_empty() { 0 } else { self.progress.len() };
        let of_history = history.map_or(0, |history| history.context.scanned);
        let of_attempt = usize::from(!earlier.attempt.is_empty());
        let history_tokens = history.map_or(0, |history| history.context.tokens());
        PromptMemory {
            mode: mode.as_str().to_owned(),
            strategy: self.config.settings.progress_strategy.into_str().to_owned(),
            reason: history.map(|history| history.why.as_str().to_owned()),
            iterations: of_progress.max(of_history).max(of_attempt),
            tokens: earlier.tokens() + history_tokens,
            history_tokens,
        }
    }

    fn render(&self, turn: &PromptRequest<'_>, earlier: &Earlier<'_>) -> Result<String> {
        let history = earlier.history.as_ref();
        let feature = self.assignment.feature;
        let item = turn.tasks.find(&turn.task.name).filter(|item| item.text == turn.task.text);
        self.assignment.template.render(&PromptContext {
            feature_name: feature.name.clone(),
            feature_dir: self.relative(&feature.dir),
            spec_path: self.relative(&feature.spec_path),
            plan_path: self.relative(&feature.plan_path),
            tasks_path: self.relative(&feature.tasks_path),
            progress_path: self.relative(&feature.progress_path),
            has_spec: feature.spec_path.is_file(),
            has_plan: feature.plan_path.is_file(),
            loop_type: self.assignment.job.loop_type.clone(),
            artifact_path: self.relative(&self.assignment.job.artifact),
            current_task: Some(turn.task.clone()),
            unit_name: turn.unit.map(|unit| unit.name.clone()).unwrap_or_default(),
            unit_tasks: turn.unit.map(|unit| listed(turn.tasks, &unit.tasks)).unwrap_or_default(),
            reopened_tasks: listed(turn.tasks, turn.reopened),
            list_notes: list_notes(turn.tasks),
            task_line: item.filter(|item| turn.tasks.copies(item) > 1).map(|item| item.line),
            iteration_number: turn.iteration,
            max_iterations: self.max_iterations,
            tasks: turn.tasks.counts(),
            progress: earlier.progress.clone(),
            progress_entries: earlier.entries.clone(),
            historical_context: history.map(|history| history.context.text.clone()).unwrap_or_default(),
            history_enabled: history.is_some(),
            hints: self.hints.clone(),
            baseline_failure: self.baseline_failure.clone().unwrap_or_default(),
            validation_command: self.validation_command.map(str::to_owned),
            repeat_count: turn.failures.of_task.saturating_add(1),
            same_failure_count: turn.failures.of_one_cause,
            spec_content: spec_content(feature),
            last_attempt: earlier.last_attempt(),
            question: earlier.question.clone(),
            left_behind: earlier.left_behind.clone(),
            learnings: earlier.learnings.clone(),
            documents: self.documents(),
            runs_left: self.max_iterations.saturating_sub(turn.failures.runs.saturating_add(1)),
            ralph_command: RALPH_BY_PATH.to_string(),
        })
    }

    /// Returns the files of spec-kit beside specification and plan that exist.
    fn documents(&self) -> Vec<String> {
        let project = ["memory/constitution.md"].map(|name| self.assignment.root.join(".specify").join(name));
        let feature = FEATURE_DOCUMENTS.map(|name| self.assignment.feature.dir.join(name));
        let found =
            project.into_iter().chain(feature).filter(|path| self.assignment.feature.files.is_filled(path));
        found
            .map(|path| if path.is_dir() { self.relative(&path) + "/" } else { self.relative(&path) })
            .collect()
    }

    fn relative(&self, path: &Utf8Path) -> String {
        repo_path(path.strip_prefix(self.assignment.root).unwrap_or(path))
    }

    /// Returns the prompt that the next task would get in a new session, or `None` if no task can be picked.
    pub fn next(&self, scope: &Scope, store: &Store, memory: &mut Memory) -> Result<Option<Prompt>> {
        let tasks = self.assignment.job.read_tasks(self.assignment.feature)?;
        let part = tasks::part_of(&tasks, scope, &self.assignment.feature.tasks_path)?;
        let Some(task) = self.assignment.job.next_task(&tasks, part.as_ref()) else { return Ok(None) };
        let unit = self.config.settings.unit_now();
        let unit = units::unit_tasks(&tasks, &task.name, unit, part.as_ref(), &|_| false);
        let turn = PromptRequest {
            tasks: &tasks,
            task: &task,
            unit: unit.as_ref(),
            reopened: &[],
            iteration: 1,
            failures: Failures::default(),
            is_taken_back: false,
            session: None,
        };
        let hints = hints_for(store, &self.assignment.feature.path, &task.name)?;
        let prompting = Self { hints, baseline_failure: self.baseline_failure.clone(), ..*self };
        prompting.prompt(&turn, store, memory, None).map(Some)
    }
}

/// Returns the tasks of these names, a line each.
fn listed(tasks: &TaskList, names: &[TaskName]) -> Vec<String> {
    names
        .iter()
        .filter_map(|name| tasks.find(name))
        .map(|item| {
            let id = item.id.as_ref().map_or(String::new(), |id| format!("{id} "));
            let place = if tasks.copies(item) > 1 { format!(" (line {})", item.line) } else { String::new() };
            format!("{id}{}{place}", item.text)
        })
        .collect()
}

/// Returns the lines of a list that an agent has to know of as they do not count.
fn list_notes(tasks: &TaskList) -> Vec<String> {
    let conflict = tasks.conflict.iter().map(|conflict| {
        format!("{conflict}: resolve the conflict, and keep a box ticked that either side has ticked")
    });
    let unknown = tasks
        .unrecognised
        .iter()
        .map(|odd| format!("line {} has the unknown mark `[{}]`: {}", odd.line, odd.mark, odd.written));
    let copies = tasks.duplicates().map(|copy| format!("{}: leave one of them", copy_named(copy)));
    let all: Vec<String> = conflict.chain(unknown).chain(copies).collect();
    let more = all.len().saturating_sub(MAX_LIST_NOTES);
    let notes = all.into_iter().take(MAX_LIST_NOTES);
    notes.chain((more > 0).then(|| format!("and {more} more"))).collect()
}

fn spec_content(feature: &Feature) -> String {
    let bytes = feature.files.read(&feature.spec_path, MAX_DOCUMENT_BYTES).unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}

/// Returns what to do about a question, or an offer to go on, that the last attempt at a task ended with; empty if it did
/// not. `hints` are those of the next prompt.
fn open_question(past: &[Iteration], task: &str, hints: &[String]) -> String {
    let last =
        past.iter().rev().find(|iteration| iteration.task.as_deref() == Some(task) && iteration.is_attempt());
    let Some(last) = last.filter(|last| last.outcome == Outcome::Failure) else { return String::new() };
    if last.failure_class.is_some_and(FailureClass::is_question) {
        let asked = format!("The last attempt at this task asked: {}", last.cause());
        let is_answered = hints.iter().any(|hint| !last.hints.contains(hint));
        return if is_answered {
            format!("{asked}\n\nThe hints from the user have come since.")
        } else {
            format!(
                "{asked}\n\nIts question was not answered. Decide yourself if the decision can be changed later, and write \
                 it under\n`Decisions:`. Only if it cannot be changed later, ask again."
            )
        };
    }
    let left_nothing = last.exit.agent == Some(0) && last.files_changed.is_empty();
    match question::open(&last.facts.final_message) {
        Some(Asked::Offer(offer)) if left_nothing && last.failure_class.is_none() => format!(
            "The last attempt at this task changed nothing, and ended with an offer: {offer}\n\n\
             Nobody answers while the loop runs: go on without asking."
        ),
        _ => String::new(),
    }
}

fn over_budget(count: usize, budget: usize) -> String {
    if count <= budget {
        format!("earlier iterations are cut from the prompt, to stay within {budget} tokens")
    } else {
        format!(
            "the prompt has {count} tokens, more than the {budget} of `prompt-budget`; task and rules are not cut"
        )
    }
}

/// What spec-kit writes beside specification, plan and tasks.
const FEATURE_DOCUMENTS: [&str; 5] =
    ["data-model.md", "research.md", "quickstart.md", "contracts", "checklists"];

/// What earlier iterations may take of a prompt, together with a history that was not asked for but that repeated failures turned on.
/// With headings and introductions it is below 3,000.
const UNASKED_MEMORY_TOKENS: usize = 2800;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_do_not_count_are_named_up_to_a_number() {
        let mut source = "- [ ] T001 a\n- [x] T001 a\n<<<<<<< b\n".to_owned();
        source.extend((0..30).map(|number| format!("- [~] T1{number:02} b\n")));
        let notes = list_notes(&TaskList::parse(source.as_bytes()).unwrap());
        assert!(notes[0].starts_with("line 3 is a conflict marker"), "{notes:?}");
        assert_eq!(notes[1], "line 4 has the unknown mark `[~]`: - [~] T100 b");
        assert_eq!((notes.len(), notes.last().map(String::as_str)), (21, Some("and 11 more")));
        assert!(list_notes(&TaskList::parse(b"- [ ] T001 a\n").unwrap()).is_empty());
    }
}
