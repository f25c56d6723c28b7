//! Made-up records for the tests of the screen.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Result, bail};
use serde_json::json;

use crate::evidence::EvidenceWords;
use ralph_core::history::clusters::{clusters, folded};
use ralph_core::progress::historical::{AlreadyTold, HistorySettings, Mode, context};
use ralph_core::record::{
    AgentEvent, Cost, DiffStat, Exits, Iteration, ObjectId, Outcome, Session, SessionId, Status, StopReason,
    Task, Timestamp, TrailerCounts,
};
use ralph_store::{Ask, FilePart};

use super::source::{
    Author, DiffTarget, File, InFlight, IterationRow, Live, Overview, Patch, Place, PromptMemory, SessionRow,
    Source, Stream,
};
use super::window::PART;

/// 2026-11-22T05:00:00Z
pub const START: i64 = 1_795_323_600;

/// Records that stand in the source of a test.
pub struct Sample {
    pub overview: Overview,
    /// Whole files by iteration and stream.
    pub files: HashMap<(u32, &'static str), String>,
    /// The size of the validation's stdout, where it is made up line by line.
    pub huge: Option<u64>,
    pub patch: Patch,
    pub tasks: Option<String>,
    /// Bytes that were read of files.
    pub read: AtomicU64,
    pub task: Task,
}

/// Bytes of each line of a huge file.
const LINE: u64 = 50;

pub fn commit(session: u32, number: u32) -> ObjectId {
    format!("{session:08x}{number:032x}").parse().unwrap()
}

pub fn session_id(number: u32) -> SessionId {
    SessionId::new(Timestamp::from_seconds(START + i64::from(number) * 3600), number)
}

pub fn task(name: &str, text: &str) -> Task {
    Task {
        name: name.to_owned(),
        id: Some(name.to_owned()),
        text: text.to_owned(),
        phase: Some("Phase 1: Setup".to_owned()),
        story: None,
    }
}

/// An iteration by its outcome: `+`, `-`, `!` (skipped), `?` (interrupted).
pub fn iteration(session: u32, number: u32, task: &str, end: char) -> IterationRow {
    let (outcome, note) = match end {
        '+' => (Outcome::Success, ""),
        '!' => (Outcome::Skipped, "skipped"),
        '?' => (Outcome::Interrupted, "interrupted"),
        _ => (Outcome::Failure, "logs_in: left 401, right 200"),
    };
    let title = match task {
        "T001" => "Make the page",
        "T002" => "Read the form",
        _ => "Check the password against the store",
    };
    let is_run = outcome != Outcome::Skipped;
    IterationRow {
        number,
        commit: commit(session, number),
        task: Some(task.to_owned()),
        outcome,
        failure_class: None,
        has_false_claim: outcome == Outcome::Failure,
        attempt: is_run.then_some(1),
        title: title.to_owned(),
        note: note.to_owned(),
        cost: Cost { usd: is_run.then_some(0.12), is_partial: false },
        ended_at: Timestamp::from_seconds(START + i64::from(session) * 3600 + i64::from(number) * 90),
        duration_ms: is_run.then_some(63_363),
        exit: Exits {
            agent: is_run.then_some(0),
            validation: is_run.then_some(if outcome == Outcome::Success { 0 } else { 101 }),
        },
        tokens: is_run.then_some(12_053),
        agent: Some("claude".into()),
        repeats: None,
        evidence: EvidenceWords::default(),
    }
}

/// A session of iterations such as `T001+ T002-`.
pub fn session(number: u32, feature: &str, turns: &str) -> SessionRow {
    let words = turns.split_whitespace();
    let rows: Vec<IterationRow> = (1..)
        .zip(words)
        .map(|(count, word)| {
            let end = word.chars().last().unwrap();
            iteration(number, count, word.trim_end_matches(['+', '-', '!', '?']), end)
        })
        .collect();
    let done = rows.iter().filter(|row| row.outcome == Outcome::Success).count();
    let started_at = Timestamp::from_seconds(START + i64::from(number) * 3600);
    let last_at = rows.last().map_or(started_at, |row| row.ended_at);
    let tip = rows.last().map_or_else(|| commit(number, 0), |row| row.commit.clone());
    SessionRow {
        id: session_id(number),
        feature: feature.to_owned(),
        status: Status::Failed,
        stop_reason: Some(StopReason::Stuck),
        started_at,
        last_at,
        tasks: TrailerCounts { tasks_done: done, tasks_open: 5_usize.saturating_sub(done) },
        iterations: Arc::new(rows),
        ends: [commit(number, 0), tip.clone()],
        with_tasks: tip,
        elsewhere: None,
        live: None,
    }
}

/// The same, at work on its next iteration.
pub fn running(row: SessionRow) -> SessionRow {
    let number = u32::try_from(row.iterations.len()).unwrap() + 1;
    let in_flight = InFlight {
        number,
        task: task("T003", "Check the password against the store"),
        attempt: 2,
        agent: "claude".to_owned(),
        started_at: Timestamp::from_seconds(START + 7_000),
        lengths: [Some(900), Some(0), None, None],
    };
    let live = Live { pid: 4711, in_flight: Some(in_flight), waiting: None, is_stopping: false };
    SessionRow { status: Status::Running, stop_reason: None, live: Some(live), ..row }
}

impl Sample {
    pub fn of(sessions: Vec<SessionRow>) -> Self {
        let sessions = sessions.into_iter().rev().map(Arc::new).collect();
        Self {
            overview: Overview { sessions, warnings: Vec::new() },
            files: HashMap::new(),
            huge: None,
            patch: Patch { text: PATCH.to_owned(), left_out: None },
            tasks: Some(TASKS.to_owned()),
            read: AtomicU64::new(0),
            task: task("T003", "Check the password against the store"),
        }
    }

