//! What an attempt changed where no snapshot looks: which ignored files can be work, and what calls wrote elsewhere. Pure.

use std::sync::LazyLock;

use regex::Regex;

use super::paths::{acts_on_other_tests, is_test_file, pattern};
use crate::record::{ToolCall, ToolKind, join_truncated};

/// Maximum number of names in a text.
const MAX_NAMES: usize = 3;

/// Where agents put notes and outputs for a moment, whatever `TMPDIR` says.
const SCRATCH_FOLDERS: [&str; 3] = ["/tmp", "/private/tmp", "/var/tmp"];

/// Folders and files that tools make beside the work: dependencies, caches, results of builds and test runs, logs, and what
/// agents keep of their own.
const BY_TOOLS: &str = r"(?xi)(?:^|/)(?:
    \.git | node_modules | bower_components | vendor | \.?venv | virtualenv | site-packages | \.bundle | Pods | Carthage
  | \.yarn | \.pnp\.[\w.]+ | \.pnpm-store | \.npm | \.eggs | [^/]+\.egg-info | \.stack-work | elm-stuff | deps
  | __pycache__ | [^/]*[._-]?cache | \.cache[\w.-]* | \.tox | \.nox | \.hypothesis | \.ipynb_checkpoints | \.terraform
  | \.(?:eslint|stylelint|prettier)cache | [^/]+\.tsbuildinfo | \.sass-cache | \.phpunit[\w.]* | \.rspec_status | \.swc
  | target | dist | dist-newstyle | build | _build | \.build | out | bin | obj | lib64 | cmake-build-[^/]+ | DerivedData
  | \.gradle | \.kotlin | \.next | \.nuxt | \.output | \.svelte-kit | \.angular | \.astro | \.docusaurus | \.expo
  | \.turbo | \.nx | \.vite | \.parcel-cache | \.dart_tool | \.zig-cache | zig-(?:cache|out) | \.serverless | \.aws-sam
  | coverage | htmlcov | \.nyc_output | \.coverage[\w.-]* | coverage[\w-]*\.(?:xml|json|lcov|out|info) | lcov\.info
  | [^/]+\.(?:gcda|gcno|profraw|profdata|lcov) | test-results | test-reports? | playwright-report | blob-report | junit[^/]*\.xml
  | logs? | [^/]+\.log(?:\.\d+)? | nohup\.out | te?mp | [^/]+\.(?:tmp|temp|swp|swo|pid|lock|bak|orig) | [^/]*~ | \#[^/]*\#
  | [^/]+\.(?:pyc|pyo|class|o|obj|a|so|dylib|dll|exe|d|rmeta|rlib) | \.DS_Store | Thumbs\.db
  | \.specify | \.idea | \.vscode | \.direnv | \.devenv | \.history
  | \.(?:claude|codex|gemini|qwen|opencode|kilocode|cursor|aider[^/]*|copilot|crush|goose|amp|cline|roo|continue|windsurf)
)(?:/|$)";

static IS_BY_TOOLS: LazyLock<Regex> = LazyLock::new(|| pattern(BY_TOOLS));

/// Returns true if an ignored file or folder at this path is none of an attempt's work.
pub fn is_made_by_tools(path: &str) -> bool {
    IS_BY_TOOLS.is_match(path)
}

/// What a program is made of, and what is generated of it.
const CODE: &str = r"(?xi)\.(?:py|pyi|pth|[cm]?[jt]sx?|rb|go|rs|java|kts?|scala|groovy|php|c|cc|cpp|h|hpp|cs|fs|swift|mm?|sh|bash|zsh|fish
  | ps1|bat|cmd|pl|pm|lua|exs?|erl|hs|ml|clj|dart|zig|r|jl|vue|svelte|bats|mk)$ | (?:^|/)(?:makefile|justfile|rakefile|gemfile)$";

static IS_CODE: LazyLock<Regex> = LazyLock::new(|| pattern(CODE));

/// Returns true for what a program is made of, by its name.
pub(super) fn is_code(path: &str) -> bool {
    IS_CODE.is_match(path)
}

/// Returns true if an ignored file is code, a test, a script or what decides how tests run, and none that is generated. `is_script` is
/// set for one that begins as a script, whatever it is called.
pub fn is_hidden_code(path: &str, is_script: bool) -> bool {
    static IS_GENERATED: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?x)(?:^|/)(?:\.?generated|__generated__)/ | (?:^|/)(?:package-lock|npm-shrinkwrap)\.json$
              | \.d\.[cm]?ts$ | [._](?:gen|generated|pb|g|freezed|min)\.\w+$ | _pb2(?:_grpc)?\.pyi?$ | (?:^|/)_version\.py$
              # of Autotools
              | (?:^|/)(?:configure | libtool | depcomp | missing | compile | install-sh | test-driver | ylwrap)$",
        )
    });
    let is_generated = IS_GENERATED.is_match(path);
    let is_secret = path.rsplit('/').next().is_some_and(|name| name.starts_with(".env"));
    let is_code = || is_script || is_code(path) || is_test_file(path) || acts_on_other_tests(path);
    !is_generated && !is_secret && is_code()
}

