//! Reads sessions from their refs alone.

use std::collections::BTreeSet;
use std::io::Write;

use anyhow::{Context, Error, Result, anyhow};

use crate::record::{Iteration, LogEntry, ObjectId, RecordKind, Session, SessionId, Status};

use super::Store;
use super::blobs::{chunks, shallow_ends, write_blob};
use super::chain::{Chain, ChainWalk, describe_gap};
use super::refs::{self, LOG_PREFIX, SNAPSHOT_PREFIX, SessionRefs};

/// One session: its ref, and its commits from the oldest to the newest.
#[derive(Debug, Clone)]
pub struct SessionLog {
    pub refs: SessionRefs,
    pub entries: Vec<LogEntry>,
    /// True if older records exist but cannot be read.
    pub is_broken: bool,
}

impl SessionLog {
    pub fn id(&self) -> &SessionId {
        &self.refs.session
    }

    pub fn feature(&self) -> &str {
        &self.entries[0].feature
    }

    pub fn tip(&self) -> &LogEntry {
        self.entries.last().expect("a session has at least its start")
    }

    pub fn iterations(&self) -> impl DoubleEndedIterator<Item = &LogEntry> {
        self.entries.iter().filter(|entry| entry.kind == RecordKind::Iteration)
    }

    pub fn iteration(&self, number: u32) -> Option<&LogEntry> {
        self.iterations().find(|entry| entry.iteration == Some(number))
    }

    /// Returns true if its first record is here: a shallow clone may have only its end.
    pub fn is_whole(&self) -> bool {
        let first = &self.entries[0];
        first.kind == RecordKind::Start || first.kind == RecordKind::Unknown && first.parent.is_none()
    }

    /// Returns true if its first record is missing because the clone is shallow.
    pub fn is_shallow(&self) -> bool {
        !self.is_whole() && !self.is_broken
    }

    /// Returns the status of the session by its record: without an end it is interrupted, unless it runs.
    pub fn status(&self, is_running: bool) -> Status {
        status_of(self.tip(), is_running)
    }
}

/// Returns the status of a session whose newest record is `tip`.
pub fn status_of(tip: &LogEntry, is_running: bool) -> Status {
    match (tip.kind, tip.status) {
        (RecordKind::End, Some(status)) => status,
        _ if is_running => Status::Running,
        _ => Status::Interrupted,
    }
}

impl Store {
    /// Returns true if this is a shallow clone.
    pub fn is_shallow(&self) -> Result<bool> {
        Ok(!shallow_ends(&self.open_git()?)?.is_empty())
    }

    /// Returns all sessions of ours in the order of their ids. Refs of other tools are left out.
    pub fn sessions(&self) -> Result<Vec<SessionLog>> {
        self.sessions_where(|_| true, &mut Vec::new())
    }

    /// Returns the sessions whose newest record `is_wanted`; of the others nothing more is read.
    ///
    /// A ref may come from anybody, or from a newer version: one that cannot be read must not hide the others. It
    /// goes to `unreadable`, with the reason.
    pub fn sessions_where(
        &self,
        is_wanted: impl Fn(&LogEntry) -> bool,
        unreadable: &mut Vec<Error>,
    ) -> Result<Vec<SessionLog>> {
        let git = self.open_git()?;
        let ends = shallow_ends(&git)?;
        let lookup = self.lookup(&ends);
        let chain = Chain { ends: &ends, known: None, lookup: Some(&lookup), unreadable: &self.unreadable };
        let mut sessions = Vec::new();
        for (refs, tip) in self.log_tips()? {
            match read_log(&git, refs, (&tip, chain), &is_wanted) {
                Ok(log) => sessions.extend(log.map(|log| log.noting(unreadable))),
                Err(error) => unreadable.push(error),
            }
        }
        unreadable.extend(self.symbolic_sessions()?);
        Ok(sessions)
    }

    /// Returns the newest of the sessions whose newest record `is_wanted`; what cannot be read on the way to it goes to
    /// `unreadable`.
    pub fn latest_where(
        &self,
        is_wanted: impl Fn(&LogEntry) -> bool,
        unreadable: &mut Vec<Error>,
    ) -> Result<Option<SessionLog>> {
        let git = self.open_git()?;
        let ends = shallow_ends(&git)?;
        let lookup = self.lookup(&ends);
        let chain = Chain { ends: &ends, known: None, lookup: Some(&lookup), unreadable: &self.unreadable };
        for (refs, tip) in self.log_tips()?.into_iter().rev() {
            match read_log(&git, refs, (&tip, chain), &is_wanted) {
                Ok(Some(log)) => return Ok(Some(log.noting(unreadable))),
                Ok(None) => {}
                Err(error) => unreadable.push(error),
            }
        }
        unreadable.extend(self.symbolic_sessions()?);
        Ok(None)
    }

