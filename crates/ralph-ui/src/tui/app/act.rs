//! What keys and the mouse do to the state.

use crossterm::event::{KeyCode, KeyEvent, MouseButton, MouseEvent, MouseEventKind};

use ralph_core::record::{Outcome, SessionId, Status};

use crate::tui::contents::{Subject, View, attempt_of, is_match};
use crate::tui::help;
use crate::tui::keys::{self, Act};
use crate::tui::layout::{Panel, Shape};
use crate::tui::model::Attempt;
use crate::tui::page::{At, Body, Section};
use crate::tui::row::{Look, Row};
use crate::tui::tree::Line;

use super::{App, Effect, Mode, Opened, OwnLoop, Program};

/// Lines that a turn of the mouse's wheel moves.
const WHEEL: isize = 3;

/// Columns that a key moves sideways.
const SIDEWAYS: usize = 8;

/// What the log is filtered by where only failures are wanted.
const FAILED: &str = "failed";

impl App {
    pub(super) fn key(&mut self, key: KeyEvent) -> Option<Effect> {
        self.message.clear();
        match self.mode.clone() {
            Mode::Browse => self.act(keys::act(key)?),
            Mode::Help => {
                self.read_help(key);
                None
            }
            Mode::Find(before) | Mode::Search(before) => {
                self.type_words(key, before);
                None
            }
            Mode::Hint(task, text, is_answer) => self.type_hint(key, task, text, is_answer),
            Mode::Leave | Mode::Stop => self.answer(key),
            Mode::Confirm { effect, .. } => {
                self.mode = Mode::Browse;
                matches!(key.code, KeyCode::Char('y') | KeyCode::Enter).then_some(*effect)
            }
        }
    }

    /// Keys that move do so where the help is longer than the screen. All others lead back.
    fn read_help(&mut self, key: KeyEvent) {
        let (last, page) = (help::last_top(self.size), help::page(self.size));
        let top = self.help_top.min(last);
        self.help_top = match keys::act(key).filter(|_| last > 0) {
            Some(Act::Down) => top + 1,
            Some(Act::Up) => top.saturating_sub(1),
            Some(Act::HalfDown | Act::PageDown) => top + page.max(1),
            Some(Act::HalfUp | Act::PageUp) => top.saturating_sub(page.max(1)),
            Some(Act::Start) => 0,
            Some(Act::End) => last,
            Some(_) | None => {
                self.mode = Mode::Browse;
                0
            }
        }
        .min(last);
    }

