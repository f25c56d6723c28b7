//! Objects on their way into the repository.
//!
//! They are written into a loose store of our own, inside the spool, made durable there, and then moved. A crash
//! therefore leaves nothing behind in the object folder, and no object is ever seen there half written.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::time::SystemTime;

use anyhow::{Context, Result, anyhow, bail};
use camino::{Utf8Path, Utf8PathBuf};
use gix::objs::Write as _;
use gix::objs::bstr::BString;
use gix::objs::tree::EntryKind;

use ralph_core::record::{ObjectId, Timestamp};
use ralph_git::repository::{HashKind, Person, Sharing};
use ralph_os::process::{Tool, create_private_dir};

use super::local::disk;
use super::{Syncing, caused};

/// Who signs as committer of each of our commits.
pub const COMMITTER: &str = "specify ralph";
pub const COMMITTER_EMAIL: &str = "ralph@localhost";

/// How often a move is tried again when a `git gc` beside us removes an empty folder under our hands.
const MAX_RETRIES: usize = 5;

/// A loose object store that is not part of the repository yet.
pub struct Quarantine {
    dir: Utf8PathBuf,
    objects: gix::odb::loose::Store,
}

/// Who and when, in one of our commits.
#[derive(Debug, Clone)]
pub struct Signature {
    /// `None` if git knows no name: then the committer is the author, too.
    pub author: Option<Person>,
    pub authored_at: Timestamp,
    pub committed_at: Timestamp,
}

impl Quarantine {
    /// Opens the store at `dir`, which may hold objects of an earlier try.
    pub fn open(dir: &Utf8Path, hash: HashKind) -> Result<Self> {
        create_private_dir(dir)?;
        Ok(Self { dir: dir.to_owned(), objects: gix::odb::loose::Store::at(dir.as_std_path(), kind(hash)) })
    }

    pub fn dir(&self) -> &Utf8Path {
        &self.dir
    }

    pub fn write_blob(&self, bytes: &[u8]) -> Result<gix::ObjectId> {
        self.objects.write_buf(gix::objs::Kind::Blob, bytes).map_err(|error| caused("write a blob", &error))
    }

    /// Writes the trees for `files`: paths with `/` between their parts, and the blobs they hold.
    pub fn write_tree(&self, files: &BTreeMap<String, gix::ObjectId>) -> Result<gix::ObjectId> {
        let mut entries = Vec::new();
        let mut folders: BTreeMap<&str, BTreeMap<String, gix::ObjectId>> = BTreeMap::new();
        for (path, id) in files {
            match path.split_once('/') {
                None => entries.push(entry(EntryKind::Blob, path, *id)),
                Some((folder, rest)) => {
                    folders.entry(folder).or_default().insert(rest.to_owned(), *id);
                }
            }
        }
        for (folder, files) in &folders {
            entries.push(entry(EntryKind::Tree, folder, self.write_tree(files)?));
        }
        // The order of entries is git's own: folders sort as if their name ended in `/`.
        entries.sort();
        self.objects.write(&gix::objs::Tree { entries }).map_err(|error| caused("write a tree", &error))
    }

    /// Writes one tree of blobs (false) and trees (true).
    pub fn write_folder(&self, children: &BTreeMap<String, (gix::ObjectId, bool)>) -> Result<gix::ObjectId> {
        let mut entries: Vec<_> = children
            .iter()
            .map(|(name, (id, is_tree))| {
                entry(if *is_tree { EntryKind::Tree } else { EntryKind::Blob }, name, *id)
            })
            .collect();
        entries.sort();
        self.objects.write(&gix::objs::Tree { entries }).map_err(|error| caused("write a tree", &error))
    }

