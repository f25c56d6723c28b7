use std::fs;
use std::os::unix::fs::symlink;

use rustix::fs::{Mode, OFlags};

use super::*;

/// A work tree with `.git/config`, beside a folder `outside` with a private file.
struct Project {
    folder: tempfile::TempDir,
    files: ProjectFiles,
}

impl Project {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = Utf8PathBuf::from_path_buf(folder.path().canonicalize().unwrap()).unwrap();
        for path in ["top/.git", "top/specs/001", "outside/deep"] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        fs::write(root.join("top/.git/config"), "config").unwrap();
        fs::write(root.join("top/specs/001/tasks.md"), "tasks").unwrap();
        fs::write(root.join("outside/private"), "private").unwrap();
        let files = ProjectFiles::new(&root.join("top"), &[&root.join("top/.git")], &[]);
        Self { folder, files }
    }

    fn at(&self, path: &str) -> Utf8PathBuf {
        self.files.top().join(path)
    }

    fn link(&self, target: impl AsRef<Path>, path: &str) -> &Self {
        symlink(target, self.at(path)).unwrap();
        self
    }

    fn read(&self, path: &str) -> Result<String, String> {
        let read = self.files.read(&self.at(path), MAX_SETTINGS_BYTES);
        read.map(|bytes| String::from_utf8(bytes).unwrap()).map_err(|error| error.to_string())
    }

    #[track_caller]
    fn refuses(&self, path: &str, words: &str) {
        let error = self.read(path).unwrap_err();
        assert!(error.contains(words), "{path}: {error}");
        for written in [
            self.files.append(&self.at(path), b"x").map(drop),
            self.files.overwrite(&self.at(path), b"x").map(drop),
            self.files.open_to_edit(&self.at(path)).map(drop),
        ] {
            let error = written.unwrap_err().to_string();
            assert!(error.contains(words), "{path}: {error}");
        }
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        let root = self.folder.path();
        assert_eq!(fs::read_to_string(root.join("outside/private")).unwrap(), "private");
        assert_eq!(fs::read_dir(root.join("outside")).unwrap().count(), 2);
        assert_eq!(fs::read_dir(root.join("outside/deep")).unwrap().count(), 0);
        assert_eq!(fs::read_to_string(root.join("top/.git/config")).unwrap(), "config");
        assert_eq!(fs::read_dir(root.join("top/.git")).unwrap().count(), 1);
    }
}

#[test]
fn links_that_stay_inside_are_followed() {
    let place = Project::new();
    let top = place.files.top().to_owned();
    place.link("specs/001", "relative").link(top.join("specs/001/tasks.md"), "absolute");
    place.link("relative/../001/./tasks.md", "dots").link("../top/specs/001/tasks.md", "out-and-in");
    place.link("absolute", "chain");
    for path in ["relative/tasks.md", "absolute", "dots", "out-and-in", "chain"] {
        assert_eq!(place.read(path).as_deref(), Ok("tasks"), "{path}");
    }
    place.files.append(&place.at("chain"), b" more").unwrap();
    assert_eq!(place.read("specs/001/tasks.md").as_deref(), Ok("tasks more"));
    place.link("specs/001/new.md", "to-be-made");
    drop(place.files.overwrite(&place.at("to-be-made"), b"new").unwrap());
    assert_eq!(place.read("specs/001/new.md").as_deref(), Ok("new"));
    assert!(place.at("to-be-made").is_symlink());
    assert_eq!(place.files.locate(&place.at("relative")).unwrap(), place.at("specs/001"));
}

#[test]
fn a_work_tree_behind_a_link_is_reached_by_either_name() {
    let place = Project::new();
    let other = place.folder.path().join("other");
    symlink(place.files.top(), &other).unwrap();
    place.link(other.join("specs/001/tasks.md"), "through-the-other");
    assert_eq!(place.read("through-the-other").as_deref(), Ok("tasks"));
    let other = Utf8PathBuf::from_path_buf(other).unwrap();
    let files = ProjectFiles::new(&other, &[], &[]);
    assert_eq!(files.read(&other.join("specs/001/tasks.md"), 100).unwrap(), b"tasks");
}

#[test]
fn nothing_outside_is_read_or_written() {
    let place = Project::new();
    let outside = place.folder.path().join("outside");
    place.link(outside.join("private"), "absolute").link("../outside/private", "relative");
    place.link("../outside/new", "new").link("../outside", "folder").link("absolute", "chain");
    place.link("../outside/deep/../private", "dots").link("/proc/self/root/etc/passwd", "magic");
    for path in ["absolute", "relative", "new", "folder/private", "folder/new", "chain", "dots", "magic"] {
        place.refuses(path, "it leads out of the work tree, to /");
    }
    assert!(place.files.create_new(&place.at("folder/new"), b"x").is_err());
    assert!(place.files.create_new(&place.at("new"), b"x").is_err());
    assert!(place.files.create_dir_all(&place.at("folder/deep/er")).is_err());
    assert!(place.files.remove(&place.at("folder/private")).is_err());
    assert!(place.files.names_in(&place.at("folder")).is_err());
    assert!(place.files.locate(&place.at("folder")).is_err());
    place.files.remove(&place.at("absolute")).unwrap();
}

