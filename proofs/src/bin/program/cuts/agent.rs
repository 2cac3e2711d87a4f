//! Runs a conversation with an agent of the library, on real sockets. Its tools append to the ledger.

use std::io::Write as _;
use std::sync::Arc;

use lariat_core::BoxFuture;
use lariat_core::config::RetryConfig;
use lariat_core::permission::AllowAll;
use lariat_core::tool::{AgentTool, ToolContext, ToolError, ToolResult};
use lariat_model::ProviderRegistry;
use lariat_proofs::wire;
use lariat_runtime::Agent;
use serde_json::{Value, json};

use super::conversation::{Conversation, LAST_WORDS};
use super::mistake::{Mistake, MistakenProvider};

/// Runs the conversation to its end.
pub(crate) async fn run(
    conversation: &Arc<Conversation>,
    base_url: &str,
    provider: &ProviderRegistry,
    mistake: Option<Mistake>,
) -> Result<(), String> {
    let mut model = wire::model(conversation.wire, base_url);
    model.reasoning = false;
    let tool =
        |name, parameters| Recorder { name, parameters, conversation: Arc::clone(conversation), mistake };
    let path = json!({ "type": "string" });
    let removing = json!({
        "type": "object",
        "properties": { "path": path, "all": { "type": "boolean" }, "count": { "type": "integer" } },
        "required": ["path"],
    });
    let builder = Agent::builder();
    let builder = match mistake.filter(|mistake| mistake.is_of_the_provider()) {
        Some(mistake) => {
            builder.provider(MistakenProvider::new(provider.clone(), Arc::clone(conversation), mistake))
        }
        None => builder.provider(provider.clone()),
    };
    // The usual delays would only make the proof slow.
    let mut retry = RetryConfig::default();
    (retry.initial_delay_ms, retry.max_delay_ms) = (1, 2);
    let agent = builder
        .model_config(model)
        .system_prompt("You do as you are asked.")
        .tool(tool("remove", removing))
        .tool(tool("empty_bin", json!({ "type": "object", "properties": {} })))
        .permission_policy(AllowAll)
        .repetition(None)
        .retry(retry)
        .build()
        .map_err(|error| error.to_string())?;
    let output = agent.run("Remove what is old.").await.map_err(|error| error.to_string())?;
    if !output.outcome.is_completed() {
        return Err(format!("ended as {:?}", output.outcome));
    }
    if output.text != LAST_WORDS {
        return Err(format!("ended with the words {:?}", output.text));
    }
    Ok(())
}

/// A tool with every effect, which appends its call to the ledger.
struct Recorder {
    name: &'static str,
    parameters: Value,
    conversation: Arc<Conversation>,
    mistake: Option<Mistake>,
}

impl Recorder {
    fn record(&self, id: &str, arguments: &Value) -> std::io::Result<()> {
        let mut ledger =
            std::fs::OpenOptions::new().create(true).append(true).open(&self.conversation.ledger)?;
        let line = match self.mistake {
            Some(Mistake::CutsArguments) => format!("{id} {}\n", arguments.to_string().replace("/old", "")),
            _ => format!("{id} {arguments}\n"),
        };
        ledger.write_all(line.as_bytes())
    }
}

impl AgentTool for Recorder {
    fn name(&self) -> &str {
        self.name
    }

    fn description(&self) -> &str {
        "Removes something for ever."
    }

    fn parameters_schema(&self) -> Value {
        self.parameters.clone()
    }

    fn execute<'a>(
        &'a self,
        params: Value,
        context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        Box::pin(async move {
            let id = context.tool_call_id.to_string();
            let times = if self.mistake == Some(Mistake::RunsTwice) { 2 } else { 1 };
            for _ in 0..times {
                self.record(&id, &params).map_err(|error| ToolError::Failed(error.to_string()))?;
            }
            Ok(ToolResult::text(Conversation::output(&id)))
        })
    }
}
