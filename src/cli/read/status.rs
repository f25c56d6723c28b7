//! `specify ralph status`: where the feature and its latest session stand.

use std::io::{IsTerminal, Write, stdout};
use std::thread;
use std::time::Duration;

use anyhow::{Error, Result};
use camino::Utf8PathBuf;
use clap::Args;
use redact_stream::Redactor;
use serde_json::json;
use tasklist::Group;

use ralph_agent::answer::recorded_parser;
use ralph_core::record::{AgentEvent, Hint, LogEntry, Outcome, Session, SessionId, Status, Summary};
use ralph_core::view::SessionView;
use ralph_project::feature::Feature;
use ralph_project::tasks;
use ralph_store::{Ask, Begin, Control, Hints, Holder, SessionLog, SessionRefs, Spool, names};
use ralph_ui::json::write_line;
use ralph_ui::review::Review;
use ralph_ui::status::{
    FeatureStatus, GroupStatus, InFlight, LeftRunning, SessionStatus, Shown, WorkerStatus, lines, time_left,
};
use ralph_ui::style::{cut, one_line};

use crate::cli::args::ReadArgs;
use crate::cli::output::write_lines;
use crate::cli::read::{session_changes, sessions};
use crate::cli::settings::terminal_redactor;
use crate::cli::start::trust::load_to_read;
use crate::cli::start::{lane, summary};
use crate::cli::{Context, ExitCode, SessionChoice, emit, pager, print, refusal};

#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Update on every change, until the session ends
    #[arg(short, long)]
    pub watch: bool,
    /// Show the task list as the loop reads it; of any Markdown file, if one is named
    #[arg(long, value_name = "FILE", num_args = 0..=1, conflicts_with_all = ["watch", "session"])]
    pub tasks: Option<Vec<Utf8PathBuf>>,
    #[command(flatten)]
    pub read: ReadArgs,
}

/// Most attempts that the screen names.
const MAX_LAST: usize = 3;

/// The end of an agent's output in which it is looked for what it does, in bytes.
const MAX_OUTPUT_BYTES: u64 = 64 << 10;

/// Longest words for it, in columns.
const MAX_DOING: usize = 100;

/// Between two looks with `--watch`.
const WATCH_INTERVAL: Duration = Duration::from_millis(500);

pub fn run(args: &StatusArgs, context: &Context) -> Result<ExitCode> {
    if let Some(file) = &args.tasks {
        let (file, feature) = (file.first().map(Utf8PathBuf::as_path), args.read.choice.feature.as_ref());
        return crate::cli::read::tasks::run(file, feature, args.read.json, context);
    }
    // Settings that cannot be read are complained of where they are needed.
    let redactor = match load_to_read(context) {
        Ok(config) => terminal_redactor(&config)?,
        Err(_) => Some(Redactor::default()),
    };
    let (feature, session) = wanted(&args.read.choice, context)?;
    let mut status = look(context, &feature, session.as_ref(), redactor.as_ref())?;
    if !args.watch {
        return emit(args.read.json, &status, |out| {
            Ok::<_, Error>(write_lines(out, &shown(&status, context)?)?)
        });
    }
    let is_moving = !args.read.json.json && stdout().is_terminal();
    let mut drawn = show_again(&status, args, context, &[])?;
    while is_running(&status) {
        thread::sleep(WATCH_INTERVAL);
        let now = look(context, &feature, session.as_ref(), redactor.as_ref())?;
        if is_moving || now != status {
            status = now;
            drawn = show_again(&status, args, context, &drawn)?;
        }
    }
    Ok(ExitCode::Done)
}

fn shown(status: &FeatureStatus, context: &Context) -> Result<Vec<String>> {
    Ok(lines(status, context.now()?, pager::screen(context)))
}

