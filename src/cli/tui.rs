//! `specify ralph tui`, and `specify ralph --tui`: the screen, and the loop beside it.

use std::cell::RefCell;
use std::ffi::OsString;
use std::fs::File as Talk;
use std::io::{BufWriter, IsTerminal, Read, Seek, SeekFrom, Write, stderr, stdin, stdout};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use camino::{Utf8Path, Utf8PathBuf};
use redact_stream::Redactor;
use serde_json::Value;

use ralph_agent::answer::recorded_parser;
use ralph_core::history::clusters::{clusters, folded};
use ralph_core::progress::historical::Mode;
use ralph_core::record::{
    AgentEvent, DiffStat, IterationName, LogEntry, RALPH, Refusal, Scope, SessionId, Timestamp, Which,
};
use ralph_engine::{Reason, Recalled, RecalledHistory};
use ralph_os::clock::Clock;
use ralph_os::process::{Detached, ShutdownSignal, Tool};
use ralph_store::{Control, Hints, LoopLock, Scratch, Spool, Store, folders};
use ralph_ui::style::inert;
use ralph_ui::tui::{
    DiffTarget, ExternalData, File, Host, Left, Opened, OwnLoop, Palette, Patch, Place, Program,
    PromptMemory, Records, Source, Steer, Subcommand,
};

use super::hint::{asking_task, feature_of};
use super::own_command::own_program;
use super::resume::{ResumeArgs, Resumption};
use super::session_changes::changes;
use super::sessions::{OnlySessions, ResolvedChoice};
use super::settings::{load_in, terminal_redactor};
use super::setup::Settings;
use super::trust::{self, load_to_read};
use super::{Context, ExitCode, Flags, SessionChoice, iterations, note, output, sessions};

/// The signal of a terminal that has gone.
const SIGHUP: i32 = 1;

/// Lines of a patch that are shown; a pager takes more.
const MAX_LINES: u64 = 20_000;

/// Iterations that clusters of failures are looked for in.
const MAX_ITERATIONS: usize = 1000;

/// Maximum bytes of a loop's output that are repeated when the screen closes.
const MAX_REPEATED_LOG_BYTES: u64 = 64 * 1024;

pub fn run(only: &OnlySessions, context: &Context) -> Result<ExitCode> {
    // The screen says what is left out.
    let context = context.without_warnings()?;
    check_terminal(&context)?;
    let wanted = only.choice.settle(context.store()?)?;
    let mut host = TuiHost::new(context)?;
    let left = show(&mut host, wanted)?;
    Ok(left_by(left))
}

/// Starts the loop of `run` beside the screen.
pub fn run_beside(arguments: &[OsString], flags: Flags, context: &Context) -> Result<ExitCode> {
    with_loop(arguments, context, |context| trust::require(&load_in(context, flags)?.1, context))
}

/// Starts the loop of `resume` beside the screen.
pub fn resume_beside(arguments: &[OsString], args: &ResumeArgs, context: &Context) -> Result<ExitCode> {
    with_loop(arguments, context, |context| {
        let resumption = Resumption::of(args, context)?;
        let (config, context) = resumption.config()?;
        trust::require(&config, context)
    })
}

/// Starts the loop that `arguments` ask for beside the screen, in a process that outlives it.
fn with_loop(
    arguments: &[OsString],
    context: &Context,
    ask: impl FnOnce(&Context) -> Result<()>,
) -> Result<ExitCode> {
    // The screen says what is left out.
    let context = context.without_warnings()?;
    check_terminal(&context)?;
    super::run::refuse_within_iteration(&context)?;
    // Asks at the terminal while there still is one: a loop beside a screen has none.
    ask(&context)?;
    let mut host = TuiHost::new(context)?;
    let (path, talk) = folders::talk(host.context.work_tree()?)?;
    let mut argv = own_program()?;
    for argument in arguments.iter().filter(|argument| *argument != "--tui") {
        let Some(text) = argument.to_str() else { bail!("`{}` is not UTF-8", argument.display()) };
        argv.push(text.to_owned());
    }
    let here = std::env::current_dir().context("find the current folder")?;
    let here = Utf8PathBuf::from_path_buf(here).ok().context("read the name of the current folder")?;
    let said = talk.try_clone().context("share what the loop says")?;
    let detached = Detached::start_loop(&argv, &here, said).context("start the loop")?;
    host.own = Some(RefCell::new(detached));
    let left = show(&mut host, ResolvedChoice::default())?;
    if let OwnLoop::Ended { code } = host.own_loop() {
        repeat(talk, code)?;
        return Ok(match left {
            Left::Signal(_) | Left::Gone => left_by(left),
            Left::Quit | Left::NothingBegun(_) => ExitCode::Passed(code),
        });
    }
    note(format_args!(
        "the loop continues in the background; its output is in {path}\nhint: `{RALPH} tui` shows it, `{RALPH} stop` ends it"
    ));
    Ok(left_by(left))
}

