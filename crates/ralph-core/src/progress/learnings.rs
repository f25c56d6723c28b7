//! What agents learned and decided in a feature so far.

use std::collections::HashSet;

use crate::record::{Iteration, Outcome, Task};

use super::markdown::{cut, one_line};

/// Marks what no success has confirmed.
pub(super) const FROM_A_FAILURE: &str = "from an attempt that failed";

/// Longest line, in characters.
const MAX_LINE_CHARS: usize = 300;
/// Minimum length of words that count as shared by two texts.
const MIN_WORD_CHARS: usize = 4;

/// Returns at most `max_lines` of what was learned and decided in `past` (oldest first), one line each: what shares words with `task`
/// comes before the rest, and what is newer before what is older. Equal ones are given once, and those of failed attempts that no
/// success repeated say so. Each has the form of [`same`] before it.
pub(super) fn learnings(past: &[Iteration], task: &Task, max_lines: usize) -> Vec<(String, String)> {
    let of_task = words(&task.text);
    let mut seen = HashSet::new();
    let mut items = Vec::new();
    let proven = proven(past);
    for iteration in past.iter().rev() {
        let learnings = iteration.learnings.iter().map(|text| ("", text));
        let decisions = iteration.decisions.iter().map(|text| ("Decided: ", text));
        for (label, text) in learnings.chain(decisions) {
            let text = one_line(text);
            let key = same(&text);
            let is_proven = proven.contains(&key);
            if text.is_empty() || !seen.insert(key.clone()) {
                continue;
            }
            let shared = words(&text).intersection(&of_task).count();
            let of =
                [iteration.task.as_deref().map(one_line), (!is_proven).then(|| FROM_A_FAILURE.to_owned())];
            let of = of.into_iter().flatten().collect::<Vec<_>>().join(", ");
            let of = if of.is_empty() { of } else { format!(" ({of})") };
            items.push((shared, (key, format!("{label}{}{of}", cut(&text, MAX_LINE_CHARS)))));
        }
    }
    // Sorting keeps the newer before the older.
    items.sort_by_key(|(shared, _)| std::cmp::Reverse((*shared).min(2)));
    items.into_iter().take(max_lines).map(|(_, line)| line).collect()
}

/// Returns what successes learned and decided, in the form of [`same`].
pub(super) fn proven(past: &[Iteration]) -> HashSet<String> {
    let successes = past.iter().filter(|iteration| iteration.outcome == Outcome::Success);
    successes.flat_map(|one| one.learnings.iter().chain(&one.decisions)).map(|text| same(text)).collect()
}

/// Returns a final message without the items of its lists that are `learned`, in the form of [`same`], and without the labels of
/// lists of which nothing is left.
pub(super) fn without_learned(message: &str, learned: &HashSet<String>) -> String {
    let item = |line: &str| line.trim_start().strip_prefix(['-', '*', '+']).map(same);
    let is_told = |line: &str| item(line).is_some_and(|item| learned.contains(&item));
    if !message.lines().any(is_told) {
        return message.to_owned();
    }
    let mut kept: Vec<&str> = Vec::new();
    let mut is_below_told = false;
    for line in message.lines().rev() {
        let is_label = line.trim_end_matches(['*', '_', ' ']).ends_with(':');
        if is_told(line) {
            is_below_told |= kept.last().is_none_or(|below| item(below).is_none());
        } else if !(is_below_told && is_label) {
            is_below_told &= line.trim().is_empty();
            kept.push(line);
        } else {
            is_below_told = false;
        }
    }
    kept.reverse();
    kept.join("\n").trim().to_owned()
}

/// Returns a text in the form in which statements are compared: on one line, in lower case, without a full stop.
pub(super) fn same(text: &str) -> String {
    one_line(text).trim_end_matches('.').to_lowercase()
}

fn words(text: &str) -> HashSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.filter(|word| word.chars().count() >= MIN_WORD_CHARS).map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::super::samples::iteration;
    use super::*;

    fn learned(task: &str, learnings: &[&str], decisions: &[&str]) -> Iteration {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Iteration {
            task: Some(task.to_owned()),
            learnings: owned(learnings),
            decisions: owned(decisions),
            ..iteration(Outcome::Success)
        }
    }

    #[test]
    fn a_message_loses_what_the_prompt_lists_as_learned_and_nothing_else() {
        let learned = ["ports begin at 6000", "sqlite"].map(str::to_owned).into();
        for (message, expected) in [
            ("I did it.\n\nLearnings:\n- ports begin at 6000.\n\nDecisions:\n- sqlite\n", "I did it."),
            ("**Learnings**:\n- Ports begin at 6000\n- use tabs\nDone.", "**Learnings**:\n- use tabs\nDone."),
            ("Learnings:\n- use tabs\n- Ports begin at 6000", "Learnings:\n- use tabs"),
            ("Why: see below.\nIt says:\n\n- Ports begin at 6000\n", "Why: see below."),
            (
                "Ports begin at 6000: it took long.\nTried:\n- port 80",
                "Ports begin at 6000: it took long.\nTried:\n- port 80",
            ),
        ] {
            assert_eq!(without_learned(message, &learned), expected, "{message}");
        }
    }

    #[test]
    fn what_fits_the_task_comes_first_then_the_newest_and_equal_ones_once() {
        let task = Task {
            name: "T009".to_owned(),
            id: Some("T009".to_owned()),
            text: "Write the database schema".to_owned(),
            phase: None,
            story: None,
        };
        let past = [
            learned("T001", &["The schema lives in db/schema.sql", "Use tabs."], &[]),
            learned("T002", &["use tabs", ""], &["JSON, for its\nreaders"]),
            learned("T003", &["Ports begin at 7000"], &[]),
        ];
        let expected = [
            "The schema lives in db/schema.sql (T001)",
            "Ports begin at 7000 (T003)",
            "use tabs (T002)",
            "Decided: JSON, for its readers (T002)",
        ];
        let lines = |past: &[Iteration], most| -> Vec<String> {
            learnings(past, &task, most).into_iter().map(|(_, line)| line).collect()
        };
        assert_eq!(lines(&past, 12), expected);
        assert_eq!(lines(&past, 2), expected[..2]);
        assert!(lines(&past, 0).is_empty());
        let failed = |iteration: &Iteration| Iteration { outcome: Outcome::Failure, ..iteration.clone() };
        let failed_last =
            [past[0].clone(), failed(&learned("T002", &["Use tabs", "Port 80 is free"], &["YAML"]))];
        let expected = [
            "The schema lives in db/schema.sql (T001)",
            "Use tabs (T002)",
            "Port 80 is free (T002, from an attempt that failed)",
            "Decided: YAML (T002, from an attempt that failed)",
        ];
        assert_eq!(lines(&failed_last, 12), expected);
    }
}
