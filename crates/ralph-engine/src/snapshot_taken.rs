//! The work tree at one moment of a session, compared with the moment before.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use ralph_core::record::{FileChange, LeftOut, ObjectId};
use ralph_git::worktree::{ChangedFile, RawPath};

/// Maximum number of files of which a record has the lines added and removed.
const MAX_COUNTED_FILES: usize = 20;

/// The work tree at one moment, compared with the moment before.
#[derive(Debug, Default)]
pub struct SnapshotTaken {
    pub snapshot: Option<ObjectId>,
    /// The snapshot when the agent ended.
    pub sealed: Option<ObjectId>,
    /// Without progress.txt.
    pub changed: Vec<RawPath>,
    /// The same without the task list, by what the files held.
    pub blobs: Vec<BlobChange>,
    /// Of those changed, the ones with the most lines added and removed, most first.
    pub most_changed: Vec<FileChange>,
    /// What was compared; `None` at the first look.
    pub trees: Option<(ObjectId, ObjectId)>,
    pub left_out: Vec<LeftOut>,
    /// Of those left out, the ones that git failed to take.
    pub refused: BTreeSet<RawPath>,
    /// Why there is no snapshot, so that it is not known what changed.
    pub failure: Option<String>,
}

/// A file that was changed, and what it held before and after; `None` if there was no such file.
pub type BlobChange = (RawPath, [Option<ObjectId>; 2]);

impl SnapshotTaken {
    /// Returns the paths as records have them: bytes that are not UTF-8 are replaced.
    pub fn files_changed(&self) -> Vec<String> {
        self.changed.iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect()
    }
}

/// Returns the files with the most lines added and removed, most first; files without lines come last.
pub(super) fn most_changed(changed: &[ChangedFile]) -> Vec<FileChange> {
    let lines =
        |file: &&ChangedFile| file.added.unwrap_or_default().saturating_add(file.removed.unwrap_or_default());
    let mut files: Vec<&ChangedFile> = changed.iter().collect();
    files.sort_by_key(|file| Reverse(lines(file)));
    files.into_iter().take(MAX_COUNTED_FILES).map(ChangedFile::to_record).collect()
}
