//! What a range of commits changes, for a reader who trusts none of it: which files the target has a say in, what is new to install,
//! which code asks whether it is tested, and what a commit is proven by. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use failure_excerpt::{Level, Ran};
use regex::Regex;
use serde_json::Value;

use super::clean::CleanRun;
use super::diff::{ChangedFile, changed_lines, is_config_change};
use super::paths::{
    config_line, decides_ci, has_inline_tests, is_manifest, is_test_config, is_test_file, is_test_snapshot,
    pattern,
};
use super::unseen::is_code;
use crate::record::{Flag, FlagCode, join_truncated};

/// Maximum number of places that a text names.
const MAX_NAMES: usize = 3;

/// Whose contents a changed file has in a run on a mixed tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Side {
    Head,
    /// None, if the target has no such file.
    Target,
    /// Those of the head, but for the part that decides what runs.
    Mixed(Vec<u8>),
}

/// Files that decide how commands run though no runner of tests reads them: settings of package managers, toolchains and shells.
/// Modules at the root come before the ones of the same name that are installed.
const DECIDES: &str = r"(?x)(?:^|/)(?:
    \.npmrc | \.yarnrc[^/]* | \.pnpmfile\.c?js | bunfig\.toml | \.cargo/config(?:\.toml)? | rust-toolchain[^/]* | go\.work(?:\.sum)?
  | GNUmakefile | \.env(?:\.[^/]*)? | \.envrc | \.tool-versions | \.?mise\.toml | \.(?:python|ruby|java|node)-version | \.nvmrc
  | \.mvn/(?:maven|jvm)\.config | \.proverc
  | [^/]+\.pth | (?:site|user)customize\.py | \.gitattributes )$
  | ^(?:_?pytest|pluggy|iniconfig|unittest|doctest|nose2?|coverage|tox|nox|hypothesis)(?:\.py$|/)";

static IS_DECIDING: LazyLock<Regex> = LazyLock::new(|| pattern(DECIDES));

/// Sections of manifests that decide which tests run.
const SECTIONS: &str = r"(?x)^\[+\s*(?:
    tool[.:](?:pytest|coverage|tox|hatch\.envs\.test)[\w.:-]* | (?:tool:)?pytest | coverage:[\w.-]+
  | test | bench | profile\.test[\w.-]* )\s*\]+";

/// What a package.json has for runners of tests, beside its scripts for them.
const PACKAGE_KEYS: [&str; 7] = ["jest", "mocha", "ava", "vitest", "nyc", "c8", "tap"];

static TEST_SCRIPT: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?:pre|post)?(?:test|check|ci|verify|validate)[\w:.-]*$"));

/// Data and doubles of tests.
const FIXTURE: &str = r"(?:^|/)(?:tests?|__tests__|testdata|test[-_]data|(?:__)?fixtures?(?:__)?|__mocks__)/";

/// Returns true if a file belongs to the tests: they, their data, and what they recorded.
pub fn is_of_tests(path: &str) -> bool {
    static IS_FIXTURE: LazyLock<Regex> = LazyLock::new(|| pattern(FIXTURE));
    is_test_file(path) || is_test_snapshot(path) || IS_FIXTURE.is_match(path)
}

/// Returns true for a file whose lines are looked at here. Lock files are none: tools write them, and they are long.
pub fn is_looked_at(path: &str) -> bool {
    let is_of_people = || is_manifest(path) && !path.contains("lock");
    is_code(path) || IS_DECIDING.is_match(path) || config_line(path).is_some() || is_of_people()
}

/// Returns what is said of changed files that were not looked at.
pub fn unread_flag(paths: &[String]) -> Option<Flag> {
    let text =
        format!("too large, or among too many files, to be looked at: {}", join_truncated(paths, MAX_NAMES));
    (!paths.is_empty()).then(|| Flag { code: FlagCode::Unseen, text, paths: paths.to_vec() })
}

/// Returns true for code that is no test.
pub fn is_source(path: &str) -> bool {
    is_code(path) && !is_of_tests(path) && !is_manifest(path) && !is_test_config(path) && !decides_ci(path)
}

