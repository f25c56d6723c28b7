//! What the detail shows: of a task, an attempt or a session, in each of its views.

mod attempt;
mod diff;
mod live;
mod log;
mod output;
mod session;
mod task;
mod words;

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::ending::feature_name;
use ralph_core::record::{AttemptId, Iteration, LogEntry, ObjectId, Outcome, SessionId, TaskName, Timestamp};
use ralph_core::view::SessionView;

use super::layout::Shape;
use super::model::{
    Answer, Changed, DiffTarget, FeatureOverview, LiveIteration, Overview, Place, Request, SessionDetail,
    TaskState, Worker,
};
use super::page::{Page, Section};
use super::row::{Look, Row};

pub use log::{attempt_of, is_match};
pub use output::rows_of_text;
pub use session::{MAX_CROSSES, answered_row, flag_row, need_rows};
pub use words::{attempts_of, brief, state_of, usd};

/// What the detail is about, of the session that is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    Session,
    Task(TaskName),
    Attempt(AttemptId),
    /// The attempt that a loop runs.
    Running(SessionId),
    /// What needs the user and is no task, by its place.
    Need(usize),
}

/// How it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    Detail,
    Output,
    Diff,
    Prompt,
    /// What the next prompt has of earlier iterations.
    Memory,
    /// All attempts of the session.
    Log,
    /// All sessions.
    Sessions,
}

/// What was read so far, and what is wanted.
#[derive(Debug, Default)]
pub struct Cache {
    known: HashMap<Request, Result<Answer, String>>,
    /// What of it may have changed.
    stale: HashSet<Request>,
    wanted: RefCell<Vec<Request>>,
}

/// Most answers that are kept.
const MAX_KNOWN: usize = 500;

impl Cache {
    /// Returns an answer, or orders it.
    fn get(&self, request: Request) -> Option<Result<&Answer, &str>> {
        let known = self.known.get(&request);
        let mut wanted = self.wanted.borrow_mut();
        if !wanted.contains(&request) {
            wanted.push(request);
        }
        known.map(|answer| answer.as_ref().map_err(String::as_str))
    }

    pub fn iteration(&self, commit: &ObjectId) -> Option<&Iteration> {
        match self.get(Request::Iteration(commit.clone()))? {
            Ok(Answer::Iteration(iteration)) => Some(iteration),
            _ => None,
        }
    }

    pub fn take(&mut self, request: Request, answer: Result<Answer, String>) {
        if self.known.len() >= MAX_KNOWN {
            self.known.retain(|request, _| request.is_volatile());
        }
        self.stale.remove(&request);
        // It has just become a record: what was read of it stays until that is shown.
        if let (Ok(Answer::Text { length: 0, .. }), true) = (&answer, self.known.contains_key(&request)) {
            return;
        }
        self.known.insert(request, answer);
    }

    /// Has everything read again that may have changed; what grows only if it `follows` that.
    pub fn invalidate(&mut self, follows: bool) {
        let volatile = self.known.keys().filter(|request| request.is_volatile());
        self.stale
            .extend(volatile.filter(|request| follows || !matches!(request, Request::Text(_))).cloned());
    }

    /// Forgets the texts that are not on the page.
    pub fn forget_texts(&mut self) {
        let wanted = self.wanted.get_mut();
        self.known.retain(|request, _| !matches!(request, Request::Text(_)) || wanted.contains(request));
    }

    /// Forgets what is wanted, before a page says anew what it needs.
    pub fn forget_wanted(&self) {
        self.wanted.borrow_mut().clear();
    }

    pub fn wanted(&self) -> Vec<Request> {
        let mut wanted = self.wanted.borrow().clone();
        wanted.retain(|request| !self.known.contains_key(request) || self.stale.contains(request));
        wanted
    }
}

/// All that a page is made of.
pub struct Scene<'a> {
    pub overview: &'a Overview,
    pub feature: &'a Arc<FeatureOverview>,
    pub session: &'a SessionView,
    /// The loops that work on it.
    pub workers: Vec<Worker<'a>>,
    pub cache: &'a Cache,
    pub now: Timestamp,
    pub shape: Shape,
    /// Of the whole screen, in columns.
    pub width: usize,
    /// What the log is filtered by.
    pub filter: &'a str,
}

impl<'a> Scene<'a> {
    pub fn is_running(&self) -> bool {
        !self.workers.is_empty()
    }

    /// Returns what runs, with its session.
    pub fn in_flight(&self) -> impl Iterator<Item = (&'a SessionId, &'a LiveIteration)> {
        self.workers.iter().filter_map(|worker| Some((worker.session, worker.live.in_flight.as_ref()?)))
    }

