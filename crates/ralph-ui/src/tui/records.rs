//! The source of the real screen: the refs, and the spool of what runs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::evidence::EvidenceWords;
use crate::row::{note_of, title_of};
use ralph_core::history::failure_key::FailureKey;
use ralph_core::history::repeats;
use ralph_core::record::{
    AgentEvent, DiffStat, Iteration, ObjectId, Outcome, RecordKind, Session, SessionId, Status, Task,
};
use ralph_store::{
    Ask, Control, ControlRequests, FilePart, Holder, LoopLock, SessionRefs, SessionRows, Spool, Store,
};

use super::source::{
    Author, DiffTarget, File, InFlight, IterationRow, Live, Overview, Patch, Place, PromptMemory, SessionRow,
    Source, Stream,
};
use super::window::PART;

/// How much of a file is read before a part of it that is redacted.
const MAX_BEFORE_BYTES: u64 = 256 << 10;

/// What other rooms than the store and the history know.
pub trait ExternalData: Send + Sync {
    /// The same without secrets: what runs is not recorded yet. A secret may begin in what is `before`.
    fn redacted(&self, before: &[u8], bytes: Vec<u8>) -> Vec<u8>;
    /// What an agent did in a session of that configuration.
    fn parse_transcript(&self, configuration: &Value, agent: &str, output: &[u8]) -> Option<Vec<AgentEvent>>;
    fn diff(&self, change: &DiffTarget) -> Result<Patch>;
    /// How much a session changed; `None` without snapshots.
    fn changes(&self, session: &SessionId) -> Result<Option<DiffStat>>;
    fn history(&self, feature: &str) -> Result<PromptMemory>;
    /// Returns true if a session of that feature shall be listed.
    fn is_wanted(&self, session: &SessionId, feature: &str) -> bool;
}

/// The records of a repository.
pub struct Records {
    store: Store,
    external: Box<dyn ExternalData>,
    seen: Mutex<Seen>,
}

/// What the last look saw.
#[derive(Default)]
struct Seen {
    tips: Option<Vec<(SessionRefs, ObjectId)>>,
    version: Option<Vec<u8>>,
    live: HashMap<SessionId, Live>,
    configurations: HashMap<SessionId, Arc<Value>>,
    /// Newest first.
    sessions: Vec<(ObjectId, Arc<SessionRow>)>,
    warnings: Vec<String>,
}

impl Records {
    pub fn new(store: Store, external: Box<dyn ExternalData>) -> Self {
        Self { store, external, seen: Mutex::default() }
    }

    fn live(&self) -> Result<HashMap<SessionId, Live>> {
        let holders = LoopLock::holders(self.store.repository())?;
        Ok(holders.into_iter().map(|holder| (holder.session.clone(), self.live_of(&holder))).collect())
    }

    fn live_of(&self, holder: &Holder) -> Live {
        let control = Control::of(self.store.repository(), &holder.session);
        let ControlRequests { stop } = control.look().unwrap_or_default();
        let spool = Spool::of(self.store.repository(), &holder.session).ok().flatten();
        let slot = spool.and_then(|spool| spool.slots().ok()?.pop());
        let begin = slot.as_ref().and_then(|slot| slot.read_begin().ok()?);
        let length = |stream: Stream| Some(slot.as_ref()?.path(stream.spool_name()).metadata().ok()?.len());
        let in_flight = begin.map(|begin| InFlight {
            number: begin.iteration,
            task: Task { text: self.redacted(begin.task.text), ..begin.task },
            attempt: begin.attempt,
            agent: begin.agent,
            started_at: begin.started_at,
            lengths: Stream::OF_A_RUN.map(length),
        });
        Live { pid: holder.pid, in_flight, waiting: control.waiting(), is_stopping: stop.is_some() }
    }

    fn redacted(&self, text: String) -> String {
        String::from_utf8_lossy(&self.external.redacted(b"", text.into_bytes())).into_owned()
    }

