//! How children, iterations and sessions end.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Word;

/// Makes an enum of plain words that is written the way its JSON spells them, and read back. What a user gives must be
/// one of the words; what a record has may be another, which is kept.
macro_rules! words {
    ($(#[$doc:meta])* pub enum $name:ident { $($(#[$word_doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$word_doc])* $variant,)+
            /// What a later version wrote.
            Later(Word),
        }

        impl $name {
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            pub fn as_str(&self) -> &str {
                match self { $(Self::$variant => $word,)+ Self::Later(word) => word.as_str() }
            }

            /// Returns the value that a record has; one that this version does not know is kept as it is.
            pub fn of_record(text: &str) -> anyhow::Result<Self> {
                text.parse().or_else(|error| Word::new(text).map(Self::Later).ok_or(error))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = anyhow::Error;

            fn from_str(text: &str) -> anyhow::Result<Self> {
                match text {
                    $($word => Ok(Self::$variant),)+
                    other => anyhow::bail!(
                        "invalid value `{other}`; expected one of {}", [$($word),+].join(", ")
                    ),
                }
            }
        }

        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                Self::of_record(&text).map_err(serde::de::Error::custom)
            }
        }
    };
}

words! {
    /// How an iteration ended. Derived from agent run, validation and tasks, never set by hand.
    pub enum Outcome {
        Success = "success",
        Failure = "failure",
        Skipped = "skipped",
        Interrupted = "interrupted",
        /// No agent ran: a result was tried in a clean checkout.
        Checked = "checked",
        /// No agent ran: a person opened the box of a task that was done.
        Reopened = "reopened",
        /// No agent ran: results that were queued were merged onto the branch of a lane, or sent back.
        Integrated = "integrated",
    }
}

impl Outcome {
    /// Returns true of the record of an attempt: an agent had its turn, and the result was judged. A task that is given up had
    /// none, an agent run that was cut short gets another one, as no task is given up because of the provider, and what people
    /// accept ran before.
    pub fn is_attempt(self, is_acceptance: bool) -> bool {
        matches!(self, Self::Success | Self::Failure) && !is_acceptance
    }

    /// Returns true of a record for which no agent was started.
    pub fn is_without_run(self) -> bool {
        matches!(self, Self::Skipped | Self::Checked | Self::Reopened | Self::Integrated)
    }
}

words! {
    /// What became of a result that was queued for the branch of a lane.
    pub enum IntegrationVerdict {
        /// It is a commit of the branch.
        Integrated = "integrated",
        /// Git cannot merge it with what is on the branch.
        Conflict = "conflict",
        /// The validation fails with it, and passes without.
        Broke = "broke",
        /// Its task is gone from the list of the branch, or says something else there.
        Changed = "changed",
        /// Its task is ticked on the branch.
        Superseded = "superseded",
    }
}

impl IntegrationVerdict {
    /// Returns true if another attempt may end otherwise: it counts for `lanes.max-send-backs`.
    pub fn is_sent_back(self) -> bool {
        matches!(self, Self::Conflict | Self::Broke)
    }

    /// `sent back (conflict)`
    pub fn words(self) -> String {
        match self {
            Self::Integrated => "merged".to_owned(),
            _ if self.is_sent_back() => format!("sent back ({self})"),
            _ => format!("not taken ({self})"),
        }
    }
}

words! {
    /// Why a session ended.
    pub enum StopReason {
        /// No open task is left, and the validation passes.
        Completed = "completed",
        /// The phase or the story that the user wanted to stop at is done, and the validation passes.
        Checkpoint = "checkpoint",
        /// A limit of the user's was reached while tasks are open.
        LimitReached = "limit_reached",
        /// No open task can be picked, or too many iterations in a row changed nothing.
        Stuck = "stuck",
        /// Ctrl-C, a signal, or a crash.
        Interrupted = "interrupted",
        /// No agent can work at all: bad key, no credit, unknown model.
        AgentUnusable = "agent_unusable",
        /// The validation cannot be run.
        ValidationUnusable = "validation_unusable",
        /// The validation fails on a commit of a person's that attempts in a lane begin from.
        TargetRed = "target_red",
    }
}

