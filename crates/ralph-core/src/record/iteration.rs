//! An iteration: one turn of the loop. `iteration.json`, and the parts that it is made of.

use std::borrow::Cow;

use failure_excerpt::without_escapes;
use redact_stream::Redacted;
use serde::{Deserialize, Serialize};

use super::integration;
use super::{
    AgentFacts, AgentSetup, AttemptId, Before, Claim, CleanCheck, Cost, Ended, Evidence, Exit, ExitReason,
    Facts, FailureClass, Flag, FlagCode, GitState, GoneTask, IgnoredState, Integration, IntegrationVerdict,
    ObjectId, Outcome, PhaseTime, PromptPart, SessionId, TaskName, Timestamp, ToolKind, UndoneTask, UserFile,
    join_truncated,
};

/// What the agent says of itself. Stored apart from what the engine measured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// True if its final message holds `<promise>COMPLETE</promise>` alone on a line.
    pub promise: bool,
    /// The boxes that went from open to done while it ran.
    pub ticked: Vec<TaskName>,
}

/// Milliseconds; null where the child did not run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Durations {
    pub agent: Option<u64>,
    pub validation: Option<u64>,
    /// The validation's second run in the same attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second: Option<u64>,
}

impl Durations {
    /// Returns the time of all; `None` if none ran.
    pub fn total(self) -> Option<u64> {
        [self.agent, self.validation, self.second].into_iter().flatten().reduce(u64::saturating_add)
    }
}

/// Exit numbers ([`Exit::code`]); null where the child did not run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exits {
    pub agent: Option<i32>,
    pub validation: Option<i32>,
}

/// Tokens with one meaning for all agents; null if the agent does not report them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// Input that came from no cache.
    pub input: Option<u64>,
    pub cache_read: Option<u64>,
    pub cache_write: Option<u64>,
    pub output: Option<u64>,
}

impl Tokens {
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the sum of all that is known, or `None` if nothing is.
    pub fn total(&self) -> Option<u64> {
        [self.input, self.cache_read, self.cache_write, self.output]
            .into_iter()
            .flatten()
            .reduce(u64::saturating_add)
    }

    /// Adds what is known of `other`; unknown stays unknown only where both are.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            input: sum(self.input, other.input),
            cache_read: sum(self.cache_read, other.cache_read),
            cache_write: sum(self.cache_write, other.cache_write),
            output: sum(self.output, other.output),
        }
    }
}

impl Durations {
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            agent: sum(self.agent, other.agent),
            validation: sum(self.validation, other.validation),
            second: sum(self.second, other.second),
        }
    }
}

fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (None, known) | (known, None) => known,
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
    }
}

/// One tool call of an agent, cut for reading; the transcript has it whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    pub tool_name: String,
    pub kind: ToolKind,
    pub arguments_summary: String,
    pub result_summary: String,
    pub is_error: bool,
    /// When it was seen to begin, in milliseconds since the agent's start; `None` in older records, and of a stream
    /// that was not read while it grew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ms: Option<u64>,
    /// When its result was seen, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_ms: Option<u64>,
    /// The exit code of a command; `None` if the agent does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The last line that says something in the output of a command that failed, of at most [`SUMMARY_CHARS`].
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub last_line: String,
    /// True if the agent was not permitted to make it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_denied: bool,
}

/// Returns the tools of the calls that would have written, if there were any and each was denied.
pub fn denied_writes(calls: &[ToolCall]) -> Option<Vec<&str>> {
    let is_write = |call: &&ToolCall| matches!(call.kind, ToolKind::Write | ToolKind::Edit);
    // A shell may only have read. Where it alone was used, it is what would have written.
    let has_writes = calls.iter().any(|call| is_write(&call));
    let writes = calls
        .iter()
        .filter(|call| is_write(call) || !has_writes && call.kind == ToolKind::Shell || call.is_denied);
    let mut tools: Vec<&str> = Vec::new();
    for call in writes {
        if !call.is_denied {
            return None;
        }
        if !tools.contains(&call.tool_name.as_str()) {
            tools.push(&call.tool_name);
        }
    }
    (!tools.is_empty()).then_some(tools)
}

