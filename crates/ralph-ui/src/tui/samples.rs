//! Made-up records for the tests of the screen.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::{Context, Result};
use failure_excerpt::Tally;
use serde_json::json;
use tasklist::TaskList;

use ralph_core::record::samples::{iteration, log_entries, session};
use ralph_core::record::{
    AgentEvent, AttemptId, Claim, DiffStat, Evidence, Facts, FailureClass, Field, FileChange, FlagCode,
    FlaggedTask, Iteration, LogEntry, ObjectId, Outcome, RecordKind, SessionId, Status, StopReason, Task,
    TestCounts, Timestamp, ToolCall, ToolKind,
};
use ralph_core::view::{FeatureView, SessionView};

use crate::review::Review;

use super::contents::rows_of_text;
use super::model::{
    Answer, Backend, FeatureOverview, File, Live, LiveIteration, Overview, Place, Request, SessionDetail,
    Stream,
};

/// 2026-11-21T22:41:00Z
pub const START: i64 = 1_795_300_860;

/// Records that stand in the backend of a test.
pub struct Sample {
    pub overview: Overview,
    /// Whole files by the path of their stream.
    pub files: HashMap<&'static str, String>,
    /// Bytes of each file before what is there of it.
    pub left_out: u64,
}

pub fn session_id(number: u32) -> SessionId {
    SessionId::new(Timestamp::from_seconds(START + i64::from(number) * 86_400), number)
}

pub fn commit(session: u32, number: u32) -> ObjectId {
    format!("{session:08x}{number:032x}").parse().unwrap()
}

/// The attempts of a session: the task, then what became of it: `+` done, `-x` failed with the fingerprint x, `?` asked,
/// `!` given up, `=` a usage limit, `/` stopped by a person; `~` alone: all was tried in a clean checkout. Behind a colon, the cost.
pub fn entries(day: u32, feature: &str, words: &str) -> Vec<LogEntry> {
    let id = session_id(day);
    let mut at = START + i64::from(day) * 86_400;
    let mut numbers: HashMap<String, u32> = HashMap::new();
    let mut entries: Vec<LogEntry> = Vec::new();
    for (place, word) in words.split_whitespace().enumerate() {
        let number = u32::try_from(place + 1).unwrap();
        let (word, usd) =
            word.split_once(':').map_or((word, 0.5), |(word, usd)| (word, usd.parse().unwrap()));
        let end = word.find(['+', '-', '?', '!', '=', '/', '~']).unwrap();
        let (task, what) = word.split_at(end);
        let kind = &what[..1];
        let mut entry =
            log_entries(&format!("T0{}", what.replace(['?', '=', '/'], "-").replace('~', "!"))).remove(0);
        let attempt = numbers.entry(task.to_owned()).or_default();
        *attempt += u32::from(!["!", "~"].contains(&kind));
        if kind != "!" {
            entry.set(Field::Attempt, *attempt);
        }
        entry.set(Field::Commit, commit(day, number));
        entry.set(Field::Session, &id);
        entry.set(Field::Feature, feature);
        entry.set(Field::Iteration, number);
        entry.set(Field::Task, task);
        entry.set(Field::Title, title(task));
        let minutes = i64::from(3 + number % 5);
        entry.set(Field::Started, at * 1000);
        at += if kind == "!" { 0 } else { minutes * 60 };
        entry.set(Field::Ended, at * 1000);
        entry.set(Field::Agent, "claude");
        let ms = minutes * 60_000 - 39_000;
        entry.set(Field::DurationMs, format!("agent={ms} validation=39000"));
        entry.set(Field::Exit, "agent=0 validation=0");
        entry.set(Field::CostUsd, usd);
        entry.set(Field::Snapshot, commit(day + 100, number));
        entry.set(Field::Tests, "passed=74 failed=0");
        let closed = if kind == "+" { task } else { "" };
        entry.set(Field::Tasks, format!("done=0 open=0 closed={closed}"));
        match kind {
            "+" => {}
            "-" => {
                entry.set(Field::Exit, "agent=0 validation=101");
                let test = if what == "-a" { "schema › migrates" } else { "merge › converges" };
                entry.set(Field::Cause, format!("{test}: expected 7, got {}", what[1..].len()));
                entry.set(Field::Tests, "passed=73 failed=1");
                if number % 3 == 0 {
                    entry.set(Field::FalseClaim, Claim::Ticked);
                }
            }
            "?" => {
                entry.set(Field::FailureClass, FailureClass::Question);
                entry.set(Field::Cause, "Semicolons or commas between the fields?");
                entry.set(Field::Fingerprint, "asks");
            }
            "=" => {
                entry.set(Field::Outcome, Outcome::Interrupted);
                entry.set(Field::FailureClass, FailureClass::Quota);
                entry.set(Field::Exit, "agent=1 validation=-");
                entry.set(Field::DurationMs, format!("agent={ms}"));
                at += 42 * 60;
            }
            "/" => {
                entry.set(Field::Outcome, Outcome::Interrupted);
                entry.set(Field::Exit, "agent=-1 validation=-");
            }
            _ => {
                entry.clear(&[Field::Exit, Field::CostUsd, Field::DurationMs]);
                if kind == "~" {
                    entry.clear(&[Field::Task]);
                    entry.set(Field::Outcome, Outcome::Checked);
                    entry.set(
                        Field::Line,
                        format!("{feature}: iteration {number}, holds in a clean checkout"),
                    );
                }
            }
        }
        entries.push(entry);
    }
    entries
}