/// Returns whose contents a changed file has in a run in which the target decides what runs.
pub fn decided_by_target(file: &ChangedFile) -> Side {
    if IS_DECIDING.is_match(&file.path) || is_test_config(&file.path) {
        return Side::Target;
    }
    if config_line(&file.path).is_none() {
        return Side::Head;
    }
    match (&file.before, &file.after) {
        // New dependencies that the head needs are in the same file.
        (Some(before), Some(after)) if is_manifest(&file.path) => {
            let mixed = if file.path.ends_with("package.json") {
                mixed_package(before, after)
            } else {
                mixed_sections(before, after)
            };
            mixed.map_or(Side::Head, Side::Mixed)
        }
        _ if is_config_change(file) => Side::Target,
        _ => Side::Head,
    }
}

/// Returns a package.json with the target's scripts and settings for tests; `None` if it has them already.
fn mixed_package(before: &[u8], after: &[u8]) -> Option<Vec<u8>> {
    let before: Value = serde_json::from_slice(before).ok()?;
    let head: Value = serde_json::from_slice(after).ok()?;
    let mut after = head.clone();
    let object = after.as_object_mut()?;
    for key in PACKAGE_KEYS {
        match before.get(key) {
            Some(value) => drop(object.insert(key.to_owned(), value.clone())),
            None => drop(object.shift_remove(key)),
        }
    }
    let empty = serde_json::Map::new();
    let old = before.get("scripts").and_then(Value::as_object).unwrap_or(&empty);
    if let Some(scripts) = object.get_mut("scripts").and_then(Value::as_object_mut) {
        scripts.retain(|name, _| !TEST_SCRIPT.is_match(name));
        scripts.extend(
            old.iter()
                .filter(|(name, _)| TEST_SCRIPT.is_match(name))
                .map(|(name, text)| (name.clone(), text.clone())),
        );
    }
    if after == head { None } else { serde_json::to_vec_pretty(&after).ok() }
}

/// Returns a file with sections, those for tests from the target; `None` if it has them already.
fn mixed_sections(before: &[u8], after: &[u8]) -> Option<Vec<u8>> {
    static IS_SECTION: LazyLock<Regex> = LazyLock::new(|| pattern(SECTIONS));
    let [before, after] = [before, after].map(String::from_utf8_lossy);
    let part = |text: &str, is_of_tests: bool| {
        let mut is_inside = false;
        let lines = text.lines().filter(|line| {
            if line.starts_with('[') {
                is_inside = IS_SECTION.is_match(line);
            }
            is_inside == is_of_tests
        });
        lines.map(|line| format!("{line}\n")).collect::<String>()
    };
    let of_target = part(&before, true);
    (part(&after, true) != of_target).then(|| (part(&after, false) + &of_target).into_bytes())
}

/// Returns the dependencies that a manifest of the head has and that of the target has not, each with what is said of its version.
pub fn new_dependencies(file: &ChangedFile) -> Vec<(String, String)> {
    let [before, after] = [&file.before, &file.after].map(|bytes| {
        bytes.as_deref().map_or_else(BTreeMap::new, |bytes| {
            dependencies(&file.path, &String::from_utf8_lossy(bytes)).into_iter().collect()
        })
    });
    after.into_iter().filter(|(name, _)| !before.contains_key(name)).collect()
}

