//! The files in which Codex keeps its threads: the only place where it says exactly when a limit ends, which model it used,
//! and what a run that was stopped has spent.

use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};

use camino::{Utf8DirEntry, Utf8Path, Utf8PathBuf};
use serde_json::Value;

use super::stream::codex_tokens;
use ralph_core::record::{Timestamp, Tokens};
use ralph_project::project_files::open_plain;

/// Folders of days that are looked into, the newest first: a thread may have begun before midnight.
const MAX_DAY_FOLDERS: usize = 2;

/// How much of a file is read, from its end.
const MAX_BYTES: u64 = 32 << 20;

/// How much of a larger file is read from its start, where the model is named.
const MAX_HEAD_BYTES: u64 = 1 << 20;

/// What Codex keeps of a thread beside its stream.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Rollout {
    pub model: Option<String>,
    /// Of the whole thread, by its last report.
    pub tokens: Tokens,
    /// When the limits reset that are used up, by their last report.
    pub resets_at: Option<Timestamp>,
}

fn read(path: &Utf8Path) -> std::io::Result<Rollout> {
    let Some(mut file) = open_plain(path)? else { return Ok(Rollout::default()) };
    let length = file.metadata()?.len();
    let rest = length.saturating_sub(MAX_BYTES);
    let mut rollout = Rollout::default();
    for (start, count) in [(0, rest.min(MAX_HEAD_BYTES)), (rest, MAX_BYTES)] {
        file.seek(SeekFrom::Start(start))?;
        for line in BufReader::new((&mut file).take(count)).split(b'\n') {
            rollout.take(&serde_json::from_slice(&line?).unwrap_or_default());
        }
    }
    Ok(rollout)
}

/// Returns what is kept of a thread: nothing if there is no such file, or it cannot be read.
pub(super) fn of_thread(home: &Utf8Path, thread: &str) -> Rollout {
    find(home, thread).and_then(|path| read(&path).ok()).unwrap_or_default()
}

impl Rollout {
    fn take(&mut self, line: &Value) {
        let payload = &line["payload"];
        if line["type"] == "turn_context" {
            self.model = payload["model"].as_str().map(str::to_owned).or(self.model.take());
        }
        if payload["type"] == "token_count" {
            let tokens = codex_tokens(&payload["info"]["total_token_usage"]);
            self.tokens = if tokens.is_unknown() { self.tokens } else { tokens };
            if payload["rate_limits"].is_object() {
                self.resets_at = resets_at(&payload["rate_limits"]);
            }
        }
    }
}

fn resets_at(limits: &Value) -> Option<Timestamp> {
    let windows = [&limits["primary"], &limits["secondary"]].into_iter();
    windows
        .filter(|window| window["used_percent"].as_f64().is_some_and(|used| used >= 100.0))
        .filter_map(|window| window["resets_at"].as_i64())
        .max()
        .map(Timestamp::from_seconds)
}

/// Returns the file of a thread: `sessions/2026/11/21/rollout-2026-11-21T21-01-12-<thread>.jsonl`. Links are not followed.
fn find(home: &Utf8Path, thread: &str) -> Option<Utf8PathBuf> {
    if thread.is_empty() || !thread.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
        return None;
    }
    let end = format!("-{thread}.jsonl");
    let years = newest_first(&home.join("sessions"), is_number);
    let months = years.iter().flat_map(|year| newest_first(year, is_number));
    let days = months.flat_map(|month| newest_first(&month, is_number)).take(MAX_DAY_FOLDERS);
    days.into_iter().find_map(|day| {
        newest_first(&day, |entry| {
            let name = entry.file_name().strip_prefix("rollout-").and_then(|name| name.strip_suffix(&end));
            name.is_some_and(|time| {
                time.len() == 19 && time.chars().all(|c| matches!(c, '0'..='9' | 'T' | '-'))
            })
        })
        .into_iter()
        .next()
    })
}

/// Returns true for the folder of a year, a month or a day.
fn is_number(entry: &Utf8DirEntry) -> bool {
    entry.file_name().bytes().all(|byte| byte.is_ascii_digit())
        && entry.file_type().is_ok_and(|kind| kind.is_dir())
}

