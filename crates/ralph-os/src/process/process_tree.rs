//! All processes that a child started: its group, its descendants, and what carries the session's marker.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::descent::{add_descendants, ancestors, send};
use super::marker::Marker;
use super::noted;
use super::registry::{Role, pids};
use super::started::ChildProcess;
use super::{Carried, Interrupt, Process, system};
use crate::platform::{self, CAN_ASK_TO_END, Signal};

/// Time for what is just ending by itself when its parent ends; it is no leftover.
const SETTLE: Duration = Duration::from_millis(50);

/// Time between TERM and KILL for leftovers. Their work is not needed; they may remove their lock files.
const LEFTOVER_GRACE: Duration = Duration::from_secs(1);

/// How long we go on killing what forks as fast as we kill.
const KILLING: Duration = Duration::from_secs(5);

/// Time between two checks of the list of processes.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// What git of ours, or a program of its, leaves in the background for the next one: keys and connections that are unlocked.
const HELPERS: &[&str] = &["gpg-agent", "dirmngr", "keyboxd", "scdaemon", "ssh", "ssh-agent"];

/// The processes that a child or a session is answerable for. Never we ourselves, nor our ancestors, nor what outlives us.
#[derive(Debug)]
pub(super) struct ProcessTree<'a> {
    marker: &'a Marker,
    /// The child's pid, which is also its group, and its birth.
    root: Option<(i32, u64)>,
    /// True until the child is reaped: its pid and group id cannot be reused before.
    holds_group: bool,
    /// True for a git of ours: its helpers live on.
    is_git: bool,
    /// Who was seen to belong to it: descent is lost to sight when a parent dies.
    seen: BTreeMap<i32, u64>,
}

impl<'a> ProcessTree<'a> {
    /// What carries the marker, and what descends from it.
    pub(super) fn marked(marker: &'a Marker) -> Self {
        Self { marker, root: None, holds_group: false, is_git: false, seen: BTreeMap::new() }
    }

    /// That, and what descends from the child that was just started.
    pub(super) fn of(marker: &'a Marker, started: &ChildProcess, is_git: bool) -> Self {
        pids().insert(started.pid(), Role::Watched);
        // We may be killed before a slow system has said when it was born.
        if let (Some(file), Some(now)) = (marker.note(), system::birth_now()) {
            noted::write(file, started.pid(), now);
        }
        // A zombie is still listed, and only we reap it: none means that the system has no list.
        let born = system::process(started.pid()).map_or(u64::MAX, |process| process.born);
        let pid = started.pid();
        if let Some(file) = marker.note() {
            noted::write(file, pid, born);
        }
        Self { marker, root: Some((pid, born)), holds_group: true, is_git, seen: BTreeMap::new() }
    }

    /// What a dead loop noted as its child's.
    pub(super) fn take_noted(&mut self) {
        let Some(noted) = self.marker.note().and_then(noted::read) else { return };
        let all = system::processes();
        let members = noted::members(noted, &all);
        self.seen.extend(members.into_iter().map(|process| (process.pid, process.born)));
    }

    /// Notes that the loop lives, and its child with it.
    fn renew_note(&self) {
        if let (Some(file), Some((pid, born))) = (self.marker.note(), self.root) {
            noted::write(file, pid, born);
        }
    }

    /// Everybody who belongs to it and lives. Reaps adopted orphans that do not.
    pub(super) fn members(&mut self) -> Vec<Process> {
        let started = pids();
        let running = started.iter().filter(|(_, role)| **role != Role::Detached);
        let running: BTreeSet<i32> = running.map(|(pid, _)| *pid).collect();
        let all = system::processes();
        let own_pid = platform::own_pid();
        let by_pid: BTreeMap<i32, &Process> = all.iter().map(|process| (process.pid, process)).collect();
        let own_group = by_pid.get(&own_pid).map_or(0, |own| own.group);
        let mut spared = ancestors(own_pid, &by_pid);
        spared.extend(started.keys().filter(|pid| !running.contains(pid)));
        // What our tools leave is known by their mark. Of other orphans, whatever they carry, the owner is known while there is a
        // single child that could be.
        let mut watched = started.iter().filter(|(_, role)| **role == Role::Watched);
        let is_alone = self.root.is_some_and(|(root, _)| watched.all(|(pid, _)| *pid == root));

        let mut belonging = BTreeSet::new();
        for process in all.iter().filter(|process| !spared.contains(&process.pid)) {
            let is_ours = self.root.is_some_and(|(root, born)| {
                process.pid == root
                    || process.group == root
                    || process.session == root
                    || (is_alone
                        && process.parent == own_pid
                        && !started.contains_key(&process.pid)
                        && process.group != own_group
                        && process.born >= born)
            });
            let was_seen =
                self.seen.get(&process.pid).is_some_and(|born| system::is_same_birth(*born, process.born));
            if (is_ours || was_seen || self.carried(process) == Carried::This) && !self.is_of_tools(process) {
                belonging.insert(process.pid);
            }
        }
        add_descendants(&mut belonging, &all, &spared);

        let members: Vec<&Process> = all.iter().filter(|process| belonging.contains(&process.pid)).collect();
        for process in &members {
            if process.is_zombie && process.parent == own_pid && !running.contains(&process.pid) {
                platform::reap(process.pid);
            }
        }
        let living: Vec<Process> =
            members.into_iter().filter(|process| !process.is_zombie).cloned().collect();
        self.seen.extend(living.iter().map(|process| (process.pid, process.born)));
        living
    }

