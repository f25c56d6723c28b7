//! Events as they may be shown: without the secrets that the record leaves out too.

use std::borrow::Cow;

use anyhow::Result;
use redact_stream::Redactor;

use super::redaction::redacted;
use crate::record::{AgentEvent, Baseline, Closing, Event, Hint, NotDone, Phase, Scope, Task, Waiting};

/// What stands for a line of a private key whose beginning was in an earlier event.
const KEY_LINE: &str = "[redacted:private-key]";

/// Redacts the events of a session, in their order.
#[derive(Debug)]
pub struct EventRedactor {
    redactor: Redactor,
    /// A private key began in a text and has not ended: agents without a format of their own give an event for each line.
    is_in_key: bool,
}

impl EventRedactor {
    pub fn new(redactor: Redactor) -> Self {
        Self { redactor, is_in_key: false }
    }

    /// Returns the same event without secrets in any text of it.
    pub fn redact<'e>(&mut self, event: &'e Event) -> Result<Cow<'e, Event>> {
        // An agent may print millions of lines.
        if let Event::AgentEvent { event: AgentEvent::Text { text }, .. } = event
            && !self.is_in_key
            && self.redactor.finds_nothing(text)
        {
            return Ok(Cow::Borrowed(event));
        }
        let mut event = event.clone();
        if let Event::AgentEvent { event: AgentEvent::Text { text }, iteration: _ } = &mut event {
            *text = self.agent_text(text);
        } else {
            redact_texts(&self.redactor, &mut event)?;
        }
        Ok(Cow::Owned(event))
    }

    fn agent_text(&mut self, text: &str) -> String {
        let mut rest = text;
        let mut shown = String::new();
        if self.is_in_key {
            let end = text.find("-----END ");
            if end.is_some() || text.lines().all(is_line_of_key) {
                shown.push_str(KEY_LINE);
                self.is_in_key = end.is_none();
                rest = end.and_then(|end| text[end..].split_once('\n')).map_or("", |(_, rest)| rest);
                if !rest.is_empty() {
                    shown.push('\n');
                }
            } else {
                self.is_in_key = false;
            }
        }
        if let Some(begin) = rest.rfind("-----BEGIN ") {
            let key = &rest[begin..];
            self.is_in_key = key.contains("PRIVATE KEY") && !key.contains("-----END ");
        }
        shown + &self.redactor.redact_text(rest).0
    }
}

/// Returns true if `line` may be between the first and the last line of a private key.
fn is_line_of_key(line: &str) -> bool {
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    let is_header =
        ["Proc-Type:", "DEK-Info:", "Version:", "Comment:"].iter().any(|name| line.starts_with(name));
    is_header || line.trim().bytes().all(is_base64)
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
        Event::Warning { message } => plain(message),
        Event::SessionEnded { session, commit: _, closing } => {
            **session = redacted(redactor, session.as_ref())?;
            redact_closing(closing, plain);
        }
        Event::HistoryIncluded { iteration: _, mode: _, failures: _, scanned: _, tokens: _ }
        | Event::Paused { session: _ }
        | Event::Continued { session: _ } => {}
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
        unrecognised,
        uncommitted,
        left_out,
        changes: _,
        not_done,
        false_claims: _,
        // Read from the record, which has no secrets.
        summary: _,
    } = closing;
    [why, hint].into_iter().flatten().for_each(&plain);
    [unrecognised, uncommitted, left_out].into_iter().flatten().for_each(&plain);
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
    let Waiting { agent, class: _, until: _, message } = waiting;
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
        | AgentEvent::ToolEnded { tool_name: words, is_error: _ }
        | AgentEvent::Retry { message: words }
        | AgentEvent::Error { message: words } => plain(words),
        AgentEvent::ToolStarted { tool_name, arguments_summary } => {
            plain(tool_name);
            plain(arguments_summary);
        }
        AgentEvent::Usage { tokens: _ } => {}
    }
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

    #[test]
    fn a_private_key_that_comes_line_by_line_is_not_shown() {
        let label = "RSA PRIVATE KEY";
        let (begin, end) = (format!("-----BEGIN {label}-----"), format!("-----END {label}-----"));
        let line = "MIIEpAIBAAKCAQEA7xq".repeat(3);
        assert_eq!(
            shown(&["the key:", &begin, "Proc-Type: 4,ENCRYPTED", "", &line, &line, &end, "That was it"]),
            ["the key:", &begin, KEY_LINE, KEY_LINE, KEY_LINE, KEY_LINE, KEY_LINE, "That was it"]
        );
        let last = format!("{line}\n{end}\nafter");
        assert_eq!(shown(&[&begin, &last, "Done"]), [&begin, &format!("{KEY_LINE}\nafter"), "Done"]);
        assert_eq!(
            shown(&[&begin, "and so on, as you know", &line]),
            [&begin, "and so on, as you know", &line]
        );
    }
}
