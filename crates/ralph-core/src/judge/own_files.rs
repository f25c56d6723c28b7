//! The files of the project that the validation itself consists of: scripts that its command runs, and what says what
//! such a script is.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

use super::paths::{is_manifest, is_test_file, pattern};
use super::shell::{commands, option_value, unwrapped, without_options};

/// Reads a file of the project by its path from the project's root; `None` if it is not there.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<Vec<u8>>;

/// Maximum number of scripts within scripts that are followed.
const MAX_DEPTH: u8 = 8;

/// Programs that run a script: their options with a value, and options after which no script follows.
const INTERPRETERS: &[(&str, &[&str], &[&str])] = &[
    ("sh", &["-o", "+o"], &["-c"]),
    ("bash", &["-o", "+o", "-O", "+O", "--rcfile", "--init-file"], &["-c"]),
    ("dash", &["-o", "+o"], &["-c"]),
    ("zsh", &["-o", "+o"], &["-c"]),
    ("ksh", &["-o", "+o"], &["-c"]),
    ("fish", &["-C", "-d"], &["-c"]),
    (".", &[], &[]),
    ("source", &[], &[]),
    ("python", &["-W", "-X"], &["-c", "-m"]),
    ("python3", &["-W", "-X"], &["-c", "-m"]),
    (
        "node",
        &["-r", "--require", "--import", "--loader", "-C", "--env-file"],
        &["-e", "-p", "--eval", "--print"],
    ),
    ("tsx", &["-r", "--require", "--import", "--tsconfig"], &["-e", "-p"]),
    ("ts-node", &["-r", "--require", "-P", "--project"], &["-e", "-p"]),
    ("deno", &["-c", "--config", "--import-map"], &[]),
    ("bun", &["-r", "--preload", "--cwd"], &["-e"]),
    ("ruby", &["-I", "-r"], &["-e"]),
    ("perl", &["-I"], &["-e", "-E"]),
    ("php", &["-d", "-c"], &["-r"]),
    ("pwsh", &[], &["-c", "-Command"]),
    ("Rscript", &[], &["-e"]),
    ("lua", &["-l"], &["-e"]),
    ("elixir", &["-r"], &["-e"]),
];

/// A program that reads from a file what to run.
struct Runner {
    names: &'static [&'static str],
    file_options: &'static [&'static str],
    folder_options: &'static [&'static str],
    /// Names that the file has by itself, the first one first.
    files: &'static [&'static str],
}

const RUNNERS: &[Runner] = &[
    Runner {
        names: &["make", "gmake"],
        file_options: &["-f", "--file", "--makefile"],
        folder_options: &["-C", "--directory"],
        files: &["GNUmakefile", "makefile", "Makefile"],
    },
    Runner {
        names: &["just"],
        file_options: &["-f", "--justfile"],
        folder_options: &["-d", "--working-directory"],
        files: &["justfile", "Justfile", ".justfile"],
    },
    Runner {
        names: &["task", "go-task"],
        file_options: &["-t", "--taskfile"],
        folder_options: &["-d", "--dir"],
        files: &["Taskfile.yml", "taskfile.yml", "Taskfile.yaml", "taskfile.yaml"],
    },
    Runner { names: &["tox"], file_options: &["-c", "--conf"], folder_options: &[], files: &["tox.ini"] },
    Runner {
        names: &["nox"],
        file_options: &["-f", "--noxfile"],
        folder_options: &[],
        files: &["noxfile.py"],
    },
    Runner {
        names: &["rake"],
        file_options: &["-f", "--rakefile"],
        folder_options: &["-C", "--directory"],
        files: &["Rakefile", "rakefile", "Rakefile.rb"],
    },
];

fn runner(name: &str) -> Option<&'static Runner> {
    RUNNERS.iter().find(|runner| runner.names.contains(&name))
}

/// Programs that run a script of package.json by its name.
const PACKAGE_MANAGERS: &[&str] = &["npm", "pnpm", "yarn", "bun"];

/// What `npm` calls the script `test`.
const NPM_TEST: &[&str] = &["t", "tst"];

/// What `bun` does by itself, whatever scripts there are.
const BUN_COMMANDS: &[&str] = &["test", "install", "i", "x", "add", "build", "create", "init"];

/// Programs that run several scripts of package.json.
const SCRIPT_RUNNERS: &[&str] = &["run-s", "run-p", "npm-run-all", "npm-run-all2", "concurrently"];

/// Folders of programs that somebody else wrote.
const FOREIGN_FOLDERS: &[&str] = &["node_modules", ".venv", "venv", "vendor", "target"];

