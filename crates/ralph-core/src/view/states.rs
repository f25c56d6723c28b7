//! Where the tasks of the present list stand.

use std::collections::{BTreeMap, HashMap};

use tasklist::{Item, TaskList};

use crate::record::{
    AnsweredTask, FailureClass, FlagCode, Hint, LogEntry, Need, NeedKind, Outcome, SessionId, TaskName,
    TaskStates, Timestamp, WaitingTask,
};

use super::FeatureView;

/// What the records say of the tasks of a list.
pub(super) struct TaskRecords<'a> {
    /// The newest failure, or check that sent it back, by task.
    failures: HashMap<&'a str, Record<'a>>,
    /// An attempt, or that the task was given up.
    verdicts: HashMap<&'a str, Record<'a>>,
    /// Whether a task asks or fails, since when, and how often since its last success.
    tried: HashMap<&'a str, (bool, Timestamp, usize)>,
    /// Hints that wait for a prompt.
    hints: &'a [Hint],
    /// How many tasks ended with a question.
    asked: usize,
}

/// A record, and its session.
type Record<'a> = (&'a SessionId, &'a LogEntry);

impl<'a> TaskRecords<'a> {
    pub fn of(view: &FeatureView<'a>, list: &'a TaskList, hints: &'a [Hint]) -> Self {
        let (mut failures, mut verdicts, mut tried) = (HashMap::new(), HashMap::new(), HashMap::new());
        for &record in &view.iterations {
            let facts = record.1;
            for (task, verdict, _) in facts.integration() {
                let item = list.find(&task).filter(|_| verdict.is_sent_back());
                item.map(|item| failures.insert(item.name.as_str(), record));
            }
            let Some(item) = facts.task().and_then(|task| list.find(task)) else { continue };
            let name = item.name.as_str();
            let Some(outcome) = facts.outcome() else { continue };
            match outcome {
                Outcome::Failure | Outcome::Checked => {
                    failures.insert(name, record);
                    let asks = is_question(record);
                    let known: &mut (bool, Timestamp, usize) =
                        tried.entry(name).or_insert((asks, facts.ended_at(), 0));
                    if known.0 != asks {
                        *known = (asks, facts.ended_at(), 0);
                    }
                    known.2 += 1;
                }
                Outcome::Success | Outcome::Reopened => drop(tried.remove(name)),
                Outcome::Skipped | Outcome::Interrupted | Outcome::Integrated | Outcome::Later(_) => {}
            }
            if facts.is_attempt() || outcome.is_without_run() {
                verdicts.insert(name, record);
            }
        }
        let asked =
            list.tasks().filter(|item| !item.done).filter_map(|item| verdicts.get(item.name.as_str()));
        let asked = asked.filter(|verdict| is_question(**verdict)).count();
        Self { failures, verdicts, tried, hints, asked }
    }

    /// Returns why only a person can bring this task on; `None` if the loop can, or if it is done.
    fn need(&self, item: &Item) -> Option<NeedKind> {
        let last = *self.verdicts.get(item.name.as_str()).filter(|_| !item.done)?;
        if last.1.outcome() == Some(Outcome::Skipped) {
            let asks = last.1.has_flag(FlagCode::Judge);
            return Some(if asks { NeedKind::Accept } else { NeedKind::Fails });
        }
        let why = match last.1.failure_class() {
            Some(class) if class.is_policy() => NeedKind::Policy,
            _ => NeedKind::Asks,
        };
        (is_question(last) && self.answer(item, last.1).is_none()).then_some(why)
    }

    /// Returns the newest hint that came after the question: one for the task, or one for no task if no other one asks.
    fn answer(&self, item: &Item, question: &LogEntry) -> Option<&'a Hint> {
        let mut hints = self.hints.iter().filter(|hint| hint.added_at >= question.ended_at());
        hints.rfind(|hint| hint.is_for(&item.name) && (!hint.tasks.is_empty() || self.asked == 1))
    }

    /// Returns since when tasks ask or fail, and how often they did.
    pub fn tried_since(&self) -> BTreeMap<TaskName, (Timestamp, usize)> {
        self.tried.iter().map(|(task, (_, since, times))| ((*task).to_owned(), (*since, *times))).collect()
    }

    /// Returns the open tasks that asked and have an answer which no attempt had yet, in the order of the list.
    pub fn answered(&self, list: &TaskList) -> Vec<AnsweredTask> {
        let answered = list.tasks().filter(|item| !item.done).filter_map(|item| {
            let question = *self.verdicts.get(item.name.as_str()).filter(|last| is_question(**last))?;
            let hint = self.answer(item, question.1)?;
            Some(AnsweredTask {
                task: item.name.clone(),
                answer: hint.text.clone(),
                session: question.0.clone(),
                iteration: question.1.number(),
            })
        });
        answered.collect()
    }

    pub fn states(&self, list: &TaskList) -> (TaskStates, Vec<WaitingTask>) {
        let mut states = TaskStates::default();
        let mut waiting = Vec::new();
        for item in list.tasks() {
            let count = match self.need(item) {
                _ if item.done => &mut states.done,
                Some(NeedKind::Fails) => &mut states.fails,
                Some(_) => &mut states.asks,
                None => {
                    match list.waits_for(item, |other| self.need(other).is_some_and(NeedKind::is_given_up)) {
                        None => &mut states.open,
                        Some(other) => {
                            let (task, dependency) = (item.name.clone(), other.name.clone());
                            waiting.push(WaitingTask { task, dependency });
                            &mut states.waits
                        }
                    }
                }
            };
            *count += 1;
        }
        (states, waiting)
    }

    /// Returns the tasks that only a person can bring on: those that ask, then the others, each in the order of the list.
    pub fn needs(&self, list: &TaskList) -> Vec<Need> {
        let needs = list.tasks().filter_map(|item| {
            let why = self.need(item)?;
            let name = item.name.as_str();
            let (session, facts) = *self.failures.get(name).or(self.verdicts.get(name))?;
            Some(Need {
                why,
                task: Some(item.name.clone()),
                cause: facts.cause().map(str::to_owned),
                session: session.clone(),
                iteration: Some(facts.number()),
            })
        });
        let mut needs: Vec<Need> = needs.collect();
        needs.sort_by_key(|need| !need.why.waits_for_hint());
        needs
    }
}

fn is_question((_, facts): Record<'_>) -> bool {
    facts.outcome() == Some(Outcome::Failure) && facts.failure_class().is_some_and(FailureClass::sets_aside)
}
