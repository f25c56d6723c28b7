//! Sessions as commands choose and describe them.

use std::collections::BTreeSet;

use anyhow::{Context, Error, Result, anyhow, bail};
use clap::Args;

use ralph_core::record::{
    Outcome, RALPH, Session, SessionId, SessionName, Status, TaskCounts, did_you_mean, join_truncated,
};
use ralph_core::view::SessionView;
use ralph_project::feature;
use ralph_store::{
    Holder, Listing, LoopLock, Remote, RemoteRun, SessionLog, SessionQuery, SessionRefs, Store, cleaned_refs,
    status_of,
};
use ralph_ui::style::one_line;

use crate::cli::warn;

/// Which sessions a command speaks of.
#[derive(Debug, Clone, Default, Args)]
pub struct SessionChoice {
    /// Session [default: the latest]
    #[arg(long, value_name = "SESSION")]
    pub session: Option<SessionName>,
    /// Feature, by path or by name
    #[arg(long, value_name = "FEATURE")]
    pub feature: Option<String>,
}

/// The same for a command that speaks of all sessions where none is chosen.
#[derive(Debug, Args)]
#[command(mut_arg("session", |session| session.help("Only this session [default: all]")))]
#[command(mut_arg("feature", |feature| feature.help("Only this feature, by path or by name [default: all]")))]
pub struct OnlySessions {
    #[command(flatten)]
    pub choice: SessionChoice,
}

/// How many candidates an error names.
const MAX_CANDIDATES: usize = 5;

impl SessionChoice {
    /// Returns true if nothing is chosen.
    pub fn is_open(&self) -> bool {
        self.session.is_none() && self.feature.is_none()
    }

    /// Finds the session and the feature that are meant. What names nothing is an error.
    pub fn settle(&self, store: &Store) -> Result<SessionQuery> {
        let mut query = SessionQuery::default();
        let mut tips = Vec::new();
        if let Some(wanted) = &self.feature {
            tips = self::tips(store)?;
            let features = tips.iter().map(|(_, feature)| feature.as_str());
            query.feature = Some(recorded_feature(wanted, features, store)?.to_owned());
        }
        let Some(name) = &self.session else { return Ok(query) };
        let matching = store.session_names()?.into_iter().filter(|refs| name.matches(&refs.session));
        let mut found: Vec<SessionId> = matching.map(|refs| refs.session).collect();
        found.dedup();
        if let (Some(feature), Some(first)) = (&query.feature, found.first().cloned()) {
            found.retain(|id| tips.iter().any(|(session, path)| session == id && path == feature));
            if found.is_empty() {
                let feature = one_line(feature);
                bail!("session {first} is not of {feature}\nhint: omit --session or --feature");
            }
        }
        query.session = Some(only(store, name, &found)?);
        Ok(query)
    }
}

/// Returns all sessions that can be read, with the paths of their features.
pub fn tips(store: &Store) -> Result<Vec<(SessionId, String)>> {
    let listing = store.listing(|_| true, &mut Vec::new())?;
    let tips = listing.sessions().map(|session| (session.refs.session.clone(), session.feature.clone()));
    Ok(tips.collect())
}

/// Returns the path of the one recorded feature that is meant: by its path or the end of it, by the number in front
/// of its name, or by a part of it, as `run` takes it.
fn recorded_feature<'a>(
    wanted: &str,
    recorded: impl Iterator<Item = &'a str>,
    store: &Store,
) -> Result<&'a str> {
    let recorded: BTreeSet<&str> = recorded.collect();
    let fitting = fitting(wanted, &recorded);
    match fitting.as_slice() {
        [only] => Ok(only),
        [] if recorded.is_empty() => bail!("{}", nothing_recorded(store)),
        [] => {
            let names = recorded.iter().copied().chain(recorded.iter().map(|path| last_part(path)));
            let near = did_you_mean(wanted, names);
            let near = near.map_or(String::new(), |near| format!("did you mean {}? ", one_line(near)));
            let features: Vec<_> = recorded.into_iter().collect();
            bail!(
                "no session of a feature `{}` is recorded here\nhint: {near}there are sessions of {}",
                one_line(wanted),
                candidates(&features)
            )
        }
        several => bail!(
            "`{}` is ambiguous: {}\nhint: pass the whole path to --feature",
            one_line(wanted),
            candidates(several)
        ),
    }
}

fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// Returns the paths that `wanted` may mean: of the closest kind of likeness alone.
fn fitting<'a>(wanted: &str, recorded: &BTreeSet<&'a str>) -> Vec<&'a str> {
    let wanted = wanted.trim_start_matches("./").trim_end_matches('/');
    let end = format!("/{wanted}");
    let number = format!("{wanted}-");
    let kinds: [&dyn Fn(&'a str) -> bool; 4] = [
        &|path| path == wanted,
        &|path| path.ends_with(&end),
        &|path| !wanted.contains('/') && last_part(path).starts_with(&number),
        &|path| !wanted.contains('/') && feature::is_part(wanted, last_part(path)),
    ];
    if wanted.is_empty() {
        return Vec::new();
    }
    let found = kinds.into_iter().map(|is_it| recorded.iter().copied().filter(|path| is_it(path)).collect());
    found.into_iter().find(|found: &Vec<&str>| !found.is_empty()).unwrap_or_default()
}

/// Returns the first few on one line.
fn candidates(names: &[&str]) -> String {
    let names: Vec<_> = names.iter().map(|name| one_line(name)).collect();
    join_truncated(&names, MAX_CANDIDATES)
}

/// Returns the one session that begins like that.
fn only(store: &Store, name: &SessionName, found: &[SessionId]) -> Result<SessionId> {
    match found {
        [one] => Ok(one.clone()),
        [] => match store.newest_session()? {
            Some(newest) => bail!(
                "there is no session {name}\nhint: the latest is {newest}, `{RALPH} log --sessions` lists all"
            ),
            None => bail!("there is no session {name}: {}", nothing_recorded(store)),
        },
        several => {
            let newest: Vec<_> = several.iter().rev().map(SessionId::as_str).collect();
            bail!(
                "{} sessions begin with {name}: {}\nhint: give more digits of the id",
                several.len(),
                candidates(&newest)
            )
        }
    }
}

/// Returns the sessions that a choice leaves, oldest first.
pub fn chosen(store: &Store, choice: &SessionChoice) -> Result<Vec<SessionLog>> {
    let sessions = with_warnings(|unreadable| readable(store, choice, unreadable))?;
    sessions.iter().for_each(warn_if_shallow);
    Ok(sessions)
}

/// Returns the sessions of the feature at a path, oldest first; those after `after`, if that is set.
pub fn of_feature(store: &Store, path: &str, after: Option<SessionId>) -> Result<Vec<SessionLog>> {
    let query = SessionQuery { after, ..SessionQuery::of_feature(path) };
    with_warnings(|unreadable| store.sessions(&query, unreadable))
}

/// As [`chosen`], but returns what cannot be read instead of warning about it.
pub fn readable(
    store: &Store,
    choice: &SessionChoice,
    unreadable: &mut Vec<Error>,
) -> Result<Vec<SessionLog>> {
    store.sessions(&choice.settle(store)?, unreadable)
}

/// Reads sessions, and says which are left out because they cannot be read.
fn with_warnings<T>(read: impl FnOnce(&mut Vec<Error>) -> Result<T>) -> Result<T> {
    let mut unreadable = Vec::new();
    let found = read(&mut unreadable)?;
    unreadable.iter().for_each(warn_left_out);
    Ok(found)
}

fn warn_left_out(error: &Error) {
    warn(&format!("left out: {error:#}"));
}

fn warn_if_shallow(log: &SessionLog) {
    if log.is_shallow() {
        warn_about_missing(log.id());
    }
}

/// Says that the beginning of a session is not here.
pub fn warn_about_missing(id: &SessionId) {
    let fetch = "git fetch --unshallow origin 'refs/ralph/*:refs/ralph/*'";
    let message = format!("this clone is shallow and has only the end of session {id}\nhint: {fetch}");
    warn(&message);
}

