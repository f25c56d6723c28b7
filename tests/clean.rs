//! The clean checkout: what holds only where an agent wrote it is sent back, and honest work is not.

use std::fs;

use serde_json::Value;

use crate::sandbox::Sandbox;

const TWO_TASKS: &str = "- [ ] T001 Write one\n- [ ] T002 Write two";

/// Runs a test for each file that is wanted, and tells how many; or the runner that git ignores, if one is there.
const SUITE: &str = "[ -e local/runner ] && exec sh local/runner\nn=0\nfor want in want-*; do [ -e \"$want\" ] || continue\n\
    if [ -s \"${want#want-}\" ] || [ -e local/pass ]; then n=$((n + 1)); else echo \"FAIL ${want#want-}\"; exit 1; fi\ndone\n\
    echo \"Tests: $n passed, $n total\"\n";

/// Writes what a task wants, and ticks it. T002 makes a runner instead that passes everything, until it hears of it; by its name and mode
/// it is no script.
const CHEAT: &str = "prompt=$(cat)\nname=work-$RALPH_TASK\necho test > \"want-$name\"\n\
    case $RALPH_TASK:$prompt in\n\
    T002:*'in a clean checkout'*) echo work > \"$name\" ;;\n\
    T002:*) mkdir -p local; echo 'echo \"Tests: 2 passed, 2 total\"' > local/runner ;;\n\
    *) echo work > \"$name\" ;;\nesac\n\
    sed -i \"s/\\[ \\] $RALPH_TASK/[x] $RALPH_TASK/\" \"$RALPH_TASKS\"\n";

/// An agent that does what is asked for.
const HONEST: &str = "cat > /dev/null\nname=work-$RALPH_TASK\necho test > \"want-$name\"\necho work > \"$name\"\n\
    sed -i \"s/\\[ \\] $RALPH_TASK/[x] $RALPH_TASK/\" \"$RALPH_TASKS\"\n";

fn scene(agent: &str) -> Sandbox {
    let scene = Sandbox::new();
    scene.write("suite.sh", SUITE).write(".gitignore", "/local/\n/node_modules/\n/.env\n");
    scene.tasks(TWO_TASKS).agent_sh(agent).validate("sh suite.sh").commit("Ready");
    scene
}

/// The check that a record has.
fn check(record: &Value) -> &Value {
    &record["evidence"]["clean"]
}

#[test]
fn what_passes_only_because_of_ignored_files_is_sent_back_and_done_again() {
    let scene = scene(CHEAT);
    let run = scene.call("run").checked().run().code(0);
    let run = run.stdout_has("sent back: in a clean checkout (sh suite.sh): FAIL work-T002");
    run.stdout_has("all 2 tasks done, also in a clean checkout (2 tests)");
    let session = scene.session();
    let sent_back = session.iteration(3);
    assert_eq!((&sent_back["outcome"], &sent_back["task"]), (&"checked".into(), &"T002".into()));
    assert_eq!(sent_back["reopened"], serde_json::json!(["T002"]));
    let found = check(&sent_back);
    assert_eq!((&found["why"], &found["verdict"]), (&"end".into(), &"fails".into()));
    assert_eq!(found["first_failing"], serde_json::json!({"iteration": 2, "tasks": ["T002"]}));
    assert_eq!(found["control"]["verdict"], "holds");
    // The first success after it is tried at once, and the end again.
    let last = session.iteration(4);
    assert_eq!((&last["outcome"], &check(&last)["why"]), (&"success".into(), &"task".into()));
    assert_eq!(check(&last)["verdict"], "holds");
    assert_eq!(session.end()["clean"]["verdict"], "holds");
    assert!(scene.path("local/runner").exists(), "nothing of the user's is removed");
    let trailers =
        scene.git(["log", "--format=%(trailers:key=Ralph-Clean,valueonly)", "--glob=refs/ralph/*"]);
    assert_eq!(trailers.split_whitespace().collect::<Vec<_>>(), ["holds", "holds", "fails"]);
    scene.ralph("log").code(0).stdout_has("sent back: in a clean checkout");
    scene.ralph("fsck").code(0);
}

#[test]
fn what_was_tried_before_the_last_result_says_nothing_of_it() {
    // T001 writes a script that git ignores, for which it is tried at once; T002 is not tried before the limit.
    let helper = "[ $RALPH_TASK = T001 ] && mkdir -p local && printf '#!/bin/sh\\n' > local/helper && chmod +x local/helper\n";
    let scene = scene(&HONEST.replacen("name=", &format!("{helper}name="), 1));
    scene.tasks("- [ ] T001 Write one\n- [ ] T002 Write two\n- [ ] T003 Write three").commit("Three");
    scene.call("run -n 2").checked().run().code(4).stdout_lacks("also in a clean checkout");
    let session = scene.session();
    assert_eq!(check(&session.iteration(1))["verdict"], "holds");
    assert_eq!(check(&session.iteration(2)), &Value::Null);
    assert_eq!(session.end().get("clean"), None);
    scene.ralph("status").code(0).stdout_lacks("clean checkout");
    scene.call("resume").checked().run().code(0).stdout_has("also in a clean checkout (3 tests)");
}

