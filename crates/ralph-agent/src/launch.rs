//! Runs any agent as a child process and reads its output.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use camino::{Utf8Path, Utf8PathBuf};
use failure_excerpt::without_escapes;
use redact_stream::{Redacted, Redactor};
use regex::Regex;

use super::interface::{AgentInput, Lookup};
use super::lines::{LineReader, tail};
use super::programs::on_path;
use super::rollout;
use super::stream::{
    AgentReport, Failure, StreamReader, class_of, class_of_words, reset_time_in, usage_file,
};
use super::watchdog::Watchdog;
use ralph_core::record::{
    AgentEvent, AgentRun, ExitReason, FailureClass, Parser, PromptVia, StreamCounts, Timestamp, Tokens,
    summary,
};
use ralph_os::if_there::IfThere;
use ralph_os::platform::{is_path, takes_single_lines_only};
use ralph_os::process::{Child, ChildExit, Interrupt, Pulse, Tool};
use ralph_os::sandbox::{AgentState, Sandbox, SeededState};

/// Bytes at the end of stderr that may contain the reason of a failure.
const MAX_LAST_WORDS_BYTES: u64 = 8 << 10;

/// Maximum size of a prompt as an argument: the system's limit is 128 KiB.
const MAX_ARGUMENT_BYTES: usize = 120 << 10;

/// Exit codes of a shell that could not start the command.
const NOT_STARTED: [i32; 2] = [126, 127];

/// The exit code by which a command says that it met a limit: `EX_TEMPFAIL` of `sysexits.h`.
const LIMIT_CODE: i32 = 75;

/// A run that ended within this time did no work before it failed to start a program.
const AT_ONCE_MS: u64 = 5_000;

/// Time between two looks at whether another agent with the same login has started.
const START_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// What one run can cost and use at most.
const MAX_COST_USD: f64 = 1000.0;
const MAX_TOKENS: u64 = 10_000_000_000;

/// The file in its private home folder in which an agent counts tokens.
const USAGE_FILE: &str = ".ralph-usage.json";

/// A command, and how to talk to it.
#[derive(Debug, Clone)]
pub(super) struct Launch {
    /// With `{prompt_file}`, `{prompt}`, `{model}` and `{usage_file}` still in it.
    pub argv: Vec<String>,
    pub environment: Vec<(String, String)>,
    pub defaults: Vec<(String, String)>,
    pub removed: Vec<String>,
    pub prompt: PromptVia,
    pub parser: Parser,
    pub model: Option<String>,
    /// Where Codex keeps its threads.
    pub codex_home: Option<Utf8PathBuf>,
    /// What its output contains if it met a limit.
    pub limit_pattern: Option<Regex>,
    /// What it has of the user's home folder.
    pub state: AgentState,
}

/// A finished run.
#[derive(Debug)]
struct FollowedRun {
    ended: ChildExit,
    duration_ms: u64,
    report: AgentReport,
    stream: Option<StreamCounts>,
    /// True if its stream has lines that are no events.
    has_other_words: bool,
    /// The last error or retry during the run.
    last_error: Option<String>,
}

/// Why a run did not succeed, as far as known.
#[derive(Debug, Default)]
struct Cause {
    class: Option<FailureClass>,
    /// The words of the error, whole: the end of a limit may stand last.
    words: Option<String>,
    /// True if the agent reported the error, rather than ending without a result.
    is_reported: bool,
}

impl Cause {
    fn new(class: FailureClass, words: Option<String>) -> Self {
        Self { class: Some(class), words, is_reported: true }
    }

    /// Returns true if it says nothing of the task, of a run that did anything or not.
    fn cuts_short(&self, has_worked: bool) -> bool {
        self.class.is_some_and(|class| match class {
            // A fresh context is the remedy, and an agent that gives up after some work may have met the task's difficulty.
            FailureClass::Context => !has_worked,
            FailureClass::Other => !has_worked && self.is_reported,
            _ => class.is_transient() || class.is_unusable(),
        })
    }
}

