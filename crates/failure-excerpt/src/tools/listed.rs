//! Linters that name a file once, and list its problems below: eslint, yamllint, ruff, shellcheck.

use super::super::failure::{Failure, Severity, Stage};
use super::super::line_kind::LineKind;
use super::super::location::find_location;
use super::super::page::Page;
use super::super::scan_state::ScanState;
use super::diagnostic::judged;

/// How linters that name the file once say how bad a problem is.
const STYLISH: [(&str, Severity); 6] = [
    ("error ", Severity::Error),
    ("✖ ", Severity::Error),
    ("× ", Severity::Error),
    ("warning ", Severity::Warning),
    ("⚠ ", Severity::Warning),
    ("info ", Severity::Warning),
];

/// `words  rule`, and yamllint's `words (rule)`.
fn rule_behind(said: &str) -> (&str, &str) {
    if let Some((words, rule)) = said.rsplit_once("  ").filter(|(_, rule)| !rule.contains(' ')) {
        return (words.trim(), rule.trim_matches(['(', ')']));
    }
    let is_rule = |rule: &str| rule.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    let named = said.strip_suffix(')').and_then(|said| said.rsplit_once(" ("));
    named.filter(|(_, rule)| is_rule(rule)).unwrap_or((said, ""))
}

/// eslint and its kin: the file above, then `  3:5  error  words  rule`.
pub(super) fn stylish(page: &Page, at: usize, state: &mut ScanState) -> Option<(Failure, usize)> {
    let line = page.line(at);
    if !line.starts_with(' ') {
        return None;
    }
    let text = line.trim_start();
    let (location, rest) = text.split_once(' ')?;
    let is_location = location.split(':').count() <= 2
        && !location.is_empty()
        && location.split(':').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    if !is_location || !line.contains("  ") {
        return None;
    }
    let file = state.file_heading?;
    let rest = rest.trim_start();
    let word = STYLISH.iter().find_map(|(word, severity)| Some((*severity, rest.strip_prefix(word)?)));
    let (severity, code, message) = if let Some((severity, rest)) = word {
        let (message, code) = rule_behind(rest.trim());
        (severity, code, message)
    } else {
        // ruff's grouped form has a rule and no word: `3:8 F401 [*] words`
        let (_, code, message) = judged(rest);
        let is_rule = !code.is_empty() && rest.starts_with(code);
        is_rule.then_some((Severity::Error, code, message))?
    };
    let name = page.line(file).trim().trim_end_matches(':');
    let mut failure = Failure::new(Stage::Build, "stylish")
        .with_code(code)
        .with_message(message)
        .with_file(name)
        .with_line(at, LineKind::Head);
    failure.severity = severity;
    failure.parts.insert(0, (file, LineKind::Head));
    Some((failure, at + 1))
}

/// `In bin/a.sh line 7:`, the source, and `^-- SC1073 (error): words`.
pub(super) fn shellcheck(page: &Page, at: usize, _: &mut ScanState) -> Option<(Failure, usize)> {
    let line = page.line(at);
    let rest = line.strip_prefix("In ")?;
    let found = find_location(rest)?;
    if !rest.ends_with(':') || !line.contains(" line ") {
        return None;
    }
    let mut failure =
        Failure::new(Stage::Build, "shellcheck").with_file(found.file).with_line(at, LineKind::Location);
    let mut end = at + 1;
    while end < page.end_of_stream(at) && end < at + 12 {
        let line = page.line(end);
        let text = line.trim();
        if line.starts_with("In ")
            || text.starts_with("Did you mean")
            || text.starts_with("For more information")
        {
            break;
        }
        if let Some((_, said)) = text
            .split_once("SC")
            .filter(|(front, said)| front.contains('^') && said.starts_with(|c: char| c.is_ascii_digit()))
        {
            let (code, message) = said.split_once(' ').unwrap_or((said, ""));
            let severity = if message.starts_with("(error)") { Severity::Error } else { Severity::Warning };
            if failure.code.is_empty() || severity < failure.severity {
                failure.code = format!("SC{code}");
                failure.severity = severity;
                message.split_once(": ").map_or(message, |(_, words)| words).clone_into(&mut failure.message);
            }
            failure.add(end, LineKind::Head);
        } else if !text.is_empty() {
            failure.add(end, LineKind::Code);
        }
        end += 1;
    }
    (!failure.code.is_empty()).then_some((failure, end))
}
