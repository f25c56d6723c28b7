//! One effective setting, and all of them by name.

use std::collections::BTreeMap;

use super::key::CAPTURE;
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
pub(super) struct Settings(Vec<Setting>);

impl Settings {
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

    fn value(&self, key: &str) -> &Value {
        self.find(key).map_or(&Value::Unset, |setting| &setting.value)
    }

    pub fn count<T: TryFrom<u64>>(&self, key: &str) -> Option<T> {
        if let Value::Count(count) = self.value(key) { T::try_from(*count).ok() } else { None }
    }

    pub fn number(&self, key: &str) -> Option<f64> {
        if let Value::Number(number) = self.value(key) { Some(*number) } else { None }
    }

    pub fn duration(&self, key: &str) -> Option<std::time::Duration> {
        if let Value::Duration(duration) = self.value(key) { Some(*duration) } else { None }
    }

    pub fn size(&self, key: &str) -> Option<u64> {
        if let Value::Size(bytes) = self.value(key) { Some(*bytes) } else { None }
    }

    pub fn is_on(&self, key: &str) -> bool {
        *self.value(key) == Value::Switch(true)
    }

    pub fn text(&self, key: &str) -> Option<String> {
        if let Value::Text(text) = self.value(key) { Some(text.clone()) } else { None }
    }

    /// The patterns of all captures by their names.
    pub fn captures(&self) -> BTreeMap<String, String> {
        let named =
            self.0.iter().filter_map(|setting| Some((setting.key.strip_prefix(CAPTURE)?, &setting.key)));
        named.filter_map(|(name, key)| Some((name.to_owned(), self.text(key)?))).collect()
    }

    pub fn list(&self, key: &str) -> Vec<String> {
        if let Value::List(list) = self.value(key) { list.clone() } else { Vec::new() }
    }
}
