//! A loop in a lane: what is refused, what comes on the branch, and that nothing else of the user's changes.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use crate::sandbox::{Sandbox, one_in};

/// Writes a file named after the task, ticks the box, and commits, as an agent may.
pub const AGENT: &str = "cat > /dev/null\necho $RALPH_ITERATION > work-$RALPH_TASK\n\
                     sed -i \"s/\\[ \\] $RALPH_TASK/[x] $RALPH_TASK/\" \"$RALPH_TASKS\"\n\
                     git add --all && git commit --quiet --message mine\n";

pub const BRANCH: &str = "ralph/001-login";

const TWO_TASKS: &str = "- [ ] T001 Write one\n- [ ] T002 Write two";

/// A scene with everything committed.
fn ready(tasks: &str, agent: &str) -> Sandbox {
    let scene = Sandbox::new();
    scene.tasks(tasks).agent_sh(agent).validate("test -e README || true").commit("Ready");
    scene
}

/// Agents that know where the user's repository is.
pub fn with_repo(scene: &Sandbox, agent: &str) -> String {
    agent.replace("$REPO", scene.repo().to_str().expect("scenes have plain names"))
}

fn lanes(scene: &Sandbox) -> PathBuf {
    let root = scene.outside("home/.cache/specify-ralph/lanes");
    let mut of_repositories = fs::read_dir(&root).expect("a lane was made").flatten();
    of_repositories.next().expect("it is in the folder of its repository").path()
}

/// Subjects of the commits of the branch that HEAD has not, oldest first.
pub fn subjects(scene: &Sandbox) -> Vec<String> {
    let log = scene.git(["log", "--reverse", "--format=%s", &format!("HEAD..{BRANCH}")]);
    log.lines().map(str::to_owned).collect()
}

pub fn files_of(scene: &Sandbox, commit: &str) -> Vec<String> {
    let listed = scene.git(["diff-tree", "-r", "--name-only", "--no-commit-id", commit]);
    listed.lines().map(str::to_owned).collect()
}

#[test]
fn results_are_commits_on_the_branch_and_nothing_of_the_users_changes() {
    let scene = ready(TWO_TASKS, AGENT);
    let head = scene.git("rev-parse HEAD");
    let run = scene.call("run --lane").with_baseline().run().code(0);
    run.stdout_has("2 commits on ralph/001-login: git merge --ff-only ralph/001-login");
    assert_eq!(scene.git("status --porcelain"), "");
    assert_eq!((scene.git("rev-parse HEAD"), scene.git("branch --show-current")), (head, "main".into()));
    assert!(scene.task_list().contains("- [ ] T001") && !scene.path("specs/001-login/progress.txt").exists());
    assert_eq!(subjects(&scene), ["T001 Write one", "T002 Write two"]);
    assert_eq!(files_of(&scene, BRANCH), ["specs/001-login/tasks.md", "work-T002"]);
    assert_eq!(files_of(&scene, "ralph/001-login~1"), ["specs/001-login/tasks.md", "work-T001"]);
    let list = scene.git(["show", &format!("{BRANCH}:specs/001-login/tasks.md")]);
    assert!(list.contains("[x] T001") && list.contains("[x] T002"), "{list}");
    let session = scene.session();
    let trailer = |key: &str| {
        scene.git(["log", "-1", &format!("--format=%(trailers:key=Ralph-{key},valueonly)"), BRANCH])
    };
    assert_eq!((trailer("Task"), trailer("Session")), ("T002".to_owned(), session.id().to_owned()));
    assert_eq!((trailer("Iteration"), trailer("Check")), ("2".to_owned(), "passed".to_owned()));
    assert_eq!(scene.git(["log", "-1", "--format=%an %cn", BRANCH]), "Ada Lovelace Ada Lovelace");
    let (first, second) = (session.iteration(1), session.iteration(2));
    assert_eq!((&first["lane"], &first["branch"]), (&1.into(), &BRANCH.into()));
    assert_eq!(second["base"], first["published"]);
    assert_eq!(second["published"], scene.git(["rev-parse", BRANCH]));
    assert_eq!(second["agent_commits"], serde_json::json!(["mine"]));
    scene.ralph("show 2").code(0).stdout_has("1 commit of the agent's: mine");
    assert_eq!((&session.end()["lane"], &session.end()["branch"]), (&1.into(), &BRANCH.into()));
    // What reads finds the list of the branch.
    scene.ralph("tasks").code(0).stdout_has("2 of 2");
    let status = scene.ralph("status").code(0);
    status.stdout_has("2 of 2 done").stdout_has(
        "in a lane on ralph/001-login, 2 commits ahead of HEAD: git merge --ff-only ralph/001-login",
    );
    let status = scene.ralph("status --json").json();
    assert_eq!((&status["session"]["lane"], &status["session"]["branch"]), (&1.into(), &BRANCH.into()));
    let published = &second["published"].as_str().expect("it was published")[..7];
    scene.ralph("show 2").code(0).stdout_has(&format!("1, on ralph/001-login: {published}"));
    scene
        .ralph("restore 1")
        .code(3)
        .stderr_has("which is not checked out here\nhint: git switch ralph/001-login");
    scene.ralph("clean --lanes").code(0).stdout_has("removed 1 lane");
    assert!(!lanes_exist(&scene));
}

#[test]
fn what_was_taken_back_in_a_lane_is_not_counted_among_the_changes() {
    let scene = Sandbox::new();
    scene.tasks(TWO_TASKS).agent_sh(AGENT).validate("test ! -e work-T002").commit("Ready");
    scene.ralph("run --lane -n 2").code(4).stdout_has("1 file +1 −0, committed");
    scene.ralph("status").stdout_has("1 file +1 −0, committed");
    let failed = scene.ralph("run --lane --branch ralph/other --task T002 -n 1").code(4);
    failed.stdout_has("no file changed").stdout_lacks("not committed");
    scene.ralph("status").stdout_has("no file changed");
    assert_eq!(scene.ralph("report --json").json()["changes"]["files"], serde_json::json!([]));
}

#[test]
fn a_lane_that_does_not_fit_on_the_disk_is_refused() {
    let scene = ready("- [ ] T001 One", AGENT);
    scene.write(".gitignore", "*.local\n").commit("Ignore");
    let sparse = fs::File::create(scene.path("big.local")).expect("a file can be made");
    sparse.set_len(8 << 40).expect("it takes no space itself");
    let refused = scene.ralph("run --lane --set lanes.copy=big.local").code(3);
    refused
        .stderr_has("a new lane takes 8796093.")
        .stderr_has(" are free\nhint: name a folder on another disk");
    assert!(scene.git("branch --list ralph/*").is_empty() && !lanes_exist(&scene));
    fs::remove_file(scene.path("big.local")).expect("it is there");
    scene.ralph("run --lane").code(0).stderr_has(", new, ");
    assert!(!scene.ralph("run --lane").code(0).talk().contains(", new, "));
}

#[test]
fn doctor_says_whether_a_lane_can_be_made() {
    let scene = ready("- [ ] T001 One", AGENT);
    scene.ralph("doctor").stdout_has("lane can be made");
    scene.write("agent.sh", "x");
    scene.ralph("doctor").code(0).stdout_has("lane cannot be made now (a lane has what is committed");
    scene.git("config ralph.lane true");
    scene.ralph("doctor").code(1).stdout_has("these files are not: agent.sh");
}

