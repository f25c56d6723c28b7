//! What iterations come to, wherever they are listed.

use tasklist::TaskList;

use crate::record::{CutShort, FailureClass, Interruption, LogEntry, Outcome, SessionId, SessionTotals};

impl SessionTotals {
    /// Takes in the next iteration of `session`, which may work beside others.
    pub fn count(&mut self, session: &SessionId, facts: &LogEntry) {
        let Some(outcome) = facts.outcome() else { return };
        let (is_attempt, class, usd) = (facts.is_attempt(), facts.failure_class(), facts.cost_usd());
        let mut cuts = self.cut_short.iter_mut();
        if let Some(last) = cuts.rfind(|cut| cut.session == *session)
            && last.resumed_at.is_none()
        {
            last.resumed_at = Some(facts.started_at());
        }
        let is_failure = outcome == Outcome::Failure;
        self.succeeded += usize::from(outcome == Outcome::Success && is_attempt);
        self.failed += usize::from(is_failure);
        self.attempts += usize::from(is_attempt);
        self.skipped += usize::from(outcome == Outcome::Skipped);
        let interruption = Interruption::of_entry(facts);
        if let Some(by) = interruption {
            self.cut_short.push(CutShort {
                session: session.clone(),
                iteration: facts.number(),
                task: facts.task().map(str::to_owned),
                by,
                failure_class: class,
                ended_at: facts.ended_at(),
                resumed_at: None,
            });
        }
        self.tokens = self.tokens.plus(&facts.tokens());
        self.took = self.took.plus(&facts.duration_ms());
        self.closed.extend(facts.closed().into_iter().map(str::to_owned));
        self.false_claims.extend(facts.is_wrong_claim().then_some(facts.number()));
        let cost = &mut self.cost;
        cost.usd = sum(cost.usd, usd);
        cost.failed_usd = sum(cost.failed_usd, usd.filter(|_| is_failure));
        cost.unreported += usize::from(usd.is_none() && is_attempt);
        cost.unreported_cut_short += usize::from(usd.is_none() && interruption.is_some());
        let Some(task) = facts.task() else { return };
        if let Some(usd) = usd {
            match self.task_costs.get_mut(task) {
                Some(cost) => *cost += usd,
                None => drop(self.task_costs.insert(task.to_owned(), usd)),
            }
        }
        if is_attempt {
            *self.task_attempts.entry(task.to_owned()).or_default() += 1;
            self.asking.retain(|known| known != task);
            let asks = is_failure && class.is_some_and(FailureClass::is_question);
            self.asking.extend(asks.then(|| task.to_owned()));
        }
        match outcome {
            Outcome::Skipped if !self.given_up.iter().any(|known| known == task) => {
                self.given_up.push(task.to_owned());
            }
            Outcome::Success | Outcome::Reopened => self.given_up.retain(|known| known != task),
            Outcome::Skipped
            | Outcome::Checked
            | Outcome::Integrated
            | Outcome::Failure
            | Outcome::Interrupted
            | Outcome::Later(_) => {}
        }
    }

    /// Adds a later session.
    pub fn add(&mut self, later: &Self) {
        self.attempts += later.attempts;
        self.succeeded += later.succeeded;
        self.failed += later.failed;
        self.skipped += later.skipped;
        self.cut_short.extend_from_slice(&later.cut_short);
        self.tokens = self.tokens.plus(&later.tokens);
        self.took = self.took.plus(&later.took);
        self.closed.extend(later.closed.iter().cloned());
        for (task, usd) in &later.task_costs {
            *self.task_costs.entry(task.clone()).or_default() += usd;
        }
        for (task, attempts) in &later.task_attempts {
            *self.task_attempts.entry(task.clone()).or_default() += attempts;
        }
        let (cost, other) = (&mut self.cost, &later.cost);
        cost.usd = sum(cost.usd, other.usd);
        cost.failed_usd = sum(cost.failed_usd, other.failed_usd);
        cost.unreported += other.unreported;
        cost.unreported_cut_short += other.unreported_cut_short;
    }

    /// Finds out what the work on tasks cost that are not done by now.
    pub fn settle(&mut self, list: &TaskList) {
        let open = self
            .task_costs
            .iter()
            .filter(|(task, _)| list.find(task).is_some_and(|item| item.is_task() && !item.done));
        self.cost.not_done_usd = open.fold(None, |all, (_, usd)| sum(all, Some(*usd)));
    }
}

fn sum(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one + other),
        (one, other) => one.or(other),
    }
}
