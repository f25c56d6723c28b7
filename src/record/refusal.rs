//! Why something cannot start.

use std::fmt;

/// A condition that the user has to change first: what is wrong, where, and what to do about it.
///
/// Travels through `anyhow`; the command line finds it there and exits with 3.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    message: String,
    hint: Option<String>,
}

impl Refusal {
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    #[must_use]
    pub fn hinted(mut self, hint: impl Into<String>) -> Self {
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
