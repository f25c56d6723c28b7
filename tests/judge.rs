//! What proves an attempt, and what does not: each row of the judge's table once through the program.

use serde_json::{Value, json};

use crate::sandbox::{Run, Sandbox};

/// Runs the tests of tests/*.bats in shell alone, and prints TAP as bats does. A test passes if the file `works` does not
/// say otherwise.
const RUNNER: &str = r#"number=0 failed=0 total=$(cat tests/*.bats | grep -c '^@test')
echo "1..$total"
while read -r line; do
  case $line in
    @test*) name=${line#*\"} name=${name%%\"*} number=$((number + 1)) skip= ;;
    skip*) skip=1 ;;
    "}") if [ -n "$skip" ]; then echo "ok $number $name # skip"
         elif grep -qx "$name" broken 2>/dev/null; then echo "not ok $number $name"; failed=1
         else echo "ok $number $name"; fi ;;
  esac
done <<END
$(cat tests/*.bats)
END
exit $failed
"#;

/// What it sources.
const RUNNER_HEAD: &str = ". ./lib.sh\n";

/// Tests with these names, as bats writes them.
fn bats(names: &[&str]) -> String {
    names.iter().map(|name| format!("@test \"{name}\" {{\n  run true\n}}\n")).collect()
}

const TESTS: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];

/// Two tasks, twelve tests, and an agent that does `work` and ticks the box of its task.
fn scene(work: &str) -> Sandbox {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two").write("lib.sh", "true\n");
    scene
        .write("check.sh", format!("{RUNNER_HEAD}{RUNNER}"))
        .write("tests/a.bats", bats(&TESTS))
        .validate("sh check.sh");
    agent(&scene, work);
    scene.commit("A project");
    scene
}

/// `tick T001` ticks the box of a task.
fn agent(scene: &Sandbox, work: &str) {
    let tick = "tick() { t=$(cat \"$RALPH_TASKS\"); \
                printf '%s\\n' \"$t\" | sed \"s/^- \\[ \\] $1/- [x] $1/\" >\"$RALPH_TASKS\"; }";
    scene.agent_sh(&format!("{tick}\necho \"$RALPH_ITERATION\" >>work.txt\n{work}\n"));
}

fn run(scene: &Sandbox, words: &str) -> Run {
    scene.call(words).judged().run()
}

fn flags(iteration: &Value) -> Vec<String> {
    let flags = iteration["evidence"]["flags"].as_array().cloned().unwrap_or_default();
    flags.iter().map(|flag| format!("{}: {}", flag["code"], flag["text"]).replace('"', "")).collect()
}

#[test]
fn tests_that_ran_are_recorded_with_those_of_before() {
    let scene = scene("tick $RALPH_TASK");
    run(&scene, "").code(0);
    let session = scene.session();
    let first = session.iteration(1);
    assert_eq!(first["outcome"], "success");
    let tests = &first["evidence"]["tests"];
    assert_eq!(
        (&tests["passed"], &tests["level"], &tests["ran"]),
        (&json!(12), &json!("tests"), &json!("some"))
    );
    assert_eq!(first["evidence"]["before"]["passed"], 12);
    assert_eq!(flags(&first), Vec::<String>::new());
    assert_eq!(session.trailers("Ralph-Tests").len(), 2);
    assert_eq!(session.end()["validation_files"], json!(["check.sh", "lib.sh"]));
    assert_eq!(session.end()["trusted"]["passed"], true);
    scene.ralph("fsck").code(0);
    scene.ralph("rebuild --check").code(0);
}

/// What an agent does, what refuses it, and in which words.
#[test]
fn what_does_not_prove_is_refused_and_its_box_is_opened_again() {
    let skip = "awk '{print} /\"b\"/ {print \"  skip\"}' tests/a.bats >t && mv t tests/a.bats";
    for (work, code, cause) in [
        (skip, "skip", "not proven: 1 existing test is skipped now: tests/a.bats"),
        ("echo a >broken; echo 'exit 0' >check.sh", "vanished", "not proven: no test was counted, 12 before"),
        ("echo 'exit 0' >lib.sh", "vanished", "not proven: no test was counted, 12 before"),
        (
            "echo a >broken; sed 's/^exit.*/exit 0/; s/not ok/ok/' check.sh >t; mv t check.sh",
            "judge",
            "not proven: passes only with its change of check.sh: 12 tests by the new script; the old one fails (-",
        ),
        (
            "echo a >broken; echo 'not() { :; }; echo() { printf \"%s\\n\" \"${*#not }\"; }; trap \"exit 0\" EXIT' >lib.sh",
            "judge",
            "not proven: passes only with its change of lib.sh: 12 tests by the new script; the old one fails (",
        ),
        (
            "sed 's/ok \\$number/ok $number skipped # skip/' check.sh >t; printf 'echo 1..0\\n' >check.sh",
            "vanished",
            "not proven: no test ran, 12 ran before",
        ),
        ("printf '%s\\n' '@test \"a\" {' 'run true' '}' >tests/a.bats", "", ""),
        (
            "printf 'echo 1..2; echo ok 1 a; echo ok 2 b\\n' >check.sh",
            "shrunk",
            "not proven: 2 tests ran, 12 before, and none was removed",
        ),
        (
            "git checkout -q work.txt 2>/dev/null || rm work.txt",
            "idle",
            "not proven: ticked, but nothing changed",
        ),
    ] {
        let scene = scene(&format!("{work}; tick $RALPH_TASK"));
        run(&scene, "-n 1 --skip-after 0");
        let first = scene.session().iteration(1);
        if code.is_empty() {
            assert_eq!(first["outcome"], "success", "{work}: {first}");
            continue;
        }
        let refused = first["evidence"]["refused"].as_str();
        assert_eq!(refused, Some(code), "{work}: {first:#}");
        if !cause.is_empty() {
            assert!(first["cause"].as_str().unwrap().starts_with(cause), "{work}: {}", first["cause"]);
        }
        assert_eq!((&first["outcome"], &first["closed"]), (&json!("failure"), &json!([])), "{work}");
        assert_eq!(first["false_claim"], json!(["ticked"]), "{work}");
        assert!(scene.task_list().contains("- [ ] T001"), "{work}");
        assert_eq!(scene.session().trailers("Ralph-Refused"), [refused.unwrap()], "{work}");
        scene.ralph("fsck").code(0);
    }
}

