//! Putting an agent together.

use std::sync::Arc;
use std::time::Duration;

use lariat_core::budget::BudgetLimits;
use lariat_core::clock::{Clock, EntropySource};
use lariat_core::config::{
    ContextConfig, ExecutionLimits, QueueMode, RepetitionConfig, RetryConfig, ToolExecutionStrategy,
};
use lariat_core::context::{CompactionStrategy, ContextSource, TokenCounter};
use lariat_core::event::{AgentEvent, Description, TurnTrigger};
use lariat_core::hooks::{Hooks, InputFilter, NoHooks};
use lariat_core::id::{AgentId, SessionId};
use lariat_core::model::{
    ApiKey, CacheConfig, ModelConfig, OutputSchema, StreamProvider, ThinkingLevel, ToolChoice,
};
use lariat_core::permission::{Approver, AskBeforeEffects, PermissionPolicy};
use lariat_core::run::RunConfig;
use lariat_core::store::SessionStore;
use lariat_core::tool::AgentTool;
use lariat_guard::redact::Redactor;

use super::context::AgentLoopConfig;
use super::error::BuildError;
use super::handle::{Agent, Parts};
use super::launch::Watchers;
use crate::budget::{BudgetPool, DailyBudget, SharedBudget};
use crate::compaction::{Recall, Summarising};
use crate::drive::{JournalConfig, MAX_TOOL_OUTPUT, Ports, RequestTemplate, TOOL_GRACE, ToolSet};
use crate::gate::plan::ProposeChange;
use crate::memory::MemoryStore;
use crate::observe::Observer;
use crate::prompt::{
    BaseSection, FailureEvidence, ModeNotes, Notes, Place, Recitation, Section, SectionSource, Sections,
};
use crate::system::{SystemClock, SystemEntropy};

/// Watches every event of an agent's runs.
pub(super) type Callback = Arc<dyn Fn(&AgentEvent) + Send + Sync>;

/// Which window compaction keeps the conversation in.
enum WindowChoice {
    /// That of the model, if a model was configured.
    OfModel,
    /// The caller's, or none.
    Given(Option<ContextConfig>),
}

/// Builds an [`Agent`]. Everything but the model has a default: no tools, an in-memory journal, limits of
/// [`ExecutionLimits::default`], compaction within the window of the configured model, and a question before every tool
/// call that is not read-only.
pub struct AgentBuilder {
    model: Option<Arc<dyn StreamProvider>>,
    request: RequestTemplate,
    tools: Vec<Arc<dyn AgentTool>>,
    policy: Arc<dyn PermissionPolicy>,
    approver: Option<Arc<dyn Approver>>,
    secrets: Vec<(String, ApiKey)>,
    hooks: Arc<dyn Hooks>,
    filters: Vec<Arc<dyn InputFilter>>,
    sections: Sections,
    notes: Notes,
    compaction: Option<Arc<dyn CompactionStrategy>>,
    compaction_model: Option<ModelConfig>,
    budget: SharedBudget,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn EntropySource>,
    store: Option<Arc<dyn SessionStore>>,
    journal: JournalConfig,
    run: RunConfig,
    tool_grace: Duration,
    max_tool_output: usize,
    window: WindowChoice,
    agent_id: Option<AgentId>,
    session_id: Option<SessionId>,
    config_id: Option<String>,
    description: Option<Arc<Description>>,
    callback: Option<Callback>,
    observers: Vec<Arc<dyn Observer>>,
    broadcast: Option<usize>,
    standard: bool,
    #[cfg(feature = "typed")]
    answer_retries: u32,
}

impl Default for AgentBuilder {
    fn default() -> Self {
        let mut run = RunConfig::default();
        run.limits = Some(ExecutionLimits::default());
        Self {
            model: None,
            request: RequestTemplate::new(ModelConfig::default()),
            tools: Vec::new(),
            policy: Arc::new(AskBeforeEffects),
            approver: None,
            secrets: Vec::new(),
            hooks: Arc::new(NoHooks),
            filters: Vec::new(),
            sections: Sections::default(),
            notes: Notes::default(),
            compaction: None,
            compaction_model: None,
            budget: SharedBudget::default(),
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy::new()),
            store: None,
            journal: JournalConfig::default(),
            run,
            tool_grace: TOOL_GRACE,
            max_tool_output: MAX_TOOL_OUTPUT,
            window: WindowChoice::OfModel,
            agent_id: None,
            session_id: None,
            config_id: None,
            description: None,
            callback: None,
            observers: Vec::new(),
            broadcast: None,
            standard: false,
            #[cfg(feature = "typed")]
            answer_retries: crate::typed::ANSWER_RETRIES,
        }
    }
}

