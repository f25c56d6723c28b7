//! Runs an agent as a child and reads what it prints, whatever agent it is.

use std::io::ErrorKind;

use anyhow::{Context, Result};
use camino::{Utf8Path, Utf8PathBuf};

use super::lines::{Lines, tail};
use super::stream::{End, class_of, class_of_words, time_told, usage_file};
use super::vitals::Vitals;
use super::{Turn, rollout};
use crate::process::{Child, Interrupt};
use crate::record::{AgentEvent, AgentRun, ExitReason, FailureClass, Parser, PromptVia, summary};

/// How much of stderr's end may hold the reason for a failure.
const LAST_WORDS: u64 = 8 << 10;

/// Longest prompt that is given as an argument: the system takes no longer one than 128 KiB.
const LONGEST_ARGUMENT: usize = 120 << 10;

/// Codes by which a shell says that it could not start what it was to start.
const NOT_STARTED: [i32; 2] = [126, 127];

/// A run that took no longer, in milliseconds, did no work before it missed a program.
const AT_ONCE: u64 = 5_000;

/// What to start, and how to talk to it.
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
}

impl Launch {
    pub(super) fn run(
        &self,
        turn: &Turn<'_>,
        interrupt: &Interrupt,
        say: &mut dyn FnMut(AgentEvent),
    ) -> Result<AgentRun> {
        let child = self.child(turn)?;
        // One that a run before left here would be taken for that of this run.
        remove_if_there(&usage_file(turn.stdout))?;
        let mut stream = self.parser.stream();
        let mut lines = Lines::new(turn.stdout);
        let mut vitals = Vitals::default();
        let mut trouble = None;
        let stopwatch = turn.clock.stopwatch();
        let ended = child.run(interrupt, &mut || {
            if trouble.is_none() {
                let mut hear = |event: AgentEvent| {
                    vitals.note(&event);
                    say(event);
                };
                trouble = lines.read_some(&mut |line| stream.line(line, &mut hear)).err();
            }
            vitals.pulse()
        })?;
        let duration_ms = stopwatch.elapsed_ms();
        if let Some(error) = trouble {
            return Err(error.context("follow the agent's output"));
        }
        lines.read_rest(&mut |line| stream.line(line, say)).context("read the agent's output")?;

        let told = stream.finish(&End { code: ended.exit.code, stdout: turn.stdout })?;
        let is_good = ended.exit.is_success() && told.is_success;
        let (failure_class, error) = match ended.exit.reason {
            _ if is_good => (None, None),
            Some(ExitReason::StartFailed) => {
                (Some(FailureClass::NotInstalled), last_line(&tail(turn.stderr, LAST_WORDS)?))
            }
            // What kept it from getting on is why it was ended.
            Some(ExitReason::ErrorLoop) => {
                let words = vitals.last_trouble().unwrap_or_default();
                let known = told.error.map_or_else(|| class_of(None, &words), |(class, _)| class);
                (Some(known), Some(words))
            }
            // It was we who ended it, so what it says about its end is no failure of its own.
            Some(_) => (None, None),
            None if NOT_STARTED.contains(&ended.exit.code) && duration_ms <= AT_ONCE => {
                match not_started(turn)? {
                    Some(words) => (Some(FailureClass::NotInstalled), Some(words)),
                    None => self.failure(told.error, turn)?,
                }
            }
            None => self.failure(told.error, turn)?,
        };
        let resets_at = match failure_class {
            Some(class) if class.is_passing() => told
                .resets_at
                .or_else(|| rollout::resets_at(self.codex_home.as_deref()?, told.thread.as_deref()?))
                .or_else(|| {
                    // Of one that we stopped the last words are those of a retry, which takes no time any more.
                    let words = error.as_deref().filter(|_| ended.exit.reason.is_none())?;
                    Some(turn.clock.now().plus(time_told(words)?))
                }),
            _ => None,
        };
        Ok(AgentRun {
            exit: ended.exit,
            duration_ms,
            is_good,
            final_text: told.final_text,
            model: told.model.or_else(|| self.model.clone()),
            tokens: told.tokens,
            cost_usd: told.cost_usd,
            tool_calls: told.tool_calls,
            failure_class,
            error,
            resets_at,
            leftovers: ended.leftovers,
        })
    }

