//! Why an iteration did not succeed, in one line: from what was measured, never a guess.

use failure_excerpt::{Examination, Output, clean, examine};
use serde_json::Value;

use crate::record::{
    CANNOT_RUN, Exit, ExitReason, FailureClass, Iteration, MAX_CAUSE_CHARS, Outcome, ToolCall, ToolKind,
    UNFINISHED_COMMAND, Validation,
};

/// What is known of an iteration when its cause is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Sources<'a> {
    /// With outcome, exits and durations; its cause is ignored.
    pub iteration: &'a Iteration,
    /// What the agent said last. Only its end is needed.
    pub final_text: &'a str,
    /// The end of the agent's stderr.
    pub agent_stderr: &'a str,
    /// The examined output of the validation. `None` if none ran.
    pub examined: Option<&'a Examination>,
    /// The file that the loop is to produce, for a loop without a task list.
    pub artifact: Option<&'a str>,
    pub found: Found<'a>,
}

/// What was found beside agent and validation that says more than they do.
#[derive(Debug, Clone, Copy, Default)]
pub struct Found<'a> {
    /// The validation fails as it did at the start, and never passed in this session.
    pub fails_as_at_the_start: bool,
    /// Where the work is, if not in the work tree: in words.
    pub elsewhere: Option<&'a str>,
    /// What became of the task list, if it was written anew: in words.
    pub list: Option<&'a str>,
}

/// Returns the cause. `None` for a success, and for an outcome that only a later version knows.
pub fn cause(evidence: &Sources<'_>) -> Option<String> {
    let iteration = evidence.iteration;
    let words = match iteration.outcome {
        Outcome::Success
        | Outcome::Later(_)
        | Outcome::Skipped
        | Outcome::Checked
        | Outcome::Reopened
        | Outcome::Integrated => return None,
        Outcome::Interrupted => interruption(evidence),
        Outcome::Failure => failure(evidence),
    };
    Some(bounded(&words))
}

/// Returns why a task is skipped after `failures` of its attempts in a row, the last of which failed for `last`.
pub fn of_skip(failures: u32, last: Option<&str>) -> String {
    let times = if failures == 1 { "once".to_owned() } else { format!("{failures} times in a row") };
    let last = last.map(|last| format!("; last: {last}")).unwrap_or_default();
    bounded(&format!("failed {times}{last}"))
}

/// Returns the cause of an iteration whose agent asked something: the question.
pub fn of_question(question: &str) -> String {
    bounded(question)
}

/// Returns why a validation that ran outside of iterations failed. `None` if it passed.
pub fn of_validation(validation: &Validation, examined: &Examination) -> Option<String> {
    let Validation { command, exit, duration_ms, .. } = validation;
    let cause =
        (!validation.passed()).then(|| failed_command(command, *exit, Some(*duration_ms), Some(examined)));
    cause.map(|cause| bounded(&cause))
}

/// What the fingerprint of an open box begins with: older records have others for outputs that say nothing of a failure.
pub const OPEN_BOX: &str = "open-";

/// The cause of an iteration whose loop died before it could record it.
pub const LOOP_DIED: &str = "the loop died before this iteration was recorded";

fn interruption(evidence: &Sources<'_>) -> String {
    let iteration = evidence.iteration;
    let is_stopped = iteration.exit_reason == Some(ExitReason::Interrupted);
    if !is_stopped && iteration.failure_class.is_some() {
        return agent_failure(evidence).unwrap_or_else(|| "the agent was cut short".to_owned());
    }
    let child = if iteration.exit.validation.is_some() { "validation" } else { "agent" };
    format!("stopped by the user while the {child} ran")
}

fn failure(evidence: &Sources<'_>) -> String {
    let (words, _) = charge(evidence);
    words.unwrap_or_else(|| match evidence.artifact {
        Some(artifact) => format!("the agent did not write {artifact}"),
        None => "the agent did not tick the task".to_owned(),
    })
}

