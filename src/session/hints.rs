//! What people say in other terminals for the next prompt.

use camino::Utf8PathBuf;

use crate::record::{Iteration, Outcome};

/// What the next prompt shall say beyond the template.
#[derive(Debug, Default)]
pub struct Hints {
    /// In a prompt before, of which no agent heard the end.
    pub kept: Vec<String>,
    /// Files of those that came since.
    pub new: Vec<Utf8PathBuf>,
}

impl Hints {
    /// Those of the last iteration, where it was interrupted.
    pub fn of_last(iteration: &Iteration) -> Self {
        let is_unheard = iteration.outcome == Outcome::Interrupted;
        Self { kept: if is_unheard { iteration.hints.clone() } else { Vec::new() }, new: Vec::new() }
    }
}
