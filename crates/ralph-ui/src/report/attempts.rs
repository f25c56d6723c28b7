//! The attempts of a session below their tasks, as the template of the page wants them.

use std::borrow::Cow;
use std::collections::HashMap;

use anyhow::Result;
use minijinja::value::Serde;
use minijinja::{Environment, Value, context};
use serde::Serialize;

use crate::ending::{capital, cut_short_words};
use crate::evidence::{FLAG, false_claim, first_flag, validation};
use crate::left_behind;
use crate::local_time::clock;
use crate::sgr::without_colors;
use crate::style::{brief_duration, counted, cut, grouped, joined, one_line as plain};
use crate::time_line::Fate;
use ralph_core::history::clusters::message;
use ralph_core::progress::first_sentence;
use ralph_core::record::{
    Integration, Iteration, Outcome, RALPH_ELSEWHERE, StreamCounts, TaskName, join_truncated,
};

use super::environment::render;
use super::html_escape::{escape, one_line};
use super::markdown_html::rich;
use super::patch::{self, html};
use super::{Diff, Report, ReportIteration, TaskRow, Text, size_budget};

/// Longest title or reason in a row, in characters.
const MAX_ROW_CHARS: usize = 160;
/// Items of a list of an agent's words, and the longest, in characters.
const MAX_ITEMS: usize = 20;
const MAX_ITEM_CHARS: usize = 400;
/// Files that a search finds, and that are named where a snapshot is missing.
const MAX_FILES: usize = 50;
/// What is around a part, and the note where it is cut, in bytes of the page.
pub(super) const PART_FRAME: usize = 300;

impl Fate {
    /// Class of the style in the list, sign, class in the strip, and words.
    pub(super) fn look(self) -> [&'static str; 4] {
        match self {
            Self::Done => ["done", "✔", "g", "done"],
            Self::CutShort => ["cut", "‖", "g", "cut short"],
            Self::Solved => ["old", "✘", "r", "failed, solved later"],
            Self::Asks => ["ask", "?", "q", "asks"],
            Self::Fails => ["bad", "✘", "x", "failed, still open"],
        }
    }
}

/// Returns how an iteration ended; `None` for one in which no agent ran.
pub(super) fn fate_of(report: &Report, iteration: &ReportIteration) -> Option<Fate> {
    let record = &iteration.record;
    Fate::of(Some(record.outcome), record.failure_class, report.is_solved(record.iteration))
}

/// An attempt, an agent run that was cut short, or a merge.
pub(super) struct Attempt<'a> {
    iteration: &'a ReportIteration,
    /// `None` for a merge of results that were queued.
    kind: Option<Fate>,
    pub parts: Vec<AttemptDetails<'a>>,
}

/// Returns what the page shows of a session, with at most so many bytes of each text.
pub(super) fn attempts(report: &Report, most: usize) -> Vec<Attempt<'_>> {
    let attempts = report.iterations.iter().filter_map(|iteration| {
        let kind = fate_of(report, iteration);
        if kind.is_none() && iteration.record.integration.is_empty() {
            return None;
        }
        let mut parts = parts(iteration, merged(report, iteration), kind);
        for part in &mut parts {
            part.lay_out(most);
        }
        Some(Attempt { iteration, kind, parts })
    });
    attempts.collect()
}

impl Attempt<'_> {
    /// `is_lone`: no other attempt at its task is on the page.
    fn write(
        &self,
        report: &Report,
        environment: &Environment<'_>,
        is_lone: bool,
        has_parts: bool,
    ) -> Result<String> {
        let (iteration, record) = (self.iteration, &self.iteration.record);
        let is_merged = record.integration.iter().all(|one| one.cause.is_none());
        let merge = [if is_merged { "merge done" } else { "merge old" }, "⊕"];
        let [class, mark] = self.kind.map_or(merge, |kind| [kind.look()[0], kind.look()[1]]);
        let mut solved = report.clusters.iter().filter(|_| self.kind == Some(Fate::Solved));
        let solved_in = solved.find_map(|cause| cause.solved.get(&record.iteration));
        let values = context! {
            class, mark,
            n => record.iteration,
            no => if self.kind.is_none() || record.is_attempt() { &*iteration.label } else { "" },
            task => record.task.as_deref().unwrap_or(if self.kind.is_none() { "merge" } else { "no task" }),
            what => match self.kind {
                Some(kind) => what(report, iteration, kind, is_lone),
                None => cut(&one_line(&iteration.story), MAX_ROW_CHARS),
            },
            time => record.duration_ms.total().map(brief_duration).unwrap_or_default(),
            cost => record.cost().shown().unwrap_or_default(),
            end => clock(record.ended_at),
            facts => facts(record),
            files => one_line(&record.files_changed[..record.files_changed.len().min(MAX_FILES)].join(" ")),
            solved_in => solved_in.copied(),
            warnings => warnings(report, record, merged(report, iteration)),
            commands => left_behind::commands(RALPH_ELSEWHERE, record, Some(&record.session)),
            lists => lists(iteration),
            parts => Value::from(Serde(if has_parts { &*self.parts } else { &[] })),
        };
        render(environment, "attempt", values)
    }
}

