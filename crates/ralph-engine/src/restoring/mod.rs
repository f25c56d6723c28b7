//! Going back: a restoration that was asked for, and changes of failed attempts taken back.

pub(super) mod last_green;
pub(super) mod put_back;
pub(super) mod restore;
pub(super) mod rollback;
pub(super) mod scratch_work_tree;
