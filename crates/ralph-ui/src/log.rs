//! The list of iterations, and the list of sessions.

use std::collections::{BTreeSet, HashMap};
use std::io::Write;

use anyhow::Result;
use serde::ser::{SerializeMap as _, SerializeSeq as _};
use serde::{Serialize, Serializer};

use ralph_core::record::{
    AttemptId, Circumstances, CutShort, DiffStat, FlagCode, IntegrationVerdict, LogEntry, Outcome,
    ShortNames, Status, Summary,
};
use ralph_core::view::SessionView;
use ralph_store::RemoteRun;

use super::ending::{attempts, cost, cut_short_words, failure, feature_name};
use super::evidence::FLAG;
use super::json::write_pretty;
use super::local_time::{day, day_and_clock, describe_remote_run, span_of};
use super::needs::{diff_command, false_claims, files_and_lines, rows};
use super::session_table::SessionRow;
use super::style::{
    Look, Paint, Screen, brief_duration, columns, cut, one_line, padded, phase_name, sign_by_now,
};

/// Below this, what happened says nothing, and columns behind it are left out.
const MIN_TEXT: usize = 24;

/// Width of a number.
const NUMBER: usize = 4;

/// In front of what belongs to a row.
const INDENT: &str = "      ";

/// A column of the list.
struct Column {
    header: &'static str,
    is_right: bool,
    /// It is as wide as its widest cell, and this at least; left out where that is 0. `None` takes what the others leave, with
    /// the flag at its end.
    least: Option<usize>,
    /// Columns that leave too little room for what happened are left out, the lowest first.
    leaves: Option<u8>,
    cell: CellOf,
}

/// A text that is safe on a terminal.
type Painted = (Look, String);