/// The last line of a command that was running when the agent ended.
pub const UNFINISHED_COMMAND: &str = "did not end";

/// Length of a summary of a tool call, in characters.
const SUMMARY_CHARS: usize = 200;

/// Returns the first 200 characters of `text` on one line and without colours, for a [`ToolCall`]. Where there are
/// more, it ends with an ellipsis after a whole word.
pub fn summary(text: &Redacted) -> String {
    let plain = without_escapes(text);
    let mut shown = plain.trim().chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut line: String = shown.by_ref().take(SUMMARY_CHARS).collect();
    if shown.next().is_some() {
        line.pop();
        let whole = line.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-').len();
        // A token this long is known by its first part too.
        if whole > 0 {
            line.truncate(whole);
        }
        line.push('…');
    }
    line
}

/// What came back from an agent. Many fields: the outcome of one run, read where it is judged and recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentRun {
    pub exit: Exit,
    pub duration_ms: u64,
    /// True if its stream says that it succeeded, and it ended by itself with exit code 0, or not at all after its result.
    pub succeeded: bool,
    /// What it said last, whole. Empty where it said nothing.
    pub final_text: Redacted,
    pub model: Option<String>,
    pub tokens: Tokens,
    pub cost_usd: Option<f64>,
    pub tool_calls: Vec<ToolCall>,
    /// Set where the agent itself reported an error.
    pub failure_class: Option<FailureClass>,
    /// The agent's own words for that error, on one line.
    pub error: Option<String>,
    /// When the agent can be used again, if it hit a limit of its account and reported the reset time.
    pub resets_at: Option<Timestamp>,
    /// True if a limit, its provider or the agent itself ended it, which says nothing of the task: it is no attempt.
    pub was_cut_short: bool,
    /// How its output could be read; `None` if that is text of any kind, or nothing was read.
    pub stream: Option<StreamCounts>,
    pub facts: AgentFacts,
    /// True if its output had nothing, or nothing but a banner.
    pub was_silent: bool,
    /// Names of the programs that it left running in the background. They are stopped by now.
    pub leftovers: Vec<String>,
    /// What the user must know beside.
    pub warnings: Vec<String>,
    /// What became of its login, where that did not go back: `login looks wrong: ...`.
    pub login: Vec<String>,
    /// True if its login was renewed elsewhere while it ran: then its own may be used up.
    pub login_was_renewed: bool,
}

/// How the lines of an agent's stream could be read. `stream` in `iteration.json`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamCounts {
    pub lines: u64,
    /// Skipped: no JSON, and not to be repaired.
    pub unreadable: u64,
    /// Read without the bulk of their texts: they were longer than 16 MiB.
    pub too_long: u64,
}

impl StreamCounts {
    /// Returns what could not be read as it was written, or `None` if all could.
    pub fn complaint(self) -> Option<String> {
        let Self { lines, unreadable, too_long } = self;
        let of = format!("of {lines} lines of the agent's output");
        let were = if too_long == 1 { "was" } else { "were" };
        let shortened = format!("{were} longer than 16 MiB and read in part");
        match (unreadable, too_long) {
            (0, 0) => None,
            (_, 0) => Some(format!("{unreadable} {of} could not be read")),
            (0, _) => Some(format!("{too_long} {of} {shortened}")),
            _ => Some(format!("{unreadable} {of} could not be read, {too_long} {shortened}")),
        }
    }
}

impl AgentRun {
    /// Returns true if it did anything: it called a tool, or the model answered.
    pub fn has_worked(&self) -> bool {
        self.succeeded || !self.tool_calls.is_empty() || self.tokens.output.is_some_and(|output| output > 0)
    }
}

