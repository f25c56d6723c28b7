//! A session as a summary for a pull request.
//!
//! Whatever comes from outside is in code spans or escaped: no host reads markup, tags, mentions, numbers of issues or
//! addresses in it.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::{Context, Result};
use minijinja::{Environment, UndefinedBehavior, Value, context};
use ralph_templates::SUMMARY;
use redact_stream::Redactor;
use tasklist::{Counts, TaskList};

use crate::ending::{BEGAN_RED, attempts, capital, cost};
use crate::local_time::local;
use crate::needs::files_and_lines;
use crate::review::Review;
use crate::style::{counted, cut, duration, grouped, in_runs, joined};
use ralph_core::judge::is_test_snapshot;
use ralph_core::record::{
    CleanVerdict, DiffStat, FileChange, Flag, FlagCode, FlaggedTask, Need, NeedKind, ObjectId,
    RALPH_ELSEWHERE, TaskName, join_truncated,
};

use super::Report;
use super::html_escape::one_line;

/// What every summary of ours begins and ends with, and no host shows. What people write around them is theirs.
pub const MARKDOWN: [&str; 2] = ["<!-- specify-ralph 1 -->", "<!-- /specify-ralph -->"];

/// Longest summary, in characters: hosts refuse descriptions of more than 65,536.
pub const MAX_SUMMARY_CHARS: usize = 60_000;

/// Longest quote, in characters, and where not even one each of what is never left out has room.
const QUOTE: usize = 120;
const SHORT_QUOTE: usize = 20;

/// Most paths in a line.
const MAX_NAMES: usize = 4;

/// What was done, of one session or of all on a branch, beside what a report says of the newest session.
#[derive(Debug, Default)]
pub struct Work {
    /// As it is at the end of the branch.
    pub tasks: TaskList,
    /// In the order of the list.
    pub done: Vec<DoneTask>,
    /// Of the last failures of open tasks.
    pub causes: BTreeMap<TaskName, String>,
    /// How many lines were added for open tasks and are not on the branch.
    pub unfinished: BTreeMap<TaskName, u64>,
    /// How many tests passed before the first attempt, and after the last success.
    pub tests: [Option<u64>; 2],
    /// The files that differ, without those of the loop.
    pub changed: Vec<FileChange>,
    /// How often which agent worked, with its model where that is known.
    pub agents: BTreeMap<String, usize>,
    pub dependencies: Vec<Dependency>,
    /// Commits of people after the last one of a task.
    pub later_commits: usize,
    /// Where the records are, if others can read them.
    pub records: Option<String>,
    /// The commands by which a receiver judges the branch.
    pub verify: Vec<String>,
}

/// A task that is done.
#[derive(Debug)]
pub struct DoneTask {
    pub name: TaskName,
    pub commit: Option<ObjectId>,
    /// `None` if its snapshots are not here.
    pub size: Option<DiffStat>,
    pub proof: Proof,
    /// How many attempts there were at it, with the one that did it.
    pub attempts: usize,
    /// Of that attempt.
    pub flags: Vec<Flag>,
}

/// What the tests say of a task that is done.
#[derive(Debug, PartialEq, Eq)]
pub enum Proof {
    /// These pass and did not before.
    Green(Vec<String>),
    /// So many more pass.
    More(u64),
    /// Source changed and no test, and no more tests pass than before.
    NoTest,
    /// It changed no source, or its tests were not counted.
    Unknown,
}

/// What the project needs and did not before.
#[derive(Debug)]
pub struct Dependency {
    pub name: String,
    pub version: String,
    /// The task that brought it, if it was only one.
    pub task: Option<TaskName>,
}

/// How texts from outside are written: without secrets first, then shortened, and none of it is Markdown of ours.
#[derive(Clone, Copy)]
struct Words<'a> {
    redactor: &'a Redactor,
    quote: usize,
}

impl Words<'_> {
    fn shown(self, text: &str) -> String {
        cut(&one_line(&self.redactor.redact_text(text).0), self.quote)
    }

    fn text(self, text: &str) -> String {
        escaped(&self.shown(text))
    }

    fn code(self, text: &str) -> String {
        code_span(&self.shown(text))
    }

    /// The same in a table, where a bar would end the cell also in code.
    fn cell(self, text: &str) -> String {
        self.code(text).replace('|', "\\|")
    }
}