type CellOf = fn(&ShownEntry<'_>) -> Painted;

/// A record, with what more than one column shows of it.
struct ShownEntry<'a> {
    listed: &'a Listed<'a>,
    entry: &'a LogEntry,
    sign: (Look, &'static str),
    /// The day on which it ended, and the time of it.
    end: [String; 2],
}

/// The columns, from left to right. What `--json` has is in [`Values`].
const COLUMNS: [Column; 7] = [
    right("#", NUMBER, |it| {
        let has_number = it.entry.is_attempt() || it.entry.outcome() == Some(Outcome::Integrated);
        (Look::Dim, if_some(has_number.then(|| it.listed.name(it.entry))))
    }),
    left("  task", 6, |it| {
        let task = it.entry.task().map_or(String::new(), |task| cut(&one_line(task), MIN_TEXT));
        (it.sign.0, format!("{} {task}", it.sign.1))
    }),
    right("", 0, |it| {
        let attempt = it.entry.attempt().filter(|attempt| *attempt > 1 && it.entry.is_attempt());
        (Look::Plain, if_some(attempt))
    }),
    Column {
        least: None,
        ..left("what happened", 0, |it| {
            let look = if it.sign.1 == "✔" { Look::Plain } else { it.sign.0 };
            (look, one_line(&what_happened(it.listed, it.entry)))
        })
    },
    behind("time", 4, 1, |it| (Look::Dim, if_some(it.entry.duration_ms().total().map(brief_duration)))),
    behind("cost", 0, 0, |it| (Look::Dim, if_some(it.entry.cost().shown()))),
    behind("end", 5, 2, |it| (Look::Dim, it.end[1].clone())),
];

const fn left(header: &'static str, least: usize, cell: CellOf) -> Column {
    Column { header, is_right: false, least: Some(least), leaves: None, cell }
}

const fn right(header: &'static str, least: usize, cell: CellOf) -> Column {
    Column { is_right: true, ..left(header, least, cell) }
}

const fn behind(header: &'static str, least: usize, leaves: u8, cell: CellOf) -> Column {
    Column { leaves: Some(leaves), ..right(header, least, cell) }
}

fn if_some(value: Option<impl ToString>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

/// The place of what happened.
const WHAT: usize = {
    let mut place = 0;
    while COLUMNS[place].least.is_some() {
        place += 1;
    }
    place
};

/// A session, counted from its records, with the iterations of it that are to be listed.
#[derive(Debug)]
pub struct Listed<'a> {
    /// With those of its group, as one.
    pub session: &'a SessionView,
    /// What its attempts are called.
    pub names: &'a ShortNames,
    pub feature: &'a str,
    pub status: Status,
    /// How it ended, in a word or few.
    pub ended: String,
    /// Set if it runs on another machine.
    pub elsewhere: Option<RemoteRun>,
    /// `2 need you: T034 asks, T019 fails`, of the newest session.
    pub needs_you: Option<String>,
    /// True if it is what commands mean where no session is named.
    pub is_newest: bool,
    /// What is said below its rows; `None` where nothing is said.
    pub summary: Option<Summary>,
    /// `None` without snapshots.
    pub changes: Option<DiffStat>,
    pub rows: Vec<&'a LogEntry>,
    /// For an iteration that failed like an earlier one of its session, the first of these.
    pub repeats: HashMap<AttemptId, AttemptId>,
    pub by_now: &'a ByNow,
    /// For a success after failures, what solved them, in the agent's words.
    pub solved: HashMap<AttemptId, String>,
    /// What `--grep` found in them.
    pub matches: HashMap<AttemptId, MatchingLine>,
}

/// What became of attempts.
#[derive(Debug, Default)]
pub struct ByNow {
    /// They failed, and their tasks were done since.
    pub solved: BTreeSet<AttemptId>,
    /// The reasons of their flags are gone.
    pub moot: BTreeSet<AttemptId>,
    /// What became of results that were queued, and the record that says so.
    pub merged: HashMap<AttemptId, (IntegrationVerdict, AttemptId)>,
}

/// A line that a search found, behind where it is: `validation`, `answer`, or the path of a file that changed.
pub type MatchingLine = (String, String);

/// A row of the list.
struct ListRow {
    cells: [Painted; COLUMNS.len()],
    flag: String,
    /// On which it ended.
    day: String,
    phase: Option<String>,
}

impl Listed<'_> {
    /// Returns it as a row of the table of sessions.
    pub fn table_row(&self) -> SessionRow {
        let ended = if self.elsewhere.is_some() { "running elsewhere" } else { &self.ended };
        SessionRow::new(self.session, self.feature, self.status, ended.to_owned())
    }

    fn name(&self, entry: &LogEntry) -> String {
        self.names.name(&entry.session(), entry.number())
    }

    /// Returns what commands mean where no session is named.
    fn newest(&self) -> Option<&ShortNames> {
        Some(self.names).filter(|_| self.is_newest)
    }
}

impl ListRow {
    fn of(listed: &Listed<'_>, entry: &LogEntry) -> Self {
        let is_of_all = entry.outcome() == Some(Outcome::Checked) && entry.task().is_none();
        let sign = if is_of_all { (Look::Dim, "·") } else { sign_of(listed, entry) };
        let shown = ShownEntry { listed, entry, sign, end: day_and_clock(entry.ended_at()) };
        let flag = entry.first_flag().filter(|_| !listed.by_now.moot.contains(&entry.id()));
        let cells = COLUMNS.each_ref().map(|column| (column.cell)(&shown));
        let [day, _] = shown.end;
        Self {
            cells,
            flag: flag.map_or(String::new(), |flag| format!("{FLAG} {}", one_line(flag))),
            day,
            phase: entry.phase().map(|phase| one_line(&phase_name(phase))),
        }
    }

    fn header() -> Self {
        let cells = COLUMNS.each_ref().map(|column| (Look::Dim, column.header.to_owned()));
        Self { cells, flag: String::new(), day: String::new(), phase: None }
    }

    /// Without columns, for a program that reads it.
    fn unpadded(&self, paint: Paint) -> String {
        let flag = (Look::Warn, self.flag.clone());
        let (before, after) = self.cells.split_at(WHAT + 1);
        let cells = before.iter().chain([&flag]).chain(after).filter(|(_, text)| !text.is_empty());
        cells.map(|(look, text)| paint.paint(*look, text)).collect::<Vec<_>>().join("  ")
    }