impl AgentBuilder {
    /// Who answers.
    pub fn model(mut self, provider: impl StreamProvider + 'static) -> Self {
        self.model = Some(Arc::new(provider));
        self
    }

    /// Who answers, shared with others.
    pub fn shared_model(mut self, provider: Arc<dyn StreamProvider>) -> Self {
        self.model = Some(provider);
        self
    }

    /// Which model, where, with which key.
    pub fn model_config(mut self, config: ModelConfig) -> Self {
        self.request.model_config = Arc::new(config);
        self
    }

    /// The system prompt: a text that is sent as it is. Where there are sections, too, it is the first of them.
    pub fn system_prompt(mut self, prompt: impl Into<Arc<str>>) -> Self {
        self.request.system_prompt = prompt.into().into();
        self
    }

    /// Adds a section of the system prompt. It is put together when a session's first request is made, journaled, and
    /// not changed after that: what comes out differently later is told in a note.
    pub fn section(self, section: Section) -> Self {
        self.sections(section)
    }

    /// Adds somebody who knows sections of the system prompt.
    pub fn sections(mut self, source: impl SectionSource + 'static) -> Self {
        self.sections.add(source);
        self
    }

    /// Tells the model what an agent of ours should know: the base prompt for the tools it has, and notes about its mode,
    /// about what is still to be done and about what failed.
    pub fn standard_context(mut self) -> Self {
        self.sections.add(BaseSection);
        self.standard = true;
        self.context_source(Recitation::default()).context_source(FailureEvidence::default())
    }

    /// How hard the model thinks.
    pub const fn thinking_level(mut self, level: ThinkingLevel) -> Self {
        self.request.thinking_level = level;
        self
    }

    /// Output limit in tokens.
    pub const fn max_tokens(mut self, tokens: u32) -> Self {
        self.request.max_tokens = Some(tokens);
        self
    }

    /// Sampling temperature.
    pub const fn temperature(mut self, temperature: f32) -> Self {
        self.request.temperature = Some(temperature);
        self
    }

    /// Prompt caching hints.
    pub fn cache(mut self, config: CacheConfig) -> Self {
        self.request.cache_config = config;
        self
    }

