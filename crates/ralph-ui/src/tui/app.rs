//! The state of the screen: keys and answers in, requests out. It reads nothing and draws nothing.

mod act;
mod answers;
mod first;
mod jump;
mod typed;

use std::sync::Arc;

use crossterm::event::{Event, KeyEventKind};
use ratatui::layout::Rect;

use ralph_core::record::{SessionId, Timestamp};
use ralph_store::Stop;

use super::contents::{self, Ordered, View};
use super::layout::{Areas, Pane};
use super::list::{Chosen, List};
use super::page::{Body, Fold, Page, Section};
use super::row::{Look, Row, shown};
use super::source::{DiffTarget, File, InFlight, IterationRow, Overview, Place, SessionRow, Stream};
use super::window::{PartRequest, WindowPart};

/// What the keys are for right now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mode {
    Browse,
    /// The text of the filter is being typed; what it was before.
    Filter(String),
    Help,
    /// The text to look for in a view is being typed; what it was before.
    Search(String),
    /// A hint for the session is being typed.
    Hint(String),
    /// The loop that was started with the screen runs: what shall become of it?
    Leave,
    /// How the chosen session shall stop.
    Stop,
    /// Whether the files of this iteration, by its name, are to be restored.
    Restore(String),
}

/// A program for reading or writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    Pager,
    Editor,
}

/// What is opened in it.
#[derive(Debug, Clone, PartialEq)]
pub enum Opened {
    File(File),
    Diff(DiffTarget),
    /// A view that is no file, as it is on the screen.
    Text(String),
}

/// What a session that runs is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Steer {
    Hint(String),
    Stop(Stop),
}

/// A subcommand of this program that the screen runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subcommand {
    /// Restore the files of the iteration of this name.
    Restore(String),
    /// Write the page of this session and open it in the browser.
    Report(SessionId),
}

/// What the terminal has to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    Quit,
    Copy(String),
    Open(Program, Opened),
    /// Ask a session that runs for something.
    Steer(SessionId, Steer),
    Run(Subcommand),
    Redraw,
}

/// What is to be read.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    Part(PartRequest),
    View(Arc<SessionRow>, Ordered),
}

/// What was read.
#[derive(Debug)]
pub enum Answer {
    Part(WindowPart),
    View(Vec<Section>),
}

/// The loop that was started with the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnLoop {
    None,
    Runs { pid: u32 },
    Ended { code: i32 },
}

/// What the page on the right is of.
#[derive(Debug, Clone, PartialEq)]
struct Shown {
    view: View,
    chosen: Chosen,
    is_live: bool,
    /// Changes where the page must be made anew though the same is chosen.
    version: String,
}

/// Many fields: all that keys and answers change, and what is drawn follows from.
#[derive(Debug)]
pub struct App {
    pub overview: Overview,
    /// True if the first look has come.
    pub is_known: bool,
    pub list: List,
    pub pane: Pane,
    pub view: View,
    pub page: Page,
    pub mode: Mode,
    /// The first line of the help on the screen.
    pub help_top: usize,
    pub follows: bool,
    /// What is looked for in views.
    pub search: String,
    /// The line of an output that the cursor is on its way to.
    jump: Option<String>,
    pub is_wrapped: [bool; 2],
    pub message: Option<Row>,
    pub size: Rect,
    pub now: Timestamp,
    pub own_loop: OwnLoop,
    chosen: Option<Chosen>,
    shown: Option<Shown>,
    /// What the page waits for.
    ordered: Option<(Shown, Ordered)>,
    /// True if the loop that was started with the screen was ever seen to run a session.
    pub has_begun: bool,
    /// What could not be read, so that it is not asked for again and again.
    failed: Option<Request>,
}

impl App {
    pub fn new(size: Rect, now: Timestamp, own_loop: OwnLoop) -> Self {
        Self {
            overview: Overview::default(),
            is_known: false,
            list: List::default(),
            pane: Pane::List,
            view: View::Output,
            page: Page::default(),
            mode: Mode::Browse,
            help_top: 0,
            follows: true,
            search: String::new(),
            jump: None,
            is_wrapped: [false, true],
            message: None,
            size,
            now,
            own_loop,
            chosen: None,
            shown: None,
            ordered: None,
            has_begun: false,
            failed: None,
        }
    }

    /// Returns true if long lines of this view are wrapped.
    pub fn is_wrapped(&self) -> bool {
        self.is_wrapped[usize::from(self.view.is_prose())]
    }

    /// Takes in how everything stands by now.
    pub fn looked(&mut self, overview: Overview) {
        let is_first = !self.is_known;
        self.is_known = true;
        if let Some(warning) =
            overview.warnings.first().filter(|_| overview.warnings != self.overview.warnings)
        {
            let words = shown(&warning.replace('\n', "; "));
            self.message = Some(Row::of(Look::Warn, format!("left out: {words}")));
        }
        self.overview = overview;
        if is_first {
            // Without anything that runs there is nothing to follow until it is asked for.
            self.follows = self.own_loop != OwnLoop::None
                || self.overview.sessions.iter().any(|session| session.live.is_some());
        }
        self.has_begun |= self.own_session().is_some();
        self.list.renew(&self.overview, self.chosen.as_ref());
        if self.follows {
            self.select_newest();
        } else if is_first {
            // Of a session that has ended, the whole is asked for first.
            self.select_session();
        }
        self.choose();
        self.failed = None;
    }

