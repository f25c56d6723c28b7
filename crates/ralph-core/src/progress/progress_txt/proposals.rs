//! Learnings that came repeatedly, proposed as patterns of the code base.

use std::collections::BTreeSet;

use super::patterns_range;
use crate::progress::markdown::one_line;
use crate::record::{Iteration, Outcome};

/// Most proposals that the section may hold.
const MAX_PROPOSALS: usize = 10;
/// Longest proposal, in characters.
const LENGTH: usize = 200;
/// Iterations in which a learning must occur to be proposed.
const OFTEN: usize = 2;
/// Texts that share such a part of their words say the same.
const SAME: (usize, usize) = (3, 5);

/// Marks a proposal. A person accepts it by removing the mark, and rejects it by removing the line.
const MARK: &str = "(proposed: ";

/// Returns what the section of patterns of a journal lacks of the learnings that came again in `fresh`, the newest of
/// the iterations in `past`, and that at least one success had: the byte at which the lines go in, and the lines. `None` if
/// there are none, or if there is no such section.
pub fn proposals(journal: &str, past: &[Iteration], fresh: &[Iteration]) -> Option<(usize, String)> {
    let section = patterns_range(journal)?;
    let lines = &journal[section.clone()];
    let mut known: Vec<BTreeSet<String>> =
        lines.lines().map(words).filter(|words| !words.is_empty()).collect();
    let mut room = MAX_PROPOSALS.saturating_sub(lines.lines().filter(|line| line.contains(MARK)).count());
    let mut text = String::new();
    for learning in fresh.iter().flat_map(|iteration| &iteration.learnings) {
        let own = words(learning);
        let is_known = own.is_empty() || known.iter().any(|words| is_same(words, &own));
        let learned: Vec<&Iteration> = past
            .iter()
            .filter(|one| one.learnings.iter().any(|other| is_same(&words(other), &own)))
            .collect();
        let times = learned.len();
        let is_proven = learned.iter().any(|one| one.outcome == Outcome::Success);
        if is_known || times < OFTEN || !is_proven || room == 0 {
            continue;
        }
        let line: String = one_line(learning).chars().take(LENGTH).collect();
        text.push_str(&format!("- {line} {MARK}{times} iterations learned it)\n"));
        known.push(own);
        room -= 1;
    }
    if text.is_empty() {
        return None;
    }
    let written = lines.trim_end().len();
    // After what is there the line end already exists.
    let text = if written == 0 { format!("\n{text}") } else { format!("\n{}", text.trim_end()) };
    Some((section.start + written, text))
}

fn words(text: &str) -> BTreeSet<String> {
    let text = text.split(MARK).next().unwrap_or_default().to_lowercase();
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn is_same(one: &BTreeSet<String>, other: &BTreeSet<String>) -> bool {
    let (part, whole) = SAME;
    let common = one.intersection(other).count();
    common > 0 && common * whole >= (one.len() + other.len() - common) * part
}

#[cfg(test)]
mod tests {
    use super::super::super::samples::iteration;
    use super::*;

    fn learned(learnings: &[&str]) -> Iteration {
        let learnings = learnings.iter().map(|text| (*text).to_owned()).collect();
        Iteration { learnings, ..iteration(Outcome::Success) }
    }

    /// Returns the journal after the proposals, where the last iteration is the fresh one.
    fn proposed(journal: &str, past: &[Iteration]) -> String {
        match proposals(journal, past, &past[past.len() - 1..]) {
            None => journal.to_owned(),
            Some((at, text)) => format!("{}{text}{}", &journal[..at], &journal[at..]),
        }
    }

    const EMPTY: &str = "# Log\n\n## Codebase Patterns\n\n---\n\n## Iteration 1\n";

    #[test]
    fn what_was_learned_twice_is_proposed_once() {
        let past = [
            learned(&["wc pads its number"]),
            learned(&["`wc` pads its number.", "new", "wc pads its number"]),
        ];
        assert_eq!(
            proposed(EMPTY, &past),
            "# Log\n\n## Codebase Patterns\n\n- `wc` pads its number. (proposed: 2 iterations learned it)\n\n---\n\n## Iteration 1\n"
        );
        assert_eq!(proposed(EMPTY, &past[1..]), EMPTY);
        let failed = past.clone().map(|iteration| Iteration { outcome: Outcome::Failure, ..iteration });
        assert_eq!(proposed(EMPTY, &failed), EMPTY, "no success had it");
        let repeated = [failed[0].clone(), past[1].clone()];
        assert_eq!(proposed(EMPTY, &repeated), proposed(EMPTY, &past));
    }

    #[test]
    fn text_of_people_stays_and_says_what_is_known() {
        let past = [
            learned(&["wc pads its number", "tests need a port"]),
            learned(&["wc pads its number", "tests need a port"]),
        ];
        let journal = EMPTY.replace("Patterns\n", "Patterns\n\nMind: wc pads its number\n");
        let after = proposed(&journal, &past);
        assert_eq!(
            after,
            journal.replace("number\n", "number\n- tests need a port (proposed: 2 iterations learned it)\n")
        );
        assert_eq!(proposed(&after, &past), after);
        assert_eq!(proposed("no section", &past), "no section");
    }

    #[test]
    fn there_are_never_more_than_ten_proposals() {
        let many: Vec<String> =
            (0..30).map(|number| format!("fact{number} thing{number} part{number}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let past = [learned(&many), learned(&many)];
        let after = proposed(EMPTY, &past);
        assert_eq!(after.matches(MARK).count(), 10);
        assert_eq!(proposed(&after, &past), after);
    }
}
