//! Finds the command that starts this program again: the name by which it was called, where the PATH still leads to it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use camino::Utf8Path;

use ralph_core::record::{CANONICAL, OwnCommand, quoted_for_shell};
use ralph_os::platform::{self, parent_id, program_name, program_names, repo_path};
pub(super) use ralph_os::platform::{Identity, is_program};

use crate::cli::Environment;

/// What the name by which this program was called makes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// Our own name, or any that is none of the others.
    SpecifyRalph,
    /// `specify`, whose subcommand `ralph` is ours.
    Specify,
    /// `git-ralph`, which git runs as `git ralph`, or another name that begins with `git-`.
    GitRalph,
}

/// Our program.
pub const OWN_PROGRAM: &str = "specify-ralph";

/// Our program for git.
pub const GIT_PROGRAM: &str = "git-ralph";

const GIT: &str = "git ralph";

/// What a launcher sets for us: `exec:PID:FILE` if it became us, `spawn:PID:FILE` if it is our parent. The process says
/// whether the variable is meant for us: programs that we start inherit it.
const LAUNCHER: &str = "SPECIFY_RALPH_LAUNCHER";

impl Program {
    pub fn name(self) -> &'static str {
        match self {
            Self::SpecifyRalph => OWN_PROGRAM,
            Self::Specify => "specify",
            Self::GitRalph => GIT_PROGRAM,
        }
    }

    fn of(called: Option<&Path>) -> Self {
        match called.and_then(Path::file_stem).and_then(OsStr::to_str) {
            Some("specify") => Self::Specify,
            Some(name) if name.starts_with("git-") => Self::GitRalph,
            _ => Self::SpecifyRalph,
        }
    }

    fn command_line(self, program: &str) -> String {
        // PowerShell cannot start a program in quotes, and no shell wants any around slashes.
        let path = repo_path(Utf8Path::new(program));
        let program = quoted_for_shell(&path);
        if self == Self::Specify { format!("{program} ralph") } else { program.into_owned() }
    }
}

/// Returns the words that start this program again, up to our subcommands.
pub fn own_program() -> Result<Vec<String>> {
    let call = Call::of_this_process(&Environment::read());
    ensure!(!call.executable.as_os_str().is_empty(), "the system does not say where this program is");
    Ok(call.words())
}

/// How this program was called, and where it is found again.
pub struct Call {
    pub program: Program,
    /// The first word of the command line, or the file of the launcher.
    called: Option<PathBuf>,
    pub launcher: Option<PathBuf>,
    pub executable: PathBuf,
    pub path_variable: OsString,
}

impl Call {
    pub fn of_this_process(environment: &Environment) -> Self {
        let processes = (std::process::id(), parent_id());
        let launcher = environment.value(LAUNCHER).and_then(|value| launcher(value, processes));
        let path_variable = environment.value("PATH").unwrap_or_default().to_owned();
        let called = std::env::args_os().next().map(PathBuf::from);
        // If the system does not say where we are, the names have to do.
        Self::new(called, launcher, std::env::current_exe().unwrap_or_default(), path_variable)
    }

    fn new(
        called: Option<PathBuf>,
        launcher: Option<PathBuf>,
        executable: PathBuf,
        path_variable: OsString,
    ) -> Self {
        let called = launcher.clone().or(called);
        Self { program: Program::of(called.as_deref()), called, launcher, executable, path_variable }
    }

    /// Sets what all texts call this program.
    pub fn set_own_command(&self) {
        let here = self.command();
        let is_specify = self.program == Program::Specify && here != GIT;
        OwnCommand::set(here, if is_specify { CANONICAL } else { GIT }, self.by_path());
    }

    fn words(&self) -> Vec<String> {
        let (program, path) = self.again();
        let words = (program == Program::Specify).then(|| "ralph".to_owned());
        std::iter::once(path.to_string_lossy().into_owned()).chain(words).collect()
    }

    /// Returns the name by which it was called, and the word that starts it again: the name, or a path if the PATH does
    /// not lead here.
    pub fn names(&self) -> (String, String) {
        let own = self.program.name();
        let mut names = [self.called_name().unwrap_or(own), own].into_iter();
        match names.find(|name| self.first_on_path(name).is_some_and(|path| self.is_ours(&path))) {
            Some(name) => (name.to_owned(), name.to_owned()),
            None => (own.to_owned(), self.again().1.to_string_lossy().into_owned()),
        }
    }

    /// Returns what a git hook of this machine calls: our program for git where it is on the PATH, else this one by its
    /// path, as another `specify` may be in front when the hook runs.
    pub fn for_hooks(&self) -> String {
        if self.first_on_path(GIT_PROGRAM).is_some() {
            return GIT_PROGRAM.to_owned();
        }
        let found = self.first_on_path(self.program.name());
        match found.filter(|path| path.is_absolute() && self.is_ours(path)) {
            Some(path) => self.program.command_line(&path.to_string_lossy()),
            None => self.by_path(),
        }
    }

