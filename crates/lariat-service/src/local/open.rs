//! From a directory to what counts in it: the one way a workspace is opened.
//!
//! Owns the order: what the workspace brings → what the person said about that → the person's own files → the
//! workspace's files. Reads no environment: every path outside of the workspace is the caller's.
//! Invariant: nothing is started, nobody is reached, and what an untrusted workspace brings can only forbid. A file of the
//! person's own that cannot be read is an error. One of the workspace's makes every call a question, because nobody
//! knows what it would have forbidden.

use std::path::PathBuf;

use lariat_guard::trust::{Identity, Manifest, Standing, TrustBook};
use lariat_guard::{Document, Format, KeptError, Level, Origin, Places, SettingsError, Trust};
use lariat_host::files::Workspace;

use super::opened::Opened;
use super::source::{OF_THE_WORKSPACE, Own, Source};
use super::{Problem, WorkspaceFiles};

/// A workspace that is about to be opened.
#[derive(Debug)]
pub struct Opening {
    workspace: Workspace,
    home: PathBuf,
    book: TrustBook,
    own: Vec<Own>,
    consent: Consent,
}

/// Who says that the workspace may be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Consent {
    /// The book, from an earlier answer.
    Book,
    /// Whoever opens it, as it is now.
    Given,
}

/// Why a workspace could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The system does not say which directory it is.
    #[error("the workspace cannot be looked at: {0}")]
    Directory(#[from] std::io::Error),
    /// Settings of the person or the organisation cannot be used. Going on without them could drop a rule that denies.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// A file of the person or the organisation cannot be read.
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

/// What a workspace brings, and what that is worth.
pub(super) struct Brought {
    pub(super) identity: Identity,
    /// None when it cannot be told.
    pub(super) manifest: Option<Manifest>,
    pub(super) standing: Standing,
}

/// A file of the workspace as it was read.
type Found = (&'static Source, Result<Option<Vec<u8>>, String>);

impl Opening {
    /// Opens a workspace as somebody who trusts what is in the book, and nothing else. `home` is the person's.
    pub fn new(workspace: &Workspace, home: impl Into<PathBuf>, book: TrustBook) -> Self {
        Self {
            workspace: workspace.clone().without_hints(),
            home: home.into(),
            book,
            own: Vec::new(),
            consent: Consent::Book,
        }
    }

    /// Adds a file of settings of the person or the organisation. It need not exist.
    #[must_use]
    pub fn with_file(mut self, level: Level, format: Format, path: impl Into<PathBuf>) -> Self {
        self.own.push(Own { level, path: path.into(), format });
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
    /// When the directory or a file of the person's own cannot be read. A file of the workspace that cannot be is a
    /// [`Problem`].
    pub fn open(&self) -> Result<Opened, OpenError> {
        let mut problems = Vec::new();
        let brought = self.brought(&mut problems)?;
        let found = self.found();
        let trust = self.trust(&brought, &found, &mut problems);
        let places = Places::new(self.workspace.path(), &self.home);
        let mut opened = Opened::new(places, brought, trust, problems);
        for own in &self.own {
            if let Some(document) = document(own)? {
                opened.take(&document)?;
            }
        }
        for (source, read) in found {
            opened.take_from_workspace(source, self.origin(source), read);
        }
        opened.take_files();
        opened.pin_scripts(&WorkspaceFiles(&self.workspace));
        Ok(opened)
    }

    /// Which directory it is, what it brings, and what the book says about that.
    fn brought(&self, problems: &mut Vec<Problem>) -> Result<Brought, OpenError> {
        let files = WorkspaceFiles(&self.workspace);
        let identity = files.identity()?;
        let mut tell = |problem: String| problems.push(Problem { origin: self.whole(), problem });
        let manifest = match Manifest::of(&files) {
            Ok(manifest) => Some(manifest),
            Err(error) => {
                tell(format!("it cannot be trusted: {error}"));
                None
            }
        };
        let standing = match &manifest {
            None => Standing::Unknown,
            Some(manifest) => self.book.standing(&identity, manifest).unwrap_or_else(|error| {
                tell(format!("it is not trusted, since nobody knows whether it was: {error}"));
                Standing::Unknown
            }),
        };
        Ok(Brought { identity, manifest, standing })
    }

    /// The files of the workspace, as they are.
    fn found(&self) -> Vec<Found> {
        let files = WorkspaceFiles(&self.workspace);
        OF_THE_WORKSPACE.iter().map(|source| (source, source.read(&files))).collect()
    }

    /// Whether what the files say may take effect: somebody said so about these very bytes.
    fn trust(&self, brought: &Brought, found: &[Found], problems: &mut Vec<Problem>) -> Trust {
        let said = brought.standing.is_trusted() || self.consent == Consent::Given;
        let Some(manifest) = brought.manifest.as_ref().filter(|_| said) else { return Trust::Untrusted };
        let swapped = found.iter().find(|(source, read)| match read {
            Ok(Some(bytes)) => !manifest.holds(source.path, bytes),
            Ok(None) => manifest.files().any(|(path, _)| path == source.path),
            Err(_) => false,
        });
        let Some((source, _)) = swapped else { return Trust::Trusted };
        let problem = "it changed while the workspace was opened, which is not trusted therefore".to_owned();
        problems.push(Problem { origin: self.origin(source), problem });
        Trust::Untrusted
    }

    fn origin(&self, source: &Source) -> Origin {
        Origin::file(source.level, self.workspace.path().join(source.path))
    }

    fn whole(&self) -> Origin {
        Origin::file(Level::Project, self.workspace.path())
    }
}

/// A file of the person's own, parsed.
fn document(own: &Own) -> Result<Option<Document>, OpenError> {
    let origin = Origin::file(own.level, &own.path);
    let unreadable = |reason| OpenError::Unreadable { origin: Box::new(origin.clone()), reason };
    let Some(bytes) = own.read().map_err(unreadable)? else { return Ok(None) };
    let text = String::from_utf8(bytes).map_err(|_| unreadable("it is not UTF-8".to_owned()))?;
    Ok(Some(Document::parse(&text, own.format, origin)?))
}
