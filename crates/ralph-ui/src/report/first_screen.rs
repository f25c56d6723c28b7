//! What a reader sees first: the verdict, four facts, what needs the user with its command, and the states of the tasks.

use std::collections::{BTreeSet, HashMap};

use indexmap::IndexMap;
use minijinja::{Value, context};

use crate::ending::{self, capital};
use crate::local_time::{clock, describe_remote_run, local};
use crate::needs::{
    ANOTHER_VALIDATION, files_and_lines, flag_words, gone_commands, need_commands, never_left_out, scoped,
    waiters,
};
use crate::review::{FileKind, Review};
use crate::status::{time_left, waiting_words};
use crate::style::{
    brief_duration, counted, cut, dollars, grouped, in_runs, joined, minutes, phase_title, rough, short,
    times,
};
use ralph_core::history::clusters::message;
use ralph_core::judge::is_test_file;
use ralph_core::progress::first_sentence;
use ralph_core::record::{
    Cost, DiffStat, FailureClass, FileChange, FlagCode, FlaggedTask, Need, NeedKind, Outcome,
    RALPH_ELSEWHERE, Status, StopReason, TaskName, TaskStates, hint_command_of, join_truncated, last_words,
    quoted_for_shell,
};

use super::attempts::given_up;
use super::headline::time;
use super::html_escape::one_line;
use super::strip::{BREAKS, gaps};
use super::{Diff, Report, ReportIteration, State, TaskRow};

/// Most tasks that need the user, and most names in a list.
const MAX_NEEDS: usize = 20;
const MAX_NAMES: usize = 6;
/// Longest words from outside, in characters.
const MAX_CHARS: usize = 300;
/// Most cells of tasks; phases behind them have their counts alone.
const MAX_CELLS: usize = 500;

/// The first numbers as words.
const WORDS: [&str; 11] =
    ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];

fn in_words(count: usize) -> String {
    WORDS.get(count).map_or_else(|| grouped(count as u64), |word| (*word).to_owned())
}

/// `Two questions`
fn spelled(count: usize, noun: &str) -> String {
    format!("{} {noun}{}", in_words(count), if count == 1 { "" } else { "s" })
}

/// How many tasks are done, and how many things need the user: `31 of 35 tasks done. Two need you.`
pub(super) fn title(states: TaskStates, needs: usize, is_running: bool) -> String {
    let done = capital(&ending::done(states.done, states.total()));
    let so_far = if is_running { " so far" } else { "" };
    match needs {
        0 => format!("{done}{so_far}."),
        1 => format!("{done}{so_far}. One needs you."),
        several => format!("{done}{so_far}. {} need you.", capital(&in_words(several))),
    }
}

