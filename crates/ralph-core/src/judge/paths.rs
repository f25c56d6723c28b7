//! Which files are tests, and which decide what of them runs: by path.

use std::sync::LazyLock;

use regex::Regex;

const TEST_FOLDER: &str = r"(?x)
    (?:^|/)(?:tests?|testing|__tests__|specs?|e2e|integration[-_]?tests?|test_suite|testdata|cypress)/
  | (?:^|/)src/(?:test|androidTest|integrationTest|testFixtures)/ ";

const TEST_NAME: &str = r"(?x)
    (?:^|/)(?:test_[^/]+|[^/]+_tests?|[^/]+_spec|[^/]+[.-](?:test|spec|e2e|cy|feature))
    \.(?:py|go|rb|ex|exs|dart|lua|c|cc|cpp|rs|js|jsx|ts|tsx|mjs|cjs|mts|cts|php|sh|bats|zig|hs|ml)$
  | (?:^|/)tests?\.(?:py|rs|js|ts|rb|sh)$
  | (?:^|/)[^/]+(?:Tests?|Spec|IT|TestCase)\.(?:java|kt|kts|scala|groovy|cs|fs|swift|php|hs|m|mm)$
  | (?:^|/)[^/]+\.(?:bats|t|feature)$
  | (?:^|/)conftest\.py$ ";

/// Scripts that run the tests, and are none.
const TEST_SCRIPT: &str = r"(?:^|/)(?:(?:run|ci|check|all)[-_.]?)?tests?\.sh$";

/// Documents and recorded outputs in the same folders.
const NO_TEST_FILE: &str = r"(?x)
    (?:^|/)specs/\d{3}-[^/]+/ | (?:^|/)\.specify/ | \.(?:md|mdx|txt)$
  | (?:^|/)tests?/(?:.*/)?README | (?:^|/)specs?/.*\.(?:ya?ml|json)$
  | (?:^|/)__snapshots__/ | \.snap(?:\.new)?$ | \.ambr$ | \.golden$ | \.(?:approved|verified)\.\w+$
  | (?:^|/)(?:goldens?|golden_files|snapshots?|cassettes)/ | \.(?:stdout|stderr)$ ";

static IS_TEST: LazyLock<[Regex; 4]> =
    LazyLock::new(|| [TEST_FOLDER, TEST_NAME, TEST_SCRIPT, NO_TEST_FILE].map(pattern));

/// Recorded outputs that a runner of tests writes, and removes where no test has them any more.
const TEST_SNAPSHOT: &str = r"(?x)
    \.(?:snap(?:\.new|shot)?|pending-snap|ambr|golden|(?:approved|verified)\.\w+)$
  | (?:^|/)(?:__\w*snapshots__|snapshots?|[^/]+-snapshots|goldens?|golden_files|cassettes)/
    (?:.*/)?[^/]+\.(?:json|txt|ya?ml|html|xml|svg|png|raw|md|out)$ ";

static IS_TEST_SNAPSHOT: LazyLock<Regex> = LazyLock::new(|| pattern(TEST_SNAPSHOT));

/// Returns true if the file is a recorded output that a runner of tests removes by itself.
pub fn is_test_snapshot(path: &str) -> bool {
    IS_TEST_SNAPSHOT.is_match(path)
}

/// Returns a file without the blanks at the ends of its lines, of whatever kind these are, and without empty lines at its end.
/// After a backslash a blank says that the line does not go on: it stays.
pub fn without_trailing_blanks(bytes: &[u8]) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    for line in &mut lines {
        let trimmed = line.trim_ascii_end();
        if !trimmed.ends_with(b"\\") {
            *line = trimmed;
        }
    }
    let end = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
    lines[..end].join(&b'\n')
}

