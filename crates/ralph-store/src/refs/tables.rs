//! Refs in tables (reftable), which the git program alone can read. The library would take such a repository for one
//! without refs.

use anyhow::Result;

use crate::Store;
use ralph_core::record::ObjectId;
use ralph_os::process::Tool;

use super::database::NoTip;

fn git(store: &Store) -> Tool {
    let git_dir = &store.repository().common_dir;
    Tool::git(git_dir).env("GIT_DIR", git_dir.as_str())
}

/// Returns the refs of a name, or below a prefix that ends in `/`.
pub(super) fn below(store: &Store, pattern: &str) -> Result<Vec<(String, ObjectId)>> {
    let format = "--format=%(symref) %(objectname) %(refname)";
    let listed = git(store).args(["for-each-ref", format, pattern]).read()?;
    let mut refs = Vec::new();
    for line in String::from_utf8_lossy(&listed).lines() {
        if let ["", id, name] = line.splitn(3, ' ').collect::<Vec<_>>()[..] {
            refs.push((name.to_owned(), id.parse()?));
        }
    }
    Ok(refs)
}

pub(super) fn tip(store: &Store, name: &str) -> Result<Option<ObjectId>> {
    let found = below(store, name)?.into_iter().find(|(found, _)| found == name);
    Ok(found.map(|(_, tip)| tip))
}

pub(super) fn without_tip(store: &Store, pattern: &str) -> Result<Vec<(String, NoTip)>> {
    let listed = git(store).args(["for-each-ref", "--format=%(symref) %(refname)", pattern]).read()?;
    let text = String::from_utf8_lossy(&listed).into_owned();
    let pairs = text.lines().filter_map(|line| line.split_once(' '));
    let symbolic = pairs.filter(|(target, _)| !target.is_empty());
    Ok(symbolic.map(|(target, name)| (name.to_owned(), NoTip::Symbolic(target.to_owned()))).collect())
}
