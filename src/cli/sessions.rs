//! Sessions as commands choose and describe them.

use std::io::stderr;

use anyhow::{Error, Result, bail};

use crate::record::{LogEntry, Session, SessionId};
use crate::store::{Holder, LoopLock, SessionLog, Store};

use super::output::warn;

/// Which sessions a command speaks of.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    pub session: Option<SessionId>,
    /// A path or a name.
    pub feature: Option<String>,
}

impl Choice {
    fn takes(&self, tip: &LogEntry) -> bool {
        let is_feature = |wanted: &String| {
            let wanted = wanted.trim_end_matches('/');
            tip.feature == wanted || tip.feature.rsplit('/').next() == Some(wanted)
        };
        self.session.as_ref().is_none_or(|id| tip.session == *id)
            && self.feature.as_ref().is_none_or(is_feature)
    }

    /// Refuses a session that is not there at all, whatever feature it should be of.
    fn check_session(&self, store: &Store) -> Result<()> {
        if let Some(id) = &self.session
            && store.latest_where(|tip| tip.session == *id, &mut Vec::new())?.is_none()
        {
            bail!("there is no session {id}\nhint: `specify ralph log --sessions` lists those that are here");
        }
        Ok(())
    }
}

/// The sessions that a choice leaves, oldest first.
pub fn chosen(store: &Store, choice: &Choice) -> Result<Vec<SessionLog>> {
    choice.check_session(store)?;
    let mut unreadable = Vec::new();
    let sessions = store.sessions_where(|tip| choice.takes(tip), &mut unreadable)?;
    tell(&unreadable);
    Ok(sessions)
}

/// Says which sessions are left out because they cannot be read.
fn tell(unreadable: &[Error]) {
    for error in unreadable {
        warn(&format!("left out: {error:#}"), &mut stderr());
    }
}

/// The latest session of a choice, if there is one.
pub fn newest(store: &Store, choice: &Choice) -> Result<Option<SessionLog>> {
    choice.check_session(store)?;
    let mut unreadable = Vec::new();
    let newest = store.latest_where(|tip| choice.takes(tip), &mut unreadable)?;
    tell(&unreadable);
    Ok(newest)
}

/// The latest session of a choice.
pub fn latest(store: &Store, choice: &Choice) -> Result<SessionLog> {
    match newest(store, choice)? {
        Some(log) => Ok(log),
        None => bail!("no session is recorded here\n{NOTHING_HERE}"),
    }
}

/// What to say where history is empty: a plain clone does not bring it.
pub const NOTHING_HERE: &str = "hint: start one with `specify ralph`; a clone gets those of others with \
                                `git fetch origin 'refs/ralph/*:refs/ralph/*'`";

/// Who runs now, in whichever work tree.
pub fn running(store: &Store) -> Result<Vec<Holder>> {
    LoopLock::holders(store.repository())
}

/// A session with what its log says of it by now: `session.json` is of its start where it has no end.
pub fn describe(store: &Store, log: &SessionLog, running: &[Holder]) -> Result<Session> {
    let tip = log.tip();
    if tip.status.is_some() {
        return store.session_json(tip);
    }
    let mut session = store.session_json(&log.entries[0])?;
    session.status = log.status(running.iter().any(|holder| holder.session == session.id));
    for entry in log.iterations() {
        session.tasks_completed += entry.closed.len();
        session.tasks_done = entry.tasks.tasks_done;
        session.tasks_remaining = entry.tasks.tasks_open;
        session.duration_ms = session.duration_ms.plus(&entry.duration_ms);
        session.tokens = session.tokens.plus(&entry.tokens);
    }
    let runs = log.iterations().filter(|entry| entry.is_run()).count();
    session.iterations_run = u32::try_from(runs).unwrap_or(u32::MAX);
    Ok(session)
}
