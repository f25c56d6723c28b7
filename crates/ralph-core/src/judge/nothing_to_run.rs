//! Whether a validation ended because there is nothing to run yet: no test, no project, or no runner for one.

use failure_excerpt::{Examination, Level, Ran, Tally};

use super::paths::is_test_file;
use crate::record::Exit;

/// Lines after the one that says so: a runner lists where it looked, and npm says that its script failed.
const MAX_LINES_AFTER: usize = 30;

/// Lines in lower case by which runners say that there is no test, script, target, project or package, each with the exit
/// code that goes with it, if another one would mean something else. `…` is any text.
#[rustfmt::skip]
const ENDS: &[(&str, Option<i32>)] = &[
    // No test
    ("no tests ran", Some(5)), ("collected 0 items", Some(5)), ("file or directory not found: ", Some(4)),
    ("no tests found, exiting with code 1", None), ("no test files found, exiting with code 1", None),
    ("error: no test files found", None), ("error: no tests found", None), ("no tests found!", None),
    ("info  no tests found", None), ("couldn’t find any files to test", None),
    ("couldn't find any files to test", None), ("no specs found", None), ("no spec files were found", None),
    ("executed 0 of 0", None), ("could not find any test files", None), ("0 test files matching", None),
    ("error: no test modules found", None), ("could not find '…test", None), ("no tests executed!", None),
    ("test directory \"…\" not found", None), ("test file \"…\" does not exist", None),
    ("no examples found", None), ("there are no tests to run", None), ("no tests were found", None),
    ("no tests were executed!", None), ("no tests to run", None), ("no test is available", None),
    ("result: notests", None), ("and 't' directory not found", None),
    ("no test files found matching", None), ("no tests found for given includes", None),
    ("no packages to test", None), ("matched no packages", None), ("no go files in ", None),
    // No script or target
    ("no test specified", None), ("missing script: ", None), ("command \"…\" not found.", None),
    ("couldn't find a script named", None), ("script not found \"", None), ("task not found: ", None),
    ("no rule to make target ", None), ("no targets specified and no makefile found", None),
    ("make: *** no targets.", None), ("don't know how to make ", None), ("no justfile found", None),
    ("justfile does not contain recipe", None), ("no taskfile found", None), ("task: task \"…\" does not exist", None),
    ("no rakefile found", None), ("don't know how to build task", None), ("failed to load noxfile", None),
    ("task '…' not found in ", None), ("the task \"…\" could not be found", None),
    // No project
    ("could not read package.json", None), ("no such file or directory, open '…package.json", None),
    ("couldn't find a package.json", None), ("no package.json", None), ("could not find `cargo.toml`", None),
    ("no targets specified in the manifest", None), ("go.mod file not found", None),
    ("cannot find main module", None), ("does not contain main module", None),
    ("there is no pom in this directory", None), ("does not contain a gradle build", None),
    ("msb1003", None), ("neither build.sbt nor a 'project' directory", None),
    ("no pubspec.yaml file found", None), ("could not find a file named \"pubspec.yaml\"", None),
    ("could not find package.swift", None), ("no build.zig file found", None),
    ("could not find a mix.project", None), ("could not locate gemfile", None),
    ("could not find a composer.json", None), ("does not appear to contain cmakelists.txt", None),
];

const NODE: &[&str] = &["package.json"];
const PYTHON: &[&str] =
    &["pyproject.toml", "setup.py", "setup.cfg", "requirements*.txt", "Pipfile", "tox.ini", "noxfile.py"];
const JVM: &[&str] =
    &["pom.xml", "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"];

/// Programs that test a project, and the files without which there is none.
#[rustfmt::skip]
const RUNNERS: &[(&[&str], &[&str])] = &[
    (&["npm", "npx", "pnpm", "yarn", "bun", "node", "jest", "vitest", "mocha", "ava", "tsc", "tsx", "eslint",
       "playwright", "jasmine", "karma", "cypress", "tap", "uvu", "turbo", "nx"], NODE),
    (&["pytest", "py.test", "tox", "nox", "uv", "poetry", "pdm", "hatch", "pipenv", "ruff", "mypy", "python",
       "python3", "unittest"], PYTHON),
    (&["cargo", "cargo-nextest"], &["Cargo.toml"]),
    (&["go", "gotestsum", "ginkgo"], &["go.mod"]),
    (&["mvn", "mvnw", "gradle", "gradlew"], JVM),
    (&["sbt"], &["build.sbt"]),
    (&["dotnet"], &["*.csproj", "*.fsproj", "*.vbproj", "*.sln", "*.slnx"]),
    (&["bundle", "rake", "rspec", "rails"], &["Gemfile", "Rakefile"]),
    (&["php", "phpunit", "pest", "composer"], &["composer.json"]),
    (&["mix"], &["mix.exs"]),
    (&["dart", "flutter"], &["pubspec.yaml"]),
    (&["swift"], &["Package.swift"]),
    (&["deno"], &["deno.json", "deno.jsonc"]),
    (&["zig"], &["build.zig"]),
    (&["cmake", "ctest"], &["CMakeLists.txt"]),
    (&["just"], &["justfile", "Justfile", ".justfile"]),
    (&["task"], &["Taskfile.yml", "Taskfile.yaml"]),
];

