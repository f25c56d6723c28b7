//! One session as its log has it.

use std::sync::{Arc, OnceLock};

use crate::record::{
    Interrupter, Interruption, LogEntry, RecordKind, SessionId, SessionTotals, StopReason, TaskCounts,
    Timestamp,
};

/// The records of a session, and what they come to.
#[derive(Debug, Clone)]
pub struct SessionView {
    pub id: SessionId,
    /// Oldest first.
    pub entries: Arc<[LogEntry]>,
    /// Counted at the first question: not every command asks.
    pub(super) totals: OnceLock<SessionTotals>,
}

impl SessionView {
    /// `entries` are those of the log of `id`, oldest first.
    pub fn of(id: &SessionId, entries: impl Into<Arc<[LogEntry]>>) -> Self {
        Self { id: id.clone(), entries: entries.into(), totals: OnceLock::new() }
    }

    pub fn tip(&self) -> Option<&LogEntry> {
        self.entries.last()
    }

    /// Returns its iterations, oldest first.
    pub fn iterations(&self) -> impl DoubleEndedIterator<Item = &LogEntry> + Clone {
        self.entries.iter().filter(|entry| entry.is_iteration())
    }

    pub fn iteration(&self, number: u32) -> Option<&LogEntry> {
        self.iterations().find(|entry| entry.number() == number)
    }

    /// Returns the newest iteration in which an agent ran.
    pub fn last_run(&self) -> Option<&LogEntry> {
        self.entries.iter().rfind(|entry| entry.has_run())
    }

    /// Returns the newest record that says how those after it are made.
    pub fn last_begin(&self) -> Option<&LogEntry> {
        self.entries.iter().rfind(|entry| entry.kind().begins())
    }

    /// Returns the first session of those that work at once with it, and its lane; `None` if it works alone.
    pub fn group(&self) -> Option<(SessionId, u32)> {
        self.last_begin()?.group()
    }

    /// Returns the start of its oldest record.
    pub fn started_at(&self) -> Timestamp {
        self.entries.first().map_or(Timestamp::from_ms(0), LogEntry::started_at)
    }

    /// Returns when its newest record was written.
    pub fn last_at(&self) -> Timestamp {
        self.tip().map_or(Timestamp::from_ms(0), LogEntry::ended_at)
    }

    /// Returns why it ended; `None` unless its end is its newest record.
    pub fn stop_reason(&self) -> Option<StopReason> {
        self.tip().filter(|tip| tip.kind() == RecordKind::End)?.stop_reason()
    }

    /// Returns the counts of tasks in its newest record that this version can read.
    pub fn tasks(&self) -> TaskCounts {
        let entry = self.entries.iter().rfind(|entry| entry.kind() != RecordKind::Unknown);
        entry.map_or(TaskCounts { done: 0, open: 0 }, LogEntry::tasks)
    }

    /// Returns how long the loop was at work on it until `until`, waits included, in milliseconds.
    pub fn worked_ms(&self, until: Timestamp) -> u64 {
        self.started_at().ms_until(until).saturating_sub(self.totals().away_ms)
    }

    pub fn totals(&self) -> &SessionTotals {
        self.totals.get_or_init(|| {
            let mut totals = SessionTotals {
                runs: self.runs(),
                away_ms: away_ms(&self.entries),
                ..SessionTotals::default()
            };
            self.iterations().for_each(|entry| totals.count(&self.id, entry));
            totals
        })
    }

    /// Returns how often a loop was started or resumed on it.
    fn runs(&self) -> usize {
        let next = self.entries.iter().skip(1).map(Some).chain([None]);
        // A session goes on for an answer, too.
        let begins = self
            .entries
            .iter()
            .zip(next)
            .filter(|(entry, next)| entry.kind().begins() && !next.is_some_and(LogEntry::is_answer));
        begins.count()
    }
}

/// Returns how long no loop was at work on a session, in milliseconds: before it was resumed, and after it was killed.
pub(super) fn away_ms(entries: &[LogEntry]) -> u64 {
    let [first, .., tip] = entries else { return 0 };
    let (mut away, mut last) = (0, first.started_at());
    for entry in entries {
        if entry.kind() == RecordKind::Resume {
            away += last.ms_until(entry.started_at());
        }
        last = match entry.ended_by() {
            // When it died is not known: the next start writes these records.
            _ if Interruption::of_entry(entry) == Some(Interruption::Crash) => entry.started_at(),
            Some(by) if by.by == Interrupter::Killed => last,
            _ => entry.ended_at(),
        };
    }
    away + last.ms_until(tip.ended_at())
}
