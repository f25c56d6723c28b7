//! The fence around the commands of a loop: what they may write, read and reach. The work is done by a program of the
//! system or the user; here is what it is told, from one description.

mod agent_state;
mod bwrap;
mod home;
mod login;
mod places;
mod privileges;
mod self_test;
mod srt;
mod variables;

use std::collections::{BTreeMap, BTreeSet};
use std::env::split_paths;
use std::fs;
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result};
use camino::{Utf8Path, Utf8PathBuf};
use sha2::{Digest, Sha256};

use crate::if_there::IfThere;
use crate::platform::{canonicalize, program_names};
use crate::process::{Tool, create_private_dir, outside, remove_path};
use ralph_core::record::{Refusal, SandboxFacts, hex};

pub use agent_state::{AgentState, SeededState};
pub use places::hidden;
pub use self_test::{PROBE, probe};
pub use variables::{locale, variable_names};

/// Stands for all words of the command in the words of a mechanism.
pub const COMMAND: &str = "{command}";

/// Variables by which toolchains find themselves, with the folders of the home in which they are without them.
const TOOLCHAINS: &[(&str, &str)] = &[
    ("RUSTUP_HOME", ".rustup"),
    ("CARGO_HOME", ".cargo"),
    ("PYENV_ROOT", ".pyenv"),
    ("NVM_DIR", ".nvm"),
    ("VOLTA_HOME", ".volta"),
    ("ASDF_DATA_DIR", ".asdf"),
    ("MISE_DATA_DIR", ".local/share/mise"),
    ("RBENV_ROOT", ".rbenv"),
    ("UV_PYTHON_INSTALL_DIR", ".local/share/uv/python"),
];

/// What puts the fence up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mechanism {
    /// Anthropic's sandbox-runtime.
    Srt,
    /// Bubblewrap, on Linux.
    Bwrap,
    /// The user's own program, with [`COMMAND`] where the command belongs.
    Command(Vec<String>),
}

/// Which hosts a command can reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Network {
    All,
    Hosts(Vec<String>),
    None,
}

/// Whose command it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Agent,
    /// The validation, and every other command of the project's.
    Check,
    /// A filter that git runs on files of the work tree, as git-lfs.
    Filter,
}

/// What commands may do, whatever keeps them from more.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Where the work is: the first is where commands belong.
    pub write: Vec<Utf8PathBuf>,
    /// What lies in there, and cannot be written all the same.
    pub read_only: Vec<Utf8PathBuf>,
    /// What filters can write beside the work, wherever it lies: the store of git-lfs.
    pub filters_write: Vec<Utf8PathBuf>,
    pub hide: Vec<Utf8PathBuf>,
    /// What can be read though it is hidden, or lies in a folder that is.
    pub show: Vec<Utf8PathBuf>,
    /// Variables that are passed on though they look like credentials.
    pub variables: Vec<String>,
    /// Variables in whose values a secret was found.
    pub secrets: Vec<String>,
    pub network: Network,
    pub check_network: Network,
}

/// A fence that was tested.
#[derive(Debug)]
pub struct Sandbox {
    mechanism: Mechanism,
    program: Utf8PathBuf,
    version: Option<String>,
    rules: Rules,
    private_dir: Utf8PathBuf,
    /// The user's.
    real_home: Utf8PathBuf,
    home: Utf8PathBuf,
    /// True if commands find what of the user's home can be read in theirs.
    has_users_home: bool,
    /// Of all agents of the session.
    states: Vec<AgentState>,
    /// Where logins are kept that were replaced, or are no renewals.
    logins_dir: Utf8PathBuf,
    /// Those whose former one is kept: what the user had, not what an agent renewed before.
    kept: Mutex<BTreeSet<Utf8PathBuf>>,
    /// Programs that ran as their owner before any command inside.
    privileged: Vec<Utf8PathBuf>,
}

/// The fence for one command.
#[derive(Debug, Clone)]
pub struct Fence {
    sandbox: Arc<Sandbox>,
    purpose: Purpose,
    /// Variables with keys of the agent.
    variables: Vec<String>,
}

impl Mechanism {
    pub fn name(&self) -> &str {
        match self {
            Self::Srt => "srt",
            Self::Bwrap => "bwrap",
            Self::Command(words) => words.first().map_or("", String::as_str),
        }
    }

