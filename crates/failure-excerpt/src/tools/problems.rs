//! Compilers, linters and formatters: each problem has a place, words, and mostly a rule.

use super::prelude::*;

fn problem(tool: &'static str, judged: (Option<Severity>, &str, &str), file: &str) -> Failure {
    let (severity, code, message) = judged;
    Failure {
        severity: severity.unwrap_or(Severity::Error),
        ..Failure::new(Stage::Build, tool).with_code(code).with_message(message).with_file(file)
    }
}

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
pub(super) fn line(page: &Page, at: usize) -> Found {
    let line = page.line(at);
    let text = line.trim_start();
    let found = find_location(text)?;
    let front = &text[..found.start];
    if !FRONTS.contains(&front.trim_start_matches("./")) {
        return dashed(at, text);
    }
    let rest = text[found.end..].trim_start_matches([')', ']', ',']);
    let said = strip_any(rest, &[": ", " - ", " ", ":"])?.trim();
    // rustc's short form has the advice after the words.
    let said = said.split(": help: ").next().unwrap_or(said);
    // clang wraps words to the width of the terminal, and indents by six.
    let below = page.line(at + 1).strip_prefix("      ").filter(|below| !below.starts_with(' '));
    let has_caret = (at + 1..at + 3).any(|at| page.line(at).contains(['^', '~', '|']));
    let wrapped = below.filter(|_| line.len() > 60 && line.contains("error: ") && !has_caret);
    let joined = wrapped.map(|below| format!("{said} {below}"));
    let said = joined.as_deref().unwrap_or(said);
    let (severity, code, message) = judged(said);
    // Without a word of blame it must look like a diagnostic: a rule, or a compiler that needs no word.
    let has_column = text[found.start..found.end].contains([':', '('])
        && text[..found.end].matches([':', ',']).count() > 1;
    let is_bare = line.len() == text.len() && rest.starts_with(": ") && has_column;
    if said.is_empty() || severity.is_none() && front.is_empty() && code.is_empty() && !is_bare {
        return None;
    }
    let is_warning = starts_with_any(front, &["[WARN", "[warn", "w:"]);
    let severity = severity.or(is_warning.then_some(Severity::Warning));
    // go vet has an older word than the compiler.
    let message = message.replacen("undeclared name: ", "undefined: ", 1);
    let file = if is_external(found.file) { "" } else { found.file.trim_start_matches("./") };
    let mut failure = problem("diagnostic", (severity, code, &message), file).with_line(at, LineKind::Head);
    if message.starts_with("runtime error: ") {
        failure.stage = Stage::Crash;
    }
    // Source, carets, notes and further words follow.
    let end = page.find_end(at + 1, |line| {
        let text = line.trim();
        let is_next = find_location(text).is_some_and(|found| found.start == 0 && line.contains(": error"));
        !(line.starts_with([' ', '\t']) && !is_next || is_code(text))
    });
    let end = end.min(at + 24);
    for below in at + 1..end {
        let text = page.line(below).trim();
        let kind = if below == at + 1 && wrapped.is_some() {
            LineKind::Message
        } else if failure.message.is_empty() {
            text.trim_start_matches("• ").clone_into(&mut failure.message);
            LineKind::Message
        } else if is_code(text) || starts_with_digit(text) || below > at + 8 {
            LineKind::Code
        } else {
            // pyright puts the rule after the last of its words: ` (reportReturnType)`
            let rule = text.strip_suffix(')').and_then(|text| text.rsplit_once(" ("));
            let text = match rule.filter(|(_, rule)| rule.starts_with("report") && failure.code.is_empty()) {
                Some((words, rule)) => {
                    rule.clone_into(&mut failure.code);
                    words
                }
                None => text,
            };
            if is_value(text) && failure.values.len() < 6 {
                failure.values.push(text.to_owned());
            }
            LineKind::Value
        };
        failure.add(below, kind);
    }
    Some((failure, end))
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
fn judged(said: &str) -> (Option<Severity>, &str, &str) {
    // yamllint's `[error] words`
    let level = said.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    let (said, level) = match level {
        Some(("error", words)) => (words, Some(Severity::Error)),
        Some(("warning", words)) => (words, Some(Severity::Warning)),
        _ => (said, None),
    };
    let blame = BLAME.iter().find_map(|(word, severity)| {
        let rest = said.strip_prefix(word).filter(|rest| rest.starts_with([':', ' ', '[', '(']))?;
        Some((*severity, *word, rest))
    });
    let severity = level.or(blame.map(|(severity, ..)| severity));
    let rest = blame.filter(|(_, word, _)| *word != "runtime error").map_or(said, |(_, _, rest)| rest);
    let words = rest.trim_start_matches([':', ' ']);
    // `error TS2322: words`, `E501 words`, `C0114: words`, `error[E1]: words`, `[GHC-123]`, `no-rule: words`
    let (front, behind) = words.split_once([' ', ':']).unwrap_or((words, ""));
    let code = front.trim_matches(['[', ']']);
    let is_code = code.bytes().any(|byte| byte.is_ascii_digit())
        && code.len() <= 16
        && code.starts_with(|c: char| c.is_ascii_uppercase())
        && code.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    let is_named = words[front.len()..].starts_with(": ") || front.len() > code.len();
    let is_cop = code.contains('/') && code.starts_with(|c: char| c.is_ascii_uppercase());
    let is_short = (3..5).contains(&code.len()) && code.bytes().all(|byte| byte.is_ascii_uppercase());
    if is_code && (front.len() > code.len() || !behind.is_empty())
        || is_named && code.len() < 40 && (is_cop || is_short || code.contains('-'))
    {
        let words = behind.trim_start_matches([':', ' ']).trim_start_matches("[*] ");
        return (severity, code, without_name_of_rule(words));
    }
    // `words [rule]`, `words (rule)`
    let rule = rule_behind(words).filter(|(_, code)| {
        let is_plain = code.contains('-') || code.chars().all(|c| c.is_ascii_lowercase());
        (1..60).contains(&code.len())
            && !code.contains(' ')
            && code.contains(|c: char| c.is_ascii_alphabetic())
            && (words.ends_with(']') || severity.is_some() || is_plain)
    });
    rule.map_or((severity, "", words), |(words, code)| (severity, code, words.trim_end()))
}

/// Splits `words [rule]` and `words (rule)`.
fn rule_behind(words: &str) -> Option<(&str, &str)> {
    let bracketed = words.strip_suffix(']').and_then(|words| words.rsplit_once(" ["));
    bracketed.or_else(|| words.strip_suffix(')')?.rsplit_once(" ("))
}

/// pylint and sqlfluff give the name of a rule after the words, beside its code: `words (no-member)`, `words [aliasing.column]`.
fn without_name_of_rule(words: &str) -> &str {
    match rule_behind(words) {
        Some((words, name))
            if name.contains(['-', '.'])
                && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'-' | b'.' | b'_')) =>
        {
            words
        }
        _ => words,
    }
}

