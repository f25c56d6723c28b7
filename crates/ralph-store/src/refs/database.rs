//! Where the refs of a repository are kept: in files of their own, or in tables; and the git that moves them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Error, Result};

use ralph_core::record::ObjectId;
use ralph_os::process::{Coprocess, Tool};

/// How long a transaction may take. Git waits a second for a lock at most, unless its settings say otherwise.
const TRANSACTION_TIMEOUT: Duration = Duration::from_secs(60);

/// What git answers when a transaction is done.
const LAST_ANSWER: &str = "commit: ok";

/// The `git update-ref --stdin` that moves refs. It is started with the first transaction, again after one that failed, and
/// ends with us.
#[derive(Debug, Clone, Default)]
pub(crate) struct RefWriter(Arc<Mutex<Option<Coprocess>>>);

impl RefWriter {
    /// Has git carry out a transaction.
    pub fn ask(&self, commands: &str, git: &Tool) -> Result<()> {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = running.take().map(|mut git| (git.ask(commands, LAST_ANSWER, TRANSACTION_TIMEOUT), git));
        if let Some((Ok(()), git)) = idle {
            *running = Some(git);
            return Ok(());
        }
        // Whatever an idle one says, it may have been killed since its last transaction.
        let mut fresh = Coprocess::start(git)?;
        fresh.ask(commands, LAST_ANSWER, TRANSACTION_TIMEOUT)?;
        *running = Some(fresh);
        Ok(())
    }
}

/// A ref that is to go from one value to another.
#[derive(Debug, Clone)]
pub(crate) struct RefUpdate {
    pub name: String,
    /// `None` if it must not exist.
    pub old: Option<ObjectId>,
    /// `None` deletes it; from no value, whatever it is.
    pub new: Option<ObjectId>,
}

impl RefUpdate {
    /// Deletes a ref that points at `tip`.
    pub fn deletion((name, tip): (String, ObjectId)) -> Self {
        Self { name, old: Some(tip), new: None }
    }
}

/// Why a ref points at no object itself.
#[derive(Debug)]
pub(crate) enum NoTip {
    /// It names this ref.
    Symbolic(String),
    /// Its file holds something else, as after a power cut.
    Broken(Error),
}

/// The refs of one repository. What is symbolic, or cannot be read, is none.
pub(crate) trait RefDatabase {
    /// Returns what a ref points at, if it is there.
    fn tip(&self, name: &str) -> Result<Option<ObjectId>>;

    /// Returns all refs below a prefix, which ends in `/`.
    fn below(&self, prefix: &str) -> Result<Vec<(String, ObjectId)>>;

    /// Returns the refs below a prefix, which ends in `/`, or of just this name, that point at no object themselves.
    fn without_tip(&self, pattern: &str) -> Result<Vec<(String, NoTip)>>;

    /// Returns how long a lock on a ref of a session may be before only a process of ours that died can have left it.
    fn stale_lock_age(&self) -> Duration {
        Duration::ZERO
    }

    /// Removes such locks. Returns true if there was one.
    fn remove_stale_lock(&self, _updates: &[RefUpdate]) -> Result<bool> {
        Ok(false)
    }
}