    /// Returns names of files that commands inside see where there are none, as devices, which git cannot add.
    pub fn phantoms(&self) -> &'static [&'static str] {
        if *self == Self::Srt && cfg!(target_os = "linux") { srt::PHANTOMS } else { &[] }
    }

    /// Returns what is there and can do what is asked: bubblewrap is enough, and starts at once, where no host is told from
    /// another.
    pub fn choose(networks: [&Network; 2], path_variable: &str) -> Self {
        let filters = networks.iter().any(|network| matches!(network, Network::Hosts(_)));
        if filters || !cfg!(target_os = "linux") {
            return Self::Srt;
        }
        let is_closed = !networks.contains(&&Network::All);
        if is_closed
            && on_path(Self::Bwrap.name(), path_variable).is_none()
            && on_path(Self::Srt.name(), path_variable).is_some()
        {
            Self::Srt
        } else {
            Self::Bwrap
        }
    }

    /// Returns the command that installs it.
    fn hint(&self) -> &'static str {
        match self {
            Self::Srt => {
                "npm install -g @anthropic-ai/sandbox-runtime, and on Linux: apt install bubblewrap socat ripgrep"
            }
            Self::Bwrap => "apt install bubblewrap",
            Self::Command(_) => "correct the command in `sandbox`",
        }
    }

    fn version(&self, program: &Utf8Path) -> Result<Option<String>, Refusal> {
        if matches!(self, Self::Command(_)) {
            return Ok(None);
        }
        let line = Tool::new(program.as_str(), Utf8Path::new("/")).arg("--version").line();
        let line = line.map_err(|error| Refusal::new(format!("{error:#}")).with_hint(self.hint()))?;
        Ok(line.split_whitespace().last().map(str::to_owned))
    }

    /// Returns its name and version if it is there and, as far as that is known without a fence, can run a command.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] with the command that helps.
    pub fn look_for(&self, path_variable: &str) -> Result<String> {
        let program = find(self, path_variable)?;
        let version = self.version(&program)?;
        if *self == Self::Bwrap {
            let words = ["--unshare-user", "--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc", "true"];
            let tried = Tool::new(program.as_str(), Utf8Path::new("/")).args(words).run()?;
            if !tried.is_success() {
                let why = format!("sandbox `bwrap` cannot run a command: {}", tried.complaint());
                return Err(Refusal::new(why).with_hint(self_test::NAMESPACES).into());
            }
        }
        Ok([self.name()].into_iter().chain(version.as_deref()).collect::<Vec<_>>().join(" "))
    }

    /// Refuses a network that it cannot give.
    fn check_network(&self, network: &Network) -> Result<(), Refusal> {
        let (problem, hint) = match (self, network) {
            (Self::Srt, Network::All) => (
                "srt lets commands reach only hosts that are listed",
                "name them, as in `--set sandbox.network=api.anthropic.com`, or use --sandbox bwrap",
            ),
            (Self::Bwrap, Network::Hosts(_)) => (
                "bwrap cannot filter the network by host",
                "use --sandbox srt, or `sandbox.network` all or none",
            ),
            (Self::Command(_), Network::Hosts(_) | Network::None) => (
                "`sandbox.network` is not known to a command of yours",
                "filter in the command itself, and leave `sandbox.network` at all",
            ),
            (Self::Srt, Network::Hosts(_) | Network::None)
            | (Self::Bwrap, Network::All | Network::None)
            | (Self::Command(_), Network::All) => return Ok(()),
        };
        Err(Refusal::new(problem).with_hint(hint))
    }
}

impl Network {
    /// Returns the network as people read it.
    pub fn text(&self) -> String {
        match self {
            Self::All => "all".to_owned(),
            Self::Hosts(hosts) => hosts.join(", "),
            Self::None => "none".to_owned(),
        }
    }
}

impl Sandbox {
    /// Makes the fence for somebody with this PATH and home folder, and tests it. `private_dir` has the private home and temporary
    /// files: it is made anew, and removed at the end.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] if the mechanism is missing, cannot do what the rules say, or does not hold.
    pub fn set_up(
        mechanism: Mechanism,
        rules: Rules,
        states: &[AgentState],
        path_variable: &str,
        home: Utf8PathBuf,
        private_dir: &Utf8Path,
        logins_dir: Utf8PathBuf,
    ) -> Result<Arc<Self>> {
        let program = find(&mechanism, path_variable)?;
        mechanism.check_network(&rules.network)?;
        mechanism.check_network(&rules.check_network)?;
        if let Some(missing) = rules.write.iter().find(|path| path.symlink_metadata().is_err()) {
            return Err(Refusal::new(format!("`sandbox.write` names {missing}, which does not exist"))
                .with_hint(format!("mkdir -p {missing}"))
                .into());
        }
        Self::remove(private_dir)?;
        for dir in ["tmp", "tmp/agent", "tmp/check", "probe"] {
            create_private_dir(&private_dir.join(dir))?;
        }
        let private_dir = canonicalize(private_dir).context("find the folder of the sandbox")?;
        let (real_home, home) = (home, private_dir.join("home"));
        let version = mechanism.version(&program)?;
        let (states, kept) = (states.to_vec(), Mutex::default());
        let privileged = privileges::find(&rules);
        let sandbox = Arc::new(Self {
            mechanism,
            program,
            version,
            rules,
            private_dir,
            real_home,
            home,
            has_users_home: true,
            states,
            logins_dir,
            kept,
            privileged,
        });
        sandbox.renew_home()?;
        sandbox.write_settings()?;
        self_test::run(&sandbox)?;
        Ok(sandbox)
    }

