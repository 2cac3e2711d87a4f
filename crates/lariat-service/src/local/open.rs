//! From a directory to what counts in it: the one way a workspace is opened.
//!
//! Owns the order: where the project begins → what its directories bring → what the person said about that → the person's
//! own files → the project's files. Reads no environment: every path outside of the project is the caller's.
//! Invariant: no program starts, no server is reached, and what an untrusted project brings can only forbid. A file of
//! settings that cannot be read, and a restriction that cannot be put into effect, is an error in every file: going on
//! would drop what it forbids.

use std::path::PathBuf;

use lariat_guard::trust::TrustBook;
use lariat_guard::{Document, Format, KeptError, Level, Origin, Places, SettingsError, Trust};
use lariat_host::files::Workspace;

use super::files::ProjectFiles;
use super::opened::Opened;
use super::parts::{self, Part};
use super::source::{OF_THE_WORKSPACE, Own, Source};
use super::{Problem, Territory, WorkspaceFiles};

/// A workspace that is about to be opened.
#[derive(Debug)]
pub struct Opening {
    workspace: Workspace,
    home: PathBuf,
    book: TrustBook,
    own: Vec<Own>,
    own_folders: Vec<PathBuf>,
    given: Vec<(Origin, Format, String)>,
    consent: Consent,
}

/// Who says that the workspace may be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Consent {
    /// The book, from an earlier answer.
    Book,
    /// Whoever opens it, as it is now.
    Given,
    /// Nobody, whatever the book says.
    Withheld,
}

