//! Which files are tests, and which decide what of them runs: by path.

use std::sync::LazyLock;

use regex::Regex;

const TEST_FILE: &str = r"(?x)
    (?:^|/)(?:tests?|testing|__tests__|specs?|e2e|integration[-_]?tests?|test_suite|testdata|cypress)/
  | (?:^|/)src/(?:test|androidTest|integrationTest|testFixtures)/
  | (?:^|/)(?:test_[^/]+|[^/]+_tests?|[^/]+_spec|[^/]+[.-](?:test|spec|e2e|cy|feature))
    \.(?:py|go|rb|ex|exs|dart|lua|c|cc|cpp|rs|js|jsx|ts|tsx|mjs|cjs|mts|cts|php|sh|bats|zig|hs|ml)$
  | (?:^|/)tests?\.(?:py|rs|js|ts|rb|sh)$
  | (?:^|/)[^/]+(?:Tests?|Spec|IT|TestCase)\.(?:java|kt|kts|scala|groovy|cs|fs|swift|php|hs|m|mm)$
  | (?:^|/)[^/]+\.(?:bats|t|feature)$
  | (?:^|/)conftest\.py$ ";

/// Documents and recorded outputs in the same folders.
const NO_TEST_FILE: &str = r"(?x)
    (?:^|/)specs/\d{3}-[^/]+/ | (?:^|/)\.specify/ | \.(?:md|mdx|txt)$
  | (?:^|/)tests?/(?:.*/)?README | (?:^|/)specs?/.*\.(?:ya?ml|json)$
  | (?:^|/)__snapshots__/ | \.snap(?:\.new)?$ | \.ambr$ | \.golden$ | \.(?:approved|verified)\.\w+$
  | (?:^|/)(?:goldens?|golden_files|snapshots?|cassettes)/ | \.(?:stdout|stderr)$ ";

static IS_TEST: LazyLock<[Regex; 2]> = LazyLock::new(|| [TEST_FILE, NO_TEST_FILE].map(pattern));

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
    let [is_test, is_none] = &*IS_TEST;
    is_test.is_match(path) && !is_none.is_match(path)
}

/// Returns true if the file says what the project consists of: a manifest or a lock file.
pub(super) fn is_manifest(path: &str) -> bool {
    IS_MANIFEST.is_match(path)
}
