//! The state of a feature.

use serde::Serialize;
use serde_json::Value;
use tasklist::Group;

use ralph_core::record::{
    Changes, CleanCheck, Cost, EndedBy, FailureClass, Outcome, QueuedTask, RALPH, SessionId, Status,
    StopReason, Summary, TaskName, Timestamp, Waiting,
};
use ralph_store::RemoteRun;

use super::ending::{BEGAN_RED, attempts_and_failures, cost_without, cut_short, feature_name, interrupted};
use super::local_time::{clock_or_date, describe_remote_run, short_day};
use super::needs::{changed_and_committed, files_and_lines, names, next_commands, rows, validation};
use super::review::Review;
use super::style::{
    Look, Screen, ago, clock_span, columns, counted, cut, in_runs, one_line, ordinal, phase_name, rough,
    sign, times, tokens_by_kind,
};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FeatureStatus {
    pub feature: String,
    /// `{"done", "open", "skipped"}`
    pub tasks: Value,
    /// In the order of the list.
    pub phases: Vec<Group>,
    pub stories: Vec<Group>,
    /// The session, or its group as one.
    pub session: Option<SessionStatus>,
    /// Set for a group.
    #[serde(flatten)]
    pub group: Option<GroupStatus>,
    /// Questions that wait in other features.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<QuestionElsewhere>,
    pub summary: Summary,
}

/// What several loops on one branch are at.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct GroupStatus {
    /// In the order of their lanes.
    pub workers: Vec<WorkerStatus>,
    /// Results that wait to be merged.
    pub queued: Vec<QueuedTask>,
}

/// What one of them is at.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkerStatus {
    pub session: SessionId,
    pub lane: Option<u32>,
    /// What it works on; null between two attempts, and while it merges.
    pub task: Option<TaskName>,
    /// The phase of its attempt, `integration`, `waiting` for a limit or for the others, or the status of its session.
    pub state: String,
    /// Since when it has the task, or merges; else the time of its last record.
    pub since: Timestamp,
    /// Why it waits for its agent.
    #[serde(skip)]
    pub waiting: Option<Waiting>,
    /// What its agent does.
    #[serde(skip)]
    pub doing: Option<String>,
    #[serde(skip)]
    pub is_running: bool,
}

/// A question of another feature.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QuestionElsewhere {
    pub feature: String,
    pub task: TaskName,
    /// When it was asked first; null if that is not known.
    pub since: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionStatus {
    pub id: SessionId,
    pub status: Status,
    /// The number of its lane; null if it works in a work tree of the user's.
    pub lane: Option<u32>,
    /// The branch that was checked out, or that its lane publishes on.
    pub branch: Option<String>,
    /// Set for a session that runs on another machine.
    pub elsewhere: Option<RemoteRun>,
    pub stop_reason: Option<StopReason>,
    /// What interrupted it, as `ended_by` and `signal`.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<EndedBy>,
    /// Attempts.
    pub iterations: usize,
    #[serde(flatten)]
    pub cost: Cost,
    /// The process of a running session.
    pub pid: Option<u32>,
    /// The task of the running iteration, or of the last one.
    pub task: Option<TaskName>,
    pub started_at: Timestamp,
    /// When its newest record was written; `None` while it runs.
    pub ended_at: Option<Timestamp>,
    /// The iteration that runs.
    pub in_flight: Option<InFlight>,
    /// What a running session is at: `prompt`, `agent`, `validation`, `recording`, `waiting`.
    pub phase: Option<String>,
    /// What a running session waits for.
    pub waiting: Option<Waiting>,
    /// What a running session was asked for.
    pub is_stopping: bool,
    /// Hints of the feature that wait for a prompt.
    pub hints: usize,
    /// What a session that died left behind.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_running: Vec<LeftRunning>,
    /// The last check in a clean checkout; left out if there was none since the last success.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clean: Option<Box<CleanCheck>>,
    #[serde(skip)]
    pub shown: Shown,
}

