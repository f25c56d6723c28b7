//! `specify ralph progress`: what the next prompt is told of the newest iterations.

use std::io::Write;

use anyhow::Result;
use clap::{Args, ValueEnum};
use serde_json::json;

use crate::clock::Clock;
use crate::view::style::{inert, one_line};

use super::args::{Json, SettingArgs};
use super::caller::Caller;
use super::exit_code::ExitCode;
use super::output::{print_json, stdout};
use super::place::{self, refusal};
use super::ready::{Settings, Wish, variable};

#[derive(Debug, Args)]
pub struct ProgressArgs {
    /// Clear: have the iterations so far forgotten, in new sessions and in a loop that runs
    #[arg(value_name = "ACTION")]
    pub action: Option<ProgressAction>,
    /// Feature, by path or by name
    #[arg(long, value_name = "FEATURE")]
    pub feature: Option<String>,
    #[command(flatten)]
    pub json: Json,
    #[command(flatten)]
    pub settings: SettingArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ProgressAction {
    Clear,
}

pub fn run(args: &ProgressArgs, caller: &Caller) -> Result<ExitCode> {
    let store = place::open(caller)?;
    let feature = place::feature_to_read(caller, &store, args.feature.as_ref())?;
    let mut out = stdout();
    match args.action {
        None => {
            let wish = Wish { flags: args.settings.flags(), ..Wish::default() };
            let settings = Settings::read(&store, &feature, caller, &wish).map_err(refusal)?;
            let text = settings.progress(&store, &feature)?;
            if args.json.json {
                print_json(&mut out, &json!({"feature": feature.path, "progress": text}))?;
            } else {
                write!(out, "{}", inert(&text))?;
            }
        }
        Some(ProgressAction::Clear) => {
            let clock = Clock::new(variable(caller, Clock::VARIABLE).as_deref())?;
            let at = clock.now();
            let refname = store.clear_progress(&feature.path, at)?;
            if args.json.json {
                print_json(&mut out, &json!({"feature": feature.path, "cleared_at": at, "ref": refname}))?;
            } else {
                let name = one_line(&feature.path);
                writeln!(out, "{name}: prompts are told nothing of iterations up to {at} ({refname})")?;
            }
        }
    }
    out.flush()?;
    Ok(ExitCode::Done)
}
