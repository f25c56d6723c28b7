//! What a task says it waits for: `(depends on T012, T013)`, `Dependencies: T001`, `[deps:T000]`.

use std::sync::LazyLock;

use regex::Regex;

use super::label::ID;

/// An id that is waited for, or the first and the last of several.
pub(super) type Dependency = (String, Option<String>);

/// Only clear forms: "after T003" in the middle of a sentence says too many other things.
static KEYWORD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?ix)
        \b(?: depends?\s+(?:up)?on | dependent\s+(?:up)?on | blocked\s+(?:by|on) )\b
        | \b(?: dependenc(?:y|ies) | deps | depends | prerequisites? | requires )\s*[*_]*\s*:
        | \(\s*(?:after|requires|needs)\b
        | (?:^|[.;]\s+)[*_]*after\b[*_:]*
        ",
    )
    .expect("a valid expression")
});

/// A part of each form of [`KEYWORD`], which is large: most texts have none.
static HINT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new("(?i-u)depend|blocked|deps|prerequisite|requires|needs|after").expect("a valid expression")
});

static LISTED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(&format!(r"^[\s:*_`\[(~]*(?:(?i:tasks)\s+)?[`*_\[]*{ID}")).expect("a valid expression")
});

static LINK: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^[`*_~]*(?:\]\([^)]*\))?[`*_~\]]*").expect("a valid expression"));

static SEPARATOR: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^\s*(?:,\s*and\b|,|;|&|\+|/|and\b)").expect("a valid expression"));

static RANGE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^\s*(?:-|–|—|\.\.+|…|to\b|through\b)").expect("a valid expression"));

/// An id, or a group of words, that makes something else the subject: "T019 depends on T018".
static OTHER_SUBJECT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:\b(?P<id>[A-Z]+-?[0-9]+(?:\.[0-9]+)*[a-z]?)[*`_~]*|\b(?i:which|that|not|longer|who|nothing|everything))\s+[*_]*$")
        .expect("a valid expression")
});

/// Returns the dependencies that `text` names, for the task called `own`.
pub(super) fn read(text: &str, own: Option<&str>) -> Vec<Dependency> {
    let mut dependencies = Vec::new();
    if !HINT.is_match(text) {
        return dependencies;
    }
    for keyword in KEYWORD.find_iter(text) {
        if let Some(subject) = OTHER_SUBJECT.captures(before(text, keyword.start()))
            && subject.name("id").map(|id| id.as_str()).is_none_or(|id| Some(id) != own)
        {
            continue;
        }
        read_list(&text[keyword.end()..], &mut dependencies);
    }
    dependencies.retain(|(from, until)| until.is_some() || Some(from.as_str()) != own);
    dependencies
}

/// Returns the words right before `end`: a subject is no longer, and a text may have many keywords.
fn before(text: &str, end: usize) -> &str {
    const MAX_SUBJECT_BYTES: usize = 200;
    let start = end.saturating_sub(MAX_SUBJECT_BYTES);
    let start = (start..end).find(|&at| text.is_char_boundary(at)).unwrap_or(end);
    &text[start..end]
}

fn read_list(text: &str, dependencies: &mut Vec<Dependency>) {
    let mut rest = text;
    while let Some((from, behind)) = id_at(rest) {
        rest = behind;
        let mut until = None;
        if let Some(dash) = RANGE.find(rest)
            && let Some((last, behind)) = id_at(&rest[dash.end()..])
        {
            until = Some(last.to_owned());
            rest = behind;
        }
        dependencies.push((from.to_owned(), until));
        match SEPARATOR.find(rest) {
            Some(separator) => rest = &rest[separator.end()..],
            None => return,
        }
    }
}

fn id_at(text: &str) -> Option<(&str, &str)> {
    let captures = LISTED.captures(text)?;
    let whole = captures.get(0)?;
    let id = ["task", "number", "word"].iter().find_map(|name| captures.name(name))?.as_str();
    let rest = &text[whole.end()..];
    // A part of a longer word, or a possessive: "T020's wiring".
    if !id.ends_with(|c: char| c.is_ascii_digit() || c.is_ascii_alphabetic())
        || !id.contains(|c: char| c.is_ascii_digit())
        || rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '\'' || c == '’')
    {
        return None;
    }
    let closers = LINK.find(rest).map_or(0, |closers| closers.end());
    Some((id, &rest[closers..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(text: &str, expected: &str) {
        let found: Vec<_> = read(text, Some("T050"))
            .into_iter()
            .map(|(from, until)| until.map_or(from.clone(), |until| format!("{from}..{until}")))
            .collect();
        assert_eq!(found.join(" "), expected, "{text}");
    }

    #[test]
    fn clear_forms_are_read() {
        case("Create it (depends on T012, T013)", "T012 T013");
        case("Create it (depends on T012 and T013).", "T012 T013");
        case("Create it (Depends on T001-T003, T005)", "T001..T003 T005");
        case("Create it (after T010 through T014)", "T010..T014");
        case("**Depends on**: T014", "T014");
        case("**Depends on:** Task 1, Task 2", "Task 1 Task 2");
        case("**Blocked By**: 1.1, 1.3", "1.1 1.3");
        case("Dependencies: T001", "T001");
        case("**Dependencies**: `T001`, [T002](#t002), **T003**", "T001 T002 T003");
        case("[deps:T000] Create it", "T000");
        case("[deps: T000,T001] Create it", "T000 T001");
        case("Create it. Depends on T009.", "T009");
        case("Create it. After T003.", "T003");
        case("T050 depends on T003", "T003");
        case("depends on T003 & T004a", "T003 T004a");
        case("depends on WP01", "WP01");
    }

    #[test]
    fn what_only_sounds_alike_is_left_alone() {
        for text in [
            "Dependencies: none (can run with T002)",
            "Install dependencies",
            "Show that T019 depends on T018",
            "US2 (which depends on T018)",
            "depends on T020's wiring",
            "does not depend on T003",
            "no longer depends on T003",
            "run the tests after T003",
            "renumber after T003 landed",
            "depends on the model",
            "depends on T050",
            "depends on README.md",
        ] {
            case(text, "");
        }
    }
}
