//! What is remembered of the feature's earlier iterations, over all sessions.

use anyhow::Result;
use camino::{Utf8Path, Utf8PathBuf};

use ralph_core::config::{Config, HistoryMode};
use ralph_core::history::History;
use ralph_core::progress::capture::{self, Rules};
use ralph_core::progress::historical::{self, HistoricalContext, HistorySettings, Mode};
use ralph_core::progress::{IterationContext, Selection};
use ralph_core::record::{Iteration, LogEntry, Outcome, SessionId, Task, Timestamp};
use ralph_project::feature::Feature;
use ralph_store::{SessionLog, Store};

use super::iteration_context;

/// Maximum number of iterations that are considered, the newest ones.
const MAX_ITERATIONS: usize = 1000;

/// Maximum number of records without facts whose outputs are read again.
const MAX_REREAD_OUTPUTS: usize = 50;

/// Failures in a row after which history is included without being asked for: with the default of `skip-after`, 3, the last
/// attempt before a task is given up has it.
const MIN_FAILURES_FOR_HISTORY: u32 = 2;

/// The iterations of a feature.
pub struct Memory {
    entries: Vec<LogEntry>,
    /// Filled when it is asked for: most sessions never need it.
    past: Option<Vec<Iteration>>,
    /// Iterations that were recorded since.
    fresh: Vec<Iteration>,
    over_sessions: History,
    /// Iterations that were recorded since, and how many of them learned something.
    pushed: usize,
    learned: usize,
    feature: String,
    /// Iterations up to then are not in the strategy's text.
    cleared_at: Option<Timestamp>,
    /// Where validations ran; paths in their outputs are shown as seen from there.
    root: Utf8PathBuf,
}

/// Reason a prompt has a historical context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    Asked,
    /// The task failed this many times in a row.
    Failures(u32),
}

impl Reason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::Failures(_) => "failures",
        }
    }
}

/// What a prompt contains about earlier iterations, and why.
#[derive(Debug)]
pub struct RecalledHistory {
    pub context: HistoricalContext,
    pub mode: Mode,
    pub why: Reason,
}

impl RecalledHistory {
    /// Returns why it is empty, where earlier iterations have nothing for it: `None` if it is not, and if there are none.
    pub fn why_nothing(&self) -> Option<String> {
        let HistoricalContext { text, pieces, left_out, .. } = &self.context;
        if !text.is_empty() {
            return None;
        }
        let left_out = left_out.iter().map(|(why, names)| format!("{names} {}", why.as_str()));
        let has_pieces = !pieces.is_empty();
        let room = has_pieces.then(|| "`history.budget` has no room".to_owned());
        let reasons: Vec<String> = room.into_iter().chain(left_out).collect();
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }
}

impl Memory {
    /// Loads the iterations of a feature from all sessions.
    pub fn load(store: &Store, feature: &Feature, root: &Utf8Path) -> Result<Self> {
        Self::of(store, &feature.path, root)
    }

    fn of(store: &Store, feature: &str, root: &Utf8Path) -> Result<Self> {
        let entries = store.iterations_of(feature, MAX_ITERATIONS)?;
        let cleared_at = store.progress_cleared_at(feature)?;
        let mut over_sessions = History::default();
        for entry in entries.iter().filter(|entry| is_since(cleared_at, entry.ended_at())) {
            over_sessions.push_entry(entry);
        }
        Ok(Self {
            feature: feature.to_owned(),
            cleared_at,
            entries,
            past: None,
            fresh: Vec::new(),
            pushed: 0,
            learned: 0,
            over_sessions,
            root: root.to_owned(),
        })
    }

    /// Returns what listings say of the iterations of earlier sessions, oldest first.
    pub fn entries(&self) -> &[LogEntry] {
        &self.entries
    }

    /// Takes in an iteration that was just recorded, without secrets.
    pub fn push(&mut self, iteration: Iteration) {
        self.learned += usize::from(!iteration.learnings.is_empty());
        self.pushed += 1;
        self.over_sessions.push(&iteration);
        self.fresh.push(iteration);
    }

    /// Returns what the strategy should know of the newest iterations that ran, oldest first.
    ///
    /// Those of `session` come last: it is the one that goes on.
    pub fn newest(&self, store: &Store, session: Option<&SessionId>, most: usize) -> Vec<IterationContext> {
        let mut contexts = Vec::new();
        let newest = self.entries.iter().rev().filter(|entry| is_since(self.cleared_at, entry.ended_at()));
        let (own, others): (Vec<&LogEntry>, Vec<&LogEntry>) =
            newest.partition(|entry| Some(&entry.session()) == session);
        for entry in own.into_iter().chain(others) {
            if contexts.len() >= most {
                break;
            }
            let Some(iteration) = store.readable_iteration(entry) else { continue };
            let context = iteration_context::recorded_context(store, entry, None, &iteration, &self.root);
            let context = store.or_leave_out(entry, context).flatten();
            let of = Some(&entry.session()).filter(|of| Some(*of) != session).cloned();
            contexts.extend(context.map(|context| IterationContext { session: of, ..context }));
        }
        contexts.reverse();
        contexts
    }

    /// The iterations before a session, to be followed by those of it.
    pub fn before(store: &Store, log: &SessionLog, root: &Utf8Path) -> Result<Self> {
        let mut memory = Self::of(store, log.feature(), root)?;
        memory.entries.retain(|entry| entry.session() < *log.id());
        memory.cleared_at = None;
        memory.over_sessions = History::default();
        for entry in &memory.entries {
            memory.over_sessions.push_entry(entry);
        }
        Ok(memory)
    }

