//! Steering a running loop from another terminal: stop, hint, and a live status.

use std::os::unix::fs::PermissionsExt;

use rustix::process::Signal;
use serde_json::json;

use crate::sandbox::{Running, Sandbox};

/// Says that it has begun, and works when it is let.
const WAITS: &str = r#"
[[turn]]
do = [
  { run = ": > begun-$RALPH_ITERATION" },
  { run = "while ! [ -e go-$RALPH_ITERATION ]; do sleep 0.02; done" },
  { tick = "current" },
]
"#;

fn scene() -> Sandbox {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two").agent_script(WAITS);
    scene
}

fn begun(scene: &Sandbox) -> Running<'_> {
    let mut running = scene.spawn("");
    running.wait_for_file("begun-1");
    running
}

fn go(scene: &Sandbox, iteration: u32) {
    scene.write(&format!("go-{iteration}"), "");
}

#[test]
fn stop_ends_the_session_after_its_iteration() {
    let scene = scene();
    let running = begun(&scene);
    let id = scene.session().id().to_owned();
    scene.ralph("stop").code(0).stdout(format!("session {id} stops after this attempt\n"));
    scene.ralph("status").code(0).stdout_has("  ● T001  ").stdout_has("stops after this attempt");
    go(&scene, 1);
    running.wait().code(0).stdout_has("stopped by `stop`");
    let session = scene.session();
    assert_eq!(session.trailers("Ralph-Outcome"), ["success"]);
    assert_eq!(
        (&session.end()["status"], &session.end()["stop_reason"]),
        (&json!("interrupted"), &json!("interrupted"))
    );
    assert!(!scene.path(".git/ralph/control").join(&id).exists());
    go(&scene, 2);
    scene.ralph("resume").code(0);
}

#[test]
fn stop_is_heeded_in_the_last_iteration_too_unless_it_completes_the_session() {
    for (words, reason, said) in
        [("-n 1", "interrupted", "stopped by `stop`"), ("--task T001", "completed", "completed")]
    {
        let scene = scene();
        let mut running = scene.spawn(words);
        running.wait_for_file("begun-1");
        scene.ralph("stop").code(0).stdout_has("stops after this attempt");
        go(&scene, 1);
        running.wait().code(0).stdout_has(said);
        assert_eq!(scene.session().end()["stop_reason"], reason);
    }
}

#[test]
fn stop_now_ends_the_agent_too() {
    let scene = scene();
    let running = begun(&scene);
    scene.ralph("stop --now").code(0).stdout_has("stops now");
    running.wait().code(0);
    let session = scene.session();
    assert_eq!(session.trailers("Ralph-Outcome"), ["interrupted"]);
    assert_eq!(
        (&session.end()["stop_reason"], &session.end()["ended_by"]),
        (&json!("interrupted"), &json!("stop"))
    );
    scene.nothing_is_left();
}

#[test]
fn hints_go_into_the_next_prompt_and_the_record_in_their_order() {
    let scene = scene();
    let other = scene.outside("other");
    scene.commit("Two tasks");
    scene.git(["worktree", "add", "--quiet", other.to_str().unwrap()]);
    let mut running = begun(&scene);
    scene
        .ralph(["hint", "use the parser", "that is there"])
        .code(0)
        .stdout_has("with its next prompt: use the parser that");
    scene.call(["hint", "and\nno other"]).dir(&other).run().code(0);
    scene.ralph("status").code(0).stdout_has("2 hints wait");
    go(&scene, 1);
    running.wait_for_file("begun-2");
    assert_eq!(scene.ralph("status --json").code(0).json()["session"]["hints"], 0);
    go(&scene, 2);
    let run = running.wait().code(0);
    assert!(
        run.talk().contains("hint for the next prompt arrived: use the parser that is there"),
        "{}",
        run.talk()
    );
    let session = scene.session();
    assert_eq!(session.iteration(1)["hints"], json!([]));
    assert_eq!(session.iteration(2)["hints"], json!(["use the parser that is there", "and\nno other"]));
    let prompt = session.text(2, "prompt.md");
    assert!(prompt.contains("- use the parser that is there\n- and\n  no other\n"), "{prompt}");
    assert!(!scene.path(".git/ralph/control").join(session.id()).exists());
}

