//! Sessions as commands choose and describe them.

use std::io::stderr;

use anyhow::{Error, Result, bail};

use crate::record::{LogEntry, Session, SessionId, SessionName};
use crate::store::{Holder, Listing, LoopLock, SessionLog, SessionRefs, Store};

use super::output::warn;

/// Which sessions a command speaks of.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    pub session: Option<SessionName>,
    /// A path or a name.
    pub feature: Option<String>,
}

/// A choice that names at most one session.
struct Settled<'a> {
    session: Option<SessionId>,
    feature: Option<&'a String>,
}

/// How many candidates an error names.
const CANDIDATES: usize = 5;

impl Choice {
    /// Finds the session that is meant, whatever feature it should be of.
    fn settle(&self, store: &Store) -> Result<Settled<'_>> {
        let session =
            self.session.as_ref().map(|name| named(store, name, self.feature.as_ref())).transpose()?;
        Ok(Settled { session, feature: self.feature.as_ref() })
    }
}

impl Settled<'_> {
    fn takes(&self, tip: &LogEntry) -> bool {
        self.session.as_ref().is_none_or(|id| tip.session == *id)
            && self.feature.is_none_or(|wanted| is_feature(wanted, &tip.feature))
    }
}

/// Whether a feature is the one that is wanted, by its path or its name.
pub fn is_feature(wanted: &str, feature: &str) -> bool {
    let wanted = wanted.trim_end_matches('/');
    feature == wanted || feature.rsplit('/').next() == Some(wanted)
}

/// The one session that begins like that.
fn named(store: &Store, name: &SessionName, feature: Option<&String>) -> Result<SessionId> {
    let mut found: Vec<SessionId> = Vec::new();
    for refs in store.session_names()?.into_iter().filter(|refs| name.matches(&refs.session)) {
        if !found.contains(&refs.session) {
            found.push(refs.session);
        }
    }
    if let Some(feature) = feature.filter(|_| found.len() > 1) {
        let of_feature = |tip: &LogEntry| name.matches(&tip.session) && is_feature(feature, &tip.feature);
        let logs = store.sessions_where(of_feature, &mut Vec::new())?;
        found = logs.into_iter().map(|log| log.refs.session).collect();
    }
    match found.as_slice() {
        [one] => Ok(one.clone()),
        [] => {
            bail!(
                "there is no session {name}\nhint: `specify ralph log --sessions` lists those that are here"
            )
        }
        several => {
            let newest: Vec<_> = several.iter().rev().take(CANDIDATES).map(SessionId::as_str).collect();
            let more = several.len() - newest.len();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            bail!(
                "{} sessions begin with {name}: {}{more}\nhint: write as much of the id as no other has",
                several.len(),
                newest.join(", ")
            )
        }
    }
}

/// The sessions that a choice leaves, oldest first.
pub fn chosen(store: &Store, choice: &Choice) -> Result<Vec<SessionLog>> {
    let settled = choice.settle(store)?;
    let mut unreadable = Vec::new();
    let sessions = store.sessions_where(|tip| settled.takes(tip), &mut unreadable)?;
    tell(&unreadable);
    sessions.iter().filter(|log| !log.is_whole()).for_each(|log| tell_of_missing(log.id()));
    Ok(sessions)
}

/// As [`chosen`], with what cannot be read handed over and not told.
pub fn readable(store: &Store, choice: &Choice, unreadable: &mut Vec<Error>) -> Result<Vec<SessionLog>> {
    let settled = choice.settle(store)?;
    store.sessions_where(|tip| settled.takes(tip), unreadable)
}

/// Says which sessions are left out because they cannot be read.
fn tell(unreadable: &[Error]) {
    for error in unreadable {
        warn(&format!("left out: {error:#}"), &mut stderr());
    }
}

/// Says that the beginning of a session is not here.
pub fn tell_of_missing(id: &SessionId) {
    let fetch = "git fetch --unshallow origin 'refs/ralph/*:refs/ralph/*'";
    let message = format!("this clone is shallow and has only the end of session {id}\nhint: {fetch}");
    warn(&message, &mut stderr());
}

/// The rows of the sessions that a choice leaves, of whichever feature.
pub fn listing(store: &Store, choice: &Choice) -> Result<Listing> {
    let session = choice.settle(store)?.session;
    let mut unreadable = Vec::new();
    let is_wanted = |refs: &SessionRefs| session.as_ref().is_none_or(|id| refs.session == *id);
    let listing = store.listing(is_wanted, &mut unreadable)?;
    tell(&unreadable);
    Ok(listing)
}

/// The latest session of a choice, if there is one.
pub fn newest(store: &Store, choice: &Choice) -> Result<Option<SessionLog>> {
    let settled = choice.settle(store)?;
    let mut unreadable = Vec::new();
    let newest = store.latest_where(|tip| settled.takes(tip), &mut unreadable)?;
    tell(&unreadable);
    newest.iter().filter(|log| !log.is_whole()).for_each(|log| tell_of_missing(log.id()));
    Ok(newest)
}

/// The latest session of a choice.
pub fn latest(store: &Store, choice: &Choice) -> Result<SessionLog> {
    match newest(store, choice)? {
        Some(log) => Ok(log),
        None => bail!("no session is recorded here\n{}", nothing_here(store)),
    }
}

/// What to say where history is empty: a plain clone does not bring it.
pub fn nothing_here(store: &Store) -> &'static str {
    if store.forgotten().is_ok_and(|forgotten| !forgotten.is_empty()) {
        "hint: there were sessions that `clean` took away: `specify ralph sync --cleaned` brings back those that the \
         remote has, `specify ralph unbundle FILE` those in a file"
    } else if store.remotes().is_ok_and(|remotes| !remotes.is_empty()) {
        "hint: a clone does not bring the records of others: `specify ralph sync` fetches them; `specify ralph` \
         starts a session"
    } else {
        "hint: start one with `specify ralph`, or take in those of others with `specify ralph unbundle FILE`"
    }
}

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
