//! Builds an agent for a [`LoadedProject`]: tools and sandbox, permission gate, prompt sections, budgets, traces.
//!
//! [`Session::assemble`] lists the steps; each step is a function below it.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lariat_connect::AgentSet;
use lariat_connect::mcp::McpToolAdapter;
use lariat_core::archive::SessionArchive;
use lariat_core::budget::BudgetLimits;
use lariat_core::config::{ContextConfig, ExecutionLimits, RetryConfig};
use lariat_core::event::{AgentEvent, Description};
use lariat_core::id::SessionId;
use lariat_core::model::{ModelConfig, StreamProvider};
use lariat_core::store::SessionStore;
use lariat_core::tool::AgentTool;
use lariat_core::usage::Cost;
use lariat_guard::hooks::HookConfig;
use lariat_guard::{ApprovalStore, Claims};
use lariat_host::process::{Environment, Supervisor};
use lariat_host::sandbox::{Destination, Network, Policy, Sandbox, is_writable, machine_memory};
use lariat_host::undo::{Undo, UndoError};
use lariat_model::ProviderRegistry;
use lariat_model::http::ClientConfig;
use lariat_runtime::prompt::{self, NoteWriter};
use lariat_runtime::redact::Redactor;
use lariat_runtime::typed::AnswerSchema;
use lariat_runtime::{Agent, AgentBuilder, DailyBudget, Gate};
use lariat_tools::{Commands, DeniedReads, OutgoingHttp, Workbench, default_tools, question_of};

use crate::agent_tool::{self, DelegationTool};
use crate::callbacks::{AllHooks, HookCallbacks};
use crate::config::{AllowedHost, InstructionFiles, MemoryLimit, SandboxSettings, Settings};
use crate::file_history::OpenUndoStores;
use crate::inspection::InspectionProvider;
use crate::loaded_project::LoadedProject;
use crate::local::{
    HookPrograms, Instructions, MapSection, MemoryFiles, ProjectHooks, SkillsForFiles, SpendingFiles,
    nested_repositories, skills_section,
};
use crate::mcp::{FirstContact, McpServers};
use crate::memory_context::{FailureLearnings, Learn, RememberedSection, SearchPastSessions};
use crate::models::{Keys, Models, Purpose};
use crate::openapi::OpenApis;
use crate::past_sessions::PastSessions;
use crate::project_memory::ProjectMemory;
use crate::session::{Session, SessionOptions};
use crate::slash_commands::InvokedCommands;
use crate::task_guidance::TaskGuidance;
use crate::tool_search::{self, HiddenTools};
use crate::traces::Traces;
use crate::transcript::TranscriptFile;
use crate::{ServiceError, UserDirectories, private, sandbox_probe, temporary};

/// Everything that a session is built from.
pub(crate) struct SessionParts<'a> {
    pub(crate) place: &'a LoadedProject,
    pub(crate) folders: &'a UserDirectories,
    pub(crate) keys: Arc<dyn Keys>,
    pub(crate) environment: Environment,
    pub(crate) store: Arc<dyn SessionStore>,
    pub(crate) archive: Arc<dyn SessionArchive>,
    pub(crate) registry: ProviderRegistry,
    /// Proxy and certificates for all connections to other machines.
    pub(crate) client: ClientConfig,
    pub(crate) supervisor: Supervisor,
    pub(crate) session_id: SessionId,
    pub(crate) purpose: Purpose,
    /// The undo stores that are open in this process.
    pub(crate) undo: OpenUndoStores,
    /// Whether nothing of the session is written to disk.
    pub(crate) is_ephemeral: bool,
    pub(crate) driving: SessionOptions,
}

