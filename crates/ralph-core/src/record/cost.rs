//! Cost of agent runs, as far as the agents report it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A sum in US dollars.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Null if no agent said what it cost.
    #[serde(rename = "cost_usd")]
    pub usd: Option<f64>,
    /// Set if the agent of some run did not say: the sum is at least this much.
    #[serde(rename = "cost_is_partial")]
    pub is_partial: bool,
}

impl Cost {
    /// A sum that is known to be all.
    pub fn of(usd: f64) -> Self {
        Self { usd: Some(usd), is_partial: false }
    }

    /// The cost of one iteration, whose agent ran if it has an exit code.
    pub fn of_run(agent_exit: Option<i32>, usd: Option<f64>) -> Self {
        Self { usd, is_partial: agent_exit.is_some() && usd.is_none() }
    }

    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let usd = match (self.usd, other.usd) {
            (Some(one), Some(other)) => Some(one + other),
            (one, other) => one.or(other),
        };
        Self { usd, is_partial: self.is_partial || other.is_partial }
    }

    /// `$1.20`, `≥ $1.20` where only a part is known; `None` if nothing is.
    pub fn shown(self) -> Option<String> {
        self.usd.map(|_| self.to_string())
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(usd) = self.usd else { return f.write_str("unknown") };
        let sign = if self.is_partial { "≥ " } else { "" };
        match usd {
            // Rounded, it would look like nothing.
            0.000_05..0.01 => write!(f, "{sign}${usd:.4}"),
            _ => write!(f, "{sign}${usd:.2}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_says_whether_it_is_all() {
        for (runs, expected) in [
            (&[][..], None),
            (&[(Some(0), None)], None),
            (&[(Some(0), Some(1.2))], Some("$1.20")),
            (&[(Some(0), Some(1.0)), (Some(1), Some(0.25))], Some("$1.25")),
            (&[(Some(0), Some(1.0)), (Some(-1), None)], Some("≥ $1.00")),
            // A skipped iteration had no agent.
            (&[(Some(0), Some(1.0)), (None, None)], Some("$1.00")),
            (&[(Some(0), Some(0.0042))], Some("$0.0042")),
            (&[(Some(0), Some(0.0))], Some("$0.00")),
        ] {
            let costs = runs.iter().map(|(exit, usd)| Cost::of_run(*exit, *usd));
            assert_eq!(costs.fold(Cost::default(), Cost::plus).shown().as_deref(), expected, "{runs:?}");
        }
    }
}
