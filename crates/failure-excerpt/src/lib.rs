#![doc = include_str!("../README.md")]
#![warn(missing_docs)]
#![expect(clippy::too_many_lines, reason = "its rules become data")]

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
mod scan_state;
mod score;
mod select;
mod similar;
mod tail;
#[cfg(test)]
mod tests;
mod tools;
mod words;

use serde::Serialize;

use failure::{Failure, SUITE, Stage};
use page::Page;

pub use clean::clean;
pub use fingerprint::Fingerprint;
pub use similar::{Features, Neighbours};
pub use tail::{Cut, TRUNCATED, blind_tail, tails};

/// What a command left behind.
#[derive(Debug, Clone, Copy, Default)]
pub struct Output<'a> {
    /// The standard output, or both streams as a terminal shows them.
    pub stdout: &'a str,
    /// The standard error.
    pub stderr: &'a str,
    /// Which of the two lost its front before it came here.
    pub cut: Cut,
    /// The exit code, if it is known; 124 and -1 stand for a timeout.
    pub exit_code: Option<i32>,
    /// Paths below this folder are shown as seen from it.
    pub cwd: Option<&'a str>,
}

/// An output that was read through: ready for excerpts of any length, and for comparison.
#[derive(Debug)]
pub struct Examination {
    page: Page,
    /// Worth most first.
    failures: Vec<Failure>,
}

/// One failure that a tool complains of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Summary<'a> {
    /// `build`, `test`, `crash`, `hang`, `other`, or `echo` for what only follows from something else.
    pub stage: &'static str,
    /// The format that was recognised, which may be shared by several tools.
    pub tool: &'static str,
    /// The name of the test, or empty.
    pub id: &'a str,
    /// The code of the error or of the rule, such as `E0308`, or empty.
    pub code: &'a str,
    /// What it says.
    pub message: &'a str,
    /// The expected and the actual value, and what else a comparison printed.
    pub values: &'a [String],
    /// The file that it names, or empty.
    pub file: &'a str,
}

impl<'a> Summary<'a> {
    fn of(failure: &'a Failure) -> Self {
        Self {
            stage: failure.stage.as_str(),
            tool: failure.tool,
            id: &failure.id,
            code: &failure.code,
            message: &failure.message,
            values: &failure.values,
            file: &failure.file,
        }
    }
}

/// Reads an output through.
///
/// ```
/// use failure_excerpt::{Output, examine};
///
/// let stderr = "src/main.rs:3:9: error: expected `;`\n";
/// let examined = examine(&Output { stderr, exit_code: Some(1), ..Output::default() });
/// assert_eq!(examined.summaries()[0].file, "src/main.rs");
/// ```
pub fn examine(output: &Output<'_>) -> Examination {
    let page = Page::new(output.stdout, output.stderr, output.cwd);
    let mut failures = scan::scan(&page);
    if let Some(started) = hang::unfinished_test(&page) {
        add_started(&mut failures, started, output.exit_code);
    }
    // make says of what died that it died.
    if failures.iter().any(|failure| failure.stage == Stage::Crash && failure.tool != "make") {
        for failure in failures.iter_mut().filter(|failure| failure.tool == "make") {
            failure.stage = Stage::Secondary;
        }
    }
    adopt_words(&page, &mut failures);
    failures.sort_by_key(|failure| (rank(failure), failure.run));
    Examination { page, failures }
}

/// The first check of a chain that failed comes first; a crash says more than the tests that it took along.
fn rank(failure: &Failure) -> (bool, u8) {
    let stage = match failure.stage {
        Stage::Build => 0,
        Stage::Test => 1,
        Stage::Crash => 2,
        Stage::Hang => 3,
        Stage::Other => 4,
        Stage::Secondary => 5,
    };
    (!failure.is_explained() && failure.id.is_empty(), stage)
}