/// Returns a path without numbers and hashes in it: tools that name their files anew each time make files of one kind.
pub fn without_numbers(path: &str) -> String {
    static NUMBERS: LazyLock<Regex> = LazyLock::new(|| pattern(r"[0-9a-fA-F]{8,}|\d+"));
    NUMBERS.replace_all(path, "#").into_owned()
}

/// Returns in words what an attempt changed that no snapshot shows, and the paths, by the first kind that there is; `None` if there is
/// nothing. The kinds are files that git ignores or that no snapshot takes, submodules, folders without a file, and files outside of
/// the repository.
pub fn unseen_words(
    [files, submodules, folders, outside]: [Vec<String>; 4],
) -> Option<(String, Vec<String>)> {
    let names = |paths: &[String]| join_truncated(paths, MAX_NAMES);
    if !files.is_empty() {
        Some((format!("changed only what git does not keep: {}", names(&files)), files))
    } else if !submodules.is_empty() {
        let word = if submodules.len() == 1 { "submodule" } else { "submodules" };
        Some((format!("changed the {word} {}", names(&submodules)), submodules))
    } else if !folders.is_empty() {
        let keeps = if folders.len() == 1 { "it" } else { "them" };
        let names = names(&folders);
        Some((format!("made folders that git cannot keep: {names} (a .gitkeep keeps {keeps})"), folders))
    } else if !outside.is_empty() {
        Some((format!("changed only what is outside of the repository: {}", names(&outside)), outside))
    } else {
        None
    }
}

/// Returns the paths outside of `top` that calls say they wrote, absolute. `home` is the user's home folder.
pub fn written_outside(calls: &[ToolCall], top: &str, home: Option<&str>) -> Vec<String> {
    let mut found = Vec::new();
    for call in calls.iter().filter(|call| !call.is_error) {
        let words: Vec<String> = match call.kind {
            ToolKind::Write | ToolKind::Edit => vec![call.arguments_summary.clone()],
            ToolKind::Shell => targets(&call.arguments_summary),
            ToolKind::Read | ToolKind::Other | ToolKind::Later(_) => continue,
        };
        for word in words {
            let path = match (word.strip_prefix("~/").or_else(|| word.strip_prefix("$HOME/")), home) {
                (Some(rest), Some(home)) => format!("{home}/{rest}"),
                _ => word,
            };
            let is_inside =
                path.strip_prefix(top).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
            let is_device = ["/dev/", "/proc/", "/sys/"].iter().any(|system| path.starts_with(system));
            let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
            let is_work = !is_inside && !is_device && !SCRATCH_FOLDERS.contains(&parent);
            if path.starts_with('/') && is_work && !found.contains(&path) {
                found.push(path);
            }
        }
    }
    found
}

