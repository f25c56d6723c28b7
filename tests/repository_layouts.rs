//! Where a loop works: every kind of repository, work tree and folder, and what it leaves alone there.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::sandbox::{Program, Sandbox};

const GOOD: &str = r#"
[[turn]]
do = [{ append = { path = "hello.txt", text = "hello\n" } }, { tick = "current" }]
"#;

fn ready() -> Sandbox {
    let scene = Sandbox::new();
    scene.agent_script(GOOD).commit("Ready");
    scene
}

#[test]
fn before_the_first_commit() {
    let scene = Sandbox::without_repository("project");
    scene.git("init --quiet .");
    scene.tasks("- [ ] T001 One").agent_script(GOOD);
    scene.ralph("").code(0);
    let session = scene.session();
    assert_eq!(session.trailers("Ralph-Work"), ["before=- after=-"]);
    let record = session.iteration(1);
    assert_eq!((&record["head_before"], &record["branch"]), (&json!(null), &json!("main")));
    assert!(!scene.path(".git/index").exists());
    scene.journal_differs();
    scene.ralph("rebuild --check").code(0);
}

#[test]
fn on_a_detached_head() {
    let scene = ready();
    scene.git("checkout --quiet --detach");
    scene.ralph("").code(0);
    assert_eq!(scene.session().iteration(1)["branch"], json!(null));
}

#[test]
fn in_a_dirty_tree_with_things_staged_and_stashed() {
    let scene = ready();
    scene.write("stashed.txt", "stashed\n");
    scene.git("add stashed.txt");
    scene.git("stash --quiet");
    scene.write("staged.txt", "staged\n");
    scene.git("add staged.txt");
    scene
        .write("staged.txt", "staged and changed\n")
        .write("untracked.txt", "new\n")
        .write("ignored.log", "x");
    scene.write(".gitignore", "*.log\n");
    let (status, stash) = (scene.git("status --porcelain"), scene.git("stash list"));
    scene.ralph("").code(0);
    let after = scene.git("status --porcelain");
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let new: Vec<_> = lines(&after).into_iter().filter(|line| !lines(&status).contains(line)).collect();
    assert_eq!(new, [" M specs/001-login/tasks.md", "?? hello.txt", "?? specs/001-login/progress.txt"]);
    assert_eq!(scene.git("stash list"), stash);
    let snapshot = scene.session().trailers("Ralph-Snapshot").remove(0);
    let tree = scene.git(["ls-tree", "-r", "--name-only", &snapshot]);
    assert!(tree.contains("untracked.txt") && !tree.contains("ignored.log"), "{tree}");
    assert_eq!(scene.git(["show", &format!("{snapshot}:staged.txt")]), "staged and changed");
}

#[test]
fn credentials_and_big_files_stay_out_of_snapshots_and_the_record_says_so() {
    let scene = ready();
    scene.write(".env", "A=1\n").write("keys/server.pem", "x\n").config("snapshot-max-file = \"1KiB\"");
    scene.write("big.bin", vec![b'x'; 2048]);
    scene.ralph("").code(0);
    let session = scene.session();
    let tree = scene.git(["ls-tree", "-r", "--name-only", &session.trailers("Ralph-Snapshot")[0]]);
    let left_out = ["big.bin", ".env", "keys/server.pem"];
    assert!(left_out.iter().all(|path| !tree.lines().any(|line| line == *path)), "{tree}");
    assert_eq!(
        session.iteration(1)["left_out"],
        json!([
            {"path": ".env", "reason": "credentials"},
            {"path": "big.bin", "reason": "too large"},
            {"path": "keys/server.pem", "reason": "credentials"},
        ])
    );
}

#[test]
fn without_snapshots_changes_are_still_measured() {
    let scene = ready();
    scene.config("snapshots = false");
    scene.ralph("").code(0);
    assert_eq!(scene.git("for-each-ref refs/ralph-snap"), "");
    let record = scene.session().iteration(1);
    assert_eq!(record["snapshot"], json!(null));
    assert_eq!(record["files_changed"], json!(["hello.txt", "specs/001-login/tasks.md"]));
}

