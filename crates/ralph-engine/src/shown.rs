//! Events: how a warning is one, and as they may be shown, without the secrets that the record leaves out too.

use std::borrow::Cow;

use anyhow::Result;
use redact_stream::Redactor;

use super::redaction::redacted;
use ralph_core::record::{AgentEvent, Event, Session};

/// How much of what an agent printed before is looked at together with what it prints now.
const WINDOW_BYTES: usize = 4096;

/// More than the rules need to see where a secret shows itself.
const SEAM_BYTES: usize = 8;

pub(super) fn warn(say: &mut dyn FnMut(&Event), message: String) {
    say(&Event::Warning { message });
}

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
        match &mut event {
            Event::IterationRecorded { record, .. } => **record = redacted(&self.redactor, record.as_ref())?,
            Event::SessionEnded { session, .. } => {
                let totals = std::mem::take(&mut session.totals);
                **session = Session { totals, ..redacted(&self.redactor, session.as_ref())? };
            }
            _ => {}
        }
        event.for_each_text(&mut |text| *text = self.redactor.redact_text(text).0);
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
        self.window =
            key.filter(|key| self.redactor.redact_text(key).1.contains_key("private-key")).unwrap_or(tail);
        self.is_plain = self.redactor.finds_nothing(&self.window);
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
