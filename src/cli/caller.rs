//! Who called us: from which folder and with which environment. Read once.

use std::ffi::{OsStr, OsString};

use anyhow::{Context, Result};
use camino::{Utf8Path, Utf8PathBuf};

use crate::process::Tool;
use crate::project_files::ProjectFiles;
use crate::record::Refusal;

/// Variable by which spec-kit's scripts find the project, wherever they are called.
const INIT_DIR: &str = "SPECIFY_INIT_DIR";

/// The variables of a call.
#[derive(Debug, Clone, Default)]
pub struct Environment(Vec<(OsString, OsString)>);

impl Environment {
    pub fn read() -> Self {
        std::env::vars_os().collect()
    }

    pub fn value(&self, name: &str) -> Option<&OsStr> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// The same without what names another project.
    pub fn for_another_project(&self) -> Self {
        let mine = |(name, _): &(OsString, OsString)| name != INIT_DIR;
        Self(self.0.iter().filter(|variable| mine(variable)).cloned().collect())
    }

    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }
}

impl FromIterator<(OsString, OsString)> for Environment {
    fn from_iter<I: IntoIterator<Item = (OsString, OsString)>>(variables: I) -> Self {
        Self(variables.into_iter().collect())
    }
}

/// The folder and the environment of a call.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Absolute; `-C` included.
    pub directory: Utf8PathBuf,
    pub environment: Environment,
}

impl Caller {
    /// `directory` is the argument of `-C`.
    pub fn new(directory: Option<&Utf8Path>) -> Result<Self> {
        let here = std::env::current_dir().context("find the current folder")?;
        let here = Utf8PathBuf::from_path_buf(here).map_err(|path| {
            let path = path.display();
            Refusal::new(format!(
                "the name of the current folder `{path}` is not UTF-8, and paths are recorded as UTF-8"
            ))
            .hinted("rename the folder, or work in a copy that has another name")
        })?;
        let directory = match directory {
            None => here,
            Some(directory) => {
                let directory = here.join(directory);
                if !directory.is_dir() {
                    let refusal = Refusal::new(format!("`{directory}` is not a directory"));
                    return Err(refusal.hinted("-C names the folder to start in").into());
                }
                directory
            }
        };
        Ok(Self { directory, environment: Environment::read() })
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
        Err(refusal.hinted("it must name the folder that holds `.specify/`; correct or unset it").into())
    }

    /// Returns the user's home folder.
    pub fn home(&self) -> Option<String> {
        self.environment.value("HOME").and_then(OsStr::to_str).map(str::to_owned)
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
        let directory = start.canonicalize_utf8().unwrap_or(start);
        let is_inside = |folder: &Utf8Path| top.as_ref().is_none_or(|top| folder.starts_with(top));
        let project = directory
            .ancestors()
            .take_while(|folder| is_inside(folder))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::is_without_git_of_the_user;

    #[test]
    fn the_root_holds_the_settings_or_is_the_top_of_the_work_tree() {
        let name = "cli::caller::tests::the_root_holds_the_settings_or_is_the_top_of_the_work_tree";
        if !is_without_git_of_the_user(name) {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let top = Utf8Path::from_path(folder.path()).unwrap().canonicalize_utf8().unwrap();
        let deep = top.join("services/login/src");
        std::fs::create_dir_all(&deep).unwrap();
        let caller = Caller { directory: deep.clone(), environment: Environment::default() };
        Tool::git(&top).args(["init", "--quiet"]).read().unwrap();
        assert_eq!(caller.project().unwrap().root, top);
        std::fs::create_dir(top.join(".specify")).unwrap();
        assert_eq!(caller.project().unwrap().root, top);
        std::fs::create_dir(top.join("services/login/.specify")).unwrap();
        assert_eq!(caller.project().unwrap().root, top.join("services/login"));
    }
}