/// What people see of a session beside its JSON.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shown {
    /// When it was started or resumed last.
    pub begun_at: Option<Timestamp>,
    /// How long no loop was at work on it.
    pub away_ms: u64,
    /// How often it was started or resumed.
    pub runs: usize,
    pub max_cost: Option<f64>,
    /// The flags with which `resume` goes on, each behind a blank.
    pub resume_flags: String,
    /// True if the validation failed before the first attempt, and never passed since.
    pub began_red: bool,
    /// True if it is what commands mean where no session is named.
    pub is_newest: bool,
    /// How many commits of its lane are not in HEAD, and the command that brings them there.
    pub unmerged: Option<(u64, String)>,
    /// `None` without snapshots.
    pub changes: Option<Changes>,
    /// What of that is looked at first.
    pub review: Review,
    /// Which attempt at its task runs.
    pub attempt: u32,
    /// What the agent does.
    pub doing: Option<String>,
    /// Why earlier attempts at the running task failed, the newest last.
    pub failures: Vec<String>,
    /// The last attempts, the newest first.
    pub last: Vec<(Outcome, TaskName, Timestamp)>,
    /// How long the rest takes at the pace of the session, in milliseconds.
    pub left_ms: Option<u64>,
}

/// A process that outlived its loop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftRunning {
    pub pid: i32,
    pub name: String,
}

/// An iteration whose agent or validation is at work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InFlight {
    pub iteration: u32,
    pub agent: String,
    pub started_at: Timestamp,
}

/// Most columns of the name of a phase.
const MAX_PHASE: usize = 24;

const INDENT: &str = "  ";

/// Fewest tasks of which the pace is known.
const MIN_CLOSED: usize = 3;

/// Returns the lines of the screen, of at most `width` columns.
pub fn lines(status: &FeatureStatus, now: Timestamp, screen: Screen) -> Vec<String> {
    let running = status.session.as_ref().filter(|session| is_running(session));
    let mut facts = if running.is_some() { Vec::new() } else { groups(status, screen) };
    facts.extend(match &status.session {
        Some(session) => session_facts(session, &status.summary, screen),
        None => screen.hanging(INDENT, &format!("no session yet: start one with `{RALPH}`")),
    });
    let next = status.session.as_ref().and_then(|session| next(session, &status.summary));
    let by =
        status.session.as_ref().filter(|session| !is_running(session)).and_then(|session| session.ended_by);
    let hint = by.and_then(|by| by.hint()).map(|hint| screen.hanging("  hint: ", hint));
    let is_red = status.session.as_ref().is_some_and(|session| session.shown.began_red);
    let mut first = if is_red { screen.painted(Look::Warn, "", BEGAN_RED) } else { Vec::new() };
    first.extend(head(status, now, screen));
    let names = names(&status.summary);
    let newest = status.session.as_ref().filter(|session| session.shown.is_newest).map(|_| &names);
    let parts = [
        first,
        running.map(|session| at_work(session, status.group.as_ref(), now, screen)).unwrap_or_default(),
        rows(&status.summary, newest, screen),
        elsewhere(status, screen),
        facts,
        hint.into_iter().flatten().chain(next_lines(&next.unwrap_or_default(), screen)).collect(),
    ];
    let parts: Vec<Vec<String>> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(&String::new())
}

/// `elsewhere  ? 003-search: T005 asks since 25 Nov`
fn elsewhere(status: &FeatureStatus, screen: Screen) -> Vec<String> {
    let questions = status.elsewhere.iter().flat_map(|QuestionElsewhere { feature, task, since }| {
        let since = since.map_or(String::new(), |at| format!(" since {}", short_day(at)));
        let words = format!("? {}: {task} asks{since}", feature_name(feature));
        screen.painted(Look::Warn, "  elsewhere  ", &one_line(&words))
    });
    questions.collect()
}

