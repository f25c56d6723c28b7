//! What goes on right now, in a few words: the events since the last one that began something.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::status::{time_left, waiting_words};
use crate::style::{bar, clock_span, columns, cut, one_line, rough};
use ralph_core::record::{AgentEvent, Cost, Event, Phase, TaskCounts};

use super::keys::Keys;

/// Longest piece of the words of others; the window cuts what does not fit.
const WIDTH: usize = 200;

/// Between the parts of the second line, and cells of its bar.
const GAP: &str = "   ";
const BAR: usize = 9;

/// What an event changes in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redraw {
    None,
    /// Something begins, and its time with it.
    Begun,
    /// The same thing goes on, and there is more to say.
    Words,
    /// Nothing goes on.
    Over,
}

/// What one of several loops is at, as it is sent to what started it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "now")]
pub struct NowSent {
    /// The task, or what else it is at; empty between two attempts.
    pub name: String,
    pub doing: String,
    /// True if that has just begun.
    pub has_begun: bool,
    /// Set where it has just been counted: tasks that are done, and all tasks.
    pub tasks: Option<(usize, usize)>,
    /// Of its session so far.
    pub cost: Cost,
    /// True if it is the last to end: what it prints from here on is of all loops.
    pub is_last: bool,
}

/// What the loop is at.
#[derive(Debug, Clone, Default)]
pub struct Now {
    phase: &'static str,
    task: String,
    doing: String,
    /// Tasks that are done, and all tasks.
    tasks: (usize, usize),
    /// Of the session so far.
    cost: Cost,
    /// At which it stops, in dollars.
    max_cost: Option<f64>,
    /// Tasks that were done before this run.
    done_before: usize,
    /// What its attempts took, in milliseconds.
    took_ms: u64,
    is_last: bool,
    root: String,
}

impl Now {
    /// `   11/35 ━━━╌╌╌╌╌╌   $19.60 of $80.00   1 h 44 min, about 4 h left   s stop · h hint`, in at most `room` columns; or
    /// the hint that is being typed.
    pub fn line(&self, elapsed_ms: u64, keys: Option<&Keys>, room: usize) -> String {
        if let Some(text) = keys.and_then(Keys::typed) {
            let (lead, help) = (format!("{GAP}hint: "), format!("{GAP}Enter sends · Esc"));
            let beside = columns(&lead) + columns(&help) + 1;
            let mut end = one_line(&text);
            while columns(&end) + beside > room && !end.is_empty() {
                end.remove(0);
            }
            return cut(&format!("{lead}{end}▌{help}"), room);
        }
        let (done, all) = self.tasks;
        let [full, rest] = bar(done, all, BAR);
        let counts = (all > 0).then(|| format!("{done}/{all}"));
        let drawn = counts.as_ref().map(|counts| format!("{counts} {full}{rest}"));
        let limit = self.max_cost.map_or(String::new(), |usd| format!(" of {}", Cost::of(usd)));
        let cost = self.cost.usd.map(|usd| format!("{}{limit}", Cost::of(usd)));
        // At the pace of this run.
        let left = time_left(self.took_ms, done.saturating_sub(self.done_before), all.saturating_sub(done));
        let left = left.map_or(String::new(), |left| format!(", about {} left", rough(left)));
        let time = Some(format!("{}{left}", clock_span(elapsed_ms)));
        let keys = keys.map(|_| "s stop · h hint".to_owned());
        // The narrower the window, the less is said.
        let lines =
            [[&drawn, &cost, &time, &keys], [&counts, &cost, &time, &keys], [&counts, &cost, &time, &None]]
                .map(|parts| parts.into_iter().flatten().fold(String::new(), |line, part| line + GAP + part));
        let fitting = lines.iter().find(|line| columns(line) <= room);
        fitting.cloned().unwrap_or_else(|| cut(&lines[2], room))
    }

    /// The session stops at `max_cost` dollars; paths below `root` are shown from there.
    pub fn new(max_cost: Option<f64>, root: String) -> Self {
        Self { max_cost, root, ..Self::default() }
    }

    /// So many tasks are done and open before what is counted.
    pub fn begin_counting(&mut self, tasks: &TaskCounts) {
        if self.tasks == (0, 0) {
            self.tasks = (tasks.done, tasks.done + tasks.open);
            self.done_before = tasks.done;
        }
    }

    /// Takes what several loops counted after so long.
    pub fn count(&mut self, tasks: Option<(usize, usize)>, cost: Cost, elapsed_ms: u64) {
        self.cost = cost;
        if let Some(tasks) = tasks {
            (self.tasks, self.took_ms) = (tasks, elapsed_ms);
        }
    }

    /// Returns what it is at for what started this loop, and others.
    pub fn sent(&self, change: Redraw) -> NowSent {
        let is_over = change == Redraw::Over;
        let (name, doing) = if is_over { ("", "") } else { (self.name(), self.doing()) };
        NowSent {
            name: name.to_owned(),
            doing: doing.to_owned(),
            has_begun: change != Redraw::Words,
            tasks: is_over.then_some(self.tasks),
            cost: self.cost,
            is_last: self.is_last,
        }
    }

    /// The task, or what else it is at: `T012 2`
    pub fn name(&self) -> &str {
        if self.task.is_empty() { self.phase } else { &self.task }
    }

    /// What is done about it: `Edit src/lib.rs`
    pub fn doing(&self) -> &str {
        &self.doing
    }

