//! The files in which Codex keeps its threads: the only place where it says exactly when a limit ends.

use std::fs::File;
use std::io::{BufRead, BufReader};

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use crate::record::Timestamp;

/// Folders of days that are looked into, the newest first: a thread may have begun before midnight.
const MAX_DAY_FOLDERS: usize = 2;

/// Returns when the limits of a thread reset, by its last report, or `None` if there is no such file or limit.
pub(super) fn resets_at(home: &Utf8Path, thread: &str) -> Option<Timestamp> {
    let file = File::open(find(home, thread)?).ok()?;
    let mut limits = Value::Null;
    for line in BufReader::new(file).split(b'\n') {
        let Ok(event) = serde_json::from_slice::<Value>(&line.ok()?) else { continue };
        let payload = &event["payload"];
        if payload["type"] == "token_count" && payload["rate_limits"].is_object() {
            limits = payload["rate_limits"].clone();
        }
    }
    let windows = [&limits["primary"], &limits["secondary"]].into_iter();
    windows
        .filter(|window| window["used_percent"].as_f64().is_some_and(|used| used >= 100.0))
        .filter_map(|window| window["resets_at"].as_i64())
        .max()
        .map(Timestamp::from_seconds)
}

/// `sessions/2026/11/21/rollout-<time>-<thread>.jsonl`
fn find(home: &Utf8Path, thread: &str) -> Option<Utf8PathBuf> {
    if thread.is_empty() || !thread.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
        return None;
    }
    let end = format!("-{thread}.jsonl");
    let years = newest_first(&home.join("sessions"));
    let months = years.iter().flat_map(|year| newest_first(year));
    let days = months.flat_map(|month| newest_first(&month)).take(MAX_DAY_FOLDERS);
    let mut files = days.flat_map(|day| newest_first(&day));
    files.find(|path| {
        path.file_name().is_some_and(|name| name.starts_with("rollout-") && name.ends_with(&end))
    })
}

fn newest_first(folder: &Utf8Path) -> Vec<Utf8PathBuf> {
    let entries = folder.read_dir_utf8().into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(camino::Utf8DirEntry::into_path).collect();
    paths.sort_unstable_by(|one, other| other.cmp(one));
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(primary: (f64, i64), secondary: (f64, i64)) -> String {
        let window =
            |(used, resets): (f64, i64)| format!(r#"{{"used_percent":{used},"resets_at":{resets}}}"#);
        format!(
            r#"{{"type":"event_msg","payload":{{"type":"token_count","rate_limits":{{"primary":{},"secondary":{}}}}}}}"#,
            window(primary),
            window(secondary)
        )
    }

    fn read(lines: &[String], thread: &str) -> Option<i64> {
        let folder = tempfile::tempdir().unwrap();
        let home = Utf8Path::from_path(folder.path()).unwrap();
        let days = home.join("sessions/2026/11");
        for day in ["09", "20", "21"] {
            std::fs::create_dir_all(days.join(day)).unwrap();
        }
        std::fs::write(days.join("21/rollout-2026-11-21T00-00-01-ffff.jsonl"), "").unwrap();
        std::fs::write(days.join("20/rollout-2026-11-20T23-59-59-01a1-ffe5.jsonl"), lines.join("\n"))
            .unwrap();
        std::fs::write(days.join("09/rollout-2026-11-09T23-59-59-old1.jsonl"), lines.join("\n")).unwrap();
        resets_at(home, thread).map(Timestamp::seconds)
    }

    #[test]
    fn the_latest_end_of_what_is_used_up_counts() {
        let early = report((100.0, 5), (10.0, 9));
        let noise = "no json".to_owned();
        let unknown =
            r#"{"type":"event_msg","payload":{"type":"token_count","rate_limits":null}}"#.to_owned();
        for (last, expected) in [
            (report((100.0, 50), (40.0, 90)), Some(50)),
            (report((100.0, 50), (100.0, 90)), Some(90)),
            (report((92.0, 50), (40.0, 90)), None),
        ] {
            assert_eq!(read(&[early.clone(), noise.clone(), last, unknown.clone()], "01a1-ffe5"), expected);
        }
        assert_eq!(read(&[early], "01a1-ffe5"), Some(5));
    }

    #[test]
    fn only_the_file_of_that_thread_is_read() {
        let lines = [report((100.0, 5), (10.0, 9))];
        for thread in ["", "*", "../01a1-ffe5", "none", "ffff", "old1"] {
            assert_eq!(read(&lines, thread), None, "{thread}");
        }
        assert_eq!(resets_at(Utf8Path::new("/nowhere"), "01a1"), None);
    }
}
