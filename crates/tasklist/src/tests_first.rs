//! Whether a list asks for tests that must fail before the code they are for is written.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::languages::Expressions;
use super::{Item, TaskList};

/// Maximum number of words before the one for a test.
const MAX_WORDS_BEFORE: usize = 5;

/// The work of a task that is a test: `Contract test for login in tests/test_login.py`, `Write a failing test`.
static TEST_TASK: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)^\W*(?:[\w/`().-]+\s+){0,5}tests?\b").expect("a valid expression"));

impl TaskList {
    /// Returns true if the list asks for tests that must fail first, and tasks for such tests are open.
    ///
    /// spec-kit's lists do (`Write these tests FIRST, ensure they FAIL before implementation`), those with a heading
    /// `Tests first`, and those with an open task such as `Write failing tests`. Between such a test and its code no
    /// check of the whole project passes.
    ///
    /// ```
    /// let source = "Tests MUST be written and FAIL before implementation.\n\n- [ ] T001 Unit test for login\n";
    /// let list = tasklist::TaskList::parse(source.as_bytes()).expect("it is UTF-8");
    /// assert!(list.has_tests_that_fail_first());
    /// ```
    pub fn has_tests_that_fail_first(&self) -> bool {
        let open: Vec<&Item> = self.tasks().filter(|item| !item.done).collect();
        open.iter().any(|item| item.is_test())
            && (self.asks_for_failing_tests || open.iter().any(|item| item.asks_for_failing_test()))
    }
}

impl Item {
    /// Returns true if its work is to write a test.
    pub fn is_test(&self) -> bool {
        if self.languages.iter().any(|words| words.runs.is_match(&self.text)) {
            return false;
        }
        let heading = self.headings.last().map_or("", String::as_str);
        let mut text = Cow::Borrowed(self.text.as_str());
        for words in self.languages.iter() {
            if let Cow::Owned(rest) = words.not_tests.replace_all(&text, "") {
                text = Cow::Owned(rest);
            }
        }
        // English has an expression of its own.
        let mut others = self.languages.iter().skip(1);
        TEST_TASK.is_match(&text)
            || others.any(|words| words.is_test(&text))
            || self.languages.iter().any(|words| words.tests.is_match(heading))
    }

    /// Returns true if it asks for a test that fails: `Write a failing test for login`, `Add failing integration tests`.
    fn asks_for_failing_test(&self) -> bool {
        self.languages.iter().any(|words| words.failing_test.is_match(&self.text))
    }
}

impl Expressions {
    /// Returns true if a text names a test: anywhere, or as one of its first words where words are set apart.
    fn is_test(&self, text: &str) -> bool {
        self.tests.find(text).is_some_and(|found| {
            self.is_unspaced || text[..found.start()].split_whitespace().count() <= MAX_WORDS_BEFORE
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::languages::with_common_words;

    #[test]
    fn only_open_tasks_for_tests_count() {
        let note = "Tests MUST be written and FAIL before implementation.\n\n";
        for (tasks, expected) in [
            ("- [ ] T001 [US1] Contract test for login in tests/test_login.py\n", true),
            ("- [ ] T001 Write failing unit tests\n", true),
            ("## Tests for User Story 1\n- [ ] T001 Login\n", true),
            ("- [x] T001 Unit test for login\n- [ ] T002 Login\n", false),
            (
                "- [ ] T001 Run the tests\n- [ ] T002 Login as users of the web expect it, in tests too\n",
                false,
            ),
            ("- [ ] T001 Log in with the latest key\n", false),
        ] {
            let source = format!("{note}{tasks}");
            let list = TaskList::parse(source.as_bytes()).unwrap();
            assert_eq!(list.has_tests_that_fail_first(), expected, "{tasks}");
        }
    }

    #[test]
    fn headings_and_tasks_ask_for_tests_first_too() {
        let has = |source: &str| TaskList::parse(source.as_bytes()).unwrap().has_tests_that_fail_first();
        for heading in [
            "Tests first",
            "Phase 3.2: Tests First (TDD) ⚠️ MUST COMPLETE BEFORE 3.3",
            "User Story 1 - Test-first",
        ] {
            assert!(
                has(&format!("## {heading}\n- [ ] T001 Login page\n- [ ] T002 Login test\n")),
                "{heading}"
            );
        }
        for heading in ["Run all tests first", "Tests", "The first of all tests"] {
            assert!(!has(&format!("## {heading}\n- [ ] T001 Login test\n")), "{heading}");
        }
        for (task, expected) in [
            ("- [ ] T001 [P] [US1] Write failing tests for login", true),
            ("- [ ] T001 Add a failing integration test", true),
            ("- [ ] T001 **Create** failing test", false),
            ("- [ ] T001 **Create failing test**", true),
            ("- [x] T001 Write failing tests\n- [ ] T002 Unit test for login", false),
            ("- [ ] T001 Write a test for failing logins", false),
            ("- [ ] T001 Fix the failing tests", false),
        ] {
            assert_eq!(has(&format!("{task}\n")), expected, "{task}");
        }
    }

    #[test]
    fn each_language_has_tasks_that_are_tests() {
        let is_test = |text: &str| {
            let source = with_common_words(&format!("- [ ] T001 {text}\n"));
            TaskList::parse(source.as_bytes()).unwrap().items[0].is_test()
        };
        let mut wrong = Vec::new();
        for text in [
            "在 tests/test_login.py 中编写登录的契约测试",
            "測試 Thread 狀態機合法/非法轉換（新增 tests/unit/threadState.test.ts）",
            "API 測試：建立/更新 draft 在 backend/test/draft.e2e-spec.ts",
            "建立購買冪等整合測試於 backend/test/purchase.spec.ts",
            "ログインの単体テストを作成する",
            "로그인 통합 테스트 작성",
            "Prueba de contrato del acceso en tests/test_login.py",
            "Teste de integração do fluxo em tests/test_flow.py",
            "Test d'intégration du flux dans tests/test_flow.py",
            "Vertragstest für den Login in tests/test_login.py",
            "Unit-Tests schreiben",
            "Написать тесты для входа",
        ] {
            wrong.extend((!is_test(text)).then_some(text));
        }
        for text in [
            "建立 backend 測試框架（Jest + Supertest）",
            "安裝測試依賴（playwright、vitest）在 package.json",
            "建立 seed（預設假別/部門/測試帳號/年度額度）",
            "執行一次全量測試並修正問題",
            "建立 README（如何啟動/測試/資料夾結構）於 README.md",
            "テスト環境の構築",
            "すべてのテストを実行する",
            "테스트 환경 구성",
            "모든 테스트를 실행",
            "Ejecutar todas las pruebas",
            "Executar todos os testes",
            "Exécuter tous les tests",
            "Alle Tests ausführen",
            "Запустить все тесты",
            "Login für den neuesten Schlüssel",
        ] {
            wrong.extend(is_test(text).then_some(text));
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn a_task_of_each_language_may_ask_for_a_failing_test() {
        for (text, expected) in [
            ("编写失败的单元测试", true),
            ("失敗するテストを書く", true),
            ("실패하는 단위 테스트 작성", true),
            ("Escribir una prueba que falle", true),
            ("Escrever um teste que falhe", true),
            ("Écrire un test qui échoue", true),
            ("Einen fehlschlagenden Test schreiben", true),
            ("Написать падающий тест", true),
            ("编写登录失败的页面和测试", false),
            ("Escribir una prueba del acceso", false),
            ("Schreibe einen Test", false),
        ] {
            let source = with_common_words(&format!("- [ ] T001 {text}\n"));
            let list = TaskList::parse(source.as_bytes()).unwrap();
            assert_eq!(list.has_tests_that_fail_first(), expected, "{text}");
        }
    }
}
