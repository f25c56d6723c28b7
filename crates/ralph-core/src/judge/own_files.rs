//! The files of the project that the validation itself consists of: scripts that its command runs, and what says what
//! such a script is.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

use super::definitions::read;
use super::diff::changed_lines;
use super::languages::language;
use super::paths::{is_in_pattern, is_manifest, is_test_file, pattern, runs_tests};
use super::recipes::Recipes;
use super::shell::{commands, option_value, unwrapped, without_options};

/// Reads a file of the project by its path from the project's root; `None` if it is not there.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<Vec<u8>>;

/// Maximum number of scripts within scripts that are followed.
const MAX_DEPTH: u8 = 8;

/// Maximum number of changed lines of each side that are shown, and of their characters.
const MAX_LINES: usize = 3;
const MAX_LINE_CHARS: usize = 60;

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

/// Folders of what is tested.
const SOURCE_FOLDERS: &[&str] = &["src/", "app/"];

/// Folders of programs that somebody else wrote.
const FOREIGN_FOLDERS: &[&str] = &["node_modules", ".venv", "venv", "vendor", "target"];

/// Options and commands that run only the tests that a change concerns.
static SELECTS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?x)(?:^|[\s:'\x22])(?:(?:--)?affected|--changed(?:Since)?|--onlyChanged|--since|--testmon|--lf|--last-failed|--picked)
          (?:[=:\s'\x22]|$) | \bjest\b[^|;&]*\s-o(?:[\s'\x22]|$)",
    )
});

/// A line of a script that sets a variable to plain text.
static ASSIGNMENT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r#"^\s*(?:(?:export|local|readonly)\s+)?([A-Za-z_]\w*)=["']?([\w./-]+)["']?\s*$"#)
});

/// Paths of shell scripts in what is no shell script.
static SHELL_PATHS: LazyLock<Regex> = LazyLock::new(|| pattern(r"[\w./-]+\.(?:sh|bash)\b"));

/// A file of the project, or a script of a package.json.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    File(String),
    /// A file that holds tests itself.
    Test(String),
    Script {
        manifest: String,
        name: String,
    },
}

/// How a file is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    /// By a shell.
    Shell,
    /// Within the shell that names it.
    Sourced,
    /// By another interpreter, or by itself.
    Program,
}

impl Part {
    fn path(&self) -> &str {
        match self {
            Self::File(path) | Self::Test(path) | Self::Script { manifest: path, .. } => path,
        }
    }

    fn label(&self) -> String {
        match self {
            Self::File(path) | Self::Test(path) => path.clone(),
            Self::Script { manifest, name } => format!("{manifest}#scripts.{name}"),
        }
    }

