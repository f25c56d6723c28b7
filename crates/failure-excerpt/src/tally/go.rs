//! `go test`, which counts tests only with `-v`, and packages otherwise.

use super::model::Groups;
use super::template::{Counts, Field};

/// What Go printed so far.
#[derive(Debug, Default)]
pub(super) struct Go {
    groups: Groups,
    counts: Counts,
    started: u64,
    is_any_passed_named: bool,
}

impl Go {
    /// Takes in a line, with its indentation. Returns false if it is none of Go's.
    pub(super) fn read(&mut self, line: &str) -> bool {
        if let Some(name) = line.strip_prefix("=== RUN ") {
            self.started += u64::from(!name.contains('/'));
            return true;
        }
        if let Some(result) = line.strip_prefix("--- ") {
            return self.test(result);
        }
        let is_package = line.starts_with("ok ") || line.starts_with("FAIL") || line.starts_with(['?', '\t']);
        is_package && (line.contains('\t') || line.starts_with("FAIL ")) && self.package(line)
    }

    fn test(&mut self, result: &str) -> bool {
        let (field, name) = match result.split_once(": ") {
            Some(("PASS", name)) => (Field::Passed, name),
            Some(("FAIL", name)) => (Field::Failed, name),
            Some(("SKIP", name)) => (Field::Skipped, name),
            _ => return false,
        };
        let is_test = name.split_once(" (").is_some_and(|(_, time)| time.ends_with("s)"));
        if is_test && !name.contains('/') {
            self.counts.add(field, 1);
            self.is_any_passed_named |= field != Field::Failed;
        }
        is_test
    }

    fn package(&mut self, line: &str) -> bool {
        let mut words = line.split_whitespace();
        let (Some(first), second) = (words.next(), words.next()) else { return false };
        let rest =
            second.and_then(|second| line.split_once(second)).map_or("", |(_, rest)| rest.trim_start());
        match first {
            "ok" if is_time(rest) && rest.contains("[no tests to run]") => self.groups.none += 1,
            "ok" if is_time(rest) => self.groups.passed += 1,
            "FAIL" if rest.starts_with("[build failed]") || rest.starts_with("[setup failed]") => {
                self.groups.failed += 1;
                self.counts.add(Field::Broken, 1);
            }
            "FAIL" if is_time(rest) => self.groups.failed += 1,
            "?" if rest.starts_with("[no test files]") => self.groups.none += 1,
            _ if line.starts_with('\t') && line.ends_with("coverage: 0.0% of statements") => {
                self.groups.none += 1;
            }
            _ => return false,
        }
        true
    }

    /// Returns the tests if Go named each, and the packages if it did not.
    pub(super) fn counts(&self) -> (Option<Counts>, Option<Groups>) {
        if self.groups == Groups::default() {
            return (None, None);
        }
        let mut counts = self.counts;
        if self.groups.failed == 0 && self.groups.passed > 0 {
            // A package whose tests start others passes, whatever these print.
            counts.move_all(Field::Failed, Field::Tolerated);
        }
        if self.is_any_passed_named || self.started > 0 {
            let done = [Field::Passed, Field::Failed, Field::Tolerated, Field::Skipped];
            let done: u64 = done.map(|field| counts.number(field)).iter().sum();
            counts.add(Field::NotRun, self.started.saturating_sub(done));
            return (Some(counts), None);
        }
        let is_any = self.groups.passed + self.groups.failed > 0;
        (Some(counts), is_any.then_some(self.groups))
    }
}

fn is_time(text: &str) -> bool {
    let time = text.split_whitespace().next().unwrap_or("");
    time == "(cached)" || time.strip_suffix('s').is_some_and(|time| time.parse::<f64>().is_ok())
}
