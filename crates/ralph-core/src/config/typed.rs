//! The types of settings, for those who use them.

use std::time::Duration;

use serde_json::Value;
use strum::{EnumString, VariantNames};
use tasklist::Parallel;

use crate::record::{Permissions, Strategy};

use super::duration::{parse_duration, parse_size};

/// What ends the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Completion {
    /// No open task, and a validation that passes.
    Verified,
    /// The agent's promise is enough.
    Promise,
}

/// Whether the loop commits on the user's branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Commits {
    Off,
    /// One commit for each iteration that succeeds.
    #[strum(serialize = "task")]
    OfTasks,
}

/// When a validation passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Pass {
    /// It exits with 0.
    Green,
    /// No test fails but those that failed before the start.
    NoNewFailures,
}

/// Whether a validation that failed runs once more before an agent does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Rerun {
    /// If a few tests failed that may have done so by chance.
    Auto,
    Never,
}

/// When results are tried in a clean checkout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Clean {
    /// At the end of a session, and after one that failed every success.
    Auto,
    Off,
    /// Every success.
    Task,
}

/// Tasks that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Unit {
    /// A task; where the list asks for tests that must fail first, those with what they test.
    Auto,
    /// One alone.
    Task,
    Story,
    Phase,
}

/// What happens to the changes of failed attempts, where the validation passed before them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum FailedChanges {
    Restore,
    Keep,
}

/// What happens to a task whose agent asks the user something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum OnQuestion {
    /// It is set aside for an answer, and tried once more when nothing else can be done.
    Wait,
    /// It is tried again, as after any failure.
    Retry,
}

/// Which older iterations a prompt has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum HistoryMode {
    /// Smart for a task that failed twice in a row.
    Auto,
    Off,
    Smart,
    Full,
}

/// Whether the terminal says that a session has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notify {
    /// Where the loop writes to it.
    Auto,
    /// Also where the output is redirected.
    Always,
    Never,
}

/// What keeps the commands of a loop from the rest of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SandboxChoice {
    /// The first of the others that is installed and can do what is asked.
    Auto,
    Srt,
    Bwrap,
    /// A command of the user's.
    Command(Vec<String>),
}

/// Whether commands of the project's file need an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Trust {
    Ask,
    Always,
}

/// Made of the checked value of its setting.
pub(super) trait FromValue {
    fn from_value(value: &Value) -> Self;
}

/// Each type of a setting that may be absent, and the same type of one that may not.
macro_rules! from_value {
    ($($type:ty: $found:expr;)*) => {$(
        impl FromValue for Option<$type> {
            fn from_value(value: &Value) -> Self {
                let found: fn(&Value) -> Self = $found;
                found(value)
            }
        }

        impl FromValue for $type {
            fn from_value(value: &Value) -> Self {
                Option::from_value(value).expect("its key has a default of this type, and checks what is set")
            }
        }
    )*};
}

from_value! {
    u32: |value| value.as_u64()?.try_into().ok();
    u64: |value| value.as_u64().or_else(|| parse_size(value.as_str()?));
    usize: |value| value.as_u64()?.try_into().ok();
    f64: Value::as_f64;
    bool: Value::as_bool;
    Duration: |value| parse_duration(value.as_str()?);
    String: |value| value.as_str().map(str::to_owned);
    Permissions: |value| value.as_str()?.parse().ok();
    Completion: |value| value.as_str()?.parse().ok();
    Pass: |value| value.as_str()?.parse().ok();
    Rerun: |value| value.as_str()?.parse().ok();
    Clean: |value| value.as_str()?.parse().ok();
    Unit: |value| value.as_str()?.parse().ok();
    FailedChanges: |value| value.as_str()?.parse().ok();
    OnQuestion: |value| value.as_str()?.parse().ok();
    Commits: |value| value.as_str()?.parse().ok();
    HistoryMode: |value| value.as_str()?.parse().ok();
    Strategy: |value| value.as_str()?.parse().ok();
    Trust: |value| value.as_str()?.parse().ok();
    Parallel: |value| Some(match value.as_str()? {
        "marked" => Parallel::Marked,
        "phase" => Parallel::Phase,
        _ => Parallel::Story,
    });
    Notify: |value| Some(value.as_bool().map_or(Notify::Auto, |on| if on { Notify::Always } else { Notify::Never }));
    SandboxChoice: |value| Some(match value.as_str() {
        Some("auto") => SandboxChoice::Auto,
        Some("srt") => SandboxChoice::Srt,
        Some("bwrap") => SandboxChoice::Bwrap,
        Some(_) => return None,
        None => SandboxChoice::Command(Some(Vec::from_value(value)).filter(|words| !words.is_empty())?),
    });
}

impl FromValue for Vec<String> {
    fn from_value(value: &Value) -> Self {
        value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    }
}
