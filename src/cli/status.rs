//! `specify ralph status`: where the feature and its latest session stand.

use std::thread;
use std::time::Duration;

use anyhow::Result;
use camino::Utf8PathBuf;
use clap::Args;
use redact_stream::Redactor;

use ralph_core::record::{Cost, Hint, SessionId, Status};
use ralph_core::summary::summarize;
use ralph_git::worktree::WorkTree;
use ralph_project::feature::Feature;
use ralph_project::tasks;
use ralph_store::{Control, ControlRequests, Holder, SessionLog, SessionRefs, Spool, Store};
use ralph_ui::json::write_line;
use ralph_ui::status::{Counts, FeatureStatus, GroupCounts, InFlight, LeftRunning, SessionStatus, write};
use ralph_ui::style::Paint;

use super::args::ReadArgs;
use super::settings::terminal_redactor;
use super::tasks::TasksArgs;
use super::trust::load_to_read;
use super::{Context, ExitCode, Json, SessionChoice, emit, print, refusal, say, sessions, summary};

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

/// Between two looks with `--watch`.
const WATCH_INTERVAL: Duration = Duration::from_millis(500);

pub fn run(args: &StatusArgs, context: &Context) -> Result<ExitCode> {
    if let Some(file) = &args.tasks {
        let list = TasksArgs {
            file: file.first().cloned(),
            feature: args.read.choice.feature.clone(),
            json: args.read.json,
        };
        return super::tasks::run(&list, context);
    }
    let wanted = WatchTarget::of(&args.read.choice, context)?;
    let mut status = look(context, &wanted)?;
    show(&status, args, context.paint)?;
    while args.watch && is_running(&status) {
        thread::sleep(WATCH_INTERVAL);
        let now = look(context, &wanted)?;
        if now != status {
            status = now;
            if !args.read.json.json {
                say("")?;
            }
            show(&status, args, context.paint)?;
        }
    }
    Ok(ExitCode::Done)
}

fn is_running(status: &FeatureStatus) -> bool {
    // What another machine does is not seen before the next sync.
    status
        .session
        .as_ref()
        .is_some_and(|session| session.status == Status::Running && session.elsewhere.is_none())
}

fn show(status: &FeatureStatus, args: &StatusArgs, paint: Paint) -> Result<ExitCode> {
    match args.read.json {
        // One line for each change.
        Json { json: true } if args.watch => print(|out| write_line(out, status)),
        json => emit(json, status, |out| write(out, status, paint)),
    }
}

/// What is looked at repeatedly.
struct WatchTarget {
    feature: Feature,
    /// None is the latest of the feature.
    session: Option<SessionRefs>,
    /// What takes secrets out of what is printed, if that is wanted.
    redactor: Option<Redactor>,
}

impl WatchTarget {
    /// A session that is named brings its feature along.
    fn of(choice: &SessionChoice, context: &Context) -> Result<Self> {
        // Settings that cannot be read are complained of where they are needed.
        let redactor = match load_to_read(context) {
            Ok(config) => terminal_redactor(&config)?,
            Err(_) => Some(Redactor::default()),
        };
        if choice.session.is_none() {
            let feature = context.feature_to_read(choice.feature.as_ref())?;
            return Ok(Self { feature, session: None, redactor });
        }
        let log = sessions::latest(context.store()?, choice)?;
        let feature = context.recorded_feature(log.feature())?;
        Ok(Self { feature, session: Some(log.refs), redactor })
    }

    fn log(&self, store: &Store) -> Result<Option<SessionLog>> {
        match &self.session {
            Some(refs) => sessions::one(store, refs),
            None => sessions::newest_of_feature(store, &self.feature.path),
        }
    }
}

/// Headings come from the task list as it is, which no record has redacted.
fn group(redactor: Option<&Redactor>, name: &str, done: usize, open: usize) -> GroupCounts {
    let name = redactor.map_or_else(|| name.to_owned(), |redactor| redactor.redact_text(name).0);
    GroupCounts { name, done, open }
}

