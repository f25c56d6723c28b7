//! What refs are moved from and to, and the git that moves them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Error, Result};

use ralph_core::record::ObjectId;
use ralph_os::process::{Coprocess, Tool};

/// How long a transaction may take. Git waits a second for a lock at most, unless its settings say otherwise.
const TRANSACTION_TIMEOUT: Duration = Duration::from_mins(1);

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
