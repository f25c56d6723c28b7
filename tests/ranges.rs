//! `verify TARGET..HEAD`: ranges of commits that others wrote, honest and forged.

mod proofs;
mod table;

use std::fs;

use crate::cheats::{forged_ranges, honest_ranges};
use crate::fence::has_bubblewrap;
use crate::sandbox::{Run, Sandbox, one_in};

/// Runs the tests of `tests/*.sh`, each with the source, and prints what a runner prints.
const RUNNER: &str = "[ -f .env ] && . ./.env\npassed=0 failed=0\nfor test in tests/*.sh; do\n\
    if (. ./src/lib.sh; . \"./$test\"); then passed=$((passed + 1)); else failed=$((failed + 1)); echo \"✕ $test\"; fi\ndone\n\
    echo \"Tests: $failed failed, $passed passed, $((failed + passed)) total\"\nexit $((failed > 0))\n";

/// A project on `main` with two tests, and a branch `work` that begins there.
fn project() -> Sandbox {
    let scene = Sandbox::new();
    scene.write("run.sh", RUNNER).write("src/lib.sh", "add() { echo $(($1 + $2)); }\n");
    scene.write("tests/add.sh", "[ $(add 1 2) = 3 ]\n").write("tests/zero.sh", "[ $(add 1 0) = 1 ]\n");
    scene.write(".gitignore", "/local/\n");
    scene.validate("sh run.sh").commit("Begin");
    scene.git("checkout --quiet -b work");
    scene
}

fn verify(scene: &Sandbox, more: &str) -> Run {
    scene.call(format!("verify main..work --yes --no-sandbox {more}").as_str()).judged().run()
}

/// Subtracts, with a test.
fn subtract(scene: &Sandbox) {
    scene.write("src/lib.sh", "add() { echo $(($1 + $2)); }\nsub() { echo $(($1 - $2)); }\n");
    scene.write("tests/sub.sh", "[ \"$(sub 3 2 2>/dev/null)\" = 1 ]\n").commit("T001 Subtract");
}

/// Adds wrongly.
fn break_it(scene: &Sandbox) {
    scene.write("src/lib.sh", "add() { echo $(($1 - $2)); }\n");
}

#[test]
fn an_honest_range_holds_and_nothing_of_the_users_changes() {
    let scene = project();
    subtract(&scene);
    scene.write("local/mine", "mine");
    let before = [scene.git("status --porcelain"), scene.git("for-each-ref"), scene.read(".git/config")];
    let run = verify(&scene, "").code(0).stdout_has("holds, unguarded: 3 tests pass, 2 before\n");
    let run = run.stdout_has("  before   the 2 tests of main, on the new source: all pass\n");
    run.stdout_has("  by       main's settings: sh run.sh\n").stdout_lacks("LOOK");
    assert_eq!(
        [scene.git("status --porcelain"), scene.git("for-each-ref"), scene.read(".git/config")],
        before
    );
    assert_eq!(scene.read("local/mine"), "mine");
    let found = verify(&scene, "--json").code(0).json();
    assert_eq!(
        (&found["verdict"], &found["runs"], &found["sandbox"]),
        (&"holds".into(), &3.into(), &serde_json::Value::Null)
    );
    assert_eq!(found["commits"][0]["subject"], "T001 Subtract");
    // Outputs stay, objects of the merge do not.
    let outputs = found["outputs"].as_str().expect("a folder");
    let kept: Vec<_> =
        fs::read_dir(outputs).expect("outputs").map(|it| it.expect("entry").file_name()).collect();
    assert!(kept.contains(&"head".into()) && !kept.contains(&"objects".into()), "{kept:?}");
    scene.git("checkout --quiet work");
    scene.ralph("verify main.. --yes --no-sandbox").code(0).stdout_has("the merge of main");
}

