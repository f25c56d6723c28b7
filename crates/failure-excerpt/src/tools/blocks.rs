//! Runners that name each failed test in one line, with what it said below: a row for each.

use super::prelude::*;

/// A runner, what its line begins with, what is behind the name, and what begins the first line after the test: a blank stands for
/// text without indentation, an empty text for an empty line. Rows without an end are about one line.
type Block = (&'static str, Stage, &'static [&'static str], &'static str, &'static [&'static str]);

/// A row that begins with nothing ends with what is behind the name, or with a location behind that.
const BLOCKS: &[Block] = &[
    ("libtest", Stage::Test, &["---- "], " stdout ----", LIBTEST_ENDS),
    ("libtest", Stage::Test, &["---- "], " stderr ----", LIBTEST_ENDS),
    ("libtest", Stage::Test, &["test "], " ... FAILED", &[]),
    ("libtest", Stage::Test, &["FAIL [", "SIGSEGV [", "SIGABRT [", "TIMEOUT ["], "", &[]),
    ("gradle", Stage::Test, &[""], "() FAILED", &[" "]),
    ("gradle", Stage::Test, &[""], " FAILED", &[" "]),
    ("scalatest", Stage::Test, &["- "], " *** FAILED ***", &["- ", " "]),
    ("julia", Stage::Test, &[""], ": Test Failed at ", &[" "]),
    ("julia", Stage::Test, &[""], ": Error During Test at ", &[" "]),
    ("dart", Stage::Test, &[""], " [E]", &[" "]),
    ("deno", Stage::Test, &[""], " => ", &["FAILURES", "ERRORS", "FAILED | "]),
    ("busted", Stage::Test, &["Failure → ", "Failure -> ", "Error → ", "Error -> "], " @ ", &[""]),
    ("dotnet", Stage::Test, &["Failed ", "X ", "failed "], " [", DOTNET_ENDS),
    ("dotnet", Stage::Test, &["failed "], " (", DOTNET_ENDS),
    ("rspec", Stage::Build, &["An error occurred while loading "], ".", RSPEC_ENDS),
    ("rspec", Stage::Build, &["An error occurred while loading "], ":", RSPEC_ENDS),
];

const LIBTEST_ENDS: &[&str] = &["---- ", "failures:", "test result:", "thread '"];
const DOTNET_ENDS: &[&str] =
    &["Failed ", "Passed ", "failed ", "Failed!", "Total tests", "Test Run Failed", "Standard Output"];
const RSPEC_ENDS: &[&str] = &["No examples found", "Finished in ", "Randomized with seed"];

pub(super) fn block(page: &Page, at: usize) -> Found {
    let text = without_level(page.line(at)).trim_start();
    let (&(tool, stage, starts, _, ends), mut id, behind) = BLOCKS.iter().find_map(|row| {
        let rest = strip_any(text, row.2)?;
        let (id, behind) = if row.3.is_empty() { (rest, "") } else { rest.rsplit_once(row.3)? };
        let is_duration = starts_with_digit(behind) || behind.starts_with('<');
        let is_place = find_location(behind).is_some_and(|found| found.end == behind.len());
        let is_whole = behind.is_empty() || is_place || row.2 != [""] && is_duration;
        (is_whole && (row.0 != "gradle" || id.contains(" > "))).then_some((row, id, behind))
    })?;
    let mut head = at;
    match tool {
        "busted" => {
            head += 1;
            id = page.line(head);
        }
        "dart" => id = id.split_once(": ")?.1,
        // nextest: `FAIL [   0.006s] shop basket::sums`
        _ if starts[0].ends_with('[') => id = id.rsplit(' ').next()?,
        _ => {}
    }
    let end = if ends.is_empty() {
        at + 1
    } else {
        page.find_end(head + 1, |line| {
            let line = without_level(line);
            let is_flat = !line.is_empty() && !line.starts_with([' ', '\t']);
            ends.iter().any(|end| match *end {
                "" => line.is_empty(),
                " " => is_flat,
                end => line.trim_start().starts_with(end),
            })
        })
    };
    // What a test of Rust printed before its panic says nothing of it.
    let body = if page.line(end).trim_start().starts_with("thread '") { head + 1 } else { end };
    let (mut failure, _) = Failure::new(stage, tool).with_id(id).in_block(page, head, body);
    if tool == "rspec" {
        super::runners::settle_message(page, &mut failure);
    }
    if failure.message.starts_with("error: ") {
        failure.message.drain(.."error: ".len());
    }
    if failure.file.is_empty() {
        file_in(behind).clone_into(&mut failure.file);
    }
    (starts != [""] || failure.is_explained()).then_some((failure, end))
}

/// Returns a line without the level that sbt writes before it.
fn without_level(line: &str) -> &str {
    strip_any(line, &["[info] ", "[error] "]).unwrap_or(line)
}
