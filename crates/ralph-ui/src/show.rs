//! One iteration, for reading.

use std::io::{self, Write};

use ralph_core::record::{
    ExitReason, Iteration, LeftOut, Outcome, SecondRun, StreamCounts, Tokens, join_truncated,
};

use super::evidence::{FLAG, compared};
use super::left_behind;
use super::local_time::local_with_offset;
use super::markdown::render;
use super::style::{Count, Look, Paint, cut, duration, grouped, one_line, sign};

/// How many tool calls are listed.
const TOOL_CALLS: usize = 20;

/// Longest line of what an agent said of its failure, in characters.
const ERROR: usize = 300;

/// How many lines of the agent's last words are shown.
const MESSAGE_LINES: usize = 60;

/// How many files are named that a snapshot or commit leaves out.
const LEFT_OUT: usize = 20;

/// How many tests, files or tasks a line names.
const MAX_NAMED: usize = 10;

/// What is shown of an iteration.
#[derive(Debug, Clone, Copy)]
pub struct IterationDetails<'a> {
    pub iteration: &'a Iteration,
    pub commit: &'a str,
    /// Its entry in progress.txt.
    pub entry: &'a str,
    /// What the agent said last.
    pub final_message: &'a str,
    /// The first iteration of the session that failed in the same way.
    pub repeated: Option<u32>,
    /// What became of its task: `given up after this attempt`, `done in #31`.
    pub afterwards: Option<&'a str>,
}

/// The facts, what the agent said last, the entry of progress.txt, and how to see the rest.
pub fn write(out: &mut dyn Write, found: &IterationDetails<'_>, paint: Paint) -> io::Result<()> {
    let IterationDetails { iteration, entry, final_message, .. } = *found;
    let (look, mark) = sign(iteration.outcome);
    let head = format!("{mark} iteration {}: {}", iteration.iteration, one_line(&title(iteration)));
    writeln!(out, "{}", paint.paint(look, &head))?;
    for (name, value) in facts(found) {
        writeln!(out, "{} {value}", paint.paint(Look::Dim, &format!("{name:<11}")))?;
    }
    write_tool_calls(out, iteration, paint)?;
    write_message(out, final_message, paint)?;
    for (title, items) in lists(iteration, entry) {
        writeln!(out, "\n{}", paint.paint(Look::Dim, title))?;
        let items: String = items.iter().map(|item| format!("- {}\n", one_line(item))).collect();
        write_indented(out, &render(&items, paint))?;
    }
    writeln!(out, "\n{}", render(&as_sections(entry, iteration, final_message), paint))?;
    writeln!(
        out,
        "\n{}",
        paint.paint(
            Look::Dim,
            "more: --patch what it changed; --prompt, --agent, --agent-stderr, --stdout, --stderr, --tasks the stored bytes; --json the record"
        )
    )
}

/// Returns its story, but for a cause that has a line of its own.
fn title(iteration: &Iteration) -> String {
    match (&iteration.task, &iteration.cause, iteration.outcome) {
        (Some(task), Some(_), Outcome::Failure) => format!("{task} failed"),
        _ => iteration.story(),
    }
}

