//! Children that hang, stop or outlive the loop, and signals.

#![expect(clippy::unwrap_used, reason = "a scene that cannot be set up has failed")]

use std::fs;
use std::process::Stdio;

use rustix::process::Signal;

use crate::sandbox::{Program, Sandbox, wait_until};

/// What `/proc` says of the state of a process: `S`, `T`, ...; `None` if it is gone.
fn state(pid: &str) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split(' ').next().map(str::to_owned)
}

fn is_alive(pid: &str) -> bool {
    state(pid).is_some_and(|state| state != "Z")
}

/// A scene with an agent that says `begun`, and waits for a file that nobody makes.
fn hanging() -> Sandbox {
    let scene = Sandbox::new();
    scene
        .agent_sh("echo $$ > ../agent-pid; echo thinking; : > begun; while [ ! -e go ]; do sleep 0.05; done");
    scene
}

// Only Linux has the program `setsid`.
#[cfg(target_os = "linux")]
#[test]
fn what_opens_the_terminal_fails_at_once() {
    let scene = Sandbox::new();
    scene.write("slow.txt", "text\n").write(".gitattributes", "slow.txt filter=asks\n");
    let asks =
        |what: &str| format!("if read answer 2> ../{what}.err < /dev/tty; then echo \"$answer\"; else ");
    scene.git(["config", "filter.asks.clean", &format!("{} cat; fi", asks("filter"))]);
    scene.agent_sh(&format!("{} echo no terminal; fi\ntick all", asks("agent")));
    scene.validate(&format!("{} echo none here; fi", asks("validation")));
    let terminal = nix::pty::openpty(None, None).unwrap();
    let inner = scene.call("").command();
    let mut outer = scene.hermetic("setsid");
    outer.args(["--ctty", "--wait"]).arg(inner.get_program()).args(inner.get_args());
    for (name, value) in inner.get_envs() {
        outer.env(name, value.unwrap_or_default());
    }
    let mut running = outer.stdin(Stdio::from(terminal.slave)).stdout(Stdio::null()).spawn().unwrap();
    let ended = wait_until("the end of the loop", || running.try_wait().unwrap());
    assert!(ended.success(), "{ended}");
    let session = scene.session();
    assert_eq!(session.text(1, "agent/stdout"), "no terminal\n");
    assert_eq!(session.text(1, "validation/stdout"), "none here\n");
    let refused = fs::read_to_string(scene.outside("filter.err")).unwrap();
    assert!(refused.contains("/dev/tty"), "{refused}");
    drop(terminal.master);
}

// Only Linux says which signals a process ignores.
#[cfg(target_os = "linux")]
#[test]
fn a_child_leads_a_session_and_begins_with_default_signals() {
    let scene = Sandbox::new();
    scene.agent_sh(
        "echo session $(cut -d' ' -f6 /proc/$$/stat) of $$\ngrep SigIgn /proc/self/status\ntick all",
    );
    let inner = scene.call("").command();
    let mut outer = scene.hermetic("sh");
    outer.args(["-c", "trap '' INT QUIT HUP TERM USR1; exec \"$@\"", "sh"]);
    outer.arg(inner.get_program()).args(inner.get_args());
    for (name, value) in inner.get_envs() {
        outer.env(name, value.unwrap_or_default());
    }
    assert!(outer.stdout(Stdio::null()).status().unwrap().success());
    let said = scene.session().text(1, "agent/stdout");
    let words: Vec<&str> = said.split_whitespace().collect();
    assert_eq!(words[1], words[3], "{said}");
    let ignored = u64::from_str_radix(words.last().unwrap(), 16).unwrap();
    let asked = [Signal::INT, Signal::QUIT, Signal::HUP, Signal::TERM, Signal::USR1];
    for signal in asked {
        assert_eq!(ignored & (1 << (signal.as_raw() - 1)), 0, "{signal:?}: {said}");
    }
}

#[test]
fn every_signal_that_ends_programs_ends_the_session_and_the_iteration_is_recorded_first() {
    let signals = [
        Signal::QUIT,
        Signal::USR1,
        Signal::USR2,
        Signal::ALARM,
        Signal::VTALARM,
        Signal::PROF,
        Signal::XCPU,
        Signal::XFSZ,
        #[cfg(target_os = "linux")]
        Signal::IO,
        #[cfg(target_os = "linux")]
        Signal::POWER,
    ];
    for signal in signals {
        let scene = hanging();
        let mut running = scene.spawn("");
        running.wait_for_file("begun").signal(signal);
        running.wait().code(128 + signal.as_raw());
        let session = scene.session();
        assert_eq!(session.trailers("Ralph-Outcome"), ["interrupted"], "{signal:?}");
        assert_eq!(session.text(1, "agent/stdout"), "thinking\n");
        assert_eq!(session.end()["status"], "interrupted");
        assert!(!is_alive(&fs::read_to_string(scene.outside("agent-pid")).unwrap()), "{signal:?}");
    }
}

