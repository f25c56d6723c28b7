//! The table of all settings, and the type of their values. Everything else is derived from it: a new setting is a row here.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use strum::VariantNames;
use tasklist::Parallel;

use crate::record::{EVENT_KINDS, Permissions, Strategy};

use super::key::Side::{Approved, Plain, Widens};
use super::key::{Key, ValueKind};
use super::origin::{Origin, Setting};
use super::typed::{
    Clean, Commits, Completion, FailedChanges, FromValue, HistoryMode, Notify, OnQuestion, Pass, Rerun,
    SandboxChoice, Trust, Unit,
};
use super::value::Raw;

/// Codes of flags that may refuse a success.
pub const REFUSALS: &[&str] = &[
    "contradiction",
    "focus",
    "skip",
    "vanished",
    "shrunk",
    "judge",
    "idle",
    "no-tests",
    "fewer",
    "removed",
    "asserts",
    "config",
    "undid",
    "protect",
    "new-protected",
    "rewrote",
    "ignored",
    "cached",
    "report",
    "runs-by-itself",
    "deps",
];

const MAX_COUNT: u64 = 1_000_000;
const ANY: ValueKind = ValueKind::Count { least: 0, most: u64::MAX };
const TIMES: ValueKind = ValueKind::Count { least: 0, most: MAX_COUNT };

fn value_of<'v>(values: &'v [Setting], key: &str) -> &'v Value {
    values.iter().find(|setting| setting.key == key).map_or(&Value::Null, |setting| &setting.value)
}

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
            pub(super) fn of(values: &[Setting]) -> Self {
                Self {
                    $($field: FromValue::from_value(value_of(values, $key.name)),)*
                    captures: values.iter().filter_map(|setting| {
                    let name = setting.key.strip_prefix(CAPTURE)?;
                    Some((name.to_owned(), setting.value.as_str()?.to_owned()))
                }).collect(),
                }
            }
        }
    };
}

