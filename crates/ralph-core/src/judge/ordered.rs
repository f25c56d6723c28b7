//! What the texts of tasks ask for: a check instead of a change, the removal of tests, a change of the validation.

use tasklist::Languages;

/// First words of a task that may be done without any change.
const VERIFICATIONS: &[&str] = &[
    "run",
    "verify",
    "validate",
    "check",
    "confirm",
    "ensure",
    "review",
    "test",
    "measure",
    "audit",
    "execute",
    "install",
    "start",
    "deploy",
    "apply",
    "migrate",
    "commit",
    "tag",
    "push",
    "publish",
    "download",
    "investigate",
    "decide",
];

/// First words that are a verification only before one of these, as they begin names of things, too: `Explore page`.
const VERIFICATIONS_BEFORE: &[(&str, &[&str])] = &[
    ("make", &["sure"]),
    (
        "explore",
        &[
            "the",
            "a",
            "an",
            "how",
            "whether",
            "if",
            "what",
            "which",
            "where",
            "why",
            "our",
            "this",
            "that",
            "these",
            "existing",
            "current",
            "possible",
            "available",
            "different",
            "other",
            "options",
            "alternatives",
            "approaches",
            "ways",
        ],
    ),
    (
        "try",
        &[
            "the", "a", "an", "out", "how", "whether", "if", "all", "each", "every", "both", "this", "these",
            "our",
        ],
    ),
    ("look", &["at", "into", "through", "over", "whether", "how", "if", "closely"]),
];

/// What such a word is only a name of: `Decide button`.
const THINGS: &[&str] = &[
    "button",
    "page",
    "tab",
    "view",
    "screen",
    "link",
    "panel",
    "mode",
    "menu",
    "section",
    "feed",
    "icon",
    "action",
    "endpoint",
    "route",
    "api",
    "function",
    "method",
    "handler",
    "component",
    "step",
    "form",
    "flow",
    "command",
];

/// Words by which a task asks for fewer tests.
const REMOVALS: &[&str] = &["skip", "disable", "quarantine", "xfail", "remove", "delete", "drop"];

/// Verbs that ask for it only with the tests as their object: much else is muted.
const SILENCINGS: &[&str] = &["silence", "mute", "retire"];

/// What tests are marked as, and the words before and between: `mark slow tests as ignored`.
const MARKINGS: &[&str] = &["mark", "set", "tag", "flag", "make", "keep", "leave"];
const MARKED: &[&str] =
    &["ignored", "skipped", "muted", "silenced", "quarantined", "disabled", "todo", "pending"];
const BETWEEN: &[&str] = &["as", "to", "be", "a", "the", "is", "are"];

/// Words by which a task asks for a change that takes work of earlier ones away.
const REVERSALS: &[&str] =
    &["remove", "delete", "replace", "rename", "move", "migrate", "revert", "refactor", "clean"];

/// The same words of another language, which count in a list of that language. Those of a script that sets no words apart
/// count anywhere in a text; the others, as in English, as whole words. Words that are English words too are left out, as are
/// verbs for "test": tasks that write tests begin with them.
#[derive(Debug)]
struct Words {
    /// As the languages of a list are called.
    code: &'static str,
    /// True if words are not set apart by spaces.
    is_unspaced: bool,
    verifications: &'static [&'static str],
    /// What such a task ends with, where the verb comes last.
    verification_ends: &'static [&'static str],
    removals: &'static [&'static str],
    reversals: &'static [&'static str],
    tests: &'static [&'static str],
    setup: &'static [&'static str],
}