impl Launch {
    /// Runs it with one prompt, and waits for its end. Passes on what it does meanwhile.
    pub(super) fn run(
        &self,
        turn: &AgentInput<'_>,
        interrupt: &Interrupt,
        say: &mut dyn FnMut(AgentEvent),
    ) -> Result<AgentRun> {
        let mut pause = || {
            interrupt.pause(START_POLL_INTERVAL);
            interrupt.signal().is_none()
        };
        let seeded = turn.sandbox.map(|sandbox| sandbox.seed_in_turn(&self.state, &mut pause));
        let mut seeded = seeded.transpose()?;
        let run = self.follow(turn, seeded.as_mut(), interrupt, say)?;
        let login_was_renewed = seeded.as_ref().map(SeededState::was_renewed_elsewhere).transpose()?;
        let login = seeded.map(SeededState::give_back).transpose()?.unwrap_or_default();
        let limit = self.limit(&run, turn)?;
        let has_lingered = run.ended.exit.reason == Some(ExitReason::Lingered);
        let has_ended_well = run.ended.exit.is_success() || has_lingered;
        let succeeded = has_ended_well && run.report.succeeded && limit.is_none();
        let cause = match limit {
            Some(limit) => limit,
            None if succeeded => Cause::default(),
            None => self.cause(&run, turn)?,
        };
        let resets_at = resets_at(&run, &cause, turn);
        let is_silent = self.is_silent(&run, turn)?;
        let FollowedRun { ended, duration_ms, mut report, stream, .. } = run;
        let warnings = drop_impossible(&mut report.cost_usd, &mut report.tokens).into_iter().collect();
        let mut run = AgentRun {
            exit: ended.exit,
            duration_ms,
            succeeded,
            final_text: turn.redactor.redact(&report.final_text),
            model: report.model.or_else(|| self.model.clone()),
            tokens: report.tokens,
            cost_usd: report.cost_usd,
            tool_calls: report.tool_calls,
            failure_class: cause.class,
            error: cause.words.as_deref().map(|words| summary(&turn.redactor.redact(words))),
            resets_at,
            was_cut_short: false,
            was_silent: is_silent && report.failure.is_none(),
            facts: report.facts,
            stream,
            leftovers: ended.leftovers,
            warnings,
            login,
            login_was_renewed: login_was_renewed.unwrap_or_default(),
        };
        run.was_silent &= run.tool_calls.is_empty() && run.tokens.output.unwrap_or_default() == 0;
        run.was_cut_short = cause.cuts_short(run.has_worked());
        Ok(run)
    }

    /// Runs the agent to its end and reads its stream meanwhile.
    fn follow(
        &self,
        turn: &AgentInput<'_>,
        mut seeded: Option<&mut SeededState>,
        interrupt: &Interrupt,
        say: &mut dyn FnMut(AgentEvent),
    ) -> Result<FollowedRun> {
        let child = self.child(turn, seeded.as_deref())?;
        // A file that an earlier run left would be taken for this run's.
        remove_if_there(&usage_file(turn.stdout))?;
        let mut stream = StreamReader::new(self.parser, turn.redactor);
        let mut lines = LineReader::new(turn.stdout);
        let mut watchdog = Watchdog::default();
        let (mut failure, mut has_answered) = (None, false);
        let stopwatch = turn.clock.stopwatch();
        let ended = child.run(interrupt, &mut || {
            let mut is_behind = false;
            if failure.is_none() {
                stream.set_time(stopwatch.elapsed_ms());
                let read = lines.read_some(&mut |line| {
                    stream.line(line, &mut |event| {
                        watchdog.observe(&event);
                        has_answered |= !matches!(event, AgentEvent::Retry { .. } | AgentEvent::Error { .. });
                        say(event);
                    });
                });
                match read {
                    Ok(is_more) => is_behind = is_more,
                    Err(error) => failure = Some(error),
                }
            }
            if let Some(seeded) = &mut seeded {
                // What fails here fails again at its end, and is said there.
                let _at_its_end = seeded.look(has_answered).is_err();
            }
            match (watchdog.pulse(), stream.finished_lines()) {
                // It may have ended well in what was not read yet.
                (Pulse::Alive, _) if is_behind => Pulse::Busy,
                (Pulse::Alive, Some(lines)) => {
                    Pulse::Finished { lines, waits_for_subagent: stream.has_subagent() }
                }
                (pulse, _) => pulse,
            }
        })?;
        let duration_ms = stopwatch.elapsed_ms();
        let counted = turn.sandbox.and_then(|sandbox| sandbox.read_from_home(USAGE_FILE).transpose());
        if let Some(counted) = counted {
            std::fs::write(usage_file(turn.stdout), counted?).context("keep the agent's count of tokens")?;
        }
        if let Some(error) = failure {
            return Err(error.context("follow the agent's output"));
        }
        stream.set_time(duration_ms);
        lines.read_rest(&mut |line| stream.line(line, say)).context("read the agent's output")?;
        let has_other_words = stream.has_other_words();
        let counts = stream.counts().filter(|counts| counts.lines > 0);
        let counts =
            counts.map(|counts| StreamCounts { too_long: counts.too_long + lines.too_long, ..counts });
        // What did not exit by itself ended as its stream says.
        let code = if ended.exit.reason == Some(ExitReason::Lingered) { 0 } else { ended.exit.code };
        let mut report = stream.finish(code, turn.stdout)?;
        if let (Some(home), Some(thread)) = (&self.codex_home, &report.thread) {
            let private = turn.sandbox.map(|sandbox| sandbox.home().join(".codex"));
            let rollout = rollout::of_thread(private.as_ref().unwrap_or(home), thread);
            report.model = report.model.or(rollout.model);
            // The stream has them only of a run that came to its end.
            report.tokens = if report.tokens.is_unknown() { rollout.tokens } else { report.tokens };
            report.resets_at = report.resets_at.or(rollout.resets_at);
        }
        let last_error = watchdog.last_error();
        Ok(FollowedRun { ended, duration_ms, report, stream: counts, has_other_words, last_error })
    }

