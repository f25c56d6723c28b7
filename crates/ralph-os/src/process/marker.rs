//! The marker of a session, by which all its descendants can be found.

use std::fs::File;
use std::io::Read;
use std::sync::OnceLock;

use camino::{Utf8Path, Utf8PathBuf};

use super::system;
use ralph_core::record::{SessionId, hex};

/// The name of a session in the environment of its children, by which every descendant can be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker {
    session: Option<String>,
    /// Where the session runs: who recovers a copy of a repository must not stop what runs in the original.
    work_tree: Option<String>,
    /// Where the child that runs is noted, for systems on which no marker can be read.
    note: Option<Utf8PathBuf>,
}

impl Marker {
    pub const VARIABLE: &str = "RALPH_SESSION";
    const WORK_TREE: &str = "RALPH_WORK_TREE";
    /// What our own tools carry, and with them the helpers that they start, as gpg-agent.
    pub(super) const TOOL: &str = "RALPH_TOOL";

    pub fn new(session: &SessionId) -> Self {
        Self { session: Some(session.to_string()), work_tree: None, note: None }
    }

    /// The marker of all sessions in one work tree.
    pub fn of_work_tree(top: &Utf8Path) -> Self {
        Self { session: None, work_tree: Some(top.to_string()), note: None }
    }

    /// The marker of a session in one work tree alone.
    #[must_use]
    pub fn in_work_tree(self, top: &Utf8Path) -> Self {
        Self { work_tree: Some(top.to_string()), ..self }
    }

    /// The same, with a file to note children in.
    #[must_use]
    pub fn noted_in(self, file: Utf8PathBuf) -> Self {
        Self { note: Some(file), ..self }
    }

    /// Returns where children are to be noted.
    pub(super) fn note(&self) -> Option<&Utf8Path> {
        self.note.as_deref().filter(|_| system::is_portable())
    }

    /// Returns the id of the session; empty if it is of all.
    pub fn value(&self) -> &str {
        self.session.as_deref().unwrap_or_default()
    }

    /// Returns the value that tools of this process carry. No agent gets it in its variables, nor can guess it.
    pub(super) fn of_tools() -> &'static str {
        static VALUE: OnceLock<String> = OnceLock::new();
        VALUE.get_or_init(|| {
            let mut random = [0; 16];
            let read = File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut random));
            // Where there is none, no process is found by descent either.
            if read.is_ok() { hex(&random) } else { std::process::id().to_string() }
        })
    }

    /// Returns what carries it.
    pub fn variables(&self) -> Vec<(&'static str, &str)> {
        let work_tree = self.work_tree.as_deref().map(|top| (Self::WORK_TREE, top));
        let session = self.session.as_deref().map(|session| (Self::VARIABLE, session));
        session.into_iter().chain(work_tree).collect()
    }
}
