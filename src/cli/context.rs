//! The context of a command: who called, and what it works on. The records are opened when they are first asked for.

use std::io::IsTerminal;
use std::sync::OnceLock;

use anyhow::{Context as _, Error, Result};
use camino::{Utf8Path, Utf8PathBuf};
use clap::{Args, ColorChoice};

use ralph_core::record::{Refusal, Timestamp};
use ralph_engine::UsersTree;
use ralph_git::repository::Repository;
use ralph_git::worktree::WorkTree;
use ralph_os::clock::Clock;
use ralph_os::platform::canonicalize;
use ralph_os::process::Tool;
use ralph_project::feature::{self, Feature, FeatureQuery};
use ralph_project::project_files::ProjectFiles;
use ralph_project::tasks;
use ralph_store::Store;
use ralph_ui::style::Paint;

use crate::cli::environment::{Environment, INIT_DIR};
use crate::cli::output::warn;
use crate::cli::start::lane;

/// What every command takes.
#[derive(Debug, Args)]
pub struct Everywhere {
    /// Run as if started in this folder
    #[arg(short = 'C', value_name = "DIR", global = true, display_order = 990)]
    pub directory: Option<Utf8PathBuf>,
    /// Use colours
    #[arg(long, value_name = "WHEN", global = true, default_value = "auto", display_order = 991)]
    pub color: ColorChoice,
}

/// What every command gets.
#[derive(Debug, Clone)]
pub struct Context {
    /// Absolute; `-C` included.
    pub directory: Utf8PathBuf,
    pub environment: Environment,
    pub color: ColorChoice,
    pub paint: Paint,
    place: OnceLock<(Store, Option<WorkTree>)>,
}

impl Context {
    pub fn new(everywhere: &Everywhere) -> Result<Self> {
        let here = std::env::current_dir().context("find the current folder")?;
        let here = Utf8PathBuf::from_path_buf(here).map_err(|path| {
            let path = path.display();
            Refusal::new(format!(
                "the name of the current folder `{path}` is not UTF-8, and paths are recorded as UTF-8"
            ))
            .with_hint("rename the folder, or work in a copy that has another name")
        })?;
        let directory = everywhere.directory.as_ref().map_or(here.clone(), |directory| here.join(directory));
        if !directory.is_dir() {
            let refusal = Refusal::new(format!("`{directory}` is not a directory"));
            return Err(refusal.with_hint("-C names the folder to start in").into());
        }
        Ok(Self::at(directory, Environment::read(), everywhere.color))
    }

    /// Returns the context of a call in another folder.
    pub fn at(directory: Utf8PathBuf, environment: Environment, color: ColorChoice) -> Self {
        let paint = paint(color, &environment);
        Self { directory, environment, color, paint, place: OnceLock::new() }
    }

    /// Returns the records of the repository that the caller is in.
    pub fn store(&self) -> Result<&Store> {
        self.place().map(|(store, _)| store)
    }

    /// Returns the work tree that the caller is in, or the refusal that a loop needs one.
    pub fn work_tree(&self) -> Result<&WorkTree> {
        let (store, work_tree) = self.place()?;
        work_tree.as_ref().ok_or_else(|| {
            let place = &store.repository().common_dir;
            Refusal::new(format!("{place} is a bare repository, but a loop needs a work tree"))
                .with_hint("create one with `git worktree add DIR` and run the loop there")
                .into()
        })
    }

    /// Warns of a setting with which git does not work here.
    pub fn warn_of_fault(&self) {
        let fault = self.store().ok().and_then(|store| store.repository().fault.as_ref());
        if let Some(fault) = fault {
            warn(&format!("{}\nhint: {}", fault.text, fault.command));
        }
    }

    fn place(&self) -> Result<&(Store, Option<WorkTree>)> {
        if let Some(place) = self.place.get() {
            return Ok(place);
        }
        let author = ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL"].map(|name| self.environment.owned(name));
        let (repository, work_tree) = Repository::discover(&self.start()?, &author, self.home())?;
        let store = Store::new(repository).warning_with(Some(warn));
        Ok(self.place.get_or_init(|| (store, work_tree)))
    }

    /// Returns the same context with records that warn of nothing: the screen says what is left out, a shell has no place
    /// for it.
    pub fn without_warnings(&self) -> Result<Self> {
        let (store, work_tree) = self.place()?.clone();
        Ok(Self { place: (store.warning_with(None), work_tree).into(), ..self.clone() })
    }

