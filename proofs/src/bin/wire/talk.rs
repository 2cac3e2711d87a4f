//! Runs a whole agent against a third-party server, with prompts until the model has called a tool and
//! replied with text.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lariat_core::BoxFuture;
use lariat_core::model::{ApiKey, ModelConfig};
use lariat_core::permission::AllowAll;
use lariat_core::tool::{AgentTool, ToolContext, ToolEffects, ToolError, ToolResult};
use lariat_model::ProviderRegistry;
use lariat_runtime::Agent;
use serde_json::{Value, json};

/// Prompts after which a server that chooses randomly has almost certainly done both.
const PROMPTS: usize = 25;

/// Talks to a server. Options: protocol, address, model, provider.
pub(crate) fn run(options: &[&str]) -> Result<bool, String> {
    let [api, base_url, id, provider] = options else {
        return Err("talk needs a protocol, an address, a model and a provider".to_owned());
    };
    let mut model = ModelConfig::new(*api, *id).with_base_url(*base_url);
    model.api_key = ApiKey::new("sk-test-key");
    model.provider = (*provider).to_owned();
    model.max_tokens = Some(2048);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let talked = runtime.map_err(|error| error.to_string())?.block_on(talk(model));
    match &talked {
        Ok(heard) => println!("{api} {base_url}: {heard}"),
        Err(error) => println!("{api} {base_url}: FAILED: {error}"),
    }
    Ok(talked.is_ok())
}

async fn talk(model: ModelConfig) -> Result<String, String> {
    let picked = Arc::new(AtomicUsize::new(0));
    let agent = Agent::builder()
        .model(ProviderRegistry::default())
        .model_config(model)
        .system_prompt("You pick sides.")
        .tool(Pick(Arc::clone(&picked)))
        .permission_policy(AllowAll)
        .repetition(None)
        .build()
        .map_err(|error| error.to_string())?;
    let (mut spoke, mut tokens, mut turns) = (0, 0, 0);
    for prompt in 1..=PROMPTS {
        let output = agent.run("Which side?").await.map_err(|error| error.to_string())?;
        if !output.outcome.is_completed() {
            return Err(format!("prompt {prompt} ended as {:?}", output.outcome));
        }
        spoke += usize::from(!output.text.trim().is_empty());
        tokens += output.usage.total();
        turns += output.turns;
        let calls = picked.load(Ordering::Relaxed);
        if calls > 1 && spoke > 1 {
            return Ok(format!("{prompt} prompts, {turns} turns, {calls} tool calls, {tokens} tokens"));
        }
    }
    Err(format!("after {PROMPTS} prompts: {} tool calls, {spoke} replies", picked.load(Ordering::Relaxed)))
}

/// A tool that counts how often a side is picked.
struct Pick(Arc<AtomicUsize>);

impl AgentTool for Pick {
    fn name(&self) -> &str {
        "pick"
    }

    fn description(&self) -> &str {
        "Picks a side."
    }

    fn parameters_schema(&self) -> Value {
        let side = json!({"type": "string", "enum": ["left", "right"]});
        json!({"type": "object", "properties": {"side": side}, "required": ["side"]})
    }

    fn effects(&self) -> ToolEffects {
        ToolEffects::NONE
    }

    fn execute<'a>(
        &'a self,
        params: Value,
        _context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        Box::pin(async move {
            let side = params.get("side").and_then(Value::as_str);
            let side = side.ok_or_else(|| ToolError::InvalidArgs("`side` must be a string".to_owned()))?;
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(ToolResult::text(format!("picked {side}")))
        })
    }
}