    fn act(&mut self, act: Act) -> Option<Effect> {
        let area = self.areas().area(self.panel);
        let height = isize::try_from(area.height.saturating_sub(2)).unwrap_or(1).max(1);
        match act {
            Act::Down => self.move_by(1),
            Act::Up => self.move_by(-1),
            Act::HalfDown => self.move_by((height / 2).max(1)),
            Act::HalfUp => self.move_by(-(height / 2).max(1)),
            Act::PageDown => self.move_by(height),
            Act::PageUp => self.move_by(-height),
            Act::Start => self.go_to_start(),
            Act::End => self.go_to_end(),
            Act::Left | Act::Right if self.panel == Panel::Night => {
                self.step(if act == Act::Right { 1 } else { -1 });
            }
            Act::Left if self.page.left > 0 => self.page.left = self.page.left.saturating_sub(SIDEWAYS),
            Act::Right if self.panel == Panel::Detail && !self.is_wrapped() => self.page.left += SIDEWAYS,
            Act::Right | Act::Open => self.open_chosen(),
            Act::Left | Act::Back => self.back(),
            Act::NextPanel | Act::PreviousPanel => self.other_panel(act == Act::NextPanel),
            Act::Panel(number) => {
                let panel = Panel::all(self.live().is_some()).get(number).copied();
                if let Some(panel) = panel.filter(|panel| *panel != Panel::Detail) {
                    self.view = View::Detail;
                    self.focus(panel);
                }
            }
            Act::Show(view) => self.show(view),
            Act::Find
                if self.panel == Panel::Detail
                    && matches!(self.view, View::Output | View::Diff | View::Prompt) =>
            {
                self.mode = Mode::Search(std::mem::take(&mut self.search));
            }
            Act::Find => {
                self.show(View::Log);
                self.mode = Mode::Find(std::mem::take(&mut self.filter));
            }
            Act::FailedOnly => {
                self.filter = if self.filter == FAILED { String::new() } else { FAILED.to_owned() };
                self.show(View::Log);
            }
            Act::Follow => self.follow(),
            Act::NextFailure => self.go_to_failure(1),
            Act::PreviousFailure => self.go_to_failure(-1),
            Act::NextHit => self.go_to_hit(true),
            Act::PreviousHit => self.go_to_hit(false),
            Act::Answer | Act::Hint => self.begin_hint(act == Act::Answer),
            Act::Resume => self.ask_to_resume(),
            Act::Stop if self.live().is_none() => self.say(Look::Warn, "no session runs there"),
            Act::Stop => self.mode = Mode::Stop,
            Act::Restore => self.ask_to_restore(),
            Act::Report => {
                let id = self.session.as_ref()?.to_string();
                let arguments = ["report", "--open", "--session", &id].map(str::to_owned).to_vec();
                return Some(Effect::Run(arguments, Some("the page is open in the browser".to_owned())));
            }
            Act::Fold if self.panel == Panel::Tasks => {
                self.tree.toggle();
                self.choose();
            }
            Act::Fold => self.page.toggle(),
            Act::Wrap => {
                let wrapped = &mut self.is_wrapped[usize::from(self.view.is_prose())];
                *wrapped = !*wrapped;
                self.page.left = 0;
            }
            Act::Copy => {
                let name = self.scene()?.name(&self.subject);
                self.message = vec![Row::of(Look::Dim, "copied ").and(Look::Accent, name.clone())];
                return Some(Effect::Copy(name));
            }
            Act::Pager => return self.open(Program::Pager),
            Act::Editor => return self.open(Program::Editor),
            Act::Help => self.mode = Mode::Help,
            Act::Quit => match self.own_loop {
                OwnLoop::Runs { is_beside: true, .. } => self.mode = Mode::Leave,
                _ => return Some(Effect::Quit),
            },
        }
        None
    }

    pub(super) fn say(&mut self, look: Look, words: impl Into<String>) {
        self.message = vec![Row::of(look, words)];
    }

    /// Shows a view; the same key again leads back.
    fn show(&mut self, view: View) {
        let is_again = self.view == view && self.panel == Panel::Detail && view != View::Log;
        self.view = if is_again { View::Detail } else { view };
        self.page.left = 0;
        if self.view != View::Detail || Shape::of(self.size) != Shape::Wide {
            self.panel = Panel::Detail;
        }
    }

    fn other_panel(&mut self, is_next: bool) {
        let all = Panel::all(self.live().is_some());
        let at = all.iter().position(|panel| *panel == self.panel).unwrap_or(0);
        let step = if is_next { 1 } else { all.len() - 1 };
        self.focus(all[(at + step) % all.len()]);
    }

    fn move_by(&mut self, lines: isize) {
        match self.panel {
            // Where there is nothing to choose, the detail scrolls.
            Panel::Detail | Panel::Now => {
                self.page.move_by(lines);
                self.follows &= lines > 0;
                return;
            }
            Panel::Needs => {
                self.need = self.need.saturating_add_signed(lines).min(self.needs().len().saturating_sub(1));
            }
            Panel::Tasks => self.tree.move_to(self.tree.place.saturating_add_signed(lines)),
            Panel::Night => return self.step(lines.signum()),
        }
        (self.follows, self.view) = (false, View::Detail);
        self.choose();
    }

    fn go_to_start(&mut self) {
        match self.panel {
            Panel::Detail | Panel::Now => self.page.go_to_start(),
            Panel::Night => self.subject = Subject::Night,
            Panel::Needs | Panel::Tasks => return self.move_by(isize::MIN / 2),
        }
        self.follows = false;
    }

