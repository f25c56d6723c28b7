//! How many tokens a text takes in a prompt.
//!
//! No agent reports which tokenizer its model has; the counts of the current ones differ by a few percent. One vocabulary
//! in the program is enough to keep a budget. It is unpacked when something is counted for the first time.

/// The vocabulary that is in the program.
const VOCABULARY: &str = "cl100k_base";

/// Returns the number of tokens of `text`.
pub fn count(text: &str) -> usize {
    tiktoken::get_encoding(VOCABULARY).expect("the vocabulary is a feature of the crate").count(text)
}

/// Returns true if `text` takes at most `budget` tokens. A token is at least a byte, so that short texts need no
/// counting.
pub fn fits(text: &str, budget: usize) -> bool {
    text.len() <= budget || count(text) <= budget
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_counted_as_models_do() {
        for (text, tokens) in [
            ("", 0),
            ("hello world", 2),
            ("antidisestablishmentarianism", 6),
            ("2 + 2 = 4", 7),
            ("お誕生日おめでとう", 9),
        ] {
            assert_eq!(count(text), tokens, "{text}");
        }
    }

    #[test]
    fn a_text_fits_that_has_no_more_tokens_than_the_budget() {
        assert!(fits("hello world", 2));
        assert!(!fits("hello world", 1));
        assert!(fits("", 0));
    }
}
