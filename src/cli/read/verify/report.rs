//! What `verify TARGET..HEAD` found, for people, programs and the page of a CI job.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::Result;
use camino::Utf8PathBuf;
use failure_excerpt::Tally;
use serde_json::{Value, json};

use ralph_core::config::REFUSALS;
use ralph_core::judge::range::CommitProof;
use ralph_core::record::{CleanVerdict, Flag, ObjectId, RALPH, quoted_for_shell};
use ralph_engine::{JudgedCommit, RangeAnswer, RangeFailure};
use ralph_ui::report::markdown_text;
use ralph_ui::style::{Look, Paint, Screen, counted, cut, duration, one_line, padded};

use super::VerifyArgs;
use crate::cli::pager::screen;
use crate::cli::start::proposal::Proposal;
use crate::cli::{Context, ExitCode, emit};

/// What a person reads at once.
const MAX_LINES: usize = 40;

/// Columns of a line, also where a program reads it: it is pasted into mails and comments.
const WIDTH: usize = 80;

/// Columns of the subject of a commit.
const SUBJECT: usize = 36;

/// Maximum number of bytes of Markdown: hosts take a mebibyte of a job.
const MAX_MARKDOWN_BYTES: usize = 900 << 10;

/// An end of a range.
#[derive(Debug, Clone)]
pub struct Side {
    pub name: String,
    pub id: ObjectId,
}

/// A range that was judged, and how.
pub struct Judged {
    pub target: Side,
    pub head: Side,
    /// As it was typed.
    pub range: String,
    pub command: String,
    pub setup: Option<String>,
    /// The sandbox.
    pub guard: Option<String>,
    pub is_offline: bool,
    pub is_in_ci: bool,
    /// Of the tools that the command names, here; if the target fails.
    pub versions: Option<BTreeMap<String, String>>,
    /// What a file of the target suggests instead of the command.
    pub suggested: Option<Proposal>,
    pub answer: RangeAnswer,
    pub duration_ms: u64,
    pub outputs: Utf8PathBuf,
    /// The folder in which a person reads it.
    pub start: Utf8PathBuf,
}

pub fn report(judged: &Judged, args: &VerifyArgs, context: &Context) -> Result<ExitCode> {
    let code = match judged.answer.verdict() {
        CleanVerdict::Holds if args.fail_on_flags && !judged.answer.flags.is_empty() => ExitCode::Stuck,
        CleanVerdict::Holds => ExitCode::Done,
        CleanVerdict::Fails => ExitCode::Stuck,
        CleanVerdict::Unusable | CleanVerdict::Later(_) => ExitCode::Unusable,
    };
    let screen = Screen { width: screen(context).width.min(WIDTH), ..screen(context) };
    emit(args.json, &judged.to_json(), |out| {
        if args.markdown {
            let mut text = judged.markdown();
            text.truncate(text.floor_char_boundary(MAX_MARKDOWN_BYTES));
            return write!(out, "{text}");
        }
        judged.lines(screen, args).iter().try_for_each(|line| writeln!(out, "{line}"))
    })?;
    Ok(code)
}

impl Judged {
    /// The verdict, on one line.
    fn headline(&self) -> String {
        let answer = &self.answer;
        let look = match (answer.flags.len(), answer.reasons.len()) {
            (0, _) => None,
            (1, 0) => Some("1 thing to look at".to_owned()),
            (count, 0) => Some(format!("{count} things to look at")),
            (count, _) => Some(format!("{count} more to look at")),
        };
        match answer.verdict() {
            CleanVerdict::Holds => {
                let guarded = if self.guard.is_some() { "holds" } else { "holds, unguarded" };
                let tasks = (answer.tasks > 0).then(|| counted(answer.tasks as u64, "task"));
                let [before, after] =
                    [&answer.before, &answer.after].map(|tried| tried.as_ref().map(|tried| &tried.run.tests));
                let known = after.filter(|tests| tests.failed.unwrap_or(0) > 0).map(|tests| {
                    let failed = tests.failed.unwrap_or(0);
                    format!(
                        "{failed} {} as in {}",
                        if failed == 1 { "fails" } else { "fail" },
                        self.target.name()
                    )
                });
                let parts = [Some(tests_words(before, after)), known, tasks, look];
                format!("{guarded}: {}", parts.into_iter().flatten().collect::<Vec<_>>().join(" · "))
            }
            CleanVerdict::Fails => {
                let reasons = counted(answer.reasons.len() as u64, "reason");
                format!(
                    "fails: {}",
                    [Some(reasons), look].into_iter().flatten().collect::<Vec<_>>().join(", ")
                )
            }
            CleanVerdict::Unusable if answer.is_target_red => {
                let name = self.target.name();
                format!("unusable: {name} itself does not pass here, so nothing can be said of the range")
            }
            CleanVerdict::Unusable | CleanVerdict::Later(_) => {
                format!("unusable: {}", one_line(answer.unusable.as_deref().unwrap_or_default()))
            }
        }
    }

