//! `specify ralph progress`: what the next prompt is told of the newest iterations.

use std::io::Write;

use anyhow::Result;
use serde_json::json;

use crate::clock::Clock;
use crate::view::style::{inert, one_line};

use super::caller::Caller;
use super::exit_code::ExitCode;
use super::log::print_json;
use super::output::stdout;
use super::place::{self, refusal};
use super::ready::{Settings, Wish, variable};
use super::{Json, ProgressAction, ProgressArgs};

pub fn run(args: &ProgressArgs, caller: &Caller) -> Result<ExitCode> {
    let store = place::open(caller)?;
    let feature = place::feature(caller, &store, args.feature.as_ref(), None)?;
    let mut out = stdout();
    match args.action {
        None => {
            let wish = Wish { only: None, resume: None, flags: args.settings.flags() };
            let settings = Settings::read(&store, &feature, caller, &wish).map_err(refusal)?;
            let text = settings.progress(&store, &feature)?;
            match args.json {
                Json { json: true } => {
                    print_json(&mut out, &json!({"feature": feature.path, "progress": text}))?
                }
                Json { json: false } => write!(out, "{}", inert(&text))?,
            }
        }
        Some(ProgressAction::Clear) => {
            let clock = Clock::new(variable(caller, Clock::VARIABLE).as_deref())?;
            let at = clock.now();
            let refname = store.clear_progress(&feature.path, at)?;
            match args.json {
                Json { json: true } => {
                    print_json(
                        &mut out,
                        &json!({"feature": feature.path, "cleared_at": at, "ref": refname}),
                    )?;
                }
                Json { json: false } => {
                    let name = one_line(&feature.path);
                    writeln!(out, "{name}: prompts are told nothing of iterations up to {at} ({refname})")?;
                }
            }
        }
    }
    out.flush()?;
    Ok(ExitCode::Done)
}
