//! Looking for text in the files of records.

use std::collections::HashMap;
use std::ops::Range;

use anyhow::Result;

use ralph_core::record::ObjectId;

use super::json_texts::texts;
use super::reader::RecordReader;
use crate::Store;

/// A line longer than this is looked at in parts.
const MAX_LINE_BYTES: usize = 1 << 20;
/// How much of a part is looked at again with the next.
const OVERLAP: usize = 1 << 12;
/// How much of a line is returned before and after what was found in it.
const MAX_CONTEXT_BYTES: usize = 120;

/// What an agent printed: its answers are texts of a stream of JSON objects.
const ANSWER: &str = "agent/stdout";

/// Returns where the text is in whole lines, several at a time.
pub type Matcher<'a> = &'a dyn Fn(&[u8]) -> Option<Range<usize>>;

/// Looks into one record after the other, and into files that several have only once.
pub struct Search<'a> {
    reader: RecordReader<'a>,
    find: Matcher<'a>,
    seen: HashMap<Vec<gix::ObjectId>, Option<String>>,
}

impl Store {
    /// Returns a search for the text that `find` finds.
    pub fn search<'a>(&'a self, find: Matcher<'a>) -> Result<Search<'a>> {
        Ok(Search { reader: self.reader()?, find, seen: HashMap::new() })
    }
}

impl<'a> Search<'a> {
    /// Returns what reads the records.
    pub fn reader(&self) -> &RecordReader<'a> {
        &self.reader
    }

    /// Returns the first line of a file of a record in which the text is, or the part of it around the text.
    pub fn line_in(&mut self, commit: &ObjectId, path: &str) -> Result<Option<String>> {
        let Some(chunks) = self.reader.chunks(commit, path)? else { return Ok(None) };
        if let Some(known) = self.seen.get(&chunks) {
            return Ok(known.clone());
        }
        let found = if path == ANSWER {
            // An agent may print its prompt.
            let prompt = self.reader.file(commit, "prompt.md")?.unwrap_or_default();
            let prompt = String::from_utf8_lossy(&prompt).trim().to_owned();
            self.look(&chunks, &mut |bytes| self.in_answer(bytes, &prompt))?
        } else {
            self.look(&chunks, &mut |bytes| line(bytes, self.find))?
        };
        self.seen.insert(chunks, found.clone());
        Ok(found)
    }

    /// Gives whole lines of a file to `look`, until it finds something.
    fn look(
        &self,
        chunks: &[gix::ObjectId],
        look: &mut dyn FnMut(&[u8]) -> Option<String>,
    ) -> Result<Option<String>> {
        let mut bytes = Vec::new();
        for chunk in chunks {
            self.reader.write_chunk(chunk, &mut bytes)?;
            let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            let (end, kept) = match bytes.len() - end {
                0..MAX_LINE_BYTES => (end, end),
                _ => (bytes.len(), bytes.len() - OVERLAP),
            };
            if let Some(found) = look(&bytes[..end]) {
                return Ok(Some(found));
            }
            bytes.drain(..kept);
        }
        Ok(look(&bytes))
    }

    fn in_answer(&self, bytes: &[u8], prompt: &str) -> Option<String> {
        // Lines that are no JSON stay together: an expression may match several.
        let mut plain = 0;
        let mut at = 0;
        for printed in bytes.split_inclusive(|byte| *byte == b'\n') {
            let end = at + printed.len();
            if let Some(texts) = texts(printed) {
                let found = line(&bytes[plain..at], self.find).or_else(|| {
                    texts
                        .iter()
                        .filter(|text| prompt.is_empty() || !text.contains(prompt))
                        .find_map(|text| line(text.as_bytes(), self.find))
                });
                if found.is_some() {
                    return found;
                }
                plain = end;
            }
            at = end;
        }
        line(&bytes[plain..], self.find)
    }
}

/// Returns the line in which a match begins, or the part of it around the match.
pub fn line(bytes: &[u8], find: Matcher<'_>) -> Option<String> {
    let found = find(bytes)?;
    let start = bytes[..found.start].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let end = bytes[found.start..].iter().position(|byte| *byte == b'\n');
    let end = end.map_or(bytes.len(), |length| found.start + length);
    let from = start.max(found.start.saturating_sub(MAX_CONTEXT_BYTES));
    let to = end.min(found.end.max(found.start).saturating_add(MAX_CONTEXT_BYTES));
    let text = String::from_utf8_lossy(&bytes[from..to]);
    // Characters that were cut in two.
    let text = text.trim_matches(char::REPLACEMENT_CHARACTER).trim();
    let (before, after) = (if from > start { "…" } else { "" }, if to < end { "…" } else { "" });
    Some(format!("{before}{text}{after}"))
}

#[cfg(test)]
mod tests {
    use camino::Utf8Path;

    use super::*;
    use ralph_git::repository::Repository;
    use ralph_os::process::Tool;

    /// Returns what is found in an answer of these chunks, of which the prompt is `the prompt`.
    fn found(chunks: &[&[u8]], wanted: &str) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(folder.path()).unwrap();
        Tool::git(path).args(["init", "--quiet"]).read().unwrap();
        let store = Store::new(Repository::discover(path, &[None, None], None).unwrap().0);
        let blob = |bytes: &&[u8]| {
            let written = Tool::git(path).args(["hash-object", "-w", "--stdin"]).stdin(bytes.to_vec()).line();
            gix::ObjectId::from_hex(written.unwrap().as_bytes()).unwrap()
        };
        let ids: Vec<_> = chunks.iter().map(blob).collect();
        let find = |bytes: &[u8]| {
            let at = bytes.windows(wanted.len()).position(|part| part == wanted.as_bytes())?;
            Some(at..at + wanted.len())
        };
        let search = store.search(&find).unwrap();
        search.look(&ids, &mut |bytes| search.in_answer(bytes, "the prompt")).unwrap()
    }

    #[test]
    fn what_lies_on_the_border_of_two_chunks_is_found() {
        assert_eq!(found(&[b"one\ntw", b"o\nthree"], "two").as_deref(), Some("two"));
        assert_eq!(found(&[b"one\ntw", b"o\nthree"], "three").as_deref(), Some("three"));
        assert_eq!(found(&[b"one\ntw", b"o\nthree"], "four"), None);
        let long = vec![b'a'; MAX_LINE_BYTES + 1];
        let cut = format!("…{}two", "a".repeat(MAX_CONTEXT_BYTES));
        assert_eq!(found(&[&[long.as_slice(), b"tw"].concat(), b"o"], "two"), Some(cut));
        assert_eq!(found(&[], "two"), None);
    }

    #[test]
    fn of_json_only_texts_are_searched_and_a_prompt_that_an_agent_prints_is_not() {
        let stream = "plain\n{\"type\":\"user\",\"text\":\"the prompt\\nneedle one\"}\n\
                      {\"type\":\"text\",\"text\":\"first\\n a \\\"needle\\\" here\\nlast\"}\nends\n";
        for (wanted, expected) in [
            ("plain", Some("plain")),
            ("needle", Some("a \"needle\" here")),
            ("last", Some("last")),
            ("ends", Some("ends")),
            ("one", None),
            ("\"type\"", None),
        ] {
            assert_eq!(found(&[stream.as_bytes()], wanted).as_deref(), expected, "{wanted}");
        }
    }
}
