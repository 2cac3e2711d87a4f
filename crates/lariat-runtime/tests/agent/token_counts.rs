//! The provider's own token count, where an estimate decides about compaction.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lariat_core::BoxFuture;
use lariat_core::cancel::CancellationToken;
use lariat_core::config::ContextConfig;
use lariat_core::event::AgentEvent;
use lariat_core::model::{ModelStream, ProviderError, StreamConfig, StreamProvider};
use lariat_test::{Reply, ScriptedModel};

use crate::fixture::Fixture;

/// How a provider responds to the request for a count.
#[derive(Clone, Copy, Debug)]
enum Response {
    Count(u64),
    Error,
    Panic,
    Silence,
}

/// A scripted model whose provider can be asked for the size of a request.
struct CountingProvider {
    model: Arc<ScriptedModel>,
    response: Response,
    asked: Arc<AtomicUsize>,
}

impl StreamProvider for CountingProvider {
    fn provider_id(&self) -> &str {
        self.model.provider_id()
    }

    fn stream(&self, request: StreamConfig, cancel: CancellationToken) -> ModelStream {
        self.model.stream(request, cancel)
    }

    fn count_tokens<'a>(
        &'a self,
        request: StreamConfig,
    ) -> BoxFuture<'a, Result<Option<u64>, ProviderError>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        assert!(!request.messages.is_empty(), "the whole request is counted");
        let response = self.response;
        Box::pin(async move {
            match response {
                Response::Count(tokens) => Ok(Some(tokens)),
                Response::Error => Err(ProviderError::Api("no count today".into())),
                Response::Panic => panic!("a provider that panics"),
                Response::Silence => std::future::pending().await,
            }
        })
    }
}

/// Runs a prompt that fills about 86 % of the window. Returns the names of the recorded events, and how often the
/// provider was asked.
async fn run(response: Response) -> (Vec<String>, usize) {
    let fixture = Fixture::with_model(ScriptedModel::new([Reply::text("fine")]));
    let asked = Arc::new(AtomicUsize::new(0));
    let provider =
        CountingProvider { model: Arc::clone(&fixture.model), response, asked: Arc::clone(&asked) };
    let mut context = ContextConfig::with_window(1_000);
    context.system_prompt_tokens = 0;
    let agent = fixture.agent().provider(provider).context(Some(context)).build().unwrap();
    agent.run("a few words ".repeat(280)).await.unwrap();
    let journal = fixture.journal(&agent.session_id()).await;
    let counts = journal.iter().filter_map(|event| match &event.event {
        AgentEvent::ContextCounted { tokens } => Some(*tokens),
        _ => None,
    });
    assert_eq!(counts.count(), usize::from(matches!(response, Response::Count(_))), "{response:?}");
    (journal.iter().map(|event| event.event.name().to_owned()).collect(), asked.load(Ordering::SeqCst))
}

fn has_warning(events: &[String]) -> bool {
    events.iter().any(|event| event == "CompactionWarning")
}

#[tokio::test(start_paused = true)]
async fn count_of_the_provider_replaces_the_estimate() {
    let (events, asked) = run(Response::Count(600)).await;
    assert_eq!(asked, 1);
    assert!(!has_warning(&events), "{events:?}");
    let (events, _) = run(Response::Count(850)).await;
    assert!(has_warning(&events), "{events:?}");
}

#[tokio::test(start_paused = true)]
async fn run_continues_with_the_estimate_if_the_provider_does_not_count() {
    for response in [Response::Error, Response::Panic, Response::Silence] {
        let (events, asked) = run(response).await;
        assert_eq!(asked, 1, "{response:?}");
        assert!(has_warning(&events), "{response:?}: {events:?}");
    }
}
