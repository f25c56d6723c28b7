//! A three-way merge of trees, path by path: applies the changes between two of them to a third.
//!
//! git merges the contents of single files (`git merge-file`), which every version supports. Renames are not followed:
//! a renamed file is a removal and a new file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::{Context, Result};
use camino::Utf8PathBuf;

use ralph_core::record::ObjectId;

use super::raw_path::{RawPath, collides, split};
use super::restore::{PathChange, TreeEntry};
use super::{PrivateIndex, WorkTree};

/// A path that both sides changed differently: what it was, and the change from our side to the other one.
type Conflict = (Option<TreeEntry>, PathChange);

impl WorkTree {
    /// Applies the changes from `base` to `theirs` to `ours`: three trees or commits. Nothing is written. Returns the paths
    /// that only the other side changed, and those that both sides changed differently.
    pub fn merge_trees(
        &self,
        private_index: PrivateIndex<'_>,
        base: &ObjectId,
        ours: &ObjectId,
        theirs: &ObjectId,
    ) -> Result<(Vec<PathChange>, Vec<Conflict>)> {
        let [theirs, ours] = [theirs, ours].map(|to| self.differences(private_index, base, to, None));
        Ok(merge(theirs?, ours?))
    }

    /// Returns the change that merges the contents of a file that both sides changed; `None` if they
    /// conflict.
    pub fn merge_contents(
        &self,
        private_index: PrivateIndex<'_>,
        base: Option<&TreeEntry>,
        change: &PathChange,
    ) -> Result<Option<PathChange>> {
        let PathChange { path, before: Some(ours), after: Some(theirs) } = change else {
            return Ok(None);
        };
        let Some(base) = base.filter(|base| is_file(base)) else { return Ok(None) };
        if !is_file(ours) || !is_file(theirs) {
            return Ok(None);
        }
        let mode = if base.mode == theirs.mode { &ours.mode } else { &theirs.mode };
        let id = if base.id == theirs.id {
            Some(ours.id.clone())
        } else if base.id == ours.id {
            Some(theirs.id.clone())
        } else {
            self.merge_blobs(private_index, [&ours.id, &base.id, &theirs.id])?
        };
        Ok(id.map(|id| PathChange {
            path: path.clone(),
            before: Some(ours.clone()),
            after: Some(TreeEntry { mode: mode.clone(), id }),
        }))
    }

    /// Returns true if our side of a path is missing, or is only the beginning of the file on the other side, as
    /// a git leaves it that died while writing.
    pub fn was_cut_short(&self, private_index: PrivateIndex<'_>, change: &PathChange) -> Result<bool> {
        let Some(after) = change.after.as_ref().filter(|after| is_file(after)) else { return Ok(false) };
        let Some(before) = &change.before else { return Ok(true) };
        if !is_file(before) {
            return Ok(false);
        }
        Ok(self.blob(private_index, &after.id)?.starts_with(&self.blob(private_index, &before.id)?))
    }

    /// Removes from `changes` those that are blocked by a file of the work tree that stays, or by one that snapshots
    /// leave out. Returns their paths.
    pub fn withdraw_blocked(
        &self,
        private_index: PrivateIndex<'_>,
        changes: &mut Vec<PathChange>,
    ) -> Result<BTreeSet<RawPath>> {
        let mut blocked = BTreeSet::new();
        if !changes.iter().any(PathChange::is_new) {
            return Ok(blocked);
        }
        let mut standing = self.endangered(private_index, changes)?;
        let listed = self.git_private(private_index).args(["ls-files", "-z"]).read()?;
        standing.extend(split(&listed).map(<[u8]>::to_vec));
        for change in changes.iter().filter(|change| change.is_removal()) {
            standing.remove(&change.path);
        }
        changes.retain(|change| {
            let is_blocked =
                change.is_new() && (standing.contains(&change.path) || collides(&change.path, &standing));
            if is_blocked {
                blocked.insert(change.path.clone());
            }
            !is_blocked
        });
        Ok(blocked)
    }

