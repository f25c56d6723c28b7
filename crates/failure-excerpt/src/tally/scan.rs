//! Goes over the lines once and sums up what each runner counts.

use std::sync::LazyLock;

use super::formats::{FORMATS, Format, SENTENCES, Sum};
use super::go::Go;
use super::model::{Groups, Level, Ran, Tally};
use super::tap::Tap;
use super::template::{Counts, Field, counts_in};
use crate::reports::Counted;

/// Maximum length of a line with counts, in bytes.
pub(super) const MAX_LINE_BYTES: usize = 600;

/// Runners that only repeat what another one counts: the first of a pair is left out if the second is there.
const REPEATED: &[(&str, &str)] = &[
    ("libtest of one test", "nextest"),
    ("surefire by class", "surefire"),
    ("mocha", "cypress"),
    ("sbt", "scalatest"),
    ("googletest", "ctest"),
    ("catch2", "ctest"),
];

/// Runners of builds that may be set up to ignore failed tests.
const OF_BUILDS: &[&str] =
    &["surefire", "surefire by class", "gradle", "junit", "junit 4", "testng", "scalatest", "sbt"];

/// Parts of lines by which a build says that it succeeded, with its runners; none for all. Without such a line a pipe may
/// have lost an exit code.
const SUCCEEDED: &[(&str, &[&str])] = &[
    ("BUILD SUCCESS", OF_BUILDS),
    ("** TEST SUCCEEDED **", &["xctest", "swift-testing"]),
    ("congratulations :)", &[]),
    ("make: [", &[]),
    ("gmake: [", &[]),
];

/// Parts of lines by which one says that it failed.
const FAILED: &[&str] = &["BUILD FAILURE", "BUILD FAILED", "** TEST FAILED **", "evaluation failed :("];

/// The formats by what they begin with, so that a line is held against few of them.
struct Index {
    /// By the first byte of the line.
    by_byte: Vec<Vec<&'static Format>>,
    /// Those that begin with a number, by the first byte of the word after it.
    by_word: Vec<Vec<&'static Format>>,
    /// Those that may begin with anything. All of them end in a parenthesis.
    others: Vec<&'static Format>,
}

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let mut index =
        Index { by_byte: vec![Vec::new(); 256], by_word: vec![Vec::new(); 256], others: Vec::new() };
    for format in FORMATS.iter().chain(SENTENCES) {
        if format.2.starts_with("{*}") || format.2.starts_with("<{*}") {
            index.others.push(format);
        }
        for byte in 0..=u8::MAX {
            if may_begin_with(format.2, byte) {
                index.by_byte[usize::from(byte)].push(format);
            }
            if may_begin_with(format.2, b'0') && may_go_on_with(format.2, byte) {
                index.by_word[usize::from(byte)].push(format);
            }
        }
    }
    index
});

/// Returns true if a line that matches `template` may begin with `byte`.
fn may_begin_with(template: &str, byte: u8) -> bool {
    if let Some(optional) = template.strip_prefix('<') {
        let end = optional.find('>').unwrap_or(optional.len());
        return may_begin_with(optional, byte) || may_begin_with(optional.get(end + 1..).unwrap_or(""), byte);
    }
    if let Some(name) = template.strip_prefix('{') {
        return match name.as_bytes().first() {
            Some(b'*') => false,
            Some(b'=') => byte == b'=',
            _ => byte.is_ascii_digit(),
        };
    }
    template.as_bytes().first() == Some(&byte)
}

/// Returns true if the word after the number that `template` begins with may begin with `byte`.
fn may_go_on_with(template: &str, byte: u8) -> bool {
    let rest = template.strip_prefix('{').and_then(|name| name.split_once("} "));
    match rest {
        Some(("t" | "r" | "p" | "f" | "s" | "b" | "n" | "u" | "_", rest))
            if !rest.starts_with(['<', '{']) =>
        {
            rest.as_bytes().first() == Some(&byte)
        }
        _ => true,
    }
}

/// What one runner counts.
#[derive(Debug)]
struct Runner {
    name: &'static str,
    sum: Sum,
    counts: Counts,
    /// The number of its summaries; more than one if its tests were counted line by line.
    summaries: u64,
}

