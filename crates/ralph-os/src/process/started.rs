//! A child that was started.

use std::collections::BTreeSet;
use std::time::Duration;

use super::descent::{add_descendants, send};
use super::registry::StartedPid;
use super::{Process, system};
use crate::platform::{self, Signal};

/// Returns the expression with a child that begins a process group.
pub(super) fn in_own_group(expression: &duct::Expression) -> duct::Expression {
    expression.before_spawn(|command| {
        platform::in_own_group(command);
        Ok(())
    })
}

/// A started child, known as ours until this is dropped.
#[derive(Debug)]
pub(super) struct ChildProcess {
    handle: duct::Handle,
    pid: StartedPid,
    /// True if its pid is a process group of its own.
    leads_group: bool,
}

impl ChildProcess {
    pub(super) fn start(expression: &duct::Expression) -> std::io::Result<Self> {
        let (handle, pid) = StartedPid::of_child(expression)?;
        Ok(Self { handle, pid, leads_group: true })
    }

    /// Starts it in a process group of its own, so that no Ctrl-C of ours reaches it.
    pub(super) fn start_in_own_group(expression: &duct::Expression) -> std::io::Result<Self> {
        Self::start(&in_own_group(expression))
    }

    /// Starts it in our own process group, where signals of the terminal reach it as they reach us.
    pub(super) fn start_in_our_group(expression: &duct::Expression) -> std::io::Result<Self> {
        let mut this = Self::start(expression)?;
        this.leads_group = false;
        Ok(this)
    }

    /// Asks it to end, with its group and its descendants, waits for that, and kills what is left.
    pub(super) fn end(&self, grace: Duration) {
        let mut seen = self.with_descendants();
        if platform::CAN_ASK_TO_END {
            self.send(&seen, Signal::TERM);
            self.send(&seen, Signal::CONT);
            // An error is no end that could be waited for.
            let _ended = self.handle.wait_timeout(grace).is_ok();
            seen.extend(self.with_descendants());
        }
        self.send(&seen, Signal::KILL);
    }

    fn with_descendants(&self) -> Vec<Process> {
        let all = system::processes();
        let mut belonging = BTreeSet::from([self.pid()]);
        add_descendants(&mut belonging, &all, &BTreeSet::new());
        all.into_iter().filter(|process| belonging.contains(&process.pid)).collect()
    }

    fn send(&self, processes: &[Process], signal: Signal) {
        // Its pid cannot be reused until we reap it.
        let is_unreaped = self.handle.try_wait().is_ok_and(|output| output.is_none());
        if self.leads_group && is_unreaped {
            platform::signal_group(self.pid(), signal);
        }
        for process in processes {
            send(process, signal);
        }
    }

    pub(super) fn handle(&self) -> &duct::Handle {
        &self.handle
    }

    /// Returns what it printed, and how it ended; waits for its end.
    pub(super) fn into_output(self) -> std::io::Result<std::process::Output> {
        let Self { handle, pid: _pid, .. } = self;
        handle.into_output()
    }

    /// Returns its process id, which is also its group's.
    pub(super) fn pid(&self) -> i32 {
        self.pid.get()
    }
}