    fn line(&self, widths: &[usize; COLUMNS.len()], paint: Paint) -> String {
        let mut line = String::new();
        for (place, (column, (look, text))) in COLUMNS.iter().zip(&self.cells).enumerate() {
            let width = widths[place];
            let gap = " ".repeat(gap(place));
            if place == WHAT {
                let flag = if self.flag.is_empty() { String::new() } else { format!("  {}", self.flag) };
                let flag = cut(&flag, width / 2);
                let what = cut(text, width - columns(&flag));
                let rest = " ".repeat(width - columns(&what) - columns(&flag));
                let painted = [paint.paint(*look, &what), paint.paint(Look::Warn, &flag)];
                line += &[&gap, &painted[0], &painted[1], &rest].map(String::as_str).concat();
            } else if width > 0 {
                let text = if column.is_right { format!("{text:>width$}") } else { padded(text, width) };
                line += &(gap + &paint.paint(*look, &text));
            }
        }
        line.trim_end().to_owned()
    }
}

/// Returns how many blanks are before a column.
fn gap(place: usize) -> usize {
    match place {
        0 => 0,
        1..=WHAT => 2,
        _ => 1,
    }
}

/// How wide the columns are; 0 for one that is left out.
fn widths(rows: &[ListRow], screen: usize) -> [usize; COLUMNS.len()] {
    let mut widths = [0; COLUMNS.len()];
    for (place, column) in COLUMNS.iter().enumerate() {
        let Some(least) = column.least else { continue };
        let widest = rows.iter().map(|row| columns(&row.cells[place].1)).max().unwrap_or(0);
        widths[place] = if widest > 0 { widest.max(column.header.len()) } else { 0 }.max(least);
    }
    let room = |widths: &[usize; COLUMNS.len()]| {
        let shown = widths.iter().enumerate().filter(|(place, width)| *place == WHAT || **width > 0);
        screen.saturating_sub(shown.map(|(place, width)| gap(place) + width).sum())
    };
    let mut leaving: Vec<usize> =
        (0..COLUMNS.len()).filter(|place| COLUMNS[*place].leaves.is_some()).collect();
    leaving.sort_by_key(|place| COLUMNS[*place].leaves);
    for place in leaving {
        if room(&widths) < MIN_TEXT {
            widths[place] = 0;
        }
    }
    widths[WHAT] = room(&widths);
    widths
}

/// The colour and the sign of a row, as it is seen by now.
fn sign_of(listed: &Listed<'_>, row: &LogEntry) -> (Look, &'static str) {
    let is_solved = row.is_failure() && listed.by_now.solved.contains(&row.id());
    row.outcome().map_or((Look::Dim, " "), |outcome| sign_by_now(outcome, row.failure_class(), is_solved))
}

/// `merged in #4`: what became of a result that was queued. `names` are those of its session, or of its group.
pub fn became(found: Option<&(IntegrationVerdict, AttemptId)>, names: &ShortNames) -> String {
    found.map_or_else(
        || "queued".to_owned(),
        |(verdict, by)| format!("{} in {}", verdict.words(), names.mark(&by.session, by.number)),
    )
}

/// Of a failure its cause, of a success after failures what solved them, else what was to be done.
fn what_happened(listed: &Listed<'_>, row: &LogEntry) -> String {
    match row.outcome() {
        Some(Outcome::Success) if !row.is_attempt() => {
            let words = row.first_flag().unwrap_or_default();
            words.split(" <").next().unwrap_or_default().to_owned()
        }
        Some(Outcome::Success) => {
            let title = row.title().filter(|title| !title.is_empty());
            let words = listed.solved.get(&row.id()).cloned().or_else(|| Some(title?.to_owned()));
            let words = words.unwrap_or_else(|| story(row.subject()).to_owned());
            if !row.is_queued() {
                return words;
            }
            let found = listed.by_now.merged.get(&row.id());
            format!("{}: {words}", became(found, listed.names))
        }
        Some(Outcome::Failure) => {
            if let Some(first) = listed.repeats.get(&row.id()) {
                return format!("same as {}", listed.names.name(&first.session, first.number));
            }
            failure(row.failure_class(), row.cause().unwrap_or_else(|| story(row.subject())))
        }
        Some(Outcome::Skipped) => "given up".to_owned(),
        Some(Outcome::Interrupted) => {
            let is_it = |cut: &&CutShort| cut.iteration == row.number() && cut.session == row.session();
            let cut_short = listed.session.totals().cut_short.iter().find(is_it);
            cut_short.map_or_else(|| "cut short".to_owned(), cut_short_words)
        }
        Some(Outcome::Checked) if row.task().is_some() => {
            format!("sent back: {}", row.cause().unwrap_or_default())
        }
        Some(Outcome::Checked | Outcome::Reopened | Outcome::Integrated | Outcome::Later(_)) | None => {
            story(row.subject()).to_owned()
        }
    }
}