#[test]
fn objects_of_git_lfs_are_the_users() {
    for (storage, expected) in
        [("", "$REPO/.git/lfs\n"), ("../big", "$REPO/.git/../big\n"), ("/big", "/big\n")]
    {
        let scene = ready("- [ ] T001 One", &format!("git config lfs.storage\n{AGENT}"));
        fs::create_dir(scene.path(".git/lfs")).expect("there is none yet");
        if !storage.is_empty() {
            scene.git(["config", "lfs.storage", storage]);
        }
        scene.ralph("run --lane").code(0);
        assert_eq!(scene.session().text(1, "agent/stdout"), with_repo(&scene, expected));
    }
}

#[test]
fn bisect_tries_what_is_on_the_branch() {
    let agent = format!(
        "[ $RALPH_ITERATION = 1 ] && {{ touch bad; exit 0; }}\n[ $RALPH_TASK = T002 ] && touch bad\n{AGENT}"
    );
    let scene = ready("- [ ] T001 One\n- [ ] T002 Two\n- [ ] T003 Three", &agent);
    scene.ralph("run --lane").code(0);
    let found = scene.ralph(["bisect", "--", "test ! -e bad"]).code(0);
    assert!(!found.talk().contains("after iteration 1:"), "{found}");
    found.stdout_has(":3 is the first iteration after which it fails");
    scene.ralph(["bisect", "2", "3", "--", "test ! -e bad"]).code(0).stdout_has(":3 is the first");
    assert_eq!(scene.git("status --porcelain"), "");
}

#[test]
fn a_start_reads_the_list_of_the_branch() {
    let scene = ready(TWO_TASKS, AGENT);
    scene.ralph("run --lane -n 1").code(4);
    scene.ralph("run --lane --dry-run").code(0).stdout_has("T002").stdout_lacks("T001 Write one");
    scene.ralph("run --dry-run").code(0).stdout_has("T001 Write one");
    scene.ralph("run --dry-run --land").code(3).stderr_has("add --lane");
    // A task that is on the branch alone.
    scene.git("branch --copy ralph/001-login ralph/other");
    scene.git("switch --quiet ralph/other");
    scene.tasks("- [x] T001 Write one\n- [ ] T002 Write two\n- [ ] T003 Write three").commit("A third");
    scene.git("switch --quiet main");
    scene.ralph("run --task T003").code(3);
    scene
        .ralph("run --lane --branch ralph/other --task T003 --dry-run")
        .code(0)
        .stdout_has("T003 Write three");
    scene.ralph("run --lane --branch ralph/other --task T003").code(0);
    assert_eq!(files_of(&scene, "ralph/other"), ["specs/001-login/tasks.md", "work-T003"]);
    scene.ralph("run --lane --branch ralph/other --task T003 --fail-on-flags").code(0);
}

fn lanes_exist(scene: &Sandbox) -> bool {
    fs::read_dir(scene.outside("home/.cache/specify-ralph/lanes")).is_ok_and(|found| found.count() > 0)
}

#[test]
fn what_a_lane_would_not_have_is_refused_and_nothing_is_written() {
    type Change = fn(&Sandbox);
    let table: &[(&str, Change, &str, &str)] = &[
        (
            "a changed file",
            |scene| {
                scene.write("agent.sh", "x");
            },
            "",
            "these files are not: agent.sh\nhint: commit them, or add --take-changes",
        ),
        (
            "a staged file",
            |scene| {
                scene.write("new", "x");
                scene.git("add new");
            },
            "",
            "these files are not: new",
        ),
        (
            "a file of the feature",
            |scene| {
                scene.write("specs/001-login/notes.md", "x");
            },
            "",
            "git does not track these files: specs/001-login/notes.md",
        ),
        (
            "an ignored file of .specify",
            |scene| {
                scene.write(".gitignore", "*.local\n").commit("Ignore");
                scene.write(".specify/x.local", "");
            },
            "",
            "git does not track these files: .specify/x.local\nhint: git ignores them: --set 'lanes.copy=.specify/x.local' gives each new lane a copy",
        ),
        (
            "a folder of the feature that git ignores",
            |scene| {
                scene.write(".gitignore", "/specs/*/private/\n").commit("Ignore");
                scene.write("specs/001-login/private/notes.md", "").write("specs/001-login/private/x", "");
            },
            "--take-changes",
            "these files: specs/001-login/private\nhint: git ignores them: --set 'lanes.copy=specs/001-login/private'",
        ),
        (
            "a task list that git ignores",
            |scene| {
                scene.git("rm -r --cached --quiet specs");
                scene.write(".gitignore", "specs/\n").commit("Ignore");
            },
            "",
            "git ignores specs/001-login/tasks.md\nhint: `git add --force specs/001-login` and commit it",
        ),
        (
            "an ignored file that the prompt names",
            |scene| {
                scene.write(".gitignore", "*.local\n");
                scene.write(
                    ".specify/templates/ralph-prompt.md",
                    "Read `style.local`.\n{{ current_task.text }}\n",
                );
                scene.commit("Prompt").write("style.local", "");
            },
            "",
            "git does not track these files: style.local",
        ),
        (
            "a task without id",
            |scene| {
                scene.tasks("- [ ] a\n- [ ] b").commit("Tasks");
            },
            "",
            "has some without: line 3, line 4\nhint: give each task an id",
        ),
        (
            "an id twice",
            |scene| {
                scene.tasks("- [ ] T001 a\n- [ ] T001 b").commit("Tasks");
            },
            "",
            "has two tasks T001 (lines 3 and 4)",
        ),
        (
            "the branch is checked out",
            |scene| drop(scene.git("switch --quiet --create ralph/001-login")),
            "",
            "ralph/001-login is checked out in ",
        ),
        (
            "a branch is in the way",
            |scene| drop(scene.git("branch ralph")),
            "",
            "refs/heads/ralph is a branch, so that ralph/001-login cannot be one",
        ),
        (
            "a branch is below it",
            |scene| drop(scene.git("branch ralph/001-login/x")),
            "",
            "refs/heads/ralph/001-login/x is a branch",
        ),
        ("no name", |_| (), "--branch a..b", "`a..b` cannot be the name of a branch"),
        ("a folder in a repository", |_| (), "--set lanes.dir=$REPO/lanes", "inside of the repository"),
        ("a folder from here", |_| (), "--set lanes.dir=lanes", "no absolute path"),
        (
            "something to copy that is not ignored",
            |_| (),
            "--set lanes.copy=agent.sh",
            "agent.sh, which git does not ignore",
        ),
        (
            "another type of loop",
            |_| (),
            "--loop plan",
            "cannot work in a lane\nhint: run it in your files: --no-lane",
        ),
        (
            "a changed file, and a sandbox",
            |scene| {
                scene.write("agent.sh", "x");
            },
            "--sandbox bwrap",
            "of them\nhint: the lane comes with the sandbox; --no-lane keeps the sandbox, in which your files are written",
        ),
        ("no snapshots", |_| (), "--set snapshots=false", "a lane needs snapshots"),
        (
            "a submodule",
            |scene| {
                let commit = scene.git("rev-parse HEAD");
                scene.git(["update-index", "--add", "--cacheinfo", &format!("160000,{commit},sub")]);
                scene.git("commit --quiet --message Sub");
                fs::create_dir(scene.path("sub")).expect("there is none yet");
            },
            "",
            "sub is a submodule",
        ),
        (
            "changes for a branch that is there",
            |scene| drop(scene.git("branch ralph/001-login")),
            "--take-changes",
            "`--take-changes` begins a branch, and ralph/001-login is there already",
        ),
    ];
    for (name, change, words, expected) in table {
        let scene = ready("- [ ] T001 a", AGENT);
        change(&scene);
        let before = scene.everything();
        let lane = if words.starts_with("--sandbox") { "" } else { "--lane" };
        let run = scene.ralph(&with_repo(&scene, &format!("run {lane} {words}")));
        assert!(run.talk().contains(expected), "{name}: {}", run.talk());
        run.code(3);
        assert!(scene.everything() == before && !lanes_exist(&scene), "{name}: something was written");
    }
    let scene = ready("- [ ] T001 a", AGENT);
    scene.ralph("run --land").code(3).stderr_has("`--land` is for a loop in a lane\nhint: add --lane");
    let open = scene.ralph("run --no-sandbox --land").code(3);
    open.stderr_has("`--land` is for a loop in a lane");
    // Who is below an agent is known by descent: a variable refuses nothing.
    scene.call("run --lane").env("RALPH_SESSION", "x").run().code(0);
}

