//! What a kill at any moment leaves: nothing that the next start cannot put right by itself.

use std::collections::BTreeSet;
use std::time::Instant;

use rustix::process::Signal;

use crate::sandbox::random::{self, Random};
use crate::sandbox::{Program, Running, Sandbox, Session, WILLING_AGENT, one_in};

/// An agent that ticks its box, starts something in the background, and goes on and on.
const HANGS: &str = r#"
[[turn]]
do = [
  { say = "half a thought" },
  { tick = "current" },
  { run = "sleep 1000 >/dev/null 2>&1 & touch ticked" },
  { wait_for = { path = "never", timeout = "1000s" } },
]
"#;

/// How often the loop is killed at random.
const KILLS: u32 = 40;

fn tasks(count: u32) -> String {
    (1..=count).map(|number| format!("- [ ] T{number:03} Do number {number}\n")).collect()
}

#[test]
fn kills_at_random_moments_lose_nothing_that_was_acknowledged() {
    let scene = Sandbox::new();
    scene.tasks(&tasks(3 * KILLS)).agent_script(WILLING_AGENT).validate("true");
    let begun = Instant::now();
    let mut acknowledged = scene.ralph("run --json -n 2").code(4).acknowledged();
    let usual = begun.elapsed();
    let seed = random::seed();
    println!("RALPH_TEST_SEED={seed}");
    let mut random = Random::of(seed);
    for _ in (0..KILLS).step_by(one_in(4)) {
        let moment = usual.mul_f64(1.2 * random.next());
        let running = scene.spawn("run --json -n 2");
        std::thread::sleep(moment);
        let run = running.kill();
        // It may have been through before the kill came.
        assert!([137, 4].contains(&run.code), "after {moment:?}: {run}");
        acknowledged.extend(run.acknowledged());
    }
    acknowledged.extend(scene.ralph("run --json -n 1").code(4).acknowledged());
    let recorded: Vec<String> = scene.sessions().iter().flat_map(Session::iterations).collect();
    let unique: BTreeSet<&String> = recorded.iter().collect();
    assert_eq!(unique.len(), recorded.len());
    let lost: Vec<&String> = acknowledged.iter().filter(|commit| !unique.contains(commit)).collect();
    assert!(lost.is_empty(), "{} of {} are lost: {lost:?}", lost.len(), acknowledged.len());
    println!(
        "{} acknowledged, {} recorded in {} sessions",
        acknowledged.len(),
        recorded.len(),
        scene.sessions().len()
    );
}

/// A loop whose agent hangs, with its box ticked.
fn hanging(scene: &Sandbox) -> Running<'_> {
    scene.agent_script(HANGS).validate("true");
    let mut running = scene.spawn("run --json");
    running.wait_for_file("ticked");
    running
}

#[test]
fn a_box_that_was_ticked_when_the_loop_was_killed_is_opened_and_the_streams_are_kept() {
    let scene = Sandbox::new();
    hanging(&scene).kill().code(137);
    assert!(!scene.processes_of_sessions().is_empty(), "the agent should have outlived the loop");
    assert!(scene.task_list().to_lowercase().contains("[x]"));
    scene.agent_script(WILLING_AGENT);
    let next = scene.ralph("run").code(0);
    assert!(next.text().contains("as interrupted") || next.talk().contains("as interrupted"), "{next}");
    let sessions = scene.sessions();
    let [killed, completed] = sessions.as_slice() else { panic!("{sessions:?}") };
    let iteration = killed.iteration(1);
    assert_eq!(iteration["outcome"], "interrupted");
    assert_eq!(iteration["exit_reason"], "interrupted");
    assert_eq!(iteration["false_claim"], serde_json::json!(["ticked"]));
    assert_eq!(killed.text(1, "agent/stdout"), "half a thought\n");
    assert!(killed.text(1, "tasks.md").contains("- [ ] T001"));
    assert_eq!(killed.end()["status"], "interrupted");
    assert_eq!(completed.trailers("Ralph-Outcome"), ["success"]);
    scene.ralph("log").code(0).stdout_has("‖ T001").stdout_lacks(" 0 ms");
}

#[test]
fn a_crash_that_was_copied_with_its_repository_is_recovered_in_the_copy_alone() {
    let scene = Sandbox::new();
    let running = hanging(&scene);
    let copy = scene.outside("copy");
    let copied = scene.hermetic("cp").arg("-R").args([scene.repo(), &copy]).status().unwrap();
    assert!(copied.success());
    std::fs::write(copy.join("agent.toml"), WILLING_AGENT).unwrap();
    scene.call("run").dir(&copy).run().code(0);
    assert!(!scene.processes_of_sessions().is_empty(), "the original runs on");
    assert!(scene.task_list().to_lowercase().contains("[x]"), "and its box was not opened");
    drop(running);
    scene.agent_script(WILLING_AGENT);
    scene.ralph("run").code(0);
}

