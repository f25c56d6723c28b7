//! What stays on the screen: events in, lines out.

use std::io::{self, Write};

use ralph_core::progress::first_sentence;
use ralph_core::record::{
    AgentEvent, Event, FailureClass, Iteration, ObjectId, Outcome, RALPH, Session, Status, Timestamp,
    Waiting, without_escapes,
};

use super::header;
use crate::evidence::{FLAG, outcome};
use crate::left_behind::{lost, undone};
use crate::local_time::{clock, local_minute};
use crate::row::{Columns, IterationLine};
use crate::style::{Count, Look, Paint, columns, cut, duration, one_line};

use super::closing::ClosingCard;

/// How much is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Warnings, and how it ended where not all is done.
    Quiet,
    Normal,
    /// Also what the agent says and which tools it uses.
    Verbose,
}

/// Longest piece of anybody's words on one line, in characters.
const WIDTH: usize = 100;

/// What is on a line beside them.
const BESIDE: usize = 14;

/// Below this, words say nothing.
const LEAST: usize = 20;

const INDENT: &str = "  ";

/// In seconds.
const DAY: u64 = 20 * 3600;

/// Writes a line or two for each event.
#[derive(Debug)]
pub struct Lines<W> {
    pub out: W,
    paint: Paint,
    detail: Detail,
    width: usize,
    /// Of the window, where there is one.
    columns: Option<usize>,
    /// Of the list: the one that the last task is in.
    phase: Option<String>,
    /// The error that the agent told of last in this iteration.
    told: Option<String>,
    /// True if a command checks what agents say.
    is_validated: bool,
}

impl<W: Write> Lines<W> {
    pub fn new(out: W, paint: Paint, detail: Detail) -> Self {
        Self { out, paint, detail, width: WIDTH, columns: None, phase: None, told: None, is_validated: true }
    }

    /// Words are cut to what fits into a window of so many columns.
    pub fn fit(&mut self, columns: Option<u16>) {
        self.columns = columns.map(usize::from);
        self.width =
            columns.map_or(WIDTH, |columns| usize::from(columns).saturating_sub(BESIDE).clamp(LEAST, WIDTH));
    }

