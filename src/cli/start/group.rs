//! `run --jobs N`: starts loops that work on one branch at once, shows what they say, and starts again what dies.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal, Read, Write, stderr, stdin, stdout};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use camino::Utf8PathBuf;
use serde::Deserialize;
use serde_json::{Value, json};
use tasklist::{AtOnce, Parallel};

use ralph_core::config::Config;
use ralph_core::record::{RALPH, SessionId, Status, TaskCounts, full_branch_name};
use ralph_os::process::{Interrupt, Worker, boot_id, host_name};
use ralph_project::feature::Feature;
use ralph_project::tasks;
use ralph_store::{Scratch, SessionLog, Spool, hold_branch_for_group};
use ralph_ui::json::write_line;
use ralph_ui::live::{Keys, Moving, NowSent, Workers, terminal_columns};
use ralph_ui::style::Paint;

use crate::cli::args::Voice;
use crate::cli::echo::{acknowledge, echo};
use crate::cli::own_command::own_program;
use crate::cli::read::sessions;
use crate::cli::start::event_hook::EventHook;
use crate::cli::start::lane;
use crate::cli::start::setup::RunRequest;
use crate::cli::start::trust;
use crate::cli::{Context, ExitCode, note, refusal, refuse, say, warn};

/// Time between two looks at signals.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Times that a loop is started again that died.
const MAX_RESTARTS: u32 = 3;

/// How a program of ours ends that panicked.
const PANICKED: i32 = 101;

/// Has a loop only record what one left that died: what that had in hand keeps its tasks from all others.
const AFTER: &str = "after";

/// What a loop says.
enum Said {
    Event(Value),
    Line(String),
    Talk(String),
    /// One of its outputs is closed.
    Over,
}

/// A loop that was started.
struct Member {
    worker: Worker,
    session: Option<SessionId>,
    lane: Option<u32>,
    /// True while an attempt is in its hands.
    is_at_work: bool,
    /// True once its session has ended in order.
    has_ended: bool,
    restarts: u32,
    /// How many of its outputs are open.
    open: u8,
    /// True if what it prints is of all loops.
    is_last: bool,
}

/// The loops of a start, by the number in which they were started.
struct Group<'a> {
    /// The call of each.
    calls: Vec<Vec<String>>,
    here: Utf8PathBuf,
    members: BTreeMap<usize, Member>,
    first: Option<SessionId>,
    /// True from when a session of this start has begun.
    has_begun: bool,
    /// True from when no loop is started again.
    is_ending: bool,
    sender: Sender<(usize, Said)>,
    said: Receiver<(usize, Said)>,
    codes: Vec<i32>,
    voice: Voice,
    hook: Option<EventHook>,
    interrupt: &'a Interrupt,
    lines: Workers,
    /// All sessions that were started, for those who ask something of them.
    started: Arc<Mutex<Vec<SessionId>>>,
    at_work: AtWork,
    /// What the last says of all. Others that ended before it may say so later.
    card: Vec<String>,
}

/// How many attempts there were at once: the time of all of them over that in which there was one.
#[derive(Debug, Default)]
struct AtWork {
    spent: Duration,
    busy: Duration,
    last: Option<Instant>,
}

impl AtWork {
    /// So many were at work until now, since it was asked last.
    fn note(&mut self, members: usize) {
        let now = Instant::now();
        let span = self.last.replace(now).map_or(Duration::ZERO, |last| now - last);
        self.spent += span * u32::try_from(members).unwrap_or(u32::MAX);
        self.busy += if members > 0 { span } else { Duration::ZERO };
    }

    fn average(&self) -> Option<f64> {
        (!self.busy.is_zero()).then(|| self.spent.as_secs_f64() / self.busy.as_secs_f64())
    }
}