#[test]
fn a_template_without_a_place_for_hints_gets_them_at_its_end_and_run_doctor_and_hint_say_so() {
    let scene = scene();
    scene.write(".specify/templates/ralph-prompt.md", "Do {{ current_task }}. {HINT}\n");
    let missing = "has no place for {{ hints }}, {{ progress }}, {{ historical_context }}: appended";
    scene.ralph("doctor").stdout_has(missing).stdout_has("{HINT} stays as it is written");
    let mut running = begun(&scene);
    let hint = scene.ralph("hint First").code(0);
    assert!(hint.talk().contains("template has no place for {{ hints }}"), "{}", hint.talk());
    go(&scene, 1);
    running.wait_for_file("begun-2");
    go(&scene, 2);
    let run = running.wait().code(0);
    assert!(run.talk().contains(missing), "{}", run.talk());
    let prompt = scene.session().text(2, "prompt.md");
    assert!(
        prompt.starts_with("Do T002 ") && prompt.contains("\n## Hints from the user\n\n- First\n"),
        "{prompt}"
    );
    assert_eq!(scene.session().iteration(2)["hints"], json!(["First"]));
}

#[test]
fn a_hint_that_no_agent_heard_to_the_end_is_said_again() {
    let scene = scene();
    let mut running = begun(&scene);
    scene.ralph("hint First").code(0);
    go(&scene, 1);
    running.wait_for_file("begun-2");
    scene.ralph("hint Second").code(0);
    running.signal(Signal::INT);
    running.wait().code(130).stdout_has("hints that no prompt had wait for the next run: First; Second");
    assert_eq!(scene.session().end()["hints"], json!(["First", "Second"]));
    go(&scene, 3);
    scene.ralph("resume").code(0).stdout_has("2 hints wait: \"First\", \"Second\"");
    assert_eq!(scene.session().iteration(3)["hints"], json!(["First", "Second"]));
}

#[test]
fn a_hint_without_a_loop_goes_into_the_first_prompt_of_the_next() {
    let scene = scene();
    scene
        .ralph("hint Look at src")
        .code(0)
        .stdout_has("the next prompt for specs/001-login gets it: Look at src");
    scene.ralph("--dry-run").code(0).stdout_has("- Look at src");
    let running = begun(&scene);
    assert_eq!(scene.ralph("hint --json").code(0).json()["hints"][0]["text"], "Look at src");
    scene.ralph("stop --now").code(0);
    running.wait().code(0).stdout_has("specify ralph resume").stdout_has("1 hint waits: \"Look at src\"");
    scene.ralph("status").code(0).stdout_has("1 hint waits; ");
    // No clock of a scene is that early.
    scene.ralph("hint --session 1999 x").code(3).stderr_has("there is no session 1999");
    go(&scene, 2);
    go(&scene, 3);
    scene.ralph("resume").code(0);
    assert_eq!(scene.session().iteration(2)["hints"], json!(["Look at src"]));
    assert_eq!(scene.session().iteration(3)["hints"], json!([]));
    scene.ralph("hint").code(0).stderr_has("no hint waits for specs/001-login");
}

