//! Whether an attempt that passed proves its work: the evidence against that of the trusted state.

use std::collections::BTreeSet;

use failure_excerpt::{Level, NamedTest, Ran, Tally, TestStatus};
use tasklist::Languages;

use super::diff::{DiffFindings, Finding, MERGED, NEW};
use super::languages::turns_round;
use super::ordered::{
    is_setup, is_verification, nothing_to_change, orders_config, orders_other_output, orders_own_file_change,
    orders_removal, orders_skip,
};
use crate::record::{Flag, FlagCode, TaskName, TrustedState, join_truncated};

/// Maximum number of names in a text.
const MAX_NAMES: usize = 3;

/// From this many tests on a fall below half of them is a refusal.
const MIN_TESTS_TO_SHRINK: u64 = 10;

/// How the validation ended with its own files of the trusted state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecondResult {
    Passed,
    Failed,
    TimedOut,
    /// They could not be put back for it.
    NotRun,
}

/// What an attempt is judged by whose agent and validation succeeded, and which ticked a task that it may close.
///
/// Many fields: each is one kind of evidence.
#[derive(Debug, Clone, Copy)]
pub struct Measurements<'a> {
    /// The codes of `validation.refuse`.
    pub refuse: &'a [String],
    /// False if nothing is refused, because no success depends on it or nothing can be compared.
    pub refuses: bool,
    pub is_validated: bool,
    /// What the validation printed.
    pub tests: Option<&'a Tally>,
    /// `None` if there is nothing to compare with.
    pub trusted: Option<&'a TrustedState>,
    /// True if the validation runs only the tests that a change concerns.
    pub selects_by_change: bool,
    pub diff: &'a DiffFindings,
    /// The own files of the validation that are not as in the trusted tree, by name.
    pub own_changed: &'a [String],
    /// Some lines of them that differ: `-pytest`, `+true`.
    pub own_lines: &'a [String],
    /// Renames of the attempt that alone make the new ones from the old ones, in words.
    pub own_follows: Option<&'a str>,
    /// The second run with these files of the trusted tree; `None` if there was none.
    pub second: Option<SecondResult>,
    /// False if the one second run of an attempt was needed for something else.
    pub can_run_again: bool,
    /// True if no file differs from the snapshot before the first attempt at the task.
    pub is_idle: bool,
    /// What it changed that no snapshot shows, in words, and its paths. Asked for where it would be refused as idle.
    pub unseen: Option<&'a (String, Vec<String>)>,
    /// The iteration that did the task already, whose tick was opened again.
    pub done_in: Option<u32>,
    /// The agent's last message.
    pub final_text: &'a str,
    /// The texts of the tasks that the attempt was asked for.
    pub tasks: &'a [&'a str],
    /// The languages of their list.
    pub languages: Languages,
    pub phase: Option<&'a str>,
    /// Other tasks that it ticked.
    pub others: &'a [TaskName],
    /// True if these are opened again.
    pub unticks: bool,
    /// Tests that failed and passed in a second run.
    pub flaky: &'a [String],
    /// How often one of them was flaky, this time included.
    pub flaky_times: usize,
    /// How many tests fail that may.
    pub known_failures: usize,
    /// True if the validation ended because there is nothing to run yet.
    pub has_no_tests: bool,
    /// Protected files that were put back.
    pub put_back: &'a [String],
    /// Files that its lane's commit does not take.
    pub left_out: &'a [String],
    /// What it took back of tasks that were done; `None` if nothing.
    pub undid: Option<&'a Flag>,
    /// True if the task may ask for that.
    pub is_undoing_ordered: bool,
    /// What was found beside the rows.
    pub found: &'a [Flag],
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Run the validation with its own files of the trusted tree, and decide again.
    RunAgain,
    Refused {
        code: FlagCode,
        /// One line: `not proven: only some tests ran: test.only in tests/a.test.js`.
        cause: String,
    },
    Accepted(Vec<Flag>),
}

/// Returns the words for tests that fail although their command exits with 0; `None` if none do. What a runner itself
/// allows, expects or ran again with success is no failure of its.
pub fn contradiction(tests: &Tally) -> Option<String> {
    let (failed, what) = failures(tests);
    let fail = if failed == 1 { "fails" } else { "fail" };
    (failed > 0).then(|| {
        let tests = count_of(failed, what);
        format!("{tests} {fail}, and the command exits with 0: a pipe hides its exit code? (set -o pipefail)")
    })
}

