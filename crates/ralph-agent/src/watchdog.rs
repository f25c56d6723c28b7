//! Whether a running agent makes progress, by the events of its stream.

use ralph_core::record::{AgentEvent, ExitReason};
use ralph_os::process::Pulse;

/// Errors and retries without anything done between them, after which an agent is stopped: no known agent tries
/// this often before it gives up by itself, and some never give up.
const MAX_ERRORS_IN_A_ROW: u32 = 25;

/// The same over a whole run.
const MAX_ERRORS: u32 = 100;

/// What was seen of a run so far.
#[derive(Debug, Default)]
pub(super) struct Watchdog {
    open_tools: u32,
    in_a_row: u32,
    in_all: u32,
    last: Option<String>,
}

impl Watchdog {
    pub(super) fn observe(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::ToolStarted { .. } => self.open_tools += 1,
            AgentEvent::ToolEnded { .. } => {
                self.open_tools = self.open_tools.saturating_sub(1);
                self.in_a_row = 0;
            }
            AgentEvent::Retry { message } | AgentEvent::Error { message } => {
                self.in_a_row += 1;
                self.in_all += 1;
                self.last = Some(message.clone());
            }
            // An agent that cannot get on may well talk about it.
            AgentEvent::Text { .. } | AgentEvent::Usage { .. } => {}
        }
    }

    pub(super) fn pulse(&self) -> Pulse {
        if self.in_a_row >= MAX_ERRORS_IN_A_ROW || self.in_all >= MAX_ERRORS {
            Pulse::Lost(ExitReason::ErrorLoop)
        } else if self.open_tools > 0 {
            Pulse::Busy
        } else {
            Pulse::Alive
        }
    }

    /// Returns the last error or retry.
    pub(super) fn last_error(self) -> Option<String> {
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(events: &str) -> Pulse {
        let mut watchdog = Watchdog::default();
        for event in events.chars() {
            let tool_name = "Bash".to_owned();
            watchdog.observe(&match event {
                '(' => AgentEvent::ToolStarted { tool_name, arguments_summary: String::new() },
                ')' => AgentEvent::ToolEnded { tool_name, is_error: false, result: String::new() },
                'r' => AgentEvent::Retry { message: "again".to_owned() },
                'e' => AgentEvent::Error { message: "no".to_owned() },
                _ => AgentEvent::Text { text: "I try.".to_owned() },
            });
        }
        watchdog.pulse()
    }

    #[test]
    fn silence_is_normal_while_a_tool_runs() {
        for (events, pulse) in [
            ("", Pulse::Alive),
            ("t(", Pulse::Busy),
            ("(()", Pulse::Busy),
            ("(())", Pulse::Alive),
            (")(", Pulse::Busy),
        ] {
            assert_eq!(after(events), pulse, "{events}");
        }
    }

    #[test]
    fn who_only_meets_errors_is_lost() {
        let lost = Pulse::Lost(ExitReason::ErrorLoop);
        assert_eq!(after(&"e".repeat(24)), Pulse::Alive);
        assert_eq!(after(&"e".repeat(25)), lost);
        assert_eq!(after(&"rt".repeat(25)), lost, "words alone are nothing done");
        let healthy = format!("{}()", "r".repeat(5));
        assert_eq!(after(&healthy.repeat(10)), Pulse::Alive);
        assert_eq!(after(&healthy.repeat(20)), lost);
    }
}
