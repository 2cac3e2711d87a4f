//! Collects the directories of a project that have configuration: its root, those down to the working directory, and those
//! above the root whose instructions would apply.
//!
//! Each directory is trusted separately, so that trust in a project covers its root from wherever it is opened. Together they are
//! trusted only if the root is, and every other directory that has configuration.

use std::path::Path;

use lariat_guard::trust::{Difference, Identity, Manifest, TrustStatus, TrustStore, WorkspaceReader as _};
use lariat_guard::{Level, Origin};
use lariat_host::files::Workspace;

use super::files::ProjectFiles;
use super::workspace_loader::OpenError;
use super::{LoadProblem, WorkspaceFiles};

/// A directory of a project, with its configuration and its recorded trust.
#[derive(Clone, Debug)]
pub(crate) struct ProjectDirectory {
    pub(crate) identity: Identity,
    /// `None` if it could not be listed.
    pub(crate) manifest: Option<Manifest>,
    pub(crate) standing: TrustStatus,
    place: DirectoryLocation,
}

/// The location of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
enum DirectoryLocation {
    /// In the project, at this path; empty for the root.
    Inside(String),
    /// Above the project.
    Above,
}

impl ProjectDirectory {
    /// Its path in the project; `None` if it is above.
    pub(crate) fn path_in_project(&self) -> Option<&str> {
        match &self.place {
            DirectoryLocation::Inside(directory) => Some(directory),
            DirectoryLocation::Above => None,
        }
    }

    /// The display path of a file in it: relative to the project, or absolute.
    pub(crate) fn display_path(&self, file: &str) -> String {
        match self.place {
            DirectoryLocation::Inside(_) => file.to_owned(),
            DirectoryLocation::Above => Path::new(&self.identity.path).join(file).display().to_string(),
        }
    }

    fn is_root(&self) -> bool {
        self.path_in_project() == Some("")
    }
}

/// Collects every directory that may have configuration, the root first.
pub(super) fn gather(
    files: &ProjectFiles<'_>,
    trust_store: &TrustStore,
    problems: &mut Vec<LoadProblem>,
) -> Result<Vec<ProjectDirectory>, OpenError> {
    let territory = files.territory;
    let mut directories = Vec::new();
    for directory in territory.directories_to_root().iter().filter_map(|directory| directory.to_str()) {
        let identity = match directory {
            "" => files.files.identity()?,
            _ => match Workspace::open(territory.root().join(directory)) {
                Ok(workspace) => WorkspaceFiles(&workspace).identity()?,
                Err(error) => return Err(OpenError::Directory(std::io::Error::other(error))),
            },
        };
        let manifest = Manifest::of_directory(files, directory).map_err(|error| error.to_string());
        directories.push(load_directory(
            identity,
            manifest,
            DirectoryLocation::Inside(directory.to_owned()),
            trust_store,
            problems,
        ));
    }
    let root = territory.root();
    for above in root.ancestors().skip(1).take(territory.directories_above_root().len()) {
        // A directory that cannot be opened cannot be read, either.
        let Ok(workspace) = Workspace::open(above) else { continue };
        let workspace = workspace.without_hints();
        let files = ProjectFiles { files: WorkspaceFiles(&workspace), territory };
        let manifest = Manifest::of_instructions(&files).map_err(|error| error.to_string());
        if manifest.as_ref().is_ok_and(Manifest::is_empty) && files.entries("").is_ok() {
            // Without instruction files, there is nothing to trust.
            continue;
        }
        directories.push(load_directory(
            files.files.identity()?,
            manifest,
            DirectoryLocation::Above,
            trust_store,
            problems,
        ));
    }
    Ok(directories)
}

fn load_directory(
    identity: Identity,
    manifest: Result<Manifest, String>,
    place: DirectoryLocation,
    trust_store: &TrustStore,
    problems: &mut Vec<LoadProblem>,
) -> ProjectDirectory {
    let mut tell = |problem: String| {
        problems.push(LoadProblem { origin: Origin::file(Level::Project, &identity.path), problem });
    };
    let (manifest, standing) = match manifest {
        Err(error) => {
            tell(format!("cannot be trusted: {error}"));
            (None, TrustStatus::Unknown)
        }
        Ok(manifest) => {
            let standing = trust_store.status(&identity, &manifest).unwrap_or_else(|error| {
                tell(format!(
                    "not trusted, because the record of trusted projects could not be read: {error}"
                ));
                TrustStatus::Unknown
            });
            (Some(manifest), standing)
        }
    };
    ProjectDirectory { identity, manifest, standing, place }
}

/// The recorded trust of all directories together.
pub(super) fn combined_trust(directories: &[ProjectDirectory]) -> TrustStatus {
    let differences: Vec<Difference> = directories
        .iter()
        .filter_map(|directory| match &directory.standing {
            TrustStatus::Changed(differences) => Some((directory, differences)),
            _ => None,
        })
        .flat_map(|(directory, differences)| {
            let named =
                |one: &Difference| Difference { path: directory.display_path(&one.path), ..one.clone() };
            differences.iter().map(named).collect::<Vec<_>>()
        })
        .collect();
    if !differences.is_empty() {
        return TrustStatus::Changed(differences);
    }
    let is_root_trusted =
        directories.iter().any(|directory| directory.is_root() && directory.standing.is_trusted());
    let brings = |directory: &ProjectDirectory| {
        directory.manifest.as_ref().is_none_or(|manifest| !manifest.is_empty())
    };
    if directories.iter().any(|directory| directory.standing == TrustStatus::Unknown) {
        return TrustStatus::Unknown;
    }
    match (is_root_trusted, directories.iter().any(brings)) {
        (true, _) => TrustStatus::Trusted,
        (false, true) => TrustStatus::Unknown,
        (false, false) => TrustStatus::Harmless,
    }
}
