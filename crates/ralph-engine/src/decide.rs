//! What comes next: the next task, or the reason to stop. Pure.

use std::time::Duration;

use tasklist::{Blocked, Counts, Obstacle, Pick, Selection, TaskList};

use ralph_core::config::Settings;
use ralph_core::history::{History, OpenQuestion};
use ralph_core::record::{Hint, Limit, StopReason, Task, TaskName};

use super::task_watch::lost_words;
use super::units::{self, Boundary};

/// Tasks that may be given up, and attempts that may fail, before the first success.
const MAX_GIVEN_UP_IN_VAIN: u32 = 5;
const MAX_FAILURES_IN_VAIN: u32 = 10;

/// Why a session ends without a single success.
const NOTHING_PASSED: &str = "nothing passed once: is the setup whole?";

/// What a decision depends on besides tasks and history.
#[derive(Debug, Clone, Copy)]
pub struct Bounds<'a> {
    pub settings: &'a Settings,
    /// Tokens so far, as far as agents reported them.
    pub tokens: Option<u64>,
    pub cost_usd: Option<f64>,
    pub elapsed: Duration,
    /// True if a validation command is configured.
    pub is_validated: bool,
    /// True if an agent's promise was enough to end the session.
    pub is_promised: bool,
    /// Tasks that were open and left the list without being done.
    pub lost: &'a [TaskName],
    /// Hints that wait for tasks.
    pub hints: &'a [Hint],
    /// Tasks that get one attempt, after all others.
    pub given_up: &'a [TaskName],
    /// Tasks that the provider of an agent refused, and that another agent can try.
    pub for_others: &'a [TaskName],
}

impl Bounds<'_> {
    /// Returns where a task stands whose last run asked.
    fn question(&self, history: &History, task: &str) -> Option<OpenQuestion> {
        question(history, self.hints, task)
    }

    /// Returns the class in which a task is picked: those of a class follow when none of the classes before it can be.
    /// `None` if it is not picked at all.
    fn pick_class(&self, history: &History, task: &str) -> Option<u8> {
        match self.question(history, task) {
            _ if history.is_skipped(task) => None,
            Some(_) if self.for_others.iter().any(|name| name == task) => Some(0),
            Some(OpenQuestion::AskedAgain) => None,
            _ if self.given_up.iter().any(|name| name == task) && history.attempts(task) == 0 => Some(2),
            Some(OpenQuestion::Asked) => Some(1),
            // Another task may be the one that repairs it.
            _ if history.fails_as_before(task) => Some(1),
            Some(OpenQuestion::Answered) | None => Some(0),
        }
    }
}

/// Returns where a task stands whose last run asked, with the hints that wait for tasks.
pub fn question(history: &History, hints: &[Hint], task: &str) -> Option<OpenQuestion> {
    let hints = hints.iter().filter(|hint| hint.tasks.iter().any(|name| name == task));
    history.question(task, &hints.map(|hint| hint.text.as_str()).collect::<Vec<_>>())
}

/// What the session is about.
#[derive(Debug)]
pub enum Goal<'a> {
    /// All tasks of the list.
    All,
    /// These tasks of the list.
    Part(&'a Selection),
    /// This, which is none of the list, until it succeeds.
    This(Task),
}

#[derive(Debug)]
pub enum Decision {
    Go(Task),
    Stop {
        reason: StopReason,
        limit: Option<Limit>,
        /// What the user should know of it, a line each; for a checkpoint, what is done.
        why: Vec<String>,
    },
}

/// Returns true if nothing is left to do: no task is open, in the list or in the part of it that is worked on.
pub fn all_done(tasks: &TaskList, part: Option<&Selection>) -> bool {
    let Counts { done, open } = part.map_or_else(|| tasks.counts(), |part| tasks.counts_of(part));
    open == 0 && done > 0
}

