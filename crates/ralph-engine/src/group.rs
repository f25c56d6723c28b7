//! Loops that work on one branch at once: what the others have in hand, what they recorded, and when to look again.

use std::collections::HashSet;
use std::fs::File;
use std::sync::mpsc::{RecvTimeoutError, TryRecvError};
use std::time::Duration;

use anyhow::Result;
use tasklist::TaskList;

use ralph_core::record::{Event, LogEntry, Outcome, RecordKind, Task, TaskName};
use ralph_core::view::{FeatureView, SessionView};
use ralph_store::{Claim, SILENCE, Spool, try_to_integrate, wait_to_pick};

use super::decide::question;
use super::others::Others;
use super::running::Running;
use super::shown::warn;

/// Longest time between two looks while there is nothing to do but what others have in hand.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// Time between two looks at requests to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Times in a row that a task is sent back after which nobody else moves the branch during its next attempt.
const MAX_LOST_RACES: u32 = 2;

/// Whether a task can be picked now.
pub(super) enum Look {
    /// No other loop picks until this is dropped. `None` without a group.
    Pick(Option<File>),
    /// The branch moved: everything is to be looked at again.
    Again,
}

/// Whether a session that ended is the last one of its group.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum GroupEnd {
    /// It worked alone.
    Alone,
    OthersGoOn,
    Last,
}

