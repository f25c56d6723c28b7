//! Compilers and linters that give each problem a line: location, severity, words, rule.

use super::super::failure::{Failure, Severity, Stage};
use super::super::line_kind::{LineKind, is_code, is_value};
use super::super::location::{extension, find_location, is_external};
use super::super::page::Page;
use super::super::scan_state::ScanState;
use super::super::words::{contains_any, starts_with_any, strip_any};

/// What may be before the location.
const FRONTS: [&str; 16] = [
    "",
    "[ERROR] ",
    "[WARNING] ",
    "[error] ",
    "[warn] ",
    "e: ",
    "w: ",
    "e: file://",
    "w: file://",
    "ERROR: ",
    "error: ",
    "ERROR in ",
    "Error: ",
    "vet: ",
    "* ",
    "##[error]",
];

/// `src/a.c:3:5: error: words [rule]`, in all its dialects.
pub(super) fn line(page: &Page, at: usize, _: &mut ScanState) -> Option<(Failure, usize)> {
    let line = page.line(at);
    let indent = line.len() - line.trim_start().len();
    let text = &line[indent..];
    let found = find_location(text)?;
    let front = &text[..found.start];
    if !FRONTS.contains(&front.trim_start_matches("./")) {
        return dashed(at, text);
    }
    let rest = text[found.end..].trim_start_matches([')', ']', ',']);
    let said = strip_any(rest, &[": ", " - ", " ", ":"])?.trim();
    if said.is_empty() {
        return None;
    }
    let wrapped = wrapped(page, at);
    let joined = wrapped.map(|below| format!("{said} {}", page.line(below).trim()));
    let (severity, code, message) = judged(joined.as_deref().unwrap_or(said));
    let severity = match severity {
        Some(severity) => severity,
        None if starts_with_any(front, &["[WARN", "[warn", "w:"]) => Severity::Warning,
        None if !front.is_empty() => Severity::Error,
        // Without a word of blame it must look like a diagnostic: a rule, or a compiler that needs no word.
        None if !code.is_empty() => Severity::Error,
        None if indent == 0 && rest.starts_with(": ") && has_column(&text[found.start..found.end]) => {
            Severity::Error
        }
        None => return None,
    };
    if message.starts_with("note:") || message.starts_with("runtime error") && indent > 0 {
        return None;
    }
    let file = if is_external(found.file) { "" } else { found.file };
    // rustc's short form has the advice after the words; go vet has an older word than the compiler.
    let message = message.split(": help: ").next().unwrap_or(message);
    let message = message
        .strip_prefix("undeclared name: ")
        .map_or(message.to_owned(), |name| format!("undefined: {name}"));
    let mut failure = Failure::new(Stage::Build, "diagnostic")
        .with_code(code)
        .with_message(&message)
        .with_file(file.trim_start_matches("./"))
        .with_line(at, LineKind::Head);
    failure.severity = severity;
    if message.starts_with("runtime error: ") {
        failure.stage = Stage::Crash;
    }
    // Source, carets, notes and further words follow, indented or with the same location.
    let stop = page.end_of_stream(at);
    let mut end = at + 1;
    if let Some(below) = wrapped {
        failure.add(below, LineKind::Message);
        end = below + 1;
    }
    while end < stop && end < at + 24 {
        let next = page.line(end);
        let trimmed = next.trim();
        if trimmed.is_empty() {
            // The pretty form of tsc has a blank line before the source.
            if end == at + 1
                && page.line(end + 1).trim_start().starts_with(|c: char| c.is_ascii_digit())
                && find_location(page.line(end + 1)).is_none()
            {
                end += 1;
                continue;
            }
            break;
        }
        if is_note(next) {
            failure.add(end, LineKind::Note);
            end += 1;
            continue;
        }
        let belongs = (next.starts_with([' ', '\t'])
            && find_location(trimmed).is_none_or(|location| {
                location.start > 0 || !next[next.len() - trimmed.len()..].contains(": error")
            }))
            || (is_code(trimmed) && !trimmed.is_empty());
        let is_pointer = end <= at + 2 && trimmed.bytes().all(|byte| matches!(byte, b'^' | b'~' | b' '));
        if !belongs && !is_pointer {
            break;
        }
        let is_source = is_code(trimmed) || trimmed.starts_with(|c: char| c.is_ascii_digit());
        if failure.message.is_empty() {
            trimmed.trim_start_matches("• ").clone_into(&mut failure.message);
            failure.add(end, LineKind::Message);
        } else if !is_source && end <= at + 8 {
            if is_value(trimmed) && failure.values.len() < 6 {
                failure.values.push(trimmed.to_owned());
            }
            failure.add(end, LineKind::Value);
        } else {
            failure.add(end, LineKind::Code);
        }
        end += 1;
    }
    if failure.code.is_empty()
        && let Some(rule) = rule_below(page, at + 1, end)
    {
        rule.clone_into(&mut failure.code);
        for value in &mut failure.values {
            *value = value.trim_end_matches(&format!(" ({rule})")).to_owned();
        }
    }
    Some((failure, end))
}

