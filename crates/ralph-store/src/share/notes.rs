//! Notes on the commits that were made during iterations, on `refs/notes/ralph`: one line for each iteration.
//!
//! They say nothing that the records do not say, so they can be made again at any time, and two versions are merged
//! by taking the lines of both.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, anyhow, bail};
use gix::objs::FindExt;

use crate::objects::{self, Quarantine};
use crate::reading::blobs::{bounded, read_commit};
use crate::reading::session_log::SessionLog;
use crate::refs::naming::{NOTES, SessionRefs};
use crate::{SessionQuery, Store, message};
use ralph_core::record::{Iteration, ObjectId, SessionId, Timestamp};

use super::sync_state::cleaned_refs;
use super::tombstones;

/// Bytes of a note, and of a line in it. What is longer was not written by us.
const NOTE_LIMIT: u64 = 1024 * 1024;
const LINE_LIMIT: usize = 1024;

/// Notes, and bytes of a tree of them, at most.
const MAX_NOTES: usize = 2_000_000;
const TREE_LIMIT: u64 = 128 * 1024 * 1024;

/// The commits that have a note, in hexadecimal, and the blobs of the notes.
type Blobs = BTreeMap<String, gix::ObjectId>;

/// Lines to be in the notes of commits.
pub type Lines = BTreeMap<ObjectId, BTreeSet<String>>;

/// Returns the line for the commits of an iteration: as it is named on the command line, its task, its outcome.
fn line(iteration: &Iteration) -> String {
    let task: String = iteration.task.as_deref().unwrap_or("-").chars().filter(|c| !c.is_control()).collect();
    format!("{}:{} {task} {}", iteration.session, iteration.iteration, iteration.outcome)
}

/// How a line ended, in notes of earlier versions, while its iteration ran; a line with its outcome takes its place.
const RUNNING: &str = " running";

fn session_ids(log_names: impl Iterator<Item = String>) -> BTreeSet<String> {
    let refs = log_names.filter_map(|name| SessionRefs::from_log(&name));
    refs.map(|refs| refs.session.to_string()).collect()
}

/// Lines without those that say less than another.
fn settled(lines: BTreeSet<String>) -> BTreeSet<String> {
    let (mut kept, ended): (BTreeSet<_>, BTreeSet<_>) =
        lines.into_iter().partition(|line| line.ends_with(RUNNING));
    let first_words: BTreeSet<_> = ended.iter().map(|line| line.split(' ').next()).collect();
    kept.retain(|line| !first_words.contains(&line.split(' ').next()));
    kept.extend(ended);
    kept
}

/// Returns the lines that an iteration leaves.
fn lines_of(iteration: &Iteration) -> Lines {
    let line = line(iteration);
    iteration.commits.iter().map(|commit| (commit.clone(), [line.clone()].into())).collect()
}

/// Returns true if a line is of that session.
fn is_of(line: &str, session: &SessionId) -> bool {
    line.strip_prefix(session.as_str()).is_some_and(|rest| rest.starts_with(':'))
}

fn is_of_any(line: &str, sessions: &BTreeSet<String>) -> bool {
    line.split_once(':').is_some_and(|(session, _)| sessions.contains(session))
}

/// Adds lines to notes; those that are there stay. Returns how many notes were changed.
pub fn add(store: &Store, lines: &Lines, at: Timestamp) -> Result<usize> {
    change(
        store,
        at,
        |commit, found| match lines.get(commit) {
            None => found,
            Some(more) => settled(found.into_iter().chain(more.iter().cloned()).collect()),
        },
        &lines.keys(),
    )
}

/// Notes which iteration made its commits.
pub fn add_commits_of(store: &Store, iteration: &Iteration) -> Result<()> {
    if iteration.commits.is_empty() {
        return Ok(());
    }
    add(store, &lines_of(iteration), iteration.ended_at).map(drop)
}

/// Takes the lines of a session out of all notes.
pub(crate) fn forget(store: &Store, session: &SessionId, at: Timestamp) -> Result<usize> {
    let all = noted_commits(store)?;
    change(
        store,
        at,
        |_, found| found.into_iter().filter(|line| !is_of(line, session)).collect(),
        &all.iter(),
    )
}

