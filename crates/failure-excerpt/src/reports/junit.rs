//! Reports in `JUnit`'s form, which most test runners can write.

use quick_xml::Reader;
use quick_xml::escape::unescape;
use quick_xml::events::{BytesStart, Event};

use super::counts::{Counted, ReportCounts};

use super::json::{bullet, pytest};
use super::named::{MAX_TESTS, NamedTest, TestStatus};
use crate::location::is_file;

/// Linters that report a file without a problem as a test that passed.
const LINTERS: &[&str] = &[
    "ruff",
    "eslint",
    "flake8",
    "pylint",
    "shellcheck",
    "stylelint",
    "golangci-lint",
    "phpcs",
    "rubocop",
    "checkstyle",
    "org.eslint",
    "org.stylelint",
];

/// Deepest nesting of a report.
const MAX_DEPTH: usize = 64;

/// What was said of one test.
#[derive(Debug, Default)]
struct Case {
    class: String,
    name: String,
    file: String,
    /// What each failure says: the message of its attribute, and its text.
    said: Vec<(String, String)>,
    was_skipped: bool,
}

/// What was read of a report so far.
#[derive(Debug, Default)]
struct Suite {
    name: String,
    case: Case,
    /// True inside a failure.
    is_failure: bool,
    counted: Counted,
    is_linter: bool,
}

/// Writes and counts the tests that failed in the report at the start of `text`, and returns its length. `None` if it is none, or does
/// not end.
pub(super) fn report(text: &str, out: &mut String, counts: &mut ReportCounts) -> Option<usize> {
    let mut reader = Reader::from_str(text);
    let config = reader.config_mut();
    (config.check_end_names, config.expand_empty_elements) = (false, true);
    let mut suite = Suite::default();
    let mut depth = 0_u32;
    let mut found = String::new();
    loop {
        match reader.read_event().ok()? {
            Event::Start(element) => {
                if depth == 0 && !matches!(element.name().into_inner(), "testsuites" | "testsuite") {
                    return None;
                }
                depth += 1;
                suite.open(&element);
            }
            Event::Text(said) => suite.push(&said),
            Event::GeneralRef(reference) => suite.push(&unescape(&format!("&{};", &*reference)).ok()?),
            Event::CData(said) => suite.push(&said),
            Event::End(element) => {
                depth = depth.saturating_sub(1);
                match element.name().into_inner() {
                    "failure" | "error" => suite.is_failure = false,
                    "testcase" => suite.end_case(&mut found),
                    _ => {}
                }
                if depth == 0 {
                    break;
                }
            }
            Event::Eof => return None,
            _ => {}
        }
    }
    out.push_str(&found);
    if !suite.is_linter {
        counts.add("junit", suite.counted);
    }
    usize::try_from(reader.buffer_position()).ok()
}

/// Returns the tests of a whole report; `None` if it is none.
pub(super) fn named(text: &str) -> Option<Vec<NamedTest>> {
    let mut reader = Reader::from_str(text);
    reader.config_mut().expand_empty_elements = true;
    let (mut tests, mut case) = (Vec::new(), None);
    let (mut suite, mut depth) = (String::new(), 0_usize);
    loop {
        match reader.read_event().ok()? {
            Event::Start(element) => {
                let name = element.name();
                match name.into_inner() {
                    "testsuites" | "testsuite" => suite = attribute(&element, "name"),
                    _ if depth == 0 => return None,
                    "testcase" => {
                        let status = attribute(&element, "status");
                        let is_skipped = matches!(status.as_str(), "skipped" | "notrun" | "disabled");
                        let status = if is_skipped { TestStatus::Skipped } else { TestStatus::Passed };
                        let [class, name, file] =
                            ["classname", "name", "file"].map(|key| attribute(&element, key));
                        case = Some((Case { class, name, file, ..Case::default() }, status));
                    }
                    "failure" | "error" => {
                        if let Some((_, status)) = &mut case {
                            *status = TestStatus::Failed;
                        }
                    }
                    "skipped" => {
                        if let Some((_, status @ TestStatus::Passed)) = &mut case {
                            *status = TestStatus::Skipped;
                        }
                    }
                    _ => {}
                }
                depth += 1;
            }
            Event::End(element) => {
                depth = depth.checked_sub(1)?;
                let ended = if element.name().into_inner() == "testcase" { case.take() } else { None };
                if let Some((case, status)) = ended {
                    tests.push(named_case(case, status, &suite)?);
                }
                if depth == 0 {
                    return Some(tests);
                }
            }
            Event::Eof => return None,
            _ => {}
        }
        if depth > MAX_DEPTH || tests.len() > MAX_TESTS {
            return None;
        }
    }
}