impl StopReason {
    pub fn status(self) -> Status {
        match self {
            Self::Completed | Self::Checkpoint => Status::Completed,
            Self::Interrupted => Status::Interrupted,
            Self::LimitReached
            | Self::Stuck
            | Self::AgentUnusable
            | Self::ValidationUnusable
            | Self::TargetRed
            | Self::Later(_) => Status::Failed,
        }
    }
}

words! {
    /// Who or what interrupted a session.
    pub enum Interrupter {
        /// SIGHUP: the window, the connection or the login that it ran in is gone.
        TerminalClosed = "terminal_closed",
        /// Another signal than that of a key.
        Signal = "signal",
        CtrlC = "ctrl_c",
        /// The command `stop`, or its key.
        Stop = "stop",
        /// The loop itself was killed, or the machine went down; the next start recorded the end.
        Killed = "killed",
    }
}

/// How a session came to be interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedBy {
    #[serde(rename = "ended_by")]
    pub by: Interrupter,
    /// The name of the signal, as `term`, where it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<Word>,
}

impl EndedBy {
    /// Returns what happened, in words: the same on every screen.
    pub fn words(&self) -> String {
        match (self.by, self.signal) {
            (Interrupter::TerminalClosed, _) => "the terminal was closed".to_owned(),
            (Interrupter::Signal, Some(name)) => {
                format!("stopped by a signal ({})", name.as_str().to_ascii_uppercase())
            }
            (Interrupter::Signal, None) => "stopped by a signal".to_owned(),
            (Interrupter::CtrlC, _) => "stopped by Ctrl-C".to_owned(),
            (Interrupter::Stop, _) => "stopped by `stop`".to_owned(),
            (Interrupter::Killed, _) => "killed".to_owned(),
            (Interrupter::Later(word), _) => word.as_str().replace('_', " "),
        }
    }

    /// Returns how the next session outlives what ended this one; `None` where it was a wish.
    pub fn hint(&self) -> Option<&'static str> {
        (self.by == Interrupter::TerminalClosed)
            .then_some("start it in `tmux`, or with `nohup`: then it runs on when the terminal closes")
    }

    /// Reads what [`EndedBy`] writes in trailers.
    pub fn of_record(text: &str) -> anyhow::Result<Self> {
        let (by, signal) = text.split_once(' ').unwrap_or((text, ""));
        Ok(Self { by: Interrupter::of_record(by)?, signal: Word::new(signal) })
    }
}

/// In trailers: `ctrl_c`, `signal term`.
impl fmt::Display for EndedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.by.fmt(f)?;
        self.signal.map_or(Ok(()), |name| write!(f, " {}", name.as_str()))
    }
}

words! {
    /// The limit that ended a session.
    pub enum Limit {
        Iterations = "iterations",
        Tokens = "tokens",
        Cost = "cost",
        Duration = "duration",
        /// All agents are out for longer than the user wants to wait.
        Wait = "wait",
    }
}

words! {
    /// Where a session stands.
    pub enum Status {
        Running = "running",
        Completed = "completed",
        Interrupted = "interrupted",
        Failed = "failed",
    }
}

words! {
    /// Where the artifact of a session stands (for `implement` the artifact is tasks.md).
    pub enum ArtifactStatus {
        Draft = "draft",
        Complete = "complete",
        Failed = "failed",
    }
}

