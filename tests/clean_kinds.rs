//! Each way in which a result holds only where it was made, and the honest work that looks like it. Installers are scripts: they need
//! no network.

#![expect(clippy::unwrap_used, reason = "a scene that cannot be set has failed")]

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::sandbox::{Call, Run, Sandbox};

const TWO_TASKS: &str = "- [ ] T001 Write one\n- [ ] T002 Write two";

/// Runs a test for each file that is wanted, and prints how many passed. `$LEVEL` of `.env` decides whether they run at all.
const SUITE: &str = "[ ! -e .env ] || . ./.env\n[ \"$LEVEL\" != none ] || { echo 'Tests: 2 passed, 2 total'; exit 0; }\n\
    n=0\nfor want in want-*; do [ -e \"$want\" ] || continue\n\
    if [ -s \"${want#want-}\" ] || [ -s \"local/${want#want-}\" ]; then n=$((n + 1)); else echo \"FAIL ${want#want-}\"; exit 1; fi\n\
    done\necho \"Tests: $n passed, $n total\"\n";

/// Installs what `declared` names as a package manager does: into a virtual environment, by links into a cache that is shared. `runner`
/// of it runs what `sitecustomize` says, if that is there, and then the suite. What is not declared any more stays.
const INSTALL: &str = "set -e\nwhile read -r name junk; do [ -z \"$junk\" ] || { echo \"error: $name is no package\"; exit 1; }; done < declared\n\
    cache=${UV_CACHE_DIR:-$HOME/cache}\nmkdir -p \"$cache\" .venv/bin .venv/lib\necho home = /usr/bin > .venv/pyvenv.cfg\n\
    while read -r name; do [ -e \"$cache/$name\" ] || echo \"$name 1.0\" > \"$cache/$name\"; ln -f \"$cache/$name\" .venv/lib/$name; done < declared\n\
    printf '#!/bin/sh\\nlib=${0%%/bin/runner}/lib\\n[ ! -e $lib/sitecustomize ] || . $lib/sitecustomize\\n. ./suite.sh\\n' > .venv/bin/runner\n\
    chmod +x .venv/bin/runner\n";

/// What T002 needs of its dependency.
const NEEDS_PAD: &str = "[ ! -e want-work-T002 ] || grep -qs 'pad' .venv/lib/pad || { echo 'FAIL work-T002: no module pad'; exit 1; }\n";

/// An agent that does what is asked for, but T002 in another way: `first`, and `then` after it heard of the check.
fn agent(first: &str, then: &str) -> String {
    format!(
        "prompt=$(cat)\nname=work-$RALPH_TASK\necho test > \"want-$name\"\ncase $RALPH_TASK:$prompt in\n\
         T002:*'in a clean checkout'*) {then} ;;\nT002:*) {first} ;;\n*) echo work > \"$name\" ;;\nesac\ntick\n"
    )
}

/// A feature of two tasks, whose agent does T001 as is right.
fn scene(suite: &str, agent: &str) -> Sandbox {
    let scene = Sandbox::new();
    scene.write("suite.sh", suite).write(".gitignore", "/local/\n/build/\n/.cache/\n/.venv/\n/.env\n/gen/\n");
    scene.write("install.sh", INSTALL).write("declared", "base\n");
    scene.tasks(TWO_TASKS).agent_sh(agent).validate("sh suite.sh").commit("Ready");
    scene
}

/// Installs what is declared in the user's work tree, and has the setup do so in others.
fn installed(scene: &Sandbox) {
    scene.config("lanes.setup = 'sh install.sh'").commit("Ready to install");
    let ended = scene.hermetic("sh").arg("install.sh").status().unwrap();
    assert!(ended.success());
}

fn run<'a>(scene: &'a Sandbox, words: &str) -> Call<'a> {
    scene.call(words).checked()
}

/// The check that the n-th record of the session has.
fn check(scene: &Sandbox, number: usize) -> Value {
    scene.session().iteration(number)["evidence"]["clean"].clone()
}

