//! The result of counting the tests of an output.

use crate::reports::{NamedTest, TestStatus};

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

/// What the runners of an output count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Every runner gave the numbers of its tests.
    Tests,
    /// Only packages or targets are counted.
    Groups,
    /// No runner was recognized.
    #[default]
    None,
}

/// Whether at least one test was executed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ran {
    /// At least one test was executed.
    Some,
    /// A runner said that no test was, or all tests were skipped.
    None,
    /// The output does not say.
    #[default]
    Unknown,
}

/// The packages or targets of a runner that does not count tests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Groups {
    /// Those whose tests all passed.
    pub passed: u64,
    /// Those with a failed test, or that did not compile.
    pub failed: u64,
    /// Those without tests.
    pub none: u64,
}

/// The tests of an output, of all runners together. A number that the output does not say is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Tally {
    /// What is counted.
    pub level: Level,
    /// Whether at least one test was executed.
    pub ran: Ran,
    /// Tests that passed.
    pub passed: Option<u64>,
    /// Tests that failed, also in their set-up.
    pub failed: Option<u64>,
    /// Tests that were skipped, expected to fail, pending, ignored or disabled.
    pub skipped: Option<u64>,
    /// The packages or targets of runners that do not count tests.
    pub groups: Option<Groups>,
    /// Files or packages that did not compile, load or finish.
    pub broken: u64,
    /// Tests that were planned, and left out after a failure.
    pub not_run: u64,
    /// The names of the tests that failed; `None` unless all of them are known.
    pub failing: Option<Vec<String>>,
    /// The names of the runners.
    pub runners: Vec<String>,
    /// The line in which a runner says that only tests with a focus marker ran.
    pub focused: Option<String>,
    /// Failed tests that do not fail their runner: it ignores failures, or ran these again with success.
    pub tolerated: u64,
    /// The line in which a runner says that it did not run, as a cache has its result.
    pub cached: Option<String>,
    /// All tests by name, sorted; empty unless all of them are known. Not serialized.
    #[serde(skip)]
    pub named: Vec<NamedTest>,
    /// What a report counts and what the output does, where these differ. Not serialized.
    #[serde(skip)]
    pub report_differs: Option<String>,
}

impl Tally {
    /// Returns the tests of a report that the same run wrote: that decides. What only the output says stays.
    ///
    /// ```
    /// use failure_excerpt::{Output, examine, read_report};
    ///
    /// let stdout = "== 2 passed in 0.31s ==\n";
    /// let report = r#"<testsuite><testcase name="a"/><testcase name="b"><failure/></testcase></testsuite>"#;
    /// let tally = examine(&Output { stdout, ..Output::default() }).tally();
    /// let tally = tally.with_report(read_report(report).unwrap());
    /// assert_eq!((tally.passed, tally.failing), (Some(1), Some(vec!["b".to_owned()])));
    /// assert!(tally.report_differs.is_some());
    /// ```
    #[must_use]
    pub fn with_report(mut self, mut tests: Vec<NamedTest>) -> Self {
        tests.sort();
        let count = |status| tests.iter().filter(|test| test.status == status).count() as u64;
        let [passed, failed, skipped] =
            [TestStatus::Passed, TestStatus::Failed, TestStatus::Skipped].map(count);
        if self.level == Level::Tests
            && let (Some(passes), Some(fails)) = (self.passed, self.failed)
            && (passes, fails) != (passed, failed)
        {
            self.report_differs = Some(format!(
                "the report has {passed} passed and {failed} failed tests, the output {passes} and {fails}"
            ));
        }
        let mut failing: Vec<String> =
            tests.iter().filter(|test| test.status == TestStatus::Failed).map(NamedTest::id).collect();
        failing.sort_unstable();
        failing.dedup();
        if self.runners.is_empty() {
            self.runners.push("report".to_owned());
        }
        Self {
            level: Level::Tests,
            ran: if passed + failed > 0 { Ran::Some } else { Ran::None },
            passed: Some(passed),
            failed: Some(failed),
            skipped: Some(skipped),
            failing: Some(failing),
            tolerated: self.tolerated.min(failed),
            named: tests,
            ..self
        }
    }

    /// Returns the tests that an output names, sorted, if these are all that it counts.
    pub(super) fn all_named(&self, mut tests: Vec<NamedTest>) -> Vec<NamedTest> {
        let is_counted = |counted: Option<u64>, status| {
            counted == Some(tests.iter().filter(|test| test.status == status).count() as u64)
        };
        let is_all = self.level == Level::Tests
            && self.broken == 0
            && is_counted(self.passed, TestStatus::Passed)
            && is_counted(self.failed, TestStatus::Failed)
            && (self.skipped.is_none() || is_counted(self.skipped, TestStatus::Skipped));
        tests.sort();
        if is_all { tests } else { Vec::new() }
    }

    /// Returns the number of tests that passed or failed.
    ///
    /// ```
    /// use failure_excerpt::{Output, examine};
    ///
    /// let stdout = "== 1 failed, 40 passed, 2 skipped in 0.31s ==\n";
    /// let tally = examine(&Output { stdout, ..Output::default() }).tally();
    /// assert_eq!((tally.executed(), tally.skipped), (Some(41), Some(2)));
    /// ```
    #[must_use]
    pub fn executed(&self) -> Option<u64> {
        Some(self.passed?.saturating_add(self.failed?))
    }
}

impl Serialize for Tally {
    /// Writes all fields, `executed` after `skipped`; `focused`, `tolerated` and `cached` only if there are any.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Tally", 14)?;
        fields.serialize_field("level", &self.level)?;
        fields.serialize_field("ran", &self.ran)?;
        fields.serialize_field("passed", &self.passed)?;
        fields.serialize_field("failed", &self.failed)?;
        fields.serialize_field("skipped", &self.skipped)?;
        fields.serialize_field("executed", &self.executed())?;
        fields.serialize_field("groups", &self.groups)?;
        fields.serialize_field("broken", &self.broken)?;
        fields.serialize_field("not_run", &self.not_run)?;
        fields.serialize_field("failing", &self.failing)?;
        fields.serialize_field("runners", &self.runners)?;
        if let Some(line) = &self.focused {
            fields.serialize_field("focused", line)?;
        }
        if self.tolerated > 0 {
            fields.serialize_field("tolerated", &self.tolerated)?;
        }
        if let Some(line) = &self.cached {
            fields.serialize_field("cached", line)?;
        }
        fields.end()
    }
}
