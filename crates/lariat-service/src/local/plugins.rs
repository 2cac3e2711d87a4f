//! Plugins that the user installed with Claude Code and enabled: commands, skills, hooks and MCP servers in one directory.
//!
//! `~/.claude/plugins/installed_plugins.json` names what is installed, and `enabledPlugins` in settings what is enabled. A
//! plugin is code of others that the user chose, so its MCP servers run like those of a project: they cannot open their own
//! sandbox, and they get no stored keys. Invariants: a plugin outside `~/.claude/plugins` is not read, and a `false` in any
//! settings that apply disables a plugin.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lariat_guard::{BrokenRestriction, Document, Format, Level, Origin};
use serde_json::Value;

use super::loaded_workspace::{ConfiguredItem, ConfiguredKind, LoadProblem, LoadedWorkspace};
use super::settings_files::read_user_file;

/// The directory of plugins in a home.
const PLUGINS: &str = ".claude/plugins";
/// The list of installed plugins, in that directory.
const INSTALLED: &str = "installed_plugins.json";
/// What a plugin says about itself, in its directory.
const MANIFEST: &str = ".claude-plugin/plugin.json";
/// The setting that enables plugins by their ids, `NAME@MARKETPLACE`.
const ENABLED: &str = "enabledPlugins";
/// Stands for the directory of a plugin in its files.
const ROOT: &str = "${CLAUDE_PLUGIN_ROOT}";
/// Keys of a manifest that name other places than the standard directories.
const OTHER_PLACES: [&str; 5] = ["commands", "agents", "skills", "hooks", "mcpServers"];

/// An installed and enabled plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Plugin {
    /// Its name, which comes before the names of its commands and skills.
    pub name: String,
    /// Its directory.
    pub path: PathBuf,
}

impl Plugin {
    /// The directory of its skills.
    #[cfg(feature = "service")]
    pub(crate) fn skills(&self) -> PathBuf {
        self.path.join("skills")
    }

    /// Puts the directory of the plugin in the place of its variable.
    pub(super) fn with_root(&self, text: &str) -> String {
        text.replace(ROOT, &self.path.display().to_string())
    }

    fn with_root_in(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.with_root(text).into(),
            Value::Array(items) => items.iter().map(|item| self.with_root_in(item)).collect(),
            Value::Object(fields) => {
                let field = |(name, value): (&String, &Value)| (name.clone(), self.with_root_in(value));
                Value::Object(fields.iter().map(field).collect())
            }
            other => other.clone(),
        }
    }

    fn origin(&self, file: &str) -> Origin {
        Origin::file(Level::User, self.path.join(file))
    }

    /// Reads a JSON file of the plugin; `None` if it does not exist.
    fn document(&self, file: &str) -> Result<Option<Document>, String> {
        let Some(bytes) = read_user_file(&self.path.join(file))? else { return Ok(None) };
        let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
        let document = Document::parse(&text, Format::Json, self.origin(file));
        document.map(Some).map_err(|error| error.to_string())
    }
}

impl LoadedWorkspace {
    /// Adds the enabled plugins, with their hooks and MCP servers.
    pub(super) fn take_plugins(&mut self, home: &Path) {
        for id in self.enabled_plugins() {
            match self.find_plugin(home, &id) {
                Ok(plugin) => self.take_plugin(plugin),
                Err(problem) => {
                    let origin = Origin::file(Level::User, home.join(PLUGINS).join(INSTALLED));
                    let problem = format!("the plugin `{id}` is not used: {problem}");
                    self.problems.push(LoadProblem { origin, problem });
                }
            }
        }
    }

    /// The ids that a setting enables and none disables.
    fn enabled_plugins(&self) -> Vec<String> {
        let mut enabled: BTreeMap<&str, bool> = BTreeMap::new();
        let settings = self.values.iter().filter(|item| item.kind == ConfiguredKind::Setting);
        for table in settings.filter(|item| item.name == ENABLED).filter_map(|item| item.value.as_object()) {
            for (id, value) in table {
                *enabled.entry(id).or_insert(true) &= value.as_bool() == Some(true);
            }
        }
        enabled.into_iter().filter(|(_, is_enabled)| *is_enabled).map(|(id, _)| id.to_owned()).collect()
    }

