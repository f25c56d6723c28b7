//! Tasks whose agent asks the user something, and tasks that an earlier session gave up: which of them are tried, and when.

#![expect(clippy::unwrap_used, reason = "what cannot be set up or read has failed the scene")]

use std::fs;

use serde_json::json;

use crate::sandbox::{Sandbox, Session};

/// Asks about T001 in two spellings.
const ASKS: &str = r#"
[[turn]]
iteration = 1
expect_prompt = "Question: ..."
do = [{ say = "Question: Semicolons or commas?" }]
[[turn]]
iteration = 3
expect_prompt = "Its question was not answered. Decide yourself"
do = [{ say = "I have read it all.\n\n**semicolons, or commas?**\n\nI wait for you." }]
[[turn]]
do = [{ tick = "current" }]
"#;

const HEARS: &str = r#"
[[turn]]
task = "T001"
expect_prompt = "- semicolons"
do = [{ tick = "current" }]
[[turn]]
do = [{ tick = "current" }]
"#;

fn newest(scene: &Sandbox) -> Session<'_> {
    scene.sessions().pop().unwrap()
}

#[test]
fn a_task_that_asks_is_set_aside_tried_once_more_and_answered_by_a_hint() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two\n- [ ] T003 Three (depends on T001)").agent_script(ASKS);
    scene.config("skip-after = 1\nstuck-after = 1");
    let run = scene.ralph("").code(5);
    run.stdout_lacks("warning: ")
        .stdout_has("\n  T003 waits for it.\n")
        .stdout_has("1 of 3 tasks done · 1 needs you")
        .stdout_has("\n? T001  One  2 attempts\n  The agent asks: semicolons, or commas?\n")
        .stdout_has("hint --task T001 'TEXT'");
    let session = scene.session();
    assert_eq!(session.trailers("Ralph-Task"), ["T001", "T002", "T001"]);
    assert_eq!(session.trailers("Ralph-Outcome"), ["failure", "success", "failure"]);
    assert_eq!(session.trailers("Ralph-Failure-Class"), ["question", "", "question"]);
    assert_eq!(session.trailers("Ralph-Cause"), ["Semicolons or commas?", "", "semicolons, or commas?"]);
    let prints = session.trailers("Ralph-Fingerprint");
    assert!(!prints[0].is_empty() && prints[0] == prints[2], "{prints:?}");
    assert_eq!(session.end()["stop_reason"], "stuck");
    scene.ralph("log --failed").code(0).stdout_has("  same as 1  ");
    scene
        .ralph("sessions")
        .code(0)
        .stdout_has("1 question waits\n\n  ? 001-login  T001  semicolons, or commas?  since ");
    scene.write("specs/002-search/tasks.md", "- [ ] T001 One\n");
    let elsewhere = scene.ralph("status --feature 002-search").code(0);
    elsewhere.stdout_has("\n  elsewhere  ? 001-login: T001 asks since ");
    scene
        .ralph("hint --feature 001-login semicolons")
        .code(0)
        .stdout_has("it answers T001, which asks: semicolons, or commas?\n  semicolons\n");
    // Until an attempt had it, it is in sight, and needs nobody.
    let answered = "T001  answered \"semicolons\": its next prompt has it";
    scene.ralph("log").code(0).stdout_has(answered);
    for command in ["status --feature 001-login", "sessions"] {
        scene.ralph(command).code(0).stdout_has(answered).stdout_lacks("? T001").stdout_lacks("need");
    }
    scene.ralph("status --feature 002-search").code(0).stdout_lacks("elsewhere");
    fs::remove_dir_all(scene.path("specs/002-search")).unwrap();
    scene.ralph("report -o -").code(0).stdout_has("T001 answered &quot;semicolons&quot;");
    let summary = scene.ralph("status --json").json()["summary"].clone();
    assert_eq!(
        (&summary["needs_you"], &summary["answered"][0]["answer"]),
        (&json!([]), &json!("semicolons"))
    );
    scene.agent_script(HEARS);
    scene.ralph("").code(0).stdout_has("1 hint waits: T001 \"semicolons\"");
    let session = newest(&scene);
    assert_eq!(session.trailers("Ralph-Task"), ["T001", "T003"]);
    assert_eq!(session.iteration(1)["hints"], json!(["semicolons"]));
    scene.ralph("fsck").code(0);
}