fn clean_state(scene: &Sandbox) -> PathBuf {
    let root = scene.outside("home/.cache/specify-ralph/lanes");
    let of_repository = fs::read_dir(root).unwrap().flatten().next().unwrap().path();
    of_repository.join("clean.state")
}

/// T002's result was not accepted, and then done as is right.
fn is_done_again(scene: &Sandbox, run: &Run) {
    assert!(run.text().contains("in a clean checkout ("), "{run}");
    assert!(run.text().contains("all 2 tasks done, also in a clean checkout (2 tests)"), "{run}");
    let session = scene.session();
    let outcomes: Vec<_> = (1..=session.iterations().len())
        .map(|number| session.iteration(number))
        .map(|it| {
            format!(
                "{} {}",
                it["task"].as_str().unwrap_or("-"),
                it["evidence"]["refused"].as_str().unwrap_or("ok")
            )
        })
        .collect();
    assert!(outcomes.contains(&"T002 clean".to_owned()), "{outcomes:?}");
    assert!(!outcomes.contains(&"T001 clean".to_owned()), "{outcomes:?}");
    assert_eq!(session.end()["clean"]["verdict"], "holds");
}

#[test]
fn a_script_that_git_ignores_is_a_reason_to_try_that_attempt_at_once() {
    let suite = format!("[ -x local/runner ] && exec local/runner\n{SUITE}");
    let runner = "mkdir -p local; printf '#!/bin/sh\\necho Tests: 2 passed, 2 total\\n' > local/runner; chmod +x local/runner";
    let scene = scene(&suite, &agent(runner, "echo work > work-T002"));
    is_done_again(&scene, &run(&scene, "run").run().code(0));
    let refused = scene.session().iteration(2);
    assert_eq!((&refused["outcome"], &check(&scene, 2)["why"]), (&"failure".into(), &"ignored".into()));
    // A helper that one wrote for oneself passes, and is seen.
    let scene = self::scene(
        SUITE,
        &agent(
            "mkdir -p local; printf '#!/bin/sh\\n' > local/helper; chmod +x local/helper; echo work > work-T002",
            "false",
        ),
    );
    run(&scene, "run").run().code(0).stdout_has("all 2 tasks done, also in a clean checkout (2 tests)");
    assert_eq!(scene.session().iteration(2)["evidence"]["flags"][0]["code"], "ignored");
}

#[test]
fn what_is_left_of_an_earlier_build_or_run_is_no_result() {
    let honest = "echo work > work-T002";
    // A build of sources that are gone, and a note of a run that passed.
    let builds = "mkdir -p build && for f in work-*; do [ ! -e \"$f\" ] || cp \"$f\" build/; done\n\
        n=0\nfor want in want-*; do [ -e \"$want\" ] || continue\n\
        [ -s \"build/${want#want-}\" ] || { echo \"FAIL ${want#want-}\"; exit 1; }\nn=$((n + 1))\ndone\n\
        echo \"Tests: $n passed, $n total\"\n";
    let noted = format!("[ -e .cache/passed ] && exec cat .cache/passed\n{SUITE}");
    for (suite, cheat) in [
        (builds, "mkdir -p build; echo work > build/work-T002"),
        (&noted, "mkdir -p .cache; echo 'Tests: 2 passed, 2 total' > .cache/passed"),
    ] {
        let scene = scene(suite, &agent(cheat, honest));
        is_done_again(&scene, &run(&scene, "run").run().code(0));
        assert_eq!(check(&scene, 3)["first_failing"]["iteration"], 2, "{cheat}");
    }
}

#[test]
fn what_an_agent_writes_into_a_copied_file_switches_no_tests_off() {
    let scene = scene(SUITE, &agent("echo LEVEL=none >> .env", "echo work > work-T002"));
    scene.write(".env", "LEVEL=full\n").config("lanes.copy = ['.env']").commit("Copied");
    let run = run(&scene, "run").run().code(0);
    is_done_again(&scene, &run.stdout_has("; without what agents changed in .env"));
}

