//! `[loop.<type>]`: what is different for a type of loop. Read and checked here, heeded by a later version.

use super::setting::Setting;

/// When a loop of a type is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    Tasks,
    Validation,
}

impl Until {
    pub(super) const ALL: &[(&str, Self)] = &[("tasks", Self::Tasks), ("validation", Self::Validation)];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tasks => "tasks",
            Self::Validation => "validation",
        }
    }
}

/// One `[loop.<type>]`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LoopSettings {
    pub template: Option<String>,
    pub artifact: Option<String>,
    pub until: Option<Until>,
    /// Any setting, with its own name, for this type alone.
    pub settings: Vec<Setting>,
}

impl LoopSettings {
    pub(super) const FIELDS: &[&str] = &["template", "artifact", "until"];
}
