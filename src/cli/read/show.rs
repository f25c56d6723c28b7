//! `specify ralph show`: one iteration, or the stored bytes of one of its parts.

use anyhow::Result;
use clap::{ArgGroup, Args};

use ralph_core::history::failure_key::FailureKey;
use ralph_core::record::{Iteration, IterationName, LogEntry, Outcome};
use ralph_core::view::integrations;
use ralph_engine::last_words;
use ralph_store::{SessionLog, Store};
use ralph_ui::log::became;
use ralph_ui::show::{Afterwards, ShownAttempt, lines};
use ralph_ui::style::{inert, one_line};

use crate::cli::output::{records, write_lines};
use crate::cli::read::diff;
use crate::cli::read::iterations::Point;
use crate::cli::read::report;
use crate::cli::read::{iterations, named_tests, session_changes, sessions};
use crate::cli::{Context, ExitCode, Json, SessionChoice, pager, print, say};

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("part").args(["patch", "stdout", "stderr", "prompt", "agent", "agent_stderr", "tasks"]))]
pub struct ShowArgs {
    /// Iteration: 5, @~2, T004, SESSION:5, a commit [default: @, the last one]
    #[arg(value_name = "N")]
    pub iteration: Option<IterationName>,
    /// Print its changes as a git diff
    #[arg(short, long)]
    patch: bool,
    /// Print the validation's stdout, byte for byte
    #[arg(long)]
    stdout: bool,
    /// Print the validation's stderr, byte for byte
    #[arg(long)]
    stderr: bool,
    /// Print the prompt
    #[arg(long)]
    prompt: bool,
    /// Print the agent's stdout, byte for byte
    #[arg(long)]
    agent: bool,
    /// Print the agent's stderr, byte for byte
    #[arg(long)]
    agent_stderr: bool,
    /// Print the task list as it was afterwards
    #[arg(long)]
    tasks: bool,
    /// List the tests that turned green or red (with --json, all)
    #[arg(long, group = "part")]
    tests: bool,
    /// Print JSON
    #[arg(long, conflicts_with_all = ["patch", "stdout", "stderr", "prompt", "agent", "agent_stderr", "tasks"])]
    json: bool,
    #[command(flatten)]
    pub choice: SessionChoice,
}

impl ShowArgs {
    /// Returns the file of the record that is asked for, if one is.
    pub fn file(&self) -> Option<&'static str> {
        let files = [
            (self.stdout, "validation/stdout"),
            (self.stderr, "validation/stderr"),
            (self.prompt, "prompt.md"),
            (self.agent, "agent/stdout"),
            (self.agent_stderr, "agent/stderr"),
            (self.tasks, "tasks.md"),
            (self.json, "iteration.json"),
        ];
        files.into_iter().find(|(is_given, _)| *is_given).map(|(_, path)| path)
    }
}

pub fn run(args: &ShowArgs, context: &Context) -> Result<ExitCode> {
    let store = context.store()?;
    let name = args.iteration.as_ref().unwrap_or(&IterationName::LAST);
    let shown = iterations::find(store, name, &args.choice)?;
    let entry = shown.iteration()?;
    if args.patch {
        let files = shown.files(store);
        let comparisons = diff::comparisons(store, &shown, name)?;
        if comparisons.len() == 1 {
            diff::note_unchanged(context, &shown);
        }
        return diff::hand_over(context, &files, None, &[], &comparisons, &[]);
    }
    if args.tests {
        return named_tests::show(store, &shown, Json { json: args.json });
    }
    if let Some(path) = args.file() {
        let mut out = records();
        // A skipped iteration ran nothing: its streams are as empty as those of a silent one.
        store.reader()?.copy_file(&entry.commit(), path, &mut out)?;
        out.finish()?;
        return Ok(ExitCode::Done);
    }
    let text = store.or_leave_out(entry, store.file(&entry.commit(), "progress.md")).flatten();
    let text = String::from_utf8_lossy(text.as_deref().unwrap_or_default()).into_owned();
    let Some(iteration) = store.readable_iteration(entry) else {
        // What people see of it is text, which every version can show.
        say(format_args!("{}\n\n{}", one_line(entry.subject()), inert(&text)))?;
        // Without it there is nothing to show.
        return Ok(if text.is_empty() { ExitCode::NotDone } else { ExitCode::Done });
    };
    let afterwards = afterwards(store, &shown)?;
    let after_queue = after_queue(store, &shown)?;
    let earlier = earlier_attempts(&shown)?;
    // What cannot be compared is left out.
    let changed = diff::changed_files(context, &shown).unwrap_or_default();
    let is_in_tree = iteration.outcome == Outcome::Failure
        && changed.as_ref().is_some_and(|files| {
            let same = context.work_tree().and_then(|work_tree| work_tree.unchanged_since(files));
            same.is_ok_and(|same| same.len() == files.len())
        });
    let changes = changed.as_ref().map(|files| session_changes::redacted(files, &report::redactor(context)));
    let begun = shown.log.begin_of(entry).and_then(|begin| store.readable_session(begin));
    let found = ShownAttempt {
        final_message: &final_message(store, &shown.log, entry, &iteration)?,
        iteration: &iteration,
        entry: &text,
        sandbox: begun.as_ref().and_then(|session| session.sandbox.as_ref()),
        session: (!shown.is_newest).then_some(shown.log.id()),
        names: shown.names.clone(),
        attempts: shown
            .run
            .iterations()
            .filter(|other| other.is_attempt() && other.task() == entry.task())
            .count(),
        earlier: &earlier,
        afterwards: afterwards.as_ref(),
        after_queue: after_queue.as_deref(),
        changed: changes.as_deref(),
        is_in_tree,
    };
    let now = context.now()?;
    print(|out| write_lines(out, &lines(&found, now, pager::screen(context))))
}

