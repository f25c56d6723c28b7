//! What fills a prompt that is too long for the model. Pure.

/// A prompt below this size is not what fills a model: the agent adds the rest itself.
const SMALL_PROMPT_BYTES: usize = 100_000;

/// Names the largest section of a prompt, as a clause for a hint.
pub(super) fn what_fills(prompt: &str) -> String {
    let all = kilobytes(prompt.len());
    if prompt.len() < SMALL_PROMPT_BYTES {
        return format!(
            "the prompt has only {all}: the rest is what the agent adds itself, such as its instructions, tools and \
             memory files"
        );
    }
    let mut sections = vec![("its beginning", 0)];
    for line in prompt.split_inclusive('\n') {
        if let Some(title) = line.strip_prefix("## ") {
            sections.push((title.trim(), 0));
        }
        if let Some((_, size)) = sections.last_mut() {
            *size += line.len();
        }
    }
    let (title, size) = sections.into_iter().max_by_key(|(_, size)| *size).unwrap_or_default();
    format!("{} of the prompt's {all} are `{title}`", kilobytes(size))
}

fn kilobytes(bytes: usize) -> String {
    format!("{} KB", bytes.div_ceil(1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_section_is_named() {
        let prompt = format!(
            "# T\n{}\n## Progress so far\n{}\n## Rules\nshort\n",
            "a".repeat(20_000),
            "b".repeat(99_000)
        );
        assert_eq!(what_fills(&prompt), "100 KB of the prompt's 120 KB are `Progress so far`");
        assert!(
            what_fills("## Rules\nshort\n")
                .starts_with("the prompt has only 1 KB: the rest is what the agent")
        );
        assert_eq!(what_fills(&"x".repeat(120_000)), "120 KB of the prompt's 120 KB are `its beginning`");
    }
}
