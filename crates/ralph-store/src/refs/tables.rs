//! Refs in tables (reftable), which the git program alone can read. The library would take such a repository for one
//! without refs.

use anyhow::Result;

use crate::Store;
use ralph_core::record::ObjectId;
use ralph_os::process::Tool;

use super::database::{NoTip, RefDatabase};

pub(super) struct RefTables<'a> {
    store: &'a Store,
}

impl<'a> RefTables<'a> {
    pub fn new(store: &'a Store) -> Self {
        Self { store }
    }

    fn git(&self) -> Tool {
        let git_dir = &self.store.repository().common_dir;
        Tool::git(git_dir).env("GIT_DIR", git_dir.as_str())
    }

    /// Refs by a name, or by a prefix that ends in `/`.
    fn list(&self, pattern: &str) -> Result<Vec<(String, ObjectId)>> {
        let format = "--format=%(symref) %(objectname) %(refname)";
        let listed = self.git().args(["for-each-ref", format, pattern]).read()?;
        let mut refs = Vec::new();
        for line in String::from_utf8_lossy(&listed).lines() {
            if let ["", id, name] = line.splitn(3, ' ').collect::<Vec<_>>()[..] {
                refs.push((name.to_owned(), id.parse()?));
            }
        }
        Ok(refs)
    }
}

impl RefDatabase for RefTables<'_> {
    fn tip(&self, name: &str) -> Result<Option<ObjectId>> {
        let found = self.list(name)?.into_iter().find(|(found, _)| found == name);
        Ok(found.map(|(_, tip)| tip))
    }

    fn below(&self, prefix: &str) -> Result<Vec<(String, ObjectId)>> {
        self.list(prefix)
    }

    fn without_tip(&self, pattern: &str) -> Result<Vec<(String, NoTip)>> {
        let listed = self.git().args(["for-each-ref", "--format=%(symref) %(refname)", pattern]).read()?;
        let text = String::from_utf8_lossy(&listed).into_owned();
        let pairs = text.lines().filter_map(|line| line.split_once(' '));
        let symbolic = pairs.filter(|(target, _)| !target.is_empty());
        Ok(symbolic.map(|(target, name)| (name.to_owned(), NoTip::Symbolic(target.to_owned()))).collect())
    }
}
