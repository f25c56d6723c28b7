//! The terminal of a loop: its keys one at a time, and back again however we end.

use std::fs::File;
use std::io::stdin;
use std::panic;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::getpgrp;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};

/// How the terminal was before its keys were ours. Held while keys are awaited, and while we are stopped: whoever reads
/// in the background is stopped, too.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// Returns false if another program has the terminal: it would stop us, and its keys are not ours.
pub fn is_in_foreground() -> bool {
    tcgetpgrp(stdin()).ok().is_none_or(|group| group == getpgrp())
}

/// Returns the terminal of this process for writing, wherever its output goes; `None` without one.
pub fn controlling_terminal() -> Option<File> {
    File::options().write(true).open("/dev/tty").ok()
}

/// Calls `read` while the terminal gives each key at once and echoes none; Ctrl-C and Ctrl-Z stay signals. `None` if
/// stdin is not a terminal, or is that of another program now.
pub fn with_single_keys<T>(read: impl FnOnce() -> T) -> Option<T> {
    let mut before = before();
    let mut modes = tcgetattr(stdin()).ok().filter(|_| is_in_foreground())?;
    let (waits, echoes) = (LocalModes::ICANON, LocalModes::ECHO);
    if modes.local_modes.intersects(waits | echoes) {
        // After a stop the shell may have set its own.
        before.get_or_insert_with(|| modes.clone());
        modes.local_modes.remove(waits | echoes);
        tcsetattr(stdin(), OptionalActions::Now, &modes).ok()?;
    }
    Some(read())
}

/// Gives the terminal back as it was. May be called as often as one likes.
pub fn give_back() {
    give_back_while(|| ());
}

/// The same also where a thread panics: what is published ends then, and drops nothing.
pub fn give_back_on_panic() {
    let Ok(modes) = tcgetattr(stdin()) else { return };
    let hook = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        // Without the lock of `BEFORE`, which the thread that panics may hold.
        let _gone = is_in_foreground() && tcsetattr(stdin(), OptionalActions::Now, &modes).is_err();
        hook(info);
    }));
}

/// Gives the terminal back, and keeps it as it was while `stopped` runs.
pub(crate) fn give_back_while(stopped: impl FnOnce()) {
    let mut before = before();
    if let Some(modes) = before.take().filter(|_| is_in_foreground()) {
        // A terminal that is gone has no modes.
        let _gone = tcsetattr(stdin(), OptionalActions::Now, &modes).is_err();
    }
    stopped();
}

fn before() -> MutexGuard<'static, Option<Termios>> {
    BEFORE.lock().unwrap_or_else(PoisonError::into_inner)
}
