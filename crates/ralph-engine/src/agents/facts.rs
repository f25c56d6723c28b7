//! What the streams of agents say of who pays and who answers, said once each.

use camino::Utf8Path;

use ralph_core::record::{AgentRun, AgentSetup};

use crate::running::Running;

impl Running<'_> {
    /// Returns how the agent is started whose turn it is.
    pub(crate) fn agent_setup(&self) -> AgentSetup {
        let candidate = self.candidate();
        let home = self.plan.work_tree.home().map(Utf8Path::new);
        let settings = home.and_then(|home| candidate.agent.state().settings(home));
        AgentSetup {
            arguments: candidate.agent.arguments(),
            model: candidate.model.clone(),
            settings: settings.map(|text| self.identity.fingerprint("agent settings", &text)),
        }
    }

    /// Says which key pays for the agent that ran, and which model answered where another was asked for.
    pub(crate) fn say_facts(&mut self, run: &AgentRun) {
        let candidate = self.candidate();
        let agent = candidate.agent.name().to_owned();
        let key = run.facts.paying_key().filter(|_| candidate.api_key.is_none());
        let key = key.map(|source| {
            format!(
                "an API key pays for `{agent}` ({source}), not a login\nhint: unset it if that is not meant"
            )
        });
        let asked = candidate.model.as_deref();
        let model = asked.and_then(|asked| {
            let models = run.facts.answered_instead_of(asked)?;
            Some(format!("`{agent}` was asked for the model {asked}, and {models} answered"))
        });
        for message in key.into_iter().chain(model) {
            if self.state.said_facts.insert(message.clone()) {
                self.warn(message);
            }
        }
    }
}