    pub fn show(&mut self, event: &Event) -> io::Result<()> {
        if let Event::SessionStarted { validation, .. } = event {
            self.is_validated = validation.is_some();
        }
        if self.detail == Detail::Quiet && !is_trouble(event) {
            return Ok(());
        }
        match event {
            Event::SessionStarted { .. } => {
                for (number, line) in header::lines(event, self.width).iter().enumerate() {
                    let head = (number == 0).then(|| self.paint.paint(Look::Bold, line));
                    writeln!(self.out, "{}", head.as_ref().unwrap_or(line))?;
                }
            }
            Event::IterationStarted { iteration, task, attempt, hints, unit_tasks, .. } => {
                self.told = None;
                self.phase_rule(task.phase.as_deref())?;
                let again = if *attempt > 1 { format!(" ×{attempt}") } else { String::new() };
                let number = format!("iteration {iteration}");
                let name = format!("{}{again}", one_line(&task.name));
                let title = self.words(&task.text);
                let title = cut(&title, self.room_beside(&format!("{number}  {name}  ")));
                writeln!(self.out, "\n{}  {name}  {title}", self.paint.paint(Look::Bold, &number))?;
                if !unit_tasks.is_empty() {
                    let names = self.words(&unit_tasks.join(", "));
                    writeln!(self.out, "  asked for  {names}")?;
                }
                for hint in hints {
                    writeln!(self.out, "  hint  {}", self.words(hint))?;
                }
            }
            Event::HistoryIncluded { failures, scanned, tokens, .. } => {
                let why = match failures {
                    None => String::new(),
                    Some(failures) => {
                        format!(", after {} in a row", Count(u64::from(*failures), "failure"))
                    }
                };
                let line = format!(
                    "  memory  {} added to the prompt ({}){why}",
                    Count(*scanned as u64, "earlier iteration"),
                    Count(*tokens as u64, "token")
                );
                let line = cut(&line, self.room_beside(""));
                writeln!(self.out, "{}", self.dim(&line))?;
            }
            Event::PhaseStarted { .. } => {}
            Event::AgentEvent { event, .. } => self.agent_event(event)?,
            Event::ValidationFinished { command, exit, duration_ms, tests, .. } => {
                let (how, when) = match exit.reason {
                    None => (format!("exited {}", exit.code), "in"),
                    Some(reason) => (reason.description().to_owned(), "after"),
                };
                let look = if exit.is_success() { Look::Good } else { Look::Bad };
                let how = self.paint.paint(look, &how);
                let command = self.words(command);
                let tests =
                    tests.as_deref().and_then(outcome).map_or(String::new(), |tests| format!(": {tests}"));
                writeln!(self.out, "  validation  {command} {how} {when} {}{tests}", duration(*duration_ms))?;
            }
            Event::IterationRecorded { record, commit, .. } => {
                self.last_words(record)?;
                self.recorded(record, commit)?;
            }
            Event::ChangesTakenBack { task, restoration, files, .. } => {
                let what =
                    format!("took back what {} changed in {}", one_line(task), Count(*files as u64, "file"));
                let undo = self.dim(&format!("`{RALPH} restore --undo {restoration}` brings it back"));
                writeln!(self.out, "  {}  {undo}", self.paint.paint(Look::Warn, &what))?;
            }
            Event::Waiting { waiting, seconds, .. } => self.waiting(waiting, *seconds)?,
            Event::AgentChanged { from, to, failure_class, .. } => {
                let why = match failure_class {
                    Some(class) => format!("{} takes over from {} ({class})", one_line(to), one_line(from)),
                    None => format!("{} is back", one_line(to)),
                };
                writeln!(self.out, "\n  {}", self.paint.paint(Look::Warn, &why))?;
            }
            Event::UserFilesLost { what, command, .. } => {
                let line = self.paint.paint(Look::Bad, &one_line(&lost(what, command.as_deref())));
                writeln!(self.out, "  {line}")?;
            }
            Event::Warning { message } => self.warning(message)?,
            Event::SessionEnded { session, closing, .. } => {
                if self.detail != Detail::Quiet {
                    writeln!(self.out)?;
                }
                for line in
                    (ClosingCard { paint: self.paint, width: self.width, is_validated: self.is_validated })
                        .lines(session, closing)
                {
                    writeln!(self.out, "{line}")?;
                }
            }
        }
        self.out.flush()
    }

    /// Columns of the window that are left of a line with these words.
    fn room_beside(&self, words: &str) -> usize {
        self.columns.map_or(usize::MAX, |all| all.saturating_sub(columns(words)).max(1))
    }

    /// A rule where a phase of the list begins.
    fn phase_rule(&mut self, phase: Option<&str>) -> io::Result<()> {
        if self.phase.as_deref() == phase {
            return Ok(());
        }
        self.phase = phase.map(str::to_owned);
        let Some(phase) = phase else { return Ok(()) };
        let rule = format!("── {} ──", self.words(phase));
        writeln!(self.out, "\n{}", self.paint.paint(Look::Accent, &rule))
    }

    /// The row of an iteration; below it why it failed, which claims were false, or what the agent answered.
    fn recorded(&mut self, record: &Iteration, commit: &ObjectId) -> io::Result<()> {
        let mut line = IterationLine::of_record(record, commit.as_str());
        let is_failure = record.outcome == Outcome::Failure;
        let cause = if is_failure { std::mem::take(&mut line.note) } else { "".into() };
        if record.outcome != Outcome::Skipped {
            // The line above it has the number.
            line.number = 0;
        }
        line.title = cut(&line.title, self.width).into();
        let room = self.columns.map(|columns| columns.saturating_sub(INDENT.len()));
        let pieces = Columns::of([&line], room, true).pieces(&line, room);
        let row: String = pieces.iter().map(|(look, text)| self.paint.paint(*look, text)).collect();
        writeln!(self.out, "{INDENT}{row}")?;
        let answer = || first_sentence(&record.facts.final_message);
        let below = [
            (Look::Bad, cut(&cause, self.width)),
            (Look::Claim, claims(record).to_owned()),
            (
                Look::Dim,
                if record.outcome == Outcome::Success { self.words(&answer()) } else { String::new() },
            ),
        ];
        let flags = record.evidence.iter().flat_map(|evidence| &evidence.flags);
        for flag in flags {
            let words = format!("{FLAG} {}", self.words(&flag.text));
            writeln!(self.out, "{INDENT}{INDENT}{}", self.paint.paint(Look::Warn, &words))?;
        }
        if let Some(words) = undone(record, None) {
            writeln!(self.out, "{INDENT}{INDENT}{}", one_line(&words))?;
        }
        for (look, words) in below.iter().filter(|(_, words)| !words.is_empty()) {
            writeln!(self.out, "{INDENT}{INDENT}{}", self.paint.paint(*look, words))?;
        }
        Ok(())
    }

