//! What the loop reports while it runs. The receiver decides how to show it.

use failure_excerpt::Tally;
use serde::Serialize;
use strum::IntoStaticStr;

use super::{
    Baseline, Closing, Cost, Exit, Exits, FailureClass, FlaggedTask, Hint, Integration, Iteration, Limit,
    Need, ObjectId, Outcome, SandboxFacts, Scope, Session, SessionId, Task, TaskCounts, TaskName, Timestamp,
    Tokens, UserFile, Waiting,
};

/// The kinds of events that a command can be run for: those of NDJSON, but for what an agent does right now.
pub const EVENT_KINDS: &[&str] = &[
    "session_started",
    "start_refused",
    "iteration_started",
    "history_told",
    "validation_finished",
    "task_claimed",
    "task_queued",
    "integration_finished",
    "iteration_recorded",
    "changes_taken_back",
    "waiting",
    "agent_changed",
    "user_files_lost",
    "needs_you",
    "task_given_up",
    "budget_80",
    "flagged",
    "target_red",
    "warning",
    "session_ended",
];

/// One thing that happened. As NDJSON: `type` and the fields of the variant.
#[derive(Debug, Clone, Serialize, IntoStaticStr)]
#[serde(tag = "type", rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Event {
    SessionStarted {
        session: SessionId,
        feature: String,
        /// The number of the lane that it works in; null in a work tree of the user's.
        lane: Option<u32>,
        /// The branch that is checked out, or that its lane publishes on; null for a detached HEAD.
        branch: Option<String>,
        agent: String,
        max_iterations: u32,
        loop_type: String,
        /// The file that the loop is about.
        artifact: String,
        tasks: TaskCounts,
        /// The part of the list that it works on, and the tasks of that.
        #[serde(skip_serializing_if = "Option::is_none")]
        scope: Option<Scope>,
        #[serde(skip_serializing_if = "Option::is_none")]
        scope_tasks: Option<TaskCounts>,
        /// Set to `story` or `phase` if iterations do more than a task, because the list asks for tests that fail first.
        #[serde(skip_serializing_if = "Option::is_none")]
        unit: Option<&'static str>,
        is_resumed: bool,
        /// What its iterations cost so far, where it is resumed.
        #[serde(flatten)]
        cost: Cost,
        agent_version: Option<String>,
        /// What the agent may do: `full`, `default` or `read-only`.
        permissions: &'static str,
        /// What its commands run in; null if they can do all that the user can.
        sandbox: Option<SandboxFacts>,
        /// The command that must pass; null if nothing checks the agent's word.
        validation: Option<String>,
        /// How it went before the first iteration; null if it did not run.
        baseline: Option<Baseline>,
        /// Set if it did not run because it passed on these files before.
        is_known_to_pass: bool,
        /// Hints that wait for a prompt.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        hints: Vec<Hint>,
        /// Tasks that an earlier session gave up and that get one attempt, after all others.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        given_up: Vec<TaskName>,
        /// How many files have work of the user's that is in no commit.
        #[serde(skip_serializing_if = "is_zero")]
        user_files: usize,
        /// Their names.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        user_file_names: Vec<String>,
        /// The variable with the key that pays for the agent, and whether there is a login beside it.
        #[serde(skip_serializing_if = "Option::is_none")]
        api_key: Option<String>,
        /// Names of variables that no command in the sandbox gets.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        dropped_variables: Vec<String>,
        /// Files of the project that the validation itself consists of.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        validation_files: Vec<String>,
        /// What a person should know of the validation, a sentence each.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        validation_notes: Vec<String>,
    },
    /// No session was started, and nothing is recorded: the validation fails before anything was changed.
    StartRefused {
        feature: String,
        /// The command that fails.
        validation: String,
        baseline: Baseline,
        message: String,
        hint: String,
    },
    IterationStarted {
        session: SessionId,
        iteration: u32,
        task: Task,
        /// Which try of this task in this session, from 1.
        attempt: u32,
        agent: String,
        /// What the user wanted to be in its prompt.
        hints: Vec<String>,
        /// All tasks that it is asked for, where that is more than one.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        unit_tasks: Vec<String>,
        started_at: Timestamp,
    },
    /// The prompt of an iteration contains older iterations, or was to.
    #[serde(rename = "history_told")]
    #[strum(serialize = "history_told")]
    HistoryIncluded {
        iteration: u32,
        task: String,
        mode: &'static str,
        /// The failures in a row that turned it on; null if it was asked for.
        failures: Option<u32>,
        /// Iterations that it was taken from.
        scanned: usize,
        tokens: usize,
        /// Why a history that was asked for is empty.
        #[serde(skip_serializing_if = "Option::is_none")]
        nothing: Option<String>,
    },
    /// The loop is at this now. For people who look on: in NDJSON the other events say it.
    #[serde(skip)]
    PhaseStarted { iteration: u32, phase: Phase },
    AgentEvent {
        iteration: u32,
        #[serde(flatten)]
        event: AgentEvent,
    },
    ValidationFinished {
        iteration: u32,
        command: String,
        #[serde(flatten)]
        exit: Exit,
        duration_ms: u64,
        /// What it printed of its tests.
        #[serde(skip_serializing_if = "Option::is_none")]
        tests: Option<Box<Tally>>,
    },
    IterationRecorded {
        session: SessionId,
        iteration: u32,
        outcome: Outcome,
        exit: Exits,
        commit: ObjectId,
        /// The whole record, for those who show more than one line of it.
        #[serde(skip)]
        record: Box<Iteration>,
    },
    /// One of several loops on a branch works on tasks: none of the others picks them.
    TaskClaimed { session: SessionId, tasks: Vec<TaskName> },
    /// The branch of the lane moved while the task was done: its result waits to be merged.
    TaskQueued { session: SessionId, iteration: u32, task: TaskName },
    /// Results that waited are on the branch, or were sent back.
    IntegrationFinished {
        session: SessionId,
        iteration: u32,
        /// The tip of the branch with them; null if none is on it.
        published: Option<ObjectId>,
        integration: Vec<Integration>,
    },
    /// What failed attempts at a task changed was taken back.
    ChangesTakenBack {
        iteration: u32,
        task: TaskName,
        /// The snapshot from before the first of these attempts.
        restored_to: ObjectId,
        /// For `restore --undo`.
        restoration: u32,
        /// How many files were changed for it.
        files: usize,
    },
    /// No agent can run until then.
    Waiting {
        session: SessionId,
        #[serde(flatten)]
        waiting: Waiting,
        seconds: u64,
    },
    /// Another agent works from here on.
    AgentChanged {
        session: SessionId,
        from: String,
        to: String,
        /// Why the one before cannot; null where it is back.
        failure_class: Option<FailureClass>,
    },
    /// Work of the user's that was in no commit is gone since this attempt.
    UserFilesLost {
        iteration: u32,
        /// `src/store.js reverted, precious.txt deleted`
        what: String,
        /// The command that brings it back; null if no snapshot has it.
        command: Option<String>,
        files: Vec<UserFile>,
    },
    /// Only a person can settle this; the loop goes on with what else there is.
    NeedsYou(Need),
    /// A task failed too often, and is not tried again in this session.
    TaskGivenUp { session: SessionId, iteration: u32, task: TaskName, cause: Option<String> },
    /// Four fifths of a limit are used up: attempts, tokens, US dollars or seconds. Once for each limit of a session.
    #[serde(rename = "budget_80")]
    #[strum(serialize = "budget_80")]
    Budget80 { session: SessionId, limit: Limit, used: f64, most: f64 },
    /// A task is done, and a person should look at how.
    Flagged(FlaggedTask),
    /// The validation fails on the branch of a lane without any attempt; the session ends.
    TargetRed { session: SessionId, iteration: u32, branch: String, commit: ObjectId, message: String },
    /// Something the user should know that stops nothing.
    Warning { message: String },
    SessionEnded {
        #[serde(flatten)]
        session: Box<Session>,
        commit: ObjectId,
        #[serde(flatten)]
        closing: Box<Closing>,
    },
}

