//! `specify ralph tui`, and `specify ralph --tui`: the screen, and the loop beside it.

use std::ffi::OsString;
use std::fs::File as Talk;
use std::io::{BufWriter, IsTerminal, Read, Seek, SeekFrom, Write, stderr, stdin, stdout};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use camino::{Utf8Path, Utf8PathBuf};
use redact_stream::Redactor;

use ralph_core::record::{Hint, RALPH, Refusal, Summary, TaskName, Timestamp};
use ralph_core::view::FeatureView;
use ralph_os::clock::Clock;
use ralph_os::process::{Detached, ShutdownSignal, Tool, outside};
use ralph_os::terminal::is_in_foreground;
use ralph_store::{Listing, Scratch, SessionQuery, Spool, Store, folders};
use ralph_ui::style::inert;
use ralph_ui::tui::{Backend, File, Host, Left, Opened, OwnLoop, Place, Program, Source};

use crate::cli::own_command::own_program;
use crate::cli::read::memory;
use crate::cli::read::sessions::OnlySessions;
use crate::cli::settings::{load_in, terminal_redactor};
use crate::cli::start::resume::{ResumeArgs, Resumption};
use crate::cli::start::summary;
use crate::cli::start::trust::{self, load_to_read};
use crate::cli::{Context, ExitCode, Flags, note, output};

/// The signal of a terminal that has gone.
const SIGHUP: i32 = 1;

/// Maximum bytes of a loop's output that are repeated when the screen closes.
const MAX_REPEATED_LOG_BYTES: u64 = 64 * 1024;

pub fn run(only: &OnlySessions, context: &Context) -> Result<ExitCode> {
    // The screen says what is left out.
    let context = context.without_warnings()?;
    check_terminal(&context)?;
    let wanted = only.choice.settle(context.store()?)?;
    let mut host = TuiHost::new(context)?;
    let left = show(&mut host, wanted)?;
    host.say_what_runs();
    Ok(left_by(left))
}

/// Starts the loop of `run` beside the screen.
pub fn run_beside(arguments: &[OsString], flags: Flags, context: &Context) -> Result<ExitCode> {
    with_loop(arguments, context, |context| trust::require(&load_in(context, flags)?, context))
}

