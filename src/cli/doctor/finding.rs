//! What `doctor` found out about one thing, and how it is printed.

use std::io::Write;

use anyhow::Error;
use serde::Serialize;

use crate::record::Refusal;
use crate::view::style::one_line;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Severity {
    Fine,
    /// Not a problem, but worth knowing.
    Note,
    Wrong,
}

#[derive(Debug, Serialize)]
pub(super) struct Finding {
    pub about: &'static str,
    pub state: Severity,
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Finding {
    pub fn fine(about: &'static str, message: impl Into<String>) -> Self {
        Self::new(about, Severity::Fine, message)
    }

    pub fn note(about: &'static str, message: impl Into<String>) -> Self {
        Self::new(about, Severity::Note, message)
    }
    pub fn new(about: &'static str, state: Severity, message: impl Into<String>) -> Self {
        Self { about, state, message: message.into(), hint: None }
    }

    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub fn wrong(about: &'static str, error: &Error) -> Self {
        match error.downcast_ref::<Refusal>() {
            Some(Refusal { message, hint: Some(hint) }) => {
                Self::new(about, Severity::Wrong, message.clone()).with_hint(hint.clone())
            }
            // Where the refusal was made of an error its hint is in its words.
            _ => match format!("{error:#}").split_once("\nhint: ") {
                Some((message, hint)) => Self::new(about, Severity::Wrong, message).with_hint(hint),
                None => Self::new(about, Severity::Wrong, format!("{error:#}")),
            },
        }
    }
}

pub(super) fn write(findings: &[Finding], out: &mut impl Write) -> std::io::Result<()> {
    for Finding { about, state, message, hint } in findings {
        let sign = match state {
            Severity::Fine => "ok",
            Severity::Note => "note",
            Severity::Wrong => "WRONG",
        };
        writeln!(out, "{sign:5}  {about:12}  {}", one_line(message))?;
        if let Some(hint) = hint {
            writeln!(out, "{:19}  {}", "", one_line(hint))?;
        }
    }
    Ok(())
}
