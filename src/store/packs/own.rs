//! The packs that we wrote: a list of their names, because nothing in a pack says who wrote it.
//!
//! `<common git dir>/ralph/packing/packs`, a line for each pack: its name, and the names of the packs that it replaces
//! and that may still have to be removed. A pack that is not listed is never merged or removed.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context, Result, anyhow};
use camino::{Utf8Path, Utf8PathBuf};
use gix::odb::pack::{index, multi_index};

use crate::process::create_private_dir;
use crate::repository::{HashKind, Repository};

use crate::store::local::disk;
use crate::store::objects;

/// Files beside a pack that say that it is not ours to merge: it is to be kept, belongs to a partial clone, has a bitmap,
/// or holds what git is about to drop.
const PROTECTING: [&str; 4] = ["keep", "promisor", "bitmap", "mtimes"];

/// The files of a pack, in the order in which they are removed: without its index, git no longer uses a pack.
const FILES: [&str; 3] = ["idx", "rev", "pack"];

/// Packs of more bytes are not merged: they are few, and a merge takes as much of the disk again.
const MAX_MERGED_BYTES: u64 = 1024 * 1024 * 1024;

/// Memory that reading a multi-pack-index may take.
const MAX_INDEX_BYTES: usize = 256 * 1024 * 1024;

/// The index of a pack, mapped into memory.
type PackIndex = index::File<gix::odb::pack::MMap>;

/// A pack that we wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
struct OwnPack {
    /// `pack-` and its checksum.
    name: String,
    replaces: Vec<String>,
}

/// The list, as it is on the disk.
#[derive(Debug)]
pub(super) struct OwnPacks<'a> {
    repository: &'a Repository,
    list: Vec<OwnPack>,
}

impl<'a> OwnPacks<'a> {
    pub fn read(repository: &'a Repository) -> Result<Self> {
        let bytes = disk::read_if_there(&list_file(repository))?.unwrap_or_default();
        let list = parse(&String::from_utf8_lossy(&bytes), repository.hash);
        Ok(Self { repository, list })
    }

    /// Returns where git keeps the packs.
    pub fn folder(&self) -> Utf8PathBuf {
        self.repository.common_dir.join("objects/pack")
    }

    pub fn contains(&self, name: &str) -> bool {
        self.list.iter().any(|pack| pack.name == name)
    }

    /// Lists a pack before it gets its place, so that a kill leaves none of our packs that is not listed.
    pub fn add(&mut self, name: &str, replaces: &[String], drafts: &Utf8Path) -> Result<()> {
        let replaces: Vec<String> = replaces.iter().filter(|other| *other != name).cloned().collect();
        self.list.retain(|pack| pack.name != name);
        self.list.push(OwnPack { name: name.to_owned(), replaces });
        self.write(drafts)
    }

    /// Returns the packs that replace others, and which ones.
    fn replacements(&self) -> Vec<(String, Vec<String>)> {
        let replacing = self.list.iter().filter(|pack| !pack.replaces.is_empty());
        replacing.map(|pack| (pack.name.clone(), pack.replaces.clone())).collect()
    }

    /// Removes the packs that others of ours replace, if every object of them is there. Returns how many went.
    pub fn remove_replaced(&mut self, drafts: &Utf8Path) -> Result<usize> {
        let replacements = self.replacements();
        let mut removed = 0;
        if !replacements.is_empty() {
            let covered = self.covered()?;
            for (name, replaced) in replacements {
                for old in replaced.iter().filter(|old| self.contains(old)) {
                    // Looked for each time: the user's git may have replaced the new one, too.
                    let Ok(Some(new)) = self.index(&name) else { break };
                    let is_superfluous = match self.index(old) {
                        Ok(Some(old)) => is_contained(&old, &new),
                        // Its index went before the one who removed it was killed.
                        Ok(None) => true,
                        Err(_) => false,
                    };
                    if is_superfluous && !self.is_protected(old, &covered) {
                        removed += usize::from(self.remove(old)?);
                    }
                }
            }
            disk::sync_if_there(&self.folder())?;
        }
        self.tidy(drafts)?;
        Ok(removed)
    }

    /// Drops packs that are gone, as after `git gc`, and replacements that were dealt with.
    fn tidy(&mut self, drafts: &Utf8Path) -> Result<()> {
        let mut list = Vec::new();
        for pack in &self.list {
            if self.folder().join(format!("{}.idx", pack.name)).is_file() {
                list.push(OwnPack { name: pack.name.clone(), replaces: Vec::new() });
            } else {
                // Without its index it is of no use to anybody.
                self.remove(&pack.name)?;
            }
        }
        if self.list == list {
            return Ok(());
        }
        self.list = list;
        self.write(drafts)
    }

    /// Returns the packs that may be merged, with their sizes in bytes, the smallest first.
    pub fn mergeable(&self) -> Result<Vec<(u64, String)>> {
        let covered = self.covered()?;
        let mut found = Vec::new();
        for OwnPack { name, .. } in &self.list {
            let size = self.folder().join(format!("{name}.pack")).metadata().map(|file| file.len());
            if let Ok(size) = size
                && size <= MAX_MERGED_BYTES
                && self.index(name).is_ok_and(|index| index.is_some())
                && !self.is_protected(name, &covered)
            {
                found.push((size, name.clone()));
            }
        }
        found.sort();
        Ok(found)
    }

