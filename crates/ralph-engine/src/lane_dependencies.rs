//! What a validation needs and a lane has not: dependencies and settings that git ignores, and that lie in the user's files alone.

use std::fs;

use anyhow::Result;
use camino::{Utf8Path, Utf8PathBuf};

use ralph_core::record::{join_truncated, quoted_for_shell};
use ralph_git::worktree::WorkTree;
use ralph_store::{Slot, names};

/// Maximum number of files that a message names.
const MAX_NAMED: usize = 5;

/// Folders of dependencies, with the files beside them that say what belongs there, and the command that brings it.
const INSTALLERS: &[(&str, &str, &str)] = &[
    ("node_modules", "pnpm-lock.yaml", "pnpm install --frozen-lockfile"),
    ("node_modules", "yarn.lock", "yarn install --frozen-lockfile"),
    ("node_modules", "bun.lock", "bun install --frozen-lockfile"),
    ("node_modules", "bun.lockb", "bun install --frozen-lockfile"),
    ("node_modules", "package-lock.json", "npm ci"),
    ("node_modules", "npm-shrinkwrap.json", "npm ci"),
    ("node_modules", "package.json", "npm install"),
    (".venv", "uv.lock", "uv sync --frozen"),
    (".venv", "poetry.lock", "poetry install"),
    (".venv", "requirements.txt", "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt"),
    ("venv", "requirements.txt", "python3 -m venv venv && venv/bin/pip install -r requirements.txt"),
    (".venv", "pyproject.toml", "python3 -m venv .venv && .venv/bin/pip install -e ."),
    ("venv", "pyproject.toml", "python3 -m venv venv && venv/bin/pip install -e ."),
    ("vendor", "composer.lock", "composer install"),
    ("vendor", "Gemfile.lock", "bundle install"),
    ("deps", "mix.lock", "mix deps.get"),
    ("Pods", "Podfile.lock", "pod install"),
    ("bower_components", "bower.json", "bower install"),
];

/// What programs say of a package that is not there. One of the project's own has a path, or a name that only it knows.
const PACKAGE_WORDS: &[&str] = &[
    "cannot find module '",
    "cannot find package '",
    "no module named pytest",
    "no module named 'pytest'",
    "no module named tox",
    "could not find gem",
];

/// What they say of a file, where they name it.
const FILE_WORDS: &[&str] = &["no such file", "not found"];

/// Returns true for the name of a folder that an installer fills.
pub(super) fn is_dependencies(name: &str) -> bool {
    // `deps` is the name of much else.
    name == ".bundle" || name != "deps" && INSTALLERS.iter().any(|(folder, ..)| *folder == name)
}

/// A file or folder of the user's that no commit has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dependency {
    /// From the top of the work tree.
    path: Utf8PathBuf,
    is_folder: bool,
    /// True for one of Python's: a copy leads back to it.
    is_environment: bool,
    /// The command that makes it in the folder that it is in.
    setup: Option<&'static str>,
}

/// Returns true for a folder that installers fill, by its name or by what marks a virtual environment of Python's.
pub(super) fn is_dependency_folder(path: &Utf8Path) -> bool {
    let is_named = path.file_name().is_some_and(is_dependencies);
    path.is_dir() && (is_named || path.join("pyvenv.cfg").is_file())
}

/// Returns the file by which the project in `root` needs dependencies, and the command that installs them. Cargo and Go install
/// what they need themselves.
pub fn suggested_setup(root: &Utf8Path) -> Option<(&'static str, &'static str)> {
    let found = INSTALLERS.iter().find(|(folder, lock, _)| {
        // What is no lock file counts where somebody installed by it.
        let is_lock = !["package.json", "requirements.txt", "pyproject.toml", "bower.json"].contains(lock);
        root.join(lock).is_file() && (is_lock || root.join(folder).is_dir())
    });
    found.map(|(_, lock, command)| (*lock, *command))
}

/// Returns the dependencies and the settings that are in the user's work tree and in no commit.
pub fn dependencies(users: &WorkTree) -> Result<Vec<Dependency>> {
    let mut found = Vec::new();
    for path in users.untracked_collapsed()?.into_iter().map(Utf8PathBuf::from) {
        let (name, place) = (path.file_name().unwrap_or_default(), users.top().join(&path));
        let mut installers = INSTALLERS.iter().filter(|(folder, ..)| *folder == name && place.is_dir());
        let is_folder = installers.clone().next().is_some();
        let setup = installers.find(|(_, lock, _)| place.with_file_name(lock).is_file());
        let is_environment = place.join("pyvenv.cfg").is_file();
        let is_settings = (name == ".env" || name.starts_with(".env.")) && place.is_file();
        if is_folder || is_settings {
            let setup = setup.map(|(.., command)| *command);
            found.push(Dependency { path, is_folder, is_environment, setup });
        }
    }
    Ok(found)
}

/// Returns those that are not in a lane, whose files are in `top`.
pub(super) fn lacking(all: &[Dependency], top: &Utf8Path) -> Vec<Dependency> {
    all.iter().filter(|known| top.join(&known.path).symlink_metadata().is_err()).cloned().collect()
}

/// Returns true if the validation printed, into a slot, that one of these is not there.
pub(super) fn is_printed(slot: &Slot, lacking: &[Dependency]) -> bool {
    let outputs = [names::VALIDATION_STDOUT, names::VALIDATION_STDERR];
    let outputs = outputs.map(|name| fs::read(slot.path(name)).unwrap_or_default()).concat();
    names_missing(&String::from_utf8_lossy(&outputs).to_lowercase(), lacking)
}

