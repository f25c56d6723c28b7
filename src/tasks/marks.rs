//! Ticking and opening boxes in the file: one byte each, and nothing else.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};

use anyhow::{Context, Result};
use camino::Utf8Path;

use super::{Item, Pairing, TaskList};
use crate::project_files::{MAX_TASK_LIST_BYTES, ProjectFiles, explain, read_at_most};
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

/// Sets the boxes of `items`, which are of `list`; that may come from an older version of the file.
///
/// The file is read anew, and single bytes are written in place: the inode and its mode stay, and an editor or
/// an agent that appends meanwhile loses nothing.
pub fn set_marks(
    (files, path): (&ProjectFiles, &Utf8Path),
    list: &TaskList,
    items: &[&Item],
    mark: Mark,
) -> Result<Changes> {
    if items.is_empty() {
        return Ok(Changes::default());
    }
    let mut file = files.open_to_edit(path).map_err(|error| explain("open", path, error))?;
    let bytes = read_at_most(&mut file, MAX_TASK_LIST_BYTES).with_context(|| format!("read {path}"))?;
    let present = TaskList::parse(&bytes).with_context(|| format!("read {path}"))?;
    let byte = match mark {
        Mark::Open => b' ',
        Mark::Done => present.tick(),
    };
    // Whoever edits meanwhile must not lose a mark to a guess.
    let pairing = Pairing::certain(list, &present);
    let mut changes = Changes::default();
    for item in items {
        let name = item.name.clone();
        match pairing.later(item) {
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

#[cfg(test)]
mod tests {
    use std::fs;

    use camino::Utf8PathBuf;
    use proptest::prelude::*;

    use super::*;

    fn file(source: &str) -> (tempfile::TempDir, Utf8PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = Utf8PathBuf::from_path_buf(directory.path().join("tasks.md")).unwrap();
        fs::write(&path, source).unwrap();
        (directory, path)
    }

    fn files_of(path: &Utf8Path) -> ProjectFiles {
        ProjectFiles::new(path.parent().unwrap(), &[], &[])
    }

    fn parse(source: &str) -> TaskList {
        TaskList::parse(source.as_bytes()).unwrap()
    }

    #[test]
    fn ticking_keeps_the_case_of_the_file() {
        for (source, ticked) in [
            ("- [x] T001 a\n- [ ] T002 b\n", "- [x] T001 a\n- [x] T002 b\n"),
            ("- [X] T001 a\r\n- [ ] T002 b", "- [X] T001 a\r\n- [X] T002 b"),
            ("- [ ] T001 a\n- [ ] T002 b  \n", "- [ ] T001 a\n- [X] T002 b  \n"),
            ("\u{feff}- [ ] T001 a\n- [ ] T002 b\n", "\u{feff}- [ ] T001 a\n- [X] T002 b\n"),
        ] {
            let (_directory, path) = file(source);
            let list = parse(source);
            let changes =
                set_marks((&files_of(&path), &path), &list, &[list.find("T002").unwrap()], Mark::Done)
                    .unwrap();
            assert_eq!(changes.changed, ["T002"]);
            assert_eq!(fs::read_to_string(&path).unwrap(), ticked);
        }
    }

    #[test]
    fn boxes_are_found_in_a_file_that_changed_meanwhile() {
        let old = parse("- [x] T001 a\n- [x] T002 b\n- [x] T003 c\n- [x] T004 d\n");
        let (_directory, path) = file("# New\n\n- [x] T001 a\n- [ ] T002 b\n- [x] T005 c\n\nmore\n");
        let changes =
            set_marks((&files_of(&path), &path), &old, &old.items.iter().collect::<Vec<_>>(), Mark::Open)
                .unwrap();
        assert_eq!(changes.changed, ["T001", "T003"]);
        assert_eq!(changes.unchanged, ["T002"]);
        assert_eq!(changes.not_found, ["T004"]);
        let expected = "# New\n\n- [ ] T001 a\n- [ ] T002 b\n- [ ] T005 c\n\nmore\n";
        assert_eq!(fs::read_to_string(&path).unwrap(), expected);
    }

    #[cfg(unix)]
    #[test]
    fn the_file_stays_the_same_file() {
        use std::os::unix::fs::MetadataExt;
        let source = "- [ ] T001 a\n";
        let (_directory, path) = file(source);
        let before = fs::metadata(&path).unwrap();
        let list = parse(source);
        set_marks((&files_of(&path), &path), &list, &[&list.items[0]], Mark::Done).unwrap();
        let after = fs::metadata(&path).unwrap();
        assert_eq!((before.ino(), before.mode()), (after.ino(), after.mode()));
    }

    #[test]
    fn a_box_that_moved_under_our_hands_is_not_written() {
        let (_directory, path) = file("- [ ] T001 a\n");
        let list = parse("- [x] T001 a\n");
        let mut file = fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
        assert!(!set_byte(&mut file, &list.items[0], b'X').unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "- [ ] T001 a\n");
    }

    fn list_source() -> impl Strategy<Value = String> {
        let line = prop::sample::select(vec![
            "- [ ] T001 a\n",
            "- [x] T002 b\r\n",
            "* [X] T003 ü\n",
            "  - [ ] c\n",
            "1. [ ] T001 again\n",
            "> - [ ] T009 quoted\n",
            "\n",
            "text\n",
            "# Head\n",
            "```\n",
            "- [~] odd\n",
        ]);
        prop::collection::vec(line, 0..20).prop_map(|lines| lines.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn ticking_changes_one_byte_and_opening_gives_the_same_bytes_back(source in list_source()) {
            let list = parse(&source);
            for item in list.items.iter().filter(|item| !item.done) {
                let (_directory, path) = file(&source);
                let changes = set_marks((&files_of(&path), &path), &list, &[item], Mark::Done).unwrap();
                prop_assert_eq!(changes.changed, vec![item.name.clone()]);
                let ticked = fs::read(&path).unwrap();
                let differing: Vec<_> = (0..source.len()).filter(|at| source.as_bytes()[*at] != ticked[*at]).collect();
                prop_assert_eq!(ticked.len(), source.len());
                prop_assert_eq!(differing, vec![item.offset + 1]);
                set_marks((&files_of(&path), &path), &list, &[item], Mark::Open).unwrap();
                prop_assert_eq!(fs::read_to_string(&path).unwrap(), source.clone());
            }
        }
    }
}