/// Returns why a failed attempt did not succeed, if that is known: by questions in one order, of which the first that fits decides.
/// True beside it if neither agent nor validation failed as far as they count: the box was left open.
fn charge(evidence: &Sources<'_>) -> (Option<String>, bool) {
    let Sources { iteration, artifact, found, .. } = evidence;
    let (agent, validation) = (agent_failure(evidence), validation_failure(evidence));
    let class = iteration.failure_class;
    // Its own error, as its result. All else ended it before it came to one, and says more than the validation after it.
    let is_result = class == Some(FailureClass::Other) && iteration.exit_reason.is_none();
    let has_claim = artifact.is_some() || !iteration.claims.ticked.is_empty();
    if class.is_some_and(FailureClass::is_policy) {
        (agent, false)
    } else if found.fails_as_at_the_start {
        (validation, false)
    } else if agent.is_some() && !is_result {
        (agent, false)
    } else if has_claim && validation.is_some() {
        (validation, false)
    } else if agent.is_some() {
        (agent, false)
    } else {
        let elsewhere = found.elsewhere.or(found.list).map(str::to_owned);
        (cut_off(iteration).or(elsewhere).or_else(|| why_open(evidence)), true)
    }
}

/// Returns the fingerprint of an attempt whose box was left open, if anything is known of why. `cause` is what was found for it.
pub fn fingerprint_of_open_box(evidence: &Sources<'_>, cause: &str) -> Option<String> {
    let iteration = evidence.iteration;
    let is_red = iteration.exit.validation.is_some_and(|code| code != 0) && !iteration.has_no_tests();
    if iteration.outcome != Outcome::Failure || is_red {
        return None;
    }
    // The name of its own task makes no difference.
    let own = iteration.task.as_deref().unwrap_or_default();
    let words = cause.split_whitespace().map(|word| {
        let is_own = word.trim_matches(|c: char| !c.is_alphanumeric()) == own;
        if is_own { "task" } else { word }
    });
    let words = without_numbers(&words.collect::<Vec<_>>());
    let examined = examine(&Output { stdout: &words, ..Output::default() });
    let is_known = matches!(charge(evidence), (Some(_), true));
    let print = if is_known { examined.fingerprint() } else { None };
    print.map(|print| format!("{OPEN_BOX}{}", print.strict))
}

/// Returns words without what changes from run to run: `(try 2)`, `after 30s`, `:5432`. Numbers that say how far an agent came
/// (`12 of 40`, `28 left`) stay, as letters, which no fingerprint drops: they tell progress from standing still.
fn without_numbers(words: &[&str]) -> String {
    const COUNTS: [&str; 9] = ["of", "left", "remain", "remaining", "more", "done", "to", "percent", "out"];
    let bare = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let is_number = |word: &str| bare(word).starts_with(|c: char| c.is_ascii_digit());
    let counts = |at: usize| {
        let word = words[at];
        let next = words.get(at + 1..).into_iter().flatten().take(2).map(|word| bare(word));
        let before = at.checked_sub(1).map(|before| bare(words[before]));
        let is_share = word.contains('%') || word.split_once('/').is_some_and(|(_, all)| is_number(all));
        is_share
            || before.as_deref() == Some("of")
            || next.into_iter().any(|word| COUNTS.contains(&word.as_str()))
    };
    let plain = words.iter().enumerate().map(|(at, word)| {
        if !is_number(word) {
            return (*word).to_owned();
        }
        let is_kept = counts(at);
        let letter = |c: char| match c.to_digit(10) {
            Some(digit) if is_kept => char::from_digit(digit + 10, 36).unwrap_or(c),
            Some(_) => '0',
            None => c,
        };
        let mut plain: Vec<char> = word.chars().map(letter).collect();
        plain.dedup_by(|next, one| *next == '0' && *one == '0');
        plain.into_iter().collect()
    });
    plain.collect::<Vec<_>>().join(" ")
}

/// Returns the work of its own in the background that ended with the agent, where the box is open.
fn cut_off(iteration: &Iteration) -> Option<String> {
    iteration.agent_facts.as_ref().filter(|_| iteration.claims.ticked.is_empty())?.cut_off_words()
}

