//! Bringing the records here and those of another repository together: a union of sessions, each with one writer.
//!
//! Refs only go forward, on both sides, and none is deleted. What comes in is looked at before it gets its name.

mod shared;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use camino::Utf8PathBuf;
use serde::Serialize;

use crate::local::lock::{is_free, try_to_hold};
use crate::reading::blobs::shallow_ends;
use crate::refs::database::RefUpdate;
use crate::refs::naming::{INCOMING_PREFIX, LOG_PREFIX, NOTES, SNAPSHOT_PREFIX, SessionRefs, TOMBSTONES};
use crate::{Store, folders};
use ralph_core::record::{ObjectId, Refusal, Timestamp};
use ralph_os::process::Tool;

use super::incoming::{self, Inspection};
use super::remote::{
    BATCH, MAX_REMOTE_LINES, PushOutcome, PushOutcomes, PushReport, Remote, Strictness, Unreachable,
};
use super::sync_state::{SyncState, cleaned_refs, want_again};
use super::{notes, tombstones};

/// Number of batches that may fail before a sync gives up: each is halved to find the ref that fails.
const MAX_FAILED_BATCHES: usize = 60;

/// Which way records go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Both,
    Push,
    Fetch,
}

/// Whether snapshots go with the records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Snapshots {
    Leave,
    Take,
}

/// Whether what was cleaned away here comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CleanedRefs {
    Leave,
    Take,
}

/// A ref that was moved, here or there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MovedRef {
    #[serde(rename = "ref")]
    pub name: String,
    /// Where it points now.
    pub commit: ObjectId,
}

/// A ref that stays as it is on both sides, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KeptRef {
    #[serde(rename = "ref")]
    pub name: String,
    pub reason: String,
}

/// What a sync did.
#[derive(Debug, Default, Serialize)]
pub struct Exchange {
    pub fetched: Vec<MovedRef>,
    pub pushed: Vec<MovedRef>,
    pub left_out: Vec<KeptRef>,
    /// Refs that the other side had at the last sync and has no more, or only an older version of.
    pub lost: Vec<String>,
    /// Sessions that were purged and are still here, or there.
    pub purged_but_here: Vec<String>,
    pub purged_but_there: Vec<String>,
    /// Refs that the other side has and that stay away, for they were cleaned away here.
    pub cleaned: Vec<String>,
    /// What the other side said when it refused something.
    pub said: Vec<String>,
    /// Why it came to an end before all was done.
    pub stopped: Option<String>,
}

/// A ref that is to be fetched: its name, the session that it is of, and where it is here.
type WantedRef = (String, SessionRefs, Option<ObjectId>);

/// A sync that is under way.
struct Sync<'a> {
    store: &'a Store,
    remote: &'a Remote,
    direction: Direction,
    snapshots: Snapshots,
    cleaned: CleanedRefs,
    at: Timestamp,
    exchange: Exchange,
    failures: usize,
}

impl Store {
    /// Syncs with another repository.
    pub fn sync(
        &self,
        remote: &Remote,
        direction: Direction,
        snapshots: Snapshots,
        cleaned: CleanedRefs,
        at: Timestamp,
    ) -> Result<Exchange> {
        folders::create(self.repository(), "sync")?;
        let Some(_held) = try_to_hold(&self.sync_lock())? else {
            return Err(Refusal::new("another sync is at work in this repository")
                .with_hint("try again when it is done")
                .into());
        };
        self.clear_incoming()?;
        let mut sync = Sync::new(self, remote, at);
        (sync.direction, sync.snapshots, sync.cleaned) = (direction, snapshots, cleaned);
        let done = sync.run();
        self.clear_incoming()?;
        done?;
        Ok(sync.exchange)
    }

    /// Pushes the records of these sessions alone, without their snapshots.
    pub fn push_sessions(
        &self,
        remote: &Remote,
        sessions: &[SessionRefs],
        at: Timestamp,
    ) -> Result<Exchange> {
        let mut wanted = Vec::new();
        for refs in sessions {
            wanted.extend(self.refs().tip(&refs.log())?.map(|tip| (refs.log(), tip)));
        }
        let mut sync = Sync::new(self, remote, at);
        sync.push_all(&wanted)?;
        Ok(sync.exchange)
    }

    /// Held during a sync.
    fn sync_lock(&self) -> Utf8PathBuf {
        self.repository().ralph_dir().join("sync/held")
    }

    /// Returns true if no sync is at work at this moment.
    pub(crate) fn is_nobody_syncing(&self) -> Result<bool> {
        is_free(&self.sync_lock())
    }

