//! A provider of one's own: `cargo run -p lariat --example provider`.

use futures_util::{StreamExt, stream};
use lariat::{
    Agent, CancellationToken, ModelStream, ProviderError, StopReason, StreamConfig, StreamEvent,
    StreamProvider, Usage,
};

/// Says what was said to it, word by word.
struct Echo;

impl StreamProvider for Echo {
    fn provider_id(&self) -> &str {
        "echo"
    }

    fn stream(&self, request: StreamConfig, cancel: CancellationToken) -> ModelStream {
        let said = request.messages.iter().filter_map(|message| message.as_llm()).last();
        let said = said.map(|message| message.text()).unwrap_or_default();
        let words: Vec<String> = said.split_inclusive(' ').map(str::to_owned).collect();
        let usage = Usage::new(said.len() as u64, words.len() as u64);
        let piece = |delta| Ok(StreamEvent::TextDelta { index: 0, delta });
        let start = Ok(StreamEvent::Start { model: request.model_config.id.clone() });
        let done = Ok(StreamEvent::Done { stop_reason: StopReason::Stop, usage });
        let events: Vec<_> =
            std::iter::once(start).chain(words.into_iter().map(piece)).chain([done]).collect();
        let stopped = stream::once(async { Err(ProviderError::Cancelled) });
        stream::iter(events).take_until(cancel.cancelled()).chain(stopped).boxed()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let print =
        |event: &lariat::AgentEvent| event.text_delta().into_iter().for_each(|text| print!("[{text}]"));
    let agent = Agent::builder().model(Echo).on_event(print).build()?;
    let output = agent.run("Nobody is here but us.").await?;
    println!("\n{} tokens, {:?}", output.usage.total(), output.outcome);
    Ok(())
}