/// Returns how the agent itself failed, in its own words if it gave any.
fn agent_failure(evidence: &Sources<'_>) -> Option<String> {
    let iteration = evidence.iteration;
    let code = iteration.exit.agent.unwrap_or_default();
    let class = iteration.failure_class.filter(|class| !class.is_question());
    let has_lingered = iteration.exit_reason == Some(ExitReason::Lingered);
    if (code == 0 || has_lingered) && class.is_none() {
        return None;
    }
    let error = iteration.error.as_deref().map(|error| one_line(&with_messages(error)));
    let error = error.filter(|error| !error.is_empty());
    let reason = iteration.exit_reason.filter(|_| code == -1 && !has_lingered);
    let how = match (reason, class) {
        (Some(reason), _) => {
            ended_by(reason, &(after(iteration.duration_ms.agent) + &in_command(&iteration.tool_calls)))
        }
        (None, Some(class)) if class != FailureClass::Other => class_words(class),
        (None, _) if code == 0 => "reported an error".to_owned(),
        (None, _) => exited(code),
    };
    if let Some(limit) = error.as_ref().filter(|error| error.starts_with("ran out of ") && reason.is_none()) {
        return Some(format!("agent {limit}: agents.{}.command", iteration.agent));
    }
    let until = iteration.resets_at.filter(|_| reason.is_none()).map(|at| format!(" until {at}"));
    // The error of a program without a known stream is only the last line of its stderr.
    let is_error_enough = reason.is_some() || class.is_some() && error.is_some();
    let said = if is_error_enough { None } else { agent_words(evidence) };
    let words = if class.is_none() { said.or(error) } else { error.or(said) };
    let words = words.filter(|words| !how.eq_ignore_ascii_case(words));
    let words = words.map(|words| format!(": {words}")).unwrap_or_default();
    Some(format!("agent {how}{}{words}", until.unwrap_or_default()))
}

/// Returns the line in which a failing agent says why: on its stderr, else in its final message.
fn agent_words(evidence: &Sources<'_>) -> Option<String> {
    let exit_code = evidence.iteration.exit.agent;
    // The last words of a killed agent do not explain anything.
    let is_killed = exit_code.is_some_and(|code| code > 128);
    let texts = [evidence.agent_stderr, evidence.final_text];
    texts[..if is_killed { 1 } else { 2 }].iter().find_map(|text| {
        let text = with_messages(text);
        examine(&Output { stderr: &text, exit_code, ..Output::default() }).cause(MAX_CAUSE_CHARS)
    })
}

