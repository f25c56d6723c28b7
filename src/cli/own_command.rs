//! Finds the command that starts this program again: the name by which it was called, where the PATH still leads to it.

use std::ffi::OsStr;
use std::path::Path;

use anyhow::{Context, Result};

use crate::record::{CANONICAL, OwnCommand};

use super::caller::Environment;
use super::forward::{identity, is_program};

/// Which of our two programs runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// `specify`, whose subcommand `ralph` is ours.
    Specify,
    /// `git-ralph`, which git runs as `git ralph`.
    GitRalph,
}

impl Program {
    pub fn name(self) -> &'static str {
        match self {
            Self::Specify => "specify",
            Self::GitRalph => "git-ralph",
        }
    }

    /// What comes between the program and our subcommands.
    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Specify => &["ralph"],
            Self::GitRalph => &[],
        }
    }

    fn of(executable: &Path) -> Self {
        let name = executable.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("specify") { Self::Specify } else { Self::GitRalph }
    }
}

/// The words that start this very executable again, up to our subcommands.
pub fn own_program() -> Result<Vec<String>> {
    let path = std::env::current_exe().context("find our own program")?;
    let words = Program::of(&path).words().iter().map(|word| (*word).to_owned());
    Ok(std::iter::once(path.to_string_lossy().into_owned()).chain(words).collect())
}

/// Sets what all texts call this program. `called` is the first word of the command line.
pub fn set_own_command(program: Program, called: Option<&OsStr>, environment: &Environment) {
    let path_variable = environment.value("PATH").unwrap_or_default();
    // Where the system does not tell its path, nothing is better than the name.
    let Ok(executable) = std::env::current_exe() else { return };
    let here = own_command(program, called, &executable, path_variable);
    let is_git = program == Program::GitRalph || here == GIT;
    OwnCommand::set(here, if is_git { GIT } else { CANONICAL });
}

const GIT: &str = "git ralph";

fn own_command(program: Program, called: Option<&OsStr>, executable: &Path, path_variable: &OsStr) -> String {
    let first_on_path = |name: &str| {
        let mut found = std::env::split_paths(path_variable).map(|folder| folder.join(name));
        found.find(|path| is_program(path))
    };
    let ourselves = identity(executable);
    let is_ours = |path: &Path| ourselves.is_some() && identity(path) == ourselves;
    let called = called.map(Path::new);
    let name = called.and_then(Path::file_name).and_then(OsStr::to_str);
    let names = name.into_iter().chain([program.name()]);
    for name in names {
        if first_on_path(name).is_some_and(|path| is_ours(&path)) {
            return match (program, name.strip_prefix("git-")) {
                (Program::GitRalph, Some(command)) => format!("git {}", quoted_for_shell(command)),
                (_, _) => command_line(name, program),
            };
        }
    }
    if first_on_path(Program::GitRalph.name()).is_some() {
        return GIT.to_owned();
    }
    // The path as it was typed, where it leads here from every folder: it may be a link that outlives an update.
    let typed = called.filter(|path| path.is_absolute() && is_ours(path));
    command_line(&typed.unwrap_or(executable).to_string_lossy(), program)
}

fn command_line(program: &str, kind: Program) -> String {
    let words = kind.words().iter().map(|word| (*word).to_owned());
    std::iter::once(quoted_for_shell(program)).chain(words).collect::<Vec<_>>().join(" ")
}

/// A word that every POSIX shell reads as it is.
fn quoted_for_shell(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+,:@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;

    use super::*;

    /// Folders with programs; the PATH is made of some of them.
    struct Machine(tempfile::TempDir);

    impl Machine {
        fn new() -> Self {
            let machine = Self(tempfile::tempdir().unwrap());
            for program in ["ours/specify", "ours/git-ralph", "other/specify", "other/git-ralph"] {
                machine.program(program);
            }
            machine
        }

        fn at(&self, path: &str) -> PathBuf {
            self.0.path().join(path)
        }

        fn program(&self, path: &str) {
            let path = self.at(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }

        fn link(&self, to: &str, at: &str) {
            fs::create_dir_all(self.at(at).parent().unwrap()).unwrap();
            symlink(self.at(to), self.at(at)).unwrap();
        }

        /// The command where `called` is typed; a path of it, and of the answer, begins with `/`.
        fn command(&self, program: Program, called: &str, folders: &[&str]) -> String {
            let executable = self.at("ours").join(program.name());
            let path = std::env::join_paths(folders.iter().map(|folder| self.at(folder))).unwrap();
            let called = match called.strip_prefix('/') {
                Some(path) => self.at(path).into_os_string(),
                None => called.into(),
            };
            let command = own_command(program, Some(&called), &executable, &path);
            command.replace(self.0.path().to_str().unwrap(), "")
        }
    }

    #[test]
    fn the_command_is_the_name_that_was_called_where_the_path_leads_to_it() {
        use Program::{GitRalph, Specify};
        let machine = Machine::new();
        machine.link("ours/specify", "only-specify/specify");
        machine.link("ours/git-ralph", "only-git/git-ralph");
        machine.link("ours/specify", "renamed/sr");
        machine.link("ours/git-ralph", "renamed/git-loop");
        machine.link("ours/specify", "a b/it's");
        fs::write(machine.at("only-git/specify"), "no program").unwrap();
        for (program, called, folders, expected) in [
            (Specify, "specify", &["ours"] as &[&str], "specify ralph"),
            (Specify, "/ours/specify", &["ours"], "specify ralph"),
            (Specify, "specify", &["empty", "only-specify", "other"], "specify ralph"),
            (Specify, "specify", &["only-git", "ours"], "specify ralph"),
            (GitRalph, "git-ralph", &["ours"], "git ralph"),
            (GitRalph, "git-ralph", &["only-git"], "git ralph"),
            // Spec-kit's is in front, or ours is nowhere.
            (Specify, "/ours/specify", &["other", "ours"], "git ralph"),
            (Specify, "/ours/specify", &["only-git"], "git ralph"),
            (Specify, "/ours/specify", &[], "/ours/specify ralph"),
            (Specify, "/only-specify/specify", &[], "/only-specify/specify ralph"),
            (Specify, "../ours/specify", &[], "/ours/specify ralph"),
            (Specify, "/other/specify", &[], "/ours/specify ralph"),
            (GitRalph, "/ours/git-ralph", &["only-specify"], "/ours/git-ralph"),
            (Specify, "/a b/it's", &[], "'/a b/it'\\''s' ralph"),
            // By another name.
            (Specify, "sr", &["renamed"], "sr ralph"),
            (Specify, "sr", &["ours"], "specify ralph"),
            (Specify, "it's", &["a b"], "'it'\\''s' ralph"),
            (GitRalph, "git-loop", &["renamed"], "git loop"),
        ] {
            assert_eq!(machine.command(program, called, folders), expected, "{called} {folders:?}");
        }
    }

    #[test]
    fn a_program_without_a_first_word_has_its_own_name() {
        let machine = Machine::new();
        let executable = machine.at("ours/git-ralph");
        let path = machine.at("ours").into_os_string();
        assert_eq!(own_command(Program::GitRalph, None, &executable, &path), "git ralph");
    }
}
