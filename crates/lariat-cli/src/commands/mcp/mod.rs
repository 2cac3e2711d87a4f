//! `lariat mcp`: lists, adds, removes, tests and accepts MCP servers, logs in to them, and serves tools as one.

mod edit;
mod login;
mod serve;

use lariat_core::display;
use lariat_service::LoadedProject;
use lariat_service::mcp::{
    McpEntry, McpError, McpServerReport, McpServers, McpTest, McpTransport, ToolChange,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::CommandResult;
use super::confirm::confirm;
use super::print::{self, Column};
use crate::args::mcp::{McpArgs, McpCommand, McpNameArgs, McpTrustArgs};
use crate::exit::Exit;
use crate::problem::Problem;
use crate::process_env::ProcessEnv;

const COLUMNS: &[Column] = &[
    Column::whole("SERVER"),
    Column::whole("SCOPE"),
    Column::whole("STATUS"),
    Column::whole("TOOLS"),
    Column::text("COMMAND"),
];

/// The status of a server that wants a login; the list then shows what to do.
const NEEDS_LOGIN: &str = "needs-auth";

/// Performs a subcommand.
pub(crate) async fn mcp(env: &ProcessEnv, args: McpArgs) -> CommandResult {
    match args.command {
        McpCommand::Add(args) => edit::add(env, &args),
        McpCommand::Remove(args) => edit::remove(env, &args),
        McpCommand::List(args) => list(&open(env).await?.1, args.json),
        McpCommand::Get(args) => get(&open(env).await?.1, &args),
        McpCommand::Test(args) => {
            let (_, servers) = open(env).await?;
            let tested = test(&servers, &args).await;
            servers.close().await;
            tested
        }
        McpCommand::Trust(args) => {
            let (_, servers) = open(env).await?;
            let trusted = trust(env, &servers, &args).await;
            servers.close().await;
            trusted
        }
        McpCommand::Login(args) => {
            let (_, servers) = open(env).await?;
            let logged_in = login::login(&servers, &args).await;
            servers.close().await;
            logged_in
        }
        McpCommand::Logout(args) => login::logout(&open(env).await?.1, &args).await,
        McpCommand::Logs(args) => logs(&open(env).await?.1, &args),
        McpCommand::Serve(args) => serve::serve(env, args).await,
    }
}

async fn open(env: &ProcessEnv) -> Result<(LoadedProject, McpServers), Problem> {
    let place = env.load_project(&env.load_options(None))?;
    let service = env.ephemeral(&place).await?;
    let servers = service.mcp_servers(&place).await;
    Ok((place, servers))
}

/// One line of the list.
#[derive(Serialize)]
struct ServerRow<'a> {
    #[serde(flatten)]
    report: &'a McpServerReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    transport: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
}

fn list(servers: &McpServers, json: bool) -> CommandResult {
    let reports = servers.reports();
    let listed: Vec<ServerRow<'_>> = reports
        .iter()
        .map(|report| {
            let entry = find(servers, &report.name);
            ServerRow {
                report,
                scope: entry.map(|entry| entry.scope.name()),
                transport: entry.map(|entry| entry.config.transport.name()),
                target: entry.map(|entry| entry.config.transport.target()),
                origin: entry.map(|entry| entry.origin.to_string()),
            }
        })
        .collect();
    if json {
        return print::json(&listed);
    }
    if listed.is_empty() {
        print::note("no MCP servers are configured; add one with `lariat mcp add NAME -- COMMAND`");
        return Ok(Exit::Done);
    }
    let row = |one: &ServerRow<'_>| {
        let target = one.target.as_deref().filter(|_| one.report.status != NEEDS_LOGIN);
        let target = target.or(one.report.error.as_deref()).unwrap_or_default();
        vec![
            one.report.name.clone(),
            one.scope.unwrap_or("project").to_owned(),
            one.report.status.to_owned(),
            if one.report.tools == 0 { "-".to_owned() } else { one.report.tools.to_string() },
            print::abbreviate(&display::line(target), 80),
        ]
    };
    print::out(&print::table(COLUMNS, &listed.iter().map(row).collect::<Vec<_>>()));
    Ok(Exit::Done)
}

/// The page of the terminal UI: the list without its heading.
pub(super) fn page(servers: &McpServers) -> String {
    let reports = servers.reports();
    if reports.is_empty() {
        return "no MCP servers are configured\n".to_owned();
    }
    let line = |report: &McpServerReport| {
        let why = report.error.as_deref().map(|why| format!("  {why}")).unwrap_or_default();
        format!("{}  {}  {} tools{why}\n", report.name, report.status, report.tools)
    };
    let lines: String = reports.iter().map(line).collect();
    format!("{lines}\nA pending server starts when the model calls one of its tools.\n")
}

