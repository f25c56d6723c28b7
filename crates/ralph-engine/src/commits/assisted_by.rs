//! The trailer that names the agents of a commit, in the form that the Linux kernel asks for.

use anyhow::Result;

use ralph_core::record::{FailureClass, LogEntry, TaskName};

use crate::loop_inputs::LoopInputs;
use crate::recorder::Recorder;

/// Maximum number of iterations of the feature that are looked through.
const MAX_ITERATIONS: usize = 1000;

/// Longest name of an agent and of a model, in characters: linters of commit messages permit lines of 100.
const MAX_AGENT_CHARS: usize = 24;
const MAX_MODEL_CHARS: usize = 56;

/// Returns a line `Assisted-by: AGENT:MODEL` for each agent and model that worked on these tasks, the first one first. `now` is who
/// worked in an iteration that is not recorded yet.
pub(crate) fn assisted_by(
    inputs: &LoopInputs<'_>,
    recorder: &Recorder<'_>,
    now: Option<(&str, Option<&str>)>,
    tasks: &[&TaskName],
) -> Result<String> {
    if !inputs.config.settings.commit_assisted_by || tasks.is_empty() {
        return Ok(String::new());
    }
    let entries = inputs.store.iterations_of(&recorder.place().feature, MAX_ITERATIONS)?;
    let is_meant = |entry: &&LogEntry| tasks.iter().any(|task| entry.is_of(task)) && has_worked(entry);
    let recorded = entries.iter().filter(is_meant).filter_map(|entry| Some((entry.agent()?, entry.model())));
    // Records are without secrets, what an agent says of itself now is not.
    let now = now.map(|(agent, model)| (agent, model.map(|model| recorder.redactor().redact_text(model).0)));
    Ok(trailers(recorded.chain(now.as_ref().map(|(agent, model)| (*agent, model.as_deref())))))
}

/// Returns true if an agent had its turn and the provider let it begin.
fn has_worked(entry: &LogEntry) -> bool {
    let of_provider = |class: FailureClass| class.is_unusable() || class.is_transient();
    let has_answered = entry.tokens().output.is_some_and(|count| count > 0);
    entry.is_attempt_or_cut_short() && (has_answered || !entry.failure_class().is_some_and(of_provider))
}

fn trailers<'a>(workers: impl Iterator<Item = (&'a str, Option<&'a str>)>) -> String {
    let mut named: Vec<(String, String)> = Vec::new();
    for (agent, model) in workers {
        let agent = name(agent, "._-/+", MAX_AGENT_CHARS);
        let worker = (agent, name(model.unwrap_or_default(), "._-/+:@", MAX_MODEL_CHARS));
        if !worker.0.is_empty() && !named.contains(&worker) {
            named.push(worker);
        }
    }
    let has_model = |agent: &str| named.iter().any(|(other, model)| other == agent && !model.is_empty());
    let lines = named.iter().filter_map(|(agent, model)| match model.as_str() {
        "" if has_model(agent) => None,
        "" => Some(format!("Assisted-by: {agent}\n")),
        model => Some(format!("Assisted-by: {agent}:{model}\n")),
    });
    lines.collect()
}

/// Returns the text as one word of letters, digits and, between them, these signs: it ends no line, and is no mention.
fn name(text: &str, signs: &str, most: usize) -> String {
    let mut name = String::new();
    for c in text.chars().take(most) {
        let follows = name.ends_with(char::is_alphanumeric);
        match c {
            c if c.is_alphanumeric() => name.push(c),
            c if follows && signs.contains(c) => name.push(c),
            _ if follows => name.push('-'),
            _ => {}
        }
    }
    name.trim_end_matches(|c: char| !c.is_alphanumeric()).to_owned()
}

#[cfg(test)]
mod tests {
    use ralph_core::record::samples;
    use ralph_core::record::{Outcome, Tokens};

    use super::*;

    #[test]
    fn each_agent_and_model_is_named_once_on_one_line() {
        let long = "m".repeat(200);
        for (workers, expected) in [
            (&[][..], ""),
            (&[("claude", Some("claude-opus-4-1"))], "claude:claude-opus-4-1"),
            (&[("claude", None)], "claude"),
            (&[("mine", Some(""))], "mine"),
            // Names as vendors have them.
            (&[("ollama", Some("qwen2.5-coder:32b"))], "ollama:qwen2.5-coder:32b"),
            (
                &[("opencode", Some("anthropic/claude-sonnet-4@20250514"))],
                "opencode:anthropic/claude-sonnet-4@20250514",
            ),
            (&[("claude", Some("claude-sonnet-4-5[1m]"))], "claude:claude-sonnet-4-5-1m"),
            (&[("müller", Some("größe"))], "müller:größe"),
            // Each once, in the order in which they worked; one without a model adds nothing.
            (
                &[
                    ("codex", Some("gpt-5")),
                    ("claude", None),
                    ("claude", Some("a")),
                    ("codex", Some("gpt-5")),
                    ("claude", Some("b")),
                ],
                "codex:gpt-5 claude:a claude:b",
            ),
            // What would be another line, another trailer or a mention.
            (
                &[("x", Some("a\nSigned-off-by: Eve <eve@example.com>"))],
                "x:a-Signed-off-by:Eve-eve@example.com",
            ),
            (&[("x: y", Some("\u{1b}[31m two  words\t\r\0\u{202e}\u{2028}z"))], "x-y:31m-two-words-z"),
            (&[("x", Some("@torvalds")), ("#12", Some("--"))], "x:torvalds 12"),
            (&[("\n", Some("lost"))], ""),
            (&[("x", Some(long.as_str()))], &format!("x:{}", &long[..56])),
        ] {
            let lines = trailers(workers.iter().copied());
            let found: Vec<_> =
                lines.lines().map(|line| line.strip_prefix("Assisted-by: ").unwrap()).collect();
            assert_eq!(found.join(" "), expected);
        }
    }

    #[test]
    fn who_only_met_a_limit_did_not_work() {
        for (outcome, class, output, expected) in [
            (Outcome::Success, None, None, true),
            (Outcome::Failure, None, None, true),
            (Outcome::Failure, Some(FailureClass::Question), None, true),
            (Outcome::Interrupted, None, None, true),
            (Outcome::Interrupted, Some(FailureClass::RateLimit), Some(120), true),
            (Outcome::Interrupted, Some(FailureClass::RateLimit), None, false),
            (Outcome::Failure, Some(FailureClass::Auth), Some(0), false),
            (Outcome::Skipped, None, None, false),
            (Outcome::Reopened, None, None, false),
        ] {
            let mut record = samples::iteration(outcome);
            (record.failure_class, record.tokens) = (class, Tokens { output, ..Tokens::default() });
            assert_eq!(has_worked(&samples::entry_of(&record)), expected, "{outcome:?} {class:?} {output:?}");
        }
    }
}
