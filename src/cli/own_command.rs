//! Finds the command that starts this program again: the name by which it was called, where the PATH still leads to it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use ralph_core::record::{CANONICAL, OwnCommand, quoted_for_shell};

use super::Environment;
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
            Self::GitRalph => GIT_PROGRAM,
        }
    }

    /// Returns what comes between the program and our subcommands.
    pub fn words(self) -> &'static [&'static str] {
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

/// Returns the words that start this very executable again, up to our subcommands.
pub fn own_program() -> Result<Vec<String>> {
    let path = std::env::current_exe().context("find our own program")?;
    let words = Program::of(&path).words().iter().map(|word| (*word).to_owned());
    Ok(std::iter::once(path.to_string_lossy().into_owned()).chain(words).collect())
}

/// Sets what all texts call this program. `called` is the first word of the command line.
pub fn set_own_command(program: Program, called: Option<&OsStr>, environment: &Environment) {
    // If the system does not report its path, the name has to do.
    let Ok(executable) = std::env::current_exe() else { return };
    let search = Search::new(program, called, &executable, environment.value("PATH"));
    let (here, by_path) = (search.command(), search.by_path());
    let is_git = program == Program::GitRalph || here == GIT;
    OwnCommand::set(here, if is_git { GIT } else { CANONICAL }, by_path);
}

/// Returns what a git hook of this machine calls: our program for git where it is on the PATH, else this one by its
/// path, as another `specify` may be in front when the hook runs.
pub fn hook_command(environment: &Environment) -> String {
    let Ok(executable) = std::env::current_exe() else { return GIT_PROGRAM.to_owned() };
    let called = std::env::args_os().next();
    Search::new(Program::of(&executable), called.as_deref(), &executable, environment.value("PATH"))
        .for_hooks()
}

/// Returns the name by which this program was called, and the word that starts it again: the name, or a path if the
/// PATH does not lead here.
pub fn called_program(environment: &Environment) -> (String, String) {
    let called = std::env::args_os().next();
    let executable = std::env::current_exe().unwrap_or_default();
    let program = Program::of(&executable);
    Search::new(program, called.as_deref(), &executable, environment.value("PATH")).called_program()
}

const GIT: &str = "git ralph";

/// Our program for git.
pub const GIT_PROGRAM: &str = "git-ralph";

/// Where the running program is found again.
struct Search<'a> {
    program: Program,
    called: Option<&'a Path>,
    executable: &'a Path,
    path_variable: &'a OsStr,
}

impl<'a> Search<'a> {
    fn new(
        program: Program,
        called: Option<&'a OsStr>,
        executable: &'a Path,
        path_variable: Option<&'a OsStr>,
    ) -> Self {
        let path_variable = path_variable.unwrap_or_default();
        Self { program, called: called.map(Path::new), executable, path_variable }
    }

    fn command(&self) -> String {
        let name = self.called.and_then(Path::file_name).and_then(OsStr::to_str);
        let names = name.into_iter().chain([self.program.name()]);
        for name in names {
            if self.first_on_path(name).is_some_and(|path| self.is_ours(&path)) {
                return match (self.program, name.strip_prefix("git-")) {
                    (Program::GitRalph, Some(command)) => format!("git {}", quoted_for_shell(command)),
                    (_, _) => command_line(name, self.program),
                };
            }
        }
        if self.first_on_path(GIT_PROGRAM).is_some() { GIT.to_owned() } else { self.by_path() }
    }

    fn called_program(&self) -> (String, String) {
        let own = self.program.name();
        let name = self.called.and_then(Path::file_name).and_then(OsStr::to_str).unwrap_or(own);
        let is_on_path = |name: &&str| self.first_on_path(name).is_some_and(|path| self.is_ours(&path));
        match [name, own].into_iter().find(is_on_path) {
            Some(name) => (name.to_owned(), name.to_owned()),
            None => (name.to_owned(), self.executable.to_string_lossy().into_owned()),
        }
    }

    fn for_hooks(&self) -> String {
        if self.first_on_path(GIT_PROGRAM).is_some() {
            return GIT_PROGRAM.to_owned();
        }
        let found = self.first_on_path(self.program.name());
        match found.filter(|path| path.is_absolute() && self.is_ours(path)) {
            Some(path) => command_line(&path.to_string_lossy(), self.program),
            None => self.by_path(),
        }
    }

