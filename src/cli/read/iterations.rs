//! Iterations as commands name and find them.

use std::fmt;

use anyhow::{Error, Result, anyhow, bail};

use ralph_core::record::{
    IterationName, LeftOut, LogEntry, ObjectId, RALPH, SessionName, ShortNames, Timestamp, Which,
    did_you_mean,
};
use ralph_core::view::{SessionView, short_names};
use ralph_store::{FeatureFiles, SessionLog, Store, cleaned_refs};
use ralph_ui::style::one_line;

use crate::cli::SessionChoice;
use crate::cli::read::commits::{self, Commit, Moment};
use crate::cli::read::{sessions, task_attempts};

/// A moment of a session: after one of its iterations, or before the first of them.
#[derive(Debug, Clone)]
pub struct Point {
    pub log: SessionLog,
    /// The session with those of its group, as one.
    pub run: SessionView,
    /// What attempts of these are called.
    pub names: ShortNames,
    /// True if commands mean it, or its group, where no session is named.
    pub is_newest: bool,
    /// None is before the first.
    entry: Option<LogEntry>,
    /// Set for a snapshot that is neither of an iteration nor the first: of a resumption, or of a pause.
    between: Option<ObjectId>,
}

impl Point {
    fn new(store: &Store, log: SessionLog, entry: Option<LogEntry>) -> Result<Self> {
        let group = sessions::group_of(store, &log)?;
        Self::of_group(store, &group, log, entry)
    }

    /// The same where the sessions of its group are at hand.
    fn of_group(
        store: &Store,
        group: &[SessionLog],
        log: SessionLog,
        entry: Option<LogEntry>,
    ) -> Result<Self> {
        let views: Vec<SessionView> = group.iter().map(SessionLog::view).collect();
        let mut names = short_names(&views);
        let is_newest = store.newest_session()?.is_some_and(|newest| names.has(&newest));
        if names.is_of_group() && !is_newest {
            // Lanes are those of the newest group.
            names = ShortNames::default();
        }
        Ok(Self { log, run: sessions::joined(group), names, is_newest, entry, between: None })
    }

    /// Returns what commands call an iteration of the session, or of its group.
    pub fn name_of(&self, entry: &LogEntry) -> String {
        if self.is_newest {
            self.names.name(&entry.session(), entry.number())
        } else {
            entry.id().to_string()
        }
    }

    /// Returns the iterations of the session, and of its group, before this one, oldest first.
    pub fn before(&self) -> impl DoubleEndedIterator<Item = &LogEntry> {
        let place = self.place();
        self.run.iterations().take(place.unwrap_or_default()).collect::<Vec<_>>().into_iter()
    }

    /// Returns those after it.
    pub fn after(&self) -> impl Iterator<Item = &LogEntry> {
        let place = self.place();
        self.run.iterations().skip(place.map_or(0, |place| place + 1))
    }

    fn place(&self) -> Option<usize> {
        let own = self.entry.as_ref()?.commit();
        self.run.iterations().position(|entry| entry.commit() == own)
    }

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

    /// Another moment of the same session, or of its group.
    pub fn at(&self, entry: &LogEntry) -> Self {
        Self { entry: Some(entry.clone()), between: None, ..self.clone() }
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
        match self.entry.as_ref() {
            Some(entry) => write!(f, "iteration {} of session {}", entry.number(), entry.session()),
            None => write!(f, "the start of session {}", self.log.id()),
        }
    }
}

/// Returns the moment that a name means.
pub fn find(store: &Store, name: &IterationName, choice: &SessionChoice) -> Result<Point> {
    let choice = with_session(store, name, choice)?;
    let log = sessions::latest(store, &choice)?;
    // Where none is named, the newest has a meaning together with those of its group.
    let group = sessions::group_of(store, &log)?;
    let searched = if choice.session.is_some() { vec![log.clone()] } else { group.clone() };
    if let Which::Named(text) = &name.which {
        return find_named(store, name, text, &searched, &choice);
    }
    // Seven digits may be the id of a commit, too.
    if let Which::Number(number @ 1_000_000..) = name.which
        && name.session.is_none()
        && searched.iter().all(|log| log.iteration(number).is_none())
        && let Some(commit) = commits::parse(store, &number.to_string())?
    {
        return of_commit(store, &commit, &choice);
    }
    let entry = find_in(&searched, name)?;
    let own = searched.iter().find(|log| entry.as_ref().is_some_and(|entry| *log.id() == entry.session()));
    Point::of_group(store, &group, own.unwrap_or(&searched[0]).clone(), entry)
}

