//! One iteration, for reading.

use std::collections::HashMap;

use indexmap::IndexMap;

use ralph_core::record::{
    ExitReason, FailureClass, FileChange, GoneHow, Iteration, Outcome, RALPH, SandboxFacts, SecondRun,
    SessionId, ShortNames, StreamCounts, TaskName, Timestamp, ToolCall, hint_command_of, join_truncated,
    last_words,
};

use super::ending::{capital, interruption};
use super::evidence::{FLAG, decisive, false_claim, validation};
use super::left_behind;
use super::local_time::{clock_or_date, local_with_offset};
use super::markdown::render;
use super::sgr::folded;
use super::style::{
    Look, Screen, brief_duration, columns, counted, cut, grouped, joined, listed, one_line, padded,
    sign_by_now, task_title,
};

/// Longest line of what an agent said of its failure, in characters.
const ERROR: usize = 300;

/// How many lines of the agent's last words are shown.
const MESSAGE_LINES: usize = 20;

/// How many files are named that a snapshot or commit leaves out.
const LEFT_OUT: usize = 20;

/// How many tests, files or tasks a line names.
const MAX_NAMED: usize = 10;

/// Longest arguments of a tool call, in characters.
const MAX_CALL: usize = 60;

/// What is shown of an attempt.
#[derive(Debug)]
pub struct ShownAttempt<'a> {
    pub iteration: &'a Iteration,
    /// Its entry in progress.txt.
    pub entry: &'a str,
    /// What the agent said last.
    pub final_message: &'a str,
    /// The session, where commands do not mean it by themselves.
    pub session: Option<&'a SessionId>,
    /// What attempts of its session, or of its group, are called.
    pub names: ShortNames,
    /// What its commands ran in.
    pub sandbox: Option<&'a SandboxFacts>,
    /// How many attempts at its task the session has; 0 if it is none.
    pub attempts: usize,
    /// The attempts at its task before it, with their causes; `None` if that is the cause of this one.
    pub earlier: &'a [(String, Option<String>)],
    /// What became of its task; `None` if it was done, or is none.
    pub afterwards: Option<&'a Afterwards>,
    /// What became of its result that was queued: `merged in #4`; `None` if it was not.
    pub after_queue: Option<&'a str>,
    /// The files that it changed; `None` without snapshots.
    pub changed: Option<&'a [FileChange]>,
    /// True if all of these files are as it left them.
    pub is_in_tree: bool,
}

/// What became of a task after an attempt that did not close it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Afterwards {
    /// True if it was given up after this attempt.
    pub is_given_up: bool,
    /// True if all that its attempts changed was taken back then.
    pub is_undone: bool,
    /// The attempt that closed it, as commands name it: `#31`.
    pub done_in: Option<String>,
}

impl Afterwards {
    /// `given up after this attempt, its changes undone, done in #31`; `None` if the loop goes on with it.
    fn words(&self) -> Option<String> {
        let undone = if self.is_undone { ", its changes undone" } else { "" };
        let given_up = self.is_given_up.then(|| format!("given up after this attempt{undone}"));
        let done = self.done_in.as_ref().map(|number| format!("done in {number}"));
        joined([given_up, done], ", ")
    }
}

/// `src/export/csv.ts +23 −4`
fn changed_lines(change: &FileChange) -> String {
    let counts = [("+", change.added), ("−", change.removed)].into_iter();
    let counts = counts.filter_map(|(sign, count)| Some((sign, count.filter(|count| *count > 0)?)));
    let counts = counts.map(|(sign, count)| format!(" {sign}{}", grouped(count)));
    [one_line(&change.path)].into_iter().chain(counts).collect()
}

/// Most columns of the name of a fact.
const NAME: usize = 12;

