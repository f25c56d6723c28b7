//! Children that run long: agents and validations, with their streams in files.

use std::fs::File;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use camino::Utf8PathBuf;
use rustix::process::Signal;

use super::bounded::RunningTime;
use super::launcher::{failure_file, launcher, take_failure};
use super::process_tree::{ProcessTree, Started, reap_orphans};
use super::{Interrupt, LOCAL_GIT_VARIABLES, Marker, code_of, stream, system};
use crate::record::{Exit, ExitReason};

/// A program to run, and all that it may see and do. It gets a session and a process group of its own, and no terminal.
#[derive(Debug, Clone)]
pub struct Child {
    pub argv: Vec<String>,
    pub directory: Utf8PathBuf,
    /// Set over what we inherited.
    pub environment: Vec<(String, String)>,
    /// Set only where we inherited nothing of that name.
    pub defaults: Vec<(String, String)>,
    /// Not handed on. Git's own variables never are.
    pub removed: Vec<String>,
    /// A file to read from; nothing to read where it is none.
    pub stdin: Option<Utf8PathBuf>,
    pub stdout: Utf8PathBuf,
    pub stderr: Utf8PathBuf,
    pub marker: Marker,
    pub limits: Limits,
}

/// How far a child may go before it is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// From its start to its end.
    pub wall: Duration,
    /// Without a byte in either stream.
    pub idle: Option<Duration>,
    /// Bytes in each stream.
    pub output: u64,
}

/// What is known of a running child beyond its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pulse {
    /// Nothing: long silence is not normal.
    Alive,
    /// It waits for a child of its own: silence is normal.
    Busy,
    /// It does not get on any more, and shall be stopped for this reason.
    Lost(ExitReason),
}

/// How a child ended, and what it left running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    pub exit: Exit,
    /// Names of the programs that went on in the background after its own end. They are stopped by now.
    pub leftovers: Vec<String>,
}

/// How long a child that is asked to stop may take.
#[derive(Debug, Clone, Copy)]
struct Patience {
    /// From INT to TERM: agents save their state and print a last event, the slowest in under 2 s.
    interrupt: Duration,
    /// From TERM to KILL: enough to end tools and save, short enough that Ctrl-C still feels like Ctrl-C.
    terminate: Duration,
}

const PATIENCE: Patience = Patience { interrupt: Duration::from_secs(5), terminate: Duration::from_secs(3) };

/// Between two looks at streams and wishes; the end of the child itself wakes us at once.
const TICK: Duration = Duration::from_millis(25);

/// Between two looks for orphans that ended while their child goes on, and two signs of life for the note of it.
const ORPHANS: Duration = Duration::from_secs(10);

/// How long a killed child may take to vanish, for one in the middle of a system call on a dead disk never does.
const VANISH: Duration = Duration::from_secs(5);

impl Child {
    /// Runs it to its end, or stops it; then stops what it left behind. `on_tick` is called meanwhile to tell how
    /// it does, and once more after the end. An error means that its streams cannot be made; all else is in what comes back.
    pub fn run(&self, interrupt: &Interrupt, on_tick: &mut dyn FnMut() -> Pulse) -> Result<Ended> {
        self.run_with(PATIENCE, interrupt, on_tick)
    }

