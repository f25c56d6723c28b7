//! The documents say what the programs do: commands, flags, settings, links, and the recording.

#![expect(clippy::unwrap_used, reason = "a document that is not as expected has failed its test")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use regex::Regex;
use specify_ralph::config::KEYS;

use crate::sandbox::{Program, Sandbox};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("read {}: {error}", path.display()))
}

/// What `specify ralph` prints, run in `directory`.
fn ralph(directory: &Path, arguments: &[&str]) -> String {
    let scene = Sandbox::without_repository("none");
    scene.unchecked();
    let output = scene
        .hermetic(Program::Specify.path())
        .arg("ralph")
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn help(command: Option<&str>) -> String {
    let arguments: Vec<&str> = command.into_iter().chain(["--help"]).collect();
    ralph(root(), &arguments)
}

/// The text under a heading, up to the next heading of the same level or above.
fn section<'a>(text: &'a str, heading: &str) -> &'a str {
    let start = text.find(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("no heading `{heading}`")) + 1;
    let body = &text[start + heading.len()..];
    let level = heading.bytes().take_while(|byte| *byte == b'#').count();
    let ends = (1..=level).filter_map(|level| body.find(&format!("\n{} ", "#".repeat(level))));
    &body[..ends.min().unwrap_or(body.len())]
}

fn commands() -> Vec<String> {
    let text = help(None);
    let listed = text.split("\nCommands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = listed.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned);
    names.filter(|name| name != "help").collect()
}

/// The flags in a help text, those under `Settings:` apart from the others.
fn flags(help: &str) -> [BTreeSet<String>; 2] {
    let flag = Regex::new(r"(?:^|[ \[])(--?[A-Za-z][a-z-]*)").unwrap();
    let is_of_a_flag = Regex::new(r"^ {2,6}-|\[alias: | {20,}--").unwrap();
    let mut found = [BTreeSet::new(), BTreeSet::new()];
    let body = help.split("\nExamples:\n").next().unwrap();
    let mut is_setting = 0;
    for line in body.lines() {
        if line == "Settings:" {
            is_setting = 1;
        }
        if is_of_a_flag.is_match(line) {
            found[is_setting].extend(flag.captures_iter(line).map(|captures| captures[1].to_owned()));
        }
    }
    found
}

/// Whether `text` has the flag as code, and not only a longer one that begins like it.
fn names_flag(text: &str, flag: &str) -> bool {
    Regex::new(&format!(r"`{}[` ]", regex::escape(flag))).unwrap().is_match(text)
}

#[test]
fn every_command_and_flag_is_in_the_readme() {
    let readme = read("README.md");
    let everywhere = section(&readme, "### Every command");
    let settings = section(&readme, "### run");
    let commands = commands();
    assert!(commands.len() >= 9 && commands.iter().any(|command| command == "run"), "{commands:?}");
    let mut missing = Vec::new();
    for command in &commands {
        let own = section(&readme, &format!("### {command}"));
        let [general, of_settings] = flags(&help(Some(command)));
        assert!(general.contains("--help"), "{command}: {general:?}");
        missing.extend(
            general
                .iter()
                .filter(|flag| !names_flag(own, flag) && !names_flag(everywhere, flag))
                .map(|flag| format!("{command} {flag}")),
        );
        missing.extend(
            of_settings
                .iter()
                .filter(|flag| !names_flag(settings, flag))
                .map(|flag| format!("{command} {flag}")),
        );
    }
    assert!(missing.is_empty(), "README.md does not tell of {missing:?}");
}

#[test]
fn flags_are_found_with_their_short_and_other_names() {
    let [general, settings] = flags(&help(Some("run")));
    for flag in ["-C", "-v", "--verbose", "--dry-run"] {
        assert!(general.contains(flag), "{flag}: {general:?}");
    }
    for flag in ["-n", "--max-iterations", "--agent", "--agent-cli", "--set"] {
        assert!(settings.contains(flag), "{flag}: {settings:?}");
    }
}

#[test]
fn the_readme_names_the_two_commands_to_begin_with() {
    let start = read("README.md");
    let start = section(&start, "## Start");
    for command in ["cargo run --release -- ralph demo", "cargo test", "cargo install --path ."] {
        assert!(start.contains(command), "{command}");
    }
}

#[test]
fn every_setting_is_in_the_readme() {
    let readme = read("README.md");
    let table = section(&readme, "## Configuration").split("\n### ").next().unwrap();
    for key in KEYS {
        let name = format!("`{}`", key.name);
        assert!(table.contains(&name), "{name} in the table");
    }
}

#[test]
fn the_commands_of_the_extension_name_flags_that_there_are() {
    let flag = Regex::new(r"`(--?[a-z][a-z-]*)").unwrap();
    for command in ["run", "status", "log"] {
        let text = read(format!("extension/commands/{command}.md"));
        let own: BTreeSet<String> = flags(&help(Some(command))).into_iter().flatten().collect();
        let named: Vec<&str> = flag.captures_iter(&text).map(|found| found.extract::<1>().1[0]).collect();
        assert!(named.len() >= 3, "{command}: {named:?}");
        for name in named {
            assert!(own.contains(name), "{command} has no flag {name}");
        }
        let line = format!("sh .specify/extensions/ralph-git/scripts/bash/ralph.sh {command}\n");
        assert!(text.contains(&line), "{command}");
    }
    let version = env!("CARGO_PKG_VERSION");
    assert!(read("extension/extension.yml").contains(&format!("\n  version: \"{version}\"\n")));
}

fn documents() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in ["", "docs", "extension"] {
        for entry in std::fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    found
}

/// The anchors that headings get on the usual hosts.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
            kept.map(|c| if c == ' ' { '-' } else { c }).collect()
        })
        .collect()
}