/// Writes a summary of at most so many characters: rows of tasks go first, what is not done or to look at never.
pub fn write_markdown(
    out: &mut impl Write,
    report: &Report,
    work: &Work,
    redactor: &Redactor,
    max: usize,
) -> Result<()> {
    let [words, shorter] = [QUOTE, SHORT_QUOTE].map(|quote| Words { redactor, quote });
    let fits = |text: &String| text.chars().count() <= max;
    let all = text(report, work, work.done.len(), words)?;
    if fits(&all) {
        return Ok(writeln!(out, "{}", all.trim_end())?);
    }
    // The most rows that there is room for.
    let (mut least, mut over) = (0, work.done.len());
    while over - least > 1 {
        let middle = usize::midpoint(least, over);
        if fits(&text(report, work, middle, words)?) { least = middle } else { over = middle }
    }
    let cut = text(report, work, least, words)?;
    let cut = if fits(&cut) { cut } else { text(report, work, 0, shorter)? };
    Ok(writeln!(out, "{}", cut.trim_end())?)
}

fn text(report: &Report, work: &Work, rows: usize, words: Words<'_>) -> Result<String> {
    let review = Review::of(work.changed.iter());
    let look = look(report, work, &review, words);
    let shown = work.done.iter().take(rows).map(|task| row(task, report, work, words));
    let judged = judged(report, work, words);
    let session = &report.session;
    let records = match &work.records {
        Some(place) => format!("records at {}", words.code(place)),
        None => {
            format!(
                "`{RALPH_ELSEWHERE} report --session {}` shows all of it, where the records are",
                session.id
            )
        }
    };
    let later = match work.later_commits {
        0 => String::new(),
        some => format!(" {} after the last one of a task: not judged here.", counted(some as u64, "commit")),
    };
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let [mark, end] = MARKDOWN;
    let values = context! {
        mark,
        end,
        headline => headline(report, work, look.len()),
        look,
        beside => beside(report, work, words),
        rows => shown.collect::<Vec<_>>(),
        more => work.done.len().saturating_sub(rows),
        judged,
        session => format!("Session `{}`, {records}.{later}", session.id),
        facts => facts(report, work, &review, words),
        verify => &work.verify,
    };
    environment.render_str(SUMMARY, values).context("write the summary")
}

/// `11 of 15 tasks · 32 tests, 2 before · the result also passes in a clean checkout · 3 to look at · 3 not done`
fn headline(report: &Report, work: &Work, look: usize) -> String {
    let Counts { done, open } = work.tasks.counts();
    let tasks = counted((done + open) as u64, "task");
    let done = if open == 0 && done > 0 {
        format!("all {tasks}")
    } else {
        format!("{} of {tasks}", grouped(done as u64))
    };
    let [before, after] = work.tests;
    let tests = after.map(|after| {
        let before = before.map_or(String::new(), |before| format!(", {} before", grouped(before)));
        counted(after, "test") + &before
    });
    let holds = report.session.clean.as_ref().is_some_and(|check| check.verdict == CleanVerdict::Holds);
    let clean =
        (holds && work.later_commits == 0).then_some("the result also passes in a clean checkout".to_owned());
    let look = (look > 0).then(|| format!("{} to look at", grouped(look as u64)));
    let not_done = (open > 0).then(|| format!("{} not done", grouped(open as u64)));
    joined([Some(done), tests, clean, look, not_done], " · ").unwrap_or_default()
}

