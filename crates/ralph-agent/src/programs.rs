//! Finds programs on the PATH, and checks that they can be started.

use anyhow::{Result, bail};
use camino::{Utf8Path, Utf8PathBuf};
use rustix::fs::{Access, access};

use super::interface::Surroundings;

/// Returns where a program is that can be run by its name.
pub(super) fn on_path(program: &str, path_variable: &str) -> Option<Utf8PathBuf> {
    let folders = path_variable.split(':').filter(|folder| !folder.is_empty());
    folders.map(|folder| Utf8Path::new(folder).join(program)).find(|path| is_executable(path))
}

fn is_executable(path: &Utf8Path) -> bool {
    path.is_file() && access(path.as_std_path(), Access::EXEC_OK).is_ok()
}

/// Checks that a program can be started by this name or path.
pub(super) fn check_program(agent: &str, program: &str, surroundings: &Surroundings<'_>) -> Result<()> {
    if !program.contains('/') {
        let path_variable = (surroundings.lookup)("PATH").unwrap_or_default();
        if on_path(program, &path_variable).is_none() {
            bail!(
                "agent `{agent}`: no program `{program}` on the PATH\nhint: install it, or choose another \
                 agent with --agent NAME or --agent-command CMD"
            );
        }
        return Ok(());
    }
    let path = surroundings.directory.join(program);
    if !path.is_file() {
        bail!(
            "agent `{agent}`: there is no program {path}\nhint: correct its command (--agent-command, or `command` in [agents.{agent}])"
        );
    }
    if !is_executable(&path) {
        bail!("agent `{agent}`: {path} is not executable\nhint: chmod +x {path}");
    }
    Ok(())
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
        let surroundings = Surroundings { directory: folder, lookup: &lookup };
        let complaint =
            |program: &str| check_program("fake", program, &surroundings).err().map(|e| e.to_string());
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
