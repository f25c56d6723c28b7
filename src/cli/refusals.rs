//! What prevents a session: `run` and `resume` refuse it, and `doctor` names it.

use anyhow::{Error, Result};

use ralph_agent::passed_over;
use ralph_core::config::{Commits, Config, Settings};
use ralph_core::record::Refusal;
use ralph_engine::{Candidate, LoopInputs, redactor};
use ralph_project::feature::Feature;
use ralph_store::refuse_read_only;
use ralph_ui::style::one_line;

use crate::cli::settings::project_in;
use crate::cli::start::proposal;
use crate::cli::{Context, Project, refusal, warn};

/// Something that prevents a session: the subject, as `doctor` prints it; the error; and whether `--force` goes on anyway.
pub type Obstacle = (&'static str, Error, bool);

/// Refuses a feature that was guessed on a branch with the number of another.
pub fn refuse_unknown_name(feature: &Feature) -> Result<()> {
    let Some(name) = feature.unknown_name.as_deref().filter(|_| !feature.is_noted) else { return Ok(()) };
    let (name, path) = (one_line(name), one_line(&feature.path));
    let message =
        format!("the branch names {name}, which is no folder in specs/; the only one to work on is {path}");
    Err(Refusal::new(message)
        .with_hint(format!("`--feature {path}` takes it; or make specs/{name} first"))
        .into())
}

/// Refuses what prevents a session, warns of the rest, and leaves out agents that cannot work here.
pub fn check(inputs: &mut LoopInputs<'_>, context: &Context, is_forced: bool) -> Result<()> {
    let project = project_in(context)?;
    warn_of_settings(inputs, &project);
    for (_, error, yields_to_force) in obstacles(inputs, context) {
        if !yields_to_force || !is_forced {
            return Err(error);
        }
        warn(&format!("continuing anyway (--force): {}", first_line(&error)));
    }
    // A list is for a team, of whom not everybody has every agent. One alone works: it is no obstacle.
    if inputs.agents.len() > 1 {
        let lookup = lookup(inputs.config, context);
        inputs.agents.retain(|Candidate { agent, .. }| match agent.check(&inputs.project_root, &lookup) {
            Ok(()) => true,
            Err(error) => {
                warn(&format!("continuing without it: {}", first_line(&error)));
                false
            }
        });
    }
    for warning in inputs.template.warnings() {
        warn(&warning);
    }
    if inputs.config.settings.validation_command.is_none() {
        let hint = proposal::hint(proposal::of(&project));
        warn(&format!("no validation is set: nothing checks the agent's word\nhint: {hint}"));
    }
    Ok(())
}

fn warn_of_settings(inputs: &LoopInputs<'_>, project: &Project) {
    let config = inputs.config;
    if config.settings.agent.is_empty()
        && let Some(why) = passed_over(&project.files, &project.root)
    {
        let name = inputs.agents.first().map(|first| first.agent.name()).unwrap_or_default();
        warn(&format!("{why}; {name} is used, the only one that is installed"));
    }
    for warning in &config.warnings {
        warn(warning);
    }
    if ralph_engine::lacks_summarizer(&config.settings) {
        let name = config.settings.progress_strategy.into_str();
        warn(&format!(
            "`{name}` has no command that summarizes, and works as `system-captured`: set `progress.command`"
        ));
    }
}

/// Returns everything that prevents a session, in the order in which a start refuses it. Runs nothing that the project names.
pub fn obstacles(inputs: &LoopInputs<'_>, context: &Context) -> Vec<Obstacle> {
    let LoopInputs { store, work_tree, feature, config, project_root, .. } = inputs;
    let mut obstacles = Vec::new();
    let mut check = |about: &'static str, yields_to_force: bool, checked: Result<()>| {
        obstacles.extend(checked.err().map(|error| (about, error, yields_to_force)));
    };
    check("repository", false, refuse_read_only(store.repository()));
    let fault = store.repository().fault.as_ref();
    let usable =
        fault.map_or(Ok(()), |fault| Err(Refusal::new(fault.text.clone()).with_hint(fault.command).into()));
    check("repository", false, usable);
    check("agents", false, check_agents(inputs, context).map_err(refusal));
    check("template", false, inputs.template.check().map_err(refusal));
    let settings = &config.settings;
    if let Some(command) = &settings.validation_command {
        check("validation", true, ralph_engine::check_validation(command, project_root));
    }
    check("validation", false, ralph_engine::check_protected(work_tree, settings, project_root));
    check("operation", true, ralph_engine::check_operation(work_tree));
    check(
        "feature",
        false,
        ralph_engine::check_progress_file(&feature.files, &feature.progress_path).map_err(refusal),
    );
    check("feature", false, ralph_engine::check_refs(store, feature));
    check("feature", false, check_name(settings, feature));
    check("feature", false, refuse_unknown_name(feature));
    if settings.commit == Commits::OfTasks {
        check("commits", false, ralph_engine::check_commits(work_tree));
    }
    obstacles
}

/// Returns what looks up variables for an agent, as it will have them.
fn lookup(config: &Config, context: &Context) -> impl Fn(&str) -> Option<String> {
    let is_fenced = config.settings.sandbox.is_some();
    move |name| match name {
        "IS_SANDBOX" if is_fenced => Some("1".to_owned()),
        name => context.environment.owned(name),
    }
}

/// Refuses if none of the agents can work.
fn check_agents(inputs: &LoopInputs<'_>, context: &Context) -> Result<()> {
    let lookup = lookup(inputs.config, context);
    let mut checked = Ok(());
    for Candidate { agent, .. } in &inputs.agents {
        match agent.check(&inputs.project_root, &lookup) {
            Ok(()) => return Ok(()),
            // The first complaint is of the preferred one.
            Err(error) => checked = checked.and(Err(error)),
        }
    }
    checked
}

/// Refuses a folder with a secret in its name: the name would become that of refs, which `sync` publishes.
fn check_name(settings: &Settings, feature: &Feature) -> Result<()> {
    let (shown, found) = redactor(settings)?.redact_text(feature.path.as_ref());
    if found.is_empty() {
        return Ok(());
    }
    let message = format!("the name of the folder `{shown}` holds a secret, and would be part of a ref name");
    Err(Refusal::new(message)
        .with_hint("rename the folder; if it is no secret, let `redaction.allow` match it")
        .into())
}

fn first_line(error: &Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}
