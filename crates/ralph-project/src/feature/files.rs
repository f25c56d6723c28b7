//! A feature and where its files are.

use camino::{Utf8Path, Utf8PathBuf};

use crate::project_files::ProjectFiles;

/// A feature and its files, which need not exist. All paths but `path` are absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feature {
    pub name: String,
    pub dir: Utf8PathBuf,
    /// From the repository's root: of the directory, or of the file that `--tasks` names.
    pub path: String,
    pub tasks_path: Utf8PathBuf,
    pub spec_path: Utf8PathBuf,
    pub plan_path: Utf8PathBuf,
    pub progress_path: Utf8PathBuf,
    /// Another feature that the branch names, where spec-kit's file names this one.
    pub branch_feature: Option<String>,
    /// What the branch or `SPECIFY_FEATURE` names with a number of spec-kit's, if no folder in `specs/` has that name.
    pub unknown_name: Option<String>,
    /// True if spec-kit's own file names it, and nothing had to be guessed.
    pub is_noted: bool,
    /// By which these are read and written.
    pub files: ProjectFiles,
}

impl Feature {
    /// Returns the same feature in another work tree of the repository; `from` is the top of this one.
    #[must_use]
    pub fn in_tree(&self, from: &Utf8Path, files: &ProjectFiles) -> Self {
        let mut feature = Self { files: files.clone(), ..self.clone() };
        for path in [
            &mut feature.dir,
            &mut feature.tasks_path,
            &mut feature.spec_path,
            &mut feature.plan_path,
            &mut feature.progress_path,
        ] {
            if let Ok(below) = path.strip_prefix(from) {
                *path = files.top().join(below);
            }
        }
        feature
    }

    /// Returns its folder from the project's root, as spec-kit names a feature; `None` for a list that `--tasks` names.
    pub fn directory_in(&self, project_root: &Utf8Path) -> Option<&Utf8Path> {
        let is_folder = self.dir.ends_with(&self.path);
        self.dir.strip_prefix(project_root).ok().filter(|_| is_folder)
    }

    /// Returns the feature whose files are in `dir`.
    pub(super) fn in_directory(dir: Utf8PathBuf, name: String, path: String, files: &ProjectFiles) -> Self {
        Self {
            name,
            path,
            tasks_path: dir.join("tasks.md"),
            spec_path: dir.join("spec.md"),
            plan_path: dir.join("plan.md"),
            progress_path: dir.join("progress.txt"),
            branch_feature: None,
            unknown_name: None,
            is_noted: false,
            files: files.clone(),
            dir,
        }
    }
}