#[test]
fn in_a_lane_the_box_is_opened_by_a_commit_and_the_false_runner_goes() {
    let scene = scene(CHEAT);
    let run = scene.call("run --lane").checked().run().code(0);
    run.stdout_has("also in a clean checkout (2 tests)");
    let branch = "ralph/001-login";
    let subjects = scene.git(["log", "--reverse", "--format=%s", &format!("HEAD..{branch}")]);
    assert_eq!(
        subjects.lines().collect::<Vec<_>>(),
        [
            "T001 Write one",
            "T002 Write two",
            "Open T002 again: it fails in a clean checkout",
            "T002 Write two"
        ]
    );
    let list = scene.git(["show", &format!("{branch}:specs/001-login/tasks.md")]);
    assert!(list.contains("[x] T001") && list.contains("[x] T002"), "{list}");
    assert_eq!(scene.git("status --porcelain"), "");
}

#[test]
fn honest_work_costs_one_run_and_says_so_in_a_word() {
    let scene = scene(HONEST);
    let run = scene.call("run").checked().run().code(0);
    run.stdout_has("all 2 tasks done, also in a clean checkout (2 tests)");
    let checked = scene.session().iteration(3);
    let found = check(&checked);
    assert_eq!((&checked["outcome"], &checked["task"]), (&"checked".into(), &Value::Null));
    assert_eq!(
        (&found["verdict"], &found["runs"], &found["control"]),
        (&"holds".into(), &1.into(), &Value::Null)
    );
    scene.ralph("status").code(0).stdout_has("\n  also in a clean checkout (2 tests)\n");
    let shown = scene.ralph("show").code(0);
    shown.stdout_has("· all tasks").stdout_has("holds in a clean checkout").stdout_lacks("box");
    assert_eq!(scene.ralph("status --json").json()["session"]["clean"]["verdict"], "holds");
    let line = "| Clean checkout | `also in a clean checkout (2 tests)` |";
    scene.ralph("report --markdown -o -").code(0).stdout_has(line);
    scene.ralph("report -o -").code(0).stdout_has(">Also in a clean checkout (2 tests)</p>");
    // What is kept for it goes with the lanes.
    let removed = scene.ralph("clean --lanes").code(0);
    removed.stdout_has("removed the clean checkout ");
    assert!(!scene.outside("home/.cache/specify-ralph/lanes").read_dir().unwrap().any(|_| true));
    // A later session has a tree that held.
    scene.tasks(&format!("{}\n- [ ] T003 Write three", TWO_TASKS.replace("[ ]", "[x]")));
    scene
        .call("run")
        .checked()
        .run()
        .code(0)
        .stdout_has("all 3 tasks done, also in a clean checkout (3 tests)");
    scene.ralph("fsck").code(0);
}

#[test]
fn what_fails_in_every_checkout_blames_no_task_and_changes_no_exit_code() {
    let scene = scene(HONEST);
    // It needs what a person laid there.
    scene.validate("test -e local/database && sh suite.sh").write("local/database", "x").commit("Needs more");
    let run = scene.call("run").checked().run().code(0);
    run.stdout_has("all 2 tasks done")
        .stdout_has("clean checkout unusable: the validation fails there on an older tree");
    scene.ralph("status").stdout_has("clean checkout unusable: the validation fails there on an older tree");
    let found = scene.session().iteration(3);
    assert_eq!(check(&found)["verdict"], "unusable");
    assert!(scene.task_list().contains("[x] T001") && scene.task_list().contains("[x] T002"));
}

#[test]
fn nothing_is_tried_without_the_dependencies_of_a_lock_file_nor_after_one_attempt() {
    let scene = scene(HONEST);
    scene.write("package-lock.json", "{}\n").commit("Lock");
    let run = scene.call("run").checked().run().code(0);
    let run = run.stderr_has(
        "not be tried in a clean checkout: package-lock.json suggests --set 'lanes.setup=npm ci'",
    );
    run.stdout_has("all 2 tasks done").stdout_lacks("clean checkout");
    let suggested = "package-lock.json suggests `lanes.setup = \"npm ci\"`";
    let doctor = scene.call("doctor").checked().run().code(0);
    doctor.stdout_has("results will not be tried in a clean checkout").stdout_has(suggested);
    let settings = scene.read(".specify/ralph.toml");
    fs::remove_file(scene.path(".specify/ralph.toml")).expect("it is ours");
    scene.ralph("init").code(0).stdout_has(suggested);
    scene.write(".specify/ralph.toml", settings);
    scene.ralph("status").stdout_lacks("clean checkout");
    assert_eq!(scene.session().end()["clean"], Value::Null);

    let scene = self::scene(HONEST);
    let run = scene.call("run -n 1").checked().run().code(4);
    run.stdout_has("not tried in a clean checkout: specify ralph verify");
    assert_eq!(scene.session().end()["clean"], Value::Null);
}

