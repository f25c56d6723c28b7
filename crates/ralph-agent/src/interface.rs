//! What every agent can do, and what it gets for that.

use std::sync::Arc;

use anyhow::Result;
use camino::Utf8Path;
use redact_stream::Redactor;

use super::hint;
use ralph_core::record::{AgentEvent, AgentRun, FailureClass};
use ralph_os::clock::Clock;
use ralph_os::process::{Interrupt, Limits, Marker};
use ralph_os::sandbox::{AgentState, Sandbox};

/// An agent that can be run.
pub trait Agent {
    /// As the user calls it.
    fn name(&self) -> &str;

    /// Returns what it says of its version, where it can be asked without harm.
    fn version(&self) -> Option<String>;

    /// Returns program and arguments by which it is started, with the placeholders for prompt and files still in them.
    fn arguments(&self) -> Vec<String>;

    /// Checks that it can be run in this folder, which is the project's root, at all; an error says what to do.
    fn check(&self, directory: &Utf8Path, lookup: Lookup<'_>) -> Result<()>;

    /// Returns what the user can do about a failure that a retry cannot cure.
    fn hint(&self, class: FailureClass) -> String {
        hint::for_failure(class)
    }

    /// Returns which key pays for it though it can sign in, in words; `None` if none is set, or that is not known.
    fn api_key(&self, _: Lookup<'_>) -> Option<String> {
        None
    }

    /// Checks that its program starts where it will run: inside of `sandbox`. An error says what is in the way.
    fn check_inside(&self, sandbox: &Arc<Sandbox>, directory: &Utf8Path, lookup: Lookup<'_>) -> Result<()>;

    /// Returns what it needs of the user's home folder, where it has another.
    fn state(&self) -> &AgentState;

    /// Runs it with one prompt, and waits for its end. Its events are passed on meanwhile, as far as it reports any.
    fn run(
        &self,
        turn: &AgentInput<'_>,
        interrupt: &Interrupt,
        say: &mut dyn FnMut(AgentEvent),
    ) -> Result<AgentRun>;
}

/// What an agent gets for one iteration.
#[derive(Debug)]
pub struct AgentInput<'a> {
    /// The prompt, in the spool.
    pub prompt: &'a Utf8Path,
    /// Where its streams go, in the spool.
    pub stdout: &'a Utf8Path,
    pub stderr: &'a Utf8Path,
    /// The project's root.
    pub directory: &'a Utf8Path,
    /// The `RALPH_*` variables.
    pub environment: &'a [(String, String)],
    pub limits: Limits,
    pub marker: &'a Marker,
    pub clock: &'a Clock,
    /// Takes the secrets out of what is told of the run.
    pub redactor: &'a Redactor,
    /// What keeps it in its place, if anything does.
    pub sandbox: Option<&'a Arc<Sandbox>>,
}

/// Asks for a variable of the environment that children inherit.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;
