//! Iterations as commands name and find them.

use std::fmt;

use anyhow::{Result, bail};
use camino::Utf8Path;

use crate::record::{IterationName, LogEntry, ObjectId, RALPH, Which, did_you_mean};
use crate::store::{SessionLog, Store};
use crate::view::style::one_line;

use super::sessions::{self, Choice};

/// A moment of a session: after one of its iterations, or before the first of them.
#[derive(Debug, Clone)]
pub struct Point {
    pub log: SessionLog,
    /// None is before the first.
    entry: Option<LogEntry>,
}

/// Paths from the top of the work tree.
#[derive(Debug, Clone)]
pub struct FeatureFiles {
    pub tasks: String,
    pub progress: String,
}

impl Point {
    /// The iteration itself, for commands that have no use for the moment before the first.
    pub fn iteration(&self) -> Result<&LogEntry> {
        match &self.entry {
            Some(entry) => Ok(entry),
            None => bail!(
                "0 is the moment before the first iteration, there is nothing to show of it\nhint: iterations count from 1"
            ),
        }
    }

    /// The snapshot of this moment, which is here.
    pub fn snapshot(&self, store: &Store) -> Result<ObjectId> {
        let snapshot = match &self.entry {
            Some(entry) => entry.snapshot.clone(),
            None => store.first_snapshot(&self.log)?,
        };
        self.present(store, snapshot)
    }

    /// The snapshot of the moment before this iteration.
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
        Ok(Self { log: self.log.clone(), entry })
    }

    /// The two files of the feature that the loop itself writes.
    pub fn files(&self, store: &Store) -> FeatureFiles {
        files(store, &self.log)
    }

    fn present(&self, store: &Store, snapshot: Option<ObjectId>) -> Result<ObjectId> {
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

    fn how_to_fetch(&self, store: &Store) -> String {
        let name = self.log.refs.snapshot();
        let is_cleaned = store.forgotten().is_ok_and(|forgotten| forgotten.contains(&name));
        let has_remote = store.remotes().is_ok_and(|remotes| !remotes.is_empty());
        let way = match (is_cleaned, has_remote) {
            (false, true) => {
                format!("`{RALPH} sync --snapshots` fetches it, once it was pushed in the same way")
            }
            (true, true) => {
                format!(
                    "`clean` took it away; `{RALPH} sync --snapshots --cleaned` fetches it, if the remote has it"
                )
            }
            (_, false) => {
                format!(
                    "where it was recorded, `{RALPH} bundle FILE --snapshots` writes it to a file for `{RALPH} unbundle FILE`"
                )
            }
        };
        format!("\nhint: {way}")
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.entry.as_ref().and_then(|entry| entry.iteration) {
            Some(number) => write!(f, "iteration {number} of session {}", self.log.id()),
            None => write!(f, "the start of session {}", self.log.id()),
        }
    }
}

/// The two files of a session's feature that the loop itself writes.
pub fn files(store: &Store, log: &SessionLog) -> FeatureFiles {
    let feature = log.feature();
    let artifact = log.entries.first().and_then(|start| store.session_json(start).ok());
    // A feature is a folder, or a task list that `--tasks` named.
    let is_file = artifact.is_some_and(|session| session.artifact.path == feature);
    let feature = Utf8Path::new(feature);
    let folder = if is_file { feature.parent().unwrap_or(Utf8Path::new("")) } else { feature };
    FeatureFiles {
        tasks: if is_file { feature.to_string() } else { folder.join("tasks.md").into_string() },
        progress: folder.join("progress.txt").into_string(),
    }
}

/// The moment that a name means.
pub fn find(store: &Store, name: &IterationName, choice: &Choice) -> Result<Point> {
    let choice = with_session(name, choice)?;
    let log = sessions::latest(store, &choice)?;
    let Which::Task(task) = &name.which else {
        let entry = find_in(&log, name)?.cloned();
        return Ok(Point { log, entry });
    };
    if let Some(point) = last_of(&log, task) {
        return Ok(point);
    }
    let feature = log.feature().to_owned();
    if choice.session.is_none() {
        // An earlier session may have worked on it.
        let logs = sessions::chosen(store, &Choice { session: None, feature: Some(feature.clone()) })?;
        let mut same = logs.iter().rev().filter(|other| other.feature() == feature);
        if let Some(point) = same.find_map(|other| last_of(other, task)) {
            return Ok(point);
        }
    }
    bail!("{}", unknown_task(&log, name, task, &choice));
}

/// Adds the session in the name to those in the flags.
fn with_session(name: &IterationName, choice: &Choice) -> Result<Choice> {
    match (&name.session, &choice.session) {
        (Some(session), Some(flag)) if session != flag => {
            bail!(
                "`{name}` names a session of its own, and --session names {flag}\nhint: leave one of them out"
            )
        }
        (Some(session), _) => Ok(Choice { session: Some(session.clone()), ..choice.clone() }),
        (None, _) => Ok(choice.clone()),
    }
}

/// The iteration with this number or place; none for the moment before the first.
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
        Which::Start | Which::Task(_) => None,
    };
    match found {
        Some(entry) => Ok(Some(entry)),
        None if name.is_like_session() => bail!("{}", as_session(name)),
        None => bail!(
            "session {} has no iteration {}, the last is {}\nhint: `{RALPH} log` lists all",
            log.id(),
            IterationName { session: None, which: name.which.clone() },
            last.iteration.unwrap_or_default()
        ),
    }
}

fn last_of(log: &SessionLog, task: &str) -> Option<Point> {
    let last = |is_it: &dyn Fn(&str) -> bool| {
        log.iterations().rev().find(|entry| entry.task.as_deref().is_some_and(is_it))
    };
    let entry = last(&|name| name == task).or_else(|| last(&|name| name.eq_ignore_ascii_case(task)))?.clone();
    Some(Point { log: log.clone(), entry: Some(entry) })
}

fn as_session(name: &IterationName) -> String {
    format!(
        "`{name}` is no iteration\nhint: the last iteration of a session is `{name}:@`, its fifth is `{name}:5`"
    )
}

fn unknown_task(log: &SessionLog, name: &IterationName, task: &str, choice: &Choice) -> String {
    if name.is_like_session() {
        return as_session(name);
    }
    let known = log.iterations().filter_map(|entry| entry.task.as_deref());
    let hint = match did_you_mean(task, known) {
        Some(near) => format!("did you mean {}?", one_line(near)),
        None => {
            "an iteration is a number, `@`, `@~2`, a task like T004, or SESSION: and one of these".to_owned()
        }
    };
    let scope = match &choice.session {
        Some(_) => format!("session {}", log.id()),
        None => one_line(log.feature()),
    };
    format!("no iteration of {scope} worked on a task `{}`\nhint: {hint}", one_line(task))
}
