//! The console of a loop. Its keys are not read one at a time: the plain output is all there is.

use std::fs::File;

/// Returns true: every program of a console may write and read there.
pub fn is_in_foreground() -> bool {
    true
}

/// Returns the console of this process for writing, wherever its output goes; `None` without one.
pub fn controlling_terminal() -> Option<File> {
    File::options().write(true).open("CONOUT$").ok()
}

/// Returns `None`: no keys can be had.
pub fn with_single_keys<T>(_read: impl FnOnce() -> T) -> Option<T> {
    None
}

/// Does nothing: the console is as it was.
pub fn give_back() {}

pub fn give_back_on_panic() {}

pub(crate) fn give_back_while(stopped: impl FnOnce()) {
    stopped();
}
