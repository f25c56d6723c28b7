//! What many iterations changed, by one run of git.

use std::collections::HashMap;

use anyhow::Result;
use camino::Utf8Path;

use crate::process::Tool;
use crate::record::ObjectId;
use crate::view::report::Text;

/// Returns the patches between pairs of snapshots by the later one, each cut at `most` bytes. Equal pairs have none.
pub fn between(
    pairs: &[(ObjectId, ObjectId)],
    top: &Utf8Path,
    journal: &str,
    most: usize,
) -> Result<HashMap<ObjectId, Text>> {
    if pairs.is_empty() {
        return Ok(HashMap::new());
    }
    let wanted: String = pairs.iter().map(|(before, after)| format!("{after} {before}\n")).collect();
    let git = Tool::git(top)
        .args(["diff-tree", "--stdin", "-r", "-p", "-M", "--no-color", "--no-ext-diff", "--no-textconv"])
        // The journal is a view of the record, and grows with every iteration.
        .args(["--", ":(top)", &format!(":(top,exclude,literal){journal}")])
        .stdin(wanted);
    let mut reader = Patches { most, line: Vec::new(), length: 0, now: None, done: HashMap::new() };
    git.stream(&mut |bytes| reader.take(bytes))?;
    Ok(reader.finish())
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
        let id = std::str::from_utf8(&self.line).ok().and_then(|line| line.parse::<ObjectId>().ok());
        if let Some(id) = id {
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
}
