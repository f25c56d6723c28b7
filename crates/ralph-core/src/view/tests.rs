use tasklist::TaskList;

use super::session::away_ms;
use super::{FeatureView, SessionView};
use crate::record::samples::log_entries;
use crate::record::{
    AttemptId, FailureClass, Field, FlagCode, GitState, GitStateKind, GoneHow, Hint, Interrupter, LogEntry,
    NeedKind, Outcome, RecordKind, Remains, SessionId, Status, StopReason, Summary, Timestamp, UserFile,
    UserFileChange,
};

const LIST: &str =
    "- [x] T0 By hand\n- [ ] T1 One\n- [ ] T2 Two\n- [ ] T3 Three (depends on T1)\n- [ ] T4 Four\n";

fn id(number: u64) -> SessionId {
    SessionId::new(Timestamp::from_seconds(i64::try_from(number).unwrap()), 1)
}

/// The words of [`log_entries`], and `T1?`: it asked; `T1=`: a limit cut it short, `T1#`: a crash, `T1/`: a person; a
/// number behind a colon is the cost. `|` begins another session; a reason after `>` ends one.
fn sessions(words: &str) -> Vec<Vec<LogEntry>> {
    let session = |(number, words): (usize, &str)| -> Vec<LogEntry> {
        let (words, end) =
            words.split_once('>').map_or((words, None), |(words, end)| (words, Some(end.trim())));
        let mut entries: Vec<LogEntry> = words.split_whitespace().map(entry).collect();
        if let Some(reason) = end {
            let reason: StopReason = reason.parse().unwrap();
            let mut tip = log_entries("T1!").remove(0);
            tip.clear(&[Field::Task, Field::Outcome]);
            tip.set(Field::Record, RecordKind::End.into_str());
            tip.set(Field::Status, Status::Failed);
            tip.set(Field::StopReason, reason);
            entries.push(tip);
        }
        for (place, entry) in entries.iter_mut().enumerate() {
            entry.set(Field::Session, id(number as u64));
            entry.set(Field::Iteration, place + 1);
            entry.set(Field::Started, place * 60_000);
        }
        entries
    };
    words.split('|').enumerate().map(session).collect()
}

fn views(sessions: &[Vec<LogEntry>]) -> Vec<SessionView> {
    let sessions = sessions.iter().filter(|entries| !entries.is_empty());
    sessions.map(|entries| SessionView::of(&entries[0].session(), entries.as_slice())).collect()
}

fn summarize(
    sessions: &[Vec<LogEntry>],
    list: &TaskList,
    hints: &[Hint],
    remains: Option<&Remains>,
) -> Summary {
    let views = views(sessions);
    let first = views.first().filter(|first| first.id == id(0));
    FeatureView::of(&views).summary("specs/001-login", list, hints, remains, first)
}

fn entry(word: &str) -> LogEntry {
    let (word, usd) = word.split_once(':').map_or((word, None), |(word, usd)| (word, Some(usd)));
    let mut entry = log_entries(&word.replace(['?', '=', '#', '/'], "-")).remove(0);
    if let Some(usd) = usd {
        entry.set(Field::CostUsd, usd);
    }
    let agent = if matches!(&word[2..3], "#" | "!") { "-" } else { "0" };
    let validation = if entry.fingerprint().is_some() {
        "1"
    } else if word.ends_with('+') {
        "0"
    } else {
        "-"
    };
    entry.set(Field::Exit, format!("agent={agent} validation={validation}"));
    match &word[2..3] {
        "?" => entry.set(Field::FailureClass, FailureClass::Question),
        "=" => {
            entry.set(Field::Outcome, Outcome::Interrupted);
            entry.set(Field::FailureClass, FailureClass::Quota);
        }
        "#" | "/" => entry.set(Field::Outcome, Outcome::Interrupted),
        _ => {}
    }
    entry
}

fn of(words: &str, list: &str) -> Summary {
    let list = TaskList::parse(list.as_bytes()).unwrap();
    summarize(&sessions(words), &list, &[], None)
}

