//! Runners whose failed tests need more than a row of [`blocks`](super::blocks).

use super::prelude::*;

/// `--- FAIL: TestX (0.00s)`, also of a subtest.
pub(super) fn go(page: &Page, at: usize) -> Found {
    let line = page.line(at);
    let rest = line.trim_start().strip_prefix("--- FAIL: ")?;
    let name = rest.rsplit_once(" (").map_or(rest, |(name, _)| name);
    let end = page.find_end(at + 1, is_status_of_go);
    let (mut failure, end) = Failure::new(Stage::Test, "go").with_id(name).in_block(page, at, end);
    if !failure.is_explained() {
        // With -v, the test's output is before this line, after its `=== RUN`.
        if let Some(run) = page.find_above(at, MAX_LOOKBACK_LINES, |line| {
            let started = strip_any(line.trim_start(), &["=== RUN ", "=== CONT ", "=== NAME "]);
            started.is_some_and(|started| started.trim() == name)
        }) {
            let end = (run + 1..at)
                .find(|at| is_status_of_go(page.line(*at)) && indent_of(page.line(*at)) <= indent_of(line))
                .unwrap_or(at);
            failure.add_body(page, run + 1, end, FrameOrder::NewestFirst);
        }
    }
    if !failure.is_explained() {
        // Only its subtests say why.
        failure.tool = SUITE;
    }
    Some((failure, end))
}

fn is_status_of_go(line: &str) -> bool {
    let text = line.trim_start();
    starts_with_any(text, &["--- ", "=== ", "panic: ", "FAIL\t", "ok  \t", "?   \t"])
        || matches!(text, "FAIL" | "PASS")
}

/// Starts of what follows a failed test of jest and its kin.
const JEST_ENDS: &[&str] = &[
    "FAIL ",
    "PASS ",
    "RUNS ",
    "-----",
    "● ",
    "Test Suites:",
    "⎯⎯⎯",
    "Test Files ",
    "Summary of all failing",
];

/// jest's `● group › name`, vitest's `FAIL  file > group > name`.
pub(super) fn bullet(page: &Page, at: usize) -> Found {
    let text = page.line(at).trim_start();
    let end = page.find_end(at + 1, |line| starts_with_any(line.trim_start(), JEST_ENDS));
    if let Some(name) = text.strip_prefix("● ") {
        if starts_with_any(name, &["Console", "Validation Warning", "Deprecation"])
            || name.contains("open handle")
        {
            return None;
        }
        if !name.starts_with("Test suite failed to run") {
            return Some(Failure::new(Stage::Test, "jest").with_id(name).in_block(page, at, end));
        }
        let suite = page.find_above(at, 600, |line| line.trim_start().starts_with("FAIL "));
        let file = suite.and_then(|at| page.line(at).split_whitespace().nth(1)).unwrap_or_default();
        let mut failure = Failure::new(Stage::Build, "jest").with_id(file);
        failure.add_all(suite, LineKind::Location);
        return Some(failure.in_block(page, at, end));
    }
    let rest = text.strip_prefix("FAIL ")?.trim();
    let (file, name) = rest.split_once(" > ").unwrap_or((rest, ""));
    let first = file.split_whitespace().next().unwrap_or_default();
    if !is_file(first) && (name.is_empty() || !file.starts_with('|')) {
        return None;
    }
    let stage = if name.is_empty() { Stage::Build } else { Stage::Test };
    let (failure, end) = Failure::new(stage, "jest").with_id(rest).in_block(page, at, end);
    if name.is_empty() && !failure.message.contains("rror") {
        // Only the name of a file whose tests are listed below.
        return Some((Failure::new(Stage::Test, SUITE).with_id(first).with_line(at, LineKind::Note), at + 1));
    }
    Some((failure, end))
}

/// The crosses that runners draw.
const CROSSES: [&str; 9] = ["✖ ", "✗ ", "✕ ", "✘ ", "× ", "❌ ", "(fail) ", "⨯ ", "𐄂 "];
/// What runners draw before anything else; playwright prints each test in a numbered list.
const OTHERS: [&str; 15] =
    ["✔", "✓", "▶", "ℹ", "√", "✅", "(pass)", "﹣", "○", "»", "➜", "🧪", "(fail)", "1) [", "test at "];

