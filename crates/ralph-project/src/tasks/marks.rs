//! Ticking and opening boxes in the file of a task list.

use anyhow::{Context, Result};
use camino::Utf8Path;
use tasklist::{Changes, Item, Mark, TaskList};

use crate::project_files::{MAX_TASK_LIST_BYTES, ProjectFiles, explain, read_at_most};

use super::parse;

/// Sets the boxes of `items`, which are of `list`; that may come from an older version of the file.
///
/// The file is read anew, and single bytes are written in place: the inode and its mode stay, and an editor or
/// an agent that appends meanwhile loses nothing.
pub fn set_marks(
    files: &ProjectFiles,
    path: &Utf8Path,
    list: &TaskList,
    items: &[&Item],
    mark: Mark,
) -> Result<Changes> {
    if items.is_empty() {
        return Ok(Changes::default());
    }
    let mut file = files.open_to_edit(path).map_err(|error| explain("open", path, error))?;
    let bytes = read_at_most(&mut file, MAX_TASK_LIST_BYTES).with_context(|| format!("read {path}"))?;
    let present = parse(&bytes).with_context(|| format!("read {path}"))?;
    let changes = tasklist::set_marks(&mut file, list, &present, items, mark)
        .with_context(|| format!("write {path}"))?;
    if !changes.changed.is_empty() {
        file.sync_data().with_context(|| format!("sync {path}"))?;
    }
    Ok(changes)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use camino::Utf8PathBuf;

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
    fn boxes_are_found_in_a_file_that_changed_meanwhile() {
        let old = parse("- [x] T001 a\n- [x] T002 b\n- [x] T003 c\n- [x] T004 d\n");
        let (_directory, path) = file("# New\n\n- [x] T001 a\n- [ ] T002 b\n- [x] T005 c\n\nmore\n");
        let changes =
            set_marks(&files_of(&path), &path, &old, &old.items.iter().collect::<Vec<_>>(), Mark::Open)
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
        set_marks(&files_of(&path), &path, &list, &[&list.items[0]], Mark::Done).unwrap();
        let after = fs::metadata(&path).unwrap();
        assert_eq!((before.ino(), before.mode()), (after.ino(), after.mode()));
    }
}
