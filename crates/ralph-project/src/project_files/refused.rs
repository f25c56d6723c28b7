//! Why a path is not opened, in words.

use std::fmt::{self, Display};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use camino::Utf8Path;

/// Why a path of the project is not opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// It ends outside of the work tree, at this path.
    Outside(PathBuf),
    /// It is a git directory, or passes one.
    InGitDirectory(PathBuf),
    /// It passes more links than the system follows.
    TooManyLinks,
    Directory,
    /// A FIFO, a device or a socket.
    NotAFile(&'static str),
    TooLarge {
        max_bytes: u64,
    },
    /// Its links were replaced repeatedly while it was opened.
    Changing,
}

impl Refused {
    /// Returns what the user can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Outside(target) => {
                let above = target.parent().unwrap_or(Path::new("/"));
                let folder = if target.is_dir() { target } else { above }.display();
                Some(format!(
                    "name a path inside, or replace the link; or permit links to that folder: git config --add ralph.allowLinks {folder}"
                ))
            }
            Self::InGitDirectory(_) => Some("name another path, or replace the link".to_owned()),
            Self::TooManyLinks
            | Self::Directory
            | Self::NotAFile(_)
            | Self::TooLarge { .. }
            | Self::Changing => None,
        }
    }
}

impl Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Outside(target) => write!(f, "it leads out of the work tree, to {}", target.display()),
            Self::InGitDirectory(target) => {
                write!(f, "it leads into a git directory, to {}", target.display())
            }
            Self::TooManyLinks => f.write_str("it passes too many symbolic links"),
            Self::Directory => f.write_str("it is a directory"),
            Self::NotAFile(what) => write!(f, "it is not a regular file ({what})"),
            Self::TooLarge { max_bytes } => write!(f, "it is larger than {} MiB", max_bytes >> 20),
            Self::Changing => f.write_str("its links change while it is opened"),
        }
    }
}

impl std::error::Error for Refused {}

impl From<Refused> for io::Error {
    fn from(refused: Refused) -> Self {
        let kind = match refused {
            Refused::Outside(_) | Refused::InGitDirectory(_) => ErrorKind::PermissionDenied,
            Refused::Directory => ErrorKind::IsADirectory,
            Refused::NotAFile(_) | Refused::TooManyLinks => ErrorKind::InvalidInput,
            Refused::TooLarge { .. } => ErrorKind::FileTooLarge,
            Refused::Changing => ErrorKind::ResourceBusy,
        };
        Self::new(kind, refused)
    }
}

/// Returns why a path was refused, if that is what the error says.
pub fn refused(error: &io::Error) -> Option<&Refused> {
    error.get_ref()?.downcast_ref()
}

/// Returns an error for people: what was tried, why it failed, and what helps.
pub fn explain(action: &str, path: &Utf8Path, error: io::Error) -> anyhow::Error {
    match refused(&error).and_then(Refused::hint) {
        Some(hint) => anyhow::anyhow!("{action} {path}: {error}\nhint: {hint}"),
        None => anyhow::Error::new(error).context(format!("{action} {path}")),
    }
}
