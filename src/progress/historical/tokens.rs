//! How many tokens a text takes in a prompt.
//!
//! No agent reports which tokenizer its model has; the counts of the current ones differ by a few percent. One
//! embedded encoding is accurate enough for a budget. It is decoded on first use.

/// The encoding that is embedded in the program.
const ENCODING: &str = "cl100k_base";

/// Returns the number of tokens of `text`.
pub fn count(text: &str) -> usize {
    tiktoken::get_encoding(ENCODING).expect("tiktoken is built with this encoding").count(text)
}

/// Returns true if `text` takes at most `budget` tokens.
pub fn fits(text: &str, budget: usize) -> bool {
    // A token is at least one byte.
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