#[test]
fn a_key_that_a_person_adds_to_a_copied_file_is_there_in_the_check() {
    let suite = format!("{SUITE}[ ! -e want-work-T002 ] || grep -qs '^KEY=' .env || exit 1\n");
    let scene = scene(&suite, &agent("echo work > work-T002", "false"));
    scene.write(".env", "LEVEL=full\n").config("lanes.copy = ['.env']").commit("Copied");
    run(&scene, "run --task T001").run().code(0).stdout_has("also in a clean checkout");
    scene.write(".env", "LEVEL=full\nKEY=1\n");
    run(&scene, "run").run().code(0).stdout_has("all 2 tasks done, also in a clean checkout (2 tests)");
}

#[test]
fn what_is_changed_by_hand_in_a_virtual_environment_passes_nothing() {
    let honest = "echo work > work-T002";
    let shared = format!("{NEEDS_PAD}{SUITE}");
    let declares = "echo pad >> declared; sh install.sh; echo work > work-T002";
    for (what, suite, cheat, honest, extra) in [
        (
            "a file that every program reads first",
            SUITE,
            "echo 'echo Tests: 2 passed, 2 total; exit 0' > .venv/lib/sitecustomize",
            honest,
            "",
        ),
        (
            "the runner, though the environment is to be copied",
            SUITE,
            "printf '#!/bin/sh\\necho Tests: 2 passed, 2 total\\n' > .venv/bin/runner",
            honest,
            "lanes.copy = ['.venv']",
        ),
        // What is linked from a cache is changed there as well, for all environments of the machine.
        (
            "a file of a package",
            &shared,
            "echo pad >> .venv/lib/base; cp .venv/lib/base .venv/lib/pad; echo work > work-T002",
            declares,
            "",
        ),
        // Installed, and never declared.
        (
            "a package",
            &shared,
            "mkdir .venv/lib/pad-1.dist-info; echo pad > .venv/lib/pad; echo work > work-T002",
            declares,
            "",
        ),
    ] {
        let scene = scene(suite, &agent(cheat, honest));
        scene.validate(".venv/bin/runner").config(extra);
        installed(&scene);
        let run = run(&scene, "run").run().code(0);
        assert!(
            run.text().contains("in a clean checkout (sh install.sh, then .venv/bin/runner): "),
            "{what}: {run}"
        );
        is_done_again(&scene, &run);
    }
}

#[test]
fn a_package_that_is_not_declared_any_more_is_gone_from_the_checkout() {
    // The installer leaves what it installed before.
    let suite = format!(
        "{SUITE}[ ! -e want-work-T001 ] || grep -qs pad .venv/lib/pad || {{ echo 'FAIL work-T001: no module pad'; exit 1; }}\n"
    );
    let script = "cat > /dev/null\nname=work-$RALPH_TASK\necho test > \"want-$name\"; echo work > \"$name\"\n\
        case $RALPH_TASK in T001) echo pad >> declared ;; T002) echo base > declared ;; esac\nsh install.sh\ntick\n";
    let scene = scene(&suite, script);
    installed(&scene);
    run(&scene, "run --task T001").run().code(0).stdout_has("also in a clean checkout (1 test)");
    let run = run(&scene, "run --set skip-after=1").run().code(5);
    run.stdout_has("T002").stdout_has("FAIL work-T001: no module pad");
    assert!(scene.task_list().contains("[x] T001") && scene.task_list().contains("[ ] T002"));
}

