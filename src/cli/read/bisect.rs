//! `specify ralph bisect`: the first iteration after which a command fails.

use std::io::{Write, stderr};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use serde_json::{Value, json};

use ralph_core::record::{AttemptId, IterationName, LogEntry, ObjectId, RALPH, SessionId, Which};
use ralph_git::worktree::{Checkout, WorkTree};
use ralph_os::if_there::IfThere;
use ralph_os::process::{Child, Interrupt, Limits, Marker, Pulse};
use ralph_project::feature;
use ralph_ui::style::{duration, milliseconds, one_line};

use crate::cli::args::ReadArgs;
use crate::cli::read::iterations::{self, Point};
use crate::cli::start::lane;
use crate::cli::{Context, ExitCode, SessionChoice, emit, note, warn};

#[derive(Debug, Args)]
pub struct BisectArgs {
    /// Iteration after which the command passes [default: 0, before the first]
    #[arg(value_name = "A")]
    pub from: Option<IterationName>,
    /// Later iteration after which it fails [default: @, the last]
    #[arg(value_name = "B")]
    pub to: Option<IterationName>,
    /// Command to run; a single argument is run by the shell
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// Print the output of the command
    #[arg(short, long)]
    pub verbose: bool,
    #[command(flatten)]
    pub read: ReadArgs,
}

/// No limit, where one must be given: the user looks on.
const UNLIMITED: Duration = Duration::from_secs(u64::MAX / 4);

/// Exit code of a command that cannot test a snapshot, as for `git bisect run`.
const UNTESTABLE: i32 = 125;

pub fn run(args: &BisectArgs, context: &Context) -> Result<ExitCode> {
    let (start, moments) = moments(context, args, &args.read.choice)?;
    let interrupt = Interrupt::install()?;
    let mut runs = Vec::new();
    let found = Trial::new(args, context, &interrupt)
        .and_then(|trial| halve(moments.len(), |place| trial.run(&moments[place], &mut runs)));
    if let Some(signal) = interrupt.signal() {
        return Ok(ExitCode::of_signal(signal));
    }
    report(args, &start, &moments, found?.as_deref(), &runs)
}

/// A moment that can be tried.
struct Moment {
    /// What commands call it; `0` for the start.
    name: String,
    /// `None` for the start.
    attempt: Option<AttemptId>,
    snapshot: ObjectId,
}

impl Moment {
    fn number(&self) -> u32 {
        self.attempt.as_ref().map_or(0, |attempt| attempt.number)
    }
}

/// Returns the moments of a session, or of its group, between those that are named, as far as their snapshots are here, oldest
/// first. In a lane they are what is on the branch and passed: failed attempts are no part of that.
fn moments(context: &Context, args: &BisectArgs, choice: &SessionChoice) -> Result<(Point, Vec<Moment>)> {
    let store = context.store()?;
    let start = IterationName { session: None, which: Which::Start };
    let start = iterations::find(store, args.from.as_ref().unwrap_or(&start), choice)?;
    // A session that is named is looked at alone.
    let run = if choice.session.is_some() { start.log.view() } else { start.run.clone() };
    let place = |point: &Point| {
        let own = point.iteration().ok().map(LogEntry::commit)?;
        run.iterations().position(|entry| entry.commit() == own)
    };
    let first = place(&start);
    let last = match &args.to {
        None => None,
        Some(name) => {
            let later = iterations::find(store, name, choice)?;
            let last = place(&later).filter(|last| first.is_none_or(|first| first < *last));
            if last.is_none() {
                bail!(
                    "{later} is not after {start}\nhint: first the iteration after which the command passes, then a later one of the same session"
                );
            }
            last
        }
    };
    let is_between =
        |place: usize| first.is_none_or(|first| place > first) && last.is_none_or(|last| place <= last);
    let moment = |entry: Option<&LogEntry>, snapshot| Moment {
        name: entry
            .map_or_else(|| "0".to_owned(), |entry| start.names.name(&entry.session(), entry.number())),
        attempt: entry.map(LogEntry::id),
        snapshot,
    };
    let begin = |snapshot| moment(start.iteration().ok(), snapshot);
    let passed = lane::passed(&start.log, &run, context)?;
    if !passed.is_empty() {
        let of_start = passed.iter().find(|(place, _)| Some(*place) == first);
        let of_start = of_start.map_or_else(|| start.snapshot(store), |(_, commit)| Ok(commit.clone()))?;
        let list = passed.iter().filter(|(place, _)| is_between(*place));
        let entries: Vec<&LogEntry> = run.iterations().collect();
        let list: Vec<Moment> =
            list.map(|(place, commit)| moment(Some(entries[*place]), commit.clone())).collect();
        if list.is_empty() {
            bail!("nothing passed on the branch after {start}, as far as is asked");
        }
        let list = [begin(of_start)].into_iter().chain(list).collect();
        return Ok((start, list));
    }
    let (mut missing, mut list) = (0, Vec::new());
    for (place, entry) in run.iterations().enumerate() {
        match entry.snapshot() {
            _ if !is_between(place) => {}
            Some(snapshot) if store.has(&snapshot)? => list.push(moment(Some(entry), snapshot)),
            _ => missing += 1,
        }
    }
    if list.is_empty() {
        // Says which is missing, and why.
        let Some(last) = run.iterations().next_back() else {
            bail!("session {} has no iteration yet", run.id);
        };
        start.at(last).snapshot(store)?;
    }
    match start.snapshot(store) {
        Ok(snapshot) => list.insert(0, begin(snapshot)),
        // Where the start is not here, the first iteration has to do.
        Err(error) if args.from.is_some() => return Err(error),
        Err(_) => {}
    }
    if missing > 0 {
        warn(&format!("{missing} iterations have no snapshot here and are left out"));
    }
    Ok((start, list))
}

