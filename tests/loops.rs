//! Types of loops: a plan or a specification until the validation accepts it, and types of the user's own.

use rustix::process::Signal;
use serde_json::json;

use crate::sandbox::Sandbox;

/// Writes a poor plan first, and a good one then.
const PLANS: &str = r#"
[[turn]]
attempt = 1
do = [{ write = { path = "specs/001-login/plan.md", text = "Soon.\n" } }]
[[turn]]
do = [{ append = { path = "specs/001-login/plan.md", text = "Approach: none.\n" } }, { say = "<promise>COMPLETE</promise>" }]
"#;

const ACCEPTS: &str = "grep Approach specs/001-login/plan.md";

fn scene() -> Sandbox {
    let scene = Sandbox::new();
    std::fs::remove_file(scene.path("specs/001-login/tasks.md")).expect("the list is there");
    scene.agent_script(PLANS).validate(ACCEPTS);
    scene
}

#[test]
fn a_plan_is_worked_on_until_the_validation_passes() {
    let scene = scene();
    let run = scene.ralph("--loop plan --feature 001-login").code(0);
    run.stdout_has("  loop        plan: specs/001-login/plan.md")
        .stdout_has("    `grep Approach specs/001-login/plan.md` exited 1\n")
        .stdout_has("✔ plan")
        .stdout_has("specs/001-login/plan.md is complete");
    let session = scene.session();
    assert_eq!(session.trailers("Ralph-Outcome"), ["failure", "success"]);
    assert_eq!(session.trailers("Ralph-Task"), ["plan", "plan"]);
    let end = session.end();
    assert_eq!((&end["loop_type"], &end["stop_reason"]), (&json!("plan"), &json!("completed")));
    assert_eq!(end["artifact"], json!({"path": "specs/001-login/plan.md", "status": "complete"}));
    assert_eq!(session.iteration(2)["loop_type"], "plan");
    assert_eq!(session.iteration(2)["false_claim"], json!([]), "it promised what is so");
    let prompt = session.text(2, "prompt.md");
    for part in ["specs/001-login/plan.md`", ACCEPTS, "## Previous iterations", "Do NOT repeat"] {
        assert!(prompt.contains(part), "{part}: {prompt}");
    }
    scene.ralph("status --feature 001-login").code(0).stdout_has("no tasks · finished ");
    scene.ralph("log").code(0).stdout_has("✔ plan");
    assert!(!scene.path("specs/001-login/tasks.md").exists());
    // What is done can be asked for again: a plan is never done for good.
    scene.ralph("--loop plan --feature 001-login").code(0);
    assert_eq!(scene.sessions().len(), 2);
}

#[test]
fn an_artifact_is_failed_at_a_limit_and_a_draft_where_the_loop_was_interrupted() {
    let scene = scene();
    scene.ralph("--loop plan --feature 001-login -n 1").code(4).stdout_has("plan.md is failed");
    assert_eq!(scene.session().end()["artifact"]["status"], "failed");
    scene.agent_script(
        "[[turn]]\ndo = [{ write = { path = \"begun\", text = \"\" } }, { sleep = \"300s\" }]\n",
    );
    let mut running = scene.spawn("resume");
    running.wait_for_file("begun");
    running.signal(Signal::INT);
    running.wait().code(130);
    assert_eq!(scene.session().end()["artifact"]["status"], "draft");
    // A resumption knows what it was about.
    scene.agent_script(PLANS);
    scene.ralph("resume").code(0).stdout_has("  loop        plan: ");
    let session = scene.session();
    assert_eq!(session.trailers("Ralph-Outcome"), ["failure", "interrupted", "failure", "success"]);
    assert_eq!(session.end()["artifact"]["status"], "complete");
}