#[test]
fn attempts_are_what_was_judged_and_the_rest_is_cut_short() {
    for (words, attempts, succeeded, cuts) in [
        ("", 0, 0, ""),
        ("T1-a T1-b T1! T2+", 3, 1, ""),
        ("T1? T1=", 1, 0, "limit"),
        ("T1= T1- T2# T2/", 1, 0, "limit crash person"),
        ("T1+ | T1= T2+", 2, 2, "limit"),
    ] {
        let Summary { totals, .. } = of(words, LIST);
        let found: Vec<String> =
            totals.cut_short.iter().map(|cut| format!("{:?}", cut.by).to_lowercase()).collect();
        assert_eq!(
            (totals.attempts, totals.succeeded, found.join(" ")),
            (attempts, succeeded, cuts.to_owned())
        );
        assert_eq!(totals.failed, attempts - succeeded);
    }
    let resumed: Vec<Option<Timestamp>> =
        of("T1= T1= T1+ | T2=", LIST).totals.cut_short.iter().map(|cut| cut.resumed_at).collect();
    let at = |seconds| Some(Timestamp::from_seconds(seconds));
    assert_eq!(resumed, [at(60), at(120), None]);
}

#[test]
fn the_states_of_tasks_add_up_to_the_tasks() {
    // Done, asks, fails, waits, open.
    for (words, expected, waiting) in [
        ("", [1, 0, 0, 1, 3], "T3 for T1"),
        ("T1- T1- T1!", [1, 0, 1, 1, 2], "T3 for T1"),
        ("T1-", [1, 0, 0, 1, 3], "T3 for T1"),
        ("T1?", [1, 1, 0, 1, 2], "T3 for T1"),
        // A limit is no answer, and does not try a task again that was given up.
        ("T1? T1=", [1, 1, 0, 1, 2], "T3 for T1"),
        ("T1- T1! T1/", [1, 0, 1, 1, 2], "T3 for T1"),
        ("T1? T1-", [1, 0, 0, 1, 3], "T3 for T1"),
        ("T1- T1! | T1-", [1, 0, 0, 1, 3], "T3 for T1"),
        ("T4? T2- T2!", [1, 1, 1, 1, 1], "T3 for T1"),
        // Its box was opened again by a person.
        ("T1- T1! T1+", [1, 0, 0, 1, 3], "T3 for T1"),
    ] {
        let summary = of(words, LIST);
        let states = summary.tasks;
        let found = [states.done, states.asks, states.fails, states.waits, states.open];
        assert_eq!(found, expected, "{words}");
        assert_eq!(states.total(), 5, "{words}");
        let names: Vec<String> =
            summary.waiting.iter().map(|task| format!("{} for {}", task.task, task.dependency)).collect();
        assert_eq!(names.join(", "), waiting, "{words}");
    }
    let done = of("T1- T1! T2?", &LIST.replace("[ ]", "[x]"));
    assert_eq!((done.tasks.done, done.tasks.left()), (5, 0));
    assert!(done.needs_you.is_empty(), "boxes ticked by hand are done");
}

#[test]
fn a_task_waits_for_one_that_was_given_up_before_others() {
    let list = "- [ ] T1 One\n- [ ] T2 Two\n- [ ] T3 Three (depends on T1, T2)\n";
    assert_eq!(of("T2- T2!", list).waiting[0].dependency, "T2");
    assert_eq!(of("", list).waiting[0].dependency, "T1");
}

#[test]
fn costs_are_of_everything_of_failures_and_of_what_is_not_done() {
    for (words, usd, failed, not_done, unreported, cut_short) in [
        ("T1- T2+", None, None, None, 2, 0),
        ("T1-:2 T0+:1 T1!", Some(3.0), Some(2.0), Some(2.0), 0, 0),
        ("T1-:2 T1=:1 T0+ T2#", Some(3.0), Some(2.0), Some(3.0), 1, 1),
        ("T0-:2 T0+:1", Some(3.0), Some(2.0), None, 0, 0),
        ("T1-:2 | T1-:1", Some(3.0), Some(3.0), Some(3.0), 0, 0),
        // A task that is not in the list is neither done nor left.
        ("T9-:2", Some(2.0), Some(2.0), None, 0, 0),
    ] {
        let cost = of(words, LIST).totals.cost;
        assert_eq!((cost.usd, cost.failed_usd, cost.not_done_usd), (usd, failed, not_done), "{words}");
        assert_eq!((cost.unreported, cost.unreported_cut_short), (unreported, cut_short), "{words}");
    }
}

