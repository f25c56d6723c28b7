//! Commits of finished tasks on the user's branch, and what they leave out.

pub(super) mod assisted_by;
pub(super) mod committing;
pub(super) mod earlier_work;
mod git_commit;
pub(super) mod left_out;
pub(super) mod message;
pub(super) mod pending;
