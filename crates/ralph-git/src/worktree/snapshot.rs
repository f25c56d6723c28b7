//! Snapshots: the whole work tree as a tree object.

use std::collections::BTreeSet;
use std::fs;

use anyhow::Result;
use camino::Utf8PathBuf;

use super::credentials::is_credentials;
use super::raw_path::{RawPath, leave, split};
use super::{LISTING_TIMEOUT, PrivateIndex, SNAPSHOT_TIMEOUT, WorkTree};
use ralph_core::record::{LeftOut, ObjectId};
use ralph_os::platform::os_str;
use ralph_os::process::{Tool, was_cut_short};
use ralph_project::project_files::open_plain;

impl WorkTree {
    /// Writes the work tree as it is now as a tree object: tracked and untracked, ignored files left out. Returns what else
    /// was left out, and the paths of it that git failed to take. Where anything fails, tries once more with a fresh private index, and
    /// then, for the user's index itself may be broken, with one made from the last commit.
    pub fn contents(
        &mut self,
        private_index: PrivateIndex<'_>,
    ) -> Result<(ObjectId, Vec<LeftOut>, BTreeSet<RawPath>)> {
        // The user may have set up a filter meanwhile.
        self.fenced_filters = self.fence_filters()?;
        let written = self.prepare_index(private_index.index).and_then(|()| self.write_tree(private_index));
        let written = written.or_else(|error| {
            if was_cut_short(&error) {
                return Err(error);
            }
            self.seen = None;
            self.prepare_index(private_index.index)?;
            self.write_tree(private_index)
        });
        let is_cut_short = written.as_ref().is_err_and(was_cut_short);
        self.limit = if is_cut_short { LISTING_TIMEOUT } else { SNAPSHOT_TIMEOUT };
        written.or_else(|error| {
            if is_cut_short {
                // What git was at may be half done, and is begun anew.
                self.seen = None;
                return Err(error.context("take a snapshot of the work tree"));
            }
            let begun = self.begin_from_head(private_index).and_then(|()| self.write_tree(private_index));
            begun.map_err(|_| error.context("take a snapshot of the work tree"))
        })
    }

    /// Brings the private index up to the work tree, and writes it as a tree.
    fn write_tree(
        &mut self,
        private_index: PrivateIndex<'_>,
    ) -> Result<(ObjectId, Vec<LeftOut>, BTreeSet<RawPath>)> {
        let (mut left_out, mut refused) = (Vec::new(), BTreeSet::new());
        let listed = self.list(private_index, &mut left_out)?;
        let mut paths = BTreeSet::new();
        let mut candidates = Vec::new();
        let mut oversized = BTreeSet::new();
        let mut removed = BTreeSet::new();
        for line in split(&listed) {
            let (tag, path) = line.split_at(line.len().min(2));
            let is_untracked = tag == b"? ";
            if tag[0].is_ascii_lowercase() {
                // The user asked git to take it for unchanged.
                continue;
            }
            if tag == b"R " || (!is_untracked && self.is_behind_link(path)) {
                removed.insert(path.to_vec());
                continue;
            }
            match if is_untracked {
                self.untracked(path, private_index)
            } else {
                self.tracked(path, private_index)
            } {
                Inclusion::Take(size) if is_untracked => {
                    candidates.push((path.to_vec(), size));
                }
                Inclusion::Take(_) => drop(paths.insert(path.to_vec())),
                Inclusion::TakeLink(folder) => {
                    self.has_gitlinks = true;
                    paths.insert(folder);
                }
                Inclusion::Oversized => drop(oversized.insert(path.to_vec())),
                Inclusion::Leave(reason) => left_out.push(leave(path, reason)),
            }
        }
        paths.extend(self.budget.choose(candidates, &mut left_out));
        removed.extend(self.forget_untracked(&oversized, &mut paths, &mut left_out)?);
        if paths.iter().any(|path| path == b".gitignore" || path.ends_with(b"/.gitignore")) {
            let ignored = self.newly_ignored(private_index)?;
            self.newly_ignored.get_or_insert_default().extend(ignored.iter().cloned());
            removed.extend(ignored);
        }
        paths.retain(|path| !removed.contains(path));
        let removed: Vec<_> = removed.into_iter().collect();
        self.update_index(private_index, &["--force-remove"], &removed, &mut left_out, &mut refused)?;
        let paths: Vec<_> = paths.into_iter().collect();
        self.update_index(
            private_index,
            &["--add", "--remove", "--replace"],
            &paths,
            &mut left_out,
            &mut refused,
        )?;
        if self.has_gitlinks {
            let dirty = self.dirty_submodules(private_index);
            left_out.extend(dirty.iter().map(|path| leave(path, LeftOut::SUBMODULE_CHANGES)));
        }
        // A second look at a work tree that did not change costs the listing alone.
        let is_same = removed.is_empty() && paths.is_empty();
        let tree = match self.written.take().filter(|written| is_same && is_of(written, private_index)) {
            Some((tree, ..)) => tree,
            None => self.tree_of_index(private_index)?,
        };
        let is_new = loose(private_index, &tree).exists();
        self.written = Some((tree.clone(), private_index.objects.to_owned(), is_new));
        left_out.sort();
        left_out.dedup();
        Ok((tree, left_out, refused))
    }

