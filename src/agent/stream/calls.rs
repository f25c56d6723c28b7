//! The tool calls of a run.

use std::collections::HashMap;

use serde_json::Value;

use crate::record::{AgentEvent, ToolCall, ToolKind, summary};

/// Most tool calls that are listed of one run; the transcript has them all.
const MOST: usize = 10_000;

/// The calls so far, and which of them have no answer yet.
#[derive(Debug, Default)]
pub(super) struct Calls {
    list: Vec<ToolCall>,
    /// Where in the list they stand, by their ids.
    pending: HashMap<String, usize>,
}

impl Calls {
    pub(super) fn start(
        &mut self,
        id: &str,
        tool_name: &str,
        input: &Value,
        say: &mut dyn FnMut(AgentEvent),
    ) {
        // Some tell of a call twice: when it was asked for, and when it is made.
        if self.pending.contains_key(id) {
            return;
        }
        let tool_name: String = summary(tool_name);
        let arguments_summary = summary(&arguments(input));
        say(AgentEvent::ToolStarted {
            tool_name: tool_name.clone(),
            arguments_summary: arguments_summary.clone(),
        });
        if self.list.len() < MOST {
            self.pending.insert(id.to_owned(), self.list.len());
            self.list.push(ToolCall {
                kind: kind(&tool_name),
                tool_name,
                arguments_summary,
                result_summary: String::new(),
                is_error: false,
            });
        }
    }

    pub(super) fn end(&mut self, id: &str, result: &str, is_error: bool, say: &mut dyn FnMut(AgentEvent)) {
        let Some(place) = self.pending.remove(id) else { return };
        let Some(call) = self.list.get_mut(place) else { return };
        call.is_error = is_error;
        call.result_summary = summary(result);
        say(AgentEvent::ToolEnded { tool_name: call.tool_name.clone(), is_error });
    }

    pub(super) fn into_list(self) -> Vec<ToolCall> {
        self.list
    }
}

/// What a tool does, by the names that the agents have for theirs.
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

/// The argument that says most, else all of them.
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
        let words = |item: &Value| item.as_str().or_else(|| item["path"].as_str()).map(str::to_owned);
        items.iter().map(words).collect::<Option<Vec<_>>>()
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
    fn a_call_that_is_told_twice_is_one_call() {
        let mut calls = Calls::default();
        let mut said = 0;
        for _ in 0..2 {
            calls.start("c", "Bash", &json!({"command": "ls"}), &mut |_| said += 1);
        }
        calls.end("c", "out\nput", true, &mut |_| said += 1);
        calls.end("c", "again", false, &mut |_| said += 1);
        let list = calls.into_list();
        assert_eq!((said, list.len()), (2, 1));
        assert_eq!((list[0].kind, list[0].result_summary.as_str()), (ToolKind::Shell, "out put"));
        assert!(list[0].is_error);
    }
}
