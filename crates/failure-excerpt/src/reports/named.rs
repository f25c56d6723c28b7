//! Tests by name: of a report that a runner wrote into a file, and of an output that names them all.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::json::text_at;

/// Maximum number of tests of a report. One with more is none.
pub(super) const MAX_TESTS: usize = 200_000;

/// How a test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TestStatus {
    /// It passed.
    Passed,
    /// It failed, also in its set-up.
    Failed,
    /// It was skipped, or is expected to fail.
    Skipped,
}

/// A test of a run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NamedTest {
    /// The name, with that of its group: `math > adds`.
    pub name: String,
    /// The file that it is in, or empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub file: String,
    /// How it ended.
    pub status: TestStatus,
}

impl NamedTest {
    /// Returns its name with its file.
    ///
    /// ```
    /// use failure_excerpt::read_report;
    ///
    /// let report = r#"<testsuite name="a.test.js"><testcase classname="a.test.js" name="adds"/></testsuite>"#;
    /// assert_eq!(read_report(report).unwrap()[0].id(), "a.test.js › adds");
    /// ```
    #[must_use]
    pub fn id(&self) -> String {
        if self.file.is_empty() || self.name.contains(&self.file) {
            return self.name.clone();
        }
        format!("{} › {}", self.file, self.name)
    }
}

/// Reads the tests of a report in the Common Test Report Format.
pub(super) fn of_ctrf(report: &Value) -> Option<Vec<NamedTest>> {
    let tests = report.get("results")?.get("tests")?.as_array()?;
    let tests: Option<Vec<NamedTest>> = tests.iter().map(ctrf).collect();
    tests.filter(|tests| tests.len() <= MAX_TESTS)
}

fn ctrf(test: &Value) -> Option<NamedTest> {
    let status = match text_at(test, "status") {
        "passed" => TestStatus::Passed,
        "failed" => TestStatus::Failed,
        "skipped" | "pending" | "other" => TestStatus::Skipped,
        _ => return None,
    };
    let suite: Vec<&str> = match test.get("suite") {
        Some(Value::Array(suites)) => suites.iter().filter_map(Value::as_str).collect(),
        suite => suite.and_then(Value::as_str).into_iter().collect(),
    };
    let file = text_at(test, "filePath").to_owned();
    let name = text_at(test, "name");
    let groups = suite.into_iter().filter(|group| *group != file && !name.starts_with(group));
    let name = groups.chain([name]).collect::<Vec<_>>().join(" › ");
    (!name.is_empty()).then_some(NamedTest { name, file, status })
}

/// Returns the tests that the lines of an output name, by those of Rust's harness, pytest, unittest, Go, vitest and TAP.
pub(crate) fn of_lines(lines: &[&str]) -> Vec<NamedTest> {
    lines.iter().filter_map(|line| of_line(line)).collect()
}

fn of_line(line: &str) -> Option<NamedTest> {
    use TestStatus::{Failed, Passed, Skipped};
    let line = line.trim();
    let named = |name: &str, status: TestStatus| {
        let (file, name) = (name.split_once("::").map_or("", |(file, _)| file), name.trim());
        let file = if file.contains(".py") { file.to_owned() } else { String::new() };
        (!name.is_empty()).then(|| NamedTest { name: name.to_owned(), file, status })
    };
    if let Some((name, end)) = line.strip_prefix("test ").and_then(|rest| rest.rsplit_once(" ... ")) {
        let name = name.trim_end_matches(" - should panic");
        let word = end.split([' ', ',']).next().unwrap_or_default();
        return match word {
            "ok" => named(name, Passed),
            "FAILED" => named(name, Failed),
            "ignored" => named(name, Skipped),
            _ => None,
        };
    }
    for (start, status) in [
        ("--- PASS: ", Passed),
        ("--- FAIL: ", Failed),
        ("--- SKIP: ", Skipped),
        ("✓ ", Passed),
        ("× ", Failed),
        ("↓ ", Skipped),
    ] {
        let Some(rest) = line.strip_prefix(start) else { continue };
        let is_go = start.starts_with('-');
        let name = if is_go { rest.rsplit_once(" (")?.0 } else { without_time(rest) };
        // A runner that indents its groups names no test by one line.
        return (is_go || name.contains(" > ")).then(|| named(name, status)).flatten();
    }
    if let Some((is_ok, rest)) =
        ["ok ", "not ok "].iter().find_map(|start| Some((*start == "ok ", line.strip_prefix(start)?)))
    {
        let name =
            rest.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start().trim_start_matches("- ");
        let (name, directive) = name.rsplit_once(" # ").unwrap_or((name, ""));
        let is_skipped = ["skip", "todo"].iter().any(|word| directive.to_ascii_lowercase().starts_with(word));
        return named(
            name,
            if is_skipped {
                Skipped
            } else if is_ok {
                Passed
            } else {
                Failed
            },
        );
    }
    if let Some((name, end)) = line.rsplit_once(" ... ").filter(|(name, _)| name.ends_with(')')) {
        return match end {
            "ok" => named(name, Passed),
            "FAIL" | "ERROR" => named(name, Failed),
            end if end.starts_with("skipped") || end == "expected failure" => named(name, Skipped),
            _ => None,
        };
    }
    let (name, _) = line.split_once(".py::")?;
    let rest = &line[name.len()..];
    for (word, status) in [
        (" PASSED", Passed),
        (" XPASS", Passed),
        (" FAILED", Failed),
        (" ERROR", Failed),
        (" SKIPPED", Skipped),
        (" XFAIL", Skipped),
    ] {
        if let Some(at) = rest.rfind(word) {
            return named(&line[..name.len() + at], status);
        }
    }
    None
}

