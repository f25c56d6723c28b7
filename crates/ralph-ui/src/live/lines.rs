//! What stays on the screen: events in, lines out.

use std::collections::HashSet;
use std::time::Duration;

use failure_excerpt::without_escapes;

use ralph_core::progress::first_sentence;
use ralph_core::record::{AgentEvent, Event, Iteration, Outcome, RALPH, Status};

use super::{Moving, closing, header};
use crate::ending::{failure, interruption};
use crate::evidence::{FLAG, false_claim, outcome};
use crate::left_behind::{lost, undone};
use crate::local_time::clock;
use crate::status::waiting_words;
use crate::style::{
    Look, Paint, Screen, brief_duration, columns, counted, cut, duration, one_line, padded, phase_title,
    sign_by_now,
};

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

/// Most columns of a task, and those that it has.
const MAX_TASK: usize = 24;
const TASK: usize = 6;

/// Columns in front of what is below a row.
const BELOW: usize = 18;

/// Says a line or two for each event.
#[derive(Debug)]
pub struct Lines {
    screen: Screen,
    detail: Detail,
    /// Of the list: the one that the last task is in.
    phase: Option<String>,
    /// The error that the agent reported last in this iteration.
    reported: Option<String>,
    /// True if a command checks what agents say.
    is_validated: bool,
    /// Paths of the agent below it are shown from there.
    root: String,
    /// Tasks of which it was said that their prompts have a history.
    with_history: HashSet<String>,
    moving: Moving,
    /// What is in front of the lines of one of several loops.
    mark: String,
}

impl Lines {
    pub fn new(paint: Paint, detail: Detail, root: &str, moving: Moving) -> Self {
        Self {
            screen: Screen { paint, width: usize::MAX },
            detail,
            phase: None,
            reported: None,
            is_validated: true,
            root: root.to_owned(),
            with_history: HashSet::new(),
            moving,
            mark: String::new(),
        }
    }

    /// Words are cut to what fits into a window of so many columns.
    pub fn fit(&mut self, columns: Option<u16>) {
        self.screen.width =
            columns.map_or(usize::MAX, |columns| usize::from(columns).saturating_sub(self.mark.len()));
    }

    /// What a prompt has of older iterations: once for each task, unless all is to be said.
    fn history(&mut self, event: &Event, is_verbose: bool) -> Option<String> {
        let Event::HistoryIncluded { task, failures, scanned, tokens, nothing, .. } = event else {
            return None;
        };
        let is_new = self.with_history.insert(task.clone());
        let (task, count) = (one_line(task), counted(*scanned as u64, "earlier attempt"));
        let line = match nothing {
            _ if !is_verbose && !is_new => return None,
            Some(why) => format!("  {task}: no history: {}", one_line(why)),
            None if !is_verbose => format!("  {task}: told what {count} tried"),
            None => {
                let why = failures.map_or(String::new(), |failures| {
                    format!(", after {} in a row", counted(u64::from(failures), "failure"))
                });
                format!("  memory  {count} added to the prompt ({}){why}", counted(*tokens as u64, "token"))
            }
        };
        Some(self.dim(&cut(&line, self.screen.width)))
    }

    /// Longest words of anybody on a line.
    fn width(&self) -> usize {
        self.screen.width.saturating_sub(BESIDE).clamp(LEAST, WIDTH)
    }

    /// Returns the lines for an event. Those of one of several loops begin with its lane, but for what is said of all.
    pub fn of(&mut self, event: &Event) -> Vec<String> {
        let lines = self.of_loop(event);
        let is_of_all = match event {
            Event::SessionStarted { .. } => true,
            Event::SessionEnded { closing, .. } => !closing.is_of_others,
            _ => false,
        };
        if let (Moving::Sent { .. }, Event::SessionStarted { lane: Some(lane), .. }) = (self.moving, event) {
            self.mark = format!("[{lane}]");
        }
        if is_of_all || self.mark.is_empty() {
            return lines;
        }
        let mark = self.dim(&self.mark);
        lines.iter().map(|line| format!("{mark}{}", line.trim_start_matches('\n'))).collect()
    }

