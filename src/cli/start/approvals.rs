//! What a user approved in a repository: commands of the project's file, and addresses to push to. It lies outside of
//! every repository: a clone brings no approval with it.

use std::fs;
use std::io::Write;

use anyhow::{Context as _, Result};
use camino::{Utf8Path, Utf8PathBuf};
use sha2::{Digest, Sha256};

use ralph_core::config::Command;
use ralph_core::record::{Refusal, hex};
use ralph_os::if_there::IfThere;
use ralph_os::platform;
use ralph_project::project_files::{MAX_DOCUMENT_BYTES, explain, read_named};

use crate::cli::Context;

/// What can be approved.
#[derive(Debug, Clone, Copy)]
pub enum Approved<'a> {
    /// All commands of the file, and exactly so.
    Commands(&'a [Command]),
    /// That records go to this address, and snapshots with them.
    Push { address: &'a str, snapshots: bool },
    /// That branches go to this address, with what a pull request says of them.
    Branches { address: &'a str },
}

/// The approvals of one repository; its work trees share them.
pub struct Approvals {
    path: Utf8PathBuf,
    repository: Utf8PathBuf,
}

impl Approvals {
    pub fn of(context: &Context) -> Result<Self> {
        let folder = state_folder(context).ok_or_else(|| {
            Refusal::new("no folder for approvals: neither XDG_STATE_HOME nor HOME is set")
                .with_hint("`--trust` approves for one call, SPECKIT_RALPH_TRUST=always for all")
        })?;
        let common = &context.store()?.repository().common_dir;
        let repository = platform::canonicalize(common).unwrap_or_else(|_| common.clone());
        let name = hex(&Sha256::digest(repository.as_str()));
        Ok(Self { path: folder.join("specify-ralph/trust").join(name), repository })
    }

    pub fn hold(&self, what: Approved<'_>) -> Result<bool> {
        self.hold_since(0, what)
    }

    /// Returns true if it was approved since there were `count` lines of approvals. After they were all taken back, each
    /// is new.
    pub fn hold_since(&self, count: usize, what: Approved<'_>) -> Result<bool> {
        let (text, digest) = (self.read()?, what.digest());
        let skipped = if count > text.lines().count() { 0 } else { count };
        Ok(text.lines().skip(skipped).any(|line| line == digest))
    }

    /// Returns how many lines of approvals there are.
    pub fn count(&self) -> Result<usize> {
        Ok(self.read()?.lines().count())
    }

    fn read(&self) -> Result<String> {
        // Not a pipe, which would never answer.
        let read = read_named(&self.path, MAX_DOCUMENT_BYTES).if_there();
        let bytes = read.map_err(|error| explain("read", &self.path, error))?.unwrap_or_default();
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Approves it, once more too: then it is approved since whatever was before.
    pub fn approve(&self, what: Approved<'_>) -> Result<()> {
        // Where a pipe is in its place, opening it would wait without end.
        self.read()?;
        let folder = self.path.parent().unwrap_or(Utf8Path::new("/"));
        platform::private_dirs()
            .recursive(true)
            .create(folder)
            .with_context(|| format!("create {folder}"))?;
        let opened = fs::OpenOptions::new().create(true).append(true).open(&self.path);
        let appended = opened.and_then(|mut file| {
            // One write, so that two calls at once leave two whole lines.
            file.write_all(format!("# {}\n{}\n", self.repository, what.digest()).as_bytes())?;
            file.sync_all()
        });
        appended.with_context(|| format!("write {}", self.path))
    }

    /// Takes back all approvals. Returns true if there were any.
    pub fn revoke(&self) -> Result<bool> {
        let removed = fs::remove_file(&self.path).if_there();
        removed.map(|removed| removed.is_some()).with_context(|| format!("remove {}", self.path))
    }
}

/// Returns where programs keep what is neither configuration nor a cache.
fn state_folder(context: &Context) -> Option<Utf8PathBuf> {
    // HOME may be relative.
    context.user_dir("XDG_STATE_HOME", ".local/state").filter(|folder| folder.is_absolute())
}

impl Approved<'_> {
    /// By content and length, so that no text of one value can pass for two.
    fn digest(self) -> String {
        let parts: Vec<&str> = match self {
            Self::Commands(commands) => {
                commands.iter().flat_map(|command| [command.key.as_str(), command.value.as_str()]).collect()
            }
            Self::Push { address, snapshots } => {
                vec!["push", address, if snapshots { "snapshots" } else { "" }]
            }
            Self::Branches { address } => vec!["branches", address],
        };
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        hex(&hash.finalize())
    }
}

#[cfg(test)]
mod tests {
    use ralph_core::config::{Config, Inputs};

    use super::*;

    fn of_file(text: &str) -> String {
        let file = Some(text.to_owned());
        let config = Config::read(&Inputs { file, ..Inputs::default() }).unwrap();
        Approved::Commands(&config.file_commands).digest()
    }

    #[test]
    fn an_approval_is_of_the_commands_and_not_of_the_file() {
        let approved = of_file("timeout = '5m'\nvalidation.command = 'make test'\n");
        for same in [
            "validation.command = 'make test'\n",
            "# a comment\n[validation]\ncommand = \"make test\"\n",
            "max-iterations = 3\nhistory.summarize = 'local'\nprogress.command = 'none'\nvalidation.command = 'make test'\n",
        ] {
            assert_eq!(of_file(same), approved, "{same}");
        }
        for other in [
            "validation.command = 'make tests'\n",
            "validation.command = 'none'\n",
            "validation.command = 'make test'\nhooks.on-finish = 'x'\n",
            "validation.command = 'make test'\nhooks.on-event = 'x'\n",
            "validation.command = 'make test'\n[agents.claude]\ncommand = 'x'\n",
            "validation.command = 'make test'\n[agents.claude.env]\nPATH = 'x'\n",
            "validation.command = 'make test'\n[loop.docs]\nvalidation.command = 'x'\n",
            "validation.command = 'make test'\nredaction.allow = ['x']\n",
        ] {
            assert_ne!(of_file(other), approved, "{other}");
        }
        let secret = |value: &str| of_file(&format!("[agents.claude.env]\nTOKEN = '{value}'\n"));
        assert_ne!(secret("a"), secret("b"));
    }
}
