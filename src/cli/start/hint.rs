//! `specify ralph hint`: what the user tells the agents of a feature.

use std::io::Write;

use anyhow::Result;
use clap::Args;
use redact_stream::Redactor;
use serde_json::json;

use ralph_core::history::asking;
use ralph_core::record::{Hint, LogEntry, RALPH, Refusal, Scope, SessionName, TaskName, join_truncated};
use ralph_project::feature::Feature;
use ralph_project::tasks;
use ralph_store::{Hints, Holder, LoopLock, Spool, Store};
use ralph_ui::style::one_line;

use crate::cli::args::PlaceArgs;
use crate::cli::output::emit;
use crate::cli::read::sessions;
use crate::cli::settings::{load_here, terminal_redactor};
use crate::cli::start::control::running;
use crate::cli::start::setup;
use crate::cli::start::trust::load_to_read;
use crate::cli::{Context, ExitCode, Flags, Json, SessionChoice, note, refusal, warn};

/// Iterations in which a question is looked for.
const MAX_ITERATIONS: usize = 1000;

/// Most tasks that a line names.
const MAX_NAMED: usize = 8;

#[derive(Debug, Args)]
pub struct HintArgs {
    /// What the agent should know; without it, the hints that wait are listed
    #[arg(value_name = "TEXT")]
    pub text: Vec<String>,
    /// Put it into every prompt of these tasks until they are done: T001,T004-T009 (can be repeated)
    #[arg(long, value_name = "IDS", requires = "text")]
    pub task: Vec<String>,
    /// Withdraw the hint with this number, or all of them
    #[arg(long, value_name = "N", num_args = 0..=1, conflicts_with_all = ["text", "task"])]
    pub clear: Option<Option<u32>>,
    #[command(flatten)]
    pub place: PlaceArgs,
    /// Feature of this session [default: of the running loop, else as `run` finds it]
    #[arg(long, value_name = "SESSION", conflicts_with_all = ["feature", "tasks"])]
    pub session: Option<SessionName>,
    #[command(flatten)]
    pub json: Json,
}

pub fn hint(args: &HintArgs, context: &Context) -> Result<ExitCode> {
    let text = args.text.join(" ");
    if !args.text.is_empty() && text.trim().is_empty() {
        let refusal = Refusal::new("the hint is empty");
        return Err(refusal.with_hint(format!("{RALPH} hint 'use the parser that is there'")).into());
    }
    let target = HintTarget::find(args, context)?;
    match &args.clear {
        Some(number) => target.clear(*number, args.json),
        None if args.text.is_empty() => target.list(args.json),
        None => target.add(&text, args, context),
    }
}

/// The feature whose hints are meant.
struct HintTarget<'a> {
    store: &'a Store,
    /// Its path from the root.
    path: String,
    /// `None` if it is not in this work tree.
    feature: Option<Feature>,
    /// The loop that works on it.
    holder: Option<Holder>,
    redactor: Option<Redactor>,
}

impl<'a> HintTarget<'a> {
    fn find(args: &HintArgs, context: &'a Context) -> Result<Self> {
        let store = context.store()?;
        let place = &args.place;
        let (path, feature) = if args.session.is_some() {
            let choice = SessionChoice { session: args.session.clone(), feature: None };
            let path = sessions::latest(store, &choice).map_err(refusal)?.feature().to_owned();
            let feature = context.recorded_feature_to_read(&path).ok();
            (path, feature)
        } else if place.feature.is_some() || place.tasks.is_some() {
            let feature = context.feature(place.feature.as_ref(), place.tasks.as_ref())?;
            (feature.path.clone(), Some(feature))
        } else if let Some(path) = running(context, None)?.and_then(|holder| feature_of(store, &holder)) {
            let feature = context.recorded_feature_to_read(&path).ok();
            (path, feature)
        } else {
            let feature = context.feature(None, None)?;
            (feature.path.clone(), Some(feature))
        };
        let holder = LoopLock::holders(store.repository())?
            .into_iter()
            .find(|holder| feature_of(store, holder).is_some_and(|other| other == path));
        let redactor = terminal_redactor(&load_to_read(context)?)?;
        Ok(Self { store, path, feature, holder, redactor })
    }

