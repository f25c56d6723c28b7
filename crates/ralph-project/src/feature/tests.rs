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
    for (name, other) in [("004-d", Some("specs/004-d")), ("003-c", None), ("main", None)] {
        let found = project.find_from("", &branch(name)).unwrap();
        assert_eq!(found.branch_feature.as_deref(), other, "{name}");
    }
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
fn a_numbered_name_that_no_folder_has_is_known() {
    let project = Project::new(&[("specs/001-a/tasks.md", OPEN), ("specs/002-b/tasks.md", DONE)]);
    let cases = [
        ("004-boards", Some("004-boards")),
        ("feature/004-boards", Some("004-boards")),
        ("20260131-120000-boards", Some("20260131-120000-boards")),
        ("001-a", None),
        ("002-other-words", None),
        ("main", None),
        ("fix-004", None),
        ("v2", None),
    ];
    for (name, unknown) in cases {
        let found = project.find_from("", &branch(name)).unwrap();
        assert_eq!((found.unknown_name.as_deref(), found.is_noted), (unknown, false), "{name}");
        let named = FeatureQuery { flag: Some("001-a".to_owned()), ..branch(name) };
        assert_eq!(project.find_from("", &named).unwrap().unknown_name, None, "{name}");
    }
    let file = project.top.join(FEATURE_FILE);
    fs::create_dir(file.parent().unwrap()).unwrap();
    fs::write(file, r#"{"feature_directory": "specs/001-a"}"#).unwrap();
    for (name, unknown) in cases {
        let found = project.find_from("", &branch(name)).unwrap();
        assert_eq!((found.unknown_name.as_deref(), found.is_noted), (unknown, true), "{name}");
    }
}

#[test]
fn the_folder_of_a_feature_is_named_from_the_project() {
    let project =
        Project::new(&[("sub/.specify/x", ""), ("sub/specs/001-a/tasks.md", OPEN), ("PLAN.md", OPEN)]);
    let root = project.top.join("sub");
    let found = project.find_from("sub", &FeatureQuery::default()).unwrap();
    assert_eq!(found.directory_in(&root).unwrap(), "specs/001-a");
    let listed = project.find_from("sub", &tasks("specs/001-a/tasks.md")).unwrap();
    assert_eq!(listed.directory_in(&root), None);
    assert_eq!(project.find_from("", &tasks("PLAN.md")).unwrap().directory_in(&project.top), None);
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
        branch_feature: None,
        unknown_name: None,
        is_noted: false,
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
    project.refuses(&flag("001"), "`001` is ambiguous: 001-a, 001-b");
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
    Project::new(&[("specs/001-a/", ""), ("specs/002-b/", "")]).refuses(&none, "no feature has a task list");
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
