//! The ways in which something names a feature.

use std::io::{self, ErrorKind};
use std::sync::LazyLock;

use anyhow::{Context, Error, Result, anyhow, bail};
use camino::{Utf8Path, Utf8PathBuf};
use regex::Regex;
use serde_json::Value;

use ralph_os::if_there::IfThere;

use super::files::Feature;
use crate::project_files::{MAX_SETTINGS_BYTES, ProjectFiles, Refused, explain, refused};

/// Where spec-kit notes the current feature, from the project's root.
pub const FEATURE_FILE: &str = ".specify/feature.json";

const FEATURE_FILE_HINT: &str =
    "hint: it should be like {\"feature_directory\": \"specs/001-login\"}; or name a feature with --feature";

/// `20260131-120000-` or `001-` at the front of a branch's name.
static PREFIX: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^(\d{8}-\d{6}|\d{3,})-").expect("a valid expression"));

#[derive(Debug)]
pub(super) struct Search {
    pub root: Utf8PathBuf,
    pub top: Utf8PathBuf,
    pub cwd: Utf8PathBuf,
    pub files: ProjectFiles,
}

impl Search {
    /// Returns the feature of a directory that exists.
    fn of_directory(&self, directory: &Utf8Path) -> Result<Feature> {
        let dir = self.files.locate(directory).map_err(|error| self.not_located(directory, error))?;
        let path = self.path_from_top(&dir);
        if path.is_empty() {
            bail!(
                "{dir} is the top of the work tree, not a feature\nhint: name a task list in it with --tasks FILE"
            );
        }
        let name = dir.file_name().unwrap_or(&path).to_owned();
        Ok(Feature::in_directory(dir, name, path, &self.files))
    }

