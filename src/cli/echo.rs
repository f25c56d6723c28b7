//! What people ask of a running loop, shown in its own terminal at once, until the agent has ended minutes can pass; and its
//! keys, which ask the same.

use std::io::{Write, stderr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context as _, Result};
use redact_stream::Redactor;

use ralph_core::config::Config;
use ralph_core::record::{Hint, SessionId, TaskName, join_truncated};
use ralph_git::worktree::WorkTree;
use ralph_os::clock::Clock;
use ralph_os::process::Interrupt;
use ralph_os::terminal::{give_back, give_back_on_panic};
use ralph_project::feature::Feature;
use ralph_store::{Control, Hints, LoopLock, Stop, Store};
use ralph_ui::live::{KeyCommand, Keys, Moving};
use ralph_ui::style::one_line;

use crate::cli::Context;
use crate::cli::args::Voice;
use crate::cli::settings::terminal_redactor;
use crate::cli::start::hint::asking_task;

/// Time between two looks.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Most tasks that a line names.
const MAX_NAMED: usize = 8;

/// Looks for requests as long as this value lives.
pub struct Echo {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Echo {
    /// If no thread can be started, requests are seen in what the loop does about them.
    pub fn start(listener: Listener) -> Self {
        if listener.keys.is_some() {
            give_back_on_panic();
        }
        let is_over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&is_over);
        let thread = thread::Builder::new().name("echo".to_owned()).spawn(move || {
            let mut state = Heard::default();
            listener.look(&mut state);
            while !seen.load(Ordering::SeqCst) {
                let command = if let Some(keys) = &listener.keys {
                    keys.wait(POLL_INTERVAL)
                } else {
                    thread::park_timeout(POLL_INTERVAL);
                    None
                };
                if let Some(Err(error)) = command.map(|command| listener.obey(&command)) {
                    listener.print(&one_line(&format!("{error:#}")));
                }
                for line in listener.look(&mut state) {
                    listener.print(&line);
                }
            }
        });
        Self { is_over, thread: thread.ok() }
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It holds nothing that its panic could have broken.
            drop(thread.join());
        }
        give_back();
    }
}

/// Shows requests from other terminals, where people look on, and listens to the keys of this one.
pub fn echo(
    feature: &Feature,
    config: &Config,
    context: &Context,
    voice: Voice,
    (moving, keys): (Moving, Option<Keys>),
    started: Option<Arc<Mutex<Vec<SessionId>>>>,
) -> Result<Option<Echo>> {
    if voice.is_quiet() {
        return Ok(None);
    }
    Ok(Some(Echo::start(Listener {
        work_tree: context.work_tree()?.clone(),
        feature: feature.clone(),
        redactor: terminal_redactor(config)?,
        moving,
        keys,
        started,
        store: context.store()?.clone(),
        clock: context.clock()?,
    })))
}

/// Says at once that a signal was heard: until the agent has ended and the record is written, seconds can pass.
pub fn acknowledge(interrupt: Interrupt, moving: Moving) -> Result<()> {
    thread::Builder::new()
        .name("acknowledge".to_owned())
        .spawn(move || {
            interrupt.wait();
            if !interrupt.is_asked() {
                let back = if moving == Moving::Stderr { "\r\x1b[J" } else { "" };
                let line = format!("{back}stopping the agent; Ctrl-C again kills it\n");
                // If no terminal is left, the record still says how it ended.
                let _closed = stderr().write_all(line.as_bytes()).is_err();
            }
        })
        .context("listen for Ctrl-C")?;
    Ok(())
}

/// What is looked at, and how it is shown.
pub struct Listener {
    pub work_tree: WorkTree,
    pub feature: Feature,
    /// `None` if the user wants to see everything.
    pub redactor: Option<Redactor>,
    pub moving: Moving,
    /// Those of the terminal, if they are ours.
    pub keys: Option<Keys>,
    /// The sessions of several loops that this process started; `None` where it is the loop.
    pub started: Option<Arc<Mutex<Vec<SessionId>>>>,
    pub store: Store,
    pub clock: Clock,
}

/// What was there at the last look.
#[derive(Debug, Default)]
struct Heard {
    stop: Option<Stop>,
    /// The number of the newest hint.
    last_hint: u32,
}

