//! Events as they may be shown: without the secrets that the record leaves out too.

use std::borrow::Cow;

use anyhow::Result;

use super::redaction::redacted;
use crate::record::{AgentEvent, Event, Phase};
use crate::redact::Redactor;

/// The same event with secrets taken out of every text in it.
pub fn without_secrets<'e>(redactor: &Redactor, event: &'e Event) -> Result<Cow<'e, Event>> {
    // An agent may print millions of lines.
    if let Event::AgentEvent { event: AgentEvent::Text { text }, .. } = event
        && redactor.finds_nothing(text)
    {
        return Ok(Cow::Borrowed(event));
    }
    let plain = |text: &str| redactor.redact_text(text).0;
    let all = |texts: &[String]| texts.iter().map(|text| plain(text)).collect();
    let mut event = event.clone();
    match &mut event {
        Event::SessionStarted { feature, artifact, .. } => {
            (*feature, *artifact) = (plain(feature), plain(artifact));
        }
        Event::IterationStarted { task, hints, .. } => {
            task.text = plain(&task.text);
            *hints = all(hints);
        }
        Event::PhaseStarted { phase: Phase::Validation { command }, .. }
        | Event::ValidationFinished { command, .. } => *command = plain(command),
        Event::AgentEvent { event, .. } => match event {
            AgentEvent::Text { text } => *text = plain(text),
            AgentEvent::ToolStarted { arguments_summary, .. } => {
                *arguments_summary = plain(arguments_summary);
            }
            AgentEvent::Retry { message } | AgentEvent::Error { message } => *message = plain(message),
            AgentEvent::ToolEnded { .. } | AgentEvent::Usage { .. } => {}
        },
        Event::IterationRecorded { record, .. } => **record = redacted(redactor, record.as_ref())?,
        Event::Warning { message } => *message = plain(message),
        Event::SessionEnded { session, why, hint, unrecognised, .. } => {
            **session = redacted(redactor, session.as_ref())?;
            *why = why.as_deref().map(plain);
            *hint = hint.as_deref().map(plain);
            *unrecognised = all(unrecognised);
        }
        Event::PhaseStarted { .. }
        | Event::HistoryTold { .. }
        | Event::Paused { .. }
        | Event::Continued { .. }
        | Event::Waiting { .. }
        | Event::AgentChanged { .. } => {}
    }
    Ok(Cow::Owned(event))
}
