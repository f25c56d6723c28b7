//! The last attempt at a task, for the next one: why it failed, what the agent said, ran and changed.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use crate::history::failure_key::FailureKey;
use crate::record::{
    Claim, Facts, FileStatus, FlagCode, Integration, Iteration, Outcome, RALPH_BY_PATH, listed_files,
};

use super::capture;
use super::learnings::without_learned;
use super::markdown::{code, cut, one_line, push_list, push_section};
use super::names::Names;
use super::selection::Selection;

const MAX_COMMANDS: usize = 5;
const MAX_FILES: usize = 10;
const MAX_HINTS: usize = 10;
const MAX_ELSEWHERE: usize = 3;
/// What an excerpt has for lines that are left out.
const CUT_MARK: &str = "…";
/// Longest text of an earlier attempt's line, in characters.
const MAX_LINE_CHARS: usize = 240;

/// Returns the places of the attempts at a task since its box was open, newest first.
pub(super) fn places(past: &[Iteration], task: &str) -> Vec<usize> {
    let is_own = |of: &Iteration| of.task.as_deref() == Some(task) || of.not_integrated(task).is_some();
    let own = (0..past.len()).rev().filter(|&place| is_own(&past[place]));
    // What was done once and is open again is a new task.
    let open = own.take_while(|&place| !past[place].closed.iter().any(|name| name == task));
    open.filter(|&place| past[place].outcome != Outcome::Skipped).collect()
}

/// Returns the end of the final message of the last attempt, without what the prompt lists as learned.
pub(super) fn final_message(selection: &Selection<'_>, last: &Iteration) -> String {
    end(&without_learned(&last.facts.final_message, &selection.learned), selection.final_message_chars)
}

/// Returns what the next attempt at a task should know of the last one. It begins with the sessions that it or a line about another
/// attempt names.
///
/// `is_taken_back` says that the changes of failed attempts were taken back right before the next one, and `still_changed`
/// which files of an iteration are not as they were before it.
pub fn last_attempt(
    selection: &Selection<'_>,
    is_taken_back: bool,
    still_changed: impl Fn(&Iteration) -> HashSet<String>,
) -> String {
    let Selection { past, names, .. } = selection;
    let Some(place) = selection.last else { return String::new() };
    let last = &past[place];
    let task = selection.task.map(|task| task.name.as_str()).unwrap_or_default();
    let not_integrated = last.not_integrated(task);
    let headline = not_integrated.map_or_else(|| headline(last, names), |one| return_words(one, last, names));
    let mut text = format!("{headline}\n{}", circumstances(last, names));
    if last.outcome == Outcome::Checked || last.refused() == Some(FlagCode::Clean) {
        push_section(&mut text, "What that means", CLEAN_ADVICE);
    }
    if let Some(advice) = last.agent_facts.as_ref().and_then(|facts| facts.advice()) {
        write!(text, "\n{}\n", one_line(&advice)).expect("writing to a String cannot fail");
    }
    let has_failed = last.exit.validation.is_some_and(|code| code != 0);
    let excerpt = if has_failed { last.facts.excerpt.trim() } else { "" };
    let is_cut = excerpt.lines().any(|line| line == CUT_MARK);
    let title = if is_cut {
        "What the validation said (… is for lines left out)"
    } else {
        "What the validation said"
    };
    push_section(&mut text, title, excerpt);
    push_section(&mut text, "What git could not merge", not_integrated.map_or("", |one| &one.hunks));
    let result = not_integrated.and_then(|one| past.iter().find(|result| result.id() == one.attempt()));
    if let Some((base, snapshot)) =
        result.and_then(|result| result.base.as_ref().zip(result.snapshot.as_ref()))
    {
        writeln!(text, "\nIts work: `git diff {} {}`", base.short(), snapshot.short())
            .expect("writing to a String cannot fail");
    }
    push_section(&mut text, "The end of its final message", &final_message(selection, last));
    push_list(&mut text, "Commands that failed in it", &failed_commands(&last.facts));
    let mut later = past[place + 1..].iter().filter(|later| later.task == last.task);
    let is_taken_back = is_taken_back || later.any(|later| later.restored_to.is_some());
    let remaining = if is_taken_back { None } else { only_remaining(last, still_changed) };
    let title = match &remaining {
        Some(_) => "Files that it changed (not taken back)",
        None => "Files that it changed (taken back since)",
    };
    let changed = remaining.as_ref().unwrap_or(last);
    push_list(&mut text, title, &files(changed));
    push_section(&mut text, "The lines of the short ones", &short_diffs(&changed.facts));
    let title = match last.exit.validation {
        Some(code) if code != 0 => {
            "Boxes that it had ticked, and that were opened again as the validation failed"
        }
        _ => "Boxes that it had ticked, and that were opened again as nothing proved them",
    };
    push_list(&mut text, title, &reopened(last));
    push_list(&mut text, "The same test or error in other tasks", &elsewhere(past, last, names));
    push_list(&mut text, "Hints that the user gave for attempts before this one", &hints(selection));
    // Also of attempts that the history describes: it has no heading for what this part names.
    let lines = selection.others.iter().map(|(_, line)| line);
    let all = lines.fold(text.clone(), |all, line| format!("{all}{line}\n"));
    names.heading(&all, "") + &text
}