/// Options and commands that run only the tests that a change concerns.
static SELECTS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?x)(?:^|[\s:'\x22])(?:(?:--)?affected|--changed(?:Since)?|--onlyChanged|--since|--testmon|--lf|--last-failed|--picked)
          (?:[=:\s'\x22]|$) | \bjest\b[^|;&]*\s-o(?:[\s'\x22]|$)",
    )
});

/// A file of the project, or a script of a package.json.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    File(String),
    Script { manifest: String, name: String },
}

impl Part {
    fn path(&self) -> &str {
        match self {
            Self::File(path) | Self::Script { manifest: path, .. } => path,
        }
    }

    fn label(&self) -> String {
        match self {
            Self::File(path) => path.clone(),
            Self::Script { manifest, name } => format!("{manifest}#scripts.{name}"),
        }
    }

    /// Returns what it consists of in a tree.
    fn contents(&self, lookup: Lookup<'_>) -> Option<Vec<u8>> {
        match self {
            Self::File(path) => lookup(path),
            Self::Script { manifest, name } => {
                script(&manifest_json(manifest, lookup)?, name).map(Into::into)
            }
        }
    }
}

/// The files of the project that a validation consists of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnFiles {
    /// Also those that are not there: one that appears may come before another.
    parts: Vec<Part>,
}

impl OwnFiles {
    /// Returns the own files of a validation command, which runs in the project's root.
    pub fn find(command: &str, lookup: Lookup<'_>) -> Self {
        let mut finder = Finder { lookup, parts: Vec::new(), depth: 0 };
        finder.line(command, "");
        Self { parts: finder.parts }
    }

    /// Returns the names of those that are there: `check.sh`, `package.json#scripts.test`.
    pub fn names(&self, lookup: Lookup<'_>) -> Vec<String> {
        self.parts.iter().filter(|part| part.contents(lookup).is_some()).map(Part::label).collect()
    }

    /// Returns what those of a tree say, for [`selects_by_change`].
    pub fn contents(&self, lookup: Lookup<'_>) -> Vec<String> {
        let contents = self.parts.iter().filter_map(|part| part.contents(lookup));
        contents.map(|contents| String::from_utf8_lossy(&contents).into_owned()).collect()
    }

    /// Returns the paths of the files that they are or are in, for a lookup in another tree.
    pub fn paths(&self) -> Vec<&str> {
        let mut paths: Vec<&str> = self.parts.iter().map(Part::path).collect();
        paths.sort_unstable();
        paths.dedup();
        paths
    }

    /// Returns the names of those that are different in two trees, also if they are in one only.
    pub fn changed(&self, before: Lookup<'_>, after: Lookup<'_>) -> Vec<String> {
        self.differing(before, after).map(Part::label).collect()
    }

    /// Returns what the changed files consist of, with the own files as they were before: of a package.json only its
    /// scripts are. `None` for a file that was not there.
    pub fn restored(&self, before: Lookup<'_>, after: Lookup<'_>) -> BTreeMap<String, Option<Vec<u8>>> {
        let mut restored: BTreeMap<String, Option<Vec<u8>>> = BTreeMap::new();
        for part in self.differing(before, after) {
            let contents = match part {
                Part::File(path) => before(path),
                Part::Script { manifest, name } => {
                    let present = restored.get(manifest).cloned().unwrap_or_else(|| after(manifest));
                    let old = manifest_json(manifest, before);
                    let old = old.as_ref().and_then(|json| script(json, name));
                    with_script(present, name, old).or_else(|| before(manifest))
                }
            };
            restored.insert(part.path().to_owned(), contents);
        }
        restored
    }

    fn differing(&self, before: Lookup<'_>, after: Lookup<'_>) -> impl Iterator<Item = &Part> {
        self.parts.iter().filter(move |part| part.contents(before) != part.contents(after))
    }
}

/// Returns true if a command, or the own files that it runs, choose the tests by what changed or failed before: then
/// fewer tests say nothing.
pub fn selects_by_change<S: AsRef<str>>(command: &str, own_contents: &[S]) -> bool {
    let mut lines = own_contents.iter().flat_map(|contents| contents.as_ref().lines());
    SELECTS.is_match(command)
        || lines.any(|line| !line.trim_start().starts_with(['#', '/']) && SELECTS.is_match(line))
}

fn manifest_json(path: &str, lookup: Lookup<'_>) -> Option<Value> {
    serde_json::from_slice(&lookup(path)?).ok()
}

fn script<'a>(manifest: &'a Value, name: &str) -> Option<&'a str> {
    manifest.get("scripts")?.get(name)?.as_str()
}