/// Shows what is now: on a terminal in the place of what was drawn before, as far as that is still on it.
fn show_again(
    status: &FeatureStatus,
    args: &StatusArgs,
    context: &Context,
    drawn: &[String],
) -> Result<Vec<String>> {
    if args.read.json.json {
        // One line for each change.
        print(|out| write_line(out, status))?;
        return Ok(Vec::new());
    }
    let lines = shown(status, context)?;
    if lines == drawn {
        return Ok(lines);
    }
    print(|out| -> Result<()> {
        match (drawn.len(), stdout().is_terminal()) {
            (0, _) => {}
            (height, true) => write!(out, "\x1b[{height}A\r\x1b[J")?,
            (_, false) => writeln!(out)?,
        }
        Ok(write_lines(out, &lines)?)
    })?;
    Ok(lines)
}

fn is_running(status: &FeatureStatus) -> bool {
    // What another machine does is not seen before the next sync.
    status
        .session
        .as_ref()
        .is_some_and(|session| session.status == Status::Running && session.elsewhere.is_none())
}

/// Returns the feature that is looked at, and its session; without one, its latest. A session that is named brings its feature
/// along.
fn wanted(choice: &SessionChoice, context: &Context) -> Result<(Feature, Option<SessionRefs>)> {
    if choice.session.is_none() {
        return Ok((context.feature_to_read(choice.feature.as_ref())?, None));
    }
    let log = sessions::latest(context.store()?, choice)?;
    Ok((context.recorded_feature(log.feature())?, Some(log.refs)))
}

/// Headings come from the task list as it is, which no record has redacted.
fn redacted(redactor: Option<&Redactor>, mut groups: Vec<Group>) -> Vec<Group> {
    if let Some(redactor) = redactor {
        for group in &mut groups {
            group.name = redactor.redact_text(&group.name).0;
        }
    }
    groups
}

fn look(
    context: &Context,
    feature: &Feature,
    session: Option<&SessionRefs>,
    redactor: Option<&Redactor>,
) -> Result<FeatureStatus> {
    let store = context.store()?;
    let (sessions, place) = sessions::with_shown(store, &feature.path, session)?;
    let log = place.map(|place| &sessions[place]);
    // A plan is made before there are tasks.
    let tasks = match log {
        Some(_) => tasks::read_if_there(&feature.files, &feature.tasks_path),
        None => tasks::read(&feature.files, &feature.tasks_path),
    }
    .map_err(refusal)?;
    let tasks = summary::without_optional(tasks, context);
    // One that is named is shown by itself.
    let is_shown = |other: &&SessionLog| {
        log.is_some_and(|log| match session {
            Some(_) => other.id() == log.id(),
            None => other.view().is_beside(&log.view()),
        })
    };
    let group: Vec<SessionLog> = sessions.iter().filter(is_shown).cloned().collect();
    let run = log.map(|_| sessions::joined(&group));
    let hints = Hints::of(store.repository(), &feature.path).readable();
    let summary = summary::of_logs(context, &feature.path, &sessions, &tasks, &hints, run.as_ref())?;
    let running = sessions::running(store)?;
    let session = run
        .map(|run| session_status(context, (&group, &run), &running, &summary, &hints, redactor))
        .transpose()?;
    let workers = group.iter().map(|log| worker(context, log, &running, redactor));
    let mut workers: Vec<_> = if group.len() > 1 { workers.collect::<Result<_>>()? } else { Vec::new() };
    workers.sort_by_key(|worker| worker.lane);
    let queued = summary.queued.clone();
    let counts = summary.tasks;
    Ok(FeatureStatus {
        feature: feature.path.clone(),
        tasks: json!({"done": counts.done, "open": counts.left(), "skipped": counts.fails}),
        phases: redacted(redactor, tasks.phases()),
        stories: redacted(redactor, tasks.stories()),
        session,
        group: (group.len() > 1).then_some(GroupStatus { workers, queued }),
        elsewhere: summary::questions_elsewhere(context, &feature.path)?,
        summary,
    })
}