/// Returns a line for each attempt but the last one, with its place.
pub(super) fn other_lines(selection: &Selection<'_>) -> Vec<(usize, String)> {
    let Selection { past, names, attempts, last, .. } = selection;
    let mut causes: HashMap<_, _> = last.iter().map(|&last| (cause_of(&past[last]), &past[last])).collect();
    let others = attempts.iter().filter(|place| Some(**place) != *last);
    others.map(|&place| (place, cut(&other_line(&past[place], names, &mut causes), MAX_LINE_CHARS))).collect()
}

/// What an agent is told whose result does not hold elsewhere.
const CLEAN_ADVICE: &str = "The result passes here, and not in a checkout that has only the files that git sees. Declare what you \
installed; nothing outside of the files that git sees may make a test pass. If that is not enough, end with `Question: …`.";

/// `Iteration 4 (attempt 2) failed: no such table (the agent had ticked it)`.
fn headline(iteration: &Iteration, names: &Names) -> String {
    let name = format!("Iteration {}", names.number(&iteration.session, iteration.iteration));
    let attempt = iteration.attempt.map(|attempt| format!(" (attempt {attempt})")).unwrap_or_default();
    let ticked =
        if iteration.false_claim.contains(&Claim::Ticked) { " (the agent had ticked it)" } else { "" };
    let how = match iteration.outcome {
        Outcome::Success => {
            return format!(
                "{name}{attempt} did {} instead, and left this one open",
                iteration.closed.join(", ")
            );
        }
        Outcome::Interrupted => "was interrupted",
        Outcome::Checked => return format!("{name} sent it back: {}", one_line(&iteration.cause())),
        Outcome::Reopened => return format!("{name}: the task was {}", one_line(&iteration.cause())),
        Outcome::Integrated => return format!("{name}: {}", one_line(&iteration.cause())),
        Outcome::Failure | Outcome::Skipped | Outcome::Later(_) => "failed",
    };
    format!("{name}{attempt} {how}: {}{ticked}", one_line(&iteration.cause()))
}

/// `Iteration 4 merged results, and this one was sent back (conflict): shared cannot be merged with 1a2b3c (By hand)`.
fn return_words(one: &Integration, by: &Iteration, names: &Names) -> String {
    let name = format!("Iteration {}", names.number(&by.session, by.iteration));
    let words = one.return_words().unwrap_or_default();
    format!("{name} merged results, and this one was {}", one_line(&words))
}