#[test]
fn a_branch_may_begin_with_the_users_changes() {
    let scene = ready("- [ ] T001 a", AGENT);
    scene.write("agent.sh", format!("{AGENT}# changed\n")).write("specs/001-login/notes.md", "mine\n");
    scene.write("specs/001-login/.env", "SECRET=1\n");
    let dirty = scene.git("status --porcelain");
    scene.ralph("run --lane --take-changes --set lanes.setup=false").code(3);
    scene.ralph(["run", "--take-changes", "--sandbox", "no-such {command}"]).code(3);
    assert_eq!(scene.git("branch --list ralph/*"), "");
    scene.ralph("run --lane --take-changes").code(0);
    assert_eq!(scene.git("status --porcelain"), dirty);
    assert_eq!(subjects(&scene), ["Changes that 001-login begins with", "T001 a"]);
    assert_eq!(files_of(&scene, "ralph/001-login~1"), ["agent.sh", "specs/001-login/notes.md"]);
}

#[test]
fn spec_kits_note_of_the_feature_is_written_into_each_lane_and_committed_nowhere() {
    let agent = format!(
        "{{ cat .specify/feature.json; env | grep ^SPECIFY_ | sort; }} > seen-$RALPH_TASK\n\
         echo '{{}}' > .specify/feature.json\n{AGENT}"
    );
    let ignore: &[(&str, &str)] = &[
        (".specify/.gitignore", "feature.json\nextensions/*/local-config.yml\n"),
        (".gitignore", ".specify/feature.json\n"),
        ("unrelated", ""),
    ];
    for (file, rules) in ignore {
        let scene = ready(TWO_TASKS, &agent);
        scene.write(file, *rules).write("specs/002-other/tasks.md", "- [ ] T001 x\n").commit("Ignore");
        scene.write(".specify/feature.json", r#"{"feature_directory": "specs/002-other"}"#);
        if file.starts_with(".specify") {
            scene.write(".specify/extensions/git/local-config.yml", "x: 1\n");
        }
        scene.ralph("run --lane --take-changes --feature 001-login").code(0);
        let lane = lanes(&scene).join("1");
        let lane = lane.to_str().expect("scenes have plain names");
        for task in ["T001", "T002"] {
            let seen = scene.git(["show", &format!("{BRANCH}:seen-{task}")]);
            let expected = format!(
                "{{\"feature_directory\":\"specs/001-login\"}}\nSPECIFY_FEATURE=001-login\n\
                 SPECIFY_FEATURE_DIRECTORY={lane}/specs/001-login\nSPECIFY_FEATURE_NO_PERSIST=1\nSPECIFY_INIT_DIR={lane}"
            );
            assert_eq!(seen, expected, "{file}");
        }
        assert_eq!(scene.git(["ls-tree", "-r", "--name-only", BRANCH, ".specify/feature.json"]), "");
        assert!(scene.read(".specify/feature.json").contains("002-other"), "the user's file stays");
    }
    // One that the project tracks is its own.
    let scene = ready(TWO_TASKS, AGENT);
    let tracked = r#"{"feature_directory": "specs/001-login", "x": 1}"#;
    scene.write(".specify/feature.json", tracked).commit("Note");
    scene.ralph("run --lane").code(0);
    assert_eq!(scene.git(["show", &format!("{BRANCH}:.specify/feature.json")]), tracked);
}

#[test]
fn results_are_landed_only_if_that_is_a_fast_forward_of_a_clean_work_tree() {
    let scene = ready(TWO_TASKS, AGENT);
    scene.agent_uses_git();
    scene.ralph("run --lane --land -n 1").code(4).stdout_has("landed: 1 commit of ralph/001-login");
    assert_eq!(scene.git("log -1 --format=%s"), "T001 Write one");
    assert_eq!(scene.git("status --porcelain"), "");
    scene.write("agent.sh", format!("{AGENT}# changed\n"));
    let run = scene.ralph("resume --land").code(0);
    run.stdout_has(
        "not landed: there are uncommitted changes\nhint: commit or stash them, then git merge --ff-only",
    );
    assert_eq!(scene.git("log -1 --format=%s"), "T001 Write one");
    scene.commit("Mine");
    let run = scene.ralph("run --lane");
    run.stdout_has("nothing to do")
        .stderr_has("main has 1 commit that ralph/001-login has not\nhint: `git merge main`");
}

#[test]
fn a_branch_that_was_squashed_begins_where_its_work_is() {
    let scene = ready(TWO_TASKS, AGENT);
    scene.agent_uses_git();
    scene.ralph("run --lane").code(0);
    let tip = scene.git(["rev-parse", BRANCH]);
    scene.git(["merge", "--quiet", "--squash", BRANCH]);
    scene.commit("All of it");
    let tasks = scene.read("specs/001-login/tasks.md");
    scene
        .write("specs/001-login/tasks.md", format!("{tasks}- [ ] T003 Write three\n"))
        .commit("One task more");
    scene.write("work-T001", "changed later\n").commit("Mine");
    scene.ralph("status").code(0).stdout_lacks("git merge");
    let run = scene.ralph("run --lane").code(0).stderr_has(
        "what ralph/001-login changed is in HEAD, by other commits: it begins there again, and was at",
    );
    run.stderr_has(&tip[..10]).stdout_has("1 commit on ralph/001-login: git merge --ff-only");
    assert_eq!(scene.git(["log", "--format=%s", &format!("main..{BRANCH}")]), "T003 Write three");
}

#[test]
fn a_rehearsal_leaves_every_branch_as_it_was() {
    let scene = ready(TWO_TASKS, AGENT);
    scene.agent_uses_git().git("config ralph.lane true");
    let branches = || {
        let refs = scene.git("for-each-ref");
        refs.lines().filter(|line| !line.contains("refs/ralph/")).collect::<Vec<_>>().join("\n")
    };
    let rehearse = || {
        let before = branches();
        scene.ralph("run --dry-run").code(0);
        assert_eq!(branches(), before);
        scene.ralph("doctor --run").stdout_has("start").stdout_has("would be possible");
        assert_eq!(branches(), before);
    };
    // There is no branch, it is ahead, behind, and squashed.
    rehearse();
    scene.ralph("run -n 1").code(4);
    rehearse();
    scene.git(["merge", "--quiet", "--ff-only", BRANCH]);
    scene.write("mine", "x\n").commit("Mine");
    rehearse();
    scene.ralph("run").code(0);
    scene.git(["merge", "--quiet", "--squash", BRANCH]);
    scene.commit("All of it");
    let tasks = scene.read("specs/001-login/tasks.md");
    let tasks = format!("{tasks}- [ ] T003 Write three\n");
    scene.write("specs/001-login/tasks.md", tasks).commit("One task more");
    rehearse();
    scene.ralph("run").code(0).stderr_has("is in HEAD, by other commits: it begins there again");
    assert_eq!(subjects(&scene), ["T003 Write three"]);
}

#[test]
fn a_branch_of_which_a_part_was_taken_stays_as_it_is() {
    let scene = ready(TWO_TASKS, AGENT);
    scene.agent_uses_git();
    scene.ralph("run --lane").code(0);
    let tip = scene.git(["rev-parse", BRANCH]);
    scene.write("mine", "x\n").commit("Mine");
    scene.git(["cherry-pick", &format!("{BRANCH}~1")]);
    let run = scene.ralph("run --lane").code(0);
    run.stderr_has("main has 2 commits that ralph/001-login has not");
    assert_eq!(scene.git(["rev-parse", BRANCH]), tip);
}

/// Commits a file on the branch, as a person may who works in another clone.
pub const PERSON: &str = "if [ $RALPH_ITERATION = 1 ]; then\n\
    export GIT_DIR=$REPO/.git GIT_INDEX_FILE=$REPO/.git/of-a-person\n\
    git read-tree ralph/001-login; blob=$(echo hi | git hash-object -w --stdin)\n\
    git update-index --add --cacheinfo 100644,$blob,fix.txt\n\
    commit=$(git commit-tree -p ralph/001-login -m 'Fix typo' $(git write-tree))\n\
    git update-ref refs/heads/ralph/001-login $commit; rm $GIT_INDEX_FILE\n\
    unset GIT_DIR GIT_INDEX_FILE\nfi\n";

/// Takes git 2.38 for an older one, which cannot merge without a work tree.
const OLD_GIT: &str = "real=$(PATH=${PATH#*:} command -v git)\n\
    case \" $* \" in *' merge-tree --write-tree '*) exit 129 ;; *) exec $real \"$@\" ;; esac";

#[test]
fn with_an_old_git_a_branch_that_moved_sends_the_task_back_and_counts_as_no_failure() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One").agent_sh(&with_repo(&scene, &format!("{PERSON}{AGENT}")));
    scene.config("skip-after = 1").commit("Ready");
    scene.program("git", OLD_GIT);
    scene.agent_uses_git();
    scene.ralph("run --lane").code(0);
    assert_eq!(subjects(&scene), ["Fix typo", "T001 One"]);
    let session = scene.session();
    let (first, second) = (session.iteration(1), session.iteration(2));
    assert_eq!((&first["outcome"], &first["failure_class"]), (&"failure".into(), &"conflict".into()));
    assert_eq!((&first["false_claim"], &first["closed"]), (&serde_json::json!([]), &serde_json::json!([])));
    assert!(first.get("published").is_none());
    let cause = first["cause"].as_str().expect("a failure has a cause");
    assert!(cause.starts_with("ralph/001-login moved to ") && cause.contains("Fix typo"), "{cause}");
    assert!(cause.contains("it changed fix.txt") && cause.contains("git diff "), "{cause}");
    assert!(session.text(2, "prompt.md").contains("it changed fix.txt"), "{}", session.text(2, "prompt.md"));
    assert_eq!(second["base"], scene.git("rev-parse ralph/001-login~1"));
    assert_eq!(files_of(&scene, BRANCH), ["specs/001-login/tasks.md", "work-T001"]);
}