/// Returns what the attempt was, why it failed, what it did and took, and how to see more.
pub fn lines(shown: &ShownAttempt<'_>, now: Timestamp, screen: Screen) -> Vec<String> {
    let ShownAttempt { iteration, entry, final_message, .. } = *shown;
    let is_question = iteration.failure_class.is_some_and(FailureClass::is_question);
    let look = sign_of(iteration).0;
    let mut below = Vec::new();
    if iteration.outcome == Outcome::Interrupted {
        let why = interruption(iteration.failure_class, iteration.exit.agent);
        below.push(match iteration.failure_class {
            Some(_) => format!("Cut short: {}", one_line(&iteration.cause())),
            None => format!("{}.", capital(why)),
        });
    } else if let (true, Some(check)) = (is_of_all(iteration), iteration.check()) {
        below.push(one_line(&check.story()));
    } else if !matches!(iteration.outcome, Outcome::Success | Outcome::Integrated) {
        let cause = one_line(&iteration.cause());
        below.push(if is_question { format!("The agent asks: {cause}") } else { cause });
    }
    below.extend(shown.afterwards.and_then(Afterwards::words).as_deref().map(capital));
    let mut lines = vec![headline(shown, screen)];
    lines.extend(below.iter().flat_map(|words| screen.painted(look, "  ", words)));
    lines.push(String::new());
    for (name, value) in attempt_facts(shown, now) {
        let lead = format!("  {}", padded(name, NAME));
        lines.extend(screen.paint_start(Look::Dim, &lead, screen.hanging(&lead, &value)));
    }
    // A question is the message.
    if !is_question || final_message.lines().filter(|line| !line.trim().is_empty()).count() > 1 {
        lines.extend(message(final_message, screen));
    }
    lines.extend(verdicts(shown, screen));
    let sections = render(&sections(entry, iteration, final_message), screen.paint);
    if !sections.trim().is_empty() {
        lines.push(String::new());
        lines.extend(sections.trim_matches('\n').lines().map(indented));
    }
    lines.push(String::new());
    let open = shown.afterwards.filter(|afterwards| afterwards.done_in.is_none());
    let what = match open {
        Some(_) if is_question => Some("answer it"),
        Some(_) if iteration.refused().is_some() => Some("not so"),
        Some(Afterwards { is_given_up: true, .. }) => Some("help it"),
        _ => None,
    };
    if let (Some("not so"), Some(task)) = (what, &iteration.task) {
        lines.push(format!("  {}{RALPH} accept {}", padded("right so", NAME), one_line(task)));
    }
    if let (Some(what), Some(task)) = (what, &iteration.task) {
        let command = hint_command_of(RALPH, shown.session, task);
        lines.push(format!("  {}{command}", padded(what, NAME)));
    }
    let evidence = iteration.evidence.as_ref();
    let is_flagged = evidence.is_some_and(|one| !one.flags.is_empty() && one.accepted.is_none());
    let flagged = iteration.task.as_ref().filter(|_| iteration.outcome == Outcome::Success && is_flagged);
    if let (Some(task), None) = (flagged, shown.session) {
        let words = ["right so", "not so"].into_iter().zip(last_words(RALPH, None, task));
        lines.extend(words.map(|(what, command)| format!("  {}{command}", padded(what, NAME))));
    }
    // Each alone on its line, whole.
    let commands = left_behind::commands(RALPH, iteration, shown.session);
    lines.extend(commands.iter().map(|command| format!("  {}{command}", padded("bring back", NAME))));
    let more = "-p patch · --prompt · --agent · --stdout · --json";
    lines.push(format!("  {}", screen.paint(Look::Dim, &format!("{}{more}", padded("more", NAME)))));
    lines
}

/// Returns what became of each result that was merged, with both sides of what git could not merge.
fn verdicts(shown: &ShownAttempt<'_>, screen: Screen) -> Vec<String> {
    let iteration = shown.iteration;
    let mut lines = Vec::new();
    let merged: HashMap<_, _> = iteration.integrated().map(|(one, commit)| (one.attempt(), commit)).collect();
    for one in &iteration.integration {
        if lines.is_empty() {
            lines.push(String::new());
        }
        let commit =
            merged.get(&one.attempt()).map_or(String::new(), |commit| format!(" as {}", commit.short()));
        let words = one.return_words().unwrap_or_else(|| one.verdict.words());
        let of = shown.names.mark(&one.session, one.iteration);
        let look = if one.cause.is_none() { Look::Good } else { Look::Bad };
        let lead = format!("  {}", padded(&one_line(&one.task), NAME));
        let hanging = screen.hanging(&lead, &format!("{}{commit}, the result of {of}", one_line(&words)));
        lines.extend(screen.paint_start(look, &lead, hanging));
        let files = listed(&one.conflicts, MAX_NAMED);
        lines.extend(
            files.iter().flat_map(|files| screen.hanging(&format!("  {}", padded("in", NAME)), files)),
        );
        lines.extend(one.hunks.trim_end().lines().map(|line| format!("    {}", one_line(line))));
    }
    lines
}

