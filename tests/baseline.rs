//! The validation before the first iteration.

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::sandbox::{Sandbox, WILLING_AGENT};

/// A scene whose validation writes a line into a file beside the project, and then does what `rest` says.
fn counting(rest: &str) -> Sandbox {
    let scene = Sandbox::new();
    let runs = scene.outside("runs");
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two").agent_script(WILLING_AGENT);
    scene.validate(&format!("echo \"$RALPH_ITERATION:$RALPH_TASK\" >> {}; {rest}", runs.display()));
    scene
}

/// Which runs of the validation there were since the last call.
fn runs(scene: &Sandbox) -> Vec<String> {
    let path = scene.outside("runs");
    let text = fs::read_to_string(&path).unwrap_or_default();
    fs::write(&path, "").expect("the file can be emptied");
    text.lines().map(str::to_owned).collect()
}

/// `session.json` of the first record.
fn start(scene: &Sandbox) -> Value {
    let sessions = scene.sessions();
    let session = sessions.last().expect("a session");
    let first = scene.git(["rev-list", "--max-parents=0", session.refname()]);
    serde_json::from_slice(&scene.git_bytes(["cat-file", "blob", &format!("{first}:session.json")]))
        .expect("session.json")
}

#[test]
fn the_validation_runs_before_the_first_iteration_and_the_start_record_has_it() {
    let scene = counting("echo fine");
    scene.call("-n 1").with_baseline().run().code(4).stdout_lacks("warning");
    assert_eq!(runs(&scene), ["0:", "1:T001"]);
    let baseline = &start(&scene)["baseline"];
    assert_eq!((&baseline["exit"], &baseline["cause"]), (&json!(0), &json!(null)));
    assert!(baseline["duration_ms"].is_u64(), "{baseline}");
    let first = scene.git(["rev-list", "--max-parents=0", scene.session().refname()]);
    assert_eq!(scene.git(["show", &format!("{first}:validation/stdout")]), "fine");
    assert_eq!(scene.session().end()["baseline"], *baseline);
    scene.ralph("fsck").code(0);
}

#[test]
fn it_is_left_out_on_a_state_on_which_it_passed_here() {
    let scene = counting("test ! -e broken");
    scene.call("-n 1").with_baseline().run().code(4);
    runs(&scene);
    scene.call("resume -n 1").with_baseline().run().code(0);
    assert_eq!(runs(&scene), ["2:T002"], "the last iteration left the state on which it passed");
    assert_eq!(start(&scene)["baseline"]["exit"], 0, "of the start, not of the resumption");
    // Marks and progress.txt make no difference.
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two").journal_differs();
    fs::remove_file(scene.path("specs/001-login/progress.txt")).unwrap();
    scene.call("-n 1").with_baseline().run().code(4);
    assert_eq!(runs(&scene), ["1:T001"]);
    assert_eq!(start(&scene)["baseline"], json!(null));
    // Anything else does: a file, the text of a task, the command.
    scene.write("new.txt", "");
    scene.call("-n 1").with_baseline().run().code(0);
    assert_eq!(runs(&scene), ["0:", "1:T002"]);
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two more");
    scene.call("-n 1").with_baseline().run().code(4);
    assert_eq!(runs(&scene), ["0:", "1:T001"]);
    let runs_file = scene.outside("runs");
    scene.validate(&format!("echo \"$RALPH_ITERATION\" >> {}", runs_file.display()));
    scene.call("-n 1").with_baseline().run().code(0);
    assert_eq!(runs(&scene), ["0", "1"]);
}

