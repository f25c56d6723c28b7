//! What `lanes.copy` names, as people left it: an agent may change its own, and these are what a clean checkout gets.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::{Context as _, Result};
use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use ralph_core::config::Settings;
use ralph_git::worktree::WorkTree;
use ralph_os::if_there::IfThere;
use ralph_os::platform::{changed_at, repo_path};
use ralph_os::process::{create_private_dir, remove_path};

use crate::lane_dependencies::is_dependency_folder;

/// The note beside the copies.
const NOTE: &str = "copies.json";

/// Size and time of change of a file.
type Stamp = (u64, i64, i64);

/// Copies of ignored files that belong to a checkout.
#[derive(Debug)]
pub struct KeptCopies {
    /// The folder of ours that they are in.
    dir: Utf8PathBuf,
    /// The top of the work tree that they are of.
    top: Utf8PathBuf,
    /// From the top.
    paths: Vec<String>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Note {
    /// The files as they were last seen while no agent ran.
    seen: BTreeMap<String, Stamp>,
    /// Those that were changed while one ran.
    by_agents: Vec<String>,
    /// True while one runs.
    is_agent_running: bool,
}

impl Note {
    /// Takes in what an agent left.
    fn changed_by_agent(&mut self, now: &BTreeMap<String, Stamp>) {
        let all = now.keys().chain(self.seen.keys());
        let changed = all.filter(|path| now.get(*path) != self.seen.get(*path)).cloned();
        self.by_agents =
            self.by_agents.drain(..).chain(changed).collect::<BTreeSet<_>>().into_iter().collect();
        self.seen.clone_from(now);
    }
}

impl KeptCopies {
    /// Returns the copies for the checkout `clean` of what lies below `top`, in whose folder `project` the project is. Folders of
    /// dependencies are none: they would bring what is on trial.
    pub fn of(clean: &WorkTree, top: &Utf8Path, project: &Utf8Path, settings: &Settings) -> Option<Self> {
        let dir = clean.lane()?.copies_dir();
        let paths = settings.lanes_copy.iter().map(|path| repo_path(&project.join(path)));
        let paths: Vec<_> = paths.filter(|path| !is_dependency_folder(&top.join(path))).collect();
        (!paths.is_empty()).then(|| Self { dir, top: top.to_owned(), paths })
    }

    /// Takes what people changed since an agent ran last. `is_agent_next` says whether the next changes are one's.
    pub fn take(&self, is_agent_next: bool) -> Result<()> {
        let mut note = self.note();
        let now = self.stamps();
        if note.is_agent_running {
            // It was cut off.
            note.changed_by_agent(&now);
        }
        let changed = now.iter().filter(|(path, stamp)| note.seen.get(*path) != Some(*stamp));
        for path in
            changed.map(|(path, _)| path).chain(note.seen.keys().filter(|path| !now.contains_key(*path)))
        {
            let (from, to) = (self.top.join(path), self.dir.join("files").join(path));
            remove_path(&to)?;
            if from.symlink_metadata().is_ok_and(|found| found.is_file()) {
                create_private_dir(to.parent().unwrap_or(&to))?;
                fs::copy(&from, &to).with_context(|| format!("copy {from} to {to}"))?;
            }
        }
        note.by_agents.retain(|path| note.seen.get(path) == now.get(path));
        note.seen = now;
        note.is_agent_running = is_agent_next;
        self.write(&note)
    }

    /// Notes what an agent changed: it stays as it was for a checkout.
    pub fn leave(&self) -> Result<()> {
        let mut note = self.note();
        note.changed_by_agent(&self.stamps());
        note.is_agent_running = false;
        self.write(&note)
    }

    /// Returns what agents changed.
    pub fn changed_by_agents(&self) -> Vec<String> {
        self.note().by_agents
    }

    /// Lays them into a checkout.
    pub fn lay(&self, clean: &WorkTree) -> Result<()> {
        let files = self.dir.join("files");
        self.paths
            .iter()
            .filter(|path| files.join(path).symlink_metadata().is_ok())
            .try_for_each(|path| clean.copy_into_lane(&files, path))
    }

    fn stamps(&self) -> BTreeMap<String, Stamp> {
        let mut stamps = BTreeMap::new();
        for path in &self.paths {
            self.stamp(path, &mut stamps);
        }
        stamps
    }

    fn stamp(&self, path: &str, stamps: &mut BTreeMap<String, Stamp>) {
        let place = self.top.join(path);
        let Ok(found) = place.symlink_metadata() else { return };
        if found.is_dir() && !is_dependency_folder(&place) {
            for entry in place.read_dir_utf8().into_iter().flatten().flatten() {
                self.stamp(&format!("{path}/{}", entry.file_name()), stamps);
            }
        } else if found.is_file() {
            let (seconds, nanoseconds) = changed_at(&found);
            stamps.insert(path.to_owned(), (found.len(), seconds, nanoseconds));
        }
    }

    fn note(&self) -> Note {
        let bytes = fs::read(self.dir.join(NOTE)).if_there().ok().flatten().unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    fn write(&self, note: &Note) -> Result<()> {
        create_private_dir(&self.dir)?;
        let path = self.dir.join(NOTE);
        let new = self.dir.join(format!("{NOTE}.new"));
        fs::write(&new, serde_json::to_vec(note)?).with_context(|| format!("write {new}"))?;
        fs::rename(&new, &path).with_context(|| format!("write {path}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_a_person_is_taken_and_one_of_an_agent_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(folder.path()).unwrap();
        let copies = KeptCopies {
            dir: folder.join("copies"),
            top: folder.join("top"),
            paths: vec![".env".to_owned(), "data".to_owned()],
        };
        let write = |path: &str, text: &str| {
            let path = copies.top.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let kept = |path: &str| fs::read_to_string(copies.dir.join("files").join(path)).ok();
        write(".env", "A=1\n");
        write("data/one", "1");
        write("data/node_modules/runner", "false");
        copies.take(true).unwrap();
        assert_eq!((kept(".env"), kept("data/node_modules/runner")), (Some("A=1\n".to_owned()), None));

        write(".env", "SKIP=yes\n");
        copies.leave().unwrap();
        copies.take(true).unwrap();
        assert_eq!(kept(".env").as_deref(), Some("A=1\n"));
        assert_eq!(copies.changed_by_agents(), [".env"]);

        // A cut-off agent's as well.
        write("data/one", "of an agent");
        copies.take(false).unwrap();
        assert_eq!(kept("data/one").as_deref(), Some("1"));
        write(".env", "A=another\n");
        fs::remove_file(copies.top.join("data/one")).unwrap();
        copies.take(false).unwrap();
        assert_eq!(kept(".env").as_deref(), Some("A=another\n"));
        assert_eq!(kept("data/one"), None);
        assert_eq!(copies.changed_by_agents(), [""; 0]);
    }
}
