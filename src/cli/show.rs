//! `specify ralph show`: one iteration, or the stored bytes of one of its parts.

use std::io::Write;

use anyhow::{Result, bail};

use crate::view;
use crate::view::style::Paint;

use super::caller::Caller;
use super::exit_code::ExitCode;
use super::log::repeats_of;
use super::output::stdout;
use super::sessions::{self, Choice};
use super::{Part, ShowArgs, place};

pub fn run(args: &ShowArgs, caller: &Caller, paint: Paint) -> Result<ExitCode> {
    let store = place::open(caller)?;
    let choice = Choice { session: args.session.clone(), feature: args.feature.clone() };
    let log = sessions::latest(&store, &choice)?;
    let last = log.iterations().next_back();
    let entry = match (args.iteration, last) {
        (_, None) => bail!("session {} has no iteration yet", log.id()),
        (None, Some(last)) => last,
        (Some(number), Some(last)) => match log.iteration(number) {
            Some(entry) => entry,
            None => bail!(
                "session {} has no iteration {number}, the last is {}\nhint: `specify ralph log` lists all",
                log.id(),
                last.iteration.unwrap_or_default()
            ),
        },
    };
    let mut out = stdout();
    let path = match args.part() {
        Part::Summary => {
            let iteration = store.iteration(entry)?;
            let text = store.file(&entry.commit, "progress.md")?.unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            let repeated = repeats_of(&log).get(&iteration.iteration).copied();
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
