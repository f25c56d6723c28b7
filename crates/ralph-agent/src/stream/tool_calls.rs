//! The tool calls of a run.

use std::collections::HashMap;
use std::sync::LazyLock;

use redact_stream::Redactor;
use regex::RegexSet;
use serde_json::Value;

use super::background::Background;
use super::command_result::ToolResult;
use ralph_core::record::{AgentEvent, ToolCall, ToolKind, UNFINISHED_COMMAND, summary};

/// Most tool calls that are listed of one run; the transcript has them all.
const MAX_TOOL_CALLS: usize = 10_000;

static DENIALS: LazyLock<RegexSet> = LazyLock::new(|| {
    let rows = include_str!("denied-words.txt").lines().filter(|line| !line.starts_with('#'));
    RegexSet::new(rows.map(|row| format!("(?i){row}"))).expect("a fixed pattern is valid")
});

/// Returns true if the result of a call says that it was not permitted.
fn is_denial(result: &str) -> bool {
    // What is far behind belongs to something else.
    let end = result.char_indices().nth(400).map_or(result.len(), |(end, _)| end);
    DENIALS.is_match(&result[..end])
}

/// The calls so far, and which of them have no answer yet.
#[derive(Debug, Default)]
pub(super) struct ToolCalls {
    list: Vec<ToolCall>,
    /// Where in the list they stand, by their ids.
    pending: HashMap<String, usize>,
    /// Those whose end was reported before it was seen.
    released: HashMap<String, usize>,
    /// Those that ended.
    ended: HashMap<String, usize>,
    /// Of the stream that is read while it grows: the time since the agent's start.
    pub now_ms: Option<u64>,
}

impl ToolCalls {
    /// Begins a call. Returns `None` if it has begun already.
    pub(super) fn start(
        &mut self,
        id: &str,
        tool_name: &str,
        input: &Value,
        redactor: &Redactor,
    ) -> Option<AgentEvent> {
        // Some report a call twice: when it is requested, and when it is made.
        if self.pending.contains_key(id) || self.released.contains_key(id) {
            return None;
        }
        let tool_name: String = summary(&redactor.redact(tool_name));
        let arguments_summary = summary(&redactor.redact(&arguments(input)));
        if self.list.len() < MAX_TOOL_CALLS {
            self.pending.insert(id.to_owned(), self.list.len());
            self.list.push(ToolCall {
                kind: kind(&tool_name),
                tool_name: tool_name.clone(),
                arguments_summary: arguments_summary.clone(),
                result_summary: String::new(),
                is_error: false,
                at_ms: self.now_ms,
                end_ms: None,
                exit_code: None,
                last_line: String::new(),
                is_denied: false,
            });
        }
        Some(AgentEvent::ToolStarted { tool_name, arguments_summary })
    }

    /// Ends a call. Returns `None` if no such call is pending.
    pub(super) fn end(
        &mut self,
        id: &str,
        result: ToolResult<'_>,
        redactor: &Redactor,
    ) -> Option<AgentEvent> {
        let is_pending = self.pending.contains_key(id);
        let place = self.pending.remove(id).or_else(|| self.released.remove(id))?;
        self.ended.insert(id.to_owned(), place);
        let call = self.list.get_mut(place)?;
        call.end_ms = self.now_ms;
        call.is_error = result.is_failure();
        call.is_denied |= result.is_error && is_denial(result.output);
        let output = redactor.redact(result.output);
        call.result_summary = summary(&output);
        if call.kind == ToolKind::Shell {
            let (exit_code, last_line) = result.command_end(&output);
            call.exit_code = exit_code;
            call.is_error |= exit_code.is_some_and(|code| code != 0);
            if call.is_error {
                call.last_line = last_line;
            }
        }
        let tool_name = call.tool_name.clone();
        let result = match call.exit_code {
            _ if !call.last_line.is_empty() => call.last_line.clone(),
            Some(code) if code != 0 => format!("exit {code}"),
            _ => call.result_summary.clone(),
        };
        is_pending.then_some(AgentEvent::ToolEnded { tool_name, is_error: call.is_error, result })
    }

    /// Reports the end of all that are pending. A result that comes later is still taken.
    pub(super) fn release_pending(&mut self) -> Vec<AgentEvent> {
        let events = self
            .pending
            .values()
            .filter_map(|place| {
                let tool_name = self.list.get(*place)?.tool_name.clone();
                Some(AgentEvent::ToolEnded { tool_name, is_error: false, result: String::new() })
            })
            .collect();
        self.released.extend(self.pending.drain());
        events
    }

    /// Marks the commands that are still pending as failed: the agent ended, or was stopped, while they ran.
    pub(super) fn fail_pending(&mut self) {
        for (_, place) in self.pending.drain() {
            if let Some(call) = self.list.get_mut(place).filter(|call| call.kind == ToolKind::Shell) {
                call.is_error = true;
                UNFINISHED_COMMAND.clone_into(&mut call.last_line);
            }
        }
    }

