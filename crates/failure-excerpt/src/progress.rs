//! Numbers that say how far a search or a property test got, or which seed it had: they differ in each run, and do not tell causes
//! apart.

use super::words::contains_any;

/// What is counted on the way to a failure, in the singular.
const COUNTED: [&str; 22] = [
    "step",
    "test",
    "shrink",
    "iteration",
    "run",
    "round",
    "trial",
    "example",
    "case",
    "try",
    "tries",
    "attempt",
    "success",
    "input",
    "sample",
    "tick",
    "move",
    "operation",
    "op",
    "execution",
    "event",
    "time(s)",
];

/// Words between a count and what it counts: `after 12 passed tests`.
const KINDS: [&str; 6] = ["passed", "passing", "successful", "random", "more", "valid"];

/// Nouns whose number says how far a run got: `at step 12`.
const REACHED: [&str; 4] = ["step", "iteration", "trial", "attempt"];

/// A text with such a number has at least one of these words.
const PROGRESS_WORDS: &[&str] =
    &["after", "After", "seed", "Seed", "SEED", "hrunk", "step", "iteration", "attempt", "trial"];

/// Returns true if a text may hold such a number.
pub(super) fn may_hold(text: &str) -> bool {
    contains_any(text, PROGRESS_WORDS)
}

/// Returns the word at `index` with its number masked, or `None` if it has no number that says how far a run got.
pub(super) fn mask(words: &[&str], index: usize) -> Option<String> {
    let word = words[index];
    let digits = word.find(|c: char| c.is_ascii_digit())?;
    let front = word[..digits].trim_end_matches('-');
    let end = word.rfind(|c: char| c.is_ascii_alphanumeric()).map_or(word.len(), |end| end + 1);
    let behind = &word[end..];
    let name = bare(front);
    let is_alone = name.is_empty();
    if !(is_alone || is_seed(&name) && front.ends_with(['=', ':', '"', '\''])) {
        return None;
    }
    let [last, second] = [1, 2].map(|back| word_before(words, index, back));
    // `seed = 7`, `seed is 7`
    let is_linked = matches!(last.as_str(), "" | "is" | "was" | "of");
    let owner = if is_linked { second.as_str() } else { &last };
    let is_named = is_alone && (is_seed(owner) || matches!(owner, "shrunk" | "shrinks"));
    let is_path = owner == "path" && words[..index].iter().any(|word| is_seed(&bare(word)));
    let is_reached =
        REACHED.contains(&last.as_str()) && matches!(second.as_str(), "at" | "on" | "in" | "after");
    let is_after =
        last == "after" || last == "and" && (3..=5).any(|back| word_before(words, index, back) == "after");
    let is_counted = is_alone && is_after && is_counted(&words[index + 1..]);
    let is_progress = !is_alone || is_named || is_path || is_reached || is_counted;
    is_progress.then(|| format!("{front}<count>{behind}"))
}

/// Returns a word in lower case without the punctuation around it.
fn bare(word: &str) -> String {
    word.trim_matches(|c: char| !c.is_alphanumeric()).to_ascii_lowercase()
}

fn word_before(words: &[&str], index: usize, back: usize) -> String {
    index.checked_sub(back).map(|at| bare(words[at])).unwrap_or_default()
}

fn is_seed(name: &str) -> bool {
    name == "seed" || name.ends_with("_seed") || name.ends_with("-seed")
}

/// Returns true if `words` begin with something that is counted.
fn is_counted(words: &[&str]) -> bool {
    let mut words =
        words.iter().map(|word| word.trim_end_matches([',', '.', ':', ';', '!']).to_ascii_lowercase());
    let mut word = words.next().unwrap_or_default();
    if KINDS.contains(&word.trim_start_matches('(')) {
        word = words.next().unwrap_or_default();
    }
    let word = word.trim_end_matches(')').trim_end_matches("(s");
    [word, word.trim_end_matches('s'), word.trim_end_matches("es")].iter().any(|word| COUNTED.contains(word))
}

#[cfg(test)]
mod tests {
    use crate::normalize::normalize;

    #[test]
    fn progress_of_a_search_is_masked_and_values_are_not() {
        for (text, expected) in [
            ("states diverge after 37 steps (seed 7)", "states diverge after <count> steps (seed <count>)"),
            ("Property failed after 20 tests", "Property failed after <count> tests"),
            (
                "Falsified (after 12 tests and 3 shrinks):",
                "Falsified (after <count> tests and <count> shrinks):",
            ),
            ("after 3 passed tests", "after <count> passed tests"),
            ("Shrunk 14 time(s)", "Shrunk <count> time(s)"),
            ("SEED=0x1f", "SEED=<count>"),
            ("random seed is 42.", "random seed is <count>."),
            ("differs at step 17: got 3", "differs at step <count>: got 3"),
            ("expected 12 steps, got 13 steps", "expected 12 steps, got 13 steps"),
            ("step 3 is wrong", "step 3 is wrong"),
            ("after 3 items", "after 3 items"),
            ("row 7 is wrong", "row 7 is wrong"),
        ] {
            assert_eq!(normalize(text), expected, "{text}");
        }
        let object =
            |seed: &str| normalize(&format!("{{ seed: {seed}, path: \"0:{seed}\", endOnFailure: true }}"));
        assert_eq!(object("-1094021"), object("3"));
    }
}
