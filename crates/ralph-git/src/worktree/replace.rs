//! Single files of the work tree, each replaced by rename after one more look at it, and the contents of files in trees.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use ralph_core::record::ObjectId;
use ralph_os::platform::{self, bytes_of, is_executable, os_str, os_string};

use super::raw_path::{RawPath, split};
use super::restore::{PathChange, TreeEntry};
use super::{PrivateIndex, WorkTree};

/// Mode of a link in a tree.
const LINK: &str = "120000";

impl WorkTree {
    /// Makes files what `changes` want. A file that is neither as before nor as wanted was changed by somebody, and
    /// stays. Returns the paths of those.
    pub fn replace(&self, private_index: PrivateIndex<'_>, changes: &[PathChange]) -> Result<Vec<RawPath>> {
        let mut stay = Vec::new();
        for change in changes {
            let draft = self.draft_of(&change.path);
            let is_done = self.replace_one(private_index, change, &draft);
            // What a replacement that was cut off left there is of no use.
            remove_if_there(&draft)?;
            if !is_done.with_context(|| format!("replace {}", change.name()))? {
                stay.push(change.path.clone());
            }
        }
        Ok(stay)
    }

    fn replace_one(
        &self,
        private_index: PrivateIndex<'_>,
        change: &PathChange,
        draft: &Path,
    ) -> Result<bool> {
        let path = self.path(&change.path);
        if self.is_behind_link(&change.path) {
            return Ok(false);
        }
        if let Some(after) = &change.after {
            // It was deleted with its folder.
            fs::create_dir_all(path.parent().unwrap_or(&path))?;
            self.write_draft(private_index, change, after, draft)?;
        }
        if change.after.is_some() && path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            remove_empty_folders(&path)?;
        }
        // As late as can be: a person may be editing.
        let found = self.entry_at(private_index, &change.path)?;
        let [is_before, is_after] = [&change.before, &change.after].map(|wanted| match (&found, wanted) {
            (None, None) => true,
            (Some(found), Some(wanted)) => {
                found.id == wanted.id && (found.mode == LINK) == (wanted.mode == LINK)
            }
            _ => false,
        });
        if is_after && !self.lacks_mode(change) {
            return Ok(true);
        }
        if !is_before && !is_after {
            return Ok(false);
        }
        match &change.after {
            Some(_) => fs::rename(draft, &path)?,
            None => remove_if_there(&path)?,
        }
        Ok(true)
    }

    /// Removes the links on the way to a path, which led it elsewhere; what they lead to stays.
    pub fn unlink_above(&self, path: &[u8]) -> Result<()> {
        for (end, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            let folder = self.path(&path[..end]);
            if folder.is_symlink() {
                remove_if_there(&folder)?;
            }
        }
        Ok(())
    }

    /// Returns true if a path is a file of this work tree, behind no link and in no other repository.
    pub fn is_plain_file(&self, path: &[u8]) -> bool {
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(end, _)| end);
        let mut folders = ends.map(|end| self.path(&path[..end]));
        let is_file = self.path(path).symlink_metadata().is_ok_and(|found| found.is_file());
        is_file && !folders.any(|folder| folder.is_symlink() || folder.join(".git").exists())
    }

    fn lacks_mode(&self, change: &PathChange) -> bool {
        let Some(after) = change.after.as_ref().filter(|after| after.mode != LINK) else { return false };
        let found = self.path(&change.path).symlink_metadata();
        found.is_ok_and(|found| is_executable(&found).is_some_and(|is| is != (after.mode == "100755")))
    }

    /// Returns where the new content of a file waits: beside it, as a rename must not cross file systems.
    fn draft_of(&self, path: &[u8]) -> PathBuf {
        let path = self.path(path);
        let mut name = std::ffi::OsString::from(".");
        name.push(path.file_name().unwrap_or_default());
        name.push(".ralph-put-back");
        path.with_file_name(name)
    }

    fn write_draft(
        &self,
        private_index: PrivateIndex<'_>,
        change: &PathChange,
        after: &TreeEntry,
        draft: &Path,
    ) -> Result<()> {
        remove_if_there(draft)?;
        if after.mode == LINK {
            let target = self.blob(private_index, &after.id)?;
            return Ok(platform::symlink(os_string(target), draft)?);
        }
        let mut path = b"--path=".to_vec();
        path.extend_from_slice(&change.path);
        let git = self.git_private(private_index).args(["cat-file", "--filters"]);
        let bytes = git.arg(os_str(&path)).arg(after.id.as_str()).read()?;
        let mut file = File::options().write(true).create_new(true).open(draft)?;
        file.write_all(&bytes)?;
        let old = self.path(&change.path).symlink_metadata().ok().filter(fs::Metadata::is_file);
        let mode = platform::mode(&old.map_or_else(|| file.metadata(), Ok)?);
        // Who may read it may run it.
        let mode = if after.mode == "100755" { mode | (mode & 0o444) >> 2 } else { mode & !0o111 };
        platform::set_mode_of(&file, mode)?;
        file.sync_all()?;
        Ok(())
    }

    /// Returns what a snapshot would have at `path` now; `None` if no file is there.
    fn entry_at(&self, private_index: PrivateIndex<'_>, path: &[u8]) -> Result<Option<TreeEntry>> {
        let full = self.path(path);
        let found = match full.symlink_metadata() {
            Ok(found) => found,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        let git = self.git_private(private_index).arg("hash-object").arg("--stdin");
        let (mode, id) = if found.is_symlink() {
            let target = fs::read_link(&full)?;
            (LINK, git.arg("--no-filters").stdin(bytes_of(target.as_os_str())).line()?)
        } else if found.is_file() {
            let mut option = b"--path=".to_vec();
            option.extend_from_slice(path);
            let mode = if is_executable(&found) == Some(true) { "100755" } else { "100644" };
            (mode, git.arg(os_str(&option)).stdin(fs::read(&full)?).line()?)
        } else {
            bail!("it is neither a file nor a link any more");
        };
        Ok(Some(TreeEntry { mode: mode.to_owned(), id: id.parse()? }))
    }

    /// Writes `bytes` as an object, and returns the change of a file to it.
    pub fn change_to(
        &self,
        private_index: PrivateIndex<'_>,
        change: &PathChange,
        bytes: Vec<u8>,
    ) -> Result<PathChange> {
        let git = self.git_private(private_index).args(["hash-object", "-w", "--no-filters", "--stdin"]);
        let id = git.stdin(bytes).line()?.parse()?;
        let mode = change.before.as_ref().map_or("100644", |before| before.mode.as_str()).to_owned();
        Ok(PathChange { after: Some(TreeEntry { mode, id }), ..change.clone() })
    }

    /// Returns the contents of files in trees, without those of more than `max_bytes`.
    pub fn contents_of<'a>(
        &self,
        private_index: PrivateIndex<'_>,
        entries: impl IntoIterator<Item = &'a TreeEntry>,
        max_bytes: u64,
    ) -> Result<HashMap<ObjectId, Vec<u8>>> {
        let files = entries.into_iter().filter(|entry| !entry.is_repository());
        let mut ids: Vec<&str> = files.map(|entry| entry.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let cat_file = self.git_private(private_index).arg("cat-file");
        let sizes =
            cat_file.clone().arg("--batch-check=%(objectsize)").stdin(ids.join("\n") + "\n").read()?;
        let sizes = String::from_utf8_lossy(&sizes);
        let small: Vec<&str> = ids
            .into_iter()
            .zip(sizes.lines())
            .filter(|(_, size)| size.parse::<u64>().is_ok_and(|size| size <= max_bytes))
            .map(|(id, _)| id)
            .collect();
        let mut contents = HashMap::new();
        if small.is_empty() {
            return Ok(contents);
        }
        let output = cat_file.arg("--batch").stdin(small.join("\n") + "\n").read()?;
        let mut rest = output.as_slice();
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let head = String::from_utf8_lossy(&rest[..end]);
            let fields: Vec<&str> = head.split(' ').collect();
            let [id, _, size] = fields.as_slice() else { bail!("read what git cat-file prints: `{head}`") };
            let size: usize = size.parse()?;
            let bytes = rest.get(end + 1..end + 1 + size).context("read what git cat-file prints")?;
            contents.insert(id.parse()?, bytes.to_vec());
            rest = rest.get(end + 2 + size..).unwrap_or_default();
        }
        Ok(contents)
    }

    /// Returns the files that match `globs`, which are git's, whether or not git tracks or ignores them.
    pub fn matching(&self, globs: &[String]) -> Result<Vec<String>> {
        let listing = ["ls-files", "-z", "--cached", "--others", "--"];
        let listed = self.git().args(listing).args(globs).read()?;
        Ok(split(&listed).map(|path| String::from_utf8_lossy(path).into_owned()).collect())
    }

    /// Returns the ignored files that match `globs`, which are git's. What lies in a folder that is ignored as a whole is
    /// not looked at.
    pub fn ignored(&self, globs: &[String]) -> Result<Vec<String>> {
        let listing = ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory", "--"];
        let listed = self.git().args(listing).args(globs).read()?;
        let files = split(&listed).filter(|path| !path.ends_with(b"/"));
        Ok(files.map(|path| String::from_utf8_lossy(path).into_owned()).collect())
    }
}

/// Removes a folder that has nothing but folders in it.
fn remove_empty_folders(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_empty_folders(&entry.path())?;
        }
    }
    fs::remove_dir(folder)
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Err(error),
        _ => Ok(()),
    }
}
