//! All records as their messages describe them, from the refs and from what an earlier listing left in the cache.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use anyhow::{Error, Result};

use ralph_core::record::{LogEntry, ObjectId, escape};
use ralph_core::view::SessionView;

use super::chain::{Chain, ChainWalk};
use super::listing_cache::{self, head, sum};
use super::session_log::SessionLog;
use crate::local::{disk, folders};
use crate::{SessionRefs, Store};

/// Number of records up to which reading them is as fast as writing a cache.
const MIN_RECORDS_TO_CACHE: usize = 500;

/// The sessions of a repository, each with its entries.
#[derive(Debug)]
pub struct Listing {
    sessions: Vec<ListedSession>,
    /// True if no session was left out by what was wanted.
    is_of_all: bool,
}

/// A session that cannot be read, or not all of it; `None` if its ref names no commit.
pub type UnreadableSession = (Option<SessionRefs>, Error);

/// One session in a listing.
#[derive(Debug)]
pub struct ListedSession {
    pub refs: SessionRefs,
    /// Of the newest record. Empty where the ref is not ours.
    pub feature: String,
    tip: ObjectId,
    /// Its rows in the text of the cache.
    cached: (Arc<String>, Range<usize>),
    /// What is not in the cache, after what is.
    fresh: Vec<LogEntry>,
    /// Both, from the first question on.
    view: OnceLock<SessionView>,
    /// True if older records exist but cannot be read.
    is_broken: bool,
}

impl Listing {
    /// Returns the sessions that are ours, in the order of their ids.
    pub fn sessions(&self) -> impl DoubleEndedIterator<Item = &ListedSession> {
        self.sessions.iter().filter(|it| !it.cached.1.is_empty() || !it.fresh.is_empty())
    }

    /// Returns the sessions of a feature, in the order of their ids.
    pub fn sessions_of(&self, feature: &str) -> impl DoubleEndedIterator<Item = &ListedSession> {
        self.sessions().filter(move |session| session.feature == feature)
    }

    /// Returns true if it lists all sessions that can be read.
    pub fn is_of_all(&self) -> bool {
        self.is_of_all
    }

    /// Returns the sessions of a feature, as far as this version can read them, in the order of their ids.
    pub fn views_of(&self, feature: &str) -> Vec<SessionView> {
        let views = self.sessions_of(feature).map(ListedSession::view);
        views.filter(|view| !view.entries.is_empty()).cloned().collect()
    }

    /// Returns the sessions of a feature, as far as they can be read, the newest last.
    pub fn logs_of(&self, feature: &str) -> Vec<SessionLog> {
        self.sessions_of(feature).filter_map(ListedSession::log).collect()
    }
}

impl ListedSession {
    /// Returns its records.
    pub fn view(&self) -> &SessionView {
        self.view.get_or_init(|| {
            let (text, rows) = &self.cached;
            let cached = listing_cache::entries(text, rows.clone()).flatten();
            let entries: Vec<_> = cached.chain(self.fresh.iter().cloned()).collect();
            SessionView::of(&self.refs.session, entries)
        })
    }

    /// Returns what the messages of its records say, oldest first.
    pub fn entries(&self) -> &[LogEntry] {
        &self.view().entries
    }

    fn log(&self) -> Option<SessionLog> {
        let (refs, entries) = (self.refs.clone(), Arc::clone(&self.view().entries));
        (!entries.is_empty()).then_some(SessionLog { refs, entries, is_broken: self.is_broken })
    }
}

impl Store {
    /// Returns the records of all sessions that `is_wanted`, by the names of their refs. What cannot be read goes to
    /// `unreadable`, with the reason.
    pub fn listing(
        &self,
        is_wanted: impl Fn(&SessionRefs) -> bool,
        unreadable: &mut Vec<UnreadableSession>,
    ) -> Result<Listing> {
        let reader = self.reader()?;
        let head = head(&reader.ends);
        let (text, mut kept) = listing_cache::read(&self.cache_file(), &head).unwrap_or_default();
        let mut sessions = Vec::new();
        let (mut read, mut is_of_all, mut is_whole) = (0, true, true);
        for (refs, tip) in self.log_tips()? {
            if !is_wanted(&refs) {
                is_of_all = false;
                continue;
            }
            let (known, rows) = match kept.remove(&refs.log()) {
                Some((known, feature, cached)) if known == tip => {
                    let (cached, fresh) = ((Arc::clone(&text), cached), Vec::new());
                    let (view, is_broken) = (OnceLock::new(), false);
                    sessions.push(ListedSession { refs, feature, tip, cached, fresh, view, is_broken });
                    continue;
                }
                Some((known, _, rows)) => (Some(known), rows),
                None => (None, 0..0),
            };
            let chain = Chain { known: known.as_ref(), lookup: None, ..reader.chain(&refs) };
            match chain.read(&tip) {
                Ok(ChainWalk { entries: fresh, is_joined, gap }) => {
                    // Half a session is not for the cache.
                    let is_broken = gap.is_some();
                    is_whole &= !is_broken;
                    unreadable.extend(gap.map(|error| (Some(refs.clone()), error)));
                    read += fresh.len();
                    let feature = fresh.last().map_or(String::new(), |entry| entry.feature().to_owned());
                    let cached = (Arc::clone(&text), if is_joined { rows } else { 0..0 });
                    let view = OnceLock::new();
                    sessions.push(ListedSession { refs, feature, tip, cached, fresh, view, is_broken });
                }
                Err(error) => unreadable.push((Some(refs), error)),
            }
        }
        let unusable = self.unusable_sessions()?.into_iter();
        unreadable.extend(unusable.map(|error| (None, error)));
        let listing = Listing { sessions, is_of_all };
        if is_whole && is_of_all && read >= MIN_RECORDS_TO_CACHE {
            // A cache that cannot be written costs time, and nothing else.
            let body = listing.body(text.len());
            let text = format!("{head}{:016x}\n{body}", sum(body.as_bytes()));
            let _unwritten =
                folders::write_cache(self.repository(), &self.cache_file(), text.as_bytes()).is_err();
        }
        Ok(listing)
    }

    /// As [`Listing::logs_of`], from all sessions.
    pub fn logs_of(&self, feature: &str) -> Result<Vec<SessionLog>> {
        // What cannot be read is reported where records are listed.
        Ok(self.listing(|_| true, &mut Vec::new())?.logs_of(feature))
    }

    /// Throws the cache and the reports away, with what they hold of sessions that go.
    pub(crate) fn forget_listing(&self) -> Result<()> {
        folders::forget_reports(self.repository())?;
        disk::remove_file_if_there(&self.circumstances_file())?;
        disk::remove_file_if_there(&self.cache_file()).map(drop)
    }
}

impl Listing {
    /// Returns what a cache has after the lines that say of what it was made; the one before had `length` bytes.
    fn body(&self, length: usize) -> String {
        let mut body = String::with_capacity(length + length / 8);
        for listed in &self.sessions {
            let ListedSession { refs, tip, feature, .. } = listed;
            let rows = &listed.cached.0[listed.cached.1.clone()];
            let mut fresh = String::new();
            listed.fresh.iter().for_each(|entry| entry.write_row(&mut fresh));
            let length = rows.len() + fresh.len();
            body.push_str(&format!("{}\t{tip}\t{length}\t{}\n", refs.log(), escape(feature)));
            body.push_str(rows);
            body.push_str(&fresh);
        }
        body
    }
}