/// Why a workspace could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The system does not say which directory it is.
    #[error("the workspace cannot be looked at: {0}")]
    Directory(#[from] std::io::Error),
    /// Settings cannot be used. Going on without them could drop a rule that denies.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// A file of settings cannot be read.
    #[error("{origin} cannot be read: {reason}. Correct the file or move it away.")]
    Unreadable {
        /// Which file.
        origin: Box<Origin>,
        /// What happened.
        reason: String,
    },
    /// The workspace brings something that cannot be told, so nobody can trust it.
    #[error("the workspace cannot be trusted: {0}")]
    Untellable(String),
    /// The book of trusted workspaces could not be changed.
    #[error(transparent)]
    Book(#[from] KeptError),
}

/// A file of a directory of the project as it was read.
struct Found {
    source: &'static Source,
    /// Which part of the project it is of.
    part: usize,
    path: String,
    read: Result<Option<Vec<u8>>, String>,
}

impl Opening {
    /// Opens a workspace as somebody who trusts what is in the book, and nothing else. `home` is the person's.
    pub fn new(workspace: &Workspace, home: impl Into<PathBuf>, book: TrustBook) -> Self {
        Self {
            workspace: workspace.clone().without_hints(),
            home: home.into(),
            book,
            own: Vec::new(),
            own_folders: Vec::new(),
            given: Vec::new(),
            consent: Consent::Book,
        }
    }

    /// Adds a file of settings of the person or the organisation. It need not exist.
    #[must_use]
    pub fn with_file(mut self, level: Level, format: Format, path: impl Into<PathBuf>) -> Self {
        self.own.push(Own { level, path: path.into(), format });
        self
    }

    /// Adds a folder of the person's own settings: what lies in it is not the project's.
    #[must_use]
    pub fn with_own_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.own_folders.push(folder.into());
        self
    }

    /// Adds settings that the caller has as text.
    #[must_use]
    pub fn with_text(mut self, origin: Origin, format: Format, text: impl Into<String>) -> Self {
        self.given.push((origin, format, text.into()));
        self
    }

    /// Trusts nothing of the project, whatever was said about it before.
    #[must_use]
    pub fn distrusting(mut self) -> Self {
        self.consent = Consent::Withheld;
        self
    }

    /// Trusts the workspace as it is now, for this time. Nothing is remembered; [`Opened::accept`] does that.
    #[must_use]
    pub fn trusting(mut self) -> Self {
        self.consent = Consent::Given;
        self
    }

    /// Opens it.
    ///
    /// # Errors
    /// When the directory or a file of settings cannot be read, or something that restricts cannot be put into effect.
    pub fn open(&self) -> Result<Opened, OpenError> {
        let mut problems = Vec::new();
        let territory = Territory::of(self.workspace.path(), Some(&self.home));
        let territory = self.own_folders.iter().fold(territory, |territory, own| territory.with_own(own));
        let project = match territory.root() == self.workspace.path() {
            true => self.workspace.clone(),
            false => Workspace::open(territory.root()).map_err(std::io::Error::other)?.without_hints(),
        };
        let files = ProjectFiles { files: WorkspaceFiles(&project), territory: &territory };
        let parts = parts::gather(&files, &self.book, &mut problems)?;
        let found = found(&files, &parts);
        let trust = self.trust(&parts, &found, &territory, &mut problems);
        let places = Places::new(self.workspace.path(), &self.home).with_project(territory.root());
        let mut opened = Opened::new(places, territory, parts, trust, problems);
        for own in &self.own {
            if let Some(document) = document(own)? {
                opened.take(&document)?;
            }
        }
        for (origin, format, text) in &self.given {
            opened.take(&Document::parse(text, *format, origin.clone())?)?;
        }
        for Found { source, path, read, .. } in found {
            let origin = Origin::file(source.level, opened.territory.root().join(path));
            opened.take_from_workspace(source, origin, read)?;
        }
        opened.take_files();
        opened.pin_scripts(&WorkspaceFiles(&self.workspace));
        Ok(opened)
    }

    /// Whether what the files say may take effect: somebody said so about these very bytes.
    fn trust(
        &self,
        parts: &[Part],
        found: &[Found],
        territory: &Territory,
        problems: &mut Vec<Problem>,
    ) -> Trust {
        let said = match self.consent {
            Consent::Book => parts::together(parts).is_trusted(),
            Consent::Given => parts.iter().all(|part| part.manifest.is_some()),
            Consent::Withheld => false,
        };
        if !said {
            return Trust::Untrusted;
        }
        let swapped = found.iter().find(|found| {
            let Some(manifest) = parts.get(found.part).and_then(|part| part.manifest.as_ref()) else {
                return true;
            };
            match &found.read {
                Ok(Some(bytes)) => !manifest.holds(&found.path, bytes),
                Ok(None) => manifest.files().any(|(path, _)| path == found.path),
                Err(_) => false,
            }
        });
        let Some(swapped) = swapped else { return Trust::Trusted };
        let problem = "it changed while the workspace was opened, which is not trusted therefore".to_owned();
        let origin = Origin::file(swapped.source.level, territory.root().join(&swapped.path));
        problems.push(Problem { origin, problem });
        Trust::Untrusted
    }
}

/// The files of settings of the project, as they are: the nearest first, because it is the strongest.
fn found(files: &ProjectFiles<'_>, parts: &[Part]) -> Vec<Found> {
    let inside = parts.iter().enumerate().filter_map(|(number, part)| Some((number, part.inside()?))).rev();
    let of = |(part, directory): (usize, &str)| {
        let read = |source: &'static Source| Found {
            source,
            part,
            path: source.within(directory),
            read: source.read(files, directory),
        };
        OF_THE_WORKSPACE.iter().map(read).collect::<Vec<_>>()
    };
    inside.flat_map(of).collect()
}

/// A file of the person's own, parsed.
fn document(own: &Own) -> Result<Option<Document>, OpenError> {
    let origin = Origin::file(own.level, &own.path);
    let unreadable = |reason| OpenError::Unreadable { origin: Box::new(origin.clone()), reason };
    let Some(bytes) = own.read().map_err(unreadable)? else { return Ok(None) };
    let text = String::from_utf8(bytes).map_err(|_| unreadable("it is not UTF-8".to_owned()))?;
    Ok(Some(Document::parse(&text, own.format, origin)?))
}