    /// What the agent said of its failure, where that was not on the screen yet.
    fn last_words(&mut self, record: &Iteration) -> io::Result<()> {
        match &record.error {
            Some(words) if record.outcome == Outcome::Failure && self.told.as_ref() != Some(words) => {
                self.agent_event(&AgentEvent::Error { message: words.clone() })
            }
            _ => Ok(()),
        }
    }

    fn warning(&mut self, message: &str) -> io::Result<()> {
        let label = self.paint.paint(Look::Warn, "warning:");
        let (message, hint) = message.split_once("\nhint: ").unwrap_or((message, ""));
        writeln!(self.out, "  {label} {}", one_line(message))?;
        if hint.is_empty() { Ok(()) } else { writeln!(self.out, "  hint: {}", one_line(hint)) }
    }

    fn agent_event(&mut self, event: &AgentEvent) -> io::Result<()> {
        if self.detail != Detail::Verbose
            && !matches!(event, AgentEvent::Error { .. } | AgentEvent::Retry { .. })
        {
            return Ok(());
        }
        let line = match event {
            AgentEvent::Text { text } => self.words(text.trim()),
            AgentEvent::ToolStarted { tool_name, arguments_summary } => {
                self.words(&format!("{tool_name} {arguments_summary}"))
            }
            AgentEvent::ToolEnded { tool_name, is_error: true, .. } => {
                format!("{} failed", one_line(tool_name))
            }
            AgentEvent::ToolEnded { .. } | AgentEvent::Usage { .. } => return Ok(()),
            AgentEvent::Retry { message } => format!("tries again: {}", self.words(message)),
            AgentEvent::Error { message } => {
                self.told = Some(message.clone());
                format!("error: {}", self.words(message))
            }
        };
        if line.is_empty() {
            Ok(())
        } else {
            writeln!(self.out, "{}", self.paint.paint(Look::Dim, &format!("  agent  {line}")))
        }
    }

    fn waiting(&mut self, waiting: &Waiting, seconds: u64) -> io::Result<()> {
        let Waiting { agent, class, until, is_guessed, message } = waiting;
        let is_limit = matches!(class, FailureClass::Quota | FailureClass::RateLimit);
        let line = match (is_guessed, is_limit, class.is_transient()) {
            (true, true, _) => format!("no reset time was given: trying again in {}", pause(seconds)),
            (_, _, false) => format!("trying again in {}", pause(seconds)),
            _ => {
                let length = duration(seconds.saturating_mul(1000));
                format!("waits {length} until {}", wall_clock(*until, seconds))
            }
        };
        let words = message.as_ref().map_or(String::new(), |words| format!(": {}", self.words(words)));
        let why = format!("{} cannot be used ({class}){words}", one_line(agent));
        writeln!(self.out, "\n  {}  {why}", self.paint.paint(Look::Warn, &line))
    }

    /// Somebody's words on one line, safe on a terminal.
    fn words(&self, words: &str) -> String {
        cut(&one_line(&without_escapes(words)), self.width)
    }

    fn dim(&self, text: &str) -> String {
        self.paint.paint(Look::Dim, text)
    }
}

/// What even those hear who want to hear nothing.
fn is_trouble(event: &Event) -> bool {
    let is_bad_end = |session: &Session| session.status != Status::Completed;
    matches!(event, Event::Warning { .. } | Event::UserFilesLost { .. })
        || matches!(event, Event::SessionEnded { session, closing, .. }
            if is_bad_end(session) || !closing.uncommitted.is_empty())
}

