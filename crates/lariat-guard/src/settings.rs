//! Reads permission settings and merges them.
//!
//! Reads Claude Code's `settings.json` and `[permissions]` in `lariat.toml`, which has the same keys. Lists of all levels
//! are merged; a single value comes from the strongest level. Unknown keys outside `permissions` are ignored.
//! Until the workspace is trusted, its settings can only restrict; they can never turn on bypass mode.

use std::path::PathBuf;
use std::sync::Arc;

use lariat_core::nearest::nearest;
use serde_json::Value;

use crate::document::{Document, Format};
use crate::effect::Effect;
use crate::mode::Mode;
use crate::origin::{Level, Origin};
use crate::rule::{Rule, Warning};
use crate::settings_error::{BrokenRestriction, SettingsError};

/// Whether the workspace may allow more than the user's own settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Trust {
    /// The user trusted it in its current state.
    Trusted,
    /// The user has not trusted it.
    #[default]
    Untrusted,
}

/// The permission settings of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Layer {
    /// The file.
    pub origin: Arc<Origin>,
    /// Its rules of all lists.
    pub rules: Vec<Rule>,
    /// Directories that belong to the workspace, as written.
    pub additional_directories: Vec<String>,
    /// The initial mode.
    pub default_mode: Option<Mode>,
    /// Disables the mode `bypass`.
    pub disables_bypass: bool,
    /// Disables the mode `auto`.
    pub disables_auto: bool,
    /// Settings that have no effect.
    pub warnings: Vec<Warning>,
    /// Restrictions that cannot be put into effect.
    pub broken: Vec<BrokenRestriction>,
}

/// The keys of `permissions`, in both spellings.
const KEYS: &[&str] = &[
    "allow",
    "ask",
    "deny",
    "defaultMode",
    "default_mode",
    "additionalDirectories",
    "additional_directories",
    "disableBypassPermissionsMode",
    "disable_bypass_permissions_mode",
    "disableAutoMode",
    "disable_auto_mode",
];

impl Layer {
    /// Creates a layer without settings.
    pub fn new(origin: Origin) -> Self {
        Self {
            origin: Arc::new(origin),
            rules: Vec::new(),
            additional_directories: Vec::new(),
            default_mode: None,
            disables_bypass: false,
            disables_auto: false,
            warnings: Vec::new(),
            broken: Vec::new(),
        }
    }

    /// Parses a Claude Code `settings.json`.
    pub fn claude(text: &str, origin: Origin) -> Result<Self, SettingsError> {
        Self::of(&Document::parse(text, Format::Json, origin)?)
    }

    /// Parses a `lariat.toml`.
    pub fn lariat(text: &str, origin: Origin) -> Result<Self, SettingsError> {
        Self::of(&Document::parse(text, Format::Toml, origin)?)
    }

    /// Reads the permissions of a parsed file.
    ///
    /// # Errors
    /// `permissions` is not a table.
    pub fn of(document: &Document) -> Result<Self, SettingsError> {
        let mut layer = Self::permissions(document.value.get("permissions"), document.origin.clone())?;
        for broken in &mut layer.broken {
            broken.line = document.line_of(&["permissions", &broken.subject]);
        }
        Ok(layer)
    }

    /// Removes what the layer may not say: until its workspace is trusted, a workspace layer can only restrict. What is
    /// removed is added to its warnings.
    #[must_use]
    pub fn restricted_by(mut self, trust: Trust) -> Self {
        if self.origin.level.is_workspace_level() {
            remove_untrusted(&mut self, trust);
        }
        self
    }

    /// Adds a rule or a warning about it. An invalid deny or ask rule is added to `broken`.
    pub fn with_rule(mut self, effect: Effect, text: &str) -> Self {
        match Rule::parse(text, effect, &self.origin) {
            (None, Some(warning)) if effect != Effect::Allow => self.add_broken(text, warning.reason),
            (rule, warning) => {
                self.rules.extend(rule);
                self.warnings.extend(warning);
            }
        }
        self
    }

