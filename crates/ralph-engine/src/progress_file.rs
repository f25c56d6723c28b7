//! Appends to progress.txt, and detects edits by others.
//!
//! The file is a view of the record. It is only ever appended to in place, so that open editors and `tail -f`
//! follow it; it is written after the record, and after a crash the next start appends what is missing.

use std::io::{Seek, SeekFrom, Write};

use anyhow::{Context, Result};
use camino::{Utf8Path, Utf8PathBuf};

use ralph_core::progress::progress_txt;
use ralph_os::if_there::IfThere;
use ralph_project::project_files::{MAX_PROGRESS_BYTES, ProjectFiles};

/// The progress.txt of a feature, with what was last written to it.
#[derive(Debug)]
pub struct ProgressFile {
    files: ProjectFiles,
    path: Utf8PathBuf,
    /// The content that was last written; `None` before the first read.
    last_written: Option<Vec<u8>>,
    /// The entries that were appended, to notice if one was changed.
    entries: Vec<Vec<u8>>,
}

/// A planned append, computed from the present content of the file.
#[derive(Debug)]
pub struct ProgressPlan {
    /// The content found, if an agent or the user edited the file: the file is theirs as well, and a rebuild starts from what they
    /// made of it.
    pub base: Option<Vec<u8>>,
    /// The bytes to append. The iteration's tree has them as `progress.md`.
    pub appended: Vec<u8>,
    /// The end of the last written content that the file lacks: it was deleted, or an older one was checked out.
    missing: Vec<u8>,
    /// `appended` without the header of a new file or the newline in front.
    entry: Vec<u8>,
    /// The number of earlier entries that are no longer there as written.
    pub changed_entries: usize,
}

impl ProgressFile {
    pub fn new(files: &ProjectFiles, path: &Utf8Path) -> Self {
        Self { files: files.clone(), path: path.to_owned(), last_written: None, entries: Vec::new() }
    }

    /// Sets the content that the file should have according to the record.
    pub fn set_last_written(&mut self, content: Vec<u8>) {
        self.last_written = Some(content);
    }

    pub fn path(&self) -> &Utf8Path {
        &self.path
    }

    /// Returns true if the folder of the feature is there.
    pub fn has_folder(&self) -> bool {
        self.path.parent().is_some_and(Utf8Path::is_dir)
    }

    /// Returns the content, or `None` if there is no file.
    pub fn read(&self) -> Result<Option<Vec<u8>>> {
        let read = self.files.read(&self.path, MAX_PROGRESS_BYTES).if_there();
        read.with_context(|| format!("read {}", self.path))
    }

    /// Reads the file and plans how to append `text`; a new file starts with `header`.
    pub fn plan(&self, header: &str, text: &str) -> Result<ProgressPlan> {
        let found = self.read()?;
        Ok(self.plan_upon(found.as_deref(), header, text))
    }

    /// Like [`Self::plan`] for a file that cannot be read: it is assumed to be as it was last written.
    pub fn plan_for_unreadable(&self, header: &str, text: &str) -> ProgressPlan {
        self.plan_upon(self.last_written.as_deref(), header, text)
    }

    fn plan_upon(&self, found: Option<&[u8]>, header: &str, text: &str) -> ProgressPlan {
        let (base, missing) = match (found, &self.last_written) {
            (None, None) => (None, Vec::new()),
            (Some(found), None) => (Some(found.to_vec()), Vec::new()),
            (None, Some(left)) => (None, left.clone()),
            (Some(found), Some(left)) => match left.strip_prefix(found) {
                Some(rest) => (None, rest.to_vec()),
                None => (Some(found.to_vec()), Vec::new()),
            },
        };
        let before: &[u8] = match (&base, &self.last_written) {
            (Some(base), _) => base,
            (None, Some(left)) => left,
            (None, None) => b"",
        };
        let mut appended =
            if before.is_empty() { header.to_owned() } else { progress_txt::separator(before).to_owned() };
        appended.push_str(text);
        let changed_entries = match &base {
            Some(base) => self.entries.iter().filter(|entry| !contains(base, entry)).count(),
            None => 0,
        };
        ProgressPlan { base, appended: appended.into_bytes(), entry: text.into(), missing, changed_entries }
    }

    /// Appends what was planned. If that fails, the next plan appends what is missing.
    pub fn apply(&mut self, plan: ProgressPlan) -> Result<()> {
        let mut content = plan.base.or_else(|| self.last_written.take()).unwrap_or_default();
        content.extend_from_slice(&plan.appended);
        self.last_written = Some(content);
        self.entries.push(plan.entry);
        self.append(&[plan.missing.as_slice(), plan.appended.as_slice()].concat())
    }

    /// Inserts `text` at byte `at` by writing the file anew from there on. `found` is its content, which was just read.
    pub fn insert(&self, found: &[u8], at: usize, text: &str) -> Result<()> {
        let rewritten = [text.as_bytes(), &found[at..]].concat();
        self.files
            .open_to_edit(&self.path)
            .and_then(|mut file| {
                file.seek(SeekFrom::Start(at as u64))?;
                file.write_all(&rewritten)
            })
            .with_context(|| format!("write into {}", self.path))
    }

    /// Returns true if the file is as it was last written, but for something missing at its end.
    pub fn is_truncated(&self) -> bool {
        let found = self.read().ok().flatten().unwrap_or_default();
        self.last_written
            .as_ref()
            .is_some_and(|content| found.len() < content.len() && content.starts_with(&found))
    }

    /// Appends in place, without fsync: after a power failure the next start appends what was lost.
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
        file.apply(planned).unwrap();
        Scene { file, _dir: dir }
    }

    fn add(scene: &mut Scene, text: &str) -> (bool, usize) {
        let planned = scene.file.plan("# Log\n", text).unwrap();
        let facts = (planned.base.is_some(), planned.changed_entries);
        scene.file.apply(planned).unwrap();
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