#[test]
fn only_what_the_loop_cannot_settle_needs_you() {
    for (words, expected) in [
        ("", ""),
        ("T1- T1- T2-", ""),
        ("T1-a T1-b T1!", "T1 Fails #2"),
        ("T4? T1-a T1!", "T4 Asks #1, T1 Fails #2"),
        ("T1-a T1! | T1-b", ""),
        ("T1-a T1! | T1-b T1!", "T1 Fails #1"),
        ("T1- > agent_unusable", "- Agent #1"),
        ("T1- > validation_unusable", "- Validation #1"),
        ("T1- > stuck", ""),
        // The next session could use it.
        ("T1- > agent_unusable | T1+", ""),
    ] {
        let needs = of(words, LIST).needs_you;
        let named: Vec<String> = needs
            .iter()
            .map(|need| {
                let task = need.task.as_deref().unwrap_or("-");
                format!("{task} {:?} #{}", need.why, need.iteration.unwrap_or_default())
            })
            .collect();
        assert_eq!(named.join(", "), expected, "{words}");
    }
    let needs = of("T1?", LIST).needs_you;
    assert_eq!((needs[0].why, &needs[0].session), (NeedKind::Asks, &id(0)));
}

#[test]
fn causes_are_solved_or_still_fail() {
    for (words, solved, failing, solved_attempts) in [
        ("T1-a T1-a T1+", 1, 0, 2),
        ("T1-a T1-b T1!", 0, 2, 0),
        ("T1-a T1-b T1! T2-c T2+", 1, 2, 1),
        ("T1-a | T1+", 1, 0, 1),
        ("T1- T2-", 0, 2, 0),
    ] {
        let causes = of(words, LIST).causes;
        let found = (causes.solved, causes.failing, causes.solved_attempts);
        assert_eq!(found, (solved, failing, solved_attempts), "{words}");
    }
    let causes = of("T1-a T1-b T1-b T1! T2-c T2+", LIST).causes.list;
    let prints: Vec<_> = causes.iter().map(|cause| cause.fingerprint.as_deref().unwrap()).collect();
    assert_eq!(prints, ["b", "a", "c"], "what still fails first");
    assert_eq!(causes[2].solved_in, Some(format!("{}:6", id(0))));
}

#[test]
fn the_session_that_is_shown_is_a_part_of_the_whole() {
    let summary = of("T1-:1 T0+:1 | T2+:1", LIST);
    let part = summary.session.unwrap();
    assert_eq!((summary.sessions, summary.totals.attempts, part.totals.attempts), (2, 3, 2));
    assert_eq!((summary.totals.cost.usd, part.totals.cost.usd), (Some(3.0), Some(2.0)));
    assert_eq!(part.totals.cost.not_done_usd, Some(1.0));
    let list = TaskList::parse(LIST.as_bytes()).unwrap();
    let views = views(&sessions("T1+"));
    assert_eq!(FeatureView::of(&views).summary("x", &list, &[], None, None).session, None);
}

#[test]
fn a_hint_that_came_after_the_question_answers_it() {
    let list = TaskList::parse(LIST.as_bytes()).unwrap();
    for (words, tasks, added_at, asks) in [
        ("T1?", &["T1"][..], 1, 0),
        ("T1?", &["T1"], 0, 1),
        ("T1?", &["T2"], 1, 1),
        // A hint for no task answers if one task alone asks.
        ("T1?", &[], 1, 0),
        ("T1? T2?", &[], 9, 2),
        ("T1? T2?", &["T2"], 9, 1),
    ] {
        let hint = Hint {
            number: 1,
            text: "commas".to_owned(),
            tasks: tasks.iter().map(|&task| task.to_owned()).collect(),
            added_at: Timestamp::from_seconds(added_at),
            session: None,
        };
        let summary = summarize(&sessions(words), &list, &[hint], None);
        assert_eq!((summary.tasks.asks, summary.needs_you.len()), (asks, asks), "{words} {tasks:?}");
    }
}

