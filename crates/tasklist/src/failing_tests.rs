//! Texts that ask for tests that must fail before the code they are for is written.

use std::sync::LazyLock;

use regex::Regex;

use super::languages::{Expressions, Languages};

/// Where one thought of a Markdown text ends and the next begins.
static BREAK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"[.!?|]\s|[。！？]|\n\s*\n|\n\s*(?:[-*#>]|[0-9]+\.)").expect("a valid expression")
});

/// A heading such as `Phase 3.2: Tests First (TDD)`; not `Run all tests first`.
static TESTS_FIRST: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)(?:^\W*|[:.–—-]\s*)tests?[\s-]+first\b").expect("a valid expression"));

/// Returns true if a text or one of its headings asks for tests that must fail first.
pub(super) fn asks_for_failing_tests(source: &str, headings: &[String], languages: Languages) -> bool {
    // Hardly a heading has this word, and the expression is large.
    let has_first = |heading: &&String| heading.to_ascii_lowercase().contains("first");
    headings.iter().filter(has_first).any(|heading| TESTS_FIRST.is_match(heading))
        || languages.iter().any(|words| asks_in(source, words, languages))
}

fn asks_in(source: &str, words: &Expressions, languages: Languages) -> bool {
    let [may_fail, may_be_first] = [&words.fail, &words.tests_first].map(|words| words.is_match(source));
    if !may_fail && !may_be_first {
        return false;
    }
    let is_first = |thought: &str| may_be_first && words.tests_first.is_match(thought);
    let mut thoughts = BREAK.split(source);
    thoughts.any(|thought| {
        let has_words = may_fail && words.tests.is_match(thought) && words.fail.is_match(thought);
        if !has_words && !is_first(thought) {
            return false;
        }
        let thought = thought.split_whitespace().collect::<Vec<_>>().join(" ");
        // Languages share words, so what one of them denies is denied.
        has_words
            && words.must_fail.is_match(&thought)
            && words.first.is_match(&thought)
            && !languages.iter().any(|words| words.not_fail.is_match(&thought))
            || is_first(&thought) && !languages.iter().any(|words| words.not_tests_first.is_match(&thought))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::languages::with_common_words;

    #[test]
    fn the_words_of_real_lists_are_understood() {
        for text in [
            "> **NOTE: Write these tests FIRST, ensure they FAIL before implementation**",
            "- Tests (if included) MUST be written and FAIL before implementation",
            "### Tests for User Story 1 (write first; must FAIL before T007)",
            "> Write these tests first and confirm the new cases fail before implementation.",
            "All tests must be written FIRST\nand observed FAILING before implementation begins",
            "| T1 | unit listing; tests MUST FAIL initially | - |",
            "1. **RED**: Write test first, verify it fails",
        ] {
            assert!(asks_for_failing_tests(text, &[], Languages::of(text)), "{text}");
        }
        for text in [
            "Run all tests before the release. They must not fail.",
            "Test tasks must never fail before the deadline",
            "- Ensure the suite passes first\n- A test of failing logins",
            "The build must fail before it is fixed",
            "Tests ensure that nothing fails",
            "",
        ] {
            assert!(!asks_for_failing_tests(text, &[], Languages::of(text)), "{text}");
        }
    }

    #[test]
    fn each_language_has_its_words_for_tests_first() {
        let mut wrong = Vec::new();
        for text in [
            "> **注意：先编写这些测试，确保在实现之前它们失败**",
            "### US1 Tests（先寫會 fail 的測試，再實作）",
            "### Tests for US1（先寫測試，確保會失敗再實作）",
            "- 測試先行（必須先失敗）→ service → controller",
            "> **注意**: テストを先に書き、実装前に失敗することを確認する",
            "- [ ] 4. 画像処理サービスの TDD 実装",
            "- [ ] 3. URLバリデーションの実装（テスト駆動開発）",
            "> 실패하는 테스트를 먼저 작성한다",
            "> 테스트를 먼저 작성하고 구현 전에 실패하는지 확인",
            "> **NOTA: Escribir estas pruebas PRIMERO y asegurar que FALLAN antes de la implementación**",
            "Las pruebas fallan antes de implementar",
            "> **NOTA: Escreva estes testes PRIMEIRO e garanta que FALHAM antes da implementação**",
            "> **NOTE : Écrire ces tests D'ABORD, s'assurer qu'ils ÉCHOUENT avant l'implémentation**",
            "Les tests échouent avant l'implémentation",
            "> **HINWEIS: Schreibe diese Tests ZUERST, stelle sicher, dass sie vor der Implementierung FEHLSCHLAGEN**",
            "### Tests zuerst (für und mit)",
            "### Сначала тесты",
            "## Тесты сначала",
            "> Напишите эти тесты сначала и убедитесь, что они падают до реализации",
        ] {
            let languages = Languages::of(&with_common_words(text));
            wrong.extend((!asks_for_failing_tests(text, &[], languages)).then_some(text));
        }
        for text in [
            "**Tests**: 本 tasks 清單不強制採 TDD，也不強制新增測試任務（除非你要我改成測試優先）。",
            "若你要測試先行的清單，我可以再加上",
            "先运行测试，确保没有失败",
            "- 先完成 Setup，確保 quickstart 可啟動、seed 可建立測試資料。",
            "- 依優先順序完成 US1，每個 Checkpoint 都跑該 story 的測試；付款失敗，要提示",
            "- [x] T132 測試：付款失敗/取消→可重試→結果更新",
            "テスト失敗時のリトライを先に実装する",
            "テスト駆動は不要",
            "まずテストが失敗しないことを確認する",
            "테스트 주도 개발은 필요 없음",
            "먼저 테스트가 실패하지 않는지 확인",
            "Asegurar que las pruebas no fallan antes de publicar",
            "Garanta que os testes não falham antes da publicação",
            "Vérifier que les tests n'échouent pas avant la livraison",
            "Sicherstellen, dass die Tests vor dem Release nicht fehlschlagen",
            "Убедитесь, что тесты не падают до релиза",
            "Сначала запустить тесты",
        ] {
            let languages = Languages::of(&with_common_words(text));
            wrong.extend(asks_for_failing_tests(text, &[], languages).then_some(text));
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