#[test]
fn a_question_is_a_failure_like_any_other_if_the_user_wants_that() {
    let scene = Sandbox::new();
    let turns = "[[turn]]\ndo = [{ say = \"Question: which?\" }]\n";
    scene.tasks("- [ ] T001 One").agent_script(turns);
    scene.config("skip-after = 2\non-question = \"retry\"");
    scene.ralph("").code(5).stdout_has("\n✘ T001  One  2 attempts\n");
    assert_eq!(scene.session().trailers("Ralph-Outcome"), ["failure", "failure", "skipped"]);
}

#[test]
fn an_offer_to_go_on_is_a_failure_and_the_next_prompt_says_that_nobody_answers() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One").agent_script(
        "[[turn]]\nattempt = 1\ndo = [{ say = \"Would you like me to continue?\" }]\n\
         [[turn]]\nexpect_prompt = \"go on without asking\"\ndo = [{ tick = \"current\" }]\n",
    );
    scene.ralph("").code(0);
    let session = scene.session();
    assert_eq!(session.trailers("Ralph-Outcome"), ["failure", "success"]);
    assert_eq!(session.iteration(1)["failure_class"], json!(null));
}

#[test]
fn a_task_that_an_earlier_session_gave_up_is_tried_once_and_last_if_nothing_has_changed() {
    let scene = Sandbox::new();
    let turns = "[[turn]]\ntask = \"T001\"\n[[turn]]\ndo = [{ tick = \"current\" }]\n";
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two").agent_script(turns).config("skip-after = 2");
    scene.ralph("").code(5).stdout_lacks("was given up");
    let tried = |words: &str| {
        scene.ralph(words).code(5);
        newest(&scene).trailers("Ralph-Task").join(" ")
    };
    scene.tasks("- [ ] T001 One\n- [x] T002 Two\n- [ ] T003 Three");
    scene.ralph("").code(5).stdout_has("T001 was given up last time: tried once, last\n");
    assert_eq!(newest(&scene).trailers("Ralph-Task"), ["T003", "T001", "T001"]);
    assert_eq!(newest(&scene).trailers("Ralph-Outcome"), ["success", "failure", "skipped"]);
    assert_eq!(tried("-n 20"), "T001 T001", "a limit changes nothing for it");
    assert_eq!(tried("--retry-skipped"), "T001 T001 T001");
    scene.ralph("hint --task T001 another way").code(0);
    assert_eq!(tried(""), "T001 T001 T001", "it has a hint now");
    assert_eq!(tried(""), "T001 T001", "with the same hint");
    scene.write("src.txt", "changed\n");
    assert_eq!(tried(""), "T001 T001 T001", "a file is new");
    assert_eq!(tried("--set completion=promise"), "T001 T001 T001", "with other settings");
}

#[test]
fn lines_that_a_question_left_in_the_tree_are_counted_over_all_sessions() {
    let scene = Sandbox::new();
    let more = "mkdir -p src; echo $RALPH_SESSION >> src/a; echo b >> src/a; echo $RALPH_SESSION > src/one; ";
    scene.tasks("- [ ] T001 One").agent_sh(&format!("cat >/dev/null; {more} echo 'Question: which?'"));
    let left = |words: &str| scene.ralph(words).code(5).text();
    let said = "unfinished lines of it are in your work tree (src).";
    let first = left("");
    assert!(first.contains(&format!("  5 {said}")), "{first}");
    // What was written anew counts once.
    scene.ralph("hint --task T001 this one").code(0);
    let second = left("");
    assert!(second.contains(&format!("  9 {said}")), "{second}");
    // What a person took away is not there, and after a success nothing is unfinished.
    fs::remove_file(scene.path("src/one")).expect("it is there");
    scene.ralph("hint --task T001 that one").code(0);
    scene.agent_sh("cat >/dev/null; echo 'Question: which, again?'");
    let third = left("");
    assert!(third.contains(&format!("  8 {said}")), "{third}");
    scene.ralph("hint --task T001 the last").code(0);
    scene.agent_sh("tick").ralph("").code(0).stdout_lacks("unfinished");
}
