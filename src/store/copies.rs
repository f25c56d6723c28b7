//! Hard links to the objects of a running session, to restore what is deleted from the repository.

use anyhow::Result;
use camino::{Utf8Path, Utf8PathBuf};

use crate::record::ObjectId;

use super::Store;
use super::local::spool::{Slot, Spool, names};
use super::objects::Quarantine;
use super::reading::reader::RecordReader;

/// Number of the newest records that are checked before each record.
const NEWEST: usize = 5;

/// Number of older records that are checked, in turn.
const OLDER: usize = 10;

/// The objects of the records that a session wrote since it began, or that a recovery found in its spool.
#[derive(Debug, Default)]
pub struct Copies {
    /// Of each record the folder of its copies, and the names of its objects.
    records: Vec<(Utf8PathBuf, Vec<String>)>,
    /// Which of the older records are next.
    next: usize,
}

/// What came of a look at the objects of records.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RepairCounts {
    /// Objects that were gone and are back.
    pub restored: usize,
    /// Objects that are gone, and their copies too.
    pub lost: usize,
}

impl Copies {
    /// Those that an earlier process left in a spool.
    pub fn of(store: &Store, spool: &Spool) -> Result<Self> {
        let mut copies = Self::default();
        for dir in spool.copies()? {
            copies.add(store, dir)?;
        }
        Ok(copies)
    }

    /// Keeps the objects of a record that was written from `slot`.
    pub fn keep(&mut self, store: &Store, spool: &Spool, slot: &Slot) -> Result<()> {
        if slot.objects().is_dir() {
            self.add(store, spool.keep_copies(slot)?)?;
        }
        Ok(())
    }

    fn add(&mut self, store: &Store, dir: Utf8PathBuf) -> Result<()> {
        let names = Quarantine::open(&dir, store.repository().hash)?.names()?;
        self.records.push((dir, names));
        Ok(())
    }

    /// Returns the newest records, and some of the older ones: so that the cost does not grow with the session.
    pub fn look_at_some(&mut self, store: &Store) -> Result<RepairCounts> {
        let older = self.records.len().saturating_sub(NEWEST);
        let mut chosen: Vec<usize> = (older..self.records.len()).collect();
        chosen.extend((0..OLDER.min(older)).map(|step| (self.next + step) % older));
        self.next = if older == 0 { 0 } else { (self.next + OLDER) % older };
        self.look_at(store, &chosen)
    }

    pub fn look_at_all(&mut self, store: &Store) -> Result<RepairCounts> {
        self.look_at(store, &(0..self.records.len()).collect::<Vec<_>>())
    }

    fn look_at(&mut self, store: &Store, chosen: &[usize]) -> Result<RepairCounts> {
        let mut repaired = RepairCounts::default();
        let mut reader = None;
        for at in chosen {
            let (dir, names) = &mut self.records[*at];
            let absent = store.absent(names, &mut reader)?;
            if absent.is_empty() {
                continue;
            }
            store.restore_copies(dir, &absent)?;
            let lost = store.absent(&absent, &mut reader)?;
            repaired.restored += absent.len() - lost.len();
            repaired.lost += lost.len();
            // What is lost is said once.
            names.retain(|name| !lost.contains(name));
        }
        Ok(repaired)
    }
}

impl Store {
    /// Puts the objects of a record back that a `git prune` took before the refs led to them. Returns how many.
    pub(super) fn hold_objects(&self, slot: &Slot) -> Result<usize> {
        let dir = slot.path(names::OBJECTS);
        let absent = self.absent(&Quarantine::open(&dir, self.repository().hash)?.names()?, &mut None)?;
        if !absent.is_empty() {
            self.restore_copies(&dir, &absent)?;
        }
        Ok(absent.len())
    }

    /// Returns those of `names` that the repository does not hold, neither loose nor packed.
    /// Packs are opened once, with the first object that is not loose.
    fn absent<'s>(&'s self, names: &[String], reader: &mut Option<RecordReader<'s>>) -> Result<Vec<String>> {
        let objects = self.repository().common_dir.join("objects");
        let is_loose = |name: &&String| objects.join(&name[..2]).join(&name[2..]).exists();
        let mut absent = Vec::new();
        for name in names.iter().filter(|name| !is_loose(name)) {
            let id: ObjectId = name.parse()?;
            let packs = match reader.take() {
                Some(reader) => reader,
                None => self.reader()?,
            };
            if !reader.insert(packs).has(&id)? {
                absent.push(name.clone());
            }
        }
        Ok(absent)
    }

    fn restore_copies(&self, dir: &Utf8Path, absent: &[String]) -> Result<()> {
        let objects = self.repository().common_dir.join("objects");
        let quarantine = Quarantine::open(dir, self.repository().hash)?;
        quarantine.drop_torn()?;
        let is_there = |name: &str| !absent.iter().any(|absent| absent == name);
        quarantine.publish_those(&objects, self.repository().sharing, self.syncing, is_there).map(drop)
    }
}
