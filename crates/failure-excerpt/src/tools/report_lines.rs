//! Linters and runners whose lines look like those of no other: biome, prettier, sqlfluff, the annotations of GitHub Actions, and
//! the console launcher of `JUnit`.

use super::super::failure::{Failure, FrameOrder, Severity, Stage};
use super::super::line_kind::{LineKind, is_external_frame};
use super::super::location::{find_location, is_file};
use super::super::page::Page;
use super::super::scan_state::ScanState;
use super::diagnostic::{judged, without_name_of_rule};

/// Marks of a message in biome and its kin.
const MARKS: [char; 4] = ['×', '✖', '✘', '⚠'];

/// biome's `src/a.js:3:5 lint/style/useConst  FIXABLE  ━━━━━`, with the words and the source below.
pub(super) fn ruled(page: &Page, at: usize, _: &mut ScanState) -> Option<(Failure, usize)> {
    let line = page.line(at);
    if !line.ends_with("━━━") {
        return None;
    }
    let (file, rest) = match find_location(line) {
        Some(found) if found.start == 0 => (found.file, &line[found.end..]),
        _ => line.split_once(' ').filter(|(file, _)| is_file(file))?,
    };
    let rule = rest.split_whitespace().next().filter(|rule| !rule.starts_with('━')).unwrap_or_default();
    let end = page.find_end(at + 1, |line| line.ends_with("━━━"));
    let mut failure =
        Failure::new(Stage::Build, "ruled").with_code(rule).with_file(file).with_line(at, LineKind::Head);
    for at in at + 1..end {
        let text = page.line(at).trim();
        if failure.message.is_empty() && text.starts_with(MARKS) {
            text.trim_start_matches(MARKS).trim().clone_into(&mut failure.message);
            failure.severity = if text.starts_with('⚠') { Severity::Warning } else { Severity::Error };
            failure.add(at, LineKind::Message);
        } else if !text.is_empty() {
            failure.add(at, if text.starts_with('>') { LineKind::Code } else { LineKind::Note });
        }
    }
    (!failure.message.is_empty()).then_some((failure, end))
}

/// prettier's `[error] a.js: SyntaxError: words (3:5)`.
pub(super) fn prettier(page: &Page, at: usize, _: &mut ScanState) -> Option<(Failure, usize)> {
    let (file, said) = page.line(at).strip_prefix("[error] ")?.split_once(": ")?;
    if !is_file(file) || file.contains(' ') {
        return None;
    }
    let (words, _) =
        said.rsplit_once(" (").filter(|(_, location)| is_numbers(location.trim_end_matches(')')))?;
    let mut failure = Failure::new(Stage::Build, "prettier")
        .with_message(words)
        .with_file(file)
        .with_line(at, LineKind::Head);
    let end = page.find_end(at + 1, |line| !line.starts_with("[error]  "));
    failure.add_all(at + 1..end, LineKind::Code);
    Some((failure, end))
}

/// `3:5`
fn is_numbers(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b':')
}

/// sqlfluff's `L:   3 | P:  14 | AL02 | words`, below the name of the file.
pub(super) fn columns(page: &Page, at: usize, _: &mut ScanState) -> Option<(Failure, usize)> {
    let mut columns = page.line(at).strip_prefix("L:")?.splitn(4, " | ").map(str::trim);
    columns.next().filter(|line| is_numbers(line))?;
    columns.next().and_then(|column| column.strip_prefix("P:"))?;
    let code = columns.next()?;
    let mut said = columns.next()?.to_owned();
    let mut failure = Failure::new(Stage::Build, "columns").with_code(code).with_line(at, LineKind::Head);
    let end = page.find_end(at + 1, |line| !line.trim_start().starts_with("| "));
    for at in at + 1..end {
        said.push(' ');
        said.push_str(page.line(at).trim_start().trim_start_matches("| "));
        failure.add(at, LineKind::Message);
    }
    words_of_sqlfluff(&said).clone_into(&mut failure.message);
    if let Some(head) = page.find_above(at, 200, |line| line.starts_with("== [")) {
        page.line(head)[4..].split(']').next().unwrap_or_default().clone_into(&mut failure.file);
        failure.parts.insert(0, (head, LineKind::Location));
    }
    Some((failure, end))
}

