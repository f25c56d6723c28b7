//! What an iteration came to: the agent's claims held against what was measured. Pure.

use std::collections::BTreeSet;

use tasklist::{Item, Pairing, TaskList, Ticked};

use ralph_agent::final_message;
use ralph_core::config::Completion;
use ralph_core::record::{AgentRun, Claim, Claims, ExitReason, Outcome, TaskName, Validation};

/// What shows that an attempt did what it was asked for.
#[derive(Debug, Clone, Copy)]
pub enum Proof<'a> {
    /// The boxes of these tasks of the list before, which it was asked for, and of what belongs to them.
    Boxes(&'a BTreeSet<TaskName>),
    Artifact {
        exists: bool,
    },
}

impl Proof<'_> {
    /// Returns true if this asks for an item. Nobody asked for what the agent itself wrote down as done.
    fn asks_for(&self, item: &Item) -> bool {
        match self {
            Self::Boxes(closable) => closable.contains(&item.name),
            Self::Artifact { .. } => true,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    pub outcome: Outcome,
    pub claims: Claims,
    pub false_claim: Vec<Claim>,
    /// Tasks that this iteration brought from open to done, by the names that they had before.
    pub closed: Vec<TaskName>,
    /// Those of them that the loop ticked, as all of their sub-tasks were done.
    pub closed_parents: Vec<TaskName>,
    /// Items of the list after, whose boxes should be opened again.
    pub to_open: Vec<Item>,
    /// Items of the list after that are done, though only a copy of them was ticked.
    pub to_tick: Vec<Item>,
    /// Tasks that a success ticked beside those that it was asked for.
    pub others: Vec<TaskName>,
    /// Tasks of the list before that were open and left it without being done.
    pub lost: Vec<Item>,
    /// True if the promise ends the session.
    pub is_complete: bool,
}

impl Verdict {
    /// Makes a failure of a success whose boxes do not count after all. `ticked` are the items that were ticked.
    pub fn refuse(&mut self, ticked: Vec<Item>) {
        self.outcome = Outcome::Failure;
        self.false_claim = if self.claims.promise { vec![Claim::Promise] } else { Vec::new() };
        self.false_claim.push(Claim::Ticked);
        self.closed.clear();
        self.closed_parents.clear();
        self.others.clear();
        self.to_tick.clear();
        self.to_open = ticked;
        self.is_complete = false;
    }
}

/// Returns the items of the list after that were ticked.
pub fn ticked_items(before: &TaskList, after: &TaskList) -> Vec<Item> {
    Pairing::likely(before, after).ticked().iter().map(|ticked| ticked.after.clone()).collect()
}

/// Judges an attempt by the task lists before and after it. `agent` is `None` if its end was never seen, because of a crash;
/// `passes` is true if the validation passed by the rule of the session, or there is none.
pub fn judge(
    [before, after]: [&TaskList; 2],
    agent: Option<&AgentRun>,
    validation: Option<&Validation>,
    passes: bool,
    proof: Proof<'_>,
    completion: Completion,
) -> Verdict {
    // Between a crash and the next start people go on: what they put into the list is no claim of the agent's.
    let (pairing, ticked) = if agent.is_some() {
        let pairing = Pairing::likely(before, after);
        let ticked = pairing.ticked();
        (pairing, ticked)
    } else {
        let pairing = Pairing::similar(before, after);
        let ticked = pairing.ticked().into_iter().filter(|ticked| ticked.before.is_some()).collect();
        (pairing, ticked)
    };
    let done = ticked.iter().filter_map(|ticked| ticked.before);
    let done = done.filter(|item| item.is_task() && proof.asks_for(item));
    let done: Vec<TaskName> = done.map(|item| item.name.clone()).collect();
    let (others, own): (Vec<&Ticked<'_>>, Vec<&Ticked<'_>>) = ticked
        .iter()
        .partition(|ticked| ticked.before.is_some_and(|item| item.is_task() && !proof.asks_for(item)));
    let succeeded = agent.is_some_and(|run| run.succeeded);
    let is_promised = agent.is_some_and(|run| run.succeeded && final_message::promise(&run.final_text));
    let is_there = match proof {
        Proof::Boxes(_) => !done.is_empty(),
        Proof::Artifact { exists } => exists,
    };
    let is_interrupted = agent
        .is_none_or(|run| run.exit.reason == Some(ExitReason::Interrupted) || run.was_cut_short)
        || validation.is_some_and(|validation| validation.exit.reason == Some(ExitReason::Interrupted));
    let outcome = if is_interrupted {
        Outcome::Interrupted
    } else if succeeded && passes && is_there {
        Outcome::Success
    } else {
        Outcome::Failure
    };
    let is_success = outcome == Outcome::Success;
    let ticked_in_vain = if is_success { others.clone() } else { ticked.iter().collect() };
    let is_complete = is_promised && succeeded && completion == Completion::Promise;
    let mut false_claim = Vec::new();
    let is_all_done = matches!(proof, Proof::Artifact { .. }) || after.counts().open == 0;
    if is_promised && !is_complete && !(is_success && is_all_done) {
        false_claim.push(Claim::Promise);
    }
    if !ticked.is_empty() && !is_success {
        false_claim.push(Claim::Ticked);
    }
    Verdict {
        outcome,
        claims: Claims { promise: is_promised, ticked: ticked.iter().map(name_of).collect() },
        false_claim,
        closed: if is_success { done } else { Vec::new() },
        closed_parents: Vec::new(),
        to_open: ticked_in_vain.into_iter().map(|ticked| ticked.after.clone()).collect(),
        to_tick: own
            .into_iter()
            .filter(|_| is_success)
            .filter_map(|ticked| after.original(ticked.after))
            .filter(|original| !original.done)
            .cloned()
            .collect(),
        others: others.into_iter().filter(|_| is_success).map(name_of).collect(),
        lost: pairing.lost().into_iter().cloned().collect(),
        is_complete,
    }
}

fn name_of(ticked: &Ticked<'_>) -> TaskName {
    ticked.before.unwrap_or(ticked.after).name.clone()
}