    /// Returns what a view of a subject shows of what runs.
    pub fn running(&self, subject: &Subject) -> Option<(&'a SessionId, &'a LiveIteration)> {
        self.in_flight().find(|(session, running)| match subject {
            Subject::Running(id) => id == *session,
            Subject::Task(task) => running.task.name == *task,
            Subject::Attempt(id) => {
                id.session == **session && id.number == running.number && self.session.attempt(id).is_none()
            }
            Subject::Session | Subject::Need(_) => false,
        })
    }

    /// Returns true if several loops work at once.
    pub fn is_group(&self) -> bool {
        !self.session.lanes.is_empty()
    }

    /// `#14`, or in a group `2:14`.
    pub fn number_of(&self, attempt: &AttemptId) -> String {
        let name = self.feature.name_of(attempt);
        if name.contains(':') { name } else { format!("#{name}") }
    }

    /// Returns true if there is little room.
    pub fn is_compact(&self) -> bool {
        self.shape != Shape::Wide
    }

    /// Returns the whole record of an attempt, once it is read.
    pub fn record(&self, attempt: &LogEntry) -> Option<&'a Iteration> {
        self.cache.iteration(&attempt.commit())
    }

    pub fn detail(&self) -> Option<&'a SessionDetail> {
        match self.cache.get(Request::Session(self.session.id.clone()))? {
            Ok(Answer::Session(detail)) => Some(detail),
            _ => None,
        }
    }

    /// Returns the tasks that agents work on.
    pub fn running_tasks(&self) -> Vec<&'a str> {
        self.in_flight().map(|(_, running)| running.task.name.as_str()).collect()
    }

    /// Returns true if a person may say that a task is right as it is: it was given up, or it is done and flagged.
    pub fn is_acceptable(&self, task: &str) -> bool {
        let state = self.feature.list.find(task).map(|item| self.feature.state(item, &self.running_tasks()));
        match state {
            Some(TaskState::Fails) => true,
            Some(TaskState::Done) => self.feature.flagged(task).is_some(),
            _ => false,
        }
    }

    /// Returns the task that a subject is about.
    pub fn task<'b>(&self, subject: &'b Subject) -> Option<&'b str>
    where
        'a: 'b,
    {
        match subject {
            Subject::Task(task) => Some(task),
            Subject::Running(_) => self.running(subject).map(|(_, running)| running.task.name.as_str()),
            Subject::Attempt(id) => self.session.attempt(id)?.task(),
            Subject::Session | Subject::Need(_) => None,
        }
    }

    /// Returns the attempt that a view of a subject shows: of a task the last one, of a session the newest.
    pub fn attempt(&self, subject: &Subject) -> Option<(&'a SessionView, &'a LogEntry)> {
        match subject {
            Subject::Session => Some((self.session, last_attempt(self.session, |_| true)?)),
            Subject::Running(id) => {
                Some((self.session, last_attempt(self.session, |one| one.session() == *id)?))
            }
            Subject::Attempt(id) => Some((self.session, self.session.attempt(id)?)),
            Subject::Need(place) => {
                let need = self.feature.summary.needs_you.get(*place)?;
                let id = AttemptId { session: need.session.clone(), number: need.iteration? };
                self.feature.sessions.iter().find_map(|session| Some((session, session.attempt(&id)?)))
            }
            Subject::Task(task) => {
                let mut all = self.feature.sessions.iter().rev();
                all.find_map(|session| Some((session, last_attempt(session, |one| one.is_of(task))?)))
            }
        }
    }

    /// Returns true if a view of this shows what runs.
    pub fn is_live(&self, subject: &Subject) -> bool {
        self.running(subject).is_some()
    }

    /// Returns the attempts whose changes a diff of this shows: of a task all that came after its last success.
    pub fn diff_target(&self, subject: &Subject) -> Option<DiffTarget> {
        let (session, one) = match subject {
            Subject::Session | Subject::Running(_) => {
                return diff_target_of(self.session, &self.session.iterations().collect::<Vec<_>>(), None);
            }
            _ => self.attempt(subject)?,
        };
        let task = match subject {
            Subject::Task(task) => Some(task.as_str()),
            // The last attempt may have found all of it written by those before it.
            Subject::Need(_) if one.is_failure() && !one.is_question() => one.task(),
            _ => None,
        };
        let Some(task) = task.filter(|_| one.outcome() != Some(Outcome::Success)) else {
            return diff_target_of(session, &[one], None);
        };
        let all: Vec<&LogEntry> = session.iterations().collect();
        let is_done = |one: &&LogEntry| one.is_of(task) && one.outcome() == Some(Outcome::Success);
        let begin = all.iter().rposition(is_done).map_or(0, |done| done + 1);
        diff_target_of(session, &all[begin..], Some(task))
    }

    /// Returns the files that attempts at a task left unfinished in the work tree, if they left any, and the snapshot from
    /// before them.
    pub fn unfinished(&self, subject: &Subject) -> Option<(&'a ObjectId, &'a [Changed])> {
        let target = self.diff_target(subject).filter(|_| matches!(subject, Subject::Task(_)))?;
        match self.cache.get(Request::Unfinished(target))? {
            Ok(Answer::Unfinished(before, files)) => Some((before, &**files)).filter(|_| !files.is_empty()),
            _ => None,
        }
    }

    /// Returns the name of the subject for commands: `SESSION:5`, or the session.
    pub fn name(&self, subject: &Subject) -> String {
        let id = match (subject, self.running(subject)) {
            (Subject::Session, _) => None,
            (Subject::Running(session), Some((_, running))) => {
                Some(AttemptId { session: session.clone(), number: running.number })
            }
            _ => self.attempt(subject).map(|(_, attempt)| attempt.id()),
        };
        id.map_or_else(|| self.session.id.to_string(), |id| id.to_string())
    }

    /// Returns the title of the detail.
    pub fn title(&self, subject: &Subject, view: View) -> Row {
        let task = self.task(subject).map(|task| self.task_title(task));
        let title = match (view, subject) {
            (View::Log, _) => Row::of(Look::Bold, "Log"),
            (View::Sessions, _) => Row::of(Look::Bold, "Nights"),
            (_, Subject::Attempt(id)) => {
                Row::of(Look::Bold, format!("{} ", self.number_of(id))).then(task.unwrap_or_default())
            }
            (_, Subject::Task(_) | Subject::Running(_) | Subject::Session) => {
                task.unwrap_or_else(|| Row::of(Look::Bold, brief(feature_name(&self.feature.path))))
            }
            (_, Subject::Need(place)) => {
                let need = self.feature.summary.needs_you.get(*place);
                Row::of(Look::Bold, brief(&need.map(ralph_core::record::Need::subject).unwrap_or_default()))
            }
        };
        let is_live = self.is_live(subject);
        let number = match self.attempt(subject) {
            _ if is_live => " now".to_owned(),
            Some((_, one)) => format!(" {}", self.number_of(&one.id())),
            None => String::new(),
        };
        let title = title.and(
            Look::Accent,
            match view {
                View::Output => format!("  output{number}"),
                View::Prompt => format!("  prompt{number}"),
                View::Memory => "  memory of the next prompt".to_owned(),
                View::Diff => "  diff".to_owned(),
                View::Log if !self.filter.is_empty() => format!("  / {}", brief(self.filter)),
                View::Log | View::Detail | View::Sessions => String::new(),
            },
        );
        match self.running(subject).filter(|_| view != View::Log) {
            Some((_, running)) if running.attempt > 1 => {
                title.and(Look::Dim, format!("  attempt {}", running.attempt))
            }
            _ => title,
        }
    }

    /// Returns what is at the right of the title.
    pub fn beside_title(&self, subject: &Subject, view: View) -> Row {
        if view != View::Log {
            let lane = |(session, _)| self.session.lanes.iter().find(|(id, _)| id == session);
            let lane = self.running(subject).and_then(lane);
            let lane = lane.map_or_else(String::new, |(_, lane)| format!("lane {lane}, "));
            let words = if self.is_live(subject) { lane + "live" } else { String::new() };
            return Row::of(Look::Accent, words);
        }
        let all = self.session.iterations().filter(|one| one.is_attempt());
        let (passed, all) =
            (all.clone().filter(|one| is_match(self.feature, one, self.filter)).count(), all.count());
        Row::of(Look::Dim, if passed == all { all.to_string() } else { format!("{passed} of {all}") })
    }

    fn task_title(&self, task: &str) -> Row {
        let text = self.feature.list.find(task).map_or(String::new(), |item| brief(&item.text));
        Row::of(Look::Bold, brief(task)).and(Look::Plain, format!(" {text}"))
    }
}

