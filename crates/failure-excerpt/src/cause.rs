//! One line that says why: the message of the first failure with its name, its values and its location.

use std::cmp::Reverse;

use super::failure::{Failure, Stage};
use super::line_kind::{LineKind, is_external_frame, line_kind};
use super::location::find_location;
use super::page::Page;
use super::score::score;
use super::tools::{is_result_summary, is_secondary};
use super::words::{contains_any, starts_with_any};

/// Values beyond these many are left to the excerpt.
const MAX_VALUES: usize = 6;

/// Returns the cause of a failure in at most `max_chars` characters, or `None` if it only says that something else failed.
pub(super) fn of_failure(page: &Page, failure: &Failure, max_chars: usize) -> Option<String> {
    if failure.stage == Stage::Secondary || is_wrapper(&failure.message) {
        return None;
    }
    let mut text = text(page, failure);
    let name = Some(one_line(&failure.id)).filter(|name| !name.is_empty() && !text.contains(name.as_str()));
    if text.ends_with(':') && failure.values.is_empty() {
        text.push_str(&line_below(page, failure).map_or(String::new(), |below| format!(" {below}")));
    }
    let location = spot(page, failure).filter(|location| {
        !text.contains(location.as_str())
            && !name.as_ref().is_some_and(|name| name.contains(location.as_str()))
    });
    if text.is_empty() && failure.values.is_empty() {
        text = telling_line(page, failure).unwrap_or_default();
    }
    let values = values(failure);
    if name.is_some() || location.is_some() || !values.is_empty() {
        text = shorten(&text, (max_chars * 3 / 5).max(max_chars.min(60)));
    }
    // `name: text: values (location)`, as much of it as there is room for: the text before all, then name, values and location.
    let mut room = max_chars.saturating_sub(text.chars().count());
    let name = name
        .map(|name| shorten(&name, max_chars * 2 / 5))
        .filter(|name| take_room(&mut room, name.chars().count() + 2));
    for value in values {
        let value = shorten(&value, (max_chars / 4).max(20));
        if text.contains(&value) {
            continue;
        }
        if !take_room(&mut room, value.chars().count() + 2) {
            break;
        }
        let sign = if text.is_empty() || text.ends_with(", ") { "" } else { ", " };
        let sign = if text.ends_with([':', '.']) { " " } else { sign };
        text.push_str(sign);
        text.push_str(&value);
    }
    let location = location.filter(|location| take_room(&mut room, location.chars().count() + 3));
    let named = name.map_or(String::new(), |name| if text.is_empty() { name } else { format!("{name}: ") });
    let mut cause = named + &text;
    if let Some(location) = location {
        cause = if cause.is_empty() { location } else { format!("{cause} ({location})") };
    }
    Some(shorten(&cause, max_chars)).filter(|cause| !cause.is_empty() || max_chars == 0)
}

/// Takes what a part needs from the room, if there is as much.
fn take_room(room: &mut usize, needed: usize) -> bool {
    let is_room = needed <= *room;
    *room -= if is_room { needed } else { 0 };
    is_room
}

/// Returns the line that says most if no tool explains anything; a line that only says that something failed comes last.
pub(super) fn of_text(page: &Page, max_chars: usize) -> Option<String> {
    let lines = (0..page.len()).filter(|&at| !page.line(at).trim().is_empty());
    let at = lines.max_by_key(|&at| {
        let (rank, worth) = (rank(page.line(at)), score(page.line(at)));
        let last = i32::try_from(at).unwrap_or(0);
        let worth = if worth < 5 { (Reverse(rank.max(Rank::Words)), last) } else { (Reverse(rank), worth) };
        (worth, Reverse(at))
    })?;
    let line = first_difference(page, at).unwrap_or_else(|| without_ruler(&one_line(page.line(at))));
    Some(shorten(&line, max_chars))
}

