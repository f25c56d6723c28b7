//! Ticking and opening boxes in the file: one byte each, and nothing else.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};

use anyhow::{Context, Result};
use camino::Utf8Path;

use super::{Item, TaskList};
use crate::record::TaskName;

/// What a box shall say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    Open,
    Done,
}

/// What became of the boxes that were to be changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    pub changed: Vec<TaskName>,
    /// Items that said so already.
    pub unchanged: Vec<TaskName>,
    /// Items that are no longer in the file.
    pub not_found: Vec<TaskName>,
}

/// Sets the boxes of `items`, which may come from an older version of the file.
///
/// The file is read anew, and single bytes are written in place: the inode and its mode stay, and an editor or
/// an agent that appends meanwhile loses nothing.
pub fn set_marks(path: &Utf8Path, items: &[&Item], mark: Mark) -> Result<Changes> {
    if items.is_empty() {
        return Ok(Changes::default());
    }
    let mut file =
        OpenOptions::new().read(true).write(true).open(path).with_context(|| format!("open {path}"))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).with_context(|| format!("read {path}"))?;
    let list = TaskList::parse(&bytes).with_context(|| format!("read {path}"))?;
    let byte = match mark {
        Mark::Open => b' ',
        Mark::Done => list.tick(),
    };
    let mut changes = Changes::default();
    for item in items {
        let name = item.name.clone();
        match list.find_again(item) {
            None => changes.not_found.push(name),
            Some(found) if found.done == (mark == Mark::Done) => changes.unchanged.push(name),
            Some(found) => {
                if set_byte(&mut file, found, byte).with_context(|| format!("write {path}"))? {
                    changes.changed.push(name);
                } else {
                    changes.not_found.push(name);
                }
            }
        }
    }
    if !changes.changed.is_empty() {
        file.sync_data().with_context(|| format!("sync {path}"))?;
    }
    Ok(changes)
}

/// Writes a mark, if the box still stands where it was read a moment ago.
fn set_byte(file: &mut File, item: &Item, byte: u8) -> Result<bool> {
    let offset = u64::try_from(item.offset)?;
    let mut around = [0; 3];
    file.seek(SeekFrom::Start(offset))?;
    let is_there = file.read_exact(&mut around).is_ok();
    if !is_there || around != [b'[', item.mark as u8, b']'] {
        return Ok(false);
    }
    file.seek(SeekFrom::Start(offset + 1))?;
    file.write_all(&[byte])?;
    Ok(true)
}

impl TaskList {
    /// The tick that this file uses; spec-kit's own is upper case.
    fn tick(&self) -> u8 {
        let small = self.items.iter().filter(|item| item.mark == 'x').count();
        let large = self.items.iter().filter(|item| item.mark == 'X').count();
        if small > large { b'x' } else { b'X' }
    }
}