pub fn decide(tasks: &TaskList, history: &History, bounds: &Bounds<'_>, wanted: Goal<'_>) -> Decision {
    // Completion is looked at before the limit: five tasks and `-n 5` end as completed.
    if bounds.is_promised {
        return stop(StopReason::Completed);
    }
    let is_done = match &wanted {
        Goal::All if tasks.tasks().next().is_none() => {
            return stuck(vec!["the task list has no tasks any more".to_owned()]);
        }
        Goal::All => all_done(tasks, None),
        Goal::Part(part) => all_done(tasks, Some(part)),
        Goal::This(_) if history.last_succeeded() => return stop(StopReason::Completed),
        Goal::This(_) => false,
    };
    if let Some(conflict) = tasks.conflict.as_ref().filter(|_| is_done) {
        return stuck(vec![format!("no task is open, but {conflict}")]);
    }
    if is_done && !bounds.lost.is_empty() {
        return stuck(vec![lost_words(bounds.lost)]);
    }
    if is_done {
        return if passes(history, bounds) {
            stop(StopReason::Completed)
        } else {
            stuck(vec!["no task is open, but the validation does not pass".to_owned()])
        };
    }
    let is_part_done = bounds.settings.stop_at.and_then(|unit| units::boundary(tasks, history, unit));
    match is_part_done {
        Some(Boundary::Reached(name)) if passes(history, bounds) => {
            return Decision::Stop { reason: StopReason::Checkpoint, limit: None, why: vec![name] };
        }
        Some(Boundary::Blocked(why)) => return stuck(why),
        Some(Boundary::Reached(_)) | None => {}
    }
    if let Some(limit) = reached(history, bounds) {
        let reason = StopReason::LimitReached;
        return Decision::Stop { reason, limit: Some(limit), why: Vec::new() };
    }
    if bounds.settings.stuck_after.is_some_and(|most| history.idle_streak() >= most) {
        return stuck(vec![format!("{} iterations in a row changed nothing", history.idle_streak())]);
    }
    if !matches!(wanted, Goal::This(_)) && is_in_vain(tasks, history, bounds, &wanted) {
        return stuck(vec![NOTHING_PASSED.to_owned()]);
    }
    let part = match wanted {
        Goal::This(task) => return Decision::Go(task),
        Goal::Part(part) => Some(part),
        Goal::All => None,
    };
    // What asks is tried once more when nothing else can be done, then what was given up before, and what is optional last.
    let mut found = Pick::Blocked(Vec::new());
    for last in 0..=2 {
        if matches!(found, Pick::Blocked(_)) {
            let is_later = |name: &str| last < 2 && tasks.find(name).is_some_and(|item| item.optional);
            found = pick(tasks, part, &|name| {
                bounds.pick_class(history, name).is_none_or(|class| class > last) || is_later(name)
            });
        }
    }
    match found {
        Pick::Task(item) => Decision::Go(item.into()),
        Pick::NoneOpen => stop(StopReason::Completed),
        Pick::Blocked(blocked) => stuck(why_blocked(&blocked)),
    }
}

/// Returns true if so much failed without a single success that the setup is more likely at fault than the tasks.
fn is_in_vain(tasks: &TaskList, history: &History, bounds: &Bounds<'_>, wanted: &Goal<'_>) -> bool {
    let part = if let Goal::Part(part) = wanted { Some(*part) } else { None };
    let Settings { stop_without_success, skip_after, .. } = bounds.settings;
    let is_wanted = *stop_without_success && skip_after.is_some();
    let [given_up, failures] = history.in_vain().filter(|_| is_wanted).unwrap_or_default();
    (given_up >= MAX_GIVEN_UP_IN_VAIN || failures >= MAX_FAILURES_IN_VAIN)
        && units::has_several(tasks, part, bounds.settings.unit_now())
}

fn pick<'a>(tasks: &'a TaskList, part: Option<&Selection>, is_aside: &dyn Fn(&str) -> bool) -> Pick<'a> {
    match part {
        Some(part) => tasks.next_open_in(part, is_aside),
        None => tasks.next_open(is_aside),
    }
}

/// Returns what keeps tasks from being done, a line each. What asks or was given up, and what waits for that, is on the closing card.
fn why_blocked(blocked: &[Blocked]) -> Vec<String> {
    let is_on_card =
        |obstacle: &Obstacle| matches!(obstacle, Obstacle::Skipped | Obstacle::WaitsForSkipped(_));
    blocked.iter().filter(|one| !is_on_card(&one.obstacle)).map(ToString::to_string).collect()
}

/// Returns true if the last validation passed, where there is one.
fn passes(history: &History, bounds: &Bounds<'_>) -> bool {
    !bounds.is_validated || history.last_passed().unwrap_or(true)
}

fn reached(history: &History, bounds: &Bounds<'_>) -> Option<Limit> {
    let &Settings { max_iterations, max_tokens, max_cost, max_duration, .. } = bounds.settings;
    let passed =
        |value: Option<f64>, limit: Option<f64>| matches!((value, limit), (Some(v), Some(l)) if v >= l);
    if history.runs() >= max_iterations {
        Some(Limit::Iterations)
    } else if matches!((bounds.tokens, max_tokens), (Some(tokens), Some(max)) if tokens >= max) {
        Some(Limit::Tokens)
    } else if passed(bounds.cost_usd, max_cost) {
        Some(Limit::Cost)
    } else if max_duration.is_some_and(|max| bounds.elapsed >= max) {
        Some(Limit::Duration)
    } else {
        None
    }
}

fn stop(reason: StopReason) -> Decision {
    Decision::Stop { reason, limit: None, why: Vec::new() }
}

fn stuck(why: Vec<String>) -> Decision {
    Decision::Stop { reason: StopReason::Stuck, limit: None, why }
}

#[cfg(test)]
mod tests {
    use ralph_core::config::{Config, Inputs};
    use ralph_core::record::samples::iteration;
    use ralph_core::record::{FailureClass, Outcome, Timestamp};

    use super::*;

    /// `T1q` asked, `T1-` failed, `T1!` was skipped, `T1+` succeeded.
    fn history(turns: &str) -> History {
        let mut history = History::default();
        for turn in turns.split_whitespace() {
            let (task, end) = turn.split_at(2);
            let mut record = iteration(match end {
                "!" => Outcome::Skipped,
                "+" => Outcome::Success,
                _ => Outcome::Failure,
            });
            record.task = Some(task.to_owned());
            record.failure_class = (end == "q").then_some(FailureClass::Question);
            history.push(&record);
        }
        history
    }