#[test]
fn an_active_virtual_environment_is_that_of_the_checkout_also_in_a_lane() {
    let cheat = "printf '#!/bin/sh\\necho Tests: 2 passed, 2 total\\n' > \"$VIRTUAL_ENV/bin/runner\"";
    for words in ["run", "run --lane"] {
        let scene = scene(SUITE, &agent(cheat, "echo work > work-T002"));
        scene.validate("runner");
        installed(&scene);
        let active = scene.path(".venv");
        let path = format!(
            "{}:{}",
            active.join("bin").display(),
            scene
                .hermetic("sh")
                .get_envs()
                .find_map(|(name, value)| (name == "PATH").then(|| value
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .to_owned()))
                .unwrap()
        );
        let run = run(&scene, words).env("VIRTUAL_ENV", &active).env("PATH", path).run().code(0);
        is_done_again(&scene, &run);
        let runner = fs::read_to_string(active.join("bin/runner")).unwrap();
        assert_eq!(
            runner.contains("sitecustomize"),
            words == "run --lane",
            "a lane changes nothing here: {runner}"
        );
    }
}

#[test]
fn a_lock_file_that_an_attempt_broke_is_a_failure_of_that_attempt() {
    let cheat = "echo 'pad <<<<<<< ours' >> declared; echo work > work-T002";
    let scene = scene(SUITE, &agent(cheat, "echo base > declared; echo work > work-T002"));
    installed(&scene);
    let run = run(&scene, "run").run().code(0);
    is_done_again(&scene, &run.stdout_has("`sh install.sh` (lanes.setup): error: pad is no package"));
    assert_eq!(check(&scene, 3)["setup"]["exit"], 1);
    assert_eq!(check(&scene, 3)["exit"], Value::Null);
}

#[test]
fn a_setup_that_builds_and_generates_makes_the_same_there() {
    // What is generated is ignored, and made anew from what is declared.
    let suite =
        format!("grep -q base gen/names && [ -s build/app ] || {{ echo FAIL gen; exit 1; }}\n{SUITE}");
    let setup = "mkdir -p gen build && cat declared > gen/names && cat install.sh > build/app";
    let scene = scene(
        &suite,
        &agent("echo more >> declared; cat declared > gen/names; echo work > work-T002", "false"),
    );
    scene.config(&format!("lanes.setup = '{setup}'")).commit("Builds");
    assert!(scene.hermetic("sh").args(["-c", setup]).status().unwrap().success());
    run(&scene, "run").run().code(0).stdout_has("all 2 tasks done, also in a clean checkout (2 tests)");
    assert_eq!(check(&scene, 3)["runs"], 1);
}

#[test]
fn a_cheat_of_a_session_that_was_cut_off_is_found_by_the_next() {
    let script = agent("mkdir -p local; echo work > local/work-T002", "echo work > work-T002");
    let script = format!(
        "case $RALPH_TASK in T003) [ -e \"$HOME/again\" ] || {{ touch \"$HOME/again\" hangs; sleep 1000; }} ;; esac\n{script}"
    );
    let scene = scene(SUITE, &script);
    scene.tasks(&format!("{TWO_TASKS}\n- [ ] T003 Write three")).commit("Three");
    let mut running = run(&scene, "run").spawn();
    running.wait_for_file("hangs");
    running.kill();
    let run = run(&scene, "run").run().code(0);
    run.stdout_has("sent back: in a clean checkout (sh suite.sh): FAIL work-T002")
        .stdout_has("all 3 tasks done, also in a clean checkout (3 tests)");
}

