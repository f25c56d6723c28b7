//! Reads sessions from their refs alone.

use std::collections::BTreeSet;

use anyhow::{Error, Result, anyhow};

use ralph_core::record::{Iteration, LogEntry, ObjectId, RecordKind, Session, SessionId};

use super::chain::Chain;
use super::range_read::Ask;
use super::session_log::SessionLog;
use crate::Store;
use crate::refs::database::NoTip;
use crate::refs::naming::{self, LOG_PREFIX, SNAPSHOT_PREFIX, SessionRefs};

/// Which sessions are wanted: all, unless it says otherwise.
#[derive(Debug, Clone, Default)]
pub struct SessionQuery {
    /// The path of their feature.
    pub feature: Option<String>,
    pub session: Option<SessionId>,
    /// Only sessions after this one.
    pub after: Option<SessionId>,
    /// True if only the newest of them is wanted.
    pub newest: bool,
}

impl SessionQuery {
    pub fn of_feature(path: &str) -> Self {
        Self { feature: Some(path.to_owned()), ..Self::default() }
    }

    /// Returns true if the session of a record is wanted.
    pub fn takes(&self, entry: &LogEntry) -> bool {
        self.is_for(&entry.session(), entry.feature())
    }

    /// Returns true if a session of a feature is wanted.
    pub fn is_for(&self, session: &SessionId, feature: &str) -> bool {
        self.session.as_ref().is_none_or(|id| session == id)
            && self.feature.as_ref().is_none_or(|wanted| wanted == feature)
    }
}

impl Store {
    /// Returns true if this is a shallow clone.
    pub fn is_shallow(&self) -> Result<bool> {
        Ok(!self.reader()?.ends.is_empty())
    }

    /// Returns the sessions that are wanted, in the order of their ids; of the others only the newest record is read. Refs of
    /// other tools are left out.
    ///
    /// A ref may come from anybody, or from a newer version: one that cannot be read must not hide the others. It
    /// goes to `unreadable`, with the reason.
    pub fn sessions(&self, query: &SessionQuery, unreadable: &mut Vec<Error>) -> Result<Vec<SessionLog>> {
        let reader = self.reader()?;
        let mut sessions = Vec::new();
        let mut tips = self.log_tips()?;
        tips.retain(|(refs, _)| query.after.as_ref().is_none_or(|after| refs.session > *after));
        if query.newest {
            tips.reverse();
        }
        for (refs, tip) in tips {
            match reader.chain(&refs).log(&tip, |tip| query.takes(tip), unreadable) {
                Ok(log) => sessions.extend(log),
                Err(error) => unreadable.push(error),
            }
            if query.newest && !sessions.is_empty() {
                return Ok(sessions);
            }
        }
        unreadable.extend(self.unusable_sessions()?);
        Ok(sessions)
    }

    /// Refs with names of sessions that cannot be read, or name another ref. These are not read: a branch would be taken
    /// for a record.
    pub fn unusable_sessions(&self) -> Result<Vec<Error>> {
        Ok(self.sessions_without_tip()?.into_iter().map(|(name, why): (String, NoTip)| match why {
            NoTip::Symbolic(target) => anyhow!(
                "{name} is a symbolic ref to {target}, which no session of ours is; `git symbolic-ref --delete {name}` removes it"
            ),
            NoTip::Broken(error) => anyhow!(
                "{error:#}; remove this file, then `git update-ref {name} COMMIT` with the commit that `git fsck` calls dangling"
            ),
        }).collect())
    }

    /// Returns the number of refs with names of sessions that name another ref.
    pub fn symbolic_sessions(&self) -> Result<usize> {
        let found = self.sessions_without_tip()?;
        Ok(found.iter().filter(|(_, why)| matches!(why, NoTip::Symbolic(_))).count())
    }

    fn sessions_without_tip(&self) -> Result<Vec<(String, NoTip)>> {
        let mut found = self.refs().without_tip(LOG_PREFIX)?;
        found.extend(self.refs().without_tip(SNAPSHOT_PREFIX)?);
        Ok(found)
    }

    /// Returns the iterations of a feature, over all sessions that can be read: at least `most` of the newest where
    /// there are so many, oldest first.
    pub fn iterations_of(&self, feature: &str, most: usize) -> Result<Vec<LogEntry>> {
        let reader = self.reader()?;
        let mut logs = Vec::new();
        let mut found = 0;
        for (refs, tip) in self.log_tips()?.into_iter().rev() {
            if found >= most {
                break;
            }
            // A ref that cannot be read is reported when sessions are listed.
            if let Ok(Some(log)) =
                reader.chain(&refs).log(&tip, |entry| entry.feature() == feature, &mut Vec::new())
            {
                found += log.iterations().count();
                logs.push(log);
            }
        }
        Ok(logs.iter().rev().flat_map(SessionLog::iterations).cloned().collect())
    }

    /// Returns what the records of `entries` say, but for those that cannot be read, which are left out with a warning.
    pub fn read_iterations(&self, entries: &[LogEntry]) -> Result<Vec<Iteration>> {
        let reader = self.reader()?;
        Ok(entries.iter().filter_map(|entry| self.or_leave_out(entry, reader.iteration(entry))).collect())
    }

    /// Returns the id of the session that sorts last, whether or not it can be read.
    pub fn newest_session(&self) -> Result<Option<SessionId>> {
        Ok(self.log_tips()?.pop().map(|(refs, _)| refs.session))
    }

    /// Returns the names of all refs that are like ours, in the order of their sessions' ids. Nothing of them is read.
    pub fn session_names(&self) -> Result<Vec<SessionRefs>> {
        Ok(self.log_tips()?.into_iter().map(|(refs, _)| refs).collect())
    }

