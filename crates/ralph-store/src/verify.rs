//! Every record held against itself: its files against its manifest, its trailers against its JSON, its place in
//! the chain against the records before it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Error, Result, anyhow};
use gix::odb::pack::cache::lru::MemoryCappedHashmap;
use serde::Serialize;

use ralph_core::record::{
    Iteration, LogEntry, ObjectId, RALPH, RecordKind, Session, SessionId, Subject, TRAILERS, Timestamp,
};

use super::digests::{Digests, chunks};
use super::files::Manifest;
use super::message;
use super::reading::blobs::shallow_ends;
use super::reading::chain::Chain;
use super::refs::database::RefUpdate;
use super::refs::naming::{INCOMING_PREFIX, LOG_PREFIX, SNAPSHOT_PREFIX, SessionRefs};
use super::share::incoming::{self, Inspection};
use super::share::{notes, sync_state, tombstones};
use super::{RecordReader, SessionLog, SessionQuery, Store, VERIFY_PACK_CACHE, cleaned_refs, snapshots};

/// Where `git replace` keeps what it shows in place of an object.
const REPLACE_PREFIX: &str = "refs/replace/";

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    #[serde(rename = "ref")]
    pub name: Option<String>,
    pub session: Option<SessionId>,
    pub iteration: Option<u32>,
    pub commit: Option<ObjectId>,
    pub what: String,
    #[serde(rename = "mend")]
    pub repair: Repair,
}

/// What can be done about a finding, and whether it was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Repair {
    /// Nothing from here.
    None,
    /// `--repair` does it.
    Possible,
    Done,
}

/// What was looked at, and found.
#[derive(Debug, Default, Serialize)]
pub struct VerifyReport {
    pub sessions: usize,
    pub records: usize,
    pub files: usize,
    pub bytes: u64,
    pub findings: Vec<Finding>,
}

impl VerifyReport {
    fn found(&mut self, log: &SessionLog, entry: Option<&LogEntry>, what: impl Into<String>) {
        self.findings.push(Finding {
            name: Some(log.refs.log()),
            session: Some(log.id().clone()),
            iteration: entry.and_then(LogEntry::iteration),
            commit: entry.map(LogEntry::commit),
            what: what.into(),
            repair: Repair::None,
        });
    }

    /// A finding that is of no record.
    pub fn ref_problem(&mut self, name: Option<String>, what: impl Into<String>, repair: Repair) {
        let finding =
            Finding { name, session: None, iteration: None, commit: None, what: what.into(), repair };
        self.findings.push(finding);
    }
}

/// The files that the message of a record repeats, which are read as well as measured.
const REPEATED_IN_MESSAGE: [&str; 3] = ["iteration.json", "session.json", "progress.md"];

impl Store {
    /// Verifies the records of the sessions that are wanted against themselves, and returns the sessions; those that cannot be
    /// read go to `unreadable`. Each object is read once, whatever the number of records.
    pub fn verify(
        &self,
        query: &SessionQuery,
        unreadable: &mut Vec<Error>,
    ) -> Result<(VerifyReport, Vec<SessionLog>)> {
        let mut verified = VerifyReport::default();
        let mut reader = self.reader()?;
        reader.git.object_cache_size(None);
        reader.git.objects.set_pack_cache(|| Box::new(MemoryCappedHashmap::new(VERIFY_PACK_CACHE)));
        let mut digests = Digests::new(&reader.git);
        let (snapshots, replaced) = (self.refs_of_ours(SNAPSHOT_PREFIX)?, self.replaced()?);
        let (mut found, mut logs, mut failed) = (Vec::new(), Vec::new(), Vec::new());
        for (refs, tip) in self.log_tips()?.iter().rev() {
            digests.commits.borrow_mut().clear();
            let (objects, commits) = (&digests.objects, Some(&digests.commits));
            // No cache is believed.
            let chain = Chain { objects, commits, lookup: None, ..reader.chain(refs) };
            match chain.log(tip, |tip| query.takes(tip), &mut failed) {
                Ok(Some(log)) => {
                    verify_log(&log, &reader, &snapshots, &replaced, &mut digests, &mut verified)?;
                    found.push(std::mem::take(&mut verified.findings));
                    logs.push(log);
                }
                Ok(None) => {}
                Err(error) => failed.push(error),
            }
        }
        verified.findings = found.into_iter().rev().flatten().collect();
        logs.reverse();
        unreadable.extend(failed.into_iter().rev());
        unreadable.extend(self.unusable_sessions()?);
        Ok((verified, logs))
    }