/// Returns a package.json with this text of a script; `None` if it is not one.
fn with_script(manifest: Option<Vec<u8>>, name: &str, text: Option<&str>) -> Option<Vec<u8>> {
    let manifest = manifest?;
    let mut json: Value = serde_json::from_slice(&manifest).ok()?;
    if script(&json, name) == text {
        return Some(manifest);
    }
    let scripts = json.as_object_mut()?.entry("scripts").or_insert_with(|| Value::Object(Map::default()));
    match text {
        Some(text) => drop(scripts.as_object_mut()?.insert(name.to_owned(), text.into())),
        None => drop(scripts.as_object_mut()?.shift_remove(name)),
    }
    serde_json::to_vec_pretty(&json).ok()
}

struct Finder<'a> {
    lookup: Lookup<'a>,
    parts: Vec<Part>,
    depth: u8,
}

impl Finder<'_> {
    fn line(&mut self, line: &str, folder: &str) {
        if self.depth >= MAX_DEPTH {
            return;
        }
        self.depth += 1;
        let mut folder = folder.to_owned();
        for words in commands(line) {
            let words = unwrapped(&words);
            match words {
                [program, to, ..] if program == "cd" => folder = join(&folder, to).unwrap_or_default(),
                _ => self.command(words, &folder),
            }
        }
        self.depth -= 1;
    }

    fn command(&mut self, words: &[String], folder: &str) {
        let Some((program, rest)) = words.split_first() else { return };
        if program.contains('/') {
            self.file(program, folder);
        }
        let name = program.rsplit('/').next().unwrap_or(program);
        let name = if name.starts_with("python3") {
            name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
        } else {
            name
        };
        if PACKAGE_MANAGERS.contains(&name) && self.package_manager(name, rest, folder) {
            return;
        }
        if let Some((_, valued, ends)) = INTERPRETERS.iter().find(|(known, _, _)| *known == name) {
            self.interpreter(valued, ends, rest, folder);
        } else if let Some(runner) = runner(name) {
            self.runner(runner, rest, folder);
        } else if SCRIPT_RUNNERS.contains(&name) {
            for word in rest.iter().filter(|word| !word.starts_with('-')) {
                let script = word.strip_prefix("npm:").unwrap_or(word);
                if !self.package_script(script, folder) {
                    self.line(word, folder);
                }
            }
        }
    }

    fn interpreter(&mut self, valued: &[&str], ends: &[&str], rest: &[String], folder: &str) {
        let rest = rest.strip_prefix(&["run".to_owned()]).unwrap_or(rest);
        let options = &rest[..rest.len() - without_options(rest, valued).len()];
        // `-c`, and together with others as in `-euc`.
        let end = options.iter().position(|word| {
            let is_group = !word.starts_with("--") && word.ends_with('c') && ends.contains(&"-c");
            ends.contains(&word.as_str()) || word.starts_with('-') && is_group
        });
        let Some(end) = end else {
            if let Some(script) = without_options(rest, valued).first() {
                self.file(script, folder);
            }
            return;
        };
        let behind = &rest[end + 1..];
        match (rest[end].as_str(), behind) {
            ("-m", [module, ..]) if runner(module).is_some() => self.command(behind, folder),
            (option, [line, ..]) if option.ends_with('c') && ends == ["-c"] => self.line(line, folder),
            _ => {}
        }
    }

    fn runner(&mut self, runner: &Runner, rest: &[String], folder: &str) {
        let folder = match option_value(rest, runner.folder_options) {
            Some(to) => join(folder, to).unwrap_or_default(),
            None => folder.to_owned(),
        };
        if let Some(file) = option_value(rest, runner.file_options) {
            return self.file(file, &folder);
        }
        let paths: Vec<String> = runner.files.iter().filter_map(|name| join(&folder, name)).collect();
        // Those before it would be read in its place.
        let found = paths.iter().position(|path| (self.lookup)(path).is_some());
        for path in paths.into_iter().take(found.map_or(0, |found| found + 1)) {
            self.push(Part::File(path));
        }
    }

    /// Returns true if the words name a script of package.json, or a command of the package manager itself.
    fn package_manager(&mut self, name: &str, rest: &[String], folder: &str) -> bool {
        let folders = &["--prefix", "--dir", "-C", "--cwd"];
        let folder = match option_value(rest, folders) {
            Some(to) => join(folder, to).unwrap_or_default(),
            None => folder.to_owned(),
        };
        let rest = without_options(rest, folders);
        let is_run = rest.first().is_some_and(|word| matches!(word.as_str(), "run" | "run-script" | "rum"));
        let rest = if is_run { without_options(&rest[1..], folders) } else { rest };
        let Some(script) = rest.first().map(String::as_str) else { return true };
        if name == "bun" && !is_run && BUN_COMMANDS.contains(&script) {
            return true;
        }
        let is_test = !is_run && NPM_TEST.contains(&script) && matches!(name, "npm" | "pnpm");
        self.package_script(if is_test { "test" } else { script }, &folder) || name != "bun"
    }

    /// Returns true if package.json has that script.
    fn package_script(&mut self, name: &str, folder: &str) -> bool {
        let Some(manifest) = join(folder, "package.json") else { return false };
        let Some(json) = manifest_json(&manifest, self.lookup) else { return false };
        if script(&json, name).is_none() {
            return false;
        }
        for name in [format!("pre{name}"), name.to_owned(), format!("post{name}")] {
            let text = script(&json, &name);
            let is_new = self.push(Part::Script { manifest: manifest.clone(), name: name.clone() });
            if let Some(text) = text.filter(|_| is_new) {
                self.line(text, folder);
            }
        }
        true
    }

    fn file(&mut self, path: &str, folder: &str) {
        let Some(path) = join(folder, path) else { return };
        let is_foreign = path.split('/').any(|part| FOREIGN_FOLDERS.contains(&part));
        if !is_foreign && !is_test_file(&path) && !is_manifest(&path) && (self.lookup)(&path).is_some() {
            self.push(Part::File(path));
        }
    }

    /// Returns true if it is new.
    fn push(&mut self, part: Part) -> bool {
        let is_new = !self.parts.contains(&part);
        if is_new {
            self.parts.push(part);
        }
        is_new
    }
}

