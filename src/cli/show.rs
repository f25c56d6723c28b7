//! `specify ralph show`: one iteration, or the stored bytes of one of its parts.

use anyhow::Result;
use clap::{ArgGroup, Args};

use ralph_core::history::failure_key::FailureKey;
use ralph_core::history::repeats;
use ralph_core::record::{Iteration, IterationName, LogEntry};
use ralph_engine::last_words;
use ralph_store::Store;
use ralph_ui::style::{inert, one_line};

use super::diff::{self, Request};
use super::output::records;
use super::{Context, ExitCode, SessionChoice, iterations, print, say, task_attempts};

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("part").args(["patch", "stdout", "stderr", "prompt", "agent", "agent_stderr", "tasks", "json"]))]
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
    /// Print JSON
    #[arg(long)]
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
        let (before, after) = (shown.snapshot_before(store)?, shown.snapshot(store)?);
        let request = Request { context, journal: shown.files(store).progress, option: None, paths: &[] };
        return diff::hand_over(request, &before, &after, Vec::new());
    }
    if let Some(path) = args.file() {
        let mut out = records();
        // A skipped iteration ran nothing: its streams are as empty as those of a silent one.
        store.reader()?.copy_file(&entry.commit, path, &mut out)?;
        out.finish()?;
        return Ok(ExitCode::Done);
    }
    let text = store.or_leave_out(entry, store.file(&entry.commit, "progress.md")).flatten();
    let text = String::from_utf8_lossy(text.as_deref().unwrap_or_default()).into_owned();
    let Some(iteration) = store.readable_iteration(entry) else {
        // What people see of it is text, which every version can show.
        say(format_args!("{}\n\n{}", one_line(&entry.subject), inert(&text)))?;
        // Without it there is nothing to show.
        return Ok(if text.is_empty() { ExitCode::NotDone } else { ExitCode::Done });
    };
    let causes = shown.log.iterations();
    let causes = causes.map(|entry| (entry.iteration.unwrap_or_default(), FailureKey::of_entry(entry)));
    let afterwards = task_attempts::afterwards(store, &shown.log, entry)?;
    let found = ralph_ui::show::IterationDetails {
        final_message: &final_message(store, entry, &iteration)?,
        iteration: &iteration,
        commit: entry.commit.as_str(),
        entry: &text,
        afterwards: afterwards.as_deref(),
        repeated: repeats(causes).get(&iteration.iteration).copied(),
    };
    print(|out| ralph_ui::show::write(out, &found, context.paint))
}

/// The end of an output in which an agent's last words are looked for, in bytes.
const MAX_OUTPUT_BYTES: usize = 256 * 1024;

/// Returns what the agent said last.
fn final_message(store: &Store, entry: &LogEntry, iteration: &Iteration) -> Result<String> {
    if iteration.exit.agent.is_none() {
        return Ok(String::new());
    }
    let (output, _) = store.tail(&entry.commit, "agent/stdout", MAX_OUTPUT_BYTES)?;
    let words = last_words(store, entry, None, iteration, &output);
    Ok(if words.trim().is_empty() { iteration.facts.final_message.clone() } else { words })
}
