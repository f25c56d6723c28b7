//! Text of others as a block of Markdown that it cannot break out of.

/// `text` between two fences that are longer than any run of backticks in it.
pub fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}\n{text}{newline}{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_longer_than_any_in_the_text() {
        for (text, expected) in [
            ("", "```\n```"),
            ("x", "```\nx\n```"),
            ("x\n", "```\nx\n```"),
            ("a ``` b", "````\na ``` b\n````"),
            ("`````\n", "``````\n`````\n``````"),
        ] {
            assert_eq!(fence(text), expected);
        }
    }
}
