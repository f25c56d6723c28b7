//! The documents say what the programs do: commands, flags, settings and links.

#![expect(clippy::unwrap_used, reason = "a document that is not as expected has failed its test")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ralph_core::config::KEYS;
use ralph_core::record::Parser;
use regex::Regex;
use strum::VariantNames;

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
    scene.skip_final_fsck();
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
    let words = command.into_iter().flat_map(|command| command.split(' '));
    let arguments: Vec<&str> = words.chain(["--help"]).collect();
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

/// The commands that a help text lists.
fn commands_in(help: &str) -> Vec<String> {
    let listed =
        help.split("\nCommands:\n").nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap_or_default();
    let names = listed.lines().filter_map(|line| line.strip_prefix("  ")?.split_once(' '));
    names.filter(|(name, _)| !name.is_empty() && *name != "help").map(|(name, _)| name.to_owned()).collect()
}

/// Compares the part of a document between two lines with what is generated, or writes it.
pub fn is_current(path: &str, (begin, end): (&str, &str), generated: &str) {
    let text = read(path);
    let (head, rest) = text.split_once(begin).unwrap_or_else(|| panic!("{path} has no line `{begin}`"));
    let (old, tail) = rest.split_once(end).unwrap_or_else(|| panic!("{path} has no line `{end}`"));
    let generated = format!("\n{generated}");
    #[expect(clippy::disallowed_methods, reason = "asked of the test itself")]
    let is_to_write = std::env::var_os("RALPH_WRITE_DOCS").is_some();
    if is_to_write {
        std::fs::write(root().join(path), format!("{head}{begin}{generated}{end}{tail}")).unwrap();
    } else {
        assert_eq!(
            old, generated,
            "{path} is not current: RALPH_WRITE_DOCS=1 cargo test --test integration docs"
        );
    }
}

pub const WRITTEN: &str = "<!-- written by: RALPH_WRITE_DOCS=1 cargo test docs -->";

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

#[test]
fn the_reference_of_commands_is_current() {
    let mut reference = String::new();
    let mut add = |command: &str, help: &str| {
        let title = if command.is_empty() { "specify ralph" } else { command };
        let lines: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
        reference.push_str(&format!("\n## {title}\n\n```text\n{}\n```\n", lines.join("\n")));
    };
    let all = help(None);
    add("", &all);
    let commands = commands_in(&all);
    assert!(commands.len() > 20 && commands.iter().any(|command| command == "run"), "{commands:?}");
    for command in commands {
        let own = help(Some(&command));
        add(&command, &own);
        for part in commands_in(&own) {
            let command = format!("{command} {part}");
            add(&command, &help(Some(&command)));
        }
    }
    is_current("docs/commands.md", (WRITTEN, "<!-- end of the commands -->"), &format!("{reference}\n"));
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
    let start = section(&start, "## Install");
    for command in ["cargo run --release -- ralph demo", "cargo test", "cargo install --path ."] {
        assert!(start.contains(command), "{command}");
    }
}

#[test]
fn the_table_of_keys_is_current() {
    let mut table = "\n| key | default | value | what it does |\n|---|---|---|---|\n".to_owned();
    for key in KEYS {
        let default = if key.default == "none" { key.unset.to_owned() } else { format!("`{}`", key.default) };
        let expected = key.expected().replace('|', "\\|");
        let only = if key.in_file { "" } else { " (not in the file)" };
        table.push_str(&format!("| `{}` | {default} | {expected} | {}{only} |\n", key.name, key.doc));
    }
    is_current("docs/configuration.md", (WRITTEN, "<!-- end of the keys -->"), &format!("{table}\n"));
}

#[test]
fn readme_and_design_are_short_and_the_book_has_every_page() {
    let words = read("README.md").split_whitespace().count();
    assert!(words <= 1200, "README.md has {words} words");
    let lines = read("DESIGN.md").lines().count();
    assert!(lines <= 250, "DESIGN.md has {lines} lines");
    let words = read("DESIGN.md").split_whitespace().count();
    assert!(words <= 4500, "DESIGN.md has {words} words");
    let summary = read("docs/SUMMARY.md");
    for page in documents() {
        let name = page.file_name().unwrap().to_str().unwrap();
        if !is_of_the_book(&page) {
            continue;
        }
        let page = page.strip_prefix(root().join("docs")).unwrap();
        let listed = format!("]({})", page.display());
        assert!(name == "SUMMARY.md" || summary.contains(&listed), "docs/SUMMARY.md does not list {name}");
    }
}