fn newest_first(folder: &Utf8Path, is_wanted: impl Fn(&Utf8DirEntry) -> bool) -> Vec<Utf8PathBuf> {
    let entries = folder.read_dir_utf8().into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.filter(is_wanted).map(Utf8DirEntry::into_path).collect();
    paths.sort_unstable_by(|one, other| other.cmp(one));
    paths
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const THREAD: &str = "01a1-ffe5";

    fn count(input: u64, output: u64) -> String {
        format!(
            r#"{{"type":"event_msg","payload":{{"type":"token_count","info":{{"total_token_usage":{{"input_tokens":{input},"cached_input_tokens":300,"output_tokens":{output}}}}}}}}}"#
        )
    }

    fn limits(primary: (f64, i64), secondary: (f64, i64)) -> String {
        let window =
            |(used, resets): (f64, i64)| format!(r#"{{"used_percent":{used},"resets_at":{resets}}}"#);
        format!(
            r#"{{"type":"event_msg","payload":{{"type":"token_count","rate_limits":{{"primary":{},"secondary":{}}}}}}}"#,
            window(primary),
            window(secondary)
        )
    }

    fn context(model: &str) -> String {
        format!(r#"{{"type":"turn_context","payload":{{"model":"{model}"}}}}"#)
    }

    /// Returns a home with a file of the thread in an older day, and the path of that file.
    fn home(lines: &[String]) -> (tempfile::TempDir, Utf8PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let days = Utf8Path::from_path(folder.path()).unwrap().join("sessions/2026/11");
        for day in ["09", "20", "21"] {
            std::fs::create_dir_all(days.join(day)).unwrap();
        }
        std::fs::write(days.join("21/rollout-2026-11-21T00-00-01-ffff.jsonl"), "").unwrap();
        std::fs::write(days.join("09/rollout-2026-11-09T23-59-59-01a1-01d1.jsonl"), lines.join("\n"))
            .unwrap();
        let path = days.join(format!("20/rollout-2026-11-20T23-59-59-{THREAD}.jsonl"));
        std::fs::write(&path, lines.join("\n")).unwrap();
        (folder, path)
    }

    fn read(lines: &[String], thread: &str) -> Rollout {
        let (home, _) = home(lines);
        of_thread(Utf8Path::from_path(home.path()).unwrap(), thread)
    }

    #[test]
    fn the_last_report_counts() {
        let early = limits((100.0, 5), (10.0, 9));
        let unknown =
            r#"{"type":"event_msg","payload":{"type":"token_count","info":null,"rate_limits":null}}"#
                .to_owned();
        for (last, expected) in [
            (limits((100.0, 50), (40.0, 90)), Some(50)),
            (limits((100.0, 50), (100.0, 90)), Some(90)),
            (limits((92.0, 50), (40.0, 90)), None),
        ] {
            let rollout = read(&[early.clone(), "no json".to_owned(), last, unknown.clone()], THREAD);
            assert_eq!(rollout.resets_at.map(Timestamp::seconds), expected);
            assert_eq!((rollout.model, rollout.tokens), (None, Tokens::default()));
        }
        let rollout = read(&[context("gpt-x"), count(400, 5), count(1500, 40), unknown], THREAD);
        let tokens = Tokens { input: Some(1200), cache_read: Some(300), cache_write: None, output: Some(40) };
        let model = Some("gpt-x".to_owned());
        assert_eq!(rollout, Rollout { model, tokens, resets_at: None });
    }

    #[test]
    fn only_the_file_of_that_thread_is_read() {
        let lines = [context("gpt-x")];
        for thread in ["", "*", "../01a1-ffe5", "none", "ffff", "ffe5", "01a1-01d1"] {
            assert_eq!(read(&lines, thread), Rollout::default(), "{thread}");
        }
        assert_eq!(of_thread(Utf8Path::new("/nowhere"), THREAD), Rollout::default());
    }

    #[test]
    fn planted_files_and_folders_are_passed_over() {
        let (home, path) = home(&[context("gpt-x")]);
        let root = Utf8Path::from_path(home.path()).unwrap();
        let sessions = root.join("sessions");
        let elsewhere = root.join("elsewhere");
        std::fs::create_dir_all(elsewhere.join("01/01")).unwrap();
        std::fs::create_dir_all(sessions.join("latest/01/01")).unwrap();
        let name = path.file_name().unwrap();
        for folder in [elsewhere.join("01/01"), sessions.join("latest/01/01")] {
            std::fs::write(folder.join(name), context("planted")).unwrap();
        }
        std::fs::write(path.with_file_name(format!("rollout-later-{THREAD}.jsonl")), context("planted"))
            .unwrap();
        std::os::unix::fs::symlink(&elsewhere, sessions.join("2027")).unwrap();
        assert_eq!(of_thread(root, THREAD).model.as_deref(), Some("gpt-x"));
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(elsewhere.join("01/01").join(name), &path).unwrap();
        assert_eq!(of_thread(root, THREAD), Rollout::default());
    }

    #[test]
    fn of_a_large_file_its_start_and_its_end_are_read() {
        let (home, path) = home(&[context("gpt-x"), String::new()]);
        let mut file = std::fs::File::options().append(true).open(&path).unwrap();
        file.set_len(3 * MAX_BYTES).unwrap();
        file.write_all(format!("\n{}\n", count(1500, 40)).as_bytes()).unwrap();
        let rollout = of_thread(Utf8Path::from_path(home.path()).unwrap(), THREAD);
        assert_eq!((rollout.model.as_deref(), rollout.tokens.output), (Some("gpt-x"), Some(40)));
    }
}