#[test]
fn what_is_not_there_is_not_done_whatever_the_validation_says() {
    let scene = Sandbox::new();
    std::fs::remove_file(scene.path("specs/001-login/spec.md")).unwrap();
    scene.agent_script("[[turn]]\ndo = [{ tick = \"T001\" }]\n").validate("true");
    scene.ralph("--loop spec -n 2").code(4);
    let session = scene.session();
    assert_eq!(session.trailers("Ralph-Outcome"), ["failure", "failure"]);
    assert_eq!(session.iteration(1)["false_claim"], json!(["ticked"]), "boxes are judged as ever");
    assert!(scene.task_list().contains("[ ] T001"));
}

#[test]
fn a_type_of_ones_own_has_its_template_artifact_and_settings() {
    let scene = Sandbox::new();
    scene.write(
        "review.md",
        "Review {{ spec_path }} into {{ artifact_path }} ({{ loop_type }}).\n{{ memory -}}\n",
    );
    scene.agent_sh(
        "[ \"$RALPH_ITERATION\" -lt 3 ] || echo fine > specs/001-login/review.txt\ncat\n[ -e stop ] && exit 1\nexit 0\n",
    );
    let table = "[loop.review]\ntemplate = \"review.md\"\nartifact = \"review.txt\"\nuntil = \"validation\"\n\
                 max-iterations = 2\nvalidation.command = \"grep fine specs/001-login/review.txt\"\n";
    let settings = scene.read(".specify/ralph.toml");
    scene.write(".specify/ralph.toml", format!("max-iterations = 7\n{settings}\n{table}"));
    scene.ralph("--loop review --dry-run").code(0).stdout_has("review.txt (review).");
    scene.ralph("--loop review").code(4).stderr("");
    let session = scene.session();
    assert_eq!(session.end()["max_iterations"], 2);
    assert_eq!(session.end()["artifact"]["path"], "specs/001-login/review.txt");
    assert_eq!(session.iteration(1)["validation_command"], "grep fine specs/001-login/review.txt");
    // A flag is stronger than the table.
    scene.ralph("--loop review -n 5").code(0);
    assert_eq!(scene.sessions()[1].trailers("Ralph-Outcome"), ["failure", "failure", "success"]);
}

#[test]
fn a_loop_over_tasks_may_be_a_type_as_well() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two").agent_script("[[turn]]\ndo = [{ tick = \"current\" }]\n");
    let settings = scene.read(".specify/ralph.toml");
    scene.write(
        ".specify/ralph.toml",
        format!("{settings}\n[loop.implement]\nmax-iterations = 1\n[loop.quick]\n"),
    );
    scene.ralph("").code(4).stdout_has("stopped at the limit of ");
    scene.ralph("--loop quick").code(0);
    let end = scene.sessions()[1].end();
    assert_eq!(
        (&end["loop_type"], &end["artifact"]["path"]),
        (&json!("quick"), &json!("specs/001-login/tasks.md"))
    );
}

#[test]
fn a_loop_that_could_not_end_is_refused() {
    let scene = Sandbox::new();
    scene.agent_script(PLANS);
    let settings = scene.read(".specify/ralph.toml");
    let tables = "[loop.bare]\nuntil = \"validation\"\n[loop.lost]\ntemplate = \"no.md\"\n";
    scene.write(".specify/ralph.toml", format!("{settings}\n{tables}"));
    for (words, complaint, hint) in [
        (
            "--loop plan",
            "a loop of type `plan` ends when its validation passes, but none is set",
            "--validate CMD",
        ),
        ("--loop plna", "there is no loop type `plna`", "did you mean `plan`?"),
        (
            "--loop something",
            "there is no loop type `something`",
            "known are implement, plan, spec, bare, lost",
        ),
        (
            "--loop bare --validate true",
            "loop type `bare` has no template",
            ".specify/templates/ralph-bare.md",
        ),
        ("--loop lost", "there is no template ", "correct `template` in [loop.lost]"),
        (
            "--loop plan --validate true --task T001",
            "a loop of type `plan` does not work on tasks",
            "omit --task",
        ),
    ] {
        scene.ralph(words).code(3).stderr_has(complaint).stderr_has(hint);
    }
    assert!(scene.sessions().is_empty());
}
