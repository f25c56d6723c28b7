//! Formats progress.txt: a view of the records for people, which can be rebuilt from them at any time.

mod proposals;
mod rebuild;

use std::fmt::Write;
use std::ops::Range;

use failure_excerpt::clean;

use super::markdown::{code, fenced, one_line};
use crate::record::{
    Claim, ExitReason, FLAG_SEPARATOR, FLAGS_LINE, Iteration, MAX_LISTED_FILES, Need, NotDone, Outcome,
    Session, SessionId, StopReason, Timestamp, listed_files,
};

pub use proposals::proposals;
pub use rebuild::{
    CatchUp, Difference, catch_up, first_difference, rebuild, rebuild_all, with_lost, with_patterns_of,
};

/// The heading of the section that users and agents edit, in lower case.
const PATTERNS_HEADING: &str = "codebase patterns";

/// Returns the header of a new progress.txt.
pub fn header(feature: &str, started: Timestamp) -> String {
    header_with(feature, started, "")
}

fn header_with(feature: &str, started: Timestamp, patterns: &str) -> String {
    let patterns = patterns.trim();
    let gap = if patterns.is_empty() { "" } else { "\n\n" };
    format!(
        "# Ralph Progress Log\n\nFeature: {}\nStarted: {started}\n\n## Codebase Patterns\n\n{patterns}{gap}---\n\n",
        one_line(feature)
    )
}

/// Returns the marker line before the first entry of a session.
pub fn session_marker(session: &SessionId) -> String {
    format!("<!-- session {session} -->\n\n")
}

/// Returns a newline if `file` does not end with one, or else an empty string.
pub fn separator(file: &[u8]) -> &'static str {
    if file.last().is_none_or(|&last| last == b'\n') { "" } else { "\n" }
}

/// Returns the entry of an iteration, with a blank line at its end.
///
/// `excerpt` comes from the output of a validation that failed, or else from the agent's final message. Only the entry of a
/// failure shows it.
pub fn entry(iteration: &Iteration, excerpt: &str) -> String {
    let task = [iteration.task.as_deref(), iteration.task_text.as_deref()];
    let task = task.into_iter().flatten().map(one_line).collect::<Vec<_>>().join(" ");
    let reopened =
        opened_again(iteration).map(|boxes| format!(" ({boxes} opened again)")).unwrap_or_default();
    let mut entry = format!(
        "## Iteration {} - {}\n**Task**: {}\n**Status**: {}{reopened}\n",
        iteration.iteration,
        iteration.ended_at,
        if task.is_empty() { "none" } else { &task },
        status(iteration)
    );
    let beside: Vec<String> = iteration.closed_beside().map(|name| one_line(name)).collect();
    if !beside.is_empty() {
        writeln!(entry, "**Also closed**: {}", beside.join(", ")).expect("writing to a String cannot fail");
    }
    push_flags(&mut entry, iteration);
    if let Some(cause) = &iteration.cause {
        writeln!(entry, "**Cause**: {}", one_line(cause)).expect("writing to a String cannot fail");
    }
    if let Some(restored) = iteration.restoration() {
        writeln!(entry, "**Restored**: {}", one_line(&restored)).expect("writing to a String cannot fail");
    }
    let (named, more) = listed_files(&iteration.files_changed, MAX_LISTED_FILES);
    push_list(&mut entry, "Files Changed", &[named, more.as_slice()].concat());
    push_list(&mut entry, "Learnings", &iteration.learnings);
    for (title, items) in [("Decisions", &iteration.decisions), ("Tried", &iteration.approaches)] {
        if !items.is_empty() {
            push_list(&mut entry, title, items);
        }
    }
    if iteration.outcome == Outcome::Failure {
        push_failed_command(&mut entry, iteration);
        let excerpt = clean(excerpt);
        if !excerpt.trim().is_empty() {
            // What stands below the line of a validation would be read as its output.
            if iteration.exit.validation.is_none_or(|code| code == 0) {
                entry.push_str("**The agent said**:\n");
            }
            entry.push_str(&fenced(&escape_headings(excerpt.trim())));
        }
    }
    entry.push_str("---\n\n");
    entry
}

/// Returns the entry that closes a session: how it ended, what is open and why, what it cost, and what needs the user.
pub fn session_entry(session: &Session, not_done: &[NotDone], needs: &[Need]) -> String {
    let ended_at = session.ended_at.unwrap_or(session.started_at);
    let reason = session.stop_reason.as_ref().map_or("", StopReason::as_str);
    let limit = session.limit.as_ref().map(|limit| format!(" ({})", limit.as_str())).unwrap_or_default();
    let reason = format!("{}{limit}", reason.replace('_', " "));
    let (done, open) = (session.tasks_done, session.tasks_remaining);
    let mut entry =
        format!("## Session ended - {ended_at}\n**Status**: {reason}\n**Tasks**: {done} done, {open} open\n");
    let mut lines: Vec<String> = not_done
        .iter()
        .map(|task| {
            let why = task.cause.as_ref().map(|cause| format!(": {cause}")).unwrap_or_default();
            let plural = if task.attempts == 1 { "" } else { "s" };
            format!("{} {}{why} ({} attempt{plural})", task.task, task.title, task.attempts)
        })
        .collect();
    match open.saturating_sub(not_done.len()) {
        0 => {}
        untried => lines.push(format!("{untried} not tried")),
    }
    if !lines.is_empty() {
        push_list(&mut entry, "Still open", &lines);
    }
    if let Some(cost) = session.cost().shown() {
        writeln!(entry, "**Cost**: {cost}").expect("writing to a String cannot fail");
    }
    let needs: Vec<String> = needs
        .iter()
        .map(|need| {
            let cause = need.cause.as_ref().map(|cause| format!(": {cause}")).unwrap_or_default();
            format!("{}{cause}", need.subject())
        })
        .collect();
    if !needs.is_empty() {
        push_list(&mut entry, "Needs you", &needs);
    }
    entry.push_str("---\n\n");
    entry
}