impl Running<'_> {
    /// Takes the moment in which this loop alone picks, and finds out what the others have in hand and have done.
    pub(super) fn look_at_others(&mut self) -> Result<Look> {
        let (Some(group), Some(lane)) = (&self.inputs.group, self.inputs.work_tree.lane()) else {
            return Ok(Look::Pick(None));
        };
        while match group.wakes.try_recv() {
            Ok(()) => true,
            Err(TryRecvError::Empty) => false,
            Err(TryRecvError::Disconnected) => {
                self.others.is_over = true;
                false
            }
        } {}
        let store = self.inputs.store;
        let is_to_stop = || self.inputs.interrupt.signal().is_some();
        let mut name = |words| warn(self.say, words);
        let moment = wait_to_pick(store.repository(), &lane.branch, SILENCE, &mut name, is_to_stop)?;
        let Some(moment) = moment else { return Ok(Look::Again) };
        // Before the records: a claim goes after its attempt is recorded.
        let branch = self.session.branch.as_deref().unwrap_or_default();
        self.others.claims = Spool::claims(store.repository(), branch, &self.session.id)?;
        let tip = store.refs().tip(&lane.reference())?;
        let Some(tip) = tip.filter(|tip| self.inputs.work_tree.head().ok().flatten().as_ref() == Some(tip))
        else {
            return Ok(Look::Again);
        };
        let sessions = self.take_in_records()?;
        let queue = self.queue_of(&FeatureView::of(&sessions), &tip)?;
        self.state.queued =
            queue.results.iter().flat_map(|entry| entry.closed()).map(str::to_owned).collect();
        self.others.lost_races = queue.often_sent_back(MAX_LOST_RACES).cloned().collect();
        if !self.others.lost_races.is_empty() {
            self.others.turn = try_to_integrate(store.repository(), &lane.branch)?;
        }
        Ok(Look::Pick(Some(moment)))
    }

    /// Takes in what other sessions of the group recorded since the last time. Returns all sessions of the feature.
    pub(super) fn take_in_records(&mut self) -> Result<Vec<SessionView>> {
        let store = self.inputs.store;
        let sessions = store.listing(|_| true, &mut Vec::new())?.views_of(&self.session.feature);
        let Some(first) = self.session.group.clone() else { return Ok(sessions) };
        let (mut fresh, mut spent): (Vec<&LogEntry>, Vec<&LogEntry>) = (Vec::new(), Vec::new());
        for session in &sessions {
            if session.id == self.session.id || session.group().is_none_or(|(group, _)| group != first) {
                continue;
            }
            let seen = *self.others.seen.entry(session.id.clone()).or_insert_with(|| {
                // What it spent before is spent.
                let before = ended_before(session);
                spent.extend(session.iterations().take(before));
                before
            });
            fresh.extend(session.iterations().skip(seen));
            self.others.seen.insert(session.id.clone(), session.iterations().count());
        }
        fresh.sort_by_key(|entry| (entry.ended_at(), entry.session(), entry.number()));
        for entry in spent.iter().chain(&fresh) {
            let cost = entry.cost();
            self.others.tokens = self.others.tokens.plus(&entry.tokens());
            self.others.cost = self.others.cost.plus(cost);
            self.state.note_cost(cost);
        }
        for entry in fresh {
            match store.readable_iteration(entry) {
                Some(iteration) => {
                    if iteration.outcome == Outcome::Checked {
                        iteration.check().into_iter().for_each(|check| self.note_checked(check));
                    }
                    self.state.clean.successes += u32::from(iteration.published.is_some());
                    self.past.history.push(&iteration);
                    self.past.memory.push(iteration);
                }
                None => self.past.history.push_entry(entry),
            }
        }
        Ok(sessions)
    }

    /// Claims a task that was picked, with those of its unit.
    pub(super) fn claim(&mut self, tasks: &TaskList, task: &Task) -> Result<()> {
        if self.inputs.group.is_none() {
            return Ok(());
        }
        if !self.others.lost_races.contains(&task.name) {
            self.others.turn = None;
        }
        let unit = self.inputs.unit_tasks(tasks, &task.name, &self.past.history, &self.left_to_others());
        let claim = Claim {
            session: self.session.id.clone(),
            tasks: unit.map_or_else(|| vec![task.name.clone()], |unit| unit.tasks),
            since: self.inputs.clock.now(),
        };
        self.spool.claim(&claim)?;
        (self.say)(&Event::TaskClaimed { session: claim.session, tasks: claim.tasks });
        Ok(())
    }

    /// Writes objects of the newest records again that a `git prune` took which began before refs led to them: the tip of the branch may
    /// be another loop's, which looks at them before its own next record alone. Returns true if there were any.
    pub(super) fn restore_objects_of_group(&self) -> Result<bool> {
        if self.inputs.group.is_none() {
            return Ok(false);
        }
        let store = self.inputs.store;
        let mut restored = 0;
        for spool in Spool::all(store.repository())? {
            // A folder that its loop replaces meanwhile is of an older record.
            restored += store.restore_objects(&spool.kept_objects()).unwrap_or_default();
        }
        Ok(restored > 0)
    }

    /// Returns the tasks that are not asked for beside another one: given up before, in the hand of others, or waiting to be merged.
    pub(super) fn left_to_others(&self) -> Vec<TaskName> {
        self.state.given_up.iter().cloned().chain(self.busy()).collect()
    }

    /// Returns true if a success can be published with its record: nothing waits before it, and nobody else moves the branch.
    pub(super) fn may_publish(&mut self) -> Result<bool> {
        let (Some(_), Some(lane)) = (&self.inputs.group, self.inputs.work_tree.lane()) else {
            return Ok(!self.state.has_queue);
        };
        if self.others.turn.is_some() {
            return Ok(true);
        }
        let Some(turn) = try_to_integrate(self.inputs.store.repository(), &lane.branch)? else {
            return Ok(false);
        };
        let Some(tip) = self.inputs.store.refs().tip(&lane.reference())? else { return Ok(false) };
        let is_first = self.queued(&tip)?.is_empty();
        self.others.turn = is_first.then_some(turn);
        Ok(is_first)
    }

    /// Takes the turn at the branch to try the whole before the session ends. `None` if another loop has it: that may do the same,
    /// and it was waited for.
    pub(crate) fn turn_to_check(&mut self) -> Result<Option<Option<File>>> {
        let (Some(_), Some(lane)) = (&self.inputs.group, self.inputs.work_tree.lane()) else {
            return Ok(Some(None));
        };
        if let Some(turn) = self.others.turn.take() {
            return Ok(Some(Some(turn)));
        }
        let turn = try_to_integrate(self.inputs.store.repository(), &lane.branch)?;
        if turn.is_none() {
            self.wait_for_others();
        }
        Ok(turn.map(Some))
    }

    /// Gives up what an attempt held, which is recorded.
    pub(super) fn end_claim(&mut self) -> Result<()> {
        self.others.turn = None;
        if self.inputs.group.is_some() { self.spool.unclaim() } else { Ok(()) }
    }

    /// Takes the moment in which no other loop of the group ends; `None` without one.
    pub(super) fn wait_to_end(&mut self) -> Result<Option<File>> {
        let (Some(_), Some(lane)) = (&self.inputs.group, self.inputs.work_tree.lane()) else {
            return Ok(None);
        };
        let mut name = |words| warn(self.say, words);
        wait_to_pick(self.inputs.store.repository(), &lane.branch, SILENCE, &mut name, || false)
    }

    /// Returns whether the others of its group have ended.
    pub(super) fn group_end(&mut self) -> Result<GroupEnd> {
        if self.inputs.group.is_none() {
            return Ok(GroupEnd::Alone);
        }
        let (sessions, first) = (self.take_in_records()?, self.session.group.clone());
        let mut own = sessions.iter().filter(|session| session.group().map(|(group, _)| group) == first);
        let is_last = own.all(|session| session.stop_reason().is_some());
        Ok(if is_last { GroupEnd::Last } else { GroupEnd::OthersGoOn })
    }

    /// Waits until another loop may have recorded something, or this one is to stop.
    pub(super) fn wait_for_others(&mut self) {
        self.others.turn = None;
        let Some(group) = &self.inputs.group else { return };
        let began = self.inputs.clock.stopwatch();
        while began.elapsed() < MAX_WAIT && !self.is_to_stop() {
            match group.wakes.recv_timeout(POLL_INTERVAL) {
                Ok(()) => return,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    self.others.is_over = true;
                    return;
                }
            }
        }
    }

    /// Returns the tasks that are not to be picked, as others have them in hand or their results wait to be merged.
    pub(super) fn busy(&self) -> Vec<TaskName> {
        let Others { turn, lost_races, .. } = &self.others;
        // The branch is not to move during their next attempt, and another loop has the turn at it.
        let later = lost_races.iter().filter(|_| turn.is_none());
        self.state.queued.iter().chain(self.others.tasks()).chain(later).cloned().collect()
    }

    /// Returns true if the session is not to wait for anything: it works alone, or a signal asks for its end.
    pub(super) fn is_to_end_now(&self) -> bool {
        self.inputs.group.is_none() || self.inputs.interrupt.signal().is_some()
    }

    /// Returns the open tasks that wait for others above them; none where one loop works alone.
    pub(super) fn waiting_in_order(&self, tasks: &TaskList) -> HashSet<TaskName> {
        if self.inputs.group.is_none() {
            return HashSet::new();
        }
        let history = &self.past.history;
        let hints = super::control::hints::hints_for_tasks(self.inputs);
        let is_passed = |item: &tasklist::Item| {
            history.is_skipped(&item.name)
                || self.state.given_up.contains(&item.name)
                || question(history, &hints, &item.name).is_some()
        };
        let waiting = tasks.waiting_in_order(self.inputs.config.settings.parallel, is_passed);
        waiting.into_iter().cloned().collect()
    }
}

