//! What an earlier listing left in the cache.
//!
//! The cache is one file, `<common git dir>/ralph/cache/log`. It is trusted only as far as it says of what it was made:
//! of each ref its tip, of a shallow clone where it ends, and the sum of its bytes. Everything in it can be made again.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use camino::Utf8PathBuf;

use ralph_core::record::{Field, LogEntry, ObjectId, SCHEMA, unescape};

use crate::Store;
use crate::local::disk;
use crate::refs::naming::SessionRefs;

/// Changes with how a row is written. What it holds is in the head as well.
const FORMAT: u32 = 9;

/// What an earlier listing left: a text; and of each session, by the name of its ref, its tip, its feature, and where in the text its
/// rows are.
type Cache = (Arc<String>, HashMap<String, (ObjectId, String, Range<usize>)>);

/// The cache for reading a long session. It is loaded on first use.
#[derive(Debug)]
pub(crate) struct Lookup {
    file: Utf8PathBuf,
    head: String,
    cache: OnceCell<Cache>,
}

impl Lookup {
    /// Returns the records of a session up to the tip that it had when it was cached; `None` if it is not.
    pub fn of(&self, refs: &SessionRefs) -> Option<Vec<LogEntry>> {
        let (text, sessions) = self.cache.get_or_init(|| read(&self.file, &self.head).unwrap_or_default());
        let (.., rows) = sessions.get(&refs.log())?;
        entries(text, rows.clone()).collect()
    }
}

impl Store {
    pub(super) fn lookup(&self, ends: &BTreeSet<gix::ObjectId>) -> Lookup {
        Lookup { file: self.cache_file(), head: head(ends), cache: OnceCell::new() }
    }

    pub(super) fn cache_file(&self) -> Utf8PathBuf {
        self.repository().ralph_dir().join("cache/log")
    }
}

/// Returns the first lines of a cache: what made it, and of what.
pub(super) fn head(ends: &BTreeSet<gix::ObjectId>) -> String {
    let ends: Vec<String> = ends.iter().map(|id| id.to_hex().to_string()).collect();
    let fields = Field::ALL;
    format!("specify-ralph log {FORMAT} schema {SCHEMA} {fields:?}\nshallow {}\n", ends.join(" "))
}

/// Returns the entries of the rows in that part of a text; `None` for a row that we did not write.
pub(super) fn entries(text: &Arc<String>, part: Range<usize>) -> impl Iterator<Item = Option<LogEntry>> {
    let mut start = part.start;
    text[part].split_terminator('\n').map(move |line| {
        let line = start..start + line.len();
        start = line.end + 1;
        LogEntry::of_row(text, line)
    })
}

/// Returns `None` if there is no cache, or one that is not to be trusted.
pub(super) fn read(file: &Utf8PathBuf, head: &str) -> Option<Cache> {
    let text = String::from_utf8(disk::read_if_there(file).ok()??).ok()?;
    let body = head.len() + 17;
    let claimed = text.strip_prefix(head)?.get(..16)?;
    if u64::from_str_radix(claimed, 16).ok()? != sum(text.get(body..)?.as_bytes()) {
        return None;
    }
    let mut sessions = HashMap::new();
    let mut at = body;
    while at < text.len() {
        let line = text[at..].split('\n').next()?;
        let mut fields = line.split('\t');
        let name = fields.next()?.to_owned();
        let tip = fields.next()?.parse().ok()?;
        let length: usize = fields.next()?.parse().ok()?;
        let feature = unescape(fields.next()?).into_owned();
        let start = at + line.len() + 1;
        let rows = start..start.checked_add(length)?;
        text.get(rows.clone())?;
        at = rows.end;
        sessions.insert(name, (tip, feature, rows));
    }
    Some((Arc::new(text), sessions))
}

fn mix(sum: u64, word: u64) -> u64 {
    (sum.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Returns a sum that no slip of a disk or an editor leaves the same.
pub(super) fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let sum = words.iter().fold(bytes.len() as u64, |sum, word| mix(sum, u64::from_le_bytes(*word)));
    rest.iter().fold(sum, |sum, byte| mix(sum, u64::from(*byte)))
}
