//! Gathers the layers of the configuration: the file, git's, the environment's, and the flags.

use anyhow::Result;
use redact_stream::Redactor;

use ralph_core::config::{
    ALLOW_LINKS, Config, FILE, Flags, GIT_PREFIX, GitInput, Inputs, VARIABLE_PREFIX, file_text,
};
use ralph_core::record::Refusal;
use ralph_engine::redactor;
use ralph_git::repository::list_settings;
use ralph_os::if_there::IfThere;
use ralph_project::project_files::{MAX_SETTINGS_BYTES, allowed_folders, explain};

use crate::cli::{Context, Project, refusal};

/// Returns all layers, as they are set now.
pub fn inputs(project: &Project, context: &Context, flags: Flags) -> Result<Inputs> {
    let path = project.root.join(FILE);
    let file = project.files.read(&path, MAX_SETTINGS_BYTES).if_there();
    let file = file.map_err(|error| refusal(explain("read", &path, error)))?;
    let file = file.map(file_text).transpose()?;
    Ok(Inputs { file, ..inputs_without_file(context, flags)? })
}

/// Returns the layers that are not in the work tree.
pub fn inputs_without_file(context: &Context, flags: Flags) -> Result<Inputs> {
    Ok(Inputs { file: None, git: git(context)?, environment: environment(context)?, flags })
}

/// Returns the project of the context, in a repository or not, and its configuration.
pub fn load_here(context: &Context, flags: Flags) -> Result<(Project, Config)> {
    let project = project(context)?;
    let config = Config::read(&inputs(&project, context, flags)?)?;
    Ok((project, config))
}

/// Returns the project of the context, with the links that git's configuration permits.
pub fn project(context: &Context) -> Result<Project> {
    if context.work_tree().is_ok() {
        return project_in(context);
    }
    let (git, project) = (git(context)?, context.project()?);
    let links = git.iter().filter(|input| input.key == ALLOW_LINKS);
    let links = links.map(|input| input.value.as_deref().unwrap_or("true"));
    let folders = allowed_folders(links, context.home().as_deref())?;
    Ok(Project { files: project.files.allowing(&folders), ..project })
}

/// Returns what takes secrets out of what is printed; `None` if the user wants to see everything.
pub fn terminal_redactor(config: &Config) -> Result<Option<Redactor>> {
    config.settings.redaction_terminal.then(|| redactor(&config.settings)).transpose()
}

/// Returns the effective configuration of the project that a repository holds.
pub fn load_in(context: &Context, flags: Flags) -> Result<Config> {
    Config::read(&inputs(&project_in(context)?, context, flags)?)
}

/// Returns the project that a repository holds.
pub fn project_in(context: &Context) -> Result<Project> {
    let files = context.work_tree()?.project_files()?;
    Ok(Project { root: context.project_root()?, files })
}

/// Returns the configuration without the project's file, which may have come with a clone.
pub fn load_without_file(context: &Context) -> Result<Config> {
    Config::read(&inputs_without_file(context, Flags::default())?)
}

/// Returns what git's configuration says of ours: in a repository as it was found, outside of one that of the user.
fn git(context: &Context) -> Result<Vec<GitInput>> {
    if let Ok(store) = context.store() {
        return Ok(store.repository().own_settings.clone());
    }
    let mut listed = list_settings(&context.start()?)?;
    listed.retain(|input| input.key.starts_with(GIT_PREFIX));
    Ok(listed)
}

fn environment(context: &Context) -> Result<Vec<(String, String)>> {
    let mut ours = Vec::new();
    for (name, value) in context.environment.iter() {
        let Some(name) = name.to_str().filter(|name| name.starts_with(VARIABLE_PREFIX)) else { continue };
        let Some(value) = value.to_str() else {
            return Err(Refusal::new(format!("{name}: not UTF-8")).into());
        };
        ours.push((name.to_owned(), value.to_owned()));
    }
    Ok(ours)
}

#[cfg(test)]
mod tests {
    use camino::Utf8Path;

    use super::*;
    use ralph_os::process::{Tool, is_without_git_of_the_user};

    #[test]
    fn the_layers_of_a_real_project_come_together() {
        let name = "cli::settings::tests::the_layers_of_a_real_project_come_together";
        if !is_without_git_of_the_user(name) {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(folder.path()).unwrap();
        Tool::git(root).args(["init", "--quiet"]).read().unwrap();
        Tool::git(root).args(["config", "ralph.progress.maxEntries", "7"]).read().unwrap();
        std::fs::create_dir(root.join(".specify")).unwrap();
        std::fs::write(root.join(FILE), "max-iterations = 4\n").unwrap();
        let environment = crate::cli::Environment(vec![("SPECKIT_RALPH_MODEL".into(), "opus".into())]);
        let context = Context::at(root.to_owned(), environment, clap::ColorChoice::Never);
        let (_, config) = load_here(&context, Flags::default()).unwrap();
        assert_eq!(config.settings.max_iterations, 4);
        assert_eq!(config.settings.progress_max_entries, 7);
        assert_eq!(config.settings.model.as_deref(), Some("opus"));
        let origins: Vec<_> = config
            .values
            .iter()
            .map(|setting| setting.origin.to_string())
            .filter(|origin| origin != "default")
            .collect();
        let expected =
            ["SPECKIT_RALPH_MODEL", ".specify/ralph.toml:1", "git config ralph.progress.maxEntries (local)"];
        assert_eq!(origins, expected);
    }
}
