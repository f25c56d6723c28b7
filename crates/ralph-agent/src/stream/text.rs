//! Plain output of any program: its end is the final message.

use anyhow::Result;
use camino::Utf8Path;

use super::transcript::Transcript;
use crate::lines::tail;

/// How much of an output's end is the final message if nothing marks its start.
pub(crate) const FINAL_TEXT_BYTES: u64 = 64 << 10;

/// Maximum bytes of a line of plain output that are shown while the agent runs.
const MAX_SHOWN_LINE_BYTES: usize = 4 << 10;

pub(super) fn show_line(line: &[u8], transcript: &mut Transcript) {
    let shown = &line[..line.len().min(MAX_SHOWN_LINE_BYTES)];
    transcript.show_line(&String::from_utf8_lossy(shown));
}

pub(super) fn finish(stdout: &Utf8Path, transcript: &mut Transcript) -> Result<()> {
    transcript.complete();
    transcript.set_final_message(&tail(stdout, FINAL_TEXT_BYTES)?);
    Ok(())
}