impl Event {
    /// Returns its `type` in NDJSON.
    pub fn kind(&self) -> &'static str {
        self.into()
    }

    /// Calls `visit` with each text that may be of a person, an agent or a tool. Those of the records in `IterationRecorded` and
    /// `SessionEnded` are not among them, nor is what was read from records, which have no secrets. Every field is named, so
    /// that none that comes later is forgotten.
    pub fn for_each_text(&mut self, visit: &mut dyn FnMut(&mut String)) {
        match self {
            Self::SessionStarted {
                session: _,
                feature,
                lane: _,
                branch,
                agent,
                max_iterations: _,
                loop_type,
                artifact,
                tasks: _,
                scope,
                scope_tasks: _,
                unit: _,
                is_resumed: _,
                cost: _,
                agent_version,
                permissions: _,
                sandbox,
                validation,
                baseline,
                is_known_to_pass: _,
                hints,
                given_up,
                user_files: _,
                user_file_names,
                api_key,
                dropped_variables,
                validation_files,
                validation_notes,
            } => {
                for Hint { number: _, text, tasks, added_at: _, session: _ } in hints {
                    [text].into_iter().chain(tasks).for_each(&mut *visit);
                }
                if let Some(Scope { tasks, phases, stories }) = scope {
                    [tasks, phases, stories].into_iter().flatten().for_each(&mut *visit);
                }
                if let Some(baseline) = baseline {
                    baseline.for_each_text(visit);
                }
                if let Some(SandboxFacts { mechanism, version: _, settings: _, network }) = sandbox {
                    [mechanism, network].into_iter().for_each(&mut *visit);
                }
                let texts = [feature, agent, loop_type, artifact].into_iter().chain(branch).chain(api_key);
                let lists = [validation_files, validation_notes, dropped_variables, user_file_names, given_up];
                texts.chain(agent_version).chain(validation).chain(lists.into_iter().flatten()).for_each(visit);
            }
            Self::StartRefused { feature, validation, baseline, message, hint } => {
                baseline.for_each_text(visit);
                [feature, validation, message, hint].into_iter().for_each(visit);
            }
            Self::IterationStarted {
                session: _,
                iteration: _,
                task: Task { name, id, text, phase, story },
                attempt: _,
                agent,
                hints,
                unit_tasks,
                started_at: _,
            } => {
                let texts = [name, text, agent].into_iter().chain(hints).chain(unit_tasks);
                texts.chain(id).chain(phase).chain(story).for_each(visit);
            }
            Self::PhaseStarted {
                iteration: _,
                phase: Phase::Agent { agent: text } | Phase::Validation { command: text },
            }
            | Self::ValidationFinished { iteration: _, command: text, exit: _, duration_ms: _, tests: _ }
            | Self::ChangesTakenBack { iteration: _, task: text, restored_to: _, restoration: _, files: _ }
            // What it lacks is named by numbers.
            | Self::HistoryIncluded { task: text, .. }
            | Self::TaskQueued { session: _, iteration: _, task: text }
            | Self::Warning { message: text } => visit(text),
            Self::AgentEvent { iteration: _, event } => event.for_each_text(visit),
            Self::TaskClaimed { session: _, tasks } => tasks.iter_mut().for_each(visit),
            Self::IntegrationFinished { session: _, iteration: _, published: _, integration } => {
                Integration::for_each_text(integration, visit);
            }
            Self::Waiting { session: _, waiting, seconds: _ } => waiting.for_each_text(visit),
            Self::AgentChanged { session: _, from: text, to: other, failure_class: _ }
            | Self::TargetRed { session: _, iteration: _, branch: text, commit: _, message: other } => {
                [text, other].into_iter().for_each(visit);
            }
            Self::UserFilesLost { iteration: _, what, command, files } => {
                let files = files.iter_mut();
                let paths = files.map(|UserFile { path, change: _, since: _, kept_in: _, commit: _ }| path);
                [what].into_iter().chain(command).chain(paths).for_each(visit);
            }
            Self::NeedsYou(Need { why: _, task, cause, session: _, iteration: _ }) => {
                task.iter_mut().chain(cause).for_each(visit);
            }
            Self::TaskGivenUp { session: _, iteration: _, task, cause: text }
            | Self::Flagged(FlaggedTask { task, session: _, iteration: _, flags: _, text }) => {
                [task].into_iter().chain(text).for_each(visit);
            }
            Self::SessionEnded { session: _, commit: _, closing } => closing.for_each_text(visit),
            Self::PhaseStarted { iteration: _, phase: Phase::Prompt | Phase::Waiting | Phase::Recording }
            | Self::Budget80 { session: _, limit: _, used: _, most: _ }
            | Self::IterationRecorded { .. } => {}
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands on a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// What an iteration goes through, one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// The prompt is written.
    Prompt,
    /// The agent works.
    Agent { agent: String },
    /// Validations of other loops on the branch run first.
    Waiting,
    /// The project's own checks run.
    Validation { command: String },
    /// What came of it goes into the repository.
    Recording,
}

impl Phase {
    /// Returns the word for it in files and in JSON.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Agent { .. } => "agent",
            Self::Waiting => "waiting",
            Self::Validation { .. } => "validation",
            Self::Recording => "recording",
        }
    }
}

