//! Gathers the layers of the configuration: the file, git's, the environment's, and the flags.

use anyhow::Result;
use camino::Utf8Path;
use redact_stream::Redactor;
use serde::{Deserialize, Serialize};

use ralph_core::config::{ALLOW_LINKS, Config, FlagInput, GIT_PREFIX, GitInput, Inputs, VARIABLE_PREFIX};
use ralph_core::record::{IfThere, Refusal};
use ralph_engine::redactor;
use ralph_git::repository::list_settings;
use ralph_project::project_files::{MAX_SETTINGS_BYTES, allowed_folders, explain};

use super::{Context, Project, refusal};

/// The project's settings, from its root.
pub const FILE: &str = ".specify/ralph.toml";

/// The flags that are settings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flags {
    pub settings: Vec<FlagInput>,
    pub agent_command: Option<String>,
    /// The type of loop.
    pub loop_type: Option<String>,
}

/// All layers, as they were read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layers {
    /// The text of the project's file.
    pub file: Option<String>,
    pub git: Vec<GitInput>,
    pub environment: Vec<(String, String)>,
    pub flags: Flags,
}

impl Layers {
    fn read(project: &Project, git: Vec<GitInput>, context: &Context, flags: Flags) -> Result<Self> {
        let file = match read_file(project)?.map(String::from_utf8).transpose() {
            Ok(file) => file,
            Err(error) => {
                // It says where.
                config_of(Some(error.as_bytes()), &Self::default())?;
                return Err(error.into());
            }
        };
        Ok(Self { file, git, environment: environment(context)?, flags })
    }

    pub fn config(&self) -> Result<Config> {
        config_of(self.file.as_deref().map(str::as_bytes), self)
    }

    /// Returns the values that permit links to lead out of the work tree.
    pub fn allowed_links(&self) -> impl Iterator<Item = &str> {
        let set = self.git.iter().filter(|input| input.key == ALLOW_LINKS);
        set.map(|input| input.value.as_deref().unwrap_or("true"))
    }
}

fn config_of(file: Option<&[u8]>, layers: &Layers) -> Result<Config> {
    let Layers { git, environment, flags, .. } = layers.clone();
    Config::read(&Inputs {
        file: file.map(|bytes| (Utf8Path::new(FILE), bytes)),
        git,
        environment,
        flags: flags.settings,
        agent_command: flags.agent_command,
        loop_type: flags.loop_type,
    })
}

/// Returns the project of the context, in a repository or not, and its configuration.
pub fn load_here(context: &Context, flags: Flags) -> Result<(Project, Config)> {
    let git = git(context)?;
    let project = allowing(context.project()?, &git, context)?;
    let config = Layers::read(&project, git, context, flags)?.config()?;
    Ok((project, config))
}

/// Returns the project of the context, with the links that git's configuration permits.
pub fn project(context: &Context) -> Result<Project> {
    allowing(context.project()?, &git(context)?, context)
}

fn allowing(project: Project, git: &[GitInput], context: &Context) -> Result<Project> {
    let layers = Layers { git: git.to_vec(), ..Layers::default() };
    let folders = allowed_folders(layers.allowed_links(), context.home().as_deref())?;
    Ok(Project { files: project.files.allowing(&folders), ..project })
}

fn read_file(project: &Project) -> Result<Option<Vec<u8>>> {
    let path = project.root.join(FILE);
    let read = project.files.read(&path, MAX_SETTINGS_BYTES).if_there();
    read.map_err(|error| refusal(explain("read", &path, error)))
}

/// Returns what takes secrets out of what is printed; `None` if the user wants to see everything.
pub fn terminal_redactor(config: &Config) -> Result<Option<Redactor>> {
    config.settings.redaction_terminal.then(|| redactor(&config.settings)).transpose()
}

/// Returns the effective configuration of the project that a repository holds.
pub fn load_in(context: &Context, flags: Flags) -> Result<(Project, Config)> {
    let config = layers_in(context, flags)?.config()?;
    Ok((project_in(context)?, config))
}

/// Returns the project that a repository holds.
pub fn project_in(context: &Context) -> Result<Project> {
    let files = context.work_tree()?.project_files()?;
    Ok(Project { root: context.project_root()?, files })
}

/// Returns all layers for the project that a repository holds.
pub fn layers_in(context: &Context, flags: Flags) -> Result<Layers> {
    Layers::read(&project_in(context)?, git(context)?, context, flags)
}

/// Returns the configuration without the project's file, which may have come with a clone.
pub fn load_without_file(context: &Context) -> Result<Config> {
    let layers = Layers { git: git(context)?, environment: environment(context)?, ..Layers::default() };
    layers.config()
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
        let environment = super::super::Environment(vec![("SPECKIT_RALPH_MODEL".into(), "opus".into())]);
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
