//! Types of loops: the built-in ones, and `[loop.<type>]`, which says what is different for one.

use std::collections::BTreeMap;

use strum::{EnumString, IntoStaticStr, VariantNames};

use crate::record::{Refusal, did_you_mean};

use super::origin::Setting;

/// When a loop of a type is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum Until {
    Tasks,
    Validation,
}

/// One `[loop.<type>]`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LoopSettings {
    pub template: Option<String>,
    pub artifact: Option<String>,
    pub until: Option<Until>,
    /// Any setting, with its own name, for this type alone.
    pub settings: Vec<Setting>,
}

impl LoopSettings {
    /// What a type says beside settings.
    pub(super) const FIELDS: &[&str] = &["template", "artifact", "until"];
}

/// The type of a loop for which none is named.
pub const IMPLEMENT: &str = "implement";

/// A type of loop as it is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopType {
    pub name: String,
    pub until: Until,
    /// From the project's root; none for the built-in one.
    pub template: Option<String>,
    /// From the feature's directory; none for the task list, or the feature itself.
    pub artifact: Option<String>,
}

impl LoopType {
    pub(super) fn find(name: &str, tables: &BTreeMap<String, LoopSettings>) -> Result<Self, Refusal> {
        let built_in = match name {
            IMPLEMENT => Some((Until::Tasks, None)),
            "plan" => Some((Until::Validation, Some("plan.md"))),
            "spec" => Some((Until::Validation, Some("spec.md"))),
            _ => None,
        };
        let table = tables.get(name);
        if built_in.is_none() && table.is_none() {
            let known = [IMPLEMENT, "plan", "spec"].into_iter().chain(tables.keys().map(String::as_str));
            let refusal = Refusal::new(format!("there is no loop type `{name}`"));
            return Err(match did_you_mean(name, known.clone()) {
                Some(near) => refusal.with_hint(format!("did you mean `{near}`?")),
                None => refusal.with_hint(format!(
                    "known are {}; any other needs a table [loop.{name}] in .specify/ralph.toml",
                    known.collect::<Vec<_>>().join(", ")
                )),
            });
        }
        let (until, artifact) = built_in.unwrap_or((Until::Tasks, None));
        let table = table.cloned().unwrap_or_default();
        Ok(Self {
            name: name.to_owned(),
            until: table.until.unwrap_or(until),
            template: table.template,
            artifact: table.artifact.or_else(|| artifact.map(str::to_owned)),
        })
    }
}