#[test]
fn a_snapshot_holds_the_work_tree_of_its_iteration() {
    let scene = ready();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two").write("run.sh", "x").agent_uses_git();
    scene.git("add run.sh");
    scene.git("update-index --chmod=+x run.sh");
    let head = scene.git("rev-parse HEAD");
    scene.ralph("").code(0);
    let snapshots = scene.session().trailers("Ralph-Snapshot");
    assert_eq!(scene.git(["show", &format!("{}:hello.txt", snapshots[0])]), "hello");
    assert_eq!(scene.git(["show", &format!("{}:hello.txt", snapshots[1])]), "hello\nhello");
    assert_eq!(scene.git(["rev-parse", &format!("{}^1", snapshots[1])]), snapshots[0]);
    assert_eq!(scene.git(["rev-parse", &format!("{}^2", snapshots[1])]), head);
}

#[test]
fn from_a_folder_below() {
    let scene = ready();
    fs::create_dir_all(scene.path("src/deep")).unwrap();
    scene.call("").dir("src/deep").run().code(0);
    assert!(scene.path("hello.txt").exists(), "the agent runs at the root of the project");
    assert!(!scene.path("src/deep/hello.txt").exists());
    for command in ["log", "show", "status", "tasks", "rebuild --check", "config"] {
        scene.call(command).dir("src/deep").run().code(0);
    }
    scene.call("-C deep log").dir("src").run().code(0);
}

#[test]
fn in_a_project_below_the_top_of_its_repository() {
    let scene = Sandbox::new();
    let services = "services/login";
    scene.write(
        "services/login/.specify/ralph.toml",
        "agent = \"scripted\"\nagents.scripted.command = [\"agent.toml\"]\n",
    );
    scene.write("services/login/agent.toml", GOOD);
    scene.write("services/login/specs/007-tokens/tasks.md", "- [ ] T001 One\n");
    scene.call("").dir(services).run().code(0);
    assert!(scene.path("services/login/hello.txt").exists());
    let session = scene.session();
    assert_eq!(session.iteration(1)["feature"], "services/login/specs/007-tokens");
    scene.call("rebuild --check").dir(services).run().code(0);
    scene.journal_differs();
}

#[test]
fn in_a_linked_work_tree() {
    let scene = ready();
    let linked = scene.outside("linked");
    scene.git(["worktree", "add", "--quiet", "-b", "side", linked.to_str().unwrap()]);
    scene.call("").dir(&linked).run().code(0);
    assert!(linked.join("specs/001-login/progress.txt").exists());
    assert!(!scene.path("specs/001-login/progress.txt").exists());
    assert_eq!(scene.session().iteration(1)["branch"], "side");
    scene.call("rebuild --check").dir(&linked).run().code(0);
    scene.ralph("log").code(0).stdout_has("✔ T001");
    scene.journal_differs();
}

#[test]
fn in_a_repository_with_sha256() {
    let scene = Sandbox::with_git_init("init --quiet --object-format=sha256 .");
    scene.agent_script(GOOD).validate("true");
    scene.ralph("").code(0);
    let session = scene.session();
    assert_eq!(session.iterations()[0].len(), 64);
    assert_eq!(session.trailers("Ralph-Snapshot")[0].len(), 64);
    scene.ralph("show --tasks").code(0).stdout(scene.bytes("specs/001-login/tasks.md"));
}

#[test]
fn refs_of_other_tools_are_left_alone() {
    let scene = ready();
    let head = scene.git("rev-parse HEAD");
    for name in ["refs/ralph/state", "refs/ralph/other/20260101-000000-00000000", "refs/ralph/x/y/z"] {
        scene.git(["update-ref", name, &head]);
    }
    let blob = scene.git("hash-object -w agent.toml");
    scene.git(["update-ref", "refs/ralph/blob", &blob]);
    scene.ralph("").code(0);
    for name in ["refs/ralph/state", "refs/ralph/other/20260101-000000-00000000", "refs/ralph/x/y/z"] {
        assert_eq!(scene.git(["rev-parse", name]), head);
    }
    let listed = scene.ralph("log --sessions --json").code(0).json();
    assert_eq!(listed["sessions"].as_array().map(Vec::len), Some(1));
    scene.ralph("log").code(0).stderr("");
}

