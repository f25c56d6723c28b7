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

/// How repeated failures are rendered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Repeats {
    /// The newest in full, of the others only what was tried.
    #[default]
    Merged,
    /// Each in full.
    Kept,
}

/// Settings of the memory in a prompt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HistorySettings {
    pub mode: Mode,
    /// In tokens.
    pub budget: usize,
    /// Number of iterations considered in each group: the newest, failures of the task, similar failures. `None` for all.
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
