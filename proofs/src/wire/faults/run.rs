//! Runs a whole agent under a fault: runtime, machine, driver and protocol, on virtual time. Records
//! everything and judges nothing.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use lariat_core::cancel::CancellationToken;
use lariat_core::clock::{Clock, EntropySource};
use lariat_core::config::ContextConfig;
use lariat_core::context::TieredCompaction;
use lariat_core::event::Event;
use lariat_core::hooks::NoHooks;
use lariat_core::message::AgentMessage;
use lariat_core::model::{
    ModelStream, ProviderError, StreamConfig, StreamEvent, StreamProvider, ThinkingLevel,
};
use lariat_core::permission::AllowAll;
use lariat_core::run::RunConfig;
use lariat_core::time::Timestamp;
use lariat_core::tool::{AgentTool, ToolEffects};
use lariat_model::http::HttpProvider;
use lariat_runtime::drive::{
    Journal, JournalConfig, Lineage, MAX_TOOL_OUTPUT, Ports, RequestTemplate, TOOL_GRACE, ToolSet,
};
use lariat_runtime::redact::Redactor;
use lariat_runtime::{AgentContext, AgentError, AgentLoopConfig, AgentOutput, MemoryStore, agent_loop};
use lariat_test::tools::Execution;
use lariat_test::{Act, EPOCH, Executor, Ledger, LedgerTool, SeededEntropy, VirtualClock};

use super::cell::{TOOL, TOOL_OUTPUT};
use super::plan::{Compaction, Plan};
use super::transport::{ScriptedTransport, SentRequest};
use crate::server::Wire;
use crate::wire::{model, protocol};

/// Steps of the executor after which a run is considered hanging: keep-alives every ten seconds take a few
/// thousand.
const STEP_LIMIT: u64 = 2_000_000;
/// Messages of the conversation that can be compacted.
const LONG_HISTORY: usize = 40;

/// Everything observed of a run.
#[derive(Clone, Debug)]
pub struct Observation {
    /// The output of the run, or why it did not end.
    pub output: Result<AgentOutput, String>,
    /// All observed events.
    pub events: Vec<Event>,
    /// What the provider delivered, by request.
    pub exchanges: Vec<Exchange>,
    /// The executions of the tool.
    pub executions: Vec<Execution>,
    /// The requests sent.
    pub sent: Vec<SentRequest>,
    /// Duration on the virtual clock.
    pub took: Duration,
}

/// What the provider delivered for one request.
#[derive(Clone, Debug, Default)]
pub struct Exchange {
    /// The events.
    pub events: Vec<StreamEvent>,
    /// The failure that ended it, if any, and when.
    pub error: Option<(Timestamp, ProviderError)>,
}

impl Exchange {
    /// Whether any part of the reply was delivered.
    pub fn delivered(&self) -> bool {
        self.events.iter().any(StreamEvent::has_content)
    }

    /// Whether the reply is complete.
    pub fn is_done(&self) -> bool {
        matches!(self.events.last(), Some(StreamEvent::Done { .. }))
    }

    fn texts(&self) -> impl Iterator<Item = (usize, &str)> {
        self.events.iter().filter_map(|event| match event {
            StreamEvent::TextDelta { index, delta } => Some((*index, delta.as_str())),
            _ => None,
        })
    }

    /// The delivered text, in the order of arrival.
    pub fn text(&self) -> String {
        self.texts().map(|(_, delta)| delta).collect()
    }

    /// The delivered text, block by block.
    pub fn text_in_order(&self) -> String {
        let mut texts: Vec<_> = self.texts().collect();
        texts.sort_by_key(|(index, _)| *index);
        texts.into_iter().map(|(_, delta)| delta).collect()
    }
}

/// Records what a provider delivers.
struct Recorder {
    provider: HttpProvider,
    clock: Arc<dyn Clock>,
    exchanges: Arc<Mutex<Vec<Exchange>>>,
}

impl StreamProvider for Recorder {
    fn provider_id(&self) -> &str {
        self.provider.provider_id()
    }

    fn stream(&self, request: StreamConfig, cancel: CancellationToken) -> ModelStream {
        let (exchanges, clock) = (Arc::clone(&self.exchanges), Arc::clone(&self.clock));
        let at = {
            let mut exchanges = exchanges.lock().unwrap_or_else(PoisonError::into_inner);
            exchanges.push(Exchange::default());
            exchanges.len() - 1
        };
        let stream = self.provider.stream(request, cancel).inspect(move |item| {
            let mut exchanges = exchanges.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(exchange) = exchanges.get_mut(at) else { return };
            match item {
                Ok(event) => exchange.events.push(event.clone()),
                Err(error) => exchange.error = Some((clock.now(), error.clone())),
            }
        });
        Box::pin(stream)
    }
}

