//! Which agents are installed, and which of them to use if the user names none.

use std::io::ErrorKind;
use std::thread;

use anyhow::{Result, bail};
use camino::{Utf8Path, Utf8PathBuf};
use serde::Serialize;
use serde_json::Value;

use ralph_core::record::PromptVia;
use ralph_project::project_files::{MAX_SETTINGS_BYTES, ProjectFiles};

use super::adapter::Adapter;
use super::interface::{Agent, Lookup};
use super::known::{self, KNOWN, Known};
use super::settings::AgentSettings;

/// What is known of an agent on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentListing {
    pub name: String,
    pub is_installed: bool,
    pub version: Option<String>,
    pub path: Option<Utf8PathBuf>,
    pub prompt: PromptVia,
    /// The command that installs it.
    pub install: &'static str,
    /// Why it cannot be used, with a hint.
    pub missing: Option<String>,
}

/// Files in which spec-kit names the agent of a project, with the keys.
const SPEC_KIT: [(&str, [&str; 2]); 2] = [
    (".specify/integration.json", ["default_integration", "integration"]),
    (".specify/init-options.json", ["integration", "ai"]),
];

/// The value by which spec-kit names no agent.
const ANY_AGENT: &str = "generic";

/// Returns every known agent, with its settings applied. All are asked for their version at the same time.
pub fn list(
    settings: &(dyn Fn(&str) -> AgentSettings + Sync),
    directory: &Utf8Path,
    lookup: Lookup<'_>,
) -> Vec<AgentListing> {
    let adapters: Vec<_> = KNOWN
        .iter()
        .map(|known| {
            let adapter = Adapter::new(known, &settings(known.name), lookup);
            let path = adapter.program(lookup);
            (known, adapter, path)
        })
        .collect();
    let answers: Vec<bool> = thread::scope(|scope| {
        let asked: Vec<_> = adapters
            .iter()
            .map(|(_, adapter, path)| scope.spawn(move || path.is_some() && adapter.answers()))
            .collect();
        asked.into_iter().map(|thread| thread.join().unwrap_or_default()).collect()
    });
    adapters
        .into_iter()
        .zip(answers)
        .map(|((known, adapter, path), is_installed)| {
            let missing = adapter.check(directory, lookup).err().map(|error| error.to_string());
            AgentListing {
                name: known.name.to_owned(),
                is_installed,
                version: if is_installed { adapter.version() } else { None },
                path,
                prompt: known.prompt,
                install: known.install,
                missing,
            }
        })
        .collect()
}

/// Returns the agent to use if the user names none: spec-kit's, else the only one that is installed.
pub fn detect(files: &ProjectFiles, root: &Utf8Path, lookup: Lookup<'_>) -> Result<String> {
    if let Some(ConfiguredAgent::Known(known)) = of_spec_kit(files, root) {
        return Ok(known.name.to_owned());
    }
    let listed = list(&AgentSettings::named, root, lookup);
    let installed = listed.iter().filter(|agent| agent.is_installed).map(|agent| agent.name.as_str());
    choose(&installed.collect::<Vec<_>>(), passed_over(files, root)).map(str::to_owned)
}

/// Returns why spec-kit's choice of an agent is ignored, if it made one.
pub fn passed_over(files: &ProjectFiles, root: &Utf8Path) -> Option<String> {
    match of_spec_kit(files, root)? {
        ConfiguredAgent::Known(_) => None,
        ConfiguredAgent::Nothing(why) => Some(why),
    }
}

