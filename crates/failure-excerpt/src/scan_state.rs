//! What a scan keeps from line to line.

/// What the lines above say about those below.
#[derive(Debug, Default)]
pub(super) struct ScanState {
    /// The last line that was nothing but the name of a file, as linters put it above its problems.
    pub(super) file: Option<usize>,
    /// The line that says how many tests are failing, of runners that list them after it.
    pub(super) failing: Option<usize>,
    /// The number of the last item in a numbered list of failures.
    pub(super) number: u32,
    /// Whether the failures of pytest are being listed.
    pub(super) is_pytest: bool,
}