    pub fn take(&mut self, event: &Event) -> Redraw {
        match event {
            Event::SessionStarted { tasks, cost, .. } => {
                self.tasks = (tasks.done, tasks.done + tasks.open);
                (self.done_before, self.took_ms) = (tasks.done, 0);
                self.cost = *cost;
                Redraw::None
            }
            Event::IterationRecorded { record, .. } => {
                self.tasks = (record.tasks_done, record.tasks_done + record.tasks_open);
                self.took_ms += record.duration_ms.total().unwrap_or_default();
                self.cost = self.cost.plus(record.cost());
                // A validation of merged results is of no task.
                self.task.clear();
                Redraw::Over
            }
            Event::IterationStarted { task, attempt, .. } => {
                let again = if *attempt > 1 { format!(" {attempt}") } else { String::new() };
                self.task = one_line(&task.name) + &again;
                Redraw::None
            }
            Event::PhaseStarted { phase, .. } => match phase {
                Phase::Prompt => {
                    self.task.clear();
                    self.begin("prompt", "")
                }
                Phase::Agent { agent } => self.begin("agent", agent),
                Phase::Waiting => self.begin("waiting", "for another validation"),
                Phase::Validation { command } => self.begin("validation", &format!("validation: {command}")),
                Phase::Recording => self.begin("recording", "recording"),
            },
            Event::AgentEvent { event, .. } => self.agent_event(event),
            Event::Waiting { waiting, seconds, .. } => {
                self.task.clear();
                let words = waiting_words(waiting, waiting.until.minus(Duration::from_secs(*seconds)));
                self.begin("waiting", words.trim_start_matches("waiting "))
            }
            Event::SessionEnded { session, closing, .. } => {
                self.is_last = !closing.is_of_others;
                self.tasks = (session.tasks_done, session.tasks_done + session.tasks_remaining);
                Redraw::Over
            }
            _ => Redraw::None,
        }
    }

    fn begin(&mut self, phase: &'static str, doing: &str) -> Redraw {
        self.phase = phase;
        self.doing = one_line(doing);
        Redraw::Begun
    }

    fn agent_event(&mut self, event: &AgentEvent) -> Redraw {
        let Some(doing) = event.doing() else { return Redraw::None };
        self.doing = cut(&one_line(&doing.replace(&self.root, "")), WIDTH);
        Redraw::Words
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::header;
    use ralph_core::record::Tokens;

    fn agent(event: AgentEvent) -> Event {
        Event::AgentEvent { iteration: 1, event }
    }

    fn phase(phase: Phase) -> Event {
        Event::PhaseStarted { iteration: 1, phase }
    }

    #[test]
    fn the_line_says_the_task_and_what_is_done_about_it() {
        let mut now = Now::default();
        let tool = |name: &str, arguments: &str| AgentEvent::ToolStarted {
            tool_name: name.to_owned(),
            arguments_summary: arguments.to_owned(),
        };
        let text = |text: &str| AgentEvent::Text { text: text.to_owned() };
        for (event, change, name, words) in [
            (phase(Phase::Prompt), Redraw::Begun, "prompt", ""),
            (phase(Phase::Agent { agent: "claude".to_owned() }), Redraw::Begun, "agent", "claude"),
            (agent(text("First.\n\nThen \x1b[31mthat\n")), Redraw::Words, "agent", "Then  [31mthat"),
            (agent(text("\n ")), Redraw::None, "agent", "Then  [31mthat"),
            (agent(AgentEvent::Usage { tokens: Tokens::default() }), Redraw::None, "agent", "Then  [31mthat"),
            (agent(tool("Edit", "a.rs")), Redraw::Words, "agent", "Edit a.rs"),
            (
                phase(Phase::Validation { command: "cargo test".to_owned() }),
                Redraw::Begun,
                "validation",
                "validation: cargo test",
            ),
            (phase(Phase::Recording), Redraw::Begun, "recording", "recording"),
        ] {
            assert_eq!(now.take(&event), change, "{event:?}");
            assert_eq!((now.name(), now.doing()), (name, words), "{event:?}");
        }
    }

    #[test]
    fn what_a_resumed_session_did_and_cost_before_counts_and_the_pace_is_of_this_run() {
        let mut event = header::tests::started();
        if let Event::SessionStarted { tasks, cost, .. } = &mut event {
            *tasks = TaskCounts { done: 19, open: 16 };
            *cost = Cost { usd: Some(39.81), is_partial: true };
        }
        let mut now = Now::default();
        now.take(&event);
        assert_eq!(now.line(8_000, None, 80), "   19/35 ━━━━╌╌╌╌╌   $39.81   8 s");
        (now.tasks, now.took_ms) = ((22, 35), 3 * 600_000);
        now.max_cost = Some(80.0);
        let keys = Keys::default();
        for (room, expected) in [
            (90, "   22/35 ━━━━━╌╌╌╌   $39.81 of $80.00   1 h 44 min, about 2 h left   s stop · h hint"),
            (80, "   22/35   $39.81 of $80.00   1 h 44 min, about 2 h left   s stop · h hint"),
            (56, "   22/35   $39.81 of $80.00   1 h 44 min, about 2 h left"),
            (20, "   22/35   $39.81 o…"),
        ] {
            assert_eq!(now.line(104 * 60_000, Some(&keys), room), expected);
        }
    }
}
