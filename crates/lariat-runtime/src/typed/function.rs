//! Tools made from async functions.
//!
//! Converts the JSON of a tool call to the function's arguments, and its return value to the result for the
//! model. This is a builder and not a derive macro: a macro would still need a struct for the arguments, an
//! attribute each for name, effects and label, and a crate of its own that every program compiles, and its
//! errors would point at generated code. Here, the schema is derived from the type of the arguments, the rest
//! is three method calls, and [`FunctionTool::with_state`] passes what the tool needs. (An `async` closure that
//! borrows what it captures cannot be a tool: Rust has no way to say that its future is `Send`.)
//!
//! Invariant: a tool call with arguments that do not match never reaches the function, and the model learns
//! which argument is wrong.

use std::any::Any;
use std::fmt::{self, Display};

use lariat_core::BoxFuture;
use lariat_core::tool::{AgentTool, ToolContext, ToolEffects, ToolError, ToolResult};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::answer_schema::schema_of;

type FunctionOutcome = Result<ToolResult, ToolError>;
type StartedFunction = Result<BoxFuture<'static, FunctionOutcome>, ToolError>;
type FunctionBody = Box<dyn Fn(Value, &[String], ToolContext) -> StartedFunction + Send + Sync>;

/// A tool made from an async function.
///
/// - The type of the arguments gives the schema; its doc comments become descriptions. A tool without
///   arguments takes `()`. For a few arguments that need no description, a tuple is enough: see
///   [`FunctionTool::names`].
/// - A [`ToolResult`] is returned unchanged, a string as text, everything else as JSON.
/// - Errors are reported to the model: a [`ToolError`] unchanged, everything else as a failure with its
///   message.
///
/// ```
/// use lariat_runtime::FunctionTool;
/// use lariat_core::tool::{AgentTool, ToolContext, ToolEffects};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Place {
///     /// A city.
///     city: String,
/// }
///
/// async fn weather(place: Place, _: ToolContext) -> Result<String, std::io::Error> {
///     Ok(format!("It rains in {}.", place.city))
/// }
///
/// let tool = FunctionTool::new("weather", "Returns the weather in a city.", weather).effects(ToolEffects::NETWORK);
/// assert_eq!(tool.parameters_schema()["properties"]["city"]["description"], "A city.");
/// ```
pub struct FunctionTool {
    name: String,
    label: Option<String>,
    description: String,
    parameters: Value,
    effects: ToolEffects,
    parallel_safe: Option<bool>,
    /// Names of the elements, if the arguments are a tuple.
    names: Vec<String>,
    body: FunctionBody,
}