    /// Objects for which git shows others, in hexadecimal.
    fn replaced(&self) -> Result<BTreeSet<String>> {
        let refs = self.refs().below(REPLACE_PREFIX)?;
        Ok(refs.iter().filter_map(|(name, _)| name.strip_prefix(REPLACE_PREFIX)).map(str::to_owned).collect())
    }

    /// Says of which records git shows others. Unlike [`Store::verify`], this reads no record if nothing is replaced.
    pub fn replaced_records(&self) -> Result<Vec<Error>> {
        let replaced = self.replaced()?;
        if replaced.is_empty() {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        for log in self.sessions(&SessionQuery::default(), &mut Vec::new())? {
            let entries = log.entries.iter().filter(|entry| replaced.contains(entry.commit().as_str()));
            found.extend(entries.map(|entry| {
                let (commit, session) = (entry.commit(), log.id());
                anyhow!("`git replace` hides record {commit} of session {session} from git\nhint: `git replace --delete {commit}` shows it again; `{RALPH}` reads it all the same")
            }));
        }
        Ok(found)
    }

    /// Verifies what belongs to the records: names left by a sync that was killed, refs that are gone but were neither
    /// cleaned nor purged, notes that lack a line. Repairs it if asked to.
    pub fn verify_other_refs(
        &self,
        logs: &[SessionLog],
        repair: Option<Timestamp>,
        verified: &mut VerifyReport,
    ) -> Result<()> {
        let status = if repair.is_some() { Repair::Done } else { Repair::Possible };
        for (name, _) in self.refs().below(INCOMING_PREFIX)? {
            verified.ref_problem(Some(name), "a sync that was cut off left it", status);
        }
        if repair.is_some() {
            self.clear_incoming()?;
        }
        for change in self.lost_here()? {
            let what = "it was deleted, and its records are still here";
            verified.ref_problem(Some(change.name.clone()), what, status);
            if repair.is_some() {
                self.refs().change(&[change])?;
            }
        }
        let wanted = notes::by_records(self, logs)?;
        let missing = notes::missing(self, &wanted)?;
        if missing > 0 {
            let what = format!("the notes of {missing} commits do not say in which iteration they were made");
            verified.ref_problem(Some(super::refs::naming::NOTES.to_owned()), what, status);
            if let Some(at) = repair {
                notes::add(self, &wanted, at)?;
            }
        }
        Ok(())
    }

    /// Logs that a remote had at the last sync, that are not here by name, and whose commits are.
    fn lost_here(&self) -> Result<Vec<RefUpdate>> {
        let (tombstones, cleaned) = (tombstones::all(self)?, cleaned_refs(self.repository())?);
        let here: BTreeSet<String> =
            self.refs().below(LOG_PREFIX)?.into_iter().map(|(name, _)| name).collect();
        let git = self.open_git()?;
        let ends = shallow_ends(&git)?;
        let mut lost = BTreeMap::new();
        for (name, tip) in sync_state::all_refs(self.repository())? {
            let is_known = here.contains(&name) || tombstones.contains_key(&name) || cleaned.contains(&name);
            if !name.starts_with(LOG_PREFIX) || is_known || !self.has(&tip)? {
                continue;
            }
            let Some(refs) = SessionRefs::from_log(&name) else { continue };
            // A remote may have had what was never good enough to get a name here.
            if matches!(incoming::look_at_log(&git, &refs, &tip, None, &ends), Ok(Inspection::Ours(_))) {
                lost.insert(name, tip);
            }
        }
        Ok(lost.into_iter().map(|(name, tip)| RefUpdate { name, old: None, new: Some(tip) }).collect())
    }
}

/// Verifies a session. In packs the older of two alike is a delta on the newer one: from the newest record to the
/// oldest, each is made from one that is known.
fn verify_log(
    log: &SessionLog,
    reader: &RecordReader<'_>,
    snapshots: &BTreeMap<String, ObjectId>,
    replaced: &BTreeSet<String>,
    digests: &mut Digests<'_>,
    verified: &mut VerifyReport,
) -> Result<()> {
    verified.sessions += 1;
    let is_deep = reader.ends.is_empty();
    let mut found = Vec::new();
    for entry in log.entries.iter().rev() {
        verified.records += 1;
        if replaced.contains(entry.commit().as_str()) {
            let commit = &entry.commit();
            let what = format!(
                "`git replace` shows another record than this one, which is read here; `git replace --delete {commit}` removes the replacement"
            );
            verified.found(log, Some(entry), what);
        }
        if let Err(error) = verify_record(log, entry, digests, verified) {
            // What to do about it is not said for each record.
            let words = format!("{error:#}");
            verified.found(log, Some(entry), words.lines().next().unwrap_or_default());
        }
        let has_snapshots = is_deep && snapshots.contains_key(&log.refs.snapshot());
        if let Some(snapshot) = entry.snapshot().as_ref().filter(|_| has_snapshots)
            && !snapshots::is_whole(&reader.git, snapshot)?
        {
            verified.found(log, Some(entry), format!("its snapshot {snapshot} is not here"));
        }
        found.push(std::mem::take(&mut verified.findings));
    }
    verify_chain(log, is_deep, verified);
    found.push(std::mem::take(&mut verified.findings));
    verified.findings = found.into_iter().rev().flatten().collect();
    Ok(())
}

/// Verifies the files of a record against its manifest, and its message against its files.
fn verify_record(
    log: &SessionLog,
    entry: &LogEntry,
    digests: &mut Digests<'_>,
    verified: &mut VerifyReport,
) -> Result<()> {
    if entry.kind() == RecordKind::Unknown {
        verified.found(log, Some(entry), "this version cannot read its trailers");
        return Ok(());
    }
    let (message, blobs) = digests.tree(&entry.commit())?;
    let manifest = chunks(&blobs, "manifest.json").context("find manifest.json")?;
    let (manifest, _) = digests.bytes(&manifest)?;
    let manifest: Manifest = serde_json::from_slice(&manifest).context("read manifest.json")?;
    let mut expected: BTreeSet<Cow<'_, str>> = ["manifest.json".into()].into();
    let mut repeated: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
    for (path, proof) in &manifest.files {
        verified.files += 1;
        match proof.chunks {
            None => drop(expected.insert(path.into())),
            Some(chunks) => {
                // The claimed number may be any: of those that are not here, the first few are enough to name.
                let names = (0..chunks).take(blobs.len() + 1);
                expected.extend(names.map(|chunk| format!("{path}/{chunk:05}").into()));
            }
        }
        let Some(chunks) = chunks(&blobs, path) else {
            verified.found(log, Some(entry), format!("{path} is missing"));
            continue;
        };
        let digest = if REPEATED_IN_MESSAGE.contains(&path.as_str()) {
            let (bytes, digest) = digests.bytes(&chunks)?;
            repeated.insert(path, bytes);
            digest
        } else {
            digests.digest(&chunks)?
        };
        verified.bytes += digest.length;
        if digest.length != proof.length || !digest.has_hash(&proof.sha256) {
            verified.found(log, Some(entry), format!("{path} does not match manifest.json"));
        }
    }
    for path in blobs.keys().filter(|path| !expected.contains(path.as_str())) {
        verified.found(log, Some(entry), format!("{path} is not in manifest.json"));
    }
    for path in expected.iter().filter(|path| !blobs.contains_key(path.as_ref())) {
        verified.found(log, Some(entry), format!("{path} is missing"));
    }
    // A file that the manifest forgot is read anyway: the message must agree with it.
    for path in REPEATED_IN_MESSAGE {
        if !repeated.contains_key(path)
            && let Some(chunks) = chunks(&blobs, path)
        {
            repeated.insert(path, digests.bytes(&chunks)?.0);
        }
    }
    verify_message(entry, &manifest, &message, &repeated, &mut |what| {
        verified.found(log, Some(entry), what);
    })
}

/// The message must say what the files say.
fn verify_message(
    entry: &LogEntry,
    manifest: &Manifest,
    message: &str,
    repeated: &BTreeMap<&str, Vec<u8>>,
    found_wrong: &mut dyn FnMut(String),
) -> Result<()> {
    let commit = &entry.commit();
    let (iteration, session): (Iteration, Session);
    let subject = if entry.kind() == RecordKind::Iteration {
        let read = serde_json::from_slice(repeated.get("iteration.json").context("find iteration.json")?);
        iteration = read.with_context(|| format!("read iteration.json of {commit}"))?;
        if iteration.redactions != manifest.redactions {
            found_wrong("iteration.json and manifest.json name different redactions".to_owned());
        }
        Subject::Iteration(&iteration)
    } else {
        let read = serde_json::from_slice(repeated.get("session.json").context("find session.json")?);
        session = read.with_context(|| format!("read session.json of {commit}"))?;
        Subject::Session(entry.kind(), &session)
    };
    let wanted = message::trailer_lines(subject);
    let found = message::trailers_in(message);
    let (wanted, found) = (values_by_key(&wanted), values_by_key(&found));
    for key in wanted.keys().chain(found.keys()).collect::<BTreeSet<_>>() {
        let is_older = !found.contains_key(key)
            && TRAILERS.iter().any(|row| row.is_added_later && key.strip_prefix("Ralph-") == Some(row.name));
        if wanted.get(key) != found.get(key) && !is_older {
            found_wrong(format!("the trailer {key} does not match the JSON"));
        }
    }
    // `log` prints it, and so does git.
    if message.lines().next() != Some(message::headline(subject).as_str()) {
        found_wrong("the subject of its message does not match the JSON".to_owned());
    }
    let text = repeated.get("progress.md").map(|text| String::from_utf8_lossy(text)).unwrap_or_default();
    if message::body_of(message) != message::readable(&text) {
        found_wrong("its message differs from progress.md".to_owned());
    }
    Ok(())
}

fn values_by_key(trailers: &[String]) -> BTreeMap<&str, &str> {
    let pairs = trailers.iter().filter_map(|line| line.split_once(": "));
    pairs.map(|(key, value)| (key, value.trim())).collect()
}

/// The records of a session must follow each other.
fn verify_chain(log: &SessionLog, is_deep: bool, verified: &mut VerifyReport) {
    if is_deep && !log.is_whole() {
        verified.found(log, None, "it does not begin with a start record");
    }
    let mut next = if log.is_whole() { Some(1) } else { None };
    let mut before: Option<&LogEntry> = None;
    for entry in log.entries.iter() {
        let refs = SessionRefs::new(entry.feature(), entry.session());
        if refs != log.refs {
            verified.found(log, Some(entry), format!("it is a record of {}", refs.log()));
        }
        let kind = entry.kind();
        let ended = before.is_some_and(|before| before.kind() == RecordKind::End);
        if before.is_some() && kind == RecordKind::Start {
            verified.found(log, Some(entry), "a session starts once");
        }
        if ended && kind != RecordKind::Resume {
            verified.found(log, Some(entry), "only a resumption can follow an end");
        }
        if before.is_some_and(|before| before.ended_at().seconds() > entry.ended_at().seconds()) {
            verified.found(log, Some(entry), "it is older than the record before it");
        }
        if kind == RecordKind::Unknown {
            next = None;
        }
        if kind == RecordKind::Iteration {
            if next.is_some_and(|next| entry.iteration() != Some(next)) {
                verified.found(log, Some(entry), "its number does not follow the one before");
            }
            next = entry.iteration().map(|number| number.saturating_add(1));
        }
        before = Some(entry);
    }
}
