//! How often this thread did what must not grow with the record, for tests that no slow machine can fail.

use std::cell::Cell;
use std::thread::LocalKey;

thread_local! {
    /// Repositories opened, each with a look at all packs.
    pub(super) static GIT_OPENED: Cell<usize> = const { Cell::new(0) };
    /// Commits read on the way down a session's chain.
    pub(super) static COMMITS_WALKED: Cell<usize> = const { Cell::new(0) };
    /// Trees and blobs read to verify records.
    pub(super) static OBJECTS_VERIFIED: Cell<usize> = const { Cell::new(0) };
}

pub(super) fn count(counter: &'static LocalKey<Cell<usize>>) {
    counter.set(counter.get() + 1);
}

/// Returns how far `counter` goes up while `work` runs.
pub(super) fn during<T>(counter: &'static LocalKey<Cell<usize>>, work: impl FnOnce() -> T) -> (usize, T) {
    let before = counter.get();
    let made = work();
    (counter.get() - before, made)
}
