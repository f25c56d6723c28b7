//! Where a feature stands.

use std::io::{self, Write};

use serde::Serialize;

use ralph_core::record::{Cost, RALPH, SessionId, Status, StopReason, Summary, TaskName, Timestamp, Waiting};
use ralph_store::RemoteRun;

use super::ending::{attempts, cost, state, tasks};
use super::evidence::flagged;
use super::local_time::{self, local, local_with_offset};
use super::needs::left_behind;
use super::style::{Count, Look, Paint, one_line};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FeatureStatus {
    pub feature: String,
    pub tasks: Counts,
    /// In the order of the list.
    pub phases: Vec<GroupCounts>,
    pub stories: Vec<GroupCounts>,
    pub session: Option<SessionStatus>,
    pub summary: Summary,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Counts {
    pub done: usize,
    pub open: usize,
    /// Given up: `fails` of the summary.
    pub skipped: usize,
}

/// The tasks of a phase or a story.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GroupCounts {
    pub name: String,
    pub done: usize,
    pub open: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionStatus {
    pub id: SessionId,
    pub status: Status,
    /// Set for a session that runs on another machine.
    pub elsewhere: Option<RemoteRun>,
    pub stop_reason: Option<StopReason>,
    /// Attempts.
    pub iterations: usize,
    #[serde(flatten)]
    pub cost: Cost,
    /// The process of a running session.
    pub pid: Option<u32>,
    /// The task of the running iteration, or of the last one.
    pub task: Option<TaskName>,
    pub started_at: Timestamp,
    /// When its newest record was written; `None` while it runs.
    pub ended_at: Option<Timestamp>,
    /// The iteration that runs.
    pub in_flight: Option<InFlight>,
    /// What a running session is at: `prompt`, `agent`, `validation`, `recording`, `waiting`.
    pub phase: Option<String>,
    /// What a running session waits for.
    pub waiting: Option<Waiting>,
    /// What a running session was asked for.
    pub is_stopping: bool,
    /// Hints of the feature that wait for a prompt.
    pub hints: usize,
    /// What a session that died left behind.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_running: Vec<LeftRunning>,
}

/// A process that outlived its loop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftRunning {
    pub pid: i32,
    pub name: String,
}

/// An iteration whose agent or validation is at work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InFlight {
    pub iteration: u32,
    pub agent: String,
    pub started_at: Timestamp,
}

fn at_work(in_flight: &InFlight, task: &str, phase: Option<&str>) -> String {
    let InFlight { iteration, agent, started_at } = in_flight;
    let since = local(*started_at);
    match phase {
        Some("validation") => {
            format!("the validation of {task} runs (iteration {iteration}, since {since})")
        }
        Some("recording") => format!("{task} is being recorded (iteration {iteration}, since {since})"),
        _ => format!("{} works on {task} since {since} (iteration {iteration})", one_line(agent)),
    }
}

/// A row for each phase, and the stories in one; nothing for a list that is not divided.
fn write_groups(out: &mut dyn Write, status: &FeatureStatus, paint: Paint) -> io::Result<()> {
    let counts = |group: &GroupCounts| format!("{}/{}", group.done, group.done + group.open);
    let phases = if status.phases.len() > 1 { status.phases.as_slice() } else { &[] };
    let width = phases.iter().map(|phase| counts(phase).len()).max().unwrap_or(0);
    for phase in phases {
        let look = if phase.open == 0 { Look::Good } else { Look::Dim };
        let counts = paint.paint(look, &format!("{:>width$}", counts(phase)));
        writeln!(out, "    {counts}  {}", one_line(&phase.name))?;
    }
    if status.stories.is_empty() {
        return Ok(());
    }
    let stories: Vec<String> =
        status.stories.iter().map(|story| format!("{} {}", story.name, counts(story))).collect();
    writeln!(out, "    stories: {}", one_line(&stories.join(", ")))
}