/// `math > adds 12ms`
fn without_time(text: &str) -> &str {
    let (name, time) = text.rsplit_once(' ').unwrap_or((text, ""));
    if time.ends_with("ms") && time.starts_with(|c: char| c.is_ascii_digit()) { name } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read_report;

    fn listed(tests: &[NamedTest]) -> Vec<String> {
        tests.iter().map(|test| format!("{} {:?}", test.id(), test.status)).collect()
    }

    #[test]
    fn reports_as_the_runners_write_them_name_their_tests() {
        for (report, expected) in [
            (
                include_str!("../../fixtures/reports/pytest.xml"),
                &[
                    "tests/test_shop.py::TestCart::test_adds Passed",
                    "tests/test_shop.py::test_words[a] Passed",
                    "tests/test_shop.py::test_words[b<c] Failed",
                    "tests/test_shop.py::test_later Skipped",
                ][..],
            ),
            (
                include_str!("../../fixtures/reports/vitest.xml"),
                &[
                    "test/math.test.js › math > adds & \"quotes\" Passed",
                    "test/math.test.js › math > fails Failed",
                    "test/math.test.js › math > later Skipped",
                ],
            ),
            (
                include_str!("../../fixtures/reports/jest-junit.xml"),
                &["math adds Passed", "math fails Failed", "math later Skipped"],
            ),
            (
                include_str!("../../fixtures/reports/nextest.xml"),
                &["shop › tests::adds Passed", "shop › tests::fails Failed"],
            ),
            (
                include_str!("../../fixtures/reports/gotestsum.xml"),
                &[
                    "shop/api › TestAdds Passed",
                    "shop/api › TestWords/b<c Failed",
                    "shop/api › TestLater Skipped",
                ],
            ),
            (
                include_str!("../../fixtures/reports/ctrf.json"),
                &[
                    "tests/cart.spec.ts › cart › adds Passed",
                    "tests/cart.spec.ts › cart › fails Failed",
                    "later Skipped",
                ],
            ),
        ] {
            assert_eq!(listed(&read_report(report).unwrap()), expected);
        }
    }

    #[test]
    fn what_is_no_whole_report_is_none() {
        let deep = format!("<testsuite>{}", "<a>".repeat(1_000_000));
        let entity = "<!DOCTYPE x [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><testsuite><testcase name=\"&b;\"/></testsuite>";
        for text in [
            "",
            "<html/>",
            "<?xml version=\"1.0\"?><plan/>",
            "<testsuite><testcase name=\"a\"/>",
            "<testsuite><testcase name=\"a\"></testsuite>",
            "<testsuite><testcase/></testsuite>",
            "{\"results\": {}}",
            "{\"results\": {\"tests\": [{\"name\": \"a\", \"status\": \"fine\"}]}}",
            "[1, 2",
            entity,
            &deep,
            &"[".repeat(100_000),
        ] {
            assert_eq!(read_report(text), None, "{}", text.chars().take(80).collect::<String>());
        }
        assert_eq!(read_report("\u{feff}<testsuites/>"), Some(Vec::new()));
    }

    #[test]
    fn lines_name_a_test_as_its_runner_does() {
        for (line, expected) in [
            ("test cart::adds ... ok", "cart::adds Passed"),
            ("test cart::sums - should panic ... FAILED", "cart::sums Failed"),
            ("test cart::later ... ignored, slow", "cart::later Skipped"),
            ("tests/test_a.py::test_b[x y] PASSED           [ 25%]", "tests/test_a.py::test_b[x y] Passed"),
            ("tests/test_a.py::T::test_c SKIPPED (later) [ 50%]", "tests/test_a.py::T::test_c Skipped"),
            ("test_a (tests.T.test_a) ... skipped 'later'", "test_a (tests.T.test_a) Skipped"),
            ("    --- FAIL: TestWords/b (0.00s)", "TestWords/b Failed"),
            (" ✓ test/math.test.js > math > adds 12ms", "test/math.test.js > math > adds Passed"),
            ("not ok 2 - counts words", "counts words Failed"),
            ("ok 3 later # SKIP slow", "later Skipped"),
            ("  ✓ adds (3 ms)", ""),
            ("ok  \tshop/api\t0.1s", "shop/api\t0.1s Passed"),
            ("test result: ok. 1 passed; 0 failed", ""),
            ("compiling ... done", ""),
        ] {
            assert_eq!(listed(&of_lines(&[line])).join(""), expected, "{line}");
        }
    }
}
