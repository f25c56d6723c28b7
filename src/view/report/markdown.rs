//! A session as a summary for a pull request.
//!
//! Whatever comes from outside stands in code spans: there no host reads markup, tags, mentions, numbers of issues or
//! addresses.

use std::io::{self, Write};

use crate::record::{Outcome, RALPH_ELSEWHERE};
use crate::view::style::{Count, duration, grouped};

use super::harmless::one_line;
use super::{Report, State, TaskRow};

/// What every summary of ours begins with, and no host shows.
pub const MARKDOWN: &str = "<!-- specify ralph report -->";

/// Most lines of each kind: hosts refuse long descriptions.
const MOST: usize = 40;
/// Longest quote, in characters.
const QUOTE: usize = 160;

pub fn write_markdown(out: &mut impl Write, report: &Report) -> io::Result<()> {
    let Report { session, headline, counts, totals, .. } = report;
    writeln!(out, "{MARKDOWN}\n## {}", headline.verdict)?;
    writeln!(out, "\n{}\n", headline.course)?;
    writeln!(out, "| | |\n|---|---|")?;
    writeln!(out, "| Feature | {} |", cell(&session.feature))?;
    writeln!(out, "| Session | {} |", code(session.id.as_str()))?;
    writeln!(out, "| Iterations | {} ({counts}) |", report.iterations.len())?;
    let (worked, checked) =
        (totals.duration_ms.agent.map(duration), totals.duration_ms.validation.map(duration));
    let worked = worked.map(|time| format!(", agents worked for {time}")).unwrap_or_default();
    let checked = checked.map(|time| format!(", validations ran for {time}")).unwrap_or_default();
    writeln!(out, "| From start to end | {}{worked}{checked} |", duration(headline.span_ms))?;
    if let Some(changes) = &report.changes {
        let ((added, removed), files) = (changes.lines(), Count(changes.files.len() as u64, "file"));
        writeln!(out, "| Changed | {files}, +{} −{} lines |", grouped(added), grouped(removed))?;
    }
    if let Some(total) = totals.tokens.total() {
        writeln!(out, "| Tokens | {} |", grouped(total))?;
    }
    if let Some(cost) = totals.cost.shown() {
        writeln!(out, "| Cost | {cost} |")?;
    }
    writeln!(out, "| Agent | {} |", cell(&session.agent))?;
    if !report.attention.is_empty() {
        writeln!(out, "\n### To look at\n")?;
    }
    for found in &report.attention {
        let task = found.task.as_ref().map(|task| format!("{} ", code(task))).unwrap_or_default();
        let quote = found.quote.as_ref().map(|quote| format!(" {}", code(quote))).unwrap_or_default();
        writeln!(out, "- {task}{}{quote}{}", found.what, numbers(&found.iterations))?;
    }
    for (title, mark, is_meant) in [
        ("Done", "x", &(|task: &TaskRow| task.state == State::Done) as &dyn Fn(&TaskRow) -> bool),
        ("Not done", " ", &|task: &TaskRow| !matches!(task.state, State::Done | State::DoneBefore)),
    ] {
        let meant: Vec<&TaskRow> = report.tasks.iter().filter(|task| is_meant(task)).collect();
        if meant.is_empty() {
            continue;
        }
        writeln!(out, "\n### {title}\n")?;
        for task in meant.iter().take(MOST) {
            let text = code(&format!("{} {}", task.name, task.text));
            writeln!(out, "- [{mark}] {text}{}", tries(task))?;
        }
        if meant.len() > MOST {
            writeln!(out, "- and {} more", meant.len() - MOST)?;
        }
    }
    writeln!(
        out,
        "\n<sub>Made by `{RALPH_ELSEWHERE} report --markdown`. All of it: `{RALPH_ELSEWHERE} report \
         --session {}`, where the records are (`{RALPH_ELSEWHERE} sync` fetches them).</sub>",
        session.id
    )
}

fn tries(task: &TaskRow) -> String {
    let tries = match task.tries.iter().filter(|outcome| **outcome != Outcome::Skipped).count() {
        0 => return String::new(),
        1 => "1 try".to_owned(),
        count => format!("{count} tries"),
    };
    let skipped = if task.state == State::Skipped { ", skipped" } else { "" };
    format!(" ({tries}{skipped}, {})", duration(task.duration_ms))
}

fn numbers(iterations: &[u32]) -> String {
    match iterations {
        [] => String::new(),
        [one] => format!(" (iteration {one})"),
        several => {
            let shown: Vec<String> = several.iter().take(12).map(u32::to_string).collect();
            let more = if several.len() > shown.len() { ", ..." } else { "" };
            format!(" (iterations {}{more})", shown.join(", "))
        }
    }
}

/// A text as a code span: fenced by more backticks than it has in a row.
fn code(text: &str) -> String {
    let line = one_line(text);
    let shown: String = line.chars().take(QUOTE).collect();
    let more = if shown.len() < line.len() { "…" } else { "" };
    let longest = shown.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    // Renderers strip blanks at both ends; they separate backticks.
    let blank = if shown.starts_with('`') || shown.ends_with('`') || shown.is_empty() { " " } else { "" };
    format!("{fence}{blank}{shown}{more}{blank}{fence}")
}

/// The same in a table, where a bar would end the cell also in code.
fn cell(text: &str) -> String {
    code(text).replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use pulldown_cmark::{Event, Options, Parser, Tag};

    use super::*;

    #[test]
    fn foreign_text_stays_in_its_code_span() {
        for (text, expected) in [
            ("plain", "`plain`"),
            ("@user #12 <b>", "`@user #12 <b>`"),
            ("a `b` ``c``", "``` a `b` ``c`` ```"),
            ("`", "`` ` ``"),
            ("", "`  `"),
            ("two\nlines\x1b", "`two lines\u{241b}`"),
        ] {
            assert_eq!(code(text), expected);
        }
        assert_eq!(cell("a|b"), "`a\\|b`");
    }

    #[test]
    fn nothing_in_a_span_is_read_as_markup() {
        for text in [
            "</sub><script>x</script>",
            "](javascript:x)",
            "`` ` ```",
            "| a |\n|-|",
            "![x](http://y)",
            "\\`x",
        ] {
            let line = format!("- [x] {} (1 try)", code(text));
            for event in Parser::new_ext(&line, Options::all()) {
                let is_markup = matches!(
                    event,
                    Event::Html(_)
                        | Event::InlineHtml(_)
                        | Event::Start(Tag::Link { .. } | Tag::Image { .. } | Tag::Table(_))
                );
                assert!(!is_markup, "{line}: {event:?}");
            }
        }
    }
}
