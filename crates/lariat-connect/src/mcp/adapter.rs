//! Tools of a server as tools of an agent.
//!
//! A tool declares every effect, whatever its server says, so the permission check treats it as one that may do anything.
//! What a server wrote for the model (descriptions, results) is neutralised: escape codes and invisible characters become
//! visible.

use std::sync::{Arc, OnceLock};

use lariat_core::BoxFuture;
use lariat_core::content::Content;
use lariat_core::display;
use lariat_core::tool::{AgentTool, ToolContext, ToolError, ToolResult};
use serde_json::{Map, Value, json};

use super::accepted_tool::AcceptedTool;
use super::client::{CallObserver, McpClient};
use super::content::{McpContent, McpToolCallResult, McpToolInfo};
use super::error::McpError;
use super::server::McpServer;

/// Maximum length of a tool's name: providers refuse longer ones.
const MAX_NAME: usize = 64;
/// Maximum size of a description, in bytes.
const MAX_DESCRIPTION: usize = 4 * 1024;
/// Maximum size of a schema, in bytes of JSON.
const MAX_SCHEMA: usize = 64 * 1024;
/// Maximum depth of a schema.
const MAX_DEPTH: usize = 32;
/// Types of images that models accept.
const IMAGES: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];

/// A tool of a server, for an agent.
pub struct McpToolAdapter {
    source: ToolSource,
    tool: AcceptedTool,
    name: String,
    label: String,
    description: String,
    /// The schema for models, when something needed it.
    schema: OnceLock<Result<Value, String>>,
}

/// Who calls the tool.
enum ToolSource {
    Client(Arc<McpClient>),
    Server(Arc<McpServer>),
}

impl McpToolAdapter {
    /// Asks a server for its tools and returns an adapter for each, with the server's own names. Leaves out the tools whose
    /// schemas providers would refuse.
    ///
    /// # Errors
    /// If the server does not list its tools.
    pub async fn from_client(client: Arc<McpClient>) -> Result<Vec<Self>, McpError> {
        let tools = client.list_tools().await?;
        let each =
            tools.into_iter().map(|info| Self::new(ToolSource::Client(Arc::clone(&client)), info.into(), ""));
        Ok(each.filter(|tool| tool.check().is_ok()).collect())
    }

    /// An adapter for each tool that the user accepted, named `mcp__server__tool`. Does not start the server. Also returns
    /// why other tools are left out.
    pub fn from_server(server: &Arc<McpServer>) -> (Vec<Self>, Vec<String>) {
        let (mut tools, mut problems) = (Self::unchecked_from_server(server), Vec::new());
        tools.retain(|tool| match tool.check() {
            Ok(()) => true,
            Err(why) => {
                problems.push(why);
                false
            }
        });
        (tools, problems)
    }

    /// Like [`from_server`](Self::from_server), with the tools whose schemas providers would refuse, and without parsing any
    /// schema: for tools that a model finds by a search, so that no provider receives their definitions.
    pub fn unchecked_from_server(server: &Arc<McpServer>) -> Vec<Self> {
        let prefix = format!("mcp__{}__", server.config().name);
        let mut tools: Vec<Self> = Vec::new();
        for tool in server.accepted_tools() {
            let tool = Self::new(ToolSource::Server(Arc::clone(server)), tool, &prefix);
            if tools.iter().all(|other| other.name != tool.name) {
                tools.push(tool);
            }
        }
        tools
    }

    fn new(source: ToolSource, tool: AcceptedTool, prefix: &str) -> Self {
        let mut description = display::block(tool.description()).into_owned();
        description.truncate(description.floor_char_boundary(MAX_DESCRIPTION));
        let (name, label) = (provider_name(prefix, tool.name()), display::line(tool.name()).into_owned());
        Self { source, tool, name, label, description, schema: OnceLock::new() }
    }

    /// Checks that providers accept the schema.
    ///
    /// # Errors
    /// Why they would not.
    pub fn check(&self) -> Result<(), String> {
        match self.schema() {
            Ok(_) => Ok(()),
            Err(why) => Err(format!("the tool `{}` is left out: {why}", self.label)),
        }
    }

