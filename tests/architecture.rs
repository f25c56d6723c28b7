//! What the compiler does not keep: which crate may depend on which, that texts name the program as it was called, and
//! that no file names a package registry.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::sandbox::sound::files;

fn manifest() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Our crates. Each depends on crates before it alone.
const ORDER: &[&str] = &[
    "tasklist",
    "failure-excerpt",
    "redact-stream",
    "ralph_core",
    "ralph_os",
    "ralph_project",
    "ralph_git",
    "ralph_store",
    "ralph_agent",
    "ralph_engine",
    "ralph_ui",
];

/// Crates that could be had without crates before them in the order, and are: no word of this program is in the first
/// three, an agent knows no record, and what is shown knows no loop.
const APART: &[(&str, &[&str])] = &[
    ("failure-excerpt", &["tasklist"]),
    ("redact-stream", &["tasklist", "failure-excerpt"]),
    ("ralph_agent", &["ralph_git", "ralph_store"]),
    ("ralph_ui", &["ralph_engine"]),
];

#[test]
fn crates_depend_only_on_those_before_them() {
    for (place, name) in ORDER.iter().enumerate() {
        let path = manifest().join("crates").join(name.replace('_', "-")).join("Cargo.toml");
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let start = text.find("[dependencies]").expect("a crate has dependencies");
        let end = text[start..].find("\n\n").map_or(text.len(), |end| start + end);
        let apart = APART.iter().find(|(of, _)| of == name).map_or(&[][..], |(_, apart)| apart);
        for other in ORDER {
            let is_used = text[start..end].lines().any(|line| line.starts_with(&format!("{other}.")));
            let is_allowed = ORDER[..place].contains(other) && !apart.contains(other);
            assert!(is_allowed || !is_used, "{name} depends on {other}");
        }
    }
    let crates = fs::read_dir(manifest().join("crates")).unwrap().count();
    assert_eq!(crates, ORDER.len(), "a crate is in no order");
}

/// The sources below folders, with their paths from the top.
fn sources(folders: &[&str]) -> Vec<(String, String)> {
    let found = folders.iter().flat_map(|folder| files(&manifest().join(folder)));
    let is_rust = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "rs");
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("sources are text");
        (path.strip_prefix(manifest()).expect("it was found there").display().to_string(), text)
    };
    found.filter(is_rust).map(read).collect()
}

#[test]
fn every_source_says_what_it_is_for() {
    for (path, text) in sources(&["src", "tests", "crates"]) {
        let is_part = is_test(&path) && !text.starts_with("//!");
        let is_described = text.starts_with("//! ") || text.starts_with("#![doc = include_str!(");
        assert!(is_part || is_described, "{path} begins without a sentence");
    }
}

/// Files that may open files by path, and what these files are. All files of the project go through `project_files/` of
/// ralph-project.
const OPENERS: &[(&str, &str)] = &[
    ("crates/ralph-agent/src/lines.rs", "streams in the spool"),
    ("crates/ralph-agent/src/launch.rs", "streams and prompts in the spool"),
    ("crates/ralph-agent/src/script.rs", "what a scripted agent does, as an agent"),
    ("src/cli/start/approvals.rs", "approvals in the folder of the user's state"),
    ("src/cli/read/bisect.rs", "streams of a checkout of our own"),
    ("src/cli/start/demo.rs", "a project that is made for the demo"),
    ("src/cli/read/excerpt.rs", "files that the user names"),
    ("src/cli/share/hooks.rs", "hooks in the git directory"),
    ("src/cli/start/lane.rs", "lanes, which are ours"),
    ("src/cli/man.rs", "a folder that the user names"),
    ("src/cli/start/shim.rs", "links to this program"),
    ("src/cli/read/report_file.rs", "a file that the user names"),
    ("crates/ralph-os/src/process/", "streams in the spool, and /proc"),
    ("crates/ralph-os/src/platform/", "what the callers of its functions are allowed to open"),
    (
        "crates/ralph-os/src/sandbox/",
        "the private home folder of a sandbox, and what an agent gets copies of",
    ),
    ("crates/ralph-os/src/terminal", "the terminal of this process"),
    ("crates/ralph-project/src/project_files/open_windows.rs", "what was resolved inside of the project"),
    ("crates/ralph-engine/src/ask.rs", "questions in the spool"),
    ("crates/ralph-engine/src/clean/", "clean checkouts, which are ours, and the user's `lanes.copy`"),
    ("crates/ralph-engine/src/commits/", "messages and traces in the spool"),
    ("crates/ralph-engine/src/lane_dependencies.rs", "streams in the spool"),
    ("crates/ralph-engine/src/recover.rs", "the spool"),
    ("crates/ralph-store/src/", "the git directory"),
    ("crates/ralph-git/src/worktree/", "the private index, and checkouts of our own"),
];