/// Files that a runner loads by itself, before the tests of others.
const SETUP: &str = r"(?x)(?:^|/)(?:
    conftest\.py | (?:site|user)customize\.py | __init__\.py | [^/]+\.pth
  | (?:(?:jest|vitest|mocha|cypress|playwright|test|tests|global|e2e|karma|ava|bun)[._-]?)?(?:setup|teardown|bootstrap)(?:[._-]?(?:tests?|files?|env|after[._-]?env|jest|vitest|common))?\.\w+
  | (?:test|tests|spec|rails|system)[._-]helper\.\w+ | cypress/support/\w+\.\w+ | support/(?:e2e|commands|index|env)\.\w+
  | Pest\.php | TestCase\.php | test_main\.\w+ | main_test\.go | common\.bash | __mocks__/.+ | \.env[.\w]*
  | \.(?:babelrc|swcrc|eslintrc|npmrc|mocharc|nycrc)[.\w]* | [\w.-]+\.(?:config|conf)\.\w+ | tsconfig[.\w-]*\.json | bunfig\.toml
  | [^/]*\.(?:ini|cfg) )$ ";

static IS_SETUP: LazyLock<Regex> = LazyLock::new(|| pattern(SETUP));

/// Returns true if a new file decides how the tests beside it run: set-up that a runner loads by itself, or configuration.
pub fn acts_on_other_tests(path: &str) -> bool {
    let is_data = ["/fixtures/", "/testdata/", "/__fixtures__/"].iter().any(|data| path.contains(data));
    !is_data && (IS_SETUP.is_match(path) || IS_CONFIG.is_match(path) || is_manifest(path))
}

/// Files that hold what belongs to a project, of which a validation is no part.
const MANIFEST: &str = r"(?x)(?:^|/)(?:
    package\.json | pyproject\.toml | setup\.(?:py|cfg) | Cargo\.toml | go\.(?:mod|sum) | Gemfile | composer\.json
  | pom\.xml | build\.gradle(?:\.kts)? | mix\.exs | requirements[^/]*\.txt | Pipfile | deno\.jsonc?
  | [^/]*[.-]lock(?:\.json|\.ya?ml)? | [^/]*\.lockb )$ ";

static IS_MANIFEST: LazyLock<Regex> = LazyLock::new(|| pattern(MANIFEST));

/// Compiles a pattern of ours.
pub(super) fn pattern(source: &str) -> Regex {
    Regex::new(source).expect("a valid expression")
}

/// Returns true if the file holds tests, or what only tests use.
pub fn is_test_file(path: &str) -> bool {
    let [in_folder, by_name, is_script, is_none] = &*IS_TEST;
    let is_test = in_folder.is_match(path) || by_name.is_match(path) && !is_script.is_match(path);
    is_test && !is_none.is_match(path)
}

/// Endings of systems, which Go reads in a name.
const GO_SYSTEM: &str = r"_(?:aix|android|darwin|dragonfly|freebsd|illumos|ios|js|linux|netbsd|openbsd|plan9|solaris|wasip1|windows|386|amd64|arm|arm64|loong64|mips\w*|ppc64\w*|riscv64|s390x|wasm)_test\.go$";

/// Returns true if a runner finds the file by its name, as most do.
pub(super) fn is_in_pattern(path: &str) -> bool {
    static IS_OF_SYSTEM: LazyLock<Regex> = LazyLock::new(|| pattern(GO_SYSTEM));
    let [_, by_name, is_script, _] = &*IS_TEST;
    by_name.is_match(path) && !is_script.is_match(path) && !IS_OF_SYSTEM.is_match(path)
}

/// Returns true if a script in a folder of tests runs others.
pub(super) fn runs_tests(path: &str) -> bool {
    static RUNS: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"(?:^|/)(?:run|all|check|ci|main|runner)(?:[-_.]?(?:all|tests?|e2e|unit))*\.(?:sh|bash)$")
    });
    RUNS.is_match(path)
}

/// Returns true if the language has its tests beside the code.
pub(super) fn has_inline_tests(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, extension)| extension == "rs")
}

/// Returns true if the file says what the project consists of: a manifest or a lock file.
pub fn is_manifest(path: &str) -> bool {
    IS_MANIFEST.is_match(path)
}

