//! Agents: the outside programs that get a prompt and may change the work tree.

mod adapter;
pub mod answer;
mod command;
mod detect;
pub mod final_message;
mod known;
mod launch;
mod lines;
mod remedy;
mod rollout;
pub mod script;
mod scripted;
mod stream;
mod vitals;

use std::time::Duration;

use anyhow::{Result, bail};
use camino::{Utf8Path, Utf8PathBuf};
use rustix::fs::{Access, access};

use crate::clock::Clock;
use crate::process::{Interrupt, Limits, Marker};
use crate::record::{AgentEvent, AgentRun, FailureClass, Parser, Permissions, PromptVia};

use adapter::Adapter;
use command::Command;
use scripted::Scripted;
use stream::{End, StreamReader};

pub use detect::{Listed, detect, list, passed_over};

/// An agent that can be run.
pub trait Agent {
    /// As the user calls it.
    fn name(&self) -> &str;

    /// What it says of its version, where it can be asked without harm.
    fn version(&self) -> Option<String>;

    /// Whether it can be run here at all; an error says what to do.
    fn check(&self, surroundings: &Surroundings<'_>) -> Result<()>;

    /// What the user can do where it failed in a way that no second try mends.
    fn remedy(&self, class: FailureClass) -> String {
        remedy::of(class)
    }

    /// Gives it one prompt, and waits for its end. What it does meanwhile is said, as far as it tells.
    fn run(
        &self,
        turn: &Turn<'_>,
        interrupt: &Interrupt,
        say: &mut dyn FnMut(AgentEvent),
    ) -> Result<AgentRun>;
}

/// What an agent gets for one iteration.
#[derive(Debug)]
pub struct Turn<'a> {
    /// The prompt, in the spool.
    pub prompt: &'a Utf8Path,
    /// Where its streams go, in the spool.
    pub stdout: &'a Utf8Path,
    pub stderr: &'a Utf8Path,
    /// The project's root.
    pub directory: &'a Utf8Path,
    /// The `RALPH_*` variables.
    pub environment: &'a [(String, String)],
    pub limits: Limits,
    pub marker: &'a Marker,
    pub clock: &'a Clock,
}

/// Asks for a variable of the environment that children inherit.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Where an agent would run.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// The project's root.
    pub directory: &'a Utf8Path,
    pub lookup: Lookup<'a>,
}

/// How an agent is set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSettings {
    pub name: String,
    /// What to start instead of what is known by that name. For `scripted`, the script file.
    pub command: Option<Vec<String>>,
    pub prompt: PromptVia,
    pub parser: Parser,
    /// Set for the agent over what it inherits.
    pub env: Vec<(String, String)>,
    pub model: Option<String>,
    pub permissions: Permissions,
}

/// How long an agent may be silent whose stream tells when it waits for a tool.
const IDLE: Duration = Duration::from_secs(15 * 60);

/// How long one may be silent that might be waiting for a tool.
const IDLE_PERHAPS_BUSY: Duration = Duration::from_secs(30 * 60);

impl AgentSettings {
    /// The agent of that name, with everything else as it is by default.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            command: None,
            prompt: PromptVia::default(),
            parser: Parser::default(),
            env: Vec::new(),
            model: None,
            permissions: Permissions::default(),
        }
    }

    /// An agent that is a shell command, as `--agent-command` gives it.
    pub fn shell(command: &str) -> Self {
        let words = ["sh", "-c", command].map(str::to_owned);
        Self { command: Some(words.into()), ..Self::named("command") }
    }

    /// The idle limit where the user sets none: a command of the user's may well be silent.
    pub fn idle_by_default(&self) -> Option<Duration> {
        let is_command = self.command.is_some() && self.name != Scripted::NAME;
        let parser = known::find(&self.name).map_or(self.parser, |known| known.parser);
        let tells_of_tools = !matches!(parser, Parser::Opencode | Parser::Aider);
        (!is_command).then_some(if tells_of_tools { IDLE } else { IDLE_PERHAPS_BUSY })
    }
}

/// Returns what an agent did, by what it printed, or `None` if that is text for people already. The output may begin and
/// end anywhere.
pub fn parse_transcript(parser: Parser, output: &[u8]) -> Option<Vec<AgentEvent>> {
    if parser == Parser::Text {
        return None;
    }
    let mut events = Vec::new();
    StreamReader::new(parser).lines(output, &mut |event| events.push(event));
    Some(events)
}

/// Reads a whole output in every form that we know, for fuzzing alone.
#[doc(hidden)]
pub fn read_streams(output: &[u8]) {
    for (_, parser) in Parser::ALL {
        let mut stream = StreamReader::new(*parser);
        stream.lines(output, &mut |_| ());
        drop(stream.finish(&End { code: 0, stdout: Utf8Path::new("/nowhere") }));
    }
}

