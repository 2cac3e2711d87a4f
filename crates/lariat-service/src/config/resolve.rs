//! Merges the layers of settings key by key, and builds [`Settings`] from the result.
//!
//! The stronger layer wins, and every value keeps its [`Origin`]. Settings that raise permissions apply only from the user's own
//! layers; a project that sets one causes a warning. For a limit, the smaller of the user's and the project's value applies. An
//! invalid restriction is [`broken`](SettingSources::broken), and no [`Settings`] exist with one.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use lariat_core::nearest::nearest;
use lariat_guard::{BrokenRestriction, Level, Origin};
use serde_json::{Map, Value};

use super::keys;
use super::kind::Key;
use super::settings::Settings;

/// The settings of one layer.
#[derive(Clone, Debug)]
pub struct SettingsLayer {
    /// Where they come from.
    pub origin: Origin,
    /// The settings by key, as nested tables.
    pub values: Map<String, Value>,
}

/// The merged values as they were written, each with its origin. [`settings`](Self::settings) turns them into [`Settings`].
#[derive(Clone, Debug, Default)]
pub struct SettingSources {
    values: BTreeMap<String, WrittenValue>,
    /// Settings that are ignored, and why. Every front end must show them.
    pub warnings: Vec<Warning>,
    /// Restrictions that are invalid.
    pub broken: Vec<BrokenRestriction>,
}

/// A value that a layer sets.
#[derive(Clone, Debug)]
struct WrittenValue {
    key: &'static Key,
    value: Value,
    origin: Origin,
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
        write!(f, "{}: {}", self.origin, explain(&self.key, &self.problem))
    }
}

/// Joins a key and the problem with it to a sentence: `unknown setting `x``, or `` `x` must be … ``.
pub fn explain(key: &str, problem: &str) -> String {
    match problem.strip_prefix(UNKNOWN) {
        Some(hint) => format!("unknown setting `{key}`{hint}"),
        None => format!("`{key}` {problem}"),
    }
}

/// The problem with a key that is not in the table.
const UNKNOWN: &str = "is not a setting";

impl SettingSources {
    /// Merges layers. Their order does not matter: levels are ranked, and of two layers on the same level the first one wins.
    pub fn merge(layers: impl IntoIterator<Item = SettingsLayer>) -> Self {
        let mut layers: Vec<SettingsLayer> = layers.into_iter().collect();
        layers.sort_by_key(|layer| layer.origin.level);
        let mut sources = Self::default();
        for SettingsLayer { origin, values } in &layers {
            sources.take(origin, "", values);
        }
        sources
    }

    fn take(&mut self, origin: &Origin, within: &str, values: &Map<String, Value>) {
        for (name, value) in values {
            let path = if within.is_empty() { name.clone() } else { format!("{within}.{name}") };
            if let Some(key) = keys::find(&path) {
                self.set(origin, key, path, value);
            } else if let Some(table) = value.as_object().filter(|_| keys::is_table(&path)) {
                self.take(origin, &path, table);
            } else if !keys::is_read_elsewhere(&path) {
                let known = match value {
                    Value::Object(_) => nearest(&path, keys::tables()),
                    _ => nearest(&path, keys::names()),
                };
                let hint = known.map(|known| format!("; did you mean `{known}`?")).unwrap_or_default();
                let problem = format!("{UNKNOWN}{hint}");
                match keys::seems_restricting(&path) {
                    true => self.add_broken(origin, path, problem),
                    false => self.warn(origin, path, problem),
                }
            }
        }
    }

    fn set(&mut self, origin: &Origin, key: &'static Key, path: String, value: &Value) {
        if key.raises && origin.level.is_workspace_level() {
            let problem = "may only be set in your own settings, not by a project";
            return self.warn(origin, path, problem.to_owned());
        }
        match key.kind.read(value) {
            Ok(value) => self.put(origin, key, path, value),
            Err(problem) if key.restricts => self.add_broken(origin, path, problem),
            Err(problem) => self.warn(origin, path, problem),
        }
    }

    /// Stores a value unless a stronger layer set it. A limit is also stored if it is smaller, unless the user set the other
    /// one with a flag or a variable.
    fn put(&mut self, origin: &Origin, key: &'static Key, path: String, value: Value) {
        let is_less = |than: &Value| key.caps && key.kind.is_less(&value, than);
        let is_workspace_level = origin.level.is_workspace_level();
        if key.caps && is_workspace_level && key.default_value().is_some_and(|own| !is_less(&own)) {
            return;
        }
        let applies = match self.values.get(&path).map(|known| (known, known.origin.level)) {
            None => true,
            Some((_, Level::Flags | Level::Environment)) => false,
            Some((known, _)) => is_less(&known.value),
        };
        if applies {
            self.values.insert(path, WrittenValue { key, value, origin: origin.clone() });
        }
    }

    fn add_broken(&mut self, origin: &Origin, key: String, problem: String) {
        let origin = match origin.level {
            Level::Environment => Origin::by_name(Level::Environment, keys::variable_of(&key)),
            Level::Flags if origin.file.is_none() => match keys::flag_of(&key) {
                Some(flag) => Origin::by_name(Level::Flags, flag),
                None => origin.clone(),
            },
            _ => origin.clone(),
        };
        self.broken.push(BrokenRestriction::new(key, problem, Arc::new(origin)));
    }

    fn warn(&mut self, origin: &Origin, key: String, problem: String) {
        self.warnings.push(Warning { origin: origin.clone(), key, problem });
    }

    /// The effective settings.
    ///
    /// # Errors
    /// If a restriction is invalid: the first one. No settings exist then, so that no caller can run without the restriction.
    pub fn settings(&self) -> Result<Settings, BrokenRestriction> {
        if let Some(broken) = self.broken.first() {
            return Err(broken.clone());
        }
        let mut settings = Settings::default();
        for (path, WrittenValue { key, value, origin }) in &self.values {
            let stored = key.store(&mut settings, path, value);
            stored.map_err(|problem| BrokenRestriction::new(path, problem, Arc::new(origin.clone())))?;
        }
        Ok(settings)
    }

    /// The value of a setting, or its default.
    pub fn get(&self, path: &str) -> Option<SettingValue> {
        match self.values.get(path) {
            Some(set) => Some(SettingValue { value: set.value.clone(), origin: Some(set.origin.clone()) }),
            None => Some(SettingValue { value: keys::find(path)?.default_value()?, origin: None }),
        }
    }

    /// All effective values by path, including defaults.
    pub fn all(&self) -> Vec<(String, SettingValue)> {
        let plain = keys::names().filter(|name| !name.contains('*')).map(str::to_owned);
        let mut paths: Vec<String> = plain.chain(self.values.keys().cloned()).collect();
        paths.sort();
        paths.dedup();
        paths.into_iter().filter_map(|path| Some((path.clone(), self.get(&path)?))).collect()
    }
}