fn get(servers: &McpServers, args: &McpNameArgs) -> CommandResult {
    let entry = known(servers, &args.name)?;
    let config = &entry.config;
    let names: Vec<&String> = match &config.transport {
        McpTransport::Stdio { environment, .. } => environment.keys().collect(),
        McpTransport::Http { headers, .. } | McpTransport::Sse { headers, .. } => headers.keys().collect(),
        _ => Vec::new(),
    };
    let tools = servers.tool_names(&args.name);
    if args.json {
        return print::json(&json!({
            "name": config.name,
            "scope": entry.scope,
            "origin": entry.origin.to_string(),
            "transport": config.transport.name(),
            "target": config.transport.target(),
            "variables": names,
            "tools": tools,
        }));
    }
    print::field("name", &config.name);
    print::field("scope", entry.scope.name());
    print::field("file", &entry.origin.to_string());
    print::field(config.transport.name(), &display::line(&config.transport.target()));
    if !names.is_empty() {
        let names: Vec<&str> = names.into_iter().map(String::as_str).collect();
        print::field("sets", &names.join(", "));
    }
    if tools.is_empty() {
        print::note("its tools are not known yet; `lariat mcp test` starts it");
    }
    for tool in tools {
        print::line(&tool);
    }
    Ok(Exit::Done)
}

fn change_json(change: &ToolChange) -> Value {
    json!({ "name": change.name, "kind": change.kind.name(), "difference": change.difference })
}

async fn start(servers: &McpServers, name: &str) -> Result<McpTest, Problem> {
    known(servers, name)?;
    let tested = servers.test(name).await.ok_or_else(|| unknown(servers, name))?;
    tested.map_err(|error| match error {
        McpError::LoginRequired { scope } => {
            let more = scope.map(|scope| format!(" --scope '{scope}'")).unwrap_or_default();
            Problem::new(Exit::Failed, format!("MCP server `{name}` needs login"))
                .hint(format!("run `lariat mcp login {name}{more}`"))
        }
        error => Problem::new(Exit::Failed, format!("MCP server `{name}` did not start: {error}"))
            .hint("`lariat mcp get` shows its command; a server that needs the network needs `lariat mcp add --network`")
    })
}

async fn test(servers: &McpServers, args: &McpNameArgs) -> CommandResult {
    let tested = start(servers, &args.name).await?;
    let exit = if tested.changes.is_empty() { Exit::Done } else { Exit::VerificationFailed };
    if args.json {
        print::json(&json!({
            "name": args.name,
            "server": tested.server,
            "protocol": tested.protocol,
            "tools": tested.tools.iter().map(|tool| &tool.name).collect::<Vec<_>>(),
            "changes": tested.changes.iter().map(change_json).collect::<Vec<_>>(),
        }))?;
        return Ok(exit);
    }
    print::field("server", tested.server.as_deref().unwrap_or("unnamed"));
    print::field("protocol", &tested.protocol);
    for tool in &tested.tools {
        let description = tool.description.as_deref().unwrap_or_default();
        let first = description.lines().next().unwrap_or_default();
        print::line(&format!(
            "{}  {}",
            display::line(&tool.name),
            print::abbreviate(&display::line(first), 90)
        ));
    }
    if !tested.changes.is_empty() {
        print::note(&format!(
            "{} tools differ from the ones that you accepted; review them with `lariat mcp trust {}`",
            tested.changes.len(),
            args.name
        ));
    }
    Ok(exit)
}

async fn trust(env: &ProcessEnv, servers: &McpServers, args: &McpTrustArgs) -> CommandResult {
    let tested = start(servers, &args.name).await?;
    if !args.json {
        if tested.changes.is_empty() {
            print::note("its tools are the ones that you accepted");
            return Ok(Exit::Done);
        }
        for change in &tested.changes {
            print::line(&format!("{} {}", change.kind.name(), display::line(&change.name)));
            print::out(&display::block(&change.difference));
        }
    }
    let question = format!("Accept the tools of `{}`?", args.name);
    let is_accepted = tested.changes.is_empty() || confirm(env, &question, args.yes)?;
    if is_accepted {
        servers.accept(&args.name).map_err(|why| Problem::new(Exit::Setup, why))?;
    }
    if args.json {
        print::json(&json!({
            "name": args.name,
            "accepted": is_accepted,
            "changes": tested.changes.iter().map(change_json).collect::<Vec<_>>(),
        }))?;
    } else if is_accepted {
        print::note("accepted; sessions that start from now on offer these tools");
    }
    Ok(if is_accepted { Exit::Done } else { Exit::Failed })
}

fn logs(servers: &McpServers, args: &McpNameArgs) -> CommandResult {
    known(servers, &args.name)?;
    let log = servers.log(&args.name).unwrap_or_default();
    if args.json {
        return print::json(&json!({ "name": args.name, "log": log }));
    }
    if log.is_empty() {
        print::note("the server wrote nothing to standard error when it ran last");
    }
    print::out(&display::output(&log));
    Ok(Exit::Done)
}

fn find<'a>(servers: &'a McpServers, name: &str) -> Option<&'a McpEntry> {
    servers.entries().find(|entry| entry.config.name == name)
}

fn known<'a>(servers: &'a McpServers, name: &str) -> Result<&'a McpEntry, Problem> {
    find(servers, name).ok_or_else(|| unknown(servers, name))
}

fn unknown(servers: &McpServers, name: &str) -> Problem {
    let refused = servers.reports().into_iter().find(|report| report.name == name);
    match refused.and_then(|report| report.error) {
        Some(why) => Problem::new(Exit::Setup, format!("MCP server `{name}` cannot be used: {why}")),
        None => Problem::new(Exit::Usage, format!("no MCP server is named `{name}`"))
            .hint("`lariat mcp list` shows the servers that apply here"),
    }
}
