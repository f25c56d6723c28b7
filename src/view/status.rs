//! Where a feature stands.

use std::io::{self, Write};

use serde::Serialize;

use crate::record::{SessionId, Status, StopReason, TaskName, Timestamp, Waiting};

use super::style::{Count, Hue, Paint, one_line};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FeatureStatus {
    pub feature: String,
    pub tasks: Counts,
    pub session: Option<SessionStatus>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Counts {
    pub done: usize,
    pub open: usize,
    /// Skipped in the session that is shown.
    pub skipped: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SessionStatus {
    pub id: SessionId,
    pub status: Status,
    pub stop_reason: Option<StopReason>,
    pub iterations: usize,
    /// The process of a running session.
    pub pid: Option<u32>,
    /// The task of the running iteration, or of the last one.
    pub task: Option<TaskName>,
    pub started_at: Timestamp,
    /// What a running session waits for.
    pub waiting: Option<Waiting>,
}

pub fn write(out: &mut dyn Write, status: &FeatureStatus, paint: Paint) -> io::Result<()> {
    let Counts { done, open, skipped } = status.tasks;
    writeln!(out, "{}", paint.paint(Hue::Bold, &one_line(&status.feature)))?;
    let skips = if skipped > 0 { format!(", {skipped} skipped") } else { String::new() };
    writeln!(out, "  {done} of {} done, {open} open{skips}", Count((done + open) as u64, "task"))?;
    let Some(session) = &status.session else {
        return writeln!(out, "  no session yet: start one with `specify ralph`");
    };
    let reason =
        session.stop_reason.map_or(String::new(), |reason| match reason.as_str().replace('_', " ") {
            word if word == session.status.as_str() => String::new(),
            words => format!(" ({words})"),
        });
    let who = session.pid.map_or(String::new(), |pid| format!(", process {pid}"));
    writeln!(
        out,
        "  session {} {}{reason} since {}, {}{who}",
        session.id,
        session.status,
        session.started_at,
        Count(session.iterations as u64, "iteration")
    )?;
    if let Some(task) = &session.task {
        let verb = if session.status == Status::Running { "works on" } else { "last worked on" };
        writeln!(out, "  {verb} {}", one_line(task))?;
    }
    if let Some(Waiting { agent, class, until, message }) = &session.waiting {
        let words = message.as_ref().map_or(String::new(), |words| format!(": {}", one_line(words)));
        let why = format!("{} cannot be used ({class}){words}", one_line(agent));
        writeln!(out, "  {} {why}", paint.paint(Hue::Yellow, &format!("waits until {until}:")))?;
    }
    Ok(())
}
