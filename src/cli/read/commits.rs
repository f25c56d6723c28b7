//! The iteration that a commit belongs to: one of a record, of a snapshot, or of the project.

use std::fmt;

use anyhow::{Result, bail};

use ralph_core::record::{ObjectId, RALPH, join_truncated};
use ralph_os::process::Tool;
use ralph_store::{Listing, SessionRefs, Store};
use ralph_ui::style::one_line;

/// Minimum length of an abbreviated id, as in git.
const MIN_ABBREVIATION: usize = 4;

/// Maximum number of candidates that an error names.
const MAX_CANDIDATES: usize = 5;

/// The commit that a name refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    name: String,
    id: ObjectId,
}

/// A moment in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moment {
    /// Before the first iteration.
    Start,
    Iteration(u32),
    /// When this record was written.
    Record(ObjectId),
}

impl Commit {
    pub fn id(&self) -> &ObjectId {
        &self.id
    }
}

impl fmt::Display for Commit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = self.id.short();
        if self.id.as_str().starts_with(&self.name) {
            write!(f, "{short}")
        } else {
            write!(f, "{short} ({})", one_line(&self.name))
        }
    }
}

/// Returns true if a name may be an id, or the beginning of one.
pub fn is_like_id(name: &str) -> bool {
    (MIN_ABBREVIATION..=64).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the commit that git resolves a name to, or `None` if there is none.
pub fn parse(store: &Store, name: &str) -> Result<Option<Commit>> {
    if name.starts_with('-') || name.contains(['\0', '\n']) {
        return Ok(None);
    }
    let directory = &store.repository().directory;
    let verify = ["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{name}^{{commit}}")];
    let found = Tool::git(directory).args(verify).run()?;
    let text = String::from_utf8_lossy(&found.stdout).trim().to_owned();
    if found.is_success() {
        return Ok(Some(Commit { name: name.to_owned(), id: text.parse()? }));
    }
    if is_like_id(name) {
        let found = Tool::git(directory).args(["rev-parse", &format!("--disambiguate={name}")]).run()?;
        let ids = String::from_utf8_lossy(&found.stdout).into_owned();
        let commits = only_commits(store, &ids)?;
        if commits.len() > 1 {
            bail!(
                "`{name}` is ambiguous, {} commits begin with it: {}\nhint: give more digits of the id",
                commits.len(),
                join_truncated(&commits, MAX_CANDIDATES)
            );
        }
    }
    Ok(None)
}

/// Returns those of `ids`, one a line, that are commits.
fn only_commits(store: &Store, ids: &str) -> Result<Vec<String>> {
    let kinds = Tool::git(&store.repository().common_dir)
        .args(["cat-file", "--batch-check=%(objecttype) %(objectname)"])
        .stdin(ids)
        .read()?;
    let kinds = String::from_utf8_lossy(&kinds).into_owned();
    Ok(kinds.lines().filter_map(|line| line.strip_prefix("commit ")).map(str::to_owned).collect())
}

/// Returns the session and the moment in it that a commit belongs to.
///
/// # Errors
///
/// Fails if it belongs to no session, or if several iterations made it.
pub fn owner(store: &Store, commit: &Commit) -> Result<(SessionRefs, Moment)> {
    let listing = store.listing(|_| true, &mut Vec::new())?;
    if let Some(owner) = by_ids(&listing, commit) {
        return Ok(owner);
    }
    if let Some(refs) = store.session_of_snapshot(&commit.id)? {
        return Ok((refs, Moment::Start));
    }
    let mut makers = by_note(store, &listing, commit)?;
    if makers.is_empty() {
        makers = by_records(store, &listing, commit)?;
    }
    match makers.as_slice() {
        [(refs, number)] => Ok((refs.clone(), Moment::Iteration(*number))),
        [] => bail!("no iteration made commit {commit}\n{}", how_it_stands(&listing, commit)),
        several => {
            let names: Vec<_> =
                several.iter().map(|(refs, number)| format!("{}:{number}", refs.session)).collect();
            bail!(
                "commit {commit} was made in {} iterations: {}\nhint: name one of these",
                names.len(),
                join_truncated(&names, MAX_CANDIDATES)
            )
        }
    }
}

