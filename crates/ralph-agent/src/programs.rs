//! Finds programs on the PATH, and checks that they can be started.

use std::env::split_paths;

use anyhow::{Result, bail};
use camino::{Utf8Path, Utf8PathBuf};
use ralph_os::platform::{is_path, may_run, program_names};

use super::interface::Lookup;

/// Returns where a program is that can be run by its name.
pub(super) fn on_path(program: &str, path_variable: &str) -> Option<Utf8PathBuf> {
    let folders = split_paths(path_variable).filter_map(|folder| Utf8PathBuf::from_path_buf(folder).ok());
    let folders = folders.filter(|folder| !folder.as_str().is_empty());
    let names = program_names(program);
    folders
        .flat_map(|folder| names.iter().map(move |name| folder.join(name)))
        .find(|path| may_run(path.as_std_path()))
}

/// Checks that a program can be started by this name or path.
pub(super) fn check_program(
    agent: &str,
    program: &str,
    directory: &Utf8Path,
    lookup: Lookup<'_>,
) -> Result<()> {
    if !is_path(program) {
        let path_variable = lookup("PATH").unwrap_or_default();
        if on_path(program, &path_variable).is_none() {
            bail!(
                "agent `{agent}`: no program `{program}` on the PATH\nhint: install it, or choose another \
                 agent with --agent NAME or --agent-command CMD"
            );
        }
        return Ok(());
    }
    let path = directory.join(program);
    if may_run(path.as_std_path()) {
        return Ok(());
    }
    if !path.is_file() {
        bail!(
            "agent `{agent}`: there is no program {path}\nhint: correct its command (--agent-command, or `command` in [agents.{agent}])"
        );
    }
    bail!("agent `{agent}`: {path} is not executable\nhint: chmod +x {path}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_cannot_be_started_is_named_with_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(folder.path()).unwrap();
        std::fs::write(folder.join("agent.sh"), "").unwrap();
        let lookup = |name: &str| (name == "PATH").then(|| "/bin:/usr/bin".to_owned());
        let complaint =
            |program: &str| check_program("fake", program, folder, &lookup).err().map(|e| e.to_string());
        assert_eq!(complaint("sh"), None);
        assert_eq!(complaint("/bin/sh"), None);
        for (program, wanted) in [
            ("no-such-program", "agent `fake`: no program `no-such-program` on the PATH\nhint: "),
            ("./agent.sh", "is not executable\nhint: chmod +x "),
            ("./missing.sh", "agent `fake`: there is no program "),
        ] {
            let text = complaint(program).unwrap();
            assert!(text.contains(wanted), "{text}");
        }
    }
}
