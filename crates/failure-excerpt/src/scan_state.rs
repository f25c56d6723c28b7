//! The state that a scan carries from line to line.

/// What earlier lines say about the current one.
#[derive(Debug, Default)]
pub(super) struct ScanState {
    /// The last line that held only a file name, as linters print it above the problems in it.
    pub(super) file: Option<usize>,
    /// The line with the number of failing tests, of runners that list them after it.
    pub(super) failing: Option<usize>,
    /// The number of the last item in a numbered list of failures.
    pub(super) number: u32,
    /// True inside pytest's list of failures.
    pub(super) is_pytest: bool,
}
