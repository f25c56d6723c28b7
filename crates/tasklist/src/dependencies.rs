//! What a task says it waits for: `(depends on T012, T013)`, `Dependencies: T001`, `[deps:T000]`.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;

use super::label::{ID, TASK_WORDS};
use super::languages::{Expressions, Languages};

/// An id that is waited for, or the first and the last of several.
pub(super) type Dependency = (String, Option<String>);

static LISTED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(&format!(r"^[\s:：*_`\[(（~]*(?:(?i:{TASK_WORDS})\s*[*_`\[]*)?{ID}"))
        .expect("a valid expression")
});

static LINK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:[`*_]|~~)*(?:\]\([^)]*\))?(?:[`*_\]]|~~)*").expect("a valid expression")
});

static SEPARATOR: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^\s*(?:,\s*and\b|[,，、]\s*(?:和|及|以及|および|및)|[,;&+/，、；＋・]|(?:and|und|et|y|e|и)\b|以及|和|及|与|與|跟|および|と|や|및|와|과)",
    )
    .expect("a valid expression")
});

static RANGE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s*(?:-|–|—|\.\.+|…|~|～|〜|至|到|から|부터|(?:to|through|bis|à|a|до|по)\b)")
        .expect("a valid expression")
});

/// What may follow the last id of a range.
static RANGE_END: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^\s*(?:まで|까지)").expect("a valid expression"));

/// An id that makes something else the subject: "T019 depends on T018".
static OTHER_SUBJECT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"\b(?P<id>[A-Z]+-?[0-9]+(?:\.[0-9]+)*[a-z]?)[*`_~]*(?:\s*(?:は|が|은|는|이|가|在)\s*|\s+)?[*_]*$",
    )
    .expect("a valid expression")
});

/// Returns the dependencies that `text` names in one of the languages, for the task called `own`.
pub(super) fn read(text: &str, own: Option<&str>, languages: Languages) -> Vec<Dependency> {
    let mut dependencies = Vec::new();
    for words in languages.iter().filter(|words| words.waits_hint.is_match(text)) {
        for keyword in words.waits_for.find_iter(text) {
            let (before, behind) = (&text[..keyword.start()], &text[keyword.end()..]);
            if !is_denied(languages, before, own) && !words.not_behind.is_match(behind) {
                read_list(behind, words, &mut dependencies);
            }
        }
        for found in words.waited_for.captures_iter(text) {
            let (Some(whole), Some(ids)) = (found.get(0), found.name("ids")) else { continue };
            let is_part = text[..ids.start()].ends_with(|c: char| c.is_ascii_alphanumeric());
            let is_undone = words.not_behind.is_match(&text[whole.end()..]);
            if !is_part && !is_undone && !is_other_subject(&text[..ids.start()], own) {
                read_list(ids.as_str(), words, &mut dependencies);
            }
        }
    }
    let mut seen = HashSet::new();
    dependencies.retain(|dependency| {
        let (from, until) = dependency;
        (until.is_some() || Some(from.as_str()) != own) && seen.insert(dependency.clone())
    });
    dependencies
}

/// Returns true if what is before a word for "depends on" says that the task depends on nothing, or that another does.
fn is_denied(languages: Languages, before: &str, own: Option<&str>) -> bool {
    // Languages share words, so what one of them denies is denied.
    languages.iter().any(|words| words.not_before.is_match(end_of(before))) || is_other_subject(before, own)
}

fn is_other_subject(before: &str, own: Option<&str>) -> bool {
    let subject = OTHER_SUBJECT.captures(end_of(before));
    subject.and_then(|found| found.name("id")).is_some_and(|id| Some(id.as_str()) != own)
}

/// Returns the last words of a text: a subject is no longer, and a text may have many keywords.
fn end_of(text: &str) -> &str {
    const MAX_SUBJECT_BYTES: usize = 200;
    let start = text.len().saturating_sub(MAX_SUBJECT_BYTES);
    let start = (start..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len());
    &text[start..]
}