#[test]
fn the_merge_is_judged_and_not_the_branch() {
    let scene = project();
    subtract(&scene);
    scene.git("checkout --quiet main");
    scene
        .write("tests/more.sh", "[ $(sub 5 2 2>/dev/null || echo 9) != 3 ]\n")
        .commit("No subtraction, please");
    verify(&scene, "").code(5).stdout_has("✘ tests");
    scene.write("src/lib.sh", "add() { echo $(($2 + $1)); }\n").commit("Conflict");
    let run = verify(&scene, "").code(6);
    run.stdout_has("unusable: the two do not merge: src/lib.sh\n")
        .stdout_has("Nothing of the range was run.");
}

#[test]
fn settings_setup_and_command_are_those_of_the_target() {
    let scene = project();
    break_it(&scene);
    scene.validate("true").config("lanes.setup = \"touch owned\"").commit("T1");
    let run = verify(&scene, "").code(5).stdout_has("✘ tests");
    let run = run.stdout_has("⚑ config   .specify/ralph.toml is changed, too: ");
    run.stdout_has("judged by main's settings: sh run.sh");
    // A setup that works at the target and fails at the head.
    let scene = project();
    scene.git("checkout --quiet main");
    scene.write("setup.sh", "true\n").config("lanes.setup = \"sh setup.sh\"").commit("Setup");
    scene.git("checkout --quiet -B work");
    scene.write("setup.sh", "exit 3\n").commit("Break the setup");
    verify(&scene, "").code(5).stdout_has("✘ setup");
}

#[test]
fn a_target_that_fails_is_unusable_or_known() {
    let scene = project();
    subtract(&scene);
    let run = scene.ralph(["verify", "main..work", "--yes", "--no-sandbox", "--validate", "exit 4"]).code(6);
    let run =
        run.stdout_has("unusable: main itself does not pass here, so nothing can be said of the range\n");
    run.stdout_has("exit 4 exited with 4").stdout_has("Nothing of the range was run.");
    scene.git("checkout --quiet main");
    scene.write("tests/old.sh", "false\n").commit("A test that fails");
    let run = verify(&scene, "")
        .code(0)
        .stdout_has("holds, unguarded: 3 of 4 tests pass, 2 of 3 before · 1 fails as in main");
    run.stdout_has("⚑ known-failures   tests/old.sh fails in main, too");
}

#[test]
fn what_decides_what_runs_is_that_of_the_target() {
    for (path, text) in
        [(".env", "test() { :; }\nset -- a\nadd() { :; }\n. ./pass.sh\n"), ("GNUmakefile", "x")]
    {
        let scene = project();
        break_it(&scene);
        scene.write(path, text).write("pass.sh", "echo 'Tests: 2 passed, 2 total'; exit 0\n").commit("T1");
        let run = verify(&scene, "").code(5);
        if path == ".env" {
            let run = run
                .stdout_has("✘ judge")
                .stdout_has("passes only with its change of .env, which decides what runs");
            let run = run.stdout_has(".env:1 + ").stdout_has("with those of main: ");
            run.stdout_has("right so?  ").stdout_has(" verify main..work --allow judge");
            verify(&scene, "--allow judge").code(0).stdout_has("⚑ judge");
        }
    }
    // The script of the validation itself.
    let scene = project();
    break_it(&scene);
    scene.write("run.sh", "echo 'Tests: 2 passed, 2 total'\n").commit("T1");
    verify(&scene, "").code(5).stdout_has("passes only with its change of run.sh");
    // A file that the target ignores.
    let scene = project();
    scene.git("checkout --quiet main");
    scene
        .write("run.sh", format!("[ -e local/run ] && exec sh local/run\n{RUNNER}"))
        .commit("A local runner");
    scene.git("checkout --quiet -B work");
    break_it(&scene);
    scene.write("local/run", "echo 'Tests: 2 passed, 2 total'\n");
    scene.git("add --force local/run");
    scene.commit("T1");
    verify(&scene, "").code(5).stdout_has("passes only with its change of local/run");
}

