//! Sessions of other machines, and systems other than Linux.

#![expect(clippy::unwrap_used, reason = "what cannot be set up or read has failed the scene")]

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use super::records::{File, Mutation, rewrite};
use crate::sandbox::Sandbox;

/// A loop that waits in its second iteration, synced, and a clone that got it.
fn running_elsewhere(scene: &Sandbox) -> PathBuf {
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two\n- [ ] T003 Three");
    scene.agent_sh(
        "if test $RALPH_TASK = T002 -a ! -e go; then touch ready; while test ! -e go; do sleep 0.01; done; fi\n\
         tick\n",
    );
    scene.write(".gitignore", "ready\ngo\n").commit("Three tasks");
    scene.with_remote();
    scene.outside("clone")
}

fn clone(scene: &Sandbox, clone: &PathBuf) {
    scene.ralph("sync").code(0);
    scene.git(["clone", "--quiet", scene.outside("remote.git").to_str().unwrap(), clone.to_str().unwrap()]);
    scene.call("sync").dir(clone).run().code(0).stdout_has("1 session");
}

#[test]
fn a_session_of_another_machine_is_running_there_and_is_only_taken_over_by_its_id() {
    let scene = Sandbox::new();
    let there = running_elsewhere(&scene);
    let mut running = scene.spawn("");
    running.wait_for_file("ready");
    clone(&scene, &there);
    let call = |words: &str| scene.call(words).dir(&there).run();
    let id = scene.session().id().to_owned();
    let host = rustix::system::uname().nodename().to_str().unwrap().to_owned();
    let said = format!("running on {host} as of ");
    for words in ["status", "log"] {
        call(words).code(0).stdout_has(&said).stdout_has("(last sync)").stdout_lacks("interrupted");
    }
    call("sessions").code(0).stdout_has("running elsewhere").stdout_lacks("interrupted");
    call("report -o page.html").code(0);
    let page = fs::read_to_string(there.join("page.html")).unwrap();
    assert!(page.contains(&said), "the page does not say where it runs");
    let status = call("status --json").code(0).json();
    assert_eq!((&status["session"]["status"], &status["session"]["pid"]), (&json!("running"), &json!(null)));
    assert_eq!(status["session"]["elsewhere"]["host"], json!(host));
    assert_eq!(status["session"]["elsewhere"]["is_synced"], json!(true));
    let sessions = call("log --sessions --json").code(0).json();
    assert_eq!(sessions["sessions"][0]["status"], json!("running"));
    assert_eq!(sessions["sessions"][0]["elsewhere"]["host"], json!(host));
    call("status --watch").code(0);
    // No rule takes what goes on, only its name does.
    call("clean --keep-last 0").code(0).stdout_has(&format!("stays: {id}: {said}"));
    call(&format!("clean --session {id} --dry-run")).code(0).stdout_has(&id).stdout_lacks("stays:");
    // Where it runs, it runs.
    scene.ralph("status").code(0).stdout_has(" · running ").stdout_lacks(&said);
    let here = scene.ralph("status --json").code(0).json();
    assert_eq!(
        (&here["session"]["status"], &here["session"]["elsewhere"]),
        (&json!("running"), &json!(null))
    );
    let taken = format!("resume {id} --take-over");
    call("resume").code(3).stderr_has(&said).stderr_has("--take-over");
    call(&format!("resume {id}")).code(3).stderr_has(&said).stderr_has(&taken);
    call("resume --take-over").code(2);
    fs::write(there.join("go"), "").unwrap();
    call(&taken).code(0).stdout_has("ralph resumes on");
    // From here on it is a session of that clone.
    call("status").code(0).stdout_has(" · finished ");
    scene.write("go", "");
    running.wait().code(0);
}

#[test]
fn bare_resume_takes_the_older_session_that_is_ours() {
    let scene = Sandbox::new();
    let there = running_elsewhere(&scene);
    let mut running = scene.spawn("");
    running.wait_for_file("ready");
    clone(&scene, &there);
    fs::write(there.join("go"), "").unwrap();
    scene.call("-n 1").dir(&there).run().code(4);
    let own = scene.git_in(&there, "for-each-ref --format=%(refname:lstrip=3) refs/ralph/");
    assert_eq!(own.lines().count(), 2, "{own}");
    scene.call("resume -n 1").dir(&there).run().code(4);
    scene.write("go", "");
    running.wait().code(0);
    scene.ralph("sync").code(0);
    scene.call("sync").dir(&there).run().code(0);
    scene.call("log --sessions").dir(&there).run().code(0).stdout_lacks("running on");
}

#[test]
fn a_session_that_died_here_is_interrupted_whatever_the_machine_is_called_now() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two");
    scene.agent_sh("touch ready; while test -e ready; do sleep 0.01; done\n").commit("Two tasks");
    let mut running = scene.spawn("");
    running.wait_for_file("ready");
    running.kill();
    scene.skip_final_fsck();
    let name = scene.session().refname().to_owned();
    let start = scene.git(["rev-list", "--max-parents=0", &name]);
    let begun: serde_json::Value =
        serde_json::from_str(&scene.git(["show", &format!("{start}:session.json")])).unwrap();
    for (host, machine) in [(json!("another"), begun["machine"].clone()), (json!("another"), json!(null))] {
        let mut record = begun.clone();
        record["host"] = host;
        record["machine"] = machine;
        let start = scene.git(["rev-list", "--max-parents=0", &name]);
        let file = File::Bytes(record.to_string().into_bytes());
        rewrite(
            &scene,
            &name,
            &[(start, Mutation { files: vec![("session.json", file)], ..Mutation::default() })],
        );
        scene.ralph("log --sessions").code(0).stdout_has("interrupted").stdout_lacks("running on");
        scene.ralph("status").code(0).stdout_has(" · killed ");
    }
}