fn session_facts(session: &SessionStatus, summary: &Summary, screen: Screen) -> Vec<String> {
    let Shown { changes, unmerged, .. } = &session.shown;
    let mut facts = validation(summary, session.shown.began_red, INDENT, screen);
    if let Some(changes) = changes.filter(|_| !is_running(session)) {
        facts.extend(screen.hanging(INDENT, &changed_and_committed(changes)));
        if session.status == Status::Completed {
            let Review { tests, .. } = &session.shown.review;
            let tests = (tests.files > 0).then(|| format!("tests: {}", files_and_lines(*tests)));
            let settings = session.shown.review.settings_words().map(|words| one_line(&words));
            let first = [tests, settings].into_iter().flatten().collect::<Vec<_>>().join("; ");
            facts.extend(
                (!first.is_empty())
                    .then(|| screen.hanging(INDENT, &format!("review first {first}")))
                    .into_iter()
                    .flatten(),
            );
        }
    }
    let clean = session.clean.as_ref().filter(|_| !is_running(session)).map(|check| one_line(&check.line()));
    facts.extend(clean.iter().flat_map(|words| screen.hanging(INDENT, words)));
    if let (Some(_), Some(branch)) = (session.lane, &session.branch) {
        let ahead = unmerged.as_ref().map_or(String::new(), |(commits, command)| {
            let command = if is_running(session) { String::new() } else { format!(": {command}") };
            format!(", {} ahead of HEAD{command}", counted(*commits, "commit"))
        });
        let lanes = summary.session.as_ref().map_or(0, |part| part.names.lanes().len());
        let lanes = if lanes > 1 { format!("{lanes} lanes") } else { "a lane".to_owned() };
        facts.extend(screen.hanging(INDENT, &one_line(&format!("in {lanes} on {branch}{ahead}"))));
    }
    let part = summary.session.as_ref();
    if is_running(session) {
        let without = part.and_then(|part| cost_without(&part.totals.cost));
        facts.extend(without.iter().flat_map(|words| screen.hanging(INDENT, words)));
    } else if let Some(totals) = part.map(|part| &part.totals).filter(|totals| totals.attempts > 0) {
        facts.extend(screen.hanging(INDENT, &attempts_and_failures(totals, summary)));
        let spans = [(totals.took.agent, "agents"), (totals.took.validation, "validations")]
            .into_iter()
            .filter_map(|(took, who)| Some(format!("{who} {}", clock_span(took.filter(|ms| *ms >= 1000)?))));
        let spans: Vec<String> = spans.chain(cut_short(totals)).collect();
        facts.extend(screen.parts(INDENT, &spans));
        if !totals.tokens.is_unknown() {
            facts.extend(screen.hanging(INDENT, &format!("tokens {}", tokens_by_kind(&totals.tokens))));
        }
    }
    if session.hints > 0 {
        let wait = if session.hints == 1 { "waits" } else { "wait" };
        let line = format!("{} {wait}; `{RALPH} hint` lists them", counted(session.hints as u64, "hint"));
        facts.extend(screen.hanging(INDENT, &line));
    }
    facts.extend(left_running(&session.left_running, screen));
    facts
}

/// The commands in a line, or each in its own: none is broken.
fn next_lines(commands: &[String], screen: Screen) -> Vec<String> {
    let line = format!("  next: {}", commands.join(", then "));
    match commands {
        [] => Vec::new(),
        _ if columns(&line) <= screen.width => vec![line],
        [first, others @ ..] => {
            let others = others.iter().map(|command| format!("        {command}"));
            [format!("  next: {first}")].into_iter().chain(others).collect()
        }
    }
}

/// What to type next, of a session that is done what to look at first; nothing while it runs.
fn next(session: &SessionStatus, summary: &Summary) -> Option<Vec<String>> {
    let Shown { resume_flags, is_newest, changes, review, .. } = &session.shown;
    let named = (!is_newest).then_some(&session.id);
    match session.status {
        Status::Running => None,
        Status::Completed if changes.is_some_and(|changes| changes.stat.files > 0) => {
            Some(review.commands(named))
        }
        Status::Completed => {
            let id = named.map_or(String::new(), |id| format!(" --session {id}"));
            Some(vec![format!("{RALPH} report --open{id}")])
        }
        _ => Some(next_commands(named, summary, resume_flags)),
    }
}

