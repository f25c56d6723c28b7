//! The list on the left: sessions, and the iterations in them, newest first.

use std::collections::HashSet;
use std::sync::Arc;

use ralph_core::record::{Outcome, SessionId};

use super::source::{IterationRow, Overview, SessionRow};

/// A line of the list, by the places of what it stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    Session(usize),
    InFlight(usize),
    /// The session, and the place among its iterations, oldest first.
    Iteration(usize, usize),
}

/// What is chosen, by names that outlive a new look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chosen {
    Session(SessionId),
    /// Recorded or not.
    Iteration(SessionId, u32),
}

impl Chosen {
    pub fn session(&self) -> &SessionId {
        match self {
            Self::Session(id) | Self::Iteration(id, _) => id,
        }
    }

    pub fn number(&self) -> Option<u32> {
        match self {
            Self::Session(_) => None,
            Self::Iteration(_, number) => Some(*number),
        }
    }
}

#[derive(Debug, Clone, Default)]
pub struct List {
    pub items: Vec<Item>,
    pub selected: usize,
    /// The first line on the screen.
    pub top: usize,
    pub filter: String,
    pub is_failed_only: bool,
    /// Sessions that are not as they are by default: the newest is open, the others are folded.
    toggled: HashSet<SessionId>,
}

impl List {
    /// Makes the lines anew, with what was chosen still chosen where it is still there.
    pub fn renew(&mut self, overview: &Overview, chosen: Option<&Chosen>) {
        let wanted = self.filter.to_lowercase();
        let is_filtered = self.is_filtered();
        self.items.clear();
        for (place, session) in overview.sessions.iter().enumerate() {
            let start = self.items.len();
            self.items.push(Item::Session(place));
            if !is_filtered && !self.is_open(place, session) {
                continue;
            }
            if let Some(running) = session.in_flight()
                && !self.is_failed_only
                && is_match(&wanted, &[&running.task.name, &running.task.text, "running"])
            {
                self.items.push(Item::InFlight(place));
            }
            for (number, row) in session.iterations.iter().enumerate().rev() {
                let is_wanted = (!self.is_failed_only || row.outcome == Outcome::Failure)
                    && (wanted.is_empty()
                        || is_match(
                            &wanted,
                            &[
                                row.task.as_deref().unwrap_or_default(),
                                &row.title,
                                &row.note,
                                row.outcome.as_str(),
                                &row.number.to_string(),
                            ],
                        ));
                if is_wanted {
                    self.items.push(Item::Iteration(place, number));
                }
            }
            // A filter leaves only sessions that it leaves something of, or that it names.
            let is_named = !wanted.is_empty()
                && !self.is_failed_only
                && is_match(&wanted, &[session.id.as_str(), &session.feature]);
            if is_filtered && self.items.len() == start + 1 && !is_named {
                self.items.pop();
            }
        }
        let found = chosen.and_then(|chosen| self.place_of(overview, chosen));
        self.selected = found.unwrap_or(self.selected).min(self.items.len().saturating_sub(1));
    }

    /// Returns true if something may be missing from it.
    pub fn is_filtered(&self) -> bool {
        !self.filter.is_empty() || self.is_failed_only
    }

    pub fn is_open(&self, place: usize, session: &SessionRow) -> bool {
        (place == 0 || session.live.is_some()) != self.toggled.contains(&session.id)
    }

    pub fn toggle(&mut self, id: &SessionId) {
        if !self.toggled.remove(id) {
            self.toggled.insert(id.clone());
        }
    }

    /// Where it is; where it is not listed, what is next to it.
    fn place_of(&self, overview: &Overview, chosen: &Chosen) -> Option<usize> {
        let of_session = |item: &Item| {
            let (Item::Session(at) | Item::InFlight(at) | Item::Iteration(at, _)) = item;
            overview.sessions.get(*at).is_some_and(|session| session.id == *chosen.session())
        };
        let start = self.items.iter().position(of_session)?;
        let inside = self.items[start..].iter().take_while(|item| of_session(item));
        let Some(wanted) = chosen.number() else { return Some(start) };
        let number = |item: &Item| Self::chosen(overview, *item).and_then(|chosen| chosen.number());
        let (mut best, mut distance) = (start, u32::MAX);
        for (place, item) in (start..).zip(inside) {
            if let Some(far) =
                number(item).map(|number| number.abs_diff(wanted)).filter(|far| *far <= distance)
            {
                (best, distance) = (place, far);
            }
        }
        Some(best)
    }

    /// What a line stands for.
    pub fn chosen(overview: &Overview, item: Item) -> Option<Chosen> {
        let session = |place: usize| overview.sessions.get(place);
        match item {
            Item::Session(place) => Some(Chosen::Session(session(place)?.id.clone())),
            Item::InFlight(place) => {
                let session = session(place)?;
                Some(Chosen::Iteration(session.id.clone(), session.in_flight()?.number))
            }
            Item::Iteration(place, row) => {
                let session = session(place)?;
                Some(Chosen::Iteration(session.id.clone(), session.iterations.get(row)?.number))
            }
        }
    }

    pub fn selected(&self) -> Option<Item> {
        self.items.get(self.selected).copied()
    }

    pub fn move_by(&mut self, lines: isize) {
        let last = self.items.len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(lines).min(last);
    }

    /// Returns the next failure below, or above, if there is one.
    pub fn failure(&self, overview: &Overview, direction: Direction) -> Option<usize> {
        let is_failed = |place: &usize| match self.items[*place] {
            Item::Iteration(session, row) => overview
                .sessions
                .get(session)
                .and_then(|found| found.iterations.get(row))
                .is_some_and(IterationRow::is_failed),
            Item::Session(_) | Item::InFlight(_) => false,
        };
        match direction {
            Direction::Down => (self.selected + 1..self.items.len()).find(is_failed),
            Direction::Up => (0..self.selected.min(self.items.len())).rev().find(is_failed),
        }
    }

    /// The next session below, or above, that is folded and has a failure in it.
    pub fn folded_with_failure(&self, overview: &Overview, direction: Direction) -> Option<SessionId> {
        let (Item::Session(here) | Item::InFlight(here) | Item::Iteration(here, _)) = self.selected()?;
        let is_it = |(place, session): &(usize, &Arc<SessionRow>)| {
            !self.is_open(*place, session) && session.iterations.iter().any(IterationRow::is_failed)
        };
        let mut sessions = overview.sessions.iter().enumerate();
        let found = match direction {
            Direction::Down => sessions.skip(here).find(is_it),
            Direction::Up => sessions.by_ref().take(here).rev().find(is_it),
        };
        found.map(|(_, session)| session.id.clone())
    }

    /// Scrolls to show the selection on a screen of a number of lines.
    pub fn keep_in_view(&mut self, height: usize) {
        let lowest = self.selected.saturating_sub(height.saturating_sub(1));
        self.top = self.top.clamp(lowest, self.selected.max(lowest));
        self.top = self.top.min(self.items.len().saturating_sub(height).max(lowest));
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Down,
    Up,
}

/// Returns true if every word that is wanted is in one of these.
fn is_match(wanted: &str, texts: &[&str]) -> bool {
    let texts: Vec<String> = texts.iter().map(|text| text.to_lowercase()).collect();
    wanted.split_whitespace().all(|word| texts.iter().any(|text| text.contains(word)))
}