/// Returns the text of a heading in a ruler: `==== no tests ran in 0.01s ====`.
fn without_ruler(line: &str) -> String {
    let is_ruler = |end: &str| ["====", "----", "────", "****", "####"].contains(&end);
    let end: String = line.chars().take(4).collect();
    let text = if is_ruler(&end) { line.trim_matches(['=', '-', '─', '*', '#', ' ']) } else { line };
    if text.is_empty() { line.to_owned() } else { text.to_owned() }
}

/// Returns true if a line without a known tool has the words of a failure.
pub(super) fn is_telling(line: &str) -> bool {
    score(line) >= super::MIN_SCORE && rank(line) == Rank::Failure
}

/// Returns what the unified diff that line `at` is of changes first: `a.txt: -old +new`.
fn first_difference(page: &Page, at: usize) -> Option<String> {
    let mut above = (0..=at).rev().take_while(|at| page.line(*at).starts_with([' ', '+', '-', '@', '\\']));
    let header =
        above.find(|&at| page.line(at).starts_with("--- ") && page.line(at + 1).starts_with("+++ "))?;
    let name = page.line(header)[4..].split('\t').next().unwrap_or_default();
    let mut hunks = (header + 2..page.len()).skip_while(|&at| !page.line(at).starts_with("@@ "));
    hunks.next()?;
    let changes: Vec<String> = ['-', '+']
        .into_iter()
        .filter_map(|sign| {
            (hunks.clone().map(|at| page.line(at)).take_while(|line| !line.starts_with("@@ ")))
                .find(|line| line.starts_with(sign))
                .map(one_line)
        })
        .collect();
    (!changes.is_empty()).then(|| format!("{}: {}", one_line(name), changes.join(" ")))
}

/// How much a line can say of a cause, by its shape: most first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// Words of failure.
    Failure,
    /// Any words.
    Words,
    /// A part of a stack trace, or of a listing of source.
    Trace,
    /// A count of tests, or that a step before this one failed.
    Wrapper,
    /// No letters at all.
    Nothing,
}

fn rank(line: &str) -> Rank {
    let text = line.trim();
    if !text.chars().any(char::is_alphanumeric) {
        return Rank::Nothing;
    }
    if is_wrapper(text) || is_result_summary(text) {
        return Rank::Wrapper;
    }
    match line_kind(line) {
        Some(LineKind::Frame | LineKind::Foreign)
            if find_location(text).is_some() || text.starts_with("at ") =>
        {
            // `a.sh:3: no such thing` is a location with words of its own.
            let said = find_location(text).map_or("", |location| &text[location.end..]);
            let is_frame = text.starts_with("at ") || text.starts_with('#') || said.trim().len() < 8;
            if is_frame { Rank::Trace } else { Rank::Failure }
        }
        Some(LineKind::Code) => Rank::Trace,
        _ => Rank::Failure,
    }
}

/// Starts of lines that only say that a command failed.
const WRAPPER_STARTS: &[&str] = &[
    "npm ERR! code",
    "npm error code",
    "npm ERR! errno",
    "npm error errno",
    "npm ERR! path",
    "npm error path",
    "npm ERR! command",
    "npm error command",
    "npm error Lifecycle",
    "npm ERR! A complete log",
    "npm error A complete log",
    "error: script \"",
];

/// Words of lines that only say that a command failed.
const WRAPPER_WORDS: &[&str] = &[
    "exited with code ",
    "exited with exit code ",
    "returned non-zero exit status",
    "returned a non-zero code",
    "failed with exit code ",
    "failed with exit status ",
];

/// Returns true if a line only says that a command, which has said why itself, failed.
fn is_wrapper(text: &str) -> bool {
    let text = text.trim();
    is_secondary(text)
        || starts_with_any(text, WRAPPER_STARTS)
        || contains_any(text, WRAPPER_WORDS)
        || text.contains(": *** ") && text.contains("] ") && text.ends_with(|c: char| c.is_ascii_digit())
}