    /// Puts a text in the place of a stream of all iterations.
    pub fn with(mut self, stream: &'static str, text: &str) -> Self {
        for number in 0..100 {
            self.files.insert((number, stream), text.to_owned());
        }
        self
    }

    fn bytes(&self, file: &File) -> Vec<u8> {
        let number = match &file.place {
            Place::Record(commit) => u32::from_str_radix(&commit.as_str()[32..], 16).unwrap(),
            Place::Spool(_, number) => *number,
        };
        let path = file.stream.path();
        let text = self.files.get(&(number, path)).cloned().unwrap_or_else(|| match file.stream {
            Stream::Prompt => PROMPT.to_owned(),
            Stream::ValidationStdout => VALIDATION.to_owned(),
            Stream::AgentStdout => AGENT.to_owned(),
            Stream::ValidationStderr | Stream::AgentStderr => String::new(),
        });
        text.into_bytes()
    }

    fn huge_part(total: u64, ask: Ask) -> FilePart {
        let lines = PART / LINE;
        let range = match ask {
            Ask::From(start) => start..(start + lines * LINE).min(total),
            Ask::Before(end) => {
                let end = end.min(total);
                end.saturating_sub(lines * LINE)..end
            }
        };
        let text: String = (range.start / LINE..range.end / LINE)
            .map(|number| format!("test case_{number:08} ... ok{}\n", " ".repeat(24)))
            .collect();
        FilePart { range, total, bytes: text.into_bytes() }
    }
}

impl Source for Sample {
    fn look(&self) -> Result<Option<Overview>> {
        Ok(Some(self.overview.clone()))
    }

    fn part(&self, file: &File, ask: Ask) -> Result<FilePart> {
        let huge = self.huge.filter(|_| file.stream == Stream::ValidationStdout);
        let part = if let Some(total) = huge {
            Self::huge_part(total, ask)
        } else {
            let bytes = self.bytes(file);
            let total = bytes.len() as u64;
            let place = |at: u64| usize::try_from(at.min(total)).unwrap();
            let range = match ask {
                Ask::From(start) => start.min(total)..total,
                Ask::Before(end) => 0..end.min(total),
            };
            FilePart { bytes: bytes[place(range.start)..place(range.end)].to_vec(), range, total }
        };
        self.read.fetch_add(part.bytes.len() as u64, Ordering::Relaxed);
        Ok(part)
    }

    fn parse_transcript(&self, _: &Author, output: &[u8]) -> Option<Vec<AgentEvent>> {
        let text = String::from_utf8_lossy(output);
        let event = |line: &str| match line.strip_prefix("tool ") {
            Some(call) => {
                let (name, arguments) = call.split_once(' ').unwrap_or((call, ""));
                AgentEvent::ToolStarted {
                    tool_name: name.to_owned(),
                    arguments_summary: arguments.to_owned(),
                }
            }
            None => AgentEvent::Text { text: line.to_owned() },
        };
        Some(text.lines().map(event).collect())
    }

    fn iteration(&self, commit: &ObjectId) -> Result<Iteration> {
        let rows = self.overview.sessions.iter().flat_map(|session| session.iterations.iter());
        let Some(row) = rows.clone().find(|row| row.commit == *commit) else { bail!("no such record") };
        Ok(whole(row))
    }

    fn session(&self, session: &SessionRow) -> Result<Session> {
        Ok(serde_json::from_value(json!({
            "schema": 1, "id": session.id, "feature": session.feature, "branch": "main",
            "loop_type": "implement", "started_at": session.started_at, "ended_at": null,
            "status": session.status, "stop_reason": session.stop_reason, "limit": null,
            "max_iterations": 20, "iterations_run": 3, "tasks_completed": 2, "tasks_done": 2,
            "tasks_remaining": 3, "duration_ms": {"agent": 1000, "validation": 100},
            "tokens": {"input": 5, "cache_read": 6, "cache_write": 0, "output": 7}, "cost_usd": 1.25,
            "artifact": {"path": "specs/001-login/tasks.md", "status": "draft"},
            "agent": "claude", "agent_version": "2.1.0",
            "configuration": {"agent": ["claude"], "max-iterations": 20, "validation": {"command": "cargo test"}},
            "host": "night", "tool_version": "0.1.0"
        }))?)
    }

    fn changes(&self, _: &SessionRow) -> Result<Option<DiffStat>> {
        Ok(Some(DiffStat { files: 2, added: 4, removed: 1 }))
    }