/// Runs several loops on a branch. `None` if the list allows no two tasks at once: then one loop does.
pub fn start(
    feature: &Feature,
    request: &RunRequest,
    config: &Config,
    context: &Context,
    voice: Voice,
) -> Result<Option<ExitCode>> {
    let settings = &config.settings;
    let listed = lane::at_start(feature, settings, request, context)?;
    let list = tasks::read(&listed.files, &listed.tasks_path)?;
    let part = tasks::part_of(&list, &request.scope, &listed.tasks_path)?;
    let at_once = list.at_once(settings.jobs, settings.parallel, part.as_ref());
    let is_told = !voice.is_quiet();
    if at_once.most <= 1 {
        if at_once.most == 1 && is_told {
            note(format_args!(
                "-j {}: the list allows one task at once, and one loop is started",
                settings.jobs
            ));
        }
        return Ok(None);
    }
    let workers = settings.jobs.min(at_once.most);
    let branch = lane::check(feature, config, request, workers, context).map_err(refusal)?.branch;
    refuse_old_git(context).map_err(refusal)?;
    trust::require(config, context).map_err(refusal)?;
    let _branch = hold(&branch, context)?;
    refuse_other_machines(&branch, context)?;
    let dead = lane::unfinished(context.store()?, &branch, request)?.len();
    if is_told {
        let other = list.at_once(settings.jobs, Parallel::Phase, part.as_ref());
        note(allowed(
            settings.jobs,
            workers,
            at_once,
            Some(other).filter(|_| settings.parallel != Parallel::Phase),
        ));
    }
    let call = call(&request.arguments)?;
    let calls = vec![call; workers];
    let code = run_all(calls, None, dead, (feature, config, context), voice)?;
    say_branch(&branch, request.lane.land, config, context, voice)?;
    Ok(Some(code))
}

/// Refuses a git that cannot merge results without a work tree.
fn refuse_old_git(context: &Context) -> Result<()> {
    let (store, users) = (context.store()?, context.work_tree()?);
    let scratch = Scratch::create(store.repository())?;
    let Some(head) = users.head()? else { return Ok(()) };
    if users.can_merge_trees(&head, &scratch.path("objects"))? {
        return Ok(());
    }
    refuse("several agents need git 2.38 or newer, to merge what they do", "update git, or give --jobs 1")
}

/// Goes on with the sessions of the group that `first` began that are not over. `named` is the one that the call names.
pub fn resume(
    first: &SessionId,
    named: Option<&str>,
    request: &RunRequest,
    (feature, config): (&Feature, &Config),
    context: &Context,
    voice: Voice,
) -> Result<ExitCode> {
    let store = context.store()?;
    let running = sessions::running(store)?;
    let logs = store.logs_of(&feature.path)?;
    let of_group = logs.iter().filter(|log| log.view().group().is_some_and(|(group, _)| group == *first));
    let open: Vec<&SessionLog> =
        of_group.filter(|log| sessions::status(store, log, &running).0 != Status::Completed).collect();
    let branch = open.iter().find_map(|log| store.first_readable_session(log)?.branch);
    let Some(branch) = branch else {
        return refuse(
            format!("no session of the group {first} can go on"),
            format!("start anew with `{RALPH}`"),
        );
    };
    trust::require(config, context).map_err(refusal)?;
    let _branch = hold(&branch, context)?;
    let mut call = call(&request.arguments)?;
    if let Some(place) = named.and_then(|named| call.iter().rposition(|word| word == named)) {
        call.remove(place);
    }
    let calls = open.iter().map(|log| [call.as_slice(), &[log.id().to_string()]].concat());
    let code = run_all(calls.collect(), Some(first.clone()), 0, (feature, config, context), voice)?;
    say_branch(&branch, request.lane.land, config, context, voice)?;
    Ok(code)
}

/// Holds a branch as long as its loops run.
fn hold(branch: &str, context: &Context) -> Result<File> {
    let held = hold_branch_for_group(context.store()?.repository(), &full_branch_name(branch))?;
    held.map_or_else(
        || {
            let hint = format!("stop it with `{RALPH} stop`, or give another branch: --branch NAME");
            refuse(format!("another loop works on {branch}"), hint)
        },
        Ok,
    )
}

/// Refuses a branch on which a session of another machine is not over: here, the locks that it holds may look free.
fn refuse_other_machines(branch: &str, context: &Context) -> Result<()> {
    let boot = boot_id();
    for spool in Spool::all(context.store()?.repository())? {
        let Some(place) = spool.place()? else { continue };
        let is_here = place.host == host_name() || boot.is_some() && place.boot == boot;
        if !is_here && place.begun.branch.as_deref() == Some(branch) {
            let (id, host) = (place.session, place.host);
            return refuse(
                format!("session {id} works on {branch} on another machine, {host}, or died there"),
                format!(
                    "stop it there with `{RALPH} stop`; if it is dead, `{RALPH} resume {id}` here records what it left"
                ),
            );
        }
    }
    Ok(())
}