    fn merge_blobs(
        &self,
        private_index: PrivateIndex<'_>,
        blobs: [&ObjectId; 3],
    ) -> Result<Option<ObjectId>> {
        let mut files = Vec::new();
        for (id, name) in blobs.into_iter().zip(["ours", "base", "theirs"]) {
            let file = Utf8PathBuf::from(format!("{}.{name}", private_index.index));
            fs::write(&file, self.blob(private_index, id)?).with_context(|| format!("write {file}"))?;
            files.push(file);
        }
        let git = self.git_private(private_index);
        let merged =
            git.args(["merge-file", "-q", "-p"]).args(files.iter().map(|file| file.as_str())).run()?;
        // Conflicts, or files that are not text.
        if !merged.is_success() {
            return Ok(None);
        }
        let hashed = self.git_private(private_index).args(["hash-object", "-w", "--no-filters", "--stdin"]);
        hashed.stdin(merged.stdout).line()?.parse().map(Some)
    }

    pub(super) fn blob(&self, private_index: PrivateIndex<'_>, id: &ObjectId) -> Result<Vec<u8>> {
        self.git_private(private_index).args(["cat-file", "blob", id.as_str()]).read()
    }
}

/// Applies their changes to ours.
fn merge(theirs: Vec<PathChange>, ours: Vec<PathChange>) -> (Vec<PathChange>, Vec<Conflict>) {
    let mut ours: BTreeMap<RawPath, Option<TreeEntry>> =
        ours.into_iter().map(|change| (change.path, change.after)).collect();
    let (mut changes, mut conflicts) = (Vec::new(), Vec::new());
    for PathChange { path, before: base, after: theirs } in theirs {
        let ours = ours.remove(&path).unwrap_or_else(|| base.clone());
        if ours == theirs {
            continue;
        }
        let is_ours_unchanged = ours == base;
        let change = PathChange { path, before: ours, after: theirs };
        if is_ours_unchanged {
            changes.push(change);
        } else {
            conflicts.push((base, change));
        }
    }
    (changes, conflicts)
}

fn is_file(entry: &TreeEntry) -> bool {
    entry.mode == "100644" || entry.mode == "100755"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(word: &str) -> Option<TreeEntry> {
        let id = |digit: &str| digit.repeat(40).parse().unwrap();
        (word != "-").then(|| TreeEntry { mode: "100644".to_owned(), id: id(word) })
    }

    fn change(path: &str, before: &str, after: &str) -> PathChange {
        PathChange { path: path.as_bytes().to_vec(), before: entry(before), after: entry(after) }
    }

    #[test]
    fn what_only_the_other_side_changed_is_taken_and_the_rest_stays() {
        // Base, ours and theirs of one path, and what becomes of it.
        for (base, ours, theirs, expected) in [
            ("a", "a", "b", "taken"),
            ("a", "a", "-", "taken"),
            ("-", "-", "a", "taken"),
            ("a", "b", "b", "equal"),
            ("a", "-", "-", "equal"),
            ("-", "b", "b", "equal"),
            ("a", "b", "c", "conflict"),
            ("a", "-", "b", "conflict"),
            ("a", "b", "-", "conflict"),
            ("-", "a", "b", "conflict"),
        ] {
            let changed = |after: &str| {
                if base == after { Vec::new() } else { vec![change("path", base, after)] }
            };
            let (changes, conflicts) = merge(changed(theirs), changed(ours));
            let found = match (changes.as_slice(), conflicts.as_slice()) {
                ([], []) => "equal",
                ([taken], []) if *taken == change("path", ours, theirs) => "taken",
                ([], [(_, found)]) if *found == change("path", ours, theirs) => "conflict",
                other => panic!("{other:?}"),
            };
            assert_eq!(found, expected, "{base} {ours} {theirs}");
        }
        let (changes, conflicts) = merge(vec![change("theirs", "a", "b")], vec![change("ours", "a", "b")]);
        assert_eq!((changes, conflicts.len()), (vec![change("theirs", "a", "b")], 0));
    }
}
