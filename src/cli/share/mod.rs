//! Commands between repositories, and those that git calls.

pub(super) mod forge;
pub(super) mod hooks;
pub(super) mod notes;
pub(super) mod pr;
pub(super) mod remotes;
pub(super) mod sync;