/// Returns the words of a command line that it writes to: what `>` names, and what programs that only write are given.
fn targets(command: &str) -> Vec<String> {
    static REDIRECTED: LazyLock<Regex> =
        LazyLock::new(|| pattern(r#"(?:^|[^<0-9&>-])\d?>>?\|?\s*["']?([~/$][^\s"';|&)]+)"#));
    static WRITERS: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"(?:^|[;&|(]\s*|\bsudo\s+)(tee|touch|mkdir|cp|mv|ln|install|rsync)\s+([^;&|]+)")
    });
    let mut found: Vec<String> = REDIRECTED.captures_iter(command).map(|it| it[1].to_owned()).collect();
    for writer in WRITERS.captures_iter(command) {
        let words = writer[2].split_whitespace().map(|word| word.trim_matches(['"', '\'']));
        let words: Vec<&str> = words.filter(|word| !word.starts_with(['-', '>'])).collect();
        let is_last_alone = !matches!(&writer[1], "tee" | "touch" | "mkdir");
        let skipped = if is_last_alone { words.len().saturating_sub(1) } else { 0 };
        found.extend(words.into_iter().skip(skipped).map(str::to_owned));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tools_make_beside_the_work_is_no_work() {
        for path in [
            "node_modules/.cache/x",
            "app/node_modules",
            ".pytest_cache/v/cache/lastfailed",
            "coverage/lcov.info",
            "target/debug/app",
            "a/__pycache__/b.pyc",
            ".venv/bin/python",
            "dist/app.js",
            ".next/server/x",
            "log",
            "logs/run",
            "npm-debug.log",
            ".eslintcache",
            "tsconfig.tsbuildinfo",
            ".coverage",
            ".aider.chat.history.md",
            ".claude/settings.local.json",
            "test-results/run-1/trace.zip",
            ".mypy_cache/x",
            ".specify/feature.json",
            "build/main.o",
            ".DS_Store",
            ".git/x",
        ] {
            assert!(is_made_by_tools(path), "{path}");
        }
        for path in [
            ".env",
            "config/.env.local",
            "gen/api.ts",
            "generated/client/a.py",
            "fixtures.db",
            "data/dev.sqlite3",
            "secrets.json",
            "app/local_settings.py",
            "certs/dev.pem",
            "builder/a",
            "outline.txt",
            "src/distance.rs",
            "public/uploads/a.png",
            "catalog/x",
            "targets.txt",
            "environment",
            "env/dev.yaml",
        ] {
            assert!(!is_made_by_tools(path), "{path}");
        }
    }

    #[test]
    fn ignored_code_is_what_a_program_or_its_tests_are_made_of() {
        for (path, expected) in [
            ("conftest.py", true),
            ("tests/helper.js", true),
            ("src/login.rs", true),
            ("scripts/run.sh", true),
            ("jest.config.json", true),
            ("Makefile", true),
            (".env", false),
            (".env.local", false),
            ("data/dev.sqlite3", false),
            ("notes.txt", false),
            ("src/generated/client.ts", false),
            ("next-env.d.ts", false),
            ("src/schema.gen.ts", false),
            ("api/user.pb.go", false),
            ("api/user_pb2.py", false),
            ("pkg/_version.py", false),
            ("src/gen.ts", true),
            ("config/local.toml", false),
        ] {
            assert_eq!(is_hidden_code(path, false), expected, "{path}");
        }
        for (path, expected) in
            [("local/runner", true), ("tools/check", true), ("configure", false), ("lib/libtool", false)]
        {
            assert_eq!(is_hidden_code(path, true), expected, "{path}");
            assert!(!is_hidden_code(path, false), "{path}");
        }
    }

    #[test]
    fn files_that_are_named_anew_each_time_are_of_one_kind() {
        for (path, expected) in [
            ("reports/run-12/a.xml", "reports/run-#/a.xml"),
            ("out/0a1b2c3d4e.json", "out/#.json"),
            (".env", ".env"),
            ("data/feed.txt", "data/feed.txt"),
        ] {
            assert_eq!(without_numbers(path), expected);
        }
    }

    fn call(kind: ToolKind, arguments: &str) -> ToolCall {
        ToolCall {
            tool_name: "tool".to_owned(),
            kind,
            arguments_summary: arguments.to_owned(),
            result_summary: String::new(),
            is_error: false,
            is_denied: false,
            at_ms: None,
            end_ms: None,
            exit_code: None,
            last_line: String::new(),
        }
    }

    #[test]
    fn a_path_outside_counts_where_a_call_says_that_it_wrote_it() {
        for (kind, arguments, expected) in [
            (ToolKind::Write, "/home/ada/.config/app.toml", "/home/ada/.config/app.toml"),
            (ToolKind::Edit, "~/.bashrc", "/home/ada/.bashrc"),
            (ToolKind::Write, "/p/src/a.rs", ""),
            (ToolKind::Write, "src/a.rs", ""),
            (ToolKind::Write, "/project/a", "/project/a"),
            (ToolKind::Read, "/etc/hosts", ""),
            (ToolKind::Shell, "echo x > /etc/app.conf", "/etc/app.conf"),
            (ToolKind::Shell, "echo x >> ~/.profile && npm test 2>/dev/null", "/home/ada/.profile"),
            (ToolKind::Shell, "cp /etc/a /opt/b", "/opt/b"),
            (ToolKind::Shell, "mkdir -p /opt/x /opt/y", "/opt/x /opt/y"),
            (ToolKind::Shell, "echo y | sudo tee /etc/z", "/etc/z"),
            (ToolKind::Shell, "cat /var/log/syslog", ""),
            (ToolKind::Shell, "npm test > /p/out.txt", ""),
            (ToolKind::Shell, "sort < /etc/hosts", ""),
            (ToolKind::Shell, "npm test > /tmp/out.txt; echo y > /tmp/app/y", "/tmp/app/y"),
            (ToolKind::Write, "/private/tmp/notes.md", ""),
        ] {
            let found = written_outside(&[call(kind, arguments)], "/p", Some("/home/ada"));
            assert_eq!(found.join(" "), expected, "{arguments}");
        }
        let failed = ToolCall { is_error: true, ..call(ToolKind::Write, "/etc/x") };
        assert_eq!(written_outside(&[failed], "/p", None), Vec::<String>::new());
    }

    #[test]
    fn unseen_changes_are_said_by_the_first_kind_that_there_is() {
        let some = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        for ([files, submodules, folders, outside], expected) in [
            ([&[][..], &[], &[], &[]], None),
            ([&[".env"], &[], &["a"], &[]], Some("changed only what git does not keep: .env")),
            ([&[], &["vendor/x"], &["a"], &[]], Some("changed the submodule vendor/x")),
            (
                [&[], &[], &["src/models"], &[]],
                Some("made folders that git cannot keep: src/models (a .gitkeep keeps it)"),
            ),
            (
                [&[], &[], &["a", "b"], &[]],
                Some("made folders that git cannot keep: a, b (a .gitkeep keeps them)"),
            ),
            ([&[], &[], &[], &["/etc/x"]], Some("changed only what is outside of the repository: /etc/x")),
        ] {
            let found = unseen_words([files, submodules, folders, outside].map(some));
            assert_eq!(found.map(|(text, _)| text).as_deref(), expected);
        }
    }
}