/// Returns true if an output, in lower case, says that one of these is not there.
fn names_missing(output: &str, lacking: &[Dependency]) -> bool {
    let has_folder = lacking.iter().any(|lacking| lacking.is_folder);
    output.lines().any(|line| {
        let has = |words: &[&str]| words.iter().any(|word| line.contains(word));
        let names =
            || lacking.iter().filter_map(|lacking| lacking.path.file_name()).any(|name| line.contains(name));
        let is_own = line.contains("'.") || line.contains("'/");
        has_folder && has(PACKAGE_WORDS) && !is_own || has(FILE_WORDS) && names()
    })
}

/// Returns what a lane lacks, and what brings it into the project's folder `root` of it; `None` if it lacks nothing.
pub(super) fn lacking_words(lacking: &[Dependency], root: &Utf8Path) -> Option<(String, String)> {
    let names: Vec<&str> = lacking.iter().map(|lacking| lacking.path.as_str()).collect();
    let are = if names.len() == 1 { "is" } else { "are" };
    let shown = match names.as_slice() {
        [] => return None,
        [one, other] => format!("{one} and {other}"),
        several => join_truncated(several, MAX_NAMED),
    };
    let from_root = |path: &Utf8Path| path.strip_prefix(root).unwrap_or(path).to_owned();
    let mut commands = Vec::new();
    let mut copies = Vec::new();
    for Dependency { path, setup, is_environment, .. } in lacking {
        let path = from_root(path);
        let folder = path.parent().filter(|folder| !folder.as_str().is_empty());
        match (setup, folder) {
            (Some(setup), None) => commands.push((*setup).to_owned()),
            (Some(setup), Some(folder)) => {
                commands.push(format!("(cd {} && {setup})", quoted_for_shell(folder.as_str())));
            }
            (None, _) if *is_environment => {
                commands.push(format!("python3 -m venv {}", quoted_for_shell(path.as_str())));
            }
            (None, _) => copies.push(path.into_string()),
        }
    }
    let quoted = |key: &str, value: &str| format!("--set {key}={}", quoted_for_shell(value));
    let setup = (!commands.is_empty()).then(|| quoted("lanes.setup", &commands.join(" && ")));
    let copy = (!copies.is_empty()).then(|| quoted("lanes.copy", &copies.join(",")));
    let settings: Vec<String> = setup.into_iter().chain(copy).collect();
    let mut hint = settings.join(" ");
    if copies.is_empty() && !lacking.iter().any(|known| known.is_environment) {
        let all: Vec<String> = lacking.iter().map(|known| from_root(&known.path).into_string()).collect();
        hint.push_str(&format!(", or copy yours: {}", quoted("lanes.copy", &all.join(","))));
    }
    Some((format!("{shown} {are} not in the lane"), hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dependency(path: &str, setup: Option<&'static str>) -> Dependency {
        Dependency {
            path: path.into(),
            is_folder: path != ".env",
            is_environment: path.ends_with("venv"),
            setup,
        }
    }

    #[test]
    fn what_a_lane_lacks_is_named_with_what_brings_it() {
        let modules = dependency("node_modules", Some("npm ci"));
        let env = dependency(".env", None);
        let nested = dependency("app/web/node_modules", Some("npm ci"));
        for (lacking, root, message, hint) in [
            (
                vec![modules.clone(), env.clone()],
                "",
                "node_modules and .env are",
                "--set lanes.setup='npm ci' --set lanes.copy=.env",
            ),
            (
                vec![modules],
                "",
                "node_modules is",
                "--set lanes.setup='npm ci', or copy yours: --set lanes.copy=node_modules",
            ),
            (vec![env], "", ".env is", "--set lanes.copy=.env"),
            // A copy of an environment would run the user's.
            (vec![dependency(".venv", None)], "", ".venv is", "--set lanes.setup='python3 -m venv .venv'"),
            (
                vec![nested],
                "app",
                "app/web/node_modules is",
                "--set lanes.setup='(cd web && npm ci)', or copy yours: --set lanes.copy=web/node_modules",
            ),
        ] {
            let expected = (format!("{message} not in the lane"), hint.to_owned());
            assert_eq!(lacking_words(&lacking, Utf8Path::new(root)), Some(expected));
        }
        assert_eq!(lacking_words(&[], Utf8Path::new("")), None);
    }

    #[test]
    fn only_what_is_missing_keeps_a_validation_from_running() {
        let modules = [dependency("node_modules", None)];
        let env = [dependency(".env", None)];
        for (output, lacking, expected) in [
            ("Error: Cannot find module 'jest'", &modules, true),
            ("Error: Cannot find module './board.js'", &modules, false),
            ("ModuleNotFoundError: No module named 'board'", &modules, false),
            ("/usr/bin/python3: No module named pytest", &modules, true),
            ("sh: 1: .: cannot open ./.env: No such file", &env, true),
            ("open '.env': ENOENT: no such file or directory", &env, true),
            ("cat: one.txt: No such file or directory", &env, false),
            ("expected 200, got 404 Not Found", &modules, false),
            ("sh: node_modules/.bin/jest: not found", &modules, true),
            ("1 test failed", &modules, false),
        ] {
            assert_eq!(names_missing(&output.to_lowercase(), lacking), expected, "{output}");
        }
    }
}
