//! What goes when room is made: sessions and snapshots by rules, and what our dead processes left in the git
//! directory. A ref goes only from the value that was looked at; nothing of a session that runs is touched.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde::Serialize;

use ralph_core::record::{ObjectId, RecordKind, SessionId, Timestamp};
use ralph_core::view::{FeatureView, Queue, SessionView};
use ralph_os::process::Tool;

use super::leftovers::{self, Leftover, is_older};
use super::local::control::Control;
use super::local::kept_settings;
use super::local::last_written::last_of_all;
use super::local::scratch::Scratch;
use super::local::spool::Spool;
use super::refs::database::RefUpdate;
use super::refs::naming::{INCOMING_PREFIX, SNAPSHOT_PREFIX, SessionRefs};
use super::share::notes;
use super::share::sync_state::write_cleaned;
use super::{LoopLock, SessionLog, Store, cleaned_refs};

/// Refs with what restorations made, and with what earlier versions found in the place of refs of a running session.
pub(super) const ASIDE: [&str; 2] = ["refs/ralph-restore/", "refs/ralph-kept/"];

/// What is to go of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    Snapshots,
    /// Records, snapshots, notes.
    All,
}

/// Which sessions are to go: those that no rule keeps.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    pub extent: Extent,
    /// Keeps what is newer.
    pub keep_days: Option<u32>,
    /// Number of the newest sessions of each feature to keep.
    pub keep_last: Option<usize>,
    /// True if the sessions were named one by one.
    pub is_named: bool,
    pub now: Timestamp,
}

/// A session of which something goes.
#[derive(Debug, Clone, Serialize)]
pub struct Expired {
    pub session: SessionId,
    pub feature: String,
    pub iterations: usize,
    pub ended_at: Timestamp,
    #[serde(skip)]
    refs: Vec<(String, ObjectId)>,
    #[serde(skip)]
    extent: Option<Extent>,
}

/// A session that stays though no rule keeps it.
#[derive(Debug, Clone, Serialize)]
pub struct Retained {
    pub session: SessionId,
    pub reason: String,
}

/// What would go.
#[derive(Debug, Default, Serialize)]
pub struct CleanPlan {
    pub sessions: Vec<Expired>,
    pub staying: Vec<Retained>,
    /// Refs of restorations, of what we moved aside, and of what came in with a sync that was killed.
    pub restorations: Vec<String>,
    /// Files and folders of ours in the git directory that are not needed any more.
    pub leftovers: Vec<Leftover>,
    /// What git can free on its next collection, in bytes; `None` if git cannot say.
    pub bytes: Option<u64>,
    #[serde(skip)]
    aside: Vec<(String, ObjectId)>,
}

impl Store {
    /// Works out what goes of the sessions in `logs` by the rules. Changes nothing.
    pub fn plan_clean(&self, logs: &[SessionLog], rules: Rules) -> Result<CleanPlan> {
        let snapshots = self.refs_of_ours(SNAPSHOT_PREFIX)?;
        let mut plan = CleanPlan::default();
        let views: Vec<SessionView> = logs.iter().map(SessionLog::view).collect();
        let queue = Queue::of(&FeatureView::of(&views), |_| false).results;
        let queued: BTreeSet<SessionId> = queue.iter().map(|entry| entry.session()).collect();
        for log in unkept(logs, rules) {
            let mut refs = Vec::new();
            if let Some(tip) = snapshots.get(&log.refs.snapshot()) {
                refs.push((log.refs.snapshot(), tip.clone()));
            }
            if rules.extent == Extent::All {
                refs.push((log.refs.log(), log.tip().commit()));
            }
            if refs.is_empty() {
                continue;
            }
            let waits = (queued.contains(log.id()) && !rules.is_named)
                .then(|| "a result of it waits to be merged onto the branch of its lane".to_owned());
            match waits.map_or_else(|| self.why_it_stays(log, rules), |reason| Ok(Some(reason)))? {
                Some(reason) => plan.staying.push(Retained { session: log.id().clone(), reason }),
                None => plan.sessions.push(Expired {
                    session: log.id().clone(),
                    feature: log.feature().to_owned(),
                    iterations: log.iterations().count(),
                    ended_at: log.tip().ended_at(),
                    refs,
                    extent: Some(rules.extent),
                }),
            }
        }
        if let (Some(days), false) = (rules.keep_days, rules.is_named) {
            plan.aside = self.aside_older_than(days, rules.now)?;
            if self.is_nobody_syncing()? {
                plan.aside.extend(self.refs().below(INCOMING_PREFIX)?);
            }
            plan.restorations = plan.aside.iter().map(|(name, _)| name.clone()).collect();
            let recorded: Vec<_> = self.session_names()?.into_iter().map(|refs| refs.session).collect();
            plan.leftovers = leftovers::find(self.repository(), &recorded, days, rules.now)?;
        }
        let going: Vec<&(String, ObjectId)> =
            plan.sessions.iter().flat_map(|going| &going.refs).chain(&plan.aside).collect();
        plan.bytes = if going.is_empty() { Some(0) } else { self.freed_by(&going).ok() };
        Ok(plan)
    }

