//! Work of finished tasks that an attempt takes back, tasks that leave the list, and a list that is deleted.

use serde_json::json;

use crate::sandbox::Sandbox;

/// Three tasks that each add a line to `app.txt` and make a file; `last` is what the agent does instead for the third.
fn scene(last: &str) -> Sandbox {
    let scene = Sandbox::new();
    scene.agent_uses_git().tasks("- [ ] T001 Make one\n- [ ] T002 Make two\n- [ ] T003 Make three");
    scene.agent_sh(&agent(last)).write("app.txt", "base\n").commit("base");
    scene
}

fn agent(last: &str) -> String {
    format!(
        "cat >/dev/null\nif [ $RALPH_TASK = T003 ] && [ ! -e three.txt ]; then\n{last}\necho three > three.txt\nelse\n\
         echo $RALPH_TASK | tee -a app.txt > $RALPH_TASK.txt\nfi\n\
         tick\necho Done.\n"
    )
}

#[test]
fn tasks_of_which_all_work_was_taken_back_are_done_again_and_counted_once() {
    let scene = scene("git checkout -q -- app.txt; rm T001.txt T002.txt");
    let text = "this attempt undid T001 and T002 (T001.txt, T002.txt, app.txt): both open again";
    let run = scene.ralph("").code(0);
    run.stdout_has(&format!("⚑ {text}\n"))
        .stdout_has("restore 2 T001.txt T002.txt app.txt brings back what it undid\n")
        .stdout_lacks("\n⚑ T003")
        .stdout_has("\n5 attempts");
    let session = scene.session();
    assert_eq!(session.trailers("Ralph-Task"), ["T001", "T002", "T003", "T001", "T002"]);
    assert_eq!((&session.end()["tasks_completed"], &session.end()["tasks_done"]), (&json!(3), &json!(3)));
    let task =
        |name: &str, files: &[&str]| json!({"task": name, "files": files, "reopened": true, "kept_in": "2"});
    let expected = [task("T001", &["T001.txt", "app.txt"]), task("T002", &["T002.txt", "app.txt"])];
    assert_eq!(session.iteration(3)["undone"], json!(expected));
    assert!(session.text(4, "prompt.md").contains("- it undid T001 and T002 ("));
    scene
        .ralph("show 3")
        .code(0)
        .stdout_has(text)
        .stdout_has("bring back  specify ralph restore 2 T001.txt T002.txt app.txt\n");
    // Both were done again: there is nothing left to look at.
    scene.ralph("log --flagged --all").code(0).stdout_has(text);
    for silent in ["log --flagged", "status", "report --markdown"] {
        scene.ralph(silent).code(0).stdout_lacks("undid T001 and T002");
    }
    assert!(scene.read("specs/001-login/progress.txt").contains(&format!("**Flags**: {text}\n")));
}

#[test]
fn work_that_was_taken_back_in_part_is_flagged_and_the_command_brings_it_back() {
    let scene = scene("rm T001.txt");
    let text = "this attempt undid T001 (T001.txt)";
    scene.ralph("--fail-on-flags").code(5).stdout_has(&format!("⚑ T003  {text}\n"));
    assert_eq!(
        scene.session().iteration(3)["undone"],
        json!([{"task": "T001", "files": ["T001.txt"], "kept_in": "2"}])
    );
    scene.ralph("restore 2 T001.txt").code(0);
    assert!(scene.path("T001.txt").exists());
}

#[test]
fn what_a_failed_attempt_undid_is_a_flag_of_the_next_success() {
    let scene = scene("rm T001.txt; echo 3 > three.txt; exit 1");
    scene.ralph("").code(0).stdout_has("⚑ T003  #3 undid T001 (T001.txt)\n");
    assert_eq!(scene.session().trailers("Ralph-Flags"), ["", "", "undid", "undid"]);
}

#[test]
fn an_attempt_that_the_validation_failed_opens_no_box_and_the_next_success_does() {
    let scene = scene("git checkout -q -- app.txt; rm T001.txt T002.txt");
    scene.validate("test ! -e three.txt || test -e T003.txt");
    let run = scene.ralph("").code(0);
    run.stdout_has("⚑ this attempt undid T001 and T002 (T001.txt, T002.txt, app.txt)\n")
        .stdout_has("⚑ #3 undid T001 and T002 (T001.txt, T002.txt, app.txt): both open again\n");
    let session = scene.session();
    assert_eq!(session.trailers("Ralph-Task"), ["T001", "T002", "T003", "T003", "T001", "T002"]);
    assert_eq!(session.trailers("Ralph-Outcome")[2..4], ["failure", "success"]);
    assert_eq!(session.end()["tasks_completed"], json!(3));
}

