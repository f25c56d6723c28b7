//! `.specify/ralph.toml`: settings in tables, and `[agents.*]` and `[loop.*]`, which only this file can have.

use std::collections::BTreeMap;
use std::ops::Range;
use std::str::FromStr;

use anyhow::{Error, Result};
use camino::{Utf8Component, Utf8Path};
use serde_json::Value;
use strum::VariantNames;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use crate::record::{Refusal, did_you_mean};

use super::agents::{AgentCommand, AgentSettings};
use super::loops::{LoopTables, LoopType};
use super::mistake;
use super::origin::Origin;
use super::origin::Setting;
use super::settings::{self, KEYS};
use super::value::{InvalidValue, Raw, pattern_error};

/// What `.specify/ralph.toml` says, in its order within each table.
#[derive(Debug)]
pub(super) struct Contents<'a> {
    text: &'a str,
    /// Everything, for display.
    pub settings: Vec<Setting>,
    pub agents: BTreeMap<String, AgentSettings>,
    pub loops: LoopTables,
}

/// The project's settings, from its root.
pub const FILE: &str = ".specify/ralph.toml";

/// Replaces a value that must not be shown.
pub const HIDDEN: &str = "***";

/// Returns the text of the file.
///
/// # Errors
///
/// If it is not UTF-8, with the place.
pub fn file_text(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let origin = origin_at(error.as_bytes(), error.utf8_error().valid_up_to());
        let refusal = Refusal::new(format!("{}: not UTF-8", origin.place()));
        refusal.with_hint("save the file as UTF-8").into()
    })
}

pub(super) fn parse(text: &str) -> Result<Contents<'_>> {
    let (settings, agents, loops) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
    let mut contents = Contents { text, settings, agents, loops };
    let table = DeTable::parse(text).map_err(|error| {
        let place = contents.origin(&error.span().unwrap_or_default()).place();
        let refusal = Refusal::new(format!("{place}: {}", error.message().replace('\n', ", ")));
        Error::from(refusal.with_hint("expected TOML, such as `timeout = \"60m\"`"))
    })?;
    for (name, value) in table.get_ref() {
        match (name.get_ref().as_ref(), value.get_ref()) {
            ("agents", DeValue::Table(agents)) => contents.agents(agents)?,
            ("loop", DeValue::Table(loops)) => contents.loops(loops)?,
            ("agents" | "loop", _) => {
                let name = name.get_ref();
                let expected = InvalidValue::expected(format!("tables `[{name}.<name>]`"));
                return Err(mistake::invalid_value(&contents.origin(&value.span()), name, &expected));
            }
            _ => {
                let settings = contents.settings("", (name, value), &["agents", "loop"])?;
                contents.settings.extend(settings);
            }
        }
    }
    Ok(contents)
}

fn origin_at(bytes: &[u8], offset: usize) -> Origin {
    let before = &bytes[..offset.min(bytes.len())];
    let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
    // Columns count characters: UTF-8 continuation bytes are skipped.
    let column = before[line_start..].iter().filter(|byte| (**byte & 0xC0) != 0x80).count() + 1;
    let line = before.split(|byte| *byte == b'\n').count();
    Origin::File { path: FILE.into(), line, column }
}

type Name<'i> = Spanned<DeString<'i>>;
type Item<'t, 'i> = (&'t Name<'i>, &'t Spanned<DeValue<'i>>);