/// What every calm end by a signal comes to.
#[track_caller]
fn is_interrupted(scene: &Sandbox) {
    let session = scene.session();
    let iteration = session.iteration(1);
    assert_eq!(iteration["outcome"], "interrupted");
    assert_eq!(iteration["false_claim"], serde_json::json!(["ticked"]));
    assert_eq!(session.end()["status"], "interrupted");
    assert_eq!(session.end()["stop_reason"], "interrupted");
    assert!(scene.task_list().contains("- [ ] T001"), "{}", scene.task_list());
    scene.nothing_is_left();
}

#[test]
fn ctrl_c_records_the_iteration_and_stops_all_children() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let scene = Sandbox::new();
        let mut running = hanging(&scene);
        running.signal(signal);
        running.wait().code(code);
        is_interrupted(&scene);
        assert_eq!(scene.session().text(1, "agent/stdout"), "half a thought\n");
    }
}

#[test]
fn a_second_ctrl_c_does_not_wait_for_an_agent_that_ignores_the_first() {
    let scene = Sandbox::new();
    scene.agent_sh(
        "trap 'touch asked' INT; trap '' TERM\ntick all\ntouch ticked\n\
         while :; do sleep 0.05; done",
    );
    let mut running = scene.spawn("run --json");
    running.wait_for_file("ticked").signal(Signal::INT).wait_for_file("asked");
    running.signal(Signal::INT);
    running.wait().code(130);
    is_interrupted(&scene);
    assert_eq!(scene.session().iteration(1)["exit"]["agent"], 137);
}

#[test]
fn ctrl_c_while_the_validation_runs_records_both() {
    let scene = Sandbox::new();
    scene.agent_script(WILLING_AGENT).validate("echo half a test; touch validating; sleep 1000");
    let mut running = scene.spawn("run --json");
    running.wait_for_file("validating").signal(Signal::INT);
    running.wait().code(130);
    is_interrupted(&scene);
    let session = scene.session();
    assert_eq!(session.text(1, "agent/stdout"), "done\n");
    assert_eq!(session.text(1, "validation/stdout"), "half a test\n");
    assert_eq!(session.iteration(1)["exit"]["agent"], 0);
}

#[test]
fn a_session_is_taken_up_after_a_crash() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two");
    scene.agent_script(&WILLING_AGENT.replace("[[turn]]", "[[turn]]\ntask = \"T001\"")).validate("true");
    let first = scene.read("agent.toml");
    scene.agent_script(&format!("{first}\n{HANGS}"));
    let mut running = scene.spawn("run --json");
    running.wait_for_file("ticked");
    let acknowledged = running.kill().code(137).acknowledged();
    scene.agent_script(WILLING_AGENT);
    scene.ralph("resume --json").code(0);
    let session = scene.session();
    assert_eq!(session.trailers("Ralph-Outcome"), ["success", "interrupted", "success"]);
    assert_eq!(session.iterations()[..1], acknowledged);
    assert_eq!(kinds(&scene), ["start", "iteration", "iteration", "resume", "iteration", "end"]);
    let end = session.end();
    assert_eq!((&end["status"], &end["iterations_run"]), (&"completed".into(), &2.into()));
    assert_eq!((&end["tasks_completed"], &end["tasks_remaining"]), (&2.into(), &0.into()));
}

/// The kinds of all records of the only session, oldest first.
#[track_caller]
fn kinds(scene: &Sandbox) -> Vec<String> {
    let format = "--format=%(trailers:key=Ralph-Record,valueonly,separator=%x2C)";
    let log = scene.git(["log", "--reverse", format, scene.session().refname()]);
    log.lines().map(str::to_owned).collect()
}

#[test]
fn a_session_is_taken_up_after_its_limit_and_after_an_interrupt() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two").agent_script(WILLING_AGENT).validate("true");
    scene.ralph("run -n 1").code(4);
    scene.agent_script(HANGS);
    let mut running = scene.spawn("resume --json -n 1");
    running.wait_for_file("ticked").signal(Signal::INT);
    running.wait().code(130);
    scene.agent_script(WILLING_AGENT);
    scene.ralph("resume -n 1").code(0);
    let session = scene.session();
    assert_eq!(session.trailers("Ralph-Iteration"), ["1", "2", "3"]);
    assert_eq!(session.trailers("Ralph-Outcome"), ["success", "interrupted", "success"]);
    assert_eq!(kinds(&scene).iter().filter(|kind| *kind == "resume").count(), 2);
    assert_eq!(session.end()["iterations_run"], 2);
    assert_eq!(session.end()["status"], "completed");
    scene.ralph("resume").code(3).stderr_has("is completed").stderr_has("hint: ");
    assert_eq!(kinds(&scene).len(), 9);
}

#[test]
fn a_resumption_that_is_killed_leaves_a_session_that_comes_to_its_end() {
    let scene = Sandbox::new();
    hanging(&scene).kill().code(137);
    scene.agent_script(HANGS);
    std::fs::remove_file(scene.path("ticked")).unwrap();
    let mut running = scene.spawn("resume --json");
    running.wait_for_file("ticked");
    running.kill().code(137);
    // Somebody put another list there meanwhile, on which nothing is left to be taken up. That is no claim of the agent's.
    scene.tasks("- [x] T002 Something else\n- [x] A criterion");
    scene.ralph("resume").code(0);
    assert_eq!(kinds(&scene), ["start", "iteration", "resume", "iteration", "end"]);
    assert_eq!(scene.session().end()["status"], "interrupted");
}

