//! Plain output of any program: its end is the final message.

use anyhow::Result;

use super::{End, Stream, Told};
use crate::agent::lines::tail;
use crate::record::AgentEvent;

/// How much of an output's end is the final message where nothing marks its begin.
pub(in crate::agent) const FINAL_TEXT: u64 = 64 << 10;

/// Most of a line of plain output that is shown while the agent runs.
const SHOWN_LINE: usize = 4 << 10;

/// Output without events.
#[derive(Debug)]
pub(super) struct TextStream;

impl Stream for TextStream {
    fn line(&mut self, line: &[u8], say: &mut dyn FnMut(AgentEvent)) {
        say_line(line, say);
    }

    fn finish(self: Box<Self>, end: &End<'_>) -> Result<Told> {
        Ok(Told { is_success: true, final_text: tail(end.stdout, FINAL_TEXT)?, ..Told::default() })
    }
}

pub(super) fn say_line(line: &[u8], say: &mut dyn FnMut(AgentEvent)) {
    let shown = &line[..line.len().min(SHOWN_LINE)];
    say(AgentEvent::Text { text: String::from_utf8_lossy(shown).into_owned() });
}