#[test]
fn a_red_one_is_a_warning_and_in_the_prompt_until_the_validation_passes() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two").validate("sh check.sh");
    scene.write("check.sh", "test -e done.txt || { echo 'FAILED login: expected 1, got 2'; exit 1; }");
    scene.agent_script(
        "[[turn]]\ndo = [{ tick = \"current\" }, { write = { path = \"done.txt\", text = \"\" } }]",
    );
    let run = scene.call("--force").with_baseline().run().code(0);
    let cause = "FAILED login: expected 1, got 2";
    let run = run.stdout_has(&format!("the validation already fails before the first iteration: {cause}"));
    assert_eq!(start(&scene)["baseline"]["cause"], cause, "{run}");
    let session = scene.session();
    let [first, second] = [1, 2].map(|number| session.text(number, "prompt.md"));
    let heading = "## The validation failed before the first iteration of this run";
    assert!(first.contains(heading) && first.contains(cause), "{first}");
    assert!(!second.contains(heading), "{second}");
    let replayed = scene.ralph("replay --json").code(0).json();
    assert_eq!(
        (&replayed["iterations"][0]["is_same"], &replayed["iterations"][1]["is_same"]),
        (&json!(true), &json!(true))
    );
}

/// A validation that fails until the file `repaired` is there.
const RED: &str = "test -e repaired || { echo 'FAILED login: expected 1, got 2'; exit 1; }";

#[test]
fn a_validation_that_fails_before_anything_was_changed_is_refused_and_nothing_is_recorded() {
    let scene = counting(RED);
    let hook = scene.outside("hook");
    scene.config(&format!("hooks.on-finish = \"env | grep ^RALPH_ > {}\"", hook.display()));
    let call = || scene.call("").with_baseline();
    let refused = call().run().code(3);
    refused
        .stderr_has("error: the validation fails before anything was changed, so no task can be done\n  ")
        .stderr_has(": exit code 1 after ")
        .stderr_has(": FAILED login: expected 1, got 2\n")
        .stderr_has(
            "hint: is the command right? `--validate CMD` sets another. Start all the same: --force\n",
        );
    assert_eq!(runs(&scene), ["0:", "0:"]);
    assert!(scene.sessions().is_empty() && !scene.task_list().contains("[x]"));
    assert!(!scene.path(".git/ralph/spool").read_dir().is_ok_and(|mut folder| folder.next().is_some()));
    let told = fs::read_to_string(&hook).expect("the hook ran");
    for line in ["RALPH_STATUS=refused", "RALPH_SESSION_ID=", "RALPH_EXIT_CODE=3", "RALPH_TASKS_OPEN=2"] {
        assert!(told.lines().any(|found| found == line), "{line} in {told}");
    }
    let events = scene.call("--json").with_baseline().run().code(3).json_lines();
    assert_eq!(events.len(), 1);
    assert_eq!((&events[0]["type"], &events[0]["baseline"]["exit"]), (&json!("start_refused"), &json!(1)));
    // With names of tests there is another way on.
    scene.write("tap", "1..2\nnot ok 1 a\nok 2 b\n").validate("cat tap; exit 1");
    call()
        .run()
        .code(3)
        .stderr_has("failing tests: a\n")
        .stderr_has("--set validation.pass=no-new-failures.");
}

#[test]
fn a_red_start_goes_on_where_an_attempt_can_help_or_was_asked_for() {
    for (list, words) in [
        ("- [ ] T001 One\n- [ ] T002 Two", "--force -n 1"),
        ("- [ ] T001 One\n- [ ] T002 Two", "--no-baseline -n 1"),
        ("- [ ] T001 One\n- [ ] T002 Two", "--task T001 -n 1"),
        ("- [x] T001 One\n- [ ] T002 Two", "-n 1"),
        ("- [x] T001 [US1] Write a test of login\n- [ ] T002 [US1] Login\n- [ ] T003 [US2] Out", "-n 1"),
    ] {
        let scene = counting(RED);
        scene.tasks(list);
        let run = scene.call(words).with_baseline().run();
        assert_ne!(run.code, 3, "{run}");
        assert_eq!(scene.sessions().len(), 1);
        if words != "--no-baseline -n 1" {
            assert_eq!(runs(&scene)[0], "0:");
            let said = "warning: the validation already fails before the first iteration: FAILED login";
            assert_eq!(run.text().matches(said).count(), 1, "{run}");
        }
    }
    // What an attempt left may be why it fails: the next start repairs it.
    let scene = counting("test ! -e broken || { echo 'FAILED login: expected 1, got 2'; exit 1; }");
    scene.agent_script("[[turn]]\ndo = [{ write = { path = 'broken', text = '' } }, { tick = 'current' }]");
    scene.call("-n 1").with_baseline().run().code(4);
    scene.call("-n 1").with_baseline().run().code(4).stdout_has("the validation already fails before");
    fs::remove_file(scene.path("broken")).expect("it is there");
    // A resumption is never refused.
    scene.write("broken", "");
    scene.call("resume -n 1").with_baseline().run().code(4);
}