/// Returns what the headline and the sections below do not say: how the validation ended, and where more is. How an
/// iteration of another session is shown stands with the name of the session.
fn circumstances(iteration: &Iteration, names: &Names) -> String {
    let validation = match (iteration.exit.validation, &iteration.validation_command) {
        (Some(0), _) => "The validation passed, which does not show that this task is done. ",
        (None, Some(_)) => "The validation did not run. ",
        _ => "",
    };
    let is_silent = !iteration.outcome.is_without_run()
        && iteration.facts.final_message.trim().is_empty()
        && iteration.facts.version > 0;
    let silence = if is_silent { "The agent left no final message. " } else { "" };
    let is_idle = !iteration.outcome.is_without_run()
        && iteration.files_changed.is_empty()
        && iteration.snapshot.is_some();
    let idleness = if is_idle { "No file was changed. " } else { "" };
    let number = names.number(&iteration.session, iteration.iteration);
    let is_own = number.chars().all(|c| c.is_ascii_digit());
    let show =
        if is_own { format!("`{RALPH_BY_PATH} show {number}` shows it whole.") } else { String::new() };
    let text = format!("{validation}{silence}{idleness}{show}");
    if text.is_empty() { text } else { format!("\n{}\n", text.trim_end()) }
}

/// Returns the cause by which attempts are compared: boxes are left open for one reason in other words.
fn cause_of(iteration: &Iteration) -> Cow<'_, str> {
    match FailureKey::of(iteration) {
        Some(FailureKey::OpenBox(reason)) => Cow::Owned(reason),
        _ => iteration.cause(),
    }
}

/// Returns the line of an attempt before the last one. A cause that a newer one had is not told again.
fn other_line<'a>(
    other: &'a Iteration,
    names: &Names,
    causes: &mut HashMap<Cow<'a, str>, &'a Iteration>,
) -> String {
    let newer = *causes.entry(cause_of(other)).or_insert(other);
    let headline = headline(other, names);
    let is_repeated = other.outcome == Outcome::Failure && !std::ptr::eq(newer, other);
    let headline = match headline.split_once(" failed: ").filter(|_| is_repeated) {
        Some((front, _)) => {
            format!("{front} failed in the same way as {}", names.list(&[newer]))
        }
        None => headline,
    };
    let approaches: Vec<String> = other.approaches.iter().map(|text| one_line(text)).collect();
    if approaches.is_empty() { headline } else { format!("{headline}; tried: {}", approaches.join("; ")) }
}

/// One line for each failure of another task that names the same test, or the same kind of error in the same file.
fn elsewhere(past: &[Iteration], last: &Iteration, names: &Names) -> String {
    let mut seen = HashSet::new();
    let like_it =
        past.iter().enumerate().rev().filter(|(_, other)| other.task != last.task && is_like(other, last));
    let new = like_it.filter(|(_, other)| seen.insert(other.cause()));
    new.take(MAX_ELSEWHERE)
        .map(|(place, other)| {
            let task = other.task.as_deref().map(one_line).unwrap_or_default();
            let is_done =
                |later: &&Iteration| other.task.as_ref().is_some_and(|task| later.closed.contains(task));
            let done = past[place..].iter().find(is_done);
            let done = done.map(|later| format!("; done in {}", names.list(&[later])));
            format!(
                "- {}\n",
                cut(
                    &format!("{task}, {}{}", headline(other, names), done.unwrap_or_default()),
                    MAX_LINE_CHARS
                )
            )
        })
        .collect()
}

pub(super) fn is_like(other: &Iteration, last: &Iteration) -> bool {
    let levels = last.facts.levels.as_ref().zip(other.facts.levels.as_ref());
    let is_same_kind = levels.is_some_and(|(last, other)| last.loose == other.loose);
    let ids: HashSet<&str> = error_ids(last).collect();
    other.outcome == Outcome::Failure && (is_same_kind || error_ids(other).any(|id| ids.contains(id)))
}

fn error_ids(iteration: &Iteration) -> impl Iterator<Item = &str> {
    iteration.facts.errors.iter().map(|error| error.id.as_str()).filter(|id| !id.is_empty())
}