/// Returns the rows of the sessions that a choice leaves, and those of other features beside them.
pub fn listing(store: &Store, choice: &SessionChoice) -> Result<(Listing, SessionQuery)> {
    let mut settled = match choice.session {
        Some(_) => choice.settle(store)?,
        None => SessionQuery::default(),
    };
    let mut unreadable = Vec::new();
    let listing = store
        .listing(|refs| settled.session.as_ref().is_none_or(|id| refs.session == *id), &mut unreadable)?;
    for (_, error) in &unreadable {
        warn_left_out(error);
    }
    if let (Some(wanted), None) = (&choice.feature, &settled.feature) {
        // The listing knows the features, and so no tip need be read for them.
        let features = listing.sessions().map(|session| session.feature.as_str());
        settled.feature = Some(recorded_feature(wanted, features, store)?.to_owned());
    }
    Ok((listing, settled))
}

/// Returns the sessions of a feature, oldest first, with the place of the one to show: that of `named`, or the latest.
/// Warns of what of it, and of later ones, cannot be read.
pub fn with_shown(
    store: &Store,
    feature: &str,
    named: Option<&SessionRefs>,
) -> Result<(Vec<SessionLog>, Option<usize>)> {
    let mut unreadable = Vec::new();
    let listing = store.listing(|_| true, &mut unreadable)?;
    let sessions = listing.logs_of(feature);
    let place = match named {
        Some(refs) => sessions.iter().position(|log| log.refs == *refs),
        None => sessions.len().checked_sub(1),
    };
    let shown = place.map(|place| &sessions[place]);
    let wanted = named.or(shown.map(|log| &log.refs));
    for (refs, error) in &unreadable {
        let is_of_concern = refs.as_ref().map_or(wanted.is_none(), |refs| {
            // What is broken of a session that can be listed concerns who reads that one.
            let is_later = named.is_none() && wanted.is_none_or(|wanted| refs.session > wanted.session);
            wanted == Some(refs) || is_later && !listing.sessions().any(|session| session.refs == *refs)
        });
        if is_of_concern {
            warn_left_out(error);
        }
    }
    shown.into_iter().filter(|_| named.is_none()).for_each(warn_if_shallow);
    Ok((sessions, place))
}

/// Returns the latest of the sessions that are meant.
pub fn newest_of(store: &Store, query: SessionQuery) -> Result<Option<SessionLog>> {
    let query = SessionQuery { newest: true, ..query };
    let newest = with_warnings(|unreadable| store.sessions(&query, unreadable))?.pop();
    newest.iter().for_each(warn_if_shallow);
    Ok(newest)
}

/// Returns one session, as far as it can be read.
pub fn one(store: &Store, refs: &SessionRefs) -> Result<Option<SessionLog>> {
    with_warnings(|unreadable| store.session_as_readable(refs, unreadable))
}

/// The latest session of a choice.
pub fn latest(store: &Store, choice: &SessionChoice) -> Result<SessionLog> {
    newest_of(store, choice.settle(store)?)?.ok_or_else(|| anyhow!(nothing_recorded(store)))
}

/// Returns the sessions of the group of one, in the order of their ids: itself where it works alone.
pub fn group_of(store: &Store, log: &SessionLog) -> Result<Vec<SessionLog>> {
    let own = log.view();
    if own.group().is_none() {
        return Ok(vec![log.clone()]);
    }
    let mut logs = store.logs_of(log.feature())?;
    logs.retain(|other| other.view().is_beside(&own));
    Ok(logs)
}

/// Returns sessions of a group as one.
pub fn joined(logs: &[SessionLog]) -> SessionView {
    let views: Vec<SessionView> = logs.iter().map(SessionLog::view).collect();
    SessionView::joined(&views.iter().collect::<Vec<_>>())
}

/// That history is empty, and how to come by one.
pub fn nothing_recorded(store: &Store) -> String {
    let mut unreadable = Vec::new();
    let looked = store.listing(|_| true, &mut unreadable);
    let symbolic = store.symbolic_sessions().unwrap_or_default();
    match (looked, unreadable.len().saturating_sub(symbolic)) {
        (Ok(_), 0) => format!("no session is recorded here\n{}", nothing_here(store)),
        (Ok(_), count) => {
            let (are, their) = if count == 1 { ("session is", "its") } else { ("sessions are", "their") };
            let fetch = has_remote(store).then(|| format!("; `{RALPH} sync` fetches what the remote has"));
            let fetch = fetch.unwrap_or_default();
            format!(
                "{count} {are} recorded here, and {their} newest record cannot be read\nhint: `{RALPH} fsck` shows what is missing{fetch}"
            )
        }
        (Err(error), _) => format!("what is recorded here cannot be read: {error:#}"),
    }
}