/// How a command went at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TrialOutcome {
    Passes,
    Fails,
    Untestable,
}

/// Halves the distance between a moment that passes and a later one that fails, until they are neighbours. Returns the place of
/// the first that fails; several, if all of them but the last could not be tested; `None` if the last passes.
fn halve(count: usize, mut trial: impl FnMut(usize) -> Result<TrialOutcome>) -> Result<Option<Vec<usize>>> {
    let last = count - 1;
    match trial(last)? {
        TrialOutcome::Passes => return Ok(None),
        TrialOutcome::Untestable => bail!("the command cannot test the last iteration (exit code 125)"),
        TrialOutcome::Fails => {}
    }
    if last == 0 {
        return Ok(Some(vec![0]));
    }
    match trial(0)? {
        TrialOutcome::Fails => return Ok(Some(vec![0])),
        TrialOutcome::Untestable => bail!("the command cannot test the start of the session (exit code 125)"),
        TrialOutcome::Passes => {}
    }
    let (mut passes, mut fails) = (0, last);
    let mut untestable = Vec::new();
    loop {
        let middle = usize::midpoint(passes, fails);
        let open = (passes + 1..fails).filter(|place| !untestable.contains(place));
        let Some(next) = open.min_by_key(|place| place.abs_diff(middle)) else { break };
        match trial(next)? {
            TrialOutcome::Passes => passes = next,
            TrialOutcome::Fails => fails = next,
            TrialOutcome::Untestable => untestable.push(next),
        }
    }
    Ok(Some((passes + 1..=fails).collect()))
}

/// The command, and the folder that it runs in.
struct Trial<'a> {
    args: &'a BisectArgs,
    interrupt: &'a Interrupt,
    checkout: Checkout,
    marker: Marker,
    /// The project's root, from the top.
    project: Utf8PathBuf,
}

impl<'a> Trial<'a> {
    fn new(args: &'a BisectArgs, context: &Context, interrupt: &'a Interrupt) -> Result<Self> {
        let repository = context.store()?.repository();
        let id = SessionId::new(context.now()?, std::process::id());
        let temporary =
            context.environment.text(if cfg!(windows) { "TEMP" } else { "TMPDIR" }).unwrap_or("/tmp");
        let temporary = context.directory.join(temporary);
        let checkout = Checkout::create(repository, temporary.join(format!("ralph-bisect-{id}")))?;
        let start = context.start()?;
        let top = context.work_tree().ok().map(WorkTree::top);
        let project = top.and_then(|top| {
            let root = feature::project_root(&start, top);
            root.strip_prefix(top).ok().map(Utf8Path::to_owned)
        });
        let marker = Marker::new(&id).in_work_tree(checkout.dir());
        let project = project.unwrap_or_default();
        Ok(Self { args, interrupt, checkout, marker, project })
    }

    /// Runs the command if it is now.
    fn command(&self) -> Result<i32> {
        let argv = match self.args.command.as_slice() {
            [line] => ["sh", "-c", line.as_str()].map(str::to_owned).into(),
            words => words.to_vec(),
        };
        let project = self.checkout.dir().join(&self.project);
        let streams = self.checkout.dir().join(".git");
        let child = Child {
            argv,
            directory: if project.is_dir() { project } else { self.checkout.dir().to_owned() },
            environment: Vec::new(),
            defaults: Vec::new(),
            removed: Vec::new(),
            stdin: None,
            stdout: streams.join("ralph-stdout"),
            stderr: streams.join("ralph-stderr"),
            marker: self.marker.clone(),
            limits: Limits { wall: UNLIMITED, idle: None, first_output: None, output: u64::MAX },
            fence: None,
        };
        for path in [&child.stdout, &child.stderr] {
            // Streams are appended to, and what an earlier run said was shown then.
            std::fs::remove_file(path).if_there().with_context(|| format!("remove {path}"))?;
        }
        let ended = child.run(self.interrupt, &mut || Pulse::Alive)?;
        if self.args.verbose || !matches!(ended.exit.code, 0..126) {
            for path in [&child.stdout, &child.stderr] {
                let mut file = std::fs::File::open(path).with_context(|| format!("read {path}"))?;
                let _closed = std::io::copy(&mut file, &mut stderr()).is_err();
            }
        }
        Ok(ended.exit.code)
    }