    /// Makes the page that belongs to what is selected.
    fn choose(&mut self) {
        let selected = self.list.selected().and_then(|item| List::chosen(&self.overview, item));
        // Nothing passes the filter: removing it restores the selection.
        let is_kept = selected.is_none() && self.list.is_filtered();
        self.chosen = if is_kept { self.chosen.take() } else { selected };
        let Some(chosen) = self.chosen.clone() else {
            (self.page, self.shown, self.ordered) = (Page::default(), None, None);
            return;
        };
        let Some(session) = self.overview.session(chosen.session()).cloned() else { return };
        let (shown, plan) = self.wanted(&session, &chosen);
        if self.shown.as_ref() == Some(&shown) {
            self.ordered = None;
            self.tell_growth(&session);
            self.freshen_head(&session);
            return;
        }
        let is_same = self.shown.as_ref().is_some_and(|old| {
            (old.view, &old.chosen, old.is_live) == (shown.view, &shown.chosen, shown.is_live)
        });
        let mut page = match plan {
            Plan::Ordered(ordered) => {
                if !is_same {
                    self.page = Page::default();
                    self.shown = None;
                }
                if self.ordered.as_ref().is_none_or(|(other, _)| *other != shown) {
                    self.ordered = Some((shown, ordered));
                }
                return;
            }
            Plan::Live(running) => contents::live_output(&session.id, running, self.seconds_of(running)),
            Plan::Output(row) => contents::output(&session, row),
            Plan::Prompt(place) => contents::prompt(place),
            Plan::Nothing(words) => Page::new(vec![Section::plain(vec![Row::of(Look::Dim, words)])]),
        };
        if is_same {
            page.adopt(std::mem::take(&mut self.page));
        }
        (self.page, self.ordered) = (page, None);
        self.shown = Some(shown);
        self.tell_growth(&session);
    }