pub fn write(out: &mut dyn Write, status: &FeatureStatus, paint: Paint) -> io::Result<()> {
    writeln!(out, "{}", paint.paint(Look::Bold, &one_line(&status.feature)))?;
    let flagged = flagged(&status.summary.flagged).map_or(String::new(), |flagged| format!(", {flagged}"));
    writeln!(out, "  {}{flagged}", tasks(status.summary.tasks))?;
    write_groups(out, status, paint)?;
    for line in left_behind(&status.summary) {
        writeln!(out, "  {}", paint.paint(Look::Bad, &format!("! {line}")))?;
    }
    let (Some(session), Some(part)) = (&status.session, &status.summary.session) else {
        return writeln!(out, "  no session yet: start one with `{RALPH}`");
    };
    let totals = &part.totals;
    let state = match &session.elsewhere {
        Some(elsewhere) => one_line(&local_time::describe_remote_run(elsewhere)),
        None => state(session.status, session.stop_reason, &totals.given_up),
    };
    let cost = cost(&totals.cost).map_or(String::new(), |cost| format!(", {cost}"));
    // One that died wrote no end.
    let end = if session.stop_reason.is_some() { "ended" } else { "last record" };
    let end = session.ended_at.map_or(String::new(), |at| format!(", {end} {}", local(at)));
    let who = session.pid.map_or(String::new(), |pid| format!(", process {pid}"));
    writeln!(
        out,
        "  session {} {state}\n  began {}{end}, {}{cost}{who}",
        session.id,
        local_with_offset(session.started_at),
        attempts(totals)
    )?;
    if let Some(task) = &session.task {
        let task = one_line(task);
        let words = match &session.in_flight {
            Some(in_flight) => at_work(in_flight, &task, session.phase.as_deref()),
            None => format!("last worked on {task}"),
        };
        writeln!(out, "  {words}")?;
    }
    if let Some(Waiting { agent, class, until, message, .. }) = &session.waiting {
        let words = message.as_ref().map_or(String::new(), |words| format!(": {}", one_line(words)));
        let why = format!("{} cannot be used ({class}){words}", one_line(agent));
        writeln!(out, "  {} {why}", paint.paint(Look::Warn, &format!("waits until {}:", local(*until))))?;
    }
    if session.is_stopping {
        writeln!(out, "  {}", paint.paint(Look::Warn, "stops after this iteration"))?;
    }
    if session.hints > 0 {
        let wait = if session.hints == 1 { "waits" } else { "wait" };
        writeln!(out, "  {} {wait}; `{RALPH} hint` lists them", Count(session.hints as u64, "hint"))?;
    }
    write_left_running(out, &session.left_running, paint)
}

fn write_left_running(out: &mut dyn Write, left: &[LeftRunning], paint: Paint) -> io::Result<()> {
    if left.is_empty() {
        return Ok(());
    }
    let program = |left: &LeftRunning| format!("{} (process {})", one_line(&left.name), left.pid);
    let programs: Vec<String> = left.iter().map(program).collect();
    let pids: Vec<String> = left.iter().map(|left| left.pid.to_string()).collect();
    let line = format!("it died and left running: {}", programs.join(", "));
    writeln!(out, "  {}", paint.paint(Look::Warn, &line))?;
    writeln!(out, "  hint: the next `{RALPH}` ends what it left; so does `kill {}`", pids.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_and_stories_are_shown_with_what_is_done_of_them() {
        let group = |name: &str, done, open| GroupCounts { name: name.to_owned(), done, open };
        let shown = |phases: &[GroupCounts], stories: &[GroupCounts]| {
            let status = FeatureStatus {
                feature: "specs/001-login".to_owned(),
                tasks: Counts { done: 2, open: 10, skipped: 0 },
                phases: phases.to_vec(),
                stories: stories.to_vec(),
                session: None,
                summary: Summary::default(),
            };
            let mut out = Vec::new();
            write(&mut out, &status, Paint::Plain).unwrap();
            let text = String::from_utf8(out).unwrap();
            let rows: Vec<_> = text.lines().skip(2).take_while(|row| row.starts_with("    ")).collect();
            rows.join("\n")
        };
        let phases = [group("Phase 1: Setup", 2, 0), group("Phase 2: A\x1b[31m story", 0, 10)];
        assert_eq!(
            shown(&phases, &[group("US1", 0, 10), group("US2", 0, 1)]),
            "     2/2  Phase 1: Setup\n    0/10  Phase 2: A [31m story\n    stories: US1 0/10, US2 0/1"
        );
        assert_eq!(shown(&phases[..1], &[]), "", "a list that is not divided");
    }
}
