//! `hooks.on-event`: a command of the user's that hears at night what happens, beside the loop and at no cost to it.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::Result;
use camino::Utf8PathBuf;
use redact_stream::Redactor;
use serde::Serialize;

use ralph_core::config::Config;
use ralph_os::process::Tool;

use crate::cli::settings::terminal_redactor;
use crate::cli::warn;

/// Time limit of one call, and of all that are left when the session ends.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);
const END_TIMEOUT: Duration = Duration::from_secs(30);

/// Events that wait for the command, at most.
const MAX_QUEUED: usize = 100;

/// What is run, and how.
pub struct EventCommand {
    pub line: String,
    /// The types of events that it is run for.
    pub kinds: Vec<String>,
    /// The folder of the project in the user's own work tree: of a lane, agents write the files.
    pub directory: Utf8PathBuf,
    /// For what it complains of; `None` if the user wants to see everything.
    pub redactor: Option<Redactor>,
}

/// Runs the command for one event after the other, in the background.
pub struct EventHook {
    kinds: Vec<String>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    events: VecDeque<(String, Vec<u8>)>,
    /// How many were not handed over.
    dropped: usize,
    has_failed: bool,
    /// What a person should read, and did not yet.
    complaints: Vec<String>,
    /// Set once the session has ended.
    deadline: Option<Instant>,
}

impl EventCommand {
    pub fn new(line: String, kinds: Vec<String>, directory: Utf8PathBuf, redactor: Option<Redactor>) -> Self {
        Self { line, kinds, directory, redactor }
    }

    /// Returns why it failed.
    fn call(&self, kind: &str, line: Vec<u8>, limit: Duration) -> Option<String> {
        let tool = Tool::shell(&self.line, &self.directory).env("RALPH_EVENT", kind).stdin(line);
        let why = match tool.limit(limit).run() {
            Ok(ended) if ended.is_success() => return None,
            Ok(ended) => format!("exited {}: {}", ended.code, ended.complaint()),
            Err(error) => error.root_cause().to_string(),
        };
        let text =
            format!("hooks.on-event: `{}` for {kind}: {why}; further failures are not named", self.line);
        Some(self.redactor.as_ref().map_or(text.clone(), |redactor| redactor.redact_text(&text).0))
    }

    fn serve(&self, shared: &Shared) {
        loop {
            let mut queue = shared.lock();
            while queue.events.is_empty() && queue.deadline.is_none() {
                queue = shared.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
            let rest = queue.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if rest.is_some_and(|rest| rest.is_zero()) {
                queue.drop_oldest(MAX_QUEUED);
            }
            let Some((kind, line)) = queue.events.pop_front() else { return };
            drop(queue);
            let failure = self.call(&kind, line, rest.unwrap_or(CALL_TIMEOUT).min(CALL_TIMEOUT));
            let mut queue = shared.lock();
            let failure = failure.filter(|_| !queue.has_failed);
            queue.has_failed |= failure.is_some();
            queue.complaints.extend(failure);
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn push(&mut self, kind: String, line: Vec<u8>) {
        if self.events.len() == MAX_QUEUED {
            self.drop_oldest(1);
        }
        self.events.push_back((kind, line));
    }

    /// Drops so many, if they are there; the first time that is said.
    fn drop_oldest(&mut self, count: usize) {
        let dropped = self.events.drain(..count.min(self.events.len())).count();
        if self.dropped == 0 && dropped > 0 {
            self.complaints.push("hooks.on-event is too slow: the oldest events are dropped".to_owned());
        }
        self.dropped += dropped;
    }
}

impl EventHook {
    /// Returns what runs the user's command for events, if there is one, in `directory`, where the project is in the user's work
    /// tree.
    pub fn of(config: &Config, directory: Utf8PathBuf) -> Result<Option<Self>> {
        let settings = &config.settings;
        let Some(line) = settings.on_event.clone() else { return Ok(None) };
        let redactor = terminal_redactor(config)?;
        Ok(Some(Self::start(EventCommand::new(line, settings.event_kinds.clone(), directory, redactor))))
    }

    /// If no thread can be started, nothing is run.
    pub fn start(command: EventCommand) -> Self {
        let shared = Arc::new(Shared::default());
        let (kinds, seen) = (command.kinds.clone(), Arc::clone(&shared));
        let thread = Builder::new().name("event hook".to_owned()).spawn(move || command.serve(&seen));
        Self { kinds, shared, thread: thread.ok() }
    }

    /// Queues an event, which has no secrets, if it is wanted.
    pub fn push(&self, kind: &str, event: &impl Serialize) {
        if self.thread.is_some()
            && self.kinds.iter().any(|wanted| wanted == kind)
            && let Ok(mut line) = serde_json::to_vec(event)
        {
            line.push(b'\n');
            self.shared.lock().push(kind.to_owned(), line);
            self.shared.changed.notify_one();
        }
    }

    /// Returns what a person should read, once.
    pub fn complaints(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.lock().complaints)
    }
}

/// Hands over what is queued, for a while.
impl Drop for EventHook {
    fn drop(&mut self) {
        self.shared.lock().deadline = Instant::now().checked_add(END_TIMEOUT);
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // It holds nothing that its panic could have broken.
            drop(thread.join());
        }
        let complaints = self.complaints();
        let dropped = self.shared.lock().dropped;
        let total = (dropped > 0).then(|| format!("hooks.on-event: {dropped} events were dropped"));
        complaints.iter().chain(&total).for_each(|complaint| warn(complaint));
    }
}

#[cfg(test)]
mod tests {
    use ralph_core::record::Event;