    /// Returns what it consists of in a tree.
    fn contents(&self, lookup: Lookup<'_>) -> Option<Vec<u8>> {
        match self {
            Self::File(path) | Self::Test(path) => lookup(path),
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
        let mut finder =
            Finder { lookup, parts: Vec::new(), depth: 0, script_folder: None, variables: BTreeMap::new() };
        finder.line(command, "");
        Self { parts: finder.parts }
    }

    /// Returns those that do not hold tests themselves: a test that is run by itself may change as others do.
    #[must_use]
    pub fn without_tests(mut self) -> Self {
        self.parts.retain(|part| !matches!(part, Part::Test(_)));
        self
    }

    /// Returns some lines of the changed ones that are only in one of two trees: `-pytest`, `+true`.
    pub fn changed_lines(&self, before: Lookup<'_>, after: Lookup<'_>) -> Vec<String> {
        let mut lines = Vec::new();
        for part in self.differing(before, after) {
            let [old, new] = [before, after].map(|lookup| part.contents(lookup).unwrap_or_default());
            let [old, new] = [&old, &new].map(|bytes| String::from_utf8_lossy(bytes));
            let changed = changed_lines(&old, &new);
            // In the order of the texts, what is gone first.
            for (text, sign, is_there) in [(&old, '-', -1), (&new, '+', 1)] {
                let differing = text.lines().map(|line| line.trim().trim_end_matches(','));
                let differing =
                    differing.filter(|line| !line.is_empty() && changed[line].signum() == is_there);
                let short = |line: &str| line.chars().take(MAX_LINE_CHARS).collect::<String>();
                lines.extend(differing.take(MAX_LINES).map(|line| format!("{sign}{}", short(line))));
            }
        }
        lines.truncate(2 * MAX_LINES);
        lines
    }

    /// Returns the renames that alone make the new own files from the old ones: `src → lib`. `moved` are files that are the same
    /// under another path.
    pub fn follows(
        &self,
        before: Lookup<'_>,
        after: Lookup<'_>,
        moved: &[(String, String)],
    ) -> Option<String> {
        let renames = renames(moved);
        let mut used: Vec<String> = Vec::new();
        for part in self.differing(before, after) {
            let [old, new] = [before, after].map(|lookup| String::from_utf8(part.contents(lookup)?).ok());
            let mut text = old?;
            for (from, to) in &renames {
                let renamed = with_path(&text, from, to);
                let words = format!("{from} → {to}");
                if renamed != text && !used.contains(&words) {
                    used.push(words);
                }
                text = renamed;
            }
            if new? != text {
                return None;
            }
        }
        (!used.is_empty()).then(|| used.join(", "))
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
                Part::File(path) | Part::Test(path) => before(path),
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

/// Returns the shortest paths that were renamed, the longest first: of `src/a/x.js` and `lib/a/x.js` the folders.
fn renames(moved: &[(String, String)]) -> Vec<(String, String)> {
    let mut renames: Vec<(String, String)> = moved
        .iter()
        .map(|(from, to)| {
            let [mut old, mut new] = [from, to].map(|path| path.split('/').collect::<Vec<_>>());
            while old.len() > 1 && new.len() > 1 && old.last() == new.last() {
                old.pop();
                new.pop();
            }
            (old.join("/"), new.join("/"))
        })
        .collect();
    renames.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.cmp(b)));
    renames.dedup();
    renames
}

/// Returns a text with another path in the place of one, and of what is below it.
fn with_path(text: &str, from: &str, to: &str) -> String {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(from) {
        let (before, behind) = (&rest[..at], &rest[at + from.len()..]);
        let is_end = !behind.starts_with(is_name);
        let is_start =
            before.ends_with("./") || !before.ends_with(|c: char| is_name(c) || matches!(c, '/' | '.'));
        replaced.push_str(before);
        replaced.push_str(if is_start && is_end { to } else { from });
        rest = behind;
    }
    replaced + rest
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
    /// The folder of the script that is read, whose own scripts are not.
    script_folder: Option<String>,
    /// What it sets to plain text.
    variables: BTreeMap<String, String>,
}

impl Finder<'_> {
    /// Reads a line. Returns the folder in which the next one runs.
    fn line(&mut self, line: &str, folder: &str) -> String {
        let mut folder = folder.to_owned();
        if self.depth >= MAX_DEPTH {
            return folder;
        }
        self.depth += 1;
        for words in commands(line) {
            let words = unwrapped(&words);
            match words {
                [program, to, ..] if program == "cd" => {
                    folder = self.places(to, &folder).into_iter().next().unwrap_or_default();
                }
                _ => self.command(words, &folder),
            }
        }
        self.depth -= 1;
        folder
    }

    /// Reads what a file consists of that the command itself names. One level: what its scripts run is not looked at.
    fn within(&mut self, path: &str, read: impl FnOnce(&mut Self)) {
        if self.script_folder.is_none() {
            self.script_folder = Some(path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned());
            read(self);
            self.script_folder = None;
            self.variables.clear();
        }
    }