#[test]
fn boxes_of_other_tasks_are_opened_again_and_may_be_ticked_without_a_change() {
    let scene = scene("");
    agent(
        &scene,
        "tick T001; tick T002; if [ $RALPH_ITERATION = 2 ]; then git checkout -q work.txt || rm work.txt; git clean -qfd work.txt; fi",
    );
    run(&scene, "-n 1").code(4).stdout_lacks("left the list");
    let session = scene.session();
    let first = session.iteration(1);
    assert_eq!((&first["closed"], &first["reopened"]), (&json!(["T001"]), &json!(["T002"])));
    assert_eq!(flags(&first), ["others: also ticked T002: open again"]);
    assert!(scene.task_list().contains("- [x] T001") && scene.task_list().contains("- [ ] T002"));
    assert_eq!(session.trailers("Ralph-Reopened"), ["T002"]);
    agent(&scene, "rm -f work.txt; echo 1 >work.txt; tick T002");
    run(&scene, "resume").code(0);
    let second = scene.session().iteration(2);
    assert_eq!(
        (&second["outcome"], flags(&second)),
        (&json!("success"), vec!["idle: done in #1".to_owned()])
    );
    scene.ralph("fsck").code(0);
}

#[test]
fn an_own_file_whose_old_version_passes_too_is_a_flag_and_is_left_as_the_agent_wrote_it() {
    let scene = scene("echo '# more' >>check.sh; tick $RALPH_TASK");
    run(&scene, "-n 1").code(4);
    let first = scene.session().iteration(1);
    assert_eq!(first["outcome"], "success", "{first:#}");
    assert_eq!(flags(&first), ["judge: changed check.sh, which the validation runs; the old one passes too"]);
    assert_eq!(first["evidence"]["second"], json!({"why": "judge", "exit": 0, "paths": ["check.sh"]}));
    assert!(scene.read("check.sh").ends_with("# more\n"));
    assert!(scene.session().text(1, "validation/second.stdout").contains("ok 12 l"));
    assert!(first["duration_ms"]["second"].is_u64());
    assert_eq!(scene.git("for-each-ref --format=%(refname) refs/ralph-restore").lines().count(), 1);
}

