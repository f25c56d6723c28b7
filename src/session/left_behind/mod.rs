//! What an attempt leaves behind beside its work: one look after each attempt, at the git directory and at the snapshot
//! that was taken anyway.

mod git_state;
mod locks;
mod looking;
mod still_there;
mod surroundings;
mod surviving;
mod user_files;

pub use still_there::remains;
pub(super) use surroundings::LeftBehind;
pub(super) use user_files::{PreviousSession, UserFiles, UserFilesAtStart};