/// Returns the commits that have a note.
fn noted_commits(store: &Store) -> Result<Vec<ObjectId>> {
    let Some(tip) = store.refs().tip(NOTES)? else { return Ok(Vec::new()) };
    let git = store.open_git()?;
    Ok(blobs(&git, &tip)?.keys().filter_map(|id| id.parse().ok()).collect())
}

/// Returns the lines that commits have in their notes.
pub(crate) fn of_commits<'a>(store: &Store, commits: impl Iterator<Item = &'a ObjectId>) -> Result<Lines> {
    let Some(tip) = store.refs().tip(NOTES)? else { return Ok(Lines::new()) };
    let git = store.open_git()?;
    let all = blobs(&git, &tip)?;
    let mut found = Lines::new();
    for commit in commits {
        if let Some(blob) = all.get(commit.as_str()) {
            found.insert(commit.clone(), lines(&git, *blob)?);
        }
    }
    Ok(found)
}

/// Returns what the notes of ours should say by the records that are here.
pub fn by_the_record(store: &Store) -> Result<Lines> {
    by_records(store, &store.sessions(&SessionQuery::default(), &mut Vec::new())?)
}

/// Returns what the notes should say by the records of `logs`.
pub(crate) fn by_records(store: &Store, logs: &[SessionLog]) -> Result<Lines> {
    let mut lines = Lines::new();
    let reader = store.reader()?;
    // Where HEAD did not move, no commit was made.
    for entry in
        logs.iter().flat_map(SessionLog::iterations).filter(|entry| entry.head_before() != entry.head_after())
    {
        let Some(iteration) = store.or_leave_out(entry, reader.iteration(entry)) else { continue };
        for (commit, more) in lines_of(&iteration) {
            lines.entry(commit).or_default().extend(more);
        }
    }
    Ok(lines)
}

/// Makes the lines of ours anew from the records; lines of people stay. Returns how many notes were changed.
pub fn rebuild(store: &Store, at: Timestamp) -> Result<usize> {
    let wanted = by_the_record(store)?;
    // A session that is not here may be noted anyway: its notes came by a sync.
    let here: BTreeSet<SessionId> = store.session_names()?.into_iter().map(|refs| refs.session).collect();
    let mut commits: BTreeSet<ObjectId> = wanted.keys().cloned().collect();
    commits.extend(noted_commits(store)?);
    change(
        store,
        at,
        |commit, found: BTreeSet<String>| {
            let kept = found.into_iter().filter(|line| {
                let session = line.split_once(':').and_then(|(id, _)| id.parse().ok());
                session.is_none_or(|session| !here.contains(&session))
            });
            kept.chain(wanted.get(commit).into_iter().flatten().cloned()).collect()
        },
        &commits.iter(),
    )
}

/// Changes the notes of `commits` and moves the ref from what it was; retries if another process was faster.
fn change<'a>(
    store: &Store,
    at: Timestamp,
    change: impl Fn(&ObjectId, BTreeSet<String>) -> BTreeSet<String>,
    commits: &(impl Iterator<Item = &'a ObjectId> + Clone),
) -> Result<usize> {
    let changed = store.change_shared(NOTES, |here, quarantine| {
        let git = store.open_git()?;
        let mut all = here.map(|tip| blobs(&git, tip)).transpose()?.unwrap_or_default();
        let mut changed = BTreeSet::new();
        for commit in commits.clone() {
            let found = all.get(commit.as_str()).map(|blob| lines(&git, *blob)).transpose()?;
            let found = found.unwrap_or_default();
            let wanted = change(commit, found.clone());
            if wanted == found {
                continue;
            }
            changed.insert(commit.to_string());
            if wanted.is_empty() {
                all.remove(commit.as_str());
            } else {
                all.insert(commit.to_string(), quarantine.write_blob(text(&wanted).as_bytes())?);
            }
        }
        if changed.is_empty() {
            return Ok(None);
        }
        let parents: Vec<ObjectId> = here.into_iter().cloned().collect();
        let new = write(store, quarantine, &all, &changed, here, &parents, at)?;
        Ok(Some((new, changed.len())))
    })?;
    Ok(changed.unwrap_or_default())
}

