//! The plan of the house: which room may name which, which file may name which crate, and what the crates of ours may not.

mod circles;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

use crate::sandbox::sound::files;

/// Each room, and the rooms that it may name.
const ROOMS: &[(&str, &[&str])] = &[
    ("agent", &["clock", "process", "project_files", "record"]),
    (
        "cli",
        &[
            "agent",
            "clock",
            "config",
            "feature",
            "history",
            "hooks",
            "process",
            "progress",
            "project_files",
            "prompt",
            "record",
            "repository",
            "session",
            "store",
            "summary",
            "tasks",
            "view",
            "worktree",
        ],
    ),
    ("clock", &["record"]),
    ("config", &["record"]),
    ("feature", &["project_files", "record"]),
    ("history", &["record"]),
    ("hooks", &[]),
    ("judge", &["record"]),
    ("process", &["record"]),
    ("progress", &["history", "record"]),
    ("project_files", &["record"]),
    ("prompt", &["project_files", "record"]),
    ("record", &[]),
    ("repository", &["process", "project_files", "record"]),
    (
        "session",
        &[
            "agent",
            "clock",
            "config",
            "feature",
            "history",
            "judge",
            "process",
            "progress",
            "project_files",
            "prompt",
            "record",
            "repository",
            "store",
            "summary",
            "tasks",
            "validate",
            "worktree",
        ],
    ),
    ("store", &["process", "project_files", "record", "repository", "worktree"]),
    ("summary", &["history", "record"]),
    ("tasks", &["project_files", "record"]),
    ("validate", &["clock", "process", "record"]),
    ("view", &["history", "progress", "record", "store", "summary", "tasks"]),
    ("worktree", &["process", "project_files", "record", "repository"]),
];

/// Files that may open files by path, and what these files are. All files of the project go through `project_files/`.
const OPENERS: &[(&str, &str)] = &[
    ("agent/lines.rs", "streams in the spool"),
    ("agent/launch.rs", "streams and prompts in the spool"),
    ("agent/script.rs", "what a scripted agent does, as an agent"),
    ("cli/approvals.rs", "approvals in the folder of the user's state"),
    ("cli/bisect.rs", "streams of a checkout of our own"),
    ("cli/demo.rs", "a project that is made for the demo"),
    ("cli/excerpt.rs", "files that the user names"),
    ("cli/hooks.rs", "hooks in the git directory"),
    ("cli/man.rs", "a folder that the user names"),
    ("cli/report_file.rs", "a file that the user names"),
    ("process/", "streams in the spool, and /proc"),
    ("session/ask.rs", "questions in the spool"),
    ("session/commits/", "messages and traces in the spool"),
    ("session/recover.rs", "the spool"),
    ("store/", "the git directory"),
    ("worktree/", "the private index, and checkouts of our own"),
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

/// Crates that only some files may name.
const CRATES: &[(&str, &[&str])] = &[
    ("base64", &["view/report/environment.rs"]),
    ("clap", &["cli/"]),
    ("clap_complete", &["cli/"]),
    ("clap_mangen", &["cli/man.rs"]),
    ("crossterm", &["view/tui/"]),
    ("duct", &["process/"]),
    (
        "failure_excerpt",
        &[
            "agent/stream/command_result.rs",
            "cli/excerpt.rs",
            "judge/",
            "progress/",
            "record/",
            "session/",
            "store/local/passed.rs",
            "store/samples.rs",
            "view/evidence.rs",
            "view/show.rs",
        ],
    ),
    ("getrandom", &["store/local/identity.rs"]),
    ("gix", &["repository.rs", "store/"]),
    ("http_body_util", &["cli/web_server.rs"]),
    ("hyper", &["cli/web.rs", "cli/web_server.rs"]),
    ("jiff", &["agent/stream/reset_time.rs", "view/local_time.rs"]),
    ("indicatif", &["view/live/frame.rs", "view/live/spinner.rs"]),
    ("minijinja", &["prompt/", "view/report/"]),
    ("pulldown_cmark", &["view/markdown.rs", "view/report/rich.rs"]),
    ("ratatui", &["view/tui/"]),
    ("redact_stream", &["agent/", "cli/", "record/", "session/", "store/"]),
    (
        "rustix",
        &[
            "agent/programs.rs",
            "process/",
            "project_files/",
            "store/local/disk.rs",
            "store/local/lock.rs",
            "view/live/frame.rs",
        ],
    ),
    ("sha2", &["agent/question.rs", "cli/approvals.rs", "store/", "view/report/environment.rs"]),
    ("signal_hook", &["process/"]),
    (
        "tasklist",
        &[
            "cli/report.rs",
            "cli/summary.rs",
            "judge/",
            "session/",
            "summary/",
            "tasks/",
            "view/report/",
            "view/tasks.rs",
            "view/tui/contents/dashboard.rs",
            "view/tui/contents/tasks.rs",
        ],
    ),
    ("similar", &["view/changed_lines.rs"]),
    ("strsim", &["record/did_you_mean.rs"]),
    ("tokio", &["cli/web_server.rs"]),
    ("toml", &["agent/script.rs", "config/"]),
    ("unicode_width", &["view/style.rs"]),
];

fn manifest() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folders with the sources of our crates.
fn roots() -> Vec<String> {
    let crates = fs::read_dir(manifest().join("crates")).into_iter().flatten().flatten();
    let names = crates.map(|entry| entry.file_name().into_string().expect("crates have plain names"));
    let mut roots: Vec<_> = names.map(|name| format!("crates/{name}/src")).collect();
    roots.sort();
    roots.insert(0, "src".to_owned());
    roots
}

/// The sources below a folder, with their path in it.
fn sources(folder: &str) -> Vec<(String, String)> {
    let root = manifest().join(folder);
    let is_rust = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "rs");
    let found: Vec<_> = files(&root)
        .into_iter()
        .filter(is_rust)
        .map(|path| {
            let text = fs::read_to_string(&path).expect("sources are text");
            let path = path.strip_prefix(&root).expect("it was found there");
            (path.display().to_string(), text)
        })
        .collect();
    assert!(found.len() > 5, "{folder}: {}", found.len());
    found
}