    /// Returns the paths that a word may be, the likeliest first: scripts name others from the folder in which they run, or
    /// from their own, as `"$(dirname "$0")/lib.sh"`.
    fn places(&self, word: &str, folder: &str) -> Vec<String> {
        let Some(of_script) = &self.script_folder else { return join(folder, word).into_iter().collect() };
        let name = |c: char| !(c.is_alphanumeric() || matches!(c, '_' | '{' | '$'));
        let (variable, rest) = word.split_at(word.find(name).unwrap_or(word.len()));
        let value =
            self.variables.get(variable.trim_start_matches(['$', '{'])).filter(|_| variable.starts_with('$'));
        let word =
            value.map_or_else(|| word.to_owned(), |value| format!("{value}{}", rest.trim_start_matches('}')));
        let word = word.trim_start_matches('<');
        let (word, folders) = match word.strip_prefix('$') {
            None => (word, [folder, of_script, ""]),
            Some(rest) => {
                let end = rest
                    .rfind([')', '}'])
                    .map_or_else(|| rest.find('/').unwrap_or(rest.len()), |end| end + 1);
                (rest[end..].trim_start_matches('/'), [of_script, folder, ""])
            }
        };
        folders.into_iter().filter_map(|folder| join(folder, word)).collect()
    }

    fn command(&mut self, words: &[String], folder: &str) {
        let Some((program, rest)) = words.split_first() else { return };
        if program.contains('/') {
            self.file(program, folder, Call::Program);
        }
        if let (true, Some(script)) =
            (program.starts_with('$'), rest.iter().find(|word| !word.starts_with('-')))
        {
            self.file(script, folder, Call::Program);
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
            let call = match name {
                "." | "source" => Call::Sourced,
                _ if *ends == ["-c"] => Call::Shell,
                _ => Call::Program,
            };
            self.interpreter(valued, ends, rest, folder, call);
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

    fn interpreter(&mut self, valued: &[&str], ends: &[&str], rest: &[String], folder: &str, call: Call) {
        let rest = rest.strip_prefix(&["run".to_owned()]).unwrap_or(rest);
        let options = &rest[..rest.len() - without_options(rest, valued).len()];
        // `-c`, and together with others as in `-euc`.
        let end = options.iter().position(|word| {
            let is_group = !word.starts_with("--") && word.ends_with('c') && ends.contains(&"-c");
            ends.contains(&word.as_str()) || word.starts_with('-') && is_group
        });
        let Some(end) = end else {
            if let Some(script) = without_options(rest, valued).iter().find(|word| *word != "<") {
                self.file(script, folder, call);
            }
            return;
        };
        let behind = &rest[end + 1..];
        match (rest[end].as_str(), behind) {
            ("-m", [module, ..]) if runner(module).is_some() => self.command(behind, folder),
            (option, [line, ..]) if option.ends_with('c') && ends == ["-c"] => drop(self.line(line, folder)),
            _ => {}
        }
    }

    fn runner(&mut self, runner: &Runner, rest: &[String], folder: &str) {
        let folder = match option_value(rest, runner.folder_options) {
            Some(to) => join(folder, to).unwrap_or_default(),
            None => folder.to_owned(),
        };
        let named = option_value(rest, runner.file_options);
        let names = named.map_or_else(|| runner.files.to_vec(), |name| vec![name]);
        let paths: Vec<String> = names.into_iter().filter_map(|name| join(&folder, name)).collect();
        // Those before it would be read in its place.
        let Some(found) = paths.iter().position(|path| (self.lookup)(path).is_some()) else { return };
        for path in &paths[..=found] {
            self.push(Part::File(path.clone()));
        }
        let valued = [runner.file_options, runner.folder_options].concat();
        let goals = rest.iter().enumerate().filter(|(at, word)| {
            let is_value = at.checked_sub(1).is_some_and(|before| valued.contains(&rest[before].as_str()));
            !is_value && !word.starts_with('-') && !word.contains('=')
        });
        let goals: Vec<&str> = goals.map(|(_, word)| word.as_str()).collect();
        let path = paths[found].clone();
        self.within(&path, |it| it.recipes(runner, &path, &goals, &folder));
    }

    /// Reads what a file of `make`, `just` and the like runs for these targets.
    fn recipes(&mut self, runner: &Runner, path: &str, goals: &[&str], folder: &str) {
        let lookup = self.lookup;
        let text = |path: &str| lookup(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let mut texts: Vec<String> = text(path).into_iter().collect();
        let is_just = runner.names == ["just"];
        if !is_just && runner.names != ["make", "gmake"] {
            for script in texts.iter().flat_map(|text| SHELL_PATHS.find_iter(text)) {
                self.file(script.as_str(), folder, Call::Shell);
            }
            return;
        }
        let mut recipes = Recipes::new(is_just);
        while let Some(read) = texts.pop() {
            for included in recipes.read(&read) {
                let Some(included) = join(folder, &included).filter(|path| !path.contains(['$', '*'])) else {
                    continue;
                };
                // Also one that is not there yet.
                if self.push(Part::File(included.clone())) {
                    texts.extend(text(&included));
                }
            }
        }
        let (lines, shadowed) = recipes.runs(goals);
        for line in lines {
            self.line(&line, folder);
        }
        for path in shadowed.iter().filter_map(|target| join(folder, target)) {
            // If there is a file of that name, make takes it for what the target makes.
            if (self.lookup)(&path).is_none() {
                self.push(Part::File(path));
            }
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

    fn file(&mut self, word: &str, folder: &str, call: Call) {
        let places = self.places(word, folder);
        let Some((path, contents)) =
            places.into_iter().find_map(|path| Some((path.clone(), (self.lookup)(&path)?)))
        else {
            return;
        };
        let is_foreign = path.split('/').any(|part| FOREIGN_FOLDERS.contains(&part));
        if is_foreign || is_manifest(&path) {
            return;
        }
        let text = String::from_utf8_lossy(&contents).into_owned();
        let is_shell = call != Call::Program || is_shell_script(&path, &text);
        // What a script starts may be what it tests: of programs only scripts of a shell are taken for a part of it.
        let is_test = is_test_file(&path) && !runs_tests(&path);
        let is_source = SOURCE_FOLDERS.iter().any(|folder| path.starts_with(folder));
        if self.script_folder.is_some() && (is_source || call != Call::Sourced && (is_test || !is_shell)) {
            return;
        }
        let holds_tests = is_in_pattern(&path)
            || language(&path).is_some_and(|language| !read(&text, language, true).0.is_empty());
        let part = if holds_tests { Part::Test(path.clone()) } else { Part::File(path.clone()) };
        if self.push(part) {
            self.within(&path, |it| it.script(&text, is_shell, folder));
        }
    }

    fn script(&mut self, text: &str, is_shell: bool, folder: &str) {
        if !is_shell {
            for script in SHELL_PATHS.find_iter(text) {
                self.file(script.as_str(), folder, Call::Shell);
            }
            return;
        }
        let mut folder = folder.to_owned();
        for line in text.replace("\\\n", " ").lines() {
            if let Some(found) = ASSIGNMENT.captures(line) {
                self.variables.insert(found[1].to_owned(), found[2].to_owned());
            }
            folder = self.line(line, &folder);
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

fn is_shell_script(path: &str, text: &str) -> bool {
    let shebang = text.lines().next().filter(|line| line.starts_with("#!"));
    let is_named = [".sh", ".bash", ".zsh", ".ksh"].iter().any(|end| path.ends_with(end));
    is_named || shebang.is_some_and(|line| line.trim_end().ends_with("sh"))
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
            "deep/check.sh" => {
                "#!/bin/sh\nset -e\nDIR=deep/more\n$DIR/a.sh\nbash \"${DIR}/b.sh\"\nhere=$(dirname \"$0\")\nsh \"$(dirname \"$0\")/unit.sh\" --all\n. \"$here/lib.sh\" # don't\n\
                 cd deep && ./unit.sh; cd ..\nnode main.ts | grep ok\n${PYTHON} main.ts\nbash other.sh <main.ts\n\
                 sh tests/login.sh\nsh tests/run.sh\n. src/login.sh\n"
            }
            "deep/unit.sh" => "sh third.sh",
            "deep.mk" => "-include local.mk\n.PHONY: test\ntest:\n\t@$(UNIT)\nother:\n\ttrue\n",
            "local.mk" => "UNIT = sh ci.sh\n",
            "deep.just" => "unit:\n    bash check.sh\n",
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
            | "deep/lib.sh"
            | "deep/more/a.sh"
            | "deep/more/b.sh"
            | "other.sh"
            | "third.sh"
            | "tests/login.sh"
            | "src/login.sh"
            | "login_test.sh"
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
            // Whatever it is called.
            ("bash tests/run.sh", "tests/run.sh"),
            ("bash login_test.sh", "login_test.sh"),
            // What it runs, sources and includes, one level.
            (
                "bash deep/check.sh",
                "deep/check.sh deep/more/a.sh deep/more/b.sh deep/unit.sh deep/lib.sh other.sh tests/run.sh",
            ),
            ("make -f deep.mk test", "deep.mk local.mk ci.sh"),
            ("make -f deep.mk other", "deep.mk local.mk"),
            ("just -f deep.just unit", "deep.just check.sh"),
            // Nothing of the project's own, or what is no part of the validation.
            ("cargo test", ""),
            ("bun test", ""),
            ("yarn install", ""),
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
        // A file that make would take for what the target makes.
        assert_eq!(case("make -f deep.mk other", "other", Some("")), "other");
        assert_eq!(case("make -f deep.mk test", "test", Some("")), "");
        let package = PACKAGE.replace("\"x\"", "\"y\"");
        assert_eq!(case("npm test", "package.json", Some(&package)), "");
        let package = PACKAGE.replace("jest", "jest -t x").replace("sh ci.sh", "true");
        assert_eq!(case("npm test", "package.json", Some(&package)), "package.json#scripts.test");
        let package = PACKAGE.replace("\"all\"", "\"posttest\": \"x\", \"all\"");
        assert_eq!(case("npm test", "package.json", Some(&package)), "package.json#scripts.posttest");
        assert_eq!(case("npm run lint", "package.json", Some("{")), "package.json#scripts.lint");
    }

    #[test]
    fn a_file_of_tests_is_one_of_its_own_that_may_be_left_out() {
        let project = |path: &str| match path {
            "tests/checks.py" => Some(b"def test_a():\n    pass\n".to_vec()),
            path => project(path),
        };
        for (command, expected) in [
            ("bash login_test.sh && ./check.sh", "check.sh"),
            ("python tests/checks.py", ""),
            ("bash tests/run.sh", "tests/run.sh"),
        ] {
            let own = OwnFiles::find(command, &project);
            assert_eq!(own.without_tests().names(&project).join(" "), expected, "{command}");
        }
    }

    #[test]
    fn a_script_that_only_follows_renames_is_known() {
        let moved = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect()
        };
        let case = |old: &str, new: &str, pairs: &[(&str, &str)]| {
            let own = OwnFiles::find("sh check.sh", &with("check.sh", Some(old)));
            own.follows(&with("check.sh", Some(old)), &with("check.sh", Some(new)), &moved(pairs))
        };
        let own = OwnFiles::find("sh check.sh", &with("check.sh", Some("x\n  a\n")));
        let lines =
            own.changed_lines(&with("check.sh", Some("x\n  a\n")), &with("check.sh", Some("b\nx\n\n")));
        assert_eq!(lines, ["-a", "+b"]);
        let pairs = &[("src/a/v", "lib/a/v"), ("src/w", "lib/w")];
        let old = "cat src/v ./src/w\npytest src mysrc a/src\n";
        let new = "cat lib/v ./lib/w\npytest lib mysrc a/src\n";
        assert_eq!(case(old, new, pairs).as_deref(), Some("src → lib"));
        assert_eq!(case(old, &new.replace("cat", "true"), pairs), None);
        assert_eq!(case(old, new, &[("other/v", "lib/v")]), None);
        assert_eq!(
            case("sh unit.sh\n", "sh ci.sh\n", &[("unit.sh", "ci.sh")]).as_deref(),
            Some("unit.sh → ci.sh")
        );
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