    fn of_loop(&mut self, event: &Event) -> Vec<String> {
        if let Event::SessionStarted { validation, .. } = event {
            self.is_validated = validation.is_some();
        }
        if self.detail == Detail::Quiet && !is_trouble(event) {
            return Vec::new();
        }
        let is_verbose = self.detail == Detail::Verbose;
        match event {
            Event::SessionStarted { .. } if matches!(self.moving, Moving::Sent { joins: true, .. }) => {
                Vec::new()
            }
            Event::SessionStarted { .. } => header::lines(event, self.screen.paint, self.width()),
            Event::IterationStarted { task, .. } => {
                self.reported = None;
                let heading = self.phase_heading(task.phase.as_deref());
                let started = if is_verbose { self.started(event) } else { Vec::new() };
                heading.into_iter().chain(started).collect()
            }
            Event::HistoryIncluded { .. } => self.history(event, is_verbose).into_iter().collect(),
            Event::AgentEvent { event, .. } => self.agent_event(event).into_iter().collect(),
            Event::ValidationFinished { command, exit, duration_ms, tests, .. } if is_verbose => {
                let (how, when) = match exit.reason {
                    None => (format!("exited {}", exit.code), "in"),
                    Some(reason) => (reason.description().to_owned(), "after"),
                };
                let look = if exit.is_success() { Look::Good } else { Look::Bad };
                let how = self.screen.paint(look, &how);
                let command = self.words(command);
                let tests =
                    tests.as_deref().and_then(outcome).map_or(String::new(), |tests| format!(": {tests}"));
                vec![format!("  validation  {command} {how} {when} {}{tests}", duration(*duration_ms))]
            }
            // A refusal is the error that the program ends with.
            Event::StartRefused { .. } | Event::PhaseStarted { .. } | Event::ValidationFinished { .. } => {
                Vec::new()
            }
            // People read the same in the lines of the attempt, in a warning or on the card.
            Event::NeedsYou(_)
            | Event::TaskGivenUp { .. }
            | Event::Budget80 { .. }
            | Event::Flagged(_)
            | Event::TargetRed { .. }
            | Event::TaskClaimed { .. }
            | Event::IntegrationFinished { .. } => Vec::new(),
            Event::IterationRecorded { record, .. } => {
                self.last_words(record).into_iter().chain(self.recorded(record)).collect()
            }
            // Among several it is what becomes of most.
            Event::TaskQueued { .. } if matches!(self.moving, Moving::Sent { .. }) => Vec::new(),
            Event::TaskQueued { task, .. } => {
                let task = one_line(task);
                vec![self.dim(&format!(
                    "  {task} is queued: its result is merged with what is on the branch by now"
                ))]
            }
            Event::ChangesTakenBack { task, restoration, files, .. } => {
                let what =
                    format!("reverted {}'s changes in {}", one_line(task), counted(*files as u64, "file"));
                let undo = self.dim(&format!("(undo: `{RALPH} restore --undo {restoration}`)"));
                vec![format!("  {}  {undo}", self.screen.paint(Look::Warn, &what))]
            }
            Event::Waiting { waiting, seconds, .. } => {
                let words =
                    self.words(&waiting_words(waiting, waiting.until.minus(Duration::from_secs(*seconds))));
                vec![format!("\n  {}", self.screen.paint(Look::Warn, &words))]
            }
            Event::AgentChanged { from, to, failure_class, .. } => {
                let why = match failure_class {
                    Some(class) => format!("{} takes over from {} ({class})", one_line(to), one_line(from)),
                    None => format!("{} is back", one_line(to)),
                };
                vec![format!("\n  {}", self.screen.paint(Look::Warn, &why))]
            }
            Event::UserFilesLost { what, command, .. } => {
                let line = one_line(&lost(what, command.as_deref()));
                vec![format!("  {}", self.screen.paint(Look::Bad, &line))]
            }
            Event::Warning { message } => {
                let label = self.screen.paint(Look::Warn, "warning:");
                let (message, hint) = match message.split_once("\nhint: ") {
                    Some((message, hint)) => (message, Some(format!("  hint: {}", one_line(hint)))),
                    None => (message.as_str(), None),
                };
                let mut lines = message.lines().map(one_line);
                let first = lines.next().unwrap_or_default();
                let further = lines.filter(|line| !line.is_empty()).map(|line| format!("    {line}"));
                [format!("  {label} {first}")].into_iter().chain(further).chain(hint).collect()
            }
            Event::SessionEnded { session, closing, .. } if closing.is_of_others => {
                vec![self.dim(&format!("  ends: {}", crate::ending::verdict(session, closing).join(" · ")))]
            }
            Event::SessionEnded { session, closing, .. } => {
                let card = closing::lines(session, closing, self.is_validated, self.screen);
                let blank = (self.detail != Detail::Quiet).then(String::new);
                blank.into_iter().chain(card).collect()
            }
        }
    }