/// Returns what one loop of a group is at.
fn worker(
    context: &Context,
    log: &SessionLog,
    running: &[Holder],
    redactor: Option<&Redactor>,
) -> Result<WorkerStatus> {
    let (store, id) = (context.store()?, log.id());
    let spool = Spool::of(store.repository(), id)?;
    let is_running = running.iter().any(|holder| holder.session == *id);
    let control = Control::of(store.repository(), id);
    let waiting = control.waiting().filter(|_| is_running);
    let begin = Spool::in_flight(store.repository(), id).filter(|_| is_running);
    // What a loop without one does is to merge.
    let claim = spool.filter(|_| is_running).and_then(|spool| spool.claimed().ok().flatten());
    let state = match (&waiting, &claim, &begin) {
        _ if !is_running => sessions::status(store, log, running).0.to_string(),
        (Some(_), ..) | (None, None, None) => "waiting".to_owned(),
        (None, Some(_), _) => control.phase().unwrap_or_else(|| "prompt".to_owned()),
        (None, None, Some(_)) => "integration".to_owned(),
    };
    let begun = begin.as_ref().map(|begin| begin.started_at);
    let doing = begin.as_ref().filter(|_| state == "agent");
    Ok(WorkerStatus {
        session: id.clone(),
        lane: log.view().group().map(|(_, lane)| lane),
        task: claim.as_ref().and_then(|claim| claim.tasks.first().cloned()),
        state,
        since: claim.map(|claim| claim.since).or(begun).unwrap_or_else(|| log.tip().ended_at()),
        waiting,
        doing: doing.and_then(|begin| doing_of(context, log, begin, redactor)),
        is_running,
    })
}

/// `group` are the sessions that `run` is, as one: of several the status and all counts are of all of them, the rest is of the first.
fn session_status(
    context: &Context,
    (group, run): (&[SessionLog], &SessionView),
    running: &[Holder],
    summary: &Summary,
    hints: &[Hint],
    redactor: Option<&Redactor>,
) -> Result<SessionStatus> {
    let store = context.store()?;
    let log = &group[0];
    let id = log.id();
    let (is_held, whole) = (sessions::held_by(running), log.of_run(run));
    let tip = run.deciding_record(&is_held).unwrap_or_else(|| log.tip());
    let holder = running.iter().find(|holder| holder.session == *id);
    let (status, elsewhere) = sessions::status(store, &whole, running);
    let is_running = status == Status::Running;
    let control = holder.map(|_| Control::of(store.repository(), id));
    let in_flight = Spool::in_flight(store.repository(), id);
    let begun = store.first_readable_session(log);
    let lane = begun.as_ref().and_then(|begun| begun.lane);
    let branch = begun.and_then(|begun| begun.branch);
    let waiting = control.as_ref().and_then(Control::waiting);
    let phase = waiting.as_ref().map(|_| "waiting".to_owned());
    let phase = phase.or_else(|| control.as_ref().and_then(Control::phase));
    let last = log.iterations().next_back();
    let task =
        in_flight.as_ref().map(|begin| begin.task.name.clone()).or_else(|| last?.task().map(str::to_owned));
    let totals = summary.session.as_ref().map(|part| part.totals.clone()).unwrap_or_default();
    let described = sessions::describe(store, &whole, running).ok();
    let budget = described.as_ref().map(Session::budget).unwrap_or_default();
    let in_lane = branch.as_ref().filter(|_| lane.is_some());
    let unmerged = in_lane.map(|branch| lane::unmerged(branch, context)).transpose().unwrap_or_default();
    let begun = log.entries.iter().rfind(|entry| entry.kind().begins());
    let begun_at = begun.map(LogEntry::ended_at);
    let newest = begun.and_then(|entry| store.readable_session(entry));
    let is_newest = summary.session.as_ref().zip(store.newest_session()?);
    let is_newest = is_newest.is_some_and(|(part, newest)| part.names.has(&newest));
    let mut shown = Shown {
        begun_at,
        away_ms: totals.away_ms,
        runs: totals.runs,
        began_red: newest.is_some_and(|session| session.began_red(totals.succeeded)),
        unmerged: unmerged.flatten().map(|(commits, command, _)| (commits, command)),
        max_cost: budget.max_cost,
        resume_flags: budget.flags_to_go_on(),
        is_newest,
        ..Shown::default()
    };
    if is_running {
        let at_once = group.iter().filter(|log| is_held(log.id())).count().max(1);
        note_pace(&mut shown, run, task.as_deref(), summary, at_once as u64);
        if let Some(begin) = &in_flight {
            shown.attempt = begin.attempt;
            shown.doing = doing_of(context, log, begin, redactor);
        }
    } else {
        // What cannot be counted is left out.
        let changed = session_changes::with_commits(context, &whole).unwrap_or_default();
        (shown.changes, shown.review) =
            changed.map_or((None, Review::default()), |(all, first)| (Some(all), first));
    }
    Ok(SessionStatus {
        id: id.clone(),
        lane,
        branch,
        status,
        elsewhere,
        stop_reason: tip.stop_reason(),
        ended_by: tip.ended_by(),
        iterations: totals.attempts,
        cost: totals.cost.total(),
        pid: holder.map(|holder| holder.pid),
        task,
        started_at: run.started_at(),
        ended_at: (!is_running).then_some(run.last_at()),
        in_flight: in_flight.filter(|_| holder.is_some()).map(|begin| InFlight {
            iteration: begin.iteration,
            agent: begin.agent,
            started_at: begin.started_at,
        }),
        phase,
        waiting,
        is_stopping: group
            .iter()
            .filter(|log| is_held(log.id()))
            .any(|log| Control::of(store.repository(), log.id()).look().is_ok_and(|asked| asked.is_some())),
        // Those in the prompt of a running iteration do not wait.
        hints: hints
            .iter()
            .filter(|hint| !running.iter().any(|holder| hint.session.as_ref() == Some(&holder.session)))
            .count(),
        clean: described.and_then(|session| session.clean),
        left_running: if is_running {
            Vec::new()
        } else {
            group.iter().flat_map(|log| left_running(context, log.id())).collect()
        },
        shown,
    })
}

