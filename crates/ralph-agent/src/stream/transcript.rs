//! What a stream contained so far, and the rules that the streams of all agents share.

use redact_stream::Redactor;
use serde_json::Value;

use super::background::Background;
use super::command_result::ToolResult;
use super::failure::class_of;
use super::tool_calls::ToolCalls;
use ralph_core::record::{
    AgentEvent, AgentFacts, CutOff, FailureClass, Timestamp, Tokens, ToolCall, summary,
};

/// Maximum number of bytes of an agent's last message that are kept: the end of it.
const MAX_MESSAGE_BYTES: usize = 4 << 20;

/// What Claude Code calls the model of messages that no model wrote.
const SYNTHETIC: &str = "<synthetic>";

/// An agent's run as far as its stream was read. A parser translates events into calls.
///
/// Text, tool calls, tokens, retries and errors are also handed on as [`AgentEvent`]s, in the order of the stream.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    redactor: Redactor,
    events: Vec<AgentEvent>,
    final_message: String,
    tool_calls: ToolCalls,
    is_complete: bool,
    failure: Option<Failure>,
    facts: AgentFacts,
    pub background: Background,
    pub model: Option<String>,
    pub tokens: Tokens,
    pub cost_usd: Option<f64>,
    /// When the limit ends that the agent ran into.
    pub resets_at: Option<Timestamp>,
    /// How the agent itself calls this conversation, where that leads to more.
    pub thread: Option<String>,
}

/// Why a run failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub class: FailureClass,
    /// Empty where the words are on stderr.
    pub message: String,
}

impl Failure {
    pub(super) fn new(class: FailureClass, message: &str) -> Self {
        Self { class, message: message.to_owned() }
    }

    /// An answer of the model that ended before its end, which the agent took for a whole one.
    pub(super) fn cut_answer() -> Self {
        Self::new(FailureClass::Network, "the model's answer was cut short")
    }

    /// A failure whose class follows only from its words.
    pub(super) fn of_words(message: &str) -> Self {
        Self::new(class_of(None, message), message)
    }
}

/// What a whole stream says.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct AgentReport {
    /// True if it ended with a result that is no error.
    pub succeeded: bool,
    /// What the agent itself said last; never a part of its prompt.
    pub final_text: String,
    pub model: Option<String>,
    pub tokens: Tokens,
    pub cost_usd: Option<f64>,
    pub tool_calls: Vec<ToolCall>,
    pub failure: Option<Failure>,
    pub resets_at: Option<Timestamp>,
    pub thread: Option<String>,
    pub facts: AgentFacts,
}

impl Transcript {
    pub(super) fn new(redactor: &Redactor) -> Self {
        Self { redactor: redactor.clone(), ..Self::default() }
    }

    /// Returns the summary of a text, without secrets.
    pub(super) fn summary(&self, text: &str) -> String {
        summary(&self.redactor.redact(text))
    }

    /// Returns what happened since the last call.
    pub(super) fn take_events(&mut self) -> Vec<AgentEvent> {
        std::mem::take(&mut self.events)
    }

    /// Hands on text without making it a part of the final message.
    pub(super) fn show(&mut self, text: &str) {
        if !text.is_empty() {
            self.show_line(text);
        }
    }

    /// Hands on a line of plain output, which may be an empty one.
    pub(super) fn show_line(&mut self, line: &str) {
        self.events.push(AgentEvent::Text { text: line.to_owned() });
    }

    /// Takes a whole message of the agent, which is its last one until another comes.
    pub(super) fn message(&mut self, text: &str) {
        self.set_final_message(text);
        self.show(text);
    }

    pub(super) fn set_final_message(&mut self, text: &str) {
        self.final_message.clear();
        self.add_to_final_message(text);
    }

    pub(super) fn clear_final_message(&mut self) {
        self.final_message.clear();
    }

    /// Appends a piece to the final message, of which at most [`MAX_MESSAGE_BYTES`] are kept.
    pub(super) fn add_to_final_message(&mut self, piece: &str) {
        let message = &mut self.final_message;
        message.push_str(piece);
        if message.len() > MAX_MESSAGE_BYTES {
            let excess = message.len() - MAX_MESSAGE_BYTES / 2;
            let cut =
                (excess..message.len()).find(|at| message.is_char_boundary(*at)).unwrap_or(message.len());
            message.drain(..cut);
        }
    }

    pub(super) fn final_message(&self) -> &str {
        &self.final_message
    }

    pub(super) fn has_final_message(&self) -> bool {
        !self.final_message.is_empty()
    }

    /// Takes the name of the model, if it is one.
    pub(super) fn set_model(&mut self, name: &Value) {
        if let Some(name) = name.as_str() {
            self.model = Some(name.to_owned());
        }
    }

    /// Takes the tokens of the whole run so far.
    pub(super) fn set_tokens(&mut self, tokens: Tokens) {
        self.tokens = tokens;
        self.events.push(AgentEvent::Usage { tokens });
    }

    /// Adds the tokens of one part of the run.
    pub(super) fn add_tokens(&mut self, tokens: &Tokens) {
        self.set_tokens(self.tokens.plus(tokens));
    }

    /// Adds the cost of one part of the run, if it is known.
    pub(super) fn add_cost(&mut self, usd: Option<f64>) {
        if let Some(usd) = usd {
            // A part below zero would hide others.
            let usd = if usd < 0.0 { f64::NAN } else { usd };
            self.cost_usd = Some(self.cost_usd.unwrap_or(0.0) + usd);
        }
    }