#[test]
fn a_change_of_people_is_blamed_on_no_task() {
    let scene = scene(HONEST);
    // A person breaks the first result between the two attempts, where git does not see that it still passes here.
    scene.call("run --task T001").checked().run().code(0).stdout_has("also in a clean checkout");
    scene.write("local/pass", "x").write("work-T001", "");
    let run = scene.call("run").checked().run().code(5);
    run.stdout_has("does not hold in a clean checkout since people changed 1 file after #")
        .stdout_has("FAIL work-T001");
    assert!(scene.task_list().contains("[x] T001") && scene.task_list().contains("[x] T002"));
}

#[test]
fn setup_runs_in_the_checkout_and_copies_are_as_people_left_them() {
    let scene = scene("");
    // The setup installs a runner from what is declared; .env says what to test.
    scene.write("declared", "one\n").write(".env", "LEVEL=full\n");
    scene.validate("grep -q full .env && grep -q one node_modules/installed && sh suite.sh");
    scene.write("node_modules/installed", "one\n");
    scene.agent_sh(&format!("{HONEST}echo LEVEL=none > .env; echo LEVEL=full >> .env\n")).commit("Ready");
    let set = [
        "--set",
        "lanes.setup=mkdir -p node_modules && cp declared node_modules/installed",
        "--set",
        "lanes.copy=.env",
    ];
    let run = scene.call(["run", set[0], set[1], set[2], set[3]]).checked().run().code(0);
    run.stdout_has("also in a clean checkout (2 tests)");
    let checked = scene.session().iteration(3);
    assert_eq!(check(&checked)["setup"]["exit"], 0);
    let root = scene.outside("home/.cache/specify-ralph/lanes");
    let of_repository = fs::read_dir(root).unwrap().flatten().next().unwrap().path();
    let clean = of_repository.join("clean").join(scene.path("").file_name().unwrap());
    assert_eq!(fs::read_to_string(clean.join(".env")).unwrap(), "LEVEL=full\n");
    // Dependencies that are installed and not declared are missed there.
    let scene = self::scene("");
    scene.validate("test -z \"$(ls want-* 2>/dev/null)\" || grep -q work node_modules/installed");
    scene
        .agent_sh(&format!("{HONEST}mkdir -p node_modules; echo work > node_modules/installed\n"))
        .commit("Ready");
    let set = ["--set", "lanes.setup=mkdir -p node_modules", "--set", "skip-after=1"];
    let run = scene.call(["run", set[0], set[1], set[2], set[3]]).checked().run().code(5);
    run.stdout_has("sent back: in a clean checkout (mkdir -p node_modules, then ");
}

#[test]
fn git_shows_in_the_checkout_what_it_shows_in_place() {
    let scene = scene(HONEST);
    let told = "git describe --tags >> \"$OUT\" && git branch --show-current >> \"$OUT\" && git status --short --ignored -- suite.sh local >> \"$OUT\" && sh suite.sh";
    scene.validate(told).git("tag v1.0");
    scene.commit("Told").git("tag --force v1.0");
    let out = scene.outside("told");
    scene.call("run -n 3").checked().env("OUT", &out).run().code(0);
    let told = fs::read_to_string(out).unwrap();
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines, ["v1.0", "main"].repeat(3));
}

#[test]
fn verify_tries_what_is_named_and_records_nothing() {
    let scene = scene(HONEST);
    scene.ralph("run").code(0);
    let refs = scene.git("for-each-ref");
    scene.ralph("verify").code(0).stdout_has("holds: the validation passes in a clean checkout of HEAD (");
    scene.ralph("verify T002").code(0).stdout_has("holds: 2 tests pass in a clean checkout of iteration 2");
    let found = scene.ralph("verify T002 --json").code(0).json();
    assert_eq!((&found["verdict"], &found["exit"], &found["runs"]), (&"holds".into(), &0.into(), &1.into()));
    scene.write("local/pass", "x");
    let fails = scene.ralph(["verify", "main", "--validate", "test -e local/pass"]).code(5);
    fails.stdout_has("fails here: ").stdout_has("no tree is known to hold").stdout_has("2 runs");
    scene
        .ralph(["verify", "--validate", "sleep 1000", "--set", "validation.timeout=1s"])
        .code(6)
        .stdout_has("unusable: `sleep 1000` timed out");
    scene.ralph("verify no-such-thing").code(1).stderr_has("no such task, attempt or commit");
    scene.write("package-lock.json", "{}\n");
    scene.ralph("verify").code(3).stderr_has("package-lock.json suggests --set 'lanes.setup=npm ci'");
    assert_eq!(scene.git("for-each-ref"), refs);
}