/// Returns the owner of a record or snapshot with the commit's id.
fn by_ids(listing: &Listing, commit: &Commit) -> Option<(SessionRefs, Moment)> {
    for session in listing.sessions() {
        for entry in session.entries() {
            let moment = if entry.commit() == commit.id {
                Moment::Record(commit.id.clone())
            } else if entry.is_iteration() && entry.snapshot().as_ref() == Some(&commit.id) {
                Moment::Iteration(entry.number())
            } else {
                continue;
            };
            return Some((session.refs.clone(), moment));
        }
    }
    None
}

/// Returns the iterations that made a commit of the project, by its note. Sessions that are not here are left out.
fn by_note(store: &Store, listing: &Listing, commit: &Commit) -> Result<Vec<(SessionRefs, u32)>> {
    let mut makers = Vec::new();
    for (id, number) in ralph_store::notes::iterations_of(store, &commit.id)? {
        let session = listing.sessions().find(|session| session.refs.session == id);
        makers.extend(session.map(|session| (session.refs.clone(), number)));
    }
    Ok(makers)
}

/// Returns the iterations that made a commit of the project, by their records: notes may not have been fetched.
fn by_records(store: &Store, listing: &Listing, commit: &Commit) -> Result<Vec<(SessionRefs, u32)>> {
    let reader = store.reader()?;
    let mut makers = Vec::new();
    for session in listing.sessions() {
        for entry in session.view().iterations().filter(|entry| entry.head_before() != entry.head_after()) {
            if reader.iteration(entry).is_ok_and(|iteration| iteration.commits.contains(&commit.id)) {
                makers.push((session.refs.clone(), entry.number()));
            }
        }
    }
    Ok(makers)
}

/// Returns a hint for a commit that no iteration made: which iteration ran on it, if any did.
fn how_it_stands(listing: &Listing, commit: &Commit) -> String {
    for session in listing.sessions().rev() {
        if let Some(last) =
            session.view().iterations().rfind(|one| one.head_after().as_ref() == Some(&commit.id))
        {
            let name = format!("{}:{}", session.refs.session, last.number());
            return format!("hint: {name} is the last iteration that ran on it");
        }
    }
    format!("hint: `{RALPH} log` lists the iterations")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use camino::Utf8Path;

    use super::*;
    use ralph_git::repository::Repository;

    #[test]
    fn an_abbreviation_of_several_commits_is_an_error_that_lists_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(folder.path()).unwrap();
        Tool::git(path).args(["init", "--quiet"]).read().unwrap();
        let commit =
            |number: usize| format!("commit refs/heads/made\ncommitter a <a@b> {number} +0000\ndata 0\n");
        let stream: String = (1..1000).map(commit).collect();
        Tool::git(path).args(["fast-import", "--quiet"]).stdin(stream).read().unwrap();
        let ids = Tool::git(path).args(["rev-list", "made"]).read().unwrap();
        let ids = String::from_utf8(ids).unwrap();
        let mut beginnings = HashSet::new();
        let shared = ids.lines().map(|id| &id[..4]).find(|id| !beginnings.insert(*id)).unwrap();
        let store = Store::new(Repository::discover(path, &[None, None], None).unwrap().0);
        let error = parse(&store, shared).unwrap_err().to_string();
        assert!(error.contains(&format!("`{shared}` is ambiguous, 2 commits begin with it: ")), "{error}");
        let whole = ids.lines().find(|id| id.starts_with(shared)).unwrap();
        assert_eq!(parse(&store, &whole[..12]).unwrap().unwrap().to_string(), whole[..10]);
        assert_eq!(parse(&store, "made~2").unwrap().unwrap().name, "made~2");
        for name in ["nothing", "--all", "made^{tree}", "", "made\n"] {
            assert_eq!(parse(&store, name).unwrap(), None, "{name}");
        }
    }
}
