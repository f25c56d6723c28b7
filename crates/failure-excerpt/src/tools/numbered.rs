//! The numbered lists of failures of mocha, `RSpec`, minitest, `ExUnit`, `PHPUnit`, hspec and others.

use super::super::page::Page;
use super::super::place::place;
use super::super::role::Role;
use super::super::scan::Above;
use super::super::trouble::{Stage, Trace, Trouble, indent_of};
use super::until;

/// `  1) Queue`, and what is said of it.
pub(super) fn item(page: &Page, at: usize, above: &mut Above) -> Option<(Trouble, usize)> {
    let (number, title) = numbered(page.line(at))?;
    let indent = indent_of(page.line(at));
    let is_listed_later = above.failing.is_some_and(|failing| at < failing);
    if is_listed_later {
        // mocha numbers them where they happen, and tells of them at the end.
        let mut trouble = Trouble::new(Stage::Test, "suite").named(title);
        trouble.add(at, Role::Note);
        return Some((trouble, at + 1));
    }
    if number != 1 && number != above.number + 1 {
        return None;
    }
    let end = until(page, at + 1, |line| {
        numbered(line).is_some_and(|(next, _)| next == number + 1 && indent_of(line) <= indent + 1)
            || is_summary(line)
    });
    let next = (at + 1..end).find(|&at| !page.line(at).trim().is_empty())?;
    let mut trouble = Trouble::new(Stage::Test, "numbered").with(at, Role::Head);
    let mut body = at + 1;
    if matches!(title, "Failure:" | "Error:" | "Failure" | "Error" | "Skipped:") {
        // minitest has the name in the next line: `TestX#test_y [test/x.rb:12]:`
        let line = page.line(next);
        let name = line.split([' ', '[', '(']).find(|part| !part.is_empty()).unwrap_or_default();
        name.rsplit(['#', ':']).find(|part| !part.is_empty()).unwrap_or(name).clone_into(&mut trouble.id);
        trouble.add(next, Role::Place);
        trouble.file = place(line).map(|place| place.file.to_owned()).unwrap_or_default();
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
                    && place(line).is_none()
                    && !line.trim_start().starts_with("Failure/Error")
                {
                    name = line.trim();
                    last = at;
                    break;
                }
            }
        }
        for at in at + 1..=last {
            trouble.add(at, Role::Head);
        }
        name.trim_end_matches(':').clone_into(&mut trouble.id);
        body = body.max(last + 1);
    }
    above.number = number;
    trouble.body(page, body, end, Trace::NewestFirst);
    if !trouble.is_told() {
        return None;
    }
    rspec(page, &mut trouble);
    Some((trouble, end))
}

/// `RSpec` shows the failing source before the message; `ExUnit` the place of the test.
fn rspec(page: &Page, trouble: &mut Trouble) {
    if trouble.message.starts_with("Failure/Error:")
        && let Some(value) = trouble.values.first()
    {
        trouble.message = format!("{} {value}", trouble.message);
    } else if place(&trouble.message)
        .is_some_and(|place| place.start == 0 && place.end == trouble.message.len())
    {
        let next = trouble.parts.iter().find(|part| part.1 == Role::Note || part.1 == Role::Value);
        if let Some(&(line, _)) = next {
            page.line(line).trim().clone_into(&mut trouble.message);
        }
    }
}

/// The number and the title of an item.
fn numbered(line: &str) -> Option<(u32, &str)> {
    let text = line.trim_start();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 || digits > 4 {
        return None;
    }
    let title = text[digits..].strip_prefix(") ")?.trim();
    (!title.is_empty()).then(|| text[..digits].parse().ok().map(|number| (number, title)))?
}

fn is_summary(line: &str) -> bool {
    let text = line.trim_start();
    line.starts_with("Finished in ")
        || line.starts_with("Randomized with seed")
        || line.starts_with("FAILURES!")
        || line.starts_with("Failed examples:")
        || text.starts_with("Tests: ")
        || line.starts_with("rspec ./")
        || line.starts_with("To rerun use:")
        || line.starts_with("ERRORS!")
        || (text.starts_with(|c: char| c.is_ascii_digit())
            && (text.contains(" runs, ") || text.contains(" tests, ") || text.contains(" examples, ")))
        || line.starts_with("There was ")
        || line.starts_with("There were ")
}
