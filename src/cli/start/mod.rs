//! Commands that start, steer and prepare a loop.

pub(super) mod accept;
pub(super) mod approvals;
pub(super) mod confirm;
pub(super) mod control;
pub(super) mod demo;
pub(super) mod doctor;
mod event_hook;
pub(super) mod group;
pub(super) mod hint;
pub(super) mod init;
pub(super) mod lane;
pub(super) mod proposal;
pub(super) mod resume;
pub(super) mod resumption;
pub(super) mod run;
pub(super) mod sandbox;
pub(super) mod session_end;
pub(super) mod setup;
pub(super) mod shim;
pub(super) mod summary;
pub(super) mod trust;