#[test]
fn protected_files_of_the_target_may_not_change() {
    let scene = project();
    scene.git("checkout --quiet main");
    scene.config("validation.protect = [\"tests/add.sh\"]").commit("Protect a test");
    scene.git("checkout --quiet -B work");
    subtract(&scene);
    verify(&scene, "").code(0).stdout_lacks("protect");
    scene.write("tests/add.sh", "true\n").commit("T2");
    verify(&scene, "").code(5).stdout_has("changed tests/add.sh, which is protected");
    verify(&scene, "--allow protect").code(0).stdout_has("⚑ protect");
}

#[test]
fn tests_of_before_that_fail_on_the_new_source_are_named() {
    let scene = project();
    break_it(&scene);
    scene.write("tests/add.sh", "[ $(add 1 2) = -1 ]\n").commit("Another sum");
    let run = verify(&scene, "").code(0).stdout_has("· 1 thing to look at\n");
    run.stdout_has("⚑ old-tests   1 test of before fails on the new source, and was changed:\n              tests/add.sh (tests/add.sh)\n");
    verify(&scene, "--fail-on-flags").code(5);
}

#[test]
fn only_the_list_of_the_target_excuses() {
    let task = "- [ ] T001 Skip the tests of zero";
    let scene = project();
    scene.git("checkout --quiet main");
    for number in 0..12 {
        scene.write(&format!("tests/n{number}.sh"), "true\n");
    }
    scene.commit("More tests");
    scene.git("checkout --quiet -B work");
    // The runner sees a third of them, and none is removed.
    scene.write("run.sh", RUNNER.replace("tests/*.sh", "tests/n1*.sh")).commit("T1");
    verify(&scene, "").code(5).stdout_has("✘ shrunk");
    scene.tasks("- [ ] T001 Remove the slow tests").commit("The list of the branch");
    let run = verify(&scene, "").code(5).stdout_has("✘ shrunk").stdout_has("⚑ ordered");
    run.stdout_has("only the list of this very range asks for it");
    scene.git("checkout --quiet main");
    scene
        .tasks(task)
        .commit("A task")
        .tasks("- [ ] T001 Remove the slow tests")
        .commit("The list of the target");
    scene.git("checkout --quiet -B work");
    scene.write("tests/n1.sh", "true # still\n");
    scene.git("mv tests/n2.sh tests/n3.txt");
    scene.tasks("- [x] T001 Remove the slow tests").commit("Done");
    verify(&scene, "").code(0).stdout_has("· 1 task");
}

#[test]
fn commits_that_say_that_they_passed_run_alone() {
    let said = |tests: &str| {
        format!(
            "T001 Subtract\n\nRalph-Task: T001\nRalph-Check: passed\nRalph-Tests: passed={tests} failed=0 skipped=0"
        )
    };
    let scene = project();
    subtract(&scene);
    scene.git(["commit", "--quiet", "--amend", "-m", &said("3")]);
    let run = verify(&scene, "").code(0);
    run.stdout_has("1 commit says that it passed: 1 was run alone, and does\n");
    scene.git(["commit", "--quiet", "--amend", "-m", &said("7")]);
    verify(&scene, "").code(0).stdout_has("⚑ count").stdout_has("T001 says 7 passed; 3 passed here");
    // Red inside, right at the end.
    break_it(&scene);
    scene.commit("Broken");
    scene.git(["commit", "--quiet", "--amend", "-m", &said("3")]);
    subtract(&scene);
    let run = verify(&scene, "").code(5).stdout_has("✘ T001");
    run.stdout_has("says that it passed; alone it fails here: ");
    scene.git(["reset", "--quiet", "--soft", "HEAD~2"]);
    scene.commit("One good commit");
    verify(&scene, "--commits").code(0).stdout_lacks("✘");
    // Red inside, and silent: the range holds, unless all are run.
    scene.git("checkout --quiet -B work main");
    break_it(&scene);
    scene.commit("Broken");
    subtract(&scene);
    verify(&scene, "").code(0);
    verify(&scene, "--commits").code(5).stdout_has(" fails alone: ");
}

