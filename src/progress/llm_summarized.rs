//! The strategy that summarizes each iteration in a sentence or two, by a command of the user's.
//!
//! The command is run when the iteration is recorded; here its words are only put down. If there are none, the
//! captured output is in for them, and says why.

use std::fmt::Write as _;

use failure_excerpt::clean;

use super::Entry;
use super::attempts::{changed_files, failed_commands};
use super::block::{Block, Body, Entries, blocks_for_prompt};
use super::markdown::one_line;
use super::newest::Newest;
use super::{ExcerptMode, IterationContext, ProgressStrategy, PromptTarget, SystemCapturedProgress};
use crate::record::{Facts, Summarized};

/// Longest output that a summary is asked of, in characters.
const OUTPUT_CHARS: usize = 4000;

/// Returns what the user's command is asked about an iteration: all that a later attempt should know of it.
pub fn question(context: &IterationContext, facts: &Facts) -> String {
    let output = context.summarize_output(ExcerptMode::Excerpt, OUTPUT_CHARS).excerpt;
    let mut question = format!(
        "Summarize this iteration result in 1-2 sentences:\nExit code: {}\nOutput:\n{output}\n",
        context.exit.code
    );
    let task = context.task.as_deref().unwrap_or("none");
    writeln!(question, "Task: {task}\nOutcome: {}", context.outcome)
        .expect("writing to a String cannot fail");
    if let Some(cause) = &context.cause {
        writeln!(question, "Cause: {}", one_line(cause)).expect("writing to a String cannot fail");
    }
    let sections = [
        ("Final message of the agent", facts.final_message.clone()),
        ("Commands that failed", failed_commands(facts)),
        ("Files changed", changed_files(facts)),
    ];
    for (title, text) in sections.iter().filter(|(_, text)| !text.is_empty()) {
        writeln!(question, "{title}:\n{}", text.trim_end()).expect("writing to a String cannot fail");
    }
    question
}

/// Summaries of the newest iterations, oldest first.
#[derive(Debug, Clone)]
pub struct LlmSummarizedProgress {
    entries: Entries<Block>,
    max_chars: usize,
    fallback: SystemCapturedProgress,
}

impl LlmSummarizedProgress {
    pub fn with_limits(max_entries: usize, max_chars: usize, choice: ExcerptMode) -> Self {
        Self {
            entries: Newest::new(max_entries),
            max_chars,
            fallback: SystemCapturedProgress::with_limits(1, max_chars).with_choice(choice),
        }
    }

    fn block(&self, context: &IterationContext) -> Block {
        match &context.summary {
            Some(Summarized::Text(text)) => {
                let text: String = clean(text).trim().chars().take(self.max_chars).collect();
                // As a quotation, so that no heading and no fence of it reaches beyond it.
                let quoted: String = text.lines().map(|line| format!("> {line}\n")).collect();
                Block::new(context, &quoted, Body::default(), self.fallback.entry(context))
            }
            Some(Summarized::Failed(reason)) => {
                let why = format!("(no summary: {})\n", one_line(reason));
                Block::new(context, &why, self.fallback.body(context), self.fallback.entry(context))
            }
            None => self.fallback.block(context),
        }
    }
}

impl ProgressStrategy for LlmSummarizedProgress {
    fn record(&mut self, context: &IterationContext) -> String {
        let block = self.block(context);
        let entry = block.whole();
        self.entries.push((context.task.clone(), block));
        entry
    }

    fn progress(&self, target: &PromptTarget<'_>) -> String {
        blocks_for_prompt(&self.entries, target)
    }

    fn entries(&self) -> Vec<Entry> {
        self.entries.all().iter().map(|(_, block)| block.entry.clone()).collect()
    }

    fn clear(&mut self) {
        self.entries.clear();
    }

    fn len(&self) -> usize {
        self.entries.all().len()
    }
}
