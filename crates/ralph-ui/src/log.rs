//! The list of iterations, and the list of sessions.

use std::collections::HashMap;
use std::io::{self, Write};

use anyhow::Result;
use serde::ser::{Error as _, SerializeSeq as _};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use ralph_core::record::{
    DiffStat, FailureClass, LogEntry, Outcome, Session, SessionId, SessionTotals, Status, StopReason,
    Summary, TaskCounts, Timestamp,
};
use ralph_store::{RemoteRun, Row};

use super::ending::{attempts, cost, cut_short_words, feature_name, state};
use super::evidence::{FLAG, flagged};
use super::json::write_pretty;
use super::local_time::{self, day, day_and_clock, span_of};
use super::needs::{false_claims, files_and_lines, needs_you, rows};
use super::status::phase_name;
use super::style::{
    Look, Paint, brief_duration, columns, cut, hanging, named_parts, one_line, padded, painted, sign,
};

/// Columns of a number.
const NUMBER: usize = 4;

/// Below this, what happened says nothing, and columns behind it are left out.
const MIN_TEXT: usize = 24;

/// In front of what belongs to a row.
const INDENT: &str = "      ";

/// One session with the iterations of it that are to be listed.
#[derive(Debug)]
pub struct Listed<'a> {
    pub head: SessionHead,
    pub rows: Vec<Row<'a>>,
    /// For an iteration that failed like an earlier one of its session, the first of these.
    pub repeats: HashMap<u32, u32>,
    /// For a success after failures, what solved them, in the agent's words.
    pub solved: HashMap<u32, String>,
    /// What `--grep` found in them.
    pub matches: HashMap<u32, MatchingLine>,
}

/// A line that a search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchingLine {
    /// `validation`, `answer`, or the path of a file that changed.
    pub place: String,
    pub line: String,
}

/// What is said of a session in one line, counted from its records.
#[derive(Debug)]
pub struct SessionHead {
    id: SessionId,
    feature: String,
    started_at: Option<Timestamp>,
    last_at: Option<Timestamp>,
    status: Status,
    stop_reason: Option<StopReason>,
    totals: SessionTotals,
    tasks: TaskCounts,
    elsewhere: Option<RemoteRun>,
    /// What is said below its line; `None` where nothing is said.
    pub summary: Option<Summary>,
    /// Iterations whose agents said that a task is done which was not.
    pub false_claims: Vec<u32>,
    /// `None` without snapshots.
    pub changes: Option<DiffStat>,
}

impl SessionHead {
    pub fn new(id: SessionId, feature: String, is_running: bool) -> Self {
        let status = if is_running { Status::Running } else { Status::Interrupted };
        Self {
            started_at: None,
            last_at: None,
            id,
            feature,
            status,
            stop_reason: None,
            totals: SessionTotals::default(),
            tasks: TaskCounts { done: 0, open: 0 },
            elsewhere: None,
            summary: None,
            false_claims: Vec::new(),
            changes: None,
        }
    }

    /// Takes in what is known of it if it runs on another machine.
    pub fn runs_elsewhere(&mut self, elsewhere: Option<RemoteRun>) {
        self.elsewhere = elsewhere.filter(|_| self.status != Status::Running);
    }

    /// Takes in the next record, oldest first.
    pub fn count(&mut self, row: &Row<'_>) {
        // As `status` and the page: its record is written a moment later.
        self.started_at.get_or_insert_with(|| row.entry().map_or(row.ended_at, |first| first.started_at));
        self.last_at = Some(row.ended_at);
        if let Some(facts) = row.facts() {
            self.totals.count(&self.id, &facts);
        }
    }

    /// Takes in the newest record.
    pub fn end(&mut self, tip: &LogEntry, tasks: TaskCounts) {
        self.tasks = tasks;
        self.stop_reason = tip.stop_reason;
        self.status = tip.status.unwrap_or(self.status);
    }
}

/// A row of the list; its texts are safe on a terminal.
struct ListRow {
    /// `None` of what is no attempt.
    number: Option<u32>,
    look: Look,
    mark: &'static str,
    task: String,
    attempt: Option<u32>,
    what: String,
    flag: String,
    time: String,
    cost: String,
    /// The day and the time of day at which it ended.
    end: [String; 2],
    phase: Option<String>,
}

