//! `specify ralph show`: one iteration, or the stored bytes of one of its parts.

use std::borrow::Cow;
use std::io::Write;

use anyhow::Result;

use crate::history::repeats;
use crate::record::IterationName;
use crate::record::LogEntry;
use crate::view;
use crate::view::style::Paint;

use super::caller::Caller;
use super::diff::{self, Request};
use super::exit_code::ExitCode;
use super::iterations;
use super::output::stdout;
use super::sessions::Choice;
use super::{Color, Part, ShowArgs, place};

pub fn run(args: &ShowArgs, caller: &Caller, (color, paint): (Color, Paint)) -> Result<ExitCode> {
    let store = place::open(caller)?;
    let choice = Choice { session: args.session.clone(), feature: args.feature.clone() };
    let shown = iterations::find(&store, args.iteration.as_ref().unwrap_or(&IterationName::LAST), &choice)?;
    let entry = shown.iteration()?;
    let mut out = stdout();
    let path = match args.part() {
        Part::Summary => {
            let iteration = store.iteration(entry)?;
            let text = store.file(&entry.commit, "progress.md")?.unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            let of = |entry: &LogEntry| entry.fingerprint.clone().map(Cow::Owned);
            let numbers =
                shown.log.iterations().map(|entry| (entry.iteration.unwrap_or_default(), of(entry)));
            let repeated = repeats(numbers).get(&iteration.iteration).copied();
            let found = view::show::Found {
                iteration: &iteration,
                commit: entry.commit.as_str(),
                entry: &text,
                repeated,
            };
            view::show::write(&mut out, &found, paint)?;
            out.flush()?;
            return Ok(ExitCode::Done);
        }
        Part::Patch => {
            let (before, after) = (shown.snapshot_before(&store)?, shown.snapshot(&store)?);
            let request = Request { caller, color, options: &[], paths: &[] };
            let journal = shown.files(&store).progress;
            return diff::hand_over(request, &journal, (&before, after.as_str()), |git| git);
        }
        Part::Json => "iteration.json",
        Part::Stdout => "validation/stdout",
        Part::Stderr => "validation/stderr",
        Part::Prompt => "prompt.md",
        Part::Agent => "agent/stdout",
        Part::Tasks => "tasks.md",
    };
    // A skipped iteration ran nothing: its streams are as empty as those of a silent one.
    store.copy_file(&entry.commit, path, &mut out)?;
    out.flush()?;
    Ok(ExitCode::Done)
}
