//! Which feature a command is about: found from flags, spec-kit's own settings, the branch, or what lies in `specs/`.

use std::io::{self, ErrorKind};
use std::sync::LazyLock;

use anyhow::{Context, Error, Result, anyhow, bail};
use camino::{Utf8Path, Utf8PathBuf};
use regex::Regex;
use serde_json::Value;

use crate::project_files::{MAX_SETTINGS_BYTES, ProjectFiles, Refused, explain, refused};

/// Where spec-kit notes the current feature, from the project's root.
const FEATURE_FILE: &str = ".specify/feature.json";

const FEATURE_FILE_HINT: &str =
    "hint: it should be like {\"feature_directory\": \"specs/001-login\"}; or name a feature with --feature";

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
    /// By which these are read and written.
    pub files: ProjectFiles,
}

/// The folder that holds `.specify/`, looked for from `cwd` up to the top of the work tree; else that top.
pub fn project_root(cwd: &Utf8Path, worktree_top: &Utf8Path) -> Utf8PathBuf {
    let real = |path: &Utf8Path| path.canonicalize_utf8().unwrap_or_else(|_| path.to_owned());
    let (cwd, top) = (real(cwd), real(worktree_top));
    let within = cwd.ancestors().take_while(|folder| folder.starts_with(&top));
    let found = within.filter(|folder| folder.join(".specify").is_dir()).map(Utf8Path::to_owned).next();
    found.unwrap_or(top)
}

/// Finds the feature. `has_open_tasks` is asked for task lists in `specs/` where nothing names one of them.
pub fn find(
    query: &FeatureQuery,
    project_root: &Utf8Path,
    files: &ProjectFiles,
    cwd: &Utf8Path,
    has_open_tasks: impl Fn(&Utf8Path) -> bool,
) -> Result<Feature> {
    let search = Search {
        root: project_root.canonicalize_utf8().with_context(|| format!("open {project_root}"))?,
        top: files.top().to_owned(),
        files: files.clone(),
        cwd: cwd.canonicalize_utf8().with_context(|| format!("open {cwd}"))?,
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
        return search.set(FEATURE_FILE, &directory, "correct the file, or name a feature with --feature");
    }
    for label in [&query.specify_feature, &query.branch].into_iter().flatten() {
        if let Some(feature) = search.by_prefix(label)? {
            return Ok(feature);
        }
    }
    search.only(has_open_tasks)
}

/// `20260131-120000-` or `001-` at the front of a branch's name.
static PREFIX: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^(\d{8}-\d{6}|\d{3,})-").expect("a valid expression"));

#[derive(Debug)]
struct Search {
    root: Utf8PathBuf,
    top: Utf8PathBuf,
    cwd: Utf8PathBuf,
    files: ProjectFiles,
}

impl Search {
    /// The feature of a directory that exists.
    fn of_directory(&self, directory: &Utf8Path) -> Result<Feature> {
        let dir = self.files.locate(directory).map_err(|error| self.not_located(directory, error))?;
        let path = self.path_from_top(&dir);
        if path.is_empty() {
            bail!(
                "{dir} is the top of the work tree, not a feature\nhint: name a task list in it with --tasks FILE"
            );
        }
        let name = dir.file_name().unwrap_or(&path).to_owned();
        Ok(Feature {
            name,
            path,
            tasks_path: dir.join("tasks.md"),
            spec_path: dir.join("spec.md"),
            plan_path: dir.join("plan.md"),
            progress_path: dir.join("progress.txt"),
            files: self.files.clone(),
            dir,
        })
    }