    /// Sets the initial mode.
    pub const fn with_default_mode(mut self, mode: Mode) -> Self {
        self.default_mode = Some(mode);
        self
    }

    /// Adds a directory to the workspace.
    pub fn with_directory(mut self, directory: impl Into<String>) -> Self {
        self.additional_directories.push(directory.into());
        self
    }

    fn permissions(value: Option<&Value>, origin: Origin) -> Result<Self, SettingsError> {
        let mut layer = Self::new(origin);
        let table = match value {
            None | Some(Value::Null) => return Ok(layer),
            Some(Value::Object(table)) => table,
            Some(_) => {
                let reason = "`permissions` must be a table";
                return Err(SettingsError::malformed(&layer.origin, None, &reason));
            }
        };
        for name in table.keys().filter(|name| !KEYS.contains(&name.as_str())) {
            // A list under a misspelt name would restrict nothing.
            match nearest(name, KEYS.iter().copied()) {
                Some(known) => {
                    layer.add_broken(name, format!("is not a known setting; did you mean `{known}`?"))
                }
                None => layer.warn(name, "is not a known setting; it is ignored.".to_owned()),
            }
        }
        for (effect, key) in [(Effect::Deny, "deny"), (Effect::Ask, "ask"), (Effect::Allow, "allow")] {
            for text in layer.texts(key, table.get(key)) {
                layer = layer.with_rule(effect, &text);
            }
        }
        let one = |ours: &str, theirs: &str| table.get(theirs).or_else(|| table.get(ours)).cloned();
        layer.additional_directories = layer
            .texts("additionalDirectories", one("additional_directories", "additionalDirectories").as_ref());
        if let Some(value) = one("default_mode", "defaultMode") {
            layer.default_mode = value.as_str().and_then(Mode::parse);
            if layer.default_mode.is_none() {
                let modes = Mode::ALL.map(Mode::name).join("`, `");
                layer.add_broken("defaultMode", format!("must be one of `{modes}`, not {value}"));
            }
        }
        layer.disables_bypass = layer.switch(
            "disableBypassPermissionsMode",
            one("disable_bypass_permissions_mode", "disableBypassPermissionsMode"),
        );
        layer.disables_auto = layer.switch("disableAutoMode", one("disable_auto_mode", "disableAutoMode"));
        Ok(layer)
    }

    /// Reads a list of texts; a single text is a list of one.
    fn texts(&mut self, key: &str, value: Option<&Value>) -> Vec<String> {
        let items = match value {
            None | Some(Value::Null) => return Vec::new(),
            Some(Value::Array(items)) => items.as_slice(),
            Some(other) => std::slice::from_ref(other),
        };
        let mut texts = Vec::new();
        for item in items {
            match item {
                Value::String(text) if key == "additionalDirectories" && text.trim().is_empty() => {
                    self.add_broken(key, "has an empty entry, which is not a directory".to_owned());
                }
                Value::String(text) => texts.push(text.clone()),
                other if key == "additionalDirectories" => {
                    self.add_broken(key, format!("has the entry {other}, which is not a directory"));
                }
                other if matches!(key, "deny" | "ask") => {
                    self.add_broken(key, format!("has the entry {other}, which is not a rule"));
                }
                other => {
                    self.warn(key, format!("has the entry {other}, which is not a string; it is ignored."))
                }
            }
        }
        texts
    }

    /// Reads a switch that can only restrict: anything that is not clearly off is on.
    fn switch(&mut self, key: &str, value: Option<Value>) -> bool {
        match value {
            None | Some(Value::Null | Value::Bool(false)) => false,
            Some(Value::Bool(true)) => true,
            Some(Value::String(text)) if text == "disable" => true,
            Some(other) => {
                self.warn(key, format!("has the unknown value {other}; it is treated as \"disable\"."));
                true
            }
        }
    }