/// dart's `error - lib/a.dart:3:5 - words - rule`, `words • lib/a.dart:3:5 • rule`, and `words in a.php on line 3`.
fn dashed(at: usize, text: &str) -> Found {
    let found = find_location(text)?;
    for sign in [" - ", " • "] {
        let parts: Vec<&str> = text.split(sign).map(str::trim).collect();
        let (Some(severity), [_, rest @ .., last]) = (severity_of(parts[0]), parts.as_slice()) else {
            continue;
        };
        let code = if rest.len() > 1 { last } else { "" };
        let words = parts[1..].iter().find(|part| find_location(part).is_none())?;
        return Some(problem("diagnostic", (Some(severity), code, words), found.file).in_line(at));
    }
    let front = text[..found.start].trim_end();
    let is_php = starts_with_any(text, &["PHP ", "Parse error: ", "Fatal error: "]);
    let is_perl = front.ends_with(" at") && matches!(extension(found.file), "pl" | "pm" | "t" | "PL");
    if !is_php && (!is_perl || text.starts_with('#')) {
        return None;
    }
    let message = front.strip_suffix(" at").or_else(|| front.strip_suffix(" in")).unwrap_or(front);
    let is_load = contains_any(message, &["syntax error", "Parse error", "Can't locate", "Global symbol"]);
    let stage = if is_load { Stage::Build } else { Stage::Other };
    let file = if found.file.starts_with('/') { "" } else { found.file };
    Some(Failure::new(stage, "script").with_message(message).with_file(file).in_line(at))
}

