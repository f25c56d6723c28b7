//! What hostile or careless surroundings try: cloned files, agents, remotes, terminals, other systems. README.md beside this
//! file says which test answers which case.

mod channels;
mod commits;
mod links;
mod machines;
mod many;
mod names;
mod processes;
mod records;
mod secrets;
mod trust;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use regex::Regex;

const CASES: [&str; 15] =
    ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "secrets"];

fn read(path: &str) -> Option<String> {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).ok()
}

/// Returns true if a test of this name exists, spelled as `cargo test` prints it.
fn exists(test: &str) -> bool {
    let (module, name) = test.rsplit_once("::").expect("a test has a module");
    let place =
        module.trim_end_matches("::tests").trim_end_matches("::without_environments").replace("::", "/");
    // Those of the crates begin with the name of their crate.
    let (package, rest) = place.split_once('/').unwrap_or((&place, ""));
    let in_crate = format!("crates/{}/src/{rest}", package.replace('_', "-"));
    let files = [
        format!("{in_crate}.rs"),
        format!("{in_crate}/mod.rs"),
        format!("{in_crate}/tests.rs"),
        format!("tests/{place}.rs"),
        format!("tests/{place}/mod.rs"),
        format!("tests/{place}/main.rs"),
        format!("src/{place}.rs"),
        format!("src/{place}/mod.rs"),
        format!("src/{place}/tests.rs"),
    ];
    files.iter().filter_map(|file| read(file)).any(|text| text.contains(&format!("fn {name}(")))
}

#[test]
fn every_case_has_tests_and_every_scene_has_a_case() {
    let readme = read("tests/hostile/README.md").expect("the list of cases is there");
    let name = Regex::new(r"`((?:\w+::)+\w+)`").expect("the pattern is valid");
    let mut named = BTreeSet::new();
    let mut cases = BTreeSet::new();
    for row in readme.lines().filter(|line| line.starts_with("| ")) {
        let case = row.split('|').nth(1).expect("a row has cells").trim();
        for test in name.captures_iter(row) {
            assert!(exists(&test[1]), "{case}: there is no test `{}`", &test[1]);
            cases.insert(case.to_owned());
            named.insert(test[1].to_owned());
        }
    }
    assert_eq!(cases, CASES.map(str::to_owned).into());
    let scene = Regex::new(r"#\[test\]\n(?: *#\[.*\]\n)* *fn (\w+)\(").expect("the pattern is valid");
    for area in
        ["channels", "commits", "links", "machines", "names", "processes", "records", "secrets", "trust"]
    {
        let text = read(&format!("tests/hostile/{area}.rs")).expect("the area has a file");
        for found in scene.captures_iter(&text) {
            let (module, name) = (format!("hostile::{area}::"), format!("::{}", &found[1]));
            let is_named = named.iter().any(|test| test.starts_with(&module) && test.ends_with(&name));
            assert!(is_named, "tests/hostile/README.md does not name `{module}{name}`");
        }
    }
}
