//! A file in which two trees differ, as `git diff-tree --raw --numstat -z` prints it.

use std::collections::HashMap;

use anyhow::Result;

use crate::process::Tool;
use crate::record::{FileChange, FileStatus, ObjectId};

use super::raw_path::{RawPath, split};

/// The settings `diff.ignoreSubmodules` and `submodule.NAME.ignore` would hide a new commit of a submodule.
pub(super) const ALL_SUBMODULES: &str = "--ignore-submodules=none";

/// A file in which two trees differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// From the top of the work tree.
    pub path: RawPath,
    /// Lines; `None` for a binary file.
    pub added: Option<u64>,
    pub removed: Option<u64>,
    pub status: FileStatus,
}

impl ChangedFile {
    /// Reads `added TAB removed TAB path`, where `-` stands for the lines of a binary file.
    pub(super) fn read(line: &[u8]) -> Option<Self> {
        let mut fields = line.splitn(3, |&byte| byte == b'\t');
        let mut number = || std::str::from_utf8(fields.next()?).ok()?.parse().ok();
        let (added, removed) = (number(), number());
        Some(Self { path: fields.next()?.to_vec(), added, removed, status: FileStatus::Modified })
    }

    /// As a record has it.
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

/// The files in which two trees differ, by this git.
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
    let mut statuses: HashMap<&[u8], FileStatus> = HashMap::new();
    let mut files = Vec::new();
    let mut parts = split(output);
    while let Some(part) = parts.next() {
        if part.starts_with(b":") {
            let status = match part.last() {
                Some(b'A') => FileStatus::Added,
                Some(b'D') => FileStatus::Deleted,
                _ => FileStatus::Modified,
            };
            statuses.extend(parts.next().map(|path| (path, status)));
        } else if let Some(file) = ChangedFile::read(part) {
            let status = statuses.get(file.path.as_slice()).copied().unwrap_or_default();
            files.push(ChangedFile { status, ..file });
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_the_status_that_stands_before_the_lines() {
        let output = ":000000 100644 0 1 A\0:a\0:100644 000000 1 0 D\0b\0:100644 100755 1 1 M\0c\0\
            1\t0\t:a\x000\t2\tb\x00-\t-\tc\0";
        let statuses: Vec<FileStatus> = read(output.as_bytes()).iter().map(|file| file.status).collect();
        assert_eq!(statuses, [FileStatus::Added, FileStatus::Deleted, FileStatus::Modified]);
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