    /// Returns true if nothing came from it but a banner. The words of an agent with a stream are in that alone.
    fn is_silent(&self, run: &FollowedRun, turn: &AgentInput<'_>) -> Result<bool> {
        // Silence is normal for one that says nothing before its model answers.
        let is_thinking = run.ended.exit.reason.is_some() && !self.parser.begins_at_once();
        if is_thinking || !run.report.final_text.trim().is_empty() || run.has_other_words {
            return Ok(false);
        }
        Ok(self.parser != Parser::Text || tail(turn.stderr, MAX_LAST_WORDS_BYTES)?.trim().is_empty())
    }

    /// Returns the limit that a run met by what the user says of its program: a plain command by its exit code, any agent by
    /// the pattern for its output. Of an agent whose stream is read, only its error is output.
    fn limit(&self, run: &FollowedRun, turn: &AgentInput<'_>) -> Result<Option<Cause>> {
        let is_text = self.parser == Parser::Text;
        let is_by_code = is_text && run.ended.exit.code == LIMIT_CODE;
        if run.ended.exit.reason.is_some() || !is_by_code && self.limit_pattern.is_none() {
            return Ok(None);
        }
        let said = match &run.report.failure {
            _ if is_text => tail(turn.stdout, MAX_LAST_WORDS_BYTES)?,
            Some(failure) => failure.message.clone(),
            None => String::new(),
        };
        let words = format!("{said}\n{}", tail(turn.stderr, MAX_LAST_WORDS_BYTES)?);
        let found = self.limit_pattern.as_ref().and_then(|pattern| pattern.find(&words));
        let words = match found {
            Some(found) => &words[words[..found.start()].rfind('\n').map_or(0, |end| end + 1)..],
            None if is_by_code => words.as_str(),
            None => return Ok(None),
        };
        let class = class_of_words(words, &[FailureClass::Quota]).unwrap_or(FailureClass::RateLimit);
        Ok(Some(Cause::new(class, Some(words.trim().to_owned()).filter(|words| !words.is_empty()))))
    }

    /// Returns why a run did not succeed.
    fn cause(&self, run: &FollowedRun, turn: &AgentInput<'_>) -> Result<Cause> {
        let exit = &run.ended.exit;
        Ok(match exit.reason {
            Some(ExitReason::StartFailed) => {
                Cause::new(FailureClass::NotInstalled, last_line(&last_words(turn)?))
            }
            // It was stopped because of what it was stuck on.
            Some(ExitReason::ErrorLoop) => {
                let words = run.last_error.clone().unwrap_or_default();
                let known = run.report.failure.as_ref().map(|failure| failure.class);
                let class = known.unwrap_or_else(|| class_of(None, &words));
                Cause { is_reported: false, ..Cause::new(class, Some(words)) }
            }
            Some(ExitReason::Lingered) => self.own_cause(run.report.failure.as_ref(), turn)?,
            // We stopped it, so its last message is not a failure of its own.
            Some(_) => Cause::default(),
            None if NOT_STARTED.contains(&exit.code) && run.duration_ms <= AT_ONCE_MS => {
                match not_started(turn)? {
                    Some(words) => Cause::new(FailureClass::NotInstalled, Some(words)),
                    None => self.own_cause(run.report.failure.as_ref(), turn)?,
                }
            }
            None => self.own_cause(run.report.failure.as_ref(), turn)?,
        })
    }

