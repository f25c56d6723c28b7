//! Records to test with.

use crate::record::{Iteration, Outcome, samples};

/// Returns an iteration that changed two files and learned something.
pub(super) fn iteration(outcome: Outcome) -> Iteration {
    Iteration {
        files_changed: vec!["src/a.rs".to_owned(), "src/b.rs".to_owned()],
        learnings: vec!["The lexer keeps comments".to_owned()],
        ..samples::iteration(outcome)
    }
}
