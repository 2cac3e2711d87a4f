//! Loads a directory with its settings, trust and permissions.
//!
//! Contacts no server and starts no program, except git on request.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lariat_guard::trust::TrustStore;
use lariat_guard::{BrokenRestriction, Document, Effect, Format, Layer, Level, Origin, SettingsError};
use lariat_host::files::{Access, Workspace};
use lariat_host::git::Git;
use lariat_host::process::{Environment, Supervisor};
use serde_json::{Map, Value};

use crate::config::{SettingSources, Settings, SettingsLayer};
use crate::local::{
    ConfiguredItem, ConfiguredKind, GitNotes, LoadedWorkspace, OpenError, Plugin, WorkspaceLoader,
    read_user_file, skill_folders,
};
use crate::models::ModelCatalogue;
use crate::{ServiceError, UserDirectories, sandbox_probe, tools};

/// The directory to load, with settings for this run.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct LoadOptions {
    /// The directory.
    pub directory: PathBuf,
    /// Settings from flags, by key.
    pub flags: Map<String, Value>,
    /// Settings from variables, by key.
    pub environment: Map<String, Value>,
    /// Allow rules for this run.
    pub allow: Vec<String>,
    /// Deny rules for this run.
    pub deny: Vec<String>,
    /// Directories that belong to the workspace in this run, besides the working directory.
    pub directories: Vec<PathBuf>,
    /// Settings in Claude Code's format for this run, each as origin and text.
    pub settings: Vec<(String, String)>,
    /// The tools to offer, by our names or Claude Code's; all if `None`.
    pub tools: Option<Vec<String>>,
    /// Whether to trust the project for this run.
    pub trusting: bool,
    /// Whether to ignore trust that the user granted earlier.
    pub distrusting: bool,
}

impl LoadOptions {
    /// Loads a directory without further settings.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), ..Self::default() }
    }
}

/// A directory with everything that applies in it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LoadedProject {
    /// Access to its files.
    pub workspace: Workspace,
    /// Its configuration and trust.
    pub opened: LoadedWorkspace,
    /// The effective settings.
    pub settings: Settings,
    /// Where each setting was set, and which settings are ignored.
    pub sources: SettingSources,
    /// The model catalogue, with the user's corrections.
    pub catalogue: ModelCatalogue,
    /// The tools to offer; all if `None`.
    pub(crate) tools: Option<BTreeSet<String>>,
}

/// Settings files for all users of the machine.
const MANAGED: [(&str, Format); 2] =
    [("/etc/lariat/config.toml", Format::Toml), ("/etc/claude-code/managed-settings.json", Format::Json)];