#[test]
fn a_task_is_flagged_by_the_attempt_that_did_it() {
    let list = TaskList::parse(LIST.replace("[ ]", "[x]").as_bytes()).unwrap();
    for (words, flagged_at, expected) in
        [("T1+ T2+", 0, "T1"), ("T1+ T1- T1+", 0, ""), ("T1- T1+", 1, "T1"), ("T1-", 0, "")]
    {
        let mut sessions = sessions(words);
        sessions[0][flagged_at].set(Field::Flags, FlagCode::NoTests);
        sessions[0][flagged_at].set(Field::FirstFlag, "no test ran");
        let flagged = summarize(&sessions, &list, &[], None).flagged;
        let names: Vec<&str> = flagged.iter().map(|task| task.task.as_str()).collect();
        assert_eq!(names.join(" "), expected, "{words}");
        assert!(flagged.iter().all(|task| task.text.as_deref() == Some("no test ran")));
    }
    assert!(of("T1+", LIST).flagged.is_empty());
}

#[test]
fn what_an_attempt_left_behind_needs_somebody_until_it_is_ended_or_brought_back() {
    let state = |kind, text: &str, command: Option<&str>| GitState {
        kind,
        text: text.to_owned(),
        finish: None,
        command: command.map(str::to_owned),
        since: 2,
    };
    let file = |change| UserFile {
        path: "a.js".to_owned(),
        change,
        since: 3,
        kept_in: Some("0".to_owned()),
        commit: None,
    };
    let merge = state(GitStateKind::Operation, "a merge is in progress", Some("git merge --abort"));
    let removed = state(GitStateKind::Lock, "`.git/index.lock` was removed", None);
    let branch = state(GitStateKind::Branch, "`b` is checked out", Some("git switch a"));
    let restore = format!("a.js reverted; specify ralph restore {}:0 a.js", id(0));
    for (git_state, user_files, expected) in [
        (vec![], vec![], vec![]),
        (
            vec![merge],
            vec![],
            vec![(NeedKind::Git, "a merge is in progress: end it with `git merge --abort`", 2)],
        ),
        (vec![removed, branch], vec![file(UserFileChange::Edited), file(UserFileChange::Committed)], vec![]),
        (vec![], vec![file(UserFileChange::Reverted)], vec![(NeedKind::Files, restore.as_str(), 3)]),
    ] {
        let remains = Remains { session: id(0), iteration: 3, git_state, user_files };
        let list = TaskList::parse(LIST.as_bytes()).unwrap();
        let needs = summarize(&sessions("T1+"), &list, &[], Some(&remains)).needs_you;
        let found: Vec<_> = needs
            .iter()
            .map(|need| (need.why, need.cause.as_deref().unwrap(), need.iteration.unwrap()))
            .collect();
        assert_eq!(found, expected);
    }
}

/// Minutes that no loop was at work on a session, whose records each say their kind, and from when to when in minutes: `S`, `I`,
/// `#` (its loop died), `R`, `E`, `K` (an end that the next start wrote).
fn away_minutes(words: &str) -> u64 {
    let entries = words.split_whitespace().map(|word| {
        let (kind, times) = word.split_at(1);
        let (from, to) = times.split_once('-').unwrap_or((times, times));
        let mut entry = entry(if kind == "#" { "T1#" } else { "T1+" });
        if !matches!(kind, "I" | "#") {
            entry.clear(&[Field::Outcome]);
        }
        let record = match kind {
            "S" => RecordKind::Start,
            "R" => RecordKind::Resume,
            "E" | "K" => RecordKind::End,
            _ => RecordKind::Iteration,
        };
        entry.set(Field::Record, record.into_str());
        if kind == "K" {
            entry.set(Field::EndedBy, Interrupter::Killed);
        }
        for (field, minutes) in [(Field::Started, from), (Field::Ended, to)] {
            entry.set(field, 60_000 * minutes.parse::<i64>().unwrap());
        }
        entry
    });
    away_ms(&entries.collect::<Vec<_>>()) / 60_000
}