    /// Refs with names of sessions that name another ref. They are not read: a branch would be taken for a record.
    pub fn symbolic_sessions(&self) -> Result<Vec<Error>> {
        let mut found = self.symbolic_refs(LOG_PREFIX)?;
        found.extend(self.symbolic_refs(SNAPSHOT_PREFIX)?);
        let parsed = |(name, target): (String, String)| {
            anyhow!(
                "{name} is a symbolic ref to {target}, which no session of ours is; `git symbolic-ref --delete {name}` removes it"
            )
        };
        Ok(found.into_iter().map(parsed).collect())
    }

    /// Returns the iterations of a feature, over all sessions that can be read: at least `most` of the newest where
    /// there are so many, oldest first.
    pub fn iterations_of(&self, feature: &str, most: usize) -> Result<Vec<LogEntry>> {
        let git = self.open_git()?;
        let ends = shallow_ends(&git)?;
        let lookup = self.lookup(&ends);
        let chain = Chain { ends: &ends, known: None, lookup: Some(&lookup), unreadable: &self.unreadable };
        let mut logs = Vec::new();
        let mut found = 0;
        for (refs, tip) in self.log_tips()?.into_iter().rev() {
            if found >= most {
                break;
            }
            // A ref that cannot be read is reported when sessions are listed.
            if let Ok(Some(Read { log, .. })) =
                read_log(&git, refs, (&tip, chain), |entry| entry.feature == feature)
            {
                found += log.iterations().count();
                logs.push(log);
            }
        }
        let entries = logs.into_iter().rev().flat_map(|log| log.entries);
        Ok(entries.filter(|entry| entry.kind == RecordKind::Iteration).collect())
    }

    /// Returns what the records of `entries` say, but for those that cannot be read, which are left out with a warning.
    pub fn read_iterations(&self, entries: &[LogEntry]) -> Result<Vec<Iteration>> {
        let git = self.open_git()?;
        let mut iterations = Vec::new();
        for entry in entries {
            let read = || -> Result<Iteration> {
                let mut bytes = Vec::new();
                let chunks = chunks(&git, &entry.commit, "iteration.json")?.context("find iteration.json")?;
                chunks.iter().try_for_each(|chunk| write_blob(&git, chunk, &mut bytes))?;
                serde_json::from_slice(&bytes).context("read iteration.json")
            };
            iterations.extend(self.or_leave_out(entry, read()));
        }
        Ok(iterations)
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
        let refs = self.refs_below(LOG_PREFIX)?.into_iter();
        let mut tips: Vec<_> =
            refs.filter_map(|(name, tip)| Some((SessionRefs::from_log(&name)?, tip))).collect();
        tips.sort_by(|(one, _), (other, _)| one.session.cmp(&other.session).then_with(|| one.cmp(other)));
        Ok(tips)
    }

    /// Returns one session by its refs, or `None` if its log does not exist or is not ours.
    pub fn session(&self, refs: &SessionRefs) -> Result<Option<SessionLog>> {
        let Some(tip) = self.tip(&refs.log())? else { return Ok(None) };
        let entries = self.chain(&tip, Some(&refs.session))?;
        Ok((!entries.is_empty()).then(|| SessionLog { refs: refs.clone(), entries, is_broken: false }))
    }

    /// As [`Store::session`], but where older records cannot be read, those that can, and why not the others.
    pub fn session_as_readable(
        &self,
        refs: &SessionRefs,
        unreadable: &mut Vec<Error>,
    ) -> Result<Option<SessionLog>> {
        let Some(tip) = self.tip(&refs.log())? else { return Ok(None) };
        let git = self.open_git()?;
        let ends = shallow_ends(&git)?;
        let chain = Chain { ends: &ends, known: None, lookup: None, unreadable: &self.unreadable };
        let found = read_log(&git, refs.clone(), (&tip, chain), |_| true)?;
        Ok(found.map(|found| found.noting(unreadable)))
    }

    /// Returns a ref that is not ours and stands where the refs of this feature would need a folder.
    pub fn blocking_ref(&self, feature: &str) -> Result<Option<String>> {
        let above = [LOG_PREFIX, SNAPSHOT_PREFIX].map(|prefix| prefix.trim_end_matches('/').to_owned());
        let notes = format!("{}/", refs::NOTES);
        for name in above.into_iter().chain(refs::folders(feature)) {
            if self.tip(&name)?.is_some() || self.symbolic_target(&name)?.is_some() {
                return Ok(Some(name));
            }
        }
        Ok(self.refs_below(&notes)?.into_iter().next().map(|(name, _)| name))
    }

    /// Returns the entries from the first commit to `tip`; none if the tip is not ours. An error where a shallow clone
    /// has not all of them, for what is written after them must fit.
    pub(super) fn chain(&self, tip: &ObjectId, session: Option<&SessionId>) -> Result<Vec<LogEntry>> {
        let git = self.open_git()?;
        // What is written after them must fit: here no cache is believed.
        let chain = Chain { ends: &BTreeSet::new(), known: None, lookup: None, unreadable: &self.unreadable };
        let walked = chain.walk(&git, (None, session), tip, |_| true).and_then(|walked| match walked.gap {
            Some(gap) => Err(gap),
            None => Ok(walked.entries),
        });
        walked.map_err(|error| match shallow_ends(&git) {
            Ok(ends) if !ends.is_empty() => error.context(SHALLOW),
            _ => error,
        })
    }

