//! `specify ralph replay`: the prompts that other settings would have given, as a difference to those that were sent.

use anyhow::{Context as _, Result};
use clap::Args;
use serde_json::json;

use ralph_core::record::{Scope, SessionName};
use ralph_ui::replay::write;

use super::args::MemorySettingArgs;
use super::setup::Settings;
use super::{Context, ExitCode, Flags, Json, SessionChoice, emit, refusal, sessions};

#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// Session [default: the latest]
    #[arg(value_name = "SESSION")]
    pub session: Option<SessionName>,
    #[command(flatten)]
    pub json: Json,
    #[command(flatten)]
    pub settings: MemorySettingArgs,
}

pub fn run(args: &ReplayArgs, context: &Context) -> Result<ExitCode> {
    let store = context.store()?;
    let choice = SessionChoice { session: args.session.clone(), feature: None };
    let log = sessions::latest(store, &choice)?;
    let feature = context.recorded_feature(log.feature())?;
    let begun = store.first_readable_session(&log);
    let begun = begun.with_context(|| format!("session {} has no readable start record", log.id()))?;
    let flags = Flags { loop_type: Some(begun.loop_type.clone()), ..args.settings.flags() };
    let settings = Settings::read(&feature, context, flags, &Scope::default()).map_err(refusal)?;
    let replayed = settings.replay(store, &feature, &log, begun.max_iterations).map_err(refusal)?;
    emit(args.json, &json!({"session": log.id(), "iterations": replayed}), |out| {
        replayed.iter().try_for_each(|one| {
            let (sent, text) = ((&*one.sent, one.tokens_sent), (&*one.text, one.tokens));
            write(out, one.iteration, one.task.as_deref(), sent, text, context.paint)
        })
    })
}