/// Brings the notes of another repository together with ours: a union of lines. Those of sessions that were
/// cleaned away here are there alone, those of purged ones nowhere but where the session still is. Returns the commits for
/// here and for there.
pub(super) fn merge(
    store: &Store,
    here: Option<&ObjectId>,
    theirs: &ObjectId,
    at: Timestamp,
) -> Result<(ObjectId, ObjectId)> {
    let git = store.open_git()?;
    let their_notes = blobs(&git, theirs)?;
    // Where ours cannot be read, the records say what they were.
    let ours = here.map(|here| blobs(&git, here)).transpose().unwrap_or_default().unwrap_or_default();
    let (_scratch, quarantine) = store.new_objects()?;
    let (unwanted_here, unwanted_there) = unwanted(store)?;
    let is_all_wanted = unwanted_here.is_empty() && unwanted_there.is_empty();
    let commits: BTreeSet<&String> = ours.keys().chain(their_notes.keys()).collect();
    let (mut all, mut wanted) = (ours.clone(), ours.clone());
    let mut changed = BTreeSet::new();
    for commit in commits {
        let (our_blob, their_blob) = (ours.get(commit), their_notes.get(commit));
        if our_blob == their_blob && is_all_wanted {
            continue;
        }
        let versions: Vec<_> = our_blob.into_iter().chain(their_blob).collect();
        let versions: Vec<_> =
            versions.into_iter().map(|blob| Ok((*blob, lines(&git, *blob)?))).collect::<Result<_>>()?;
        let union: BTreeSet<String> = versions.iter().flat_map(|(_, lines)| lines).cloned().collect();
        if union.is_empty() {
            continue;
        }
        let union = settled(union);
        for (notes, sessions) in [(&mut all, &unwanted_there), (&mut wanted, &unwanted_here)] {
            let lines: BTreeSet<String> =
                union.iter().filter(|line| !is_of_any(line, sessions)).cloned().collect();
            let known = versions.iter().find(|(_, known)| *known == lines).map(|(blob, _)| *blob);
            let before = match known {
                _ if lines.is_empty() => notes.remove(commit),
                Some(blob) => notes.insert(commit.clone(), blob),
                None => notes.insert(commit.clone(), quarantine.write_blob(text(&lines).as_bytes())?),
            };
            if before != notes.get(commit).copied() {
                changed.insert(commit.clone());
            }
        }
    }
    let base = here.filter(|_| !ours.is_empty());
    let parents: Vec<ObjectId> = here.into_iter().chain([theirs]).cloned().collect();
    if wanted == all {
        let both = match store.fast_forward(here, theirs, all == ours, all == their_notes)? {
            Some(kept) => kept,
            None => write(store, &quarantine, &all, &changed, base, &parents, at)?,
        };
        return Ok((both.clone(), both));
    }
    let there = if all == their_notes {
        theirs.clone()
    } else {
        write(store, &quarantine, &all, &changed, base, &parents, at)?
    };
    if let Some(here) = here.filter(|here| wanted == ours && store.is_ancestor(&there, here).unwrap_or(false))
    {
        return Ok((here.clone(), there));
    }
    // It has theirs in its history, so that they need not be fetched again.
    let parents: Vec<ObjectId> = here.into_iter().chain([&there]).cloned().collect();
    let here = write(store, &quarantine, &wanted, &changed, base, &parents, at)?;
    Ok((here, there))
}

/// Returns the ids of the sessions whose lines are not wanted here, what was purged or cleaned away and is not here, and of
/// those that are wanted nowhere, what was purged.
fn unwanted(store: &Store) -> Result<(BTreeSet<String>, BTreeSet<String>)> {
    let there = session_ids(tombstones::all(store)?.into_keys());
    let mut here = session_ids(cleaned_refs(store.repository())?.into_iter());
    here.extend(there.iter().cloned());
    for refs in store.session_names()? {
        here.remove(refs.session.as_str());
    }
    Ok((here, there))
}

/// Writes notes: a folder for the first two digits, as git does with many. Folders without any of the `changed` commits
/// stay as they are in `base`.
fn write(
    store: &Store,
    quarantine: &Quarantine,
    all: &Blobs,
    changed: &BTreeSet<String>,
    base: Option<&ObjectId>,
    parents: &[ObjectId],
    at: Timestamp,
) -> Result<ObjectId> {
    let git = store.open_git()?;
    let before = base.map(|base| folders(&git, base)).transpose()?.unwrap_or_default();
    let mut groups: BTreeMap<&str, BTreeMap<String, gix::ObjectId>> = BTreeMap::new();
    for (id, blob) in all {
        groups.entry(&id[..2]).or_default().insert(id[2..].to_owned(), *blob);
    }
    let touched: BTreeSet<&str> = changed.iter().map(|id| &id[..2]).collect();
    let mut root = BTreeMap::new();
    for (name, files) in groups {
        let tree = match before.get(name) {
            Some(tree) if !touched.contains(name) => *tree,
            _ => quarantine.write_tree(&files)?,
        };
        root.insert(name.to_owned(), (tree, true));
    }
    let tree = quarantine.write_folder(&root)?;
    let message = message::signed("Notes of iterations", "notes");
    store.commit_version(quarantine, &tree, parents, &message, at)
}

