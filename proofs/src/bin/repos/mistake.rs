//! Planted mistakes that an agent could make, and that the proof must notice.
//!
//! They wrap the product: its results are changed before they are used.

use lariat::local::{LoadedWorkspace, WorkspaceLoader};
use lariat::permission::Trust;
use lariat::permission::trust::{Identity, TrustStatus, TrustStore};

/// A planted mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mistake {
    /// Treats every workspace as trusted, as the headless modes of other agents did.
    TrustsEverything,
    /// Applies all settings of the workspace except its hooks.
    CountsInFull,
    /// Reads hooks before the user trusts the workspace.
    RunsHooksFirst,
    /// Passes variables of the workspace to commands.
    TakesVariables,
    /// Skips a file that cannot be read.
    PassesOver,
    /// Ignores what the workspace brings in `.git`.
    ForgetsGit,
    /// Approves everything.
    SaysYes,
    /// Binds trust to a name instead of a directory.
    TrustsByName,
    /// Ignores the scripts that commands name.
    ForgetsScripts,
    /// Treats only new files as a change, not modified ones.
    SeesOnlyNewFiles,
}

impl Mistake {
    pub(crate) const ALL: &'static [Self] = &[
        Self::TrustsEverything,
        Self::CountsInFull,
        Self::RunsHooksFirst,
        Self::TakesVariables,
        Self::PassesOver,
        Self::ForgetsGit,
        Self::SaysYes,
        Self::TrustsByName,
        Self::ForgetsScripts,
        Self::SeesOnlyNewFiles,
    ];

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|mistake| format!("{mistake:?}") == name)
    }

    /// Whether the mistake is about changed or moved workspaces.
    pub(crate) const fn is_about_trust(self) -> bool {
        matches!(self, Self::TrustsByName | Self::ForgetsScripts | Self::SeesOnlyNewFiles)
    }
}

/// Opens a workspace, with a planted mistake if given.
pub(crate) fn open(opening: WorkspaceLoader, mistake: Option<Mistake>) -> Result<LoadedWorkspace, String> {
    let mut opened = opening.open().map_err(|error| error.to_string())?;
    let full = || opening.with_trust_once().open().map_err(|error| error.to_string());
    match mistake {
        Some(Mistake::TrustsEverything) => return full(),
        Some(Mistake::CountsInFull) => {
            let full = full()?;
            opened.layers = full.layers;
            opened.trust = full.trust;
        }
        Some(Mistake::RunsHooksFirst) => opened.hooks = full()?.hooks,
        Some(Mistake::TakesVariables) => opened.values = full()?.values,
        Some(Mistake::ForgetsGit) => {
            let brings = |path: &str| !path.starts_with(".git");
            if opened
                .manifest
                .as_ref()
                .is_some_and(|manifest| !manifest.files().any(|(path, _)| brings(path)))
            {
                opened.trust = Trust::Trusted;
            }
        }
        _ => {}
    }
    Ok(opened)
}

/// The trust standing of a workspace, with a planted mistake if given.
pub(crate) fn standing(
    opened: &LoadedWorkspace,
    book: &TrustStore,
    mistake: Option<Mistake>,
) -> Result<TrustStatus, String> {
    let words = |error: lariat::permission::StateFileError| error.to_string();
    match (mistake, &opened.standing) {
        (Some(Mistake::TrustsByName), _) => {
            let name = |identity: &Identity| identity.path.rsplit('/').next().map(str::to_owned);
            let known = book.list().map_err(words)?;
            let known = known.into_iter().find(|trusted| name(&trusted.identity) == name(&opened.identity));
            match (known, &opened.manifest) {
                (Some(trusted), Some(manifest)) => book.status(&trusted.identity, manifest).map_err(words),
                _ => Ok(opened.standing.clone()),
            }
        }
        (Some(Mistake::ForgetsScripts), TrustStatus::Changed(differences)) => {
            let counts = |path: &str| path.starts_with('.') || path == "lariat.toml";
            let some = differences.iter().any(|one| counts(&one.path));
            Ok(if some { opened.standing.clone() } else { TrustStatus::Trusted })
        }
        (Some(Mistake::SeesOnlyNewFiles), TrustStatus::Changed(differences)) => {
            let some = differences.iter().any(|one| one.before.is_none());
            Ok(if some { opened.standing.clone() } else { TrustStatus::Trusted })
        }
        _ => Ok(opened.standing.clone()),
    }
}