#[test]
fn a_script_that_only_follows_a_move_is_a_flag() {
    let scene = scene("mv src lib; sed 's/src/lib/' check.sh >t; mv t check.sh; tick $RALPH_TASK");
    scene.write("src/v", "1\n").write("check.sh", format!("cat src/v\n{RUNNER}")).commit("Sources");
    run(&scene, "-n 1").code(4);
    let first = scene.session().iteration(1);
    assert_eq!(first["outcome"], "success", "{first:#}");
    assert_eq!(flags(&first), ["judge: changed check.sh, which the validation runs: it follows src → lib"]);
    assert_eq!(first["evidence"]["second"], json!(null));
}

#[test]
fn a_task_that_is_refused_twice_for_the_same_script_is_given_up_and_a_person_may_accept_it() {
    let work =
        "rm -rf src; mkdir lib; sed 's/src/lib/' check.sh >t; mv t check.sh; echo 2 >lib/v; tick $RALPH_TASK";
    let scene = scene(work);
    scene.write("src/v", "1\n").write("check.sh", format!("cat src/v || exit 1\n{RUNNER}")).commit("Sources");
    let ended = run(&scene, "--task T001").code(5);
    let ended =
        ended.stdout_has("T001 passes only with its change of check.sh, twice: a person decides").stdout_has(
            "12 tests by the new script; the old one fails (-cat src/v || exit 1, +cat lib/v || exit 1)",
        );
    let session = scene.session();
    let (first, second) = (session.iteration(1), session.iteration(2));
    assert_eq!(
        (&first["evidence"]["refused"], &second["evidence"]["refused"]),
        (&json!("judge"), &json!("judge"))
    );
    assert_eq!(session.iteration(3)["outcome"], "skipped");
    let commands = ["specify ralph accept T001\n", "specify ralph hint --task T001 'TEXT'\n"];
    let ended = ended.stdout_has("\n? T001  One").stdout_has(&format!("\n  → {}", commands[0]));
    ended.stdout_has(&format!("  → {}", commands[1]));
    let status = scene.ralph("status").code(0).stdout_has("the old one fails (-cat src/v || exit 1");
    status
        .stdout_has("\n  ? T001  asks for acceptance: ")
        .stdout_has("next: specify ralph accept T001, then ");
    let summary = scene.ralph("status --json").json()["summary"].take();
    assert_eq!((&summary["needs_you"][0]["why"], &summary["tasks"]["asks"]), (&json!("accept"), &json!(1)));
    scene
        .ralph("report --markdown")
        .code(0)
        .stdout_has("T001 One (not proven: passes only with its change of check.sh: ");
    scene.ralph("accept T001").code(0).stdout_has("T001 is done, accepted by Ada Lovelace");
    scene.ralph("fsck").code(0);
}

#[test]
fn what_another_command_counted_is_not_missed() {
    let scene = scene("tick $RALPH_TASK");
    run(&scene, "-n 1").code(4);
    scene.validate("true");
    for words in ["-n 1", "-n 1 --no-baseline"] {
        run(&scene, words).code(0).stdout_lacks("not proven").stdout_lacks("⚑");
        scene.tasks("- [ ] T003 Three");
    }
}

#[test]
fn what_runs_by_itself_is_named_where_it_is_merged() {
    let scene = scene("mkdir -p .husky; echo true >.husky/post-merge; tick $RALPH_TASK");
    let flag = "runs by itself: .husky/post-merge (git)";
    run(&scene, "run --lane --task T001")
        .code(0)
        .stdout_has(&format!("git merge --ff-only ralph/001-login\n⚑ T001 {flag}\n"));
    for command in ["show 1", "log --flagged", "report --markdown"] {
        scene.ralph(command).code(0).stdout_has(flag);
    }
    scene.ralph("report -o ../page.html").code(0);
    let page = std::fs::read_to_string(scene.outside("page.html")).expect("the page was written");
    assert!(page.contains(flag), "{page}");
    let scene = self::scene("mkdir -p .githooks; echo true >.githooks/pre-push; tick $RALPH_TASK");
    run(&scene, "-n 1 --set validation.refuse=runs-by-itself").code(4);
    assert_eq!(scene.session().iteration(1)["evidence"]["refused"], "runs-by-itself");
}

