//! Records to test with.

use failure_excerpt::Tally;

use ralph_core::record::{
    Artifact, ArtifactStatus, Durations, Evidence, Flag, FlagCode, GoneHow, GoneTask, Iteration, Outcome,
    SCHEMA, Session, SessionId, SessionTotals, Status, Timestamp, Tokens, samples,
};

pub fn session_id() -> SessionId {
    "20261121-204512-3f9a0c1d".parse().unwrap()
}

pub fn session() -> Session {
    Session {
        schema: SCHEMA,
        id: session_id(),
        feature: "specs/001-login".into(),
        branch: Some("main".into()),
        lane: None,
        group: None,
        loop_type: "implement".into(),
        scope: None,
        started_at: Timestamp::from_seconds(1_795_294_000),
        ended_at: None,
        status: Status::Running,
        stop_reason: None,
        ended_by: None,
        limit: None,
        max_iterations: 10,
        iterations_run: 0,
        tasks_completed: 0,
        totals: SessionTotals::default(),
        tasks_done: 12,
        tasks_remaining: 18,
        duration_ms: Durations::default(),
        tokens: Tokens::default(),
        cost_usd: None,
        cost_is_partial: false,
        artifact: Artifact { path: "specs/001-login/tasks.md".into(), status: ArtifactStatus::Draft },
        agent: "claude".into(),
        agent_version: None,
        sandbox: None,
        configuration: serde_json::Value::Null,
        hints: Vec::new(),
        baseline: None,
        validation_files: Vec::new(),
        closed_parents: Vec::new(),
        legacy_failures: None,
        clean: None,
        trusted: None,
        user_files: Vec::new(),
        host: "host".into(),
        machine: None,
        commands: std::collections::BTreeMap::new(),
        kept_settings: None,
        project: None,
        environment: None,
        ignored: None,
        tool_version: "0.1.0".into(),
    }
}

/// A success with flags, of which another box was opened again, and which the work of two other tasks went and came back with.
pub fn flagged_iteration() -> Iteration {
    let flag = |code, text: &str| Flag { code, text: text.to_owned(), paths: Vec::new() };
    let evidence = Evidence {
        tests: Some(Tally { passed: Some(39), failed: Some(0), ..Tally::default() }),
        flags: vec![
            flag(FlagCode::Fewer, "39 tests ran, 41 before"),
            flag(FlagCode::Others, "also ticked T005"),
        ],
        ..Evidence::default()
    };
    let gone = |task: &str, how| GoneTask { task: task.to_owned(), how, files: Vec::new(), kept_in: None };
    Iteration {
        evidence: Some(Box::new(evidence)),
        reopened: vec!["T005".to_owned()],
        gone: vec![gone("T003", GoneHow::Ordered), gone("T002", GoneHow::Back)],
        duration_ms: Durations { agent: Some(1), validation: Some(2), second: Some(3) },
        outcome: Outcome::Success,
        ..iteration(4)
    }
}

pub fn iteration(number: u32) -> Iteration {
    Iteration {
        id: format!("{}-iter-{number}", session_id()),
        session: session_id(),
        branch: Some("main".into()),
        lane: None,
        base: None,
        published: None,
        agent_commits: Vec::new(),
        iteration: number,
        phase: Some("Phase 1: Setup".into()),
        started_at: Timestamp::from_seconds(1_795_294_000),
        ended_at: Timestamp::from_seconds(1_795_294_100),
        duration_ms: Durations { agent: Some(61_022), validation: Some(2_341), second: None },
        tokens: Tokens { input: Some(2233), cache_read: Some(8000), cache_write: Some(0), output: None },
        head_before: Some("1".repeat(40).parse().unwrap()),
        tasks_done: 12,
        tasks_open: 18,
        ..samples::iteration(Outcome::Failure)
    }
}