    fn command(&self) -> String {
        for name in self.called_name().into_iter().chain([self.program.name()]) {
            if self.first_on_path(name).is_some_and(|path| self.is_ours(&path)) {
                return match (self.program, name.strip_prefix("git-")) {
                    (Program::GitRalph, Some(command)) => format!("git {}", quoted_for_shell(command)),
                    _ => self.program.command_line(name),
                };
            }
        }
        if self.first_on_path(GIT_PROGRAM).is_some() { GIT.to_owned() } else { self.by_path() }
    }

    fn by_path(&self) -> String {
        let (program, path) = self.again();
        program.command_line(&path.to_string_lossy())
    }

    /// Returns the file that leads here from every folder: the path as it was typed, as it may be a link that outlives
    /// an update, else the program itself.
    fn again(&self) -> (Program, &Path) {
        let typed = self.called.as_deref().filter(|path| path.is_absolute() && self.is_ours(path));
        typed.map_or((Program::SpecifyRalph, &self.executable), |path| (self.program, path))
    }

    fn called_name(&self) -> Option<&str> {
        program_name(self.called.as_deref()?)
    }

    pub fn first_on_path(&self, name: &str) -> Option<PathBuf> {
        self.on_path(name).into_iter().next()
    }

    /// Returns all programs of that name on the PATH, in its order.
    pub fn on_path(&self, name: &str) -> Vec<PathBuf> {
        let names = program_names(name);
        let folders = std::env::split_paths(&self.path_variable);
        let found = folders.flat_map(|folder| names.iter().map(move |name| folder.join(name)));
        found.filter(|path| is_program(path)).collect()
    }

    /// Returns true if `path` is this program by another name, or the launcher that led to it.
    pub fn is_ours(&self, path: &Path) -> bool {
        let found = identity(path);
        let launcher = self.launcher.as_deref().and_then(identity);
        found.is_some() && (found == identity(&self.executable) || found == launcher)
    }
}

/// Returns the file of the launcher, if the variable is meant for this process. `processes` are this one and its parent.
fn launcher(value: &OsStr, processes: (u32, u32)) -> Option<PathBuf> {
    let mut parts = value.to_str()?.splitn(3, ':');
    let process = match parts.next()? {
        "exec" => processes.0,
        "spawn" => processes.1,
        _ => return None,
    };
    let is_meant = parts.next()?.parse() == Ok(process);
    parts.next().filter(|_| is_meant).map(PathBuf::from)
}

pub(super) fn identity(path: &Path) -> Option<Identity> {
    platform::identity(path, &fs::metadata(path).ok()?)
}

