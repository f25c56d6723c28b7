//! Events as they may be shown: without the secrets that the record leaves out too.

use std::borrow::Cow;

use anyhow::Result;
use redact_stream::Redactor;

use super::redaction::redacted;
use ralph_core::record::{
    AgentEvent, Baseline, Closing, Event, Hint, NotDone, Phase, Scope, Task, Unfinished, UserFile, Waiting,
};

/// How much of what an agent printed before is looked at together with what it prints now.
const WINDOW_BYTES: usize = 4096;

/// More than the rules need to see where a secret shows itself.
const SEAM_BYTES: usize = 8;

/// Redacts the events of a session, in their order.
#[derive(Debug)]
pub struct EventRedactor {
    redactor: Redactor,
    /// What the agent printed last, as it was: programs without a format of their own give an event for each line, so that a key,
    /// or a name and its value, are in several.
    window: String,
    /// True if nothing in the window can be of a secret.
    is_plain: bool,
}

impl EventRedactor {
    pub fn new(redactor: Redactor) -> Self {
        Self { redactor, window: String::new(), is_plain: true }
    }

    /// Returns the same event without secrets in any text of it.
    pub fn redact<'e>(&mut self, event: &'e Event) -> Result<Cow<'e, Event>> {
        if let Event::AgentEvent { event: AgentEvent::Text { text }, iteration } = event {
            let Some(text) = self.agent_text(text) else { return Ok(Cow::Borrowed(event)) };
            let event = AgentEvent::Text { text };
            return Ok(Cow::Owned(Event::AgentEvent { iteration: *iteration, event }));
        }
        let mut event = event.clone();
        redact_texts(&self.redactor, &mut event)?;
        Ok(Cow::Owned(event))
    }

    /// Returns what the agent printed without its secrets, or `None` if it has none.
    fn agent_text(&mut self, text: &str) -> Option<String> {
        // An agent may print millions of lines.
        let seam = char_boundary(&self.window, self.window.len().saturating_sub(SEAM_BYTES));
        let is_plain =
            self.is_plain && self.redactor.finds_nothing(&format!("{}{text}\n", &self.window[seam..]));
        let shown = (!is_plain).then(|| self.redactor.redact_after(&self.window, text));
        self.is_plain = is_plain;
        self.window.push_str(text);
        self.window.push('\n');
        if self.window.len() > WINDOW_BYTES {
            self.shorten_window();
        }
        shown
    }

    /// Keeps the last lines, and the beginning of a private key that has not ended.
    fn shorten_window(&mut self) {
        let cut = char_boundary(&self.window, self.window.len() - WINDOW_BYTES / 2);
        let cut = self.window[cut..].find('\n').map_or(cut, |end| cut + end + 1);
        let tail = self.window.split_off(cut);
        let begin = self.window.rfind("-----BEGIN ").filter(|&at| !self.window[at..].contains("-----END "));
        let begin = begin.and_then(|at| self.window[at..].lines().next());
        let key = begin.map(|begin| format!("{begin}\n{tail}"));
        let is_key = |key: &String| self.redactor.redact_text(key).1.contains_key("private-key");
        self.window = key.filter(is_key).unwrap_or(tail);
        self.is_plain = self.redactor.finds_nothing(&self.window);
    }
}

