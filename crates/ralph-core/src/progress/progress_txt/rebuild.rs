//! Rebuilds progress.txt from the records, and compares it with the existing file.

use std::ops::Range;

use serde::Serialize;

use super::{header_with, patterns_range, separator, session_marker};
use crate::record::{SessionId, Timestamp};

/// Minimum length, in bytes, of a torn entry at the end of a file; a shorter match may be a coincidence.
const MIN_TORN_BYTES: usize = 4;

/// What the heading of each entry begins with.
const ENTRY_HEADING: &[u8] = b"## Iteration ";

/// Returns `base` followed by everything that was appended to it since. This is plain concatenation, as by `cat`.
pub fn rebuild<'a>(base: &[u8], appended: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    appended.into_iter().fold(base.to_vec(), |mut file, text| {
        file.extend_from_slice(text);
        file
    })
}

/// Returns `file` with each of `texts` appended on a new line.
fn with_lines<'a>(file: &[u8], texts: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    texts.into_iter().fold(file.to_vec(), |mut file, text| {
        file.extend_from_slice(separator(&file).as_bytes());
        file.extend_from_slice(text);
        file
    })
}

/// Returns a file with the entries of all sessions, in the order of their ids.
pub fn rebuild_all(
    feature: &str,
    started: Timestamp,
    patterns: &str,
    mut sessions: Vec<(SessionId, Vec<Vec<u8>>)>,
) -> Vec<u8> {
    sessions.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut file = header_with(feature, started, patterns).into_bytes();
    for (session, entries) in sessions {
        let line = session_marker(&session).into_bytes();
        file = with_lines(&file, std::iter::once(&line).chain(&entries).map(Vec::as_slice));
    }
    file
}

/// Returns `file` with the section "Codebase Patterns" of `other`, which users edit. `None` if that changes nothing, or if
/// either section is missing or has nothing after it (a file may be torn anywhere).
pub fn with_patterns_of(other: &[u8], file: &[u8]) -> Option<Vec<u8>> {
    let (kept, replaced) = (&other[complete_patterns_range(other)?], complete_patterns_range(file)?);
    (file[replaced.clone()] != *kept).then(|| [&file[..replaced.start], kept, &file[replaced.end..]].concat())
}

fn complete_patterns_range(file: &[u8]) -> Option<Range<usize>> {
    let text = std::str::from_utf8(file).ok()?;
    patterns_range(text)
        .filter(|section| section.end < text.len() && !text[section.clone()].contains("<!-- session "))
}

/// Returns `file` with those of `entries`, and with the `patterns`, that it has no more: where agents or users wrote it
/// anew or changed past entries, the record still has them.
pub fn with_lost(file: &[u8], entries: &[Vec<u8>], patterns: Option<&str>) -> Vec<u8> {
    let bodies: Vec<&[u8]> = entries.iter().filter_map(|entry| body(entry)).collect();
    let mut file = file.to_vec();
    let is_present = present(bodies.iter().copied(), &file);
    // From the end: the place of an entry is before the one that follows it.
    let mut next = None;
    let is_whole = !is_present.contains(&false);
    for (entry, is_present) in bodies.iter().zip(is_present).rev().filter(|_| !is_whole) {
        if !is_present {
            let found = changed_range(entry, &file);
            let at = found.clone().map_or_else(|| next.unwrap_or(file.len()), |range| range.start);
            let gap = separator(&file[..at]);
            let text = [gap.as_bytes(), entry].concat();
            file.splice(found.unwrap_or(at..at), text);
        }
        next = position(&file, entry).or(next);
    }
    match patterns.filter(|patterns| !patterns.trim().is_empty()) {
        Some(patterns) => with_lost_patterns(file, patterns),
        None => file,
    }
}

/// Returns `file` with `patterns` if its own section is missing or empty.
fn with_lost_patterns(mut file: Vec<u8>, patterns: &str) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(&file) else { return file };
    let patterns = patterns.trim();
    match patterns_range(text) {
        Some(range) if !text[range.clone()].trim().is_empty() => {}
        Some(range) => drop(file.splice(range, format!("\n{patterns}\n\n").into_bytes())),
        None => {
            let title =
                if text.starts_with("# ") { text.find('\n').map_or(text.len(), |end| end + 1) } else { 0 };
            let gap = separator(&file[..title]);
            let section = format!("{gap}\n## Codebase Patterns\n\n{patterns}\n\n---\n\n");
            drop(file.splice(title..title, section.into_bytes()));
        }
    }
    file
}

/// Returns an entry from its heading on: what is before it is the head of the file, or a marker.
fn body(entry: &[u8]) -> Option<&[u8]> {
    let mut at = 0;
    for line in entry.split_inclusive(|&byte| byte == b'\n') {
        if line.starts_with(ENTRY_HEADING) {
            return Some(&entry[at..]);
        }
        at += line.len();
    }
    None
}

/// Returns where `file` has another text under the heading of `entry`.
fn changed_range(entry: &[u8], file: &[u8]) -> Option<Range<usize>> {
    let heading = entry.split_inclusive(|&byte| byte == b'\n').next()?;
    let start = position(file, heading)?;
    let from = start + heading.len();
    let ends: [&[u8]; 3] = [b"\n---\n\n", b"\n## Iteration ", b"\n<!-- session "];
    let end = ends.iter().filter_map(|end| {
        let at = from + position(&file[from..], end)?;
        Some(at + if end.starts_with(b"\n---") { end.len() } else { 1 })
    });
    Some(start..end.min().unwrap_or(file.len()))
}