/// Returns the newest attempt that is wanted; none was made by a skip, a check or an acceptance.
fn last_attempt(session: &SessionView, is_wanted: impl Fn(&LogEntry) -> bool) -> Option<&LogEntry> {
    session.iterations().rfind(|one| one.is_attempt_or_cut_short() && is_wanted(one))
}

/// Returns the changes of some iterations of a session that follow each other, of those of one task or of all.
fn diff_target_of(session: &SessionView, all: &[&LogEntry], task: Option<&str>) -> Option<DiffTarget> {
    // After a task was given up its changes are taken back: of those of its attempts, that is none.
    let is_wanted = |one: &LogEntry| task.is_none_or(|task| one.is_of(task) && one.is_attempt_or_cut_short());
    let is_group = !session.lanes.is_empty();
    let mut runs: Vec<(ObjectId, ObjectId)> = Vec::new();
    let mut is_open = false;
    // In a group each attempt at a task begins at the tip of the branch, and the newest result there has all of it.
    let is_one_run = |one: &&LogEntry, next: &&LogEntry| {
        is_wanted(one) == is_wanted(next) && !(is_group && task.is_some())
    };
    for attempts in all.chunk_by(is_one_run) {
        // Those without a snapshot are not there.
        let first = attempts.iter().find_map(|one| one.snapshot());
        let mut ends =
            attempts.iter().rev().filter(|one| !is_group || attempts.len() == 1 || one.is_result());
        let last = ends.find_map(|one| one.snapshot());
        let Some((first, last)) = first.zip(last) else { continue };
        match (is_wanted(attempts[0]), runs.last_mut().filter(|_| is_open && !is_group)) {
            (true, Some((_, end))) => *end = last,
            (true, None) => runs.push((first, last)),
            (false, _) => {}
        }
        is_open = is_wanted(attempts[0]);
    }
    (!runs.is_empty()).then(|| DiffTarget { session: session.id.clone(), runs })
}

