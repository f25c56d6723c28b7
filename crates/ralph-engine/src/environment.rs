//! What a session begins in: the system, the tools that the validation's command names, names of variables.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::Duration;

use camino::Utf8Path;
use ralph_core::record::{Environment, Timestamp};
use ralph_os::clock::utc_offset;
use ralph_os::process::{Captured, Tool};
use ralph_os::sandbox::{Fence, locale, variable_names};

use super::loop_inputs::LoopInputs;

/// How long a tool may take to say its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(5);

/// Longest version that is kept, in characters.
const MAX_VERSION_CHARS: usize = 80;

/// Words of commands, and who is asked for a version then. None of them runs anything of the project's for that.
const TOOLS: &[(&str, &[&str])] = &[
    ("bun", &["bun"]),
    ("cargo", &["cargo", "rustc"]),
    ("cmake", &["cmake"]),
    ("composer", &["php"]),
    ("ctest", &["cmake"]),
    ("deno", &["deno"]),
    ("dotnet", &["dotnet"]),
    ("go", &["go"]),
    ("gradle", &["java"]),
    ("java", &["java"]),
    ("jest", &["node"]),
    ("just", &["just"]),
    ("make", &["make"]),
    ("mix", &["elixir"]),
    ("mvn", &["java"]),
    ("node", &["node"]),
    ("npm", &["node", "npm"]),
    ("npx", &["node", "npm"]),
    ("php", &["php"]),
    ("pnpm", &["node"]),
    ("poetry", &["python3"]),
    ("pytest", &["python3"]),
    ("python", &["python"]),
    ("python3", &["python3"]),
    ("rake", &["ruby"]),
    ("ruby", &["ruby"]),
    ("rustc", &["rustc"]),
    ("swift", &["swift"]),
    ("tox", &["python3"]),
    ("uv", &["uv", "python3"]),
    ("vitest", &["node"]),
    ("yarn", &["node"]),
];

/// Returns what a session begins or is resumed in at a moment.
pub(super) fn environment(inputs: &LoopInputs<'_>, at: Timestamp) -> Environment {
    let command = inputs.config.settings.validation_command.as_deref().unwrap_or_default();
    Environment {
        system: std::env::consts::OS.to_owned(),
        processor: std::env::consts::ARCH.to_owned(),
        tools: tool_versions(command, &inputs.project_root, inputs.fence().as_ref()),
        variables: variable_names(),
        utc_offset: utc_offset(at),
        locale: locale(),
        build: option_env!("RALPH_BUILD_COMMIT").map(str::to_owned),
    }
}

/// Returns the programs that are asked for their version if a command has these words.
fn named_tools(command: &str) -> BTreeSet<&'static str> {
    let words = command.split(|c: char| !(c.is_ascii_alphanumeric() || "_-./".contains(c)));
    words
        .filter_map(|word| TOOLS.iter().find(|(name, _)| *name == word))
        .flat_map(|(_, asked)| *asked)
        .copied()
        .collect()
}

/// Returns the versions of the tools that a command names. All are asked at once: some take long. What is not there, or does not
/// answer, is left out.
pub fn tool_versions(command: &str, directory: &Utf8Path, fence: Option<&Fence>) -> BTreeMap<String, String> {
    let names = named_tools(command);
    let tools = names.iter().map(|name| {
        let flag = if *name == "go" { "version" } else { "--version" };
        let tool = Tool::new(*name, directory).arg(flag).limit(VERSION_TIMEOUT).on_the_users_path();
        let tool = match fence {
            Some(fence) => tool.inside(fence),
            None => tool,
        };
        (*name, tool)
    });
    thread::scope(|scope| {
        let asked: Vec<_> = tools.map(|(name, tool)| (name, scope.spawn(move || version(tool)))).collect();
        let answers = asked.into_iter().map(|(name, asked)| (name, asked.join().ok().flatten()));
        answers.filter_map(|(name, version)| Some((name.to_owned(), version?))).collect()
    })
}

/// Returns the first line that a tool prints about its version, shortened.
fn version(tool: Tool) -> Option<String> {
    let answer = tool.run().ok().filter(Captured::is_success)?;
    let text = String::from_utf8_lossy(&answer.stdout);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().take(MAX_VERSION_CHARS).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_asked_that_a_command_names_as_words() {
        for (command, expected) in [
            ("cargo test --workspace", "cargo rustc"),
            ("cd web && npm test; pytest -q", "node npm python3"),
            ("(CI=1 go test ./...)", "go"),
            ("sh check.sh", ""),
            ("./gradlew test", ""),
            ("venv/bin/python -m pytest", "python3"),
            ("echo my-cargo cargo.toml", ""),
            ("", ""),
        ] {
            let named: Vec<&str> = named_tools(command).into_iter().collect();
            assert_eq!(named.join(" "), expected, "{command}");
        }
    }
}
