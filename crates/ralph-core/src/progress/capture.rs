//! What is noted down of an iteration for those that come after it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

use failure_excerpt::{Examination, clean};
use regex::{Regex, RegexBuilder};
use serde::Serialize;

use crate::record::{CommandRun, FACTS_VERSION, Facts, Failing, Outcome, ToolCall, ToolKind, ToolUse};

use super::markdown::one_line;
use super::{ExcerptMode, IterationContext};

/// Longest excerpt that is kept, in characters.
const EXCERPT_CHARS: usize = 1000;
/// Most of a final message that is kept, in characters.
pub const FINAL_MESSAGE_CHARS: usize = 4000;
/// Longest of all other texts.
const TEXT_CHARS: usize = 300;
/// Maximum number of bytes of all facts together, as JSON.
const MAX_FACTS_BYTES: usize = 16 * 1024;
/// Maximum number of values that one rule of the user's yields.
const MAX_VALUES_PER_RULE: usize = 20;
const MAX_WARNINGS: usize = 20;
const MAX_ERRORS: usize = 20;
const MAX_VALUES: usize = 6;

/// The user's rules: what to pull out of outputs, by name.
#[derive(Debug, Clone, Default)]
pub struct Rules(Vec<(String, Regex)>);

impl Rules {
    /// Compiles patterns that are known to be sound; `^` and `$` are ends of lines.
    pub fn new<'a>(rules: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, regex::Error> {
        let compiled = rules.into_iter().map(|(name, pattern)| {
            let regex = RegexBuilder::new(pattern).multi_line(true).build()?;
            Ok((name.to_owned(), regex))
        });
        compiled.collect::<Result<_, _>>().map(Self)
    }

    /// Returns what each rule finds: its first group, or all that matches if it has none. Each value once.
    fn captured(&self, texts: &[&str]) -> BTreeMap<String, Vec<String>> {
        let mut captured = BTreeMap::new();
        for (name, regex) in &self.0 {
            let mut values: Vec<String> = Vec::new();
            for found in texts.iter().flat_map(|text| regex.captures_iter(text)) {
                let value = found.get(1).or_else(|| found.get(0)).map(|value| short(value.as_str()));
                if let Some(value) = value.filter(|value| !value.is_empty() && !values.contains(value)) {
                    values.push(value);
                }
                if values.len() == MAX_VALUES_PER_RULE {
                    break;
                }
            }
            if !values.is_empty() {
                captured.insert(name.clone(), values);
            }
        }
        captured
    }
}

/// Returns the facts of an iteration, within the limit; what has no room is counted. The context is `None` if nothing ran to
/// its end; `examined` is the output of a validation, read through.
pub fn facts(
    outcome: Outcome,
    tool_calls: &[ToolCall],
    final_text: &str,
    context: Option<&IterationContext>,
    examined: Option<&Examination>,
    rules: &Rules,
) -> Facts {
    let mut facts = Facts { version: FACTS_VERSION, ..Facts::default() };
    let mut room = FactsBudget { left: MAX_FACTS_BYTES, left_out: 0 };
    let mut texts = vec![final_text];
    if let Some(context) = context {
        texts.extend([context.stdout.as_str(), context.stderr.as_str()]);
        if outcome == Outcome::Failure && !context.passed() {
            facts.excerpt = context.summarize_examined(examined, ExcerptMode::Excerpt, EXCERPT_CHARS);
            room.take(&facts.excerpt);
            if let Some(examined) = examined.filter(|_| context.exit.code != 0) {
                facts.levels = examined.fingerprint();
                facts.errors = room.keep(errors(examined));
            }
        }
    }
    facts.final_message = end(final_text, FINAL_MESSAGE_CHARS);
    for (name, values) in rules.captured(&texts) {
        let values = room.keep(values);
        if !values.is_empty() {
            facts.captured.insert(name, values);
        }
    }
    facts.commands = room.keep_first(commands(tool_calls), |run| run.is_error);
    facts.tools = room.keep(tools(tool_calls));
    if let Some(context) = context.filter(|context| context.validation_command.is_some()) {
        facts.warnings = room.keep(warnings(context));
    }
    facts.files_read = room.keep(files_read(tool_calls));
    facts.left_out = room.left_out;
    facts
}

/// Returns the last characters of a text, from the start of a line.
fn end(text: &str, max_chars: usize) -> String {
    let text = clean(text);
    let text = text.trim();
    let Some((start, _)) = text.char_indices().rev().nth(max_chars.saturating_sub(1)) else {
        return text.to_owned();
    };
    let end = &text[start..];
    let whole = if start == 0 { end } else { end.split_once('\n').map_or(end, |(_, rest)| rest) };
    whole.trim().to_owned()
}

/// Space that is used up by what is worth most first.
struct FactsBudget {
    left: usize,
    left_out: usize,
}

impl FactsBudget {
    fn take(&mut self, item: &impl Serialize) -> bool {
        let size = serde_json::to_string(item).map_or(usize::MAX, |json| json.len() + 1);
        let fits = size <= self.left;
        self.left -= if fits { size } else { 0 };
        fits
    }

