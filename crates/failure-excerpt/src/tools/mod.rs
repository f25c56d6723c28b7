//! Matchers for the output of each tool: they know where a failure begins and where it ends.
//!
//! A matcher is asked only about lines that [`prefilter`](super::prefilter) does not skip.

mod blocks;
mod crashes;
mod problems;
mod python;
mod runners;
mod tap;

mod prelude {
    pub(super) use crate::failure::{Failure, FrameOrder, SUITE, Severity, Stage, indent_of, split_location};
    pub(super) use crate::line_kind::{LineKind, is_code, is_external_frame, is_frame, is_value, line_kind};
    pub(super) use crate::location::{extension, file_in, find_location, is_external, is_file};
    pub(super) use crate::page::{MAX_LOOKBACK_LINES, Page};
    pub(super) use crate::words::{contains_any, is_digits, starts_with_any, starts_with_digit, strip_any};

    /// The failure that begins in a line, and the line after its last.
    pub(super) type Found = Option<(Failure, usize)>;
}

use super::page::Page;

pub(super) use crashes::{is_result_summary, is_secondary};
pub(super) use runners::bracketed;

/// Parsers that know more about their tool come first.
const MATCHERS: &[fn(&Page, usize) -> prelude::Found] = &[
    problems::listed,
    crashes::panicked,
    problems::framed,
    python::pytest,
    python::unittest,
    python::traceback,
    runners::go,
    crashes::goroutines,
    runners::bullet,
    runners::marked,
    tap::not_ok,
    tap::failed_test,
    runners::surefire,
    crashes::sanitizer,
    runners::boxed,
    runners::check,
    blocks::block,
    runners::numbered,
    runners::console,
    problems::ruled,
    problems::annotation,
    problems::shellcheck,
    problems::unformatted_file,
    problems::line,
    crashes::line,
];

/// Returns the failure that begins in line `at`, and the line after its last.
pub(super) fn find(page: &Page, at: usize) -> prelude::Found {
    MATCHERS.iter().find_map(|matcher| matcher(page, at))
}
