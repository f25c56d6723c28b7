//! An error that the user can correct, with a hint.

use std::fmt;

/// An error that the user can correct. Nothing was changed. `anyhow::Error` carries it; `downcast_ref` finds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub message: String,
    pub hint: Option<String>,
}

impl Refusal {
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    /// Adds a hint: what the user can do.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Refusal {}

#[cfg(test)]
mod tests {
    use anyhow::{Context, Error};

    use super::*;

    #[test]
    fn a_refusal_is_found_under_context_and_its_hint_has_a_line_of_its_own() {
        let refusal = Refusal::new("no tasks.md").with_hint("run /speckit.tasks");
        let error: Error = Err::<(), _>(refusal).context("find the feature").unwrap_err();
        assert_eq!(format!("{error:#}"), "find the feature: no tasks.md\nhint: run /speckit.tasks");
        assert!(error.downcast_ref::<Refusal>().is_some());
    }
}
