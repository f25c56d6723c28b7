//! What keys do to the state.

use anyhow::{Context as _, Result, bail, ensure};
use crossterm::event::{KeyCode, KeyEvent};

use ralph_core::record::{AttemptId, LogEntry, SessionId, Status, join_truncated, undone_state};

use crate::session_table::End;
use crate::style::counted;
use crate::tui::contents::{Scene, Subject, View, attempt_of, brief};
use crate::tui::help;
use crate::tui::keys::{self, Act};
use crate::tui::layout::{Panel, Shape};
use crate::tui::model::Worker;
use crate::tui::page::{Section, Step};
use crate::tui::row::{Look, Row};
use crate::tui::tree::Line;

use super::{App, Effect, Field, Mode, Opened, OwnLoop, Program, Question};

/// What the log is filtered by where only failures are wanted.
const FAILED: &str = "failed";

/// What a restoration asks for.
const RESTORES: &str = "yes; the files as they are now are saved first";

impl Effect {
    /// Runs this program with these arguments, and then says this, unless the program says it.
    pub(super) fn run<'a>(arguments: impl IntoIterator<Item = &'a str>, said: Option<&str>) -> Self {
        Self::Run(arguments.into_iter().map(str::to_owned).collect(), said.map(str::to_owned))
    }
}