    /// Returns why the last run at a task failed.
    pub fn last_cause(&self, task: &str) -> Option<&str> {
        let past = self.past.as_ref().map(|past| &past[..]).unwrap_or_default();
        let mut records = self.fresh.iter().rev().chain(past.iter().rev());
        let known =
            records.find(|record| record.task.as_deref() == Some(task) && record.outcome == Outcome::Failure);
        if let Some(record) = known {
            return record.cause.as_deref();
        }
        let mut entries = self.entries.iter().rev().filter(|entry| entry.is_of(task));
        entries.find(|entry| entry.outcome() == Some(Outcome::Failure))?.cause()
    }

    /// Returns all iterations and how many of the last ones were recorded since, or `None` if nothing was learned in those.
    pub fn learnings(&mut self, store: &Store) -> Result<Option<(&[Iteration], usize)>> {
        let (pushed, learned) = (self.pushed, self.learned);
        if learned == 0 { Ok(None) } else { Ok(Some((self.past(store)?, pushed))) }
    }

    /// Returns true if the progress was cleared since the last call.
    pub fn is_cleared_since(&mut self, store: &Store) -> Result<bool> {
        let cleared_at = store.progress_cleared_at(&self.feature)?;
        let before = std::mem::replace(&mut self.cleared_at, cleared_at);
        let is_cleared = cleared_at > before;
        if is_cleared {
            self.over_sessions = History::default();
            let since = self.past_since_cleared(store)?.to_vec();
            for iteration in &since {
                self.over_sessions.push(iteration);
            }
        }
        Ok(is_cleared)
    }

    /// Returns how much history the next prompt for a task contains and why, or `None` if history is off.
    pub fn mode(&self, task: &str, mode: HistoryMode) -> Option<(Mode, Reason)> {
        match mode {
            HistoryMode::Off => None,
            HistoryMode::Auto => {
                let failures = self.over_sessions.failures_over_sessions(task);
                (failures >= MIN_FAILURES_FOR_HISTORY).then_some((Mode::Smart, Reason::Failures(failures)))
            }
            HistoryMode::Smart => Some((Mode::Smart, Reason::Asked)),
            HistoryMode::Full => Some((Mode::Full, Reason::Asked)),
        }
    }

    /// Returns what the user's command summarizes for `task`, within a budget in tokens: all that the mode `full` has, whatever the
    /// prompt says elsewhere. `None` if history is off.
    pub fn material(
        &mut self,
        store: &Store,
        task: &Task,
        session: Option<&SessionId>,
        budget: usize,
        config: &Config,
    ) -> Result<Option<RecalledHistory>> {
        let Some((mode, why)) = self.mode(&task.name, config.settings.history_mode) else { return Ok(None) };
        let settings = HistorySettings {
            lookback: Some(config.settings.history_lookback),
            ..history_settings(config, Mode::Full, why, budget)
        };
        let past = self.past_since_cleared(store)?;
        let selection = Selection::empty(past, Some(task), session);
        let context = historical::context(&selection, &settings, "");
        Ok(Some(RecalledHistory { context, mode, why }))
    }

    /// Returns the iterations since the progress was cleared, oldest first.
    pub fn past_since_cleared(&mut self, store: &Store) -> Result<&[Iteration]> {
        let cleared_at = self.cleared_at;
        let past = self.past(store)?;
        let first = past.iter().position(|iteration| is_since(cleared_at, iteration.ended_at));
        let first = first.unwrap_or(past.len());
        Ok(&past[first..])
    }

    /// Returns all iterations, oldest first.
    pub fn past(&mut self, store: &Store) -> Result<&[Iteration]> {
        let past = match self.past.take() {
            Some(past) => past,
            None => self.read(store)?,
        };
        let past = self.past.insert(past);
        past.append(&mut self.fresh);
        Ok(past)
    }

    fn read(&self, store: &Store) -> Result<Vec<Iteration>> {
        let mut past = store.read_iterations(&self.entries)?;
        // Older records have no facts: they are extracted from the recorded outputs.
        let failed = past.iter_mut().rev().filter(|past| past.outcome == Outcome::Failure);
        for iteration in failed.filter(|past| past.facts.version == 0).take(MAX_REREAD_OUTPUTS) {
            let Some(entry) = self.entries.iter().rev().find(|entry| {
                entry.session() == iteration.session && entry.iteration() == Some(iteration.iteration)
            }) else {
                continue;
            };
            let context = iteration_context::recorded_context(store, entry, None, iteration, &self.root);
            let context = store.or_leave_out(entry, context).flatten();
            let examined = context.as_ref().and_then(IterationContext::examined);
            iteration.facts = capture::facts(
                iteration.outcome,
                &iteration.tool_calls,
                "",
                context.as_ref(),
                examined.as_ref(),
                &Rules::default(),
            );
        }
        Ok(past)
    }
}

/// Returns true if what ended at `ended_at` was not cleared.
fn is_since(cleared_at: Option<Timestamp>, ended_at: Timestamp) -> bool {
    cleared_at.is_none_or(|cleared| ended_at > cleared)
}

/// Returns how much of older iterations a prompt contains in a mode, within a budget in tokens.
pub(super) fn history_settings(config: &Config, mode: Mode, why: Reason, budget: usize) -> HistorySettings {
    let settings = &config.settings;
    // All iterations, unless the user set how many.
    let is_all = mode == Mode::Full && !config.is_set("history.lookback");
    HistorySettings {
        mode,
        budget,
        lookback: (!is_all).then_some(settings.history_lookback),
        threshold: settings.history_threshold,
        failures: settings.history_failures,
        decisions: settings.history_decisions,
        approaches: settings.history_approaches,
        merge_repeats: settings.history_summarize.is_some(),
        is_asked: why == Reason::Asked,
    }
}