/// Returns the rule that pyright puts after the last of its words: ` (reportReturnType)`.
fn rule_below(page: &Page, from: usize, to: usize) -> Option<&str> {
    let mut lines = (from..to).rev().map(|at| page.line(at).trim_end());
    let (_, rule) = lines.find_map(|line| line.strip_suffix(')')?.rsplit_once(" ("))?;
    (rule.starts_with("report") && rule.bytes().all(|byte| byte.is_ascii_alphanumeric())).then_some(rule)
}

/// Returns the line below if it goes on with the words: clang wraps them to the width of the terminal, and indents by
/// six.
fn wrapped(page: &Page, at: usize) -> Option<usize> {
    let below = page.line(at + 1);
    let is_pointer = |at: usize| page.line(at).contains(['^', '~']) && is_code(page.line(at).trim());
    let is_indented = below.starts_with("      ") && !below[6..].starts_with(' ') && below.len() > 6;
    (is_indented
        && page.line(at).len() > 60
        && page.line(at).contains("error: ")
        && !is_code(below.trim())
        && !is_pointer(at + 1)
        && !is_pointer(at + 2))
    .then_some(at + 1)
}

/// `a.c:3:5: note: words`
fn is_note(line: &str) -> bool {
    find_location(line).is_some_and(|location| {
        location.start < 2 && line[location.end..].trim_start_matches(':').trim_start().starts_with("note:")
    }) || line.starts_with("In file included from") && line.contains(':')
}

/// Returns a column after the line: `a.go:3:5`, `a.ts(3,5`.
fn has_column(text: &str) -> bool {
    text.rsplit([':', ',', '('])
        .take_while(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
        .count()
        >= 2
}

/// Words that say how bad it is, in the languages that compilers speak.
const BLAME: [(&str, Severity); 20] = [
    ("fatal error", Severity::Error),
    ("error", Severity::Error),
    ("Error", Severity::Error),
    ("ERROR", Severity::Error),
    ("schwerwiegender Fehler", Severity::Error),
    ("Fehler", Severity::Error),
    ("erreur fatale", Severity::Error),
    ("erreur", Severity::Error),
    ("error fatal", Severity::Error),
    ("errore", Severity::Error),
    ("ошибка", Severity::Error),
    ("エラー", Severity::Error),
    ("错误", Severity::Error),
    ("runtime error", Severity::Error),
    ("warning", Severity::Warning),
    ("Warning", Severity::Warning),
    ("Warnung", Severity::Warning),
    ("avertissement", Severity::Warning),
    ("info", Severity::Warning),
    ("note", Severity::Warning),
];

/// Severity where it is said, rule, and words.
pub(super) fn judged(said: &str) -> (Option<Severity>, &str, &str) {
    let mut severity = None;
    // yamllint's `[error] words`
    let said = match said.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
        Some((word @ ("error" | "warning"), words)) => {
            severity = Some(if word == "error" { Severity::Error } else { Severity::Warning });
            words
        }
        _ => said,
    };
    let mut rest = said;
    for (word, found) in BLAME {
        let Some(behind) = said.strip_prefix(word) else { continue };
        if behind.starts_with([':', ' ', '[', '(']) || behind.starts_with(" :") {
            severity = Some(found);
            if word != "runtime error" {
                rest = behind.trim_start();
            }
            break;
        }
    }
    let words = rest.trim_start_matches(':').trim_start();
    // GHC has the words below: `error: [GHC-88464]`
    if let Some(code) = words.strip_prefix('[').and_then(|code| code.strip_suffix(']'))
        && !code.contains(' ')
    {
        return (severity, code, "");
    }
    // `error TS2322: words`, `E501 words`, `C0114: words`, `error[E1]: words`, `[GHC-123]`
    if let Some((code, behind)) = words.split_once([' ', ':']) {
        let bare = code.trim_matches(['[', ']', ':']);
        let has_digit = bare.bytes().any(|byte| byte.is_ascii_digit());
        let is_code = has_digit
            && bare.len() <= 16
            && bare.starts_with(|c: char| c.is_ascii_uppercase())
            && bare.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        let is_word = bare.contains('/')
            && bare.starts_with(|c: char| c.is_ascii_uppercase())
            && behind.starts_with(' ');
        if is_code || is_word || bare == "invalid-syntax" {
            let words = behind.trim_start_matches(':').trim_start().trim_start_matches("[*] ");
            return (severity, bare, without_name_of_rule(words));
        }
    }
    // `words [rule]`, `words (rule)`
    let code = words
        .strip_suffix(']')
        .and_then(|words| words.rsplit_once(" ["))
        .or_else(|| words.strip_suffix(')').and_then(|words| words.rsplit_once(" (")))
        .map(|(_, code)| code)
        .filter(|code| {
            !code.is_empty()
                && code.len() < 60
                && !code.contains(' ')
                && code.chars().any(|c| c.is_ascii_alphabetic())
        })
        .unwrap_or_default();
    let is_rule = words.ends_with(']')
        || code.contains('-')
        || severity.is_some()
        || code.chars().all(|c| c.is_ascii_lowercase());
    if is_rule && !code.is_empty() {
        return (severity, code, words[..words.len() - code.len() - 2].trim_end());
    }
    (severity, "", words)
}