/// Returns one of our texts with `command` for every [`CANONICAL`] but that of our committer's name, `specify ralph
/// <...>`.
pub fn with_command(text: &str, command: &str) -> String {
    let mut parts = text.split(CANONICAL);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |before, after| {
        let name = if after.starts_with(" <") { CANONICAL } else { command };
        format!("{before}{name}{after}")
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    /// Folders with programs; the PATH is made of some of them.
    struct Machine(tempfile::TempDir);

    impl Machine {
        fn new() -> Self {
            let machine = Self(tempfile::tempdir().unwrap());
            let programs = [
                "ours/specify-ralph",
                "launchers/git-ralph",
                "other/specify",
                "other/git-ralph",
                "kit/specify",
            ];
            for program in programs {
                machine.program(program);
            }
            for (folder, name) in [
                ("ours", "git-ralph"),
                ("ours", "specify"),
                ("only-specify", "specify"),
                ("only-git", "git-ralph"),
                ("only-own", "specify-ralph"),
                ("renamed", "sr"),
                ("renamed", "git-loop"),
                ("a b/it's", "specify"),
            ] {
                machine.link(&format!("{folder}/{name}"));
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

        fn link(&self, at: &str) {
            fs::create_dir_all(self.at(at).parent().unwrap()).unwrap();
            symlink(self.at("ours/specify-ralph"), self.at(at)).unwrap();
        }

        /// A path of `called`, of the launcher and of the folders begins with `/`.
        fn call(&self, called: Option<&str>, launcher: Option<&str>, folders: &[&str]) -> Call {
            let path = std::env::join_paths(folders.iter().map(|folder| self.at(folder))).unwrap();
            let full = |called: &str| called.strip_prefix('/').map_or(called.into(), |path| self.at(path));
            let executable = self.at("ours/specify-ralph");
            Call::new(called.map(full), launcher.map(full), executable, path)
        }

        fn without_folder(&self, command: &str) -> String {
            command.replace(self.0.path().to_str().unwrap(), "")
        }
    }

    #[test]
    fn every_command_of_a_text_gets_the_name_and_the_committer_keeps_his() {
        let text = "specify ralph log\n  `specify ralph`, by `specify ralph <ralph@localhost>`";
        let expected = "git ralph log\n  `git ralph`, by `specify ralph <ralph@localhost>`";
        assert_eq!(with_command(text, "git ralph"), expected);
        assert_eq!(with_command("", "git ralph"), "");
    }

    #[test]
    fn the_command_is_the_name_that_was_called_where_the_path_leads_to_it() {
        let machine = Machine::new();
        fs::write(machine.at("only-git/specify"), "no program").unwrap();
        for (called, folders, expected, of_hooks) in [
            ("specify", &["ours"] as &[&str], "specify ralph", "git-ralph"),
            ("/ours/specify", &["ours"], "specify ralph", "git-ralph"),
            ("specify", &["empty", "only-specify"], "specify ralph", "/only-specify/specify ralph"),
            ("specify", &["only-specify", "other"], "specify ralph", "git-ralph"),
            ("specify", &["only-git", "ours"], "specify ralph", "git-ralph"),
            ("specify-ralph", &["ours"], "specify-ralph", "git-ralph"),
            ("specify-ralph", &["only-own"], "specify-ralph", "/only-own/specify-ralph"),
            ("git-ralph", &["ours"], "git ralph", "git-ralph"),
            ("git-ralph", &["only-git"], "git ralph", "git-ralph"),
            // Spec-kit's is in front, or ours is nowhere.
            ("/ours/specify", &["other", "ours"], "git ralph", "git-ralph"),
            ("/ours/specify", &["only-git"], "git ralph", "git-ralph"),
            ("/ours/specify", &[], "/ours/specify ralph", "/ours/specify ralph"),
            ("/ours/specify", &["kit", "only-specify"], "/ours/specify ralph", "/ours/specify ralph"),
            ("/only-specify/specify", &[], "/only-specify/specify ralph", "/only-specify/specify ralph"),
            ("../ours/specify", &[], "/ours/specify-ralph", "/ours/specify-ralph"),
            ("/other/specify", &[], "/ours/specify-ralph", "/ours/specify-ralph"),
            ("/ours/git-ralph", &["only-specify"], "/ours/git-ralph", "/ours/git-ralph"),
            ("/a b/it's/specify", &[], "'/a b/it'\\''s/specify' ralph", "'/a b/it'\\''s/specify' ralph"),
            // By another name.
            ("sr", &["renamed"], "sr", "/ours/specify-ralph"),
            ("sr", &["only-own"], "specify-ralph", "/only-own/specify-ralph"),
            ("git-loop", &["renamed"], "git loop", "/ours/specify-ralph"),
        ] {
            let call = machine.call(Some(called), None, folders);
            let found = [call.command(), call.for_hooks()].map(|command| machine.without_folder(&command));
            assert_eq!(found, [expected, of_hooks], "{called} {folders:?}");
        }
    }

    #[test]
    fn a_launcher_gives_its_own_name() {
        let machine = Machine::new();
        for (launcher, folders, expected) in [
            ("/launchers/git-ralph", &["launchers"] as &[&str], "git ralph"),
            ("/launchers/git-ralph", &[], "/launchers/git-ralph"),
            ("/kit/specify", &["kit", "ours"], "specify ralph"),
        ] {
            let call = machine.call(Some("specify-ralph"), Some(launcher), folders);
            assert_eq!(machine.without_folder(&call.command()), expected, "{launcher} {folders:?}");
        }
    }

    #[test]
    fn a_launcher_is_believed_by_the_process_that_it_became_or_started() {
        for (value, expected) in [
            ("exec:7:/bin/git-ralph", Some("/bin/git-ralph")),
            ("spawn:3:/bin/a:b", Some("/bin/a:b")),
            ("exec:3:/bin/git-ralph", None),
            ("spawn:7:/bin/git-ralph", None),
            ("exec:7", None),
            ("7:/bin/git-ralph", None),
            ("", None),
        ] {
            assert_eq!(launcher(OsStr::new(value), (7, 3)), expected.map(PathBuf::from), "{value}");
        }
    }

    #[test]
    fn a_program_without_a_first_word_has_its_own_name() {
        let machine = Machine::new();
        assert_eq!(machine.call(None, None, &["ours"]).command(), "specify-ralph");
    }

    #[test]
    fn the_words_start_it_again() {
        let machine = Machine::new();
        for (called, expected) in [
            ("/ours/specify", &["/ours/specify", "ralph"] as &[&str]),
            ("/only-git/git-ralph", &["/only-git/git-ralph"]),
            ("specify", &["/ours/specify-ralph"]),
            ("/proc/self/exe", &["/ours/specify-ralph"]),
        ] {
            let words = machine.call(Some(called), None, &["ours"]).words();
            let words: Vec<_> = words.iter().map(|word| machine.without_folder(word)).collect();
            assert_eq!(words, expected, "{called}");
        }
    }
}