/// Attempts under the session that they belong to, each in one line as wide as the screen at most.
pub fn attempts_of(sessions: &[Listed<'_>], screen: Screen) -> Vec<String> {
    let sessions = sessions
        .iter()
        .map(|listed| [head(listed, screen), listed_rows(listed, screen), below(listed, screen)].concat());
    sessions.collect::<Vec<_>>().join(&String::new())
}

/// Attempts with flags under the session that they belong to: each flag whole, with the command that shows what was changed.
pub fn flagged_of(sessions: &[Listed<'_>], screen: Screen) -> Vec<String> {
    let sessions = sessions.iter().map(|listed| {
        let mut lines = head(listed, screen);
        for row in &listed.rows {
            let (look, mark) = sign_of(listed, row);
            let task = row.task().map_or(String::new(), one_line);
            let flags = row.flags();
            let others: Vec<&str> = flags.iter().skip(1).map(FlagCode::as_str).collect();
            let others = if others.is_empty() { String::new() } else { format!("; {}", others.join(", ")) };
            let words = format!("{FLAG} {}{others}", row.first_flag().unwrap_or_default());
            let lead = format!("{:>NUMBER$}  {mark} {task}  ", listed.name(row));
            let flag = screen.hanging(&lead, &one_line(&words));
            lines.extend(screen.paint_start(look, &format!("{mark} {task}"), flag));
            lines.push(format!("{INDENT}→ {}", diff_command(&row.session(), row.number(), listed.newest())));
        }
        let is_left_out = |attempt: &&AttemptId| {
            listed.session.has(&attempt.session) && listed.rows.iter().all(|row| row.id() != **attempt)
        };
        let silent = listed.by_now.moot.iter().filter(is_left_out);
        let numbers: Vec<String> =
            silent.map(|attempt| listed.names.mark(&attempt.session, attempt.number)).collect();
        if !numbers.is_empty() {
            let words = format!("{}, whose reasons are gone: --all lists them", numbers.join(", "));
            lines.extend(screen.painted(Look::Dim, "  silent: ", &words));
        }
        lines
    });
    sessions.collect::<Vec<_>>().join(&String::new())
}

fn listed_rows(listed: &Listed<'_>, screen: Screen) -> Vec<String> {
    let rows: Vec<ListRow> = listed.rows.iter().map(|row| ListRow::of(listed, row)).collect();
    let widths = widths(&rows, screen.width);
    let mut lines = Vec::with_capacity(rows.len());
    if screen.width < usize::MAX && !rows.is_empty() {
        lines.push(ListRow::header().line(&widths, screen.paint));
    }
    let start = day(listed.session.started_at());
    let (mut day, mut phase) = (Some(&start), None);
    for (row, of) in rows.iter().zip(&listed.rows) {
        let new_day = Some(&row.day).filter(|_| day != Some(&row.day));
        let new_phase = row.phase.as_ref().filter(|name| phase != Some(*name));
        let headings = new_day.into_iter().chain(new_phase);
        let headings = headings.map(|heading| cut(&format!("{INDENT}{heading}"), screen.width));
        lines.extend(headings.map(|heading| screen.paint(Look::Dim, &heading)));
        // A merge of several results is of no phase.
        (day, phase) = (Some(&row.day), row.phase.as_ref().or(phase));
        lines.push(match screen.width {
            usize::MAX => row.unpadded(screen.paint),
            _ => row.line(&widths, screen.paint),
        });
        let found = listed.matches.get(&of.id()).filter(|_| of.is_attempt());
        lines.extend(found.map(|found| match_line(found, screen)));
    }
    lines
}

/// The line that a search found, below its attempt.
fn match_line((place, line): &MatchingLine, screen: Screen) -> String {
    let place = one_line(place);
    let room = screen.width.saturating_sub(INDENT.len() + columns(&place) + 2);
    let text = cut(&one_line(line), room);
    format!("{INDENT}{} {text}", screen.paint(Look::Dim, &format!("{place}:")))
}

/// A line for each iteration, which begins with what `show`, `diff` and `restore` take.
pub fn names(sessions: &[Listed<'_>], screen: Screen) -> Vec<String> {
    let rows = sessions.iter().flat_map(|listed| listed.rows.iter().map(move |row| (listed, row)));
    let lines = rows.map(|(listed, row)| {
        let newest = listed.newest().filter(|names| names.is_of_group());
        let name = newest.map_or_else(|| row.id().to_string(), |_| listed.name(row));
        let (look, mark) = sign_of(listed, row);
        let room = screen.width.saturating_sub(columns(&name) + 4).max(MIN_TEXT);
        let story = cut(&one_line(story(row.subject())), room);
        format!("{}  {}", screen.paint(Look::Dim, &name), screen.paint(look, &format!("{mark} {story}")))
    });
    lines.collect()
}

/// Which session it is, when it was, and how it went.
fn head(listed: &Listed<'_>, screen: Screen) -> Vec<String> {
    let (session, tasks) = (listed.session, listed.session.tasks());
    let totals = session.totals();
    let state = match &listed.elsewhere {
        Some(elsewhere) => one_line(&describe_remote_run(elsewhere)),
        None => listed.ended.clone(),
    };
    let span = span_of(session.started_at(), session.last_at());
    let done = format!("{} of {} done", tasks.done, tasks.done + tasks.open);
    let mut parts = vec![span, done, state];
    // What it ended with says it already, where that is all.
    let is_said = |words: &String| words.split_once(": ").is_some_and(|(_, names)| names == listed.ended);
    parts.extend(listed.needs_you.clone().filter(|words| !is_said(words)));
    parts.push(attempts(totals));
    parts.extend(cost(&totals.cost));
    parts.extend(listed.changes.map(files_and_lines));
    let lanes = session.names().lanes().len();
    parts.extend((lanes > 0).then(|| format!("{lanes} lanes")));
    parts.push(session.id.to_string());
    screen.named_parts(&one_line(feature_name(listed.feature)), &parts)
}

/// What needs the user, and what was claimed in vain, behind a blank line.
fn below(listed: &Listed<'_>, screen: Screen) -> Vec<String> {
    let Some(summary) = &listed.summary else { return Vec::new() };
    let mut lines = rows(summary, listed.newest(), screen);
    let wrong = listed.session.iterations().filter(|entry| entry.is_wrong_claim());
    let wrong: Vec<String> = wrong.map(|entry| listed.names.mark(&entry.session(), entry.number())).collect();
    let claims = false_claims(&wrong);
    lines.extend(claims.iter().flat_map(|words| screen.hanging("  ", words)));
    if !lines.is_empty() {
        lines.insert(0, String::new());
    }
    lines
}

/// The subject of a record without its feature and number: `T004 failed (cargo test exited 101)`.
pub(crate) fn story(subject: &str) -> &str {
    match subject.split_once(": iteration ").and_then(|(_, behind)| behind.split_once(", ")) {
        Some((number, rest)) if number.parse::<u64>().is_ok() => rest,
        _ => subject,
    }
}

/// `{"summary": ..., "iterations": [...]}`, with the fields of `iteration.json` that the trailers hold and `circumstances` of each.
pub fn write_json(
    out: &mut impl Write,
    summary: Option<&Summary>,
    rows: &[&LogEntry],
    circumstances: &dyn Fn(&LogEntry) -> Circumstances,
) -> Result<()> {
    #[derive(Serialize)]
    struct Document<'s> {
        summary: Option<&'s Summary>,
        iterations: Iterations<'s>,
    }
    Ok(write_pretty(out, &Document { summary, iterations: Iterations { rows, circumstances } })?)
}

/// What `--json` has of an entry.
struct Values<'e>(&'e LogEntry);

/// Lists the keys of `--json` in their order: each is a method of an entry, or says what its value is.
macro_rules! values {
    ($entry:ident: $($key:ident $(= $value:expr)?,)+) => {
        impl Serialize for Values<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let $entry = self.0;
                let mut json = serializer.serialize_map(None)?;
                $(json.serialize_entry(stringify!($key), &values!(@ $entry $key $($value)?))?;)+
                json.end()
            }
        }
    };
    (@ $entry:ident $key:ident) => { $entry.$key() };
    (@ $entry:ident $key:ident $value:expr) => { $value };
}

