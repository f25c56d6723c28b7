//! What a template can name.

use std::fmt;
use std::sync::Arc;

use minijinja::Value;
use minijinja::value::{Enumerator, Object, ObjectRepr, Serde};
use serde_json::{Map, Value as Json};

use ralph_core::record::{Task, TaskCounts};

/// Every name that a template can use. All are always defined, and empty if there is nothing.
pub const NAMES: &[&str] = &[
    "feature_name",
    "feature_dir",
    "spec_path",
    "plan_path",
    "tasks_path",
    "progress_path",
    "has_spec",
    "has_plan",
    "loop_type",
    "artifact_path",
    "current_task",
    "task_line",
    "unit_name",
    "unit_tasks",
    "reopened_tasks",
    "list_notes",
    "iteration_number",
    "max_iterations",
    "tasks_done",
    "tasks_open",
    "progress",
    "historical_context",
    "history_enabled",
    "hints",
    "baseline_failure",
    "validation_command",
    "repeat_count",
    "same_failure_count",
    "phase_number",
    "phase_name",
    "spec_content",
    "memory",
    "last_attempt",
    "question",
    "left_behind",
    "learnings",
    "documents",
    "runs_left",
    "ralph_command",
    "HISTORICAL_CONTEXT",
    "HISTORY_ENABLED",
];

/// The parts of `current_task`.
pub(super) const TASK_PARTS: &[&str] = &["id", "text", "phase", "story"];

/// What is known when a prompt is written. Paths are as the agent should use them. Many fields: the names that templates
/// may use, and what their values are made of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptContext {
    pub feature_name: String,
    pub feature_dir: String,
    pub spec_path: String,
    pub plan_path: String,
    pub tasks_path: String,
    pub progress_path: String,
    /// True if there is something at `spec_path`, and at `plan_path`.
    pub has_spec: bool,
    pub has_plan: bool,
    pub loop_type: String,
    /// The file that the loop is about.
    pub artifact_path: String,
    pub current_task: Option<Task>,
    /// The line of its box, if neither its id nor its text is unique.
    pub task_line: Option<usize>,
    /// The phase or the story whose open tasks are all asked for; empty where it is one task.
    pub unit_name: String,
    /// The open tasks of that, one line each.
    pub unit_tasks: Vec<String>,
    /// Those of them that were ticked in earlier attempts and opened again, one line each.
    pub reopened_tasks: Vec<String>,
    /// Lines of the list whose boxes are none, or which repeat others.
    pub list_notes: Vec<String>,
    pub iteration_number: u32,
    pub max_iterations: u32,
    pub tasks: TaskCounts,
    /// What earlier iterations left, outputs already fenced.
    pub progress: String,
    /// The same as values, for a template that goes through them.
    pub progress_entries: Vec<Map<String, Json>>,
    pub historical_context: String,
    pub history_enabled: bool,
    pub hints: Vec<String>,
    /// Why the validation fails since before the first iteration; empty if it passed since, or was not tried.
    pub baseline_failure: String,
    pub validation_command: Option<String>,
    /// Which try of this task this is, from 1.
    pub repeat_count: u32,
    /// How many runs before this one failed in the same way, whatever their task.
    pub same_failure_count: u32,
    pub spec_content: String,
    /// How the last attempt at the task went; empty for a first one.
    pub last_attempt: String,
    /// What to do about a question, or an offer, that the last attempt at the task ended with; empty if it did not.
    pub question: String,
    /// What earlier attempts left behind and nobody ended yet, one line each.
    pub left_behind: Vec<String>,
    /// What was learned and decided in the feature so far, one line each.
    pub learnings: Vec<String>,
    /// Further documents of the feature and the project that exist.
    pub documents: Vec<String>,
    /// Runs that may follow this one before the limit.
    pub runs_left: u32,
    /// The command line of this program, up to its subcommands.
    pub ralph_command: String,
}

impl PromptContext {
    /// Returns the text of a part that is appended to a prompt whose template does not place it.
    pub(super) fn part(&self, name: &str) -> String {
        match name {
            "last_attempt" => self.last_attempt.clone(),
            "question" => self.question.clone(),
            "left_behind" => list(&self.left_behind),
            "learnings" => list(&self.learnings),
            "hints" => list(&self.hints),
            "baseline_failure" => self.baseline_failure.clone(),
            "unit_tasks" => list(&self.unit_tasks),
            "reopened_tasks" => list(&self.reopened_tasks),
            "list_notes" => list(&self.list_notes),
            "progress" => self.progress.clone(),
            _ if self.history_enabled => self.historical_context.clone(),
            _ => String::new(),
        }
    }

