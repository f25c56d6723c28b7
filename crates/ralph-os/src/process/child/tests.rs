use std::cell::Cell;
use std::fs;
use std::time::Instant;

use signal_hook::consts::{SIGINT, SIGTERM};

use super::*;
use crate::process::give_children_default_signals;
use camino::Utf8Path;

use crate::process::{Tool, for_tests, kill_marked};
use ralph_core::record::{SessionId, Timestamp};

const SHORT_GRACE: Grace =
    Grace { interrupt: Duration::from_millis(300), terminate: Duration::from_millis(300), ..GRACE };
const LONG_TIMEOUT: Duration = Duration::from_mins(1);

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
        // Concurrent runs of the test binary need different markers, too.
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
            limits: Limits { wall: LONG_TIMEOUT, idle: None, first_output: None, output: u64::MAX },
            fence: None,
        }
    }

    fn run(&self, script: &str) -> ChildExit {
        self.run_with(script, |_| {})
    }

    fn run_with(&self, script: &str, change: impl FnOnce(&mut Child)) -> ChildExit {
        let mut child = self.shell(script);
        change(&mut child);
        let started = Instant::now();
        let ended = child.run_with(SHORT_GRACE, &Interrupt::none(), &mut || Pulse::Alive).unwrap();
        assert!(started.elapsed() < LONG_TIMEOUT / 2, "{script}");
        ended
    }

    /// Returns true if the process that wrote its pid to this file lives.
    #[track_caller]
    fn is_alive(&self, pid_file: &str) -> bool {
        let pid = self.read(pid_file).trim().parse().unwrap();
        system::process(pid).is_some_and(|process| !process.is_zombie)
    }
}

/// Returns true in a process that runs this test alone, and else has one run it. Descent is certain only in a process that has one
/// child, unlike one that runs many tests, which stop the orphans of each other.
fn is_alone(test: &str) -> bool {
    let is_alone = for_tests::is_alone(&format!("process::child::tests::{test}"), |test| test);
    if is_alone {
        // Orphans are of this process, not of the one that runs the other tests.
        let _adopts = system::adopt_orphans();
    }
    is_alone
}

fn exit(code: i32, reason: impl Into<Option<ExitReason>>) -> Exit {
    Exit { code, reason: reason.into() }
}

#[test]
fn a_child_that_ends_by_itself_gives_its_code_and_its_streams() {
    let dir = TestDir::new(1);
    let ended = dir.run("echo out; echo err >&2; exit 7");
    assert_eq!(ended, ChildExit { exit: exit(7, None), leftovers: Vec::new() });
    assert_eq!((dir.read("stdout").as_str(), dir.read("stderr").as_str()), ("out\n", "err\n"));
}

#[test]
fn a_child_that_dies_of_a_signal_gives_128_and_its_number() {
    assert_eq!(TestDir::new(2).run("kill -KILL $$").exit, exit(137, None));
}

