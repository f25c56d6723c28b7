//! What goes on right now, in a few words: the events since the last one that began something.

use std::time::Duration;

use crate::local_time::clock;
use crate::style::{bar, cut, duration, one_line, tokens_told};
use ralph_core::record::{AgentEvent, Cost, Event, Phase, Tokens};

/// Longest piece of somebody's words; the window cuts what does not fit.
const WIDTH: usize = 200;

/// Cells of the bar.
const CELLS: usize = 10;

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

/// What the loop is at.
#[derive(Debug, Default)]
pub struct Now {
    phase: &'static str,
    task: String,
    tokens: Tokens,
    doing: String,
    /// Tasks that are done, and all tasks.
    tasks: (usize, usize),
    /// Of the session so far.
    cost: Cost,
}

impl Now {
    /// In one word.
    pub fn phase(&self) -> &str {
        self.phase
    }

    /// `12/35 ━━━━╌╌  $1.30  T004  600 tokens in (4,000 from cache), 166 out  Edit src/lib.rs`
    pub fn words(&self) -> String {
        let tokens = tokens_told(&self.tokens);
        let (done, all) = self.tasks;
        let progress =
            if all > 0 { format!("{done}/{all} {}", bar(done, all, CELLS).concat()) } else { String::new() };
        let cost = self.cost.shown().unwrap_or_default();
        let parts = [&progress, &cost, &self.task, &tokens, &self.doing].map(String::as_str);
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  ")
    }

    pub fn take(&mut self, event: &Event) -> Redraw {
        match event {
            Event::SessionStarted { tasks, cost, .. } => {
                self.tasks = (tasks.done, tasks.done + tasks.open);
                self.cost = *cost;
                Redraw::None
            }
            Event::IterationRecorded { record, .. } => {
                self.tasks = (record.tasks_done, record.tasks_done + record.tasks_open);
                self.cost = self.cost.plus(record.cost());
                Redraw::Over
            }
            Event::IterationStarted { task, .. } => {
                self.task = one_line(&task.name);
                self.tokens = Tokens::default();
                Redraw::None
            }
            Event::PhaseStarted { phase, .. } => match phase {
                Phase::Prompt => {
                    self.task.clear();
                    self.tokens = Tokens::default();
                    self.begin("prompt", "")
                }
                Phase::Agent { agent } => self.begin("agent", agent),
                Phase::Validation { command } => self.begin("validation", command),
                Phase::Recording => self.begin("recording", ""),
            },
            Event::AgentEvent { event, .. } => self.agent_event(event),
            Event::Waiting { waiting, seconds, .. } => {
                self.task.clear();
                self.tokens = Tokens::default();
                let length = duration(seconds.saturating_mul(1000));
                let until = clock(waiting.until);
                self.begin("waiting", &format!("of {length} until {until}, for {}", waiting.agent))
            }
            Event::SessionEnded { .. } => Redraw::Over,
            Event::HistoryIncluded { .. }
            | Event::ValidationFinished { .. }
            | Event::ChangesTakenBack { .. }
            | Event::AgentChanged { .. }
            | Event::UserFilesLost { .. }
            | Event::Warning { .. } => Redraw::None,
        }
    }

    fn begin(&mut self, phase: &'static str, doing: &str) -> Redraw {
        self.phase = phase;
        self.doing = one_line(doing);
        Redraw::Begun
    }

    fn agent_event(&mut self, event: &AgentEvent) -> Redraw {
        let doing = match event {
            AgentEvent::Usage { tokens } => {
                self.tokens = *tokens;
                return Redraw::Words;
            }
            AgentEvent::ToolEnded { .. } => return Redraw::None,
            AgentEvent::Text { text } => match text.lines().map(str::trim).rfind(|line| !line.is_empty()) {
                Some(line) => line.to_owned(),
                None => return Redraw::None,
            },
            AgentEvent::ToolStarted { tool_name, arguments_summary } => {
                format!("{tool_name} {arguments_summary}")
            }
            AgentEvent::Retry { message } => format!("tries again: {message}"),
            AgentEvent::Error { message } => format!("error: {message}"),
        };
        self.doing = cut(&one_line(&doing), WIDTH);
        Redraw::Words
    }
}

/// `6 s`, `2 min 3 s`: in whole seconds, for it is read while it counts.
pub fn elapsed(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds => duration(seconds.saturating_mul(1000)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::header;
    use ralph_core::record::TaskCounts;

    fn agent(event: AgentEvent) -> Event {
        Event::AgentEvent { iteration: 1, event }
    }

    fn phase(phase: Phase) -> Event {
        Event::PhaseStarted { iteration: 1, phase }
    }

    #[test]
    fn the_line_says_the_phase_the_tokens_and_what_the_agent_does() {
        let mut now = Now::default();
        let tokens =
            Tokens { input: Some(600), cache_read: Some(4_000), output: Some(166), ..Tokens::default() };
        let tool = |name: &str, arguments: &str| AgentEvent::ToolStarted {
            tool_name: name.to_owned(),
            arguments_summary: arguments.to_owned(),
        };
        let text = |text: &str| AgentEvent::Text { text: text.to_owned() };
        for (event, change, phase, words) in [
            (phase(Phase::Prompt), Redraw::Begun, "prompt", ""),
            (phase(Phase::Agent { agent: "claude".to_owned() }), Redraw::Begun, "agent", "claude"),
            (agent(text("First.\n\nThen \x1b[31mthat\n")), Redraw::Words, "agent", "Then  [31mthat"),
            (agent(text("\n ")), Redraw::None, "agent", "Then  [31mthat"),
            (
                agent(AgentEvent::Usage { tokens }),
                Redraw::Words,
                "agent",
                "600 tokens in (4,000 from cache), 166 out  Then  [31mthat",
            ),
            (
                agent(tool("Edit", "a.rs")),
                Redraw::Words,
                "agent",
                "600 tokens in (4,000 from cache), 166 out  Edit a.rs",
            ),
            (
                phase(Phase::Validation { command: "cargo test".to_owned() }),
                Redraw::Begun,
                "validation",
                "600 tokens in (4,000 from cache), 166 out  cargo test",
            ),
            (
                phase(Phase::Recording),
                Redraw::Begun,
                "recording",
                "600 tokens in (4,000 from cache), 166 out",
            ),
            (phase(Phase::Prompt), Redraw::Begun, "prompt", ""),
        ] {
            assert_eq!(now.take(&event), change, "{event:?}");
            assert_eq!((now.phase(), now.words().as_str()), (phase, words), "{event:?}");
        }
    }

    #[test]
    fn what_a_resumed_session_did_and_cost_before_counts() {
        let mut event = header::tests::started();
        if let Event::SessionStarted { tasks, cost, .. } = &mut event {
            *tasks = TaskCounts { done: 19, open: 16 };
            *cost = Cost { usd: Some(39.81), is_partial: true };
        }
        let mut now = Now::default();
        now.take(&event);
        assert_eq!(now.words(), "19/35 ━━━━━╌╌╌╌╌  ≥ $39.81");
    }

    #[test]
    fn time_that_is_watched_counts_in_seconds() {
        for (milliseconds, text) in
            [(0, "0 s"), (6_940, "6 s"), (63_500, "1 min 3 s"), (3_600_000, "1 h 0 min")]
        {
            assert_eq!(elapsed(Duration::from_millis(milliseconds)), text);
        }
    }
}
