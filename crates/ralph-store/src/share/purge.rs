//! Taking a session away for good: here, and from a remote. What clones have, their owners must take away.

use anyhow::{Context, Result, bail};
use camino::Utf8PathBuf;
use serde::Serialize;

use crate::local::control::Control;
use crate::local::disk;
use crate::local::kept_settings;
use crate::local::spool::Spool;
use crate::refs::naming::{INCOMING_PREFIX, LOG_PREFIX, SNAPSHOT_PREFIX, SessionRefs};
use crate::retention::{ASIDE, is_of};
use crate::{Store, message};
use ralph_core::record::{ObjectId, RALPH, Refusal, SessionId, Timestamp};

use super::remote::{PushOutcome, Remote, Strictness};
use super::sync::KeptRef;
use super::{notes, tombstones};

/// What was taken away.
#[derive(Debug, Default, Serialize)]
pub struct PurgeReport {
    /// Refs that are gone here.
    pub here: Vec<String>,
    /// Notes that lost a line.
    pub notes: usize,
    /// What was kept aside of it in our folder, and is gone.
    pub kept: Vec<Utf8PathBuf>,
    /// Refs that are gone at the remote.
    pub there: Vec<String>,
    /// Refs that stay at the remote, and why.
    pub left: Vec<KeptRef>,
}

impl Store {
    /// Returns what a purge takes away here: refs, and texts that were kept.
    pub fn plan_purge(&self, session: &SessionId) -> Result<PurgeReport> {
        let here = self.tips_of(session)?.into_iter().map(|(name, _)| name).collect();
        Ok(PurgeReport { here, kept: self.kept_of(session)?, ..PurgeReport::default() })
    }

    fn tips_of(&self, session: &SessionId) -> Result<Vec<(String, ObjectId)>> {
        let mut tips = Vec::new();
        for prefix in [LOG_PREFIX, SNAPSHOT_PREFIX] {
            tips.extend(self.refs_of_ours(prefix)?.into_iter().filter(|(name, _)| is_of(name, session)));
        }
        // Restorations hold its files, too, and so may refs that replaced its own.
        for (name, tip) in
            ASIDE.iter().map(|prefix| self.refs().below(prefix)).collect::<Result<Vec<_>>>()?.concat()
        {
            let named = self.message(&tip).ok().and_then(|message| message::named_in(&message));
            if named.is_some_and(|(named, _)| named == *session) {
                tips.push((name, tip));
            }
        }
        Ok(tips)
    }

    /// Removes a session locally. The tombstone comes first, so that no sync brings it back meanwhile.
    pub fn purge(&self, session: &SessionId, at: Timestamp) -> Result<PurgeReport> {
        if self.is_running(session)? {
            let refusal = Refusal::new(format!("session {session} runs"));
            return Err(refusal.with_hint(format!("stop it first: `{RALPH} stop`")).into());
        }
        let tips = self.tips_of(session)?;
        let purged: Vec<SessionRefs> =
            tips.iter().filter_map(|(name, _)| SessionRefs::from_name(name)).collect();
        tombstones::add(self, &purged, at)?;
        if !tips.is_empty() {
            self.refs().delete(&tips)?;
        }
        self.forget_listing()?;
        let notes = notes::forget(self, session, at)?;
        Control::of(self.repository(), session).clear()?;
        kept_settings::remove(self.repository(), session)?;
        if let Some(spool) = Spool::of(self.repository(), session)? {
            spool.remove(self.repository())?;
        }
        let kept = self.forget_kept(session)?;
        let here = tips.into_iter().map(|(name, _)| name).collect();
        Ok(PurgeReport { here, notes, kept, ..PurgeReport::default() })
    }

    /// Returns what was put aside of a session, or holds a journal with it, or what its loop said beside a screen.
    fn kept_of(&self, session: &SessionId) -> Result<Vec<Utf8PathBuf>> {
        let mut found = Vec::new();
        for folder in ["kept", "talk"] {
            for path in disk::children(&self.repository().ralph_dir().join(folder))? {
                let is_named = path.file_name().is_some_and(|name| name.ends_with(session.as_str()));
                let is_folder = path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
                let text = if is_folder { None } else { disk::read_if_there(&path)? };
                let id = session.as_str().as_bytes();
                if is_named || text.is_some_and(|text| text.windows(id.len()).any(|part| part == id)) {
                    found.push(path);
                }
            }
        }
        found.sort();
        Ok(found)
    }

    fn forget_kept(&self, session: &SessionId) -> Result<Vec<Utf8PathBuf>> {
        let found = self.kept_of(session)?;
        for path in &found {
            if path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
                disk::remove_dir_if_there(path)?;
            } else {
                disk::remove_file_if_there(path)?;
            }
        }
        Ok(found)
    }

    /// Takes a session away at a remote, each ref only from where it was seen, and leaves the tombstone there.
    pub fn purge_at(
        &self,
        remote: &Remote,
        session: &SessionId,
        at: Timestamp,
        purged: &mut PurgeReport,
    ) -> Result<()> {
        let listed = remote.list(self.repository()).with_context(|| format!("reach {}", remote.place()))?;
        let mut with_tombstone = Vec::new();
        for (name, tip) in listed.iter().filter(|(name, _)| is_of(name, session)) {
            if !self.is_ours_there(remote, name, tip)? {
                let reason = "it is not ours".to_owned();
                purged.left.push(KeptRef { name: name.clone(), reason });
                continue;
            }
            with_tombstone.extend(SessionRefs::from_name(name));
            match remote.delete(self.repository(), name, tip)? {
                PushOutcome::Done => purged.there.push(name.clone()),
                PushOutcome::Behind => purged
                    .left
                    .push(KeptRef { name: name.clone(), reason: "it was moved there meanwhile".to_owned() }),
                PushOutcome::Refused(words) => {
                    let reason = format!("{} refuses it: {words}", remote.place());
                    purged.left.push(KeptRef { name: name.clone(), reason });
                }
            }
        }
        tombstones::add(self, &with_tombstone, at)?;
        if tombstones::all(self)?.is_empty() {
            bail!("session {session} is neither here nor at {}", remote.place());
        }
        purged.left.extend(self.sync_shared(remote, at)?);
        Ok(())
    }

    /// Returns true if the tip of a ref at a remote is one of our commits; it is fetched to be looked at where it must.
    fn is_ours_there(&self, remote: &Remote, name: &str, tip: &ObjectId) -> Result<bool> {
        if !self.has(tip)? {
            let incoming = format!("{INCOMING_PREFIX}purge");
            remote.fetch(self.repository(), &[(name, &incoming)], Strictness::AsSet)?;
            self.clear_incoming()?;
        }
        Ok(message::is_signed(&self.message(tip)?))
    }
}
