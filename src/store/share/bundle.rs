//! Records in one file, for people without a remote between them.

use anyhow::{Context, Result, bail};
use camino::Utf8Path;

use crate::process::{LONG, Tool};
use crate::record::{IfThere, RALPH, SessionId, Timestamp};
use crate::store::refs::naming::{LOG_PREFIX, NOTES, SNAPSHOT_PREFIX, SessionRefs, TOMBSTONES};
use crate::store::{SessionLog, Store};

use super::remote::{Connection, Remote};
use super::sync::{CleanedRefs, Direction, Exchange, Snapshots, SyncOptions};

/// What went into a bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bundled {
    pub sessions: usize,
    pub bytes: u64,
}

impl Store {
    /// Writes sessions into a file that is not there yet.
    pub fn bundle(&self, file: &Utf8Path, logs: &[SessionLog], snapshots: Snapshots) -> Result<Bundled> {
        if file.symlink_metadata().if_there().with_context(|| format!("look at {file}"))?.is_some() {
            bail!("{file} is there already\nhint: take another name, or remove it first");
        }
        let mut names: Vec<String> = logs.iter().map(|log| log.refs.log()).collect();
        if snapshots == Snapshots::Take {
            let kept = self.refs_of_ours(SNAPSHOT_PREFIX)?;
            names.extend(logs.iter().map(|log| log.refs.snapshot()).filter(|name| kept.contains_key(name)));
        }
        for shared in [NOTES, TOMBSTONES] {
            if self.refs().tip(shared)?.is_some() {
                names.push(shared.to_owned());
            }
        }
        if snapshots == Snapshots::Take && self.repository().is_partial() {
            bail!(
                "this clone is partial and lacks objects of the snapshots\nhint: bundle the records without --snapshots, or bundle in a full clone"
            );
        }
        let git = Tool::git(&self.repository().common_dir);
        git.args(["bundle", "create", "--quiet", file.as_str(), "--stdin"])
            .stdin(format!("{}\n", names.join("\n")))
            .limit(LONG)
            .read()
            .context("write the bundle")?;
        let bytes = file.metadata().with_context(|| format!("look at {file}"))?.len();
        Ok(Bundled { sessions: logs.len(), bytes })
    }

    /// Takes in what a bundle holds, as if it came from a remote.
    pub fn unbundle(&self, file: &Utf8Path, at: Timestamp) -> Result<Exchange> {
        if !file.is_file() {
            bail!("there is no file {file}");
        }
        let git = Tool::git(&self.repository().common_dir);
        let verified = git.args(["bundle", "verify", "--quiet", file.as_str()]).run()?;
        if !verified.is_success() {
            let words = verified.complaint();
            let words = words.trim_start_matches("error: ");
            bail!(
                "cannot read the bundle {file}: {words}\nhint: it must be a complete file that `{RALPH} bundle` or `git bundle` wrote"
            );
        }
        let bundle = Remote { name: file.to_string(), url: None, ssh_command: None };
        if Connection::new(self.repository(), &bundle).list()?.is_empty() {
            bail!("{file} holds no records\nhint: `{RALPH} bundle FILE` writes a file that does");
        }
        self.sync(
            &bundle,
            SyncOptions {
                direction: Direction::Fetch,
                snapshots: Snapshots::Take,
                // Who names a file wants what is in it.
                cleaned: CleanedRefs::Take,
                at,
            },
        )
    }
}

/// Returns the sessions among refs.
pub fn sessions_among<'a>(names: impl Iterator<Item = &'a String>) -> Vec<SessionId> {
    let mut sessions: Vec<SessionId> = names
        .filter(|name| name.starts_with(LOG_PREFIX))
        .filter_map(|name| SessionRefs::from_name(name))
        .map(|refs| refs.session)
        .collect();
    sessions.sort();
    sessions
}
