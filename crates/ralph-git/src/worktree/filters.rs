//! Clean filters of the user's, as git-lfs: whether one failed, and which files it was for.
//!
//! If a file is as new as the index, git does not trust its entry and runs the filter again with any command that reads
//! or writes the index, also for other files. A filter that fails would cost all of them.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use camino::{Utf8Path, Utf8PathBuf};

use ralph_core::record::{join_files, quoted_for_shell};
use ralph_os::process::{Captured, Tool};

use super::WorkTree;
use super::raw_path::{RawPath, joined, lossy, split};

/// Maximum number of files that a message names.
const MAX_NAMED_FILES: usize = 5;

/// What leads to the files of a snapshot, which the fence hides from filters.
const PRIVATE_VARIABLES: &[&str] = &[
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_COUNT",
];

/// How git ends its complaint about a filter, after the name in quotes.
const FAILED: &str = "' failed";

/// What git says where a filter of its process protocol ended before it answered.
const HUNG_UP: &str = "fatal: the remote end hung up unexpectedly";

impl WorkTree {
    /// Returns `git` so that a clean filter that fails stops it. Otherwise git adds the unfiltered content of a
    /// filter that is not `required`, as if there were none.
    pub(super) fn with_strict_filters(&self, git: Tool) -> Result<Tool> {
        let mut settings = self.fenced_filters.clone();
        let keys = self.filter_keys()?;
        let drivers =
            keys.iter().filter_map(|key| key.rsplit_once('.')).filter(|(_, kind)| *kind != "smudge");
        let required: BTreeSet<_> = drivers.map(|(driver, _)| format!("{driver}.required")).collect();
        settings.extend(required.into_iter().map(|key| (key, "true".to_owned())));
        Ok(with_settings(git, &settings))
    }

    /// Returns settings with which git runs no filter.
    pub(super) fn without_filters(&self) -> Result<Vec<(String, String)>> {
        let mut settings = Vec::new();
        for key in self.filter_keys()? {
            let (driver, _) = key.rsplit_once('.').unwrap_or((&key, ""));
            settings.push((format!("{driver}.required"), "false".to_owned()));
            settings.push((key, String::new()));
        }
        Ok(settings)
    }

    /// Returns the same with no filter run, as one may be a script that an agent changed: a file with one counts as committed.
    pub fn unfiltered(self) -> Result<Self> {
        Ok(Self { fence: None, fenced_filters: self.without_filters()?, ..self })
    }

