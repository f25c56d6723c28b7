//! Which stories a task belongs to, in one spelling: `US1`.

use std::sync::LazyLock;

use regex::Regex;

static NUMBER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"0*(?P<number>[0-9]+)(?P<letter>[a-z]?)").expect("a valid expression"));

/// `User Story 3`, `US3`, `Story 3`, `用户故事 3`, with a name around it.
static IN_HEADING: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?ix)(?: \b(?:user\s+story|story|us|historia(?:\s+de\s+usuario)?|história(?:\s+de\s+usuário)?
                 |(?:récit|histoire)\s+utilisateur|пользовательская\s+история)
               | (?:用[户戶]|使用者)故事 | ユーザーストーリー | 사용자\s*스토리 )
           [\s-]*\#?(?P<number>[0-9]+[a-z]?)\b",
    )
    .expect("a valid expression")
});

/// What a person types for a story.
static TYPED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^\s*(?:user[\s-]+story|story|us)?[\s#-]*(?P<number>[0-9]+[a-z]?)\s*$")
        .expect("a valid expression")
});

/// Returns the stories of a task: those of its tag, else the one that the nearest heading names.
pub(super) fn of(tag: Option<&str>, headings: &[(u8, String)]) -> Vec<String> {
    let Some(tag) = tag else {
        let nearest = headings.iter().rev().find_map(|(_, heading)| IN_HEADING.captures(heading));
        return nearest.map(|found| canonical(&found["number"])).into_iter().collect();
    };
    let mut stories = Vec::new();
    for number in NUMBER.find_iter(tag) {
        let story = canonical(number.as_str());
        if !stories.contains(&story) {
            stories.push(story);
        }
    }
    stories
}

/// Returns true if a heading names a story.
pub(super) fn is_named(heading: &str) -> bool {
    IN_HEADING.is_match(heading)
}

/// `1`, `us-1` and `User Story 1` as `US1`; `None` for what names no story.
pub(super) fn typed(text: &str) -> Option<String> {
    TYPED.captures(text).map(|found| canonical(&found["number"]))
}

fn canonical(number: &str) -> String {
    let number = number.to_lowercase();
    let parts = NUMBER.captures(&number);
    parts.map_or(number.clone(), |parts| format!("US{}{}", &parts["number"], &parts["letter"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(tag: Option<&str>, headings: &[&str], expected: &str) {
        let headings: Vec<_> = headings.iter().map(|text| (2, (*text).to_owned())).collect();
        assert_eq!(of(tag, &headings).join(" "), expected, "{tag:?} {headings:?}");
    }

    #[test]
    fn the_tag_names_the_stories_and_else_the_nearest_heading_does() {
        case(Some("US1"), &["Phase 3: User Story 2 - Reading"], "US1");
        case(Some("US-1"), &[], "US1");
        case(Some("US-001"), &[], "US1");
        case(Some("Story 2b"), &[], "US2b");
        case(Some("US1+US2"), &[], "US1 US2");
        case(Some("US2/3, US2"), &[], "US2 US3");
        case(None, &["Phase 3: User Story 1 - Logging in (Priority: P1) 🎯 MVP"], "US1");
        case(None, &["Phase 8: US7 — Credit on a record", "Tests"], "US7");
        case(None, &["Phase 3: User Story 1", "Implementation for User Story 2"], "US2");
        case(None, &["Phase 2: US-3 — a portal (P1)"], "US3");
        for heading in [
            "阶段 3：用户故事 1 - 登录",
            "使用者故事 1：登入",
            "ユーザーストーリー1 - ログイン",
            "사용자 스토리 1 - 로그인",
            "Fase 3: Historia de usuario 1 - Acceso",
            "Fase 3: História de usuário 1 - Acesso",
            "Phase 3 : Récit utilisateur 1 - Connexion",
            "Фаза 3: Пользовательская история 1 - Вход",
        ] {
            case(None, &[heading], "US1");
        }
        case(None, &["Phase 1: Setup", "History 2", "Focus 3", "Histoire 4"], "");
        case(None, &[], "");
    }

    #[test]
    fn people_may_type_a_story_in_any_form() {
        for (text, expected) in [
            ("US1", Some("US1")),
            ("us-01", Some("US1")),
            (" 1 ", Some("US1")),
            ("User Story 2a", Some("US2a")),
            ("story 3", Some("US3")),
            ("#4", Some("US4")),
            ("Logging in", None),
            ("T001", None),
            ("", None),
        ] {
            assert_eq!(typed(text).as_deref(), expected, "{text}");
        }
    }
}