#[test]
fn protected_files_are_put_back_and_what_is_new_stays() {
    let scene = scene(
        "echo '@test \"z\" {' >tests/a.bats; rm tests/c.bats; echo x >tests/new.bats; tick $RALPH_TASK",
    );
    scene.write("tests/c.bats", bats(&["m"])).config("validation.protect = [\"tests/**\"]").commit("More");
    let run = run(&scene, "-n 1").code(4);
    run.stdout_has("put back tests/a.bats, tests/c.bats, which are protected");
    assert_eq!(scene.read("tests/a.bats"), bats(&TESTS));
    assert_eq!(scene.read("tests/c.bats"), bats(&["m"]));
    assert_eq!(scene.read("tests/new.bats"), "x\n");
    let first = scene.session().iteration(1);
    assert_eq!(first["outcome"], "success", "{first:#}");
    let codes: Vec<&Value> =
        first["evidence"]["flags"].as_array().unwrap().iter().map(|it| &it["code"]).collect();
    assert_eq!(codes, ["put-back"], "{first:#}");
    scene.write(".gitignore", "ignored.bats\n").write("tests/ignored.bats", "").commit("Ignore");
    scene
        .call("-n 1")
        .run()
        .code(3)
        .stderr_has("`validation.protect` matches files that git ignores: tests/ignored.bats");
}

#[test]
fn tests_that_failed_before_may_go_on_failing_and_no_others() {
    let work = "tick $RALPH_TASK";
    let scene = scene(work);
    scene.write("broken", "a\nb\n").commit("Two tests fail");
    run(&scene, "-n 1").code(3).stderr_has("failing tests: a, b\n");
    let red = run(&scene, "-n 1 --force").code(4);
    red.stdout_has(
        "the validation fails before the start: 2 tests (a, b); no task can be done until they pass",
    );
    assert_eq!(scene.session().iteration(1)["outcome"], "failure");
    run(&scene, "--skip-after 1")
        .code(6)
        .stdout_has("no task can be done until they pass, or with")
        .stdout_has("No task is to blame, so none was given up")
        .stdout_has("--set validation.pass=no-new-failures");
    scene.config("validation.pass = \"no-new-failures\"");
    // Boxes that stay open say nothing of a validation that may fail.
    agent(&scene, "");
    run(&scene, "-n 2").code(4).stdout_lacks("No task is to blame");
    agent(&scene, work);
    run(&scene, "-n 1").code(4);
    let newest = || scene.sessions().pop().unwrap();
    let first = newest().iteration(1);
    assert_eq!(first["outcome"], "success", "{first:#}");
    assert_eq!(flags(&first), ["known-failures: 2 tests fail that failed before the start"]);
    agent(&scene, "echo b >broken; echo c >>broken; tick $RALPH_TASK");
    run(&scene, "resume -n 1").code(4);
    let second = newest().iteration(2);
    assert_eq!((&second["outcome"], &second["cause"]), (&json!("failure"), &json!("new failure: c")));
    agent(&scene, "echo b >broken; tick $RALPH_TASK");
    run(&scene, "resume -n 1").code(0);
    assert_eq!(newest().end()["legacy_failures"], json!(["b"]));
    scene.ralph("fsck").code(0);
}

/// A validation whose first test fails in every second run, of which it counts the runs in a file beside the project.
fn flaky(scene: &Sandbox) -> String {
    let runs = scene.outside("n").display().to_string();
    format!(
        "n=$(cat {runs} 2>/dev/null || echo 0); echo $((n+1)) > {runs}; if [ $((n % 2)) = 1 ]; then \
         echo 'FAILED tests/test_clock.py::test_tick - assert 1.98 < 1.0'; \
         echo '==== 1 failed, 11 passed in 0.4s ===='; exit 1; fi; echo '==== 12 passed in 0.4s ===='"
    )
}

