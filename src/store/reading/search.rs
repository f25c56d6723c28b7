//! Looking for text in the files of records.

use std::collections::HashMap;

use anyhow::Result;

use crate::record::ObjectId;

use super::reader::RecordReader;
use crate::store::Store;

/// Prompts, messages of agents, and outputs.
const FILES: [&str; 5] =
    ["prompt.md", "agent/stdout", "agent/stderr", "validation/stdout", "validation/stderr"];

/// A line longer than this is looked at in parts.
const MAX_LINE_BYTES: usize = 1 << 20;
/// How much of a part is looked at again with the next.
const OVERLAP: usize = 1 << 12;

/// Looks into one record after the other, and into files that several have only once.
pub struct Search<'a> {
    reader: RecordReader<'a>,
    is_match: &'a dyn Fn(&[u8]) -> bool,
    seen: HashMap<Vec<gix::ObjectId>, bool>,
}

impl Store {
    /// Returns a search for text of which `is_match` gets whole lines, several at a time.
    pub fn search<'a>(&'a self, is_match: &'a dyn Fn(&[u8]) -> bool) -> Result<Search<'a>> {
        Ok(Search { reader: self.reader()?, is_match, seen: HashMap::new() })
    }
}

impl Search<'_> {
    /// Returns true if the text is in the prompt, in what the agent said or in what the validation printed.
    pub fn is_in(&mut self, commit: &ObjectId) -> Result<bool> {
        for path in FILES {
            let Some(chunks) = self.reader.chunks(commit, path)? else { continue };
            let is_there = match self.seen.get(&chunks) {
                Some(known) => *known,
                None => self.look(&chunks)?,
            };
            self.seen.insert(chunks, is_there);
            if is_there {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn look(&self, chunks: &[gix::ObjectId]) -> Result<bool> {
        let mut bytes = Vec::new();
        for chunk in chunks {
            self.reader.write_chunk(chunk, &mut bytes)?;
            let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            let (end, kept) = match bytes.len() - end {
                0..MAX_LINE_BYTES => (end, end),
                _ => (bytes.len(), bytes.len() - OVERLAP),
            };
            if (self.is_match)(&bytes[..end]) {
                return Ok(true);
            }
            bytes.drain(..kept);
        }
        Ok((self.is_match)(&bytes))
    }
}

#[cfg(test)]
mod tests {
    use camino::Utf8Path;

    use super::*;
    use crate::process::Tool;
    use crate::repository::{AuthorVariables, Repository};

    fn is_found(chunks: &[&[u8]], wanted: &str) -> bool {
        let folder = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(folder.path()).unwrap();
        Tool::git(path).args(["init", "--quiet"]).read().unwrap();
        let store = Store::new(Repository::discover(path, &AuthorVariables::default()).unwrap());
        let blob = |bytes: &&[u8]| {
            let written = Tool::git(path).args(["hash-object", "-w", "--stdin"]).stdin(bytes.to_vec()).line();
            gix::ObjectId::from_hex(written.unwrap().as_bytes()).unwrap()
        };
        let ids: Vec<_> = chunks.iter().map(blob).collect();
        let is_match = |bytes: &[u8]| bytes.windows(wanted.len()).any(|part| part == wanted.as_bytes());
        store.search(&is_match).unwrap().look(&ids).unwrap()
    }

    #[test]
    fn what_lies_on_the_border_of_two_chunks_is_found() {
        assert!(is_found(&[b"one\ntw", b"o\nthree"], "two"));
        assert!(is_found(&[b"one\ntw", b"o\nthree"], "three"));
        assert!(!is_found(&[b"one\ntw", b"o\nthree"], "four"));
        let long = vec![b'a'; MAX_LINE_BYTES + 1];
        assert!(is_found(&[&[long.as_slice(), b"tw"].concat(), b"o"], "two"));
        assert!(!is_found(&[], "two"));
    }
}