/// Returns `text` with the message in place of each JSON object that a line ends in: providers answer `{"error": {"message": ...}}`.
fn with_messages(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let message = line.find('{').and_then(|start| Some((&line[..start], message(&line[start..])?)));
        message.map_or_else(|| line.to_owned(), |(before, message)| format!("{before}{message}"))
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn message(json: &str) -> Option<String> {
    let value: Value = serde_json::from_str(json).ok()?;
    let places = ["/error/message", "/message", "/error"];
    places.iter().find_map(|place| value.pointer(place)?.as_str()).map(str::to_owned)
}

fn class_words(class: FailureClass) -> String {
    match class {
        FailureClass::Auth => "is not logged in".to_owned(),
        FailureClass::Billing => "has no credit".to_owned(),
        FailureClass::Model => "cannot use the model".to_owned(),
        FailureClass::Context => "ran out of context".to_owned(),
        FailureClass::Refused => "refused to run".to_owned(),
        FailureClass::NotInstalled => "is not installed".to_owned(),
        FailureClass::Quota => "reached its usage limit".to_owned(),
        FailureClass::RateLimit => "hit a rate limit".to_owned(),
        FailureClass::Overloaded => "met an overloaded provider".to_owned(),
        FailureClass::Network => "lost the network".to_owned(),
        FailureClass::Question => "asks".to_owned(),
        FailureClass::Policy => "was refused by its provider".to_owned(),
        FailureClass::Conflict => "worked on a state of the branch that is no more".to_owned(),
        FailureClass::Other => "reported an error".to_owned(),
        FailureClass::Later(word) => format!("reported {}", word.as_str().replace('_', " ")),
    }
}

fn validation_failure(evidence: &Sources<'_>) -> Option<String> {
    let iteration = evidence.iteration;
    let exit = Exit { code: iteration.exit.validation?, reason: iteration.validation_exit_reason() };
    if exit.is_success() || iteration.has_no_tests() {
        return None;
    }
    let command = iteration.validation_command.as_deref().unwrap_or("the validation");
    Some(failed_command(command, exit, iteration.duration_ms.validation, evidence.examined))
}

fn failed_command(
    command: &str,
    Exit { code, reason }: Exit,
    duration_ms: Option<u64>,
    examined: Option<&Examination>,
) -> String {
    let command = short(command);
    let decisive = examined.and_then(|examined| examined.cause(MAX_CAUSE_CHARS));
    let passed = examined.filter(|_| reason.is_none()).and_then(all_passed);
    if let Some(passed) = passed {
        return format!("{passed}, and `{command}` {}", exited(code));
    }
    match (reason, decisive) {
        (Some(reason), decisive) => {
            let how = ended_by(reason, &after(duration_ms));
            let decisive = decisive.map(|line| format!(": {line}")).unwrap_or_default();
            format!("`{command}` {how}{decisive}")
        }
        (None, Some(line)) => line,
        (None, None) if CANNOT_RUN.contains(&code) => format!("`{command}` cannot be run (exit {code})"),
        (None, None) => format!("`{command}` {}", exited(code)),
    }
}

/// `all 12 tests pass`: what is left to say of a red validation whose output names no failure.
fn all_passed(examined: &Examination) -> Option<String> {
    let tests = examined.tally();
    let passed = tests.passed.filter(|passed| *passed > 0 && tests.failed == Some(0))?;
    let is_all = tests.broken == 0 && tests.not_run == 0 && !examined.is_explained();
    let words = if passed == 1 { "the test passes".to_owned() } else { format!("all {passed} tests pass") };
    is_all.then_some(words)
}

/// Returns why the box is still open: calls that were denied, what the validation says, the command that failed last, or what the
/// agent says of it.
fn why_open(evidence: &Sources<'_>) -> Option<String> {
    let Sources { iteration, artifact: None, .. } = evidence else { return None };
    denied(iteration)
        .or_else(|| validation_failure(evidence))
        .or_else(|| failed_call(&iteration.tool_calls))
        .or_else(|| reason_given(evidence.final_text))
}

/// Returns which tools were denied, with the words of the first denial.
fn denied(iteration: &Iteration) -> Option<String> {
    let denied = &iteration.agent_facts.as_ref()?.denied;
    let last = denied.last()?;
    let were = if denied.len() == 1 { "was" } else { "were" };
    let call = iteration.tool_calls.iter().find(|call| call.is_denied && !call.result_summary.is_empty());
    let words = call.map_or(String::new(), |call| format!(": {}", one_line(&call.result_summary)));
    let others = &denied[..denied.len() - 1];
    let names = if others.is_empty() { last.clone() } else { format!("{} and {last}", others.join(", ")) };
    Some(format!("{names} {were} denied{words}"))
}

/// Commands that look for something, and fail where it is not there.
const LOOKUPS: [&str; 15] = [
    "[", "cat", "command", "diff", "egrep", "fd", "find", "git", "grep", "head", "ls", "rg", "tail", "test",
    "which",
];

/// Returns the command that failed last and was not run again with success.
fn failed_call(calls: &[ToolCall]) -> Option<String> {
    let commands: Vec<&ToolCall> = calls.iter().filter(|call| call.kind == ToolKind::Shell).collect();
    let (_, call) = commands.iter().enumerate().rev().find(|(at, call)| {
        let command = &call.arguments_summary;
        let is_lookup = command.split_whitespace().next().is_some_and(|program| LOOKUPS.contains(&program));
        let mut later = commands[at + 1..].iter();
        let is_repaired = later.any(|later| !later.is_error && later.arguments_summary == *command);
        call.is_error && !call.is_denied && !is_lookup && !is_repaired
    })?;
    let how = match call.exit_code {
        _ if call.last_line == UNFINISHED_COMMAND => UNFINISHED_COMMAND.to_owned(),
        Some(code) => exited(code),
        None => "failed".to_owned(),
    };
    let is_said = call.last_line.is_empty() || call.last_line == UNFINISHED_COMMAND;
    let words = if is_said { String::new() } else { format!(": {}", one_line(&call.last_line)) };
    Some(format!("`{}` {how}{words}", short(&call.arguments_summary)))
}

/// Returns the sentence of a final message in which an agent says what is in its way, or what it asks.
fn reason_given(text: &str) -> Option<String> {
    let text = clean(text);
    let parts = text.lines().flat_map(|line| line.split_inclusive(". "));
    let sentences = parts.flat_map(|part| part.split_inclusive("? ")).map(one_line);
    let best = sentences
        .map(|line| line.trim_start_matches(['#', '-', '*', '>', ' ']).to_owned())
        .filter_map(|sentence| Some((rank_of_reason(&sentence)?, sentence)))
        .min_by_key(|(rank, _)| *rank);
    best.map(|(_, sentence)| sentence.trim_end_matches(['.', ' ']).to_owned())
}

/// Returns how well a sentence says why the agent could not go on, 0 is best.
fn rank_of_reason(sentence: &str) -> Option<usize> {
    const QUESTION: &str = "?";
    const OBSTACLES: [&str; 27] = [
        "cannot",
        "can't",
        "could not",
        "couldn't",
        "unable",
        "blocked",
        "not able",
        "missing",
        "did not",
        "didn't",
        "does not",
        "doesn't",
        "not possible",
        "impossible",
        QUESTION,
        "needs ",
        "need ",
        "requires",
        "waiting",
        "failed",
        "fails",
        "failing",
        "no permission",
        "denied",
        "instead of",
        "unclear",
        "not sure",
    ];
    let lower = sentence.to_lowercase();
    // What calls itself a question comes before all others.
    if lower.starts_with("question:") {
        return Some(0);
    }
    let place = OBSTACLES.iter().position(|word| match *word {
        QUESTION => lower.trim_end().ends_with(word),
        _ => lower.contains(word),
    })?;
    Some(place + 1)
}

fn after(duration_ms: Option<u64>) -> String {
    duration_ms.map(|ms| format!(" after {}", rounded(ms))).unwrap_or_default()
}

/// Returns which command of the agent was still running.
fn in_command(calls: &[ToolCall]) -> String {
    let call = calls.iter().rev().find(|call| call.last_line == UNFINISHED_COMMAND);
    call.map(|call| format!(" in `{}`", short(&call.arguments_summary))).unwrap_or_default()
}

fn ended_by(reason: ExitReason, after: &str) -> String {
    match reason {
        ExitReason::Timeout => format!("timed out{after}"),
        ExitReason::IdleTimeout => format!("was stopped{after}: no output for too long (idle-timeout)"),
        ExitReason::OutputLimit => format!("was stopped{after}: its output exceeded the limit (max-output)"),
        ExitReason::ErrorLoop => format!("was stopped{after}: one error after the other"),
        ExitReason::Lingered => format!("was stopped{after}: it did not exit after its result"),
        ExitReason::StartFailed => "could not be started".to_owned(),
        ExitReason::Interrupted => "was interrupted".to_owned(),
        ExitReason::Later(word) => format!("ended: {}", word.as_str().replace('_', " ")),
    }
}

/// Returns a limit that a duration stands for, as people write one: `45s`, `60m`, `2h`.
pub fn rounded(ms: u64) -> String {
    let seconds = ms.saturating_add(500) / 1000;
    match seconds {
        0 => format!("{ms}ms"),
        _ if seconds >= 7200 && seconds % 3600 < 30 => format!("{}h", seconds / 3600),
        _ if seconds >= 120 && (seconds % 60 < 5 || seconds >= 600) => format!("{}m", seconds / 60),
        _ => format!("{seconds}s"),
    }
}

fn exited(code: i32) -> String {
    match code {
        129..=192 => format!("exited {code} (killed by signal {})", code - 128),
        _ => format!("exited {code}"),
    }
}

/// Returns the first 40 characters of a command, on one line.
fn short(command: &str) -> String {
    let line = one_line(command).replace('`', "'");
    match line.char_indices().nth(40) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

fn one_line(text: &str) -> String {
    clean(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a cause without immediate repetitions: `error: error: x`, `a::test: a::test - x`.
fn without_echo(line: &str) -> String {
    let parts: Vec<&str> = line.split(": ").collect();
    let mut kept = parts.clone();
    let mut next = parts.iter().skip(1);
    kept.retain(|part| {
        let rest = next.next().and_then(|next| next.strip_prefix(part));
        let is_echoed = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(" - "));
        !(is_echoed && part.contains(char::is_alphabetic))
    });
    kept.join(": ")
}

/// Returns the text on one line of at most [`MAX_CAUSE_CHARS`] characters.
pub fn bounded(text: &str) -> String {
    let line = without_echo(&one_line(text));
    match line.char_indices().nth(MAX_CAUSE_CHARS) {
        Some(_) => line.chars().take(MAX_CAUSE_CHARS - 1).chain(['…']).collect(),
        None => line,
    }
}

#[cfg(test)]
mod tests;