/// pylint and sqlfluff give the name of a rule after the words, beside its code: `words (no-member)`, `words [aliasing.column]`.
pub(super) fn without_name_of_rule(words: &str) -> &str {
    let named = words
        .strip_suffix(')')
        .and_then(|words| words.rsplit_once(" ("))
        .or_else(|| words.strip_suffix(']').and_then(|words| words.rsplit_once(" [")));
    let is_name = |name: &str| {
        name.contains(['-', '.'])
            && name.bytes().all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'-' | b'.' | b'_'))
    };
    named.filter(|(_, name)| is_name(name)).map_or(words, |(words, _)| words)
}

/// What scripts say that cannot be loaded.
const SYNTAX_ERRORS: &[&str] = &["syntax error", "Parse error", "Can't locate", "Global symbol"];

/// dart's `error - lib/a.dart:3:5 - words - rule`, `words • lib/a.dart:3:5 • rule`, and `words in a.php on line 3`.
fn dashed(at: usize, text: &str) -> Option<(Failure, usize)> {
    let found = find_location(text)?;
    for sign in [" - ", " • "] {
        let parts: Vec<&str> = text.split(sign).collect();
        if parts.len() < 3 {
            continue;
        }
        let severity = match parts[0].trim().to_ascii_lowercase().as_str() {
            "error" => Severity::Error,
            "warning" | "info" | "hint" => Severity::Warning,
            _ => continue,
        };
        let message = parts[1..].iter().find(|part| find_location(part).is_none())?;
        let code = if parts.len() > 3 { parts[parts.len() - 1].trim() } else { "" };
        let mut failure = Failure::new(Stage::Build, "diagnostic")
            .with_code(code)
            .with_message(message)
            .with_file(found.file);
        failure.severity = severity;
        return Some(failure.in_line(at));
    }
    let is_php = starts_with_any(text, &["PHP ", "Parse error: ", "Fatal error: "]);
    let is_perl = (text.contains(" at ") && matches!(extension(found.file), "pl" | "pm" | "t" | "PL"))
        && text[..found.start].trim_end().ends_with(" at")
        && !text.starts_with('#');
    if is_php || is_perl {
        let front = text[..found.start].trim_end();
        let message = front.strip_suffix(" at").or_else(|| front.strip_suffix(" in")).unwrap_or(front);
        let stage = if contains_any(message, SYNTAX_ERRORS) { Stage::Build } else { Stage::Other };
        let file = if found.file.starts_with('/') { "" } else { found.file };
        return Some(Failure::new(stage, "script").with_message(message).with_file(file).in_line(at));
    }
    None
}