    /// Returns the same fence around other places, which commands can write instead of the work, with an empty home folder. It is not
    /// tested again.
    pub fn around(&self, places: Vec<Utf8PathBuf>) -> Result<Arc<Self>> {
        let private_dir = self.private_dir.join("clean");
        Self::remove(&private_dir)?;
        for dir in ["tmp", "tmp/agent", "tmp/check", "probe"] {
            create_private_dir(&private_dir.join(dir))?;
        }
        let work = self.rules.write.first();
        let further = self.rules.write.iter().filter(|path| !work.is_some_and(|work| path.starts_with(work)));
        let write = places.into_iter().chain(further.cloned()).collect();
        let sandbox = Arc::new(Self {
            mechanism: self.mechanism.clone(),
            program: self.program.clone(),
            version: self.version.clone(),
            rules: Rules { write, ..self.rules.clone() },
            home: private_dir.join("home"),
            private_dir,
            real_home: self.real_home.clone(),
            has_users_home: false,
            states: Vec::new(),
            logins_dir: self.logins_dir.clone(),
            kept: Mutex::default(),
            privileged: self.privileged.clone(),
        });
        sandbox.renew_home()?;
        sandbox.write_settings()?;
        Ok(sandbox)
    }

    /// Returns what the record says of it.
    pub fn facts(&self) -> SandboxFacts {
        let rules = format!("{:?}{:?}", self.mechanism, self.rules);
        SandboxFacts {
            mechanism: self.mechanism.name().to_owned(),
            version: self.version.clone(),
            settings: short_digest(&rules),
            network: self.rules.network.text(),
        }
    }

    /// Returns the names of our variables that no command inside gets.
    pub fn dropped(self: &Arc<Self>) -> Vec<String> {
        let kept = self.states.iter().flat_map(|state| state.variables.iter().cloned()).collect();
        let fence = Fence { sandbox: Arc::clone(self), purpose: Purpose::Agent, variables: kept };
        let set: Vec<_> = fence.variables().into_iter().map(|(name, _)| name).collect();
        let names = std::env::vars_os().filter_map(|(name, value)| {
            let name = name.into_string().ok()?;
            (fence.drops(&name, &value.to_string_lossy()) && !set.contains(&name.as_str())).then_some(name)
        });
        names.collect()
    }

    /// Writes the settings of srt where no command can change them.
    fn write_settings(&self) -> Result<()> {
        if self.mechanism == Mechanism::Srt {
            for purpose in [Purpose::Agent, Purpose::Check, Purpose::Filter] {
                let path = self.settings_file(purpose);
                let settings = srt::settings(&self.places(purpose), self.network(purpose));
                fs::write(&path, settings).with_context(|| format!("write {path}"))?;
            }
        }
        Ok(())
    }

    fn settings_file(&self, purpose: Purpose) -> Utf8PathBuf {
        self.private_dir.join(match purpose {
            Purpose::Agent => "agent.json",
            Purpose::Check => "check.json",
            Purpose::Filter => "filter.json",
        })
    }

    fn network(&self, purpose: Purpose) -> &Network {
        if purpose == Purpose::Agent { &self.rules.network } else { &self.rules.check_network }
    }

    /// Returns the folder for temporary files, as we see it. What an agent leaves in its own is not there for what checks it.
    fn temporary(&self, purpose: Purpose) -> Utf8PathBuf {
        self.private_dir.join(if purpose == Purpose::Agent { "tmp/agent" } else { "tmp/check" })
    }

    /// Returns the fence for a command of the project's.
    pub fn for_checks(self: &Arc<Self>) -> Fence {
        Fence { sandbox: Arc::clone(self), purpose: Purpose::Check, variables: Vec::new() }
    }