    /// Whether the model must call a tool.
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.request.tool_choice = choice;
        self
    }

    /// The form that the model's text must have.
    pub fn output_schema(mut self, schema: OutputSchema) -> Self {
        self.request.output_schema = Some(Arc::new(schema));
        self
    }

    /// Adds a model that goes on with a turn when the ones before it failed after all their retries. It stays for the
    /// rest of the run. The provider must be able to reach it: see `ProviderRegistry` of `lariat-model`.
    pub fn fallback_model(mut self, config: ModelConfig) -> Self {
        self.request.fallbacks.push(Arc::new(config));
        self
    }

    /// Adds a tool.
    pub fn tool(mut self, tool: impl AgentTool + 'static) -> Self {
        self.tools.push(Arc::new(tool));
        self
    }

    /// Adds tools.
    pub fn tools(mut self, tools: impl IntoIterator<Item = Arc<dyn AgentTool>>) -> Self {
        self.tools.extend(tools);
        self
    }

    /// Decides about tool calls. The default asks before every call that is not read-only.
    pub fn permission_policy(mut self, policy: impl PermissionPolicy + 'static) -> Self {
        self.policy = Arc::new(policy);
        self
    }

    /// Decides about calls, shared with others: with whoever changes a [`Gate`](crate::Gate)'s mode while it runs.
    pub fn shared_policy(mut self, policy: Arc<dyn PermissionPolicy>) -> Self {
        self.policy = policy;
        self
    }

    /// Asks a person. Without one, answer with `respond_permission`.
    pub fn approver(mut self, approver: impl Approver + 'static) -> Self {
        self.approver = Some(Arc::new(approver));
        self
    }

    /// In-process hooks.
    pub fn hooks(mut self, hooks: impl Hooks + 'static) -> Self {
        self.hooks = Arc::new(hooks);
        self
    }

    /// Adds an input filter; filters are asked in order.
    pub fn input_filter(mut self, filter: impl InputFilter + 'static) -> Self {
        self.filters.push(Arc::new(filter));
        self
    }

    /// Hard caps; `None` for none.
    pub fn limits(mut self, limits: Option<ExecutionLimits>) -> Self {
        self.run.limits = limits;
        self
    }

    /// Caps on all runs of a session together.
    pub const fn session_budget(mut self, limits: BudgetLimits) -> Self {
        self.run.budget.session = limits;
        self
    }

    /// Caps on what is spent in a day, shared with whoever has a clone of it.
    pub fn daily_budget(mut self, budget: DailyBudget) -> Self {
        self.budget.daily = Some(budget);
        self
    }

    /// A pool that this agent draws on together with others: its sub-agents, its siblings.
    pub fn budget_pool(mut self, pool: BudgetPool) -> Self {
        self.budget.pool = Some(pool);
        self
    }

    /// Whether somebody is there to be asked when a budget is used up, and answers with [`Agent::respond_budget`] or
    /// [`Agent::extend_budget`]. An approver is asked in any case; with neither, the run ends.
    pub const fn asks_for_more(mut self, asks: bool) -> Self {
        self.run.budget.asks = asks;
        self
    }

    /// The window; `None` switches compaction off. The default is the window of the configured model, as
    /// [`ModelConfig::context_window`] says; without [`model_config`](Self::model_config) no window is known, and
    /// compaction is off.
    pub fn context(mut self, context: Option<ContextConfig>) -> Self {
        self.window = WindowChoice::Given(context);
        self
    }

    /// Counts the tokens of what is new in the conversation. The default looks at kinds of characters; `lariat-model` has
    /// a real tokenizer behind its feature `tokenizer`. Either is corrected by what the service reports.
    pub fn token_counter(mut self, counter: impl TokenCounter + 'static) -> Self {
        self.run.counter = Arc::new(counter);
        self
    }

    /// What a session of the agent is about, when it is a new one: where it works, its title, its tags. Journaled with its
    /// first run; [`Agent::describe`] says more of it later.
    pub fn description(mut self, description: Description) -> Self {
        self.description = Some(Arc::new(description));
        self
    }

    /// Adds somebody who knows what the model should be told between its replies: memory files, facts, the open plan.
    pub fn context_source(mut self, source: impl ContextSource + 'static) -> Self {
        self.notes.add(source);
        self
    }

    /// How room is made in the window. The default clears old tool output first, then asks a model to summarise old
    /// turns, and drops them where that fails or there is no time.
    pub fn compaction(mut self, strategy: impl CompactionStrategy + 'static) -> Self {
        self.compaction = Some(Arc::new(strategy));
        self
    }

    /// Who summarises old turns, for example a cheaper model. The default is the agent's own model.
    pub fn compaction_model(mut self, model: ModelConfig) -> Self {
        self.compaction_model = Some(model);
        self
    }

    /// Retries of model calls.
    pub fn retry(mut self, retry: RetryConfig) -> Self {
        self.run.retry = retry;
        self
    }

    /// Repetition guard; `None` switches it off.
    pub fn repetition(mut self, guard: Option<RepetitionConfig>) -> Self {
        self.run.repetition = guard;
        self
    }

    /// How tool calls of one reply are executed.
    pub const fn tool_execution(mut self, strategy: ToolExecutionStrategy) -> Self {
        self.run.tool_execution = strategy;
        self
    }

    /// Delivery of steering.
    pub const fn steering_mode(mut self, mode: QueueMode) -> Self {
        self.run.steering_mode = mode;
        self
    }

    /// Delivery of follow-ups.
    pub const fn follow_up_mode(mut self, mode: QueueMode) -> Self {
        self.run.follow_up_mode = mode;
        self
    }

    /// What an origin call's first turn is triggered by.
    pub const fn first_turn_trigger(mut self, trigger: TurnTrigger) -> Self {
        self.run.first_turn_trigger = trigger;
        self
    }

    /// Time a cancelled tool gets to end by itself.
    pub const fn tool_grace(mut self, grace: Duration) -> Self {
        self.tool_grace = grace;
        self
    }

    /// Bytes of text of a tool's output that the model is shown: the beginning and the end of more. The whole of it is
    /// kept in the store, and the model reads it with `recall`. The default is 128 KiB.
    pub const fn max_tool_output(mut self, bytes: usize) -> Self {
        self.max_tool_output = bytes;
        self
    }

    /// Where journals live. The default is this process's memory.
    pub fn store(mut self, store: Arc<dyn SessionStore>) -> Self {
        self.store = Some(store);
        self
    }

    /// How the journal behaves when its store fails.
    pub const fn journal(mut self, config: JournalConfig) -> Self {
        self.journal = config;
        self
    }

    /// A stable identity for the agent.
    pub fn agent_id(mut self, id: impl Into<AgentId>) -> Self {
        self.agent_id = Some(id.into());
        self
    }

    /// Goes on with a session of the store, or begins one under this id.
    pub fn session_id(mut self, id: impl Into<SessionId>) -> Self {
        self.session_id = Some(id.into());
        self
    }

    /// The `{config}` segment of loop ids.
    pub fn config_id(mut self, id: impl Into<String>) -> Self {
        self.config_id = Some(id.into());
        self
    }

    /// Calls a function with every event, beside the run. Simplest of the three ways to observe.
    pub fn on_event(mut self, callback: impl Fn(&AgentEvent) + Send + Sync + 'static) -> Self {
        self.callback = Some(Arc::new(callback));
        self
    }

    /// Shows every event of every run to an observer: a trace file, an exporter. Observers may be shared by agents.
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observers.push(observer);
        self
    }

    /// How often a model is told what is wrong with an answer that does not have its form, and asked again
    /// ([`Agent::run_typed`]). The default is 2.
    #[cfg(feature = "typed")]
    pub const fn answer_retries(mut self, retries: u32) -> Self {
        self.answer_retries = retries;
        self
    }

    /// Lets any number of consumers [`Agent::subscribe`], each with room for this many waiting events.
    pub const fn enable_broadcast(mut self, capacity: usize) -> Self {
        self.broadcast = Some(capacity);
        self
    }

    /// Where time comes from.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Where randomness comes from.
    pub fn entropy(mut self, entropy: Arc<dyn EntropySource>) -> Self {
        self.entropy = entropy;
        self
    }

    /// A value that nobody may read: it is replaced by its name in prompts, in what tools say and in what services
    /// say about failures, before that is recorded, shown or sent. Keys and headers of the models are known already,
    /// and so are the looks of common keys.
    pub fn secret(mut self, name: impl Into<String>, value: impl Into<Arc<str>>) -> Self {
        self.secrets.push((name.into(), ApiKey::new(value)));
        self
    }

    /// The agent.
    ///
    /// # Errors
    /// When no model was given, two tools have one name or one has a name that services refuse, or money is capped and
    /// the price of a model is not known.
    pub fn build(mut self) -> Result<Agent, BuildError> {
        if self.policy.plans() {
            self.tools.push(Arc::new(ProposeChange));
        }
        if self.standard {
            self.notes.add(ModeNotes::new(Arc::clone(&self.policy)));
        }
        let mut sections = Sections::default();
        if !self.sections.is_empty() {
            // The caller's own words come first.
            sections.add(Section::new("system", Place::Static, self.request.system_prompt.as_str()));
            sections.add_all(std::mem::take(&mut self.sections));
        }
        let model = self.model.take().ok_or(BuildError::NoModel)?;
        self.check_prices(&*model)?;
        let redactor = redactor(&self.request, self.compaction_model.as_ref(), &self.secrets);
        self.choose_window();
        check_tools(&self.tools)?;
        let compaction = self.compaction.unwrap_or_else(|| {
            let summariser =
                self.compaction_model.map_or_else(|| Arc::clone(&self.request.model_config), Arc::new);
            Arc::new(Summarising::new(Arc::clone(&model), summariser))
        });
        let ports = Ports {
            model,
            request: self.request,
            tools: ToolSet::new(self.tools),
            policy: self.policy,
            approver: self.approver,
            redactor,
            hooks: self.hooks,
            filters: self.filters,
            sections: (!sections.is_empty()).then(|| Arc::new(sections)),
            notes: (!self.notes.is_empty()).then(|| Arc::new(self.notes) as Arc<dyn ContextSource>),
            compaction,
            budget: self.budget,
            clock: self.clock,
            entropy: self.entropy,
            tool_grace: self.tool_grace,
            max_tool_output: self.max_tool_output,
        };
        Ok(Agent::assemble(Parts {
            config: AgentLoopConfig {
                description: self.description,
                ..AgentLoopConfig::new(ports, self.run, self.config_id)
            },
            store: self.store.unwrap_or_else(|| Arc::new(MemoryStore::new())),
            journal: self.journal,
            agent_id: self.agent_id,
            session_id: self.session_id,
            watchers: Watchers { callback: self.callback, observers: self.observers.into() },
            broadcast: self.broadcast,
            #[cfg(feature = "typed")]
            answer_retries: self.answer_retries,
        }))
    }
}

