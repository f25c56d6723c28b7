//! What the user is in the middle of, so that a commit or a restoration would be part of it.

use anyhow::Result;

use crate::store::Store;

/// The marks that git leaves beside HEAD, and what each means.
const MARKS: [(&str, &str); 5] = [
    ("MERGE_HEAD", "a merge"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
];

/// What is under way in the work tree.
pub fn under_way(store: &Store) -> Result<Option<&'static str>> {
    let found = store.marked_by_git(MARKS.map(|(mark, _)| mark))?;
    Ok(found.and_then(|found| MARKS.iter().find(|(mark, _)| *mark == found)).map(|(_, what)| *what))
}