#[test]
fn the_time_at_work_has_waits_and_no_breaks() {
    for (words, minutes) in [
        ("S0", 0),
        ("S0-1 I1-5 E5", 0),
        // A limit is waited for at work.
        ("S0 I1-5 I50-55 E55", 0),
        ("S0 I1-5 E5 R20 I20-25 E25", 15),
        ("S0 I1-5 E5 R20 I20-25 E25 R85 E85", 75),
        // It still runs.
        ("S0 I1-5 E5 R20 I20-25", 15),
        // Killed at once after the attempt began, or between two, and recorded at the next start.
        ("S0 I1-5 #6-90 K90 R90 I90-95 E95", 84),
        ("S0 I1-5 K90 R90 I90-95 E95", 85),
        ("S0 I1-5 K90", 85),
    ] {
        assert_eq!(away_minutes(words), minutes, "{words}");
    }
}

#[test]
fn a_flag_is_silent_once_its_reason_is_gone() {
    const OTHERS: (FlagCode, &str) = (FlagCode::Others, "also ticked T2: open again");
    const UNDID: (FlagCode, &str) =
        (FlagCode::Undid, "this attempt undid T2 and T0 (src/a.py): both open again");
    const NO_TESTS: (FlagCode, &str) = (FlagCode::NoTests, "no test ran");
    const FEWER: (FlagCode, &str) = (FlagCode::Fewer, "39 tests ran, 41 before");
    let list = LIST.replace("[ ]", "[x]");
    let list = TaskList::parse(list.as_bytes()).unwrap();
    for (words, flags, shown, moot) in [
        ("T1+", &[OTHERS][..], "T1 also ticked T2: open again", 0),
        ("T1+ T2+", &[OTHERS], "", 1),
        ("T2+ T1+", &[OTHERS], "T1 also ticked T2: open again", 0),
        ("T1+ T2-a", &[OTHERS], "T1 also ticked T2: open again", 0),
        ("T1+ T2+", &[UNDID], "T1 this attempt undid T2 and T0 (src/a.py): both open again", 0),
        ("T1+ T2+ T0+", &[UNDID], "", 1),
        ("T1+ | T2+", &[NO_TESTS], "", 1),
        ("T1+ | T2-a", &[NO_TESTS], "T1 no test ran", 0),
        // What was taken away stays away, whatever is done later.
        ("T1+ T2+", &[FEWER], "T1 39 tests ran, 41 before", 0),
        ("T1+ T2+", &[OTHERS, FEWER], "T1 fewer", 0),
    ] {
        let mut sessions = sessions(words);
        for entry in sessions.iter_mut().flatten() {
            if entry.is_of("T1") {
                let codes: Vec<_> = flags.iter().map(|(code, _)| code.as_str()).collect();
                entry.set(Field::Flags, codes.join(","));
                entry.set(Field::FirstFlag, flags[0].1);
            } else {
                let passed = if entry.outcome() == Some(Outcome::Success) { "3" } else { "-" };
                entry.set(Field::Tests, format!("passed={passed}"));
            }
        }
        let flagged = summarize(&sessions, &list, &[], None).flagged;
        let found = flagged.iter().map(|one| {
            let codes = one.flags.iter().map(FlagCode::as_str).collect::<Vec<_>>().join(", ");
            format!("{} {}", one.task, one.text.clone().unwrap_or(codes))
        });
        assert_eq!(found.collect::<Vec<_>>().join("; "), shown, "{words} {flags:?}");
        assert_eq!(FeatureView::of(&views(&sessions)).moot_flags().len(), moot, "{words} {flags:?}");
    }
}

