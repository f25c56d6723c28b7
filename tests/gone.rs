//! A task that is done and whose work is gone: what a loop writes of it, every screen says, and a person does about it.

use serde_json::json;

use crate::sandbox::Sandbox;

const MODEL: &str =
    "struct Invoice {\n    number: u32,\n    total: u64,\n}\n\nfn open() -> bool {\n    true\n}\n";

/// T001 makes `model.rs` with its test; `then` is what the agent does for T002, which asks for `text`.
fn scene(text: &str, then: &str) -> Sandbox {
    let scene = Sandbox::new();
    scene.agent_uses_git().tasks(&format!("- [ ] T001 Add the model\n- [ ] T002 {text}\n- [ ] T003 More"));
    scene.write("README.md", "base\n").write("model.txt", MODEL).commit("base");
    scene.agent_sh(&format!(
        "cat >/dev/null\ncase $RALPH_TASK in\n\
         T001) mkdir -p src tests; cp model.txt src/model.rs; echo check > tests/model_test.rs;;\n\
         T002) {then}\necho two > two.txt;;\nT003) echo three >> README.md;;\nesac\ntick\necho Done.\n"
    ));
    scene
}

const REMOVE: &str = "Remove src/model.rs";

#[test]
fn work_that_a_task_had_to_remove_is_first_under_look_until_a_person_says_it_is_right_so() {
    let scene = scene(REMOVE, "rm src/model.rs");
    let words = "⚑ T001's work is gone since T002\n";
    let commands = ["→ specify ralph restore --work-of T001\n", "→ specify ralph accept T001\n"];
    let run = scene.ralph("").code(0);
    run.stdout_has("all 3 tasks done").stdout_has(words).stdout_has(commands[0]).stdout_has(commands[1]);
    let session = scene.session();
    assert_eq!(session.trailers("Ralph-Gone"), ["", "T001=ordered", ""]);
    let before = session.iteration(1)["snapshot"].clone();
    let gone = json!([{"task": "T001", "how": "ordered", "files": ["src/model.rs"], "kept_in": before}]);
    assert_eq!(session.iteration(2)["gone"], gone);
    for command in ["status", "report --markdown"] {
        scene.ralph(command).code(0).stdout_has("T001's work is gone since T002");
    }
    let status = scene.ralph("status --json").code(0).json();
    let status = &status["summary"];
    assert_eq!(
        (&status["work_gone"][0]["task"], &status["work_gone"][0]["since"]),
        (&json!("T001"), &json!("T002"))
    );
    assert_eq!((&status["tasks"]["done"], &status["needs_you"]), (&json!(3), &json!([])));
    scene.ralph("report --output page.html").code(0);
    let page = scene.read("page.html");
    assert!(page.contains("work is gone since T002"));
    assert!(page.contains("restore --work-of T001 --feature specs/001-login"));
    scene.ralph("show 2").code(0).stdout_has("work gone").stdout_has("restore 1 src/model.rs");
    // Brought back, it is not gone; and gone again, once that is undone.
    scene.ralph("restore --work-of T001").code(0).stdout_has("src/model.rs");
    assert_eq!(scene.read("src/model.rs"), MODEL);
    scene.ralph("status").code(0).stdout_lacks("is gone");
    scene.ralph("restore --undo").code(0);
    scene.ralph("status").code(0).stdout_has(words).stdout_lacks("undid T001");
    scene.ralph("accept T001").code(0);
    scene.ralph("status").code(0).stdout_lacks("is gone").stdout_lacks("undid T001");
    scene.ralph("accept T001").code(3).stderr_has("T001 was accepted already");
    for check in ["fsck", "rebuild --check"] {
        scene.ralph(check).code(0);
    }
}

#[test]
fn work_that_went_against_orders_needs_a_person_where_its_box_is_not_opened() {
    let scene = scene("Tidy up", "rm src/model.rs");
    let run = scene.ralph("run --set untick=false").code(0);
    run.stdout_has("1 needs you")
        .stdout_has("✘ T001's work is gone since T002\n")
        .stdout_has("→ specify ralph restore --work-of T001\n")
        .stdout_has("→ specify ralph accept T001\n");
    assert_eq!(scene.session().trailers("Ralph-Gone")[1], "T001=attempt");
    let status = scene.ralph("status --json").code(0).json();
    assert_eq!(status["summary"]["needs_you"][0]["why"], "gone");
    scene.ralph("restore --work-of T001").code(0);
    scene.ralph("status").code(0).stdout_lacks("is gone");
}

