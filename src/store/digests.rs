//! The files of records, read to be verified: git is opened once, and what many records share is read once.

use std::collections::{BTreeMap, HashMap};

use anyhow::{Result, anyhow};
use gix::objs::FindExt;
use sha2::{Digest, Sha256};

use crate::record::ObjectId;

use super::MAX_BLOB_BYTES;
use super::blobs::{blob_of, bounded};
use super::objects;

/// Blobs whose digests are remembered; an entry takes about 100 bytes.
const MAX_KNOWN_BLOBS: usize = 200_000;

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

    /// Whether `hex`, in lower case, says the same as this hash.
    pub fn has_hash(&self, hex: &str) -> bool {
        let digit = |byte: u8| char::from_digit(u32::from(byte), 16);
        let found = self.sha256.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]);
        found.eq(hex.chars().map(Some))
    }
}

/// A commit with its message and the blobs of its tree, by their paths.
pub(super) struct RecordTree {
    pub message: String,
    pub blobs: BTreeMap<String, gix::ObjectId>,
}

impl RecordTree {
    /// The blobs of a file: itself, or its chunks in their order. None where there is no such file.
    pub fn chunks(&self, path: &str) -> Option<Vec<gix::ObjectId>> {
        if let Some(blob) = self.blobs.get(path) {
            return Some(vec![*blob]);
        }
        let folder = format!("{path}/");
        let below = self.blobs.range(folder.clone()..).take_while(|(path, _)| path.starts_with(&folder));
        let chunks: Vec<_> = below.map(|(_, blob)| *blob).collect();
        (!chunks.is_empty()).then_some(chunks)
    }
}

/// Reads records to verify them.
pub(super) struct Digests<'a> {
    git: &'a gix::Repository,
    known: HashMap<gix::ObjectId, FileDigest>,
    buffer: Vec<u8>,
}

impl<'a> Digests<'a> {
    pub fn new(git: &'a gix::Repository) -> Self {
        Self { git, known: HashMap::new(), buffer: Vec::new() }
    }

    /// The commit of a record, with all paths below it.
    pub fn tree(&mut self, commit: &ObjectId) -> Result<RecordTree> {
        let (message, root) = {
            let found = self.git.objects.find_commit(&objects::to_gix(commit)?, &mut self.buffer);
            let found = found.map_err(|error| anyhow!("read {commit}: {error}"))?;
            (String::from_utf8_lossy(found.message).into_owned(), found.tree())
        };
        let mut unread = vec![(String::new(), root, 0)];
        let mut blobs = BTreeMap::new();
        while let Some((prefix, tree, depth)) = unread.pop() {
            if depth > MAX_DEPTH {
                return Err(anyhow!("the tree of {commit} has more than {MAX_DEPTH} levels"));
            }
            #[cfg(test)]
            super::counters::count(&super::counters::OBJECTS_VERIFIED);
            let found = match self.git.objects.find_tree(&tree, &mut self.buffer) {
                Ok(found) => found,
                Err(error) => {
                    bounded(self.git, tree, MAX_BLOB_BYTES)?;
                    return Err(anyhow!("read {}: {error}", tree.to_hex()));
                }
            };
            for entry in &found.entries {
                let path = format!("{prefix}{}", entry.filename);
                if entry.mode.is_tree() {
                    unread.push((format!("{path}/"), entry.oid.to_owned(), depth + 1));
                } else {
                    blobs.insert(path, entry.oid.to_owned());
                }
            }
        }
        Ok(RecordTree { message, blobs })
    }

    /// The digest of a file that is made of `chunks`.
    pub fn digest(&mut self, chunks: &[gix::ObjectId]) -> Result<FileDigest> {
        let [only] = chunks else {
            let mut hash = Sha256::new();
            let mut length = 0;
            for chunk in chunks {
                let bytes = self.read(chunk)?;
                hash.update(bytes);
                length += bytes.len() as u64;
            }
            return Ok(FileDigest { length, sha256: hash.finalize().into() });
        };
        if let Some(known) = self.known.get(only) {
            return Ok(*known);
        }
        let digest = FileDigest::of(self.read(only)?);
        if self.known.len() < MAX_KNOWN_BLOBS {
            self.known.insert(*only, digest);
        }
        Ok(digest)
    }

    /// The bytes of a file, with their digest.
    pub fn bytes(&mut self, chunks: &[gix::ObjectId]) -> Result<(Vec<u8>, FileDigest)> {
        let mut bytes = Vec::new();
        for chunk in chunks {
            bytes.extend_from_slice(self.read(chunk)?);
        }
        let digest = FileDigest::of(&bytes);
        Ok((bytes, digest))
    }

    fn read(&mut self, blob: &gix::ObjectId) -> Result<&[u8]> {
        #[cfg(test)]
        super::counters::count(&super::counters::OBJECTS_VERIFIED);
        blob_of(self.git, blob, &mut self.buffer)
    }
}