impl Session {
    pub(crate) async fn assemble(mut parts: SessionParts<'_>) -> Result<Self, ServiceError> {
        let git_notes = parts.driving.git.take();
        let SessionParts { place, driving, .. } = &parts;
        let settings = &place.settings;
        let models =
            Models::new(settings, &*parts.keys).with_catalogue(&place.catalogue).with_purpose(parts.purpose);
        let model = with_region(models.selected_model()?).await;
        let form = driving.schema.clone().map(AnswerSchema::from_value).transpose();
        let form = form.map_err(|error| ServiceError::Schema(error.to_string()))?.map(Arc::new);
        let mut notices = notices(place);
        notices.extend(memory(&parts).map(|files| files.check()).unwrap_or_default());
        let traces = Traces::of(settings, &*parts.keys, &parts.client, driving.workflow, &mut notices);

        let environment = place.environment(&parts.environment);
        let supervisor = &parts.supervisor;
        let commands = commands(&parts, &environment, &mut notices).await;
        let is_sandboxed = matches!(commands, Commands::Confined(_));
        let transcript = transcript(&parts, &mut notices).await;
        let gate = gate(&parts, supervisor, &environment, &commands, transcript.as_ref())?;
        notices.extend(import_note(&parts).await);
        let redactor = Redactor::default();
        let mcp = Arc::new(mcp_servers_with(&parts, &commands, &environment, &redactor));
        let bench = bench(&parts, commands, &environment, &gate, &mut notices);
        let mut tools = default_tools(&bench);
        let bash = tools.iter().find(|tool| tool.name() == "bash").cloned();
        let memory = project_memory(&parts, &mut notices);
        if let Some(memory) = &memory {
            tools.push(Arc::new(Learn(memory.clone())));
            let directory = place.path().display().to_string();
            let past = PastSessions::new(Arc::clone(&parts.archive), directory);
            tools.push(Arc::new(SearchPastSessions(past)));
        }
        let first = match parts.purpose {
            Purpose::Calling => FirstContact::Start,
            Purpose::Inspecting => FirstContact::Skip,
        };
        let mut mcp_tools = mcp.tools(first, &mut notices).await;
        let apis = OpenApis::new(place, parts.folders, &*parts.keys, &parts.client);
        let mut api_tools = apis.tools(&mut notices);
        if let Some(only) = &place.tools {
            tools.retain(|tool| only.contains(tool.name()));
            mcp_tools.retain(|tool| only.contains(tool.name()));
            api_tools.retain(|tool| only.contains(tool.name()));
        }
        let window = settings.context.window.map_or(model.context_window, NonZeroU64::get);
        let bytes = mcp_tools.iter().map(McpToolAdapter::definition_bytes).sum::<usize>()
            + api_tools.iter().map(|tool| tool_search::definition_bytes(&**tool)).sum::<usize>();
        let is_hidden = HiddenTools::is_needed(bytes, settings.context.tools, window);
        if !is_hidden {
            mcp_tools.retain(|tool| is_usable(tool, &mut notices));
        }
        let mcp_tools = mcp_tools.into_iter().map(|tool| Arc::new(tool) as Arc<dyn AgentTool>);
        let connected: Vec<Arc<dyn AgentTool>> = mcp_tools.chain(api_tools).collect();
        let hidden = is_hidden.then(|| HiddenTools::new(connected.iter().cloned()));
        tools.extend(hidden.iter().flat_map(HiddenTools::tools));
        tools.extend(connected);
        let files = place.command_files(parts.folders);
        if place.tools.as_ref().is_none_or(|only| only.contains(agent_tool::NAME)) {
            let names = tools.iter().map(|tool| tool.name().to_owned());
            let names = names.chain([agent_tool::NAME.to_owned()]).collect();
            let (agents, problems) = place.agent_set(parts.folders);
            notices.extend(problems);
            let chosen = agent_models(&agents, &models, &mut notices).await;
            let environment = format!("The working directory is {}.", place.path().display());
            let delegation =
                DelegationTool::new(agents, chosen, Arc::clone(&gate), files, names, environment);
            tools.push(Arc::new(delegation));
        }
        let has_sub_agents = tools.iter().any(|tool| tool.name() == agent_tool::NAME);
        let names = tools.iter().map(|tool| tool.name().to_owned()).collect();
        let shell = tools.iter().find(|tool| tool.name() == "bash").cloned();

        let provider: Arc<dyn StreamProvider> = match parts.purpose {
            Purpose::Calling => Arc::new(parts.registry.clone()),
            Purpose::Inspecting => Arc::new(InspectionProvider(parts.registry.clone())),
        };
        let (provider, hidden) = match hidden {
            Some(hidden) => (hidden.provider(provider), hidden.names()),
            None => (provider, BTreeSet::new()),
        };
        let mut builder = Agent::builder()
            .model(provider)
            .model_config(model.clone())
            .store(Arc::clone(&parts.store))
            .session_id(parts.session_id.clone())
            .tools(tools)
            .redactor(redactor)
            .hide_tools(hidden)
            .permission_policy(Arc::clone(&gate))
            .retry(retry(settings))
            .checkpoints(settings.undo.checkpoints)
            .context(context(settings, &model));
        for (name, value) in apis.secrets() {
            builder = builder.secret(name, value);
        }
        // Limits apply to model requests; inspecting the context needs no price.
        if parts.purpose == Purpose::Calling {
            builder = builder.limits(limits(settings)).session_budget(money(settings.budget.session));
            if let Some(day) = daily(&parts)? {
                builder = builder.daily_budget(day);
            }
            if let Some(pool) = &driving.budget_pool {
                builder = builder.budget_pool(pool.clone());
            }
        }
        if let Some(words) = &driving.system_prompt {
            builder = builder.system_prompt(words.as_str());
        }
        if let Some(form) = &form {
            builder = builder.output_schema(form.output_schema().clone());
        }
        builder = add_context(builder.standard_context(), &parts, &bench, &gate, &mut notices);
        let command_files = place.command_files(parts.folders);
        builder = builder.context_source(InvokedCommands {
            files: command_files.clone(),
            session_id: parts.session_id.clone(),
            gate: Arc::clone(&gate),
            mcp: Arc::clone(&mcp),
            shell,
            has_sub_agents,
        });
        if settings.context.guidance {
            builder = builder.context_source(TaskGuidance { window, writer: NoteWriter::default() });
        }
        if let Some(memory) = memory {
            let tokens = settings.memory.tokens;
            if tokens > 0 {
                builder = builder.sections(RememberedSection { memory: memory.clone(), tokens });
            }
            if parts.purpose != Purpose::Inspecting {
                let learnings = FailureLearnings::new(memory, parts.session_id.clone());
                builder = builder.context_source(Arc::clone(&learnings)).observer(learnings);
            }
        }
        if let Some(git) = git_notes.or_else(|| place.ask_git(parts.folders, &parts.environment)) {
            builder = builder.context_source(git);
        }
        for name in &settings.fallback_models {
            builder = builder.fallback_model(with_region(models.find(name)?).await);
        }
        if let Some(name) = &settings.small_model {
            builder = builder.compaction_model(with_region(models.find(name)?).await);
        }
        builder = builder.thinking_level(settings.thinking);
        if let Some(tokens) = settings.max_tokens {
            builder = builder.max_tokens(u32::try_from(tokens.get()).unwrap_or(u32::MAX));
        }
        let description = driving.description.clone().unwrap_or_else(|| {
            let mut description = Description::default();
            description.cwd = Some(place.path().display().to_string());
            description
        });
        if let Some(transcript) = transcript {
            builder = builder.observer(transcript);
        }
        let agent = traces.add_observers(builder.description(description)).build()?;
        let (tools, commands) = (names, command_files);
        Ok(Self { agent, gate, model, form, tools, traces, bash, is_sandboxed, mcp, commands, notices })
    }
}