    /// Returns our refs and what they point at, in the order of the sessions' ids: shows whether anything was
    /// recorded since.
    pub fn log_tips(&self) -> Result<Vec<(SessionRefs, ObjectId)>> {
        let refs = self.refs().below(LOG_PREFIX)?.into_iter();
        let mut tips: Vec<_> =
            refs.filter_map(|(name, tip)| Some((SessionRefs::from_log(&name)?, tip))).collect();
        tips.sort_by(|(one, _), (other, _)| one.session.cmp(&other.session).then_with(|| one.cmp(other)));
        Ok(tips)
    }

    /// Returns one session by its refs, or `None` if its log does not exist or is not ours.
    pub fn session(&self, refs: &SessionRefs) -> Result<Option<SessionLog>> {
        let Some(tip) = self.refs().tip(&refs.log())? else { return Ok(None) };
        let entries = self.chain(refs, &tip)?;
        Ok((!entries.is_empty()).then(|| SessionLog {
            refs: refs.clone(),
            entries: entries.into(),
            is_broken: false,
        }))
    }

    /// As [`Store::session`], but where older records cannot be read, those that can, and why not the others.
    pub fn session_as_readable(
        &self,
        refs: &SessionRefs,
        unreadable: &mut Vec<Error>,
    ) -> Result<Option<SessionLog>> {
        let Some(tip) = self.refs().tip(&refs.log())? else { return Ok(None) };
        let reader = self.reader()?;
        Chain { lookup: None, ..reader.chain(refs) }.log(&tip, |_| true, unreadable)
    }

    /// Returns a ref that is not ours and stands where the refs of this feature would need a folder.
    pub fn blocking_ref(&self, feature: &str) -> Result<Option<String>> {
        let above = [LOG_PREFIX, SNAPSHOT_PREFIX].map(|prefix| prefix.trim_end_matches('/').to_owned());
        let notes = format!("{}/", naming::NOTES);
        for name in above.into_iter().chain(naming::folders(feature)) {
            if self.refs().tip(&name)?.is_some() || self.refs().symbolic_target(&name)?.is_some() {
                return Ok(Some(name));
            }
        }
        Ok(self.refs().below(&notes)?.into_iter().next().map(|(name, _)| name))
    }

    /// Returns the entries from the first commit to `tip`; none if the tip is not ours. An error where a shallow clone
    /// has not all of them, for what is written after them must fit.
    pub(crate) fn chain(&self, refs: &SessionRefs, tip: &ObjectId) -> Result<Vec<LogEntry>> {
        let reader = self.reader()?;
        // What is written after them must fit: here no cache is believed.
        let chain = Chain { ends: &BTreeSet::new(), lookup: None, ..reader.chain(refs) };
        let walked = chain.walk(tip, |_| true).and_then(|walked| match walked.gap {
            Some(gap) => Err(gap),
            None => Ok(walked.entries),
        });
        walked.map_err(|error| if reader.ends.is_empty() { error } else { error.context(SHALLOW) })
    }

    /// Returns the session as it was started or last resumed before this record, or `None` if that record is not here.
    pub fn begun(&self, entry: &LogEntry) -> Result<Option<Session>> {
        let reader = self.reader()?;
        let refs = SessionRefs::new(entry.feature(), entry.session());
        let log = reader.chain(&refs).log(&entry.commit(), |_| true, &mut Vec::new())?;
        let begin = log.and_then(|log| log.entries.iter().rfind(|entry| entry.kind().begins()).cloned());
        begin.map(|begin| self.session_json(&begin)).transpose()
    }

    /// Returns the last `most` bytes of a file of a record, and whether there is more before them. Nothing where
    /// the record has no such file.
    pub fn tail(&self, commit: &ObjectId, path: &str, most: usize) -> Result<(Vec<u8>, bool)> {
        let piece = self.reader()?.piece(commit, path, Ask::TAIL, most as u64)?.unwrap_or_default();
        Ok((piece.bytes, piece.range.start > 0))
    }
}

impl Store {
    /// Has `warn`, if any, say which sessions have records that cannot be read, each once.
    #[must_use]
    pub fn warning_with(mut self, warn: Option<fn(&str)>) -> Self {
        self.unreadable.warn_with(warn);
        self
    }

    /// Returns what was left out so far, in a sentence for each session.
    pub fn left_out(&self) -> Vec<String> {
        self.unreadable.messages()
    }

    /// Leaves a record out, with a warning if it is the first of its session.
    pub fn leave_out(&self, entry: &LogEntry, error: &Error) {
        self.unreadable.note(&entry.session(), &entry.commit(), error);
    }

    /// `None` with a warning if this version cannot read it.
    pub fn or_leave_out<T>(&self, entry: &LogEntry, read: Result<T>) -> Option<T> {
        read.inspect_err(|error| self.leave_out(entry, error)).ok()
    }

    /// Returns what the record of an iteration says; `None` with a warning if this version cannot read it.
    pub fn readable_iteration(&self, entry: &LogEntry) -> Option<Iteration> {
        self.or_leave_out(entry, self.iteration(entry))
    }

    /// Returns what the record of a start, resume or end says; `None` with a warning if this version cannot read it.
    pub fn readable_session(&self, entry: &LogEntry) -> Option<Session> {
        self.or_leave_out(entry, self.session_json(entry))
    }

    /// Returns the session as its first readable record describes it.
    pub fn first_readable_session(&self, log: &SessionLog) -> Option<Session> {
        let others =
            |entry: &&LogEntry| entry.kind() != RecordKind::Iteration && entry.kind() != RecordKind::Unknown;
        log.entries.iter().filter(others).find_map(|entry| self.readable_session(entry))
    }
}

/// Said before what is missing in a shallow clone.
const SHALLOW: &str = "this clone is shallow, and has not all of the record";