/// Starts the loop of `resume` beside the screen.
pub fn resume_beside(arguments: &[OsString], args: &ResumeArgs, context: &Context) -> Result<ExitCode> {
    with_loop(arguments, context, |context| {
        let resumption = Resumption::of(args, context)?;
        trust::require(&resumption.config, &resumption.context)
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
    // Asks at the terminal while there still is one: a loop beside a screen has none.
    ask(&context)?;
    let mut host = TuiHost::new(context)?;
    let mut argv = own_program()?;
    for argument in arguments.iter().filter(|argument| *argument != "--tui") {
        let Some(text) = argument.to_str() else { bail!("`{}` is not UTF-8", argument.display()) };
        argv.push(text.to_owned());
    }
    let here = std::env::current_dir().context("find the current folder")?;
    let here = Utf8PathBuf::from_path_buf(here).ok().context("read the name of the current folder")?;
    host.start_loop(&argv, &here, true)?;
    let left = show(&mut host, SessionQuery::default())?;
    if let (OwnLoop::Ended { code, .. }, Some(own)) = (host.own_loop(), &mut host.own) {
        repeat(&mut own.talk, code)?;
        return Ok(match left {
            Left::Signal(_) | Left::Gone => left_by(left),
            Left::Quit | Left::NothingBegun(_) => ExitCode::Passed(code),
        });
    }
    host.say_what_runs();
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
fn repeat(talk: &mut Talk, code: i32) -> Result<()> {
    let text = end_of(talk)?;
    // A refusal is talk, and the story of a session is data.
    let _closed = match code {
        3 => stderr().write_all(text.as_bytes()).is_err(),
        _ => stdout().write_all(text.as_bytes()).is_err(),
    };
    Ok(())
}

/// Returns the end of what a loop said, in whole lines that are safe on a terminal.
fn end_of(talk: &mut Talk) -> Result<String> {
    let length = talk.metadata().context("read what the loop said")?.len();
    let start = length.saturating_sub(MAX_REPEATED_LOG_BYTES);
    let mut bytes = Vec::new();
    talk.seek(SeekFrom::Start(start))
        .and_then(|_| talk.read_to_end(&mut bytes))
        .context("read what the loop said")?;
    let text = String::from_utf8_lossy(&bytes);
    let text = if start > 0 { text.split_once('\n').map_or("", |(_, rest)| rest) } else { &text };
    Ok(inert(text))
}

fn check_terminal(context: &Context) -> Result<()> {
    let is_dumb = context.environment.value("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    if !stdin().is_terminal() || !stdout().is_terminal() || is_dumb {
        return Err(Refusal::new("the terminal UI needs a terminal")
            .with_hint(format!("`{RALPH} log` and `{RALPH} status` print what there is"))
            .into());
    }
    if !is_in_foreground() {
        let refusal = Refusal::new("the terminal UI cannot run in the background of its terminal");
        return Err(refusal.with_hint(format!("start `{RALPH} tui` without `&`")).into());
    }
    Ok(())
}

fn show(host: &mut TuiHost, wanted: SessionQuery) -> Result<Left> {
    // Where settings cannot be read, nothing says that secrets are to be shown.
    let redactor = load_to_read(&host.context)
        .and_then(|config| terminal_redactor(&config))
        .unwrap_or_else(|_| Some(Redactor::default()));
    let (store, work_tree) = (host.store.clone(), host.context.work_tree().ok().cloned());
    let context = host.context.clone();
    let summarize = move |listing: &Listing, path: &str, view: &FeatureView<'_>, hints: &[Hint]| {
        let list = summary::list(&context, context.store()?, path, view.sessions);
        let summary = summary::of_view(&context, path, view, &list, hints, None)?;
        let validation = summary::validation_now(&context, listing, path, None);
        Ok((list, Summary { validation, ..summary }))
    };
    let context = host.context.clone();
    let memory = move |feature: &str, task: Option<&TaskName>| memory::text(&context, feature, task);
    let source = Source::new(store, work_tree, wanted, redactor, Box::new(summarize), Box::new(memory));
    let backend: Arc<dyn Backend> = Arc::clone(host.source.insert(Arc::new(source))) as Arc<dyn Backend>;
    // The console of Linux writes the address, too.
    let has_links = host.context.environment.value("TERM").is_some_and(|term| term != "linux");
    let paint = host.context.paint;
    ralph_ui::tui::run(&backend, host, paint, has_links)
}

/// What the screen has on hand: the time, signals, the loop, and the user's programs.
struct TuiHost {
    store: Store,
    context: Context,
    clock: Clock,
    shutdown_signal: ShutdownSignal,
    source: Option<Arc<Source>>,
    own: Option<StartedLoop>,
}

/// A loop that was started here.
struct StartedLoop {
    process: Detached,
    /// What it says.
    path: Utf8PathBuf,
    talk: Talk,
    /// True if it was started with the screen, and not by a key.
    is_beside: bool,
    ended: Option<i32>,
}

impl TuiHost {
    fn new(context: Context) -> Result<Self> {
        Ok(Self {
            store: context.store()?.clone(),
            clock: context.clock()?,
            shutdown_signal: ShutdownSignal::install()?,
            source: None,
            own: None,
            context,
        })
    }

    /// Starts a loop in a process of its own, whose words go into a file of the git directory.
    fn start_loop(&mut self, argv: &[String], directory: &Utf8Path, is_beside: bool) -> Result<()> {
        let (path, talk) = folders::talk(self.context.work_tree()?)?;
        let said = talk.try_clone().context("share what the loop says")?;
        let process = Detached::start_loop(argv, directory, said).context("start the loop")?;
        self.own = Some(StartedLoop { process, path, talk, is_beside, ended: None });
        Ok(())
    }

    /// Says where the loop is that goes on, if there is one.
    fn say_what_runs(&mut self) {
        if let (OwnLoop::Runs { .. }, Some(own)) = (self.own_loop(), &self.own) {
            let path = &own.path;
            note(format_args!(
                "the loop continues in the background; its output is in {path}\nhint: `{RALPH} tui` shows it, `{RALPH} stop` ends it"
            ));
        }
    }

    /// Opens a file in the program that git would take for this.
    fn open_file(&self, program: Program, path: &Utf8Path) -> Result<()> {
        let variable = match program {
            Program::Pager => "GIT_PAGER",
            Program::Editor => "GIT_EDITOR",
        };
        let command = Tool::git_for_user(&self.context.directory).args(["var", variable]).line()?;
        if outside::runs_open(&command) {
            bail!("`{command}` lies in the work tree, where an agent could have written it");
        }
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
            Opened::Diff(target) => {
                let source = self.source.as_ref().context("read the records")?;
                to.write_all(source.diff(target, u64::MAX)?.as_bytes()).context("write the changes")?;
            }
            Opened::Text(text) => to.write_all(text.as_bytes()).context("write the text")?,
            Opened::Own(_) => {}
        }
        Ok(())
    }

    /// Returns the path of a file of the work tree that is there.
    fn own_file(&self, path: &str) -> Result<Utf8PathBuf> {
        let work_tree = self.context.work_tree()?;
        if !work_tree.has_file(path) {
            bail!("{path} is not in this work tree");
        }
        Ok(work_tree.top().join(path))
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
        let Some(own) = &mut self.own else { return OwnLoop::None };
        own.ended = own.ended.or_else(|| own.process.code());
        match own.ended {
            Some(code) => OwnLoop::Ended { code, is_beside: own.is_beside },
            None => OwnLoop::Runs { pid: own.process.pid(), is_beside: own.is_beside },
        }
    }

    fn run(&self, arguments: &[String]) -> Result<String> {
        let [program, words @ ..] = &own_program()?[..] else { bail!("our own program has no name") };
        let ran = Tool::new(program, &self.context.directory).args(words).args(arguments).run()?;
        if !ran.is_success() {
            bail!("{}", ran.complaint());
        }
        Ok(String::from_utf8_lossy(&ran.stdout).into_owned())
    }

    fn start(&mut self, arguments: &[String]) -> Result<()> {
        if let OwnLoop::Runs { .. } = self.own_loop() {
            bail!("a loop that was started here still runs");
        }
        let mut argv = own_program()?;
        argv.extend_from_slice(arguments);
        let here = self.context.directory.clone();
        self.start_loop(&argv, &here, false)
    }

    fn last_words(&mut self) -> String {
        let Some(own) = &mut self.own else { return String::new() };
        let text = end_of(&mut own.talk).unwrap_or_default();
        // An error and its hint are the last two lines.
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        lines[lines.len().saturating_sub(2)..].join("\n")
    }

    fn open(&self, program: Program, opened: &Opened) -> Result<()> {
        if let Opened::Own(path) = opened {
            return self.open_file(program, &self.own_file(path)?);
        }
        let scratch = Scratch::create(self.store.repository())?;
        let path = match opened {
            Opened::File(file) => scratch.path(&file.stream.path().replace('/', "-")),
            Opened::Diff(_) => scratch.path("changes.diff"),
            Opened::Text(_) | Opened::Own(_) => scratch.path("view.txt"),
        };
        let file = BufWriter::new(Talk::create(&path).with_context(|| format!("create {path}"))?);
        // A pager hands the terminal what it reads; an editor shows it by itself, and may want the bytes.
        let mut copy = output::Records::new(file, matches!(program, Program::Pager));
        self.copy(opened, &mut copy)?;
        copy.finish().with_context(|| format!("write {path}"))?;
        self.open_file(program, &path)
    }

    fn address(&self, path: &str) -> Option<String> {
        let path = self.own_file(path).ok()?;
        let escaped: String = path
            .as_str()
            .bytes()
            .map(|byte| match byte {
                b'/' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
                _ if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
                _ => format!("%{byte:02X}"),
            })
            .collect();
        Some(format!("file://{escaped}"))
    }
}
