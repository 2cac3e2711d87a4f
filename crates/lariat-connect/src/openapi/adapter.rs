//! Operations as tools of an agent.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use lariat_core::BoxFuture;
use lariat_core::display;
use lariat_core::tool::{AgentTool, ToolContext, ToolEffects, ToolError, ToolResult};
use serde_json::{Map, Value, json};
use url::Url;

use super::address;
use super::config::{OpenApiConfig, OperationEffects};
use super::document::OpenApiDocument;
use super::error::OpenApiError;
use super::filter::OperationFilter;
use super::operation::Operation;
use super::request::{self, PreparedRequest};
use super::send::ApiServer;

/// An operation of an API, as a tool.
///
/// ```
/// use lariat_connect::openapi::{OpenApiAdapter, OpenApiConfig, OperationFilter};
/// use lariat_core::tool::AgentTool as _;
///
/// let document = "openapi: 3.1.0\npaths:\n  /pets/{id}:\n    get:\n      operationId: showPet\n";
/// let config = OpenApiConfig::default().with_base_url("https://pets.example/v1");
/// let tools = OpenApiAdapter::from_str(document, &config, &OperationFilter::All)?;
/// assert_eq!(tools[0].name(), "showPet");
/// assert_eq!(tools[0].parameters_schema()["required"][0], "id");
/// # Ok::<(), lariat_connect::openapi::OpenApiError>(())
/// ```
pub struct OpenApiAdapter {
    operation: Operation,
    server: Arc<ApiServer>,
    effects: ToolEffects,
}

impl OpenApiAdapter {
    /// Returns a tool for each operation of a document that the filter selects. Leaves out the operations that cannot be
    /// tools; [`OpenApiDocument::operations`] says why.
    ///
    /// # Errors
    /// If the document or the configuration is not valid, or names no server.
    pub fn from_str(
        text: &str,
        config: &OpenApiConfig,
        filter: &OperationFilter,
    ) -> Result<Vec<Self>, OpenApiError> {
        Self::from_document(&OpenApiDocument::parse(text)?, config, filter, None)
    }

    /// Like [`from_str`](Self::from_str), for a file.
    ///
    /// # Errors
    /// As [`from_str`](Self::from_str), and if the file cannot be read.
    pub async fn from_file(
        path: &Path,
        config: &OpenApiConfig,
        filter: &OperationFilter,
    ) -> Result<Vec<Self>, OpenApiError> {
        Self::from_document(&OpenApiDocument::read(path).await?, config, filter, None)
    }

    /// Like [`from_str`](Self::from_str), for a document at an address, which is fetched without a credential.
    ///
    /// # Errors
    /// As [`from_str`](Self::from_str), and if the document cannot be fetched.
    pub async fn from_url(
        url: &str,
        config: &OpenApiConfig,
        filter: &OperationFilter,
    ) -> Result<Vec<Self>, OpenApiError> {
        let document = OpenApiDocument::fetch(url, &config.client, config.internal).await?;
        Self::from_document(&document, config, filter, Some(&address::parse(url)?))
    }

    /// Returns a tool for each operation. Requests go to the base address of the configuration.
    ///
    /// # Errors
    /// If the configuration is not valid, or has no base address.
    pub fn from_operations(
        operations: Vec<Operation>,
        config: &OpenApiConfig,
    ) -> Result<Vec<Self>, OpenApiError> {
        let base = config.base_url.as_deref();
        let base = base.ok_or_else(|| OpenApiError::Config("the base address is missing".to_owned()))?;
        Self::at(address::with_plain_path(address::parse(base)?)?, operations, config)
    }

    fn from_document(
        document: &OpenApiDocument,
        config: &OpenApiConfig,
        filter: &OperationFilter,
        source: Option<&Url>,
    ) -> Result<Vec<Self>, OpenApiError> {
        let base = address::base(config, document, source)?;
        Self::at(base, document.operations(config.name_prefix.as_deref(), filter).operations, config)
    }

