//! Opens the store that the settings choose.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lariat_core::archive::SessionArchive;
use lariat_store::StoreOptions;
use lariat_store::jsonl::JsonlStore;
use lariat_store::sqlite::SqliteStore;

use crate::config::{StoreKind, StoreSettings};
use crate::private::{self, PriorAccess};
use crate::user_directories::fnv;
use crate::{ServiceError, UserDirectories};

/// A store that is open.
pub(crate) struct OpenStore {
    pub(crate) archive: Arc<dyn SessionArchive>,
    /// Notes for the user.
    pub(crate) notices: Vec<String>,
}

/// Tells the store of the settings from others, in one line without secrets.
pub(crate) fn name(folders: &UserDirectories, settings: &StoreSettings) -> String {
    let path = |default: PathBuf| settings.path.clone().unwrap_or(default).display().to_string();
    let place = match settings.kind {
        StoreKind::Sqlite => path(folders.sessions()),
        StoreKind::Jsonl => path(folders.session_files()),
        // Without the user and the password.
        StoreKind::Postgres => {
            let url = settings.url.as_deref().unwrap_or_default();
            let place = url.split_once('?').map_or(url, |(place, _)| place);
            place.rsplit_once('@').map_or(place, |(_, place)| place).to_owned()
        }
    };
    format!("{:?} {:016x}", settings.kind, fnv(place.as_bytes()))
}

/// Opens the store of the settings. Files of sessions are private to the user.
pub(crate) async fn open(
    folders: &UserDirectories,
    settings: &StoreSettings,
) -> Result<OpenStore, ServiceError> {
    let mut notices = Vec::new();
    let mut note = |path: &Path, before: PriorAccess| {
        if before == PriorAccess::Open {
            notices.push(format!("other users could read {}; fixed, now only you can", path.display()));
        }
    };
    let state =
        private::directory(&folders.state).map_err(|error| ServiceError::folder(&folders.state, error))?;
    note(&folders.state, state);
    let archive: Arc<dyn SessionArchive> = match settings.kind {
        StoreKind::Sqlite => {
            let path = settings.path.clone().unwrap_or_else(|| folders.sessions());
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            if let Some(folder) = folder {
                private::user_directory(folder).map_err(|error| ServiceError::folder(folder, error))?;
            }
            note(&path, private::database(&path).map_err(|error| ServiceError::folder(&path, error))?);
            Arc::new(SqliteStore::open(&path, StoreOptions::default()).await?)
        }
        StoreKind::Jsonl => {
            let path = settings.path.clone().unwrap_or_else(|| folders.session_files());
            note(&path, private::directory(&path).map_err(|error| ServiceError::folder(&path, error))?);
            Arc::new(JsonlStore::open(path, StoreOptions::default()).await?)
        }
        StoreKind::Postgres => postgres(settings).await?,
    };
    Ok(OpenStore { archive, notices })
}

#[cfg(feature = "postgres")]
async fn postgres(settings: &StoreSettings) -> Result<Arc<dyn SessionArchive>, ServiceError> {
    use lariat_store::postgres::{PostgresConfig, PostgresStore};

    let url = settings.url.as_deref().ok_or(ServiceError::NoStoreUrl)?;
    let config: PostgresConfig = url.parse()?;
    Ok(Arc::new(PostgresStore::connect(config, StoreOptions::default()).await?))
}

#[cfg(not(feature = "postgres"))]
async fn postgres(_: &StoreSettings) -> Result<Arc<dyn SessionArchive>, ServiceError> {
    let cause = "this program was built without PostgreSQL (feature `postgres`)";
    Err(lariat_core::store::StoreError::Unavailable(cause.to_owned()).into())
}
