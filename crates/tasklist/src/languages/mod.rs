//! The languages of a list, and expressions of the words that decide in them.

mod words;

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Deref;
use std::sync::OnceLock;

use regex::Regex;

use super::label::{ID_BARE, TASK_WORDS};
use words::{LANGUAGES, Words};

/// How many different stop words of a language show it.
const STOP_WORDS_NEEDED: usize = 3;

/// A text with more Han characters for each of Kana is Chinese, with a name in Kana.
const HAN_PER_KANA: usize = 20;

/// Matches nothing.
const NEVER: &str = r"[^\s\S]";

static EXPRESSIONS: [OnceLock<Expressions>; LANGUAGES.len()] = [const { OnceLock::new() }; LANGUAGES.len()];

/// The languages whose words count in a list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Languages(u16);

impl Languages {
    /// English counts everywhere, another language where its script is in the text, or three of its stop words.
    pub fn of(source: &str) -> Self {
        let [mut han, mut kana] = [0, 0];
        let [mut hangul, mut cyrillic] = [false, false];
        for c in source.chars().filter(|c| !c.is_ascii()) {
            match c {
                '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' => han += 1,
                // Without the middle dot and the long sound, which others use as well.
                '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fa}' => kana += 1,
                '\u{ac00}'..='\u{d7af}' => hangul = true,
                '\u{0400}'..='\u{04ff}' => cyrillic = true,
                _ => {}
            }
        }
        let is_japanese = kana > 0 && kana * HAN_PER_KANA >= han;
        let mut found = Self::default();
        for (code, counts) in [
            ("en", true),
            ("zh", han > 0 && !is_japanese),
            ("ja", is_japanese),
            ("ko", hangul),
            ("ru", cyrillic),
        ] {
            if counts {
                found.add(code);
            }
        }
        let in_source = words_of(source);
        for words in LANGUAGES {
            let seen = words.stops.iter().filter(|stop| in_source.contains(**stop));
            if seen.take(STOP_WORDS_NEEDED).count() == STOP_WORDS_NEEDED {
                found.add(words.code);
            }
        }
        found
    }

    fn add(&mut self, code: &str) {
        self.0 |= bit_of(code);
    }

    /// Returns true if the words of a language count, by its code: `zh`.
    pub fn has(self, code: &str) -> bool {
        self.0 & bit_of(code) != 0
    }

    /// Returns the expressions of each of them.
    pub(super) fn iter(self) -> impl Iterator<Item = &'static Expressions> {
        (0..LANGUAGES.len())
            .filter(move |place| self.0 & (1 << place) != 0)
            .map(|place| EXPRESSIONS[place].get_or_init(|| Expressions::new(&LANGUAGES[place])))
    }

    /// Returns true if a word at the front or the end of a task says that it is optional.
    pub(super) fn is_optional(self, text: &str) -> bool {
        self.without_optional(text).len() < text.len()
            || text.ends_with([')', '）', ']', '】', '.', '。', '*', '_', '`'])
                && self.iter().any(|words| words.optional_end.is_match(text))
    }

    /// Returns the text of a task without such a word at its front: an id may follow.
    pub(super) fn without_optional(self, text: &str) -> &str {
        let front = self.iter().find_map(|words| words.optional_front.find(text));
        front.map_or(text, |front| &text[front.end()..])
    }
}

fn bit_of(code: &str) -> u16 {
    LANGUAGES.iter().position(|words| words.code == code).map_or(0, |place| 1 << place)
}

/// Returns the different words of a text, in lower case.
fn words_of(source: &str) -> HashSet<Cow<'_, str>> {
    let words = source.split(|c: char| !c.is_alphanumeric() && c != '_');
    let lower = |word: &str| Some(word.to_lowercase()).filter(|_| word.contains(char::is_uppercase));
    words.map(|word| lower(word).map_or(Cow::Borrowed(word), Cow::Owned)).collect()
}

/// An expression that is made when it is asked for: most lists need few of them.
#[derive(Debug)]
pub(super) struct Expression {
    pattern: String,
    regex: OnceLock<Regex>,
}

impl Deref for Expression {
    type Target = Regex;

    fn deref(&self) -> &Regex {
        self.regex.get_or_init(|| Regex::new(&self.pattern).expect("a valid expression"))
    }
}

/// The words of a language, as expressions. What it has no word for matches nothing.
#[derive(Debug)]
pub(super) struct Expressions {
    /// True if words are not set apart by spaces.
    pub is_unspaced: bool,
    pub waits_hint: Expression,
    /// What is before ids.
    pub waits_for: Expression,
    /// Ids, and what is behind them.
    pub waited_for: Expression,
    pub not_before: Expression,
    pub not_behind: Expression,
    pub not_behind_ids: Expression,
    pub tests: Expression,
    pub not_tests: Expression,
    pub runs: Expression,
    pub fail: Expression,
    pub must_fail: Expression,
    pub first: Expression,
    pub not_fail: Expression,
    pub tests_first: Expression,
    pub not_tests_first: Expression,
    pub failing_test: Expression,
    /// At the front of a task, with what sets it apart.
    pub optional_front: Expression,
    /// At its end.
    pub optional_end: Expression,
}

