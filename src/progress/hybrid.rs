//! The strategy that has both: summaries, and the captured output that they are of.

use super::{
    Entry, IterationContext, LlmSummarizedProgress, ProgressStrategy, PromptTarget, SystemCapturedProgress,
};

#[derive(Debug, Clone)]
pub struct HybridProgress {
    summaries: LlmSummarizedProgress,
    raw: SystemCapturedProgress,
}

impl HybridProgress {
    pub fn new(summaries: LlmSummarizedProgress, raw: SystemCapturedProgress) -> Self {
        Self { summaries, raw }
    }
}

fn both(summaries: &str, raw: &str) -> String {
    format!("## Summary\n{summaries}\n\n## Raw Output\n{raw}")
}

impl ProgressStrategy for HybridProgress {
    fn record(&mut self, context: &IterationContext) -> String {
        both(&self.summaries.record(context), &self.raw.record(context))
    }

    fn progress(&self, target: &PromptTarget<'_>) -> String {
        if self.is_empty() {
            return String::new();
        }
        both(&self.summaries.progress(target), &self.raw.progress(target))
    }

    fn entries(&self) -> Vec<Entry> {
        self.raw.entries()
    }

    fn clear(&mut self) {
        self.summaries.clear();
        self.raw.clear();
    }

    fn len(&self) -> usize {
        self.raw.len()
    }
}
