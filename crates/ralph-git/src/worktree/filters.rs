//! Clean filters of the user's, as git-lfs: whether one failed, and which files it was for.
//!
//! If a file is as new as the index, git does not trust its entry and runs the filter again with any command that reads
//! or writes the index, also for other files. A filter that fails would cost all of them.

use std::collections::BTreeSet;

use anyhow::Result;
use camino::Utf8Path;

use ralph_core::record::join_files;
use ralph_os::process::{Captured, Tool};

use super::WorkTree;
use super::raw_path::{RawPath, joined, lossy, split};

/// Maximum number of files that a message names.
const MAX_NAMED_FILES: usize = 5;

/// How git ends its complaint about a filter, after the name in quotes.
const FAILED: &str = "' failed";

/// What git says where a filter of its process protocol ended before it answered.
const HUNG_UP: &str = "fatal: the remote end hung up unexpectedly";

impl WorkTree {
    /// Variables with which a clean filter that fails stops git. Otherwise git adds the unfiltered content of a
    /// filter that is not `required`, as if there were none.
    pub(super) fn strict_filters(&self) -> Result<Vec<(String, String)>> {
        let asked = ["config", "-z", "--get-regexp", r"^filter\..*\.(clean|process)$"];
        // It exits 1 if there is none.
        let listed = self.git().args(asked).run()?.stdout;
        let mut drivers = BTreeSet::new();
        for entry in split(&listed) {
            let entry = String::from_utf8_lossy(entry);
            let (key, command) = entry.split_once('\n').unwrap_or((&entry, ""));
            let driver = key.rsplit_once('.').map(|(driver, _)| driver.to_owned());
            drivers.extend(driver.filter(|_| !command.is_empty()));
        }
        if drivers.is_empty() {
            return Ok(Vec::new());
        }
        let mut variables = vec![("GIT_CONFIG_COUNT".to_owned(), drivers.len().to_string())];
        for (place, driver) in drivers.iter().enumerate() {
            variables.push((format!("GIT_CONFIG_KEY_{place}"), format!("{driver}.required")));
            variables.push((format!("GIT_CONFIG_VALUE_{place}"), "true".to_owned()));
        }
        Ok(variables)
    }

    /// Says which filter failed and for which of `paths`; `None` if it was something else.
    pub(super) fn failed_filter(
        &self,
        index: &Utf8Path,
        failed: &Captured,
        paths: &BTreeSet<RawPath>,
    ) -> Result<Option<String>> {
        let complaint = failed.complaint();
        let named = filter_named_in(&complaint);
        if named.is_none() && complaint != HUNG_UP {
            return Ok(None);
        }
        let filtered = filtered(self.git_with(index), joined(paths))?;
        let first = || filtered.first().map(|(_, driver)| lossy(driver));
        let Some(driver) = named.map(str::to_owned).or_else(first) else { return Ok(None) };
        let of_driver = filtered.iter().filter(|(_, found)| *found == driver.as_bytes());
        let files: Vec<String> = of_driver.map(|(path, _)| lossy(path)).collect();
        // What the filter itself printed is before git's words.
        let stderr = String::from_utf8_lossy(&failed.stderr);
        let first = stderr.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        let own = if first == complaint { String::new() } else { format!(" ({first})") };
        let verb = if files.len() == 1 { "is" } else { "are" };
        Ok(Some(format!(
            "the clean filter `{driver}` failed{own}; {} {verb} in the work tree only\nhint: install what the filter runs (`git config filter.{driver}.clean`); the next task's commit includes the files, or commit them yourself",
            join_files(&files, MAX_NAMED_FILES)
        )))
    }
}

/// Has git forget sizes and times of all tracked files that a filter is set for, so that it runs the filter only for
/// those that it is fed.
pub(super) fn forget_filtered(git: &dyn Fn() -> Tool) -> Result<()> {
    let listed = git().args(["ls-files", "-z", "-v", "--stage"]).read()?;
    // The user asked git to take the others for unchanged.
    let entries = split(&listed).filter_map(|line| line.strip_prefix(b"H "));
    let entries: Vec<(&[u8], &[u8])> =
        entries.filter_map(|entry| Some((entry, entry.splitn(2, |byte| *byte == b'\t').nth(1)?))).collect();
    let filtered = filtered_paths(git(), entries.iter().map(|(_, path)| *path))?;
    let forgotten = entries.iter().filter(|(_, path)| filtered.contains(*path));
    let lines: Vec<u8> = forgotten.flat_map(|(entry, _)| entry.iter().copied().chain([0])).collect();
    if lines.is_empty() {
        return Ok(());
    }
    git().args(["update-index", "-z", "--index-info"]).stdin(lines).read().map(drop)
}

/// Returns those of `paths` that a filter is set for.
pub(super) fn filtered_paths<'a>(
    git: Tool,
    paths: impl IntoIterator<Item = &'a [u8]>,
) -> Result<BTreeSet<RawPath>> {
    let paths = paths.into_iter().flat_map(|path| path.iter().copied().chain([0])).collect();
    Ok(filtered(git, paths)?.into_iter().map(|(path, _)| path).collect())
}

/// Returns each of `paths`, which end in a NUL, that a filter is set for, and the name of the filter.
fn filtered(git: Tool, paths: Vec<u8>) -> Result<Vec<(RawPath, RawPath)>> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let output = git.args(["check-attr", "-z", "--stdin", "filter"]).stdin(paths).read()?;
    let fields: Vec<&[u8]> = output.split(|byte| *byte == 0).collect();
    let set = fields.chunks_exact(3).filter(|triple| triple[2] != b"unspecified");
    Ok(set.map(|triple| (triple[0].to_vec(), triple[2].to_vec())).collect())
}

/// Returns the name in `fatal: PATH: clean filter 'NAME' failed`.
fn filter_named_in(complaint: &str) -> Option<&str> {
    let (_, name) = complaint.strip_suffix(FAILED)?.rsplit_once(": clean filter '")?;
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_filter_is_read_from_the_words_of_git() {
        for (complaint, expected) in [
            ("fatal: a.bin: clean filter 'lfs' failed", Some("lfs")),
            ("fatal: it's: clean filter 'x': clean filter 'git-crypt' failed", Some("git-crypt")),
            ("fatal: a.bin: smudge filter lfs failed", None),
            ("fatal: Unable to process path a.bin", None),
        ] {
            assert_eq!(filter_named_in(complaint), expected, "{complaint}");
        }
    }
}