/// Returns a test as it is called elsewhere; `None` without a name, as of one that has an unknown entity in it.
fn named_case(case: Case, status: TestStatus, suite: &str) -> Option<NamedTest> {
    if case.name.is_empty() {
        return None;
    }
    if suite == "pytest" {
        let name = python_name(&case);
        let file = name.split("::").next().unwrap_or_default().to_owned();
        return Some(NamedTest { name, file, status });
    }
    let is_path = case.file.is_empty() && case.class.contains(['/', '.']) && is_file(&case.class);
    let file = if is_path { case.class.clone() } else { case.file };
    let is_group = !case.class.is_empty() && case.class != file && !case.name.starts_with(&case.class);
    let name = if is_group { format!("{} › {}", case.class, case.name) } else { case.name };
    Some(NamedTest { name, file, status })
}

impl Suite {
    fn open(&mut self, element: &BytesStart<'_>) {
        match element.name().into_inner() {
            "testsuites" | "testsuite" => {
                self.name = attribute(element, "name");
                let package = attribute(element, "package");
                self.is_linter |= LINTERS.iter().any(|linter| self.name == *linter || package == *linter);
            }
            "testcase" => {
                let status = attribute(element, "status");
                self.case = Case {
                    class: attribute(element, "classname"),
                    name: attribute(element, "name"),
                    file: attribute(element, "file"),
                    said: Vec::new(),
                    was_skipped: matches!(status.as_str(), "skipped" | "notrun" | "disabled"),
                };
            }
            "failure" | "error" => {
                self.is_failure = true;
                self.case.said.push((attribute(element, "message"), String::new()));
            }
            "skipped" => self.case.was_skipped = true,
            _ => {}
        }
    }

    fn push(&mut self, text: &str) {
        if let Some((_, said)) = self.case.said.last_mut().filter(|_| self.is_failure) {
            said.push_str(text);
        }
    }

    fn end_case(&mut self, out: &mut String) {
        let case = std::mem::take(&mut self.case);
        *match (case.said.is_empty(), case.was_skipped) {
            (false, _) => &mut self.counted.failed,
            (true, true) => &mut self.counted.skipped,
            (true, false) => &mut self.counted.passed,
        } += 1;
        for (message, said) in &case.said {
            if said.contains(".py:") || said.lines().any(|line| line.starts_with("E  ")) {
                pytest(out, &python_name(&case), said);
                continue;
            }
            if let Some(problem) = self.problem(&case, message, said) {
                out.push_str(&problem);
                continue;
            }
            // node wraps what a test threw.
            let thrown = said.split_once("\n  cause: ").map_or(said.as_str(), |(_, thrown)| thrown);
            // The text repeats the message nearly everywhere; googletest and others have it in one of the two alone. Attributes lose
            // white space.
            let [bare_text, bare_message] =
                [thrown, message].map(|text| text.split_whitespace().collect::<String>());
            let said = if bare_text.contains(&bare_message) {
                thrown.to_owned()
            } else {
                format!("{message}\n{thrown}")
            };
            let group = Some(case.class.as_str()).filter(|class| !class.is_empty() && *class != case.name);
            let sign = if self.name == "Mocha Tests" { " " } else { " › " };
            let name = group.map_or(case.name.clone(), |group| format!("{group}{sign}{}", case.name));
            bullet(out, &name, &said);
        }
    }

    /// What a linter reports as a test of a file: `line 3, col 8, words`.
    fn problem(&self, case: &Case, message: &str, said: &str) -> Option<String> {
        let (line, rest) = said.trim().strip_prefix("line ")?.split_once(", col ")?;
        let (column, _) = rest.split_once(',')?;
        let rule = case.name.strip_prefix("org.")?.split_once('.')?.1;
        Some(format!("{}:{line}:{column}: error: {message} [{rule}]\n", self.name))
    }
}

fn attribute(element: &BytesStart<'_>, name: &str) -> String {
    let found = element.try_get_attribute(name).ok().flatten();
    let unescaped = found.and_then(|found| Some(unescape(&found.value).ok()?.into_owned()));
    unescaped.unwrap_or_default()
}

/// `test_a` of `tests.test_shop.TestCart` as pytest names it elsewhere; without a class it is a file that cannot be loaded.
fn python_name(case: &Case) -> String {
    if case.class.is_empty() {
        return format!("{}.py", case.name.replace('.', "/"));
    }
    let (classes, modules): (Vec<&str>, Vec<&str>) =
        case.class.split('.').partition(|part| part.starts_with(|c: char| c.is_ascii_uppercase()));
    let file = if case.file.is_empty() { format!("{}.py", modules.join("/")) } else { case.file.clone() };
    [&[file.as_str()], classes.as_slice(), &[case.name.as_str()]].concat().join("::")
}
