//! An iteration as the template of the page wants it.

use minijinja::Value;
use serde::Serialize;

use crate::evidence::{EvidenceWords, FLAG, compared};
use crate::left_behind;
use crate::local_time::{clock, local};
use crate::style::{Count, cut, duration, grouped, sign, size};
use ralph_core::history::clusters::message;
use ralph_core::record::{
    Claim, FailureClass, Iteration, Outcome, RALPH_ELSEWHERE, StreamCounts, ToolCall, join_truncated,
};

use super::call_strip::{CallStrip, call_strip};
use super::harmless::{escaped_len, one_line};
use super::headline::time;
use super::patch;
use super::patch_html::html;
use super::rich::rich;
use super::terminal_colors::has_colors;
use super::units::short;
use super::{Diff, ReportIteration, Text, fit};

/// Longest text of a task in a list, in characters.
const TASK: usize = 160;
/// Longest reason in a list, in characters.
const WHY: usize = 120;
/// Items of a list of an agent's words.
const ITEMS: usize = 20;
/// Longest of them, in characters.
const ITEM: usize = 400;
/// What a tool call takes beside its words.
const CALL: usize = 50;

/// Files that are named where a snapshot is missing.
const MAX_FILES: usize = 50;

/// Stands for the task of an iteration that has none.
pub(super) const NO_TASK: &str = "no task";

const HINTS: &str = "Hints of yours";

/// How much is shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Most {
    /// Bytes of a text in the page.
    pub text: usize,
}

#[derive(Serialize)]
pub(super) struct IterationView<'a> {
    n: u32,
    outcome: &'a str,
    mark: &'static str,
    task: &'a str,
    text: String,
    attempt: Option<String>,
    /// True if a heading above has the task.
    is_grouped: bool,
    why: String,
    time: String,
    spent: String,
    at: String,
    facts: String,
    warnings: Vec<String>,
    /// Titles and lines.
    lists: Vec<(&'static str, Vec<&'a str>)>,
    parts: Vec<Section<'a>>,
    commit: &'a str,
    name: &'a str,
}

#[derive(Serialize)]
struct Section<'a> {
    class: &'static str,
    title: &'static str,
    note: String,
    #[serde(flatten)]
    body: Body<'a>,
    is_open: bool,
    cut: Option<String>,
    command: String,
    strip: Option<CallStrip>,
}