/// Returns the rows, those of one task together, the tasks in the order of their list; without parts, to measure them.
pub(super) fn list(
    report: &Report,
    environment: &Environment<'_>,
    attempts: &[Attempt<'_>],
    has_parts: bool,
) -> Result<String> {
    let places: HashMap<&TaskName, usize> =
        report.tasks.iter().enumerate().map(|(place, task)| (&task.name, place)).collect();
    let places = attempts.iter().map(|attempt| {
        let task = attempt.iteration.record.task.as_ref();
        let place = task.and_then(|task| places.get(task)).copied().unwrap_or(usize::MAX - 1);
        (if attempt.kind.is_none() { usize::MAX } else { place }, attempt)
    });
    let mut sorted: Vec<(usize, &Attempt<'_>)> = places.collect();
    sorted.sort_by_key(|(place, _)| *place);
    let mut html = String::new();
    for group in sorted.chunk_by(|one, other| one.0 == other.0) {
        let is_merges = group[0].0 == usize::MAX;
        let is_lone = group.len() == 1 && !is_merges;
        let rows = group.iter().map(|(_, attempt)| attempt.write(report, environment, is_lone, has_parts));
        let rows: String = rows.collect::<Result<_>>()?;
        if is_lone {
            html.push_str(&rows);
            continue;
        }
        let row = report.tasks.get(group[0].0);
        let values = context! {
            task => row.map(|row| row.name.as_str()),
            text => row.map_or_else(|| if is_merges { "Merges" } else { "Attempts" }.to_owned(), |row| cut(&one_line(&row.text), MAX_ROW_CHARS)),
            spent => row.map(TaskRow::spent),
            attempts => Value::from_safe_string(rows),
        };
        html.push_str(&render(environment, "task", values)?);
    }
    Ok(html)
}

/// Returns what became of the result of an attempt that was queued, and the record of the session that says so.
fn merged<'r>(
    report: &'r Report,
    result: &ReportIteration,
) -> Option<(&'r ReportIteration, &'r Integration)> {
    if !result.record.is_queued() {
        return None;
    }
    report.iterations.iter().find_map(|by| {
        let one = by.record.integration.iter().find(|one| one.attempt() == result.id)?;
        Some((by, one))
    })
}

fn title(record: &Iteration) -> String {
    cut(&one_line(record.task_text.as_deref().unwrap_or_default()), MAX_ROW_CHARS)
}

/// What a row says: of a failure the cause, of a success what it did.
fn what(report: &Report, iteration: &ReportIteration, kind: Fate, is_lone: bool) -> String {
    let record = &iteration.record;
    let words = match kind {
        Fate::Done if is_lone => title(record),
        Fate::Done => {
            let said = first_sentence(&record.facts.final_message);
            if said.is_empty() { title(record) } else { said }
        }
        Fate::CutShort => {
            let totals = report.session_totals();
            let mut cuts = totals.cut_short.iter();
            let id = &iteration.id;
            let found = cuts.find(|one| one.session == id.session && one.iteration == id.number);
            found.map_or_else(|| "cut short".to_owned(), cut_short_words)
        }
        Fate::Asks => format!("asks: {}", record.cause()),
        Fate::Solved | Fate::Fails => match iteration.repeated {
            Some(first) => format!("same as {}", report.name_of(first)),
            None => message(record),
        },
    };
    let beside = record.closed_beside().cloned().collect::<Vec<_>>();
    let beside = (!beside.is_empty()).then(|| format!("closed {}", beside.join(", ")));
    let undone = given_up(report, record).map(str::to_owned);
    let merged = record.is_queued().then(|| match merged(report, iteration) {
        Some((by, one)) => format!("{} in {}", one.verdict.words(), report.name_of(by.record.iteration)),
        None => "queued".to_owned(),
    });
    let words = Some(cut(&one_line(&words), MAX_ROW_CHARS));
    joined([words, merged, beside, undone, first_flag(record.flags())], " · ").unwrap_or_default()
}

/// Returns what became of a task after this attempt, if it was given up then.
pub(super) fn given_up(report: &Report, record: &Iteration) -> Option<&'static str> {
    let place = report.iterations.iter().position(|one| one.record.iteration == record.iteration)?;
    let mut later = report.iterations[place + 1..].iter().map(|next| &next.record);
    let next = later.find(|next| next.task == record.task)?;
    (next.outcome == Outcome::Skipped).then_some(match (&next.restored_to, next.kept_paths.is_empty()) {
        (None, _) => "given up after it",
        (Some(_), true) => "given up after it, changes undone",
        (Some(_), false) => "given up after it, most changes undone",
    })
}

