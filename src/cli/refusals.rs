//! What prevents a session: `run` and `resume` refuse it, and `doctor` names it.

use anyhow::{Error, Result};

use ralph_core::config::Commits;
use ralph_core::record::Refusal;
use ralph_engine::redactor;
use ralph_git::worktree::WorkTree;
use ralph_project::feature::Feature;
use ralph_store::{Store, refuse_read_only};

use super::proposal;
use super::run::refuse_unknown_name;
use super::setup::Ready;
use super::{Context, refusal, warn};

/// Something that prevents a session: the subject, as `doctor` prints it; the error; and whether `--force` goes on anyway.
pub type Obstacle = (&'static str, Error, bool);

impl Ready {
    /// Refuses what prevents a session, warns of the rest, and leaves out agents that cannot work here.
    pub fn check(&mut self, feature: &Feature, context: &Context, is_forced: bool) -> Result<()> {
        self.warn_of_settings();
        for (_, error, yields_to_force) in
            self.obstacles(context.store()?, context.work_tree()?, feature, context)
        {
            if !yields_to_force || !is_forced {
                return Err(error);
            }
            warn(&format!("continuing anyway (--force): {}", first_line(&error)));
        }
        let lookup = self.lookup(context);
        // A list is for a team, of whom not everybody has every agent. One alone works: it is no obstacle.
        let is_list = self.agents.len() > 1;
        self.agents.retain(|(_, agent)| {
            !is_list
                || match agent.check(&self.project.root, &lookup) {
                    Ok(()) => true,
                    Err(error) => {
                        warn(&format!("continuing without it: {}", first_line(&error)));
                        false
                    }
                }
        });
        for warning in self.template.warnings() {
            warn(&warning);
        }
        if self.config.settings.validation_command.is_none() {
            let hint = proposal::hint(proposal::of(&self.project));
            warn(&format!("no validation is set: nothing checks the agent's word\nhint: {hint}"));
        }
        Ok(())
    }

    fn warn_of_settings(&self) {
        if let Some(why) = &self.passed_over {
            let name = self.names.first().map(String::as_str).unwrap_or_default();
            warn(&format!("{why}; {name} is used, the only one that is installed"));
        }
        for warning in &self.config.warnings {
            warn(warning);
        }
        if ralph_engine::lacks_summarizer(&self.config.settings) {
            let name = self.config.settings.progress_strategy.into_str();
            warn(&format!(
                "`{name}` has no command that summarizes, and works as `system-captured`: set `progress.command`"
            ));
        }
    }

    /// Returns everything that prevents a session, in the order in which a start refuses it. Runs nothing that the
    /// project names.
    pub fn obstacles(
        &self,
        store: &Store,
        work_tree: &WorkTree,
        feature: &Feature,
        context: &Context,
    ) -> Vec<Obstacle> {
        let mut obstacles = Vec::new();
        let mut check = |about: &'static str, yields_to_force: bool, checked: Result<()>| {
            obstacles.extend(checked.err().map(|error| (about, error, yields_to_force)));
        };
        check("repository", false, refuse_read_only(store.repository()));
        let fault = store.repository().fault.as_ref();
        let usable = fault
            .map_or(Ok(()), |fault| Err(Refusal::new(fault.text.clone()).with_hint(fault.command).into()));
        check("repository", false, usable);
        check("agents", false, self.check_agents(context).map_err(refusal));
        check("template", false, self.template.check().map_err(refusal));
        let settings = &self.config.settings;
        if let Some(command) = &settings.validation_command {
            check("validation", true, ralph_engine::check_validation(command, &self.project.root));
        }
        check("validation", false, ralph_engine::check_protected(work_tree, settings, &self.project.root));
        check("operation", true, ralph_engine::check_operation(work_tree));
        check(
            "feature",
            false,
            ralph_engine::check_progress_file(&feature.files, &feature.progress_path).map_err(refusal),
        );
        check("feature", false, ralph_engine::check_refs(store, feature));
        check("feature", false, self.check_name(feature));
        check("feature", false, refuse_unknown_name(feature));
        if settings.commit == Commits::OfTasks {
            check("commits", false, ralph_engine::check_commits(work_tree));
        }
        obstacles
    }

    /// Refuses if none of the agents can work.
    /// Returns what looks up variables for an agent, as it will have them.
    fn lookup(&self, context: &Context) -> impl Fn(&str) -> Option<String> + use<> {
        let is_fenced = self.config.settings.sandbox.is_some();
        let environment = context.environment.clone();
        move |name| match name {
            "IS_SANDBOX" if is_fenced => Some("1".to_owned()),
            name => environment.owned(name),
        }
    }

    fn check_agents(&self, context: &Context) -> Result<()> {
        let lookup = self.lookup(context);
        let mut checked = Ok(());
        for (_, agent) in &self.agents {
            match agent.check(&self.project.root, &lookup) {
                Ok(()) => return Ok(()),
                // The first complaint is of the preferred one.
                Err(error) => checked = checked.and(Err(error)),
            }
        }
        checked
    }

    /// Refuses a folder with a secret in its name: the name would become that of refs, which `sync` publishes.
    fn check_name(&self, feature: &Feature) -> Result<()> {
        let (shown, found) = redactor(&self.config.settings)?.redact_text(feature.path.as_ref());
        if found.is_empty() {
            return Ok(());
        }
        let message =
            format!("the name of the folder `{shown}` holds a secret, and would be part of a ref name");
        Err(Refusal::new(message)
            .with_hint("rename the folder; if it is no secret, let `redaction.allow` match it")
            .into())
    }
}

fn first_line(error: &Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}