impl Heard {
    /// Returns a line for each request that is new.
    fn lines(&mut self, stop: Option<Stop>, hints: &[Hint]) -> Vec<String> {
        let mut lines = Vec::new();
        for hint in hints.iter().filter(|hint| hint.number > self.last_hint) {
            let what = match hint.tasks.as_slice() {
                [] => "the next prompt".to_owned(),
                names => join_truncated(names, MAX_NAMED),
            };
            lines.push(format!("hint for {what} arrived: {}", one_line(&hint.text)));
        }
        if stop != self.stop {
            lines.extend(stop.map(|stop| match stop {
                Stop::AfterIteration => "stop requested: the session ends after this attempt".to_owned(),
                Stop::Now => "stop requested: the session ends now".to_owned(),
            }));
        }
        self.last_hint = hints.last().map_or(0, |hint| hint.number).max(self.last_hint);
        self.stop = stop;
        lines
    }
}

impl Listener {
    /// Does what a key asks, as `stop` and `hint` do it.
    fn obey(&self, command: &KeyCommand) -> Result<()> {
        match command {
            KeyCommand::Stop => {
                self.controls().iter().try_for_each(|control| control.ask_to_stop(Stop::AfterIteration))
            }
            KeyCommand::Hint(text) => {
                let asking = asking_task(&self.store, &self.feature.path, Some(&self.feature));
                let names: Vec<TaskName> = asking.into_iter().map(|(task, _)| task).collect();
                Hints::of(self.store.repository(), &self.feature.path)
                    .add(text, &names, self.clock.now())
                    .map(drop)
            }
        }
    }

    /// None before a session has begun.
    fn controls(&self) -> Vec<Control> {
        let sessions = if let Some(started) = &self.started {
            started.lock().unwrap_or_else(PoisonError::into_inner).clone()
        } else {
            let holder = LoopLock::holder_here(&self.work_tree).ok().flatten();
            let own = holder.filter(|holder| holder.pid == std::process::id());
            own.into_iter().map(|holder| holder.session).collect()
        };
        sessions.iter().map(|session| Control::of(self.work_tree.repository(), session)).collect()
    }

    /// What cannot be read now can be read at the next look.
    fn look(&self, heard: &mut Heard) -> Vec<String> {
        let mut hints = Hints::of(self.work_tree.repository(), &self.feature.path).readable();
        // Before it becomes one line: signs in place of colours would hide a secret.
        for hint in hints.iter_mut().filter(|hint| hint.number > heard.last_hint) {
            hint.text = self.redacted(&hint.text);
        }
        let stop = self.controls().iter().find_map(|control| control.look().ok()?);
        heard.lines(stop, &hints)
    }

    fn redacted(&self, text: &str) -> String {
        self.redactor.as_ref().map_or_else(|| text.to_owned(), |redactor| redactor.redact_text(text).0)
    }

    fn print(&self, line: &str) {
        let line = self.redacted(line);
        let back = if self.moving == Moving::Stderr { "\r\x1b[J" } else { "" };
        // If no terminal is left, the record still says what was asked.
        let _closed = stderr().write_all(format!("{back}  {line}\n").as_bytes()).is_err();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::record::Timestamp;

    fn hint(number: u32, tasks: &[&str]) -> Hint {
        Hint {
            number,
            text: format!("text\n{number}"),
            tasks: tasks.iter().map(|&name| name.to_owned()).collect(),
            added_at: Timestamp::from_seconds(0),
            session: None,
        }
    }

    #[test]
    fn each_request_is_shown_once() {
        let mut heard = Heard::default();
        heard.lines(None, &[hint(1, &[])]);
        for (stop, hints, expected) in [
            (None, vec![hint(1, &[])], ""),
            (None, vec![hint(1, &[]), hint(2, &[])], "hint for the next prompt arrived: text 2"),
            (None, vec![hint(2, &[])], ""),
            (None, vec![hint(3, &["T1", "T2"])], "hint for T1, T2 arrived: text 3"),
            (Some(Stop::AfterIteration), vec![], "stop requested: the session ends after this attempt"),
            (Some(Stop::Now), vec![], "stop requested: the session ends now"),
            (Some(Stop::Now), vec![], ""),
        ] {
            assert_eq!(heard.lines(stop, &hints).join("|"), expected);
        }
    }
}