    fn by(&self) -> Vec<String> {
        let setup = self.setup.as_ref().map_or(String::new(), |setup| format!("{}, then ", one_line(setup)));
        let offline = if self.is_offline { ", tests offline" } else { "" };
        let guard = self.guard.as_ref().map(|guard| format!("in {guard}{offline}"));
        let settings = format!("{}'s settings: {setup}{}", self.target.name(), one_line(&self.command));
        [Some(settings), guard].into_iter().flatten().collect()
    }

    fn lines(&self, screen: Screen, args: &VerifyArgs) -> Vec<String> {
        let answer = &self.answer;
        let verdict = answer.verdict();
        let look = if verdict == CleanVerdict::Holds { Look::Good } else { Look::Bad };
        let headline = self.headline();
        let word = headline.split(':').next().unwrap_or_default().to_owned();
        let mut lines = screen.paint_start(look, &word, screen.hanging("", &headline));
        if verdict == CleanVerdict::Holds && self.guard.is_none() {
            lines.push("  No sandbox: the code that was judged could have changed this result.".to_owned());
        }
        lines.push(String::new());
        if verdict == CleanVerdict::Unusable {
            lines.extend(self.why_unusable(screen));
            return lines;
        }
        let width = answer.reasons.iter().map(|reason| reason.code.len());
        let width = width.chain(answer.flags.iter().map(|flag| flag.code.as_str().len())).max().unwrap_or(0);
        if verdict == CleanVerdict::Holds {
            let merge = format!(
                "the merge of {} {} and {} {}",
                self.target.name(),
                self.target.id.short(),
                self.head.name(),
                self.head.id.short()
            );
            lines.extend(screen.hanging("  judged   ", &merge));
            lines.extend(screen.parts("  by       ", &self.by()));
            lines.extend(self.of_before().iter().flat_map(|words| screen.hanging("  before   ", words)));
            if !answer.flags.is_empty() {
                lines.extend([String::new(), screen.paint(Look::Bold, "LOOK")]);
            }
        }
        for RangeFailure { code, text, details } in &answer.reasons {
            let lead = format!("✘ {}   ", padded(&one_line(code), width));
            lines.extend(screen.paint_start(Look::Bad, "✘", screen.hanging(&lead, &one_line(text))));
            let indent = " ".repeat(width + 5);
            lines.extend(details.iter().flat_map(|detail| screen.hanging(&indent, &one_line(detail))));
        }
        if !answer.reasons.is_empty() && !answer.flags.is_empty() {
            lines.push(String::new());
        }
        for Flag { code, text, .. } in &answer.flags {
            let lead = format!("⚑ {}   ", padded(code.as_str(), width));
            lines.extend(screen.paint_start(Look::Warn, "⚑", screen.hanging(&lead, &one_line(text))));
        }
        let end = self.end(screen, args);
        if verdict == CleanVerdict::Holds && args.prove {
            lines.push(String::new());
            let room = MAX_LINES.saturating_sub(lines.len() + end.len() + 1).max(1);
            let proven: Vec<&JudgedCommit> =
                answer.commits.iter().filter(|judged| judged.proof.is_some()).collect();
            lines.extend(proven.iter().take(room).map(|judged| row(judged)));
            let more = proven.len().saturating_sub(room);
            lines.extend((more > 0).then(|| format!("  … {more} more: --json")));
        }
        lines.extend(end);
        lines
    }

    /// How the tests of before do on the new source.
    fn of_before(&self) -> Option<String> {
        let old = self.answer.old_tests.as_ref()?;
        let tests = &old.tests;
        let name = self.target.name();
        let Some(count) = tests.executed().filter(|count| *count > 0) else {
            let pass = if old.passed { "pass" } else { "do not pass" };
            return Some(format!("the tests of {name}, on the new source: they {pass}"));
        };
        let failed = tests.failed.unwrap_or(0);
        let passed = tests.passed.unwrap_or(count - failed.min(count));
        let changed = if failed == 1 { "1 was changed".to_owned() } else { format!("{failed} were changed") };
        let changed = if old.passed { String::new() } else { format!(", {changed}") };
        let passed = if old.passed && failed == 0 { "all".to_owned() } else { passed.to_string() };
        Some(format!("the {} of {name}, on the new source: {passed} pass{changed}", counted(count, "test")))
    }

