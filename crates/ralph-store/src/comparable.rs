//! Whether two snapshots can be compared with bounded work: a fetched one may have as many files as its author likes, as
//! equal folders are one object.

use std::collections::{BTreeMap, HashMap};

use anyhow::Result;
use gix::objs::{Find, Kind, TreeRefIter};

use ralph_core::record::{ObjectId, Refusal};

use super::reading::blobs::read_commit;
use super::{RecordReader, Store, objects};

/// Maximum number of files in which snapshots that are compared may differ.
const MAX_DIFFERING_FILES: u64 = 200_000;

/// Maximum number of folders around a file that differs.
const MAX_DEPTH: usize = 200;

/// Largest folder that is read, in bytes.
const MAX_TREE_BYTES: u64 = 16 << 20;

/// What is said of snapshots that are not compared.
pub const TOO_LARGE: &str = "too large to compare";

impl Store {
    /// Returns true if two snapshots, or commits, differ in few enough files to compare them.
    pub fn is_comparable(&self, before: &ObjectId, after: &ObjectId) -> Result<bool> {
        is_comparable(&self.open_git()?, before, after)
    }

    /// Refuses snapshots that differ in too many files.
    ///
    /// # Errors
    ///
    /// If so, or if git cannot be read.
    pub fn require_comparable(&self, before: &ObjectId, after: &ObjectId) -> Result<()> {
        if self.is_comparable(before, after)? {
            return Ok(());
        }
        let (before, after) = (before.short(), after.short());
        let refusal = Refusal::new(format!("the snapshots {before} and {after} are {TOO_LARGE}"));
        Err(refusal
            .with_hint(format!(
                "they differ in more than {MAX_DIFFERING_FILES} files, or are deeper than {MAX_DEPTH} folders"
            ))
            .into())
    }
}

impl RecordReader<'_> {
    /// Returns the same as [`Store::is_comparable`].
    pub fn is_comparable(&self, before: &ObjectId, after: &ObjectId) -> Result<bool> {
        is_comparable(&self.git, before, after)
    }
}

/// A file in which two snapshots differ, by what it holds in each; `None` where it is not there.
pub type DifferingFile = (Vec<u8>, [Option<ObjectId>; 2]);

impl RecordReader<'_> {
    /// Returns the files in which two snapshots differ, or `None` if they are not here, or have more entries in folders that
    /// differ than `budget`, which is lowered by those that were read.
    pub fn differing_files(
        &self,
        before: &ObjectId,
        after: &ObjectId,
        budget: &mut usize,
    ) -> Result<Option<Vec<DifferingFile>>> {
        let mut found = Vec::new();
        if !self.has(before)? || !self.has(after)? {
            return Ok(None);
        }
        let mut folders =
            vec![(Vec::new(), [Some(root(&self.git, before)?), Some(root(&self.git, after)?)], 0)];
        while let Some((path, [before, after], depth)) = folders.pop() {
            let (Some(before), Some(after)) = (entries(&self.git, before), entries(&self.git, after)) else {
                return Ok(None);
            };
            let Some(left) = budget.checked_sub(before.len() + after.len()).filter(|_| depth <= MAX_DEPTH)
            else {
                *budget = 0;
                return Ok(None);
            };
            *budget = left;
            for (name, sides) in differing_entries([before, after]) {
                let path = [&path, name.as_slice()].concat();
                let [folder, file] = [true, false].map(|wants_folder| {
                    sides.map(|side| {
                        side.filter(|(_, is_folder)| *is_folder == wants_folder).map(|(id, _)| id)
                    })
                });
                if file.iter().any(Option::is_some) {
                    let [before, after] = file.map(|id| id.map(|id| objects::from_gix(&id)).transpose());
                    found.push((path.clone(), [before?, after?]));
                }
                if folder.iter().any(Option::is_some) {
                    folders.push(([path.as_slice(), b"/"].concat(), folder, depth + 1));
                }
            }
        }
        Ok(Some(found))
    }
}

/// Returns the tree of a commit, or the tree itself.
fn root(git: &gix::Repository, id: &ObjectId) -> Result<gix::ObjectId> {
    let id = objects::to_gix(id)?;
    Ok(read_commit(git, &id).map_or(id, |commit| commit.tree))
}

fn is_comparable(git: &gix::Repository, before: &ObjectId, after: &ObjectId) -> Result<bool> {
    if before == after {
        return Ok(true);
    }
    let [before, after] = [root(git, before)?, root(git, after)?];
    Ok(differing(git, Some(before), Some(after), 0, &mut HashMap::new()).is_some())
}

type Pair = (Option<gix::ObjectId>, Option<gix::ObjectId>);