words! {
    /// Why a child did not end by itself.
    pub enum ExitReason {
        /// It ran longer than it was allowed to.
        Timeout = "timeout",
        /// It wrote nothing for longer than it was allowed to.
        IdleTimeout = "idle_timeout",
        /// One of its streams grew past the limit.
        OutputLimit = "output_limit",
        /// It met one error after the other, and did not give up by itself.
        ErrorLoop = "error_loop",
        /// Its stream ended with a good result, and it did not leave.
        Lingered = "lingered",
        /// It could not be started; its stderr says why.
        StartFailed = "start_failed",
        /// The user stopped the session.
        Interrupted = "interrupted",
    }
}

impl ExitReason {
    /// Returns what the child did, as a predicate: `timed out`.
    pub fn description(&self) -> &str {
        match self {
            Self::Timeout => "timed out",
            Self::IdleTimeout => "wrote nothing for too long",
            Self::OutputLimit => "wrote too much",
            Self::ErrorLoop => "met one error after the other",
            Self::Lingered => "did not exit after its result",
            Self::StartFailed => "could not start",
            Self::Interrupted => "was interrupted",
            Self::Later(word) => word.as_str(),
        }
    }
}

/// How a child ended: a value, not an error. An error means that *we* failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Exit {
    /// The exit code; 128+n for signal n; -1 for a timeout or a failed start.
    #[serde(rename = "exit")]
    pub code: i32,
    /// Set where the child did not end by itself.
    #[serde(rename = "exit_reason")]
    pub reason: Option<ExitReason>,
}

/// By which `timeout` says that it stopped a command.
const TIMEOUT_EXIT: i32 = 124;

/// Exit codes by which a shell says that a signal ended a command.
const SIGNAL_EXITS: std::ops::RangeInclusive<i32> = 129..=192;

/// Exit codes by which a shell says that it could not run a command.
pub const CANNOT_RUN: [i32; 2] = [126, 127];

impl Exit {
    pub fn is_success(self) -> bool {
        self.code == 0 && self.reason.is_none()
    }

    /// Returns the signal that ended the command, as far as its exit code says so; `None` if we stopped it.
    pub fn signal(self) -> Option<i32> {
        (self.reason.is_none() && SIGNAL_EXITS.contains(&self.code)).then_some(self.code - 128)
    }

    /// Returns true if nothing stopped the command, and the shell could run it.
    pub fn ended_by_itself(self) -> bool {
        self.reason.is_none()
            && self.code >= 0
            && self.code != TIMEOUT_EXIT
            && !CANNOT_RUN.contains(&self.code)
            && !SIGNAL_EXITS.contains(&self.code)
    }
}

words! {
    /// A kind of claim, in the list of those that proved false.
    pub enum Claim {
        Promise = "promise",
        Ticked = "ticked",
    }
}

words! {
    /// What a tool of an agent does.
    pub enum ToolKind {
        Read = "read",
        Write = "write",
        Edit = "edit",
        Shell = "shell",
        Other = "other",
    }
}

words! {
    /// What kind of failure an agent met, by its own structured words; or that it asked.
    pub enum FailureClass {
        Auth = "auth",
        Billing = "billing",
        Model = "model",
        Context = "context",
        /// The agent refuses to run as this user or in this folder.
        Refused = "refused",
        NotInstalled = "not_installed",
        Quota = "quota",
        RateLimit = "rate_limit",
        Overloaded = "overloaded",
        Network = "network",
        /// The agent left its task open and asked the user something. No failure of the agent.
        Question = "question",
        /// The provider refuses this task: its usage policy or a filter of contents. No failure of the task's.
        Policy = "policy",
        /// The branch of its lane moved while it ran, so that its result could not be published. No failure of the task's.
        Conflict = "conflict",
        /// Anything else that the agent itself reports as an error.
        Other = "other",
    }
}

impl FailureClass {
    /// Returns true if it does not pass by itself. It is no failure of the task's.
    pub fn is_unusable(self) -> bool {
        matches!(
            self,
            Self::Auth | Self::Billing | Self::Model | Self::Context | Self::Refused | Self::NotInstalled
        )
    }

