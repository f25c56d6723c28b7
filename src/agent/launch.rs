//! Runs an agent as a child and reads what it prints, whatever agent it is.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use anyhow::{Context, Result};
use camino::Utf8Path;

use super::claude_stream::{ClaudeStream, Told, class_of_words};
use super::lines::Lines;
use super::{Parser, PromptVia, Turn};
use crate::process::{Child, Interrupt};
use crate::record::{AgentEvent, AgentRun, ExitReason, FailureClass, Tokens, summary};

/// How much of an output's end is the final message where nothing marks its begin.
const FINAL_TEXT: u64 = 64 << 10;

/// How much of stderr's end may hold the reason for a failure.
const LAST_WORDS: u64 = 8 << 10;

/// Longest prompt that is given as an argument: the system takes no longer one than 128 KiB.
const LONGEST_ARGUMENT: usize = 120 << 10;

/// Most of a line of plain output that is shown while the agent runs.
const SHOWN_LINE: usize = 4 << 10;

/// What to start, and how to talk to it.
#[derive(Debug, Clone)]
pub(super) struct Launch {
    /// With `{prompt_file}`, `{prompt}` and `{model}` still in it.
    pub argv: Vec<String>,
    pub environment: Vec<(String, String)>,
    pub defaults: Vec<(String, String)>,
    pub removed: Vec<String>,
    pub prompt: PromptVia,
    pub parser: Parser,
    pub model: Option<String>,
}

/// A stream that is being read.
enum Reading {
    Text,
    Claude(Box<ClaudeStream>),
}

impl Reading {
    fn line(&mut self, line: &[u8], say: &mut dyn FnMut(AgentEvent)) {
        match self {
            Self::Text => {
                let shown = &line[..line.len().min(SHOWN_LINE)];
                say(AgentEvent::Text { text: String::from_utf8_lossy(shown).into_owned() });
            }
            Self::Claude(stream) => stream.read(line, say),
        }
    }
}

impl Launch {
    pub(super) fn run(
        &self,
        turn: &Turn<'_>,
        interrupt: &Interrupt,
        say: &mut dyn FnMut(AgentEvent),
    ) -> Result<AgentRun> {
        let child = self.child(turn)?;
        let mut reading = match self.parser {
            Parser::Text => Reading::Text,
            Parser::Claude => Reading::Claude(Box::default()),
        };
        let mut lines = Lines::new(turn.stdout);
        let mut trouble = None;
        let stopwatch = turn.clock.stopwatch();
        let ended = child.run(interrupt, &mut || {
            if trouble.is_none() {
                trouble = lines.read_some(&mut |line| reading.line(line, say)).err();
            }
        })?;
        let duration_ms = stopwatch.elapsed_ms();
        if let Some(error) = trouble {
            return Err(error.context("follow the agent's output"));
        }
        lines.read_rest(&mut |line| reading.line(line, say)).context("read the agent's output")?;

        let told = match reading {
            Reading::Text => Told {
                is_success: true,
                final_text: tail(turn.stdout, FINAL_TEXT)?,
                model: None,
                tokens: Tokens::default(),
                cost_usd: None,
                tool_calls: Vec::new(),
                error: None,
                resets_at: None,
            },
            Reading::Claude(stream) => stream.finish(),
        };
        let is_good = ended.exit.is_success() && told.is_success;
        let (failure_class, error) = match ended.exit.reason {
            _ if is_good => (None, None),
            Some(ExitReason::StartFailed) => {
                (Some(FailureClass::NotInstalled), last_line(&tail(turn.stderr, LAST_WORDS)?))
            }
            // It was we who ended it, so what it says about its end is no failure of its own.
            Some(_) => (None, None),
            None => self.failure(told.error, turn)?,
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
            resets_at: told.resets_at,
            leftovers: ended.leftovers,
        })
    }

    /// Why an agent that ended by itself did not succeed.
    fn failure(
        &self,
        told: Option<(FailureClass, String)>,
        turn: &Turn<'_>,
    ) -> Result<(Option<FailureClass>, Option<String>)> {
        if let Some((class, words)) = told {
            return Ok((Some(class), Some(words)));
        }
        let words = tail(turn.stderr, LAST_WORDS)?;
        let line = last_line(&words);
        Ok(match self.parser {
            // The words of an unknown program may be about anything, so they tell no class.
            Parser::Text => (None, line),
            Parser::Claude => {
                let class = class_of_words(&words, FailureClass::ALL).unwrap_or(FailureClass::Other);
                (Some(class), line.or_else(|| Some("its stream ended without a result".to_owned())))
            }
        })
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
        let values = [
            ("{prompt_file}", turn.prompt.as_str()),
            ("{prompt}", prompt.as_str()),
            ("{model}", self.model.as_deref().unwrap_or_default()),
        ];
        let is_script = matches!(self.argv.as_slice(), [shell, flag, _] if shell == "sh" && flag == "-c");
        let kind = if is_script { Words::Script } else { Words::Plain };
        Ok(self.argv.iter().map(|word| fill(word, &values, kind)).collect())
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

/// The end of a file, from the begin of a line.
fn tail(path: &Utf8Path, most: u64) -> Result<String> {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let skipped = file.metadata()?.len().saturating_sub(most);
        file.seek(SeekFrom::Start(skipped))?;
        let mut bytes = Vec::new();
        file.take(most).read_to_end(&mut bytes)?;
        if skipped > 0
            && let Some(end) = bytes.iter().position(|byte| *byte == b'\n')
        {
            bytes.drain(..=end);
        }
        Ok(bytes)
    };
    let bytes = read().with_context(|| format!("read the end of {path}"))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn last_line(text: &str) -> Option<String> {
    text.lines().map(str::trim).rfind(|line| !line.is_empty()).map(summary)
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
    fn a_tail_begins_with_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = camino::Utf8PathBuf::from_path_buf(folder.path().join("out")).unwrap();
        std::fs::write(&path, b"first\nsecond\nthird\xff\n").unwrap();
        assert_eq!(tail(&path, 1000).unwrap(), "first\nsecond\nthird\u{fffd}\n");
        assert_eq!(tail(&path, 12).unwrap(), "third\u{fffd}\n");
        assert_eq!(last_line("a\n  b \n\n").as_deref(), Some("b"));
        assert_eq!(last_line("\n"), None);
    }
}
