//! A file in which two trees differ, as `git diff-tree --raw --numstat -z` prints it.

use std::collections::HashMap;

use anyhow::Result;

use ralph_core::record::{DiffStat, FileChange, FileStatus, ObjectId};
use ralph_os::process::Tool;

use super::raw_path::{RawPath, split};
use super::restore::{TreeEntry, tree_entry};

/// The settings `diff.ignoreSubmodules` and `submodule.NAME.ignore` would hide a new commit of a submodule.
pub(super) const ALL_SUBMODULES: &str = "--ignore-submodules=none";

/// A file in which two trees differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// From the top of the work tree.
    pub path: RawPath,
    /// Number of lines; `None` for a binary file.
    pub added: Option<u64>,
    pub removed: Option<u64>,
    pub status: FileStatus,
    /// What the file held; `None` if there was none, or of a commit of another repository.
    pub before: Option<ObjectId>,
    pub after: Option<ObjectId>,
    /// The same with modes.
    pub entries: [Option<TreeEntry>; 2],
}

impl ChangedFile {
    /// Reads `added TAB removed TAB path`, where `-` stands for the lines of a binary file.
    pub(super) fn read(line: &[u8]) -> Option<Self> {
        let mut fields = line.splitn(3, |&byte| byte == b'\t');
        let [added, removed] =
            [fields.next(), fields.next()].map(|field| std::str::from_utf8(field?).ok()?.parse().ok());
        Some(Self {
            path: fields.next()?.to_vec(),
            added,
            removed,
            status: FileStatus::Modified,
            before: None,
            after: None,
            entries: [None, None],
        })
    }

    /// Counts what changed in all of them.
    pub fn stat(files: &[Self]) -> DiffStat {
        DiffStat::of(files.iter().map(|file| (file.added, file.removed)))
    }

    /// Converts it to its form in a record.
    pub fn to_record(&self) -> FileChange {
        let path = String::from_utf8_lossy(&self.path).into_owned();
        FileChange {
            path,
            added: self.added,
            removed: self.removed,
            status: self.status,
            diff: String::new(),
        }
    }
}

/// Returns the files in which two trees differ.
pub fn changed_between(git: Tool, before: &ObjectId, after: &ObjectId) -> Result<Vec<ChangedFile>> {
    if before == after {
        return Ok(Vec::new());
    }
    let output = git
        .args(["diff-tree", "-r", "-z", "--raw", "--numstat", "--no-renames", ALL_SUBMODULES])
        .args(["--no-ext-diff", "--no-textconv"])
        .args([before.as_str(), after.as_str()])
        .read()?;
    Ok(read(&output))
}

/// Reads `:MODE MODE ID ID STATUS NUL PATH NUL` of each file, and after all of these the lines of each.
fn read(output: &[u8]) -> Vec<ChangedFile> {
    let mut known: HashMap<&[u8], (FileStatus, [Option<TreeEntry>; 2])> = HashMap::new();
    let mut files = Vec::new();
    let mut parts = split(output);
    while let Some(part) = parts.next() {
        if part.starts_with(b":") {
            let status = match part.last() {
                Some(b'A') => FileStatus::Added,
                Some(b'D') => FileStatus::Deleted,
                _ => FileStatus::Modified,
            };
            known.extend(parts.next().map(|path| (path, (status, entries(part)))));
        } else if let Some(file) = ChangedFile::read(part) {
            let (status, entries) = known.remove(file.path.as_slice()).unwrap_or_default();
            let [before, after] = entries.each_ref().map(|entry| {
                entry.as_ref().filter(|entry| !entry.is_repository()).map(|entry| entry.id().clone())
            });
            files.push(ChangedFile { status, before, after, entries, ..file });
        }
    }
    files
}

/// Returns what was there before and after, from `:MODE MODE ID ID STATUS`.
fn entries(line: &[u8]) -> [Option<TreeEntry>; 2] {
    let text = String::from_utf8_lossy(line);
    let fields: Vec<&str> = text.trim_start_matches(':').split(' ').collect();
    let [mode_before, mode_after, before, after, _] = fields.as_slice() else { return [None, None] };
    [(mode_before, before), (mode_after, after)].map(|(mode, id)| tree_entry(mode, id).ok().flatten())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_and_blobs_are_read_from_the_raw_lines() {
        let [none, one, two] = ["0", "1", "2"].map(|digit| digit.repeat(40));
        let output = format!(
            ":000000 100644 {none} {one} A\0:a\0:100644 000000 {one} {none} D\0b\0:100644 100755 {one} {two} M\0c\0\
             :160000 160000 {one} {two} M\0d\01\t0\t:a\x000\t2\tb\x00-\t-\tc\x001\t1\td\0"
        );
        let files = read(output.as_bytes());
        let statuses: Vec<FileStatus> = files.iter().map(|file| file.status).collect();
        let modified = FileStatus::Modified;
        assert_eq!(statuses, [FileStatus::Added, FileStatus::Deleted, modified, modified]);
        let [one, two] = [one, two].map(|id| Some(id.parse::<ObjectId>().unwrap()));
        let blobs: Vec<_> = files.into_iter().map(|file| (file.before, file.after)).collect();
        let expected = [(None, one.clone()), (one.clone(), None), (one, two), (None, None)];
        assert_eq!(blobs, expected);
    }

    #[test]
    fn a_line_is_two_numbers_and_a_path() {
        for (line, expected) in [
            ("3\t1\tsrc/a.rs", Some((Some(3), Some(1), "src/a.rs"))),
            ("-\t-\tlogo.png", Some((None, None, "logo.png"))),
            ("0\t12\ta\tb", Some((Some(0), Some(12), "a\tb"))),
            ("3\t1", None),
            ("", None),
        ] {
            let read = ChangedFile::read(line.as_bytes());
            let read = read.as_ref().map(|file| (file.added, file.removed, file.path.as_slice()));
            assert_eq!(
                read,
                expected.map(|(added, removed, path)| (added, removed, path.as_bytes())),
                "{line}"
            );
        }
    }
}
