//! Permission settings, as files hold them, and how they come together.
//!
//! Owns the reading of Claude Code's `settings.json` and of `[permissions]` in `lariat.toml`, which has the same keys, and
//! the order of levels: lists merge, single values come from the strongest level. Unknown keys are left alone.
//! Invariant: before its workspace is trusted a level of the workspace can only restrict, and it can never bypass.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use lariat_core::nearest::nearest;
use serde_json::Value;

use crate::document::{Document, Format};
use crate::mode::Mode;
use crate::origin::{Level, Origin};
use crate::rule::{Effect, Rule, Warning};

/// Why settings cannot be used at all. Going on without them could drop a rule that denies.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// It is not the format that it should be.
    #[error("{origin} cannot be read: {reason}. Correct the file or move it away.")]
    Malformed {
        /// Where.
        origin: Box<Origin>,
        /// On which line, where the parser says so.
        line: Option<usize>,
        /// What the parser says.
        reason: String,
    },
    /// A restriction is written and cannot be put into effect.
    #[error("{0}")]
    Restriction(Box<BrokenRestriction>),
}

/// Something that should restrict and cannot: a rule that denies or asks, a list of them, a mode. No session may begin
/// without it; where one does, every call is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BrokenRestriction {
    /// What was written: a rule, or a key.
    pub subject: String,
    /// What is wrong with it, in words that follow the subject.
    pub reason: String,
    /// Where it was written.
    pub origin: Arc<Origin>,
    /// On which line of the file.
    pub line: Option<usize>,
}

impl BrokenRestriction {
    /// Something that should restrict and cannot.
    pub fn new(subject: impl Into<String>, reason: impl Into<String>, origin: Arc<Origin>) -> Self {
        Self { subject: subject.into(), reason: reason.into(), origin, line: None }
    }

    /// Says on which line it stands.
    #[must_use]
    pub const fn with_line(mut self, line: Option<usize>) -> Self {
        self.line = line;
        self
    }

    /// The file and the line, or what stands for them.
    pub fn place(&self) -> String {
        match self.line {
            Some(line) => format!("{}:{line}", self.origin),
            None => self.origin.to_string(),
        }
    }
}

impl fmt::Display for BrokenRestriction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: `{}` {}", self.place(), self.subject, self.reason)
    }
}

/// Whether the workspace may raise what is allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Trust {
    /// A person trusted it as it is.
    Trusted,
    /// Nobody did.
    #[default]
    Untrusted,
}

/// One file of settings.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Layer {
    /// Where it was written.
    pub origin: Arc<Origin>,
    /// Its rules of all lists.
    pub rules: Vec<Rule>,
    /// Directories that count as workspace, as they were written.
    pub additional_directories: Vec<String>,
    /// The mode to begin with.
    pub default_mode: Option<Mode>,
    /// The mode `bypass` is switched off.
    pub disables_bypass: bool,
    /// The mode `auto` is switched off.
    pub disables_auto: bool,
    /// What has no effect.
    pub warnings: Vec<Warning>,
    /// What should restrict and cannot.
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
    /// A layer without settings.
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

    /// Reads the text of a Claude Code `settings.json`.
    pub fn claude(text: &str, origin: Origin) -> Result<Self, SettingsError> {
        Self::of(&Document::parse(text, Format::Json, origin)?)
    }

    /// Reads the text of a `lariat.toml`.
    pub fn lariat(text: &str, origin: Origin) -> Result<Self, SettingsError> {
        Self::of(&Document::parse(text, Format::Toml, origin)?)
    }

    /// The permissions of a file that was read.
    ///
    /// # Errors
    /// When they are not a table.
    pub fn of(document: &Document) -> Result<Self, SettingsError> {
        let mut layer = Self::permissions(document.value.get("permissions"), document.origin.clone())?;
        for broken in &mut layer.broken {
            broken.line = document.line_of(&["permissions", &broken.subject]);
        }
        Ok(layer)
    }

    /// What is left of it: before its workspace is trusted, a layer of a workspace only restricts. What is left out is
    /// among its warnings.
    #[must_use]
    pub fn held_to(mut self, trust: Trust) -> Self {
        if self.origin.level.is_of_the_workspace() {
            withhold(&mut self, trust);
        }
        self
    }

    /// Adds a rule; a warning is kept with the layer. One that should deny or ask and cannot be read is kept as broken.
    pub fn with_rule(mut self, effect: Effect, text: &str) -> Self {
        match Rule::parse(text, effect, &self.origin) {
            (None, Some(warning)) if effect != Effect::Allow => self.breaks(text, warning.reason),
            (rule, warning) => {
                self.rules.extend(rule);
                self.warnings.extend(warning);
            }
        }
        self
    }

    /// Sets the mode to begin with.
    pub const fn with_default_mode(mut self, mode: Mode) -> Self {
        self.default_mode = Some(mode);
        self
    }

    /// Adds a directory that counts as workspace.
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
                Some(known) => layer.breaks(name, format!("is not a setting; did you mean `{known}`?")),
                None => layer.warn(name, "is not a setting; it is ignored.".to_owned()),
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
                layer.breaks("defaultMode", format!("must be one of `{modes}`, not {value}"));
            }
        }
        layer.disables_bypass = layer.switch(
            "disableBypassPermissionsMode",
            one("disable_bypass_permissions_mode", "disableBypassPermissionsMode"),
        );
        layer.disables_auto = layer.switch("disableAutoMode", one("disable_auto_mode", "disableAutoMode"));
        Ok(layer)
    }

    /// A list of texts; a single text counts as a list of one.
    fn texts(&mut self, key: &str, value: Option<&Value>) -> Vec<String> {
        let items = match value {
            None | Some(Value::Null) => return Vec::new(),
            Some(Value::Array(items)) => items.as_slice(),
            Some(other) => std::slice::from_ref(other),
        };
        let mut texts = Vec::new();
        for item in items {
            match item {
                Value::String(text) => texts.push(text.clone()),
                other if matches!(key, "deny" | "ask") => {
                    self.breaks(key, format!("has the entry {other}, which is not a rule"));
                }
                other => {
                    self.warn(key, format!("has the entry {other}, which is not a text; it is ignored."))
                }
            }
        }
        texts
    }

    /// A switch that can only restrict: what is not clearly off is on.
    fn switch(&mut self, key: &str, value: Option<Value>) -> bool {
        match value {
            None | Some(Value::Null | Value::Bool(false)) => false,
            Some(Value::Bool(true)) => true,
            Some(Value::String(text)) if text == "disable" => true,
            Some(other) => {
                self.warn(key, format!("has the unknown value {other}; it is read as \"disable\"."));
                true
            }
        }
    }

    fn breaks(&mut self, subject: &str, reason: String) {
        self.broken.push(BrokenRestriction::new(subject, reason, self.origin.clone()));
    }

    fn warn(&mut self, key: &str, reason: String) {
        self.warnings.push(Warning { subject: key.to_owned(), reason, origin: self.origin.clone() });
    }
}

