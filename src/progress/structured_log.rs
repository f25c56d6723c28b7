//! The strategy for machines: what happened as JSON, for templates that read it.

use serde_json::{Map, Value, json};

use super::newest::Newest;
use super::{Choice, IterationContext, ProgressStrategy};

/// Objects of the newest iterations, oldest first.
#[derive(Debug, Clone)]
pub struct StructuredLogProgress {
    entries: Newest<Value>,
    max_chars: usize,
    choice: Choice,
}

impl StructuredLogProgress {
    pub fn with_limits(max_entries: usize, max_chars: usize, choice: Choice) -> Self {
        Self { entries: Newest::new(max_entries), max_chars, choice }
    }

    fn entry(&self, context: &IterationContext) -> Value {
        let mut entry = Map::new();
        if let Some(session) = &context.session {
            entry.insert("session".to_owned(), json!(session));
        }
        entry.insert("iteration".to_owned(), json!(context.iteration));
        entry.insert("exit_code".to_owned(), json!(context.exit_code));
        entry.insert("duration_ms".to_owned(), json!(context.duration_ms));
        entry.insert("files_changed".to_owned(), json!(context.files_changed));
        // A validation that passed has no error to sum up.
        let is_error = context.exit_code != 0;
        let summary = is_error.then(|| context.told(self.choice, self.max_chars).excerpt);
        entry.insert("error_summary".to_owned(), json!(summary));
        Value::Object(entry)
    }
}

fn pretty(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).expect("texts and numbers are JSON")
}

impl ProgressStrategy for StructuredLogProgress {
    fn record(&mut self, context: &IterationContext) -> String {
        let entry = self.entry(context);
        let text = pretty(&entry);
        self.entries.push(entry);
        text
    }

    fn progress(&self) -> String {
        if self.is_empty() { String::new() } else { pretty(self.entries.all()) }
    }

    fn clear(&mut self) {
        self.entries.clear();
    }

    fn len(&self) -> usize {
        self.entries.all().len()
    }
}
