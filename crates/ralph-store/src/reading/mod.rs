//! Reading records: sessions by their refs, files of a record, and lists of thousands.

pub(super) mod belonging;
pub(super) mod blobs;
pub(super) mod chain;
pub(super) mod circumstances_cache;
mod json_texts;
pub(super) mod listing;
pub(super) mod listing_cache;
pub(super) mod range_read;
pub(super) mod reader;
pub(super) mod search;
pub(super) mod session_log;
pub(super) mod sessions;
pub(super) mod unreadable;
mod validated;