    /// Brings the tombstones and the notes alone together. Returns what could not be.
    pub(super) fn sync_shared(&self, remote: &Remote, at: Timestamp) -> Result<Vec<KeptRef>> {
        let mut sync = Sync::new(self, remote, at);
        let listed = remote.list(self.repository())?;
        let tombstones = sync.share(TOMBSTONES, listed.get(TOMBSTONES), tombstones::merge);
        let done = tombstones.and_then(|()| sync.share(NOTES, listed.get(NOTES), notes::merge));
        self.clear_incoming()?;
        done.map(|()| sync.exchange.left_out)
    }

    /// Removes the names of what came in; what was good has names of its own by now.
    pub(crate) fn clear_incoming(&self) -> Result<()> {
        let deletions: Vec<_> =
            self.refs().below(INCOMING_PREFIX)?.into_iter().map(RefUpdate::deletion).collect();
        if deletions.is_empty() { Ok(()) } else { self.refs().change(&deletions) }
    }

    /// Returns true if the history of `upper` holds `lower`.
    pub(super) fn is_ancestor(&self, lower: &ObjectId, upper: &ObjectId) -> Result<bool> {
        let git = Tool::git(&self.repository().common_dir);
        let ended = git.args(["merge-base", "--is-ancestor", lower.as_str(), upper.as_str()]).run()?;
        Ok(ended.is_success())
    }
}

impl<'a> Sync<'a> {
    fn new(store: &'a Store, remote: &'a Remote, at: Timestamp) -> Self {
        Self {
            store,
            remote,
            direction: Direction::Both,
            snapshots: Snapshots::Leave,
            cleaned: CleanedRefs::Leave,
            at,
            exchange: Exchange::default(),
            failures: 0,
        }
    }
}

