//! What the screen shows: the records, the spool of what runs, the task list, and git's answers.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use anyhow::{Context as _, Error, Result, bail};
use indexmap::IndexMap;
use redact_stream::Redactor;
use serde_json::Value;
use tasklist::TaskList;

use ralph_agent::answer::recorded_parser;
use ralph_core::record::{
    AgentEvent, Hint, Iteration, LogEntry, ObjectId, Outcome, RALPH, Session, SessionId, Summary, Task,
    TaskName,
};
use ralph_core::view::{FeatureView, SessionView};
use ralph_git::worktree::{ChangedFile, WorkTree};
use ralph_os::process::{Tool, parent_of};
use ralph_store::{
    Ask, Control, FeatureFiles, FilePart, Hints, Holder, ListedSession, Listing, LoopLock, RemoteRun,
    SessionQuery, SessionRefs, Spool, Store,
};

use super::contents::rows_of_text;
use super::model::{
    Answer, Backend, DiffTarget, FeatureOverview, File, Live, LiveIteration, Overview, Place, Request,
    SessionDetail, Stream,
};
use crate::review::Review;

/// How much of a file is shown: its end. A pager takes all.
const MAX_TEXT_BYTES: u64 = 1 << 20;

/// The same of a file that grows, which is read again and again.
const MAX_LIVE_BYTES: u64 = 256 << 10;

/// How much of a file is read before its end, so that secrets are known.
const MAX_BEFORE_BYTES: u64 = 256 << 10;

/// How much of what an agent prints is read to see what it does.
const MAX_TAIL_BYTES: u64 = 32 << 10;

/// Lines of a patch that are shown; a pager takes more.
const MAX_LINES: u64 = 20_000;

/// Most learnings, and iterations that are read for them.
const MAX_LEARNINGS: usize = 8;
const MAX_READ: usize = 20;

