//! Reports in `JUnit`'s form, which most test runners can write.

use quick_xml::Reader;
use quick_xml::escape::unescape;
use quick_xml::events::{BytesStart, Event};

use super::plain_form::{bullet, pytest};
use crate::tally::{Counted, ReportCounts};

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

/// What was said of one test.
#[derive(Debug, Default)]
struct Case {
    class: String,
    name: String,
    file: String,
    /// The name of the suite that it is in.
    suite: String,
    /// What each failure says: the message of its attribute, and its text.
    said: Vec<(String, String)>,
    was_skipped: bool,
}

/// What was read of a report so far.
#[derive(Debug, Default)]
struct Suite {
    name: String,
    case: Option<Case>,
    /// True inside a failure.
    is_failure: bool,
    counted: Counted,
    is_linter: bool,
}

/// Writes and counts the tests that failed in the report at the start of `text`, and returns its length. `None` if it is none, or does
/// not end.
pub(super) fn report(text: &str, out: &mut String, counts: &mut ReportCounts) -> Option<usize> {
    let mut reader = Reader::from_str(text);
    reader.config_mut().check_end_names = false;
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
            Event::Empty(element) => {
                if depth == 0 {
                    return None;
                }
                suite.open(&element);
                if element.name().into_inner() == "testcase" {
                    suite.end_case(&mut found);
                }
                suite.is_failure = false;
            }
            Event::Text(said) if suite.is_failure => suite.push(&said),
            Event::GeneralRef(reference) if suite.is_failure => {
                let entity = format!("&{};", &*reference);
                suite.push(&unescape(&entity).ok()?);
            }
            Event::CData(said) if suite.is_failure => suite.push(&said),
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
            Event::Text(_)
            | Event::CData(_)
            | Event::GeneralRef(_)
            | Event::Comment(_)
            | Event::Decl(_)
            | Event::PI(_)
            | Event::DocType(_) => {}
        }
    }
    out.push_str(&found);
    if !suite.is_linter {
        counts.add("junit", suite.counted);
    }
    usize::try_from(reader.buffer_position()).ok()
}

impl Suite {
    fn open(&mut self, element: &BytesStart<'_>) {
        let attribute = |name: &str| {
            let found = element.try_get_attribute(name).ok().flatten();
            let unescaped = found.and_then(|found| Some(unescape(&found.value).ok()?.into_owned()));
            unescaped.unwrap_or_default()
        };
        match element.name().into_inner() {
            kind @ ("testsuites" | "testsuite") => {
                let name = attribute("name");
                let package = attribute("package");
                self.is_linter |= LINTERS.iter().any(|linter| name == *linter || package == *linter);
                if kind == "testsuite" {
                    self.name = name;
                }
            }
            "testcase" => {
                self.case = Some(Case {
                    suite: self.name.clone(),
                    class: attribute("classname"),
                    name: attribute("name"),
                    file: attribute("file"),
                    said: Vec::new(),
                    was_skipped: matches!(attribute("status").as_str(), "skipped" | "notrun" | "disabled"),
                });
            }
            "failure" | "error" => {
                self.is_failure = true;
                if let Some(case) = &mut self.case {
                    case.said.push((attribute("message"), String::new()));
                }
            }
            "skipped" => {
                if let Some(case) = &mut self.case {
                    case.was_skipped = true;
                }
            }
            _ => {}
        }
    }

    fn push(&mut self, text: &str) {
        if let Some((_, said)) = self.case.as_mut().and_then(|case| case.said.last_mut()) {
            said.push_str(text);
        }
    }

    fn end_case(&mut self, out: &mut String) {
        let Some(case) = self.case.take() else { return };
        let count = match &case {
            case if !case.said.is_empty() => &mut self.counted.failed,
            case if case.was_skipped => &mut self.counted.skipped,
            _ => &mut self.counted.passed,
        };
        *count += 1;
        write(&case, out);
    }
}

fn write(case: &Case, out: &mut String) {
    for (message, said) in &case.said {
        let is_python = said.lines().any(|line| line.starts_with("E  ")) || said.contains(".py:");
        if is_python && case.class.is_empty() {
            let file = format!("{}.py", case.name.replace('.', "/"));
            out.push_str(&format!("=== ERRORS ===\n____ ERROR collecting {file} ____\n{said}\n====\n"));
        } else if is_python {
            pytest(out, &format!("{}::{}", python_file(case), case.name), said);
        } else if let Some(problem) = problem(case, message, said) {
            out.push_str(&problem);
        } else {
            // node wraps what a test threw.
            let thrown = said.split_once("\n  cause: ").map_or(said.as_str(), |(_, thrown)| thrown);
            // The text repeats the message nearly everywhere; googletest and others have it in one of the two alone.
            let is_repeated = bare(thrown).contains(&bare(message));
            let said = if is_repeated { thrown.to_owned() } else { format!("{message}\n{thrown}") };
            bullet(out, &full_name(case), &said);
        }
    }
}

/// Returns a text without its white space, which attributes lose.
fn bare(text: &str) -> String {
    text.split_whitespace().collect()
}

/// The group and the test, as the runner prints them elsewhere.
fn full_name(case: &Case) -> String {
    if case.class.is_empty() || case.class == case.name {
        return case.name.clone();
    }
    let sign = if case.suite == "Mocha Tests" { " " } else { " › " };
    format!("{}{sign}{}", case.class, case.name)
}

/// What a linter reports as a test of a file: `line 3, col 8, words`.
fn problem(case: &Case, message: &str, said: &str) -> Option<String> {
    let (line, rest) = said.trim().strip_prefix("line ")?.split_once(", col ")?;
    let (column, _) = rest.split_once(',')?;
    let rule = case.name.strip_prefix("org.")?.split_once('.')?.1;
    Some(format!("{}:{line}:{column}: error: {message} [{rule}]\n", case.suite))
}

/// `tests.test_shop.TestCart` as the file in which it is.
fn python_file(case: &Case) -> String {
    if !case.file.is_empty() {
        return case.file.clone();
    }
    let parts: Vec<&str> = case.class.split('.').collect();
    let is_class = |part: &&str| part.starts_with(|c: char| c.is_ascii_uppercase());
    let modules: Vec<&str> = parts.iter().copied().take_while(|part| !is_class(part)).collect();
    let classes: Vec<&str> = parts.iter().copied().skip(modules.len()).collect();
    let file = format!("{}.py", modules.join("/"));
    if classes.is_empty() { file } else { format!("{file}::{}", classes.join("::")) }
}