#[test]
fn work_that_is_gone_needs_a_person_unless_a_task_asked_for_that() {
    use GoneHow::{Attempt, Back, Between, Ordered};
    let list = LIST.replace("[ ]", "[x]").replace("[x] T4", "[ ] T4");
    let list = TaskList::parse(list.as_bytes()).unwrap();
    // Each with what the second record of the last session says of T1, and of T4, whose box is open.
    for (words, how, needs, flagged) in [
        ("T1+ T2+>completed", Attempt, "T1's work is gone since T2", ""),
        ("T1+ | T3+ T2+ T3+>stuck", Attempt, "T1's work is gone since T2", ""),
        ("T1+ T2+>completed", Ordered, "", "T1's work is gone since T2"),
        ("T1+ T2+>completed", Between, "", "T1's work is gone"),
        ("T1+ T2+>completed", Back, "", ""),
        // A loop that runs may open its box.
        ("T1+ T2+", Attempt, "", "T1's work is gone since T2"),
        // Done anew, or opened again and done.
        ("T1+ T2+ T1+>completed", Attempt, "", ""),
        ("T1+ T2+ T1^ T3+>completed", Attempt, "", ""),
    ] {
        let mut sessions = sessions(&words.replace('^', "+"));
        if words.contains('^') {
            sessions[0][2].set(Field::Outcome, Outcome::Reopened);
        }
        let last = sessions.last_mut().unwrap();
        last[1].set(Field::Gone, format!("T1={how},T4={how}"));
        let summary = summarize(&sessions, &list, &[], None);
        let causes: Vec<_> = summary.needs_you.iter().filter_map(|need| need.cause.clone()).collect();
        assert_eq!(causes.join("; "), needs, "{words} {how}");
        let texts: Vec<_> = summary.flagged.iter().filter_map(|task| task.text.clone()).collect();
        assert_eq!(texts.join("; "), flagged, "{words} {how}");
        let mut back = summary.clone();
        back.has_work_of("T1");
        assert!(back.work_gone.is_empty() && back.needs_you.is_empty() && back.flagged.is_empty(), "{words}");
    }
    // A person said that it is right so.
    let mut sessions = sessions("T1+ T2+ T1+>completed");
    sessions[0][1].set(Field::Gone, format!("T1={Ordered}"));
    sessions[0][2].clear(&[Field::Tasks]);
    let shown = |sessions: &[Vec<LogEntry>]| summarize(sessions, &list, &[], None).flagged.len();
    assert_eq!(shown(&sessions), 1);
    sessions[0][2].set(Field::Flags, FlagCode::Accepted);
    assert_eq!(shown(&sessions), 0);
}

#[test]
fn what_keeps_all_from_working_is_before_what_asks_and_what_fails() {
    let list = TaskList::parse(LIST.as_bytes()).unwrap();
    let sessions = sessions("T2- T2! T1?>agent_unusable");
    let needs = summarize(&sessions, &list, &[], None).needs_you;
    let kinds: Vec<_> = needs.iter().map(|need| need.why).collect();
    assert_eq!(kinds, [NeedKind::Agent, NeedKind::Asks, NeedKind::Fails]);
}

/// As [`sessions`], whose records ended at these minutes.
fn ended_at(words: &str, minutes: &[&[i64]]) -> Vec<Vec<LogEntry>> {
    let mut sessions = sessions(words);
    for (session, minutes) in sessions.iter_mut().zip(minutes) {
        for (entry, minute) in session.iter_mut().zip(*minutes) {
            entry.set(Field::Ended, minute * 60_000);
        }
    }
    sessions
}