    use super::*;

    fn warning(message: String) -> Event {
        Event::Warning { message }
    }

    fn command(line: &str, directory: &camino::Utf8Path) -> EventCommand {
        let kinds = vec!["warning".to_owned()];
        EventCommand::new(line.to_owned(), kinds, directory.to_owned(), None)
    }

    #[test]
    fn of_more_than_a_hundred_events_the_oldest_are_dropped_and_that_is_said() {
        let mut queue = Queue::default();
        for number in 0..=MAX_QUEUED + 1 {
            queue.push("warning".to_owned(), vec![u8::try_from(number).unwrap()]);
        }
        let lines: Vec<u8> = queue.events.iter().map(|(_, line)| line[0]).collect();
        assert_eq!((lines.len(), lines[0], lines[99], queue.dropped), (100, 2, 101, 2));
        assert_eq!(queue.complaints, ["hooks.on-event is too slow: the oldest events are dropped"]);
    }

    #[test]
    fn a_command_that_takes_too_long_is_killed_with_what_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let directory = camino::Utf8Path::from_path(folder.path()).unwrap();
        // Its child holds the pipe: the call is over once both are gone.
        let slow = command("sleep 1000 & echo $! > child; wait", directory);
        // However slow the machine is, there is a limit in which the child was started.
        let mut limit = Duration::from_millis(200);
        let child = loop {
            let why = slow.call("warning", Vec::new(), limit).unwrap();
            assert!(why.contains("no answer within "), "{why}");
            match std::fs::read_to_string(directory.join("child")) {
                Ok(child) if child.ends_with('\n') => break child,
                _ => limit *= 4,
            }
        };
        let state = format!("/proc/{}/stat", child.trim());
        let is_gone = || std::fs::read_to_string(&state).map_or(true, |stat| stat.contains(") Z "));
        // One that was killed lets go of the pipe before it is gone.
        let deadline = Instant::now() + Duration::from_mins(1);
        while cfg!(target_os = "linux") && !is_gone() {
            assert!(Instant::now() < deadline, "{child}");
            std::thread::yield_now();
        }
    }

    #[test]
    fn events_come_one_after_the_other_and_a_failure_is_said_once() {
        let folder = tempfile::tempdir().unwrap();
        let directory = camino::Utf8Path::from_path(folder.path()).unwrap();
        let hook = EventHook::start(command("cat >> lines; echo $RALPH_EVENT >> lines; exit 3", directory));
        for number in 1..=3 {
            hook.push("warning", &warning(number.to_string()));
        }
        // Not wanted.
        hook.push("agent_changed", &warning("4".to_owned()));
        let shared = Arc::clone(&hook.shared);
        shared.lock().deadline = Instant::now().checked_add(Duration::from_mins(1));
        shared.changed.notify_one();
        let mut hook = hook;
        hook.thread.take().unwrap().join().unwrap();
        let expected = |number| format!("{{\"type\":\"warning\",\"message\":\"{number}\"}}\nwarning\n");
        let lines = std::fs::read_to_string(directory.join("lines")).unwrap();
        assert_eq!(lines, [1, 2, 3].map(expected).concat());
        let complaints = hook.complaints();
        assert_eq!(complaints.len(), 1, "{complaints:?}");
        assert!(complaints[0].contains("for warning: exited 3"), "{complaints:?}");
    }
}
