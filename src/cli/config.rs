//! `specify ralph config`: every effective setting, and where it came from.

use std::io::Write;

use anyhow::{Context, Result};
use clap::Args;
use serde_json::Value;

use crate::config::Entry;
use crate::session::redacted;
use crate::view::json::write_pretty;
use crate::view::style::is_unseen;

use super::args::Json;
use super::caller::Caller;
use super::context;
use super::exit_code::ExitCode;
use super::output::{stdout, warn};
use super::settings::{Flags, load_here, load_without_file, terminal_redactor};
use super::trust::load_to_read;

#[derive(Debug, Args)]
pub struct ConfigArgs {
    #[command(flatten)]
    json: Json,
}

pub fn run(args: &ConfigArgs, caller: &Caller) -> Result<ExitCode> {
    let (_, config) = load_here(caller, Flags::default())?;
    for warning in &config.warnings {
        warn(warning, &mut std::io::stderr());
    }
    let (mut entries, mut json) = (config.entries(), config.entries_to_json());
    let trusted = match context::open(caller) {
        Ok(store) => load_to_read(&store, caller)?,
        // Approvals are of repositories.
        Err(_) => load_without_file(caller)?,
    };
    if let Some(redactor) = terminal_redactor(&trusted)? {
        for entry in &mut entries {
            entry.value = redactor.redact_text(&entry.value).0;
        }
        json = redacted(&redactor, &json)?;
    }
    let mut out = stdout();
    match args.json {
        Json { json: true } => write_json(&json, &mut out),
        Json { json: false } => write_table(&entries, &mut out),
    }
    .context("write the configuration")?;
    Ok(ExitCode::Done)
}

fn write_json(entries: &Value, out: &mut impl Write) -> Result<()> {
    write_pretty(out, entries)?;
    Ok(out.flush()?)
}

fn write_table(entries: &[Entry], out: &mut impl Write) -> Result<()> {
    // A value with a line break or an escape sequence must not leave its line.
    let plain = |text: &str| {
        text.chars().map(|c| if c.is_control() || is_unseen(c) { '·' } else { c }).collect::<String>()
    };
    let width = |text: fn(&Entry) -> &str| {
        entries
            .iter()
            .map(|entry| text(entry).chars().count())
            .filter(|width| *width <= 40)
            .max()
            .unwrap_or(0)
    };
    let (keys, values) = (width(|entry| &entry.key), width(|entry| &entry.value));
    for Entry { key, value, origin } in entries {
        writeln!(out, "{:keys$}  {:values$}  {}", plain(key), plain(value), plain(origin))?;
    }
    Ok(out.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn the_table_has_a_line_for_each_key_and_its_columns_are_even() {
        let entry = |key: &str, value: &str, origin: &str| Entry {
            key: key.to_owned(),
            value: value.to_owned(),
            origin: origin.to_owned(),
        };
        let entries = [entry("agent", "claude", "default"), entry("model", "a\u{1b}\nb", "-m")];
        let mut out = Vec::new();
        write_table(&entries, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "agent  claude  default\nmodel  a··b    -m\n");
    }

    #[test]
    fn json_has_value_and_origin_for_each_key() {
        let config = Config::read(&crate::config::Inputs::default()).unwrap();
        let mut out = Vec::new();
        write_json(&config.entries_to_json(), &mut out).unwrap();
        let json: Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(json["timeout"], serde_json::json!({"value": "1h", "origin": "default"}));
        assert_eq!(json["agent"]["value"], Value::Null);
    }
}