    fn why_unusable(&self, screen: Screen) -> Vec<String> {
        let answer = &self.answer;
        let mut lines = Vec::new();
        if answer.is_target_red {
            let exit = answer.before.as_ref().and_then(|tried| tried.exit).filter(|code| *code > 0);
            let exit = exit
                .map_or(String::new(), |code| format!("{} exited with {code}: ", one_line(&self.command)));
            let lead = format!("  {} {}   ", self.target.name(), self.target.id.short());
            let cause = one_line(answer.unusable.as_deref().unwrap_or_default());
            lines.extend(screen.hanging(&lead, &format!("{exit}{cause}")));
            let versions = self.versions.iter().flatten();
            let mut here: Vec<String> =
                versions.map(|(name, version)| version_words(name, &one_line(version))).collect();
            if !self.is_in_ci {
                here.push("CI not set".to_owned());
            }
            lines.extend(screen.hanging("  here   ", &here.join(", ")));
            let mut tries: Vec<String> = Vec::new();
            tries.extend(
                self.suggested.map(|(named, file)| format!("{file} suggests another: --validate '{named}'")),
            );
            let setup = answer.suggested_setup;
            tries.extend(setup.map(|(lock, setup)| {
                format!("set lanes.setup: {lock} suggests --set lanes.setup='{setup}'")
            }));
            if !tries.is_empty() {
                lines.extend(screen.hanging("  try    ", &tries.join("; or ")));
            }
        }
        lines.push("  Nothing of the range was run.".to_owned());
        lines.push(self.costs());
        lines
    }

    fn end(&self, screen: Screen, args: &VerifyArgs) -> Vec<String> {
        let answer = &self.answer;
        let mut lines = Vec::new();
        if answer.verdict() == CleanVerdict::Fails {
            lines.extend(screen.hanging("  ", &format!("judged by {}", self.by().join(" · "))));
        }
        let said = answer.commits.iter().filter(|judged| judged.commit.says_passed);
        let ran = said.clone().filter(|judged| judged.tests.is_some()).count();
        let said = said.count();
        let words = match said {
            0 => None,
            _ if !answer.reasons.is_empty() => {
                let rest = said.saturating_sub(ran);
                let commits = counted(rest as u64, "commit");
                (rest > 0).then(|| format!("not run alone: {commits}. What fails first is enough."))
            }
            said => {
                let commits = if said == 1 {
                    "1 commit says that it".to_owned()
                } else {
                    format!("{said} commits say that they")
                };
                let were = if ran == 1 { "1 was" } else { &format!("{ran} were") };
                let all = if ran < said && !args.commits { " (--commits: all)" } else { "" };
                let they = if ran == 1 { "does" } else { "do" };
                Some(format!("{commits} passed: {were} run alone, and {they}{all}"))
            }
        };
        lines.push(String::new());
        lines.extend(words.iter().flat_map(|words| screen.hanging("", words)));
        lines.push(self.costs());
        let codes = answer.reasons.iter().map(|reason| reason.code.as_str());
        let codes: Vec<&str> = codes.filter(|code| REFUSALS.contains(code)).collect();
        if !codes.is_empty() {
            let allow: String = codes.iter().map(|code| format!(" --allow {code}")).collect();
            lines.extend([
                String::new(),
                format!("right so?  {RALPH} verify {}{allow}", quoted_for_shell(&self.range)),
            ]);
        }
        lines
    }

    fn costs(&self) -> String {
        let runs = counted(u64::from(self.answer.runs), "run");
        let outputs = self.outputs.strip_prefix(&self.start).unwrap_or(&self.outputs);
        format!("{runs}, {} · outputs: {outputs}", duration(self.duration_ms))
    }

    fn to_json(&self) -> Value {
        let answer = &self.answer;
        let tests = |tried: &Option<ralph_engine::Tried>| {
            tried.as_ref().map(|tried| {
                json!({ "tests": tried.run.tests, "setup": tried.setup, "exit": tried.exit, "cause": tried.run.cause })
            })
        };
        let commits = answer.commits.iter().map(|JudgedCommit { commit, tests, proof }| {
            json!({
                "commit": commit.id, "subject": commit.subject, "task": Some(&commit.task).filter(|task| !task.is_empty()),
                "says_passed": commit.says_passed, "tests": tests, "proof": proof.as_ref().map(ToString::to_string),
                "proven_by": match proof { Some(CommitProof::Tests { names, .. }) => names.as_slice(), _ => &[] },
            })
        });
        let reasons = answer.reasons.iter().map(
            |RangeFailure { code, text, details }| json!({ "code": code, "text": text, "details": details }),
        );
        json!({
            "target": { "name": self.target.name, "commit": self.target.id },
            "head": { "name": self.head.name, "commit": self.head.id },
            "tree": answer.merged,
            "verdict": answer.verdict(),
            "cause": answer.unusable,
            "sandbox": self.guard,
            "command": self.command,
            "setup": self.setup,
            "reasons": reasons.collect::<Vec<_>>(),
            "flags": answer.flags,
            "before": tests(&answer.before),
            "after": tests(&answer.after),
            "old_tests": answer.old_tests.as_ref().map(|old| json!({ "passed": old.passed, "tests": old.tests })),
            "tasks": answer.tasks,
            "commits": commits.collect::<Vec<_>>(),
            "dependencies": answer.dependencies,
            "runs": answer.runs,
            "duration_ms": self.duration_ms,
            "outputs": self.outputs,
        })
    }

