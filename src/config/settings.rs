//! The table of all settings, and the type of their values. Everything else is derived from it: a new setting is a row here.

use std::collections::BTreeMap;
use std::time::Duration;

use strum::VariantNames;

use crate::record::Permissions;

use super::key::{Key, STRATEGIES, ValueKind};
use super::typed::{Commits, Completion, FailedChanges, FromValue, OnQuestion, Pass, Unit};
use super::values::Values;

/// Codes of flags that may refuse a success.
const REFUSALS: &[&str] = &[
    "focus", "skip", "vanished", "shrunk", "judge", "idle", "no-tests", "fewer", "removed", "asserts",
    "config", "undid",
];

const MAX_COUNT: u64 = 1_000_000;
const ANY: ValueKind = ValueKind::Count { least: 0, most: u64::MAX };
const TIMES: ValueKind = ValueKind::Count { least: 0, most: MAX_COUNT };

/// Makes [`Settings`], with a field for each row, and [`KEYS`].
macro_rules! settings {
    ($($field:ident: $type:ty = $key:expr;)*) => {
        /// The effective settings. Those that are `None` are absent.
        #[derive(Debug, Clone, PartialEq)]
        pub struct Settings {
            $(pub $field: $type,)*
            /// Values to record from outputs: names, and valid regular expressions.
            pub captures: BTreeMap<String, String>,
        }

        /// Every setting, in the order in which they are shown.
        pub const KEYS: &[Key] = &[$($key,)* CAPTURES];

        impl Settings {
            pub(super) fn of(values: &Values) -> Self {
                Self {
                    $($field: FromValue::from_value(values.value($key.name)),)*
                    captures: values.captures(CAPTURE),
                }
            }
        }
    };
}

