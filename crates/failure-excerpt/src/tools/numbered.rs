//! The numbered lists of failures of mocha, `RSpec`, minitest, `ExUnit`, `PHPUnit`, hspec and others.

use super::super::failure::{Failure, FrameOrder, SUITE, Stage, indent_of};
use super::super::line_kind::LineKind;
use super::super::location::{file_in, find_location};
use super::super::page::Page;
use super::super::scan_state::ScanState;
use super::super::words::{contains_any, starts_with_any, starts_with_digit};

/// `  1) Queue`, and what is said of it.
pub(super) fn item(page: &Page, at: usize, state: &mut ScanState) -> Option<(Failure, usize)> {
    let (number, title) = numbered(page.line(at))?;
    let indent = indent_of(page.line(at));
    let is_listed_later = state.failing_count.is_some_and(|failing| at < failing);
    if is_listed_later {
        // mocha numbers them where they happen, and prints them at the end.
        let mut failure = Failure::new(Stage::Test, SUITE).with_id(title);
        failure.add(at, LineKind::Note);
        return Some((failure, at + 1));
    }
    if number != 1 && number != state.last_item_number + 1 {
        return None;
    }
    let end = page.find_end(at + 1, |line| {
        numbered(line).is_some_and(|(next, _)| next == number + 1 && indent_of(line) <= indent + 1)
            || is_summary(line)
    });
    let next = (at + 1..end).find(|&at| !page.line(at).trim().is_empty())?;
    let mut failure = Failure::new(Stage::Test, "numbered").with_line(at, LineKind::Head);
    let mut body = at + 1;
    if matches!(title, "Failure:" | "Error:" | "Failure" | "Error" | "Skipped:") {
        // minitest has the name in the next line: `TestX#test_y [test/x.rb:12]:`
        let line = page.line(next);
        let name = line.split([' ', '[', '(']).find(|part| !part.is_empty()).unwrap_or_default();
        name.rsplit(['#', ':']).find(|part| !part.is_empty()).unwrap_or(name).clone_into(&mut failure.id);
        failure.add(next, LineKind::Location);
        file_in(line).clone_into(&mut failure.file);
        body = next + 1;
    } else {
        // mocha spreads the name over lines that end in a colon.
        let mut name = title;
        let mut last = at;
        if !title.ends_with(':') {
            for at in at + 1..end.min(at + 6) {
                let line = page.line(at);
                if line.trim().is_empty() || indent_of(line) <= indent {
                    break;
                }
                if line.ends_with(':')
                    && !line.contains("Error")
                    && indent_of(line) > indent + 3
                    && find_location(line).is_none()
                    && !line.trim_start().starts_with("Failure/Error")
                {
                    name = line.trim();
                    last = at;
                    break;
                }
            }
        }
        failure.add_all(at + 1..=last, LineKind::Head);
        let groups = (at + 1..last).map(|at| page.line(at).trim());
        let names = std::iter::once(title).chain(groups).chain((last > at).then_some(name));
        names.collect::<Vec<_>>().join(" ").trim_end_matches(':').clone_into(&mut failure.id);
        body = body.max(last + 1);
    }
    state.last_item_number = number;
    failure.add_body(page, body, end, FrameOrder::NewestFirst);
    if !failure.is_explained() {
        return None;
    }
    settle_message(page, &mut failure);
    Some((failure, end))
}

/// `RSpec`'s `An error occurred while loading ./spec/a_spec.rb.`, with the error below.
pub(super) fn load(page: &Page, at: usize, _: &mut ScanState) -> Option<(Failure, usize)> {
    let file = page.line(at).strip_prefix("An error occurred while loading ")?.trim_end_matches(['.', ':']);
    let end = page.find_end(at + 1, |line| line.starts_with("No examples found") || is_summary(line));
    let (mut failure, end) = Failure::new(Stage::Build, "numbered").with_id(file).in_block(page, at, end);
    settle_message(page, &mut failure);
    Some((failure, end))
}

/// `RSpec` shows the failing source before the message, and the class of an error in a line of its own; `ExUnit` shows the
/// location of the test before the message.
fn settle_message(page: &Page, failure: &mut Failure) {
    let is_location = |text: &str| {
        find_location(text).is_some_and(|location| location.start == 0 && location.end == text.len())
    };
    let is_class = |text: &str| text.ends_with(':') && !text.contains(' ') && text.len() > 6;
    let said: Vec<usize> = failure
        .parts
        .iter()
        .filter(|part| matches!(part.1, LineKind::Note | LineKind::Value))
        .map(|part| part.0)
        .collect();
    let mut next = said.iter().map(|&at| page.line(at).trim()).filter(|text| *text != failure.message);
    if failure.message.starts_with("Failure/Error:") || is_location(&failure.message) {
        let Some(first) = next.next() else { return };
        failure.values.retain(|value| value != first);
        failure.message = first.to_owned();
    }
    if is_class(&failure.message)
        && let Some(words) = said.iter().map(|&at| page.line(at).trim()).find(|text| *text != failure.message)
    {
        failure.values.retain(|value| value != words);
        failure.message = format!("{} {words}", failure.message);
    }
}

/// Returns the number and the title of an item.
fn numbered(line: &str) -> Option<(u32, &str)> {
    let text = line.trim_start();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 || digits > 4 {
        return None;
    }
    let title = text[digits..].strip_prefix(") ")?.trim();
    (!title.is_empty()).then(|| text[..digits].parse().ok().map(|number| (number, title)))?
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
