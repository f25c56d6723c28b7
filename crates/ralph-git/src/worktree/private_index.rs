//! The private index of snapshots, by which git sees the work tree without touching the user's.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Instant, UNIX_EPOCH};

use anyhow::{Context, Result};
use camino::{Utf8Path, Utf8PathBuf};

use super::budget::SnapshotBudget;
use super::filters::{filtered_paths, forget, with_settings};
use super::raw_path::{RawPath, joined, leave, split};
use super::users_index;
use super::{ALL_SUBMODULES, LISTING_TIMEOUT, PrivateIndex, WorkTree};
use ralph_core::record::LeftOut;
use ralph_os::platform::os_str;
use ralph_os::process::{Captured, was_cut_short};

/// Maximum number of refused paths that are searched for by halving; beyond it, the rest is left out.
const MAX_ISOLATED_REFUSALS: usize = 100;

/// git would write files from this size on straight into a pack, and only loose objects are moved into the repository.
/// Where git counts such a size in 32 bits, as on Windows, more is no size to it.
const ALL_LOOSE: &str =
    if cfg!(windows) { "core.bigFileThreshold=4095m" } else { "core.bigFileThreshold=1048576g" };

impl WorkTree {
    /// Returns what differs from the private index, each path after a tag and a blank.
    pub(super) fn list(
        &self,
        private_index: PrivateIndex<'_>,
        left_out: &mut Vec<LeftOut>,
    ) -> Result<Vec<u8>> {
        let list = self.git_private(private_index).args(["ls-files", "-z", "-v"]).limit(LISTING_TIMEOUT);
        let others = ["--others", "--exclude-standard"];
        let began = Instant::now();
        let all = list.clone().args(["--modified", "--deleted"]).args(others).read_all();
        let all = all.map(|(listed, complaints)| {
            left_out.extend(sealed_folders(&complaints));
            listed
        });
        all.or_else(|error| {
            let timed_out = began.elapsed() >= LISTING_TIMEOUT;
            if was_cut_short(&error) && !timed_out {
                return Err(error);
            }
            let mut listed = self.list_tracked(private_index)?;
            // A folder of millions, or one that cannot be read: what is tracked is worth a snapshot by itself.
            let untracked = if timed_out { Err(error) } else { list.args(others).read() };
            match untracked {
                Ok(untracked) => listed.extend(untracked),
                Err(error) => left_out.push(leave(b"./", &format!("nothing untracked was taken: {error:#}"))),
            }
            Ok(listed)
        })
    }

    /// Returns what is tracked and differs, without a look into the files: a filter that fails would end that.
    fn list_tracked(&self, private_index: PrivateIndex<'_>) -> Result<Vec<u8>> {
        let index = modified_second(private_index.index.as_std_path());
        users_index::renew(private_index.index)?;
        // git did not trust files as new as the index, which may have been written again in the second of their entry. Now it
        // would, so it has to forget them, as if there were no filters: it looks into some files whenever it writes an index.
        let without_filters = self.without_filters()?;
        forget(&|| with_settings(self.git_private(private_index), &without_filters), |path, is_filtered| {
            !is_filtered && modified_second(&self.top.as_std_path().join(os_str(path))) >= index
        })?;
        // In a fence git looks into no repository there by itself, as its configuration may be an agent's.
        let submodules = if self.fence.is_some() { "--ignore-submodules=dirty" } else { ALL_SUBMODULES };
        let listing = ["diff-files", "-z", "--name-status", "--no-renames", submodules];
        let raw = self.git_private(private_index).args(listing);
        let raw = raw.limit(LISTING_TIMEOUT).read()?;
        let mut parts = split(&raw);
        let mut listed = Vec::new();
        while let (Some(change), Some(path)) = (parts.next(), parts.next()) {
            listed.extend_from_slice(if change == b"D" { b"R " } else { b"C " });
            listed.extend_from_slice(path);
            listed.push(0);
        }
        Ok(listed)
    }

    /// Makes the private index from the user's, so that only what changed must be hashed. It is recreated when
    /// the user's changed: then files may be tracked that are ignored, or bits may be set that hide others.
    pub(super) fn prepare_index(&mut self, index: &Utf8Path) -> Result<()> {
        let lock = Utf8PathBuf::from(format!("{index}.lock"));
        if lock.exists() {
            // Only the holder of the loop's lock gets here, so this was left by one who died.
            fs::remove_file(&lock).with_context(|| format!("remove the stale lock {lock}"))?;
        }
        let now = users_index::stamp(&self.git_dir, &self.repository.common_dir);
        if self.seen == Some(now) && index.exists() {
            return Ok(());
        }
        (self.budget, self.written) = (SnapshotBudget::default(), None);
        self.has_gitlinks = users_index::copy(&self.git_dir.join("index"), index)?;
        self.seen = Some(now);
        Ok(())
    }