fn dependencies(path: &str, text: &str) -> Vec<(String, String)> {
    static REQUIREMENT: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"^\s*([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?\s*([^;#]*)"));
    static GO: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\s*(?:require\s+)?([\w.-]+\.\w+/\S+)\s+(v\S+)"));
    static GEM: LazyLock<Regex> =
        LazyLock::new(|| pattern(r#"^\s*gem\s+["']([\w.-]+)["'](?:\s*,\s*["']([^"']+)["'])?"#));
    let by_line = |regex: &Regex| -> Vec<(String, String)> {
        let found = text.lines().filter_map(|line| regex.captures(line));
        let group = |found: &regex::Captures<'_>, at| {
            found.get(at).map_or(String::new(), |part| part.as_str().trim().to_owned())
        };
        found.map(|found| (group(&found, 1), group(&found, 2))).collect()
    };
    let requirement = |text: &str| {
        let found = REQUIREMENT.captures(text)?;
        Some((found[1].to_owned(), found[2].trim().to_owned()))
    };
    let name = path.rsplit('/').next().unwrap_or(path);
    match name {
        "package.json" | "composer.json" => {
            let json: Value = serde_json::from_str(text).unwrap_or_default();
            let of = |key: &str| json.get(key).and_then(Value::as_object).cloned().unwrap_or_default();
            let keys = [
                "dependencies",
                "devDependencies",
                "optionalDependencies",
                "peerDependencies",
                "require",
                "require-dev",
            ];
            let all = keys.iter().flat_map(|key| of(key));
            all.map(|(name, version)| (name, version.as_str().unwrap_or_default().to_owned())).collect()
        }
        "Cargo.toml" | "pyproject.toml" => {
            let mut found = Vec::new();
            if let Ok(table) = text.parse::<toml::Table>() {
                of_table(&table, &mut found, &requirement);
            }
            found
        }
        "go.mod" => by_line(&GO),
        "Gemfile" => by_line(&GEM),
        _ if name.starts_with("requirements") => text.lines().filter_map(requirement).collect(),
        _ => Vec::new(),
    }
}

/// Adds the dependencies of a table, wherever they are in it: of a target, a group, a workspace.
fn of_table(
    table: &toml::Table,
    found: &mut Vec<(String, String)>,
    requirement: &dyn Fn(&str) -> Option<(String, String)>,
) {
    for (key, value) in table {
        let holds = key == "requires" || key.ends_with("dependencies") || key.ends_with("dependency-groups");
        match value {
            toml::Value::Table(inner) if holds => {
                for (name, version) in inner {
                    match version {
                        toml::Value::Array(list) => {
                            found.extend(list.iter().filter_map(toml::Value::as_str).filter_map(requirement));
                        }
                        _ if name == "python" => {}
                        _ => {
                            let text = version.as_str().or_else(|| version.get("version")?.as_str());
                            found.push((name.clone(), text.unwrap_or_default().to_owned()));
                        }
                    }
                }
            }
            toml::Value::Array(list) if holds => {
                found.extend(list.iter().filter_map(toml::Value::as_str).filter_map(requirement));
            }
            toml::Value::Table(inner) => of_table(inner, found, requirement),
            _ => {}
        }
    }
}

/// Files whose new lines say how a project is built and installed: the path, what a line has, and what that means.
const INSTALLS: &[(&str, &str, &str)] = &[
    (r"(?:^|/)setup\.py$", r"\S", "runs when the project is installed"),
    (r"(?:^|/)pyproject\.toml$", r"^(?:build-backend|backend-path)\s*=", "names another build backend"),
    (r"(?:^|/)pyproject\.toml$", r"@\s*(?:file|git|https?)|\b(?:path|git)\s*=", "installs from elsewhere"),
    (r"(?:^|/)Cargo\.toml$", r"^\[patch|\b(?:path|git)\s*=", "installs from elsewhere"),
    (r"(?:^|/)go\.mod$", r"^replace\b|=>", "installs from elsewhere"),
    (
        r"(?:^|/)package\.json$",
        r#":\s*"(?:file|link|portal|git\+?\w*|https?|github|npm):"#,
        "installs from elsewhere",
    ),
    (r"(?:^|/)Gemfile$", r"\b(?:path|git|github):", "installs from elsewhere"),
    (
        r"(?:^|/)requirements[^/]*\.txt$",
        r"^-e|^-[fi]\b|(?:^|@\s*)(?:file|git|https?)\b.*/|^--(?:(?:extra-)?index-url|find-links)|^\.{0,2}/",
        "installs from elsewhere",
    ),
];

