//! The strategy for machines: what happened as JSON, for templates that read it.

use serde_json::json;

use super::Entry;
use super::block::{Entries, own_task_first, structured};
use super::newest::Newest;
use super::{ExcerptMode, IterationContext, ProgressStrategy, PromptTarget};

/// Objects of the newest iterations, oldest first.
#[derive(Debug, Clone)]
pub struct StructuredLogProgress {
    entries: Entries<Entry>,
    max_chars: usize,
    choice: ExcerptMode,
}

impl StructuredLogProgress {
    pub fn with_limits(max_entries: usize, max_chars: usize, choice: ExcerptMode) -> Self {
        Self { entries: Newest::new(max_entries), max_chars, choice }
    }
}

fn pretty(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).expect("texts and numbers are JSON")
}

impl ProgressStrategy for StructuredLogProgress {
    fn record(&mut self, context: &IterationContext) -> String {
        let entry = structured(context, self.choice, self.max_chars);
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

    fn entries(&self) -> Vec<Entry> {
        self.entries.all().iter().map(|(_, entry)| entry.clone()).collect()
    }

    fn clear(&mut self) {
        self.entries.clear();
    }

    fn len(&self) -> usize {
        self.entries.all().len()
    }
}
