//! What comes next: the next task, or the reason to stop. Pure.

use tasklist::{Blocked, Obstacle, Pick, Selection, TaskList};

use ralph_core::history::{History, OpenQuestion};
use ralph_core::record::{Hint, Task};

use super::stop::{Ending, Facts, Goal, before};

#[derive(Debug)]
pub(super) enum Decision {
    Go(Task),
    /// What others have in hand comes first.
    Wait,
    Stop(Ending),
}

/// Returns the next task, if no rule ends the session.
pub(super) fn decide(facts: &Facts<'_>) -> Decision {
    if let Some(ending) = before(facts) {
        return Decision::Stop(ending);
    }
    if let Goal::This(task) = &facts.goal {
        return Decision::Go(task.clone());
    }
    if facts.is_all_in_hand() {
        return Decision::Wait;
    }
    // What asks is tried once more when nothing else can be done, then what was given up before, and what is optional last.
    let mut found = Pick::Blocked(Vec::new());
    for last in 0..=2 {
        if matches!(found, Pick::Blocked(_)) {
            let is_later = |name: &str| last < 2 && facts.tasks.find(name).is_some_and(|item| item.optional);
            found = pick(facts.tasks, facts.part(), &|name| {
                pick_class(facts, name).is_none_or(|class| class > last) || is_later(name)
            });
        }
    }
    match found {
        Pick::Task(item) => Decision::Go(item.into()),
        Pick::NoneOpen | Pick::Blocked(_) if facts.has_others() => Decision::Wait,
        Pick::NoneOpen => Decision::Stop(facts.completed()),
        Pick::Blocked(blocked) => Decision::Stop(facts.stuck(why_blocked(&blocked))),
    }
}

/// Returns the class in which a task is picked: those of a class follow when none of the classes before it can be.
/// `None` if it is not picked at all.
fn pick_class(facts: &Facts<'_>, task: &str) -> Option<u8> {
    let history = facts.history;
    match question(history, facts.hints, task) {
        _ if history.is_skipped(task) || facts.waiting.contains(task) => None,
        _ if facts.busy.iter().any(|name| name == task) => None,
        Some(_) if facts.for_others.iter().any(|name| name == task) => Some(0),
        Some(OpenQuestion::AskedAgain) => None,
        _ if facts.given_up.iter().any(|name| name == task) && history.attempts(task) == 0 => Some(2),
        Some(OpenQuestion::Asked) => Some(1),
        // Another task may be the one that repairs it.
        _ if history.fails_as_before(task) => Some(1),
        Some(OpenQuestion::Answered) | None => Some(0),
    }
}

