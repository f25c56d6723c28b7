//! When a session ends, and why: one ordered table of rules over what was measured. Pure: no rule waits, reads, writes or says
//! anything.

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use tasklist::{Counts, Selection, TaskList};

use ralph_core::config::{Settings, Until};
use ralph_core::history::History;
use ralph_core::record::{
    CANNOT_RUN, ExitReason, Hint, Iteration, Limit, RALPH, Session, StopReason, Task, TaskName,
    join_truncated,
};

use super::task_watch::lost_words;
use super::units::{self, Boundary};

/// Tasks that may be given up, and attempts that may fail, before the first success.
const MAX_GIVEN_UP_IN_VAIN: u32 = 5;
const MAX_FAILURES_IN_VAIN: u32 = 10;

/// Maximum number of tasks that an ending names.
const MAX_NAMED_TASKS: usize = 5;

/// Tasks in a row that must fail in the same way to count as a common failure.
const MIN_TASKS: usize = 3;

/// Why a session ends without a single success.
pub(super) const NOTHING_PASSED: &str = "nothing passed once: is the setup whole?";

/// Why a session ends.
#[derive(Debug, Clone)]
pub(super) struct Ending {
    pub reason: StopReason,
    pub limit: Option<Limit>,
    /// Details for people.
    pub why: Option<String>,
    pub hint: Option<String>,
    /// The command that comes before all others.
    pub next: Option<String>,
    /// What is said before the end, as the card has one reason.
    pub warnings: Vec<String>,
}

impl Ending {
    pub fn of(reason: StopReason) -> Self {
        Self { reason, limit: None, why: None, hint: None, next: None, warnings: Vec::new() }
    }

    pub fn stuck(why: String, hint: String) -> Self {
        Self { why: Some(why), hint: Some(hint), ..Self::of(StopReason::Stuck) }
    }

    pub fn limit(limit: Limit) -> Self {
        Self { limit: Some(limit), ..Self::of(StopReason::LimitReached) }
    }

    fn unusable_validation(why: String, hint: Option<String>) -> Self {
        Self { why: Some(why), hint, ..Self::of(StopReason::ValidationUnusable) }
    }
}

/// What the session is about.
#[derive(Debug)]
pub(super) enum Goal<'a> {
    /// All tasks of the list.
    All,
    /// These tasks of the list.
    Part(&'a Selection),
    /// This, which is none of the list, until it succeeds.
    This(Task),
}

/// What rules look at and what the next task is picked by, as the caller measured it.
pub(super) struct Facts<'a> {
    pub settings: &'a Settings,
    pub session: &'a Session,
    pub history: &'a History,
    pub tokens: Option<u64>,
    /// The list as it is now.
    pub tasks: &'a TaskList,
    pub goal: Goal<'a>,
    /// What agents cost so far; what an attempt did not say is taken for as much as the dearest one.
    pub cost_usd: Option<f64>,
    pub elapsed: Duration,
    /// True if an agent's promise was enough to end the session.
    pub is_promised: bool,
    /// True if somebody asked for the end.
    pub is_asked: bool,
    /// Why git is in the middle of something that an attempt began, and what to do.
    pub operation: Option<(String, String)>,
    /// Tasks that were open and left the list without being done, and the command that brings the list back.
    pub lost: &'a [TaskName],
    pub restoration: Option<String>,
    /// Why no task can be done at all, if that is so.
    pub unable: Option<String>,
    /// Hints that wait for tasks.
    pub hints: &'a [Hint],
    /// Tasks that others work on, and those whose results wait to be merged.
    pub busy: &'a [TaskName],
    /// Attempts that others have in hand; `None` where one loop works alone.
    pub others: Option<u32>,
    /// Open tasks that wait for others above them.
    pub waiting: &'a HashSet<TaskName>,
    /// Tasks that get one attempt, after all others.
    pub given_up: &'a [TaskName],
    /// Tasks that the provider of an agent refused, and that another agent can try.
    pub for_others: &'a [TaskName],
}

/// What rules look at after an attempt.
pub(super) struct AfterFacts<'a> {
    pub settings: &'a Settings,
    pub session: &'a Session,
    pub history: &'a History,
    pub iteration: &'a Iteration,
    pub until: Until,
    /// True if the validation passed at any time since the start.
    pub has_passed: bool,
    /// Why no task can be done at all, if that is so.
    pub unable: Option<String>,
    /// The tasks whose common failure was reported last.
    pub reported: &'a [TaskName],
    /// The validation fails on the tip of the branch alone.
    pub target_red: Option<Ending>,
    /// Nothing can be committed any more.
    pub commit: Option<Ending>,
}