/// Returns the words of a failure: the line of the output that holds its message, or the message.
fn text(page: &Page, failure: &Failure) -> String {
    let message = one_line(failure.message.trim_start_matches("→ "));
    if message.is_empty() {
        let head = failure.parts.iter().find(|part| matches!(part.1, LineKind::Message));
        return head.map(|part| one_line(page.line(part.0))).unwrap_or_default();
    }
    if !failure.id.is_empty() {
        return message;
    }
    let holding = failure
        .parts
        .iter()
        .filter(|part| matches!(part.1, LineKind::Head | LineKind::Message | LineKind::Location))
        .map(|part| one_line(page.line(part.0)))
        .find(|line| line.contains(&message));
    match holding {
        // Linters of that kind print the name of the file once, above all that they say of it.
        Some(line) if failure.tool == "stylish" => format!("{}:{line}", failure.file),
        Some(line) => line,
        // GHC's words are below the location.
        None if failure.tool == "diagnostic" && !message.is_empty() => {
            let head = failure.parts.first().map(|part| one_line(page.line(part.0))).unwrap_or_default();
            format!("{head} {message}")
        }
        None if failure.code.is_empty() || message.contains(&failure.code) => message,
        None => format!("{}: {message}", failure.code),
    }
}

/// Returns the line below the message, where it goes on: `error: these files would be overwritten:`.
fn line_below(page: &Page, failure: &Failure) -> Option<String> {
    let &(head, _) = failure.parts.iter().find(|part| page.line(part.0).trim_end().ends_with(':'))?;
    failure
        .parts
        .iter()
        .find(|part| part.0 == head + 1 && part.1 != LineKind::Code)
        .map(|part| one_line(page.line(part.0)))
}

/// Returns the first location that is worth naming, as the output spells it: `src/a.rs:12:5`.
fn spot(page: &Page, failure: &Failure) -> Option<String> {
    let kinds = [LineKind::Location, LineKind::Head, LineKind::Frame];
    for &(at, _) in kinds.into_iter().flat_map(|kind| failure.parts.iter().filter(move |part| part.1 == kind))
    {
        let line = page.line(at);
        if let Some(found) = find_location(line)
            && !is_external_frame(line.trim())
            && (failure.file.is_empty() || found.file.ends_with(&failure.file))
        {
            return Some(one_line(&line[found.start..found.end]).replace("\", line ", ":"));
        }
    }
    Some(failure.file.clone()).filter(|file| !file.is_empty())
}

/// Returns what was expected and what came.
fn values(failure: &Failure) -> Vec<String> {
    failure
        .values
        .iter()
        .map(|value| one_line(value))
        .filter(|value| {
            value.chars().any(char::is_alphanumeric)
                && !value.contains("actual - expected")
                && !starts_with_any(value, &["- Expected", "+ Received", "operator:"])
        })
        .take(MAX_VALUES)
        .collect()
}

/// Returns the best line of the output that is not of the failure itself.
fn telling_line(page: &Page, failure: &Failure) -> Option<String> {
    let others = (0..page.len()).filter(|at| failure.parts.iter().all(|part| part.0 != *at));
    let lines = others.filter(|at| rank(page.line(*at)) == Rank::Failure);
    let best = lines.map(|at| (score(page.line(at)), at)).filter(|(worth, _)| *worth >= 8);
    let (_, at) = best.max_by_key(|&(worth, at)| (worth, Reverse(at)))?;
    Some(one_line(page.line(at)))
}

/// Returns the words of `text`, each after one blank, without control characters.
fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// `text` in at most `max_chars` characters.
fn shorten(text: &str, max_chars: usize) -> String {
    if text.chars().nth(max_chars).is_none() {
        return text.to_owned();
    }
    let short: String = text.chars().take(max_chars.saturating_sub(1)).collect();
    if max_chars == 0 { short } else { format!("{}…", short.trim_end()) }
}
