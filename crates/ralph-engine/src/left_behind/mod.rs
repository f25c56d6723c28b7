//! What an attempt leaves behind beside its work: one look after each attempt, at the git directory and at the snapshot
//! that was taken anyway.

mod configuration;
mod done_work;
mod elsewhere;
mod git_state;
mod gone;
mod locks;
mod looking;
mod lost_list;
mod recorded_work;
mod rewritten_list;
mod still_there;
mod surroundings;
mod surviving;
mod undone;
mod undone_work;
mod user_files;

pub(super) use done_work::EMPTY;
pub(super) use locks::old_locks;
pub use lost_list::lost_list;
pub(super) use recorded_work::{MAX_ENTRIES, recorded_work};
pub use still_there::{brought_back, remains};
pub(super) use surroundings::LeftBehind;
pub(super) use undone::Undone;
pub(super) use undone_work::UndoneWork;
pub(super) use user_files::{PreviousSession, UserFiles};