/// Returns the iterations that the note on a commit of the project names.
pub fn iterations_of(store: &Store, commit: &ObjectId) -> Result<Vec<(SessionId, u32)>> {
    let lines = of_commits(store, std::iter::once(commit))?.into_values().flatten();
    Ok(lines
        .filter_map(|line| {
            let (session, number) = line.split(' ').next()?.split_once(':')?;
            Some((session.parse().ok()?, number.parse().ok()?))
        })
        .collect())
}

pub(crate) fn missing(store: &Store, wanted: &Lines) -> Result<usize> {
    let found = of_commits(store, wanted.keys())?;
    let lacking = wanted
        .iter()
        .filter(|(commit, lines)| found.get(*commit).is_none_or(|found| !found.is_superset(lines)));
    Ok(lacking.count())
}

/// Returns the notes of a commit of notes, however deep its folders are.
fn blobs(git: &gix::Repository, commit: &ObjectId) -> Result<Blobs> {
    let mut all = Blobs::new();
    collect(git, read_commit(git, &objects::to_gix(commit)?)?.tree, "", &mut all)?;
    Ok(all)
}

/// Returns the fan-out folders of a notes commit by name, or `None` if it has another layout.
fn folders(git: &gix::Repository, commit: &ObjectId) -> Result<BTreeMap<String, gix::ObjectId>> {
    let mut buffer = Vec::new();
    let tree = read_commit(git, &objects::to_gix(commit)?)?.tree;
    let found = git.objects.find_tree(&tree, &mut buffer);
    let found = found.map_err(|error| anyhow!("read the notes {}: {error}", tree.to_hex()))?;
    let entries = found.entries.iter();
    if !entries.clone().all(|entry| entry.mode.is_tree() && entry.filename.len() == 2) {
        return Ok(BTreeMap::new());
    }
    Ok(entries.map(|entry| (entry.filename.to_string(), entry.oid.to_owned())).collect())
}

fn collect(git: &gix::Repository, tree: gix::ObjectId, prefix: &str, all: &mut Blobs) -> Result<()> {
    bounded(git, tree, TREE_LIMIT)?;
    let mut buffer = Vec::new();
    let found = git.objects.find_tree(&tree, &mut buffer);
    let found = found.map_err(|error| anyhow!("read the notes {}: {error}", tree.to_hex()))?;
    for entry in &found.entries {
        let name = format!("{prefix}{}", entry.filename);
        let is_hex = name.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        if !is_hex {
            // git keeps what is no note where it is; we leave it behind.
            continue;
        }
        if entry.mode.is_tree() && entry.filename.len() == 2 && name.len() < 64 {
            collect(git, entry.oid.to_owned(), &name, all)?;
        } else if entry.mode.is_blob() && name.parse::<ObjectId>().is_ok() {
            all.insert(name, entry.oid.to_owned());
        }
        if all.len() > MAX_NOTES {
            bail!("there are more than {MAX_NOTES} notes");
        }
    }
    Ok(())
}

/// Returns the lines of a note that are fit to be shown.
fn lines(git: &gix::Repository, blob: gix::ObjectId) -> Result<BTreeSet<String>> {
    bounded(git, blob, NOTE_LIMIT)?;
    let mut buffer = Vec::new();
    let found = git.objects.find_blob(&blob, &mut buffer);
    let found = found.map_err(|error| anyhow!("read the note {}: {error}", blob.to_hex()))?;
    let text = String::from_utf8_lossy(found.data);
    Ok(text
        .lines()
        .map(str::trim_end)
        .filter(|line| {
            !line.is_empty() && line.len() <= LINE_LIMIT && !line.chars().any(|c| c.is_control() && c != '\t')
        })
        .map(str::to_owned)
        .collect())
}

fn text(lines: &BTreeSet<String>) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}
