//! `lariat acp`: serves an editor over standard input and output.
//!
//! Sessions run in this process. A session that the background host runs is shown from there.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use lariat_acp::{
    AgentInfo, Choice, EditorBuffers, EditorCommand, EditorServers, Project, Projects, ProtocolVersions,
};
use lariat_api::{AskPolicy, ProblemCode, Sessions};
use lariat_core::BoxFuture;
use lariat_core::id::SessionId;
use lariat_core::model::ThinkingLevel;
use lariat_core::store::StoreError;
use lariat_server::unix;
use lariat_service::models::Models;
use lariat_service::permissions::Mode;
use lariat_service::trust::Trust;
use lariat_service::{
    HostOptions, LoadOptions, LoadedProject, LocalService, ProjectAgents, ServiceError, SessionSettings,
};
use serde_json::{Value, json};
use tokio::io::BufReader;

use super::{CommandResult, models, print, trust_prompt, ui};
use crate::args::AcpArgs;
use crate::exit::Exit;
use crate::problem::Problem;
use crate::process_env::ProcessEnv;

/// Maximum number of models in a list. More are found by their names in settings.
const MAX_MODELS: usize = 200;

/// Serves the editor that started this process.
pub(crate) async fn acp(env: &ProcessEnv, args: &AcpArgs) -> CommandResult {
    // Editors start this command anywhere, so only the settings of the user decide about the store.
    let home = if env.folders.home.is_dir() { env.folders.home.as_path() } else { Path::new("/") };
    let mut options = LoadOptions::new(home);
    (options.environment, options.distrusting) = (env.settings(), true);
    let place = env.load_project(&options)?;
    let service = env.service(&place).await?;
    let settings = SessionSettings::default();
    let mut hosting = HostOptions::default();
    // The editor is attached while it has a session open, and it shows what waits.
    hosting.ask_policy = AskPolicy::Wait;
    let buffers = EditorBuffers::default();
    let files = buffers.clone();
    let sessions = ProjectAgents::new(service.clone(), env.settings())
        .with_session_settings(settings.clone())
        .with_editors(Arc::new(move |session_id| files.of(session_id)))
        .into_host(unix::principal(env.variable("USER")), hosting);
    let projects = EditorProjects { env: env.clone(), settings, service };
    let info = AgentInfo {
        name: "lariat".to_owned(),
        title: "Lariat".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let versions = if args.draft_v2 { ProtocolVersions::WithDraft } else { ProtocolVersions::Stable };
    let (input, output) = (BufReader::new(tokio::io::stdin()), tokio::io::stdout());
    let (sessions, projects) = (Arc::new(sessions), Arc::new(projects));
    let served = lariat_acp::serve(input, output, sessions, projects, buffers, info, versions).await;
    served.map_err(|error| {
        Problem::new(Exit::Failed, format!("the connection to the editor failed: {error}"))
    })?;
    Ok(Exit::Done)
}

/// What this machine knows about the directories of an editor.
struct EditorProjects {
    env: ProcessEnv,
    settings: SessionSettings,
    service: LocalService,
}

impl EditorProjects {
    fn load(&self, directory: &Path) -> Result<Project, Problem> {
        let mut options = LoadOptions::new(directory);
        options.environment = self.env.settings();
        let place = self.env.load_project(&options)?;
        let mut project = Project::default();
        project.directory = place.path().display().to_string();
        project.modes = Mode::ALL.into_iter().map(mode).collect();
        project.mode = place.settings.mode.unwrap_or_default().name().to_owned();
        (project.model, project.models) = self.models(&place);
        project.efforts =
            EFFORTS.iter().map(|(level, words)| Choice::new(level_name(*level), *words)).collect();
        project.effort = level_name(place.settings.thinking);
        let (commands, problems) = place.slash_commands(&self.env.folders);
        let command = |own: lariat_service::SlashCommand| EditorCommand {
            description: print::abbreviate(&own.description, 120),
            name: own.name,
            arguments: own.arguments,
        };
        project.commands = commands.into_iter().map(command).collect();
        project.notices = problems;
        let needs_trust = place.opened.trust != Trust::Trusted && !place.opened.effects().is_empty();
        if needs_trust {
            let (situation, advice) = (trust_prompt::situation(&place), trust_prompt::advice(&place));
            project.notices.push(format!("{situation}; {advice}"));
        }
        // Editors write standard error to their log; not all of them show notices.
        project.notices.iter().for_each(|notice| print::note(notice));
        Ok(project)
    }

    /// The model of the settings, and the models whose provider has a key.
    fn models(&self, place: &LoadedProject) -> (String, Vec<Choice>) {
        let keys = self.env.keys();
        let found = Models::new(&place.settings, &keys).with_catalogue(&place.catalogue);
        let selected = place.settings.model.clone().or_else(|| {
            let config = found.selected_model().ok()?;
            Some(format!("{}/{}", config.provider, config.id))
        });
        let mut known: Vec<String> = models::configured_names(&place.settings);
        let with_key: BTreeSet<&str> =
            place.catalogue.catalogue().providers().filter(|name| found.key(name).is_some()).collect();
        let listed = place.catalogue.catalogue().models();
        let listed = listed.filter(|model| with_key.contains(model.provider.as_str()) && model.tool_call);
        known.extend(listed.map(|model| format!("{}/{}", model.provider, model.id)));
        known.truncate(MAX_MODELS);
        let choices = known.into_iter().map(|name| Choice::new(name, "")).collect();
        (selected.unwrap_or_default(), choices)
    }
}

/// The levels of effort, from the least to the most.
const EFFORTS: [(ThinkingLevel, &str); 6] = [
    (ThinkingLevel::Off, "No reasoning"),
    (ThinkingLevel::Minimal, "The least possible"),
    (ThinkingLevel::Low, "Little reasoning"),
    (ThinkingLevel::Medium, "Medium reasoning"),
    (ThinkingLevel::High, "Much reasoning"),
    (ThinkingLevel::Max, "The most the model supports"),
];

fn level_name(level: ThinkingLevel) -> String {
    match serde_json::to_value(level) {
        Ok(Value::String(name)) => name,
        _ => String::new(),
    }
}

fn mode(mode: Mode) -> Choice {
    let description = match mode {
        Mode::Default => "Reads run; everything else requires approval",
        Mode::AcceptEdits => "Changes inside the workspace run as well",
        Mode::Plan => "Nothing changes: changes are collected for approval",
        Mode::Auto => "Everything that the sandbox confines runs",
        Mode::DontAsk => "What is not allowed is denied without asking",
        Mode::Bypass => "Everything runs except critical commands",
        _ => "",
    };
    Choice::new(mode.name(), description)
}

impl Projects for EditorProjects {
    fn project<'a>(&'a self, directory: &'a Path) -> BoxFuture<'a, Result<Project, lariat_api::Problem>> {
        Box::pin(async move {
            self.load(directory).map_err(|problem| {
                let mut shown = lariat_api::Problem::new(ProblemCode::Invalid, problem.cause);
                (shown.place, shown.hint) = (problem.place, problem.hint);
                shown
            })
        })
    }

    fn set_servers(&self, session_id: &SessionId, servers: EditorServers) {
        let settings = json!({ "mcpServers": servers.0 }).to_string();
        self.settings.set(session_id.clone(), "the editor", settings);
    }

    fn delete<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<(), lariat_api::Problem>> {
        Box::pin(async move {
            match self.service.delete(session_id).await {
                Ok(()) | Err(ServiceError::Store(StoreError::NotFound(_))) => Ok(()),
                Err(error) => {
                    let code = match error {
                        ServiceError::Store(StoreError::Busy { .. }) => ProblemCode::OwnedElsewhere,
                        _ => ProblemCode::Unavailable,
                    };
                    Err(lariat_api::Problem::new(code, error.to_string()))
                }
            }
        })
    }

    fn running_elsewhere<'a>(
        &'a self,
        session_id: &'a SessionId,
    ) -> BoxFuture<'a, Option<Arc<dyn Sessions>>> {
        Box::pin(async move {
            let remote = ui::running_in_background(&self.env, session_id).await.ok().flatten()?;
            Some(Arc::new(remote) as Arc<dyn Sessions>)
        })
    }
}
