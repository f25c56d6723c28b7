//! `.specify/ralph.toml`: settings in tables, and what can be there alone: `[agents.*]` and `[loop.*]`.

use std::collections::BTreeMap;
use std::ops::Range;

use anyhow::{Error, Result};
use camino::Utf8Path;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use crate::record::{Parser, PromptVia, RALPH, Refusal, did_you_mean};

use super::agents::{AgentCommand, AgentSettings};
use super::loops::{LoopSettings, Until};
use super::mistake;
use super::origin::Origin;
use super::settings::{self, KEYS};
use super::value::{Misfit, Raw, Value};
use super::values::Setting;

/// What a file says, in its order within each table.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// Everything, for display.
    pub settings: Vec<Setting>,
    pub agents: BTreeMap<String, AgentSettings>,
    pub loops: BTreeMap<String, LoopSettings>,
}

/// Stands where a value must not be shown.
pub const HIDDEN: &str = "***";

pub(super) fn parse(path: &Utf8Path, bytes: &[u8]) -> Result<Contents> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let place = place(path, bytes, error.valid_up_to());
            return Err(Refusal::new(format!("{}: not UTF-8", place.place()))
                .hinted("save the file as UTF-8")
                .into());
        }
    };
    let source = Source { path, bytes };
    let table =
        DeTable::parse(text).map_err(|error| {
            let place = source.origin(&error.span().unwrap_or_default()).place();
            let refusal = Refusal::new(format!("{place}: {}", error.message().replace('\n', ", ")));
            Error::from(refusal.hinted(format!(
                "the file is TOML, like `timeout = \"60m\"`; `{RALPH} init` shows a whole one"
            )))
        })?;
    let mut contents = Contents::default();
    for (name, value) in table.get_ref() {
        match (name.get_ref().as_ref(), value.get_ref()) {
            ("agents", DeValue::Table(agents)) => source.agents(agents, &mut contents)?,
            ("loop", DeValue::Table(loops)) => source.loops(loops, &mut contents)?,
            ("agents" | "loop", _) => {
                let name = name.get_ref();
                let expected = Misfit { expected: format!("tables `[{name}.<name>]`"), detail: None };
                return Err(mistake::wrong(&source.origin(&value.span()), name, &expected));
            }
            _ => source.settings("", (name, value), &["agents", "loop"], &mut contents.settings)?,
        }
    }
    Ok(contents)
}

fn place(path: &Utf8Path, bytes: &[u8], offset: usize) -> Origin {
    let before = &bytes[..offset.min(bytes.len())];
    let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
    // Columns are characters: every byte but the later ones of a character counts.
    let column = before[line_start..].iter().filter(|byte| (**byte & 0xC0) != 0x80).count() + 1;
    let line = before.split(|byte| *byte == b'\n').count();
    Origin::File { path: path.to_owned(), line, column }
}

type Name<'i> = Spanned<DeString<'i>>;
type Item<'t, 'i> = (&'t Name<'i>, &'t Spanned<DeValue<'i>>);

struct Source<'a> {
    path: &'a Utf8Path,
    bytes: &'a [u8],
}

