//! Git's own housekeeping, in a circle beside what a scene does.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::Sandbox;

/// Runs commands over and over until it goes, also where it goes by a panic.
#[derive(Debug)]
pub struct Housekeeping {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Housekeeping {
    /// What collects and packs, with a rest after each command, so that the loop gets something done as well.
    pub fn beside(scene: &Sandbox, rest: Duration) -> Self {
        Self::of(Self::git(scene, ["gc --quiet", "pack-refs --all"]), rest)
    }

    /// What takes every object that no ref leads to at that moment, however young it is.
    pub fn pruning(scene: &Sandbox) -> Self {
        Self::pruning_around(scene, None)
    }

    /// Runs a command of the scene between two that prune: git itself loses what is written beside these.
    pub fn pruning_around(scene: &Sandbox, between: Option<Command>) -> Self {
        let mut commands = Self::git(scene, ["gc --quiet --prune=now", "prune --expire=now"]);
        commands.extend(between);
        Self::of(commands, Duration::ZERO)
    }

    /// Commands of its own, for a scene is for one thread.
    fn git(scene: &Sandbox, commands: [&str; 2]) -> Vec<Command> {
        let commands = commands.map(|words| {
            let mut command = scene.hermetic("git");
            command.args(words.split(' '));
            command
        });
        commands.into()
    }

    fn of(mut commands: Vec<Command>, rest: Duration) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&is_over);
        let thread = std::thread::spawn(move || {
            while !seen.load(Ordering::Relaxed) {
                for command in &mut commands {
                    // Both need locks that loops hold for moments, and are refused then.
                    let _refused = command.output().unwrap();
                    std::thread::sleep(rest);
                }
            }
        });
        Self { is_over, thread: Some(thread) }
    }
}

impl Drop for Housekeeping {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(std::thread::panicking() || !matches!(ended, Some(Err(_))), "git's housekeeping failed");
    }
}
