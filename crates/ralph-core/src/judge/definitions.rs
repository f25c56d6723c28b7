//! The tests that a source defines: their titles, and which are skipped or focused.

use regex::Match;

use super::languages::Language;
use super::mask::mask;

/// A test, or a group of tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Definition {
    pub title: String,
    pub is_group: bool,
    /// The marker by which it is skipped in any case.
    pub skip: Option<String>,
    /// True if it is skipped, maybe under a condition.
    pub is_marked: bool,
    pub focus: Option<String>,
    /// The source behind the title without white space, up to the next definition.
    pub body: String,
}

/// Where a definition is, in bytes.
struct Span {
    /// Of its attributes.
    start: usize,
    /// Behind the call's word or the name.
    word_end: usize,
    title: String,
    title_end: usize,
    is_group: bool,
}

/// Reads the tests of a source, and how many assertions it has. Of one that is not a test file as a whole only the part below `cfg(test)` has
/// assertions.
pub(super) fn read(source: &str, language: &Language, is_test_file: bool) -> (Vec<Definition>, usize) {
    let code = mask(source, &language.syntax);
    let spans = spans(source, &code, language);
    let mut definitions = Vec::with_capacity(spans.len());
    for (at, span) in spans.iter().enumerate() {
        let end = spans.get(at + 1).map_or(code.len(), |next| next.start.max(span.title_end));
        definitions.push(definition(source, &code[..end], span, language));
    }
    if !definitions.is_empty() {
        definitions.push(whole_file(&code, language));
    }
    let tested = if is_test_file { 0 } else { code.find("#[cfg(test)]").unwrap_or(code.len()) };
    let assertion = language.assertion.as_ref();
    (definitions, assertion.map_or(0, |assertion| assertion.find_iter(&code[tested..]).count()))
}

fn spans(source: &str, code: &str, language: &Language) -> Vec<Span> {
    let found = language.definition.captures_iter(code).filter_map(|found| {
        let named = found.name("name").map(|name| (name, false));
        let named = named.or_else(|| found.name("group").map(|name| (name, true)));
        if let Some((name, is_group)) = named {
            let start = attributes_start(code, name.start(), language.attribute);
            let line_end = code[name.end()..].find('\n').map_or(code.len(), |length| name.end() + length);
            let is_test = is_group || language.required.is_match(&code[start..line_end]);
            let title = name.as_str().replace("DISABLED_", "");
            return is_test.then(|| Span {
                start,
                word_end: name.end(),
                title,
                title_end: name.end(),
                is_group,
            });
        }
        let word = found.name("word")?;
        let (title, title_end) = call_title(source, code, word.as_str(), word.end())?;
        let is_group = GROUPS.iter().any(|group| word.as_str().contains(group));
        let start = attributes_start(code, word.start(), language.attribute);
        // Ruby's and JavaScript's markers are in the word itself.
        Some(Span { start, word_end: word.end(), title, title_end, is_group })
    });
    found.collect()
}

/// Parts of the words by which groups of tests are defined.
const GROUPS: &[&str] = &["escribe", "ontext", "suite", "feature", "group", "When"];

/// Returns the title of a call: its first argument, and where that ends. `None` if the call defines no test.
fn call_title(source: &str, code: &str, word: &str, word_end: usize) -> Option<(String, usize)> {
    let mut at = skip_spaces(code, word_end);
    if code[at..].starts_with('<') {
        at = skip_spaces(code, balanced(code, at, '<', '>'));
    }
    let takes_table = word
        .rsplit('.')
        .next()
        .is_some_and(|last| matches!(last.trim(), "each" | "for" | "skipIf" | "runIf" | "todoIf" | "if"));
    if takes_table && code[at..].starts_with('`') {
        at = at + 2 + code[at + 1..].find('`')?;
    } else if takes_table && code[at..].starts_with('(') {
        at = balanced(code, at, '(', ')');
    }
    at = skip_spaces(code, at);
    if code[at..].starts_with('(') {
        at = skip_spaces(code, at + 1);
    }
    let mut rest = &code[at..];
    if rest.starts_with('{') {
        // `Deno.test({ name: "..." })`
        let name = rest.find("name:")? + "name:".len();
        at = skip_spaces(code, at + name);
        rest = &code[at..];
    }
    if let Some(quote) = rest.chars().next().filter(|c| matches!(c, '\'' | '"' | '`')) {
        let length = rest[1..].find(quote)?;
        return Some((source[at + 1..=at + length].to_owned(), at + length + 2));
    }
    // A title that is computed, and not the condition of `test.skip(condition)`.
    let length = rest.find([',', '\n'])?;
    let behind: String = rest[length..].chars().take(80).collect();
    let is_function = behind.contains("=>") || behind.contains("function") || behind.contains(" do");
    let title = source[at..at + length].trim();
    (is_function && !title.is_empty()).then(|| (title.to_owned(), at + length))
}