/// Makes the page of a subject in a view; `old` is the last one of the same.
pub fn page(scene: &Scene<'_>, subject: &Subject, view: View, old: Option<&Page>) -> Page {
    let is_live = scene.is_live(subject);
    let sticks = is_live && matches!(view, View::Detail | View::Output);
    let mut page = Page::new(sections(scene, subject, view, old), sticks, old);
    if view == View::Log {
        page.head = log::head(scene, &page);
    }
    page
}

fn sections(scene: &Scene<'_>, subject: &Subject, view: View, old: Option<&Page>) -> Vec<Section> {
    let attempt = scene.attempt(subject);
    let running = scene.running(subject);
    match (view, running) {
        (View::Log, _) => log::sections(scene, old),
        (View::Sessions, _) => session::list(scene),
        (View::Output, Some((session, running))) => live::streams(scene, session, running).collect(),
        (View::Output, None) => match attempt {
            Some((_, attempt)) => output::sections(scene, attempt),
            None => nothing("no output: nothing ran yet"),
        },
        (View::Prompt, Some((session, running))) => {
            output::prompt(scene, Place::Spool(session.clone(), running.number))
        }
        (View::Prompt, None) => match attempt {
            Some((_, attempt)) => output::prompt(scene, Place::Record(attempt.commit())),
            None => nothing("no prompt was sent yet"),
        },
        (View::Memory, _) => {
            let task = match subject {
                Subject::Task(task) => Some(task.clone()),
                Subject::Need(place) => {
                    scene.feature.summary.needs_you.get(*place).and_then(|need| need.task.clone())
                }
                Subject::Attempt(_) => attempt.and_then(|(_, one)| one.task().map(str::to_owned)),
                Subject::Session | Subject::Running(_) => None,
            };
            match scene.cache.get(Request::Memory { feature: scene.feature.path.clone(), task }) {
                Some(Ok(Answer::Memory(text))) => vec![Section::plain(output::markdown(text))],
                Some(Err(error)) => vec![Section::plain(Row::failure_words(error))],
                None | Some(Ok(_)) => Vec::new(),
            }
        }
        (View::Diff, _) => match scene.diff_target(subject) {
            None if running.is_some() => nothing("what it changes is known when it is recorded"),
            None => nothing("no snapshot was taken: nothing to compare"),
            Some(target) => match scene.cache.get(Request::Diff(target)) {
                Some(Ok(Answer::Diff(patch))) => diff::sections(patch),
                Some(Err(error)) => vec![Section::plain(Row::failure_words(error))],
                None | Some(Ok(_)) => Vec::new(),
            },
        },
        (View::Detail, Some((session, running))) => live::detail(scene, session, running),
        (View::Detail, None) => match subject {
            Subject::Need(place) => session::need(scene, *place),
            Subject::Session | Subject::Running(_) => session::sections(scene),
            Subject::Attempt(_) => match attempt {
                Some((session, attempt)) => attempt::sections(scene, session, attempt),
                None => nothing("this attempt is not recorded"),
            },
            Subject::Task(task) => match scene.feature.list.find(task) {
                Some(item) => task::sections(scene, item),
                None => nothing("the task is no longer in the list"),
            },
        },
    }
}

fn nothing(words: &str) -> Vec<Section> {
    vec![Section::plain(vec![Row::of(Look::Dim, words)])]
}