#[test]
fn a_red_start_is_refused_after_a_success_too_and_one_that_is_flaky_is_none() {
    let scene = counting("test ! -e ../broken || { echo 'FAILED login: expected 1, got 2'; exit 1; }");
    scene.call("-n 1").with_baseline().run().code(4);
    scene.tasks("- [x] T001 One\n- [ ] T002 Two\n- [ ] T003 Three");
    fs::write(scene.outside("broken"), "").expect("it can be written");
    scene.write("beside.txt", "an edit of mine\n");
    scene.call("").with_baseline().run().code(3).stderr_has("FAILED login: expected 1, got 2");
    let scene = counting("test -e ../once || { : > ../once; echo 'FAILED net: timeout'; exit 1; }");
    let run = scene.call("-n 1").with_baseline().run().code(4);
    run.stdout_has("the validation failed, and passed when it ran again: it is flaky (FAILED net: timeout)");
    assert_eq!(runs(&scene), ["0:", "0:", "1:T001"]);
    assert_eq!(start(&scene)["baseline"]["exit"], 0);
}

#[test]
fn a_validation_that_fails_as_before_the_first_attempt_is_no_tasks_fault() {
    let list = "- [ ] T001 One\n- [ ] T002 Two\n- [ ] T003 Three";
    let scene = counting(RED);
    scene.tasks(list);
    let ended = scene.call("--force").with_baseline().run().code(6);
    ended
        .stdout_has(
            "\nthe validation failed before the first attempt\n0 of 3 tasks done · the validation is broken",
        )
        .stdout_has("2 attempts at T001, T002 failed alike")
        .stdout_has("    FAILED login: expected 1, got 2\n  No task is to blame, so none was given up.")
        .stdout_has("\n  → specify ralph resume --validate 'THE RIGHT COMMAND'\n\nlook   specify ralph show 2 --stderr");
    let session = scene.session();
    assert_eq!(session.trailers("Ralph-Task"), ["T001", "T002"]);
    assert_eq!(session.end()["stop_reason"], "validation_unusable");
    let status = scene.ralph("status").code(0).text();
    assert!(status.starts_with("the validation failed before the first attempt\n"), "{status}");
    assert!(status.contains("FAILED login: expected 1, got 2\n    No task is to blame"), "{status}");
    assert!(status.contains("next: specify ralph resume --validate 'THE RIGHT COMMAND'"), "{status}");
    let summary = scene.ralph("status --json").json()["summary"].take();
    assert_eq!(
        (&summary["needs_you"][0]["why"], &summary["tasks"]["fails"]),
        (&json!("validation"), &json!(0))
    );
    scene.ralph("report --markdown").code(0).stdout_has("The validation failed before the first attempt");
    // Where there is one task, it is tried twice.
    let alone = counting(RED);
    alone.call("--task T001").with_baseline().run().code(6);
    assert_eq!(alone.session().trailers("Ralph-Task"), ["T001", "T001"]);
    // The second task repairs it: the first comes last, and is done.
    let repaired = counting(RED);
    repaired.tasks(list).agent_sh("case $RALPH_TASK in T002) : > repaired;; esac; tick");
    let run = repaired.call("--force").with_baseline().run().code(0);
    run.stdout_lacks("the validation failed before the first attempt");
    assert_eq!(repaired.session().trailers("Ralph-Task"), ["T001", "T002", "T003", "T001"]);
}

