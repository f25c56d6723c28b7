//! The repository's own settings that decide where its work tree is, who commits, how, and with which hooks.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Result, bail};
use camino::Utf8PathBuf;

use ralph_os::process::Tool;

use super::WorkTree;
use super::raw_path::split;

/// The keys that are looked at, as `git config` matches them.
const WATCHED: &str = r"^(core\.(bare|worktree|hookspath)|(user|author|committer|commit)\..*|include\.path|includeif\..*\.path)$";

/// The settings that are watched: each key, as git prints it, with its values in git's order. True beside those of one
/// work tree alone (`git config --worktree`).
pub type WatchedSettings = BTreeMap<(bool, String), Vec<String>>;

impl WorkTree {
    /// Returns what is in the repository's own files with settings: as long as that is the same, so are these.
    pub fn settings_files(&self) -> [Option<Vec<u8>>; 2] {
        self.settings_paths().map(|file| fs::read(file).ok())
    }

    fn settings_paths(&self) -> [Utf8PathBuf; 2] {
        [self.repository.common_dir.join("config"), self.git_dir.join("config.worktree")]
    }

    /// Returns the watched settings in these files, without what they include.
    pub fn watched_settings(&self) -> Result<WatchedSettings> {
        let mut found = WatchedSettings::new();
        for (is_of_work_tree, file) in [false, true].into_iter().zip(self.settings_paths()) {
            if !file.is_file() {
                continue;
            }
            let git = Tool::git(&self.top).env("GIT_DIR", self.git_dir.as_str());
            let asked = git.args(["config", "--file", file.as_str(), "-z", "--get-regexp", WATCHED]).run()?;
            // It exits 1 if there is none.
            if asked.code > 1 {
                bail!("read {file}: {}", asked.complaint());
            }
            for entry in split(&asked.stdout) {
                let entry = String::from_utf8_lossy(entry);
                // A key without a value means true.
                let (key, value) = entry.split_once('\n').unwrap_or((&entry, "true"));
                found.entry((is_of_work_tree, key.to_owned())).or_default().push(value.to_owned());
            }
        }
        Ok(found)
    }

    /// Returns git's words for the first of these files that it cannot read: then it does nothing in this repository.
    pub fn settings_fault(&self) -> Option<String> {
        self.settings_paths().into_iter().filter(|file| file.is_file()).find_map(|file| {
            let git = Tool::git(&self.top).args(["config", "--file", file.as_str(), "--list"]);
            let asked = git.run().ok().filter(|asked| !asked.is_success())?;
            Some(asked.complaint().trim_start_matches("fatal: ").to_owned())
        })
    }

    /// Keeps who commits here as it is now, whatever an agent makes of git's settings.
    #[must_use]
    pub fn keeping_identity(mut self) -> Self {
        for role in ["AUTHOR", "COMMITTER"] {
            let asked = self.git().args(["var", &format!("GIT_{role}_IDENT")]).line();
            // Without an identity no commit is made that needs one.
            let Ok(ident) = asked else { continue };
            if let Some((name, rest)) = ident.split_once(" <")
                && let Some((email, _)) = rest.rsplit_once("> ")
            {
                self.identity.push((format!("GIT_{role}_NAME"), name.to_owned()));
                self.identity.push((format!("GIT_{role}_EMAIL"), email.to_owned()));
            }
        }
        self
    }

    /// Returns true if a git that is started at the top finds this work tree.
    pub(super) fn is_found_by_git(&self) -> bool {
        let found =
            Tool::git(&self.top).args(["rev-parse", "--path-format=absolute", "--show-toplevel"]).line();
        found.is_ok_and(|top| top == self.top.as_str())
    }
}
