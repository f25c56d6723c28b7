//! Synthetic projects and records, written with the real store.

use std::fs;

use anyhow::{Context, Result, ensure};
use camino::{Utf8Path, Utf8PathBuf};
use ralph_core::progress::progress_txt;
use ralph_core::record::{
    Artifact, ArtifactStatus, Claims, Durations, Exits, Facts, Iteration, ObjectId, Outcome, RecordKind,
    SCHEMA, Session, SessionId, SessionTotals, Status, StopReason, Timestamp, Tokens, ToolCall, ToolKind,
};
use ralph_git::repository::Repository;
use ralph_git::worktree::{PrivateIndex, WorkTree};
use ralph_os::process::Tool;
use ralph_store::{
    Draft, SessionRefs, Slot, Snapshot, Spool, SpoolMeta, Store, Syncing, names, note_last_written,
};
use redact_stream::Redactor;

/// The feature of every synthetic project, from the repository's root.
pub const FEATURE: &str = "specs/001-login";

/// Number of tasks in its list.
const TASK_COUNT: usize = 60;

/// Number of files that an iteration changes if snapshots are taken.
const CHANGED_FILES: usize = 5;

/// The start of the first session, in Unix seconds (2026-01-01T00:00:00Z).
pub const BEGIN: i64 = 1_767_225_600;

/// The size of the records.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Bytes of what the validation printed.
    pub output: usize,
    /// Bytes of the prompt.
    pub prompt: usize,
    pub snapshots: bool,
    /// With syncing, a record passes through the spool as well, as in a real loop.
    pub syncing: Syncing,
}

impl Shape {
    pub const REAL: Self = Self { output: 50_000, prompt: 10_000, snapshots: false, syncing: Syncing::Never };
}