#[test]
fn a_task_whose_box_is_opened_is_open_and_not_gone() {
    let scene = scene("Tidy up", "[ -e two.txt ] || rm -r src tests");
    scene.ralph("").code(0).stdout_lacks("is gone");
    assert_eq!(scene.session().trailers("Ralph-Task"), ["T001", "T002", "T001", "T003"]);
    // What it undid is there to be brought back, too.
    scene.ralph("restore --work-of T001 --dry-run").code(0);
    scene.ralph("restore --work-of T003").code(3).stderr_has("took back the work of T003");
    scene.ralph("restore --work-of T001 1").code(2);
}

#[test]
fn what_people_take_back_between_two_sessions_is_found_by_the_next_one() {
    let scene = scene("Two", "true");
    scene.ralph("-n 1").code(4);
    std::fs::remove_file(scene.path("src/model.rs")).unwrap();
    scene.ralph("status").code(0).stdout_lacks("is gone");
    scene.ralph("run -n 1").code(4).stdout_has("⚑ T001's work is gone\n");
    assert_eq!(scene.sessions()[1].trailers("Ralph-Gone"), ["T001=between"]);
    let shown = scene.ralph("show 1").code(0);
    shown.stdout_has("work gone").stdout_has("restore --work-of T001");
    // They bring it back as it was, or otherwise: the next attempt knows it.
    scene.write("src/model.rs", format!("{MODEL}\nfn more() {{}}\n"));
    scene.ralph("resume").code(0).stdout_lacks("is gone");
    assert_eq!(scene.sessions()[1].trailers("Ralph-Gone"), ["T001=between", "T001=back"]);
    scene.ralph("status").code(0).stdout_lacks("is gone");
}

#[test]
fn every_file_as_before_is_gone_and_less_than_that_is_not() {
    for (text, then, is_gone) in [
        // Only its test, a part of it, or all of it but for a line.
        ("Remove the test", "rm tests/model_test.rs", false),
        ("Remove the total", "edit /total/d src/model.rs", false),
        ("Replace the model", "echo 'struct Bill;' > src/model.rs", false),
        // Moved, also with changes; and copied before it was removed.
        (
            "Move the model",
            "mkdir lib; git mv -f src/model.rs lib/bill.rs 2>/dev/null || mv src/model.rs lib/bill.rs",
            false,
        ),
        ("Move the model", "mkdir lib; edit /total/d src/model.rs; mv src/model.rs lib/bill.rs", false),
        (
            "Replace the model",
            "mkdir lib; cp src/model.rs lib/a.rs; mv src/model.rs lib/b.rs; echo x >> lib/a.rs",
            false,
        ),
        // Gone, with and without its test.
        ("Remove the model", "rm -r src tests", true),
        ("Remove the model", "rm src/model.rs; mkdir lib; echo 'struct Bill;' > lib/bill.rs", true),
    ] {
        let scene = scene(text, then);
        scene.ralph("").code(0);
        let gone = scene.session().trailers("Ralph-Gone")[1].clone();
        assert_eq!(gone, if is_gone { "T001=ordered" } else { "" }, "{text}: {then}");
    }
}

#[test]
fn a_file_that_is_again_what_it_was_but_for_white_space_is_as_before() {
    for (after, is_gone) in [("base", true), ("  base \n\n", true), ("base, and more", false)] {
        let scene = Sandbox::new();
        scene.agent_uses_git().tasks("- [ ] T001 Write it\n- [ ] T002 Remove what README.md says");
        scene.write("README.md", "base\n").commit("base");
        scene.agent_sh(&format!(
            "cat >/dev/null\ncase $RALPH_TASK in\nT001) echo longer > README.md;;\n\
             T002) printf '{after}\\n' > README.md; echo two > two.txt;;\nesac\ntick\necho Done.\n"
        ));
        scene.ralph("").code(0);
        let gone = scene.session().trailers("Ralph-Gone")[1].clone();
        assert_eq!(gone, if is_gone { "T001=ordered" } else { "" }, "{after:?}");
    }
}

#[test]
fn on_another_branch_without_snapshots_and_by_the_loop_itself_nothing_is_gone() {
    let elsewhere = scene(REMOVE, "git switch -q --orphan other; echo x > x.txt");
    elsewhere.ralph("-n 2");
    assert_eq!(elsewhere.session().trailers("Ralph-Gone")[1], "");
    let without = scene(REMOVE, "rm src/model.rs");
    without.ralph("run --set snapshots=false").code(0).stdout_lacks("is gone");
    // A failed attempt whose changes are taken back: what went is there again.
    let failing = scene("Tidy up", "rm src/model.rs");
    failing.validate("test -e src/model.rs || test ! -e tests/model_test.rs");
    failing.ralph("run --skip-after 1").code(5).stdout_lacks("is gone");
    failing.ralph("status").code(0).stdout_lacks("is gone");
}
