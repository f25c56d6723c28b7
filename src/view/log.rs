//! The list of iterations, and the list of sessions.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use anyhow::Result;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::record::{Cost, LogEntry, Session, SessionId, Status, StopReason};
use crate::store::{Elsewhere, Row};

use super::fields::{self, Fields, as_text, lookup};
use super::json::write_pretty;
use super::local_time::{self, local};
use super::style::{Count, Hue, Paint, cut, duration, one_line, sign};

/// Longest story in a column, in characters.
const STORY: usize = 60;

/// One session with the iterations of it that are to be listed.
#[derive(Debug)]
pub struct Listed<'a> {
    pub head: SessionHead,
    pub rows: Vec<Row<'a>>,
    /// For an iteration that failed like an earlier one of its session, the first of these.
    pub repeats: HashMap<u32, u32>,
}

/// What is said of a session in one line, counted from its records.
#[derive(Debug)]
pub struct SessionHead {
    id: SessionId,
    feature: String,
    status: Status,
    stop_reason: Option<StopReason>,
    runs: u64,
    cost: Cost,
    tasks_done: usize,
    tasks_open: usize,
    is_running: bool,
    elsewhere: Option<Elsewhere>,
}

impl SessionHead {
    pub fn new(id: SessionId, feature: String, is_running: bool) -> Self {
        let status = if is_running { Status::Running } else { Status::Interrupted };
        Self {
            id,
            feature,
            status,
            stop_reason: None,
            runs: 0,
            cost: Cost::default(),
            tasks_done: 0,
            tasks_open: 0,
            is_running,
            elsewhere: None,
        }
    }

    /// Takes in what is known of it if it runs on another machine.
    pub fn runs_elsewhere(&mut self, elsewhere: Option<Elsewhere>) {
        self.elsewhere = elsewhere.filter(|_| !self.is_running);
    }

    /// Takes in the next record, oldest first.
    pub fn count(&mut self, row: &Row<'_>) {
        if row.is_run() {
            self.runs += 1;
        }
        if row.is_iteration() {
            self.cost = self.cost.plus(row.cost());
        }
    }

    /// Takes in the newest record.
    pub fn end(&mut self, tip: &LogEntry) {
        self.tasks_done = tip.tasks.tasks_done;
        self.tasks_open = tip.tasks.tasks_open;
        self.stop_reason = tip.stop_reason;
        self.status = match tip.status {
            Some(status) => status,
            None if self.is_running => Status::Running,
            None => Status::Interrupted,
        };
    }
}

/// Iterations under the session that they belong to.
pub fn write_iterations(out: &mut dyn Write, sessions: &[Listed<'_>], paint: Paint) -> io::Result<()> {
    let mut line = String::new();
    for (i, listed) in sessions.iter().enumerate() {
        if i > 0 {
            writeln!(out)?;
        }
        writeln!(out, "{}", session_line(&listed.head, paint))?;
        let columns = Columns {
            story: listed.rows.iter().map(|row| story(row).chars().count()).max().unwrap_or(0),
            has_cost: listed.head.cost.usd.is_some(),
        };
        for row in &listed.rows {
            line.clear();
            iteration_line(&mut line, row, listed.repeats.get(&row.iteration).copied(), columns, paint);
            out.write_all(line.as_bytes())?;
        }
    }
    Ok(())
}

pub fn write_sessions(out: &mut dyn Write, sessions: &[Listed<'_>], paint: Paint) -> io::Result<()> {
    for listed in sessions {
        writeln!(out, "{}", session_line(&listed.head, paint))?;
    }
    Ok(())
}

/// A line for each iteration, which begins with what `show`, `diff` and `restore` take.
pub fn write_oneline(out: &mut dyn Write, sessions: &[Listed<'_>], paint: Paint) -> io::Result<()> {
    for listed in sessions {
        for row in &listed.rows {
            let name = format!("{}:{}", listed.head.id, row.iteration);
            let (hue, mark) = row.outcome.map_or((Hue::Dim, " "), sign);
            let told = paint.paint(hue, &format!("{mark} {}", story(row)));
            writeln!(out, "{}  {told}", paint.paint(Hue::Dim, &name))?;
        }
    }
    Ok(())
}

fn session_line(head: &SessionHead, paint: Paint) -> String {
    let reason = head.stop_reason.map_or(String::new(), |reason| match reason.as_str().replace('_', " ") {
        word if word == head.status.as_str() => String::new(),
        words => format!(" ({words})"),
    });
    let status = match &head.elsewhere {
        Some(elsewhere) => one_line(&local_time::elsewhere(elsewhere)),
        None => head.status.to_string(),
    };
    format!(
        "{}  {}  {status}{reason}, {}, {} of {} done{}",
        paint.paint(Hue::Bold, head.id.as_str()),
        one_line(&head.feature),
        Count(head.runs, "iteration"),
        head.tasks_done,
        Count((head.tasks_done + head.tasks_open) as u64, "task"),
        head.cost.shown().map_or(String::new(), |cost| format!(", {cost}"))
    )
}

/// What happened, in a few words. The subject's feature and number stand in columns of their own.
pub(super) fn story<'a>(row: &Row<'a>) -> Cow<'a, str> {
    let behind = |text: &str| {
        let (_, rest) = text.split_once(": iteration ")?;
        let (number, _) = rest.split_once(", ")?;
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.len() - rest.len() + number.len() + 2)
    };
    let is_plain = |text: &str| text.len() <= STORY && text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    match row.subject() {
        Cow::Borrowed(text) => {
            let text = &text[behind(text).unwrap_or(0)..];
            if is_plain(text) { Cow::Borrowed(text) } else { Cow::Owned(cut(&one_line(text), STORY)) }
        }
        Cow::Owned(text) => Cow::Owned(cut(&one_line(&text[behind(&text).unwrap_or(0)..]), STORY)),
    }
}

