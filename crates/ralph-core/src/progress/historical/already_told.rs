//! What a prompt says of earlier iterations before its historical context, so that nothing stands in it twice.

use std::collections::HashSet;

use crate::progress::learnings::same;
use crate::progress::wording::by_result;
use crate::record::{Iteration, SessionId};

/// Minimum length, in characters, of a text that counts as said wherever it stands: a shorter one must be a line of its own.
const MIN_SENTENCE_CHARS: usize = 30;

/// Iterations and lines that other parts of the prompt have.
#[derive(Debug, Clone, Default)]
pub struct AlreadyTold {
    /// Session and number.
    iterations: HashSet<(SessionId, u32)>,
    lines: HashSet<String>,
    /// As it is compared, and as it is.
    normal: String,
    text: String,
}

impl AlreadyTold {
    /// Takes in that a prompt describes these iterations, in these texts.
    pub fn new<'a>(
        iterations: impl IntoIterator<Item = (SessionId, u32)>,
        texts: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let mut told = Self { iterations: iterations.into_iter().collect(), ..Self::default() };
        for line in texts.into_iter().flat_map(str::lines) {
            told.text.push_str(line);
            told.text.push('\n');
            let line = line.trim_start_matches(['-', '*', '>', ' ']);
            let labelled = line
                .split_once(": ")
                .filter(|(label, _)| {
                    label.starts_with("Tried") || matches!(*label, "Worked" | "Lesson" | "Reusable" | "How")
                })
                .map(|(_, tried)| ("", tried));
            let (statement, tried) = labelled.or(line.split_once("; tried: ")).unwrap_or((line, ""));
            told.lines.insert(normal(tried));
            told.normal.push_str(&normal(line));
            told.normal.push('\n');
            told.lines.extend(tried.split("; ").map(normal));
            let statement = statement.strip_prefix("Decided: ").unwrap_or(statement);
            // A learning has its task behind it.
            let bare = statement.rsplit_once(" (").filter(|_| statement.ends_with(')'));
            told.lines.extend(bare.map(|(bare, _)| normal(bare)));
            told.lines.insert(normal(statement));
        }
        told
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn has(&self, iteration: &Iteration) -> bool {
        self.iterations.contains(&(iteration.session.clone(), iteration.iteration))
    }

    /// Returns true if the texts say that this was tried.
    pub fn says_tried(&self, approach: &str) -> bool {
        let (worked, failed) = by_result(approach);
        self.says(approach) || worked.iter().chain(&failed).all(|part| self.says(part))
    }

    /// Returns true if one of the texts says this.
    pub fn says(&self, text: &str) -> bool {
        let text = normal(text);
        (!text.is_empty() && self.lines.contains(&text))
            || (text.chars().count() >= MIN_SENTENCE_CHARS && self.normal.contains(&text))
    }
}

/// Returns a text without code marks and emphasis, which quotations of it may lack.
fn normal(text: &str) -> String {
    same(text).replace('`', "").replace("**", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_text_is_said_where_it_is_a_line_and_a_long_one_anywhere() {
        let texts = [
            "- Iteration 3 (attempt 1) failed: x; tried: perl; awk and sed\n- use tabs (T001)\n- Decided: JSON (T002)",
            "I went on. The server needs a certificate of its own. Done.",
        ];
        let told = AlreadyTold::new([], texts);
        for (text, expected) in [
            ("perl", true),
            ("awk and sed.", true),
            ("awk", false),
            ("Use tabs", true),
            ("JSON", true),
            ("the server needs a certificate of its own", true),
            ("I went on", false),
            ("", false),
        ] {
            assert_eq!(told.says(text), expected, "{text}");
        }
    }
}
