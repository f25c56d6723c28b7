//! What is looked at before the validation runs what an agent wrote: the record of it, and what attempts are judged by.

use serde_json::{Value, json};

use crate::sandbox::{Run, Sandbox, Session};

/// Twelve tests that pass as long as `v` holds `1`.
const COUNTS: &str = "[ \"$(cat v)\" = 1 ] && { echo '==== 12 passed in 0.01s ===='; exit 0; }\n\
                      echo '==== 6 failed, 6 passed in 0.01s ===='; exit 1\n";

/// What a validation prints that does not look.
const FORGED: &str = "echo '==== 12 passed in 0.01s ===='";

/// A task, `check.sh` as the validation, and an agent that does `work` and ticks.
fn scene(check: &str, work: &str) -> Sandbox {
    let scene = Sandbox::new();
    scene.tasks("## Phase 1: Login\n\n- [ ] T001 Add the login\n- [ ] T002 Add the logout");
    scene.write("check.sh", check).write("v", "1\n").validate("sh check.sh");
    agent(&scene, work);
    scene.commit("A project");
    scene
}

fn agent(scene: &Sandbox, work: &str) {
    scene.agent_sh(&format!("echo \"$RALPH_ITERATION\" >>work.txt\n{work}\ntick\n"));
}

fn run(scene: &Sandbox, words: &str) -> Run {
    scene.call(words).judged().run()
}

/// `judge: changed check.sh, ...` of each flag.
fn flags(iteration: &Value) -> Vec<String> {
    let flags = iteration["evidence"]["flags"].as_array().cloned().unwrap_or_default();
    flags.iter().map(|flag| format!("{}: {}", flag["code"], flag["text"]).replace('"', "")).collect()
}

fn last(scene: &Sandbox) -> Session<'_> {
    scene.sessions().pop().expect("a session is recorded")
}

/// The refusal of the attempt, or its outcome.
fn verdict(iteration: &Value) -> &str {
    let refused = iteration["evidence"]["refused"].as_str();
    refused.or(iteration["outcome"].as_str()).unwrap_or_default()
}

#[test]
fn an_own_file_that_the_validation_puts_back_is_judged_as_the_agent_left_it() {
    let script = format!("printf 'git checkout -q check.sh\\n{}\\n' >check.sh", FORGED.replace('\'', "\""));
    let scene = scene(COUNTS, &format!("echo 2 >v; {script}"));
    scene.agent_uses_git();
    run(&scene, "-n 1 --skip-after 0");
    let session = last(&scene);
    let first = session.iteration(1);
    assert_eq!(verdict(&first), "judge", "{first:#}");
    let [sealed, snapshot] = ["sealed", "snapshot"].map(|key| first[key].as_str().unwrap().to_owned());
    assert_ne!(sealed, snapshot);
    // As plain git sees it.
    assert!(scene.git(format!("show {sealed}:check.sh").as_str()).contains("git checkout"));
    assert_eq!(scene.git(format!("show {snapshot}:check.sh").as_str()), COUNTS.trim_end());
    assert!(scene.git(format!("show {sealed}:specs/001-login/tasks.md").as_str()).contains("- [x] T001"));
    let parents = scene.git(["rev-parse", &format!("{snapshot}^@")]);
    assert_eq!(parents.lines().last(), Some(sealed.as_str()));
    let before = |commit: &str| scene.git(["rev-parse", &format!("{commit}^1")]);
    assert_eq!(before(&sealed), before(&snapshot));
    assert!(scene.git(["rev-list", "--glob=refs/ralph-snap/*"]).lines().any(|it| it == sealed));
    scene.ralph("fsck").code(0);
    scene.ralph("rebuild --check").code(0);
}

#[test]
fn what_the_validation_deletes_comes_back_but_for_snapshots_of_tests() {
    let hook = "test ! -e hook.sh || . ./hook.sh\n";
    let forged = FORGED.replace('\'', "\"");
    let work = format!("echo 2 >v; printf 'rm hook.sh; {forged}; exit 0\\n' >hook.sh");
    let scene = scene(&format!("{hook}{COUNTS}"), &work);
    run(&scene, "-n 1");
    let first = last(&scene).iteration(1);
    assert_eq!(flags(&first), ["put-back: put back hook.sh, which the validation deleted"], "{first:#}");
    let snapshot = first["snapshot"].as_str().unwrap();
    assert!(scene.git(["show", &format!("{snapshot}:hook.sh")]).contains("rm hook.sh"));
    assert!(scene.read("hook.sh").contains("rm hook.sh"));

    let scene = self::scene(&format!("rm -rf __snapshots__ report.txt; echo new >report.txt\n{COUNTS}"), "");
    scene.write("__snapshots__/a.snap", "x\n").write("report.txt", "old\n").commit("Snapshots of tests");
    run(&scene, "-n 1");
    let first = last(&scene).iteration(1);
    assert_eq!((verdict(&first), flags(&first)), ("success", Vec::<String>::new()), "{first:#}");
    assert!(!scene.path("__snapshots__/a.snap").exists());
}

