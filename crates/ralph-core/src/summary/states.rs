//! Where the tasks of the present list stand.

use std::collections::HashMap;

use tasklist::{Item, TaskList};

use crate::record::{
    FailureClass, FlagCode, FlaggedTask, Hint, IterationFacts, Need, NeedKind, Outcome, SessionFacts,
    SessionId, TaskStates, WaitingTask,
};

/// What the records say of the tasks of a list.
pub(super) struct TaskRecords<'a> {
    /// The newest record of each kind, by task.
    successes: HashMap<&'a str, Record<'a>>,
    failures: HashMap<&'a str, Record<'a>>,
    /// An attempt, or that the task was given up.
    verdicts: HashMap<&'a str, Record<'a>>,
    /// Hints that wait for a prompt.
    hints: &'a [Hint],
    /// How many tasks ended with a question.
    asked: usize,
}

/// A record, and its session.
type Record<'a> = (&'a SessionId, &'a IterationFacts<'a>);

impl<'a> TaskRecords<'a> {
    pub fn of(sessions: &'a [SessionFacts<'a>], list: &'a TaskList, hints: &'a [Hint]) -> Self {
        let (mut successes, mut failures, mut verdicts) = (HashMap::new(), HashMap::new(), HashMap::new());
        let records = sessions.iter().flat_map(|one| one.iterations.iter().map(|facts| (&one.id, facts)));
        for record @ (_, facts) in records {
            let Some(item) = facts.task.as_deref().and_then(|task| list.find(task)) else { continue };
            let name = item.name.as_str();
            match facts.outcome {
                Outcome::Success => drop(successes.insert(name, record)),
                Outcome::Failure | Outcome::Checked => drop(failures.insert(name, record)),
                Outcome::Reopened => drop(successes.remove(name)),
                Outcome::Skipped | Outcome::Interrupted | Outcome::Later(_) => {}
            }
            if facts.is_attempt() || facts.outcome.is_without_run() {
                verdicts.insert(name, record);
            }
        }
        let asked =
            list.tasks().filter(|item| !item.done).filter_map(|item| verdicts.get(item.name.as_str()));
        let asked = asked.filter(|verdict| is_question(**verdict)).count();
        Self { successes, failures, verdicts, hints, asked }
    }

    /// Returns why only a person can bring this task on; `None` if the loop can, or if it is done.
    fn need(&self, item: &Item) -> Option<NeedKind> {
        let last = *self.verdicts.get(item.name.as_str()).filter(|_| !item.done)?;
        if last.1.outcome == Outcome::Skipped {
            return Some(NeedKind::Fails);
        }
        let why = match last.1.failure_class {
            Some(class) if class.is_policy() => NeedKind::Policy,
            _ => NeedKind::Asks,
        };
        (is_question(last) && !self.is_answered(item, last.1)).then_some(why)
    }

    /// Returns true if a hint came after the question: one for the task, or one for no task if no other one asks.
    fn is_answered(&self, item: &Item, question: &IterationFacts<'_>) -> bool {
        let mut hints = self.hints.iter().filter(|hint| hint.added_at >= question.ended_at);
        hints.any(|hint| hint.is_for(&item.name) && (!hint.tasks.is_empty() || self.asked == 1))
    }

    /// Returns the tasks that are done by an attempt with flags which no person settled, in the order of the list; first those that
    /// changed what runs by itself, also while a branch has them that is not merged.
    pub fn flagged(&self, list: &TaskList) -> Vec<FlaggedTask> {
        let flagged = list.tasks().filter_map(|item| {
            let success = self.successes.get(item.name.as_str());
            let is_shown = |facts: &IterationFacts<'_>| {
                let has = |code| facts.flags.contains(&code);
                !has(FlagCode::Accepted)
                    && (!facts.flags.is_empty() && item.done || has(FlagCode::RunsByItself))
            };
            let (session, facts) = *success.filter(|(_, facts)| is_shown(facts))?;
            Some(FlaggedTask {
                task: item.name.clone(),
                session: session.clone(),
                iteration: Some(facts.iteration),
                flags: facts.flags.clone(),
                text: facts.first_flag.as_deref().map(str::to_owned),
            })
        });
        let mut flagged: Vec<FlaggedTask> = flagged.collect();
        flagged.sort_by_key(|task| !task.flags.contains(&FlagCode::RunsByItself));
        flagged
    }

    pub fn states(&self, list: &TaskList) -> (TaskStates, Vec<WaitingTask>) {
        let mut states = TaskStates::default();
        let mut waiting = Vec::new();
        for item in list.tasks() {
            let count = match self.need(item) {
                _ if item.done => &mut states.done,
                Some(NeedKind::Fails) => &mut states.fails,
                Some(_) => &mut states.asks,
                None => match list.waits_for(item, |other| self.need(other) == Some(NeedKind::Fails)) {
                    None => &mut states.open,
                    Some(other) => {
                        let (task, dependency) = (item.name.clone(), other.name.clone());
                        waiting.push(WaitingTask { task, dependency });
                        &mut states.waits
                    }
                },
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
                cause: facts.cause.as_deref().map(str::to_owned),
                session: session.clone(),
                iteration: Some(facts.iteration),
            })
        });
        let mut needs: Vec<Need> = needs.collect();
        needs.sort_by_key(|need| !need.why.waits_for_hint());
        needs
    }
}

fn is_question((_, facts): Record<'_>) -> bool {
    facts.outcome == Outcome::Failure && facts.failure_class.is_some_and(FailureClass::sets_aside)
}
