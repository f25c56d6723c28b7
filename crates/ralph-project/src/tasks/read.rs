//! Reading a task list from disk, and saying what is wrong with it.

use std::io::{self, ErrorKind};

use anyhow::{Context, Result, anyhow, bail};
use camino::Utf8Path;
use tasklist::{TaskList, Unreadable};

use crate::project_files::{self, MAX_TASK_LIST_BYTES, ProjectFiles, Refused, explain, refused};
use ralph_core::record::RALPH;

/// Reads the bytes of a file.
pub fn parse(bytes: &[u8]) -> Result<TaskList> {
    TaskList::parse(bytes).map_err(|error| match error {
        Unreadable::NotUtf8 { .. } => anyhow!("{error}\nhint: save the file as UTF-8"),
        _ => anyhow!("{error}\nhint: `{RALPH} restore N --tasks` brings an earlier list back"),
    })
}

/// Reads a file. An empty file is a list without items; [`require_tasks`] objects to that.
pub fn read(files: &ProjectFiles, path: &Utf8Path) -> Result<TaskList> {
    parse(&bytes(files, path)?).with_context(|| format!("read {path}"))
}

/// Reads a file that the user named, wherever it is.
pub fn read_named(path: &Utf8Path) -> Result<TaskList> {
    let bytes = explained(path, project_files::read_named(path, MAX_TASK_LIST_BYTES))?;
    parse(&bytes).with_context(|| format!("read {path}"))
}

/// Returns the list at `path`, or an empty one if there is no file.
pub fn read_if_there(files: &ProjectFiles, path: &Utf8Path) -> Result<TaskList> {
    if is_missing(path) { parse(b"") } else { read(files, path) }
}

/// Returns true if the file at `path` has an open task. One that cannot be read counts too, so that its fault is heard
/// of.
pub fn may_have_open_tasks(files: &ProjectFiles, path: &Utf8Path) -> bool {
    read(files, path).map_or(true, |list| list.counts().open > 0)
}

/// Refuses a list that gives a loop nothing to do and never did; `path` is for the message.
pub fn require_tasks(list: &TaskList, path: &Utf8Path) -> Result<()> {
    refuse_conflict(list, path)?;
    if list.is_blank() {
        bail!(
            "{path} is empty\nhint: fill it with spec-kit (`/speckit.tasks`), or write tasks like `- [ ] T001 ...`"
        );
    }
    if list.is_unfilled_template() {
        bail!(
            "{path} is still spec-kit's template with its sample tasks\n\
             hint: fill it with spec-kit (`/speckit.tasks`)"
        );
    }
    if list.tasks().next().is_none() {
        match list.unrecognised.first() {
            Some(first) => bail!(
                "{path} has no tasks, only boxes with unknown marks ({first})\n\
                 hint: write open tasks as `- [ ] T001 ...`, with a space between the brackets and on both sides"
            ),
            None => {
                bail!("{path} has no tasks\nhint: write tasks as list items with a box: `- [ ] T001 ...`")
            }
        }
    }
    Ok(())
}

/// Refuses a list in which a merge left its markers: both sides of it would be tasks.
pub fn refuse_conflict(list: &TaskList, path: &Utf8Path) -> Result<()> {
    if let Some(conflict) = &list.conflict {
        bail!(
            "{path}: {conflict}\nhint: resolve the conflict in the file (`git diff` shows both sides), then start again"
        );
    }
    Ok(())
}

/// Returns the bytes of a task list, or what is wrong with the file.
pub(super) fn bytes(files: &ProjectFiles, path: &Utf8Path) -> Result<Vec<u8>> {
    explained(path, files.read(path, MAX_TASK_LIST_BYTES))
}

fn explained(path: &Utf8Path, read: io::Result<Vec<u8>>) -> Result<Vec<u8>> {
    let error = match read {
        Ok(bytes) => return Ok(bytes),
        Err(error) => error,
    };
    if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) {
        bail!(
            "there is no task list at {path}\n\
             hint: make one with spec-kit (`/speckit.tasks`), or name another file with --tasks"
        );
    }
    match refused(&error) {
        Some(Refused::Directory) => {
            let hint = match path.join("tasks.md") {
                inner if inner.is_file() => format!("there is a task list in it: {inner}"),
                _ => "name a Markdown file with a task list".to_owned(),
            };
            bail!("{path} is a directory, not a task list\nhint: {hint}");
        }
        Some(Refused::NotAFile(what)) => {
            bail!("{path} is not a regular file ({what})\nhint: name a Markdown file with a task list")
        }
        _ => Err(explain("read", path, error)),
    }
}

/// Returns true if nothing at all is at `path`.
pub(super) fn is_missing(path: &Utf8Path) -> bool {
    path.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use camino::Utf8PathBuf;

    use super::*;

    #[test]
    fn each_mistake_has_its_own_sentence_and_a_hint() {
        let directory = tempfile::tempdir().unwrap();
        let root = Utf8PathBuf::from_path_buf(directory.path().to_owned()).unwrap();
        let file = |name: &str, bytes: &[u8]| {
            fs::write(root.join(name), bytes).unwrap();
            root.join(name)
        };
        let files = ProjectFiles::new(&root, &[], &[]);
        for (path, sentence) in [
            (root.join("missing/tasks.md"), "there is no task list"),
            (root.clone(), "is a directory"),
            (file("empty.md", b"\xef\xbb\xbf \n"), "is empty"),
            (file("prose.md", b"# Tasks\n\nNone yet.\n"), "has no tasks\n"),
            (file("odd.md", b"- [] T001 a\n"), "only boxes with unknown marks (line 1: - [] T001 a)"),
            (file("latin1.md", b"- [ ] caf\xe9\n"), "not UTF-8: byte 9 (line 1)"),
            (
                file("merge.md", b"- [ ] T001 a\n<<<<<<< HEAD\n"),
                "line 2 is a conflict marker: `<<<<<<< HEAD`",
            ),
            (file("template.md", b"# Tasks: [FEATURE NAME]\n\n- [ ] T001 x\n"), "template"),
        ] {
            let result = read(&files, &path).and_then(|list| require_tasks(&list, &path));
            let message = format!("{:#}", result.unwrap_err());
            assert!(message.contains(sentence), "{message}");
            assert!(message.contains(path.as_str()), "{message}");
            assert!(message.contains("\nhint: "), "{message}");
        }
    }

    #[test]
    fn a_list_that_cannot_be_read_may_have_open_tasks() {
        let directory = tempfile::tempdir().unwrap();
        let path = Utf8PathBuf::from_path_buf(directory.path().join("tasks.md")).unwrap();
        let files = ProjectFiles::new(path.parent().unwrap(), &[], &[]);
        for (bytes, expected) in
            [(&b"- [ ] a\n"[..], true), (b"- [x] a\n", false), (b"", false), (b"\xff", true)]
        {
            fs::write(&path, bytes).unwrap();
            assert_eq!(may_have_open_tasks(&files, &path), expected, "{bytes:?}");
        }
    }
}