#[test]
fn sessions_that_overlap_are_counted_in_the_order_of_time() {
    const BEFORE: [&[i64]; 2] = [&[1, 2, 3, 4], &[5, 6, 7, 8]];
    const BESIDE: [&[i64]; 2] = [&[1, 6, 7, 8], &[2, 3, 4, 5]];
    let list = TaskList::parse(LIST.as_bytes()).unwrap();
    // What needs a person, and how many failures are solved.
    for (words, minutes, needs, solved) in [
        // T1 was done beside the second session's failure, after it.
        ("T2- T1+ | T1-", BEFORE, "", 0),
        ("T2- T1+ | T1-", BESIDE, "", 1),
        ("T2- T1? | T1-", BEFORE, "", 0),
        ("T2- T1? | T1-", BESIDE, "Asks 0", 0),
        ("T2- T1! | T1-", BEFORE, "", 0),
        ("T2- T1! | T1-", BESIDE, "Fails 1", 0),
        ("T2- T2->agent_unusable | T1->completed", BEFORE, "", 0),
        ("T2- T2->agent_unusable | T1->completed", BESIDE, "Agent 0", 0),
    ] {
        let summary = summarize(&ended_at(words, &minutes), &list, &[], None);
        let found = summary.needs_you.iter().map(|need| {
            let place = usize::from(need.session == id(1));
            format!("{:?} {place}", need.why)
        });
        assert_eq!(found.collect::<Vec<_>>().join(", "), needs, "{words}");
        assert_eq!(summary.solved_attempts.len(), solved, "{words}");
    }
    // A clock that goes back changes no order within a session, and at one moment the earlier session comes first.
    let sessions = ended_at("T1- T2- T3- | T4- T0-", &[&[5, 2, 6], &[5, 6]]);
    let views = views(&sessions);
    let order = FeatureView::of(&views).iterations;
    let order: Vec<&str> = order.iter().filter_map(|(_, entry)| entry.task()).collect();
    assert_eq!(order, ["T1", "T2", "T4", "T3", "T0"]);
}

#[test]
fn work_that_came_back_in_a_session_beside_is_not_gone() {
    let list = TaskList::parse(LIST.replace("[ ]", "[x]").as_bytes()).unwrap();
    for (minutes, gone) in [([&[1, 2][..], &[3, 4]], 1), ([&[1, 6], &[3, 4]], 0)] {
        let mut sessions = ended_at("T1+ T2+ | T3+ T4+", &minutes);
        sessions[1][0].set(Field::Gone, format!("T1={}", GoneHow::Attempt));
        sessions[0][1].set(Field::Gone, format!("T1={}", GoneHow::Back));
        assert_eq!(summarize(&sessions, &list, &[], None).work_gone.len(), gone, "{minutes:?}");
    }
}

/// Puts the start of a session before its records: of one of the group of the first, in this lane.
fn begin(entries: &mut Vec<LogEntry>, lane: Option<usize>) {
    let mut start = entries[0].clone();
    start.clear(&[Field::Iteration, Field::Task, Field::Outcome]);
    start.set(Field::Record, RecordKind::Start.into_str());
    if let Some(lane) = lane {
        start.set(Field::Group, format!("{}:{lane}", id(0)));
    }
    entries.insert(0, start);
}

#[test]
fn the_state_of_a_group_is_that_of_the_session_that_decides() {
    let (faulty, none) = (Some(NeedKind::Agent), None);
    for (words, running, decides, has_ended, fault) in [
        ("T1- > limit_reached | T2+ > completed", None, 0, true, none),
        ("T1+ > completed | T2- > stuck", None, 1, true, none),
        ("T1- > agent_unusable | T2- > stuck", None, 0, true, faulty),
        // One that wrote its end only lets go of its lock.
        ("T1- > agent_unusable | T2- > stuck", Some(1), 0, true, faulty),
        ("T1- > agent_unusable | T2-", Some(1), 1, false, none),
        ("T1- > stuck | T2-", None, 0, false, none),
    ] {
        let mut all = sessions(words);
        (1..).zip(&mut all).for_each(|(lane, entries)| begin(entries, Some(lane)));
        let views = views(&all);
        let group = SessionView::joined(&views.iter().collect::<Vec<_>>());
        let found = group.deciding_record(|session| running.is_some_and(|running| *session == id(running)));
        assert_eq!(found.map(LogEntry::session), Some(id(decides)), "{words}");
        assert_eq!(group.has_ended(), has_ended, "{words}");
        let needs = summarize(&all, &TaskList::default(), &[], None).needs_you;
        let needed = needs.iter().find(|need| need.task.is_none());
        let expected = fault.map(|why| (why, id(decides), Some(1)));
        assert_eq!(needed.map(|need| (need.why, need.session.clone(), need.iteration)), expected, "{words}");
    }
}