    /// Returns the same context with links permitted as these values of `ralph.allowLinks` say, and no others.
    pub fn permitting_links(&self, values: Vec<String>) -> Result<Self> {
        let (store, work_tree) = self.place()?.clone();
        let work_tree = work_tree.map(|work_tree| work_tree.permitting_links(values));
        Ok(Self { place: (store, work_tree).into(), ..self.clone() })
    }

    /// Returns the same context with no filter of git's run on files of the work tree.
    pub fn without_filters(&self) -> Result<Self> {
        let (store, work_tree) = self.place()?.clone();
        let work_tree = work_tree.map(WorkTree::unfiltered).transpose()?;
        Ok(Self { place: (store, work_tree).into(), ..self.clone() })
    }

    /// Returns the work tree of the call, as another checkout must be apart from it.
    pub fn users_tree(&self) -> Result<UsersTree> {
        let variables = self.environment.iter();
        let variables = variables.filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)));
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Ok(UsersTree::new(self.work_tree()?, variables.collect()))
    }

    /// Returns the context of a call in another work tree of the repository.
    pub fn in_work_tree(&self, work_tree: WorkTree) -> Result<Self> {
        let (store, here) = self.place()?.clone();
        let root = self.project_root()?;
        let from = here.as_ref().and_then(|here| root.strip_prefix(here.top()).ok());
        let directory = from.map_or_else(|| work_tree.top().to_owned(), |from| work_tree.top().join(from));
        let environment = self.environment.for_another_work_tree();
        Ok(Self { directory, environment, place: (store, Some(work_tree)).into(), ..self.clone() })
    }

    /// Returns the caller's clock.
    pub fn clock(&self) -> Result<Clock> {
        Clock::new(self.environment.text(Clock::VARIABLE))
    }

    pub fn now(&self) -> Result<Timestamp> {
        Ok(self.clock()?.now())
    }

    /// Returns what looks up variables for an agent.
    pub fn lookup(&self) -> impl Fn(&str) -> Option<String> {
        |name| self.environment.owned(name)
    }

    /// Returns the user's home folder.
    pub fn home(&self) -> Option<String> {
        self.environment
            .owned("HOME")
            .or_else(|| cfg!(windows).then(|| self.environment.owned("USERPROFILE")).flatten())
    }

    /// Returns the folder for what can be made anew, of all programs; `None` if HOME is not set.
    pub fn cache_dir(&self) -> Option<Utf8PathBuf> {
        self.user_dir("XDG_CACHE_HOME", ".cache")
    }

    /// Returns a folder of the user's for all programs: the one that a variable names, else the one that is usual below HOME.
    pub fn user_dir(&self, variable: &str, usual: &str) -> Option<Utf8PathBuf> {
        // Windows has one for all that stays on this machine.
        let set = self
            .environment
            .owned(variable)
            .or_else(|| cfg!(windows).then(|| self.environment.owned("LOCALAPPDATA")).flatten())
            .map(Utf8PathBuf::from);
        // A relative one is invalid by the standard.
        set.filter(|set| set.is_absolute())
            .or_else(|| self.home().map(|home| Utf8PathBuf::from(home).join(usual)))
    }

    /// Returns where project and repository are looked for: the project that spec-kit's variable names, else the
    /// folder.
    pub fn start(&self) -> Result<Utf8PathBuf> {
        let set = self.environment.value(INIT_DIR).filter(|set| !set.is_empty());
        let Some(set) = set else { return Ok(self.directory.clone()) };
        let named = self.directory.join(set.to_string_lossy().as_ref());
        if named.join(".specify").is_dir() {
            return Ok(named);
        }
        // As spec-kit's own scripts do: to work in another project than the one that was meant would be worse.
        let refusal = Refusal::new(format!("{INIT_DIR} names {named}, which is not a spec-kit project"));
        Err(refusal.with_hint("it must name the folder that holds `.specify/`; correct or unset it").into())
    }

    /// Returns the root of the project in this repository.
    pub fn project_root(&self) -> Result<Utf8PathBuf> {
        Ok(feature::project_root(&self.start()?, self.work_tree()?.top()))
    }

    /// Returns the feature that the flags, the environment or the project name.
    pub fn feature(&self, flag: Option<&String>, tasks_file: Option<&Utf8PathBuf>) -> Result<Feature> {
        self.find_feature(flag, tasks_file).map_err(refusal)
    }

    /// Returns the same for a command that only reads: a flag that names nothing is a wrong name like any other, and the task
    /// list of a session in a lane is that of its branch.
    pub fn feature_to_read(&self, flag: Option<&String>) -> Result<Feature> {
        let found = self.find_feature(flag, None);
        lane::at_tip(found.map_err(|error| if flag.is_some() { error } else { refusal(error) })?, self)
    }

    fn find_feature(&self, flag: Option<&String>, tasks_file: Option<&Utf8PathBuf>) -> Result<Feature> {
        let work_tree = self.work_tree()?;
        let query = FeatureQuery {
            flag: flag.cloned(),
            tasks_file: tasks_file.cloned(),
            specify_feature_directory: self.environment.owned("SPECIFY_FEATURE_DIRECTORY"),
            branch: work_tree.branch()?,
            specify_feature: self.environment.owned("SPECIFY_FEATURE"),
        };
        let files = work_tree.project_files()?;
        feature::find(&query, &self.project_root()?, &files, &self.directory, |path| {
            tasks::may_have_open_tasks(&files, path)
        })
    }

    /// Returns the feature that a record names by its path, as it is here now.
    pub fn recorded_feature(&self, path: &str) -> Result<Feature> {
        let place = self.work_tree()?.top().join(path);
        if place.is_file() {
            self.feature(None, Some(&place))
        } else {
            self.feature(Some(&place.into_string()), None)
        }
    }

    /// Returns the same with the task list of its branch, if its newest session works in a lane.
    pub fn recorded_feature_to_read(&self, path: &str) -> Result<Feature> {
        lane::at_tip(self.recorded_feature(path)?, self)
    }

    /// Returns the project: the folder that holds `.specify/`, else the top of the work tree, else the folder itself.
    pub fn project(&self) -> Result<Project> {
        let start = self.start()?;
        let places = ["--git-dir", "--git-common-dir", "--show-toplevel"];
        let git = Tool::git_as_called(&start).args(["rev-parse", "--path-format=absolute"]).args(places);
        // Outside of a repository it names none of them, in a bare one no top.
        let answer = git.run().map(|answer| answer.stdout).unwrap_or_default();
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let mut lines = answer.lines().map(Utf8Path::new);
        let git_directories: Vec<&Utf8Path> = lines.by_ref().take(2).collect();
        let top = lines.next().map(Utf8Path::to_owned);
        // Git names the top without symlinks, so the way up to it must be looked for without them too.
        let directory = canonicalize(&start).unwrap_or(start);
        let project = directory
            .ancestors()
            .take_while(|folder| top.as_ref().is_none_or(|top| folder.starts_with(top)))
            .find(|at| at.join(".specify").is_dir());
        let root = project.map(Utf8Path::to_owned).or_else(|| top.clone()).unwrap_or(directory);
        let files = ProjectFiles::new(top.as_deref().unwrap_or(&root), &git_directories, &[]);
        Ok(Project { root, files })
    }
}