/// Every field of every event is named here, so that none that comes later is forgotten.
fn redact_texts(redactor: &Redactor, event: &mut Event) -> Result<()> {
    let plain = |text: &mut String| *text = redactor.redact_text(text).0;
    let option = |text: &mut Option<String>| text.iter_mut().for_each(plain);
    let all = |texts: &mut Vec<String>| texts.iter_mut().for_each(plain);
    match event {
        Event::SessionStarted { .. } => redact_start(redactor, event),
        Event::IterationStarted {
            session: _,
            iteration: _,
            task: Task { name, id, text, phase, story },
            attempt: _,
            agent,
            hints,
            unit_tasks,
            started_at: _,
        } => {
            [name, text, agent].into_iter().for_each(plain);
            [id, phase, story].into_iter().for_each(option);
            [hints, unit_tasks].into_iter().for_each(all);
        }
        Event::PhaseStarted { iteration: _, phase } => match phase {
            Phase::Agent { agent } => plain(agent),
            Phase::Validation { command } => plain(command),
            Phase::Prompt | Phase::Recording => {}
        },
        Event::AgentEvent { iteration: _, event } => redact_agent_event(event, plain),
        Event::ValidationFinished { iteration: _, command: text, exit: _, duration_ms: _, tests: _ }
        | Event::ChangesTakenBack { iteration: _, task: text, restored_to: _, restoration: _, files: _ } => {
            plain(text);
        }
        Event::IterationRecorded { session: _, iteration: _, outcome: _, exit: _, commit: _, record } => {
            **record = redacted(redactor, record.as_ref())?;
        }
        Event::Waiting { session: _, waiting, seconds: _ } => redact_waiting(waiting, plain),
        Event::AgentChanged { session: _, from, to, failure_class: _ } => {
            [from, to].into_iter().for_each(plain);
        }
        Event::UserFilesLost { iteration: _, what, command, files } => {
            plain(what);
            option(command);
            for UserFile { path, change: _, since: _, kept_in: _, commit: _ } in files {
                plain(path);
            }
        }
        Event::Warning { message } => plain(message),
        Event::SessionEnded { session, commit: _, closing } => {
            **session = redacted(redactor, session.as_ref())?;
            redact_closing(closing, plain);
        }
        Event::HistoryIncluded { iteration: _, mode: _, failures: _, scanned: _, tokens: _ } => {}
    }
    Ok(())
}

fn redact_scope(scope: &mut Option<Scope>, plain: impl Fn(&mut String)) {
    if let Some(Scope { tasks, phases, stories }) = scope {
        [tasks, phases, stories].into_iter().flatten().for_each(plain);
    }
}

fn redact_closing(closing: &mut Closing, plain: impl Fn(&mut String)) {
    let Closing {
        why,
        hint,
        next,
        unrecognised,
        uncommitted,
        left_out,
        changes: _,
        not_done,
        unfinished,
        false_claims: _,
        // Read from the record, which has no secrets.
        summary: _,
    } = closing;
    [why, hint, next].into_iter().flatten().for_each(&plain);
    [unrecognised, uncommitted, left_out].into_iter().flatten().for_each(&plain);
    for Unfinished { task, is_same: _, tried, is_taken_back: _, files, lines: _ } in unfinished {
        [task].into_iter().chain(tried).chain(files).for_each(&plain);
    }
    for task in not_done {
        let NotDone {
            task,
            title,
            is_skipped: _,
            asks: _,
            attempts: _,
            cause,
            iteration: _,
            cost_usd: _,
            blocks,
        } = task;
        [task, title].into_iter().chain(cause).chain(blocks).for_each(&plain);
    }
}

fn redact_waiting(waiting: &mut Waiting, plain: impl Fn(&mut String)) {
    let Waiting { agent, class: _, until: _, is_guessed: _, message } = waiting;
    plain(agent);
    message.iter_mut().for_each(plain);
}

fn redact_start(redactor: &Redactor, event: &mut Event) {
    let plain = |text: &mut String| *text = redactor.redact_text(text).0;
    let option = |text: &mut Option<String>| text.iter_mut().for_each(plain);
    if let Event::SessionStarted {
        session: _,
        feature,
        agent,
        max_iterations: _,
        loop_type,
        artifact,
        tasks: _,
        scope,
        scope_tasks: _,
        unit: _,
        is_resumed: _,
        agent_version,
        permissions: _,
        validation,
        baseline,
        is_known_to_pass: _,
        hints,
        given_up,
        validation_files,
        validation_notes,
        cost: _,
        user_files: _,
    } = event
    {
        for Hint { number: _, text, tasks, added_at: _, session: _ } in hints {
            [text].into_iter().chain(tasks).for_each(plain);
        }
        [feature, agent, loop_type, artifact].into_iter().chain(given_up).for_each(plain);
        redact_scope(scope, plain);
        [agent_version, validation].into_iter().for_each(option);
        validation_files.iter_mut().chain(validation_notes).for_each(plain);
        // The names of its tests have no secrets any more.
        if let Some(Baseline { exit: _, exit_reason: _, duration_ms: _, cause, tests: _ }) = baseline {
            option(cause);
        }
    }
}