impl Expressions {
    fn new(words: &Words) -> Self {
        let optional = words.optional;
        let set_apart = format!(
            r"[(（\[【]\s*[*_]*(?:{optional})[*_]*(?:\s*[,;:，；：、–—]\s?[^()（）\[\]【】]{{0,80}}|\s+-\s[^()（）\[\]【】]{{0,80}})?\s*[)）\]】]"
        );
        Self {
            is_unspaced: words.is_unspaced,
            waits_hint: expression(words.waits_hint),
            waits_for: expression(&waits_for(words)),
            waited_for: around(words.waited_for, |behind| {
                let id = format!(r"[*_`\[(（]*(?:{TASK_WORDS}\s*)?[*_`\[]*(?-i:{ID_BARE})[*_`\]]*");
                let between =
                    r"\s*(?:[、，,/+&・~～〜–-]|と|や|および|及び|から|和|及|与|與|至|到|및|와|과|부터)\s*";
                format!(r"(?P<ids>{id}(?:{between}{id})*)[)）」]*\s*(?:まで|까지)?\s*(?:{behind})")
            }),
            not_before: around(words.not_before, |before| format!("(?:{before})[*_]*$")),
            not_behind: around(words.not_behind, |behind| format!("^(?:{behind})")),
            not_behind_ids: around(words.not_behind_ids, |behind| format!("^(?:{behind})")),
            tests: expression(words.tests),
            not_tests: expression(words.not_tests),
            runs: around(words.runs, |runs| format!(r"^\W*(?:{runs})")),
            fail: expression(words.fail),
            must_fail: expression(words.must_fail),
            first: expression(words.first),
            not_fail: expression(words.not_fail),
            tests_first: expression(words.tests_first),
            not_tests_first: expression(words.not_tests_first),
            failing_test: expression(words.failing_test),
            optional_front: expression(&format!(
                r"^[*_\s]*(?:{set_apart}[*_]*\s*[:：]?|[*_]*(?:{optional})[*_]*\s*[:：][*_]*)[\s*_]*"
            )),
            optional_end: expression(&format!(r"{set_apart}[*_`\s.。]*$")),
        }
    }
}

/// Returns the words before ids of what a task waits for. Only clear forms: "after T003" in the middle of a sentence says
/// too many other things.
fn waits_for(words: &Words) -> String {
    let edge = if words.is_unspaced { "" } else { r"\b" };
    let mut forms = Vec::new();
    if let Some(word) = some(words.waits_for) {
        forms.push(format!("{edge}(?:{word}){edge}"));
    }
    if let Some(word) = some(words.waits_label) {
        forms.push(format!(r"{edge}(?:{word})\s*[*_]*\s*[:：]"));
    }
    for word in [words.after, words.needs].into_iter().filter_map(some) {
        forms.push(format!(r"[(（]\s*(?:{word}){edge}"));
    }
    if let Some(word) = some(words.after) {
        forms.push(format!(r"(?:^|[.;]\s+|[。；]\s*)[*_]*(?:{word}){edge}[*_:：]*"));
    }
    forms.join("|")
}

fn some(word: &'static str) -> Option<&'static str> {
    Some(word).filter(|word| !word.is_empty())
}

fn expression(pattern: &str) -> Expression {
    let pattern = if pattern.is_empty() { NEVER.to_owned() } else { format!("(?i){pattern}") };
    Expression { pattern, regex: OnceLock::new() }
}

fn around(words: &'static str, form: impl FnOnce(&str) -> String) -> Expression {
    expression(&some(words).map_or_else(String::new, form))
}

/// Returns a text with common words behind it, by which its language is known; a script shows it without.
#[cfg(test)]
pub(super) fn with_common_words(text: &str) -> String {
    let is_latin = text.chars().all(|c| c < '\u{400}');
    let words = if is_latin { "para los que; para não uma; pour les des; für und mit" } else { "" };
    format!("{text}\n\n{words}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_counts_where_its_script_or_three_of_its_stop_words_are() {
        for (source, expected) in [
            ("- [ ] T001 Add a login", "en"),
            ("- [ ] T001 实现登录", "en zh"),
            ("- [ ] T001 ログインを実装する", "en ja"),
            ("- [ ] T001 画像検証・表示を実装", "en ja"),
            ("- [ ] T001 建立課程行銷列表於前端・後端與測試環境並更新文件，名稱為テ", "en zh"),
            ("- [ ] T001 로그인 구현", "en ko"),
            ("- [ ] T001 Реализовать вход", "en ru"),
            ("- [ ] T001 Crear el acceso para los usuarios", "en es"),
            ("- [ ] T001 Criar o acesso para os clientes, não apenas um", "en pt"),
            ("- [ ] T001 Créer le formulaire pour les clients", "en fr"),
            ("- [ ] T001 Formular für den Login und eine Liste", "en de"),
            ("- [ ] T001 Locales de and la", "en"),
            ("", "en"),
        ] {
            let found = Languages::of(source);
            let codes = LANGUAGES.iter().map(|words| words.code).filter(|code| found.has(code));
            let codes: Vec<&str> = codes.collect();
            assert_eq!(codes.join(" "), expected, "{source}");
        }
    }

    #[test]
    fn each_cell_of_the_table_is_an_expression() {
        for words in LANGUAGES {
            let mut languages = Languages::default();
            languages.add(words.code);
            for of in languages.iter() {
                for expression in [
                    &of.waits_hint,
                    &of.waits_for,
                    &of.waited_for,
                    &of.not_before,
                    &of.not_behind,
                    &of.not_behind_ids,
                    &of.tests,
                    &of.not_tests,
                    &of.runs,
                    &of.fail,
                    &of.must_fail,
                    &of.first,
                    &of.not_fail,
                    &of.tests_first,
                    &of.not_tests_first,
                    &of.failing_test,
                    &of.optional_front,
                    &of.optional_end,
                ] {
                    assert!(!expression.is_match(""), "{}: {}", words.code, expression.pattern);
                }
            }
            assert!(words.stops.iter().all(|word| word.to_lowercase() == **word), "{}", words.code);
        }
    }
}
