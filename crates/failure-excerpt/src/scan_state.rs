//! The state that a scan carries from line to line.

/// What earlier lines say about the current one.
#[derive(Debug, Default)]
pub(super) struct ScanState {
    /// The index of the last line that held only a file name, as linters print it above the problems in it.
    pub(super) file_heading: Option<usize>,
    /// The index of the line with the number of failing tests, of runners that list them after it.
    pub(super) failing_count: Option<usize>,
    /// The number of the last item in a numbered list of failures.
    pub(super) last_item_number: u32,
    /// True inside pytest's list of failures.
    pub(super) in_pytest_failures: bool,
}