/// Returns true if more fails than in the trusted state, whatever the exit code says.
pub fn is_contradicted(tests: &Tally, before: Option<&Tally>) -> bool {
    failures(tests).0 > before.map_or(0, |before| failures(before).0)
}

/// Returns how many tests fail; where none does, how many files or packages do, which may have no test that is named.
fn failures(tests: &Tally) -> (u64, &'static str) {
    let failed = tests.failed.unwrap_or(0).saturating_sub(tests.tolerated);
    if failed > 0 || tests.tolerated > 0 || tests.level == Level::None {
        return (failed, "test");
    }
    (tests.groups.map_or(0, |groups| groups.failed).max(tests.broken), "suite")
}

/// Returns how many packages or targets of a runner that does not count tests have some; `None` if none has.
fn groups_of(tests: &Tally) -> Option<u64> {
    let groups = tests.groups?;
    Some(groups.passed.saturating_add(groups.failed)).filter(|count| *count > 0)
}

/// Returns what was counted of tests, in words; `None` if nothing was.
fn counted(tests: &Tally) -> Option<String> {
    match (tests.executed().filter(|count| *count > 0), groups_of(tests)) {
        (Some(count), _) => Some(count.to_string()),
        (None, Some(count)) => Some(count_of(count, "package")),
        (None, None) => (tests.ran == Ran::Some).then(|| "some".to_owned()),
    }
}

/// Returns true if fewer tests were counted than before, or none at all: then a change of a test that is run by itself
/// counts as one of the validation.
pub fn counts_fell(tests: Option<&Tally>, before: Option<&Tally>) -> bool {
    let [now, before] = [tests, before].map(|tests| tests.and_then(Tally::executed).unwrap_or(0));
    now == 0 || now < before
}

/// A flag that may be a refusal.
struct Doubt {
    flag: Flag,
    /// True if a task asks for what is doubted, or there is nothing to compare it with.
    is_excused: bool,
}

/// Decides by the first doubt that the settings refuse.
pub fn decide(evidence: &Measurements<'_>) -> Decision {
    let mut doubts: Vec<Doubt> = [
        evidence.runs_by_itself(),
        evidence.contradiction(),
        evidence.focus(),
        evidence.skip(),
        evidence.vanished(),
        evidence.shrunk(),
        evidence.own_change(),
        evidence.idle(),
        evidence.undid(),
    ]
    .into_iter()
    .flatten()
    .collect();
    let mut tally_doubts = evidence.tally_doubts();
    tally_doubts.retain(|doubt| {
        let same = match doubt.flag.code {
            FlagCode::NoTests => FlagCode::Vanished,
            FlagCode::Fewer => FlagCode::Shrunk,
            _ => return true,
        };
        // It is said already, in other words.
        doubts.iter().all(|said| said.flag.code != same)
    });
    doubts.append(&mut tally_doubts);
    doubts.extend(evidence.diff_doubts());
    doubts.extend(evidence.found.iter().cloned().map(|flag| Doubt { flag, is_excused: false }));
    let mut refused = doubts.iter().filter(|doubt| !doubt.is_excused && evidence.refuses(doubt.flag.code));
    if let Some(Doubt { flag, .. }) = refused.next() {
        if flag.code == FlagCode::Judge && evidence.second.is_none() {
            return Decision::RunAgain;
        }
        return Decision::Refused { code: flag.code, cause: format!("not proven: {}", flag.text) };
    }
    let flags = doubts.into_iter().map(|doubt| doubt.flag);
    Decision::Accepted(flags.chain(evidence.other_flags()).collect())
}

fn doubt(code: FlagCode, text: String, paths: Vec<String>) -> Doubt {
    Doubt { flag: Flag { code, text, paths }, is_excused: false }
}

impl Doubt {
    fn excused_if(self, is_excused: bool) -> Self {
        Self { is_excused, ..self }
    }

    /// Says that a task asks for it.
    fn ordered_if(mut self, is_ordered: bool) -> Self {
        if is_ordered {
            self.flag.text.push_str("; the task asks for it");
        }
        self.excused_if(is_ordered)
    }
}

