//! Random trees of links, and the one way to the files of a project through them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use camino::{Utf8Path, Utf8PathBuf};
use ralph_project::project_files::{ProjectFiles, Refused, refused};

/// What paths and targets of links are made of.
const PARTS: [&str; 16] = [
    "a", "b", "c", "d", "a", "b", "..", "..", ".", ".git", ".GIT", "git~1", "config", "private", "project",
    "outside",
];

const MAX_BYTES: u64 = 1 << 20;

/// What the bytes of an input stand for, one after the other.
struct Choices<'a>(std::slice::Iter<'a, u8>);

impl Choices<'_> {
    fn below(&mut self, limit: usize) -> Option<usize> {
        self.0.next().map(|byte| usize::from(*byte) % limit)
    }

    /// A path of one to four parts.
    fn path(&mut self) -> Option<PathBuf> {
        let mut path = PathBuf::new();
        for _ in 0..=self.below(4)? {
            path.push(PARTS[self.below(PARTS.len())?]);
        }
        Some(path)
    }

    /// The target of a link: relative, or absolute inside or outside.
    fn target(&mut self, root: &Path) -> Option<PathBuf> {
        let start = [
            Path::new(""),
            Path::new(""),
            &root.join("project"),
            &root.join("outside"),
            root,
            Path::new("/"),
        ][self.below(6)?]
        .to_owned();
        let slash = if self.below(8)? == 0 { "/" } else { "" };
        let target = start.join(self.path()?);
        Some(PathBuf::from(format!("{}{slash}", target.display())))
    }
}

/// Whatever links a project has: nothing outside of it or in a git directory is read or written, and what is inside is
/// the file that the system would open.
pub fn links(input: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let top = Utf8PathBuf::from_path_buf(root.join("project")).unwrap();
    fs::create_dir_all(root.join("outside/a")).unwrap();
    fs::create_dir_all(top.join(".git/a")).unwrap();
    for canary in ["outside/private", "outside/a/b", "project/.git/config", "project/.git/a/b"] {
        fs::write(root.join(canary), "canary").unwrap();
    }
    let mut choices = Choices(input.iter());
    while let Some(kind) = choices.below(4) {
        let Some(path) = choices.path().map(|path| top.as_std_path().join(path)) else { break };
        // Only inside, and where no link is on the way: the tree itself is not what is tested.
        let parent = path.parent().unwrap();
        if !fs::canonicalize(parent).is_ok_and(|real| real.starts_with(&top) && !passes_git(&real)) {
            continue;
        }
        let _taken = match kind {
            0 => fs::create_dir(&path).is_err(),
            1 => fs::symlink_metadata(&path).is_ok() || fs::write(&path, path.display().to_string()).is_err(),
            _ => choices.target(&root).is_none_or(|target| symlink(target, &path).is_err()),
        };
    }
    let before = protected(&root);
    let files = ProjectFiles::new(&top, &[&top.join(".git")], &[]);
    let mut paths = vec![top.join("a"), top.join("b/c"), top.join(".git/config"), top.join("c/../a")];
    let mut choices = Choices(input.iter());
    paths.extend(
        std::iter::from_fn(|| choices.path())
            .take(32)
            .filter_map(|path| Utf8PathBuf::from_path_buf(path).ok().map(|path| top.join(path))),
    );
    for path in &paths {
        reads_as_the_system_does(&files, path);
    }
    for (at, path) in paths.iter().enumerate() {
        let _failed = match at % 6 {
            0 => files.append(path, b"written").is_err(),
            1 => files.overwrite(path, b"written").is_err(),
            2 => files.create_new(path, b"written").is_err(),
            3 => files.create_dir_all(path).is_err(),
            4 => files.open_to_edit(path).is_err(),
            _ => files.remove(path).is_err(),
        };
    }
    assert_eq!(before, protected(&root), "something outside was changed");
}

fn reads_as_the_system_does(files: &ProjectFiles, path: &Utf8Path) {
    let real = fs::canonicalize(path);
    match files.read(path, MAX_BYTES) {
        Ok(bytes) => {
            let real = real.unwrap_or_else(|error| panic!("{path}: the system does not open it: {error}"));
            assert!(real.starts_with(files.top()) && !passes_git(&real), "{path}: {}", real.display());
            assert_eq!(bytes, fs::read(path).unwrap(), "{path}");
            let place = files.locate(path).unwrap();
            let identity = |path: &Path| fs::metadata(path).map(|found| (found.dev(), found.ino())).unwrap();
            assert_eq!(identity(place.as_std_path()), identity(path.as_std_path()), "{path}");
        }
        Err(error) => {
            let is_inside = real.as_ref().is_ok_and(|real| real.starts_with(files.top()) && real.is_file());
            let is_of_git = matches!(refused(&error), Some(Refused::InGitDirectory(_)));
            assert!(!is_inside || is_of_git, "{path}: {error}");
        }
    }
}

/// Returns true if a part of the path has one of the names of a git directory.
fn passes_git(path: &Path) -> bool {
    path.iter().any(|part| [".git", ".GIT", "git~1"].iter().any(|name| part == *name))
}

/// All that must stay as it is: everything outside, and the git directory.
fn protected(root: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let path = entry.path();
            if path == root.join("project") {
                folders.push(path.join(".git"));
            } else if entry.file_type().unwrap().is_dir() {
                folders.push(path.clone());
                found.insert(path, None);
            } else {
                let bytes = fs::read(&path).unwrap();
                found.insert(path, Some(bytes));
            }
        }
    }
    found
}