    fn run_with(
        &self,
        patience: Patience,
        interrupt: &Interrupt,
        on_tick: &mut dyn FnMut() -> Pulse,
    ) -> Result<Ended> {
        let stdout = stream::create(&self.stdout)?;
        let stderr = stream::create(&self.stderr)?;
        if let Some(signal) = interrupt.signal() {
            return Ok(Ended::without_leftovers(128 + signal, Some(ExitReason::Interrupted)));
        }
        // Only what is adopted can be found after its parent's end.
        let adopts = system::adopt_orphans();
        let started = match self.start(&stdout, &stderr)? {
            Ok(started) => started,
            Err(reason) => {
                writeln!(&stderr, "{reason}").context("write down why the child could not be started")?;
                return Ok(Ended::without_leftovers(-1, Some(ExitReason::StartFailed)));
            }
        };
        let mut tree = ProcessTree::of(&self.marker, &started);
        let mut watch = Watch::new(self.limits, [stdout, stderr]);
        let mut pulse = Pulse::Alive;
        let (status, reason) = loop {
            if let Some(output) = started.handle().wait_timeout(TICK).context("wait for the child")? {
                break (Some(output.status), None);
            }
            let reason = match interrupt.signal() {
                Some(_) => Some(ExitReason::Interrupted),
                None => watch.exceeded(pulse)?,
            };
            if let Some(reason) = reason {
                break (stop(&started, &mut tree, (reason, patience), interrupt)?, Some(reason));
            }
            pulse = on_tick();
            if watch.is_time_for_orphans() {
                reap_orphans(&mut tree);
            }
        };
        let start_failed = take_failure(status.and_then(|status| status.code()), &self.stderr);
        if let Some(why) = start_failed.filter(|_| reason.is_none()) {
            let [_, stderr] = &watch.streams;
            writeln!(&*stderr, "{}", self.cannot_start(&why))
                .context("write down why the child could not be started")?;
            return Ok(Ended::without_leftovers(-1, Some(ExitReason::StartFailed)));
        }
        tree.root_ended();
        let has_left = !adopts || system::has_children();
        let leftovers = if has_left { tree.stop_leftovers(interrupt) } else { Vec::new() };
        if reason == Some(ExitReason::OutputLimit) {
            watch.cut_streams()?;
        }
        for (stream, path) in watch.streams.iter().zip([&self.stdout, &self.stderr]) {
            stream::put_back(stream, path)?;
        }
        let _ended = on_tick();
        let code = match reason {
            None | Some(ExitReason::Interrupted) => status.map_or(128 + Signal::KILL.as_raw(), code_of),
            Some(_) => -1,
        };
        Ok(Ended { exit: Exit { code, reason }, leftovers })
    }

    /// Starts it; the inner error is the child's, in words for its stderr.
    fn start(&self, stdout: &File, stderr: &File) -> Result<Result<Started, String>> {
        let Some((program, arguments)) = self.argv.split_first() else {
            return Ok(Err("nothing to start: the command is empty".to_owned()));
        };
        // A path is meant from where the child runs, not from where the user stands.
        let is_path = program.contains('/');
        let found = if is_path { self.directory.join(program).into_string() } else { program.clone() };
        let launcher = launcher();
        let mut expression = match launcher {
            Some(launcher) => duct::cmd(
                launcher.program(),
                launcher.arguments(&failure_file(&self.stderr), &found, arguments),
            ),
            None => duct::cmd(found, arguments),
        };
        expression = expression
            .dir(self.directory.as_std_path())
            .stdout_file(stdout.try_clone().context("share the child's stdout")?)
            .stderr_file(stderr.try_clone().context("share the child's stderr")?)
            .unchecked();
        expression = match &self.stdin {
            Some(path) => {
                let file = File::open(path).with_context(|| format!("open {path} for the child to read"))?;
                expression.stdin_file(file)
            }
            None => expression.stdin_null(),
        };
        let (environment, defaults, removed) =
            (self.environment.clone(), self.defaults.clone(), self.removed.clone());
        let marker = self.marker.clone();
        expression = expression.before_spawn(move |command| {
            let inherited: Vec<String> = command
                .get_envs()
                .filter_map(|(name, value)| value.and(name.to_str().map(str::to_owned)))
                .collect();
            for name in &inherited {
                if is_gits_own(name) || removed.contains(name) {
                    command.env_remove(name);
                }
            }
            for (name, value) in &defaults {
                if !inherited.contains(name) {
                    command.env(name, value);
                }
            }
            command.env("GIT_TERMINAL_PROMPT", "0");
            command.envs(environment.iter().map(|(name, value)| (name, value)));
            command.envs(marker.variables());
            if launcher.is_none() {
                command.process_group(0);
            }
            Ok(())
        });
        Ok(Started::start(&expression).map_err(|error| self.cannot_start(&error.to_string())))
    }