/// Returns what is new in how the project is set up, but for files that another flag names already.
pub fn setup_flag(files: &[ChangedFile], named: &[String]) -> Option<Flag> {
    static ROWS: LazyLock<Vec<[Regex; 2]>> =
        LazyLock::new(|| INSTALLS.iter().map(|(path, line, _)| [pattern(path), pattern(line)]).collect());
    let (mut said, mut paths) = (Vec::new(), BTreeSet::new());
    for file in files.iter().filter(|file| file.after.is_some() && !named.contains(&file.path)) {
        for (regexes, (.., words)) in ROWS.iter().zip(INSTALLS) {
            let [path, line] = regexes;
            if let Some(number) = Some(file).filter(|file| path.is_match(&file.path)).and_then(|file| {
                new_lines(file).into_iter().find(|(_, text)| line.is_match(text)).map(|(number, _)| number)
            }) {
                said.push(format!("{}:{number} {words}", file.path));
                paths.insert(file.path.clone());
            }
        }
        if let Some((number, place)) = new_place(file) {
            said.push(format!("{}:{number} installs from {place}", file.path));
            paths.insert(file.path.clone());
        }
        let new: Vec<String> = new_dependencies(file)
            .into_iter()
            .map(|(name, version)| if version.is_empty() { name } else { format!("{name} {version}") })
            .collect();
        if !new.is_empty() {
            let word = if new.len() == 1 { "dependency" } else { "dependencies" };
            said.push(format!("new {word} in {}: {}", file.path, join_truncated(&new, MAX_NAMES)));
            paths.insert(file.path.clone());
        }
    }
    (!said.is_empty()).then(|| Flag {
        code: FlagCode::Setup,
        text: said.join("; "),
        paths: paths.into_iter().collect(),
    })
}

/// Returns the first line of a changed lock file that has something installed from a place from which nothing came before: a host, or
/// a file.
fn new_place(file: &ChangedFile) -> Option<(usize, String)> {
    static PLACE: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r#"(?:\bresolved"?:?\s+"|\btarball:\s*|\burl = ")(?:[\w+]+://(?:[^/@\s]*@)?)?([^/:\s"]+)"#)
    });
    let before = file.before.as_deref().filter(|_| is_manifest(&file.path) && file.path.contains("lock"))?;
    let before = String::from_utf8_lossy(before);
    let known: BTreeSet<&str> =
        PLACE.captures_iter(&before).filter_map(|found| Some(found.get(1)?.as_str())).collect();
    new_lines(file).into_iter().find_map(|(number, line)| {
        let place = PLACE.captures(&line)?[1].to_owned();
        (!known.contains(place.as_str())).then_some((number, place))
    })
}

/// What code has that finds out whether tests run: names of runners and of the variables that they, CI and we set.
const AWARE: &str = r#"(?x)
    \b(?:PYTEST_\w+ | JEST_WORKER_ID | VITEST(?:_\w+)? | MOCHA_\w+ | NEXTEST\w* | BATS_\w+ | GITHUB_ACTIONS | GITLAB_CI | npm_lifecycle_event)\b
  | (?i:env)[^\n]{0,30}\bCI\b | \$\{?CI\b | \bNODE_ENV\b[^\n]{0,20}["']test["'] | \bcfg!\(\s*test\s*\) | \btesting\.Testing\(\) | \bflag\.Lookup\("test
  | \b(?:_?pytest|unittest|nose2|jest|vitest|mocha|jasmine|rspec|minitest|phpunit|junit)\b
  | \bRALPH_(\w+)"#;

/// Returns the places in new code that ask whether they are tested.
pub fn aware_flag(files: &[ChangedFile]) -> Option<Flag> {
    static ASKS: LazyLock<Regex> = LazyLock::new(|| pattern(AWARE));
    let asks = |text: &str| {
        // Ports and databases of lanes are told apart by it.
        ASKS.captures_iter(text).any(|found| found.get(1).is_none_or(|name| name.as_str() != "LANE"))
    };
    let places: Vec<(String, String)> = files
        .iter()
        .filter(|file| is_source(&file.path))
        .flat_map(|file| {
            let found = new_lines(file).into_iter().filter(|(_, text)| asks(text));
            found
                .map(|(number, _)| (format!("{}:{number}", file.path), file.path.clone()))
                .collect::<Vec<_>>()
        })
        .collect();
    let (names, paths): (Vec<String>, BTreeSet<String>) = places.into_iter().unzip();
    let (ask, it) = if names.len() == 1 { ("asks", "it is") } else { ("ask", "they are") };
    (!names.is_empty()).then(|| Flag {
        code: FlagCode::Aware,
        text: format!("{} {ask} whether {it} tested", join_truncated(&names, MAX_NAMES)),
        paths: paths.into_iter().collect(),
    })
}

/// Returns the lines that only the head has, with their numbers from 1.
pub fn new_lines(file: &ChangedFile) -> Vec<(usize, String)> {
    let [before, after] = [&file.before, &file.after]
        .map(|bytes| String::from_utf8_lossy(bytes.as_deref().unwrap_or_default()));
    let changed = changed_lines(&before, &after);
    let is_new = |line: &str| changed.get(line.trim().trim_end_matches(',')).is_some_and(|count| *count > 0);
    let lines = after.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && is_new(line));
    lines.map(|(at, line)| (at + 1, line.trim().to_owned())).collect()
}

/// What the source of a commit is proven by: its tree was run with the source files of its parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitProof {
    /// So many tests pass with it and fail without it, with their names where all are known.
    Tests {
        count: u64,
        names: Vec<String>,
    },
    /// The validation fails without it, and counts no tests.
    Validation,
    DoesNotBuild,
    NoTestFails,
    NoTest,
    NoSource,
    /// The tests are in the files that were taken back.
    Inline,
    /// The commit fails by itself.
    Fails,
}

