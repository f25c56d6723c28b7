//! A snapshot checked out into a temporary repository, where a command may do anything.
//!
//! The repository borrows the objects and the settings of the user's. A linked work tree would
//! leave traces in the user's repository, and share branches and stash with whatever runs there.

use std::fs;

use anyhow::{Context, Result};
use camino::{Utf8Path, Utf8PathBuf};

use crate::repository::{HashKind, Repository};
use ralph_core::record::ObjectId;
use ralph_os::platform::private_dirs;
use ralph_os::process::{LONG, NO_LAZY_FETCH, Tool, remove_path};

use super::lane::quoted;

/// A folder with the files of a snapshot, removed on drop.
#[derive(Debug)]
pub struct Checkout {
    dir: Utf8PathBuf,
}

impl Checkout {
    /// Makes the folder `dir`, with nothing in it yet.
    pub fn create(repository: &Repository, dir: Utf8PathBuf) -> Result<Self> {
        private_dirs().create(&dir).with_context(|| format!("create {dir}"))?;
        let checkout = Self { dir };
        checkout.borrow(repository).context("make a checkout to run the command in")?;
        Ok(checkout)
    }

    pub fn dir(&self) -> &Utf8Path {
        &self.dir
    }

    /// Checks out `commit`. Ignored files stay, so that builds are incremental.
    pub fn go_to(&self, commit: &ObjectId) -> Result<()> {
        let checkout = ["checkout", "--quiet", "--force", "--detach", commit.as_str()];
        self.git().args(checkout).limit(LONG).read().with_context(|| format!("check out {commit}"))?;
        self.git().args(["clean", "-ffdq"]).read().context("remove what an earlier run left")?;
        Ok(())
    }

    fn git(&self) -> Tool {
        // A checkout of an old snapshot may fetch files that a partial clone lacks.
        Tool::git(&self.dir).env(NO_LAZY_FETCH, "0")
    }

    fn borrow(&self, repository: &Repository) -> Result<()> {
        let format = match repository.hash {
            HashKind::Sha1 => "sha1",
            HashKind::Sha256 => "sha256",
        };
        let object_format = format!("--object-format={format}");
        self.git().args(["init", "--quiet", "--template=", &object_format]).read()?;
        let (theirs, ours) = (&repository.common_dir, self.dir.join(".git"));
        let objects = ours.join("objects/info");
        fs::create_dir_all(&objects)?;
        fs::write(objects.join("alternates"), format!("{}\n", theirs.join("objects")))?;
        fs::create_dir_all(ours.join("info"))?;
        for name in ["info/attributes", "info/exclude", "shallow"] {
            if theirs.join(name).is_file() {
                fs::copy(theirs.join(name), ours.join(name))?;
            }
        }
        // Theirs first, so that what must be ours wins. A repository format is never read from an included file.
        let own = fs::read_to_string(ours.join("config"))?;
        let include = format!("[include]\n\tpath = {}\n", quoted(theirs.join("config").as_str()));
        let mut last = format!(
            "[core]\n\tbare = false\n\tworktree = {}\n\tsparseCheckout = false\n\thooksPath = /dev/null\n[gc]\n\tauto = 0\n",
            quoted(self.dir.as_str())
        );
        if theirs.join("lfs").is_dir() {
            last.push_str(&format!("[lfs]\n\tstorage = {}\n", quoted(theirs.join("lfs").as_str())));
        }
        fs::write(ours.join("config"), format!("{include}{own}{last}"))?;
        Ok(())
    }
}

impl Drop for Checkout {
    fn drop(&mut self) {
        let _left = remove_path(&self.dir).is_err();
    }
}
