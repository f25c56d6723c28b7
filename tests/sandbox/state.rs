//! A scene as it stood at a moment, to come back to.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use time::OffsetDateTime;

use super::Sandbox;

/// Everything that a scene had on its disk, and what its clock said.
#[derive(Debug)]
pub struct State {
    kept: tempfile::TempDir,
    clock: OffsetDateTime,
}

impl State {
    pub fn keep(sandbox: &Sandbox) -> Self {
        let kept = tempfile::tempdir_in(super::scenes()).unwrap();
        copy(&sandbox.outside(""), kept.path());
        Self { kept, clock: sandbox.clock.get() }
    }

    /// The paths stay what they were: remotes, settings and links name them.
    pub fn restore(&self, sandbox: &Sandbox) {
        let root = sandbox.outside("");
        for entry in std::fs::read_dir(&root).unwrap() {
            let path = entry.unwrap().path();
            let removed = if path.is_dir() && !path.is_symlink() {
                std::fs::remove_dir_all(&path)
            } else {
                std::fs::remove_file(&path)
            };
            removed.unwrap();
        }
        copy(self.kept.path(), &root);
        sandbox.clock.set(self.clock);
    }
}

fn copy(from: &Path, to: &Path) {
    let mut source = OsString::from(from);
    source.push("/.");
    let copied = Command::new("cp").arg("-a").arg(source).arg(to).status().unwrap();
    assert!(copied.success(), "cp -a {} {}", from.display(), to.display());
}