settings! {
    agent: Vec<String> =
        Key::new("agent", Widens, ValueKind::Names, "none",
            "Agent to run, or several: the next takes over when one cannot go on")
            .or_none().unset("detected").flag("agent", "NAME");
    model: Option<String> =
        Key::new("model", Plain, ValueKind::Text, "none", "Model for the agent to use")
            .or_none().unset("the agent's").flag("model", "MODEL");
    permissions: Permissions =
        Key::new("permissions", Widens, ValueKind::Word(Permissions::VARIANTS), "full",
            "What the agent may do");
    max_iterations: u32 =
        Key::new("max-iterations", Plain, ValueKind::Count { least: 1, most: MAX_COUNT }, "10",
            "Agent runs after which the loop stops").flag("max-iterations", "N");
    skip_after: Option<u32> =
        Key::new("skip-after", Plain, TIMES, "3", "Failures in a row after which a task is skipped")
            .or_zero().flag("skip-after", "N");
    on_skip: FailedChanges =
        Key::new("on-skip", Plain, ValueKind::Word(FailedChanges::VARIANTS), "restore",
            "What happens to the changes of a task that is skipped while the validation fails");
    on_retry: FailedChanges =
        Key::new("on-retry", Plain, ValueKind::Word(&["keep", "restore"]), "keep",
            "What happens to the changes of failed attempts before the next attempt at their task");
    on_question: OnQuestion =
        Key::new("on-question", Plain, ValueKind::Word(OnQuestion::VARIANTS), "wait",
            "What happens to a task whose agent asks something: it waits for a hint, or is tried again like any failure");
    stuck_after: Option<u32> =
        Key::new("stuck-after", Plain, TIMES, "10",
            "Iterations in a row without any change after which the loop stops")
            .or_zero();
    unit: Unit =
        Key::new("unit", Plain, ValueKind::Word(Unit::VARIANTS), "auto",
            "Work for one iteration: a task, or all open tasks of its story or phase; `auto` is `story` where tests must fail first, else `task`").flag("unit", "UNIT");
    stop_at: Option<Unit> =
        Key::new("stop-at", Plain, ValueKind::Word(&["phase", "story"]), "none",
            "End the session when the phase or the story that it works on is done")
            .or_none().flag("stop-at", "UNIT");
    stop_on_common_failure: bool =
        Key::new("stop-on-common-failure", Plain, ValueKind::Switch, "true",
            "Stop when three tasks in a row fail in the same way");
    stop_without_success: bool =
        Key::new("stop-without-success", Plain, ValueKind::Switch, "true",
            "Stop when five tasks were given up, or ten attempts failed, and none succeeded");
    max_tokens: Option<u64> =
        Key::new("max-tokens", Plain, ANY, "none",
            "Total tokens after which the loop stops")
            .or_zero().flag("max-tokens", "N");
    max_cost: Option<f64> =
        Key::new("max-cost", Plain, ValueKind::Money, "none", "US dollars after which the loop stops")
            .or_zero().flag("max-cost", "USD");
    max_duration: Option<Duration> =
        Key::new("max-duration", Plain, ValueKind::Duration, "none",
            "Time after which the loop starts no further iteration")
            .or_zero().flag("max-duration", "TIME");
    max_wait: Option<Duration> =
        Key::new("max-wait", Plain, ValueKind::Duration, "6h",
            "Maximum time to wait for an agent that is temporarily unavailable")
            .or_zero().unset("no wait").flag("max-wait", "TIME");
    completion: Completion =
        Key::new("completion", Widens, ValueKind::Word(Completion::VARIANTS), "verified",
            "What completes the session: tasks that are done, or the agent's promise alone");
    untick: bool = Key::new("untick", Widens, ValueKind::Switch, "true", "Untick boxes that were ticked in a failed iteration");
    skip_optional: bool =
        Key::new("skip-optional", Widens, ValueKind::Switch, "false",
            "Leave optional tasks undone: nothing waits for them, and they are not open");
    commit: Commits =
        Key::new("commit", Plain, ValueKind::Word(Commits::VARIANTS), "off",
            "Commit each success on the current branch").flag("commit", "WHAT");
    commit_subject: Option<String> =
        Key::new("commit-subject", Plain, ValueKind::Subject, "none",
            "Template for the subject of commits of tasks, with feature, task, text, phase and story")
            .or_none().unset("the task and its text");
    commit_assisted_by: bool =
        Key::new("commit-assisted-by", Plain, ValueKind::Switch, "true",
            "Name agents and models in commits of tasks: `Assisted-by: AGENT:MODEL`");
    lane: Option<bool> =
        Key::new("lane", Plain, ValueKind::AutoOrSwitch, "auto",
            "Work in a lane: a work tree and a branch of the loop's own, away from your files; `auto`: with a sandbox");
    branch: Option<String> =
        Key::new("branch", Plain, ValueKind::Text, "none",
            "Branch that a lane publishes on")
            .or_none().unset("ralph/<feature>").flag("branch", "NAME");
    branch_sign: bool =
        Key::new("branch-sign", Plain, ValueKind::Switch, "false",
            "Sign the commits of a lane as git is set up to");
    lanes_dir: Option<String> =
        Key::new("lanes.dir", Widens, ValueKind::Text, "none",
            "Absolute path of the folder for lanes, outside of any repository")
            .or_none().unset("specify-ralph/lanes in your cache folder").never_in_file();
    lanes_copy: Vec<String> =
        Key::new("lanes.copy", Widens, ValueKind::Names, "none",
            "Ignored files or folders of yours, from the project's root, that a new lane gets copies of")
            .or_none();
    lanes_setup: Option<String> =
        Key::new("lanes.setup", Approved, ValueKind::Text, "none",
            "Command that makes a new lane ready, such as `npm ci`")
            .or_none();
    lanes_setup_files: Vec<String> =
        Key::new("lanes.setup-files", Plain, ValueKind::Names,
            "package.json, package-lock.json, pnpm-lock.yaml, yarn.lock, bun.lock, requirements.txt, pyproject.toml, uv.lock, poetry.lock, Cargo.toml, Cargo.lock",
            "Files after a change of which `lanes.setup` runs again")
            .or_none();
    jobs: usize =
        Key::new("jobs", Plain, ValueKind::Count { least: 1, most: 64 }, "1",
            "Agents that work at once, each in a lane of its own; more than one implies `lane`")
            .flag("jobs", "N");
    parallel: Parallel =
        Key::new("parallel", Plain, ValueKind::Word(&["story", "marked", "phase"]), "story",
            "What they do at once: `[P]` tasks of a phase and the phases of stories, `[P]` tasks alone, or all tasks of a phase")
            .flag("parallel", "WHAT");
    lanes_batch: usize =
        Key::new("lanes.batch", Plain, ValueKind::Count { least: 1, most: MAX_COUNT }, "16",
            "Most results of a queue that are merged onto the branch of a lane at once");
    lanes_max_send_backs: Option<u32> =
        Key::new("lanes.max-send-backs", Plain, TIMES, "5",
            "Times in a row after which a task is skipped whose results cannot be merged, or break what is on the branch")
            .or_zero();
    lanes_keep: Vec<String> =
        Key::new("lanes.keep", Widens, ValueKind::Names, "none",
            "Ignored folders that stay in a clean checkout from one run to the next, such as build caches")
            .or_none().unset("target in a Cargo project");
    timeout: Option<Duration> = Key::new("timeout", Plain, ValueKind::Duration, "60m", "Maximum time of one agent run").or_zero().flag("timeout", "TIME");
    idle_timeout: Option<Duration> =
        Key::new("idle-timeout", Plain, ValueKind::Duration, "15m", "Maximum time without output from the agent")
            .or_zero().flag("idle-timeout", "TIME");
    first_output_timeout: Option<Duration> =
        Key::new("first-output-timeout", Plain, ValueKind::Duration, "5m",
            "The same before the first line of an agent whose stream begins before its model answers")
            .or_zero();
    max_output: Option<u64> =
        Key::new("max-output", Plain, ValueKind::Size, "1GiB", "Largest output of a child process, per stream")
            .or_zero();
    validation_command: Option<String> =
        Key::new("validation.command", Approved, ValueKind::Text, "none",
            "Shell command that must pass before a task counts as done")
            .or_none().flag("validate", "CMD");
    validation_baseline: bool =
        Key::new("validation.baseline", Plain, ValueKind::Switch, "true",
            "Run the validation once before the first iteration");
    validation_pass: Pass =
        Key::new("validation.pass", Approved, ValueKind::Word(Pass::VARIANTS), "green",
            "When a validation passes: exit code 0, or also no test that did not fail before the start");
    validation_refuse: Vec<String> =
        Key::new("validation.refuse", Approved, ValueKind::Words(REFUSALS),
            "contradiction, focus, skip, vanished, shrunk, judge, idle, protect",
            "Findings that refuse a success; all others are flags")
            .or_none();
    validation_rerun: Rerun =
        Key::new("validation.rerun", Plain, ValueKind::Word(Rerun::VARIANTS), "auto",
            "Whether a failed validation runs once more before an agent does: where a few tests failed that passed before and are not touched");
    validation_clean: Clean =
        Key::new("validation.clean", Widens, ValueKind::Word(Clean::VARIANTS), "auto",
            "When results are tried in a clean checkout: at the end, never, or each success");
    validation_protect: Vec<String> =
        Key::new("validation.protect", Approved, ValueKind::Names, "none",
            "Files, as git's patterns, that are put back if an agent changes them")
            .or_none();
    validation_report: Vec<String> =
        Key::new("validation.report", Approved, ValueKind::Names, "none",
            "Reports of tests that the validation writes (JUnit XML or CTRF), as git's patterns: they count instead of its output")
            .or_none();
    validation_alone: bool =
        Key::new("validation.alone", Plain, ValueKind::Switch, "false",
            "Where several loops work on a branch, run one validation at a time");
    validation_timeout: Option<Duration> =
        Key::new("validation.timeout", Plain, ValueKind::Duration, "30m",
            "Longest run of the validation")
            .or_zero();
    sandbox: Option<SandboxChoice> =
        Key::new("sandbox.mechanism", Approved, ValueKind::Mechanism, "none",
            "What keeps the agent and all commands from the rest of the machine, in a lane: bwrap, srt, or auto for one of them")
            .or_none().flag("sandbox", "MECHANISM");
    sandbox_write: Vec<String> =
        Key::new("sandbox.write", Approved, ValueKind::Names, "none",
            "Further files and folders that commands in the sandbox may write")
            .or_none();
    sandbox_hide: Vec<String> =
        Key::new("sandbox.hide", Plain, ValueKind::Names, "none",
            "Files and folders that they cannot read, beside credentials and browsers' profiles in the home folder")
            .or_none();
    sandbox_show: Vec<String> =
        Key::new("sandbox.show", Approved, ValueKind::Names, "none",
            "Files and folders that they can read though they are hidden")
            .or_none();
    sandbox_env: Vec<String> =
        Key::new("sandbox.env", Approved, ValueKind::Names, "none",
            "Variables that they get though they look like credentials")
            .or_none();
    sandbox_network: Vec<String> =
        Key::new("sandbox.network", Approved, ValueKind::Names, "all",
            "Hosts that the agent in the sandbox can reach: all, none or their names")
            .or_none();
    sandbox_validation_network: Vec<String> =
        Key::new("sandbox.validation-network", Approved, ValueKind::Names, "same",
            "Hosts that the validation and other commands in the sandbox can reach: same as the agent, all, none or names")
            .or_none();
    progress_strategy: Strategy =
        Key::new("progress.strategy", Plain, ValueKind::Strategy(Strategy::VARIANTS), "system-captured",
            "Form of the newest iterations in the prompt");
    progress_command: Option<String> =
        Key::new("progress.command", Approved, ValueKind::Text, "none",
            "Command that summarizes an iteration; its input is on stdin")
            .or_none();
    progress_timeout: Option<Duration> =
        Key::new("progress.timeout", Plain, ValueKind::Duration, "1m",
            "Longest run of a summarizing command")
            .or_zero();
    progress_max_entries: usize =
        Key::new("progress.max-entries", Plain, TIMES, "5",
            "Earlier iterations in the prompt; 0 for none");
    progress_max_chars: usize =
        Key::new("progress.max-chars", Plain, TIMES, "500",
            "Characters of output per iteration; 0 for headings only");
    progress_tail: bool =
        Key::new("progress.tail", Plain, ValueKind::Switch, "false",
            "Use the plain end of an output instead of an excerpt");
    prompt_budget: Option<usize> =
        Key::new("prompt-budget", Plain, TIMES, "80000",
            "Maximum number of tokens of a prompt, at four characters each; older iterations are cut first")
            .or_zero();
    memory_last_attempt: bool =
        Key::new("memory.last-attempt", Plain, ValueKind::Switch, "true",
            "Include the last attempt at the task in the prompt");
    memory_final_message_chars: usize =
        Key::new("memory.final-message-chars", Plain, TIMES, "1500",
            "Characters of the last attempt's final message that the next one gets, at most 4000");
    memory_learnings: usize =
        Key::new("memory.learnings", Plain, TIMES, "12",
            "Learnings and decisions of the feature so far that a prompt lists");
    history_mode: HistoryMode =
        Key::new("history.mode", Plain, ValueKind::Word(HistoryMode::VARIANTS), "auto",
            "Older iterations in the prompt; `auto` is `smart` for a task that failed twice in a row").flag("history-mode", "MODE");
    history_budget: usize = Key::new("history.budget", Plain, TIMES, "10000", "Tokens that older iterations may take, at four characters each");
    history_lookback: usize = Key::new("history.lookback", Plain, TIMES, "5", "Iterations to look back; the mode `full` takes all unless this is set").flag("history-lookback", "N");
    history_threshold: f64 = Key::new("history.threshold", Plain, ValueKind::Ratio, "0.7", "Kinds of older iterations: 1 for those of the task, 0.9 with those of the same cause, 0.8 of the same file, 0.7 the newest");
    history_failures: bool = Key::new("history.failures", Plain, ValueKind::Switch, "true", "Include earlier failures");
    history_decisions: bool = Key::new("history.decisions", Plain, ValueKind::Switch, "true", "Include earlier decisions");
    history_approaches: bool = Key::new("history.approaches", Plain, ValueKind::Switch, "true", "Include earlier approaches");
    history_summarize: Option<String> =
        Key::new("history.summarize", Approved, ValueKind::Text, "local",
            "How older iterations are summarized: local, none, or a command")
            .or_none();
    snapshots: bool = Key::new("snapshots", Plain, ValueKind::Switch, "true", "Record the work tree after each iteration");
    snapshot_max_file: Option<u64> =
        Key::new("snapshot-max-file", Plain, ValueKind::Size, "5MiB", "Largest file in a snapshot")
            .or_none().unset("no limit");
    remote: Option<String> =
        Key::new("remote", Widens, ValueKind::Text, "none", "Remote of `sync` and `purge`")
            .or_none().unset("the only one there is");
    sync_confirmed: bool =
        Key::new("sync.confirmed", Widens, ValueKind::Switch, "false", "Push to new addresses without asking")
            .never_in_file();
    trust: Trust =
        Key::new("trust", Widens, ValueKind::Word(Trust::VARIANTS), "ask",
            "Whether commands in .specify/ralph.toml need your approval")
            .never_in_file();
    redaction_rules: Vec<String> =
        Key::new("redaction.rules", Approved, ValueKind::Patterns, "none",
            "Regular expressions of additional secrets")
            .or_none();
    redaction_allow: Vec<String> =
        Key::new("redaction.allow", Approved, ValueKind::Patterns, "none",
            "Regular expressions of text that is not a secret")
            .or_none();
    redaction_terminal: bool = Key::new("redaction.terminal", Approved, ValueKind::Switch, "true", "Also redact terminal output");
    notify: Notify =
        Key::new("notify", Plain, ValueKind::AutoOrSwitch, "auto",
            "Bell, title and notification at the end; `auto`: where output goes to a terminal");
    on_finish: Option<String> =
        Key::new("hooks.on-finish", Approved, ValueKind::Text, "none",
            "Command to run when a session has ended")
            .or_none();
    on_event: Option<String> =
        Key::new("hooks.on-event", Approved, ValueKind::Text, "none",
            "Command to run while the loop goes on, for each event of `hooks.events`, with its line of JSON on stdin")
            .or_none();
    event_kinds: Vec<String> =
        Key::new("hooks.events", Plain, ValueKind::Words(EVENT_KINDS),
            "needs_you, waiting, task_given_up, budget_80, flagged, target_red, session_ended",
            "Types of `run --json` that `hooks.on-event` gets");
}