impl FunctionTool {
    /// Creates a tool that is assumed to have all effects; see [`FunctionTool::effects`].
    pub fn new<Arguments, Work, Output, Error>(
        name: impl Into<String>,
        description: impl Into<String>,
        function: impl Fn(Arguments, ToolContext) -> Work + Send + Sync + 'static,
    ) -> Self
    where
        Arguments: DeserializeOwned + JsonSchema,
        Work: Future<Output = Result<Output, Error>> + Send + 'static,
        Output: Serialize + 'static,
        Error: Display + 'static,
    {
        let schema = schema_of::<Arguments>();
        let takes_nothing = schema.get("type").is_some_and(|kind| kind == "null");
        let body = move |params: Value, names: &[String], context: ToolContext| {
            let params = if takes_nothing { Value::Null } else { params };
            let work = function(arguments(params, names)?, context);
            Ok(Box::pin(async move { work.await.map_err(failure).and_then(result) }) as BoxFuture<'static, _>)
        };
        Self {
            name: name.into(),
            label: None,
            description: description.into(),
            parameters: if takes_nothing { json!({"type": "object", "properties": {}}) } else { schema },
            effects: ToolEffects::ALL,
            parallel_safe: None,
            names: Vec::new(),
            body: Box::new(body),
        }
    }

    /// Creates a tool from a function that only computes. It has no effects, so it runs without approval, and
    /// it is not async.
    ///
    /// ```
    /// # use lariat_runtime::FunctionTool;
    /// let add = FunctionTool::pure("add", "Adds two numbers.", |(a, b): (i64, i64)| Ok::<_, String>(a + b));
    /// let add = add.names(["a", "b"]);
    /// ```
    pub fn pure<Arguments, Output, Error>(
        name: impl Into<String>,
        description: impl Into<String>,
        function: impl Fn(Arguments) -> Result<Output, Error> + Send + Sync + 'static,
    ) -> Self
    where
        Arguments: DeserializeOwned + JsonSchema,
        Output: Serialize + Send + 'static,
        Error: Display + Send + 'static,
    {
        let function = move |arguments, _| std::future::ready(function(arguments));
        Self::new(name, description, function).effects(ToolEffects::NONE)
    }

    /// Like [`new`](Self::new), for a function that needs something of the program, such as a database pool:
    /// every call receives a clone of `state`.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use lariat_runtime::FunctionTool;
    /// let names = Arc::new(vec!["Ada".to_owned()]);
    /// let tool = FunctionTool::with_state("names", "Lists all names.", names, |names, (): (), _| async move {
    ///     Ok::<_, std::io::Error>(names.join(", "))
    /// });
    /// ```
    pub fn with_state<State, Arguments, Work, Output, Error>(
        name: impl Into<String>,
        description: impl Into<String>,
        state: State,
        function: impl Fn(State, Arguments, ToolContext) -> Work + Send + Sync + 'static,
    ) -> Self
    where
        State: Clone + Send + Sync + 'static,
        Arguments: DeserializeOwned + JsonSchema,
        Work: Future<Output = Result<Output, Error>> + Send + 'static,
        Output: Serialize + 'static,
        Error: Display + 'static,
    {
        Self::new(name, description, move |arguments, context| function(state.clone(), arguments, context))
    }

    /// Declares the tool's effects on the outside world. A tool without a declaration requires approval every
    /// time.
    pub const fn effects(mut self, effects: ToolEffects) -> Self {
        self.effects = effects;
        self
    }

    /// Names the arguments of a function that takes a tuple: one name for each element. An agent cannot be
    /// built with a tool whose tuple has no names, or another number of them.
    pub fn names<const N: usize>(mut self, names: [&str; N]) -> Self {
        let elements = self.parameters.get("prefixItems").and_then(Value::as_array);
        if let Some(elements) = elements.filter(|elements| elements.len() == N) {
            let is_optional = |schema: &Value| {
                schema
                    .get("type")
                    .and_then(Value::as_array)
                    .is_some_and(|kinds| kinds.contains(&json!("null")))
            };
            let named = || names.iter().zip(elements);
            let properties: Map<String, Value> =
                named().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
            let required: Value =
                named().filter(|(_, schema)| !is_optional(schema)).map(|(name, _)| *name).collect();
            let mut parameters = json!({"type": "object", "properties": properties, "required": required});
            let definitions = self.parameters.get("$defs").cloned();
            parameters.as_object_mut().into_iter().for_each(|parameters| {
                parameters.extend(definitions.clone().map(|schemas| ("$defs".to_owned(), schemas)));
            });
            self.parameters = parameters;
            self.names = names.map(str::to_owned).to_vec();
        }
        self
    }

    /// Sets a name for users.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Allows the tool to run in parallel with other tools of the same reply, although it changes something.
    pub const fn parallel_safe(mut self) -> Self {
        self.parallel_safe = Some(true);
        self
    }
}

impl AgentTool for FunctionTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn label(&self) -> &str {
        self.label.as_deref().unwrap_or(&self.name)
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn parameters_schema(&self) -> Value {
        self.parameters.clone()
    }

    fn effects(&self) -> ToolEffects {
        self.effects
    }

    fn is_parallel_safe(&self) -> bool {
        self.parallel_safe.unwrap_or_else(|| self.effects.is_read_only())
    }

    fn execute<'a>(&'a self, params: Value, context: ToolContext) -> BoxFuture<'a, FunctionOutcome> {
        match (self.body)(params, &self.names, context) {
            Ok(work) => work,
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }
}

impl fmt::Debug for FunctionTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionTool")
            .field("name", &self.name)
            .field("effects", &self.effects)
            .finish_non_exhaustive()
    }
}

/// Reads the arguments; `names` turn the object that the model sends into a tuple.
fn arguments<A: DeserializeOwned>(params: Value, names: &[String]) -> Result<A, ToolError> {
    let params = match names {
        [] => params,
        names => names.iter().map(|name| params.get(name).cloned().unwrap_or_default()).collect(),
    };
    serde_path_to_error::deserialize(&params).map_err(|error| {
        let path = error.path().to_string();
        let element = names.iter().enumerate().find_map(|(index, name)| {
            path.strip_prefix(&format!("[{index}]")).map(|rest| format!("{name}{rest}"))
        });
        let message = match element.as_deref().unwrap_or(&path) {
            "." => format!("invalid arguments: {}", error.inner()),
            path => format!("invalid argument `{path}`: {}", error.inner()),
        };
        ToolError::InvalidArgs(message)
    })
}

fn result<T: Serialize + 'static>(output: T) -> FunctionOutcome {
    let any: &dyn Any = &output;
    if let Some(result) = any.downcast_ref::<ToolResult>() {
        return Ok(result.clone());
    }
    let value = serde_json::to_value(&output);
    match value.map_err(|error| {
        ToolError::Failed(format!("the tool ran, but its result cannot be serialised: {error}"))
    })? {
        Value::String(text) => Ok(ToolResult::text(text)),
        Value::Null => Ok(ToolResult::text("Done.")),
        value => Ok(ToolResult::text(value.to_string())),
    }
}

fn failure<E: Display + 'static>(error: E) -> ToolError {
    let any: &dyn Any = &error;
    let own = any.downcast_ref::<ToolError>().cloned();
    own.unwrap_or_else(|| ToolError::Failed(error.to_string()))
}

#[cfg(test)]
#[path = "function_tests.rs"]
mod tests;
