//! What many iterations changed, by one run of git.

use std::collections::HashMap;

use anyhow::Result;
use camino::Utf8Path;

use ralph_core::record::ObjectId;
use ralph_os::process::Tool;
use ralph_store::{Matcher, line};
use ralph_ui::log::MatchingLine;
use ralph_ui::report::Text;

/// Returns the patches between pairs of snapshots by the later one, each cut at `most` bytes. Equal pairs have none.
pub fn between(
    pairs: &[(ObjectId, ObjectId)],
    top: &Utf8Path,
    journal: &str,
    most: usize,
) -> Result<HashMap<ObjectId, Text>> {
    let mut reader = Patches { most, line: Vec::new(), length: 0, now: None, done: HashMap::new() };
    if !pairs.is_empty() {
        diff_tree(pairs, top, journal).stream(&mut |bytes| reader.take(bytes))?;
    }
    Ok(reader.finish())
}

fn diff_tree(pairs: &[(ObjectId, ObjectId)], top: &Utf8Path, journal: &str) -> Tool {
    let wanted: String = pairs.iter().map(|(before, after)| format!("{after} {before}\n")).collect();
    Tool::git(top)
        .args(["diff-tree", "--stdin", "-r", "-p", "-M", "--no-color", "--no-ext-diff", "--no-textconv"])
        // The journal is a view of the record, and grows with every iteration.
        .args(["--", ":(top)", &format!(":(top,exclude,literal){journal}")])
        .stdin(wanted)
}

/// Returns the first matching line that was added or removed between pairs of snapshots, by the later one.
pub fn matching_lines(
    pairs: &[(ObjectId, ObjectId)],
    top: &Utf8Path,
    journal: &str,
    find: Matcher<'_>,
) -> Result<HashMap<ObjectId, MatchingLine>> {
    let mut reader = ChangedLines {
        find,
        rest: Vec::new(),
        now: None,
        file: String::new(),
        is_body: false,
        found: HashMap::new(),
    };
    if !pairs.is_empty() {
        diff_tree(pairs, top, journal).stream(&mut |bytes| reader.take(bytes))?;
    }
    reader.end_line();
    Ok(reader.found)
}

/// Longest part of a line that is looked at, in bytes.
const MAX_LINE_BYTES: usize = 1 << 16;

/// Looks at the changed lines of the output, one after the other.
struct ChangedLines<'a> {
    find: Matcher<'a>,
    /// The start of the line that is being read.
    rest: Vec<u8>,
    /// The later snapshot of the pair that is being read, as long as nothing is found in it.
    now: Option<ObjectId>,
    /// The file in it.
    file: String,
    /// True behind the first line `@@ `.
    is_body: bool,
    found: HashMap<ObjectId, MatchingLine>,
}

impl ChangedLines<'_> {
    fn take(&mut self, mut bytes: &[u8]) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.add(&bytes[..end]);
            self.end_line();
            bytes = &bytes[end + 1..];
        }
        self.add(bytes);
    }

    fn add(&mut self, bytes: &[u8]) {
        let room = MAX_LINE_BYTES - self.rest.len();
        self.rest.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn end_line(&mut self) {
        let text = std::mem::take(&mut self.rest);
        match text.first() {
            // Within a patch no line begins with a digit.
            Some(b'0'..=b'9' | b'a'..=b'f') => {
                let id = std::str::from_utf8(&text).ok().and_then(|line| line.parse::<ObjectId>().ok());
                if id.is_some() {
                    self.now = id;
                    self.file.clear();
                } else if let Some(name) = text.strip_prefix(b"diff --git ") {
                    let name = String::from_utf8_lossy(name);
                    name.rsplit_once(" b/").map_or("", |(_, name)| name).clone_into(&mut self.file);
                    self.is_body = false;
                }
            }
            Some(b'@') => self.is_body = true,
            Some(b'+' | b'-') if self.is_body => self.look(&text[1..]),
            _ => {}
        }
    }

    fn look(&mut self, text: &[u8]) {
        let Some(line) = self.now.as_ref().and_then(|_| line(text, self.find)) else { return };
        if let Some(id) = self.now.take() {
            self.found.insert(id, (self.file.clone(), line));
        }
    }
}

