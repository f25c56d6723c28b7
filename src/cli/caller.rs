//! Who called us: from which folder and with which environment. Read once.

use std::ffi::{OsStr, OsString};

use anyhow::{Context, Result};
use camino::{Utf8Path, Utf8PathBuf};

use crate::process::Tool;
use crate::record::Refusal;

/// What tells spec-kit's scripts the project, wherever they are called.
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
        let here = Utf8PathBuf::from_path_buf(here)
            .map_err(|path| Refusal::new(format!("the current folder `{}` is not UTF-8", path.display())))?;
        let directory = match directory {
            None => here,
            Some(directory) => {
                let directory = here.join(directory);
                if !directory.is_dir() {
                    let refusal = Refusal::new(format!("`{directory}` is no folder"));
                    return Err(refusal.hinted("-C takes the folder to start in").into());
                }
                directory
            }
        };
        Ok(Self { directory, environment: Environment::read() })
    }

    /// Where project and repository are looked for: the project that spec-kit's variable names, else the folder.
    pub fn start(&self) -> Result<Utf8PathBuf> {
        let set = self.environment.value(INIT_DIR).filter(|set| !set.is_empty());
        let Some(set) = set else { return Ok(self.directory.clone()) };
        let named = self.directory.join(set.to_string_lossy().as_ref());
        if named.join(".specify").is_dir() {
            return Ok(named);
        }
        // As spec-kit's own scripts do: to work in another project than the one that was meant would be worse.
        let refusal = Refusal::new(format!("{INIT_DIR} names {named}, which is no project of spec-kit's"));
        Err(refusal.hinted("it must name the folder that holds `.specify/`; correct or unset it").into())
    }

    /// The folder that holds `.specify/`, else the top of the work tree, else the folder itself.
    pub fn project_root(&self) -> Result<Utf8PathBuf> {
        let start = self.start()?;
        let top = Tool::git_as_called(&start).args(["rev-parse", "--show-toplevel"]).line().ok();
        let top = top.map(Utf8PathBuf::from).filter(|top| !top.as_str().is_empty());
        // Git names the top without symlinks, so the way up to it must be looked for without them too.
        let directory = start.canonicalize_utf8().unwrap_or(start);
        let is_inside = |folder: &Utf8Path| top.as_ref().is_none_or(|top| folder.starts_with(top));
        let project = directory
            .ancestors()
            .take_while(|folder| is_inside(folder))
            .find(|at| at.join(".specify").is_dir());
        Ok(project.map(Utf8Path::to_owned).or(top).unwrap_or(directory))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_holds_the_settings_or_is_the_top_of_the_work_tree() {
        let folder = tempfile::tempdir().unwrap();
        let top = Utf8Path::from_path(folder.path()).unwrap().canonicalize_utf8().unwrap();
        let deep = top.join("services/login/src");
        std::fs::create_dir_all(&deep).unwrap();
        let caller = Caller { directory: deep.clone(), environment: Environment::default() };
        Tool::git(&top).args(["init", "--quiet"]).read().unwrap();
        assert_eq!(caller.project_root().unwrap(), top);
        std::fs::create_dir(top.join(".specify")).unwrap();
        assert_eq!(caller.project_root().unwrap(), top);
        std::fs::create_dir(top.join("services/login/.specify")).unwrap();
        assert_eq!(caller.project_root().unwrap(), top.join("services/login"));
    }
}
