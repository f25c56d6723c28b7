//! A validation that the files of a project suggest. It is proposed, and never run before a person confirmed it.

use camino::Utf8Path;
use serde_json::Value;

use ralph_project::project_files::MAX_SETTINGS_BYTES;

use crate::cli::Project;

/// A command that may be the project's validation, and the file that suggests it.
pub type Proposal = (&'static str, &'static str);

/// What a file suggests, by its text.
type Suggest = fn(&str) -> Option<&'static str>;

/// The first file that suggests a command counts.
const FILES: &[(&str, Suggest)] = &[
    ("Cargo.toml", |_| Some("cargo test")),
    ("package.json", |text| has_test_script(text).then_some("npm test")),
    ("pyproject.toml", |_| Some("pytest -q")),
    ("go.mod", |_| Some("go test ./...")),
    ("Makefile", |text| has_rule(text).then_some("make test")),
    ("justfile", |text| has_rule(text).then_some("just test")),
];

/// Returns what the files at the root of `project` suggest.
pub fn of(project: &Project) -> Option<Proposal> {
    among(|file| {
        let bytes = project.files.read(&project.root.join(Utf8Path::new(file)), MAX_SETTINGS_BYTES);
        bytes.ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    })
}

/// Returns what files suggest that `read` returns the text of, by their paths from the project's root.
pub fn among(read: impl Fn(&str) -> Option<String>) -> Option<Proposal> {
    FILES.iter().find_map(|(file, suggest)| Some((suggest(&read(file)?)?, *file)))
}

/// Returns how to use it, for a line that says that there is no validation.
pub fn hint(proposal: Option<Proposal>) -> String {
    match proposal {
        Some((command, file)) => format!("{file} suggests --validate '{command}'"),
        None => "give a command that must pass: --validate CMD".to_owned(),
    }
}

/// Returns true if `npm test` does more than what `npm init` writes.
fn has_test_script(text: &str) -> bool {
    let package: Value = serde_json::from_str(text).unwrap_or_default();
    let script = package["scripts"]["test"].as_str().unwrap_or_default();
    !script.trim().is_empty() && !script.contains("no test specified")
}

/// Returns true if a makefile or a justfile has a rule `test`: its name at the start of a line, and a colon that
/// assigns nothing.
fn has_rule(text: &str) -> bool {
    text.lines().any(|line| {
        let head = line.trim_start_matches('@').strip_prefix("test");
        head.filter(|rest| rest.starts_with([' ', ':', '\t']))
            .and_then(|rest| rest.split_once(':'))
            .is_some_and(|(parameters, rest)| !rest.starts_with('=') && !parameters.contains('='))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_file_with_a_test_to_run_is_proposed() {
        for (files, expected) in [
            (&[][..], None),
            (&[("Cargo.toml", "[package]"), ("Makefile", "test:\n")][..], Some(("cargo test", "Cargo.toml"))),
            (
                &[("package.json", r#"{"scripts": {"test": "vitest run"}}"#)],
                Some(("npm test", "package.json")),
            ),
            (
                &[(
                    "package.json",
                    r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#,
                )],
                None,
            ),
            (
                &[("package.json", r#"{"scripts": {"build": "tsc"}}"#), ("go.mod", "module x")],
                Some(("go test ./...", "go.mod")),
            ),
            (&[("package.json", "{"), ("pyproject.toml", "")], Some(("pytest -q", "pyproject.toml"))),
            (&[("Makefile", "all: build\n\ntest: all\n\tsh check.sh\n")], Some(("make test", "Makefile"))),
            (&[("Makefile", "test := 1\ntests:\n\t@true\n# test:\n")], None),
            (
                &[("Makefile", ".PHONY: test\n"), ("justfile", "@test *args:\n  true\n")],
                Some(("just test", "justfile")),
            ),
            (&[("justfile", "test-all:\n  true\n")], None),
        ] {
            let read =
                |name: &str| files.iter().find(|(file, _)| *file == name).map(|(_, text)| (*text).to_owned());
            assert_eq!(among(read), expected, "{files:?}");
        }
    }
}
