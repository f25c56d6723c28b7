//! What stays on the screen: events in, lines out.

use std::io::{self, Write};

use crate::record::{
    AgentEvent, Event, FailureClass, Iteration, Outcome, RALPH, Session, Status, Waiting, without_escapes,
};

use super::header;
use crate::view::local_time::local;
use crate::view::style::{Count, Hue, Paint, cut, duration, one_line, sign};

use super::closing::Look;

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

/// Writes a line or two for each event.
#[derive(Debug)]
pub struct Lines<W> {
    pub out: W,
    paint: Paint,
    detail: Detail,
    width: usize,
    /// The error that the agent told of last in this iteration.
    told: Option<String>,
    /// Whether a command checks what agents say.
    is_validated: bool,
}

impl<W: Write> Lines<W> {
    pub fn new(out: W, paint: Paint, detail: Detail) -> Self {
        Self { out, paint, detail, width: WIDTH, told: None, is_validated: true }
    }

    /// Words are cut to what fits into a window of so many columns.
    pub fn fit(&mut self, columns: Option<u16>) {
        self.width =
            columns.map_or(WIDTH, |columns| usize::from(columns).saturating_sub(BESIDE).clamp(LEAST, WIDTH));
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each event")]
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
                    let head = (number == 0).then(|| self.paint.paint(Hue::Bold, line));
                    writeln!(self.out, "{}", head.as_ref().unwrap_or(line))?;
                }
            }
            Event::IterationStarted { iteration, task, attempt, hints, unit_tasks, .. } => {
                self.told = None;
                let again = if *attempt > 1 { format!(" (try {attempt})") } else { String::new() };
                let title = self.words(&task.text);
                let head = self.paint.paint(Hue::Bold, &format!("iteration {iteration}"));
                writeln!(self.out, "\n{head}  {}{again}  {title}", one_line(&task.name))?;
                if !unit_tasks.is_empty() {
                    let names = self.words(&unit_tasks.join(", "));
                    writeln!(self.out, "  asked for  {names}")?;
                }
                for hint in hints {
                    writeln!(self.out, "  hint  {}", self.words(hint))?;
                }
            }
            Event::HistoryIncluded { mode, failures, scanned, tokens, .. } => {
                let why = match failures {
                    None => String::new(),
                    Some(failures) => {
                        format!(", turned on by {} in a row", Count(u64::from(*failures), "failure"))
                    }
                };
                let told = format!(
                    "  history  {mode}{why}: {} scanned, {}",
                    Count(*scanned as u64, "iteration"),
                    Count(*tokens as u64, "token")
                );
                writeln!(self.out, "{}", self.dim(&told))?;
            }
            Event::PhaseStarted { .. } => {}
            Event::AgentEvent { event, .. } => self.agent_event(event)?,
            Event::ValidationFinished { command, exit, duration_ms, .. } => {
                let (how, when) = match exit.reason {
                    None => (format!("exited {}", exit.code), "in"),
                    Some(reason) => (reason.description().to_owned(), "after"),
                };
                let hue = if exit.is_success() { Hue::Green } else { Hue::Red };
                let how = self.paint.paint(hue, &how);
                let command = self.words(command);
                writeln!(self.out, "  validation  {command} {how} {when} {}", duration(*duration_ms))?;
            }
            Event::IterationRecorded { record, commit, .. } => {
                self.last_words(record)?;
                let (hue, mark) = sign(record.outcome);
                let story = self.paint.paint(hue, &format!("{mark} {}", one_line(&record.story())));
                let commit = self.dim(commit.short());
                writeln!(self.out, "  {story}{}  {commit}", claims(record))?;
            }
            Event::ChangesTakenBack { task, restoration, files, .. } => {
                let what =
                    format!("took back what {} changed in {}", one_line(task), Count(*files as u64, "file"));
                let undo = self.dim(&format!("`{RALPH} restore --undo {restoration}` brings it back"));
                writeln!(self.out, "  {}  {undo}", self.paint.paint(Hue::Yellow, &what))?;
            }
            Event::Paused { .. } => {
                let line = self.paint.paint(Hue::Yellow, "paused");
                writeln!(self.out, "\n  {line}  `{RALPH} continue` lets it go on, `stop` ends it")?;
            }
            Event::Continued { .. } => writeln!(self.out, "  goes on")?,
            Event::Waiting { waiting, seconds, .. } => self.waiting(waiting, *seconds)?,
            Event::AgentChanged { from, to, failure_class, .. } => {
                let why = match failure_class {
                    Some(class) => format!("{} takes over from {} ({class})", one_line(to), one_line(from)),
                    None => format!("{} is back", one_line(to)),
                };
                writeln!(self.out, "\n  {}", self.paint.paint(Hue::Yellow, &why))?;
            }
            Event::Warning { message } => self.warning(message)?,
            Event::SessionEnded { session, closing, .. } => {
                if self.detail != Detail::Quiet {
                    writeln!(self.out)?;
                }
                for line in (Look { paint: self.paint, width: self.width, is_validated: self.is_validated })
                    .lines(session, closing)
                {
                    writeln!(self.out, "{line}")?;
                }
            }
        }
        self.out.flush()
    }

    /// What the agent said of its failure, where that was not on the screen yet and is not what ends the session.
    fn last_words(&mut self, record: &Iteration) -> io::Result<()> {
        let is_last = record.failure_class.is_some_and(FailureClass::is_unusable);
        match &record.error {
            Some(words)
                if record.outcome == Outcome::Failure && !is_last && self.told.as_ref() != Some(words) =>
            {
                self.agent_event(&AgentEvent::Error { message: words.clone() })
            }
            _ => Ok(()),
        }
    }

    fn warning(&mut self, message: &str) -> io::Result<()> {
        let label = self.paint.paint(Hue::Yellow, "warning:");
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
            AgentEvent::ToolEnded { tool_name, is_error: true } => format!("{} failed", one_line(tool_name)),
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
            writeln!(self.out, "{}", self.paint.paint(Hue::Dim, &format!("  agent  {line}")))
        }
    }

    fn waiting(&mut self, waiting: &Waiting, seconds: u64) -> io::Result<()> {
        let Waiting { agent, class, until, message } = waiting;
        let line = format!("waits {} until {}", duration(seconds.saturating_mul(1000)), local(*until));
        let words = message.as_ref().map_or(String::new(), |words| format!(": {}", self.words(words)));
        let why = format!("{} cannot be used ({class}){words}", one_line(agent));
        writeln!(self.out, "\n  {}  {why}", self.paint.paint(Hue::Yellow, &line))
    }

    /// Somebody's words on one line, safe on a terminal.
    fn words(&self, words: &str) -> String {
        cut(&one_line(&without_escapes(words)), self.width)
    }

    fn dim(&self, text: &str) -> String {
        self.paint.paint(Hue::Dim, text)
    }
}

/// What even those hear who want to hear nothing.
fn is_trouble(event: &Event) -> bool {
    let is_bad_end = |session: &Session| session.status != Status::Completed;
    matches!(event, Event::Warning { .. })
        || matches!(event, Event::SessionEnded { session, closing, .. }
            if is_bad_end(session) || !closing.uncommitted.is_empty())
}

/// What the agent claimed and the engine found untrue.
fn claims(record: &Iteration) -> &'static str {
    use crate::record::Claim::{Promise, Ticked};
    match (record.false_claim.contains(&Ticked), record.false_claim.contains(&Promise)) {
        (true, true) => "  (ticked and promised, both untrue)",
        (true, false) => "  (it had ticked the box)",
        (false, true) => "  (it had promised that all is done)",
        (false, false) => "",
    }
}
