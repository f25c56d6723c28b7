//! What the parser of an agent's output is: it takes lines or events, and translates them for a [`Transcript`].

use anyhow::Result;
use camino::Utf8Path;
use serde_json::Value;

use super::transcript::Transcript;

/// Reads an output that is text. What is unknown in it is skipped, and it may end anywhere.
pub(super) trait LineParser {
    /// Takes the next line.
    fn line(&mut self, line: &[u8], transcript: &mut Transcript);

    /// Takes what can be said only at the end.
    fn finish(&mut self, _: &End<'_>, _: &mut Transcript) -> Result<()> {
        Ok(())
    }
}

/// Reads an output whose lines are JSON. What is unknown in it is skipped, and it may end anywhere.
pub(super) trait EventParser {
    /// Takes the next event.
    fn event(&mut self, event: &Value, transcript: &mut Transcript);

    /// Takes what can be said only at the end.
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

/// How the program that printed it ended.
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