/// What needs the user, and why it stopped otherwise, in sentences.
pub(super) fn more(report: &Report, needs: &[&Need]) -> String {
    let [asking, refused, failing] = [NeedKind::Asks, NeedKind::Policy, NeedKind::Fails]
        .map(|why| needs.iter().filter(|need| need.why == why).count());
    let asks = (asking > 0).then(|| format!("{} to answer", spelled(asking, "question")));
    let refused = (refused > 0).then(|| format!("{} refused by the provider", spelled(refused, "task")));
    let fails = match failing {
        0 => None,
        1 => {
            let need = needs.iter().find(|need| need.why == NeedKind::Fails);
            let tries = need.map_or(0, |need| attempts_of(report, need).len());
            let is_test =
                need.is_some_and(|need| need.cause.as_deref().is_some_and(|cause| cause.contains('›')));
            let what = if is_test { "test" } else { "check" };
            Some(format!("one {what} that {} did not pass", spelled(tries.max(1), "attempt")))
        }
        several => Some(format!("{} given up", spelled(several, "task"))),
    };
    let is_other =
        |need: &&&Need| need.task.is_none() || matches!(need.why, NeedKind::Gone | NeedKind::Accept);
    let others = needs.iter().filter(is_other).map(|need| need.subject());
    let parts: Vec<String> = [asks, refused, fails].into_iter().flatten().chain(others).collect();
    let elsewhere = report.running.elsewhere.as_ref();
    let mut sentences: Vec<String> =
        elsewhere.map(|run| format!("It is {}.", describe_remote_run(run))).into_iter().collect();
    if !parts.is_empty() {
        sentences.push(format!("{}.", capital(&parts.join(", "))));
    }
    let waiting = &report.summary.waiting;
    if report.is_latest && !waiting.is_empty() && asking + failing > 0 {
        let wait = if waiting.len() == 1 { "waits" } else { "wait" };
        let it =
            if waiting.iter().all(|one| one.dependency == waiting[0].dependency) { "it" } else { "them" };
        sentences.push(format!("{} {wait} for {it}.", capital(&spelled(waiting.len(), "more task"))));
    }
    if report.session.began_red(report.session_totals().succeeded) {
        sentences.insert(0, format!("{}.", capital(ending::BEGAN_RED)));
    }
    let reason = report.session.stop_reason;
    let is_fault = reason.and_then(NeedKind::of_ending).is_some();
    let is_said = (is_fault || reason == Some(StopReason::Stuck)) && !needs.is_empty();
    let is_running = report.session.status == Status::Running;
    let stop = ending::stop(&report.session, ending::stuck(report.left_open()).as_deref());
    sentences.extend(stop.filter(|_| !is_said && !is_running).map(|stop| format!("{}.", capital(&stop))));
    let hint = report.session.ended_by.and_then(|by| by.hint()).filter(|_| !is_running);
    sentences.extend(hint.map(|hint| format!("{}.", capital(hint))));
    if needs.is_empty() && !is_running {
        sentences.push("Nothing needs you.".to_owned());
    }
    sentences.join(" ")
}

/// Cost, changes, time and attempts, each with more of it.
pub(super) fn facts(report: &Report) -> Value {
    let totals = report.session_totals();
    let tokens = report.totals.tokens.total().map(|tokens| format!("{} tokens", short(tokens)));
    let cost = Cost { usd: totals.cost.usd, is_partial: false }.shown().or(tokens);
    let limit = report.session.budget().max_cost.filter(|_| report.session.status == Status::Running);
    let cost = cost.map(|cost| limit.map_or(cost.clone(), |limit| format!("{cost} of {}", Cost::of(limit))));
    let [failed_usd, lost_usd] = [totals.cost.failed_usd, totals.cost.not_done_usd.filter(|usd| *usd > 0.0)];
    let changed = report.changes.as_ref().map(|changes| {
        let DiffStat { files, added, removed } = changes.stat();
        let value = match files {
            0 => "nothing".to_owned(),
            files => format!("{}, +{} −{}", counted(files as u64, "file"), grouped(added), grouped(removed)),
        };
        let branch = report.session.branch.as_ref().filter(|_| report.session.lane.is_some());
        let state = report.uncommitted.filter(|_| files > 0).map(|uncommitted| match (uncommitted, branch) {
            (0, Some(branch)) => format!("committed on {}", one_line(branch)),
            (0, None) => "committed".to_owned(),
            (some, _) if some < files => format!("{} not committed", grouped(some as u64)),
            _ => "not committed".to_owned(),
        });
        context! { files, value, state, is_open => report.uncommitted != Some(0) }
    });
    let mut idle: IndexMap<&str, u64> = IndexMap::new();
    for (_, [_, why], took) in gaps(report) {
        *idle.entry(why).or_default() += took;
    }
    let idle = idle.iter().filter(|(name, _)| !BREAKS.contains(name));
    let idle = idle.map(|(name, ms)| Some(format!("{} {name}", minutes(*ms))));
    let away = report.session.totals.away_ms;
    let idle = idle.chain([(away >= 60_000).then(|| format!("without {} stopped", minutes(away)))]);
    let own = report.summary.solved_attempts.iter().filter(|attempt| report.is_own(&attempt.session));
    let solved = own.count();
    let validation = report.summary.validation.as_ref().map(|now| {
        let since = now.since().unwrap_or_else(|| format!("as of {}", local(report.made_at)));
        let more = joined([now.details(), Some(since)], " · ").map(|more| words(&more));
        context! { verb => now.verb(), more, is_red => !now.passes }
    });
    context! {
        validation,
        cost => cost.unwrap_or_else(|| "unknown".to_owned()),
        failed_usd => failed_usd.map(dollars),
        lost_usd => lost_usd.map(dollars),
        is_part => lost_usd <= failed_usd,
        without => ending::cost_without(&totals.cost),
        changed,
        time => minutes(report.headline.worked_ms) + &in_runs(report.session.totals.runs),
        idle => joined(idle, ", "),
        attempts => grouped(totals.attempts as u64),
        clean => report.session.clean.as_ref().map(|check| capital(&words(&check.line()))),
        failed => if totals.failed == 0 { "none failed".to_owned() } else { ending::failed(totals.failed, solved) },
    }
}