/// Chinese, Japanese, Korean, Spanish, Portuguese, French, German, Russian.
const OTHER_LANGUAGES: &[Words] = &[
    Words {
        code: "zh",
        is_unspaced: true,
        verifications: &[
            "运行",
            "運行",
            "执行",
            "執行",
            "验证",
            "驗證",
            "确认",
            "確認",
            "检查",
            "檢查",
            "审查",
            "審查",
            "审核",
            "审计",
            "部署",
            "提交代码",
            "提交程式碼",
            "提交更改",
            "提交变更",
            "提交變更",
            "提交所有",
            "提交全部",
            "提交并",
            "提交並",
            "提交到",
            "提交 ",
            "推送",
            "手动验证",
            "手動驗證",
            "手动验收",
            "手動驗收",
        ],
        verification_ends: &[],
        removals: &["删除", "刪除", "移除", "跳过", "跳過", "禁用", "去掉", "废弃", "廢棄"],
        reversals: &[
            "删除",
            "刪除",
            "移除",
            "替换",
            "替換",
            "取代",
            "重命名",
            "更名",
            "移动",
            "搬移",
            "迁移",
            "遷移",
            "回滚",
            "回滾",
            "撤销",
            "撤銷",
            "重构",
            "重構",
            "清理",
        ],
        tests: &["测试", "測試"],
        setup: &["项目设置", "專案設定", "环境搭建", "環境建置", "初始化", "设置（共享", "設定（共用"],
    },
    Words {
        code: "ja",
        is_unspaced: true,
        verifications: &[],
        verification_ends: &[
            "を実行",
            "を実行する",
            "を確認",
            "を確認する",
            "動作確認",
            "を検証",
            "を検証する",
            "をデプロイする",
        ],
        removals: &["削除", "スキップ", "無効化", "除去"],
        reversals: &[
            "削除",
            "除去",
            "置換",
            "置き換え",
            "名前を変更",
            "リネーム",
            "移動",
            "移行",
            "差し戻",
            "リファクタ",
            "整理",
        ],
        tests: &["テスト"],
        setup: &["セットアップ", "初期設定", "環境構築"],
    },
    Words {
        code: "ko",
        is_unspaced: true,
        verifications: &[],
        verification_ends: &["실행", "실행하기", "확인", "확인하기", "검증", "검증하기", "배포", "점검"],
        removals: &["삭제", "제거", "건너뛰", "비활성화"],
        reversals: &[
            "삭제",
            "제거",
            "교체",
            "대체",
            "이름 변경",
            "이동",
            "마이그레이션",
            "되돌리",
            "리팩터",
            "리팩토",
            "정리",
        ],
        tests: &["테스트"],
        setup: &["초기 설정", "셋업", "환경 구성"],
    },
    Words {
        code: "es",
        is_unspaced: false,
        verifications: &[
            "ejecutar",
            "ejecuta",
            "verificar",
            "verifica",
            "validar",
            "comprobar",
            "comprueba",
            "confirmar",
            "asegurar",
            "revisar",
            "medir",
            "auditar",
            "desplegar",
            "publicar",
        ],
        verification_ends: &[],
        removals: &[
            "eliminar",
            "elimina",
            "quitar",
            "quita",
            "borrar",
            "borra",
            "omitir",
            "deshabilitar",
            "desactivar",
        ],
        reversals: &[
            "eliminar",
            "elimina",
            "quitar",
            "borrar",
            "reemplazar",
            "reemplaza",
            "sustituir",
            "renombrar",
            "mover",
            "migrar",
            "revertir",
            "refactorizar",
            "limpiar",
        ],
        tests: &["prueba", "pruebas"],
        setup: &["configuración inicial", "preparación"],
    },
    Words {
        code: "pt",
        is_unspaced: false,
        verifications: &[
            "executar",
            "execute",
            "rodar",
            "verificar",
            "verifique",
            "validar",
            "confirmar",
            "garantir",
            "revisar",
            "medir",
            "auditar",
            "implantar",
            "publicar",
        ],
        verification_ends: &[],
        removals: &["remover", "remova", "excluir", "apagar", "pular", "desabilitar", "desativar"],
        reversals: &[
            "remover",
            "remova",
            "excluir",
            "apagar",
            "substituir",
            "renomear",
            "mover",
            "migrar",
            "reverter",
            "refatorar",
            "limpar",
        ],
        tests: &["teste", "testes"],
        setup: &["configuração inicial", "preparação"],
    },
    Words {
        code: "fr",
        is_unspaced: false,
        verifications: &[
            "exécuter",
            "lancer",
            "vérifier",
            "valider",
            "confirmer",
            "contrôler",
            "relire",
            "mesurer",
            "auditer",
            "déployer",
            "publier",
        ],
        verification_ends: &[],
        removals: &["supprimer", "supprime", "retirer", "enlever", "ignorer", "désactiver"],
        reversals: &[
            "supprimer",
            "supprime",
            "retirer",
            "remplacer",
            "renommer",
            "déplacer",
            "migrer",
            "annuler",
            "refactoriser",
            "nettoyer",
        ],
        tests: &["test", "tests"],
        setup: &["mise en place", "configuration initiale"],
    },
    Words {
        code: "de",
        is_unspaced: false,
        verifications: &[
            "führe",
            "prüfe",
            "überprüfe",
            "verifiziere",
            "validiere",
            "bestätige",
            "messe",
            "starte",
        ],
        verification_ends: &[
            "ausführen",
            "prüfen",
            "überprüfen",
            "verifizieren",
            "validieren",
            "bestätigen",
            "veröffentlichen",
        ],
        removals: &[
            "entferne",
            "entfernen",
            "lösche",
            "löschen",
            "überspringe",
            "überspringen",
            "deaktiviere",
            "deaktivieren",
        ],
        reversals: &[
            "entferne",
            "entfernen",
            "lösche",
            "löschen",
            "ersetze",
            "ersetzen",
            "umbenennen",
            "verschiebe",
            "verschieben",
            "migriere",
            "migrieren",
            "zurücknehmen",
            "aufräumen",
            "refaktorisieren",
        ],
        tests: &["test", "tests"],
        setup: &["einrichtung", "vorbereitung"],
    },
    Words {
        code: "ru",
        is_unspaced: false,
        verifications: &[
            "запустить",
            "запусти",
            "выполнить",
            "проверить",
            "проверь",
            "подтвердить",
            "убедиться",
            "измерить",
            "развернуть",
            "опубликовать",
        ],
        verification_ends: &[],
        removals: &["удалить", "удали", "убрать", "пропустить", "отключить"],
        reversals: &[
            "удалить",
            "удали",
            "убрать",
            "заменить",
            "переименовать",
            "переместить",
            "перенести",
            "откатить",
            "отрефакторить",
            "очистить",
        ],
        tests: &["тест", "тесты", "тестов"],
        setup: &["настройка проекта", "подготовка"],
    },
];

