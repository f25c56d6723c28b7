//! progress.txt on the disk: what we left there, what we find there, and what comes next.
//!
//! The file is a view of the record. It is only ever appended to in place, so that open editors and `tail -f`
//! follow it; it is written after the record, and the next start appends what a crash kept from it.

use std::io::{Seek, SeekFrom, Write};

use anyhow::{Context, Result};
use camino::{Utf8Path, Utf8PathBuf};

use crate::progress::journal;
use crate::project_files::{MAX_PROGRESS_BYTES, ProjectFiles};

#[derive(Debug)]
pub struct ProgressFile {
    files: ProjectFiles,
    path: Utf8PathBuf,
    /// What we left there last; none before the first look.
    left: Option<Vec<u8>>,
    /// The entries that we appended, to notice if one was changed.
    entries: Vec<Vec<u8>>,
}

/// A text to append, held against the file as it is.
#[derive(Debug)]
pub struct ProgressPlan {
    /// The file as found, if it is not what we left there: an edit of an agent's or a person's.
    pub base: Option<Vec<u8>>,
    /// The bytes to append for this record: `progress.md`.
    pub appended: Vec<u8>,
    /// What the file lacks of what we left there: it was deleted, or an older one was checked out.
    missing: Vec<u8>,
    /// The part of it that is the entry itself, without what begins a file or a line.
    entry: Vec<u8>,
    /// How many of our past entries are no longer there.
    pub changed_entries: usize,
}

impl ProgressFile {
    pub fn new(files: &ProjectFiles, path: &Utf8Path) -> Self {
        Self { files: files.clone(), path: path.to_owned(), left: None, entries: Vec::new() }
    }

    /// Says what the file should be now, by the record.
    pub fn expect(&mut self, left: Vec<u8>) {
        self.left = Some(left);
    }

    pub fn path(&self) -> &Utf8Path {
        &self.path
    }

    pub fn read(&self) -> Result<Option<Vec<u8>>> {
        match self.files.read(&self.path, MAX_PROGRESS_BYTES) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("read {}", self.path)),
        }
    }

    /// Looks at the file and works out how `text` gets into it; `header` begins a file that is new.
    pub fn plan(&self, header: &str, text: &str) -> Result<ProgressPlan> {
        let found = self.read()?;
        Ok(self.plan_upon(found.as_deref(), header, text))
    }

    /// Returns the same for a file that cannot be read: as if it were what we left there.
    pub fn plan_unseen(&self, header: &str, text: &str) -> ProgressPlan {
        self.plan_upon(self.left.as_deref(), header, text)
    }

    fn plan_upon(&self, found: Option<&[u8]>, header: &str, text: &str) -> ProgressPlan {
        let (base, missing) = match (found, &self.left) {
            (None, None) => (None, Vec::new()),
            (Some(found), None) => (Some(found.to_vec()), Vec::new()),
            (None, Some(left)) => (None, left.clone()),
            (Some(found), Some(left)) => match left.strip_prefix(found) {
                Some(rest) => (None, rest.to_vec()),
                None => (Some(found.to_vec()), Vec::new()),
            },
        };
        let before: &[u8] = match (&base, &self.left) {
            (Some(base), _) => base,
            (None, Some(left)) => left,
            (None, None) => b"",
        };
        let mut appended =
            if before.is_empty() { header.to_owned() } else { journal::separator(before).to_owned() };
        appended.push_str(text);
        let changed_entries = match &base {
            Some(base) => self.entries.iter().filter(|entry| !contains(base, entry)).count(),
            None => 0,
        };
        ProgressPlan { base, appended: appended.into_bytes(), entry: text.into(), missing, changed_entries }
    }

    /// Remembers what was planned, and appends it. If that fails, the file is behind what we remember, and the
    /// next plan appends what is missing.
    pub fn carry_out(&mut self, planned: ProgressPlan) -> Result<()> {
        let mut left = planned.base.or_else(|| self.left.take()).unwrap_or_default();
        left.extend_from_slice(&planned.appended);
        self.left = Some(left);
        self.entries.push(planned.entry);
        self.append(&[planned.missing.as_slice(), planned.appended.as_slice()].concat())
    }

    /// Inserts text in place, where the file is as `found`. What is before it stays as it is.
    pub fn insert(&self, found: &[u8], at: usize, text: &str) -> Result<()> {
        let moved = [text.as_bytes(), &found[at..]].concat();
        self.files
            .open_to_edit(&self.path)
            .and_then(|mut file| {
                file.seek(SeekFrom::Start(at as u64))?;
                file.write_all(&moved)
            })
            .with_context(|| format!("write into {}", self.path))
    }

    /// Returns true if the file lacks something of what it should hold.
    pub fn is_behind(&self) -> bool {
        let found = self.read().ok().flatten().unwrap_or_default();
        self.left.as_ref().is_some_and(|left| found.len() < left.len() && left.starts_with(&found))
    }

    /// Appends in place. Not synced: what a power cut takes from it, the next start appends again.
    pub fn append(&self, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.files.append(&self.path, bytes).with_context(|| format!("append to {}", self.path))
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    let part = part.trim_ascii();
    part.is_empty() || text.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scene {
        file: ProgressFile,
        _dir: tempfile::TempDir,
    }

    fn scene() -> Scene {
        let dir = tempfile::tempdir().unwrap();
        let path = Utf8PathBuf::from_path_buf(dir.path().join("progress.txt")).unwrap();
        let mut file = ProgressFile::new(&ProjectFiles::new(path.parent().unwrap(), &[], &[]), &path);
        let planned = file.plan("# Log\n", "one\n").unwrap();
        file.carry_out(planned).unwrap();
        Scene { file, _dir: dir }
    }

    fn add(scene: &mut Scene, text: &str) -> (bool, usize) {
        let planned = scene.file.plan("# Log\n", text).unwrap();
        let facts = (planned.base.is_some(), planned.changed_entries);
        scene.file.carry_out(planned).unwrap();
        facts
    }

    #[test]
    fn a_new_file_begins_with_the_header_and_grows_in_place() {
        let mut scene = scene();
        assert_eq!(add(&mut scene, "two\n"), (false, 0));
        assert_eq!(scene.file.read().unwrap().unwrap(), b"# Log\none\ntwo\n");
    }

    #[test]
    fn a_deleted_file_is_made_again() {
        let mut scene = scene();
        std::fs::remove_file(scene.file.path()).unwrap();
        assert_eq!(add(&mut scene, "two\n"), (false, 0));
        assert_eq!(scene.file.read().unwrap().unwrap(), b"# Log\none\ntwo\n");
    }

    #[test]
    fn an_older_file_gets_what_it_lacks() {
        let mut scene = scene();
        std::fs::write(scene.file.path(), "# Log\n").unwrap();
        assert_eq!(add(&mut scene, "two\n"), (false, 0));
        assert_eq!(scene.file.read().unwrap().unwrap(), b"# Log\none\ntwo\n");
    }

    #[test]
    fn an_edit_is_kept_and_a_changed_entry_is_counted() {
        let mut scene = scene();
        std::fs::write(scene.file.path(), "# Log\npattern\none\nmine\n").unwrap();
        assert_eq!(add(&mut scene, "two\n"), (true, 0));
        assert_eq!(scene.file.read().unwrap().unwrap(), b"# Log\npattern\none\nmine\ntwo\n");
        std::fs::write(scene.file.path(), "# Log\nelse\ntwo\n").unwrap();
        assert_eq!(add(&mut scene, "three\n"), (true, 1));
    }
}