/// Ways to open a file by its path.
const OPENING: &[&str] = &[
    "fs::read(",
    "fs::read_to_string(",
    "fs::read_dir(",
    "fs::write(",
    "fs::copy(",
    "fs::rename(",
    "fs::remove_file(",
    "fs::remove_dir_all(",
    "File::open(",
    "File::create(",
    "File::create_new(",
    "File::options(",
    "OpenOptions::new(",
    "DirBuilder::new(",
];

#[test]
fn files_of_the_project_are_opened_in_one_place_alone() {
    let sources = sources(&["src", "crates"]);
    let opens = |text: &str| OPENING.iter().find(|way| code(text).contains(**way)).copied();
    let is_product = |path: &str| path.contains("src/") && !is_test(path);
    for (path, text) in sources.iter().filter(|(path, _)| is_product(path)) {
        let is_allowed = OPENERS.iter().any(|(place, _)| path.starts_with(place));
        assert!(is_allowed || opens(text).is_none(), "{path}: {:?}, not by project_files", opens(text));
    }
    for (place, _) in OPENERS {
        let mut inside = sources.iter().filter(|(path, _)| path.starts_with(place));
        assert!(inside.any(|(_, text)| opens(text).is_some()), "{place} opens nothing any more");
    }
}

/// A source without its own tests, comments and blank lines. Tests may do more.
fn code(text: &str) -> String {
    let mut lines =
        text.lines().filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with("//"));
    let mut code = Vec::new();
    while let Some(line) = lines.next() {
        let Some(indent) = line.strip_suffix("#[cfg(test)]") else {
            code.push(line);
            continue;
        };
        let item = lines.find(|line| !line.trim_start().starts_with("#[")).expect("an item follows");
        if !item.ends_with([';', '}']) {
            lines.find(|line| line.strip_prefix(indent).is_some_and(|rest| rest.starts_with('}')));
        }
    }
    code.join("\n")
}

/// Files that are tests as a whole.
fn is_test(path: &str) -> bool {
    path.ends_with("tests.rs") || path.ends_with("samples.rs")
}

#[test]
fn every_scene_is_in_the_suite() {
    let main = fs::read_to_string(manifest().join("tests/main.rs")).unwrap();
    let listed: BTreeSet<&str> =
        main.lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';')).collect();
    let entries = fs::read_dir(manifest().join("tests")).unwrap().flatten().map(|entry| entry.path());
    for path in entries.filter(|path| path.extension().is_some_and(|extension| extension == "rs")) {
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(name == "main" || listed.contains(name), "tests/{name}.rs is in no suite");
    }
}

/// The hosts of package registries, each in two parts, so that this file has none of them.
const REGISTRIES: &[(&str, &str)] = &[
    ("npmjs", "org"),
    ("npmjs", "com"),
    ("npm.pkg.github", "com"),
    ("yarnpkg", "com"),
    ("jsr", "io"),
    ("unpkg", "com"),
    ("jsdelivr", "net"),
    ("crates", "io"),
    ("pypi", "org"),
    ("pypi.python", "org"),
    ("pythonhosted", "org"),
    ("anaconda", "org"),
    ("proxy.golang", "org"),
    ("sum.golang", "org"),
    ("pkg.go", "dev"),
    ("rubygems", "org"),
    ("repo.maven.apache", "org"),
    ("maven", "org"),
    ("maven.google", "com"),
    ("plugins.gradle", "org"),
    ("services.gradle", "org"),
    ("packagist", "org"),
    ("nuget", "org"),
    ("hex", "pm"),
    ("pub", "dev"),
    ("cpan", "org"),
    ("hackage.haskell", "org"),
    ("cocoapods", "org"),
    ("docker", "io"),
    ("ghcr", "io"),
    ("gcr", "io"),
    ("quay", "io"),
    ("debian", "org"),
    ("archive.ubuntu", "com"),
    ("security.ubuntu", "com"),
    ("alpinelinux", "org"),
];