/// The two ways to stop a session, or of a group all of them: `stop` takes any that runs for the whole.
fn ways_to_stop(workers: &[Worker<'_>]) -> Vec<(char, &'static str, Effect)> {
    let Some(Worker { session, .. }) = workers.first() else { return Vec::new() };
    let ways = if workers.len() > 1 {
        let now = "stopping the agents; their attempts are recorded as cut short";
        [
            ('s', "stop all after their attempts", None, "stopping after these attempts"),
            ('n', "stop all now, the agents too", Some("--now"), now),
        ]
    } else {
        let now = "stopping the agent; this attempt is recorded as cut short";
        [
            ('s', "stop it after this attempt", None, "stopping after this attempt"),
            ('n', "stop it now, the agent too", Some("--now"), now),
        ]
    };
    ways.into_iter()
        .map(|(key, does, flag, said)| {
            let words = ["stop", "--session", session.as_str()].into_iter().chain(flag);
            (key, does, Effect::run(words, Some(said)))
        })
        .collect()
}

impl Question {
    fn confirm(title: String, yes: &'static str, effect: Effect) -> Self {
        Self { title, answers: vec![('y', yes, effect)], otherwise: "change nothing" }
    }
}

impl App {
    /// Does what a key asks for, or says why not.
    pub(super) fn key(&mut self, key: KeyEvent) -> Option<Effect> {
        self.message.clear();
        let effect = match self.mode.clone() {
            Mode::Browse => self.act(keys::act(key)?),
            Mode::Help(top) => {
                self.mode = self.read_help(top, keys::act(key));
                Ok(None)
            }
            Mode::Typing(field, text) => self.type_in(key, field, text),
            Mode::Question(Question { answers, .. }) => {
                self.mode = Mode::Browse;
                let chosen = if key.code == KeyCode::Enter { KeyCode::Char('y') } else { key.code };
                let mut answers = answers.into_iter();
                Ok(answers.find(|(key, ..)| KeyCode::Char(*key) == chosen).map(|(.., effect)| effect))
            }
        };
        effect.unwrap_or_else(|refusal| {
            self.say(Look::Warn, refusal.to_string());
            None
        })
    }

    /// Keys that move do so where the help is longer than the screen. All others lead back.
    fn read_help(&self, top: usize, act: Option<Act>) -> Mode {
        let last = help::last_top(self.size);
        match act {
            Some(Act::Move(step)) if last > 0 => {
                let lines = step.lines(usize::from(self.size.height.saturating_sub(2)));
                Mode::Help(top.min(last).saturating_add_signed(lines).min(last))
            }
            _ => Mode::Browse,
        }
    }

    fn act(&mut self, act: Act) -> Result<Option<Effect>> {
        match act {
            Act::Move(step) => self.go(step),
            Act::Left if self.panel == Panel::Session => self.step(-1),
            Act::Right if self.panel == Panel::Session => self.step(1),
            Act::Right | Act::Open => self.open_chosen(),
            Act::Left | Act::Back => self.back(),
            Act::OtherPanel(step) => {
                let all = self.panels();
                let at = all.iter().position(|panel| *panel == self.panel).unwrap_or(0);
                self.focus(all[(all.len() + at).saturating_add_signed(step) % all.len()]);
            }
            Act::Panel(number) => match self.panels().get(number) {
                Some(Panel::Detail) | None => {}
                Some(panel) => {
                    self.view = View::Detail;
                    self.focus(*panel);
                }
            },
            Act::Show(view) => self.show(view),
            Act::Find
                if self.panel == Panel::Detail
                    && matches!(self.view, View::Output | View::Diff | View::Prompt | View::Memory) =>
            {
                self.mode = Mode::Typing(Field::Search, String::new());
            }
            Act::Find => {
                self.show(View::Log);
                self.mode = Mode::Typing(Field::Filter, String::new());
            }
            Act::FailedOnly => {
                self.filter = if self.filter == FAILED { String::new() } else { FAILED.to_owned() };
                self.show(View::Log);
            }
            Act::Follow => self.follow(),
            Act::Failure(step) => {
                let found = self.step_to(step, LogEntry::is_failure);
                ensure!(found, "no {} failure", if step > 0 { "later" } else { "earlier" });
            }
            Act::Hit(step) => self.go_to_hit(step > 0)?,
            Act::Hint { is_answer } => self.mode = Mode::Typing(self.hint(is_answer)?, String::new()),
            Act::Resume => self.mode = Mode::Question(self.resume()?),
            Act::Stop => self.mode = Mode::Question(self.stop()?),
            Act::Restore => self.mode = Mode::Question(self.restore()?),
            Act::Accept => self.mode = Mode::Question(self.accept()?),
            Act::Report => {
                let session = self.known_scene()?.session.id.as_str();
                let arguments = ["report", "--open", "--session", session];
                return Ok(Some(Effect::run(arguments, Some("the page is open in the browser"))));
            }
            Act::Fold if self.panel == Panel::Tasks => {
                self.tree.toggle();
                self.choose();
            }
            Act::Fold => {
                self.page.toggle();
                self.compose();
            }
            Act::OpenIn(program) => {
                let opened = self.opened(program);
                let is_blank = matches!(&opened, Opened::Text(text) if text.trim().is_empty());
                ensure!(!is_blank, "nothing to open");
                return Ok(Some(Effect::Open(program, opened)));
            }
            Act::Help => self.mode = Mode::Help(0),
            Act::Quit if matches!(self.own_loop, OwnLoop::Runs { is_beside: true, .. }) => {
                let leave = ('l', "leave it running, and quit the screen", Effect::Quit);
                let own = self.own_session().and_then(|id| self.overview.session(&id));
                let stop =
                    own.map(|(_, session)| ways_to_stop(&self.overview.workers(session))).unwrap_or_default();
                let answers = [leave].into_iter().chain(stop).collect();
                let title = "The loop is still running".to_owned();
                self.mode = Mode::Question(Question { title, answers, otherwise: "stay" });
            }
            Act::Quit => return Ok(Some(Effect::Quit)),
        }
        Ok(None)
    }

    pub(super) fn say(&mut self, look: Look, words: impl Into<String>) {
        self.message = vec![Row::of(look, words)];
    }

    /// Shows a view; the same key again leads back.
    fn show(&mut self, view: View) {
        let is_again = self.view == view && self.panel == Panel::Detail && view != View::Log;
        self.view = if is_again { View::Detail } else { view };
        if self.view != View::Detail || Shape::of(self.size) != Shape::Wide {
            self.panel = Panel::Detail;
        }
    }

    fn go(&mut self, step: Step) {
        let lines = step.lines(usize::from(self.areas().area(self.panel).height.saturating_sub(2)));
        match self.panel {
            // Where there is nothing to choose, the detail scrolls.
            Panel::Now if self.workers().len() > 1 => {
                let last = self.workers().len() - 1;
                self.worker = self.worker.saturating_add_signed(lines).min(last);
                self.view = View::Detail;
                return self.choose();
            }
            Panel::Detail | Panel::Now => {
                self.page.go(step, lines);
                self.follows &= lines > 0;
                if self.page.sticks {
                    self.cache.invalidate(true);
                }
                return;
            }
            Panel::Needs => {
                self.need =
                    self.need.saturating_add_signed(lines).min(self.need_rows.len().saturating_sub(1));
            }
            Panel::Look => {
                let last = self.flagged().len().saturating_sub(1);
                self.flag = self.flag.saturating_add_signed(lines).min(last);
            }
            Panel::Tasks => self.tree.move_to(self.tree.place.saturating_add_signed(lines)),
            Panel::Session if step == Step::Start => {
                (self.subject, self.follows) = (Subject::Session, false);
                return;
            }
            Panel::Session if step == Step::End => {
                self.subject = Subject::Session;
                return self.step(-1);
            }
            Panel::Session => return self.step(lines.signum()),
        }
        (self.follows, self.view) = (false, View::Detail);
        self.choose();
    }

    /// Shows the next attempt that is wanted, or the one before; `false` if there is none. Before the session as a whole is
    /// the last one.
    fn step_to(&mut self, step: isize, is_wanted: impl Fn(&LogEntry) -> bool) -> bool {
        let Some(scene) = self.scene() else { return false };
        let current = match &self.subject {
            Subject::Attempt(id) => Some(id.clone()),
            Subject::Session | Subject::Need(_) => None,
            subject => scene.attempt(subject).map(|(_, one)| one.id()),
        };
        let all: Vec<(AttemptId, &LogEntry)> =
            scene.session.iterations().map(|one| (one.id(), one)).collect();
        let at = current.and_then(|current| all.iter().position(|(id, _)| *id == current));
        let is_found = |(_, one): &&(AttemptId, &LogEntry)| !one.is_without_run() && is_wanted(one);
        let found = if step > 0 {
            all[at.map_or(0, |at| at + 1)..].iter().find(is_found)
        } else {
            all[..at.unwrap_or(all.len())].iter().rfind(is_found)
        };
        let Some(found) = found.map(|(id, _)| id.clone()) else { return false };
        self.subject = Subject::Attempt(found);
        (self.left, self.follows) = (Panel::Session, false);
        if self.panel != Panel::Detail {
            (self.panel, self.view) = (Panel::Session, View::Detail);
        }
        true
    }

    /// The next attempt, or the one before; before the first is the session.
    fn step(&mut self, step: isize) {
        if !self.step_to(step, |_| true) && step < 0 {
            self.subject = Subject::Session;
        }
    }

    /// Enter: opens what is chosen, and never folds anything.
    fn open_chosen(&mut self) {
        match (self.panel, self.view, self.tree.selected()) {
            (Panel::Tasks, _, Some(Line::Phase(place))) => {
                if self.tree.is_open(&self.tree.phases[place]) {
                    self.tree.move_to(self.tree.place + 1);
                } else {
                    self.tree.toggle();
                }
                self.choose();
            }
            (Panel::Tasks, _, None) => {}
            (Panel::Detail, View::Log, _) => {
                if let Some(id) = self.page.section().and_then(attempt_of) {
                    (self.subject, self.view, self.left) =
                        (Subject::Attempt(id), View::Detail, Panel::Session);
                }
            }
            (Panel::Detail, View::Sessions, _) => {
                // Above the rows is what needs the user: the newest is below it.
                let id_of = |section: &Section| section.key.parse::<SessionId>().ok();
                let mut all = self.page.sections.iter();
                let id = self.page.section().and_then(id_of).or_else(|| all.find_map(id_of));
                if let Some(id) = id {
                    self.session = Some(id);
                    self.follows = self.is_live();
                    self.renew();
                    self.arrive();
                }
            }
            (Panel::Detail, ..) => {
                self.page.open();
                self.compose();
            }
            _ => self.panel = Panel::Detail,
        }
    }

    fn back(&mut self) {
        if self.panel == Panel::Detail && self.view == View::Log && !self.filter.is_empty() {
            return self.filter.clear();
        }
        self.view = View::Detail;
        if self.panel == Panel::Detail {
            self.focus(self.left);
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
        self.page.go(Step::End, 0);
        self.cache.invalidate(true);
        if !self.is_live() {
            self.say(Look::Dim, "nothing runs now: the next session is followed");
        }
    }

    pub(super) fn known_scene(&self) -> Result<Scene<'_>> {
        self.scene().context("no session is recorded here")
    }

    fn hint(&self, is_answer: bool) -> Result<Field> {
        let scene = self.known_scene()?;
        let list = &scene.feature.list;
        let task = scene.task(&self.subject).filter(|task| list.find(task).is_some_and(|item| !item.done));
        ensure!(
            task.is_some() || !is_answer,
            "choose a task that is not done: its next prompt has the answer"
        );
        Ok(Field::Hint { task: task.map(str::to_owned), is_answer })
    }

    fn resume(&self) -> Result<Question> {
        let session = self.known_scene()?.session;
        let is_running = self.is_live() || matches!(self.own_loop, OwnLoop::Runs { .. });
        ensure!(!is_running, "it runs already");
        ensure!(
            End::of_session(session).status != Status::Completed,
            "nothing to resume: the session is completed"
        );
        let yes = "start the loop; it goes on when the screen is left";
        // Of a group, any that is not over is taken for all.
        let is_over = |id: &&SessionId| {
            let newest = session.entries.iter().rfind(|entry| entry.session() == **id);
            newest.and_then(LogEntry::status) == Some(Status::Completed)
        };
        let id = session.sessions().find(|id| !is_over(id)).unwrap_or(&session.id);
        let start = Effect::Start(vec!["resume".to_owned(), id.to_string()]);
        Ok(Question::confirm("Resume this session?".to_owned(), yes, start))
    }

    fn stop(&self) -> Result<Question> {
        let workers = self.workers();
        ensure!(!workers.is_empty(), "no session runs there");
        let title = match workers.len() {
            1 => "Stop this session?".to_owned(),
            several => format!("Stop all {several} loops on this branch?"),
        };
        Ok(Question { title, answers: ways_to_stop(&workers), otherwise: "let it run" })
    }

    /// The last word on a task: what was refused or given up is done, what is flagged was looked at.
    fn accept(&self) -> Result<Question> {
        ensure!(!self.is_live(), "stop the session first (s): its agent works on these files");
        let scene = self.known_scene()?;
        let task =
            scene.task(&self.subject).context("choose a task: one that was given up, or is flagged")?;
        let item = scene.feature.list.find(task).context("the task is no longer in the list")?;
        ensure!(
            scene.is_acceptable(task),
            "nothing to accept: it was not given up, and nothing of it is flagged"
        );
        let title = if item.done {
            format!("{}: is what is flagged right so?", brief(task))
        } else {
            format!("Accept {}, and bring back its changes if they were undone?", brief(task))
        };
        let words = ["accept", task, "--feature", &scene.feature.path];
        Ok(Question::confirm(title, "yes; accept --undo takes it back", Effect::run(words, None)))
    }

    /// Of a task, takes back what it left unfinished; of an attempt, restores the files as they were after it.
    fn restore(&self) -> Result<Question> {
        ensure!(!self.is_live(), "stop the session first (s): its agent works on these files");
        let scene = self.known_scene()?;
        let mut arguments = vec!["restore".to_owned()];
        let top = |path: &str| format!(":(top,literal){path}");
        let needs = &scene.feature.summary.needs_you;
        let chosen = match &self.subject {
            Subject::Task(task) => Some(task),
            Subject::Need(place) => needs.get(*place).and_then(|need| need.task.as_ref()),
            _ => None,
        };
        if let Some(gone) = scene.feature.summary.work_gone.iter().find(|gone| Some(&gone.task) == chosen) {
            let feature = scene.feature.path.clone();
            arguments.extend(["--work-of".to_owned(), gone.task.clone(), "--feature".to_owned(), feature]);
            let title = format!("Bring back the work of {}?", brief(&gone.task));
            return Ok(Question::confirm(title, RESTORES, Effect::Run(arguments, None)));
        }
        // What it undid is what the user wants back who comes from its flag.
        let is_meant = match &self.subject {
            Subject::Attempt(_) => true,
            Subject::Task(task) => scene.feature.list.find(task).is_some_and(|item| item.done),
            _ => false,
        };
        let attempt = scene.attempt(&self.subject).filter(|_| is_meant);
        let undid = attempt.and_then(|(_, one)| {
            let (state, files) = undone_state(&scene.record(one)?.undone, Some(&one.session()))?;
            Some((scene.feature.name_of(&one.id()), state, files))
        });
        let title = match (&self.subject, scene.unfinished(&self.subject), undid) {
            (_, _, Some((number, state, files))) => {
                arguments.extend([state, "--".to_owned()]);
                arguments.extend(files.iter().map(|path| top(path)));
                format!("Bring back what attempt {number} undid: {}?", brief(&join_truncated(&files, 3)))
            }
            (Subject::Attempt(id), ..) => {
                let number = scene.feature.name_of(id);
                let has_run = scene.session.attempt(id).is_some_and(LogEntry::is_attempt_or_cut_short);
                ensure!(has_run, "no agent ran in this: choose an attempt before or after it");
                arguments.push(scene.name(&self.subject));
                format!("Restore the files as they were after attempt {number}?")
            }
            (Subject::Task(task), Some((before, files)), _) => {
                arguments.extend([before.to_string(), "--".to_owned()]);
                arguments.extend(files.iter().map(|(path, ..)| top(path)));
                let files = counted(files.len() as u64, "file");
                format!("Take back what {task} left unfinished in {files}?")
            }
            _ => bail!("nothing of this is left in your work tree; choose another task or an attempt"),
        };
        Ok(Question::confirm(title, RESTORES, Effect::Run(arguments, None)))
    }

    /// What a pager or an editor would show: a file of the work tree, what was recorded, or the text of the view.
    fn opened(&self, program: Program) -> Opened {
        let page = &self.page;
        // What is at the cursor or above it in its section, else the first file, or the last link of the view.
        let section = page.lines.get(page.cursor).map(|(place, _)| *place);
        let above = page.lines.iter().take(page.cursor + 1).rev();
        let above = above.take_while(|(place, _)| section == Some(*place));
        if let Some(file) = above.clone().chain(&page.lines).find_map(|line| page.file(line)) {
            return Opened::File(file.clone());
        }
        let above = above.filter(|_| self.panel == Panel::Detail);
        let link = above.chain(page.lines.iter().rev()).find_map(|(_, row)| row.link.clone());
        let target = self.scene().and_then(|scene| scene.diff_target(&self.subject));
        match (program, self.view, link, target) {
            (Program::Editor, View::Detail | View::Diff, Some(path), _) => Opened::Own(path),
            (_, View::Diff, _, Some(target)) => Opened::Diff(target),
            _ => Opened::Text(page.lines.iter().map(|(_, row)| row.text() + "\n").collect()),
        }
    }
}