impl Contents<'_> {
    fn origin(&self, span: &Range<usize>) -> Origin {
        origin_at(self.text.as_bytes(), span.start)
    }

    /// Reads an item as the setting `{prefix}{name}`, or as a table of the settings with that prefix. `other_keys` are further
    /// keys that are allowed there, for suggestions.
    fn settings(
        &self,
        prefix: &str,
        (name, value): Item<'_, '_>,
        other_keys: &[&str],
    ) -> Result<Vec<Setting>> {
        let full = format!("{prefix}{}", name.get_ref());
        // A table of that name is a section, as `[sandbox]`.
        let is_table = matches!(value.get_ref(), DeValue::Table(_));
        if let Some(key) = settings::find(&full).filter(|_| !is_table || settings::canonical(&full) == full) {
            let origin = self.origin(&value.span());
            if !key.in_file {
                return Err(mistake::never_in_file(&origin, key));
            }
            let read = key.read(&raw(value.get_ref()));
            let value = read.map_err(|invalid| mistake::invalid_value(&origin, &full, &invalid))?;
            return Ok(vec![Setting { key: settings::canonical(&full).to_owned(), value, origin }]);
        }
        let section = format!("{full}.");
        if !KEYS.iter().any(|key| key.name.starts_with(&section)) {
            let origin = self.origin(&name.span());
            return Err(match value.get_ref() {
                DeValue::Table(_) => mistake::unknown_table(&origin, &full),
                _ => mistake::unknown(&origin, &full, other_keys),
            });
        }
        let mut settings = Vec::new();
        for item in self.table(value, &full)? {
            settings.extend(self.settings(&section, item, &[])?);
        }
        Ok(settings)
    }

    fn agents(&mut self, agents: &DeTable<'_>) -> Result<()> {
        for (name, table) in agents {
            let prefix = format!("agents.{}", name.get_ref());
            let mut agent = AgentSettings::default();
            for (field, value) in self.table(table, &prefix)? {
                let full = format!("{prefix}.{}", field.get_ref());
                let origin = self.origin(&value.span());
                let raw = raw(value.get_ref());
                let shown: Result<Value, InvalidValue> = match field.get_ref().as_ref() {
                    "command" => {
                        AgentCommand::new(&raw).map(|command| agent.command.insert(command).to_value())
                    }
                    "prompt" => one_of(&raw).map(|mode| agent.prompt.insert(mode).into_str().into()),
                    "parser" => one_of(&raw).map(|parser| agent.parser.insert(parser).into_str().into()),
                    "model" => raw
                        .line()
                        .map(|model| agent.model.insert(model.to_owned()).as_str().into())
                        .ok_or_else(|| InvalidValue::expected("a string")),
                    "limit-pattern" => regular_expression(&raw)
                        .map(|pattern| agent.limit_pattern.insert(pattern).as_str().into()),
                    "state" => home_paths(&raw).map(|paths| {
                        agent.state = paths;
                        agent.state.as_slice().into()
                    }),
                    "credentials" => home_paths(&raw).map(|paths| {
                        agent.credentials = paths;
                        agent.credentials.as_slice().into()
                    }),
                    "env" => {
                        agent.env = self.variables(value, &full)?;
                        continue;
                    }
                    _ => return Err(self.unknown_field(field, &full, AgentSettings::FIELDS)),
                };
                let value = shown.map_err(|invalid| mistake::invalid_value(&origin, &full, &invalid))?;
                self.settings.push(Setting { key: full, value, origin });
            }
            self.agents.insert(name.get_ref().to_string(), agent);
        }
        Ok(())
    }

    fn variables(&mut self, value: &Spanned<DeValue<'_>>, full: &str) -> Result<BTreeMap<String, String>> {
        let mut variables = BTreeMap::new();
        for (variable, value) in self.table(value, full)? {
            let key = format!("{full}.{}", variable.get_ref());
            let origin = self.origin(&value.span());
            let is_name = !variable.get_ref().is_empty() && !variable.get_ref().contains(['=', '\0']);
            let Some(text) = value.get_ref().as_str().filter(|text| is_name && !text.contains('\0')) else {
                let expected = if is_name { "a string" } else { "a name of a variable, without `=`" };
                return Err(mistake::invalid_value(&origin, &key, &InvalidValue::expected(expected)));
            };
            variables.insert(variable.get_ref().to_string(), text.to_owned());
            // The value may be a secret: it is never recorded or shown.
            self.settings.push(Setting { key, value: HIDDEN.into(), origin });
        }
        Ok(variables)
    }

    fn loops(&mut self, loops: &DeTable<'_>) -> Result<()> {
        for (name, table) in loops {
            let prefix = format!("loop.{}", name.get_ref());
            let mut loop_type = LoopType::new(name.get_ref());
            let mut own = Vec::new();
            for (field, value) in self.table(table, &prefix)? {
                let full = format!("{prefix}.{}", field.get_ref());
                let origin = self.origin(&value.span());
                let raw = raw(value.get_ref());
                let shown = match field.get_ref().as_ref() {
                    "template" => path(&raw).map(|path| loop_type.template.insert(path).clone()),
                    "artifact" => path(&raw).map(|path| loop_type.artifact.insert(path).clone()),
                    "until" => one_of(&raw).map(|until| {
                        loop_type.until = until;
                        until.into_str().to_owned()
                    }),
                    _ => {
                        own.extend(self.settings("", (field, value), LoopType::FIELDS)?);
                        continue;
                    }
                };
                let shown = shown.map_err(|invalid| mistake::invalid_value(&origin, &full, &invalid))?;
                self.settings.push(Setting { key: full, value: shown.into(), origin });
            }
            self.settings.extend(
                own.iter()
                    .map(|setting| Setting { key: format!("{prefix}.{}", setting.key), ..setting.clone() }),
            );
            self.loops.insert(name.get_ref().to_string(), (loop_type, own));
        }
        Ok(())
    }

    fn table<'t, 'i>(&self, value: &'t Spanned<DeValue<'i>>, full: &str) -> Result<&'t DeTable<'i>> {
        let DeValue::Table(table) = value.get_ref() else {
            let expected = InvalidValue::expected(format!("a table `[{full}]`"));
            return Err(mistake::invalid_value(&self.origin(&value.span()), full, &expected));
        };
        Ok(table)
    }

    fn unknown_field(&self, field: &Name<'_>, full: &str, known: &[&str]) -> Error {
        let refusal = Refusal::new(format!("{}: unknown key `{full}`", self.origin(&field.span()).place()));
        match did_you_mean(field.get_ref(), known.iter().copied()) {
            Some(known) => refusal.with_hint(format!("did you mean `{known}`?")).into(),
            None => refusal.with_hint(format!("known keys: {}", known.join(", "))).into(),
        }
    }
}