/// How the project's own check went. Its streams are in the spool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Validation {
    pub command: String,
    pub exit: Exit,
    pub duration_ms: u64,
    /// Names of the programs that it left running in the background. They are stopped by now.
    pub leftovers: Vec<String>,
    /// True if it ended because there is nothing to run yet.
    pub has_no_tests: bool,
    /// Why it failed while another loop's ran, if it passed when it ran again alone.
    pub failed_beside: Option<String>,
}

impl Validation {
    /// Returns true if it counts as passed by itself, whatever fails that may.
    pub fn passed(&self) -> bool {
        self.has_no_tests || self.exit.is_success()
    }
}

/// How often a redaction rule hit in a file of a record.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RedactionCount {
    pub file: String,
    pub rule: String,
    pub count: u64,
}

/// A task of whose words an attempt changed some. Permissions are read from what a person wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rewritten {
    /// As it is called now.
    pub task: TaskName,
    /// Its text as a person wrote it; `None` if the attempt added it.
    pub before: Option<String>,
    pub after: String,
    /// The same of the phase that it belongs to.
    #[serde(default)]
    pub phase_before: Option<String>,
    #[serde(default)]
    pub phase: Option<String>,
}

/// A file of the work tree that a snapshot leaves out.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LeftOut {
    /// From the repository's root.
    pub path: String,
    /// `credentials`, `too large`, `unreadable`, `nested repository`, `submodule changes`; or what begins with
    /// `git refuses it: ` or, for a folder, with `too much: `.
    pub reason: String,
}

impl LeftOut {
    pub const CREDENTIALS: &str = "credentials";

    pub const TOO_LARGE: &str = "too large";

    /// The commit of a submodule was taken, and what is uncommitted in it was not.
    pub const SUBMODULE_CHANGES: &str = "submodule changes";

    /// A repository inside the work tree that is no submodule.
    pub const NESTED_REPOSITORY: &str = "nested repository";

    /// Before the counts of a folder of very many or very large files.
    pub const TOO_MUCH: &str = "too much: ";

    /// Before git's own words, where git could not read a file.
    pub const REFUSED: &str = "git refuses it: ";

    /// Returns why the snapshot has no such file, in words for a list.
    pub fn why(&self) -> &'static str {
        match self.reason.as_str() {
            Self::TOO_LARGE => "too large",
            Self::CREDENTIALS => "looks like credentials",
            Self::SUBMODULE_CHANGES => "uncommitted in a submodule",
            Self::NESTED_REPOSITORY => "a repository without a commit",
            _ if self.is_refused() => "git could not read it",
            reason if reason.starts_with(Self::TOO_MUCH) => "too much in its folder",
            _ => "unreadable",
        }
    }

    /// Returns true if the file was left out because git failed, not by a rule.
    pub fn is_refused(&self) -> bool {
        self.reason.starts_with(Self::REFUSED) || self.reason == Self::UNREAD
    }

    /// It was not tried, because too many files before it failed.
    pub const UNREAD: &str = "unread after many others that git refused";
}