    fn go_to_end(&mut self) {
        match self.panel {
            Panel::Detail | Panel::Now => self.page.go_to_end(),
            Panel::Night => {
                self.subject = Subject::Night;
                self.step(-1);
            }
            Panel::Needs | Panel::Tasks => self.move_by(isize::MAX / 2),
        }
    }

    /// Shows the next attempt that is wanted, or the one before; `false` if there is none. Before the session as a whole is
    /// the last one.
    fn step_to(&mut self, step: isize, is_wanted: impl Fn(&Attempt) -> bool) -> bool {
        let number = match (&self.subject, self.scene()) {
            (Subject::Attempt(number), _) => Some(*number),
            (Subject::Night | Subject::Need(_), _) | (_, None) => None,
            (subject, Some(scene)) => scene.attempt(subject).map(|(_, one)| one.number()),
        };
        let Some((_, night)) = self.night() else { return false };
        let mut all = night.attempts.iter().filter(|one| one.outcome() != Outcome::Skipped && is_wanted(one));
        let found = match (number, step > 0) {
            (Some(number), true) => all.find(|one| one.number() > number),
            (Some(number), false) => all.rfind(|one| one.number() < number),
            (None, true) => all.next(),
            (None, false) => all.next_back(),
        };
        let Some(found) = found.map(Attempt::number) else { return false };
        self.subject = Subject::Attempt(found);
        (self.left, self.follows) = (Panel::Night, false);
        if self.panel != Panel::Detail {
            (self.panel, self.view) = (Panel::Night, View::Detail);
        }
        true
    }

    /// The next attempt, or the one before; before the first is the session.
    fn step(&mut self, step: isize) {
        if !self.step_to(step, |_| true) && step < 0 {
            self.subject = Subject::Night;
        }
    }

    fn go_to_failure(&mut self, step: isize) {
        if !self.step_to(step, Attempt::is_failed) {
            self.say(Look::Dim, if step > 0 { "no later failure" } else { "no earlier failure" });
        }
    }

    /// Enter: opens what is chosen, and never folds anything.
    fn open_chosen(&mut self) {
        match (self.panel, self.view) {
            (Panel::Tasks, _) => match self.tree.selected() {
                Some(Line::Phase(place)) => {
                    if self.tree.is_open(&self.tree.phases[place]) {
                        self.tree.move_to(self.tree.place + 1);
                    } else {
                        self.tree.toggle();
                    }
                    self.choose();
                }
                Some(Line::Task(_)) => self.panel = Panel::Detail,
                None => {}
            },
            (Panel::Detail, View::Log) => {
                if let Some(number) = self.page.section().and_then(attempt_of) {
                    (self.subject, self.view, self.left) =
                        (Subject::Attempt(number), View::Detail, Panel::Night);
                }
            }
            (Panel::Detail, View::Nights) => {
                let id = self.page.section().and_then(|section| section.key.parse::<SessionId>().ok());
                if let Some(id) = id {
                    self.session = Some(id);
                    self.follows = self.live().is_some();
                    self.renew();
                    self.arrive();
                }
            }
            (Panel::Detail, _) => self.page.open(),
            _ => self.panel = Panel::Detail,
        }
    }

    fn back(&mut self) {
        match (self.panel, self.view) {
            (Panel::Detail, View::Log) if !self.filter.is_empty() => self.filter.clear(),
            (Panel::Detail, View::Detail) => self.focus(self.left),
            (_, View::Detail) => {}
            _ => {
                self.view = View::Detail;
                if self.panel == Panel::Detail {
                    self.focus(self.left);
                }
            }
        }
    }

    fn follow(&mut self) {
        self.follows = !self.follows;
        if !self.follows {
            return self.say(Look::Dim, "following nothing");
        }
        self.session = self.followed();
        self.renew();
        self.arrive();
        self.page.go_to_end();
        if self.live().is_none() {
            self.say(Look::Dim, "nothing runs now: the next session is followed");
        }
    }

