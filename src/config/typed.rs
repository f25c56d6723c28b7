//! The types of settings, for those who use them.

use std::time::Duration;

use strum::{EnumString, VariantNames};

use crate::record::Permissions;

use super::value::Value;

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

/// Made of the checked value of its setting.
pub(super) trait FromValue {
    fn from_value(value: &Value) -> Self;
}

/// Each type of a setting that may be absent, and the same type of one that may not.
macro_rules! from_value {
    ($($type:ty: $pattern:pat => $found:expr;)*) => {$(
        impl FromValue for Option<$type> {
            fn from_value(value: &Value) -> Self {
                if let $pattern = value { $found } else { None }
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
    u32: Value::Count(count) => u32::try_from(*count).ok();
    u64: Value::Count(count) | Value::Size(count) => Some(*count);
    usize: Value::Count(count) => usize::try_from(*count).ok();
    f64: Value::Number(number) => Some(*number);
    bool: Value::Switch(switch) => Some(*switch);
    Duration: Value::Duration(duration) => Some(*duration);
    String: Value::Text(text) => Some(text.clone());
    Permissions: Value::Text(text) => text.parse().ok();
    Completion: Value::Text(text) => text.parse().ok();
    Pass: Value::Text(text) => text.parse().ok();
    Unit: Value::Text(text) => text.parse().ok();
    FailedChanges: Value::Text(text) => text.parse().ok();
    OnQuestion: Value::Text(text) => text.parse().ok();
    Commits: Value::Text(text) => text.parse().ok();
}

impl FromValue for Vec<String> {
    fn from_value(value: &Value) -> Self {
        if let Value::List(list) = value { list.clone() } else { Self::new() }
    }
}