/// `✖ name (0.3ms)`: node's own runner, ava, bats, vitest's tree, playwright, bun.
pub(super) fn marked(page: &Page, at: usize) -> Found {
    let line = page.line(at);
    let rest = strip_any(line.trim_start(), &CROSSES)?.trim();
    if rest == "failing tests:" || rest.contains(" problem") || rest.starts_with("Failed Tests") {
        return None;
    }
    if let Some(rest) = rest.strip_prefix("[fail]: ") {
        return Some(ava(page, at, without_duration(rest.trim_end_matches(" Error thrown in test"))));
    }
    let indent = indent_of(line);
    let end = page.find_end(at + 1, |line| {
        let text = line.trim_start();
        let is_count = starts_with_digit(text) && contains_any(text, &[" test", " pass", " fail"]);
        CROSSES.iter().any(|mark| text.starts_with(mark.trim_end()))
            || starts_with_any(text, &OTHERS)
            || !text.is_empty() && indent_of(line) < indent
            || is_count && (!line.starts_with(' ') || text.ends_with(" pass") || text.ends_with(" fail"))
    });
    // Two blank lines end it in any case.
    let end = (at + 1..end)
        .find(|at| {
            page.line(*at).is_empty() && page.line(at + 1).is_empty() && !page.line(at + 2).starts_with(' ')
        })
        .unwrap_or(end);
    let mut failure =
        Failure::new(Stage::Test, "marked").with_id(without_duration(rest)).with_line(at, LineKind::Head);
    if starts_with_any(page.line(at + 1).trim_start(), &["(in test", "(from function"]) {
        super::tap::add_comments(page, &mut failure, at + 1, end);
    } else {
        failure.add_body(page, at + 1, end, FrameOrder::NewestFirst);
    }
    // A list of marks alone names groups of tests as well as tests.
    if !failure.is_explained() {
        failure.tool = SUITE;
    }
    if at > 0 && page.line(at - 1).starts_with("test at ") {
        failure.add(at - 1, LineKind::Frame);
    }
    Some((failure, end))
}

/// ava prints each failed test below a rule, after the list of all tests.
fn ava(page: &Page, at: usize, name: &str) -> (Failure, usize) {
    let mut failure = Failure::new(Stage::Test, "ava").with_id(name).with_line(at, LineKind::Head);
    let stop = page.end_of_stream(at).min(at + 2000);
    let title = (at + 1..stop).find(|&at| page.line(at).trim() == name && page.line(at - 1).is_empty());
    if let Some(title) = title {
        let end = page.find_end(title + 1, |line| line.trim() == "─");
        failure.add_body(page, title + 1, end, FrameOrder::NewestFirst);
        super::tap::unwrap_ava_error(page, &mut failure);
    }
    (failure, at + 1)
}

/// `[ERROR] countsAll(demo.ShelfTest)  Time elapsed: 0.004 s  <<< FAILURE!`, and the list at the end.
pub(super) fn surefire(page: &Page, at: usize) -> Found {
    let line = page.line(at);
    let rest = line.strip_prefix("[ERROR] ").unwrap_or(line);
    if let Some(goal) = line.strip_prefix("[ERROR] Failed to execute goal ") {
        return Some(self::goal(goal).in_line(at));
    }
    if contains_any(rest, &["<<< FAILURE!", "<<< ERROR!"]) && !rest.starts_with("Tests run:") {
        let name = rest.split("Time elapsed").next()?.trim_end_matches([' ', '-']);
        let name = name.split_once('(').map_or(name, |(method, _)| method);
        let name = name.rsplit('.').next().unwrap_or(name);
        let end =
            page.find_end(at + 1, |line| line.is_empty() || starts_with_any(line, &["[ERROR]", "[INFO]"]));
        return Some(Failure::new(Stage::Test, "surefire").with_id(name).in_block(page, at, end));
    }
    // `[ERROR]   ShelfTest.countsAll:12 expected:<3> but was:<2>`
    let item = line.strip_prefix("[ERROR]   ")?.trim_start();
    let (name, message) = item.split_once(' ').unwrap_or((item, ""));
    let (class, method) = name.split_once('.')?;
    let method = method.split([':', '>']).next()?;
    let is_name = method.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$');
    if !is_name || method.is_empty() || !class.starts_with(|c: char| c.is_ascii_uppercase()) {
        return None;
    }
    let message = message.trim_start_matches("» ");
    Some(Failure::new(Stage::Test, "surefire").with_id(method).with_message(message).in_line(at))
}