type Facts = Vec<(&'static str, String)>;

/// Returns all that is known of it in a line each, safe on a terminal.
pub fn facts(found: &IterationDetails<'_>) -> Facts {
    let mut facts = main_facts(found);
    facts.extend(further_facts(found.iteration));
    facts
}

/// What was done, by whom, and how it ended.
fn main_facts(found: &IterationDetails<'_>) -> Facts {
    let IterationDetails { iteration, commit, repeated, .. } = *found;
    let mut facts = vec![
        ("session", format!("{} on {}", iteration.session, one_line(&iteration.feature))),
        ("commit", commit.to_owned()),
    ];
    if let Some(task) = &iteration.task {
        let text = iteration.task_text.as_deref().unwrap_or_default();
        facts.push(("task", format!("{} {}", one_line(task), cut(&one_line(text), 100))));
    }
    facts.extend(found.afterwards.map(|words| ("afterwards", one_line(words))));
    facts.extend(iteration.cause.as_ref().map(|cause| ("cause", one_line(cause))));
    // No agent runs for the record of a skip.
    if iteration.outcome != Outcome::Skipped {
        let model =
            iteration.model.as_deref().map_or(String::new(), |model| format!(" ({})", one_line(model)));
        let how = end(iteration, iteration.exit.agent, iteration.duration_ms.agent);
        facts.push(("agent", format!("{}{model}{how}", one_line(&iteration.agent))));
    }
    // A cause that has the agent's own words needs no second line for them.
    let is_new =
        |words: &&String| iteration.cause.as_ref().is_none_or(|cause| !cause.contains(words.as_str()));
    facts
        .extend(iteration.error.as_ref().filter(is_new).map(|words| ("error", cut(&one_line(words), ERROR))));
    if let Some(command) = &iteration.validation_command {
        let end = end(iteration, iteration.exit.validation, iteration.duration_ms.validation);
        facts.push(("validation", format!("{}{end}", one_line(command))));
    }
    let again = repeated.map(|first| format!("same failure as iteration {first}"));
    let said: Vec<String> = iteration.fingerprint.as_deref().map(one_line).into_iter().chain(again).collect();
    if !said.is_empty() {
        let name = if iteration.fingerprint.is_some() { "fingerprint" } else { "repeated" };
        facts.push((name, said.join(", ")));
    }
    facts
}

/// What it took, what it left out, and what was found in its outputs.
fn further_facts(iteration: &Iteration) -> Facts {
    let mut facts = Facts::new();
    if !iteration.tokens.is_unknown() {
        facts.push(("tokens", tokens(&iteration.tokens)));
    }
    facts.extend(iteration.cost().shown().map(|cost| ("cost", cost)));
    facts.push(("ended", local_with_offset(iteration.ended_at)));
    facts.extend(iteration.stream.and_then(StreamCounts::complaint).map(|words| ("stream", words)));
    facts.extend(iteration.uncommitted.as_ref().map(|reason| ("uncommitted", cut(&one_line(reason), ERROR))));
    facts.extend(judged(iteration));
    facts.extend(left_behind::lines(iteration).iter().map(|line| ("left", one_line(line))));
    facts.extend(iteration.restoration().map(|line| ("restored", one_line(&line))));
    if !iteration.left_out.is_empty() {
        let left = |left: &LeftOut| format!("{} ({})", left.path, left.reason);
        let left: Vec<String> = iteration.left_out.iter().map(left).collect();
        facts.push(("left out", one_line(&join_truncated(&left, LEFT_OUT))));
    }
    if !iteration.false_claim.is_empty() {
        let ticked = iteration.claims.ticked.join(", ");
        let promise = if iteration.claims.promise { "that all is done" } else { "" };
        let said: Vec<&str> =
            [ticked.as_str(), promise].into_iter().filter(|text| !text.is_empty()).collect();
        facts.push(("claimed", format!("{}, which was not true", one_line(&said.join(" and ")))));
    }
    for (name, values) in &iteration.facts.captured {
        let values = cut(&one_line(&values.join(", ")), ERROR);
        facts.push(("captured", format!("{} = {values}", one_line(name))));
    }
    facts
}

/// What it was judged by.
fn judged(iteration: &Iteration) -> Facts {
    let mut facts = Facts::new();
    if let Some(evidence) = &iteration.evidence {
        facts.extend(compared(evidence).map(|tests| ("tests", tests)));
        let known = evidence.tests.as_ref().and_then(|tests| tests.failing.as_ref());
        let failing = known.filter(|names| !names.is_empty());
        facts.extend(failing.map(|names| ("failing", one_line(&join_truncated(names, MAX_NAMED)))));
        facts.extend(evidence.refused.map(|code| ("refused", code.to_string())));
        facts.extend(evidence.flags.iter().map(|flag| ("flags", format!("{FLAG} {}", one_line(&flag.text)))));
        facts.extend(evidence.second.as_ref().map(|second| ("second run", second_run(second))));
        let accepted = evidence.accepted.as_ref();
        facts.extend(accepted.map(|accepted| {
            ("accepted", format!("by {}, {}", one_line(&accepted.by), local_with_offset(accepted.at)))
        }));
    }
    if !iteration.reopened.is_empty() {
        facts.push(("reopened", one_line(&join_truncated(&iteration.reopened, MAX_NAMED))));
    }
    facts
}

/// Why the validation ran again, and how that ended.
fn second_run(second: &SecondRun) -> String {
    let files = second.paths.as_deref().filter(|paths| !paths.is_empty());
    let why = match files {
        Some(paths) => format!("with {} as before", one_line(&join_truncated(paths, MAX_NAMED))),
        None => "of the same tree".to_owned(),
    };
    format!("{why}, exit {}", second.exit)
}

/// The agent's last words, as far as they are short.
fn write_message(out: &mut dyn Write, message: &str, paint: Paint) -> io::Result<()> {
    let rendered = render(message, paint);
    if rendered.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", paint.paint(Look::Dim, "final message"))?;
    let count = rendered.lines().count();
    let shown: Vec<&str> = rendered.lines().take(MESSAGE_LINES).collect();
    write_indented(out, &shown.join("\n"))?;
    if count > MESSAGE_LINES {
        let rest = Count((count - MESSAGE_LINES) as u64, "more line");
        writeln!(out, "  {}", paint.paint(Look::Dim, &format!("… {rest}: --agent has all")))?;
    }
    Ok(())
}

/// What the agent learned, decided and tried, where its entry does not say it.
fn lists<'a>(iteration: &'a Iteration, entry: &str) -> impl Iterator<Item = (&'static str, &'a Vec<String>)> {
    let all = [
        ("learnings", "**Learnings**", &iteration.learnings),
        ("decisions", "**Decisions**", &iteration.decisions),
        ("tried", "**Tried**", &iteration.approaches),
    ];
    let is_missing = |heading: &str, items: &Vec<String>| !items.is_empty() && !entry.contains(heading);
    let missing: Vec<_> = all.into_iter().filter(|(_, heading, items)| is_missing(heading, items)).collect();
    missing.into_iter().map(|(title, _, items)| (title, items))
}

