//! Reading sessions back, from their refs alone.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::Write;

use anyhow::{Context, Error, Result, anyhow, bail};
use gix::objs::FindExt;

use crate::record::{Iteration, LogEntry, ObjectId, RecordKind, Session, SessionId, Status, Timestamp};

use super::listing::Lookup;
use super::message::{self, Envelope};
use super::refs::{self, LOG_PREFIX, SNAPSHOT_PREFIX, SessionRefs};
use super::unreadable::Unreadable;
use super::{Store, objects};

/// A blob of ours is at most one chunk; what is bigger was not written by us.
pub(super) const BLOB_LIMIT: u64 = 64 * 1024 * 1024;

/// One session: its ref, and its commits from the oldest to the newest.
#[derive(Debug, Clone)]
pub struct SessionLog {
    pub refs: SessionRefs,
    pub entries: Vec<LogEntry>,
    /// Older records exist and cannot be read.
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

    /// Whether its beginning is here: a shallow clone may have its end alone.
    pub fn is_whole(&self) -> bool {
        let first = &self.entries[0];
        first.kind == RecordKind::Start || first.kind == RecordKind::Unknown && first.parent.is_none()
    }

    /// Whether its beginning is missing because the clone is shallow.
    pub fn is_shallow(&self) -> bool {
        !self.is_whole() && !self.is_broken
    }

    /// Where the session stands by its record alone: without an end it counts as interrupted, unless it runs.
    pub fn status(&self, is_running: bool) -> Status {
        status_of(self.tip(), is_running)
    }
}

/// Where a session stands whose newest record is `tip`.
pub fn status_of(tip: &LogEntry, is_running: bool) -> Status {
    match (tip.kind, tip.status) {
        (RecordKind::End, Some(status)) => status,
        _ if is_running => Status::Running,
        _ => Status::Interrupted,
    }
}

impl Store {
    /// Whether this is a shallow clone.
    pub fn is_shallow(&self) -> Result<bool> {
        Ok(!shallow_ends(&self.open_git()?)?.is_empty())
    }

    /// All sessions of ours in the order of their ids. Refs of other tools are left out.
    pub fn sessions(&self) -> Result<Vec<SessionLog>> {
        self.sessions_where(|_| true, &mut Vec::new())
    }

    /// The sessions whose newest record `is_wanted`; of the others nothing more is read.
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

    /// The newest of the sessions whose newest record `is_wanted`; what cannot be read on the way to it goes to
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
        let told = |(name, target): (String, String)| {
            anyhow!(
                "{name} is a symbolic ref to {target}, which no session of ours is; `git symbolic-ref --delete {name}` removes it"
            )
        };
        Ok(found.into_iter().map(told).collect())
    }

    /// The iterations of a feature, over all sessions that can be read: at least `most` of the newest where there are so
    /// many, oldest first.
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
            // A ref that cannot be read is told of where sessions are listed.
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

    /// What the records of `entries` say, but for those that cannot be read, which are left out with a warning.
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

    /// The id of the session that sorts last, whether or not it can be read.
    pub fn newest_session(&self) -> Result<Option<SessionId>> {
        Ok(self.log_tips()?.pop().map(|(refs, _)| refs.session))
    }

    /// The names of all refs that are like ours, in the order of their sessions' ids. Nothing of them is read.
    pub fn session_names(&self) -> Result<Vec<SessionRefs>> {
        Ok(self.log_tips()?.into_iter().map(|(refs, _)| refs).collect())
    }

    /// The refs of ours and what they point at, in the order of the sessions' ids: what tells whether anything was
    /// recorded since.
    pub fn log_tips(&self) -> Result<Vec<(SessionRefs, ObjectId)>> {
        let refs = self.refs_below(LOG_PREFIX)?.into_iter();
        let mut tips: Vec<_> =
            refs.filter_map(|(name, tip)| Some((SessionRefs::from_log(&name)?, tip))).collect();
        tips.sort_by(|(one, _), (other, _)| one.session.cmp(&other.session).then_with(|| one.cmp(other)));
        Ok(tips)
    }

    /// One session by its refs; none where its log is not there or not ours.
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

    /// A ref that is not ours and stands where the refs of this feature would need a folder.
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

    /// The entries from the first commit to `tip`; none if the tip is not ours. An error where a shallow clone has
    /// not all of them, for what is written after them must fit.
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

    /// The session as it was begun, or last taken up, before this record; none where that is not here.
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

    /// A file of a record, whole; none where the record has no such file.
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

    /// The last `most` bytes of a file of a record, and whether there is more in front of them. Nothing where the
    /// record has no such file.
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

