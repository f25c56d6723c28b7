//! What the user can do about a failure of an agent.

use ralph_core::record::{FailureClass, RALPH};

/// Returns what to do about a failure of that class, whatever the agent.
pub(super) fn for_failure(class: FailureClass) -> String {
    match class {
        FailureClass::Auth => "sign in with the agent itself, or give it a valid key, and run again",
        FailureClass::Billing => {
            "pay or add credit at the provider, or choose another agent with --agent NAME"
        }
        FailureClass::Model => {
            "set a model that the agent supports with --model MODEL, or leave the choice to the agent"
        }
        FailureClass::Context => {
            "the prompt does not fit into the model: lower progress.max-entries, split the task, shorten the \
             template, or use a model with a larger context"
        }
        FailureClass::Refused => "start the agent once by hand in this folder: it shows what it refuses",
        FailureClass::NotInstalled => "install the agent, or choose another one with --agent NAME",
        FailureClass::Policy => "reword the task, or try it with another agent: --agent NAME",
        FailureClass::Conflict => "the next attempt begins from what is on the branch now",
        FailureClass::Quota
        | FailureClass::RateLimit
        | FailureClass::Overloaded
        | FailureClass::Network
        | FailureClass::Question
        | FailureClass::Other
        | FailureClass::Later(_) => {
            return format!("look at what the agent printed: {RALPH} show --agent");
        }
    }
    .to_owned()
}
