//! The store: what a session leaves behind, as commits on `refs/ralph/<feature>/<session>`.
//!
//! The only writer of our refs, and one of the two doors to git. Each iteration is one commit, so plain
//! `git log --glob='refs/ralph/*'` reads a session without us. Nothing here touches the user's branch, index or
//! files.

mod append;
mod comparable;
#[cfg(test)]
mod counters;
mod digests;
mod files;
mod leftovers;
mod local;
mod loose;
mod maintenance;
mod message;
mod objects;
mod reading;
mod refs;
mod restore_point;
mod retention;
#[cfg(test)]
mod samples;
mod session_changes;
mod share;
mod snapshots;
#[cfg(test)]
mod tests;
mod verify;

pub use comparable::{DifferingFile, TOO_LARGE};
pub use files::{FileProof, Manifest};
pub use leftovers::Leftover;
pub use local::control::{Control, Stop};
pub use local::disk::free as disk_free;
pub use local::folders;
pub use local::git_locks::{git_locks, lock_name, remove_abandoned_lock};
pub use local::hints::Hints;
pub use local::identity::{Identity, random_bytes};
pub use local::kept_settings;
pub use local::last_written::{
    last_written, last_written_in_each_lane, last_written_in_lanes, newest_written, note_last_written,
};
pub use local::lock::{
    CheckoutLock, Holder, LoopLock, SILENCE, ValidationTurn, hold_branch_for_group, refuse_read_only,
    try_to_integrate, wait_to_land, wait_to_pick,
};
pub use local::passed_states;
pub use local::scratch::Scratch;
pub use local::spool::{Begin, Claim, Draft, Slot, Spool, SpoolMeta, Tips, names};
pub use maintenance::{MIN_LOOSE_TO_PACK, Maintenance, loose_objects};
pub use message::Snapshot;
pub use objects::{Quarantine, Signature};
pub use reading::listing::{ListedSession, Listing, UnreadableSession};
pub use reading::range_read::{Ask, FilePart};
pub use reading::reader::RecordReader;
pub use reading::search::{Matcher, Search, line};
pub use reading::session_log::{SessionLog, status_of};
pub use reading::sessions::SessionQuery;
pub use refs::naming::{SessionRefs, sessions_among, slug};
pub use refs::queries::Refs;
pub use refs::recovery::RefState;
pub use refs::update::Conflict;
pub use restore_point::{PutBack, PutBackKind, Restoration, RestorePoint};
pub use retention::{CleanPlan, Expired, Extent, Retained, Rules};
pub use session_changes::FeatureFiles;
pub use share::elsewhere::RemoteRun;
pub use share::incoming::stays_inside;
pub use share::notes;
pub use share::purge::PurgeReport;
pub use share::remote::{Remote, RemoteBranches, Unreachable};
pub use share::sync::{CleanedRefs, Direction, Exchange, KeptRef, MovedRef, Snapshots};
pub use share::sync_state::cleaned_refs;
pub use share::tombstones;
pub use verify::{Finding, Repair, VerifyReport};
// For fuzzing alone.
#[doc(hidden)]
pub use message::compose as compose_message;

use anyhow::Result;
use gix::odb::pack::cache::lru::MemoryCappedHashmap;

use ralph_git::repository::{MAX_BLOB_BYTES, Repository, caused};

use reading::unreadable::Unreadable;
use refs::database::RefWriter;

/// Bytes of unpacked objects that are kept to make others from.
const PACK_CACHE: usize = 8 * 1024 * 1024;

/// The same where all records are read, as much as git takes: packs hold equal files of many records as one chain of
/// deltas, which is gone through once where its beginning is still there.
const VERIFY_PACK_CACHE: usize = 96 * 1024 * 1024;

/// The records of one repository.
#[derive(Debug, Clone)]
pub struct Store {
    repository: Repository,
    syncing: Syncing,
    unreadable: Unreadable,
    ref_writer: RefWriter,
}

/// Whether what is recorded must survive a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syncing {
    Always,
    /// For made-up records that can be made again. No setting of a user's leads here.
    Never,
}

impl Store {
    pub fn new(repository: Repository) -> Self {
        Self::with_sync(repository, Syncing::Always)
    }

    pub fn with_sync(repository: Repository, syncing: Syncing) -> Self {
        Self { repository, syncing, unreadable: Unreadable::default(), ref_writer: RefWriter::default() }
    }

    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Opens the repository afresh: refs and packs may have been moved about by others since the last look.
    fn open_git(&self) -> Result<gix::Repository> {
        #[cfg(test)]
        counters::count(&counters::GIT_OPENED);
        let mut git = self.repository.open(&self.repository.common_dir)?;
        // In a pack each of our commits is a delta on the one before: without this, reading a session in its
        // order would make every one anew from the start of its chain.
        git.objects.set_pack_cache(|| Box::new(MemoryCappedHashmap::new(PACK_CACHE)));
        Ok(git)
    }
}
