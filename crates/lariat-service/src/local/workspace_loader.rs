//! Opens a workspace: loads everything that applies in a directory. There is no other way to open one.
//!
//! The order: find the project's root, collect the configuration of its directories, look up the user's trust, load the
//! user's own files, load the project's files. Reads no environment: the caller passes every path outside the project. Starts
//! no program and contacts no server. An untrusted project can only add restrictions. An unreadable settings file or a
//! restriction that cannot be enforced is an error in every file, because ignoring it would drop what it forbids.

use std::path::PathBuf;

use lariat_guard::trust::TrustStore;
use lariat_guard::{
    Document, Format, Level, Origin, SessionDirectories, SettingsError, StateFileError, Trust,
};
use lariat_host::files::Workspace;

use super::files::ProjectFiles;
use super::loaded_workspace::LoadedWorkspace;
use super::project_directories::{self, ProjectDirectory};
use super::settings_files::{SettingsFile, UserFile, WORKSPACE_FILES};
use super::{FileOwnership, LoadProblem, WorkspaceFiles};

/// A workspace that is about to be opened.
#[derive(Debug)]
pub struct WorkspaceLoader {
    workspace: Workspace,
    home: PathBuf,
    trust_store: TrustStore,
    own: Vec<UserFile>,
    own_folders: Vec<PathBuf>,
    given: Vec<(Origin, Format, String)>,
    consent: Consent,
}

/// Who decides whether the workspace is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Consent {
    /// The user's recorded decision.
    Recorded,
    /// The caller trusts it in its current state.
    Given,
    /// The caller does not trust it, whatever is recorded.
    Withheld,
}

