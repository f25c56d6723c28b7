//! What systems other than Linux report about processes: enough for groups and descent, no environments.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sysinfo::{ProcessRefreshKind, ProcessStatus, ProcessesToUpdate, System, UpdateKind};

use super::{Carried, Process};
use crate::platform::{self, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

/// By how many seconds two times of birth of one process may differ.
pub(super) const BIRTH_TOLERANCE: u64 = 2;

pub(super) fn processes() -> Vec<Process> {
    let listed = look(ProcessesToUpdate::All, ProcessRefreshKind::nothing());
    let mut all: Vec<Process> = listed.processes().values().filter_map(as_process).collect();
    if cfg!(windows) {
        forget_reused_parents(&mut all);
    }
    all
}

/// Windows keeps the number of a parent that is gone, and gives it to other processes: a parent is older than its child.
fn forget_reused_parents(all: &mut [Process]) {
    let born: BTreeMap<i32, u64> = all.iter().map(|process| (process.pid, process.born)).collect();
    for process in all {
        if born.get(&process.parent).is_none_or(|parent| *parent > process.born) {
            process.parent = 0;
        }
    }
}

pub(super) fn process(pid: i32) -> Option<Process> {
    one(pid, ProcessRefreshKind::nothing(), as_process).flatten()
}

/// Returns the processor time of a process; zero if it is gone.
pub(super) fn processor_time(pid: i32) -> Duration {
    let used = one(pid, ProcessRefreshKind::nothing().with_cpu(), sysinfo::Process::accumulated_cpu_time);
    Duration::from_millis(used.unwrap_or(0))
}

/// Returns the current folder of a process.
pub(super) fn current_folder(pid: i32) -> io::Result<PathBuf> {
    let kind = ProcessRefreshKind::nothing().with_cwd(UpdateKind::Always);
    let folder = one(pid, kind, |process| process.cwd().map(Path::to_owned)).ok_or(ErrorKind::NotFound)?;
    // Of a process of somebody else it is not to be seen.
    Ok(folder.ok_or(ErrorKind::PermissionDenied)?)
}

/// Returns the words that a process was started with.
pub(super) fn command_line(pid: i32) -> Vec<String> {
    let words = |process: &sysinfo::Process| {
        process.cmd().iter().map(|word| word.to_string_lossy().into_owned()).collect()
    };
    one(pid, ProcessRefreshKind::nothing().with_cmd(UpdateKind::Always), words).unwrap_or_default()
}

fn one<T>(pid: i32, kind: ProcessRefreshKind, read: impl Fn(&sysinfo::Process) -> T) -> Option<T> {
    let pid = sysinfo::Pid::from_u32(pid.cast_unsigned());
    look(ProcessesToUpdate::Some(&[pid]), kind).process(pid).map(read)
}

fn look(which: ProcessesToUpdate<'_>, kind: ProcessRefreshKind) -> System {
    let mut system = System::new();
    system.refresh_processes_specifics(which, true, kind.without_tasks());
    system
}

fn number(pid: sysinfo::Pid) -> i32 {
    pid.as_u32().cast_signed()
}

/// `None` if it has ended meanwhile.
fn as_process(process: &sysinfo::Process) -> Option<Process> {
    let pid = number(process.pid());
    // On Windows it is that of the user at the screen.
    let session = process.session_id().filter(|_| cfg!(unix)).map_or(0, number);
    // A process of the kernel's, or from outside of a container, has neither session nor group that could be named.
    let group = if session == 0 { 0 } else { platform::group_of(pid)? };
    Some(Process {
        pid,
        parent: process.parent().map_or(0, number),
        group,
        session,
        born: process.start_time(),
        is_zombie: process.status() == ProcessStatus::Zombie,
        name: platform::program_name(Path::new(process.name())).unwrap_or_default().to_owned(),
    })
}

/// Returns the birth of a process that was started just now, roughly as the system will report it.
pub(super) fn birth_now() -> Option<u64> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the births of processes are the system's, not the story's"
    )]
    let now = SystemTime::now();
    now.duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs())
}

/// Environments of others are not to be seen.
pub(super) fn carried(_pid: i32, _variable: &str, _marks: &[(&str, &str)]) -> Carried {
    Carried::Nothing
}

/// Of the signals that shells and `nohup` ignore for others, those that we were started with ignored. A program that
/// we start inherits that, so one that sends itself such a signal shows it by surviving.
pub(super) fn ignored_signals() -> Vec<i32> {
    const PROBE: &str = "ulimit -c 0; for n do sh -c 'kill -$0 $$' $n && echo $n; done";
    if cfg!(windows) {
        return Vec::new();
    }
    let signals = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2].map(|signal| signal.to_string());
    let probe = duct::cmd("sh", ["-c", PROBE, "sh"].into_iter().chain(signals.iter().map(String::as_str)))
        .stdin_null()
        .stderr_null()
        .unchecked();
    let printed = probe.read().unwrap_or_default();
    printed.lines().filter_map(|line| line.trim().parse().ok()).collect()
}

/// Returns the signals by which only this system ends a program.
#[cfg(not(target_os = "linux"))]
pub(super) fn more_ending_signals() -> Vec<i32> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use crate::platform::own_pid;

    use super::*;

    #[test]
    fn a_parent_is_older_than_its_child() {
        let process = |pid, parent, born| Process {
            pid,
            parent,
            group: 0,
            session: 0,
            born,
            is_zombie: false,
            name: String::new(),
        };
        let mut all =
            [process(4, 0, 1), process(8, 4, 2), process(12, 16, 3), process(16, 4, 9), process(20, 24, 5)];
        forget_reused_parents(&mut all);
        assert_eq!(all.map(|process| process.parent), [0, 4, 0, 4, 0]);
    }

    #[test]
    fn we_are_in_our_own_list() {
        let own = process(own_pid()).unwrap();
        let is_own =
            |process: &Process| process.pid == own.pid && process.born.abs_diff(own.born) <= BIRTH_TOLERANCE;
        assert!(processes().iter().any(is_own));
        // Whoever starts a session outside of a container gives it no number inside.
        let group = if own.session == 0 { 0 } else { platform::group_of(own_pid()).unwrap() };
        assert_eq!((own.group, own.is_zombie), (group, false));
        assert_eq!(current_folder(own_pid()).unwrap(), std::env::current_dir().unwrap());
    }

    #[test]
    fn a_signal_that_we_were_started_with_ignored_is_seen() {
        let name = "process::portable::tests::a_signal_that_we_were_started_with_ignored_is_seen";
        if std::env::vars_os().any(|(name, _)| name == "RALPH_TEST_ALONE") {
            println!("ignored: {:?}", ignored_signals());
            return;
        }
        let alone = duct::cmd(
            "sh",
            ["-c", "trap '' HUP QUIT; exec \"$@\"", "sh"].map(Into::into).into_iter().chain([
                std::env::current_exe().unwrap().into_os_string(),
                "--exact".into(),
                name.into(),
                "--nocapture".into(),
            ]),
        )
        .env("RALPH_TEST_ALONE", "1")
        .read()
        .unwrap();
        let line = alone.lines().find_map(|line| line.split_once("ignored: ")).unwrap().1;
        assert!(line.contains('1') && line.contains('3') && !line.contains("15"), "{line}");
    }
}