/// Reads the ids that `text` begins with, unless words behind them deny it.
fn read_list(text: &str, words: &Expressions, dependencies: &mut Vec<Dependency>) {
    let known = dependencies.len();
    let mut rest = text;
    while let Some((from, behind)) = id_at(rest) {
        rest = behind;
        let mut until = None;
        if let Some(dash) = RANGE.find(rest)
            && let Some((last, behind)) = id_at(&rest[dash.end()..])
        {
            until = Some(last.to_owned());
            rest = &behind[RANGE_END.find(behind).map_or(0, |end| end.end())..];
        }
        dependencies.push((from.to_owned(), until));
        match SEPARATOR.find(rest) {
            Some(separator) => rest = &rest[separator.end()..],
            None => break,
        }
    }
    if words.not_behind_ids.is_match(rest) {
        dependencies.truncate(known);
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
        // "3 个服务": a count.
        || captures.name("number").is_some() && rest.trim_start().starts_with(['个', '個', 'つ', '件', '개', '种', '種'])
    {
        return None;
    }
    let closers = LINK.find(rest).map_or(0, |closers| closers.end());
    Some((id, &rest[closers..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::languages::with_common_words;

    #[track_caller]
    fn case(text: &str, expected: &str) {
        let found: Vec<_> = read(text, Some("T050"), Languages::of(text))
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

    /// Returns what was read otherwise than expected in a list of that language.
    fn wrong_in(language: &str, text: &str, expected: &str) -> Option<String> {
        let source = match language {
            "en" => text.to_owned(),
            "ja" => format!("{text} を作る"),
            _ => with_common_words(text),
        };
        let found: Vec<_> = read(text, Some("T050"), Languages::of(&source))
            .into_iter()
            .map(|(from, until)| until.map_or(from.clone(), |until| format!("{from}..{until}")))
            .collect();
        let found = found.join(" ");
        (found != expected).then(|| format!("{language}: {text}: {found}"))
    }

    #[test]
    fn each_language_has_its_forms() {
        let mut wrong = Vec::new();
        for (language, text, expected) in [
            ("zh", "实现登录（依赖 T012、T013）", "T012 T013"),
            ("zh", "**依赖**: 任务 1.1、1.3", "1.1 1.3"),
            ("zh", "**依賴**：任務 1.1（型別定義）", "1.1"),
            ("zh", "依赖于T001和T002", "T001 T002"),
            ("zh", "依赖：T001～T003，T005", "T001..T003 T005"),
            ("zh", "依賴 T087~T096", "T087..T096"),
            ("zh", "依赖：T001至T003", "T001..T003"),
            ("zh", "前置任务：T001、T004", "T001 T004"),
            ("zh", "T001、T002 完成后再做", "T001 T002"),
            ("zh", "实现登录（T003 之后）", "T003"),
            ("ja", "依存: T003", "T003"),
            ("ja", "**依存**：T003、T004", "T003 T004"),
            ("ja", "画面を作る（T001 に依存）", "T001"),
            ("ja", "T001とT002に依存する", "T001 T002"),
            ("ja", "T001からT003までに依存", "T001..T003"),
            ("ja", "タスク 1.2 の完了後に行う", "1.2"),
            ("ja", "依存タスク：T001〜T003 および T007", "T001..T003 T007"),
            ("ko", "의존: T001", "T001"),
            ("ko", "의존성: T001, T002 및 T004", "T001 T002 T004"),
            ("ko", "T001 완료 후 구현", "T001"),
            ("ko", "화면 구현 (T001에 의존)", "T001"),
            ("ko", "선행 작업: T001부터 T003까지", "T001..T003"),
            ("es", "Crear el flujo (depende de T001, T002 y T003)", "T001 T002 T003"),
            ("es", "Dependencias: T001", "T001"),
            ("es", "**Dependencias**: tarea 1.1", "1.1"),
            ("es", "Crear el flujo (requiere T001)", "T001"),
            ("es", "Crear el flujo (después de T001)", "T001"),
            ("es", "Crear el flujo. Después de T001 a T003.", "T001..T003"),
            ("pt", "Criar o fluxo (depende de T001 e T002)", "T001 T002"),
            ("pt", "**Dependências:** T001", "T001"),
            ("pt", "Criar o fluxo (após T001)", "T001"),
            ("pt", "Criar o fluxo (requer T004)", "T004"),
            ("fr", "Créer le flux (dépend de T001 et T002)", "T001 T002"),
            ("fr", "Dépendances : T001, T002", "T001 T002"),
            ("fr", "Créer le flux (après T001)", "T001"),
            ("de", "Ablauf bauen (abhängig von T001 und T002)", "T001 T002"),
            ("de", "Ablauf bauen (hängt von T001 ab)", "T001"),
            ("de", "Abhängigkeiten: T001 bis T003", "T001..T003"),
            ("de", "Ablauf bauen (nach T001)", "T001"),
            ("ru", "Сделать поток (зависит от T001 и T002)", "T001 T002"),
            ("ru", "Зависимости: T001", "T001"),
            ("ru", "Сделать поток (после T001)", "T001"),
            ("en", "Make it (depends on T001, T002)", "T001 T002"),
        ] {
            wrong.extend(wrong_in(language, text, expected));
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn negations_of_each_language_come_first() {
        let mut wrong = Vec::new();
        for (language, text) in [
            ("zh", "不依赖 T001"),
            ("zh", "無依賴：T001 可並行"),
            ("zh", "没有依赖，T001 也可以"),
            ("zh", "安装依赖：1.2、1.3"),
            ("zh", "安裝前端依賴（React Router、T001）"),
            ("zh", "US2 依賴 T018"),
            ("zh", "被 T003 依赖"),
            ("zh", "依赖 3 个服务"),
            ("zh", "在 T003 之后运行测试"),
            ("ja", "依存: なし"),
            ("ja", "依存関係をインストール: T001"),
            ("ja", "T001 に依存しない"),
            ("ja", "T001とT002に依存していない"),
            ("ja", "T003はT001に依存する"),
            ("ja", "並列タスクの依存関係"),
            ("ko", "의존성 없음 (T001 참고)"),
            ("ko", "T001에 의존하지 않음"),
            ("ko", "T003은 T001에 의존"),
            ("es", "no depende de T001"),
            ("es", "independiente de T001"),
            ("es", "Dependencias: ninguna (puede ir con T002)"),
            ("es", "Ejecutar las pruebas después de T003"),
            ("pt", "não depende de T001"),
            ("pt", "independente de T001"),
            ("fr", "ne dépend pas de T001"),
            ("fr", "indépendant de T001"),
            ("de", "unabhängig von T001"),
            ("de", "nicht abhängig von T001"),
            ("de", "hängt nicht von T001 ab"),
            ("de", "hängt von T001 nicht ab"),
            ("ru", "не зависит от T001"),
            ("ru", "независимо от T001"),
            ("ru", "Зависимости: нет (можно с T002)"),
            // A language counts only where it is in the list.
            ("en", "Create the flow (nach T001)"),
            ("en", "Translate `depende de T001`"),
        ] {
            wrong.extend(wrong_in(language, text, ""));
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
