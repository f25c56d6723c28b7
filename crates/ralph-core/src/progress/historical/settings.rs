//! What the user wants a prompt to contain about older iterations.

/// How much of older iterations a prompt contains.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// Nothing.
    #[default]
    Off,
    /// What is relevant to the task.
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

/// Settings of the memory in a prompt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HistorySettings {
    pub mode: Mode,
    /// In tokens.
    pub budget: usize,
    /// Number of iterations of each kind: of the task, of the same cause, of the same file, the newest. `None` for all.
    pub lookback: Option<usize>,
    /// Which kinds: 1 for the task alone, from 0.9 on the same cause, from 0.8 the same file, from 0.7 the newest.
    pub threshold: f64,
    pub failures: bool,
    pub decisions: bool,
    pub approaches: bool,
    /// True if failures of one cause are told as one, with what was tried in each.
    pub merge_repeats: bool,
    /// True if the user asked for a history: then the newest failures of other tasks are told, too.
    pub is_asked: bool,
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
            merge_repeats: true,
            is_asked: false,
        }
    }
}