impl AgentBuilder {
    /// Fits compaction to the model, and offers `recall` where something can be left out.
    fn choose_window(&mut self) {
        let (context, is_given) = match std::mem::replace(&mut self.window, WindowChoice::OfModel) {
            WindowChoice::Given(context) => (context, true),
            WindowChoice::OfModel => {
                let model = &self.request.model_config;
                let window = usize::try_from(model.context_window).ok().filter(|window| *window > 0);
                (window.filter(|_| !model.id.is_empty()).map(ContextConfig::with_window), false)
            }
        };
        // A model without tools may not know how to call one.
        let recalls = !self.tools.is_empty() || (is_given && context.is_some());
        if recalls && !self.tools.iter().any(|tool| tool.name() == Recall::NAME) {
            self.tools.push(Arc::new(Recall));
        }
        self.run.context = context;
    }

    /// A cap on money that no price belongs to would never stop anything.
    fn check_prices(&self, provider: &dyn StreamProvider) -> Result<(), BuildError> {
        let run = self.run.limits.as_ref().is_some_and(|limits| limits.max_cost.is_some());
        if !run && self.run.budget.session.cost.is_none() && !self.budget.caps_money() {
            return Ok(());
        }
        let own = std::iter::once(&self.request.model_config).chain(&self.request.fallbacks);
        let mut models = own.map(|model| &**model).chain(&self.compaction_model);
        match models.find(|model| !provider.reports_cost(model)) {
            Some(model) => Err(BuildError::CapWithoutPrice(model.id.clone())),
            None => Ok(()),
        }
    }
}