/// What leads to an attempt that changed something.
const TO_DIFF: &str = "Diff of attempt";

fn attempts_of<'a>(report: &'a Report, need: &Need) -> Vec<&'a ReportIteration> {
    report.iterations.iter().filter(|one| one.record.is_attempt() && one.record.task == need.task).collect()
}

/// The cards of what needs the user.
pub(super) fn cards(report: &Report) -> Vec<Value> {
    report.needs().into_iter().take(MAX_NEEDS).map(|need| card(report, need)).collect()
}

fn card(report: &Report, need: &Need) -> Value {
    let cause = need.cause.as_deref().map(words).unwrap_or_default();
    let resume = resume(report);
    let Some(task) = need.task.as_ref().filter(|_| need.why != NeedKind::Gone) else {
        let gone = need_commands(RALPH_ELSEWHERE, &report.summary, need, None);
        let resume = match need.why {
            NeedKind::Agent => resume,
            NeedKind::Validation => resume.map(|resume| resume + ANOTHER_VALIDATION),
            _ => None,
        };
        let command = gone.into_iter().next().or(resume);
        let last = need.iteration.and_then(|number| report.number_of(&need.session, number));
        return context! {
            class => "bad", tag => format!("! {}", capital(&need.subject())), err => error(None, cause), command, last, to_last => TO_DIFF, meta => "", undone => "",
        };
    };
    let attempts = attempts_of(report, need);
    let all = &report.summary.totals;
    let usd = report.session_totals().task_costs.get(task).copied();
    let (tries, cost) = scoped(task, attempts.len(), usd, all);
    let waits = waiters(&report.summary, task).map(|names| format!("{names} for it"));
    let is_question = need.why == NeedKind::Asks;
    let asked = attempts.iter().filter(|one| one.record.failure_class.is_some_and(FailureClass::is_question));
    let in_all = report.summary.tried_since.get(task).map_or(0, |(_, count)| *count);
    let times = match asked.count() {
        asked if is_question && in_all > asked => {
            format!("asked {} tonight, {} in all", times(asked), times(in_all))
        }
        asked if is_question => format!("asked {}", times(asked)),
        _ => tries,
    };
    let (question, rest) = match cause.split_once("? ") {
        Some((question, rest)) if is_question => (format!("{}?", capital(question)), rest.to_owned()),
        _ => (capital(&cause), String::new()),
    };
    // The last one may have found all of it written by those before it.
    let last = attempts.iter().rfind(|one| one.diff != Diff::Nothing).or(attempts.last());
    let last = last.map(|one| one.record.iteration);
    let given_up = attempts.iter().rev().find_map(|one| given_up(report, &one.record));
    let is_idle = attempts.iter().all(|one| one.record.files_changed.is_empty());
    let undone = given_up.map(|words| {
        if is_idle {
            return "It changed no file.";
        }
        let is_undone = words.contains("undone");
        if is_undone { "Its changes were undone." } else { "Its changes are in the work tree." }
    });
    let files = report.changes.iter().flat_map(|changes| &changes.files);
    let unfinished: Vec<_> = files.filter(|file| file.is_unfinished && file.tasks.contains(task)).collect();
    let lines: u64 = unfinished.iter().filter_map(|file| file.change.added).sum();
    let hint = hint_command_of(RALPH_ELSEWHERE, Some(&report.session.id), task);
    let accept = need_commands(RALPH_ELSEWHERE, &report.summary, need, None).into_iter().next();
    let shown = attempts.iter().map(|one| {
        let spent = joined([Some(brief_duration(time(one))), one.record.cost().shown()], " ");
        let said = Some(first_sentence(&one.record.facts.final_message)).filter(|said| !said.is_empty());
        let tried = Some(one.record.approaches.join(", ")).filter(|tried| !tried.is_empty());
        let what = joined([tried, said.or_else(|| Some(message(&one.record)))], " — ");
        context! { n => one.record.iteration, spent, what => what.map(|what| words(&what)) }
    });
    context! {
        class => if is_question || accept.is_some() { "ask" } else { "bad" },
        tag => if is_question { "? Question" } else if accept.is_some() { "? Asks for acceptance" } else { "✘ Fails" },
        task, rest, undone, last, to_last => if is_idle { "Attempt" } else { TO_DIFF },
        meta => joined([Some(times), Some(cost).filter(|cost| !cost.is_empty()), waits], " · "),
        title => report.tasks.iter().find(|row| row.name == *task).map(|row| one_line(&row.text)),
        question => is_question.then_some(question),
        err => error(attempts.last().copied(), cause),
        attempts => shown.collect::<Vec<_>>(),
        take_back => take_back(report, &attempts, &unfinished),
        unfinished => (lines > 0).then(|| counted(lines, "unfinished line")),
        folder => unfinished.first().map(|file| file.change.path.rsplit_once('/').map_or(file.change.path.as_str(), |(folder, _)| folder)),
        command => match resume.filter(|_| is_question) {
            Some(resume) => format!("{hint} &&\n{resume}"),
            None => accept.unwrap_or(hint),
        },
    }
}

