//! What the output of each tool looks like: small machines that know where a trouble begins and where it ends.

mod diagnostic;
mod go;
mod javascript;
mod jvm;
mod native;
mod numbered;
mod python;
mod rust;
mod shell;
mod tap;

use super::page::Page;
use super::scan::Above;
use super::trouble::Trouble;

pub(super) use native::boxed;

/// Looks at a line: the trouble that begins there, and the line behind its last.
pub(super) type Machine = fn(&Page, usize, &mut Above) -> Option<(Trouble, usize)>;

/// Those that know more about their tool come first.
pub(super) fn machines() -> &'static [Machine] {
    &[
        diagnostic::stylish,
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
        diagnostic::shellcheck,
        diagnostic::line,
        shell::format,
        shell::line,
    ]
}

/// The first line from `from` on for which `is_end` holds, or the end of the stream.
fn until(page: &Page, from: usize, mut is_end: impl FnMut(&str) -> bool) -> usize {
    // A block of more lines is no block of one trouble.
    let end = page.end_of_stream(from.min(page.len().saturating_sub(1))).min(from + 1500);
    (from..end).find(|&at| is_end(page.line(at))).unwrap_or(end)
}