fn skip_spaces(code: &str, at: usize) -> usize {
    code.len() - code[at..].trim_start().len()
}

/// Returns where the brackets close that are open at `at`.
fn balanced(code: &str, at: usize, open: char, close: char) -> usize {
    let mut depth = 0_usize;
    for (offset, c) in code[at..].char_indices() {
        if c == open {
            depth += 1;
        } else if c == close {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return at + offset + 1;
            }
        }
    }
    code.len()
}

/// Returns where the attributes above a definition begin; the line of the definition if it has none.
fn attributes_start(code: &str, at: usize, attribute: &str) -> usize {
    let line_start = code[..at].rfind('\n').map_or(0, |end| end + 1);
    let indent = indentation(&code[line_start..]);
    let mut start = line_start;
    let mut end = line_start;
    while end > 0 {
        let above = code[..end - 1].rfind('\n').map_or(0, |end| end + 1);
        let line = &code[above..end - 1];
        let text = line.trim_start();
        let is_attribute = text.starts_with(attribute) && indentation(line) == indent;
        // What is between may be the rest of an attribute.
        let may_continue = text.is_empty() || indentation(line) > indent || text.starts_with([')', ']']);
        if is_attribute {
            start = above;
        } else if !may_continue {
            break;
        }
        end = above;
    }
    start
}

fn indentation(line: &str) -> usize {
    line.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// Reads the definition at `span` of code that ends where the next one begins.
fn definition(source: &str, code: &str, span: &Span, language: &Language) -> Definition {
    let behind = &code[span.title_end..];
    let header = language.header_end.find(behind).map_or(behind.len(), |end| end.start());
    let head = &code[span.start..span.title_end + header];
    let word = code[span.start..span.word_end].trim();
    let skip = language.skip.find(head).map(marker).or_else(|| skipping_statement(code, span, language));
    let is_marked = skip.is_some() || language.condition.is_match(head);
    let focus = language.focus.find(head).map(|found| {
        if word.contains(found.as_str().trim()) {
            word.rsplit(|c: char| !(c.is_alphanumeric() || matches!(c, '.' | '_')))
                .next()
                .unwrap_or(word)
                .to_owned()
        } else {
            marker(found)
        }
    });
    let body = source[span.title_end..code.len()].chars().filter(|c| !c.is_whitespace()).collect();
    Definition { title: span.title.clone(), is_group: span.is_group, skip, is_marked, focus, body }
}

/// Returns the statement of a test's own block that skips it, not one of a block within.
fn skipping_statement(code: &str, span: &Span, language: &Language) -> Option<String> {
    let behind = &code[span.title_end..];
    if let Some(found) = language.first_statement.find(behind) {
        return Some(called(found));
    }
    let line_start = code[..span.word_end].rfind('\n').map_or(0, |end| end + 1);
    let outer = indentation(&code[line_start..]);
    let mut lines = behind.lines().skip(1).filter(|line| !line.trim().is_empty()).peekable();
    let inner = lines.peek().map(|line| indentation(line)).filter(|inner| *inner > outer)?;
    let mut own = lines.filter(|line| indentation(line) == inner);
    own.find_map(|line| {
        let is_conditional = line.contains(" if ") || line.contains(" unless ");
        language.statement.find(line).filter(|_| !is_conditional).map(called)
    })
}

/// Returns what a definition is marked with: `.skip`, `@Disabled`.
fn marker(found: Match<'_>) -> String {
    found.as_str().trim().trim_end_matches(['(', ' ']).to_owned()
}

/// Returns what a statement calls: `t.Skip`.
fn called(found: Match<'_>) -> String {
    let text = found.as_str().trim().trim_end_matches(['(', ')', '\'', '"', '`', ' ']);
    text.rsplit(['{', ' ']).next().unwrap_or(text).to_owned()
}

/// Returns what stands for the file as a whole, so that a skip of all of it is one of something that was there.
fn whole_file(code: &str, language: &Language) -> Definition {
    let skip = language.file_skip.find(code).map(|found| found.as_str().trim().to_owned());
    Definition {
        title: String::new(),
        is_group: true,
        is_marked: skip.is_some(),
        skip,
        focus: None,
        body: String::new(),
    }
}
