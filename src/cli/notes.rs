//! `specify ralph notes rebuild`: the notes on commits, made again from the records.

use std::io::Write;

use anyhow::Result;
use clap::{Args, Subcommand};
use serde_json::json;

use crate::view::style::Count;

use super::args::Json;
use super::caller::Caller;
use super::context;
use super::exit_code::ExitCode;
use super::output::{print_json, stdout};

#[derive(Debug, Args)]
pub struct NotesArgs {
    #[command(subcommand)]
    pub action: NotesAction,
}

#[derive(Debug, Subcommand)]
pub enum NotesAction {
    /// Rewrite `refs/notes/ralph` from the records, keeping other lines
    Rebuild {
        #[command(flatten)]
        json: Json,
    },
}

pub fn run(args: &NotesArgs, caller: &Caller) -> Result<ExitCode> {
    let store = context::open(caller)?;
    let NotesAction::Rebuild { json } = args.action;
    let changed = store.rebuild_notes(context::clock(caller)?.now())?;
    let mut out = stdout();
    match json {
        Json { json: true } => print_json(&mut out, &json!({ "changed": changed }))?,
        Json { json: false } if changed == 0 => writeln!(out, "the notes say what the record says")?,
        Json { json: false } => writeln!(out, "{} written", Count(changed as u64, "note"))?,
    }
    out.flush()?;
    Ok(ExitCode::Done)
}