    fn add_broken(&mut self, subject: &str, reason: String) {
        self.broken.push(BrokenRestriction::new(subject, reason, self.origin.clone()));
    }

    fn warn(&mut self, key: &str, reason: String) {
        self.warnings.push(Warning { subject: key.to_owned(), reason, origin: self.origin.clone() });
    }
}

/// The merged settings of all levels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// The rules in effect, strongest level first.
    pub rules: Vec<Rule>,
    /// Directories that belong to the workspace besides the working directory, as written.
    pub additional_directories: Vec<PathBuf>,
    /// The initial mode.
    pub mode: Mode,
    /// Settings that have no effect, and why.
    pub warnings: Vec<Warning>,
    /// Whether the workspace is trusted.
    pub trust: Trust,
    disables_bypass: bool,
    disables_auto: bool,
}

impl Settings {
    /// Merges layers given in any order.
    pub fn merge(layers: impl IntoIterator<Item = Layer>, trust: Trust) -> Self {
        let mut layers: Vec<Layer> = layers.into_iter().collect();
        layers.sort_by_key(|layer| layer.origin.level);
        let mut settings = Self { trust, ..Self::default() };
        settings.disables_bypass = layers.iter().any(|layer| layer.disables_bypass);
        settings.disables_auto = layers.iter().any(|layer| layer.disables_auto);
        let mut mode = None;
        for layer in layers {
            let mut layer = layer.restricted_by(trust);
            settings.rules.append(&mut layer.rules);
            settings.additional_directories.extend(layer.additional_directories.iter().map(PathBuf::from));
            settings.warnings.append(&mut layer.warnings);
            settings.ask_if_broken(&layer);
            mode = mode.or(layer.default_mode);
        }
        settings.mode = settings.allowed_mode(mode.unwrap_or_default());
        settings
    }

    /// Makes every tool call require approval if a restriction of a layer is broken: it may have been about any of them.
    fn ask_if_broken(&mut self, layer: &Layer) {
        if layer.broken.is_empty() {
            return;
        }
        self.warnings.extend(layer.broken.iter().map(|broken| Warning {
            subject: broken.subject.clone(),
            reason: broken.reason.clone(),
            origin: broken.origin.clone(),
        }));
        self.rules.extend(Rule::parse("*", Effect::Ask, &layer.origin).0);
    }

    /// Returns a mode, or the default one if settings disable it.
    pub fn allowed_mode(&self, mode: Mode) -> Mode {
        match mode {
            Mode::Bypass if self.disables_bypass => Mode::Default,
            Mode::Auto if self.disables_auto => Mode::Default,
            mode => mode,
        }
    }
}

/// Removes what a workspace layer may not say.
fn remove_untrusted(layer: &mut Layer, trust: Trust) {
    if layer.default_mode == Some(Mode::Bypass) {
        layer.default_mode = None;
        layer.warn("defaultMode", "is ignored: workspace settings cannot turn on bypass mode.".to_owned());
    }
    if trust == Trust::Trusted {
        return;
    }
    const UNTRUSTED: &str = "is ignored until the workspace is trusted.";
    let origin = layer.origin.clone();
    let mut ignored = Vec::new();
    layer.rules.retain(|rule| {
        let counts = rule.effect != Effect::Allow;
        if !counts {
            ignored.push(rule.text.clone());
        }
        counts
    });
    ignored.append(&mut layer.additional_directories);
    // A mode that only restricts may stay.
    if layer.default_mode.is_some_and(|mode| !matches!(mode, Mode::Default | Mode::Plan)) {
        layer.default_mode = None;
        ignored.push("defaultMode".to_owned());
    }
    layer.warnings.extend(ignored.into_iter().map(|subject| Warning {
        subject,
        reason: UNTRUSTED.to_owned(),
        origin: origin.clone(),
    }));
    debug_assert!(origin.level == Level::Local || origin.level == Level::Project);
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
