//! What keys and the mouse do to the state.

use crossterm::event::{KeyCode, KeyEvent, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use crate::tui::contents::View;
use crate::tui::help;
use crate::tui::keys::{self, Act};
use crate::tui::layout::{Areas, Pane, is_narrow};
use crate::tui::list::{Chosen, Direction, Item};
use crate::tui::page::{At, Body};
use crate::tui::row::{Look, Row};
use crate::tui::source::DiffTarget;
use ralph_core::record::SessionId;

use super::{App, Effect, Mode, Opened, OwnLoop, Program, Shown, Subcommand};

/// Lines that a turn of the mouse's wheel moves.
const WHEEL: isize = 3;

/// Columns that a key moves sideways.
const SIDEWAYS: usize = 8;

impl App {
    pub(super) fn key(&mut self, key: KeyEvent) -> Option<Effect> {
        (self.message, self.jump) = (None, None);
        match &self.mode {
            Mode::Browse => self.act(keys::act(key)?),
            Mode::Help => {
                self.read_help(key);
                None
            }
            Mode::Filter(before) => {
                let before = before.clone();
                self.type_filter(key, before);
                None
            }
            Mode::Search(before) => {
                let before = before.clone();
                self.type_search(key, before);
                None
            }
            Mode::Hint(text) => {
                let text = text.clone();
                self.type_hint(key, text)
            }
            Mode::Leave => {
                let own = self.own_session();
                self.answer(key, own)
            }
            Mode::Restore(name) => {
                let name = name.clone();
                self.mode = Mode::Browse;
                matches!(key.code, KeyCode::Char('y')).then_some(Effect::Run(Subcommand::Restore(name)))
            }
            Mode::Stop => {
                let chosen = self.live_session();
                self.answer(key, chosen)
            }
        }
    }

    /// Keys that move do so where the help is longer than the screen. All others lead back.
    fn read_help(&mut self, key: KeyEvent) {
        let areas = self.areas();
        let (last, page) = (help::last_top(&areas), help::page(&areas));
        let top = self.help_top.min(last);
        self.help_top = match keys::act(key).filter(|_| help::is_long(&areas)) {
            Some(Act::Down) => top + 1,
            Some(Act::Up) => top.saturating_sub(1),
            Some(Act::HalfDown) => top + (page / 2).max(1),
            Some(Act::HalfUp) => top.saturating_sub((page / 2).max(1)),
            Some(Act::PageDown) => top + page,
            Some(Act::PageUp) => top.saturating_sub(page),
            Some(Act::Start) => 0,
            Some(Act::End) => last,
            Some(_) | None => {
                self.mode = Mode::Browse;
                0
            }
        }
        .min(last);
    }

    /// Lists what passes the filter, with the first that does chosen where a session as a whole was.
    pub(super) fn filter(&mut self) {
        self.list.renew(&self.overview, self.chosen.as_ref());
        let next = self.list.items.get(self.list.selected + 1);
        let is_hit = next.is_some_and(|item| !matches!(item, Item::Session(_)));
        if self.list.is_filtered() && is_hit && matches!(self.list.selected(), Some(Item::Session(_))) {
            self.list.selected += 1;
        }
    }

    fn act(&mut self, act: Act) -> Option<Effect> {
        let areas = self.areas();
        let height = match self.pane {
            Pane::List => areas.list.height,
            Pane::View => areas.page.height,
        };
        let height = isize::try_from(height).unwrap_or(1).max(1);
        match act {
            Act::Down => self.move_by(1),
            Act::Up => self.move_by(-1),
            Act::HalfDown => self.move_by((height / 2).max(1)),
            Act::HalfUp => self.move_by(-(height / 2).max(1)),
            Act::PageDown => self.move_by(height),
            Act::PageUp => self.move_by(-height),
            Act::Start => self.go_to_start(),
            Act::End => self.go_to_end(),
            Act::Left if self.pane == Pane::View && self.page.left > 0 => {
                self.page.left = self.page.left.saturating_sub(SIDEWAYS);
            }
            Act::Left => self.pane = Pane::List,
            Act::Right if self.pane == Pane::View && !self.is_wrapped() => self.page.left += SIDEWAYS,
            Act::Right => self.pane = Pane::View,
            Act::Enter => self.enter(),
            Act::Back => self.back(),
            Act::OtherPane => {
                self.pane = match self.pane {
                    Pane::List => Pane::View,
                    Pane::View => Pane::List,
                }
            }
            Act::Show(view) => self.show(view),
            Act::NextView | Act::PreviousView => {
                let count = View::ALL.len();
                let at = View::ALL.iter().position(|view| *view == self.view).unwrap_or(0);
                let step = if act == Act::NextView { 1 } else { count - 1 };
                self.show(View::ALL[(at + step) % count]);
            }
            Act::Filter if self.pane == Pane::View => {
                self.mode = Mode::Search(std::mem::take(&mut self.search));
            }
            Act::NextHit if self.pane == Pane::View => self.go_to_hit(Direction::Down),
            Act::PreviousHit if self.pane == Pane::View => self.go_to_hit(Direction::Up),
            Act::Hint | Act::Stop if self.live_session().is_none() => {
                self.message = Some(Row::of(Look::Warn, "no session runs there"));
            }
            Act::Hint => self.mode = Mode::Hint(String::new()),
            Act::Stop => self.mode = Mode::Stop,
            Act::Restore | Act::CopyCommit if self.commit().is_none() => {
                self.message = Some(Row::of(Look::Dim, "nothing is recorded of it yet"));
            }
            Act::Restore => match self.chosen.as_ref()? {
                Chosen::Session(_) => {
                    self.message = Some(Row::of(Look::Dim, "choose the iteration whose files to restore"));
                }
                Chosen::Iteration(..) => self.mode = Mode::Restore(self.name()?),
            },
            Act::Report => return Some(Effect::Run(Subcommand::Report(self.session()?.id.clone()))),
            Act::Filter => {
                self.pane = Pane::List;
                self.mode = Mode::Filter(self.list.filter.clone());
            }
            Act::FailedOnly => {
                self.list.is_failed_only = !self.list.is_failed_only;
                self.filter();
            }
            Act::Follow => {
                self.follows = !self.follows;
                if self.follows {
                    self.select_newest();
                    self.page.go_to_end();
                }
            }
            Act::NextFailure | Act::NextHit => self.go_to_failure(Direction::Down),
            Act::PreviousFailure | Act::PreviousHit => self.go_to_failure(Direction::Up),
            Act::Fold => self.fold(),
            Act::FoldAll => self.page.toggle_all(),
            Act::Wrap => {
                let wrapped = &mut self.is_wrapped[usize::from(self.view.is_prose())];
                *wrapped = !*wrapped;
                self.page.left = 0;
            }
            Act::CopyName => return Some(self.copy(self.name()?)),
            Act::CopyCommit => return Some(self.copy(self.commit()?)),
            Act::Pager => return self.open(Program::Pager),
            Act::Editor => return self.open(Program::Editor),
            Act::Redraw => return Some(Effect::Redraw),
            Act::Help => self.mode = Mode::Help,
            Act::Quit => {
                if let OwnLoop::Runs { .. } = self.own_loop {
                    self.mode = Mode::Leave;
                } else {
                    return Some(Effect::Quit);
                }
            }
        }
        None
    }

    fn show(&mut self, view: View) {
        self.view = view;
        self.page.left = 0;
        // A requested view is shown.
        if is_narrow(self.size) {
            self.pane = Pane::View;
        }
    }

    fn move_by(&mut self, lines: isize) {
        match self.pane {
            Pane::List => {
                self.list.move_by(lines);
                self.follows = false;
            }
            Pane::View => {
                self.page.move_by(lines);
                if lines < 0 {
                    self.follows = false;
                }
            }
        }
    }

    fn go_to_start(&mut self) {
        match self.pane {
            Pane::List => {
                self.list.selected = 0;
                self.follows = false;
            }
            Pane::View => {
                self.page.go_to_start();
                self.follows = false;
            }
        }
    }

    fn go_to_end(&mut self) {
        match self.pane {
            Pane::List => {
                self.list.selected = self.list.items.len().saturating_sub(1);
                self.follows = false;
            }
            Pane::View => self.page.go_to_end(),
        }
    }

    fn enter(&mut self) {
        match (self.pane, self.list.selected()) {
            (Pane::List, Some(Item::Session(place))) => self.fold_session(place),
            (Pane::List, _) => self.pane = Pane::View,
            (Pane::View, _) if self.jump_to_quoted_line() => {}
            (Pane::View, _) => self.page.toggle(),
        }
    }

    fn fold_session(&mut self, place: usize) {
        if let Some(session) = self.overview.sessions.get(place) {
            let id: SessionId = session.id.clone();
            self.list.toggle(&id);
            self.follows = false;
            self.list.renew(&self.overview, self.chosen.as_ref());
        }
    }

    fn fold(&mut self) {
        match (self.pane, self.list.selected()) {
            (Pane::List, Some(Item::Session(place))) => self.fold_session(place),
            (Pane::List, _) => {}
            (Pane::View, _) => self.page.toggle(),
        }
    }

    fn back(&mut self) {
        if self.pane == Pane::View {
            self.pane = Pane::List;
        } else if self.list.is_filtered() {
            self.list.filter.clear();
            self.list.is_failed_only = false;
            self.list.renew(&self.overview, self.chosen.as_ref());
        }
    }

    fn go_to_failure(&mut self, direction: Direction) {
        let mut found = self.list.failure(&self.overview, direction);
        if found.is_none()
            && let Some(session) = self.list.folded_with_failure(&self.overview, direction)
        {
            self.list.toggle(&session);
            self.list.renew(&self.overview, self.chosen.as_ref());
            found = self.list.failure(&self.overview, direction);
        }
        if let Some(place) = found {
            self.list.selected = place;
            self.follows = false;
        } else {
            let where_to = if direction == Direction::Down { "below" } else { "above" };
            self.message = Some(Row::of(Look::Dim, format!("no failure {where_to}")));
        }
    }

    /// How commands call what is chosen.
    fn name(&self) -> Option<String> {
        match self.chosen.as_ref()? {
            Chosen::Session(id) => Some(id.to_string()),
            Chosen::Iteration(id, number) => Some(format!("{id}:{number}")),
        }
    }

    fn commit(&self) -> Option<String> {
        let session = self.session()?;
        match self.chosen.as_ref()? {
            Chosen::Session(_) => Some(session.ends[1].to_string()),
            Chosen::Iteration(_, number) => Some(session.iteration(*number)?.commit.to_string()),
        }
    }

    fn copy(&mut self, text: String) -> Effect {
        self.message = Some(Row::of(Look::Dim, "copied ").and(Look::Accent, text.clone()));
        Effect::Copy(text)
    }

    fn open(&mut self, program: Program) -> Option<Effect> {
        let opened = self.opened();
        if matches!(&opened, Opened::Text(text) if text.trim().is_empty()) {
            self.message = Some(Row::of(Look::Dim, "nothing to open"));
            return None;
        }
        Some(Effect::Open(program, opened))
    }

    /// What a pager or an editor would show: the file at the cursor, the patch, or the text of the view.
    fn opened(&self) -> Opened {
        let files = || {
            self.page.sections.iter().filter_map(|section| match &section.body {
                Body::Window(window) if window.total != Some(0) => Some(&window.file),
                Body::Window(_) | Body::Rows(_) | Body::Unread => None,
            })
        };
        let at_cursor =
            self.page.section_at(self.page.cursor).and_then(|place| match &self.page.sections[place].body {
                Body::Window(window) => Some(&window.file),
                Body::Rows(_) | Body::Unread => None,
            });
        if let Some(file) = at_cursor.or_else(|| files().next()) {
            return Opened::File(file.clone());
        }
        if let Some(Shown { view: View::Diff, chosen, .. }) = &self.shown {
            let change = DiffTarget { session: chosen.session().clone(), iteration: chosen.number() };
            return Opened::Diff(change);
        }
        let lines = self.page.lines(0, self.page.len());
        let text = |at: &At| self.page.row(*at).map_or(String::new(), Row::text);
        Opened::Text(lines.iter().map(|at| text(at) + "\n").collect())
    }

    pub(super) fn mouse(&mut self, mouse: MouseEvent) {
        if self.mode != Mode::Browse {
            let lines = match mouse.kind {
                MouseEventKind::ScrollDown => WHEEL,
                MouseEventKind::ScrollUp => -WHEEL,
                _ => 0,
            };
            let last = help::last_top(&self.areas());
            self.help_top = self.help_top.saturating_add_signed(lines).min(last);
            if matches!(mouse.kind, MouseEventKind::Down(_)) && self.mode == Mode::Help {
                (self.mode, self.help_top) = (Mode::Browse, 0);
            }
            return;
        }
        let areas = self.areas();
        let at = Position { x: mouse.column, y: mouse.row };
        let lines = match mouse.kind {
            MouseEventKind::ScrollDown => WHEEL,
            MouseEventKind::ScrollUp => -WHEEL,
            MouseEventKind::Down(MouseButton::Left) => return self.click(at, &areas),
            _ => return,
        };
        if areas.list.contains(at) {
            self.list.move_by(lines);
            self.follows = false;
        } else if areas.page.contains(at) {
            self.page.move_by(lines);
            self.follows &= lines > 0;
            // The page moves, not only the cursor on it.
            self.page.top = self.page.top.saturating_add_signed(lines);
            self.page.cursor = if lines > 0 {
                self.page.cursor.max(self.page.top)
            } else {
                self.page.cursor.min(self.page.top + usize::from(areas.page.height).saturating_sub(1))
            };
        }
    }

    fn click(&mut self, at: Position, areas: &Areas) {
        self.message = None;
        if areas.list.contains(at) {
            self.pane = Pane::List;
            let place = self.list.top + usize::from(at.y - areas.list.y);
            if place < self.list.items.len() {
                let was = self.list.selected;
                self.list.selected = place;
                self.follows = false;
                if let Item::Session(session) = self.list.items[place]
                    && (was == place || at.x <= areas.list.x + 2)
                {
                    self.fold_session(session);
                }
            }
        } else if areas.page.contains(at) {
            self.pane = Pane::View;
            if let Some((line, _)) = self.screen().get(usize::from(at.y - areas.page.y)).cloned() {
                self.page.sticks = false;
                self.page.cursor = line;
                if let Some(At::Title(_) | At::More(_)) = self.page.at(line) {
                    self.page.toggle();
                }
            }
        } else if areas.tabs.contains(at)
            && let Some(view) = areas.view_at(at.x, self.view)
        {
            self.show(view);
        }
    }
}
