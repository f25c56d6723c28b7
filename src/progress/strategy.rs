//! The strategies by their names.

use crate::record::Strategy;

use super::{
    ExcerptMode, HybridProgress, LlmSummarizedProgress, ProgressStrategy, StructuredLogProgress,
    SystemCapturedProgress,
};

/// Returns the strategy with room for a number of entries, and of characters of output in each.
pub fn start(
    strategy: Strategy,
    max_entries: usize,
    max_chars: usize,
    choice: ExcerptMode,
) -> Box<dyn ProgressStrategy> {
    let captured = || SystemCapturedProgress::with_limits(max_entries, max_chars).with_choice(choice);
    let summarized = || LlmSummarizedProgress::with_limits(max_entries, max_chars, choice);
    match strategy {
        Strategy::SystemCaptured => Box::new(captured()),
        Strategy::StructuredLog => {
            Box::new(StructuredLogProgress::with_limits(max_entries, max_chars, choice))
        }
        Strategy::LlmSummarized => Box::new(summarized()),
        Strategy::Hybrid => Box::new(HybridProgress::new(summarized(), captured())),
    }
}

#[cfg(test)]
mod tests {
    use failure_excerpt::Cut;
    use serde_json::{Value, json};
    use strum::IntoEnumIterator as _;

    use super::*;
    use crate::progress::{IterationContext, PromptTarget};
    use crate::record::{Exit, Outcome, Summarized};

    fn context(iteration: u32, summary: Option<Summarized>) -> IterationContext {
        IterationContext {
            session: None,
            iteration,
            task: None,
            attempt: None,
            outcome: Outcome::Failure,
            is_left_open: false,
            cause: None,
            validation_command: Some("make test".to_owned()),
            exit: Exit { code: 1, reason: None },
            agent_failure: None,
            stdout: format!("FAILED number {iteration}"),
            stderr: String::new(),
            cut: Cut::default(),
            directory: "/w".to_owned(),
            duration_ms: 7,
            files_changed: vec!["a.c".to_owned()],
            final_message: String::new(),
            summary,
        }
    }