/// Returns the attempts at the task before this one that failed.
fn earlier_attempts(shown: &Point) -> Result<Vec<(String, Option<String>)>> {
    let entry = shown.iteration()?;
    let key = FailureKey::of_entry(entry);
    let failed = shown.before().filter(|other| {
        entry.task().is_some() && other.task() == entry.task() && other.outcome() == Some(Outcome::Failure)
    });
    let failed = failed.map(|other| {
        let is_same = key.is_some() && FailureKey::of_entry(other) == key;
        let cause = other.cause().unwrap_or("failed").to_owned();
        (shown.names.mark(&other.session(), other.number()), (!is_same).then_some(cause))
    });
    Ok(failed.collect())
}

/// The end of an output in which an agent's last words are looked for, in bytes.
const MAX_OUTPUT_BYTES: usize = 256 * 1024;

/// Returns what the agent said last.
fn final_message(store: &Store, log: &SessionLog, entry: &LogEntry, iteration: &Iteration) -> Result<String> {
    if iteration.exit.agent.is_none() {
        return Ok(String::new());
    }
    let (output, _) = store.tail(&entry.commit(), "agent/stdout", MAX_OUTPUT_BYTES)?;
    let words = last_words(store, entry, log.begin_of(entry), iteration, &output);
    Ok(if words.trim().is_empty() { iteration.facts.final_message.clone() } else { words })
}

/// Returns what became of the task of an attempt that did not close it.
fn afterwards(store: &Store, shown: &Point) -> Result<Option<Afterwards>> {
    let entry = shown.iteration()?;
    let own = entry.task().filter(|task| entry.is_attempt() && !entry.closes(task));
    let Some(task) = own else { return Ok(None) };
    let next = shown.after().find(|other| other.is_of(task));
    let skip = next.filter(|next| next.outcome() == Some(Outcome::Skipped));
    let done_in = match shown.after().find(|other| other.closes(task)) {
        Some(done) => Some(shown.names.mark(&done.session(), done.number())),
        None => done_later(store, shown, task)?,
    };
    let is_undone = skip
        .and_then(|skip| store.readable_iteration(skip))
        .is_some_and(|skip| skip.restored_to.is_some() && skip.kept_paths.is_empty());
    Ok(Some(Afterwards { is_given_up: skip.is_some(), is_undone, done_in }))
}

/// Returns what became of a result that was queued: `merged in #4`; `None` if it was not.
fn after_queue(store: &Store, shown: &Point) -> Result<Option<String>> {
    let entry = shown.iteration()?;
    if !entry.is_queued() {
        return Ok(None);
    }
    let logs = sessions::of_feature(store, shown.log.feature(), None)?;
    let found = integrations(logs.iter().flat_map(SessionLog::iterations));
    Ok(Some(became(found.get(&entry.id()), &shown.names)))
}

/// Returns which iteration of a later session of the feature closed a task.
fn done_later(store: &Store, shown: &Point, task: &str) -> Result<Option<String>> {
    let later = sessions::of_feature(store, shown.log.feature(), Some(shown.log.id().clone()))?;
    Ok(later.iter().filter(|other| !shown.run.has(other.id())).find_map(|other| {
        let done = other.iterations().find(|entry| entry.closes(task))?;
        Some(format!("{}:{}", other.id(), done.number()))
    }))
}