    /// Returns true if it passes by itself, so that waiting helps. It is no failure of the task's.
    pub fn is_transient(self) -> bool {
        matches!(self, Self::Quota | Self::RateLimit | Self::Overloaded | Self::Network)
    }

    /// Returns true if its result could not be published, because the branch had moved.
    pub fn is_conflict(self) -> bool {
        self == Self::Conflict
    }

    /// Returns true if the provider refuses the task.
    pub fn is_policy(self) -> bool {
        self == Self::Policy
    }

    /// Returns true if the task waits for a person: it asks, or its provider refuses it.
    pub fn sets_aside(self) -> bool {
        self.is_question() || self.is_policy()
    }

    /// Returns true if the agent asked the user something instead of doing its task.
    pub fn is_question(self) -> bool {
        self == Self::Question
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_a_later_version_is_kept_in_records_and_refused_from_users() {
        fn case<T: Serialize + serde::de::DeserializeOwned + std::str::FromStr>() {
            let read: T = serde_json::from_str("\"lost_claim\"").unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), "\"lost_claim\"");
            assert!("lost_claim".parse::<T>().is_err());
            for broken in ["\"\"", "7", "\"two words\"", "\"\\u001b[31m\"", "null"] {
                assert!(serde_json::from_str::<T>(broken).is_err(), "{broken}");
            }
        }
        case::<Outcome>();
        case::<StopReason>();
        case::<Limit>();
        case::<Status>();
        case::<ArtifactStatus>();
        case::<ExitReason>();
        case::<FailureClass>();
        case::<Claim>();
        case::<Interrupter>();
        case::<ToolKind>();
    }

    #[test]
    fn what_interrupted_a_session_has_the_same_words_in_json_in_trailers_and_on_screens() {
        for (trailer, json, words) in [
            ("terminal_closed", r#"{"ended_by":"terminal_closed"}"#, "the terminal was closed"),
            ("signal term", r#"{"ended_by":"signal","signal":"term"}"#, "stopped by a signal (TERM)"),
            ("ctrl_c", r#"{"ended_by":"ctrl_c"}"#, "stopped by Ctrl-C"),
            ("stop", r#"{"ended_by":"stop"}"#, "stopped by `stop`"),
            ("killed", r#"{"ended_by":"killed"}"#, "killed"),
            ("out_of_power", r#"{"ended_by":"out_of_power"}"#, "out of power"),
        ] {
            let ended = EndedBy::of_record(trailer).unwrap();
            assert_eq!((ended.to_string().as_str(), ended.words().as_str()), (trailer, words));
            assert_eq!(serde_json::to_string(&ended).unwrap(), json);
            assert_eq!(serde_json::from_str::<EndedBy>(json).unwrap(), ended);
            assert_eq!(ended.hint().is_some(), trailer == "terminal_closed");
        }
    }

    #[test]
    fn every_word_is_read_back_as_what_it_was() {
        for outcome in Outcome::ALL {
            assert_eq!(outcome.as_str().parse::<Outcome>().unwrap(), *outcome);
        }
        for class in FailureClass::ALL {
            assert_eq!(class.as_str().parse::<FailureClass>().unwrap(), *class);
        }
        assert_eq!(
            "done".parse::<Outcome>().unwrap_err().to_string(),
            "invalid value `done`; expected one of success, failure, skipped, interrupted, checked, reopened, integrated"
        );
    }
}

words! {
    /// What the judge says of an attempt beside its outcome: a flag of a success, or why one was refused.
    pub enum FlagCode {
        /// Tests fail, and the command that runs them exits with 0.
        Contradiction = "contradiction",
        /// Only some tests ran: a test is marked to run alone.
        Focus = "focus",
        /// An existing test is skipped now.
        Skip = "skip",
        /// No test ran, and some ran before.
        Vanished = "vanished",
        /// Fewer than half of the tests ran, and none was removed.
        Shrunk = "shrunk",
        /// A file that the validation itself consists of was changed.
        Judge = "judge",
        NoTests = "no-tests",
        Fewer = "fewer",
        /// Less was counted than before, as tools took results from a cache.
        Cached = "cached",
        /// A report of the validation has other numbers of tests than its output.
        Report = "report",
        Skipped = "skipped",
        Removed = "removed",
        Asserts = "asserts",
        Config = "config",
        /// Files were changed that run when a project is opened, installed or merged.
        RunsByItself = "runs-by-itself",
        /// Boxes of other tasks were ticked, too.
        Others = "others",
        /// Nothing changed.
        Idle = "idle",
        Flaky = "flaky",
        /// The validation failed while another loop's ran, and passed when it ran again alone.
        Beside = "beside",
        KnownFailures = "known-failures",
        PutBack = "put-back",
        /// Files of an attempt in a lane are in no commit: the validation ran without them.
        LeftOut = "left-out",
        /// Protected files could not be put back.
        Protect = "protect",
        /// A file is new beside protected ones, and acts on these.
        NewProtected = "new-protected",
        /// The words of a task were changed so that they permit more.
        Rewrote = "rewrote",
        /// Code, tests or scripts are ignored by git that were not before.
        Ignored = "ignored",
        /// Ignored dependencies were changed, and by no installer.
        Deps = "deps",
        /// Files of tasks that are done are what they were before these.
        Undid = "undid",
        /// What it changed is in no snapshot: ignored files, empty folders, files of submodules or outside.
        Unseen = "unseen",
        /// A person overruled a refusal.
        Accepted = "accepted",
        /// It fails in a clean checkout.
        Clean = "clean",
        /// The work of a task that is done is gone.
        Gone = "gone",
        /// Tests of before fail on the new source.
        OldTests = "old-tests",
        /// How the project is built or installed changed, or it depends on more.
        Setup = "setup",
        /// New code asks whether it is tested.
        Aware = "aware",
        /// Only the list of tasks of the change itself asks for what it does to the tests.
        Ordered = "ordered",
        /// A commit says another number of tests than passed.
        Count = "count",
    }
}

words! {
    /// Why a check was made.
    pub enum CleanReason {
        /// The session would end.
        End = "end",
        /// Dependencies were changed by hand.
        Deps = "deps",
        /// An attempt made code that git ignores.
        Ignored = "ignored",
        /// Each success is tried.
        Task = "task",
    }
}

words! {
    /// What a check came to.
    pub enum CleanVerdict {
        Holds = "holds",
        Fails = "fails",
        /// It says nothing: the checkout, and not the tree, is what fails.
        Unusable = "unusable",
    }
}

words! {
    /// How the work of a task that is done came to be gone.
    pub enum GoneHow {
        /// An attempt took it back whose task asked for nothing like that.
        Attempt = "attempt",
        /// The task of an attempt may ask for that.
        Ordered = "ordered",
        /// It was gone before an attempt began.
        Between = "between",
        /// Some of it is there again.
        Back = "back",
    }
}

words! {
    /// What of git's an attempt left behind.
    pub enum GitStateKind {
        /// A merge, a rebase, a cherry-pick, a bisection, ...
        Operation = "operation",
        /// A lock file that nobody holds.
        Lock = "lock",
        /// Another branch is checked out, or the branch has another name.
        Branch = "branch",
        /// A setting of the repository has another value.
        Configuration = "configuration",
        /// Commits of the attempt are on a branch, in a work tree or in the stash, and not in what is checked out.
        Elsewhere = "elsewhere",
        /// The task list is another one than before.
        List = "list",
    }
}

words! {
    /// What an attempt did to a file with uncommitted work of the user's.
    pub enum UserFileChange {
        Deleted = "deleted",
        /// It is what it was before the user's change.
        Reverted = "reverted",
        /// No line of the user's change is left.
        Overwritten = "overwritten",
        /// It was changed beside the user's change.
        Edited = "edited",
        /// A commit of the agent's took it in.
        Committed = "committed",
    }
}