fn redact_agent_event(event: &mut AgentEvent, plain: impl Fn(&mut String)) {
    match event {
        AgentEvent::Text { text: words }
        | AgentEvent::Retry { message: words }
        | AgentEvent::Error { message: words } => plain(words),
        AgentEvent::ToolStarted { tool_name, arguments_summary: words }
        | AgentEvent::ToolEnded { tool_name, is_error: _, result: words } => {
            plain(tool_name);
            plain(words);
        }
        AgentEvent::Usage { tokens: _ } => {}
    }
}

/// Returns the first boundary of characters at `at` or after it.
fn char_boundary(text: &str, at: usize) -> usize {
    (at..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(events: &[&str]) -> Vec<String> {
        let mut redactor = EventRedactor::new(Redactor::default());
        let text = |text: &&str| {
            let event = AgentEvent::Text { text: (*text).to_owned() };
            let event = Event::AgentEvent { iteration: 1, event };
            let event = redactor.redact(&event).unwrap().into_owned();
            let Event::AgentEvent { event: AgentEvent::Text { text }, .. } = event else {
                panic!("{event:?}")
            };
            text
        };
        events.iter().map(text).collect()
    }

    const KEY: &str = "[redacted:private-key]";

    #[test]
    fn a_private_key_that_comes_line_by_line_is_not_shown() {
        let label = "RSA PRIVATE KEY";
        let (begin, end) = (format!("-----BEGIN {label}-----"), format!("-----END {label}-----"));
        let line = "MIIEpAIBAAKCAQEA7xq".repeat(3);
        assert_eq!(
            shown(&["the key:", &begin, "Proc-Type: 4,ENCRYPTED", "", &line, &line, &end, "That was it"]),
            ["the key:", &begin, "Proc-Type: 4,ENCRYPTED", "", KEY, KEY, KEY, "That was it"]
        );
        let last = format!("{line}\n{end}\nafter");
        assert_eq!(shown(&[&begin, &last, "Done"]), [&begin, &format!("{KEY}\nafter"), "Done"]);
        for prefix in ["-", "+", "  7\t", "id_rsa:7:", "12:03:04 INFO ", "> "] {
            let lines: Vec<String> =
                [&begin, &line, &line, &end, "x"].iter().map(|line| format!("{prefix}{line}")).collect();
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            let seen = shown(&lines);
            assert!(!seen.concat().contains("MIIE") && seen[4] == lines[4], "{seen:?}");
        }
    }

    #[test]
    fn a_key_longer_than_the_window_is_not_shown() {
        let line = "MIIEpAIBAAKCAQEA7xq".repeat(3);
        let mut lines = vec!["-----BEGIN PGP PRIVATE KEY BLOCK-----", ""];
        lines.extend(vec![line.as_str(); 3000]);
        lines.extend(["", "and so on", &line]);
        let seen = shown(&lines);
        assert_eq!(seen.iter().filter(|seen| seen.contains("MIIE")).count(), 1);
        assert_eq!(seen[3003..], ["and so on", &line]);
    }

    #[test]
    fn a_value_in_another_event_than_its_name_is_not_shown() {
        let row = "| db_password | Zx81-q7Fw |";
        for (events, expected) in [
            (&["password: |", "  Zx81-q7Fw", "user: me"][..], "password: ||  [redacted:password]|user: me"),
            (
                &["| name | value |", "|---|---|", row, "done"],
                "| name | value |||---|---||| db_password | [redacted:password] ||done",
            ),
            (&["plain", "text", "only"], "plain|text|only"),
        ] {
            assert_eq!(shown(events).join("|"), expected);
        }
    }
}
