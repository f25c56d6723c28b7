#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod cause;
mod clean;
mod failure;
mod fingerprint;
mod hang;
mod line_kind;
mod location;
mod normalize;
mod page;
mod prefilter;
mod progress;
mod reports;
mod scan;
mod score;
mod select;
mod similar;
mod tail;
mod tally;
#[cfg(test)]
mod tests;
mod tools;
mod words;

use serde::Serialize;

use failure::{Failure, SUITE, Stage};
use page::Page;

pub use clean::{clean, without_escapes};
pub use fingerprint::Fingerprint;
pub use reports::{NamedTest, TestStatus, read_report};
pub use similar::{Features, Neighbours};
pub use tail::{Cut, TRUNCATED, blind_tail, tails};
pub use tally::{Groups, Level, Ran, Tally};

/// Minimum score of a line that may be a message.
const MIN_SCORE: i32 = 5;

/// Maximum number of messages that are attached to tests without one.
const MAX_STRAY_MESSAGES: usize = 40;

/// Maximum number of lines in the fingerprint of an output without a known tool.
const MAX_FINGERPRINT_LINES: usize = 5;

/// The output and the exit code of a command.
#[derive(Debug, Clone, Copy, Default)]
pub struct Output<'a> {
    /// The standard output, or both streams as a terminal shows them.
    pub stdout: &'a str,
    /// The standard error.
    pub stderr: &'a str,
    /// The exit code, if it is known; 124 and -1 stand for a timeout.
    pub exit_code: Option<i32>,
    /// Paths below this directory are shown relative to it.
    pub cwd: Option<&'a str>,
    /// True if the middle of a stream was left out.
    pub is_partial: bool,
}

/// The analysis of an output, which gives excerpts of any length and can be compared with others.
#[derive(Debug)]
pub struct Examination {
    page: Page,
    /// The most important first.
    failures: Vec<Failure>,
}

/// A failure that a tool reported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Summary<'a> {
    /// `build`, `test`, `crash`, `hang`, `other`, or `echo` for what only follows from something else.
    pub stage: &'static str,
    /// The format that was recognized, which may be shared by several tools.
    pub tool: &'static str,
    /// The name of the test, or empty.
    pub id: &'a str,
    /// The code of the error or of the rule, such as `E0308`, or empty.
    pub code: &'a str,
    /// The error message, or empty.
    pub message: &'a str,
    /// The expected and the actual value, and what else a comparison printed.
    pub values: &'a [String],
    /// The file that it names, or empty.
    pub file: &'a str,
}

/// Analyzes the output of a command.
///
/// ```
/// use failure_excerpt::{Output, examine};
///
/// let stderr = "src/main.rs:3:9: error: expected `;`\n";
/// let examined = examine(&Output { stderr, exit_code: Some(1), ..Output::default() });
/// assert_eq!(examined.summaries()[0].file, "src/main.rs");
/// ```
pub fn examine(output: &Output<'_>) -> Examination {
    let mut page = Page::new(output.stdout, output.stderr, output.cwd);
    page.is_partial |= output.is_partial;
    let mut failures = scan::scan(&page);
    if let Some(started) = hang::unfinished_test(&page) {
        add_unfinished_test(&mut failures, started, output.exit_code);
    }
    // make repeats the crash of a command that it ran.
    if failures.iter().any(|failure| failure.stage == Stage::Crash && failure.tool != "make") {
        for failure in failures.iter_mut().filter(|failure| failure.tool == "make") {
            failure.stage = Stage::Secondary;
        }
    }
    attach_messages(&page, &mut failures);
    failures.sort_by_key(|failure| (rank(failure), failure.run));
    Examination { page, failures }
}

/// Returns the key by which failures are sorted: those with a message or a name first, then by the step of the chain.
fn rank(failure: &Failure) -> (bool, Stage) {
    (!failure.is_explained() && failure.id.is_empty(), failure.stage)
}

/// Attributes a nameless crash to the unfinished test; without one, adds the test as a hang.
fn add_unfinished_test(failures: &mut Vec<Failure>, started: Failure, exit_code: Option<i32>) {
    if failures.iter().any(|failure| failure.id == started.id) {
        return;
    }
    if let Some(crash) = failures
        .iter_mut()
        .find(|failure| failure.stage == Stage::Crash && failure.id.is_empty() && failure.file.is_empty())
    {
        crash.id = started.id;
        crash.parts.extend(started.parts);
        return;
    }
    let is_cut_short = matches!(exit_code, Some(-1 | 124 | 137 | 143));
    let has_cause = failures.iter().any(|failure| failure.stage != Stage::Secondary);
    if is_cut_short || !has_cause {
        failures.push(started);
    }
}