/// Whether providers accept a tool of a server.
fn is_usable(tool: &McpToolAdapter, notices: &mut Vec<String>) -> bool {
    let problem = tool.check().err();
    notices.extend(
        problem.iter().map(|why| format!("MCP server `{}`: {why}", tool.server().unwrap_or_default())),
    );
    problem.is_none()
}

/// The MCP servers of a directory, with the sandbox of a session's commands. Starts none.
pub(crate) async fn mcp_servers(parts: SessionParts<'_>) -> McpServers {
    let environment = parts.place.environment(&parts.environment);
    let commands = commands(&parts, &environment, &mut Vec::new()).await;
    mcp_servers_with(&parts, &commands, &environment, &Redactor::default())
}

fn mcp_servers_with(
    parts: &SessionParts<'_>,
    commands: &Commands,
    environment: &Environment,
    redactor: &Redactor,
) -> McpServers {
    let SessionParts { place, folders, keys, client, .. } = parts;
    McpServers::new(place, folders, keys, commands, environment, client, redactor)
}

/// Sets the region of a Bedrock model to the one that AWS's tools would use, unless its configuration or a variable names one.
async fn with_region(model: ModelConfig) -> ModelConfig {
    #[cfg(feature = "aws")]
    if model.api == "bedrock-converse" && model.base_url.is_empty() && model.compat.get("region").is_none() {
        return match lariat_model::http::aws::region().await {
            Some(region) => crate::models::with_compat(model, "region", region),
            None => model,
        };
    }
    model
}