/// What the agent claimed and the engine found untrue.
fn claims(record: &Iteration) -> &'static str {
    use ralph_core::record::Claim::{Promise, Ticked};
    match (record.false_claim.contains(&Ticked), record.false_claim.contains(&Promise)) {
        (true, true) => "claimed all done, was not: reopened",
        (true, false) => "claimed done, was not: reopened",
        (false, true) => "claimed that all is done, was not",
        (false, false) => "",
    }
}

/// A pause of ours, part of which has passed already: `5 min`.
fn pause(seconds: u64) -> String {
    match seconds {
        0..=55 => format!("{} s", seconds.next_multiple_of(5)),
        _ => format!("{} min", seconds.div_ceil(60)),
    }
}

/// A time of this day by the clock alone.
fn wall_clock(until: Timestamp, seconds: u64) -> String {
    if seconds < DAY { clock(until) } else { local_minute(until) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::record::samples::iteration;
    use ralph_core::record::{Claim, Task};

    #[test]
    fn a_recorded_iteration_is_a_row_with_what_it_came_to_below() {
        let shown = |record: Iteration| {
            let mut lines = Lines::new(Vec::new(), Paint::Plain, Detail::Normal);
            lines.recorded(&record, &"0123456789".repeat(4).parse().unwrap()).unwrap();
            String::from_utf8(lines.out).unwrap()
        };
        let mut failed = iteration(Outcome::Failure);
        (failed.task, failed.task_text) = (Some("T004".to_owned()), Some("Write the parser".to_owned()));
        (failed.attempt, failed.cause) = (Some(2), Some("left 1, right 2".to_owned()));
        failed.false_claim = vec![Claim::Ticked];
        let (row, below) =
            shown(failed).split_once('\n').map(|(row, below)| (row.to_owned(), below.to_owned())).unwrap();
        assert!(row.starts_with("  ✘ T004 ×2  Write the parser  ") && row.ends_with("  0123456789"), "{row}");
        assert_eq!(below, "    left 1, right 2\n    claimed done, was not: reopened\n");
        let mut done = iteration(Outcome::Success);
        done.facts.final_message = "I wrote it. And more.\n".to_owned();
        done.false_claim = Vec::new();
        assert!(shown(done).ends_with("\n    I wrote it.\n"));
    }

    #[test]
    fn no_line_of_an_iteration_is_wider_than_the_window() {
        let record = iteration(Outcome::Failure);
        let started = Event::IterationStarted {
            session: record.session.clone(),
            iteration: 6,
            task: Task {
                name: "T004".to_owned(),
                id: Some("T004".to_owned()),
                text: "Set up the schema and migrations ".repeat(9),
                phase: None,
                story: None,
            },
            attempt: 3,
            agent: "claude".to_owned(),
            hints: vec!["use a fake ".repeat(20)],
            unit_tasks: Vec::new(),
            started_at: record.started_at,
        };
        let history = Event::HistoryIncluded {
            iteration: 6,
            mode: "smart",
            failures: Some(2),
            scanned: 5,
            tokens: 452,
        };
        for width in [60, 80, 200] {
            let mut lines = Lines::new(Vec::new(), Paint::Plain, Detail::Normal);
            lines.fit(Some(width));
            lines.show(&started).unwrap();
            lines.show(&history).unwrap();
            let text = String::from_utf8(lines.out).unwrap();
            assert!(text.contains("iteration 6  T004 ×3  Set up the schema"), "{text}");
            assert!(text.contains("memory  5 earlier iterations added to the prompt"), "{text}");
            assert!(text.lines().all(|line| columns(line) <= usize::from(width)), "{text}");
        }
    }

    #[test]
    fn a_phase_begins_with_a_rule() {
        let mut lines = Lines::new(Vec::new(), Paint::Plain, Detail::Normal);
        for phase in [None, Some("Phase 1: A\x1b[31m"), Some("Phase 1: A\x1b[31m"), None, Some("Phase 2: B")]
        {
            lines.phase_rule(phase).unwrap();
        }
        assert_eq!(String::from_utf8(lines.out).unwrap(), "\n── Phase 1: A ──\n\n── Phase 2: B ──\n");
    }
}