/// Attaches stray messages, such as `a.c:12: expected 3, got 2`, to failed tests without one: some runners name the test on
/// one stream, and the test prints the reason on the other.
fn attach_messages(page: &Page, failures: &mut [Failure]) {
    if failures.iter().any(|failure| failure.stage < Stage::Other && !is_silent(failure)) {
        return;
    }
    let mut silent: Vec<&mut Failure> = failures.iter_mut().filter(|failure| is_silent(failure)).collect();
    if silent.is_empty() {
        return;
    }
    let messages = (0..page.len()).filter(|at| {
        failure::split_location(page.line(*at)).is_some() && score::score(page.line(*at)) >= MIN_SCORE
    });
    let messages: Vec<usize> = messages.take(MAX_STRAY_MESSAGES).collect();
    if silent.len() > 1 && messages.len() != silent.len() {
        return;
    }
    let last = silent.len().saturating_sub(1);
    for (number, at) in messages.into_iter().enumerate() {
        silent[number.min(last)].add_body(page, at, at + 1, failure::FrameOrder::NewestFirst);
    }
}

fn is_silent(failure: &Failure) -> bool {
    failure.stage == Stage::Test && !failure.is_explained()
}

impl Examination {
    /// Returns an excerpt of at most `max_chars` characters.
    pub fn excerpt(&self, max_chars: usize) -> String {
        select::select(&self.page, &self.failures, max_chars)
    }

    /// Returns the failures of the known tools, the most important first.
    pub fn summaries(&self) -> Vec<Summary<'_>> {
        let summaries =
            self.failures.iter().map(|Failure { stage, tool, id, code, message, values, file, .. }| {
                Summary { stage: stage.as_str(), tool, id, code, message, values, file }
            });
        summaries.collect()
    }

    /// Returns the cause as one line of at most `max_chars` characters: the message of the primary failure with, if they are
    /// known, the name of the test, the expected and the actual value, and the location. If no tool is known it is the most
    /// relevant line. `None` if there is no such line.
    ///
    /// ```
    /// use failure_excerpt::{Output, examine};
    ///
    /// let stderr = "sh: 1: pytset: not found\nmake: *** [Makefile:2: test] Error 127\n";
    /// let examined = examine(&Output { stderr, exit_code: Some(2), ..Output::default() });
    /// assert_eq!(examined.cause(200).as_deref(), Some("sh: 1: pytset: not found"));
    /// ```
    pub fn cause(&self, max_chars: usize) -> Option<String> {
        self.primary_failure()
            .and_then(|failure| cause::of_failure(&self.page, failure, max_chars))
            .or_else(|| cause::of_text(&self.page, max_chars))
    }

    /// Returns true if the output says what failed: a tool reports it, or a line has the words of a failure.
    pub fn is_explained(&self) -> bool {
        let is_told = |at: usize| cause::is_telling(self.page.line(at));
        self.primary_failure().is_some_and(|failure| cause::of_failure(&self.page, failure, 80).is_some())
            || (0..self.page.len()).any(is_told)
    }

    /// Returns the most important failure. It does not depend on the order of the output: tests run in any order, compilers in
    /// parallel.
    fn primary_failure(&self) -> Option<&Failure> {
        self.failures.iter().min_by_key(|failure| {
            (
                rank(failure),
                failure.run,
                !failure.is_exception(),
                scan::id_key(&failure.id),
                failure.file.as_str(),
            )
        })
    }

    /// Returns the fingerprint of the primary failure, or `None` if there is nothing to compare.
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        if let Some(failure) = self
            .primary_failure()
            .filter(|failure| failure.stage != Stage::Secondary || self.failures.len() == 1)
        {
            // Only tests of the same run: a chain that stops at the first failure has no later runs.
            let is_test =
                |test: &&Failure| test.stage == Stage::Test && test.tool != SUITE && test.run == failure.run;
            let tests: Vec<&str> = if failure.stage == Stage::Test {
                self.failures.iter().filter(is_test).map(|test| test.id.as_str()).collect()
            } else {
                Vec::new()
            };
            Some(Fingerprint::of(failure, &tests))
        } else {
            let lines = self.most_relevant_lines();
            (!lines.is_empty()).then(|| Fingerprint::of_text(&lines))
        }
    }

    /// Returns the most relevant lines of an output without a known tool.
    fn most_relevant_lines(&self) -> Vec<&str> {
        let scores = (0..self.page.len()).map(|at| (score::score(self.page.line(at)), at));
        let mut best: Vec<(i32, usize)> = scores.filter(|(score, _)| *score >= MIN_SCORE).collect();
        best.sort_unstable_by_key(|&(score, at)| (-score, at));
        best.truncate(MAX_FINGERPRINT_LINES);
        if best.is_empty() {
            best.extend(self.page.last_lines().into_iter().flatten().map(|at| (0, at)));
        }
        best.into_iter().map(|(_, at)| self.page.line(at)).collect()
    }
}
