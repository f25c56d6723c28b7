//! Which of the headings above a task is its phase.

use std::sync::LazyLock;

use regex::Regex;

/// A word for "phase" and a number, a letter or the end of the name after it.
static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?ix)^(?:
            (?:phase|fase|faza|fáze|фаза|stage|milestone|sprint|wave|work\s*package|wp|étape|etappe)
            (?:\s*[-\#]?\s*(?:wp)?\d+(?:\.\d+)*[a-z]?\b | [\s-]\s*(?:[ivx]+|[a-z])\b | \s*(?:[:—–-]|$))
            | (?:第\s*[\d一二三四五六七八九十]+\s*)?(?:阶段|階段|フェーズ|ステージ)
            | \d*\s*단계
        )",
    )
    .expect("a valid expression")
});

/// `Step 3`, `1. Title`: the same job, but often done inside a phase.
static NUMBERED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^(?:step\s+\d+|part\s+(?:\d+|[a-z])\b|\d+(?:\.\d+)*[.)]?\s)")
        .expect("a valid expression")
});

/// A number, a roman number or a letter that stands for one, as a word of its own.
static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\d+(?:\.\d+)*[a-z]?\b|\d+|\b(?:[ivx]+|[a-z])\b").expect("a valid expression")
});

/// Returns the nearest heading that looks like a phase, else the nearest of level 2, else the nearest.
pub(super) fn of(headings: &[(u8, String)], bold: Option<&str>) -> Option<String> {
    if let Some(bold) = bold {
        return Some(bold.to_owned());
    }
    let mut nearest = headings.iter().rev();
    let named = nearest.clone().find(|(_, text)| NAMED.is_match(plain(text)));
    named
        // A title of level 1 with a number is the number of the feature.
        .or_else(|| nearest.clone().find(|(level, text)| *level > 1 && NUMBERED.is_match(plain(text))))
        .or_else(|| nearest.find(|(level, _)| *level == 2))
        .or_else(|| headings.last())
        .map(|(_, text)| text.clone())
}

/// Returns the number in a phase heading, in one spelling: `2` of `Phase 02: Core`, `n` of `Phase N: Polish`.
pub(super) fn number(heading: &str) -> Option<String> {
    let heading = plain(heading);
    let front = NAMED.find(heading).or_else(|| NUMBERED.find(heading))?.as_str();
    NUMBER.find_iter(front).last().map(|number| canonical(number.as_str()))
}

/// Returns the same of a number that is alone, as a person types it.
pub(super) fn bare_number(text: &str) -> Option<String> {
    let is_number = NUMBER.find(text).is_some_and(|number| number.len() == text.len());
    is_number.then(|| canonical(text))
}

fn canonical(number: &str) -> String {
    let number = number.to_lowercase();
    match number.trim_start_matches('0') {
        rest if rest.starts_with(|c: char| c.is_ascii_digit()) => rest.to_owned(),
        _ => number,
    }
}

/// Returns true if a paragraph is one bold line that names a phase.
pub(super) fn is_bold_phase(text: &str) -> bool {
    let inner = text
        .strip_prefix("**")
        .and_then(|rest| rest.strip_suffix("**").or_else(|| rest.strip_suffix("**:")))
        .filter(|inner| !inner.contains("**"));
    inner.is_some_and(|inner| NAMED.is_match(plain(inner)))
}

/// Without the emoji and signs that are before the words.
fn plain(text: &str) -> &str {
    text.trim_start_matches(|c: char| !c.is_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(headings: &[(u8, &str)], phase: &str) {
        let headings: Vec<_> = headings.iter().map(|(level, text)| (*level, (*text).to_owned())).collect();
        assert_eq!(of(&headings, None).as_deref(), Some(phase));
    }

    #[test]
    fn the_nearest_heading_that_looks_like_a_phase_wins() {
        case(
            &[(1, "Tasks"), (2, "Phase 3: Login"), (3, "Implementation for User Story 1")],
            "Phase 3: Login",
        );
        case(&[(2, "Part one"), (3, "✅ Phase 3.1: Setup")], "✅ Phase 3.1: Setup");
        case(&[(1, "Phase A"), (2, "Notes")], "Phase A");
        case(&[(2, "Fase 0"), (3, "Step 1")], "Fase 0");
        case(&[(2, "Tasks"), (3, "阶段 2：写")], "阶段 2：写");
        case(&[(2, "第一階段"), (3, "x")], "第一階段");
    }

    #[test]
    fn without_one_it_is_the_nearest_of_level_two_or_the_nearest() {
        case(&[(1, "Tasks"), (2, "Backend"), (3, "Models")], "Backend");
        case(&[(1, "Tasks"), (2, "Tasks"), (3, "2. Models")], "2. Models");
        case(&[(1, "001 Login")], "001 Login");
        case(&[(1, "Tasks"), (3, "Models")], "Models");
        case(&[(1, "Work packages: Merge"), (2, "Phases of it"), (3, "x")], "Phases of it");
        assert_eq!(of(&[], None), None);
    }

    #[test]
    fn the_number_of_a_phase_is_read_from_its_front() {
        for (heading, expected) in [
            ("Phase 2: Core", Some("2")),
            ("✅ Phase 03.1 - 4 tests", Some("3.1")),
            ("PHASE -1: Gates", Some("1")),
            ("Phase 2b — More", Some("2b")),
            ("Phase N: Polish", Some("n")),
            ("Phase IV", Some("iv")),
            ("Stage 0", Some("0")),
            ("WP01", Some("1")),
            ("第2阶段：写", Some("2")),
            ("2. Models", Some("2")),
            ("Step 3: Models", Some("3")),
            ("Phase: 2 models", None),
            ("Backend 2", None),
            ("", None),
        ] {
            assert_eq!(number(heading).as_deref(), expected, "{heading}");
        }
        for (text, expected) in [
            ("2", Some("2")),
            ("02", Some("2")),
            ("3.1", Some("3.1")),
            ("n", Some("n")),
            ("core", None),
            ("", None),
        ] {
            assert_eq!(bare_number(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_bold_line_may_name_a_phase() {
        assert!(is_bold_phase("**Phase 1: Setup**"));
        assert!(is_bold_phase("**Phase 2**:"));
        assert!(!is_bold_phase("**Checkpoint**: phase 1 is done"));
        assert!(!is_bold_phase("**Purpose**"));
        assert!(!is_bold_phase("**Phase 1** and **Phase 2**"));
    }
}