/// What spec-kit's files say of the agent.
#[derive(Debug)]
enum ConfiguredAgent {
    Known(&'static Known),
    /// With the reason.
    Nothing(String),
}

/// Returns the agent that spec-kit set this project up for. The first file that names one we know counts, else the
/// first that should have.
fn of_spec_kit(files: &ProjectFiles, root: &Utf8Path) -> Option<ConfiguredAgent> {
    let mut passed_over = None;
    for (file, keys) in SPEC_KIT {
        let read = files.read(&root.join(file), MAX_SETTINGS_BYTES);
        let json = match read {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => continue,
            Err(error) => Err(format!("{file} cannot be read ({error})")),
            Ok(bytes) => serde_json::from_slice::<Value>(&bytes)
                .map_err(|error| format!("{file} is not JSON ({error})")),
        };
        let why = match json {
            Err(why) => why,
            Ok(json) => match keys.into_iter().find_map(|key| json[key].as_str()) {
                None | Some(ANY_AGENT) => continue,
                Some(name) => match KNOWN.iter().find(|known| known.spec_kit == name) {
                    Some(known) => return Some(ConfiguredAgent::Known(known)),
                    None => format!("spec-kit is set up for {name} ({file}), which is not supported"),
                },
            },
        };
        passed_over.get_or_insert(ConfiguredAgent::Nothing(why));
    }
    passed_over
}

fn choose<'a>(found: &[&'a str], passed_over: Option<String>) -> Result<&'a str> {
    let choices = "name one with --agent NAME, or use any program with --agent-command CMD";
    let but = passed_over.map_or(String::new(), |why| format!("{why}; "));
    match found {
        [only] => Ok(only),
        [] => {
            let known = known::names().collect::<Vec<_>>().join(", ");
            bail!("{but}no known agent is installed ({known})\nhint: install one, {choices}")
        }
        several => bail!("{but}several agents are installed: {}\nhint: {choices}", several.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_only_installed_agent_is_chosen() {
        let broken = || Some("the file is broken".to_owned());
        assert_eq!(choose(&["claude"], broken()).unwrap(), "claude");
        let error = choose(&[], None).unwrap_err().to_string();
        assert!(error.starts_with("no known agent is installed (claude, codex, "), "{error}");
        let error = choose(&["a", "b"], None).unwrap_err().to_string();
        assert!(error.starts_with("several agents are installed: a, b\nhint: "), "{error}");
        let error = choose(&["a", "b"], broken()).unwrap_err().to_string();
        assert!(
            error.starts_with("the file is broken; several agents are installed: a, b\nhint: "),
            "{error}"
        );
    }

    #[test]
    fn spec_kit_says_which_agent_a_project_is_for() {
        for (file, text, wanted) in [
            (
                "integration.json",
                r#"{"default_integration": "codex", "integration": "claude"}"#,
                Ok(Some("codex")),
            ),
            ("integration.json", r#"{"integration": "kilocode"}"#, Ok(Some("kilo"))),
            ("init-options.json", r#"{"ai": "copilot"}"#, Ok(Some("copilot"))),
            ("init-options.json", r#"{"ai": "generic"}"#, Ok(None)),
            ("init-options.json", r#"{"script": "sh"}"#, Ok(None)),
            (
                "init-options.json",
                r#"{"ai": "some-editor"}"#,
                Err(
                    "spec-kit is set up for some-editor (.specify/init-options.json), which is not supported",
                ),
            ),
            (
                "integration.json",
                "{",
                Err(".specify/integration.json is not JSON (EOF while parsing an object"),
            ),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let root = Utf8Path::from_path(folder.path()).unwrap();
            fs::create_dir(root.join(".specify")).unwrap();
            fs::write(root.join(".specify").join(file), text).unwrap();
            match (of_spec_kit(&ProjectFiles::new(root, &[], &[]), root), wanted) {
                (Some(ConfiguredAgent::Known(known)), Ok(Some(name))) => {
                    assert_eq!(known.name, name, "{text}");
                }
                (None, Ok(None)) => {}
                (Some(ConfiguredAgent::Nothing(why)), Err(words)) => {
                    assert!(why.starts_with(words), "{text}: {why}");
                }
                (found, _) => panic!("{text}: {found:?}"),
            }
        }
    }

    #[test]
    fn an_agent_is_installed_when_it_says_its_version() {
        let folder = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(folder.path()).unwrap();
        let program = |name: &str, text: &str| {
            let path = folder.join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        };
        program("codex", "#!/bin/sh\necho codex-cli 1.2.3\n");
        program("gemini", "#!/bin/sh\necho 'native binary not installed' >&2\nexit 1\n");
        program("qwen", "#!/bin/sh\necho nightly\n");
        let path = format!("{folder}:/usr/bin:/bin");
        let lookup = |name: &str| (name == "PATH").then(|| path.clone());
        let settings = |name: &str| AgentSettings {
            env: vec![("PATH".to_owned(), path.clone())],
            ..AgentSettings::named(name)
        };
        let listed = list(&settings, folder, &lookup);
        let of = |name: &str| listed.iter().find(|agent| agent.name == name).unwrap();
        assert_eq!(of("codex").version.as_deref(), Some("1.2.3"));
        assert_eq!((of("codex").is_installed, &of("codex").missing), (true, &None));
        assert!(!of("gemini").is_installed);
        let missing = of("gemini").missing.as_ref().unwrap();
        assert!(
            missing.starts_with(
                "`gemini --version` fails: native binary not installed\nhint: install it again ("
            ),
            "{missing}"
        );
        assert_eq!((of("qwen").is_installed, &of("qwen").version, &of("qwen").missing), (true, &None, &None));
        assert!(of("kilo").path.is_none());
        assert!(of("kilo").missing.as_ref().unwrap().starts_with("agent `kilo` is not installed"));
    }
}