/// Notes the last attempts, the failures of the task that runs, and how long the rest takes if as many go on.
fn note_pace(shown: &mut Shown, run: &SessionView, task: Option<&str>, summary: &Summary, at_once: u64) {
    let ran: Vec<&LogEntry> = run.iterations().filter(|entry| entry.is_attempt()).collect();
    let last = ran.iter().rev();
    let last = last.filter_map(|entry| Some((entry.outcome()?, entry.task()?.to_owned(), entry.ended_at())));
    shown.last = last.take(MAX_LAST).collect();
    let failures = ran.iter().filter(|entry| entry.outcome() == Some(Outcome::Failure));
    let failures = failures.filter(|entry| entry.task() == task);
    shown.failures = failures.map(|entry| entry.cause().unwrap_or_default().to_owned()).collect();
    let (totals, open) = (run.totals(), summary.tasks.open + summary.tasks.waits);
    shown.left_ms = time_left(totals.took.total().unwrap_or_default() / at_once, totals.closed.len(), open);
}

/// Returns what an agent does, by the end of its output; `None` if it did not say.
fn doing_of(
    context: &Context,
    log: &SessionLog,
    begin: &Begin,
    redactor: Option<&Redactor>,
) -> Option<String> {
    let store = context.store().ok()?;
    let spool = Spool::of(store.repository(), log.id()).ok()??;
    let slot = spool.slot(&begin.iteration.to_string());
    let output = slot.part(names::AGENT_STDOUT, Ask::TAIL, MAX_OUTPUT_BYTES).ok()?.bytes;
    let begun = store.first_readable_session(log)?;
    let events = ralph_agent::parse_transcript(recorded_parser(&begun.configuration, &begin.agent), &output)?;
    let words = events.iter().rev().find_map(AgentEvent::doing)?;
    let words = redactor.map_or_else(|| words.clone(), |redactor| redactor.redact_text(&words).0);
    let root = context.work_tree().map(|here| format!("{}/", here.top())).unwrap_or_default();
    let words = if root.is_empty() { words } else { words.replace(&root, "") };
    Some(cut(&one_line(&words), MAX_DOING))
}

/// If processes cannot be listed, the rest is still worth showing.
fn left_running(context: &Context, session: &SessionId) -> Vec<LeftRunning> {
    let left = context.work_tree().and_then(|here| ralph_engine::left_running(here, session));
    left.unwrap_or_default().into_iter().map(|(pid, name)| LeftRunning { pid, name }).collect()
}
