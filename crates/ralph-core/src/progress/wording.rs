//! What the words of an agent say: how a success came about, and which of its approaches worked.

use super::markdown::one_line;
use crate::record::Statement;

/// Words between a decision and its reason.
const REASONS: [&str; 5] = [" because ", ", as ", ", since ", ", for ", " so that "];

/// Words that end an approach which worked.
const WORKED: [&str; 4] = ["worked", "works", "succeeded", "helped"];
/// Words beside them that take it back.
const BUT: [&str; 13] = [
    "not", "never", "no", "nothing", "until", "only", "partly", "would", "should", "could", "neither", "nor",
    "hardly",
];

/// Returns the first sentence of what an agent said, without the marks of Markdown around it. Titles are not sentences,
/// and neither are labels like `Learnings:` or the list items below them.
pub fn first_sentence(message: &str) -> String {
    let mut is_below_label = false;
    let text = message.lines().map(str::trim).find(|line| {
        let words = line.trim_matches(['#', '*', '_', ' ']);
        let is_item = line.starts_with(['-', '*', '+']) && !line.starts_with("**");
        let is_title = (line.starts_with('#') || line.starts_with("**") && line.ends_with("**"))
            && !words.contains(['.', '!', '?', ':']);
        if words.ends_with(':') || is_title {
            is_below_label = true;
            return false;
        }
        is_below_label &= is_item || words.is_empty();
        !is_below_label && words.contains(char::is_alphabetic) && !line.starts_with('<')
    });
    let text = text.unwrap_or_default().trim_start_matches(['#', '*', '-', '>', ' ']);
    let end = text
        .match_indices(['.', '!', '?'])
        .find(|(at, _)| text[at + 1..].starts_with(' '))
        .map_or(text.len(), |(at, _)| at + 1);
    text[..end].replace("**", "").replace('`', "")
}

/// Returns the parts of what was tried that worked, and those that did not.
pub(super) fn by_result(approach: &str) -> (Vec<String>, Vec<String>) {
    let text = one_line(approach);
    let parts: Vec<String> =
        text.replace("), ", ");; ").split("; ").map(|part| part.trim_end_matches(';').to_owned()).collect();
    if !parts.iter().any(|part| has_worked(part)) {
        return (Vec::new(), vec![text]);
    }
    parts.into_iter().partition(|part| has_worked(part))
}

/// Returns what an agent tried, with its result and the reason that it gives, and what it decided and why, as far as it says so.
pub fn statements(approaches: &[String], decisions: &[String]) -> Vec<Statement> {
    let tried = approaches.iter().flat_map(|approach| {
        let (worked, failed) = by_result(approach);
        let of = |parts: Vec<String>, result: &'static str| {
            parts.into_iter().map(move |part| {
                let split =
                    part.split_once(": ").filter(|(what, reason)| !what.is_empty() && !reason.is_empty());
                let (what, reason) = split.unwrap_or((&part, ""));
                let reason = Some(reason.to_owned()).filter(|reason| !reason.is_empty());
                Statement { what: what.to_owned(), result: Some(result.to_owned()), reason }
            })
        };
        of(worked, "worked").chain(of(failed, "failed")).collect::<Vec<_>>()
    });
    let decided = decisions.iter().filter_map(|decision| {
        let text = one_line(decision);
        let found = REASONS.iter().filter_map(|word| Some((text.find(word)?, word.len())));
        let (at, length) = found.min()?;
        let reason = Some(text[at + length..].to_owned());
        Some(Statement { what: text[..at].to_owned(), result: None, reason })
    });
    tried.chain(decided).collect()
}

/// Returns true if the end of an approach says that it worked: `node -e …: worked`, `awk (works)`.
fn has_worked(approach: &str) -> bool {
    let end = approach.rsplit([':', '(', '—', '–', '→', '>', ',']).next().unwrap_or_default().to_lowercase();
    let mut words = end.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty());
    let has_result = words.clone().any(|word| WORKED.contains(&word));
    has_result && !words.any(|word| BUT.contains(&word) || word.ends_with("n't") || word.starts_with("fail"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_an_approach_says_whether_it_worked() {
        for (approach, worked, failed) in [
            ("node -e 'x': worked", "node -e 'x': worked", ""),
            ("awk (works)", "awk (works)", ""),
            ("perl (failed), awk (worked)", "awk (worked)", "perl (failed)"),
            ("perl: no such module; awk: it worked.", "awk: it worked.", "perl: no such module"),
            ("sed: did not work", "", "sed: did not work"),
            ("sed: never worked", "", "sed: never worked"),
            ("sed: worked until the file was empty", "", "sed: worked until the file was empty"),
            ("a patch, which hasn't helped", "", "a patch, which hasn't helped"),
            ("the works of Goethe: none parsed", "", "the works of Goethe: none parsed"),
            ("sqlite; a mock", "", "sqlite; a mock"),
        ] {
            let (is, is_not) = by_result(approach);
            assert_eq!((is.join("|").as_str(), is_not.join("|").as_str()), (worked, failed), "{approach}");
        }
    }

    #[test]
    fn what_was_tried_has_a_result_and_what_was_decided_its_reason() {
        let approaches = ["perl: no such module; awk: it worked".to_owned(), "a mock".to_owned()];
        let decisions = ["JSON, for its readers".to_owned(), "Tabs".to_owned()];
        let found = statements(&approaches, &decisions);
        let shown: Vec<_> = found
            .iter()
            .map(|one| [Some(one.what.as_str()), one.result.as_deref(), one.reason.as_deref()])
            .collect();
        let expected = [
            [Some("awk"), Some("worked"), Some("it worked")],
            [Some("perl"), Some("failed"), Some("no such module")],
            [Some("a mock"), Some("failed"), None],
            [Some("JSON"), None, Some("its readers")],
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn an_answer_is_its_first_sentence() {
        for (message, expected) in [
            ("", ""),
            ("<promise>COMPLETE</promise>\n", ""),
            ("\n## **Done**: T004 works in v1.2. And more.\n", "Done: T004 works in v1.2."),
            ("- I changed `src/a.rs`\nand more.", "I changed src/a.rs"),
            ("Is it done? Yes", "Is it done?"),
            ("ü. ö", "ü."),
            ("## Summary\n\nThe parser reads it.\n", "The parser reads it."),
            ("**Summary**\nIt works. Really.", "It works."),
            ("Learnings:\n- the frob needs a knob\n\nAll is done.", "All is done."),
            ("**Decisions**:\n\n* tabs\n* spaces\n", ""),
            ("---\n**Fixed** the parser.", "Fixed the parser."),
        ] {
            assert_eq!(first_sentence(message), expected, "{message}");
        }
    }
}