/// Checks what model services check, before the first request does. Of two tools with one name a model could reach one.
fn check_tools(tools: &[Arc<dyn AgentTool>]) -> Result<(), BuildError> {
    let mut seen = std::collections::BTreeSet::new();
    for tool in tools {
        let name = tool.name();
        let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if name.is_empty() || name.len() > MAX_TOOL_NAME || !name.bytes().all(known) {
            return Err(BuildError::InvalidToolName(name.to_owned()));
        }
        if !seen.insert(name) {
            return Err(BuildError::DuplicateTool(name.to_owned()));
        }
    }
    Ok(())
}

/// Bytes of a tool's name that all services take.
const MAX_TOOL_NAME: usize = 64;

/// Knows the keys, headers and secret parts of addresses of every model besides the given secrets.
fn redactor(
    request: &RequestTemplate,
    summariser: Option<&ModelConfig>,
    secrets: &[(String, ApiKey)],
) -> Redactor {
    let own = || std::iter::once(&request.model_config).chain(&request.fallbacks);
    let models = || own().map(|model| &**model).chain(summariser);
    let keys = models().filter_map(|model| Some(("API key".to_owned(), model.api_key.expose()?)));
    let headers = models().flat_map(|model| &model.headers);
    let headers = headers.map(|(name, value)| (format!("header {name}"), value.as_str()));
    let addresses = models().flat_map(|model| model.address_secrets());
    let addresses = addresses.map(|value| ("address".to_owned(), value));
    let given = secrets.iter().filter_map(|(name, value)| Some((name.clone(), value.expose()?)));
    Redactor::new(given.chain(keys).chain(headers).chain(addresses))
}