fn raw(value: &DeValue<'_>) -> Raw {
    match value {
        DeValue::String(text) => Raw::Text(text.to_string()),
        DeValue::Integer(integer) => Raw::Integer(integer_text(integer.as_str(), integer.radix())),
        DeValue::Float(float) => Raw::Float(float.as_str().to_owned()),
        DeValue::Boolean(switch) => Raw::Switch(*switch),
        DeValue::Array(array) => {
            let texts = array.iter().map(|item| item.get_ref().as_str().map(str::to_owned));
            texts.collect::<Option<_>>().map_or(Raw::Other, Raw::List)
        }
        DeValue::Datetime(_) | DeValue::Table(_) => Raw::Other,
    }
}

/// Returns an integer in decimal; TOML has hexadecimal, octal and binary ones too.
fn integer_text(digits: &str, radix: u32) -> String {
    i128::from_str_radix(digits, radix).map_or_else(|_| digits.to_owned(), |integer| integer.to_string())
}

fn one_of<T: FromStr + VariantNames>(raw: &Raw) -> Result<T, InvalidValue> {
    let found = raw.line().and_then(|text| text.parse().ok());
    found.ok_or_else(|| InvalidValue::expected(format!("one of {}", T::VARIANTS.join(", "))))
}

fn regular_expression(raw: &Raw) -> Result<String, InvalidValue> {
    let pattern = raw.line();
    let detail = pattern.and_then(pattern_error);
    match pattern {
        Some(pattern) if detail.is_none() => Ok(pattern.to_owned()),
        _ => Err(InvalidValue { expected: "a regular expression".to_owned(), detail }),
    }
}

/// Returns paths below the user's home folder, from there.
fn home_paths(raw: &Raw) -> Result<Vec<String>, InvalidValue> {
    let texts = raw.list().map(<[String]>::to_vec).or_else(|| Some(vec![raw.line()?.to_owned()]));
    let paths = texts.and_then(|texts| {
        texts
            .iter()
            .map(|text| {
                let path = Utf8Path::new(text.strip_prefix("~/")?);
                let is_below = path.components().all(|part| matches!(part, Utf8Component::Normal(_)));
                (is_below && !path.as_str().is_empty()).then(|| path.to_string())
            })
            .collect::<Option<Vec<_>>>()
    });
    paths.ok_or_else(|| InvalidValue::expected("a list of paths such as \"~/.agent/settings.json\""))
}

fn path(raw: &Raw) -> Result<String, InvalidValue> {
    raw.line().map(str::to_owned).ok_or_else(|| InvalidValue::expected("the path of a file, in one line"))
}
