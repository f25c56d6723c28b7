//! A file in which two trees differ, as `git diff-tree --numstat -z` prints it.

use anyhow::Result;

use crate::process::Tool;
use crate::record::{FileChange, ObjectId};

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
}

impl ChangedFile {
    /// Reads `added TAB removed TAB path`, where `-` stands for the lines of a binary file.
    pub(super) fn read(line: &[u8]) -> Option<Self> {
        let mut fields = line.splitn(3, |&byte| byte == b'\t');
        let mut number = || std::str::from_utf8(fields.next()?).ok()?.parse().ok();
        let (added, removed) = (number(), number());
        Some(Self { path: fields.next()?.to_vec(), added, removed })
    }

    /// As a record has it.
    pub fn to_record(&self) -> FileChange {
        let path = String::from_utf8_lossy(&self.path).into_owned();
        FileChange { path, added: self.added, removed: self.removed }
    }
}

/// The files in which two trees differ, by this git.
pub fn changed_between(git: Tool, before: &ObjectId, after: &ObjectId) -> Result<Vec<ChangedFile>> {
    if before == after {
        return Ok(Vec::new());
    }
    let output = git
        .args(["diff-tree", "-r", "-z", "--numstat", "--no-renames", ALL_SUBMODULES])
        .args(["--no-ext-diff", "--no-textconv"])
        .args([before.as_str(), after.as_str()])
        .read()?;
    Ok(split(&output).filter_map(ChangedFile::read).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

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
