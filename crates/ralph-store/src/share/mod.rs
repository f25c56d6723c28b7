//! What clones of a repository tell each other: sessions by `sync`, and what several machines write to one
//! ref, as sets of lines that are merged.

pub(super) mod elsewhere;
pub(super) mod incoming;
pub mod notes;
mod partial_clone;
mod progress_reset;
pub(super) mod purge;
pub(super) mod remote;
mod shared_ref;
pub(super) mod sync;
pub(super) mod sync_state;
pub mod tombstones;
