//! The key of a failure's cause, by which all lists and counts compare.

use crate::progress::cause::OPEN_BOX;
use crate::record::{Exits, FailureClass, Iteration, LogEntry, Outcome};

/// Equal for failures of one cause.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum FailureKey {
    /// The fingerprint of the validation that failed; of an assertion its words, without the numbers in them.
    Validation(String),
    /// The class of the agent's own failure, and its words without what changes from run to run.
    Agent(Option<FailureClass>, String),
    /// The fingerprint of what the agent asked the user.
    Question(String),
    /// The fingerprint of why a box was left open.
    OpenBox(String),
}

impl FailureKey {
    /// Returns the key of an iteration; `None` if it did not fail, or if neither its agent nor its validation said how.
    pub fn of(iteration: &Iteration) -> Option<Self> {
        let Iteration { outcome, fingerprint, exit, failure_class, cause, .. } = iteration;
        Self::new(*outcome, fingerprint.as_deref(), *exit, *failure_class, cause.as_deref())
    }

    /// Returns the same from what a listing says.
    pub fn of_entry(entry: &LogEntry) -> Option<Self> {
        // Of thousands of entries only failures are looked at.
        let outcome = entry.outcome().filter(|outcome| *outcome == Outcome::Failure)?;
        Self::new(outcome, entry.fingerprint(), entry.exit(), entry.failure_class(), entry.cause())
    }

    /// Returns the key of what [`Self::of`] reads from a record.
    pub fn new(
        outcome: Outcome,
        fingerprint: Option<&str>,
        exit: Exits,
        class: Option<FailureClass>,
        cause: Option<&str>,
    ) -> Option<Self> {
        if outcome != Outcome::Failure || class.is_some_and(FailureClass::is_conflict) {
            return None;
        }
        if class.is_some_and(FailureClass::is_question) {
            let question = fingerprint.map(str::to_owned).or_else(|| cause.map(without_details))?;
            return Some(Self::Question(question));
        }
        if class.is_some_and(FailureClass::is_policy) {
            return None;
        }
        if let Some(open) = fingerprint.filter(|fingerprint| fingerprint.starts_with(OPEN_BOX)) {
            return Some(Self::OpenBox(open.to_owned()));
        }
        // A validation that passed says nothing of a failure.
        if let Some(fingerprint) = fingerprint.filter(|_| exit.validation != Some(0)) {
            return Some(Self::Validation(
                cause.and_then(without_values).unwrap_or_else(|| fingerprint.to_owned()),
            ));
        }
        let has_agent_failed = class.is_some() || exit.agent.is_some_and(|code| code != 0);
        let words = cause.filter(|_| has_agent_failed)?;
        Some(Self::Agent(class, without_details(words)))
    }

    /// Returns the fingerprint that a record of it has, for a failure of a validation and for a question.
    pub fn fingerprint(&self, recorded: Option<&str>) -> Option<String> {
        match self {
            Self::Validation(_) => recorded.map(str::to_owned),
            Self::Question(fingerprint) | Self::OpenBox(fingerprint) => Some(fingerprint.clone()),
            Self::Agent(..) => None,
        }
    }
}

/// What says that values were compared.
const COMPARED: [&str; 8] = ["expected", "received", "left:", "right:", "actual", "got ", " != ", " == "];

/// Returns the words of an assertion without the numbers that were compared: one that fails by another number is the same
/// failure. `None` if there is no name before them, by which it is known again.
fn without_values(cause: &str) -> Option<String> {
    let lower = cause.to_ascii_lowercase();
    let at = COMPARED.iter().filter_map(|word| lower.find(word)).min()?;
    let (name, values) = cause.split_at(at);
    let name = name.trim_end_matches(|c: char| !c.is_alphanumeric());
    let is_named =
        !name.is_empty() && !["Error", "Exception", "Failure"].iter().any(|end| name.ends_with(end));
    let mut plain = name.to_owned();
    for c in values.chars() {
        let is_number = c.is_ascii_digit() || matches!(c, '.' | ',') && plain.ends_with('0');
        match (is_number, plain.ends_with('0')) {
            (false, _) => plain.push(c),
            (true, false) => plain.push('0'),
            (true, true) => {}
        }
    }
    is_named.then_some(plain)
}

/// Words without their numbers, times and paths.
fn without_details(words: &str) -> String {
    let mut plain = String::new();
    for word in words.split_whitespace() {
        if !plain.is_empty() {
            plain.push(' ');
        }
        if word.contains(['/', '\\']) {
            plain.push('/');
            continue;
        }
        let mut digits = false;
        for c in word.chars() {
            if !c.is_ascii_digit() {
                plain.push(c);
            } else if !digits {
                plain.push('0');
            }
            digits = c.is_ascii_digit();
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_alike_by_fingerprint_or_by_the_agents_words() {
        let key = |fingerprint, agent, validation, class, cause| {
            let exit = Exits { agent: Some(agent), validation };
            FailureKey::new(Outcome::Failure, fingerprint, exit, class, cause)
        };
        let words = |cause| key(None, 3, None, None, Some(cause));
        assert_eq!(words("exited 3: no /tmp/a1 at 12:05"), words("exited 3: no /var/b at 7:31"));
        assert_eq!(words("waited 10s of 60s"), words("waited 7s of 60s"));
        assert_ne!(words("npm ERR! network"), words("npm ERR! disk"));
        let network = Some(FailureClass::Network);
        assert_ne!(key(None, 1, None, network, Some("x")), key(None, 1, None, None, Some("x")));
        assert_eq!(key(Some("a"), 0, Some(1), None, Some("x")), Some(FailureKey::Validation("a".to_owned())));
        let failed = |print, cause| key(Some(print), 0, Some(1), None, Some(cause));
        for (one, other, is_same) in [
            (
                "round › even: expected 12.34, received 12.35",
                "round › even: expected 12.34, received 12.36",
                true,
            ),
            ("merge: left: 1, right: 20 (a.rs:7)", "merge: left: 1, right: 3 (a.rs:12)", true),
            ("thing 1 › works: expected 1, received 2", "thing 2 › works: expected 1, received 2", false),
            (
                "round › even: expected 12.34, received 12.35",
                "round › even: expected 12.34, received null",
                false,
            ),
            // Without a name it may be any test.
            ("AssertionError: expected 1, got 2", "AssertionError: expected 3, got 4", false),
            ("2 of 7 tests failed", "3 of 7 tests failed", false),
        ] {
            assert_eq!(failed("a", one) == failed("b", other), is_same, "{other}");
        }
        let question = Some(FailureClass::Question);
        let asked = key(Some("q"), 0, Some(0), question, Some("A or B?"));
        assert_eq!(asked, Some(FailureKey::Question("q".to_owned())), "whatever the validation says");
        assert_ne!(asked, key(Some("q"), 0, Some(1), None, Some("A or B?")));
        // An open box, and a validation that passed, say nothing of how it failed.
        assert_eq!(key(None, 0, Some(0), None, Some("the agent left the box open")), None);
        assert_eq!(key(Some("a"), 0, Some(0), None, None), None);
        assert_eq!(key(None, 1, None, None, None), None);
        let exit = Exits { agent: Some(1), validation: Some(1) };
        assert_eq!(FailureKey::new(Outcome::Interrupted, Some("a"), exit, None, Some("x")), None);
    }
}
