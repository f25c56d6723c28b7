//! What only Linux reports about processes: `/proc`, their environments, and the adoption of orphans.

use std::fs;
use std::io;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{Signal, WaitId, WaitIdOptions, getpid, set_child_subreaper, waitid};

use super::{Carried, Process};

/// Has orphans of our children become our children, instead of getting out of sight under init.
pub(super) fn adopt_orphans() -> bool {
    set_child_subreaper(Some(getpid())).is_ok()
}

/// Returns true if we have children at all, zombies included. With adopted orphans: whether anything was left behind.
pub(super) fn has_children() -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::All, options), Err(rustix::io::Errno::CHILD))
}

/// Returns true if one of our children has ended and waits to be reaped.
pub(super) fn has_zombies() -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(waitid(WaitId::All, options), Ok(Some(_)))
}

/// Returns every process that can be seen.
pub(super) fn processes() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| process(entry.file_name().to_str()?.parse().ok()?)).collect()
}

/// Returns one process, or `None` if it is gone.
pub(super) fn process(pid: i32) -> Option<Process> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse_stat(pid, &String::from_utf8_lossy(&stat))
}

/// Returns the processor time of a process and of its children that have ended; zero if it is gone.
pub(super) fn processor_time(pid: i32) -> Duration {
    let stat = fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
    parse_processor_time(&String::from_utf8_lossy(&stat)).unwrap_or_default()
}

/// Reads the fields 14 to 17 of the line: its own ticks and those of its children, of the user's and of the system's time.
fn parse_processor_time(stat: &str) -> Option<Duration> {
    /// Milliseconds of a tick of the clock, which is the same on all architectures.
    const TICK_MS: u64 = 10;
    let (_, rest) = stat.rsplit_once(')')?;
    let ticks: Option<Vec<u64>> =
        rest.split_ascii_whitespace().skip(11).take(4).map(|field| field.parse().ok()).collect();
    Some(Duration::from_millis(ticks?.iter().sum::<u64>() * TICK_MS))
}

/// Returns the current folder of a process; another user's is hidden.
pub(super) fn current_folder(pid: i32) -> io::Result<PathBuf> {
    fs::read_link(format!("/proc/{pid}/cwd"))
}

/// Returns the words that a process was started with; none if it is gone, or another user's that is hidden.
pub(super) fn command_line(pid: i32) -> Vec<String> {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    words.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// Reads `PID (NAME) STATE PARENT GROUP SESSION ...`, where the name may hold blanks and brackets.
fn parse_stat(pid: i32, stat: &str) -> Option<Process> {
    let (head, rest) = stat.rsplit_once(')')?;
    let (_, name) = head.split_once('(')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    Some(Process {
        pid,
        is_zombie: matches!(*fields.first()?, "Z" | "X"),
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        // The 22nd field of the line: clock ticks since boot.
        born: fields.get(19)?.parse().ok()?,
        name: name.to_owned(),
    })
}

fn value_in<'e>(environment: &'e [u8], name: &str) -> Option<&'e [u8]> {
    let mut entries = environment.split(|byte| *byte == 0);
    entries.find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
}

/// Returns whose marker the process was started with: this one if it has all of `marks`, else another's if it has
/// `variable` at all.
pub(super) fn carried(pid: i32, variable: &str, marks: &[(&str, &str)]) -> Carried {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    if marks.iter().all(|(name, expected)| value_in(&environment, name) == Some(expected.as_bytes())) {
        Carried::This
    } else if value_in(&environment, variable).is_some() {
        Carried::Another
    } else {
        Carried::Nothing
    }
}

/// Returns the signals that we were started with ignored, as `nohup` does with the hang-up.
pub(super) fn ignored_signals() -> Vec<i32> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    (1..=64).filter(|signal| mask & (1 << (signal - 1)) != 0).collect()
}

/// Returns the signals by which only Linux ends a program.
pub(super) fn more_ending_signals() -> Vec<i32> {
    /// The real-time signals that programs may use.
    // The first real-time signal is musl's own, which lets nobody listen to it.
    const REAL_TIME: RangeInclusive<i32> = if cfg!(target_env = "musl") { 35..=64 } else { 34..=64 };
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    const STACK_FAULT: Option<Signal> = Some(Signal::STKFLT);
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    const STACK_FAULT: Option<Signal> = None;
    let single = [Signal::IO, Signal::POWER].into_iter().chain(STACK_FAULT);
    single.map(Signal::as_raw).chain(REAL_TIME).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::own_pid;

    #[test]
    fn a_name_with_blanks_and_brackets_is_read_whole() {
        let stat = "12 (a) (b c) S 3 4 5 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 789 0";
        let process = parse_stat(12, stat).unwrap();
        assert_eq!((process.parent, process.group, process.session, process.born), (3, 4, 5, 789));
        assert_eq!(process.name, "a) (b c");
        assert!(!process.is_zombie);
    }

    #[test]
    fn a_line_that_is_cut_is_no_process() {
        for stat in ["", "12", "12 (a", "12 (a) S", "12 (a) S 3 4"] {
            assert!(parse_stat(12, stat).is_none(), "{stat}");
        }
    }

    #[test]
    fn processor_time_is_that_of_the_process_and_of_its_children() {
        let stat = "12 (a) (b c) S 3 4 5 0 -1 0 11 12 13 14 7 20 100 2 20 0 1 0 789 0";
        assert_eq!(parse_processor_time(stat), Some(Duration::from_millis(1290)));
        assert_eq!(parse_processor_time("12 (a) S 3 x"), Some(Duration::ZERO));
        assert_eq!(parse_processor_time(""), None);
        while processor_time(own_pid()) == Duration::ZERO {}
    }

    #[test]
    fn we_are_in_our_own_list() {
        let own = process(own_pid()).unwrap();
        assert!(processes().iter().any(|process| process.pid == own.pid && process.born == own.born));
    }
}
