//! A workspace that is open: what counts in it, and where each of that was written.
//!
//! Owns which part of a document becomes what. Invariant: of an untrusted workspace there are layers that only restrict,
//! and nothing else: no hook, no value.

use std::sync::Arc;

use lariat_guard::hooks::{HookBook, HookRunner};
use lariat_guard::trust::{Identity, Manifest, Standing, TrustBook};
use lariat_guard::{Document, Effect, Layer, Origin, Places, Settings, SettingsError, Trust};
use lariat_host::process::Environment;
use lariat_runtime::Gate;
use serde_json::Value;

use super::RealPrograms;
use super::open::{Brought, OpenError};
use super::source::{Role, Source};

/// A workspace that is open.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Opened {
    /// The directories of the session.
    pub places: Places,
    /// Which directory it is.
    pub identity: Identity,
    /// What it brings; none when that cannot be told, so that nobody can trust it.
    pub manifest: Option<Manifest>,
    /// What the person's word on it is worth: when it is not trusted, what changed since it was.
    pub standing: Standing,
    /// Whether what it brings takes effect.
    pub trust: Trust,
    /// Permissions. Those of the workspace only restrict, unless it is trusted.
    pub layers: Vec<Layer>,
    /// Hooks.
    pub hooks: HookBook,
    /// Everything else that is configured.
    pub values: Vec<Configured>,
    /// What could not be used. Nobody may miss these.
    pub problems: Vec<Problem>,
}

/// Something that is configured, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Configured {
    /// Of which kind it is.
    pub kind: ConfiguredKind,
    /// Its name; of a file, its path in the workspace.
    pub name: String,
    /// What it is set to; of a file, nothing.
    pub value: Value,
    /// Where it was written.
    pub origin: Origin,
}

/// Kinds of things that are configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConfiguredKind {
    /// A variable of the environment.
    Variable,
    /// A tool server.
    Server,
    /// Another setting, by its key.
    Setting,
    /// A file of an agent, a command or a skill.
    File,
}

/// Something that could not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// Where it is.
    pub origin: Origin,
    /// What is wrong with it.
    pub problem: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.origin, self.problem)
    }
}

/// Where agents, commands and skills of a workspace are.
const FOLDERS: &[&str] =
    &[".claude/agents/", ".claude/commands/", ".claude/skills/", ".agents/skills/", ".lariat/"];

impl Opened {
    pub(super) fn new(places: Places, brought: Brought, trust: Trust, problems: Vec<Problem>) -> Self {
        Self {
            places,
            identity: brought.identity,
            manifest: brought.manifest,
            standing: brought.standing,
            trust,
            layers: Vec::new(),
            hooks: HookBook::default(),
            values: Vec::new(),
            problems,
        }
    }

    /// All permissions together.
    pub fn settings(&self) -> Settings {
        Settings::merge(self.layers.clone(), self.trust)
    }

    /// The gate of a session here, with who runs its hooks, and the environment in which commands run.
    pub fn gate(&self, runner: Arc<dyn HookRunner>, environment: &Environment) -> Gate {
        let resolver = Arc::new(RealPrograms(environment.clone()));
        Gate::new(self.layers.clone(), self.trust, self.places.clone(), resolver)
            .with_hooks(self.hooks.clone(), runner)
    }

    /// Remembers that a person trusts the workspace with exactly what it brings. Counts when it is opened again.
    ///
    /// # Errors
    /// When what it brings cannot be told, or the book cannot be changed.
    pub fn accept(&self, book: &TrustBook) -> Result<(), OpenError> {
        let Some(manifest) = &self.manifest else {
            let why = self.problems.first().map(ToString::to_string).unwrap_or_default();
            return Err(OpenError::Untellable(why));
        };
        Ok(book.trust(&self.identity, manifest)?)
    }

    /// Takes a file of settings of somebody who may say everything, or of a workspace.
    pub(super) fn take(&mut self, document: &Document) -> Result<(), SettingsError> {
        self.layers.push(Layer::of(document)?.held_to(self.trust));
        if document.origin.level.is_of_the_workspace() && self.trust == Trust::Untrusted {
            return Ok(());
        }
        for (key, value) in document.value.as_object().into_iter().flatten() {
            match key.as_str() {
                "permissions" => {}
                "hooks" => self.take_hooks(&document.origin, value),
                "env" => self.take_each(ConfiguredKind::Variable, value, &document.origin),
                "mcpServers" | "mcp_servers" => {
                    self.take_each(ConfiguredKind::Server, value, &document.origin);
                }
                _ => self.take_value(ConfiguredKind::Setting, key, value, &document.origin),
            }
        }
        Ok(())
    }

    /// Takes a file of the workspace. Where it could have forbidden something and cannot be read, everything is asked.
    pub(super) fn take_from_workspace(
        &mut self,
        source: &Source,
        origin: Origin,
        read: Result<Option<Vec<u8>>, String>,
    ) {
        let bytes = match read {
            Ok(None) => return,
            Ok(Some(bytes)) => Ok(bytes),
            Err(reason) => Err(reason),
        };
        let text = bytes.and_then(|bytes| String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned()));
        let document = text.and_then(|text| {
            Document::parse(&text, source.format, origin.clone()).map_err(|error| error.to_string())
        });
        let taken = document.and_then(|document| match source.role {
            Role::Settings => self.take(&document).map_err(|error| error.to_string()),
            Role::Servers if self.trust == Trust::Untrusted => Ok(()),
            Role::Servers => {
                let servers = document.value.get("mcpServers").unwrap_or(&Value::Null);
                self.take_each(ConfiguredKind::Server, servers, &document.origin);
                Ok(())
            }
        });
        if let Err(problem) = taken {
            if source.role == Role::Settings {
                self.layers.push(Layer::new(origin.clone()).with_rule(Effect::Ask, "*"));
            }
            self.problems.push(Problem { origin, problem });
        }
    }

    /// Takes the files of agents, commands and skills.
    pub(super) fn take_files(&mut self) {
        let Some(manifest) = self.manifest.as_ref().filter(|_| self.trust == Trust::Trusted) else { return };
        let paths = manifest.files().map(|(path, _)| path);
        let files = paths.filter(|path| FOLDERS.iter().any(|folder| path.starts_with(folder)));
        let configured = files.map(|path| Configured {
            kind: ConfiguredKind::File,
            name: path.to_owned(),
            value: Value::Null,
            origin: Origin::file(lariat_guard::Level::Project, self.places.project.join(path)),
        });
        self.values.extend(configured);
    }

    fn take_hooks(&mut self, origin: &Origin, hooks: &Value) {
        let problems = self.hooks.add(&origin.to_string(), hooks);
        let told = |problem: lariat_guard::hooks::HookProblem| Problem {
            origin: origin.clone(),
            problem: problem.problem,
        };
        self.problems.extend(problems.into_iter().map(told));
    }

    fn take_each(&mut self, kind: ConfiguredKind, table: &Value, origin: &Origin) {
        for (name, value) in table.as_object().into_iter().flatten() {
            self.take_value(kind, name, value, origin);
        }
    }

    fn take_value(&mut self, kind: ConfiguredKind, name: &str, value: &Value, origin: &Origin) {
        let configured =
            Configured { kind, name: name.to_owned(), value: value.clone(), origin: origin.clone() };
        self.values.push(configured);
    }
}