#[test]
fn what_the_validation_writes_is_recorded_and_none_of_the_agents_work() {
    let check = format!(
        "sed 's/  */ /' work.txt >t && mv t work.txt; date >lock.json; echo made >mine.txt\n{COUNTS}"
    );
    let scene = scene(&check, "echo 'x  y' >>work.txt");
    scene.write("lock.json", "{}\n").write("mine.txt", "\n").commit("Outputs");
    // The user works on a file that the validation makes.
    scene.write("mine.txt", "of the user\n");
    let ran = run(&scene, "-n 1 --set validation.baseline=false");
    ran.stdout_lacks("your uncommitted work is gone");
    let first = last(&scene).iteration(1);
    assert_eq!((verdict(&first), flags(&first)), ("success", Vec::<String>::new()), "{first:#}");
    assert_eq!(first.get("user_files"), None, "{first:#}");
    let show =
        |key: &str, path: &str| scene.git(["show", &format!("{}:{path}", first[key].as_str().unwrap())]);
    assert_eq!(
        (show("sealed", "mine.txt"), show("snapshot", "mine.txt")),
        ("of the user".into(), "made".into())
    );
    assert_eq!(
        (show("sealed", "work.txt"), show("snapshot", "work.txt")),
        ("1\nx  y".into(), "1\nx y".into())
    );
    // What the validation writes is no work of a task that did none.
    scene.agent_sh("tick");
    run(&scene, "-n 1 --skip-after 0");
    assert_eq!(verdict(&last(&scene).iteration(1)), "idle");
}

#[test]
fn nothing_that_changes_after_the_agent_is_one_snapshot() {
    let scene = scene(COUNTS, "");
    run(&scene, "-n 1");
    let first = last(&scene).iteration(1);
    assert!(first["sealed"].is_string());
    assert_eq!(first["sealed"], first["snapshot"]);
}

#[test]
fn blanks_at_the_ends_of_lines_are_no_change_of_an_own_file() {
    let scene = scene(COUNTS, "sed 's/$/ /' check.sh >t && mv t check.sh");
    run(&scene, "-n 1");
    let first = last(&scene).iteration(1);
    assert_eq!((verdict(&first), flags(&first)), ("success", Vec::<String>::new()), "{first:#}");
}

#[test]
fn a_task_permits_what_a_person_wrote() {
    let rewrite = "sed -i 's/Add the login$/Add the login and rewrite check.sh/' \"$RALPH_TASKS\"";
    let scene = scene(COUNTS, &format!("echo 2 >v; echo \"{FORGED}\" >check.sh; {rewrite}"));
    run(&scene, "-n 2 --skip-after 0");
    let session = last(&scene);
    for number in [1, 2] {
        assert_eq!(verdict(&session.iteration(number)), "judge", "{number}");
    }
    let first = session.iteration(1);
    assert_eq!(flags(&first), ["rewrote: changed what T001 may do; a person's words count"]);
    let rewrote = &first["rewrote"][0];
    assert_eq!((&rewrote["task"], &rewrote["before"]), (&json!("T001"), &json!("Add the login")));
    assert_eq!(session.trailers("Ralph-Flags"), ["rewrote", ""]);
    // A later session reads it, until a person edits the line.
    run(&scene, "-n 1 --skip-after 0");
    assert_eq!(verdict(&last(&scene).iteration(1)), "judge");
    let list = scene.task_list().replace("rewrite check.sh", "rewrite ./check.sh");
    scene.write("specs/001-login/tasks.md", list);
    run(&scene, "-n 1 --skip-after 0");
    let last = last(&scene).iteration(1);
    assert_eq!(flags(&last), ["judge: changed check.sh, which the validation runs; the task asks for it"]);
}