/// The sums of what each runner counts.
#[derive(Debug, Default)]
pub(super) struct Scan {
    runners: Vec<Runner>,
    broken: u64,
    focused: Option<String>,
    groups: Option<Groups>,
    /// The runners of builds that succeeded, and whether one failed.
    succeeded: Vec<&'static [&'static str]>,
    has_failed_build: bool,
}

/// What is known only after the last line.
#[derive(Debug, Default)]
struct State {
    tap: Tap,
    go: Go,
    /// True after pytest reported errors from before the tests.
    is_collecting: bool,
    /// True below the heading of pytest-sugar's summary, which has a line for each count.
    is_in_results: bool,
    /// The marks of `pytest -qq`, which has no summary.
    dots: Counts,
    /// Lines with the sign of a test that passed.
    check_marks: u64,
    /// True after Gradle named a task that tests.
    has_gradle_task: bool,
    gradle_tests: Counts,
    /// Tests that googletest started.
    googletest_started: u64,
}

/// Reads the lines of one stream.
pub(super) fn scan(lines: &[&str]) -> Scan {
    let mut scan = Scan::default();
    let mut state = State::default();
    for line in lines {
        if line.len() <= MAX_LINE_BYTES && !line.is_empty() {
            scan.read(line, &mut state);
        }
    }
    scan.finish(state);
    scan
}

impl Scan {
    fn read(&mut self, line: &str, state: &mut State) {
        let text = line.trim();
        let Some(&first) = text.as_bytes().first() else { return };
        let text = if first == b'[' { strip_level(text) } else { text };
        if text.starts_with(['B', '*', 'c', 'e', 'g', 'm']) {
            self.read_verdict(text);
        }
        if state.is_in_results {
            if let Some(counts) = counts_in("{w}", text) {
                return self.add("pytest", Sum::Add, &counts);
            }
            state.is_in_results = false;
        }
        let indented = if line.starts_with(' ') { format_of(line) } else { None };
        let found = indented.or_else(|| format_of(text)).or_else(|| format_of(strip_sign(text)));
        match found {
            Some((&(_, Sum::Focus, _), _)) => {
                self.focused.get_or_insert_with(|| text.to_owned());
            }
            Some((&(name, sum, _), mut counts)) => {
                if name == "pytest" && std::mem::take(&mut state.is_collecting) {
                    counts.move_all(Field::Errors, Field::Broken);
                }
                state.is_in_results = text.starts_with("Results (");
                self.add(name, sum, &counts);
            }
            None if !state.tap.read(line) && !state.go.read(line) => state.read(text),
            None => {}
        }
    }

    /// Takes in the verdict of a build on all that it ran.
    fn read_verdict(&mut self, text: &str) {
        // make says of a line after which it goes on: `make: [Makefile:2: test] Error 1 (ignored)`.
        let is_ignored = !text.contains("ake: [") || text.ends_with("(ignored)");
        let found = SUCCEEDED.iter().find(|(part, _)| text.contains(part) && is_ignored);
        self.succeeded.extend(found.map(|(_, runners)| runners));
        self.has_failed_build |= FAILED.iter().any(|part| text.contains(part));
    }

    /// Adds what follows from all lines together.
    fn finish(&mut self, mut state: State) {
        if let Some(counts) = state.tap.counts().filter(|_| !self.has("cargo test")) {
            // tape and QUnit count their points again below them. Node, which alone counts what was cancelled, knows which are tests.
            self.runners.retain(|runner| runner.name != "node" || runner.counts.get(Field::Errors).is_some());
            if let Some(prove) = self.find("prove") {
                if counts.executed_and_skipped() == prove.counts.number(Field::Total) {
                    prove.counts = counts;
                }
            } else if !self.has("node") {
                self.add_lines("tap", &counts);
            }
        }
        let (go, groups) = state.go.counts();
        if let Some(go) = go.filter(|_| !self.has("gotestsum")) {
            self.add_lines("go test", &go);
            self.groups = groups;
        }
        if state.has_gradle_task && !self.has("gradle") && !self.has("junit") {
            if state.gradle_tests == Counts::default() {
                self.add_lines("gradle", &Counts::default());
                self.groups.get_or_insert_default().passed += 1;
            } else {
                self.add_lines("gradle", &state.gradle_tests);
            }
        }
        if state.googletest_started > 0 && !self.has("googletest") && !self.has("ctest") {
            let mut counts = Counts::default();
            counts.add(Field::Unknown, state.googletest_started);
            counts.add(Field::Broken, 1);
            self.add_lines("googletest", &counts);
        }
        if self.runners.is_empty() && state.dots != Counts::default() {
            self.add_lines("pytest", &state.dots);
        }
        if let Some(ava) = self.find("ava").filter(|ava| ava.counts.get(Field::Passed).is_none()) {
            ava.counts.add(Field::Passed, state.check_marks);
            ava.summaries += state.check_marks;
        }
    }