#[test]
fn a_flaky_test_costs_a_second_run_and_no_agent_run_and_is_named() {
    let scene = scene("tick $RALPH_TASK");
    scene.validate(&flaky(&scene)).commit("Flaky");
    run(&scene, "").code(0).stdout_has("⚑ passed in the second run: tests/test_clock.py::test_tick (flaky)");
    let session = scene.session();
    assert_eq!(session.trailers("Ralph-Outcome"), ["success", "success"]);
    let [first, second] = [1, 2].map(|number| session.iteration(number));
    let name = "tests/test_clock.py::test_tick";
    assert_eq!(flags(&first), [format!("flaky: passed in the second run: {name} (flaky)")]);
    assert_eq!(flags(&second), [format!("flaky: passed in the second run: {name} (flaky for the 2nd time)")]);
    let again = json!({"why": "flaky", "exit": 0, "paths": null, "flaky": [name]});
    assert_eq!((&first["evidence"]["second"], &first["exit"]["validation"]), (&again, &json!(1)));
    assert_eq!(first["evidence"]["tests"]["passed"], 12);
    scene.ralph("stats").code(0).stdout_has("reruns     2 second runs of the validation, ");
    scene.tasks("- [ ] T003 Three");
    // The baseline passes.
    std::fs::write(scene.outside("n"), "6\n").expect("it can be written");
    run(&scene, "").code(0).stdout_has("(flaky for the 3rd time)");
    scene.ralph("fsck").code(0);
    scene.ralph("rebuild --check").code(0);
}

#[test]
fn what_may_be_the_attempts_own_failure_gets_no_second_run() {
    let tick = "tick $RALPH_TASK";
    let in_changed_file = format!("echo 'def test_tick(): pass' >>tests/test_clock.py; {tick}");
    let of_itself = format!("echo '# more' >>ci.sh; {tick}");
    for (work, config, prefix) in [
        (in_changed_file.as_str(), "", ""),
        (&of_itself, "", "sh ci.sh; "),
        (tick, "validation.rerun = \"never\"", ""),
        ("true", "", ""),
        (tick, "", "echo >>built.txt; "),
    ] {
        let scene = scene(work);
        scene.write("ci.sh", "true\n").config(config).validate(&format!("{prefix}{}", flaky(&scene)));
        scene.commit("Flaky");
        run(&scene, "-n 1").code(4);
        let first = scene.session().iteration(1);
        assert_eq!(
            (&first["outcome"], &first["evidence"]["second"]),
            (&json!("failure"), &json!(null)),
            "{work}"
        );
    }
    // What fails again is a failure.
    let scene = scene("echo >broken; tick $RALPH_TASK");
    scene.validate(
        "if test -e broken; then echo 'FAILED tests/test_a.py::test_a - no'; echo '== 1 failed, 9 passed in 1s =='; exit 1; fi
         echo '== 10 passed in 1s =='",
    );
    run(&scene, "-n 1").code(4);
    let first = scene.session().iteration(1);
    assert_eq!((&first["outcome"], &first["evidence"]["second"]["exit"]), (&json!("failure"), &json!(1)));
}

#[test]
fn a_second_run_whose_counts_contradict_its_exit_code_is_no_proof() {
    let red = "echo 'FAILED tests/test_a.py::test_a - no'; echo '== 1 failed, 9 passed in 1s =='";
    let scene = scene("touch broken; tick $RALPH_TASK");
    scene.validate(&format!(
        "test -e broken || {{ echo '== 10 passed in 1s =='; exit 0; }}; {red}; test -e ../again || {{ touch ../again; exit 1; }}"
    ));
    run(&scene, "-n 1").code(4);
    let first = scene.session().iteration(1);
    assert_eq!(
        (&first["outcome"], &first["evidence"]["second"]["exit"]),
        (&json!("failure"), &json!(0)),
        "{first:#}"
    );
}