/// Makes a repository with `files` tracked files and a feature.
pub fn project(dir: &Utf8Path, files: usize) -> Result<()> {
    fs::create_dir_all(dir).with_context(|| format!("create {dir}"))?;
    ensure!(fs::read_dir(dir)?.next().is_none(), "{dir} is not empty");
    Tool::git(dir).args(["init", "--quiet", "--initial-branch=main", "."]).read()?;
    for number in 0..files {
        let path = file_path(dir, number);
        if number % 50 == 0 {
            fs::create_dir_all(path.parent().context("find the folder of a file")?)?;
        }
        fs::write(path, source(number, 0))?;
    }
    fs::create_dir_all(dir.join(FEATURE))?;
    fs::write(dir.join(FEATURE).join("spec.md"), "# Logging in\n\nPeople can log in.\n")?;
    fs::write(dir.join(FEATURE).join("plan.md"), "# Plan\n\nRust, one crate.\n")?;
    fs::write(dir.join(FEATURE).join("tasks.md"), task_list(0))?;
    fs::create_dir_all(dir.join(".specify"))?;
    fs::write(dir.join(".specify/feature.json"), format!("{{\"feature_directory\": \"{FEATURE}\"}}\n"))?;
    Tool::git(dir).args(["add", "."]).read()?;
    Tool::git(dir)
        .args(["-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "commit.gpgSign=false"])
        .args(["commit", "--quiet", "--message", "A project to measure with"])
        .read()?;
    Ok(())
}

/// The records of the project at `dir`.
pub fn store(dir: &Utf8Path, syncing: Syncing) -> Result<Store> {
    let (repository, _) = Repository::discover(dir, &[None, None], None)?;
    Ok(Store::with_sync(repository, syncing))
}

/// The work tree of the project at `dir`.
pub fn work_tree(dir: &Utf8Path) -> Result<WorkTree> {
    Repository::discover(dir, &[None, None], None)?.1.context("a work tree")
}

/// One session that is being made up.
pub struct Writer<'a> {
    store: &'a Store,
    work_tree: WorkTree,
    dir: Utf8PathBuf,
    shape: Shape,
    redactor: Redactor,
    spool: Spool,
    session: Session,
    tip: Option<ObjectId>,
    snapshot: Option<ObjectId>,
    head: Option<ObjectId>,
    progress: Vec<u8>,
    seconds: i64,
    written: u32,
}

impl<'a> Writer<'a> {
    /// Starts the session with that number: sessions begin a day after each other.
    pub fn start(store: &'a Store, shape: Shape, number: u32) -> Result<Self> {
        let work_tree = work_tree(&store.repository().directory)?;
        let dir = work_tree.top().to_owned();
        let seconds = BEGIN + 86_400 * i64::from(number);
        let id = SessionId::new(Timestamp::from_seconds(seconds), number.wrapping_mul(2_654_435_761));
        let session = session(&id, seconds);
        let spool = Spool::create(&work_tree, &spool_meta(&work_tree, &session))?;
        fs::create_dir_all(spool.scratch()).context("create the folder of the index")?;
        let found = fs::read(dir.join(FEATURE).join("progress.txt")).unwrap_or_default();
        let mut writer = Self {
            store,
            shape,
            redactor: Redactor::default(),
            spool,
            session,
            tip: None,
            snapshot: None,
            head: work_tree.head()?,
            work_tree,
            progress: found.clone(),
            seconds,
            written: 0,
            dir,
        };
        let slot = writer.slot("start")?;
        let mut files = vec![("tasks.md".to_owned(), names::TASKS.to_owned())];
        slot.write(names::TASKS, task_list(0).as_bytes())?;
        let mut text = progress_txt::session_marker(&id);
        if found.is_empty() {
            text.insert_str(0, &progress_txt::header("001-login", Timestamp::from_seconds(seconds)));
        } else {
            slot.write(names::PROGRESS_BASE, &found)?;
            files.push(("progress.base.md".to_owned(), names::PROGRESS_BASE.to_owned()));
        }
        writer.append_progress(&slot, &text, &mut files)?;
        let snapshot = writer.take_snapshot(&slot, "the start")?;
        let begun = writer.session.clone();
        writer.append(&slot, (RecordKind::Start, (None, Some(begun))), snapshot, files)?;
        Ok(writer)
    }

    /// Records one more iteration.
    pub fn iterate(&mut self) -> Result<()> {
        self.iterate_with(None)
    }

    /// Records one more iteration, with the file `output` as the output of its validation.
    pub fn iterate_with(&mut self, output: Option<&Utf8Path>) -> Result<()> {
        self.written += 1;
        let number = self.written;
        self.seconds += 97;
        let slot = self.slot(&number.to_string())?;
        let mut random = Random(u64::from(number) ^ self.seconds.unsigned_abs());
        if self.shape.snapshots {
            change_files(&self.dir, number)?;
        }
        let snapshot = self.take_snapshot(&slot, &format!("iteration {number}"))?;
        let iteration = Iteration {
            snapshot: snapshot.clone(),
            head_before: self.head.clone(),
            head_after: self.head.clone(),
            ..synthetic_iteration(&self.session.id, number, self.seconds, &mut random)
        };
        let mut files = Vec::new();
        let texts = [
            ("prompt.md", names::PROMPT, prompt(number, self.shape.prompt)),
            ("agent/stdout", names::AGENT_STDOUT, final_message(&mut random)),
            ("agent/stderr", names::AGENT_STDERR, String::new()),
            ("validation/stdout", names::VALIDATION_STDOUT, test_output(number, self.shape.output)),
            ("validation/stderr", names::VALIDATION_STDERR, "    Finished test profile\n".to_owned()),
            ("tasks.md", names::TASKS, task_list(done_after(number))),
        ];
        for (path, name, text) in texts {
            slot.write(name, text.as_bytes())?;
            files.push((path.to_owned(), name.to_owned()));
        }
        if let Some(output) = output {
            fs::remove_file(slot.path(names::VALIDATION_STDOUT))?;
            fs::hard_link(output, slot.path(names::VALIDATION_STDOUT))?;
        }
        let entry = progress_txt::entry(&iteration, "assertion `left == right` failed\n  left: 3\n right: 4");
        self.append_progress(&slot, &entry, &mut files)?;
        self.append(&slot, (RecordKind::Iteration, (Some(iteration), None)), snapshot, files)
    }

    /// Ends the session, and leaves tasks.md and progress.txt as the record has them.
    pub fn end(mut self) -> Result<SessionRefs> {
        let slot = self.slot("end")?;
        self.session.ended_at = Some(Timestamp::from_seconds(self.seconds));
        self.session.status = Status::Failed;
        self.session.stop_reason = Some(StopReason::LimitReached);
        self.session.iterations_run = self.written;
        self.session.tasks_done = done_after(self.written);
        self.session.tasks_remaining = TASK_COUNT - self.session.tasks_done;
        let ended = self.session.clone();
        let snapshot = self.snapshot.clone();
        self.append(&slot, (RecordKind::End, (None, Some(ended))), snapshot, Vec::new())?;
        fs::write(self.dir.join(FEATURE).join("progress.txt"), &self.progress)?;
        fs::write(self.dir.join(FEATURE).join("tasks.md"), task_list(done_after(self.written)))?;
        note_last_written(&self.work_tree, FEATURE, &self.session.id)?;
        self.spool.remove(self.store.repository())?;
        Ok(SessionRefs::new(FEATURE, self.session.id))
    }

    fn slot(&self, name: &str) -> Result<Slot> {
        let slot = self.spool.slot(name);
        slot.create()?;
        Ok(slot)
    }

    fn append_progress(&mut self, slot: &Slot, text: &str, files: &mut Vec<(String, String)>) -> Result<()> {
        let text = format!("{}{text}", progress_txt::separator(&self.progress));
        slot.write(names::PROGRESS, text.as_bytes())?;
        files.push(("progress.md".to_owned(), names::PROGRESS.to_owned()));
        self.progress.extend_from_slice(text.as_bytes());
        Ok(())
    }

    fn append(
        &mut self,
        slot: &Slot,
        (kind, (iteration, session_json)): (RecordKind, (Option<Iteration>, Option<Session>)),
        snapshot: Option<ObjectId>,
        files: Vec<(String, String)>,
    ) -> Result<()> {
        let draft = Draft {
            kind,
            feature: FEATURE.to_owned(),
            session: self.session.id.clone(),
            parent: self.tip.clone(),
            snapshot_parent: self.snapshot.clone(),
            snapshot: snapshot.clone(),
            authored_at: Timestamp::from_seconds(self.seconds),
            committed_at: Timestamp::from_seconds(self.seconds),
            iteration,
            session_json,
            is_published: false,
            files,
        };
        if self.shape.syncing == Syncing::Always {
            slot.seal(&draft)?;
        }
        self.tip = Some(self.store.append(slot, &draft, &self.redactor)?);
        self.snapshot = snapshot;
        slot.remove()
    }

    fn take_snapshot(&self, slot: &Slot, moment: &str) -> Result<Option<ObjectId>> {
        if !self.shape.snapshots {
            return Ok(None);
        }
        let objects = slot.objects();
        fs::create_dir_all(&objects)?;
        let private_index =
            PrivateIndex { index: &self.spool.scratch().join("index"), objects: &objects, max_file: 5 << 20 };
        let (tree, ..) = self.work_tree.clone().contents(private_index)?;
        let snapshot = Snapshot {
            tree: &tree,
            previous: self.snapshot.as_ref(),
            head: self.head.as_ref(),
            sealed: None,
            session: &self.session.id,
            feature: FEATURE,
            moment,
            taken_at: Timestamp::from_seconds(self.seconds),
        };
        self.store.write_snapshot(slot, &snapshot).map(Some)
    }
}

/// Returns a synthetic iteration that ended at `seconds` (Unix time).
pub fn synthetic_iteration(session: &SessionId, number: u32, seconds: i64, random: &mut Random) -> Iteration {
    let outcome = if is_success(number) { Outcome::Success } else { Outcome::Failure };
    let task = format!("T{:03}", done_after(number - 1) % TASK_COUNT + 1);
    let (started, ended) = (seconds - 90, seconds);
    let done = done_after(number);
    Iteration {
        reopened: Vec::new(),
        evidence: None,
        git_state: Vec::new(),
        stream: None,
        agent_facts: None,
        agent_setup: None,
        phases: Vec::new(),
        ended: None,
        user_files: Vec::new(),
        undone: Vec::new(),
        gone: Vec::new(),
        closed_parents: Vec::new(),
        lost_tasks: Vec::new(),
        schema: SCHEMA,
        id: format!("{session}-iter-{number}"),
        session: session.clone(),
        feature: FEATURE.to_owned(),
        branch: Some("main".to_owned()),
        lane: None,
        base: None,
        published: None,
        integration: Vec::new(),
        agent_commits: Vec::new(),
        iteration: number,
        loop_type: "implement".to_owned(),
        task: Some(task.clone()),
        task_text: Some(format!("Write part {task} of the login")),
        unit_tasks: Vec::new(),
        phase: Some("Phase 2: User Story 1 - Logging in".to_owned()),
        attempt: None,
        outcome,
        failure_class: None,
        error: None,
        resets_at: None,
        cause: None,
        claims: Claims {
            promise: false,
            ticked: if outcome == Outcome::Success { vec![task.clone()] } else { Vec::new() },
        },
        false_claim: Vec::new(),
        closed: if outcome == Outcome::Success { vec![task] } else { Vec::new() },
        started_at: Timestamp::from_seconds(started),
        ended_at: Timestamp::from_seconds(ended),
        duration_ms: Durations {
            agent: Some(40_000 + random.below(40_000)),
            validation: Some(1_000 + random.below(9_000)),
            second: None,
        },
        exit: Exits { agent: Some(0), validation: Some(if outcome == Outcome::Success { 0 } else { 101 }) },
        exit_reason: None,
        validation_command: Some("cargo test".to_owned()),
        files_changed: (0..CHANGED_FILES).map(|_| format!("src/{}.rs", random.word())).collect(),
        agent: "claude".to_owned(),
        agent_version: Some("2.0.1".to_owned()),
        model: Some("claude-sonnet-4-5".to_owned()),
        tokens: Tokens {
            input: Some(2_000 + random.below(4_000)),
            cache_read: Some(random.below(200_000)),
            cache_write: Some(random.below(20_000)),
            output: Some(500 + random.below(4_000)),
        },
        cost_usd: Some(0.25),
        tool_calls: (0..8).map(|_| tool_call(random)).collect(),
        learnings: vec![format!("The {} needs a {} first", random.word(), random.word())],
        decisions: Vec::new(),
        approaches: Vec::new(),
        facts: Facts::default(),
        fingerprint: None,
        head_before: None,
        head_after: None,
        commits: Vec::new(),
        snapshot: None,
        before: None,
        sealed: None,
        rewrote: Vec::new(),
        left_out: Vec::new(),
        ignored: None,
        uncommitted: None,
        restored_to: None,
        kept_paths: Vec::new(),
        redactions: Vec::new(),
        hints: Vec::new(),
        memory: None,
        prompt_parts: Vec::new(),
        tasks_done: done,
        tasks_open: TASK_COUNT - done,
    }
}

/// Every third iteration is a success, until two tasks are left for ever.
fn is_success(number: u32) -> bool {
    number.is_multiple_of(3) && done_after(number - 1) < TASK_COUNT - 2
}

/// Tasks that are done after iteration `number`.
fn done_after(number: u32) -> usize {
    usize::try_from(number / 3).unwrap_or(TASK_COUNT).min(TASK_COUNT - 2)
}

fn session(id: &SessionId, seconds: i64) -> Session {
    Session {
        closed_parents: Vec::new(),
        validation_files: Vec::new(),
        legacy_failures: None,
        clean: None,
        trusted: None,
        user_files: Vec::new(),
        schema: SCHEMA,
        id: id.clone(),
        feature: FEATURE.to_owned(),
        branch: Some("main".to_owned()),
        lane: None,
        group: None,
        scope: None,
        loop_type: "implement".to_owned(),
        started_at: Timestamp::from_seconds(seconds),
        ended_at: None,
        status: Status::Running,
        stop_reason: None,
        ended_by: None,
        limit: None,
        max_iterations: 1_000_000,
        iterations_run: 0,
        tasks_completed: 0,
        totals: SessionTotals::default(),
        tasks_done: 0,
        tasks_remaining: TASK_COUNT,
        duration_ms: Durations::default(),
        tokens: Tokens::default(),
        cost_usd: None,
        cost_is_partial: false,
        artifact: Artifact { path: format!("{FEATURE}/tasks.md"), status: ArtifactStatus::Draft },
        agent: "claude".to_owned(),
        agent_version: Some("2.0.1".to_owned()),
        sandbox: None,
        configuration: serde_json::json!({"max-iterations": 1_000_000}),
        hints: Vec::new(),
        baseline: None,
        ignored: None,
        host: "bench".to_owned(),
        machine: None,
        commands: std::collections::BTreeMap::new(),
        kept_settings: None,
        project: None,
        environment: None,
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

fn spool_meta(work_tree: &WorkTree, session: &Session) -> SpoolMeta {
    let dir = work_tree.top().join(FEATURE);
    SpoolMeta {
        protect: Vec::new(),
        session: session.id.clone(),
        feature: FEATURE.to_owned(),
        feature_name: "001-login".to_owned(),
        work_tree: work_tree.name(),
        tasks_path: dir.join("tasks.md"),
        progress_path: dir.join("progress.txt"),
        host: "bench".to_owned(),
        boot: None,
        pid: 0,
        begun: session.clone(),
        untick: true,
        snapshots: true,
        snapshot_max_file: 5 << 20,
        redaction_rules: Vec::new(),
        redaction_allow: Vec::new(),
    }
}

/// A task list with the first `done` tasks done.
fn task_list(done: usize) -> String {
    let mut text = String::from("# Tasks: Logging in\n\n**Input**: `/specs/001-login/`\n");
    for task in 0..TASK_COUNT {
        if task % 10 == 0 {
            text.push_str(&format!(
                "\n## Phase {}: User Story {} - Logging in\n\n",
                task / 10 + 1,
                task / 10 + 1
            ));
        }
        let mark = if task < done { 'X' } else { ' ' };
        text.push_str(&format!(
            "- [{mark}] T{:03} Write part T{:03} of the login in `src/part{task}.rs`\n",
            task + 1,
            task + 1
        ));
    }
    text
}

fn file_path(dir: &Utf8Path, number: usize) -> Utf8PathBuf {
    dir.join(format!("src/group{}/module{}/file{number}.rs", number / 1_000, number / 50))
}

/// Rewrites up to [`CHANGED_FILES`] of the first thousand files; `number` decides which and how.
pub fn change_files(dir: &Utf8Path, number: u32) -> Result<()> {
    let mut random = Random(u64::from(number));
    for _ in 0..CHANGED_FILES {
        let file = usize::try_from(random.below(1_000))?;
        let path = file_path(dir, file);
        fs::create_dir_all(path.parent().context("find the folder of a file")?)?;
        fs::write(path, source(file, u64::from(number)))?;
    }
    Ok(())
}

/// A source file of 1 to 4 KB.
fn source(number: usize, version: u64) -> String {
    let mut random = Random(number as u64 + 1);
    let lines = 20 + random.below(60);
    let mut text = format!("//! File {number}.\n\nconst VERSION: u64 = {version};\n");
    for line in 0..lines {
        text.push_str(&format!("fn {}_{line}() -> u64 {{ {} }}\n", random.word(), random.below(1 << 40)));
    }
    text
}

/// A prompt whose larger part is the same in every iteration.
fn prompt(number: u32, bytes: usize) -> String {
    let mut random = Random(7);
    let mut text = format!("# Iteration {number}\n\nWork on the current task.\n\n");
    while text.len() < bytes * 4 / 5 {
        text.push_str(&sentence(&mut random));
    }
    let mut random = Random(u64::from(number) << 8);
    while text.len() < bytes {
        text.push_str(&sentence(&mut random));
    }
    text
}

/// Returns the final message of an agent.
fn final_message(random: &mut Random) -> String {
    let mut text: String = (0..12).map(|_| sentence(random)).collect();
    text.push_str(&format!("\nLearnings:\n- The {} needs a {} first\n", random.word(), random.word()));
    text
}

/// What a test run prints: of ten lines eight are the same in every iteration.
pub fn test_output(number: u32, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 200);
    let mut line = 0;
    while text.len() < bytes {
        line += 1;
        let mut random = Random(line);
        let name = format!("{}::{}::{}_{}", random.word(), random.word(), random.word(), random.word());
        let mut varied = Random(line ^ (u64::from(number) << 20));
        match line % 10 {
            0 => text.push_str(&format!("test {name} ... FAILED in {} us\n", varied.below(1_000_000))),
            5 => text.push_str(&format!(
                "thread '{name}' panicked at src/{}.rs:{}:{}: left {} right {}\n",
                varied.word(),
                varied.below(900),
                varied.below(80),
                varied.below(10_000),
                varied.below(10_000)
            )),
            _ => text.push_str(&format!("test {name} ... ok\n")),
        }
    }
    text
}

fn tool_call(random: &mut Random) -> ToolCall {
    ToolCall {
        tool_name: "Edit".to_owned(),
        kind: ToolKind::Edit,
        arguments_summary: format!("{{\"file_path\": \"src/{}.rs\"}}", random.word()),
        result_summary: sentence(random),
        is_error: false,
        at_ms: None,
        end_ms: None,
        exit_code: None,
        last_line: String::new(),
        is_denied: false,
    }
}

fn sentence(random: &mut Random) -> String {
    let words: Vec<&str> = (0..9).map(|_| random.word()).collect();
    format!("{} {}.\n", words.join(" "), random.below(1_000))
}

/// A small generator of numbers: the same records come out on every machine.
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        // The steps of splitmix64: good enough, and every start gives another row.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    pub fn word(&mut self) -> &'static str {
        const WORDS: [&str; 64] = [
            "session", "login", "token", "parser", "reader", "writer", "store", "index", "cache", "route",
            "handler", "request", "response", "header", "cookie", "user", "account", "password", "policy",
            "limit", "retry", "timeout", "queue", "worker", "event", "signal", "stream", "buffer", "chunk",
            "frame", "table", "column", "query", "filter", "sort", "merge", "split", "join", "graph", "node",
            "edge", "path", "file", "folder", "branch", "commit", "tree", "blob", "patch", "diff", "value",
            "field", "record", "schema", "version", "config", "option", "flag", "state", "phase", "story",
            "task", "note", "report",
        ];
        WORDS[usize::try_from(self.below(64)).unwrap_or_default()]
    }
}