    pub(super) fn try_tree_of_index(&self, private_index: PrivateIndex<'_>) -> Result<ObjectId> {
        // An object that is not here is committed and at the remote. git would fetch it to look at it.
        let options: &[&str] = if self.repository.is_partial() { &["--missing-ok"] } else { &[] };
        self.git_private(private_index).arg("write-tree").args(options.iter().copied()).line()?.parse()
    }

    fn tree_of_index(&self, private_index: PrivateIndex<'_>) -> Result<ObjectId> {
        self.try_tree_of_index(private_index).or_else(|error| {
            if was_cut_short(&error) {
                return Err(error);
            }
            // It may have run a filter again that failed this time.
            self.forget_filtered(private_index)?;
            self.try_tree_of_index(private_index)
        })
    }

    fn untracked(&self, path: &[u8], private_index: PrivateIndex<'_>) -> Inclusion {
        if let Some(folder) = path.strip_suffix(b"/") {
            // A repository inside the work tree: git records which commit it is at, if it has one.
            let asked = Tool::git(&self.top)
                .arg("-C")
                .arg(os_str(folder))
                .args(["rev-parse", "--verify", "--quiet", "HEAD"])
                .run();
            return match asked {
                Ok(captured) if captured.is_success() => Inclusion::TakeLink(folder.to_vec()),
                _ => Inclusion::Leave(LeftOut::NESTED_REPOSITORY),
            };
        }
        if is_credentials(path) {
            return Inclusion::Leave(LeftOut::CREDENTIALS);
        }
        match self.look(path, private_index) {
            FileCheck::Oversized => Inclusion::Leave(LeftOut::TOO_LARGE),
            FileCheck::Unreadable => Inclusion::Leave("unreadable"),
            FileCheck::Fine(size) => Inclusion::Take(size),
        }
    }

    /// Returns true if a folder on the way to it has become a link: then it is no file of this work tree.
    pub(super) fn is_behind_link(&self, path: &[u8]) -> bool {
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(end, _)| end);
        ends.into_iter().any(|end| self.path(&path[..end]).is_symlink())
    }

    fn tracked(&self, path: &[u8], private_index: PrivateIndex<'_>) -> Inclusion {
        match self.look(path, private_index) {
            FileCheck::Oversized => Inclusion::Oversized,
            FileCheck::Unreadable => Inclusion::Leave("unreadable"),
            FileCheck::Fine(size) => Inclusion::Take(size),
        }
    }

    fn look(&self, path: &[u8], private_index: PrivateIndex<'_>) -> FileCheck {
        let path = self.path(path);
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_file() => {
                if metadata.len() > private_index.max_file {
                    FileCheck::Oversized
                } else if !matches!(open_plain(&path), Ok(Some(_))) && path.exists() {
                    FileCheck::Unreadable
                } else {
                    FileCheck::Fine(metadata.len())
                }
            }
            // A link, a submodule, or gone: git knows what to do.
            _ => FileCheck::Fine(0),
        }
    }

    /// Of big files that our index knows, those that the user's does not know grew after a snapshot took them.
    fn forget_untracked(
        &self,
        oversized: &BTreeSet<RawPath>,
        paths: &mut BTreeSet<RawPath>,
        left_out: &mut Vec<LeftOut>,
    ) -> Result<BTreeSet<RawPath>> {
        if oversized.is_empty() {
            return Ok(BTreeSet::new());
        }
        let output = self.git().args(["ls-files", "-z"]).read()?;
        let users: BTreeSet<&[u8]> = split(&output).collect();
        let mut removed = BTreeSet::new();
        for path in oversized {
            if users.contains(path.as_slice()) {
                paths.insert(path.clone());
            } else {
                removed.insert(path.clone());
                left_out.push(leave(path, LeftOut::TOO_LARGE));
            }
        }
        Ok(removed)
    }
}

/// Returns true if a tree that was written before is still there for this index.
fn is_of((tree, objects, is_new): &(ObjectId, Utf8PathBuf, bool), private_index: PrivateIndex<'_>) -> bool {
    // What runs meanwhile may delete the spool.
    objects == private_index.objects && loose(private_index, tree).exists() == *is_new
}

/// Returns where an object is that is new in the folder of objects.
fn loose(private_index: PrivateIndex<'_>, id: &ObjectId) -> Utf8PathBuf {
    let (folder, name) = id.as_str().split_at(2);
    private_index.objects.join(folder).join(name)
}

enum Inclusion {
    /// A file of that many bytes.
    Take(u64),
    /// A repository in that folder, to be taken as the commit that it is at.
    TakeLink(RawPath),
    /// In our index, but past the size limit: taken only where the user tracks it.
    Oversized,
    Leave(&'static str),
}

enum FileCheck {
    /// Its size.
    Fine(u64),
    Oversized,
    Unreadable,
}
