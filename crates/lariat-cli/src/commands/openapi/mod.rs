//! `lariat openapi`: adds, lists, tests, accepts and removes APIs, whose operations become tools.

mod edit;

use lariat_core::cancel::CancellationToken;
use lariat_core::content::joined_text;
use lariat_core::display;
use lariat_core::id::{LoopId, SessionId, ToolCallId};
use lariat_core::tool::{AgentTool as _, ToolContext};
use lariat_service::openapi::{ApiEntry, ApiReport, EntryScope, OpenApis, Operation, ReadApi, ToolChange};
use serde::Serialize;
use serde_json::{Value, json};

use super::CommandResult;
use super::confirm::confirm;
use super::print::{self, Column};
use crate::args::openapi::{OpenApiArgs, OpenApiCommand, OpenApiNameArgs, OpenApiTestArgs, OpenApiTrustArgs};
use crate::exit::Exit;
use crate::problem::Problem;
use crate::process_env::ProcessEnv;

const APIS: &[Column] = &[
    Column::whole("API"),
    Column::whole("SCOPE"),
    Column::whole("STATUS"),
    Column::whole("TOOLS"),
    Column::text("REQUESTS"),
];
const OPERATIONS: &[Column] =
    &[Column::whole("METHOD"), Column::whole("EFFECT"), Column::text("PATH"), Column::text("TOOL")];

/// Performs a subcommand.
pub(crate) async fn openapi(env: &ProcessEnv, args: OpenApiArgs) -> CommandResult {
    match args.command {
        OpenApiCommand::Add(args) => edit::add(env, &args).await,
        OpenApiCommand::Remove(args) => edit::remove(env, &args),
        OpenApiCommand::List(args) => list(&open(env).await?, args.json),
        OpenApiCommand::Show(args) => show(&open(env).await?, &args),
        OpenApiCommand::Test(args) => test(env, &open(env).await?, &args).await,
        OpenApiCommand::Trust(args) => trust(env, &args).await,
    }
}

async fn open(env: &ProcessEnv) -> Result<OpenApis, Problem> {
    let place = env.load_project(&env.load_options(None))?;
    Ok(env.ephemeral(&place).await?.openapis(&place))
}

/// One line of the list.
#[derive(Serialize)]
struct ApiRow<'a> {
    #[serde(flatten)]
    report: &'a ApiReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<EntryScope>,
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base_url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    credential: Option<&'a str>,
}

fn list(apis: &OpenApis, json: bool) -> CommandResult {
    let reports = apis.reports();
    let listed: Vec<ApiRow<'_>> = reports
        .iter()
        .map(|report| {
            let entry = apis.entries().find(|entry| entry.name == report.name);
            ApiRow {
                report,
                scope: entry.map(|entry| entry.scope),
                document: entry.map(|entry| entry.source.as_str()),
                base_url: entry.and_then(|entry| entry.config.base_url.as_deref()),
                credential: entry.and_then(|entry| Some(entry.auth.as_ref()?.reference())),
            }
        })
        .collect();
    if json {
        return print::json(&listed);
    }
    if listed.is_empty() {
        print::note("no APIs are configured; add one with `lariat openapi add NAME DOCUMENT`");
        return Ok(Exit::Done);
    }
    let row = |one: &ApiRow<'_>| {
        let target = one.report.error.as_deref().or(one.base_url).unwrap_or_default();
        vec![
            one.report.name.clone(),
            one.scope.map_or("project", EntryScope::name).to_owned(),
            one.report.status.to_owned(),
            if one.report.tools == 0 { "-".to_owned() } else { one.report.tools.to_string() },
            print::abbreviate(&display::line(target), 80),
        ]
    };
    print::out(&print::table(APIS, &listed.iter().map(row).collect::<Vec<_>>()));
    Ok(Exit::Done)
}

/// The APIs as lines, for the terminal UI.
pub(super) fn page(apis: &OpenApis) -> String {
    let reports = apis.reports();
    if reports.is_empty() {
        return "no APIs are configured\n".to_owned();
    }
    let line = |report: &ApiReport| {
        let entry = apis.entries().find(|entry| entry.name == report.name);
        let target = entry.and_then(|entry| entry.config.base_url.as_deref());
        let more = report.error.as_deref().or(target).unwrap_or_default();
        format!("{}  {}  {} tools  {more}\n", report.name, report.status, report.tools)
    };
    let lines: String = reports.iter().map(line).collect();
    format!("{lines}\n`lariat openapi show NAME` lists the operations of an API.\n")
}

/// What the permission check does with an operation by default.
fn effect(entry: &ApiEntry, operation: &Operation) -> &'static str {
    if operation.is_read_only() && entry.scope == EntryScope::User { "reads" } else { "asks" }
}