/// Returns an entry of progress.txt without what is shown above it, and with a blank line before each heading, as Markdown wants it.
///
/// If no validation failed, the excerpt of an entry is the end of the final message.
fn as_sections(entry: &str, iteration: &Iteration, final_message: &str) -> String {
    const SHOWN: [&str; 7] = [
        "## Iteration ",
        "**Task**:",
        "**Status**:",
        "**Flags**:",
        "**Cause**:",
        "**Validation**:",
        "**Restored**:",
    ];
    let entry = entry.trim_end().trim_end_matches("---");
    let (head, excerpt) = entry.split_at(entry.find("\n```").unwrap_or(entry.len()));
    let lines = head.lines().filter(|line| !SHOWN.iter().any(|shown| line.starts_with(shown)));
    let head: String = lines
        .map(|line| if line.starts_with("**") { format!("\n{line}\n") } else { format!("{line}\n") })
        .collect();
    let head = head.replace("\n**Learnings**:\n- none\n", "");
    match iteration.exit.validation {
        Some(code) if code != 0 && says_more(excerpt, iteration) => {
            format!("{head}\n**Output of the validation**:\n{excerpt}")
        }
        Some(code) if code != 0 => head,
        _ if final_message.trim().is_empty() => format!("{head}{excerpt}"),
        _ => head,
    }
}

/// Returns true if an excerpt has more than the line that is the cause.
fn says_more(excerpt: &str, iteration: &Iteration) -> bool {
    let mut lines =
        excerpt.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("```"));
    let (first, rest) = (lines.next(), lines.next());
    rest.is_some() || first.is_some() && first != iteration.cause.as_deref().map(str::trim)
}

fn write_indented(out: &mut dyn Write, text: &str) -> io::Result<()> {
    text.lines().try_for_each(|line| writeln!(out, "{}", format!("  {line}").trim_end()))
}

