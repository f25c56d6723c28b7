//! `specify ralph replay`: the prompts that other settings would have given, as a difference to those that were sent.

use anyhow::{Context as _, Result};
use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::json;

use crate::config::{FlagInput, STRATEGIES};
use crate::record::{Scope, SessionName};
use crate::view::replay::{Compared, write};

use super::args::SettingArgs;
use super::setup::Settings;
use super::{Context, ExitCode, Flags, Json, SessionChoice, emit, refusal, sessions};

#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// Session [default: the latest]
    #[arg(value_name = "SESSION")]
    pub session: Option<SessionName>,
    /// Form of the newest iterations in the prompt
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(STRATEGIES))]
    pub strategy: Option<String>,
    /// Feature, by path or by name
    #[arg(long, value_name = "FEATURE")]
    pub feature: Option<String>,
    #[command(flatten)]
    pub json: Json,
    #[command(flatten)]
    pub settings: SettingArgs,
}

impl ReplayArgs {
    /// Returns the strategy, as a setting.
    pub fn strategy(&self) -> Option<FlagInput> {
        self.strategy.as_ref().map(|name| FlagInput::new("--strategy", "progress.strategy", name))
    }
}

pub fn run(args: &ReplayArgs, context: &Context) -> Result<ExitCode> {
    let store = context.store()?;
    let choice = SessionChoice { session: args.session.clone(), feature: args.feature.clone() };
    let log = sessions::latest(store, &choice)?;
    let feature = context.recorded_feature(log.feature())?;
    let begun = store.first_readable_session(&log);
    let begun = begun.with_context(|| format!("session {} has no readable start record", log.id()))?;
    let mut flags = args.settings.flags();
    flags.settings.extend(args.strategy());
    let flags = Flags { loop_type: Some(begun.loop_type.clone()), ..flags };
    let settings = Settings::read(&feature, context, flags, &Scope::default()).map_err(refusal)?;
    let replayed = settings.replay(store, &feature, &log, begun.max_iterations).map_err(refusal)?;
    emit(args.json, &json!({"session": log.id(), "iterations": replayed}), |out| {
        replayed.iter().try_for_each(|one| {
            let compared = Compared {
                iteration: one.iteration,
                task: one.task.as_deref(),
                sent: &one.sent,
                text: &one.text,
                tokens_sent: one.tokens_sent,
                tokens: one.tokens,
            };
            write(out, compared, context.paint)
        })
    })
}
