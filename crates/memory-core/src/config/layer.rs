//! One source of values: a file, the environment, flags. figment lays the layers over one another.

use std::collections::BTreeMap;

use figment::value::{Dict, Map, Tag, Value};
use figment::{Metadata, Profile, Provider};

use super::SettingOrigin;

/// Values by path, each with its origin.
pub(super) struct Layer {
    name: &'static str,
    values: Dict,
    pub(super) origins: BTreeMap<String, SettingOrigin>,
}

impl Layer {
    pub(super) fn new(name: &'static str) -> Self {
        Self { name, values: Dict::new(), origins: BTreeMap::new() }
    }

    /// Sets the value at a dotted path.
    pub(super) fn set(&mut self, path: &str, value: Value, origin: SettingOrigin) {
        insert(&mut self.values, path, value);
        self.origins.insert(path.to_owned(), origin);
    }

    /// Sets a whole section whose leaves have their own origins.
    pub(super) fn set_section(&mut self, path: &str, value: Value, origins: BTreeMap<String, SettingOrigin>) {
        insert(&mut self.values, path, value);
        self.origins.extend(origins);
    }
}

fn insert(dict: &mut Dict, path: &str, value: Value) {
    match path.split_once('.') {
        None => {
            dict.insert(path.to_owned(), value);
        }
        Some((section, rest)) => {
            let entry = dict.entry(section.to_owned()).or_insert_with(|| Value::Dict(Tag::Default, Dict::new()));
            if !matches!(entry, Value::Dict(..)) {
                *entry = Value::Dict(Tag::Default, Dict::new());
            }
            if let Value::Dict(_, inner) = entry {
                insert(inner, rest, value);
            }
        }
    }
}

impl Provider for Layer {
    fn metadata(&self) -> Metadata {
        Metadata::named(self.name)
    }

    fn data(&self) -> Result<Map<Profile, Dict>, figment::Error> {
        Ok(Profile::Default.collect(self.values.clone()))
    }
}