    fn cannot_start(&self, why: &str) -> String {
        let program = self.argv.first().map_or("", String::as_str);
        if self.directory.is_dir() {
            format!("cannot start `{program}`: {why}")
        } else {
            format!("cannot start `{program}`: {} is no directory", self.directory)
        }
    }
}

impl Ended {
    fn without_leftovers(code: i32, reason: Option<ExitReason>) -> Self {
        Self { exit: Exit { code, reason }, leftovers: Vec::new() }
    }
}

fn is_gits_own(name: &str) -> bool {
    LOCAL_GIT_VARIABLES.contains(&name)
        || name.starts_with("GIT_CONFIG_KEY_")
        || name.starts_with("GIT_CONFIG_VALUE_")
}

/// Asks, insists, and kills; gives how the child itself ended.
fn stop(
    started: &Started,
    tree: &mut ProcessTree<'_>,
    (reason, patience): (ExitReason, Patience),
    interrupt: &Interrupt,
) -> Result<Option<ExitStatus>> {
    // Looked at before the first signal, for whoever loses its parent is hard to find.
    tree.members();
    if reason == ExitReason::Interrupted && interrupt.first_signal() == Signal::INT {
        tree.interrupt_group(patience.interrupt, interrupt);
    }
    tree.ask_all(patience.terminate, interrupt);
    tree.kill();
    let output = started.handle().wait_timeout(VANISH).context("wait for the stopped child")?;
    Ok(output.map(|output| output.status))
}

/// Keeps the time and the streams of a running child in view.
struct Watch {
    limits: Limits,
    streams: [File; 2],
    time: RunningTime,
    /// When the last growth was seen, by that time, and to which size.
    grown: (Duration, u64),
    orphans: Instant,
}

impl Watch {
    fn new(limits: Limits, streams: [File; 2]) -> Self {
        Self {
            limits,
            streams,
            time: RunningTime::start(),
            grown: (Duration::ZERO, 0),
            orphans: Instant::now(),
        }
    }

    fn exceeded(&mut self, pulse: Pulse) -> Result<Option<ExitReason>> {
        if let Pulse::Lost(reason) = pulse {
            return Ok(Some(reason));
        }
        let mut sizes = [0; 2];
        for (size, stream) in sizes.iter_mut().zip(&self.streams) {
            *size = stream.metadata().context("look at the child's output")?.len();
        }
        let total = sizes[0].saturating_add(sizes[1]);
        let passed = self.time.passed();
        if total != self.grown.1 || pulse == Pulse::Busy {
            self.grown = (passed, total);
        }
        let is_idle = self.limits.idle.is_some_and(|idle| passed.saturating_sub(self.grown.0) >= idle);
        Ok(if sizes.iter().any(|size| *size > self.limits.output) {
            Some(ExitReason::OutputLimit)
        } else if passed >= self.limits.wall {
            Some(ExitReason::Timeout)
        } else if is_idle {
            Some(ExitReason::IdleTimeout)
        } else {
            None
        })
    }

    /// Takes away what was written between the limit and the end: a child can write a gigabyte in a moment.
    fn cut_streams(&self) -> Result<()> {
        for stream in &self.streams {
            if stream.metadata().context("look at the child's output")?.len() > self.limits.output {
                stream.set_len(self.limits.output).context("cut the child's output")?;
            }
        }
        Ok(())
    }