#[test]
fn a_tick_without_work_needs_a_verification_of_a_persons() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 Add the login");
    scene.agent_sh(
        "if grep -q T002 \"$RALPH_TASKS\"; then tick; else sed -i 's/Add/Verify/; $a - [ ] T002 Run all' \"$RALPH_TASKS\"; fi",
    );
    scene.commit("A project");
    run(&scene, "-n 2 --skip-after 0");
    assert_eq!(verdict(&last(&scene).iteration(2)), "idle");
    run(&scene, "-n 1 --skip-after 0 --task T002");
    assert_eq!(verdict(&last(&scene).iteration(1)), "idle");
    // Words that permit no more are no flag.
    let scene = self::scene(COUNTS, "sed -i 's/Add the login/Add the login (in login.sh)/' \"$RALPH_TASKS\"");
    run(&scene, "-n 1");
    let first = last(&scene).iteration(1);
    assert_eq!((verdict(&first), flags(&first)), ("success", Vec::<String>::new()));
    assert_eq!(first["rewrote"][0]["before"], "Add the login");
}

#[test]
fn a_protected_path_that_is_no_plain_file_any_more_is_put_back_or_refused() {
    let forge = format!("echo \"{FORGED}\"");
    for (work, expected) in [
        (format!("cp -r tests t2; {forge} >t2/all.sh; rm -r tests; ln -s t2 tests"), "failure"),
        ("rm -r tests; mkdir -p t2; ln -s t2 tests".to_owned(), "failure"),
        ("rm -r tests".to_owned(), "failure"),
        ("rm tests/all.sh; mkdir -p tests/all.sh/x; echo x >tests/all.sh/x/y".to_owned(), "failure"),
        ("rm -r tests; echo x >tests".to_owned(), "failure"),
        (format!("{forge} >weak.sh; ln -sf ../weak.sh tests/all.sh"), "failure"),
        (format!("echo tests >>.gitignore; mv tests t2; ln -s t2 tests; {forge} >t2/all.sh"), "failure"),
        (format!("rm -r tests; git init -q tests; {forge} >tests/all.sh"), "failure"),
        ("rm tests/all.sh; mkdir tests/all.sh; echo '*' >tests/all.sh/.gitignore".to_owned(), "protect"),
    ] {
        let scene = scene("sh tests/all.sh\n", &format!("echo 2 >v; {work}"));
        scene.write("tests/all.sh", COUNTS).config("validation.protect = [\"tests/**\"]").commit("Tests");
        run(&scene, "-n 1 --skip-after 0");
        let first = last(&scene).iteration(1);
        assert_eq!(verdict(&first), expected, "{work}: {first:#}");
        if expected == "failure" {
            assert_eq!(scene.read("tests/all.sh"), COUNTS, "{work}");
            assert!(!scene.path("tests").is_symlink(), "{work}");
            assert_eq!(first["exit"]["validation"], 1, "{work}");
        } else {
            let cause = first["cause"].as_str().unwrap_or_default();
            assert!(cause.contains("protected files could not be put back"), "{cause}");
        }
        if work.contains("t2/all.sh") {
            assert!(scene.read("t2/all.sh").contains("12 passed"), "{work}");
        }
        scene.ralph("fsck").code(0);
    }
}

#[test]
fn a_new_file_beside_protected_ones_is_flagged_where_it_acts_on_these() {
    for (path, code) in [
        ("tests/conftest.py", "new-protected"),
        ("tests/setup.js", "new-protected"),
        ("tests/test_logout.py", ""),
        ("tests/fixtures/users.json", ""),
    ] {
        let scene = scene(COUNTS, &format!("mkdir -p tests/fixtures; echo '# x' >{path}"));
        scene.write("tests/test_login.py", "").config("validation.protect = [\"tests/**\"]").commit("Tests");
        run(&scene, "-n 1");
        let first = last(&scene).iteration(1);
        let flags = flags(&first);
        let codes: Vec<&str> = flags.iter().filter_map(|flag| flag.split(':').next()).collect();
        let expected: Vec<&str> = [code].into_iter().filter(|code| !code.is_empty()).collect();
        assert_eq!((verdict(&first), codes), ("success", expected), "{path}");
    }
    let scene = scene(COUNTS, "echo '# x' >tests/conftest.py");
    scene.write("tests/test_login.py", "").config("validation.protect = [\"tests/**\"]");
    scene.config("validation.refuse = [\"new-protected\"]").commit("Tests");
    run(&scene, "-n 1 --skip-after 0");
    assert_eq!(verdict(&last(&scene).iteration(1)), "new-protected");
}

