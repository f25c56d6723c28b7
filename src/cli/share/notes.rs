//! `specify ralph notes rebuild`: the notes on commits, made again from the records.

use std::io::Write;

use anyhow::Result;
use clap::Subcommand;
use serde_json::json;

use ralph_ui::style::counted;

use crate::cli::{Context, ExitCode, Json, emit};

#[derive(Debug, Subcommand)]
pub enum NotesAction {
    /// Rewrite `refs/notes/ralph` from the records, keeping other lines
    Rebuild {
        #[command(flatten)]
        json: Json,
    },
}

pub fn run(action: &NotesAction, context: &Context) -> Result<ExitCode> {
    let store = context.store()?;
    let NotesAction::Rebuild { json } = *action;
    let changed = ralph_store::notes::rebuild(store, context.now()?)?;
    emit(json, &json!({ "changed": changed }), |out| match changed {
        0 => writeln!(out, "the notes match the record"),
        _ => writeln!(out, "{} written", counted(changed as u64, "note")),
    })
}
