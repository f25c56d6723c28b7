//! Whose fault a failed attempt is: questions in one order, of which the first that fits decides outcome and cause. Whether the
//! agent did anything at all is asked first, as soon as it has ended: [`nothing_done`].

use crate::record::{AgentRun, Exit, ExitReason, denied_writes};

/// What is known of an attempt that did not succeed.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is the evidence of one row")]
pub struct FaultFacts {
    /// The provider refuses this task.
    pub is_refused_by_provider: bool,
    /// The validation fails as it did at the start, and never passed in this session.
    pub fails_as_at_the_start: bool,
    /// The validation fails on the trusted tree as well, which passed before.
    pub fails_on_trusted_tree: bool,
    /// A box is ticked, or the artifact is there, and the validation failed.
    pub is_claim_disproved: bool,
    /// The agent reported an error as its result, or did not come to its end.
    pub is_agent_failed: bool,
    /// It was stopped, by us or by a signal: then the end of its run says more than the validation after it.
    pub is_agent_stopped: bool,
    /// Work of its own in the background was cut off.
    pub is_cut_off: bool,
    /// Its work is on another branch, in another work tree or in a stash.
    pub is_elsewhere: bool,
    /// It wrote the task list anew.
    pub is_list_rewritten: bool,
}

/// What a failed attempt is charged to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The provider refuses the task: it counts for nothing, and the task waits for a person.
    Policy,
    /// The validation never passed: it counts for nothing.
    NeverPassed,
    /// Something outside of the project broke the validation.
    Surroundings,
    Validation,
    AgentError,
    CutOff,
    WorkElsewhere,
    ListRewritten,
    /// The box is open: denied calls, the failed command or the agent's own words say why.
    LeftOpen,
}

/// Returns what an attempt that did not succeed is charged to.
pub fn fault(facts: &FaultFacts) -> Fault {
    let rows = [
        (facts.is_refused_by_provider, Fault::Policy),
        (facts.fails_as_at_the_start, Fault::NeverPassed),
        (facts.fails_on_trusted_tree, Fault::Surroundings),
        (facts.is_agent_stopped, Fault::AgentError),
        (facts.is_claim_disproved, Fault::Validation),
        (facts.is_agent_failed, Fault::AgentError),
        (facts.is_cut_off, Fault::CutOff),
        (facts.is_elsewhere, Fault::WorkElsewhere),
        (facts.is_list_rewritten, Fault::ListRewritten),
    ];
    rows.into_iter().find(|(is_so, _)| *is_so).map_or(Fault::LeftOpen, |(_, fault)| fault)
}

/// Returns how an agent run did nothing, in words; `None` if it did something. Whether the work tree is as it was before is only
/// asked if the run itself shows no work.
pub fn nothing_done(run: &AgentRun, is_unchanged: impl FnOnce() -> bool) -> Option<String> {
    let Exit { code, reason } = run.exit;
    if reason.is_some_and(|reason| !matches!(reason, ExitReason::IdleTimeout | ExitReason::Timeout)) {
        return None;
    }
    let words = if let Some(tools) = denied_writes(&run.tool_calls) {
        format!("every write was denied ({}): permission mode?", tools.join(", "))
    } else if !run.was_silent {
        return None;
    } else if let Some(signal) = code.checked_sub(128).filter(|signal| (1..=64).contains(signal)) {
        let guess = if signal == 9 { ": out of memory?" } else { "" };
        format!("killed by signal {signal} before it wrote anything{guess}")
    } else {
        match (reason, &run.error) {
            (Some(_), _) => format!("{PRINTED_NOTHING} before it was stopped: a server that does not start?"),
            (None, Some(error)) if code != 0 => format!("exited {code} before it did anything: {error}"),
            (None, None) if code != 0 => format!("exited {code} before it did anything"),
            _ => PRINTED_NOTHING.to_owned(),
        }
    };
    is_unchanged().then_some(words)
}

/// How an agent did nothing that ended by itself, and well.
pub const PRINTED_NOTHING: &str = "printed nothing";

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found out next, and what that makes of an attempt.
    type Step = (fn(&mut FaultFacts), Fault);

    #[test]
    fn the_first_question_that_fits_decides() {
        let mut facts = FaultFacts::default();
        assert_eq!(fault(&facts), Fault::LeftOpen);
        let steps: [Step; 9] = [
            (|facts| facts.is_list_rewritten = true, Fault::ListRewritten),
            (|facts| facts.is_elsewhere = true, Fault::WorkElsewhere),
            (|facts| facts.is_cut_off = true, Fault::CutOff),
            (|facts| facts.is_agent_failed = true, Fault::AgentError),
            (|facts| facts.is_claim_disproved = true, Fault::Validation),
            (|facts| facts.is_agent_stopped = true, Fault::AgentError),
            (|facts| facts.fails_on_trusted_tree = true, Fault::Surroundings),
            (|facts| facts.fails_as_at_the_start = true, Fault::NeverPassed),
            (|facts| facts.is_refused_by_provider = true, Fault::Policy),
        ];
        // From the last question to the first: each that comes before the others wins.
        for (add, expected) in steps {
            add(&mut facts);
            assert_eq!(fault(&facts), expected, "{facts:?}");
        }
    }
}