/// What a shell or another program says of one that is not there. `…` is its name.
const NOT_INSTALLED: &[&str] = &[
    "…: not found",
    "…: command not found",
    "command not found: …",
    "…: no such file or directory",
    "no module named …",
    "exec: \"…\": executable file not found",
];

/// Files in folders of tests that are none.
const PLACEHOLDERS: &[&str] = &["__init__.py", "conftest.py"];

/// Extensions of what a runner can run.
const CODE: &[&str] = &[
    "py", "go", "rb", "ex", "exs", "dart", "lua", "c", "cc", "cpp", "cxx", "rs", "js", "jsx", "ts", "tsx",
    "mjs", "cjs", "mts", "cts", "vue", "svelte", "php", "sh", "bash", "zig", "hs", "ml", "java", "kt", "kts",
    "scala", "groovy", "cs", "fs", "swift", "m", "mm", "clj", "cljs", "erl", "jl", "nim", "pl", "pm", "t",
    "r", "bats", "feature", "robot", "elm", "gleam",
];

/// What there was not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NothingToRun {
    /// A test, a script or a project.
    Missing,
    /// The runner, which is no fault if the project has none of these files yet.
    NotInstalled(&'static [&'static str]),
}

impl NothingToRun {
    /// Returns true if the files of the project, from its repository's root, say the same: none of them holds tests.
    pub fn is_confirmed_by(self, paths: &[String]) -> bool {
        let manifests = match self {
            Self::Missing => &[],
            Self::NotInstalled(manifests) => manifests,
        };
        !paths.iter().any(|path| holds_tests(path) || is_one_of(path, manifests))
    }
}

/// Returns what there was not to run, by how a validation ended that failed. `None` if it failed otherwise.
pub fn nothing_to_run(
    exit: Exit,
    output: [&str; 2],
    examined: &Examination,
    tally: &Tally,
) -> Option<NothingToRun> {
    let is_any = [tally.passed, tally.failed, tally.skipped].iter().any(|count| count.unwrap_or(0) > 0);
    // A build tool says `BUILD FAILED` of what it does not find, too.
    let is_broken = tally.broken + tally.not_run > 0 && tally.level != Level::None;
    if exit.reason.is_some() || exit.code == 0 || is_any || is_broken || tally.ran == Ran::Some {
        return None;
    }
    let has_other_failure = examined.summaries().iter().any(|failure| {
        matches!(failure.stage, "build" | "test" | "crash" | "hang")
            && [failure.message, failure.id].iter().all(|words| end_of(words, exit, output).is_none())
    });
    if has_other_failure {
        return None;
    }
    output.iter().find_map(|text| {
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        lines.iter().rev().take(MAX_LINES_AFTER).find_map(|line| end_of(line, exit, output))
    })
}

/// Returns the files without which there is no project for a program; `None` for a program that is not known to test one.
pub fn manifests_of(program: &str) -> Option<&'static [&'static str]> {
    let name = program.rsplit('/').next().unwrap_or(program);
    RUNNERS.iter().find(|(names, _)| names.contains(&name)).map(|(_, manifests)| *manifests)
}

/// Returns true if the file at `path` is one of these, or matches one of their patterns.
pub fn is_one_of(path: &str, manifests: &[&str]) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    manifests.iter().any(|manifest| match manifest.split_once('*') {
        Some((start, end)) => name.starts_with(start) && name.ends_with(end),
        None => name == *manifest,
    })
}

fn end_of(line: &str, exit: Exit, output: [&str; 2]) -> Option<NothingToRun> {
    let line = line.trim().to_lowercase();
    let ends_with = |code: i32| {
        // npm, make and others have codes of their own.
        let words = [
            format!("error {code}"),
            format!("code {code}"),
            format!("status {code}"),
            format!("code: {code}"),
        ];
        exit.code == code
            || output.iter().any(|text| words.iter().any(|word| text.to_lowercase().contains(word)))
    };
    let is_end = |&(end, code): &(&str, Option<i32>)| has(&line, end) && code.is_none_or(ends_with);
    // What another target needs is a file that a recipe should have made.
    if !line.contains("needed by") && ENDS.iter().any(is_end) {
        return Some(NothingToRun::Missing);
    }
    let mut names = NOT_INSTALLED.iter().filter_map(|words| name_in(&line, words));
    names.find_map(manifests_of).map(NothingToRun::NotInstalled)
}