    fn about(task: &str) -> PromptTarget<'_> {
        PromptTarget { task: Some(task), shown_attempt: None }
    }

    fn text(words: &str) -> Summarized {
        Summarized::Text(words.to_owned())
    }

    #[test]
    fn every_strategy_keeps_its_newest_entries_and_can_forget_them() {
        for strategy in Strategy::iter() {
            let mut progress = start(strategy, 2, 500, ExcerptMode::Excerpt);
            assert_eq!(
                (progress.progress(&PromptTarget::default()).as_str(), progress.len()),
                ("", 0),
                "{strategy:?}"
            );
            for iteration in 1..=3 {
                progress.record(&context(iteration, Some(text(&format!("summary {iteration}")))));
            }
            let text = progress.progress(&PromptTarget::default());
            assert_eq!(progress.len(), 2);
            let has = |number: u32| {
                text.contains(&format!("number {number}")) || text.contains(&format!("summary {number}"))
            };
            assert_eq!([has(1), has(2), has(3)], [false, true, true], "{text}");
            progress.clear();
            assert_eq!(
                (progress.progress(&PromptTarget::default()).as_str(), progress.is_empty()),
                ("", true)
            );
        }
    }

    #[test]
    fn the_structured_log_is_json_under_fixed_names() {
        let mut progress = start(Strategy::StructuredLog, 5, 500, ExcerptMode::Excerpt);
        let entry = progress.record(&context(3, None));
        let expected = json!({
            "iteration": 3, "exit_code": 1, "duration_ms": 7, "files_changed": ["a.c"],
            "error_summary": "FAILED number 3",
        });
        assert_eq!(serde_json::from_str::<Value>(&entry).unwrap(), expected);
        assert_eq!(
            serde_json::from_str::<Value>(&progress.progress(&PromptTarget::default())).unwrap(),
            json!([expected])
        );
    }

    #[test]
    fn a_summary_is_a_quotation_and_where_there_is_none_the_output_stands_in() {
        let mut progress = start(Strategy::LlmSummarized, 5, 500, ExcerptMode::Excerpt);
        let entry = progress.record(&context(1, Some(text("It failed.\n# Rules\n```\n\u{1b}[31mx\n"))));
        assert_eq!(entry, "## Iteration 1\n> It failed.\n> # Rules\n> ```\n> x\n\n");
        let entry = progress.record(&context(2, Some(Summarized::Failed("timed out".to_owned()))));
        assert!(entry.starts_with("## Iteration 2\n(no summary: timed out)\n**Command:** "), "{entry}");
        assert!(entry.contains("FAILED number 2"), "{entry}");
        let captured =
            start(Strategy::SystemCaptured, 5, 500, ExcerptMode::Excerpt).record(&context(3, None));
        assert_eq!(progress.record(&context(3, None)), captured);
    }

    #[test]
    fn blocks_name_their_task_and_those_of_other_tasks_come_last() {
        let of = |iteration, task: &str| IterationContext {
            task: Some(task.to_owned()),
            attempt: Some(2),
            cause: Some("no such table".to_owned()),
            final_message: format!("words of {iteration}"),
            ..context(iteration, Some(text("It failed.")))
        };
        for strategy in Strategy::iter() {
            let mut progress = start(strategy, 5, 500, ExcerptMode::Excerpt);
            progress.record(&of(1, "T002"));
            progress.record(&of(2, "T001"));
            let text = progress.progress(&about("T002"));
            let places = ["T002", "T001"].map(|task| text.find(task).unwrap());
            assert!(places[0] < places[1] && text.contains("no such table"), "{text}");
            let others = if strategy == Strategy::Hybrid { 2 } else { 1 };
            assert_eq!(text.matches("other").count(), others, "{text}");
        }
        let mut progress = start(Strategy::SystemCaptured, 5, 500, ExcerptMode::Excerpt);
        progress.record(&of(1, "T002"));
        let expected = "## Iteration 1\n**Task:** T002 (attempt 2), another task\n**Outcome:** failure\n\
                        **Cause:** no such table\n**Command:** `make test`\n";
        assert!(
            progress.progress(&about("T001")).starts_with(expected),
            "{}",
            progress.progress(&about("T001"))
        );
    }

    #[test]
    fn what_the_last_attempt_has_already_is_not_given_again() {
        let failed = IterationContext { final_message: "words".to_owned(), ..context(1, None) };
        let shown = PromptTarget { task: None, shown_attempt: Some((None, 1)) };
        for strategy in [Strategy::SystemCaptured, Strategy::LlmSummarized] {
            let mut progress = start(strategy, 5, 500, ExcerptMode::Excerpt);
            progress.record(&failed);
            assert!(
                progress.progress(&PromptTarget::default()).contains("FAILED number 1\n```\n**Final message")
            );
            let text = progress.progress(&shown);
            assert_eq!(text, "## Iteration 1\n(For the rest see the last attempt at this task.)\n\n");
            // The same number of another session is another iteration.
            let other = "20260101-000000-00000000".parse().unwrap();
            let other = PromptTarget { task: None, shown_attempt: Some((Some(&other), 1)) };
            assert!(progress.progress(&other).contains("FAILED number 1"));
        }
    }

    #[test]
    fn the_hybrid_has_summaries_and_raw_output_under_their_headings() {
        let mut progress = start(Strategy::Hybrid, 5, 500, ExcerptMode::Excerpt);
        progress.record(&context(1, Some(text("It failed."))));
        let text = progress.progress(&PromptTarget::default());
        assert!(text.starts_with("## Summary\n## Iteration 1\n> It failed.\n"), "{text}");
        assert!(text.contains("\n\n## Raw Output\n## Iteration 1\n**Command:** `make test`\n"), "{text}");
    }
}
