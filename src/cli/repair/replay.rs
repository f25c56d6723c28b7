//! `specify ralph replay`: the prompts that other settings would have given, as a difference to those that were sent.

use anyhow::{Context as _, Result};
use serde_json::json;

use ralph_core::record::{Scope, SessionName};
use ralph_os::process::Interrupt;
use ralph_ui::replay::write;

use crate::cli::args::MemorySettingArgs;
use crate::cli::read::sessions;
use crate::cli::settings::load_in;
use crate::cli::start::setup::checked_inputs;
use crate::cli::{Context, ExitCode, Flags, Json, SessionChoice, emit, refusal};

pub fn run(
    session: Option<SessionName>,
    json: Json,
    settings: &MemorySettingArgs,
    context: &Context,
) -> Result<ExitCode> {
    let store = context.store()?;
    let choice = SessionChoice { session, feature: None };
    let log = sessions::latest(store, &choice)?;
    let feature = context.recorded_feature(log.feature())?;
    let begun = store.first_readable_session(&log);
    let begun = begun.with_context(|| format!("session {} has no readable start record", log.id()))?;
    let flags = Flags { loop_type: Some(begun.loop_type.clone()), ..settings.flags() };
    let (config, none) = (load_in(context, flags).map_err(refusal)?, Interrupt::none());
    let inputs = checked_inputs(&config, &feature, &Scope::default(), context, &none)?;
    let replayed = ralph_engine::replay(&inputs, &log, begun.max_iterations).map_err(refusal)?;
    emit(json, &json!({"session": log.id(), "iterations": replayed}), |out| {
        replayed.iter().try_for_each(|one| {
            let (sent, text) = ((&*one.sent, one.tokens_sent), (&*one.text, one.tokens));
            write(out, one.iteration, one.task.as_deref(), sent, text, context.paint)
        })
    })
}
