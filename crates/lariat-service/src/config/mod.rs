//! Settings: which exist, their values, and where each was set.
//!
//! [`KEYS`] is the only table: validation, the JSON schema, the settings templates and [`Config`] all use it. Layers are merged key by
//! key; the stronger layer wins, and every value keeps its [`Origin`]. Settings that raise permissions apply only from the
//! user's own layers; a project that sets one causes a warning. For a limit, the smaller of the user's and the project's
//! value applies. An invalid restriction is [`broken`](Config::broken), and no session starts with one.

mod keys;
mod kind;
mod schema;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use lariat_core::nearest::nearest;
use lariat_core::usage::Cost;
use lariat_guard::{BrokenRestriction, Level, Origin};
use serde_json::{Map, Value};

pub use keys::KEYS;
pub use kind::{Key, Kind};
pub use schema::schema;

/// The settings of one layer.
#[derive(Clone, Debug)]
pub struct SettingsLayer {
    /// Where they come from.
    pub origin: Origin,
    /// The settings by key, as nested tables.
    pub values: Map<String, Value>,
}

/// The merged settings.
#[derive(Clone, Debug, Default)]
pub struct Config {
    values: BTreeMap<String, SettingValue>,
    /// Settings that are ignored, and why. Every front end must show them.
    pub warnings: Vec<Warning>,
    /// Restrictions that are invalid.
    pub broken: Vec<BrokenRestriction>,
}

/// A value and its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingValue {
    /// The value, valid for its key.
    pub value: Value,
    /// Where it was set; `None` for a default.
    pub origin: Option<Origin>,
}

/// A setting that is ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Where it was written.
    pub origin: Origin,
    /// Its path.
    pub key: String,
    /// What is wrong, in words that follow the key.
    pub problem: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.origin, explained(&self.key, &self.problem))
    }
}

/// Joins a key and the problem with it to a sentence: `unknown setting `x``, or `` `x` must be … ``.
pub fn explained(key: &str, problem: &str) -> String {
    match problem.strip_prefix(UNKNOWN) {
        Some(hint) => format!("unknown setting `{key}`{hint}"),
        None => format!("`{key}` {problem}"),
    }
}

/// The problem with a key that is not in the table.
const UNKNOWN: &str = "is not a setting";

impl Config {
    /// Merges layers. Their order does not matter: levels are ranked, and of two layers on the same level the first one wins.
    pub fn merge(layers: impl IntoIterator<Item = SettingsLayer>) -> Self {
        let mut layers: Vec<SettingsLayer> = layers.into_iter().collect();
        layers.sort_by_key(|layer| layer.origin.level);
        let mut config = Self::default();
        for SettingsLayer { origin, values } in &layers {
            config.take(origin, "", values);
        }
        config
    }

    fn take(&mut self, origin: &Origin, within: &str, values: &Map<String, Value>) {
        for (name, value) in values {
            let path = if within.is_empty() { name.clone() } else { format!("{within}.{name}") };
            if let Some(key) = keys::find(&path) {
                self.set(origin, key, path, value);
            } else if let Some(table) = value.as_object().filter(|_| keys::is_table(&path)) {
                self.take(origin, &path, table);
            } else if !keys::is_elsewhere(&path) {
                let known = match value {
                    Value::Object(_) => nearest(&path, keys::tables()),
                    _ => nearest(&path, keys::names()),
                };
                let hint = known.map(|known| format!("; did you mean `{known}`?")).unwrap_or_default();
                let problem = format!("{UNKNOWN}{hint}");
                match keys::seems_restricting(&path) {
                    true => self.breaks(origin, path, problem),
                    false => self.warn(origin, path, problem),
                }
            }
        }
    }

    fn set(&mut self, origin: &Origin, key: &Key, path: String, value: &Value) {
        if key.raises && origin.level.is_of_the_workspace() {
            let problem = "may only be set in your own settings, not by a project";
            return self.warn(origin, path, problem.to_owned());
        }
        match key.kind.read(value) {
            Ok(value) => self.put(origin, key, path, value),
            Err(problem) if key.restricts => self.breaks(origin, path, problem),
            Err(problem) => self.warn(origin, path, problem),
        }
    }

