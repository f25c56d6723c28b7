//! What `ps` reports about processes, for systems without `/proc`: enough for groups and descent, no environments.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::process::{Pid, getpid};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;
use time::{PrimitiveDateTime, UtcOffset};

use super::{Carried, Process};

/// By how many seconds two times of birth of one process may differ.
pub(super) const BIRTH_TOLERANCE: u64 = 2;

/// How long `ps` may take. Without an answer nothing is known to run.
const PS_TIMEOUT: Duration = Duration::from_secs(30);

/// How `ps` prints the time at which a process began.
const LSTART: &[BorrowedFormatItem<'_>] =
    format_description!("[month repr:short] [day padding:none] [hour]:[minute]:[second] [year]");

pub(super) fn processes() -> Vec<Process> {
    list(&["-A"])
}

pub(super) fn process(pid: i32) -> Option<Process> {
    list(&["-p", &pid.to_string()]).pop()
}

fn list(which: &[&str]) -> Vec<Process> {
    let columns = ["pid=", "ppid=", "pgid=", "sess=", "stat=", "lstart=", "comm="];
    let columns = columns.iter().flat_map(|column| ["-o", column]);
    // Not a `Tool`: those are in the list of our children, which is held while this is asked.
    let ps = duct::cmd("ps", which.iter().copied().chain(columns))
        .dir("/")
        .env("LC_ALL", "C")
        .env("TZ", "UTC0")
        .stdin_null()
        .stdout_capture()
        .stderr_null()
        .unchecked();
    let Ok(started) = ps.start() else { return Vec::new() };
    let Ok(Some(output)) = started.wait_timeout(PS_TIMEOUT) else {
        let _gone = started.kill().is_ok();
        return Vec::new();
    };
    String::from_utf8_lossy(&output.stdout).lines().filter_map(parse_line).collect()
}

/// Returns the processor time of a process, to the second; zero if it is gone.
pub(super) fn processor_time(pid: i32) -> Duration {
    let ps = duct::cmd("ps", ["-o", "time=", "-p", &pid.to_string()]).dir("/").stdin_null().stderr_null();
    parse_time(&ps.unchecked().read().unwrap_or_default())
}

/// Reads `[DAYS-]HOURS:MINUTES:SECONDS`, or `MINUTES:SECONDS.HUNDREDTHS`.
fn parse_time(text: &str) -> Duration {
    let (days, time) = text.trim().split_once('-').unwrap_or(("0", text.trim()));
    let whole = time.split('.').next().unwrap_or_default();
    let seconds = whole.split(':').try_fold(0, |sum, part| Some(sum * 60 + part.parse::<u64>().ok()?));
    Duration::from_secs(seconds.unwrap_or(0) + days.parse::<u64>().unwrap_or(0) * 24 * 60 * 60)
}

/// Reads `PID PARENT GROUP SESSION STATE Sat Nov 21 20:45:12 2026 NAME`.
fn parse_line(line: &str) -> Option<Process> {
    let mut words = line.split_ascii_whitespace();
    let pid = words.next()?.parse().ok()?;
    let parent = words.next()?.parse().ok()?;
    let group = words.next()?.parse().ok()?;
    // macOS prints an address, or nothing of use.
    let session = words.next()?.parse().unwrap_or(0);
    let is_zombie = words.next()?.starts_with('Z');
    let _weekday = words.next()?;
    let began: Vec<&str> = words.by_ref().take(4).collect();
    let began = PrimitiveDateTime::parse(&began.join(" "), LSTART).ok()?.assume_offset(UtcOffset::UTC);
    let name = words.collect::<Vec<_>>().join(" ");
    Some(Process {
        pid,
        parent,
        group,
        session,
        born: u64::try_from(began.unix_timestamp()).ok()?,
        is_zombie,
        name,
    })
}

/// Returns the birth of a process that was started just now, roughly as `ps` reports it.
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

/// Returns our own process id.
pub(super) fn own_pid() -> i32 {
    Pid::as_raw(Some(getpid()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_ps_is_read() {
        let process = parse_line("  17     1    16    15 Ss   Sat Nov  7 20:45:12 2026 my program").unwrap();
        assert_eq!((process.pid, process.parent, process.group, process.session), (17, 1, 16, 15));
        assert_eq!((process.name.as_str(), process.born), ("my program", 1_794_084_312));
        assert!(!process.is_zombie);
        assert!(parse_line("17 1 16 15 Z+ Sat Nov 21 20:45:12 2026 gone").unwrap().is_zombie);
        assert!(parse_line("17 1 16 15 Ss Sat Nov").is_none());
    }

    #[test]
    fn times_of_ps_are_read() {
        for (text, seconds) in [
            ("00:01:02\n", 62),
            (" 2-03:00:01", 2 * 86400 + 3 * 3600 + 1),
            ("  12:05.33", 725),
            ("", 0),
            ("-", 0),
        ] {
            assert_eq!(parse_time(text), Duration::from_secs(seconds), "{text}");
        }
    }

    #[test]
    fn we_are_in_our_own_list() {
        let own = process(own_pid()).unwrap();
        let is_own =
            |process: &Process| process.pid == own.pid && process.born.abs_diff(own.born) <= BIRTH_TOLERANCE;
        assert!(processes().iter().any(is_own));
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