    /// The name of a phase of the list where it begins.
    fn phase_heading(&mut self, phase: Option<&str>) -> Option<String> {
        if matches!(self.moving, Moving::Sent { .. }) || self.phase.as_deref() == phase {
            return None;
        }
        self.phase = phase.map(str::to_owned);
        let name = self.words(phase_title(phase?));
        Some(format!("\n{}", self.screen.paint(Look::Bold, &name)))
    }

    /// What an attempt begins with.
    fn started(&self, event: &Event) -> Vec<String> {
        let Event::IterationStarted { iteration, task, attempt, hints, unit_tasks, .. } = event else {
            return Vec::new();
        };
        let again = if *attempt > 1 { format!(" {attempt}") } else { String::new() };
        let number = format!("#{iteration}");
        let name = format!("{}{again}", one_line(&task.name));
        let room = self.screen.width.saturating_sub(columns(&number) + columns(&name) + 4).max(1);
        let title = cut(&self.words(&task.text), room);
        let mut lines = vec![format!("\n{}  {name}  {title}", self.screen.paint(Look::Bold, &number))];
        if !unit_tasks.is_empty() {
            lines.push(format!("  asked for  {}", self.words(&unit_tasks.join(", "))));
        }
        lines.extend(hints.iter().map(|hint| format!("  hint  {}", self.words(hint))));
        lines
    }

    /// The row of an attempt; below it why it failed, and what a person should know of it.
    fn recorded(&self, record: &Iteration) -> Vec<String> {
        // A check is of no task if it sends none back.
        let is_of_all = record.outcome == Outcome::Checked && record.task.is_none();
        let sign = sign_by_now(record.outcome, record.failure_class, false);
        let (look, mark) = if is_of_all { (Look::Dim, "·") } else { sign };
        let none = if is_of_all || record.outcome == Outcome::Integrated { "" } else { "no task" };
        let task = one_line(record.task.as_deref().unwrap_or(none));
        let attempt = record.attempt.filter(|attempt| *attempt > 1 && record.is_attempt());
        let task = cut(&task, MAX_TASK) + &attempt.map_or(String::new(), |attempt| format!(" {attempt}"));
        let at = self.dim(&clock(record.ended_at));
        let time = record.duration_ms.total().map_or(String::new(), brief_duration);
        let cost = record.cost().shown().unwrap_or_default();
        let what = what_happened(record, &self.root);
        let row = match self.screen.width {
            usize::MAX => {
                let name = self.screen.paint(look, &format!("{mark} {task}"));
                let parts = [format!(" {at}"), name, what, time, cost];
                parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  ")
            }
            width => {
                let name = self.screen.paint(look, &format!("{mark} {}", padded(&task, TASK)));
                let tail = format!("  {time:>5} {cost:>7}");
                let beside = BELOW + task.len().saturating_sub(TASK) + tail.len();
                if width.saturating_sub(beside) < LEAST {
                    format!(" {at}  {name}  {}", cut(&what, width.saturating_sub(BELOW)))
                } else {
                    format!(" {at}  {name}  {}{}", self.screen.filled(&what, beside, 0), self.dim(&tail))
                }
            }
        };
        let cause = match record.outcome {
            Outcome::Failure => failure(record.failure_class, &record.cause()),
            // What passes by itself is said while it is waited for.
            Outcome::Interrupted if record.failure_class.is_some_and(|class| !class.is_transient()) => {
                record.cause().into_owned()
            }
            _ => String::new(),
        };
        let cause_look = if record.outcome == Outcome::Failure { look } else { Look::Bad };
        let mut below = vec![(cause_look, cause), (Look::Claim, false_claim(record).unwrap_or_default())];
        let flags = record.evidence.iter().flat_map(|evidence| &evidence.flags);
        below.extend(flags.map(|flag| (Look::Warn, format!("{FLAG} {}", flag.text))));
        below.extend(undone(record, None).map(|words| (Look::Plain, words)));
        let below = below.iter().filter(|(_, words)| !words.is_empty()).flat_map(|(look, words)| {
            let words = one_line(&without_escapes(words));
            self.screen.painted(*look, &" ".repeat(BELOW), &words)
        });
        [row.trim_end().to_owned()].into_iter().chain(below).collect()
    }