impl LoadedProject {
    /// Loads a directory.
    ///
    /// # Errors
    /// If it cannot be opened, settings are invalid, or a restriction cannot be enforced.
    pub fn load(visit: &LoadOptions, folders: &UserDirectories) -> Result<Self, ServiceError> {
        let workspace = Workspace::open(&visit.directory)
            .map_err(|error| ServiceError::directory(&visit.directory, error))?;
        let mut opening = WorkspaceLoader::new(&workspace, &folders.home, TrustStore::new(folders.trust()));
        for (path, format) in MANAGED {
            opening = opening.with_file(Level::Managed, format, path);
        }
        opening = opening.with_file(Level::User, Format::Toml, folders.settings()).with_file(
            Level::User,
            Format::Json,
            folders.home.join(".claude/settings.json"),
        );
        for (source, text) in &visit.settings {
            opening = opening.with_text(Origin::by_name(Level::Flags, source), Format::Json, text);
        }
        opening = opening.with_user_directory(&folders.config);
        if visit.trusting {
            opening = opening.with_trust_once();
        }
        if visit.distrusting {
            opening = opening.without_trust();
        }
        let mut opened = opening.load()?;
        let of_plugins = opened.plugins.iter().map(Plugin::skills).filter(|folder| folder.is_dir());
        opened.places = opened.places.clone().with_readable(of_plugins);
        opened.places = opened.places.with_readable(skill_folders(&folders.home));
        for layer in flag_rules(visit).into_iter().chain(flag_directories(visit, &workspace)?) {
            opened.take_layer(layer);
        }
        let sources = SettingSources::merge(layers(visit, &opened));
        let mut broken = std::mem::take(&mut opened.broken);
        for found in sources.broken.iter().cloned().chain(tools::unknown_tool_rules(&opened.layers)) {
            // A misspelled table is reported once, not again for each key in it.
            let is_known = |known: &BrokenRestriction| {
                let beneath = found.subject.strip_prefix(&known.subject);
                known.origin == found.origin
                    && beneath.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            if !broken.iter().any(is_known) {
                broken.push(with_line(found));
            }
        }
        let tools = visit.tools.as_ref().map(|names| tools::select(names)).transpose();
        let tools = tools.unwrap_or_else(|unknown| {
            broken.push(unknown);
            None
        });
        let restrictions = |broken| OpenError::from(SettingsError::Restrictions(broken));
        if !broken.is_empty() {
            return Err(restrictions(broken).into());
        }
        let settings = sources.settings().map_err(|broken| restrictions(vec![with_line(broken)]))?;
        Ok(Self { workspace, opened, settings, sources, catalogue: known_models(folders)?, tools })
    }

    /// Starts a git status query if the directory is in a repository. Git works in the background, so call this early. Needs
    /// a Tokio runtime.
    pub fn ask_git(&self, folders: &UserDirectories, environment: &Environment) -> Option<Arc<GitNotes>> {
        let scratch = folders.scratch();
        let _ = sandbox_probe::make(&scratch);
        let environment = self.environment(environment);
        let git = Git::open(self.opened.territory.root(), &scratch, &environment, &Supervisor::new()).ok()?;
        Some(Arc::new(GitNotes::new(git).start_query()))
    }

    /// The files that tools can access, including read access to the user's own skills.
    pub(crate) fn tool_files(&self) -> Workspace {
        let folders = self.opened.places.readable.iter().filter(|folder| !folder.starts_with(self.path()));
        folders.fold(self.workspace.clone(), |workspace, folder| {
            workspace.clone().with_root(folder, Access::ReadOnly).unwrap_or(workspace)
        })
    }

    /// The environment of programs here: the inherited one with the variables from the settings. Program names never resolve
    /// to files that the agent can write, and git does not treat a directory as a bare repository just because it looks like
    /// one.
    pub fn environment(&self, inherited: &Environment) -> Environment {
        let named = self.opened.values.iter().filter(|value| value.kind == ConfiguredKind::Variable);
        let environment = named.fold(inherited.clone(), |environment, value| {
            environment.with(&value.name, value.value.as_str().unwrap_or_default())
        });
        environment
            .with_untrusted_directories(self.more_directories().into_iter().chain([self.path().to_owned()]))
            .with_git_setting("safe.bareRepository", "explicit")
    }

    /// The directories that belong to the workspace besides its own, as settings and flags name them.
    pub(crate) fn more_directories(&self) -> Vec<PathBuf> {
        let more = self.opened.settings().additional_directories;
        let absolute = |directory: PathBuf| match directory.strip_prefix("~") {
            Ok(beneath) => self.opened.places.home.join(beneath),
            Err(_) => self.path().join(directory),
        };
        more.into_iter().map(absolute).collect()
    }

    /// The path of the directory.
    pub fn path(&self) -> &Path {
        self.workspace.path()
    }
}

/// The catalogue with the corrections from the user's file.
fn known_models(folders: &UserDirectories) -> Result<ModelCatalogue, ServiceError> {
    let path = folders.models();
    match read_user_file(&path).map_err(|error| ServiceError::folder(&path, error))? {
        None => Ok(ModelCatalogue::default()),
        Some(bytes) => {
            let text = String::from_utf8(bytes).map_err(|error| ServiceError::folder(&path, error))?;
            ModelCatalogue::with_corrections(&text).map_err(|error| ServiceError::folder(&path, error))
        }
    }
}

/// The permission rules from flags.
fn flag_rules(visit: &LoadOptions) -> Vec<Layer> {
    let layer = |effect, flag: &str, rules: &[String]| {
        let layer = Layer::new(Origin::by_name(Level::Flags, flag));
        (!rules.is_empty()).then(|| rules.iter().fold(layer, |layer, rule| layer.with_rule(effect, rule)))
    };
    let allow = layer(Effect::Allow, "--allow (--allowedTools)", &visit.allow);
    let deny = layer(Effect::Deny, "--deny (--disallowedTools, --disallowed-tools)", &visit.deny);
    allow.into_iter().chain(deny).collect()
}

/// The directories from flags. Each must exist: a misspelt one would silently not be part of the workspace.
fn flag_directories(visit: &LoadOptions, workspace: &Workspace) -> Result<Option<Layer>, ServiceError> {
    let mut layer = Layer::new(Origin::by_name(Level::Flags, "--add-dir"));
    for directory in &visit.directories {
        let path = workspace.path().join(directory);
        let text = path.to_str().filter(|_| !directory.as_os_str().is_empty());
        let text = text.ok_or_else(|| ServiceError::directory(directory, "it is not a path in UTF-8"))?;
        Workspace::open(&path).map_err(|error| ServiceError::directory(&path, error))?;
        layer = layer.with_directory(text);
    }
    Ok((!visit.directories.is_empty()).then_some(layer))
}

/// Adds the line number, for the error message. Parses the file again, because the parsed document is gone.
fn with_line(broken: BrokenRestriction) -> BrokenRestriction {
    let Some(file) = broken.origin.file.clone().filter(|_| broken.line.is_none()) else { return broken };
    let document = sandbox_probe::read(&file).and_then(|text| {
        let format =
            if file.extension().is_some_and(|end| end == "toml") { Format::Toml } else { Format::Json };
        Document::parse(&text, format, (*broken.origin).clone()).ok()
    });
    let words: Vec<&str> = match broken.subject.contains('(') {
        true => vec![broken.subject.as_str()],
        false => broken.subject.split('.').collect(),
    };
    let line = document.and_then(|document| document.line_of(&words));
    broken.with_line(line)
}

/// The settings of all layers. Claude Code's files contain many other keys, which are ignored.
fn layers(visit: &LoadOptions, opened: &LoadedWorkspace) -> Vec<SettingsLayer> {
    let mut layers = vec![
        SettingsLayer { origin: Origin::flags(), values: visit.flags.clone() },
        SettingsLayer { origin: Origin::environment(), values: visit.environment.clone() },
    ];
    let is_ours = |origin: &Origin| {
        origin.file.as_ref().and_then(|file| file.extension()).is_some_and(|extension| extension == "toml")
    };
    let settings = opened.values.iter().filter(|value| value.kind == ConfiguredKind::Setting);
    // Settings given as text may also set the model, besides permissions, hooks and variables.
    let is_given = |value: &ConfiguredItem| value.origin.level == Level::Flags && value.name == "model";
    for value in settings.filter(|value| is_ours(&value.origin) || is_given(value)) {
        let of_origin = layers.iter_mut().find(|layer| layer.origin == value.origin);
        match of_origin {
            Some(layer) => drop(layer.values.insert(value.name.clone(), value.value.clone())),
            None => layers.push(SettingsLayer {
                origin: value.origin.clone(),
                values: Map::from_iter([(value.name.clone(), value.value.clone())]),
            }),
        }
    }
    layers
}