/// Returns how long `open` tasks take at the pace of those that were closed, in milliseconds; `None` if these are too few
/// to know it.
pub fn time_left(took_ms: u64, closed: usize, open: usize) -> Option<u64> {
    let each = took_ms.checked_div(closed as u64).filter(|_| closed >= MIN_CLOSED && open > 0)?;
    Some(each.saturating_mul(open as u64))
}

fn is_running(session: &SessionStatus) -> bool {
    session.status == Status::Running
}

/// `004-boards   31 of 35 done · stopped 2 h 39 min ago, after 5 h 49 min · $67.19`
fn head(status: &FeatureStatus, now: Timestamp, screen: Screen) -> Vec<String> {
    let name = one_line(feature_name(&status.feature));
    let counts = status.summary.tasks;
    let done = format!("{} of {} done", counts.done, counts.total());
    let mut parts = vec![if counts.total() == 0 { "no tasks".to_owned() } else { done }];
    if let (Some(session), Some(part)) = (&status.session, &status.summary.session) {
        parts.push(state(session, now));
        let limit = session.shown.max_cost.filter(|_| is_running(session));
        let limit = limit.map_or(String::new(), |usd| format!(" of {}", Cost::of(usd)));
        let [own, all] = [&part.totals, &status.summary.totals].map(|totals| totals.cost.usd.map(Cost::of));
        parts.extend(own.map(|own| format!("{own}{limit}")));
        let all = all.filter(|_| status.summary.starts > 1);
        parts.extend(all.map(|all| format!("{all} in {} sessions", status.summary.starts)));
    }
    screen.named_parts(&name, &parts)
}

/// What the session is at, or how it ended, and when.
fn state(session: &SessionStatus, now: Timestamp) -> String {
    if let Some(elsewhere) = &session.elsewhere {
        return one_line(&describe_remote_run(elsewhere));
    }
    let Shown { begun_at, left_ms, away_ms, runs, .. } = &session.shown;
    let Some(ended_at) = session.ended_at else {
        let since = begun_at.unwrap_or(session.started_at);
        let left = left_ms.map_or(String::new(), |left| format!(", about {} left", rough(left)));
        let stops = if session.is_stopping { ", stops after this attempt" } else { "" };
        return format!("running {}{left}{stops}", clock_span(since.ms_until(now)));
    };
    let word = how_it_ended(session.status, session.stop_reason, session.ended_by);
    let span = clock_span(session.started_at.ms_until(ended_at).saturating_sub(*away_ms));
    format!("{word} {}, after {span}{}", ago(ended_at.ms_until(now)), in_runs(*runs))
}

/// Returns how a session ended, in a word or few.
pub fn how_it_ended(status: Status, reason: Option<StopReason>, by: Option<EndedBy>) -> String {
    let word = match (status, reason) {
        (Status::Completed, Some(StopReason::Checkpoint)) => "stopped at a checkpoint",
        (Status::Completed, _) => "finished",
        (_, Some(StopReason::LimitReached)) => "stopped at a limit",
        (_, Some(StopReason::Interrupted)) | (Status::Interrupted, None) => return interrupted(by, reason),
        (Status::Failed | Status::Interrupted | Status::Running | Status::Later(_), _) => "stopped",
    };
    word.to_owned()
}

