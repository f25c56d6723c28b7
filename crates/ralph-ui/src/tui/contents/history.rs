//! The memory of the next prompt, and what failed so far.

use serde_json::Value;

use crate::style::{Count, grouped};
use crate::tui::page::Section;
use crate::tui::row::{Look, Row, shown};
use crate::tui::source::PromptMemory;
use ralph_core::history::clusters::Cluster;
use ralph_core::record::TaskName;

use super::output::markdown;
use super::words::{brief, title};

/// Most rows of causes, and most names of tasks in one.
const MAX_CAUSES: usize = 20;
const MAX_NAMES: usize = 5;

pub fn sections(memory: &PromptMemory) -> Vec<Section> {
    let mut sections = Vec::new();
    let PromptMemory { task, mode, why, budget, context, clusters } = memory;
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
    sections.extend(causes(clusters));
    if let Some(context) = context {
        let scores = context.pieces.iter().map(|piece| {
            let section = serde_json::to_value(piece.section).ok();
            let section = section.as_ref().and_then(Value::as_str).unwrap_or_default().replace('_', " ");
            let (look, mark) =
                if piece.is_included { (Look::Good, "included") } else { (Look::Dim, "left out") };
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
    if let Some(context) = context.as_ref().filter(|context| !context.text.is_empty()) {
        sections.push(Section::titled(title("Memory in the prompt"), markdown(&context.text)));
    }
    sections
}

/// What came again, or is still open, in a line each.
fn causes(clusters: &[Cluster]) -> Option<Section> {
    let listed = || clusters.iter().filter(|cluster| cluster.is_open || cluster.times > 1);
    let row = |cluster: &Cluster| {
        let (look, is) = if cluster.is_open { (Look::Bad, "still open") } else { (Look::Good, "solved") };
        Row::of(look, format!("{:>3} × ", grouped(cluster.times as u64)))
            .and(Look::Plain, brief(&cluster.message))
            .and(Look::Dim, format!("  {}  ", names(&cluster.tasks)))
            .and(look, is)
            .indented(6)
    };
    let mut rows: Vec<Row> = listed().take(MAX_CAUSES).map(row).collect();
    let left_out = listed().count() - rows.len();
    if left_out > 0 {
        rows.push(Row::of(Look::Dim, format!("      {} more", grouped(left_out as u64))));
    }
    (!rows.is_empty()).then(|| Section::titled(title("Failures by cause"), rows))
}

/// `T004, T007`, and of many the first: `T001, T002, T003, T004, T005, +17`
fn names(tasks: &[TaskName]) -> String {
    let mut listed: Vec<String> = tasks.iter().take(MAX_NAMES).map(|task| shown(task)).collect();
    let more = tasks.len() - listed.len();
    if more > 0 {
        listed.push(format!("+{more}"));
    }
    listed.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::page::Body;

    fn cluster(times: usize, tasks: usize, is_open: bool) -> Cluster {
        Cluster {
            fingerprint: Some("b0630755".to_owned()),
            is_known: true,
            message: "FAILED foo::bar".to_owned(),
            times,
            tasks: (1..=tasks).map(|number| format!("T{number}")).collect(),
            iterations: vec![1],
            is_open,
            solved_in: None,
        }
    }

    fn rows(clusters: &[Cluster]) -> Vec<String> {
        match causes(clusters).map(|section| section.body) {
            Some(Body::Rows(rows)) => rows.iter().map(Row::text).collect(),
            Some(Body::Window(_) | Body::Unread) | None => Vec::new(),
        }
    }

    #[test]
    fn causes_say_what_failed_for_which_tasks_and_whether_it_is_over() {
        let listed = rows(&[cluster(1, 1, true), cluster(22, 22, false), cluster(1, 1, false)]);
        assert_eq!(
            listed,
            [
                "  1 × FAILED foo::bar  T1  still open",
                " 22 × FAILED foo::bar  T1, T2, T3, T4, T5, +17  solved",
            ]
        );
        let many = rows(&vec![cluster(2, 1, false); 25]);
        assert_eq!((many.len(), many[20].as_str()), (21, "      5 more"));
        assert!(causes(&[cluster(1, 1, false)]).is_none());
    }
}