    fn tasks(&self, _: &ObjectId) -> Result<Option<Vec<u8>>> {
        Ok(self.tasks.clone().map(String::into_bytes))
    }

    fn diff(&self, _: &DiffTarget) -> Result<Patch> {
        Ok(self.patch.clone())
    }

    fn history(&self, _: &str) -> Result<PromptMemory> {
        let rows = self.overview.sessions.iter().rev().flat_map(|session| session.iterations.iter());
        let past: Vec<Iteration> = rows.map(whole).collect();
        let settings = HistorySettings { mode: Mode::Smart, ..HistorySettings::default() };
        Ok(PromptMemory {
            context: Some(context(&past, &self.task, None, &settings, &AlreadyTold::default())),
            task: Some(self.task.clone()),
            mode: "smart".to_owned(),
            why: "turned on by failures in a row".to_owned(),
            budget: 10_000,
            clusters: folded(&clusters(&past)),
        })
    }
}

/// All that a record says, made of its row.
fn whole(row: &IterationRow) -> Iteration {
    let is_failed = row.outcome == Outcome::Failure;
    let mut record = json!({
        "schema": 1, "id": "x", "session": session_id(1), "feature": "specs/001-login", "branch": "main",
        "iteration": row.number, "loop_type": "implement", "task": row.task,
        "task_text": "Check the password against the store", "phase": "Phase 1: Setup",
        "outcome": row.outcome, "failure_class": null, "claims": {"promise": is_failed, "ticked": []},
        "false_claim": if is_failed { vec!["promise", "ticked"] } else { Vec::new() },
        "closed": if row.outcome == Outcome::Success { vec![row.task.clone()] } else { Vec::new() },
        "started_at": row.ended_at, "ended_at": row.ended_at,
        "duration_ms": {"agent": (row.outcome != Outcome::Skipped).then_some(61_022), "validation": (row.outcome != Outcome::Skipped).then_some(2_341)},
        "exit": row.exit, "exit_reason": null,
        "validation_command": "cargo test", "files_changed": ["src/login.rs", "src/store.rs"],
        "agent": "claude", "agent_version": "2.1.0", "model": "opus",
        "tokens": {"input": 2233, "cache_read": 8000, "cache_write": 0, "output": 1820}, "cost_usd": 0.12,
        "tool_calls": [
            {"tool_name": "Read", "kind": "read", "arguments_summary": "src/login.rs", "result_summary": "84 lines", "is_error": false},
            {"tool_name": "Bash", "kind": "shell", "arguments_summary": "cargo test", "result_summary": "exit 101", "is_error": true}
        ],
        "learnings": ["the store hashes passwords itself"], "decisions": [], "approaches": ["comparing plain text"],
        "fingerprint": if is_failed { Some("5d1f0c2a") } else { None },
        "head_before": null, "head_after": null, "commits": [], "snapshot": null, "left_out": [],
        "redactions": [], "hints": [], "tasks_done": 2, "tasks_open": 3
    });
    let excerpt = "thread 'logs_in' panicked at src/login.rs:42:9:\nassertion `left == right` failed\n  left: 401\n right: 200";
    record["facts"] = json!({
        "version": 1, "excerpt": if is_failed { excerpt } else { "" },
        "final_message": "The password is compared before it is hashed.\nAll done.",
    });
    serde_json::from_value(record).unwrap()
}

pub const VALIDATION: &str = "running 3 tests
test greets ... ok
test logs_in ... FAILED
test logs_out ... ok

failures:

---- logs_in stdout ----
thread 'logs_in' panicked at src/login.rs:42:9:
assertion `left == right` failed
  left: 401
 right: 200
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace

failures:
    logs_in

test result: FAILED. 2 passed; 1 failed; 0 ignored
";

const AGENT: &str = "I look at the login first.
tool Read src/login.rs
The password is compared before it is hashed.
tool Edit src/login.rs
tool Bash cargo test
All done.
";

const PROMPT: &str = "# 001-login: T003 Check the password against the store

You are a coding agent that works in a loop. Every turn begins without a memory of the turns before it.

## Your task

Do this one task, completely, and no other:

```text
T003 Check the password against the store
```
";

const PATCH: &str = "diff --git a/src/login.rs b/src/login.rs
index 1111111..2222222 100644
--- a/src/login.rs
+++ b/src/login.rs
@@ -40,4 +40,4 @@ fn log_in() {
     let user = find(name);
-    if user.password == password {
+    if user.password == hash(password) {
         return Ok(user);
     }
diff --git a/src/hash.rs b/src/hash.rs
new file mode 100644
index 0000000..3333333
--- /dev/null
+++ b/src/hash.rs
@@ -0,0 +1,3 @@
+pub fn hash(text: &str) -> String {
+    todo(text)
+}
";

const TASKS: &str = "# Tasks

## Phase 1: Setup

- [x] T001 Make the page
- [x] T002 Read the form

## Phase 2: Logging in

- [ ] T003 Check the password against the store
- [ ] T004 Tell who is wrong
- [ ] T005 Log out
";