    /// Returns why an agent that exited by itself did not succeed.
    fn own_cause(&self, failure: Option<&Failure>, turn: &AgentInput<'_>) -> Result<Cause> {
        if let Some(failure) = failure.filter(|failure| !failure.message.is_empty()) {
            return Ok(Cause::new(failure.class, Some(failure.message.clone())));
        }
        let words = last_words(turn)?;
        let line = last_line(&words);
        if self.parser == Parser::Text {
            // The words of an unknown program may be about anything, so they imply no class.
            return Ok(Cause { words: line, ..Cause::default() });
        }
        let class = failure
            .map(|failure| failure.class)
            .or_else(|| class_of_words(&words, FailureClass::ALL))
            .unwrap_or(FailureClass::Other);
        let words = line.or_else(|| Some("its stream ended without a result".to_owned()));
        Ok(Cause { is_reported: failure.is_some(), ..Cause::new(class, words) })
    }

    /// Runs a call that shows whether `program` starts, inside of the sandbox with the variables of the agent.
    pub(super) fn check_inside(
        &self,
        tool: Tool,
        program: &str,
        sandbox: &Arc<Sandbox>,
        lookup: Lookup<'_>,
    ) -> Result<()> {
        let variable = |name: &str| {
            let set = self.environment.iter().rfind(|(set, _)| set == name);
            set.map(|(_, value)| value.clone()).or_else(|| lookup(name))
        };
        let seeded = sandbox.seed(&self.state)?;
        let variables = self.defaults.iter().chain(&self.environment).cloned().chain(seeded.variables());
        let tool = variables.fold(tool, |tool, (name, value)| tool.env(&name, value));
        let tried = tool.inside(&sandbox.for_agent(&self.state)).run();
        let _unchanged = seeded.give_back()?;
        let why = match tried {
            Ok(tried) if tried.is_success() => return Ok(()),
            Ok(tried) => tried.complaint(),
            Err(error) => error.root_cause().to_string(),
        };
        let why = summary(&Redactor::default().redact(&why));
        let path = if is_path(program) {
            Some(program.into())
        } else {
            on_path(program, &variable("PATH").unwrap_or_default())
        };
        let (hidden, show) = match &path {
            Some(path) => (format!(": the sandbox hides {path}"), path.parent().unwrap_or(path).to_string()),
            None => (String::new(), "FOLDER".to_owned()),
        };
        let why = if why.is_empty() { String::new() } else { format!(" ({why})") };
        bail!(
            "agent program `{program}` does not start in the sandbox{hidden}{why}\nhint: \
             `--set sandbox.show={show}` lets commands in the sandbox read it; or install it elsewhere"
        )
    }

    /// Returns the line that is given to the shell, where that is what is started.
    pub(super) fn script(&self) -> Option<&str> {
        match self.argv.as_slice() {
            [shell, flag, line] if shell == "sh" && flag == "-c" => Some(line),
            _ => None,
        }
    }

    /// Returns the command line with the model in it, as far as it is the same in each run.
    pub(super) fn arguments(&self) -> Vec<String> {
        let model = [("{model}", self.model.as_deref().unwrap_or_default())];
        let kind = if self.script().is_some() { Words::Script } else { Words::Plain };
        self.argv.iter().map(|word| fill(word, &model, kind)).collect()
    }

