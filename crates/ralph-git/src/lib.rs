//! The git program, where a repository and its work trees are, and snapshots of a work tree.

mod discover;
pub mod repository;
pub mod worktree;
