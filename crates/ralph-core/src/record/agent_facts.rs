//! What an agent's stream says of its run beside the work: who pays, which models answered, what went on behind it.

use serde::{Deserialize, Serialize};

/// `agent_facts` in `iteration.json`. Each is empty if the stream of the agent does not say it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentFacts {
    /// Where the key comes from that pays, in the agent's words: `ANTHROPIC_API_KEY`; `none` for a login.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key_source: Option<String>,
    /// The models that answered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
    /// Tools of which a call was denied, each once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<String>,
    /// Work of its own that was running when it ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cut_off: Vec<CutOff>,
}

/// A command or a subagent that was still running when its agent ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutOff {
    /// The command, or what the subagent was to do.
    pub what: String,
    pub is_subagent: bool,
}

/// Words of agents for a login that pays.
const LOGINS: [&str; 4] = ["none", "oauth", "login", "subscription"];

impl AgentFacts {
    /// Returns the source of the key that pays; `None` for a login, and if nothing is known.
    pub fn paying_key(&self) -> Option<&str> {
        let source = self.api_key_source.as_deref()?;
        (!source.is_empty() && !LOGINS.contains(&source)).then_some(source)
    }

    /// Returns the models that answered, if none of them is the one that was asked for: `opus` stands for all of its name.
    pub fn answered_instead_of(&self, asked: &str) -> Option<String> {
        let asked = asked.rsplit('/').next().unwrap_or(asked).to_lowercase();
        // What is in brackets is the size of the context, not the model.
        let asked = asked.split('[').next().unwrap_or_default();
        let is_alias = asked.is_empty() || ["default", "auto", "best", "opusplan"].contains(&asked);
        let is_among = self.models.iter().any(|model| {
            let model = model.to_lowercase();
            model.contains(asked) || asked.contains(&model)
        });
        (!is_alias && !is_among && !self.models.is_empty()).then(|| self.models.join(", "))
    }

    /// Returns what was cut off, in words: `npm test (in the background) was still running when the agent ended`.
    pub fn cut_off_words(&self) -> Option<String> {
        let first = self.cut_off.first()?;
        let what = if first.is_subagent {
            format!("a subagent ({})", first.what)
        } else {
            format!("{} (in the background)", first.what)
        };
        let (more, were) = match self.cut_off.len() - 1 {
            0 => (String::new(), "was"),
            more => (format!(" and {more} more"), "were"),
        };
        Some(format!("{what}{more} {were} still running when the agent ended"))
    }

    /// Returns what the next attempt should do about it.
    pub fn advice(&self) -> Option<String> {
        let first = self.cut_off.first()?;
        Some(if first.is_subagent {
            "Nothing is delivered after your final message: wait for your subagents in the foreground before you end."
                .to_owned()
        } else {
            format!(
                "Nothing is delivered after your final message: run `{}` in the foreground and wait for its end.",
                first.what.replace('`', "'")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_that_answers_instead_of_the_wanted_one_is_named() {
        for (models, asked, expected) in [
            ("claude-opus-4-8", "opus", None),
            ("claude-opus-4-8", "claude-opus-4-8", None),
            ("claude-haiku-4-5 claude-opus-4-8", "opus", None),
            ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5", None),
            ("gpt-5.1", "openai/gpt-5.1", None),
            ("claude-opus-4-8", "opus[1m]", None),
            ("claude-opus-4-8", "default", None),
            ("", "opus", None),
            ("claude-sonnet-4-5", "opus", Some("claude-sonnet-4-5")),
        ] {
            let facts = AgentFacts {
                models: models.split_whitespace().map(str::to_owned).collect(),
                ..AgentFacts::default()
            };
            assert_eq!(facts.answered_instead_of(asked).as_deref(), expected, "{models} for {asked}");
        }
    }

    #[test]
    fn only_a_key_pays_by_itself() {
        for (source, key) in [
            (None, None),
            (Some("none"), None),
            (Some("oauth"), None),
            (Some(""), None),
            (Some("ANTHROPIC_API_KEY"), Some("ANTHROPIC_API_KEY")),
            (Some("apiKeyHelper"), Some("apiKeyHelper")),
        ] {
            let facts = AgentFacts { api_key_source: source.map(str::to_owned), ..AgentFacts::default() };
            assert_eq!(facts.paying_key(), key);
        }
    }

    #[test]
    fn what_was_cut_off_is_named_with_what_to_do() {
        let cut = |what: &str, is_subagent| CutOff { what: what.to_owned(), is_subagent };
        let facts = |cut_off| AgentFacts { cut_off, ..AgentFacts::default() };
        assert_eq!(facts(Vec::new()).cut_off_words(), None);
        let one = facts(vec![cut("npm test", false)]);
        assert_eq!(
            one.cut_off_words().as_deref(),
            Some("npm test (in the background) was still running when the agent ended")
        );
        assert!(one.advice().is_some_and(|advice| advice.contains("run `npm test` in the foreground")));
        let two = facts(vec![cut("write it", true), cut("make", false)]);
        assert_eq!(
            two.cut_off_words().as_deref(),
            Some("a subagent (write it) and 1 more were still running when the agent ended")
        );
    }
}
