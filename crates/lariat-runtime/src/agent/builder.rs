//! Builds an [`Agent`] from a model, tools, policies and settings.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::redact::Redactor;
use lariat_core::budget::BudgetLimits;
use lariat_core::clock::{Clock, EntropySource};
use lariat_core::config::{
    ContextConfig, ExecutionLimits, QueueMode, RepetitionConfig, RetryConfig, ToolExecutionStrategy,
};
use lariat_core::context::{CompactionStrategy, ContextSource, TokenCounter};
use lariat_core::event::{AgentEvent, Description, TurnTrigger};
use lariat_core::hooks::{Hooks, InputFilter, NoHooks};
use lariat_core::id::{AgentId, SessionId};
use lariat_core::message::AgentMessage;
use lariat_core::model::{
    ApiKey, CacheConfig, ModelChoice, ModelConfig, OutputSchema, StreamProvider, ThinkingLevel, ToolChoice,
};
use lariat_core::permission::{
    Approver, AskBeforeEffects, PermissionDecision, PermissionPolicy, PermissionRequest,
};
use lariat_core::run::RunConfig;
use lariat_core::store::SessionStore;
use lariat_core::tool::AgentTool;

use super::approve_with::ApproveWith;
use super::error::BuildError;
use super::handle::{Agent, Parts};
use super::launch::Watchers;
use super::loop_config::AgentLoopConfig;
use super::model::ModelSlot;
use crate::budget::{BudgetPool, DailyBudget, SharedBudget};
use crate::compaction::{RecallTool, SummarisingCompaction};
use crate::drive::{
    JournalConfig, Lineage, MAX_TOOL_OUTPUT, MissingApprover, Ports, RequestTemplate, TOOL_GRACE, ToolSet,
};
use crate::memory::MemoryStore;
use crate::observe::{DEFAULT_CAPACITY, Observer};
use crate::prompt::{
    BaseSection, FailureNotes, ModeNotes, Notes, OpenTaskNotes, Section, SectionSource, SectionStability,
    Sections,
};
use crate::proposal::ProposeChange;
use crate::system::{SystemClock, SystemEntropy};

/// Default number of retries for an answer that does not match its schema.
#[cfg(feature = "typed")]
const ANSWER_RETRIES: u32 = 2;

/// Receives every event of an agent's runs.
pub(super) type Callback = Arc<dyn Fn(&AgentEvent) + Send + Sync>;

/// Which context window compaction keeps the conversation in.
enum WindowChoice {
    /// The window of the model, if a model is configured.
    OfModel,
    /// The window that the caller set, or none.
    Given(Option<ContextConfig>),
}

/// Builds an [`Agent`]. Only the model is required.
///
/// By default, an agent has no tools, keeps its journal in memory, has the limits of
/// [`ExecutionLimits::default`], compacts the conversation to fit the context window of the configured model,
/// and asks for approval before every tool call that is not read-only.
pub struct AgentBuilder {
    model: ModelSlot,
    request: RequestTemplate,
    tools: Vec<Arc<dyn AgentTool>>,
    policy: Arc<dyn PermissionPolicy>,
    approver: Option<Arc<dyn Approver>>,
    secrets: Vec<(String, ApiKey)>,
    redactor: Redactor,
    /// Tools whose definitions are not sent.
    hidden_tools: BTreeSet<String>,
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
    event_queue: usize,
    history: Vec<AgentMessage>,
    missing_approver: MissingApprover,
    standard: bool,
    #[cfg(feature = "typed")]
    answer_retries: u32,
}

impl Default for AgentBuilder {
    fn default() -> Self {
        let mut run = RunConfig::default();
        run.limits = Some(ExecutionLimits::default());
        Self {
            model: ModelSlot::default(),
            request: RequestTemplate::new(ModelConfig::default()),
            tools: Vec::new(),
            policy: Arc::new(AskBeforeEffects),
            approver: None,
            secrets: Vec::new(),
            redactor: Redactor::default(),
            hidden_tools: BTreeSet::new(),
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
            event_queue: DEFAULT_CAPACITY,
            history: Vec::new(),
            missing_approver: MissingApprover::Deny,
            standard: false,
            #[cfg(feature = "typed")]
            answer_retries: ANSWER_RETRIES,
        }
    }
}

