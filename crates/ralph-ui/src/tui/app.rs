//! The state of the screen: keys and answers in, requests out. It reads nothing and draws nothing.

mod act;
mod typed;

use std::collections::HashMap;
use std::sync::Arc;

use crossterm::event::{Event, KeyEventKind};
use ratatui::layout::Rect;

use crate::needs::count_words;
use crate::session_table::End;
use ralph_core::record::{FlaggedTask, Need, NeedKind, SessionId, Status, TaskName, Timestamp};
use ralph_core::view::SessionView;

use super::contents::{self, Cache, Scene, Subject, View, answered_row, need_rows};
use super::layout::{Areas, Panel, Shape};
use super::model::{Answer, DiffTarget, FeatureOverview, File, LiveIteration, Overview, Request, Worker};
use super::page::{Page, top_to_show};
use super::row::{Look, Row, shown};
use super::tree::{Line, Tree};

/// What the keys are for right now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mode {
    Browse,
    /// The keys are shown, from this line on.
    Help(usize),
    /// Something is being typed.
    Typing(Field, String),
    Question(Question),
}

/// What is typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Field {
    /// What the log is filtered by, which it is while it is typed.
    Filter,
    /// What is looked for in a view.
    Search,
    /// A hint for a task or for the next prompt, or the answer to a task.
    Hint { task: Option<TaskName>, is_answer: bool },
}

/// A question with its answers, each with its key, what it does, and how; and what every other key means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    pub title: String,
    pub answers: Vec<(char, &'static str, Effect)>,
    pub otherwise: &'static str,
}

/// A program for reading or writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    Pager,
    Editor,
}

/// What is opened in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opened {
    /// A copy of a file of a record.
    File(File),
    Diff(DiffTarget),
    /// A view that is no file, as it is on the screen.
    Text(String),
    /// A file of the work tree itself, from its top.
    Own(String),
}

/// What the terminal has to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    Quit,
    Open(Program, Opened),
    /// Run this program with these arguments; and what to say if that went well, unless the program says it.
    Run(Vec<String>, Option<String>),
    /// Start a loop with these arguments, which outlives the screen.
    Start(Vec<String>),
}

/// A loop that was started here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnLoop {
    None,
    /// `is_beside` is true if it was started with the screen, and not by a key.
    Runs {
        pid: u32,
        is_beside: bool,
    },
    Ended {
        code: i32,
        is_beside: bool,
    },
}

/// What the page is of, and what it was laid out for.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PageKey {
    /// The last is true if it shows what runs.
    of: (SessionId, Subject, View, bool),
    filter: String,
    width: u16,
}

/// The number of an attempt that runs, and what was there of its outputs.
type Lengths = (u32, [Option<u64>; 4]);

/// Many fields: all that keys and answers change, and what is drawn follows from.
#[derive(Debug)]
pub struct App {
    pub overview: Overview,
    /// True if the first look has come.
    pub is_known: bool,
    /// The session that is shown.
    session: Option<SessionId>,
    pub panel: Panel,
    /// The panel that the detail is of.
    pub left: Panel,
    pub view: View,
    pub subject: Subject,
    /// The loop that is chosen where several work at once.
    pub worker: usize,
    /// The line of what needs the user, and the rows of each, with those that are answered.
    pub need: usize,
    pub need_rows: Vec<Vec<Row>>,
    /// The line of what is flagged.
    pub flag: usize,
    pub tree: Tree,
    pub page: Page,
    shown: Option<PageKey>,
    /// True if more was read than the page is made of.
    is_stale: bool,
    pub cache: Cache,
    pub mode: Mode,
    pub follows: bool,
    /// What the log is filtered by where nothing is being typed.
    filter: String,
    /// What is looked for in views.
    pub search: String,
    /// What there is to say: a row, or a second one with what helps.
    pub message: Vec<Row>,
    pub size: Rect,
    pub now: Timestamp,
    /// What was there of the outputs of the attempts that run, and since when there is no more.
    heard: HashMap<SessionId, (Lengths, Timestamp)>,
    pub own_loop: OwnLoop,
    /// True if the loop that was started here was ever seen to run a session.
    pub has_begun: bool,
}

