//! The prompt for a task, from what the session knows of it.

use anyhow::Result;

use crate::feature::Feature;
use crate::progress::ProgressStrategy;
use crate::prompt::{PromptContext, Template};
use crate::record::{Task, TaskName};
use crate::tasks::{Pick, TaskList};

use super::job::Job;

/// Everything that a prompt is made of, but for the task.
pub struct Prompting<'a> {
    pub feature: &'a Feature,
    pub template: &'a Template,
    pub job: &'a Job,
    pub max_iterations: u32,
    pub validation_command: Option<&'a str>,
    pub progress: &'a dyn ProgressStrategy,
    /// What the user wants to be said beyond the template.
    pub hints: Vec<String>,
}

impl Prompting<'_> {
    /// The prompt that `task` gets in an iteration, after so many failures in a row.
    pub(super) fn prompt(
        &self,
        tasks: &TaskList,
        task: &Task,
        iteration: u32,
        failures: u32,
    ) -> Result<String> {
        let feature = self.feature;
        self.template.render(&PromptContext {
            feature_name: feature.name.clone(),
            feature_dir: feature.dir.to_string(),
            spec_path: feature.spec_path.to_string(),
            plan_path: feature.plan_path.to_string(),
            tasks_path: feature.tasks_path.to_string(),
            progress_path: feature.progress_path.to_string(),
            loop_type: self.job.loop_type.clone(),
            artifact_path: self.job.artifact.to_string(),
            current_task: Some(task.clone()),
            iteration_number: iteration,
            max_iterations: self.max_iterations,
            tasks: tasks.counts(),
            progress: self.progress.progress(),
            historical_context: String::new(),
            history_enabled: false,
            hints: self.hints.clone(),
            validation_command: self.validation_command.map(str::to_owned),
            repeat_count: failures.saturating_add(1),
            spec_content: std::fs::read_to_string(&feature.spec_path).unwrap_or_default(),
        })
    }

    /// The prompt that the next task would get in a new session; none where no task can be picked.
    pub fn next(&self, only: Option<&TaskName>) -> Result<Option<String>> {
        let tasks = self.job.read_tasks(self.feature)?;
        if let Some(task) = self.job.task() {
            return self.prompt(&tasks, &task, 1, 0).map(Some);
        }
        let item = match only {
            Some(name) => tasks.find(name),
            None => match tasks.next_open(|_| false) {
                Pick::Task(item) => Some(item),
                Pick::NoneOpen | Pick::Blocked(_) => None,
            },
        };
        item.map(|item| self.prompt(&tasks, &item.to_task(), 1, 0)).transpose()
    }
}
