//! Maven with surefire, Gradle, and the stack traces of the JVM.

use super::super::failure::{Failure, FrameOrder, Stage};
use super::super::line_kind::LineKind;
use super::super::page::Page;
use super::super::scan_state::ScanState;
use super::super::words::{contains_any, starts_with_any};
use super::runner_lines::without_duration;

/// `[ERROR] countsAll(demo.ShelfTest)  Time elapsed: 0.004 s  <<< FAILURE!`, and the list at the end.
pub(super) fn surefire(page: &Page, at: usize, _: &mut ScanState) -> Option<(Failure, usize)> {
    let line = page.line(at);
    let rest = line.strip_prefix("[ERROR] ").or_else(|| line.contains("<<< ").then_some(line))?;
    if rest.starts_with("Tests run:") {
        return None;
    }
    if rest.starts_with("Failed to execute goal") {
        return Some(goal(rest).in_line(at));
    }
    if rest.contains("<<< FAILURE!") || rest.contains("<<< ERROR!") {
        let name = rest.split("Time elapsed").next()?.trim().trim_end_matches("--").trim_end();
        let name = name
            .split_once('(')
            .map_or_else(|| name.rsplit('.').next().unwrap_or(name), |(method, _)| method);
        let end =
            page.find_end(at + 1, |line| line.is_empty() || starts_with_any(line, &["[ERROR]", "[INFO]"]));
        return Some(Failure::new(Stage::Test, "surefire").with_id(name).in_block(page, at, end));
    }
    // `[ERROR]   ShelfTest.countsAll:12 expected:<3> but was:<2>`
    let item = rest.strip_prefix("  ")?.trim_start();
    let (name, message) = item.split_once(' ').unwrap_or((item, ""));
    let (class, method) = name.split_once('.')?;
    let method = method.split([':', '>']).next()?;
    let is_name = class.starts_with(|c: char| c.is_ascii_uppercase())
        && method.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$');
    if !is_name || method.is_empty() {
        return None;
    }
    let message = message.trim_start_matches("» ");
    Some(Failure::new(Stage::Test, "surefire").with_id(method).with_message(message).in_line(at))
}

/// Returns a Maven goal that failed: by itself, or because of a failure reported before.
fn goal(rest: &str) -> Failure {
    if !(rest.contains("Could not resolve") || rest.contains("Could not find artifact")) {
        let is_reported_elsewhere =
            contains_any(rest, &["There are test failures", "Compilation failure", "There was a timeout"]);
        let stage = if is_reported_elsewhere { Stage::Secondary } else { Stage::Other };
        let message = rest.split_once(": ").map_or(rest, |(_, words)| words);
        return Failure::new(stage, "maven").with_message(message);
    }
    // Where it was looked for, and whether it was looked for again, differs.
    let mut words = rest.split([' ', ',']).map(|word| word.trim_end_matches([':', '.']));
    let artifact =
        words.rfind(|word| word.split(':').count() >= 4 && !word.contains('/')).unwrap_or_default();
    Failure::new(Stage::Build, "maven").with_code(artifact).with_message("Could not resolve dependencies")
}

/// `ShelfTest > countsAll() FAILED`, and the lines of scalatest and munit.
pub(super) fn gradle(page: &Page, at: usize, _: &mut ScanState) -> Option<(Failure, usize)> {
    let line = page.line(at);
    let text = line.trim_start().trim_start_matches("[error] ").trim_start_matches("[info] ");
    if let Some(name) = text.strip_suffix(" FAILED").filter(|name| name.contains(" > ")) {
        let end = page.find_end(at + 1, |line| {
            line.is_empty() && !page.line(at + 1).is_empty()
                || line.contains(" > ") && (line.ends_with(" FAILED") || line.ends_with(" PASSED"))
        });
        let name = name.trim_end_matches("()");
        return Some(Failure::new(Stage::Test, "gradle").with_id(name).in_block(page, at, end));
    }
    let name = text.strip_suffix(" *** FAILED ***")?.trim_start_matches("- ");
    let end = page.find_end(at + 1, |line| {
        let text = line.trim_start_matches("[info] ").trim_start();
        text.starts_with("- ") || !line.trim_start_matches("[info] ").starts_with("  ")
    });
    Some(Failure::new(Stage::Test, "scalatest").with_id(without_duration(name)).in_block(page, at, end))
}

/// Where a step of a stack trace of the JVM is.
const JVM_PLACES: &[&str] = &[".java:", ".kt:", ".scala:", "(Native Method)", "(Unknown Source)"];

/// `Exception in thread "main" x.Y: z`, and any other exception with frames below it.
pub(super) fn exception(page: &Page, at: usize, _: &mut ScanState) -> Option<(Failure, usize)> {
    let line = page.line(at);
    let text = line.trim_start().trim_start_matches("[error] ");
    let is_thread = text.starts_with("Exception in thread");
    let is_frame = |line: &str| {
        let text = line.trim_start().trim_start_matches("[error] ").trim_start();
        text.starts_with("at ") && contains_any(text, JVM_PLACES)
    };
    if !is_thread && !(is_frame(page.line(at + 1)) && (text.contains("Exception") || text.contains("Error")))
    {
        return None;
    }
    if is_frame(line) {
        return None;
    }
    let end = page.find_end(at + 1, |line| {
        !is_frame(line) && !line.trim_start().starts_with("... ") && !line.starts_with("Caused by:")
    });
    let mut failure = Failure::new(Stage::Crash, "jvm").with_message(text).with_line(at, LineKind::Head);
    for at in at + 1..end {
        if page.line(at).starts_with("Caused by:") {
            page.line(at).clone_into(&mut failure.message);
            failure.add(at, LineKind::Message);
        }
    }
    failure.add_body(page, at + 1, end, FrameOrder::NewestFirst);
    // What the build tool itself throws is an echo.
    if starts_with_any(text, &["org.apache.maven", "org.gradle"])
        || contains_any(text, &["MojoExecutionException", "MojoFailureException"])
    {
        failure.stage = Stage::Secondary;
    }
    Some((failure, end))
}
