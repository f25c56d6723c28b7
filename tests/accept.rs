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
    assert_eq!(record["exit"], json!({"agent": null, "validation": 0}));
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
    scene.ralph("accept T002").code(3).stderr_has("T002 was accepted already");
    scene.ralph("resume").code(3).stderr_has("is completed");
    // Who accepts it has looked at it.
    scene.ralph("run --fail-on-flags").code(0);
}

#[test]
fn a_session_goes_on_after_a_task_was_accepted() {
    let scene = scene();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two\n- [ ] T003 Three\n").commit("More");
    scene.call("-n 2").judged().run().code(4);
    scene.ralph("accept T002").code(0).stdout_has("T002 is done, accepted by Ada Lovelace; 2 of 3 done\n");
    let end = scene.session().end();
    assert_eq!((&end["status"], &end["stop_reason"]), (&json!("failed"), &json!("limit_reached")));
    scene.call("resume --fail-on-flags").judged().run().code(0).stdout_has("all 3 tasks done");
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

/// Makes `new.txt`, and changes what the validation runs so that it may be there.
const LOOSENING: &str = "[[turn]]\ndo = [{ write = { path = 'new.txt', text = 'new' } }, \
    { write = { path = 'check.sh', text = 'exit 0' } }, { tick = 'current' }]\n";

/// A task that was given up, with its changes taken back: refused if `agent` loosens the validation.
fn given_up(agent: &str) -> Sandbox {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two\n").agent_script(agent).validate("sh check.sh");
    scene.write("check.sh", "echo checked >>runs.log; test ! -e new.txt\n").write(".gitignore", "runs.log\n");
    scene.config("skip-after = 1").commit("Ready");
    scene.call("run --task T001").judged().with_baseline().run().code(5);
    assert!(!scene.path("new.txt").exists(), "its changes are taken back");
    scene
}

#[test]
fn accepting_brings_back_what_was_taken_back_and_its_undo_takes_it_away() {
    let scene = given_up(LOOSENING);
    scene.validate("sh ./check.sh");
    let before = scene.everything();
    let accepted = scene.ralph("accept T001").code(0);
    let accepted = accepted.stdout_has("brought back check.sh, new.txt").stdout_has("validation passes");
    let accepted = accepted.stdout_has("T001 is done, accepted by Ada Lovelace; 1 of 2 done");
    accepted.stdout_has("undo: specify ralph accept --undo T001");
    assert_eq!((scene.read("new.txt"), scene.read("check.sh")), ("new".into(), "exit 0".into()));
    let record = scene.session().iteration(3);
    assert_eq!((&record["outcome"], &record["closed"]), (&json!("success"), &json!(["T001"])));
    assert_eq!(record["exit"], json!({"agent": null, "validation": 0}));
    assert!(record["evidence"]["accepted"]["restoration"].is_u64());
    assert_eq!(
        record["validation_command"], "sh ./check.sh",
        "the one that ran, not that of the last attempt"
    );
    let files = json!(["check.sh", "new.txt", "specs/001-login/tasks.md"]);
    assert_eq!(record["files_changed"], files, "what it brought back is its change");
    scene.ralph("accept T001").code(3).stderr_has("T001 was accepted already").stderr_has("reopen T001");
    let undone = scene.ralph("accept --undo T001").code(0);
    undone.stdout_has("took away check.sh, new.txt").stdout_has("T001 is open, as before");
    let after = scene.everything();
    let file = |all: &std::collections::BTreeMap<_, Vec<u8>>, path: &str| all.get(&scene.path(path)).cloned();
    for path in ["new.txt", "check.sh", "specs/001-login/tasks.md"] {
        assert_eq!(file(&before, path), file(&after, path), "{path}");
    }
    scene.ralph("accept --undo T001").code(3).stderr_has("T001 was not accepted last");
    scene.ralph("accept T001").code(0).stdout_has("brought back check.sh, new.txt");
    scene.ralph("fsck").code(0);
    scene.ralph("rebuild --check").code(0);
}

/// The subject of the newest commit, and the files that it changes.
fn newest_commit(scene: &Sandbox, branch: &str) -> String {
    scene.git(["show", "--format=%s", "--name-only", branch])
}

#[test]
fn with_a_commit_for_each_task_an_answer_is_one_too() {
    let scene = given_up(LOOSENING);
    scene.agent_uses_git().config("commit = \"task\"").commit("Commit tasks");
    scene.write("of-mine.txt", "a person's").write("staged.txt", "a person's");
    scene.git("add staged.txt");
    scene.ralph("accept T001").code(0).stdout_has("committed as ");
    let list = "specs/001-login/tasks.md";
    assert_eq!(newest_commit(&scene, "HEAD"), format!("T001 One\n\ncheck.sh\nnew.txt\n{list}"));
    let status = " M specs/001-login/progress.txt\nA  staged.txt\n?? of-mine.txt";
    assert_eq!(scene.git("status --porcelain"), status, "what is not of the task is left as it was");
    scene.ralph("reopen T001").code(0).stdout_has("committed as ");
    assert_eq!(newest_commit(&scene, "HEAD"), format!("Reopen T001\n\n{list}"));
    // Only a person did that.
    let assisted =
        |commit| scene.git(["log", "-1", "--format=%(trailers:key=Assisted-by,valueonly)", commit]);
    assert_eq!((assisted("HEAD~1"), assisted("HEAD")), ("scripted".to_owned(), String::new()));
    scene.ralph("reopen --undo T001").code(0);
    // Where git cannot commit, the answer counts all the same.
    scene.git("checkout --quiet --detach");
    scene.ralph("reopen T001").code(0).stderr_has("not committed: ").stderr_has("HEAD is detached");
    assert!(scene.task_list().contains("[ ] T001"));
    scene.ralph("fsck").code(0);
}

/// The same task, tried in a lane.
fn given_up_in_a_lane() -> Sandbox {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two\n").agent_script(LOOSENING).config("skip-after = 1");
    scene.write("check.sh", "test ! -e new.txt\n").commit("Ready");
    // What the session was started with counts for its answers.
    let run = ["run", "--lane", "--task", "T001", "--validate", "sh check.sh"];
    scene.call(run).judged().with_baseline().run().code(5);
    scene
}

#[test]
fn in_a_lane_an_answer_is_a_commit_on_its_branch() {
    let scene = given_up_in_a_lane();
    let (head, branch) = (scene.git("rev-parse HEAD"), "ralph/001-login");
    let list = "specs/001-login/tasks.md";
    let accepted = scene.ralph("accept T001").code(0).stdout_has("brought back check.sh, new.txt");
    accepted
        .stdout_has("validation passes. T001 is done, accepted by Ada Lovelace; 1 of 2 done")
        .stdout_has("1 commit on ralph/001-login: git merge --ff-only ralph/001-login");
    assert_eq!(newest_commit(&scene, branch), format!("T001 One\n\ncheck.sh\nnew.txt\n{list}"));
    let trailers = scene.git(["log", "-1", "--format=%(trailers:only)", branch]);
    assert!(trailers.contains("Ralph-Task: T001") && trailers.contains("Ralph-Check: passed"), "{trailers}");
    // An agent made what a person accepted.
    assert!(trailers.contains("\nAssisted-by: scripted"), "{trailers}");
    assert_eq!((scene.git("rev-parse HEAD"), scene.git("status --porcelain")), (head, String::new()));
    let record = scene.session().iteration(3);
    assert_eq!(record["published"], scene.git(["rev-parse", branch]));
    assert_eq!(record["commits"], json!([record["published"]]));
    assert_eq!((&record["lane"], &record["branch"]), (&json!(1), &json!(branch)));
    let status = scene.ralph("status").code(0);
    status.stdout_has("1 of 2 done").stdout_lacks(" runs");
    scene.ralph("log").stdout_has("accepted by Ada Lovelace");
    scene.ralph("accept T001").code(3).stderr_has("T001 was accepted already");
    scene.ralph("accept --undo T001").code(0).stdout_has("took away check.sh, new.txt");
    assert_eq!(newest_commit(&scene, branch), format!("Reopen T001\n\ncheck.sh\nnew.txt\n{list}"));
    scene.ralph("accept T001").code(0);
    scene.ralph(["reopen", "T001", "not so"]).code(0);
    assert_eq!(newest_commit(&scene, branch), format!("Reopen T001\n\n{list}"));
    // A loop goes on from there.
    scene.agent_script("[[turn]]\ndo = [{ tick = 'current' }]\n");
    scene.call("resume -n 1").run().code(0);
    assert!(scene.session().text(scene.session().iterations().len(), "prompt.md").contains("not so"));
    scene.ralph("fsck").code(0);
    scene.ralph("rebuild --check").code(0);
}

#[test]
fn where_the_branch_of_a_lane_is_checked_out_an_answer_is_given_there() {
    let (scene, branch) = (given_up_in_a_lane(), "ralph/001-login");
    scene.agent_uses_git().git(["switch", "--quiet", branch]);
    scene.ralph("accept T001").code(0).stdout_has("committed as ");
    assert_eq!(scene.read("new.txt"), "new");
    scene.ralph("reopen T001").code(0).stdout_has("committed as ");
    assert!(scene.task_list().contains("[ ] T001"));
    scene.git("switch --quiet main");
    scene.ralph("reopen --undo T001").code(0).stdout_has("3 commits on ralph/001-login");
    // Elsewhere only that folder can be changed.
    let other = scene.outside("other");
    scene.git(["worktree", "add", "--quiet", other.to_str().unwrap(), branch]);
    let refused = scene.ralph("reopen T001").code(3);
    refused.stderr_has("is checked out in ").stderr_has("specify ralph reopen T001");
    scene.ralph("fsck").code(0);
}

#[test]
fn what_is_refused_or_fails_in_a_lane_changes_nothing() {
    let scene = Sandbox::new();
    let agent = "[[turn]]\ndo = [{ write = { path = 'new.txt', text = 'new' } }, { tick = 'current' }]\n";
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two\n").agent_script(agent).config("skip-after = 1");
    scene.write("check.sh", "test ! -e new.txt\n").validate("sh check.sh").commit("Ready");
    scene.call("run --lane --task T001").judged().with_baseline().run().code(5);
    let refs = || scene.git("for-each-ref refs/heads/ralph refs/ralph");
    let before = refs();
    scene.ralph("accept T002").code(3).stderr_has("no attempt at T002 is recorded");
    // Nor does the branch take in what HEAD has since.
    scene.write("other.txt", "a person's").commit("More");
    scene.ralph("accept T001").code(5).stdout_has("the validation fails with the changes of T001");
    assert_eq!(refs(), before);
    scene.ralph("accept --force T001").code(0).stdout_has("validation fails: ").stdout_has("1 commit on");
    let trailers = scene.git(["log", "-1", "--format=%(trailers:only)", "ralph/001-login"]);
    assert!(!trailers.contains("Ralph-Check"), "{trailers}");
    scene.ralph("fsck").code(0);
}

#[test]
fn what_fails_is_put_back_unless_that_is_forced() {
    let scene =
        given_up("[[turn]]\ndo = [{ write = { path = 'new.txt', text = 'new' } }, { tick = 'current' }]\n");
    let refs = scene.git("for-each-ref refs/ralph");
    let red = scene.ralph("accept T001").code(5);
    red.stdout_has("the validation fails with the changes of T001").stdout_has("accept --force T001");
    assert!(!scene.path("new.txt").exists() && scene.task_list().contains("[ ] T001"));
    assert_eq!(scene.git("for-each-ref refs/ralph"), refs, "nothing is recorded");
    let forced = scene.ralph("accept T001 --force").code(0);
    forced
        .stdout_has("brought back new.txt")
        .stdout_has("validation fails: ")
        .stdout_has("T001 is done, accepted");
    assert!(scene.path("new.txt").exists() && scene.task_list().contains("[X] T001"));
}

#[test]
fn what_does_not_come_back_cleanly_is_refused_with_its_paths() {
    let scene = given_up(LOOSENING);
    scene.write("new.txt", "a person's");
    let refused = scene.ralph("accept T001").code(3).stdout("");
    refused.stderr_has("does not all come back: new.txt").stderr_has("diff T001").stderr_has("--force");
    assert_eq!(scene.read("check.sh"), "echo checked >>runs.log; test ! -e new.txt\n");
    let forced = scene.ralph("accept T001 --force").code(0);
    forced.stdout_has("brought back check.sh").stdout_has("left as they are: new.txt");
    assert_eq!(scene.read("new.txt"), "a person's");
}

#[test]
fn an_acceptance_that_is_killed_leaves_nothing_behind() {
    let scene =
        given_up("[[turn]]\ndo = [{ write = { path = 'new.txt', text = 'new' } }, { tick = 'current' }]\n");
    scene.write("check.sh", "test ! -e new.txt || { touch checking; sleep 1000; }\n");
    let mut running = scene.spawn("accept T001");
    running.wait_for_file("checking");
    assert!(scene.path("new.txt").exists());
    running.kill();
    // The next command of a loop's takes it away again.
    scene.ralph("accept T002").code(3).stderr_has("no attempt at T002 is recorded");
    assert!(!scene.path("new.txt").exists() && scene.task_list().contains("[ ] T001"));
}

#[test]
fn a_flag_is_settled_by_who_looked_at_it_and_a_box_is_opened_by_who_does_not_agree() {
    let scene = scene();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two\n").commit("Again");
    scene.call("-n 2").judged().run().code(4);
    scene.ralph("accept T002").code(0);
    assert!(scene.ralph("status --json").json()["summary"]["flagged"].as_array().unwrap().is_empty());
    let reopened = scene.ralph(["reopen", "T001", "with less of it"]).code(0);
    let reopened = reopened.stdout_has("T001 is open again, by Ada Lovelace; 1 of 2 done");
    reopened
        .stdout_has("its next prompt has \"with less of it\"")
        .stdout_has("undo: specify ralph reopen --undo T001");
    assert!(scene.task_list().contains("[ ] T001"));
    let record = scene.session().iteration(4);
    assert_eq!((&record["outcome"], &record["reopened"]), (&json!("reopened"), &json!(["T001"])));
    scene.ralph("reopen T001").code(3).stderr_has("T001 is open");
    scene.ralph("reopen --undo T001").code(0).stdout_has("T001 is done, as before");
    scene.ralph("hint").code(0).stderr_has("no hint waits");
    scene.ralph("reopen --undo T001").code(3).stderr_has("T001 was not opened again last");
    scene.ralph(["reopen", "T001", "with less of it"]).code(0);
    scene.ralph("resume -n 1").code(0);
    let newest = scene.session().iterations().len();
    assert!(scene.session().text(newest, "prompt.md").contains("with less of it"));
    // None of them is an attempt.
    assert_eq!(scene.ralph("status --json").json()["summary"]["attempts"], 3);
    scene.ralph("fsck").code(0);
    scene.ralph("rebuild --check").code(0);
}

#[test]
fn a_question_is_answered_and_not_accepted() {
    let scene = Sandbox::new();
    scene.agent_script("[[turn]]\ndo = [{ say = 'Question: which one?' }]\n").commit("Ready");
    scene.ralph("-n 1").code(4);
    scene.ralph("accept T001").code(3).stderr_has("asked something").stderr_has("hint --task T001");
    scene.ralph("reopen T001").code(3).stderr_has("T001 is open");
    scene.ralph("reopen T009").code(3).stderr_has("there is no task T009");
}
