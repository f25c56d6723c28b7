//! The files that a session changed, by its snapshots.

use anyhow::Result;
use camino::Utf8Path;

use ralph_core::record::{LogEntry, ObjectId};
use ralph_core::view::SessionView;
use ralph_git::worktree::{ChangedFile, changed_between};
use ralph_os::platform::repo_path;
use ralph_os::process::Tool;

use super::{SessionLog, Store};

/// The two files of a feature that the loop itself writes, from the top of the work tree.
#[derive(Debug, Clone)]
pub struct FeatureFiles {
    pub tasks: String,
    pub progress: String,
}

impl Store {
    /// Returns the files of a feature that the loop itself writes, by the first record of one of its sessions.
    pub fn feature_files(&self, feature: &str, first: Option<&LogEntry>) -> FeatureFiles {
        let artifact = first.and_then(|start| self.session_json(start).ok());
        // A feature is a folder, or a task list that `--tasks` named.
        let is_file = artifact.is_some_and(|session| session.artifact.path == feature);
        let feature = Utf8Path::new(feature);
        let folder = if is_file { feature.parent().unwrap_or(Utf8Path::new("")) } else { feature };
        FeatureFiles {
            tasks: if is_file { feature.to_string() } else { repo_path(&folder.join("tasks.md")) },
            progress: repo_path(&folder.join("progress.txt")),
        }
    }

    /// The same of the feature of a session.
    pub fn files_of(&self, log: &SessionLog) -> FeatureFiles {
        self.feature_files(log.feature(), log.entries.first())
    }

    /// Returns the files in which two snapshots differ, without those of the loop; `None` if they are not here, or too large to
    /// compare.
    pub fn changed_files(
        &self,
        own: &FeatureFiles,
        snapshots: (Option<ObjectId>, Option<ObjectId>),
    ) -> Result<Option<Vec<ChangedFile>>> {
        let (Some(first), Some(last)) = snapshots else { return Ok(None) };
        if !self.has(&first)? || !self.has(&last)? || !self.is_comparable(&first, &last)? {
            return Ok(None);
        }
        let mut files = changed_between(Tool::git(&self.repository.directory), &first, &last)?;
        files.retain(|file| [&own.tasks, &own.progress].iter().all(|own| own.as_bytes() != file.path));
        Ok(Some(files))
    }

    /// Returns the files that a session changed, from its first snapshot to its last; `None` without snapshots.
    pub fn files_of_session(&self, view: &SessionView) -> Result<Option<Vec<ChangedFile>>> {
        let first = view.entries.first().filter(|first| !first.is_iteration());
        let Some((first, oldest)) = first.zip(view.iterations().find_map(LogEntry::snapshot)) else {
            return Ok(None);
        };
        // What one loop of a group did has not what the others did, before it is merged.
        let is_in_group = view.group().is_some();
        let kept = view.iterations().rev().filter(|entry| !is_in_group || entry.is_result());
        let newest = { kept }.find_map(LogEntry::snapshot);
        let own = self.feature_files(first.feature(), Some(first));
        self.changed_files(&own, (Some(self.first_of_chain(oldest)?), newest))
    }
}
