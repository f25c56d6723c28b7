//! Packs of ours: what is loose, packed, and small packs merged.

pub(super) mod merging;
pub(super) mod own;
pub(super) mod packing;
