//! Reading many records in a row: git is opened once, and of a file only what is wanted is kept.

use std::collections::BTreeSet;
use std::io::Write;

use anyhow::{Context, Result, anyhow};
use serde::de::DeserializeOwned;

use ralph_core::record::{Iteration, LogEntry, ObjectId, Session};

use super::blobs::{chunks, shallow_ends, write_blob};
use super::chain::Chain;
use super::listing_cache::Lookup;
use super::range_read::{Ask, FilePart};
use crate::{SessionRefs, Store, snapshots};

/// Bytes of objects that a reader keeps.
const OBJECT_CACHE: usize = 8 << 20;

/// Reads records, with git held open.
pub struct RecordReader<'a> {
    store: &'a Store,
    pub(crate) git: gix::Repository,
    /// The commits where a shallow clone ends.
    pub(crate) ends: BTreeSet<gix::ObjectId>,
    lookup: Lookup,
}

impl Store {
    pub fn reader(&self) -> Result<RecordReader<'_>> {
        let mut git = self.open_git()?;
        // The same commits and folders are looked at again for each file in them.
        git.object_cache_size(OBJECT_CACHE);
        let ends = shallow_ends(&git)?;
        let lookup = self.lookup(&ends);
        Ok(RecordReader { store: self, git, ends, lookup })
    }

    /// Returns what the record of an iteration says.
    pub fn iteration(&self, entry: &LogEntry) -> Result<Iteration> {
        self.reader()?.iteration(entry)
    }

    /// Returns what the record of a start, resume or end says.
    pub fn session_json(&self, entry: &LogEntry) -> Result<Session> {
        self.reader()?.json(entry, "session.json")
    }

    /// Returns a whole file of a record, or `None` if the record has no such file.
    pub fn file(&self, commit: &ObjectId, path: &str) -> Result<Option<Vec<u8>>> {
        self.reader()?.file(commit, path)
    }
}

impl RecordReader<'_> {
    /// Returns what is to be known to walk down the records of a session.
    pub(crate) fn chain<'c>(&'c self, refs: &'c SessionRefs) -> Chain<'c> {
        let unreadable = &self.store.unreadable;
        let lookup = Some(&self.lookup);
        Chain {
            objects: &self.git.objects,
            refs,
            ends: &self.ends,
            known: None,
            lookup,
            unreadable,
            commits: None,
        }
    }

    /// Returns what the record of an iteration says.
    pub fn iteration(&self, entry: &LogEntry) -> Result<Iteration> {
        self.json(entry, "iteration.json")
    }

    fn json<T: DeserializeOwned>(&self, entry: &LogEntry, path: &str) -> Result<T> {
        let bytes = self.file(&entry.commit(), path)?.with_context(|| format!("find {path}"))?;
        serde_json::from_slice(&bytes).with_context(|| format!("read {path} of {}", entry.commit()))
    }

    /// Returns a whole file of a record, or `None` if the record has no such file.
    pub fn file(&self, commit: &ObjectId, path: &str) -> Result<Option<Vec<u8>>> {
        let mut bytes = Vec::new();
        Ok(self.copy_file(commit, path, &mut bytes)?.then_some(bytes))
    }

    /// Copies a file of a record chunk by chunk; false where the record has no such file.
    pub fn copy_file(&self, commit: &ObjectId, path: &str, to: &mut dyn Write) -> Result<bool> {
        let Some(chunks) = self.chunks(commit, path)? else { return Ok(false) };
        chunks.iter().try_for_each(|chunk| self.write_chunk(chunk, to)).map(|()| true)
    }

    /// Returns at most `most` bytes of a file, or `None` if the record has no such file. Only the chunks that they are in
    /// are read.
    pub fn piece(&self, commit: &ObjectId, path: &str, ask: Ask, most: u64) -> Result<Option<FilePart>> {
        let Some(chunks) = self.chunks(commit, path)? else { return Ok(None) };
        if let [one] = chunks.as_slice() {
            let mut bytes = Vec::new();
            self.write_chunk(one, &mut bytes)?;
            let total = bytes.len() as u64;
            let range = ask.range(total, most);
            let [start, end] = [range.start, range.end].map(|at| usize::try_from(at).unwrap_or(usize::MAX));
            bytes.truncate(end);
            bytes.drain(..start);
            return Ok(Some(FilePart { range, total, bytes }));
        }
        let mut ends = Vec::with_capacity(chunks.len());
        let mut total = 0;
        for id in &chunks {
            let header = self.git.find_header(*id).map_err(|error| anyhow!("read {}: {error}", id.to_hex()));
            total += header.map_err(|error| self.store.explained(error))?.size();
            ends.push(total);
        }
        let range = ask.range(total, most);
        let mut bytes = Vec::new();
        let mut start = 0;
        for (id, end) in chunks.iter().zip(ends) {
            if start < range.end && end > range.start {
                let mut chunk = Vec::new();
                self.write_chunk(id, &mut chunk)?;
                let [from, until] = [range.start, range.end]
                    .map(|at| usize::try_from(at.clamp(start, end) - start).unwrap_or(usize::MAX));
                bytes.extend_from_slice(&chunk[from..until]);
            }
            start = end;
        }
        Ok(Some(FilePart { range, total, bytes }))
    }

    /// Returns the blobs of a file of a record, or `None` if the record has no such file.
    pub(super) fn chunks(&self, commit: &ObjectId, path: &str) -> Result<Option<Vec<gix::ObjectId>>> {
        chunks(&self.git, commit, path).map_err(|error| self.store.explained(error))
    }

    pub(super) fn write_chunk(&self, id: &gix::ObjectId, to: &mut dyn Write) -> Result<()> {
        write_blob(&self.git, id, to).map_err(|error| self.store.explained(error))
    }

    /// Returns true if an object is here.
    pub fn has(&self, id: &ObjectId) -> Result<bool> {
        snapshots::has(&self.git, id)
    }

    /// Returns the snapshot before the snapshot `id`, or `None` if that was the first, or is not here.
    pub fn snapshot_before(&self, id: &ObjectId) -> Result<Option<ObjectId>> {
        snapshots::snapshot_before(&self.git, id)
    }
}

