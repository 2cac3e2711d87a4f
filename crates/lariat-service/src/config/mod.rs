//! Settings: which there are, what they are set to, and who said so.
//!
//! [`KEYS`] is the one table: the check of what is written, the JSON schema for editors, the reference and the answers of
//! [`Config`] come from it. Layers are merged key by key, the stronger one wins, and every value keeps its [`Origin`].
//! Invariant: what raises privilege counts only from layers that are the person's own; a workspace can say it, and is
//! told that it was not heard. Of a cap, the smaller of what the person and a project say counts. What restricts and cannot
//! be read is [`broken`](Config::broken): no session begins without it.

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

/// What one place says.
#[derive(Clone, Debug)]
pub struct Said {
    /// Where.
    pub origin: Origin,
    /// The settings, by key; tables within tables.
    pub values: Map<String, Value>,
}

/// All settings together.
#[derive(Clone, Debug, Default)]
pub struct Config {
    values: BTreeMap<String, Set>,
    /// What was written and does not count, and why. Nobody may miss these.
    pub warnings: Vec<Warning>,
    /// What should restrict and cannot be read.
    pub broken: Vec<BrokenRestriction>,
}

/// A value, and who set it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    /// The value, of the key's kind.
    pub value: Value,
    /// Who; none for what is built in.
    pub origin: Option<Origin>,
}

/// Something that was written and does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Where.
    pub origin: Origin,
    /// The key.
    pub key: String,
    /// What is wrong with it, and what to do.
    pub problem: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: `{}` {}", self.origin, self.key, self.problem)
    }
}

impl Config {
    /// Merges what several places say. The order does not matter: a level is stronger than another, and of two places of
    /// the same level the first counts.
    pub fn merge(said: impl IntoIterator<Item = Said>) -> Self {
        let mut said: Vec<Said> = said.into_iter().collect();
        said.sort_by_key(|said| said.origin.level);
        let mut config = Self::default();
        for Said { origin, values } in &said {
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
                let problem = format!("is not a setting{hint}");
                match keys::seems_restricting(&path) {
                    true => self.breaks(origin, path, problem),
                    false => self.warn(origin, path, problem),
                }
            }
        }
    }

    fn set(&mut self, origin: &Origin, key: &Key, path: String, value: &Value) {
        if key.raises && origin.level.is_of_the_workspace() {
            let problem = "may only be set by the person: put it into the user's own settings";
            return self.warn(origin, path, problem.to_owned());
        }
        match key.kind.read(value) {
            Ok(value) => self.put(origin, key, path, value),
            Err(problem) if key.restricts => self.breaks(origin, path, problem),
            Err(problem) => self.warn(origin, path, problem),
        }
    }

    /// Takes a value where nothing stronger is set; a cap also where it is smaller than that, unless the person set the
    /// other one for this time.
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
            self.values.insert(path, Set { value, origin: Some(origin.clone()) });
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

    /// What a key is set to: by somebody, or as it is built in.
    pub fn get(&self, path: &str) -> Option<Set> {
        let built_in = || Some(Set { value: keys::find(path)?.built_in()?, origin: None });
        self.values.get(path).cloned().or_else(built_in)
    }

    /// Every value that counts, by its path: all keys that are set or built in.
    pub fn all(&self) -> Vec<(String, Set)> {
        let plain = keys::names().filter(|name| !name.contains('*')).map(str::to_owned);
        let mut paths: Vec<String> = plain.chain(self.values.keys().cloned()).collect();
        paths.sort();
        paths.dedup();
        paths.into_iter().filter_map(|path| Some((path.clone(), self.get(&path)?))).collect()
    }

    /// The names of the entries of a table that people name: providers for example.
    pub fn names_in(&self, table: &str) -> Vec<String> {
        let start = format!("{table}.");
        let names = self.values.keys().filter_map(|path| path.strip_prefix(&start)?.split('.').next());
        let mut names: Vec<String> = names.map(str::to_owned).collect();
        names.dedup();
        names
    }

    /// A text.
    pub fn text(&self, path: &str) -> Option<String> {
        self.get(path)?.value.as_str().map(str::to_owned)
    }

    /// A list of texts; empty when nobody set it.
    pub fn texts(&self, path: &str) -> Vec<String> {
        let set = self.get(path).map(|set| set.value).unwrap_or_default();
        let items = set.as_array().into_iter().flatten();
        items.filter_map(|item| item.as_str().map(str::to_owned)).collect()
    }

    /// A switch. Every switch has a value that is built in; a test compares the names that the program asks for with the
    /// table, because an unknown one would be off.
    pub fn flag(&self, path: &str) -> bool {
        debug_assert!(keys::find(path).is_some_and(|key| key.kind == Kind::Flag), "`{path}` is not a switch");
        self.get(path).and_then(|set| set.value.as_bool()).unwrap_or_default()
    }

    /// A number.
    pub fn count(&self, path: &str) -> Option<u64> {
        self.get(path)?.value.as_u64()
    }

    /// An amount of money.
    pub fn money(&self, path: &str) -> Option<Cost> {
        let dollars = self.get(path)?.value.as_f64()?;
        Some(Cost::from_nano_usd((dollars * 1e9).round() as u64))
    }

    /// A time.
    pub fn time(&self, path: &str) -> Option<Duration> {
        kind::time(self.get(path)?.value.as_str()?)
    }

    /// Who set a key; none when nobody did.
    pub fn level(&self, path: &str) -> Option<Level> {
        Some(self.values.get(path)?.origin.as_ref()?.level)
    }
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
