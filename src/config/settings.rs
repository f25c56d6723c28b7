//! The table of all settings, and the type of their values. Everything else is derived from it: a new setting is a row here.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::record::Permissions;

use super::key::{Key, Kind, STRATEGIES};
use super::typed::{Commits, Completion, FailedChanges, FromValue, Unit};
use super::values::Values;

const MAX_COUNT: u64 = 1_000_000;
const ANY: Kind = Kind::Count { least: 0, most: u64::MAX };
const TIMES: Kind = Kind::Count { least: 0, most: MAX_COUNT };

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
        Key::new("agent", Kind::Names, "none",
            "Agent to run, or several: the next takes over if a quota is used up")
            .or_none().unset("detected");
    model: Option<String> =
        Key::new("model", Kind::Text, "none", "Model that the agent is asked to use")
            .or_none().unset("the agent's");
    permissions: Permissions =
        Key::new("permissions", Kind::Word(&["full", "default", "read-only"]), "full",
            "What the agent may do");
    max_iterations: u32 =
        Key::new("max-iterations", Kind::Count { least: 1, most: MAX_COUNT }, "10",
            "Agent runs after which the loop stops");
    skip_after: Option<u32> =
        Key::new("skip-after", TIMES, "3", "Failures in a row after which a task is skipped")
            .or_zero();
    on_skip: FailedChanges =
        Key::new("on-skip", Kind::Word(&["restore", "keep"]), "restore",
            "What happens to the changes of a task that is skipped while the validation fails");
    on_retry: FailedChanges =
        Key::new("on-retry", Kind::Word(&["keep", "restore"]), "keep",
            "What happens to the changes of failed attempts before the next attempt at their task");
    stuck_after: Option<u32> =
        Key::new("stuck-after", TIMES, "10",
            "Iterations in a row without any change after which the loop stops")
            .or_zero();
    unit: Unit =
        Key::new("unit", Kind::Word(&["task", "story", "phase"]), "task",
            "What one iteration is asked to do: a task, or all open tasks of its story or phase");
    stop_at: Option<Unit> =
        Key::new("stop-at", Kind::Word(&["phase", "story"]), "none",
            "End the session when the phase or the story that it works on is done")
            .or_none();
    stop_on_common_failure: bool =
        Key::new("stop-on-common-failure", Kind::Switch, "true",
            "Stop when three tasks in a row fail in the same way");
    max_tokens: Option<u64> =
        Key::new("max-tokens", ANY, "none",
            "Total tokens after which the loop stops")
            .or_zero();
    max_cost: Option<f64> =
        Key::new("max-cost", Kind::Money, "none", "US dollars after which the loop stops")
            .or_zero();
    max_duration: Option<Duration> =
        Key::new("max-duration", Kind::Duration, "none",
            "Time after which the loop starts no further iteration")
            .or_zero();
    max_wait: Option<Duration> =
        Key::new("max-wait", Kind::Duration, "6h",
            "Longest wait in a row for an agent that is temporarily unavailable")
            .or_zero().unset("no wait");
    completion: Completion =
        Key::new("completion", Kind::Word(&["verified", "promise"]), "verified",
            "What completes the session: tasks that are done, or the agent's promise alone");
    untick: bool = Key::new("untick", Kind::Switch, "true", "Untick boxes that were ticked in a failed iteration");
    commit: Commits =
        Key::new("commit", Kind::Word(&["off", "task"]), "off",
            "Commit each success on the current branch");
    timeout: Option<Duration> = Key::new("timeout", Kind::Duration, "60m", "Longest run of the agent").or_zero();
    idle_timeout: Option<Duration> =
        Key::new("idle-timeout", Kind::Duration, "15m", "Longest time without output of the agent")
            .or_zero();
    max_output: Option<u64> =
        Key::new("max-output", Kind::Size, "1GiB", "Largest output of a child process, per stream")
            .or_zero();
    validation_command: Option<String> =
        Key::new("validation.command", Kind::Text, "none",
            "Shell command that must pass")
            .or_none();
    validation_baseline: bool =
        Key::new("validation.baseline", Kind::Switch, "true",
            "Run the validation once before the first iteration");
    validation_timeout: Option<Duration> =
        Key::new("validation.timeout", Kind::Duration, "30m",
            "Longest run of the validation")
            .or_zero();
    progress_strategy: String =
        Key::new("progress.strategy", Kind::Strategy, STRATEGIES[0],
            "Form of the newest iterations in the prompt");
    progress_command: Option<String> =
        Key::new("progress.command", Kind::Text, "none",
            "Command that summarizes an iteration; its input is on stdin")
            .or_none();
    progress_timeout: Option<Duration> =
        Key::new("progress.timeout", Kind::Duration, "1m",
            "Longest run of a summarizing command")
            .or_zero();
    progress_max_entries: usize =
        Key::new("progress.max-entries", TIMES, "5",
            "Earlier iterations in the prompt; 0 for none");
    progress_max_chars: usize =
        Key::new("progress.max-chars", TIMES, "500",
            "Characters of output per iteration; 0 for headings only");
    progress_tail: bool =
        Key::new("progress.tail", Kind::Switch, "false",
            "Use the plain end of an output instead of an excerpt");
    prompt_budget: Option<usize> =
        Key::new("prompt-budget", TIMES, "80000",
            "Maximum number of tokens of a prompt; older iterations are cut first")
            .or_zero();
    memory_last_attempt: bool =
        Key::new("memory.last-attempt", Kind::Switch, "true",
            "Include the last attempt at the task in the prompt");
    memory_final_message_chars: usize =
        Key::new("memory.final-message-chars", TIMES, "1500",
            "Characters of the last attempt's final message that the next one gets, at most 4000");
    memory_learnings: usize =
        Key::new("memory.learnings", TIMES, "12",
            "Learnings and decisions of the feature so far that a prompt lists");
    history_mode: String =
        Key::new("history.mode", Kind::Word(&["off", "smart", "full"]), "off",
            "Older iterations in the prompt");
    history_budget: usize = Key::new("history.budget", TIMES, "10000", "Tokens that older iterations may take");
    history_lookback: usize = Key::new("history.lookback", TIMES, "5", "Iterations to look back");
    history_threshold: f64 = Key::new("history.threshold", Kind::Ratio, "0.7", "Minimum relevance of an older iteration");
    history_failures: bool = Key::new("history.failures", Kind::Switch, "true", "Include earlier failures");
    history_decisions: bool = Key::new("history.decisions", Kind::Switch, "true", "Include earlier decisions");
    history_approaches: bool = Key::new("history.approaches", Kind::Switch, "true", "Include earlier approaches");
    history_summarize: Option<String> =
        Key::new("history.summarize", Kind::Text, "local",
            "How older iterations are summarized: local, none, or a command")
            .or_none();
    snapshots: bool = Key::new("snapshots", Kind::Switch, "true", "Record the work tree after each iteration");
    snapshot_max_file: Option<u64> =
        Key::new("snapshot-max-file", Kind::Size, "5MiB", "Largest file in a snapshot")
            .or_none().unset("no limit");
    remote: Option<String> =
        Key::new("remote", Kind::Text, "none", "Remote of `sync` and `purge`")
            .or_none().unset("the only one there is");
    sync_confirmed: bool =
        Key::new("sync.confirmed", Kind::Switch, "false", "Push to new addresses without asking")
            .never_in_file();
    trust: String =
        Key::new("trust", Kind::Word(&["ask", "always"]), "ask",
            "Whether commands in .specify/ralph.toml need your approval")
            .never_in_file();
    redaction_rules: Vec<String> =
        Key::new("redaction.rules", Kind::Patterns, "none",
            "Regular expressions of additional secrets")
            .or_none();
    redaction_allow: Vec<String> =
        Key::new("redaction.allow", Kind::Patterns, "none",
            "Regular expressions of text that is not a secret")
            .or_none();
    redaction_terminal: bool = Key::new("redaction.terminal", Kind::Switch, "true", "Also redact terminal output");
    notify: bool =
        Key::new("notify", Kind::Switch, "false",
            "At the end, ring the bell and set the terminal's title");
    on_finish: Option<String> =
        Key::new("hooks.on-finish", Kind::Text, "none",
            "Command to run when a session has ended")
            .or_none();
}

/// All captures: the one key with a free part.
const CAPTURES: Key =
    Key::new("capture.<name>", Kind::Pattern, "none", "Regular expression of a value to record").or_none();

/// The name before the one free part of a key: `capture.` of `capture.<name>`.
pub(super) const CAPTURE: &str = "capture.";

/// Finds the setting called `name` in the file's spelling.
pub(super) fn find(name: &str) -> Option<&'static Key> {
    let is_capture = name.strip_prefix(CAPTURE).is_some_and(|rest| !rest.is_empty());
    KEYS.iter().find(|key| key.name == name || (is_capture && key.name.starts_with(CAPTURE)))
}