/// The running attempts, what they wait for, and the last ones.
fn at_work(
    session: &SessionStatus,
    group: Option<&GroupStatus>,
    now: Timestamp,
    screen: Screen,
) -> Vec<String> {
    let Shown { attempt, doing, failures, last, .. } = &session.shown;
    let mut lines = Vec::new();
    if let Some(group) = group {
        lines.extend(group.workers.iter().flat_map(|worker| worker_lines(worker, now, screen)));
    } else if let Some(waiting) = &session.waiting {
        lines.extend(screen.painted(Look::Warn, "  ‖ ", &waiting_words(waiting, now)));
    } else if let (Some(task), Some(in_flight)) = (&session.task, &session.in_flight) {
        let lead = format!("  ● {}  ", one_line(task));
        let time = clock_span(in_flight.started_at.ms_until(now));
        let what = match (session.phase.as_deref(), doing) {
            (Some("waiting"), _) => "waiting for another validation".to_owned(),
            (Some("validation"), _) => "validation".to_owned(),
            (Some("recording"), _) => "recording".to_owned(),
            (_, Some(doing)) => doing.clone(),
            (_, None) => one_line(&in_flight.agent),
        };
        let attempt = if *attempt > 1 { format!("{} attempt, ", ordinal(*attempt)) } else { String::new() };
        lines.extend(screen.painted(Look::Accent, &lead, &format!("{attempt}{time}: {what}")));
        if let Some(cause) = failures.last() {
            let indent = " ".repeat(columns(&lead));
            let words = format!("failed {}: {}", times(failures.len()), one_line(cause));
            lines.extend(screen.painted(Look::Dim, &indent, &words));
        }
    }
    let ended: Vec<String> = last
        .iter()
        .map(|(outcome, task, at)| {
            let (look, mark) = sign(*outcome);
            format!("{} {} at {}", screen.paint(look, mark), one_line(task), clock_or_date(*at, now))
        })
        .collect();
    if !ended.is_empty() {
        lines.push(format!("  last    {}", ended.join(" · ")));
    }
    lines
}

/// `  ● 2  T013  1 min 4 s: validation`
fn worker_lines(worker: &WorkerStatus, now: Timestamp, screen: Screen) -> Vec<String> {
    let WorkerStatus { lane, task, state, since, waiting, doing, is_running, .. } = worker;
    let lane = lane.map_or_else(String::new, |lane| lane.to_string());
    let time = clock_span(since.ms_until(now));
    let name = task.as_ref().map_or(String::new(), |task| one_line(task) + "  ");
    let (look, mark, words) = match (waiting, task) {
        (Some(waiting), _) => (Look::Warn, "‖", waiting_words(waiting, now)),
        (None, Some(_)) => {
            let what = match (&**state, doing) {
                ("waiting", _) => "waiting for another validation",
                ("agent", Some(doing)) => doing,
                _ => state,
            };
            (Look::Accent, "●", format!("{time}: {what}"))
        }
        (None, None) if !is_running => (Look::Dim, "·", format!("{state} {}", ago(since.ms_until(now)))),
        (None, None) if state == "waiting" => (Look::Dim, "·", format!("waits for the others, {time}")),
        (None, None) => (Look::Accent, "⊕", format!("{time}: {state}")),
    };
    screen.painted(look, &format!("  {mark} {lane}  {name}"), &words)
}

/// `waiting for claude's usage limit until 01:07 (44 min)`
pub fn waiting_words(waiting: &Waiting, now: Timestamp) -> String {
    let Waiting { agent, class, until, is_guessed, message } = waiting;
    let words = message.as_ref().map_or(String::new(), |words| format!(": {}", one_line(words)));
    let left = clock_span(now.ms_until(*until));
    let agent = one_line(agent);
    let is_limit = matches!(class, FailureClass::Quota | FailureClass::RateLimit);
    let guess = if *is_guessed && is_limit { "; no reset time was given" } else { "" };
    if *class == FailureClass::Network {
        return format!("the network or the provider cannot be reached: trying again in {left}{words}");
    }
    // What does not pass by itself is not waited for: it may have been seen too early.
    if !class.is_transient() {
        return format!("{agent} ({class}): trying once more in {left}{words}");
    }
    let obstacle = match class {
        FailureClass::Overloaded => format!("{agent}'s overloaded provider"),
        FailureClass::RateLimit => format!("{agent}'s rate limit"),
        _ => format!("{agent}'s usage limit"),
    };
    format!("waiting for {obstacle} until {} ({left}{guess}){words}", clock_or_date(*until, now))
}

/// `Setup 3/3 · Foundational 5/5 · US1 8/8`; nothing for a list that is not divided.
fn groups(status: &FeatureStatus, screen: Screen) -> Vec<String> {
    let groups = if status.phases.len() > 1 { &status.phases } else { &status.stories };
    let parts = groups.iter().map(|Group { name, done, open }| {
        format!("{} {done}/{}", cut(&one_line(&phase_name(name)), MAX_PHASE), done + open)
    });
    let parts: Vec<String> = parts.collect();
    screen.parts(INDENT, &parts)
}