    /// The size of the definition, in bytes: of its name, its description and its schema.
    pub fn definition_bytes(&self) -> usize {
        self.name.len() + self.description.len() + self.tool.schema_bytes()
    }

    fn schema(&self) -> Result<&Value, &String> {
        self.schema.get_or_init(|| usable_schema(&self.tool)).as_ref()
    }

    /// Names the tool `{prefix}__{name}`.
    pub fn with_prefix(mut self, prefix: &str) -> Self {
        self.name = provider_name(&format!("{prefix}__"), self.tool.name());
        self
    }

    /// The tool as the server describes it.
    pub fn info(&self) -> &McpToolInfo {
        self.tool.info()
    }

    async fn call(
        &self,
        arguments: Map<String, Value>,
        context: &ToolContext,
    ) -> Result<McpToolCallResult, McpError> {
        let report = |text: String| context.progress(text);
        let observer = CallObserver::new(&context.cancel, &report).with_user(context.on_question.clone());
        match &self.source {
            ToolSource::Client(client) => {
                let server = client.about().server.clone().unwrap_or_default();
                client.call_tool_for(&server, self.tool.name(), arguments, &observer).await
            }
            ToolSource::Server(server) => server.call_for(self.tool.info(), arguments, &observer).await,
        }
    }

    /// The name of the configured server; `None` for a client without configuration.
    pub fn server(&self) -> Option<&str> {
        match &self.source {
            ToolSource::Client(_) => None,
            ToolSource::Server(server) => Some(&server.config().name),
        }
    }
}

impl AgentTool for McpToolAdapter {
    fn name(&self) -> &str {
        &self.name
    }

    fn label(&self) -> &str {
        &self.label
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn parameters_schema(&self) -> Value {
        match self.schema() {
            Ok(schema) => schema.clone(),
            // The server checks the arguments itself.
            Err(why) => {
                json!({ "type": "object", "description": format!("The arguments are not known: {why}.") })
            }
        }
    }

    fn execute<'a>(
        &'a self,
        params: Value,
        context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        Box::pin(async move {
            let arguments = match params {
                Value::Object(arguments) => arguments,
                Value::Null => Map::new(),
                _ => return Err(ToolError::InvalidArgs("the arguments are not a JSON object".to_owned())),
            };
            let result = self.call(arguments, &context).await.map_err(|error| self.failure(error))?;
            self.result(result)
        })
    }
}

impl McpToolAdapter {
    fn result(&self, result: McpToolCallResult) -> Result<ToolResult, ToolError> {
        let mut content: Vec<Content> = result.content.into_iter().map(shown_content).collect();
        let has_text = content.iter().any(|block| block.as_text().is_some_and(|text| !text.is_empty()));
        if let Some(structured) = result.structured_content.as_ref().filter(|_| !has_text) {
            content.push(Content::text(display::json(&structured.to_string())));
        }
        if content.is_empty() {
            content.push(Content::text("The tool returned nothing."));
        }
        if result.is_error {
            return Err(ToolError::Failed(lariat_core::content::joined_text(&content)));
        }
        let mut details = json!({ "tool": self.tool.name() });
        if let (Some(server), Some(details)) = (self.server(), details.as_object_mut()) {
            details.insert("server".to_owned(), server.into());
        }
        if let (Some(structured), Some(details)) = (result.structured_content, details.as_object_mut()) {
            details.insert("structured".to_owned(), structured);
        }
        Ok(ToolResult { content, details, ..ToolResult::default() })
    }

