//! A session as a summary for a pull request.
//!
//! Whatever comes from outside is in code spans: there no host reads markup, tags, mentions, numbers of issues or
//! addresses.

use ralph_templates::SUMMARY;
use std::io::Write;

use anyhow::{Context, Result};
use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior, Value, context};

use crate::ending::{attempts, cost};
use crate::local_time::local;
use crate::needs::files_and_lines;
use crate::review::Review;
use crate::style::{columns, counted, cut, duration, grouped, in_runs};
use ralph_core::record::{FlaggedTask, RALPH_ELSEWHERE, join_truncated};

use super::first_screen::flag_commands;
use super::html_escape::one_line;
use super::{Level, Report, State, TaskRow};

/// What every summary of ours begins with, and no host shows.
pub const MARKDOWN: &str = "<!-- specify ralph report -->";

/// Most lines of each kind, and numbers in a line: hosts refuse long descriptions.
const MAX_LINES: usize = 40;
const MAX_NUMBERS: usize = 12;
/// Longest quote, in characters.
const QUOTE: usize = 160;

pub fn write_markdown(out: &mut impl Write, report: &Report) -> Result<()> {
    let Report { session, headline, totals, .. } = report;
    let attention = report.attention.iter().map(|found| {
        let (task, quote) = (found.task.as_deref().map(code), found.quote.as_deref().map(code));
        // Only what is about a flag is a warning about a task.
        let is_flag =
            |one: &&FlaggedTask| found.level == Level::Warning && Some(&one.task) == found.task.as_ref();
        let flag = report.summary.flagged.iter().find(is_flag);
        let commands = flag.map(|flag| flag_commands(report, flag)).unwrap_or_default().into_iter();
        // A part of a command is none.
        let commands = commands.filter(|(_, command)| columns(command) <= QUOTE);
        let commands: Vec<String> = commands
            .map(|(lead, command)| format!("{lead} {}", code(&command)).trim_start().to_owned())
            .collect();
        let (what, numbers) = (found.what.as_str(), numbers(&found.iterations));
        context! { task, quote, what, numbers, commands }
    });
    let done = report.tasks.iter().filter(|task| task.state == State::Done);
    let open = report.tasks.iter().filter(|task| !matches!(task.state, State::Done | State::DoneBefore));
    let files = report.changes.iter().flat_map(|changes| &changes.files);
    let review = Review::of(files.map(|file| &file.change));
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let values = context! {
        mark => MARKDOWN,
        ralph => RALPH_ELSEWHERE.as_str(),
        verdict => headline.verdict.as_str(),
        course => headline.course.as_str(),
        feature => cell(&session.feature),
        session => session.id.as_str(),
        validation => report.summary.validation.as_ref().map(|now| cell(&now.words_at(&local(report.made_at)))),
        attempts => attempts(&report.session_totals()),
        span => duration(headline.worked_ms) + &in_runs(session.totals.runs),
        worked => totals.duration_ms.agent.map(duration),
        checked => totals.duration_ms.validation.map(duration),
        changes => report.changes.as_ref().map(|changes| files_and_lines(changes.stat())),
        tests => (review.tests.files > 0).then(|| format!("{}: review them first", files_and_lines(review.tests))),
        settings => review.settings_words().map(|words| cell(&words)),
        tokens => totals.tokens.total().map(grouped),
        cost => cost(&report.session_totals().cost),
        clean => session.clean.as_ref().map(|check| cell(&check.line())),
        agent => cell(&session.agent),
        attention => attention.collect::<Vec<_>>(),
        lists => Value::from(Serde([("Done", "x", lines(done)), ("Not done", " ", lines(open))])),
    };
    let text = environment.render_str(SUMMARY, values).context("write the summary")?;
    Ok(writeln!(out, "{}", text.trim_end())?)
}

/// A line for each task, and how many there are beside the first.
fn lines<'a>(tasks: impl Iterator<Item = &'a TaskRow>) -> (Vec<String>, usize) {
    let mut lines: Vec<String> =
        tasks.map(|task| code(&format!("{} {}", task.name, task.text)) + &attempts_at(task)).collect();
    let more = lines.len().saturating_sub(MAX_LINES);
    lines.truncate(MAX_LINES);
    (lines, more)
}

fn attempts_at(task: &TaskRow) -> String {
    let attempts = counted(task.attempts as u64, "attempt");
    let skipped = if task.state == State::Skipped { ", skipped" } else { "" };
    let words = format!(" ({attempts}{skipped}, {})", duration(task.duration_ms));
    if task.attempts == 0 { String::new() } else { words }
}

fn numbers(iterations: &[u32]) -> String {
    let noun = if iterations.len() == 1 { "iteration" } else { "iterations" };
    let shown: Vec<String> = iterations.iter().map(u32::to_string).collect();
    if shown.is_empty() {
        String::new()
    } else {
        format!(" ({noun} {})", join_truncated(&shown, MAX_NUMBERS))
    }
}

