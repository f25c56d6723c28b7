//! What `doctor` found out about one thing, and how it is printed.

use std::io::Write;

use anyhow::Error;
use serde::Serialize;

use ralph_agent::AgentListing;
use ralph_core::record::Refusal;
use ralph_ui::style::one_line;

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
    /// All known agents, of the finding about them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentListing>,
}

impl Finding {
    pub fn fine(about: &'static str, message: impl Into<String>) -> Self {
        Self::new(about, Severity::Fine, message)
    }

    pub fn note(about: &'static str, message: impl Into<String>) -> Self {
        Self::new(about, Severity::Note, message)
    }
    pub fn new(about: &'static str, state: Severity, message: impl Into<String>) -> Self {
        Self { about, state, message: message.into(), hint: None, agents: Vec::new() }
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
    for Finding { about, state, message, hint, agents } in findings {
        let sign = match state {
            Severity::Fine => "ok",
            Severity::Note => "note",
            Severity::Wrong => "WRONG",
        };
        writeln!(out, "{sign:5}  {about:12}  {}", one_line(message))?;
        if let Some(hint) = hint {
            writeln!(out, "{:19}  {}", "", one_line(hint))?;
        }
        for AgentListing { name, version, path, install, missing, .. } in agents {
            let version = version.as_deref().unwrap_or("-");
            let place = match path {
                Some(path) => path.to_string(),
                None => format!("not installed: {install}"),
            };
            writeln!(out, "{:19}  {name:9} {version:12} {}", "", one_line(&place))?;
            for line in missing.iter().filter(|_| path.is_some()).flat_map(|missing| missing.lines()) {
                writeln!(out, "{:19}  {:9} {}", "", "", one_line(line))?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use ralph_core::record::PromptVia;

    use super::*;

    #[test]
    fn an_agent_that_is_here_and_cannot_be_used_says_why() {
        let agent = |name: &str, path: Option<&str>, missing: Option<&str>| AgentListing {
            name: name.to_owned(),
            is_installed: missing.is_none(),
            version: missing.is_none().then(|| "1.2.3".to_owned()),
            path: path.map(Into::into),
            prompt: PromptVia::Stdin,
            install: "npm install -g it",
            missing: missing.map(str::to_owned),
        };
        let agents = vec![
            agent("codex", Some("/bin/codex"), None),
            agent("claude", Some("/bin/claude"), Some("no root\nhint: be another")),
            agent("pi", None, Some("not installed")),
        ];
        let mut out = Vec::new();
        write(&[Finding { agents, ..Finding::fine("agents", "codex 1.2.3") }], &mut out).unwrap();
        let lines = [
            "ok     agents        codex 1.2.3",
            "                     codex     1.2.3        /bin/codex",
            "                     claude    -            /bin/claude",
            "                               no root",
            "                               hint: be another",
            "                     pi        -            not installed: npm install -g it\n",
        ];
        assert_eq!(String::from_utf8(out).unwrap(), lines.join("\n"));
    }
}