    /// Finds an installed plugin by its id.
    fn find_plugin(&self, home: &Path, id: &str) -> Result<Plugin, String> {
        let folder = home.join(PLUGINS);
        let bytes = read_user_file(&folder.join(INSTALLED))?.ok_or("it is not installed")?;
        let list: Value = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
        let installed = list.pointer("/plugins").and_then(|plugins| plugins.get(id));
        // Version 1 of the file has one entry for each plugin, version 2 a list.
        let entries = match installed {
            Some(Value::Array(entries)) => entries.iter().collect(),
            Some(entry) => vec![entry],
            None => return Err("it is not installed".to_owned()),
        };
        let is_for_here = |entry: &&Value| {
            let project = entry.get("projectPath").and_then(Value::as_str);
            project.is_none_or(|project| Path::new(project) == self.territory.root())
        };
        let entry = entries.into_iter().find(is_for_here).ok_or("it is installed for another project")?;
        let path =
            entry.get("installPath").and_then(Value::as_str).ok_or("its entry has no `installPath`")?;
        let inside =
            |path: &Path| path.canonicalize().map_err(|error| format!("{}: {error}", path.display()));
        let (path, folder) = (inside(Path::new(path))?, inside(&folder)?);
        if !path.starts_with(&folder) {
            return Err(format!("{} is not in {}", path.display(), folder.display()));
        }
        let mut plugin = Plugin { name: id.split('@').next().unwrap_or_default().to_owned(), path };
        let manifest = plugin.document(MANIFEST)?.map(|document| document.value).unwrap_or_default();
        if let Some(name) = manifest.get("name").and_then(Value::as_str) {
            name.clone_into(&mut plugin.name);
        }
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
        if plugin.name.is_empty() || !plugin.name.chars().all(is_plain) {
            return Err("its name is not one of letters, digits, `-`, `_` and `.`".to_owned());
        }
        Ok(plugin)
    }

    fn take_plugin(&mut self, plugin: Plugin) {
        let manifest = plugin.document(MANIFEST).ok().flatten().map(|document| document.value);
        let other =
            OTHER_PLACES.iter().find(|key| manifest.iter().any(|manifest| manifest.get(key).is_some()));
        if let Some(key) = other {
            let problem = format!("`{key}` is ignored: only the standard directories of a plugin are read");
            self.problems.push(LoadProblem { origin: plugin.origin(MANIFEST), problem });
        }
        self.take_plugin_hooks(&plugin);
        self.take_plugin_servers(&plugin);
        self.plugins.push(plugin);
    }

    /// Adds the hooks of a plugin. A file that cannot be read is a broken restriction: it may block something.
    fn take_plugin_hooks(&mut self, plugin: &Plugin) {
        let file = "hooks/hooks.json";
        match plugin.document(file) {
            Ok(None) => {}
            Ok(Some(document)) => {
                if let Some(hooks) = document.value.get("hooks") {
                    let hooks = plugin.with_root_in(hooks);
                    self.take_hooks(&document, &hooks);
                }
            }
            Err(problem) => {
                let origin = Arc::new(plugin.origin(file));
                self.broken.push(BrokenRestriction::new("hooks", problem, origin));
            }
        }
    }

    /// Adds the MCP servers of a plugin, as `plugin_NAME_SERVER`.
    fn take_plugin_servers(&mut self, plugin: &Plugin) {
        let file = ".mcp.json";
        let document = match plugin.document(file) {
            Ok(document) => document.map(|document| document.value).unwrap_or_default(),
            Err(problem) => {
                self.problems.push(LoadProblem { origin: plugin.origin(file), problem });
                return;
            }
        };
        let servers = document.get("mcpServers").unwrap_or(&document);
        for (name, entry) in servers.as_object().into_iter().flatten() {
            self.values.push(ConfiguredItem {
                kind: ConfiguredKind::Server,
                name: format!("plugin_{}_{name}", plugin.name.replace('.', "_")),
                value: plugin.with_root_in(entry),
                origin: plugin.origin(file),
                plugin: Some(plugin.name.clone()),
            });
        }
    }
}
