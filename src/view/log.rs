//! The list of iterations, and the list of sessions.

use std::collections::HashMap;
use std::io::{self, Write};

use serde_json::{Value, json};

use crate::record::{LogEntry, Session};

use super::style::{Count, Hue, Paint, cut, duration, one_line, sign};

/// Longest story in a column, in characters.
const STORY: usize = 60;

/// One session with the iterations of it that are to be listed.
pub struct Listed<'a> {
    pub session: &'a Session,
    pub iterations: Vec<&'a LogEntry>,
    /// For an iteration that failed like an earlier one of its session, the first of these.
    pub repeats: HashMap<u32, u32>,
}

/// Iterations under the session that they belong to, oldest first.
pub fn write_iterations(out: &mut dyn Write, sessions: &[Listed<'_>], paint: Paint) -> io::Result<()> {
    for (i, listed) in sessions.iter().enumerate() {
        if i > 0 {
            writeln!(out)?;
        }
        writeln!(out, "{}", session_line(listed.session, paint))?;
        let width = listed.iterations.iter().map(|entry| story(entry).chars().count()).max().unwrap_or(0);
        for entry in &listed.iterations {
            let repeated = entry.iteration.and_then(|number| listed.repeats.get(&number)).copied();
            writeln!(out, "{}", iteration_line(entry, repeated, width, paint))?;
        }
    }
    Ok(())
}

pub fn write_sessions(out: &mut dyn Write, sessions: &[Session], paint: Paint) -> io::Result<()> {
    for session in sessions {
        writeln!(out, "{}", session_line(session, paint))?;
    }
    Ok(())
}

fn session_line(session: &Session, paint: Paint) -> String {
    let reason =
        session.stop_reason.map_or(String::new(), |reason| match reason.as_str().replace('_', " ") {
            word if word == session.status.as_str() => String::new(),
            words => format!(" ({words})"),
        });
    let id = paint.paint(Hue::Bold, session.id.as_str());
    format!(
        "{id}  {}  {}{reason}, {}, {} of {} done",
        one_line(&session.feature),
        session.status,
        Count(u64::from(session.iterations_run), "iteration"),
        session.tasks_done,
        Count((session.tasks_done + session.tasks_remaining) as u64, "task")
    )
}

/// What happened, in a few words. The subject's feature and number stand in columns of their own.
fn story(entry: &LogEntry) -> String {
    let front = format!(": iteration {}, ", entry.iteration.unwrap_or_default());
    let story = entry.subject.split_once(&front).map_or(entry.subject.as_str(), |(_, story)| story);
    cut(&one_line(story), STORY)
}

fn iteration_line(entry: &LogEntry, repeated: Option<u32>, width: usize, paint: Paint) -> String {
    let (hue, mark) = entry.outcome.map_or((Hue::Dim, " "), sign);
    let time = entry.duration_ms.agent.unwrap_or(0) + entry.duration_ms.validation.unwrap_or(0);
    let story = story(entry);
    let repeated = repeated.map(|first| format!("  same failure as iteration {first}")).unwrap_or_default();
    let padding = " ".repeat(width.saturating_sub(story.chars().count()));
    format!(
        "  {:>3}  {}{padding}  {:>12}  {}",
        entry.iteration.unwrap_or_default(),
        paint.paint(hue, &format!("{mark} {story}")),
        duration(time),
        paint.paint(Hue::Dim, &format!("{}  {}{repeated}", entry.ended_at, entry.commit.short()))
    )
}

/// `{"iterations": [...]}` with the fields of `iteration.json` that the trailers hold.
pub fn iterations_json<'a>(entries: impl Iterator<Item = &'a LogEntry>) -> Value {
    let iterations: Vec<Value> = entries
        .map(|entry| {
            let mut value =
                json!({"id": format!("{}-iter-{}", entry.session, entry.iteration.unwrap_or_default())});
            if let (Value::Object(map), Ok(Value::Object(fields))) = (&mut value, serde_json::to_value(entry))
            {
                map.extend(fields);
            }
            value
        })
        .collect();
    json!({ "iterations": iterations })
}

/// `{"sessions": [...]}`
pub fn sessions_json(sessions: &[Session]) -> Value {
    json!({ "sessions": sessions })
}
