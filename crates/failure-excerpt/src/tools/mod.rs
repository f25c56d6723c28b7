//! Matchers for the output of each tool: they know where a failure begins and where it ends.
//!
//! A matcher is asked only about lines that [`prefilter`](super::prefilter) does not skip.

mod blocks;
mod crashes;
mod prelude;
mod problems;
mod python;
mod runners;
mod tap;

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