    /// Returns the ids of files as they are in the work tree; `None` for those with a filter, which is not run.
    pub fn ids_of(&self, paths: &[&str]) -> Result<Vec<Option<String>>> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let unfiltered = self.clone().unfiltered()?;
        let ids = unfiltered.git().args(["hash-object", "--"]).args(paths.iter().copied()).read()?;
        let filtered = unfiltered.filtered_among(paths.iter().map(|path| path.as_bytes()))?;
        let ids = String::from_utf8_lossy(&ids).into_owned();
        let named = ids.lines().map(str::to_owned).zip(paths);
        Ok(named.map(|(id, path)| Some(id).filter(|_| !filtered.contains(path.as_bytes()))).collect())
    }

    /// Returns those of `paths` that have a filter, if some are configured and none is to run.
    pub(super) fn filtered_among<'a>(
        &self,
        paths: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<BTreeSet<RawPath>> {
        if self.fence.is_some() || self.fenced_filters.is_empty() {
            return Ok(BTreeSet::new());
        }
        filtered_paths(self.git(), paths)
    }

    /// Returns settings with which filters run in the fence, with its home and without what it drops. A filter is a program of
    /// the user's, but may well be a script in the work tree.
    pub(super) fn fence_filters(&self) -> Result<Vec<(String, String)>> {
        let Some(fence) = &self.fence else { return Ok(Vec::new()) };
        let environment = std::env::vars_os()
            .map(|(name, value)| [name, value].map(|text| text.to_string_lossy().into_owned()));
        let dropped = environment.filter(|[name, value]| fence.drops(name, value)).map(|[name, _]| name);
        let dropped = dropped.chain(PRIVATE_VARIABLES.iter().map(|name| (*name).to_owned()));
        let mut before = vec!["env".to_owned()];
        before.extend(dropped.flat_map(|name| ["-u".to_owned(), name]));
        before.extend(fence.variables().into_iter().map(|(name, value)| format!("{name}={value}")));
        let mut settings = Vec::new();
        for (key, command) in self.filters()? {
            let takes_path = !key.ends_with(".process");
            let script = if takes_path { with_path_as_argument(&command) } else { command };
            let shell = vec!["sh".to_owned(), "-c".to_owned(), script, "sh".to_owned()];
            let inside = fence.wrap(&fence.as_the_user(shell, []), &self.top);
            let words = before.iter().chain(&inside).map(|word| quoted_for_shell(word));
            let mut line = words.collect::<Vec<_>>().join(" ");
            if takes_path {
                line = format!("{} %f", line.replace('%', "%%"));
            }
            settings.push((key, line));
        }
        Ok(settings)
    }

    /// Returns the files of settings that the configuration of git includes, wherever and whether they are there or not.
    pub fn included_settings(&self, home: &Utf8Path) -> Result<Vec<Utf8PathBuf>> {
        let git = Tool::git(&self.top).env("GIT_DIR", self.git_dir.as_str());
        let asked = ["config", "-z", "--show-origin", "--get-regexp", r"^include(if\..*)?\.path$"];
        // It exits 1 if there is none.
        let listed = git.args(asked).run()?.stdout;
        let fields: Vec<_> = split(&listed).map(String::from_utf8_lossy).collect();
        let mut files = Vec::new();
        for pair in fields.chunks_exact(2) {
            let (Some(origin), Some((_, path))) = (pair[0].strip_prefix("file:"), pair[1].split_once('\n'))
            else {
                continue;
            };
            let folder = self.top.join(origin);
            let folder = folder.parent().unwrap_or(&self.top);
            files.push(path.strip_prefix("~/").map_or_else(|| folder.join(path), |rest| home.join(rest)));
        }
        Ok(files)
    }

    /// Returns true if git would run filters of the user's here.
    pub fn has_filters(&self) -> Result<bool> {
        Ok(!self.filters()?.is_empty())
    }

    /// Returns the keys of the filters that are configured; a fence has them listed.
    fn filter_keys(&self) -> Result<Vec<String>> {
        match self.fence {
            Some(_) => Ok(self.fenced_filters.iter().map(|(key, _)| key.clone()).collect()),
            None => Ok(self.filters()?.into_keys().collect()),
        }
    }

    /// Returns the filters that are configured: `filter.lfs.clean`, and what it runs.
    fn filters(&self) -> Result<BTreeMap<String, String>> {
        let git = Tool::git(&self.top).env("GIT_DIR", self.git_dir.as_str());
        // It exits 1 if there is none.
        let listed =
            git.args(["config", "-z", "--get-regexp", r"^filter\..*\.(clean|smudge|process)$"]).run()?.stdout;
        let mut filters = BTreeMap::new();
        for entry in split(&listed) {
            let entry = String::from_utf8_lossy(entry);
            let (key, command) = entry.split_once('\n').unwrap_or((&entry, ""));
            filters.insert(key.to_owned(), command.to_owned());
        }
        filters.retain(|_, command| !command.is_empty());
        Ok(filters)
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
        let named = named.map(str::to_owned);
        let Some(driver) = named.or_else(|| filtered.first().map(|(_, driver)| lossy(driver))) else {
            return Ok(None);
        };
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

/// Returns `git` with settings that win over all others.
pub(super) fn with_settings(git: Tool, settings: &[(String, String)]) -> Tool {
    let numbered = settings.iter().enumerate();
    let git = numbered.fold(git, |git, (number, (key, value))| {
        git.env(&format!("GIT_CONFIG_KEY_{number}"), key).env(&format!("GIT_CONFIG_VALUE_{number}"), value)
    });
    if settings.is_empty() { git } else { git.env("GIT_CONFIG_COUNT", settings.len().to_string()) }
}

/// Returns the command of a clean or smudge filter for a shell that gets the path as an argument, in place of git, which would put
/// the quoted path in the middle of what is quoted for the fence.
fn with_path_as_argument(command: &str) -> String {
    let parts: Vec<_> = command.split("%%").map(|part| part.replace("%f", "\"$1\"")).collect();
    parts.join("%")
}

/// Has git forget sizes and times of tracked files, which `is_forgotten` chooses by path and by whether a filter is set.
/// Of those, git looks only into the ones that it is fed.
pub(super) fn forget(git: &dyn Fn() -> Tool, is_forgotten: impl Fn(&[u8], bool) -> bool) -> Result<()> {
    let listed = git().args(["ls-files", "-z", "-v", "--stage"]).read()?;
    // The user asked git to take the others for unchanged.
    let entries = split(&listed).filter_map(|line| line.strip_prefix(b"H "));
    let entries: Vec<(&[u8], &[u8])> =
        entries.filter_map(|entry| Some((entry, entry.splitn(2, |byte| *byte == b'\t').nth(1)?))).collect();
    let filtered = filtered_paths(git(), entries.iter().map(|(_, path)| *path))?;
    let forgotten = entries.iter().filter(|(_, path)| is_forgotten(path, filtered.contains(*path)));
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
    fn a_filter_in_the_fence_gets_the_path_as_an_argument() {
        for (command, expected) in [
            ("git-lfs clean -- %f", "git-lfs clean -- \"$1\""),
            ("tr %%f%% %f; date +%%s", "tr %f% \"$1\"; date +%s"),
            ("sh up.sh", "sh up.sh"),
        ] {
            assert_eq!(with_path_as_argument(command), expected);
        }
    }

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
