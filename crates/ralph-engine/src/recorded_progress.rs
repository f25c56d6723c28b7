//! progress.txt as the record has it.

use anyhow::Result;

use ralph_core::progress::progress_txt;
use ralph_core::record::{LogEntry, RecordKind};
use ralph_store::{RecordReader, SessionLog, Store};

/// Returns what progress.txt was after the last record of a session, from its record alone, with the entries and patterns
/// that somebody took out of it meanwhile.
pub fn expected_progress(store: &Store, log: &SessionLog) -> Result<Vec<u8>> {
    // All entries, and the newest text under the heading of the patterns.
    let (mut entries, mut patterns): (Vec<Vec<u8>>, Option<String>) = (Vec::new(), None);
    // The newest text that was found, and how many entries came before it.
    let (mut newest, mut before) = (Vec::new(), 0);
    // True if somebody else changed the file after it had something to lose.
    let mut may_have_lost = false;
    each_text(store, log, |base, entry| {
        if let Some(base) = base {
            may_have_lost |= !entries.is_empty() || patterns.is_some();
            let text = String::from_utf8_lossy(&base);
            let range = progress_txt::patterns_range(&text);
            let found = range.map(|range| text[range].trim().to_owned());
            patterns = found.filter(|found| !found.is_empty()).or(patterns.take());
            (newest, before) = (base, entries.len());
        }
        entries.extend(entry);
    })?;
    let file = progress_txt::rebuild(&newest, entries[before..].iter().map(Vec::as_slice));
    Ok(if may_have_lost { progress_txt::with_lost(&file, &entries, patterns.as_deref()) } else { file })
}

/// Returns the newest text that somebody left in progress.txt, and the entries after it.
pub(super) fn progress_parts(store: &Store, log: &SessionLog) -> Result<(Vec<u8>, Vec<Vec<u8>>)> {
    let (mut newest, mut entries) = (Vec::new(), Vec::new());
    each_text(store, log, |base, entry| {
        if let Some(base) = base {
            (newest, entries) = (base, Vec::new());
        }
        entries.extend(entry);
    })?;
    Ok((newest, entries))
}

/// Hands on what each record has of progress.txt: the text that somebody left in it, and the entry of its own.
fn each_text(
    store: &Store,
    log: &SessionLog,
    mut each: impl FnMut(Option<Vec<u8>>, Option<Vec<u8>>),
) -> Result<()> {
    let reader = store.reader()?;
    for entry in log.entries.iter() {
        let [base, text] =
            ["progress.base.md", "progress.md"].map(|path| readable(store, &reader, entry, path));
        each(base, text);
    }
    Ok(())
}

/// Returns a file of a record: one that cannot be read must not cost the others.
fn readable(store: &Store, reader: &RecordReader<'_>, entry: &LogEntry, path: &str) -> Option<Vec<u8>> {
    store.or_leave_out(entry, reader.file(&entry.commit(), path)).flatten()
}

/// progress.txt with all sessions of a feature in the order of their ids, under the newest patterns.
pub fn rebuilt_of_all(store: &Store, logs: &[SessionLog]) -> Result<Vec<u8>> {
    let Some((first, newest)) = logs.first().zip(logs.last()) else { return Ok(Vec::new()) };
    let text = String::from_utf8_lossy(&expected_progress(store, newest)?).into_owned();
    let patterns =
        progress_txt::patterns_range(&text).map(|range| text[range].to_owned()).unwrap_or_default();
    let name = newest.feature().rsplit('/').next().unwrap_or_default();
    let mut sessions = Vec::new();
    let reader = store.reader()?;
    for log in logs {
        // What the first record has, header and mark of the session, is made anew.
        let entries = log
            .entries
            .iter()
            .filter(|entry| matches!(entry.kind(), RecordKind::Iteration | RecordKind::End));
        let entries = entries.filter_map(|entry| readable(store, &reader, entry, "progress.md"));
        sessions.push((log.id().clone(), entries.collect()));
    }
    Ok(progress_txt::rebuild_all(name, first.entries[0].started_at(), &patterns, sessions))
}