    fn keep<T: Serialize>(&mut self, items: Vec<T>) -> Vec<T> {
        let all = items.len();
        let kept: Vec<T> = items.into_iter().filter(|item| self.take(item)).collect();
        self.left_out += all - kept.len();
        kept
    }

    /// As [`Self::keep`], where those that are `worth` more are kept before the others. The order stays.
    fn keep_first<T: Serialize>(&mut self, items: Vec<T>, worth: impl Fn(&T) -> bool) -> Vec<T> {
        let mut fits: Vec<bool> = items.iter().map(|item| worth(item) && self.take(item)).collect();
        for (item, fits) in items.iter().zip(&mut fits) {
            *fits = *fits || (!worth(item) && self.take(item));
        }
        self.left_out += fits.iter().filter(|fits| !**fits).count();
        items.into_iter().zip(fits).filter_map(|(item, fits)| fits.then_some(item)).collect()
    }
}

/// Returns the causes that a tool names, but for what only follows from others.
fn errors(examined: &Examination) -> Vec<Failing> {
    let troubles = examined.summaries().into_iter().filter(|trouble| trouble.stage != "echo");
    troubles
        .take(MAX_ERRORS)
        .map(|trouble| Failing {
            tool: trouble.tool.to_owned(),
            id: short(trouble.id),
            code: short(trouble.code),
            message: short(trouble.message),
            values: trouble.values.iter().take(MAX_VALUES).map(|value| short(value)).collect(),
            file: short(trouble.file),
        })
        .collect()
}

fn commands(calls: &[ToolCall]) -> Vec<CommandRun> {
    let mut runs: Vec<CommandRun> = Vec::new();
    let mut seen = HashSet::new();
    // The last run of a command decides whether it works.
    for call in calls.iter().rev().filter(|call| call.kind == ToolKind::Shell) {
        let command = short(&call.arguments_summary);
        if command.is_empty() || !seen.insert(form(&command)) {
            continue;
        }
        let failed = call.is_error;
        runs.push(CommandRun {
            command,
            is_error: failed,
            exit_code: call.exit_code.filter(|_| failed),
            last_line: if failed { short(&call.last_line) } else { String::new() },
        });
    }
    runs.reverse();
    runs
}

/// Returns the form by which runs of one command are known: without the shell around it, and without a change of folder
/// before it.
fn form(command: &str) -> String {
    let words: Vec<&str> = command.split_whitespace().collect();
    let line = words.join(" ");
    let shells = ["/bin/bash -lc ", "bash -lc ", "/bin/sh -c ", "sh -c "];
    let bare = shells.iter().find_map(|shell| line.strip_prefix(shell)).map_or(line.as_str(), unquoted);
    let rest = bare.strip_prefix("cd ").and_then(|rest| rest.split_once(" && "));
    rest.map_or(bare, |(_, rest)| rest).to_owned()
}

fn unquoted(word: &str) -> &str {
    let mut quotes = ['"', '\''].into_iter();
    quotes.find_map(|quote| word.strip_prefix(quote)?.strip_suffix(quote)).unwrap_or(word)
}

/// Returns the commands that failed in an iteration, in the order in which they ran: at most `max_commands`, those that
/// said why before those that printed nothing, and of these the last.
pub fn failed_commands(commands: &[CommandRun], max_commands: usize) -> Vec<&CommandRun> {
    let failed = commands.iter().enumerate().filter(|(_, run)| run.is_error);
    let mut chosen: Vec<(usize, &CommandRun)> = failed.collect();
    chosen.sort_by_key(|(at, run)| (run.last_line.is_empty(), Reverse(*at)));
    chosen.truncate(max_commands);
    chosen.sort_by_key(|(at, _)| *at);
    chosen.into_iter().map(|(_, run)| run).collect()
}

fn tools(calls: &[ToolCall]) -> Vec<ToolUse> {
    let mut uses: Vec<ToolUse> = Vec::new();
    for call in calls {
        let place = uses.iter().position(|known| known.tool_name == call.tool_name).unwrap_or_else(|| {
            uses.push(ToolUse { tool_name: call.tool_name.clone(), calls: 0, errors: 0 });
            uses.len() - 1
        });
        uses[place].calls += 1;
        uses[place].errors += usize::from(call.is_error);
    }
    uses
}

fn files_read(calls: &[ToolCall]) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    for call in calls.iter().filter(|call| call.kind == ToolKind::Read && !call.is_error) {
        let file = short(&call.arguments_summary);
        if !file.is_empty() && !files.contains(&file) {
            files.push(file);
        }
    }
    files
}

/// Lines of an output that call themselves a warning, each once.
fn warnings(context: &IterationContext) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for text in [&context.stdout, &context.stderr] {
        for line in text.lines() {
            let bare = line.trim_start();
            let is_warning =
                ["warning", "Warning", "WARNING", "WARN ", "warn: "].iter().any(|w| bare.starts_with(w));
            if is_warning && found.len() < MAX_WARNINGS {
                let line = short(bare);
                if !found.contains(&line) {
                    found.push(line);
                }
            }
        }
    }
    found
}