/// Reads the task list of a feature, by its path, and counts its sessions and hints against it.
pub type Summarize =
    dyn Fn(&Listing, &str, &FeatureView<'_>, &[Hint]) -> Result<(TaskList, Summary)> + Send + Sync;

/// Gives the text of `memory` for a task of a feature, or for the next one.
pub type ReadMemory = dyn Fn(&str, Option<&TaskName>) -> Result<String> + Send + Sync;

/// The records of a repository. What depends on settings, and on what only a loop looks at, is the program's to say.
pub struct Source {
    pub store: Store,
    work_tree: Option<WorkTree>,
    wanted: SessionQuery,
    /// `None` if the user wants to see everything.
    redactor: Option<Redactor>,
    summarize: Box<Summarize>,
    memory: Box<ReadMemory>,
    seen: Mutex<Seen>,
}

/// When a file was written, and its length.
type FileStamp = (SystemTime, u64);

/// What the last look saw.
#[derive(Default)]
struct Seen {
    tips: Option<Vec<(SessionRefs, ObjectId)>>,
    version: Option<Vec<u8>>,
    live: HashMap<SessionId, Live>,
    configurations: HashMap<SessionId, Arc<Value>>,
    /// Each by itself, with one record at least.
    sessions: HashMap<SessionId, SessionView>,
    /// Each with when its list was written, and its hints.
    features: Vec<(Arc<FeatureOverview>, Option<FileStamp>, Vec<Hint>)>,
    elsewhere: HashMap<SessionId, RemoteRun>,
    warnings: Vec<String>,
}

impl Seen {
    /// Returns the records of a session as it is shown: those of a group are one.
    fn run(&self, id: &SessionId) -> Option<&SessionView> {
        self.features.iter().flat_map(|(feature, ..)| &feature.sessions).find(|view| view.id == *id)
    }
}

impl Source {
    pub fn new(
        store: Store,
        work_tree: Option<WorkTree>,
        wanted: SessionQuery,
        redactor: Option<Redactor>,
        summarize: Box<Summarize>,
        memory: Box<ReadMemory>,
    ) -> Self {
        Self { store, work_tree, wanted, redactor, summarize, memory, seen: Mutex::default() }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn redacted(&self, before: &[u8], bytes: Vec<u8>) -> Vec<u8> {
        match &self.redactor {
            Some(redactor) => redactor.redact_bytes_after(before, &bytes),
            None => bytes,
        }
    }

    fn live(&self) -> Result<HashMap<SessionId, Live>> {
        let holders = LoopLock::holders(self.store.repository())?;
        Ok(holders.into_iter().map(|holder| (holder.session.clone(), self.live_of(&holder))).collect())
    }

    fn live_of(&self, holder: &Holder) -> Live {
        let control = Control::of(self.store.repository(), &holder.session);
        let stop = control.look().unwrap_or_default();
        let spool = Spool::of(self.store.repository(), &holder.session).ok().flatten();
        let slot = spool.and_then(|spool| spool.slots().ok()?.pop());
        // Without a prompt it is a merge.
        let begun = slot.as_ref().filter(|slot| slot.is_begun());
        let begin = begun.and_then(|slot| slot.read_begin().ok()?);
        let is_merging = slot.is_some() && begin.is_none();
        let in_flight = begin.map(|begin| {
            let text = self.redacted(b"", begin.task.text.into_bytes());
            let author = (holder.session.clone(), begin.agent.clone());
            let tail = slot
                .as_ref()
                .and_then(|slot| slot.part(Stream::AgentStdout.spool_name(), Ask::TAIL, MAX_TAIL_BYTES).ok());
            let tail = tail.map(|part| self.redacted(b"", part.bytes));
            LiveIteration {
                number: begin.iteration,
                task: Task { text: String::from_utf8_lossy(&text).into_owned(), ..begin.task },
                attempt: begin.attempt,
                agent: begin.agent,
                started_at: begin.started_at,
                lengths: Stream::OF_A_RUN
                    .map(|stream| Some(slot.as_ref()?.path(stream.spool_name()).metadata().ok()?.len())),
                doing: tail.and_then(|tail| self.doing(&author, &tail)),
            }
        });
        let parent = parent_of(holder.pid);
        let (waiting, is_stopping) = (control.waiting(), stop.is_some());
        Live { pid: holder.pid, parent, in_flight, waiting, is_stopping, is_merging }
    }

    /// Returns what an agent does, by the end of what it printed.
    fn doing(&self, author: &(SessionId, String), tail: &[u8]) -> Option<String> {
        // Before its start is listed, it is not known how to read what it prints.
        if self.configuration(&author.0).is_null() {
            return None;
        }
        match self.events(author, tail) {
            Some(events) => events.iter().rev().find_map(AgentEvent::doing),
            None => AgentEvent::Text { text: String::from_utf8_lossy(tail).into_owned() }.doing(),
        }
    }

    /// Returns what an agent did, by what it printed; `None` if its output is text for people already.
    fn events(&self, (session, agent): &(SessionId, String), output: &[u8]) -> Option<Vec<AgentEvent>> {
        let configuration = self.configuration(session);
        let mut events = ralph_agent::parse_transcript(recorded_parser(&configuration, agent), output)?;
        let root = self.work_tree.as_ref().map_or(String::new(), |here| format!("{}/", here.top()));
        for event in &mut events {
            match event {
                // What came in pieces is whole only now.
                AgentEvent::Text { text } | AgentEvent::ToolEnded { result: text, .. } => {
                    if let Some(redactor) = &self.redactor {
                        *text = redactor.redact_text(text).0;
                    }
                }
                AgentEvent::ToolStarted { arguments_summary, .. } if !root.is_empty() => {
                    *arguments_summary = arguments_summary.replace(&root, "");
                }
                _ => {}
            }
        }
        Some(events)
    }

    /// How a session was set up; null where its records do not say it.
    fn configuration(&self, session: &SessionId) -> Arc<Value> {
        if let Some(configuration) = self.seen().configurations.get(session) {
            return Arc::clone(configuration);
        }
        let Ok(read) = self.session(session) else { return Arc::default() };
        let configuration = Arc::new(read.configuration);
        self.seen().configurations.insert(session.clone(), Arc::clone(&configuration));
        configuration
    }

    /// Reads the newest `session.json` of a session: the end says it all, and before there is one, the start.
    fn session(&self, id: &SessionId) -> Result<Session> {
        let [first, tip] = self.ends(id)?;
        let has_own = self.store.file(&tip.commit(), "session.json")?.is_some();
        self.store.session_json(if has_own { &tip } else { &first })
    }

    /// Returns the first and the newest record of a session.
    fn ends(&self, id: &SessionId) -> Result<[LogEntry; 2]> {
        let seen = self.seen();
        let entries = seen.sessions.get(id).map_or(&[][..], |view| &view.entries);
        let ends = entries.first().zip(entries.last()).with_context(|| format!("find session {id}"))?;
        Ok([ends.0.clone(), ends.1.clone()])
    }

    /// The features by their refs, those that did not change as they were.
    fn list(&self, seen: &mut Seen) -> Result<()> {
        let mut unread = Vec::new();
        let listing = self.store.listing(|_| true, &mut unread)?;
        let unreadable: Vec<Error> = unread.into_iter().map(|(_, error)| error).collect();
        let mut by_feature: IndexMap<&str, Vec<&ListedSession>> = IndexMap::new();
        let group = |one: &ListedSession| one.view().group().map(|(group, _)| group);
        let is_named = |one: &&ListedSession| self.wanted.is_for(&one.refs.session, &one.feature);
        // Who names one session of a group means all.
        let groups: HashSet<SessionId> = listing.sessions().filter(is_named).filter_map(group).collect();
        let is_wanted =
            |one: &&ListedSession| is_named(one) || group(one).is_some_and(|group| groups.contains(&group));
        for session in listing.sessions().filter(is_wanted) {
            by_feature.entry(&session.feature).or_default().push(session);
        }
        seen.elsewhere.clear();
        seen.features.clear();
        seen.sessions.clear();
        for (path, sessions) in by_feature {
            // Before the list is read: what is written meanwhile is seen at the next look.
            let stamp = self.list_stamp(path);
            for session in &sessions {
                let view = session.view();
                let elsewhere = self.store.elsewhere(&session.refs, &view.entries);
                seen.elsewhere.extend(elsewhere.map(|run| (view.id.clone(), run)));
            }
            let views = sessions.into_iter().map(ListedSession::view).filter(|view| view.tip().is_some());
            let sessions: Vec<SessionView> = views.cloned().collect();
            let hints = self.hints(path);
            let (list, summary) = (self.summarize)(&listing, path, &FeatureView::of(&sessions), &hints)?;
            let feature = FeatureOverview::new(path, &sessions, list, summary);
            seen.features.push((Arc::new(feature), stamp, hints));
            seen.sessions.extend(sessions.into_iter().map(|view| (view.id.clone(), view)));
        }
        seen.warnings =
            unreadable.iter().map(|error| format!("{error:#}")).chain(self.store.left_out()).collect();
        Ok(())
    }

    fn hints(&self, feature: &str) -> Vec<Hint> {
        Hints::of(self.store.repository(), feature).readable()
    }

    /// Returns when the list in the work tree was written, and its length, by which a change is seen.
    fn list_stamp(&self, path: &str) -> Option<FileStamp> {
        let place = self.work_tree.as_ref()?.top().join(path);
        let place = if place.is_file() { place } else { place.join("tasks.md") };
        let metadata = place.metadata().ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    }

    /// Returns true if a task list or hints are others than at the last look.
    fn has_new_inputs(&self, seen: &Seen) -> bool {
        seen.features.iter().any(|(feature, stamp, hints)| {
            self.list_stamp(&feature.path) != *stamp || self.hints(&feature.path) != *hints
        })
    }

    fn end_of(&self, file: &File) -> Result<FilePart> {
        match &file.place {
            Place::Record(commit) => self.store.part(commit, file.stream.path(), Ask::TAIL, MAX_TEXT_BYTES),
            Place::Spool(session, number) => {
                let Some(spool) = Spool::of(self.store.repository(), session)? else {
                    return Ok(FilePart::default());
                };
                let (slot, name) = (spool.slot(&number.to_string()), file.stream.spool_name());
                let part = slot.part(name, Ask::TAIL, MAX_LIVE_BYTES)?;
                let before = slot.before(name, &part, MAX_BEFORE_BYTES)?;
                Ok(FilePart { bytes: self.redacted(&before, part.bytes), ..part })
            }
        }
    }

    fn iteration(&self, commit: &ObjectId) -> Result<Iteration> {
        let bytes = self.store.file(commit, "iteration.json")?.context("find iteration.json")?;
        serde_json::from_slice(&bytes).with_context(|| format!("read iteration.json of {commit}"))
    }

    fn detail(&self, id: &SessionId) -> Result<SessionDetail> {
        let view = self.seen().run(id).cloned();
        let deciding = view.as_ref().and_then(|view| view.deciding_record(|_| false)).map(LogEntry::session);
        let session = self.session(deciding.as_ref().unwrap_or(id))?;
        let mut learnings = Vec::new();
        let attempts = view.iter().flat_map(|view| view.iterations().rev());
        for one in attempts.filter(|one| one.outcome() != Some(Outcome::Skipped)).take(MAX_READ) {
            // One that cannot be read is passed over.
            let record = self.store.iteration(one).ok();
            for words in record.map(|record| record.learnings).unwrap_or_default() {
                if learnings.len() < MAX_LEARNINGS && !learnings.iter().any(|(_, known)| *known == words) {
                    learnings.push((one.id(), words));
                }
            }
        }
        let top = self.work_tree.as_ref().map(|work_tree| work_tree.top().to_string());
        let changed = view.and_then(|view| self.store.files_of_session(&view).unwrap_or_default());
        let changes = changed.as_deref().map(ChangedFile::stat);
        let files: Vec<_> = changed.iter().flatten().map(ChangedFile::to_record).collect();
        Ok(SessionDetail { changes, review: Review::of(files.iter()), session, learnings, top })
    }

    /// Returns the snapshots before and after each run of attempts, which are here.
    fn snapshots(&self, target: &DiffTarget) -> Result<Vec<[ObjectId; 2]>> {
        let runs = target.runs.iter().map(|(first, last)| {
            for snapshot in [first, last] {
                if !self.store.has(snapshot)? {
                    bail!(
                        "the snapshot {} is not here\nhint: `{RALPH} sync --snapshots` fetches it, if it was pushed with --snapshots",
                        snapshot.short(),
                    );
                }
            }
            match self.store.snapshot_before(first)? {
                Some(before) => Ok([before, last.clone()]),
                None => bail!("there is no snapshot from before {}", first.short()),
            }
        });
        runs.collect()
    }

    /// Returns the patches of the runs, one after the other; how much changed in one that has more than `most` lines.
    pub fn diff(&self, target: &DiffTarget, most: u64) -> Result<String> {
        let own = self.own_files(&target.session)?;
        let snapshots = self.snapshots(target)?;
        let patches = snapshots.iter().map(|[before, after]| self.patch(&own, before, after, most));
        patches.collect()
    }

    fn patch(&self, own: &FeatureFiles, before: &ObjectId, after: &ObjectId, most: u64) -> Result<String> {
        self.store.require_comparable(before, after)?;
        let paths = [":(top)".to_owned(), format!(":(top,exclude,literal){}", own.progress)];
        let git = |option: &str| {
            Tool::git(&self.store.repository().directory)
                .args([
                    "diff",
                    "--no-color",
                    "--no-ext-diff",
                    "--no-textconv",
                    "--src-prefix=a/",
                    "--dst-prefix=b/",
                    option,
                ])
                .args([before.as_str(), after.as_str(), "--"])
                .args(&paths)
        };
        let counts = git("--numstat").read()?;
        let counts = String::from_utf8_lossy(&counts);
        let numbers = counts.lines().flat_map(|line| line.split('\t').take(2));
        let lines: u64 = numbers.filter_map(|number| number.parse::<u64>().ok()).sum();
        if lines > most {
            let files = git("--stat=100").read()?;
            let files = String::from_utf8_lossy(&files);
            return Ok(format!(
                "{lines} lines changed: this is how much in each file, v opens all of it\n\n{files}"
            ));
        }
        Ok(String::from_utf8_lossy(&git("--patch").read()?).into_owned())
    }

    fn changed(&self, own: &FeatureFiles, before: &ObjectId, after: &ObjectId) -> Result<Vec<ChangedFile>> {
        let snapshots = (Some(before.clone()), Some(after.clone()));
        Ok(self.store.changed_files(own, snapshots)?.unwrap_or_default())
    }

    /// Returns the files that runs of attempts changed, with lines added and removed from before the first run to after the
    /// last one. A file that others changed in between is not theirs alone, and left out.
    fn files_of_runs(&self, own: &FeatureFiles, runs: &[[ObjectId; 2]]) -> Result<Vec<ChangedFile>> {
        let Some(([before, _], [_, after])) = runs.first().zip(runs.last()) else { return Ok(Vec::new()) };
        let mut files = self.changed(own, before, after)?;
        let mut theirs = HashSet::new();
        let mut of_others = HashSet::new();
        for [before, after] in runs.iter().filter(|_| runs.len() > 1) {
            theirs.extend(self.changed(own, before, after)?.into_iter().map(|file| file.path));
        }
        for pair in runs.windows(2) {
            of_others.extend(self.changed(own, &pair[0][1], &pair[1][0])?.into_iter().map(|file| file.path));
        }
        files.retain(|ChangedFile { path, .. }| {
            (runs.len() == 1 || theirs.contains(path)) && !of_others.contains(path)
        });
        Ok(files)
    }

    fn own_files(&self, session: &SessionId) -> Result<FeatureFiles> {
        let [first, _] = self.ends(session)?;
        Ok(self.store.feature_files(first.feature(), Some(&first)))
    }

    /// Returns the files of attempts that are in the work tree as these left them.
    fn unfinished(&self, target: &DiffTarget) -> Result<Answer> {
        let snapshots = self.snapshots(target)?;
        let ([before, _], _) = snapshots.first().zip(snapshots.last()).context("find the snapshots")?;
        let files = self.files_of_runs(&self.own_files(&target.session)?, &snapshots)?;
        let work_tree = self.work_tree.as_ref().context("find the work tree")?;
        let same = work_tree.unchanged_since(&files)?;
        let files = same.into_iter().map(|file| {
            let path = String::from_utf8_lossy(&file.path).into_owned();
            (path, file.added.unwrap_or_default(), file.removed.unwrap_or_default())
        });
        Ok(Answer::Unfinished(before.clone(), files.collect()))
    }
}

impl Backend for Source {
    fn look(&self) -> Result<Option<Overview>> {
        // Who runs is looked at first: what ends meanwhile is then seen at the next look.
        let live = self.live()?;
        let version = self.store.refs().version();
        let mut seen = self.seen();
        let tips = match &seen.tips {
            Some(tips) if version.is_some() && version == seen.version => tips.clone(),
            Some(_) | None => self.store.log_tips()?,
        };
        seen.version = version;
        let is_moved = seen.tips.as_ref() != Some(&tips) || self.has_new_inputs(&seen);
        if !is_moved && seen.live == live {
            return Ok(None);
        }
        if is_moved {
            self.list(&mut seen)?;
            seen.tips = Some(tips);
        }
        seen.live = live;
        let mut live = seen.live.clone();
        // One that wrote its end only lets go of its lock.
        live.retain(|id, _| {
            seen.sessions.get(id).and_then(SessionView::tip).is_some_and(|tip| tip.stop_reason().is_none())
        });
        for (id, live) in &mut live {
            let number = live.in_flight.as_ref().map(|running| running.number);
            let is_recorded = number.is_some_and(|number| {
                seen.sessions.get(id).is_some_and(|view| view.iteration(number).is_some())
            });
            // Its spool is just being removed.
            if is_recorded {
                live.in_flight = None;
            }
        }
        Ok(Some(Overview {
            features: seen.features.iter().map(|(feature, ..)| Arc::clone(feature)).collect(),
            live,
            elsewhere: seen.elsewhere.clone(),
            warnings: seen.warnings.clone(),
        }))
    }

    fn read(&self, request: &Request) -> Result<Answer> {
        Ok(match request {
            Request::Text(file) => {
                let read = self.end_of(file)?;
                let author = file.author.as_ref().filter(|_| file.stream == Stream::AgentStdout);
                let events = author.and_then(|author| self.events(author, &read.bytes));
                let rows = rows_of_text(file, &read.bytes, events.as_deref());
                Answer::Text { rows, length: read.total, left_out: read.range.start }
            }
            Request::Iteration(commit) => Answer::Iteration(Box::new(self.iteration(commit)?)),
            Request::Session(id) => Answer::Session(Box::new(self.detail(id)?)),
            Request::Diff(target) => Answer::Diff(self.diff(target, MAX_LINES)?),
            Request::Unfinished(target) => self.unfinished(target)?,
            Request::Memory { feature, task } => Answer::Memory((self.memory)(feature, task.as_ref())?),
        })
    }
}

#[cfg(test)]
mod tests {
    use camino::Utf8Path;
    use ralph_git::repository::Repository;

    use super::*;

    const FEATURE: &str = "specs/001-login";

    fn source(path: &Utf8Path) -> Source {
        let (repository, work_tree) = Repository::discover(path, &[None, None], None).unwrap();
        let store = Store::new(repository).warning_with(None);
        let summarize = |_: &Listing, path: &str, view: &FeatureView<'_>, hints: &[Hint]| {
            let list = TaskList::default();
            let summary = view.summary(path, &list, hints, None, None);
            Ok((list, summary))
        };
        let memory = |_: &str, _: Option<&TaskName>| Ok(String::new());
        let wanted = SessionQuery::default();
        Source::new(store, work_tree, wanted, None, Box::new(summarize), Box::new(memory))
    }

    #[test]
    fn refs_in_tables_are_read_anew_only_after_a_change() {
        let folder = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(folder.path()).unwrap();
        if Tool::git(path).args(["init", "--quiet", "--ref-format=reftable"]).line().is_err() {
            return; // Git before 2.45.
        }
        let source = source(path);
        assert!(source.look().unwrap().is_some());
        // Any git process would fail.
        std::fs::remove_file(path.join(".git/HEAD")).unwrap();
        assert!(source.look().unwrap().is_none());
        std::fs::write(path.join(".git/reftable/tables.list"), "another\n").unwrap();
        assert!(source.look().is_err());
    }

    #[test]
    fn of_a_broken_chain_the_readable_end_is_shown_and_the_rest_said_to_be_gone() {
        let folder = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(folder.path()).unwrap();
        let git = |words: &[&str], stdin: &str| {
            let person = ["-c", "user.name=a", "-c", "user.email=a@b"];
            Tool::git(path).args(person).args(words.iter().copied()).stdin(stdin).line().unwrap()
        };
        git(&["init", "--quiet"], "");
        let tree = git(&["mktree"], "");
        let id = "20261121-204512-3f9a0c1d";
        let record = |parent: Option<&str>, subject: &str, trailers: &str| {
            let message = format!(
                "{subject}\n\nRalph-Schema: 1\nRalph-Session: {id}\nRalph-Feature: {FEATURE}\nRalph-Agent: x\n{trailers}"
            );
            let parent = parent.map(|parent| ["-p", parent]);
            let words: Vec<&str> =
                ["commit-tree", &tree].into_iter().chain(parent.into_iter().flatten()).collect();
            git(&words, &message)
        };
        let mut commits = vec![record(None, "starts", "Ralph-Record: start\n")];
        for number in 1..=3 {
            let trailers = format!(
                "Ralph-Record: iteration\nRalph-Iteration: {number}\nRalph-Task: T00{number}\nRalph-Outcome: success\n"
            );
            commits.push(record(commits.last().map(String::as_str), &format!("T00{number} done"), &trailers));
        }
        git(&["update-ref", &format!("refs/ralph/001-login/{id}"), &commits[3]], "");
        let (first, rest) = commits[1].split_at(2);
        std::fs::remove_file(path.join(".git/objects").join(first).join(rest)).unwrap();
        let source = source(path);

        let overview = source.look().unwrap().unwrap();
        let shown: Vec<u32> = overview.features[0].sessions[0].iterations().map(LogEntry::number).collect();
        assert_eq!(shown, [2, 3]);
        let gone = "only the newest 2 records are readable, what is older is gone";
        assert!(overview.warnings[0].contains(gone), "{:?}", overview.warnings);
        // It is said on the screen, and said once.
        assert!(source.look().unwrap().is_none());
    }
}