/// The same with the record of the session's end.
pub fn ended(mut entries: Vec<LogEntry>, reason: StopReason) -> Vec<LogEntry> {
    let mut tip = entries.last().unwrap().clone();
    tip.clear(&[Field::Iteration, Field::Task, Field::Outcome]);
    tip.set(Field::Record, RecordKind::End.into_str());
    tip.set(Field::Status, reason.status());
    tip.set(Field::StopReason, reason);
    entries.push(tip);
    entries
}

fn title(task: &str) -> &'static str {
    match task {
        "T019" => "Merge concurrent moves of cards",
        "T034" => "Export boards as CSV",
        _ => "Show who looks at a board",
    }
}

pub fn feature(path: &str, sessions: &[Vec<LogEntry>], list: &str) -> Arc<FeatureOverview> {
    let list = TaskList::parse(list.as_bytes()).unwrap();
    let views = sessions.iter().map(|entries| SessionView::of(&entries[0].session(), entries.as_slice()));
    let views: Vec<SessionView> = views.collect();
    let summary = FeatureView::of(&views).summary(path, &list, &[], None, None);
    Arc::new(FeatureOverview::new(path, &views, list, summary))
}

const MORNING: &str = "T001+ T002+ T003+ T004-a T004-a T004+ T005+ T006+ T017+ T018= T018+ T019-b:3.34 T019-b:4.20 T019-b:1.25 T019! \
     T021+ T022+ T034?:1.32 T035+ T034?:2.02";

/// A session with a question and a task that was given up.
pub fn morning() -> Sample {
    let session = ended(entries(1, "specs/004-boards", MORNING), StopReason::Stuck);
    Sample::of(vec![feature("specs/004-boards", &[session], LIST)])
}

/// The same with two tasks that are done and flagged.
pub fn flagged() -> Sample {
    let mut session = ended(entries(1, "specs/004-boards", MORNING), StopReason::Stuck);
    session[6].set(Field::FirstFlag, "1 assertion fewer: tests/base.test.ts");
    let mut sample = Sample::of(vec![feature("specs/004-boards", &[session], LIST)]);
    let task = |name: &str, iteration, code, text: &str| FlaggedTask {
        task: name.to_owned(),
        session: session_id(1),
        iteration: Some(iteration),
        flags: vec![code],
        text: Some(text.to_owned()),
    };
    Arc::make_mut(&mut sample.overview.features[0]).summary.flagged = vec![
        task("T005", 7, FlagCode::Asserts, "1 assertion fewer: tests/base.test.ts"),
        task("T006", 8, FlagCode::Config, "changed jest.config.js, which decides what runs"),
    ];
    sample
}

/// The same session while T019 is tried a third time.
pub fn at_work() -> Sample {
    let words = "T001+ T002+ T003+ T004-a T004-a T004+ T005+ T006+ T017+ T018= T018+ T019-b:3.34 T019-b:4.20";
    let list =
        LIST.replace("[x] T021", "[ ] T021").replace("[x] T022", "[ ] T022").replace("[x] T035", "[ ] T035");
    let mut sample =
        Sample::of(vec![feature("specs/004-boards", &[entries(1, "specs/004-boards", words)], &list)]);
    sample.overview.live.insert(session_id(1), live(4711, Some(running(14, "T019", 3))));
    sample
}