/// Returns the words of the languages of a list that are not English.
fn others(languages: Languages) -> impl Iterator<Item = &'static Words> {
    OTHER_LANGUAGES.iter().filter(move |words| languages.has(words.code))
}

impl Words {
    /// Returns true if a text has one of these words.
    fn has(&self, listed: &[&str], text: &str) -> bool {
        let is_in = |word: &&str| {
            self.is_unspaced && text.contains(*word)
                || text.match_indices(*word).any(|(at, found)| {
                    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
                    !text[..at].ends_with(is_letter) && !text[at + found.len()..].starts_with(is_letter)
                })
        };
        listed.iter().any(is_in)
    }

    fn is_verification(&self, text: &str, first: &str) -> bool {
        let end = text.trim_end_matches(|c: char| !c.is_alphanumeric());
        let is_front = |word: &&str| if self.is_unspaced { text.starts_with(*word) } else { first == *word };
        let is_end = |word: &&str| {
            let before = end.strip_suffix(*word);
            before.is_some_and(|before| self.is_unspaced || before.ends_with(char::is_whitespace))
        };
        self.verifications.iter().any(is_front) || self.verification_ends.iter().any(is_end)
    }
}

/// Maximum number of words between such a word and the tests that it is about.
const MAX_WORDS_BETWEEN: usize = 6;