    pub fn write_commit(
        &self,
        tree: &ObjectId,
        parents: &[ObjectId],
        signature: &Signature,
        message: &str,
    ) -> Result<ObjectId> {
        let committer = person(COMMITTER, COMMITTER_EMAIL, signature.committed_at);
        let author = match &signature.author {
            Some(Person { name, email }) => person(name, email, signature.authored_at),
            None => person(COMMITTER, COMMITTER_EMAIL, signature.authored_at),
        };
        let commit = gix::objs::Commit {
            tree: to_gix(tree)?,
            parents: parents.iter().map(to_gix).collect::<Result<_>>()?,
            author,
            committer,
            encoding: None,
            message: BString::from(message),
            extra_headers: Vec::new(),
        };
        let id = self.objects.write(&commit).map_err(|error| caused("write a commit", &error))?;
        from_gix(&id)
    }

    /// Puts every object into `objects`, the object folder of the repository, durably. A copy stays here, as a second
    /// name of the same file, where the file system has such.
    ///
    /// What already exists is verified, and freshened, so that no `git prune` takes it before our ref points at it.
    /// An object that is there but broken is replaced.
    pub fn publish(&self, objects: &Utf8Path, sharing: Option<Sharing>, syncing: Syncing) -> Result<()> {
        self.publish_those(objects, sharing, syncing, |name| {
            let target = loose_path(objects, name);
            target.exists() && self.is_sound(objects, name) && freshen(&target).is_ok()
        })
        .map(drop)
    }

    /// Puts the objects that are not there by `is_there` into the repository. Returns how many these were.
    pub fn publish_those(
        &self,
        objects: &Utf8Path,
        sharing: Option<Sharing>,
        syncing: Syncing,
        is_there: impl Fn(&str) -> bool,
    ) -> Result<usize> {
        let found = self.list()?;
        let (there, absent): (Vec<_>, Vec<_>) = found.iter().partition(|(name, _)| is_there(name));
        if syncing == Syncing::Always {
            // What is there may be in the page cache alone.
            let there = there.iter().map(|(name, _)| loose_path(objects, name));
            let paths: Vec<_> = absent.iter().map(|(_, path)| path.clone()).chain(there).collect();
            disk::sync_each(&paths, &[&self.dir, objects])?;
        }
        for (name, path) in &absent {
            let folder = objects.join(&name[..2]);
            disk::share(path, sharing)?;
            link_into(path, &folder, &folder.join(&name[2..]))?;
            disk::share(&folder, sharing)?;
        }
        if syncing == Syncing::Always {
            // A gc may have packed what we put there and removed the folder: then it is git's to keep.
            let mut touched: Vec<_> = found.iter().map(|(name, _)| objects.join(&name[..2])).collect();
            touched.dedup();
            touched.push(objects.to_owned());
            disk::sync_each(&touched, &[objects])?;
        }
        Ok(absent.len())
    }

    /// Packs every object into the repository with this folder, durably.
    pub fn pack_into(&self, common_dir: &Utf8Path, syncing: Syncing) -> Result<()> {
        let names = self.names()?;
        if names.is_empty() {
            return Ok(());
        }
        let fsync = match syncing {
            Syncing::Always => "core.fsync=pack,pack-metadata",
            Syncing::Never => "core.fsync=none",
        };
        let folder = common_dir.join("objects/pack");
        Tool::git(common_dir)
            .env("GIT_DIR", common_dir.as_str())
            // It reads our copies: those in the repository may go under its hands.
            .env("GIT_OBJECT_DIRECTORY", self.dir.as_str())
            .args(["-c", fsync, "pack-objects", "--quiet", "--window=0"])
            .arg(folder.join("pack").as_str())
            .stdin(names.join("\n") + "\n")
            .read()?;
        match syncing {
            Syncing::Always => disk::sync_each(&[folder], &[common_dir]),
            Syncing::Never => Ok(()),
        }
    }

    /// Returns the ids of the objects here.
    pub fn names(&self) -> Result<Vec<String>> {
        Ok(self.list()?.into_iter().map(|(name, _)| name).collect())
    }

    /// Removes what is not what its name says.
    pub fn drop_torn(&self) -> Result<()> {
        for (name, path) in self.list()? {
            if !self.is_sound(&self.dir, &name) {
                fs::remove_file(&path).with_context(|| format!("remove {path}"))?;
            }
        }
        Ok(())
    }

