//! One session as its log has it.

use std::sync::{Arc, OnceLock};

use crate::record::{
    AttemptId, Interrupter, Interruption, LogEntry, RecordKind, SessionId, SessionTotals, StopReason,
    TaskCounts, Timestamp,
};

/// The records of a session, or of all sessions of a group as one, and what they come to.
#[derive(Debug, Clone)]
pub struct SessionView {
    /// Of a group, the session that began first.
    pub id: SessionId,
    /// Oldest first.
    pub entries: Arc<[LogEntry]>,
    /// Of several sessions of a group each with its lane, in the order of the lanes; empty for one session.
    pub lanes: Vec<(SessionId, u32)>,
    /// Counted at the first question: not every command asks.
    totals: OnceLock<SessionTotals>,
}

impl SessionView {
    /// `entries` are those of the log of `id`, or of all sessions of its group, oldest first.
    pub fn of(id: &SessionId, entries: impl Into<Arc<[LogEntry]>>) -> Self {
        let entries: Arc<[LogEntry]> = entries.into();
        let mut lanes: Vec<(SessionId, u32)> = Vec::new();
        if entries.first().is_some_and(|first| first.group().is_some()) {
            // The last start of a session has the lane in which it is.
            for entry in entries.iter().filter(|entry| entry.kind().begins()) {
                let Some((_, lane)) = entry.group() else { continue };
                lanes.retain(|(session, _)| *session != entry.session());
                lanes.push((entry.session(), lane));
            }
            lanes.sort_by_key(|(_, lane)| *lane);
        }
        if lanes.len() == 1 {
            lanes.clear();
        }
        Self { id: id.clone(), entries, lanes, totals: OnceLock::new() }
    }

    /// Returns the sessions with those of each group as one, in the order in which they began; `sessions` are in that order.
    pub fn merge_groups(sessions: &[Self]) -> Vec<Self> {
        let mut groups: Vec<(Option<SessionId>, Vec<&Self>)> = Vec::new();
        for session in sessions {
            let group = session.group().map(|(first, _)| first);
            match groups.iter_mut().find(|(known, _)| group.is_some() && *known == group) {
                Some((_, of_group)) => of_group.push(session),
                None => groups.push((group, vec![session])),
            }
        }
        let joined = groups.into_iter().map(|(first, mut sessions)| {
            // Of two that began in one second, ids do not say which was first.
            sessions.sort_by_key(|session| Some(&session.id) != first.as_ref());
            Self::joined(&sessions)
        });
        joined.collect()
    }

    /// Returns the sessions that it is of.
    pub fn sessions(&self) -> impl Iterator<Item = &SessionId> {
        let own = Some(&self.id).filter(|_| self.lanes.is_empty());
        own.into_iter().chain(self.lanes.iter().map(|(id, _)| id))
    }

    /// Returns the session of one of its entries.
    pub(super) fn session_of(&self, entry: &LogEntry) -> &SessionId {
        self.lanes.iter().find(|(id, _)| *id == entry.session()).map_or(&self.id, |(id, _)| id)
    }

    /// Returns the name of one of its iterations, as commands take it: `14`, in a group with the lane, `2:14`.
    pub fn name_of(&self, iteration: &AttemptId) -> String {
        self.names().name(&iteration.session, iteration.number)
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

    pub fn attempt(&self, id: &AttemptId) -> Option<&LogEntry> {
        self.iterations().find(|entry| entry.number() == id.number && entry.session() == id.session)
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
            self.iterations().for_each(|entry| totals.count(self.session_of(entry), entry));
            totals
        })
    }

    /// Returns how often a loop was started or resumed on it.
    fn runs(&self) -> usize {
        // In a group, those of its first session.
        let is_own = |entry: &&LogEntry| *self.session_of(entry) == self.id;
        let own: Vec<&LogEntry> = self.entries.iter().filter(is_own).collect();
        let next = own.iter().skip(1).map(|entry| Some(*entry)).chain([None]);
        // A session goes on for an answer, too.
        let begins = own
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
