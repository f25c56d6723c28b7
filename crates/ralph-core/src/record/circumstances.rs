//! What an attempt began from and how it went, beside its work: what is needed to try it again, and to say whose fault a
//! failure is. Whatever is not known is left out: a reader says "not recorded", never 0.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Exit, LeftOut, ObjectId};

/// What an attempt began from. `before` in `iteration.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Before {
    pub snapshot: ObjectId,
    /// Files that were there and that the snapshot leaves out, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
}

/// How the agent of an attempt was started. Its version is [`Iteration::agent_version`](super::Iteration::agent_version).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentSetup {
    /// Program and arguments, with the placeholders for prompt and files that differ from run to run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    /// The model that was asked for; which one answered is [`Iteration::model`](super::Iteration::model).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// A hash of its settings files that only this clone can make. `None` if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<String>,
}

/// When a phase of an attempt began, and how long it took, in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseTime {
    /// [`Phase::as_str`](super::Phase::as_str).
    pub name: String,
    /// Since the attempt began.
    pub at_ms: u64,
    pub for_ms: u64,
}

/// What ended a child beside itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildEnd {
    /// The number of the signal that ended it, by the exit code of a shell; of one that we stopped it is [`Exit::reason`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Processes of its group that the system killed as memory ran out; `None` if none was, or they are not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oom_kills: Option<u64>,
}

impl ChildEnd {
    /// Returns what ended a child with these counts of the system before and after; `None` if nothing did.
    pub fn of(exit: Exit, [before, after]: [Option<u64>; 2]) -> Option<Self> {
        let oom_kills = after.zip(before).map(|(after, before)| after.saturating_sub(before));
        let this = Self { signal: exit.signal(), oom_kills: oom_kills.filter(|kills| *kills > 0) };
        (this != Self::default()).then_some(this)
    }
}

/// The same of the children of an attempt. `ended` in `iteration.json`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<ChildEnd>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<ChildEnd>,
}

/// All of that, as far as lists have it beside the values of the trailers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Circumstances {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Before>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_setup: Option<AgentSetup>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseTime>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
}

/// A part of a prompt beside its template and the task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptPart {
    /// `hints`, `baseline`, `question`, `left_behind`, `last_attempt`, `learnings`, `progress`, `history`; `rest` for all else.
    pub part: String,
    /// Its length, estimated.
    pub tokens: usize,
    /// The iterations that it tells, as `SESSION:NUMBER`, as far as they are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<String>,
    /// Why it, or a part of it, is not in the prompt. `None` if all is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOutBy>,
}

/// Why something is not in a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftOutBy {
    /// There was no room for it.
    Budget,
    /// A setting or the template leaves it out.
    Choice,
}

/// What a session began or was resumed in. `environment` in `session.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Environment {
    /// `linux`
    pub system: String,
    /// `x86_64`
    pub processor: String,
    /// What the runtimes and tools say of their version that the validation's command names, by their names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, String>,
    /// Names of variables, without those of credentials.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<String>,
    /// `+01:00`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub utc_offset: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    /// The commit that this program was built from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::ExitReason;

    #[test]
    fn what_ended_a_child_is_absent_where_nothing_did() {
        let end = |signal, oom_kills| Some(ChildEnd { signal, oom_kills });
        for (code, reason, counts, expected) in [
            (0, None, [None, None], None),
            (1, None, [Some(3), Some(3)], None),
            // What is not counted at both times is not known.
            (1, None, [None, Some(3)], None),
            (137, None, [Some(3), Some(3)], end(Some(9), None)),
            (137, None, [Some(0), Some(2)], end(Some(9), Some(2))),
            (1, None, [Some(1), Some(2)], end(None, Some(1))),
            // We stopped it.
            (130, Some(ExitReason::Interrupted), [None, None], None),
            (-1, Some(ExitReason::Timeout), [None, None], None),
            (128, None, [None, None], None),
            (255, None, [None, None], None),
        ] {
            assert_eq!(ChildEnd::of(Exit { code, reason }, counts), expected, "{code}");
        }
    }
}