const CONFIG: &str = r"(?x)(?:^|/)(?:
    (?:jest|vitest|karma|playwright|cypress|ava|wdio|mocha|web-test-runner)[.\w-]*\.(?:config|conf|setup|workspace)\.\w+
  | (?:jest|vitest)\.(?:setup|workspace)\.\w+ | \.mocharc[.\w]* | \.?jasmine\.json | \.nycrc[.\w]* | \.c8rc[.\w]*
  | \.?pytest\.ini | tox\.ini | noxfile\.py | \.coveragerc | phpunit\.xml(?:\.dist)? | Pest\.php | \.rspec | \.busted
  | \.?pytest\.toml | \.taprc | (?:site|user)customize\.py | nextest\.toml | turbo\.json | nx\.json | lerna\.json | dart_test\.yaml | testng[\w-]*\.xml )$ ";

static IS_CONFIG: LazyLock<Regex> = LazyLock::new(|| pattern(CONFIG));

/// Files of which a part decides which tests run: the path, and what a line of that part has.
const CONFIG_PARTS: &[(&str, &str)] = &[
    (
        r"(?:^|/)package\.json$",
        r#"^\s*"(?:pre|post)?(?:test|check|ci|verify|validate)[\w:.-]*"\s*:\s*"|"(?:jest|mocha|ava|vitest|nyc|c8|tap)"\s*:\s*\{|"(?:passWithNoTests|testPathIgnorePatterns|testMatch|testRegex|coverageThreshold)""#,
    ),
    (
        r"(?:^|/)(?:pyproject\.toml|setup\.cfg)$",
        r"^\s*(?:\[tool[.:](?:pytest|coverage|tox|hatch\.envs\.test)|addopts|testpaths|norecursedirs|python_files|python_functions|python_classes|xfail_strict|fail_under)",
    ),
    (
        r"(?:^|/)Cargo\.toml$",
        r"^\s*(?:\[\[test\]\]|\[profile\.test|test\s*=\s*(?:true|false)|harness\s*=|doctest\s*=|autotests\s*=)",
    ),
    (
        r"(?:^|/)(?:(?:GNU)?[Mm]akefile|[^/]+\.mk|\.?[Jj]ustfile|Taskfile\.ya?ml|Rakefile)$",
        r"(?i)\b(?:tests?|check|pytest|jest|vitest|mocha|rspec|ctest|nextest|verify)\b",
    ),
    (
        r"(?:^|/)build\.gradle(?:\.kts)?$",
        r"(?i)\b(?:useJUnitPlatform|(?:include|exclude)Tags|ignoreFailures|tasks\.test|test\s*\{)",
    ),
    (r"(?:^|/)pom\.xml$", r"(?i)skipTests|maven\.test|testFailureIgnore|surefire|failsafe|excludedGroups"),
    (r"(?:^|/)vite\.config\.\w+$", r"\btest\s*:|\b(?:include|exclude|passWithNoTests)\b"),
    (r"(?:^|/)conftest\.py$", r"\bcollect_ignore|\bdef\s+pytest_\w|\bos\._exit\b"),
    (r"(?:^|/)\.npmrc$", r"^\s*(?:script-shell|node-options)\s*="),
    (r"(?:^|/)bunfig\.toml$", r"^\s*(?:preload\b|\[test\])"),
    (r"(?:^|/)(?:spec|rails|test)_helper\.(?:rb|exs)$", r"\bfilter_run|\bexclu|\bfail_if_no_examples\b"),
];

static IS_CONFIG_PART: LazyLock<Vec<[Regex; 2]>> =
    LazyLock::new(|| CONFIG_PARTS.iter().map(|(path, line)| [pattern(path), pattern(line)]).collect());

/// Returns true if the whole file decides which tests run.
pub(super) fn is_test_config(path: &str) -> bool {
    IS_CONFIG.is_match(path)
}

/// Returns what a line has that decides which tests run, if the file has such lines.
pub(super) fn config_line(path: &str) -> Option<&'static Regex> {
    IS_CONFIG_PART.iter().find(|[of, _]| of.is_match(path)).map(|[_, line]| line)
}

/// Returns true if a file that decides which tests run acts on others when it is new: not the manifest of a new part of the
/// project, nor what only looks like one.
pub(super) fn acts_when_new(path: &str) -> bool {
    static IS_OF_A_PART: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?x)(?:^|/)(?:package\.json|Cargo\.toml|[^/]+\.mk|[Mm]akefile|\.?[Jj]ustfile|Rakefile|build\.gradle[^/]*|pom\.xml)$
              | (?:^|/)(?:__)?(?:fixtures?|examples?|testdata)(?:__)?/",
        )
    });
    !IS_OF_A_PART.is_match(path)
}