/// Returns one line for each hint that an attempt at the task had, the newest first and each once.
fn hints(selection: &Selection<'_>) -> String {
    let mut seen = HashSet::new();
    let attempts = selection.attempts.iter().map(|&place| &selection.past[place]);
    let hints = attempts.flat_map(|iteration| iteration.hints.iter().rev());
    let new = hints.filter(|hint| seen.insert(hint.as_str())).take(MAX_HINTS);
    new.map(|hint| format!("- {}\n", one_line(hint))).collect()
}

fn reopened(iteration: &Iteration) -> String {
    if !iteration.false_claim.contains(&Claim::Ticked) {
        return String::new();
    }
    iteration.claims.ticked.iter().map(|name| format!("- {}\n", one_line(name))).collect()
}

/// Returns one line for each command that failed: the command, its exit code and the last line that it printed.
pub(super) fn failed_commands(facts: &Facts) -> String {
    capture::failed_commands(&facts.commands, MAX_COMMANDS)
        .into_iter()
        .map(|run| {
            let exit = run.exit_code.map_or_else(|| "failed".to_owned(), |code| format!("exit {code}"));
            let last = one_line(&run.last_line);
            let last = if last.is_empty() { last } else { format!(": {last}") };
            format!("- {}, {exit}{last}\n", code(&run.command))
        })
        .collect()
}

/// Returns one line for each file that changed, with the lines added and removed.
pub(super) fn changed_files(facts: &Facts) -> String {
    facts
        .changes
        .iter()
        .take(MAX_FILES)
        .map(|change| {
            let lines = match (change.added, change.removed) {
                (Some(added), Some(removed)) => format!(" +{added} -{removed}"),
                _ => " (binary)".to_owned(),
            };
            let status = match change.status {
                FileStatus::Added => " (new)",
                FileStatus::Deleted => " (deleted)",
                FileStatus::Modified => "",
            };
            format!("- {}{lines}{status}\n", code(&change.path))
        })
        .collect()
}

/// Returns the lines of short changes, below the names of their files.
fn short_diffs(facts: &Facts) -> String {
    let short = facts.changes.iter().filter(|change| !change.diff.is_empty());
    let diffs = short.map(|change| format!("{}:\n{}", one_line(&change.path), change.diff.trim_end()));
    diffs.collect::<Vec<_>>().join("\n")
}

/// Returns the same, and how many more there are; of an older record the names alone.
fn files(iteration: &Iteration) -> String {
    let mut lines = changed_files(&iteration.facts);
    let is_old = iteration.facts.changes.is_empty();
    if is_old {
        lines = iteration
            .files_changed
            .iter()
            .take(MAX_FILES)
            .map(|path| format!("- {}\n", code(path)))
            .collect();
    }
    if let (_, Some(more)) = listed_files(&iteration.files_changed, MAX_FILES) {
        writeln!(lines, "- {more}").expect("writing to a String cannot fail");
    }
    lines
}

/// Returns an iteration with the changed files that still differ; `None` if none does.
fn only_remaining(
    iteration: &Iteration,
    still_changed: impl Fn(&Iteration) -> HashSet<String>,
) -> Option<Iteration> {
    let still_changed = still_changed(iteration);
    let mut remaining = iteration.clone();
    remaining.files_changed.retain(|path| still_changed.contains(path));
    remaining.facts.changes.retain(|change| still_changed.contains(&change.path));
    (!remaining.files_changed.is_empty() || iteration.files_changed.is_empty()).then_some(remaining)
}

/// Returns the last `most` characters, after an ellipsis if there are more.
fn end(text: &str, max_chars: usize) -> String {
    if max_chars == 0 {
        return String::new();
    }
    let text = without_repeats(text.trim());
    if text.chars().count() <= max_chars {
        return text;
    }
    let start = text.char_indices().rev().nth(max_chars - 1).map_or(0, |(start, _)| start);
    format!("…{}", &text[start..])
}