/// What an agent does right now, as far as its stream reports it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum AgentEvent {
    Text {
        text: String,
    },
    ToolStarted {
        tool_name: String,
        arguments_summary: String,
    },
    ToolEnded {
        tool_name: String,
        is_error: bool,
        /// What came of it, in short. For people who look on: in NDJSON the record has it.
        #[serde(skip)]
        result: String,
    },
    Usage {
        tokens: Tokens,
    },
    Retry {
        message: String,
    },
    Error {
        message: String,
    },
}

impl AgentEvent {
    fn for_each_text(&mut self, visit: &mut dyn FnMut(&mut String)) {
        match self {
            Self::Text { text } | Self::Retry { message: text } | Self::Error { message: text } => {
                visit(text);
            }
            Self::ToolStarted { tool_name, arguments_summary: text }
            | Self::ToolEnded { tool_name, is_error: _, result: text } => {
                [tool_name, text].into_iter().for_each(visit);
            }
            Self::Usage { tokens: _ } => {}
        }
    }

    /// Returns what the agent does by this event, in its words; `None` if it does not say.
    pub fn doing(&self) -> Option<String> {
        Some(match self {
            Self::Text { text } => text.lines().map(str::trim).rfind(|line| !line.is_empty())?.to_owned(),
            Self::ToolStarted { tool_name, arguments_summary } => {
                format!("{tool_name} {arguments_summary}")
            }
            Self::Retry { message } => format!("retrying: {message}"),
            Self::Error { message } => format!("error: {message}"),
            Self::ToolEnded { .. } | Self::Usage { .. } => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{IntegrationVerdict, NeedKind, NotDone, Unfinished, UserFileChange};

    /// A text that must be visited.
    fn x() -> String {
        "visited".to_owned()
    }

    fn closing() -> Closing {
        let not_done = NotDone {
            task: x(),
            title: x(),
            is_skipped: false,
            asks: false,
            attempts: 1,
            cause: Some(x()),
            iteration: 1,
            cost_usd: None,
            blocks: vec![x()],
        };
        let unfinished =
            Unfinished { task: x(), tried: vec![x()], files: vec![x()], ..Unfinished::default() };
        Closing {
            why: Some(x()),
            hint: Some(x()),
            next: Some(x()),
            unrecognised: vec![x()],
            uncommitted: vec![x()],
            left_out: vec![x()],
            not_done: vec![not_done],
            unfinished: vec![unfinished],
            ..Closing::default()
        }
    }

    #[test]
    fn every_text_of_an_event_is_visited() {
        let (session, at) = (SessionId::new(Timestamp::from_seconds(0), 1), Timestamp::from_seconds(0));
        let file =
            UserFile { path: x(), change: UserFileChange::Deleted, since: 1, kept_in: None, commit: None };
        let waiting = Waiting {
            agent: x(),
            class: FailureClass::RateLimit,
            until: at,
            is_guessed: false,
            message: Some(x()),
        };
        let baseline = Baseline { exit: 1, cause: Some(x()), ..Baseline::default() };
        let agent = |event| Event::AgentEvent { iteration: 1, event };
        let commit: ObjectId = "0".repeat(40).parse().unwrap();
        let mut events = vec![
            Event::SessionStarted {
                session: session.clone(),
                feature: x(),
                lane: Some(1),
                branch: Some(x()),
                agent: x(),
                max_iterations: 1,
                loop_type: x(),
                artifact: x(),
                tasks: TaskCounts { done: 0, open: 1 },
                scope: Some(Scope { tasks: vec![x()], phases: vec![x()], stories: vec![x()] }),
                scope_tasks: None,
                unit: None,
                is_resumed: false,
                cost: Cost::default(),
                agent_version: Some(x()),
                permissions: "full",
                sandbox: Some(SandboxFacts {
                    mechanism: x(),
                    version: None,
                    settings: "0".to_owned(),
                    network: x(),
                }),
                validation: Some(x()),
                baseline: Some(baseline.clone()),
                is_known_to_pass: false,
                hints: vec![Hint { number: 1, text: x(), tasks: vec![x()], added_at: at, session: None }],
                given_up: vec![x()],
                user_files: 0,
                user_file_names: vec![x()],
                api_key: Some(x()),
                dropped_variables: vec![x()],
                validation_files: vec![x()],
                validation_notes: vec![x()],
            },
            Event::StartRefused {
                feature: x(),
                validation: x(),
                baseline: baseline.clone(),
                message: x(),
                hint: x(),
            },
            Event::IterationStarted {
                session: session.clone(),
                iteration: 1,
                task: Task { name: x(), id: Some(x()), text: x(), phase: Some(x()), story: Some(x()) },
                attempt: 1,
                agent: x(),
                hints: vec![x()],
                unit_tasks: vec![x()],
                started_at: at,
            },
            Event::PhaseStarted { iteration: 1, phase: Phase::Agent { agent: x() } },
            Event::PhaseStarted { iteration: 1, phase: Phase::Validation { command: x() } },
            agent(AgentEvent::Text { text: x() }),
            agent(AgentEvent::ToolStarted { tool_name: x(), arguments_summary: x() }),
            agent(AgentEvent::ToolEnded { tool_name: x(), is_error: false, result: x() }),
            agent(AgentEvent::Retry { message: x() }),
            agent(AgentEvent::Error { message: x() }),
            Event::ValidationFinished {
                iteration: 1,
                command: x(),
                exit: Exit { code: 0, reason: None },
                duration_ms: 1,
                tests: None,
            },
            Event::ChangesTakenBack {
                iteration: 1,
                task: x(),
                restored_to: commit.clone(),
                restoration: 1,
                files: 1,
            },
            Event::TaskClaimed { session: session.clone(), tasks: vec![x()] },
            Event::TaskQueued { session: session.clone(), iteration: 1, task: x() },
            Event::IntegrationFinished {
                session: session.clone(),
                iteration: 1,
                published: None,
                integration: vec![Integration {
                    session: session.clone(),
                    iteration: 1,
                    task: x(),
                    verdict: IntegrationVerdict::Conflict,
                    cause: Some(x()),
                    conflicts: vec![x()],
                    hunks: x(),
                }],
            },
            Event::Waiting { session: session.clone(), waiting, seconds: 1 },
            Event::AgentChanged { session: session.clone(), from: x(), to: x(), failure_class: None },
            Event::NeedsYou(Need {
                why: NeedKind::Asks,
                task: Some(x()),
                cause: Some(x()),
                session: session.clone(),
                iteration: Some(1),
            }),
            Event::TaskGivenUp { session: session.clone(), iteration: 1, task: x(), cause: Some(x()) },
            Event::Flagged(FlaggedTask {
                task: x(),
                session: session.clone(),
                iteration: Some(1),
                flags: Vec::new(),
                text: Some(x()),
            }),
            Event::TargetRed { session, iteration: 1, branch: x(), commit: commit.clone(), message: x() },
            Event::UserFilesLost { iteration: 1, what: x(), command: Some(x()), files: vec![file] },
            Event::Warning { message: x() },
            Event::SessionEnded {
                session: Box::new(crate::record::samples::session("completed", None, (1, 0))),
                commit,
                closing: Box::new(closing()),
            },
        ];
        let quiet = ["agent_event", "phase_started"];
        for event in &mut events {
            let kind = event.kind();
            if kind != "phase_started" {
                assert_eq!(serde_json::to_value(&*event).unwrap()["type"], kind);
            }
            assert_ne!(EVENT_KINDS.contains(&kind), quiet.contains(&kind), "{kind}");
            assert!(format!("{event:?}").contains(&x()));
            event.for_each_text(&mut String::clear);
            assert!(!format!("{event:?}").contains(&x()), "{event:?}");
        }
    }
}
