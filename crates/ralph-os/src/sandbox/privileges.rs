//! Programs that run as their owner, whoever starts them: commands inside can make them, and they act outside.

use camino::Utf8PathBuf;

use super::{Rules, Sandbox};
use crate::platform::{mode, set_mode};

/// Set-user-id and set-group-id.
const BITS: u32 = 0o6000;

impl Sandbox {
    /// Takes these bits off the files to which commands inside gave them. Returns the files, and an error for each that keeps
    /// them.
    pub fn take_off_privileges(&self) -> (Vec<Utf8PathBuf>, Vec<String>) {
        let (mut taken, mut failures) = (Vec::new(), Vec::new());
        for path in find(&self.rules).into_iter().filter(|path| !self.privileged.contains(path)) {
            let done =
                path.symlink_metadata().and_then(|found| set_mode(path.as_std_path(), mode(&found) & 0o777));
            match done {
                Ok(()) => taken.push(path),
                Err(error) => failures.push(format!("{path}: {error}")),
            }
        }
        (taken, failures)
    }
}

/// Returns the files with such a bit that commands inside can write. On folders it says whose what is made in them is.
pub(super) fn find(rules: &Rules) -> Vec<Utf8PathBuf> {
    let (mut found, mut folders) = (Vec::new(), rules.write.clone());
    while let Some(folder) = folders.pop() {
        // What we cannot read, others cannot either.
        for entry in folder.read_dir_utf8().into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && !rules.read_only.iter().any(|path| path == entry.path()) {
                folders.push(entry.into_path());
            } else if kind.is_file() && entry.metadata().is_ok_and(|metadata| mode(&metadata) & BITS != 0) {
                found.push(entry.into_path());
            }
        }
    }
    found
}
