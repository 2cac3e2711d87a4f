//! An open workspace: everything that applies in it, and where each part was written.
//!
//! An untrusted workspace contributes only layers that restrict: no hooks and no values.

use std::sync::Arc;

use lariat_guard::hooks::{HookConfig, HookRunner, Invocation, Scripts};
use lariat_guard::trust::{Identity, Manifest, TrustStatus, TrustStore, WorkspaceEffect, WorkspaceReader};
use lariat_guard::{
    ApprovalHash, BrokenRestriction, Document, Layer, Level, Origin, SessionDirectories, Settings,
    SettingsError, Trust,
};
use lariat_host::process::Environment;
use lariat_runtime::Gate;
use serde_json::Value;

use super::RealPrograms;
use super::plugins::Plugin;
use super::project_directories::{self, ProjectDirectory};
use super::settings_files::{Role, SettingsFile};
use super::workspace_loader::OpenError;
use super::{FileOwnership, unsupported_settings};

/// An open workspace.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LoadedWorkspace {
    /// The directories of the session.
    pub places: SessionDirectories,
    /// The owners of files, and the root of the project.
    pub territory: FileOwnership,
    /// The identity of the project's root.
    pub identity: Identity,
    /// The configuration of the root; `None` if the project's configuration could not be listed, so that it cannot be trusted.
    pub manifest: Option<Manifest>,
    directories: Vec<ProjectDirectory>,
    /// The recorded trust in the project, and what changed since.
    pub standing: TrustStatus,
    /// Whether its configuration takes effect.
    pub trust: Trust,
    /// Permission layers. Those of an untrusted workspace only restrict.
    pub layers: Vec<Layer>,
    /// Hooks.
    pub hooks: HookConfig,
    /// All other configured values.
    pub values: Vec<ConfiguredItem>,
    /// The plugins that the user installed and that settings enable.
    pub plugins: Vec<Plugin>,
    /// Configuration that could not be used. Every front end must show these problems.
    pub problems: Vec<LoadProblem>,
    /// Restrictions that cannot be enforced. [`WorkspaceLoader::open`](super::WorkspaceLoader::open) fails if there are any.
    pub(crate) broken: Vec<BrokenRestriction>,
}

/// A configured value and its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfiguredItem {
    /// Its kind.
    pub kind: ConfiguredKind,
    /// Its name; for a file, the path in the workspace.
    pub name: String,
    /// Its value; null for a file.
    pub value: Value,
    /// Where it was written.
    pub origin: Origin,
    /// The plugin that brings it, if one does.
    pub plugin: Option<String>,
}

/// The kinds of configured values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConfiguredKind {
    /// A variable of the environment.
    Variable,
    /// An MCP server.
    Server,
    /// An API, described by an OpenAPI document.
    Api,
    /// Another setting, by its key.
    Setting,
    /// A file of an agent, a command or a skill.
    File,
}

/// Configuration that could not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoadProblem {
    /// Where it is.
    pub origin: Origin,
    /// What is wrong with it.
    pub problem: String,
}

impl std::fmt::Display for LoadProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.origin, self.problem)
    }
}

/// Directories with agents, commands and skills of a workspace.
const FOLDERS: &[&str] =
    &[".claude/agents/", ".claude/commands/", ".claude/skills/", ".agents/skills/", ".lariat/"];

impl LoadedWorkspace {
    pub(super) fn new(
        places: SessionDirectories,
        territory: FileOwnership,
        directories: Vec<ProjectDirectory>,
        trust: Trust,
        problems: Vec<LoadProblem>,
    ) -> Self {
        let root = directories.first();
        let nowhere = Identity { path: String::new(), device: 0, inode: 0 };
        let is_listed = directories.iter().all(|directory| directory.manifest.is_some());
        Self {
            places,
            territory,
            identity: root.map_or(nowhere, |root| root.identity.clone()),
            manifest: root.and_then(|root| root.manifest.clone()).filter(|_| is_listed),
            standing: project_directories::combined_trust(&directories),
            directories,
            trust,
            layers: Vec::new(),
            hooks: HookConfig::default(),
            values: Vec::new(),
            plugins: Vec::new(),
            problems,
            broken: Vec::new(),
        }
    }

    /// The merged permission settings.
    pub fn settings(&self) -> Settings {
        Settings::merge(self.layers.clone(), self.trust)
    }

    /// The permission gate of a session here. `runner` runs its hooks; `environment` is that of its commands.
    pub fn gate(&self, runner: Arc<dyn HookRunner>, environment: &Environment) -> Gate {
        self.gate_with(HookConfig::default(), runner, environment)
    }