    /// Returns where in the list a call stands.
    fn place(&self, id: &str) -> Option<usize> {
        [&self.ended, &self.pending, &self.released].into_iter().find_map(|calls| calls.get(id)).copied()
    }

    /// Marks a call as one that was not permitted. Returns false if it is not known.
    pub(super) fn deny(&mut self, id: &str) -> bool {
        let call = self.place(id).and_then(|place| self.list.get_mut(place));
        call.map(|call| (call.is_denied, call.is_error) = (true, true)).is_some()
    }

    /// Returns the command that a call ran.
    pub(super) fn command(&self, id: &str) -> Option<String> {
        let call = self.list.get(self.place(id)?).filter(|call| call.kind == ToolKind::Shell)?;
        Some(call.arguments_summary.clone())
    }

    /// Returns the commands that have no end yet, by their ids.
    pub(super) fn pending_commands(&self) -> Vec<(String, String)> {
        let commands = self.pending.keys().filter_map(|id| Some((id.clone(), self.command(id)?)));
        commands.collect()
    }

    /// Marks the commands as failed that a stream shows as begun in the background and that were cut off.
    pub(super) fn fail_left(&mut self, background: &Background) {
        for (id, place) in &self.released {
            if let Some(call) = self.list.get_mut(*place).filter(|_| background.is_running(id)) {
                call.is_error = true;
                UNFINISHED_COMMAND.clone_into(&mut call.last_line);
            }
        }
    }

    pub(super) fn into_list(self) -> Vec<ToolCall> {
        self.list
    }
}

/// Returns what a tool does, by the names that the agents have for theirs.
fn kind(tool_name: &str) -> ToolKind {
    match tool_name.to_ascii_lowercase().as_str() {
        "read"
        | "view"
        | "read_file"
        | "read_files"
        | "read_many_files"
        | "notebookread"
        | "glob"
        | "grep"
        | "ls"
        | "list"
        | "find"
        | "list_directory"
        | "list_files"
        | "search_files"
        | "grep_search"
        | "search_file_content"
        | "rg" => ToolKind::Read,
        "write" | "create" | "write_file" | "create_file" => ToolKind::Write,
        "edit" | "multiedit" | "notebookedit" | "replace" | "editor" | "patch" | "apply_patch"
        | "applypatch" | "file_change" | "str_replace" | "str_replace_editor" => ToolKind::Edit,
        "bash" | "shell" | "run_shell_command" | "execute" | "execute_command" | "run_commands"
        | "command_execution" => ToolKind::Shell,
        _ => ToolKind::Other,
    }
}

/// Returns the argument that says most, else all of them.
fn arguments(input: &Value) -> String {
    let telling = [
        "command",
        "file_path",
        "filePath",
        "notebook_path",
        "pattern",
        "path",
        "url",
        "query",
        "description",
    ];
    if let Some(words) = telling.into_iter().find_map(|key| input[key].as_str()) {
        return words.to_owned();
    }
    let list = ["commands", "files", "changes"].into_iter().find_map(|key| input[key].as_array());
    let of_list = list.and_then(|items| {
        items
            .iter()
            .map(|item| item.as_str().or_else(|| item["path"].as_str()).map(str::to_owned))
            .collect::<Option<Vec<_>>>()
    });
    match (of_list, input) {
        (Some(words), _) => words.join(" "),
        (None, Value::Null) => String::new(),
        (None, Value::String(words)) => words.clone(),
        (None, _) => input.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
    fn the_argument_that_says_most_is_shown() {
        for (input, shown) in [
            (json!({"description": "d", "command": "cargo test"}), "cargo test"),
            (json!({"filePath": "a.rs", "oldString": "x"}), "a.rs"),
            (json!({"files": [{"path": "a"}, {"path": "b"}]}), "a b"),
            (json!({"commands": ["ls", "pwd"]}), "ls pwd"),
            (json!({"commands": [1]}), "{\"commands\":[1]}"),
            (json!("raw"), "raw"),
            (Value::Null, ""),
        ] {
            assert_eq!(arguments(&input), shown);
        }
    }

    #[test]
    fn a_call_that_is_reported_twice_is_one_call() {
        let (mut calls, redactor) = (ToolCalls::default(), Redactor::default());
        let begun =
            [(); 2].map(|()| calls.start("c", "Bash", &json!({"command": "ls"}), &redactor).is_some());
        let ended = [("out\nput", true), ("again", false)];
        let ended = ended.map(|(output, is_error)| {
            let result = ToolResult { output, is_error, exit_code: None };
            calls.end("c", result, &redactor).is_some()
        });
        let list = calls.into_list();
        assert_eq!((begun, ended, list.len()), ([true, false], [true, false], 1));
        assert_eq!((list[0].kind, list[0].result_summary.as_str()), (ToolKind::Shell, "out put"));
        assert!(list[0].is_error);
    }
}
