//! The APIs of a session: which OpenAPI documents are configured, and which of their operations the user accepted.
//!
//! - `entries`: the configured APIs; the user's own entries come before a project's.
//! - `builder`: adds operations to an agent that a program builds.
//! - `accepted`: the operations that the user accepted, in the state directory.
//!
//! Invariants: a session reads no document. It offers exactly the operations that the user accepted, and sends requests only
//! to the base address of the entry. An untrusted project has no entries.

mod accepted;
mod builder;
mod entries;

use std::path::Path;
use std::sync::Arc;

use lariat_connect::tool_change::tool_changes;
use lariat_core::tool::AgentTool;
use lariat_model::http::ClientConfig;
use serde::Serialize;

use crate::UserDirectories;
pub use crate::configured_entries::EntryScope;
use crate::loaded_project::LoadedProject;
use crate::models::Keys;
use accepted::AcceptedOperations;
pub use builder::OpenApiTools;
pub use entries::{ApiEntry, AuthReference};
pub use lariat_connect::openapi::{
    InternalAddresses, OpenApiAdapter, OpenApiAuth, OpenApiConfig, OpenApiDocument, OpenApiError, Operation,
    OperationFilter, OperationList, is_same_host,
};
pub use lariat_connect::tool_change::ToolChange;

/// Maximum number of tools of one API: more would fill the context window of a model.
pub const MAX_TOOLS: usize = 128;

/// What a front end shows about an API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ApiReport {
    /// Its name.
    pub name: String,
    /// `ready`, `new` (the user did not accept its operations yet), `failed` or `untrusted`.
    pub status: &'static str,
    /// Why it is not ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How many of its operations the model is offered.
    pub tools: usize,
}

impl ApiReport {
    fn refused(name: &str, status: &'static str, error: String) -> Self {
        Self { name: name.to_owned(), status, error: Some(error), tools: 0 }
    }
}

/// A document that was read again, compared with what the user accepted.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReadApi {
    /// Title of the document.
    pub title: String,
    /// Hash of the document.
    pub hash: String,
    /// The operations that the entry selects.
    pub operations: Vec<Operation>,
    /// The selected operations that cannot be tools, each with its reason.
    pub left_out: Vec<String>,
    /// How the operations differ from the accepted ones.
    pub changes: Vec<ToolChange>,
}

/// The configured APIs of a directory.
pub struct OpenApis {
    entries: Vec<(ApiEntry, Vec<Operation>)>,
    refused: Vec<ApiReport>,
    notices: Vec<String>,
    folders: UserDirectories,
    client: ClientConfig,
}

impl OpenApis {
    /// The APIs that apply in a directory. Contacts none.
    pub(crate) fn new(
        place: &LoadedProject,
        folders: &UserDirectories,
        keys: &dyn Keys,
        client: &ClientConfig,
    ) -> Self {
        let (found, mut refused) = entries::of(place, keys);
        let (mut entries, mut notices) = (Vec::new(), Vec::new());
        for entry in found {
            let name = entry.name.clone();
            match AcceptedOperations::of(folders, &entry.identity).load() {
                Ok(record) if record.hash.is_empty() => {
                    let why = format!(
                        "you did not accept its operations yet; hint: run `lariat openapi trust {name}`"
                    );
                    refused.push(ApiReport::refused(&name, "new", why));
                    entries.push((entry, Vec::new()));
                }
                Ok(record) => {
                    if entry.file().is_some_and(|file| is_changed(file, &record.hash)) {
                        notices.push(format!(
                            "the document of the API `{name}` changed, and the tools are those that you accepted; hint: run `lariat openapi trust {name}`"
                        ));
                    }
                    entries.push((entry, record.operations));
                }
                Err(error) => {
                    let why =
                        format!("{error}; hint: delete the file, then run `lariat openapi trust {name}`");
                    refused.push(ApiReport::refused(&name, "failed", why));
                }
            }
        }
        Self { entries, refused, notices, folders: folders.clone(), client: client.clone() }
    }

    /// The entries, by name.
    pub fn entries(&self) -> impl Iterator<Item = &ApiEntry> {
        self.entries.iter().map(|(entry, _)| entry)
    }

    /// The accepted operations of an API; `None` if no API has this name.
    pub fn operations(&self, name: &str) -> Option<&[Operation]> {
        self.entries.iter().find(|(entry, _)| entry.name == name).map(|(_, operations)| operations.as_slice())
    }

    /// What to show about each API.
    pub fn reports(&self) -> Vec<ApiReport> {
        let ready = self.entries.iter().filter(|(_, operations)| !operations.is_empty());
        let report = |(entry, operations): &(ApiEntry, Vec<Operation>)| ApiReport {
            name: entry.name.clone(),
            status: "ready",
            error: None,
            tools: operations.len(),
        };
        let mut reports: Vec<ApiReport> = ready.map(report).chain(self.refused.iter().cloned()).collect();
        reports.sort_by(|one, other| one.name.cmp(&other.name));
        reports
    }