    pub fn iteration(&self, entry: &LogEntry) -> Result<Iteration> {
        let bytes = self.file(&entry.commit, "iteration.json")?.context("find iteration.json")?;
        serde_json::from_slice(&bytes).with_context(|| format!("read iteration.json of {}", entry.commit))
    }

    pub fn session_json(&self, entry: &LogEntry) -> Result<Session> {
        let bytes = self.file(&entry.commit, "session.json")?.context("find session.json")?;
        serde_json::from_slice(&bytes).with_context(|| format!("read session.json of {}", entry.commit))
    }

    /// Returns the session as it was started or last resumed before this record, or `None` if that record is not here.
    pub fn begun(&self, entry: &LogEntry) -> Result<Option<Session>> {
        let git = self.open_git()?;
        let ends = shallow_ends(&git)?;
        let lookup = self.lookup(&ends);
        let refs = SessionRefs::new(&entry.feature, entry.session.clone());
        let chain = Chain { ends: &ends, known: None, lookup: Some(&lookup), unreadable: &self.unreadable };
        let Some(Read { log, .. }) = read_log(&git, refs, (&entry.commit, chain), |_| true)? else {
            return Ok(None);
        };
        log.entries
            .iter()
            .rfind(|entry| entry.kind.begins())
            .map(|begin| self.session_json(begin))
            .transpose()
    }

    /// Returns a whole file of a record, or `None` if the record has no such file.
    pub fn file(&self, commit: &ObjectId, path: &str) -> Result<Option<Vec<u8>>> {
        let mut bytes = Vec::new();
        Ok(self.copy_file(commit, path, &mut bytes)?.then_some(bytes))
    }

    /// Copies a file of a record chunk by chunk; false where the record has no such file.
    pub fn copy_file(&self, commit: &ObjectId, path: &str, to: &mut dyn Write) -> Result<bool> {
        let git = self.open_git()?;
        let found = chunks(&git, commit, path).map_err(|error| self.explained(error))?;
        let Some(chunks) = found else { return Ok(false) };
        let written = chunks.iter().try_for_each(|chunk| write_blob(&git, chunk, to));
        written.map(|()| true).map_err(|error| self.explained(error))
    }

    /// Returns the last `most` bytes of a file of a record, and whether there is more before them. Nothing where
    /// the record has no such file.
    pub fn tail(&self, commit: &ObjectId, path: &str, most: usize) -> Result<(Vec<u8>, bool)> {
        let git = self.open_git()?;
        let chunks = chunks(&git, commit, path).map_err(|error| self.explained(error))?.unwrap_or_default();
        let mut unread = chunks.len();
        let mut tail = Vec::new();
        while tail.len() < most && unread > 0 {
            unread -= 1;
            let mut bytes = Vec::new();
            write_blob(&git, &chunks[unread], &mut bytes).map_err(|error| self.explained(error))?;
            bytes.append(&mut tail);
            tail = bytes;
        }
        let is_cut = unread > 0 || tail.len() > most;
        tail.drain(..tail.len().saturating_sub(most));
        Ok((tail, is_cut))
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
        self.unreadable.note(&entry.session, &entry.commit, error);
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
            |entry: &&LogEntry| entry.kind != RecordKind::Iteration && entry.kind != RecordKind::Unknown;
        log.entries.iter().filter(others).find_map(|entry| self.readable_session(entry))
    }
}

/// Said before what is missing in a shallow clone.
const SHALLOW: &str = "this clone is shallow, and has not all of the record";

/// A session as far as it can be read.
struct Read {
    log: SessionLog,
    /// Why its older records cannot be.
    gap: Option<Error>,
}

impl Read {
    /// Returns the session, with what cannot be read of it among `unreadable`.
    fn noting(self, unreadable: &mut Vec<Error>) -> SessionLog {
        unreadable.extend(self.gap);
        self.log
    }
}

fn read_log(
    git: &gix::Repository,
    refs: SessionRefs,
    (tip, chain): (&ObjectId, Chain<'_>),
    is_wanted: impl Fn(&LogEntry) -> bool,
) -> Result<Option<Read>> {
    let walked = chain.walk(git, (Some(&refs), Some(&refs.session)), tip, is_wanted);
    let ChainWalk { entries, gap, .. } = walked.with_context(|| format!("read {}", refs.log()))?;
    if entries.is_empty() {
        return Ok(None);
    }
    let gap = gap.map(|gap| describe_gap(&refs, entries.len(), &gap));
    Ok(Some(Read { log: SessionLog { refs, entries, is_broken: gap.is_some() }, gap }))
}