/// Tasks that asked and have an answer for their next prompt.
pub(super) fn answered(report: &Report) -> Vec<String> {
    let answered = report.summary.answered.iter().filter(|_| report.is_latest);
    answered.map(|task| one_line(&format!("{} {}", task.task, task.words()))).collect()
}

/// The command that restores `files` as they were before the attempts; `None` for a long list, and where a name cannot be
/// shown as it is.
fn take_back(
    report: &Report,
    attempts: &[&ReportIteration],
    files: &[&super::ReportedFile],
) -> Option<String> {
    // In a lane nothing is left unfinished.
    let is_wanted = resume(report).is_some() && !report.is_group();
    let before = attempts.first().filter(|_| is_wanted)?.record.iteration - 1;
    let paths = files.iter().map(|file| &file.change.path);
    // From the top, wherever it is run.
    let from_top = |path: &String| format!("':(top){}'", path.replace('\'', "'\\''"));
    let paths = paths.map(|path| (one_line(path) == *path).then(|| from_top(path)));
    let paths = paths.collect::<Option<Vec<_>>>().filter(|paths| (1..=MAX_NAMES).contains(&paths.len()))?;
    let lines = [format!("{RALPH_ELSEWHERE} restore {}:{before} --", report.session.id)];
    Some(lines.into_iter().chain(paths).collect::<Vec<_>>().join(" \\\n  "))
}