/// Returns the words that start this program with these arguments.
fn call(arguments: &[OsString]) -> Result<Vec<String>> {
    let mut call = own_program()?;
    for argument in arguments {
        let Some(text) = argument.to_str() else { bail!("`{}` is not UTF-8", argument.display()) };
        call.push(text.to_owned());
    }
    Ok(call)
}

fn run_all(
    calls: Vec<Vec<String>>,
    first: Option<SessionId>,
    dead: usize,
    (feature, config, context): (&Feature, &Config, &Context),
    voice: Voice,
) -> Result<ExitCode> {
    let interrupt = Interrupt::install()?;
    let moving = voice.moving(&context.environment);
    acknowledge(interrupt.clone(), moving)?;
    let is_moving = moving == Moving::Stderr;
    let keys = (is_moving && stdin().is_terminal()).then(Keys::default);
    let started = Arc::new(Mutex::new(Vec::new()));
    let _echo = echo(feature, config, context, voice, (moving, keys.clone()), Some(Arc::clone(&started)))?;
    let here = std::env::current_dir().context("find the current folder")?;
    let (sender, said) = mpsc::channel();
    let mut group = Group {
        calls,
        here: Utf8PathBuf::from_path_buf(here).ok().context("read the name of the current folder")?,
        members: BTreeMap::new(),
        first,
        has_begun: false,
        is_ending: false,
        sender,
        said,
        codes: Vec::new(),
        voice,
        hook: EventHook::of(config, context.project_root()?)?,
        interrupt: &interrupt,
        lines: Workers::new(is_moving, keys, config.settings.max_cost, voice.paint),
        started,
        at_work: AtWork::default(),
        card: Vec::new(),
    };
    for _ in 0..dead {
        group.begin_as(AFTER, 0, MAX_RESTARTS + 1)?;
        group.serve()?;
    }
    if group.codes.is_empty() {
        group.begin(0, 0)?;
        group.serve()?;
    }
    if let Some(average) = group.at_work.average().filter(|_| !voice.is_quiet()) {
        note(format_args!("{average:.1} tasks at once on average"));
    }
    Ok(group.code())
}

/// Brings the branch to the one that is checked out, if that is asked for, or says how. What agents wrote runs nothing of it.
fn say_branch(branch: &str, land: bool, config: &Config, context: &Context, voice: Voice) -> Result<()> {
    let users = context.work_tree()?;
    let is_fenced = config.settings.sandbox.is_some();
    // Filters of git would run outside of the sandbox, which is over.
    let land = land && !(is_fenced && users.has_filters()?);
    let fenced = users.clone().behind(None)?;
    let line = lane::close(branch, land, Some(&fenced).filter(|_| is_fenced), context)?;
    let Some(line) = line else { return Ok(()) };
    if voice.is_quiet() {
        note(line);
    } else {
        say(line)?;
    }
    Ok(())
}

/// Returns what the list allows, and what another setting would.
fn allowed(jobs: usize, workers: usize, at_once: AtOnce, other: Option<AtOnce>) -> String {
    let fewer = if workers < jobs { format!("; {workers} are started") } else { String::new() };
    let other = other.filter(|other| other.average > at_once.average + 0.05);
    let other =
        other.map_or(String::new(), |other| format!("; --parallel phase allows {:.1}", other.average));
    format!("-j {jobs}: the list allows {:.1} at once on average{other}{fewer}", at_once.average)
}

