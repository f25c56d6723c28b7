//! What the refs of a repository point at, however they are kept.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::Store;
use crate::local::disk;
use ralph_core::record::ObjectId;
use ralph_git::repository::RefFormat;
use ralph_os::process::Tool;

use super::database::{NoTip, RefUpdate};
use super::naming::NOTES;
use super::{files, tables};

/// The refs of one repository. What is symbolic, or cannot be read, is none.
pub struct Refs<'a> {
    pub(super) store: &'a Store,
}

impl Store {
    pub fn refs(&self) -> Refs<'_> {
        Refs { store: self }
    }
}

impl Refs<'_> {
    pub(super) fn format(&self) -> RefFormat {
        self.store.repository().refs
    }

    /// Returns what changes with every write of a ref, if it can be read without starting git.
    pub fn version(&self) -> Option<Vec<u8>> {
        match self.format() {
            RefFormat::Files => None,
            RefFormat::Tables => {
                disk::read_if_there(&self.store.repository().common_dir.join("reftable/tables.list")).ok()?
            }
        }
    }

    /// Returns what a ref points at, if it is there.
    pub fn tip(&self, name: &str) -> Result<Option<ObjectId>> {
        match self.format() {
            RefFormat::Files => files::tip(self.store, name),
            RefFormat::Tables => tables::tip(self.store, name),
        }
    }

    /// Returns all refs below a prefix, which ends in `/`, that point at something.
    pub(crate) fn below(&self, prefix: &str) -> Result<Vec<(String, ObjectId)>> {
        match self.format() {
            RefFormat::Files => files::below(self.store, prefix),
            RefFormat::Tables => tables::below(self.store, prefix),
        }
    }

    /// Returns the refs below a prefix, which ends in `/`, or of just this name, that point at no object themselves.
    pub(crate) fn without_tip(&self, pattern: &str) -> Result<Vec<(String, NoTip)>> {
        match self.format() {
            RefFormat::Files => files::without_tip(self.store, pattern),
            RefFormat::Tables => tables::without_tip(self.store, pattern),
        }
    }

    /// Returns the ref that a symbolic ref names; `None` if there is no ref of this name, or no symbolic one.
    pub(crate) fn symbolic_target(&self, name: &str) -> Result<Option<String>> {
        let found = self.without_tip(name)?.into_iter().find(|(found, _)| found == name);
        Ok(found.and_then(|(_, why)| match why {
            NoTip::Symbolic(target) => Some(target),
            NoTip::Broken(_) => None,
        }))
    }

    /// Deletes a symbolic ref, and not what it names.
    pub(super) fn delete_symbolic(&self, name: &str) -> Result<()> {
        self.commit(&[RefUpdate { name: name.to_owned(), old: None, new: None }])
    }

    /// Returns the commits that are checked out in the work trees of the repository.
    pub(crate) fn heads(&self) -> Result<Vec<ObjectId>> {
        let git = Tool::git(&self.store.repository().common_dir);
        let listed = git.args(["worktree", "list", "--porcelain"]).read()?;
        let text = String::from_utf8_lossy(&listed).into_owned();
        let heads = text.lines().filter_map(|line| line.strip_prefix("HEAD "));
        // An unborn branch has zeros.
        heads.filter(|id| id.bytes().any(|byte| byte != b'0')).map(str::parse).collect()
    }

    /// Returns where all refs point that are none of ours, one id a line.
    pub fn tips_of_others(&self) -> Result<Vec<u8>> {
        let others = self.below("refs/")?.into_iter();
        let others = others.filter(|(name, _)| !name.starts_with("refs/ralph") && name != NOTES);
        let tips: BTreeSet<String> = others.map(|(_, tip)| format!("{tip}\n")).collect();
        Ok(tips.into_iter().collect::<String>().into_bytes())
    }
}