/// Returns `box` where the agent ticked its task too early, and the names where it ticked others, too.
fn opened_again(iteration: &Iteration) -> Option<String> {
    let is_false = iteration.false_claim.contains(&Claim::Ticked);
    let opened = match iteration.outcome {
        _ if is_false => &iteration.claims.ticked,
        Outcome::Success if !iteration.reopened.is_empty() => &iteration.reopened,
        _ => return None,
    };
    if opened.iter().all(|name| Some(name) == iteration.task.as_ref()) {
        return Some("box".to_owned());
    }
    let named: Vec<String> = opened.iter().take(MAX_LISTED_FILES).map(|name| one_line(name)).collect();
    let more = opened.len().saturating_sub(MAX_LISTED_FILES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some(format!("{}{more}", named.join(", ")))
}

/// Returns the state of the task that was asked for.
fn status(iteration: &Iteration) -> &'static str {
    match iteration.outcome {
        Outcome::Success if iteration.is_left_open() => "⬜ Still open",
        Outcome::Success if iteration.is_acceptance() && iteration.closed.is_empty() => "👀 Looked at",
        Outcome::Success if iteration.is_queued() => "⏳ Queued",
        Outcome::Success => "✅ Completed",
        Outcome::Integrated if iteration.closed.is_empty() => "↩️ Sent back",
        Outcome::Integrated => "✅ Integrated",
        Outcome::Failure => "❌ Failed",
        Outcome::Skipped => "⏭️ Skipped",
        Outcome::Checked if iteration.task.is_some() => "↩️ Sent back",
        Outcome::Checked => "🔎 Checked",
        Outcome::Reopened => "↩️ Opened again",
        Outcome::Interrupted => "⏸️ Interrupted",
        Outcome::Later(_) => "Unknown",
    }
}

/// Appends what a person should know of it, on one line.
fn push_flags(entry: &mut String, iteration: &Iteration) {
    let flags = iteration.evidence.iter().flat_map(|evidence| &evidence.flags);
    let texts: Vec<String> = flags.map(|flag| one_line(&flag.text).replace(FLAG_SEPARATOR, ", ")).collect();
    if !texts.is_empty() {
        writeln!(entry, "{FLAGS_LINE}{}", texts.join(FLAG_SEPARATOR))
            .expect("writing to a String cannot fail");
    }
}

fn push_list(entry: &mut String, title: &str, items: &[String]) {
    let lines: Vec<String> =
        items.iter().map(|item| one_line(item)).filter(|item| !item.is_empty()).collect();
    let lines = if lines.is_empty() { vec!["none".to_owned()] } else { lines };
    writeln!(entry, "**{title}**:\n- {}", lines.join("\n- ")).expect("writing to a String cannot fail");
}

/// Appends the line about the command that failed: the validation, or the agent if no validation ran.
fn push_failed_command(entry: &mut String, iteration: &Iteration) {
    let (title, name, exit, reason) = match (&iteration.validation_command, iteration.exit.validation) {
        (Some(command), Some(exit)) => {
            ("Validation", command, Some(exit), iteration.validation_exit_reason())
        }
        _ => ("Agent", &iteration.agent, iteration.exit.agent, iteration.exit_reason),
    };
    if let Some(how) = describe_exit(exit, reason) {
        writeln!(entry, "**{title}**: {} {how}", code(name)).expect("writing to a String cannot fail");
    }
}

fn describe_exit(exit: Option<i32>, reason: Option<ExitReason>) -> Option<String> {
    match (reason, exit) {
        (Some(reason), _) => Some(reason.description().to_owned()),
        (None, Some(exit)) => Some(format!("exited {exit}")),
        (None, None) => None,
    }
}

/// Indents the lines of `excerpt` that would be read as headings of entries or markers of sessions.
fn escape_headings(excerpt: &str) -> String {
    let lines = excerpt.lines().map(|line| {
        let is_ours = line.starts_with("## ") || line.starts_with("<!-- session ");
        if is_ours { format!(" {line}") } else { line.to_owned() }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the byte range of the text under the first heading that contains "codebase patterns", up to the next heading of
/// the same or a higher level, or to a line of dashes.
pub fn patterns_range(text: &str) -> Option<Range<usize>> {
    let mut section: Option<(usize, usize)> = None;
    let mut at = 0;
    let mut is_fenced = false;
    for line in text.split_inclusive('\n') {
        let (start, end) = (at, at + line.len());
        at = end;
        if line.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
            continue;
        }
        if is_fenced {
            continue;
        }
        match (section, heading_level(line)) {
            (None, Some(level)) if line.to_lowercase().contains(PATTERNS_HEADING) => {
                section = Some((level, end));
            }
            (Some((own, from)), Some(level)) if level <= own => return Some(from..start),
            (Some((_, from)), None) if is_thematic_break(line) => return Some(from..start),
            _ => {}
        }
    }
    section.map(|(_, from)| from..text.len())
}

fn heading_level(line: &str) -> Option<usize> {
    let level = line.bytes().take_while(|&byte| byte == b'#').count();
    (matches!(level, 1..=6) && line[level..].starts_with([' ', '\t'])).then_some(level)
}

fn is_thematic_break(line: &str) -> bool {
    let line = line.trim_end();
    line.len() >= 3 && line.bytes().all(|byte| byte == b'-')
}

#[cfg(test)]
mod tests;