/// Returns where a task stands whose last run asked, with the hints that wait for tasks.
pub(super) fn question(history: &History, hints: &[Hint], task: &str) -> Option<OpenQuestion> {
    let hints = hints.iter().filter(|hint| hint.tasks.iter().any(|name| name == task));
    history.question(task, &hints.map(|hint| hint.text.as_str()).collect::<Vec<_>>())
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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::time::Duration;

    use ralph_core::config::{Config, Inputs, Settings, Unit};
    use ralph_core::record::samples::{iteration, session};
    use ralph_core::record::{FailureClass, Outcome, TaskName, Timestamp};

    use super::super::stop::NOTHING_PASSED;
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

    /// Returns the next task, or why there is none. All settings are as without any, but for what `set` changes; `also` changes
    /// facts that are as nothing special happened.
    fn decision(
        (turns, list): (&str, &str),
        (hints, given_up): (&[Hint], &[TaskName]),
        set: &dyn Fn(&mut Settings),
        also: &dyn Fn(&mut Facts<'_>),
    ) -> String {
        let mut settings = Config::read(&Inputs::default()).unwrap().settings;
        set(&mut settings);
        with_facts((turns, list), (hints, given_up), &settings, &|mut facts| {
            also(&mut facts);
            answer(&facts)
        })
    }

    fn with_facts(
        (turns, list): (&str, &str),
        (hints, given_up): (&[Hint], &[TaskName]),
        settings: &Settings,
        ask: &dyn Fn(Facts<'_>) -> String,
    ) -> String {
        ask(Facts {
            settings,
            session: &session("running", None, (0, 2)),
            history: &history(turns),
            tasks: &TaskList::parse(list.as_bytes()).unwrap(),
            goal: Goal::All,
            cost_usd: None,
            elapsed: Duration::ZERO,
            is_promised: false,
            is_asked: false,
            operation: None,
            lost: &[],
            restoration: None,
            unable: None,
            hints,
            busy: &[],
            others: None,
            waiting: &HashSet::new(),
            tokens: None,
            given_up,
            for_others: &[],
        })
    }

    fn answer(facts: &Facts<'_>) -> String {
        match decide(facts) {
            Decision::Go(task) => task.name,
            Decision::Wait => "wait".to_owned(),
            Decision::Stop(Ending { limit: Some(limit), .. }) => limit.to_string(),
            Decision::Stop(Ending { why: Some(why), .. }) => why,
            Decision::Stop(ending) => ending.reason.to_string(),
        }
    }

    fn decided(turns: &str, hinted: &str, given_up: &[&str]) -> String {
        let hint = Hint {
            number: 1,
            text: "an answer".to_owned(),
            tasks: vec![hinted.to_owned()],
            added_at: Timestamp::from_seconds(0),
            session: None,
        };
        let given_up: Vec<TaskName> = given_up.iter().map(|&task| task.to_owned()).collect();
        let list = "- [ ] T1 a\n- [ ] T2 b\n- [ ] T3 c (depends on T1)\n";
        decision((turns, list), (&[hint], &given_up), &|_| (), &|_| ())
    }

    #[test]
    fn a_session_without_a_single_success_ends() {
        let five = "T1! T2! T3! T4! T5! ";
        let decided = |turns: &str, list: &str, change: &dyn Fn(&mut Settings)| {
            let set = |settings: &mut Settings| {
                (settings.max_iterations, settings.stuck_after) = (100, None);
                settings.validation_command = Some("test".to_owned());
                change(settings);
            };
            decision((turns, list), (&[], &[]), &set, &|_| ())
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
    fn what_ends_a_session_comes_in_order() {
        const DONE: &str = "- [x] T1 a\n";
        const OPEN: &str = "- [ ] T1 a\n- [ ] T2 a\n";
        const PHASE: &str = "## Phase 1: One\n- [x] T1 a\n## Phase 2: Two\n- [ ] T2 a\n";
        let one_iteration: &dyn Fn(&mut Settings) = &|settings| settings.max_iterations = 1;
        let by_phase: &dyn Fn(&mut Settings) = &|settings| {
            (settings.max_iterations, settings.stop_at) = (1, Some(Unit::Phase));
        };
        let as_it_is: &dyn Fn(&mut Facts<'_>) = &|_| ();
        let asked: &dyn Fn(&mut Facts<'_>) = &|facts| facts.is_asked = true;
        let in_merge: &dyn Fn(&mut Facts<'_>) =
            &|facts| facts.operation = Some(("a merge is in progress".to_owned(), "end it".to_owned()));
        let unable: &dyn Fn(&mut Facts<'_>) = &|facts| facts.unable = Some("3 tests fail".to_owned());
        for (turns, list, set, also, expected) in [
            ("T1+", DONE, one_iteration, as_it_is, "completed"),
            ("T1+", DONE, one_iteration, asked, "completed"),
            ("T1+", DONE, one_iteration, in_merge, "no task is open, but a merge is in progress"),
            ("T1+", PHASE, by_phase, asked, "Phase 1: One is done, and `stop-at` ends the session there"),
            ("T1+", OPEN, one_iteration, asked, "interrupted"),
            ("T1+", OPEN, one_iteration, in_merge, "iterations"),
            ("", OPEN, one_iteration, in_merge, "T1"),
            ("", "# Nothing\n", one_iteration, as_it_is, "the task list has no tasks any more"),
            ("", "# Nothing\n", one_iteration, asked, "interrupted"),
            ("", "# Nothing\n", one_iteration, unable, "3 tests fail"),
        ] {
            assert_eq!(decision((turns, list), (&[], &[]), set, also), expected, "{turns} {list}");
        }
    }

    #[test]
    fn what_others_have_in_hand_is_left_to_them_and_waited_for() {
        const LIST: &str = "- [ ] T1 a\n- [ ] T2 b\n";
        let decided = |turns: &str, list: &str, busy: &[&str], others: Option<u32>, waiting: &[&str]| {
            let names = |tasks: &[&str]| tasks.iter().map(|&task| task.to_owned()).collect::<Vec<TaskName>>();
            let (busy, waiting) = (names(busy), HashSet::from_iter(names(waiting)));
            let mut settings = Config::read(&Inputs::default()).unwrap().settings;
            settings.max_iterations = 2;
            with_facts((turns, list), (&[], &[]), &settings, &|facts| {
                let facts = Facts { busy: &busy, others, waiting: &waiting, ..facts };
                answer(&facts)
            })
        };
        for (turns, list, busy, others, waiting, expected) in [
            ("", LIST, &[][..], Some(0), &[][..], "T1"),
            ("", LIST, &["T1"], Some(1), &[], "T2"),
            ("", LIST, &["T1", "T2"], Some(2), &[], "wait"),
            ("", LIST, &["T1"], Some(1), &["T2"], "wait"),
            // What waits to be merged may end as open.
            ("", LIST, &["T1", "T2"], Some(0), &[], "wait"),
            ("", LIST, &[], Some(0), &["T1", "T2"], "stuck"),
            // One loop alone does not wait.
            ("", LIST, &["T1", "T2"], None, &[], "stuck"),
            // Attempts in hand count for the limit, and may be cut short.
            ("T1-", LIST, &["T2"], Some(1), &[], "wait"),
            ("T1- T2-", LIST, &[], Some(0), &[], "iterations"),
            ("", "- [x] T1 a\n- [x] T2 b\n", &["T1"], Some(1), &[], "completed"),
        ] {
            assert_eq!(decided(turns, list, busy, others, waiting), expected, "{turns} {busy:?} {others:?}");
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
