//! Which session was last written from which work tree: whose text progress.txt is.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use camino::Utf8PathBuf;

use crate::record::SessionId;

use super::{SessionRefs, Store, disk};

/// Path of a feature, and the last session on it.
type Sessions = BTreeMap<String, SessionId>;

impl Store {
    /// The session on `feature` that was last written from this work tree; none in a fresh clone.
    pub fn last_written(&self, feature: &str) -> Result<Option<SessionRefs>> {
        Ok(self.last_sessions()?.remove(feature).map(|session| SessionRefs::new(feature, session)))
    }

    /// Writes down that `session` is now the one.
    pub fn note_last_written(&self, feature: &str, session: &SessionId) -> Result<()> {
        let mut sessions = self.last_sessions()?;
        sessions.insert(feature.to_owned(), session.clone());
        let path = self.last_path();
        disk::create_private_dir(path.parent().unwrap_or(&path))?;
        disk::write_durably(&path, &serde_json::to_vec_pretty(&sessions)?)
    }

    fn last_sessions(&self) -> Result<Sessions> {
        let path = self.last_path();
        match disk::read_if_there(&path)? {
            None => Ok(Sessions::new()),
            Some(bytes) => serde_json::from_slice(&bytes).with_context(|| format!("read {path}")),
        }
    }

    fn last_path(&self) -> Utf8PathBuf {
        self.repository()
            .ralph_dir()
            .join("last")
            .join(format!("{}.json", self.repository().work_tree_name()))
    }
}