    fn child(&self, turn: &AgentInput<'_>, seeded: Option<&SeededState>) -> Result<Child> {
        let mut environment = self.environment.clone();
        environment.extend_from_slice(turn.environment);
        environment.extend(seeded.into_iter().flat_map(SeededState::variables));
        let prompt = match turn.sandbox {
            // It could write the original through the file that it reads from.
            Some(sandbox) => sandbox.copy_inside(turn.prompt)?,
            None => turn.prompt.to_owned(),
        };
        Ok(Child {
            argv: self.argv(turn, &prompt)?,
            directory: turn.directory.to_owned(),
            environment,
            defaults: self.defaults.clone(),
            removed: self.removed.clone(),
            stdin: (self.prompt == PromptVia::Stdin).then_some(prompt),
            stdout: turn.stdout.to_owned(),
            stderr: turn.stderr.to_owned(),
            marker: turn.marker.clone(),
            limits: turn.limits,
            fence: turn.sandbox.map(|sandbox| sandbox.for_agent(&self.state)),
        })
    }

    fn argv(&self, turn: &AgentInput<'_>, prompt_file: &Utf8Path) -> Result<Vec<String>> {
        let prompt = match self.prompt {
            PromptVia::Arg => {
                let bytes = std::fs::read(turn.prompt).with_context(|| format!("read {}", turn.prompt))?;
                let is_single_line =
                    self.argv.first().is_some_and(|program| takes_single_lines_only(program));
                if is_for_a_file(&bytes, is_single_line) {
                    format!("Read {prompt_file} and do exactly what it says.")
                } else {
                    String::from_utf8_lossy(&bytes).into_owned()
                }
            }
            PromptVia::Stdin | PromptVia::File => String::new(),
        };
        let usage_file = match turn.sandbox {
            Some(sandbox) => sandbox.home().join(USAGE_FILE),
            None => usage_file(turn.stdout),
        };
        let values = [
            ("{usage_file}", usage_file.as_str()),
            ("{prompt_file}", prompt_file.as_str()),
            ("{prompt}", prompt.as_str()),
            ("{model}", self.model.as_deref().unwrap_or_default()),
        ];
        let kind = if self.script().is_some() { Words::Script } else { Words::Plain };
        Ok(self.argv.iter().map(|word| fill(word, &values, kind)).collect())
    }
}

/// Returns true for a prompt that no argument can be.
fn is_for_a_file(prompt: &[u8], is_single_line: bool) -> bool {
    let is_too_long = prompt.len() > MAX_ARGUMENT_BYTES;
    is_too_long || prompt.contains(&0) || is_single_line && prompt.trim_ascii_end().contains(&b'\n')
}

/// Returns when the limit of a failed run resets, if it is known.
fn resets_at(run: &FollowedRun, cause: &Cause, turn: &AgentInput<'_>) -> Option<Timestamp> {
    if !cause.class.is_some_and(FailureClass::is_transient) {
        return None;
    }
    run.report.resets_at.or_else(|| {
        // The last message of a stopped run is about a retry, which does not matter any more.
        let words = cause.words.as_deref().filter(|_| run.ended.exit.reason.is_none())?;
        let now = turn.clock.now();
        reset_time_in(words, now).filter(|at| *at > now)
    })
}

/// Returns the shell's message if it could not start the agent, which itself printed nothing.
fn not_started(turn: &AgentInput<'_>) -> Result<Option<String>> {
    let is_silent = turn.stdout.metadata().is_ok_and(|stdout| stdout.len() == 0);
    Ok(if is_silent { last_line(&last_words(turn)?) } else { None })
}

fn remove_if_there(path: &Utf8Path) -> Result<()> {
    std::fs::remove_file(path).if_there().map(drop).with_context(|| format!("remove {path}"))
}

/// How the words of a command are interpreted.
#[derive(Debug, Clone, Copy)]
enum Words {
    /// Passed to the program unchanged.
    Plain,
    /// Read by a shell.
    Script,
}

/// Replaces placeholders by values. Inserted values are not expanded again.
fn fill(word: &str, values: &[(&str, &str)], kind: Words) -> String {
    let mut filled = String::with_capacity(word.len());
    let mut rest = word;
    while let Some(place) = rest.find('{') {
        filled.push_str(&rest[..place]);
        rest = &rest[place..];
        if let Some((name, value)) = values.iter().find(|(name, _)| rest.starts_with(name)) {
            filled.push_str(&match kind {
                Words::Plain => (*value).to_owned(),
                Words::Script => quoted(value),
            });
            rest = &rest[name.len()..];
        } else {
            filled.push('{');
            rest = &rest[1..];
        }
    }
    filled.push_str(rest);
    filled
}