    /// Makes the private index from the last commit, with every file to be hashed.
    pub(super) fn begin_from_head(&mut self, private_index: PrivateIndex<'_>) -> Result<()> {
        users_index::remove(private_index.index)?;
        (self.budget, self.written) = (SnapshotBudget::default(), None);
        self.has_gitlinks = true;
        self.git_private(private_index).args(["read-tree", "HEAD"]).read().map(drop)
    }

    /// Files of our index that a changed `.gitignore` now ignores, and that the user does not track.
    pub(super) fn newly_ignored(&self, private_index: PrivateIndex<'_>) -> Result<BTreeSet<RawPath>> {
        let listing = ["ls-files", "-z", "--cached", "--ignored", "--exclude-standard"];
        let ours = self.git_private(private_index).args(listing).read()?;
        let users = self.git().args(listing).read()?;
        let users: BTreeSet<&[u8]> = split(&users).collect();
        Ok(split(&ours).filter(|path| !users.contains(path)).map(<[u8]>::to_vec).collect())
    }

    /// Updates the private index for paths. Where git refuses, paths with a filter come last, because each of them can
    /// make it refuse others, and each list is halved until it is clear which path git refuses.
    pub(super) fn update_index(
        &self,
        private_index: PrivateIndex<'_>,
        options: &[&str],
        paths: &[RawPath],
        left_out: &mut Vec<LeftOut>,
        refused: &mut BTreeSet<RawPath>,
    ) -> Result<()> {
        if paths.is_empty() || self.run_update_index(private_index, options, paths)?.is_success() {
            return Ok(());
        }
        self.forget_filtered(private_index)?;
        let filtered = filtered_paths(self.git_private(private_index), paths.iter().map(Vec::as_slice))?;
        let (last, first): (Vec<_>, Vec<_>) = paths.iter().cloned().partition(|path| filtered.contains(path));
        self.isolate_refused_paths(private_index, options, &first, left_out, refused)?;
        self.isolate_refused_paths(private_index, options, &last, left_out, refused)
    }

    /// Leaves out each path that git refuses: a file that cannot be read costs that file, never the iteration.
    fn isolate_refused_paths(
        &self,
        private_index: PrivateIndex<'_>,
        options: &[&str],
        paths: &[RawPath],
        left_out: &mut Vec<LeftOut>,
        refused: &mut BTreeSet<RawPath>,
    ) -> Result<()> {
        if paths.is_empty() {
            return Ok(());
        }
        let captured = self.run_update_index(private_index, options, paths)?;
        if captured.is_success() {
            return Ok(());
        }
        if let [path] = paths {
            left_out.push(leave(path, &format!("{}{}", LeftOut::REFUSED, captured.complaint())));
            refused.insert(path.clone());
            return Ok(());
        }
        if left_out.len() > MAX_ISOLATED_REFUSALS {
            left_out.extend(paths.iter().map(|path| leave(path, LeftOut::UNREAD)));
            refused.extend(paths.iter().cloned());
            return Ok(());
        }
        let (one, other) = paths.split_at(paths.len() / 2);
        self.isolate_refused_paths(private_index, options, one, left_out, refused)?;
        self.isolate_refused_paths(private_index, options, other, left_out, refused)
    }

    fn run_update_index(
        &self,
        private_index: PrivateIndex<'_>,
        options: &[&str],
        paths: &[RawPath],
    ) -> Result<Captured> {
        let git = self.git_private(private_index).args(["-c", ALL_LOOSE]).arg("update-index");
        git.args(options.iter().copied()).args(["-z", "--stdin"]).stdin(joined(paths)).run()
    }

    pub(super) fn forget_filtered(&self, private_index: PrivateIndex<'_>) -> Result<()> {
        forget(&|| self.git_private(private_index), |_, is_filtered| is_filtered)
    }
}

/// Returns when a file or link was written, in whole seconds, as git compares it; `None` if there is none.
fn modified_second(path: &Path) -> Option<u64> {
    Some(path.symlink_metadata().ok()?.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_secs())
}

/// Returns the folders that git says it could not look into.
fn sealed_folders(stderr: &[u8]) -> impl Iterator<Item = LeftOut> {
    stderr.split(|&byte| byte == b'\n').filter_map(|line| {
        let path = line.strip_prefix(b"warning: could not open directory '")?;
        let end = path.windows(3).rposition(|part| part == b"': ")?;
        Some(leave(&path[..end], "unreadable"))
    })
}
