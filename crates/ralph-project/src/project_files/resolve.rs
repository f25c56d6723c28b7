//! Where a path leads, link by link, and whether that is inside.

use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use camino::Utf8Path;

use super::ProjectFiles;
use super::refused::Refused;
use ralph_os::platform::{self, bytes_of};

/// As many as Linux follows.
const MAX_LINKS: u32 = 40;

/// A path without links: a folder that may be entered, and the way from there.
pub(super) struct Resolved {
    pub base: PathBuf,
    pub inner: PathBuf,
    /// What is there; `None` if nothing is.
    pub found: Option<Metadata>,
}

impl Resolved {
    pub fn path(&self) -> PathBuf {
        if self.inner.as_os_str().is_empty() { self.base.clone() } else { self.base.join(&self.inner) }
    }
}

/// A path of which a part is resolved.
struct Walk<'a> {
    files: &'a ProjectFiles,
    /// Without links.
    resolved: PathBuf,
    /// The components to come, the next one last.
    pending: Vec<OsString>,
    links: u32,
}

impl ProjectFiles {
    /// Resolves all links of an absolute path. What is missing at its end is no error.
    pub(super) fn resolve(&self, path: &Utf8Path) -> io::Result<Resolved> {
        let mut walk = Walk { files: self, resolved: PathBuf::new(), pending: Vec::new(), links: 0 };
        walk.go_to(path.as_std_path().as_os_str());
        let found = walk.run()?;
        let path = walk.resolved;
        let Some(base) = self.base_of(&path) else { return Err(Refused::Outside(path).into()) };
        let inner = path.strip_prefix(base).map_err(io::Error::other)?.to_owned();
        Ok(Resolved { base: base.to_owned(), inner, found })
    }

    /// Returns the folder that may be entered and holds `path`.
    fn base_of(&self, path: &Path) -> Option<&Path> {
        let bases = std::iter::once(&self.top).chain(&self.allowed);
        bases.map(|base| base.as_std_path()).find(|base| path.starts_with(base))
    }

    /// Refuses to step from the folder `from` into a git directory.
    fn check_step(&self, from: &Path, to: &Path, found: Option<&Metadata>) -> io::Result<()> {
        if self.base_of(from).is_none() {
            return Ok(());
        }
        let name = to.file_name().unwrap_or_default();
        let folder = found.filter(|found| found.is_dir());
        if is_git_name(&bytes_of(name))
            || folder
                .and_then(|folder| platform::identity(to, folder))
                .is_some_and(|identity| self.git_directories.contains(&identity))
        {
            return Err(Refused::InGitDirectory(to.to_owned()).into());
        }
        Ok(())
    }
}

impl Walk<'_> {
    /// Resolves what is pending, and returns what is at its end.
    fn run(&mut self) -> io::Result<Option<Metadata>> {
        let mut last = None;
        while let Some(name) = self.pending.pop() {
            if name == ".." || name == "." {
                // Of a file there is no such entry.
                if !fs::symlink_metadata(&self.resolved)?.is_dir() {
                    return Err(self.failure(ErrorKind::NotADirectory.into()));
                }
                if name == ".." {
                    self.resolved.pop();
                    last = None;
                }
                continue;
            }
            let next = self.resolved.join(&name);
            let found = match fs::symlink_metadata(&next) {
                Ok(found) => found,
                Err(error) if error.kind() == ErrorKind::NotFound => return self.nothing_at(&next),
                Err(error) => return Err(self.failure(error)),
            };
            if found.is_symlink() {
                self.links += 1;
                if self.links > MAX_LINKS {
                    return Err(Refused::TooManyLinks.into());
                }
                // It may be a link no more.
                let target = fs::read_link(&next).map_err(|error| {
                    if error.kind() == ErrorKind::InvalidInput { Refused::Changing.into() } else { error }
                })?;
                self.go_to(target.as_os_str());
                last = None;
                continue;
            }
            self.files.check_step(&self.resolved, &next, Some(&found))?;
            if !self.pending.is_empty() && !found.is_dir() {
                return Err(self.failure(ErrorKind::NotADirectory.into()));
            }
            self.resolved = next;
            last = Some(found);
        }
        match last {
            Some(found) => Ok(Some(found)),
            None => fs::symlink_metadata(&self.resolved).map(Some),
        }
    }

    /// Goes on with a path or the target of a link, relative to what is resolved.
    #[cfg(unix)]
    fn go_to(&mut self, target: &OsStr) {
        let bytes = bytes_of(target);
        let mut rest = bytes.as_ref();
        if rest.starts_with(b"/") {
            self.resolved = PathBuf::from("/");
            // The top has no links before it.
            let top = self.files.top.as_str().as_bytes();
            if let Some(inner) = rest.strip_prefix(top).filter(|inner| inner.starts_with(b"/")) {
                self.resolved = self.files.top.clone().into_std_path_buf();
                rest = inner;
            }
        }
        // A slash at the end asks for a folder.
        if rest.ends_with(b"/") {
            self.pending.push(OsString::from("."));
        }
        let names = rest.split(|byte| *byte == b'/').filter(|name| !name.is_empty());
        self.pending.extend(names.rev().map(|name| platform::os_string(name.to_vec())));
    }

    /// The same where a path may begin with a drive.
    #[cfg(windows)]
    fn go_to(&mut self, target: &OsStr) {
        use std::path::Component;
        let path = Path::new(target);
        let mut rest = path;
        // The top has no links before it.
        if let Ok(inner) = path.strip_prefix(self.files.top.as_std_path()) {
            self.resolved = self.files.top.clone().into_std_path_buf();
            rest = inner;
        }
        if target.to_string_lossy().ends_with(['/', '\\']) {
            self.pending.push(OsString::from("."));
        }
        let mut names = Vec::new();
        for component in rest.components() {
            match component {
                Component::Prefix(prefix) => self.resolved = PathBuf::from(prefix.as_os_str()),
                Component::RootDir => self.resolved.push("\\"),
                name => names.push(name.as_os_str().to_owned()),
            }
        }
        self.pending.extend(names.into_iter().rev());
    }

    /// Takes what is pending as the names of what may be created, if nothing is.
    fn nothing_at(&mut self, next: &Path) -> io::Result<Option<Metadata>> {
        self.files.check_step(&self.resolved, next, None)?;
        next.clone_into(&mut self.resolved);
        while let Some(name) = self.pending.pop() {
            if name == ".." {
                return Err(self.failure(ErrorKind::NotFound.into()));
            }
            if name != "." {
                let next = self.resolved.join(name);
                self.files.check_step(&self.resolved, &next, None)?;
                self.resolved = next;
            }
        }
        Ok(None)
    }

    /// Outside the project, nothing but the fact itself is disclosed.
    fn failure(&self, error: io::Error) -> io::Error {
        match self.files.base_of(&self.resolved) {
            Some(_) => error,
            None => Refused::Outside(self.resolved.clone()).into(),
        }
    }
}

/// Returns true if a file system may take `name` for `.git`: letters in either case, the short name that Windows makes,
/// what Windows ignores at the end of a name, and what macOS ignores anywhere in it.
pub(super) fn is_git_name(name: &[u8]) -> bool {
    let text = String::from_utf8_lossy(name);
    let seen = text.replace(
        |c| matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}'),
        "",
    );
    let seen = seen.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
    seen.eq_ignore_ascii_case(".git") || seen.eq_ignore_ascii_case("git~1")
}