impl AgentBuilder {
    /// Sets the model. Required. Takes a name of the catalogue (`"anthropic/claude-sonnet-4-5"`), a
    /// [`ModelConfig`], or a [`StreamProvider`] of your own.
    ///
    /// The key for a name comes from the environment variable of its provider, such as `ANTHROPIC_API_KEY`,
    /// unless you set one with [`api_key`](Self::api_key).
    pub fn model(mut self, model: impl Into<ModelChoice>) -> Self {
        self.model.choose(model.into());
        self
    }

    /// Sets the key for the model.
    pub fn api_key(mut self, key: impl Into<Arc<str>>) -> Self {
        self.model.set_api_key(ApiKey::new(key));
        self
    }

    /// Sets the provider that calls the model: your own, or one that several agents share in an `Arc`. The
    /// default supports all protocols of the enabled features.
    pub fn provider(mut self, provider: impl StreamProvider + 'static) -> Self {
        self.model.choose(provider.into());
        self
    }

    /// Sets which model the provider calls: its protocol, id, address and key, its context window and price.
    /// The same as [`model`](Self::model) with a configuration.
    pub fn model_config(self, config: ModelConfig) -> Self {
        self.model(config)
    }

    /// Sets the system prompt. If there are sections as well, this text is the first of them.
    pub fn system_prompt(mut self, prompt: impl Into<Arc<str>>) -> Self {
        self.request.system_prompt = prompt.into().into();
        self
    }

    /// Adds a section to the system prompt. The agent assembles the system prompt for the first request of a
    /// session, journals it, and does not change it afterwards: if the section would differ later, the model
    /// receives the difference in a note.
    pub fn section(self, section: Section) -> Self {
        self.sections(section)
    }

    /// Adds a source of sections for the system prompt.
    pub fn sections(mut self, source: impl SectionSource + 'static) -> Self {
        self.sections.add(source);
        self
    }

    /// Adds the standard context of a Lariat agent: the base prompt for its tools, and notes about the
    /// permission mode, open tasks and repeated failures.
    pub fn standard_context(mut self) -> Self {
        self.sections.add(BaseSection);
        self.standard = true;
        self.context_source(OpenTaskNotes::default()).context_source(FailureNotes::default())
    }

    /// Sets how much the model thinks before it answers.
    pub const fn thinking_level(mut self, level: ThinkingLevel) -> Self {
        self.request.thinking_level = level;
        self
    }

    /// Limits the length of a reply, in tokens.
    pub const fn max_tokens(mut self, tokens: u32) -> Self {
        self.request.max_tokens = Some(tokens);
        self
    }

    /// Sets the sampling temperature.
    pub const fn temperature(mut self, temperature: f32) -> Self {
        self.request.temperature = Some(temperature);
        self
    }

    /// Sets the hints for prompt caching.
    pub fn cache(mut self, config: CacheConfig) -> Self {
        self.request.cache_config = config;
        self
    }

