//! What `ps` tells about processes, for systems without `/proc`: enough for groups and descent, no markers.

use std::hash::{DefaultHasher, Hash, Hasher};

use rustix::process::{Pid, getpid};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use super::{Carried, Process, Tool};

/// Orphans go to init here.
pub(super) fn adopt_orphans() -> bool {
    false
}

pub(super) fn has_children() -> bool {
    true
}

pub(super) fn has_zombies() -> bool {
    false
}

pub(super) fn processes() -> Vec<Process> {
    list(&["-A"])
}

pub(super) fn process(pid: i32) -> Option<Process> {
    list(&["-p", &pid.to_string()]).pop()
}

fn list(which: &[&str]) -> Vec<Process> {
    let columns = ["pid=", "ppid=", "pgid=", "stat=", "lstart=", "comm="];
    let ps = Tool::new("ps", camino::Utf8Path::new("/"))
        .args(which.iter().copied())
        .args(columns.into_iter().flat_map(|column| ["-o", column]));
    let Ok(captured) = ps.run() else { return Vec::new() };
    String::from_utf8_lossy(&captured.stdout).lines().filter_map(parse_line).collect()
}

/// Reads `PID PARENT GROUP STATE Sat Nov 21 20:45:12 2026 NAME`.
fn parse_line(line: &str) -> Option<Process> {
    let mut words = line.split_ascii_whitespace();
    let pid = words.next()?.parse().ok()?;
    let parent = words.next()?.parse().ok()?;
    let group = words.next()?.parse().ok()?;
    let is_zombie = words.next()?.starts_with('Z');
    let mut born = DefaultHasher::new();
    for _ in 0..5 {
        words.next()?.hash(&mut born);
    }
    let name = words.collect::<Vec<_>>().join(" ");
    Some(Process { pid, parent, group, born: born.finish(), is_zombie, name })
}

pub(super) fn carried(_pid: i32, _variable: &str, _marks: &[(&str, &str)]) -> Carried {
    Carried::Nothing
}

/// Of the signals that shells and `nohup` ignore for others, those that we were started with ignored. A program that
/// we start inherits that, so one that sends itself such a signal tells by living on.
pub(super) fn ignored_signals() -> Vec<i32> {
    const PROBE: &str = "ulimit -c 0; for n do sh -c 'kill -$0 $$' $n && echo $n; done";
    let signals = [SIGHUP, SIGINT, SIGQUIT, SIGTERM].map(|signal| signal.to_string());
    let probe = duct::cmd("sh", ["-c", PROBE, "sh"].into_iter().chain(signals.iter().map(String::as_str)))
        .stdin_null()
        .stderr_null()
        .unchecked();
    let printed = probe.read().unwrap_or_default();
    printed.lines().filter_map(|line| line.trim().parse().ok()).collect()
}

pub(super) fn own_pid() -> i32 {
    Pid::as_raw(Some(getpid()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_ps_is_read() {
        let process = parse_line("  17     1    16 Ss   Sat Nov 21 20:45:12 2026 my program").unwrap();
        assert_eq!((process.pid, process.parent, process.group), (17, 1, 16));
        assert_eq!(process.name, "my program");
        assert!(!process.is_zombie);
        assert!(parse_line("17 1 16 Z+ Sat Nov 21 20:45:12 2026 gone").unwrap().is_zombie);
        assert!(parse_line("17 1 16 Ss Sat Nov").is_none());
    }

    #[test]
    fn we_are_in_our_own_list() {
        let own = process(own_pid()).unwrap();
        assert!(processes().iter().any(|process| process.pid == own.pid && process.born == own.born));
        assert_eq!(carried(own.pid, "RALPH_SESSION", &[("RALPH_SESSION", "any")]), Carried::Nothing);
        assert!(!adopt_orphans() && has_children() && !has_zombies());
    }
}