/// Returns in how many files two folders differ, or `None` if these are too many. Folders that many others have are looked at
/// once: `known` keeps what they gave.
fn differing(
    git: &gix::Repository,
    before: Option<gix::ObjectId>,
    after: Option<gix::ObjectId>,
    depth: usize,
    known: &mut HashMap<Pair, u64>,
) -> Option<u64> {
    if before == after {
        return Some(0);
    }
    if let Some(count) = known.get(&(before, after)) {
        return Some(*count);
    }
    if depth > MAX_DEPTH || known.len() as u64 > MAX_DIFFERING_FILES {
        return None;
    }
    let mut count = 0;
    for sides in differing_entries([entries(git, before)?, entries(git, after)?]).into_values() {
        let is_file = sides.iter().flatten().any(|(_, is_folder)| !is_folder);
        let [before, after] = sides.map(|side| side.filter(|(_, is_folder)| *is_folder).map(|(id, _)| id));
        let below = differing(git, before, after, depth + 1, known)?;
        count += below + u64::from(is_file);
        if count > MAX_DIFFERING_FILES {
            return None;
        }
    }
    known.insert((before, after), count);
    Some(count)
}

/// Returns name, object and kind of what is in a folder; nothing if it is not here, which git itself will say.
fn entries(git: &gix::Repository, tree: Option<gix::ObjectId>) -> Option<Vec<FolderEntry>> {
    let Some(tree) = tree else { return Some(Vec::new()) };
    let mut buffer = Vec::new();
    match git.objects.try_find(&tree, &mut buffer) {
        Ok(Some(found)) if found.data.len() as u64 > MAX_TREE_BYTES => None,
        Ok(Some(found)) if found.kind == Kind::Tree => {
            let entries = TreeRefIter::from_bytes(found.data, tree.kind()).filter_map(Result::ok);
            let entries =
                entries.map(|entry| (entry.filename.to_vec(), entry.oid.to_owned(), entry.mode.is_tree()));
            Some(entries.collect())
        }
        Ok(_) => Some(Vec::new()),
        // It is broken, or so large that it is not unpacked.
        Err(_) => {
            let header = git.try_find_header(tree).ok().flatten();
            header.is_none_or(|header| header.size() <= MAX_TREE_BYTES).then(Vec::new)
        }
    }
}

/// Name, object, and whether it is a folder.
type FolderEntry = (Vec<u8>, gix::ObjectId, bool);

/// Returns what is not the same in two folders, by name.
fn differing_entries(
    folders: [Vec<FolderEntry>; 2],
) -> BTreeMap<Vec<u8>, [Option<(gix::ObjectId, bool)>; 2]> {
    let mut entries: BTreeMap<Vec<u8>, [Option<(gix::ObjectId, bool)>; 2]> = BTreeMap::new();
    for (side, folder) in folders.into_iter().enumerate() {
        for (name, id, is_folder) in folder {
            entries.entry(name).or_default()[side] = Some((id, is_folder));
        }
    }
    entries.retain(|_, [before, after]| before != after);
    entries
}

#[cfg(test)]
mod tests {
    use gix::objs::Tree;
    use gix::objs::tree::{Entry, EntryKind};

    use super::*;

    /// Returns a folder with `count` times the same entry.
    fn folder(git: &gix::Repository, count: usize, kind: EntryKind, id: gix::ObjectId) -> gix::ObjectId {
        let entry = |number| Entry { mode: kind.into(), filename: format!("{number:05}").into(), oid: id };
        git.write_object(Tree { entries: (0..count).map(entry).collect() }).unwrap().detach()
    }

    #[test]
    fn equal_folders_are_looked_at_once_and_too_many_files_are_not_compared() {
        let directory = tempfile::tempdir().unwrap();
        let git = gix::init(directory.path()).unwrap();
        let blob = git.write_blob("x").unwrap().detach();
        let small = folder(&git, 1000, EntryKind::Blob, blob);
        let some = folder(&git, 100, EntryKind::Tree, small);
        let many = folder(&git, 1000, EntryKind::Tree, small);
        let more = folder(&git, 1000, EntryKind::Tree, many);
        let deep = (0..=MAX_DEPTH).fold(small, |inner, _| folder(&git, 1, EntryKind::Tree, inner));
        let differing = |before, after| differing(&git, Some(before), after, 0, &mut HashMap::new());
        assert_eq!(differing(small, None), Some(1000));
        assert_eq!(differing(some, Some(small)), Some(101_000));
        for (before, after) in [(many, None), (more, Some(small)), (more, Some(many)), (deep, None)] {
            assert_eq!(differing(before, after), None);
        }
        // What is alike costs nothing, however large it is.
        assert_eq!(differing(more, Some(more)), Some(0));
    }
}