fn severity_of(word: &str) -> Option<Severity> {
    match word.to_ascii_lowercase().as_str() {
        "error" | "✖" | "×" => Some(Severity::Error),
        "warning" | "⚠" | "info" | "hint" => Some(Severity::Warning),
        _ => None,
    }
}

/// Marks of a message in biome, miette and their kin.
const MARKS: [char; 4] = ['×', '✖', '✘', '⚠'];

/// A head line, an arrow that points to a location, and a frame of source below: rustc, clippy, ruff, miette, Elm's kin.
pub(super) fn framed(page: &Page, at: usize) -> Found {
    let head = page.line(at);
    if head.starts_with(' ') && !head.trim_start().starts_with(MARKS) {
        return None;
    }
    // The arrow follows within a few lines, all of which belong to the message.
    let arrow = (at + 1..(at + 5).min(page.end_of_stream(at))).find(|&at| is_arrow(page.line(at)))?;
    let is_box = page.line(arrow).trim_start().starts_with(['╭', '┌']);
    if !(at + 1..arrow).map(|at| page.line(at)).all(|line| line.starts_with(' ') || line.is_empty() && is_box)
    {
        return None;
    }
    let (mut severity, code, message) = judged(head.trim().trim_start_matches(MARKS).trim_start());
    if head.contains('⚠') {
        severity = Some(Severity::Warning);
    }
    // ruff's `unformatted: words`
    let named = message
        .split_once(": ")
        .filter(|(name, _)| severity.is_none() && code.is_empty() && !name.contains(' '));
    let (code, message) = named.unwrap_or((code, message));
    let file = file_in(page.line(arrow));
    let mut failure = problem("compiler", (severity, code, message), file).with_line(at, LineKind::Head);
    failure.add_all(at + 1..arrow, LineKind::Message);
    failure.add(arrow, LineKind::Location);
    let end = page.find_end(arrow + 1, str::is_empty);
    let mut is_help = false;
    for at in arrow + 1..end {
        let text = page.line(at).trim();
        is_help |= starts_with_any(text, &["help:", "note:", "= help", "= note"]);
        let label = label(text).filter(|_| !is_help);
        if let Some(label) = label
            && failure.values.len() < 8
        {
            failure.values.push(label.to_owned());
        }
        let lint = lint_name(text);
        if failure.code.is_empty() {
            lint.unwrap_or_default().clone_into(&mut failure.code);
        }
        let kind = match label.or(lint) {
            Some(_) => LineKind::Value,
            None if is_help => LineKind::Note,
            None => LineKind::Code,
        };
        failure.add(at, kind);
    }
    Some((failure, end))
}

fn is_arrow(line: &str) -> bool {
    let text = line.trim_start_matches([' ', '|', '│']);
    starts_with_any(text, &["--> ", "╭─[", "┌─ ", "╭▸ ", "╭───["]) && find_location(text).is_some()
}

/// Returns what is said beside the carets that point into a line of source.
fn label(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ').strip_prefix(['|', '│'])?;
    rest.rsplit_once("^ ").map(|(_, label)| label.trim()).filter(|label| !label.is_empty())
}

/// Returns the name of the rule in clippy's notes.
fn lint_name(text: &str) -> Option<&str> {
    if let Some((_, name)) = text.split_once("rust-clippy/").and_then(|(_, rest)| rest.split_once('#')) {
        return Some(name);
    }
    let (name, rest) = text.split_once("= note: `")?.1.split_once('`')?;
    let name = name.trim_start_matches("-D ").trim_start_matches("#[warn(").trim_start_matches("#[deny(");
    contains_any(rest, &["on by default", "implied by"]).then_some(name.trim_end_matches(")]"))
}