    fn begin_hint(&mut self, is_answer: bool) {
        let task = match &self.subject {
            Subject::Task(task) => Some(task.clone()),
            Subject::Running => self.in_flight().map(|running| running.task.name.clone()),
            Subject::Attempt(number) => {
                self.night().and_then(|(_, night)| night.attempt(*number)?.entry.task.clone())
            }
            Subject::Night | Subject::Need(_) => None,
        };
        let list = self.night().map(|(feature, _)| &feature.list);
        let task = task.filter(|task| list.and_then(|list| list.find(task)).is_some_and(|item| !item.done));
        match (task, is_answer) {
            (None, true) => {
                self.say(Look::Dim, "choose a task that is not done: its next prompt has the answer");
            }
            _ if self.night().is_none() => self.say(Look::Dim, "no session is recorded here"),
            (task, _) => self.mode = Mode::Hint(task, String::new(), is_answer),
        }
    }

    fn ask_to_resume(&mut self) {
        let Some((_, night)) = self.night() else {
            return self.say(Look::Dim, "no session is recorded here");
        };
        let id = night.id.to_string();
        if self.live().is_some() || matches!(self.own_loop, OwnLoop::Runs { .. }) {
            return self.say(Look::Warn, "it runs already");
        }
        if night.status == Status::Completed {
            return self.say(Look::Dim, "nothing to resume: the session is completed");
        }
        self.mode = Mode::Confirm {
            title: "Resume this session?".to_owned(),
            yes: "start the loop; it goes on when the screen is left",
            effect: Box::new(Effect::Start(vec!["resume".to_owned(), id])),
        };
    }

    /// Of a task, takes back what it left unfinished; of an attempt, restores the files as they were after it.
    fn ask_to_restore(&mut self) {
        if self.live().is_some() {
            return self.say(Look::Warn, "stop the session first (s): its agent works on these files");
        }
        let Some(scene) = self.scene() else { return };
        let question = match &self.subject {
            Subject::Attempt(number) => {
                let name = scene.name(&self.subject);
                let title = format!("Restore the files as they were after attempt {number}?");
                Some((title, vec!["restore".to_owned(), name]))
            }
            Subject::Task(task) => scene.unfinished(&self.subject).and_then(|found| {
                let before = found.before.as_ref()?.to_string();
                let paths = found.files.iter().map(|(path, ..)| format!(":(top,literal){path}"));
                let files = crate::style::Count(found.files.len() as u64, "file");
                let words = ["restore".to_owned(), before, "--".to_owned()];
                let title = format!("Take back what {task} left unfinished in {files}?");
                Some((title, words.into_iter().chain(paths).collect()))
            }),
            Subject::Night | Subject::Running | Subject::Need(_) => None,
        };
        let Some((title, arguments)) = question else {
            let words = "nothing of this is left in your work tree; choose another task or an attempt";
            return self.say(Look::Dim, words);
        };
        self.mode = Mode::Confirm {
            title,
            yes: "yes; the files as they are now are saved first",
            effect: Box::new(Effect::Run(arguments, None)),
        };
    }

    fn open(&mut self, program: Program) -> Option<Effect> {
        let opened = self.opened(program);
        if matches!(&opened, Opened::Text(text) if text.trim().is_empty()) {
            self.say(Look::Dim, "nothing to open");
            return None;
        }
        Some(Effect::Open(program, opened))
    }