/// The blobs that a file of a record is made of; none where the record has no such file.
pub(super) fn chunks(
    git: &gix::Repository,
    commit: &ObjectId,
    path: &str,
) -> Result<Option<Vec<gix::ObjectId>>> {
    let mut tree = root_tree(git, commit)?;
    let mut parts = path.split('/').peekable();
    while let Some(part) = parts.next() {
        let entries = entries(git, &tree)?;
        let Some((_, id, is_tree)) = entries.into_iter().find(|(name, ..)| name == part) else {
            return Ok(None);
        };
        match (parts.peek().is_some(), is_tree) {
            (true, true) => tree = id,
            (true, false) => return Ok(None),
            (false, false) => return Ok(Some(vec![id])),
            (false, true) => {
                let chunks = self::entries(git, &id)?;
                return Ok(Some(chunks.into_iter().map(|(_, chunk, _)| chunk).collect()));
            }
        }
    }
    Ok(None)
}

/// Said in front of what is missing in a shallow clone.
const SHALLOW: &str = "this clone is shallow, and has not all of the record";

/// The commits whose parents are not here, though they have some.
pub(super) fn shallow_ends(git: &gix::Repository) -> Result<BTreeSet<gix::ObjectId>> {
    let found = git.shallow_commits().map_err(|error| anyhow!("read where the clone is shallow: {error}"))?;
    Ok(found.map(|commits| commits.iter().copied().collect()).unwrap_or_default())
}

/// A session as far as it can be read.
struct Read {
    log: SessionLog,
    /// Why its older records cannot be.
    gap: Option<Error>,
}

impl Read {
    /// The session, with what cannot be read of it among `unreadable`.
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
    let Walked { entries, gap, .. } = walked.with_context(|| format!("read {}", refs.log()))?;
    if entries.is_empty() {
        return Ok(None);
    }
    let gap = gap.map(|gap| told_gap(&refs, entries.len(), &gap));
    Ok(Some(Read { log: SessionLog { refs, entries, is_broken: gap.is_some() }, gap }))
}

/// Says that the older records of a session are gone.
fn told_gap(refs: &SessionRefs, readable: usize, gap: &Error) -> Error {
    let are = if readable == 1 { "record is" } else { "records are" };
    anyhow!("{}: only the newest {readable} {are} readable, what is older is gone: {gap:#}", refs.log())
}

/// Where a walk down a chain of records ends before the first.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chain<'a> {
    /// Commits that have no parents as far as this clone is concerned.
    pub ends: &'a BTreeSet<gix::ObjectId>,
    /// What is known from here on down.
    pub known: Option<&'a ObjectId>,
    /// What may know the rest of a long chain.
    pub lookup: Option<&'a Lookup>,
    /// Where it is noted which records cannot be read.
    pub unreadable: &'a Unreadable,
}

/// So many records are read from their commits before anything else is asked.
const FEW: usize = 300;

/// What a walk down a chain found.
#[derive(Debug, Default)]
pub(super) struct Walked {
    /// Oldest first; none if the tip is not ours.
    pub entries: Vec<LogEntry>,
    /// Whether they begin behind the known one.
    pub is_joined: bool,
    /// Why the walk could not go on below the entries.
    pub gap: Option<Error>,
}

