//! Where a session stands, without reading all of its history.
//!
//! The totals of the newest session of each feature are kept in `<common git dir>/ralph/cache/totals` with the commit
//! that they were counted up to; only later records are read. Everything in it can be counted again.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};

use crate::record::{Cost, LogEntry, ObjectId, RecordKind, SCHEMA, TaskName, Timestamp};

use super::chain::ChainWalk;
use super::session_log::SessionLog;
use crate::store::local::{disk, folders};
use crate::store::refs::naming::LOG_PREFIX;
use crate::store::share::elsewhere::RemoteRun;
use crate::store::{SessionRefs, Store};

/// Changes with what is counted, and how.
const FORMAT: u32 = 3;

/// Number of records up to which reading them is as fast as writing the totals.
const MIN_RECORDS_TO_KEEP: usize = 32;

/// Features whose newest session is kept.
const MAX_FEATURES: usize = 64;

/// Where a session stands.
#[derive(Debug)]
pub struct Overview {
    pub refs: SessionRefs,
    pub tip: LogEntry,
    pub totals: Totals,
}

/// What is counted over the records of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// The newest record that is counted.
    tip: ObjectId,
    /// Of the oldest record that is here.
    pub started_at: Timestamp,
    /// The record by which the session was begun, or last resumed.
    begin: Option<ObjectId>,
    /// The task of the newest iteration.
    pub task: Option<TaskName>,
    #[serde(flatten)]
    pub cost: Cost,
}

impl Totals {
    fn of(first: &LogEntry) -> Self {
        Self {
            tip: first.commit.clone(),
            started_at: first.started_at,
            begin: None,
            task: None,
            cost: Cost::default(),
        }
    }

    fn add(&mut self, entry: &LogEntry) {
        self.tip = entry.commit.clone();
        if entry.kind.begins() {
            self.begin = Some(entry.commit.clone());
        }
        if entry.kind != RecordKind::Iteration {
            return;
        }
        self.task.clone_from(&entry.task);
        self.cost = self.cost.plus(entry.cost());
    }
}

impl Overview {
    /// Where a session stands by all of its records.
    pub fn of(log: &SessionLog) -> Self {
        let mut totals = Totals::of(&log.entries[0]);
        log.entries.iter().for_each(|entry| totals.add(entry));
        Self { refs: log.refs.clone(), tip: log.tip().clone(), totals }
    }
}

/// The totals that were kept, by the names of the logs.
#[derive(Debug, Serialize, Deserialize)]
struct CachedTotals {
    format: u32,
    schema: u32,
    /// The commits where a shallow clone ends.
    ends: BTreeSet<String>,
    sessions: BTreeMap<String, Totals>,
}

impl CachedTotals {
    fn is_for(&self, ends: &BTreeSet<String>) -> bool {
        (self.format, self.schema, &self.ends) == (FORMAT, SCHEMA, ends)
    }
}

impl Store {
    /// Returns the newest session of a feature by its path; `None` if there is none, or if anything about it is odd.
    pub fn newest_overview(&self, feature: &str) -> Result<Option<Overview>> {
        let names = self.refs().names(LOG_PREFIX)?;
        let names = names.iter().filter_map(|name| SessionRefs::from_log(name));
        match names.filter(|refs| refs.is_of(feature)).max() {
            Some(refs) => Ok(self.overview(&refs)?.filter(|overview| overview.tip.feature == feature)),
            None => Ok(None),
        }
    }

    /// Returns where one session stands; `None` if it is not here, or if anything about it is odd.
    pub fn overview(&self, refs: &SessionRefs) -> Result<Option<Overview>> {
        match self.refs().tip(&refs.log())? {
            // Reading all of the session reports what is wrong with it.
            Some(tip) => Ok(self.overview_at(refs, &tip).ok().flatten()),
            None => Ok(None),
        }
    }

    /// Returns what is known of the session if it runs on another machine.
    pub fn elsewhere_in(&self, overview: &Overview) -> Option<RemoteRun> {
        let Overview { refs, tip, totals } = overview;
        if tip.kind == RecordKind::End {
            return None;
        }
        let reader = self.reader().ok()?;
        let begin = reader.chain(refs).record(totals.begin.as_ref()?).ok()??;
        self.elsewhere_since(refs, &begin, tip)
    }

    fn overview_at(&self, refs: &SessionRefs, tip: &ObjectId) -> Result<Option<Overview>> {
        let reader = self.reader()?;
        let mut chain = reader.chain(refs);
        let Some(newest) = chain.record(tip)? else { return Ok(None) };
        let ends_in_hex: BTreeSet<String> = reader.ends.iter().map(|id| id.to_hex().to_string()).collect();
        let mut kept = self.kept_totals(&ends_in_hex);
        let known = kept.sessions.get(&refs.log()).cloned();
        if let Some(totals) = known.clone().filter(|totals| totals.tip == *tip) {
            return Ok(Some(Overview { refs: refs.clone(), tip: newest, totals }));
        }
        chain.known = known.as_ref().map(|totals| &totals.tip);
        let ChainWalk { entries, is_joined, gap } = chain.read(tip)?;
        let Some(first) = entries.first() else { return Ok(None) };
        if gap.is_some() || !is_joined && first.kind != RecordKind::Start {
            return Ok(None);
        }
        let mut totals = known.filter(|_| is_joined).unwrap_or_else(|| Totals::of(first));
        for entry in &entries {
            totals.add(entry);
        }
        if entries.len() >= MIN_RECORDS_TO_KEEP {
            kept.sessions.retain(|name, _| {
                SessionRefs::from_log(name).is_some_and(|other| !other.is_of(&newest.feature))
            });
            if kept.sessions.len() < MAX_FEATURES {
                kept.sessions.insert(refs.log(), totals.clone());
            }
            // Totals that cannot be kept cost time, and nothing else.
            let _unwritten =
                folders::write_cache(self.repository(), &self.totals_file(), &serde_json::to_vec(&kept)?)
                    .is_err();
        }
        Ok(Some(Overview { refs: refs.clone(), tip: newest, totals }))
    }

    fn kept_totals(&self, ends: &BTreeSet<String>) -> CachedTotals {
        let bytes = disk::read_if_there(&self.totals_file()).ok().flatten();
        let kept = bytes.and_then(|bytes| serde_json::from_slice::<CachedTotals>(&bytes).ok());
        kept.filter(|kept| kept.is_for(ends)).unwrap_or_else(|| CachedTotals {
            format: FORMAT,
            schema: SCHEMA,
            ends: ends.clone(),
            sessions: BTreeMap::new(),
        })
    }

    pub(super) fn totals_file(&self) -> Utf8PathBuf {
        self.repository().ralph_dir().join("cache/totals")
    }
}
