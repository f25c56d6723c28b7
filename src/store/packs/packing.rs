//! Our loose objects, put into a pack: a night of iterations leaves thousands of small files otherwise, and git
//! would collect the whole repository in the middle of a user's commit. Our small packs are merged then, and loose refs
//! packed.
//!
//! A pack is written in our own folder and moved when it is whole and on the disk; only then the loose files of
//! what is in it go. Nothing else is packed or removed. Can be killed at any moment and run beside loops and git.

use std::fs;
use std::io;

use anyhow::{Context, Result, bail};
use camino::{Utf8Path, Utf8PathBuf};

use crate::process::{LONG, Tool, create_private_dir};
use crate::record::ObjectId;
use crate::repository::{HashKind, Repository, as_alternate};

use super::own::OwnPacks;
use crate::store::local::disk;
use crate::store::local::lock::try_to_hold;
use crate::store::reading::blobs::message_of;
use crate::store::refs::naming::SessionRefs;
use crate::store::refs::packing::pack_refs;
use crate::store::{Store, message};

/// Number of loose objects from which they are packed. Git collects a repository at 6,700.
pub const MIN_LOOSE_TO_PACK: usize = 1000;

/// Only every n-th of the 256 folders is counted to estimate the number of loose objects.
const SAMPLED: usize = 16;

/// Memory that git may use to find what is alike; see git-config(1), `pack.windowMemory`.
const WINDOW: &str = "pack.windowMemory=64m";

/// Files from this size on are not held against each other, and never in memory whole.
const BIG: &str = "core.bigFileThreshold=4m";

/// What the names of merged packs begin with until they have their place.
pub(super) const MERGED: &str = "merged-";

/// What went into a pack.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Packed {
    pub objects: usize,
    /// Size of the pack with its index, in bytes.
    pub bytes: u64,
    /// Loose files that were removed, and their size in bytes.
    pub removed: usize,
    pub freed: u64,
    /// Our older packs that were merged into another, and removed.
    pub merged: usize,
    /// Loose refs of sessions that are in `packed-refs` now.
    pub refs: usize,
}

/// The files of a pack. The index makes it one, so it comes last.
const PARTS: [&str; 3] = ["pack", "rev", "idx"];

/// About how many loose objects a repository has, ours and others.
pub fn loose_objects(repository: &Repository) -> Result<usize> {
    let objects = repository.common_dir.join("objects");
    let mut found = 0;
    for folder in (0..256).step_by(SAMPLED) {
        found += disk::children(&objects.join(format!("{folder:02x}")))?.len();
    }
    Ok(found * SAMPLED)
}

/// Bytes that are free where the records go.
pub fn free_space(repository: &Repository) -> Result<u64> {
    disk::free(&repository.common_dir)
}

/// Held while packing.
pub(in crate::store) fn lock(repository: &Repository) -> Utf8PathBuf {
    // No `.lock` at the end, for git must not take it for one of its own.
    repository.ralph_dir().join("packing/held")
}

/// Returns where packs are written before they are moved.
pub(in crate::store) fn drafts(repository: &Repository) -> Utf8PathBuf {
    repository.ralph_dir().join("packing/objects")
}

impl Store {
    /// Packs what is loose of our records and their refs, and merges our small packs. `None` if another process does
    /// that now.
    pub fn pack(&self) -> Result<Option<Packed>> {
        let repository = self.repository();
        let folder = repository.ralph_dir().join("packing");
        create_private_dir(&folder)?;
        let Some(_held) = try_to_hold(&lock(repository))? else { return Ok(None) };
        let mut packs = OwnPacks::read(repository)?;
        let packing = Packing { store: self, drafts: drafts(repository) };
        // What another left that was killed: whole packs are of use, the rest is not.
        packing.take_in(&mut packs)?;
        let mut merged = packs.remove_replaced(&packing.drafts)?;
        packing.write()?;
        let packed = packing.take_in(&mut packs)?;
        if packing.merge(&mut packs)? {
            packing.take_in(&mut packs)?;
            merged += packs.remove_replaced(&packing.drafts)?;
        }
        disk::remove_dir_if_there(&packing.drafts)?;
        let refs = pack_refs(repository)?;
        Ok(Some(Packed { merged, refs, ..packed }))
    }
}

/// Packing, by the process that has the lock.
pub(super) struct Packing<'a> {
    pub store: &'a Store,
    pub drafts: Utf8PathBuf,
}

