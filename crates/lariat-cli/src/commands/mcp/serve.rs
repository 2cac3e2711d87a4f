//! `lariat mcp serve`: serves the tools and sessions of a directory to another agent.
//!
//! Standard output carries the protocol and nothing else; notes go to standard error.

use std::path::Path;
use std::sync::Arc;

use lariat_api::Sessions;
use lariat_core::cancel::CancellationToken;
use lariat_service::mcp::{HttpServer, ToolServer};
use lariat_service::{DirectoryTools, LoadedProject, SERVED_SESSION_TOOLS};
use tokio::signal::unix::{SignalKind, signal};
use uuid::Uuid;

use crate::args::mcp::McpServeArgs;
use crate::commands::background::{HostConnection, to_protocol};
use crate::commands::{CommandResult, print, trust_prompt};
use crate::exit::Exit;
use crate::files;
use crate::problem::Problem;
use crate::process_env::ProcessEnv;

/// What the tools are for, for the model of the client.
const INSTRUCTIONS: &str = "Tools of Lariat for the directory in which it runs. Commands run in a sandbox, file changes can be \
     undone, and the user's permission rules decide about each call. `lariat_start` gives a whole task to a coding agent; \
     `lariat_wait` waits for its result.";
/// Minimum length of a token that the user chooses, in characters.
const MIN_TOKEN: usize = 16;

/// Serves one client on standard input and output, or several over HTTP.
pub(super) async fn serve(env: &ProcessEnv, args: McpServeArgs) -> CommandResult {
    let mut options = env.load_options(args.cwd.as_ref());
    if let Some(mode) = &args.mode {
        options.flags.insert("mode".to_owned(), mode.as_str().into());
    }
    (options.allow, options.deny) = (args.allow.clone(), args.deny.clone());
    let is_sessions = |name: &String| name == SERVED_SESSION_TOOLS;
    let has_sessions = args.tools.as_ref().is_none_or(|names| names.iter().any(is_sessions));
    options.tools = args.tools.map(|names| names.into_iter().filter(|name| !is_sessions(name)).collect());
    let has_built_in = options.tools.as_ref().is_none_or(|names| !names.is_empty());
    let place = trust_prompt::resolve_trust(env, &options, false)?;
    let service = env.service(&place).await?;
    let built_in = if has_built_in { Some(service.serve_session(&place).await?) } else { None };
    built_in.iter().flat_map(|session| session.notices()).for_each(|notice| print::note(notice));
    let mut tools = DirectoryTools::new(built_in);
    if has_sessions {
        tools = with_sessions(env, &place, tools, args.mode);
    }
    let tools = Arc::new(tools);
    let server = ToolServer::new(Arc::clone(&tools) as Arc<_>, INSTRUCTIONS);
    let stop = stop_signal()?;
    let served = match args.http {
        None => {
            let serving = server.serve_streams(tokio::io::stdin(), tokio::io::stdout());
            tokio::select! {
                served = serving => served.map_err(|error| {
                    Problem::new(Exit::Failed, format!("the connection to the client failed: {error}"))
                }),
                () = stop.cancelled() => Ok(()),
            }
        }
        Some(address) => {
            let (token, is_new) = match (args.no_token, &args.token_file) {
                (true, _) => (None, false),
                (false, Some(file)) => (Some(read_token(file)?), false),
                (false, None) => (Some(new_token()), true),
            };
            let http = HttpServer::bind(address, token.as_deref()).await.map_err(|error| {
                Problem::new(Exit::Setup, format!("cannot serve HTTP: {error}")).at(address.to_string())
            })?;
            print::note(&format!("serving {}", http.url()));
            if let Some(token) = token.filter(|_| is_new) {
                print::note(&format!("clients must send the header `Authorization: Bearer {token}`"));
            }
            http.serve(&server, stop).await;
            Ok(())
        }
    };
    tools.close().await;
    served.map(|()| Exit::Done)
}

/// Adds the session tools, which use the background host.
fn with_sessions(
    env: &ProcessEnv,
    place: &LoadedProject,
    tools: DirectoryTools,
    mode: Option<String>,
) -> DirectoryTools {
    let env = env.clone();
    let connect = move || -> lariat_core::BoxFuture<'static, _> {
        let env = env.clone();
        Box::pin(async move {
            let connection = HostConnection::open(&env).await.map_err(to_protocol)?;
            Ok(Arc::new(connection.remote) as Arc<dyn Sessions>)
        })
    };
    tools.with_sessions(place.path().display().to_string(), mode, Box::new(connect))
}

/// A token that is cancelled when the user or the system asks this process to end.
fn stop_signal() -> Result<CancellationToken, Problem> {
    let listen = |kind| signal(kind).map_err(|error| Problem::new(Exit::Failed, error.to_string()));
    let (mut ended, mut interrupted) = (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
    let stop = CancellationToken::new();
    let stopping = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = ended.recv() => {}
            _ = interrupted.recv() => {}
        }
        stopping.cancel();
    });
    Ok(stop)
}

/// A token of 244 random bits.
fn new_token() -> String {
    format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple())
}

fn read_token(file: &Path) -> Result<String, Problem> {
    let place = || file.display().to_string();
    let Some(text) = files::read_private(file)? else {
        return Err(Problem::new(Exit::Setup, "the token file does not exist").at(place()));
    };
    let token = text.trim();
    if token.len() < MIN_TOKEN {
        return Err(Problem::new(Exit::Setup, format!("the token has fewer than {MIN_TOKEN} characters"))
            .at(place())
            .hint("`openssl rand -hex 32` prints a good one"));
    }
    Ok(token.to_owned())
}