#[test]
fn a_signal_that_is_ignored_at_the_start_stays_ignored() {
    for (name, signal) in [("HUP", Signal::HUP), ("INT", Signal::INT), ("USR1", Signal::USR1)] {
        let scene = hanging();
        let inner = scene.call("").command();
        let mut outer = scene.hermetic("sh");
        outer.args(["-c", &format!("trap '' {name}; exec \"$@\""), "sh"]);
        outer.arg(inner.get_program()).args(inner.get_args());
        for (name, value) in inner.get_envs() {
            outer.env(name, value.unwrap_or_default());
        }
        let mut running = outer.stdout(Stdio::null()).spawn().unwrap();
        wait_until("the agent", || scene.path("begun").exists().then_some(()));
        let pid = rustix::process::Pid::from_raw(i32::try_from(running.id()).unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
        rustix::process::kill_process(pid, Signal::TERM).unwrap();
        let ended = wait_until("the end of the loop", || running.try_wait().unwrap());
        assert_eq!(ended.code(), Some(143), "{name}");
    }
}

/// A clean filter that hangs the first time, and says that it runs.
fn with_hanging_filter() -> Sandbox {
    let scene = hanging();
    scene.write("a.slow", "text\n").write(".gitattributes", "*.slow filter=slow\n");
    fs::write(scene.outside("hang"), "").unwrap();
    let filter = "if rm ../hang 2> /dev/null; then echo $$ > ../filter-pid; exec sleep 1000; fi; cat";
    scene.git(["config", "filter.slow.clean", filter]);
    scene
}

#[test]
fn a_stop_ends_a_snapshot_that_hangs_in_a_filter_and_the_session_is_recorded() {
    for how in ["a signal", "stop --now"] {
        let scene = with_hanging_filter();
        let mut running = scene.spawn("");
        let pid = wait_until("the filter", || {
            fs::read_to_string(scene.outside("filter-pid")).ok().filter(|pid| pid.ends_with('\n'))
        });
        let code = if how == "a signal" {
            running.signal(Signal::TERM);
            143
        } else {
            scene.ralph(how);
            0
        };
        running
            .wait()
            .code(code)
            .stdout_has("no snapshot after the start")
            .stdout_has("stopped on request")
            .stdout_has("hint: if a clean filter hangs, ");
        assert!(!is_alive(&pid), "{how}");
        assert_eq!(scene.session().end()["status"], "interrupted", "{how}");
        scene.agent_script("[[turn]]\ndo = [{ tick = \"current\" }]");
        scene.ralph("resume --fresh-settings").code(0);
    }
}

#[test]
fn a_hook_that_hangs_at_the_end_of_a_session_heeds_a_stop() {
    let scene = Sandbox::with_succeeding_agent(1);
    scene.config("hooks.on-finish = \"echo $$ > ../hook-pid; : > hook; exec sleep 1000\"");
    let mut running = scene.spawn("");
    running.wait_for_file("hook").signal(Signal::TERM);
    running.wait().code(0).stderr_has("hooks.on-finish").stderr_has("stopped on request");
    assert!(!is_alive(&fs::read_to_string(scene.outside("hook-pid")).unwrap()));
}

#[test]
fn ctrl_z_stops_the_agent_with_the_loop_and_both_go_on() {
    let scene = Sandbox::new();
    // It waits without a child: while a shell waits for a stopped one to exec, its own state is not "stopped".
    scene.agent_sh("echo $$ > ../agent-pid; mkfifo ../go; : > begun; read -r _ < ../go\ntick all");
    let mut running = scene.spawn("");
    running.wait_for_file("begun").signal(Signal::TSTP);
    let own = running.pid().to_string();
    let agent = fs::read_to_string(scene.outside("agent-pid")).unwrap();
    for pid in [&own, &agent] {
        wait_until("a stop", || (state(pid)? == "T").then_some(()));
    }
    running.signal(Signal::CONT);
    fs::write(scene.outside("go"), "\n").unwrap();
    running.wait().code(0);
}

#[test]
fn what_cannot_be_started_is_said_as_before_and_leaves_no_file() {
    let scene = Sandbox::new();
    scene.write("odd", "#!/no/such/interpreter\n");
    fs::set_permissions(scene.path("odd"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    scene.agent("[agents.fake]\ncommand = [\"./odd\"]\n");
    scene.ralph("").code(6);
    let session = scene.session();
    assert_eq!(session.iteration(1)["exit_reason"], "start_failed");
    assert!(session.text(1, "agent/stderr").starts_with("cannot start `./odd`: No such file"));
    let left = scene.everything().into_keys().find(|path| path.to_string_lossy().ends_with(".not-started"));
    assert_eq!(left, None);
}

#[test]
fn an_agent_that_exits_127_has_been_started() {
    let scene = Sandbox::new();
    scene.agent_sh("echo tried; exit 127");
    scene.ralph("-n 1").code(4);
    let session = scene.session();
    assert_eq!(session.iteration(1)["exit"]["agent"], 127);
    assert_eq!(session.text(1, "agent/stdout"), "tried\n");
}

#[test]
fn a_parent_that_ignores_the_end_of_children_costs_none() {
    let scene = Sandbox::with_succeeding_agent(1);
    for words in [&["run", "-n", "1"][..], &["status"], &["log"]] {
        let mut command = scene.hermetic("env");
        command.args(["--ignore-signal=CHLD", Program::Specify.path(), "ralph"]).args(words);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_git_directory_that_was_moved_away_can_be_moved_back() {
    let scene = Sandbox::new();
    // Not through `ralph`, which looks at the repository afterwards.
    let ends = |script: &str| {
        scene.agent_sh(script);
        let output = scene.call("-n 1").command().output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains("/.git` is gone\nhint: move it back"), "{said}");
    };
    ends("mv .git ../away");
    assert!(!scene.path(".git").exists());
    fs::rename(scene.outside("away"), scene.path(".git")).unwrap();
    scene.git("fsck");
    ends("rm -rf \"$PWD\"");
    assert!(!scene.path("").exists());
    scene.skip_final_fsck();
}

#[test]
fn help_that_cannot_be_written_is_an_error() {
    let scene = Sandbox::new();
    for words in ["--help", "-h", "--version", "run --help"] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let status = scene.call(words).command().stdout(full).stderr(Stdio::null()).status().unwrap();
        assert_eq!(status.code(), Some(1), "{words}");
    }
}
