//! `specify` with anything but `ralph`: hands over to spec-kit's own `specify`, further down the PATH.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context as _, Result};

use ralph_core::record::{RALPH, Refusal};
use ralph_os::process::replace;

use crate::cli::own_command::{Call, Identity, identity, is_program};
use crate::cli::{Environment, ExitCode, print};

/// Lists the programs in a chain of calls for those that follow, so that shims and second copies
/// of this program, which look for `specify` on the PATH too, cannot send a call around in circles.
const TRAIL: &str = "SPECIFY_RALPH_TRAIL";

/// How many processes may hand one call to each other.
const MAX_TRAIL_PROGRAMS: u32 = 16;

fn about() -> String {
    format!(
        "\
specify (specify-ralph) runs `{RALPH}` itself and hands everything else to spec-kit,
which is not installed here.

Usage: {RALPH} [OPTIONS] [COMMAND]

`{RALPH} --help` lists all commands. To install spec-kit: uv tool install specify-cli
"
    )
}

/// Hands `arguments` over, untouched. Comes back only where spec-kit is not installed.
pub fn forward(arguments: &[OsString], environment: &Environment, call: &Call) -> Result<ExitCode> {
    let trail = Trail::read(environment.value(TRAIL), std::process::id());
    let ourselves = [Some(call.executable.as_path()), call.launcher.as_deref()].into_iter().flatten();
    match trail.next(call.on_path("specify").into_iter(), ourselves.filter_map(identity)) {
        Next::Program(program, trail) => {
            let value = OsString::from(trail.to_text());
            let error = replace(&program, arguments, TRAIL, &value);
            Err(error).with_context(|| format!("run {}", program.display()))
        }
        Next::Circle => Err(Refusal::new("`specify` calls itself repeatedly")
            .with_hint("`type -a specify` lists the programs of that name on the PATH")
            .into()),
        Next::Nothing => without_speckit(arguments),
    }
}

fn without_speckit(arguments: &[OsString]) -> Result<ExitCode> {
    let text = match arguments.first().and_then(|first| first.to_str()) {
        None | Some("-h" | "--help") => about(),
        Some("-V" | "--version") => format!("specify-ralph {}\n", env!("CARGO_PKG_VERSION")),
        Some(_) => {
            let name = arguments[0].to_string_lossy();
            return Err(Refusal::new(format!(
                "`specify {name}` belongs to spec-kit, which is not on the PATH"
            ))
            .with_hint("install it with `uv tool install specify-cli` or `pipx install specify-cli`")
            .into());
        }
    };
    print(|out| out.write_all(text.as_bytes()))
}

/// Who was called on the way to us.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Trail {
    process: u32,
    length: u32,
    /// The programs that this very process has been, one after the other.
    seen: Vec<Identity>,
}

enum Next {
    Program(PathBuf, Trail),
    Circle,
    Nothing,
}

impl Trail {
    /// Reads `<process>:<length>:<device>-<inode>,...`; what is not of that form counts as no trail.
    fn read(value: Option<&OsStr>, process: u32) -> Self {
        let parsed = value.and_then(OsStr::to_str).and_then(|text| {
            let mut parts = text.splitn(3, ':');
            let process = parts.next()?.parse().ok()?;
            let length = parts.next()?.parse().ok()?;
            let seen = parts
                .next()?
                .split(',')
                .filter_map(|text| {
                    let (device, inode) = text.split_once('-')?;
                    Some((device.parse().ok()?, inode.parse().ok()?))
                })
                .collect();
            Some(Self { process, length, seen })
        });
        match parsed {
            // Replaced by `exec`, a process keeps its number: the programs before us only passed the call on.
            Some(trail) if trail.process == process => trail,
            other => Self { process, length: other.map_or(0, |trail| trail.length), seen: Vec::new() },
        }
    }

    fn to_text(&self) -> String {
        let seen: Vec<_> = self.seen.iter().map(|(device, inode)| format!("{device}-{inode}")).collect();
        format!("{}:{}:{}", self.process, self.length, seen.join(","))
    }

