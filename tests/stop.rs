//! Stopping a loop from outside, taking it up again, and two loops at once.

use rustix::process::Signal;
use serde_json::json;

use crate::sandbox::{Running, Sandbox};

/// Ticks its box, says so by a file, and waits for a file that never comes.
const HANGS: &str = r#"
[[turn]]
do = [
  { say = "I begin." },
  { tick = "current" },
  { write = { path = "begun", text = "" } },
  { wait_for = { path = "never", timeout = "300s" } },
]
"#;

const TICK: &str = "[[turn]]\ndo = [{ tick = \"current\" }]\n";

fn hanging() -> Sandbox {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two").agent_script(HANGS);
    scene
}

fn begun(scene: &Sandbox) -> Running<'_> {
    let mut running = scene.spawn("");
    running.wait_for_file("begun");
    running
}

#[test]
fn a_signal_ends_the_session_and_the_iteration_is_recorded_first() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let scene = hanging();
        let mut running = begun(&scene);
        running.signal(signal);
        let run = running.wait().code(code);
        run.stderr_has("stopping the agent; Ctrl-C again kills it\n");
        let session = scene.session();
        assert_eq!(session.trailers("Ralph-Outcome"), ["interrupted"]);
        assert_eq!(session.text(1, "agent/stdout"), "I begin.\n");
        assert_eq!(session.iteration(1)["exit_reason"], "interrupted");
        assert_eq!(session.iteration(1)["false_claim"], serde_json::json!(["ticked"]));
        assert_eq!(session.end()["status"], "interrupted");
        assert!(!scene.task_list().contains("[x]"), "the box is open again");
        assert!(scene.progress().contains("**Status**: ⏸️ Interrupted"));
    }
}

#[test]
fn every_screen_says_in_the_same_words_what_ended_the_session() {
    for (signal, json, words) in [
        (Signal::HUP, json!({"ended_by": "terminal_closed"}), "the terminal was closed"),
        (Signal::TERM, json!({"ended_by": "signal", "signal": "term"}), "stopped by a signal (TERM)"),
        (Signal::INT, json!({"ended_by": "ctrl_c"}), "stopped by Ctrl-C"),
    ] {
        let scene = hanging();
        let mut running = begun(&scene);
        running.signal(signal);
        let run = running.wait();
        let run = run.stdout_has(words).stdout_lacks("by you");
        let (is_closed, by) = (signal == Signal::HUP, &json["ended_by"]);
        assert_eq!(run.text().contains("tmux"), is_closed, "{run}");
        let end = scene.session().end();
        assert_eq!((&end["ended_by"], &end["signal"]), (by, &json["signal"]));
        let status = scene.ralph("status").code(0).stdout_has(&format!(" · {words} "));
        assert_eq!(status.text().contains("hint: start it in `tmux`"), is_closed, "{status}");
        assert_eq!(&scene.ralph("status --json").json()["session"]["ended_by"], by);
        assert_eq!(&scene.ralph("log --sessions --json").json()["sessions"][0]["ended_by"], by);
        for command in ["log", "log --sessions", "report --markdown"] {
            let shown = scene.ralph(command).code(0).stdout_lacks("by you").text().to_lowercase();
            assert!(shown.contains(&words.to_lowercase()), "{command}: {shown}");
        }
        scene.agent_script(TICK);
        let resumed = scene.ralph("resume").code(0).stderr_has(words);
        assert_eq!(resumed.talk().contains("tmux"), is_closed, "{resumed}");
        assert_eq!(scene.session().end()["ended_by"], json!(null));
        scene.ralph("status").code(0).stdout_lacks(words).stdout_lacks("tmux");
        // What is done is not resumed.
        scene.ralph("resume").code(3).stderr_has("is completed").stderr_has("all tasks are done");
    }
}

#[test]
fn a_session_that_was_interrupted_is_taken_up_again() {
    let scene = hanging();
    let mut running = begun(&scene);
    running.signal(Signal::INT);
    running.wait().code(130);
    let id = scene.session().id().to_owned();
    scene.agent_script(TICK);
    scene.ralph("resume").code(0).stdout_has("ralph resumes on specs/001-login");
    let session = scene.session();
    assert_eq!(session.id(), id);
    assert_eq!(session.trailers("Ralph-Outcome"), ["interrupted", "success", "success"]);
    assert_eq!(session.trailers("Ralph-Iteration"), ["1", "2", "3"]);
    assert_eq!(
        (&session.end()["status"], &session.end()["iterations_run"]),
        (&"completed".into(), &2.into())
    );
    scene.ralph("log --sessions").code(0).stdout_has("all done");
}

#[test]
fn a_session_that_reached_its_limit_is_taken_up_again_with_a_new_count() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two\n- [ ] T003 Three").agent_script(TICK);
    scene.ralph("-n 1").code(4);
    let id = scene.session().id().to_owned();
    scene.ralph(["resume", &id, "-n", "1"]).code(4);
    scene.ralph("resume").code(0);
    assert_eq!(scene.session().trailers("Ralph-Iteration"), ["1", "2", "3"]);
}

#[test]
fn a_second_loop_in_the_same_work_tree_is_refused_and_told_of_the_first() {
    let scene = hanging();
    let mut first = begun(&scene);
    let status = scene.ralph("status --json").code(0).json();
    assert_eq!(status["session"]["status"], "running");
    assert_eq!(status["session"]["pid"], first.pid());
    assert_eq!(status["session"]["task"], "T001");
    let id = scene.session().id().to_owned();
    let refused = scene.ralph("").code(3);
    refused
        .stderr_has(&format!(
            "another loop runs in this work tree: session {id}, process {} on ",
            first.pid()
        ))
        .stderr_has("hint: ");
    scene.ralph("resume").code(3).stderr_has("is running");
    first.signal(Signal::TERM);
    first.wait().code(143);
    scene.agent_script(TICK);
    scene.ralph("").code(0);
    assert_eq!(scene.sessions().len(), 2);
}

#[test]
fn two_loops_in_two_work_trees_are_both_recorded() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two").agent_script(TICK).commit("Two tasks");
    let other = scene.outside("other");
    scene.git(["worktree", "add", "--quiet", other.to_str().unwrap()]);
    // Each waits for a sign of the other, so that they do run at once.
    scene.agent_script(&meeting(&scene, "here", "there"));
    std::fs::write(other.join("agent.toml"), meeting(&scene, "there", "here")).unwrap();
    let first = scene.spawn("");
    let second = scene.call("").dir(&other).spawn();
    first.wait().code(0);
    second.wait().code(0);
    let sessions = scene.sessions();
    assert_eq!(sessions.len(), 2);
    for session in &sessions {
        assert_eq!(session.trailers("Ralph-Outcome"), ["success", "success"]);
    }
    scene.call("rebuild --check").dir(&other).run().code(0);
    let listed = scene.ralph("log --json").code(0).json();
    assert_eq!(listed["iterations"].as_array().map(Vec::len), Some(4));
}

/// An agent that leaves one file and waits for another, both outside of any work tree.
fn meeting(scene: &Sandbox, leaves: &str, awaits: &str) -> String {
    let [leaves, awaits] = [leaves, awaits].map(|name| scene.outside(name).display().to_string());
    format!(
        "[[turn]]\ndo = [{{ write = {{ path = {leaves:?}, text = \"\" }} }}, \
         {{ wait_for = {{ path = {awaits:?}, timeout = \"60s\" }} }}, {{ tick = \"current\" }}]\n"
    )
}
