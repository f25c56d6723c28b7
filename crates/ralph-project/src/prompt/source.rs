//! The text of a template, taken apart just far enough to know what is plain text in it.

/// A stretch of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece<'a> {
    Text(&'a str),
    /// `{{ ... }}` or `{% ... %}`.
    Tag(&'a str),
    /// A comment, or what is between `raw` and `endraw`.
    Untouched(&'a str),
}

/// Names that templates of spec-kit write in single braces.
const PLAIN_NAMES: [(&str, &str); 6] = [
    ("{FEATURE_NAME}", "{{ feature_name }}"),
    ("{SPEC_PATH}", "{{ spec_path }}"),
    ("{TASKS_PATH}", "{{ tasks_path }}"),
    ("{PROGRESS_PATH}", "{{ progress_path }}"),
    ("{CURRENT_TASK}", "{{ current_task }}"),
    ("{ITERATION_NUMBER}", "{{ iteration_number }}"),
];

/// Returns the template with `{FEATURE_NAME}` and its like in the form of all other names. Lines stay where they are.
pub(super) fn with_plain_names(source: &str) -> String {
    pieces(source)
        .into_iter()
        .map(|piece| match piece {
            Piece::Text(text) => PLAIN_NAMES.iter().fold(text.to_owned(), |text, (plain, name)| {
                if text.contains(plain) { text.replace(plain, name) } else { text }
            }),
            Piece::Tag(text) | Piece::Untouched(text) => text.to_owned(),
        })
        .collect()
}

/// Returns the names that a template can write in single braces.
pub(super) fn plain_names() -> [&'static str; 6] {
    PLAIN_NAMES.map(|(plain, _)| plain)
}

/// Returns what looks like such a name and is none, each once.
pub(super) fn unknown_plain_names(source: &str) -> Vec<String> {
    let mut unknown: Vec<String> = Vec::new();
    for piece in pieces(source) {
        let Piece::Text(text) = piece else { continue };
        for part in text.split('{').skip(1) {
            let Some((name, _)) = part.split_once('}') else { continue };
            let is_name = name.contains(|c: char| c.is_ascii_uppercase())
                && name.len() > 1
                && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
            let name = format!("{{{name}}}");
            if is_name && !plain_names().contains(&name.as_str()) && !unknown.contains(&name) {
                unknown.push(name);
            }
        }
    }
    unknown
}

/// Returns every tag with the number of the line that it begins on, from 1.
pub(super) fn tags(source: &str) -> Vec<(usize, &str)> {
    let mut line = 1;
    let mut tags = Vec::new();
    for piece in pieces(source) {
        let (Piece::Text(text) | Piece::Tag(text) | Piece::Untouched(text)) = piece;
        if matches!(piece, Piece::Tag(_)) {
            tags.push((line, text));
        }
        line += text.matches('\n').count();
    }
    tags
}

fn pieces(source: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = source;
    while !rest.is_empty() {
        let start = ["{{", "{%", "{#"].iter().filter_map(|opening| rest.find(opening)).min();
        let (text, tag) = rest.split_at(start.unwrap_or(rest.len()));
        if !text.is_empty() {
            pieces.push(Piece::Text(text));
        }
        let closing = match tag.get(..2) {
            Some("{{") => "}}",
            Some("{%") => "%}",
            Some(_) => "#}",
            None => break,
        };
        let end = tag[2..].find(closing).map_or(tag.len(), |end| end + 4);
        let (tag, behind) = tag.split_at(end);
        pieces.push(if closing == "#}" { Piece::Untouched(tag) } else { Piece::Tag(tag) });
        rest = behind;
        if is_word(tag, "raw") {
            let (raw, behind) = rest.split_at(end_of_raw(rest));
            pieces.push(Piece::Untouched(raw));
            rest = behind;
        }
    }
    pieces
}

/// Returns where the `{% endraw %}` begins that closes a raw block.
fn end_of_raw(text: &str) -> usize {
    text.match_indices("{%")
        .map(|(at, _)| at)
        .find(|at| {
            let tag = &text[*at..];
            tag.find("%}").is_some_and(|end| is_word(&tag[..end + 2], "endraw"))
        })
        .unwrap_or(text.len())
}

fn is_word(tag: &str, word: &str) -> bool {
    let inside = tag.strip_prefix("{%").and_then(|tag| tag.strip_suffix("%}"));
    inside.is_some_and(|inside| inside.trim_matches(['-', '+']).trim() == word)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn tags_are_found_with_their_lines() {
        let source = "a\n{{ b }}{# {{ c }}\n #}\n{% raw %}{{ d }}{%- endraw -%}\n{{ e";
        let expected = [(2, "{{ b }}"), (4, "{% raw %}"), (4, "{%- endraw -%}"), (5, "{{ e")];
        assert_eq!(tags(source), expected);
    }

    proptest! {
        #[test]
        fn a_template_without_plain_names_stays_as_it_is(source in "(\\{\\{|\\}\\}|\\{%|%\\}|\\{#|#\\}|raw|endraw|é| |\n){0,30}") {
            prop_assert_eq!(with_plain_names(&source), source);
        }
    }
}