fn facts(record: &Iteration) -> String {
    let model = record.model.as_deref().map_or(String::new(), |model| format!(" ({})", one_line(model)));
    let mut facts = vec![format!("{}–{}", clock(record.started_at), clock(record.ended_at))];
    facts.push(format!("{}{model}", one_line(&record.agent)));
    if let Some(code) = record.exit.agent.filter(|code| *code != 0) {
        facts.push(format!("agent exited {code}"));
    }
    facts.extend(record.exit_reason.map(|reason| reason.description().to_owned()));
    facts.push(format!("validation {}", validation(record)));
    let captured = record.facts.captured.iter();
    facts.extend(captured.map(|(name, values)| format!("{name} = {}", cut(&values.join(", "), 100))));
    facts.join(" · ")
}

fn warnings(
    report: &Report,
    record: &Iteration,
    merged: Option<(&ReportIteration, &Integration)>,
) -> Vec<String> {
    let mut warnings = Vec::new();
    let returned = merged.and_then(|(by, one)| Some((by, one.return_words()?)));
    warnings.extend(
        returned.map(|(by, words)| quote(&format!("{} {words}", report.name_of(by.record.iteration)))),
    );
    warnings.extend(false_claim(record).map(|words| format!("{}.", capital(&quote(&words)))));
    warnings.extend(record.error.as_deref().map(|words| format!("The agent reported: {}", quote(words))));
    warnings.extend(record.flags().iter().map(|flag| format!("{FLAG} {}", quote(&flag.text))));
    warnings.extend(left_behind::lines(record).iter().map(|line| one_line(line)));
    if !record.reopened.is_empty() {
        warnings.push(format!("Reopened: {}.", quote(&record.reopened.join(", "))));
    }
    warnings.extend(record.stream.and_then(StreamCounts::complaint));
    let redacted: u64 = record.redactions.iter().map(|one| one.count).sum();
    if redacted > 0 {
        warnings.push(format!("{} taken out of what is shown here.", counted(redacted, "secret")));
    }
    warnings
}

fn quote(words: &str) -> String {
    cut(&one_line(words), MAX_ITEM_CHARS)
}

/// Titles and lines. An agent's own words are in its answer, where there is one.
fn lists(iteration: &ReportIteration) -> Vec<(&'static str, Vec<String>)> {
    let record = &iteration.record;
    let own = [("Learned", &record.learnings), ("Decided", &record.decisions), ("Tried", &record.approaches)];
    let own = own.into_iter().filter(|_| iteration.answer.is_none());
    let lists = [("Your hints", &record.hints)].into_iter().chain(own).filter(|(_, items)| !items.is_empty());
    let shown = lists.map(|(title, items)| {
        (title, items.iter().take(MAX_ITEMS).map(|item| cut(&plain(item), MAX_ITEM_CHARS)).collect())
    });
    shown.collect()
}

/// A fold below an attempt.
#[derive(Serialize)]
pub(super) struct AttemptDetails<'a> {
    class: &'static str,
    title: &'static str,
    note: String,
    /// Shows all of it.
    command: String,
    is_open: bool,
    #[serde(skip)]
    text: Cow<'a, str>,
    /// True if the text is not all of it.
    #[serde(skip)]
    was_cut: bool,
    /// As it is in the page, or among what is packed.
    pub html: String,
    /// Prompts, and of what is done all that takes much room.
    #[serde(skip)]
    pub is_packed: bool,
    /// Its place among what is packed.
    pub place: Option<usize>,
    /// True if the page does not have all of it.
    pub is_cut: bool,
}