#[test]
fn commits_are_proven_by_tests_that_fail_without_them() {
    let scene = project();
    subtract(&scene);
    scene.write("README.md", "# Sums\n").commit("T002 Say what it is");
    scene.write("src/more.sh", "true\n").commit("T003 Add nothing");
    let run = verify(&scene, "--prove").code(0);
    let run =
        run.stdout_has("T001 Subtract").stdout_has(" proven by 1 test\n").stdout_has(" no source changed\n");
    run.stdout_has(" no test fails without it\n");
    let found = verify(&scene, "--prove --json").code(0).json();
    assert_eq!(found["commits"][0]["proven_by"], serde_json::json!(["tests/sub.sh"]));
}

#[test]
fn a_run_reads_nothing_that_an_earlier_one_left() {
    let scene = project();
    scene.git("checkout --quiet main");
    // What a test leaves, it finds the next time: in the home, beside temporary files, in the checkout, in git's settings.
    let leave = "for place in \"$HOME\" \"${TMPDIR:-/tmp}\" . ; do [ ! -e \"$place/ralph-left\" ] || exit 1; echo x > \"$place/ralph-left\"; done\n\
        git config core.fsmonitor ./evil; [ -z \"$(git remote)\" ] && [ \"${PWD##*/}\" = project ]\n";
    scene.write("tests/left.sh", leave).commit("A test that leaves something");
    scene.git("checkout --quiet -B work");
    subtract(&scene);
    let config = scene.read(".git/config");
    verify(&scene, "").code(0).stdout_lacks("flaky");
    assert_eq!(scene.read(".git/config"), config);
}

#[test]
fn nothing_is_written_outside_of_a_sandbox() {
    if !has_bubblewrap() {
        return;
    }
    let scene = project();
    let mine = scene.outside("home/mine");
    fs::write(&mine, "mine").expect("a file");
    subtract(&scene);
    scene.write("tests/write.sh", format!("echo theirs >'{}'; true\n", mine.display()));
    scene.commit("Write");
    let run = scene.call("verify main..work --yes").judged().run();
    run.code(0).stdout_has("holds: 4 tests pass, 2 before").stdout_has("sh run.sh · in bwrap, tests offline");
    assert_eq!(fs::read_to_string(&mine).expect("a file"), "mine");
}

#[test]
fn what_fails_by_chance_is_run_again() {
    let scene = project();
    let count = scene.outside("count");
    scene.git("checkout --quiet main");
    let chance = format!("echo x >> '{0}'; [ $(wc -l < '{0}') != 2 ]\n", count.display());
    scene.write("tests/chance.sh", chance).commit("By chance");
    scene.git("checkout --quiet -B work");
    subtract(&scene);
    verify(&scene, "").code(0).stdout_has("⚑ flaky").stdout_has("tests/chance.sh");
}

#[test]
fn what_cannot_be_judged_is_refused_with_a_word() {
    let scene = project();
    subtract(&scene);
    for (words, expected) in [
        ("verify main..nowhere --yes", "`nowhere` is no commit here"),
        ("verify ..work --yes", "`..work` does not say what is judged by whom"),
        ("verify main...work --yes", "TARGET..HEAD: the branch that the commits go to"),
        ("verify work..main --yes", "has no commit that work ("),
        ("verify main..work --yes --allow luck", "`luck` is no code of a refusal"),
        ("verify --prove", "`--prove` needs a range"),
        ("verify main..work --no-sandbox --trust", "without a sandbox, code of work ("),
    ] {
        scene.ralph(words).code(3).stderr_has(expected);
    }
    let scene = Sandbox::new();
    scene.write("package.json", "{\"scripts\":{\"test\":\"true\"}}").commit("Begin");
    scene.git("checkout --quiet -b work");
    scene.write("a", "a").commit("A");
    let run = scene.ralph("verify main..work --yes --no-sandbox").code(3);
    run.stderr_has("says nothing of how it is validated")
        .stderr_has("package.json suggests --validate 'npm test'");
}