/// `iteration.json`, version 1: everything of an iteration but the big texts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Iteration {
    pub schema: u32,
    /// `<session>-iter-<N>`.
    pub id: String,
    pub session: SessionId,
    /// The feature's path from the repository's root.
    pub feature: String,
    pub branch: Option<String>,
    /// The number of the lane that it ran in; `None` if it ran in a work tree of the user's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<u32>,
    /// The commit of the branch that its lane began from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<ObjectId>,
    /// The commit on the branch that has its result. `None` outside of a lane, if it did not succeed, and if it is queued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<ObjectId>,
    /// What became of results that were queued, where this record is of that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub integration: Vec<Integration>,
    /// Subjects of the commits that the agent made in its repository of the lane, oldest first. What is published has all in one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agent_commits: Vec<String>,
    /// Numbered from 1 within a session.
    pub iteration: u32,
    pub loop_type: String,
    pub task: Option<TaskName>,
    pub task_text: Option<String>,
    pub phase: Option<String>,
    /// All tasks that it was asked for, where that is more than one: the open ones of a story or a phase.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unit_tasks: Vec<TaskName>,
    /// Which run at this task it is in its session, from 1. `None` in older records, and for a skip.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    pub outcome: Outcome,
    pub failure_class: Option<FailureClass>,
    /// The agent's own words for that failure, on one line.
    #[serde(default)]
    pub error: Option<String>,
    /// When the agent can be used again, if it hit a limit and reported the reset time.
    #[serde(default)]
    pub resets_at: Option<Timestamp>,
    /// Why it did not succeed, on one line of at most [`MAX_CAUSE_CHARS`] characters. `None` for a success, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    pub claims: Claims,
    pub false_claim: Vec<Claim>,
    /// The tasks that this iteration brought from open to done.
    pub closed: Vec<TaskName>,
    /// Those of them that the loop ticked itself, as all of their sub-tasks were done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub closed_parents: Vec<TaskName>,
    /// Tasks whose boxes were opened again though the iteration succeeded: it was not asked for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reopened: Vec<TaskName>,
    /// Tasks that were open and that this attempt took from the list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost_tasks: Vec<TaskName>,
    /// What it was judged by. `None` in older records, and if nothing was judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Box<Evidence>>,
    pub started_at: Timestamp,
    pub ended_at: Timestamp,
    pub duration_ms: Durations,
    pub exit: Exits,
    /// Why the agent, or else the validation, did not end by itself.
    pub exit_reason: Option<ExitReason>,
    pub validation_command: Option<String>,
    /// From the snapshots before and after, paths from the repository's root.
    pub files_changed: Vec<String>,
    pub agent: String,
    pub agent_version: Option<String>,
    pub model: Option<String>,
    pub tokens: Tokens,
    pub cost_usd: Option<f64>,
    pub tool_calls: Vec<ToolCall>,
    /// How the lines of the agent's stream could be read. `None` in older records, and for an agent without a stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<StreamCounts>,
    /// What its stream says beside the work. `None` in older records, and if it says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_facts: Option<Box<AgentFacts>>,
    /// How its agent was started. `None` in older records, and where none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_setup: Option<Box<AgentSetup>>,
    /// When its phases began and how long they took, up to the writing of this record. None in older records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseTime>,
    /// What ended its children beside themselves. `None` in older records, and if nothing did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
    pub learnings: Vec<String>,
    pub decisions: Vec<String>,
    pub approaches: Vec<String>,
    /// What was captured for later iterations; older records have none.
    #[serde(default)]
    pub facts: Facts,
    /// Equal for failures of the same cause. Null if no validation failed.
    pub fingerprint: Option<String>,
    pub head_before: Option<ObjectId>,
    pub head_after: Option<ObjectId>,
    /// Commits of the project made while the iteration ran, oldest first.
    pub commits: Vec<ObjectId>,
    pub snapshot: Option<ObjectId>,
    /// What it began from. `None` in older records, and if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Before>,
    /// The snapshot when the agent ended, before boxes are opened, files put back, and the validation; the same as `snapshot`
    /// if nothing changed since. `None` in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed: Option<ObjectId>,
    /// Files that the snapshot leaves out, and why.
    pub left_out: Vec<LeftOut>,
    /// The files that no snapshot shows, as they were after it. `None` in older records, and if they were too many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignored: Option<Box<IgnoredState>>,
    /// Tasks whose words this attempt changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rewrote: Vec<Rewritten>,
    /// Why the work of a success is in no commit of the project, where `commit = "task"` asks for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncommitted: Option<String>,
    /// The snapshot from before the first of the attempts whose changes were taken back, when its task was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restored_to: Option<ObjectId>,
    /// Paths that those attempts changed and that stay as they are, from the repository's root.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept_paths: Vec<String>,
    /// States of git that this attempt or an earlier one of the session left behind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub git_state: Vec<GitState>,
    /// Files with uncommitted work of the user's that this attempt touched, and those whose work is still gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub user_files: Vec<UserFile>,
    /// Tasks that were done and of whose work this attempt took something back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undone: Vec<UndoneTask>,
    /// Tasks that are done and whose work went, or came back, in this attempt or since the one before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<GoneTask>,
    pub redactions: Vec<RedactionCount>,
    pub hints: Vec<String>,
    /// What its prompt said of earlier iterations. `None` in older records, and where there was no prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<PromptMemory>,
    /// What its prompt was made of. None in older records, and where there was no prompt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prompt_parts: Vec<PromptPart>,
    pub tasks_done: usize,
    pub tasks_open: usize,
}