#[test]
fn a_record_of_an_older_version_is_known_by_its_host() {
    let scene = Sandbox::with_succeeding_agent(2);
    scene.with_remote();
    scene.skip_final_fsck();
    scene.ralph("-n 1").code(4);
    let name = scene.session().refname().to_owned();
    // As if it had not ended, and had been begun by a version that records the host alone.
    let tip = scene.git(["rev-parse", &format!("{name}^")]);
    scene.git(["update-ref", &name, &tip]);
    let start = scene.git(["rev-list", "--max-parents=0", &name]);
    let mut record: serde_json::Value =
        serde_json::from_str(&scene.git(["show", &format!("{start}:session.json")])).unwrap();
    record.as_object_mut().unwrap().remove("machine");
    record.as_object_mut().unwrap().remove("commands");
    for (host, is_ours) in [(record["host"].clone(), true), (json!("another.example"), false)] {
        record["host"] = host;
        let start = scene.git(["rev-list", "--max-parents=0", &name]);
        let file = File::Bytes(record.to_string().into_bytes());
        rewrite(
            &scene,
            &name,
            &[(start, Mutation { files: vec![("session.json", file)], ..Mutation::default() })],
        );
        // A clone without any trace of it.
        drop(fs::remove_dir_all(scene.path(".git/ralph")));
        let log = scene.ralph("log").code(0);
        if is_ours {
            log.stdout_has("interrupted");
        } else {
            log.stdout_has("running on another.example as of ").stdout_has("(last record)");
        }
    }
    scene.ralph("resume").code(3).stderr_has("running on another.example");
}

mod without_environments {
    //! Where the environments of processes cannot be read, what a dead loop left is found by its note.

    use std::fs;
    use std::path::PathBuf;

    use rustix::process::{Pid, Signal, kill_process};

    use crate::sandbox::{Sandbox, wait_until};

    const PORTABLE: &str = "RALPH_TEST_PORTABLE";

    fn is_alive(pid: &str) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
    }

    fn kill(pid: &str) {
        let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
        kill_process(pid, Signal::KILL).unwrap();
    }

    /// A loop was killed while its agent runs, with a child in another process group. Returns both pids.
    fn killed() -> (Sandbox, [String; 2]) {
        let scene = Sandbox::new();
        scene.agent_sh(
            "set -m; sleep 1000 & echo $! > ../child-pid; echo $$ > ../agent-pid; : > begun; while :; do sleep 0.05; done",
        );
        let mut running = scene.call("").env(PORTABLE, "1").spawn();
        running.wait_for_file("begun");
        wait_until("the note", || note(&scene));
        running.kill().code(137);
        let pids = ["agent-pid", "child-pid"].map(|name| fs::read_to_string(scene.outside(name)).unwrap());
        assert!(pids.iter().all(|pid| is_alive(pid)));
        scene.agent_script("[[turn]]\ndo = [{ tick = \"current\" }]");
        (scene, pids)
    }

    fn note(scene: &Sandbox) -> Option<PathBuf> {
        let spools = fs::read_dir(scene.path(".git/ralph/spool")).ok()?;
        spools.flatten().map(|spool| spool.path().join("child")).find(|note| note.exists())
    }

    #[test]
    fn the_next_start_stops_the_agent_of_a_killed_loop() {
        let (scene, pids) = killed();
        scene.call("").env(PORTABLE, "1").run().code(0).stdout_has("left running");
        assert!(!pids.iter().any(|pid| is_alive(pid)), "{pids:?}");
        assert_eq!(note(&scene), None);
    }

    #[test]
    fn what_the_agent_left_when_it_ended_after_its_loop_is_stopped_too() {
        let (scene, [agent, child]) = killed();
        kill(&agent);
        wait_until("the end of the agent", || (!is_alive(&agent)).then_some(()));
        scene.call("").env(PORTABLE, "1").run().code(0);
        assert!(!is_alive(&child));
    }

    // Only Linux has the program `setsid`.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_stranger_who_got_the_number_of_the_agent_is_left_alone() {
        let (scene, pids) = killed();
        for pid in &pids {
            kill(pid);
        }
        let mut stranger = scene.hermetic("setsid").args(["--wait", "sleep", "1000"]).spawn().unwrap();
        let pid = stranger.id().to_string();
        let note = note(&scene).unwrap();
        let noted = fs::read_to_string(&note).unwrap();
        let (_, born) = noted.split_once(' ').unwrap();
        let earlier = born.trim_end().parse::<u64>().unwrap() - 100;
        fs::write(&note, format!("{pid} {earlier}\n")).unwrap();
        scene.call("").env(PORTABLE, "1").run().code(0).stdout_lacks("left running");
        assert!(is_alive(&pid));
        stranger.kill().unwrap();
        stranger.wait().unwrap();
    }
}
