//! What a prompt is told of older iterations, and why.

use std::io::{self, Write};

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use ralph_core::progress::historical::{HistoricalContext, Piece};
use ralph_core::record::Task;

use super::style::{Count, Look, Paint, inert, one_line};

/// The historical context of a task.
pub struct Shown<'a> {
    pub task: &'a Task,
    pub mode: &'static str,
    /// Why that mode.
    pub why: &'static str,
    /// In tokens.
    pub budget: usize,
    /// None where history is off.
    pub context: Option<&'a HistoricalContext>,
}

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let none = HistoricalContext::default();
        let context = self.context.unwrap_or(&none);
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("task", &self.task.name)?;
        map.serialize_entry("mode", self.mode)?;
        map.serialize_entry("why", self.why)?;
        map.serialize_entry("budget", &self.budget)?;
        map.serialize_entry("tokens", &context.tokens())?;
        map.serialize_entry("iterations_scanned", &context.scanned)?;
        map.serialize_entry("pieces", &context.pieces)?;
        map.serialize_entry("historical_context", &context.text)?;
        map.end()
    }
}

pub fn write(out: &mut impl Write, shown: &Shown<'_>, paint: Paint) -> io::Result<()> {
    let name = one_line(&shown.task.name);
    let Some(context) = shown.context else { return writeln!(out, "{name}: history is off") };
    writeln!(
        out,
        "{name}: {}, {}, {} scanned, {} of {}",
        shown.mode,
        shown.why,
        Count(context.scanned as u64, "iteration"),
        Count(context.tokens() as u64, "token"),
        shown.budget
    )?;
    for piece in &context.pieces {
        let Piece { iteration, task, score, why, is_included, .. } = piece;
        let mark = if *is_included { "included" } else { "left out" };
        let section = serde_json::to_value(piece.section).ok();
        let section = section.as_ref().and_then(|name| name.as_str()).unwrap_or_default().replace('_', " ");
        let line = format!(
            "  {score:.2}  {mark:8}  {section:20}  iteration {iteration} of {}, {}: {}",
            piece.session,
            one_line(task.as_deref().unwrap_or("no task")),
            one_line(&why.join(", "))
        );
        writeln!(out, "{}", paint.paint(if *is_included { Look::Good } else { Look::Dim }, &line))?;
    }
    if context.text.is_empty() {
        writeln!(out, "  nothing to tell")
    } else {
        writeln!(out, "\n{}", inert(&context.text))
    }
}
