//! What is selected before anybody chose.

use std::sync::Arc;

use crate::tui::list::Item;
use crate::tui::source::SessionRow;

use super::{App, OwnLoop};

impl App {
    /// The session that is followed: of the loop that was started with the screen, else one that runs, else the newest.
    pub(super) fn followed(&self) -> Option<usize> {
        let sessions = &self.overview.sessions;
        let own = |session: &Arc<SessionRow>| {
            session.live.as_ref().is_some_and(|live| self.own_loop == OwnLoop::Runs { pid: live.pid })
        };
        let own = sessions.iter().position(own);
        own.or_else(|| sessions.iter().position(|session| session.live.is_some()))
            .or((!sessions.is_empty()).then_some(0))
    }

    pub(super) fn select_newest(&mut self) {
        let Some(followed) = self.followed() else { return };
        let is_newest = |item: &Item| match item {
            Item::InFlight(place) | Item::Iteration(place, _) => *place == followed,
            Item::Session(_) => false,
        };
        match self.list.items.iter().position(is_newest) {
            Some(place) => self.list.selected = place,
            None => self.select_session(),
        }
    }

    pub(super) fn select_session(&mut self) {
        let Some(followed) = self.followed() else { return };
        if let Some(place) = self.list.items.iter().position(|item| *item == Item::Session(followed)) {
            self.list.selected = place;
        }
    }
}