fn tokens(tokens: &Tokens) -> String {
    let number = |value: Option<u64>| value.map_or("?".to_owned(), grouped);
    format!(
        "input {}, cache read {}, cache write {}, output {}",
        number(tokens.input),
        number(tokens.cache_read),
        number(tokens.cache_write),
        number(tokens.output)
    )
}

fn write_tool_calls(out: &mut dyn Write, iteration: &Iteration, paint: Paint) -> io::Result<()> {
    if iteration.tool_calls.is_empty() {
        return Ok(());
    }
    let count = Count(iteration.tool_calls.len() as u64, "tool call").to_string();
    writeln!(out, "{}", paint.paint(Look::Dim, &count))?;
    for call in iteration.tool_calls.iter().take(TOOL_CALLS) {
        let failed = if call.is_error { " failed" } else { "" };
        let line = format!("{}{failed} {}", one_line(&call.tool_name), one_line(&call.arguments_summary));
        writeln!(out, "  {}", cut(&line, 110))?;
        let result = one_line(&call.result_summary);
        if !result.is_empty() {
            writeln!(out, "    {}", paint.paint(Look::Dim, &cut(&result, 106)))?;
        }
    }
    Ok(())
}

fn end(iteration: &Iteration, code: Option<i32>, milliseconds: Option<u64>) -> String {
    let after = milliseconds.map_or(String::new(), |time| format!(" after {}", duration(time)));
    match (code, &iteration.exit_reason) {
        (Some(-1), Some(reason)) => format!(", {}{after}", reason.description()),
        (Some(code), _) => format!(", exit {code}{after}"),
        // It was running when the loop died: how it ended is not known.
        (None, Some(ExitReason::Interrupted)) if iteration.exit.agent.is_none() => {
            ", did not end by itself".to_owned()
        }
        (None, _) => ", not run".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use failure_excerpt::Tally;

    use ralph_core::record::samples::iteration;
    use ralph_core::record::{Evidence, Exits, Flag, FlagCode};

    #[test]
    fn an_entry_is_shown_by_sections_and_without_what_the_facts_say() {
        let head = "## Iteration 1 - 2026-11-24T21:16:35Z\n**Task**: T001 Greet\n**Status**: ❌ Failed\n**Cause**: boom\n";
        let files = "**Files Changed**:\n- a.py\n";
        let lists = format!("{head}{files}**Learnings**:\n- none\n");
        let excerpt = "```\nboom\n```\n";
        let failed = format!("{lists}**Validation**: `make` exited 2\n{excerpt}---\n");
        let passed = format!("{lists}**Validation**: `make` exited 0\n{excerpt}---\n");
        let learned = format!("{head}{files}**Learnings**:\n- port 5433\n---\n");
        let cases = [
            (&failed, Some(2), "Done.", format!("\n{files}\n**Output of the validation**:\n\n{excerpt}")),
            (&failed.replace("boom\n```", "its cause\n```"), Some(2), "Done.", format!("\n{files}")),
            (&passed, Some(0), "boom", format!("\n{files}")),
            (&passed, None, "", format!("\n{files}\n{excerpt}")),
            (&learned, Some(0), "Done.", format!("\n{files}\n**Learnings**:\n- port 5433\n")),
        ];
        for (entry, validation, final_message, expected) in cases {
            let iteration = Iteration {
                exit: Exits { agent: Some(0), validation },
                cause: Some("its cause".to_owned()),
                ..iteration(Outcome::Failure)
            };
            let shown = as_sections(entry, &iteration, final_message);
            assert_eq!(shown, expected, "{entry}");
        }
    }

    #[test]
    fn the_record_of_a_skip_names_no_agent() {
        for (outcome, expected) in [(Outcome::Failure, true), (Outcome::Skipped, false)] {
            let iteration = iteration(outcome);
            let found = IterationDetails {
                iteration: &iteration,
                commit: "c",
                entry: "",
                final_message: "",
                repeated: None,
                afterwards: None,
            };
            assert!(facts(&found).iter().all(|(name, _)| *name != "stream"));
            let has_agent = facts(&found).iter().any(|(name, _)| *name == "agent");
            assert_eq!(has_agent, expected, "{outcome:?}");
        }
    }

    #[test]
    fn lines_that_could_not_be_read_are_counted() {
        for (lines, unreadable, too_long, expected) in [
            (812, 0, 0, None),
            (812, 1, 0, Some("1 of 812 lines of the agent's output could not be read")),
            (812, 0, 1, Some("1 of 812 lines of the agent's output was longer than 16 MiB and read in part")),
            (
                9,
                3,
                2,
                Some(
                    "3 of 9 lines of the agent's output could not be read, 2 were longer than 16 MiB and read in part",
                ),
            ),
        ] {
            let stream = Some(StreamCounts { lines, unreadable, too_long });
            let iteration = Iteration { stream, ..iteration(Outcome::Success) };
            let shown = further_facts(&iteration).into_iter().find(|(name, _)| *name == "stream");
            assert_eq!(shown.as_ref().map(|(_, words)| words.as_str()), expected);
        }
    }

    #[test]
    fn what_did_not_run_and_what_did_not_end_are_told_apart() {
        for (agent, validation, reason, expected) in [
            (Some(0), Some(1), None, ["exit 0", "exit 1"]),
            (Some(7), None, None, ["exit 7", "not run"]),
            (Some(-1), None, Some(ExitReason::Timeout), ["timed out", "not run"]),
            (Some(0), Some(-1), Some(ExitReason::Interrupted), ["exit 0", "was interrupted"]),
            (None, None, Some(ExitReason::Interrupted), ["did not end by itself", "did not end by itself"]),
        ] {
            let iteration = Iteration {
                exit: Exits { agent, validation },
                exit_reason: reason,
                ..iteration(Outcome::Failure)
            };
            let shown = [agent, validation].map(|code| end(&iteration, code, None));
            assert_eq!(shown, expected.map(|end| format!(", {end}")), "{agent:?} {validation:?}");
        }
    }

    #[test]
    fn a_cause_and_the_agents_words_are_shown_once() {
        let mut iteration = iteration(Outcome::Failure);
        iteration.cause = Some("agent exited 1: no such model".to_owned());
        iteration.error = Some("no such model".to_owned());
        let mut out = Vec::new();
        let found = IterationDetails {
            iteration: &iteration,
            commit: "c",
            entry: "",
            final_message: "",
            repeated: None,
            afterwards: Some("done in #31"),
        };
        write(&mut out, &found, Paint::Plain).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.matches("no such model").count(), 1, "{text}");
        assert!(text.contains("\nafterwards  done in #31\n"), "{text}");
    }

    #[test]
    fn the_evidence_has_a_line_for_each_fact() {
        let flag = |text: &str| Flag { code: FlagCode::Judge, text: text.to_owned(), paths: Vec::new() };
        let tally = |passed, failing: &[&str]| Tally {
            passed: Some(passed),
            failed: Some(failing.len() as u64),
            failing: Some(failing.iter().map(|name| (*name).to_owned()).collect()),
            ..Tally::default()
        };
        let evidence = Evidence {
            tests: Some(tally(39, &["a::b"])),
            before: Some(tally(41, &[])),
            flags: vec![flag("changed check.sh"), flag("39 tests\nran")],
            refused: Some(FlagCode::Skip),
            second: Some(SecondRun {
                why: FlagCode::Judge,
                exit: 1,
                paths: Some(vec!["check.sh".to_owned()]),
            }),
            accepted: None,
        };
        let iteration = Iteration {
            evidence: Some(Box::new(evidence)),
            reopened: vec!["T005".to_owned(), "T006".to_owned()],
            ..iteration(Outcome::Success)
        };
        let lines: Vec<String> =
            judged(&iteration).iter().map(|(name, value)| format!("{name}: {value}")).collect();
        assert_eq!(
            lines,
            [
                "tests: 39 passed, 1 failed (before: 41 passed)",
                "failing: a::b",
                "refused: skip",
                "flags: ⚑ changed check.sh",
                "flags: ⚑ 39 tests ran",
                "second run: with check.sh as before, exit 1",
                "reopened: T005, T006",
            ]
        );
    }
}
