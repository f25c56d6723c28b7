//! What the refs of a repository point at, however they are kept.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::Store;
use crate::local::disk;
use ralph_core::record::ObjectId;
use ralph_git::repository::RefFormat;
use ralph_os::process::Tool;

use super::database::{NoTip, RefDatabase, RefUpdate};
use super::files::RefFiles;
use super::naming::NOTES;
use super::tables::RefTables;

/// The refs of one repository.
pub struct Refs<'a> {
    pub(super) store: &'a Store,
    pub(super) database: Box<dyn RefDatabase + 'a>,
}

impl Store {
    pub fn refs(&self) -> Refs<'_> {
        let database: Box<dyn RefDatabase> = match self.repository().refs {
            RefFormat::Files => Box::new(RefFiles::new(self)),
            RefFormat::Tables => Box::new(RefTables::new(self)),
        };
        Refs { store: self, database }
    }
}

impl Refs<'_> {
    /// Returns what changes with every write of a ref, if it can be read without starting git.
    pub fn version(&self) -> Option<Vec<u8>> {
        match self.store.repository().refs {
            RefFormat::Files => None,
            RefFormat::Tables => {
                disk::read_if_there(&self.store.repository().common_dir.join("reftable/tables.list")).ok()?
            }
        }
    }

    /// Returns what a ref points at, if it is there.
    pub fn tip(&self, name: &str) -> Result<Option<ObjectId>> {
        self.database.tip(name)
    }

    /// Returns all refs below a prefix that point at something.
    pub(crate) fn below(&self, prefix: &str) -> Result<Vec<(String, ObjectId)>> {
        self.database.below(prefix)
    }

    /// Returns the refs below a prefix that point at no object themselves.
    pub(crate) fn without_tip(&self, prefix: &str) -> Result<Vec<(String, NoTip)>> {
        self.database.without_tip(prefix)
    }

    /// Returns the ref that a symbolic ref names; `None` if there is no ref of this name, or no symbolic one.
    pub(crate) fn symbolic_target(&self, name: &str) -> Result<Option<String>> {
        let found = self.database.without_tip(name)?.into_iter().find(|(found, _)| found == name);
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
