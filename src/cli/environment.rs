//! The variables of a call. Read once.

use std::ffi::{OsStr, OsString};

/// Variable by which spec-kit's scripts find the project, wherever they are called.
pub const INIT_DIR: &str = "SPECIFY_INIT_DIR";

/// The variables of a call.
#[derive(Debug, Clone, Default)]
pub struct Environment(pub(super) Vec<(OsString, OsString)>);

impl Environment {
    pub fn read() -> Self {
        Self(std::env::vars_os().collect())
    }

    pub fn value(&self, name: &str) -> Option<&OsStr> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Returns the value as text; `None` also if it is not UTF-8.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.value(name).and_then(OsStr::to_str)
    }

    pub fn owned(&self, name: &str) -> Option<String> {
        self.text(name).map(str::to_owned)
    }

    /// The same without what names another project.
    pub fn for_another_project(&self) -> Self {
        Self(self.0.iter().filter(|(name, _)| name != INIT_DIR).cloned().collect())
    }

    /// The same without what names a feature or a project, which are those of another work tree.
    pub fn for_another_work_tree(&self) -> Self {
        let names = [INIT_DIR, "SPECIFY_FEATURE_DIRECTORY", "SPECIFY_FEATURE"];
        Self(
            self.0
                .iter()
                .filter(|(name, _)| names.iter().all(|of_place| name != of_place))
                .cloned()
                .collect(),
        )
    }

    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }
}
