//! Matchers for the output of each tool: they know where a failure begins and where it ends.
//!
//! A matcher is asked only about lines that [`prefilter`](super::prefilter) does not skip.

mod diagnostic;
mod go;
mod javascript;
mod jvm;
mod listed;
mod native;
mod numbered;
mod python;
mod report_lines;
mod runner_lines;
mod rust;
mod shell;
mod tap;

use super::failure::Failure;
use super::page::Page;
use super::scan_state::ScanState;

pub(super) use native::bracketed;
pub(super) use runner_lines::is_result_summary;
pub(super) use shell::is_secondary;

/// Looks at a line: the failure that begins there, and the line after its last.
pub(super) type Matcher = fn(&Page, usize, &mut ScanState) -> Option<(Failure, usize)>;

/// Parsers that know more about their tool come first.
pub(super) fn matchers() -> &'static [Matcher] {
    &[
        listed::stylish,
        rust::test,
        rust::panic,
        rust::framed,
        python::pytest,
        python::unittest,
        python::traceback,
        go::test,
        go::panic,
        javascript::bullet,
        javascript::marked,
        javascript::dart,
        javascript::deno,
        tap::not_ok,
        tap::failed_test,
        jvm::surefire,
        jvm::gradle,
        jvm::exception,
        native::sanitizer,
        native::gtest,
        native::catch,
        native::dotnet,
        native::ctest,
        numbered::item,
        numbered::load,
        runner_lines::busted,
        runner_lines::julia,
        report_lines::ruled,
        report_lines::prettier,
        report_lines::columns,
        report_lines::annotation,
        report_lines::table,
        report_lines::console,
        listed::shellcheck,
        diagnostic::line,
        shell::unformatted_file,
        shell::line,
    ]
}