/// Rows for what decides whether the rest can be believed: flags with their places, and what needs a person and is no task.
fn look(report: &Report, work: &Work, review: &Review, words: Words<'_>) -> Vec<Value> {
    let mut rows = Vec::new();
    if report.session.began_red(report.session_totals().succeeded) {
        rows.push(context! { sign => "✘", place => "", what => capital(BEGAN_RED) });
    }
    let clean = report.session.clean.as_ref().filter(|check| check.verdict == CleanVerdict::Fails);
    if let Some(check) = clean {
        rows.push(context! { sign => "✘", place => "", what => words.text(&check.line()) });
    }
    for need in
        report.summary.needs_you.iter().filter(|need| need.task.is_none() || need.why == NeedKind::Gone)
    {
        let cause = need.cause.as_ref().map_or(String::new(), |cause| format!(": {cause}"));
        rows.push(
            context! { sign => "✘", place => "", what => words.text(&format!("{}{cause}", need.subject())) },
        );
    }
    for flagged in &report.summary.flagged {
        let sign = format!("⚑ {}", words.text(&flagged.task));
        let flags = flags_of(flagged, work);
        if flags.is_empty() {
            let codes = flagged.flags.iter().map(FlagCode::as_str).collect::<Vec<_>>().join(", ");
            let what = flagged.text.clone().unwrap_or(codes);
            rows.push(context! { sign => &sign, place => "", what => words.text(&what) });
        }
        for flag in flags {
            let place = flag.paths.first().map_or(String::new(), |path| words.cell(&place(path, &flag.text)));
            rows.push(context! { sign => &sign, place, what => words.text(&flag.text) });
        }
    }
    let flags = report.summary.flagged.iter().flat_map(|task| flags_of(task, work));
    let flagged: Vec<&String> = flags.flat_map(|flag| &flag.paths).collect();
    for path in review.settings.iter().filter(|path| !flagged.contains(path)) {
        rows.push(
            context! { sign => "", place => words.cell(path), what => "decides what runs, and was changed" },
        );
    }
    rows
}

/// Returns the flags of a task that still hold, if its record is among those that the work is of.
fn flags_of<'a>(flagged: &FlaggedTask, work: &'a Work) -> Vec<&'a Flag> {
    let done = work.done.iter().find(|done| done.name == flagged.task);
    let flags = done.iter().flat_map(|done| &done.flags);
    flags.filter(|flag| flagged.flags.contains(&flag.code)).collect()
}

/// `jest.config.js:12`, if the words name the line.
fn place(path: &str, text: &str) -> String {
    let line = text.split_once(&format!("{path}:")).map_or("", |(_, rest)| rest);
    let line: String = line.chars().take_while(char::is_ascii_digit).collect();
    if line.is_empty() { path.to_owned() } else { format!("{path}:{line}") }
}

/// What is asked, not done, not proven and new, a line each.
fn beside(report: &Report, work: &Work, words: Words<'_>) -> Vec<String> {
    let unfinished = |task: &str| match work.unfinished.get(task) {
        Some(lines) if *lines > 0 => {
            let are = if *lines == 1 { "is" } else { "are" };
            format!(" ({} {are} **not** in this branch)", counted(*lines, "unfinished line"))
        }
        _ => String::new(),
    };
    let mut lines: Vec<String> = Vec::new();
    let titled = |name: &str| {
        let title = work.tasks.find(name).map_or("", |item| item.text.as_str());
        words.text(format!("{name} {title}").trim_end())
    };
    let asks = |need: &&Need| need.why == NeedKind::Asks;
    for need in report.summary.needs_you.iter().filter(asks) {
        let (Some(task), Some(question)) = (&need.task, &need.cause) else { continue };
        lines.push(format!(
            "**Asked:** {} wants to know: *{}*{}",
            titled(task),
            words.text(question),
            unfinished(task)
        ));
    }
    let asked = |task: &str| {
        report.summary.needs_you.iter().any(|need| asks(&need) && need.task.as_deref() == Some(task))
    };
    let open = work.tasks.tasks().filter(|task| !task.done && !asked(&task.name)).map(|task| {
        let waits = report.summary.waiting.iter().find(|waiting| waiting.task == task.name);
        let why = match (work.causes.get(&task.name), waits) {
            (Some(cause), _) => Some(words.text(cause)),
            (None, Some(waiting)) => Some(format!("waits for {}", words.text(&waiting.dependency))),
            (None, None) => None,
        };
        let why = why.map_or(String::new(), |why| format!(" ({why})"));
        format!("{}{why}{}", titled(&task.name), unfinished(&task.name))
    });
    let names = |tasks: Vec<&str>| tasks.into_iter().map(|name| words.text(name)).collect::<Vec<_>>();
    let unproven = work.done.iter().filter(|task| task.proof == Proof::NoTest).map(|task| task.name.as_str());
    let snapshots = work.changed.iter().filter(|file| is_test_snapshot(&file.path));
    let snapshots: Vec<String> = snapshots.map(|file| words.code(&file.path)).collect();
    let snapshots = match snapshots.len() {
        0 => Vec::new(),
        some => vec![format!("{} ({})", grouped(some as u64), join_truncated(&snapshots, MAX_NAMES))],
    };
    let dependencies = work.dependencies.iter().map(|new| {
        let task = new.task.as_ref().map_or(String::new(), |task| format!(" ({})", words.text(task)));
        format!("{} {}{task}", words.code(&new.name), words.text(&new.version))
    });
    for (title, parts) in [
        ("Not done", open.collect()),
        ("No test proves", names(unproven.collect())),
        ("Snapshots changed", snapshots),
        ("New dependencies", dependencies.collect::<Vec<_>>()),
    ] {
        if !parts.is_empty() {
            lines.push(format!("**{title}:** {}", parts.join(", ")));
        }
    }
    lines
}