/// The exit code if no loop of ours has one.
fn left_by(left: Left) -> ExitCode {
    match left {
        Left::Quit | Left::NothingBegun(_) => ExitCode::Done,
        Left::Signal(signal) => ExitCode::of_signal(signal),
        Left::Gone => ExitCode::of_signal(SIGHUP),
    }
}

/// Prints the loop's output, as if it had run here.
fn repeat(mut talk: Talk, code: i32) -> Result<()> {
    let length = talk.metadata().context("read what the loop said")?.len();
    let start = length.saturating_sub(MAX_REPEATED_LOG_BYTES);
    let mut bytes = Vec::new();
    talk.seek(SeekFrom::Start(start))
        .and_then(|_| talk.read_to_end(&mut bytes))
        .context("read what the loop said")?;
    let text = String::from_utf8_lossy(&bytes);
    let text = if start > 0 { text.split_once('\n').map_or("", |(_, rest)| rest) } else { &text };
    let text = inert(text);
    // A refusal is talk, and the story of a session is data.
    let _closed = match code {
        3 => stderr().write_all(text.as_bytes()).is_err(),
        _ => stdout().write_all(text.as_bytes()).is_err(),
    };
    Ok(())
}

fn check_terminal(context: &Context) -> Result<()> {
    let is_dumb = context.environment.value("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    if stdin().is_terminal() && stdout().is_terminal() && !is_dumb {
        return Ok(());
    }
    Err(Refusal::new("the terminal UI needs a terminal")
        .with_hint(format!("`{RALPH} log` and `{RALPH} status` print what there is"))
        .into())
}

fn show(host: &mut TuiHost, wanted: ResolvedChoice) -> Result<Left> {
    // Where settings cannot be read, nothing says that secrets are to be shown.
    let redactor = load_to_read(&host.context)
        .and_then(|config| terminal_redactor(&config))
        .unwrap_or_else(|_| Some(Redactor::default()));
    let backend = Backend { store: host.store.clone(), context: host.context.clone(), wanted, redactor };
    let source: Arc<dyn Source> = Arc::new(Records::new(host.store.clone(), Box::new(backend)));
    let palette = Palette(host.context.paint);
    ralph_ui::tui::run(&source, host, palette)
}

/// What the screen has on hand: the time, signals, the loop, and the user's programs.
struct TuiHost {
    store: Store,
    context: Context,
    clock: Clock,
    shutdown_signal: ShutdownSignal,
    own: Option<RefCell<Detached>>,
    ended: Option<i32>,
}

impl TuiHost {
    fn new(context: Context) -> Result<Self> {
        Ok(Self {
            store: context.store()?.clone(),
            clock: context.clock()?,
            shutdown_signal: ShutdownSignal::install()?,
            own: None,
            ended: None,
            context,
        })
    }

    /// Opens a file in the program that git would take for this.
    fn open_file(&self, program: Program, path: &Utf8Path) -> Result<()> {
        let variable = match program {
            Program::Pager => "GIT_PAGER",
            Program::Editor => "GIT_EDITOR",
        };
        let command = Tool::git_for_user(&self.context.directory).args(["var", variable]).line()?;
        let tool = Tool::shell(&format!("{command} \"$@\""), &self.context.directory);
        let code = tool.args([command.as_str(), path.as_str()]).hand_over()?;
        self.shutdown_signal.forget_interrupt();
        if code != 0 {
            bail!("`{command}` ended with {code}");
        }
        Ok(())
    }

