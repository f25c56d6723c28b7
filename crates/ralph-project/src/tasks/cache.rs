//! A task list that is parsed again only where its file has changed: a loop looks at it some five times an iteration.

use std::rc::Rc;

use anyhow::{Context, Result};
use camino::Utf8Path;
use tasklist::TaskList;

use crate::project_files::ProjectFiles;

use super::read;

/// The list as it was parsed last, with the bytes that it was parsed from.
#[derive(Debug, Default)]
pub struct TaskCache {
    last: Option<(Vec<u8>, Rc<TaskList>)>,
    /// True if open tasks that are optional are nothing to do. Set before the first list is read.
    pub skip_optional: bool,
}

impl TaskCache {
    /// As [`read()`](super::read()).
    pub fn read(&mut self, files: &ProjectFiles, path: &Utf8Path) -> Result<Rc<TaskList>> {
        self.parse(&read::bytes(files, path)?).with_context(|| format!("read {path}"))
    }

    /// As [`read_if_there`](super::read_if_there).
    pub fn read_if_there(&mut self, files: &ProjectFiles, path: &Utf8Path) -> Result<Rc<TaskList>> {
        if read::is_missing(path) { self.parse(b"") } else { self.read(files, path) }
    }

    /// As [`parse`](super::parse).
    pub fn parse(&mut self, bytes: &[u8]) -> Result<Rc<TaskList>> {
        if let Some((last, list)) = &self.last
            && last == bytes
        {
            return Ok(Rc::clone(list));
        }
        let mut list = read::parse(bytes)?;
        if self.skip_optional {
            list.settle_optional();
        }
        let list = Rc::new(list);
        self.last = Some((bytes.to_owned(), Rc::clone(&list)));
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unchanged_file_is_parsed_once() {
        let directory = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(directory.path()).unwrap();
        let (files, path) = (ProjectFiles::new(root, &[], &[]), root.join("tasks.md"));
        let mut cache = TaskCache::default();
        assert_eq!(cache.read_if_there(&files, &path).unwrap().items.len(), 0);
        assert!(cache.read(&files, &path).unwrap_err().to_string().contains("there is no task list"));
        std::fs::write(&path, "- [ ] T001 a\n").unwrap();
        let list = cache.read(&files, &path).unwrap();
        assert_eq!(list.counts().open, 1);
        for again in
            [cache.read(&files, &path), cache.read_if_there(&files, &path), cache.parse(b"- [ ] T001 a\n")]
        {
            assert!(Rc::ptr_eq(&list, &again.unwrap()));
        }
        std::fs::write(&path, "- [x] T001 a\n").unwrap();
        assert_eq!(cache.read(&files, &path).unwrap().counts().open, 0);
        std::fs::write(&path, b"\xff").unwrap();
        assert!(cache.read(&files, &path).is_err());
    }
}