    /// Returns the feature of a file with a task list.
    pub(super) fn of_file(&self, file: &Utf8Path) -> Result<Feature> {
        let written = self.cwd.join(file);
        let tasks_path = match self.files.locate(&written) {
            Ok(path) => path,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                bail!("there is no task list at {written}\nhint: --tasks takes the path of a Markdown file")
            }
            Err(error) => return Err(self.not_located(&written, error)),
        };
        let path = self.path_from_top(&tasks_path);
        if tasks_path.is_dir() {
            bail!(
                "{tasks_path} is a directory, not a task list\nhint: name the file in it, or give the directory to --feature"
            );
        }
        let dir = tasks_path.parent().unwrap_or(&self.top).to_owned();
        let own_name = tasks_path.file_name().unwrap_or(&path);
        let name = match dir.file_name() {
            Some(directory) if own_name == "tasks.md" && dir != self.top => directory.to_owned(),
            _ => own_name.to_owned(),
        };
        Ok(Feature { tasks_path, ..Feature::in_directory(dir, name, path, &self.files) })
    }

    /// `path` from the top of the work tree, with slashes.
    fn path_from_top(&self, path: &Utf8Path) -> String {
        let inner = path.strip_prefix(&self.top).unwrap_or(path);
        inner.components().map(|part| part.as_str()).collect::<Vec<_>>().join("/")
    }

    fn not_located(&self, path: &Utf8Path, error: io::Error) -> Error {
        let is_outside = matches!(refused(&error), Some(Refused::Outside(_)));
        if is_outside && !without_dots(path).starts_with(&self.top) {
            return anyhow!(
                "{path} lies outside the repository at {}\n\
                 hint: the record of a feature lives in its repository; name a feature inside, or change to the other one",
                self.top
            );
        }
        explain("open", path, error)
    }

    /// `--feature`: a path, a name in `specs/`, the number before one, or a part of it.
    pub(super) fn named(&self, flag: &str) -> Result<Feature> {
        let as_name = self.root.join("specs").join(flag);
        let is_plain = !flag.is_empty() && !flag.contains('/') && !flag.starts_with('.');
        if is_plain && as_name.is_dir() {
            return self.of_directory(&as_name);
        }
        for base in [&self.cwd, &self.root, &self.top] {
            let path = base.join(flag);
            if flag.is_empty() {
                break;
            } else if path.is_dir() {
                return self.of_directory(&path);
            } else if path.is_file() {
                bail!(
                    "{path} is a file, not the directory of a feature\nhint: name a task list with --tasks"
                );
            }
        }
        match self.like(flag)?.as_slice() {
            [only] => self.of_directory(&self.root.join("specs").join(only)),
            [] => bail!("there is no feature `{flag}`\n{}", self.candidates_hint()),
            several => {
                bail!("`{flag}` is ambiguous: {}\nhint: pass the whole name to --feature", several.join(", "))
            }
        }
    }

    /// Returns the names in `specs/` that begin with the number `flag`, or else those of which it is a part.
    pub(super) fn like(&self, flag: &str) -> Result<Vec<String>> {
        let is_name = !flag.is_empty() && !flag.contains('/') && !flag.starts_with('.');
        let names = if is_name { self.names()? } else { Vec::new() };
        let number = format!("{flag}-");
        let (numbered, others): (Vec<_>, Vec<_>) =
            names.into_iter().partition(|name| name.starts_with(&number));
        if !numbered.is_empty() {
            return Ok(numbered);
        }
        Ok(others.into_iter().filter(|name| is_part(flag, name)).collect())
    }

    /// Returns a directory that a setting called `origin` names, from the project's root.
    pub(super) fn set(&self, origin: &str, directory: &str, hint: &str) -> Result<Feature> {
        let path = self.root.join(directory.trim());
        if path.is_file() {
            bail!("{origin} names {path}, which is a file, not the directory of a feature\nhint: {hint}");
        }
        if !path.is_dir() {
            bail!("{origin} names {path}, which does not exist\nhint: {hint}");
        }
        self.of_directory(&path).with_context(|| format!("use {origin}"))
    }

    /// Returns what `.specify/feature.json` names, if it is there.
    pub(super) fn noted(&self) -> Result<Option<String>> {
        let path = self.root.join(FEATURE_FILE);
        let read = self.files.read(&path, MAX_SETTINGS_BYTES).if_there();
        let Some(bytes) = read.map_err(|error| explain("read", &path, error))? else { return Ok(None) };
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        let json: Value = match serde_json::from_slice(bytes) {
            Ok(json) => json,
            Err(error) => bail!("{path} is not JSON: {error}\n{FEATURE_FILE_HINT}"),
        };
        match json.get("feature_directory") {
            Some(Value::String(directory)) if !directory.trim().is_empty() => Ok(Some(directory.clone())),
            _ => bail!("{path} has no text `feature_directory`\n{FEATURE_FILE_HINT}"),
        }
    }

    /// spec-kit's rule before it wrote down the feature: the number in the branch's name is that of the directory.
    pub(super) fn by_prefix(&self, label: &str) -> Result<Option<Feature>> {
        let label = name_in(label);
        let names = self.names()?;
        let mut fitting: Vec<_> = names.iter().filter(|name| *name == label).collect();
        if let Some(prefix) = PREFIX.find(label).filter(|_| fitting.is_empty()) {
            fitting = names.iter().filter(|name| name.starts_with(prefix.as_str())).collect();
        }
        match fitting.as_slice() {
            [] => Ok(None),
            [only] => self.of_directory(&self.root.join("specs").join(only)).map(Some),
            several => Err(ambiguous(&format!("fit `{label}`"), several)),
        }
    }

    /// Returns the only feature with open tasks, or the only feature.
    pub(super) fn only(&self, has_open_tasks: impl Fn(&Utf8Path) -> bool) -> Result<Feature> {
        let names = self.names()?;
        let specs = self.root.join("specs");
        let listed: Vec<_> = names.iter().filter(|name| specs.join(name).join("tasks.md").exists()).collect();
        let open = listed.iter().copied().filter(|name| has_open_tasks(&specs.join(name).join("tasks.md")));
        let open: Vec<_> = open.collect();
        // One whose tasks are all done, or that has no list yet, is still what the user means if there is no other.
        let found = match (open.as_slice(), listed.as_slice(), names.as_slice()) {
            ([only], _, _) | ([], [only], _) => *only,
            ([], [], [only]) => only,
            ([], [], []) if self.has_other_names() => bail!(
                "there is no feature: {specs} has no directory with a name in UTF-8, and paths are recorded as UTF-8\n\
                 hint: rename the directory of the feature"
            ),
            ([], [], []) => bail!(
                "there is no feature: {specs}/ contains none\n\
                 hint: make one with spec-kit (`/speckit.specify` or `/speckit-specify`), or name a task list with --tasks FILE"
            ),
            ([], [], _) => bail!("no feature has a task list\n{}", self.candidates_hint()),
            ([], _, _) => bail!("no feature has open tasks\n{}", self.candidates_hint()),
            (several, _, _) => {
                return Err(ambiguous("have open tasks", several));
            }
        };
        self.of_directory(&specs.join(found))
    }

    fn candidates_hint(&self) -> String {
        let names = self.names().unwrap_or_default();
        if names.is_empty() {
            "hint: make a feature with spec-kit (`/speckit.specify` or `/speckit-specify`), or name a task list with --tasks FILE"
                .to_owned()
        } else {
            format!("hint: choose with --feature from {}", names.join(", "))
        }
    }

    /// Returns true if `specs/` has directories whose names are not UTF-8.
    fn has_other_names(&self) -> bool {
        let specs = self.root.join("specs");
        let names = self.files.names_in(&specs).unwrap_or_default();
        names.iter().any(|name| name.to_str().is_none() && specs.as_std_path().join(name).is_dir())
    }

    /// Returns the directories in `specs/`, sorted. Names that are not UTF-8 cannot be recorded, so they are no
    /// candidates.
    pub(super) fn names(&self) -> Result<Vec<String>> {
        let specs = self.root.join("specs");
        let entries = match self.files.names_in(&specs) {
            Ok(entries) => entries,
            Err(error) if refused(&error).is_some() => return Err(explain("open", &specs, error)),
            Err(_) => return Ok(Vec::new()),
        };
        let mut names: Vec<_> = entries
            .into_iter()
            .filter_map(|name| name.into_string().ok())
            .filter(|name| !name.starts_with('.') && specs.join(name).is_dir())
            .collect();
        names.sort();
        Ok(names)
    }
}

