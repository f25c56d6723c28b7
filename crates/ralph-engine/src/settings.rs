//! Translates settings into the types that a session uses.

use std::time::Duration;

use anyhow::{Context, Result};
use redact_stream::Redactor;

use ralph_core::config::Settings;
use ralph_core::progress::capture::Rules;
use ralph_core::progress::{ExcerptMode, Progress};
use ralph_core::record::SessionId;
use ralph_os::process::Limits as ChildLimits;
use ralph_store::Store;

use super::memory::Memory;
use super::redaction::redactor_of;

/// Means no limit where one is required.
const UNLIMITED: Duration = Duration::from_secs(u64::MAX / 4);

/// Returns the limits of a child; `wall` is how long it may run, `idle` how long it may be silent.
pub fn child_limits(settings: &Settings, wall: Option<Duration>, idle: Option<Duration>) -> ChildLimits {
    let (wall, output) = (wall.unwrap_or(UNLIMITED), settings.max_output.unwrap_or(u64::MAX));
    ChildLimits { wall, idle, first_output: None, output }
}

pub(super) fn validation_limits(settings: &Settings) -> ChildLimits {
    child_limits(settings, settings.validation_timeout, None)
}

/// Returns the strategy that renders earlier iterations for the prompt, with the newest of `memory`; those of `session`
/// come first.
pub fn progress_strategy(
    settings: &Settings,
    memory: &Memory,
    store: &Store,
    session: Option<&SessionId>,
) -> Progress {
    let max_entries = settings.progress_max_entries;
    let (strategy, max_chars) = (settings.progress_strategy, settings.progress_max_chars);
    let mut progress = Progress::new(strategy, max_entries, max_chars, excerpt_choice(settings));
    for context in memory.newest(store, session, max_entries) {
        progress.record(context);
    }
    progress
}

pub(super) fn excerpt_choice(settings: &Settings) -> ExcerptMode {
    if settings.progress_tail { ExcerptMode::BlindTail } else { ExcerptMode::Excerpt }
}

/// Returns the command that summarizes older iterations; `local` is our own way.
pub fn history_summarizer(settings: &Settings) -> Option<&str> {
    settings.history_summarize.as_deref().filter(|name| *name != "local")
}

/// Returns the command that summarizes an iteration, if the strategy wants one.
pub(super) fn iteration_summarizer(settings: &Settings) -> Option<&str> {
    let command = settings.progress_command.as_deref().or(history_summarizer(settings));
    command.filter(|_| settings.progress_strategy.is_summarized())
}

/// Returns true if the strategy wants summaries, and no command makes them.
pub fn lacks_summarizer(settings: &Settings) -> bool {
    settings.progress_strategy.is_summarized() && iteration_summarizer(settings).is_none()
}

/// Returns the rules for values to record from outputs.
pub fn capture_rules(settings: &Settings) -> Result<Rules> {
    let rules = settings.captures.iter().map(|(name, pattern)| (name.as_str(), pattern.as_str()));
    Rules::new(rules).context("compile the rules of `capture`")
}

/// Returns the redactor of a project's records.
pub fn redactor(settings: &Settings) -> Result<Redactor> {
    redactor_of(&settings.redaction_rules, &settings.redaction_allow)
}