#[test]
fn a_failure_that_names_nothing_that_two_tasks_changed_is_said_once() {
    let scene = counting("test ! -e ../gone || { echo 'FAILED connect: refused'; exit 1; }");
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two\n- [ ] T003 Three\n- [ ] T004 Four");
    scene.agent_sh("[ $RALPH_TASK = T001 ] || : > ../gone; echo x > $RALPH_TASK.txt; tick");
    let run = scene.call("--skip-after 1").with_baseline().run().code(5);
    let said = "warning: T002 and T003 failed alike, by nothing that they changed: FAILED connect: refused\n";
    assert_eq!(run.text().matches(said).count(), 1, "{run}");
    // A failure in what one of them changed is theirs.
    for task in ["T002", "T003"] {
        let command = "test ! -e ../gone || { echo 'FAILED TASK.txt: no such part'; exit 1; }";
        let scene = counting(&command.replace("TASK", task));
        scene.tasks("- [ ] T001 One\n- [ ] T002 Two\n- [ ] T003 Three");
        scene.agent_sh("[ $RALPH_TASK = T001 ] || : > ../gone; echo x > $RALPH_TASK.txt; tick");
        scene.call("--skip-after 1").with_baseline().run().code(5).stdout_lacks("failed alike");
    }
}

#[test]
fn a_session_in_which_nothing_passes_once_ends() {
    let list: Vec<String> = (1..=12).map(|number| format!("- [ ] T{number:03} Do it")).collect();
    let session = |words: &str| {
        let scene = Sandbox::new();
        scene.tasks(&list.join("\n")).agent_script(WILLING_AGENT);
        scene.config("stop-on-common-failure = false\nstuck-after = 0");
        scene.validate("echo \"FAILED $RALPH_TASK: no\"; exit 1");
        let run = scene.ralph(words).code(if words.contains("-n 40") { 5 } else { 4 });
        (run.text(), scene.session().end()["iterations_run"].as_u64())
    };
    let (text, attempts) = session("-n 40");
    assert!(text.contains("\nnothing passed once: is the setup whole?\n"), "{text}");
    assert!(!text.contains("warning: T001 was skipped"), "the card has it: {text}");
    assert_eq!(attempts, Some(10));
    assert_eq!(session("-n 10").1, Some(10), "the limit comes first");
    assert_eq!(session("-n 12 --set stop-without-success=false").1, Some(12));
    assert_eq!(session("-n 12 --skip-after 0").1, Some(12));
}

/// pytest in a project without tests, and with one.
const PYTEST: &str = "echo 'collected 0 items'; if test -e tests/test_one.py; then echo '== 1 passed in 0.01s =='; \
                      else echo '===== no tests ran in 0.01s ====='; exit 5; fi";

#[test]
fn a_project_without_tests_is_judged_by_what_its_tasks_change_until_the_first_test() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two\n- [ ] T003 Three").validate(PYTEST);
    scene.agent_sh(
        "mkdir -p tests; case $RALPH_TASK in T002) f=tests/test_one.py;; *) f=$RALPH_TASK.txt;; esac
         echo \"$RALPH_TASK\" > $f; tick",
    );
    let run = scene.call("").judged().run().code(0);
    let said = "no tests yet: until the first one exists, a task is judged by what it changed";
    assert_eq!(run.text().matches(said).count(), 1, "{run}");
    let session = scene.session();
    let first = session.iteration(1);
    assert_eq!((&first["outcome"], &first["evidence"]["no_tests"]), (&json!("success"), &json!(true)));
    assert_eq!(first["evidence"]["flags"][0]["code"], "no-tests");
    assert_eq!(start(&scene)["baseline"]["no_tests"], true);
    assert!(session.iteration(2)["evidence"].get("no_tests").is_none());
    // Once a test ran, the same end is a failure.
    scene.tasks("- [ ] T004 Four\n- [ ] T005 Five");
    scene.agent_sh("rm -f tests/test_one.py; tick");
    scene.call("-n 1").judged().run().code(4);
    assert_eq!(scene.sessions().pop().expect("a session").iteration(1)["outcome"], "failure");
}