    /// Copies what is opened, so that no editor writes into the spool.
    fn copy(&self, opened: &Opened, to: &mut dyn Write) -> Result<()> {
        match opened {
            Opened::File(File { place: Place::Record(commit), stream, .. }) => {
                self.store.reader()?.copy_file(commit, stream.path(), to)?;
            }
            Opened::File(File { place: Place::Spool(session, number), stream, .. }) => {
                if let Some(spool) = Spool::of(self.store.repository(), session)? {
                    spool.slot(&number.to_string()).copy_file(stream.spool_name(), to)?;
                }
            }
            Opened::Diff(change) => {
                let changes = diff(&self.store, &self.context, change, u64::MAX)?;
                to.write_all(changes.text.as_bytes()).context("write the changes")?;
            }
            Opened::Text(text) => to.write_all(text.as_bytes()).context("write the text")?,
        }
        Ok(())
    }
}

impl TuiHost {
    fn add_hint(&self, session: &SessionId, text: &str) -> Result<()> {
        let holders = LoopLock::holders(self.store.repository())?;
        let holder = holders.iter().find(|holder| holder.session == *session);
        let Some(feature) = holder.and_then(|holder| feature_of(&self.store, holder)) else {
            bail!("session {session} has just ended");
        };
        let here = self.context.recorded_feature(&feature).ok();
        let answered = asking_task(&self.store, &feature, here.as_ref());
        let tasks: Vec<_> = answered.map(|(task, _)| task).into_iter().collect();
        Hints::of(self.store.repository(), &feature).add(text, &tasks, self.clock.now()).map(drop)
    }
}

impl Host for TuiHost {
    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn signal(&self) -> Option<i32> {
        self.shutdown_signal.take()
    }

    fn own_loop(&mut self) -> OwnLoop {
        let Some(own) = &self.own else { return OwnLoop::None };
        let mut own = own.borrow_mut();
        self.ended = self.ended.or_else(|| own.code());
        match self.ended {
            Some(code) => OwnLoop::Ended { code },
            None => OwnLoop::Runs { pid: own.pid() },
        }
    }

    fn steer(&self, session: &SessionId, steer: &Steer) -> Result<()> {
        let control = Control::of(self.store.repository(), session);
        match steer {
            Steer::Stop(stop) => control.ask_to_stop(*stop)?,
            Steer::Hint(text) => self.add_hint(session, text)?,
        }
        let holders = LoopLock::holders(self.store.repository())?;
        if !holders.iter().any(|holder| holder.session == *session) {
            control.clear()?;
            bail!("session {session} has just ended");
        }
        Ok(())
    }

    fn run(&self, command: &Subcommand) -> Result<String> {
        let [program, words @ ..] = &own_program()?[..] else { bail!("our own program has no name") };
        let tool = Tool::new(program, &self.context.directory).args(words);
        let tool = match command {
            Subcommand::Restore(name) => tool.args(["restore", name]),
            Subcommand::Report(session) => tool.args(["report", "--open", "--session", session.as_str()]),
        };
        let ran = tool.run()?;
        if !ran.is_success() {
            bail!("{}", ran.complaint());
        }
        let said = String::from_utf8_lossy(&ran.stdout);
        Ok(said.lines().next().unwrap_or_default().to_owned())
    }

    fn open(&self, program: Program, opened: &Opened) -> Result<()> {
        let scratch = Scratch::create(self.store.repository())?;
        let path = match opened {
            Opened::File(file) => scratch.path(&file.stream.path().replace('/', "-")),
            Opened::Diff(_) => scratch.path("changes.diff"),
            Opened::Text(_) => scratch.path("view.txt"),
        };
        let file = BufWriter::new(Talk::create(&path).with_context(|| format!("create {path}"))?);
        // A pager hands the terminal what it reads; an editor shows it by itself, and may want the bytes.
        let mut copy = output::Records::new(file, matches!(program, Program::Pager));
        self.copy(opened, &mut copy)?;
        copy.finish().with_context(|| format!("write {path}"))?;
        self.open_file(program, &path)
    }
}

/// What is not in the store: agents' output formats, git's answers, the next prompt's memory.
struct Backend {
    store: Store,
    context: Context,
    wanted: ResolvedChoice,
    /// `None` if the user wants to see everything.
    redactor: Option<Redactor>,
}

impl ExternalData for Backend {
    fn redacted(&self, before: &[u8], bytes: Vec<u8>) -> Vec<u8> {
        match &self.redactor {
            Some(redactor) => redactor.redact_bytes_after(before, &bytes),
            None => bytes,
        }
    }