/// As one word of a shell command. What needs no quotes gets none, so that it may be within quotes.
fn quoted(value: &str) -> String {
    let is_plain =
        !value.is_empty() && value.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+@:,=".contains(c));
    if is_plain { value.to_owned() } else { format!("'{}'", value.replace('\'', r"'\''")) }
}

/// Returns the last line that is not empty.
fn last_line(text: &Redacted) -> Option<String> {
    text.lines().map(without_escapes).map(|line| line.trim().to_owned()).rfind(|line| !line.is_empty())
}

/// Returns the end of what an agent wrote to stderr.
fn last_words(turn: &AgentInput<'_>) -> Result<Redacted> {
    Ok(turn.redactor.redact(&tail(turn.stderr, MAX_LAST_WORDS_BYTES)?))
}

/// Takes out what no run can have cost, and returns what is to be said of it: an agent may print any number.
fn drop_impossible(cost_usd: &mut Option<f64>, tokens: &mut Tokens) -> Option<String> {
    let cost = cost_usd.take_if(|cost| !(0.0..=MAX_COST_USD).contains(cost));
    let used = tokens.total().filter(|used| *used > MAX_TOKENS);
    let named = match (cost, used) {
        (Some(cost), _) if cost.is_nan() => "a cost below zero".to_owned(),
        (Some(cost), _) => format!("a cost of {cost} dollars"),
        (None, Some(used)) => format!("{used} tokens"),
        (None, None) => return None,
    };
    if used.is_some() {
        *tokens = Tokens::default();
    }
    Some(format!("the agent reports {named} for one attempt, which is not counted"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_that_no_argument_can_be_goes_by_file() {
        let too_long = "x".repeat(MAX_ARGUMENT_BYTES + 1);
        for (prompt, is_single_line, by_file) in [
            (&b"one\ntwo\n"[..], false, false),
            (b"one\ntwo\n", true, true),
            (b"one\r\n", true, false),
            (b"one\0", false, true),
            (too_long.as_bytes(), false, true),
        ] {
            assert_eq!(is_for_a_file(prompt, is_single_line), by_file, "{}", prompt.len());
        }
    }

    #[test]
    fn values_are_put_in_once() {
        let values = [("{prompt_file}", "/p {model}"), ("{prompt}", "it's {x}"), ("{model}", "opus")];
        for (word, plain, script) in [
            ("--model={model}", "--model=opus", "--model=opus"),
            ("{prompt_file}", "/p {model}", "'/p {model}'"),
            ("{prompt}", "it's {x}", r"'it'\''s {x}'"),
            ("{other} {{model}", "{other} {opus", "{other} {opus"),
            ("é{model}é", "éopusé", "éopusé"),
        ] {
            assert_eq!(fill(word, &values, Words::Plain), plain);
            assert_eq!(fill(word, &values, Words::Script), script);
        }
    }

    #[test]
    fn the_last_line_is_the_last_that_says_something() {
        let last_line = |text: &str| last_line(&Redactor::default().redact(text));
        assert_eq!(last_line("a\n  b \n\n").as_deref(), Some("b"));
        assert_eq!(last_line("\n"), None);
    }

    #[test]
    fn a_cost_or_a_number_of_tokens_that_cannot_be_is_not_counted_and_said() {
        for (cost, output, kept, said) in [
            (Some(0.0), Some(10), Some(0.0), None),
            (Some(999.5), Some(2_000_000_000), Some(999.5), None),
            (None, None, None, None),
            (Some(-5.0), None, None, Some("a cost of -5 dollars")),
            (Some(1e9), None, None, Some("a cost of 1000000000 dollars")),
            (Some(f64::NAN), None, None, Some("a cost below zero")),
            (Some(f64::INFINITY), None, None, Some("a cost of inf dollars")),
            (Some(1.0), Some(u64::MAX), Some(1.0), Some("18446744073709551615 tokens")),
        ] {
            let (mut cost, mut tokens) = (cost, Tokens { output, ..Tokens::default() });
            let warning = drop_impossible(&mut cost, &mut tokens);
            assert_eq!(cost, kept);
            let said =
                said.map(|said| format!("the agent reports {said} for one attempt, which is not counted"));
            assert_eq!(warning, said);
            assert_eq!(tokens.output, output.filter(|output| *output < u64::MAX));
        }
    }
}