/// How the last message of an agent says that a task was done already.
const NOTHING_TO_CHANGE: &str = "nothing to change:";

/// Returns true if the work of a task is to look at something or to run it, so that no file needs to change.
pub fn is_verification(text: &str, languages: Languages) -> bool {
    let rest = without_tags(text).to_lowercase();
    // `Try/catch` is one word.
    let mut words = rest.split(|c: char| !c.is_alphanumeric() && !matches!(c, '-' | '_' | '/'));
    let first = words.next().unwrap_or_default();
    let first = first.split('/').next().filter(|word| VERIFICATIONS.contains(word)).unwrap_or(first);
    let second = words.next().unwrap_or_default();
    let is_verb = match first {
        // `Manually entered orders`
        "manually" => !second.is_empty() && !second.ends_with("ed"),
        "investigate" | "decide" => !THINGS.contains(&second),
        _ => {
            let before = VERIFICATIONS_BEFORE.iter().find(|(word, _)| *word == first);
            before.map_or_else(|| VERIFICATIONS.contains(&first), |(_, next)| next.contains(&second))
        }
    };
    is_verb || others(languages).any(|words| words.is_verification(&rest, first))
}

/// Returns the text of a task behind `[P]`, `[US1]` and markup.
fn without_tags(text: &str) -> &str {
    let mut rest = text.trim_start();
    while let Some((_, behind)) = rest.strip_prefix('[').and_then(|tag| tag.split_once(']')) {
        rest = behind.trim_start();
    }
    rest.trim_start_matches(|c: char| !c.is_alphanumeric())
}

/// Returns the reason in a line `Nothing to change: REASON`.
pub fn nothing_to_change(final_text: &str) -> Option<&str> {
    final_text.lines().find_map(|line| {
        let line = line.trim_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '`' | '_' | '>'));
        let front = line.get(..NOTHING_TO_CHANGE.len())?;
        let reason = line[front.len()..].trim_start_matches('*').trim();
        (front.eq_ignore_ascii_case(NOTHING_TO_CHANGE) && !reason.is_empty()).then_some(reason)
    })
}

/// Returns true if one of the tasks asks to remove or to skip something.
pub fn orders_removal(texts: &[&str], languages: Languages) -> bool {
    texts.iter().any(|text| {
        let other = text.to_lowercase();
        let is_retired = words(without_tags(text)).next().is_some_and(|word| word == "retire");
        words(text).any(|word| is_removal(&word))
            || is_retired
            || silences_tests(text, &[])
            || others(languages).any(|words| words.has(words.removals, &other))
    })
}

/// Returns true if one of the tasks asks to remove or to skip tests, or what one of these files has.
pub fn orders_skip(texts: &[&str], paths: &[&str], languages: Languages) -> bool {
    texts.iter().any(|text| {
        let other = text.to_lowercase();
        let is_other = others(languages)
            .any(|words| words.has(words.removals, &other) && words.has(words.tests, &other));
        if is_other || silences_tests(text, paths) {
            return true;
        }
        let words: Vec<String> = words(text).collect();
        let mut removals = words.iter().enumerate().filter(|(_, word)| is_removal(word));
        removals.any(|(at, _)| {
            let end = (at + MAX_WORDS_BETWEEN + 2).min(words.len());
            words[at.saturating_sub(MAX_WORDS_BETWEEN + 1)..end].iter().any(|word| {
                matches!(word.as_str(), "test" | "tests") || paths.iter().any(|path| names_file(word, path))
            })
        })
    })
}

