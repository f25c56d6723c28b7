//! The commits of a session, from the newest to the oldest.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeSet;

use anyhow::{Context, Error, Result, anyhow, bail};
use gix::hashtable::HashMap;
use gix::objs::{CommitRef, Find, FindExt};

use ralph_core::record::{Envelope, LogEntry, ObjectId, RecordKind};

use super::blobs::seconds_of;
use super::listing_cache::Lookup;
use super::session_log::SessionLog;
use super::unreadable::Unreadable;
use crate::message;
use crate::objects;
use crate::refs::naming::SessionRefs;

/// Where a walk down a chain of records ends before the first.
#[derive(Clone, Copy)]
pub(crate) struct Chain<'a> {
    pub objects: &'a dyn Find,
    pub refs: &'a SessionRefs,
    /// Commits that have no parents as far as this clone is concerned.
    pub ends: &'a BTreeSet<gix::ObjectId>,
    /// What is known from here on down.
    pub known: Option<&'a ObjectId>,
    /// What may know the rest of a long chain.
    pub lookup: Option<&'a Lookup>,
    /// If it is noted which records cannot be read.
    pub unreadable: &'a Unreadable,
    /// Where commits are kept for a caller that needs more of them than their records.
    pub commits: Option<&'a Commits>,
}

/// The commits that a walk kept: the first [`MAX_KEPT_COMMITS`] that it read.
pub(crate) type Commits = RefCell<HashMap<gix::ObjectId, (String, gix::ObjectId)>>;

/// Returns what is kept of a commit: its message and its tree.
pub(crate) fn message_and_tree(commit: &CommitRef<'_>) -> (String, gix::ObjectId) {
    (String::from_utf8_lossy(commit.message).into_owned(), commit.tree())
}

/// Maximum number of commits that are kept; each takes as much memory as its message.
const MAX_KEPT_COMMITS: usize = 10_000;

/// Number of records that are read from their commits before the cache is used.
const UNCACHED_RECORDS: usize = 300;

/// What a walk down a chain found.
#[derive(Debug, Default)]
pub(crate) struct ChainWalk {
    /// Oldest first; none if the tip is not ours.
    pub entries: Vec<LogEntry>,
    /// True if they begin after the known one.
    pub is_joined: bool,
    /// Why the walk could not go on below the entries.
    pub gap: Option<Error>,
}