/// Returns a Maven goal that failed: by itself, or because of a failure reported before.
fn goal(rest: &str) -> Failure {
    if contains_any(rest, &["Could not resolve", "Could not find artifact"]) {
        // Where it was looked for, and whether it was looked for again, differs.
        let mut words = rest.split([' ', ',']).map(|word| word.trim_end_matches([':', '.']));
        let artifact = words.rfind(|word| word.split(':').count() >= 4 && !word.contains('/'));
        return Failure::new(Stage::Build, "maven")
            .with_code(artifact.unwrap_or_default())
            .with_message("Could not resolve dependencies");
    }
    let is_reported =
        contains_any(rest, &["There are test failures", "Compilation failure", "There was a timeout"]);
    let stage = if is_reported { Stage::Secondary } else { Stage::Other };
    Failure::new(stage, "maven").with_message(rest.split_once(": ").map_or(rest, |(_, words)| words))
}

/// googletest: `[ RUN      ] A.B` ... `[  FAILED  ] A.B (0 ms)`, and others that draw such boxes; ctest's `2/3 Test #2: wraps ....***Failed
/// 0.01 sec`.
pub(super) fn boxed(page: &Page, at: usize) -> Found {
    let line = page.line(at);
    if let Some((_, rest)) = line.split_once("Test #").and_then(|(_, rest)| rest.split_once(": ")) {
        let (name, result) = rest.split_once("***").or_else(|| rest.split_once("   "))?;
        let (name, word) = (name.trim_end_matches(['.', ' ']), result.trim().split("  ").next()?);
        let (stage, message) = match word {
            _ if word.starts_with("Passed") => return None,
            _ if word.starts_with("Timeout") => (Stage::Hang, word),
            _ if word.starts_with("Exception") => (Stage::Crash, word),
            _ => (Stage::Test, ""),
        };
        return Some(Failure::new(stage, "ctest").with_id(name).with_message(message).in_line(at));
    }
    let (word, name) = bracketed(line)?;
    if !matches!(word, "FAILED" | "FAIL" | "TIMEOUT" | "KO")
        || name.ends_with("listed below:")
        || starts_with_digit(name)
    {
        return None;
    }
    let name = without_duration(name.split(", where ").next().unwrap_or(name));
    let mut failure = Failure::new(Stage::Test, "gtest").with_id(name).with_line(at, LineKind::Head);
    // The words may follow, indented.
    let run = page.find_above(at, MAX_LOOKBACK_LINES, |line| bracketed(line) == Some(("RUN", name)));
    let (from, to) = match run {
        Some(run) => (run + 1, at),
        None => (at + 1, page.find_end(at + 1, |line| !line.starts_with(' '))),
    };
    failure.add_body(page, from, to, FrameOrder::NewestFirst);
    Some((failure, at + 1))
}

/// Returns what a line in brackets says, and of what: `[ RUN      ] A.B`.
pub(crate) fn bracketed(line: &str) -> Option<(&str, &str)> {
    let (word, name) = line.trim_start().strip_prefix('[')?.split_once("] ")?;
    let word = word.trim();
    let is_word = (1..10).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_uppercase());
    is_word.then(|| (word, name.trim()))
}

