//! Commands that bring something back, or clear it away.

pub(super) mod clean;
pub(super) mod fsck;
pub(super) mod lost_list;
pub(super) mod rebuild;
pub(super) mod replay;
pub(super) mod restore;