    /// Stores a value unless a stronger layer set it. A limit is also stored if it is smaller, unless the user set the other
    /// one with a flag or a variable.
    fn put(&mut self, origin: &Origin, key: &Key, path: String, value: Value) {
        let is_less = |than: &Value| key.caps && key.kind.is_less(&value, than);
        let is_of_the_workspace = origin.level.is_of_the_workspace();
        if key.caps && is_of_the_workspace && key.built_in().is_some_and(|own| !is_less(&own)) {
            return;
        }
        let counts =
            match self.values.get(&path).and_then(|known| Some((known, known.origin.as_ref()?.level))) {
                None => true,
                Some((_, Level::Flags | Level::Environment)) => false,
                Some((known, _)) => is_less(&known.value),
            };
        if counts {
            self.values.insert(path, SettingValue { value, origin: Some(origin.clone()) });
        }
    }

    fn breaks(&mut self, origin: &Origin, key: String, problem: String) {
        let origin = match origin.level {
            Level::Environment => Origin::named(Level::Environment, keys::variable_of(&key)),
            Level::Flags if origin.file.is_none() => match keys::flag_of(&key) {
                Some(flag) => Origin::named(Level::Flags, flag),
                None => origin.clone(),
            },
            _ => origin.clone(),
        };
        self.broken.push(BrokenRestriction::new(key, problem, std::sync::Arc::new(origin)));
    }

    fn warn(&mut self, origin: &Origin, key: String, problem: String) {
        self.warnings.push(Warning { origin: origin.clone(), key, problem });
    }

    /// The value of a setting, or its default.
    pub fn get(&self, path: &str) -> Option<SettingValue> {
        let built_in = || Some(SettingValue { value: keys::find(path)?.built_in()?, origin: None });
        self.values.get(path).cloned().or_else(built_in)
    }

    /// All effective values by path, including defaults.
    pub fn all(&self) -> Vec<(String, SettingValue)> {
        let plain = keys::names().filter(|name| !name.contains('*')).map(str::to_owned);
        let mut paths: Vec<String> = plain.chain(self.values.keys().cloned()).collect();
        paths.sort();
        paths.dedup();
        paths.into_iter().filter_map(|path| Some((path.clone(), self.get(&path)?))).collect()
    }

    /// The names of the entries in a table with user-chosen names, such as `providers`.
    pub fn names_in(&self, table: &str) -> Vec<String> {
        let start = format!("{table}.");
        let names = self.values.keys().filter_map(|path| path.strip_prefix(&start)?.split('.').next());
        let mut names: Vec<String> = names.map(str::to_owned).collect();
        names.dedup();
        names
    }

    /// A string setting.
    pub fn text(&self, path: &str) -> Option<String> {
        self.get(path)?.value.as_str().map(str::to_owned)
    }

    /// A list of strings; empty if unset.
    pub fn texts(&self, path: &str) -> Vec<String> {
        let set = self.get(path).map(|set| set.value).unwrap_or_default();
        let items = set.as_array().into_iter().flatten();
        items.filter_map(|item| item.as_str().map(str::to_owned)).collect()
    }

    /// A switch. Every switch has a default. A test checks all names that the code queries, because an unknown one would be off.
    pub fn flag(&self, path: &str) -> bool {
        debug_assert!(keys::find(path).is_some_and(|key| key.kind == Kind::Flag), "`{path}` is not a switch");
        self.get(path).and_then(|set| set.value.as_bool()).unwrap_or_default()
    }

    /// A number setting.
    pub fn count(&self, path: &str) -> Option<u64> {
        self.get(path)?.value.as_u64()
    }

    /// An amount setting.
    pub fn money(&self, path: &str) -> Option<Cost> {
        let dollars = self.get(path)?.value.as_f64()?;
        Some(Cost::from_nano_usd((dollars * 1e9).round() as u64))
    }

    /// A duration setting.
    pub fn time(&self, path: &str) -> Option<Duration> {
        kind::time(self.get(path)?.value.as_str()?)
    }

    /// The level that set a key; `None` if it is unset.
    pub fn level(&self, path: &str) -> Option<Level> {
        Some(self.values.get(path)?.origin.as_ref()?.level)
    }
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
