//! The prompt for a task, from what the session knows of it.

use anyhow::Result;
use tasklist::TaskList;

use crate::config::Config;
use crate::feature::Feature;
use crate::progress::ProgressStrategy;
use crate::progress::historical::tokens;
use crate::project_files::MAX_DOCUMENT_BYTES;
use crate::prompt::{PromptContext, Template};
use crate::record::{SessionId, Task, TaskName};
use crate::store::Store;

use super::job::Job;
use super::memory::{HistoryPolicy, Memory, Recalled, Sought};
use super::settings::history_policy;

/// Everything that a prompt is made of, but for the turn.
pub struct Prompting<'a> {
    pub feature: &'a Feature,
    pub template: &'a Template,
    pub job: &'a Job,
    pub max_iterations: u32,
    pub validation_command: Option<&'a str>,
    pub progress: &'a dyn ProgressStrategy,
    /// What the user wants to be said beyond the template.
    pub hints: Vec<String>,
    pub policy: HistoryPolicy,
    /// Most tokens of the prompt. Task and rules are never cut; what older iterations left is.
    pub budget: Option<usize>,
}

/// Which prompt.
#[derive(Debug, Clone, Copy)]
pub struct Turn<'a> {
    pub tasks: &'a TaskList,
    pub task: &'a Task,
    pub iteration: u32,
    /// What failed before.
    pub failures: Failures,
    /// The session that it is of; its iterations are called by their number alone.
    pub session: Option<&'a SessionId>,
}

/// A prompt, and how it came to be.
#[derive(Debug)]
pub struct Prompt {
    pub text: String,
    /// None where history is off.
    pub recalled: Option<Recalled>,
    /// What the user should know of it.
    pub warning: Option<String>,
}

/// How often in a row something failed before.
#[derive(Debug, Clone, Copy, Default)]
pub struct Failures {
    pub of_task: u32,
    /// In the same way, whatever the task.
    pub of_one_cause: u32,
}

impl<'a> Prompting<'a> {
    pub fn new(
        config: &'a Config,
        feature: &'a Feature,
        template: &'a Template,
        job: &'a Job,
        progress: &'a dyn ProgressStrategy,
    ) -> Self {
        Self {
            feature,
            template,
            job,
            max_iterations: config.settings.max_iterations,
            validation_command: config.settings.validation_command.as_deref(),
            progress,
            hints: Vec::new(),
            policy: history_policy(config),
            budget: config.settings.prompt_budget,
        }
    }

    /// The prompt of a turn, within the budget: of what is too much, historical context goes first, then progress.
    ///
    /// `summed_up` is told where a command of the user's summed the older iterations up.
    pub fn prompt(
        &self,
        turn: &Turn<'_>,
        store: &Store,
        memory: &mut Memory,
        summed_up: Option<Recalled>,
    ) -> Result<Prompt> {
        let mut recall = |budget| {
            let wanted = Sought { task: turn.task, session: turn.session, budget };
            memory.recall(store, wanted, self.policy)
        };
        let most = self.policy.settings.budget;
        let mut recalled = match summed_up {
            Some(recalled) => Some(recalled),
            None => recall(most)?,
        };
        let mut text = self.render(turn, &self.progress.progress(), recalled.as_ref())?;
        let Some(budget) = self.budget else { return Ok(Prompt { text, recalled, warning: None }) };
        if tokens::fits(&text, budget) {
            return Ok(Prompt { text, recalled, warning: None });
        }
        if let Some(told) = recalled.as_ref().filter(|recalled| !recalled.context.text.is_empty()) {
            let excess = tokens::count(&text) - budget;
            recalled = recall(told.context.tokens().saturating_sub(excess + SLACK).min(most))?;
            text = self.render(turn, &self.progress.progress(), recalled.as_ref())?;
        }
        let mut warning = None;
        if !tokens::fits(&text, budget) {
            text = self.render(turn, "", recalled.as_ref())?;
            let count = tokens::count(&text);
            warning = Some(if count <= budget {
                format!("the prompt is without earlier iterations, to stay within {budget} tokens")
            } else {
                format!(
                    "the prompt has {count} tokens, more than the {budget} of `prompt-budget`; task and rules are not cut"
                )
            });
        }
        Ok(Prompt { text, recalled, warning })
    }

    fn render(&self, turn: &Turn<'_>, progress: &str, recalled: Option<&Recalled>) -> Result<String> {
        let feature = self.feature;
        let item = turn.tasks.find(&turn.task.name).filter(|item| item.text == turn.task.text);
        self.template.render(&PromptContext {
            feature_name: feature.name.clone(),
            feature_dir: feature.dir.to_string(),
            spec_path: feature.spec_path.to_string(),
            plan_path: feature.plan_path.to_string(),
            tasks_path: feature.tasks_path.to_string(),
            progress_path: feature.progress_path.to_string(),
            has_spec: feature.spec_path.is_file(),
            has_plan: feature.plan_path.is_file(),
            loop_type: self.job.loop_type.clone(),
            artifact_path: self.job.artifact.to_string(),
            current_task: Some(turn.task.clone()),
            task_line: item.filter(|item| turn.tasks.copies(item) > 1).map(|item| item.line),
            iteration_number: turn.iteration,
            max_iterations: self.max_iterations,
            tasks: turn.tasks.counts().into(),
            progress: progress.to_owned(),
            historical_context: recalled.map(|recalled| recalled.context.text.clone()).unwrap_or_default(),
            history_enabled: recalled.is_some(),
            hints: self.hints.clone(),
            validation_command: self.validation_command.map(str::to_owned),
            repeat_count: turn.failures.of_task.saturating_add(1),
            same_failure_count: turn.failures.of_one_cause,
            spec_content: spec_content(feature),
        })
    }

    /// The prompt that the next task would get in a new session; none where no task can be picked.
    pub fn next(
        &self,
        only: Option<&TaskName>,
        store: &Store,
        memory: &mut Memory,
    ) -> Result<Option<Prompt>> {
        let tasks = self.job.read_tasks(self.feature)?;
        let Some(task) = self.job.next_task(&tasks, only) else { return Ok(None) };
        let turn =
            Turn { tasks: &tasks, task: &task, iteration: 1, failures: Failures::default(), session: None };
        self.prompt(&turn, store, memory, None).map(Some)
    }
}

fn spec_content(feature: &Feature) -> String {
    let bytes = feature.files.read(&feature.spec_path, MAX_DOCUMENT_BYTES).unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}

/// Texts that are put together may come to some tokens more than their parts.
const SLACK: usize = 16;