    /// Sets whether the model may, must or must not call tools.
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.request.tool_choice = choice;
        self
    }

    /// Sets the JSON schema that the model's text must match.
    pub fn output_schema(mut self, schema: OutputSchema) -> Self {
        self.request.output_schema = Some(Arc::new(schema));
        self
    }

    /// Adds a model that continues the turn if the models before it failed after all their retries. The run
    /// keeps using it until it ends. The provider must be able to reach it: see `ProviderRegistry` of
    /// `lariat-model`.
    pub fn fallback_model(mut self, config: ModelConfig) -> Self {
        self.request.fallbacks.push(Arc::new(config));
        self
    }

    /// Adds a tool.
    pub fn tool(mut self, tool: impl AgentTool + 'static) -> Self {
        self.tools.push(Arc::new(tool));
        self
    }

    /// Adds several tools.
    pub fn tools(mut self, tools: impl IntoIterator<Item = Arc<dyn AgentTool>>) -> Self {
        self.tools.extend(tools);
        self
    }

    /// Hides tools from the model by their names: their definitions are not sent. A call that names one runs like any other.
    pub fn hide_tools(mut self, names: impl IntoIterator<Item = String>) -> Self {
        // Faster than `extend` for thousands of names.
        self.hidden_tools.append(&mut names.into_iter().collect());
        self
    }

    /// Sets the policy that decides about tool calls. The default asks for approval before every tool call
    /// that is not read-only. To change a policy during a run, such as the mode of a gate, pass an `Arc` and
    /// keep a clone.
    pub fn permission_policy(mut self, policy: impl PermissionPolicy + 'static) -> Self {
        self.policy = Arc::new(policy);
        self
    }

    /// Sets the approver that answers approval requests. Without one, a run started with [`Agent::stream`]
    /// waits for [`RunStream::respond_permission`](super::RunStream::respond_permission), and [`Agent::run`]
    /// denies what it would have to ask about.
    pub fn approver(mut self, approver: impl Approver + 'static) -> Self {
        self.approver = Some(Arc::new(approver));
        self
    }

    /// Answers approval requests with an async closure. See [`approver`](Self::approver).
    pub fn approve_with<Answer>(
        self,
        answer: impl Fn(PermissionRequest) -> Answer + Send + Sync + 'static,
    ) -> Self
    where
        Answer: Future<Output = PermissionDecision> + Send + 'static,
    {
        self.approver(ApproveWith(answer))
    }

    /// Makes approval requests of [`Agent::run`] wait for [`Agent::respond_permission`], for programs that
    /// answer from a callback, a subscription or another task. Without it, a run without an approver denies
    /// them at once.
    pub const fn wait_for_answers(mut self) -> Self {
        self.missing_approver = MissingApprover::Wait;
        self
    }

    /// Sets in-process hooks. See [`Hooks`].
    pub fn hooks(mut self, hooks: impl Hooks + 'static) -> Self {
        self.hooks = Arc::new(hooks);
        self
    }

    /// Adds an input filter. Filters check each prompt in the order in which they were added.
    pub fn input_filter(mut self, filter: impl InputFilter + 'static) -> Self {
        self.filters.push(Arc::new(filter));
        self
    }

    /// Sets the hard limits of each run.
    pub fn limits(mut self, limits: ExecutionLimits) -> Self {
        self.run.limits = Some(limits);
        self
    }

    /// Removes the limits of [`ExecutionLimits::default`].
    pub fn without_limits(mut self) -> Self {
        self.run.limits = None;
        self
    }

    /// Limits what all runs of a session spend together.
    pub const fn session_budget(mut self, limits: BudgetLimits) -> Self {
        self.run.budget.session = limits;
        self
    }

    /// Limits what is spent per day, together with all holders of a clone of this budget.
    pub fn daily_budget(mut self, budget: DailyBudget) -> Self {
        self.budget.daily = Some(budget);
        self
    }

    /// Sets a budget pool that this agent shares with others: its sub-agents and siblings.
    pub fn budget_pool(mut self, pool: BudgetPool) -> Self {
        self.budget.pool = Some(pool);
        self
    }

    /// Sets whether the run asks for more when a budget is used up. Answer with [`Agent::respond_budget`] or
    /// [`Agent::extend_budget`]. An approver is asked in any case; with neither, the run ends.
    pub const fn request_budget_extensions(mut self, asks: bool) -> Self {
        self.run.budget.asks = asks;
        self
    }

    /// Sets the context window to compact for; `None` turns compaction off. The default is the
    /// [`ModelConfig::context_window`] of the configured model; without [`model_config`](Self::model_config),
    /// the window is unknown and compaction is off.
    pub fn context(mut self, context: Option<ContextConfig>) -> Self {
        self.window = WindowChoice::Given(context);
        self
    }

    /// Sets how to count the tokens of new messages. The default estimates from kinds of characters;
    /// `lariat-model` has a real tokenizer behind its feature `tokenizer`. The agent corrects either one with
    /// the usage that the provider reports.
    pub fn token_counter(mut self, counter: impl TokenCounter + 'static) -> Self {
        self.run.counter = Arc::new(counter);
        self
    }

    /// Describes new sessions of the agent: working directory, title, tags. Journaled with the first run;
    /// change it later with [`Agent::describe`].
    pub fn description(mut self, description: Description) -> Self {
        self.description = Some(Arc::new(description));
        self
    }

    /// Adds a source of notes that the model receives between its replies: memory files, facts, the open
    /// plan.
    pub fn context_source(mut self, source: impl ContextSource + 'static) -> Self {
        self.notes.add(source);
        self
    }

    /// Sets how to compact the conversation. The default first clears old tool output, then asks a model to
    /// summarise old turns, and drops them if that fails or there is no time.
    pub fn compaction(mut self, strategy: impl CompactionStrategy + 'static) -> Self {
        self.compaction = Some(Arc::new(strategy));
        self
    }

    /// Sets the model that summarises old turns, for example a cheaper one. The default is the agent's own
    /// model.
    pub fn compaction_model(mut self, model: ModelConfig) -> Self {
        self.compaction_model = Some(model);
        self
    }

    /// Sets how failed model calls are retried.
    pub fn retry(mut self, retry: RetryConfig) -> Self {
        self.run.retry = retry;
        self
    }

    /// Sets the loop detection; `None` turns it off.
    pub fn repetition(mut self, guard: Option<RepetitionConfig>) -> Self {
        self.run.repetition = guard;
        self
    }

    /// Sets whether runs record checkpoints by themselves: when the model completes a task of its list, and at the end.
    /// Off by default. Their names start with [`AUTOMATIC_CHECKPOINT`](lariat_core::event::AUTOMATIC_CHECKPOINT).
    pub const fn checkpoints(mut self, enabled: bool) -> Self {
        self.run.checkpoints = enabled;
        self
    }

    /// Sets how the tool calls of one reply are executed: in parallel or one after the other.
    pub const fn tool_execution(mut self, strategy: ToolExecutionStrategy) -> Self {
        self.run.tool_execution = strategy;
        self
    }

    /// Sets how many queued steering messages are delivered at a time.
    pub const fn steering_mode(mut self, mode: QueueMode) -> Self {
        self.run.steering_mode = mode;
        self
    }

    /// Sets how many queued follow-up messages are delivered at a time.
    pub const fn follow_up_mode(mut self, mode: QueueMode) -> Self {
        self.run.follow_up_mode = mode;
        self
    }

    /// Sets the trigger that is recorded for the first turn of a run that continues no other.
    pub const fn first_turn_trigger(mut self, trigger: TurnTrigger) -> Self {
        self.run.first_turn_trigger = trigger;
        self
    }

    /// Sets how long a cancelled tool may take to end by itself.
    pub const fn tool_grace(mut self, grace: Duration) -> Self {
        self.tool_grace = grace;
        self
    }

    /// Limits the text of a tool result that the model receives, in bytes. If the text is longer, the model
    /// receives its beginning and end; the store keeps the whole text, and the model can read it with
    /// `recall`. The default is 128 KiB.
    pub const fn max_tool_output(mut self, bytes: usize) -> Self {
        self.max_tool_output = bytes;
        self
    }

    /// Sets the store for journals. The default is the memory of this process.
    pub fn store(mut self, store: Arc<dyn SessionStore>) -> Self {
        self.store = Some(store);
        self
    }

    /// Starts from a conversation that your program recorded itself, for example in its own database. Repairs
    /// what a model would reject. The store of the agent must not have the session yet.
    pub fn history(mut self, messages: impl IntoIterator<Item = AgentMessage>) -> Self {
        self.history = messages.into_iter().collect();
        self
    }

    /// Sets how the journal behaves when its store fails.
    pub const fn journal(mut self, config: JournalConfig) -> Self {
        self.journal = config;
        self
    }

    /// Sets a stable identity for the agent. The default is random.
    pub fn agent_id(mut self, id: impl Into<AgentId>) -> Self {
        self.agent_id = Some(id.into());
        self
    }

    /// Resumes this session of the store, or starts a session with this id.
    pub fn session_id(mut self, id: impl Into<SessionId>) -> Self {
        self.session_id = Some(id.into());
        self
    }

    /// Sets the `{config}` segment of loop ids.
    pub fn config_id(mut self, id: impl Into<String>) -> Self {
        self.config_id = Some(id.into());
        self
    }

    /// Calls a function with every event, in a task of its own. The simplest of the three ways to observe an
    /// agent.
    pub fn on_event(mut self, callback: impl Fn(&AgentEvent) + Send + Sync + 'static) -> Self {
        self.callback = Some(Arc::new(callback));
        self
    }

    /// Passes every event of every run to an observer: a trace file, an exporter. Several agents may share an
    /// observer.
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observers.push(observer);
        self
    }

    /// Sets how often [`Agent::run_typed`] reports a wrong answer to the model and asks again. The default is
    /// 2.
    #[cfg(feature = "typed")]
    pub const fn answer_retries(mut self, retries: u32) -> Self {
        self.answer_retries = retries;
        self
    }

    /// Sets the length of a subscriber's queue, in events ([`Agent::subscribe`]). A subscriber that falls
    /// behind misses live events and receives the durable ones later.
    pub const fn event_queue(mut self, capacity: usize) -> Self {
        self.event_queue = capacity;
        self
    }

    /// Sets the source of time.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Sets the source of randomness.
    pub fn entropy(mut self, entropy: Arc<dyn EntropySource>) -> Self {
        self.entropy = entropy;
        self
    }

    /// Adds a secret value. The agent replaces it by its name in prompts, tool results and provider errors,
    /// before it records, shows or sends them. It already knows the keys and headers of its models and
    /// recognises common formats of keys.
    pub fn secret(mut self, name: impl Into<String>, value: impl Into<Arc<str>>) -> Self {
        self.secrets.push((name.into(), ApiKey::new(value)));
        self
    }

    /// Uses this redactor, to which the caller can add secrets while the agent works. `build` adds the others.
    pub fn redactor(mut self, redactor: Redactor) -> Self {
        self.redactor = redactor;
        self
    }

    /// Builds the agent.
    ///
    /// # Errors
    /// If no model was set, the catalogue does not know it or it has no key; if two tools have the same name or a tool has a name that providers reject, or if
    /// there is a limit on money and the price of a model is unknown.
    pub fn build(mut self) -> Result<Agent, BuildError> {
        if self.policy.can_plan() {
            self.tools.push(Arc::new(ProposeChange));
        }
        if self.standard {
            self.notes.add(ModeNotes::new(Arc::clone(&self.policy)));
        }
        let mut sections = Sections::default();
        if !self.sections.is_empty() {
            // The caller's own system prompt comes first.
            sections.add(Section::new(
                "system",
                SectionStability::Static,
                self.request.system_prompt.as_str(),
            ));
            sections.add_all(std::mem::take(&mut self.sections));
        }
        let (model, config) = std::mem::take(&mut self.model).resolve()?;
        self.request.model_config = Arc::new(config);
        self.check_prices(&*model)?;
        let redactor = self.redactor.clone();
        add_secrets(&redactor, &self.request, self.compaction_model.as_ref(), &self.secrets);
        self.choose_window();
        check_tools(&self.tools, &self.hidden_tools)?;
        let compaction = self.compaction.unwrap_or_else(|| {
            let summariser =
                self.compaction_model.map_or_else(|| Arc::clone(&self.request.model_config), Arc::new);
            let strategy = SummarisingCompaction::new(Arc::clone(&model), summariser);
            Arc::new(strategy.with_clock(Arc::clone(&self.clock)))
        });
        let observers: Arc<[Arc<dyn Observer>]> = self.observers.into();
        let ports = Ports {
            model,
            request: self.request,
            tools: ToolSet::with_offered(self.tools, |tool| {
                !self.hidden_tools.contains(tool) && self.policy.is_offered(tool)
            }),
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
            lineage: Lineage::root(Arc::clone(&observers)),
            tool_grace: self.tool_grace,
            max_tool_output: self.max_tool_output,
        };
        Ok(Agent::assemble(Parts {
            config: AgentLoopConfig {
                description: self.description,
                missing_approver: self.missing_approver,
                ..AgentLoopConfig::new(ports, self.run, self.config_id)
            },
            store: self.store.unwrap_or_else(|| Arc::new(MemoryStore::new())),
            journal: self.journal,
            agent_id: self.agent_id,
            session_id: self.session_id,
            watchers: Watchers { callback: self.callback, observers },
            event_queue: self.event_queue,
            history: self.history,
            #[cfg(feature = "typed")]
            answer_retries: self.answer_retries,
        }))
    }
}