    fn hints(&self) -> Hints<'a> {
        Hints::of(self.store.repository(), &self.path)
    }

    fn add(&self, text: &str, args: &HintArgs, context: &Context) -> Result<ExitCode> {
        let (names, answered) = if args.task.is_empty() {
            let answered = asking_task(self.store, &self.path, self.feature.as_ref());
            (answered.iter().map(|(task, _)| task.clone()).collect(), answered)
        } else {
            (self.open_tasks(&args.task)?, None)
        };
        if is_without_hints(context) {
            let message = "the project's template has no place for {{ hints }}: the hint is appended at the end of the prompt";
            warn(message);
        }
        let hint = self.hints().add(text, &names, context.now()?)?;
        if args.json.json {
            return self.list(args.json);
        }
        let shown = one_line(&hint.text);
        if let Some((task, question)) = answered {
            let question = one_line(&self.plain(&question));
            return crate::cli::say(format_args!("it answers {task}, which asks: {question}\n  {shown}"));
        }
        let line = match (&self.holder, names.as_slice()) {
            (Some(holder), []) => format!("session {} gets it with its next prompt: {shown}", holder.session),
            (None, []) => format!("the next prompt for {} gets it: {shown}", self.path),
            (_, [task]) => format!("every prompt for {task} gets it until it is done: {shown}"),
            (_, names) => {
                let names = join_truncated(names, MAX_NAMED);
                format!("every prompt for {names} gets it until they are done: {shown}")
            }
        };
        crate::cli::say(line)
    }

    /// Returns the names of the open tasks that are meant.
    ///
    /// # Errors
    ///
    /// If one is not in the list, or done, unless it is within a range.
    fn open_tasks(&self, named: &[String]) -> Result<Vec<TaskName>> {
        let Some(feature) = &self.feature else {
            let message = format!("{} is not in this work tree, so its tasks are not known here", self.path);
            return Err(Refusal::new(message).with_hint("run this where its task list is").into());
        };
        let list = tasks::read(&feature.files, &feature.tasks_path).map_err(refusal)?;
        let scope = Scope { tasks: named.to_vec(), ..Scope::default() };
        let part = tasks::part_of(&list, &scope, &feature.tasks_path)?;
        let part: Vec<_> =
            list.tasks().filter(|item| part.as_ref().is_some_and(|part| part.has(&item.name))).collect();
        let is_named =
            |name: &str| named.iter().flat_map(|names| names.split(',')).any(|one| one.trim() == name);
        let open: Vec<TaskName> =
            part.iter().filter(|item| !item.done).map(|item| item.name.clone()).collect();
        let done = part.iter().find(|item| item.done && (open.is_empty() || is_named(&item.name)));
        match done {
            None => Ok(open),
            Some(item) => {
                let message = format!("{} is done in {}", item.name, feature.tasks_path);
                let hint =
                    format!("to have it done again, untick its box first; `{RALPH} tasks` lists open tasks");
                Err(Refusal::new(message).with_hint(hint).into())
            }
        }
    }

    fn clear(&self, number: Option<u32>, json: Json) -> Result<ExitCode> {
        let removed = self.hints().retain(|hint| number.is_some_and(|number| hint.number != number))?;
        if let (Some(number), true) = (number, removed.is_empty()) {
            let refusal = Refusal::new(format!("no hint {number} waits"));
            return Err(refusal.with_hint(format!("`{RALPH} hint` lists them")).into());
        }
        if json.json {
            return self.list(json);
        }
        if removed.is_empty() {
            note("no hint waits");
        }
        emit(json, &(), |out| {
            removed.iter().try_for_each(|hint| writeln!(out, "withdrawn: {}", self.shown(hint)))
        })
    }

    fn list(&self, json: Json) -> Result<ExitCode> {
        let hints = self.hints().list()?;
        let redacted: Vec<Hint> =
            hints.iter().map(|hint| Hint { text: self.plain(&hint.text), ..hint.clone() }).collect();
        if hints.is_empty() && !json.json {
            note(format!("no hint waits for {}; `{RALPH} hint 'TEXT'` adds one", self.path));
        }
        emit(json, &json!({"feature": self.path, "hints": redacted}), |out| {
            let width = hints.last().map_or(0, |hint| hint.number.to_string().len());
            hints.iter().try_for_each(|hint| {
                writeln!(out, "{:>width$}  {}{}", hint.number, self.shown(hint), self.state(hint))
            })
        })
    }

    fn plain(&self, text: &str) -> String {
        self.redactor.as_ref().map_or_else(|| text.to_owned(), |redactor| redactor.redact_text(text).0)
    }

    /// Returns the hint on one line, with what it is for.
    fn shown(&self, hint: &Hint) -> String {
        let text = one_line(&self.plain(&hint.text));
        match hint.tasks.as_slice() {
            [] => format!("next prompt: {text}"),
            names => format!("{}: {text}", join_truncated(names, MAX_NAMED)),
        }
    }

    fn state(&self, hint: &Hint) -> &'static str {
        let is_running =
            self.holder.as_ref().is_some_and(|holder| hint.session.as_ref() == Some(&holder.session));
        if is_running { " (in the running prompt)" } else { "" }
    }
}

/// Returns the task of a feature that asks the user something, and what, if it is the only one. Records that cannot be
/// read ask nothing.
pub fn asking_task(store: &Store, path: &str, feature: Option<&Feature>) -> Option<(TaskName, String)> {
    let feature = feature?;
    let list = tasks::read(&feature.files, &feature.tasks_path).ok()?;
    let entries = store.iterations_of(path, MAX_ITERATIONS).ok()?;
    let asking: Vec<&LogEntry> = asking(&entries)
        .into_iter()
        .filter(|entry| entry.task().as_ref().and_then(|task| list.find(task)).is_some_and(|item| !item.done))
        .collect();
    let [only] = asking.as_slice() else { return None };
    Some((only.task().map(str::to_owned)?, only.cause().unwrap_or_default().to_owned()))
}

/// Returns the path of the feature that a running loop works on; `None` before it has begun.
pub fn feature_of(store: &Store, holder: &Holder) -> Option<String> {
    let spool = Spool::of(store.repository(), &holder.session).ok().flatten()?;
    Some(spool.place().ok().flatten()?.feature)
}

/// Returns true if the template of this project places no hints. One that cannot be read is the loop's to complain of.
fn is_without_hints(context: &Context) -> bool {
    let read = load_here(context, Flags::default())
        .and_then(|(project, config)| setup::template(&project, &config.loop_type));
    read.is_ok_and(|template| template.missing().contains(&"hints"))
}
