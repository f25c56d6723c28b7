//! A person overrules a refusal, and what a run exits with where tasks are flagged.

use serde_json::json;

use crate::sandbox::Sandbox;

/// Ticks T002 without doing anything for it, which is refused.
const AGENT: &str = "[[turn]]\ntask = 'T002'\ndo = [{ tick = 'current' }]\n\
    [[turn]]\ndo = [{ append = { path = 'a.txt', text = 'x' } }, { tick = 'current' }]\n";

fn scene() -> Sandbox {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two\n").agent_script(AGENT).validate("true").commit("Ready");
    scene
}

#[test]
fn a_person_accepts_a_task_whose_tick_was_refused() {
    let scene = scene();
    scene.call("-n 2").judged().run().code(4);
    for (words, message, hint) in [
        ("accept T001", "T001 is done already", "status"),
        ("accept T009", "there is no task T009", "did you mean T001?"),
    ] {
        scene.ralph(words).code(3).stdout("").stderr_has(message).stderr_has(hint);
    }
    let before = scene.task_list();
    let accepted = scene.ralph("accept T002 --json").code(0).json();
    let by = accepted["by"].as_str().unwrap().to_owned();
    assert!(by.contains(" <") && by.ends_with('>'), "{by}");
    assert_eq!((&accepted["iteration"], &accepted["is_completed"]), (&json!(3), &json!(true)));
    assert_eq!(scene.task_list(), before.replace("[ ] T002", "[x] T002"));
    let session = scene.session();
    let record = session.iteration(3);
    assert_eq!((&record["outcome"], &record["closed"]), (&json!("success"), &json!(["T002"])));
    assert_eq!(record["exit"], json!({"agent": null, "validation": null}));
    let evidence = &record["evidence"];
    assert_eq!(
        evidence["flags"],
        json!([{"code": "accepted", "text": format!("accepted by {by}"), "paths": []}])
    );
    assert_eq!(evidence["accepted"]["by"], json!(by));
    // Plain git has it, too.
    let trailers =
        format!("log --format=%(trailers:key=Ralph-Flags,valueonly,separator=%x2c) {}", session.refname());
    assert!(scene.git(trailers.as_str()).lines().any(|line| line == "accepted"));
    let end = session.end();
    assert_eq!((&end["status"], &end["stop_reason"]), (&json!("completed"), &json!("completed")));
    assert_eq!((&end["iterations_run"], &end["tasks_completed"]), (&json!(2), &json!(2)));
    scene.ralph("fsck").code(0);
    scene.ralph("rebuild --check").code(0);
    scene.ralph("accept T002").code(3).stderr_has("T002 is done already");
    scene.ralph("resume").code(3).stderr_has("is completed");
    // A flag is nothing to fail for, unless that was asked for.
    scene.ralph("run").code(0);
    scene.ralph("run --fail-on-flags").code(5);
    scene.ralph("run --fail-on-flags --task T001").code(0);
}

#[test]
fn a_session_goes_on_after_a_task_was_accepted() {
    let scene = scene();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two\n- [ ] T003 Three\n").commit("More");
    scene.call("-n 2").judged().run().code(4);
    scene.ralph("accept T002").code(0).stdout("accepted T002, which was refused (idle)\n");
    let end = scene.session().end();
    assert_eq!((&end["status"], &end["stop_reason"]), (&json!("failed"), &json!("limit_reached")));
    scene.call("resume --fail-on-flags").judged().run().code(5).stdout_has("all 3 tasks done");
    assert_eq!(scene.session().trailers("Ralph-Task"), ["T001", "T002", "T002", "T003"]);
    scene.ralph("resume").code(3);
}

#[test]
fn only_what_was_refused_is_accepted() {
    let scene = scene();
    scene.ralph("accept T001").code(3).stderr_has("no attempt at T001 is recorded").stderr_has("--task T001");
    scene.ralph("-n 1 --validate false").code(4);
    let refused = scene.ralph("accept T001").code(3).stdout("");
    refused.stderr_has("the last attempt at T001 was not refused").stderr_has("show T001");
}

#[test]
fn nobody_accepts_beside_a_running_loop() {
    let scene = scene();
    scene.agent_script("[[turn]]\ndo = [{ write = { path = 'runs', text = '' } }, { wait_for = { path = 'go', timeout = '60s' } }, { tick = 'current' }]");
    let mut running = scene.spawn("-n 1");
    running.wait_for_file("runs");
    scene
        .ralph("accept T001")
        .code(3)
        .stderr_has("the loop is running in this work tree")
        .stderr_has("`specify ralph stop`");
    scene.write("go", "");
    running.wait().code(4);
}