    fn has(&self, name: &str) -> bool {
        self.runners.iter().any(|runner| runner.name == name)
    }

    fn find(&mut self, name: &str) -> Option<&mut Runner> {
        self.runners.iter_mut().find(|runner| runner.name == name)
    }

    /// Adds what a summary says.
    fn add(&mut self, name: &'static str, sum: Sum, counts: &Counts) {
        self.broken = self.broken.saturating_add(counts.number(Field::Broken));
        if name.is_empty() {
            return;
        }
        let is_summary = counts.get(Field::Passed).is_some() || counts.get(Field::Total).is_some();
        self.merge(Runner { name, sum, counts: *counts, summaries: u64::from(is_summary) }, sum);
    }

    /// Adds the sum of lines that are about one test each.
    fn add_lines(&mut self, name: &'static str, counts: &Counts) {
        self.add(name, Sum::Add, counts);
        if let Some(runner) = self.find(name) {
            runner.summaries = u64::MAX;
        }
    }

    fn merge(&mut self, other: Runner, sum: Sum) {
        match self.find(other.name) {
            Some(known) if sum == Sum::Last => known.counts = other.counts,
            Some(known) => {
                known.counts.add_all(&other.counts);
                known.summaries = known.summaries.saturating_add(other.summaries);
            }
            None => self.runners.push(other),
        }
    }

    /// Adds what another stream counts.
    pub(super) fn add_all(&mut self, other: Self) {
        for runner in other.runners {
            self.merge(runner, Sum::Add);
        }
        self.broken = self.broken.saturating_add(other.broken);
        self.focused = self.focused.take().or(other.focused);
        self.succeeded.extend(other.succeeded);
        self.has_failed_build |= other.has_failed_build;
        if let Some(groups) = other.groups {
            let sum = self.groups.get_or_insert_default();
            sum.passed += groups.passed;
            sum.failed += groups.failed;
            sum.none += groups.none;
        }
    }

    /// Returns how many tests or groups were found, and how many runners: of two readings of the same lines, the one with more is right.
    pub(super) fn weight(&self) -> (u64, usize) {
        let groups = self.groups.map_or(0, |groups| groups.passed + groups.failed + groups.none);
        let tests = self.runners.iter().flat_map(|runner| results(&runner.counts));
        (tests.fold(groups, u64::saturating_add), self.runners.len())
    }

