//! The files of a record as blobs: redacted, in chunks where they are big, and proved by a manifest.

use std::collections::BTreeMap;
use std::io::Read;
use std::thread::{self, Scope, ScopedJoinHandle};

use anyhow::{Context, Result, anyhow};
use camino::Utf8Path;
use redact_stream::Redactor;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use ralph_core::record::{RedactionCount, hex};
use ralph_project::project_files::open_plain;

use super::objects::Quarantine;

/// A file longer than this is a folder of numbered chunks of this size: memory stays bounded, and no blob can
/// grow past what hosts accept.
pub const CHUNK: usize = 4 * 1024 * 1024;

/// The same of progress.txt as a session found it. Sessions append to the file and each records the whole of it, so
/// they share all pieces but the last: what many sessions hold grows with the file, not with its square.
pub const PROGRESS_CHUNK: usize = 64 * 1024;

/// Returns the size of the pieces that the file at `path` of a record is cut into.
fn chunk_bytes(path: &str) -> usize {
    if path == "progress.base.md" { PROGRESS_CHUNK } else { CHUNK }
}

/// `manifest.json`: what every file of a record must be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    pub files: BTreeMap<String, FileProof>,
    pub redactions: Vec<RedactionCount>,
}

/// Length and hash of the stored bytes of one logical file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileProof {
    /// Bytes.
    pub length: u64,
    /// In hexadecimal.
    pub sha256: String,
    /// Set where the file is a folder of numbered chunks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunks: Option<usize>,
}

/// Collects the files of one record.
pub struct FileWriter<'a> {
    quarantine: &'a Quarantine,
    redactor: &'a Redactor,
    blobs: BTreeMap<String, gix::ObjectId>,
    manifest: Manifest,
}

impl<'a> FileWriter<'a> {
    pub fn new(quarantine: &'a Quarantine, redactor: &'a Redactor) -> Self {
        Self { quarantine, redactor, blobs: BTreeMap::new(), manifest: Manifest::default() }
    }

    /// Adds the file at `source` under `path`, redacted. A stream that was never opened is an empty file.
    pub fn add_file(&mut self, path: &str, source: &Utf8Path) -> Result<()> {
        match open_plain(source).with_context(|| format!("read {source}"))? {
            Some(file) => self.add_redacted(path, file),
            // What an agent put there in its place is no output either.
            None => self.add_exact(path, b""),
        }
    }

    /// Adds what `source` gives under `path`, redacted.
    pub fn add_redacted(&mut self, path: &str, source: impl Read) -> Result<()> {
        let (counts, stored) = thread::scope(|scope| {
            let mut sink = Sink::new(self.quarantine, scope, chunk_bytes(path));
            let counts = self.redactor.copy(source, |bytes| sink.write(bytes));
            let counts = counts.with_context(|| format!("redact {path}"))?;
            Ok::<_, anyhow::Error>((counts, sink.finish()?))
        })?;
        for (rule, count) in counts {
            self.manifest.redactions.push(RedactionCount {
                file: path.to_owned(),
                rule: rule.to_owned(),
                count,
            });
        }
        self.insert(path, stored);
        Ok(())
    }

    /// Adds bytes that are ours, or redacted already.
    pub fn add_exact(&mut self, path: &str, bytes: &[u8]) -> Result<()> {
        let stored = thread::scope(|scope| {
            let mut sink = Sink::new(self.quarantine, scope, chunk_bytes(path));
            sink.write(bytes)?;
            sink.finish()
        })?;
        self.insert(path, stored);
        Ok(())
    }

    pub fn redactions(&self) -> &[RedactionCount] {
        &self.manifest.redactions
    }

    /// Writes `manifest.json` and the trees.
    pub fn finish_tree(mut self) -> Result<gix::ObjectId> {
        let manifest = pretty_json(&self.manifest)?;
        self.blobs.insert("manifest.json".to_owned(), self.quarantine.write_blob(&manifest)?);
        self.quarantine.write_tree(&self.blobs)
    }

    fn insert(&mut self, path: &str, (blobs, proof): (Vec<gix::ObjectId>, FileProof)) {
        match blobs.as_slice() {
            [single] if proof.chunks.is_none() => {
                self.blobs.insert(path.to_owned(), *single);
            }
            chunks => {
                for (number, id) in chunks.iter().enumerate() {
                    self.blobs.insert(format!("{path}/{number:05}"), *id);
                }
            }
        }
        self.manifest.files.insert(path.to_owned(), proof);
    }
}

/// Cuts a stream into blobs while it passes. A full chunk is hashed and deflated on a thread of its own while the next
/// one is read and redacted; a file that fits into one chunk needs no thread.
struct Sink<'scope, 'env> {
    quarantine: &'env Quarantine,
    scope: &'scope Scope<'scope, 'env>,
    /// Bytes of a full chunk.
    chunk: usize,
    buffer: Vec<u8>,
    writing: Option<ScopedJoinHandle<'scope, Result<Written>>>,
    blobs: Vec<gix::ObjectId>,
    hash: Sha256,
    length: u64,
}

/// A chunk that was written, and the buffer that held it.
type Written = (gix::ObjectId, Vec<u8>);

impl<'scope, 'env> Sink<'scope, 'env> {
    fn new(quarantine: &'env Quarantine, scope: &'scope Scope<'scope, 'env>, chunk: usize) -> Self {
        Self {
            quarantine,
            scope,
            chunk,
            buffer: Vec::new(),
            writing: None,
            blobs: Vec::new(),
            hash: Sha256::new(),
            length: 0,
        }
    }

    fn write(&mut self, mut bytes: &[u8]) -> Result<()> {
        self.hash.update(bytes);
        self.length += bytes.len() as u64;
        while !bytes.is_empty() {
            if self.buffer.len() == self.chunk {
                let empty = self.written()?;
                let full = std::mem::replace(&mut self.buffer, empty);
                let quarantine = self.quarantine;
                self.writing = Some(self.scope.spawn(move || Ok((quarantine.write_blob(&full)?, full))));
            }
            let taken = bytes.len().min(self.chunk - self.buffer.len());
            self.buffer.extend_from_slice(&bytes[..taken]);
            bytes = &bytes[taken..];
        }
        Ok(())
    }

    /// Waits for the chunk that is being written. Returns its buffer, empty.
    fn written(&mut self) -> Result<Vec<u8>> {
        let Some(writing) = self.writing.take() else { return Ok(Vec::new()) };
        let (blob, mut buffer) =
            writing.join().map_err(|_| anyhow!("write a chunk: the thread panicked"))??;
        self.blobs.push(blob);
        buffer.clear();
        Ok(buffer)
    }

    fn finish(mut self) -> Result<(Vec<gix::ObjectId>, FileProof)> {
        let last = self.quarantine.write_blob(&self.buffer)?;
        self.written()?;
        self.blobs.push(last);
        let sha256 = hex(&self.hash.finalize());
        let chunks = (self.blobs.len() > 1).then_some(self.blobs.len());
        Ok((self.blobs, FileProof { length: self.length, sha256, chunks }))
    }
}

/// JSON as it is in our trees: indented, with a newline at the end, so that `git show` reads well.
pub fn pretty_json(value: &impl Serialize) -> Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec_pretty(value).context("write JSON")?;
    bytes.push(b'\n');
    Ok(bytes)
}