#[test]
fn a_file_of_tests_a_setting_or_another_failure_make_it_a_failure() {
    for (file, config, validation) in [
        ("tests/test_old.py", "", PYTEST),
        ("a.txt", "validation.refuse = ['no-tests']", PYTEST),
        ("a.txt", "", "echo 'src/a.py:1: error: bad type'; echo '== no tests ran in 0.01s =='; exit 1"),
    ] {
        let scene = Sandbox::new();
        scene.tasks("- [ ] T001 One\n- [ ] T002 Two").agent_script(WILLING_AGENT);
        scene.write(file, "").config(config).validate(validation).commit("A project");
        let call = scene.call("").with_baseline();
        let call =
            if config.is_empty() { call } else { call.env("SPECKIT_RALPH_VALIDATION_REFUSE", "no-tests") };
        call.run().code(3).stderr_has("the validation fails before anything was changed");
    }
}

#[test]
fn files_that_it_changes_are_named_and_no_iteration_has_them() {
    let scene = Sandbox::new();
    scene.agent_script(WILLING_AGENT).validate("echo 1 > report.xml");
    let run = scene.call("").with_baseline().run().code(0);
    run.stdout_has("the validation changed files before the first iteration: report.xml");
    let session = scene.session();
    assert_eq!(session.iteration(1)["files_changed"], json!(["specs/001-login/tasks.md"]));
    let snapshots = session.refname().replace("refs/ralph/", "refs/ralph-snap/");
    let subjects = scene.git(["log", "--first-parent", "--format=%s", &snapshots]);
    let has_file = |revision: &str| !scene.git(["ls-tree", "--name-only", revision, "report.xml"]).is_empty();
    assert!(has_file(&format!("{snapshots}~1")) && !has_file(&format!("{snapshots}~2")), "{subjects}");
    scene.ralph("diff 1 --stat").code(0).stdout_lacks("report.xml");
}

#[test]
fn one_that_takes_too_long_is_red_and_no_baseline_means_none() {
    let scene = Sandbox::new();
    scene.agent_script(WILLING_AGENT).config("validation.timeout = \"1s\"");
    scene.validate("test \"$RALPH_ITERATION\" != 0 || sleep 1000");
    let run = scene.call("-n 1").with_baseline().run();
    run.stdout_has("before the first iteration: `test \"$RALPH_ITERATION\" != 0 || sleep 10...` timed out");
    assert_eq!(start(&scene)["baseline"]["exit_reason"], "timeout");
    scene.tasks("- [ ] T001 Again");
    scene.call("-n 1 --no-baseline").with_baseline().run().stdout_lacks("timed out");
    assert_eq!(start(&scene)["baseline"], json!(null));
}

#[test]
fn it_ends_with_the_loop_whatever_ends_that() {
    let scene = Sandbox::new();
    scene.agent_script(WILLING_AGENT).validate("touch begun; sleep 1000");
    let begun = || {
        let mut running = scene.call("").with_baseline().spawn();
        running.wait_for_file("begun");
        fs::remove_file(scene.path("begun")).unwrap();
        running
    };
    let mut running = begun();
    running.signal(Signal::INT);
    running.wait().code(130);
    assert!(scene.processes_of_sessions().is_empty());
    let session = scene.session();
    assert_eq!((&session.end()["status"], &session.end()["baseline"]), (&json!("interrupted"), &json!(null)));
    assert!(session.iterations().is_empty());
    begun().kill().code(137);
    assert!(!scene.processes_of_sessions().is_empty(), "the validation should have outlived the loop");
    scene.validate("true");
    scene.call("").with_baseline().run().code(0).stdout_has("stopped what session");
    assert!(scene.processes_of_sessions().is_empty());
    assert_eq!(scene.sessions().len(), 2, "the one that was killed has no record");
}

