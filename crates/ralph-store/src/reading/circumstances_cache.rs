//! The circumstances of iterations. They are in whole records alone, so what was read of many is kept in the cache.
//!
//! It is one file, `<common git dir>/ralph/cache/circumstances`: a head with the sum of what follows, and a line `COMMIT JSON` for each
//! record. A commit never says anything else, so a line is right as long as the bytes are.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::Range;

use anyhow::{Context as _, Result};
use camino::Utf8PathBuf;

use ralph_core::record::{Circumstances, LogEntry, ObjectId};

use super::listing_cache::sum;
use super::reader::RecordReader;
use crate::Store;
use crate::local::{disk, folders};

/// Changes with what a line holds.
const HEAD: &str = "specify-ralph circumstances 1\n";

/// Fewer records are read faster than they are kept.
const MIN_RECORDS_TO_KEEP: usize = 100;

/// A cache that grows beyond this is begun anew.
const MAX_CACHE_BYTES: usize = 64 << 20;

/// Reads the circumstances of iterations, and knows those that were read before.
pub struct CircumstancesReader<'a> {
    store: &'a Store,
    reader: &'a RecordReader<'a>,
    /// The lines of the cache.
    known: String,
    places: HashMap<ObjectId, Range<usize>>,
    /// Lines that are not in it, and how many.
    read: RefCell<(String, usize)>,
}

impl Store {
    pub(super) fn circumstances_file(&self) -> Utf8PathBuf {
        self.repository().ralph_dir().join("cache/circumstances")
    }

    pub fn circumstances<'a>(&'a self, reader: &'a RecordReader<'a>) -> CircumstancesReader<'a> {
        let known = disk::read_if_there(&self.circumstances_file()).ok().flatten();
        let known = known.and_then(|bytes| lines(&String::from_utf8(bytes).ok()?).map(str::to_owned));
        let known = known.unwrap_or_default();
        let mut places = HashMap::new();
        let mut at = 0;
        for line in known.split_inclusive('\n') {
            let id = line.split_once(' ').and_then(|(id, _)| Some((id.len(), id.parse().ok()?)));
            if let Some((length, id)) = id {
                places.insert(id, at + length + 1..at + line.len());
            }
            at += line.len();
        }
        CircumstancesReader { store: self, reader, known, places, read: RefCell::default() }
    }
}

/// Returns the lines of a cache; `None` if it is not to be trusted.
fn lines(text: &str) -> Option<&str> {
    let (claimed, lines) = text.strip_prefix(HEAD)?.split_once('\n')?;
    (u64::from_str_radix(claimed, 16).ok()? == sum(lines.as_bytes())).then_some(lines)
}

impl CircumstancesReader<'_> {
    /// Returns those of an iteration.
    ///
    /// # Errors
    ///
    /// If its record cannot be read.
    pub fn of(&self, entry: &LogEntry) -> Result<Circumstances> {
        let known = self.places.get(&entry.commit()).and_then(|place| self.known.get(place.clone()));
        if let Some(found) = known.and_then(|json| serde_json::from_str(json).ok()) {
            return Ok(found);
        }
        let bytes = self.reader.file(&entry.commit(), "iteration.json")?.unwrap_or_default();
        let found: Circumstances = serde_json::from_slice(&bytes)
            .with_context(|| format!("read iteration.json of {}", entry.commit()))?;
        let (lines, count) = &mut *self.read.borrow_mut();
        *count += 1;
        writeln!(lines, "{} {}", entry.commit(), serde_json::to_string(&found)?)?;
        Ok(found)
    }

    /// Keeps what was read, where that was much.
    pub fn keep(self) {
        let (read, count) = self.read.into_inner();
        if count < MIN_RECORDS_TO_KEEP {
            return;
        }
        let known = if self.known.len() + read.len() > MAX_CACHE_BYTES { "" } else { &self.known };
        let lines = format!("{known}{read}");
        let text = format!("{HEAD}{:016x}\n{lines}", sum(lines.as_bytes()));
        // A cache that cannot be written costs time, and nothing else.
        let file = self.store.circumstances_file();
        let _unwritten = folders::write_cache(self.store.repository(), &file, text.as_bytes()).is_err();
    }
}