#[test]
fn a_branch_that_moves_in_the_last_moment_is_not_written_over() {
    let scene = ready("- [ ] T001 One", AGENT);
    // The program that signs runs after the last look at the branch.
    let once = "[ -e $HOME/once ] || { touch $HOME/once; RALPH_ITERATION=1; }\nRALPH_ITERATION=${RALPH_ITERATION:-2}\n";
    let sign = "cat > /dev/null; echo '-----BEGIN PGP SIGNATURE-----'; echo '[GNUPG:] SIG_CREATED ' >&2\n";
    scene.program(
        "sign",
        &with_repo(
            &scene,
            &format!("cd $REPO\nunset $(git rev-parse --local-env-vars)\n{once}{PERSON}{sign}"),
        ),
    );
    scene.git("config gpg.program sign");
    scene.agent_uses_git();
    scene.ralph("run --lane --set branch-sign=true").code(0);
    assert_eq!(subjects(&scene), ["Fix typo", "T001 One"]);
    let session = scene.session();
    let first = session.iteration(1);
    assert_eq!(session.trailers("Ralph-Outcome"), ["success", "integrated"]);
    assert!(first.get("published").is_none() && first["commits"] == serde_json::json!([]), "{first}");
    assert_eq!(session.iteration(2)["published"], scene.git(["rev-parse", BRANCH]));
    assert!(scene.git(["cat-file", "commit", BRANCH]).contains("BEGIN PGP SIGNATURE"));
}

#[test]
fn each_attempt_begins_at_the_tip_and_ignored_files_stay() {
    let scene = ready(
        "- [ ] T001 One",
        &format!(
            "ls > seen-$RALPH_ATTEMPT\nif [ $RALPH_ATTEMPT = 1 ]; then echo x > junk; echo y >> agent.sh; \
             echo warm > build.o; exit 0; fi\n{AGENT}"
        ),
    );
    scene.write(".gitignore", "*.o\n").commit("Ignore");
    let run = scene.ralph("run --lane -n 1").code(4);
    run.stdout_lacks("in your work tree");
    scene.ralph("resume").code(0);
    assert_eq!(files_of(&scene, BRANCH), ["seen-2", "specs/001-login/tasks.md", "work-T001"]);
    let seen = scene.git(["show", &format!("{BRANCH}:seen-2")]);
    assert_eq!(seen.lines().collect::<Vec<_>>(), ["agent.sh", "build.o", "seen-2", "specs"]);
    assert_eq!(scene.session().iteration(2)["files_changed"].as_array().map(Vec::len), Some(3));
}