/// Returns a path from the project's root; `None` if it is outside.
fn join(folder: &str, path: &str) -> Option<String> {
    if path.starts_with(['/', '~', '$']) {
        return None;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKAGE: &str = r#"{"name": "x", "scripts": {"pretest": "npm run lint", "test": "jest && node scripts/size.mjs",
        "lint": "eslint .", "all": "run-s lint check", "check": "sh ci.sh", "loop": "npm run loop"}}"#;

    fn project(path: &str) -> Option<Vec<u8>> {
        let text = match path {
            "package.json" => PACKAGE,
            "web/package.json" => r#"{"scripts": {"test": "./run"}}"#,
            "check.sh"
            | "scripts/ci"
            | "scripts/size.mjs"
            | "ci.sh"
            | "tests/run.sh"
            | "setup.py"
            | "web/run"
            | "Makefile"
            | "sub/GNUmakefile"
            | "sub/Makefile"
            | "build.mk"
            | ".justfile"
            | "Taskfile.yaml"
            | "tox.ini"
            | "noxfile.py"
            | "Rakefile"
            | "node_modules/.bin/jest"
            | "main.ts"
            | "yarn.lock" => "text",
            _ => return None,
        };
        Some(text.into())
    }

    #[test]
    fn the_own_files_of_a_command_are_found() {
        for (command, expected) in [
            ("./check.sh", "check.sh"),
            ("CI=1 timeout -k 5 60 scripts/ci --fast", "scripts/ci"),
            ("bash -euo pipefail check.sh", "check.sh"),
            ("sh -c 'cargo fmt && ./check.sh'", "check.sh"),
            ("bash -lc './check.sh'", "check.sh"),
            ("cargo test && ./check.sh | tee log; python3.12 -W error scripts/ci", "check.sh scripts/ci"),
            ("cd scripts && ./ci", "scripts/ci"),
            ("uv run python scripts/ci", "scripts/ci"),
            ("deno run -A main.ts", "main.ts"),
            ("bun main.ts", "main.ts"),
            ("bun run main.ts", "main.ts"),
            (". ./check.sh", "check.sh"),
            (
                "npm test",
                "package.json#scripts.pretest package.json#scripts.lint package.json#scripts.test scripts/size.mjs",
            ),
            (
                "npm t -- --ci",
                "package.json#scripts.pretest package.json#scripts.lint package.json#scripts.test scripts/size.mjs",
            ),
            ("yarn lint", "package.json#scripts.lint"),
            ("bun run lint", "package.json#scripts.lint"),
            (
                "pnpm all",
                "package.json#scripts.all package.json#scripts.lint package.json#scripts.check ci.sh",
            ),
            ("npm run loop", "package.json#scripts.loop"),
            ("npm --prefix web test", "web/package.json#scripts.test web/run"),
            ("make check", "Makefile"),
            ("make -C sub test", "sub/GNUmakefile"),
            ("make -f build.mk", "build.mk"),
            ("just test", ".justfile"),
            ("task test", "Taskfile.yaml"),
            ("tox -e py3", "tox.ini"),
            ("python -m nox", "noxfile.py"),
            ("bundle exec rake", "Rakefile"),
            // Nothing of the project's own, or what is no part of the validation.
            ("cargo test", ""),
            ("bun test", ""),
            ("yarn install", ""),
            ("bash tests/run.sh", ""),
            ("python setup.py test", ""),
            ("python -m pytest check.sh", ""),
            ("python -c 'import check' check.sh", ""),
            ("node_modules/.bin/jest", ""),
            ("/usr/bin/true && ../check.sh", ""),
            ("echo check.sh", ""),
            ("cat yarn.lock # ./check.sh", ""),
            ("", ""),
        ] {
            let found = OwnFiles::find(command, &project);
            assert_eq!(found.names(&project).join(" "), expected, "{command}");
        }
    }

    /// The project with another text of one file.
    fn with<'a>(path: &'a str, text: Option<&'a str>) -> impl Fn(&str) -> Option<Vec<u8>> + 'a {
        move |asked| if asked == path { text.map(Into::into) } else { project(asked) }
    }

    #[test]
    fn changed_files_are_named_and_of_package_json_its_scripts_alone() {
        let case = |command: &str, path: &str, text: Option<&str>| {
            OwnFiles::find(command, &project).changed(&project, &with(path, text)).join(" ")
        };
        assert_eq!(case("./check.sh", "check.sh", Some("exit 0")), "check.sh");
        assert_eq!(case("./check.sh", "check.sh", None), "check.sh");
        assert_eq!(case("./check.sh", "ci.sh", None), "");
        assert_eq!(case("make", "GNUmakefile", Some("check:")), "GNUmakefile");
        let package = PACKAGE.replace("\"x\"", "\"y\"");
        assert_eq!(case("npm test", "package.json", Some(&package)), "");
        let package = PACKAGE.replace("jest", "jest -t x").replace("sh ci.sh", "true");
        assert_eq!(case("npm test", "package.json", Some(&package)), "package.json#scripts.test");
        let package = PACKAGE.replace("\"all\"", "\"posttest\": \"x\", \"all\"");
        assert_eq!(case("npm test", "package.json", Some(&package)), "package.json#scripts.posttest");
        assert_eq!(case("npm run lint", "package.json", Some("{")), "package.json#scripts.lint");
    }

    #[test]
    fn files_are_restored_without_the_rest_of_package_json() {
        let own = OwnFiles::find("npm test && ./check.sh", &project);
        let package = PACKAGE
            .replace("\"x\"", "\"y\"")
            .replace("jest", "true")
            .replace("\"all\"", "\"posttest\": \"x\", \"all\"");
        let after = with("package.json", Some(&package));
        let restored = own.restored(&project, &after);
        let json: Value = serde_json::from_slice(restored["package.json"].as_ref().unwrap()).unwrap();
        let expected: Value = serde_json::from_str(&PACKAGE.replace("\"x\"", "\"y\"")).unwrap();
        assert_eq!(json, expected);
        assert_eq!(restored.len(), 1);
        let restored = own.restored(&with("check.sh", None), &project);
        assert_eq!(restored.into_iter().collect::<Vec<_>>(), [("check.sh".to_owned(), None)]);
        let restored = own.restored(&project, &with("package.json", Some("{")));
        assert_eq!(restored["package.json"].as_deref(), Some(PACKAGE.as_bytes()));
    }

    #[test]
    fn a_selection_by_change_is_seen_in_the_command_and_in_own_files() {
        for command in [
            "nx affected -t test",
            "turbo run test --affected",
            "npm run affected:test",
            "vitest run --changed",
            "jest --changedSince=main",
            "npx jest --ci -o",
            "lerna run test --since main",
            "pytest --testmon",
            "pytest -q --lf",
            "pytest --picked",
            "jest --onlyChanged",
        ] {
            assert!(selects_by_change::<&str>(command, &[]), "{command}");
            assert!(
                selects_by_change("make", &["# all\nx:\n\techo", &format!("test:\n\t{command}\n")]),
                "{command}"
            );
        }
        for command in [
            "pytest -o addopts=",
            "cargo test changed",
            "tool --since-start",
            "jest --ci; x -o y",
            "unaffected",
        ] {
            assert!(!selects_by_change(command, &["# runs nx affected\n// jest -o\n"]), "{command}");
        }
    }
}
