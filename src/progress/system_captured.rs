//! The strategy that does not use agents' words: what the validation wrote, for the last few iterations.

use crate::record::{MAX_LISTED_FILES, join_files};

use super::Entry;
use super::block::{Block, Body, Entries, blocks_for_prompt, structured};
use super::markdown::{code, fenced, one_line};
use super::newest::Newest;
use super::{ExcerptMode, IterationContext, ProgressStrategy, PromptTarget};

const MAX_ENTRIES: usize = 5;
const MAX_OUTPUT_CHARS: usize = 500;

/// Captured output of the newest iterations, oldest first.
#[derive(Debug, Clone)]
pub struct SystemCapturedProgress {
    entries: Entries<Block>,
    max_output_chars: usize,
    choice: ExcerptMode,
}

impl SystemCapturedProgress {
    /// No entries at all for `max_entries` 0; head lines without output for `max_output_chars` 0.
    pub fn with_limits(max_entries: usize, max_output_chars: usize) -> Self {
        Self { entries: Newest::new(max_entries), max_output_chars, choice: ExcerptMode::default() }
    }

    #[must_use]
    pub fn with_choice(self, choice: ExcerptMode) -> Self {
        Self { choice, ..self }
    }

    pub(super) fn block(&self, context: &IterationContext) -> Block {
        Block::new(context, "", self.body(context), self.entry(context))
    }

    pub(super) fn entry(&self, context: &IterationContext) -> Entry {
        structured(context, self.choice, self.max_output_chars)
    }

    pub(super) fn body(&self, context: &IterationContext) -> Body {
        let most = self.max_output_chars;
        if most == 0 {
            return Body { shared_text: facts(context), ..Body::default() };
        }
        let shown = |title: &str, text: &str| {
            if text.is_empty() { String::new() } else { format!("**{title}:**\n{}", fenced(text)) }
        };
        let (words, stderr) = context.words(most);
        let has_failed = context.validation_command.is_some() && !context.passed();
        let excerpt = has_failed.then(|| context.summarize_output(self.choice, most).excerpt);
        let output = excerpt.map(|excerpt| format!("**Output:**\n{}", fenced(&excerpt))).unwrap_or_default();
        Body {
            shared_text: facts(context),
            output,
            message: shown("Final message", &words),
            stderr: shown("Stderr of the agent", &stderr),
        }
    }
}

/// Returns the facts of an iteration, one a line.
fn facts(context: &IterationContext) -> String {
    let (command, exit) = match &context.validation_command {
        Some(command) => (format!("**Command:** {}\n", code(command)), "Exit code"),
        None => (String::new(), "Exit code of the agent"),
    };
    // A cause says it better, where the record has one.
    let agent = context.agent_failure.as_ref().filter(|_| context.cause.is_none());
    let agent = agent.map(|failure| format!("**Agent:** {}\n", one_line(failure)));
    let agent = agent.unwrap_or_default();
    let reason = context.exit.reason.map(|reason| format!(" ({})", reason.description())).unwrap_or_default();
    let files = one_line(&join_files(&context.files_changed, MAX_LISTED_FILES));
    let files = if files.is_empty() { "none".to_owned() } else { files };
    format!(
        "{agent}{command}**{exit}:** {}{reason}\n**Duration:** {}ms\n**Files changed:** {files}\n",
        context.exit.code, context.duration_ms
    )
}

impl Default for SystemCapturedProgress {
    fn default() -> Self {
        Self::with_limits(MAX_ENTRIES, MAX_OUTPUT_CHARS)
    }
}

impl ProgressStrategy for SystemCapturedProgress {
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

#[cfg(test)]
mod tests {
    use failure_excerpt::Cut;
    use proptest::prelude::*;

    use super::*;
    use crate::record::{Exit, ExitReason, Outcome};

    fn context(iteration: u32, exit_code: i32, stdout: &str) -> IterationContext {
        IterationContext {
            session: None,
            iteration,
            task: None,
            attempt: None,
            outcome: Outcome::Failure,
            is_left_open: false,
            cause: None,
            validation_command: Some("cargo test".to_owned()),
            exit: Exit { code: exit_code, reason: None },
            agent_failure: None,
            stdout: stdout.to_owned(),
            stderr: String::new(),
            cut: Cut::default(),
            directory: String::new(),
            duration_ms: 1000,
            files_changed: vec!["src/lib.rs".to_owned()],
            final_message: String::new(),
            summary: None,
        }
    }

    #[test]
    fn an_iteration_becomes_an_entry() {
        let mut progress = SystemCapturedProgress::default();
        let entry = progress.record(&context(1, 1, "test failed"));
        assert_eq!(
            entry,
            "## Iteration 1\n**Command:** `cargo test`\n**Exit code:** 1\n**Duration:** 1000ms\n\
             **Files changed:** src/lib.rs\n**Output:**\n```\ntest failed\n```\n\n"
        );
        assert_eq!(progress.len(), 1);
        assert_eq!(progress.progress(&PromptTarget::default()), entry);
    }

    #[test]
    fn an_output_that_came_again_is_shown_where_it_came_last() {
        let mut progress = SystemCapturedProgress::default();
        for (iteration, output) in [(1, "no table"), (2, "no route"), (3, "no table")] {
            progress.record(&context(iteration, 1, output));
        }
        let text = progress.progress(&PromptTarget::default());
        assert_eq!(text.matches("no table").count(), 1, "{text}");
        let first = text.split("## Iteration 2").next().unwrap();
        assert!(first.ends_with("**Output:** the same as in iteration 3\n\n"), "{first}");
    }