    fn of_file(&self, file: &Utf8Path) -> Result<Feature> {
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
        Ok(Feature {
            name,
            path,
            spec_path: dir.join("spec.md"),
            plan_path: dir.join("plan.md"),
            progress_path: dir.join("progress.txt"),
            files: self.files.clone(),
            tasks_path,
            dir,
        })
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

    /// `--feature`: a path, a name in `specs/`, or the number in front of one.
    fn named(&self, flag: &str) -> Result<Feature> {
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
        let numbered: Vec<_> = self
            .names()?
            .into_iter()
            .filter(|name| is_plain && name.starts_with(&format!("{flag}-")))
            .collect();
        match numbered.as_slice() {
            [only] => self.of_directory(&self.root.join("specs").join(only)),
            [] => bail!("there is no feature `{flag}`\n{}", self.candidates_hint()),
            several => {
                bail!("`{flag}` may be any of {}\nhint: give the whole name to --feature", several.join(", "))
            }
        }
    }

    /// A directory that a setting called `origin` names, from the project's root.
    fn set(&self, origin: &str, directory: &str, hint: &str) -> Result<Feature> {
        let path = self.root.join(directory.trim());
        if path.is_file() {
            bail!("{origin} names {path}, which is a file and not the directory of a feature\nhint: {hint}");
        }
        if !path.is_dir() {
            bail!("{origin} names {path}, which does not exist\nhint: {hint}");
        }
        self.of_directory(&path).with_context(|| format!("use {origin}"))
    }

    /// What `.specify/feature.json` names, if it is there.
    fn noted(&self) -> Result<Option<String>> {
        let path = self.root.join(FEATURE_FILE);
        let bytes = match self.files.read(&path, MAX_SETTINGS_BYTES) {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            read => read.map_err(|error| explain("read", &path, error))?,
        };
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
    fn by_prefix(&self, label: &str) -> Result<Option<Feature>> {
        let label = match label.trim().split_once('/') {
            Some((_, rest)) if !rest.contains('/') => rest,
            _ => label.trim(),
        };
        let names = self.names()?;
        let mut fitting: Vec<_> = names.iter().filter(|name| *name == label).collect();
        if let Some(prefix) = PREFIX.find(label).filter(|_| fitting.is_empty()) {
            fitting = names.iter().filter(|name| name.starts_with(prefix.as_str())).collect();
        }
        match fitting.as_slice() {
            [] => Ok(None),
            [only] => self.of_directory(&self.root.join("specs").join(only)).map(Some),
            several => {
                let several: Vec<_> = several.iter().map(|name| name.as_str()).collect();
                bail!(
                    "several features fit `{label}`: {}\nhint: choose one with --feature, like --feature {}",
                    several.join(", "),
                    several[0]
                )
            }
        }
    }

    /// The only feature with open tasks, or the only feature.
    fn only(&self, has_open_tasks: impl Fn(&Utf8Path) -> bool) -> Result<Feature> {
        let names = self.names()?;
        let tasks = |name: &String| self.root.join("specs").join(name).join("tasks.md");
        let listed: Vec<_> = names.iter().filter(|name| tasks(name).exists()).collect();
        let open: Vec<_> = listed.iter().copied().filter(|name| has_open_tasks(&tasks(name))).collect();
        // One whose tasks are all done, or that has no list yet, is still what the user means if there is no other.
        let found = match (open.as_slice(), listed.as_slice(), names.as_slice()) {
            ([only], _, _) | ([], [only], _) => *only,
            ([], [], [only]) => only,
            ([], [], []) if self.has_other_names() => bail!(
                "there is no feature: {} has no directory with a name in UTF-8, and paths are recorded as UTF-8\n\
                 hint: rename the directory of the feature",
                self.root.join("specs")
            ),
            ([], [], []) => bail!(
                "there is no feature: {} has no directory in it\n\
                 hint: make one with spec-kit (`/speckit.specify`), or name a task list with --tasks FILE",
                self.root.join("specs")
            ),
            ([], [], _) => bail!("no feature has a task list\n{}", self.candidates_hint()),
            ([], _, _) => bail!("no feature has open tasks\n{}", self.candidates_hint()),
            (several, _, _) => {
                let several: Vec<_> = several.iter().map(|name| name.as_str()).collect();
                bail!(
                    "several features have open tasks: {}\nhint: choose one with --feature, like --feature {}",
                    several.join(", "),
                    several[0]
                )
            }
        };
        self.of_directory(&self.root.join("specs").join(found))
    }

    fn candidates_hint(&self) -> String {
        let names = self.names().unwrap_or_default();
        if names.is_empty() {
            "hint: make a feature with spec-kit (`/speckit.specify`), or name a task list with --tasks FILE"
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

    /// The directories in `specs/`, sorted. Names that are not UTF-8 cannot be recorded, so they are no candidates.
    fn names(&self) -> Result<Vec<String>> {
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

/// The path as it is written, whatever links are in it.
fn without_dots(path: &Utf8Path) -> Utf8PathBuf {
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

#[cfg(test)]
mod tests {
    use super::*;

    use std::fs;

    struct Project {
        _directory: tempfile::TempDir,
        top: Utf8PathBuf,
    }

    impl Project {
        /// Makes files; a name that ends in `/` is a directory.
        fn new(files: &[(&str, &str)]) -> Self {
            let directory = tempfile::tempdir().unwrap();
            let outside = Utf8PathBuf::from_path_buf(directory.path().canonicalize().unwrap()).unwrap();
            let top = outside.join("repository");
            fs::create_dir(&top).unwrap();
            for (name, text) in files {
                let path = top.join(name);
                if name.ends_with('/') {
                    fs::create_dir_all(&path).unwrap();
                } else {
                    fs::create_dir_all(path.parent().unwrap()).unwrap();
                    fs::write(&path, text).unwrap();
                }
            }
            Self { _directory: directory, top }
        }

        fn files(&self) -> ProjectFiles {
            ProjectFiles::new(&self.top, &[], &[])
        }

        fn find_from(&self, cwd: &str, query: &FeatureQuery) -> Result<Feature> {
            let cwd = self.top.join(cwd);
            let has_open = |path: &Utf8Path| fs::read_to_string(path).is_ok_and(|text| text.contains("[ ]"));
            find(query, &project_root(&cwd, &self.top), &self.files(), &cwd, has_open)
        }

        #[track_caller]
        fn case(&self, query: &FeatureQuery, path: &str) {
            assert_eq!(self.find_from("", query).unwrap().path, path);
        }

        #[track_caller]
        fn refuses(&self, query: &FeatureQuery, sentence: &str) {
            let message = format!("{:#}", self.find_from("", query).unwrap_err());
            assert!(message.contains(sentence), "{message}");
            assert!(message.contains("\nhint: "), "{message}");
        }
    }

    const OPEN: &str = "- [ ] T001 a\n";
    const DONE: &str = "- [x] T001 a\n";

    fn flag(flag: &str) -> FeatureQuery {
        FeatureQuery { flag: Some(flag.to_owned()), ..FeatureQuery::default() }
    }

    fn branch(name: &str) -> FeatureQuery {
        FeatureQuery { branch: Some(name.to_owned()), ..FeatureQuery::default() }
    }

    fn tasks(file: &str) -> FeatureQuery {
        FeatureQuery { tasks_file: Some(file.into()), ..FeatureQuery::default() }
    }

    #[test]
    fn the_nearest_source_wins() {
        let project = Project::new(&[
            ("specs/001-a/tasks.md", OPEN),
            ("specs/002-b/tasks.md", DONE),
            ("specs/003-c/tasks.md", DONE),
            ("specs/004-d/tasks.md", DONE),
            (".specify/feature.json", r#"{"feature_directory": "specs/003-c"}"#),
        ]);
        let mut query = branch("004-d");
        project.case(&query, "specs/003-c");
        fs::remove_file(project.top.join(FEATURE_FILE)).unwrap();
        project.case(&query, "specs/004-d");
        query.specify_feature = Some("003-other-words".to_owned());
        project.case(&query, "specs/003-c");
        query.specify_feature_directory = Some("specs/002-b/".to_owned());
        project.case(&query, "specs/002-b");
        query.tasks_file = Some("specs/003-c/tasks.md".into());
        project.case(&query, "specs/003-c/tasks.md");
        query.flag = Some("004-d".to_owned());
        project.case(&query, "specs/004-d");
        project.case(&branch("main"), "specs/001-a");
    }

    #[test]
    fn a_feature_knows_its_files() {
        let project = Project::new(&[("specs/001-a/tasks.md", OPEN)]);
        let dir = project.top.join("specs/001-a");
        let expected = Feature {
            name: "001-a".to_owned(),
            path: "specs/001-a".to_owned(),
            tasks_path: dir.join("tasks.md"),
            spec_path: dir.join("spec.md"),
            plan_path: dir.join("plan.md"),
            progress_path: dir.join("progress.txt"),
            files: project.files(),
            dir,
        };
        assert_eq!(project.find_from("", &FeatureQuery::default()).unwrap(), expected);
        assert_eq!(project.find_from("specs", &FeatureQuery::default()).unwrap(), expected);
    }

    #[test]
    fn a_flag_is_a_name_a_number_or_a_path() {
        let project = Project::new(&[
            ("specs/001-a/tasks.md", OPEN),
            ("specs/001-b/x", ""),
            ("specs/002-c/x", ""),
            ("docs/x/y", ""),
        ]);
        for (text, path) in [
            ("001-a", "specs/001-a"),
            ("specs/001-a", "specs/001-a"),
            ("specs/../specs/001-a/", "specs/001-a"),
            ("002", "specs/002-c"),
            ("docs/x", "docs/x"),
        ] {
            project.case(&flag(text), path);
        }
        assert_eq!(project.find_from("docs", &flag("x")).unwrap().path, "docs/x");
        assert_eq!(project.find_from("docs", &flag("specs/001-a")).unwrap().path, "specs/001-a");
        project.refuses(&flag("001"), "any of 001-a, 001-b");
        project.refuses(&flag("009"), "there is no feature `009`");
        project.refuses(&flag(""), "there is no feature ``");
        project.refuses(&flag("specs/001-a/tasks.md"), "is a file");
        project.refuses(&flag("."), "top of the work tree");
        project.refuses(&flag(".."), "outside the repository");
    }

    #[test]
    fn any_file_of_the_repository_can_be_the_task_list() {
        let project = Project::new(&[("PLAN.md", OPEN), ("specs/001-a/tasks.md", OPEN), ("d/", "")]);
        let feature = project.find_from("d", &tasks("../PLAN.md")).unwrap();
        assert_eq!((feature.name.as_str(), feature.path.as_str()), ("PLAN.md", "PLAN.md"));
        assert_eq!(feature.progress_path, project.top.join("progress.txt"));
        assert_eq!(project.find_from("", &tasks("specs/001-a/tasks.md")).unwrap().name, "001-a");
        project.refuses(&tasks("missing.md"), "there is no task list");
        project.refuses(&tasks("d"), "is a directory");
        fs::write(project.top.join("../other.md"), OPEN).unwrap();
        project.refuses(&tasks("../other.md"), "outside the repository");
    }

    #[test]
    fn the_branch_names_a_feature_by_its_prefix() {
        let project = Project::new(&[
            ("specs/001-login/x", ""),
            ("specs/002-a/x", ""),
            ("specs/002-b/x", ""),
            ("specs/20260131-120000-c/x", ""),
            ("specs/20260131-120001-d/x", ""),
        ]);
        project.case(&branch("001-something-else"), "specs/001-login");
        project.case(&branch("feat/001-login"), "specs/001-login");
        project.case(&branch("002-b"), "specs/002-b");
        project.case(&branch("20260131-120001-x"), "specs/20260131-120001-d");
        project.refuses(&branch("002-c"), "several features fit `002-c`: 002-a, 002-b");
    }

    #[test]
    fn feature_json_may_be_broken() {
        for (text, sentence) in [
            ("{", "is not JSON"),
            ("[]", "has no text `feature_directory`"),
            (r#"{"feature_directory": 1}"#, "has no text `feature_directory`"),
            (r#"{"feature_directory": "specs/009-gone"}"#, "does not exist"),
            (r#"{"feature_directory": "specs/001-a/tasks.md"}"#, "is a file"),
            (r#"{"feature_directory": "/"}"#, "outside the repository"),
            (r#"{"feature_directory": ".git"}"#, "it leads into a git directory"),
            (r#"{"feature_directory": "specs/../.GIT/"}"#, "it leads into a git directory"),
        ] {
            let project = Project::new(&[
                ("specs/001-a/tasks.md", OPEN),
                (".specify/feature.json", text),
                (".git/", ""),
                (".GIT/", ""),
            ]);
            project.refuses(&FeatureQuery::default(), sentence);
        }
    }

    #[test]
    fn without_a_name_there_must_be_only_one_candidate() {
        let none = FeatureQuery::default();
        Project::new(&[]).refuses(&none, "there is no feature");
        Project::new(&[("specs/001-a/tasks.md", OPEN), ("specs/002-b/tasks.md", OPEN)])
            .refuses(&none, "several features have open tasks: 001-a, 002-b");
        Project::new(&[("specs/001-a/tasks.md", DONE), ("specs/002-b/tasks.md", DONE)])
            .refuses(&none, "no feature has open tasks");
        Project::new(&[("specs/001-a/", ""), ("specs/002-b/", "")])
            .refuses(&none, "no feature has a task list");
        Project::new(&[("specs/001-a/tasks.md", DONE), ("specs/002-b/", "")]).case(&none, "specs/001-a");
        Project::new(&[("specs/001-a/", "")]).case(&none, "specs/001-a");
    }

    #[test]
    fn a_project_may_lie_below_the_top_of_the_work_tree() {
        let project = Project::new(&[
            ("web/.specify/", ""),
            ("web/specs/001-a/tasks.md", OPEN),
            ("specs/002-b/tasks.md", OPEN),
        ]);
        assert_eq!(project_root(&project.top.join("web/specs"), &project.top), project.top.join("web"));
        assert_eq!(project_root(&project.top, &project.top), project.top);
        assert_eq!(project.find_from("web/specs", &FeatureQuery::default()).unwrap().path, "web/specs/001-a");
    }

    #[cfg(unix)]
    #[test]
    fn links_and_odd_names_do_no_harm() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;
        use std::os::unix::fs::symlink;
        let project = Project::new(&[("specs/001-a/tasks.md", OPEN), ("elsewhere/", "")]);
        fs::create_dir(project.top.join("specs").as_std_path().join(OsStr::from_bytes(b"00\xff"))).unwrap();
        symlink(project.top.join("specs/001-a"), project.top.join("current")).unwrap();
        symlink(project.top.parent().unwrap(), project.top.join("out")).unwrap();
        symlink("nowhere", project.top.join("specs/002-dangling")).unwrap();
        project.case(&FeatureQuery::default(), "specs/001-a");
        project.case(&flag("current"), "specs/001-a");
        project.refuses(&flag("out"), "it leads out of the work tree");
        fs::create_dir_all(project.top.join(".git/info")).unwrap();
        project.refuses(&flag(".git/info"), "it leads into a git directory");
        symlink("../.git", project.top.join("specs/004-git")).unwrap();
        project.refuses(&flag("004-git"), "it leads into a git directory");
    }
}
