//! `specify ralph config`: what is set, and where it came from.

use std::io::{self, Write};

use anyhow::Result;

use ralph_core::config::Origin;
use ralph_core::record::RALPH;
use ralph_engine::redacted;
use ralph_ui::style::is_unseen;

use crate::cli::settings::{load_here, load_without_file, terminal_redactor};
use crate::cli::start::trust::load_to_read;
use crate::cli::{Context, ExitCode, Flags, Json, emit, note, warn};

pub fn run(all: bool, json: Json, context: &Context) -> Result<ExitCode> {
    let (_, config) = load_here(context, Flags::default())?;
    for warning in &config.warnings {
        warn(warning);
    }
    let mut rows: Vec<[String; 3]> = config
        .values
        .iter()
        .filter(|setting| all || setting.origin != Origin::Default)
        .map(|setting| [setting.key.clone(), setting.text(), setting.origin.to_string()])
        .collect();
    let mut entries = config.entries_to_json();
    // Approvals are of repositories.
    let trusted = if context.store().is_ok() { load_to_read(context)? } else { load_without_file(context)? };
    if let Some(redactor) = terminal_redactor(&trusted)? {
        for [_, value, _] in &mut rows {
            *value = redactor.redact_text(value).0;
        }
        entries = redacted(&redactor, &entries)?;
    }
    let code = emit(json, &entries, |out| write_table(&rows, out))?;
    if !all && !json.json {
        let rest = if rows.is_empty() {
            "nothing is set: these are the defaults"
        } else {
            "the rest is as by default"
        };
        note(format!("{rest}: `{RALPH} config --all`"));
    }
    Ok(code)
}

/// A value with a line break or an escape sequence must not leave its line.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || is_unseen(c) { '·' } else { c }).collect()
}

/// Writes a line for each key, value and origin.
fn write_table(rows: &[[String; 3]], out: &mut impl Write) -> io::Result<()> {
    let [keys, values] = [0, 1].map(|column| {
        let widths = rows.iter().map(|row| row[column].chars().count());
        widths.filter(|width| *width <= 40).max().unwrap_or(0)
    });
    for [key, value, origin] in rows {
        writeln!(out, "{:keys$}  {:values$}  {}", plain(key), plain(value), plain(origin))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::config::Config;

    #[test]
    fn the_table_has_a_line_for_each_key_and_its_columns_are_even() {
        let rows = [["agent", "claude", "default"], ["model", "a\u{1b}\nb", "-m"]];
        let rows = rows.map(|row| row.map(str::to_owned));
        let mut out = Vec::new();
        write_table(&rows, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "agent  claude  default\nmodel  a··b    -m\n");
    }

    #[test]
    fn json_has_value_and_origin_for_each_key() {
        let config = Config::read(&ralph_core::config::Inputs::default()).unwrap();
        let json = config.entries_to_json();
        assert_eq!(json["timeout"], serde_json::json!({"value": "1h", "origin": "default"}));
        assert_eq!(json["agent"]["value"], serde_json::Value::Null);
    }
}
