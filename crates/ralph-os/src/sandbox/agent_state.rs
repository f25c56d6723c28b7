//! What an agent has of the user's home: copies of its settings and credentials, and the credentials' way back.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use camino::{Utf8Path, Utf8PathBuf};

use super::Sandbox;
use super::home::{self, read_plain};
use super::login;
use crate::if_there::IfThere;
use crate::platform::with_mode;
use crate::process::create_private_dir;

/// Maximum size of a settings file that is looked at.
const MAX_SETTINGS_BYTES: u64 = 1 << 20;

/// How long other agents with a login wait for one that starts and says nothing.
const MAX_START_TIME: Duration = Duration::from_mins(1);

/// What an agent needs of the user's home.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentState {
    /// Files and folders that it gets copies of, from the home folder.
    pub copies: Vec<Utf8PathBuf>,
    /// Files that it gets too, and that are written back if it changed them, as when it renews a login.
    pub credentials: Vec<Utf8PathBuf>,
    /// Variables that name a folder of its own, that folder by default, and where it is if one is set.
    pub folders: Vec<(String, Utf8PathBuf, Option<Utf8PathBuf>)>,
    /// Variables that hold its keys.
    pub variables: Vec<String>,
}

/// Copies that an agent works with.
#[derive(Debug)]
pub struct SeededState {
    sandbox: Arc<Sandbox>,
    state: AgentState,
    /// Credentials as they were handed out, or written back since.
    before: BTreeMap<Utf8PathBuf, Vec<u8>>,
    /// Those that the agent changed, as they were at the last look.
    seen: BTreeMap<Utf8PathBuf, Vec<u8>>,
    /// No other agent with this login starts while this is open: most renew an old one then, and servers take each once.
    starting: Option<(File, Instant)>,
}

impl AgentState {
    /// Returns all that is copied.
    fn paths(&self) -> impl Iterator<Item = &Utf8PathBuf> {
        self.copies.iter().chain(&self.credentials)
    }

    /// Returns the folders and files that are the agent's alone: for `.claude/settings.json` it is `.claude`, for
    /// `.config/opencode/x` it is `.config/opencode`.
    pub(super) fn roots(&self) -> impl Iterator<Item = Utf8PathBuf> + '_ {
        self.paths().map(|path| {
            let depth = match path.components().next().map(|first| first.as_str()) {
                Some(".local") => 3,
                Some(".config") => 2,
                _ => 1,
            };
            path.components().take(depth).collect()
        })
    }

    /// Returns where the user has what is copied to `path`.
    fn original(&self, path: &Utf8Path, home: &Utf8Path) -> Utf8PathBuf {
        let moved = self.folders.iter().find_map(|(_, usual, set)| {
            set.as_ref().and_then(|set| Some(set.join(path.strip_prefix(usual).ok()?)))
        });
        moved.unwrap_or_else(|| home.join(path))
    }

    /// Returns the settings files of the agent as the user has them, with their paths; `None` if there are none. What an agent
    /// counts for itself at each start is no setting, nor are folders.
    pub fn settings(&self, home: &Utf8Path) -> Option<String> {
        let mut texts = String::new();
        for path in self.copies.iter().filter(|path| path.file_name() != Some(".claude.json")) {
            let original = self.original(path, home);
            let is_small = |found: fs::Metadata| found.is_file() && found.len() <= MAX_SETTINGS_BYTES;
            if fs::metadata(&original).is_ok_and(is_small)
                && let Ok(bytes) = fs::read(&original)
            {
                texts.push_str(&format!("{path}\0{}\0", String::from_utf8_lossy(&bytes)));
            }
        }
        (!texts.is_empty()).then_some(texts)
    }

    /// Returns the credentials as the user has them.
    fn read_credentials(&self, home: &Utf8Path) -> Result<BTreeMap<Utf8PathBuf, Vec<u8>>> {
        let mut read = BTreeMap::new();
        for path in &self.credentials {
            let original = self.original(path, home);
            let bytes = fs::read(&original).if_there().with_context(|| format!("read {original}"))?;
            read.extend(bytes.map(|bytes| (path.clone(), bytes)));
        }
        Ok(read)
    }
}

impl Sandbox {
    /// Does what [`Self::seed`] does when no other agent with the same login is starting. `pause` waits between two looks; once it
    /// returns false, there is no waiting.
    pub fn seed_in_turn(
        self: &Arc<Self>,
        state: &AgentState,
        pause: &mut dyn FnMut() -> bool,
    ) -> Result<SeededState> {
        let logins = state.read_credentials(&self.real_home)?;
        let Some((path, _)) = logins.first_key_value() else { return self.seed(state) };
        let file = self.lock_file(&format!("{}.starting", flat(path)))?;
        let is_held = loop {
            match file.try_lock() {
                Ok(()) => break true,
                Err(TryLockError::WouldBlock) if pause() => {}
                Err(TryLockError::WouldBlock) => break false,
                Err(TryLockError::Error(error)) => return Err(error).context("lock the login of an agent"),
            }
        };
        let seeded = self.seed(state)?;
        Ok(SeededState { starting: is_held.then(|| (file, Instant::now())), ..seeded })
    }

