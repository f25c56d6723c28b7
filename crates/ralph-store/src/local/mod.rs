//! Our own files beside git's, in `<common git dir>/ralph/`: the spool, locks, requests, and what can be made again.

pub(super) mod control;
pub(super) mod disk;
pub mod folders;
pub(super) mod git_locks;
pub(super) mod hints;
pub(super) mod identity;
pub mod kept_settings;
pub(super) mod last_written;
pub(super) mod lock;
pub mod passed_states;
pub(super) mod scratch;
pub(super) mod spool;