fn running(number: u32, task: &str, attempt: u32) -> LiveIteration {
    LiveIteration {
        number,
        task: Task {
            name: task.to_owned(),
            id: Some(task.to_owned()),
            text: title(task).to_owned(),
            phase: None,
            story: None,
        },
        attempt,
        agent: "claude".to_owned(),
        started_at: Timestamp::from_seconds(START + 93_600),
        lengths: [Some(900), Some(0), None, None],
        doing: Some("Edit src/live/merge.ts".to_owned()),
    }
}

fn live(pid: u32, in_flight: Option<LiveIteration>) -> Live {
    Live { pid, parent: Some(4000), in_flight, waiting: None, is_stopping: false, is_merging: false }
}

/// The session of a lane of a group.
pub fn lane_id(lane: u32) -> SessionId {
    SessionId::new(Timestamp::from_seconds(START + 86_400), lane)
}

/// A group of four loops: one published by itself, one whose result is merged, one whose conflicts, one that merges.
fn lanes(ends: [Option<StopReason>; 4]) -> Vec<Vec<LogEntry>> {
    const WORDS: [&str; 4] = ["T001+ T004-a T004+ T034?", "T002+ T017+ T005+", "T003+ T018+", "T006+ T001+"];
    let feature = "specs/004-boards";
    let of_lane = |(lane, end): (u32, Option<StopReason>)| {
        let mut all = entries(1, feature, WORDS[lane as usize - 1]);
        let mut begin = all[0].clone();
        begin.clear(&[Field::Iteration, Field::Task, Field::Outcome]);
        begin.set(Field::Record, RecordKind::Start.into_str());
        begin.set(Field::Ended, (START + 86_400) * 1000);
        begin.set(Field::Group, format!("{}:{lane}", lane_id(1)));
        all.insert(0, begin);
        for (number, entry) in (0..).zip(&mut all) {
            entry.set(Field::Session, lane_id(lane));
            entry.set(Field::Commit, commit(10 + lane, number));
        }
        match lane {
            2 => (1..3).for_each(|place| all[place].set(Field::Queued, commit(9, 9))),
            4 => {
                let merge = &mut all[2];
                merge.clear(&[Field::Task, Field::Attempt, Field::CostUsd, Field::Title]);
                merge.set(Field::Outcome, Outcome::Integrated);
                let results = [("T002", "integrated", 1), ("T017", "conflict", 2)];
                let results = results
                    .map(|(task, verdict, number)| format!("{task}={verdict}@{}:{number}", lane_id(2)));
                merge.set(Field::Integration, results.join(","));
                let line = "iteration 2, merged T002; T017 sent back (conflict): src/live/merge.ts";
                merge.set(Field::Line, format!("{feature}: {line}"));
            }
            _ => {}
        }
        end.map_or(all.clone(), |reason| ended(all, reason))
    };
    (1..).zip(ends).map(of_lane).collect()
}

/// The morning after a start of four loops at once.
pub fn group_morning() -> Sample {
    group_that_ended([StopReason::Stuck; 4])
}

/// The same, each of them for its reason.
pub fn group_that_ended(ends: [StopReason; 4]) -> Sample {
    Sample::of(vec![feature("specs/004-boards", &lanes(ends.map(Some)), LIST)])
}

/// The same while they work: an agent, a validation, a merge, and one that has nothing to do.
pub fn group_at_work() -> Sample {
    let list = LIST.replace("[x] T02", "[ ] T02").replace("[x] T035", "[ ] T035");
    let mut sample = Sample::of(vec![feature("specs/004-boards", &lanes([None; 4]), &list)]);
    let tests = LiveIteration { lengths: [Some(900), Some(0), Some(40), Some(0)], ..running(4, "T021", 1) };
    let what = [Some(running(5, "T019", 3)), Some(tests), None, None];
    sample.overview.live =
        (1..).zip(what).map(|(lane, what)| (lane_id(lane), live(4000 + lane, what))).collect();
    sample.overview.live.get_mut(&lane_id(3)).unwrap().is_merging = true;
    sample
}

impl Sample {
    pub fn of(features: Vec<Arc<FeatureOverview>>) -> Self {
        Self { overview: Overview { features, ..Overview::default() }, files: HashMap::new(), left_out: 0 }
    }

