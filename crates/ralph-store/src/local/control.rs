//! Requests from other terminals to a running loop, and the status that it publishes: small files under
//! `<common git dir>/ralph/control/<session>/`.
//!
//! Each file comes and goes as a whole. The loop only reads, until there is something to take.

use std::fs;
use std::io::ErrorKind;

use anyhow::{Context, Result};
use camino::Utf8PathBuf;

use ralph_core::record::{SessionId, Waiting};
use ralph_git::repository::{Repository, Sharing};
use ralph_os::platform::changed_at;
use ralph_os::process::create_private_dir;

use super::disk;

const STOP: &str = "stop";
const STOP_NOW: &str = "stop-now";
const WAITING: &str = "waiting.json";
const LIMITS: &str = "limits.json";
const PHASE: &str = "phase";

/// The directory of the requests to one session.
#[derive(Debug, Clone)]
pub struct Control {
    dir: Utf8PathBuf,
    sharing: Option<Sharing>,
}

/// When a session is to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    AfterIteration,
    Now,
}

impl Control {
    pub fn of(repository: &Repository, session: &SessionId) -> Self {
        let dir = repository.ralph_dir().join("control").join(session.as_str());
        Self { dir, sharing: repository.sharing }
    }

    /// Reads the pending requests. Writes nothing.
    pub fn look(&self) -> Result<Option<Stop>> {
        let mut stop = None;
        for path in disk::children(&self.dir)? {
            match path.file_name().unwrap_or_default() {
                STOP_NOW => stop = Some(Stop::Now),
                STOP if stop.is_none() => stop = Some(Stop::AfterIteration),
                _ => {}
            }
        }
        Ok(stop)
    }

    /// Returns true if an immediate stop was requested. Checks one file.
    pub fn is_stopped_now(&self) -> bool {
        self.dir.join(STOP_NOW).exists()
    }

    pub fn ask_to_stop(&self, stop: Stop) -> Result<()> {
        let name = match stop {
            Stop::AfterIteration => STOP,
            Stop::Now => STOP_NOW,
        };
        self.put(name, b"")
    }

    /// Returns what the loop waits for, if it does.
    pub fn waiting(&self) -> Option<Waiting> {
        let bytes = disk::read_if_there(&self.dir.join(WAITING)).ok().flatten()?;
        serde_json::from_slice(&bytes).ok()
    }

    pub fn publish_waiting(&self, waiting: &Waiting) -> Result<()> {
        self.put(WAITING, &serde_json::to_vec(waiting).context("serialize what is waited for")?)
    }

    pub fn clear_waiting(&self) -> Result<()> {
        disk::remove_file_if_there(&self.dir.join(WAITING)).map(drop)
    }

    /// Returns the usage limits that the loop met last.
    pub fn limits(&self) -> Vec<Waiting> {
        let bytes = disk::read_if_there(&self.dir.join(LIMITS)).ok().flatten().unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    pub fn publish_limits(&self, limits: &[Waiting]) -> Result<()> {
        self.put(LIMITS, &serde_json::to_vec(limits).context("serialize usage limits")?)
    }

    /// Returns the phase of the iteration in progress: `agent`, `validation`, `recording`.
    pub fn phase(&self) -> Option<String> {
        let bytes = disk::read_if_there(&self.dir.join(PHASE)).ok().flatten()?;
        let is_word = bytes.iter().all(|byte| byte.is_ascii_lowercase() || *byte == b'_');
        if is_word && !bytes.is_empty() { String::from_utf8(bytes).ok() } else { None }
    }

    pub fn publish_phase(&self, phase: &str) -> Result<()> {
        self.put(PHASE, phase.as_bytes())
    }

    /// Returns when the phase was published, by the clock of the files, in seconds and nanoseconds.
    pub fn phase_since(&self) -> Option<(i64, i64)> {
        Some(changed_at(&fs::metadata(self.dir.join(PHASE)).ok()?))
    }

    pub fn clear_phase(&self) -> Result<()> {
        disk::remove_file_if_there(&self.dir.join(PHASE)).map(drop)
    }

    /// Removes all requests: they were meant for an earlier loop.
    pub fn clear(&self) -> Result<()> {
        for path in disk::children(&self.dir)? {
            disk::remove_file_if_there(&path)?;
        }
        match fs::remove_dir(&self.dir) {
            Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::DirectoryNotEmpty) => {
                Err(error).with_context(|| format!("remove {}", self.dir))
            }
            _ => Ok(()),
        }
    }

    fn put(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.dir.join(name);
        let draft = self.draft(bytes)?;
        fs::rename(&draft, &path).with_context(|| format!("write {path}"))
    }

    fn draft(&self, bytes: &[u8]) -> Result<Utf8PathBuf> {
        create_private_dir(&self.dir)?;
        for made in self.dir.ancestors().take(2) {
            disk::share(made, self.sharing)?;
        }
        let draft = self.dir.join(format!("new-{}", std::process::id()));
        fs::write(&draft, bytes).with_context(|| format!("write {draft}"))?;
        disk::share(&draft, self.sharing)?;
        Ok(draft)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn control(folder: &tempfile::TempDir) -> Control {
        let dir = Utf8PathBuf::from_path_buf(folder.path().join("control/session")).unwrap();
        Control { dir, sharing: None }
    }

    #[test]
    fn there_are_no_requests_if_no_file_exists() {
        let folder = tempfile::tempdir().unwrap();
        let control = control(&folder);
        assert_eq!(control.look().unwrap(), None);
        control.clear().unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "looking writes nothing");
    }

    #[test]
    fn the_faster_stop_wins() {
        let folder = tempfile::tempdir().unwrap();
        let control = control(&folder);
        control.ask_to_stop(Stop::AfterIteration).unwrap();
        assert_eq!(control.look().unwrap(), Some(Stop::AfterIteration));
        assert!(!control.is_stopped_now());
        control.ask_to_stop(Stop::Now).unwrap();
        assert_eq!(control.look().unwrap(), Some(Stop::Now));
        assert!(control.is_stopped_now());
        control.clear().unwrap();
        assert_eq!(control.look().unwrap(), None);
        assert!(!control.dir.exists());
    }
}