/// A project, in a repository or not.
#[derive(Debug)]
pub struct Project {
    pub root: Utf8PathBuf,
    /// Without the folders that git's configuration permits links to.
    pub files: ProjectFiles,
}

/// Turns an error before the start into a refusal to start.
pub fn refusal(error: Error) -> Error {
    if error.downcast_ref::<Refusal>().is_some() { error } else { Refusal::new(format!("{error:#}")).into() }
}

/// Refuses to start, with what helps.
pub fn refuse<T>(message: impl Into<String>, hint: impl Into<String>) -> Result<T> {
    Err(Refusal::new(message).with_hint(hint).into())
}

/// Colours where a person looks on, unless the user says otherwise.
pub(super) fn paint(color: ColorChoice, environment: &Environment) -> Paint {
    let is_wanted = match color {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => {
            let is_off = environment.value("NO_COLOR").is_some_and(|value| !value.is_empty());
            !is_off && std::io::stdout().is_terminal()
        }
    };
    if is_wanted { Paint::Colour } else { Paint::Plain }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_os::process::is_without_git_of_the_user;

    #[test]
    fn the_root_holds_the_settings_or_is_the_top_of_the_work_tree() {
        let name = "cli::context::tests::the_root_holds_the_settings_or_is_the_top_of_the_work_tree";
        if !is_without_git_of_the_user(name) {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let top = Utf8Path::from_path(folder.path()).unwrap().canonicalize_utf8().unwrap();
        let deep = top.join("services/login/src");
        std::fs::create_dir_all(&deep).unwrap();
        let context = Context::at(deep.clone(), Environment::default(), ColorChoice::Never);
        Tool::git(&top).args(["init", "--quiet"]).read().unwrap();
        assert_eq!(context.project().unwrap().root, top);
        std::fs::create_dir(top.join(".specify")).unwrap();
        assert_eq!(context.project().unwrap().root, top);
        std::fs::create_dir(top.join("services/login/.specify")).unwrap();
        assert_eq!(context.project().unwrap().root, top.join("services/login"));
    }
}