impl Packing<'_> {
    /// Returns the name of the pack whose loose files may still be there, in a file.
    fn unfinished(&self) -> Utf8PathBuf {
        self.store.repository().ralph_dir().join("packing").join("unfinished")
    }

    /// Lets git write a pack of what is reachable from our refs alone and in no pack yet.
    fn write(&self) -> Result<()> {
        let repository = self.store.repository();
        let mut wanted = String::new();
        for (id, is_ours) in self.tips()? {
            wanted.push_str(if is_ours { "" } else { "^" });
            wanted.push_str(id.as_str());
            wanted.push('\n');
        }
        let packs = self.drafts.join("pack");
        create_private_dir(&packs)?;
        disk::share(&packs, repository.sharing)?;
        let git = self.git().args([
            "pack-objects",
            "--revs",
            "--unpacked",
            "--incremental",
            "--delta-base-offset",
            "--non-empty",
            "--quiet",
        ]);
        // What a partial clone lacks was committed by others: it is in none of our packs anyway.
        let options: &[&str] = if repository.is_partial() { &["--missing=allow-promisor"] } else { &[] };
        git.args(options.iter().copied())
            .arg(packs.join("pack").as_str())
            .stdin(wanted)
            .limit(LONG)
            .read()
            .context("pack our records")?;
        Ok(())
    }

    /// git with the drafts of packs in our own folder: they would lie among the user's packs otherwise, and stay
    /// there when it is killed.
    pub fn git(&self) -> Tool {
        let repository = self.store.repository();
        Tool::git(&repository.git_dir)
            .env("GIT_DIR", repository.git_dir.as_str())
            .env("GIT_OBJECT_DIRECTORY", self.drafts.as_str())
            .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", as_alternate(&repository.common_dir.join("objects")))
            .args(["-c", "core.fsync=all", "-c", WINDOW, "-c", BIG, "-c", "pack.threads=1"])
            .args(["-c", "pack.writeReverseIndex=true"])
    }

    /// Returns where all refs point, and whether they are ours.
    fn tips(&self) -> Result<Vec<(ObjectId, bool)>> {
        let git = self.store.open_git()?;
        let is_signed =
            |tip: &ObjectId| message_of(&git, tip).is_ok_and(|message| message::is_signed(&message));
        let mut tips = Vec::new();
        for (name, tip) in self.store.refs().below("refs/")? {
            let is_ours = SessionRefs::is_name_of_ours(&name) && is_signed(&tip);
            tips.push((tip, is_ours));
        }
        if let Some(head) = self.store.refs().head()? {
            tips.push((head, false));
        }
        Ok(tips)
    }

    /// Moves the whole packs in `drafts` to the others, and removes what they make superfluous. A merged pack that is not
    /// listed is thrown away: its parts are still there.
    fn take_in(&self, packs: &mut OwnPacks<'_>) -> Result<Packed> {
        let mut packed = Packed::default();
        if let Some(name) = disk::read_if_there(&self.unfinished())? {
            let index = packs.folder().join(String::from_utf8_lossy(&name).as_ref());
            // An empty or torn name is none.
            if index.is_file() {
                self.remove_loose(&index, &mut packed)?;
            }
        }
        for index in disk::children(&self.drafts.join("pack"))? {
            let Some(name) = index.file_stem().filter(|_| index.extension() == Some("idx")) else { continue };
            let name = match name.strip_prefix(MERGED).map(|sum| format!("pack-{sum}")) {
                Some(merged) if packs.contains(&merged) => merged,
                Some(_) => continue,
                None => {
                    packs.add(name, &[], &self.drafts)?;
                    name.to_owned()
                }
            };
            let to = packs.folder().join(format!("{name}.idx"));
            fs::write(self.unfinished(), to.file_name().unwrap_or_default())
                .context("note what is being packed")?;
            packed.bytes += move_pack(&index, &to)?;
            self.remove_loose(&to, &mut packed)?;
        }
        disk::remove_dir_if_there(&self.drafts)?;
        disk::remove_file_if_there(&self.unfinished())?;
        Ok(packed)
    }

    /// Removes the loose files of what the pack of `index` holds.
    fn remove_loose(&self, index: &Utf8Path, packed: &mut Packed) -> Result<()> {
        let repository = self.store.repository();
        let objects = repository.common_dir.join("objects");
        let hash = match repository.hash {
            HashKind::Sha1 => "--object-format=sha1",
            HashKind::Sha256 => "--object-format=sha256",
        };
        let bytes = fs::read(index).with_context(|| format!("read {index}"))?;
        let listed = Tool::git(&repository.git_dir).args(["show-index", hash]).stdin(bytes).read()?;
        for line in String::from_utf8_lossy(&listed).lines() {
            let Some(id) = line.split(' ').nth(1).filter(|id| id.len() > 2) else {
                bail!("`git show-index` says `{line}`");
            };
            packed.objects += 1;
            let path = objects.join(&id[..2]).join(&id[2..]);
            let size = path.symlink_metadata().map_or(0, |metadata| metadata.len());
            if disk::remove_file_if_there(&path)? {
                packed.removed += 1;
                packed.freed += size;
            }
        }
        Ok(())
    }
}

/// Moves a pack, which the path of its index stands for, once all of it is on the disk. Returns its size in bytes.
fn move_pack(from: &Utf8Path, to: &Utf8Path) -> Result<u64> {
    for part in PARTS {
        disk::sync_if_there(&from.with_extension(part))?;
    }
    let mut bytes = 0;
    for part in PARTS {
        let (from, to) = (from.with_extension(part), to.with_extension(part));
        match fs::rename(&from, &to) {
            Ok(()) => bytes += to.metadata().map_or(0, |metadata| metadata.len()),
            // It went before the one who moved it was killed.
            Err(error) if error.kind() == io::ErrorKind::NotFound && (part == "rev" || to.exists()) => {}
            Err(error) => return Err(error).with_context(|| format!("move {from} to {to}")),
        }
    }
    disk::sync_if_there(to.parent().unwrap_or(to))?;
    Ok(bytes)
}
