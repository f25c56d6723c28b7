//! The newest iterations in a prompt, in the layout of a strategy.

use std::collections::{HashSet, VecDeque};
use std::fmt::Write as _;

use failure_excerpt::clean;
use serde_json::json;

use super::attempts::{changed_files, failed_commands};
use super::learnings::without_learned;
use super::markdown::{code, fenced, one_line};
use super::names::Names;
use super::selection::Selection;
use super::{Entry, ExcerptMode, IterationContext};
use crate::record::{
    Facts, MAX_LISTED_FILES, SessionId, Strategy, Summarized, Task, join_files, listed_files,
};

/// Length, in bytes, from which on a cause is much longer than a reference to it.
const MIN_CAUSE_BYTES: usize = 28;

/// Longest output that a summary is asked of, in characters.
const OUTPUT_CHARS: usize = 4000;

/// Returns what the user's command is asked about an iteration: all that a later attempt should know of it.
pub fn question(context: &IterationContext, facts: &Facts) -> String {
    let output = context.summarize_output(ExcerptMode::Excerpt, OUTPUT_CHARS);
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

/// The newest iterations of a feature, oldest first.
#[derive(Debug, Clone)]
pub struct Progress {
    strategy: Strategy,
    max_entries: usize,
    /// Maximum number of characters of an output; 0 for the head lines alone.
    max_chars: usize,
    choice: ExcerptMode,
    blocks: VecDeque<Block>,
}

/// An iteration, as a prompt may show it.
#[derive(Debug, Clone)]
struct Block {
    /// Without its streams.
    context: IterationContext,
    /// What is shown of the output; `None` of a success.
    output: Option<String>,
    /// What the agent said last.
    words: String,
    /// Always shown: the last attempt does not have it.
    stderr: String,
}

impl Progress {
    pub fn new(strategy: Strategy, max_entries: usize, max_chars: usize, choice: ExcerptMode) -> Self {
        Self { strategy, max_entries, max_chars, choice, blocks: VecDeque::new() }
    }

    /// Takes in an iteration, whether it passed or failed.
    pub fn record(&mut self, mut context: IterationContext) {
        let has_failed = !context.exit.is_success();
        let output = has_failed.then(|| context.summarize_output(self.choice, self.max_chars));
        let (words, stderr) =
            if self.max_chars == 0 { Default::default() } else { context.words(self.max_chars) };
        (context.stdout, context.stderr) = Default::default();
        self.blocks.push_back(Block { context, output, words, stderr });
        while self.blocks.len() > self.max_entries {
            self.blocks.pop_front();
        }
    }

    /// Returns the text for a prompt. Empty if nothing was recorded. Sessions that `before` names are not named again.
    ///
    /// What is of other tasks than that of the selection comes last and says so.
    pub fn text(&self, selection: &Selection<'_>, before: &str) -> String {
        if self.is_empty() {
            return String::new();
        }
        let text = match self.strategy {
            Strategy::SystemCaptured => self.markdown(selection, false),
            Strategy::LlmSummarized => self.markdown(selection, true),
            Strategy::Hybrid => format!(
                "## Summary\n{}\n\n## Raw Output\n{}",
                self.markdown(selection, true),
                self.markdown(selection, false)
            ),
            Strategy::StructuredLog => return self.json(selection, before),
        };
        selection.names.heading(&text, before) + &text
    }

    /// Returns its iterations, each with its session, if that is another one than the prompt's, its number, and what the text has of
    /// its agent's words.
    pub(super) fn words(&self) -> impl Iterator<Item = (Option<&SessionId>, u32, String)> {
        self.blocks.iter().map(|block| {
            let is_summarized = matches!(self.strategy, Strategy::LlmSummarized | Strategy::Hybrid);
            let summary = block.summary().filter(|_| is_summarized).unwrap_or_default();
            let is_raw = summary.is_empty() || self.strategy == Strategy::Hybrid;
            let words = if is_raw { block.words.as_str() } else { "" };
            (block.context.session.as_ref(), block.context.iteration, format!("{summary}\n{words}"))
        })
    }

    fn json(&self, selection: &Selection<'_>, before: &str) -> String {
        let mut seen = HashSet::new();
        let entries = self.own_task_first(selection.task).map(|(is_other, block)| {
            let mut entry = block.entry();
            if is_other {
                entry.insert("is_other_task".to_owned(), json!(true));
            }
            // The id of a session is in a prompt once.
            let session = block.context.session.as_ref();
            if let Some((id, letter)) = session.and_then(|id| Some((id, selection.names.letter(id)?))) {
                let is_named = before.contains(id.as_str()) || !seen.insert(id);
                let name = if is_named { letter } else { format!("{letter} is {id}") };
                entry.insert("session".to_owned(), json!(name));
            }
            if block.is_last(selection) {
                entry.retain(|name, _| !["cause", "error_summary", "final_message"].contains(&name.as_str()));
                entry.insert("rest".to_owned(), json!("see the last attempt at this task"));
            } else if let Some(message) = entry.get_mut("final_message") {
                *message = json!(without_learned(&block.words, &selection.learned));
            }
            entry
        });
        let entries: Vec<Entry> = entries.collect();
        serde_json::to_string_pretty(&entries).expect("texts and numbers are JSON")
    }

    /// Returns what it remembers as the structured log has it, oldest first.
    pub fn entries(&self) -> Vec<Entry> {
        self.blocks.iter().map(Block::entry).collect()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.blocks.clear();
    }

    /// Number of iterations that it remembers.
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Returns the blocks of the prompt's task, then those of other tasks. The flag is true for the latter.
    fn own_task_first<'a>(
        &'a self,
        task: Option<&Task>,
    ) -> impl Iterator<Item = (bool, &'a Block)> + use<'a> {
        let is_other = |block: &Block| {
            let of = block.context.task.as_ref();
            of.is_some_and(|of| task.is_some_and(|task| task.name != *of))
        };
        let (others, own): (Vec<&Block>, Vec<&Block>) = self.blocks.iter().partition(|block| is_other(block));
        let own = own.into_iter().map(|block| (false, block));
        own.chain(others.into_iter().map(|block| (true, block)))
    }

    /// Returns the blocks as Markdown, with summaries in place of outputs where there are any. A block says if it is about another
    /// task, and points to the last attempt for what the prompt shows there, and to a newer block for an output that is the same.
    fn markdown(&self, selection: &Selection<'_>, is_summarized: bool) -> String {
        let mut text = String::new();
        for (is_other, block) in self.own_task_first(selection.task) {
            let context = &block.context;
            let number = |block: &Block| block.number(&selection.names);
            text.push_str(&format!("## Iteration {}\n", number(block)));
            if let Some(task) = &context.task {
                let attempt =
                    context.attempt.map(|attempt| format!(" (attempt {attempt})")).unwrap_or_default();
                let other = if is_other { ", another task" } else { "" };
                let left_open =
                    if context.is_left_open { " (of other tasks; this one was left open)" } else { "" };
                let task = one_line(task);
                text.push_str(&format!("**Task:** {task}{attempt}{other}\n"));
                text.push_str(&format!("**Outcome:** {}{left_open}\n", context.outcome));
            }
            let is_last = block.is_last(selection);
            // The last attempt says its own.
            if let Some(cause) = context.cause.as_ref().filter(|_| !is_last) {
                let mut newer = self.blocks.iter().rev().take_while(|newer| !std::ptr::eq(*newer, block));
                match newer.find(|newer| newer.context.cause.as_ref() == Some(cause)) {
                    Some(newer) if cause.len() > MIN_CAUSE_BYTES => {
                        text.push_str(&format!("**Cause:** the same as in #{}\n", number(newer)));
                    }
                    _ => text.push_str(&format!("**Cause:** {}\n", one_line(cause))),
                }
            }
            if let Some(summary) = block.summary().filter(|_| is_summarized) {
                let summary: String = clean(summary).trim().chars().take(self.max_chars).collect();
                // As a quotation, so that no heading and no fence of it reaches beyond it.
                text.extend(summary.lines().map(|line| format!("> {line}\n")));
            } else {
                if let (true, Some(Summarized::Failed(reason))) = (is_summarized, &context.summary) {
                    text.push_str(&format!("(no summary: {})\n", one_line(reason)));
                }
                if is_last {
                    text.push_str("(For the rest see the last attempt at this task.)\n");
                } else {
                    text.push_str(&facts(context));
                    let mut shown =
                        self.blocks.iter().rev().filter(|other| !is_summarized || other.summary().is_none());
                    if let Some(output) = block.validation_output().filter(|_| self.max_chars > 0) {
                        match shown.find(|other| other.validation_output() == Some(output)) {
                            Some(newer) if !std::ptr::eq(newer, block) => {
                                text.push_str(&format!("**Output:** the same as in #{}\n", number(newer)));
                            }
                            _ => text.push_str(&format!("**Output:**\n{}", fenced(output))),
                        }
                    }
                    let words = without_learned(&block.words, &selection.learned);
                    text.push_str(&titled("Final message", &words));
                }
                text.push_str(&titled("Stderr of the agent", &block.stderr));
            }
            text.push('\n');
        }
        text
    }
}

fn titled(title: &str, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("**{title}:**\n{}", fenced(text)) }
}