/// Returns true if the tasks ask for a change of all these own files of the validation (`check.sh`,
/// `package.json#scripts.test`): by their names, by the word `validation`, or because their phase is the setup.
pub fn orders_own_file_change(
    texts: &[&str],
    names: &[String],
    phase: Option<&str>,
    languages: Languages,
) -> bool {
    phase.is_some_and(|phase| is_setup(phase, languages))
        || texts.iter().any(|text| words(text).any(|word| word == "validation"))
        || names.iter().all(|name| {
            let path = name.split('#').next().unwrap_or(name);
            texts.iter().any(|text| words(text).any(|word| names_file(&word, path)))
        })
}

/// Returns true if a phase is the one in which a project is set up.
pub fn is_setup(phase: &str, languages: Languages) -> bool {
    let other = phase.to_lowercase();
    words(phase).any(|word| word == "setup") || others(languages).any(|words| words.has(words.setup, &other))
}

/// Returns true if one of the tasks names a file that decides what runs, or the tool that it is of: `jest` of
/// `jest.config.js`.
pub fn orders_config(texts: &[&str], path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let tool = name.trim_start_matches('.').split('.').next().unwrap_or_default();
    let tool = tool.strip_suffix("rc").unwrap_or(tool);
    texts.iter().any(|text| {
        words(text).any(|word| names_file(&word, path) || word == tool && !matches!(tool, "package" | "vite"))
    })
}

/// Returns true if one of the tasks asks that the validation prints something else: it names one of the runners, or speaks
/// of a runner or reporter, or of the output of tests.
pub fn orders_other_output(texts: &[&str], runners: &[&str], languages: Languages) -> bool {
    texts.iter().any(|text| {
        let other = text.to_lowercase();
        let is_of_tests = |word: &str| {
            matches!(word, "test" | "tests" | "validation" | "check" | "checks")
                || others(languages).any(|words| words.has(words.tests, &other))
        };
        let words: Vec<String> = words(text).collect();
        let has_tests = words.iter().any(|word| is_of_tests(word));
        words.iter().any(|word| {
            let is_runner = runners.iter().any(|runner| runner.split(' ').next() == Some(word));
            match word.as_str() {
                "runner" | "runners" | "reporter" | "reporters" => true,
                // Names that other things have, too.
                "output" | "outputs" | "quiet" | "quietly" | "verbose" | "verbosity" => has_tests,
                // Names that other things have, too.
                "cargo" | "go" | "node" | "dart" | "bun" | "deno" | "tap" | "summary" => {
                    has_tests && is_runner
                }
                _ => is_runner,
            }
        })
    })
}

/// Returns true if one of the tasks asks to take away or to change what there is, or names one of these files.
pub fn orders_reversal(texts: &[&str], paths: &[String], languages: Languages) -> bool {
    texts.iter().any(|text| {
        let other = text.to_lowercase();
        text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
            .any(|word| REVERSALS.contains(&word.to_lowercase().as_str()))
            || others(languages).any(|words| words.has(words.reversals, &other))
            || words(text).any(|word| paths.iter().any(|path| names_file(&word, path)))
    })
}

/// Returns true if a task asks to silence tests, or to mark them so: the verb begins it, or what is behind `and`.
fn silences_tests(text: &str, paths: &[&str]) -> bool {
    let words: Vec<String> = words(without_tags(text)).filter(|word| !word.is_empty()).collect();
    let is_test = |word: &String| {
        matches!(word.as_str(), "test" | "tests" | "spec" | "specs" | "suite")
            || word.starts_with("test_")
            || paths.iter().any(|path| names_file(word, path))
    };
    let is_in = |words: &[&str], word: &String| words.contains(&word.as_str());
    words.iter().enumerate().any(|(at, word)| {
        let begins = at == 0 || is_in(&["and", "then", "or", "to"], &words[at - 1]);
        let rest = &words[at + 1..words.len().min(at + MAX_WORDS_BETWEEN)];
        let object = rest.iter().take_while(|word| !is_in(&["and", "with", "or", "then", "when"], word));
        let is_marking = is_in(MARKINGS, word)
            && rest.iter().position(is_test).is_some_and(|test| {
                let mut behind = words[at + test + 2..].iter().skip_while(|word| is_in(BETWEEN, word));
                behind.next().is_some_and(|word| is_in(MARKED, word))
            });
        begins && is_in(SILENCINGS, word) && object.clone().any(is_test) || is_marking
    })
}