impl Chain<'_> {
    /// Returns the entries up to `tip`, as far as they can be read.
    pub fn read(&self, tip: &ObjectId) -> Result<ChainWalk> {
        let walked = self.named_walk(tip, |_| true)?;
        let gap = walked.gap.map(|gap| self.describe_gap(walked.entries.len(), &gap));
        Ok(ChainWalk { gap, ..walked })
    }

    /// Returns the session up to `tip`, if its newest record `is_wanted`. What cannot be read of it goes to `unreadable`.
    pub fn log(
        &self,
        tip: &ObjectId,
        is_wanted: impl Fn(&LogEntry) -> bool,
        unreadable: &mut Vec<Error>,
    ) -> Result<Option<SessionLog>> {
        let ChainWalk { entries, gap, .. } = self.named_walk(tip, is_wanted)?;
        if entries.is_empty() {
            return Ok(None);
        }
        let is_broken = gap.is_some();
        unreadable.extend(gap.map(|gap| self.describe_gap(entries.len(), &gap)));
        Ok(Some(SessionLog { refs: self.refs.clone(), entries: entries.into(), is_broken }))
    }

    fn named_walk(&self, tip: &ObjectId, is_wanted: impl Fn(&LogEntry) -> bool) -> Result<ChainWalk> {
        self.walk(tip, is_wanted).with_context(|| format!("read {}", self.refs.log()))
    }

    /// Returns the error for a session whose older records are gone.
    fn describe_gap(&self, readable: usize, gap: &Error) -> Error {
        let are = if readable == 1 { "record is" } else { "records are" };
        let name = self.refs.log();
        anyhow!("{name}: only the newest {readable} {are} readable, what is older is gone: {gap:#}")
    }

    pub fn walk(&self, tip: &ObjectId, is_wanted: impl Fn(&LogEntry) -> bool) -> Result<ChainWalk> {
        let mut entries: Vec<LogEntry> = Vec::new();
        let (mut first_error, mut gap, mut below) = (None, None, None);
        let mut known = self.known.map(objects::to_gix).transpose()?;
        let mut next = Some(objects::to_gix(tip)?);
        let mut buffer = Vec::new();
        while let Some(id) = next {
            if entries.len() == UNCACHED_RECORDS
                && below.is_none()
                && let Some(mut cached) = self.lookup.and_then(|lookup| lookup.of(self.refs))
            {
                let commit = objects::from_gix(&id)?;
                if let Some(place) = cached.iter().rposition(|entry| entry.commit() == commit) {
                    cached.truncate(place + 1);
                    return Ok(ChainWalk { entries: joined(cached, entries), ..ChainWalk::default() });
                }
                known = cached.last().map(|tip| objects::to_gix(&tip.commit())).transpose()?;
                below = Some(cached);
            }
            if Some(id) == known {
                let is_joined = below.is_none();
                let entries = joined(below.unwrap_or_default(), entries);
                return Ok(ChainWalk { entries, is_joined, gap: None });
            }
            #[cfg(test)]
            crate::counters::count(&crate::counters::COMMITS_WALKED);
            let found = self.objects.find_commit(&id, &mut buffer);
            let commit = match found.map_err(|error| anyhow!("read the commit {}: {error}", id.to_hex())) {
                Ok(commit) => commit,
                Err(error) if entries.is_empty() => return Err(error),
                Err(error) => {
                    gap = Some(error);
                    break;
                }
            };
            self.keep(id, &commit);
            let parent = commit.parents().next();
            let (message, envelope) = envelope_of(id, &commit)?;
            let parsed = LogEntry::of_message(&message, &envelope).or_else(|error| {
                // If nothing of a session can be read, all of it is left out.
                let entry =
                    message::unreadable(&message, &envelope, Some(&self.refs.session), entries.last());
                let Some(entry) = entry.filter(|_| parent.is_some() || !entries.is_empty()) else {
                    return Err(error);
                };
                first_error.get_or_insert((entry.session(), entry.commit(), error));
                Ok(Some(entry))
            });
            match parsed? {
                Some(entry) if entries.is_empty() && !is_wanted(&entry) => return Ok(ChainWalk::default()),
                Some(entry) => entries.push(entry),
                // The tip is not ours, so neither is the ref. Below our own commits all commits are ours.
                None if entries.is_empty() => return Ok(ChainWalk::default()),
                None => bail!("a commit that is not ours stands below one that is: {}", id.to_hex()),
            }
            next = parent.filter(|_| !self.ends.contains(&id));
        }
        if let Some((session, commit, error)) = first_error {
            if entries.iter().all(|entry| entry.kind() == RecordKind::Unknown) {
                return Err(error);
            }
            self.unreadable.note(&session, &commit, &error);
        }
        Ok(ChainWalk { entries: joined(Vec::new(), entries), is_joined: false, gap })
    }

    fn keep(&self, id: gix::ObjectId, commit: &CommitRef<'_>) {
        if let Some(commits) = self.commits
            && commits.borrow().len() < MAX_KEPT_COMMITS
        {
            commits.borrow_mut().insert(id, message_and_tree(commit));
        }
    }
}

/// Returns the message of a commit, and what its record has from the commit itself.
fn envelope_of<'a>(id: gix::ObjectId, commit: &CommitRef<'a>) -> Result<(Cow<'a, str>, Envelope)> {
    let envelope = Envelope {
        commit: objects::from_gix(&id)?,
        parent: commit.parents().next().as_deref().map(objects::from_gix).transpose()?,
        authored_at: seconds_of(commit.author),
        committed_at: seconds_of(commit.committer),
    };
    Ok((String::from_utf8_lossy(commit.message), envelope))
}

/// Returns all of `below`, and after it those `above`, which are still the newest first.
fn joined(mut below: Vec<LogEntry>, above: Vec<LogEntry>) -> Vec<LogEntry> {
    below.extend(above.into_iter().rev());
    below
}
