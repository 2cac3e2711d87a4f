//! Adds the operations of OpenAPI documents to an agent that a program builds.

use std::path::Path;
use std::sync::Arc;

use lariat_connect::openapi::{OpenApiAdapter, OpenApiConfig, OpenApiError, OperationFilter};
use lariat_core::tool::AgentTool;
use lariat_runtime::AgentBuilder;

/// Gives an agent the operations of OpenAPI documents as tools, and keeps the credential out of everything that the agent
/// records, shows or sends to a model. Each operation is one tool; select few of them.
///
/// The document is read once. A program that reads it again must compare it: its descriptions are text that the model obeys.
pub trait OpenApiTools: Sized {
    /// Adds the operations of a document in a file.
    ///
    /// # Errors
    /// If the file cannot be read, or the document or the configuration is not valid.
    fn with_openapi_file(
        self,
        path: &Path,
        config: &OpenApiConfig,
        filter: &OperationFilter,
    ) -> impl Future<Output = Result<Self, OpenApiError>> + Send;

    /// Adds the operations of a document at an address, which is fetched without the credential.
    ///
    /// # Errors
    /// If the document cannot be fetched, or the document or the configuration is not valid.
    fn with_openapi_url(
        self,
        url: &str,
        config: &OpenApiConfig,
        filter: &OperationFilter,
    ) -> impl Future<Output = Result<Self, OpenApiError>> + Send;

    /// Adds the operations of a document, as JSON or YAML.
    ///
    /// # Errors
    /// If the document or the configuration is not valid.
    fn with_openapi_spec(
        self,
        document: &str,
        config: &OpenApiConfig,
        filter: &OperationFilter,
    ) -> Result<Self, OpenApiError>;
}

impl OpenApiTools for AgentBuilder {
    async fn with_openapi_file(
        self,
        path: &Path,
        config: &OpenApiConfig,
        filter: &OperationFilter,
    ) -> Result<Self, OpenApiError> {
        let tools = OpenApiAdapter::from_file(path, config, filter).await?;
        Ok(with_tools(self, tools, config))
    }

    async fn with_openapi_url(
        self,
        url: &str,
        config: &OpenApiConfig,
        filter: &OperationFilter,
    ) -> Result<Self, OpenApiError> {
        let tools = OpenApiAdapter::from_url(url, config, filter).await?;
        Ok(with_tools(self, tools, config))
    }

    fn with_openapi_spec(
        self,
        document: &str,
        config: &OpenApiConfig,
        filter: &OperationFilter,
    ) -> Result<Self, OpenApiError> {
        let tools = OpenApiAdapter::from_str(document, config, filter)?;
        Ok(with_tools(self, tools, config))
    }
}

fn with_tools(builder: AgentBuilder, tools: Vec<OpenApiAdapter>, config: &OpenApiConfig) -> AgentBuilder {
    let tools = tools.into_iter().map(|tool| Arc::new(tool) as Arc<dyn AgentTool>);
    let builder = builder.tools(tools);
    match config.auth.secret() {
        Some(secret) => builder.secret("credential of an API", secret),
        None => builder,
    }
}
