//! Refs: what they are called, what they point at, and how one is moved, in files or in tables.

pub(super) mod database;
mod files;
pub(super) mod naming;
pub(super) mod queries;
pub(super) mod recovery;
mod tables;
pub(super) mod update;
