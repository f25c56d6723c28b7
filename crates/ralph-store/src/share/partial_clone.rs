//! What a partial clone lacks: files that were committed, and are at a remote alone.
//!
//! No git that we start fetches them by itself, for that would be network access that was not asked for; where one is
//! needed, it is fetched explicitly, or named.

use anyhow::{Error, Result, anyhow};

use crate::Store;
use ralph_core::record::ObjectId;

/// How the library says that an object is not here.
const ABSENT: &str = "could not be found";

impl Store {
    /// Returns those of `ids` that are not here.
    pub fn missing(&self, ids: impl IntoIterator<Item = ObjectId>) -> Result<Vec<ObjectId>> {
        let mut missing = Vec::new();
        for id in ids {
            if !self.has(&id)? {
                missing.push(id);
            }
        }
        Ok(missing)
    }

    /// Returns an error of a reader, with what to do about it where the record is not all here.
    pub(crate) fn explained(&self, error: Error) -> Error {
        let words = format!("{error:#}");
        if !self.repository().is_partial() || !words.contains(ABSENT) {
            return error;
        }
        let remote = &self.repository().promisors[0];
        anyhow!(
            "{words}\nthis clone is partial and lacks parts of the record\nhint: `git fetch --no-filter --refetch {remote} 'refs/ralph/*:refs/ralph/*'` fetches the rest"
        )
    }
}