    /// Puts a text in the place of a stream of all attempts.
    pub fn with(mut self, stream: &'static str, text: &str) -> Self {
        self.files.insert(stream, text.to_owned());
        self
    }

    fn text(&self, file: &File) -> String {
        self.files.get(file.stream.path()).cloned().unwrap_or_else(|| {
            let text = match file.stream {
                Stream::Prompt => PROMPT,
                Stream::ValidationStdout => VALIDATION,
                Stream::AgentStdout => AGENT,
                Stream::ValidationStderr | Stream::AgentStderr => "",
            };
            text.to_owned()
        })
    }

    fn record(&self, commit: &ObjectId) -> Result<Iteration> {
        let mut all = self.overview.features.iter().flat_map(|feature| feature.newest_first());
        let entry = all.find(|entry| entry.commit() == *commit).context("no such record")?;
        Ok(whole(entry))
    }
}

impl Backend for Sample {
    fn look(&self) -> Result<Option<Overview>> {
        Ok(Some(self.overview.clone()))
    }

    fn read(&self, request: &Request) -> Result<Answer> {
        Ok(match request {
            Request::Text(file) => {
                let text = self.text(file);
                let is_agent = file.stream == Stream::AgentStdout
                    && (matches!(file.place, Place::Record(_)) || !self.overview.live.is_empty());
                let events = is_agent.then(|| events(&text));
                let rows = rows_of_text(file, text.as_bytes(), events.as_deref());
                Answer::Text { rows, length: text.len() as u64, left_out: self.left_out }
            }
            Request::Iteration(commit) => Answer::Iteration(Box::new(self.record(commit)?)),
            Request::Session(id) => {
                let (done, open) = (31, 4);
                let mut session = session("failed", Some("stuck"), (done, open));
                (session.id, session.status) = (id.clone(), Status::Failed);
                session.artifact.path = "specs/004-boards/tasks.md".to_owned();
                session.configuration =
                    json!({"validation.command": "cargo test", "skip-after": 3, "max-cost": 80.0});
                let changes = Some(DiffStat { files: 53, added: 1411, removed: 0 });
                let learned_in = AttemptId { session: id.clone(), number: 11 };
                let learnings = vec![(learned_in, "the pool must be closed in `afterAll`".to_owned())];
                Answer::Session(Box::new(SessionDetail {
                    session,
                    changes,
                    review: Review {
                        tests: DiffStat { files: 12, added: 78, removed: 0 },
                        settings: vec!["jest.config.js".to_owned()],
                        ..Review::default()
                    },
                    learnings,
                    top: Some("/work".to_owned()),
                }))
            }
            Request::Diff(_) => Answer::Diff(PATCH.to_owned()),
            Request::Memory { task, .. } => {
                let task = task.as_deref().unwrap_or("T035");
                Answer::Memory(format!("{task}: 843 tokens of earlier iterations in its next prompt\n"))
            }
            Request::Unfinished(target) => Answer::Unfinished(
                target.runs[0].0.clone(),
                vec![("src/export/csv.ts".to_owned(), 81, 0), ("src/export/csv.test.ts".to_owned(), 1, 0)],
            ),
        })
    }
}

/// `text`, `tool NAME ARGUMENTS`, `ok RESULT` and `bad RESULT` of the last tool.
fn events(text: &str) -> Vec<AgentEvent> {
    let mut last = String::new();
    let mut events = Vec::new();
    for line in text.lines() {
        let ended = |last: &str, is_error, result: &str| AgentEvent::ToolEnded {
            tool_name: last.to_owned(),
            is_error,
            result: result.to_owned(),
        };
        events.push(match line.split_once(' ') {
            Some(("tool", call)) => {
                let (name, arguments) = call.split_once(' ').unwrap_or((call, ""));
                name.clone_into(&mut last);
                AgentEvent::ToolStarted {
                    tool_name: name.to_owned(),
                    arguments_summary: arguments.to_owned(),
                }
            }
            Some(("ok", result)) => ended(&last, false, result),
            Some(("bad", result)) => ended(&last, true, result),
            _ => AgentEvent::Text { text: line.to_owned() },
        });
    }
    events
}

