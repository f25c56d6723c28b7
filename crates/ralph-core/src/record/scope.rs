//! The part of a task list that a session works on.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Tasks, phases and stories as the user named them; a task is in the scope if any of them names it. It is read again
/// with every change of the list, so that a task that joins a phase joins the scope.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// Names, lists and ranges: `T001,T004-T009`.
    pub tasks: Vec<String>,
    /// Numbers, headings, or parts of headings.
    pub phases: Vec<String>,
    /// `US1`
    pub stories: Vec<String>,
}

impl Scope {
    /// Returns true if nothing was chosen: all of the list is in it.
    pub fn is_all(&self) -> bool {
        self.tasks.is_empty() && self.phases.is_empty() && self.stories.is_empty()
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tasks = self.tasks.iter().map(|names| names.replace(',', ", "));
        let parts: Vec<String> = tasks
            .chain(self.phases.iter().map(|name| with_kind("phase ", name)))
            .chain(self.stories.iter().map(|name| with_kind("US", name)))
            .collect();
        f.write_str(&parts.join(", "))
    }
}

/// Puts the kind before a name that is only a number.
fn with_kind(kind: &str, name: &str) -> String {
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("{kind}{name}") } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_is_shown_as_it_was_named() {
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let scope = Scope {
            tasks: list(&["T001,T004-T009"]),
            phases: list(&["2", "Polish"]),
            stories: list(&["us1", "3"]),
        };
        assert_eq!(scope.to_string(), "T001, T004-T009, phase 2, Polish, us1, US3");
        assert!(!scope.is_all());
        assert!(Scope::default().is_all());
    }
}