/// What a prompt said of earlier iterations.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PromptMemory {
    /// The mode of the history: `off`, `smart`, `full`, ...
    pub mode: String,
    /// The strategy of the progress: `system-captured`, ...
    pub strategy: String,
    /// Why there was a history: `asked` or `failures`; `None` if there was none.
    pub reason: Option<String>,
    /// How many earlier iterations it spoke of.
    pub iterations: usize,
    /// The length of all of it, in estimated tokens.
    pub tokens: usize,
    /// The length of the history alone; 0 in older records.
    #[serde(skip_serializing_if = "is_zero")]
    pub history_tokens: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// How many kept paths a line names.
const MAX_KEPT_PATHS: usize = 10;

/// Longest [`Iteration::cause`], in characters.
pub const MAX_CAUSE_CHARS: usize = 200;

/// Returns the ref of a branch: a whole name is taken as it is.
pub fn full_branch_name(branch: &str) -> String {
    if branch.starts_with("refs/") { branch.to_owned() } else { format!("refs/heads/{branch}") }
}

impl Iteration {
    pub fn id(&self) -> AttemptId {
        AttemptId { session: self.session.clone(), number: self.iteration }
    }

    /// Returns true if it is an attempt: an agent had its turn, and the result was judged.
    pub fn is_attempt(&self) -> bool {
        self.outcome.is_attempt(self.is_acceptance())
    }

    /// Returns the branch that its result goes on, with the commit that must be its tip before, and the result.
    pub fn publication(&self) -> Option<(String, &ObjectId, &ObjectId)> {
        let (branch, base) = (self.branch.as_ref()?, self.base.as_ref()?);
        // What is sent back is sent back from this tip.
        let stays = (!self.integration.is_empty()).then_some(base);
        Some((full_branch_name(branch), base, self.published.as_ref().or(stays)?))
    }

    /// Returns true if it is a success in a lane whose result was not published with its record: it waits to be merged.
    pub fn is_queued(&self) -> bool {
        self.outcome == Outcome::Success
            && self.lane.is_some()
            && self.published.is_none()
            && !self.is_acceptance()
    }

    /// Returns what an integration says of a task whose result is not on the branch.
    pub fn not_integrated(&self, task: &str) -> Option<&Integration> {
        self.integration.iter().rfind(|one| one.task == task && one.cause.is_some())
    }

    /// Returns the results that it put on the branch, each with the commit that has it, oldest first.
    pub fn integrated(&self) -> impl Iterator<Item = (&Integration, &ObjectId)> {
        let results = self.integration.iter();
        results.filter(|one| one.verdict == IntegrationVerdict::Integrated).zip(&self.commits)
    }

    /// Leaves a success unpublished: the branch had moved.
    pub fn queue(&mut self) {
        let published = self.published.take();
        self.commits.retain(|commit| Some(commit) != published.as_ref());
    }

    /// Makes a failure of a success whose result could not be published, as the branch had moved.
    pub fn take_publication_back(&mut self, cause: String) {
        let closed = self.closed.len();
        let published = self.published.take();
        self.commits.retain(|commit| Some(commit) != published.as_ref());
        self.outcome = Outcome::Failure;
        self.failure_class = Some(FailureClass::Conflict);
        self.cause = Some(cause);
        self.closed.clear();
        self.closed_parents.clear();
        self.reopened.clear();
        self.tasks_done = self.tasks_done.saturating_sub(closed);
        self.tasks_open += closed;
    }