impl<'a> Section<'a> {
    /// One that is folded and whole.
    fn new([class, title]: [&'static str; 2], note: String, body: Body<'a>, command: String) -> Self {
        Self { class, title, note, body, is_open: false, cut: None, command, strip: None }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Body<'a> {
    /// Markup of ours.
    Html(Value),
    /// Lines as they are.
    Text(String),
    /// Markup of ours.
    Patch(Value),
    Calls(&'a [ToolCall]),
    /// A sentence.
    Plain(String),
}

/// How big a text is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    /// In a page.
    pub bytes: usize,
    /// True if not all of it was read. An excerpt of a validation is all that is meant to be shown.
    pub is_cut: bool,
}

/// The sizes of the texts of an iteration.
pub(super) fn sizes(iteration: &ReportIteration) -> Vec<Size> {
    let patch = match &iteration.diff {
        Diff::Patch(text) => Some(text),
        Diff::Nothing | Diff::Missing(_) => None,
    };
    let size = |text: &Text| Size { bytes: escaped_len(&text.text), is_cut: text.is_cut };
    let whole = [iteration.prompt.as_ref(), iteration.answer.as_ref(), patch].into_iter().flatten().map(size);
    let excerpt = iteration.validation.iter().map(|text| Size { is_cut: false, ..size(text) });
    let calls = Some(iteration.record.tool_calls.iter().map(call_size).sum()).filter(|bytes| *bytes > 0);
    whole.chain(excerpt).chain(calls.map(|bytes| Size { bytes, is_cut: false })).collect()
}

/// The view of an iteration; with `is_grouped`, a heading above has its task.
pub(super) fn of(iteration: &ReportIteration, most: Most, is_grouped: bool) -> IterationView<'_> {
    let record = &iteration.record;
    let total = time(iteration);
    IterationView {
        n: record.iteration,
        outcome: record.outcome.as_str(),
        mark: sign(record.outcome).1,
        task: record.task.as_deref().unwrap_or(NO_TASK),
        text: task_text(record),
        attempt: (is_grouped && record.outcome != Outcome::Skipped)
            .then(|| format!("attempt {}", iteration.attempt)),
        is_grouped,
        why: with_evidence(why(iteration), record),
        time: if record.outcome == Outcome::Skipped { String::new() } else { duration(total) },
        spent: record.cost().shown().or_else(|| record.tokens.total().map(short)).unwrap_or_default(),
        at: clock(record.started_at),
        facts: facts(iteration),
        warnings: warnings(iteration),
        lists: lists(iteration),
        parts: parts(iteration, most),
        commit: iteration.commit.short(),
        name: &iteration.name,
    }
}

/// The title of its task, on one line.
pub(super) fn task_text(record: &Iteration) -> String {
    cut(&one_line(record.task_text.as_deref().unwrap_or_default()), TASK)
}

/// Why it is no success, or what else there is to say of it.
fn why(iteration: &ReportIteration) -> String {
    let record = &iteration.record;
    let words = match record.outcome {
        Outcome::Success if record.task.as_ref().is_some_and(|task| record.closed == [task.clone()]) => {
            return String::new();
        }
        Outcome::Success if record.closed.is_empty() => return String::new(),
        Outcome::Success => format!("closed {}", record.closed.join(", ")),
        Outcome::Failure => message(record),
        Outcome::Skipped => "skipped".to_owned(),
        Outcome::Interrupted => match record.failure_class {
            Some(class) => format!("cut short ({})", words_of(class)),
            None => "interrupted".to_owned(),
        },
        Outcome::Later(word) => word.as_str().to_owned(),
    };
    let again = iteration.repeated.map(|first| format!(", as in {first}")).unwrap_or_default();
    format!("{}{again}", cut(&one_line(&words), WHY))
}

/// The same with what it was judged by.
fn with_evidence(why: String, record: &Iteration) -> String {
    let evidence = EvidenceWords::of_record(record).text();
    let parts = [why, cut(&evidence, WHY)];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
}

fn words_of(class: FailureClass) -> String {
    class.as_str().replace('_', " ")
}

/// Longest of what a rule of the user's found, in characters.
const CAPTURED: usize = 100;

fn facts(iteration: &ReportIteration) -> String {
    let record = &iteration.record;
    let mut facts = vec![local(record.started_at)];
    let ended = |who: String, code: Option<i32>, time: Option<u64>| {
        let code = code.map_or(String::new(), |code| format!(" exited {code}"));
        let time = time.map_or(String::new(), |time| format!(" after {}", duration(time)));
        format!("{who}{code}{time}")
    };
    if record.duration_ms.agent.is_some() || record.exit.agent.is_some() {
        let model = record.model.as_deref().map_or(String::new(), |model| format!(" ({})", one_line(model)));
        let who = format!("{}{model}", one_line(&record.agent));
        facts.push(ended(who, record.exit.agent, record.duration_ms.agent));
    }
    if record.duration_ms.validation.is_some() {
        facts.push(ended("validation".to_owned(), record.exit.validation, record.duration_ms.validation));
    }
    facts.extend(record.evidence.as_deref().and_then(compared));
    if let Some(reason) = record.exit_reason {
        facts.push(reason.as_str().replace('_', " "));
    }
    let tokens = [
        ("input", record.tokens.input),
        ("from the cache", record.tokens.cache_read),
        ("to the cache", record.tokens.cache_write),
        ("output", record.tokens.output),
    ];
    let told: Vec<String> = tokens
        .into_iter()
        .filter_map(|(name, count)| {
            count.filter(|count| *count > 0).map(|count| format!("{} {name}", grouped(count)))
        })
        .collect();
    if !told.is_empty() {
        facts.push(format!("tokens: {}", told.join(", ")));
    }
    facts.extend(record.cost().shown());
    let captured = record.facts.captured.iter();
    facts.extend(captured.map(|(name, values)| format!("{name} = {}", cut(&values.join(", "), CAPTURED))));
    facts.push(format!("{} of {} tasks done", record.tasks_done, record.tasks_done + record.tasks_open));
    facts.join(" · ")
}

fn warnings(iteration: &ReportIteration) -> Vec<String> {
    let record = &iteration.record;
    let mut warnings = Vec::new();
    if record.false_claim.contains(&Claim::Ticked) {
        warnings.push(format!("Ticked {}, which was not true.", one_line(&record.claims.ticked.join(", "))));
    }
    if record.false_claim.contains(&Claim::Promise) {
        warnings.push("Promised that all is done, which was not true.".to_owned());
    }
    warnings.extend(
        record.error.as_deref().map(|words| format!("The agent reported: {}", cut(&one_line(words), ITEM))),
    );
    let flags = record.evidence.iter().flat_map(|evidence| &evidence.flags);
    warnings.extend(flags.map(|flag| format!("{FLAG} {}", cut(&one_line(&flag.text), ITEM))));
    warnings.extend(left_behind::lines(record).iter().map(|line| one_line(line)));
    if !record.reopened.is_empty() {
        warnings.push(format!("Opened again: {}.", one_line(&record.reopened.join(", "))));
    }
    warnings.extend(record.stream.and_then(StreamCounts::complaint));
    let redacted: u64 = record.redactions.iter().map(|one| one.count).sum();
    if redacted > 0 {
        warnings.push(format!("{} were taken out of what is shown here.", Count(redacted, "secret")));
    }
    warnings
}

fn lists(iteration: &ReportIteration) -> Vec<(&'static str, Vec<&str>)> {
    let record = &iteration.record;
    let all = [
        (HINTS, &record.hints),
        ("Learned", &record.learnings),
        ("Decided", &record.decisions),
        ("Tried", &record.approaches),
    ];
    // The agent's own words are in its answer, where there is one.
    let is_told = |title: &str| title == HINTS || iteration.answer.is_none();
    let there = all.into_iter().filter(|(title, items)| !items.is_empty() && is_told(title));
    there
        .map(|(title, items)| (title, items.iter().take(ITEMS).map(|item| item_of(item)).collect()))
        .collect()
}

fn item_of(item: &str) -> &str {
    item.char_indices().nth(ITEM).map_or(item, |(end, _)| &item[..end])
}

fn parts(iteration: &ReportIteration, most: Most) -> Vec<Section<'_>> {
    let record = &iteration.record;
    let show = |flag: &str| format!("{RALPH_ELSEWHERE} show {} {flag}", iteration.name);
    let mut parts = Vec::new();
    if let Some(text) = &iteration.answer {
        let (shown, cut) = shown(text, fit::head(&text.text, most.text));
        // What has colours is written for a terminal, and is no Markdown.
        let body = if has_colors(shown) {
            Body::Text(shown.to_owned())
        } else {
            Body::Html(Value::from_safe_string(rich(shown)))
        };
        let part = Section::new(["answer", "Answer"], size(text.bytes), body, show("--agent"));
        parts.push(Section { is_open: true, cut, ..part });
    }
    if let Some(text) = &iteration.validation {
        let narrow = fit::narrow(&text.text);
        let (shown, cut) = shown(text, fit::tail(narrow.as_ref().unwrap_or(&text.text), most.text));
        let command = record.validation_command.as_deref().map(one_line).unwrap_or_default();
        let exit = record.exit.validation.map_or(String::new(), |code| format!(" exited {code}"));
        let note = format!("{}{exit}", self::cut(&command, 120));
        let part =
            Section::new(["validation", "Validation"], note, Body::Text(shown.to_owned()), show("--stdout"));
        parts.push(Section { is_open: record.outcome == Outcome::Failure, cut, ..part });
    }
    parts.extend(diff(iteration, most, show("--patch")));
    if !record.tool_calls.is_empty() {
        parts.push(calls(record, most, show("--json")));
    }
    if let Some(text) = &iteration.prompt {
        let (shown, cut) = shown(text, fit::head(&text.text, most.text));
        let body = Body::Text(shown.to_owned());
        let part = Section::new(["prompt", "Prompt"], size(text.bytes), body, show("--prompt"));
        parts.push(Section { cut, ..part });
    }
    parts
}

