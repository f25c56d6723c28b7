//! What the system reports about processes: on Linux by `/proc`, elsewhere by `sysinfo`.

use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use camino::Utf8Path;

#[cfg(target_os = "linux")]
use super::linux;
use super::registry::{Role, pids};
use super::{Carried, Process, portable};

#[cfg(target_os = "linux")]
pub(super) use linux::more_ending_signals;
#[cfg(not(target_os = "linux"))]
pub(super) use portable::more_ending_signals;

static IS_PORTABLE: AtomicBool = AtomicBool::new(cfg!(not(target_os = "linux")));

/// Has Linux treated like any other system, so that tests there run what others run.
pub fn use_portable_processes() {
    IS_PORTABLE.store(true, Ordering::Relaxed);
}

/// Returns true if the environments of processes are hidden and orphans go to init, so that what a dead loop left must
/// be found by notes.
pub(super) fn is_portable() -> bool {
    IS_PORTABLE.load(Ordering::Relaxed)
}

/// Has orphans of our children become our children, if the system can do that. Returns whether it does.
pub(super) fn adopt_orphans() -> bool {
    #[cfg(target_os = "linux")]
    if !is_portable() {
        return linux::adopt_orphans();
    }
    false
}

/// Returns true if we may have children, zombies included. With adopted orphans: whether anything was left behind.
pub(super) fn has_children() -> bool {
    #[cfg(target_os = "linux")]
    if !is_portable() {
        return linux::has_children();
    }
    true
}

/// Returns true if an orphan that we adopted has ended and waits to be reaped.
pub(super) fn has_zombies() -> bool {
    #[cfg(target_os = "linux")]
    if !is_portable() {
        return linux::has_zombies();
    }
    false
}

/// Returns every process that can be seen.
pub(super) fn processes() -> Vec<Process> {
    #[cfg(target_os = "linux")]
    if !is_portable() {
        return linux::processes();
    }
    portable::processes()
}

/// Returns true if a program of git's runs with its current folder in one of `folders`, or if that cannot be told. One that
/// only waits for us does not count.
pub fn is_git_running(folders: &[&Utf8Path]) -> bool {
    is_git_there(folders, |_| true)
}

/// Returns true if one of them may take objects to which no ref leads.
pub fn is_git_pruning(folders: &[&Utf8Path]) -> bool {
    is_git_there(folders, |pid| {
        let words = command_line(pid);
        words.iter().any(|word| matches!(word.trim_start_matches("git-"), "gc" | "prune" | "repack"))
    })
}

fn is_git_there(folders: &[&Utf8Path], is_meant: impl Fn(i32) -> bool) -> bool {
    let started = pids().clone();
    let mut running = processes().into_iter().filter(|process| {
        (process.name == "git" || process.name.starts_with("git-"))
            && !process.is_zombie
            && started.get(&process.pid) != Some(&Role::Resident)
    });
    running.any(|process| {
        let is_here = match current_folder(process.pid) {
            Ok(folder) => folders.iter().any(|known| folder.starts_with(known)),
            // One that has just ended has none.
            Err(error) => error.kind() != ErrorKind::NotFound,
        };
        is_here && is_meant(process.pid)
    })
}

/// Returns the words that a process was started with; none if it is gone, or if they are hidden.
fn command_line(pid: i32) -> Vec<String> {
    #[cfg(target_os = "linux")]
    if !is_portable() {
        return linux::command_line(pid);
    }
    portable::command_line(pid)
}

/// Returns the current folder of a process.
fn current_folder(pid: i32) -> io::Result<PathBuf> {
    #[cfg(target_os = "linux")]
    if !is_portable() {
        return linux::current_folder(pid);
    }
    portable::current_folder(pid)
}

/// Returns one process; `None` if it is gone.
pub(super) fn process(pid: i32) -> Option<Process> {
    #[cfg(target_os = "linux")]
    if !is_portable() {
        return linux::process(pid);
    }
    portable::process(pid)
}

/// Returns the processor time that a process used so far, with that of its children that have ended.
pub(super) fn processor_time(pid: i32) -> Duration {
    #[cfg(target_os = "linux")]
    if !is_portable() {
        return linux::processor_time(pid);
    }
    portable::processor_time(pid)
}

/// Returns true if two times of birth of one pid are those of one process.
pub(super) fn is_same_birth(one: u64, other: u64) -> bool {
    // It is in seconds there, and counted from the time of boot, which the system corrects now and then.
    one.abs_diff(other) <= if is_portable() { portable::BIRTH_TOLERANCE } else { 0 }
}

/// Returns the birth of a process that was started just now, where to ask the system for it takes long.
pub(super) fn birth_now() -> Option<u64> {
    is_portable().then(portable::birth_now).flatten()
}

/// Returns whose marker the process was started with: this one if it has all of `marks`, else another's if it has
/// `variable` at all.
pub(super) fn carried(pid: i32, variable: &str, marks: &[(&str, &str)]) -> Carried {
    #[cfg(target_os = "linux")]
    if !is_portable() {
        return linux::carried(pid, variable, marks);
    }
    portable::carried(pid, variable, marks)
}

/// Returns the signals that we were started with ignored, as `nohup` does with the hang-up.
pub(super) fn ignored_signals() -> Vec<i32> {
    #[cfg(target_os = "linux")]
    if !is_portable() {
        return linux::ignored_signals();
    }
    portable::ignored_signals()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_git_that_prunes_is_seen_where_it_runs() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        let folders = [Utf8Path::from_path(&path).unwrap()];
        duct::cmd!("git", "init", "--quiet").dir(&path).run().unwrap();
        // It asks for an attribute, and waits for paths.
        for (attribute, is_pruning) in [("prune", true), ("text", false)] {
            let (input, waits) = io::pipe().unwrap();
            let running = duct::cmd!("git", "check-attr", "--stdin", attribute).dir(&path).stdin_file(input);
            let running = running.start().unwrap();
            let pid = running.pids()[0].cast_signed();
            assert!(is_git_running(&folders));
            assert_eq!(is_git_pruning(&folders), is_pruning);
            assert!(portable::command_line(pid).iter().any(|word| word == attribute));
            drop(waits);
            running.wait().unwrap();
        }
    }
}