    /// Carries out a plan. What has changed since the plan was made stays, and is reported.
    pub fn clean(&self, plan: CleanPlan, at: Timestamp) -> Result<CleanPlan> {
        let mut done = CleanPlan { bytes: plan.bytes, staying: plan.staying, ..CleanPlan::default() };
        for going in plan.sessions {
            if self.is_running(&going.session)? {
                done.staying.push(Retained { session: going.session, reason: "it runs".to_owned() });
                continue;
            }
            match self.remove_session(&going, at) {
                Ok(()) => done.sessions.push(going),
                Err(error) => {
                    let reason = format!("it was changed meanwhile: {error:#}");
                    done.staying.push(Retained { session: going.session, reason });
                }
            }
        }
        let aside = plan.aside.into_iter().map(RefUpdate::deletion);
        let (gone, _) = self.refs().change_each(aside.collect());
        done.restorations = gone.into_iter().map(|change| change.name).collect();
        for leftover in plan.leftovers {
            leftovers::remove(&leftover.path)?;
            done.leftovers.push(leftover);
        }
        Scratch::sweep(self.repository())?;
        Ok(done)
    }

    fn remove_session(&self, going: &Expired, at: Timestamp) -> Result<()> {
        // First of all, so that no sync brings back what is half gone.
        let mut cleaned = cleaned_refs(self.repository())?;
        let before = cleaned.clone();
        cleaned.extend(going.refs.iter().map(|(name, _)| name.clone()));
        write_cleaned(self.repository(), &cleaned)?;
        if let Err(error) = self.refs().delete(&going.refs) {
            write_cleaned(self.repository(), &before)?;
            return Err(error);
        }
        if going.extent == Some(Extent::All) {
            notes::forget(self, &going.session, at)?;
            self.forget_listing()?;
            Control::of(self.repository(), &going.session).clear()?;
            kept_settings::remove(self.repository(), &going.session)?;
        }
        Ok(())
    }

    fn why_it_stays(&self, log: &SessionLog, rules: Rules) -> Result<Option<String>> {
        let id = log.id();
        if self.is_running(id)? {
            return Ok(Some("it runs".to_owned()));
        }
        if rules.extent == Extent::Snapshots {
            return Ok(None);
        }
        // Once forgotten here, what it records from now on would not come any more.
        if let (Some(elsewhere), false) = (self.elsewhere(&log.refs, &log.entries), rules.is_named) {
            return Ok(Some(format!("{elsewhere}; `--session {id}` removes it all the same")));
        }
        if Spool::of(self.repository(), id)?.is_some() {
            return Ok(Some(
                "it was cut off, and is not recorded to its end: the next start does that".into(),
            ));
        }
        let is_last = last_of_all(self.repository())?.contains(id);
        Ok((is_last && !rules.is_named).then(|| "progress.txt follows it".to_owned()))
    }

    /// Returns true if a loop works on a session at this moment.
    pub fn is_running(&self, session: &SessionId) -> Result<bool> {
        Ok(LoopLock::holders(self.repository())?.iter().any(|holder| holder.session == *session))
    }

    /// Returns the refs aside whose commits are older.
    fn aside_older_than(&self, days: u32, now: Timestamp) -> Result<Vec<(String, ObjectId)>> {
        let mut old = Vec::new();
        for prefix in ASIDE {
            for (name, tip) in self.refs().below(prefix)? {
                // What is there and cannot be read is not ours to judge.
                if self.committed_at(&tip).is_ok_and(|at| is_older(at, days, now)) {
                    old.push((name, tip));
                }
            }
        }
        Ok(old)
    }

    /// Bytes that nothing else leads to.
    fn freed_by(&self, going: &[&(String, ObjectId)]) -> Result<u64> {
        let leaving: BTreeSet<&ObjectId> = going.iter().map(|(_, tip)| tip).collect();
        let mut wanted: String = leaving.iter().map(|tip| format!("{tip}\n")).collect();
        for (name, tip) in self.refs().below("refs/")? {
            if !leaving.contains(&tip) && !going.iter().any(|(other, _)| *other == name) {
                wanted.push_str(&format!("^{tip}\n"));
            }
        }
        for head in self.refs().heads()? {
            wanted.push_str(&format!("^{head}\n"));
        }
        let git = Tool::git(&self.repository().common_dir);
        let listed = git.args(["rev-list", "--objects", "--disk-usage", "--stdin"]).stdin(wanted).line()?;
        listed.parse().context("read what git says of the size")
    }
}

/// Returns the sessions that no rule keeps, oldest first.
fn unkept(logs: &[SessionLog], rules: Rules) -> Vec<&SessionLog> {
    let mut newer: BTreeMap<&str, usize> = BTreeMap::new();
    let mut going = Vec::new();
    for log in logs.iter().rev() {
        let newer = newer.entry(log.feature()).or_default();
        let is_recent = rules.keep_days.is_some_and(|days| !is_older(log.tip().ended_at(), days, rules.now));
        let is_among_last = rules.keep_last.is_some_and(|last| *newer < last);
        *newer += 1;
        // Of what has no end here the age is not known.
        let is_known = log.is_whole() || log.tip().kind() == RecordKind::End;
        if rules.is_named || (is_known && !is_recent && !is_among_last) {
            going.push(log);
        }
    }
    going.reverse();
    going
}

/// Returns true if a ref is of the session, by its name alone.
pub(super) fn is_of(name: &str, session: &SessionId) -> bool {
    SessionRefs::from_name(name).is_some_and(|refs| refs.session == *session)
}
