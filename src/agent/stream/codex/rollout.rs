//! The file in which codex keeps a session: the only place where it tells when a limit ends.

use std::fs;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use super::super::text;
use crate::agent::lines::tail;
use crate::record::Timestamp;

/// How much of the file's end is looked at. The limits come with every answer.
const END: u64 = 256 << 10;

/// How many folders of days are looked through, the newest first: a session may have begun before midnight.
const DAYS: usize = 2;

/// When the limit ends that a thread ran into, where its file can be found and says so.
pub(super) fn resets_at(codex_home: &Utf8Path, thread: &str) -> Option<Timestamp> {
    let file = find(&codex_home.join("sessions"), thread)?;
    let end = tail(&file, END).ok()?;
    let events = end.lines().rev().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut limits = events
        .filter(|event| text(&event["payload"], "type") == "token_count")
        .map(|mut event| event["payload"]["rate_limits"].take());
    end_of(&limits.find(|limits| !limits.is_null())?)
}

/// The last end of those windows that are used up.
fn end_of(limits: &Value) -> Option<Timestamp> {
    let windows = ["primary", "secondary"].map(|name| &limits[name]);
    let used_up = windows.into_iter().filter(|window| window["used_percent"].as_f64() >= Some(100.0));
    used_up.filter_map(|window| window["resets_at"].as_i64()).max().map(Timestamp::from_seconds)
}

/// `sessions/<year>/<month>/<day>/rollout-<time>-<thread>.jsonl`.
fn find(sessions: &Utf8Path, thread: &str) -> Option<Utf8PathBuf> {
    let end = format!("-{thread}.jsonl");
    let days = newest(sessions).into_iter().flat_map(|year| newest(&year)).flat_map(|month| newest(&month));
    let files = days.take(DAYS).flat_map(|day| newest(&day));
    if thread.is_empty() { None } else { files.into_iter().find(|file| file.as_str().ends_with(&end)) }
}

/// What is in a folder, the last name first.
fn newest(folder: &Utf8Path) -> Vec<Utf8PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> =
        entries.filter_map(|entry| Utf8PathBuf::from_path_buf(entry.path()).ok()).collect();
    paths.sort_unstable_by(|one, other| other.cmp(one));
    paths
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn of_the_windows_that_are_used_up_the_last_one_counts() {
        for (primary, secondary, end) in [
            (
                json!({"used_percent": 100.0, "resets_at": 50}),
                json!({"used_percent": 40.0, "resets_at": 900}),
                Some(50),
            ),
            (
                json!({"used_percent": 100, "resets_at": 50}),
                json!({"used_percent": 100, "resets_at": 900}),
                Some(900),
            ),
            (json!({"used_percent": 3.5, "resets_at": 50}), Value::Null, None),
            (json!({"used_percent": 100.0}), json!("odd"), None),
        ] {
            let limits = json!({"primary": primary, "secondary": secondary});
            assert_eq!(end_of(&limits), end.map(Timestamp::from_seconds), "{limits}");
        }
    }

    #[test]
    fn the_file_of_the_thread_is_found_and_its_last_limits_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let home = Utf8Path::from_path(folder.path()).unwrap();
        let write = |day: &str, thread: &str, lines: &[Value]| {
            let day = home.join("sessions/2026/11").join(day);
            fs::create_dir_all(&day).unwrap();
            let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
            fs::write(day.join(format!("rollout-2026-11-{thread}.jsonl")), lines.join("\n")).unwrap();
        };
        let count = |end: Option<i64>| {
            let limits = end.map(|end| json!({"primary": {"used_percent": 100.0, "resets_at": end}}));
            json!({"type": "event_msg", "payload": {"type": "token_count", "rate_limits": limits}})
        };
        write("20", "t-1", &[count(Some(1))]);
        write("21", "t-2", &[count(Some(2)), count(Some(3)), count(None), json!({"payload": 7})]);
        write("22", "t-3", &[]);
        for (thread, end) in [("t-1", None), ("t-2", Some(3)), ("t-3", None), ("t-4", None), ("", None)] {
            assert_eq!(resets_at(home, thread), end.map(Timestamp::from_seconds), "{thread}");
        }
        assert_eq!(resets_at(&home.join("none"), "t-2"), None);
    }
}
