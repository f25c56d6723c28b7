//! The terminal: taken over, drawn on, listened to, and given back however we end.

use std::io::{self, BufWriter, IsTerminal, Stdout, Write, stdin, stdout};
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Once};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use crossterm::cursor::{MoveTo, Show};
use crossterm::event;
use crossterm::style::PrintStyledContent;
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use crossterm::{execute, queue};
use ratatui::Terminal;
use ratatui::backend::{CrosstermBackend, IntoCrossterm};
use ratatui::layout::Rect;

use ralph_core::record::Timestamp;

use super::app::{App, Effect, Opened, OwnLoop, Program};
use super::draw::draw;
use super::model::{Answer, Backend, Overview, Request};
use super::row::{Look, Row, shown};
use crate::style::Paint;

/// Between two looks at the refs and the spool.
const LOOK: Duration = Duration::from_millis(250);

/// Between two steps of what turns.
const TURN: Duration = Duration::from_millis(100);

/// Longest wait for what is read while a key may come, and for a key while something may be read.
const AWAITING: Duration = Duration::from_millis(20);
const IDLE: Duration = Duration::from_millis(50);

/// For a key that is there already.
const NEXT: Duration = Duration::from_millis(1);

/// What the screen needs of the world beside its backend.
pub trait Host {
    fn now(&self) -> Timestamp;
    /// A signal by which the screen shall go.
    fn signal(&self) -> Option<i32>;
    /// How it goes with the loop that was started here.
    fn own_loop(&mut self) -> OwnLoop;
    /// Runs this program with these arguments, and returns what it said.
    fn run(&self, arguments: &[String]) -> Result<String>;
    /// Starts a loop with these arguments, which outlives the screen.
    fn start(&mut self, arguments: &[String]) -> Result<()>;
    /// Returns what a loop that was started here said last.
    fn last_words(&mut self) -> String;
    /// Shows something in a program of the user's, which has the terminal meanwhile.
    fn open(&self, program: Program, opened: &Opened) -> Result<()>;
    /// The address of a file of the work tree, for a link.
    fn address(&self, path: &str) -> Option<String>;
}

/// How the screen was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    Quit,
    Signal(i32),
    /// There is no terminal any more.
    Gone,
    /// The loop that was started with it ended before it had begun a session.
    NothingBegun(i32),
}

/// Whether the terminal is ours right now.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// Gives the address of a file of the work tree.
type Address<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The terminal while it is ours. It is given back where this goes.
struct TerminalGuard {
    terminal: Terminal<CrosstermBackend<BufWriter<Stdout>>>,
}

impl TerminalGuard {
    fn take() -> Result<Self> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let before = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                give_back();
                before(info);
            }));
        });
        take_over().context("take over the terminal")?;
        let backend = CrosstermBackend::new(BufWriter::with_capacity(1 << 16, stdout()));
        let terminal = Terminal::new(backend).inspect_err(|_| give_back()).context("draw on the terminal")?;
        Ok(Self { terminal })
    }

    /// Lends it to another program.
    fn lend<T>(&mut self, with: impl FnOnce() -> T) -> Result<T> {
        give_back();
        let result = with();
        take_over().context("take over the terminal")?;
        self.terminal.clear().context("draw on the terminal")?;
        Ok(result)
    }

    /// Paths become links where there are addresses for them.
    fn draw(&mut self, app: &App, paint: Paint, address: Option<Address<'_>>) -> Result<()> {
        self.terminal.draw(|frame| draw(frame, app, paint)).context("draw on the terminal")?;
        address.map_or(Ok(()), |address| self.write_links(app, address)).context("draw on the terminal")
    }

    /// Writes the paths on the screen once more, as links (OSC 8): a cell of a buffer cannot hold one.
    fn write_links(&mut self, app: &App, address: Address<'_>) -> io::Result<()> {
        let out = self.terminal.backend_mut();
        for (place, path, style) in app.links() {
            let Some(address) = address(&path) else { continue };
            let link = format!("\x1b]8;;{address}\x1b\\{}\x1b]8;;\x1b\\", shown(&path));
            let link = PrintStyledContent(style.into_crossterm().apply(link));
            queue!(out, MoveTo(place.x, place.y), link)?;
        }
        out.flush()
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        give_back();
    }
}

fn take_over() -> io::Result<()> {
    enable_raw_mode()?;
    IS_TAKEN.store(true, Ordering::SeqCst);
    execute!(stdout(), EnterAlternateScreen).inspect_err(|_| give_back())
}

