use std::cell::Cell;
use std::fs;
use std::time::Instant;

use signal_hook::consts::{SIGINT, SIGTERM};

use super::super::for_tests::give_children_default_signals;
use super::*;
use crate::process::kill_marked;
use crate::record::{SessionId, Timestamp};

const SHORT: Grace = Grace { interrupt: Duration::from_millis(300), terminate: Duration::from_millis(300) };
const LONG: Duration = Duration::from_secs(60);

/// A folder, and a marker that no other test has.
struct TestDir {
    folder: tempfile::TempDir,
    marker: Marker,
}

impl TestDir {
    fn new(salt: u32) -> Self {
        let folder = tempfile::tempdir().unwrap();
        if std::env::vars_os().any(|(name, _)| name == "RALPH_TEST_PORTABLE") {
            crate::process::use_portable_processes();
        }
        // Test runs beside each other must not meet either.
        let session = SessionId::new(Timestamp::from_seconds(i64::from(std::process::id())), salt);
        Self { folder, marker: Marker::new(&session) }
    }

    fn path(&self, name: &str) -> Utf8PathBuf {
        Utf8PathBuf::from_path_buf(self.folder.path().join(name)).unwrap()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    fn shell(&self, script: &str) -> Child {
        Child {
            argv: vec!["sh".to_owned(), "-c".to_owned(), script.to_owned()],
            directory: self.path(""),
            environment: Vec::new(),
            defaults: Vec::new(),
            removed: Vec::new(),
            stdin: None,
            stdout: self.path("stdout"),
            stderr: self.path("stderr"),
            marker: self.marker.clone(),
            limits: Limits { wall: LONG, idle: None, output: u64::MAX },
        }
    }

    fn run(&self, script: &str) -> ChildExit {
        self.run_with(script, |_| {})
    }

    fn run_with(&self, script: &str, change: impl FnOnce(&mut Child)) -> ChildExit {
        let mut child = self.shell(script);
        change(&mut child);
        let started = Instant::now();
        let ended = child.run_with(SHORT, &Interrupt::none(), &mut || Pulse::Alive).unwrap();
        assert!(started.elapsed() < LONG / 2, "{script}");
        ended
    }

    /// Returns true if the process that wrote its pid to this file lives.
    #[track_caller]
    fn lives(&self, pid_file: &str) -> bool {
        let pid = self.read(pid_file).trim().parse().unwrap();
        system::process(pid).is_some_and(|process| !process.is_zombie)
    }
}

fn exit(code: i32, reason: impl Into<Option<ExitReason>>) -> Exit {
    Exit { code, reason: reason.into() }
}

#[test]
fn a_child_that_ends_by_itself_gives_its_code_and_its_streams() {
    let room = TestDir::new(1);
    let ended = room.run("echo out; echo err >&2; exit 7");
    assert_eq!(ended, ChildExit { exit: exit(7, None), leftovers: Vec::new() });
    assert_eq!((room.read("stdout").as_str(), room.read("stderr").as_str()), ("out\n", "err\n"));
}

#[test]
fn a_child_that_dies_of_a_signal_gives_128_and_its_number() {
    assert_eq!(TestDir::new(2).run("kill -KILL $$").exit, exit(137, None));
}

#[test]
fn the_streams_are_for_the_user_alone() {
    use std::os::unix::fs::PermissionsExt;
    let room = TestDir::new(3);
    room.run("true");
    for name in ["stdout", "stderr"] {
        assert_eq!(fs::metadata(room.path(name)).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn a_program_that_does_not_exist_is_a_result_that_says_why() {
    let room = TestDir::new(4);
    let ended = room.run_with("", |child| child.argv = vec!["no-such-program".to_owned()]);
    assert_eq!(ended.exit, exit(-1, ExitReason::StartFailed));
    assert!(room.read("stderr").starts_with("cannot start `no-such-program`: "), "{}", room.read("stderr"));
}

#[test]
fn a_path_to_a_program_is_meant_from_where_it_runs() {
    let room = TestDir::new(24);
    std::os::unix::fs::symlink("/bin/sh", room.path("mine")).unwrap();
    let ended = room.run_with("exit 4", |child| child.argv[0] = "./mine".to_owned());
    assert_eq!(ended.exit, exit(4, None));
}

#[test]
fn a_directory_that_does_not_exist_is_what_the_reason_names() {
    let room = TestDir::new(5);
    let ended = room.run_with("true", |child| child.directory = "/no/such/folder".into());
    assert_eq!(ended.exit, exit(-1, ExitReason::StartFailed));
    assert_eq!(room.read("stderr"), "cannot start `sh`: /no/such/folder is not a directory\n");
}

#[test]
fn three_hundred_kilobytes_arrive_on_stdin() {
    let room = TestDir::new(6);
    let prompt = "0123456789".repeat(30_000);
    fs::write(room.path("prompt"), &prompt).unwrap();
    room.run_with("cat", |child| child.stdin = Some(room.path("prompt")));
    assert!(room.read("stdout") == prompt);
}

#[test]
fn without_a_prompt_stdin_is_at_its_end() {
    assert_eq!(TestDir::new(7).run("cat; exit 3").exit, exit(3, None));
}

#[test]
fn the_environment_is_what_was_asked_for_and_nothing_of_gits() {
    let room = TestDir::new(8);
    room.run_with("env", |child| {
        child.environment = vec![("RALPH_TASK".to_owned(), "T001".to_owned())];
        child.defaults = vec![
            ("HOME".to_owned(), "/nowhere".to_owned()),
            ("NOT_INHERITED".to_owned(), "default".to_owned()),
        ];
        child.removed = vec!["CARGO_MANIFEST_DIR".to_owned()];
    });
    let seen = room.read("stdout");
    let has = |line: &str| seen.lines().any(|seen| seen == line);
    assert!(has("RALPH_TASK=T001") && has("NOT_INHERITED=default") && has("GIT_TERMINAL_PROMPT=0"));
    assert!(has(&format!("RALPH_SESSION={}", room.marker.value())));
    assert!(!has("HOME=/nowhere") && !seen.contains("CARGO_MANIFEST_DIR="), "{seen}");
}

#[test]
fn names_that_are_gits_own() {
    for name in ["GIT_DIR", "GIT_INDEX_FILE", "GIT_CONFIG_KEY_0", "GIT_CONFIG_VALUE_12"] {
        assert!(is_local_to_git(name), "{name}");
    }
    for name in ["GIT_AUTHOR_NAME", "GIT_SSH_COMMAND", "GIT_CONFIG_GLOBAL", "HOME"] {
        assert!(!is_local_to_git(name), "{name}");
    }
}

#[test]
fn a_stop_ends_grandchildren_in_sessions_of_their_own() {
    let room = TestDir::new(9);
    let child =
        room.shell("setsid sh -c 'echo $$ > far; sleep 1000' & sh -c 'echo $$ > near; sleep 1000' & wait");
    let mut on_tick = || {
        let are_up = !room.read("far").is_empty() && !room.read("near").is_empty();
        if are_up { Pulse::Lost(ExitReason::Timeout) } else { Pulse::Alive }
    };
    let ended = child.run_with(SHORT, &Interrupt::none(), &mut on_tick).unwrap();
    assert_eq!(ended.exit, exit(-1, ExitReason::Timeout));
    assert!(!room.lives("far") && !room.lives("near"));
}

#[test]
fn what_is_left_in_the_background_is_stopped_and_named() {
    let room = TestDir::new(10);
    let ended = room.run(
        "nohup sleep 1000 > /dev/null 2>&1 & echo $! > pid; until [ $(ps -o comm= -p $!) = sleep ]; do :; done",
    );
    assert_eq!(ended, ChildExit { exit: exit(0, None), leftovers: vec!["sleep".to_owned()] });
    assert!(!room.lives("pid"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_daemon_in_its_own_session_is_stopped() {
    if system::is_portable() {
        // Only where markers can be read, or orphans come to us.
        return;
    }
    let room = TestDir::new(11);
    let ended =
        room.run("setsid sh -c 'echo $$ > pid; sleep 1000; :' & until [ -s pid ]; do sleep 0.01; done");
    assert_eq!(ended.exit, exit(0, None));
    assert!(!ended.leftovers.is_empty() && !room.lives("pid"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_daemon_without_the_marker_is_found_by_descent() {
    if system::is_portable() {
        // Only where markers can be read, or orphans come to us.
        return;
    }
    // Descent is certain only in a process that has one child, unlike one that runs many tests.
    if std::env::vars_os().all(|(name, _)| name != "RALPH_TEST_ALONE") {
        let name = "process::child::tests::a_daemon_without_the_marker_is_found_by_descent";
        let alone = duct::cmd(std::env::current_exe().unwrap(), ["--exact", name])
            .env("RALPH_TEST_ALONE", "1")
            .stderr_to_stdout()
            .read()
            .unwrap();
        assert!(alone.contains("1 passed"), "{alone}");
        return;
    }
    let room = TestDir::new(12);
    let daemon = "env -i PATH=$PATH setsid sh -c 'echo $$ > pid; sleep 1000; :'";
    let ended = room.run(&format!("{daemon} & until [ -s pid ]; do sleep 0.01; done"));
    assert_eq!(ended.exit, exit(0, None));
    assert!(!ended.leftovers.is_empty() && !room.lives("pid"));
}

#[test]
fn a_child_that_ignores_term_is_killed() {
    let room = TestDir::new(13);
    let interrupt = Interrupt::none();
    let child = room.shell("trap '' TERM; echo ready; while :; do sleep 1000; done");
    let mut on_tick = || {
        if room.read("stdout") == "ready\n" && interrupt.signal().is_none() {
            interrupt.raise(SIGTERM);
        }
        Pulse::Alive
    };
    let ended = child.run_with(SHORT, &interrupt, &mut on_tick).unwrap();
    assert_eq!(ended.exit, exit(137, ExitReason::Interrupted));
}

#[test]
fn ctrl_c_reaches_the_child_as_ctrl_c() {
    give_children_default_signals();
    let room = TestDir::new(14);
    let interrupt = Interrupt::none();
    let child = room.shell("trap 'echo saved; exit 5' INT; echo ready; while :; do sleep 0.01; done");
    let mut on_tick = || {
        if room.read("stdout") == "ready\n" && interrupt.signal().is_none() {
            interrupt.raise(SIGINT);
        }
        Pulse::Alive
    };
    let ended = child.run_with(GRACE, &interrupt, &mut on_tick).unwrap();
    assert_eq!(ended.exit, exit(5, ExitReason::Interrupted));
    assert_eq!(room.read("stdout"), "ready\nsaved\n");
}

#[test]
fn a_second_ctrl_c_leaves_no_time() {
    let room = TestDir::new(15);
    let interrupt = Interrupt::none();
    let child = room.shell("trap '' INT TERM; echo ready; while :; do sleep 1000; done");
    let mut on_tick = || {
        if room.read("stdout") == "ready\n" {
            interrupt.raise_urgent();
        }
        Pulse::Alive
    };
    let patient = Grace { interrupt: LONG, terminate: LONG };
    let started = Instant::now();
    let ended = child.run_with(patient, &interrupt, &mut on_tick).unwrap();
    assert_eq!(ended.exit, exit(137, ExitReason::Interrupted));
    assert!(started.elapsed() < LONG);
}

#[test]
fn nothing_is_started_after_a_request_to_stop() {
    let room = TestDir::new(16);
    let interrupt = Interrupt::none();
    interrupt.raise(SIGINT);
    let ended = room.shell("touch started").run(&interrupt, &mut || Pulse::Alive).unwrap();
    assert_eq!(ended.exit, exit(130, ExitReason::Interrupted));
    assert!(!room.path("started").exists());
}

#[test]
fn a_child_that_the_terminal_stopped_does_not_hang_us() {
    let room = TestDir::new(17);
    let ended =
        room.run_with("kill -TTIN $$; exit 0", |child| child.limits.wall = Duration::from_millis(200));
    assert_eq!(ended.exit, exit(-1, ExitReason::Timeout));
}

#[test]
fn too_much_output_stops_the_child_and_is_kept_up_to_the_limit() {
    let room = TestDir::new(18);
    let ended = room.run_with("yes >&2", |child| child.limits.output = 1 << 20);
    assert_eq!(ended.exit, exit(-1, ExitReason::OutputLimit));
    assert_eq!(room.read("stderr").len(), 1 << 20);
}

#[test]
fn silence_stops_the_child_and_talk_does_not() {
    let idle = Some(Duration::from_millis(1500));
    let silent = TestDir::new(19);
    let ended = silent.run_with("echo one; sleep 1000", |child| child.limits.idle = idle);
    assert_eq!(ended.exit, exit(-1, ExitReason::IdleTimeout));
    assert_eq!(silent.read("stdout"), "one\n");

    let talking = TestDir::new(20);
    let script = "for i in 1 2 3 4 5 6 7 8 9 10; do echo $i >&2; sleep 0.2; done";
    assert_eq!(talking.run_with(script, |child| child.limits.idle = idle).exit, exit(0, None));
}

#[test]
fn whoever_looks_sees_the_output_while_it_comes() {
    let room = TestDir::new(21);
    let answered = Cell::new(false);
    let mut on_tick = || {
        if room.read("stdout") == "question\n" && !answered.replace(true) {
            fs::write(room.path("answer"), "").unwrap();
        }
        Pulse::Alive
    };
    let child = room.shell("echo question; until [ -e answer ]; do sleep 0.01; done");
    assert_eq!(child.run(&Interrupt::none(), &mut on_tick).unwrap().exit, exit(0, None));
    assert!(answered.get());
}

#[cfg(target_os = "linux")]
#[test]
fn silence_counts_only_while_no_tool_runs() {
    let room = TestDir::new(25);
    let run = |script: &str, pulse: Pulse| {
        let mut child = room.shell(script);
        child.limits.idle = Some(Duration::from_millis(800));
        child.run_with(SHORT, &Interrupt::none(), &mut || pulse).unwrap().exit
    };
    assert_eq!(run("sleep 1.6", Pulse::Busy), exit(0, None));
    assert_eq!(run("sleep 1000", Pulse::Alive), exit(-1, ExitReason::IdleTimeout));
}

#[test]
fn who_is_lost_is_stopped_for_that() {
    let room = TestDir::new(26);
    let child = room.shell("sleep 300");
    let mut lost = || Pulse::Lost(ExitReason::ErrorLoop);
    let ended = child.run_with(SHORT, &Interrupt::none(), &mut lost).unwrap();
    assert_eq!(ended.exit, exit(-1, ExitReason::ErrorLoop));
}

#[test]
fn a_sweep_stops_the_marked_and_leaves_other_sessions_alone() {
    if system::is_portable() {
        // Only where markers can be read, or orphans come to us.
        return;
    }
    let (dead, other) = (TestDir::new(22), TestDir::new(23));
    let start = |room: &TestDir| {
        let file = room.path("stdout");
        let script =
            format!("setsid sh -c 'echo $$ > {0}/pid; echo > {0}/up; exec sleep 1000' &", room.path(""));
        let expression = duct::cmd("sh", ["-c", script.as_str()])
            .env(Marker::VARIABLE, room.marker.value())
            .stdout_path(file);
        expression.run().unwrap();
        while !room.path("up").exists() {
            std::thread::yield_now();
        }
    };
    start(&dead);
    start(&other);
    assert_eq!(kill_marked(&dead.marker, &Interrupt::none()).len(), 1);
    assert!(!dead.lives("pid") && other.lives("pid"));
    assert_eq!(kill_marked(&other.marker, &Interrupt::none()).len(), 1);
    assert!(!other.lives("pid"));
    assert_eq!(kill_marked(&other.marker, &Interrupt::none()), Vec::<String>::new());
}
