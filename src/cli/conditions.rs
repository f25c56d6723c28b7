//! What `log` compares with values of a record: `--where FIELD=VALUE`, `--exit N`, `--class NAME`.

use std::fmt;
use std::str::FromStr;

use anyhow::{Error, Result, bail};
use serde_json::Value;

use crate::record::{Exits, FailureClass, did_you_mean};
use crate::view::fields::{CAPTURED, compared, is_of_any_record, is_value, values};

/// `FIELD=VALUE`: a field of the JSON, and what it must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    field: String,
    value: String,
}

/// `N`, `agent=N` or `validation=N`: how one of the children ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExitCondition {
    agent: bool,
    validation: bool,
    code: i32,
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.field, self.value)
    }
}

impl FromStr for Condition {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let Some((field, value)) = text.split_once('=') else {
            bail!("expected FIELD=VALUE, as in `captured.port=8080` or `exit.agent=1`");
        };
        let field = field.trim();
        if field.is_empty() || field.split('.').any(str::is_empty) {
            bail!("`{field}` is not the name of a field, as `captured.port` or `exit.agent` are");
        }
        if !is_of_any_record(field) {
            if let Some(near) = did_you_mean(field, compared()) {
                bail!("unknown field `{field}`, did you mean `{near}`?");
            }
            let names: Vec<_> = compared().collect();
            bail!("unknown field `{field}`; expected one of {} and {CAPTURED}NAME", names.join(", "));
        }
        Ok(Self { field: field.to_owned(), value: value.to_owned() })
    }
}

impl Condition {
    pub fn field(&self) -> &str {
        &self.field
    }

    /// Returns true if the condition holds of JSON that may lack the field; `None` if it does.
    pub fn holds(&self, json: &Value) -> Option<bool> {
        let values = values(json, &self.field);
        if values.is_empty() { None } else { Some(values.iter().any(|value| is_value(value, &self.value))) }
    }
}

impl fmt::Display for ExitCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self { agent: true, validation: true, code } => write!(f, "{code}"),
            Self { agent: true, code, .. } => write!(f, "agent={code}"),
            Self { code, .. } => write!(f, "validation={code}"),
        }
    }
}

impl FromStr for ExitCondition {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (agent, validation, code) = match text.split_once('=') {
            None => (true, true, text),
            Some(("agent", code)) => (true, false, code),
            Some(("validation", code)) => (false, true, code),
            Some(_) => bail!("expected N, agent=N or validation=N"),
        };
        match code.parse() {
            Ok(code) => Ok(Self { agent, validation, code }),
            Err(_) => bail!("`{code}` is not an exit code; expected N, agent=N or validation=N"),
        }
    }
}

impl ExitCondition {
    pub fn holds(self, exit: Exits) -> bool {
        let Self { agent, validation, code } = self;
        agent && exit.agent == Some(code) || validation && exit.validation == Some(code)
    }
}

/// Returns the parser for `--class`.
pub fn class(text: &str) -> Result<FailureClass> {
    if let Some(class) = FailureClass::ALL.iter().find(|class| class.as_str() == text.replace('-', "_")) {
        return Ok(*class);
    }
    let names = || FailureClass::ALL.iter().map(FailureClass::as_str);
    match did_you_mean(text, names()) {
        Some(near) => bail!("`{text}` is not a class of failures, did you mean `{near}`?"),
        None => {
            bail!(
                "`{text}` is not a class of failures; expected one of {}",
                names().collect::<Vec<_>>().join(", ")
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_condition_is_a_field_and_a_value() {
        for (text, expected) in [
            ("captured.port=8080", Some(("captured.port", "8080"))),
            ("task_text=a=b", Some(("task_text", "a=b"))),
            ("task=", Some(("task", ""))),
            ("task", None),
            ("=x", None),
            ("a..b=x", None),
            ("tool_calls.is_error=true", Some(("tool_calls.is_error", "true"))),
            ("nothing=x", None),
        ] {
            let read = text.parse::<Condition>().ok();
            let read = read.as_ref().map(|read| (read.field.as_str(), read.value.as_str()));
            assert_eq!(read, expected, "{text}");
        }
        let error = |text: &str| text.parse::<Condition>().unwrap_err().to_string();
        assert_eq!(error("otcome=x"), "unknown field `otcome`, did you mean `outcome`?");
        assert!(error("zzz=x").starts_with("unknown field `zzz`; expected one of name, subject,"));
        let condition: Condition = "exit.agent=1".parse().unwrap();
        assert_eq!(condition.holds(&json!({"exit": {"agent": 1}})), Some(true));
        assert_eq!(condition.holds(&json!({"exit": {"agent": 2}})), Some(false));
        assert_eq!(condition.holds(&json!({"exit": {"agent": null}})), None);
    }

    #[test]
    fn an_exit_is_of_either_child_or_of_the_one_that_is_named() {
        let exit = Exits { agent: Some(0), validation: Some(101) };
        for (text, expected) in [
            ("101", Some(true)),
            ("0", Some(true)),
            ("1", Some(false)),
            ("-1", Some(false)),
            ("agent=101", Some(false)),
            ("validation=101", Some(true)),
            ("tests=1", None),
            ("one", None),
        ] {
            assert_eq!(text.parse::<ExitCondition>().ok().map(|one| one.holds(exit)), expected, "{text}");
        }
    }

    #[test]
    fn a_class_is_known_or_hinted_at() {
        assert_eq!(class("rate-limit").unwrap(), FailureClass::RateLimit);
        assert_eq!(class("rate_limit").unwrap(), FailureClass::RateLimit);
        assert!(class("rate_limits").unwrap_err().to_string().ends_with("did you mean `rate_limit`?"));
        assert!(class("x").unwrap_err().to_string().contains("expected one of auth, billing,"));
    }
}
