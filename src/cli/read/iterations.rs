//! Iterations as commands name and find them.

use std::fmt;

use anyhow::{Error, Result, anyhow, bail};

use ralph_core::record::{IterationName, LeftOut, LogEntry, ObjectId, RALPH, Timestamp, Which, did_you_mean};
use ralph_store::{FeatureFiles, SessionLog, Store, cleaned_refs};
use ralph_ui::style::one_line;

use crate::cli::SessionChoice;
use crate::cli::read::commits::{self, Commit, Moment};
use crate::cli::read::{sessions, task_attempts};

/// A moment of a session: after one of its iterations, or before the first of them.
#[derive(Debug, Clone)]
pub struct Point {
    pub log: SessionLog,
    /// None is before the first.
    entry: Option<LogEntry>,
    /// Set for a snapshot that is neither of an iteration nor the first: of a resumption, or of a pause.
    between: Option<ObjectId>,
}

impl Point {
    /// Returns the iteration itself, for commands that have no use for the moment before the first.
    pub fn iteration(&self) -> Result<&LogEntry> {
        match &self.entry {
            Some(entry) => Ok(entry),
            None => bail!(
                "iteration 0 is the state before the first one and has no record\nhint: iterations count from 1"
            ),
        }
    }

    /// Returns the number of the iteration; 0 before the first.
    pub fn number(&self) -> u32 {
        self.entry.as_ref().and_then(LogEntry::iteration).unwrap_or_default()
    }

    /// Returns the snapshot of this moment, which is here.
    pub fn snapshot(&self, store: &Store) -> Result<ObjectId> {
        let snapshot = match (&self.between, &self.entry) {
            (Some(snapshot), _) => Some(snapshot.clone()),
            (None, Some(entry)) => entry.snapshot(),
            (None, None) => store.first_snapshot(&self.log)?,
        };
        match snapshot {
            Some(id) if store.has(&id)? => Ok(id),
            None if self.entry.is_some() => {
                bail!(
                    "{self} has no snapshot\nhint: with `snapshots = true` (the default) a loop keeps one of each iteration"
                )
            }
            Some(_) | None => bail!("the snapshot of {self} is not here{}", self.how_to_fetch(store)),
        }
    }

    /// Returns when the iteration ended.
    pub fn ended_at(&self) -> Option<Timestamp> {
        self.entry.as_ref().map(LogEntry::ended_at)
    }

    /// Returns what the snapshot of an iteration lacks; of another moment this is not recorded.
    pub fn left_out(&self, store: &Store) -> Result<Vec<LeftOut>> {
        match (&self.between, &self.entry) {
            (None, Some(entry)) => Ok(store.iteration(entry)?.left_out),
            _ => Ok(Vec::new()),
        }
    }

    /// Returns the snapshot of the moment before this iteration.
    pub fn snapshot_before(&self, store: &Store) -> Result<ObjectId> {
        let snapshot = self.snapshot(store)?;
        match store.snapshot_before(&snapshot)? {
            Some(before) => Ok(before),
            None => bail!("there is no snapshot from before {self}{}", self.how_to_fetch(store)),
        }
    }

    /// Another moment of the same session.
    pub fn at(&self, which: Which) -> Result<Self> {
        let entry = find_in(&self.log, &IterationName { session: None, which })?.cloned();
        Ok(Self { log: self.log.clone(), entry, between: None })
    }

    /// Returns the two files of the feature that the loop itself writes.
    pub fn files(&self, store: &Store) -> FeatureFiles {
        store.files_of(&self.log)
    }

    fn how_to_fetch(&self, store: &Store) -> String {
        let name = self.log.refs.snapshot();
        let is_cleaned = cleaned_refs(store.repository()).is_ok_and(|cleaned| cleaned.contains(&name));
        let way = match (is_cleaned, sessions::has_remote(store)) {
            (false, true) => {
                format!("`{RALPH} sync --snapshots` fetches it, if it was pushed with --snapshots")
            }
            (true, true) => {
                format!(
                    "`clean` removed it; `{RALPH} sync --snapshots --cleaned` fetches it, if the remote has it"
                )
            }
            (_, false) => {
                format!(
                    "where it was recorded, `git bundle create FILE --glob='refs/ralph*'` writes it to a file for `{RALPH} sync --fetch-only --snapshots FILE`"
                )
            }
        };
        format!("\nhint: {way}")
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(snapshot) = &self.between {
            return write!(f, "snapshot {} of session {}", snapshot.short(), self.log.id());
        }
        match self.entry.as_ref().and_then(LogEntry::iteration) {
            Some(number) => write!(f, "iteration {number} of session {}", self.log.id()),
            None => write!(f, "the start of session {}", self.log.id()),
        }
    }
}

/// Returns the moment that a name means.
pub fn find(store: &Store, name: &IterationName, choice: &SessionChoice) -> Result<Point> {
    let choice = with_session(name, choice)?;
    let log = sessions::latest(store, &choice)?;
    if let Which::Named(text) = &name.which {
        return find_named(store, name, text, &log, &choice);
    }
    // Seven digits may be the id of a commit, too.
    if let Which::Number(number @ 1_000_000..) = name.which
        && name.session.is_none()
        && log.iteration(number).is_none()
        && let Some(commit) = commits::parse(store, &number.to_string())?
    {
        return of_commit(store, &commit, &choice);
    }
    Ok(Point { entry: find_in(&log, name)?.cloned(), log, between: None })
}