    /// The secret values of all credentials, each with the name of its API.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = (String, String)> {
        let secret = |(entry, _): &(ApiEntry, Vec<Operation>)| {
            Some((format!("credential of {}", entry.name), entry.config.auth.secret()?.to_owned()))
        };
        self.entries.iter().filter_map(secret)
    }

    /// The tools of all accepted operations.
    pub(crate) fn tools(&self, notices: &mut Vec<String>) -> Vec<Arc<dyn AgentTool>> {
        for refused in &self.refused {
            let why = refused.error.as_deref().unwrap_or_default();
            notices.push(format!("API `{}` has no tools: {why}", refused.name));
        }
        notices.extend(self.notices.iter().cloned());
        let mut tools: Vec<Arc<dyn AgentTool>> = Vec::new();
        for (entry, _) in self.entries.iter().filter(|(_, operations)| !operations.is_empty()) {
            match self.adapters(&entry.name) {
                Ok(adapters) => {
                    tools.extend(adapters.into_iter().map(|adapter| Arc::new(adapter) as Arc<dyn AgentTool>));
                }
                Err(error) => notices.push(format!("API `{}` has no tools: {error}", entry.name)),
            }
        }
        tools
    }

    /// The tools of one API.
    ///
    /// # Errors
    /// If its configuration is not valid. An unknown name has no tools.
    pub fn adapters(&self, name: &str) -> Result<Vec<OpenApiAdapter>, OpenApiError> {
        let Some((entry, operations)) = self.entries.iter().find(|(entry, _)| entry.name == name) else {
            return Ok(Vec::new());
        };
        let mut config = entry.config.clone();
        config.client = self.client.clone();
        OpenApiAdapter::from_operations(operations.clone(), &config)
    }

    /// Reads a document from an address, or from a file. Sends no credential.
    ///
    /// # Errors
    /// If the document cannot be read or is not valid.
    pub async fn document(
        &self,
        source: &str,
        internal: InternalAddresses,
    ) -> Result<OpenApiDocument, OpenApiError> {
        match entries::is_address(source) {
            true => OpenApiDocument::fetch(source, &self.client, internal).await,
            false => OpenApiDocument::read(Path::new(source)).await,
        }
    }

    /// Reads the document of an API again and compares it with what the user accepted. `None` if no API has this name.
    ///
    /// # Errors
    /// If the document cannot be read, or selects too many operations.
    pub async fn read(&self, name: &str) -> Option<Result<ReadApi, String>> {
        let (entry, accepted) = self.entries.iter().find(|(entry, _)| entry.name == name)?;
        let document = self.document(&entry.source, entry.config.internal).await;
        Some(document.map_err(|error| error.to_string()).and_then(|document| {
            let list = selected(&document, name, &entry.filter)?;
            let changes = tool_changes(accepted, &list.operations);
            Ok(ReadApi {
                title: document.title(),
                hash: document.hash().to_owned(),
                operations: list.operations,
                left_out: list.left_out,
                changes,
            })
        }))
    }

    /// Accepts the operations that [`read`](Self::read) returned.
    ///
    /// # Errors
    /// If the record cannot be written.
    pub fn accept(&self, name: &str, read: &ReadApi) -> Result<(), String> {
        let Some(entry) = self.entries().find(|entry| entry.name == name) else { return Ok(()) };
        let accepted = AcceptedOperations::of(&self.folders, &entry.identity);
        accepted.save(name, &read.hash, &read.operations).map_err(|error| error.to_string())
    }
}

/// Checks the name of an API: rules must be able to tell its tools from those of others.
///
/// # Errors
/// What is wrong with the name.
pub fn check_name(name: &str) -> Result<(), String> {
    entries::check_name(name)
}

/// The operations of a document that a filter selects, named for rules.
///
/// # Errors
/// If there are none, or too many for a model.
pub fn selected(
    document: &OpenApiDocument,
    name: &str,
    filter: &OperationFilter,
) -> Result<OperationList, String> {
    let list = document.operations(Some(&format!("openapi__{name}")), filter);
    match list.operations.len() {
        0 => Err("no operation of the document is selected".to_owned()),
        count if count > MAX_TOOLS => Err(format!(
            "{count} operations are selected, more than {MAX_TOOLS}, the maximum of an API; hint: select fewer with `--include PATTERN`, for example `--include 'tag:NAME'`"
        )),
        _ => Ok(list),
    }
}

/// Whether a file differs from what the user accepted. A missing file has not changed.
fn is_changed(file: &Path, hash: &str) -> bool {
    matches!(OpenApiDocument::hash_of_file(file), Ok(current) if current != hash)
}
