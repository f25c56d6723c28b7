//! Making progress.txt again from what the records hold, and comparing it with the file that is there.

use std::ops::Range;

use super::{header_with, patterns, separator, session_line};
use crate::record::{SessionId, Timestamp};

/// Fewer bytes than this may end a file for any reason.
const SURE: usize = 4;

/// `base`, the file as it once stood, with everything that was appended to it since: nothing but joined, so that
/// a shell script with `cat` does the same.
pub fn rebuild<'a>(base: &[u8], appended: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    appended.into_iter().fold(base.to_vec(), |mut file, text| {
        file.extend_from_slice(text);
        file
    })
}

/// Appends texts each of which begins on a line of its own.
fn append_lines<'a>(file: &[u8], texts: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
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
    sessions.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut file = header_with(feature, started, patterns).into_bytes();
    for (session, entries) in sessions {
        let line = session_line(&session).into_bytes();
        file = append_lines(&file, std::iter::once(&line).chain(&entries).map(Vec::as_slice));
    }
    file
}

/// Returns `file` with the patterns of `other`, which belong to people. `None` if that changes nothing, or
/// where one of the two has no such section with something after it (a file may be torn anywhere).
pub fn with_patterns_of(other: &[u8], file: &[u8]) -> Option<Vec<u8>> {
    let (theirs, ours) = (&other[whole_patterns(other)?], whole_patterns(file)?);
    (file[ours.clone()] != *theirs).then(|| [&file[..ours.start], theirs, &file[ours.end..]].concat())
}

fn whole_patterns(file: &[u8]) -> Option<Range<usize>> {
    let text = std::str::from_utf8(file).ok()?;
    patterns(text)
        .filter(|section| section.end < text.len() && !text[section.clone()].contains("<!-- session "))
}

/// The first line in which two files differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Numbered from 1.
    pub line: usize,
    /// `None` if the file should have ended.
    pub expected: Option<String>,
    /// `None` if the file ends.
    pub found: Option<String>,
}

pub fn difference(expected: &[u8], found: &[u8]) -> Option<Difference> {
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
            return Some(Difference { line, expected: expected.map(text), found: found.map(text) });
        }
    }
}

/// Returns a line for people. What it ends in is shown only if it is not the usual.
fn text(line: &[u8]) -> String {
    match line.strip_suffix(b"\n") {
        Some(line) => String::from_utf8_lossy(line).into_owned(),
        None => format!("{} (no line end)", String::from_utf8_lossy(line)),
    }
}

/// What brings a file up to the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CatchUp {
    UpToDate,
    /// The file ends early: we fell between the record and the file.
    Append(Vec<u8>),
    /// There is no file, or nothing in it.
    Rebuild(Vec<u8>),
    /// A person changed it: what is theirs stays.
    Edited {
        /// What to append: the entries after the last one that the file has, as it was or with other words.
        missing: Vec<u8>,
        /// Places, in the list of entries, of those before it that are not there as they were written.
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
    let is_there = present(entries, found);
    let is_accounted_for = |index: &usize| is_there[*index] || was_edited(entries[*index], found);
    let known = (0..entries.len()).rev().find(is_accounted_for).map_or(0, |last| last + 1);
    let changed_entries = (0..known).filter(|&index| !is_there[index]).collect();
    let mut after = found.to_vec();
    if let Some((first, rest)) = entries[known..].split_first() {
        match torn(first, found) {
            0 => after = append_lines(&after, [*first]),
            torn => after.extend_from_slice(&first[torn..]),
        }
        after = append_lines(&after, rest.iter().copied());
    }
    CatchUp::Edited { missing: after.split_off(found.len()), changed_entries }
}

/// Returns which entries `found` holds. Entries mostly are in order, so each is looked for after the one before.
fn present(entries: &[&[u8]], found: &[u8]) -> Vec<bool> {
    let mut from = 0;
    entries
        .iter()
        .map(|entry| match position(&found[from..], entry) {
            Some(at) => {
                from += at + entry.len();
                true
            }
            None => position(&found[..from], entry).is_some(),
        })
        .collect()
}

/// Returns true if `found` has the heading of an entry, though not the entry as it was written.
fn was_edited(entry: &[u8], found: &[u8]) -> bool {
    let is_heading = |line: &&[u8]| line.starts_with(b"## Iteration ") || line.starts_with(b"<!-- session ");
    let heading = entry.split_inclusive(|&byte| byte == b'\n').find(is_heading);
    heading.is_some_and(|heading| position(found, heading).is_some()) && torn(entry, found) == 0
}

fn position(bytes: &[u8], part: &[u8]) -> Option<usize> {
    if part.is_empty() {
        return Some(0);
    }
    bytes.windows(part.len()).position(|window| window == part)
}

/// Returns how much of `entry` is at the end of `found` already: a crash may tear an append.
fn torn(entry: &[u8], found: &[u8]) -> usize {
    let longest = entry.len().saturating_sub(1).min(found.len());
    (SURE..=longest).rev().find(|&length| found.ends_with(&entry[..length])).unwrap_or(0)
}