/// Returns the last attempt at a task, or the iteration that a commit belongs to.
fn find_named(
    store: &Store,
    name: &IterationName,
    text: &str,
    log: &SessionLog,
    choice: &SessionChoice,
) -> Result<Point> {
    let of_task = of_task(store, text, log, choice)?;
    // Git is asked only where that can change the answer.
    if let Some(point) = &of_task
        && (name.session.is_some() || !commits::is_like_id(text))
    {
        return Ok(point.clone());
    } else if name.session.is_some() {
        return Err(unknown(store, log, name, text, choice)?);
    }
    match (of_task, commits::parse(store, text)?) {
        (Some(point), None) => Ok(point),
        (None, Some(commit)) => of_commit(store, &commit, choice),
        (None, None) => Err(unknown(store, log, name, text, choice)?),
        (Some(point), Some(commit)) => {
            bail!(
                "`{text}` is a task and names commit {commit}\nhint: {}:{} is the last iteration on the task; the whole id names the commit",
                point.log.id(),
                point.number()
            )
        }
    }
}

/// Returns the last attempt at a task: of the session that is meant, or else of an earlier one of the same feature.
fn of_task(store: &Store, task: &str, log: &SessionLog, choice: &SessionChoice) -> Result<Option<Point>> {
    if let Some(point) = last_of(store, log, task)? {
        return Ok(Some(point));
    }
    if choice.session.is_some() {
        return Ok(None);
    }
    for other in sessions::of_feature(store, log.feature(), None)?.iter().rev() {
        if let Some(point) = last_of(store, other, task)? {
            return Ok(Some(point));
        }
    }
    Ok(None)
}

/// Returns the moment that a commit belongs to, which must be of the session and the feature that the flags name.
fn of_commit(store: &Store, commit: &Commit, choice: &SessionChoice) -> Result<Point> {
    let (refs, moment) = commits::owner(store, commit)?;
    let Some(log) = sessions::one(store, &refs)? else {
        bail!("commit {commit} is of session {}, which is not here", refs.session);
    };
    if !choice.settle(store)?.is_for(log.id(), log.feature()) {
        bail!(
            "commit {commit} is of session {} of {}\nhint: omit --session and --feature",
            log.id(),
            one_line(log.feature())
        );
    }
    let is_between = moment == Moment::Start && store.first_snapshot(&log)?.as_ref() != Some(commit.id());
    let between = is_between.then(|| commit.id().clone());
    let entry = match moment {
        Moment::Start => None,
        Moment::Iteration(number) => log.iteration(number).cloned(),
        // After an `end` or a `resume` things are as they were after the iteration before it.
        Moment::Record(id) => {
            let place = log.entries.iter().position(|entry| entry.commit() == id).unwrap_or_default();
            log.entries[..=place].iter().rfind(|entry| entry.iteration().is_some()).cloned()
        }
    };
    Ok(Point { log, entry, between })
}

/// Adds the session in the name to those in the flags.
fn with_session(name: &IterationName, choice: &SessionChoice) -> Result<SessionChoice> {
    match (&name.session, &choice.session) {
        (Some(session), Some(flag)) if session != flag => {
            bail!("`{name}` names a session, and --session names {flag}\nhint: leave one of them out")
        }
        (Some(session), _) => Ok(SessionChoice { session: Some(session.clone()), ..choice.clone() }),
        (None, _) => Ok(choice.clone()),
    }
}

/// Returns the iteration with this number or place; none for the moment before the first.
fn find_in<'a>(log: &'a SessionLog, name: &IterationName) -> Result<Option<&'a LogEntry>> {
    if name.which == Which::Start {
        return Ok(None);
    }
    let Some(last) = log.iterations().next_back() else {
        bail!("session {} has no iteration yet", log.id());
    };
    let found = match name.which {
        Which::Number(number) => log.iteration(number),
        Which::Last { back } => log.iterations().rev().nth(back as usize),
        Which::Start | Which::Named(_) => None,
    };
    match found {
        Some(entry) => Ok(Some(entry)),
        None if name.is_like_session() => bail!("{}", as_session(name)),
        None => bail!(
            "session {} has no iteration {}, the last is {}\nhint: `{RALPH} log` lists all",
            log.id(),
            IterationName { session: None, which: name.which.clone() },
            last.number()
        ),
    }
}

fn last_of(store: &Store, log: &SessionLog, task: &str) -> Result<Option<Point>> {
    let entry = task_attempts::last_in(store, log, task)?.cloned();
    Ok(entry.map(|entry| Point { log: log.clone(), entry: Some(entry), between: None }))
}

fn as_session(name: &IterationName) -> String {
    format!(
        "`{name}` is not an iteration\nhint: the last iteration of a session is `{name}:@`, its fifth is `{name}:5`"
    )
}

fn unknown(
    store: &Store,
    log: &SessionLog,
    name: &IterationName,
    task: &str,
    choice: &SessionChoice,
) -> Result<Error> {
    if name.is_like_session() {
        return Ok(anyhow!("{}", as_session(name)));
    }
    if choice.session.is_none()
        && let Some(why) = task_attempts::why_not_tried(store, log.feature(), task)?
    {
        return Ok(why);
    }
    let known = log.iterations().filter_map(LogEntry::task);
    let hint = match did_you_mean(task, known) {
        Some(near) => format!("did you mean {}?", one_line(near)),
        None => {
            "an iteration is a number, `@`, `@~2`, a task like T004, SESSION: and one of these, or a commit"
                .to_owned()
        }
    };
    let scope = match &choice.session {
        Some(_) => format!("session {}", log.id()),
        None => one_line(log.feature()),
    };
    let kinds = if name.session.is_none() { "task, attempt or commit" } else { "task or attempt" };
    let task = one_line(task);
    Ok(anyhow!("no such {kinds} in {scope}: `{task}`\nhint: {hint}"))
}