#[test]
fn a_new_lane_gets_copies_and_its_setup_runs_when_its_files_change() {
    let scene = ready(
        TWO_TASKS,
        &format!(
            "cat secret.local log >> seen-$RALPH_TASK\n[ $RALPH_TASK = T001 ] && echo 2 > package.json\n{AGENT}"
        ),
    );
    scene.write(".gitignore", "*.local\nlog\n").write("package.json", "1\n").commit("Files");
    scene.write("secret.local", "s\n");
    scene.config("lanes.setup = 'cat package.json >> log'").commit("Setup");
    scene.ralph("run --lane --set lanes.copy=secret.local").code(0);
    assert_eq!(scene.git(["show", &format!("{BRANCH}:seen-T001")]), "s\n1");
    assert_eq!(scene.git(["show", &format!("{BRANCH}:seen-T002")]), "s\n1\n2");
    let scene = ready("- [ ] T001 a", AGENT);
    scene.config("lanes.setup = 'echo no such lock >&2; false'").commit("Setup");
    scene.ralph("run --lane").code(3).stderr_has("(lanes.setup) exited 1: no such lock");
    scene.ralph("run --lane --set lanes.setup=true").code(0);
}

#[test]
fn what_no_commit_takes_is_moved_away_before_the_validation_runs() {
    let scene = ready(
        "- [ ] T001 One",
        "mkdir -p a/sub; git init -q a/sub; (cd a/sub; echo x > x; git add x; git commit -qm x); git init -q empty\n\
         echo KEY=1 > .env; head -c 6000000 /dev/zero > big.bin; echo fine > fine\n\
         sed -i 's/\\[ \\]/[x]/' \"$RALPH_TASKS\"\n",
    );
    scene.validate("ls -A; ls a; ! test -e .env -o -e big.bin -o -e a/sub").commit("Ready");
    scene.ralph("run --lane").code(0);
    assert_eq!(files_of(&scene, BRANCH), ["fine", "specs/001-login/tasks.md"]);
    let record = scene.session().iteration(1);
    let flag = &record["evidence"]["flags"][0];
    assert_eq!(flag["code"], "left-out", "{record}");
    let mut paths: Vec<_> = flag["paths"].as_array().expect("it names them").iter().collect();
    paths.sort_by_key(|path| path.as_str());
    assert_eq!(paths, [".env", "a/sub", "big.bin", "empty"]);
    scene.ralph("diff 0 .. --name-only").code(0).stdout_has("fine\n");
}

#[test]
fn a_session_goes_on_in_its_lane() {
    let scene = ready(TWO_TASKS, AGENT);
    scene.ralph("run --lane -n 1").code(4);
    scene
        .ralph("resume --no-lane")
        .code(3)
        .stderr_has(" works in a lane, and cannot go on elsewhere\nhint: `specify ralph resume 2");
    // It stays where it began, whatever is set now.
    scene.git("config ralph.lane false");
    scene.ralph("resume").code(0);
    assert_eq!(subjects(&scene), ["T001 Write one", "T002 Write two"]);
    assert_eq!(scene.session().trailers("Ralph-Outcome"), ["success", "success"]);
    assert_eq!(scene.git("status --porcelain"), "");
}

#[test]
fn what_a_dead_session_left_in_its_lane_is_recorded_and_taken_away() {
    for words in ["resume", "run --lane"] {
        let scene = ready(
            "- [ ] T001 One",
            &format!(
                "if [ $RALPH_ITERATION = 1 ]; then echo half > junk; touch {{}}; sleep 1000; fi\n{AGENT}"
            )
            .replace("{}", "$HOME/there"),
        );
        let mut running = scene.spawn("run --lane --json");
        running.wait_for_file(scene.outside("home/there"));
        running.kill().code(137);
        let agent = if words == "resume" { scene.ralph(words) } else { retry(&scene, words) };
        agent.code(0);
        let sessions = scene.sessions();
        let first = sessions[0].iteration(1);
        assert_eq!((&first["outcome"], &first["lane"]), (&"interrupted".into(), &1.into()));
        assert_eq!(first["files_changed"], serde_json::json!(["junk"]), "{words}");
        assert_eq!(files_of(&scene, BRANCH), ["specs/001-login/tasks.md", "work-T001"], "{words}");
        assert!(!lanes(&scene).join("2").exists());
    }
}

/// Kills the loop when it is about to publish, for once.
pub const KILLING_GIT: &str = "real=$(PATH=${PATH#*:} command -v git)\n\
    case \" $* \" in *' update-ref '*' --stdin '*) ;; *) exec $real \"$@\" ;; esac\n\
    while IFS= read -r line; do case $line in\n\
    'update refs/heads/ralph/'*) if [ ! -e $HOME/killed ]; then touch $HOME/killed; kill -9 $PPID; exit; fi ;;\n\
    esac; printf '%s\\n' \"$line\"; done | $real \"$@\"";

#[test]
fn what_was_sealed_is_published_by_the_next_start_unless_the_branch_moved() {
    for has_moved in [false, true] {
        let scene = ready("- [ ] T001 One", AGENT);
        scene.program("git", KILLING_GIT);
        scene.agent_uses_git();
        scene.ralph("run --lane --json").code(137);
        assert!(subjects(&scene).is_empty());
        if has_moved {
            let person = with_repo(&scene, &format!("RALPH_ITERATION=1\n{PERSON}"));
            let moved = scene.hermetic("sh").args(["-c", &person]).status();
            assert!(moved.expect("a shell is there").success() && subjects(&scene) == ["Fix typo"]);
        }
        scene.ralph("run --lane").code(0);
        let record = scene.sessions()[0].iteration(1);
        if has_moved {
            assert_eq!(subjects(&scene), ["Fix typo", "T001 One"]);
            assert_eq!((&record["outcome"], record.get("published")), (&"success".into(), None), "{record}");
            assert_eq!(scene.sessions()[1].trailers("Ralph-Outcome"), ["integrated"]);
            assert_eq!(scene.sessions()[1].iteration(1)["published"], scene.git(["rev-parse", BRANCH]));
        } else {
            assert_eq!(subjects(&scene), ["T001 One"]);
            assert_eq!(record["published"], scene.git(["rev-parse", BRANCH]));
            assert_eq!(scene.sessions().len(), 1);
        }
    }
}

/// A second session numbers its iterations from 1 as well.
fn retry(scene: &Sandbox, words: &str) -> crate::sandbox::Run {
    scene.agent_sh(AGENT).commit("An agent that ends");
    scene.ralph(words)
}