    /// Returns the first candidate that is neither ourselves, by whatever name, nor a program that led here.
    fn next(
        mut self,
        candidates: impl Iterator<Item = PathBuf>,
        ourselves: impl IntoIterator<Item = Identity>,
    ) -> Next {
        if self.length >= MAX_TRAIL_PROGRAMS {
            return Next::Circle;
        }
        self.seen.extend(ourselves);
        let mut candidates = candidates.filter(|path| path.is_absolute() && is_program(path));
        let Some(program) =
            candidates.find(|path| identity(path).is_some_and(|identity| !self.seen.contains(&identity)))
        else {
            return Next::Nothing;
        };
        self.seen.extend(identity(&program));
        self.length += 1;
        Next::Program(program, self)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    struct Folders(tempfile::TempDir);

    impl Folders {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn program(&self, folder: &str, mode: u32) -> PathBuf {
            let path = self.at(folder);
            fs::write(&path, folder).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            path
        }

        fn at(&self, folder: &str) -> PathBuf {
            let path = self.0.path().join(folder);
            fs::create_dir_all(&path).unwrap();
            path.join("specify")
        }

        fn candidates(&self, folders: &[&str]) -> impl Iterator<Item = PathBuf> {
            folders.iter().map(|folder| self.at(folder)).collect::<Vec<_>>().into_iter()
        }
    }

    fn fresh() -> Trail {
        Trail::read(None, 7)
    }

    fn program(next: Next) -> Option<PathBuf> {
        if let Next::Program(path, _) = next { Some(path) } else { None }
    }

    #[test]
    fn the_next_program_is_one_that_is_not_ourselves_by_any_name() {
        let folders = Folders::new();
        let ourselves = folders.program("ours", 0o755);
        std::os::unix::fs::symlink(&ourselves, folders.at("link")).unwrap();
        fs::hard_link(&ourselves, folders.at("hard")).unwrap();
        folders.program("text", 0o644);
        fs::create_dir(folders.at("folder")).unwrap();
        let speckit = folders.program("speckit", 0o755);
        folders.program("later", 0o755);
        let order = ["link", "hard", "empty", "text", "folder", "ours", "speckit", "later"];
        let found = program(fresh().next(folders.candidates(&order), identity(&ourselves)));
        assert_eq!(found, Some(speckit));
        let next = fresh().next(folders.candidates(&order[..6]), identity(&ourselves));
        assert!(matches!(next, Next::Nothing));
    }

    #[test]
    fn a_shim_or_a_copy_that_calls_us_back_is_passed_over() {
        let folders = Folders::new();
        let ourselves = folders.program("ours", 0o755);
        let shim = folders.program("shim", 0o755);
        let speckit = folders.program("speckit", 0o755);
        let order = ["ours", "shim", "speckit"];
        let Next::Program(first, trail) = fresh().next(folders.candidates(&order), identity(&ourselves))
        else {
            panic!("the shim was not found")
        };
        assert_eq!(first, shim);
        let again = Trail::read(Some(OsStr::new(&trail.to_text())), 7);
        assert_eq!(again, trail);
        assert_eq!(program(again.next(folders.candidates(&order), identity(&ourselves))), Some(speckit));
        // A child that spec-kit starts is a call of its own, and may begin at the top again.
        let child = Trail::read(Some(OsStr::new(&trail.to_text())), 8);
        assert_eq!(program(child.next(folders.candidates(&order), identity(&ourselves))), Some(shim));
    }

    #[test]
    fn a_circle_of_processes_ends() {
        let folders = Folders::new();
        folders.program("shim", 0o755);
        let mut text = fresh().to_text();
        for process in 8.. {
            match Trail::read(Some(OsStr::new(&text)), process).next(folders.candidates(&["shim"]), []) {
                Next::Program(_, trail) => text = trail.to_text(),
                Next::Circle => break,
                Next::Nothing => panic!("the shim was not found"),
            }
            assert!(process < 100);
        }
    }

    #[test]
    fn an_unreadable_trail_is_none() {
        for text in ["", "x", "7", "7:1", "::", "7:x:"] {
            assert_eq!(Trail::read(Some(OsStr::new(text)), 7), fresh(), "{text}");
        }
    }
}