impl ListRow {
    fn of(listed: &Listed<'_>, row: &Row<'_>) -> Self {
        let (look, mark) = row.outcome.map_or((Look::Dim, " "), sign);
        let is_attempt = row.outcome.is_some_and(Outcome::is_attempt);
        let what = what_happened(listed, row);
        let flag = row.first_flag().map_or(String::new(), |flag| format!("  {FLAG} {}", one_line(&flag)));
        Self {
            number: is_attempt.then_some(row.iteration),
            look,
            mark,
            task: row.task().map_or(String::new(), |task| cut(&one_line(&task), MIN_TEXT)),
            attempt: row.attempt.filter(|attempt| *attempt > 1 && is_attempt),
            what: one_line(&what),
            flag,
            time: row.duration_ms.total().map_or(String::new(), brief_duration),
            cost: row.cost().shown().unwrap_or_default(),
            end: day_and_clock(row.ended_at),
            phase: row.phase().map(|phase| one_line(&phase_name(&phase))),
        }
    }
}

/// Of a failure its cause, of a success after failures what solved them, else what was to be done.
fn what_happened(listed: &Listed<'_>, row: &Row<'_>) -> String {
    match row.outcome {
        Some(Outcome::Success) => {
            let title = row.title().filter(|title| !title.is_empty());
            let words = listed.solved.get(&row.iteration).cloned().or_else(|| Some(title?.into_owned()));
            words.unwrap_or_else(|| story(&row.subject()).to_owned())
        }
        Some(Outcome::Failure) => {
            if let Some(first) = listed.repeats.get(&row.iteration) {
                return format!("same as {first}");
            }
            let cause = row.cause().map(std::borrow::Cow::into_owned);
            let cause = cause.unwrap_or_else(|| story(&row.subject()).to_owned());
            if row.failure_class.is_some_and(FailureClass::is_question) {
                format!("asks: {cause}")
            } else {
                cause
            }
        }
        Some(Outcome::Skipped) => "given up".to_owned(),
        Some(Outcome::Interrupted) => {
            let cut_short = listed.head.totals.cut_short.iter().find(|cut| cut.iteration == row.iteration);
            cut_short.map_or_else(|| "cut short".to_owned(), cut_short_words)
        }
        Some(Outcome::Later(_)) | None => story(&row.subject()).to_owned(),
    }
}