/// What agents do to a lane and to what git says there; `$REPO` is the user's repository, `$PWNED` what no code may write but
/// the agent's own.
const HOSTILE: &[(&str, &str)] = &[
    (
        "commit, branch, tag",
        "git add -A; git commit -qm evil; git branch evil; git tag evil; git checkout -qb other",
    ),
    ("stash", "echo z > z.txt; git add z.txt; git stash -q"),
    ("gc --prune=now", "git gc -q --prune=now; git reflog expire --expire=now --all; git prune --expire=now"),
    (
        "settings and hooks",
        "git config user.email evil@x; git config core.fsmonitor 'touch $PWNED'; git config core.hooksPath evilhooks\n\
         git config alias.status '!touch $PWNED'; mkdir -p .git/hooks evilhooks\n\
         printf '#!/bin/sh\\ntouch $PWNED\\n' | tee .git/hooks/post-checkout .git/hooks/pre-commit evilhooks/post-checkout \
         .git/hooks/reference-transaction > evilhooks/post-index-change; chmod +x .git/hooks/* evilhooks/*\n\
         git config filter.evil.smudge 'touch $PWNED; cat'; git config filter.evil.clean 'touch $PWNED; cat'\n\
         echo '* filter=evil' > .gitattributes",
    ),
    ("another branch", "git checkout -qf main || git checkout -q --detach; git reset -q --hard"),
    (
        "no .git, then git",
        "rm -rf .git; git stash; git branch evil; git config x.y z; git commit -qam evil; git gc -q --prune=now",
    ),
    (".git names the user's", "rm -rf .git; echo 'gitdir: $REPO/.git' > .git; exit 0"),
    (".git is a link", "rm -rf .git; ln -s '$REPO/.git' .git; exit 0"),
    (
        ".git names nothing",
        "rm -rf .git; echo 'gitdir: /nonexistent' > .git; git add -A; git commit -qm evil",
    ),
    (
        "push",
        "git add -A; git commit -qm evil; git push -q origin HEAD:refs/heads/evil; git push -q origin HEAD; git push",
    ),
    ("all boxes", "sed -i 's/- \\[ \\]/- [x]/' \"$RALPH_TASKS\""),
    (
        "no lane",
        "L=$PWD; cd /; chmod -R u+w \"$L\"; rm -rf \"$L\"; mkdir -p \"$L/specs/001-login\"; cd \"$L\"",
    ),
    ("a lane that is a link", "L=$PWD; cd /; rm -rf \"$L\"; ln -s '$REPO' \"$L\"; exit 0"),
    (
        "a nested repository",
        "mkdir sub; git init -q sub; (cd sub; echo a > a; git add a; git -c user.name=x -c user.email=x commit -qm x)",
    ),
    (
        "a submodule",
        "printf '[submodule \"x\"]\\n path = x\\n url = ext::sh -c touch%% $PWNED\\n' > .gitmodules; mkdir -p x",
    ),
    ("a link out", "rm -rf src; mkdir -p $HOME/outside; ln -s $HOME/outside src; echo x > src/y"),
    (
        "tasks.md is a link",
        "mv \"$RALPH_TASKS\" $HOME/tasks; sed -i 's/\\[ \\]/[x]/' $HOME/tasks; ln -s $HOME/tasks \"$RALPH_TASKS\"; exit 0",
    ),
    (
        "the feature is a link",
        "mv specs $HOME/specs; sed -i 's/\\[ \\]/[x]/' $HOME/specs/*/tasks.md; ln -s $HOME/specs specs; exit 0",
    ),
    (
        "locks and folders that cannot be written",
        "touch .git/index.lock; mkdir -p ro; echo x > ro/x; chmod 500 ro",
    ),
    ("alternates", "echo $HOME/evil >> .git/objects/info/alternates"),
    ("a process that stays", "(trap '' TERM HUP; sleep 1; echo late > late.txt; sleep 60) &"),
];

#[test]
fn nothing_of_a_hostile_agent_reaches_the_repository_but_by_the_branch() {
    for (name, deed) in HOSTILE.iter().step_by(one_in(3)) {
        let scene = Sandbox::new();
        let pwned = scene.outside("PWNED");
        let deed = deed.replace("$PWNED", pwned.to_str().expect("scenes have plain names"));
        // What its own git runs is its own doing.
        let agent =
            format!("if [ $RALPH_ITERATION = 1 ]; then\n{deed}\nfi\n{AGENT}rm -f {}\n", pwned.display());
        scene.tasks(TWO_TASKS).agent_sh(&with_repo(&scene, &agent)).write("src/a.txt", "a\n").commit("Ready");
        let remote = scene.with_remote();
        let head = scene.git("rev-parse HEAD");
        let run = scene.ralph("run --lane --max-cost 1");
        assert!(run.text().contains("all 2 tasks done"), "{name}: {}", run.text());
        run.code(0);
        assert_eq!(scene.git("rev-parse HEAD"), head, "{name}");
        assert_eq!(scene.git("status --porcelain"), "", "{name}");
        assert!(!pwned.exists(), "{name}: its code ran outside of it");
        assert_eq!(scene.git_in(&remote, "for-each-ref --format=%(refname)"), "refs/heads/main", "{name}");
        let subjects = subjects(&scene);
        assert_eq!(subjects, ["T001 Write one", "T002 Write two"], "{name}");
        let list = scene.git(["ls-tree", BRANCH, "specs/001-login/tasks.md"]);
        assert!(list.starts_with("100644 blob "), "{name}: {list}");
        let all = scene.git(["ls-tree", "-r", BRANCH]);
        assert!(!all.contains("160000 "), "{name}: a repository is on the branch: {all}");
        let first = scene.git(["show", "ralph/001-login~1:specs/001-login/tasks.md"]);
        assert!(first.contains("[ ] T002"), "{name}: {first}");
    }
}

/// A suite of as many tests as a file has lines, which fails where one of them says so.
const SUITE: &str = "count=$(wc -l < suite); echo \"=== $count passed in 0.10s ===\"; ! grep broken suite";

/// A scene in which a person commits another suite before the second attempt at the first task.
fn with_person(suite: &str) -> Sandbox {
    let person = PERSON.replace("echo hi", &format!("printf '{suite}'")).replace("fix.txt", "suite");
    let scene = Sandbox::new();
    scene.write("suite", "a\nb\nc\nd\ne\nf\ng\nh\n").tasks(TWO_TASKS);
    scene.agent_sh(&with_repo(&scene, &format!("{person}{AGENT}")));
    scene.config("skip-after = 1").validate(SUITE).commit("Ready");
    scene.agent_uses_git();
    scene
}

#[test]
fn a_commit_of_a_persons_that_breaks_the_validation_ends_the_session_and_no_task_is_blamed() {
    let scene = with_person("broken\\n");
    // It runs in the user's own files: agents write those of the lane.
    scene
        .config("hooks.on-event = 'pwd > ../where; cat >> ../events'\nhooks.events = ['target_red']")
        .commit("Hear");
    let run = scene.call("run --lane").with_baseline().run().code(5);
    run.stdout_has("0 of 2 tasks done · the validation fails on a commit of the branch")
        .stdout_has("the validation fails on ralph/001-login at ")
        .stdout_has(" (Fix typo), without any attempt")
        .stdout_has("hint: commit what repairs it on ralph/001-login, then `specify ralph resume");
    let session = scene.session();
    assert_eq!(session.end()["stop_reason"], "target_red");
    let outside = |name| fs::read_to_string(scene.outside(name)).expect("the command ran");
    assert_eq!(outside("where").trim(), scene.repo().to_str().expect("a plain name"));
    let event: serde_json::Value = serde_json::from_str(&outside("events")).expect("one line");
    assert_eq!((&event["branch"], &event["iteration"]), (&BRANCH.into(), &2.into()));
    // What it broke was not its attempt: the result waits.
    assert_eq!(session.trailers("Ralph-Outcome"), ["success"]);
    // Repaired, it goes on where it was.
    let tree = scene.outside("tree");
    scene.git(["worktree", "add", "--quiet", tree.to_str().expect("a plain name"), BRANCH]);
    fs::write(tree.join("suite"), "a\nb\n").expect("it is there");
    scene.git_in(&tree, "commit --quiet --all --message Repair");
    scene.git(["worktree", "remove", tree.to_str().expect("a plain name")]);
    scene.call("resume").with_baseline().run().code(0);
    assert_eq!(subjects(&scene), ["Fix typo", "Repair", "T001 Write one", "T002 Write two"]);
}