impl Group<'_> {
    /// Shows what they say until none runs any more. The others are started when the first has begun its session.
    fn serve(&mut self) -> Result<()> {
        let mut signals = 0;
        while !self.members.is_empty() {
            let came = self.interrupt.count();
            for _ in signals..came {
                self.members.values().for_each(|member| member.worker.interrupt(self.interrupt));
            }
            signals = came;
            let (place, said) = match self.said.recv_timeout(POLL_INTERVAL) {
                Ok(said) => said,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            match said {
                Said::Event(event) => {
                    if self.event(place, event) && self.interrupt.signal().is_none() {
                        (1..self.calls.len()).try_for_each(|place| self.begin(place, 0))?;
                    }
                }
                Said::Line(line) => match self.members.get(&place) {
                    Some(Member { is_last: true, .. }) => self.card.push(line),
                    _ => self.show(&line),
                },
                Said::Talk(line) => self.talk(place, &line),
                Said::Over => self.over(place)?,
            }
        }
        for line in std::mem::take(&mut self.card) {
            self.show(&line);
        }
        Ok(())
    }

    fn begin(&mut self, place: usize, restarts: u32) -> Result<()> {
        let of = self.first.as_ref().map_or_else(|| "first".to_owned(), ToString::to_string);
        self.begin_as(&of, place, restarts)
    }

    fn begin_as(&mut self, of: &str, place: usize, restarts: u32) -> Result<()> {
        let mut argv = self.calls[place].clone();
        let columns = terminal_columns(stdout()).map_or(String::new(), |columns| format!("/{columns}"));
        argv.extend(["--in-group".to_owned(), format!("{of}{columns}")]);
        if self.voice.paint == Paint::Colour && !argv.iter().any(|word| word.starts_with("--color")) {
            argv.extend(["--color", "always"].map(str::to_owned));
        }
        let (worker, stdout, stderr) = Worker::start(&argv, &self.here).context("start a loop")?;
        let member = Member {
            worker,
            session: None,
            lane: None,
            is_at_work: false,
            has_ended: false,
            restarts,
            open: 2,
            is_last: false,
        };
        self.members.insert(place, member);
        let sender = self.sender.clone();
        read(stdout, place, &sender, |line| match line.strip_prefix('\x1e') {
            Some(event) => serde_json::from_str(event).map_or_else(|_| Said::Line(line.clone()), Said::Event),
            None => Said::Line(line),
        })?;
        read(stderr, place, &sender, Said::Talk)
    }

    /// Returns true if the first session has begun with it.
    fn event(&mut self, place: usize, mut event: Value) -> bool {
        let kind = event["type"].as_str().unwrap_or_default().to_owned();
        if ["task_claimed", "iteration_recorded"].contains(&kind.as_str()) {
            self.note_work(place, kind == "task_claimed");
        }
        let Some(member) = self.members.get_mut(&place) else { return false };
        if kind == "now" {
            if let (Some(lane), Ok(now)) = (member.lane, NowSent::deserialize(event)) {
                member.is_last = now.is_last;
                self.lines.take(lane, now);
            }
            return false;
        }
        let mut has_begun = false;
        if kind == "session_started" {
            member.session = event["session"].as_str().and_then(|id| id.parse().ok());
            member.lane = event["lane"].as_u64().and_then(|lane| u32::try_from(lane).ok());
            self.started.lock().unwrap_or_else(PoisonError::into_inner).extend(member.session.clone());
            if let (Some(lane), Ok(tasks)) = (member.lane, TaskCounts::deserialize(&event["tasks"])) {
                self.lines.begin(lane, &tasks);
            }
            has_begun = !std::mem::replace(&mut self.has_begun, true);
            self.first = self.first.take().or_else(|| member.session.clone());
        }
        member.has_ended |= kind == "session_ended";
        if let (Some(session), Some(keys)) = (&member.session, event.as_object_mut()) {
            keys.entry("session").or_insert_with(|| json!(session));
        }
        if ["iteration_recorded", "integration_finished", "session_ended"].contains(&kind.as_str()) {
            for (other, member) in &mut self.members {
                if *other != place {
                    member.worker.wake();
                }
            }
        }
        if let Some(hook) = &self.hook {
            hook.push(&kind, &event);
            hook.complaints().iter().for_each(|complaint| self.warn(complaint));
        }
        if self.voice.is_json {
            let _closed = write_line(&mut stdout(), &event).is_err();
        }
        has_begun
    }

    /// Takes in that a loop has an attempt in hand, or none any more.
    fn note_work(&mut self, place: usize, is_at_work: bool) {
        self.at_work.note(self.members.values().filter(|member| member.is_at_work).count());
        if let Some(member) = self.members.get_mut(&place) {
            member.is_at_work = is_at_work;
        }
    }

    fn warn(&self, message: &str) {
        self.lines.above(|| warn(message));
    }

    fn show(&self, line: &str) {
        let _closed = self.lines.above(|| writeln!(stdout(), "{line}")).is_err();
    }

    /// Before its session has begun, a loop speaks for all: it may be refused.
    fn talk(&self, place: usize, line: &str) {
        let lane = self.members.get(&place).and_then(|member| member.lane);
        let mark = lane.map_or(String::new(), |lane| format!("[{lane}] "));
        let _closed = self.lines.above(|| writeln!(stderr(), "{mark}{line}")).is_err();
    }

    /// Takes in that one of the outputs of a loop is closed. One that died is started again.
    fn over(&mut self, place: usize) -> Result<()> {
        let Some(member) = self.members.get_mut(&place) else { return Ok(()) };
        member.open -= 1;
        if member.open > 0 {
            return Ok(());
        }
        let (code, restarts) = (member.worker.wait().context("wait for a loop")?, member.restarts);
        self.note_work(place, false);
        let Some(Member { lane, session, has_ended, .. }) = self.members.remove(&place) else {
            return Ok(());
        };
        let name =
            lane.map_or_else(|| format!("loop {}", place + 1), |lane| format!("the loop in lane {lane}"));
        if let Some(lane) = lane {
            self.lines.end(lane);
        }
        self.members.values_mut().for_each(|member| member.worker.wake());
        if restarts > MAX_RESTARTS {
            if code != 0 {
                self.codes.push(code);
                self.end_all(&name);
            }
            return Ok(());
        }
        // One that is refused at its first start has nothing in hand. A signal that did not come to us is none of the user's.
        let has_failed = [1, 3].contains(&code) && !has_ended && (session.is_some() || restarts > 0);
        let has_died = code == PANICKED || code > 128 || has_failed;
        if !has_died || !self.has_begun || self.is_ending || self.interrupt.signal().is_some() {
            self.codes.push(code);
            return Ok(());
        }
        if restarts == MAX_RESTARTS {
            self.warn(&format!("{name} died {restarts} times more, and is not started again"));
            self.codes.push(1);
            // What it left in hand is not to keep its tasks from the others.
            return self.begin_as(AFTER, place, MAX_RESTARTS + 1);
        }
        self.warn(&format!("{name} died ({code}), and is started again"));
        self.begin(place, restarts + 1)
    }

    /// Has all end after their attempts, as they would wait for what a loop had in hand.
    fn end_all(&mut self, name: &str) {
        self.is_ending = true;
        if self.members.is_empty() {
            return;
        }
        self.warn(&format!(
            "what {name} had in hand cannot be recorded, so that the others end after their attempts\n\
             hint: mend what the error above names; then `{RALPH} resume` goes on"
        ));
        self.members.values_mut().for_each(|member| member.worker.dismiss());
    }

    /// Returns the exit code of all: the first of these that one of them has.
    fn code(&self) -> ExitCode {
        if let Some(signal) = self.interrupt.signal().filter(|_| !self.interrupt.is_asked()) {
            return ExitCode::of_signal(signal);
        }
        let order = [130, 143, 129, 3, 1, 6, 4, 5];
        let first = order.into_iter().find(|code| self.codes.contains(code));
        let other = self.codes.iter().any(|code| *code != 0).then_some(1);
        first.or(other).map_or(ExitCode::Done, ExitCode::Passed)
    }
}

/// Sends each line of an output, and its end.
fn read(
    output: impl Read + Send + 'static,
    place: usize,
    sender: &Sender<(usize, Said)>,
    said: impl Fn(String) -> Said + Send + 'static,
) -> Result<()> {
    let sender = sender.clone();
    thread::Builder::new()
        .name("worker".to_owned())
        .spawn(move || {
            for line in BufReader::new(output).lines().map_while(std::io::Result::ok) {
                if sender.send((place, said(line))).is_err() {
                    return;
                }
            }
            let _over = sender.send((place, Said::Over)).is_err();
        })
        .context("read what a loop says")?;
    Ok(())
}