/// Why a workspace could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The system does not report the directory's identity.
    #[error("could not inspect the workspace: {0}")]
    Directory(#[from] std::io::Error),
    /// Settings are invalid. Ignoring them could drop a deny rule.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// A settings file could not be read.
    #[error("could not read {origin}: {reason}")]
    Unreadable {
        /// The file.
        origin: Box<Origin>,
        /// The cause.
        reason: String,
    },
    /// The workspace's configuration could not be listed, so it cannot be trusted.
    #[error("the workspace cannot be trusted: {0}")]
    Unlistable(String),
    /// The record of trusted workspaces could not be changed.
    #[error(transparent)]
    StateFile(#[from] StateFileError),
}

/// A file of the project, as it was read.
struct ReadFile {
    source: &'static SettingsFile,
    /// The index of its part of the project.
    part: usize,
    path: String,
    read: Result<Option<Vec<u8>>, String>,
}

impl WorkspaceLoader {
    /// Prepares to open a workspace with the recorded trust. `home` is the user's home directory.
    pub fn new(workspace: &Workspace, home: impl Into<PathBuf>, trust_store: TrustStore) -> Self {
        Self {
            workspace: workspace.clone().without_hints(),
            home: home.into(),
            trust_store,
            own: Vec::new(),
            own_folders: Vec::new(),
            given: Vec::new(),
            consent: Consent::Recorded,
        }
    }

    /// Adds a settings file of the user or the organisation. It need not exist.
    #[must_use]
    pub fn with_file(mut self, level: Level, format: Format, path: impl Into<PathBuf>) -> Self {
        self.own.push(UserFile { level, path: path.into(), format });
        self
    }

    /// Adds a directory of the user's own settings, which does not belong to the project.
    #[must_use]
    pub fn with_user_directory(mut self, folder: impl Into<PathBuf>) -> Self {
        self.own_folders.push(folder.into());
        self
    }

    /// Adds settings as text.
    #[must_use]
    pub fn with_text(mut self, origin: Origin, format: Format, text: impl Into<String>) -> Self {
        self.given.push((origin, format, text.into()));
        self
    }

    /// Does not trust the project, whatever is recorded.
    #[must_use]
    pub fn without_trust(mut self) -> Self {
        self.consent = Consent::Withheld;
        self
    }

    /// Trusts the workspace in its current state, this time only. [`LoadedWorkspace::accept`] records trust.
    #[must_use]
    pub fn with_trust_once(mut self) -> Self {
        self.consent = Consent::Given;
        self
    }

    /// Opens the workspace.
    ///
    /// # Errors
    /// If the directory or a settings file cannot be read, or a restriction cannot be enforced.
    pub fn open(&self) -> Result<LoadedWorkspace, OpenError> {
        let opened = self.load()?;
        if opened.broken.is_empty() {
            return Ok(opened);
        }
        Err(SettingsError::Restrictions(opened.broken).into())
    }

    /// Like [`open`](Self::open), but collects broken restrictions, so that the caller can add its own and report all.
    pub(crate) fn load(&self) -> Result<LoadedWorkspace, OpenError> {
        let mut problems = Vec::new();
        let territory = FileOwnership::of(self.workspace.path(), Some(&self.home));
        let territory =
            self.own_folders.iter().fold(territory, |territory, own| territory.with_user_directory(own));
        let project = match territory.root() == self.workspace.path() {
            true => self.workspace.clone(),
            false => Workspace::open(territory.root()).map_err(std::io::Error::other)?.without_hints(),
        };
        let files = ProjectFiles { files: WorkspaceFiles(&project), territory: &territory };
        let directories = project_directories::gather(&files, &self.trust_store, &mut problems)?;
        let found = project_settings_files(&files, &directories);
        let trust = self.trust(&directories, &found, &territory, &mut problems);
        let places =
            SessionDirectories::new(self.workspace.path(), &self.home).with_project(territory.root());
        let mut opened = LoadedWorkspace::new(places, territory, directories, trust, problems);
        for own in &self.own {
            if let Some(document) = document(own)? {
                opened.take(&document)?;
            }
        }
        for (origin, format, text) in &self.given {
            opened.take(&Document::parse(text, *format, origin.clone())?)?;
        }
        for ReadFile { source, path, read, .. } in found {
            let origin = Origin::file(source.level, opened.territory.root().join(path));
            opened.take_from_workspace(source, origin, read)?;
        }
        opened.take_plugins(&self.home);
        opened.take_files();
        opened.pin_scripts(&WorkspaceFiles(&self.workspace));
        Ok(opened)
    }

    /// Whether the files may take effect: the user trusted exactly these bytes.
    fn trust(
        &self,
        directories: &[ProjectDirectory],
        found: &[ReadFile],
        territory: &FileOwnership,
        problems: &mut Vec<LoadProblem>,
    ) -> Trust {
        let said = match self.consent {
            Consent::Recorded => project_directories::combined_trust(directories).is_trusted(),
            Consent::Given => directories.iter().all(|part| part.manifest.is_some()),
            Consent::Withheld => false,
        };
        if !said {
            return Trust::Untrusted;
        }
        let swapped = found.iter().find(|found| {
            let Some(manifest) = directories.get(found.part).and_then(|part| part.manifest.as_ref()) else {
                return true;
            };
            match &found.read {
                Ok(Some(bytes)) => !manifest.contains_exactly(&found.path, bytes),
                Ok(None) => manifest.files().any(|(path, _)| path == found.path),
                Err(_) => false,
            }
        });
        let Some(swapped) = swapped else { return Trust::Trusted };
        let problem =
            "it changed while the workspace was being opened, so the workspace is not trusted".to_owned();
        let origin = Origin::file(swapped.source.level, territory.root().join(&swapped.path));
        problems.push(LoadProblem { origin, problem });
        Trust::Untrusted
    }
}

/// The project's settings files, the nearest directory first, because it is the strongest.
fn project_settings_files(files: &ProjectFiles<'_>, directories: &[ProjectDirectory]) -> Vec<ReadFile> {
    let inside = directories
        .iter()
        .enumerate()
        .filter_map(|(number, part)| Some((number, part.path_in_project()?)))
        .rev();
    let of = |(part, directory): (usize, &str)| {
        let read = |source: &'static SettingsFile| ReadFile {
            source,
            part,
            path: source.path_below(directory),
            read: source.read(files, directory),
        };
        WORKSPACE_FILES.iter().map(read).collect::<Vec<_>>()
    };
    inside.flat_map(of).collect()
}

/// Parses one of the user's own files.
fn document(own: &UserFile) -> Result<Option<Document>, OpenError> {
    let origin = Origin::file(own.level, &own.path);
    let unreadable = |reason| OpenError::Unreadable { origin: Box::new(origin.clone()), reason };
    let Some(bytes) = own.read().map_err(unreadable)? else { return Ok(None) };
    let text = String::from_utf8(bytes).map_err(|_| unreadable("it is not UTF-8".to_owned()))?;
    Ok(Some(Document::parse(&text, own.format, origin)?))
}