impl AttemptDetails<'_> {
    /// Writes it in at most so many bytes beside [`PART_FRAME`].
    pub fn lay_out(&mut self, most: usize) {
        // In a patch, colours are what was changed.
        let text =
            if self.class == "changes" { self.text.as_ref().into() } else { without_colors(&self.text) };
        let is_code = !matches!(self.class, "answer" | "prompt");
        let narrow = if is_code { size_budget::narrow(&text) } else { None };
        let text = narrow.as_deref().unwrap_or(&text);
        // The end of an output counts.
        let shown = if self.class == "validation" {
            size_budget::tail(text, most)
        } else {
            size_budget::head(text, most)
        };
        let rich_text = match self.class {
            "answer" => Some(format!("<div class=\"md\">{}</div>", rich(shown))),
            "changes" => Some(format!("<pre class=\"diff\">\n{}</pre>", html(shown))),
            _ => None,
        };
        // Markup on top is too much in a long list of short lines.
        let rich_text = rich_text.filter(|html| html.len() <= most + 30);
        self.html = rich_text.unwrap_or_else(|| format!("<pre>\n{}</pre>", escape(shown)));
        self.is_cut = self.was_cut || shown.len() < text.len();
    }
}

fn parts<'r>(
    iteration: &'r ReportIteration,
    merged: Option<(&'r ReportIteration, &'r Integration)>,
    kind: Option<Fate>,
) -> Vec<AttemptDetails<'r>> {
    let record = &iteration.record;
    let mut parts = Vec::new();
    if let Some(text) = &iteration.answer {
        parts.push(("answer", "What the agent said last", String::new(), "--agent", shown(text)));
    }
    if let Some(text) = &iteration.validation {
        let command = record.validation_command.as_deref().map(one_line).unwrap_or_default();
        parts.push(("validation", "Validation", cut(&command, MAX_ROW_CHARS), "--stdout", shown(text)));
    }
    if let Some((_, one)) = merged.filter(|(_, one)| !one.hunks.is_empty()) {
        let note = cut(&one_line(&one.conflicts.join(", ")), MAX_ROW_CHARS);
        let hunks = (Cow::Borrowed(one.hunks.as_str()), false);
        parts.push(("merge", "What git could not merge", note, "--json", hunks));
    }
    let hunks = record.integration.iter().map(|one| one.hunks.trim_end()).filter(|hunks| !hunks.is_empty());
    let hunks = hunks.collect::<Vec<_>>().join("\n");
    if !hunks.is_empty() {
        parts.push(("merge", "What git could not merge", String::new(), "", (hunks.into(), false)));
    }
    let files = &record.files_changed;
    let count = counted(files.len() as u64, "file");
    match &iteration.diff {
        Diff::Patch(text) => {
            let [added, removed] = patch::counts(&text.text).map(|lines| grouped(lines as u64));
            let least = if text.is_cut { "at least " } else { "" };
            // A merge changes what the results that it has changed.
            let count = if files.is_empty() { String::new() } else { format!("{count}, ") };
            let note = format!("{count}{least}+{added} −{removed}");
            parts.push(("changes", "Changes", note, "--patch", shown(text)));
        }
        Diff::Nothing => {}
        Diff::Missing(why) => {
            let text = format!("{why}. Files: {}", join_truncated(files, MAX_FILES));
            parts.push(("missing", "Changes", count, "--patch", (text.into(), false)));
        }
    }
    if !record.tool_calls.is_empty() {
        let failed = record.tool_calls.iter().filter(|call| call.is_error).count();
        let failed = if failed > 0 { format!(", {failed} failed") } else { String::new() };
        let note = format!("{}{failed}", grouped(record.tool_calls.len() as u64));
        let lines = record.tool_calls.iter().map(|call| {
            let sign = if call.is_error { "✘ " } else { "" };
            let result = if call.result_summary.is_empty() { "" } else { "\n    " };
            format!("{sign}{} {}{result}{}", call.tool_name, call.arguments_summary, call.result_summary)
        });
        let lines = lines.collect::<Vec<_>>().join("\n");
        parts.push(("tools", "Tool calls", note, "--json", (lines.into(), false)));
    }
    if let Some(text) = &iteration.prompt {
        parts.push(("prompt", "Prompt", String::new(), "--prompt", shown(text)));
    }
    let is_good = matches!(kind, Some(Fate::Done) | None);
    let parts = parts.into_iter().map(|(class, title, note, flag, (text, was_cut))| AttemptDetails {
        class,
        title,
        note,
        command: match merged.filter(|_| class == "merge") {
            Some((by, _)) => format!("{RALPH_ELSEWHERE} show {}", by.name),
            None => format!("{RALPH_ELSEWHERE} show {} {flag}", iteration.name).trim_end().to_owned(),
        },
        is_open: matches!(class, "answer" | "merge") || class == "validation" && !is_good,
        text,
        was_cut,
        html: String::new(),
        is_packed: class == "prompt" || is_good && matches!(class, "changes" | "tools"),
        place: None,
        is_cut: false,
    });
    parts.collect()
}

/// A text, and whether some of it is left out.
fn shown(text: &Text) -> (Cow<'_, str>, bool) {
    (Cow::Borrowed(&text.text), text.is_left_out())
}