    /// How a session was set up; null where its records do not say it.
    fn configuration(&self, session: &SessionId) -> Arc<Value> {
        let row = {
            let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(configuration) = seen.configurations.get(session) {
                return Arc::clone(configuration);
            }
            seen.sessions.iter().find(|(_, row)| row.id == *session).map(|(_, row)| Arc::clone(row))
        };
        let Some(read) = row.and_then(|row| self.session(&row).ok()) else { return Arc::default() };
        let configuration = Arc::new(read.configuration);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.configurations.insert(session.clone(), Arc::clone(&configuration));
        configuration
    }

    /// The sessions by their refs, those that did not change as they were.
    fn list(&self, seen: &mut Seen) -> Result<()> {
        let mut unreadable = Vec::new();
        let listing = self.store.listing(|_| true, &mut unreadable)?;
        let old: HashMap<ObjectId, Arc<SessionRow>> =
            std::mem::take(&mut seen.sessions).into_iter().collect();
        for rows in listing.sessions().rev() {
            if !self.external.is_wanted(&rows.refs.session, rows.feature) {
                continue;
            }
            let Some(tip) = rows.tip().and_then(|tip| tip.commit.parse::<ObjectId>().ok()) else { continue };
            let row = match old.get(&tip) {
                Some(known) => Arc::clone(known),
                None => match session_row(&self.store, &rows) {
                    Ok(row) => Arc::new(row),
                    Err(error) => {
                        unreadable.push(error);
                        continue;
                    }
                },
            };
            seen.sessions.push((tip, row));
        }
        seen.warnings =
            unreadable.iter().map(|error| format!("{error:#}")).chain(self.store.left_out()).collect();
        Ok(())
    }
}

impl Source for Records {
    fn look(&self) -> Result<Option<Overview>> {
        // Who runs is looked at first: what ends meanwhile is then seen at the next look.
        let live = self.live()?;
        let version = self.store.refs().version();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let tips = match &seen.tips {
            Some(tips) if version.is_some() && version == seen.version => tips.clone(),
            Some(_) | None => self.store.log_tips()?,
        };
        seen.version = version;
        let is_moved = seen.tips.as_ref() != Some(&tips);
        if !is_moved && seen.live == live {
            return Ok(None);
        }
        if is_moved {
            self.list(&mut seen)?;
            seen.tips = Some(tips);
        }
        for (_, row) in &mut seen.sessions {
            let now = live.get(&row.id).filter(|_| row.stop_reason.is_none());
            let recorded = now
                .and_then(|live| live.in_flight.as_ref())
                .is_some_and(|running| row.iteration(running.number).is_some());
            // It is a commit already, and its spool is just being removed.
            let now = now.cloned().map(|live| if recorded { Live { in_flight: None, ..live } } else { live });
            let status = match (row.stop_reason, &now) {
                (Some(_), _) => row.status,
                (None, Some(_)) => Status::Running,
                (None, None) if row.elsewhere.is_some() => Status::Running,
                (None, None) => Status::Interrupted,
            };
            if row.live != now || row.status != status {
                let row = Arc::make_mut(row);
                (row.live, row.status) = (now, status);
            }
        }
        seen.live = live;
        let sessions = seen.sessions.iter().map(|(_, row)| Arc::clone(row)).collect();
        Ok(Some(Overview { sessions, warnings: seen.warnings.clone() }))
    }

    fn part(&self, file: &File, ask: Ask) -> Result<FilePart> {
        match &file.place {
            Place::Record(commit) => self.store.part(commit, file.stream.path(), ask, PART),
            Place::Spool(session, number) => {
                let Some(spool) = Spool::of(self.store.repository(), session)? else {
                    return Ok(FilePart::default());
                };
                let (slot, name) = (spool.slot(&number.to_string()), file.stream.spool_name());
                let part = slot.part(name, ask, PART)?;
                let before = slot.before(name, &part, MAX_BEFORE_BYTES)?;
                Ok(FilePart { bytes: self.external.redacted(&before, part.bytes), ..part })
            }
        }
    }