fn short(text: &str) -> String {
    one_line(text).chars().take(TEXT_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(kind: ToolKind, arguments: &str, is_error: bool) -> ToolCall {
        ToolCall {
            tool_name: format!("{kind:?}"),
            kind,
            arguments_summary: arguments.to_owned(),
            result_summary: String::new(),
            is_error,
            at_ms: None,
            end_ms: None,
            exit_code: is_error.then_some(3),
            last_line: if is_error { "no".to_owned() } else { String::new() },
            is_denied: false,
        }
    }

    fn of(calls: &[ToolCall]) -> Facts {
        facts(Outcome::Success, calls, "", None, None, &Rules::default())
    }

    #[test]
    fn tool_calls_become_tools_files_and_commands_by_how_they_ended() {
        let facts = of(&[
            call(ToolKind::Read, "src/a.rs", false),
            call(ToolKind::Read, "src/a.rs", false),
            call(ToolKind::Read, "gone.rs", true),
            call(ToolKind::Shell, "cargo test", true),
            call(ToolKind::Shell, "ls", false),
            call(ToolKind::Shell, "cargo test", false),
        ]);
        assert_eq!(facts.version, FACTS_VERSION);
        assert_eq!(facts.files_read, ["src/a.rs"]);
        let commands: Vec<_> =
            facts.commands.iter().map(|run| (run.command.as_str(), run.is_error)).collect();
        assert_eq!(commands, [("ls", false), ("cargo test", false)]);
        let tools: Vec<_> =
            facts.tools.iter().map(|tool| (tool.tool_name.as_str(), tool.calls, tool.errors)).collect();
        assert_eq!(tools, [("Read", 3, 1), ("Shell", 3, 1)]);
    }

    #[test]
    fn a_command_that_later_succeeded_in_the_same_form_did_not_fail() {
        let facts = of(&[
            call(ToolKind::Shell, "cd /repo && cargo  test", true),
            call(ToolKind::Shell, "/bin/bash -lc 'cargo test'", false),
            call(ToolKind::Shell, "cargo test | tail -3", true),
            call(ToolKind::Edit, "a.rs", true),
        ]);
        let failed = failed_commands(&facts.commands, 5);
        assert_eq!(failed.len(), 1, "{failed:?}");
        let expected = CommandRun {
            command: "cargo test | tail -3".to_owned(),
            is_error: true,
            exit_code: Some(3),
            last_line: "no".to_owned(),
        };
        assert_eq!(failed[0], &expected);
    }

    #[test]
    fn the_last_commands_that_failed_with_words_come_before_silent_ones() {
        let run = |command: &str, last_line: &str| CommandRun {
            command: command.to_owned(),
            is_error: last_line != "ok",
            last_line: last_line.to_owned(),
            ..CommandRun::default()
        };
        let runs = [run("a", "x"), run("b", "y"), run("grep -q z f", ""), run("c", "ok"), run("d", "z")];
        let names = |max| -> Vec<_> {
            failed_commands(&runs, max).into_iter().map(|run| run.command.as_str()).collect()
        };
        assert_eq!(names(2), ["b", "d"]);
        assert_eq!(names(4), ["a", "b", "grep -q z f", "d"]);
    }

    #[test]
    fn failed_commands_are_kept_where_room_is_short() {
        let calls: Vec<_> =
            (0..300).map(|n| call(ToolKind::Shell, &format!("{n} {}", "x".repeat(290)), n >= 290)).collect();
        let facts = of(&calls);
        assert_eq!(facts.commands.iter().filter(|run| run.is_error).count(), 10);
        assert!(facts.commands.iter().any(|run| !run.is_error) && facts.left_out > 0);
    }

    #[test]
    fn a_rule_yields_its_first_group_or_all_that_matches_and_each_value_once() {
        let rules =
            Rules::new([("port", r"port (\d+)"), ("version", r"^v\d+\.\d+$"), ("never", "zzz")]).unwrap();
        let text = "port 80\nport 81, port 80\nv1.2\nnot v1.3\n";
        let captured = rules.captured(&[text]);
        let expected = BTreeMap::from([
            ("port".to_owned(), vec!["80".to_owned(), "81".to_owned()]),
            ("version".to_owned(), vec!["v1.2".to_owned()]),
        ]);
        assert_eq!(captured, expected);
    }

    #[test]
    fn the_facts_of_the_longest_run_stay_within_their_limit_and_say_what_is_missing() {
        let calls: Vec<_> =
            (0..3000).map(|n| call(ToolKind::Shell, &format!("{n} {}", "x".repeat(400)), false)).collect();
        let facts = of(&calls);
        let size = serde_json::to_string(&facts).unwrap().len();
        assert!((MAX_FACTS_BYTES / 2..MAX_FACTS_BYTES + 512).contains(&size), "{size}");
        assert_eq!(facts.left_out + facts.commands.len(), 3000);
    }
}
