//! The directories of a project that bring something: its root, those on the way to where the session works, and those above
//! the root whose instructions would count.
//!
//! Owns what the person's word is worth for all of them together. Each is trusted by itself, so that trust in a project
//! covers its root from wherever it is opened. Invariant: together they are trusted only when the root is, and every other
//! one that brings something.

use std::path::Path;

use lariat_guard::trust::{Difference, Identity, Look as _, Manifest, Standing, TrustBook};
use lariat_guard::{Level, Origin};
use lariat_host::files::Workspace;

use super::files::ProjectFiles;
use super::open::OpenError;
use super::{Problem, WorkspaceFiles};

/// A directory of a project, what it brings, and what the person's word on that is worth.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) identity: Identity,
    /// None when it cannot be listed.
    pub(crate) manifest: Option<Manifest>,
    pub(crate) standing: Standing,
    place: Place,
}

/// Where a directory is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    /// In the project, by its path there; empty for the root.
    Inside(String),
    /// Above it.
    Above,
}

impl Part {
    /// Its path in the project, if it is in there.
    pub(crate) fn inside(&self) -> Option<&str> {
        match &self.place {
            Place::Inside(directory) => Some(directory),
            Place::Above => None,
        }
    }

    /// A file of it as it is shown: by its path in the project, or as a whole.
    pub(crate) fn shown(&self, file: &str) -> String {
        match self.place {
            Place::Inside(_) => file.to_owned(),
            Place::Above => Path::new(&self.identity.path).join(file).display().to_string(),
        }
    }

    fn is_root(&self) -> bool {
        self.inside() == Some("")
    }
}

/// Every directory of a project that may bring something; the root first.
pub(super) fn gather(
    files: &ProjectFiles<'_>,
    book: &TrustBook,
    problems: &mut Vec<Problem>,
) -> Result<Vec<Part>, OpenError> {
    let territory = files.territory;
    let mut parts = Vec::new();
    for directory in territory.way().iter().filter_map(|directory| directory.to_str()) {
        let identity = match directory {
            "" => files.files.identity()?,
            _ => match Workspace::open(territory.root().join(directory)) {
                Ok(workspace) => WorkspaceFiles(&workspace).identity()?,
                Err(error) => return Err(OpenError::Directory(std::io::Error::other(error))),
            },
        };
        let manifest = Manifest::of_directory(files, directory).map_err(|error| error.to_string());
        parts.push(part(identity, manifest, Place::Inside(directory.to_owned()), book, problems));
    }
    let root = territory.root();
    for above in root.ancestors().skip(1).take(territory.above().len()) {
        // One that cannot be opened cannot be read, either.
        let Ok(workspace) = Workspace::open(above) else { continue };
        let workspace = workspace.without_hints();
        let files = ProjectFiles { files: WorkspaceFiles(&workspace), territory };
        let manifest = Manifest::of_instructions(&files).map_err(|error| error.to_string());
        if manifest.as_ref().is_ok_and(Manifest::is_empty) && files.entries("").is_ok() {
            // A file that is gone instructs no model, so there is nothing to ask.
            continue;
        }
        parts.push(part(files.files.identity()?, manifest, Place::Above, book, problems));
    }
    Ok(parts)
}

fn part(
    identity: Identity,
    manifest: Result<Manifest, String>,
    place: Place,
    book: &TrustBook,
    problems: &mut Vec<Problem>,
) -> Part {
    let mut tell = |problem: String| {
        problems.push(Problem { origin: Origin::file(Level::Project, &identity.path), problem });
    };
    let (manifest, standing) = match manifest {
        Err(error) => {
            tell(format!("it cannot be trusted: {error}"));
            (None, Standing::Unknown)
        }
        Ok(manifest) => {
            let standing = book.standing(&identity, &manifest).unwrap_or_else(|error| {
                tell(format!(
                    "it is not trusted, because the list of trusted projects cannot be used: {error}"
                ));
                Standing::Unknown
            });
            (Some(manifest), standing)
        }
    };
    Part { identity, manifest, standing, place }
}

/// What the person's word on a project is worth.
pub(super) fn together(parts: &[Part]) -> Standing {
    let differences: Vec<Difference> = parts
        .iter()
        .filter_map(|part| match &part.standing {
            Standing::Changed(differences) => Some((part, differences)),
            _ => None,
        })
        .flat_map(|(part, differences)| {
            let named = |one: &Difference| Difference { path: part.shown(&one.path), ..one.clone() };
            differences.iter().map(named).collect::<Vec<_>>()
        })
        .collect();
    if !differences.is_empty() {
        return Standing::Changed(differences);
    }
    let is_root_trusted = parts.iter().any(|part| part.is_root() && part.standing.is_trusted());
    let brings = |part: &Part| part.manifest.as_ref().is_none_or(|manifest| !manifest.is_empty());
    if parts.iter().any(|part| part.standing == Standing::Unknown) {
        return Standing::Unknown;
    }
    match (is_root_trusted, parts.iter().any(brings)) {
        (true, _) => Standing::Trusted,
        (false, true) => Standing::Unknown,
        (false, false) => Standing::Harmless,
    }
}