    /// Returns the path as it was typed, where it leads here from every folder: it may be a link that outlives an
    /// update.
    fn by_path(&self) -> String {
        let typed = self.called.filter(|path| path.is_absolute() && self.is_ours(path));
        command_line(&typed.unwrap_or(self.executable).to_string_lossy(), self.program)
    }

    fn first_on_path(&self, name: &str) -> Option<PathBuf> {
        std::env::split_paths(self.path_variable)
            .map(|folder| folder.join(name))
            .find(|path| is_program(path))
    }

    fn is_ours(&self, path: &Path) -> bool {
        let found = identity(path);
        found.is_some() && found == identity(self.executable)
    }
}

fn command_line(program: &str, kind: Program) -> String {
    let words = kind.words().iter().map(|word| (*word).to_owned());
    std::iter::once(quoted_for_shell(program).into_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    /// Folders with programs; the PATH is made of some of them.
    struct Machine(tempfile::TempDir);

    impl Machine {
        fn new() -> Self {
            let machine = Self(tempfile::tempdir().unwrap());
            for program in
                ["ours/specify", "ours/git-ralph", "other/specify", "other/git-ralph", "kit/specify"]
            {
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

        /// Returns the command where `called` is typed; a path of it, and of the answer, begins with `/`.
        fn command(&self, program: Program, called: &str, folders: &[&str]) -> [String; 2] {
            let executable = self.at("ours").join(program.name());
            let path = std::env::join_paths(folders.iter().map(|folder| self.at(folder))).unwrap();
            let called = match called.strip_prefix('/') {
                Some(path) => self.at(path).into_os_string(),
                None => called.into(),
            };
            let search = Search::new(program, Some(&called), &executable, Some(&path));
            let without_folder = |command: String| command.replace(self.0.path().to_str().unwrap(), "");
            [search.command(), search.for_hooks()].map(without_folder)
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
        for (program, called, folders, expected, of_hooks) in [
            (Specify, "specify", &["ours"] as &[&str], "specify ralph", "git-ralph"),
            (Specify, "/ours/specify", &["ours"], "specify ralph", "git-ralph"),
            (Specify, "specify", &["empty", "only-specify"], "specify ralph", "/only-specify/specify ralph"),
            (Specify, "specify", &["only-specify", "other"], "specify ralph", "git-ralph"),
            (Specify, "specify", &["only-git", "ours"], "specify ralph", "git-ralph"),
            (GitRalph, "git-ralph", &["ours"], "git ralph", "git-ralph"),
            (GitRalph, "git-ralph", &["only-git"], "git ralph", "git-ralph"),
            // Spec-kit's is in front, or ours is nowhere.
            (Specify, "/ours/specify", &["other", "ours"], "git ralph", "git-ralph"),
            (Specify, "/ours/specify", &["only-git"], "git ralph", "git-ralph"),
            (Specify, "/ours/specify", &[], "/ours/specify ralph", "/ours/specify ralph"),
            (
                Specify,
                "/ours/specify",
                &["kit", "only-specify"],
                "/ours/specify ralph",
                "/ours/specify ralph",
            ),
            (
                Specify,
                "/only-specify/specify",
                &[],
                "/only-specify/specify ralph",
                "/only-specify/specify ralph",
            ),
            (Specify, "../ours/specify", &[], "/ours/specify ralph", "/ours/specify ralph"),
            (Specify, "/other/specify", &[], "/ours/specify ralph", "/ours/specify ralph"),
            (GitRalph, "/ours/git-ralph", &["only-specify"], "/ours/git-ralph", "/ours/git-ralph"),
            (Specify, "/a b/it's", &[], "'/a b/it'\\''s' ralph", "'/a b/it'\\''s' ralph"),
            // By another name.
            (Specify, "sr", &["renamed"], "sr ralph", "/ours/specify ralph"),
            (Specify, "sr", &["ours"], "specify ralph", "git-ralph"),
            (Specify, "it's", &["a b"], "'it'\\''s' ralph", "/ours/specify ralph"),
            (GitRalph, "git-loop", &["renamed"], "git loop", "/ours/git-ralph"),
        ] {
            let expected = [expected, of_hooks];
            assert_eq!(machine.command(program, called, folders), expected, "{called} {folders:?}");
        }
    }

    #[test]
    fn a_program_without_a_first_word_has_its_own_name() {
        let machine = Machine::new();
        let executable = machine.at("ours/git-ralph");
        let path = machine.at("ours").into_os_string();
        assert_eq!(Search::new(Program::GitRalph, None, &executable, Some(&path)).command(), "git ralph");
    }
}
