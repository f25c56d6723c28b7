//! What runs.

use crate::tui::model::{File, InFlight, Place, Stream};
use crate::tui::page::{Fold, Page, Section};
use crate::tui::row::{Look, Row};
use ralph_core::record::{Outcome, SessionId};
use ralph_store::Ask;

use super::Scene;
use super::output::of_file;
use super::words::{brief, outcome_of};

/// Most earlier attempts that are named.
const MAX_EARLIER: usize = 3;

/// What was tried before, and what the agent and the validation print now, in the order in which it comes.
pub fn detail(scene: &Scene<'_>, running: &InFlight) -> Page {
    let mut sections = Vec::new();
    let task = &running.task.name;
    let earlier: Vec<_> =
        scene.feature.attempts_at(task).flat_map(|(_, tried)| tried.into_iter().rev()).collect();
    let failed: Vec<_> =
        earlier.iter().take_while(|one| one.outcome() != Outcome::Success).take(MAX_EARLIER).collect();
    if !failed.is_empty() {
        let mut rows = vec![Row::of(Look::Dim, "Before")];
        for one in failed.iter().rev() {
            let approach = scene.cache.iteration(&one.entry.commit).and_then(|one| one.approaches.first());
            let (look, _, words) = outcome_of(one);
            let number = Row::of(Look::Dim, format!("{:>4} ", one.number()));
            rows.push(match approach {
                Some(approach) => number.and(Look::Plain, brief(approach)).with_right(Row::of(look, words)),
                None => number.and(look, words),
            });
        }
        sections.push(Section::plain(rows));
    }
    sections.extend(streams(&scene.night.id, running));
    stuck(sections)
}

/// The same without what was before.
pub fn output(scene: &Scene<'_>, running: &InFlight) -> Page {
    stuck(streams(&scene.night.id, running).collect())
}

fn stuck(sections: Vec<Section>) -> Page {
    let mut page = Page::new(sections);
    page.sticks = true;
    page
}

fn streams(session: &SessionId, running: &InFlight) -> impl Iterator<Item = Section> {
    let streams = Stream::OF_A_RUN.into_iter().zip(running.lengths).filter(|(_, length)| length.is_some());
    streams.map(|(stream, _)| {
        let section = of_file(live_file(session, running, stream), Fold::Open, Ask::Before(u64::MAX));
        // What the agent does needs no title.
        if stream == Stream::AgentStdout {
            Section { title: None, fold: Fold::Never, ..section }
        } else {
            section
        }
    })
}

/// A file of a running iteration.
pub fn live_file(session: &SessionId, running: &InFlight, stream: Stream) -> File {
    File {
        place: Place::Spool(session.clone(), running.number),
        stream,
        author: Some((session.clone(), running.agent.clone())),
    }
}
