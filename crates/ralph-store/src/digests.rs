//! The files of records, read to be verified: git is opened once, and what many records share is read once.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow};
use gix::hashtable::HashMap;
use gix::objs::{FindExt, TreeRef};
use sha2::{Digest, Sha256};

use ralph_core::record::ObjectId;

use super::MAX_BLOB_BYTES;
use super::loose::Objects;
use super::objects;
use super::reading::blobs::{blob_of, bounded};
use super::reading::chain::{Commits, message_and_tree};

/// Blobs whose digests are remembered; an entry takes about 100 bytes.
const MAX_KNOWN_BLOBS: usize = 200_000;

/// Beginnings of chunked files whose hashes are remembered: one for each progress.txt that sessions append to.
const MAX_KNOWN_BEGINNINGS: usize = 64;

/// Folders of records whose entries are remembered: a validation that prints the same has the same one each time.
const MAX_KNOWN_FOLDERS: usize = 1_000;

/// A folder in a folder in a folder: chunks of a stream of an agent. More is nothing of ours.
const MAX_DEPTH: usize = 8;

/// Length and SHA-256 of a file, as its manifest has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileDigest {
    pub length: u64,
    pub sha256: [u8; 32],
}

impl FileDigest {
    fn of(bytes: &[u8]) -> Self {
        Self { length: bytes.len() as u64, sha256: Sha256::digest(bytes).into() }
    }

    /// Returns true if `hex`, in lower case, says the same as this hash.
    pub fn has_hash(&self, hex: &str) -> bool {
        let digits = self.sha256.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        digits.map(|digit| char::from_digit(digit.into(), 16)).eq(hex.chars().map(Some))
    }
}

/// The blobs of a record, by their paths.
pub(super) type Blobs = BTreeMap<String, gix::ObjectId>;

/// Returns the blobs of a file: itself, or its chunks in order. `None` if there is no such file.
pub(super) fn chunks(blobs: &Blobs, path: &str) -> Option<Vec<gix::ObjectId>> {
    if let Some(blob) = blobs.get(path) {
        return Some(vec![*blob]);
    }
    let folder = format!("{path}/");
    let below = blobs.range(folder.clone()..).take_while(|(path, _)| path.starts_with(&folder));
    let chunks: Vec<_> = below.map(|(_, blob)| *blob).collect();
    (!chunks.is_empty()).then_some(chunks)
}

/// A chunk of a file, and the hash and length of the file up to its end.
type Hashed = (gix::ObjectId, Sha256, u64);

/// A name in a folder, its object, and whether that is a folder.
type FolderEntry = (String, gix::ObjectId, bool);

/// Reads records to verify them.
pub(super) struct Digests<'a> {
    git: &'a gix::Repository,
    pub objects: Objects<'a>,
    /// Commits of records that were read before.
    pub commits: Commits,
    known: HashMap<gix::ObjectId, FileDigest>,
    /// The full chunks of files, by the first of them.
    beginnings: HashMap<gix::ObjectId, Vec<Hashed>>,
    /// What folders within records hold.
    folders: HashMap<gix::ObjectId, Vec<FolderEntry>>,
    buffer: Vec<u8>,
}

impl<'a> Digests<'a> {
    pub fn new(git: &'a gix::Repository) -> Self {
        let objects = Objects::of(git);
        let (commits, known, beginnings, folders, buffer) = Default::default();
        Self { git, objects, commits, known, beginnings, folders, buffer }
    }

    /// Returns the message of a record's commit, and what is in its tree.
    pub fn tree(&mut self, commit: &ObjectId) -> Result<(String, Blobs)> {
        let id = objects::to_gix(commit)?;
        let kept = self.commits.borrow_mut().remove(&id);
        let (message, tree) = if let Some(kept) = kept {
            kept
        } else {
            let found = self.objects.find_commit(&id, &mut self.buffer);
            message_and_tree(&found.map_err(|error| anyhow!("read {commit}: {error}"))?)
        };
        let mut unread = vec![(String::new(), tree, 0)];
        let mut blobs = BTreeMap::new();
        while let Some((prefix, tree, depth)) = unread.pop() {
            if depth > MAX_DEPTH {
                return Err(anyhow!("the tree of {commit} has more than {MAX_DEPTH} levels"));
            }
            for (name, id, is_folder) in self.folder(&tree, depth)? {
                let path = format!("{prefix}{name}");
                if is_folder {
                    unread.push((format!("{path}/"), id, depth + 1));
                } else {
                    blobs.insert(path, id);
                }
            }
        }
        Ok((message, blobs))
    }

    /// Returns the digest of a file that is made of `chunks`.
    pub fn digest(&mut self, chunks: &[gix::ObjectId]) -> Result<FileDigest> {
        let [only] = chunks else { return self.digest_of_chunks(chunks) };
        if let Some(known) = self.known.get(only) {
            return Ok(*known);
        }
        let digest = FileDigest::of(self.read(only)?);
        if self.known.len() < MAX_KNOWN_BLOBS {
            self.known.insert(*only, digest);
        }
        Ok(digest)
    }

