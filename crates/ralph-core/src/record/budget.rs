//! What a session may spend, and has spent over all its starts.

use serde_json::Value;

use super::{Cost, Session};

/// Budgets of cost and tokens, and how much of them is spent.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Budget {
    pub cost: Option<f64>,
    pub max_cost: Option<f64>,
    pub tokens: Option<u64>,
    pub max_tokens: Option<u64>,
}

impl Budget {
    fn is_cost_spent(&self) -> bool {
        matches!((self.cost, self.max_cost), (Some(cost), Some(max)) if cost >= max)
    }

    fn are_tokens_spent(&self) -> bool {
        matches!((self.tokens, self.max_tokens), (Some(tokens), Some(max)) if tokens >= max)
    }

    /// `$3.50 of max-cost $3.00`; `None` if no budget is spent.
    pub fn spent(&self) -> Option<String> {
        let [cost, max_cost] = [self.cost, self.max_cost].map(|usd| Cost::of(usd.unwrap_or_default()));
        let cost = self.is_cost_spent().then(|| format!("{cost} of max-cost {max_cost}"));
        let [tokens, max_tokens] = [self.tokens, self.max_tokens].map(Option::unwrap_or_default);
        let tokens = self.are_tokens_spent().then(|| format!("{tokens} tokens of max-tokens {max_tokens}"));
        let spent: Vec<String> = cost.into_iter().chain(tokens).collect();
        (!spent.is_empty()).then(|| spent.join(", "))
    }

    /// Returns the flags with which it goes on, each behind a blank: as much again. Empty if no budget is spent.
    pub fn flags_to_go_on(&self) -> String {
        let mut flags = String::new();
        if self.is_cost_spent() {
            let cents = (self.cost.unwrap_or_default() + self.max_cost.unwrap_or_default()) * 100.0;
            flags.push_str(&format!(" --max-cost {:.2}", (cents.ceil() / 100.0).max(0.01)));
        }
        if self.are_tokens_spent() {
            let sum = self.tokens.unwrap_or_default().saturating_add(self.max_tokens.unwrap_or_default());
            flags.push_str(&format!(" --max-tokens {sum}"));
        }
        flags
    }
}

impl Session {
    pub fn budget(&self) -> Budget {
        Budget {
            cost: self.cost_usd,
            max_cost: self.configuration.get("max-cost").and_then(Value::as_f64),
            tokens: self.tokens.total(),
            max_tokens: self.configuration.get("max-tokens").and_then(Value::as_u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spent_budget_names_the_flags_that_raise_it() {
        for (cost, max_cost, tokens, max_tokens, spent, flags) in [
            (Some(3.5), Some(3.0), None, None, Some("$3.50 of max-cost $3.00"), " --max-cost 6.50"),
            (Some(3.0), Some(3.0), None, None, Some("$3.00 of max-cost $3.00"), " --max-cost 6.00"),
            (Some(2.9), Some(3.0), Some(9), Some(10), None, ""),
            (None, Some(3.0), None, Some(10), None, ""),
            (Some(3.5), None, Some(10), None, None, ""),
            (None, None, Some(790), Some(500), Some("790 tokens of max-tokens 500"), " --max-tokens 1290"),
            (
                Some(0.001),
                Some(0.001),
                Some(7),
                Some(7),
                Some("$0.0010 of max-cost $0.0010, 7 tokens of max-tokens 7"),
                " --max-cost 0.01 --max-tokens 14",
            ),
        ] {
            let budget = Budget { cost, max_cost, tokens, max_tokens };
            assert_eq!(budget.spent().as_deref(), spent, "{budget:?}");
            assert_eq!(budget.flags_to_go_on(), flags, "{budget:?}");
        }
    }
}