/// Runs an agent against a plan.
pub fn observe(wire: Wire, plan: Plan) -> Observation {
    let virtual_clock = VirtualClock::new();
    let clock = virtual_clock.shared();
    let entropy: Arc<dyn EntropySource> = Arc::new(SeededEntropy::new(7));
    let compaction = plan.compaction;
    let transport = ScriptedTransport::new(wire, Arc::new(plan), Arc::clone(&clock));
    let provider =
        HttpProvider::new(protocol(wire), Arc::new(transport.clone())).with_clock(Arc::clone(&clock));
    let exchanges = Arc::new(Mutex::new(Vec::new()));
    let recorder = Recorder { provider, clock: Arc::clone(&clock), exchanges: Arc::clone(&exchanges) };
    let ledger = Ledger::new();
    let tool = LedgerTool::new(TOOL, ledger.clone(), Arc::clone(&clock))
        .with_effects(ToolEffects::READS)
        .with_script(|_| Act::text(TOOL_OUTPUT));
    let base_url = format!("http://127.0.0.1{}", wire.base_path());
    let mut request = RequestTemplate::new(model(wire, &base_url));
    request.thinking_level = ThinkingLevel::Low;
    let ports = Ports {
        model: Arc::new(recorder),
        request,
        tools: ToolSet::new([Arc::new(tool) as Arc<dyn AgentTool>]),
        policy: Arc::new(AllowAll),
        approver: None,
        redactor: Redactor::default(),
        hooks: Arc::new(NoHooks),
        filters: Vec::new(),
        sections: None,
        notes: None,
        budget: Default::default(),
        compaction: Arc::new(TieredCompaction),
        clock: Arc::clone(&clock),
        entropy: Arc::clone(&entropy),
        lineage: Lineage::default(),
        tool_grace: TOOL_GRACE,
        max_tool_output: MAX_TOOL_OUTPUT,
    };
    let mut run = RunConfig::default();
    if compaction == Compaction::On {
        run.context = Some(ContextConfig::with_window(100_000));
    }
    let config = AgentLoopConfig::new(ports, run, Some("c".to_owned()));
    let store = Arc::new(MemoryStore::new());
    let journal = Journal::new(store, "s".into(), Arc::clone(&clock), entropy, JournalConfig::default());
    let mut context = AgentContext::new("agent".into(), Arc::new(journal));
    if compaction == Compaction::On {
        let old = |at: usize| {
            AgentMessage::note("old", format!("Note {at}: {}", "of no use any more. ".repeat(20)))
        };
        context.replace_messages((0..LONG_HISTORY).map(old).collect(), &config.ports);
    }

    let (mut events, mut output) = (Vec::new(), None);
    let mut executor = Executor::new(virtual_clock.clone(), lariat_test::SeededRandom::new(0));
    executor.spawn(async {
        let prompts = vec![AgentMessage::user("What do you see?")];
        let sender = |event: Event| events.push(event);
        let ran = agent_loop(prompts, &mut context, &config, sender, CancellationToken::new()).await;
        let ran = ran.or_else(AgentError::into_output);
        output = Some(ran.map_err(|error| format!("the run did not end: {error}")));
    });
    let halted = executor.run(STEP_LIMIT);
    drop(executor);
    let output = match halted {
        Err(halt) => Err(format!("HANG: {halt}")),
        Ok(()) => output.unwrap_or_else(|| Err("HANG: no output".to_owned())),
    };
    let exchanges = exchanges.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let (executions, sent) = (ledger.all(), transport.sent());
    Observation { output, events, exchanges, executions, sent, took: virtual_clock.now().since(EPOCH) }
}

/// Maximum characters shown per event.
const SHOWN: usize = 300;

impl Observation {
    /// Writes all observations, for debugging.
    pub fn write_log(&self, story: &mut String) {
        let mut line = |what: &str, shown: String| {
            let shown: String = shown.chars().take(SHOWN).collect();
            story.push_str(&format!("    {what:10} {shown}\n"));
        };
        line("took", format!("{:?}", self.took));
        self.sent.iter().for_each(|sent| line("request", format!("{sent:?}")));
        for (at, exchange) in self.exchanges.iter().enumerate() {
            let what = format!("reply {at}");
            exchange.events.iter().for_each(|event| line(&what, format!("{event:?}")));
            exchange.error.iter().for_each(|(_, error)| line(&what, format!("{error:?}")));
        }
        self.executions.iter().for_each(|execution| line("tool", format!("{execution:?}")));
        self.events.iter().for_each(|event| line("event", format!("{:?}", event.event)));
        let output = self.output.as_ref().map(|output| (&output.outcome, &output.text));
        line("output", format!("{output:?}"));
    }
}