/// Asked before each attempt: the first that applies ends the session.
const BEFORE: &[fn(&Facts<'_>) -> Option<Ending>] = &[
    // Completion comes before the limits: five tasks and `-n 5` end as completed.
    complete,
    checkpoint,
    // Who asked gets that, whatever else would have ended it now.
    asked,
    empty_list,
    done_but,
    blocked_boundary,
    limit,
    idle,
    in_vain,
];

/// Asked after each attempt.
const AFTER: &[fn(&AfterFacts<'_>) -> Option<Ending>] = &[
    // Then nothing that an attempt came to says anything of its task.
    |facts| facts.target_red.clone(),
    |facts| facts.commit.clone(),
    unusable_validation,
    endless_validation,
    fails_as_before,
    common_failure,
];

/// Returns why the session ends before the next attempt.
pub(super) fn before(facts: &Facts<'_>) -> Option<Ending> {
    BEFORE.iter().find_map(|rule| rule(facts))
}

/// Returns why the session ends after an attempt.
pub(super) fn after(facts: &AfterFacts<'_>) -> Option<Ending> {
    AFTER.iter().find_map(|rule| rule(facts))
}

/// Returns true if nothing is left to do: no task is open, in the list or in the part of it that is worked on.
pub fn all_done(tasks: &TaskList, part: Option<&Selection>) -> bool {
    let Counts { done, open } = part.map_or_else(|| tasks.counts(), |part| tasks.counts_of(part));
    open == 0 && done > 0
}

impl Facts<'_> {
    /// Returns true if others have something in hand that may change what can be done, or something waits to be merged.
    pub fn has_others(&self) -> bool {
        self.others.is_some_and(|attempts| attempts > 0 || !self.busy.is_empty())
    }

    /// Returns true if no attempt may begin while those of others are not over.
    pub fn is_all_in_hand(&self) -> bool {
        let others = self.others.unwrap_or_default();
        others > 0 && self.history.runs() + others >= self.settings.max_iterations
    }

    pub fn part(&self) -> Option<&Selection> {
        if let Goal::Part(part) = self.goal { Some(part) } else { None }
    }

    fn is_done(&self) -> bool {
        !matches!(self.goal, Goal::This(_)) && all_done(self.tasks, self.part())
    }

    /// Returns true if the last validation passed, where there is one.
    fn passes(&self) -> bool {
        // The last attempt of several loops says nothing of the branch.
        self.others.is_some() || !self.settings.has_validation() || self.history.last_passed().unwrap_or(true)
    }

    fn boundary(&self) -> Option<Boundary> {
        units::boundary(self.tasks, self.history, self.settings.stop_at?)
    }

    /// Returns the ending where nothing can be done, for these reasons. What keeps all tasks from being done is the one on the
    /// card, and so is a list that tasks left.
    pub fn stuck(&self, mut reasons: Vec<String>) -> Ending {
        let only = if reasons.len() == 1 && self.unable.is_none() { reasons.pop() } else { None };
        let hint = self
            .restoration
            .as_ref()
            .map(|next| format!("`{next}` brings the list back; then `{RALPH} resume {}`", self.session.id));
        Ending {
            why: only.or_else(|| self.unable.clone()),
            hint,
            next: self.restoration.clone(),
            warnings: reasons,
            ..Ending::of(StopReason::Stuck)
        }
    }

    /// Returns the ending of a session whose tasks are done, but for git in the middle of something.
    pub fn completed(&self) -> Ending {
        self.unless_in_operation(Ending::of(StopReason::Completed))
    }

    fn unless_in_operation(&self, ending: Ending) -> Ending {
        let Some((what, hint)) = &self.operation else { return ending };
        Ending::stuck(
            format!("no task is open, but {what}"),
            format!("{hint}, and look at what it left in the files"),
        )
    }
}

fn complete(facts: &Facts<'_>) -> Option<Ending> {
    let is_complete = facts.is_promised
        || matches!(facts.goal, Goal::This(_)) && facts.history.last_succeeded()
        || facts.is_done() && facts.tasks.conflict.is_none() && facts.lost.is_empty() && facts.passes();
    is_complete.then(|| facts.completed())
}

fn checkpoint(facts: &Facts<'_>) -> Option<Ending> {
    let Some(Boundary::Reached(done)) = facts.boundary() else { return None };
    let ending = Ending {
        why: Some(format!("{done} is done, and `stop-at` ends the session there")),
        hint: Some(format!("review it, then `{RALPH}` continues with the next tasks")),
        ..Ending::of(StopReason::Checkpoint)
    };
    (!facts.is_done() && facts.passes()).then(|| facts.unless_in_operation(ending))
}

fn asked(facts: &Facts<'_>) -> Option<Ending> {
    facts.is_asked.then(|| Ending::of(StopReason::Interrupted))
}

fn empty_list(facts: &Facts<'_>) -> Option<Ending> {
    let is_empty = matches!(facts.goal, Goal::All) && facts.tasks.tasks().next().is_none();
    is_empty.then(|| facts.stuck(vec!["the task list has no tasks any more".to_owned()]))
}

fn done_but(facts: &Facts<'_>) -> Option<Ending> {
    let why = match &facts.tasks.conflict {
        _ if !facts.is_done() => return None,
        Some(conflict) => format!("no task is open, but {conflict}"),
        None if !facts.lost.is_empty() => lost_words(facts.lost),
        None => "no task is open, but the validation does not pass".to_owned(),
    };
    Some(facts.stuck(vec![why]))
}

fn blocked_boundary(facts: &Facts<'_>) -> Option<Ending> {
    let Some(Boundary::Blocked(why)) = facts.boundary() else { return None };
    Some(facts.stuck(why))
}

/// Returns how much of each limit is used up, and the limit: attempts, tokens, US dollars and seconds.
#[expect(clippy::cast_precision_loss, reason = "no session has 2^53 tokens")]
pub(super) fn budgets(facts: &Facts<'_>) -> Vec<(Limit, f64, f64)> {
    let &Settings { max_iterations, max_tokens, max_cost, max_duration, .. } = facts.settings;
    let tokens = facts.tokens.zip(max_tokens);
    let iterations = Some((f64::from(facts.history.runs()), f64::from(max_iterations)));
    let pairs = [
        (Limit::Iterations, iterations),
        (Limit::Tokens, tokens.map(|(used, most)| (used as f64, most as f64))),
        (Limit::Cost, facts.cost_usd.zip(max_cost)),
        (Limit::Duration, max_duration.map(|most| (facts.elapsed.as_secs_f64(), most.as_secs_f64()))),
    ];
    pairs.into_iter().filter_map(|(limit, pair)| pair.map(|(used, most)| (limit, used, most))).collect()
}

fn limit(facts: &Facts<'_>) -> Option<Ending> {
    budgets(facts).into_iter().find(|(_, used, most)| used >= most).map(|(limit, ..)| Ending::limit(limit))
}

fn idle(facts: &Facts<'_>) -> Option<Ending> {
    let streak = facts.history.idle_streak();
    let is_too_long = facts.settings.stuck_after.is_some_and(|most| streak >= most);
    is_too_long.then(|| facts.stuck(vec![format!("{streak} iterations in a row changed nothing")]))
}

/// So much failed without a single success that the setup is more likely at fault than the tasks.
fn in_vain(facts: &Facts<'_>) -> Option<Ending> {
    let Settings { stop_without_success, skip_after, .. } = facts.settings;
    let is_wanted = *stop_without_success && skip_after.is_some() && !matches!(facts.goal, Goal::This(_));
    let [given_up, failures] = facts.history.in_vain().filter(|_| is_wanted)?;
    let is_in_vain = (given_up >= MAX_GIVEN_UP_IN_VAIN || failures >= MAX_FAILURES_IN_VAIN)
        && units::has_several(facts.tasks, facts.part(), facts.settings.unit_now());
    is_in_vain.then(|| facts.stuck(vec![NOTHING_PASSED.to_owned()]))
}

fn unusable_validation(facts: &AfterFacts<'_>) -> Option<Ending> {
    let baseline = facts.session.baseline.as_ref();
    let could_run = baseline.is_some_and(|baseline| !CANNOT_RUN.contains(&baseline.exit));
    if !facts.history.cannot_validate() || facts.has_passed || could_run {
        return None;
    }
    let command = facts.settings.validation_command.as_deref().unwrap_or_default();
    let cause = facts.iteration.cause.as_ref().map_or(String::new(), |cause| format!(": {cause}"));
    let hint = format!(
        "install what it needs and `{RALPH} resume {}`, or start with another: --validate CMD",
        facts.session.id
    );
    Some(Ending::unusable_validation(format!("`{command}` cannot be run{cause}"), Some(hint)))
}

/// The validation ran into its time limit twice in a row, and never ended otherwise.
fn endless_validation(facts: &AfterFacts<'_>) -> Option<Ending> {
    let baseline = facts.session.baseline.as_ref();
    let has_ended = baseline.is_some_and(|baseline| baseline.exit_reason != Some(ExitReason::Timeout));
    if facts.has_passed || has_ended {
        return None;
    }
    let times = u32::from(baseline.is_some()) + facts.history.only_timeouts()?;
    let command = facts.settings.validation_command.as_deref().unwrap_or_default();
    let why = format!("`{command}` never ended: `validation.timeout` stopped it each time");
    let hint = format!(
        "a test runner in watch mode never ends: have it run once (`--run`, `--watch=false`, `CI=1`), \
         or give it more time (`validation.timeout`); then `{RALPH} resume {}`",
        facts.session.id
    );
    (times >= 2).then(|| Ending::unusable_validation(why, Some(hint)))
}

/// The validation fails as it did before the first attempt, over two tasks, or twice where there is only one to do: no task is
/// given up for it.
fn fails_as_before(facts: &AfterFacts<'_>) -> Option<Ending> {
    let tasks = facts.history.failed_as_before();
    if tasks.len() < 2 {
        return None;
    }
    let attempts = tasks.len();
    let tasks: BTreeSet<&TaskName> = tasks.into_iter().collect();
    let why = format!(
        "{attempts} attempts at {} failed alike, and the validation failed before them, too",
        join_truncated(&Vec::from_iter(tasks), MAX_NAMED_TASKS)
    );
    // The screens name the command that sets another validation.
    let hint = facts.unable.as_ref();
    let hint = hint.map(|_| "if these failures are known: --set validation.pass=no-new-failures".to_owned());
    Some(Ending::unusable_validation(why, hint))
}

impl AfterFacts<'_> {
    /// Returns the tasks in a row that failed alike, where several can.
    fn alike(&self) -> Vec<&TaskName> {
        if self.until == Until::Tasks { self.history.tasks_of_common_failure() } else { Vec::new() }
    }

    /// Returns the tasks of a common failure, what is said of it and a hint; `None` if it was reported already.
    fn common_failure(&self) -> Option<(Vec<TaskName>, String, String)> {
        let tasks: Vec<TaskName> = self.alike().into_iter().cloned().collect();
        let is_reported = !self.reported.is_empty() && tasks.starts_with(self.reported);
        if tasks.len() < MIN_TASKS || is_reported {
            return None;
        }
        let is_of_validation = self.history.last_failed_validation();
        let question = if is_of_validation { ": is the validation itself broken?" } else { "" };
        let (count, names, cause) = (tasks.len(), tasks.join(", "), self.iteration.cause());
        let why = format!("the same failure for {count} tasks{question} ({names}: {cause})");
        Some((tasks, why, format!("`{RALPH} show {}` has its output", self.iteration.iteration)))
    }

    /// Returns what is said of a failure that tasks have in common where the session goes on, and the tasks that are reported then.
    pub fn warning(&self) -> Option<(String, Option<Vec<TaskName>>)> {
        if let Some((tasks, why, hint)) = self.common_failure() {
            return Some((format!("{why}\nhint: {hint}"), Some(tasks)));
        }
        let tasks = self.alike();
        // What two have in common may lie outside of them: the validation passed before.
        let is_of_surroundings = self.history.last_failed_validation()
            && self.has_passed
            && !self.history.common_failure_names_changed();
        let &[one, other] = &tasks[..] else { return None };
        let warning = format!(
            "{one} and {other} failed alike, by nothing that they changed: {}\nhint: the validation passed before; is \
             something around it missing: a database, a port, space on the disk, a registry?",
            self.iteration.cause()
        );
        is_of_surroundings.then_some((warning, None))
    }
}

/// A failure that several tasks in a row have in common, if the session is to end for it.
fn common_failure(facts: &AfterFacts<'_>) -> Option<Ending> {
    let (_, why, hint) = facts.common_failure()?;
    let hint = format!("{hint}; with `stop-on-common-failure = false` the loop continues");
    facts.settings.stop_on_common_failure.then(|| Ending::stuck(why, hint))
}