    /// Returns what a check in a clean checkout came to.
    pub fn check(&self) -> Option<&CleanCheck> {
        self.evidence.as_ref()?.clean.as_deref()
    }

    /// Returns true if a person overruled a refusal with it.
    pub fn is_acceptance(&self) -> bool {
        self.evidence.as_ref().is_some_and(|evidence| evidence.accepted.is_some())
    }

    /// Returns why its validation did not end by itself: [`Iteration::exit_reason`], unless it is the agent's.
    pub fn validation_exit_reason(&self) -> Option<ExitReason> {
        self.exit_reason.filter(|_| self.exit.agent != Some(-1))
    }

    /// Returns true if its validation ended well and nothing refused what it showed; of a success it always did.
    pub fn passed_validation(&self) -> bool {
        self.exit.validation.is_some()
            && self.refused().is_none()
            && (self.is_green() || self.outcome == Outcome::Success)
    }

    /// Returns true if its validation failed nowhere, now or in its second run: there may be nothing to run yet.
    pub fn is_green(&self) -> bool {
        let passed = self.exit.validation == Some(0) && self.validation_exit_reason().is_none();
        passed || self.has_no_tests() || self.second_passed()
    }

    /// Returns true if its validation ended because there is nothing to run yet.
    pub fn has_no_tests(&self) -> bool {
        self.evidence.as_ref().is_some_and(|evidence| evidence.no_tests)
    }

    /// Returns true if its validation failed, and passed in a second run on the same files.
    fn second_passed(&self) -> bool {
        let second = self.evidence.as_ref().and_then(|evidence| evidence.second.as_ref());
        second.is_some_and(|second| second.why == FlagCode::Flaky && second.exit == 0)
    }

    /// Returns why its ticked boxes do not count although the validation passed.
    pub fn refused(&self) -> Option<FlagCode> {
        self.evidence.as_ref()?.refused
    }

    /// Returns what a person should know of it, if it succeeded.
    pub fn flags(&self) -> &[Flag] {
        self.evidence.as_ref().map_or(&[], |evidence| &evidence.flags)
    }

    /// Returns the tasks that it closed beside the one that it was asked for.
    pub fn closed_beside(&self) -> impl Iterator<Item = &TaskName> {
        self.closed.iter().filter(|name| Some(*name) != self.task.as_ref())
    }

    /// Returns true if it closed other tasks, and left open the one that it was asked for.
    pub fn is_left_open(&self) -> bool {
        !self.closed.is_empty() && self.task.as_ref().is_some_and(|task| !self.closed.contains(task))
    }

    /// Returns what its agent cost.
    pub fn cost(&self) -> Cost {
        Cost::of_run(self.exit.agent, self.cost_usd)
    }

    /// What happened, in a few words: `T004 failed (cargo test exited 101)`.
    pub fn story(&self) -> String {
        let task = self.task.as_deref().unwrap_or("no task");
        match self.outcome {
            Outcome::Success if self.is_queued() => format!("{} done, queued", self.closed.join(", ")),
            Outcome::Success if self.closed.iter().any(|name| name == task) => match self.closed.len() {
                1 => format!("{task} done"),
                _ => format!("{} done", self.closed.join(", ")),
            },
            Outcome::Success if self.closed.is_empty() && self.is_acceptance() => format!("{task} looked at"),
            Outcome::Success if self.closed.is_empty() => format!("{task} done"),
            Outcome::Success => format!("{task} still open, {} done", self.closed.join(", ")),
            Outcome::Failure => format!("{task} failed ({})", self.cause()),
            Outcome::Skipped if self.restored_to.is_none() => format!("{task} skipped"),
            Outcome::Skipped => match self.kept_paths.len() {
                0 => format!("{task} skipped, its changes taken back"),
                kept => format!("{task} skipped, its changes taken back but in {}", files(kept)),
            },
            Outcome::Checked if self.task.is_some() => format!("{task} sent back ({})", self.cause()),
            Outcome::Checked => self.check().map_or_else(|| "checked".to_owned(), CleanCheck::story),
            Outcome::Reopened => format!("{task} {}", self.cause()),
            Outcome::Integrated => integration::words(&self.integration),
            Outcome::Later(word) => format!("{task} {}", word.as_str()),
            Outcome::Interrupted => match self.failure_class.filter(|class| class.is_transient()) {
                Some(class) => format!("{task} cut short ({class})"),
                None => format!("{task} interrupted"),
            },
        }
    }