#[test]
fn a_hint_for_tasks_is_in_all_their_prompts_until_they_are_done() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two\n- [x] T003 Three\n- [ ] T004 Four");
    scene.agent_script(
        "[[turn]]\niteration = 1\n[[turn]]\nexpect_prompt = \"Your task\"\ndo = [{ tick = \"current\" }]\n",
    );
    scene
        .ralph("hint --task T01 x")
        .code(3)
        .stderr_has("there is no task T01")
        .stderr_has("did you mean T001?");
    scene.ralph("hint --task T003 x").code(3).stderr_has("T003 is done in ").stderr_has("hint: ");
    scene.ralph("hint --task T003-T003 x").code(3).stderr_has("T003 is done");
    scene.ralph("hint --task T001-T003 semicolons").code(0).stdout_has("every prompt for T001, T002 gets it");
    scene.ralph("hint --task T004 not this").code(0);
    scene.ralph("hint").code(0).stdout("1  T001, T002: semicolons\n2  T004: not this\n");
    scene.ralph("hint --clear 2").code(0).stdout("withdrawn: T004: not this\n");
    scene.ralph("hint --clear 2").code(3).stderr_has("no hint 2 waits");
    let run = scene.ralph("").code(0);
    run.stdout_has("1 hint waits: T001, T002 \"semicolons\"");
    let session = scene.session();
    let hints = [1, 2, 3, 4].map(|number| session.iteration(number)["hints"].clone());
    let both = json!(["semicolons"]);
    assert_eq!(hints, [both.clone(), both.clone(), both, json!([])]);
    assert_eq!(session.trailers("Ralph-Outcome"), ["failure", "success", "success", "success"]);
    scene.ralph("hint").code(0).stderr_has("no hint waits");
}

#[test]
fn hints_from_many_terminals_at_once_are_all_there() {
    let scene = scene();
    let calls: Vec<_> = (0..8).map(|number| scene.spawn(&format!("hint text {number}"))).collect();
    for call in calls {
        call.wait().code(0);
    }
    let hints = scene.ralph("hint --json").code(0).json();
    let mut texts: Vec<String> = hints["hints"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hint| hint["text"].as_str().unwrap().to_owned())
        .collect();
    texts.sort();
    assert_eq!(texts, (0..8).map(|number| format!("text {number}")).collect::<Vec<_>>());
    let mode = scene.path(".git/ralph/hints/001-login.json").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    scene.ralph("hint --clear").code(0);
    assert_eq!(scene.ralph("hint --json").code(0).json()["hints"], json!([]));
}

#[test]
fn where_no_loop_runs_there_is_nothing_to_steer() {
    let scene = scene();
    for words in ["stop", "stop --now"] {
        let run = scene.ralph(words).code(3);
        run.stderr_has("error: no loop is running in this repository\nhint: ");
    }
    scene.ralph(["hint", " "]).code(3).stderr_has("the hint is empty");
    assert!(!scene.path(".git/ralph").exists());
    let running = begun(&scene);
    let other = "20200101-000000-00000000";
    scene
        .ralph(format!("stop --session {other}").as_str())
        .code(3)
        .stderr_has(&format!("session {other} is not running"));
    let id = scene.session().id().to_owned();
    scene.ralph(format!("stop --now --session {id}").as_str()).code(0);
    running.wait().code(0);
    assert!(!scene.path(".git/ralph/control").join(&id).exists());
}

#[test]
fn of_several_loops_the_one_of_the_work_tree_is_meant() {
    let scene = scene();
    scene.commit("Two tasks");
    let [second, third] = ["second", "third"].map(|name| {
        let folder = scene.outside(name);
        scene.git(["worktree", "add", "--quiet", folder.to_str().unwrap()]);
        folder
    });
    let first_running = begun(&scene);
    let mut second_running = scene.call("").dir(&second).spawn();
    second_running.wait_for_file(second.join("begun-1"));
    let run = scene.call("stop --now").dir(&third).run().code(3);
    run.stderr_has("several loops are running: ").stderr_has("hint: name one with --session");
    scene.call("stop --now").dir(&second).run().code(0);
    second_running.wait().code(0);
    // Now only one is left.
    scene.call("stop --now").dir(&third).run().code(0);
    first_running.wait().code(0);
}

#[test]
fn a_status_that_watches_ends_with_the_session() {
    let scene = scene();
    let running = begun(&scene);
    let mut watching = scene.spawn("status --watch --json");
    watching.wait_for_text("\"iteration\":1");
    go(&scene, 1);
    watching.wait_for_text("\"iteration\":2");
    go(&scene, 2);
    running.wait().code(0);
    let seen = watching.wait().code(0).json_lines();
    assert_eq!(seen.last().unwrap()["session"]["status"], "completed");
}
