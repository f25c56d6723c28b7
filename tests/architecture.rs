//! The house rules that the compiler does not know: who may import whom, and where each big crate may be named.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use regex::Regex;

/// What each room may import, beside itself. `DESIGN.md` says why.
const IMPORTS: &[(&str, &[&str])] = &[
    ("record", &[]),
    ("clock", &["record"]),
    ("redact", &[]),
    ("tasks", &["record"]),
    ("config", &["record"]),
    ("feature", &["record"]),
    ("history", &["record"]),
    ("progress", &["record"]),
    ("prompt", &["record"]),
    ("view", &["record", "tasks"]),
    ("process", &["record"]),
    ("repository", &["process", "record"]),
    ("agent", &["clock", "process", "record"]),
    ("validate", &["clock", "process", "record"]),
    ("worktree", &["process", "record", "repository"]),
    ("store", &["process", "record", "redact", "repository"]),
    (
        "session",
        &[
            "agent",
            "clock",
            "feature",
            "history",
            "process",
            "progress",
            "prompt",
            "record",
            "redact",
            "repository",
            "store",
            "tasks",
            "validate",
            "worktree",
        ],
    ),
    // Reads and shows whatever there is; only `session` puts effects in order.
    ("cli", &["*"]),
    ("bin", &[]),
];

/// Crates, and the only places that may name them.
const CRATES: &[(&str, &[&str])] = &[
    ("clap", &["src/cli/"]),
    ("duct", &["src/process/"]),
    ("gix", &["src/store/", "src/worktree.rs"]),
    ("minijinja", &["src/prompt/"]),
    ("pulldown_cmark", &["src/tasks/markdown.rs"]),
    ("rustix", &["src/agent/", "src/process/", "src/store/"]),
    ("signal_hook", &["src/process/"]),
];

/// Path from the repository's top, and the text without comments.
fn sources() -> BTreeMap<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = BTreeMap::new();
    let mut folders = vec![root.join("src")];
    while let Some(folder) = folders.pop() {
        let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let (inner, files): (Vec<PathBuf>, Vec<PathBuf>) = paths.partition(|path| path.is_dir());
        folders.extend(inner);
        for file in files.iter().filter(|file| file.extension().is_some_and(|end| end == "rs")) {
            let text = std::fs::read_to_string(file).unwrap();
            let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
            found.insert(file.strip_prefix(root).unwrap().to_str().unwrap().to_owned(), code.join("\n"));
        }
    }
    assert!(found.len() > 50, "{found:?}");
    found
}

fn room(path: &str) -> &str {
    let path = path.strip_prefix("src/").unwrap();
    path.split_once('/').map_or_else(|| path.trim_end_matches(".rs"), |(room, _)| room)
}

/// The rooms that a text names: `crate::store::Store`, `crate::{store, tasks::TaskList}`.
fn imports(text: &str) -> Vec<String> {
    let single = Regex::new(r"\bcrate::(\w+)").unwrap();
    let group = Regex::new(r"\bcrate::\{((?:[^{}]|\{[^{}]*\})*)\}").unwrap();
    let inner = Regex::new(r"\{[^{}]*\}").unwrap();
    let mut found: Vec<String> = single.captures_iter(text).map(|captures| captures[1].to_owned()).collect();
    for captures in group.captures_iter(text) {
        let names = inner.replace_all(&captures[1], "").into_owned();
        let names =
            names.split(',').map(|name| name.trim().split("::").next().unwrap_or_default().to_owned());
        found.extend(names.filter(|name| !name.is_empty()));
    }
    found
}

#[test]
fn imports_are_found_alone_and_in_groups() {
    let text = "use crate::store::Store;\nuse crate::{agent, tasks::{Item, Mark},\n view::live::Live};";
    assert_eq!(imports(text), ["store", "agent", "tasks", "view"]);
}

#[test]
fn rooms_import_only_what_stands_below_them() {
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let room = room(&path);
        if room == "lib" {
            continue;
        }
        let allowed = IMPORTS.iter().find(|(name, _)| *name == room);
        let (_, allowed) =
            allowed.unwrap_or_else(|| panic!("{path}: give the room `{room}` its place in IMPORTS"));
        for name in imports(&text) {
            let is_allowed = name == room || allowed.contains(&name.as_str()) || allowed.contains(&"*");
            if !is_allowed {
                wrong.push(format!("{path} imports {name}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn each_big_crate_has_its_own_place() {
    let mut wrong = Vec::new();
    let sources = sources();
    for (name, places) in CRATES {
        let word = Regex::new(&format!(r"\b{name}::|\buse {name}\b")).unwrap();
        let users: Vec<&String> =
            sources.iter().filter(|(_, text)| word.is_match(text)).map(|(path, _)| path).collect();
        assert!(!users.is_empty(), "nobody uses {name}: take it out of Cargo.toml");
        wrong.extend(
            users
                .into_iter()
                .filter(|path| !places.iter().any(|place| path.starts_with(place)))
                .map(|path| format!("{path} names {name}")),
        );
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn no_file_is_named_for_holding_anything() {
    let forbidden = ["util", "utils", "common", "helper", "helpers", "manager", "misc"];
    for path in sources().keys() {
        let is_named = path
            .split(['/', '.'])
            .any(|part| forbidden.iter().any(|word| part.split('_').any(|it| it == *word)));
        assert!(!is_named, "{path}: name it after what it holds");
    }
}