/// Returns the last attempt at a task, or the iteration that a commit belongs to.
fn find_named(
    store: &Store,
    name: &IterationName,
    text: &str,
    searched: &[SessionLog],
    choice: &SessionChoice,
) -> Result<Point> {
    let log = &searched[searched.len() - 1];
    let of_task = of_task(store, text, searched, choice)?;
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

/// Returns the last attempt at a task: of the sessions that are meant, or else of earlier ones of the same feature.
fn of_task(
    store: &Store,
    task: &str,
    searched: &[SessionLog],
    choice: &SessionChoice,
) -> Result<Option<Point>> {
    if let Some(point) = last_of(store, searched, task)? {
        return Ok(Some(point));
    }
    if choice.session.is_some() {
        return Ok(None);
    }
    for other in sessions::of_feature(store, searched[0].feature(), None)?.iter().rev() {
        if task_attempts::last_in(store, other, task)?.is_some() {
            return last_of(store, &sessions::group_of(store, other)?, task);
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
    Ok(Point { between, ..Point::new(store, log, entry)? })
}

/// Adds the session in the name to those in the flags: by its id, or by its lane in the newest group.
fn with_session(store: &Store, name: &IterationName, choice: &SessionChoice) -> Result<SessionChoice> {
    match (&name.session, &choice.session) {
        (Some(session), Some(flag)) if session != flag => {
            bail!("`{name}` names a session, and --session names {flag}\nhint: leave one of them out")
        }
        (Some(session), flag) => {
            let lane = session.lane().filter(|_| flag.is_none());
            let of_lane = lane.map(|lane| session_in_lane(store, lane, choice)).transpose()?.flatten();
            Ok(SessionChoice { session: Some(of_lane.unwrap_or_else(|| session.clone())), ..choice.clone() })
        }
        (None, _) => Ok(choice.clone()),
    }
}

/// Returns the session in a lane of the newest group; `None` if the newest session works alone.
fn session_in_lane(store: &Store, lane: u32, choice: &SessionChoice) -> Result<Option<SessionName>> {
    let group = sessions::group_of(store, &sessions::latest(store, choice)?)?;
    let names = short_names(&group.iter().map(SessionLog::view).collect::<Vec<_>>());
    match names.in_lane(lane) {
        Some(id) if names.is_of_group() => Ok(Some(id.clone().into())),
        None if names.is_of_group() => {
            let lanes: Vec<String> = names.lanes().iter().map(u32::to_string).collect();
            bail!(
                "no loop of the newest group is in lane {lane}\nhint: its lanes are {}; `{RALPH} log` lists all attempts",
                lanes.join(", ")
            )
        }
        _ => Ok(None),
    }
}

/// Returns the iteration with this number or place in sessions of a group, or in one; none for the moment before the first.
fn find_in(searched: &[SessionLog], name: &IterationName) -> Result<Option<LogEntry>> {
    let run = sessions::joined(searched);
    if name.which == Which::Start {
        return Ok(None);
    }
    let Some(last) = run.iterations().next_back() else {
        bail!("session {} has no iteration yet", run.id);
    };
    let found: Vec<&LogEntry> = match name.which {
        Which::Number(number) => run.iterations().filter(|entry| entry.number() == number).collect(),
        Which::Last { back } => run.iterations().rev().nth(back as usize).into_iter().collect(),
        Which::Start | Which::Named(_) => Vec::new(),
    };
    let views: Vec<SessionView> = searched.iter().map(SessionLog::view).collect();
    let names = short_names(&views);
    match found.as_slice() {
        [only] => Ok(Some((*only).clone())),
        [] if name.is_like_session() => bail!("{}", as_session(name)),
        [] => bail!(
            "session {} has no iteration {}, the last is {}\nhint: `{RALPH} log` lists all",
            run.id,
            IterationName { session: None, which: name.which.clone() },
            names.name(&last.session(), last.number())
        ),
        several => {
            let mut choices: Vec<String> =
                several.iter().map(|entry| names.name(&entry.session(), entry.number())).collect();
            choices.sort();
            bail!(
                "{} loops of the newest group have an iteration {name}\nhint: with the lane it is {}",
                several.len(),
                choices.join(", ")
            )
        }
    }
}

/// Returns the last attempt at a task in sessions of a group, or in one.
fn last_of(store: &Store, searched: &[SessionLog], task: &str) -> Result<Option<Point>> {
    let mut found = Vec::new();
    for log in searched {
        found.extend(task_attempts::last_in(store, log, task)?.map(|entry| (log, entry)));
    }
    // What was cut short counts only where nothing was judged.
    let last = found.into_iter().max_by_key(|(_, entry)| (entry.is_attempt(), entry.ended_at()));
    last.map(|(log, entry)| Point::new(store, log.clone(), Some(entry.clone()))).transpose()
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