    /// Like [`gate`](Self::gate), with hooks that no settings file configures.
    pub(crate) fn gate_with(
        &self,
        more: HookConfig,
        runner: Arc<dyn HookRunner>,
        environment: &Environment,
    ) -> Gate {
        let resolver = Arc::new(RealPrograms(environment.clone()));
        let mut hooks = self.hooks.clone();
        hooks.extend(more);
        Gate::new(self.layers.clone(), self.trust, self.places.clone(), resolver).with_hooks(hooks, runner)
    }

    /// Records that the user trusts the workspace with exactly this configuration. Takes effect when it is opened again.
    ///
    /// # Errors
    /// If its configuration could not be listed, or the record cannot be changed.
    pub fn accept(&self, trust_store: &TrustStore) -> Result<(), OpenError> {
        if self.manifest.is_none() {
            let why = self.problems.first().map(ToString::to_string).unwrap_or_default();
            return Err(OpenError::Unlistable(why));
        }
        let has_configuration = |directory: &&ProjectDirectory| {
            directory.path_in_project() == Some("") || directory.standing != TrustStatus::Harmless
        };
        let directories = self.directories.iter().filter(has_configuration);
        let trusted =
            directories.filter_map(|directory| Some((&directory.identity, directory.manifest.as_ref()?)));
        Ok(trust_store.trust_all(trusted)?)
    }

    /// A short text that changes whenever the project's configuration changes.
    pub fn fingerprint(&self) -> String {
        let each = self.directories.iter().flat_map(|directory| {
            let files = directory.manifest.iter().flat_map(Manifest::files);
            let files = files.flat_map(|(path, file)| [path, file.hash.as_str()]);
            std::iter::once(directory.identity.path.as_str()).chain(files).collect::<Vec<_>>()
        });
        ApprovalHash::of(each).to_string()
    }

    /// Everything in the project's configuration that takes effect with trust, with display paths.
    pub fn effects(&self) -> Vec<WorkspaceEffect> {
        let each = |directory: &ProjectDirectory| {
            let manifest = directory.manifest.iter().flat_map(Manifest::effects).cloned();
            let shown = |mut one: WorkspaceEffect| {
                one.file = directory.display_path(&one.file);
                one
            };
            manifest.map(shown).collect::<Vec<_>>()
        };
        self.directories.iter().flat_map(each).collect()
    }

    /// Adds a settings file of the user, the organisation or a project.
    pub(super) fn take(&mut self, document: &Document) -> Result<(), SettingsError> {
        self.broken.extend(unsupported_settings::broken(document));
        self.take_layer(Layer::of(document)?);
        if document.origin.level.is_workspace_level() && self.trust == Trust::Untrusted {
            return Ok(());
        }
        for (key, value) in document.value.as_object().into_iter().flatten() {
            match key.as_str() {
                "permissions" => {}
                "hooks" => self.take_hooks(document, value),
                "env" => self.take_each(ConfiguredKind::Variable, value, &document.origin),
                "mcpServers" | "mcp_servers" => {
                    self.take_each(ConfiguredKind::Server, value, &document.origin);
                }
                "openapi" => self.take_each(ConfiguredKind::Api, value, &document.origin),
                _ => self.take_value(ConfiguredKind::Setting, key, value, &document.origin),
            }
        }
        Ok(())
    }

    /// Adds a permission layer.
    pub(crate) fn take_layer(&mut self, layer: Layer) {
        self.broken.extend(layer.broken.iter().cloned());
        self.layers.push(layer.restricted_by(self.trust));
    }