impl Measurements<'_> {
    fn refuses(&self, code: FlagCode) -> bool {
        self.refuses && self.refuse.iter().any(|refused| refused == code.as_str())
    }

    fn before(&self) -> Option<&Tally> {
        self.trusted?.tests.as_deref()
    }

    /// Returns how many tests ran, and how many in the trusted state. Of packages, where only these are counted.
    fn executed(&self) -> Option<([u64; 2], &'static str)> {
        let (tests, before) = (self.tests?, self.before()?);
        match (tests.executed(), before.executed()) {
            (Some(now), Some(before)) => Some(([now, before], "test")),
            _ => Some(([groups_of(tests)?, groups_of(before)?], "package")),
        }
    }

    /// `; 2 tests of before are gone: a, b`, where both runs name all of their tests; else nothing.
    fn gone(&self) -> String {
        let [now, before] =
            [self.tests, self.before()].map(|tests| tests.map_or(&[][..], |tests| tests.named.as_slice()));
        if now.is_empty() {
            return String::new();
        }
        let now: BTreeSet<String> = now.iter().map(NamedTest::id).collect();
        let before = before.iter().filter(|test| test.status != TestStatus::Skipped).map(NamedTest::id);
        let gone: Vec<String> = before.filter(|name| !now.contains(name)).collect();
        if gone.is_empty() {
            return String::new();
        }
        let are = if gone.len() == 1 { "is" } else { "are" };
        let names = join_truncated(&gone, MAX_NAMES);
        format!("; {} of before {are} gone: {names}", count_of(gone.len() as u64, "test"))
    }

    /// Returns true if it is known that as many tests ran as in the trusted state.
    fn ran_as_many(&self) -> bool {
        self.executed().is_some_and(|([now, before], _)| now >= before)
    }

    /// Returns the line by which tools say that they ran nothing, if less was counted than in the trusted state.
    fn cached(&self) -> Option<&str> {
        let line = self.tests?.cached.as_deref()?;
        // Gradle names a task that it left out as one that passed.
        let is_less = line.starts_with("> Task") || !self.ran_as_many();
        (counted(self.before()?).is_some() && is_less).then_some(line)
    }

    fn contradiction(&self) -> Option<Doubt> {
        let tests = self.tests?;
        // Those that passed otherwise have another exit code.
        let words = contradiction(tests).filter(|_| self.known_failures == 0 && self.flaky.is_empty())?;
        let (words, is_excused) = match self.before() {
            None => (format!("{words}; nothing to compare with"), true),
            Some(before) if !is_contradicted(tests, Some(before)) => {
                (format!("{words}; {} failed before", failures(before).0), true)
            }
            Some(_) => (words, false),
        };
        Some(doubt(FlagCode::Contradiction, words, Vec::new()).excused_if(is_excused))
    }

    fn focus(&self) -> Option<Doubt> {
        let paths = paths(&self.diff.focus);
        if let Some(first) = self.diff.focus.first() {
            let text =
                format!("only some tests ran: {} in {}", first.text, join_truncated(&paths, MAX_NAMES));
            return Some(doubt(FlagCode::Focus, text, paths));
        }
        let line = self.tests?.focused.as_ref()?;
        Some(doubt(FlagCode::Focus, format!("only some tests ran: {line}"), paths))
    }

    fn skip(&self) -> Option<Doubt> {
        // A runner counts a test that is expected to fail as one that passed.
        let is_denied = self.tally_denies_skips();
        let skips: Vec<Finding> =
            self.diff.skips.iter().filter(|skip| !is_denied || turns_round(&skip.text)).cloned().collect();
        let first = skips.first()?;
        let paths = paths(&skips);
        let count: usize = skips.iter().map(|finding| finding.count).sum();
        let (tests, are) = if count == 1 { ("test", "is") } else { ("tests", "are") };
        let what = if turns_round(&first.text) { "expected to fail" } else { "skipped" };
        let text =
            format!("{count} existing {tests} {are} {what} now: {}", join_truncated(&paths, MAX_NAMES));
        let names: Vec<&str> = paths.iter().map(String::as_str).collect();
        let is_ordered = orders_skip(self.tasks, &names, self.languages);
        Some(doubt(FlagCode::Skip, text, paths).ordered_if(is_ordered))
    }

    /// Returns true if as many tests ran as before, and no more were skipped.
    fn tally_denies_skips(&self) -> bool {
        let (Some(tests), Some(before)) = (self.tests, self.before()) else { return false };
        let is_counted = tests.level == Level::Tests && before.level == Level::Tests;
        let is_rising =
            |now: Option<u64>, then: Option<u64>| now.zip(then).is_none_or(|(now, then)| now > then);
        is_counted
            && !is_rising(tests.skipped, before.skipped)
            && !is_rising(before.executed(), tests.executed())
    }

    fn vanished(&self) -> Option<Doubt> {
        let (tests, before) = (self.tests?, self.before()?);
        let ran = counted(before)?;
        if self.selects_by_change || self.cached().is_some() {
            return None;
        }
        if tests.ran == Ran::None {
            return Some(doubt(FlagCode::Vanished, format!("no test ran, {ran} ran before"), Vec::new()));
        }
        // Packages that passed are as good as before where tests were never counted.
        let is_uncounted = tests.ran == Ran::Unknown
            && (groups_of(tests).is_none() || before.executed().is_some_and(|count| count > 0));
        if !is_uncounted || self.has_no_tests {
            return None;
        }
        let text = format!("no test was counted, {ran} before");
        let vanished = doubt(FlagCode::Vanished, text, Vec::new());
        // Some runners count only where a test fails.
        let was_red = failures(before).0 > 0 || self.trusted.is_some_and(|trusted| !trusted.passed);
        let names: Vec<&str> = before.runners.iter().chain(&tests.runners).map(String::as_str).collect();
        let is_ordered = orders_other_output(self.tasks, &names, self.languages)
            || self.diff.config.iter().any(|file| orders_config(self.tasks, &file.path));
        Some(if was_red { vanished.excused_if(true) } else { vanished.ordered_if(is_ordered) })
    }

    fn shrunk(&self) -> Option<Doubt> {
        let ([now, before], what) = self.executed()?;
        let is_fall = before >= MIN_TESTS_TO_SHRINK && now.saturating_mul(2) < before;
        let is_known = self.diff.removes_tests || self.tests?.ran == Ran::None || self.cached().is_some();
        if self.selects_by_change || !is_fall || is_known {
            return None;
        }
        let text =
            format!("{} ran, {before} before, and none was removed{}", count_of(now, what), self.gone());
        Some(doubt(FlagCode::Shrunk, text, Vec::new()).ordered_if(orders_removal(self.tasks, self.languages)))
    }

    /// The validation's own files are changed.
    fn own_change(&self) -> Option<Doubt> {
        if self.own_changed.is_empty() || !self.is_validated {
            return None;
        }
        let names = join_truncated(self.own_changed, MAX_NAMES);
        let changed = format!("changed {names}, which the validation runs");
        let is_ordered = orders_own_file_change(self.tasks, self.own_changed, self.phase, self.languages);
        let follows = self.own_follows.filter(|_| self.ran_as_many());
        let (text, is_excused) = match (self.trusted, self.second) {
            (None, _) => (format!("{changed}; nothing to compare with"), true),
            (Some(trusted), _) if !trusted.passed => {
                (format!("{changed}; the old one fails, as before"), true)
            }
            _ if is_ordered => (format!("{changed}; the task asks for it"), true),
            (_, None) if follows.is_some() => {
                (format!("{changed}: it follows {}", follows.unwrap_or_default()), true)
            }
            (_, Some(SecondResult::Passed)) => (format!("{changed}; the old one passes too"), true),
            (_, Some(SecondResult::Failed)) => (self.passes_only_with(&names, "fails"), false),
            // What is not known proves nothing.
            (_, Some(SecondResult::TimedOut)) => (self.passes_only_with(&names, "timed out"), false),
            (_, Some(SecondResult::NotRun)) => {
                (format!("changed {names}, and the old one could not be put back to run it"), false)
            }
            (_, None) => (changed, !(self.can_run_again && self.refuses(FlagCode::Judge))),
        };
        Some(doubt(FlagCode::Judge, text, self.own_changed.to_vec()).excused_if(is_excused))
    }

    /// `passes only with its change of check.sh: 12 tests by the new script; the old one fails (-pytest, +true)`
    fn passes_only_with(&self, names: &str, old: &str) -> String {
        let counted = self.tests.and_then(Tally::executed).filter(|count| *count > 0);
        let tests =
            counted.map_or(String::new(), |count| format!("{} by the new script; ", count_of(count, "test")));
        let lines = self.own_lines.join(", ");
        let lines = if lines.is_empty() { lines } else { format!(" ({lines})") };
        format!("passes only with its change of {names}: {tests}the old one {old}{lines}")
    }

    fn idle(&self) -> Option<Doubt> {
        let is_excused = self.done_in.is_some()
            || nothing_to_change(self.final_text).is_some()
            || self.tasks.iter().all(|text| is_verification(text, self.languages));
        let is_refused = self.is_idle && !is_excused && self.unseen.is_none();
        is_refused.then(|| doubt(FlagCode::Idle, "ticked, but nothing changed".to_owned(), Vec::new()))
    }

    fn undid(&self) -> Option<Doubt> {
        let doubt = Doubt { flag: self.undid?.clone(), is_excused: false };
        Some(doubt.excused_if(self.is_undoing_ordered))
    }

    /// Comes first among the flags, so that no screen leaves it out for others.
    fn runs_by_itself(&self) -> Option<Doubt> {
        let by_itself = &self.diff.by_itself;
        let names: Vec<String> = by_itself.iter().map(|(path, when)| format!("{path} ({when})")).collect();
        let (run, itself) = if names.len() == 1 { ("runs", "itself") } else { ("run", "themselves") };
        let text = format!("{run} by {itself}: {}", names.join(", "));
        let paths = by_itself.iter().map(|(path, _)| path.clone()).collect();
        (!names.is_empty()).then(|| doubt(FlagCode::RunsByItself, text, paths))
    }

    /// Returns the flags that are never a refusal.
    fn other_flags(&self) -> Vec<Flag> {
        let idle = match (self.done_in, nothing_to_change(self.final_text)) {
            (Some(iteration), _) => Some(format!("done in #{iteration}")),
            (None, reason) => reason.map(|reason| format!("nothing changed: {reason}")),
        };
        let others = (!self.others.is_empty()).then(|| {
            let end = if self.unticks { ": open again" } else { "" };
            format!("also ticked {}{end}", join_truncated(self.others, MAX_NAMES))
        });
        let flaky = (!self.flaky.is_empty()).then(|| {
            let times = match self.flaky_times {
                0 | 1 => "flaky".to_owned(),
                times => format!("flaky for the {} time", ordinal(times)),
            };
            format!("passed in the second run: {} ({times})", join_truncated(self.flaky, MAX_NAMES))
        });
        let known = (self.known_failures > 0).then(|| {
            let fail = if self.known_failures == 1 { "fails" } else { "fail" };
            format!("{} {fail} that failed before the start", count_of(self.known_failures as u64, "test"))
        });
        let put_back = (!self.put_back.is_empty()).then(|| {
            let are = if self.put_back.len() == 1 { "is" } else { "are" };
            format!("put back {}, which {are} protected", join_truncated(self.put_back, MAX_NAMES))
        });
        let left_out = (!self.left_out.is_empty()).then(|| {
            format!("validated without {}, which no commit takes", join_truncated(self.left_out, MAX_NAMES))
        });
        let (unseen, unseen_paths) = self.unseen.cloned().unzip();
        let none = Vec::new;
        [
            (FlagCode::Unseen, unseen, unseen_paths.unwrap_or_default()),
            (FlagCode::Others, others, none()),
            (FlagCode::Idle, idle.filter(|_| self.is_idle), none()),
            (FlagCode::Flaky, flaky, none()),
            (FlagCode::KnownFailures, known, none()),
            (FlagCode::PutBack, put_back, self.put_back.to_vec()),
            (FlagCode::LeftOut, left_out, self.left_out.to_vec()),
        ]
        .into_iter()
        .filter_map(|(code, text, paths)| Some(Flag { code, text: text?, paths }))
        .collect()
    }

    fn tally_doubts(&self) -> Vec<Doubt> {
        let Some(tests) = self.tests else { return Vec::new() };
        let mut doubts = Vec::new();
        if tests.ran == Ran::None || self.has_no_tests {
            let words = if tests.ran == Ran::None { "no test ran" } else { "no tests yet" };
            doubts.push(doubt(FlagCode::NoTests, words.to_owned(), Vec::new()));
        }
        if let Some(line) = self.cached().filter(|_| !self.selects_by_change) {
            doubts.push(doubt(FlagCode::Cached, format!("the result is from a cache: {line}"), Vec::new()));
        } else if let Some(([now, before], what)) = self.executed()
            && now < before
            && tests.ran != Ran::None
            && !self.selects_by_change
        {
            let text = format!("{} ran, {before} before{}", count_of(now, what), self.gone());
            doubts.push(
                doubt(FlagCode::Fewer, text, Vec::new())
                    .excused_if(orders_removal(self.tasks, self.languages)),
            );
        }
        if let Some(words) = &tests.report_differs {
            doubts.push(doubt(FlagCode::Report, words.clone(), Vec::new()));
        }
        let skipped = tests.skipped.zip(self.before().and_then(|before| before.skipped));
        // New tests that are skipped take nothing away.
        let is_of_new = |rise: u64| {
            let new = self.diff.new_skips as u64;
            new >= rise || new > 0 && self.ran_as_many()
        };
        if let Some((now, before)) = skipped.filter(|(now, then)| now > then && !is_of_new(now - then)) {
            let text = format!("{} skipped, {before} before", count_of(now, "test"));
            doubts.push(doubt(FlagCode::Skipped, text, Vec::new()));
        }
        doubts
    }

    fn diff_doubts(&self) -> Vec<Doubt> {
        let DiffFindings { removed, fewer_asserts, config, .. } = self.diff;
        // Several tests may have become one with parameters.
        let is_merged = |finding: &Finding| finding.text == MERGED && self.ran_as_many();
        let removed: Vec<Finding> = removed.iter().filter(|finding| !is_merged(finding)).cloned().collect();
        let removed = removed.as_slice();
        let removed_paths = paths(removed);
        let texts: Vec<&str> = removed_paths.iter().map(String::as_str).collect();
        let is_ordered = orders_skip(self.tasks, &texts, self.languages);
        let mut doubts = Vec::new();
        if !removed.is_empty() {
            let text = format!("{} removed: {}", total(removed, "test"), names_of(removed));
            doubts.push(doubt(FlagCode::Removed, text, removed_paths.clone()).excused_if(is_ordered));
        }
        if !fewer_asserts.is_empty() {
            let text = format!("{} fewer: {}", total(fewer_asserts, "assertion"), names_of(fewer_asserts));
            doubts.push(doubt(FlagCode::Asserts, text, paths(fewer_asserts)).excused_if(is_ordered));
        }
        let own: Vec<&str> = self.own_changed.iter().filter_map(|own| own.split('#').next()).collect();
        let is_named = |path: &str| {
            orders_config(self.tasks, path) || self.phase.is_some_and(|phase| is_setup(phase, self.languages))
        };
        let others = config.iter().filter(|finding| {
            !(own.contains(&finding.path.as_str()) || finding.text == NEW && is_named(&finding.path))
        });
        let config: Vec<Finding> = others.cloned().collect();
        if !config.is_empty() {
            let (text, config) =
                (format!("changed {}, which decides what runs", names_of(&config)), paths(&config));
            let is_ordered = orders_own_file_change(self.tasks, &config, self.phase, self.languages);
            doubts.push(doubt(FlagCode::Config, text, config).excused_if(is_ordered));
        }
        doubts
    }
}

/// `1st`, `12th`, `23rd`
fn ordinal(number: usize) -> String {
    let ending = match (number % 10, number % 100 / 10) {
        (1, tens) if tens != 1 => "st",
        (2, tens) if tens != 1 => "nd",
        (3, tens) if tens != 1 => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

fn names_of(findings: &[Finding]) -> String {
    join_truncated(&paths(findings), MAX_NAMES)
}

fn total(findings: &[Finding], what: &str) -> String {
    let count: usize = findings.iter().map(|finding| finding.count).sum();
    count_of(count as u64, what)
}

fn paths(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(|finding| finding.path.clone()).collect()
}

fn count_of(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