#[test]
fn commands_of_the_target_need_an_approval() {
    let scene = project();
    subtract(&scene);
    let unapproved = scene.call("verify main..work --no-sandbox").env("SPECKIT_RALPH_TRUST", "").run();
    unapproved.code(3).stderr_has("names commands that you have not approved");
    verify(&scene, "").code(0);
}

#[test]
fn the_page_of_a_job_has_nothing_of_the_range_as_markdown() {
    let scene = project();
    break_it(&scene);
    scene
        .write("tests/a|b`<b>@you.sh", "true\n")
        .write("tests/add.sh", "true\n")
        .commit("Fixes #12 @you <b>");
    let run = verify(&scene, "--markdown --prove").code(0);
    let text = run.text();
    assert!(text.starts_with("**holds, unguarded"), "{text}");
    assert!(!text.contains("<b>") && !text.contains("#12") && !text.contains("@you"), "{text}");
}

#[test]
fn a_job_judges_the_merge_that_is_checked_out() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/packaging/action/verify.sh");
    let scene = project();
    break_it(&scene);
    scene.write("tests/add.sh", "[ $(add 1 2) = -1 ] # 100%: a, b\n").commit("::error::mine");
    scene.git("checkout --quiet main");
    scene.git("merge --quiet --no-ff --no-edit work");
    // As a runner checks it out: no branch, no identity.
    let clone = scene.outside("clone");
    scene.git([
        "clone",
        "--quiet",
        "--no-local",
        scene.repo().to_str().expect("a path"),
        clone.to_str().expect("a path"),
    ]);
    scene.git_in(&clone, "checkout --quiet --detach");
    let program = env!("CARGO_BIN_EXE_specify-ralph");
    let call = |fail: &str| {
        let mut job = scene.hermetic("sh");
        job.arg(script).current_dir(&clone).env("RALPH_PROGRAM", program).env("RALPH_SANDBOX", "false");
        job.env("GITHUB_ACTIONS", "true").env("GITHUB_STEP_SUMMARY", scene.outside("summary.md"));
        job.env("RALPH_FAIL_ON_FLAGS", fail).env("GIT_CONFIG_GLOBAL", "/dev/null");
        job.output().expect("sh runs")
    };
    let output = call("false");
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{log}");
    let lines: Vec<&str> = log.lines().collect();
    let token = lines[0].strip_prefix("::stop-commands::").expect("commands are switched off first");
    let end = lines.iter().position(|line| *line == format!("::{token}::")).expect("and on again at the end");
    let annotations = &lines[end + 1..];
    assert!(
        annotations.len() == 1
            && annotations[0].starts_with("::warning file=tests/add.sh,title=old-tests::1 test"),
        "{log}"
    );
    let summary = fs::read_to_string(scene.outside("summary.md")).expect("a summary");
    assert!(summary.starts_with("**holds, unguarded"), "{summary}");
    assert_eq!(call("true").status.code(), Some(5));
    // Where no merge is checked out nothing is judged.
    scene.git_in(&clone, "checkout --quiet HEAD^1");
    assert_eq!(call("false").status.code(), Some(3));
}

#[test]
fn forged_ranges_never_hold_without_a_flag() {
    for (name, scene, validation) in forged_ranges(one_in(3)) {
        let words = ["verify", "main..work", "--yes", "--no-sandbox", "--json", "--validate", &validation];
        let found = scene.call(words).judged().run().json();
        let is_flagged = found["flags"].as_array().is_some_and(|flags| !flags.is_empty());
        assert!(found["verdict"] != "holds" || is_flagged, "{name}: {found:#}");
    }
}

#[test]
fn honest_ranges_are_never_refused() {
    for (name, scene, validation) in honest_ranges(one_in(3)) {
        let words = ["verify", "main..work", "--yes", "--no-sandbox", "--json", "--validate", &validation];
        let found = scene.call(words).judged().run().json();
        assert_eq!(found["verdict"], "holds", "{name}: {found:#}");
    }
}