#[test]
fn tests_that_a_person_removes_are_not_missed_in_an_attempt() {
    let scene = with_person("a\\nb\\n");
    scene.call("run --lane").with_baseline().run().code(0);
    let session = scene.session();
    assert_eq!(session.trailers("Ralph-Outcome"), ["success", "integrated", "success"]);
    assert_eq!(subjects(&scene), ["Fix typo", "T001 Write one", "T002 Write two"]);
}

#[test]
fn the_trailers_of_an_amended_commit_prove_nothing() {
    let scene = with_person("a\\nb\\n");
    scene.call("run --lane").with_baseline().run().code(0);
    let tree = scene.outside("tree");
    scene.git(["worktree", "add", "--quiet", tree.to_str().expect("a plain name"), BRANCH]);
    fs::write(tree.join("suite"), "broken\n").expect("it is there");
    let list = fs::read_to_string(tree.join("specs/001-login/tasks.md")).expect("it is there");
    fs::write(tree.join("specs/001-login/tasks.md"), format!("{list}\n- [ ] T003 Write three\n"))
        .expect("it is there");
    scene.git_in(&tree, "commit --quiet --all --amend --no-edit");
    scene.git(["worktree", "remove", tree.to_str().expect("a plain name")]);
    // The message says that it passed, and the validation runs all the same.
    let run = scene.call("run --lane -n 1").with_baseline().run().to_string();
    assert!(run.contains("broken") && !run.contains("passed on these files before"), "{run}");
}

#[test]
fn a_lane_without_dependencies_is_named_and_no_attempt_is_made_in_it() {
    let scene = ready(TWO_TASKS, AGENT);
    scene.write(".gitignore", "node_modules/\n.env\n").write("package-lock.json", "{}");
    scene.write(".env.example", "A=\n").commit("Ignore");
    scene.write("node_modules/run.sh", "echo fine\n").write(".env", "A=1\n");
    let lane = |validation: &str, [key, value]: [&str; 2]| {
        scene.call(["run", "--lane", "--validate", validation, key, value]).with_baseline().run()
    };
    lane("sh node_modules/run.sh", ["-n", "2"]).code(3).stderr_has(
        ".env and node_modules are not in the lane, and the validation cannot run without\n\
         hint: --set lanes.setup='npm ci' --set lanes.copy=.env",
    );
    assert!(scene.sessions().is_empty() && scene.git("branch --list ralph/*").is_empty());
    assert_eq!(scene.read("node_modules/run.sh"), "echo fine\n");
    // One that is red for another reason is only told what it lacks.
    lane("test -e work-T001", ["--force", "-n1"])
        .code(4)
        .stdout_has(".env and node_modules are not in the lane\n");
    // A lane that is there gets what it lacks.
    lane("sh node_modules/run.sh", ["--set", "lanes.copy=node_modules,.env"]).code(0);
    let list = format!("{TWO_TASKS}\n- [ ] T003 Write three\n- [ ] T004 Write four");
    scene.tasks(&list).commit("More").git("branch --quiet --force ralph/001-login HEAD");
    let quiet = lane("test -e work-T003", ["-n", "1"]);
    assert!(!quiet.text().contains("not in the lane"), "{quiet}");
}

/// Makes the folder of an environment with one program, which says whose it is.
const MAKE_ENVIRONMENT: &str = "mkdir -p .venv/bin && echo 'echo of the lane' > .venv/bin/source && chmod +x .venv/bin/source\n\
                                source > setup.log\n";

