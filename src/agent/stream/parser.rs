//! Parsers of agents' output: they translate lines or events for a [`Transcript`].

use anyhow::Result;
use camino::Utf8Path;
use serde_json::Value;

use super::transcript::Transcript;

/// Parses text output. Unknown parts are skipped, and it may end anywhere.
pub(super) trait LineParser {
    /// Parses the next line.
    fn line(&mut self, line: &[u8], transcript: &mut Transcript);

    /// Completes the transcript at the end of the output.
    fn finish(&mut self, _: &End<'_>, _: &mut Transcript) -> Result<()> {
        Ok(())
    }
}

/// Parses output whose lines are JSON. Unknown parts are skipped, and it may end anywhere.
pub(super) trait EventParser {
    /// Parses the next event.
    fn event(&mut self, event: &Value, transcript: &mut Transcript);

    /// Completes the transcript at the end of the output.
    fn finish(&mut self, _: &End<'_>, _: &mut Transcript) -> Result<()> {
        Ok(())
    }
}

impl<P: EventParser> LineParser for P {
    fn line(&mut self, line: &[u8], transcript: &mut Transcript) {
        each_event(line, &mut |event| self.event(event, transcript));
    }

    fn finish(&mut self, end: &End<'_>, transcript: &mut Transcript) -> Result<()> {
        EventParser::finish(self, end, transcript)
    }
}

/// How the agent ended.
#[derive(Debug, Clone, Copy)]
pub(in crate::agent) struct End<'a> {
    pub code: i32,
    pub stdout: &'a Utf8Path,
}

/// Returns the events of a line: usually one, none if it is not JSON, several if it is a list.
fn each_event(line: &[u8], each: &mut dyn FnMut(&Value)) {
    if line.trim_ascii().is_empty() {
        return;
    }
    let event = serde_json::from_slice::<Value>(line)
        .or_else(|_| serde_json::from_str(&String::from_utf8_lossy(line)));
    match event {
        Ok(Value::Array(events)) => events.iter().for_each(each),
        Ok(event) => each(&event),
        Err(_) => {}
    }
}