impl CommitProof {
    /// `with` is a run of the commit's tree, `without` one with the source of its parent.
    pub fn of(with: &CleanRun, without: &CleanRun, paths: &[String]) -> Self {
        let executed = |run: &CleanRun| run.tests.executed().unwrap_or(0);
        if !with.passed {
            Self::Fails
        } else if with.tests.ran == Ran::None {
            Self::NoTest
        } else if without.passed {
            let is_inline = paths.iter().any(|path| has_inline_tests(path));
            if is_inline && executed(without) < executed(with) { Self::Inline } else { Self::NoTestFails }
        } else {
            match (&without.tests.failing, without.tests.failed) {
                (Some(names), _) if !names.is_empty() => {
                    Self::Tests { count: names.len() as u64, names: names.clone() }
                }
                (_, Some(count)) if count > 0 && without.tests.broken == 0 => {
                    Self::Tests { count, names: Vec::new() }
                }
                _ if without.is_set_up && with.tests.level == Level::None => Self::Validation,
                _ => Self::DoesNotBuild,
            }
        }
    }
}

impl std::fmt::Display for CommitProof {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tests { count: 1, .. } => f.write_str("proven by 1 test"),
            Self::Tests { count, .. } => write!(f, "proven by {count} tests"),
            Self::Validation => f.write_str("the validation fails without it"),
            Self::DoesNotBuild => f.write_str("does not build without it"),
            Self::NoTestFails => f.write_str("no test fails without it"),
            Self::NoTest => f.write_str("no test"),
            Self::NoSource => f.write_str("no source changed"),
            Self::Inline => f.write_str("its tests are in the same files"),
            Self::Fails => f.write_str("fails by itself"),
        }
    }
}

#[cfg(test)]
mod tests {
    use failure_excerpt::Tally;

    use super::*;

    fn file(path: &str, before: &str, after: &str) -> ChangedFile {
        let side = |text: &str| (text != "-").then(|| text.as_bytes().to_vec());
        ChangedFile { path: path.to_owned(), before: side(before), after: side(after) }
    }

    fn side(path: &str, before: &str, after: &str) -> String {
        match decided_by_target(&file(path, before, after)) {
            Side::Head => "head".to_owned(),
            Side::Target => "target".to_owned(),
            Side::Mixed(bytes) => String::from_utf8(bytes).unwrap(),
        }
    }

