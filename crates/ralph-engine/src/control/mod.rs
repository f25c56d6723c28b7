//! What other terminals ask of a running loop.

pub(super) mod hints;
pub(super) mod steering;
pub(super) mod stop_watcher;
pub(super) mod waiting_hints;
