//! Commands between repositories, and those that git calls.

pub(super) mod hooks;
pub(super) mod notes;
pub(super) mod remotes;
pub(super) mod sync;