impl Block {
    /// Returns its number, as the prompt names it.
    fn number(&self, names: &Names) -> String {
        let other =
            self.context.session.as_ref().map(|session| names.number(session, self.context.iteration));
        other.unwrap_or_else(|| self.context.iteration.to_string())
    }

    /// Returns true if the prompt describes it as the last attempt.
    fn is_last(&self, selection: &Selection<'_>) -> bool {
        let session = self.context.session.as_ref().or(selection.names.own());
        session.is_some_and(|session| selection.points_to_last(session, self.context.iteration))
    }

    fn summary(&self) -> Option<&str> {
        match &self.context.summary {
            Some(Summarized::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Returns what a validation printed that failed: the words of an agent are shown by themselves.
    fn validation_output(&self) -> Option<&str> {
        self.output.as_deref().filter(|_| self.context.validation_command.is_some())
    }

    fn entry(&self) -> Entry {
        let context = &self.context;
        let session = context.session.as_ref().map(|session| ("session", json!(session)));
        let task = context.task.as_ref().map(|task| {
            [
                ("task", json!(task)),
                ("attempt", json!(context.attempt)),
                ("outcome", json!(context.outcome)),
                ("cause", json!(context.cause)),
            ]
        });
        let (named, more) = listed_files(&context.files_changed, MAX_LISTED_FILES);
        // A success has no error to sum up.
        let summary = (context.exit.code != 0).then_some(&self.output);
        let has_message = !context.final_message.is_empty() && !self.words.is_empty();
        let message = has_message.then(|| ("final_message", json!(self.words)));
        let fields = session.into_iter().chain([("iteration", json!(context.iteration))]);
        let fields = fields.chain(task.into_iter().flatten()).chain([
            ("exit_code", json!(context.exit.code)),
            ("duration_ms", json!(context.duration_ms)),
            ("files_changed", json!([named, more.as_slice()].concat())),
            ("error_summary", json!(summary)),
        ]);
        fields.chain(message).map(|(name, value)| (name.to_owned(), value)).collect()
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
    let agent = agent.map(|failure| format!("**Agent:** {}\n", one_line(failure))).unwrap_or_default();
    let reason = context.exit.reason.map(|reason| format!(" ({})", reason.description())).unwrap_or_default();
    let files = one_line(&join_files(&context.files_changed, MAX_LISTED_FILES));
    let files = if files.is_empty() { "none" } else { &files };
    format!(
        "{agent}{command}**{exit}:** {}{reason}\n**Duration:** {}ms\n**Files changed:** {files}\n",
        context.exit.code, context.duration_ms
    )
}

#[cfg(test)]
mod tests {
    use failure_excerpt::Cut;
    use proptest::{prop_assert_eq, proptest};
    use serde_json::Value;
    use strum::IntoEnumIterator as _;

    use super::super::samples::iteration;
    use super::*;
    use crate::record::{Exit, ExitReason, Iteration, Outcome};

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

    fn start(strategy: Strategy, max_entries: usize, max_chars: usize) -> Progress {
        Progress::new(strategy, max_entries, max_chars, ExcerptMode::Excerpt)
    }

    fn captured(max_entries: usize, max_chars: usize) -> Progress {
        start(Strategy::SystemCaptured, max_entries, max_chars)
    }

    /// Returns what a prompt has of one iteration.
    fn entry(mut progress: Progress, context: &IterationContext) -> String {
        progress.record(context.clone());
        progress.text(&Selection::default(), "")
    }

    fn text(words: &str) -> Summarized {
        Summarized::Text(words.to_owned())
    }

    #[test]
    fn every_strategy_keeps_its_newest_entries_and_can_forget_them() {
        for strategy in Strategy::iter() {
            let mut progress = start(strategy, 2, 500);
            assert_eq!(
                (progress.text(&Selection::default(), "").as_str(), progress.len()),
                ("", 0),
                "{strategy:?}"
            );
            for iteration in 1..=3 {
                progress.record(context(iteration, Some(text(&format!("summary {iteration}")))));
            }
            let text = progress.text(&Selection::default(), "");
            assert_eq!(progress.len(), 2);
            let has = |number: u32| {
                text.contains(&format!("number {number}")) || text.contains(&format!("summary {number}"))
            };
            assert_eq!([has(1), has(2), has(3)], [false, true, true], "{text}");
            progress.clear();
            assert_eq!((progress.text(&Selection::default(), "").as_str(), progress.is_empty()), ("", true));
        }
    }

    #[test]
    fn the_structured_log_is_json_under_fixed_names() {
        let text = entry(start(Strategy::StructuredLog, 5, 500), &context(3, None));
        let expected = json!({
            "iteration": 3, "exit_code": 1, "duration_ms": 7, "files_changed": ["a.c"],
            "error_summary": "FAILED number 3",
        });
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), json!([expected]));
    }

    #[test]
    fn a_summary_is_a_quotation_and_where_there_is_none_the_output_stands_in() {
        let progress = start(Strategy::LlmSummarized, 5, 500);
        let of = |number, summary| entry(progress.clone(), &context(number, summary));
        let words = of(1, Some(text("It failed.\n# Rules\n```\n\u{1b}[31mx\n")));
        assert_eq!(words, "## Iteration 1\n> It failed.\n> # Rules\n> ```\n> x\n\n");
        let failed = of(2, Some(Summarized::Failed("timed out".to_owned())));
        assert!(failed.starts_with("## Iteration 2\n(no summary: timed out)\n**Command:** "), "{failed}");
        assert!(failed.contains("FAILED number 2"), "{failed}");
        assert_eq!(of(3, None), entry(captured(5, 500), &context(3, None)));
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
            let mut progress = start(strategy, 5, 500);
            progress.record(of(1, "T002"));
            progress.record(of(2, "T001"));
            let own = task("T002");
            let text = progress.text(&Selection::empty(&[], Some(&own), None), "");
            let places = ["T002", "T001"].map(|task| text.find(task).unwrap());
            assert!(places[0] < places[1] && text.contains("no such table"), "{text}");
            let others = if strategy == Strategy::Hybrid { 2 } else { 1 };
            assert_eq!(text.matches("other").count(), others, "{text}");
        }
        let mut progress = captured(5, 500);
        progress.record(of(1, "T002"));
        let expected = "## Iteration 1\n**Task:** T002 (attempt 2), another task\n**Outcome:** failure\n\
                        **Cause:** no such table\n**Command:** `make test`\n";
        let text = progress.text(&Selection::empty(&[], Some(&task("T001")), None), "");
        assert!(text.starts_with(expected), "{text}");
    }

    fn task(name: &str) -> Task {
        Task { name: name.to_owned(), id: None, text: String::new(), phase: None, story: None }
    }

    #[test]
    fn what_the_last_attempt_has_already_is_not_given_again() {
        let failed = IterationContext { final_message: "words".to_owned(), ..context(1, None) };
        for strategy in [Strategy::SystemCaptured, Strategy::LlmSummarized] {
            let mut progress = start(strategy, 5, 500);
            progress.record(failed.clone());
            assert!(
                progress.text(&Selection::default(), "").contains("FAILED number 1\n```\n**Final message")
            );
            let past = [Iteration { iteration: 1, ..iteration(Outcome::Failure) }];
            let text_for = |session: &SessionId| {
                let mut selection = Selection::empty(&past, None, Some(session));
                (selection.last, selection.final_message_chars) = (Some(0), 1500);
                progress.text(&selection, "")
            };
            let text = text_for(&past[0].session);
            assert_eq!(text, "## Iteration 1\n(For the rest see the last attempt at this task.)\n\n");
            // The same number of another session is another iteration.
            let other = "20260101-000000-00000000".parse().unwrap();
            assert!(text_for(&other).contains("FAILED number 1"));
        }
    }

    #[test]
    fn the_hybrid_has_summaries_and_raw_output_under_their_headings() {
        let mut progress = start(Strategy::Hybrid, 5, 500);
        progress.record(context(1, Some(text("It failed."))));
        let text = progress.text(&Selection::default(), "");
        assert!(text.starts_with("## Summary\n## Iteration 1\n> It failed.\n"), "{text}");
        assert!(text.contains("\n\n## Raw Output\n## Iteration 1\n**Command:** `make test`\n"), "{text}");
    }

    /// Returns an iteration whose validation ended with `exit_code`.
    fn tested(iteration: u32, exit_code: i32, stdout: &str) -> IterationContext {
        IterationContext {
            validation_command: Some("cargo test".to_owned()),
            exit: Exit { code: exit_code, reason: None },
            stdout: stdout.to_owned(),
            directory: String::new(),
            duration_ms: 1000,
            files_changed: vec!["src/lib.rs".to_owned()],
            ..context(iteration, None)
        }
    }

    #[test]
    fn an_iteration_becomes_an_entry() {
        assert_eq!(
            entry(captured(5, 500), &tested(1, 1, "test failed")),
            "## Iteration 1\n**Command:** `cargo test`\n**Exit code:** 1\n**Duration:** 1000ms\n\
             **Files changed:** src/lib.rs\n**Output:**\n```\ntest failed\n```\n\n"
        );
    }

    #[test]
    fn an_output_that_came_again_is_shown_where_it_came_last() {
        let mut progress = captured(5, 500);
        for (iteration, output) in [(1, "no table"), (2, "no route"), (3, "no table")] {
            progress.record(tested(iteration, 1, output));
        }
        let text = progress.text(&Selection::default(), "");
        assert_eq!(text.matches("no table").count(), 1, "{text}");
        let first = text.split("## Iteration 2").next().unwrap();
        assert!(first.ends_with("**Output:** the same as in #3\n\n"), "{first}");
    }

    #[test]
    fn a_cause_that_came_again_and_a_session_are_named_once() {
        let session: SessionId = "20260101-000000-00000000".parse().unwrap();
        let past = [Iteration { session: session.clone(), ..iteration(Outcome::Failure) }];
        for strategy in [Strategy::SystemCaptured, Strategy::StructuredLog] {
            let mut progress = start(strategy, 5, 500);
            for iteration in 1..=3 {
                let cause = Some("the database does not answer on any of its ports".to_owned());
                progress.record(IterationContext {
                    session: Some(session.clone()),
                    cause,
                    final_message: "I looked.\nLearnings:\n- Ports begin at 6000".to_owned(),
                    ..context(iteration, None)
                });
            }
            let mut selection = Selection::empty(&past, None, None);
            selection.learned.insert("ports begin at 6000".to_owned());
            let text = progress.text(&selection, "");
            assert_eq!(text.matches("20260101-000000-00000000").count(), 1, "{text}");
            assert!(!text.contains("6000") && text.contains("I looked."), "{text}");
            if strategy == Strategy::SystemCaptured {
                assert_eq!(text.matches("on any of its ports").count(), 1, "{text}");
                assert!(text.contains("## Iteration A1\n**Cause:** the same as in #A3\n"), "{text}");
            }
            assert!(!progress.text(&selection, "A is 20260101-000000-00000000").contains("20260101"));
        }
    }

    #[test]
    fn long_output_is_cut_and_says_so() {
        let text = entry(captured(5, 50), &tested(1, 1, &"z".repeat(200)));
        assert!(text.contains('…') && text.matches('z').count() < 50, "{text}");
    }

    #[test]
    fn both_streams_are_shown() {
        let mut context = tested(1, 1, "ran 3 tests");
        context.stderr = "panicked".to_owned();
        assert!(entry(captured(5, 500), &context).contains("```\nran 3 tests\npanicked\n```\n"));
        let blind = Progress { choice: ExcerptMode::BlindTail, ..captured(5, 500) };
        assert!(entry(blind, &context).contains("```\nran 3 tests\n```\n"));
    }

    #[test]
    fn zero_entries_keep_none_and_zero_characters_keep_the_head_lines() {
        assert_eq!(entry(captured(0, 500), &tested(1, 1, "x")), "");
        let entry = entry(captured(5, 0), &tested(1, 1, "x"));
        assert!(entry.ends_with("**Files changed:** src/lib.rs\n\n"), "{entry}");
    }

    #[test]
    fn without_a_validation_the_agent_has_the_word() {
        let mut context = tested(2, 0, "I wrote the parser.");
        context.validation_command = None;
        context.files_changed.clear();
        assert_eq!(
            entry(captured(5, 500), &context),
            "## Iteration 2\n**Exit code of the agent:** 0\n**Duration:** 1000ms\n**Files changed:** none\n\
             **Final message:**\n```\nI wrote the parser.\n```\n\n"
        );
    }

    #[test]
    fn the_entry_of_a_failed_agent_has_its_stderr() {
        let mut context = tested(4, 3, "");
        context.validation_command = None;
        context.stderr = "fatal: the frob is missing\n".to_owned();
        let silent = entry(captured(5, 500), &context);
        assert!(
            silent
                .ends_with("src/lib.rs\n**Stderr of the agent:**\n```\nfatal: the frob is missing\n```\n\n"),
            "{silent}"
        );
        context.stdout = "I look for the frob.".to_owned();
        let talking = entry(captured(5, 500), &context);
        let both =
            "**Final message:**\n```\nI look for the frob.\n```\n**Stderr of the agent:**\n```\nfatal: ";
        assert!(talking.contains(both), "{talking}");
        let excerpt = context.summarize_output(ExcerptMode::Excerpt, 500);
        assert_eq!(excerpt, "I look for the frob.\nfatal: the frob is missing");
    }

    #[test]
    fn the_entry_has_an_agents_failure_before_a_validation_too() {
        let mut context = tested(1, 0, "ok");
        context.agent_failure = Some("exited 3: fatal:\nno frob".to_owned());
        let entry = entry(captured(5, 500), &context);
        assert!(
            entry.starts_with(
                "## Iteration 1\n**Agent:** exited 3: fatal: no frob\n**Command:** `cargo test`\n**Exit code:** 0\n"
            ),
            "{entry}"
        );
    }

    #[test]
    fn a_child_that_did_not_end_by_itself_says_why() {
        let mut context = tested(1, -1, "");
        context.exit.reason = Some(ExitReason::Timeout);
        let entry = entry(captured(5, 500), &context);
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
            let mut context = tested(1, 1, &stdout);
            context.validation_command = Some(command);
            context.files_changed = vec![file];
            let entry = entry(captured(5, max), &context);
            let lines: Vec<&str> = entry.lines().collect();
            prop_assert_eq!(lines[5], "**Output:**");
            let fence = lines[6];
            let close = lines[7..].iter().position(|line| line.trim().starts_with(fence)).unwrap();
            prop_assert_eq!(lines[7 + close..].to_vec(), vec![fence, ""]);
        }
    }
}