fn row(task: &DoneTask, report: &Report, work: &Work, words: Words<'_>) -> Value {
    let text = work.tasks.find(&task.name).map_or("", |item| item.text.as_str());
    let green = match &task.proof {
        Proof::Green(names) => {
            let more = names.len().saturating_sub(1);
            let more = if more > 0 { format!(", +{more}") } else { String::new() };
            names.first().map_or(String::new(), |name| words.cell(name)) + &more
        }
        Proof::More(more) => format!("+{more}"),
        Proof::NoTest => "no test".to_owned(),
        Proof::Unknown => "–".to_owned(),
    };
    let is_flagged = report.summary.flagged.iter().any(|flagged| flagged.task == task.name);
    let attempts = (task.attempts > 1).then(|| ordinal(task.attempts) + " attempt");
    let note = joined([is_flagged.then(|| "⚑".to_owned()), attempts], " ").unwrap_or_default();
    let size = task.size.map(|stat| format!("+{} −{}", grouped(stat.added), grouped(stat.removed)));
    let commit = task.commit.as_ref().map(|commit| format!("`{}`", commit.short()));
    let none = || "–".to_owned();
    context! {
        task => words.text(&format!("{} {text}", task.name)),
        commit => commit.unwrap_or_else(none),
        size => size.unwrap_or_else(none),
        green,
        note,
    }
}

/// `2nd`
fn ordinal(number: usize) -> String {
    let suffix = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{suffix}")
}

/// What ran before a task counted as done, in what, and who worked.
fn judged(report: &Report, work: &Work, words: Words<'_>) -> String {
    let session = &report.session;
    let command = report.summary.validation.as_ref().and_then(|now| now.command.as_deref());
    let tools = session.environment.as_ref().map(|environment| &environment.tools);
    let tools: Vec<String> =
        tools.into_iter().flatten().map(|(name, version)| words.text(&format!("{name} {version}"))).collect();
    let tools = if tools.is_empty() { String::new() } else { format!(" ({})", tools.join(", ")) };
    let before =
        command.map(|command| format!("{}{tools} before a task counts as done", words.code(command)));
    let clean = session.clean.as_ref().map(|check| {
        let setup = session.configuration["lanes.setup"].as_str().filter(|_| check.setup.is_some());
        let setup = setup.map_or(String::new(), |setup| format!(" after {}", words.code(setup)));
        let verdict = if check.verdict == CleanVerdict::Holds { "passes" } else { check.verdict.as_str() };
        format!("in a clean checkout at the end{setup}: {}", words.text(verdict))
    });
    let fence = session.sandbox.as_ref().map_or("no sandbox".to_owned(), |facts| words.text(&facts.text()));
    let agents = work
        .agents
        .iter()
        .map(|(name, runs)| format!("{} {}", words.text(name), counted(*runs as u64, "run")));
    let agents: Vec<String> = agents.collect();
    let agents = format!("agents: {}.", agents.join(", "));
    joined([before, clean, Some(fence), Some(agents)], "; ").unwrap_or_default()
}