/// Returns the name of a feature in that of a branch: `boards` in `feature/boards`.
fn name_in(label: &str) -> &str {
    match label.trim().split_once('/') {
        Some((_, rest)) if !rest.contains('/') => rest,
        _ => label.trim(),
    }
}

/// Returns the name of a feature in that of a branch if it begins with a number as spec-kit gives them.
pub(super) fn numbered_name(label: &str) -> Option<String> {
    Some(name_in(label)).filter(|name| PREFIX.is_match(name)).map(str::to_owned)
}

/// Returns true if `part` stands somewhere in the name of a feature, in any letter case.
pub fn is_part(part: &str, name: &str) -> bool {
    !part.is_empty() && name.to_lowercase().contains(&part.to_lowercase())
}

fn ambiguous(what: &str, several: &[&String]) -> Error {
    let names: Vec<_> = several.iter().map(|name| name.as_str()).collect();
    let (all, first) = (names.join(", "), names[0]);
    anyhow!("several features {what}: {all}\nhint: choose one with --feature, like --feature {first}")
}

/// Returns the path without `.` and `..`, by its words alone, whatever links are in it.
pub fn without_dots(path: &Utf8Path) -> Utf8PathBuf {
    let mut plain = Utf8PathBuf::new();
    for part in path.components() {
        if part.as_str() == ".." {
            plain.pop();
        } else {
            plain.push(part);
        }
    }
    plain
}