    fn at(base: Url, operations: Vec<Operation>, config: &OpenApiConfig) -> Result<Vec<Self>, OpenApiError> {
        let server = Arc::new(ApiServer::new(base, config)?);
        let tool = |mut operation: Operation| {
            hide_credentials(&mut operation, &server);
            let reads = operation.is_read_only() && config.effects == OperationEffects::ByMethod;
            let effects = ToolEffects::READS.and(ToolEffects::NETWORK);
            let effects = if reads { effects } else { effects.and(ToolEffects::WRITES) };
            Self { operation, server: Arc::clone(&server), effects }
        };
        Ok(operations.into_iter().map(tool).collect())
    }

    /// The operation.
    pub const fn operation(&self) -> &Operation {
        &self.operation
    }

    fn prepare(&self, arguments: &Value) -> Result<PreparedRequest, ToolError> {
        let none = Map::new();
        let arguments = match arguments {
            Value::Object(arguments) => arguments,
            Value::Null => &none,
            _ => return Err(ToolError::InvalidArgs("the arguments are not a JSON object".to_owned())),
        };
        request::prepare(&self.operation, self.server.base(), arguments).map_err(ToolError::InvalidArgs)
    }
}

/// Removes the arguments that the configuration sets, so that a model neither sees nor sets them.
fn hide_credentials(operation: &mut Operation, server: &ApiServer) {
    let credentials = server.credentials();
    let (hidden, kept) = std::mem::take(&mut operation.parameters)
        .into_iter()
        .partition(|parameter| credentials.replaces(parameter.place, &parameter.name));
    let hidden: Vec<super::operation::Parameter> = hidden;
    operation.parameters = kept;
    for parameter in hidden {
        if let Some(properties) = operation.schema.get_mut("properties").and_then(Value::as_object_mut) {
            properties.remove(&parameter.argument);
        }
        if let Some(required) = operation.schema.get_mut("required").and_then(Value::as_array_mut) {
            required.retain(|name| name.as_str() != Some(parameter.argument.as_str()));
        }
    }
}

/// Shows no credential.
impl fmt::Debug for OpenApiAdapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenApiAdapter")
            .field("name", &self.operation.name)
            .field("method", &self.operation.method)
            .field("base", &self.server.base().as_str())
            .field("path", &self.operation.path)
            .finish_non_exhaustive()
    }
}

impl AgentTool for OpenApiAdapter {
    fn name(&self) -> &str {
        &self.operation.name
    }

    fn label(&self) -> &str {
        &self.operation.id
    }

    fn description(&self) -> &str {
        &self.operation.description
    }

    fn parameters_schema(&self) -> Value {
        self.operation.schema.clone()
    }

    fn effects(&self) -> ToolEffects {
        self.effects
    }

    fn is_parallel_safe(&self) -> bool {
        self.effects.changes_nothing()
    }

    fn preview<'a>(&'a self, params: &'a Value) -> BoxFuture<'a, Result<Option<String>, ToolError>> {
        let preview =
            self.prepare(params).map(|request| Some(display::block(&request.preview()).into_owned()));
        Box::pin(std::future::ready(preview))
    }

    fn execute<'a>(
        &'a self,
        params: Value,
        context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        Box::pin(async move {
            let request = self.prepare(&params)?;
            let response = tokio::select! {
                response = self.server.send(&request) => response?,
                () = context.cancel.cancelled() => {
                    let text = "the call was cancelled while the server worked".to_owned();
                    return Err(if self.operation.is_read_only() { ToolError::Cancelled } else { ToolError::Interrupted(text) });
                }
            };
            if !(200..300).contains(&response.status) {
                return Err(ToolError::Failed(response.text));
            }
            let details = json!({
                "method": self.operation.method, "operation": self.operation.id, "status": response.status,
            });
            Ok(ToolResult::text(response.text).with_details(details))
        })
    }
}