    /// Runs the command after an iteration, and notes how that went in `runs`.
    fn run(&self, moment: &Moment, runs: &mut Vec<Value>) -> Result<TrialOutcome> {
        let Moment { name, .. } = moment;
        self.checkout.go_to(&moment.snapshot)?;
        let began = std::time::Instant::now();
        let exit = self.command()?;
        let (verdict, word) = match exit {
            0 => (TrialOutcome::Passes, "passes".to_owned()),
            UNTESTABLE => (TrialOutcome::Untestable, "cannot be tested".to_owned()),
            1..UNTESTABLE => (TrialOutcome::Fails, format!("fails, exit {exit}")),
            _ => bail!("the command could not be run after iteration {name}: exit {exit}"),
        };
        note(format_args!("after iteration {name}: {word} ({})", duration(milliseconds(began.elapsed()))));
        let session = moment.attempt.as_ref().map(|attempt| &attempt.session);
        runs.push(json!({"session": session, "iteration": moment.number(), "exit": exit}));
        Ok(verdict)
    }
}

fn report(
    args: &BisectArgs,
    start: &Point,
    moments: &[Moment],
    found: Option<&[usize]>,
    runs: &[Value],
) -> Result<ExitCode> {
    let mut candidates: Vec<&Moment> =
        found.unwrap_or_default().iter().map(|place| &moments[*place]).collect();
    let is_never = candidates.is_empty();
    // The start, 0, is no iteration.
    let only = if let [only] = candidates[..] { only.attempt.as_ref() } else { None };
    let entry = only.and_then(|only| start.run.iterations().find(|entry| entry.id() == *only));
    if candidates.len() == 1 {
        candidates.clear();
    }
    let session = only.map_or(start.log.id(), |only| &only.session);
    let json = json!({
        "session": session,
        "iteration": entry.and_then(LogEntry::iteration),
        "commit": entry.map(LogEntry::commit),
        "candidates": candidates.iter().map(|one| one.number()).collect::<Vec<_>>(),
        "runs": runs,
    });
    emit(args.read.json, &json, |out| match entry {
        Some(entry) => {
            let name = entry.id();
            writeln!(out, "{name} is the first iteration after which it fails")?;
            writeln!(out, "  {}", one_line(entry.subject()))?;
            writeln!(out, "look: {RALPH} show {name} --patch")
        }
        None if !candidates.is_empty() => {
            let names: Vec<String> = candidates
                .iter()
                .map(|one| one.attempt.as_ref().map_or_else(|| format!("{session}:0"), ToString::to_string))
                .collect();
            writeln!(out, "the first is one of {}: the others could not be tested", names.join(", "))
        }
        None if is_never => writeln!(out, "it passes after the last iteration of session {session}"),
        None => writeln!(out, "it fails at the start of session {session} already"),
    })?;
    Ok(if entry.is_some() { ExitCode::Done } else { ExitCode::NotDone })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `+` passes, `-` fails, `?` cannot be tested. Returns how many were tried, too.
    fn halved(story: &str) -> (Result<Option<Vec<usize>>>, usize) {
        let mut tried = 0;
        let found = halve(story.len(), |place| {
            tried += 1;
            Ok(match story.as_bytes()[place] {
                b'+' => TrialOutcome::Passes,
                b'-' => TrialOutcome::Fails,
                _ => TrialOutcome::Untestable,
            })
        });
        (found, tried)
    }

    #[track_caller]
    fn case(story: &str, expected: Option<&[usize]>) {
        assert_eq!(halved(story).0.unwrap().as_deref(), expected, "{story}");
    }

    #[test]
    fn the_first_failure_is_found() {
        case("+-", Some(&[1]));
        case("++++----", Some(&[4]));
        case("+-------", Some(&[1]));
        case("+++++++-", Some(&[7]));
        case("--", Some(&[0]));
        case("-", Some(&[0]));
        case("+-+", None);
        case("+++??--", Some(&[3, 4, 5]));
        case("+?-", Some(&[1, 2]));
        case("++?+---", Some(&[4]));
    }

    #[test]
    fn a_thousand_moments_take_a_dozen_runs() {
        let story = format!("{}{}", "+".repeat(700), "-".repeat(300));
        let (found, tried) = halved(&story);
        assert_eq!(found.unwrap(), Some(vec![700]));
        assert!(tried <= 12, "{tried}");
    }

    #[test]
    fn an_end_that_cannot_be_tested_is_an_error() {
        assert!(halved("+-?").0.is_err());
        assert!(halved("?+-").0.is_err());
    }
}