    #[test]
    fn the_target_says_what_runs() {
        for path in [
            ".npmrc",
            "web/.yarnrc.yml",
            ".pnpmfile.cjs",
            "bunfig.toml",
            ".cargo/config.toml",
            "rust-toolchain.toml",
            "go.work",
            "GNUmakefile",
            ".env",
            ".env.test",
            ".envrc",
            ".tool-versions",
            "mise.toml",
            ".python-version",
            ".ruby-version",
            ".mvn/maven.config",
            ".proverc",
            "lib/x.pth",
            "sitecustomize.py",
            "pytest.py",
            "_pytest/__init__.py",
            "unittest/__init__.py",
            ".gitattributes",
            "jest.config.js",
            "pytest.ini",
            "vitest.workspace.ts",
        ] {
            assert_eq!(side(path, "a\n", "b\n"), "target", "{path}");
            assert_eq!(side(path, "-", "b\n"), "target", "{path} is new");
        }
        for path in
            ["src/lib.rs", "README.md", "src/pytest.py", "docs/env.md", "package-lock.json", "src/env.ts"]
        {
            assert_eq!(side(path, "a\n", "b\n"), "head", "{path}");
        }
        // Only the lines that decide.
        assert_eq!(side("conftest.py", "import a\n", "import b\n"), "head");
        assert_eq!(side("tests/conftest.py", "-", "collect_ignore = ['a']\n"), "target");
        assert_eq!(side("Makefile", "test:\n\tpytest\n", "test:\n\ttrue\n"), "target");
        assert_eq!(side("Makefile", "build:\n\tcc\n", "build:\n\tclang\n"), "head");
    }

    #[test]
    fn a_manifest_keeps_what_the_head_depends_on() {
        let package = |test: &str, rest: &str| format!("{{\"scripts\":{{\"test\":\"{test}\"}}{rest}}}");
        let mixed =
            side("package.json", &package("jest", ""), &package("true", ",\"dependencies\":{\"a\":\"1\"}"));
        let mixed: Value = serde_json::from_str(&mixed).unwrap();
        assert_eq!(mixed["scripts"]["test"], "jest");
        assert_eq!(mixed["dependencies"]["a"], "1");
        let config = ",\"jest\":{\"testMatch\":[]}";
        let mixed = side("package.json", &package("jest", ""), &package("jest", config));
        assert!(!mixed.contains("testMatch"), "{mixed}");
        let mixed = side(
            "pyproject.toml",
            "[project]\ndependencies = []\n[tool.pytest.ini_options]\ntestpaths = ['tests']\n[tool.ruff]\nx = 1\n",
            "[project]\ndependencies = ['a']\n[tool.pytest.ini_options]\ntestpaths = ['none']\n[tool.ruff]\nx = 2\n",
        );
        assert_eq!(
            mixed,
            "[project]\ndependencies = ['a']\n[tool.ruff]\nx = 2\n[tool.pytest.ini_options]\ntestpaths = ['tests']\n"
        );
        assert_eq!(side("Cargo.toml", "[dependencies]\n", "[dependencies]\na = \"1\"\n"), "head");
        let harness = side("Cargo.toml", "[package]\n", "[package]\n[[test]]\nname = 'a'\nharness = false\n");
        assert_eq!(harness, "[package]\n");
    }