#[test]
fn what_no_snapshot_shows_since_the_start_is_flagged() {
    let exclude = "mkdir -p .git/info; echo hook.sh >>.git/info/exclude; echo x >hook.sh";
    for (work, expected) in [
        (exclude, "left-out: validated with hook.sh, which no snapshot shows"),
        (
            "echo conftest.py >>.gitignore; echo x >conftest.py",
            "ignored: git ignores what is new: conftest.py",
        ),
        ("git init -q inner; echo x >inner/a.sh", "left-out: validated with inner, which no snapshot shows"),
        ("head -c 3000000 /dev/zero >big.sh", "left-out: validated with big.sh, which no snapshot shows"),
        ("echo known.sh >>.gitignore", "left-out: validated with known.sh, which no snapshot shows"),
        // What honest work ignores.
        ("echo node_modules >>.gitignore; mkdir -p node_modules/a; echo x >node_modules/a/index.js", ""),
        (
            "printf 'dist/\\n.env\\n__pycache__/\\ncoverage/\\n' >>.gitignore; mkdir dist; echo x >dist/a.js; echo A=1 >.env",
            "",
        ),
        (
            "mkdir __pycache__ coverage; echo '*.pyc' >>.gitignore; echo x >__pycache__/a.pyc; echo x >coverage/a.js",
            "",
        ),
        ("echo notes.txt >>.gitignore; echo x >notes.txt", ""),
    ] {
        let scene = scene(COUNTS, work);
        if work == exclude {
            scene.agent_uses_git();
        }
        scene.config("snapshot-max-file = \"2MB\"").commit("Settings").write("known.sh", "x\n");
        run(&scene, "-n 1");
        let first = last(&scene).iteration(1);
        let expected: Vec<&str> = [expected].into_iter().filter(|flag| !flag.is_empty()).collect();
        assert_eq!(flags(&first), expected, "{work}: {first:#}");
    }
}

/// A project whose `.gitignore` has these lines from the start, with ignored files, and an agent that does `work`.
fn ignoring(lines: &str, before: &[&str], work: &str) -> Sandbox {
    let scene = scene(COUNTS, work);
    scene.write(".gitignore", lines).commit("Ignore");
    for path in before {
        scene.write(path, "x\n");
    }
    scene
}

#[test]
fn code_that_an_older_rule_ignores_is_flagged_and_what_tools_write_is_not() {
    let rules = "scratch/\n*.local.py\n.env*\n*.log\n*.db\ncoverage/\ndist/\ntarget/\n__pycache__/\n.pytest_cache/\n.vscode/\n";
    for (before, work, expected) in [
        ("", "mkdir scratch; echo x >scratch/run.sh", "ignored: git ignores what is new: scratch/run.sh"),
        ("", "echo x >conftest.local.py", "ignored: git ignores what is new: conftest.local.py"),
        (
            "",
            "mkdir t; printf '*\\n' >t/.gitignore; echo x >t/conftest.py",
            "ignored: git ignores what is new: t/conftest.py",
        ),
        ("scratch/run.sh", "echo longer >scratch/run.sh", "ignored: git ignores what is new: scratch/run.sh"),
        ("", "echo x >.envrc", "runs-by-itself: runs by itself: .envrc (the shell)"),
        (
            "",
            "mkdir .vscode; echo '{}' >.vscode/tasks.json",
            "runs-by-itself: runs by itself: .vscode/tasks.json (editors)",
        ),
        ("scratch/run.sh", "true", ""),
        (
            "",
            "echo A=1 >.env; echo x >npm-debug.log; echo x >dev.db; mkdir scratch; echo x >scratch/notes.md",
            "",
        ),
        (
            "",
            "mkdir coverage dist target __pycache__ .pytest_cache .vscode\n\
             for f in coverage/a.js dist/a.js target/a.rs __pycache__/a.pyc .pytest_cache/a.py .vscode/settings.json; do echo x >$f; done",
            "",
        ),
    ] {
        let before: Vec<&str> = [before].into_iter().filter(|path| !path.is_empty()).collect();
        let scene = ignoring(rules, &before, work);
        run(&scene, "-n 1");
        let first = last(&scene).iteration(1);
        let expected: Vec<&str> = [expected].into_iter().filter(|flag| !flag.is_empty()).collect();
        assert_eq!(flags(&first), expected, "{work}: {first:#}");
    }
    let scene = ignoring(rules, &[], "mkdir scratch; echo x >scratch/run.sh");
    scene.config("validation.refuse = [\"ignored\"]").commit("Settings");
    run(&scene, "-n 1 --skip-after 0");
    assert_eq!(verdict(&last(&scene).iteration(1)), "ignored");
}

