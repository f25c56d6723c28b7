//! The pids of the programs that we started, so that none of them is taken for an adopted orphan.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::platform::{Signal, signal_group};

/// Held while one is started.
static PIDS: Mutex<Pids> =
    Mutex::new(Pids { running: BTreeSet::new(), resident: BTreeSet::new(), detached: BTreeSet::new() });

#[derive(Debug)]
pub(super) struct Pids {
    /// The children that run now.
    pub running: BTreeSet<i32>,
    /// Those of them that wait for our questions, and do nothing between two.
    pub resident: BTreeSet<i32>,
    /// Those that are meant to outlive us.
    pub detached: BTreeSet<i32>,
}

pub(super) fn pids() -> MutexGuard<'static, Pids> {
    PIDS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The pid of a program that we started, listed until this is dropped.
#[derive(Debug)]
pub(super) struct StartedPid {
    pid: i32,
    is_detached: bool,
}

impl StartedPid {
    /// Starts a child, which is listed among those that run.
    pub(super) fn of_child(expression: &duct::Expression) -> std::io::Result<(duct::Handle, Self)> {
        let mut pids = pids();
        let handle = expression.start()?;
        let pid = handle.pids().first().and_then(|pid| i32::try_from(*pid).ok()).unwrap_or(0);
        pids.running.insert(pid);
        Ok((handle, Self { pid, is_detached: false }))
    }

    /// Starts a program that outlives us, which is taken for no child's orphan.
    pub(super) fn of_detached(
        command: &mut std::process::Command,
    ) -> std::io::Result<(std::process::Child, Self)> {
        let mut pids = pids();
        let child = command.spawn()?;
        let pid = i32::try_from(child.id()).unwrap_or(0);
        pids.detached.insert(pid);
        Ok((child, Self { pid, is_detached: true }))
    }

    pub(super) fn get(&self) -> i32 {
        self.pid
    }
}

impl Drop for StartedPid {
    fn drop(&mut self) {
        let mut pids = pids();
        if self.is_detached {
            pids.detached.remove(&self.pid)
        } else {
            pids.running.remove(&self.pid)
        };
    }
}

/// Sends a signal to the process groups of all children that run now and have one.
pub(super) fn signal_running(signal: Signal) {
    for group in &pids().running {
        signal_group(*group, signal);
    }
}