    /// The same for the page of a job: nothing of the range is Markdown of ours.
    fn markdown(&self) -> String {
        let answer = &self.answer;
        let mut text = format!("**{}**\n", markdown_text(&self.headline()));
        if answer.verdict() == CleanVerdict::Unusable {
            let screen = Screen { paint: Paint::Plain, width: usize::MAX };
            for line in self.why_unusable(screen) {
                text.push_str(&format!("\n{}\n", markdown_text(line.trim())));
            }
            return text;
        }
        if !answer.reasons.is_empty() || !answer.flags.is_empty() {
            text.push_str("\n| | where | what |\n|---|---|---|\n");
        }
        for RangeFailure { code, text: words, details } in &answer.reasons {
            let details: String =
                details.iter().map(|detail| format!("<br>{}", markdown_text(detail))).collect();
            text.push_str(&format!("| ✘ {} | | {}{details} |\n", markdown_text(code), markdown_text(words)));
        }
        for Flag { code, text: words, paths } in &answer.flags {
            let place = paths.first().map_or(String::new(), |path| markdown_text(path));
            text.push_str(&format!("| ⚑ {} | {place} | {} |\n", code.as_str(), markdown_text(words)));
        }
        let proven: Vec<String> = answer
            .commits
            .iter()
            .filter_map(|judged| {
                let (commit, proof) = (&judged.commit, judged.proof.as_ref()?);
                Some(format!("| {} | {} | {} |\n", commit.id.short(), markdown_text(&commit.subject), proof))
            })
            .collect();
        if !proven.is_empty() {
            text.push_str(&format!("\n| commit | | proven |\n|---|---|---|\n{}", proven.concat()));
        }
        let before = self.of_before().map_or(String::new(), |words| format!("{}\n\n", markdown_text(&words)));
        text.push_str(&format!(
            "\n{before}{}\n",
            markdown_text(&format!("Judged by {}", self.by().join(" · ")))
        ));
        text
    }
}

impl Side {
    fn name(&self) -> String {
        one_line(&self.name)
    }
}

/// `41 tests pass, 33 before`, or what is known.
fn tests_words(before: Option<&Tally>, after: Option<&Tally>) -> String {
    let words = |tests: Option<&Tally>| {
        let tests = tests?;
        let executed = tests.executed().filter(|count| *count > 0)?;
        let passed = tests.passed.unwrap_or(executed);
        Some(if passed == executed {
            counted(executed, "test")
        } else {
            format!("{passed} of {}", counted(executed, "test"))
        })
    };
    let Some(now) = words(after) else { return "the validation passes".to_owned() };
    let pass = if now == "1 test" { "passes" } else { "pass" };
    match words(before) {
        Some(before) => {
            format!("{now} {pass}, {} before", before.trim_end_matches(" tests").trim_end_matches(" test"))
        }
        None => format!("{now} {pass}"),
    }
}

/// `node 20.20.2`, as programs say it in many ways.
fn version_words(name: &str, said: &str) -> String {
    let number = said
        .split_whitespace()
        .find(|word| word.contains('.') && word.contains(|c: char| c.is_ascii_digit()));
    number.map_or_else(|| said.to_owned(), |number| format!("{name} {}", number.trim_start_matches('v')))
}

/// A commit, and what proves it.
fn row(judged: &JudgedCommit) -> String {
    let commit = &judged.commit;
    let task = if commit.task.is_empty() { "-" } else { &commit.task };
    let subject = one_line(&commit.subject);
    let subject = subject.strip_prefix(task).map_or(subject.as_str(), str::trim_start);
    let subject = padded(&cut(subject, SUBJECT), SUBJECT);
    let proof = judged.proof.as_ref().map(ToString::to_string).unwrap_or_default();
    format!("  {}  {}  {subject} {proof}", padded(&one_line(task), 4), commit.id.short())
}