    /// Returns the fence for a command that installs what the project needs: it reaches what the agent does.
    pub fn for_setup(self: &Arc<Self>) -> Fence {
        Fence { sandbox: Arc::clone(self), purpose: Purpose::Agent, variables: Vec::new() }
    }

    /// Returns the fence for filters that git runs.
    pub fn for_filters(self: &Arc<Self>) -> Fence {
        Fence { sandbox: Arc::clone(self), purpose: Purpose::Filter, variables: Vec::new() }
    }

    /// Returns the fence for an agent, with the variables that hold its keys.
    pub fn for_agent(self: &Arc<Self>, state: &AgentState) -> Fence {
        Fence { sandbox: Arc::clone(self), purpose: Purpose::Agent, variables: state.variables.clone() }
    }

    /// Removes the folder of a process that died.
    pub fn remove(private_dir: &Utf8Path) -> Result<()> {
        remove_path(private_dir).with_context(|| format!("remove {private_dir}"))
    }

    fn renew_home(&self) -> Result<()> {
        let Rules { hide, show, .. } = &self.rules;
        let real = self.has_users_home.then_some(self.real_home.as_path());
        home::renew(real, &self.home, hide, show, &self.states).context("make the home folder of the sandbox")
    }

    /// Returns where a copy of a file of ours can be read inside, and makes it.
    pub fn copy_inside(&self, file: &Utf8Path) -> Result<Utf8PathBuf> {
        let copy = self.private_dir.join(file.file_name().unwrap_or("input"));
        fs::remove_file(&copy).if_there().with_context(|| format!("remove {copy}"))?;
        fs::copy(file, &copy).with_context(|| format!("copy {file} to {copy}"))?;
        Ok(copy)
    }

    /// Returns what a command wrote into a file of its home folder.
    pub fn read_from_home(&self, file: &str) -> Result<Option<Vec<u8>>> {
        home::read_plain(&self.home, Utf8Path::new(file)).with_context(|| format!("read {file}"))
    }

    /// Returns the home folder that commands have.
    pub fn home(&self) -> &Utf8Path {
        &self.home
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // What cannot be removed now is removed at the next start, or named there.
        let _gone = remove_path(&self.private_dir).is_ok();
    }
}

impl Fence {
    /// Returns the words that run a command inside. Its program is a path if it has slashes.
    pub fn wrap(&self, command: &[String], directory: &Utf8Path) -> Vec<String> {
        let Sandbox { mechanism, program, .. } = &*self.sandbox;
        let mut words = vec![program.to_string()];
        match mechanism {
            Mechanism::Srt => {
                let settings = self.sandbox.settings_file(self.purpose).into_string();
                // srt itself exits 0 if a signal ended its command; a shell says so by its exit code.
                let keep_code =
                    ["sh", "-c", srt::script(self.sandbox.network(self.purpose)), "sh"].map(str::to_owned);
                words.extend(["--settings".to_owned(), settings, "--".to_owned()]);
                words.extend(keep_code);
                words.extend_from_slice(command);
            }
            Mechanism::Bwrap => {
                let network = self.sandbox.network(self.purpose);
                words.extend(bwrap::arguments(&self.sandbox.places(self.purpose), network, directory));
                words.extend_from_slice(command);
            }
            Mechanism::Command(own) => {
                let values = [
                    ("{folder}", self.sandbox.rules.write.first().map_or("", |path| path.as_str())),
                    ("{directory}", directory.as_str()),
                    ("{home}", self.sandbox.home.as_str()),
                ];
                for word in &own[1..] {
                    if word == COMMAND {
                        words.extend_from_slice(command);
                    } else {
                        words.push(
                            values.iter().fold(word.clone(), |word, (name, value)| word.replace(name, value)),
                        );
                    }
                }
            }
        }
        words
    }