/// Files that run when a project is opened, installed or merged: the path, what runs it, true if only a new one counts, and
/// what a changed line must have.
const BY_ITSELF: &[(&str, &str, bool, Option<&str>)] = &[
    (
        r"(?:^|/)(?:\.husky|\.githooks)/|(?:^|/)(?:\.?lefthook\.\w+|\.pre-commit-config\.ya?ml|\.overcommit\.yml|\.huskyrc[^/]*|\.?simple-git-hooks\.\w+)$",
        "git",
        false,
        None,
    ),
    (r"(?:^|/)\.gitattributes$", "git", false, Some(r"\b(?:filter|diff|merge)=")),
    (
        r"(?:^|/)(?:\.vscode/tasks\.json|\.zed/tasks\.json|\.exrc|\.nvim\.lua|\.nvimrc|\.dir-locals\.el|\.lldbinit|\.gdbinit)$",
        "editors",
        false,
        None,
    ),
    (
        r"(?:^|/)(?:\.claude/settings[^/]*\.json|\.(?:gemini|qwen|amp)/settings[^/]*\.json|\.codex/[^/]+\.(?:toml|json)|\.(?:cursor|windsurf|vscode)/(?:hooks|mcp)\.json|\.?opencode\.jsonc?|\.?mcp\.json|\.crush\.json|\.aider\.conf\.ya?ml)$|(?:^|/)(?:\.(?:claude|cursor|gemini|kiro|github)/hooks|\.opencode)/",
        "agents",
        false,
        None,
    ),
    (
        r"(?:^|/)(?:\.envrc(?:\.(?:local|private))?|\.?mise(?:\.[\w.]+)?\.toml|\.?mise/(?:config|conf\.d/[^/]+)(?:\.local)?\.toml)$",
        "the shell",
        false,
        None,
    ),
    (r"(?:^|/)(?:\.devcontainer/|\.devcontainer\.json$|\.gitpod\.yml$)", "containers", false, None),
    (r"(?:^|/)\.cargo/config(?:\.toml)?$", "cargo", false, None),
    (r"(?:^|/)build\.rs$", "cargo", true, None),
    (r"(?:^|/)binding\.gyp$", "npm", true, None),
    (r"(?:^|/)\.pnpmfile\.c?js$", "pnpm", false, None),
    (
        r"(?:^|/)package\.json$",
        "npm",
        false,
        Some(r#"^"(?:(?:pre|post)?(?:install|prepare)|prepublish)"\s*:\s*""#),
    ),
    (
        r"(?:^|/)composer\.json$",
        "composer",
        false,
        Some(r#"^"(?:pre|post)-(?:install|update|autoload-dump)(?:-cmd)?"\s*:"#),
    ),
];

type ByItself = (Regex, &'static str, bool, Option<Regex>);

static RUNS_BY_ITSELF: LazyLock<Vec<ByItself>> = LazyLock::new(|| {
    let rows =
        BY_ITSELF.iter().map(|(path, when, is_new, line)| (pattern(path), *when, *is_new, line.map(pattern)));
    rows.collect()
});

/// Returns what runs a file by itself, whether only a new one counts, and what a changed line of it must have.
pub(super) fn runs_by_itself(path: &str) -> Option<(&'static str, bool, Option<&'static Regex>)> {
    let (_, when, is_new, line) = RUNS_BY_ITSELF.iter().find(|(of, ..)| of.is_match(path))?;
    let is_foreign = ["node_modules/", "vendor/", "target/"].iter().any(|folder| path.starts_with(folder));
    (!is_foreign).then_some((*when, *is_new, line.as_ref()))
}

/// Returns true for a file that decides what runs: tests, CI, or what runs by itself.
pub fn decides_what_runs(path: &str) -> bool {
    let by_itself = runs_by_itself(path).is_some_and(|(_, is_new, line)| !is_new && line.is_none());
    is_test_config(path) || decides_ci(path) || by_itself
}

/// Returns true for a file that says what CI runs.
pub fn decides_ci(path: &str) -> bool {
    static DECIDES: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?x)^(?:\.(?:github|forgejo|gitea)/(?:workflows|actions)/ | \.(?:circleci|buildkite|teamcity|woodpecker|builds)/
              | \.?gitlab-ci[^/]*\.ya?ml$ | \.gitlab/ci/ | azure-pipelines[^/]*\.ya?ml$ | Jenkinsfile[^/]*$ | bitbucket-pipelines\.ya?ml$
              | (?:\.travis|\.drone|\.woodpecker|\.cirrus|\.?appveyor|cloudbuild|buildspec)\.ya?ml$)",
        )
    });
    DECIDES.is_match(path)
}