/// What failed, where, and what was expected.
fn error(last: Option<&ReportIteration>, cause: String) -> Value {
    let first = last.and_then(|last| last.record.facts.errors.first()).filter(|error| !error.id.is_empty());
    let Some(error) = first else {
        return context! { id => cause, file => "", lines => Vec::<String>::new() };
    };
    // The cause has the line, too.
    let place = cause.rsplit_once('(').map(|(_, place)| place.trim_end_matches(')'));
    let file = place.filter(|place| place.starts_with(&error.file)).unwrap_or(&error.file);
    let lines = [&error.message].into_iter().chain(&error.values).map(|line| words(line));
    context! { id => words(&error.id), file => one_line(file), lines => lines.collect::<Vec<_>>() }
}

/// How to go on; `None` while it runs, and where all is done.
pub(super) fn resume(report: &Report) -> Option<String> {
    let is_over = !matches!(report.session.status, Status::Running | Status::Completed);
    let (id, flags) = (&report.session.id, report.session.budget().flags_to_go_on());
    is_over.then(|| format!("{RALPH_ELSEWHERE} resume {id}{flags}"))
}

/// What runs, or what the loop waits for.
pub(super) fn now(report: &Report) -> Option<Value> {
    if let Some(waiting) = &report.running.waiting {
        return Some(context! { waiting => one_line(&waiting_words(waiting, report.made_at)) });
    }
    if let [(session, ..), ..] = report.running.workers.as_slice() {
        let workers = report.running.workers.iter().map(|(_, lane, begin)| {
            let begin = begin.as_ref();
            let task = begin.map(|begin| one_line(&format!("{} {}", begin.task.name, begin.task.text)));
            context! {
                lane,
                task => task.unwrap_or_else(|| "merges, or waits for a task".to_owned()),
                more => begin.map(|begin| format!("attempt {} · since {}", begin.attempt, clock(begin.started_at))),
            }
        });
        return Some(context! { workers => workers.collect::<Vec<_>>(), session => session.as_str() });
    }
    let begin = report.running.begin.as_ref()?;
    let task = &begin.task.name;
    let tries = report.iterations.iter().filter(|one| one.record.task.as_ref() == Some(task));
    let failures: Vec<_> = tries.filter(|one| one.record.outcome == Outcome::Failure).collect();
    let last = failures.last().map(|last| (times(failures.len()), message(&last.record)));
    let last = last.map(|(times, cause)| words(&format!("failed {times}: {cause}")));
    let totals = report.session_totals();
    let open = report.summary.tasks.open + report.summary.tasks.waits;
    let left = time_left(totals.took.total().unwrap_or_default(), totals.closed.len(), open);
    let limit = report.session.configuration.get("timeout").and_then(|limit| limit.as_str());
    Some(context! {
        left => left.map(|ms| format!("about {} left", rough(ms))),
        limit => limit.map(|limit| format!("limit {}", one_line(limit))),
        task, last,
        text => one_line(&begin.task.text),
        attempt => begin.attempt,
        clock => clock(begin.started_at),
        hint => hint_command_of(RALPH_ELSEWHERE, Some(&report.session.id), task),
    })
}

