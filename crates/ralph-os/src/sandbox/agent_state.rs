//! What an agent has of the user's home: copies of its settings and credentials, and the credentials' way back.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::sync::{Arc, PoisonError};

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
    /// Credentials as they were handed out.
    before: BTreeMap<Utf8PathBuf, Vec<u8>>,
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
    /// Makes the home folder anew, with copies of what an agent needs of the user's.
    pub fn seed(self: &Arc<Self>, state: &AgentState) -> Result<SeededState> {
        self.renew_home()?;
        self.write_settings()?;
        for path in state.paths() {
            let (from, to) = (state.original(path, &self.real_home), self.home.join(path));
            home::copy(&from, &to).with_context(|| format!("copy {from} for the agent"))?;
        }
        let before = state.read_credentials(&self.real_home)?;
        Ok(SeededState { sandbox: Arc::clone(self), state: state.clone(), before })
    }
}

impl SeededState {
    /// Returns the variables that lead the agent to its copies.
    pub fn variables(&self) -> impl Iterator<Item = (String, String)> + '_ {
        let set = self.state.folders.iter().filter(|(.., set)| set.is_some());
        set.map(|(name, usual, _)| (name.clone(), self.sandbox.home.join(usual).into_string()))
    }

    /// Writes credentials back that the agent renewed, and throws all copies away. The former one is kept in a folder of ours; so is
    /// a copy that is no renewal, and the user's stays. Returns what is to be said of those that did not go back.
    pub fn give_back(self) -> Result<Vec<String>> {
        let (real_home, home) = (&self.sandbox.real_home, &self.sandbox.home);
        let current = self.state.read_credentials(real_home)?;
        let mut said = Vec::new();
        for (path, before) in &self.before {
            let copy = read_plain(home, path).with_context(|| format!("read {path} of the agent"))?;
            let Some(copy) = copy.filter(|copy| copy != before && !copy.is_empty()) else { continue };
            let original = self.state.original(path, real_home);
            if current.get(path) == Some(&copy) {
                continue;
            }
            if current.get(path) != Some(before) {
                said.push(format!(
                    "login was changed meanwhile: {original} stays, and what the agent renewed is lost"
                ));
            } else if login::can_replace(before, &copy) {
                if self.sandbox.kept.lock().unwrap_or_else(PoisonError::into_inner).insert(path.clone()) {
                    self.keep(path, "former", before)?;
                }
                home::replace(&original, &copy).with_context(|| format!("write {original}"))?;
            } else {
                let kept = self.keep(path, "wrong", &copy)?;
                said.push(format!("login looks wrong: kept at {kept}; yours may be used up"));
            }
        }
        self.sandbox.renew_home()?;
        Ok(said)
    }

    /// Keeps a login where no command can read it. Returns where.
    fn keep(&self, path: &Utf8Path, what: &str, bytes: &[u8]) -> Result<Utf8PathBuf> {
        let folder = &self.sandbox.logins_dir;
        create_private_dir(folder)?;
        let file = folder.join(format!("{}.{what}", path.as_str().trim_start_matches('.').replace('/', "-")));
        fs::remove_file(&file).if_there().with_context(|| format!("remove {file}"))?;
        let written = with_mode(0o600).write(true).create_new(true).open(&file);
        let written = written.and_then(|mut opened| opened.write_all(bytes));
        written.with_context(|| format!("write {file}")).map(|()| file)
    }
}