/// Makes the agent that the settings describe. `own_program` is how we are called, up to our own sub-commands:
/// `specify ralph`, or `git-ralph`.
pub fn build(settings: &AgentSettings, own_program: &[String], lookup: Lookup<'_>) -> Result<Box<dyn Agent>> {
    Ok(match (&settings.command, settings.name.as_str()) {
        (script, Scripted::NAME) => {
            Box::new(Scripted::new(script.as_deref().unwrap_or_default(), own_program, settings)?)
        }
        (Some(command), _) => Box::new(Command::new(command, settings)?),
        (None, name) => match known::find(name) {
            Some(known) => Box::new(Adapter::new(known, settings, lookup)),
            None => bail!(
                "unknown agent `{name}`\nhint: known agents are {} and scripted; for any other program, set \
                 `command` in [agents.{name}] of .specify/ralph.toml, or use --agent-command CMD",
                known::names().collect::<Vec<_>>().join(", ")
            ),
        },
    })
}

/// Where a program is that can be run by its name.
fn on_path(program: &str, path_variable: &str) -> Option<Utf8PathBuf> {
    let folders = path_variable.split(':').filter(|folder| !folder.is_empty());
    folders.map(|folder| Utf8Path::new(folder).join(program)).find(|path| is_executable(path))
}

fn is_executable(path: &Utf8Path) -> bool {
    path.is_file() && access(path.as_std_path(), Access::EXEC_OK).is_ok()
}

/// Sees to it that a program can be started by this word.
fn check_program(agent: &str, program: &str, surroundings: &Surroundings<'_>) -> Result<()> {
    if !program.contains('/') {
        let path_variable = (surroundings.lookup)("PATH").unwrap_or_default();
        if on_path(program, &path_variable).is_none() {
            bail!(
                "agent `{agent}`: no program `{program}` on the PATH\nhint: install it, or choose another \
                 agent with --agent NAME or --agent-command CMD"
            );
        }
        return Ok(());
    }
    let path = surroundings.directory.join(program);
    if !path.is_file() {
        bail!(
            "agent `{agent}`: there is no program {path}\nhint: correct its command (--agent-command, or `command` in [agents.{agent}])"
        );
    }
    if !is_executable(&path) {
        bail!("agent `{agent}`: {path} is not executable\nhint: chmod +x {path}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own_program() -> Vec<String> {
        vec!["/bin/specify".to_owned(), "ralph".to_owned()]
    }

    fn complaint(settings: &AgentSettings) -> String {
        build(settings, &own_program(), &|_| None).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn an_unknown_agent_is_refused_with_the_known_ones() {
        let text = complaint(&AgentSettings::named("cluade"));
        assert!(text.starts_with("unknown agent `cluade`\nhint: known agents are claude, codex, "), "{text}");
    }

    #[test]
    fn a_command_may_have_any_name_even_a_known_one() {
        for name in ["fake", "claude"] {
            let settings =
                AgentSettings { command: Some(vec!["true".to_owned()]), ..AgentSettings::named(name) };
            assert_eq!(build(&settings, &own_program(), &|_| None).unwrap().name(), name);
            assert_eq!(settings.idle_by_default(), None);
        }
        for (name, minutes) in
            [("claude", 15), ("scripted", 15), ("opencode", 30), ("kilo", 30), ("aider", 30)]
        {
            let idle = AgentSettings::named(name).idle_by_default();
            assert_eq!(idle, Some(Duration::from_secs(minutes * 60)), "{name}");
        }
    }

    #[test]
    fn a_program_that_cannot_be_started_is_named_with_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(folder.path()).unwrap();
        std::fs::write(folder.join("agent.sh"), "").unwrap();
        let lookup = |name: &str| (name == "PATH").then(|| "/bin:/usr/bin".to_owned());
        let surroundings = Surroundings { directory: folder, lookup: &lookup };
        let complaint =
            |program: &str| check_program("fake", program, &surroundings).err().map(|e| e.to_string());
        assert_eq!(complaint("sh"), None);
        assert_eq!(complaint("/bin/sh"), None);
        for (program, wanted) in [
            ("no-such-program", "agent `fake`: no program `no-such-program` on the PATH\nhint: "),
            ("./agent.sh", "is not executable\nhint: chmod +x "),
            ("./missing.sh", "agent `fake`: there is no program "),
        ] {
            let text = complaint(program).unwrap();
            assert!(text.contains(wanted), "{text}");
        }
    }
}