/// Returns how many iterations of a session came before it ended last: resumed after an end, counts start at zero.
fn ended_before(session: &SessionView) -> usize {
    let end = session.entries.iter().rposition(|entry| entry.kind() == RecordKind::Resume);
    let Some(end) = end else { return 0 };
    let before = &session.entries[..end];
    let is_after_end = before.last().is_some_and(|entry| entry.kind() == RecordKind::End);
    if is_after_end { before.iter().filter(|entry| entry.is_iteration()).count() } else { 0 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tasklist::{Pick, TaskList};

    use ralph_core::record::samples::iteration;
    use ralph_core::record::{
        AttemptId, Integration, IntegrationVerdict, Iteration, LogEntry, ObjectId, Outcome, SessionId,
        Timestamp,
    };
    use ralph_core::view::{FeatureView, Queue, SessionView};

    const TASKS: [&str; 2] = ["T1", "T2"];

    fn id(worker: usize) -> SessionId {
        SessionId::new(Timestamp::from_seconds(i64::try_from(worker).unwrap()), 1)
    }

    fn object(number: usize) -> ObjectId {
        format!("{number:040x}").parse().unwrap()
    }

    /// Three loops on a branch with two tasks, and a person. The fold and the pick are those of the loop.
    #[derive(Default)]
    struct World {
        records: [Vec<Iteration>; 3],
        /// The task in hand of each, the tip that its attempt began at, and whether its loop is dead with a success sealed.
        claims: [Option<(&'static str, usize, Option<bool>)>; 3],
        /// The tip, and its boxes.
        tip: usize,
        done: [bool; 2],
        /// How often each came on the branch, and how often a person opened it again.
        came: [usize; 2],
        opened: [usize; 2],
        minute: i64,
    }

    impl World {
        fn views(&self) -> Vec<SessionView> {
            let views = self.records.iter().enumerate().map(|(worker, records)| {
                let entries = records.iter().map(|record| LogEntry::of_iteration(record, &object(1)));
                SessionView::of(&id(worker), entries.collect::<Vec<_>>())
            });
            views.filter(|view| !view.entries.is_empty()).collect()
        }

        fn queue(&self) -> Vec<(&'static str, AttemptId)> {
            let views = self.views();
            let queue = Queue::of(&FeatureView::of(&views), |_| false);
            let results = queue.results.iter().map(|entry| (place(entry.task().unwrap()), entry.id()));
            results.map(|(task, id)| (TASKS[task], id)).collect()
        }

        fn record(&mut self, worker: usize, task: &str, outcome: Outcome) -> &mut Iteration {
            self.minute += 1;
            let number = self.records[worker].len() + 1;
            let mut record = iteration(outcome);
            record.session = id(worker);
            record.iteration = u32::try_from(number).unwrap();
            record.task = Some(task.to_owned());
            record.ended_at = Timestamp::from_seconds(self.minute * 60);
            self.records[worker].push(record);
            self.records[worker].last_mut().unwrap()
        }

        fn pick(&mut self, worker: usize) {
            let boxes = self.done.map(|is_done| if is_done { 'x' } else { ' ' });
            let list = format!("- [{}] T1 [P] a\n- [{}] T2 [P] b\n", boxes[0], boxes[1]);
            let list = TaskList::parse(list.as_bytes()).unwrap();
            let queue = self.queue();
            let in_hand = |name: &str| {
                self.claims.iter().flatten().any(|(task, ..)| *task == name)
                    || queue.iter().any(|(task, _)| *task == name)
            };
            if self.claims[worker].is_none()
                && let Pick::Task(item) = list.next_open(in_hand)
            {
                self.claims[worker] = Some((TASKS[place(&item.name)], self.tip, None));
            }
        }

        /// Records an attempt: published if nothing is in its way, else queued.
        fn succeed(&mut self, worker: usize, task: &'static str, base: usize, may_publish: bool) {
            let is_free = may_publish && base == self.tip && self.queue().is_empty();
            let record = self.record(worker, task, Outcome::Success);
            (record.lane, record.base) = (Some(1), Some(object(base)));
            record.closed = vec![task.to_owned()];
            if is_free {
                record.published = Some(object(base + 1));
                self.come(task);
            }
            self.claims[worker] = None;
        }

        fn come(&mut self, task: &str) {
            self.tip += 1;
            self.done[place(task)] = true;
            self.came[place(task)] += 1;
        }

        fn integrate(&mut self, worker: usize, is_conflict: bool) {
            let Some((task, result)) = self.queue().into_iter().next() else { return };
            let verdict = if self.done[place(task)] {
                IntegrationVerdict::Superseded
            } else if is_conflict {
                IntegrationVerdict::Conflict
            } else {
                self.come(task);
                IntegrationVerdict::Integrated
            };
            let record = self.record(worker, task, Outcome::Integrated);
            record.closed = Vec::new();
            record.integration = vec![Integration {
                session: result.session,
                iteration: result.number,
                task: task.to_owned(),
                verdict,
                cause: None,
                conflicts: Vec::new(),
                hunks: String::new(),
            }];
        }

        fn step(&mut self, kind: u8, worker: usize, which: bool) {
            match (kind, self.claims[worker]) {
                (0 | 1, None) => self.pick(worker),
                (0 | 1, Some((task, base, None))) if which => self.succeed(worker, task, base, true),
                (0 | 1, Some((task, _, None))) => {
                    self.record(worker, task, Outcome::Failure);
                    self.claims[worker] = None;
                }
                // Its loop dies, and others see its claim until a recovery records what it left.
                (2, Some((task, base, None))) => self.claims[worker] = Some((task, base, Some(which))),
                (2 | 3, Some((task, base, Some(true)))) => self.succeed(worker, task, base, false),
                (2 | 3, Some((task, _, Some(false)))) => {
                    self.record(worker, task, Outcome::Interrupted);
                    self.claims[worker] = None;
                }
                (4, None) => self.integrate(worker, which),
                (5, _) => self.tip += 1,
                (6, _) if which => {
                    let place = worker % 2;
                    self.opened[place] += usize::from(self.done[place]);
                    (self.tip, self.done[place]) = (self.tip + 1, false);
                }
                _ => {}
            }
        }
    }

    fn place(task: &str) -> usize {
        TASKS.iter().position(|name| *name == task).unwrap()
    }

    proptest! {
        /// Whoever picks, dies, merges or commits when: no task is in two hands, each comes once until a person opens it, and all
        /// come in the end.
        #[test]
        fn each_task_comes_once_whatever_happens_in_between(
            steps in prop::collection::vec((0..7_u8, 0..3_usize, any::<bool>()), 0..60)
        ) {
            let mut world = World::default();
            for (kind, worker, which) in steps {
                world.step(kind, worker, which);
                for task in TASKS {
                    let hands = world.claims.iter().flatten().filter(|(name, ..)| *name == task).count();
                    let queued = world.queue().iter().filter(|(name, _)| *name == task).count();
                    prop_assert!(hands + queued <= 1, "{task} is in {hands} hands and queued {queued} times");
                    prop_assert!(world.came[place(task)] <= world.opened[place(task)] + 1, "{task} came again");
                }
            }
            for worker in [0, 1, 2] {
                for _ in 0..8 {
                    world.step(3, worker, true);
                    world.step(0, worker, true);
                    world.step(4, worker, false);
                }
            }
            prop_assert_eq!(world.done, [true; 2]);
            prop_assert!(world.queue().is_empty() && world.claims.iter().all(Option::is_none));
        }
    }
}