fn is_removal(word: &str) -> bool {
    REMOVALS.contains(&word)
}

/// Returns the words in lower case, paths in one piece.
fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/')));
    words.map(|word| word.trim_end_matches(['.', '/']).trim_start_matches("./").to_lowercase())
}

/// Returns true if a word is the path of a file or ends it. `check` alone is no file `scripts/check`.
fn names_file(word: &str, path: &str) -> bool {
    let path = path.to_lowercase();
    let is_end = path.strip_suffix(word).is_some_and(|front| front.is_empty() || front.ends_with('/'));
    is_end && (word.contains(['.', '/']) || word.ends_with("file"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The languages of a list with a text, and with common words of those that have no script of their own.
    fn of(text: &str) -> Languages {
        Languages::of(&format!("{text} para los que; para não uma; pour les des; für und mit"))
    }

    #[test]
    fn a_verification_is_known_by_its_first_word() {
        for text in [
            "Run quickstart.md",
            "[P] [US1] Verify the login",
            "**Validate** all links",
            "`Ensure` it",
            "[US-2] - commit and push",
            "TEST everything",
            "Manually test the login",
            "[P] Make sure that the login works",
            "Explore the code and list open questions",
            "Try the new flow on a phone",
            "Look into the slow query",
            "Investigate slow startup",
            "Decide whether to keep the cache",
            "Run/verify the quickstart",
        ] {
            assert!(is_verification(text, of(text)), "{text}");
        }
        for text in [
            "Add a check of the login",
            "Running totals",
            "Test-driven rewrite",
            "Tests for login",
            "[P] Checkout page",
            "Explore page",
            "Explore tab with a grid",
            "Try/catch around fetch",
            "Try-again button",
            "Look and feel",
            "Look up the user by email",
            "Make a login",
            "Manually entered orders can be edited",
            "Manual entry form",
            "Investigate button on alerts",
            "Decide endpoint",
            "",
            "[P]",
        ] {
            assert!(!is_verification(text, of(text)), "{text}");
        }
    }

    #[test]
    fn a_reason_stands_on_a_line_of_its_own() {
        for (text, expected) in [
            ("Done.\nNothing to change: the parser does it already\n", Some("the parser does it already")),
            ("**Nothing to change:** in place", Some("in place")),
            ("`nothing to change: x`", Some("x")),
            ("There was nothing to change: x", None),
            ("Nothing to change:\n", None),
            ("Nothing to chängé: x", None),
            ("", None),
        ] {
            assert_eq!(nothing_to_change(text), expected, "{text}");
        }
    }

    #[test]
    fn removals_are_ordered_by_whole_words() {
        for (text, removal, skip) in [
            ("Remove the legacy tests", true, true),
            ("Skip the flaky case in `tests/a.test.js` for now", true, true),
            ("Mark the test of the clock as xfail", true, true),
            ("Delete tests/A.test.js.", true, true),
            ("Quarantine a.test.js", true, true),
            ("Remove the legacy login and all of its configuration keys, then add a test", true, false),
            ("Drop the column", true, false),
            ("Disable `other.test.js`", true, false),
            ("Add a test for dropdowns and skipping", false, false),
            ("Deleted users cannot log in", false, false),
            ("Silence the flaky test test_b until 12 is fixed", true, true),
            ("[P] Mute tests/a.test.js", false, true),
            ("Speed up the test run: mark slow tests as ignored", true, true),
            ("Fix the clock and retire its old tests", true, true),
            ("Retire the legacy parser", true, false),
            ("Add a mute button", false, false),
            ("Add a mute button and a test for it", false, false),
            ("Mute notifications, and test that none is sent", false, false),
            ("Add tests for ignored files", false, false),
            ("Add a silence detection test", false, false),
            ("Show retired users", false, false),
        ] {
            assert_eq!(orders_removal(&["x", text], of(text)), removal, "{text}");
            assert_eq!(orders_skip(&["x", text], &["tests/a.test.js"], of(text)), skip, "{text}");
        }
    }

    #[test]
    fn another_output_is_ordered_by_the_runner_its_settings_or_its_reporter() {
        for (text, expected) in [
            ("Use the dot reporter", true),
            ("Switch from jest to tape", true),
            ("Make the output of the tests quiet", true),
            ("Run the go tests with less noise", true),
            ("Write the output to a file", false),
            ("Add a node to the tree", false),
            ("Go to the next page", false),
            ("Add the login", false),
        ] {
            assert_eq!(
                orders_other_output(&["x", text], &["jest", "go test", "node"], of(text)),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn a_setting_is_ordered_by_its_file_or_its_tool() {
        for (text, path, expected) in [
            ("Set up jest", "jest.config.js", true),
            ("Add .mocharc.json", ".mocharc.json", true),
            ("Configure mocha", ".mocharc.json", true),
            ("Add pytest.ini", "pytest.ini", true),
            ("Ship the package", "package.json", false),
            ("Add the login", "jest.config.js", false),
        ] {
            assert_eq!(orders_config(&["x", text], path), expected, "{text}");
        }
    }

    #[test]
    fn a_reversal_is_ordered_by_whole_words_or_by_a_file() {
        let paths = ["src/app.py".to_owned(), "Makefile".to_owned()];
        for text in [
            "Remove the old login",
            "[P] Clean-up of forms",
            "Then REVERT it",
            "rename: users to people",
            "Extend src/app.py",
            "Extend `app.py`.",
            "A target in the Makefile",
        ] {
            assert!(orders_reversal(&["x", text], &paths, of(text)), "{text}");
        }
        for text in ["Removed users", "A clean_room", "Extend other/app.py", "The app", "Refactoring", ""] {
            assert!(!orders_reversal(&["x", text], &paths, of(text)), "{text}");
        }
    }

    #[test]
    fn a_change_of_the_validation_is_ordered_by_name_word_or_phase() {
        let case = |text: &str, names: &[&str], phase: Option<&str>| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            orders_own_file_change(&["x", text], &names, phase, of(text))
        };
        for (text, name) in [
            ("Extend check.sh", "check.sh"),
            ("Extend `./scripts/check.sh`", "scripts/check.sh"),
            ("Add a target to the Makefile", "Makefile"),
            ("Add the test script to package.json", "package.json#scripts.test"),
            ("Make the validation strict", "check.sh"),
        ] {
            assert!(case(text, &[name], None), "{text}");
        }
        for (text, name) in [
            ("Check the input", "scripts/check"),
            ("Extend recheck.sh", "check.sh"),
            ("Extend other/check.sh", "scripts/check.sh"),
            ("Validations of forms", "check.sh"),
        ] {
            assert!(!case(text, &[name], Some("Phase 2: Set up users")), "{text}");
        }
        assert!(!case("Extend check.sh", &["check.sh", "ci.sh"], None));
        assert!(case("Add linting", &["check.sh"], Some("Phase 1: Setup (Shared Infrastructure)")));
    }

    #[test]
    fn each_language_has_its_verifications_and_no_verb_for_test_is_one() {
        for text in [
            "运行 quickstart.md",
            "[P] [US1] 驗證所有連結",
            "執行全量測試",
            "提交所有更改",
            "提交 T001 的代码",
            "すべてのテストを実行する",
            "レンダリング表示の動作確認",
            "모든 테스트 실행",
            "Ejecutar quickstart.md",
            "Verificar todos os links",
            "Vérifier les liens",
            "Führe quickstart.md aus",
            "Alle Tests ausführen",
            "Проверить все ссылки",
        ] {
            assert!(is_verification(text, of(text)), "{text}");
        }
        for text in [
            "測試 Thread 狀態機合法/非法轉換",
            "测试：登录",
            "ログインのテストを作成する",
            "로그인 테스트 작성",
            "Probar el acceso",
            "Testar o acesso",
            "Tester la connexion",
            "Teste den Login",
            "Тестировать вход",
            "发布 TaskMoved 事件",
            "提交按钮",
            "提交表单时校验输入",
            "Installer for Windows",
            "Ausführen-Knopf bauen",
        ] {
            assert!(!is_verification(text, of(text)), "{text}");
        }
    }

    #[test]
    fn each_language_orders_removals_reversals_and_a_setup() {
        for (text, removal, skip) in [
            ("删除旧的登录测试", true, true),
            ("古いテストを削除する", true, true),
            ("오래된 테스트 삭제", true, true),
            ("Eliminar las pruebas antiguas", true, true),
            ("Remover os testes antigos", true, true),
            ("Supprimer les tests obsolètes", true, true),
            ("Lösche das alte Formular", true, false),
            ("Удалить старые тесты", true, true),
            ("删除旧的登录页", true, false),
            ("显示登录页", false, false),
            ("Mostrar los usuarios eliminados", false, false),
            ("Показать удалённых пользователей", false, false),
        ] {
            assert_eq!(orders_removal(&[text], of(text)), removal, "{text}");
            assert_eq!(orders_skip(&[text], &[], of(text)), skip, "{text}");
            assert_eq!(orders_reversal(&[text], &[], of(text)), removal, "{text}");
        }
        for (phase, expected) in [
            ("阶段 1：项目初始化", true),
            ("フェーズ 1: セットアップ", true),
            ("1단계: 초기 설정", true),
            ("Fase 1: Configuración inicial", true),
            ("Fase 1: Preparação", true),
            ("Phase 1 : Mise en place", true),
            ("Phase 1: Einrichtung", true),
            ("Фаза 1: Подготовка", true),
            ("阶段 2：用户设置", false),
            ("Fase 2: Configuración de usuarios", false),
        ] {
            let names = ["check.sh".to_owned()];
            assert_eq!(orders_own_file_change(&["x"], &names, Some(phase), of(phase)), expected, "{phase}");
        }
    }
    #[test]
    fn words_of_another_language_count_only_in_a_list_of_it() {
        for (text, list, verification, reversal) in [
            ("確認画面を作る", "ログインを作る", false, false),
            ("確認登入頁", "建立登入頁", true, false),
            ("執行ボタンの追加", "ログインを作る", false, false),
            ("任意の行の移動", "ログインを作る", false, true),
            ("任意列的移動", "建立登入頁", false, false),
            ("整理数据页", "实现登录", false, false),
            ("データの整理", "ログインを作る", false, true),
            ("Starte", "Add a login", false, false),
            ("Starte alle Tests", "Formular für den Login und eine Liste", true, false),
            ("Substituir: a word of the glossary", "Add a login", false, false),
            ("Substituir o texto", "Criar o acesso para os clientes, não apenas um", false, true),
            ("Run it", "ログインを作る", true, false),
            ("Remove it", "实现登录", false, true),
        ] {
            let languages = Languages::of(&format!("- [ ] T001 {list}\n- [ ] T002 {text}\n"));
            assert_eq!(is_verification(text, languages), verification, "{text}");
            assert_eq!(orders_reversal(&[text], &[], languages), reversal, "{text}");
        }
    }

    #[test]
    fn each_language_is_one_of_the_lists() {
        for words in OTHER_LANGUAGES {
            let list = of("登 и 로");
            let languages = if words.code == "ja" { of("ログイン") } else { list };
            assert!(languages.has(words.code), "{}", words.code);
        }
    }
}
