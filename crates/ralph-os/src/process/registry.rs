//! The pids of the programs that we started, so that none of them is taken for an adopted orphan.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::platform::{Signal, signal_group};

/// What a program was started for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A child that runs now.
    Child,
    /// One of those to which orphans may belong: an agent, or a command of the project's.
    Watched,
    /// A child that waits for our questions, and does nothing between two.
    Resident,
    /// Meant to outlive us.
    Detached,
}

/// Held while one is started.
static PIDS: Mutex<BTreeMap<i32, Role>> = Mutex::new(BTreeMap::new());

pub(super) fn pids() -> MutexGuard<'static, BTreeMap<i32, Role>> {
    PIDS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The pid of a program that we started, listed until this is dropped.
#[derive(Debug)]
pub(super) struct StartedPid(i32);

impl StartedPid {
    /// Starts a child, which is listed among those that run.
    pub(super) fn of_child(expression: &duct::Expression) -> std::io::Result<(duct::Handle, Self)> {
        let mut pids = pids();
        let handle = expression.start()?;
        let pid = handle.pids().first().and_then(|pid| i32::try_from(*pid).ok()).unwrap_or(0);
        pids.insert(pid, Role::Child);
        Ok((handle, Self(pid)))
    }

    /// Starts a program that outlives us, which is taken for no child's orphan.
    pub(super) fn of_detached(
        command: &mut std::process::Command,
    ) -> std::io::Result<(std::process::Child, Self)> {
        let mut pids = pids();
        let child = command.spawn()?;
        let pid = i32::try_from(child.id()).unwrap_or(0);
        pids.insert(pid, Role::Detached);
        Ok((child, Self(pid)))
    }

    pub(super) fn get(&self) -> i32 {
        self.0
    }
}

impl Drop for StartedPid {
    fn drop(&mut self) {
        pids().remove(&self.0);
    }
}

/// Sends a signal to the process groups of all children that run now and have one.
pub(super) fn signal_running(signal: Signal) {
    for (group, _) in pids().iter().filter(|(_, role)| **role != Role::Detached) {
        signal_group(*group, signal);
    }
}