/// Linters that name a file once: eslint's `  3:5  error  words  rule` and its kin, sqlfluff's `L:   3 | P:  14 | AL02 | words`.
pub(super) fn listed(page: &Page, at: usize) -> Found {
    let line = page.line(at);
    let sql = line.strip_prefix("L:").and_then(|rest| rest.split_once(" | P:")?.1.split_once(" | "));
    let (location, rest) = sql.or_else(|| line.strip_prefix(' ')?.trim_start().split_once(' '))?;
    let is_location = location.trim().split(':').count() <= 2 && is_numbers(location.trim());
    if !is_location || sql.is_none() && !line.contains("  ") {
        return None;
    }
    let above = page.find_above(at, MAX_LOOKBACK_LINES, |line| file_of_heading(line).is_some())?;
    let file = file_of_heading(page.line(above))?;
    let rest = rest.trim_start();
    let (word, said) = rest.split_once(' ')?;
    let joined = rest.replacen(" | ", ": ", 1);
    let mut said = match severity_of(word) {
        Some(severity) => {
            let (words, rule) = said.trim().rsplit_once("  ").unwrap_or((said, ""));
            let rule = rule.trim_matches(['(', ')']);
            let (_, code, message) =
                if rule.is_empty() { judged(words.trim()) } else { (None, rule, words.trim()) };
            (Some(severity), code, message)
        }
        // ruff's grouped form has a rule and no word: `3:8 F401 [*] words`; PHPStan has neither.
        None => judged(&joined),
    };
    let is_table = page.line(above).trim_start().starts_with("Line ");
    if said.0.is_none() && !joined.starts_with(said.1) || said.1.is_empty() && !is_table && said.0.is_none() {
        return None;
    }
    let end = page.find_end(at + 1, |line| !line.trim_start().starts_with("| "));
    let below = (at + 1..end).map(|at| page.line(at).trim_start().trim_start_matches("| "));
    let message = below.fold(said.2.to_owned(), |message, line| format!("{message} {line}"));
    said.2 = words_of_sqlfluff(&message);
    let mut failure =
        problem("stylish", said, file).with_line(above, LineKind::Head).with_line(at, LineKind::Head);
    failure.add_all(at + 1..end, LineKind::Message);
    Some((failure, end))
}

fn file_of_heading(line: &str) -> Option<&str> {
    let name = line.strip_prefix("== [").and_then(|rest| rest.split(']').next());
    let name = name.unwrap_or(line.trim_start().trim_start_matches("Line ").trim().trim_end_matches(':'));
    Some(name).filter(|name| !name.contains(' ') && is_file(name))
}

/// `3:5`
fn is_numbers(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b':')
}

/// `Line 6, Position 1: words [name.of.rule]`, and what of the tree of the file is found there.
fn words_of_sqlfluff(message: &str) -> &str {
    let placed = message.split_once(": ").filter(|(place, _)| place.contains(", Position "));
    let words = placed.map_or(message, |(_, words)| words);
    without_name_of_rule(words.split(" Found <").next().unwrap_or(words))
}

/// `In bin/a.sh line 7:`, the source, and `^-- SC1073 (error): words`.
pub(super) fn shellcheck(page: &Page, at: usize) -> Found {
    let file = file_in(page.line(at).strip_prefix("In ").filter(|line| line.ends_with(':'))?);
    let mut failure = problem("shellcheck", (Some(Severity::Warning), "", ""), file);
    failure.add(at, LineKind::Location);
    let end =
        page.find_end(at + 1, |line| starts_with_any(line, &["In ", "For more information", "Did you mean"]));
    for at in at + 1..end.min(at + 12) {
        let text = page.line(at).trim();
        let said = text.split_once(" SC").filter(|(front, _)| front.contains('^'));
        if let Some((code, message)) = said.and_then(|(_, said)| said.split_once(' ')) {
            let is_error = message.starts_with("(error)");
            if failure.code.is_empty() || is_error && failure.severity == Severity::Warning {
                failure.code = format!("SC{code}");
                failure.severity = if is_error { Severity::Error } else { Severity::Warning };
                message.split_once(": ").map_or(message, |(_, words)| words).clone_into(&mut failure.message);
            }
            failure.add(at, LineKind::Head);
        } else if !text.is_empty() {
            failure.add(at, LineKind::Code);
        }
    }
    (!failure.code.is_empty()).then_some((failure, end))
}

