//! Which settings widen what the loop may touch, run or send, or decide what counts as done. Each takes a side here.

/// The side that a setting takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Runs or redirects something, or judges: in the project's file it counts after an approval alone.
    Approved,
    /// Widens or decides in another way: like the former it never comes from the record of another clone.
    Widens,
    /// Does neither.
    Plain,
}

use Side::{Approved, Plain, Widens};

/// Every key of the file, of agents and of types of loops, and what stands in git's configuration alone. Git's
/// configuration and the environment spell the same keys in their own ways.
const SIDES: &[(&str, Side)] = &[
    ("agent", Widens),
    ("agents.<name>.command", Approved),
    ("agents.<name>.env", Approved),
    ("agents.<name>.limit-pattern", Widens),
    ("agents.<name>.model", Plain),
    ("agents.<name>.parser", Widens),
    ("agents.<name>.prompt", Widens),
    ("capture.<name>", Plain),
    ("commit", Plain),
    ("completion", Widens),
    ("history.approaches", Plain),
    ("history.budget", Plain),
    ("history.decisions", Plain),
    ("history.failures", Plain),
    ("history.lookback", Plain),
    ("history.mode", Plain),
    ("history.summarize", Approved),
    ("history.threshold", Plain),
    ("hooks.on-finish", Approved),
    ("idle-timeout", Plain),
    ("loop.<type>.artifact", Widens),
    ("loop.<type>.template", Widens),
    ("loop.<type>.until", Widens),
    ("max-cost", Plain),
    ("max-duration", Plain),
    ("max-iterations", Plain),
    ("max-output", Plain),
    ("max-tokens", Plain),
    ("max-wait", Plain),
    ("memory.final-message-chars", Plain),
    ("memory.last-attempt", Plain),
    ("memory.learnings", Plain),
    ("model", Plain),
    ("notify", Plain),
    ("on-question", Plain),
    ("on-retry", Plain),
    ("on-skip", Plain),
    ("permissions", Widens),
    ("progress.command", Approved),
    ("progress.max-chars", Plain),
    ("progress.max-entries", Plain),
    ("progress.strategy", Plain),
    ("progress.tail", Plain),
    ("progress.timeout", Plain),
    ("prompt-budget", Plain),
    ("ralph.allowlinks", Widens),
    ("redaction.allow", Approved),
    ("redaction.rules", Approved),
    ("redaction.terminal", Approved),
    ("remote", Widens),
    ("skip-after", Plain),
    ("snapshot-max-file", Plain),
    ("snapshots", Plain),
    ("stop-at", Plain),
    ("stop-on-common-failure", Plain),
    ("stuck-after", Plain),
    ("sync.confirmed", Widens),
    ("timeout", Plain),
    ("trust", Widens),
    ("unit", Plain),
    ("untick", Widens),
    ("validation.baseline", Plain),
    ("validation.command", Approved),
    ("validation.pass", Approved),
    ("validation.protect", Approved),
    ("validation.refuse", Approved),
    ("validation.timeout", Plain),
];

/// Returns the side of a setting. What is not in the table is of another agent or type of loop, or of a later version.
pub fn side(key: &str) -> Side {
    let is_it = |name: &str| match name.split_once(".<") {
        None => name == key,
        Some((table, rest)) => {
            let field = rest.split_once(">.").map_or("", |(_, field)| field);
            let rest = key.strip_prefix(table).and_then(|rest| rest.strip_prefix('.'));
            rest.is_some_and(|rest| field.is_empty() || has_field(rest, field))
        }
    };
    SIDES.iter().find(|(name, _)| is_it(name)).map_or(Plain, |(_, side)| *side)
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
    use super::super::agents::AgentSettings;
    use super::super::loops::LoopSettings;
    use super::super::settings::KEYS;
    use super::super::spelling::GIT_ONLY;
    use super::*;

    #[test]
    fn every_key_takes_a_side() {
        let agents = AgentSettings::FIELDS.iter().map(|field| format!("agents.<name>.{field}"));
        let loops = LoopSettings::FIELDS.iter().map(|field| format!("loop.<type>.{field}"));
        let keys = KEYS.iter().map(|key| key.name).chain(GIT_ONLY.iter().copied()).map(str::to_owned);
        let mut keys: Vec<String> = keys.chain(agents).chain(loops).collect();
        keys.sort();
        let listed: Vec<&str> = SIDES.iter().map(|(name, _)| *name).collect();
        assert_eq!(listed, keys);
    }

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
            ("agents.fake.model", Plain),
            ("agents.model.parser", Widens),
            ("loop.review.template", Widens),
            ("loop.review.validation.command", Plain),
            ("capture.port", Plain),
            ("untick", Widens),
            ("hooks.on-finish", Approved),
            ("no-such-key", Plain),
        ] {
            assert_eq!(side(key), expected, "{key}");
        }
    }
}
