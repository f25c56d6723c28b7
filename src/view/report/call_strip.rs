//! The tool calls of an iteration as a strip, a cell each, in their order: the record has no times of them.

use serde::Serialize;

use crate::record::{ToolCall, ToolKind};

/// Classes of the style, in the order in which they are named.
const CLASSES: [&str; 5] = ["read", "edit", "shell", "other", "failed"];

#[derive(Serialize)]
pub(super) struct CallStrip {
    cells: usize,
    /// `3 read, 2 edit, 1 failed`
    pub label: String,
    /// For each class, the cells as one path.
    paths: Vec<(&'static str, String)>,
}

/// Returns the strip, or `None` if there is no more than one call.
pub(super) fn call_strip(calls: &[ToolCall]) -> Option<CallStrip> {
    if calls.len() < 2 {
        return None;
    }
    let mut paths: Vec<(&'static str, String)> = Vec::new();
    let mut counts: Vec<String> = Vec::new();
    for class in CLASSES {
        let places: Vec<usize> = (0..calls.len()).filter(|place| class_of(&calls[*place]) == class).collect();
        if !places.is_empty() {
            counts.push(format!("{} {class}", places.len()));
            paths.push((class, places.iter().map(|place| format!("M{place} 0h.8")).collect()));
        }
    }
    Some(CallStrip { cells: calls.len(), label: counts.join(", "), paths })
}

fn class_of(call: &ToolCall) -> &'static str {
    match call.kind {
        _ if call.is_error => "failed",
        ToolKind::Read => "read",
        ToolKind::Write | ToolKind::Edit => "edit",
        ToolKind::Shell => "shell",
        ToolKind::Other | ToolKind::Later(_) => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_is_a_cell_in_the_color_of_what_it_does() {
        let call = |kind, is_error| ToolCall {
            tool_name: "<x>".to_owned(),
            kind,
            arguments_summary: String::new(),
            result_summary: String::new(),
            is_error,
            exit_code: None,
            last_line: String::new(),
        };
        let calls = [
            call(ToolKind::Read, false),
            call(ToolKind::Write, false),
            call(ToolKind::Shell, true),
            call(ToolKind::Edit, false),
        ];
        let strip = call_strip(&calls).unwrap();
        assert_eq!((strip.cells, strip.label.as_str()), (4, "1 read, 2 edit, 1 failed"));
        let paths: Vec<_> = strip.paths.iter().map(|(class, path)| (*class, path.as_str())).collect();
        assert_eq!(paths, [("read", "M0 0h.8"), ("edit", "M1 0h.8M3 0h.8"), ("failed", "M2 0h.8")]);
        assert!(call_strip(&calls[..1]).is_none());
    }
}