#[test]
fn a_later_session_knows_what_earlier_ones_did() {
    for words in ["resume", ""] {
        let scene = scene("git checkout -q -- app.txt; rm T001.txt T002.txt");
        scene.ralph("-n 2").code(4);
        let run = scene.ralph(words).code(0);
        run.stdout_has("undid T001 and T002 (T001.txt, T002.txt, app.txt): both open again");
        let number = if words.is_empty() { 1 } else { 3 };
        let undone =
            scene.sessions().pop().expect("it ran").iteration(number)["undone"][0]["kept_in"].clone();
        assert_eq!(undone, if words.is_empty() { json!("0") } else { json!("2") }, "{words}");
    }
}

#[test]
fn changes_that_the_loop_takes_back_itself_undo_nothing() {
    let scene = scene("echo broken >> app.txt; exit 0");
    scene.validate("! grep -q broken app.txt");
    scene.ralph("--skip-after 1").code(5).stdout_has("reverted T003's changes").stdout_lacks("undid");
}

#[test]
fn a_task_that_left_the_list_comes_back_by_the_command_that_is_printed() {
    let scene = scene("true");
    scene.agent_sh(&format!("{}[ $RALPH_TASK != T001 ] || edit /T003/d \"$RALPH_TASKS\"\n", agent("true")));
    let restore = "restore 0 --tasks specs/001-login/tasks.md";
    let run = scene.ralph("").code(5);
    run.stdout_has("T003 was open and is gone from the task list, without being done")
        .stdout_has(restore)
        .stdout_has("\n2 of 3 tasks done · stuck")
        .stdout_lacks("all 2 tasks done");
    let refused = scene.ralph("resume").code(3);
    refused.stderr_has("no task is open, but T003 left the list without being done").stderr_has(restore);
    scene.ralph(restore).code(0);
    scene.agent_sh(&agent("true"));
    scene.ralph("resume").code(0).stdout_has("all 3 tasks done");
}

#[test]
fn a_folder_that_is_gone_comes_back_by_the_command_that_is_printed() {
    for (command, what) in [
        ("git clean -qfd", "the folder specs/001-login is gone, and the task list with it"),
        ("rm $RALPH_TASKS", "the task list specs/001-login/tasks.md is gone"),
    ] {
        let scene = scene(&format!("{command}; exit 0"));
        scene
            .write(".specify/feature.json", "{\"feature_directory\": \"specs/001-login\"}")
            .commit("Which feature");
        scene.git("rm -q -r --cached specs");
        scene.git(["commit", "-q", "-m", "The specification is not committed"]);
        let run = scene.ralph("").code(5);
        run.stdout_has("\n2 of 3 tasks done · ")
            .stdout_has(&format!("\n{what}\n"))
            .stdout_has("restore 2 --tasks")
            .stdout_lacks("append to");
        assert_eq!(scene.session().end()["stop_reason"], "stuck");
        for words in ["resume", ""] {
            let refused = scene.ralph(words).code(3);
            refused.stderr_has(what).stderr_has("restore 2 --tasks");
        }
        scene.ralph("restore 2 --tasks").code(0);
        scene.agent_sh(&agent("true"));
        scene.ralph("resume").code(0).stdout_has("all 3 tasks done");
    }
}

#[test]
fn an_empty_diff_of_a_task_that_was_given_up_names_the_attempt_that_changed_something() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One").agent_script("[[turn]]\ndo = [{ run = \"echo one > one.txt\" }]");
    scene.ralph("").code(5);
    let words = "attempt 3 changed nothing, #1 did: specify ralph show 1 -p";
    scene.ralph("diff 3").code(0).stdout("").stderr_has(words);
    for command in ["diff T001", "show T001 -p"] {
        let all = scene.ralph(command).code(0).stderr("");
        all.stdout_has("attempt 1 of 3, #1\ndiff --git ").stdout_has("attempt 3 of 3, #3, changed nothing\n");
    }
    scene.ralph("show 1 -p").code(0).stdout_has("+one").stderr("");
    // What is compared on purpose needs no word.
    scene.ralph("diff T001 -- one.txt").code(0).stderr("");
    let page = scene.ralph("report --output page.html").code(0);
    let page =
        std::fs::read_to_string(scene.path("page.html")).unwrap_or_else(|error| panic!("{error}: {page}"));
    assert!(page.contains("Diff of attempt 1</a>"), "the last one that changed something");
}

#[test]
fn a_stat_of_the_session_says_that_the_list_is_among_its_files() {
    let scene = Sandbox::with_succeeding_agent(1);
    scene.ralph("").code(0);
    let words = "specs/001-login/tasks.md is among them; `status` counts without it";
    scene.ralph("diff 0 .. --stat").code(0).stderr_has(words);
    for command in ["diff 0 ..", "diff 1 --stat", "diff 0 .. --stat -- specs"] {
        scene.ralph(command).code(0).stderr("");
    }
}
