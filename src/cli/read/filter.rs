//! Which iterations `log` lists.

use std::collections::{BTreeSet, HashSet};
use std::str::FromStr;

use anyhow::{Context as _, Error, Result, bail};
use clap::Args;
use regex::bytes::Regex;

use ralph_core::record::{Exits, LogEntry, Outcome, Timestamp, join_truncated};
use ralph_store::ListedSession;
use ralph_ui::style::one_line;

use crate::cli::Context;
use crate::cli::read::grep::SearchedPart;
use crate::cli::read::moment::moment;

/// Maximum number of values that an error names.
const MAX_VALUES: usize = 20;

/// Filters of the list; an iteration must pass all that are given.
#[derive(Debug, Default, PartialEq, Args)]
#[command(next_help_heading = "Filters")]
#[group(id = "filters", multiple = true, conflicts_with = "sessions")]
pub struct FilterArgs {
    /// Only failed iterations
    #[arg(long, conflicts_with = "outcome")]
    pub failed: bool,
    /// Only iterations with something that a person should look at
    #[arg(long)]
    pub flagged: bool,
    /// With --flagged: also flags whose reasons are gone
    #[arg(long, requires = "flagged")]
    pub all: bool,
    /// Only these outcomes: success, failure, skipped, interrupted
    #[arg(long, value_name = "OUTCOME", value_delimiter = ',')]
    pub outcome: Vec<Outcome>,
    /// Only iterations of these tasks (can be repeated)
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub task: Vec<String>,
    /// Only tasks of this phase: its number, or a part of its name
    #[arg(long, value_name = "PHASE")]
    pub phase: Option<String>,
    /// Only iterations of this agent
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Only iterations that ended after this time, in any form that git accepts: 2.days.ago
    #[arg(long, value_name = "DATE", visible_alias = "after")]
    pub since: Option<String>,
    /// Only iterations that ended before this time
    #[arg(long, value_name = "DATE", visible_alias = "before")]
    pub until: Option<String>,
    /// Only iterations with a line that matches this regular expression, in an output, an answer or the diff
    #[arg(long, value_name = "REGEX", value_parser = regex)]
    pub grep: Option<String>,
    /// Where --grep looks (can be repeated) [default: answer,output,diff]
    #[arg(long = "in", value_name = "PART", value_delimiter = ',', requires = "grep")]
    pub searched: Vec<SearchedPart>,
    /// Ignore case in --grep
    #[arg(short = 'i', long, requires = "grep")]
    pub ignore_case: bool,
    /// Only iterations whose agent or validation exited with N; agent=N or validation=N for one of them
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub exit: Option<ExitCondition>,
}

/// `N`, `agent=N` or `validation=N`: how one of the children ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExitCondition {
    agent: bool,
    validation: bool,
    code: i32,
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
    fn holds(self, exit: Exits) -> bool {
        let Self { agent, validation, code } = self;
        agent && exit.agent == Some(code) || validation && exit.validation == Some(code)
    }
}

/// Returns the parser for `--grep`.
fn regex(text: &str) -> Result<String> {
    Ok(Regex::new(text).map(|_| text.to_owned())?)
}

/// The parsed filters.
pub struct Filter<'a> {
    args: &'a FilterArgs,
    outcomes: Vec<Outcome>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    phase: Option<Regex>,
    /// Task names as recorded.
    tasks: HashSet<String>,
}

impl<'a> Filter<'a> {
    pub fn new(args: &'a FilterArgs, context: &Context) -> Result<Self> {
        let outcomes = if args.failed { vec![Outcome::Failure] } else { args.outcome.clone() };
        Ok(Self {
            args,
            outcomes,
            since: moment(context, "--since", args.since.as_deref())?,
            until: moment(context, "--until", args.until.as_deref())?,
            phase: args.phase.as_deref().map(phase).transpose()?,
            tasks: HashSet::new(),
        })
    }