/// A text as a code span: fenced by more backticks than it has in a row. One that may have HTML in it is an element, in which
/// no sign is what it looks like in the source: not every host leaves code spans alone.
fn code(text: &str) -> String {
    let line = one_line(text);
    let shown = cut(&line, QUOTE);
    if shown.contains('<') {
        let signs = shown.chars().map(|c| match c {
            '<' => "&lt;".to_owned(),
            '>' => "&gt;".to_owned(),
            '&' => "&amp;".to_owned(),
            c if c.is_ascii_punctuation() => format!("&#{};", u32::from(c)),
            c => c.to_string(),
        });
        return format!("<code>{}</code>", signs.collect::<String>());
    }
    let longest = shown.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    // Renderers strip blanks at both ends; they separate backticks.
    let blank = if shown.starts_with('`') || shown.ends_with('`') || shown.is_empty() { " " } else { "" };
    format!("{fence}{blank}{shown}{blank}{fence}")
}

/// A text that is no markup, mention, number of an issue or address to any host: one line of a paragraph, a list or a cell.
pub fn markdown_text(text: &str) -> String {
    let line = one_line(text);
    let shown = cut(&line, QUOTE);
    let mut escaped = String::with_capacity(shown.len());
    let mut chars = shown.chars().peekable();
    while let Some(c) = chars.next() {
        if "\\`*_{}[]<>#|~&@:!$^".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
        // Hosts look for these in what is shown, too, after the escapes are gone.
        let next = chars.peek();
        let is_name = |next: &char| next.is_alphanumeric();
        if matches!(c, '@' | '#') && next.is_some_and(is_name)
            || c == ':' && next == Some(&'/')
            || c == '-' && escaped.to_ascii_lowercase().ends_with("gh-")
        {
            escaped.push('\u{200b}');
        }
    }
    escaped
}

/// The same in a table, where a bar would end the cell also in code.
fn cell(text: &str) -> String {
    code(text).replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use pulldown_cmark::{Event, Options, Parser, Tag};

    use super::super::headline::attention;
    use super::super::samples::{iterations, report};
    use super::*;
    use ralph_core::record::FlagCode;

    #[test]
    fn no_text_is_markdown_of_ours() {
        for (text, expected) in [
            ("round totals", "round totals"),
            ("a|b `c` <d>", "a\\|b \\`c\\` \\<d\\>"),
            ("Fixes #12, @you", "Fixes \\#\u{200b}12, \\@\u{200b}you"),
            ("closes GH-12", "closes GH-\u{200b}12"),
            ("see https://x.org/1", "see https\\:\u{200b}//x.org/1"),
            ("two\nlines", "two lines"),
        ] {
            assert_eq!(markdown_text(text), expected);
            let marked = format!("| {} |\n", markdown_text(text));
            let all = Parser::new_ext(&marked, Options::all());
            assert!(all.into_iter().all(|event| !matches!(
                event,
                Event::Html(_) | Event::InlineHtml(_) | Event::Code(_) | Event::Start(Tag::Link { .. })
            )));
        }
    }

    #[test]
    fn what_is_flagged_comes_with_its_commands() {
        let mut flagged = report(iterations("T1+ T2+"), "- [x] T1 One\n- [x] T2 Two\n");
        flagged.summary.feature = "specs/001-x".to_owned();
        let session = flagged.session.id.clone();
        let flag = |task: &str, code| FlaggedTask {
            task: task.to_owned(),
            session: session.clone(),
            iteration: Some(2),
            flags: vec![code],
            text: Some("1 assertion fewer".to_owned()),
        };
        flagged.summary.flagged = vec![flag("T1", FlagCode::Gone), flag("T2", FlagCode::Asserts)];
        flagged.attention = attention(&flagged);
        let mut text = Vec::new();
        write_markdown(&mut text, &flagged).unwrap();
        let text = String::from_utf8(text).unwrap();
        let commands = format!(
            "  - `specify ralph restore --work-of T1 --feature specs/001-x`\n  \
             - right so: `specify ralph accept --feature specs/001-x T1`\n\
             - `T2` is done, but flagged. `1 assertion fewer` (iteration 2)\n  \
             - `specify ralph diff {session}:2`\n  \
             - right so: `specify ralph accept --feature specs/001-x T2`\n  \
             - else: `specify ralph reopen --feature specs/001-x T2`\n"
        );
        assert!(text.contains(&commands), "{text}");
    }

    #[test]
    fn foreign_text_stays_in_its_code_span() {
        for (text, expected) in [
            ("plain", "`plain`"),
            ("@user #12", "`@user #12`"),
            ("a Vec<String>", "<code>a Vec&lt;String&gt;</code>"),
            ("@a <b>&", "<code>&#64;a &lt;b&gt;&amp;</code>"),
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
            "<img src=https://evil.example/p.png> https://evil.example ![x](http://y) `a` **b** @user",
        ] {
            let line = format!("- [x] {} (1 attempt)", code(text));
            for event in Parser::new_ext(&line, Options::all()) {
                let is_element =
                    matches!(&event, Event::InlineHtml(tag) if ["<code>", "</code>"].contains(&&**tag));
                let is_markup = !is_element
                    && matches!(
                        event,
                        Event::Html(_)
                            | Event::InlineHtml(_)
                            | Event::Start(
                                Tag::Link { .. } | Tag::Image { .. } | Tag::Table(_) | Tag::Strong
                            )
                    );
                assert!(!is_markup, "{line}: {event:?}");
            }
        }
    }
}