#[test]
#[expect(clippy::disallowed_methods, reason = "the scene puts a folder in front of the PATH")]
fn variables_that_lie_in_the_users_work_tree_name_the_lane() {
    let scene = Sandbox::new();
    let agent =
        format!("{{ source; echo $VIRTUAL_ENV; echo $OWN; echo $OTHER; cat setup.log; }} > seen\n{AGENT}");
    scene.tasks("- [ ] T001 One").write("agent.sh", agent).write("setup.sh", MAKE_ENVIRONMENT);
    let table = "[agents.fake]\ncommand = [\"sh\", \"agent.sh\"]\nenv = { OWN = \"$REPO/own\" }\n";
    scene.agent(&with_repo(&scene, table)).validate("test \"$(source)\" = 'of the lane'");
    scene.config("lanes.setup = 'sh setup.sh'\nhooks.on-finish = 'source > finish.log'");
    scene.write(".gitignore", ".venv\n*.log\n").commit("Ready");
    scene.executable(".venv/bin/source", "echo of the user\n");
    let (users, elsewhere) = (with_repo(&scene, "$REPO/.venv"), scene.outside("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = vec![PathBuf::from(&users).join("bin"), elsewhere.clone()];
    folders.extend(std::env::split_paths(&path));
    let path = std::env::join_paths(folders).expect("plain names");
    let call = scene.call("run --lane").env("PATH", path).env("VIRTUAL_ENV", &users);
    // Its path is another one than where printed commands are tried.
    scene.try_no_hints();
    call.env("OTHER", &elsewhere).with_baseline().run().code(0);
    let lane = lanes(&scene).join("1");
    let (lane, elsewhere) = (lane.display(), elsewhere.display());
    let expected = format!("of the lane\n{lane}/.venv\n{lane}/own\n{elsewhere}\nof the lane");
    assert_eq!(scene.git(["show", &format!("{BRANCH}:seen")]), expected);
    let finished = fs::read_to_string(lanes(&scene).join("1/finish.log")).expect("the hook ran");
    assert_eq!(finished, "of the lane\n");
}

#[test]
fn what_leads_from_a_lane_to_the_users_files_is_refused() {
    type Change = fn(&Sandbox);
    let table: &[(&str, Change, &[&str], &str)] = &[
        (
            "a validation that names the work tree",
            |scene| {
                scene.validate(&with_repo(scene, "cd $REPO && true")).commit("Check");
            },
            &[],
            "`validation.command` names $REPO, which leads to your files and not to the lane's\nhint: commands run in",
        ),
        (
            "an agent that does",
            |_| (),
            &["--agent-command", "sh $REPO/agent.sh"],
            "`agents.command.command` names $REPO/agent.sh",
        ),
        (
            "an environment to copy",
            |scene| {
                scene.write(".venv/pyvenv.cfg", "home = /usr/bin\n");
                scene.executable(".venv/bin/pytest", &with_repo(scene, "#!$REPO/.venv/bin/python3\n"));
            },
            &["--set", "lanes.copy=.venv"],
            "`lanes.copy` names .venv, and `.venv/bin/pytest` leads to $REPO/.venv/bin/python3, in your work tree\nhint: leave it out",
        ),
        (
            "an installation that leads there",
            |scene| {
                let install = "mkdir -p .venv; touch .venv/pyvenv.cfg; echo $REPO/src > .venv/project.pth\n";
                scene.write("install.sh", with_repo(scene, install)).commit("Install");
            },
            &["--set", "lanes.setup=sh install.sh"],
            "in the lane `.venv/project.pth` leads to $REPO/src, in your work tree\nhint: have `lanes.setup` install it",
        ),
        (
            "a tracked link that an installer would follow",
            |scene| {
                symlink(scene.outside("home"), scene.path("vendor")).expect("there is none yet");
                scene.commit("Link");
            },
            &["--set", "lanes.setup=rm -rf vendor/*"],
            "in the lane `vendor` is a link that git tracks, and leads out of the checkout to ",
        ),
    ];
    for (name, change, words, expected) in table {
        let scene = ready("- [ ] T001 a", AGENT);
        // What an installation left is removed once that goes elsewhere.
        scene.try_no_hints().write(".gitignore", ".venv\n").commit("Ignore");
        change(&scene);
        fs::write(scene.outside("home/precious"), "x").expect("it is the scene's");
        let words = words.iter().map(|word| with_repo(&scene, word));
        let words: Vec<String> = words.collect();
        let refused = match words.as_slice() {
            [key, value] => scene.ralph(["run", "--lane", key, value]),
            _ => scene.ralph("run --lane"),
        };
        let expected = with_repo(&scene, expected);
        assert!(refused.talk().contains(&expected), "{name}: {}", refused.talk());
        refused.code(3);
        assert!(scene.sessions().is_empty() && scene.git("branch --list ralph/*").is_empty(), "{name}");
        assert!(scene.outside("home/precious").exists(), "{name}");
    }
}

#[test]
fn dependencies_that_lead_elsewhere_in_a_lane_or_out_of_both_are_fine() {
    let scene = ready(TWO_TASKS, AGENT);
    let install = "mkdir -p node_modules env/bin\nln -sfn ../packages/a node_modules/a\n\
                   ln -sfn $OUT env/lib\nln -sf /bin/sh env/bin/python\necho $PWD > env/own.pth\n\
                   printf \"#!$PWD/env/bin/python\\n\" > env/bin/tool\ntouch env/pyvenv.cfg\n";
    let elsewhere = scene.outside("bin");
    scene.write("install.sh", install.replace("$OUT", elsewhere.to_str().expect("a plain name")));
    scene.write("packages/a/index.js", "").write("third_party/b/index.js", "");
    symlink("third_party", scene.path("vendor")).expect("there is none yet");
    scene.write(".gitignore", "node_modules\nenv\n.bundle\n").commit("Install");
    fs::create_dir(scene.path(".bundle")).expect("there is none yet");
    symlink("../third_party/b", scene.path(".bundle/b")).expect("there is none yet");
    let words = ["run", "--lane", "--set", "lanes.setup=sh install.sh", "--set", "lanes.copy=.bundle"];
    scene.ralph(words).code(0);
    assert_eq!(subjects(&scene), ["T001 Write one", "T002 Write two"]);
}

#[test]
fn a_loop_beside_a_lane_says_what_that_has_done() {
    let scene = ready(TWO_TASKS, AGENT);
    scene.agent_uses_git().ralph("run --lane -n 1").code(4);
    scene.ralph("run -n 1").code(4).stderr_has(
        "warning: T001 is done on ralph/001-login, and open here\n\
         hint: `git merge ralph/001-login` takes it in\n",
    );
    // The agent of the plain loop committed the same, too.
    scene.git("reset --quiet --hard ralph/001-login");
    assert!(!scene.ralph("run -n 1").talk().contains("open here"));
}

#[test]
fn a_start_says_what_other_machines_did_where_it_was_fetched() {
    let scene = ready(TWO_TASKS, AGENT);
    let bare = scene.with_remote();
    let other = scene.outside("other");
    let [from, to] = [&bare, &other].map(|path| path.to_str().expect("a plain name"));
    scene.git(["clone", "--quiet", &format!("file://{from}"), to]);
    scene.call("run --lane -n 1").dir(&other).run().code(4);
    scene.git_in(&other, "push --quiet origin ralph/001-login");
    scene.call("sync").dir(&other).run().code(0);
    let said = |words: &str| {
        // The start is refused after that, for want of the validation.
        let started = scene.ralph(&format!("{words} --validate not-installed")).code(3).talk();
        let after = started.split_once("warning: T001").map(|(_, after)| after.to_owned());
        after.map(|after| after.lines().take(2).collect::<Vec<_>>().join(" ")).unwrap_or_default()
    };
    // Nothing is asked of the remote, and a branch that no record names is a person's.
    assert_eq!(said("run"), "");
    scene.git("fetch --quiet origin +refs/heads/*:refs/remotes/origin/*");
    assert_eq!(said("run"), "");
    scene.ralph("sync").code(0);
    let waits = " is done on origin/ralph/001-login, and open here hint: `git merge origin/ralph/001-login` takes it in";
    assert_eq!(said("run"), waits);
    // Only for what the start is about.
    assert_eq!(said("run --task T002"), "");
    assert_eq!(said("run --task T001"), waits);
    let in_lane = " is done on origin/ralph/001-login, and open here hint: `git merge origin/ralph/001-login` on ralph/mine takes it in";
    assert_eq!(said("run --lane --branch ralph/mine"), in_lane);
    // Merged there, and not here: that is what to take in, and the branch is not named beside it.
    scene.git_in(&other, "push --quiet origin ralph/001-login:main");
    scene.git("fetch --quiet origin +refs/heads/*:refs/remotes/origin/*");
    let merged = " is done on origin/main, and open here hint: `git merge origin/main` takes it in";
    assert_eq!(said("run"), merged);
    let again = scene.ralph("run --validate not-installed").code(3).talk();
    assert!(!again.contains("origin/ralph/001-login"), "{again}");
    scene.git("merge --quiet --ff-only origin/main");
    assert_eq!(said("run"), "");
    // A person opened it again.
    let list = scene.task_list().replace("[x] T001", "[ ] T001");
    scene.write("specs/001-login/tasks.md", list).commit("Not yet");
    assert_eq!(said("run"), "");
}

#[test]
fn loops_that_start_together_take_a_lane_each_and_one_takes_the_branch() {
    let scene = ready(TWO_TASKS, AGENT);
    for feature in ["002-b", "003-c"] {
        scene.write(&format!("specs/{feature}/tasks.md"), "- [ ] T001 One\n");
    }
    scene.commit("Features");
    let names = ["001-login", "002-b", "003-c"];
    let started: Vec<_> =
        names.iter().map(|name| scene.spawn(&format!("run --lane --feature {name}"))).collect();
    for running in started {
        running.wait().code(0);
    }
    let branches = scene.git(["branch", "--list", "ralph/*", "--format=%(refname:short)"]);
    assert_eq!(branches, "ralph/001-login\nralph/002-b\nralph/003-c");
    let lanes = scene.sessions().iter().map(|session| session.end()["lane"].clone()).collect::<Vec<_>>();
    assert!(lanes.iter().all(|lane| lanes.iter().filter(|other| *other == lane).count() == 1), "{lanes:?}");
}

#[test]
fn lanes_of_a_repository_that_is_gone_are_removed_with_the_others() {
    let scene = ready("- [ ] T001 One", AGENT);
    let other = scene.outside("other");
    scene.git(["clone", "--quiet", ".", other.to_str().expect("a plain name")]);
    scene.call("run --lane").dir(&other).run().code(0);
    scene.ralph("clean --lanes").code(0).stdout_has("removed 0 lanes of ");
    fs::remove_dir_all(&other).expect("it is there");
    let cleaned = scene.ralph("clean --lanes").code(0);
    cleaned.stdout_has("other/.git, which is gone\nremoved 0 lanes of ");
    scene.skip_final_fsck();
}
