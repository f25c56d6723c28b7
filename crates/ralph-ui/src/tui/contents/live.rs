//! What runs.

use crate::tui::model::{File, LiveIteration, Place, Stream};
use crate::tui::page::{Fold, Section};
use crate::tui::row::{Look, Row};
use ralph_core::record::{LogEntry, Outcome, SessionId};

use super::Scene;
use super::output::of_file;
use super::words::{approach, number_cell, outcome_of};

/// Most earlier attempts that are named.
const MAX_EARLIER: usize = 3;

/// What was tried before, and what the agent and the validation print now.
pub fn detail(scene: &Scene<'_>, session: &SessionId, running: &LiveIteration) -> Vec<Section> {
    let earlier = scene.feature.attempts_at(&running.task.name);
    let earlier = earlier.flat_map(|(_, tried)| tried.into_iter().rev());
    let failed = earlier.take_while(|one| one.outcome() != Some(Outcome::Success)).take(MAX_EARLIER);
    let failed: Vec<&LogEntry> = failed.collect();
    let mut rows: Vec<Row> = failed.iter().rev().map(|one| before(scene, one)).collect();
    if !rows.is_empty() {
        rows.insert(0, Row::of(Look::Dim, "Before"));
    }
    [Section::plain(rows)].into_iter().chain(streams(scene, session, running)).collect()
}

fn before(scene: &Scene<'_>, attempt: &LogEntry) -> Row {
    let (look, _, words) = outcome_of(scene, attempt);
    let number = Row::of(Look::Dim, number_cell(scene, attempt));
    match approach(scene, attempt) {
        Some(approach) => number.and(Look::Plain, approach).with_right(Row::of(look, words)),
        None => number.and(look, words),
    }
}

/// What agent and validation print now, in the order in which it comes.
pub fn streams(
    scene: &Scene<'_>,
    session: &SessionId,
    running: &LiveIteration,
) -> impl Iterator<Item = Section> {
    let streams = Stream::OF_A_RUN.into_iter().zip(running.lengths).filter(|(_, length)| length.is_some());
    streams.map(|(stream, _)| {
        let file = File {
            place: Place::Spool(session.clone(), running.number),
            stream,
            author: Some((session.clone(), running.agent.clone())),
        };
        let section = of_file(scene, file);
        // What the agent does needs no title.
        if stream == Stream::AgentStdout {
            Section { title: None, fold: Fold::Never, ..section }
        } else {
            section
        }
    })
}