/// What is known of the session beside, where it is known.
fn facts(
    report: &Report,
    work: &Work,
    review: &Review,
    words: Words<'_>,
) -> Vec<(&'static str, Option<String>)> {
    let Report { session, headline, totals, .. } = report;
    let caught = |numbers: &[u32]| (!numbers.is_empty()).then(|| counted(numbers.len() as u64, "attempt"));
    let changed = DiffStat::of(work.changed.iter().map(|file| (file.added, file.removed)));
    let all = report.session_totals();
    let cut_short: Vec<u32> = all.cut_short.iter().map(|cut| cut.iteration).collect();
    let worked = totals.duration_ms.agent.map(|ms| format!(", agents worked for {}", duration(ms)));
    let checked = totals.duration_ms.validation.map(|ms| format!(", validations ran for {}", duration(ms)));
    vec![
        ("Ended", Some(words.cell(&headline.verdict))),
        ("Course", Some(words.cell(&headline.course))),
        ("Feature", Some(words.cell(&session.feature))),
        (
            "Validation",
            report.summary.validation.as_ref().map(|now| words.cell(&now.words_at(&local(report.made_at)))),
        ),
        ("Attempts", Some(attempts(&all))),
        ("Said done, and was not", caught(&all.false_claims)),
        ("Cut short", caught(&cut_short)),
        (
            "From start to end",
            Some(
                duration(headline.worked_ms)
                    + &in_runs(session.totals.runs)
                    + &worked.unwrap_or_default()
                    + &checked.unwrap_or_default(),
            ),
        ),
        ("Changed", (!work.changed.is_empty()).then(|| files_and_lines(changed))),
        (
            "Tests",
            (review.tests.files > 0).then(|| format!("{}: review them first", files_and_lines(review.tests))),
        ),
        ("Settings", review.settings_words().map(|settings| words.cell(&settings))),
        ("Cost", cost(&all.cost)),
        ("Tokens", totals.tokens.total().map(grouped)),
        ("Clean checkout", session.clean.as_ref().map(|check| words.cell(&check.line()))),
        ("Secrets taken out", caught(&report.redacted())),
    ]
}

/// A line as a code span: fenced by more backticks than it has in a row. One that may have HTML in it is an element, in which
/// no sign is what it looks like in the source: not every host leaves code spans alone.
fn code_span(shown: &str) -> String {
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
    escaped(&cut(&one_line(text), QUOTE))
}

