//! Which feature a command is about: found from flags, spec-kit's own settings, the branch, or what lies in `specs/`.

mod files;
mod search;

use anyhow::{Context, Result};
use camino::{Utf8Path, Utf8PathBuf};

use ralph_os::platform::canonicalize;

use crate::project_files::ProjectFiles;

use search::{Search, numbered_name};

pub use files::Feature;
pub use search::{FEATURE_FILE, is_part, without_dots};

/// Everything that may name a feature. Values of the environment come in from outside.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FeatureQuery {
    /// `--feature`: a path or a name.
    pub flag: Option<String>,
    /// `--tasks`: any file with a task list.
    pub tasks_file: Option<Utf8PathBuf>,
    /// The variable `SPECIFY_FEATURE_DIRECTORY`.
    pub specify_feature_directory: Option<String>,
    /// The branch that is checked out.
    pub branch: Option<String>,
    /// The variable `SPECIFY_FEATURE`, which older versions of spec-kit take instead of the branch's name.
    pub specify_feature: Option<String>,
}

/// Returns the folder that holds `.specify/`, looked for from `cwd` up to the top of the work tree; else that top.
pub fn project_root(cwd: &Utf8Path, worktree_top: &Utf8Path) -> Utf8PathBuf {
    let [cwd, top] = [cwd, worktree_top].map(|path| canonicalize(path).unwrap_or_else(|_| path.to_owned()));
    let within = cwd.ancestors().take_while(|folder| folder.starts_with(&top));
    let found = within.filter(|folder| folder.join(".specify").is_dir()).map(Utf8Path::to_owned).next();
    found.unwrap_or(top)
}

/// Returns the names of the features in `specs/`.
pub fn names(project_root: &Utf8Path, files: &ProjectFiles) -> Result<Vec<String>> {
    let (root, top) = (project_root.to_owned(), files.top().to_owned());
    Search { root, cwd: top.clone(), top, files: files.clone() }.names()
}

/// Finds the feature. `has_open_tasks` is asked for task lists in `specs/` if nothing names one of them.
pub fn find(
    query: &FeatureQuery,
    project_root: &Utf8Path,
    files: &ProjectFiles,
    cwd: &Utf8Path,
    has_open_tasks: impl Fn(&Utf8Path) -> bool,
) -> Result<Feature> {
    let search = Search {
        root: canonicalize(project_root).with_context(|| format!("open {project_root}"))?,
        top: files.top().to_owned(),
        files: files.clone(),
        cwd: canonicalize(cwd).with_context(|| format!("open {cwd}"))?,
    };
    if let Some(flag) = &query.flag {
        return search.named(flag);
    }
    if let Some(file) = &query.tasks_file {
        return search.of_file(file);
    }
    if let Some(directory) = query.specify_feature_directory.as_deref().filter(|it| !it.trim().is_empty()) {
        return search.set("SPECIFY_FEATURE_DIRECTORY", directory, "correct or unset the variable");
    }
    if let Some(directory) = search.noted()? {
        let found =
            search.set(FEATURE_FILE, &directory, "correct the file, or name a feature with --feature")?;
        // A branch that names several features says nothing against the file.
        let named = query.branch.as_deref().map(|branch| search.by_prefix(branch));
        let is_unknown = matches!(named, Some(Ok(None)));
        let unknown_name = query.branch.as_deref().filter(|_| is_unknown).and_then(numbered_name);
        let branch_feature = named.and_then(|named| named.ok().flatten()).map(|named| named.path);
        let branch_feature = branch_feature.filter(|path| *path != found.path);
        return Ok(Feature { branch_feature, unknown_name, is_noted: true, ..found });
    }
    let labels = [&query.specify_feature, &query.branch].into_iter().flatten();
    for label in labels.clone() {
        if let Some(feature) = search.by_prefix(label)? {
            return Ok(feature);
        }
    }
    let unknown_name = labels.into_iter().find_map(|label| numbered_name(label));
    Ok(Feature { unknown_name, ..search.only(has_open_tasks)? })
}

#[cfg(test)]
mod tests;