/// Returns true for a check that sent no task back.
fn is_of_all(iteration: &Iteration) -> bool {
    iteration.outcome == Outcome::Checked && iteration.task.is_none()
}

fn sign_of(iteration: &Iteration) -> (Look, &'static str) {
    let sign = sign_by_now(iteration.outcome, iteration.failure_class, false);
    if is_of_all(iteration) { (Look::Dim, "·") } else { sign }
}

/// `✘ T034 Export boards as CSV, attempt 3 of 3                 #49`
fn headline(shown: &ShownAttempt<'_>, screen: Screen) -> String {
    let ShownAttempt { iteration, attempts, session, .. } = *shown;
    let (look, mark) = sign_of(iteration);
    let none = match iteration.outcome {
        Outcome::Integrated => "results that waited",
        Outcome::Checked => "all tasks",
        _ => "no task",
    };
    let task = one_line(iteration.task.as_deref().unwrap_or(none));
    let title = one_line(task_title(iteration.task_text.as_deref().unwrap_or_default()));
    let attempt = match iteration.attempt {
        Some(attempt) if iteration.is_attempt() && attempts > 1 => {
            format!(", attempt {attempt} of {attempts}")
        }
        _ => String::new(),
    };
    let number = match session {
        Some(session) => format!("{session}:{}", iteration.iteration),
        None => shown.names.mark(&iteration.session, iteration.iteration),
    };
    let beside = columns(mark) + columns(&task) + columns(&number) + 4;
    let title = cut(&title, screen.width.saturating_sub(beside + columns(&attempt)).max(8));
    let title = screen.filled(&format!("{title}{attempt}"), beside, 8);
    let name = screen.paint(look, &format!("{mark} {task}"));
    format!("{name} {title}  {}", screen.paint(Look::Dim, &number))
}

/// What is known of an attempt in a line each.
fn attempt_facts(shown: &ShownAttempt<'_>, now: Timestamp) -> Facts {
    let ShownAttempt { iteration, earlier, changed, is_in_tree, sandbox, .. } = *shown;
    let mut facts = Facts::new();
    if iteration.validation_command.is_some() {
        facts.push(("validation", validation(iteration)));
    }
    facts.extend(judged(iteration));
    if let Some(changed) = changed {
        let files: Vec<String> = changed.iter().map(changed_lines).collect();
        let place = if is_in_tree && !files.is_empty() { "   still in the tree" } else { "" };
        let files = listed(&files, MAX_NAMED).unwrap_or_else(|| "no file".to_owned());
        facts.push(("changed", files + place));
    }
    facts.extend(sandbox.map(|facts| ("sandbox", one_line(&facts.text()))));
    if let (Some(lane), Some(branch)) = (iteration.lane, &iteration.branch) {
        let commit =
            iteration.published.as_ref().map_or(String::new(), |commit| format!(": {}", commit.short()));
        let queued = shown.after_queue.map(|became| match became {
            "queued" => ": queued, as it had moved".to_owned(),
            became => format!(": queued, as it had moved, and {became}"),
        });
        let commit = queued.unwrap_or(commit);
        facts.push(("lane", format!("{lane}, on {}{commit}", one_line(branch))));
    }
    let all = counted(iteration.agent_commits.len() as u64, "commit");
    let squashed = listed(&iteration.agent_commits, MAX_NAMED);
    facts.extend(squashed.map(|subjects| ("squashed", format!("{all} of the agent's: {subjects}"))));
    facts.extend(calls(iteration).map(|words| ("calls", words)));
    facts.push(("took", took(iteration, now)));
    if iteration.exit_reason == Some(ExitReason::Lingered) {
        facts.push(("agent", ExitReason::Lingered.description().to_owned()));
    }
    facts.extend(before(earlier, iteration.failure_class.is_some_and(FailureClass::is_question)));
    let error = iteration.error.as_ref().filter(|words| !iteration.cause().contains(words.as_str()));
    facts.extend(error.map(|words| ("error", cut(&one_line(words), ERROR))));
    facts.extend(beside(iteration));
    facts
}

