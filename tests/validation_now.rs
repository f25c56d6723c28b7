//! Whether the validation passes now, which every screen says of the files as they are, and runs nothing for it.

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

/// Writes a test for each task; T003 breaks what the validation looks at.
const AGENT: &str = "[[turn]]\ntask = 'T003'\ndo = [{ write = { path = 'broken.txt', text = 'x' } }, { tick = 'current' }]\n\
    [[turn]]\ndo = [{ write = { path = 'two.test', text = 'x' } }, { tick = 'current' }]\n";

const CHECK: &str = "test -e runs.log && echo run >>runs.log
test ! -e broken.txt || { echo '==== 1 failed, 2 passed in 0.01s ===='; exit 1; }
echo \"==== $(ls *.test | wc -l) passed in 0.01s ====\"
";

fn scene(list: &str) -> Sandbox {
    let scene = Sandbox::new();
    scene.tasks(list).agent_script(AGENT).validate("sh check.sh").write("check.sh", CHECK);
    scene.write(".gitignore", "runs.log\ncache/\n").write("one.test", "x").write("runs.log", "");
    scene.config("skip-after = 1").commit("Ready");
    scene
}

/// What status says, which is what the others say, without a run of the validation.
#[track_caller]
fn now(scene: &Sandbox, line: &str) -> Value {
    let runs = scene.read("runs.log");
    scene.ralph("status").code(0).stdout_has(&format!("  validation {line}"));
    let value = scene.ralph("status --json").json()["summary"]["validation"].take();
    assert_eq!(value, scene.ralph("log --json").json()["summary"]["validation"].take());
    let markdown = scene.ralph("report --markdown").code(0);
    let words = match line.split_once(" now") {
        Some((verb, rest)) => (format!("| Validation | `{verb} as of "), rest),
        None => (format!("| Validation | `{line}` |"), ""),
    };
    markdown.stdout_has(&words.0).stdout_has(words.1);
    assert_eq!(scene.read("runs.log"), runs, "nothing is run for it");
    value
}

#[test]
fn it_is_true_after_edits_of_people_and_says_now_where_nothing_differs() {
    let scene = scene("- [ ] T001 One\n- [ ] T002 Two\n");
    let run = scene.call("run --task T001").with_baseline().run().code(0);
    run.stdout_has("\nvalidation passes now: 2 tests, 1 at the start\n");
    let value = now(&scene, "passes now: 2 tests, 1 at the start");
    assert_eq!(
        (&value["passes"], &value["is_now"], &value["iteration"]),
        (&json!(true), &json!(true), &json!(1))
    );
    assert_eq!((&value["tests"]["passed"], &value["passed_at_start"]), (&json!(2), &json!(1)));
    let stale = "passed as of #1, files changed since: 2 tests, 1 at the start";
    for (path, text, is_seen) in [
        ("one.test", "y", true),
        ("two.test", "y", true),
        ("three.test", "new", true),
        ("cache/x", "ignored", false),
        ("specs/001-login/tasks.md", "# Tasks\n\n- [x] T001 One\n- [x] T002 Two\n", false),
    ] {
        let before = std::fs::read(scene.path(path)).ok();
        scene.write(path, text);
        now(&scene, if is_seen { stale } else { "passes now: 2 tests, 1 at the start" });
        match before {
            Some(before) => drop(scene.write(path, before)),
            None => std::fs::remove_file(scene.path(path)).unwrap(),
        }
        now(&scene, "passes now: 2 tests, 1 at the start");
    }
    scene.commit("All of it");
    now(&scene, "passes now: 2 tests, 1 at the start");
    std::fs::remove_file(scene.path("one.test")).unwrap();
    scene.commit("Without a test");
    now(&scene, stale);
}

#[test]
fn it_is_true_after_what_failed_was_kept_taken_back_and_accepted() {
    let list = "- [ ] T001 One\n- [ ] T002 Two\n- [ ] T003 Three\n";
    let kept = scene(list);
    kept.config("on-skip = \"keep\"");
    kept.call("run --task T003 -n 1").with_baseline().run().code(4);
    now(&kept, "fails now: 1 of 3 tests, 1 at the start");
    let scene = scene(list);
    scene.call("run --task T002,T003").with_baseline().run().code(5);
    assert!(!scene.path("broken.txt").exists());
    now(&scene, "passes now: 2 tests, 1 at the start");
    scene.ralph("accept T003 --force").code(0);
    now(&scene, "fails now: 1 of 3 tests, 1 at the start");
    scene.ralph("accept --undo T003").code(0);
    now(&scene, "passes now: 2 tests, 1 at the start");
    scene.ralph("reopen T002").code(0);
    now(&scene, "passes now: 2 tests, 1 at the start");
    scene.call("resume").with_baseline().run().code(5);
    now(&scene, "passes now: 2 tests, 1 at the start");
}

#[test]
fn what_never_ran_is_not_said_and_a_red_start_is_said_once() {
    let without = Sandbox::with_succeeding_agent(1);
    without.ralph("run").code(0).stdout_lacks("validation passes");
    without.ralph("status").code(0).stdout_lacks("validation");
    assert_eq!(without.ralph("status --json").json()["summary"]["validation"], Value::Null);
    let red = scene("- [ ] T001 One\n");
    red.write("broken.txt", "x").agent_script("[[turn]]\ndo = [{ say = 'no' }]").commit("Broken");
    let run = red.call("run -n 1 --force").with_baseline().run().code(4);
    run.stdout_has("the validation failed before the first attempt\n");
    red.ralph("report --markdown").code(0).stdout_has("| Validation | `fails as of ");
}

#[test]
fn in_a_lane_it_is_of_its_branch() {
    let scene = scene("- [ ] T001 One\n");
    scene.ralph("run --lane").code(0).stdout_has("validation passes now: 2 tests");
    now(&scene, "passes now: 2 tests");
}
