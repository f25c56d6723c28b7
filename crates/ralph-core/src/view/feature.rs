//! A feature over all of its sessions.

use std::collections::BTreeSet;

use tasklist::TaskList;

use crate::record::{
    AttemptId, GoneHow, GoneWork, Hint, LogEntry, Need, NeedKind, QueuedTask, RALPH, Remains, SessionId,
    SessionPart, Summary, lost_files, restore_command,
};

use super::group::{by_time, short_names};
use super::states::TaskRecords;
use super::{Queue, SessionView};
use super::{causes, flags, gone};

/// The sessions of a feature, and their iterations in the order in which they ended.
#[derive(Debug)]
pub struct FeatureView<'a> {
    pub sessions: &'a [SessionView],
    /// Sessions may overlap. Each keeps its own order, whatever its clock did.
    pub iterations: Vec<(&'a SessionId, &'a LogEntry)>,
}

impl<'a> FeatureView<'a> {
    /// Merges the iterations of sessions by the time they ended. `sessions` are in the order of their ids.
    pub fn of(sessions: &'a [SessionView]) -> Self {
        Self { sessions, iterations: by_time(sessions.iter(), LogEntry::is_iteration) }
    }

    /// Counts its records against the present task list, the `hints` that wait for a prompt, and what the newest attempt left
    /// behind. `shown` is the session that is looked at, or its group as one.
    pub fn summary(
        &self,
        feature: &str,
        list: &TaskList,
        hints: &[Hint],
        remains: Option<&Remains>,
        shown: Option<&SessionView>,
    ) -> Summary {
        let mut summary =
            Summary { feature: feature.to_owned(), sessions: self.sessions.len(), ..Summary::default() };
        for session in self.sessions {
            summary.totals.add(session.totals());
        }
        let firsts =
            self.sessions.iter().map(|one| one.group().map_or_else(|| one.id.clone(), |(first, _)| first));
        summary.starts = firsts.collect::<BTreeSet<_>>().len();
        summary.session = shown.map(|shown| {
            let mut totals = shown.totals().clone();
            totals.settle(list);
            let names = short_names(self.sessions.iter().filter(|session| session.is_beside(shown)));
            SessionPart { id: shown.id.clone(), names, totals }
        });
        summary.totals.cut_short.sort_by_key(|cut| cut.ended_at);
        summary.totals.settle(list);
        let records = TaskRecords::of(self, list, hints);
        (summary.tasks, summary.waiting) = records.states(list);
        summary.needs_you = records.needs(list);
        summary.needs_you.extend(self.fault());
        summary.needs_you.extend(remains.into_iter().flat_map(left_behind));
        let work_gone = self.work_gone(list);
        // A loop that runs may open its box, or take back what took it.
        let has_ended = self.newest_run().is_some_and(|newest| newest.has_ended());
        let is_need = |work: &GoneWork| work.how == GoneHow::Attempt && has_ended;
        summary.needs_you.extend(work_gone.iter().filter(|work| is_need(work)).map(gone::need));
        summary.needs_you.sort_by_key(|need| need.why.rank());
        summary.queued = self.queued(list);
        summary.answered = records.answered(list);
        summary.tried_since = records.tried_since();
        // Nothing graver is flagged.
        summary.flagged = work_gone.iter().filter(|work| !is_need(work)).map(gone::flag).collect();
        let flagged = flags::flagged(self, list).into_iter();
        summary.flagged.extend(flagged.filter(|task| !flags::is_said(task, &work_gone)));
        summary.work_gone = work_gone;
        (summary.causes, summary.solved_attempts) = causes::of(self);
        summary
    }

    /// Returns the tasks whose results wait, in the order in which they are to be merged; none that is done in the list.
    pub fn queued(&self, list: &TaskList) -> Vec<QueuedTask> {
        let results = Queue::of(self, |_| false).results.into_iter();
        let queued = results.filter_map(|entry| {
            let item = list.find(entry.task()?).filter(|item| !item.done)?;
            Some(QueuedTask { task: item.name.clone(), session: entry.session(), iteration: entry.number() })
        });
        queued.collect()
    }

    /// Returns the failed attempts whose tasks were done later, in order.
    pub fn solved_attempts(&self) -> Vec<AttemptId> {
        causes::of(self).1
    }

    /// Returns the session that has the newest record.
    pub fn newest(&self) -> Option<&'a SessionView> {
        self.sessions.iter().max_by_key(|session| session.last_at())
    }

    /// Returns the same with those of its group, as one.
    fn newest_run(&self) -> Option<SessionView> {
        let newest = self.newest()?;
        let run: Vec<_> = self.sessions.iter().filter(|session| session.is_beside(newest)).collect();
        Some(SessionView::joined(&run))
    }

    /// Returns what keeps every agent from working, if that ended the newest session, or its group.
    fn fault(&self) -> Option<Need> {
        let newest = self.newest_run().filter(SessionView::has_ended)?;
        let end = newest.deciding_record(|_| false)?;
        let why = NeedKind::of_ending(end.stop_reason()?)?;
        let last = newest.iterations().rfind(|entry| entry.session() == end.session());
        Some(Need {
            why,
            task: None,
            cause: last.and_then(|last| last.cause().map(str::to_owned)),
            session: end.session(),
            iteration: last.map(LogEntry::number),
        })
    }
}

/// Returns what the newest attempt left behind and only a person can settle.
pub fn left_behind(remains: &Remains) -> Vec<Need> {
    let Remains { session, iteration, git_state, user_files } = remains;
    let states = git_state.iter().filter(|state| state.needs_you()).map(|state| {
        let hint = state.hint().map_or(String::new(), |hint| format!(": {hint}"));
        (NeedKind::Git, format!("{}{hint}", state.text), state.since)
    });
    let lost = lost_files(user_files).map(|lost| {
        let command = restore_command(RALPH, user_files, Some(session));
        let command = command.map_or(String::new(), |command| format!("; {command}"));
        (NeedKind::Files, format!("{lost}{command}"), *iteration)
    });
    let needs = states.chain(lost).map(|(why, cause, iteration)| Need {
        why,
        task: None,
        cause: Some(cause),
        session: session.clone(),
        iteration: Some(iteration),
    });
    needs.collect()
}