/// The room that a file of `src` belongs to; none for the front door.
fn room(path: &str) -> Option<&str> {
    match path.split_once('/') {
        Some(("bin", _)) => None,
        Some((room, _)) => Some(room),
        None => path.strip_suffix(".rs").filter(|name| *name != "lib"),
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

/// The words that follow `start` anywhere in `text`.
fn names<'a>(text: &'a str, start: &str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    for (at, _) in text.match_indices(start) {
        let is_inside_a_word = text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let rest = &text[at + start.len()..];
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        if !is_inside_a_word {
            found.insert(&rest[..end]);
        }
    }
    found
}

#[test]
fn rooms_name_only_the_rooms_that_they_may() {
    for (path, text) in sources("src") {
        let Some(room) = room(&path) else { continue };
        let allowed = ROOMS.iter().find(|(name, _)| *name == room);
        let (_, allowed) = allowed.unwrap_or_else(|| panic!("{path}: the room `{room}` is not in the plan"));
        if is_test(&path) {
            continue;
        }
        for other in names(&code(&text), "crate::") {
            // `use crate::{...}` would hide what is named.
            assert!(!other.is_empty(), "{path}: a list of rooms");
            assert!(other == room || allowed.contains(&other), "{path} names `{other}`");
        }
    }
}

#[test]
fn the_plan_has_no_room_that_is_not_there() {
    let sources = sources("src");
    for (name, _) in ROOMS {
        assert!(sources.iter().any(|(path, _)| room(path) == Some(name)), "{name}");
    }
}

#[test]
fn crates_are_named_only_where_they_may() {
    for (path, text) in sources("src") {
        let code = code(&text);
        for (name, allowed) in CRATES {
            let is_allowed = allowed.iter().any(|place| path.starts_with(place));
            let is_named = !names(&code, &format!("{name}::")).is_empty();
            assert!(is_allowed || is_test(&path) || !is_named, "{path} names {name}");
        }
    }
}

#[test]
fn every_crate_that_has_its_places_is_used_there() {
    let sources = sources("src");
    for (name, allowed) in CRATES {
        for place in *allowed {
            let mut inside = sources.iter().filter(|(path, _)| path.starts_with(place));
            let start = format!("{name}::");
            assert!(inside.any(|(_, text)| !names(text, &start).is_empty()), "{name} is not in {place}");
        }
    }
}

#[test]
fn names_come_without_globs_and_not_through_the_front_door() {
    for (path, text) in sources("src") {
        let code = code(&text);
        for line in code.lines().map(str::trim) {
            let is_use = line.starts_with("use ") || line.starts_with("pub use ");
            assert!(is_test(&path) || !is_use || !line.contains("::*"), "{path}: {line}");
        }
    }
}

#[test]
fn only_the_front_rooms_read_the_environment() {
    for (path, text) in sources("src") {
        let code = code(&text);
        for way in ["env::var(", "env::var_os(", "env::vars(", "env::vars_os("] {
            assert!(path.starts_with("cli/") || is_test(&path) || !code.contains(way), "{path}: {way}");
        }
    }
}

#[test]
fn files_of_the_project_are_opened_by_one_room_alone() {
    let sources = sources("src");
    let opens = |text: &str| OPENING.iter().find(|way| code(text).contains(**way)).copied();
    for (path, text) in sources.iter().filter(|(path, _)| !is_test(path)) {
        let is_allowed = OPENERS.iter().any(|(place, _)| path.starts_with(place));
        assert!(is_allowed || opens(text).is_none(), "{path}: {:?}, not by project_files", opens(text));
    }
    for (place, _) in OPENERS {
        let mut inside = sources.iter().filter(|(path, _)| path.starts_with(place));
        assert!(inside.any(|(_, text)| opens(text).is_some()), "{place} opens nothing any more");
    }
}

#[test]
fn the_crates_open_no_files_and_know_nothing_of_this_program() {
    for (path, text) in sources("crates") {
        assert!(!text.to_lowercase().contains("ralph"), "{path} names this program");
        let code = code(&text);
        let is_library = path.contains("/src/") && !is_test(&path);
        let opened = OPENING.iter().chain(&["env::var", "Command::new("]).find(|way| code.contains(**way));
        assert!(!is_library || opened.is_none(), "{path}: {opened:?}");
    }
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

#[test]
fn every_source_says_what_it_is_for() {
    for folder in ["src", "tests", "crates"] {
        for (path, text) in sources(folder) {
            let is_part = is_test(&path) && !text.starts_with("//!");
            let is_described = text.starts_with("//! ") || text.starts_with("#![doc = include_str!(");
            assert!(is_part || is_described, "{folder}/{path} begins without a sentence");
        }
    }
}

/// Most code lines of a file; tests and the rows of tables do not count.
const MAX_FILE_LINES: usize = 400;

#[test]
fn no_file_is_longer_than_a_reader_can_follow() {
    let mut long: BTreeMap<String, usize> = BTreeMap::new();
    for root in roots() {
        let counted = sources(&root).into_iter().filter(|(path, _)| !is_test(path));
        let counted = counted.map(|(path, text)| (format!("{root}/{path}"), code_lines(&text)));
        long.extend(counted.filter(|(_, lines)| *lines > MAX_FILE_LINES));
    }
    assert!(long.is_empty(), "more than {MAX_FILE_LINES} lines: {long:#?}");
}

/// Most fields of a struct that gives no reason for more. What is a format, or flags, has as many as these need.
const MAX_FIELDS: usize = 12;

#[test]
fn structs_of_many_fields_say_why() {
    for root in roots() {
        for (path, text) in sources(&root) {
            let text: Vec<&str> = text.lines().collect();
            let is_struct =
                |line: &str| !line.starts_with(' ') && line.contains("struct ") && line.ends_with('{');
            for (at, line) in text.iter().enumerate().filter(|(_, line)| is_struct(line)) {
                let is_above = |line: &&&str| line.starts_with("///") || line.starts_with("#[");
                let above: Vec<&str> = text[..at].iter().rev().take_while(is_above).copied().collect();
                let fields = text[at + 1..].iter().take_while(|line| **line != "}");
                let fields = fields.filter(|line| line.starts_with("    ") && line.ends_with(',')).count();
                let reasons = ["Many fields: ", "Serialize", "Deserialize", "Args)]"];
                let is_said = above.iter().any(|line| reasons.iter().any(|reason| line.contains(reason)));
                assert!(fields <= MAX_FIELDS || is_said, "{root}/{path}: {line} has {fields} fields");
            }
        }
    }
}

/// A pair is a way around clippy's limit of arguments. What belongs together has a type with a name.
#[test]
fn arguments_are_not_hidden_in_pairs() {
    let pair = Regex::new(r"^ +\(\w+(, \w+)+\): \(.*\),$").expect("the pattern is valid");
    for root in roots() {
        for (path, text) in sources(&root) {
            let hidden = code(&text).lines().find(|line| pair.is_match(line)).map(str::to_owned);
            assert_eq!(hidden, None, "{root}/{path}");
        }
    }
}

/// As `scripts/size.py` counts them.
fn code_lines(text: &str) -> usize {
    let is_start = |line: &str| (line.contains("const ") || line.contains("static ")) && line.ends_with('[');
    let mut is_in_table = false;
    let mut count = 0;
    for line in code(text).lines() {
        is_in_table &= !line.starts_with(']');
        count += usize::from(!is_in_table);
        is_in_table |= !line.starts_with(' ') && is_start(line);
    }
    count
}

/// Where `specify ralph` is a name that stays, however the program is called: a file, and what the line has.
const CANONICAL_NAMES: &[(&str, &str)] = &[
    // Examples: the grammar puts the command in.
    ("cli/help.rs", "  specify ralph"),
    ("cli/help.rs", " specify ralph"),
    ("cli/help.rs", "`specify ralph config` shows them"),
    ("cli/report_file.rs", "made_by"),
    // A file that people commit.
    ("config/sample.rs", "# Settings of"),
    ("config/sample.rs", "shows every setting and where it comes from"),
    // What marks our block in a hook.
    ("hooks.rs", "const BEGIN"),
    ("hooks.rs", "const END"),
    ("record/own_command.rs", "pub const CANONICAL"),
    ("store/objects.rs", "pub const COMMITTER"),
    ("view/report/markdown.rs", "pub const MARKDOWN"),
    ("view/report/mod.rs", "const MADE_BY"),
];

#[test]
fn texts_name_the_program_as_it_was_called() {
    for (path, text) in sources("src") {
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