impl AgentBuilder {
    /// Sets the window for compaction, and adds the `recall` tool if output can be left out.
    fn choose_window(&mut self) {
        let (context, is_given) = match std::mem::replace(&mut self.window, WindowChoice::OfModel) {
            WindowChoice::Given(context) => (context, true),
            WindowChoice::OfModel => {
                let model = &self.request.model_config;
                let window = usize::try_from(model.context_window).ok().filter(|window| *window > 0);
                (window.filter(|_| !model.id.is_empty()).map(ContextConfig::with_window), false)
            }
        };
        // A model that gets no tools may not support tool calls.
        let recalls = !self.tools.is_empty() || (is_given && context.is_some());
        if recalls && !self.tools.iter().any(|tool| tool.name() == RecallTool::NAME) {
            self.tools.push(Arc::new(RecallTool));
        }
        self.run.context = context;
    }

    /// Fails if money is limited but a model has no price: the limit would never stop a run.
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

/// Checks names and parameters of tools as providers do, before the first request. Of two tools with the same name, a
/// model could reach only one.
fn check_tools(tools: &[Arc<dyn AgentTool>], hidden: &BTreeSet<String>) -> Result<(), BuildError> {
    let mut seen = BTreeSet::new();
    for tool in tools {
        let name = tool.name();
        let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if name.is_empty() || name.len() > MAX_TOOL_NAME || !name.bytes().all(known) {
            return Err(BuildError::InvalidToolName(name.to_owned()));
        }
        if !seen.insert(name) {
            return Err(BuildError::DuplicateTool(name.to_owned()));
        }
        // No provider receives the schema of a hidden tool.
        if !hidden.contains(name) && tool.parameters_schema().get("type").is_some_and(|kind| kind != "object")
        {
            return Err(BuildError::InvalidToolParameters(name.to_owned()));
        }
    }
    Ok(())
}

/// The longest name of a tool that all providers accept, in bytes.
const MAX_TOOL_NAME: usize = 64;

/// Adds the given secrets and the keys, headers and secret parts of addresses of all models.
pub(crate) fn add_secrets(
    redactor: &Redactor,
    request: &RequestTemplate,
    summariser: Option<&ModelConfig>,
    secrets: &[(String, ApiKey)],
) {
    let own = || std::iter::once(&request.model_config).chain(&request.fallbacks);
    let models = || own().map(|model| &**model).chain(summariser);
    let keys = models().filter_map(|model| Some(("API key".to_owned(), model.api_key.expose()?)));
    let headers = models().flat_map(|model| &model.headers);
    let headers = headers.map(|(name, value)| (format!("header {name}"), value.as_str()));
    let addresses = models().flat_map(|model| model.address_secrets());
    let addresses = addresses.map(|value| ("address".to_owned(), value));
    let given = secrets.iter().filter_map(|(name, value)| Some((name.clone(), value.expose()?)));
    redactor.add(given.chain(keys).chain(headers).chain(addresses));
}