#[test]
fn a_session_that_died_in_another_work_tree_is_not_taken_up_from_here() {
    let scene = Sandbox::new();
    scene.agent_script(HANGS).commit("An agent");
    scene.git("worktree add --quiet --detach ../tree");
    let tree = scene.outside("tree");
    let mut running = scene.call("run --json").dir(&tree).spawn();
    running.wait_for_file(tree.join("ticked"));
    running.kill().code(137);
    scene.ralph("resume").code(3).stderr_has("was cut off in another work tree").stderr_has("hint: ");
    std::fs::write(tree.join("agent.toml"), WILLING_AGENT).unwrap();
    scene.call("resume").dir(&tree).run().code(0);
    assert_eq!(scene.session().trailers("Ralph-Outcome"), ["interrupted", "success"]);
    scene.journal_differs();
}

#[test]
fn a_second_loop_in_a_work_tree_is_refused_and_told_who_is_there() {
    let scene = Sandbox::new();
    let mut first = hanging(&scene);
    let id = scene.session().id().to_owned();
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let process = format!("process {} on {host}", first.pid());
    let second = scene.spawn("run").wait().code(3);
    second.stderr_has(&id).stderr_has(&process).stderr_has(", since 20").stderr_has("hint: ");
    first.wait_for_text("iteration_started");
    first.kill().code(137);
    scene.agent_script(WILLING_AGENT);
    scene.ralph("run").code(0);
}

#[test]
fn a_loop_inside_an_iteration_is_refused() {
    let scene = Sandbox::new();
    let program = Program::Specify.path();
    scene.agent_sh(&format!("{program} ralph run >inner.txt 2>&1; echo $? >inner.code"));
    scene.ralph("run -n 1").code(4);
    assert_eq!(scene.read("inner.code"), "3\n");
    let said = scene.read("inner.txt");
    assert!(said.contains(scene.session().id()) && said.contains("hint: "), "{said}");
}

/// An agent that waits until the scene says `go`.
const WAITS: &str = r#"
[[turn]]
do = [
  { write = { path = "waiting", text = "" } },
  { wait_for = { path = "go", timeout = "60s" } },
  { say = "I write it." },
  { tick = "current" },
]
"#;

#[test]
fn locks_that_a_dead_writer_left_are_taken_away() {
    let scene = Sandbox::with_refs_in_files();
    scene.agent_script(WAITS).validate("true");
    let mut running = scene.spawn("run");
    running.wait_for_file("waiting");
    let (refname, id) = (scene.session().refname().to_owned(), scene.session().id().to_owned());
    let snapshots = refname.replace("refs/ralph/", "refs/ralph-snap/");
    for lock in [&refname, &snapshots, &format!("ralph/spool/{id}/scratch/index")] {
        scene.write(&format!(".git/{lock}.lock"), "");
    }
    scene.write("go", "");
    running.wait().code(0);
    scene.nothing_is_left();
}

#[test]
fn a_lock_on_the_packed_refs_is_left_alone_and_worked_around() {
    let scene = Sandbox::with_refs_in_files();
    scene.agent_script(WILLING_AGENT).validate("true");
    scene.write(".git/packed-refs.lock", "somebody's");
    scene.ralph("run").code(0);
    assert_eq!(scene.read(".git/packed-refs.lock"), "somebody's");
    std::fs::remove_file(scene.path(".git/packed-refs.lock")).unwrap();
    assert_eq!(scene.session().end()["status"], "completed");
}

#[test]
fn a_torn_object_that_lies_in_the_way_is_replaced() {
    let scene = Sandbox::new();
    scene.agent_script(WILLING_AGENT).validate("true");
    scene.write("said", "done\n");
    let id = scene.git("hash-object said");
    scene.write(&format!(".git/objects/{}/{}", &id[..2], &id[2..]), "");
    scene.ralph("run").code(0);
    assert_eq!(scene.session().text(1, "agent/stdout"), "done\n");
}

#[test]
fn what_a_dead_loop_left_running_is_named_with_a_way_to_end_it() {
    let scene = Sandbox::new();
    scene.agent_script(HANGS).try_no_hints();
    let mut running = scene.spawn("");
    running.wait_for_file("ticked");
    running.kill();
    for command in ["status", "doctor"] {
        let run = scene.ralph(command);
        run.stdout_has("left running: ").stdout_has("sleep (process ").stdout_has("so does `kill ");
    }
    scene.ralph("status").stdout_has(" · killed ");
    let left = scene.ralph("status --json").code(0).json()["session"]["left_running"].clone();
    assert!(left.as_array().unwrap().iter().any(|one| one["name"] == "sleep"), "{left}");
    scene.agent_script(WILLING_AGENT);
    scene.ralph("resume -n 1").code(0);
    assert_eq!(scene.session().trailers("Ralph-Outcome"), ["interrupted", "success"]);
    scene.ralph("status").code(0).stdout_lacks("left running");
}