/// `3 calls, 1 failed: pip install x`
fn calls(iteration: &Iteration) -> Option<String> {
    let calls = &iteration.tool_calls;
    let failed: Vec<&ToolCall> = calls.iter().filter(|call| call.is_error).collect();
    let all = (!calls.is_empty()).then(|| counted(calls.len() as u64, "call"))?;
    let Some(last) = failed.last() else { return Some(all) };
    let what = if last.arguments_summary.is_empty() { &last.tool_name } else { &last.arguments_summary };
    Some(format!("{all}, {} failed: {}", grouped(failed.len() as u64), cut(&one_line(what), MAX_CALL)))
}

/// `04:17 – 04:23, 5m38, $0.52, claude-opus-4-5`
fn took(iteration: &Iteration, now: Timestamp) -> String {
    let span = format!(
        "{} – {}",
        clock_or_date(iteration.started_at, now),
        clock_or_date(iteration.ended_at, iteration.started_at)
    );
    let time = iteration.duration_ms.total().map(brief_duration);
    let model = iteration.model.as_deref().unwrap_or(&iteration.agent);
    joined([Some(span), time, iteration.cost().shown(), Some(one_line(model))], ", ").unwrap_or_default()
}

/// The attempts before it: in a line where all failed as this one did, else each with its cause.
fn before(earlier: &[(String, Option<String>)], is_question: bool) -> Facts {
    let how = if is_question { "asked the same" } else { "failed in the same way" };
    let mut lines: IndexMap<String, Vec<String>> = IndexMap::new();
    for (name, cause) in earlier {
        let words = cause.as_deref().map_or_else(|| how.to_owned(), one_line);
        lines.entry(words).or_default().push(name.clone());
    }
    let names = ["before"].into_iter().chain(std::iter::repeat(""));
    let lines =
        lines.iter().map(|(words, numbers)| format!("{} {words}", join_truncated(numbers, MAX_NAMED)));
    names.zip(lines).collect()
}

pub type Facts = Vec<(&'static str, String)>;

/// What it left out, what it left behind, and what was found in its outputs.
pub fn beside(iteration: &Iteration) -> Facts {
    let mut facts = Facts::new();
    facts.extend(iteration.stream.and_then(StreamCounts::complaint).map(|words| ("stream", words)));
    facts.extend(iteration.uncommitted.as_ref().map(|reason| ("uncommitted", cut(&one_line(reason), ERROR))));
    facts.extend(left_behind::lines(iteration).iter().map(|line| ("left", one_line(line))));
    facts.extend(iteration.restoration().map(|line| ("restored", one_line(&line))));
    let left = iteration.left_out.iter().map(|left| format!("{} ({})", left.path, left.reason));
    let left: Vec<String> = left.collect();
    facts.extend(listed(&left, LEFT_OUT).map(|left| ("left out", left)));
    facts.extend(false_claim(iteration).map(|words| ("claimed", words)));
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
        let failing = evidence.tests.as_ref().and_then(|tests| listed(tests.failing.as_ref()?, MAX_NAMED));
        facts.extend(failing.map(|names| ("failing", names)));
        facts.extend(evidence.refused.map(|code| ("refused", code.to_string())));
        facts.extend(evidence.flags.iter().map(|flag| ("flags", format!("{FLAG} {}", one_line(&flag.text)))));
        facts.extend(evidence.second.as_ref().map(|second| ("second run", second_run(second))));
        let accepted = evidence.accepted.as_ref();
        facts.extend(accepted.map(|accepted| {
            ("accepted", format!("by {}, {}", one_line(&accepted.by), local_with_offset(accepted.at)))
        }));
    }
    facts.extend(listed(&iteration.reopened, MAX_NAMED).map(|names| ("reopened", names)));
    for (is_back, fact) in [(false, "work gone"), (true, "work back")] {
        let of = iteration.gone.iter().filter(|gone| (gone.how == GoneHow::Back) == is_back);
        let of: Vec<String> = of.map(|gone| gone.task.clone()).collect();
        facts.extend(listed(&of, MAX_NAMED).map(|names| (fact, names)));
    }
    facts
}