impl Default for Settings {
    fn default() -> Self {
        Self::of(&defaults())
    }
}

/// Returns all settings as they are where nothing is set.
pub(super) fn defaults() -> Vec<Setting> {
    let keys = KEYS.iter().filter(|key| !key.name.contains('<'));
    keys.map(|key| {
        let value = key.read(&Raw::Bare(key.default.to_owned())).expect("every default fits its own key");
        Setting { key: key.name.to_owned(), value, origin: Origin::Default }
    })
    .collect()
}

impl Settings {
    /// Returns true if a command checks the work.
    pub fn has_validation(&self) -> bool {
        self.validation_command.is_some()
    }

    /// Returns true if a new session works in a lane: a sandbox implies one, and so do several jobs.
    pub fn uses_lane(&self) -> bool {
        self.lane.unwrap_or(self.sandbox.is_some() || self.jobs > 1)
    }

    /// Returns the work of an iteration. Where nothing checks the work, nothing fails between a test and its code.
    pub fn unit_now(&self) -> Unit {
        if self.unit == Unit::Auto && !self.has_validation() { Unit::Task } else { self.unit }
    }
}

/// All captures: the one key with a free part.
const CAPTURES: Key =
    Key::new("capture.<name>", Plain, ValueKind::Pattern, "none", "Regular expression of a value to record")
        .or_none();

/// The name before the one free part of a key: `capture.` of `capture.<name>`.
pub(super) const CAPTURE: &str = "capture.";

/// Returns the name of a setting that has a short one, which is that of its section.
pub(super) fn canonical(name: &str) -> &str {
    if name == "sandbox" { "sandbox.mechanism" } else { name }
}

/// Finds the setting called `name` in the file's spelling.
pub(super) fn find(name: &str) -> Option<&'static Key> {
    let name = canonical(name);
    let is_capture = name.strip_prefix(CAPTURE).is_some_and(|rest| !rest.is_empty());
    KEYS.iter().find(|key| key.name == name || (is_capture && key.name.starts_with(CAPTURE)))
}