/// Returns what to say where history is empty: a plain clone does not bring it.
fn nothing_here(store: &Store) -> String {
    if cleaned_refs(store.repository()).is_ok_and(|cleaned| !cleaned.is_empty()) {
        let fetch = has_remote(store)
            .then(|| format!("`{RALPH} sync --cleaned` fetches those that the remote has, "));
        format!(
            "hint: `clean` removed sessions: {}`{RALPH} sync --fetch-only --cleaned FILE` fetches those in a bundle of git",
            fetch.unwrap_or_default()
        )
    } else if has_remote(store) {
        format!(
            "hint: a clone does not include records: `{RALPH} sync` fetches them; `{RALPH}` \
         starts a session"
        )
    } else {
        format!(
            "hint: start one with `{RALPH}`, or read those of others with `{RALPH} sync --fetch-only ADDRESS`"
        )
    }
}

pub fn has_remote(store: &Store) -> bool {
    Remote::names(store.repository()).is_ok_and(|remotes| !remotes.is_empty())
}

/// Who runs now, in whichever work tree.
pub fn running(store: &Store) -> Result<Vec<Holder>> {
    LoopLock::holders(store.repository())
}

/// Returns the state of a session, or of its group as one, and what is known of it if it runs on another machine.
pub fn status(store: &Store, log: &SessionLog, running: &[Holder]) -> (Status, Option<RemoteRun>) {
    let (view, is_held) = (log.view(), held_by(running));
    let tip = view.deciding_record(&is_held).unwrap_or_else(|| log.tip());
    let is_running = is_held(&tip.session());
    let elsewhere = if is_running { None } else { store.elsewhere(&log.refs, &log.entries) };
    let status = if elsewhere.is_some() { Status::Running } else { status_of(tip, is_running) };
    (status, elsewhere)
}

/// Says whether one of these runs a session.
pub fn held_by(running: &[Holder]) -> impl Fn(&SessionId) -> bool {
    |id| running.iter().any(|holder| holder.session == *id)
}

/// Returns a session with those of its group, as one.
pub fn with_group(store: &Store, log: &SessionLog) -> Result<SessionLog> {
    let logs = group_of(store, log)?;
    let run = joined(&logs);
    Ok(logs.iter().find(|one| *one.id() == run.id).unwrap_or(log).of_run(&run))
}

/// Returns a session with what its log says of it by now: `session.json` is of its start if it has no end.
pub fn describe(store: &Store, log: &SessionLog, running: &[Holder]) -> Result<Session> {
    let view = log.view();
    let tip = view.deciding_record(held_by(running)).unwrap_or_else(|| log.tip());
    let totals = view.totals().clone();
    if tip.status().is_some()
        && status(store, log, running).0 != Status::Running
        && let Some(mut session) = store.readable_session(tip)
    {
        if !view.lanes.is_empty() {
            (session.id, session.started_at) = (log.id().clone(), view.started_at());
            session.ended_at = Some(view.last_at());
            TaskCounts { done: session.tasks_done, open: session.tasks_remaining } = view.tasks();
        }
        return Ok(Session { totals, ..session });
    }
    let begun = store.first_readable_session(log);
    let mut session = begun.with_context(|| format!("session {} has no readable start record", log.id()))?;
    session.set_totals(totals);
    session.stop_reason = tip.stop_reason();
    session.limit = tip.limit();
    session.ended_by = tip.ended_by();
    session.status = status(store, log, running).0;
    // A resumption may have another.
    session.sandbox =
        view.last_begin().and_then(|begin| store.readable_session(begin)).and_then(|begun| begun.sandbox);
    if let Some(last) = log.iterations().next_back() {
        TaskCounts { done: session.tasks_done, open: session.tasks_remaining } = last.tasks();
    }
    // A check says nothing of a success after it.
    let last = log.iterations().rfind(|entry| entry.is_result() || entry.outcome() == Some(Outcome::Checked));
    let check = last.filter(|entry| entry.outcome() == Some(Outcome::Checked));
    let check = check.and_then(|entry| store.readable_iteration(entry));
    session.clean = check.and_then(|record| record.check().cloned()).map(Box::new);
    Ok(session)
}