fn look(context: &Context, wanted: &WatchTarget) -> Result<FeatureStatus> {
    let (store, work_tree) = (context.store()?, context.work_tree().ok());
    let feature = &wanted.feature;
    let running = sessions::running(store)?;
    let log = wanted.log(store)?;
    // A plan is made before there are tasks.
    let tasks = match &log {
        Some(_) => tasks::read_if_there(&feature.files, &feature.tasks_path),
        None => tasks::read(&feature.files, &feature.tasks_path),
    }
    .map_err(refusal)?;
    let shown = log.as_ref().map(SessionLog::id);
    let waiting = summary::hints(store, &feature.path);
    let sessions = store.entries_of(&feature.path)?;
    let remains = ralph_engine::remains(store, work_tree, &sessions);
    let summary = summarize(&feature.path, &sessions, &tasks, &waiting, remains.as_ref(), shown);
    let attempts = summary.session.as_ref().map_or(0, |part| part.totals.attempts);
    let session = log.map(|log| session_status(store, work_tree, &running, &log, attempts));
    let counts = summary.tasks;
    let redactor = wanted.redactor.as_ref();
    Ok(FeatureStatus {
        feature: feature.path.clone(),
        tasks: Counts { done: counts.done, open: counts.left(), skipped: counts.fails },
        phases: tasks.phases().iter().map(|one| group(redactor, &one.name, one.done, one.open)).collect(),
        stories: tasks.stories().iter().map(|one| group(redactor, &one.name, one.done, one.open)).collect(),
        session,
        summary,
    })
}

/// Returns how many hints wait for a prompt. Those in the prompt of a running iteration do not.
fn hints(store: &Store, running: &[Holder], feature: &str) -> usize {
    let hints = summary::hints(store, feature);
    let is_taken = |hint: &&Hint| running.iter().any(|holder| hint.session.as_ref() == Some(&holder.session));
    hints.iter().filter(|hint| !is_taken(hint)).count()
}

fn session_status(
    store: &Store,
    work_tree: Option<&WorkTree>,
    running: &[Holder],
    log: &SessionLog,
    attempts: usize,
) -> SessionStatus {
    let (id, tip) = (log.id().clone(), log.tip());
    let holder = running.iter().find(|holder| holder.session == id);
    let left = Control::of(store.repository(), &id);
    let ControlRequests { stop } = left.look().unwrap_or_default();
    let control = holder.map(|_| left);
    let in_flight = Spool::in_flight(store.repository(), &id);
    let elsewhere = if holder.is_some() { None } else { store.elsewhere(log) };
    let is_running = holder.is_some() || elsewhere.is_some();
    let left_running = if is_running { Vec::new() } else { left_running(work_tree, &id) };
    let waiting = control.as_ref().and_then(Control::waiting);
    let phase = match &waiting {
        Some(_) => Some("waiting".to_owned()),
        None => control.as_ref().and_then(Control::phase),
    };
    SessionStatus {
        id,
        status: if elsewhere.is_some() { Status::Running } else { log.status(holder.is_some()) },
        elsewhere,
        stop_reason: tip.stop_reason,
        iterations: attempts,
        cost: log.iterations().fold(Cost::default(), |cost, entry| cost.plus(entry.cost())),
        pid: holder.map(|holder| holder.pid),
        task: in_flight
            .as_ref()
            .map(|begin| begin.task.name.clone())
            .or_else(|| log.iterations().next_back()?.task.clone()),
        started_at: log.entries[0].started_at,
        ended_at: (!is_running).then_some(tip.ended_at),
        in_flight: in_flight.filter(|_| holder.is_some()).map(|begin| InFlight {
            iteration: begin.iteration,
            agent: begin.agent,
            started_at: begin.started_at,
        }),
        phase,
        waiting,
        is_stopping: stop.is_some() && control.is_some(),
        hints: hints(store, running, &tip.feature),
        left_running,
    }
}

/// If processes cannot be listed, the rest is still worth showing.
fn left_running(work_tree: Option<&WorkTree>, session: &SessionId) -> Vec<LeftRunning> {
    let left = work_tree.and_then(|here| ralph_engine::left_running(here, session).ok()).unwrap_or_default();
    left.into_iter().map(|(pid, name)| LeftRunning { pid, name }).collect()
}