#[test]
fn every_decision_has_its_question_and_what_was_rejected() {
    let decisions: Vec<PathBuf> =
        documents().into_iter().filter(|path| path.parent().unwrap().ends_with("decisions")).collect();
    assert!(decisions.len() > 10, "{decisions:?}");
    let mut numbers = BTreeSet::new();
    for path in decisions.iter().filter(|path| !path.ends_with("index.md")) {
        let text = read(path);
        let headings: Vec<&str> = text.lines().filter(|line| line.starts_with("## ")).collect();
        assert_eq!(headings, ["## Question", "## Decision", "## Rejected"], "{}", path.display());
        assert!(text.split_whitespace().count() <= 150, "{} is too long", path.display());
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(
            read("docs/decisions/index.md").contains(&format!("({name})")),
            "index.md does not list {name}"
        );
        assert!(text.starts_with(&format!("# {}. ", &name[..4])), "{name} has another number in its title");
        assert!(numbers.insert(name[..4].to_owned()), "{name} has the number of another decision");
    }
}

#[test]
fn every_rule_of_redaction_is_in_the_book() {
    let page = read("docs/secrets.md");
    let missing: BTreeSet<_> =
        redact_stream::rules().filter(|rule| !page.contains(&format!("`{rule}`"))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn the_page_of_agents_has_every_agent_and_parser() {
    let page = read("docs/agents.md");
    let findings = Sandbox::new().ralph("doctor --json").json();
    let agents = findings.as_array().unwrap().iter().find(|finding| finding["agents"].is_array()).unwrap();
    let names: Vec<&str> =
        agents["agents"].as_array().unwrap().iter().map(|agent| agent["name"].as_str().unwrap()).collect();
    assert!(names.len() > 10, "{names:?}");
    let first = page.split("\n## ").next().unwrap();
    for part in [first, section(&page, "## Commands that failed")] {
        let rows = part.lines().filter(|line| line.starts_with('|'));
        let heads: String = rows.filter_map(|row| row.split('|').nth(1)).collect();
        let missing: Vec<&&str> = names.iter().filter(|name| !heads.contains(&format!("`{name}`"))).collect();
        assert!(missing.is_empty(), "{missing:?} in {part}");
    }
    let parsers = page.lines().find(|line| line.starts_with("parser = ")).unwrap();
    let known: BTreeSet<&str> = Parser::VARIANTS.iter().copied().collect();
    let word = Regex::new(r"[a-z]+").unwrap();
    let listed = parsers.split_once(": ").unwrap().1;
    let listed: BTreeSet<&str> = word.find_iter(listed).map(|found| found.as_str()).chain(["text"]).collect();
    assert_eq!(listed, known);
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
    for folder in ["", "docs", "docs/decisions", "docs/dev", "extension"] {
        for entry in std::fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    found
}

/// The pages for those who change the program link to its source, which a book does not have.
fn is_of_the_book(path: &Path) -> bool {
    let docs = root().join("docs").canonicalize().unwrap();
    let path = path.canonicalize().unwrap();
    path.starts_with(&docs) && !path.starts_with(docs.join("dev"))
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
            // A page of the book leads to no file outside of it: the book is read without the repository.
            let is_outside = is_of_the_book(&document) && !is_of_the_book(&path);
            assert!(!is_outside, "{}: {target}", document.display());
            assert!(
                anchor.is_empty() || anchors(&read(&path)).contains(anchor),
                "{}: {target}",
                document.display()
            );
        }
    }
    assert!(count > 5, "only {count} links were found");
}

/// The command lines of ours in a document, in blocks of code and within sentences, without what follows them on the line.
fn command_lines(text: &str) -> BTreeSet<String> {
    let line = Regex::new(r"(?m)^ *(?:\$ )?(specify ralph .*)$|`(specify ralph [^`\n]*)`").unwrap();
    let end = Regex::new(r"  | \[|[…|;><&]| # | -- |\.\.\.").unwrap();
    let lines = line.captures_iter(text).filter_map(|found| found.get(1).or(found.get(2)));
    lines.map(|line| end.split(line.as_str()).next().unwrap_or_default().trim_end().to_owned()).collect()
}

#[test]
fn commands_and_flags_in_the_documents_exist() {
    let scene = Sandbox::without_repository("none");
    let lines: BTreeSet<String> = documents()
        .iter()
        .filter(|path| !path.ends_with("CHANGELOG.md"))
        .flat_map(|path| command_lines(&read(path)))
        .collect();
    assert!(lines.len() > 100, "only {} command lines were found", lines.len());
    let mut wrong = Vec::new();
    for line in &lines {
        let script = format!("specify() {{ \"$0\" \"$@\"; }}; {line} --help");
        let output =
            scene.hermetic("/bin/sh").args(["-c", &script]).arg(Program::Specify.path()).output().unwrap();
        if !output.status.success() {
            wrong.push(format!("{line}: {}", String::from_utf8_lossy(&output.stderr)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