/// `Line 6, Position 1: words [name.of.rule]`, and what of the tree of the file is found there.
fn words_of_sqlfluff(message: &str) -> &str {
    let location = message.strip_prefix("Line ").and_then(|rest| rest.split_once(": "));
    let words =
        location.filter(|(location, _)| location.contains(", Position ")).map_or(message, |(_, words)| words);
    without_name_of_rule(words.split(" Found <").next().unwrap_or(words))
}

/// `PHPStan`'s table: `  Line   src/A.php`, a rule, and a row for each problem.
pub(super) fn table(page: &Page, at: usize, _: &mut ScanState) -> Option<(Failure, usize)> {
    let file = page.line(at).trim_start().strip_prefix("Line ")?.trim();
    if !is_file(file) || !page.line(at + 1).trim_start().starts_with("---") {
        return None;
    }
    let end = page.find_end(at + 2, |line| line.trim_start().starts_with("---"));
    let (line, said) = page.line(at + 2).trim_start().split_once(' ')?;
    if !is_numbers(line) {
        return None;
    }
    let mut failure = Failure::new(Stage::Build, "table")
        .with_message(said)
        .with_file(file)
        .with_line(at, LineKind::Location)
        .with_line(at + 2, LineKind::Message);
    for at in at + 3..end {
        let text = page.line(at).trim();
        if let Some(rule) = text.strip_prefix('🪪').filter(|_| failure.code.is_empty()) {
            rule.trim().clone_into(&mut failure.code);
        }
        failure.add(at, LineKind::Note);
    }
    Some((failure, end))
}

/// `::error file=a.js,line=3,col=5::words`: annotations of GitHub Actions, which many linters can write.
pub(super) fn annotation(page: &Page, at: usize, _: &mut ScanState) -> Option<(Failure, usize)> {
    let rest = page.line(at).strip_prefix("::")?;
    let (severity, rest) = match rest.split_once(' ')? {
        ("error", rest) => (Severity::Error, rest),
        ("warning", rest) => (Severity::Warning, rest),
        _ => return None,
    };
    let (properties, said) = rest.split_once("::")?;
    let file = properties.split(',').find_map(|property| property.strip_prefix("file="))?;
    let said = said.split("%0A").next().unwrap_or(said);
    // ruff repeats the location.
    let said = match find_location(said).filter(|found| found.start == 0) {
        Some(found) => said[found.end..].trim_start_matches(':').trim_start(),
        None => said,
    };
    let is_code = |code: &str| code.len() <= 8 && code.bytes().all(|byte| byte.is_ascii_uppercase());
    let coded = said.split_once(": ").filter(|(code, _)| is_code(code));
    let (code, message) = coded.unwrap_or_else(|| {
        let (_, code, message) = judged(said);
        (code, message)
    });
    let mut failure = Failure::new(Stage::Build, "annotation")
        .with_code(code)
        .with_message(words_of_sqlfluff(message))
        .with_file(file.trim_start_matches("./"))
        .with_line(at, LineKind::Head);
    failure.severity = severity;
    Some((failure, at + 1))
}

/// `JUnit Jupiter:MoneyTest:adds()` with `=> Exception: words` below, and frames that have no `at`.
pub(super) fn console(page: &Page, at: usize, _: &mut ScanState) -> Option<(Failure, usize)> {
    let said = page.line(at).trim_start().strip_prefix("=> ")?;
    let head = page.find_above(at, 3, |line| line.contains(':') && line.ends_with(')'))?;
    let name = page.line(head).trim().rsplit(':').next()?.trim_end_matches("()");
    let end = page.find_end(at + 1, |line| line.trim().is_empty() || line.trim_start().starts_with("[...]"));
    let mut failure = Failure::new(Stage::Test, "console")
        .with_id(name)
        .with_message(said)
        .with_line(head, LineKind::Head)
        .with_line(at, LineKind::Message);
    let is_own = |at: &usize| {
        let text = page.line(*at).trim();
        find_location(text).is_some() && !is_external_frame(&format!("at {text}"))
    };
    let frames: Vec<usize> = (at + 1..end).filter(is_own).collect();
    failure.add_frames(page, &frames, FrameOrder::NewestFirst);
    Some((failure, end))
}
