//! The strategy for machines: what happened as JSON, for templates that read it.

use serde_json::{Map, Value, json};

use super::block::{Entries, facts, own_task_first};
use super::newest::Newest;
use super::{ExcerptMode, IterationContext, ProgressStrategy, PromptTarget};

/// Objects of the newest iterations, oldest first.
#[derive(Debug, Clone)]
pub struct StructuredLogProgress {
    entries: Entries<Map<String, Value>>,
    max_chars: usize,
    choice: ExcerptMode,
}

impl StructuredLogProgress {
    pub fn with_limits(max_entries: usize, max_chars: usize, choice: ExcerptMode) -> Self {
        Self { entries: Newest::new(max_entries), max_chars, choice }
    }

    fn entry(&self, context: &IterationContext) -> Map<String, Value> {
        let mut entry = facts(context);
        entry.insert("exit_code".to_owned(), json!(context.exit.code));
        entry.insert("duration_ms".to_owned(), json!(context.duration_ms));
        entry.insert("files_changed".to_owned(), json!(context.files_changed));
        // A validation that passed has no error to sum up.
        let is_error = context.exit.code != 0;
        let summary = is_error.then(|| context.summarize_output(self.choice, self.max_chars).excerpt);
        entry.insert("error_summary".to_owned(), json!(summary));
        if !context.final_message.is_empty() && self.max_chars > 0 {
            entry.insert("final_message".to_owned(), json!(context.words(self.max_chars).0));
        }
        entry
    }
}

fn pretty(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).expect("texts and numbers are JSON")
}

impl ProgressStrategy for StructuredLogProgress {
    fn record(&mut self, context: &IterationContext) -> String {
        let entry = self.entry(context);
        let text = pretty(&entry);
        self.entries.push((context.task.clone(), entry));
        text
    }

    fn progress(&self, target: &PromptTarget<'_>) -> String {
        if self.is_empty() {
            return String::new();
        }
        let entries = own_task_first(&self.entries, target.task).map(|(is_other, entry)| {
            let mut entry = entry.clone();
            if is_other {
                entry.insert("is_other_task".to_owned(), json!(true));
            }
            entry
        });
        pretty(&entries.collect::<Vec<_>>())
    }

    fn clear(&mut self) {
        self.entries.clear();
    }

    fn len(&self) -> usize {
        self.entries.all().len()
    }
}
