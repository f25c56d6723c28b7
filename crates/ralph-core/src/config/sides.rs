//! Which settings widen what the loop may touch, run or send, or decide what counts as done. Each takes a side here.

use super::key::Side;
use super::loops::LoopType;
use super::settings::find;
use super::spelling::GIT_ONLY;

use Side::{Approved, Plain, Widens};

/// Returns the side of a setting. What is no key is of another agent or type of loop, or of a later version. Git's
/// configuration and the environment spell the same keys in their own ways.
pub fn side(key: &str) -> Side {
    match (key.strip_prefix("agents."), key.strip_prefix("loop."), find(key)) {
        (Some(rest), ..) => match rest {
            rest if ["command", "env", "state", "credentials"].iter().any(|field| has_field(rest, field)) => {
                Approved
            }
            rest if ["limit-pattern", "parser", "prompt"].iter().any(|field| has_field(rest, field)) => {
                Widens
            }
            _ => Plain,
        },
        (_, Some(rest), _) if LoopType::FIELDS.iter().any(|field| has_field(rest, field)) => Widens,
        (.., Some(key)) => key.side,
        _ if GIT_ONLY.contains(&key) => Widens,
        _ => Plain,
    }
}

/// Returns true if `rest`, from the name of an agent or a type of loop on, is the field or something below it.
fn has_field(rest: &str, field: &str) -> bool {
    rest.match_indices(&format!(".{field}")).any(|(at, found)| {
        let after = &rest[at + found.len()..];
        at > 0 && (after.is_empty() || after.starts_with('.'))
    })
}

#[cfg(test)]
mod tests {
    use super::super::settings::KEYS;
    use super::*;

    #[test]
    fn what_the_file_must_not_set_and_what_runs_is_not_plain() {
        for key in KEYS {
            let doc = key.doc.to_ascii_lowercase();
            let runs = key.name.ends_with("command")
                || doc.contains("command to run")
                || doc.contains("or a command");
            assert!(!runs || side(key.name) == Approved, "{}", key.name);
            assert!(key.in_file || side(key.name) == Widens, "{}", key.name);
        }
    }

    #[test]
    fn fields_of_agents_and_types_of_loops_are_found_under_any_name() {
        for (key, expected) in [
            ("agents.fake.command", Approved),
            ("agents.a.b.env.X.Y", Approved),
            ("agents.fake.state", Approved),
            ("sandbox", Approved),
            ("agents.fake.model", Plain),
            ("agents.model.parser", Widens),
            ("loop.review.template", Widens),
            ("loop.review.validation.command", Plain),
            ("capture.port", Plain),
            ("untick", Widens),
            ("hooks.on-finish", Approved),
            ("hooks.on-event", Approved),
            ("hooks.events", Plain),
            ("agents.mine.limit-pattern", Widens),
            ("ralph.allowlinks", Widens),
            ("no-such-key", Plain),
        ] {
            assert_eq!(side(key), expected, "{key}");
        }
    }
}