    /// What shall be on the right, and how it is made.
    fn wanted<'a>(&self, session: &'a SessionRow, chosen: &Chosen) -> (Shown, Plan<'a>) {
        let row = match chosen.number() {
            Some(number) => session.iteration(number),
            None => session.iterations.last(),
        };
        let in_flight = session.in_flight().filter(|running| match chosen.number() {
            Some(number) => running.number == number,
            None => true,
        });
        let commit = |row: Option<&IterationRow>| row.map_or(String::new(), |row| row.commit.to_string());
        let [_, tip] = &session.ends;
        let (version, plan) = match self.view {
            View::Output if chosen.number().is_none() => {
                let running = in_flight.map(|running| running.number);
                let version = format!("{tip} {:?} {running:?}", session.status);
                let ordered = Ordered::Dashboard(session.id.clone(), session.with_tasks.clone());
                (version, Plan::Ordered(ordered))
            }
            View::Output => match (in_flight, row) {
                (Some(running), _) => {
                    let streams: Vec<bool> = running.lengths.iter().map(Option::is_some).collect();
                    (format!("{} {streams:?}", running.number), Plan::Live(running))
                }
                (None, Some(row)) => (commit(Some(row)), Plan::Output(row)),
                (None, None) => (String::new(), Plan::Nothing("no iteration is recorded yet")),
            },
            View::Describe => {
                let live = session.live.as_ref().map(|live| (live.pid, live.waiting.clone()));
                let version = format!("{tip} {:?} {live:?} {}", session.status, in_flight.is_some());
                (version, Plan::Ordered(Ordered::Describe(session.id.clone(), chosen.number())))
            }
            View::Diff if chosen.number().is_some() && row.is_none() => {
                (String::new(), Plan::Nothing("what it changes is known when it is recorded"))
            }
            View::Diff => {
                let row = row.filter(|_| chosen.number().is_some());
                let change = DiffTarget { session: session.id.clone(), iteration: row.map(|row| row.number) };
                let version = row.map_or(tip, |row| &row.commit).to_string();
                (version, Plan::Ordered(Ordered::Diff(change)))
            }
            View::Prompt => match (in_flight, row) {
                (Some(running), _) => {
                    let place = Place::Spool(session.id.clone(), running.number);
                    (format!("{place:?}"), Plan::Prompt(place))
                }
                (None, Some(row)) => (commit(Some(row)), Plan::Prompt(Place::Record(row.commit.clone()))),
                (None, None) => (String::new(), Plan::Nothing("no iteration is recorded yet")),
            },
            View::Tasks => {
                let past = row.filter(|_| chosen.number().is_some());
                let at = past.map_or(&session.with_tasks, |row| &row.commit);
                let running = session.in_flight().map(|running| running.number);
                (
                    format!("{at} {tip} {running:?}"),
                    Plan::Ordered(Ordered::Tasks(session.id.clone(), at.clone(), past.map(|row| row.number))),
                )
            }
            View::History => (tip.to_string(), Plan::Ordered(Ordered::History(session.feature.clone()))),
        };
        let is_live = self.view == View::Output && in_flight.is_some() && chosen.number().is_some();
        // These are of the whole session, whatever is selected.
        let chosen = match self.view {
            View::History => Chosen::Session(session.id.clone()),
            View::Output | View::Describe | View::Diff | View::Prompt | View::Tasks => chosen.clone(),
        };
        (Shown { view: self.view, chosen, is_live, version }, plan)
    }

    /// For how long it has run, in words.
    pub fn age(&self, running: &InFlight) -> String {
        contents::age(self.seconds_of(running))
    }

    /// For how long it has run.
    pub fn seconds_of(&self, running: &InFlight) -> u64 {
        u64::try_from(self.now.seconds() - running.started_at.seconds()).unwrap_or(0)
    }

    /// The first lines of what runs show for how long.
    fn freshen_head(&mut self, session: &SessionRow) {
        let Some(running) = session.in_flight() else { return };
        let is_shown = self.shown.as_ref().is_some_and(|shown| shown.is_live);
        if is_shown {
            let head =
                contents::live_output(&session.id, running, self.seconds_of(running)).sections.swap_remove(0);
            if let Some(first) = self.page.sections.first_mut() {
                *first = head;
            }
        }
    }

    fn tell_growth(&mut self, session: &SessionRow) {
        let Some(running) = session.in_flight() else { return };
        for (stream, length) in Stream::OF_A_RUN.into_iter().zip(running.lengths) {
            let file = contents::live_file(&session.id, running, stream);
            self.page.grown(&file, length.unwrap_or_default());
        }
    }

    /// Time has passed.
    pub fn tick(&mut self, now: Timestamp) {
        if now != self.now {
            self.now = now;
            if let Some(session) = self.session().cloned() {
                self.freshen_head(&session);
            }
        }
    }

    /// The session that something is chosen of.
    pub fn session(&self) -> Option<&Arc<SessionRow>> {
        self.overview.session(self.chosen.as_ref()?.session())
    }

    /// The session of the loop that was started with the screen, while it runs.
    pub fn own_session(&self) -> Option<SessionId> {
        let OwnLoop::Runs { pid } = self.own_loop else { return None };
        let is_own = |session: &&Arc<SessionRow>| session.live.as_ref().is_some_and(|live| live.pid == pid);
        self.overview.sessions.iter().find(is_own).map(|session| session.id.clone())
    }

    /// Returns true if something on the screen changes with time alone.
    pub fn is_moving(&self) -> bool {
        self.overview.sessions.iter().any(|session| session.live.is_some())
    }

    /// Returns true if something on the right is on its way.
    pub fn is_reading(&self) -> bool {
        self.ordered.is_some()
    }

    /// What to read next; `None` if everything is loaded. The screen is laid out first.
    pub fn request(&mut self) -> Option<Request> {
        self.fit();
        let height = usize::from(self.areas().page.height);
        let session = self.session()?.clone();
        let request = if let Some((_, ordered)) = &self.ordered {
            Some(Request::View(session, ordered.clone()))
        } else if let Some(request) = self.page.request(height) {
            Some(Request::Part(request))
        } else {
            let is_open = |section: &&Section| {
                !matches!(section.fold, Fold::Closed(_)) && matches!(section.body, Body::Unread)
            };
            let about = self.page.sections.iter().find(is_open).and_then(|section| section.about);
            let row = about.and_then(|number| session.iteration(number));
            row.map(|row| Request::View(session.clone(), Ordered::Failure(row.commit.clone())))
        };
        request.filter(|request| self.failed.as_ref() != Some(request))
    }

    pub fn areas(&self) -> Areas {
        Areas::of(self.size, self.pane)
    }

    /// Puts on the screen what the cursors are on.
    pub fn fit(&mut self) {
        let areas = self.areas();
        self.list.keep_in_view(usize::from(areas.list.height));
        let height = usize::from(areas.page.height);
        self.page.keep_in_view(height);
        // Wrapped lines take more room than one each.
        if height > 0 {
            while self.page.top < self.page.cursor
                && self.screen().last().is_some_and(|(line, _)| *line < self.page.cursor)
            {
                self.page.top += 1;
            }
        }
    }

    /// Takes in a key, the mouse, or a new size.
    pub fn event(&mut self, event: &Event) -> Option<Effect> {
        let effect = match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => self.key(*key),
            Event::Mouse(mouse) => {
                self.mouse(*mouse);
                None
            }
            Event::Resize(width, height) => {
                self.size = Rect::new(0, 0, *width, *height);
                None
            }
            Event::Key(_) | Event::FocusGained | Event::FocusLost | Event::Paste(_) => None,
        };
        self.choose();
        self.fit();
        effect
    }
}

/// How a page is made.
enum Plan<'a> {
    Live(&'a InFlight),
    Output(&'a IterationRow),
    Prompt(Place),
    Nothing(&'static str),
    /// Of what must be read first.
    Ordered(Ordered),
}