/// Returns true if a line has the parts around `…`, one after the other.
fn has(line: &str, pattern: &str) -> bool {
    let mut rest = line;
    pattern.split('…').all(|part| {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
        true
    })
}

/// Returns the word of a line in the place of `…`.
fn name_in<'l>(line: &'l str, pattern: &str) -> Option<&'l str> {
    let (before, after) = pattern.split_once('…')?;
    let is_end = |c: char| c.is_whitespace() || "'\"`‘’:".contains(c);
    if before.is_empty() {
        let at = line.find(after)?;
        let name = line[..at].trim_end_matches(is_end);
        return name.rsplit(is_end).next().filter(|name| !name.is_empty());
    }
    let rest = &line[line.find(before)? + before.len()..];
    rest.split(is_end).find(|name| !name.is_empty()).filter(|_| after.is_empty() || rest.contains(after))
}

/// Returns true if a runner may find tests in the file at `path`.
fn holds_tests(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_code =
        name.rsplit_once('.').is_some_and(|(_, extension)| CODE.contains(&extension.to_lowercase().as_str()));
    is_code && is_test_file(path) && !PLACEHOLDERS.contains(&name)
}

#[cfg(test)]
mod tests {
    use failure_excerpt::{Output, examine};

    use super::*;

    fn found(output: &str, code: i32) -> Option<NothingToRun> {
        let examined = examine(&Output { stdout: output, exit_code: Some(code), ..Output::default() });
        nothing_to_run(Exit { code, reason: None }, [output, ""], &examined, &examined.tally())
    }

    #[test]
    fn each_way_to_end_without_anything_to_run_is_known() {
        for (output, code) in [
            ("=== test session starts ===\ncollected 0 items\n\n==== no tests ran in 0.01s ====\n", 5),
            ("no tests ran in 0.01s\nmake: *** [Makefile:2: test] Error 5\n", 2),
            ("ERROR: file or directory not found: tests\n\n==== no tests ran in 0.00s ====\n", 4),
            ("Ran 0 tests in 0.000s\n\nNO TESTS RAN\n", 5),
            (
                "No tests found, exiting with code 1\nRun with `--passWithNoTests` to exit with code 0\nIn /x\n  2 files checked.\n  testMatch: **/*.test.js - 0 matches\nnpm error Lifecycle script `test` failed with error:\nnpm error code 1\n",
                1,
            ),
            (" RUN  v1.6.0 /x\n\nNo test files found, exiting with code 1\n\ninclude: **/*.test.ts\n", 1),
            (
                "Error: No test files found: \"test\"\n    at lookupFiles (/x/node_modules/mocha/lib/cli/lookup-files.js:90:15)\n",
                1,
            ),
            ("  ✘ Couldn’t find any files to test\n", 1),
            ("Error: No tests found\n", 1),
            ("Incomplete: No specs found\n", 2),
            ("No tests found!\nTests need \".test\" in the filename\n", 1),
            ("error: No test modules found\n", 1),
            ("Could not find '/x/test'\n", 1),
            (
                "PHPUnit 10.5.0 by Sebastian Bergmann and contributors.\n\nTest directory \"/x/tests\" not found\n",
                1,
            ),
            ("ERROR: Test file \"/x/tests\" does not exist.\n", 1),
            ("No tests were found!!!\n", 8),
            ("error: no tests to run\n", 4),
            ("error: no tests found; create a target in the 'Tests' directory\n", 1),
            ("go: warning: \"./...\" matched no packages\nno packages to test\n", 1),
            ("no Go files in /x\n", 1),
            ("Error: no test specified\nnpm ERR! code 1\n", 1),
            (
                "npm error Missing script: \"test\"\nnpm error\nnpm error To see a list of scripts, run:\nnpm error   npm run\n",
                1,
            ),
            ("yarn run v1.22.22\nerror Command \"test\" not found.\n", 1),
            (" ERR_PNPM_NO_SCRIPT  Missing script: test\n\nCommand \"test\" not found.\n", 1),
            ("error: Script not found \"test\"\n", 1),
            (
                "npm error code ENOENT\nnpm error enoent Could not read package.json: Error: ENOENT: no such file or directory, open '/x/package.json'\n",
                254,
            ),
            ("error Couldn't find a package.json file in \"/x\"\n", 1),
            (
                " ERR_PNPM_NO_IMPORTER_MANIFEST_FOUND  No package.json (or package.yaml, or package.json5) was found in \"/x\".\n",
                1,
            ),
            ("error: could not find `Cargo.toml` in `/x` or any parent directory\n", 101),
            (
                "error: failed to parse manifest at `/x/Cargo.toml`\n\nCaused by:\n  no targets specified in the manifest\n",
                101,
            ),
            (
                "go: go.mod file not found in current directory or any parent directory; see 'go help modules'\n",
                1,
            ),
            (
                "pattern ./...: directory prefix . does not contain main module or its selected dependencies\n",
                1,
            ),
            ("make: *** No rule to make target 'test'.  Stop.\n", 2),
            ("make: *** No targets specified and no makefile found.  Stop.\n", 2),
            ("error: Justfile does not contain recipe `test`\n", 1),
            ("rake aborted!\nNo Rakefile found (looking for: rakefile, Rakefile)\n", 1),
            (
                "[INFO] BUILD FAILURE\n[ERROR] The goal you specified requires a project to execute but there is no POM in this directory (/x). -> [Help 1]\n[ERROR] Re-run Maven using the -X switch to enable full debug logging.\n",
                1,
            ),
            (
                "FAILURE: Build failed with an exception.\n\n* What went wrong:\nDirectory '/x' does not contain a Gradle build.\n\nBUILD FAILED in 1s\n",
                1,
            ),
            (
                "FAILURE: Build failed with an exception.\n\n* What went wrong:\nTask 'test' not found in root project 'x'.\n\nBUILD FAILED in 1s\n",
                1,
            ),
            ("MSBUILD : error MSB1003: Specify a project or solution file.\n", 1),
        ] {
            assert_eq!(found(output, code), Some(NothingToRun::Missing), "{output}");
        }
    }