/// Splits the output into patches, and keeps the start of each.
struct Patches {
    most: usize,
    /// The start of the line that is being read, no longer than the rest of what is kept.
    line: Vec<u8>,
    /// Of all of that line.
    length: usize,
    now: Option<(ObjectId, Vec<u8>, u64)>,
    done: HashMap<ObjectId, Text>,
}

impl Patches {
    fn take(&mut self, mut bytes: &[u8]) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.add(&bytes[..end]);
            self.end_line();
            bytes = &bytes[end + 1..];
        }
        self.add(bytes);
    }

    fn add(&mut self, bytes: &[u8]) {
        let room = self.most.max(80).saturating_sub(self.line.len());
        self.line.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.length += bytes.len();
    }

    fn end_line(&mut self) {
        // Within a patch no line begins with a digit.
        let line = std::str::from_utf8(&self.line)
            .ok()
            .filter(|line| line.starts_with(|c: char| c.is_ascii_hexdigit()));
        if let Some(id) = line.and_then(|line| line.parse::<ObjectId>().ok()) {
            self.end_patch();
            self.now = Some((id, Vec::new(), 0));
        } else if let Some((_, text, length)) = &mut self.now {
            *length += self.length as u64 + 1;
            if text.len() < self.most {
                self.line.push(b'\n');
                let room = self.most - text.len();
                text.extend_from_slice(&self.line[..self.line.len().min(room)]);
            }
        }
        self.line.clear();
        self.length = 0;
    }

    fn end_patch(&mut self) {
        if let Some((id, text, length)) = self.now.take() {
            self.done.insert(id, Text::of(&text, length));
        }
    }

    fn finish(mut self) -> HashMap<ObjectId, Text> {
        if self.length > 0 {
            self.end_line();
        }
        self.end_patch();
        self.done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_are_separated_however_the_bytes_arrive_and_long_ones_are_cut() {
        let (one, other) = ("1".repeat(40), "2".repeat(40));
        let text = format!("{one}\ndiff --git a/x b/x\n+{}\n{other}\n+short\n", "y".repeat(500));
        for step in [1, 7, 4096] {
            let mut reader =
                Patches { most: 100, line: Vec::new(), length: 0, now: None, done: HashMap::new() };
            text.as_bytes().chunks(step).for_each(|part| reader.take(part));
            let found = reader.finish();
            let long = &found[&one.parse().unwrap()];
            assert_eq!((long.text.len(), long.bytes, long.is_cut), (100, 521, true), "{}", long.text);
            assert_eq!(found[&other.parse().unwrap()], Text::whole("+short\n".to_owned()));
        }
    }

    #[test]
    fn only_changed_lines_are_looked_at_however_the_bytes_arrive() {
        let ids = ["1", "2", "3"].map(|digit| digit.repeat(40));
        let file = "diff --git a/x b/needle\nindex 1..2\n--- a/x\n+++ b/needle\n";
        let text = format!(
            "{}\n{file}@@ -1 +1 @@ needle\n needle\n+no\n{}\n{file}@@ -1 +1 @@\n--- a needle\n+needle 2\n{}\n{file}@@ -1 +1 @@\n+last needle",
            ids[0], ids[1], ids[2]
        );
        let find = |bytes: &[u8]| {
            let at = bytes.windows(6).position(|part| part == b"needle")?;
            Some(at..at + 6)
        };
        for step in [1, 7, 4096] {
            let mut reader = ChangedLines {
                find: &find,
                rest: Vec::new(),
                now: None,
                file: String::new(),
                is_body: false,
                found: HashMap::new(),
            };
            text.as_bytes().chunks(step).for_each(|part| reader.take(part));
            reader.end_line();
            let line = |id: &str| reader.found.get(&id.parse().unwrap()).map(|found| found.1.as_str());
            assert_eq!(ids.each_ref().map(|id| line(id)), [None, Some("-- a needle"), Some("last needle")]);
            assert!(reader.found.values().all(|found| found.0 == "needle"));
        }
    }
}