    /// Returns words that run a command with the variables of the user that programs outside do not get, but for what is `own` or
    /// dropped.
    pub fn as_the_user<'v>(
        &self,
        words: Vec<String>,
        own: impl IntoIterator<Item = (&'v str, &'v str)>,
    ) -> Vec<String> {
        let outside = outside::in_force();
        let mut set: BTreeMap<&str, &str> = BTreeMap::new();
        for (name, value) in outside.iter().flat_map(|outside| outside.users_variables()) {
            set.extend(value.to_str().filter(|value| !self.drops(name, value)).map(|value| (name, value)));
        }
        for (name, value) in own {
            set.extend(outside::leads(name).then_some((name, value)));
        }
        if set.is_empty() {
            return words;
        }
        let set = set.into_iter().map(|(name, value)| format!("{name}={value}"));
        ["env".to_owned()].into_iter().chain(set).chain(words).collect()
    }

    /// Returns true if a variable is not passed on.
    pub fn drops(&self, name: &str, value: &str) -> bool {
        let is_wanted = self.variables.iter().chain(&self.sandbox.rules.variables).any(|kept| kept == name);
        let is_secret = self.sandbox.rules.secrets.iter().any(|secret| secret == name);
        !is_wanted && (is_secret || variables::is_dropped(name, value))
    }

    /// Returns the variables that commands get inside.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let temporary = self.sandbox.temporary(self.purpose).into_string();
        let name = self.sandbox.mechanism.name().to_owned();
        let mut variables = vec![
            ("HOME", self.sandbox.home.to_string()),
            ("RALPH_SANDBOX", name),
            // Claude Code gives root full permissions in a sandbox alone.
            ("IS_SANDBOX", "1".to_owned()),
        ];
        if !self.sandbox.has_users_home {
            variables.extend(toolchains(&self.sandbox.real_home));
        }
        variables.push(match self.sandbox.mechanism {
            Mechanism::Bwrap => ("TMPDIR", "/tmp".to_owned()),
            // It gives its commands this one as TMPDIR, and makes sockets in its own.
            Mechanism::Srt => ("CLAUDE_CODE_TMPDIR", temporary),
            Mechanism::Command(_) => ("TMPDIR", temporary),
        });
        variables
    }

    /// Returns true for a process of the mechanism itself, by its name. The first one in a namespace of bubblewrap ends last, after
    /// all that a command left there: on a busy machine it is still ending when the command has ended.
    pub fn is_own_process(&self, name: &str) -> bool {
        !matches!(self.sandbox.mechanism, Mechanism::Command(_)) && name == "bwrap"
    }

    /// Returns the sandbox that it is of.
    pub fn sandbox(&self) -> &Arc<Sandbox> {
        &self.sandbox
    }
}

/// Returns the variables by which programs find what belongs to them in the home folder, for commands that have another one.
pub fn toolchains(home: &Utf8Path) -> Vec<(&'static str, String)> {
    let is_set = |name: &str| std::env::vars_os().any(|(known, _)| known == name);
    let set = TOOLCHAINS.iter().filter_map(|(name, folder)| {
        let folder = home.join(folder);
        (!is_set(name) && folder.is_dir()).then(|| (*name, folder.into_string()))
    });
    set.collect()
}

/// Returns twelve hexadecimal digits that tell a text from others.
pub fn short_digest(text: &str) -> String {
    hex(&Sha256::digest(text)[..6])
}

/// Returns where the program of a mechanism is. One that commands could replace is no fence.
fn find(mechanism: &Mechanism, path_variable: &str) -> Result<Utf8PathBuf> {
    let name = mechanism.name();
    if cfg!(windows) && !matches!(mechanism, Mechanism::Command(_)) {
        return Err(Refusal::new(format!("sandbox `{name}`: it does not run on Windows"))
            .with_hint(format!(
                "run in WSL, or set `sandbox` to the words of a program of yours, with `{COMMAND}` where the command belongs"
            ))
            .into());
    }
    if let Mechanism::Command(words) = mechanism
        && !words.iter().any(|word| word == COMMAND)
    {
        return Err(Refusal::new(format!("`sandbox` has no `{COMMAND}`"))
            .with_hint("write it as a word of its own, where the command belongs")
            .into());
    }
    let Some(found) = on_path(name, path_variable) else {
        return Err(Refusal::new(format!("sandbox `{name}`: there is no program `{name}` on the PATH"))
            .with_hint(mechanism.hint())
            .into());
    };
    // The path found, not where its links lead: package managers move that.
    let Some(found) = outside::start_of(&found) else {
        return Err(Refusal::new(format!("sandbox `{name}`: the agent could change {found}"))
            .with_hint("install it outside of what commands may write")
            .into());
    };
    Ok(found)
}

fn on_path(name: &str, path_variable: &str) -> Option<Utf8PathBuf> {
    if Utf8Path::new(name).is_absolute() {
        return Some(Utf8PathBuf::from(name)).filter(|path| path.is_file());
    }
    let folders = split_paths(path_variable).filter_map(|folder| Utf8PathBuf::from_path_buf(folder).ok());
    let folders = folders.filter(|folder| folder.is_absolute());
    let names = program_names(name);
    folders.flat_map(|folder| names.iter().map(move |name| folder.join(name))).find(|path| path.is_file())
}

#[cfg(test)]
mod tests;