    fn failure(&self, error: McpError) -> ToolError {
        let server = self.server().map(|name| format!("MCP server `{name}`: ")).unwrap_or_default();
        match error {
            McpError::LoginRequired { .. } => {
                let hint =
                    self.server().map(|name| format!("; hint: the user can run `lariat mcp login {name}`"));
                ToolError::Failed(format!("{server}{error}{}", hint.unwrap_or_default()))
            }
            McpError::ToolsChanged(_) | McpError::JsonRpc { .. } | McpError::Serialization(_) => {
                ToolError::Failed(format!("{server}{error}"))
            }
            // The request may have reached the server.
            McpError::ConnectionClosed(_) | McpError::TimedOut(_) | McpError::Cancelled => {
                ToolError::Interrupted(format!("{server}{error}"))
            }
            other => ToolError::Failed(format!("{server}{other}")),
        }
    }
}

/// Content of a server for a model: text is neutralised, and what models cannot see is described.
pub fn shown_content(content: McpContent) -> Content {
    match content {
        McpContent::Text { text } => Content::text(display::output(&text)),
        McpContent::Image { data, mime_type } if IMAGES.contains(&mime_type.as_str()) && is_base64(&data) => {
            Content::Image { data, mime_type }
        }
        McpContent::Image { data, mime_type } => {
            let kind = display::line(&mime_type).into_owned();
            Content::text(format!(
                "[an image of type {kind} that the model cannot see, {} bytes]",
                data.len()
            ))
        }
        McpContent::Other { description, text } => {
            let text = text.map(|text| format!("\n{}", display::output(&text))).unwrap_or_default();
            Content::text(format!("[{}]{text}", display::line(&description)))
        }
    }
}

/// Whether a text can be base64. Providers refuse a request with an image that is not.
fn is_base64(data: &str) -> bool {
    let body = data.trim_end_matches('=');
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    !body.is_empty()
        && data.len().is_multiple_of(4)
        && data.len() - body.len() <= 2
        && body.bytes().all(is_digit)
}

/// A name that providers accept. One that had to be changed ends with a hash, so that two tools never get the same name.
fn provider_name(prefix: &str, tool: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    let plain: String = tool.chars().map(|letter| if is_plain(letter) { letter } else { '_' }).collect();
    let full = format!("{prefix}{plain}");
    if plain == tool && full.len() <= MAX_NAME && !tool.is_empty() {
        return full;
    }
    let hash: String = blake3::hash(tool.as_bytes()).to_hex().chars().take(8).collect();
    let start: String = full.chars().take(MAX_NAME - hash.len() - 1).collect();
    format!("{start}_{hash}")
}

/// The schema in a form that providers accept, with neutralised descriptions.
fn usable_schema(tool: &AcceptedTool) -> Result<Value, String> {
    let size = tool.schema_bytes();
    if size > MAX_SCHEMA {
        return Err(format!("its schema has {size} bytes, more than {MAX_SCHEMA}"));
    }
    let mut schema = neutral(&tool.info().input_schema, 0)?;
    let fields = schema.as_object_mut().ok_or("its schema is not an object")?;
    // Providers refuse these at the top of a schema; the server checks the arguments itself.
    for combination in ["anyOf", "oneOf", "allOf", "not", "enum"] {
        fields.remove(combination);
    }
    fields.insert("type".to_owned(), "object".into());
    let properties = fields.entry("properties").or_insert_with(|| json!({}));
    let names = properties.as_object().ok_or("the `properties` of its schema are not an object")?.keys();
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    for name in names {
        if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(is_plain) {
            return Err(format!("models cannot use its argument `{}`", display::line(name)));
        }
    }
    Ok(schema)
}

fn neutral(value: &Value, depth: usize) -> Result<Value, String> {
    if depth > MAX_DEPTH {
        return Err(format!("its schema is nested more than {MAX_DEPTH} levels deep"));
    }
    Ok(match value {
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| {
                let value = match (name.as_str(), value) {
                    ("description" | "title", Value::String(text)) => {
                        display::block(text).into_owned().into()
                    }
                    _ => neutral(value, depth + 1)?,
                };
                Ok((name.clone(), value))
            };
            Value::Object(fields.iter().map(field).collect::<Result<_, String>>()?)
        }
        Value::Array(items) => {
            Value::Array(items.iter().map(|item| neutral(item, depth + 1)).collect::<Result<_, _>>()?)
        }
        other => other.clone(),
    })
}