/// Why the validation ran again, and how that ended.
fn second_run(second: &SecondRun) -> String {
    let files = second.paths.as_deref().and_then(|paths| listed(paths, MAX_NAMED));
    let why = files.map_or("of the same tree".to_owned(), |files| format!("with {files} as before"));
    format!("{why}, exit {}", second.exit)
}

/// The agent's last words, as far as they are short.
fn message(message: &str, screen: Screen) -> Vec<String> {
    let rendered = render(message, screen.paint);
    if rendered.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![String::new(), format!("  {}", screen.paint(Look::Dim, "the agent said last"))];
    let rendered = folded(&rendered, screen.width.saturating_sub(2));
    lines.extend(rendered.lines().take(MESSAGE_LINES).map(indented));
    let more = rendered.lines().count().saturating_sub(MESSAGE_LINES);
    if more > 0 {
        let rest = format!("… {}: --agent has all", counted(more as u64, "more line"));
        lines.push(format!("  {}", screen.paint(Look::Dim, &rest)));
    }
    lines
}

/// Returns as Markdown what the agent learned, decided and tried, where its last words do not say it, and the lines of the
/// validation that decide.
///
/// If no validation failed, the excerpt of an entry is the end of the last words.
fn sections(entry: &str, iteration: &Iteration, final_message: &str) -> String {
    // What was merged is named above.
    let is_beside = |_: &&TaskName| iteration.integration.is_empty();
    let beside: Vec<String> =
        iteration.closed_beside().filter(is_beside).map(|name| one_line(name)).collect();
    let mut text =
        if beside.is_empty() { String::new() } else { format!("**Also closed**: {}\n", beside.join(", ")) };
    for (title, items) in [
        ("Learnings", &iteration.learnings),
        ("Decisions", &iteration.decisions),
        ("Tried", &iteration.approaches),
    ] {
        if !items.is_empty() && !final_message.contains(&format!("{title}:")) {
            let items: String = items.iter().map(|item| format!("- {}\n", one_line(item))).collect();
            text.push_str(&format!("\n**{title}**:\n{items}"));
        }
    }
    let entry = entry.trim_end().trim_end_matches("---");
    let excerpt = entry.find("\n```").map_or("", |start| &entry[start..]);
    let cause = iteration.cause.as_deref().map(str::trim);
    let says_more = excerpt
        .lines()
        .map(str::trim)
        .any(|line| !line.is_empty() && !line.starts_with("```") && Some(line) != cause);
    match iteration.exit.validation {
        Some(code) if code != 0 && says_more => {
            // Behind the fence.
            let (fence, lines) = excerpt.trim_start().split_once('\n').unwrap_or((excerpt, ""));
            let lines = decisive(lines).collect::<Vec<_>>().join("\n");
            text.push_str(&format!("\n**Output of the validation**:\n\n{fence}\n{lines}\n"));
        }
        Some(code) if code != 0 => {}
        _ if final_message.trim().is_empty() => text.push_str(excerpt),
        _ => {}
    }
    text
}