    /// Takes the time since the agent's start, at which all that follows was seen.
    pub(super) fn set_time(&mut self, ms: u64) {
        self.tool_calls.now_ms = Some(ms);
    }

    pub(super) fn start_tool(&mut self, id: &str, tool_name: &str, input: &Value) {
        self.events.extend(self.tool_calls.start(id, tool_name, input, &self.redactor));
    }

    pub(super) fn end_tool(&mut self, id: &str, output: &str, is_error: bool) {
        self.end_command(id, ToolResult { output, is_error, exit_code: None });
    }

    /// As [`Transcript::end_tool`], where the stream has a field for the exit code of a command.
    pub(super) fn end_command(&mut self, id: &str, result: ToolResult<'_>) {
        self.events.extend(self.tool_calls.end(id, result, &self.redactor));
    }

    /// Reports that the agent tries again by itself.
    pub(super) fn retry(&mut self, message: &str) {
        let message = self.summary(message);
        self.events.push(AgentEvent::Retry { message });
    }

    /// Reports an error, and takes it for the end of the run until something else comes.
    pub(super) fn fail(&mut self, failure: Failure) {
        self.show_error(&failure.message);
        self.set_failure(failure);
    }

    /// Reports an error that does not count by itself.
    pub(super) fn show_error(&mut self, message: &str) {
        let message = self.summary(message);
        self.events.push(AgentEvent::Error { message });
    }

    /// As [`Transcript::fail`], where the error was reported already, or is none for those who watch.
    pub(super) fn set_failure(&mut self, failure: Failure) {
        self.is_complete = false;
        self.failure = Some(failure);
    }

    pub(super) fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    pub(super) fn take_failure(&mut self) -> Option<Failure> {
        self.failure.take()
    }

    /// The run came to a good end, whatever went wrong before.
    pub(super) fn complete(&mut self) {
        self.is_complete = true;
        self.failure = None;
        self.background.settle();
        // What has not ended by now goes on in the background, if at all.
        self.release_tools();
    }

    /// Reports the end of all tools whose end was not seen: it may not be seen any more.
    pub(super) fn release_tools(&mut self) {
        self.events.extend(self.tool_calls.release_pending());
    }

    /// Takes where the key comes from that pays.
    pub(super) fn set_key_source(&mut self, source: Option<&str>) {
        self.facts.api_key_source = source.map(|source| self.summary(source));
    }

    /// Takes the name of a model that answered.
    pub(super) fn answered(&mut self, model: &str) {
        let model = self.summary(model);
        if !model.is_empty() && model != SYNTHETIC && !self.facts.models.contains(&model) {
            self.facts.models.push(model);
        }
    }

    /// Takes that a call was denied.
    pub(super) fn deny(&mut self, id: &str, tool_name: &str) {
        if !self.tool_calls.deny(id) && !tool_name.is_empty() {
            let tool_name = self.summary(tool_name);
            if !self.facts.denied.contains(&tool_name) {
                self.facts.denied.push(tool_name);
            }
        }
    }

    /// Takes that work in the background began. `call` is the id of the call that began it.
    pub(super) fn begin_background(&mut self, id: &str, call: &str, description: &str, is_subagent: bool) {
        let command = self.tool_calls.command(call).filter(|_| !is_subagent);
        let what = command.unwrap_or_else(|| self.summary(description));
        self.background.begin(id, CutOff { what, is_subagent });
    }

    /// Takes the commands that were begun and have no end when the agent ends its turn: what they run is cut off with it.
    pub(super) fn leave_commands(&mut self) {
        for (id, what) in self.tool_calls.pending_commands() {
            self.background.begin(&id, CutOff { what, is_subagent: false });
        }
    }

    /// The end that was reached, if it was, is none: the run goes on.
    pub(super) fn reopen(&mut self) {
        self.is_complete = false;
    }

    pub(super) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Returns what the stream says as a whole.
    pub(super) fn into_report(mut self) -> AgentReport {
        if !self.is_complete {
            self.tool_calls.fail_pending();
        }
        self.tool_calls.fail_left(&self.background);
        let calls = self.tool_calls.into_list();
        let mut facts = AgentFacts { cut_off: self.background.into_cut_off(), ..self.facts };
        for call in calls.iter().filter(|call| call.is_denied) {
            if !facts.denied.contains(&call.tool_name) {
                facts.denied.push(call.tool_name.clone());
            }
        }
        AgentReport {
            succeeded: self.is_complete,
            final_text: self.final_message,
            model: self.model,
            tokens: self.tokens,
            cost_usd: self.cost_usd,
            tool_calls: calls,
            failure: self.failure,
            resets_at: self.resets_at,
            thread: self.thread,
            facts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_answer_keeps_its_end() {
        let mut transcript = Transcript::default();
        for _ in 0..3 {
            transcript.add_to_final_message(&"é".repeat(MAX_MESSAGE_BYTES / 3));
        }
        transcript.add_to_final_message("the end");
        let kept = transcript.into_report().final_text;
        assert!(kept.len() <= MAX_MESSAGE_BYTES && kept.ends_with("the end"));
    }

    #[test]
    fn a_failure_counts_until_the_run_completes() {
        let mut transcript = Transcript::default();
        transcript.complete();
        transcript.fail(Failure::of_words("Rate limit reached"));
        assert!(!transcript.is_complete());
        assert_eq!(transcript.failure().map(|failure| failure.class), Some(FailureClass::RateLimit));
        transcript.complete();
        let events = transcript.take_events();
        assert_eq!(events, [AgentEvent::Error { message: "Rate limit reached".to_owned() }]);
        let report = transcript.into_report();
        assert!(report.succeeded && report.failure.is_none());
    }
}
