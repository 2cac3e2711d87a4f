//! `lariat mcp login` and `lariat mcp logout`.

use std::io::BufRead as _;

use lariat_service::mcp::{LoginSummary, McpError, McpServers};
use serde_json::json;
use tokio::sync::mpsc;

use super::super::CommandResult;
use super::super::print;
use super::{known, unknown};
use crate::args::mcp::{McpLoginArgs, McpNameArgs};
use crate::exit::Exit;
use crate::problem::Problem;

/// Lines of standard input that may wait.
const QUEUE: usize = 8;

/// Logs in at a service, and lists its tools.
pub(super) async fn login(servers: &McpServers, args: &McpLoginArgs) -> CommandResult {
    let name = &args.name;
    known(servers, name)?;
    let begun = servers.begin_login(name, args.scope.as_deref()).await;
    let login = begun.ok_or_else(|| unknown(servers, name))?.map_err(|error| failed(name, &error))?;
    print::note("open this address in your browser to log in:");
    print::note(login.address());
    print::note(
        "waiting; if the browser runs on another machine, paste the address of the page that it shows afterwards",
    );
    let summary = Box::pin(login.complete(pasted())).await.map_err(|error| failed(name, &error))?;
    let tested = servers.test(name).await.ok_or_else(|| unknown(servers, name))?;
    let tools = tested.as_ref().map_or(0, |tested| tested.tools.len());
    let problem = tested.err().map(|error| error.to_string());
    if args.json {
        let LoginSummary { scope, expires_at, is_renewable, .. } = summary;
        return print::json(&json!({
            "name": name,
            "status": "logged-in",
            "scope": scope,
            "expires_at": expires_at,
            "renewable": is_renewable,
            "tools": tools,
            "error": problem,
        }));
    }
    match problem {
        None => print::note(&format!("logged in; the server has {tools} tools")),
        Some(why) => print::note(&format!("logged in, but the server did not list its tools: {why}")),
    }
    if !summary.is_renewable && summary.expires_at.is_some() {
        print::note("Lariat cannot renew this login, so you must log in again when it ends");
    }
    Ok(Exit::Done)
}

/// Removes the login at a service.
pub(super) async fn logout(servers: &McpServers, args: &McpNameArgs) -> CommandResult {
    let name = &args.name;
    known(servers, name)?;
    let removed = servers.logout(name).await.ok_or_else(|| unknown(servers, name))?;
    let was_there = removed.map_err(|error| failed(name, &error))?;
    if !was_there {
        return Err(Problem::new(Exit::Failed, format!("you are not logged in to `{name}`"))
            .hint(format!("`lariat mcp login {name}` logs in")));
    }
    if args.json {
        return print::json(&json!({ "name": name, "status": "logged-out" }));
    }
    print::note(&format!("logged out of `{name}`"));
    Ok(Exit::Done)
}

fn failed(name: &str, error: &McpError) -> Problem {
    Problem::new(Exit::Failed, format!("could not log in to MCP server `{name}`: {error}"))
}

/// The lines that the user pastes. A thread of its own reads them, because a read cannot be cancelled; it ends with the process.
fn pasted() -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel(QUEUE);
    let reader = move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    };
    // Without the thread, the browser can still reach this process.
    let _ = std::thread::Builder::new().name("pasted-address".to_owned()).spawn(reader);
    receiver
}
