//! Types of loops: the built-in ones, and `[loop.<type>]`, which says what is different for one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantNames};

use crate::record::{Refusal, did_you_mean};

use super::origin::Setting;

/// When a loop of a type is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[derive(EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum Until {
    Tasks,
    Validation,
}

/// The types that the file has tables for, each with its own settings.
pub(super) type LoopTables = BTreeMap<String, (LoopType, Vec<Setting>)>;

/// The type of a loop for which none is named.
pub const IMPLEMENT: &str = "implement";

/// A type of loop: a built-in one, with what `[loop.<type>]` says of it, or one of the file alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopType {
    pub name: String,
    pub until: Until,
    /// From the project's root; none for the built-in one.
    pub template: Option<String>,
    /// From the feature's directory; none for the task list, or the feature itself.
    pub artifact: Option<String>,
}

impl Default for LoopType {
    fn default() -> Self {
        Self::new(IMPLEMENT)
    }
}

impl LoopType {
    /// What a table says of its type beside settings.
    pub(super) const FIELDS: &[&str] = &["template", "artifact", "until"];

    const BUILT_IN: [&str; 3] = [IMPLEMENT, "plan", "spec"];

    /// Returns the type of that name as it is without a table.
    pub(super) fn new(name: &str) -> Self {
        let (until, artifact) = match name {
            "plan" => (Until::Validation, Some("plan.md")),
            "spec" => (Until::Validation, Some("spec.md")),
            _ => (Until::Tasks, None),
        };
        Self { name: name.to_owned(), until, template: None, artifact: artifact.map(str::to_owned) }
    }

    pub(super) fn find(name: &str, tables: &LoopTables) -> Result<Self, Refusal> {
        if let Some((of_table, _)) = tables.get(name) {
            return Ok(of_table.clone());
        }
        if Self::BUILT_IN.contains(&name) {
            return Ok(Self::new(name));
        }
        let known = Self::BUILT_IN.into_iter().chain(tables.keys().map(String::as_str));
        let refusal = Refusal::new(format!("there is no loop type `{name}`"));
        Err(match did_you_mean(name, known.clone()) {
            Some(near) => refusal.with_hint(format!("did you mean `{near}`?")),
            None => refusal.with_hint(format!(
                "known are {}; any other needs a table [loop.{name}] in .specify/ralph.toml",
                known.collect::<Vec<_>>().join(", ")
            )),
        })
    }
}
