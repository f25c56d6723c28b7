//! Which session was last written from which work tree: whose text progress.txt is.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use camino::Utf8PathBuf;

use crate::record::SessionId;
use crate::repository::Repository;

use super::{Begin, SessionRefs, Spool, Store, disk};

/// Path of a feature, and the last session on it.
type Sessions = BTreeMap<String, SessionId>;

impl Store {
    /// Returns the session on `feature` that was last written from this work tree; none in a fresh clone.
    pub fn last_written(&self, feature: &str) -> Result<Option<SessionRefs>> {
        Ok(self.last_sessions()?.remove(feature).map(|session| SessionRefs::new(feature, session)))
    }

    /// Writes down that `session` is now the one.
    pub fn note_last_written(&self, feature: &str, session: &SessionId) -> Result<()> {
        let mut sessions = self.last_sessions()?;
        sessions.insert(feature.to_owned(), session.clone());
        let path = self.last_path();
        self.folder("last")?;
        disk::write_durably(&path, &serde_json::to_vec_pretty(&sessions)?)?;
        disk::share(&path, self.repository().sharing)
    }

    /// Returns what a running session works on, as its spool says.
    pub fn in_flight(&self, session: &SessionId) -> Option<Begin> {
        let spool = Spool::all(self.repository())
            .ok()?
            .into_iter()
            .find(|spool| spool.session() == Some(session.clone()))?;
        let slots = spool.slots().ok()?;
        slots.last()?.read_begin().ok()?
    }

    /// Puts away a text of the user's that is about to be overwritten, and says where.
    pub fn keep(&self, name: &str, bytes: &[u8]) -> Result<Utf8PathBuf> {
        let folder = self.repository().ralph_dir().join("kept");
        disk::create_private_dir(&folder)?;
        let path = disk::free_name(&folder, name);
        disk::write_durably(&path, bytes)?;
        Ok(path)
    }

    fn last_sessions(&self) -> Result<Sessions> {
        Ok(disk::read_json(&self.last_path())?.unwrap_or_default())
    }

    fn last_path(&self) -> Utf8PathBuf {
        self.repository()
            .ralph_dir()
            .join("last")
            .join(format!("{}.json", self.repository().work_tree_name()))
    }
}

/// Returns the sessions that the journals of all work trees follow.
pub(super) fn last_of_all(repository: &Repository) -> Result<BTreeSet<SessionId>> {
    let mut last = BTreeSet::new();
    for path in disk::children(&repository.ralph_dir().join("last"))? {
        last.extend(disk::read_json::<Sessions>(&path)?.unwrap_or_default().into_values());
    }
    Ok(last)
}