impl Sync<'_> {
    fn run(&mut self) -> Result<()> {
        let (store, remote) = (self.store, self.remote);
        let listed = remote.list(store.repository()).with_context(|| format!("reach {}", remote.place()))?;
        let before = SyncState::read(store.repository(), remote)?;
        // First of all: they say what must not come back.
        let mut done = self.share(TOMBSTONES, listed.get(TOMBSTONES), tombstones::merge);
        let tombstones = tombstones::all(store)?;
        let ours = self.ours()?;
        self.notice_losses(&before, &listed, &tombstones)?;
        self.note_purged(&listed, &ours, &tombstones);
        let mut now: BTreeMap<String, ObjectId> = listed
            .iter()
            .filter(|(name, _)| SessionRefs::is_name_of_ours(name))
            .map(|(name, id)| (name.clone(), id.clone()))
            .collect();
        let mut behind: Vec<WantedRef> = self.behind(&listed, &tombstones)?;
        if self.direction != Direction::Push {
            self.leave_cleaned(&mut behind)?;
            done = done.and_then(|()| self.fetch_all(behind.clone()));
        }
        if self.direction != Direction::Fetch {
            // A ref that is behind has nothing that the other side lacks.
            let behind: BTreeSet<&str> = behind.iter().map(|(name, ..)| name.as_str()).collect();
            let ahead = ours.iter().filter(|(name, id)| {
                has_tombstone(&tombstones, name) == Some(false)
                    && !behind.contains(name.as_str())
                    && listed.get(*name) != Some(id)
            });
            let ahead: Vec<_> = ahead.map(|(name, id)| (name.clone(), id.clone())).collect();
            done = done.and_then(|()| self.push_all(&ahead));
        }
        done = done.and_then(|()| self.share(NOTES, listed.get(NOTES), notes::merge));
        now.extend(self.exchange.pushed.iter().map(|one| (one.name.clone(), one.commit.clone())));
        for name in &self.exchange.lost {
            // As long as it is here and not there, it is worth a word.
            if let (true, Some(id)) = (ours.contains_key(name), before.refs.get(name)) {
                now.entry(name.clone()).or_insert_with(|| id.clone());
            }
        }
        let state = SyncState { synced_at: Some(self.at), refs: now };
        state.write(store.repository(), remote)?;
        match done {
            Err(error) if error.chain().any(<dyn std::error::Error>::is::<Unreachable>) => {
                self.exchange.stopped = Some(format!("{error:#}"));
                Ok(())
            }
            done => done,
        }
    }

    fn ours(&self) -> Result<BTreeMap<String, ObjectId>> {
        let mut ours = self.store.refs_of_ours(LOG_PREFIX)?;
        if self.snapshots == Snapshots::Take {
            ours.extend(self.store.refs_of_ours(SNAPSHOT_PREFIX)?);
        }
        Ok(ours)
    }

    fn is_wanted_kind(&self, name: &str) -> bool {
        name.starts_with(LOG_PREFIX) || self.snapshots == Snapshots::Take
    }

    /// Says what the other side has lost since the last time.
    fn notice_losses(
        &mut self,
        before: &SyncState,
        listed: &BTreeMap<String, ObjectId>,
        tombstones: &BTreeMap<String, String>,
    ) -> Result<()> {
        for (name, id) in &before.refs {
            let is_purged = has_tombstone(tombstones, name) != Some(false);
            let is_lost = match listed.get(name) {
                None => true,
                Some(there) if there == id => false,
                Some(there) => {
                    self.store.has(there)? && self.store.has(id)? && self.store.refs().is_below(there, id)?
                }
            };
            if is_lost && !is_purged {
                self.exchange.lost.push(name.clone());
            }
        }
        Ok(())
    }

    fn note_purged(
        &mut self,
        listed: &BTreeMap<String, ObjectId>,
        ours: &BTreeMap<String, ObjectId>,
        tombstones: &BTreeMap<String, String>,
    ) {
        [self.exchange.purged_but_there, self.exchange.purged_but_here] = [listed, ours].map(|names| {
            names.keys().filter(|name| has_tombstone(tombstones, name) == Some(true)).cloned().collect()
        });
    }

    /// Returns the refs of which the other side has more than we do.
    fn behind(
        &self,
        listed: &BTreeMap<String, ObjectId>,
        tombstones: &BTreeMap<String, String>,
    ) -> Result<Vec<WantedRef>> {
        // With those of others, which are in the way of ours.
        let mut all_here: BTreeMap<String, ObjectId> = BTreeMap::new();
        for prefix in [LOG_PREFIX, SNAPSHOT_PREFIX] {
            all_here.extend(self.store.refs().below(prefix)?);
        }
        let mut behind = Vec::new();
        for (name, there) in listed {
            let Some(refs) = SessionRefs::from_name(name) else { continue };
            let is_wanted = self.is_wanted_kind(name) && has_tombstone(tombstones, name) == Some(false);
            let here = all_here.get(name).cloned();
            if !is_wanted || here.as_ref() == Some(there) {
                continue;
            }
            let is_ahead = match &here {
                Some(here) => self.store.has(there)? && self.store.refs().is_below(there, here)?,
                None => false,
            };
            if !is_ahead {
                behind.push((name.clone(), refs, here));
            }
        }
        Ok(behind)
    }

    /// Leaves out what was cleaned away here, unless it is asked for; what is here anyway goes on.
    fn leave_cleaned(&mut self, behind: &mut Vec<WantedRef>) -> Result<()> {
        if self.cleaned == CleanedRefs::Take {
            return Ok(());
        }
        let cleaned = cleaned_refs(self.store.repository())?;
        self.exchange.cleaned = behind
            .extract_if(.., |(name, _, here)| here.is_none() && cleaned.contains(name))
            .map(|(name, ..)| name)
            .collect();
        Ok(())
    }

    fn fetch_all(&mut self, wanted: Vec<WantedRef>) -> Result<()> {
        let (logs, snapshots): (Vec<_>, Vec<_>) =
            wanted.into_iter().partition(|(name, ..)| name.starts_with(LOG_PREFIX));
        for (all, strictness) in [(logs, Strictness::Strict), (snapshots, Strictness::AsSet)] {
            for batch in all.chunks(BATCH) {
                self.fetch_batch(batch, strictness)?;
            }
        }
        Ok(())
    }

    fn fetch_batch(&mut self, batch: &[WantedRef], strictness: Strictness) -> Result<()> {
        // The names from elsewhere stay on their side: here they are numbers.
        let names: Vec<String> = (0..batch.len()).map(|i| format!("{INCOMING_PREFIX}{i}")).collect();
        let specs: Vec<_> =
            batch.iter().zip(&names).map(|((name, ..), to)| (name.as_str(), to.as_str())).collect();
        match self.remote.fetch(self.store.repository(), &specs, strictness) {
            Ok(()) => self.take_in(batch, &names),
            Err(error) if error.is::<Unreachable>() => Err(error.context("fetch records")),
            Err(error) => {
                self.failures += 1;
                if batch.len() == 1 || self.failures > MAX_FAILED_BATCHES {
                    let reason = format!("{error:#}");
                    let names = batch.iter().map(|(name, ..)| name.clone());
                    self.leave_out(names, &reason);
                    return Ok(());
                }
                let (front, back) = batch.split_at(batch.len() / 2);
                self.fetch_batch(front, strictness)?;
                self.fetch_batch(back, strictness)
            }
        }
    }

    /// Looks at what came in and gives what is good its name.
    fn take_in(&mut self, batch: &[WantedRef], names: &[String]) -> Result<()> {
        let git = self.store.open_git()?;
        let ends = shallow_ends(&git)?;
        let mut good = Vec::new();
        let mut tips: BTreeMap<String, ObjectId> =
            self.store.refs().below(INCOMING_PREFIX)?.into_iter().collect();
        for ((name, refs, here), incoming) in batch.iter().zip(names) {
            let Some(tip) = tips.remove(incoming) else { continue };
            let look = if name.starts_with(LOG_PREFIX) {
                incoming::look_at_log
            } else {
                incoming::look_at_snapshots
            };
            match look(&git, refs, &tip, here.as_ref(), &ends) {
                Ok(Inspection::Ours(_)) => {
                    good.push(RefUpdate { name: name.clone(), old: here.clone(), new: Some(tip) });
                }
                Ok(Inspection::Foreign) => {}
                Err(error) => self.leave_out([name.clone()], &format!("{error:#}")),
            }
        }
        let (made, failed) = self.store.refs().change_each(good);
        want_again(self.store.repository(), made.iter().map(|change| &change.name))?;
        for RefUpdate { name, new, .. } in made {
            self.exchange.fetched.extend(new.map(|commit| MovedRef { name, commit }));
        }
        for (change, error) in failed {
            self.leave_out([change.name], &format!("{error:#}"));
        }
        self.store.clear_incoming()
    }

    fn push_all(&mut self, ahead: &[(String, ObjectId)]) -> Result<()> {
        ahead.chunks(BATCH).try_for_each(|batch| self.push_batch(batch).map(drop))
    }

    /// Returns true if anything of it was accepted.
    fn push_batch(&mut self, batch: &[(String, ObjectId)]) -> Result<bool> {
        let pushed = self.remote.push(self.store.repository(), batch).context("push records")?;
        let outcomes = self.answered(pushed);
        let (done, left): (Vec<_>, Vec<_>) =
            batch.iter().partition(|(name, _)| outcomes.get(name) == Some(&PushOutcome::Done));
        let pushed = done.iter().map(|(name, id)| MovedRef { name: name.clone(), commit: id.clone() });
        self.exchange.pushed.extend(pushed);
        if done.is_empty() && batch.len() > 1 && self.failures < MAX_FAILED_BATCHES {
            // A hook there refuses all for one: find out which. Where a half is refused as a whole, too, the
            // other side may want none of it, and a few attempts show it.
            self.failures += 1;
            let (front, back) = batch.split_at(batch.len() / 2);
            let is_front = self.push_batch(front)?;
            let is_back = self.push_batch(back)?;
            return Ok(is_front || is_back);
        }
        for (name, _) in left {
            let reason = match outcomes.get(name) {
                Some(PushOutcome::Behind) => "the remote has newer records; sync again".to_owned(),
                Some(PushOutcome::Refused(words)) => {
                    format!("{} refuses it: {words}", self.remote.place())
                }
                Some(PushOutcome::Done) | None => "git did not report it".to_owned(),
            };
            self.leave_out([name.clone()], &reason);
        }
        Ok(!done.is_empty())
    }

    /// Keeps the words of the other side, each once, where it refused something.
    fn answered(&mut self, (answers, said): PushReport) -> PushOutcomes {
        if answers.values().any(|pushed| matches!(pushed, PushOutcome::Refused(_))) {
            for words in said {
                if self.exchange.said.len() < MAX_REMOTE_LINES && !self.exchange.said.contains(&words) {
                    self.exchange.said.push(words);
                }
            }
        }
        answers
    }

    fn leave_out(&mut self, names: impl IntoIterator<Item = String>, reason: &str) {
        let kept = names.into_iter().map(|name| KeptRef { name, reason: reason.to_owned() });
        self.exchange.left_out.extend(kept);
    }
}

/// Returns true if the session of a ref was purged, or `None` if the name is not a session's.
fn has_tombstone(tombstones: &BTreeMap<String, String>, name: &str) -> Option<bool> {
    SessionRefs::from_name(name).map(|refs| tombstones.contains_key(&refs.log()))
}