    fn parse_transcript(&self, author: &Author, output: &[u8]) -> Option<Vec<AgentEvent>> {
        let configuration = self.configuration(&author.session);
        self.external.parse_transcript(&configuration, &author.agent, output)
    }

    fn iteration(&self, commit: &ObjectId) -> Result<Iteration> {
        let bytes = self.store.file(commit, "iteration.json")?.context("find iteration.json")?;
        serde_json::from_slice(&bytes).with_context(|| format!("read iteration.json of {commit}"))
    }

    fn session(&self, session: &SessionRow) -> Result<Session> {
        let [first, tip] = &session.ends;
        // The end says it all, and before there is one, the start.
        let newest = self.store.file(tip, "session.json")?;
        let bytes = match newest {
            Some(bytes) => bytes,
            None => self.store.file(first, "session.json")?.context("find session.json")?,
        };
        serde_json::from_slice(&bytes).with_context(|| format!("read session.json of {}", session.id))
    }

    fn changes(&self, session: &SessionRow) -> Result<Option<DiffStat>> {
        self.external.changes(&session.id)
    }

    fn tasks(&self, commit: &ObjectId) -> Result<Option<Vec<u8>>> {
        self.store.file(commit, "tasks.md")
    }

    fn diff(&self, change: &DiffTarget) -> Result<Patch> {
        self.external.diff(change)
    }

    fn history(&self, feature: &str) -> Result<PromptMemory> {
        self.external.history(feature)
    }
}

/// What the rows of a session say, as if nobody ran it.
fn session_row(store: &Store, rows: &SessionRows<'_>) -> Result<SessionRow> {
    let (mut iterations, mut causes) = (Vec::new(), Vec::new());
    let (mut first, mut newest, mut with_tasks) = (None, None, None);
    let mut begin = None;
    let mut agents: Vec<Arc<str>> = Vec::new();
    for row in rows.rows() {
        let commit: ObjectId = row.commit.parse()?;
        if first.is_none() {
            first = Some((commit.clone(), row.entry().map_or(row.ended_at, |first| first.started_at)));
        }
        if row.kind != RecordKind::End {
            with_tasks = Some(commit.clone());
        }
        if row.kind.begins() {
            begin = Some(row);
        }
        if row.is_iteration() {
            let entry = row.entry()?;
            let agent = entry.agent.as_deref().map(|name| {
                let known = agents.iter().find(|known| known.as_ref() == name).cloned();
                known.unwrap_or_else(|| {
                    agents.push(name.into());
                    name.into()
                })
            });
            causes.push((row.iteration, FailureKey::of_entry(&entry)));
            iterations.push(IterationRow {
                number: row.iteration,
                commit: commit.clone(),
                task: entry.task,
                attempt: row.attempt,
                title: title_of(&row).into_owned(),
                note: note_of(&row).into_owned(),
                cost: row.cost(),
                outcome: entry.outcome.unwrap_or(Outcome::Interrupted),
                failure_class: row.failure_class,
                has_false_claim: !entry.false_claim.is_empty(),
                ended_at: entry.ended_at,
                duration_ms: entry.duration_ms.total(),
                exit: entry.exit,
                tokens: entry.tokens.total(),
                agent,
                repeats: None,
                evidence: EvidenceWords::of_row(&row),
            });
        }
        newest = Some((commit, row));
    }
    let ((first, started_at), (tip, row)) = first.zip(newest).context("read the records of a session")?;
    let repeated = repeats(causes.into_iter());
    for row in &mut iterations {
        row.repeats = repeated.get(&row.number).copied();
    }
    let tip_entry = row.entry()?;
    let begin = begin.and_then(|begin| begin.entry().ok());
    let elsewhere = begin.and_then(|begin| store.elsewhere_since(rows.refs, &begin, &tip_entry));
    Ok(SessionRow {
        id: rows.refs.session.clone(),
        feature: rows.feature.to_owned(),
        status: tip_entry.status.unwrap_or(Status::Interrupted),
        stop_reason: tip_entry.stop_reason,
        started_at,
        last_at: tip_entry.ended_at,
        tasks: rows.tasks()?,
        iterations: Arc::new(iterations),
        elsewhere,
        with_tasks: with_tasks.unwrap_or_else(|| tip.clone()),
        ends: [first, tip],
        live: None,
    })
}