/// A machine may reach its packages through another host alone, or none; and a search for calls of a registry finds
/// those that are meant.
#[test]
fn no_file_names_the_host_of_a_package_registry() {
    let hosts: Vec<_> =
        REGISTRIES.iter().map(|(name, top)| regex::escape(&format!("{name}.{top}"))).collect();
    let host = regex::bytes::Regex::new(&format!("(?i)\\b(?:{})\\b", hosts.join("|"))).unwrap();
    let ignored = fs::read_to_string(manifest().join(".gitignore")).unwrap();
    let is_ours = |path: &Path| {
        let is_in = |folder: &str| path.starts_with(manifest().join(folder.trim_matches('/')));
        // Cargo writes lock files.
        path.file_name().is_none_or(|name| name != "Cargo.lock")
            && !ignored.lines().chain([".git"]).any(is_in)
    };
    let entries = fs::read_dir(manifest()).unwrap().map(|entry| entry.unwrap().path());
    let found = entries
        .filter(|path| is_ours(path))
        .flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] });
    let mut count = 0;
    let named = found.filter(|path| is_ours(path) && path.is_file()).filter_map(|path| {
        count += 1;
        let bytes = fs::read(&path).unwrap();
        let name = host.find(&bytes)?;
        Some(format!("{}: {}", path.display(), String::from_utf8_lossy(name.as_bytes())))
    });
    let named: Vec<_> = named.collect();
    assert!(count > 500, "only {count} files were found");
    assert!(
        named.is_empty(),
        "write `registry.example.com`, or take it from the environment:\n{}",
        named.join("\n")
    );
    for (text, is_named) in [
        (format!("https://registry.{}.{}/left-pad", "npmjs", "org"), true),
        (format!("//index.{}.{}/", "crates", "io"), true),
        (format!("registry+https://{}.{}-index", "Crates", "IO"), true),
        ("https://registry.example.com/left-pad".to_owned(), false),
        (format!("the {}.{}n file of our crates", "crates", "io"), false),
    ] {
        assert_eq!(host.is_match(text.as_bytes()), is_named, "{text}");
    }
}

/// Where `specify ralph` is a name that stays, however the program is called: a file, and what the line has.
const CANONICAL_NAMES: &[(&str, &str)] = &[
    // Examples: the grammar puts the command in.
    ("src/cli/help.rs", "  specify ralph"),
    ("src/cli/help.rs", " specify ralph"),
    ("src/cli/help.rs", "`specify ralph config --all` shows them"),
    // What a shell calls it by.
    ("src/cli/help.rs", "for `specify ralph`, to one named"),
    ("src/cli/help.rs", "this one for `specify ralph`"),
    ("src/cli/start/shim.rs", "links to this program"),
    ("src/cli/read/report_file.rs", "made_by"),
    // A file that people commit.
    ("crates/ralph-core/src/config/sample.rs", "# Settings of"),
    ("crates/ralph-core/src/config/sample.rs", "lists every setting"),
    // What marks our block in a hook.
    ("src/hooks.rs", "const BEGIN"),
    ("src/hooks.rs", "const END"),
    ("crates/ralph-core/src/record/own_command.rs", "pub const CANONICAL"),
    ("crates/ralph-store/src/objects.rs", "pub const COMMITTER"),
    ("crates/ralph-ui/src/report/markdown.rs", "pub const MARKDOWN"),
    ("crates/ralph-ui/src/report/mod.rs", "const MADE_BY"),
    ("src/cli/start/shim.rs", "is this program"),
    ("crates/ralph-git/src/worktree/lane.rs", "_NAME"),
];

#[test]
fn texts_name_the_program_as_it_was_called() {
    for (path, text) in sources(&["src", "crates"]) {
        let code = code(&text);
        for line in code.lines().filter(|line| line.contains("specify ralph") && !is_test(&path)) {
            let is_meant = |(file, part): &(&str, &str)| path == *file && line.contains(part);
            assert!(CANONICAL_NAMES.iter().any(is_meant), "{path}: write {{RALPH}} of `record`: {line}");
        }
        // In a text that nothing formats it would be printed as it stands.
        let named = ["{RALPH}", "{RALPH:", "{RALPH_ELSEWHERE}"].map(|name| code.match_indices(name));
        for (at, _) in named.into_iter().flatten() {
            let literal = literal_start(&code, at);
            let before = code[..literal].trim_end().trim_end_matches("\\\n").trim_end();
            let call = before.rfind("!(").map_or("", |call| &before[call..]);
            let is_formatted = call == "!(" || call.ends_with(',') && !call.contains(['"', ';']);
            assert!(is_formatted, "{path}: not formatted: {}", &code[literal..at]);
        }
    }
}

/// Where the text begins that `at` is in.
fn literal_start(code: &str, at: usize) -> usize {
    let is_escaped = |quote: usize| code[..quote].ends_with('\\') && !code[..quote].ends_with("\\\\");
    let mut quotes = code[..at].rmatch_indices('"').map(|(quote, _)| quote);
    quotes.find(|quote| !is_escaped(*quote)).expect("a text begins")
}
