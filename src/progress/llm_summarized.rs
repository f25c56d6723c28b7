//! The strategy that tells each iteration in a sentence or two, by a command of the user's.
//!
//! The command is run by whoever records the iteration; here its words are only put down. Where there are none, the
//! captured output stands in for them, and says why.

use failure_excerpt::clean;

use super::markdown::one_line;
use super::newest::Newest;
use super::{Choice, IterationContext, ProgressStrategy, SystemCapturedProgress};
use crate::record::Summarized;

/// Longest output that a summary is asked of, in characters.
const OUTPUT_CHARS: usize = 4000;

/// What the user's command is asked.
pub fn question(context: &IterationContext) -> String {
    let output = context.told(Choice::Excerpt, OUTPUT_CHARS).excerpt;
    format!(
        "Summarize this iteration result in 1-2 sentences:\nExit code: {}\nOutput:\n{output}\n",
        context.exit_code
    )
}

/// Summaries of the newest iterations, oldest first.
#[derive(Debug, Clone)]
pub struct LlmSummarizedProgress {
    entries: Newest<String>,
    max_chars: usize,
    fallback: SystemCapturedProgress,
}

impl LlmSummarizedProgress {
    pub fn with_limits(max_entries: usize, max_chars: usize, choice: Choice) -> Self {
        Self {
            entries: Newest::new(max_entries),
            max_chars,
            fallback: SystemCapturedProgress::with_limits(1, max_chars).with_choice(choice),
        }
    }

    fn entry(&mut self, context: &IterationContext) -> String {
        let session = context.session.as_ref().map(|id| format!(" of session {id}")).unwrap_or_default();
        match &context.summary {
            Some(Summarized::Text(text)) => {
                let text: String = clean(text).trim().chars().take(self.max_chars).collect();
                // As a quotation, so that no heading and no fence of it reaches beyond it.
                let quoted: String = text.lines().map(|line| format!("> {line}\n")).collect();
                format!("## Iteration {}{session}\n{quoted}\n", context.iteration)
            }
            missing => {
                let why = match missing {
                    Some(Summarized::Failed(reason)) => one_line(reason),
                    _ => "nobody was asked".to_owned(),
                };
                format!("(no summary: {why})\n\n{}", self.fallback.record(context))
            }
        }
    }
}

impl ProgressStrategy for LlmSummarizedProgress {
    fn record(&mut self, context: &IterationContext) -> String {
        let entry = self.entry(context);
        self.entries.push(entry.clone());
        entry
    }

    fn progress(&self) -> String {
        self.entries.all().iter().map(String::as_str).collect()
    }

    fn clear(&mut self) {
        self.entries.clear();
    }

    fn len(&self) -> usize {
        self.entries.all().len()
    }
}