impl SettingsError {
    pub(crate) fn malformed(origin: &Origin, line: Option<usize>, reason: &dyn fmt::Display) -> Self {
        Self::Malformed { origin: Box::new(origin.clone()), line, reason: reason.to_string() }
    }
}

/// What all levels say together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// The rules that count, strongest level first.
    pub rules: Vec<Rule>,
    /// Directories that count as workspace beside the working directory, as they were written.
    pub additional_directories: Vec<PathBuf>,
    /// The mode to begin with.
    pub mode: Mode,
    /// What has no effect, and why.
    pub warnings: Vec<Warning>,
    /// Whether the workspace is trusted.
    pub trust: Trust,
    disables_bypass: bool,
    disables_auto: bool,
}

impl Settings {
    /// Brings layers together, in whatever order they come.
    pub fn merge(layers: impl IntoIterator<Item = Layer>, trust: Trust) -> Self {
        let mut layers: Vec<Layer> = layers.into_iter().collect();
        layers.sort_by_key(|layer| layer.origin.level);
        let mut settings = Self { trust, ..Self::default() };
        settings.disables_bypass = layers.iter().any(|layer| layer.disables_bypass);
        settings.disables_auto = layers.iter().any(|layer| layer.disables_auto);
        let mut mode = None;
        for layer in layers {
            let mut layer = layer.held_to(trust);
            settings.rules.append(&mut layer.rules);
            settings.additional_directories.extend(layer.additional_directories.iter().map(PathBuf::from));
            settings.warnings.append(&mut layer.warnings);
            settings.hold(&layer);
            mode = mode.or(layer.default_mode);
        }
        settings.mode = settings.permitted(mode.unwrap_or_default());
        settings
    }

    /// What of a layer cannot be put into effect makes every call a question: it may have been about any.
    fn hold(&mut self, layer: &Layer) {
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

    /// A mode, or the default one where settings switch it off.
    pub fn permitted(&self, mode: Mode) -> Mode {
        match mode {
            Mode::Bypass if self.disables_bypass => Mode::Default,
            Mode::Auto if self.disables_auto => Mode::Default,
            mode => mode,
        }
    }
}

/// Takes from a layer of the workspace what it has no right to say.
fn withhold(layer: &mut Layer, trust: Trust) {
    if layer.default_mode == Some(Mode::Bypass) {
        layer.default_mode = None;
        layer
            .warn("defaultMode", "is ignored: settings of a workspace cannot bypass permissions.".to_owned());
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
