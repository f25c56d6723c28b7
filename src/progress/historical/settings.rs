//! What the user wants to be told of older iterations.

/// How much of older iterations is told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// Nothing.
    #[default]
    Off,
    /// What has to do with the task.
    Smart,
    /// Everything, as far as the budget allows.
    Full,
}

impl Mode {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Smart => "smart",
            Self::Full => "full",
        }
    }
}

/// What becomes of failures that came more than once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Repeats {
    /// The newest is told in full, of the others what was tried.
    #[default]
    Merged,
    /// Each is told in full.
    Kept,
}

/// What the user wants told.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HistorySettings {
    pub mode: Mode,
    /// In tokens.
    pub budget: usize,
    /// So many of the newest iterations, of the failures of the task, and of those like them; none for all.
    pub lookback: Option<usize>,
    /// Least relevance, from 0 to 1.
    pub threshold: f64,
    pub failures: bool,
    pub decisions: bool,
    pub approaches: bool,
    pub repeats: Repeats,
}

impl Default for HistorySettings {
    fn default() -> Self {
        Self {
            mode: Mode::Off,
            budget: 10_000,
            lookback: Some(5),
            threshold: 0.7,
            failures: true,
            decisions: true,
            approaches: true,
            repeats: Repeats::Merged,
        }
    }
}