    /// Looks over all that is listed from, where that must be known before the first is shown.
    pub fn look_over<'r>(&mut self, sessions: impl Iterator<Item = &'r ListedSession>) -> Result<()> {
        let Self { args, phase, .. } = self;
        if args.task.is_empty() && phase.is_none() && args.agent.is_none() {
            return Ok(());
        }
        let (mut known, mut phases, mut agents) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for row in sessions.flat_map(|session| session.view().iterations()) {
            known.extend(row.task().map(str::to_owned));
            if phase.is_some() {
                phases.extend(row.phase().filter(|phase| !phase.is_empty()).map(str::to_owned));
            }
            if args.agent.is_some() {
                agents.extend(row.agent().map(str::to_owned));
            }
        }
        if let (Some(wanted), Some(phase)) = (&self.args.phase, &self.phase) {
            let is_known = phases.iter().any(|known| phase.is_match(known.as_bytes()));
            require(is_known, "--phase", wanted, "phases", phases.iter().map(|phase| numbered(phase)))?;
        }
        if let Some(wanted) = &self.args.agent {
            require(agents.contains(wanted), "--agent", wanted, "agents", agents.iter().cloned())?;
        }
        for wanted in &self.args.task {
            let tasks = named(wanted, &known);
            require(!tasks.is_empty(), "--task", wanted, "tasks", known.iter().cloned())?;
            self.tasks.extend(tasks.into_iter().cloned());
        }
        Ok(())
    }

    /// Returns true if a row is to be listed, as far as its record's message shows.
    pub fn takes(&self, row: &LogEntry) -> bool {
        let Self { args, outcomes, .. } = self;
        row.is_iteration()
            && (!args.flagged || row.is_flagged())
            && (outcomes.is_empty() || row.outcome().is_some_and(|outcome| outcomes.contains(&outcome)))
            && self.since.is_none_or(|since| row.ended_at() >= since)
            && self.until.is_none_or(|until| row.ended_at() <= until)
            && (args.task.is_empty() || row.task().is_some_and(|task| self.tasks.contains(task)))
            && args.exit.is_none_or(|exit| exit.holds(row.exit()))
            && args.agent.as_deref().is_none_or(|agent| row.agent() == Some(agent))
            && self
                .phase
                .as_ref()
                .is_none_or(|phase| phase.is_match(row.phase().unwrap_or_default().as_bytes()))
    }

    /// Returns true if no filter is set.
    pub fn is_open(&self) -> bool {
        *self.args == FilterArgs::default()
    }
}

/// Returns the pattern for a phase as people name it: a part of its name, or its number, so that `2` matches
/// `Phase 2: Foundation` and not `Phase 12`.
fn phase(text: &str) -> Result<Regex> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let pattern = match text.trim_start_matches('0') {
        number if is_number => format!(r"(?i)\bphase 0*{number}\b"),
        _ => format!("(?i){}", regex::escape(text)),
    };
    Regex::new(&pattern).context("read --phase")
}

/// Fails if nothing that is recorded has a value.
fn require(
    is_known: bool,
    flag: &str,
    wanted: &str,
    noun: &str,
    known: impl Iterator<Item = String>,
) -> Result<()> {
    if is_known {
        return Ok(());
    }
    let known: Vec<String> = known.map(|name| one_line(&name)).collect();
    let values = match known.as_slice() {
        [] => format!("no attempt here has {noun}"),
        known => format!("the {noun} are {}", join_truncated(known, MAX_VALUES)),
    };
    bail!("no attempt matches {flag} {}: {values}", one_line(wanted))
}

/// `2 Foundational` of `Phase 2: Foundational`, as `--phase` takes it.
fn numbered(phase: &str) -> String {
    let short = phase.split(['(', '–']).next().unwrap_or(phase).split(" - ").next().unwrap_or(phase);
    match short.strip_prefix("Phase ").and_then(|rest| rest.split_once(':')) {
        Some((number, name)) => format!("{number} {}", name.trim()),
        None => phase.to_owned(),
    }
}

/// Returns the recorded tasks of that name; letter case counts only if a task matches exactly.
fn named<'a>(wanted: &str, known: &'a BTreeSet<String>) -> Vec<&'a String> {
    match known.get(wanted) {
        Some(task) => vec![task],
        None => known.iter().filter(|task| task.eq_ignore_ascii_case(wanted)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_named_in_any_letter_case() {
        let known: BTreeSet<String> = ["T001", "T002", "t002", "a"].map(str::to_owned).into();
        for (wanted, found) in
            [("T001", &["T001"][..]), ("t001", &["T001"]), ("t002", &["t002"]), ("A", &["a"]), ("b", &[])]
        {
            assert_eq!(named(wanted, &known), found, "{wanted}");
        }
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
    fn a_phase_is_its_number_or_a_part_of_its_name() {
        for (phase, wanted, is_it) in [
            ("Phase 2: Foundation", "2", true),
            ("Phase 12: Polish", "2", false),
            ("Phase 12: Polish", "12", true),
            ("phase 2", "02", true),
            ("Phase 2: Foundation", "found", true),
            ("Phase 2: Foundation", "setup", false),
        ] {
            assert_eq!(
                super::phase(wanted).unwrap().is_match(phase.as_bytes()),
                is_it,
                "{wanted} in {phase}"
            );
        }
    }
}