    /// Returns the packs that a multi-pack-index names: git would look for their objects without effect.
    fn covered(&self) -> Result<BTreeSet<String>> {
        let mut files = vec![self.folder().join("multi-pack-index")];
        files.extend(disk::children(&self.folder().join("multi-pack-index.d"))?);
        files.retain(|file| file.extension().is_none_or(|end| end == "midx") && file.is_file());
        let mut covered = BTreeSet::new();
        for file in files {
            let read = multi_index::File::at(&file, Some(MAX_INDEX_BYTES));
            let read = read.map_err(|error| anyhow!("read {file}: {error}"))?;
            let names = read.index_names().iter().filter_map(|name| name.file_stem()?.to_str());
            covered.extend(names.map(str::to_owned));
        }
        Ok(covered)
    }

    fn is_protected(&self, name: &str, covered: &BTreeSet<String>) -> bool {
        covered.contains(name)
            || PROTECTING.iter().any(|end| self.folder().join(format!("{name}.{end}")).exists())
    }

    /// Returns the index of a pack; `None` if the pack is not there.
    pub fn index(&self, name: &str) -> Result<Option<PackIndex>> {
        let path = self.folder().join(format!("{name}.idx"));
        if !path.with_extension("pack").is_file() || !path.is_file() {
            return Ok(None);
        }
        match PackIndex::at(&path, objects::kind(self.repository.hash)) {
            Ok(index) => Ok(Some(index)),
            Err(_) if !path.is_file() => Ok(None),
            Err(error) => Err(anyhow!("read {path}: {error}")),
        }
    }

    /// Removes the files of a pack, the index first. Returns true if there was any.
    fn remove(&self, name: &str) -> Result<bool> {
        let mut is_any = false;
        for end in FILES {
            is_any |= disk::remove_file_if_there(&self.folder().join(format!("{name}.{end}")))?;
        }
        Ok(is_any)
    }

    fn write(&self, drafts: &Utf8Path) -> Result<()> {
        let text: String = self.list.iter().map(line).collect();
        // A draft that a kill leaves goes with the other drafts.
        create_private_dir(drafts)?;
        let (draft, file) = (drafts.join("packs"), list_file(self.repository));
        fs::write(&draft, text).with_context(|| format!("write {draft}"))?;
        disk::sync_file(&draft)?;
        fs::rename(&draft, &file).with_context(|| format!("write {file}"))?;
        disk::sync_if_there(file.parent().unwrap_or(drafts))
    }
}

/// Returns true if `new` has every object of `old`.
fn is_contained(old: &PackIndex, new: &PackIndex) -> bool {
    old.iter().all(|entry| new.lookup(entry.oid).is_some())
}

fn list_file(repository: &Repository) -> Utf8PathBuf {
    repository.ralph_dir().join("packing/packs")
}

fn line(pack: &OwnPack) -> String {
    let names = std::iter::once(&pack.name).chain(&pack.replaces);
    names.map(String::as_str).collect::<Vec<_>>().join(" ") + "\n"
}

/// Returns the packs of a list. A line that is damaged is left out, and so its pack is not touched.
fn parse(text: &str, hash: HashKind) -> Vec<OwnPack> {
    let length = objects::kind(hash).len_in_hex();
    let is_name = |name: &&str| {
        name.strip_prefix("pack-").is_some_and(|sum| {
            sum.len() == length && sum.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        })
    };
    let pack = |line: &str| {
        let mut names = line.split(' ');
        let name = names.next().filter(is_name)?.to_owned();
        let replaces: Option<Vec<String>> =
            names.map(|name| Some(name).filter(is_name).map(str::to_owned)).collect();
        // No pack replaces itself, whatever the list says.
        let replaces = replaces?.into_iter().filter(|other| *other != name).collect();
        Some(OwnPack { name, replaces })
    };
    text.lines().filter_map(pack).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(digit: char) -> String {
        format!("pack-{}", digit.to_string().repeat(40))
    }

    #[track_caller]
    fn case(text: &str, expected: &[(String, Vec<String>)]) {
        let expected: Vec<OwnPack> = expected
            .iter()
            .map(|(name, replaces)| OwnPack { name: name.clone(), replaces: replaces.clone() })
            .collect();
        assert_eq!(parse(text, HashKind::Sha1), expected, "{text:?}");
    }

    #[test]
    fn only_whole_names_of_packs_are_taken_from_the_list() {
        let (a, b, c) = (name('a'), name('b'), name('0'));
        case("", &[]);
        case(&format!("{a}\n{b} {a} {c}\n"), &[(a.clone(), vec![]), (b.clone(), vec![a.clone(), c.clone()])]);
        // Written by hand, torn, or with the hash of another kind of repository.
        case(&format!("../{a}\n{b} ../../x\n{}\n{}A\n", &a[..30], &a[..44]), &[]);
        case(&format!("pack-{}\n", "a".repeat(64)), &[]);
        case(&format!("\n{c}\n\n"), &[(c.clone(), vec![])]);
        case(&format!("{a} {a} {b}\n"), &[(a.clone(), vec![b.clone()])]);
    }

    #[test]
    fn what_is_written_is_read_back() {
        let pack = OwnPack { name: name('1'), replaces: vec![name('2'), name('3')] };
        assert_eq!(parse(&line(&pack), HashKind::Sha1), [pack]);
    }
}