fn left_running(left: &[LeftRunning], screen: Screen) -> Vec<String> {
    if left.is_empty() {
        return Vec::new();
    }
    let programs: Vec<String> =
        left.iter().map(|left| format!("{} (process {})", one_line(&left.name), left.pid)).collect();
    let pids: Vec<String> = left.iter().map(|left| left.pid.to_string()).collect();
    let line = format!("it died and left running: {}", programs.join(", "));
    let mut lines = screen.painted(Look::Warn, INDENT, &line);
    let hint = format!("hint: the next `{RALPH}` ends what it left; so does `kill {}`", pids.join(" "));
    lines.extend(screen.hanging(INDENT, &hint));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::Paint;
    use ralph_core::record::{
        CostTotals, DiffStat, Need, NeedKind, SessionPart, SessionTotals, ShortNames, TaskStates,
        WaitingTask, samples,
    };
    use serde_json::json;

    /// A session that ended with a task that asks and one that fails, or one that is at work.
    fn sample(is_running: bool) -> FeatureStatus {
        let session = samples::session("failed", Some("stuck"), (31, 4));
        let need = |why, task: &str, cause: &str| Need {
            why,
            task: Some(task.to_owned()),
            cause: Some(cause.to_owned()),
            session: session.id.clone(),
            iteration: Some(7),
        };
        let waits = |task: &str| WaitingTask { task: task.to_owned(), dependency: "T019".to_owned() };
        let cost = CostTotals { usd: Some(67.19), failed_usd: Some(27.76), ..CostTotals::default() };
        let totals =
            SessionTotals { attempts: 47, succeeded: 32, failed: 15, cost, ..SessionTotals::default() };
        let summary = Summary {
            feature: "specs/004-boards".to_owned(),
            sessions: 1,
            starts: 1,
            tasks: TaskStates { done: 31, asks: 1, fails: 1, waits: 2, open: 0 },
            needs_you: vec![
                need(NeedKind::Asks, "T034", "Semicolons or commas between the fields? The spec names both."),
                need(
                    NeedKind::Fails,
                    "T019",
                    "merge › converges: Expected: \"0|i00007:\", Received: \"0|i0000f:\"",
                ),
            ],
            waiting: vec![waits("T020"), waits("T023")],
            session: Some(SessionPart {
                id: session.id.clone(),
                names: ShortNames::alone(&session.id),
                totals,
            }),
            ..Summary::default()
        };
        let at = |minutes: i64| Timestamp::from_seconds(minutes * 60);
        let group = |name: &str, done, open| Group { name: name.to_owned(), done, open };
        let in_flight = InFlight { iteration: 48, agent: "claude".to_owned(), started_at: at(340) };
        let stat = DiffStat { files: 53, added: 1411, removed: 0 };
        let shown = Shown {
            is_newest: true,
            begun_at: Some(at(10)),
            max_cost: Some(80.0),
            changes: Some(Changes { stat, uncommitted_files: 53 }),
            attempt: 3,
            doing: Some("Edit src/live/merge.ts".to_owned()),
            failures: vec!["merge › converges".to_owned(); 2],
            last: vec![
                (Outcome::Success, "T018".to_owned(), at(339)),
                (Outcome::Failure, "T019".to_owned(), at(330)),
            ],
            left_ms: Some(3 * 3_600_000),
            ..Shown::default()
        };
        FeatureStatus {
            feature: summary.feature.clone(),
            tasks: json!({"done": 31, "open": 4, "skipped": 1}),
            phases: vec![
                group("Phase 1: Setup", 3, 0),
                group("Phase 4: User Story 2 - Working together (P2)", 4, 3),
                group("Phase 6: Polish", 5, 1),
            ],
            stories: Vec::new(),
            group: None,
            elsewhere: vec![QuestionElsewhere {
                feature: "specs/003-search".to_owned(),
                task: "T005".to_owned(),
                since: Some(at(0)),
            }],
            session: Some(SessionStatus {
                id: session.id.clone(),
                status: if is_running { Status::Running } else { Status::Failed },
                lane: None,
                branch: Some("main".to_owned()),
                elsewhere: None,
                stop_reason: (!is_running).then_some(StopReason::Stuck),
                ended_by: None,
                iterations: 47,
                cost: Cost::of(67.19),
                pid: is_running.then_some(7),
                task: Some("T019".to_owned()),
                started_at: at(0),
                ended_at: (!is_running).then(|| at(349)),
                in_flight: is_running.then_some(in_flight),
                phase: is_running.then(|| "agent".to_owned()),
                waiting: None,
                is_stopping: false,
                hints: 1,
                left_running: Vec::new(),
                clean: None,
                shown,
            }),
            summary,
        }
    }

    #[test]
    fn what_is_done_and_what_needs_somebody_in_every_width() {
        let mut shown = String::new();
        for (is_running, width) in [(false, 80), (false, 40), (false, usize::MAX), (true, 80)] {
            let lines = lines(
                &sample(is_running),
                Timestamp::from_seconds(350 * 60),
                Screen { paint: Paint::Plain, width },
            );
            let is_command = |line: &str| line.contains("specify ralph");
            let wide = lines.iter().find(|line| width < 80 && columns(line) > width && !is_command(line));
            assert_eq!(wide, None);
            let width = if width == usize::MAX { "piped".to_owned() } else { format!("{width} columns") };
            shown += &format!("== {width}\n{}\n\n", lines.join("\n"));
        }
        insta::assert_snapshot!(shown);
    }

    #[test]
    fn each_loop_of_a_group_has_a_line() {
        let at = |minutes: i64| Timestamp::from_seconds(minutes * 60);
        let worker = |lane, task: Option<&str>, state: &str| WorkerStatus {
            session: SessionId::new(at(0), lane),
            lane: Some(lane),
            task: task.map(str::to_owned),
            state: state.to_owned(),
            since: at(340),
            waiting: None,
            doing: Some("Edit src/live/merge.ts".to_owned()),
            is_running: state != "completed",
        };
        let waiting = Waiting {
            agent: "claude".to_owned(),
            class: FailureClass::Quota,
            until: at(360),
            is_guessed: false,
            message: None,
        };
        let workers = vec![
            worker(1, Some("T019"), "agent"),
            worker(2, Some("T020"), "validation"),
            worker(3, None, "integration"),
            worker(4, None, "waiting"),
            WorkerStatus { waiting: Some(waiting), ..worker(5, Some("T021"), "waiting") },
            worker(6, None, "completed"),
        ];
        let status =
            FeatureStatus { group: Some(GroupStatus { workers, queued: Vec::new() }), ..sample(true) };
        let screen = Screen { paint: Paint::Plain, width: 80 };
        let lines = at_work(status.session.as_ref().unwrap(), status.group.as_ref(), at(350), screen);
        let until = clock_or_date(at(360), at(350));
        assert_eq!(
            lines[..6],
            [
                "  ● 1  T019  10 min 0 s: Edit src/live/merge.ts".to_owned(),
                "  ● 2  T020  10 min 0 s: validation".to_owned(),
                "  ⊕ 3  10 min 0 s: integration".to_owned(),
                "  · 4  waits for the others, 10 min 0 s".to_owned(),
                format!("  ‖ 5  T021  waiting for claude's usage limit until {until} (10 min 0 s)"),
                "  · 6  completed 10 min 0 s ago".to_owned(),
            ]
        );
        let json = serde_json::to_value(&status).unwrap();
        let first = &json["workers"][0];
        assert_eq!(
            [&first["lane"], &first["task"], &first["state"]],
            [&json!(1), &json!("T019"), &json!("agent")]
        );
        assert_eq!(json["queued"], json!([]));
        // One that works alone has no such keys.
        let alone = serde_json::to_value(sample(true)).unwrap();
        assert!(alone.get("workers").is_none() && alone.get("queued").is_none());
    }
}