/// What stands in the page of a text, and what to say where that is not all.
fn shown<'a>(text: &Text, shown: &'a str) -> (&'a str, Option<String>) {
    let is_cut = text.is_cut || shown.len() < text.text.len();
    let cut =
        is_cut.then(|| format!("{} of {} shown. All of it:", size(shown.len() as u64), size(text.bytes)));
    (shown, cut)
}

/// What an iteration changed; `None` of a skip that changed nothing.
fn diff(iteration: &ReportIteration, most: Most, command: String) -> Option<Section<'_>> {
    let files = &iteration.record.files_changed;
    let count = Count(files.len() as u64, "file");
    let (note, body, cut) = match &iteration.diff {
        Diff::Patch(text) => {
            let narrow = fit::narrow(&text.text);
            let (shown, cut) = shown(text, fit::head(narrow.as_ref().unwrap_or(&text.text), most.text));
            let (added, removed) = patch::counts(&text.text);
            let more = if text.is_cut { " at least" } else { "" };
            let note = format!("{count},{more} +{} −{}", grouped(added), grouped(removed));
            (note, Body::Patch(Value::from_safe_string(html(shown, most.text))), cut)
        }
        Diff::Nothing if iteration.record.outcome == Outcome::Skipped => return None,
        Diff::Nothing => ("none".to_owned(), Body::Plain("No file was changed.".to_owned()), None),
        Diff::Missing(why) => {
            let text = format!("{why}. Files: {}", join_truncated(files, MAX_FILES));
            let text = fit::head(&text, most.text.max(400)).to_owned();
            (count.to_string(), Body::Plain(text), None)
        }
    };
    Some(Section { cut, ..Section::new(["changes", "Changes"], note, body, command) })
}

fn calls(record: &Iteration, most: Most, command: String) -> Section<'_> {
    let calls = record.tool_calls.as_slice();
    let mut left = most.text;
    let fits = |call: &&ToolCall| {
        let rest = left.checked_sub(call_size(call));
        left = rest.unwrap_or(left);
        rest.is_some()
    };
    let count = calls.iter().take_while(fits).count();
    let strip = call_strip(calls, record.duration_ms.agent);
    let note = match &strip {
        Some(strip) => format!("{}: {}, {}", grouped(calls.len() as u64), strip.label, strip.order),
        None if calls.iter().any(|call| call.is_error) => "1, failed".to_owned(),
        None => calls.len().to_string(),
    };
    let cut = (count < calls.len()).then(|| format!("{count} of {} shown. All of them:", calls.len()));
    Section {
        cut,
        strip,
        ..Section::new(["tools", "Tool calls"], note, Body::Calls(&calls[..count]), command)
    }
}

fn call_size(call: &ToolCall) -> usize {
    let words = [&call.tool_name, &call.arguments_summary, &call.result_summary];
    words.into_iter().map(|words| escaped_len(words)).sum::<usize>() + CALL
}