/// Returns true if the contents of a changed file may show what became of the tests, or what runs by itself.
pub fn is_worth_reading(path: &str) -> bool {
    is_test_file(path)
        || has_inline_tests(path)
        || is_test_config(path)
        || config_line(path).is_some()
        || runs_by_itself(path).is_some()
}

/// Returns true if tests may have moved to a new file at `path` from one of these, which are gone: where no runner looks.
pub fn may_have_moved(path: &str, gone: &[&str]) -> bool {
    let extension = |path: &str| path.rsplit('/').next()?.rsplit_once('.').map(|(_, end)| end.to_owned());
    extension(path).is_some_and(|end| {
        gone.iter().any(|gone| is_test_file(gone) && extension(gone).as_ref() == Some(&end))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_known_by_their_path() {
        for path in [
            "tests/login.py",
            "a/__tests__/b.tsx",
            "src/test/java/A.java",
            "test_a.py",
            "a_test.go",
            "b.spec.ts",
            "spec/a_spec.rb",
            "ATest.php",
            "x.bats",
            "conftest.py",
            "e2e/login.ts",
            "login_test.sh",
            "tests/run_tests.sh",
        ] {
            assert!(is_test_file(path) && is_worth_reading(path), "{path}");
        }
        for path in [
            "src/login.py",
            "specs/001-login/tasks.md",
            "tests/README.md",
            "spec/openapi.yaml",
            "a/__snapshots__/b.test.ts.snap",
            "latest.py",
            "contest/a.js",
            "tests/golden/a.json",
            "test.sh",
            "scripts/run_tests.sh",
        ] {
            assert!(!is_test_file(path), "{path}");
        }
    }

    #[test]
    fn files_of_ci_are_known_by_their_path() {
        for path in [
            ".github/workflows/ci.yml",
            ".github/actions/setup/action.yml",
            ".gitlab-ci.yml",
            ".gitlab/ci/test.yml",
            ".circleci/config.yml",
            "azure-pipelines.yml",
            "Jenkinsfile",
            ".travis.yml",
            "bitbucket-pipelines.yml",
            ".forgejo/workflows/test.yaml",
        ] {
            assert!(decides_ci(path), "{path}");
        }
        for path in [
            ".github/CODEOWNERS",
            "docs/.travis.yml",
            "src/workflows/ci.yml",
            "ci/notes.md",
            ".gitlab/issue.md",
        ] {
            assert!(!decides_ci(path), "{path}");
        }
    }

    #[test]
    fn files_that_decide_what_runs_are_known() {
        for path in
            ["jest.config.js", "web/vitest.config.mts", "pytest.ini", ".mocharc.json", ".config/nextest.toml"]
        {
            assert!(is_test_config(path), "{path}");
        }
        for (path, line, expected) in [
            ("package.json", r#"    "test:unit": "jest","#, true),
            ("package.json", r#"    "jest": "^29.0.0","#, false),
            ("pyproject.toml", "addopts = \"-k x\"", true),
            ("pyproject.toml", "name = \"x\"", false),
            ("Makefile", "test: build", true),
            ("Makefile", "latest:", false),
            ("conftest.py", "collect_ignore = [\"a.py\"]", true),
            ("conftest.py", "def client():", false),
        ] {
            assert_eq!(config_line(path).unwrap().is_match(line), expected, "{path} {line}");
        }
        for path in ["src/main.py", "package-lock.json", "README.md"] {
            assert!(!is_worth_reading(path), "{path}");
        }
    }
}
