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
/// success repeated say so.
pub fn learnings(past: &[Iteration], task: &Task, max_lines: usize) -> Vec<String> {
    let of_task = words(&task.text);
    let mut seen = HashSet::new();
    let mut items: Vec<(usize, String)> = Vec::new();
    let proven: HashSet<String> = past
        .iter()
        .filter(|iteration| iteration.outcome == Outcome::Success)
        .flat_map(|iteration| iteration.learnings.iter().chain(&iteration.decisions))
        .map(|text| same(text))
        .collect();
    for iteration in past.iter().rev() {
        let learnings = iteration.learnings.iter().map(|text| ("", text));
        let decisions = iteration.decisions.iter().map(|text| ("Decided: ", text));
        for (label, text) in learnings.chain(decisions) {
            let text = one_line(text);
            let key = same(&text);
            let is_proven = proven.contains(&key);
            if text.is_empty() || !seen.insert(key) {
                continue;
            }
            let shared = words(&text).intersection(&of_task).count();
            let of =
                [iteration.task.as_deref().map(one_line), (!is_proven).then(|| FROM_A_FAILURE.to_owned())];
            let of = of.into_iter().flatten().collect::<Vec<_>>().join(", ");
            let of = if of.is_empty() { of } else { format!(" ({of})") };
            items.push((shared, format!("{label}{}{of}", cut(&text, MAX_LINE_CHARS))));
        }
    }
    // Sorting keeps the newer before the older.
    items.sort_by_key(|(shared, _)| std::cmp::Reverse((*shared).min(2)));
    items.into_iter().take(max_lines).map(|(_, line)| line).collect()
}

/// Equal for texts that say the same.
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
        assert_eq!(learnings(&past, &task, 12), expected);
        assert_eq!(learnings(&past, &task, 2), expected[..2]);
        assert!(learnings(&past, &task, 0).is_empty());
        let failed = |iteration: &Iteration| Iteration { outcome: Outcome::Failure, ..iteration.clone() };
        let failed_last =
            [past[0].clone(), failed(&learned("T002", &["Use tabs", "Port 80 is free"], &["YAML"]))];
        let expected = [
            "The schema lives in db/schema.sql (T001)",
            "Use tabs (T002)",
            "Port 80 is free (T002, from an attempt that failed)",
            "Decided: YAML (T002, from an attempt that failed)",
        ];
        assert_eq!(learnings(&failed_last, &task, 12), expected);
    }
}