fn indented(line: &str) -> String {
    format!("  {line}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::Paint;
    use failure_excerpt::Tally;

    use ralph_core::record::samples::iteration;
    use ralph_core::record::{Evidence, Exits, Flag, FlagCode, Integration, IntegrationVerdict};

    #[test]
    fn below_the_facts_is_what_the_last_words_do_not_say() {
        let excerpt = "\n```\nboom\n```\n";
        let learned = "\n**Learnings**:\n- port 5433\n";
        let failed = format!("\n**Output of the validation**:\n{excerpt}");
        let cases = [
            (&[][..], "boom", Some(2), "Done.", failed),
            (&[], "its cause", Some(2), "Done.", String::new()),
            (&[], "boom", Some(0), "boom", String::new()),
            (&[], "boom", None, "", excerpt.to_owned()),
            (&["port 5433"], "", Some(0), "Done.", learned.to_owned()),
            (&["port 5433"], "", Some(0), "Learnings:\n- port 5433", String::new()),
        ];
        for (learnings, excerpt, validation, final_message, expected) in cases {
            let iteration = Iteration {
                exit: Exits { agent: Some(0), validation },
                cause: Some("its cause".to_owned()),
                learnings: learnings.iter().map(|&item: &&str| item.to_owned()).collect(),
                ..iteration(Outcome::Failure)
            };
            let excerpt = if excerpt.is_empty() { String::new() } else { format!("\n```\n{excerpt}\n```\n") };
            let entry = format!("## Iteration 1 - 2026-11-24T21:16:35Z\n**Cause**: boom{excerpt}---\n");
            assert_eq!(sections(&entry, &iteration, final_message), expected, "{entry}");
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
            let shown = beside(&iteration).into_iter().find(|(name, _)| *name == "stream");
            assert_eq!(shown.as_ref().map(|(_, words)| words.as_str()), expected);
        }
    }

    fn attempt(iteration: &Iteration) -> ShownAttempt<'_> {
        ShownAttempt {
            iteration,
            entry: "",
            final_message: "",
            session: None,
            names: ShortNames::alone(&iteration.session),
            sandbox: None,
            attempts: 1,
            earlier: &[],
            afterwards: None,
            after_queue: None,
            changed: None,
            is_in_tree: false,
        }
    }

    fn text(shown: &ShownAttempt<'_>, width: usize) -> String {
        lines(shown, shown.iteration.ended_at, Screen { paint: Paint::Plain, width }).join("\n") + "\n"
    }

    #[test]
    fn a_cause_and_the_agents_words_are_shown_once() {
        let mut iteration = iteration(Outcome::Failure);
        iteration.cause = Some("agent exited 1: no such model".to_owned());
        iteration.error = Some("no such model".to_owned());
        let text = text(&attempt(&iteration), 80);
        assert_eq!(text.matches("no such model").count(), 1, "{text}");
    }

    #[test]
    fn what_became_of_merged_results_is_said_for_each_with_both_sides_of_conflicts() {
        let one = |task: &str, number, verdict, cause: Option<&str>| Integration {
            session: iteration(Outcome::Success).session,
            iteration: number,
            task: task.to_owned(),
            verdict,
            cause: cause.map(str::to_owned),
            conflicts: cause.map(|_| "src/a.rs".to_owned()).into_iter().collect(),
            hunks: cause.map_or(String::new(), |_| "src/a.rs\n<<<<<<< on the branch\nours\n".to_owned()),
        };
        let mut iteration = iteration(Outcome::Integrated);
        (iteration.task, iteration.iteration, iteration.commits) =
            (None, 4, vec!["1a2b3c4d5e1a2b3c4d5e1a2b3c4d5e1a2b3c4d5e".parse().unwrap()]);
        iteration.integration = vec![
            one(
                "T002",
                2,
                IntegrationVerdict::Conflict,
                Some("src/a.rs cannot be merged with 1a2b (By hand)"),
            ),
            one("T001", 1, IntegrationVerdict::Integrated, None),
        ];
        let text = text(&attempt(&iteration), 100);
        assert!(text.starts_with("⊕ results that waited "), "{text}");
        let expected = "
  T002        sent back (conflict): src/a.rs cannot be merged with 1a2b (By hand), the result of #2
  in          src/a.rs
    src/a.rs
    <<<<<<< on the branch
    ours
  T001        merged as 1a2b3c4d5e, the result of #1
";
        assert!(text.contains(expected), "{text}");
        assert!(!text.contains("Also closed"), "{text}");
    }

    #[test]
    fn what_became_of_the_task_is_said_with_the_command_that_helps_it() {
        let hint = format!("{RALPH} hint --task T019 'TEXT'");
        for (class, is_given_up, is_undone, done_in, words, command) in [
            (None, false, false, None, "", String::new()),
            (None, true, false, None, "Given up after this attempt", format!("help it     {hint}")),
            (
                None,
                true,
                true,
                None,
                "Given up after this attempt, its changes undone",
                format!("help it     {hint}"),
            ),
            (None, true, false, Some("#31"), "Given up after this attempt, done in #31", String::new()),
            (None, false, false, Some("#31"), "Done in #31", String::new()),
            (Some(FailureClass::Question), false, false, None, "", format!("answer it   {hint}")),
            (Some(FailureClass::Question), true, false, Some("#31"), "done in #31", String::new()),
        ] {
            let iteration = Iteration {
                task: Some("T019".to_owned()),
                failure_class: class,
                ..iteration(Outcome::Failure)
            };
            let done_in = done_in.map(str::to_owned);
            let afterwards = Afterwards { is_given_up, is_undone, done_in };
            let text = text(&ShownAttempt { afterwards: Some(&afterwards), ..attempt(&iteration) }, 80);
            assert!(text.contains(words), "{words}: {text}");
            let shown = text.lines().find(|line| line.contains(" hint ")).map(str::trim_start);
            assert_eq!(shown.unwrap_or_default(), command, "{text}");
        }
    }

    #[test]
    fn of_a_refused_attempt_both_answers_are_shown() {
        let mut iteration = Iteration { task: Some("T019".to_owned()), ..iteration(Outcome::Failure) };
        let evidence = Evidence { refused: Some(FlagCode::Skip), ..Evidence::default() };
        iteration.evidence = Some(Box::new(evidence));
        for (done_in, count) in [(None, 1), (Some("#31".to_owned()), 0)] {
            let afterwards = Afterwards { is_given_up: true, is_undone: true, done_in };
            let text = text(&ShownAttempt { afterwards: Some(&afterwards), ..attempt(&iteration) }, 80);
            for line in [
                format!("right so    {RALPH} accept T019"),
                format!("not so      {RALPH} hint --task T019 'TEXT'"),
            ] {
                assert_eq!(text.matches(&line).count(), count, "{text}");
            }
        }
    }

    #[test]
    fn a_question_is_shown_with_what_was_done_and_how_to_answer_it() {
        let mut iteration = iteration(Outcome::Failure);
        (iteration.task, iteration.task_text) =
            (Some("T034".to_owned()), Some("Export boards as CSV in src/export/csv.ts".to_owned()));
        (iteration.iteration, iteration.attempt) = (49, Some(3));
        iteration.cause = Some("Semicolons or commas between the fields?".to_owned());
        iteration.failure_class = Some(FailureClass::Question);
        iteration.exit = Exits { agent: Some(0), validation: Some(0) };
        iteration.false_claim = Vec::new();
        iteration.validation_command = Some("npm test".to_owned());
        (iteration.duration_ms.agent, iteration.duration_ms.validation) = (Some(299_000), Some(39_000));
        iteration.duration_ms.second = None;
        (iteration.cost_usd, iteration.model) = (Some(0.52), Some("claude-opus-4-5".to_owned()));
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        (iteration.started_at, iteration.ended_at) = (at("2026-11-22T04:17:00Z"), at("2026-11-22T04:23:00Z"));
        let file = |path: &str, added| FileChange {
            path: path.to_owned(),
            added: Some(added),
            removed: Some(0),
            ..FileChange::default()
        };
        let changed = [file("src/export/csv.ts", 23), file("src/export/csv.test.ts", 1)];
        let earlier = [("#47".to_owned(), None), ("#48".to_owned(), None)];
        let afterwards = Afterwards { is_given_up: false, is_undone: false, done_in: None };
        let shown = ShownAttempt {
            afterwards: Some(&afterwards),
            attempts: 3,
            earlier: &earlier,
            changed: Some(&changed),
            is_in_tree: true,
            final_message: "Question: Semicolons or commas between the fields?",
            ..attempt(&iteration)
        };
        assert_eq!(
            text(&shown, 80),
            "\
? T034 Export boards as CSV, attempt 3 of 3                                  #49
  The agent asks: Semicolons or commas between the fields?

  validation  passed (39.0 s); the box was not ticked
  changed     src/export/csv.ts +23, src/export/csv.test.ts +1 still in the tree
  took        04:17 – 04:23, 5m38, $0.52, claude-opus-4-5
  before      #47, #48 asked the same

  answer it   specify ralph hint --task T034 'TEXT'
  more        -p patch · --prompt · --agent · --stdout · --json
"
        );
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
                flaky: Vec::new(),
            }),
            ..Evidence::default()
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