    /// What a pager or an editor would show: a file of the work tree, what was recorded, or the text of the view.
    fn opened(&self, program: Program) -> Opened {
        let section = self.page.section();
        let mut windows = self.page.sections.iter().filter_map(Section::window);
        let first = windows.find(|window| window.total != Some(0));
        if let Some(window) = section.and_then(Section::window).or(first) {
            return Opened::File(window.file.clone());
        }
        // What is at the cursor, else the last that the view names.
        let at_cursor = self.page.at(self.page.cursor).and_then(|at| self.page.row(at));
        let here = at_cursor.into_iter().chain(section.and_then(|section| section.title.as_ref()));
        let here = here.filter(|_| self.panel == Panel::Detail);
        let all = self.page.sections.iter().rev().flat_map(|section| {
            match &section.body {
                Body::Rows(rows) => rows.as_slice(),
                Body::Window(_) => &[],
            }
            .iter()
            .rev()
        });
        let target = self.scene().and_then(|scene| scene.diff_target(&self.subject));
        match (program, self.view, here.chain(all).find_map(|row| row.link.clone()), target) {
            (Program::Editor, View::Detail | View::Diff, Some(path), _) => Opened::Own(path),
            (_, View::Diff, _, Some(target)) => Opened::Diff(target),
            _ => {
                let lines = self.page.lines(0, self.page.len());
                let texts = lines.iter().map(|at| self.page.row(*at).map_or(String::new(), Row::text));
                Opened::Text(texts.map(|text| text + "\n").collect())
            }
        }
    }

    pub(super) fn mouse(&mut self, mouse: MouseEvent) {
        let lines = match mouse.kind {
            MouseEventKind::ScrollDown => WHEEL,
            MouseEventKind::ScrollUp => -WHEEL,
            MouseEventKind::Down(MouseButton::Left) => 0,
            _ => return,
        };
        if self.mode == Mode::Help {
            if lines == 0 {
                (self.mode, self.help_top) = (Mode::Browse, 0);
            }
            self.help_top = self.help_top.saturating_add_signed(lines).min(help::last_top(self.size));
            return;
        }
        let areas = self.areas();
        let Some((panel, area)) =
            areas.panel_at(mouse.column, mouse.row).filter(|_| self.mode == Mode::Browse)
        else {
            return;
        };
        if lines != 0 {
            if panel == Panel::Detail || panel == Panel::Now {
                // The page moves, not only the cursor on it.
                self.page.move_by(lines);
                self.follows &= lines > 0;
                self.page.top = self.page.top.saturating_add_signed(lines);
                let height = usize::from(areas.area(Panel::Detail).height.saturating_sub(2));
                self.page.cursor = if lines > 0 {
                    self.page.cursor.max(self.page.top)
                } else {
                    self.page.cursor.min(self.page.top + height.saturating_sub(1))
                };
            } else {
                self.focus(panel);
                self.move_by(lines);
            }
            return;
        }
        self.message.clear();
        let line = usize::from(mouse.row.saturating_sub(area.y + 1));
        let is_again = self.panel == panel;
        match panel {
            Panel::Detail => {
                self.panel = panel;
                if let Some((line, _)) = self.screen().get(line).cloned() {
                    (self.page.sticks, self.page.cursor) = (false, line);
                    if let Some(At::Title(_) | At::More(_)) = self.page.at(line) {
                        if matches!(self.view, View::Log | View::Nights) {
                            self.open_chosen();
                        } else {
                            self.page.toggle();
                        }
                    }
                }
            }
            Panel::Tasks if !areas.is_summary => {
                let place = self.tree.top + line;
                let is_same = is_again && self.tree.place == place;
                if place < self.tree.lines.len() {
                    self.tree.move_to(place);
                    if matches!(self.tree.selected(), Some(Line::Phase(_))) {
                        self.tree.toggle();
                    }
                }
                (self.view, self.follows) = (View::Detail, false);
                self.focus(panel);
                if is_same {
                    self.open_chosen();
                }
            }
            Panel::Needs => {
                self.need = line.min(self.needs().len().saturating_sub(1));
                self.view = View::Detail;
                self.focus(panel);
            }
            Panel::Now | Panel::Night | Panel::Tasks => {
                self.view = View::Detail;
                self.focus(panel);
            }
        }
    }

    /// The attempts that pass the filter, and all of them.
    pub fn passed(&self) -> (usize, usize) {
        let Some((_, night)) = self.night() else { return (0, 0) };
        let all = night.attempts.iter().filter(|one| one.outcome().is_attempt());
        (all.clone().filter(|one| is_match(one, &self.filter)).count(), all.count())
    }
}