    /// Why an agent that ended by itself did not succeed.
    fn failure(
        &self,
        told: Option<(FailureClass, String)>,
        turn: &Turn<'_>,
    ) -> Result<(Option<FailureClass>, Option<String>)> {
        if let Some((class, words)) = told.as_ref().filter(|(_, words)| !words.is_empty()) {
            return Ok((Some(*class), Some(words.clone())));
        }
        let words = tail(turn.stderr, LAST_WORDS)?;
        let line = last_line(&words);
        if self.parser == Parser::Text {
            // The words of an unknown program may be about anything, so they tell no class.
            return Ok((None, line));
        }
        let class = told.map(|(class, _)| class);
        let class =
            class.or_else(|| class_of_words(&words, FailureClass::ALL)).unwrap_or(FailureClass::Other);
        Ok((Some(class), line.or_else(|| Some("its stream ended without a result".to_owned()))))
    }

    /// The line that is given to the shell, where that is what is started.
    pub(super) fn script(&self) -> Option<&str> {
        match self.argv.as_slice() {
            [shell, flag, line] if shell == "sh" && flag == "-c" => Some(line),
            _ => None,
        }
    }

    fn child(&self, turn: &Turn<'_>) -> Result<Child> {
        let mut environment = self.environment.clone();
        environment.extend_from_slice(turn.environment);
        Ok(Child {
            argv: self.argv(turn)?,
            directory: turn.directory.to_owned(),
            environment,
            defaults: self.defaults.clone(),
            removed: self.removed.clone(),
            stdin: (self.prompt == PromptVia::Stdin).then(|| turn.prompt.to_owned()),
            stdout: turn.stdout.to_owned(),
            stderr: turn.stderr.to_owned(),
            marker: turn.marker.clone(),
            limits: turn.limits,
        })
    }

    fn argv(&self, turn: &Turn<'_>) -> Result<Vec<String>> {
        let prompt = match self.prompt {
            PromptVia::Arg => {
                let bytes = std::fs::read(turn.prompt).with_context(|| format!("read {}", turn.prompt))?;
                if bytes.len() > LONGEST_ARGUMENT || bytes.contains(&0) {
                    format!("Read {} and do exactly what it says.", turn.prompt)
                } else {
                    String::from_utf8_lossy(&bytes).into_owned()
                }
            }
            PromptVia::Stdin | PromptVia::File => String::new(),
        };
        let usage_file = usage_file(turn.stdout);
        let values = [
            ("{usage_file}", usage_file.as_str()),
            ("{prompt_file}", turn.prompt.as_str()),
            ("{prompt}", prompt.as_str()),
            ("{model}", self.model.as_deref().unwrap_or_default()),
        ];
        let kind = if self.script().is_some() { Words::Script } else { Words::Plain };
        Ok(self.argv.iter().map(|word| fill(word, &values, kind)).collect())
    }
}

/// What a shell says where it could not start the agent: something, while the agent itself has said nothing.
fn not_started(turn: &Turn<'_>) -> Result<Option<String>> {
    let is_silent = turn.stdout.metadata().is_ok_and(|stdout| stdout.len() == 0);
    Ok(if is_silent { last_line(&tail(turn.stderr, LAST_WORDS)?) } else { None })
}

fn remove_if_there(path: &Utf8Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("remove {path}"))
        }
        _ => Ok(()),
    }
}

/// What the words of a command are made of.
#[derive(Debug, Clone, Copy)]
enum Words {
    /// Given to the program as they are.
    Plain,
    /// Read by a shell.
    Script,
}

/// Puts values in place of their names. What was put in is not looked at again.
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

/// As one word of a shell command. What needs no quotes gets none, so that it may stand within quotes.
fn quoted(value: &str) -> String {
    let is_plain =
        !value.is_empty() && value.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+@:,=".contains(c));
    if is_plain { value.to_owned() } else { format!("'{}'", value.replace('\'', r"'\''")) }
}

fn last_line(text: &str) -> Option<String> {
    text.lines().map(summary).rfind(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(last_line("a\n  b \n\n").as_deref(), Some("b"));
        assert_eq!(last_line("\n"), None);
    }
}