    fn decided(turns: &str, hinted: &str, given_up: &[&str]) -> String {
        let settings = Config::read(&Inputs::default()).unwrap().settings;
        let list = "- [ ] T1 a\n- [ ] T2 b\n- [ ] T3 c (depends on T1)\n";
        let tasks = TaskList::parse(list.as_bytes()).unwrap();
        let hint = Hint {
            number: 1,
            text: "an answer".to_owned(),
            tasks: vec![hinted.to_owned()],
            added_at: Timestamp::from_seconds(0),
            session: None,
        };
        let given_up: Vec<TaskName> = given_up.iter().map(|&task| task.to_owned()).collect();
        let bounds = Bounds {
            settings: &settings,
            tokens: None,
            cost_usd: None,
            elapsed: Duration::ZERO,
            is_validated: false,
            is_promised: false,
            lost: &[],
            hints: &[hint],
            given_up: &given_up,
            for_others: &[],
        };
        match decide(&tasks, &history(turns), &bounds, Goal::All) {
            Decision::Go(task) => task.name,
            Decision::Stop { reason, why, .. } if why.is_empty() => reason.to_string(),
            Decision::Stop { why, .. } => why.join("; "),
        }
    }

    #[test]
    fn a_session_without_a_single_success_ends() {
        let five = "T1! T2! T3! T4! T5! ";
        let decided = |turns: &str, list: &str, change: &dyn Fn(&mut Settings)| {
            let mut settings = Config::read(&Inputs::default()).unwrap().settings;
            settings.max_iterations = 100;
            settings.stuck_after = None;
            change(&mut settings);
            let tasks = TaskList::parse(list.as_bytes()).unwrap();
            let bounds = Bounds {
                settings: &settings,
                tokens: None,
                cost_usd: None,
                elapsed: Duration::ZERO,
                is_validated: true,
                is_promised: false,
                lost: &[],
                hints: &[],
                for_others: &[],
                given_up: &[],
            };
            match decide(&tasks, &history(turns), &bounds, Goal::All) {
                Decision::Go(task) => task.name,
                Decision::Stop { why, limit: None, .. } => why.join("; "),
                Decision::Stop { limit: Some(limit), .. } => limit.to_string(),
            }
        };
        let list: String = (1..=9).map(|number| format!("- [ ] T{number} a\n")).collect();
        let ten = "T1- ".repeat(10);
        let as_it_is: &dyn Fn(&mut Settings) = &|_| ();
        for (turns, list, change, expected) in [
            (five, list.as_str(), as_it_is, NOTHING_PASSED),
            (&five[..16], &list, as_it_is, "T5"),
            (&ten, &list, as_it_is, NOTHING_PASSED),
            (&ten[4..], &list, as_it_is, "T1"),
            (&ten, "- [ ] T1 a\n", as_it_is, "T1"),
            (&format!("T9+ {ten}"), &list, as_it_is, "T1"),
            (&ten, &list, &|settings| settings.skip_after = None, "T1"),
            (&ten, &list, &|settings| settings.stop_without_success = false, "T1"),
            (&ten, &list, &|settings| settings.max_iterations = 10, "iterations"),
        ] {
            assert_eq!(decided(turns, list, change), expected, "{turns} {list}");
        }
    }

    #[test]
    fn a_task_that_asks_comes_after_the_others_once_and_with_each_hint() {
        for (turns, hinted, expected) in [
            ("", "", "T1"),
            ("T1q", "", "T2"),
            ("T1q", "T1", "T1"),
            ("T1q", "T2", "T2"),
            ("T1q T2q", "", "T1"),
            ("T1q T2q T1q", "", "T2"),
            ("T1q T2q T1q T2q", "", "stuck"),
            ("T1q T2q T1q T2q", "T2", "T2"),
            ("T1q T2! T1q", "", "stuck"),
        ] {
            assert_eq!(decided(turns, hinted, &[]), expected, "{turns}, a hint for {hinted}");
        }
    }

    #[test]
    fn what_the_closing_card_says_is_said_there_alone() {
        let list = "- [ ] T1 a\n- [ ] T2 b (depends on T1)\n- [ ] T3 c (depends on T9)\n";
        let tasks = TaskList::parse(list.as_bytes()).unwrap();
        let Pick::Blocked(blocked) = tasks.next_open(|name| name == "T1") else { panic!("{list}") };
        assert_eq!(why_blocked(&blocked), ["T3 waits for T9, which does not exist"]);
    }

    #[test]
    fn a_task_that_was_given_up_before_comes_last() {
        for (turns, given_up, expected) in [
            ("", &["T1"][..], "T2"),
            ("T2!", &["T1"], "T1"),
            ("T2q", &["T1"], "T2"),
            ("T2q T2q", &["T1"], "T1"),
            ("", &["T2", "T1"], "T1"),
            ("T1! T2!", &["T1", "T2"], "stuck"),
        ] {
            assert_eq!(decided(turns, "", given_up), expected, "{turns}, given up: {given_up:?}");
        }
    }
}