/// Resolves the models that definitions of sub-agents name. One that is not available here is replaced by the session's.
async fn agent_models(
    agents: &AgentSet,
    models: &Models<'_>,
    notices: &mut Vec<String>,
) -> BTreeMap<String, ModelConfig> {
    let mut chosen = BTreeMap::new();
    for agent in agents.agents() {
        let Some(name) = &agent.model else { continue };
        match models.find(name) {
            Ok(model) => drop(chosen.insert(agent.name.clone(), with_region(model).await)),
            Err(error) => notices.push(format!(
                "the sub-agent `{}` uses the model of the session, because its own is not available: {error}",
                agent.name
            )),
        }
    }
    chosen
}

/// Gives `fetch` the same proxy and certificates as everything else.
fn egress(client: &ClientConfig) -> OutgoingHttp {
    let mut egress = OutgoingHttp::default();
    egress.proxy = client.proxy.clone();
    egress.http_proxy = client.http_proxy.clone();
    egress.no_proxy = client.no_proxy.clone();
    egress.certificates = client.extra_certificates.clone();
    egress
}

/// Notes for the user before the session starts.
pub(crate) fn notices(place: &LoadedProject) -> Vec<String> {
    let mut notices: Vec<String> = place.opened.problems.iter().map(ToString::to_string).collect();
    notices.extend(place.sources.warnings.iter().map(ToString::to_string));
    notices
}

/// The session file for hooks, if the settings ask for one.
async fn transcript(parts: &SessionParts<'_>, notices: &mut Vec<String>) -> Option<Arc<TranscriptFile>> {
    let is_wanted = parts.place.settings.claude.transcripts && !parts.is_ephemeral;
    if !is_wanted || parts.purpose == Purpose::Inspecting {
        return None;
    }
    let (projects, id) = (transcripts(parts), &parts.session_id);
    match TranscriptFile::open(&projects, parts.place.path(), id, &parts.store).await {
        Ok(file) => Some(Arc::new(file)),
        Err(error) => {
            let place = projects.display();
            notices.push(format!(
                "could not write the session below {place}, so hooks get no transcript: {error}"
            ));
            None
        }
    }
}

/// Where Claude Code keeps its session files.
fn transcripts(parts: &SessionParts<'_>) -> PathBuf {
    let moved = parts.driving.claude_directory.clone();
    moved.unwrap_or_else(|| parts.folders.home.join(".claude")).join("projects")
}

/// A note on an imported session: its approvals do not apply here.
async fn import_note(parts: &SessionParts<'_>) -> Option<String> {
    let first = parts.store.read(&parts.session_id, 0, 1).await.ok()?;
    let AgentEvent::SessionImported(import) = &first.first()?.event else { return None };
    Some(format!(
        "this session was imported ({} session {}); its approvals do not apply here",
        import.format, import.session_id
    ))
}

/// Whether commands run, and in which sandbox.
pub(crate) async fn commands(
    parts: &SessionParts<'_>,
    environment: &Environment,
    notices: &mut Vec<String>,
) -> Commands {
    if !parts.place.settings.sandbox.enabled {
        return Commands::Unconfined;
    }
    match sandbox_probe::backend(parts.folders, environment).await {
        Ok(backend) => {
            let policy = with_private_tmp(policy(parts), parts, notices);
            let (home, path) = (&parts.folders.home, parts.place.path());
            if let Some(root) = policy.writable.iter().find(|root| home.starts_with(root)) {
                notices.push(format!(
                    "the workspace {} contains your home directory, so commands may change almost everything in it; start in a project directory instead",
                    root.display()
                ));
            }
            if !is_writable(path) {
                notices.push(format!(
                    "you cannot write to {}, so commands cannot change files there",
                    path.display()
                ));
            }
            Commands::Confined(Sandbox::new(policy, backend))
        }
        Err(reasons) => {
            let reasons: Vec<String> =
                reasons.iter().map(|(name, reason)| format!("{name}: {reason}")).collect();
            notices.push(format!(
                "no sandbox works on this machine, so Lariat refuses to run commands ({}); install bubblewrap, or use --no-sandbox",
                reasons.join("; ")
            ));
            Commands::Refused
        }
    }
}