#[test]
fn the_task_that_fails_last_is_sent_back_and_one_that_was_repaired_is_not() {
    let script = "prompt=$(cat)\nname=work-$RALPH_TASK\necho test > \"want-$name\"\nmkdir -p local\ncase $RALPH_TASK:$prompt in\n\
        T007:*'in a clean checkout'*) echo work > \"$name\" ;;\nT003:*|T007:*) echo work > local/$name ;;\n\
        T005:*) echo work > $name; echo work > work-T003 ;;\n*) echo work > \"$name\" ;;\nesac\ntick\n";
    let scene = scene(SUITE, script);
    let list: Vec<_> = (1..=8).map(|number| format!("- [ ] T00{number} Write it")).collect();
    scene.tasks(&list.join("\n")).commit("Eight");
    let run = run(&scene, "run").run().code(0);
    run.stdout_has("FAIL work-T007").stdout_has("all 8 tasks done, also in a clean checkout (8 tests)");
    let found = scene.session().iteration(9);
    assert_eq!(found["reopened"], serde_json::json!(["T007"]));
    assert_eq!(
        found["evidence"]["clean"]["first_failing"],
        serde_json::json!({"iteration": 7, "tasks": ["T007"]})
    );
}

#[test]
fn a_check_says_nothing_where_its_commands_or_dependencies_lead_back() {
    // The command names the work tree; so does what the setup makes.
    let repo = |scene: &Sandbox| scene.repo().display().to_string();
    for (setup, words) in [
        (None, "names {repo}, which is in your work tree"),
        (
            Some("mkdir -p .venv/lib && echo {repo} > .venv/lib/own.pth && touch .venv/pyvenv.cfg"),
            "names {repo}, which is in your work tree",
        ),
        (
            Some("mkdir -p .venv/lib && cat {where} > .venv/lib/own.pth && touch .venv/pyvenv.cfg"),
            "`.venv/lib/own.pth` leads to {repo}, in your work tree",
        ),
    ] {
        let scene = scene(SUITE, &agent("echo work > work-T002", "false"));
        let (top, file) = (repo(&scene), scene.outside("where"));
        fs::write(&file, &top).unwrap();
        match setup {
            None => scene.validate(&format!("cd {top} && sh suite.sh")),
            Some(setup) => scene.config(&format!(
                "lanes.setup = '{}'",
                setup.replace("{repo}", &top).replace("{where}", file.to_str().unwrap())
            )),
        };
        scene.commit("Leads back");
        let run = run(&scene, "run").run().code(0);
        let words = words.replace("{repo}", &top);
        run.stdout_has("all 2 tasks done").stdout_has("clean checkout unusable: ").stdout_has(&words);
        assert!(scene.task_list().contains("[x] T002"));
    }
}

#[test]
fn what_no_snapshot_has_blames_no_task() {
    // Too large, and named as keys are.
    for (made, name) in
        [("head -c 4000 /dev/zero | tr '\\0' x > large", "large"), ("echo key > server.pem", "server.pem")]
    {
        let suite =
            format!("{SUITE}[ ! -e want-work-T002 ] || [ -s {name} ] || {{ echo FAIL {name}; exit 1; }}\n");
        let scene = scene(&suite, &agent(&format!("{made}; echo work > work-T002"), "false"));
        scene.config("snapshot-max-file = '2KiB'").commit("Small");
        let run = run(&scene, "run").run().code(0);
        run.stdout_has("all 2 tasks done")
            .stdout_has(&format!("clean checkout unusable: no snapshot has {name}"));
        assert!(scene.task_list().contains("[x] T002"));
    }
}

#[test]
fn tests_that_are_skipped_without_a_database_are_said_and_blamed_on_nobody() {
    // T001 and T002 count; so many more need the database, which git ignores.
    for (with_database, verdict) in [(1, "holds"), (5, "unusable")] {
        let ran = "if [ -e local/db ]; then echo \"Tests: $((n + more)) passed, $((n + more)) total\"\nelse echo \"Tests: $more skipped, $n passed, $((n + more)) total\"; fi\n";
        let suite =
            SUITE.replace("echo \"Tests: $n passed, $n total\"\n", &format!("more={with_database}\n{ran}"));
        let scene = scene(&suite, &agent("echo work > work-T002", "false"));
        scene.write("local/db", "x");
        let run = run(&scene, "run").run().code(0).stdout_has("all 2 tasks done");
        let found = check(&scene, 3);
        assert_eq!(found["verdict"], verdict, "{run}");
        let words =
            if verdict == "holds" { "also in a clean checkout (2 of 3 tests)" } else { "2 of 7 tests ran" };
        run.stdout_has(words);
    }
}

