//! The table of all settings: names, types, defaults and what they are for. Everything else is derived from it.

/// What a setting holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A whole number in a range.
    Count {
        least: u64,
        most: u64,
    },
    /// A number between 0 and 1.
    Ratio,
    /// US dollars.
    Money,
    /// `60m`, `1h30m`.
    Duration,
    /// `5MiB`, or plain bytes.
    Size,
    Switch,
    Word(&'static [&'static str]),
    /// A word too, but an unknown one costs a warning alone.
    Strategy,
    Text,
    /// Names, the first preferred.
    Names,
    Pattern,
    Patterns,
}

/// What stands for "nothing" in a setting that may be absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absence {
    /// It always has a value.
    Never,
    /// `none` switches it off.
    None,
    /// `none` or `0` switches it off.
    NoneOrZero,
}

/// One setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// As in `.specify/ralph.toml`, dotted. `capture.<name>` stands for all captures.
    pub name: &'static str,
    pub kind: Kind,
    pub absence: Absence,
    /// As a user would write it.
    pub default: &'static str,
    /// What an absent value means, for people.
    pub unset: &'static str,
    /// One line, for people.
    pub doc: &'static str,
}

impl Key {
    const fn new(name: &'static str, kind: Kind, default: &'static str, doc: &'static str) -> Self {
        Self { name, kind, absence: Absence::Never, default, unset: "none", doc }
    }

    const fn or_none(mut self) -> Self {
        self.absence = Absence::None;
        self
    }

    const fn or_zero(mut self) -> Self {
        self.absence = Absence::NoneOrZero;
        self
    }

    /// Says in words what happens where no value is set.
    const fn unset(mut self, words: &'static str) -> Self {
        self.unset = words;
        self
    }
}

/// How past iterations become the progress text of a prompt; the first is the default.
pub const STRATEGIES: &[&str] = &["system-captured", "structured-log", "llm-summarized", "hybrid"];

const MANY: u64 = 1_000_000;
const ANY: Kind = Kind::Count { least: 0, most: u64::MAX };
const TIMES: Kind = Kind::Count { least: 0, most: MANY };

/// Every setting, in the order in which they are shown.
pub const KEYS: &[Key] = &[
    Key::new(
        "agent",
        Kind::Names,
        "none",
        "Agent to run, or several: the next works where a quota is used up",
    )
    .or_none()
    .unset("detected"),
    Key::new("model", Kind::Text, "none", "Model that the agent is asked to use")
        .or_none()
        .unset("the agent's"),
    Key::new("permissions", Kind::Word(&["full", "default", "read-only"]), "full", "What the agent may do"),
    Key::new(
        "max-iterations",
        Kind::Count { least: 1, most: MANY },
        "10",
        "Agent runs before the loop stops",
    ),
    Key::new("skip-after", TIMES, "3", "Failures in a row after which a task is skipped").or_zero(),
    Key::new("stuck-after", TIMES, "10", "Iterations in a row without any change after which the loop stops")
        .or_zero(),
    Key::new("max-tokens", ANY, "none", "Tokens, of all kinds together, after which the loop stops")
        .or_zero(),
    Key::new("max-cost", Kind::Money, "none", "US dollars after which the loop stops").or_zero(),
    Key::new("max-duration", Kind::Duration, "none", "Time after which the loop starts no further iteration")
        .or_zero(),
    Key::new(
        "max-wait",
        Kind::Duration,
        "6h",
        "Longest wait in a row for an agent that cannot work for a while",
    )
    .or_zero()
    .unset("no wait"),
    Key::new(
        "completion",
        Kind::Word(&["verified", "promise"]),
        "verified",
        "What ends the loop: tasks that are done, or the agent's promise alone",
    ),
    Key::new("untick", Kind::Switch, "true", "Open boxes again that were ticked in a failed iteration"),
    Key::new("commit", Kind::Word(&["off", "task"]), "off", "Commit each success on the current branch"),
    Key::new("timeout", Kind::Duration, "60m", "Longest run of the agent").or_zero(),
    Key::new("idle-timeout", Kind::Duration, "15m", "Longest silence of the agent").or_zero(),
    Key::new("max-output", Kind::Size, "1GiB", "Largest output of a child, for each stream").or_zero(),
    Key::new("validation.command", Kind::Text, "none", "Command that must pass, run by the shell").or_none(),
    Key::new("validation.timeout", Kind::Duration, "30m", "Longest run of the validation").or_zero(),
    Key::new("progress.strategy", Kind::Strategy, STRATEGIES[0], "How earlier iterations are told"),
    Key::new("progress.command", Kind::Text, "none", "Command that sums an iteration up, asked on its stdin")
        .or_none(),
    Key::new("progress.timeout", Kind::Duration, "1m", "Longest run of a command that sums up").or_zero(),
    Key::new("progress.max-entries", TIMES, "5", "Earlier iterations in the prompt; 0 for none"),
    Key::new("progress.max-chars", TIMES, "500", "Characters of output for each; 0 for head lines only"),
    Key::new("progress.tail", Kind::Switch, "false", "Take the end of an output as it is, without a choice"),
    Key::new("prompt-budget", TIMES, "80000", "Most tokens of a prompt; older iterations are cut first")
        .or_zero(),
    Key::new("history.mode", Kind::Word(&["off", "smart", "full"]), "off", "Older iterations in the prompt"),
    Key::new("history.budget", TIMES, "10000", "Tokens that older iterations may take"),
    Key::new("history.lookback", TIMES, "5", "Iterations to look back"),
    Key::new("history.threshold", Kind::Ratio, "0.7", "Least relevance of an older iteration"),
    Key::new("history.failures", Kind::Switch, "true", "Tell of earlier failures"),
    Key::new("history.decisions", Kind::Switch, "true", "Tell of earlier decisions"),
    Key::new("history.approaches", Kind::Switch, "true", "Tell of earlier approaches"),
    Key::new(
        "history.summarize",
        Kind::Text,
        "local",
        "Who sums older iterations up: local, none, or a command",
    )
    .or_none(),
    Key::new("snapshots", Kind::Switch, "true", "Keep the work tree as it was after each iteration"),
    Key::new("snapshot-max-file", Kind::Size, "5MiB", "Largest file in a snapshot")
        .or_none()
        .unset("no limit"),
    Key::new("remote", Kind::Text, "none", "Remote that `sync` and `purge` go to")
        .or_none()
        .unset("the only one there is"),
    Key::new("redaction.rules", Kind::Patterns, "none", "Regular expressions of further secrets").or_none(),
    Key::new("redaction.allow", Kind::Patterns, "none", "Regular expressions of what is no secret").or_none(),
    Key::new("redaction.terminal", Kind::Switch, "true", "Redact what is printed, too"),
    Key::new("hooks.on-finish", Kind::Text, "none", "Command to run when a session has ended").or_none(),
    Key::new("capture.<name>", Kind::Pattern, "none", "Regular expression of what to note down").or_none(),
];

/// The name before the one free part of a key: `capture.` of `capture.<name>`.
pub const CAPTURE: &str = "capture.";

/// Finds the setting called `name` in the file's spelling.
pub fn find(name: &str) -> Option<&'static Key> {
    let is_capture = name.strip_prefix(CAPTURE).is_some_and(|rest| !rest.is_empty());
    KEYS.iter().find(|key| key.name == name || (is_capture && key.name.starts_with(CAPTURE)))
}