/// Attempts under the session that they belong to, each in one line of at most `width` columns.
pub fn write_iterations(
    out: &mut dyn Write,
    sessions: &[Listed<'_>],
    paint: Paint,
    width: Option<usize>,
) -> io::Result<()> {
    for (place, listed) in sessions.iter().enumerate() {
        if place > 0 {
            writeln!(out)?;
        }
        write_head(out, &listed.head, paint, width)?;
        write_rows(out, listed, paint, width)?;
        write_below(out, &listed.head, paint, width)?;
    }
    Ok(())
}

fn write_rows(
    out: &mut dyn Write,
    listed: &Listed<'_>,
    paint: Paint,
    width: Option<usize>,
) -> io::Result<()> {
    let rows: Vec<ListRow> = listed.rows.iter().map(|row| ListRow::of(listed, row)).collect();
    if rows.is_empty() {
        return Ok(());
    }
    let columns_of = Columns::of(&rows, width);
    if width.is_some() {
        writeln!(out, "{}", paint.paint(Look::Dim, &columns_of.header()))?;
    }
    let (mut phase, mut date) = (None, listed.head.started_at.map(day));
    for row in &rows {
        if date.as_ref() != Some(&row.end[0]) {
            let line = cut(&format!("{INDENT}{}", row.end[0]), width.unwrap_or(usize::MAX));
            writeln!(out, "{}", paint.paint(Look::Dim, &line))?;
            date = Some(row.end[0].clone());
        }
        if row.phase != phase {
            if let Some(name) = &row.phase {
                writeln!(
                    out,
                    "{}",
                    paint.paint(Look::Dim, &cut(&format!("{INDENT}{name}"), width.unwrap_or(usize::MAX)))
                )?;
            }
            phase.clone_from(&row.phase);
        }
        writeln!(out, "{}", columns_of.line(row, paint))?;
        if let Some(found) = row.number.and_then(|number| listed.matches.get(&number)) {
            write_match(out, found, paint, width)?;
        }
    }
    Ok(())
}

/// How wide the columns are; 0 for one that has no room. Nothing is padded where no width is known.
struct Columns {
    task: usize,
    /// With the two blanks in front of it.
    attempt: usize,
    /// `None` where nothing is padded.
    what: Option<usize>,
    time: usize,
    cost: usize,
    end: usize,
}

impl Columns {
    fn of(rows: &[ListRow], width: Option<usize>) -> Self {
        let mut all = Self {
            task: widest(rows, |row| columns(&row.task)).max(4),
            attempt: widest(rows, |row| row.attempt.map_or(0, |attempt| attempt.to_string().len() + 2)),
            what: None,
            time: widest(rows, |row| row.time.len()).max(4),
            cost: widest(rows, |row| row.cost.len()),
            end: 5,
        };
        let Some(width) = width else { return all };
        for column in 0..3 {
            if width.saturating_sub(all.fixed()) >= MIN_TEXT {
                break;
            }
            *[&mut all.cost, &mut all.time, &mut all.end][column] = 0;
        }
        all.what = Some(width.saturating_sub(all.fixed()));
        all
    }

    /// Columns that all but what happened take.
    fn fixed(&self) -> usize {
        let tail = [self.time, self.cost, self.end].into_iter().filter(|column| *column > 0);
        NUMBER + 4 + self.task + self.attempt + 2 + tail.map(|column| column + 1).sum::<usize>()
    }

    fn header(&self) -> String {
        let room = self.what.unwrap_or_default();
        let head = format!("{:>NUMBER$}    {}{}  ", "#", padded("task", self.task), " ".repeat(self.attempt));
        let line = head + &padded(&cut("what happened", room), room) + &self.tail(["time", "cost", "end"]);
        cut(line.trim_end(), self.fixed() + room)
    }

    /// Time, cost and end, as far as they have room.
    fn tail(&self, texts: [&str; 3]) -> String {
        let columns = texts.into_iter().zip([self.time, self.cost, self.end]);
        let shown = columns.filter(|(_, column)| *column > 0);
        shown.map(|(text, column)| format!(" {text:>column$}")).collect()
    }

    fn line(&self, row: &ListRow, paint: Paint) -> String {
        let number = row.number.map_or(String::new(), |number| number.to_string());
        let look = match row.mark {
            "✘" => Look::Bad,
            "✔" => Look::Plain,
            _ => Look::Warn,
        };
        let attempt = row.attempt.map_or(String::new(), |attempt| attempt.to_string());
        let end = &row.end[1];
        let Some(room) = self.what else {
            let name = paint.paint(row.look, &format!("{} {}", row.mark, row.task));
            let what = paint.paint(look, &row.what) + &paint.paint(Look::Warn, &row.flag);
            let tail = [&row.time, &row.cost, end].map(|text| paint.paint(Look::Dim, text));
            let [time, cost, end] = tail;
            let parts = [number, name, attempt, what.trim_start().to_owned(), time, cost, end];
            return parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  ");
        };
        let flag = cut(&row.flag, room / 2);
        let what = cut(&row.what, room - columns(&flag));
        let blank = " ".repeat(room - columns(&what) - columns(&flag));
        let line = [
            paint.paint(Look::Dim, &format!("{number:>NUMBER$}")),
            "  ".to_owned(),
            paint.paint(row.look, &format!("{} {}", row.mark, padded(&row.task, self.task))),
            format!("{attempt:>0$}  ", self.attempt),
            paint.paint(look, &what),
            paint.paint(Look::Warn, &flag),
            blank,
            paint.paint(Look::Dim, &self.tail([&row.time, &row.cost, end])),
        ];
        line.concat().trim_end().to_owned()
    }
}

fn widest(rows: &[ListRow], columns: impl Fn(&ListRow) -> usize) -> usize {
    rows.iter().map(columns).max().unwrap_or(0)
}

/// The line that a search found, below its attempt.
fn write_match(
    out: &mut dyn Write,
    found: &MatchingLine,
    paint: Paint,
    width: Option<usize>,
) -> io::Result<()> {
    let place = one_line(&found.place);
    let room = width.map_or(usize::MAX, |width| width.saturating_sub(INDENT.len() + columns(&place) + 2));
    let text = cut(&one_line(&found.line), room);
    writeln!(out, "{INDENT}{} {text}", paint.paint(Look::Dim, &format!("{place}:")))
}

pub fn write_sessions(
    out: &mut dyn Write,
    sessions: &[Listed<'_>],
    paint: Paint,
    width: Option<usize>,
) -> io::Result<()> {
    sessions.iter().try_for_each(|listed| write_head(out, &listed.head, paint, width))
}

/// A line for each iteration, which begins with what `show`, `diff` and `restore` take.
pub fn write_oneline(
    out: &mut dyn Write,
    sessions: &[Listed<'_>],
    paint: Paint,
    width: Option<usize>,
) -> io::Result<()> {
    for listed in sessions {
        for row in &listed.rows {
            let name = format!("{}:{}", listed.head.id, row.iteration);
            let (look, mark) = row.outcome.map_or((Look::Dim, " "), sign);
            let room =
                width.map_or(usize::MAX, |width| width.saturating_sub(columns(&name) + 4).max(MIN_TEXT));
            let story = cut(&one_line(story(&row.subject())), room);
            let told = paint.paint(look, &format!("{mark} {story}"));
            writeln!(out, "{}  {told}", paint.paint(Look::Dim, &name))?;
        }
    }
    Ok(())
}

/// Which session it is, when it was, and how it went.
fn write_head(out: &mut dyn Write, head: &SessionHead, paint: Paint, width: Option<usize>) -> io::Result<()> {
    let state = match &head.elsewhere {
        Some(elsewhere) => one_line(&local_time::describe_remote_run(elsewhere)),
        None => state(head.status, head.stop_reason, &head.totals.given_up),
    };
    let name = one_line(feature_name(&head.feature));
    let span = head.started_at.zip(head.last_at).map(|(from, to)| span_of(from, to));
    let tasks = head.tasks;
    let done = format!("{} of {} done", tasks.done, tasks.done + tasks.open);
    let mut parts: Vec<String> = span.into_iter().chain([done, state]).collect();
    parts.extend(head.summary.as_ref().and_then(needs_you));
    parts.push(attempts(&head.totals));
    parts.extend(cost(&head.totals.cost));
    parts.extend(head.changes.map(files_and_lines));
    parts.push(head.id.to_string());
    let lines = named_parts(paint, &name, &parts, width.unwrap_or(usize::MAX));
    lines.iter().try_for_each(|line| writeln!(out, "{line}"))
}

/// What needs somebody, and what was claimed in vain.
fn write_below(
    out: &mut dyn Write,
    head: &SessionHead,
    paint: Paint,
    width: Option<usize>,
) -> io::Result<()> {
    let Some(summary) = &head.summary else { return Ok(()) };
    let width = width.unwrap_or(usize::MAX);
    let mut lines = rows(summary, paint, width);
    if let Some(flagged) = flagged(&summary.flagged) {
        lines.extend(painted(paint, Look::Warn, hanging(&format!("  {FLAG} "), &flagged, width)));
    }
    lines.extend(
        false_claims(&head.false_claims).map(|words| hanging("  ", &words, width)).unwrap_or_default(),
    );
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    lines.iter().try_for_each(|line| writeln!(out, "{line}"))
}

/// The subject of a record without its feature and number: `T004 failed (cargo test exited 101)`.
fn story(subject: &str) -> &str {
    match subject.split_once(": iteration ").and_then(|(_, behind)| behind.split_once(", ")) {
        Some((number, rest)) if number.parse::<u64>().is_ok() => rest,
        _ => subject,
    }
}

/// `{"summary": ..., "iterations": [...]}`, with the fields of `iteration.json` that the trailers hold.
pub fn write_json<'a>(
    out: &mut impl Write,
    summary: Option<&Summary>,
    rows: impl Iterator<Item = &'a Row<'a>>,
) -> Result<()> {
    #[derive(Serialize)]
    struct Document<'s> {
        summary: Option<&'s Summary>,
        #[serde(serialize_with = "iterations")]
        iterations: Vec<&'s Row<'s>>,
    }
    Ok(write_pretty(out, &Document { summary, iterations: rows.collect() })?)
}

/// One after the other, each with its id.
fn iterations<S: Serializer>(rows: &[&Row<'_>], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct WithId {
        id: String,
        #[serde(flatten)]
        entry: LogEntry,
    }
    let mut list = serializer.serialize_seq(Some(rows.len()))?;
    for row in rows {
        let entry = row.entry().map_err(|error| S::Error::custom(format!("{error:#}")))?;
        list.serialize_element(&WithId { id: format!("{}-iter-{}", entry.session, row.iteration), entry })?;
    }
    list.end()
}

/// `{"sessions": [...]}`
pub fn sessions_json(sessions: &[(Session, Option<RemoteRun>)]) -> Value {
    let sessions: Vec<Value> = sessions
        .iter()
        .map(|(session, elsewhere)| {
            let mut session = json!(session);
            session["elsewhere"] = json!(elsewhere);
            session
        })
        .collect();
    json!({ "sessions": sessions })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::record::{
        FlagCode, FlaggedTask, Need, NeedKind, RecordKind, TaskStates, WaitingTask, samples,
    };

    /// Minutes of the night, number, outcome, class, attempt, task, title, cause, first flag, phase and cost.
    type Told = (i64, u32, &'static str, &'static str, u32, [&'static str; 6]);

    const SETUP: &str = "Phase 1: Setup";
    const BOARDS: &str = "Phase 3: User Story 1 - Boards and cards (P1)";

    #[rustfmt::skip]
    const NIGHT: [Told; 7] = [
        (10, 1, "success", "-", 1, ["T001", "Configure jest in jest.config.js", "-", "39 tests ran, 41 before", SETUP, "0.94"]),
        (25, 2, "failure", "-", 1, ["T004", "Create every table in src/db/schema.ts", "schema › creates every table: connect ECONNREFUSED 127.0.0.1:5432", "-", SETUP, "1.19"]),
        (40, 3, "failure", "-", 2, ["T004", "Create every table in src/db/schema.ts", "schema › creates every table: connect ECONNREFUSED 127.0.0.1:5432", "-", SETUP, "3.72"]),
        (55, 4, "success", "-", 3, ["T004", "Create every table in src/db/schema.ts", "-", "-", SETUP, "1.06"]),
        (1500, 5, "interrupted", "quota", 1, ["T009", "Add the board model", "usage limit", "-", BOARDS, "-"]),
        (1560, 6, "failure", "question", 1, ["T009", "Add the board model", "May a card belong to two boards?", "-", BOARDS, "0.41"]),
        (1570, 7, "skipped", "-", 1, ["T004", "Create every table", "-", "-", BOARDS, "-"]),
    ];

    fn line((minutes, number, outcome, class, attempt, words): Told) -> String {
        let [task, title, cause, flag, phase, cost] = words;
        let ended_at = minutes * 60_000;
        let flags = if flag == "-" { "" } else { FlagCode::Judge.as_str() };
        let validation = i32::from(outcome == "failure");
        format!(
            "iteration\t{number:040}\t{number}\t{outcome}\t{class}\t{ended_at}\t240000\t60000\t-\t{attempt}\t{task}\t-\t{task} {outcome}\t{title}\t{cause}\t-\t{flags}\t{flag}\t0\t{validation}\t{cost}\t\t-\t-\t-\tspecs/004-boards\t{phase}\tclaude\t-\t20260101-120000-00000001\t-\t{ended_at}"
        )
    }

    #[test]
    fn a_night_is_told_attempt_by_attempt_in_every_width() {
        let session = samples::session("failed", Some("stuck"), (31, 4));
        let lines = NIGHT.map(line);
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
        let mut shown = String::new();
        for width in [Some(80), Some(40), None] {
            let rows: Vec<Row<'_>> = lines.iter().map(|line| Row::read(line).unwrap()).collect();
            let mut head = SessionHead::new(session.id.clone(), session.feature.clone(), false);
            for row in &rows {
                head.count(row);
            }
            let mut tip = samples::log_entries("T1!").remove(0);
            (tip.kind, tip.status, tip.stop_reason) =
                (RecordKind::End, Some(Status::Failed), Some(StopReason::Stuck));
            head.end(&tip, TaskCounts { done: 31, open: 4 });
            let changes = Some(DiffStat { files: 53, added: 1411, removed: 0 });
            (head.summary, head.false_claims, head.changes) = (Some(summary()), vec![2], changes);
            let listed = Listed {
                head,
                rows,
                repeats: HashMap::from([(3, 2)]),
                solved: HashMap::from([(4, "Tests use an in-memory database now.".to_owned())]),
                matches: HashMap::from([(
                    2,
                    MatchingLine { place: "validation".to_owned(), line: "  ECONNREFUSED  ".to_owned() },
                )]),
            };
            let mut out = Vec::new();
            write_iterations(&mut out, &[listed], Paint::Plain, width).unwrap();
            let text = String::from_utf8(out).unwrap();
            assert_eq!(text.lines().find(|line| width.is_some_and(|width| columns(line) > width)), None);
            let width = width.map_or("piped".to_owned(), |width| format!("{width} columns"));
            shown += &format!("== {width}\n{text}\n");
        }
        insta::assert_snapshot!(shown);
    }
}