/// Catch2 and doctest: `t.cpp:12: FAILED:`, `t.cpp:12: ERROR: CHECK( x ) is NOT correct!`; Boost, Unity, and googletest without its boxes.
pub(super) fn check(page: &Page, at: usize) -> Found {
    let line = page.line(at);
    let found = find_location(line).filter(|found| found.start == 0)?;
    let rest = line[found.end..].trim_start_matches([':', ')']).trim();
    let failure =
        |tool| Failure::new(Stage::Test, tool).with_file(found.file).with_line(at, LineKind::Location);
    // Catch2's compact reporter: `failed: x == 3 for: 2 == 3`
    if let Some((said, expansion)) = rest.strip_prefix("failed: ").and_then(|said| said.split_once(" for: "))
    {
        let mut failure = failure("catch2").with_message(said);
        failure.values.push(expansion.to_owned());
        failure.id = test_at(page, at, at + 1);
        return Some((failure, at + 1));
    }
    let is_plain = rest.starts_with("Failure");
    let end = page.find_end(at + 1, |line| {
        line.is_empty() && !is_plain
            || starts_with_any(line, &["----", "===="])
            || bracketed(line).is_some()
            || find_location(line).is_some_and(|found| found.start == 0)
    });
    let end = end.min(at + 30);
    let mut failure = if let Some(quoted) = strip_any(rest, &["error: in \"", "fatal error: in \""]) {
        let (name, message) = quoted.split_once("\": ").unwrap_or((quoted, ""));
        failure("catch").with_id(name).with_message(message)
    } else if let Some((name, said)) = rest.split_once(":FAIL") {
        failure("catch").with_id(name).with_message(said.trim_start_matches(':'))
    } else if rest.starts_with("FAILED:")
        || rest.starts_with("ERROR: ") && contains_any(rest, &["CHECK", "REQUIRE"])
    {
        // Catch2 has the name of the test above, between rules.
        let is_title =
            |at: &usize| !page.line(*at).is_empty() && !page.line(*at).starts_with(['-', '~', '.', '=']);
        let rule = page.find_above(at, 12, |line| starts_with_any(line, &["---", "TEST CASE"]));
        match rule.and_then(|rule| (rule.saturating_sub(4)..rule).rev().find(is_title)) {
            Some(title) => failure("catch2").with_id(page.line(title)).with_line(title, LineKind::Head),
            None => failure("catch"),
        }
    } else if is_plain {
        failure("catch")
    } else {
        return None;
    };
    if failure.id.is_empty() {
        failure.id = test_at(page, at, end);
    }
    failure.add_body(page, at + 1, end, FrameOrder::NewestFirst);
    Some((failure, end))
}

/// Returns the test that was running at a line, where its runner draws boxes; or whose result is below.
fn test_at(page: &Page, at: usize, end: usize) -> String {
    let above = page.find_above(at, MAX_LOOKBACK_LINES, |line| bracketed(line).is_some());
    let running = above.and_then(|at| bracketed(page.line(at))).filter(|(word, _)| *word == "RUN");
    let boxed = running.or_else(|| bracketed(page.line(end)).filter(|(word, _)| *word == "FAILED"));
    let name = boxed.and_then(|(_, name)| name.split(", where ").next()).unwrap_or_default();
    without_duration(name).to_owned()
}

/// `  1) Queue`, and what is said of it: mocha, `RSpec`, minitest, `ExUnit`, `PHPUnit`, hspec.
pub(super) fn numbered(page: &Page, at: usize) -> Found {
    let (number, title) = item(page.line(at))?;
    let indent = indent_of(page.line(at));
    // mocha numbers them where they happen, and prints them at the end.
    if page.failing_count().is_some_and(|count| at < count) {
        return Some((Failure::new(Stage::Test, SUITE).with_id(title).with_line(at, LineKind::Note), at + 1));
    }
    let end = page.find_end(at + 1, |line| {
        item(line).is_some_and(|(next, _)| next == number + 1 && indent_of(line) <= indent + 1)
            || is_summary(line)
    });
    let mut failure = Failure::new(Stage::Test, "numbered").with_line(at, LineKind::Head);
    let mut last = at;
    if matches!(title, "Failure:" | "Error:" | "Failure" | "Error" | "Skipped:") {
        // minitest has the name in the next line: `TestX#test_y [test/x.rb:12]:`
        last = (at + 1..end).find(|&at| !page.line(at).trim().is_empty())?;
        let line = page.line(last);
        let name = line.split([' ', '[', '(']).find(|part| !part.is_empty()).unwrap_or_default();
        name.rsplit(['#', ':']).find(|part| !part.is_empty()).unwrap_or(name).clone_into(&mut failure.id);
        failure.add(last, LineKind::Location);
        file_in(line).clone_into(&mut failure.file);
    } else {
        // mocha spreads the name over lines that end in a colon.
        if !title.ends_with(':') {
            let below = (at + 1..end.min(at + 6)).map(|at| (at, page.line(at)));
            let mut groups =
                below.take_while(|(_, line)| !line.trim().is_empty() && indent_of(line) > indent);
            let name = groups.find(|(_, line)| {
                line.ends_with(':')
                    && !contains_any(line, &["Error", "Failure/"])
                    && indent_of(line) > indent + 3
                    && find_location(line).is_none()
            });
            last = name.map_or(at, |(at, _)| at);
        }
        failure.add_all(at + 1..=last, LineKind::Head);
        let names = (at + 1..=last).map(|at| page.line(at).trim());
        let id = names.fold(title.to_owned(), |id, name| format!("{id} {name}"));
        id.trim_end_matches(':').clone_into(&mut failure.id);
    }
    failure.add_body(page, last + 1, end, FrameOrder::NewestFirst);
    settle_message(page, &mut failure);
    failure.is_explained().then_some((failure, end))
}