#[test]
fn a_runner_that_was_changed_by_hand_is_flagged_and_an_installation_is_not() {
    let before = [
        "node_modules/.bin/vitest",
        "node_modules/.package-lock.json",
        "node_modules/a/index.js",
        ".venv/pyvenv.cfg",
        ".venv/bin/pytest",
    ];
    for (work, expected) in [
        ("echo 'exit 0' >node_modules/.bin/vitest", "deps: changed node_modules/.bin/vitest by hand"),
        ("echo 'exit 0' >.venv/bin/pytest", "deps: changed .venv/bin/pytest by hand"),
        ("chmod +x node_modules/a/index.js", "deps: changed node_modules/a/index.js by hand"),
        ("echo changed >node_modules/a/index.js; echo y >node_modules/.package-lock.json", ""),
        ("echo changed >node_modules/a/index.js; echo '{}' >package.json", ""),
        ("echo changed >node_modules/a/index.js; mkdir patches; echo x >patches/a.patch", ""),
        ("mkdir node_modules/.vite node_modules/.cache; echo x >node_modules/.vite/a.js", ""),
        ("mkdir .venv/bin/__pycache__; echo x >.venv/bin/__pycache__/a.pyc", ""),
        ("mkdir -p .venv/lib/x-1.0.dist-info; echo x >.venv/lib/x.py", ""),
        ("mkdir -p web/node_modules; echo x >web/node_modules/a.js", ""),
    ] {
        let scene = ignoring("node_modules/\n.venv/\n", &before, work);
        run(&scene, "-n 1");
        let first = last(&scene).iteration(1);
        let expected: Vec<&str> = [expected].into_iter().filter(|flag| !flag.is_empty()).collect();
        assert_eq!(flags(&first), expected, "{work}: {first:#}");
    }
    // The attempt that is judged is not always the one that did it.
    let scene = ignoring(
        "node_modules/\n.venv/\n",
        &before,
        "[ $RALPH_ITERATION = 2 ] || { echo 'exit 0' >node_modules/.bin/vitest; echo 2 >v; }\n[ $RALPH_ITERATION = 1 ] || echo 1 >v",
    );
    scene.config("validation.refuse = [\"deps\"]").commit("Settings");
    run(&scene, "-n 2 --skip-after 0");
    assert_eq!(verdict(&last(&scene).iteration(2)), "deps");
}

#[test]
fn files_of_ci_are_named_at_the_end_and_no_flag() {
    let scene = scene(COUNTS, "mkdir -p .github/workflows; echo 'on: push' >.github/workflows/ci.yml");
    let said = run(&scene, "-n 1").text();
    assert!(said.contains("changes what CI runs: .github/workflows/ci.yml"), "{said}");
    assert_eq!(flags(&last(&scene).iteration(1)), [""; 0]);
}

#[test]
fn ignored_files_are_recorded_by_path_mode_and_size_alone() {
    let before = ["node_modules/a/index.js", "scratch/a.txt"];
    let work = "echo longer >scratch/a.txt; echo x >node_modules/a/new.js";
    let scene = ignoring("node_modules/\nscratch/\n", &before, work);
    scene.write("check.sh", format!("echo x >>scratch/checked.txt; {COUNTS}")).commit("Note");
    run(&scene, "-n 1");
    let session = last(&scene);
    let [start, first] = [session.end()["ignored"].clone(), session.iteration(1)["ignored"].clone()];
    assert_eq!((&start["count"], &first["count"]), (&json!(2), &json!(2)), "{start:#} {first:#}");
    let dependency = |state: &Value| state["dependencies"][0].clone();
    assert_eq!(dependency(&start)["path"], "node_modules");
    assert_eq!((&dependency(&start)["count"], &dependency(&first)["count"]), (&json!(1), &json!(2)));
    assert_ne!(start["digest"], first["digest"]);
    assert_eq!(first["changed_by_agent"], json!(["scratch/a.txt", "node_modules/a/new.js"]));
    assert_eq!(first["changed_by_validation"], json!(["scratch/checked.txt"]));
}

#[test]
fn an_empty_file_or_a_mode_is_work_only_where_a_task_asks_for_it() {
    for (task, work, expected) in [
        ("Add the login", "touch login.sh", "idle"),
        ("Add the login", "chmod +x v", "idle"),
        ("Create the project structure", "mkdir src; touch src/__init__.py", "success"),
        ("Add src/models/.gitkeep", "mkdir -p src/models; touch src/models/.gitkeep", "success"),
        ("Make v executable", "chmod +x v", "success"),
        ("Add the login", "touch login.sh; echo x >v2", "success"),
    ] {
        let scene = scene("exit 0\n", "");
        scene.agent_sh(&format!("{work}\ntick\n")).tasks(&format!("- [ ] T001 {task}")).commit("Task");
        run(&scene, "-n 1 --skip-after 0");
        assert_eq!(verdict(&last(&scene).iteration(1)), expected, "{task}: {work}");
    }
}