settings! {
    agent: Vec<String> =
        Key::new("agent", ValueKind::Names, "none",
            "Agent to run, or several: the next takes over if a quota is used up")
            .or_none().unset("detected");
    model: Option<String> =
        Key::new("model", ValueKind::Text, "none", "Model for the agent to use")
            .or_none().unset("the agent's");
    permissions: Permissions =
        Key::new("permissions", ValueKind::Word(Permissions::VARIANTS), "full",
            "What the agent may do");
    max_iterations: u32 =
        Key::new("max-iterations", ValueKind::Count { least: 1, most: MAX_COUNT }, "10",
            "Agent runs after which the loop stops");
    skip_after: Option<u32> =
        Key::new("skip-after", TIMES, "3", "Failures in a row after which a task is skipped")
            .or_zero();
    on_skip: FailedChanges =
        Key::new("on-skip", ValueKind::Word(FailedChanges::VARIANTS), "restore",
            "What happens to the changes of a task that is skipped while the validation fails");
    on_retry: FailedChanges =
        Key::new("on-retry", ValueKind::Word(&["keep", "restore"]), "keep",
            "What happens to the changes of failed attempts before the next attempt at their task");
    on_question: OnQuestion =
        Key::new("on-question", ValueKind::Word(OnQuestion::VARIANTS), "wait",
            "What happens to a task whose agent asks something: it waits for a hint, or is tried again like any failure");
    stuck_after: Option<u32> =
        Key::new("stuck-after", TIMES, "10",
            "Iterations in a row without any change after which the loop stops")
            .or_zero();
    unit: Unit =
        Key::new("unit", ValueKind::Word(Unit::VARIANTS), "auto",
            "Work for one iteration: a task, or all open tasks of its story or phase; auto: task, but story where tests must fail first");
    stop_at: Option<Unit> =
        Key::new("stop-at", ValueKind::Word(&["phase", "story"]), "none",
            "End the session when the phase or the story that it works on is done")
            .or_none();
    stop_on_common_failure: bool =
        Key::new("stop-on-common-failure", ValueKind::Switch, "true",
            "Stop when three tasks in a row fail in the same way");
    max_tokens: Option<u64> =
        Key::new("max-tokens", ANY, "none",
            "Total tokens after which the loop stops")
            .or_zero();
    max_cost: Option<f64> =
        Key::new("max-cost", ValueKind::Money, "none", "US dollars after which the loop stops")
            .or_zero();
    max_duration: Option<Duration> =
        Key::new("max-duration", ValueKind::Duration, "none",
            "Time after which the loop starts no further iteration")
            .or_zero();
    max_wait: Option<Duration> =
        Key::new("max-wait", ValueKind::Duration, "6h",
            "Maximum time to wait for an agent that is temporarily unavailable")
            .or_zero().unset("no wait");
    completion: Completion =
        Key::new("completion", ValueKind::Word(Completion::VARIANTS), "verified",
            "What completes the session: tasks that are done, or the agent's promise alone");
    untick: bool = Key::new("untick", ValueKind::Switch, "true", "Untick boxes that were ticked in a failed iteration");
    commit: Commits =
        Key::new("commit", ValueKind::Word(Commits::VARIANTS), "off",
            "Commit each success on the current branch");
    timeout: Option<Duration> = Key::new("timeout", ValueKind::Duration, "60m", "Maximum time of one agent run").or_zero();
    idle_timeout: Option<Duration> =
        Key::new("idle-timeout", ValueKind::Duration, "15m", "Maximum time without output from the agent")
            .or_zero();
    max_output: Option<u64> =
        Key::new("max-output", ValueKind::Size, "1GiB", "Largest output of a child process, per stream")
            .or_zero();
    validation_command: Option<String> =
        Key::new("validation.command", ValueKind::Text, "none",
            "Shell command that must pass")
            .or_none();
    validation_baseline: bool =
        Key::new("validation.baseline", ValueKind::Switch, "true",
            "Run the validation once before the first iteration");
    validation_pass: Pass =
        Key::new("validation.pass", ValueKind::Word(Pass::VARIANTS), "green",
            "When a validation passes: exit code 0, or also no test that did not fail before the start");
    validation_refuse: Vec<String> =
        Key::new("validation.refuse", ValueKind::Words(REFUSALS),
            "focus, skip, vanished, shrunk, judge, idle",
            "Findings that refuse a success; all others are flags")
            .or_none();
    validation_protect: Vec<String> =
        Key::new("validation.protect", ValueKind::Names, "none",
            "Files, as git's patterns, that are put back if an agent changes them")
            .or_none();
    validation_timeout: Option<Duration> =
        Key::new("validation.timeout", ValueKind::Duration, "30m",
            "Longest run of the validation")
            .or_zero();
    progress_strategy: String =
        Key::new("progress.strategy", ValueKind::Strategy, STRATEGIES[0],
            "Form of the newest iterations in the prompt");
    progress_command: Option<String> =
        Key::new("progress.command", ValueKind::Text, "none",
            "Command that summarizes an iteration; its input is on stdin")
            .or_none();
    progress_timeout: Option<Duration> =
        Key::new("progress.timeout", ValueKind::Duration, "1m",
            "Longest run of a summarizing command")
            .or_zero();
    progress_max_entries: usize =
        Key::new("progress.max-entries", TIMES, "5",
            "Earlier iterations in the prompt; 0 for none");
    progress_max_chars: usize =
        Key::new("progress.max-chars", TIMES, "500",
            "Characters of output per iteration; 0 for headings only");
    progress_tail: bool =
        Key::new("progress.tail", ValueKind::Switch, "false",
            "Use the plain end of an output instead of an excerpt");
    prompt_budget: Option<usize> =
        Key::new("prompt-budget", TIMES, "80000",
            "Maximum number of tokens of a prompt, at four characters each; older iterations are cut first")
            .or_zero();
    memory_last_attempt: bool =
        Key::new("memory.last-attempt", ValueKind::Switch, "true",
            "Include the last attempt at the task in the prompt");
    memory_final_message_chars: usize =
        Key::new("memory.final-message-chars", TIMES, "1500",
            "Characters of the last attempt's final message that the next one gets, at most 4000");
    memory_learnings: usize =
        Key::new("memory.learnings", TIMES, "12",
            "Learnings and decisions of the feature so far that a prompt lists");
    history_mode: String =
        Key::new("history.mode", ValueKind::Word(&["auto", "off", "smart", "full"]), "auto",
            "Older iterations in the prompt; `auto` is `smart` for a task that failed twice in a row");
    history_budget: usize = Key::new("history.budget", TIMES, "10000", "Tokens that older iterations may take, at four characters each");
    history_lookback: usize = Key::new("history.lookback", TIMES, "5", "Iterations to look back");
    history_threshold: f64 = Key::new("history.threshold", ValueKind::Ratio, "0.7", "Minimum relevance of an older iteration");
    history_failures: bool = Key::new("history.failures", ValueKind::Switch, "true", "Include earlier failures");
    history_decisions: bool = Key::new("history.decisions", ValueKind::Switch, "true", "Include earlier decisions");
    history_approaches: bool = Key::new("history.approaches", ValueKind::Switch, "true", "Include earlier approaches");
    history_summarize: Option<String> =
        Key::new("history.summarize", ValueKind::Text, "local",
            "How older iterations are summarized: local, none, or a command")
            .or_none();
    snapshots: bool = Key::new("snapshots", ValueKind::Switch, "true", "Record the work tree after each iteration");
    snapshot_max_file: Option<u64> =
        Key::new("snapshot-max-file", ValueKind::Size, "5MiB", "Largest file in a snapshot")
            .or_none().unset("no limit");
    remote: Option<String> =
        Key::new("remote", ValueKind::Text, "none", "Remote of `sync` and `purge`")
            .or_none().unset("the only one there is");
    sync_confirmed: bool =
        Key::new("sync.confirmed", ValueKind::Switch, "false", "Push to new addresses without asking")
            .never_in_file();
    trust: String =
        Key::new("trust", ValueKind::Word(&["ask", "always"]), "ask",
            "Whether commands in .specify/ralph.toml need your approval")
            .never_in_file();
    redaction_rules: Vec<String> =
        Key::new("redaction.rules", ValueKind::Patterns, "none",
            "Regular expressions of additional secrets")
            .or_none();
    redaction_allow: Vec<String> =
        Key::new("redaction.allow", ValueKind::Patterns, "none",
            "Regular expressions of text that is not a secret")
            .or_none();
    redaction_terminal: bool = Key::new("redaction.terminal", ValueKind::Switch, "true", "Also redact terminal output");
    notify: bool =
        Key::new("notify", ValueKind::Switch, "false",
            "At the end, ring the bell and set the terminal's title");
    on_finish: Option<String> =
        Key::new("hooks.on-finish", ValueKind::Text, "none",
            "Command to run when a session has ended")
            .or_none();
}

impl Settings {
    /// Returns true if a command checks the work.
    pub fn has_validation(&self) -> bool {
        self.validation_command.is_some()
    }

    /// Returns the work of an iteration. Where nothing checks the work, nothing fails between a test and its code.
    pub fn unit_now(&self) -> Unit {
        if self.unit == Unit::Auto && !self.has_validation() { Unit::Task } else { self.unit }
    }
}

/// All captures: the one key with a free part.
const CAPTURES: Key =
    Key::new("capture.<name>", ValueKind::Pattern, "none", "Regular expression of a value to record")
        .or_none();

/// The name before the one free part of a key: `capture.` of `capture.<name>`.
pub(super) const CAPTURE: &str = "capture.";

/// Finds the setting called `name` in the file's spelling.
pub(super) fn find(name: &str) -> Option<&'static Key> {
    let is_capture = name.strip_prefix(CAPTURE).is_some_and(|rest| !rest.is_empty());
    KEYS.iter().find(|key| key.name == name || (is_capture && key.name.starts_with(CAPTURE)))
}