impl Chain<'_> {
    /// The entries up to `tip`, as far as they can be read.
    pub fn read(&self, git: &gix::Repository, refs: &SessionRefs, tip: &ObjectId) -> Result<Walked> {
        let walked = self.walk(git, (Some(refs), Some(&refs.session)), tip, |_| true);
        let walked = walked.with_context(|| format!("read {}", refs.log()))?;
        let gap = walked.gap.map(|gap| told_gap(refs, walked.entries.len(), &gap));
        Ok(Walked { gap, ..walked })
    }

    /// The record of one commit alone; `None` if it is not ours.
    pub fn record(
        &self,
        git: &gix::Repository,
        refs: &SessionRefs,
        commit: &ObjectId,
    ) -> Result<Option<LogEntry>> {
        let found = RefCell::new(None);
        let keep = |entry: &LogEntry| {
            *found.borrow_mut() = Some(entry.clone());
            false
        };
        let walked = self.walk(git, (Some(refs), Some(&refs.session)), commit, keep);
        walked.with_context(|| format!("read {}", refs.log()))?;
        Ok(found.into_inner())
    }

    fn walk(
        &self,
        git: &gix::Repository,
        (refs, session): (Option<&SessionRefs>, Option<&SessionId>),
        tip: &ObjectId,
        is_wanted: impl Fn(&LogEntry) -> bool,
    ) -> Result<Walked> {
        let mut entries: Vec<LogEntry> = Vec::new();
        let (mut first_error, mut gap) = (None, None);
        let mut below = None;
        let mut known = self.known.map(objects::to_gix).transpose()?;
        let mut next = Some(objects::to_gix(tip)?);
        let mut buffer = Vec::new();
        while let Some(id) = next {
            if entries.len() == FEW && below.is_none() {
                let found = self.lookup.zip(refs).and_then(|(lookup, refs)| lookup.of(refs));
                if let Some((tip, cached)) = found {
                    if let Some(place) = entries.iter().position(|entry| entry.commit == tip) {
                        entries.truncate(place);
                        return Ok(Walked { entries: joined(cached, entries), ..Walked::default() });
                    }
                    known = Some(objects::to_gix(&tip)?);
                    below = Some(cached);
                }
            }
            if Some(id) == known {
                let is_joined = below.is_none();
                let entries = joined(below.unwrap_or_default(), entries);
                return Ok(Walked { entries, is_joined, gap: None });
            }
            #[cfg(test)]
            super::counters::count(&super::counters::COMMITS_WALKED);
            let commit = match git.objects.find_commit(&id, &mut buffer) {
                Ok(commit) => commit,
                Err(error) => {
                    let error = anyhow!("read the commit {}: {error}", id.to_hex());
                    if entries.is_empty() {
                        return Err(error);
                    }
                    gap = Some(error);
                    break;
                }
            };
            let parent = commit.parents().next();
            let envelope = Envelope {
                commit: objects::from_gix(&id)?,
                parent: parent.as_deref().map(objects::from_gix).transpose()?,
                authored_at: seconds_of(commit.author),
                committed_at: seconds_of(commit.committer),
            };
            let message = String::from_utf8_lossy(commit.message);
            let parsed = message::parse(&message, &envelope).or_else(|error| {
                // Where nothing of a session can be read, all of it is left out.
                match message::unreadable(&message, &envelope, session, entries.last()) {
                    Some(entry) if parent.is_some() || !entries.is_empty() => {
                        first_error.get_or_insert((entry.session.clone(), entry.commit.clone(), error));
                        Ok(Some(entry))
                    }
                    _ => Err(error),
                }
            });
            match parsed? {
                Some(entry) if entries.is_empty() && !is_wanted(&entry) => return Ok(Walked::default()),
                Some(entry) => entries.push(entry),
                // The tip is not ours: somebody else's ref. Below our own commits nothing foreign can stand.
                None if entries.is_empty() => return Ok(Walked::default()),
                None => bail!("a commit that is not ours stands below one that is: {}", id.to_hex()),
            }
            next = parent.filter(|_| !self.ends.contains(&id));
        }
        if let Some((session, commit, error)) = first_error {
            if entries.iter().all(|entry| entry.kind == RecordKind::Unknown) {
                return Err(error);
            }
            self.unreadable.note(&session, &commit, &error);
        }
        Ok(Walked { entries: joined(Vec::new(), entries), is_joined: false, gap })
    }
}

/// All of `below`, and behind it those `above`, which are still the newest first.
fn joined(mut below: Vec<LogEntry>, above: Vec<LogEntry>) -> Vec<LogEntry> {
    below.extend(above.into_iter().rev());
    below
}

/// The time in a line `name <email> seconds offset` of a commit.
pub(super) fn seconds_of(line: &[u8]) -> Timestamp {
    let text = String::from_utf8_lossy(line);
    let seconds = text.rsplit(' ').nth(1).and_then(|text| text.parse().ok());
    Timestamp::from_seconds(seconds.unwrap_or_default())
}

fn root_tree(git: &gix::Repository, commit: &ObjectId) -> Result<gix::ObjectId> {
    let mut buffer = Vec::new();
    let id = objects::to_gix(commit)?;
    let found =
        git.objects.find_commit(&id, &mut buffer).map_err(|error| anyhow!("read {commit}: {error}"))?;
    Ok(found.tree())
}

fn entries(git: &gix::Repository, tree: &gix::ObjectId) -> Result<Vec<(String, gix::ObjectId, bool)>> {
    let mut buffer = Vec::new();
    let found = git
        .objects
        .find_tree(tree, &mut buffer)
        .map_err(|error| anyhow!("read {}: {error}", tree.to_hex()))?;
    Ok(found
        .entries
        .iter()
        .map(|entry| (entry.filename.to_string(), entry.oid.to_owned(), entry.mode.is_tree()))
        .collect())
}

pub(super) fn write_blob(git: &gix::Repository, id: &gix::ObjectId, to: &mut dyn Write) -> Result<()> {
    let mut buffer = Vec::new();
    to.write_all(blob_of(git, id, &mut buffer)?).context("write a file of the record")
}

/// The bytes of a blob, which git refuses to unpack where it is longer than [`BLOB_LIMIT`].
pub(super) fn blob_of<'a>(
    git: &gix::Repository,
    id: &gix::ObjectId,
    buffer: &'a mut Vec<u8>,
) -> Result<&'a [u8]> {
    match git.objects.find_blob(id, buffer) {
        Ok(blob) => Ok(blob.data),
        Err(error) => {
            // Only an object that cannot be read is worth a second look.
            bounded(git, *id, BLOB_LIMIT)?;
            Err(anyhow!("read {}: {error}", id.to_hex()))
        }
    }
}

/// Refuses an object that is not here, or bigger than one of ours can be.
pub(super) fn bounded(git: &gix::Repository, id: gix::ObjectId, limit: u64) -> Result<()> {
    let header = git.find_header(id).map_err(|error| anyhow!("read {}: {error}", id.to_hex()))?;
    if header.size() > limit {
        bail!("{} holds {} bytes, more than a record of ours can", id.to_hex(), header.size());
    }
    Ok(())
}
