//! What each view says, from values to sections.

mod dashboard;
mod describe;
mod diff;
mod history;
mod output;
mod tasks;
mod words;

use anyhow::Result;

use ralph_core::record::{ObjectId, SessionId};

use super::page::Section;
use super::source::{DiffTarget, SessionRow, Source};

pub use output::{BAR, age, live_file, live_output, output, prompt, read_part};
pub use words::{status_sign, words_of};

/// A view of what is chosen in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    Output,
    Describe,
    Diff,
    Prompt,
    Tasks,
    History,
}

impl View {
    pub const ALL: [Self; 6] =
        [Self::Output, Self::Describe, Self::Diff, Self::Prompt, Self::Tasks, Self::History];

    /// Its name, which begins with its key.
    pub fn name(self) -> &'static str {
        match self {
            Self::Output => "output",
            Self::Describe => "describe",
            Self::Diff => "Diff",
            Self::Prompt => "Prompt",
            Self::Tasks => "tasks",
            Self::History => "history",
        }
    }

    pub fn key(self) -> char {
        char::from(self.name().as_bytes()[0])
    }

    /// Returns true if its lines are words for people, that are wrapped unless they want otherwise.
    pub fn is_prose(self) -> bool {
        matches!(self, Self::Prompt | Self::History | Self::Describe)
    }
}

/// What must be read for a view.
#[derive(Debug, Clone, PartialEq)]
pub enum Ordered {
    Describe(SessionId, Option<u32>),
    Diff(DiffTarget),
    /// The list of that record; after which iteration it was so, where it is not how things stand now.
    Tasks(SessionId, ObjectId, Option<u32>),
    History(String),
    /// The session as a whole, with the task list of that record.
    Dashboard(SessionId, ObjectId),
    /// What decides about an iteration that failed.
    Failure(ObjectId),
}

/// Reads what a view is made of.
pub fn read(source: &dyn Source, session: &SessionRow, ordered: &Ordered) -> Result<Vec<Section>> {
    Ok(match ordered {
        Ordered::Describe(_, number) => {
            let row = number.and_then(|number| session.iteration(number));
            let iteration = row.map(|row| source.iteration(&row.commit)).transpose()?;
            let mut sections = Vec::new();
            if let (Some(row), Some(iteration)) = (row, &iteration) {
                sections.extend(describe::iteration(row, iteration));
            }
            if let Some(in_flight) = session.in_flight().filter(|running| Some(running.number) == *number) {
                sections.push(describe::in_flight(in_flight));
            }
            sections.extend(describe::session(session, &source.session(session)?));
            sections
        }
        Ordered::Diff(change) => diff::sections(&source.diff(change)?),
        Ordered::Tasks(_, commit, after) => {
            tasks::sections(session, source.tasks(commit)?.as_deref(), *after)
        }
        Ordered::History(feature) => history::sections(&source.history(feature)?),
        Ordered::Dashboard(_, commit) => {
            let learnings = dashboard::learnings(source, session);
            let changes = source.changes(session).unwrap_or_default();
            dashboard::sections(session, source.tasks(commit)?.as_deref(), &learnings, changes)
        }
        Ordered::Failure(commit) => vec![Section::plain(output::failure(&source.iteration(commit)?))],
    })
}