    /// Of a file that begins with chunks of another one only the rest is read: each session holds progress.txt as the
    /// sessions before left it.
    fn digest_of_chunks(&mut self, chunks: &[gix::ObjectId]) -> Result<FileDigest> {
        let Some((last, full)) = chunks.split_last() else { return Ok(FileDigest::of(b"")) };
        let mut known = full.first().and_then(|first| self.beginnings.remove(first)).unwrap_or_default();
        let shared = known.iter().zip(full).take_while(|((hashed, ..), chunk)| hashed == *chunk).count();
        if shared < full.len() {
            known.truncate(shared);
        }
        for chunk in &full[shared..] {
            let next = self.hash_after(known.last(), *chunk)?;
            known.push(next);
        }
        let (_, hash, length) =
            self.hash_after(full.len().checked_sub(1).map(|place| &known[place]), *last)?;
        if let Some(first) = full.first()
            && self.beginnings.len() < MAX_KNOWN_BEGINNINGS
        {
            self.beginnings.insert(*first, known);
        }
        Ok(FileDigest { length, sha256: hash.finalize().into() })
    }

    fn hash_after(&mut self, before: Option<&Hashed>, chunk: gix::ObjectId) -> Result<Hashed> {
        let (mut hash, length) =
            before.map_or_else(Default::default, |(_, hash, length)| (hash.clone(), *length));
        let bytes = self.read(&chunk)?;
        hash.update(bytes);
        let length = length + bytes.len() as u64;
        Ok((chunk, hash, length))
    }

    /// Returns the bytes of a file, with their digest.
    pub fn bytes(&mut self, chunks: &[gix::ObjectId]) -> Result<(Vec<u8>, FileDigest)> {
        let mut bytes = Vec::new();
        for chunk in chunks {
            bytes.extend_from_slice(self.read(chunk)?);
        }
        let digest = FileDigest::of(&bytes);
        Ok((bytes, digest))
    }

    /// Returns what a folder holds. Those within records are remembered; the record itself is the only one of its kind.
    fn folder(&mut self, tree: &gix::ObjectId, depth: usize) -> Result<Vec<FolderEntry>> {
        if let Some(known) = self.folders.get(tree) {
            return Ok(known.clone());
        }
        let found: Vec<_> = self
            .read_folder(tree)?
            .entries
            .iter()
            .map(|entry| (entry.filename.to_string(), entry.oid.to_owned(), entry.mode.is_tree()))
            .collect();
        if depth > 0 && self.folders.len() < MAX_KNOWN_FOLDERS {
            self.folders.insert(*tree, found.clone());
        }
        Ok(found)
    }

    fn read_folder(&mut self, tree: &gix::ObjectId) -> Result<TreeRef<'_>> {
        #[cfg(test)]
        super::counters::count(&super::counters::OBJECTS_VERIFIED);
        match self.objects.find_tree(tree, &mut self.buffer) {
            Ok(found) => Ok(found),
            Err(error) => {
                bounded(self.git, *tree, MAX_BLOB_BYTES)?;
                Err(anyhow!("read {}: {error}", tree.to_hex()))
            }
        }
    }

    fn read(&mut self, blob: &gix::ObjectId) -> Result<&[u8]> {
        #[cfg(test)]
        super::counters::count(&super::counters::OBJECTS_VERIFIED);
        blob_of(self.git, &self.objects, blob, &mut self.buffer)
    }
}

#[cfg(test)]
mod tests {
    use gix::objs::tree::{Entry, EntryKind};

    use super::super::counters;
    use super::*;

    #[test]
    fn a_folder_that_many_records_have_is_read_once() {
        let folder = tempfile::tempdir().unwrap();
        let git = gix::init(folder.path()).unwrap();
        let blob = git.write_blob("1 passed").unwrap().detach();
        let entry = Entry { mode: EntryKind::Blob.into(), filename: "stdout".into(), oid: blob };
        let validation = git.write_object(gix::objs::Tree { entries: vec![entry] }).unwrap().detach();
        let mut digests = Digests::new(&git);
        let (read, ()) = counters::during(&counters::OBJECTS_VERIFIED, || {
            for _ in 0..3 {
                let [found] = &digests.folder(&validation, 1).unwrap()[..] else { panic!("one name") };
                assert_eq!(*found, ("stdout".to_owned(), blob, false));
            }
        });
        assert_eq!(read, 1);
    }

    #[test]
    fn a_file_that_begins_as_an_earlier_one_has_its_own_digest() {
        let folder = tempfile::tempdir().unwrap();
        let git = gix::init(folder.path()).unwrap();
        let texts = ["one", "two", "three", "four"];
        let blobs = texts.map(|text| git.write_blob(text).unwrap().detach());
        let mut digests = Digests::new(&git);
        for order in [
            &[0, 1][..],
            &[0, 1, 2],
            &[0, 1, 2, 3],
            &[0, 1, 3, 2],
            &[0, 1],
            &[1, 0, 0],
            &[0, 2],
            &[],
            &[0, 1, 2],
        ] {
            let chunks: Vec<_> = order.iter().map(|&place: &usize| blobs[place]).collect();
            let text: String = order.iter().map(|&place| texts[place]).collect();
            assert_eq!(digests.digest(&chunks).unwrap(), FileDigest::of(text.as_bytes()), "{text}");
        }
    }
}