    #[test]
    fn the_oldest_entries_go_first() {
        let mut progress = SystemCapturedProgress::with_limits(3, 100);
        for iteration in 1..=5 {
            progress.record(&context(iteration, 1, &format!("error {iteration}")));
        }
        assert_eq!(progress.len(), 3);
        let text = progress.progress(&PromptTarget::default());
        let kept: Vec<bool> = (1..=5).map(|n| text.contains(&format!("Iteration {n}\n"))).collect();
        assert_eq!(kept, [false, false, true, true, true]);
    }

    #[test]
    fn long_output_is_cut_and_says_so() {
        let mut progress = SystemCapturedProgress::with_limits(5, 50);
        progress.record(&context(1, 1, &"z".repeat(200)));
        let text = progress.progress(&PromptTarget::default());
        assert!(text.contains('…') && text.matches('z').count() < 50, "{text}");
    }

    #[test]
    fn clear_forgets_everything() {
        let mut progress = SystemCapturedProgress::default();
        progress.record(&context(1, 0, "ok"));
        progress.record(&context(2, 0, "ok"));
        assert_eq!(progress.len(), 2);
        progress.clear();
        assert!(progress.is_empty());
        assert_eq!(progress.progress(&PromptTarget::default()), "");
    }

    #[test]
    fn nothing_recorded_is_an_empty_text() {
        assert_eq!(SystemCapturedProgress::default().progress(&PromptTarget::default()), "");
        assert!(SystemCapturedProgress::default().is_empty());
    }

    #[test]
    fn both_streams_are_shown() {
        let mut context = context(1, 1, "ran 3 tests");
        context.stderr = "panicked".to_owned();
        let mut progress = SystemCapturedProgress::default();
        assert!(progress.record(&context).contains("```\nran 3 tests\npanicked\n```\n"));
        let mut blind = SystemCapturedProgress::default().with_choice(ExcerptMode::BlindTail);
        assert!(blind.record(&context).contains("```\nran 3 tests\n```\n"));
    }

    #[test]
    fn zero_entries_keep_none_and_zero_characters_keep_the_head_lines() {
        let mut none = SystemCapturedProgress::with_limits(0, 500);
        none.record(&context(1, 1, "x"));
        assert!(none.is_empty());
        let mut heads = SystemCapturedProgress::with_limits(5, 0);
        let entry = heads.record(&context(1, 1, "x"));
        assert!(entry.ends_with("**Files changed:** src/lib.rs\n\n"), "{entry}");
    }

    #[test]
    fn without_a_validation_the_agent_has_the_word() {
        let mut context = context(2, 0, "I wrote the parser.");
        context.validation_command = None;
        context.files_changed.clear();
        assert_eq!(
            SystemCapturedProgress::default().record(&context),
            "## Iteration 2\n**Exit code of the agent:** 0\n**Duration:** 1000ms\n**Files changed:** none\n\
             **Final message:**\n```\nI wrote the parser.\n```\n\n"
        );
    }

    #[test]
    fn the_entry_of_a_failed_agent_has_its_stderr() {
        let mut context = context(4, 3, "");
        context.validation_command = None;
        context.stderr = "fatal: the frob is missing\n".to_owned();
        let silent = SystemCapturedProgress::default().record(&context);
        assert!(
            silent
                .ends_with("src/lib.rs\n**Stderr of the agent:**\n```\nfatal: the frob is missing\n```\n\n"),
            "{silent}"
        );
        context.stdout = "I look for the frob.".to_owned();
        let talking = SystemCapturedProgress::default().record(&context);
        let both =
            "**Final message:**\n```\nI look for the frob.\n```\n**Stderr of the agent:**\n```\nfatal: ";
        assert!(talking.contains(both), "{talking}");
        let excerpt = context.summarize_output(ExcerptMode::Excerpt, 500).excerpt;
        assert_eq!(excerpt, "I look for the frob.\nfatal: the frob is missing");
    }

    #[test]
    fn the_entry_has_an_agents_failure_before_a_validation_too() {
        let mut context = context(1, 0, "ok");
        context.agent_failure = Some("exited 3: fatal:\nno frob".to_owned());
        let entry = SystemCapturedProgress::default().record(&context);
        assert!(
            entry.starts_with(
                "## Iteration 1\n**Agent:** exited 3: fatal: no frob\n**Command:** `cargo test`\n**Exit code:** 0\n"
            ),
            "{entry}"
        );
    }

    #[test]
    fn a_child_that_did_not_end_by_itself_says_why() {
        let mut context = context(1, -1, "");
        context.exit.reason = Some(ExitReason::Timeout);
        let entry = SystemCapturedProgress::default().record(&context);
        assert!(entry.contains("**Exit code:** -1 (timed out)\n"), "{entry}");
    }

    proptest! {
        #[test]
        fn no_output_can_leave_its_fence(
            stdout in "[`~#\\- \na\u{e9}\u{1b}\\[m]{0,120}",
            command in "[a`\n \u{0}]{0,12}",
            file in "[a`\n\r]{0,12}",
            max in 1_usize..100,
        ) {
            let mut context = context(1, 1, &stdout);
            context.validation_command = Some(command);
            context.files_changed = vec![file];
            let entry = SystemCapturedProgress::with_limits(5, max).record(&context);
            let lines: Vec<&str> = entry.lines().collect();
            prop_assert_eq!(lines[5], "**Output:**");
            let fence = lines[6];
            let close = lines[7..].iter().position(|line| line.trim().starts_with(fence)).unwrap();
            prop_assert_eq!(lines[7 + close..].to_vec(), vec![fence, ""]);
        }
    }
}