    fn parse_transcript(&self, configuration: &Value, agent: &str, output: &[u8]) -> Option<Vec<AgentEvent>> {
        let mut events = ralph_agent::parse_transcript(recorded_parser(configuration, agent), output)?;
        let root = self.context.work_tree().map(|here| format!("{}/", here.top())).unwrap_or_default();
        for event in &mut events {
            match (event, &self.redactor) {
                // What came in pieces is whole only now.
                (AgentEvent::Text { text }, Some(redactor)) => *text = redactor.redact_text(text).0,
                (AgentEvent::ToolStarted { arguments_summary, .. }, _) if !root.is_empty() => {
                    *arguments_summary = arguments_summary.replace(&root, "");
                }
                _ => {}
            }
        }
        Some(events)
    }

    fn diff(&self, change: &DiffTarget) -> Result<Patch> {
        diff(&self.store, &self.context, change, MAX_LINES)
    }

    fn changes(&self, session: &SessionId) -> Result<Option<DiffStat>> {
        let choice = SessionChoice { session: Some(session.clone().into()), feature: None };
        let (listing, _) = sessions::listing(&self.store, &choice)?;
        let Some(session) = listing.sessions().next() else { return Ok(None) };
        changes(&self.store, &session, &session.rows().collect::<Vec<_>>())
    }

    fn history(&self, feature: &str) -> Result<PromptMemory> {
        let store = &self.store;
        let entries: Vec<LogEntry> = store.iterations_of(feature, MAX_ITERATIONS)?;
        let clusters = folded(&clusters(&store.read_iterations(&entries)?));
        let feature = self.context.recorded_feature(feature)?;
        let settings = Settings::read(&feature, &self.context, Flags::default(), &Scope::default())?;
        let Some(task) = settings.next_task(&feature, None)? else {
            let budget = ralph_engine::history_policy(&settings.config).settings.budget;
            return Ok(PromptMemory { budget, clusters, ..PromptMemory::default() });
        };
        let Recalled { history, budget, .. } = settings.recalled(store, &feature, &task, None)?;
        let (mode, why, context) = match history {
            None => (Mode::Off, "nothing turned it on for this task", None),
            Some(RecalledHistory { context, mode, why: Reason::Asked }) => (mode, "as set", Some(context)),
            Some(RecalledHistory { context, mode, why: Reason::Failures(_) }) => {
                (mode, "turned on by failures in a row", Some(context))
            }
        };
        Ok(PromptMemory {
            task: Some(task),
            mode: mode.as_str().to_owned(),
            why: why.to_owned(),
            budget,
            context,
            clusters,
        })
    }

    fn is_wanted(&self, session: &SessionId, feature: &str) -> bool {
        self.wanted.takes(session, feature)
    }
}

/// Returns the patch of an iteration, or of all of a session; how much changed where it has more than `most` lines.
fn diff(store: &Store, context: &Context, change: &DiffTarget, most: u64) -> Result<Patch> {
    let choice = SessionChoice { session: Some(change.session.clone().into()), feature: None };
    let which = change.iteration.map_or(Which::Last { back: 0 }, Which::Number);
    let point = iterations::find(store, &IterationName { session: None, which }, &choice)?;
    let after = point.snapshot(store)?;
    let before = match change.iteration {
        Some(_) => point.snapshot_before(store)?,
        None => point.at(Which::Start)?.snapshot(store)?,
    };
    store.require_comparable(&before, &after)?;
    let journal = point.files(store).progress;
    let git = |option: &str| {
        Tool::git(&context.directory)
            .args(["diff", "--no-color", "--no-ext-diff", "--src-prefix=a/", "--dst-prefix=b/", option])
            .args([before.as_str(), after.as_str(), "--"])
            .arg(":(top)")
            .arg(format!(":(top,exclude,literal){journal}"))
    };
    let counts = git("--numstat").read()?;
    let counts = String::from_utf8_lossy(&counts);
    let numbers = counts.lines().flat_map(|line| line.split('\t').take(2));
    let lines: u64 = numbers.filter_map(|number| number.parse::<u64>().ok()).sum();
    if lines > most {
        let text = String::from_utf8_lossy(&git("--stat=100").read()?).into_owned();
        let why = format!("{lines} lines changed: this is how much in each file, v opens all of it");
        return Ok(Patch { text, left_out: Some(why) });
    }
    Ok(Patch { text: String::from_utf8_lossy(&git("--patch").read()?).into_owned(), left_out: None })
}
