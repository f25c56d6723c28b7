//! What a stream says beside the work: who pays, which models answer, which calls are denied, what goes on in the background.

use std::sync::LazyLock;

use regex::RegexSet;
use serde_json::Value;

use super::fields::text;
use super::transcript::Transcript;
use ralph_core::record::{CutOff, Parser};

/// What streams say: the event as `type/subtype`, the fact, and where in the event it is. `key` is the source of the key that pays,
/// `models` one name or an object whose keys are names, `denied` a list of calls that were denied.
const FACTS: &[(Parser, &str, &str, &str)] = &[
    (Parser::Claude, "system/init", "key", "/apiKeySource"),
    (Parser::Claude, "result", "models", "/modelUsage"),
    (Parser::Claude, "result", "denied", "/permission_denials"),
    (Parser::Qwen, "result", "models", "/stats/models"),
    (Parser::Qwen, "result", "denied", "/permission_denials"),
    (Parser::Gemini, "result", "models", "/stats/models"),
    (Parser::Copilot, "assistant.message", "models", "/data/model"),
    (Parser::Pi, "message_end", "models", "/message/model"),
    (Parser::Cline, "run_result", "models", "/model/id"),
];

static DENIALS: LazyLock<RegexSet> = LazyLock::new(|| {
    let rows = include_str!("denied-words.txt").lines().filter(|line| !line.starts_with('#'));
    RegexSet::new(rows.map(|row| format!("(?i){row}"))).expect("a fixed pattern is valid")
});

/// Returns true if the result of a call says that it was not permitted.
pub(super) fn is_denial(result: &str) -> bool {
    // What is far behind belongs to something else.
    let end = result.char_indices().nth(400).map_or(result.len(), |(end, _)| end);
    DENIALS.is_match(&result[..end])
}

/// Takes what an event says of these.
pub(super) fn read_facts(parser: Parser, event: &Value, transcript: &mut Transcript) {
    let (kind, subtype) = (text(event, "type"), text(event, "subtype"));
    for (_, wanted, fact, pointer) in FACTS.iter().filter(|(of, ..)| *of == parser) {
        let (of_type, of_subtype) = wanted.split_once('/').unwrap_or((wanted, ""));
        if of_type != kind || !of_subtype.is_empty() && of_subtype != subtype {
            continue;
        }
        let Some(value) = event.pointer(pointer) else { continue };
        match *fact {
            "key" => transcript.set_key_source(value.as_str()),
            "models" => {
                let names = value.as_object().into_iter().flat_map(|models| models.keys());
                names.map(String::as_str).chain(value.as_str()).for_each(|name| transcript.answered(name));
            }
            _ => {
                for call in value.as_array().into_iter().flatten() {
                    transcript.deny(text(call, "tool_use_id"), text(call, "tool_name"));
                }
            }
        }
    }
}

/// Work in the background that a stream shows as begun.
#[derive(Debug, Default)]
pub(super) struct Background(Vec<BackgroundTask>);

#[derive(Debug)]
struct BackgroundTask {
    id: String,
    work: CutOff,
    state: BackgroundState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BackgroundState {
    Running,
    Ended,
    /// It was stopped, and no result came since that could know of it.
    Stopped,
}

impl Background {
    pub(super) fn begin(&mut self, id: &str, work: CutOff) {
        if self.0.iter().all(|task| task.id != id) {
            self.0.push(BackgroundTask { id: id.to_owned(), work, state: BackgroundState::Running });
        }
    }

    pub(super) fn end(&mut self, id: &str, status: &str) {
        let is_stopped = ["killed", "stopped", "cancelled", "canceled"].contains(&status);
        let state = if is_stopped { BackgroundState::Stopped } else { BackgroundState::Ended };
        if let Some(task) = self.0.iter_mut().find(|task| task.id == id) {
            task.state = state;
        }
    }

    /// A result came: what was stopped before it, the agent knows of.
    pub(super) fn settle(&mut self) {
        for task in self.0.iter_mut().filter(|task| task.state == BackgroundState::Stopped) {
            task.state = BackgroundState::Ended;
        }
    }

    pub(super) fn has_subagent(&self) -> bool {
        self.0.iter().any(|task| task.work.is_subagent && task.state == BackgroundState::Running)
    }

    pub(super) fn is_running(&self, id: &str) -> bool {
        self.0.iter().any(|task| task.id == id && task.state == BackgroundState::Running)
    }

    /// Returns what did not come to its end.
    pub(super) fn into_cut_off(self) -> Vec<CutOff> {
        self.0.into_iter().filter(|task| task.state != BackgroundState::Ended).map(|task| task.work).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_is_not_permitted_is_known_by_the_words_of_each_agent() {
        for words in [
            "Claude requested permissions to write to a, but you have not granted it yet.",
            "Permission to use Bash with command npm test has been denied.",
            "This command requires approval",
            "PreToolUse:Write hook error: no writes here",
            "The user rejected permission to use this specific tool call.",
            "The user has specified a rule which prevents you from using this specific tool call.",
            "patch rejected: writing outside of the project; rejected by user approval settings",
            "Qwen Code requires permission to use \"write_file\", but that permission was declined",
            "Permission denied and could not request permission from user",
            "Tool execution denied by policy.",
            "insufficient permission to proceed. Re-run with --auto medium",
        ] {
            assert!(is_denial(words), "{words}");
        }
        for words in [
            "sh: 1: ./check.sh: Permission denied",
            "EACCES: permission denied, open '/etc/passwd'",
            "remote: Permission to a/b.git denied to c.",
            "test rejects a user that is not allowed ... FAILED",
            "",
        ] {
            assert!(!is_denial(words), "{words}");
        }
    }

    #[test]
    fn what_was_stopped_before_a_result_is_no_loss() {
        let work = |is_subagent| CutOff { what: "x".to_owned(), is_subagent };
        for (steps, expected) in [
            ("b", 1),
            ("b completed", 0),
            ("b failed", 0),
            ("b killed", 1),
            ("b killed result", 0),
            ("b result", 1),
            ("b result killed", 1),
            ("killed", 0),
        ] {
            let mut background = Background::default();
            for step in steps.split(' ') {
                match step {
                    "b" => background.begin("1", work(false)),
                    "result" => background.settle(),
                    status => background.end("1", status),
                }
            }
            assert_eq!(background.into_cut_off().len(), expected, "{steps}");
        }
        let mut background = Background::default();
        background.begin("1", work(true));
        assert!(background.has_subagent());
        background.end("1", "completed");
        assert!(!background.has_subagent());
    }
}
