//! What the next prompt will be told, and what failed so far.

use serde_json::Value;

use crate::view::style::{Count, grouped};
use crate::view::tui::page::Section;
use crate::view::tui::row::{Look, Row, shown};
use crate::view::tui::source::Told;

use super::output::markdown;
use super::{brief, title};

pub fn sections(told: &Told) -> Vec<Section> {
    let mut sections = Vec::new();
    let Told { task, mode, why, budget, context, clusters } = told;
    let mut head = Vec::new();
    match task {
        None => head.push(Row::of(Look::Dim, "no open task can be picked: there is no next prompt")),
        Some(task) => {
            let text = brief(&task.text);
            head.push(
                Row::of(Look::Dim, "next  ")
                    .and(Look::Accent, shown(&task.name))
                    .and(Look::Plain, format!("  {text}")),
            );
            let words = match context {
                None => format!("history is {mode}: {why}"),
                Some(context) => format!(
                    "{mode}, {why}: {} scanned, {} of {}",
                    Count(context.scanned as u64, "iteration"),
                    Count(context.tokens() as u64, "token"),
                    grouped(*budget as u64)
                ),
            };
            head.push(Row::of(Look::Plain, words));
        }
    }
    sections.push(Section::plain(head));
    if let Some(context) = context {
        let scores = context.pieces.iter().map(|piece| {
            let section = serde_json::to_value(piece.section).ok();
            let section = section.as_ref().and_then(Value::as_str).unwrap_or_default().replace('_', " ");
            let (look, mark) = if piece.is_told { (Look::Good, "told") } else { (Look::Dim, "left out") };
            Row::of(look, format!("{:.2} {mark:<9}", piece.score))
                .and(Look::Plain, format!("{section}, iteration {}", piece.iteration))
                .and(Look::Dim, format!("  {}", brief(&piece.why.join(", "))))
                .indented(15)
        });
        let scores: Vec<Row> = scores.collect();
        if !scores.is_empty() {
            sections.push(Section::titled(title("Scores"), scores));
        }
    }
    if !clusters.is_empty() {
        let rows = clusters.iter().map(|cause| {
            let tasks: Vec<String> = cause.tasks.iter().map(|task| shown(task)).collect();
            Row::of(Look::Bad, format!("{:>3} × ", cause.times))
                .and(Look::Plain, shown(&cause.fingerprint))
                .and(Look::Dim, format!("  {}", tasks.join(", ")))
        });
        sections.push(Section::titled(title("Failures that came again"), rows.collect()));
    }
    if let Some(context) = context.as_ref().filter(|context| !context.text.is_empty()) {
        sections.push(Section::titled(title("Told"), markdown(&context.text)));
    }
    sections
}