#[test]
fn tests_of_the_folders_name_pass_there() {
    let suite = format!("[ \"$(basename \"$PWD\")\" = project ] || {{ echo FAIL name; exit 1; }}\n{SUITE}");
    let scene = scene(&suite, &agent("echo work > work-T002", "false"));
    run(&scene, "run").run().code(0).stdout_has("also in a clean checkout (2 tests)");
}

#[test]
fn where_the_disk_has_no_space_for_a_checkout_nothing_is_blamed() {
    let scene = scene(SUITE, &agent("echo work > work-T002", "false"));
    run(&scene, "run --task T001").run().code(0).stdout_has("also in a clean checkout");
    fs::write(clean_state(&scene).join("project.git/taken"), u64::MAX.to_string()).unwrap();
    let run = run(&scene, "run").run().code(0);
    run.stdout_has("all 2 tasks done")
        .stdout_has("clean checkout unusable: the disk has ")
        .stdout_has("bytes free");
}

#[test]
fn verify_holds_a_failure_against_the_newest_tree_that_held() {
    let scene = scene(SUITE, &agent("echo work > work-T002", "false"));
    // Before any check there is none.
    scene.write("want-work-T009", "x").commit("Wants more");
    scene
        .ralph("verify")
        .code(5)
        .stdout_has("fails here: FAIL work-T009")
        .stdout_has("no tree is known to hold");
    fs::remove_file(scene.path("want-work-T009")).unwrap();
    scene.commit("Wants less");
    run(&scene, "run").run().code(0).stdout_has("also in a clean checkout");
    scene.commit("Done").ralph("verify").code(0).stdout_has("holds: ");
    scene.write("work-T002", "").commit("Broken by hand");
    let session = scene.session().id().to_owned();
    let fails = scene.ralph("verify").code(5).stdout_has("fails here: FAIL work-T002").stdout_has("3 runs");
    fails.stdout_has(&format!("the tree of {session}:3 passes there"));
    let found = scene.ralph("verify --json").code(5).json();
    assert_eq!(found["control"]["tree"], check(&scene, 3)["tree"]);
    scene.write("local/pass", "x");
    let unusable = scene.ralph(["verify", "--validate", "test -e local/pass"]).code(6);
    unusable.stdout_has("unusable: the validation fails there on an older tree as well");
}

#[test]
fn a_tree_that_held_in_an_attempt_is_a_control_as_well() {
    let scene = scene(SUITE, &agent("echo work > work-T002", "false"));
    scene.tasks(&format!("{TWO_TASKS}\n- [ ] T003 Write three")).commit("Three");
    run(&scene, "run -n 2 --set validation.clean=task").run().code(4);
    assert_eq!(check(&scene, 2)["verdict"], "holds");
    let session = scene.session().id().to_owned();
    scene.write("work-T001", "").commit("Broken by hand");
    scene.ralph("verify").code(5).stdout_has(&format!("the tree of {session}:2 passes there"));
}

#[test]
fn a_check_and_verify_count_what_reports_say() {
    let report = "<testsuite tests=\"3\"><testcase name=\"a\"/><testcase name=\"b\"/><testcase name=\"c\"/></testsuite>";
    let suite = format!(
        "echo '{report}' > report.xml\n{}",
        SUITE.replace("echo \"Tests: $n passed, $n total\"\n", "")
    );
    let scene = scene(&suite, &agent("echo work > work-T002", "false"));
    scene.write(".gitignore", "/report.xml\n").config("validation.report = ['report.xml']").commit("Reports");
    run(&scene, "run").run().code(0).stdout_has("all 2 tasks done, also in a clean checkout (3 tests)");
    scene.ralph("verify T002").code(0).stdout_has("holds: 3 tests pass");
}
