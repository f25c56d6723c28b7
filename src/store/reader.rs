//! Reading many records in a row: git is opened once, and of a file only what is wanted is kept.

use anyhow::{Context, Result, anyhow};

use crate::record::{Iteration, LogEntry, ObjectId};

use super::blobs::{chunks, write_blob};
use super::{Store, snapshots};

/// Reads records, with git held open.
pub struct Reader {
    git: gix::Repository,
}

/// A part of a file of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    pub bytes: Vec<u8>,
    /// Of the whole file.
    pub length: u64,
}

/// Which end of a file is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Head,
    Tail,
}

impl Store {
    pub fn reader(&self) -> Result<Reader> {
        Ok(Reader { git: self.open_git()? })
    }
}

impl Reader {
    /// Returns what the record of an iteration says.
    pub fn iteration(&self, entry: &LogEntry) -> Result<Iteration> {
        let bytes = self.file(&entry.commit, "iteration.json")?.context("find iteration.json")?;
        serde_json::from_slice(&bytes).with_context(|| format!("read iteration.json of {}", entry.commit))
    }

    /// Returns a whole file of a record, or `None` if the record has no such file.
    pub fn file(&self, commit: &ObjectId, path: &str) -> Result<Option<Vec<u8>>> {
        let Some(chunks) = chunks(&self.git, commit, path)? else { return Ok(None) };
        let mut bytes = Vec::new();
        chunks.iter().try_for_each(|chunk| write_blob(&self.git, chunk, &mut bytes))?;
        Ok(Some(bytes))
    }

    /// Returns at most a number of bytes of one end of a file, or `None` if the record has no such file.
    pub fn piece(&self, commit: &ObjectId, path: &str, (end, most): (End, usize)) -> Result<Option<Piece>> {
        let Some(chunks) = chunks(&self.git, commit, path)? else { return Ok(None) };
        let mut length = 0;
        for chunk in &chunks {
            let header = self.git.find_header(*chunk);
            length += header.map_err(|error| anyhow!("read {}: {error}", chunk.to_hex()))?.size();
        }
        let mut bytes = Vec::new();
        match end {
            End::Head => {
                for chunk in &chunks {
                    if bytes.len() >= most {
                        break;
                    }
                    write_blob(&self.git, chunk, &mut bytes)?;
                }
                bytes.truncate(most);
            }
            End::Tail => {
                for chunk in chunks.iter().rev() {
                    if bytes.len() >= most {
                        break;
                    }
                    let mut before = Vec::new();
                    write_blob(&self.git, chunk, &mut before)?;
                    before.append(&mut bytes);
                    bytes = before;
                }
                bytes.drain(..bytes.len().saturating_sub(most));
            }
        }
        Ok(Some(Piece { bytes, length }))
    }

    /// Whether an object is here.
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
    use crate::process::Tool;
    use crate::repository::{AuthorVariables, Repository};

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
        let store = Store::new(Repository::discover(path, &AuthorVariables::default()).unwrap());
        let reader = store.reader().unwrap();
        for (name, end, most, text, length) in [
            ("out", End::Head, 4, "abcd", 8),
            ("out", End::Tail, 4, "efgh", 8),
            ("out", End::Tail, 100, "abcdefgh", 8),
            ("out", End::Head, 0, "", 8),
            ("one", End::Tail, 9, "x", 1),
        ] {
            let piece = reader.piece(&commit, name, (end, most)).unwrap().unwrap();
            assert_eq!((String::from_utf8(piece.bytes).unwrap().as_str(), piece.length), (text, length));
        }
        assert_eq!(reader.piece(&commit, "none", (End::Head, 1)).unwrap(), None);
        assert!(reader.has(&commit).unwrap());
        assert!(!reader.has(&"0".repeat(40).parse().unwrap()).unwrap());
    }
}