/// The sandbox policy of this workspace.
fn policy(parts: &SessionParts<'_>) -> Policy {
    let (settings, folders) = (&parts.place.settings, parts.folders);
    let mut policy = Policy::workspace(parts.place.path(), Some(&folders.home));
    // Commands must not change the scripts that hooks run, nor the settings that name them.
    policy.protected.extend(parts.place.opened.places.scripts.iter().cloned());
    policy.protected.extend(nested_repositories(parts.place.path()));
    // A directory that does not exist cannot be written; `bench` reports it.
    for more in parts.place.more_directories().iter().filter_map(|more| more.canonicalize().ok()) {
        policy = policy.with_workspace(&more, Some(&folders.home));
        policy.protected.extend(nested_repositories(&more));
    }
    // Lariat's own files: approvals, trust, sessions and checkpoints of all projects.
    for own in [&folders.config, &folders.state] {
        policy.hidden.push(own.clone());
        policy.protected.push(own.clone());
    }
    if settings.claude.transcripts {
        policy.hidden.push(transcripts(parts));
        policy.protected.push(transcripts(parts));
    }
    if let Some(store) = settings.store.path.as_ref().filter(|path| !path.as_os_str().is_empty()) {
        policy.hidden.push(store.clone());
    }
    match settings.sandbox.memory {
        MemoryLimit::Automatic => policy.memory = machine_memory().map(|bytes| bytes / 4 * 3),
        MemoryLimit::Mebibytes(mebibytes) => {
            policy.memory = Some(mebibytes.get().saturating_mul(1 << 20));
            policy.memory_of_all = policy.memory;
        }
    }
    policy.with_network(network(&settings.sandbox))
}

/// The network access of commands. An allow-list applies even if `network` is on: a restriction is never dropped.
fn network(settings: &SandboxSettings) -> Network {
    match (settings.hosts.as_slice(), settings.network) {
        ([], true) => Network::On,
        ([], false) => Network::Off,
        (hosts, _) => {
            let destination =
                |allowed: &AllowedHost| Destination { host: allowed.host.clone(), port: allowed.port };
            Network::Only(hosts.iter().map(destination).collect())
        }
    }
}

/// Gives commands their own writable `/tmp`. Where the workspace or the home directory lies in `/tmp`, commands see the real one
/// and cannot write to it.
fn with_private_tmp(policy: Policy, parts: &SessionParts<'_>, notices: &mut Vec<String>) -> Policy {
    let needs_real = |path: &PathBuf| path.starts_with("/tmp");
    if policy.writable.iter().chain([&parts.folders.home]).any(needs_real) {
        return policy;
    }
    match temporary::directory(parts.folders, parts.session_id.as_str()) {
        Ok(directory) => policy.with_temporary(directory),
        Err(error) => {
            notices.push(format!("commands cannot write to /tmp: could not create their directory: {error}"));
            policy
        }
    }
}