#[test]
fn no_git_directory_is_entered_by_any_of_its_names() {
    let place = Project::new();
    place.link(".git/config", "config").link(place.at(".git"), "folder").link(".git/new", "new");
    fs::create_dir_all(place.at("sub/.GIT")).unwrap();
    fs::write(place.at("sub/.GIT/config"), "other").unwrap();
    for path in [".git/config", "config", "folder/config", "new", "sub/.GIT/config", "specs/.git", "GIT~1/x"]
    {
        place.refuses(path, "it leads into a git directory");
    }
    assert!(place.files.create_new(&place.at("sub/.git"), b"gitdir: /elsewhere").is_err());
    // Also where it was renamed.
    fs::rename(place.at(".git"), place.at("plain")).unwrap();
    place.refuses("plain/config", "it leads into a git directory");
    fs::rename(place.at("plain"), place.at(".git")).unwrap();
}

#[test]
fn names_that_some_file_system_takes_for_git_are_known() {
    for name in
        [".git", ".GiT", "git~1", "GIT~1", ".git.", ".git ", ".git::$INDEX_ALLOCATION", ".g\u{200c}it"]
    {
        assert!(resolve::is_git_name(name.as_bytes()), "{name:?}");
    }
    for name in [".gitignore", "git", ".github", "git~2", "a.git", ".gi"] {
        assert!(!resolve::is_git_name(name.as_bytes()), "{name:?}");
    }
}

#[test]
fn folders_that_the_user_permits_are_entered() {
    let place = Project::new();
    place.link("../../outside", "specs/002").link("../outside/private", "private");
    let outside = Utf8PathBuf::from_path_buf(place.folder.path().join("outside")).unwrap();
    fs::create_dir_all(outside.join("deep")).unwrap();
    let files = place.files.clone().allowing(&[outside]);
    assert_eq!(files.read(&place.at("private"), 100).unwrap(), b"private");
    assert_eq!(files.locate(&place.at("specs/../specs/002/deep")).unwrap(), place.at("specs/002/deep"));
    place.link("../top/.git/config", "sneaky");
    assert!(files.read(&place.at("sneaky"), 100).is_err());
}

// rustix makes no FIFO on macOS.
#[cfg(not(target_vendor = "apple"))]
#[test]
fn what_is_no_regular_file_is_refused_without_waiting() {
    let place = Project::new();
    let fifo = place.at("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, fifo.as_std_path(), rustix::fs::FileType::Fifo, Mode::RUSR, 0)
        .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(place.at("socket")).unwrap();
    place.link("fifo", "link");
    place.refuses("fifo", "it is not a regular file (a FIFO)");
    place.refuses("link", "it is not a regular file (a FIFO)");
    place.refuses("socket", "it is not a regular file (a socket)");
    place.refuses("specs", "it is a directory");
    let devices = place.files.clone().allowing(&["/dev".into()]);
    place.link("/dev/zero", "zero");
    let error = devices.read(&place.at("zero"), 100).unwrap_err();
    assert_eq!(error.to_string(), "it is not a regular file (a device)");
    let error = read_named(Utf8Path::new("/dev/zero"), 100).unwrap_err();
    assert_eq!(error.to_string(), "it is not a regular file (a device)");
    assert!(open_plain(&fifo).unwrap().is_none() && open_plain(place.at("link")).unwrap().is_none());
}

#[test]
fn links_in_a_circle_and_files_that_are_too_large_are_refused() {
    let place = Project::new();
    place.link("b", "a").link("a", "b");
    place.refuses("a", "it passes too many symbolic links");
    let large = File::create(place.at("large")).unwrap();
    large.set_len(MAX_SETTINGS_BYTES + 1).unwrap();
    assert_eq!(place.read("large"), Err("it is larger than 1 MiB".to_owned()));
}

#[test]
fn missing_files_and_files_taken_for_folders_are_said_as_the_system_says_them() {
    let place = Project::new();
    let kind = |path: &str| place.files.read(&place.at(path), 100).unwrap_err().kind();
    assert_eq!(kind("missing"), io::ErrorKind::NotFound);
    assert_eq!(kind("missing/../specs/001/tasks.md"), io::ErrorKind::NotFound);
    assert_eq!(kind("specs/001/tasks.md/more"), io::ErrorKind::NotADirectory);
    assert_eq!(kind("specs/001/tasks.md/.."), io::ErrorKind::NotADirectory);
    place.link("specs/001/tasks.md/", "slash");
    assert_eq!(kind("slash"), io::ErrorKind::NotADirectory);
}

#[test]
fn folders_are_made_below_links_that_stay_inside() {
    let place = Project::new();
    place.link("specs", "link");
    place.files.create_dir_all(&place.at("link/002/deep")).unwrap();
    assert!(place.at("specs/002/deep").is_dir());
    place.files.create_new(&place.at("link/002/new"), b"new").unwrap();
    let again = place.files.create_new(&place.at("link/002/new"), b"other").unwrap_err();
    assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(place.read("specs/002/new").as_deref(), Ok("new"));
    let mut names = place.files.names_in(&place.at("link")).unwrap();
    names.sort();
    assert_eq!(names, ["001", "002"]);
}

#[test]
fn a_link_that_appears_after_resolving_is_not_followed() {
    let place = Project::new();
    let resolved = place.files.resolve(&place.at("specs/001/tasks.md")).unwrap();
    fs::remove_dir_all(place.at("specs/001")).unwrap();
    place.link("../../outside", "specs/001");
    let error = open::open(&resolved, Access::Overwrite).unwrap_err();
    assert!(open::is_race(&error), "{error}");
    let folder = OFlags::RDONLY | OFlags::DIRECTORY;
    let base = rustix::fs::open(&resolved.base, folder, Mode::empty()).unwrap();
    assert!(open::open_by_steps(&base, &resolved.inner, OFlags::WRONLY | OFlags::CREATE).is_err());
    place.refuses("specs/001/tasks.md", "it leads out of the work tree");
}