    /// Adds what reports count, unless the same run has a text with more.
    pub(super) fn add_reports(&mut self, counted: &[(&'static str, Counted)]) {
        let of_reports = counted.iter().map(|(_, counted)| counted.executed()).fold(0, u64::saturating_add);
        let of_text = self.runners.iter().map(|runner| results(&runner.counts));
        let of_text = of_text.map(|[passed, failed, _]| passed.saturating_add(failed));
        if counted.is_empty() || of_text.fold(0, u64::saturating_add) > of_reports {
            return;
        }
        self.runners.clear();
        for (runner, counted) in counted {
            let mut counts = Counts::default();
            counts.add(Field::Passed, counted.passed);
            counts.add(Field::Failed, counted.failed);
            counts.add(Field::Skipped, counted.skipped);
            counts.add(Field::Broken, counted.broken);
            self.add(runner, Sum::Add, &counts);
        }
    }

    /// Returns what all runners together say. Of streams with a gap, the numbers are known only if there is one summary in all.
    pub(super) fn tally(mut self, is_partial: bool) -> Tally {
        self.drop_repeated();
        let mut tally =
            Tally { broken: self.broken, focused: self.focused, groups: self.groups, ..Tally::default() };
        if self.runners.is_empty() {
            return tally;
        }
        let mut sums = [0_u64; 3];
        let (mut is_exact, mut is_skipped_known) = (self.groups.is_none(), true);
        let mut executed = 0_u64;
        let mut summaries = 0_u64;
        for Runner { name, counts, summaries: of_runner, .. } in &self.runners {
            tally.runners.push((*name).to_owned());
            let result = results(counts);
            for (sum, count) in sums.iter_mut().zip(result) {
                *sum = sum.saturating_add(count);
            }
            let unknown = counts.get(Field::Unknown);
            is_exact &= unknown.is_none();
            executed = executed.max(unknown.unwrap_or(0)).max(result[0]).max(result[1]);
            summaries = summaries.saturating_add(*of_runner);
            // prove counts tests that were skipped as passed.
            is_skipped_known &= *name != "prove" || counts.get(Field::Total).is_none_or(|total| total == 0);
            tally.not_run = tally.not_run.saturating_add(not_run(counts));
            let is_excused = !self.has_failed_build
                && self.succeeded.iter().any(|runners| runners.is_empty() || runners.contains(name));
            let tolerated = if is_excused {
                let groups = self.groups.map_or(0, |groups| groups.failed);
                result[1].max(groups).max(self.broken)
            } else {
                counts.number(Field::Tolerated)
            };
            tally.tolerated = tally.tolerated.saturating_add(tolerated);
        }
        is_exact &= !is_partial || summaries == 1;
        if is_exact {
            tally.level = Level::Tests;
            (tally.passed, tally.failed) = (Some(sums[0]), Some(sums[1]));
            tally.skipped = is_skipped_known.then_some(sums[2]);
        } else {
            tally.level = Level::Groups;
            tally.failed = self.groups.filter(|_| !is_partial).map(|_| sums[1]);
        }
        tally.ran = match (executed > 0, is_exact) {
            (true, _) => Ran::Some,
            (false, true) => Ran::None,
            (false, false) => Ran::Unknown,
        };
        tally
    }

    fn drop_repeated(&mut self) {
        // Several runners have the same lines in their lists of sums.
        if let Some(at) = self.runners.iter().position(|runner| runner.name == "summary") {
            let parts = self.runners.remove(at);
            if let Some(known) =
                self.runners.iter_mut().find(|runner| matches!(runner.name, "uvu" | "vstest" | "meson"))
            {
                known.counts.add_all(&parts.counts);
            }
        }
        let parts = [Field::Passed, Field::Failed, Field::Skipped];
        self.runners.retain(|Runner { sum, counts, .. }| {
            *sum != Sum::Parts
                || counts.get(Field::Total).is_some()
                || parts.iter().all(|field| counts.get(*field).is_some())
        });
        let names: Vec<&str> = self.runners.iter().map(|runner| runner.name).collect();
        self.runners.retain(|runner| {
            !REPEATED.iter().any(|(repeated, by)| *repeated == runner.name && names.contains(by))
        });
    }
}

impl State {
    /// Takes in a line that is no summary, without its indentation.
    fn read(&mut self, text: &str) {
        match text.as_bytes()[0] {
            b'_' | b'E' | b'!' if text.contains("ERROR collecting") || text.contains("during collection") => {
                self.is_collecting = true;
            }
            b'[' if text.starts_with("[ RUN      ] ") => self.googletest_started += 1,
            b'>' if text.starts_with("> Task :") => {
                let (name, outcome) = text.split_at(text[8..].find(' ').map_or(text.len(), |at| at + 8));
                self.has_gradle_task |=
                    name.to_ascii_lowercase().ends_with("test") && outcome.trim() != "NO-SOURCE";
            }
            _ if text.starts_with(['✔', '✓']) => self.check_marks += 1,
            _ if self.has_gradle_task && text.contains(" > ") => {
                let outcomes =
                    [(" PASSED", Field::Passed), (" FAILED", Field::Failed), (" SKIPPED", Field::Skipped)];
                if let Some((_, field)) = outcomes.iter().find(|(outcome, _)| text.ends_with(outcome)) {
                    self.gradle_tests.add(*field, 1);
                }
            }
            _ => {
                if let Some(dots) = dots(text) {
                    self.dots.add_all(&dots);
                }
            }
        }
    }
}

/// Reads `tests/test_a.py ..F.s   [100%]`.
fn dots(text: &str) -> Option<Counts> {
    let (marks, percent) = text.strip_suffix("%]")?.rsplit_once('[')?;
    percent.trim().parse::<u8>().ok()?;
    let marks = marks.trim_end();
    let marks = marks.split_once(".py ").map_or(marks, |(_, marks)| marks);
    let mut counts = Counts::default();
    for mark in marks.chars() {
        let field = match mark {
            '.' | 'X' => Field::Passed,
            'F' | 'E' => Field::Failed,
            's' | 'x' => Field::Skipped,
            'R' => continue,
            _ => return None,
        };
        counts.add(field, 1);
    }
    Some(counts)
}

/// Returns the first format that matches a line, and the numbers in it.
fn format_of(line: &str) -> Option<(&'static Format, Counts)> {
    let bytes = line.as_bytes();
    let first = *bytes.first()?;
    let formats = if first.is_ascii_digit() {
        let end =
            bytes.iter().position(|byte| !byte.is_ascii_digit() && *byte != b',').unwrap_or(bytes.len());
        let word = if bytes.get(end) == Some(&b' ') { bytes.get(end + 1) } else { bytes.get(end) };
        &INDEX.by_word[usize::from(word.copied().unwrap_or(0))]
    } else {
        &INDEX.by_byte[usize::from(first)]
    };
    let others = if bytes.ends_with(b")") { &INDEX.others[..] } else { &[] };
    formats.iter().chain(others).find_map(|format| counts_in(format.2, line).map(|counts| (*format, counts)))
}

/// Strips the level that Maven and sbt write before each line.
fn strip_level(text: &str) -> &str {
    let rest = ["[INFO] ", "[ERROR] ", "[WARNING] ", "[info] ", "[error] ", "[warn] "]
        .iter()
        .find_map(|level| text.strip_prefix(level));
    rest.map_or(text, str::trim_start)
}

/// Strips a sign such as `✔`.
fn strip_sign(text: &str) -> &str {
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some(sign), Some(' ')) if !sign.is_ascii() => chars.as_str().trim_start(),
        _ => "",
    }
}