    fn lock_file(&self, name: &str) -> Result<File> {
        create_private_dir(&self.logins_dir)?;
        let path = self.logins_dir.join(name);
        let opened = with_mode(0o600).write(true).create(true).truncate(false).open(&path);
        opened.with_context(|| format!("open {path}"))
    }

    /// Keeps others from changing logins until it is dropped.
    fn lock_logins(&self) -> Result<File> {
        let file = self.lock_file("lock")?;
        file.lock().context("lock the logins of agents")?;
        Ok(file)
    }

    /// Makes the home folder anew, with copies of what an agent needs of the user's.
    pub fn seed(self: &Arc<Self>, state: &AgentState) -> Result<SeededState> {
        self.renew_home()?;
        self.write_settings()?;
        let _alone = if state.credentials.is_empty() { None } else { Some(self.lock_logins()?) };
        for path in state.paths() {
            let (from, to) = (state.original(path, &self.real_home), self.home.join(path));
            home::copy(&from, &to).with_context(|| format!("copy {from} for the agent"))?;
        }
        let before = state.read_credentials(&self.real_home)?;
        let (sandbox, state) = (Arc::clone(self), state.clone());
        Ok(SeededState { sandbox, state, before, seen: BTreeMap::new(), starting: None })
    }
}

impl SeededState {
    /// Returns the variables that lead the agent to its copies.
    pub fn variables(&self) -> impl Iterator<Item = (String, String)> + '_ {
        let set = self.state.folders.iter().filter(|(.., set)| set.is_some());
        set.map(|(name, usual, _)| (name.clone(), self.sandbox.home.join(usual).into_string()))
    }

    /// Writes renewed credentials back while the agent runs, as others start with them meanwhile. They may, once the model
    /// `has_answered`, or after a time.
    pub fn look(&mut self, has_answered: bool) -> Result<()> {
        self.write_back(false)?;
        self.starting.take_if(|(_, since)| has_answered || since.elapsed() >= MAX_START_TIME);
        Ok(())
    }

    /// Returns true if the user has another login by now than was handed out.
    pub fn was_renewed_elsewhere(&self) -> Result<bool> {
        Ok(self.state.read_credentials(&self.sandbox.real_home)? != self.before)
    }

    /// Writes credentials back that the agent renewed, and throws all copies away. The former one is kept in a folder of ours; so is
    /// a copy that is no renewal, and the user's stays. Returns what is to be said of those that did not go back.
    pub fn give_back(mut self) -> Result<Vec<String>> {
        let said = self.write_back(true)?;
        self.sandbox.renew_home()?;
        Ok(said)
    }

    fn write_back(&mut self, is_over: bool) -> Result<Vec<String>> {
        let sandbox = Arc::clone(&self.sandbox);
        let (real_home, home) = (&sandbox.real_home, &sandbox.home);
        let (mut said, mut changed) = (Vec::new(), Vec::new());
        for (path, before) in &self.before {
            let copy = read_plain(home, path).with_context(|| format!("read {path} of the agent"))?;
            let Some(copy) = copy.filter(|copy| copy != before && !copy.is_empty()) else { continue };
            // One that is just being written is not whole.
            if is_over || login::is_json(&copy) || self.seen.get(path) == Some(&copy) {
                changed.push((path.clone(), before.clone(), copy));
            } else {
                self.seen.insert(path.clone(), copy);
            }
        }
        if changed.is_empty() {
            return Ok(said);
        }
        let _alone = sandbox.lock_logins()?;
        let current = self.state.read_credentials(real_home)?;
        for (path, before, copy) in changed {
            let original = self.state.original(&path, real_home);
            let is_usable = login::can_replace(&before, &copy);
            if current.get(&path) == Some(&copy) {
                self.before.insert(path, copy);
            } else if current.get(&path) == Some(&before) && is_usable {
                if sandbox.kept.lock().unwrap_or_else(PoisonError::into_inner).insert(path.clone()) {
                    self.keep(&path, "former", &before)?;
                }
                home::replace(&original, &copy).with_context(|| format!("write {original}"))?;
                self.before.insert(path, copy);
            } else if is_over && current.get(&path) == Some(&before) {
                let kept = self.keep(&path, "wrong", &copy)?;
                said.push(format!("login looks wrong: kept at {kept}; yours may be used up"));
            } else if is_over {
                said.push(format!(
                    "login was changed meanwhile: {original} stays, and what the agent renewed is lost"
                ));
            }
        }
        Ok(said)
    }

    /// Keeps a login where no command can read it. Returns where.
    fn keep(&self, path: &Utf8Path, what: &str, bytes: &[u8]) -> Result<Utf8PathBuf> {
        let folder = &self.sandbox.logins_dir;
        create_private_dir(folder)?;
        let file = folder.join(format!("{}.{what}", flat(path)));
        fs::remove_file(&file).if_there().with_context(|| format!("remove {file}"))?;
        let written = with_mode(0o600).write(true).create_new(true).open(&file);
        let written = written.and_then(|mut opened| opened.write_all(bytes));
        written.with_context(|| format!("write {file}")).map(|()| file)
    }
}

/// Returns the name of a file by which one of the home folder is known elsewhere.
fn flat(path: &Utf8Path) -> String {
    path.as_str().trim_start_matches('.').replace('/', "-")
}