pub(crate) fn gate(
    parts: &SessionParts<'_>,
    supervisor: &Supervisor,
    environment: &Environment,
    commands: &Commands,
    transcript: Option<&Arc<TranscriptFile>>,
) -> Result<Arc<Gate>, ServiceError> {
    let of_project = match commands {
        _ if !parts.place.settings.sandbox.hooks => ProjectHooks::Unconfined,
        Commands::Confined(sandbox) => ProjectHooks::Confined(sandbox.clone()),
        Commands::Unconfined => ProjectHooks::Unconfined,
        _ => ProjectHooks::Refused(
            "no sandbox works on this machine, so hooks of a project do not run".to_owned(),
        ),
    };
    let project = parts.place.opened.territory.root();
    let runner = HookPrograms::new(supervisor.clone(), project, environment.clone())
        .with_workspace(&parts.place.workspace)
        .with_project_hooks(of_project)
        .with_client(parts.client.clone());
    let (more, callbacks) = match parts.driving.callbacks.clone() {
        Some(HookCallbacks { hooks, runner }) => (hooks, Some(runner)),
        None => (HookConfig::default(), None),
    };
    let runner = AllHooks { programs: runner, callbacks, transcript: transcript.cloned() };
    let gate = parts.place.opened.gate_with(more, Arc::new(runner), environment);
    let gate = gate.with_approvals(ApprovalStore::new(parts.folders.approvals()))?;
    let gate = gate.with_claims(Claims::shared(parts.folders.claims()));
    let gate = match transcript {
        Some(transcript) => gate.with_transcript(transcript.path().display().to_string()),
        None => gate,
    };
    let gate = match commands {
        // The sandbox does not restrict what a command does on the network or at the hosts that it may reach.
        Commands::Confined(sandbox) if sandbox.policy().network != Network::Off => {
            gate.with_sandbox_and_network()
        }
        Commands::Confined(_) => gate.with_sandbox(),
        _ => gate,
    };
    let gate = if parts.driving.has_clients { gate.with_questions(question_of) } else { gate };
    if let Some(mode) = parts.place.settings.mode {
        gate.set_mode(mode);
    }
    Ok(Arc::new(gate))
}

pub(crate) fn bench(
    parts: &SessionParts<'_>,
    commands: Commands,
    environment: &Environment,
    gate: &Arc<Gate>,
    notices: &mut Vec<String>,
) -> Workbench {
    let mut workspace = parts.place.tool_files();
    for directory in gate.guard().workspace().iter().skip(1) {
        let known = workspace.roots().iter().any(|root| root.path() == directory);
        match workspace.clone().with_root(directory, lariat_host::files::Access::ReadWrite) {
            _ if known => {}
            Ok(with) => workspace = with,
            Err(error) => notices.push(format!("additional directory {}: {error}", directory.display())),
        }
    }
    let bench = Workbench::new(workspace)
        .with_commands(commands)
        .with_environment(environment.clone())
        .with_supervisor(parts.supervisor.clone())
        .with_egress(egress(&parts.client))
        .with_denied_reads(Arc::new(GateDeniedReads(Arc::clone(gate))));
    let bench = match &parts.driving.editor {
        Some(editor) => bench.with_editor(Arc::clone(editor)),
        None => bench,
    };
    if !parts.place.settings.undo.enabled {
        return bench;
    }
    bench.with_undo_by(undo(parts))
}

/// Opens the undo store of the session's directory.
pub(crate) fn undo(parts: &SessionParts<'_>) -> impl Fn() -> Result<Undo, UndoError> + Send + Sync + use<> {
    let workspace = parts.place.workspace.clone();
    let folder = parts.folders.undo(parts.place.path());
    // Undo creates its own directory and reports errors; this makes the directory private.
    let _ = private::directory(&folder);
    let own = parts.folders.undo_of(parts.place.path(), parts.session_id.as_str());
    let open = parts.undo.clone();
    move || match open.open(&workspace, &folder) {
        // Another session is working here, so this one uses its own checkpoints.
        Err(UndoError::Busy(_)) => open.open(&workspace, &own),
        opened => opened,
    }
}

/// The paths that the session's current rules deny to read.
struct GateDeniedReads(Arc<Gate>);

impl DeniedReads for GateDeniedReads {
    fn starts(&self) -> Vec<PathBuf> {
        self.0.guard().denied_starts().to_vec()
    }

    fn denies(&self, path: &std::path::Path) -> bool {
        self.0.guard().denies_path(path)
    }
}

/// Adds prompt sections and context notes: environment, skills, memory files, repository map.
fn add_context(
    builder: AgentBuilder,
    parts: &SessionParts<'_>,
    bench: &Workbench,
    gate: &Gate,
    notices: &mut Vec<String>,
) -> AgentBuilder {
    let place = parts.place;
    let facts = prompt::Environment::new()
        .with("system", std::env::consts::OS)
        .with("directory", place.path().display().to_string())
        .with("shell", "bash");
    let mut builder = builder.context_source(facts);
    let found = place.command_files(parts.folders).skills();
    if !found.skills().is_empty() {
        builder = builder.section(skills_section(&found));
    }
    let (for_files, problems) = SkillsForFiles::new(&found, &place.opened.territory);
    notices.extend(problems);
    if let Some(for_files) = for_files {
        builder = builder.context_source(for_files);
    }
    if let Some(files) = memory(parts).map(Arc::new) {
        builder = builder.sections(Arc::clone(&files)).context_source(files);
    }
    let tokens = place.settings.context.map;
    if tokens > 0 {
        builder = builder.sections(MapSection::new(bench, tokens).with_access_check(gate.read_check()));
    }
    builder
}