/// Leaves the terminal as it was. May be called as often as one likes.
fn give_back() {
    if IS_TAKEN.swap(false, Ordering::SeqCst) {
        // A terminal that is gone needs no cleaning.
        let _gone = execute!(stdout(), LeaveAlternateScreen, Show).is_err();
        let _gone = disable_raw_mode().is_err();
    }
}

/// What the threads beside the screen have read.
enum News {
    Look(Result<Overview>),
    /// From the reader at this place.
    Answer(usize, Request, Result<Answer>),
}

/// A thread that reads for the screen, one thing after the other.
struct Reader {
    thread: JoinHandle<()>,
    to: Sender<Request>,
    /// What it is at.
    at: Option<Request>,
}

impl Reader {
    fn start(backend: &Arc<dyn Backend>, place: usize, news: &Sender<News>) -> Result<Self> {
        let (to, requests) = mpsc::channel::<Request>();
        let (backend, news) = (Arc::clone(backend), news.clone());
        let thread = thread::Builder::new()
            .name(format!("reader {place}"))
            .spawn(move || {
                for request in requests {
                    let answer = backend.read(&request);
                    if news.send(News::Answer(place, request, answer)).is_err() {
                        break;
                    }
                }
            })
            .context("start a thread that reads")?;
        Ok(Self { thread, to, at: None })
    }

    /// Has it read that, unless it is at something.
    fn ask(&mut self, request: Request) -> Result<()> {
        if self.at.is_none() {
            self.at = Some(request.clone());
            self.to.send(request).ok().context("read for the screen")?;
        }
        Ok(())
    }
}

/// Polls the backend in a thread, and sends what changed.
fn watch(backend: &Arc<dyn Backend>, news: Sender<News>) -> Result<JoinHandle<()>> {
    let backend = Arc::clone(backend);
    thread::Builder::new()
        .name("looks".to_owned())
        .spawn(move || {
            loop {
                if backend.look().transpose().is_some_and(|look| news.send(News::Look(look)).is_err()) {
                    break;
                }
                thread::sleep(LOOK);
            }
        })
        .context("start a thread that looks")
}