#[cfg(test)]
mod tests {
    use camino::Utf8Path;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use ratatui::layout::Rect;

    use super::super::app::{App, OwnLoop};
    use super::super::draw::{Palette, draw};
    use super::super::terminal::read;
    use super::*;
    use crate::style::Paint;
    use ralph_core::record::Timestamp;
    use ralph_git::repository::{AuthorVariables, Repository};
    use ralph_os::process::Tool;

    const FEATURE: &str = "specs/001-login";

    struct Nothing;

    impl ExternalData for Nothing {
        fn redacted(&self, _: &[u8], bytes: Vec<u8>) -> Vec<u8> {
            bytes
        }

        fn parse_transcript(
            &self,
            _configuration: &Value,
            _agent: &str,
            _output: &[u8],
        ) -> Option<Vec<AgentEvent>> {
            None
        }

        fn diff(&self, _change: &DiffTarget) -> Result<Patch> {
            Ok(Patch::default())
        }

        fn changes(&self, _session: &SessionId) -> Result<Option<DiffStat>> {
            Ok(None)
        }

        fn history(&self, _feature: &str) -> Result<PromptMemory> {
            Ok(PromptMemory::default())
        }

        fn is_wanted(&self, _session: &SessionId, _feature: &str) -> bool {
            true
        }
    }

    #[test]
    fn refs_in_tables_are_read_anew_only_after_a_change() {
        let folder = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(folder.path()).unwrap();
        if Tool::git(path).args(["init", "--quiet", "--ref-format=reftable"]).line().is_err() {
            return; // Git before 2.45.
        }
        let store = Store::new(Repository::discover(path, &AuthorVariables::default()).unwrap().repository);
        let records = Records::new(store, Box::new(Nothing));
        assert!(records.look().unwrap().is_some());
        // Any git process would fail.
        std::fs::remove_file(path.join(".git/HEAD")).unwrap();
        assert!(records.look().unwrap().is_none());
        std::fs::write(path.join(".git/reftable/tables.list"), "another\n").unwrap();
        assert!(records.look().is_err());
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
        let store = Store::new(Repository::discover(path, &AuthorVariables::default()).unwrap().repository);
        let records = Records::new(store, Box::new(Nothing));

        let overview = records.look().unwrap().unwrap();
        let shown: Vec<u32> = overview.sessions[0].iterations.iter().map(|row| row.number).collect();
        assert_eq!(shown, [2, 3]);
        let gone = "only the newest 2 records are readable, what is older is gone";
        assert!(overview.warnings[0].contains(gone), "{:?}", overview.warnings);
        // It is said on the screen, and said once.
        assert!(records.look().unwrap().is_none());
        let now = Timestamp::from_seconds(1_795_294_000);
        let mut app = App::new(Rect::new(0, 0, 200, 24), now, OwnLoop::None);
        app.looked(overview);
        while let Some(request) = app.request() {
            app.answered(&request, read(&records, &request));
        }
        let mut terminal = Terminal::new(TestBackend::new(200, 24)).unwrap();
        terminal.draw(|frame| draw(frame, &app, Palette(Paint::Plain))).unwrap();
        let picture = terminal.backend().to_string();
        assert!(
            picture.contains("T003") && picture.contains("T002") && !picture.contains("T001"),
            "{picture}"
        );
        assert!(picture.contains(gone), "{picture}");
    }
}