#[test]
fn links_in_the_documents_lead_somewhere() {
    let link = Regex::new(r"\]\(([^)\s]+)\)|(?m)^\[[^\]]+\]: (\S+)$").unwrap();
    let mut count = 0;
    for document in documents() {
        let text = read(&document);
        for captures in link.captures_iter(&text) {
            let target = captures.get(1).or(captures.get(2)).unwrap().as_str();
            if target.contains("://") {
                continue;
            }
            count += 1;
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let path = if path.is_empty() { document.clone() } else { document.with_file_name(path) };
            assert!(path.exists(), "{}: {target}", document.display());
            assert!(
                anchor.is_empty() || anchors(&read(&path)).contains(anchor),
                "{}: {target}",
                document.display()
            );
        }
    }
    assert!(count > 5, "only {count} links were found");
}

/// An output with what differs from run to run taken out: ids, times, and the blanks that line them up.
fn masked(output: &str) -> Vec<String> {
    let rules = [
        (r"\d{8}-\d{6}-[0-9a-f]{8}", "SESSION"),
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME"),
        (r"\b[0-9a-f]{40}\b|\b[0-9a-f]{7,10}\b", "COMMIT"),
        (r"[\d.]+ m?s\b", "DURATION"),
        (r" +", " "),
    ]
    .map(|(rule, word)| (Regex::new(rule).unwrap(), word));
    let mask = |line: &str| {
        let replaced = rules
            .iter()
            .fold(line.to_owned(), |line, (rule, word)| rule.replace_all(&line, *word).into_owned());
        replaced.trim_end().to_owned()
    };
    output.lines().map(mask).collect()
}

#[test]
fn the_recording_in_the_readme_is_what_the_demo_prints() {
    let readme = read("README.md");
    let recording = readme.split("<!-- recorded by docs/record-demo.sh -->").nth(1).unwrap();
    let recording = recording.split("```").nth(1).unwrap().strip_prefix("text\n").unwrap();

    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let (old, project) = ("/tmp/ralph-demo", folder.join("ralph-demo"));
    let mut printed = String::new();
    for line in recording.lines().filter_map(|line| line.strip_prefix("$ specify ralph ")) {
        let line = line.replace(old, project.to_str().unwrap());
        let directory = if project.is_dir() { &project } else { &folder };
        let output = ralph(directory, &line.split(' ').collect::<Vec<_>>());
        let separator = if printed.is_empty() { "" } else { "\n" };
        printed.push_str(&format!("{separator}$ specify ralph {line}\n{output}"));
    }
    let printed = printed.replace(project.to_str().unwrap(), old);
    assert!(printed.contains("$ specify ralph demo "), "{printed}");
    let (told, is) = (masked(recording), masked(&printed));
    let line = told.iter().zip(&is).take_while(|(told, is)| told == is).count();
    assert_eq!(told.get(line), is.get(line), "README.md has an old recording: run docs/record-demo.sh");
}