/// Returns `text` with runs of equal lines as one line and their number: an agent that hangs often says one thing until it is stopped.
fn without_repeats(text: &str) -> String {
    const MIN_REPEATS: usize = 3;
    let lines: Vec<&str> = text.lines().collect();
    let runs = lines.chunk_by(|one, next| one == next);
    let shown = runs.map(|run| match run {
        [line, ..] if run.len() >= MIN_REPEATS && !line.trim().is_empty() => {
            format!("{line}\n(this line {} times)", run.len())
        }
        _ => run.join("\n"),
    });
    shown.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::super::samples::iteration;
    use super::*;
    use crate::progress::{ExcerptMode, Progress, SelectionSettings};
    use crate::record::{CommandRun, Exits, Failing, FileChange, SessionId, Strategy, Task};

    fn attempt(number: u32, cause: &str) -> Iteration {
        Iteration {
            iteration: number,
            attempt: Some(number),
            cause: Some(cause.to_owned()),
            files_changed: Vec::new(),
            learnings: Vec::new(),
            ..iteration(Outcome::Failure)
        }
    }

    fn all_changed(iteration: &Iteration) -> HashSet<String> {
        let changes = iteration.facts.changes.iter().map(|change| &change.path);
        iteration.files_changed.iter().chain(changes).cloned().collect()
    }

    fn text_in(past: &[Iteration], session: Option<&SessionId>) -> String {
        described(past, session, false, all_changed)
    }

    fn described(
        past: &[Iteration],
        session: Option<&SessionId>,
        is_taken_back: bool,
        still_changed: impl Fn(&Iteration) -> HashSet<String>,
    ) -> String {
        let task = Task { name: "T004".to_owned(), id: None, text: String::new(), phase: None, story: None };
        let settings = SelectionSettings { has_last_attempt: true, final_message_chars: 20, learnings: 0 };
        let progress = Progress::new(Strategy::SystemCaptured, 0, 0, ExcerptMode::Excerpt);
        let selection = Selection::new(past, &task, session, &progress, settings);
        last_attempt(&selection, is_taken_back, still_changed) + &selection.other_attempts(None)
    }

    fn text_of(past: &[Iteration]) -> String {
        text_in(past, past.last().map(|last| &last.session))
    }

    #[test]
    fn only_files_that_still_differ_are_named() {
        let mut last = attempt(1, "x");
        last.files_changed = vec!["a".to_owned(), "b".to_owned()];
        let past = [last];
        for (differing, expected, gone) in [
            ("ab", "Files that it changed (not taken back):\n\n- `a`\n- `b`\n", "since"),
            ("b", "Files that it changed (not taken back):\n\n- `b`\n", "`a`"),
            ("", "Files that it changed (taken back since):\n\n- `a`\n- `b`\n", "not taken"),
        ] {
            let still_changed = |iteration: &Iteration| {
                all_changed(iteration).into_iter().filter(|path| differing.contains(path)).collect()
            };
            let text = described(&past, None, false, still_changed);
            assert!(text.contains(expected) && !text.contains(gone), "{text}");
        }
    }

    #[test]
    fn a_line_that_a_hanging_agent_repeats_is_shown_once() {
        let waiting = "retrying :9092\n".repeat(400);
        let cases = [
            (format!("start\n{waiting}end"), "start\nretrying :9092\n(this line 400 times)\nend"),
            ("a\na\nb".to_owned(), "a\na\nb"),
            ("a\n\n\n\nb".to_owned(), "a\n\n\n\nb"),
        ];
        for (text, expected) in cases {
            assert_eq!(end(&text, 1500), expected);
        }
    }

    #[test]
    fn the_last_attempt_has_what_was_said_run_changed_and_reopened() {
        let mut first = attempt(1, "no such table");
        first.approaches = vec!["sqlite".to_owned(), "a mock".to_owned()];
        let mut last = attempt(2, "connect ECONNREFUSED :5432");
        last.false_claim = vec![Claim::Ticked];
        last.claims.ticked = vec!["T004".to_owned()];
        last.facts.excerpt = "FAILED test_db\nECONNREFUSED".to_owned();
        last.facts.final_message = "I started Postgres, on port 5433.".to_owned();
        let run = |command: &str, exit_code, last_line: &str| CommandRun {
            command: command.to_owned(),
            is_error: true,
            exit_code,
            last_line: last_line.to_owned(),
        };
        last.facts.commands = vec![run("psql", Some(2), "could not connect"), run("npm i", None, "")];
        let change = |path: &str, added| FileChange {
            path: path.to_owned(),
            added,
            removed: added.map(|_| 3),
            ..FileChange::default()
        };
        let mut gone = change("old.txt", Some(0));
        (gone.status, gone.diff) = (FileStatus::Deleted, "-a\n-```\n-c\n".to_owned());
        last.facts.changes = vec![change("src/db.rs", Some(12)), change("logo.png", None), gone];
        last.files_changed = ["src/db.rs", "logo.png", "old.txt"].map(str::to_owned).to_vec();
        let expected = "Iteration 2 (attempt 2) failed: connect ECONNREFUSED :5432 (the agent had ticked it)\n\n\
             `<ralph> show 2` shows it whole.\n\n\
             What the validation said:\n\n```\nFAILED test_db\nECONNREFUSED\n```\n\n\
             The end of its final message:\n\n```\n…tgres, on port 5433.\n```\n\n\
             Commands that failed in it:\n\n- `psql`, exit 2: could not connect\n- `npm i`, failed\n\n\
             Files that it changed (not taken back):\n\n- `src/db.rs` +12 -3\n- `logo.png` (binary)\n\
             - `old.txt` +0 -3 (deleted)\n\n\
             The lines of the short ones:\n\n````\nold.txt:\n-a\n-```\n-c\n````\n\n\
             Boxes that it had ticked, and that were opened again as the validation failed:\n\n- T004\n\n\
             Other attempts, newest first:\n\n\
             - Iteration 1 (attempt 1) failed: no such table; tried: sqlite; a mock\n";
        let expected = expected.replace("<ralph>", &RALPH_BY_PATH.to_string());
        assert_eq!(text_of(&[first, last]), expected);
    }

    #[test]
    fn it_is_said_how_the_validation_ended_where_the_cause_does_not_and_what_became_of_the_changes() {
        let of = |validation, command: Option<&str>| {
            let mut last = attempt(1, "x");
            last.exit.validation = validation;
            last.validation_command = command.map(str::to_owned);
            last.files_changed = vec!["a".to_owned()];
            last.facts.version = 1;
            last
        };
        let mut idle = of(None, None);
        (idle.files_changed, idle.snapshot) =
            (Vec::new(), "1234567890123456789012345678901234567890".parse().ok());
        assert!(text_of(&[idle]).contains("\n\nThe agent left no final message. No file was changed. `"));
        let whole = format!("The agent left no final message. `{RALPH_BY_PATH} show 1` shows it whole.\n");
        for (validation, command, words) in [
            (Some(0), Some("make"), "The validation passed, which does not show that this task is done. "),
            (None, Some("make"), "The validation did not run. "),
            (Some(1), Some("make"), ""),
            (None, None, ""),
        ] {
            let text = text_of(&[of(validation, command)]);
            assert!(
                text.starts_with(&format!("Iteration 1 (attempt 1) failed: x\n\n{words}{whole}")),
                "{text}"
            );
            assert!(text.contains("Files that it changed (not taken back):\n"), "{text}");
        }
        let skip = Iteration {
            outcome: Outcome::Skipped,
            restored_to: "1234567890123456789012345678901234567890".parse().ok(),
            ..attempt(2, "failed")
        };
        assert!(skip.restored_to.is_some());
        let text = text_of(&[of(Some(1), None), skip]);
        assert!(text.contains("Files that it changed (taken back since):\n"), "{text}");
        let past = [of(Some(1), None)];
        let text = described(&past, None, true, all_changed);
        assert!(text.contains("(taken back since)") && text.contains("A is 20"), "{text}");
        let mut cut = of(Some(1), None);
        cut.facts.excerpt = "a\n…\nb".to_owned();
        assert!(text_of(&[cut]).contains("What the validation said (… is for lines left out):\n"));
    }

    #[test]
    fn the_same_test_in_another_task_is_named_once_with_its_cause_and_its_end() {
        let failing = |number, task: &str, id: &str| {
            let mut iteration = attempt(number, &format!("{id}: the server wants TLS 1.3"));
            iteration.task = Some(task.to_owned());
            iteration.facts.errors = vec![Failing { id: id.to_owned(), ..Failing::default() }];
            iteration
        };
        let done = Iteration {
            outcome: Outcome::Success,
            closed: vec!["T001".to_owned()],
            task: Some("T001".to_owned()),
            ..attempt(3, "")
        };
        let last = Iteration { cause: Some("closed".to_owned()), ..failing(5, "T004", "handshake") };
        let past = [
            failing(1, "T001", "handshake"),
            failing(2, "T001", "handshake"),
            done,
            failing(4, "T003", "other"),
            last,
        ];
        let expected = "\nThe same test or error in other tasks:\n\n\
             - T001, Iteration 2 (attempt 2) failed: handshake: the server wants TLS 1.3; done in #3\n";
        assert!(text_of(&past).ends_with(expected), "{}", text_of(&past));
    }

    #[test]
    fn a_first_attempt_and_one_after_a_success_have_none_before_them() {
        assert_eq!(text_of(&[]), "");
        let other = Iteration { task: Some("T003".to_owned()), ..attempt(1, "x") };
        assert_eq!(text_in(&[other], None), "");
        let done = Iteration {
            outcome: Outcome::Success,
            closed: vec!["T004".to_owned()],
            exit: Exits { agent: Some(0), validation: Some(0) },
            ..attempt(2, "x")
        };
        assert_eq!(text_of(&[attempt(1, "x"), done]), "");
        let skipped = Iteration { outcome: Outcome::Skipped, ..attempt(2, "x") };
        assert!(text_of(&[attempt(1, "x"), skipped]).starts_with("Iteration 1 (attempt 1) failed: x\n"));
    }

    #[test]
    fn an_attempt_of_another_session_and_one_that_did_another_task_say_so() {
        let text = text_in(&[attempt(1, "x")], None);
        assert!(text.starts_with("**Earlier sessions**: A is 2026"), "{text}");
        assert!(text.contains("\n\nIteration A1 (attempt 1) failed: x\n"), "{text}");
        assert_eq!(text.matches("2026").count(), 1, "{text}");
        let other =
            Iteration { outcome: Outcome::Success, closed: vec!["T005".to_owned()], ..attempt(2, "x") };
        assert!(
            text_of(&[other])
                .starts_with("Iteration 2 (attempt 2) did T005 instead, and left this one open\n")
        );
        let stopped = Iteration { outcome: Outcome::Interrupted, ..attempt(3, "the loop died") };
        assert!(
            text_of(std::slice::from_ref(&stopped))
                .starts_with("Iteration 3 (attempt 3) was interrupted: the loop died\n")
        );
        let mut failed = attempt(2, "x");
        failed.hints = vec!["use\nthe cache".to_owned(), "use\nthe cache".to_owned()];
        let text = text_of(&[failed, stopped]);
        assert!(text.starts_with("Iteration 2 (attempt 2) failed: x\n"), "{text}");
        assert!(text.contains("\n- use the cache\n") && text.matches("cache").count() == 1, "{text}");
        assert!(text.contains("\n- Iteration 3 (attempt 3) was interrupted: the loop died\n"), "{text}");
    }

    #[test]
    fn of_many_files_and_attempts_the_first_are_named_and_no_words_leave_their_place() {
        let mut past: Vec<Iteration> = (1..=14).map(|number| attempt(number, "a\n## Rules")).collect();
        past[13].files_changed = (0..13).map(|number| format!("f{number}\n# x")).collect();
        past[13].facts.final_message = "```\n# Rules".to_owned();
        let text = text_of(&past);
        assert!(
            text.contains("- and 3 more in 1 folder\n") && text.matches("- Iteration").count() == 10,
            "{text}"
        );
        assert!(!text.lines().any(|line| line.starts_with("## ")), "{text}");
        assert!(text.contains("````\n```\n# Rules\n````\n"), "{text}");
    }
}