/// `RSpec` shows the failing source before the message, and the class of an error in a line of its own; `ExUnit` shows the
/// location of the test before the message.
pub(super) fn settle_message(page: &Page, failure: &mut Failure) {
    let said: Vec<&str> = failure
        .parts
        .iter()
        .filter(|part| matches!(part.1, LineKind::Note | LineKind::Value))
        .map(|part| page.line(part.0).trim())
        .collect();
    let is_location = find_location(&failure.message)
        .is_some_and(|found| found.start == 0 && found.end == failure.message.len());
    if let Some(first) = said.iter().find(|text| **text != failure.message)
        && (is_location || failure.message.starts_with("Failure/Error:"))
    {
        failure.values.retain(|value| value != first);
        (*first).clone_into(&mut failure.message);
    }
    let is_class =
        failure.message.ends_with(':') && !failure.message.contains(' ') && failure.message.len() > 6;
    if let Some(words) = said.iter().find(|text| is_class && **text != failure.message) {
        failure.values.retain(|value| value != words);
        failure.message = format!("{} {words}", failure.message);
    }
}

/// Returns the number and the title of an item.
fn item(line: &str) -> Option<(u32, &str)> {
    let (number, title) = line.trim_start().split_once(") ")?;
    let number = number.parse().ok().filter(|number| *number < 10_000)?;
    Some((number, title.trim())).filter(|(_, title)| !title.is_empty())
}

/// Starts of what follows a numbered list.
const SUMMARY_STARTS: &[&str] = &[
    "Finished in ",
    "Randomized with seed",
    "FAILURES!",
    "Failed examples:",
    "rspec ./",
    "To rerun use:",
    "ERRORS!",
    "There was ",
    "There were ",
];

fn is_summary(line: &str) -> bool {
    let text = line.trim_start();
    starts_with_any(line, SUMMARY_STARTS)
        || text.starts_with("Tests: ")
        || starts_with_digit(text) && contains_any(text, &[" runs, ", " tests, ", " examples, "])
}

/// The console launcher of `JUnit`: `JUnit Jupiter:MoneyTest:adds()` with `=> Exception: words` below, and frames that have no `at`.
pub(super) fn console(page: &Page, at: usize) -> Found {
    let said = page.line(at).trim_start().strip_prefix("=> ")?;
    let head = page.find_above(at, 3, |line| line.contains(':') && line.ends_with(')'))?;
    let name = page.line(head).trim().rsplit(':').next()?.trim_end_matches("()");
    let end = page.find_end(at + 1, |line| line.trim().is_empty() || line.trim_start().starts_with("[...]"));
    let mut failure = Failure::new(Stage::Test, "console")
        .with_id(name)
        .with_message(said)
        .with_line(head, LineKind::Head)
        .with_line(at, LineKind::Message);
    let frames: Vec<usize> = (at + 1..end)
        .filter(|at| {
            let text = page.line(*at).trim();
            find_location(text).is_some() && !is_external_frame(&format!("at {text}"))
        })
        .collect();
    failure.add_frames(page, &frames, FrameOrder::NewestFirst);
    Some((failure, end))
}
