//! A provider written by hand: `cargo run -p lariat --example provider`.

use futures_util::{StreamExt, stream};
use lariat::message::StopReason;
use lariat::model::{ModelStream, StreamConfig, StreamEvent};
use lariat::{Agent, CancellationToken, StreamProvider, Usage};

/// Repeats the last message, word by word.
struct Echo;

impl StreamProvider for Echo {
    fn provider_id(&self) -> &str {
        "echo"
    }

    fn stream(&self, request: StreamConfig, cancel: CancellationToken) -> ModelStream {
        let last = request.messages.iter().filter_map(|message| message.as_llm()).last();
        let text = last.map(|message| message.text()).unwrap_or_default();
        let words: Vec<String> = text.split_inclusive(' ').map(str::to_owned).collect();
        let usage = Usage::new(text.len() as u64, words.len() as u64);
        let chunk = |delta| Ok(StreamEvent::TextDelta { index: 0, delta });
        let start = Ok(StreamEvent::Start { model: request.model_config.id.clone() });
        let done = Ok(StreamEvent::Done { stop_reason: StopReason::Stop, usage });
        let events: Vec<_> =
            std::iter::once(start).chain(words.into_iter().map(chunk)).chain([done]).collect();
        stream::iter(events).take_until(cancel.cancelled()).boxed()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let print = |event: &lariat::AgentEvent| print!("{}", event.text_delta().unwrap_or_default());
    let agent = Agent::builder().model(Echo).on_event(print).build()?;
    let output = agent.run("Repeat these words to me.").await?;
    println!("\n{} tokens, {:?}", output.usage.total(), output.outcome);
    Ok(())
}