/// The memory of the project, unless the settings or the user disable it. A file that cannot be read disables it too.
fn project_memory(parts: &SessionParts<'_>, notices: &mut Vec<String>) -> Option<ProjectMemory> {
    if !parts.place.settings.memory.enabled {
        return None;
    }
    let memory = ProjectMemory::new(parts.folders.memory(parts.place.opened.territory.root()));
    match memory.load() {
        Ok(content) => (!content.off).then_some(memory),
        Err(error) => {
            notices.push(format!("memory is off: {error}"));
            None
        }
    }
}

/// The memory files, unless the settings disable them.
fn memory(parts: &SessionParts<'_>) -> Option<MemoryFiles> {
    let (place, home) = (parts.place, Some(parts.folders.home.as_path()));
    let instructions = match place.settings.instruction_files {
        InstructionFiles::Claude => Instructions::Claude,
        InstructionFiles::ClaudeOrAgents => Instructions::ClaudeOrAgents,
        InstructionFiles::ClaudeAndAgents => Instructions::ClaudeAndAgents,
        InstructionFiles::None => return None,
    };
    Some(MemoryFiles::new(&place.workspace, home, place.opened.trust).with_instructions(instructions))
}

/// Limits of one run. Without a setting there is no limit, because the user watches the run.
pub(crate) fn limits(settings: &Settings) -> ExecutionLimits {
    let set = &settings.limits;
    let count = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    let mut limits = ExecutionLimits::none();
    limits.max_turns = set.turns.map(|turns| count(turns.get()));
    limits.max_total_tokens = set.tokens.map(|tokens| count(tokens.get()));
    limits.max_duration = set.time;
    limits.max_tool_calls = set.tool_calls.map(count);
    limits.max_cost = set.cost;
    limits
}

/// The longest wait between two attempts, before jitter, unless the provider asks for more. With ten retries this adds up to
/// about five minutes.
const MAX_RETRY_DELAY: Duration = Duration::from_secs(60);

/// Retries for minutes, because a user or a script waits for the end; the library's default gives up after seconds.
fn retry(settings: &Settings) -> RetryConfig {
    RetryConfig::default()
        .with_max_delay(MAX_RETRY_DELAY)
        .with_max_retries(usize::try_from(settings.retry.attempts).unwrap_or(usize::MAX))
        .with_patience(settings.retry.patience)
}

pub(crate) fn money(cost: Option<Cost>) -> BudgetLimits {
    let mut limits = BudgetLimits::none();
    limits.cost = cost;
    limits
}

/// The daily budget, over all sessions and processes. Spending is logged even without a limit, so that a limit set at noon
/// includes the morning.
fn daily(parts: &SessionParts<'_>) -> Result<Option<DailyBudget>, ServiceError> {
    let limits = money(parts.place.settings.budget.day);
    let folder = parts.folders.spending();
    match SpendingFiles::open(&folder) {
        Ok(log) => Ok(Some(DailyBudget::new(limits, Arc::new(log)))),
        Err(_) if limits.is_none() => Ok(None),
        Err(error) => Err(ServiceError::folder(folder, error)),
    }
}

fn context(settings: &Settings, model: &ModelConfig) -> Option<ContextConfig> {
    let set = &settings.context;
    if !set.enabled {
        return None;
    }
    let window = set.window.map_or(model.context_window, NonZeroU64::get);
    let mut context = ContextConfig::default();
    context.max_context_tokens = usize::try_from(window).unwrap_or(context.max_context_tokens);
    context.warn_at_percent = set.warn_at;
    context.compact_at_percent = set.compact_at;
    context.emergency_at_percent = set.emergency_at;
    Some(context)
}