/// A test that did not end is what a crash without a name crashed, or what hangs.
fn add_started(failures: &mut Vec<Failure>, started: Failure, exit_code: Option<i32>) {
    if failures.iter().any(|failure| failure.id == started.id) {
        return;
    }
    let is_nameless = |failure: &&mut Failure| {
        failure.stage == Stage::Crash && failure.id.is_empty() && failure.file.is_empty()
    };
    if let Some(crash) = failures.iter_mut().find(is_nameless) {
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

/// A runner may name the test on one stream, and the test say on the other why it failed: `a.c:12: expected 3, got 2`.
fn adopt_words(page: &Page, failures: &mut [Failure]) {
    let is_silent = |failure: &Failure| {
        failure.stage == Stage::Test && failure.message.is_empty() && !failure.is_explained()
    };
    let silent: Vec<usize> = (0..failures.len()).filter(|&index| is_silent(&failures[index])).collect();
    if silent.is_empty() || failures.iter().any(|failure| failure.stage < Stage::Other && !is_silent(failure))
    {
        return;
    }
    let words = |at: &usize| {
        let line = page.line(*at);
        failure::split_location(line).is_some() && score::score(line) >= 5
    };
    let said: Vec<usize> = (0..page.len()).filter(words).take(40).collect();
    if silent.len() > 1 && said.len() != silent.len() {
        return;
    }
    for (number, &at) in said.iter().enumerate() {
        let failure = &mut failures[silent[number.min(silent.len() - 1)]];
        failure.add_body(page, at, at + 1, failure::FrameOrder::NewestFirst);
    }
}

impl Examination {
    /// Returns what a developer needs of it, in at most `max_chars` characters.
    pub fn excerpt(&self, max_chars: usize) -> String {
        select::select(&self.page, &self.failures, max_chars)
    }

    /// Returns what went wrong, as far as tools are known, the most important first.
    pub fn summaries(&self) -> Vec<Summary<'_>> {
        self.failures.iter().map(Summary::of).collect()
    }

    /// Returns one line of at most `max_chars` characters that says why: the message of the first failure with, where they
    /// are known, the name of the test, the expected and the actual value, and the location. If no tool is known it is the
    /// line that says most. `None` if the output says nothing.
    ///
    /// ```
    /// use failure_excerpt::{Output, examine};
    ///
    /// let stderr = "sh: 1: pytset: not found\nmake: *** [Makefile:2: test] Error 127\n";
    /// let examined = examine(&Output { stderr, exit_code: Some(2), ..Output::default() });
    /// assert_eq!(examined.cause(200).as_deref(), Some("sh: 1: pytset: not found"));
    /// ```
    pub fn cause(&self, max_chars: usize) -> Option<String> {
        self.first()
            .and_then(|failure| cause::of_failure(&self.page, failure, max_chars))
            .or_else(|| cause::of_text(&self.page, max_chars))
    }

    /// The failure that stands for all: not the first of the page, as tests run in any order, and compilers side by side.
    fn first(&self) -> Option<&Failure> {
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

    /// Returns the fingerprint of its first cause, or `None` if the output says nothing.
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        if let Some(failure) =
            self.first().filter(|failure| failure.stage != Stage::Secondary || self.failures.len() == 1)
        {
            // What fails in a later run is not seen where the first that fails ends it all.
            let is_test =
                |test: &&Failure| test.stage == Stage::Test && test.tool != SUITE && test.run == failure.run;
            let tests: Vec<&str> = if failure.stage == Stage::Test {
                self.failures.iter().filter(is_test).map(|test| test.id.as_str()).collect()
            } else {
                Vec::new()
            };
            Some(Fingerprint::of(failure, &tests))
        } else {
            let lines = self.telling_lines();
            (!lines.is_empty()).then(|| Fingerprint::of_text(&lines))
        }
    }

    /// Returns the lines that say most if no tool is known.
    fn telling_lines(&self) -> Vec<&str> {
        let scored = (0..self.page.len()).map(|index| (score::score(self.page.line(index)), index));
        let mut best: Vec<(i32, usize)> = scored.filter(|(score, _)| *score >= 5).collect();
        best.sort_by_key(|&(score, index)| (-score, index));
        best.truncate(5);
        if best.is_empty() {
            best.extend(self.page.last_lines().into_iter().flatten().map(|index| (0, index)));
        }
        best.into_iter().map(|(_, index)| self.page.line(index)).collect()
    }
}