    /// Reaps orphans that we adopted and that have ended, so that a long run does not fill the process table.
    pub(super) fn reap_orphans(&mut self) {
        self.renew_note();
        if system::has_zombies() {
            self.members();
        }
    }

    fn carried(&self, process: &Process) -> Carried {
        system::carried(process.pid, Marker::VARIABLE, &self.marker.variables())
    }

    /// Returns true for a process of our own tools, or a helper that they started.
    fn is_of_tools(&self, process: &Process) -> bool {
        let carried = system::carried(process.pid, Marker::TOOL, &[(Marker::TOOL, Marker::of_tools())]);
        let is_helper = HELPERS.contains(&&*process.name) || (self.is_git && process.name.starts_with("git"));
        match (carried, self.root) {
            (Carried::Nothing, _) | (Carried::Another, Some(_)) => false,
            // Asked by the marker alone, as of a dead loop.
            (_, None) => is_helper,
            (Carried::This, Some((root, _))) if self.is_git => is_helper && process.session != root,
            (Carried::This, Some(_)) => true,
        }
    }

    /// The child itself has ended and is reaped: from now on its group id may be reused.
    pub(super) fn root_ended(&mut self) {
        self.holds_group = false;
    }

    /// Returns true if this process is of the child's own group, and that group surely still its.
    fn is_in_group(&self, process: &Process) -> bool {
        self.holds_group && self.root.is_some_and(|(root, _)| root == process.group)
    }

    /// Reaches the whole group at once, those too who were born a moment ago.
    fn send_to_group(&self, signal: Signal) {
        if let Some((root, _)) = self.root.filter(|_| self.holds_group) {
            platform::signal_group(root, signal);
        }
    }

    /// Asks the child's own group to end, as Ctrl-C in a terminal would, and waits for that.
    pub(super) fn interrupt_group(&mut self, grace: Duration, interrupt: &Interrupt) {
        if !CAN_ASK_TO_END {
            return;
        }
        self.send_to_group(Signal::INT);
        // What was stopped, by the terminal for instance, would never take the signal.
        self.send_to_group(Signal::CONT);
        let asked = Instant::now();
        while asked.elapsed() < grace
            && !interrupt.is_urgent()
            && self.members().iter().any(|process| self.is_in_group(process))
        {
            interrupt.pause(POLL_INTERVAL);
        }
    }

    /// Asks everybody to end, each once, and waits for that.
    pub(super) fn ask_all(&mut self, grace: Duration, interrupt: &Interrupt) {
        if !CAN_ASK_TO_END {
            return;
        }
        let mut signalled: BTreeSet<(i32, u64)> = self
            .members()
            .iter()
            .filter(|process| self.is_in_group(process))
            .map(|process| (process.pid, process.born))
            .collect();
        self.send_to_group(Signal::TERM);
        self.send_to_group(Signal::CONT);
        let asked = Instant::now();
        while asked.elapsed() < grace && !interrupt.is_urgent() {
            let members = self.members();
            if members.is_empty() {
                return;
            }
            for process in members {
                if signalled.insert((process.pid, process.born)) {
                    send(&process, Signal::TERM);
                    send(&process, Signal::CONT);
                }
            }
            interrupt.pause(POLL_INTERVAL);
        }
    }

    /// Ends everybody.
    pub(super) fn kill(&mut self) {
        self.send_to_group(Signal::KILL);
        let begun = Instant::now();
        loop {
            let members = self.members();
            if members.is_empty() || begun.elapsed() > KILLING {
                return;
            }
            for process in &members {
                send(process, Signal::KILL);
            }
            Interrupt::none().pause(Duration::from_millis(1));
        }
    }

    /// Stops what goes on in the background, and names it.
    pub(super) fn stop_leftovers(&mut self, interrupt: &Interrupt) -> Vec<String> {
        let stopped = self.stop_all_that_is_left(interrupt);
        if let Some(file) = self.marker.note() {
            noted::remove(file);
        }
        stopped
    }

    fn stop_all_that_is_left(&mut self, interrupt: &Interrupt) -> Vec<String> {
        let ended = Instant::now();
        let mut left = self.members();
        while !left.is_empty() && ended.elapsed() < SETTLE && !interrupt.is_urgent() {
            interrupt.pause(POLL_INTERVAL);
            left = self.members();
        }
        if left.is_empty() {
            return Vec::new();
        }
        self.ask_all(LEFTOVER_GRACE, interrupt);
        self.kill();
        left.into_iter().map(|process| process.name).collect()
    }
}

/// Stops whatever still carries the marker of a dead session or was noted by it. Returns the names of the programs.
pub fn kill_marked(marker: &Marker, interrupt: &Interrupt) -> Vec<String> {
    let mut tree = ProcessTree::marked(marker);
    tree.take_noted();
    tree.stop_leftovers(interrupt)
}

/// Returns the processes that still carry the marker of a dead session or were noted by it, with the names of their
/// programs.
pub fn left_running(marker: &Marker) -> Vec<(i32, String)> {
    let mut tree = ProcessTree::marked(marker);
    tree.take_noted();
    tree.members().into_iter().map(|process| (process.pid, process.name)).collect()
}