    /// Returns which changes were taken back and which stay, on one line; `None` if there were none to take back.
    pub fn restoration(&self) -> Option<String> {
        let to = self.restored_to.as_ref()?.short();
        let kept = match self.kept_paths.as_slice() {
            [] => String::new(),
            kept => format!("; kept as they are: {}", join_truncated(kept, MAX_KEPT_PATHS)),
        };
        Some(format!("changes of failed attempts taken back, to snapshot {to}{kept}"))
    }

    /// Returns why it did not succeed: as recorded, or for a record of before causes were recorded, which child ended
    /// how.
    pub fn cause(&self) -> Cow<'_, str> {
        self.cause.as_deref().map_or_else(|| self.ending().into(), Cow::Borrowed)
    }

    /// Returns the first of agent, validation and box that says no.
    fn ending(&self) -> String {
        let has_lingered = self.exit_reason == Some(ExitReason::Lingered);
        if let Some(code) = self.exit.agent.filter(|code| *code != 0 && !has_lingered) {
            return self.ended("agent", code);
        }
        if let Some(class) = self.failure_class.filter(|class| !class.is_question()) {
            return format!("agent reported: {class}");
        }
        let command = self.validation_command.as_deref().unwrap_or("validation");
        match self.exit.validation {
            Some(code) if code != 0 => self.ended(&short_command(command), code),
            _ => "its box is still open".to_owned(),
        }
    }

    fn ended(&self, who: &str, code: i32) -> String {
        match (self.exit_reason, code) {
            (Some(ExitReason::Timeout), -1) => format!("{who} timed out"),
            (Some(ExitReason::IdleTimeout), -1) => format!("{who} fell silent"),
            (Some(ExitReason::OutputLimit), -1) => format!("{who} wrote too much"),
            (Some(ExitReason::ErrorLoop), -1) => format!("{who} met one error after the other"),
            (Some(ExitReason::Lingered), -1) => format!("{who} did not exit after its result"),
            (Some(ExitReason::StartFailed), -1) => format!("{who} could not be started"),
            _ => format!("{who} exited {code}"),
        }
    }
}

fn files(count: usize) -> String {
    if count == 1 { "1 file".to_owned() } else { format!("{count} files") }
}

/// Returns the first 40 characters of a command, on one line.
fn short_command(command: &str) -> String {
    let line: String = command.chars().map(|c| if c.is_control() { ' ' } else { c }).take(41).collect();
    match line.char_indices().nth(40) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use redact_stream::Redactor;

    use super::*;

    #[test]
    fn a_summary_is_one_plain_line_that_says_where_it_is_cut() {
        let summary = |text: &str| summary(&Redactor::default().redact(text));
        assert_eq!(summary("\u{1b}[31mnot\ttrusted\u{1b}[0m\n"), "not trusted");
        let long = "é".repeat(200);
        assert_eq!(summary(&long), long);
        let cut = summary(&"é".repeat(201));
        assert!(cut.chars().count() == 200 && cut.ends_with("é…"), "{cut}");
        assert_eq!(
            summary(&format!("{} key_{}", "x ".repeat(90), "1".repeat(40))),
            format!("{} …", "x ".repeat(90))
        );
        assert_eq!(summary(&"y".repeat(300)), format!("{}…", "y".repeat(199)));
    }
}