    #[test]
    fn a_runner_that_is_not_installed_is_no_fault_before_there_is_a_project() {
        for (output, code, manifests) in [
            ("sh: 1: jest: not found\n", 127, NODE),
            ("bash: line 1: pytest: command not found\n", 127, PYTHON),
            ("zsh:1: command not found: cargo\n", 127, &["Cargo.toml"]),
            ("/usr/bin/python3: No module named pytest\n", 1, PYTHON),
            ("sh: 1: ./gradlew: not found\n", 127, JVM),
            ("bash: line 1: node_modules/.bin/vitest: No such file or directory\n", 127, NODE),
        ] {
            assert_eq!(found(output, code), Some(NothingToRun::NotInstalled(manifests)), "{output}");
        }
        let paths = |names: &str| names.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let not_installed = NothingToRun::NotInstalled(PYTHON);
        assert!(not_installed.is_confirmed_by(&paths("README.md src/a.py")));
        for path in ["api/pyproject.toml", "requirements-dev.txt", "tests/test_a.py"] {
            assert!(!not_installed.is_confirmed_by(&paths(path)), "{path}");
        }
        for path in [
            "package.json",
            "tests/__init__.py",
            "tests/.gitkeep",
            "tests/data/a.json",
            "specs/001-a/spec.md",
        ] {
            assert!(NothingToRun::Missing.is_confirmed_by(&paths(path)), "{path}");
        }
        assert!(!NothingToRun::Missing.is_confirmed_by(&paths("src/a.js src/a.test.js")));
        assert!(is_one_of("src/shop.csproj", &["*.csproj"]));
    }

    #[test]
    fn what_fails_otherwise_is_a_failure() {
        for (output, code) in [
            ("=== no tests ran in 0.01s ===\nother check failed\n", 1),
            ("No tests found, exiting with code 0\nmy-lint: 3 problems\n", 1),
            ("?   \tshop\t[no test files]\nlint: bad\n", 1),
            ("make: *** No rule to make target 'src/a.c', needed by 'a.o'.  Stop.\n", 2),
            ("sh: 1: pytset: not found\n", 127),
            ("sh: 1: ./check.sh: not found\n", 127),
            ("1 failed, 2 passed in 0.1s\n", 1),
            ("==== 3 skipped in 0.1s ====\nno tests ran\n", 5),
            ("src/a.ts(3,5): error TS2304: Cannot find name 'x'.\nError: no test specified\n", 1),
            ("error: could not compile `shop` (lib) due to 1 previous error\n", 101),
            ("ImportError while loading conftest '/x/conftest.py'.\n", 4),
            ("Error: connect ECONNREFUSED 127.0.0.1:5432\n", 1),
            ("", 1),
        ] {
            assert_eq!(found(output, code), None, "{output}");
        }
        let stopped = Exit { code: -1, reason: Some(crate::record::ExitReason::Timeout) };
        let text = "Error: No tests found\n";
        let examined = examine(&Output { stdout: text, ..Output::default() });
        assert_eq!(nothing_to_run(stopped, [text, ""], &examined, &examined.tally()), None);
    }
}