#[test]
fn the_sessions_of_a_group_are_one_by_time() {
    let mut all = sessions("T1+ T2- | T3+ T2= T2+ | T4+");
    for (session, entries) in all.iter_mut().enumerate() {
        for (place, entry) in entries.iter_mut().enumerate() {
            entry.set(Field::Ended, (place * 10 + session) * 60_000);
        }
        begin(entries, (session < 2).then_some(session + 1));
    }
    let views = views(&all);
    let beside: Vec<&SessionView> = views.iter().filter(|view| view.is_beside(&views[1])).collect();
    assert_eq!(beside.iter().map(|view| &view.id).collect::<Vec<_>>(), [&id(0), &id(1)]);
    assert!(!views[2].is_beside(&views[0]) && views[2].is_beside(&views[2]));
    let group = SessionView::joined(&beside);
    let order: Vec<String> =
        group.iterations().map(|entry| format!("{}{}", entry.session(), entry.task().unwrap())).collect();
    let expected = [(0, "T1"), (1, "T3"), (0, "T2"), (1, "T2"), (1, "T2")];
    assert_eq!(order, expected.map(|(session, task)| format!("{}{task}", id(session))));
    let totals = group.totals();
    assert_eq!((totals.attempts, totals.succeeded, totals.failed, totals.runs), (4, 3, 1, 1));
    // What the other loop began between is no resumption.
    assert_eq!(totals.cut_short, views[1].totals().cut_short);
    assert!(group.has(&id(1)) && !group.has(&id(2)));
    assert_eq!(super::short_names(beside).name(&id(1), 2), "2:2");
    assert_eq!(SessionView::joined(&[&views[2]]).entries, views[2].entries);
}

#[test]
fn lists_have_one_row_for_a_group() {
    let mut all = sessions("T1+ T2=:1 T2+:2 > completed | T3+:4 T4-a | T9+");
    for (session, entries) in all.iter_mut().enumerate() {
        begin(entries, (session < 2).then_some(session + 1));
        for (place, entry) in entries.iter_mut().enumerate() {
            // The second is half a minute behind the first, and goes on for longer.
            entry.set(
                Field::Ended,
                place * 60_000 + session * 30_000 + if session == 1 && place == 2 { 300_000 } else { 0 },
            );
        }
    }
    let runs = SessionView::merge_groups(&views(&all));
    let ids: Vec<_> = runs.iter().map(|run| run.sessions().cloned().collect::<Vec<_>>()).collect();
    assert_eq!(ids, [vec![id(0), id(1)], vec![id(2)]]);
    let names =
        |run: &SessionView| run.iterations().map(|one| run.name_of(&one.id())).collect::<Vec<_>>().join(" ");
    assert_eq!((names(&runs[0]), names(&runs[1])), ("1:1 2:1 1:2 1:3 2:2".to_owned(), "1".to_owned()));
    let totals = runs[0].totals();
    assert_eq!((totals.attempts, totals.failed, totals.cost.usd, totals.runs), (4, 1, Some(7.0), 1));
    // It went on with the next of its own session, not with what ended next beside it.
    let cut = &totals.cut_short[0];
    let next = all[0][3].started_at();
    assert_eq!((cut.session.clone(), cut.iteration, cut.resumed_at), (id(0), 2, Some(next)));
    // That the first has ended is not the end of all.
    assert_eq!(runs[0].stop_reason(), None);
    let [first, second] = [(id(0), 2), (id(1), 2)].map(|(session, number)| AttemptId { session, number });
    let tasks = [first, second].map(|id| runs[0].attempt(&id).and_then(|one| one.task().map(str::to_owned)));
    assert_eq!(tasks, ["T2", "T4"].map(|task| Some(task.to_owned())));
}