#[test]
fn an_exit_code_that_the_counts_contradict_is_no_proof() {
    let scene = scene("[ $RALPH_TASK = T001 ] || printf 'a\\nb\\n' >broken; tick $RALPH_TASK");
    scene.validate("sh check.sh | cat");
    run(&scene, "--skip-after 1").code(5).stdout_lacks("warning: 2 tests fail");
    let session = scene.session();
    assert_eq!(session.iteration(1)["outcome"], "success");
    let second = session.iteration(2);
    assert_eq!(second["evidence"]["refused"], "contradiction");
    let words = "2 tests fail, and the command exits with 0: a pipe hides its exit code? (set -o pipefail)";
    assert_eq!(second["cause"], format!("not proven: {words}"));
    // At a start it is said, and as many failures as before are a flag.
    let scene = self::scene("tick $RALPH_TASK");
    scene.write("broken", "a\nb\n").validate("sh check.sh | cat").commit("Two tests fail");
    run(&scene, "-n 1").code(4).stdout_has(&format!("warning: {words}\n"));
    assert_eq!(flags(&scene.session().iteration(1)), [format!("contradiction: {words}; 2 failed before")]);
}

#[test]
fn every_screen_shows_what_an_attempt_was_judged_by() {
    let scene = scene("tick T001; tick T002");
    // Until T002 is done itself: then nothing is left to look at.
    let flag = "also ticked T002: open again";
    run(&scene, "-n 1").code(4).stdout_has(&format!("\n⚑ T001  {flag}\n  → specify ralph diff 1  right so: specify ralph accept T001\n  else: specify ralph reopen T001\n"));
    scene.ralph("log").code(0).stdout_has("  ⚑ ").stdout_has(&format!("\n  ⚑ T001  {flag}\n"));
    scene
        .ralph("log --flagged")
        .code(0)
        .stdout_has(&format!("   1  ✔ T001  ⚑ {flag}\n      → specify ralph diff 1\n"));
    scene.ralph("status").code(0).stdout_has(&format!("\n  ⚑ T001  {flag}\n"));
    let markdown = scene.ralph("report --markdown").code(0);
    markdown.stdout_has("1 flagged").stdout_has(flag);
    run(&scene, "resume").code(0).stdout_lacks(flag);
    for silent in ["status", "log", "log --flagged", "report --markdown"] {
        scene.ralph(silent).code(0).stdout_lacks(flag);
    }
    scene
        .ralph("log --flagged --all --oneline")
        .code(0)
        .stdout(format!("{}:1  ✔ T001 done\n", scene.session().id()));
    scene.ralph("log --flagged --task T002 --oneline").code(0).stdout("");
    scene
        .ralph("show 1")
        .code(0)
        .stdout_has("\n  validation  passed (12 tests, ")
        .stdout_has(&format!("\n  flags       ⚑ {flag}\n"))
        .stdout_has("\n  reopened    T002\n");
    scene.ralph("stats").code(0).stdout_has("flags      others 1\n");
    scene.ralph("report -o ../page.html").code(0);
    let page = std::fs::read_to_string(scene.outside("page.html")).expect("the page was written");
    assert!(page.contains(&format!("⚑ {flag}")), "{page}");
    assert!(
        scene
            .progress()
            .contains(&format!("**Status**: ✅ Completed (T002 opened again)\n**Flags**: {flag}\n"))
    );
    scene.ralph("rebuild --check").code(0);
}

#[test]
fn work_that_git_does_not_keep_is_done_and_flagged() {
    for (work, flag) in [
        ("echo A=1 > .env.local", "unseen: changed only what git does not keep: .env.local"),
        (
            "mkdir -p src/models",
            "unseen: made folders that git cannot keep: src/models (a .gitkeep keeps it)",
        ),
    ] {
        let scene = scene("");
        scene.write(".gitignore", ".env.local\ncoverage/\nreports/\n");
        scene.agent_sh(&format!("{work}\ntick\n")).tasks("- [ ] T001 One").commit("Settings");
        run(&scene, "").code(0);
        assert_eq!(flags(&scene.session().iteration(1)), [flag]);
    }
}

#[test]
fn what_a_validation_or_another_process_writes_is_no_work() {
    for work in [
        "true",
        "mkdir -p coverage; echo $RALPH_ITERATION > coverage/a",
        // The runner of the validation, by the agent.
        "sh check.sh",
        "echo x > ../elsewhere.txt",
    ] {
        let scene = scene("");
        scene.write(".gitignore", "coverage/\nreports/\n");
        let reports = "mkdir -p reports; date > reports/run-$$.txt\n";
        scene.write("check.sh", format!("{reports}{RUNNER}"));
        scene.agent_sh(&format!("{work}\ntick\n")).tasks("- [ ] T001 One").commit("Settings");
        run(&scene, "-n 1").code(4);
        assert_eq!(scene.session().iteration(1)["evidence"]["refused"], "idle", "{work}");
    }
}