    #[test]
    fn dependencies_of_every_kind_are_seen() {
        for (path, before, after, expected) in [
            ("package.json", "{}", r#"{"devDependencies":{"pdfkit":"0.17.1"}}"#, "pdfkit 0.17.1"),
            (
                "Cargo.toml",
                "[dependencies]\na = '1'\n",
                "[dependencies]\na = '2'\nb = { version = '3' }\n",
                "b 3",
            ),
            ("Cargo.toml", "", "[target.'cfg(unix)'.dependencies]\nnix = '1'\n", "nix 1"),
            ("pyproject.toml", "", "[project]\ndependencies = ['flask>=3', 'x']\n", "flask >=3,x "),
            (
                "pyproject.toml",
                "",
                "[tool.poetry.group.dev.dependencies]\npython = '3'\nblack = '24'\n",
                "black 24",
            ),
            ("requirements-dev.txt", "a==1\n", "a==2\nb[x]==3 # c\n", "b ==3"),
            (
                "go.mod",
                "module m\n",
                "module m\nrequire (\n\tgithub.com/a/b v1.2.3\n)\n",
                "github.com/a/b v1.2.3",
            ),
            ("Gemfile", "", "gem 'rails', '7.0'\n", "rails 7.0"),
            ("README.md", "", "pdfkit 1\n", ""),
        ] {
            let new = new_dependencies(&file(path, before, after));
            let words: Vec<String> = new.iter().map(|(name, version)| format!("{name} {version}")).collect();
            assert_eq!(words.join(","), expected, "{path}");
        }
    }

    #[test]
    fn what_is_new_in_the_setup_is_said_once() {
        let said = |path: &str, before: &str, after: &str| {
            setup_flag(&[file(path, before, after)], &[]).map_or(String::new(), |flag| flag.text)
        };
        assert_eq!(said("setup.py", "-", "import os\n"), "setup.py:1 runs when the project is installed");
        assert_eq!(
            said(
                "pyproject.toml",
                "[build-system]\nbuild-backend = 'a'\n",
                "[build-system]\nbuild-backend = 'b'\n"
            ),
            "pyproject.toml:2 names another build backend"
        );
        assert_eq!(
            said("package.json", "{}", "{\n\"dependencies\": {\n\"a\": \"file:../a\"\n}}"),
            "package.json:3 installs from elsewhere; new dependency in package.json: a file:../a"
        );
        assert_eq!(said("go.mod", "", "replace a => ../b\n"), "go.mod:1 installs from elsewhere");
        for line in ["-i https://a.example/x", "--find-links ./x", "a @ https://a.example/a.whl", "./a.whl"] {
            let text = said("requirements.txt", "a==1\n", &format!("{line}\n"));
            assert!(text.starts_with("requirements.txt:1 installs from elsewhere"), "{line}: {text}");
        }
        assert_eq!(said("requirements.txt", "a==1\nfile-lock==1\n", "a==2\nfile-lock==2\n"), "");
        assert_eq!(said("Cargo.toml", "", "[patch.crates-io]\n"), "Cargo.toml:1 installs from elsewhere");
        assert_eq!(said("Cargo.toml", "[package]\nversion = '1'\n", "[package]\nversion = '2'\n"), "");
        assert_eq!(setup_flag(&[file("setup.py", "-", "x\n")], &["setup.py".to_owned()]), None);
    }

    #[test]
    fn a_lock_file_says_where_all_comes_from() {
        for (path, before, after, expected) in [
            (
                "package-lock.json",
                "\"resolved\": \"https://registry.example/a.tgz\",\n",
                "\"resolved\": \"https://evil.example/a.tgz\",\n",
                "package-lock.json:1 installs from evil.example",
            ),
            (
                "package-lock.json",
                "\"resolved\": \"https://registry.example/a.tgz\",\n",
                "\"resolved\": \"file:../a\",\n",
                "package-lock.json:1 installs from file",
            ),
            (
                "package-lock.json",
                "\"resolved\": \"https://registry.example/a.tgz\",\n",
                "\"resolved\": \"https://registry.example/b.tgz\",\n\"url\": \"https://funds.example/b\"\n",
                "",
            ),
            (
                "yarn.lock",
                "  resolved \"https://registry.example/a.tgz\"\n",
                "  resolved \"https://evil.example/a.tgz\"\n",
                "yarn.lock:1 installs from evil.example",
            ),
            (
                "uv.lock",
                "{ url = \"https://files.example/a.whl\" }\n",
                "{ url = \"https://files.example/b.whl\" }\n",
                "",
            ),
            ("package-lock.json", "-", "\"resolved\": \"https://registry.example/a.tgz\",\n", ""),
        ] {
            let flag = setup_flag(&[file(path, before, after)], &[]);
            assert_eq!(flag.map_or(String::new(), |flag| flag.text), expected, "{path} {after}");
        }
    }

    #[test]
    fn code_that_asks_whether_it_is_tested_is_named() {
        for line in [
            "if os.environ.get('PYTEST_CURRENT_TEST'):",
            "if 'pytest' in sys.modules:",
            "if (process.env.JEST_WORKER_ID) {",
            "if (process.env.CI) {",
            "if [ -n \"${CI:-}\" ]; then",
            "if (process.env.npm_lifecycle_event === 'check') {",
            "if std::env::var(\"CI\").is_ok() {",
            "if (process.env.NODE_ENV === 'test') {",
            "let home = env(\"RALPH_SESSION\");",
            "if cfg!(test) {",
            "if testing.Testing() {",
        ] {
            let flag = aware_flag(&[file("src/a.py", "x\n", &format!("x\n{line}\n"))]).expect(line);
            assert_eq!(flag.text, "src/a.py:2 asks whether it is tested");
        }
        for (path, line) in [
            ("src/a.py", "port = 5000 + int(os.environ['RALPH_LANE'])"),
            ("src/a.rs", "#[cfg(test)]"),
            ("src/a.py", "CITY = env('CITY')"),
            ("src/a.sh", "echo $CITY ${CIRCLE}"),
            ("src/a.py", "latest = contest(1)"),
            ("tests/a.test.js", "const { jest } = require('@jest/globals');"),
            ("README.md", "Run pytest."),
            ("package.json", "\"test\": \"jest\""),
            ("jest.config.js", "module.exports = { jest: 1 };"),
        ] {
            assert_eq!(aware_flag(&[file(path, "x\n", &format!("x\n{line}\n"))]), None, "{line}");
        }
        // What was there before is no news.
        assert_eq!(aware_flag(&[file("src/a.py", "pytest\n", "pytest\nx\n")]), None);
    }

    #[test]
    fn a_commit_is_proven_by_the_tests_that_fail_without_it() {
        let run = |passed: bool, failing: &[&str], broken: u64| {
            let count = failing.len() as u64;
            let tests = Tally {
                level: Level::Tests,
                ran: Ran::Some,
                passed: Some(5 - count),
                failed: Some(count),
                failing: (broken == 0).then(|| failing.iter().map(|&name| name.to_owned()).collect()),
                broken,
                ..Tally::default()
            };
            CleanRun { is_set_up: true, passed, tests, ..CleanRun::default() }
        };
        let green = run(true, &[], 0);
        let none = CleanRun { tests: Tally { ran: Ran::None, ..Tally::default() }, ..green.clone() };
        let uncounted = CleanRun { is_set_up: true, passed: true, ..CleanRun::default() };
        let red = CleanRun { passed: false, ..uncounted.clone() };
        let fewer = CleanRun { tests: Tally { passed: Some(3), ..green.tests.clone() }, ..green.clone() };
        for (with, without, path, expected) in [
            (&green, &run(false, &["a", "b"], 0), "src/a.py", "proven by 2 tests"),
            (&green, &run(false, &["a"], 0), "src/a.py", "proven by 1 test"),
            (&green, &run(false, &[], 1), "src/a.py", "does not build without it"),
            (&green, &CleanRun::default(), "src/a.py", "does not build without it"),
            (&green, &green, "src/a.py", "no test fails without it"),
            (&green, &fewer, "src/a.rs", "its tests are in the same files"),
            (&green, &fewer, "src/a.py", "no test fails without it"),
            (&none, &green, "src/a.py", "no test"),
            (&uncounted, &red, "src/a.py", "the validation fails without it"),
            (&red, &green, "src/a.py", "fails by itself"),
        ] {
            assert_eq!(CommitProof::of(with, without, &[path.to_owned()]).to_string(), expected);
        }
    }

    #[test]
    fn what_decides_something_is_looked_at() {
        for path in ["src/a.ts", "tests/a.sh", "package.json", "setup.py", "web/.npmrc", "Makefile", "go.mod"]
        {
            assert!(is_looked_at(path), "{path}");
        }
        for path in ["package-lock.json", "Cargo.lock", "docs/a.png", "tests/data/big.json", "README.md"] {
            assert!(!is_looked_at(path), "{path}");
        }
        assert_eq!(unread_flag(&[]), None);
    }

    #[test]
    fn tests_and_their_data_are_no_source() {
        for path in [
            "tests/data/a.json",
            "src/__mocks__/a.ts",
            "fixtures/a.py",
            "a/__snapshots__/b.snap",
            "a_test.go",
        ] {
            assert!(is_of_tests(path) && !is_source(path), "{path}");
        }
        for path in ["src/a.ts", "lib/a.rb", "scripts/run.sh", "src/latest.py"] {
            assert!(is_source(path) && !is_of_tests(path), "{path}");
        }
        for path in ["README.md", "package.json", "jest.config.js", ".github/workflows/ci.yml", "setup.py"] {
            assert!(!is_source(path), "{path}");
        }
    }
}