fn escaped(shown: &str) -> String {
    let mut escaped = String::with_capacity(shown.len());
    let mut chars = shown.chars().peekable();
    while let Some(c) = chars.next() {
        let is_short_code = c == ':' && chars.peek().is_some_and(|next| !next.is_whitespace());
        if "\\`*_{}[]<>#|~&@!$^".contains(c) || is_short_code {
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

#[cfg(test)]
mod tests {
    use pulldown_cmark::{Event, Options, Parser, Tag};

    use super::super::samples::{iterations, report};
    use super::*;

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

    /// So many tasks that are done, and one that is not, with a flag that has a place.
    fn worked(done: usize) -> (Report, Work) {
        let list: String =
            (0..done).map(|number| format!("- [x] T{number} Do it, and <b>well</b>\n")).collect();
        let tasks =
            TaskList::parse(format!("{list}- [ ] X1 Fail\n- [ ] X2 Never tried\n").as_bytes()).unwrap();
        let mut report = report(iterations("T1+"), "- [x] T1 One\n");
        report.summary.flagged = vec![FlaggedTask {
            task: "T1".to_owned(),
            session: report.session.id.clone(),
            iteration: Some(1),
            flags: vec![FlagCode::Config],
            text: Some("the first alone".to_owned()),
        }];
        let flag = |code, text: &str| Flag { code, text: text.to_owned(), paths: vec!["a|b.js".to_owned()] };
        let done = (0..done).map(|number| DoneTask {
            name: format!("T{number}"),
            commit: None,
            size: Some(DiffStat { files: 1, added: 1200, removed: 3 }),
            proof: if number == 0 {
                Proof::Green(vec!["`a` › b".to_owned(), "c".to_owned()])
            } else {
                Proof::NoTest
            },
            attempts: 12,
            flags: vec![
                flag(FlagCode::Config, "changed what runs (a|b.js:12)"),
                flag(FlagCode::Idle, "not now"),
            ],
        });
        let causes = [("X1".to_owned(), "expected key-abc123secret0987654321, <got> @you".to_owned())].into();
        let dependencies =
            vec![Dependency { name: "left-pad".to_owned(), version: "^1.0".to_owned(), task: None }];
        (
            report,
            Work {
                tasks,
                done: done.collect(),
                causes,
                dependencies,
                tests: [Some(1), Some(1200)],
                ..Work::default()
            },
        )
    }

    fn written(report: &Report, work: &Work, max: usize) -> String {
        let redactor = Redactor::new(&["key-[a-z0-9]+".to_owned()], &[]).unwrap();
        let mut bytes = Vec::new();
        write_markdown(&mut bytes, report, work, &redactor, max).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn what_decides_comes_first_and_foreign_words_are_text() {
        let (report, work) = worked(2);
        let text = written(&report, &work, MAX_SUMMARY_CHARS);
        for part in [
            "<!-- specify-ralph 1 -->\n**2 of 4 tasks · 1,200 tests, 1 before · 1 to look at · 2 not done**\n\n### Look here first\n",
            "| ⚑ T1 | `a\\|b.js:12` | changed what runs (a\\|b.js\\:12) |\n",
            "\n**No test proves:** T1\n",
            "\n**New dependencies:** `left-pad` \\^1.0\n",
            "| T0 Do it, and \\<b\\>well\\</b\\> | – | +1,200 −3 | `` `a` › b ``, +1 | 12th attempt |\n",
            "| no test | ⚑ 12th attempt |\n",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        assert!(
            !text.contains("not now") && !text.contains("the first alone") && !text.contains("secret"),
            "{text}"
        );
        assert!(
            text.contains("**Not done:** X1 Fail (expected ") && text.contains(", X2 Never tried\n"),
            "{text}"
        );
    }

    #[test]
    fn rows_of_tasks_go_first_and_what_is_not_done_never() {
        let (report, work) = worked(2000);
        let all = written(&report, &work, usize::MAX);
        for max in [all.chars().count(), MAX_SUMMARY_CHARS, 20_000, 500] {
            let text = written(&report, &work, max);
            assert!(max == 500 || text.chars().count() <= max + 1, "{max}");
            assert_eq!(text == all, max > MAX_SUMMARY_CHARS);
            for part in [
                "| ⚑ T1 |",
                "**Not done:** X1 Fail (",
                ", X2 Never tried\n",
                "T1999",
                "<!-- /specify-ralph -->\n",
            ] {
                assert!(text.contains(part), "{part} in {max}");
            }
        }
        let cut = written(&report, &work, MAX_SUMMARY_CHARS);
        assert!(cut.chars().count() > MAX_SUMMARY_CHARS - 200, "as many rows as there is room for");
        let rows = cut.matches("| 12th attempt |").count() + cut.matches("| ⚑ 12th attempt |").count();
        assert!(
            cut.contains(&format!("| … {} more |", grouped(2000 - rows as u64)))
                || cut.contains(&format!("| … {} more |", 2000 - rows))
        );
    }

    #[test]
    fn ordinals_are_as_people_say_them() {
        for (number, expected) in [
            (1, "1st"),
            (2, "2nd"),
            (3, "3rd"),
            (4, "4th"),
            (11, "11th"),
            (13, "13th"),
            (22, "22nd"),
            (112, "112th"),
        ] {
            assert_eq!(ordinal(number), expected);
        }
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
            assert_eq!(code_span(&one_line(text)), expected);
        }
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
            let line = format!("- [x] {} (1 attempt)", code_span(&one_line(text)));
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