/// The phases with a cell for each task.
pub(super) fn phases(report: &Report) -> Vec<Value> {
    let mut needs: HashMap<&str, NeedKind> = HashMap::new();
    needs.extend(report.needs().into_iter().filter_map(|need| Some((need.task.as_deref()?, need.why))));
    let waiting: HashMap<&str, &str> =
        report.summary.waiting.iter().map(|one| (one.task.as_str(), one.dependency.as_str())).collect();
    let of_group = report.running.workers.iter().filter_map(|(.., begin)| begin.as_ref());
    let running = report.running.begin.iter().chain(of_group);
    let running: Vec<&str> = running.map(|begin| begin.task.name.as_str()).collect();
    let mut room = MAX_CELLS;
    let phases = report.tasks.chunk_by(|one, other| one.phase == other.phase).map(|tasks| {
        let done = tasks.iter().filter(|task| is_done(task)).count();
        let shown = tasks.iter().filter(|_| tasks.len() <= room).map(|task| {
            let name = &task.name;
            match (needs.get(name.as_str()), waiting.get(name.as_str())) {
                _ if is_done(task) => ("", String::new()),
                _ if running.contains(&name.as_str()) => ("n", format!("{name} runs")),
                (Some(NeedKind::Asks), _) => ("q", format!("{name} asks")),
                (Some(NeedKind::Accept), _) => ("q", format!("{name} asks for acceptance")),
                (Some(NeedKind::Policy), _) => ("q", format!("{name} is refused by the provider")),
                (Some(_), _) => ("x", format!("{name} fails")),
                (None, Some(dependency)) => ("w", format!("{name} waits for {dependency}")),
                (None, None) => ("o", format!("{name} is open")),
            }
        });
        let cells: Vec<_> = shown.collect();
        room -= cells.len();
        let open: Vec<&str> =
            cells.iter().map(|(_, words)| words.as_str()).filter(|words| !words.is_empty()).collect();
        let label = format!("{done} of {} done. {}", tasks.len(), join_truncated(&open, MAX_NAMES));
        let name = tasks[0].phase.as_deref().map_or("Tasks", phase_title);
        context! { name, done, all => tasks.len(), cells, label }
    });
    phases.take(MAX_CELLS).collect()
}

fn is_done(task: &TaskRow) -> bool {
    matches!(task.state, State::Done | State::DoneBefore)
}

/// Words from outside, on a line.
pub(super) fn words(text: &str) -> String {
    cut(&one_line(text), MAX_CHARS)
}

/// Where all is done and nothing needs anybody: what to look at, in this order. Tests decide whether the rest is right.
pub(super) fn review(report: &Report) -> Vec<Value> {
    let is_over = report.session.status != Status::Running && report.states().total() > 0;
    let Some(changes) = report.changes.as_ref().filter(|_| is_over && report.states().left() == 0) else {
        return Vec::new();
    };
    if !report.needs().is_empty() || changes.files.is_empty() {
        return Vec::new();
    }
    let files = changes.files.iter().map(|file| &file.change);
    let review = Review::of(files.clone());
    let code: Vec<&FileChange> = files.filter(|file| FileKind::of(&file.path) == FileKind::Code).collect();
    let stat = |files: &[&FileChange]| {
        files_and_lines(DiffStat::of(files.iter().map(|file| (file.added, file.removed))))
    };
    let none: Vec<u32> = Vec::new();
    let mut rows = Vec::new();
    if review.tests.files > 0 {
        let more = format!("{} that agents wrote or changed", files_and_lines(review.tests));
        rows.push(context! { what => "Tests", more, links => &none, href => "#tests", link => "open" });
    }
    if let Some(words) = review.settings_words() {
        let more = one_line(&words);
        rows.push(context! { what => "Settings", more, links => &none, href => "#changes", link => "open" });
    }
    let failed = report.iterations.iter().filter(|one| one.record.outcome == Outcome::Failure);
    let wrong: BTreeSet<&TaskName> = failed.filter_map(|one| one.record.task.as_ref()).collect();
    for row in report.tasks.iter().filter(|row| wrong.contains(&row.name)).take(MAX_NAMES) {
        let own = report
            .iterations
            .iter()
            .map(|one| &one.record)
            .filter(|one| one.task.as_ref() == Some(&row.name));
        let failed = own.clone().filter(|one| one.outcome == Outcome::Failure);
        let cause = failed.clone().next_back().map(message).unwrap_or_default();
        let more = format!("was wrong {}: {}", times(failed.count()), words(&cause));
        let links: Vec<u32> = own.map(|one| one.iteration).collect();
        rows.push(context! { what => one_line(&row.name), more, links, href => "", link => "" });
    }
    if !code.is_empty() {
        let mut largest = code.clone();
        largest.sort_by_key(|change| std::cmp::Reverse(change.added.unwrap_or_default()));
        let names: Vec<String> = largest.iter().take(2).map(|change| one_line(&change.path)).collect();
        let more = format!("{}, largest: {}", stat(&code), names.join(", "));
        rows.push(context! { what => "Code", more, links => &none, href => "#changes", link => "open" });
    }
    rows
}