    /// What the agent said of its failure, where that was not on the screen yet.
    fn last_words(&mut self, record: &Iteration) -> Option<String> {
        let is_new = record.outcome == Outcome::Failure && self.reported != record.error;
        let words = record.error.as_ref().filter(|_| is_new)?;
        self.agent_event(&AgentEvent::Error { message: words.clone() })
    }

    fn agent_event(&mut self, event: &AgentEvent) -> Option<String> {
        let is_trouble = matches!(event, AgentEvent::Error { .. } | AgentEvent::Retry { .. });
        if self.detail != Detail::Verbose && !is_trouble {
            return None;
        }
        let line = match event {
            AgentEvent::Text { text } => self.agent_words(text.trim()),
            AgentEvent::ToolStarted { tool_name, arguments_summary } => {
                self.agent_words(&format!("{tool_name} {arguments_summary}"))
            }
            AgentEvent::ToolEnded { tool_name, is_error: true, .. } => {
                format!("{} failed", one_line(tool_name))
            }
            AgentEvent::ToolEnded { .. } | AgentEvent::Usage { .. } => return None,
            AgentEvent::Retry { message } => format!("retrying: {}", self.agent_words(message)),
            AgentEvent::Error { message } => {
                self.reported = Some(message.clone());
                format!("error: {}", self.agent_words(message))
            }
        };
        (!line.is_empty()).then(|| self.dim(&format!("  agent  {line}")))
    }

    /// The words of others on one line, safe on a terminal.
    fn words(&self, words: &str) -> String {
        cut(&one_line(&without_escapes(words)), self.width())
    }

    fn agent_words(&self, words: &str) -> String {
        self.words(&words.replace(&self.root, ""))
    }

    fn dim(&self, text: &str) -> String {
        self.screen.paint(Look::Dim, text)
    }
}

/// What even those hear who want to hear nothing.
fn is_trouble(event: &Event) -> bool {
    matches!(event, Event::Warning { .. } | Event::UserFilesLost { .. })
        || matches!(event, Event::SessionEnded { session, closing, .. }
            if session.status != Status::Completed || !closing.uncommitted.is_empty())
}