#[cfg(test)]
mod tests {
    use camino::Utf8Path;

    use super::*;
    use ralph_git::repository::Repository;
    use ralph_os::process::Tool;

    #[test]
    fn either_end_of_a_file_is_read_across_its_chunks() {
        let folder = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(folder.path()).unwrap();
        let git = |words: &[&str], stdin: &str| {
            let settings = ["-c", "user.name=a", "-c", "user.email=a@b"];
            Tool::git(path).args(settings).args(words.iter().copied()).stdin(stdin).line().unwrap()
        };
        git(&["init", "--quiet"], "");
        let blob = |text: &str| git(&["hash-object", "-w", "--stdin"], text);
        let chunks: String = ["abc", "def", "gh"]
            .iter()
            .enumerate()
            .map(|(number, text)| format!("100644 blob {}\t0000{number}\n", blob(text)))
            .collect();
        let file = git(&["mktree"], &chunks);
        let tree = git(&["mktree"], &format!("040000 tree {file}\tout\n100644 blob {}\tone\n", blob("x")));
        let commit: ObjectId = git(&["commit-tree", "-m", "m", &tree], "").parse().unwrap();
        let store = Store::new(Repository::discover(path, &[None, None], None).unwrap().0);
        let reader = store.reader().unwrap();
        for (name, ask, most, text, length) in [
            ("out", Ask::HEAD, 4, "abcd", 8),
            ("out", Ask::TAIL, 4, "efgh", 8),
            ("out", Ask::TAIL, 100, "abcdefgh", 8),
            ("out", Ask::HEAD, 0, "", 8),
            ("one", Ask::TAIL, 9, "x", 1),
        ] {
            let piece = reader.piece(&commit, name, ask, most).unwrap().unwrap();
            assert_eq!((String::from_utf8(piece.bytes).unwrap().as_str(), piece.total), (text, length));
        }
        assert_eq!(reader.piece(&commit, "none", Ask::HEAD, 1).unwrap(), None);
        assert!(reader.has(&commit).unwrap());
        assert!(!reader.has(&"0".repeat(40).parse().unwrap()).unwrap());
    }
}
