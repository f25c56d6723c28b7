//! The vocabulary: what every other room speaks of. Plain data that imports nothing of ours.

mod agent_facts;
mod agent_setup;
mod baseline;
mod budget;
mod circumstances;
mod clean;
mod closing;
mod cost;
mod did_you_mean;
mod event;
mod evidence;
mod facts;
mod fields;
mod hex;
mod hint;
mod ids;
mod ignored;
mod integration;
mod iteration;
mod iteration_name;
mod join_truncated;
mod left_behind;
mod log_entry;
mod outcome;
mod own_command;
mod quoted_for_shell;
mod refusal;
#[cfg(any(test, feature = "testing"))]
pub mod samples;
mod scope;
mod session;
mod task;
mod timestamp;
mod totals;
mod trailers;
mod validation_now;
mod waiting;
mod word;

pub use agent_facts::{AgentFacts, CutOff};
pub use agent_setup::{Parser, Permissions, PromptVia, Strategy};
pub use baseline::{Baseline, TrustedState};
pub use budget::Budget;
pub use circumstances::{
    AgentSetup, Before, ChildEnd, Circumstances, Ended, Environment, LeftOutBy, PhaseTime, PromptPart,
};
pub use clean::{CleanCheck, Control, FirstFailing, SetupRun};
pub use closing::{Changes, Closing, DiffStat, NotDone, Unfinished};
pub use cost::Cost;
pub use did_you_mean::did_you_mean;
pub use event::{AgentEvent, EVENT_KINDS, Event, Phase};
pub use evidence::{Acceptance, Evidence, FLAG_SEPARATOR, FLAGS_LINE, Flag, SecondRun};
pub use facts::{
    CommandRun, FACTS_VERSION, Facts, Failing, FileChange, FileStatus, Statement, Summarized, ToolUse,
};
pub use fields::{Field, Subject, TRAILERS};
pub use hex::hex;
pub use hint::{Hint, hint_command, hint_command_of, last_words, work_of_command};
pub use ids::{AttemptId, ObjectId, SessionId};
pub use ignored::{DependencyState, IgnoredState, MAX_IGNORED_NAMES};
pub use integration::{Integration, MAX_HUNK_CHARS};
pub use iteration::{
    AgentRun, Claims, Durations, Exits, Iteration, LeftOut, MAX_CAUSE_CHARS, PromptMemory, RedactionCount,
    Rewritten, StreamCounts, Tokens, ToolCall, UNFINISHED_COMMAND, Validation, denied_writes,
    full_branch_name, summary,
};
pub use iteration_name::{IterationName, SessionName, ShortNames, Which};
pub use join_truncated::{MAX_LISTED_FILES, grouped, join_files, join_truncated, listed_files};
pub use left_behind::{
    GitState, GoneTask, LOST, MAX_RECORDED_FILES, Remains, UndoneTask, UserFile, lost_files, restore_command,
    undid_flag, undone_command, undone_state,
};
pub use log_entry::{Envelope, LogEntry, MAX_TITLE_CHARS, RecordKind, TestCounts, precise};
pub use outcome::{
    ArtifactStatus, CANNOT_RUN, Claim, CleanReason, CleanVerdict, EndedBy, Exit, ExitReason, FailureClass,
    FlagCode, GitStateKind, GoneHow, IntegrationVerdict, Interrupter, Limit, Outcome, Status, StopReason,
    ToolKind, UserFileChange,
};
pub use own_command::{CANONICAL, OwnCommand, RALPH, RALPH_BY_PATH, RALPH_ELSEWHERE};
pub use quoted_for_shell::quoted_for_shell;
pub use refusal::Refusal;
pub use scope::Scope;
pub use session::{Artifact, ProjectFolders, SandboxFacts, Session};
pub use task::{Task, TaskCounts, TaskName};
pub use timestamp::Timestamp;
pub use totals::{
    AnsweredTask, CauseTotals, CostTotals, CutShort, FailureCause, FlaggedTask, GoneWork, Interruption, Need,
    NeedKind, QueuedTask, SessionPart, SessionTotals, Summary, TaskStates, WaitingTask,
};
pub use trailers::{escape, field, last_paragraph, trailers_of, unescape};
pub use validation_now::ValidationNow;
pub use waiting::Waiting;
pub use word::Word;

/// Version of the JSON shapes and trailers that this program writes; `Ralph-Schema` in each of our commits.
pub const SCHEMA: u32 = 1;