#[test]
fn where_all_boxes_are_ticked_the_validation_decides() {
    let scene = counting("test ! -e broken || { echo 'FAILED login: expected 1, got 2'; exit 1; }");
    // No agent is needed for that.
    scene.tasks("- [x] T001 One\n- [x] T002 Two").agent("[agents.fake]\ncommand = [\"no-such-agent\"]\n");
    scene
        .ralph("")
        .code(0)
        .stdout("specs/001-login: all done (2 tasks), and the validation passes: nothing to do\n");
    assert_eq!(runs(&scene), ["0:"]);
    scene.write("broken", "");
    scene.ralph("").code(5).stdout(
        "specs/001-login: all boxes are ticked (2 tasks), but the validation fails: FAILED login: expected 1, got 2\n\
         hint: untick the box of the task to redo, and start the loop\n",
    );
    scene.ralph("-q").code(5).stdout_has("but the validation fails");
    scene.ralph("--json").code(5).stdout_lacks("session_").stderr_has("but the validation fails");
    assert!(scene.sessions().is_empty());
    assert!(!scene.path(".git/ralph/spool").read_dir().is_ok_and(|mut folder| folder.next().is_some()));
    scene.tasks("- [x] T001 One\n- [ ] T002 Two");
    runs(&scene);
    scene.ralph("--task T001").code(0).stdout_has("T001 is done already");
    assert!(runs(&scene).is_empty(), "not all is done");
}

#[test]
fn a_check_of_finished_work_can_be_stopped() {
    let scene = Sandbox::new();
    scene.tasks("- [x] T001 One").agent_script(WILLING_AGENT).validate("touch begun; sleep 1000");
    let mut running = scene.spawn("");
    running.wait_for_file("begun");
    running.signal(Signal::INT);
    running.wait().code(130).stdout("");
    assert!(scene.processes_of_sessions().is_empty() && scene.sessions().is_empty());
    fs::remove_file(scene.path("begun")).expect("it is there");
    let mut running = scene.spawn("");
    running.wait_for_file("begun");
    running.kill().code(137);
    scene.tasks("- [ ] T001 One").validate("true");
    scene.ralph("").code(0).stdout_has("stopped what session");
    assert!(scene.processes_of_sessions().is_empty());
}

#[test]
fn a_validation_that_cannot_be_run_ends_the_session_after_two_iterations() {
    let list = "- [ ] T001 One\n- [ ] T002 Two\n- [ ] T003 Three\n- [ ] T004 Four";
    for (command, has_baseline) in [("./check.sh", true), ("true && no-such-check --all", false)] {
        let scene = Sandbox::new();
        scene.tasks(list).agent_script(WILLING_AGENT).validate(command);
        let call = scene.call("");
        let run = if has_baseline { call.with_baseline() } else { call }.run().code(6);
        let run = run.stdout_has(&format!("`{command}` cannot be run: ")).stdout_has("not found");
        let session = scene.session();
        assert_eq!(session.iterations().len(), 2, "{run}");
        assert_eq!(
            (&session.end()["stop_reason"], &session.end()["status"]),
            (&json!("validation_unusable"), &json!("failed"))
        );
        assert!(!scene.task_list().to_lowercase().contains("[x]"));
    }
    // A tool that breaks later, and one that the first task installs.
    let scene = Sandbox::new();
    scene.tasks(list).agent_script(WILLING_AGENT);
    scene.validate("test \"$RALPH_ITERATION\" = 1 || no-such-check");
    scene.ralph("-n 4").code(4);
    let scene = Sandbox::new();
    scene.tasks(list).validate("./check.sh");
    scene.agent_script(
        "[[turn]]\ndo = [{ write = { path = \"check.sh\", text = \"true\" } }, \
         { run = \"chmod +x check.sh\" }, { tick = \"current\" }]",
    );
    scene.call("").with_baseline().run().code(0).stdout_has("already fails before the first iteration: ");
}