#[test]
fn under_a_path_with_blanks_and_other_letters() {
    let scene = Sandbox::without_repository("my \"project\": naïve 猫");
    scene.git("init --quiet .");
    scene.write("specs/001-größe und mehr/tasks.md", "- [ ] T001 Eins\n").agent_script(GOOD).validate("true");
    scene.commit("Los");
    scene.ralph("").code(0);
    let session = scene.session();
    assert_eq!(session.iteration(1)["feature"], "specs/001-größe und mehr");
    let progress = "specs/001-größe und mehr/progress.txt";
    assert!(scene.read(progress).contains("Feature: 001-größe und mehr\n"));
    scene.ralph(["log", "--feature", "001-größe und mehr"]).code(0).stdout_has("✔ T001");
}

#[test]
fn without_a_name_of_the_user() {
    let scene = ready();
    scene.gitconfig("[user]\nuseConfigOnly = true\n");
    scene.ralph("").code(0);
    let commit = scene.session().iterations().remove(0);
    assert_eq!(scene.git(["log", "-1", "--format=%cn <%ce>", &commit]), "specify ralph <ralph@localhost>");
}

#[test]
fn the_user_is_the_author_and_nothing_is_signed() {
    let scene = ready();
    scene.git("config commit.gpgSign true");
    scene.git("config gpg.program false");
    scene.ralph("").code(0);
    let commit = scene.session().iterations().remove(0);
    let format = "--format=%an <%ae> %cn <%ce>";
    assert_eq!(
        scene.git(["log", "-1", format, &commit]),
        "Ada Lovelace <ada@example.org> specify ralph <ralph@localhost>"
    );
    assert!(!scene.git(["cat-file", "commit", &commit]).contains("gpgsig"));
}

#[test]
fn hooks_of_the_user_are_not_run() {
    let scene = ready();
    for hook in ["pre-commit", "post-index-change", "reference-transaction", "post-checkout"] {
        let path = format!(".git/hooks/{hook}");
        scene.write(&path, "#!/bin/sh\necho ran >> \"$HOME/hooks\"\nexit 1\n");
        fs::set_permissions(scene.path(&path), fs::Permissions::from_mode(0o755)).unwrap();
    }
    scene.ralph("").code(0);
    assert!(!scene.outside("home/hooks").exists());
}

#[test]
fn called_from_a_hook_of_git() {
    let scene = ready();
    scene.agent_sh("git rev-parse --git-dir; tick all");
    let git_dir = scene.path(".git");
    let run = scene
        .call("")
        .env("GIT_DIR", git_dir.as_os_str())
        .env("GIT_WORK_TREE", scene.repo().as_os_str())
        .env("GIT_INDEX_FILE", git_dir.join("index").as_os_str())
        .env("GIT_PREFIX", "")
        .run();
    run.code(0);
    assert_eq!(scene.session().text(1, "agent/stdout"), ".git\n");
}

#[test]
fn as_a_command_of_git() {
    let scene = ready();
    scene.call("").program(Program::GitRalph).run().code(0);
    std::os::unix::fs::symlink(Program::GitRalph.path(), scene.outside("bin/git-ralph")).unwrap();
    let log = scene.git("ralph log");
    assert!(log.contains("✔ T001"), "{log}");
    scene.call("nonsense").program(Program::GitRalph).run().code(2).stderr_has("git ralph");
}

#[test]
fn a_branch_whose_number_is_that_of_a_feature_names_it() {
    let scene = ready();
    scene.write("specs/002-logout/tasks.md", "- [ ] T001 Other\n");
    scene.git("switch --quiet --create 002-whatever");
    scene.ralph("").code(0);
    assert_eq!(scene.session().iteration(1)["feature"], "specs/002-logout");
    scene.call("").env("SPECIFY_FEATURE_DIRECTORY", "specs/001-login").run().code(0);
    assert_eq!(scene.sessions()[1].iteration(1)["feature"], "specs/001-login");
}