values! { entry:
    commit, session, feature, iteration, task, title, phase, attempt, outcome, failure_class, cause, false_claim,
    started_at, ended_at, exit, duration_ms, agent, model, tokens, cost_usd, closed,
    tasks_done = entry.tasks().done, tasks_open = entry.tasks().open,
    fingerprint, tests, flags, refused, reopened, head_before, head_after, snapshot,
}

struct Iterations<'s> {
    rows: &'s [&'s LogEntry],
    circumstances: &'s dyn Fn(&LogEntry) -> Circumstances,
}

impl Serialize for Iterations<'_> {
    /// One after the other, each with its id.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Row<'e> {
            id: String,
            #[serde(flatten)]
            values: Values<'e>,
            #[serde(flatten)]
            circumstances: Circumstances,
        }
        let mut list = serializer.serialize_seq(Some(self.rows.len()))?;
        for &entry in self.rows {
            let id = format!("{}-iter-{}", entry.session(), entry.number());
            let circumstances = (self.circumstances)(entry);
            list.serialize_element(&Row { id, values: Values(entry), circumstances })?;
        }
        list.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::needs::needs_you;
    use ralph_core::record::{Field, FlaggedTask, Need, NeedKind, TaskStates, WaitingTask, samples};

    /// Minutes since the start, number, outcome, class, attempt, task, title, cause, first flag, phase and cost.
    type Attempted = (i64, u32, &'static str, &'static str, u32, [&'static str; 6]);

    const SETUP: &str = "Phase 1: Setup";
    const BOARDS: &str = "Phase 3: User Story 1 - Boards and cards (P1)";

    #[rustfmt::skip]
    const SESSION: [Attempted; 7] = [
        (10, 1, "success", "-", 1, ["T001", "Configure jest in jest.config.js", "-", "39 tests ran, 41 before", SETUP, "0.94"]),
        (25, 2, "failure", "-", 1, ["T004", "Create every table in src/db/schema.ts", "schema › creates every table: connect ECONNREFUSED 127.0.0.1:5432", "-", SETUP, "1.19"]),
        (40, 3, "failure", "-", 2, ["T004", "Create every table in src/db/schema.ts", "schema › creates every table: connect ECONNREFUSED 127.0.0.1:5432", "-", SETUP, "3.72"]),
        (55, 4, "success", "-", 3, ["T004", "Create every table in src/db/schema.ts", "-", "-", SETUP, "1.06"]),
        (1500, 5, "interrupted", "quota", 1, ["T009", "Add the board model", "usage limit", "-", BOARDS, "-"]),
        (1560, 6, "failure", "question", 1, ["T009", "Add the board model", "May a card belong to two boards?", "-", BOARDS, "0.41"]),
        (1570, 7, "skipped", "-", 1, ["T004", "Create every table", "-", "-", BOARDS, "-"]),
    ];

    fn line((minutes, number, outcome, class, attempt, words): Attempted) -> LogEntry {
        let [task, title, cause, flag, phase, cost] = words;
        let ended_at = minutes * 60_000;
        let flags = if flag == "-" { "" } else { FlagCode::Judge.as_str() };
        let validation = i32::from(outcome == "failure");
        let claim = if number == 2 { "ticked" } else { "" };
        let values = [
            (Field::Commit, &*format!("{number:040}")),
            (Field::Iteration, &number.to_string()),
            (Field::Outcome, outcome),
            (Field::FailureClass, class),
            (Field::Started, &ended_at.to_string()),
            (Field::Ended, &ended_at.to_string()),
            (Field::DurationMs, "agent=240000 validation=60000"),
            (Field::Attempt, &attempt.to_string()),
            (Field::Task, task),
            (Field::Line, &format!("{task} {outcome}")),
            (Field::Title, title),
            (Field::Cause, cause),
            (Field::Flags, flags),
            (Field::FirstFlag, flag),
            (Field::Exit, &format!("agent=0 validation={validation}")),
            (Field::CostUsd, cost),
            (Field::FalseClaim, claim),
            (Field::Phase, phase),
            (Field::Tokens, "-"),
            (Field::Tasks, "done=31 open=4"),
        ];
        let mut entry = samples::log_entries("T1+").remove(0);
        for (field, value) in values {
            match value {
                "-" => entry.clear(&[field]),
                value => entry.set(field, value),
            }
        }
        entry
    }

    #[test]
    fn a_night_is_told_attempt_by_attempt_in_every_width() {
        let session = samples::session("failed", Some("stuck"), (31, 4));
        let mut lines = SESSION.map(line);
        for line in &mut lines {
            line.set(Field::Session, &session.id);
        }
        let names = ShortNames::alone(&session.id);
        let id = |number| AttemptId { session: session.id.clone(), number };
        lines[0].set(Field::Started, lines[0].ended_at().ms());
        let view = SessionView::of(&session.id, lines);
        let need = |why, task: &str, cause: &str| Need {
            why,
            task: Some(task.to_owned()),
            cause: Some(cause.to_owned()),
            session: session.id.clone(),
            iteration: Some(6),
        };
        let summary = || Summary {
            tasks: TaskStates { done: 31, asks: 1, fails: 1, waits: 1, open: 1 },
            needs_you: vec![
                need(NeedKind::Asks, "T009", "May a card belong to two boards?"),
                need(NeedKind::Fails, "T019", "merge › converges: Expected: \"0|i00007:\""),
            ],
            waiting: vec![WaitingTask { task: "T020".to_owned(), dependency: "T019".to_owned() }],
            flagged: vec![FlaggedTask {
                task: "T001".to_owned(),
                session: session.id.clone(),
                iteration: Some(1),
                flags: vec![FlagCode::Judge],
                text: Some("39 tests ran, 41 before".to_owned()),
            }],
            ..Summary::default()
        };
        let solved = view.iterations().filter(|one| [2, 3].contains(&one.number())).map(LogEntry::id);
        let by_now = ByNow { solved: solved.collect(), ..ByNow::default() };
        let mut shown = String::new();
        for (width, name) in [(80, "80 columns"), (40, "40 columns"), (usize::MAX, "piped")] {
            let listed = Listed {
                session: &view,
                names: &names,
                feature: &session.feature,
                status: Status::Failed,
                ended: "T009 asks, T019 fails".to_owned(),
                elsewhere: None,
                needs_you: needs_you(&summary()),
                is_newest: true,
                summary: Some(summary()),
                changes: Some(DiffStat { files: 53, added: 1411, removed: 0 }),
                rows: view.entries.iter().collect(),
                repeats: HashMap::from([(id(3), id(2))]),
                by_now: &by_now,
                solved: HashMap::from([(id(4), "Tests use an in-memory database now.".to_owned())]),
                matches: HashMap::from([(id(2), ("validation".to_owned(), "  ECONNREFUSED  ".to_owned()))]),
            };
            let text = attempts_of(&[listed], Screen { paint: Paint::Plain, width }).join("\n") + "\n";
            assert_eq!(text.lines().find(|line| columns(line) > width), None);
            shown += &format!("== {name}\n{text}\n");
        }
        insta::assert_snapshot!(shown);
    }
}