#[test]
fn output_files_have_mode_0600() {
    use std::os::unix::fs::PermissionsExt;
    let dir = TestDir::new(3);
    dir.run("true");
    for name in ["stdout", "stderr"] {
        assert_eq!(fs::metadata(dir.path(name)).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn a_missing_program_is_reported_on_stderr() {
    let dir = TestDir::new(4);
    let ended = dir.run_with("", |child| child.argv = vec!["no-such-program".to_owned()]);
    assert_eq!(ended.exit, exit(-1, ExitReason::StartFailed));
    assert!(dir.read("stderr").starts_with("cannot start `no-such-program`: "), "{}", dir.read("stderr"));
}

#[test]
fn a_relative_program_path_is_resolved_in_the_childs_directory() {
    let dir = TestDir::new(24);
    std::os::unix::fs::symlink("/bin/sh", dir.path("mine")).unwrap();
    let ended = dir.run_with("exit 4", |child| child.argv[0] = "./mine".to_owned());
    assert_eq!(ended.exit, exit(4, None));
}

#[test]
fn a_missing_directory_is_named_in_the_error() {
    let dir = TestDir::new(5);
    let ended = dir.run_with("true", |child| child.directory = "/no/such/folder".into());
    assert_eq!(ended.exit, exit(-1, ExitReason::StartFailed));
    assert_eq!(dir.read("stderr"), "cannot start `sh`: /no/such/folder is not a directory\n");
}

#[test]
fn three_hundred_kilobytes_arrive_on_stdin() {
    let dir = TestDir::new(6);
    let prompt = "0123456789".repeat(30_000);
    fs::write(dir.path("prompt"), &prompt).unwrap();
    dir.run_with("cat", |child| child.stdin = Some(dir.path("prompt")));
    assert!(dir.read("stdout") == prompt);
}

#[test]
fn stdin_is_empty_without_a_prompt() {
    assert_eq!(TestDir::new(7).run("cat; exit 3").exit, exit(3, None));
}

#[test]
fn the_child_gets_the_given_environment() {
    let dir = TestDir::new(8);
    dir.run_with("env", |child| {
        child.environment = vec![("RALPH_TASK".to_owned(), "T001".to_owned())];
        child.defaults = vec![
            ("HOME".to_owned(), "/nowhere".to_owned()),
            ("NOT_INHERITED".to_owned(), "default".to_owned()),
        ];
        child.removed = vec!["CARGO_MANIFEST_DIR".to_owned()];
    });
    let seen = dir.read("stdout");
    let has = |line: &str| seen.lines().any(|seen| seen == line);
    assert!(has("RALPH_TASK=T001") && has("NOT_INHERITED=default") && has("GIT_TERMINAL_PROMPT=0"));
    assert!(has(&format!("RALPH_SESSION={}", dir.marker.value())));
    assert!(!has("HOME=/nowhere") && !seen.contains("CARGO_MANIFEST_DIR="), "{seen}");
}

#[test]
fn git_repository_variables_are_recognized() {
    for name in ["GIT_DIR", "GIT_INDEX_FILE", "GIT_CONFIG_KEY_0", "GIT_CONFIG_VALUE_12"] {
        assert!(is_local_to_git(name), "{name}");
    }
    for name in ["GIT_AUTHOR_NAME", "GIT_SSH_COMMAND", "GIT_CONFIG_GLOBAL", "HOME"] {
        assert!(!is_local_to_git(name), "{name}");
    }
}

#[test]
fn a_stop_ends_grandchildren_in_sessions_of_their_own() {
    let dir = TestDir::new(9);
    let child =
        dir.shell("setsid sh -c 'echo $$ > far; sleep 1000' & sh -c 'echo $$ > near; sleep 1000' & wait");
    let mut on_tick = || {
        let are_up = !dir.read("far").is_empty() && !dir.read("near").is_empty();
        if are_up { Pulse::Lost(ExitReason::Timeout) } else { Pulse::Alive }
    };
    let ended = child.run_with(SHORT_GRACE, &Interrupt::none(), &mut on_tick).unwrap();
    assert_eq!(ended.exit, exit(-1, ExitReason::Timeout));
    assert!(!dir.is_alive("far") && !dir.is_alive("near"));
}

#[test]
fn what_is_left_in_the_background_is_stopped_and_named() {
    let dir = TestDir::new(10);
    let ended = dir.run(
        "nohup sleep 1000 > /dev/null 2>&1 & echo $! > pid; until [ $(ps -o comm= -p $!) = sleep ]; do :; done",
    );
    assert_eq!(ended, ChildExit { exit: exit(0, None), leftovers: vec!["sleep".to_owned()] });
    assert!(!dir.is_alive("pid"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_daemon_in_its_own_session_is_stopped() {
    if system::is_portable() {
        // Needs readable environments of processes or a child subreaper; portable mode has neither.
        return;
    }
    let dir = TestDir::new(11);
    let ended =
        dir.run("setsid sh -c 'echo $$ > pid; sleep 1000; :' & until [ -s pid ]; do sleep 0.01; done");
    assert_eq!(ended.exit, exit(0, None));
    assert!(!ended.leftovers.is_empty() && !dir.is_alive("pid"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_daemon_without_the_marker_is_found_by_descent() {
    if system::is_portable() {
        // Needs readable environments of processes or a child subreaper; portable mode has neither.
        return;
    }
    if !is_alone("a_daemon_without_the_marker_is_found_by_descent") {
        return;
    }
    // A tool of ours that stays, and a helper that another one left, which lives on.
    let mut resident = crate::process::Coprocess::start(&Tool::new("cat", Utf8Path::new("/"))).unwrap();
    let dir = TestDir::new(12);
    let helper = format!(
        "cp $(command -v sleep) {0}/gpg-agent && (setsid {0}/gpg-agent 1000 & echo $! > {0}/helper)",
        dir.path("")
    );
    Tool::shell(&format!("{{ {helper}; }} > /dev/null 2>&1"), Utf8Path::new("/")).read().unwrap();
    for daemon in [
        "env -i PATH=$PATH setsid sh -c 'echo $$ > pid; sleep 1000; :' &",
        "env -u RALPH_SESSION -u RALPH_TOOL setsid -f sh -c 'echo $$ > pid; sleep 1000; :'",
        "RALPH_SESSION=another RALPH_TOOL=mine setsid -f sh -c 'echo $$ > pid; sleep 1000; :'",
        "(env -i PATH=$PATH setsid sh -c '(sh -c \"echo \\$\\$ > pid; exec sleep 1000\" &)' &)",
        "env -i PATH=$PATH nohup setsid -f sh -c 'echo $$ > pid; exec ./gpg-agent 1002' > /dev/null",
    ] {
        let _gone = fs::remove_file(dir.path("pid")).is_ok();
        let ended = dir.run(&format!("{daemon}\nuntil [ -s pid ]; do sleep 0.01; done"));
        assert_eq!(ended.exit, exit(0, None), "{daemon}");
        assert!(!ended.leftovers.is_empty() && !dir.is_alive("pid"), "{daemon}");
    }
    // So does one that git of ours starts with the hooks of the user, and nothing else of that.
    let child = dir.shell(
        "(setsid ./gpg-agent 1001 & echo $! > second); (setsid sleep 1000 & echo $! > other)
         is() { [ \"$(cat /proc/$(cat $1)/comm)\" = $2 ]; }
         until is second gpg-agent && is other sleep; do sleep 0.01; done",
    );
    let ended = child.run_with_hooks(&Interrupt::none(), &mut || Pulse::Alive).unwrap();
    assert_eq!(ended.leftovers, ["sleep"]);
    let next = dir.run("true");
    assert_eq!(next.leftovers, Vec::<String>::new());
    assert!(dir.is_alive("helper") && dir.is_alive("second") && !dir.is_alive("other"));
    resident.ask("there\n", "there", LONG_TIMEOUT).unwrap();
    for file in ["helper", "second"] {
        platform::signal_process(dir.read(file).trim().parse().unwrap(), Signal::KILL);
    }
}

#[test]
fn a_child_that_ignores_term_is_killed() {
    let dir = TestDir::new(13);
    let interrupt = Interrupt::none();
    let child = dir.shell("trap '' TERM; echo ready; while :; do sleep 1000; done");
    let mut on_tick = || {
        if dir.read("stdout") == "ready\n" && interrupt.signal().is_none() {
            interrupt.raise(SIGTERM);
        }
        Pulse::Alive
    };
    let ended = child.run_with(SHORT_GRACE, &interrupt, &mut on_tick).unwrap();
    assert_eq!(ended.exit, exit(137, ExitReason::Interrupted));
}

#[test]
fn ctrl_c_reaches_the_child_as_ctrl_c() {
    give_children_default_signals();
    let dir = TestDir::new(14);
    let interrupt = Interrupt::none();
    let child = dir.shell("trap 'echo saved; exit 5' INT; echo ready; while :; do sleep 0.01; done");
    let mut on_tick = || {
        if dir.read("stdout") == "ready\n" && interrupt.signal().is_none() {
            interrupt.raise(SIGINT);
        }
        Pulse::Alive
    };
    let ended = child.run_with(GRACE, &interrupt, &mut on_tick).unwrap();
    assert_eq!(ended.exit, exit(5, ExitReason::Interrupted));
    assert_eq!(dir.read("stdout"), "ready\nsaved\n");
}

#[test]
fn a_second_ctrl_c_kills_at_once() {
    let dir = TestDir::new(15);
    let interrupt = Interrupt::none();
    let child = dir.shell("trap '' INT TERM; echo ready; while :; do sleep 1000; done");
    let mut on_tick = || {
        if dir.read("stdout") == "ready\n" {
            interrupt.raise_urgent();
        }
        Pulse::Alive
    };
    let patient = Grace { interrupt: LONG_TIMEOUT, terminate: LONG_TIMEOUT, ..GRACE };
    let started = Instant::now();
    let ended = child.run_with(patient, &interrupt, &mut on_tick).unwrap();
    assert_eq!(ended.exit, exit(137, ExitReason::Interrupted));
    assert!(started.elapsed() < LONG_TIMEOUT);
}

#[test]
fn nothing_is_started_after_a_request_to_stop() {
    let dir = TestDir::new(16);
    let interrupt = Interrupt::none();
    interrupt.raise(SIGINT);
    let ended = dir.shell("touch started").run(&interrupt, &mut || Pulse::Alive).unwrap();
    assert_eq!(ended.exit, exit(130, ExitReason::Interrupted));
    assert!(!dir.path("started").exists());
}

#[test]
fn a_child_that_the_terminal_stopped_does_not_hang_us() {
    let dir = TestDir::new(17);
    let ended = dir.run_with("kill -TTIN $$; exit 0", |child| child.limits.wall = Duration::from_millis(200));
    assert_eq!(ended.exit, exit(-1, ExitReason::Timeout));
}

#[test]
fn too_much_output_stops_the_child_and_is_kept_up_to_the_limit() {
    let dir = TestDir::new(18);
    let ended = dir.run_with("yes >&2", |child| child.limits.output = 1 << 20);
    assert_eq!(ended.exit, exit(-1, ExitReason::OutputLimit));
    assert_eq!(dir.read("stderr").len(), 1 << 20);
}

#[test]
fn an_idle_child_is_stopped_and_one_that_prints_is_not() {
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
fn output_is_readable_while_the_child_runs() {
    let dir = TestDir::new(21);
    let answered = Cell::new(false);
    let mut on_tick = || {
        if dir.read("stdout") == "question\n" && !answered.replace(true) {
            fs::write(dir.path("answer"), "").unwrap();
        }
        Pulse::Alive
    };
    let child = dir.shell("echo question; until [ -e answer ]; do sleep 0.01; done");
    assert_eq!(child.run(&Interrupt::none(), &mut on_tick).unwrap().exit, exit(0, None));
    assert!(answered.get());
}

#[cfg(target_os = "linux")]
#[test]
fn silence_counts_only_while_no_tool_runs() {
    let dir = TestDir::new(25);
    let run = |script: &str, pulse: Pulse| {
        let mut child = dir.shell(script);
        child.limits.idle = Some(Duration::from_millis(800));
        child.run_with(SHORT_GRACE, &Interrupt::none(), &mut || pulse).unwrap().exit
    };
    assert_eq!(run("sleep 1.6", Pulse::Busy), exit(0, None));
    assert_eq!(run("sleep 1000", Pulse::Alive), exit(-1, ExitReason::IdleTimeout));
}

#[test]
fn a_lost_child_is_stopped_with_the_given_reason() {
    let dir = TestDir::new(26);
    let child = dir.shell("sleep 300");
    let mut lost = || Pulse::Lost(ExitReason::ErrorLoop);
    let ended = child.run_with(SHORT_GRACE, &Interrupt::none(), &mut lost).unwrap();
    assert_eq!(ended.exit, exit(-1, ExitReason::ErrorLoop));
}

#[test]
fn kill_marked_leaves_other_sessions_alone() {
    if system::is_portable() {
        // Needs readable environments of processes or a child subreaper; portable mode has neither.
        return;
    }
    if !is_alone("kill_marked_leaves_other_sessions_alone") {
        return;
    }
    let (dead, other) = (TestDir::new(22), TestDir::new(23));
    let start = |dir: &TestDir| {
        let file = dir.path("stdout");
        let script =
            format!("setsid sh -c 'echo $$ > {0}/pid; echo > {0}/up; exec sleep 1000' &", dir.path(""));
        let expression = duct::cmd("sh", ["-c", script.as_str()])
            .env(Marker::VARIABLE, dir.marker.value())
            .stdout_path(file);
        expression.run().unwrap();
        while !dir.path("up").exists() {
            std::thread::yield_now();
        }
    };
    start(&dead);
    start(&other);
    assert_eq!(kill_marked(&dead.marker, &Interrupt::none()).len(), 1);
    assert!(!dead.is_alive("pid") && other.is_alive("pid"));
    assert_eq!(kill_marked(&other.marker, &Interrupt::none()).len(), 1);
    assert!(!other.is_alive("pid"));
    assert_eq!(kill_marked(&other.marker, &Interrupt::none()), Vec::<String>::new());
}