#[test]
fn the_project_is_the_one_that_spec_kits_variable_names() {
    let scene = ready();
    let (project, elsewhere) = (scene.repo().to_str().unwrap().to_owned(), scene.outside("home"));
    let call = |words: &str| scene.call(words).dir(&elsewhere);
    call("").env("SPECIFY_INIT_DIR", "../project").run().code(0);
    assert_eq!(scene.session().trailers("Ralph-Outcome"), ["success"]);
    call("log").env("SPECIFY_INIT_DIR", &project).run().code(0).stdout_has("✔ T001");
    call("config").env("SPECIFY_INIT_DIR", "").run().code(0);
    for wrong in [elsewhere.to_str().unwrap(), "nowhere"] {
        let run = scene.call("status").env("SPECIFY_INIT_DIR", wrong).run().code(3);
        run.stderr_has("SPECIFY_INIT_DIR names ").stderr_has("which is not a spec-kit project\nhint: ");
    }
    scene.call("excerpt").env("SPECIFY_INIT_DIR", "nowhere").stdin("x\n").run().code(0);
}

#[test]
fn a_nested_repository_and_a_submodule_are_taken_as_git_takes_them() {
    let scene = ready();
    let inner = scene.path("vendor/inner");
    fs::create_dir_all(&inner).unwrap();
    scene.git_in(&inner, "init --quiet .");
    fs::write(inner.join("a.txt"), "a").unwrap();
    scene.git_in(&inner, "add .");
    scene.git_in(&inner, "commit --quiet -m inner");
    fs::create_dir_all(scene.path("vendor/broken/.git")).unwrap();
    scene.ralph("").code(0);
    let snapshot = scene.session().trailers("Ralph-Snapshot").remove(0);
    let tree = scene.git(["ls-tree", "-r", &snapshot]);
    assert!(tree.contains("160000 commit"), "{tree}");
}

#[test]
fn a_branch_of_another_feature_than_spec_kits_file_names_is_said() {
    let scene = Sandbox::with_succeeding_agent(1);
    scene.write("specs/002-logout/tasks.md", "- [ ] T001 Leave\n");
    scene.write(".specify/feature.json", r#"{"feature_directory": "specs/001-login"}"#).commit("Two");
    scene.git("checkout --quiet -b 002-logout");
    let said = "warning: the branch names specs/002-logout, and .specify/feature.json names specs/001-login, which is used\n\
        hint: `--feature specs/002-logout` takes the other\n";
    scene.ralph("--dry-run").code(0).stderr_has(said);
    scene.ralph("--dry-run --feature specs/002-logout").code(0).stderr("");
}

#[test]
fn a_branch_that_is_numbered_as_no_feature_is_starts_nothing() {
    let scene = Sandbox::with_succeeding_agent(1);
    scene.commit("Ready");
    for branch in ["004-boards", "feature/004-boards"] {
        scene.git(["checkout", "--quiet", "-b", branch]);
        let refused = scene.ralph("").code(3);
        refused.stderr_has(
            "the branch names 004-boards, which is no folder in specs/; the only one to work on is specs/001-login\n\
             hint: `--feature specs/001-login` takes it",
        );
        assert!(scene.sessions().is_empty());
        scene.ralph("status").code(0);
    }
    scene.ralph("--dry-run --feature 001-login").code(0).stderr("");
    scene.write("specs/004-boards/tasks.md", "- [ ] T001 Board\n");
    scene.ralph("--dry-run").code(0).stderr("").stdout_has("Board");
    fs::remove_dir_all(scene.path("specs/004-boards")).expect("it is there");
    scene.write(".specify/feature.json", r#"{"feature_directory": "specs/001-login"}"#);
    scene
        .ralph("--dry-run")
        .code(0)
        .stderr_has("warning: the branch names 004-boards, which is no folder in specs/");
}

#[test]
fn a_task_list_that_git_ignores_is_said_to_be_kept_nowhere() {
    let scene = Sandbox::with_succeeding_agent(2);
    scene.write(".gitignore", "specs/\n").commit("Ignore");
    let warning = "warning: git ignores specs/001-login/tasks.md: no commit and no clone has its boxes";
    let hint = "hint: `git add --force specs/001-login` keeps them\n";
    // One that is tracked all the same is kept.
    assert!(!scene.ralph("-n 1").code(4).talk().contains("git ignores"));
    scene.git("rm -r --cached --quiet specs");
    scene.git("commit --quiet --message Untrack");
    scene.ralph("").code(0).stderr_has(warning).stderr_has(hint);
}