impl App {
    pub fn new(size: Rect, now: Timestamp, own_loop: OwnLoop) -> Self {
        Self {
            overview: Overview::default(),
            is_known: false,
            session: None,
            panel: Panel::Needs,
            left: Panel::Needs,
            view: View::Detail,
            subject: Subject::Session,
            worker: 0,
            need: 0,
            need_rows: Vec::new(),
            flag: 0,
            tree: Tree::default(),
            page: Page::default(),
            shown: None,
            is_stale: false,
            cache: Cache::default(),
            mode: Mode::Browse,
            follows: true,
            filter: String::new(),
            search: String::new(),
            message: Vec::new(),
            size,
            now,
            heard: HashMap::new(),
            own_loop,
            has_begun: false,
        }
    }

    /// The session that is shown, with its feature.
    pub fn shown_session(&self) -> Option<(&Arc<FeatureOverview>, &SessionView)> {
        self.overview.session(self.session.as_ref()?)
    }

    /// Returns the loops that work on the session that is shown.
    pub fn workers(&self) -> Vec<Worker<'_>> {
        self.shown_session().map_or_else(Vec::new, |(_, session)| self.overview.workers(session))
    }

    pub fn is_live(&self) -> bool {
        !self.workers().is_empty()
    }

    /// Returns how long there was no output of the attempt that a session runs, as far as it was seen, in milliseconds.
    pub fn silent_ms(&self, session: &SessionId) -> u64 {
        self.heard.get(session).map_or(0, |(_, at)| at.ms_until(self.now))
    }

    pub fn is_completed(&self) -> bool {
        !self.is_live()
            && self
                .shown_session()
                .is_some_and(|(_, session)| End::of_session(session).status == Status::Completed)
    }

    /// Returns what the log is filtered by.
    pub fn filter(&self) -> &str {
        match &self.mode {
            Mode::Typing(Field::Filter, text) => text,
            _ => &self.filter,
        }
    }

    pub fn needs(&self) -> &[Need] {
        self.shown_session().map_or(&[], |(feature, _)| &feature.summary.needs_you)
    }

    pub fn flagged(&self) -> &[FlaggedTask] {
        self.shown_session().map_or(&[], |(feature, _)| &feature.summary.flagged)
    }

    /// Returns the panels that are there.
    pub fn panels(&self) -> Vec<Panel> {
        Panel::all(self.is_live(), !self.flagged().is_empty())
    }

    pub fn scene(&self) -> Option<Scene<'_>> {
        let (feature, session) = self.shown_session()?;
        Some(Scene {
            overview: &self.overview,
            feature,
            session,
            workers: self.overview.workers(session),
            cache: &self.cache,
            now: self.now,
            shape: Shape::of(self.size),
            width: usize::from(self.size.width),
            filter: self.filter(),
        })
    }

    /// Takes in the state of everything by now.
    pub fn looked(&mut self, overview: Overview) {
        let is_first = !self.is_known;
        self.is_known = true;
        if let Some(warning) =
            overview.warnings.first().filter(|_| overview.warnings != self.overview.warnings)
        {
            self.say(Look::Warn, format!("left out: {}", shown(&warning.replace('\n', "; "))));
        }
        let was_live = self.is_live();
        self.overview = overview;
        // What grows stays while it is not read at its end.
        self.cache.invalidate(self.page.sticks);
        self.has_begun |= self.own_session().is_some();
        if is_first {
            // Where nothing runs there is nothing to follow until it is asked for.
            self.follows = self.own_loop != OwnLoop::None || !self.overview.live.is_empty();
        }
        let is_gone = self.session.as_ref().is_none_or(|id| self.overview.session(id).is_none());
        if is_gone || self.follows {
            let followed = self.followed();
            if followed != self.session {
                self.session = followed;
                self.arrive();
            }
        }
        self.renew();
        let heard = self.overview.live.iter().filter_map(|(id, live)| {
            let LiveIteration { number, lengths, .. } = live.in_flight.as_ref()?;
            let before = self.heard.get(id).filter(|(before, _)| *before == (*number, *lengths));
            Some((id.clone(), ((*number, *lengths), before.map_or(self.now, |(_, at)| *at))))
        });
        self.heard = heard.collect();
        let is_live = self.is_live();
        let has_ended = was_live && !is_live;
        let is_news = was_live != is_live && self.follows;
        if is_first || is_news || has_ended && matches!(self.subject, Subject::Running(_)) {
            self.arrive();
        }
        if has_ended {
            let needs = count_words(self.needs()).unwrap_or_else(|| "nothing needs you".to_owned());
            self.say(Look::Accent, format!("the session has ended: {needs}"));
        }
        self.compose();
    }

    /// The session to follow: of the loop that was started here, else one that runs, else the newest.
    fn followed(&self) -> Option<SessionId> {
        self.own_session().or_else(|| {
            let sessions = self.overview.sessions();
            let live = sessions.iter().find(|(_, session)| !self.overview.workers(session).is_empty());
            live.or(sessions.first()).map(|(_, session)| session.id.clone())
        })
    }

    /// Goes to what is to be seen first: what runs, else what needs the user, else the session.
    fn arrive(&mut self) {
        (self.view, self.worker, self.need, self.flag) = (View::Detail, 0, 0, 0);
        self.subject = Subject::Session;
        self.focus(if self.is_live() {
            Panel::Now
        } else if !self.need_rows.is_empty() {
            Panel::Needs
        } else if !self.flagged().is_empty() {
            Panel::Look
        } else if self.is_completed() {
            Panel::Needs
        } else {
            Panel::Session
        });
        // What to review is in the detail, which has no room beside others there.
        if self.is_completed() && self.panel == Panel::Needs && Shape::of(self.size) == Shape::Narrow {
            self.panel = Panel::Detail;
        }
    }

    /// Makes the lists anew.
    fn renew(&mut self) {
        if let Some(scene) = self.scene() {
            let running: Vec<String> = scene.running_tasks().into_iter().map(str::to_owned).collect();
            let feature = Arc::clone(scene.feature);
            self.tree.renew(&feature, &running.iter().map(String::as_str).collect::<Vec<_>>());
        }
        self.need_rows = self.scene().map_or_else(Vec::new, |scene| {
            let needs = self.needs().iter().map(|need| need_rows(&scene, need, self.size.width));
            needs.chain(scene.feature.summary.answered.iter().map(|task| vec![answered_row(task)])).collect()
        });
        self.worker = self.worker.min(self.workers().len().saturating_sub(1));
        if matches!(&self.subject, Subject::Running(id) if !self.overview.live.contains_key(id))
            && self.is_live()
        {
            self.choose();
        }
        self.need = self.need.min(self.need_rows.len().saturating_sub(1));
        self.flag = self.flag.min(self.flagged().len().saturating_sub(1));
        let panels = self.panels();
        for panel in [&mut self.left, &mut self.panel] {
            *panel = if panels.contains(panel) { *panel } else { Panel::Needs };
        }
    }

    /// Moves the keys to a panel. A list chooses what the detail is of.
    fn focus(&mut self, panel: Panel) {
        self.panel = panel;
        if panel != Panel::Detail {
            self.left = panel;
            self.choose();
        }
    }

    /// Makes the detail one of what is chosen in the list.
    fn choose(&mut self) {
        let chosen = match self.left {
            Panel::Now => {
                let workers = self.workers();
                let chosen = workers.get(self.worker).or(workers.first());
                chosen.map_or(Subject::Session, |worker| Subject::Running(worker.session.clone()))
            }
            Panel::Needs => match self.needs().get(self.need) {
                Some(Need {
                    task: Some(task),
                    why: NeedKind::Asks | NeedKind::Policy | NeedKind::Accept | NeedKind::Fails,
                    ..
                }) => Subject::Task(task.clone()),
                Some(_) => Subject::Need(self.need),
                None => {
                    let answered =
                        self.shown_session().map_or(&[][..], |(feature, _)| &feature.summary.answered);
                    let answered = answered.get(self.need.saturating_sub(self.needs().len()));
                    answered.map_or(Subject::Session, |answered| Subject::Task(answered.task.clone()))
                }
            },
            Panel::Look => {
                let flagged = self.flagged().get(self.flag);
                flagged.map_or(Subject::Session, |flagged| Subject::Task(flagged.task.clone()))
            }
            Panel::Tasks => match (self.tree.selected(), self.shown_session()) {
                (Some(Line::Task(place)), Some((feature, _))) => {
                    Subject::Task(feature.list.items[place].name.clone())
                }
                _ => Subject::Session,
            },
            Panel::Session if matches!(self.subject, Subject::Attempt(_)) => return,
            Panel::Session => Subject::Session,
            Panel::Detail => return,
        };
        self.subject = chosen;
    }

    /// Makes the page anew, with what was read and unfolded as it was where it is of the same.
    pub fn compose(&mut self) {
        let old = std::mem::take(&mut self.page);
        self.is_stale = false;
        let (Some(shown), Some(scene)) = (self.to_show(), self.scene()) else {
            self.shown = None;
            return;
        };
        scene.cache.forget_wanted();
        // The first line needs it on every page.
        let _detail = scene.detail().is_some();
        let is_same = self.shown.as_ref().is_some_and(|old| old.of == shown.of);
        let page = contents::page(&scene, &self.subject, self.view, Some(&old).filter(|_| is_same));
        (self.page, self.shown) = (page, Some(shown));
        self.cache.forget_texts();
        self.fit();
    }

    fn to_show(&self) -> Option<PageKey> {
        let is_live = self.scene()?.is_live(&self.subject);
        let of = (self.session.clone()?, self.subject.clone(), self.view, is_live);
        Some(PageKey { of, filter: self.filter().to_owned(), width: self.size.width })
    }

    /// Takes in what was read.
    pub fn answered(&mut self, request: Request, answer: anyhow::Result<Answer>) {
        if let (Err(error), false) =
            (&answer, matches!(request, Request::Diff(_) | Request::Text(_) | Request::Memory { .. }))
        {
            self.message = Row::failure(error);
        }
        self.cache.take(request, answer.map_err(|error| format!("{error:#}")));
        self.is_stale = true;
    }

    /// Makes the page of what was read.
    pub fn refresh(&mut self) {
        if self.is_stale {
            self.compose();
        }
    }

    /// What to read next. A page is made when all is read that the last one wanted.
    pub fn requests(&mut self) -> Vec<Request> {
        let wanted = self.cache.wanted();
        if !(self.is_stale && wanted.is_empty()) {
            return wanted;
        }
        self.compose();
        self.cache.wanted()
    }

    /// Time has passed.
    pub fn tick(&mut self, now: Timestamp) {
        self.now = now;
    }

    /// The session of the loop that was started here, while it runs; of several, the one that they are shown as.
    pub fn own_session(&self) -> Option<SessionId> {
        let OwnLoop::Runs { pid, .. } = self.own_loop else { return None };
        let is_own = |worker: &Worker<'_>| worker.live.pid == pid || worker.live.parent == Some(pid);
        let mut sessions = self.overview.sessions().into_iter();
        let own = sessions.find(|(_, session)| self.overview.workers(session).iter().any(is_own));
        own.map(|(_, session)| session.id.clone())
    }

    /// Returns true if something on the screen changes with time alone.
    pub fn is_moving(&self) -> bool {
        !self.overview.live.is_empty()
    }

    pub fn areas(&self) -> Areas {
        let lines = (self.need_rows.iter().map(Vec::len).sum(), self.flagged().len());
        // Rows of attempts and sessions have more to say than fits beside the lists.
        let is_full = matches!(self.view, View::Log | View::Sessions);
        let panels = (self.panel, self.left);
        Areas::of(self.size, panels, self.workers().len(), lines, is_full)
    }

    /// Puts on the screen what the cursors are on.
    pub fn fit(&mut self) {
        let areas = self.areas();
        let tasks = usize::from(areas.area(Panel::Tasks).height.saturating_sub(2));
        let height = self.detail_height();
        // Below each other, the panel that has the keys takes the room of others.
        match Shape::of(self.size) {
            Shape::Wide if tasks == 0 => {}
            Shape::Wide => self.tree.fill(tasks),
            Shape::Narrow | Shape::Stacked => self.tree.fill(0),
        }
        self.tree.top = top_to_show(self.tree.place, self.tree.top, self.tree.lines.len(), tasks);
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

    /// Takes in a key or a new size.
    pub fn event(&mut self, event: &Event) -> Option<Effect> {
        let effect = match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => self.key(*key),
            Event::Resize(width, height) => {
                self.size = Rect::new(0, 0, *width, *height);
                self.renew();
                None
            }
            _ => return None,
        };
        if self.shown == self.to_show() {
            self.fit();
        } else {
            self.compose();
        }
        effect
    }
}
