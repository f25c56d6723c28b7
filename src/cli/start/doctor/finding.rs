//! What `doctor` found out about one thing, and how it is printed.

use std::io::Write;

use anyhow::Error;
use serde::Serialize;

use ralph_agent::AgentListing;
use ralph_core::record::Refusal;
use ralph_ui::style::{Look, Screen, one_line, padded};

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
    /// True for what is neither well nor a problem: it is off, or not known.
    #[serde(skip)]
    pub is_open: bool,
}

impl Finding {
    pub fn fine(about: &'static str, message: impl Into<String>) -> Self {
        Self::new(about, Severity::Fine, message)
    }

    pub fn open(about: &'static str, message: impl Into<String>) -> Self {
        Self { is_open: true, ..Self::fine(about, message) }
    }

    pub fn note(about: &'static str, message: impl Into<String>) -> Self {
        Self::new(about, Severity::Note, message)
    }

    pub fn new(about: &'static str, state: Severity, message: impl Into<String>) -> Self {
        Self { about, state, message: message.into(), hint: None, agents: Vec::new(), is_open: false }
    }

    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What is well, in few words.
    fn briefly(&self) -> String {
        let message = one_line(&self.message);
        match self.about {
            "git" => message.replacen("git version ", "git ", 1),
            "settings" | "repository" | "programs" => self.about.to_owned(),
            "agents" => format!("agents {}", message.trim_start_matches("set up here: ")),
            "disk" | "records" => message,
            "trust" => "trusted commands".to_owned(),
            about => format!("{about} {message}"),
        }
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

fn with_severity(findings: &[Finding], severity: Severity) -> impl Iterator<Item = &Finding> {
    findings.iter().filter(move |finding| finding.state == severity)
}

/// Columns of what a finding is about.
const ABOUT: usize = 13;

/// Writes what is to be fixed, then what is worth knowing, and then all the rest, one a line.
pub(super) fn write(findings: &[Finding], out: &mut impl Write, screen: Screen) -> std::io::Result<()> {
    let (wrong, notes) =
        (with_severity(findings, Severity::Wrong).count(), with_severity(findings, Severity::Note).count());
    let summary = match (wrong, notes) {
        (0, 0) => "nothing to fix".to_owned(),
        (0, notes) => format!("nothing to fix, {notes} to know"),
        (wrong, 0) => format!("{wrong} to fix"),
        (wrong, notes) => format!("{wrong} to fix, {notes} to know"),
    };
    writeln!(out, "{}\n", screen.paint(Look::Bold, &summary))?;
    for finding in with_severity(findings, Severity::Wrong).chain(with_severity(findings, Severity::Note)) {
        let (look, mark) =
            if finding.state == Severity::Wrong { (Look::Bad, "✘") } else { (Look::Warn, "!") };
        let lead = format!("{mark} {}", padded(finding.about, ABOUT));
        let mut lines = screen.paint_start(look, &lead, screen.hanging(&lead, &one_line(&finding.message)));
        if let Some(hint) = &finding.hint {
            let lead = format!("{}→ ", " ".repeat(ABOUT + 2));
            lines.extend(screen.hanging(&lead, &one_line(hint)));
        }
        lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
        write_agents(finding, out)?;
    }
    for finding in with_severity(findings, Severity::Fine) {
        let (look, mark) = if finding.is_open { (Look::Dim, "·") } else { (Look::Good, "✔") };
        let lines = screen.hanging(&format!("{mark} "), &finding.briefly());
        screen.paint_start(look, mark, lines).iter().try_for_each(|line| writeln!(out, "{line}"))?;
        write_agents(finding, out)?;
    }
    Ok(())
}

/// The known agents that are here, each with its version and place; one that cannot be used says why. Where none can be
/// used, how each is installed.
fn write_agents(finding: &Finding, out: &mut impl Write) -> std::io::Result<()> {
    for AgentListing { name, version, path, install, missing, .. } in &finding.agents {
        let version = version.as_deref().unwrap_or("-");
        let place = match path {
            Some(path) => path.to_string(),
            None if finding.state == Severity::Wrong => format!("not installed: {install}"),
            None => continue,
        };
        writeln!(out, "{:15}{name:9} {version:12} {}", "", one_line(&place))?;
        for line in missing.iter().filter(|_| path.is_some()).flat_map(|missing| missing.lines()) {
            writeln!(out, "{:15}{:9} {}", "", "", one_line(line))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use ralph_core::record::PromptVia;
    use ralph_ui::style::Paint;

    use super::*;

    #[test]
    fn what_is_to_be_fixed_comes_first_in_every_width_and_an_agent_says_why_it_cannot_be_used() {
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
        let commands = ".specify/ralph.toml names 2 commands that you have not approved: agents.night.command = python3 /home/night/agent.py (line 5), validation.command = python3 check.py (line 2)";
        let findings = [
            Finding::fine("git", "git version 2.47.3"),
            Finding::fine("programs", "`specify ralph` leads to this program"),
            Finding::note("permissions", "the agent runs any command without asking, and you are root")
                .with_hint("a container or a separate machine, or permissions = \"default\""),
            Finding { agents, ..Finding::fine("agents", "codex 1.2.3") },
            Finding::fine("feature", "specs/004-boards"),
            Finding::fine("disk", "75 GiB free"),
            Finding::open("sandbox", "off; --sandbox would use bwrap 0.8.0"),
            Finding::new("trust", Severity::Wrong, commands).with_hint("specify ralph trust"),
        ];
        let mut shown = String::new();
        for width in [80, 40, usize::MAX] {
            let mut out = Vec::new();
            write(&findings, &mut out, Screen { paint: Paint::Plain, width }).unwrap();
            let width = if width == usize::MAX { "piped".to_owned() } else { format!("{width} columns") };
            shown += &format!("== {width}\n{}\n", String::from_utf8(out).unwrap());
        }
        insta::assert_snapshot!(shown);
    }
}