/// Prints how many lines of tests.txt have no `!`, and writes a report of them, where it is asked to.
const REPORTER: &str = r#"if [ ! -e silent ]; then
  { echo '<testsuite>'
    for name in $(cat tests.txt); do
      case $name in
        *!) echo "<testcase name=\"${name%!}\"><failure/></testcase>" ;;
        *) echo "<testcase name=\"$name\"/>" ;;
      esac
    done
    echo '</testsuite>'; } > reports/tests.xml
fi
echo "== $(cat counted 2>/dev/null || grep -cv '!' tests.txt) passed in 0.1s =="
! grep -q '!' tests.txt
"#;

/// A project whose validation writes such a report, with three tests that pass, and an agent that does `work` and ticks its box.
fn reporting(work: &str) -> Sandbox {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two").write("tests.txt", "a\nb\nc\n");
    scene
        .write(".gitignore", "reports\n")
        .write("reports/old.xml", "<testsuite><testcase name=\"z\"/></testsuite>");
    scene.write("check.sh", REPORTER).validate("sh check.sh").config("validation.report = \"reports/*.xml\"");
    scene.agent_sh(&format!("{work}\necho \"$RALPH_ITERATION\" >>work.txt\ntick\n")).commit("A project");
    scene
}

#[test]
fn a_report_that_the_validation_writes_names_the_tests() {
    let scene = reporting(
        "if [ $RALPH_TASK = T001 ]; then printf 'a\\nd\\n' > tests.txt; elif [ $RALPH_ATTEMPT = 1 ]; then \
         printf 'a\\nd\\ne!\\n' > tests.txt; else printf 'a\\nd\\ne\\n' > tests.txt; echo 'Logins work now.'; fi",
    );
    run(&scene, "").code(0);
    let session = scene.session();
    let flags_of = |number| flags(&session.iteration(number)).join("\n");
    assert!(
        flags_of(1).contains("2 tests ran, 3 before; 2 tests of before are gone: b, c"),
        "{}",
        flags_of(1)
    );
    assert_eq!(session.iteration(2)["evidence"]["tests"]["failing"], json!(["e"]));
    let kept: Value = serde_json::from_str(&session.text(1, "validation/tests.json")).expect("it is JSON");
    assert_eq!(kept, json!([{"name": "a", "status": "passed"}, {"name": "d", "status": "passed"}]));
    let shown = scene.ralph("show 1 --tests").code(0);
    shown.stdout_has(
        "2 tests: 2 passed, 0 failed, 0 skipped; since the start\ngreen  d\ngone   b\ngone   c\n",
    );
    scene.ralph("show 2 --tests").code(0).stdout_has("since #1\nred    e\n");
    let turned = scene.ralph("show 3 --tests --json").json();
    assert_eq!((&turned["green"], &turned["compared_with"]), (&json!(["e"]), &json!(2)));
    scene.ralph("log").code(0).stdout_has("e passes: Logins work now.");
}

#[test]
fn a_report_of_an_earlier_run_does_not_count_and_one_that_says_otherwise_is_flagged() {
    let report = "<testsuite><testcase name=\\\"a\\\"/></testsuite>";
    let scene = reporting(&format!("touch silent; echo \"{report}\" > reports/tests.xml"));
    let run_once = run(&scene, "-n 1");
    run_once
        .code(4)
        .stdout_has("wrote no such file (older: reports/old.xml, reports/tests.xml): the output of");
    assert_eq!(scene.session().iteration(1)["evidence"]["tests"]["passed"], 3);
    scene.ralph("show 1 --tests").code(1).stderr_has("has no names of all tests");
    let scene = reporting("echo 2 > counted");
    run(&scene, "-n 1").code(4);
    let flags = flags(&scene.session().iteration(1)).join("\n");
    assert!(flags.contains("the report has 3 passed and 0 failed tests, the output 2 and 0"), "{flags}");
}