fn show(apis: &OpenApis, args: &OpenApiNameArgs) -> CommandResult {
    let entry = known(apis, &args.name)?;
    let operations = apis.operations(&args.name).unwrap_or_default();
    if args.json {
        let operation = |operation: &Operation| {
            json!({
                "tool": operation.name, "operation": operation.id, "method": operation.method,
                "path": operation.path, "effect": effect(entry, operation),
                "description": operation.description, "schema": operation.schema,
            })
        };
        return print::json(&json!({
            "name": entry.name,
            "scope": entry.scope,
            "origin": entry.origin.to_string(),
            "document": entry.source,
            "base_url": entry.config.base_url,
            "credential": entry.auth.as_ref().map(|auth| auth.reference()),
            "operations": operations.iter().map(operation).collect::<Vec<_>>(),
        }));
    }
    print::field("document", &display::line(&entry.source));
    print::field("requests", &display::line(entry.config.base_url.as_deref().unwrap_or_default()));
    print::field("file", &entry.origin.to_string());
    if let Some(auth) = &entry.auth {
        print::field("credential", auth.reference());
    }
    let row = |operation: &Operation| {
        let path = display::line(&operation.path).into_owned();
        let effect = effect(entry, operation).to_owned();
        vec![operation.method.clone(), effect, path, operation.name.clone()]
    };
    print::out(&print::table(OPERATIONS, &operations.iter().map(row).collect::<Vec<_>>()));
    Ok(Exit::Done)
}

async fn test(env: &ProcessEnv, apis: &OpenApis, args: &OpenApiTestArgs) -> CommandResult {
    known(apis, &args.name)?;
    let usage = |cause: String| Problem::new(Exit::Usage, cause);
    let adapters = apis.adapters(&args.name).map_err(|error| Problem::new(Exit::Setup, error.to_string()))?;
    let is_meant = |name: &str, id: &str| name == args.operation || id == args.operation;
    let adapter = adapters.into_iter().find(|tool| is_meant(tool.name(), &tool.operation().id));
    let adapter = adapter.ok_or_else(|| {
        usage(format!("`{}` has no operation `{}`", args.name, display::line(&args.operation)))
            .hint(format!("`lariat openapi show {}` lists its operations", args.name))
    })?;
    let text = args.arguments.as_deref().unwrap_or("{}");
    let arguments: Value = serde_json::from_str(text)
        .map_err(|error| usage(format!("the arguments are not valid JSON: {error}")))?;
    let preview = adapter.preview(&arguments).await.map_err(|error| usage(error.to_string()))?;
    if !adapter.operation().is_read_only() {
        print::note(&preview.unwrap_or_default());
        if !confirm(env, "Send this request?", args.yes)? {
            return Ok(Exit::Failed);
        }
    }
    let context = ToolContext::new(
        ToolCallId::from("test"),
        adapter.name(),
        SessionId::from("test"),
        LoopId::from("test"),
        CancellationToken::new(),
    );
    match adapter.execute(arguments, context).await {
        Ok(result) => {
            print::line(&joined_text(&result.content));
            Ok(Exit::Done)
        }
        Err(error) => Err(Problem::new(Exit::Failed, error.to_string())),
    }
}

/// Reads the document of an API again.
async fn read(env: &ProcessEnv, name: &str) -> Result<(OpenApis, ReadApi), Problem> {
    let apis = open(env).await?;
    let read = apis.read(name).await.ok_or_else(|| unknown(&apis, name))?;
    let read = read.map_err(|cause| Problem::new(Exit::Failed, format!("API `{name}`: {cause}")))?;
    Ok((apis, read))
}

fn accept(apis: &OpenApis, name: &str, read: &ReadApi) -> Result<(), Problem> {
    apis.accept(name, read).map_err(|cause| Problem::new(Exit::Setup, cause))
}

fn change_json(change: &ToolChange) -> Value {
    json!({ "name": change.name, "kind": change.kind.name(), "difference": change.difference })
}

async fn trust(env: &ProcessEnv, args: &OpenApiTrustArgs) -> CommandResult {
    let (apis, read) = read(env, &args.name).await?;
    if !args.json {
        print::field("document", &read.title);
        if read.changes.is_empty() {
            print::note("its operations are the ones that you accepted");
        }
        for change in &read.changes {
            print::line(&format!("{} {}", change.kind.name(), display::line(&change.name)));
            print::out(&display::block(&change.difference));
        }
    }
    let question = format!("Accept the operations of `{}`?", args.name);
    let is_accepted = read.changes.is_empty() || confirm(env, &question, args.yes)?;
    if is_accepted {
        accept(&apis, &args.name, &read)?;
    }
    if args.json {
        print::json(&json!({
            "name": args.name,
            "accepted": is_accepted,
            "tools": read.operations.len(),
            "changes": read.changes.iter().map(change_json).collect::<Vec<_>>(),
        }))?;
    } else if is_accepted {
        print::note("accepted; sessions that start from now on offer these operations");
    }
    Ok(if is_accepted { Exit::Done } else { Exit::Failed })
}

fn known<'a>(apis: &'a OpenApis, name: &str) -> Result<&'a ApiEntry, Problem> {
    let entry = apis.entries().find(|entry| entry.name == name);
    entry
        .filter(|_| apis.operations(name).is_some_and(|all| !all.is_empty()))
        .ok_or_else(|| unknown(apis, name))
}

fn unknown(apis: &OpenApis, name: &str) -> Problem {
    let refused = apis.reports().into_iter().find(|report| report.name == name);
    match refused.and_then(|report| report.error) {
        Some(why) => Problem::new(Exit::Setup, format!("API `{name}` cannot be used: {why}")),
        None => Problem::new(Exit::Usage, format!("no API is named `{}`", display::line(name)))
            .hint("`lariat openapi list` shows the APIs that apply here"),
    }
}
