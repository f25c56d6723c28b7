//! Records to test with.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

use serde_json::json;

use super::{
    Claims, Durations, Envelope, Exits, Facts, Iteration, LogEntry, Outcome, SCHEMA, Session, SessionId,
    Timestamp, Tokens,
};

/// Iteration 3 of a session, at T004; its agent ended well, and its validation exited 101.
pub fn iteration(outcome: Outcome) -> Iteration {
    let started_at: Timestamp = "2026-01-31T12:00:00Z".parse().unwrap();
    let session = SessionId::new(started_at, 1);
    Iteration {
        schema: SCHEMA,
        id: format!("{session}-iter-3"),
        session,
        feature: "specs/001-login".to_owned(),
        branch: None,
        lane: None,
        base: None,
        published: None,
        integration: Vec::new(),
        agent_commits: Vec::new(),
        iteration: 3,
        loop_type: "implement".to_owned(),
        task: Some("T004".to_owned()),
        task_text: Some("Write the parser".to_owned()),
        phase: None,
        unit_tasks: Vec::new(),
        attempt: None,
        outcome,
        failure_class: None,
        error: None,
        resets_at: None,
        cause: None,
        claims: Claims::default(),
        false_claim: Vec::new(),
        closed: Vec::new(),
        reopened: Vec::new(),
        evidence: None,
        started_at,
        ended_at: "2026-01-31T12:01:00Z".parse().unwrap(),
        duration_ms: Durations::default(),
        exit: Exits { agent: Some(0), validation: Some(101) },
        exit_reason: None,
        validation_command: Some("cargo test".to_owned()),
        files_changed: Vec::new(),
        agent: "claude".to_owned(),
        agent_version: None,
        model: None,
        tokens: Tokens::default(),
        cost_usd: None,
        tool_calls: Vec::new(),
        learnings: Vec::new(),
        decisions: Vec::new(),
        approaches: Vec::new(),
        facts: Facts::default(),
        fingerprint: None,
        head_before: None,
        head_after: None,
        commits: Vec::new(),
        snapshot: None,
        left_out: Vec::new(),
        before: None,
        ignored: None,
        sealed: None,
        rewrote: Vec::new(),
        uncommitted: None,
        restored_to: None,
        kept_paths: Vec::new(),
        git_state: Vec::new(),
        stream: None,
        agent_facts: None,
        agent_setup: None,
        phases: Vec::new(),
        ended: None,
        user_files: Vec::new(),
        undone: Vec::new(),
        gone: Vec::new(),
        lost_tasks: Vec::new(),
        closed_parents: Vec::new(),
        redactions: Vec::new(),
        hints: Vec::new(),
        memory: None,
        prompt_parts: Vec::new(),
        tasks_done: 1,
        tasks_open: 2,
    }
}

/// Returns a session that ended as these words say.
pub fn session(status: &str, stop_reason: Option<&str>, (done, open): (usize, usize)) -> Session {
    serde_json::from_value(json!({
        "schema": 1,
        "id": "20260101-120000-00000001",
        "feature": "specs/001-login",
        "branch": "main",
        "loop_type": "implement",
        "started_at": "2026-01-01T12:00:00Z",
        "ended_at": (status != "running").then_some("2026-01-01T13:00:00Z"),
        "status": status,
        "stop_reason": stop_reason,
        "limit": stop_reason.filter(|reason| *reason == "limit_reached").map(|_| "duration"),
        "max_iterations": 10,
        "iterations_run": 3,
        "tasks_completed": 1,
        "tasks_done": done,
        "tasks_remaining": open,
        "duration_ms": {"agent": 1, "validation": 1},
        "tokens": {"input": null, "cache_read": null, "cache_write": null, "output": null},
        "artifact": {"path": "specs/001-login/tasks.md", "status": "draft"},
        "agent": "claude",
        "agent_version": "1.2.3",
        "configuration": {"agent": ["claude"], "model": null},
        "host": "here",
        "tool_version": "0.1.0",
    }))
    .unwrap()
}

/// `T1-a`: T1 failed with the fingerprint `a`; `T1+`: it succeeded; `T1!`: it was skipped.
pub fn log_entries(words: &str) -> Vec<LogEntry> {
    let entry = |(place, word): (usize, &str)| {
        let seconds = i64::try_from(place).unwrap();
        let (task, rest) = word.split_at(2);
        let (outcome, fingerprint) = match rest.split_at(1) {
            ("+", _) => (Outcome::Success, None),
            ("!", _) => (Outcome::Skipped, None),
            (_, "") => (Outcome::Failure, None),
            (_, fingerprint) => (Outcome::Failure, Some(fingerprint)),
        };
        let agent = if outcome == Outcome::Skipped { "-" } else { "0" };
        let closed = if outcome == Outcome::Success { task } else { "" };
        let fingerprint = fingerprint.map_or(String::new(), |print| format!("Ralph-Fingerprint: {print}\n"));
        let message = format!(
            "\n\nRalph-Schema: {SCHEMA}\nRalph-Record: iteration\nRalph-Session: 20260101-120000-00000001\n\
             Ralph-Feature: specs/001-login\nRalph-Iteration: 1\nRalph-Task: {task}\nRalph-Outcome: {outcome}\n\
             Ralph-Exit: agent={agent} validation=-\nRalph-Duration-Ms: agent=10 validation=-\n\
             Ralph-Tokens: output=5\nRalph-Tasks: done=0 open=0 closed={closed}\n{fingerprint}"
        );
        read(&message, [Timestamp::from_seconds(seconds), Timestamp::from_seconds(seconds + 1)])
    };
    words.split_whitespace().enumerate().map(entry).collect()
}

/// Returns what a list has of a record.
pub fn entry_of(record: &Iteration) -> LogEntry {
    LogEntry::of_iteration(record, &"0".repeat(40).parse().unwrap())
}

fn read(message: &str, [authored_at, committed_at]: [Timestamp; 2]) -> LogEntry {
    let commit = "0".repeat(40).parse().unwrap();
    let envelope = Envelope { commit, parent: None, authored_at, committed_at };
    LogEntry::of_message(message, &envelope).unwrap().unwrap()
}