impl Source<'_> {
    fn origin(&self, span: &Range<usize>) -> Origin {
        place(self.path, self.bytes, span.start)
    }

    /// Reads one item as the setting `prefix` + its name, or as the table of all settings that begin so.
    /// `further` names what else may be beside it.
    fn settings(
        &self,
        prefix: &str,
        (name, value): Item<'_, '_>,
        further: &[&str],
        settings: &mut Vec<Setting>,
    ) -> Result<()> {
        let full = format!("{prefix}{}", name.get_ref());
        if let Some(key) = settings::find(&full) {
            let origin = self.origin(&value.span());
            if !key.in_file {
                return Err(mistake::never_in_file(&origin, key));
            }
            let read = key.read(&raw(value.get_ref()));
            let value = read.map_err(|misfit| mistake::wrong(&origin, &full, &misfit))?;
            settings.push(Setting { key: full, value, origin });
            return Ok(());
        }
        let section = format!("{full}.");
        if !KEYS.iter().any(|key| key.name.starts_with(&section)) {
            return Err(mistake::unknown(&self.origin(&name.span()), &full, further));
        }
        self.table(value, &full)?.iter().try_for_each(|item| self.settings(&section, item, &[], settings))
    }

    fn agents(&self, agents: &DeTable<'_>, contents: &mut Contents) -> Result<()> {
        for (name, table) in agents {
            let prefix = format!("agents.{}", name.get_ref());
            let mut agent = AgentSettings::default();
            for (field, value) in self.table(table, &prefix)? {
                let full = format!("{prefix}.{}", field.get_ref());
                let origin = self.origin(&value.span());
                let raw = raw(value.get_ref());
                let wrong = |misfit: Misfit| mistake::wrong(&origin, &full, &misfit);
                let shown = match field.get_ref().as_ref() {
                    "command" => {
                        let command = AgentCommand::new(&raw).map_err(wrong)?;
                        agent.command.insert(command).to_value()
                    }
                    "prompt" => {
                        let mode = word(&raw, PromptVia::ALL).map_err(wrong)?;
                        Value::Text(agent.prompt.insert(mode).as_str().to_owned())
                    }
                    "parser" => {
                        let parser = word(&raw, Parser::ALL).map_err(wrong)?;
                        Value::Text(agent.parser.insert(parser).as_str().to_owned())
                    }
                    "model" => {
                        let expected = || Misfit { expected: "text".to_owned(), detail: None };
                        let model = raw.line().ok_or_else(|| wrong(expected()))?;
                        Value::Text(agent.model.insert(model.to_owned()).clone())
                    }
                    "env" => {
                        self.variables(value, &full, &mut agent, &mut contents.settings)?;
                        continue;
                    }
                    unknown => return Err(self.unknown_field(field, &full, unknown, AgentSettings::FIELDS)),
                };
                contents.settings.push(Setting { key: full, value: shown, origin });
            }
            contents.agents.insert(name.get_ref().to_string(), agent);
        }
        Ok(())
    }

    fn variables(
        &self,
        value: &Spanned<DeValue<'_>>,
        full: &str,
        agent: &mut AgentSettings,
        settings: &mut Vec<Setting>,
    ) -> Result<()> {
        for (variable, value) in self.table(value, full)? {
            let key = format!("{full}.{}", variable.get_ref());
            let origin = self.origin(&value.span());
            let is_name = !variable.get_ref().is_empty() && !variable.get_ref().contains(['=', '\0']);
            let Some(text) = value.get_ref().as_str().filter(|text| is_name && !text.contains('\0')) else {
                let expected = Misfit { expected: "a variable and its text".to_owned(), detail: None };
                return Err(mistake::wrong(&origin, &key, &expected));
            };
            agent.env.insert(variable.get_ref().to_string(), text.to_owned());
            // It may be a key: session.json and the screen must not have it.
            settings.push(Setting { key, value: Value::Text(HIDDEN.to_owned()), origin });
        }
        Ok(())
    }

    fn loops(&self, loops: &DeTable<'_>, contents: &mut Contents) -> Result<()> {
        for (name, table) in loops {
            let prefix = format!("loop.{}", name.get_ref());
            let mut settings = LoopSettings::default();
            let mut plain = Vec::new();
            for (field, value) in self.table(table, &prefix)? {
                let full = format!("{prefix}.{}", field.get_ref());
                let origin = self.origin(&value.span());
                let raw = raw(value.get_ref());
                let wrong = |misfit: Misfit| mistake::wrong(&origin, &full, &misfit);
                let shown = match field.get_ref().as_ref() {
                    "template" => settings.template.insert(path(&raw).map_err(wrong)?).clone(),
                    "artifact" => settings.artifact.insert(path(&raw).map_err(wrong)?).clone(),
                    "until" => {
                        let until = word(&raw, Until::ALL).map_err(wrong)?;
                        settings.until.insert(until).as_str().to_owned()
                    }
                    _ => {
                        self.settings("", (field, value), LoopSettings::FIELDS, &mut plain)?;
                        continue;
                    }
                };
                contents.settings.push(Setting { key: full, value: Value::Text(shown), origin });
            }
            for Setting { key, value, origin } in &plain {
                let key = format!("{prefix}.{key}");
                contents.settings.push(Setting { key, value: value.clone(), origin: origin.clone() });
            }
            settings.settings = plain;
            contents.loops.insert(name.get_ref().to_string(), settings);
        }
        Ok(())
    }

    fn table<'t, 'i>(&self, value: &'t Spanned<DeValue<'i>>, full: &str) -> Result<&'t DeTable<'i>> {
        let DeValue::Table(table) = value.get_ref() else {
            let expected = Misfit { expected: format!("a table `[{full}]`"), detail: None };
            return Err(mistake::wrong(&self.origin(&value.span()), full, &expected));
        };
        Ok(table)
    }

    fn unknown_field(&self, field: &Name<'_>, full: &str, name: &str, known: &[&str]) -> Error {
        let refusal = Refusal::new(format!("{}: unknown key `{full}`", self.origin(&field.span()).place()));
        match did_you_mean(name, known.iter().copied()) {
            Some(known) => refusal.hinted(format!("did you mean `{known}`?")).into(),
            None => refusal.hinted(format!("known here: {}", known.join(", "))).into(),
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

/// In decimal, whatever it was written in.
fn integer_text(digits: &str, radix: u32) -> String {
    i128::from_str_radix(digits, radix).map_or_else(|_| digits.to_owned(), |integer| integer.to_string())
}

fn word<T: Copy>(raw: &Raw, words: &[(&str, T)]) -> Result<T, Misfit> {
    let found = raw.line().and_then(|text| words.iter().find(|(word, _)| *word == text));
    let expected = || words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
    found.map(|(_, value)| *value).ok_or_else(|| Misfit { expected: expected(), detail: None })
}

fn path(raw: &Raw) -> Result<String, Misfit> {
    let expected = || Misfit { expected: "the path of a file".to_owned(), detail: None };
    raw.line().map(str::to_owned).ok_or_else(expected)
}
