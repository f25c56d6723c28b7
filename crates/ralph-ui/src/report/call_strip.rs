//! The tool calls of an iteration as a strip: a cell each where it began, or in their order where no times are known.

use serde::Serialize;

use crate::style::duration;
use ralph_core::record::{ToolCall, ToolKind};

/// Classes of the style, in the order in which they are named.
const CLASSES: [&str; 5] = ["read", "edit", "shell", "other", "failed"];
/// Pixels of a cell, and of a whole strip that shows times.
const CELL_PIXELS: u64 = 14;
const TIMES_PIXELS: u64 = 840;

#[derive(Serialize)]
pub(super) struct CallStrip {
    /// Its inner width.
    units: u64,
    pixels: u64,
    /// `3 read, 2 edit, 1 failed`
    pub label: String,
    /// What the place of a cell means.
    pub order: String,
    /// For each class, the cells as one path.
    paths: Vec<(&'static str, String)>,
}

/// Returns the strip, or `None` if there is no more than one call. The agent ran for `ran_ms`.
pub(super) fn call_strip(calls: &[ToolCall], ran_ms: Option<u64>) -> Option<CallStrip> {
    if calls.len() < 2 {
        return None;
    }
    let times: Option<Vec<u64>> = calls.iter().map(|call| call.at_ms).collect();
    let ran_ms = ran_ms.filter(|ms| *ms > 0);
    let (units, pixels, order, places, width) = if let (Some(times), Some(ms)) = (times, ran_ms) {
        // A cell at the end has its width, too.
        let place = |at: u64| at.min(ms).saturating_mul(TIMES_PIXELS - 4) / ms;
        let places = times.into_iter().map(place).collect();
        (TIMES_PIXELS, TIMES_PIXELS, format!("as they began, in {}", duration(ms)), places, "4")
    } else {
        let places: Vec<u64> = (0..).take(calls.len()).collect();
        let units = places.len() as u64;
        (units, units * CELL_PIXELS, "in their order".to_owned(), places, ".8")
    };
    let mut paths: Vec<(&'static str, String)> = Vec::new();
    let mut counts: Vec<String> = Vec::new();
    for class in CLASSES {
        let of_class = calls.iter().zip(&places).filter(|(call, _)| class_of(call) == class);
        let marks: Vec<String> = of_class.map(|(_, place)| format!("M{place} 0h{width}")).collect();
        if !marks.is_empty() {
            counts.push(format!("{} {class}", marks.len()));
            paths.push((class, marks.concat()));
        }
    }
    Some(CallStrip { units, pixels, label: counts.join(", "), order, paths })
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
        let call = |kind, is_error, at_ms| ToolCall {
            tool_name: "<x>".to_owned(),
            kind,
            arguments_summary: String::new(),
            result_summary: String::new(),
            is_error,
            at_ms: Some(at_ms),
            exit_code: None,
            last_line: String::new(),
        };
        let mut calls = [
            call(ToolKind::Read, false, 0),
            call(ToolKind::Write, false, 250),
            call(ToolKind::Shell, true, 500),
            call(ToolKind::Edit, false, 9999),
        ];
        let label = "1 read, 2 edit, 1 failed";
        let drawn = |strip: CallStrip| {
            let paths = strip.paths.iter().map(|(class, path)| format!("{class} {path}"));
            (strip.label, strip.order, strip.units, paths.collect::<Vec<_>>().join(" "))
        };
        let (order, drawing) =
            ("as they began, in 1.0 s", "read M0 0h4 edit M209 0h4M836 0h4 failed M418 0h4");
        let by_time = drawn(call_strip(&calls, Some(1000)).unwrap());
        assert_eq!(by_time, (label.to_owned(), order.to_owned(), 840, drawing.to_owned()));
        // A call of which no time is known leaves their order.
        calls[3].at_ms = None;
        let (order, drawing) = ("in their order", "read M0 0h.8 edit M1 0h.8M3 0h.8 failed M2 0h.8");
        let by_order = drawn(call_strip(&calls, Some(1000)).unwrap());
        assert_eq!(by_order, (label.to_owned(), order.to_owned(), 4, drawing.to_owned()));
        assert!(call_strip(&calls[..1], None).is_none());
    }
}
