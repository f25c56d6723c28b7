//! The list of iterations, and the list of sessions.

use std::collections::HashMap;
use std::io::{self, Write};

use anyhow::Result;
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use ralph_core::record::{
    DiffStat, LogEntry, RALPH, Session, SessionId, SessionTotals, Status, StopReason, Summary, Timestamp,
    TrailerCounts, hint_command,
};
use ralph_store::{RemoteRun, Row};

use super::ending::{attempts, cost, state};
use super::evidence::{FLAG, flagged};
use super::json::write_pretty;
use super::local_time::{self, local_minute};
use super::needs::{changes_and_claims, needs};
use super::row::{Columns, IterationLine, story};
use super::style::{Count, Look, Paint, columns, cut, one_line, sign};

/// Longest story of a line that begins with a name, in columns.
const MAX_STORY: usize = 60;

/// In front of an iteration, below the line of its session.
const INDENT: &str = "  ";

/// In front of what only a person can settle.
const NEEDS: &str = "needs you: ";

/// One session with the iterations of it that are to be listed.
#[derive(Debug)]
pub struct Listed<'a> {
    pub head: SessionHead,
    pub rows: Vec<Row<'a>>,
    /// For an iteration that failed like an earlier one of its session, the first of these.
    pub repeats: HashMap<u32, u32>,
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
    status: Status,
    stop_reason: Option<StopReason>,
    totals: SessionTotals,
    tasks: TrailerCounts,
    elsewhere: Option<RemoteRun>,
    below: Below,
}

/// What is said of a session below its line.
#[derive(Debug, Default)]
pub struct Below {
    /// `None` where nothing is said.
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
            id,
            feature,
            status,
            stop_reason: None,
            totals: SessionTotals::default(),
            tasks: TrailerCounts::default(),
            elsewhere: None,
            below: Below::default(),
        }
    }

    pub fn add_below(&mut self, below: Below) {
        self.below = below;
    }

    /// Takes in what is known of it if it runs on another machine.
    pub fn runs_elsewhere(&mut self, elsewhere: Option<RemoteRun>) {
        self.elsewhere = elsewhere.filter(|_| self.status != Status::Running);
    }

    /// Takes in the next record, oldest first.
    pub fn count(&mut self, row: &Row<'_>) {
        // As `status` and the page: its record is written a moment later.
        self.started_at.get_or_insert_with(|| row.entry().map_or(row.ended_at, |first| first.started_at));
        if let Some(facts) = row.facts() {
            self.totals.count(&self.id, &facts);
        }
    }

    /// Takes in the newest record.
    pub fn end(&mut self, tip: &LogEntry, tasks: TrailerCounts) {
        self.tasks = tasks;
        self.stop_reason = tip.stop_reason;
        self.status = tip.status.unwrap_or(self.status);
    }
}

