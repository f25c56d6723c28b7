//! What every matcher uses.

pub(super) use crate::failure::{Failure, FrameOrder, SUITE, Severity, Stage, indent_of, split_location};
pub(super) use crate::line_kind::{LineKind, is_code, is_external_frame, is_frame, is_value, line_kind};
pub(super) use crate::location::{extension, file_in, find_location, is_external, is_file};
pub(super) use crate::page::{MAX_LOOKBACK_LINES, Page};
pub(super) use crate::words::{contains_any, is_digits, starts_with_any, starts_with_digit, strip_any};

/// The failure that begins in a line, and the line after its last.
pub(super) type Found = Option<(Failure, usize)>;

/// Units of durations, the longer ones first.
const UNITS: &[&str] = &["sec", "ms", "µs", "μs", "ns", "s", "m", "h"];

/// Returns a name without ` (0.25ms)`, ` 12ms`, ` [3.00 ms]`, ` in 3s` at its end.
pub(super) fn without_duration(name: &str) -> &str {
    let bare = name.trim_end_matches([')', ']']);
    let number = UNITS.iter().find_map(|unit| bare.strip_suffix(unit)).unwrap_or(bare).trim_end();
    let front = number.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ':' | ','));
    if number.len() == bare.len() || front.len() == number.len() || !front.ends_with([' ', '(', '[']) {
        return name;
    }
    let front = front.trim_end_matches([' ', '(', '[', '<']);
    front.strip_suffix(" in").unwrap_or(front)
}