/// Of a success after failures what solved them, else what was to be done; of the rest what it was.
fn what_happened(record: &Iteration, root: &str) -> String {
    match record.outcome {
        Outcome::Success | Outcome::Failure => {
            let is_solved = record.outcome == Outcome::Success && record.attempt > Some(1);
            let said = is_solved.then(|| first_sentence(&record.facts.final_message.replace(root, "")));
            match said.map(|said| one_line(&without_escapes(&said))).filter(|said| !said.is_empty()) {
                None => one_line(record.task_text.as_deref().unwrap_or_default()),
                Some(said) => format!("solved: {said}"),
            }
        }
        Outcome::Skipped if record.restored_to.is_some() => "given up; changes undone".to_owned(),
        Outcome::Skipped => "given up".to_owned(),
        Outcome::Checked if record.task.is_some() => format!("sent back: {}", one_line(&record.cause())),
        Outcome::Checked | Outcome::Reopened | Outcome::Integrated => one_line(&record.story()),
        Outcome::Interrupted => {
            // Until when is said where it is waited for.
            interruption(record.failure_class, record.exit.agent).to_owned()
        }
        Outcome::Later(_) => one_line(&record.cause()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::record::samples::iteration;
    use ralph_core::record::{Claim, FailureClass, Timestamp};

    #[test]
    fn an_attempt_is_a_row_with_its_cause_below() {
        let shown = |record: &Iteration, width: Option<u16>| {
            let mut lines = Lines::new(Paint::Plain, Detail::Normal, "", Moving::Nowhere);
            lines.fit(width);
            lines.recorded(record).join("\n") + "\n"
        };
        let mut failed = iteration(Outcome::Failure);
        (failed.task, failed.task_text) = (Some("T004".to_owned()), Some("Write the parser".to_owned()));
        (failed.attempt, failed.cause) = (Some(2), Some("left 1, right 2".to_owned()));
        failed.false_claim = vec![Claim::Ticked];
        failed.ended_at = Timestamp::from_seconds(82_980);
        (failed.duration_ms.agent, failed.duration_ms.validation, failed.duration_ms.second) =
            (Some(218_000), None, None);
        failed.cost_usd = Some(1.3);
        let expected = "\
 23:03  ✘ T004 2  Write the parser                             3m38   $1.30
                  left 1, right 2
                  said done, but the validation fails; reopened
";
        assert_eq!(shown(&failed, Some(75)), format!(" {expected}"));
        assert!(shown(&failed, None).starts_with(" 23:03  ✘ T004 2  Write the parser  3m38  $1.30\n"));
        let mut done =
            Iteration { outcome: Outcome::Success, cause: None, false_claim: Vec::new(), ..failed };
        done.facts.final_message = "I wrote it. And more.\n".to_owned();
        assert!(shown(&done, None).contains("  ✔ T004 2  solved: I wrote it.  "));
        done.attempt = Some(1);
        assert!(shown(&done, None).contains("  ✔ T004  Write the parser  "));
        for (failure_class, agent, expected) in [
            (Some(FailureClass::Quota), Some(1), "usage limit"),
            (Some(FailureClass::Network), Some(1), "no network"),
            (None, None, "the loop was killed during this attempt"),
        ] {
            let mut cut = Iteration { outcome: Outcome::Interrupted, failure_class, ..done.clone() };
            cut.exit.agent = agent;
            cut.resets_at = failure_class.map(|_| Timestamp::from_seconds(4020));
            assert!(shown(&cut, None).contains(&format!("  ‖ T004  {expected}  ")), "{}", shown(&cut, None));
        }
        for width in [40, 56, 120] {
            let text = shown(
                &Iteration { outcome: Outcome::Failure, cause: Some("word ".repeat(40)), ..done.clone() },
                Some(width),
            );
            assert!(text.lines().all(|line| columns(line) <= usize::from(width)), "{text}");
        }
    }

    #[test]
    fn a_phase_begins_with_its_name() {
        let mut lines = Lines::new(Paint::Plain, Detail::Normal, "", Moving::Nowhere);
        let first = "Phase 1: A\x1b[31m (P1)";
        let headings = [None, Some(first), Some(first), None, Some("Part: B")];
        let headings = headings.map(|phase| lines.phase_heading(phase));
        assert_eq!(headings.map(Option::unwrap_or_default), ["", "\nA", "", "", "\nPart: B"]);
    }
}