/// Iterations under the session that they belong to, each in one line of at most `width` columns.
pub fn write_iterations(
    out: &mut dyn Write,
    sessions: &[Listed<'_>],
    paint: Paint,
    width: Option<usize>,
) -> io::Result<()> {
    for (i, listed) in sessions.iter().enumerate() {
        if i > 0 {
            writeln!(out)?;
        }
        write_head(out, &listed.head, paint, width)?;
        let repeats = |row: &Row<'_>| listed.repeats.get(&row.iteration).copied();
        let lines: Vec<IterationLine<'_>> =
            listed.rows.iter().map(|row| IterationLine::of_row(row, repeats(row))).collect();
        let room = width.map(|width| width.saturating_sub(INDENT.len()));
        let columns = Columns::of(&lines, room, false);
        for line in &lines {
            out.write_all(INDENT.as_bytes())?;
            for (look, text) in columns.pieces(line, room) {
                out.write_all(paint.paint(look, &text).as_bytes())?;
            }
            out.write_all(b"\n")?;
            if let Some(found) = listed.matches.get(&line.number) {
                write_match(out, found, paint, room)?;
            }
        }
    }
    Ok(())
}

/// The line that a search found, below its iteration.
fn write_match(
    out: &mut dyn Write,
    found: &MatchingLine,
    paint: Paint,
    room: Option<usize>,
) -> io::Result<()> {
    let place = one_line(&found.place);
    let room = room.map_or(usize::MAX, |room| room.saturating_sub(2 * INDENT.len() + columns(&place) + 2));
    let text = cut(&one_line(&found.line), room);
    writeln!(out, "{INDENT}{INDENT}{INDENT}{} {text}", paint.paint(Look::Dim, &format!("{place}:")))
}

pub fn write_sessions(out: &mut dyn Write, sessions: &[Listed<'_>], paint: Paint) -> io::Result<()> {
    for listed in sessions {
        write_head(out, &listed.head, paint, None)?;
    }
    Ok(())
}

/// A line for each iteration, which begins with what `show`, `diff` and `restore` take.
pub fn write_oneline(out: &mut dyn Write, sessions: &[Listed<'_>], paint: Paint) -> io::Result<()> {
    for listed in sessions {
        for row in &listed.rows {
            let name = format!("{}:{}", listed.head.id, row.iteration);
            let (look, mark) = row.outcome.map_or((Look::Dim, " "), sign);
            let story = cut(&one_line(story(&row.subject())), MAX_STORY);
            let told = paint.paint(look, &format!("{mark} {story}"));
            writeln!(out, "{}  {told}", paint.paint(Look::Dim, &name))?;
        }
    }
    Ok(())
}

/// Which session it is, and how it went: on a line of its own where a screen has no room for both.
fn write_head(out: &mut dyn Write, head: &SessionHead, paint: Paint, width: Option<usize>) -> io::Result<()> {
    let state = match &head.elsewhere {
        Some(elsewhere) => one_line(&local_time::describe_remote_run(elsewhere)),
        None => state(head.status, head.stop_reason, &head.totals.given_up),
    };
    let started = head.started_at.map_or(String::new(), |at| format!("  {}", local_minute(at)));
    let name = format!("{}  {}{started}", head.id, one_line(&head.feature));
    let tasks = format!(
        "{} of {} done{}",
        head.tasks.tasks_done,
        Count((head.tasks.tasks_done + head.tasks.tasks_open) as u64, "task"),
        cost(&head.totals.cost).map_or(String::new(), |cost| format!(", {cost}"))
    );
    let most = width.unwrap_or(usize::MAX);
    let brief = Count(head.totals.attempts as u64, "attempt").to_string();
    let counts = [attempts(&head.totals), brief];
    let how = counts.iter().map(|count| format!("{state}, {count}, {tasks}"));
    let is_fitting = |how: &String| columns(how) + INDENT.len() <= most;
    let how = how.into_iter().find(is_fitting).unwrap_or_else(|| format!("{state}, {tasks}"));
    let gap = if columns(&name) + 2 + columns(&how) > most { "\n" } else { "" };
    let (name, how) = (cut(&name, most), cut(&how, most.saturating_sub(INDENT.len())));
    writeln!(out, "{}{gap}{INDENT}{how}", paint.paint(Look::Bold, &name))?;
    let room = width.map(|width| width.saturating_sub(INDENT.len() + NEEDS.len()));
    let Below { summary, false_claims, changes } = &head.below;
    let flagged = summary.as_ref().and_then(|summary| flagged(&summary.flagged));
    let needs = summary.as_ref().map(needs).unwrap_or_default();
    for (place, need) in needs.iter().enumerate() {
        let label = if place == 0 { paint.paint(Look::Warn, NEEDS) } else { " ".repeat(NEEDS.len()) };
        writeln!(out, "{INDENT}{label}{}", cut(need, room.unwrap_or(usize::MAX)))?;
    }
    let mut tasks =
        summary.iter().flat_map(|summary| &summary.needs_you).filter_map(|need| need.task.as_ref());
    if let Some(task) = tasks.next() {
        let command = hint_command(RALPH, task);
        writeln!(out, "{INDENT}{}{command}", " ".repeat(NEEDS.len()))?;
    }
    if let Some(flagged) = flagged {
        let line = cut(&format!("{FLAG} {flagged}"), most.saturating_sub(INDENT.len()));
        writeln!(out, "{INDENT}{}", paint.paint(Look::Warn, &line))?;
    }
    match changes_and_claims(*changes, false_claims) {
        Some(line) => writeln!(out, "{INDENT}{}", cut(&line, most.saturating_sub(INDENT.len()))),
        None => Ok(()),
    }
}

/// `{"summary": ..., "iterations": [...]}`, with the fields of `iteration.json` that the trailers hold.
pub fn write_json<'a>(
    out: &mut impl Write,
    summary: Option<&Summary>,
    rows: impl Iterator<Item = &'a Row<'a>> + Clone,
) -> Result<()> {
    /// The id, and the fields.
    struct Fields<'a>(&'a Row<'a>);
    impl Serialize for Fields<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            #[derive(Serialize)]
            struct WithId {
                id: String,
                #[serde(flatten)]
                entry: LogEntry,
            }
            let entry = self.0.entry().map_err(|error| S::Error::custom(format!("{error:#}")))?;
            WithId { id: format!("{}-iter-{}", entry.session, self.0.iteration), entry }.serialize(serializer)
        }
    }
    struct Rows<I>(I);
    impl<'a, I: Iterator<Item = &'a Row<'a>> + Clone> Serialize for Rows<I> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_seq(self.0.clone().map(Fields))
        }
    }
    #[derive(Serialize)]
    struct Document<'s, R: Serialize> {
        summary: Option<&'s Summary>,
        iterations: R,
    }
    Ok(write_pretty(out, &Document { summary, iterations: Rows(rows) })?)
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