    /// Returns the values of all names; `memory` is what the template does not place itself.
    pub(super) fn values(&self, memory: &str) -> Value {
        let phase = self.current_task.as_ref().and_then(|task| task.phase.as_deref()).unwrap_or_default();
        let (phase_number, phase_name) = split_phase(phase);
        let values = NAMES.iter().map(|name| {
            let value = match *name {
                "feature_name" => (&self.feature_name).into(),
                "feature_dir" => (&self.feature_dir).into(),
                "spec_path" => (&self.spec_path).into(),
                "plan_path" => (&self.plan_path).into(),
                "tasks_path" => (&self.tasks_path).into(),
                "progress_path" => (&self.progress_path).into(),
                "has_spec" => self.has_spec.into(),
                "has_plan" => self.has_plan.into(),
                "loop_type" => (&self.loop_type).into(),
                "artifact_path" => (&self.artifact_path).into(),
                "current_task" => Value::from_object(CurrentTask(self.current_task.clone())),
                "task_line" => self.task_line.map_or_else(|| "".into(), Value::from),
                "unit_name" => (&self.unit_name).into(),
                "unit_tasks" => Value::from_object(MarkdownList(self.unit_tasks.clone())),
                "reopened_tasks" => Value::from_object(MarkdownList(self.reopened_tasks.clone())),
                "list_notes" => Value::from_object(MarkdownList(self.list_notes.clone())),
                "iteration_number" => self.iteration_number.into(),
                "max_iterations" => self.max_iterations.into(),
                "tasks_done" => self.tasks.done.into(),
                "tasks_open" => self.tasks.open.into(),
                "progress" => Value::from_object(Progress {
                    text: self.progress.clone(),
                    entries: self.progress_entries.iter().map(|entry| Value::from(Serde(entry))).collect(),
                }),
                "historical_context" | "HISTORICAL_CONTEXT" => (&self.historical_context).into(),
                "history_enabled" | "HISTORY_ENABLED" => self.history_enabled.into(),
                "hints" => Value::from_object(MarkdownList(self.hints.clone())),
                "baseline_failure" => (&self.baseline_failure).into(),
                "validation_command" => self.validation_command.as_deref().unwrap_or_default().into(),
                "repeat_count" => self.repeat_count.into(),
                "same_failure_count" => self.same_failure_count.into(),
                "phase_number" => phase_number.into(),
                "phase_name" => phase_name.into(),
                "spec_content" => (&self.spec_content).into(),
                "memory" => memory.into(),
                "last_attempt" => (&self.last_attempt).into(),
                "question" => (&self.question).into(),
                "left_behind" => Value::from_object(MarkdownList(self.left_behind.clone())),
                "learnings" => Value::from_object(MarkdownList(self.learnings.clone())),
                "documents" => Value::from_object(MarkdownList(self.documents.clone())),
                "runs_left" => self.runs_left.into(),
                "ralph_command" => (&self.ralph_command).into(),
                _ => Value::UNDEFINED,
            };
            (*name, value)
        });
        Value::from_pairs(values)
    }
}

/// Returns a line of a Markdown list.
fn list_item(text: &str) -> String {
    format!("- {}", text.trim().replace('\n', "\n  "))
}

fn list(lines: &[String]) -> String {
    lines.iter().map(|line| list_item(line) + "\n").collect()
}

/// `Phase 2: Core` as `2` and `Core`; a heading of another form is all name.
fn split_phase(phase: &str) -> (&str, &str) {
    let rest = phase.strip_prefix("Phase ").or_else(|| phase.strip_prefix("phase ")).unwrap_or_default();
    let rest = rest.trim_start();
    if !rest.starts_with(|c: char| c.is_ascii_digit()) {
        return ("", phase);
    }
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '.').unwrap_or(rest.len());
    let (number, name) = rest.split_at(end);
    (number.trim_end_matches('.'), name.trim_start_matches([':', '-', '–', '—', ' ']))
}

/// Prints as `T004 text`, and has parts.
#[derive(Debug)]
struct CurrentTask(Option<Task>);

impl Object for CurrentTask {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let key = key.as_str().filter(|key| TASK_PARTS.contains(key))?;
        let Some(task) = &self.0 else { return Some("".into()) };
        let part = match key {
            "id" => task.id.as_deref(),
            "text" => Some(task.text.as_str()),
            "phase" => task.phase.as_deref(),
            _ => task.story.as_deref(),
        };
        Some(part.unwrap_or_default().into())
    }

    fn is_true(self: &Arc<Self>) -> bool {
        self.0.is_some()
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            None => Ok(()),
            Some(Task { id: Some(id), text, .. }) => write!(f, "{id} {text}"),
            Some(task) => f.write_str(&task.text),
        }
    }
}

/// Prints as the text of the strategy, and has an entry for each iteration.
#[derive(Debug)]
struct Progress {
    text: String,
    entries: Vec<Value>,
}

impl Object for Progress {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.entries.get(key.as_usize()?).cloned()
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Seq(self.entries.len())
    }

    fn is_true(self: &Arc<Self>) -> bool {
        !self.text.is_empty()
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Prints as a Markdown list.
#[derive(Debug)]
struct MarkdownList(Vec<String>);

impl Object for MarkdownList {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.0.get(key.as_usize()?).map(Value::from)
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Seq(self.0.len())
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, line) in self.0.iter().enumerate() {
            let newline = if i == 0 { "" } else { "\n" };
            write!(f, "{newline}{}", list_item(line))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_has_a_number_and_a_name() {
        for (phase, expected) in [
            ("Phase 2: Core", ("2", "Core")),
            ("Phase 1 - Set-up", ("1", "Set-up")),
            ("Phase 3.1: Tests first", ("3.1", "Tests first")),
            ("Phase 2", ("2", "")),
            ("Phase N: Polish", ("", "Phase N: Polish")),
            ("Set-up", ("", "Set-up")),
            ("", ("", "")),
        ] {
            assert_eq!(split_phase(phase), expected, "{phase}");
        }
    }
}