/// The way of what is done to the main branch, and to who looks at it.
pub(super) fn way(report: &Report) -> Vec<String> {
    let is_open = report.uncommitted.is_some_and(|files| files > 0);
    let merge = report.session.branch.as_ref().filter(|_| report.session.lane.is_some());
    let merge = merge.map(|branch| format!("git merge {}", quoted_for_shell(branch)));
    let commit = is_open.then(|| "git add --all && git commit".to_owned());
    let request = format!("{RALPH_ELSEWHERE} report --session {} --markdown", report.session.id);
    merge.or(commit).into_iter().chain([request]).collect()
}

/// The commands about a task that is done and flagged, each with what is said in front of it.
pub(super) fn flag_commands(report: &Report, task: &FlaggedTask) -> Vec<(&'static str, String)> {
    let feature = Some(report.summary.feature.as_str());
    if task.flags == [FlagCode::Gone] {
        let [restore, accept] = gone_commands(RALPH_ELSEWHERE, feature, &task.task);
        return vec![("", restore), ("right so:", accept)];
    }
    let diff = task.iteration.map(|number| ("", format!("{RALPH_ELSEWHERE} diff {}:{number}", task.session)));
    let [accept, reopen] = last_words(RALPH_ELSEWHERE, feature, &task.task);
    diff.into_iter().chain([("right so:", accept), ("else:", reopen)]).collect()
}

/// What else is worth a look; of tests, `is_reviewed` says that they are named already.
pub(super) fn also(report: &Report, is_reviewed: bool) -> Vec<Value> {
    let mut items = Vec::new();
    let claims = report.false_claims();
    if !claims.is_empty() {
        let were = if claims.len() == 1 { "was" } else { "were" };
        let what = format!("{} wrong “done”", claims.len());
        items.push(context! { what, more => format!("{were} caught and reopened:"), links => claims });
    }
    let flagged = &report.summary.flagged;
    let most = MAX_NEEDS.max(never_left_out(flagged));
    for task in flagged.iter().take(most) {
        let own = task.iteration.and_then(|number| report.number_of(&task.session, number));
        let more = format!("is done, but look: {}", words(&flag_words(task)));
        let what = format!("⚑ {}", one_line(&task.task));
        let commands = flag_commands(report, task);
        items.push(context! { what, more, commands, links => own.into_iter().collect::<Vec<_>>() });
    }
    if flagged.len() > most {
        let more = format!("done and flagged: {RALPH_ELSEWHERE} log --flagged");
        items.push(context! { what => format!("⚑ {} more", flagged.len() - most), more });
    }
    let secrets = report.redacted();
    let files = report.changes.iter().flat_map(|changes| &changes.files);
    let tests = files.filter(|file| is_test_file(&file.change.path)).count();
    let learnings: BTreeSet<&String> =
        report.iterations.iter().flat_map(|one| &one.record.learnings).collect();
    let hints = report.session.hints.len();
    for (count, noun, more, links, href, link) in [
        (secrets.len(), "attempt", "had secrets, which were taken out of the record:", secrets, "", ""),
        (hints, "hint", "of yours: no prompt took it", Vec::new(), "", ""),
        (
            if is_reviewed { 0 } else { tests },
            "test file",
            "written or changed by the agent:",
            Vec::new(),
            "#changes",
            "review first",
        ),
        (learnings.len(), "learning", "for the next night:", Vec::new(), "#learned", "show"),
    ] {
        if count > 0 {
            items.push(context! { what => counted(count as u64, noun), more, links, href, link });
        }
    }
    items
}