    fn is_time_for_orphans(&mut self) -> bool {
        let is_time = self.orphans.elapsed() >= ORPHANS;
        if is_time {
            self.orphans = Instant::now();
        }
        is_time
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs;

    use signal_hook::consts::{SIGINT, SIGTERM};

    use super::super::for_tests::give_children_default_signals;
    use super::*;
    use crate::process::kill_marked;
    use crate::record::{SessionId, Timestamp};

    const SHORT: Patience =
        Patience { interrupt: Duration::from_millis(300), terminate: Duration::from_millis(300) };
    const LONG: Duration = Duration::from_secs(60);

    /// A folder, and a marker that no other test has.
    struct Room {
        folder: tempfile::TempDir,
        marker: Marker,
    }

    impl Room {
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

        fn run(&self, script: &str) -> Ended {
            self.run_with(script, |_| {})
        }

        fn run_with(&self, script: &str, change: impl FnOnce(&mut Child)) -> Ended {
            let mut child = self.shell(script);
            change(&mut child);
            let started = Instant::now();
            let ended = child.run_with(SHORT, &Interrupt::none(), &mut || Pulse::Alive).unwrap();
            assert!(started.elapsed() < LONG / 2, "{script}");
            ended
        }

        /// Whether the process that wrote its pid to this file lives.
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
        let room = Room::new(1);
        let ended = room.run("echo out; echo err >&2; exit 7");
        assert_eq!(ended, Ended { exit: exit(7, None), leftovers: Vec::new() });
        assert_eq!((room.read("stdout").as_str(), room.read("stderr").as_str()), ("out\n", "err\n"));
    }

    #[test]
    fn a_child_that_dies_of_a_signal_gives_128_and_its_number() {
        assert_eq!(Room::new(2).run("kill -KILL $$").exit, exit(137, None));
    }

    #[test]
    fn the_streams_are_for_the_user_alone() {
        use std::os::unix::fs::PermissionsExt;
        let room = Room::new(3);
        room.run("true");
        for name in ["stdout", "stderr"] {
            assert_eq!(fs::metadata(room.path(name)).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn a_program_that_does_not_exist_is_a_result_that_says_why() {
        let room = Room::new(4);
        let ended = room.run_with("", |child| child.argv = vec!["no-such-program".to_owned()]);
        assert_eq!(ended.exit, exit(-1, ExitReason::StartFailed));
        assert!(
            room.read("stderr").starts_with("cannot start `no-such-program`: "),
            "{}",
            room.read("stderr")
        );
    }

    #[test]
    fn a_path_to_a_program_is_meant_from_where_it_runs() {
        let room = Room::new(24);
        std::os::unix::fs::symlink("/bin/sh", room.path("mine")).unwrap();
        let ended = room.run_with("exit 4", |child| child.argv[0] = "./mine".to_owned());
        assert_eq!(ended.exit, exit(4, None));
    }

    #[test]
    fn a_directory_that_does_not_exist_is_what_the_reason_names() {
        let room = Room::new(5);
        let ended = room.run_with("true", |child| child.directory = "/no/such/folder".into());
        assert_eq!(ended.exit, exit(-1, ExitReason::StartFailed));
        assert_eq!(room.read("stderr"), "cannot start `sh`: /no/such/folder is no directory\n");
    }

    #[test]
    fn three_hundred_kilobytes_arrive_on_stdin() {
        let room = Room::new(6);
        let prompt = "0123456789".repeat(30_000);
        fs::write(room.path("prompt"), &prompt).unwrap();
        room.run_with("cat", |child| child.stdin = Some(room.path("prompt")));
        assert!(room.read("stdout") == prompt);
    }

    #[test]
    fn without_a_prompt_stdin_is_at_its_end() {
        assert_eq!(Room::new(7).run("cat; exit 3").exit, exit(3, None));
    }

    #[test]
    fn the_environment_is_what_was_asked_for_and_nothing_of_gits() {
        let room = Room::new(8);
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
            assert!(is_gits_own(name), "{name}");
        }
        for name in ["GIT_AUTHOR_NAME", "GIT_SSH_COMMAND", "GIT_CONFIG_GLOBAL", "HOME"] {
            assert!(!is_gits_own(name), "{name}");
        }
    }

    #[test]
    fn a_stop_ends_grandchildren_in_sessions_of_their_own() {
        let room = Room::new(9);
        let child = room
            .shell("setsid sh -c 'echo $$ > far; sleep 1000' & sh -c 'echo $$ > near; sleep 1000' & wait");
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
        let room = Room::new(10);
        let ended = room.run(
            "nohup sleep 1000 > /dev/null 2>&1 & echo $! > pid; until [ $(ps -o comm= -p $!) = sleep ]; do :; done",
        );
        assert_eq!(ended, Ended { exit: exit(0, None), leftovers: vec!["sleep".to_owned()] });
        assert!(!room.lives("pid"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_daemon_in_its_own_session_is_stopped() {
        if system::is_portable() {
            // Only where markers can be read, or orphans come to us.
            return;
        }
        let room = Room::new(11);
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
        let room = Room::new(12);
        let daemon = "env -i PATH=$PATH setsid sh -c 'echo $$ > pid; sleep 1000; :'";
        let ended = room.run(&format!("{daemon} & until [ -s pid ]; do sleep 0.01; done"));
        assert_eq!(ended.exit, exit(0, None));
        assert!(!ended.leftovers.is_empty() && !room.lives("pid"));
    }

    #[test]
    fn a_child_that_ignores_term_is_killed() {
        let room = Room::new(13);
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
        let room = Room::new(14);
        let interrupt = Interrupt::none();
        let child = room.shell("trap 'echo saved; exit 5' INT; echo ready; while :; do sleep 0.01; done");
        let mut on_tick = || {
            if room.read("stdout") == "ready\n" && interrupt.signal().is_none() {
                interrupt.raise(SIGINT);
            }
            Pulse::Alive
        };
        let ended = child.run_with(PATIENCE, &interrupt, &mut on_tick).unwrap();
        assert_eq!(ended.exit, exit(5, ExitReason::Interrupted));
        assert_eq!(room.read("stdout"), "ready\nsaved\n");
    }

    #[test]
    fn a_second_ctrl_c_leaves_no_time() {
        let room = Room::new(15);
        let interrupt = Interrupt::none();
        let child = room.shell("trap '' INT TERM; echo ready; while :; do sleep 1000; done");
        let mut on_tick = || {
            if room.read("stdout") == "ready\n" {
                interrupt.raise_urgent();
            }
            Pulse::Alive
        };
        let patient = Patience { interrupt: LONG, terminate: LONG };
        let started = Instant::now();
        let ended = child.run_with(patient, &interrupt, &mut on_tick).unwrap();
        assert_eq!(ended.exit, exit(137, ExitReason::Interrupted));
        assert!(started.elapsed() < LONG);
    }

    #[test]
    fn after_the_wish_to_stop_nothing_is_started() {
        let room = Room::new(16);
        let interrupt = Interrupt::none();
        interrupt.raise(SIGINT);
        let ended = room.shell("touch started").run(&interrupt, &mut || Pulse::Alive).unwrap();
        assert_eq!(ended.exit, exit(130, ExitReason::Interrupted));
        assert!(!room.path("started").exists());
    }

    #[test]
    fn a_child_that_the_terminal_stopped_does_not_hang_us() {
        let room = Room::new(17);
        let ended =
            room.run_with("kill -TTIN $$; exit 0", |child| child.limits.wall = Duration::from_millis(200));
        assert_eq!(ended.exit, exit(-1, ExitReason::Timeout));
    }

    #[test]
    fn too_much_output_stops_the_child_and_is_kept_up_to_the_limit() {
        let room = Room::new(18);
        let ended = room.run_with("yes >&2", |child| child.limits.output = 1 << 20);
        assert_eq!(ended.exit, exit(-1, ExitReason::OutputLimit));
        assert_eq!(room.read("stderr").len(), 1 << 20);
    }

    #[test]
    fn silence_stops_the_child_and_talk_does_not() {
        let idle = Some(Duration::from_millis(1500));
        let silent = Room::new(19);
        let ended = silent.run_with("echo one; sleep 1000", |child| child.limits.idle = idle);
        assert_eq!(ended.exit, exit(-1, ExitReason::IdleTimeout));
        assert_eq!(silent.read("stdout"), "one\n");

        let talking = Room::new(20);
        let script = "for i in 1 2 3 4 5 6 7 8 9 10; do echo $i >&2; sleep 0.2; done";
        assert_eq!(talking.run_with(script, |child| child.limits.idle = idle).exit, exit(0, None));
    }

    #[test]
    fn whoever_looks_sees_the_output_while_it_comes() {
        let room = Room::new(21);
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
        let room = Room::new(25);
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
        let room = Room::new(26);
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
        let (dead, other) = (Room::new(22), Room::new(23));
        let start = |room: &Room| {
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
}