/// biome's `src/a.js:3:5 lint/style/useConst  FIXABLE  ━━━━━`, with the words and the source below.
pub(super) fn ruled(page: &Page, at: usize) -> Found {
    let (place, rest) = page.line(at).strip_suffix("━━━")?.split_once(' ')?;
    let file = find_location(place).map_or(place, |found| found.file);
    if !is_file(file) {
        return None;
    }
    let rule = rest.split(' ').next().filter(|rule| !rule.starts_with('━')).unwrap_or_default();
    let end = page.find_end(at + 1, |line| line.ends_with("━━━"));
    let mut failure = problem("ruled", (None, rule, ""), file).with_line(at, LineKind::Head);
    for at in at + 1..end {
        let text = page.line(at).trim();
        if failure.message.is_empty() && text.starts_with(MARKS) {
            text.trim_start_matches(MARKS).trim().clone_into(&mut failure.message);
            failure.severity = if text.starts_with('⚠') { Severity::Warning } else { Severity::Error };
            failure.add(at, LineKind::Message);
        } else {
            failure.add(at, if text.starts_with('>') { LineKind::Code } else { LineKind::Note });
        }
    }
    (!failure.message.is_empty()).then_some((failure, end))
}

/// `::error file=a.js,line=3,col=5::words`: annotations of GitHub Actions, which many linters can write.
pub(super) fn annotation(page: &Page, at: usize) -> Found {
    let (properties, said) = page.line(at).strip_prefix("::")?.split_once("::")?;
    let (word, properties) = properties.split_once(' ')?;
    let file = properties.split(',').find_map(|property| property.strip_prefix("file="))?;
    let said = said.split("%0A").next().unwrap_or(said);
    // ruff repeats the location.
    let repeated = find_location(said).filter(|found| found.start == 0);
    let (_, code, message) =
        judged(repeated.map_or(said, |found| said[found.end..].trim_start_matches([':', ' '])));
    let said = (Some(severity_of(word)?), code, words_of_sqlfluff(message));
    Some(problem("annotation", said, file.trim_start_matches("./")).in_line(at))
}

/// What formatters print before the name of a file that they would change.
const UNFORMATTED: &[&str] = &[
    "would reformat ",
    "Would reformat: ",
    "--- would reformat ",
    "error: cannot format ",
    "File would be reformatted: ",
    "Would format ",
    "ERROR: Not formatted: ",
    "Diff in ",
    "[warn] ",
];

/// The report of a formatter that would change a file: `would reformat a.py`, `Diff in a.rs:3:`, `[warn] a.js`; or that cannot read
/// one: prettier's `[error] a.js: SyntaxError: words (3:5)`.
pub(super) fn unformatted_file(page: &Page, at: usize) -> Found {
    let line = page.line(at);
    if let Some((file, said)) = line.strip_prefix("[error] ").and_then(|rest| rest.split_once(": ")) {
        let (words, _) = said.rsplit_once(" (").filter(|_| is_file(file) && !file.contains(' '))?;
        let mut failure = problem("prettier", (None, "", words), file).with_line(at, LineKind::Head);
        let end = page.find_end(at + 1, |line| !line.starts_with("[error]  "));
        failure.add_all(at + 1..end, LineKind::Code);
        return Some((failure, end));
    }
    let rest = strip_any(line, UNFORMATTED)?;
    let file = find_location(rest).map_or(rest.split(" at line").next().unwrap_or(rest), |found| found.file);
    let file = file.trim_start_matches("./").trim_end_matches([':', '.']);
    if line.starts_with('[') && (!is_file(file) || file.contains(' ')) {
        return None;
    }
    let mut failure =
        problem("format", (None, "format", "would be reformatted"), file).with_line(at, LineKind::Head);
    if !line.starts_with("Diff in ") {
        return Some((failure, at + 1));
    }
    let end = page.find_end(at + 1, |line| line.starts_with("Diff in ") || line.is_empty());
    for at in at + 1..end.min(at + 20) {
        let line = page.line(at);
        let is_change = line.starts_with(['-', '+']);
        if is_change && failure.values.len() < 8 {
            failure.values.push(line.to_owned());
        }
        failure.add(at, if is_change { LineKind::Value } else { LineKind::Code });
    }
    Some((failure, end))
}
