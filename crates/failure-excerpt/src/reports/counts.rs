//! Counts of tests in the reports of test runners.

use std::collections::HashMap;

use serde_json::Value;

use super::json::text_at;

/// The numbers of tests in a report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
    /// Files that did not load.
    pub(crate) broken: u64,
}

impl Counted {
    /// Returns the number of tests that passed or failed.
    pub(crate) fn executed(&self) -> u64 {
        self.passed.saturating_add(self.failed)
    }

    fn add(&mut self, other: Self) {
        self.passed = self.passed.saturating_add(other.passed);
        self.failed = self.failed.saturating_add(other.failed);
        self.skipped = self.skipped.saturating_add(other.skipped);
        self.broken = self.broken.saturating_add(other.broken);
    }
}

/// The counts of all reports of an output, by runner.
#[derive(Debug, Default)]
pub(crate) struct ReportCounts {
    counts: Vec<(&'static str, Counted)>,
    /// The outcomes of pytest-reportlog: one test has a line for each of its phases.
    phases: HashMap<String, WorstPhase>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum WorstPhase {
    Passed,
    Skipped,
    Failed,
}

impl ReportCounts {
    pub(crate) fn add(&mut self, runner: &'static str, counted: Counted) {
        match self.counts.iter_mut().find(|known| known.0 == runner) {
            Some((_, known)) => known.add(counted),
            None => self.counts.push((runner, counted)),
        }
    }

    /// Adds the counts of a JSON value, if it is a report or a line of one.
    pub(crate) fn add_value(&mut self, value: &Value) {
        match text_at(value, "$report_type") {
            "" => {}
            "TestReport" => {
                let phase = match text_at(value, "outcome") {
                    "failed" => WorstPhase::Failed,
                    "skipped" => WorstPhase::Skipped,
                    _ => WorstPhase::Passed,
                };
                let worst = self.phases.entry(text_at(value, "nodeid").to_owned()).or_insert(phase);
                *worst = phase.max(*worst);
                return;
            }
            "CollectReport" if text_at(value, "outcome") == "failed" => {
                return self.add("pytest", Counted { broken: 1, ..Counted::default() });
            }
            _ => return,
        }
        let reports = [jest, mocha, playwright, rspec, pytest, libtest];
        if let Some((runner, counted)) = reports.iter().find_map(|report| report(value)) {
            self.add(runner, counted);
        }
    }

    /// Returns the counts of each runner.
    pub(crate) fn finish(mut self) -> Vec<(&'static str, Counted)> {
        if !self.phases.is_empty() {
            let mut all = Counted::default();
            for worst in self.phases.values() {
                match worst {
                    WorstPhase::Failed => all.failed += 1,
                    WorstPhase::Skipped => all.skipped += 1,
                    WorstPhase::Passed => all.passed += 1,
                }
            }
            self.add("pytest", all);
        }
        self.counts
    }
}

type Report = Option<(&'static str, Counted)>;

/// Returns the number at `key`, or 0.
fn number(value: &Value, key: &str) -> u64 {
    value.get(key).and_then(Value::as_u64).unwrap_or(0)
}

/// Reads a report of jest, or of vitest in jest's form.
fn jest(value: &Value) -> Report {
    value.get("numTotalTests")?;
    let files = value.get("testResults").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let counted = Counted {
        passed: number(value, "numPassedTests"),
        failed: number(value, "numFailedTests"),
        skipped: number(value, "numPendingTests").saturating_add(number(value, "numTodoTests")),
        broken: files
            .iter()
            .filter(|file| {
                let tests = file.get("assertionResults").and_then(Value::as_array);
                text_at(file, "status") == "failed" && tests.is_none_or(Vec::is_empty)
            })
            .count() as u64,
    };
    Some(("jest", counted))
}

fn mocha(value: &Value) -> Report {
    let stats = value.get("stats").filter(|stats| stats.get("passes").is_some())?;
    let counted = Counted {
        passed: number(stats, "passes"),
        failed: number(stats, "failures"),
        skipped: number(stats, "pending"),
        broken: 0,
    };
    Some(("mocha", counted))
}

fn playwright(value: &Value) -> Report {
    let stats = value.get("stats").filter(|stats| stats.get("unexpected").is_some())?;
    let counted = Counted {
        passed: number(stats, "expected").saturating_add(number(stats, "flaky")),
        failed: number(stats, "unexpected"),
        skipped: number(stats, "skipped"),
        broken: 0,
    };
    Some(("playwright", counted))
}

fn rspec(value: &Value) -> Report {
    let summary = value.get("summary").filter(|summary| summary.get("example_count").is_some())?;
    let (failed, skipped) = (number(summary, "failure_count"), number(summary, "pending_count"));
    let counted = Counted {
        passed: number(summary, "example_count").saturating_sub(failed).saturating_sub(skipped),
        failed,
        skipped,
        broken: number(summary, "errors_outside_of_examples_count"),
    };
    Some(("rspec", counted))
}

/// Reads a report of pytest-json-report.
fn pytest(value: &Value) -> Report {
    let summary = value.get("summary").filter(|summary| summary.get("collected").is_some())?;
    let [passed, failed, skipped] = [("passed", "xpassed"), ("failed", "error"), ("skipped", "xfailed")]
        .map(|(one, other)| number(summary, one).saturating_add(number(summary, other)));
    Some(("pytest", Counted { passed, failed, skipped, broken: 0 }))
}

/// Reads the event of Rust's test harness that ends a suite.
fn libtest(value: &Value) -> Report {
    if text_at(value, "type") != "suite" || value.get("passed").is_none() {
        return None;
    }
    let counted = Counted {
        passed: number(value, "passed"),
        failed: number(value, "failed"),
        skipped: number(value, "ignored"),
        broken: 0,
    };
    Some(("cargo test", counted))
}