/// All that a record says, made of its entry.
fn whole(entry: &LogEntry) -> Iteration {
    let outcome = entry.outcome().unwrap();
    let is_failed = outcome == Outcome::Failure && entry.failure_class().is_none();
    let approach = entry
        .iteration()
        .filter(|_| is_failed)
        .map(|number| ["wall clock", "Lamport clocks"][number as usize % 2]);
    let call = |tool: &str, arguments: &str, is_error: bool| ToolCall {
        tool_name: tool.to_owned(),
        kind: ToolKind::Shell,
        arguments_summary: arguments.to_owned(),
        result_summary: "84 lines".to_owned(),
        is_error,
        at_ms: None,
        end_ms: None,
        exit_code: Some(i32::from(is_error)),
        last_line: if is_error { "1 failed".to_owned() } else { String::new() },
        is_denied: false,
    };
    Iteration {
        iteration: entry.iteration().unwrap(),
        task: entry.task().map(str::to_owned),
        exit: entry.exit(),
        duration_ms: entry.duration_ms(),
        failure_class: entry.failure_class(),
        cause: entry.cause().map(str::to_owned),
        evidence: entry.tests().map(|TestCounts { passed, failed, .. }| {
            let tests = Some(Tally { passed, failed, ..Tally::default() });
            Box::new(Evidence { tests, ..Evidence::default() })
        }),
        model: Some("opus".to_owned()),
        files_changed: vec!["src/live/merge.ts".to_owned(), "src/live/merge.test.ts".to_owned()],
        tool_calls: vec![call("Read", "src/live/merge.ts", false), call("Bash", "npx jest", is_failed)],
        learnings: vec!["ranks collide".to_owned()],
        approaches: approach.map(str::to_owned).into_iter().collect(),
        restored_to: (outcome == Outcome::Skipped).then(|| commit(7, 7)),
        facts: Facts {
            excerpt: if is_failed { "expected: 7\nreceived: 8".to_owned() } else { String::new() },
            final_message: match entry.failure_class() {
                Some(FailureClass::Question) => {
                    "Question: Semicolons or commas between the fields? The spec names both.".to_owned()
                }
                _ => "Moves are merged by rank.\nAll done.".to_owned(),
            },
            changes: vec![FileChange {
                path: "src/live/merge.ts".to_owned(),
                added: Some(29),
                removed: Some(4),
                ..FileChange::default()
            }],
            ..Facts::default()
        },
        ..iteration(outcome)
    }
}

pub const VALIDATION: &str = "running 3 tests
test greets ... ok
test merge_converges ... FAILED
test logs_out ... ok

test result: FAILED. 2 passed; 1 failed; 0 ignored
";

const AGENT: &str = "I will read the merge and the failing test first.
tool Read src/live/merge.ts
ok 84 lines
Both earlier attempts ordered moves by time. Two inserts at one place still collide, so I rank by position instead.
tool Edit src/live/merge.ts
ok +29 −4
tool Bash npx jest --silent src/live
bad 1 failed
";

const PROMPT: &str = "# 004-boards: T019 Merge concurrent moves of cards

You are a coding agent that works in a loop.

## Your task

```text
T019 Merge concurrent moves of cards
```
";

const PATCH: &str = "diff --git a/src/live/merge.ts b/src/live/merge.ts
index 1111111..2222222 100644
--- a/src/live/merge.ts
+++ b/src/live/merge.ts
@@ -40,4 +40,4 @@ fn log_in() {
     let user = find(name);
-    if user.password == password {
+    if user.password == hash(password) {
         return Ok(user);
     }
diff --git a/src/live/rank.ts b/src/live/rank.ts
new file mode 100644
index 0000000..3333333
--- /dev/null
+++ b/src/live/rank.ts
@@ -0,0 +1,2 @@
+export const rank = 1;
+export const last = 2;
";

pub const LIST: &str = "# Tasks

## Phase 1: Setup

- [x] T001 Create the project
- [x] T002 Configure the linter
- [x] T003 Configure jest

## Phase 2: Foundational

- [x] T004 Set up the database schema
- [x] T005 Add the connection pool
- [x] T006 Add structured logs

## Phase 3: User Story 2 - Working together (P2)

- [x] T017 Open a channel for each board
- [x] T018 Send changes to all who look on
- [ ] T019 Merge concurrent moves of cards
- [ ] T020 Undo a merged move (depends on T019)
- [x] T021 Show who looks at a board
- [x] T022 Reconnect after a lost connection
- [ ] T023 Replay moves made offline (depends on T019)

## Phase 4: Polish

- [ ] T034 Export boards as CSV
- [x] T035 Measure the slowest requests
";
