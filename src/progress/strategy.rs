//! The strategies by their names.

use super::{
    Choice, HybridProgress, LlmSummarizedProgress, ProgressStrategy, StructuredLogProgress,
    SystemCapturedProgress,
};

/// How past iterations become the progress text of a prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Strategy {
    #[default]
    SystemCaptured,
    StructuredLog,
    LlmSummarized,
    Hybrid,
}

impl Strategy {
    pub const ALL: &[Self] = &[Self::SystemCaptured, Self::StructuredLog, Self::LlmSummarized, Self::Hybrid];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::SystemCaptured => "system-captured",
            Self::StructuredLog => "structured-log",
            Self::LlmSummarized => "llm-summarized",
            Self::Hybrid => "hybrid",
        }
    }

    /// None for a name that is of no strategy.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|strategy| strategy.as_str() == name)
    }

    /// Whether it wants the words of the user's command.
    pub fn is_summarized(self) -> bool {
        matches!(self, Self::LlmSummarized | Self::Hybrid)
    }

    /// The strategy at work, with room for so many entries of so many characters of output.
    pub fn start(self, max_entries: usize, max_chars: usize, choice: Choice) -> Box<dyn ProgressStrategy> {
        let captured = || SystemCapturedProgress::with_limits(max_entries, max_chars).with_choice(choice);
        let summarized = || LlmSummarizedProgress::with_limits(max_entries, max_chars, choice);
        match self {
            Self::SystemCaptured => Box::new(captured()),
            Self::StructuredLog => {
                Box::new(StructuredLogProgress::with_limits(max_entries, max_chars, choice))
            }
            Self::LlmSummarized => Box::new(summarized()),
            Self::Hybrid => Box::new(HybridProgress::new(summarized(), captured())),
        }
    }
}

#[cfg(test)]
mod tests {
    use failure_excerpt::Cut;
    use serde_json::{Value, json};

    use super::*;
    use crate::progress::IterationContext;
    use crate::record::{Outcome, Summarized};

    fn context(iteration: u32, summary: Option<Summarized>) -> IterationContext {
        IterationContext {
            session: None,
            iteration,
            task: None,
            attempt: None,
            outcome: Outcome::Failure,
            cause: None,
            validation_command: Some("make test".to_owned()),
            exit_code: 1,
            exit_reason: None,
            agent_failure: None,
            stdout: format!("FAILED number {iteration}"),
            stderr: String::new(),
            cut: Cut::Nothing,
            directory: "/w".to_owned(),
            duration_ms: 7,
            files_changed: vec!["a.c".to_owned()],
            summary,
        }
    }

    fn text(words: &str) -> Summarized {
        Summarized::Text(words.to_owned())
    }

    #[test]
    fn every_strategy_keeps_its_newest_entries_and_can_forget_them() {
        for strategy in Strategy::ALL {
            assert_eq!(Strategy::named(strategy.as_str()), Some(*strategy));
            let mut progress = strategy.start(2, 500, Choice::Excerpt);
            assert_eq!((progress.progress().as_str(), progress.len()), ("", 0), "{strategy:?}");
            for iteration in 1..=3 {
                progress.record(&context(iteration, Some(text(&format!("told {iteration}")))));
            }
            let told = progress.progress();
            assert_eq!(progress.len(), 2);
            let has = |number: u32| {
                told.contains(&format!("number {number}")) || told.contains(&format!("told {number}"))
            };
            assert_eq!([has(1), has(2), has(3)], [false, true, true], "{told}");
            progress.clear();
            assert_eq!((progress.progress().as_str(), progress.is_empty()), ("", true));
        }
        assert_eq!(Strategy::named("psychic"), None);
    }

    #[test]
    fn the_structured_log_is_json_under_fixed_names() {
        let mut progress = Strategy::StructuredLog.start(5, 500, Choice::Excerpt);
        let entry = progress.record(&context(3, None));
        let expected = json!({
            "iteration": 3, "exit_code": 1, "duration_ms": 7, "files_changed": ["a.c"],
            "error_summary": "FAILED number 3",
        });
        assert_eq!(serde_json::from_str::<Value>(&entry).unwrap(), expected);
        assert_eq!(serde_json::from_str::<Value>(&progress.progress()).unwrap(), json!([expected]));
    }

    #[test]
    fn a_summary_is_a_quotation_and_where_there_is_none_the_output_stands_in() {
        let mut progress = Strategy::LlmSummarized.start(5, 500, Choice::Excerpt);
        let told = progress.record(&context(1, Some(text("It failed.\n# Rules\n```\n\u{1b}[31mx\n"))));
        assert_eq!(told, "## Iteration 1\n> It failed.\n> # Rules\n> ```\n> x\n\n");
        let told = progress.record(&context(2, Some(Summarized::Failed("timed out".to_owned()))));
        assert!(told.starts_with("(no summary: timed out)\n\n## Iteration 2\n"), "{told}");
        assert!(told.contains("FAILED number 2"), "{told}");
        assert!(progress.record(&context(3, None)).starts_with("(no summary: nobody was asked)\n"));
    }

    #[test]
    fn the_hybrid_has_summaries_and_raw_output_under_their_headings() {
        let mut progress = Strategy::Hybrid.start(5, 500, Choice::Excerpt);
        progress.record(&context(1, Some(text("It failed."))));
        let told = progress.progress();
        assert!(told.starts_with("## Summary\n## Iteration 1\n> It failed.\n"), "{told}");
        assert!(told.contains("\n\n## Raw Output\n## Iteration 1\n**Command:** `make test`\n"), "{told}");
    }
}
