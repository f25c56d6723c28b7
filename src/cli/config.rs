//! `specify ralph config`: every effective setting, and where it came from.

use std::io::{self, Write};

use anyhow::Result;

use crate::config::Entry;
use crate::session::redacted;
use crate::view::style::is_unseen;

use super::settings::{load_here, load_without_file, terminal_redactor};
use super::trust::load_to_read;
use super::{Context, ExitCode, Flags, Json, emit, warn};

pub fn run(is_json: Json, context: &Context) -> Result<ExitCode> {
    let (_, config) = load_here(context, Flags::default())?;
    for warning in &config.warnings {
        warn(warning);
    }
    let (mut entries, mut json) = (config.entries(), config.entries_to_json());
    // Approvals are of repositories.
    let trusted = if context.store().is_ok() { load_to_read(context)? } else { load_without_file(context)? };
    if let Some(redactor) = terminal_redactor(&trusted)? {
        for entry in &mut entries {
            entry.value = redactor.redact_text(&entry.value).0;
        }
        json = redacted(&redactor, &json)?;
    }
    emit(is_json, &json, |out| write_table(&entries, out))
}

fn write_table(entries: &[Entry], out: &mut impl Write) -> io::Result<()> {
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
    Ok(())
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
        let json = config.entries_to_json();
        assert_eq!(json["timeout"], serde_json::json!({"value": "1h", "origin": "default"}));
        assert_eq!(json["agent"]["value"], serde_json::Value::Null);
    }
}