    /// Adds a file of the project.
    pub(super) fn take_from_workspace(
        &mut self,
        source: &SettingsFile,
        origin: Origin,
        read: Result<Option<Vec<u8>>, String>,
    ) -> Result<(), OpenError> {
        let unreadable = |reason: String| OpenError::Unreadable { origin: Box::new(origin.clone()), reason };
        let text = read.transpose().map(|bytes| {
            let text = bytes.map(|bytes| String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned()));
            text.and_then(std::convert::identity).map_err(unreadable)
        });
        let Some(text) = text else { return Ok(()) };
        let document = text.and_then(|text| Ok(Document::parse(&text, source.format, origin.clone())?));
        match (source.role, document) {
            (Role::Settings, document) => Ok(self.take(&document?)?),
            // It cannot restrict anything, so a problem report is enough.
            (Role::Servers, Err(error)) => {
                self.problems.push(LoadProblem { origin, problem: error.to_string() });
                Ok(())
            }
            (Role::Servers, Ok(_)) if self.trust == Trust::Untrusted => Ok(()),
            (Role::Servers, Ok(document)) => {
                let servers = document.value.get("mcpServers").unwrap_or(&Value::Null);
                self.take_each(ConfiguredKind::Server, servers, &document.origin);
                Ok(())
            }
        }
    }

    /// Pins the workspace scripts that hooks run: a hook whose scripts change later does not run. The user's own hooks run
    /// files of a workspace only if it is trusted.
    pub(super) fn pin_scripts(&mut self, look: &dyn WorkspaceReader) {
        let mut scripts = Vec::new();
        for handler in self.hooks.handlers_mut() {
            let command = match &handler.way {
                Invocation::Shell(command) => command.clone(),
                Invocation::Program(program, arguments) => format!("{program} {}", arguments.join(" ")),
                Invocation::Post { .. } | Invocation::Callback(_) => continue,
            };
            match Scripts::of(&command, &self.places.project, &self.places.home, look) {
                Ok(pins) => handler.scripts.pins = pins,
                Err(why) => handler.scripts.refused = Some(why),
            }
            let trusted = self.manifest.as_ref().filter(|_| handler.scripts.of_project);
            let other = handler.scripts.pins.iter().find(|pin| {
                let known = trusted.and_then(|manifest| manifest.files().find(|(path, _)| *path == pin.path));
                known.is_some_and(|(_, file)| pin.hash.as_ref() != Some(&file.hash))
            });
            if let Some(pin) = other {
                let why = format!("`{}` changed while the workspace was being opened", pin.path);
                handler.scripts.refused = Some(why);
            }
            if handler.scripts.run_workspace_code() && self.trust == Trust::Untrusted {
                let file = handler.scripts.files().next().unwrap_or("package.json").to_owned();
                let why = format!("it runs `{file}` of an untrusted workspace; hint: run `lariat trust`");
                let problem = format!("a hook of {} does not run: {why}", handler.origin);
                self.problems.push(LoadProblem {
                    origin: Origin::file(Level::Project, &self.places.project),
                    problem,
                });
                handler.scripts.refused = Some(why);
            }
            scripts.extend(handler.scripts.files().map(|file| self.places.project.join(file)));
        }
        self.places = self.places.clone().with_scripts(scripts);
    }

    /// Adds the files of agents, commands and skills.
    pub(super) fn take_files(&mut self) {
        if self.trust == Trust::Untrusted {
            return;
        }
        let inside = self
            .directories
            .iter()
            .filter_map(|directory| Some((directory.path_in_project()?, directory.manifest.as_ref()?)));
        let files = inside.flat_map(|(directory, manifest)| {
            let start = if directory.is_empty() { String::new() } else { format!("{directory}/") };
            let paths = manifest.files().map(|(path, _)| path.to_owned());
            let is_meant = move |path: &String| {
                let name = path.strip_prefix(&start).unwrap_or_default();
                FOLDERS.iter().any(|folder| name.starts_with(folder))
            };
            paths.filter(is_meant).collect::<Vec<_>>()
        });
        let configured = files.map(|path| ConfiguredItem {
            kind: ConfiguredKind::File,
            origin: Origin::file(lariat_guard::Level::Project, self.places.project.join(&path)),
            name: path,
            value: Value::Null,
            plugin: None,
        });
        let configured: Vec<ConfiguredItem> = configured.collect();
        self.values.extend(configured);
    }

    /// Adds hooks. An invalid hook is a broken restriction, because it may have been meant to block something.
    pub(super) fn take_hooks(&mut self, document: &Document, hooks: &Value) {
        let (hooks, unsupported_events) = unsupported_settings::split_unsupported_events(hooks);
        for event in unsupported_events {
            let problem = format!("Lariat does not have the event `{event}`, so its hooks do not run");
            self.problems.push(LoadProblem { origin: document.origin.clone(), problem });
        }
        let before = self.hooks.handlers().count();
        let found = self.hooks.add(&document.origin.to_string(), &hooks);
        for handler in self.hooks.handlers_mut().skip(before) {
            handler.scripts.of_project = document.origin.level.is_workspace_level();
        }
        self.broken.extend(found.into_iter().map(|found| {
            let broken = BrokenRestriction::new("hooks", found.problem, Arc::new(document.origin.clone()));
            broken.with_line(document.line_of(&["hooks"]))
        }));
    }

    fn take_each(&mut self, kind: ConfiguredKind, table: &Value, origin: &Origin) {
        for (name, value) in table.as_object().into_iter().flatten() {
            self.take_value(kind, name, value, origin);
        }
    }

    fn take_value(&mut self, kind: ConfiguredKind, name: &str, value: &Value, origin: &Origin) {
        let (name, value, origin) = (name.to_owned(), value.clone(), origin.clone());
        self.values.push(ConfiguredItem { kind, name, value, origin, plugin: None });
    }
}
