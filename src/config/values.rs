//! One effective setting, and all of them by name.

use std::collections::BTreeMap;

use super::origin::Origin;
use super::value::Value;

/// A key with its effective value and where that came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// In the file's spelling.
    pub key: String,
    pub value: Value,
    pub origin: Origin,
}

/// Every setting, in the order of the table of keys.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Values(Vec<Setting>);

impl Values {
    pub fn put(&mut self, setting: Setting) {
        match self.0.iter_mut().find(|known| known.key == setting.key) {
            Some(known) => *known = setting,
            None => self.0.push(setting),
        }
    }

    pub fn find(&self, key: &str) -> Option<&Setting> {
        self.0.iter().find(|setting| setting.key == key)
    }

    pub fn into_vec(self) -> Vec<Setting> {
        self.0
    }

    pub fn value(&self, key: &str) -> &Value {
        self.find(key).map_or(&Value::Unset, |setting| &setting.value)
    }

    /// Returns the patterns of all captures by their names, which follow `prefix`.
    pub fn captures(&self, prefix: &str) -> BTreeMap<String, String> {
        let capture = |setting: &Setting| {
            let Value::Text(pattern) = &setting.value else { return None };
            Some((setting.key.strip_prefix(prefix)?.to_owned(), pattern.clone()))
        };
        self.0.iter().filter_map(capture).collect()
    }
}
