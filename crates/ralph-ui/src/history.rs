//! What a prompt has of earlier iterations, and why.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Value, json};

use ralph_core::progress::historical::{HistoricalContext, Piece};
use ralph_core::record::Task;

use super::style::{Look, Paint, counted, inert, one_line};

/// The historical context of a task, of at most `budget` tokens; without one where history is off. `why` is why that mode.
pub fn data(task: &Task, mode: &str, why: &str, budget: usize, context: Option<&HistoricalContext>) -> Value {
    let none = HistoricalContext::default();
    let context = context.unwrap_or(&none);
    json!({
        "task": task.name,
        "mode": mode,
        "why": why,
        "budget": budget,
        "tokens": context.tokens(),
        "iterations_scanned": context.scanned,
        "pieces": context.pieces,
        "left_out": context
            .left_out
            .iter()
            .map(|(why, iterations)| json!({"iterations": iterations, "why": why.as_str()}))
            .collect::<Vec<_>>(),
        "historical_context": context.text,
    })
}

/// Writes what the next prompt of a task has of earlier iterations: each part with its length in tokens, and why it has it or
/// not.
pub fn write_parts(out: &mut impl Write, task: &Task, parts: &[Part]) -> io::Result<()> {
    let all: usize = parts.iter().map(|part| part.tokens).sum();
    let name = one_line(&task.name);
    writeln!(out, "{name}: {} of earlier iterations in its next prompt\n", counted(all as u64, "token"))?;
    for Part { part, tokens, why } in parts {
        writeln!(out, "  {tokens:>6}  {part:12}  {}", one_line(why))?;
    }
    Ok(())
}

/// A part of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Part {
    pub part: &'static str,
    pub tokens: usize,
    pub why: String,
}

/// The same for people.
pub fn write(
    out: &mut impl Write,
    task: &Task,
    mode: &str,
    why: &str,
    budget: usize,
    context: Option<&HistoricalContext>,
    paint: Paint,
) -> io::Result<()> {
    let name = one_line(&task.name);
    let Some(context) = context else { return writeln!(out, "{name}: history is off") };
    writeln!(
        out,
        "{name}: {mode}, {why}, {} scanned, {} of {budget}",
        counted(context.scanned as u64, "iteration"),
        counted(context.tokens() as u64, "token"),
    )?;
    for piece in &context.pieces {
        let Piece { name, task, score, why, is_included, tokens, .. } = piece;
        let mark = if *is_included { "included" } else { "left out" };
        let section = serde_json::to_value(piece.section).ok();
        let section = section.as_ref().and_then(|name| name.as_str()).unwrap_or_default().replace('_', " ");
        let line = format!(
            "  {score:.2}  {mark:8}  {tokens:>5}  {section:19}  {name}, {}: {}",
            one_line(task.as_deref().unwrap_or("no task")),
            one_line(&why.join(", "))
        );
        writeln!(out, "{}", paint.paint(if *is_included { Look::Good } else { Look::Dim }, &line))?;
    }
    for (why, names) in &context.left_out {
        let line = format!("  {:4}  left out      0  {names} {}", "", why.as_str());
        writeln!(out, "{}", paint.paint(Look::Dim, &line))?;
    }
    if context.text.is_empty() {
        writeln!(out, "  nothing to tell")
    } else {
        writeln!(out, "\n{}", inert(&context.text))
    }
}
