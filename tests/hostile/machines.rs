//! Sessions of other machines, and systems other than Linux.

#[expect(clippy::unwrap_used, reason = "a scene that cannot be set up has failed")]
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

    #[test]
    fn a_stranger_who_got_the_number_of_the_agent_is_left_alone() {
        let (scene, pids) = killed();
        pids.iter().for_each(|pid| kill(pid));
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