/// The first line in which two files differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Numbered from 1.
    pub line: usize,
    /// `None` if the file should have ended.
    #[serde(rename = "record")]
    pub expected: Option<String>,
    /// `None` if the file ends.
    #[serde(rename = "file")]
    pub found: Option<String>,
}

/// Returns the first line that differs, or `None` if the files are equal.
pub fn first_difference(expected: &[u8], found: &[u8]) -> Option<Difference> {
    if expected == found {
        return None;
    }
    let mut expected = expected.split_inclusive(|&byte| byte == b'\n');
    let mut found = found.split_inclusive(|&byte| byte == b'\n');
    let mut line = 0;
    loop {
        line += 1;
        let (expected, found) = (expected.next(), found.next());
        if expected != found {
            return Some(Difference {
                line,
                expected: expected.map(display_line),
                found: found.map(display_line),
            });
        }
    }
}

/// Returns the line as text, which says so if it has no newline.
fn display_line(line: &[u8]) -> String {
    match line.strip_suffix(b"\n") {
        Some(line) => String::from_utf8_lossy(line).into_owned(),
        None => format!("{} (no newline at end of file)", String::from_utf8_lossy(line)),
    }
}

/// How to bring progress.txt up to date with the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CatchUp {
    UpToDate,
    /// The file lacks its last bytes: the loop died after it wrote the record and before it wrote the file.
    Append(Vec<u8>),
    /// The file is missing or empty.
    Rebuild(Vec<u8>),
    /// The user edited the file; the edits are kept.
    Edited {
        /// The text to append: all entries after the last one that the file has, edited or not.
        missing: Vec<u8>,
        /// The indices of earlier entries that were edited or removed.
        changed_entries: Vec<usize>,
    },
}

/// Compares the file as `found` (empty if there is none) with `base` and the entries after it.
pub fn catch_up(entries: &[&[u8]], base: &[u8], found: &[u8]) -> CatchUp {
    let expected = rebuild(base, entries.iter().copied());
    if found.starts_with(&expected) {
        return CatchUp::UpToDate;
    }
    if found.is_empty() {
        return CatchUp::Rebuild(expected);
    }
    if let Some(rest) = expected.strip_prefix(found) {
        return CatchUp::Append(rest.to_vec());
    }
    let is_present = present(entries.iter().map(|entry| without_header(entry)), found);
    let known_count = (0..entries.len())
        .rev()
        .find(|index| is_present[*index] || has_heading_of(entries[*index], found))
        .map_or(0, |last| last + 1);
    let changed_entries = (0..known_count).filter(|&index| !is_present[index]).collect();
    let mut after = found.to_vec();
    if let Some((first, rest)) = entries[known_count..].split_first() {
        match torn_prefix_len(first, found) {
            0 => after = with_lines(&after, [*first]),
            torn => after.extend_from_slice(&first[torn..]),
        }
        after = with_lines(&after, rest.iter().copied());
    }
    CatchUp::Edited { missing: after.split_off(found.len()), changed_entries }
}

/// Returns what a session wrote into the file, without the header of a new one: people edit the section that it has.
fn without_header(entry: &[u8]) -> &[u8] {
    let marker = entry.starts_with(b"# ").then(|| position(entry, b"\n<!-- session ")).flatten();
    marker.map_or(entry, |at| &entry[at + 1..])
}

/// Returns which entries `found` holds. Entries mostly are in order, so each is looked for after the one before.
fn present<'a>(entries: impl Iterator<Item = &'a [u8]>, found: &[u8]) -> Vec<bool> {
    let mut from = 0;
    entries
        .map(|entry| match position(&found[from..], entry) {
            Some(at) => {
                from += at + entry.len();
                true
            }
            None => position(&found[..from], entry).is_some(),
        })
        .collect()
}

/// Returns true if `found` has the heading of `entry`, and does not end with a torn copy of it.
fn has_heading_of(entry: &[u8], found: &[u8]) -> bool {
    let begins = [ENTRY_HEADING, b"## Session ended ", b"<!-- session "];
    let heading = entry
        .split_inclusive(|&byte| byte == b'\n')
        .find(|line| begins.iter().any(|begin| line.starts_with(begin)));
    heading.is_some_and(|heading| position(found, heading).is_some()) && torn_prefix_len(entry, found) == 0
}

fn position(bytes: &[u8], part: &[u8]) -> Option<usize> {
    if part.is_empty() {
        return Some(0);
    }
    bytes.windows(part.len()).position(|window| window == part)
}

/// Returns the length of the prefix of `entry` that `found` ends with, or 0. A crash can cut an append short.
fn torn_prefix_len(entry: &[u8], found: &[u8]) -> usize {
    let longest = entry.len().saturating_sub(1).min(found.len());
    (MIN_TORN_BYTES..=longest).rev().find(|&length| found.ends_with(&entry[..length])).unwrap_or(0)
}