    /// Returns every object here: its name in hexadecimal, and its file.
    fn list(&self) -> Result<Vec<(String, Utf8PathBuf)>> {
        let mut found = Vec::new();
        for folder in disk::children(&self.dir)? {
            let Some(first) = folder.file_name().filter(|name| name.len() == 2).map(str::to_owned) else {
                continue;
            };
            for path in disk::children(&folder)? {
                let Some(rest) = path.file_name() else { continue };
                let name = format!("{first}{rest}");
                // git's own temporary files have other names, and stay behind to be deleted with the spool.
                if name.parse::<ObjectId>().is_ok() {
                    found.push((name, path));
                }
            }
        }
        found.sort();
        Ok(found)
    }

    /// Returns true if the loose object that the repository holds under `name` is what its name says.
    fn is_sound(&self, objects: &Utf8Path, name: &str) -> bool {
        let there = gix::odb::loose::Store::at(objects.as_std_path(), self.objects.object_hash());
        let Ok(id) = gix::ObjectId::from_hex(name.as_bytes()) else { return false };
        let mut buffer = Vec::new();
        match there.try_find(&id, &mut buffer) {
            Ok(Some(data)) => {
                gix::objs::compute_hash(id.kind(), data.kind, data.data).is_ok_and(|hash| hash == id)
            }
            _ => false,
        }
    }
}

fn entry(kind: EntryKind, name: &str, oid: gix::ObjectId) -> gix::objs::tree::Entry {
    gix::objs::tree::Entry { mode: kind.into(), filename: BString::from(name), oid }
}

fn person(name: &str, email: &str, at: Timestamp) -> gix::actor::Signature {
    let time = gix::date::Time { seconds: at.seconds(), offset: 0 };
    gix::actor::Signature { name: BString::from(name), email: BString::from(email), time }
}

/// Returns where the loose object of this name is below `objects`.
pub fn loose_path(objects: &Utf8Path, name: &str) -> Utf8PathBuf {
    objects.join(&name[..2]).join(&name[2..])
}

/// Links the file at `path` to a second name, or moves it if it cannot be linked.
fn link_into(path: &Utf8Path, folder: &Utf8Path, target: &Utf8Path) -> Result<()> {
    let mut result = Ok(());
    for _ in 0..MAX_RETRIES {
        if let Err(error) = fs::create_dir(folder)
            && error.kind() != io::ErrorKind::AlreadyExists
        {
            return Err(error).with_context(|| format!("create {folder}"));
        }
        result = fs::hard_link(path, target);
        match &result {
            Ok(()) => break,
            // The folder went meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound && path.exists() => {}
            // What is there is broken, or no file can have two names here.
            Err(_) => {
                result = fs::rename(path, target);
                match &result {
                    Err(error) if error.kind() == io::ErrorKind::NotFound && path.exists() => {}
                    _ => break,
                }
            }
        }
    }
    result.with_context(|| format!("put an object at {target}"))
}

/// Freshens an object.
fn freshen(path: &Utf8Path) -> io::Result<()> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the age that git prune looks at is the file system's, not the story's"
    )]
    let now = SystemTime::now();
    // Objects are read-only; their times may be set anyway by who owns them.
    File::open(path)?.set_modified(now)
}

pub fn kind(hash: HashKind) -> gix::hash::Kind {
    match hash {
        HashKind::Sha1 => gix::hash::Kind::Sha1,
        HashKind::Sha256 => gix::hash::Kind::Sha256,
    }
}

pub fn to_gix(id: &ObjectId) -> Result<gix::ObjectId> {
    gix::ObjectId::from_hex(id.as_str().as_bytes())
        .map_err(|error| anyhow!("read the object id {id}: {error}"))
}

pub fn from_gix(id: &gix::hash::oid) -> Result<ObjectId> {
    let hex = id.to_hex().to_string();
    match hex.parse() {
        Ok(id) => Ok(id),
        Err(_) => bail!("git gave the object id {hex}"),
    }
}