/// Returns how many tests passed, failed and were skipped. What is not said follows from the total.
fn results(counts: &Counts) -> [u64; 3] {
    let (passed, skipped, spurious) =
        (counts.get(Field::Passed), counts.number(Field::Skipped), counts.number(Field::Spurious));
    let errors = counts.number(Field::Errors).saturating_sub(spurious);
    let failures = counts.number(Field::Failed).saturating_add(counts.number(Field::Tolerated));
    let mut failed = failures.saturating_add(errors);
    let total = counts.get(Field::Total).map(|total| total.saturating_sub(spurious));
    if counts.get(Field::Failed).is_none()
        && let (Some(total), Some(passed)) = (total, passed)
    {
        failed = failed.max(total.saturating_sub(passed).saturating_sub(skipped));
    }
    let executed = match (counts.get(Field::Ran), total) {
        (Some(ran), _) => ran,
        (None, Some(total)) => total.saturating_sub(skipped).saturating_sub(counts.number(Field::NotRun)),
        (None, None) => 0,
    };
    [passed.unwrap_or_else(|| executed.saturating_sub(failed)), failed, skipped]
}

/// Returns how many tests were planned and did not run.
fn not_run(counts: &Counts) -> u64 {
    let skipped = if counts.get(Field::Passed).is_none() { counts.number(Field::Skipped) } else { 0 };
    let total = counts.number(Field::Total);
    let left = counts.get(Field::Ran).map_or(0, |ran| total.saturating_sub(ran).saturating_sub(skipped));
    counts.number(Field::NotRun).saturating_add(left)
}