/// Shows the screen until the user leaves it.
pub fn run(backend: &Arc<dyn Backend>, host: &mut dyn Host, paint: Paint, has_links: bool) -> Result<Left> {
    let (sender, news) = mpsc::channel();
    let watcher = watch(backend, sender.clone())?;
    let mut readers = [Reader::start(backend, 0, &sender)?, Reader::start(backend, 1, &sender)?];
    let mut screen = TerminalGuard::take()?;
    let size = screen.terminal.size().context("ask the terminal for its size")?;
    let mut app = App::new(Rect::new(0, 0, size.width, size.height), host.now(), host.own_loop());
    let (mut turned, mut drawn) = (Instant::now(), None::<Instant>);
    let (mut is_awaiting, mut is_stale) = (true, true);
    loop {
        if let Some(signal) = host.signal() {
            return Ok(Left::Signal(signal));
        }
        let own_loop = host.own_loop();
        if app.own_loop != own_loop {
            (app.own_loop, app.message) = (own_loop, Vec::new());
            is_stale = true;
            if let OwnLoop::Ended { is_beside: false, .. } = own_loop
                && !app.has_begun
            {
                let words = shown(&host.last_words().replace('\n', "; "));
                app.message = vec![Row::of(Look::Bad, format!("it did not start: {words}"))];
            }
        }
        // Where something is awaited it comes at once, and a key a moment later; else it is the other way round.
        let mut wait = if is_awaiting { AWAITING } else { Duration::ZERO };
        loop {
            match news.recv_timeout(wait) {
                Ok(News::Look(Ok(overview))) => {
                    app.looked(overview);
                    drawn = None;
                }
                Ok(News::Look(Err(error))) => app.message = Row::failure(&error),
                Ok(News::Answer(place, request, answer)) => {
                    readers[place].at = None;
                    app.answered(request, answer);
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
            (wait, is_stale) = (Duration::ZERO, true);
        }
        if let OwnLoop::Ended { code, is_beside: true } = app.own_loop
            && app.is_known
            && !app.has_begun
        {
            return Ok(Left::NothingBegun(code));
        }
        if turned.elapsed() >= TURN {
            turned = Instant::now();
            // Its window was closed without a signal.
            if !stdin().is_terminal() {
                return Ok(Left::Gone);
            }
            if watcher.is_finished() || readers.iter().any(|reader| reader.thread.is_finished()) {
                bail!("what reads for the screen has stopped");
            }
            app.tick(host.now());
            is_stale |= app.is_moving();
        }
        for request in app.requests() {
            readers[usize::from(request.is_slow())].ask(request)?;
        }
        is_awaiting = !app.is_known || readers.iter().any(|reader| reader.at.is_some());
        // Of many things that are read at once, not each is drawn.
        if is_stale && (!is_awaiting || drawn.is_none_or(|drawn| drawn.elapsed() >= TURN)) {
            app.refresh();
            let address: Address<'_> = &|path| host.address(path);
            screen.draw(&app, paint, has_links.then_some(address))?;
            (is_stale, drawn) = (false, Some(Instant::now()));
        }
        let mut wait = if is_awaiting { Duration::ZERO } else { IDLE };
        while event::poll(wait).context("wait for a key")? {
            wait = NEXT;
            (is_stale, drawn) = (true, None);
            let effect = app.event(&event::read().context("read a key")?);
            match effect {
                None => {}
                Some(Effect::Quit) => return Ok(Left::Quit),
                Some(effect) => obey(effect, &mut app, host, &mut screen)?,
            }
        }
    }
}

fn obey(effect: Effect, app: &mut App, host: &mut dyn Host, screen: &mut TerminalGuard) -> Result<()> {
    match effect {
        Effect::Quit => {}
        Effect::Open(program, opened) => {
            if let Err(error) = screen.lend(|| host.open(program, &opened))? {
                app.message = Row::failure(&error);
            }
        }
        Effect::Run(arguments, words) => {
            app.message = match host.run(&arguments) {
                Ok(said) => {
                    let words = words.unwrap_or_else(|| said.trim().replace('\n', "; "));
                    vec![Row::of(Look::Good, shown(&words))]
                }
                Err(error) => Row::failure(&error),
            };
            app.cache.invalidate(true);
            app.compose();
        }
        Effect::Start(arguments) => {
            app.message = match host.start(&arguments) {
                Ok(()) => vec![Row::of(Look::Accent, "the loop is starting …")],
                Err(error) => Row::failure(&error),
            };
            (app.has_begun, app.follows) = (false, true);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "the test starts itself, on a terminal of its own")]

    use std::fs::File;
    use std::io::Read;
    use std::process::{Command, Stdio};

    use nix::pty::{Winsize, openpty};
    use nix::sys::termios::tcgetattr;

    use super::*;

    /// What is on a terminal behind a program that took it and ended in this way, and whether its settings are
    /// as they were.
    fn ending(how: &str) -> (String, bool) {
        let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        let terminal = openpty(&size, None).unwrap();
        let before = tcgetattr(&terminal.slave).unwrap();
        let own = || Stdio::from(terminal.slave.try_clone().unwrap());
        let name = "tui::terminal::tests::the_terminal_is_given_back_also_by_a_panic";
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture"])
            .env("RALPH_TEST_ENDING", how)
            .env("TERM", "xterm")
            .stdin(own())
            .stdout(own())
            .stderr(own())
            .spawn()
            .unwrap();
        let mut master = File::from(terminal.master.try_clone().unwrap());
        let reader = thread::spawn(move || {
            let (mut drawn, mut buffer) = (Vec::new(), [0; 4096]);
            // It ends in an error when the last program lets go of the terminal.
            while let Ok(count @ 1..) = master.read(&mut buffer) {
                drawn.extend_from_slice(&buffer[..count]);
            }
            String::from_utf8_lossy(&drawn).into_owned()
        });
        child.wait().unwrap();
        let is_as_before = tcgetattr(&terminal.slave).unwrap() == before;
        drop(terminal.slave);
        (reader.join().unwrap(), is_as_before)
    }

    #[test]
    fn the_terminal_is_given_back_also_by_a_panic() {
        if let Some((_, how)) = std::env::vars().find(|(name, _)| name == "RALPH_TEST_ENDING") {
            let mut screen = TerminalGuard::take().unwrap();
            let app = App::new(Rect::new(0, 0, 80, 24), Timestamp::from_seconds(0), OwnLoop::None);
            screen.draw(&app, Paint::Colour, Some(&|_| None)).unwrap();
            assert!(how == "quit", "on purpose");
            return;
        }
        for how in ["quit", "panic"] {
            let (drawn, is_as_before) = ending(how);
            assert!(is_as_before, "{how}: {drawn:?}");
            let last = |sequence: &str| drawn.rfind(sequence).unwrap_or_else(|| panic!("{how}: {drawn:?}"));
            assert!(last("\x1b[?1049l") > last("\x1b[?1049h"), "{how}: the normal screen: {drawn:?}");
            assert!(last("\x1b[?25h") > last("\x1b[?25l"), "{how}: a cursor: {drawn:?}");
            let said = if how == "panic" { "on purpose" } else { "1 passed" };
            assert!(last(said) > last("\x1b[?1049l"), "{how}: what is said is read: {drawn:?}");
        }
    }
}
