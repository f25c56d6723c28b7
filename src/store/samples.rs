//! Records to test with.

use crate::record::{
    Artifact, ArtifactStatus, Claims, Durations, Exits, Facts, Iteration, Outcome, SCHEMA, Session,
    SessionId, Status, Timestamp, Tokens,
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
        loop_type: "implement".into(),
        started_at: Timestamp::from_seconds(1_795_294_000),
        ended_at: None,
        status: Status::Running,
        stop_reason: None,
        limit: None,
        max_iterations: 10,
        iterations_run: 0,
        tasks_completed: 0,
        tasks_done: 12,
        tasks_remaining: 18,
        duration_ms: Durations::default(),
        tokens: Tokens::default(),
        cost_usd: None,
        artifact: Artifact { path: "specs/001-login/tasks.md".into(), status: ArtifactStatus::Draft },
        agent: "claude".into(),
        agent_version: None,
        configuration: serde_json::Value::Null,
        hints: Vec::new(),
        host: "host".into(),
        machine: None,
        commands: std::collections::BTreeMap::new(),
        tool_version: "0.1.0".into(),
    }
}

pub fn iteration(number: u32) -> Iteration {
    Iteration {
        schema: SCHEMA,
        id: format!("{}-iter-{number}", session_id()),
        session: session_id(),
        feature: "specs/001-login".into(),
        branch: Some("main".into()),
        iteration: number,
        loop_type: "implement".into(),
        task: Some("T004".into()),
        task_text: Some("Write the parser".into()),
        phase: Some("Phase 1: Setup".into()),
        outcome: Outcome::Failure,
        failure_class: None,
        error: None,
        resets_at: None,
        cause: None,
        claims: Claims::default(),
        false_claim: Vec::new(),
        closed: Vec::new(),
        started_at: Timestamp::from_seconds(1_795_294_000),
        ended_at: Timestamp::from_seconds(1_795_294_100),
        duration_ms: Durations { agent: Some(61_022), validation: Some(2_341) },
        exit: Exits { agent: Some(0), validation: Some(101) },
        exit_reason: None,
        validation_command: Some("cargo test".into()),
        files_changed: Vec::new(),
        agent: "claude".into(),
        agent_version: None,
        model: None,
        tokens: Tokens { input: Some(2233), cache_read: Some(8000), cache_write: Some(0), output: None },
        cost_usd: None,
        tool_calls: Vec::new(),
        learnings: Vec::new(),
        decisions: Vec::new(),
        approaches: Vec::new(),
        facts: Facts::default(),
        fingerprint: None,
        head_before: Some("1".repeat(40).parse().unwrap()),
        head_after: None,
        commits: Vec::new(),
        snapshot: None,
        left_out: Vec::new(),
        uncommitted: None,
        redactions: Vec::new(),
        hints: Vec::new(),
        memory: None,
        tasks_done: 12,
        tasks_open: 18,
    }
}