/// What the lines of a session have in common.
#[derive(Debug, Clone, Copy)]
struct Columns {
    /// Width of the widest story.
    story: usize,
    has_cost: bool,
}

fn iteration_line(line: &mut String, row: &Row<'_>, repeated: Option<u32>, columns: Columns, paint: Paint) {
    let width = columns.story;
    let (hue, mark) = row.outcome.map_or((Hue::Dim, " "), sign);
    let time = match (row.duration_ms.agent, row.duration_ms.validation) {
        // Nothing ran, or nobody was there to measure it.
        (None, None) => String::new(),
        (agent, validation) => duration(agent.unwrap_or(0) + validation.unwrap_or(0)),
    };
    let cost = if columns.has_cost {
        format!("{:>9}  ", row.cost().shown().unwrap_or_default())
    } else {
        String::new()
    };
    let ended = local(row.ended_at);
    let story = story(row);
    let short = &row.commit[..row.commit.len().min(10)];
    let repeated = repeated.map(|first| format!("  same failure as iteration {first}")).unwrap_or_default();
    // Thousands of lines: only those in colour are put together from parts.
    let _ = match paint {
        Paint::Plain => writeln!(
            line,
            "  {:>3}  {mark} {story:width$}  {time:>12}  {cost}{ended}  {short}{repeated}",
            row.iteration
        ),
        Paint::Colour => {
            let padding = width.saturating_sub(story.chars().count());
            let (story, end) = (format!("{mark} {story}"), format!("{cost}{ended}  {short}{repeated}"));
            let (story, end) = (paint.paint(hue, &story), paint.paint(Hue::Dim, &end));
            writeln!(line, "  {:>3}  {story}{:padding$}  {time:>12}  {end}", row.iteration, "")
        }
    };
}

/// `{"iterations": [...]}` with the fields of `iteration.json` that the trailers hold.
pub fn write_json<'a>(out: &mut impl Write, rows: impl Iterator<Item = &'a Row<'a>> + Clone) -> Result<()> {
    struct Rows<I>(I);
    impl<'a, I: Iterator<Item = &'a Row<'a>> + Clone> Serialize for Rows<I> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_seq(self.0.clone().map(Fields))
        }
    }
    #[derive(Serialize)]
    struct Document<R: Serialize> {
        iterations: R,
    }
    Ok(write_pretty(out, &Document { iterations: Rows(rows) })?)
}

/// The values of these fields, a line for each iteration, with tabs between them. What is not known is empty. `record`
/// gives the whole record, which is asked for only where a field needs it.
pub fn write_fields<'a>(
    out: &mut impl Write,
    rows: impl Iterator<Item = &'a Row<'a>>,
    names: &[String],
    record: &dyn Fn(&Row<'_>) -> Result<Option<Value>>,
) -> Result<()> {
    let needs_record = names.iter().any(|name| fields::is_of_record(name));
    for row in rows {
        let fields = serde_json::to_value(Fields(row))?;
        let record = if needs_record { record(row)? } else { None };
        let value = |name: &String| match name.as_str() {
            "name" => format!("{}:{}", as_text(fields.get("session")), row.iteration),
            "subject" => row.subject().into_owned(),
            name if fields::is_of_record(name) => {
                as_text(record.as_ref().and_then(|record| lookup(record, name)))
            }
            name => as_text(lookup(&fields, name)),
        };
        let values: Vec<String> =
            names.iter().map(|name| one_line(&value(name)).replace('\t', " ")).collect();
        writeln!(out, "{}", values.join("\t"))?;
    }
    Ok(())
}

/// `{"sessions": [...]}`
pub fn sessions_json(sessions: &[(Session, Option<Elsewhere>)]) -> Value {
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
